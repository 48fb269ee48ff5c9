//! A reader of kinds 6 and 7 (`quotient` and `cache-line-quotient`), written only from docs/FORMAT.md. It reads a
//! whole table from its first slot to its last, without rank, select or offsets, and checks that the payload is as the
//! document states.

use super::{
    Page, bit, example_row, hashes, number, power_of_two, scaled, written_and_read_example,
};
use std::collections::BTreeMap;
use trommel::quotient::{Layout, Quotient};
use trommel::{
    AnyFilter, Count, Filter, FilterKind, FilterSpec, Hasher, Insert, KeyHash, QuotientFilter,
    SpecError,
};
use trommel_base::FromSpec;
use trommel_testkit::sizes::clamped;

/// The contents of a table: the *places* of its fingerprints, which docs/FORMAT.md defines, with the number of copies
/// at each place.
pub(super) struct Table {
    kind: u16,
    n: u64,
    r: u64,
    fingerprints: u64,
    places: BTreeMap<u64, u64>,
}

/// The three numbers that a block stores about its slots.
struct Block {
    occupieds: u64,
    runends: u64,
    offset: u64,
}

fn bits(bytes: &[u8], from: u64, count: u64) -> u64 {
    (0..count).rev().fold(0, |number, i| number << 1 | u64::from(bit(bytes, from + i)))
}

/// The number of blocks for `n` slots and the overhang (additional slots at the end of the table).
pub(super) fn blocks(n: u64, slots_of_block: u64) -> u64 {
    let overhang = 320.min(32 + 4 * (0..).take_while(|root| root * root <= n).last().unwrap());
    (n + overhang).div_ceil(slots_of_block)
}

/// The lengths of the three sections of kind 6, in bytes and without padding.
fn sections(b: u64, r: u64) -> [u64; 3] {
    [16 * b, 8 * r * b, b]
}

impl Table {
    /// Reads a payload, and panics if anything in it contradicts docs/FORMAT.md.
    pub(super) fn read(kind: u16, [n, r, fingerprints, copies]: [u64; 4], payload: &[u8]) -> Self {
        let (per_block, most) = if kind == 6 { (64, 255) } else { (50, 63) };
        let b = blocks(n, per_block);
        let (blocks, remainders) = match kind {
            6 => read_sections(payload, b, r),
            _ => read_lines(payload, b, r),
        };
        let mut table = Self { kind, n, r, fingerprints, places: BTreeMap::new() };
        let mut next = 0;
        for block in 0..b {
            let begin = block * per_block;
            let offset = u64::saturating_sub(next, begin);
            assert_eq!(blocks[block as usize].offset, offset.min(most));
            for quotient in begin..begin + per_block {
                if blocks[block as usize].occupieds >> (quotient - begin) & 1 == 0 {
                    continue;
                }
                assert!(quotient < n);
                let first = next.max(quotient);
                (next..first).for_each(|slot| assert_free(&blocks, &remainders, slot, per_block));
                next = first;
                loop {
                    let remainder = remainders[next as usize].expect("a slot that is taken");
                    let place = quotient << r | remainder;
                    assert!(table.places.last_key_value().is_none_or(|(last, _)| *last <= place));
                    *table.places.entry(place).or_default() += 1;
                    next += 1;
                    let end = next - 1;
                    if blocks[(end / per_block) as usize].runends >> (end % per_block) & 1 == 1 {
                        break;
                    }
                }
            }
        }
        (next..b * per_block).for_each(|slot| assert_free(&blocks, &remainders, slot, per_block));
        assert!(table.places.values().all(|count| *count <= copies));
        for (f, place) in table.fingerprints().iter().zip(table.places.keys()) {
            assert!(table.place(*f) == *place && *f < fingerprints);
        }
        table
    }

    fn fingerprint(&self, h: u64) -> u64 {
        let f = scaled(h, self.fingerprints, 64);
        if self.kind == 7 && f.is_multiple_of(256) { f + 1 } else { f }
    }

    fn place(&self, f: u64) -> u64 {
        let places = self.n << self.r;
        if self.fingerprints == places { f } else { scaled(f * self.unit(), places, 64) }
    }

    fn unit(&self) -> u64 {
        ((1u128 << 64) / u128::from(self.fingerprints)) as u64
    }

    /// The number of copies of a hash's fingerprint.
    pub(super) fn count(&self, h: u64) -> u64 {
        self.places.get(&self.place(self.fingerprint(h))).copied().unwrap_or(0)
    }

    pub(super) fn contains(&self, h: u64) -> bool {
        self.count(h) > 0
    }

