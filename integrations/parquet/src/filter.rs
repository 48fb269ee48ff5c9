//! The Bloom filter of one column chunk. It consists of a header, in Thrift's compact protocol, and a bitset.

use crate::error::FilterError;
use crate::literal::Literals;
use crate::thrift::{Kind, Reader, ThriftError, expect};
use core::fmt;
use trommel::{Bitmap, Filter, KeyHash, SplitBlockBloom};

/// The size in bytes of a block of the bitset. A key sets eight bits in one block.
const BLOCK_BYTES: u64 = 32;

/// The Bloom filter of a column chunk, borrowed from the bytes of its file without a copy.
///
/// ```
/// use trommel_parquet::{ChunkFilter, FileFilters};
/// let bytes = std::fs::read("tests/golden/pyarrow.parquet")?;
/// let file = FileFilters::open(&bytes)?;
/// let id = file.column("id")?;
/// let filter = file.filter(0, id)?.expect("the writer was told to make one");
/// assert!(filter.estimated_fpr() < 0.01);
///
/// // Parses the same filter from a range of bytes, as an object store returns it.
/// let range = &bytes[filter.offset() as usize..][..filter.len_bytes()];
/// assert_eq!(ChunkFilter::parse(range)?.bitset(), filter.bitset());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct ChunkFilter<'a> {
    view: SplitBlockBloom<&'a [u8]>,
    bitset: &'a [u8],
    header_bytes: usize,
    offset: u64,
}

impl<'a> ChunkFilter<'a> {
    /// Parses a filter from bytes that begin with its header. Cost: O(1), since the bitset is not read.
    ///
    /// # Errors
    /// [`FilterError`] if the header is malformed, has an algorithm, hash or compression that the format does not
    /// define, or states a length of the bitset that is not a positive multiple of 32 bytes
    /// ([`FilterError::BitsetLength`]), or if the bytes end before the bitset does.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, FilterError> {
        let (header_bytes, bitset_bytes) = parse_header(bytes)?;
        let need = header_bytes as u64 + bitset_bytes;
        let truncated = FilterError::Truncated { need, got: bytes.len() as u64 };
        let end = usize::try_from(need).map_err(|_| truncated.clone())?;
        let bitset = bytes.get(header_bytes..end).ok_or(truncated)?;
        let refused = FilterError::BitsetLength { bytes: bitset_bytes as i64 };
        let view = SplitBlockBloom::parse_parquet_bitset(bitset).map_err(|_| refused)?;
        Ok(Self { view, bitset, header_bytes, offset: 0 })
    }

    /// Sets the offset of the filter in its file.
    pub(crate) fn at(self, offset: u64) -> Self {
        Self { offset, ..self }
    }

    /// The bitset, without its header.
    #[must_use]
    pub fn bitset(&self) -> &'a [u8] {
        self.bitset
    }

    /// The length of header and bitset together, in bytes.
    #[must_use]
    pub fn len_bytes(&self) -> usize {
        self.header_bytes + self.bitset.len()
    }

    /// The offset of the filter in its file. It is 0 for a filter from [`ChunkFilter::parse`].
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The filter as a view of Trommel's own type `SplitBlockBloom`.
    #[must_use]
    pub fn view(&self) -> &SplitBlockBloom<&'a [u8]> {
        &self.view
    }

    /// The expected false-positive rate, computed from the bits that are set. Cost: one pass over the bitset.
    #[must_use]
    pub fn estimated_fpr(&self) -> f64 {
        self.view.expected_fpr()
    }

    /// The estimated number of distinct values, computed from the bits that are set. Cost: one pass over the bitset.
    #[must_use]
    pub fn estimated_distinct(&self) -> f64 {
        self.view.estimate_len()
    }

    /// The fraction of bits that are set, from 0 to 1. Cost: one pass over the bitset.
    #[must_use]
    pub fn fill(&self) -> f64 {
        self.view.count_ones() as f64 / (self.bitset.len() as f64 * 8.0)
    }

    /// Whether any of the literals might be in the column chunk. The caller must ensure that the literals are of the
    /// column's physical type. This function cannot check the type, since a filter does not contain it.
    /// [`FileFilters::row_groups_to_read`](crate::FileFilters::row_groups_to_read) checks the type.
    ///
    /// ```
    /// use std::fs::File;
    /// use parquet::file::reader::{ChunkReader, FileReader, SerializedFileReader};
    /// use trommel_parquet::{ChunkFilter, Literals};
    ///
    /// // Finds the filter by metadata that the `parquet` crate has read.
    /// let file = File::open("tests/golden/pyarrow.parquet")?;
    /// let reader = SerializedFileReader::new(file.try_clone()?)?;
    /// let chunk = reader.metadata().row_group(0).column(0);
    /// let offset = chunk.bloom_filter_offset().unwrap() as u64;
    /// let range = file.get_bytes(offset, chunk.bloom_filter_length().unwrap() as usize)?;
    ///
    /// let filter = ChunkFilter::parse(&range)?;
    /// assert!(filter.might_contain_any(&Literals::int64(&[-1, 7920])));
    /// assert!(!filter.might_contain_any(&Literals::int64(&[-1, -2])));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn might_contain_any(&self, literals: &Literals) -> bool {
        literals.any_in(&self.view, &mut Bitmap::new(0))
    }

    /// The literals that might be in the column chunk: a bit for each literal. As for
    /// [`might_contain_any`](ChunkFilter::might_contain_any), the caller must ensure that the literals are of the
    /// column's physical type.
    #[must_use]
    pub fn might_contain_each(&self, literals: &Literals) -> Bitmap {
        literals.each_in(&self.view)
    }

    /// Whether a value with this hash might be in the column chunk. [`Literals`] hashes values by the format's rules.
    #[must_use]
    #[inline]
    pub fn might_contain_hash(&self, hash: KeyHash) -> bool {
        self.view.contains_hash(hash)
    }
}

