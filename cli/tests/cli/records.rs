//! Tests of commands that read keys from a column of CSV and TSV files.

use crate::support::Folder;
use trommel::AnyFilter;

const TABLE: &str = "id,word,note\n1,anvil,\"heavy, and\nblack\"\n2,\"for\"\"ge\",\n3,tongs,x\n";

fn words(folder: &Folder, keys: &str) -> Vec<u8> {
    folder.feed(keys.as_bytes(), ["build", "-o", "expected"]).silent();
    folder.read("expected")
}

#[test]
fn a_column_is_taken_by_name_or_number() {
    let folder = Folder::new();
    folder.write("table.csv", TABLE);
    for (column, keys) in
        [("word", "anvil\nfor\"ge\ntongs\n"), ("2", "anvil\nfor\"ge\ntongs\n"), ("id", "1\n2\n3\n")]
    {
        let options = ["build", "--input-format", "csv", "--column", column, "-o", "filter"];
        folder.run(options.iter().chain(&["table.csv"])).silent();
        assert_eq!(folder.read("filter"), words(&folder, keys), "{column}");
        folder.feed(TABLE.as_bytes(), options).silent();
        assert_eq!(folder.read("filter"), words(&folder, keys), "{column}");
    }
}

#[test]
fn a_quoted_field_may_have_line_feeds() {
    let folder = Folder::new();
    folder
        .feed(
            TABLE.as_bytes(),
            ["build", "--input-format", "csv", "--column", "note", "-o", "filter"],
        )
        .silent();
    let filter = AnyFilter::from_bytes(&folder.read("filter")).unwrap();
    use trommel::Filter as _;
    assert!(filter.contains("heavy, and\nblack") && filter.contains("") && filter.contains("x"));
}

#[test]
fn tsv_fields_end_at_tabs_and_quotes_are_ordinary_characters() {
    let folder = Folder::new();
    let table = "id\tword\n1\t\"anvil\n2\tforge\"\r\n";
    folder
        .feed(
            table.as_bytes(),
            ["build", "--input-format", "tsv", "--column", "word", "-o", "filter"],
        )
        .silent();
    assert_eq!(folder.read("filter"), words(&folder, "\"anvil\nforge\"\n"));
}

#[test]
fn each_file_has_its_own_column_names() {
    let folder = Folder::new();
    folder.write("a.csv", "id,word\n1,anvil\n");
    folder.write("b.csv", "word\nforge\n");
    folder.write("c.csv", "word\n");
    folder.write("empty.csv", "");
    let options = ["build", "--input-format", "csv", "--column", "word", "-o", "filter"];
    folder.run(options.iter().chain(&["a.csv", "c.csv", "empty.csv", "b.csv"])).silent();
    assert_eq!(folder.read("filter"), words(&folder, "anvil\nforge\n"));
}

#[test]
fn large_files_are_read_in_several_batches() {
    let folder = Folder::new();
    let (mut table, mut keys) = (String::from("id,word\n"), String::new());
    for i in 0..100_000 {
        table += &format!("{i},word-{i}\n");
        keys += &format!("word-{i}\n");
    }
    folder.write("table.csv", &table);
    let options = ["build", "--input-format", "csv", "--column", "word", "-o", "filter"];
    folder.run(options.iter().chain(&["table.csv"])).silent();
    assert_eq!(folder.read("filter"), words(&folder, &keys));
}

#[test]
fn errors_name_the_file_and_the_line() {
    let folder = Folder::new();
    folder.write("table.csv", TABLE);
    folder.write("short.csv", "id,word\n1,\"an\nvil\"\n2\n");
    folder.write("twice.csv", "word,word\na,b\n");
    let build = |column: &[&str], file: &str| {
        let options = ["build", "--input-format", "csv", "-o", "filter"];
        folder.run(options.iter().chain(column).chain(&[file]))
    };
    build(&["--column", "wrod"], "table.csv")
        .fails_with("table.csv: line 1: no column wrod; the columns are: id, word, note");
    build(&[], "table.csv")
        .fails_with("table.csv: line 1: --column is needed; the columns are: id, word, note");
    build(&["--column", "word"], "short.csv")
        .fails_with("short.csv: line 4: 1 field, but the records before have 2");
    build(&["--column", "word"], "twice.csv").fails_with(
        "twice.csv: line 1: two columns are named word: give the column's number, 1 or 2",
    );
    build(&["--column", "word", "--key-type", "i32"], "table.csv")
        .fails_with("table.csv: line 2: \"anvil\" is not a valid i32");
    folder
        .run(["build", "--column", "word", "-o", "filter", "table.csv"])
        .fails_with("--column needs an --input-format that has columns: lines have none");
    assert_eq!(folder.names(), ["short.csv", "table.csv", "twice.csv"]);
}

#[test]
fn a_full_filter_names_the_line_or_the_number_of_the_record() {
    let folder = Folder::new();
    // After the header, each record takes two lines, so record `r`, counted from 1, begins at line `2 r`.
    let mut table = String::from("word,note\n");
    for i in 0..1_000 {
        table += &format!("word-{i},\"a\nb\"\n");
    }
    folder.write("table.csv", &table);
    let options = [
        "build",
        "--kind",
        "cuckoo",
        "--keys",
        "100",
        "--input-format",
        "csv",
        "--column",
        "word",
        "-o",
        "filter",
    ];
    let run = folder.run(options.iter().chain(&["table.csv"]));
    let fed = folder.feed(table.as_bytes(), options);
    assert_eq!((run.code, fed.code), (Some(2), Some(2)));
    let number = |text: &str, before: &str| {
        let text = text.strip_prefix(before).unwrap_or_else(|| panic!("{text}"));
        text.split(':').next().unwrap().parse::<u64>().unwrap()
    };
    let record = number(&fed.stderr, "trommel: standard input: record ");
    assert_eq!(number(&run.stderr, "trommel: table.csv: line "), 2 * record);
    assert!((100..200).contains(&record));
}
