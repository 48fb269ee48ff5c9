//! A reader of filter blocks, written only from docs/FORMAT.md.

use super::quotient_page::{Table, blocks};
use super::{Buckets, Page, bit, dump, example_row, hashes, number, scaled};
use std::iter;
use trommel::container::HashId;
use trommel::{FilterKind, FilterPolicy, Hasher, KeyHash};

/// Splits a block into its kind, hash function, parameter and table; `None` for a block without a filter.
pub(super) fn open(block: &[u8]) -> Option<(u16, HashId, u64, &[u8])> {
    let (code, rest) = block.split_last().unwrap();
    match code {
        0 => None,
        1..=32 => Some((1, HashId::Xxh3, u64::from(*code), rest)),
        33..128 => panic!("reserved code {code}"),
        _ => {
            let (parameter, table) = rest.split_last().unwrap();
            let hash = match (code - 128) / 32 {
                1 => HashId::Xxh3,
                2 => HashId::Xxh64,
                3 => HashId::SipHash13,
                other => panic!("hash function {other}"),
            };
            Some((u16::from(code % 32), hash, u64::from(*parameter), table))
        }
    }
}

/// The size in bytes of a table of kind 6 or 7 with `b` blocks and remainders of `r` bits.
fn quotient_bytes(kind: u16, b: u64, r: u64) -> u64 {
    match kind {
        6 => [16 * b, 8 * r * b, b].map(|section| section.next_multiple_of(64)).iter().sum(),
        _ => 64 * b,
    }
}

/// The number of slots of a table of `bytes` bytes. If several numbers of blocks take exactly `bytes` bytes, the table
/// has the largest number of blocks. If several numbers of slots need that number of blocks, it has the largest number
/// of slots.
fn quotient_slots(kind: u16, r: u64, bytes: u64) -> u64 {
    let (per_block, step) = if kind == 6 { (64, 1) } else { (50, 50) };
    let of_length = |b: &u64| quotient_bytes(kind, *b, r) == bytes;
    let b =
        (1..=bytes).take_while(|b| quotient_bytes(kind, *b, r) <= bytes).filter(of_length).last();
    let b = b.unwrap();
    let n = (1..=b * per_block / step).map(|n| n * step);
    n.take_while(|n| blocks(*n, per_block) <= b)
        .filter(|n| blocks(*n, per_block) == b)
        .last()
        .unwrap()
}

/// Returns a function that looks a hash up in a block in the way that docs/FORMAT.md describes. A table of kind 6, 7 or
/// 8 is read here, once for all calls of the returned function.
pub(super) fn lookup(block: &[u8]) -> Box<dyn Fn(u64) -> bool + '_> {
    let Some((kind, hash, parameter, table)) = open(block) else {
        return Box::new(|_| true);
    };
    let t = table.len() as u64;
    let of_units = |units: u64| {
        let page = move || Page {
            kind,
            hash: hash as u16,
            seed: 0,
            len: 0,
            p: [units, parameter, 0, 0],
            payload: table,
        };
        Box::new(move |h| page().lookup()(h)) as Box<dyn Fn(u64) -> bool + '_>
    };
    match kind {
        1 => Box::new(move |h| {
            let x = iter::successors(Some(h), |x| Some(x.wrapping_mul(0xF135_7AEA_2E62_A9C5)));
            x.take(parameter as usize).all(|x| bit(table, scaled(x, 8 * t, 64)))
        }),
        3 => of_units(t / 8),
        4 => of_units(t / 32),
        5 => of_units(t / 64),
        6 | 7 => {
            let n = quotient_slots(kind, parameter, t);
            let table = Table::read(kind, [n, parameter, n << parameter, 1], table);
            Box::new(move |h| table.contains(h))
        }
        8 => {
            let padding = if parameter == 12 { 2 } else { 0 };
            let m = (t - padding) * 2 / parameter;
            let width = parameter as usize;
            let slots =
                (0..4 * m as usize).map(|s| (0..width).any(|i| bit(table, (width * s + i) as u64)));
            let held = slots.filter(|taken| *taken).count() as u64;
            let table = Buckets::read([m, parameter, 0, 0], table, held);
            Box::new(move |h| table.contains(h))
        }
        other => panic!("docs/FORMAT.md has no block form of kind {other}"),
    }
}

#[test]
fn a_block_reader_written_from_the_format_document_answers_like_the_library() {
    for kind in FilterKind::ALL.iter().filter(|kind| **kind != FilterKind::CountingBloom) {
        for hasher in [Hasher::xxh3(42), Hasher::PARQUET, Hasher::siphash13([42; 16])] {
            for (keys, bits_per_key) in [(0, 11.0), (1, 11.0), (18, 11.0), (301, 13.7), (700, 36.0)]
            {
                let builder =
                    FilterPolicy::builder(*kind).bits_per_key(bits_per_key).hasher(hasher);
                let policy = builder.build().unwrap();
                let keys = hashes(1, keys);
                let block = policy.build(&keys);
                assert_eq!(
                    open(&block).map(|(kind, hash, ..)| (kind, hash)),
                    Some((*kind as u16, hasher.id()))
                );
                let (absent, contains) = (hashes(2, 3000), lookup(&block));
                for hash in keys.iter().chain(&absent) {
                    let expected = policy.may_match(&block, *hash);
                    let got = contains(hash.raw());
                    assert_eq!(
                        got,
                        expected,
                        "{kind}, {bits_per_key} bits per key, {} keys",
                        keys.len()
                    );
                }
                assert!(keys.iter().all(|hash| policy.may_match(&block, *hash)));
            }
        }
    }
    assert!(lookup(&[0])(1));
}

#[test]
fn the_library_writes_and_reads_the_example_block() {
    let policy =
        FilterPolicy::builder(FilterKind::Bloom).bits_per_key(10.0).seed(7).build().unwrap();
    let keys = ["anvil", "forge"].map(|key| policy.hash(key));
    let block = policy.build(&keys);
    assert_eq!(block, dump(3));
    let bellows = policy.hash("bellows");
    assert!(!policy.may_match(&block, bellows) && !lookup(&block)(bellows.raw()));

    let hashes = example_row("| x(0) = h |");
    let positions = example_row("| x(i) · 24");
    for (i, key) in ["anvil", "forge", "bellows"].into_iter().enumerate() {
        let h = policy.hash(key).raw();
        assert_eq!(hashes[i], format!("{h:016X}"));
        let x = iter::successors(Some(h), |x| Some(x.wrapping_mul(0xF135_7AEA_2E62_A9C5)));
        let computed: Vec<String> = x.take(7).map(|x| scaled(x, 24, 64).to_string()).collect();
        assert_eq!(positions[i], computed.join(" "));
    }
    assert_eq!(number(&block, 3..4), 7);
    assert!(KeyHash::slice_as_raw(&keys).iter().all(|h| lookup(&block)(*h)));
}

#[test]
fn the_format_document_has_the_form_of_policy_names() {
    let policy =
        FilterPolicy::builder(FilterKind::Cuckoo).hasher(Hasher::xxh64(0xAB)).build().unwrap();
    assert_eq!(policy.name(), "trommel.1.cuckoo.xxh64.00000000000000ab");
    let secret = Hasher::siphash13(super::SECRET_KEY);
    let policy = FilterPolicy::builder(FilterKind::Cuckoo).hasher(secret).build().unwrap();
    assert_eq!(policy.name(), format!("trommel.1.cuckoo.siphash13.{:016x}", secret.seed()));
    assert!(super::PAGE.contains("trommel.1.KIND.HASH.SEED"));
}
