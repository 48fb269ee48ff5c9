//! A reader of kind 8, written only from docs/FORMAT.md. It checks all that the document states about the bytes of a
//! filter, except two statements that the bytes alone cannot prove or refute:
//!
//! - if [`Buckets::is_set`] is false for a fingerprint's primary bucket and its parity, the fingerprint is not in its
//!   other bucket. The bytes do not show which of a fingerprint's two buckets is the primary bucket;
//! - a filter that is no multiset does not insert a key that it finds. The bytes do not show which keys were inserted.

use super::{Page, bit, example_row, hashes, number, power_of_two, written_and_read_example};
use trommel::{
    Count, CuckooFilter, Filter, FilterKind, FilterSpec, FilterView, FormatError, Hasher, Insert,
    KeyHash, Remove, SpecError,
};
use trommel_base::{FromSpec, Spec};
use trommel_testkit::sizes::clamped;

/// The contents of a payload, and the parameters of its table under the names that docs/FORMAT.md gives them.
pub(super) struct Buckets {
    m: u64,
    f: u64,
    d: u64,
    flags: u64,
    slots: Vec<[u64; 4]>,
    entries: Vec<u64>,
}

impl Buckets {
    /// Reads a payload, and panics if it contradicts one of the statements of docs/FORMAT.md that this reader checks.
    pub(super) fn read([m, f, d, flags]: [u64; 4], payload: &[u8], len: u64) -> Self {
        assert!(m.is_multiple_of(2 << d) && (2..=1 << 31).contains(&m));
        assert!([8, 12, 16, 32].contains(&f) && d + 4 <= f && flags < 4);
        let (buckets, rest) = payload.split_at((f * m / 2) as usize);
        let (padding, entries) = rest.split_at(if f == 12 { 2 } else { 0 });
        assert!(padding.iter().all(|byte| *byte == 0));
        assert_eq!(entries.len() % 8, 0);
        let entries: Vec<u64> = entries.chunks(8).map(|entry| number(entry, 0..8)).collect();
        assert!(entries.is_sorted() && entries.len() as u64 <= (4 * m / 256).clamp(2, 64));
        let slot = |b: u64, s: u64| {
            let from = f * (4 * b + s);
            (0..f).rev().fold(0, |number, i| number << 1 | u64::from(bit(buckets, from + i)))
        };
        let slots: Vec<[u64; 4]> = (0..m).map(|b| [0, 1, 2, 3].map(|s| slot(b, s))).collect();
        let table = Self { m, f, d, flags, slots, entries };
        let mut held = table.entries.len() as u64;
        for (b, slots) in (0..).zip(&table.slots) {
            for fingerprint in slots.iter().filter(|slot| **slot != 0) {
                assert_eq!(fingerprint >> (f - d), b % (1 << d));
                assert_eq!(table.other(table.other(b, *fingerprint), *fingerprint), b);
                held += 1;
            }
        }
        for entry in &table.entries {
            let (b, fingerprint) = (entry >> 32, entry & 0xFFFF_FFFF);
            assert!(b < m && (1..1 << f).contains(&fingerprint));
            assert!(fingerprint >> (f - d) == b % (1 << d) && b < table.other(b, fingerprint));
        }
        assert_eq!(held, len);
        table
    }

    /// The primary bucket and the fingerprint of a hash.
    fn split(&self, h: u64) -> (u64, u64) {
        let x = u128::from(h) * u128::from(self.m >> self.d);
        let y = x as u64 >> (64 - self.f);
        (((x >> 64) as u64) << self.d | y >> (self.f - self.d), y.max(1))
    }

    /// The other bucket of a fingerprint that is in bucket `b`.
    fn other(&self, b: u64, fingerprint: u64) -> u64 {
        let (first, low) = (self.m >> self.d, 1 << 16);
        let fold = ((fingerprint / low) ^ fingerprint) % low;
        let once = fold * 0x9E37 % low;
        let mixed = (once ^ (once / 128)) * 0xC2B3 % low;
        let offset = 2 * (mixed * (first.min(low) / 2) / low) + 1;
        let i = b >> self.d;
        let j = if i.is_multiple_of(2) { i + offset } else { i + first - offset } % first;
        (j << self.d) | (b % (1 << self.d))
    }

