//! The files of corpus/format-1. docs/FORMAT.md promises that every later release reads these files. The tests read the
//! files in every way that the library has, and check that today's writer makes the same bytes.

#[path = "format_corpus/cases.rs"]
mod cases;
mod corpus;

use corpus::{Entry, Form, SECRET_KEY, WRONG_KEY, digest, folder, manifest};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use trommel::container::{self, HashId, Header, OwnedView, Parsed, Trust};
use trommel::error::AccumulateError;
use trommel::{
    AnyFilter, Bitmap, Filter, FilterAccumulator, FilterKind, FilterPolicy, FilterSpec, FilterView,
    FormatError, Hasher, Isa, KeyHash,
};

/// Files that the present code reads but no longer makes, because it now places their keys differently. docs/FORMAT.md
/// says which kinds may have files in this list.
const READ_ONLY: &[&str] = &[
    "cuckoo-8-bit-removed.trommel",
    "cuckoo-12-bit-removed.trommel",
    "cuckoo-16-bit-removed.trommel",
    "cuckoo-32-bit-removed.trommel",
];

/// Upper bound on the bytes of all files together.
const MOST_BYTES: u64 = 500_000;

fn entries(form: Form) -> impl Iterator<Item = Entry> {
    manifest().into_iter().filter(move |entry| entry.form == form)
}

fn policy(entry: &Entry) -> FilterPolicy {
    policy_with(entry, entry.hasher)
}

/// The policy of an entry, but with `hasher` instead of the entry's hasher.
fn policy_with(entry: &Entry, hasher: Hasher) -> FilterPolicy {
    let builder = FilterPolicy::builder(entry.kind.unwrap()).bits_per_key(12.0);
    builder.hasher(hasher).build().unwrap()
}

// The library's ways to read frozen bytes. Each has a variant that takes a hasher, for bytes with a secret key.

fn parse_container<'a>(
    bytes: &'a [u8],
    secret: Option<&Hasher>,
) -> Result<Parsed<&'a [u8]>, FormatError> {
    match secret {
        Some(hasher) => container::parse_with_hasher(&bytes, Trust::Verify, hasher),
        None => container::parse(bytes),
    }
}

fn from_bytes(bytes: &[u8], secret: Option<&Hasher>) -> Result<AnyFilter, FormatError> {
    match secret {
        Some(hasher) => AnyFilter::from_bytes_with_hasher(bytes, hasher),
        None => AnyFilter::from_bytes(bytes),
    }
}

fn parse<'a>(bytes: &'a [u8], secret: Option<&Hasher>) -> Result<FilterView<'a>, FormatError> {
    match secret {
        Some(hasher) => FilterView::parse_with_hasher(bytes, hasher),
        None => FilterView::parse(bytes),
    }
}

fn parse_trusted<'a>(
    bytes: &'a [u8],
    secret: Option<&Hasher>,
) -> Result<FilterView<'a>, FormatError> {
    match secret {
        Some(hasher) => FilterView::parse_trusted_with_hasher(bytes, hasher),
        None => FilterView::parse_trusted(bytes),
    }
}

fn parse_owned(bytes: &[u8], secret: Option<&Hasher>) -> Result<OwnedView, FormatError> {
    match secret {
        Some(hasher) => OwnedView::parse_with_hasher(bytes.to_vec(), hasher),
        None => OwnedView::parse(bytes.to_vec()),
    }
}

#[test]
fn the_manifest_has_exactly_the_files_of_the_corpus() {
    let entries = manifest();
    let listed: BTreeSet<String> = entries.iter().map(|entry| entry.file.clone()).collect();
    assert_eq!(listed.len(), entries.len(), "a file is listed twice");
    let files = fs::read_dir(folder()).unwrap().map(|file| file.unwrap().file_name());
    let mut files: BTreeSet<String> = files.map(|name| name.into_string().unwrap()).collect();
    assert!(files.remove("manifest.csv"));
    assert_eq!(files, listed);
    for entry in &entries {
        let bytes = entry.read();
        assert_eq!(bytes.len() as u64, entry.bytes, "{}", entry.file);
        assert_eq!(digest(&bytes), entry.digest, "{} was changed", entry.file);
    }
    assert!(entries.iter().map(|entry| entry.bytes).sum::<u64>() <= MOST_BYTES);
}

