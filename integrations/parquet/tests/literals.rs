//! Tests the rules for literals of each physical and logical type.

mod common;

use common::{Folder, Options};
use std::fs;
use trommel_parquet::{FileFilters, Literal, Literals, PhysicalType, ProbeError, Rewrite};

const SCHEMA: &str = "
    required boolean flag;
    required int32 i32;
    required int64 i64;
    required int96 i96;
    required float f32;
    required double f64;
    required binary bytes;
    required fixed_len_byte_array(4) four;
    required fixed_len_byte_array(2) half (FLOAT16);
    required int32 small (DECIMAL(9, 2));
    required int64 medium (DECIMAL(18, 2));
    required fixed_len_byte_array(9) large (DECIMAL(20, 2));
    required binary huge (DECIMAL(30, 2));
    required int32 unsigned (INTEGER(32, false));
";

#[test]
fn literals_that_do_not_fit_the_column_are_errors() {
    use PhysicalType as P;
    let bytes = common::file_of_schema(SCHEMA);
    let file = FileFilters::open(&bytes).unwrap();
    let values = [
        (P::Int32, Literal::Int32(1)),
        (P::Int64, Literal::Int64(1)),
        (P::Float, Literal::Float(1.0)),
        (P::Double, Literal::Double(1.0)),
        (P::ByteArray, Literal::Bytes(b"four")),
    ];
    let slices = [
        Literals::int32(&[1]),
        Literals::int64(&[1]),
        Literals::float(&[1.0]),
        Literals::double(&[1.0]),
        Literals::bytes(["four"]),
    ];
    for path in ["i32", "i64", "f32", "f64", "bytes", "four"] {
        let column = file.column(path).unwrap();
        let physical = match column.physical_type() {
            P::FixedLenByteArray => P::ByteArray,
            physical => physical,
        };
        for ((literal, value), slice) in values.iter().zip(&slices) {
            let made = Literals::new(column, [*value]);
            let asked = file.row_groups_to_read(column, slice);
            if *literal == physical {
                assert!(made.is_ok() && asked.is_ok(), "{path}: literals of {literal} are refused");
                continue;
            }
            let column = column.physical_type();
            let error = ProbeError::WrongType { column, literal: *literal };
            assert_eq!(made.unwrap_err(), error);
            assert_eq!(asked.unwrap_err(), error);
        }
    }
    for (path, column) in [("flag", P::Boolean), ("i96", P::Int96)] {
        let error = ProbeError::UnsupportedType { column };
        let column = file.column(path).unwrap();
        assert_eq!(Literals::new(column, []).unwrap_err(), error);
        assert_eq!(file.row_groups_to_read(column, &slices[0]).unwrap_err(), error);
        assert_eq!(Literals::parse(column, ["1"]).unwrap_err(), error);
        assert_eq!(Literals::decimals(column, [1]).unwrap_err(), error);
    }
    let four = file.column("four").unwrap();
    let error = ProbeError::WrongLength { column: 4, literal: 5 };
    assert_eq!(Literals::new(four, [Literal::Bytes(b"fives")]).unwrap_err(), error);
    let mixed = Literals::bytes(["four", "fives"]);
    assert_eq!(file.row_groups_to_read(four, &mixed).unwrap_err(), error);
    // Literals for half-precision floats cannot be made from bytes alone.
    let half = file.column("half").unwrap();
    let error = file.row_groups_to_read(half, &Literals::bytes([[0, 0]])).unwrap_err();
    assert_eq!(error, ProbeError::NeedsColumn);
    assert!(file.column("none").is_err());
}

/// A file with a single column, a single value, and a filter of this value.
struct OneValue(Vec<u8>);