    /// Every fingerprint once, computed back from its place.
    fn fingerprints(&self) -> Vec<u64> {
        let places = self.n << self.r;
        let back = |place: &u64| match self.fingerprints == places {
            true => *place,
            false => {
                let step = u128::from(self.unit()) * u128::from(places);
                (u128::from(*place) << 64).div_ceil(step) as u64
            }
        };
        self.places.keys().map(back).collect()
    }
}

fn assert_free(blocks: &[Block], remainders: &[Option<u64>], slot: u64, per_block: u64) {
    assert!(remainders[slot as usize].is_none_or(|remainder| remainder == 0));
    assert_eq!(blocks[(slot / per_block) as usize].runends >> (slot % per_block) & 1, 0);
}

fn read_sections(payload: &[u8], b: u64, r: u64) -> (Vec<Block>, Vec<Option<u64>>) {
    let mut rest = payload;
    let [words, remainders, offsets] = sections(b, r).map(|length| {
        let (section, padding) =
            rest.split_at(length.next_multiple_of(64) as usize).0.split_at(length as usize);
        assert!(padding.iter().all(|byte| *byte == 0));
        rest = &rest[section.len() + padding.len()..];
        section
    });
    assert!(rest.is_empty());
    let block = |i: usize| Block {
        occupieds: number(words, 16 * i..16 * i + 8),
        runends: number(words, 16 * i + 8..16 * i + 16),
        offset: offsets[i].into(),
    };
    let slots = (0..64 * b).map(|slot| Some(bits(remainders, r * slot, r))).collect();
    ((0..b as usize).map(block).collect(), slots)
}

fn read_lines(payload: &[u8], b: u64, r: u64) -> (Vec<Block>, Vec<Option<u64>>) {
    assert_eq!(payload.len() as u64, 64 * b);
    let (mut blocks, mut slots) = (Vec::new(), Vec::new());
    for line in payload.chunks(64) {
        assert_eq!(bits(line, 450, 6), 0);
        blocks.push(Block {
            occupieds: bits(line, 400, 50),
            runends: bits(line, 456, 50),
            offset: bits(line, 506, 6),
        });
        slots.extend(line[..50].iter().map(|byte| {
            let byte = u64::from(*byte);
            let remainder = byte >> (8 - r);
            let stored = if r == 8 { remainder } else { (remainder * 2 + 1) << (7 - r) };
            assert!(byte == 0 || byte == stored);
            (byte != 0).then_some(remainder)
        }));
    }
    (blocks, slots)
}

/// Checks that the reader and the library agree on a filter: on the answers for `probes`, on all fingerprints, and on
/// the total number of copies.
fn assert_read<L: Layout>(filter: &Quotient<L>, probes: &[KeyHash], what: &str) {
    let bytes = filter.to_bytes();
    let page = Page::read(&bytes);
    assert_eq!(page.len, filter.len() as u64, "{what}");
    let geometry = filter.geometry();
    let parameters = [
        geometry.slots,
        geometry.remainder_bits.into(),
        geometry.fingerprints,
        geometry.copies.into(),
    ];
    assert_eq!(page.p, parameters, "{what}");
    let table = Table::read(page.kind, page.p, page.payload);
    assert_eq!(table.places.values().sum::<u64>(), page.len, "{what}");
    let mut fingerprints: Vec<u64> = filter.fingerprints().collect();
    fingerprints.dedup();
    assert!(table.fingerprints() == fingerprints, "{what}: fingerprints differ");
    for hash in probes {
        assert_eq!(table.contains(hash.raw()), filter.contains_hash(*hash), "{what}");
    }
}

/// Reads sets and multisets with remainders of every width, each of them empty, filled, resized and doubled.
#[test]
fn a_reader_written_from_the_format_document_reads_every_quotient_table() {
    let keys = hashes(1, 400);
    let mut probes = hashes(2, 10_000);
    probes.extend(&keys);
    probes.extend([0, 1, u64::MAX, u64::MAX - 1, 1 << 63, 255 << 56].map(KeyHash::from_raw));
    for multiset in [false, true] {
        let build = |bits: Option<u32>| {
            let spec = FilterSpec::new(FilterKind::Quotient).keys(800).multiset(multiset);
            bits.map_or(spec, |bits| spec.remainder_bits(bits))
        };
        for bits in 1..=32 {
            let AnyFilter::Quotient(filter) = build(Some(bits)).build().unwrap() else { panic!() };
            read_at_every_size(filter, &keys, &probes, &format!("{bits} bits"));
        }
        let fingerprints = build(None).fingerprint_bits(21).build().unwrap();
        let AnyFilter::Quotient(filter) = fingerprints else { panic!() };
        read_at_every_size(filter, &keys, &probes, "21 bits of fingerprint");
        let lines = FilterSpec::new(FilterKind::CacheLineQuotient).keys(800).multiset(multiset);
        let AnyFilter::CacheLineQuotient(filter) = lines.build().unwrap() else { panic!() };
        read_at_every_size(filter, &keys, &probes, "lines");
    }
}