    /// The entry of a fingerprint in the overflow area; `b` is one of the fingerprint's two buckets.
    fn entry(&self, b: u64, fingerprint: u64) -> u64 {
        b.min(self.other(b, fingerprint)) << 32 | fingerprint
    }

    /// Whether bucket `b`'s pair of slots for fingerprints of this parity is set. The order of the values in the two
    /// slots encodes this. If the pair is clear, a lookup of such a fingerprint does not read the other bucket.
    fn is_set(&self, b: u64, parity: u64) -> bool {
        let slots = self.slots[b as usize];
        let (a, c) = (slots[2 * parity as usize], slots[2 * parity as usize + 1]);
        a >= c && (a >= 1 || self.flags & 2 != 0)
    }

    pub(super) fn contains(&self, h: u64) -> bool {
        let (b, fingerprint) = self.split(h);
        let has = |b: u64| self.slots[b as usize].contains(&fingerprint);
        has(b)
            || self.is_set(b, fingerprint % 2) && has(self.other(b, fingerprint))
            || self.entries.contains(&self.entry(b, fingerprint))
    }

    /// The number of copies of a hash's fingerprint that a lookup can find.
    pub(super) fn count(&self, h: u64) -> u64 {
        let (b, fingerprint) = self.split(h);
        let copies = |values: &[u64], value| values.iter().filter(|v| **v == value).count() as u64;
        let mut count = copies(&self.slots[b as usize], fingerprint);
        if self.is_set(b, fingerprint % 2) {
            count += copies(&self.slots[self.other(b, fingerprint) as usize], fingerprint);
        }
        count + copies(&self.entries, self.entry(b, fingerprint))
    }
}

/// Checks that the reader and the library agree on a filter.
fn assert_read(filter: &CuckooFilter, probes: &[KeyHash], what: &str) {
    let bytes = filter.to_bytes();
    let page = Page::read(&bytes);
    assert_eq!((page.kind, page.len), (8, filter.len() as u64), "{what}");
    let geometry = filter.geometry();
    assert_eq!(
        page.p[..3],
        [geometry.buckets, geometry.fingerprint_bits.into(), geometry.doublings.into()]
    );
    assert_eq!(page.p[3] & 1, u64::from(filter.is_multiset()), "{what}");
    let table = Buckets::read(page.p, page.payload, page.len);
    assert_eq!(table.entries.len(), filter.overflowing(), "{what}");
    for hash in probes {
        assert_eq!(table.contains(hash.raw()), filter.contains_hash(*hash), "{what}");
        assert_eq!(table.count(hash.raw()), filter.count_hash(*hash), "{what}");
    }
}

/// Reads filters of every fingerprint width, with few and with many buckets: empty, filled with the planned number of
/// keys, overflowing, doubled, and emptied again.
#[test]
fn a_reader_written_from_the_format_document_reads_every_table_of_buckets() {
    let mut unknown = 0;
    for bits in [8, 12, 16, 32] {
        for (keys, multiset) in [(3, true), (60, false), (500, true), (4000, false), (4000, true)] {
            let mut spec = Spec::default();
            (spec.keys, spec.fingerprint_bits, spec.multiset) = (keys, Some(bits), multiset);
            let mut filter = CuckooFilter::from_spec(&spec).unwrap();
            let members = hashes(bits.into(), 2 * keys as u64 + 20);
            let mut probes = hashes(2, 3000);
            probes.extend(&members);
            probes
                .extend([0, 1, u64::MAX, u64::MAX - 1, 1 << 63, 255 << 56].map(KeyHash::from_raw));
            let what = |state| format!("{bits} bits, {keys} keys, {state}");
            assert_read(&filter, &probes, &what("empty"));
            filter.insert_batch(&members[..keys]).unwrap();
            assert_read(&filter, &probes, &what("as many as planned"));
            let taken: Vec<KeyHash> = members
                .iter()
                .copied()
                .filter(|hash| filter.insert_hash(*hash) == Ok(true))
                .collect();
            assert!(filter.overflowing() > 0);
            assert_read(&filter, &probes, &what("overflowing"));
            let mut doubled = filter.clone();
            for _ in 0..2 {
                doubled.grow().unwrap();
                assert_read(&doubled, &probes, &what("doubled"));
            }
            for (i, hash) in taken.iter().enumerate() {
                filter.remove_hash(*hash);
                if i % (1 + taken.len() / 5) == 0 || filter.len() == 1 {
                    assert_read(&filter, &probes, &what("emptied"));
                    unknown += number(&filter.to_bytes(), 56..64) >> 1;
                }
            }
        }
    }
    assert!(unknown > 0, "bit 1 of p3 was 0 in every filter after removals");
}