impl OneValue {
    fn new(
        field: &str,
        write: impl FnOnce(&mut parquet::file::writer::SerializedColumnWriter<'_>),
    ) -> Self {
        use parquet::file::{properties::WriterProperties, writer::SerializedFileWriter};
        use std::sync::Arc;
        let folder = Folder::new();
        let schema =
            parquet::schema::parser::parse_message_type(&format!("message m {{ {field} }}"));
        let properties = Arc::new(WriterProperties::builder().build());
        let file = fs::File::create(folder.path("in")).unwrap();
        let mut writer =
            SerializedFileWriter::new(file, Arc::new(schema.unwrap()), properties).unwrap();
        let mut group = writer.next_row_group().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        write(&mut column);
        column.close().unwrap();
        group.close().unwrap();
        writer.close().unwrap();
        Rewrite::new(folder.path("in")).add("v", 1e-4).write(folder.path("out")).unwrap();
        Self(fs::read(folder.path("out")).unwrap())
    }

    fn might_have(&self, literals: impl FnOnce(&trommel_parquet::Column) -> Literals) -> bool {
        let file = FileFilters::open(&self.0).unwrap();
        let column = file.column("v").unwrap();
        file.row_groups_to_read(column, &literals(column)).unwrap().get(0)
    }
}

#[test]
fn zeros_are_found_whatever_their_sign_and_nan_is_assumed_everywhere() {
    use parquet::data_type::{ByteArray, DoubleType, FixedLenByteArrayType, FloatType};
    for zero in [0.0f64, -0.0] {
        let double = OneValue::new("required double v;", |column| {
            column.typed::<DoubleType>().write_batch(&[zero], None, None).unwrap();
        });
        let float = OneValue::new("required float v;", |column| {
            column.typed::<FloatType>().write_batch(&[zero as f32], None, None).unwrap();
        });
        let half = OneValue::new("required fixed_len_byte_array(2) v (FLOAT16);", |column| {
            let bytes = [0, if zero.is_sign_negative() { 0x80 } else { 0 }];
            let value = ByteArray::from(bytes.to_vec()).into();
            column.typed::<FixedLenByteArrayType>().write_batch(&[value], None, None).unwrap();
        });
        for asked in [0.0f64, -0.0, f64::NAN] {
            assert!(double.might_have(|_| Literals::double(&[asked])));
            assert!(float.might_have(|_| Literals::float(&[asked as f32])));
        }
        for asked in [[0, 0], [0, 0x80], [1, 0x7C], [0, 0xFE]] {
            assert!(half.might_have(|v| Literals::new(v, [Literal::Bytes(&asked)]).unwrap()));
        }
        assert!(!double.might_have(|_| Literals::double(&[1.0, f64::INFINITY])));
        assert!(!float.might_have(|_| Literals::float(&[1.0, f32::MIN_POSITIVE])));
        // The literals are 1 and infinity.
        for asked in [[0, 0x3C], [0, 0x7C]] {
            assert!(!half.might_have(|v| Literals::new(v, [Literal::Bytes(&asked)]).unwrap()));
        }
    }
}

#[test]
fn decimals_are_found_in_every_physical_type() {
    use parquet::data_type::{
        ByteArray, ByteArrayType, FixedLenByteArrayType, Int32Type, Int64Type,
    };
    // Each file has the value -12.34.
    let files = [
        OneValue::new("required int32 v (DECIMAL(9, 2));", |column| {
            column.typed::<Int32Type>().write_batch(&[-1234], None, None).unwrap();
        }),
        OneValue::new("required int64 v (DECIMAL(18, 2));", |column| {
            column.typed::<Int64Type>().write_batch(&[-1234], None, None).unwrap();
        }),
        OneValue::new("required fixed_len_byte_array(9) v (DECIMAL(20, 2));", |column| {
            let value = ByteArray::from((-1234i128).to_be_bytes()[7..].to_vec()).into();
            column.typed::<FixedLenByteArrayType>().write_batch(&[value], None, None).unwrap();
        }),
        OneValue::new("required binary v (DECIMAL(30, 2));", |column| {
            let value = ByteArray::from((-1234i32).to_be_bytes().to_vec());
            column.typed::<ByteArrayType>().write_batch(&[value], None, None).unwrap();
        }),
    ];
    for (i, file) in files.iter().enumerate() {
        assert!(file.might_have(|v| Literals::decimals(v, [-1234]).unwrap()));
        assert!(file.might_have(|v| Literals::decimals(v, [7, -1234, 8]).unwrap()));
        assert!(file.might_have(|v| Literals::parse(v, ["-12.34"]).unwrap()));
        // A `BYTE_ARRAY` column can store a number in several encodings, so every row group is assumed to have it.
        assert_eq!(
            file.might_have(|v| Literals::decimals(v, [1234, 0, i128::MIN]).unwrap()),
            i == 3
        );
    }
}

#[test]
fn thousands_of_literals_have_the_same_answers_as_single_ones() {
    let folder = Folder::new();
    let options = Options { rows: 2000, ..Options::default() };
    common::write(&folder.path("in"), &options);
    Rewrite::new(folder.path("in"))
        .add("id", 0.01)
        .add("name", 0.01)
        .write(folder.path("out"))
        .unwrap();
    let bytes = fs::read(folder.path("out")).unwrap();
    let file = FileFilters::open(&bytes).unwrap();

    let id = file.column("id").unwrap();
    let ids: Vec<i64> = (0..9000).map(common::id).collect();
    let literals = Literals::int64(&ids);
    let same = Literals::new(id, ids.iter().map(|id| Literal::Int64(*id))).unwrap();
    for group in 0..options.groups {
        let each = file.might_contain(group, id, &literals).unwrap();
        assert_eq!(each, file.might_contain(group, id, &same).unwrap());
        for (i, value) in ids.iter().enumerate() {
            let one = file.row_groups_to_read(id, &Literals::int64(&[*value])).unwrap();
            assert_eq!(one.get(group), each.get(i));
        }
        // The filter must report the row group's own 2000 ids as present. It is expected to report about 1 % of the
        // other 7000 ids as present.
        let present = common::rows(&options, group).count();
        assert!(
            (present..present + 150).contains(&each.count_ones()),
            "{} ids are reported as present",
            each.count_ones()
        );
    }
    // Thousands of ids that are not in the file. Then one that is in the file is added.
    let mut absent: Vec<i64> = (1_000_000..1_004_000)
        .map(common::id)
        .filter(|id| {
            let literals = Literals::int64(&[*id]);
            file.row_groups_to_read(file.column("id").unwrap(), &literals).unwrap().count_ones()
                == 0
        })
        .collect();
    assert!(absent.len() > 3500);
    assert_eq!(file.row_groups_to_read(id, &Literals::int64(&absent)).unwrap().count_ones(), 0);
    absent.push(common::id(1));
    let read = file.row_groups_to_read(id, &Literals::int64(&absent)).unwrap();
    assert!(read.get(1));

    let name = file.column("name").unwrap();
    let names = Literals::bytes((0..6000).filter_map(common::name));
    assert_eq!(names.len(), 4800);
    assert_eq!(file.row_groups_to_read(name, &names).unwrap().count_ones(), 3);
    // The column `code` has no filter.
    let code = file.column("code").unwrap();
    assert_eq!(file.row_groups_to_read(code, &Literals::int32(&[-1])).unwrap().count_ones(), 3);
    assert_eq!(file.might_contain(0, code, &Literals::int32(&[-1, -2])).unwrap().count_ones(), 2);
}