fn read_at_every_size<L: Layout>(
    mut filter: Quotient<L>,
    keys: &[KeyHash],
    probes: &[KeyHash],
    what: &str,
) {
    assert_read(&filter, probes, what);
    filter.insert_batch(keys).unwrap();
    // Inserts copies of keys, which a set ignores and a multiset keeps, and hashes that make a cluster that is long
    // enough for the largest offsets.
    let cluster = (0..320).map(|i| KeyHash::from_raw((1 << 63) + (i << 42) * (i % 3)));
    for hash in keys[..30].iter().copied().chain(cluster).take(350) {
        let outcome = filter.insert_hash(hash);
        assert!(outcome.is_ok() || filter.count_hash(hash) == 255, "{outcome:?}");
    }
    assert_read(&filter, probes, what);
    for size in [900, 1601, 2500, 6000] {
        // A table cannot have more slots than there are possible fingerprints, so a resize can fail.
        if filter.resize(size).is_ok() {
            assert_read(&filter, probes, &format!("{what}, room for {size}"));
        }
    }
    while filter.memory_bytes() < 60_000 && filter.grow().is_ok() {
        assert_read(&filter, probes, &format!("{what}, doubled"));
    }
}

#[test]
fn the_library_writes_and_reads_the_example_of_fingerprints() {
    let builder = QuotientFilter::builder().keys(3).remainder_bits(8).seed(7);
    let bytes = written_and_read_example(builder.build().unwrap(), 1);
    let page = Page::read(&bytes);
    let table = Table::read(page.kind, page.p, page.payload);
    for (i, key) in ["anvil", "forge", "bellows", "tongs"].into_iter().enumerate() {
        let h = Hasher::xxh3(page.seed).hash(key).raw();
        let f = table.fingerprint(h);
        assert_eq!(example_row("| hash |")[i], format!("{h:016X}"));
        assert_eq!(example_row("| fingerprint =")[i], f.to_string());
        assert_eq!(example_row("| quotient |")[i], (table.place(f) >> 8).to_string());
        assert_eq!(example_row("| remainder |")[i], format!("{:02X}", table.place(f) & 0xFF));
        assert_eq!(table.contains(h), key != "tongs");
    }
}

/// The document and the library agree on the largest number of slots, and on the length of the payload of
/// such a table.
#[test]
#[cfg_attr(
    target_pointer_width = "32",
    ignore = "the tables are longer than addresses of 32 bits allow"
)]
fn the_format_document_has_the_largest_quotient_filters() {
    for (kind, per_block) in [(FilterKind::Quotient, 64), (FilterKind::CacheLineQuotient, 50)] {
        let row = example_row(&format!("| {} | `{kind}` |", kind as u16));
        let slots = row[1].split_once(" to ").unwrap().1;
        let largest = power_of_two(slots.split(',').next().unwrap());
        // With this number of slots, the overhang is at its maximum of 320.
        let b = (largest + 320).div_ceil(per_block);
        let payload: u64 = match kind {
            FilterKind::Quotient => sections(b, 1).iter().map(|s| s.next_multiple_of(64)).sum(),
            _ => 64 * b,
        };
        let spec = FilterSpec::new(kind).keys(clamped(1 << 45)).load(0.9);
        let spec = if per_block == 64 { spec.remainder_bits(1) } else { spec };
        let error = spec.build().unwrap_err();
        let SpecError::TooLarge { max_bytes, .. } = error else { panic!("{kind}: {error}") };
        assert_eq!(max_bytes, payload, "{kind}");
    }
}

/// The library's filters of many sizes have the number of bytes that the document's overhang and sections give.
#[test]
fn the_format_document_has_the_bytes_of_many_sizes() {
    for keys in (0..400).chain([1000, 4095, 4096, 5000, 5184, 6000, 100_003]) {
        let mut spec = trommel_base::Spec::default();
        spec.keys = keys;
        let wide = QuotientFilter::from_spec(&spec).unwrap();
        let (n, r) = (wide.geometry().slots, wide.geometry().remainder_bits.into());
        let expected: u64 =
            sections(blocks(n, 64), r).iter().map(|section| section.next_multiple_of(64)).sum();
        assert_eq!(wide.memory_bytes() as u64, expected, "{n} slots");
        let line = trommel::CacheLineQuotient::from_spec(&spec).unwrap();
        assert_eq!(line.memory_bytes() as u64, 64 * blocks(line.geometry().slots, 50));
    }
}
