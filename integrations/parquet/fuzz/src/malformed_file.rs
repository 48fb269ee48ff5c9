//! Checks that untrusted bytes are either refused with a typed error or accepted as a file whose filters can be probed.
//!
//! The first byte of the input chooses how the rest is used: as a whole file, as a filter, as a new footer for a file
//! that pyarrow has written, or as changes to bytes of this file.

use trommel::Bitmap;
use trommel_parquet::{ChunkFilter, Column, FileFilters, FilterSet, Literals, PhysicalType};

/// The file that pyarrow has written.
const FILE: &[u8] = include_bytes!("../../tests/golden/pyarrow.parquet");

/// Runs the fuzz target with an input.
pub fn run(data: &[u8]) {
    let Some((mode, data)) = data.split_first() else { return };
    match mode % 4 {
        0 => judge(data),
        1 => judge(&around_footer(data)),
        2 => {
            if let Ok(filter) = ChunkFilter::parse(data) {
                exercise(&filter, data.len());
            }
        }
        _ => judge(&changed(data)),
    }
}

/// Returns the file that pyarrow has written, with its footer replaced by `footer`.
pub fn around_footer(footer: &[u8]) -> Vec<u8> {
    let (_, footer_start) = parts();
    [&FILE[..footer_start], footer, &(footer.len() as u32).to_le_bytes(), b"PAR1"].concat()
}

/// Changes some bytes of the file that pyarrow has written. Each change takes three bytes of input: two for the
/// position, counted back from the end of the file, and one that is XORed with the byte at this position.
fn changed(data: &[u8]) -> Vec<u8> {
    let mut file = FILE.to_vec();
    let (changes, _) = data.as_chunks::<3>();
    for [low, high, value] in changes {
        let back = usize::from(u16::from_le_bytes([*low, *high])) % file.len();
        let position = file.len() - 1 - back;
        file[position] ^= value;
    }
    file
}

/// The footer of the file that pyarrow has written, and the footer's offset.
pub fn parts() -> (&'static [u8], usize) {
    let (rest, tail) = FILE.split_at(FILE.len() - 8);
    let footer_len = u32::from_le_bytes([tail[0], tail[1], tail[2], tail[3]]) as usize;
    (&rest[rest.len() - footer_len..], rest.len() - footer_len)
}

/// Opens a file, calls the functions that find and probe its filters, and checks their results.
pub fn judge(bytes: &[u8]) {
    let file = match FileFilters::open(bytes) {
        Ok(file) => file,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let mut filters = 0;
    for (row_group, column, filter) in file.filters() {
        assert!(file.row_groups()[row_group].has_filter(column));
        match filter {
            Ok(filter) if filters < 100 => {
                assert!(filter.offset() as usize + filter.len_bytes() <= bytes.len());
                exercise(&filter, bytes.len());
                filters += 1;
            }
            Ok(_) => {}
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
    for column in file.columns().iter().take(100) {
        assert!(
            file.column(column.path()).is_ok_and(|found| found == column)
                || file.columns().iter().filter(|other| other.path() == column.path()).count() > 1
        );
        let Some(literals) = literals(column) else { continue };
        let read = file.row_groups_to_read(column, &literals);
        let each: Result<Vec<Bitmap>, _> = (0..file.row_groups().len())
            .map(|group| file.might_contain(group, column, &literals))
            .collect();
        match (read, each) {
            (Ok(read), Ok(each)) => {
                for (group, each) in each.iter().enumerate() {
                    assert_eq!(each.len(), literals.len());
                    assert_eq!(read.get(group), each.count_ones() > 0);
                }
            }
            (Err(one), Err(other)) => assert_eq!(one, other),
            (read, each) => panic!("row_groups_to_read: {read:?}, but might_contain: {each:?}"),
        }
        let mut set = FilterSet::new();
        if set.push(&file, column.path()).is_ok() {
            let _ = set.files_to_read(&literals);
        }
    }
}

/// Calls the functions of a filter and checks their results. `given` is the length in bytes of the file or slice that
/// the filter was parsed from.
fn exercise(filter: &ChunkFilter<'_>, given: usize) {
    assert!(filter.len_bytes() <= given && filter.bitset().len() % 32 == 0);
    assert!((0.0..=1.0).contains(&filter.fill()));
    assert!((0.0..=1.0).contains(&filter.estimated_fpr()));
    assert!(filter.estimated_distinct() >= 0.0);
}

fn literals(column: &Column) -> Option<Literals> {
    Some(match column.physical_type() {
        PhysicalType::Int32 => Literals::int32(&[0, 1, -500]),
        PhysicalType::Int64 => Literals::int64(&[0, 7920, i64::MIN]),
        PhysicalType::Float => Literals::float(&[0.0, f32::NAN, -3.0]),
        PhysicalType::Double => Literals::double(&[-0.0, -20.0]),
        PhysicalType::ByteArray => Literals::bytes(["", "customer-1"]),
        PhysicalType::FixedLenByteArray => {
            // A malformed schema can state any length.
            let len = column.fixed_len().filter(|len| *len <= 1 << 16)?;
            Literals::bytes([vec![1; len]])
        }
        _ => return None,
    })
}
