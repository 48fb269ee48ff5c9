//! The shape of a filter's table.

/// The shape of a table: how many units it has and how many bits per key sets. What a unit is (a word,
/// a block, a line) is the layout's to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Units of the table, at least 1.
    pub units: u64,
    /// Bits that a key sets, with repetition where the layout allows it.
    pub hashes: u32,
}
