//! What a rewriting did.

/// The result of a rewriting.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RewriteReport {
    /// The size of the input in bytes.
    pub file_bytes_before: u64,
    /// The size of the output in bytes.
    pub file_bytes_after: u64,
    /// The number of bytes in the output that are left over from filters that this rewriting replaced, folded or
    /// removed. Nothing refers to these bytes. The bytes of malformed filters are not counted. Bytes are left over only
    /// if the rewriting moves nothing. It moves nothing if the footer does not account for every byte of the file
    /// exactly once, or if a page index comes before the end of the column chunks.
    pub unused_bytes: u64,
    /// The filters that were made, folded or removed, sorted by row group and then by column. A filter that
    /// [`Rewrite::fold`](crate::Rewrite::fold) did not change is also listed.
    pub filters: Vec<FilterChange>,
}

/// The change of the filter of one column chunk.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct FilterChange {
    /// The column's path.
    pub column: String,
    /// The index of the row group.
    pub row_group: usize,
    /// The number of distinct values of a filter that was built from values. `None` if the filter was folded or
    /// removed.
    pub distinct: Option<u64>,
    /// The size of the old header and bitset in bytes; 0 if there was no filter or a malformed one.
    pub bytes_before: u64,
    /// The size of the new header and bitset in bytes; 0 if there is no filter.
    pub bytes_after: u64,
    /// The expected false-positive rate of the new filter, computed from its set bits; 1 if there is no filter.
    pub fpr: f64,
}