/// Asserts that a filter that was read from the file of an entry, in whatever way, agrees with the entry.
fn assert_filter(entry: &Entry, reader: &str, filter: &impl Filter) {
    assert_eq!(filter.len() as u64, entry.len, "{}: {reader}", entry.file);
    assert_eq!(filter.hasher(), entry.hasher, "{}: {reader}", entry.file);
    entry.assert_answers(reader, |hash| filter.contains_hash(hash));
    let mut hashes = entry.keys.hashes(entry.hasher);
    hashes.extend(entry.keys.absent(entry.hasher));
    let mut found = Bitmap::new(0);
    filter.contains_batch(&hashes, &mut found);
    for (i, hash) in hashes.iter().enumerate() {
        let one = filter.contains_hash(*hash);
        assert_eq!(found.get(i), one, "{}: {reader}, batch, key {i}", entry.file);
    }
}

#[test]
fn every_frozen_file_is_read_in_every_way_and_written_again() {
    for entry in entries(Form::Frozen) {
        let (bytes, file, secret) = (entry.read(), &entry.file, entry.secret());
        let header = parse_container(&bytes, secret).unwrap().header();
        assert_eq!(Some(header.kind), entry.kind, "{file}");
        assert_eq!(header.parameters[..], entry.parameters, "{file}");

        let filter = from_bytes(&bytes, secret).unwrap_or_else(|error| panic!("{file}: {error}"));
        assert_filter(&entry, "from_bytes", &filter);
        let counts = entry.keys.count > 0 && filter.count_hash(KeyHash::from_raw(0)).is_ok();
        assert_eq!(counts, !entry.counts.is_empty(), "{file}");
        entry.assert_counts("from_bytes", |hash| filter.count_hash(hash).unwrap());
        let view = parse(&bytes, secret).unwrap();
        assert_filter(&entry, "parse", &view);
        entry.assert_counts("parse", |hash| view.count_hash(hash).unwrap());
        let trusted = parse_trusted(&bytes, secret).unwrap();
        assert_filter(&entry, "parse_trusted", &trusted);
        assert_eq!(trusted.check_structure(), Ok(()), "{file}");
        assert_filter(&entry, "OwnedView", &parse_owned(&bytes, secret).unwrap());
        let shifted = [&[0], &bytes[..]].concat();
        assert_filter(&entry, "an odd address", &parse(&shifted[1..], secret).unwrap());

        assert!(filter.to_bytes() == bytes, "{file}: to_bytes of the filter");
        assert!(view.to_bytes() == bytes, "{file}: to_bytes of the view");
        let copied = trusted.to_owned_filter().unwrap();
        assert!(copied == filter && copied.to_bytes() == bytes, "{file}: to_owned_filter");
        let mut written = Vec::new();
        filter.write_to(&mut written).unwrap();
        assert!(written == bytes, "{file}: write_to");
        assert_eq!(filter.encoded_len(), bytes.len(), "{file}");
    }
}

#[test]
fn every_filter_block_is_read_in_place_under_the_name_of_its_policy() {
    for entry in entries(Form::Block) {
        let (block, policy) = (entry.read(), policy(&entry));
        assert_eq!(policy.verify(&block), Ok(()), "{}", entry.file);
        entry.assert_answers("may_match", |hash| policy.may_match(&block, hash));
        let shifted = [&[0], &block[..]].concat();
        entry.assert_answers("an odd address", |hash| policy.may_match(&shifted[1..], hash));
        entry.assert_answers("may_match_many", |hash| {
            let mut found = Bitmap::new(0);
            policy.may_match_many(&[(&block[..], hash); 3], &mut found);
            assert!(found.get(0) == found.get(2));
            found.get(1)
        });
    }
}

/// An empty accumulator for hashes of this hasher.
fn accumulator(hasher: Hasher) -> FilterAccumulator {
    let spec = FilterSpec::new(FilterKind::Bloom).keys(1000).hasher(hasher);
    FilterAccumulator::new(spec, 1000).unwrap()
}

