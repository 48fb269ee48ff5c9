//! Decides where the new file has the parts of the old file.

use core::ops::Range;

/// Which parts of the old file are copied, and where new filters are inserted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    /// The ranges that are left out, in ascending order.
    pub(crate) dropped: Vec<Range<u64>>,
    /// The offset in the old file before which new filters are inserted. If possible, new filters are inserted before
    /// the first page index, and otherwise before the footer. The format allows filters at both positions.
    pub(crate) insert_at: u64,
}

/// The parts of a file, between the magic bytes and the footer, to which the footer refers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Parts {
    pub(crate) chunks: Vec<Range<u64>>,
    pub(crate) kept_filters: Vec<Range<u64>>,
    pub(crate) dropped_filters: Vec<Range<u64>>,
    pub(crate) page_indexes: Vec<Range<u64>>,
}

impl Layout {
    /// Plans the layout of a file whose parts lie between `begin`, the end of the magic bytes, and `footer`, the offset
    /// of the footer.
    ///
    /// Leaves out dropped filters if the footer accounts for every byte of the file exactly once and no page index
    /// comes before the end of the column chunks. Column chunks and filters between a dropped filter and `insert_at`
    /// then move towards the beginning. If the footer does not account for every byte, the file might have content that
    /// another program finds by its offset, such as an index, so nothing moves: dropped filters stay as unused bytes,
    /// and new filters are inserted directly before the footer. Nothing moves either if a page index comes before the
    /// end of the column chunks.
    pub(crate) fn new(parts: &Parts, begin: u64, footer: u64) -> Self {
        let data_end = parts.chunks.iter().map(|chunk| chunk.end).max().unwrap_or(begin);
        let first_index = parts.page_indexes.iter().map(|index| index.start).min();
        let known =
            [&parts.chunks[..], &parts.kept_filters, &parts.dropped_filters, &parts.page_indexes];
        if !cover(known.concat(), begin, footer) || first_index.is_some_and(|at| at < data_end) {
            return Self { dropped: Vec::new(), insert_at: footer };
        }
        let mut dropped = parts.dropped_filters.clone();
        dropped.sort_by_key(|range| range.start);
        Self { dropped, insert_at: first_index.unwrap_or(footer) }
    }

    /// The parts of the old file that lie in the range `within` and are copied.
    pub(crate) fn kept(&self, within: Range<u64>) -> Vec<Range<u64>> {
        let mut kept = Vec::new();
        let mut at = within.start;
        for dropped in &self.dropped {
            if dropped.start >= at && dropped.end <= within.end {
                kept.push(at..dropped.start);
                at = dropped.end;
            }
        }
        kept.push(at..within.end);
        kept.retain(|range| !range.is_empty());
        kept
    }
}

/// Whether ranges cover all bytes from `begin` to `end` without overlaps.
fn cover(mut ranges: Vec<Range<u64>>, begin: u64, end: u64) -> bool {
    ranges.retain(|range| range.start != range.end);
    ranges.sort_by_key(|range| (range.start, range.end));
    let mut at = begin;
    for range in ranges {
        if range.start != at || range.end < range.start {
            return false;
        }
        at = range.end;
    }
    at == end
}

/// Maps offsets in the old file to offsets in the new file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Moves {
    /// Ranges of the old file, in ascending order, each with its offset in the new file.
    segments: Vec<(Range<u64>, u64)>,
}

impl Moves {
    /// Adds a range of the old file that was copied to the offset `to`. Ranges must be added in ascending order.
    pub(crate) fn push(&mut self, range: Range<u64>, to: u64) {
        self.segments.push((range, to));
    }

    /// The new offset of a byte. A byte that was left out has the new offset of the next byte that was copied. If no
    /// copied byte follows, the offset is returned unchanged.
    pub(crate) fn moved(&self, offset: i64) -> i64 {
        let Ok(old) = u64::try_from(offset) else { return offset };
        let next = self.segments.partition_point(|(range, _)| range.end <= old);
        match self.segments.get(next) {
            Some((range, to)) => (to + old.saturating_sub(range.start)) as i64,
            None => offset,
        }
    }
}

#[cfg(test)]
#[allow(clippy::single_range_in_vec_init, reason = "one range is meant")]
mod tests {
    use super::*;

    fn parts() -> Parts {
        Parts {
            chunks: vec![4..10, 15..20],
            kept_filters: vec![20..22],
            dropped_filters: vec![10..15, 22..30],
            page_indexes: vec![30..33, 33..40],
        }
    }

    #[test]
    fn dropped_filters_leave_no_gap_if_the_footer_accounts_for_all_bytes() {
        let layout = Layout::new(&parts(), 4, 40);
        assert_eq!(layout, Layout { dropped: vec![10..15, 22..30], insert_at: 30 });
        assert_eq!(layout.kept(0..30), [0..10, 15..22]);
        assert_eq!(layout.kept(30..40), [30..40]);
        let mut moves = Moves::default();
        moves.push(0..10, 0);
        moves.push(15..22, 10);
        moves.push(30..40, 50);
        let moved = [0, 9, 10, 14, 15, 21, 22, 30, 39, 40, -1].map(|at| moves.moved(at));
        assert_eq!(moved, [0, 9, 10, 10, 10, 16, 50, 50, 59, 40, -1]);
    }

    #[test]
    fn nothing_moves_if_parts_are_unknown_or_overlap_or_an_index_comes_before_data() {
        let unmoved = Layout { dropped: vec![], insert_at: 40 };
        let with = |change: fn(&mut Parts)| {
            let mut parts = parts();
            change(&mut parts);
            Layout::new(&parts, 4, 40)
        };
        assert_eq!(with(|parts| parts.chunks[0] = 4..9), unmoved);
        assert_eq!(with(|parts| parts.chunks[0] = 5..10), unmoved);
        assert_eq!(with(|parts| parts.chunks[0] = 4..11), unmoved);
        assert_eq!(with(|parts| parts.page_indexes[1] = 33..39), unmoved);
        assert_eq!(with(|parts| parts.kept_filters.push(10..15)), unmoved);
        // A page index lies between two column chunks.
        assert_eq!(
            with(|parts| core::mem::swap(&mut parts.chunks[1], &mut parts.page_indexes[0])),
            unmoved
        );
        assert_eq!(unmoved.kept(0..40), [0..40]);
    }
}