/// Prints the filter's offset and the bitset's length, not the bitset's bytes.
impl fmt::Debug for ChunkFilter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChunkFilter")
            .field("offset", &self.offset)
            .field("bitset_bytes", &self.bitset.len())
            .finish_non_exhaustive()
    }
}

/// The length of the longest header that is accepted, in bytes; a longer header is a [`FilterError::Header`]. A header
/// has 15 to 19 bytes. Even if later versions of the format add fields, a header will hardly exceed this limit.
pub(crate) const MAX_HEADER_BYTES: usize = 4096;

/// Returns the length of a header, and the length of the bitset that the header declares. `bytes` begins with the
/// header and need not contain the bitset.
pub(crate) fn parse_header(bytes: &[u8]) -> Result<(usize, u64), FilterError> {
    let mut reader = Reader::new(&bytes[..bytes.len().min(MAX_HEADER_BYTES)]);
    let malformed =
        |error: ThriftError| FilterError::Header { at: error.at as u64, problem: error.problem };
    let header = read_header(&mut reader).map_err(malformed)?;
    for (field, choice) in ["algorithm", "hash", "compression"].iter().zip(header.choices) {
        match choice {
            Some(1) => {}
            Some(choice) => return Err(FilterError::Unsupported { field, choice }),
            None => return Err(malformed(ThriftError { at: reader.position(), problem: MISSING })),
        }
    }
    let Some(bitset) = header.bitset_bytes else {
        return Err(malformed(ThriftError { at: reader.position(), problem: MISSING }));
    };
    match u64::try_from(bitset) {
        Ok(bytes @ BLOCK_BYTES..) if bytes.is_multiple_of(BLOCK_BYTES) => {
            Ok((reader.position(), bytes))
        }
        _ => Err(FilterError::BitsetLength { bytes: bitset.into() }),
    }
}

const MISSING: &str = "a field is missing";

#[derive(Default)]
struct Header {
    bitset_bytes: Option<i32>,
    /// Algorithm, hash and compression. The only value that the format defines for each is 1.
    choices: [Option<i16>; 3],
}

fn read_header(reader: &mut Reader<'_>) -> Result<Header, ThriftError> {
    let (mut header, mut last) = (Header::default(), 0);
    while let Some((id, kind)) = reader.field(&mut last)? {
        match id {
            1 => {
                expect(reader, kind, Kind::I32)?;
                header.bitset_bytes = Some(reader.i32()?);
            }
            2..=4 => {
                expect(reader, kind, Kind::Struct)?;
                header.choices[id as usize - 2] = read_union(reader)?;
            }
            _ => reader.skip(kind)?,
        }
    }
    Ok(header)
}

/// Reads a union, which is a struct with one field, and returns the number of this field. `None` if there is no field.
fn read_union(reader: &mut Reader<'_>) -> Result<Option<i16>, ThriftError> {
    let (mut choice, mut last) = (None, 0);
    while let Some((id, kind)) = reader.field(&mut last)? {
        if choice.is_some() {
            return reader.error("a union has two fields");
        }
        choice = Some(id);
        reader.skip(kind)?;
    }
    Ok(choice)
}
