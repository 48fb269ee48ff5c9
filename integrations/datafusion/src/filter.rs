//! The filters in which a query looks keys up.

use crate::key_set::ALWAYS_TRUE;
use datafusion::arrow::array::{Array, ArrayRef, BooleanArray};
use datafusion::arrow::buffer::BooleanBuffer;
use datafusion::arrow::error::ArrowError;
use datafusion::common::{Result, exec_err};
use std::sync::{Arc, Mutex, PoisonError};
use trommel::Filter;
use trommel::container::{HEADER_BYTES, OwnedView};
use trommel_arrow::ColumnHasher;

/// A filter whose bytes were verified.
#[derive(Debug)]
pub(crate) enum QueryFilter {
    /// Stands for a filter of all keys: the answer for every key is true.
    AlwaysTrue,
    /// A frozen filter.
    View(Box<OwnedView>),
}

impl QueryFilter {
    /// Verifies the bytes of a frozen filter, whether `trommel_filter` or another program made it.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self> {
        if bytes == ALWAYS_TRUE {
            return Ok(Self::AlwaysTrue);
        }
        match OwnedView::parse(bytes.to_vec()) {
            Ok(view) => Ok(Self::View(Box::new(view))),
            Err(error) => exec_err!("these {} bytes are no filter: {error}", bytes.len()),
        }
    }

    /// Looks up each key in the filter. The answer for a NULL key is NULL.
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

/// A cache of verified filters. A query looks up batch after batch in the same filter, and verifying a filter of 1 MB
/// costs as much as looking up tens of thousands of keys.
#[derive(Debug, Default)]
pub(crate) struct ParsedFilters {
    /// The most recently used filter is the last.
    filters: Mutex<Vec<Parsed>>,
}

#[derive(Clone, Debug)]
struct Parsed {
    /// The header: kind, hash, seed, parameters, and the checksums of header and table.
    header: Vec<u8>,
    len: usize,
    filter: Arc<QueryFilter>,
}

impl Parsed {
    /// Whether `bytes` are this filter. Compares only length and header. The header contains the table's checksum of 64
    /// bits, so the headers of two different filters are hardly ever equal. If the table in `bytes` is damaged, lookups
    /// use the cached filter, whose table is verified. Comparing the tables as well would read as much memory as
    /// parsing `bytes` does, so the cache would save little.
    fn is(&self, bytes: &[u8]) -> bool {
        self.len == bytes.len() && bytes.starts_with(&self.header)
    }
}

impl ParsedFilters {
    /// The maximum number of cached filters. It is enough for the predicates of a few concurrent queries.
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
        let position = filters.iter().rposition(|parsed| parsed.is(bytes))?;
        let last = filters.len() - 1;
        filters[position..=last].rotate_left(1);
        Some(Arc::clone(&filters[last].filter))
    }
}