#[test]
fn every_list_of_hashes_is_merged_into_an_accumulator_and_written_again() {
    for entry in entries(Form::Hashes) {
        let bytes = entry.read();
        let mut merged = accumulator(entry.hasher);
        merged.merge_bytes(&bytes).unwrap();
        assert_eq!(merged.len() as u64, entry.len, "{}", entry.file);
        assert!(merged.to_bytes() == bytes, "{}: to_bytes", entry.file);
        let filter = merged.finish().unwrap();
        let keys = entry.keys.hashes(entry.hasher);
        assert!(
            keys.iter().all(|hash| filter.contains_hash(*hash)),
            "{}: a key is lost",
            entry.file
        );
    }
}

/// Kinds 1 to 7 have one payload for given parameters and keys, so if a file and today's bytes differ, the format has
/// changed. In kind 8 and its filter blocks, a later release may place keys differently: then the old file stays, its
/// name goes into `READ_ONLY`, and a new case gets a new name.
#[test]
fn todays_writer_makes_the_files_of_the_corpus() {
    let listed = manifest();
    for isa in Isa::available() {
        let made = cases::all(isa);
        let names: BTreeSet<&String> = made.iter().map(|(entry, _)| &entry.file).collect();
        let is_made = |entry: &&Entry| !READ_ONLY.contains(&entry.file.as_str());
        let expected: BTreeSet<&String> =
            listed.iter().filter(is_made).map(|entry| &entry.file).collect();
        assert_eq!(names, expected);
        for (entry, bytes) in made {
            let old = listed.iter().find(|old| old.file == entry.file).unwrap();
            assert_eq!(entry, *old, "{isa}");
            assert!(bytes == old.read(), "{isa}: the bytes of {} differ", entry.file);
        }
    }
}

#[test]
fn the_corpus_has_every_kind_width_option_and_size() {
    let all = manifest();
    let has = |what: &str, is: &dyn Fn(&Entry) -> bool| {
        assert!(all.iter().any(is), "the corpus lacks {what}");
    };
    let functions = [Hasher::xxh3(0), Hasher::xxh64(0), Hasher::siphash13(SECRET_KEY)];
    let functions = functions.map(|hasher| hasher.id());
    for hash in functions {
        has(&format!("lists of hashes, {hash:?}"), &|entry| {
            entry.form == Form::Hashes && entry.hasher.id() == hash
        });
    }
    for kind in FilterKind::ALL {
        let of = |entry: &Entry, form| entry.kind == Some(*kind) && entry.form == form;
        let frozen = |entry: &Entry| of(entry, Form::Frozen);
        for count in [0, 1] {
            has(&format!("{kind}, {count} keys"), &|entry| {
                frozen(entry) && entry.keys.count == count
            });
        }
        let has_block_form = *kind != FilterKind::CountingBloom;
        for hash in functions {
            has(&format!("{kind}, {hash:?}"), &|entry| frozen(entry) && entry.hasher.id() == hash);
            if has_block_form {
                has(&format!("blocks of {kind}, {hash:?}"), &|entry| {
                    of(entry, Form::Block) && entry.hasher.id() == hash
                });
            }
        }
        let sizes = [0, 1, 18, 1600].iter().filter(|_| has_block_form);
        for count in sizes {
            has(&format!("blocks of {kind}, {count} keys"), &|entry| {
                of(entry, Form::Block) && entry.keys.count == *count
            });
        }
    }
    let of_form = |form: Form, kind: FilterKind, at: usize, values: &[u64]| {
        for value in values {
            has(&format!("{form:?}, {kind}, p{at} = {value}"), &|entry| {
                (entry.form, entry.kind) == (form, Some(kind))
                    && entry.parameters.get(at) == Some(value)
            });
        }
    };
    let parameters = |kind, at, values: &[u64]| of_form(Form::Frozen, kind, at, values);
    let upto = |last: u64| (1..=last).collect::<Vec<u64>>();
    of_form(Form::Block, FilterKind::Bloom, 0, &[1, 8, 32]);
    of_form(Form::Block, FilterKind::RegisterBloom, 0, &[1, 8]);
    of_form(Form::Block, FilterKind::Quotient, 0, &[1, 32]);
    of_form(Form::Block, FilterKind::Cuckoo, 0, &[8, 16, 32]);
    parameters(FilterKind::Bloom, 1, &[2, 7, 32]);
    parameters(FilterKind::RegisterBloom, 1, &[2, 7]);
    parameters(FilterKind::CountingBloom, 2, &[2, 4]);
    parameters(FilterKind::Quotient, 1, &upto(32));
    parameters(FilterKind::Quotient, 3, &[1, 255]);
    parameters(FilterKind::CacheLineQuotient, 1, &upto(8));
    parameters(FilterKind::CacheLineQuotient, 3, &[1, 255]);
    parameters(FilterKind::Cuckoo, 0, &[2]);
    parameters(FilterKind::Cuckoo, 1, &[8, 12, 16, 32]);
    parameters(FilterKind::Cuckoo, 2, &[0, 1, 4]);
    parameters(FilterKind::Cuckoo, 3, &[0, 1, 3]);
    has("an overflow area of a cuckoo filter", &|entry| {
        let [buckets, bits, ..] = entry.parameters[..] else { return false };
        let padding = if bits == 12 { 2 } else { 0 };
        entry.kind == Some(FilterKind::Cuckoo)
            && entry.form == Form::Frozen
            && entry.bytes > 128 + buckets * bits / 2 + padding
    });
    has("more than 2^16 buckets", &|entry| {
        entry.kind == Some(FilterKind::Cuckoo) && entry.parameters[0] > 1 << 16
    });
    has("overflow entries of counters", &|entry| {
        entry.kind == Some(FilterKind::CountingBloom) && entry.parameters[3] > 0
    });
    // A resized filter in which p2 is not p0 · 2^p1, so that the *place* of a fingerprint (see docs/FORMAT.md) is not
    // simply the fingerprint.
    for kind in [FilterKind::Quotient, FilterKind::CacheLineQuotient] {
        has(&format!("a resized {kind}"), &|entry| {
            entry.kind == Some(kind)
                && entry.form == Form::Frozen
                && entry.parameters[2] != entry.parameters[0] << entry.parameters[1]
        });
    }
}

