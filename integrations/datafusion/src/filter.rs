//! A filter that a query looks keys up in.

use crate::key_set::ALWAYS_TRUE;
use datafusion::arrow::array::{Array, ArrayRef, BooleanArray};
use datafusion::arrow::buffer::BooleanBuffer;
use datafusion::arrow::error::ArrowError;
use datafusion::common::{Result, exec_err};
use std::sync::{Arc, Mutex, PoisonError};
use trommel::Filter;
use trommel::container::{HEADER_BYTES, OwnedView};
use trommel_arrow::ColumnHasher;

/// A checked filter.
#[derive(Debug)]
pub(crate) enum QueryFilter {
    /// Holds every key.
    AlwaysTrue,
    /// A frozen filter.
    View(Box<OwnedView>),
}

impl QueryFilter {
    /// Checks bytes that `trommel_filter` has made, or any other frozen filter.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self> {
        if bytes == ALWAYS_TRUE {
            return Ok(Self::AlwaysTrue);
        }
        match OwnedView::parse(bytes.to_vec()) {
            Ok(view) => Ok(Self::View(Box::new(view))),
            Err(error) => exec_err!("these {} bytes are no filter: {error}", bytes.len()),
        }
    }

    /// Whether each key may be in the filter; NULL for NULL.
    pub(crate) fn probe(&self, keys: &ArrayRef) -> Result<BooleanArray> {
        match self {
            Self::AlwaysTrue => {
                Ok(BooleanArray::new(BooleanBuffer::new_set(keys.len()), keys.logical_nulls()))
            }
            Self::View(view) => {
                let mut hasher = ColumnHasher::new(view.hasher());
                Ok(hasher.hash(&[keys]).map_err(ArrowError::from)?.probe(&**view))
            }
        }
    }
}

/// The filters that were parsed last. A query asks about one filter batch after batch, and to check it costs as much as to
/// look up tens of thousands of keys.
#[derive(Debug, Default)]
pub(crate) struct ParsedFilters {
    /// The one used last is the last.
    filters: Mutex<Vec<Parsed>>,
}

#[derive(Clone, Debug)]
struct Parsed {
    /// The first bytes: kind, hash, seed and parameters, and checksums of themselves and of the table.
    header: Vec<u8>,
    len: usize,
    filter: Arc<QueryFilter>,
}

impl Parsed {
    /// Equal headers are equal filters but once in 2^64, since they hold the checksum of the table too. Bytes whose table was
    /// damaged later are answered from the table of the checksum. To compare tables would read as much memory as parsing.
    fn is(&self, bytes: &[u8]) -> bool {
        self.len == bytes.len() && bytes.starts_with(&self.header)
    }
}

impl ParsedFilters {
    /// Enough for the predicates of a few queries at once.
    const MAX_FILTERS: usize = 8;

    pub(crate) fn parse(&self, bytes: &[u8]) -> Result<Arc<QueryFilter>> {
        if let Some(filter) = self.find(bytes) {
            return Ok(filter);
        }
        let filter = Arc::new(QueryFilter::parse(bytes)?);
        let header = bytes[..bytes.len().min(HEADER_BYTES)].to_vec();
        let parsed = Parsed { header, len: bytes.len(), filter: Arc::clone(&filter) };
        let mut filters = self.filters.lock().unwrap_or_else(PoisonError::into_inner);
        if filters.len() == Self::MAX_FILTERS {
            filters.remove(0);
        }
        filters.push(parsed);
        Ok(filter)
    }

    fn find(&self, bytes: &[u8]) -> Option<Arc<QueryFilter>> {
        let mut filters = self.filters.lock().unwrap_or_else(PoisonError::into_inner);
        let at = filters.iter().rposition(|parsed| parsed.is(bytes))?;
        let last = filters.len() - 1;
        filters[at..=last].rotate_left(1);
        Some(Arc::clone(&filters[last].filter))
    }
}