#[test]
fn the_library_writes_and_reads_the_example_of_buckets() {
    let builder = CuckooFilter::builder().keys(4).load(0.5).fingerprint_bits(12).seed(7);
    let bytes = written_and_read_example(builder.build().unwrap(), 2);
    let page = Page::read(&bytes);
    let table = Buckets::read(page.p, page.payload, page.len);
    for (i, key) in ["anvil", "forge", "bellows", "tongs"].into_iter().enumerate() {
        let h = Hasher::xxh3(page.seed).hash(key).raw();
        let (primary, fingerprint) = table.split(h);
        assert_eq!(example_row("| its hash |")[i], format!("{h:016X}"));
        assert_eq!(example_row("| primary =")[i], primary.to_string());
        assert_eq!(example_row("| 12-bit fingerprint |")[i], format!("{fingerprint:03X}"));
        let pair = if table.is_set(primary, fingerprint % 2) { "set" } else { "clear" };
        assert_eq!(example_row("| pair of its parity |")[i], pair);
        assert_eq!(table.contains(h), key != "tongs");
    }
}

/// The library's largest table has the largest number of buckets that the document states.
#[test]
#[cfg_attr(
    target_pointer_width = "32",
    ignore = "the tables are longer than addresses of 32 bits allow"
)]
fn the_format_document_has_the_largest_cuckoo_filters() {
    let row = example_row("| 8 | `cuckoo` |");
    let largest = row[1].split_once(" to ").unwrap().1;
    let largest = power_of_two(largest.split(',').next().unwrap());
    for bits in [8, 16, 32] {
        let spec =
            FilterSpec::new(FilterKind::Cuckoo).keys(clamped(1 << 40)).fingerprint_bits(bits);
        let error = spec.build().unwrap_err();
        let SpecError::TooLarge { max_bytes, .. } = error else { panic!("{error}") };
        assert_eq!(max_bytes, u64::from(bits) / 2 * largest);
    }
}

/// The library refuses header fields outside the document's ranges. If the fingerprint bits or the doublings do not fit
/// into 32 bits, the error names that field. If buckets, fingerprint bits or doublings are impossible in another way,
/// the error names the buckets. Unknown flags have an error of their own.
#[test]
fn parameters_of_buckets_outside_their_ranges_are_refused() {
    let builder = CuckooFilter::builder().keys(64).load(0.5).fingerprint_bits(16);
    let filter = builder.build().unwrap();
    let bytes = filter.to_bytes();
    let parsed = trommel::container::parse(&bytes).unwrap();
    let buckets = filter.geometry().buckets;
    assert_eq!(buckets, 32);
    for (parameters, name) in [
        ([buckets, 16, 13, 0], "buckets"),
        ([buckets, 16, 1 << 32, 0], "doublings"),
        ([buckets, 15, 0, 0], "buckets"),
        ([buckets, 16 + (1 << 32), 0, 0], "fingerprint bits"),
        ([buckets - 1, 16, 0, 0], "buckets"),
        ([buckets + 2, 16, 0, 0], "buckets"),
        ([0, 16, 0, 0], "buckets"),
        ([1 << 32, 16, 0, 0], "buckets"),
    ] {
        let forged = trommel::container::Header { parameters, ..parsed.header() };
        let error = FilterView::parse(&forged.to_bytes(&[parsed.payload()])).unwrap_err();
        assert!(
            matches!(error, FormatError::Field { name: field, .. } if field == name),
            "{parameters:?}: {error}"
        );
    }
    for flags in [4, 1 << 40, u64::MAX] {
        let parameters = [buckets, 16, 0, flags];
        let forged = trommel::container::Header { parameters, ..parsed.header() };
        let error = FilterView::parse(&forged.to_bytes(&[parsed.payload()])).unwrap_err();
        assert_eq!(error, FormatError::UnknownFlags { flags, known: 3 });
    }
    // An empty table is a valid filter with any of the allowed flags.
    for flags in 0..4 {
        let parameters = [buckets, 16, 0, flags];
        let forged = trommel::container::Header { parameters, ..parsed.header() };
        FilterView::parse(&forged.to_bytes(&[parsed.payload()])).unwrap();
    }
}