/// The error with which every reader of filters refuses the bytes. Fails if a reader accepts them or returns another
/// error.
fn refusal(bytes: &[u8], secret: Option<&Hasher>) -> FormatError {
    let error = from_bytes(bytes, secret).unwrap_err();
    assert_eq!(parse(bytes, secret).unwrap_err(), error);
    assert_eq!(parse_trusted(bytes, secret).unwrap_err(), error);
    assert_eq!(parse_owned(bytes, secret).unwrap_err(), error);
    error
}

/// Frozen filters and lists of hashes that were made with a secret key are refused if the reader has another secret key
/// or no secret key. Blocks that were made with different secret keys have policies with different names.
#[test]
fn files_with_a_secret_key_are_refused_without_that_key() {
    let (right, wrong) = (Hasher::siphash13(SECRET_KEY), Hasher::siphash13(WRONG_KEY));
    let mut forms = Vec::new();
    for entry in manifest().into_iter().filter(|entry| entry.secret().is_some()) {
        let (bytes, file, check) = (entry.read(), &entry.file, right.seed());
        assert_eq!(entry.hasher, right, "{file}");
        match entry.form {
            Form::Frozen => {
                let wrong_hasher = |given: Hasher| FormatError::WrongHasher {
                    given: given.id(),
                    given_seed: given.seed(),
                    stored: HashId::SipHash13,
                    stored_seed: check,
                };
                let required = FormatError::KeyRequired { key_check: check };
                assert_eq!(refusal(&bytes, None), required, "{file}");
                for given in [wrong, right.with_seed(0), Hasher::xxh3(check)] {
                    assert_eq!(refusal(&bytes, Some(&given)), wrong_hasher(given), "{file}");
                    assert_eq!(
                        parse_container(&bytes, Some(&given)).unwrap_err(),
                        wrong_hasher(given)
                    );
                }
                // A header with another key check, and a header with a public hash function whose seed is the right
                // key check.
                let other_check = with_number(&bytes, 16, &(check ^ 1).to_le_bytes());
                let public = with_number(&bytes, 12, &1u16.to_le_bytes());
                for changed in [other_check, public] {
                    let refused = refusal(&changed, Some(&right));
                    assert!(
                        matches!(refused, FormatError::WrongHasher { .. }),
                        "{file}: {refused}"
                    );
                }
            }
            // A block does not contain the key check. The policy's name, under which an engine stores the block, ends
            // with the key check.
            Form::Block => {
                let (policy, other) = (policy(&entry), policy_with(&entry, wrong));
                let name = policy.name();
                assert!(name.ends_with(&format!(".siphash13.{check:016x}")), "{file}: {name}");
                assert_ne!(other.name(), name, "{file}");
            }
            Form::Hashes => {
                for given in [wrong, Hasher::xxh3(check)] {
                    let refused = accumulator(given).merge_bytes(&bytes);
                    assert_eq!(refused, Err(AccumulateError::Specs), "{file}");
                }
            }
        }
        forms.push(entry.form);
    }
    for form in [Form::Frozen, Form::Block, Form::Hashes] {
        assert!(forms.contains(&form), "no file of {form:?} has a secret key");
    }
}

/// A copy of a frozen filter with another number at an offset of its header, and with the right checksum of the header.
fn with_number(bytes: &[u8], at: usize, number: &[u8]) -> Vec<u8> {
    let mut changed = bytes.to_vec();
    changed[at..at + number.len()].copy_from_slice(number);
    let checksum = digest(&changed[..120]);
    changed[120..128].copy_from_slice(&checksum.to_le_bytes());
    changed
}

#[test]
fn numbers_of_later_releases_are_refused_by_name() {
    for entry in entries(Form::Frozen) {
        let (bytes, secret) = (entry.read(), entry.secret());
        let error = refusal(&with_number(&bytes, 8, &3u16.to_le_bytes()), secret);
        assert_eq!(error, FormatError::Version { found: 3, supported: 1 });
        assert_eq!(error.to_string(), "version 3 of the format; this library reads version 1");
        // A later version may have another checksum, so the version is checked before the checksum.
        let mut later = bytes.clone();
        later[8] = 2;
        assert_eq!(refusal(&later, secret), FormatError::Version { found: 2, supported: 1 });

        let error = refusal(&with_number(&bytes, 10, &900u16.to_le_bytes()), secret);
        assert_eq!(error, FormatError::UnknownKind { code: 900 });
        assert_eq!(error.to_string(), "filter of kind 900; this library reads the kinds 1 to 8");
        let error = refusal(&with_number(&bytes, 12, &900u16.to_le_bytes()), secret);
        assert_eq!(error, FormatError::UnknownHash { code: 900 });
        let text = error.to_string();
        assert!(
            text.starts_with("keys hashed by function 900; this library has the functions 1 to ")
        );
        let error = refusal(&with_number(&bytes, 100, &[5]), secret);
        assert_eq!(error, FormatError::Field { name: "reserved", value: 5 });
    }
}

#[test]
fn flags_of_later_releases_are_refused_by_name() {
    for entry in entries(Form::Frozen).filter(|entry| entry.kind == Some(FilterKind::Cuckoo)) {
        let bytes = entry.read();
        let parsed = parse_container(&bytes, entry.secret()).unwrap();
        let mut parameters = parsed.header().parameters;
        parameters[3] |= 1 << 40;
        let header = Header { parameters, ..parsed.header() };
        let error = refusal(&header.to_bytes(&[parsed.payload()]), entry.secret());
        let flags = entry.parameters[3] | 1 << 40;
        assert_eq!(error, FormatError::UnknownFlags { flags, known: 3 });
        let expected = format!("flags {flags:#x}; this library knows the flags 0x3");
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn lists_of_hashes_of_later_releases_are_refused_by_name() {
    for entry in entries(Form::Hashes) {
        let refused = |at: usize, number: u16| {
            let mut bytes = entry.read();
            bytes[at..at + 2].copy_from_slice(&number.to_le_bytes());
            let body = bytes.len() - 8;
            let checksum = digest(&bytes[..body]);
            bytes[body..].copy_from_slice(&checksum.to_le_bytes());
            accumulator(entry.hasher).merge_bytes(&bytes).unwrap_err()
        };
        let format = AccumulateError::Format;
        assert_eq!(refused(8, 3), format(FormatError::Version { found: 3, supported: 1 }));
        assert_eq!(refused(10, 900), format(FormatError::UnknownHash { code: 900 }));
        let reserved = FormatError::Field { name: "reserved", value: 7 };
        assert_eq!(refused(12, 7), format(reserved));
    }
}

/// If a policy does not know the code at the end of a block, a lookup excludes no key, and the error of `verify` states
/// the code.
#[test]
fn filter_blocks_with_reserved_codes_exclude_no_key() {
    for entry in entries(Form::Block).filter(|entry| entry.bytes > 1) {
        let (block, policy) = (entry.read(), policy(&entry));
        let own = block[block.len() - 1];
        let is_bloom = own < 128;
        // The codes 1 to 32 all mean `bloom` blocks, and state the number of bits that a key sets; a `bloom` policy
        // reads them all.
        for code in (0..=255).filter(|code| *code != own && !(is_bloom && *code <= 32)) {
            let mut other = block.clone();
            *other.last_mut().unwrap() = code;
            let mut absent = entry.keys.absent(entry.hasher).into_iter().take(20);
            assert!(
                absent.all(|hash| policy.may_match(&other, hash)),
                "{}, code {code}: a key is excluded",
                entry.file
            );
            let error = policy.verify(&other).unwrap_err().to_string();
            assert!(error.contains(&code.to_string()), "{}: {error}", entry.file);
        }
    }
}

/// Adds the files that the corpus lacks, and their lines in the manifest. Never changes an existing file or line.
///
/// ```text
/// cargo test -p trommel --test format_corpus -- --ignored
/// ```
#[test]
#[ignore = "writes to corpus/format-1"]
fn write_the_missing_files_of_the_corpus() {
    let path = folder().join("manifest.csv");
    let mut text = fs::read_to_string(&path).unwrap_or_else(|_| format!("{COLUMNS}\n"));
    for (entry, bytes) in cases::all(Isa::Portable) {
        let file = folder().join(&entry.file);
        match fs::read(&file) {
            Ok(old) => assert!(old == bytes, "{} would change", entry.file),
            Err(_) => {
                fs::write(&file, bytes).unwrap();
                writeln!(text, "{}", line(&entry)).unwrap();
            }
        }
    }
    fs::write(&path, text).unwrap();
}

const COLUMNS: &str = "file,form,kind,hash,seed,parameters,len,bytes,xxh3,rule,keys,copies,reported,answers,counts,how";

/// An entry as a line of the manifest.
fn line(entry: &Entry) -> String {
    assert!(!entry.how.contains(','), "{}: a comma in `how`", entry.file);
    let list = |numbers: &[u64]| numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(" ");
    let form = match entry.form {
        Form::Frozen => "frozen",
        Form::Block => "block",
        Form::Hashes => "hashes",
    };
    let hash = format!("{:?}", entry.hasher.id()).to_lowercase();
    [
        entry.file.clone(),
        form.to_owned(),
        entry.kind.map_or_else(String::new, |kind| kind.to_string()),
        hash,
        entry.hasher.seed().to_string(),
        list(&entry.parameters),
        entry.len.to_string(),
        entry.bytes.to_string(),
        format!("{:016x}", entry.digest),
        entry.keys.rule.to_string(),
        entry.keys.count.to_string(),
        list(&entry.keys.copies),
        entry.reported.to_string(),
        format!("{:016x}", entry.answers),
        list(&entry.counts),
        entry.how.clone(),
    ]
    .join(",")
}

#[test]
fn a_line_of_the_manifest_says_all_of_its_entry() {
    let text = fs::read_to_string(folder().join("manifest.csv")).unwrap();
    assert_eq!(text.lines().next(), Some(COLUMNS));
    let lines: Vec<String> = manifest().iter().map(line).collect();
    assert!(lines.iter().eq(text.lines().skip(1)));
}
