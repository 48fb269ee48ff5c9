//! Compares docs/FORMAT.md with the library and with the files of corpus/format-1. The tests check the worked examples
//! of the document, and read bytes with a reader that is written only from the document.

mod block_page;
mod corpus;
mod corpus_page;
mod cuckoo_page;
mod quotient_page;

use corpus::SECRET_KEY;
use cuckoo_page::Buckets;
use quotient_page::Table;
use std::iter;
use std::ops::Range;
use trommel::{
    AnyFilter, Filter, FilterKind, FilterSpec, FilterView, Hasher, Insert, KeyHash, RegisterBloom,
    SpecError,
};
use trommel_testkit::sizes::clamped;

const PAGE: &str = include_str!("../../../docs/FORMAT.md");

/// The bytes of one of the document's hex dumps. A `*` stands for zeros up to the next line's offset.
fn dump(index: usize) -> Vec<u8> {
    let dump = PAGE.split("```hex\n").nth(index + 1).unwrap().split("```").next().unwrap();
    let mut bytes = Vec::new();
    let mut lines = dump.lines();
    while let Some(mut line) = lines.next() {
        let zeros = line == "*";
        if zeros {
            line = lines.next().unwrap();
        }
        let (offset, line) = line.split_once("  ").unwrap_or((line, ""));
        let offset = usize::from_str_radix(offset, 16).unwrap();
        assert!(if zeros { offset > bytes.len() } else { offset == bytes.len() });
        bytes.resize(offset, 0);
        let cells = line.split(' ').filter(|cell| !cell.is_empty());
        bytes.extend(cells.map(|byte| u8::from_str_radix(byte, 16).unwrap()));
    }
    bytes
}

/// The bytes of the worked example, a register-blocked Bloom filter.
fn worked_example() -> Vec<u8> {
    dump(0)
}

/// Inserts three keys into an empty filter. Checks that the library writes the filter as hex dump number `index` of the
/// document, and reads the dump. Returns the bytes of the dump.
fn written_and_read_example(empty: impl Into<AnyFilter>, index: usize) -> Vec<u8> {
    let (keys, mut filter) = (["anvil", "forge", "bellows"], empty.into());
    keys.iter().for_each(|key| assert_eq!(filter.insert(*key), Ok(true)));
    let bytes = dump(index);
    assert_eq!(filter.to_bytes(), bytes);
    let view = FilterView::parse(&bytes).unwrap();
    assert_eq!((view.kind(), view.len()), (filter.kind(), keys.len()));
    assert!(keys.iter().all(|key| view.contains(*key)) && !view.contains("tongs"));
    bytes
}

/// The cells of a row in one of the document's tables, without the first cell. `name` is the beginning of the row.
fn example_row(name: &str) -> Vec<&'static str> {
    let row = PAGE.lines().find(|line| line.starts_with(name)).unwrap();
    row.trim_matches('|').split('|').skip(1).map(|cell| cell.trim().trim_matches('`')).collect()
}

#[test]
fn the_library_writes_the_worked_example() {
    let mut filter = RegisterBloom::builder().keys(2).memory_bytes(16).seed(7).build().unwrap();
    filter.insert("anvil").unwrap();
    filter.insert("forge").unwrap();
    assert_eq!(filter.to_bytes(), worked_example());
}

#[test]
fn the_library_reads_the_worked_example() {
    let bytes = worked_example();
    let filter = FilterView::parse(&bytes).unwrap();
    assert_eq!((filter.kind(), filter.len()), (FilterKind::RegisterBloom, 2));
    assert!(filter.contains("anvil") && filter.contains("forge") && !filter.contains("bellows"));
}

#[test]
fn the_table_under_the_worked_example_is_right() {
    let hashes = example_row("| h |");
    let bytes = worked_example();
    let page = Page::read(&bytes);
    for (i, key) in ["anvil", "forge", "bellows"].into_iter().enumerate() {
        let h = Hasher::xxh3(page.seed).hash(key).raw();
        let g = (h & 0xFFFF_FFFF) * 0x9E37_79B9;
        let bits: Vec<u64> = (0..8).map(|j| g >> (8 + 6 * j) & 63).collect();
        let word = bits.iter().fold(0, |word, bit| word | 1u64 << bit);
        assert_eq!(hashes[i], format!("{h:016X}"));
        assert_eq!(example_row("| word =")[i], ((u128::from(h) * 2) >> 64).to_string());
        assert_eq!(example_row("| g =")[i], format!("{g:016X}"));
        let bits: Vec<String> = bits.iter().map(u64::to_string).collect();
        assert_eq!(example_row("| bits 0")[i], bits.join(" "));
        assert_eq!(example_row("| as a word")[i], format!("{word:016X}"));
    }
}

/// Every kind of the library has a row in the document's table of kinds.
#[test]
fn the_format_document_has_every_kind() {
    for kind in FilterKind::ALL {
        let line = format!("| {} | `{kind}` |", *kind as u16);
        assert!(PAGE.contains(&line), "docs/FORMAT.md lacks {line}");
    }
}

/// A number as the document writes it: `2^44` or `2^32 − 1`.
fn power_of_two(text: &str) -> u64 {
    let (power, one) = text.strip_suffix(" − 1").map_or((text, 0), |power| (power, 1));
    (1 << power.strip_prefix("2^").unwrap().parse::<u32>().unwrap()) - one
}

/// For each Bloom kind, the document's range of p0 (the number of units) ends at the library's largest table.
#[test]
#[cfg_attr(
    target_pointer_width = "32",
    ignore = "the tables are longer than addresses of 32 bits allow"
)]
fn the_format_document_has_the_largest_tables() {
    for (kind, unit_bytes) in [
        (FilterKind::Bloom, 8),
        (FilterKind::CountingBloom, 8),
        (FilterKind::RegisterBloom, 8),
        (FilterKind::SplitBlockBloom, 32),
        (FilterKind::CacheLineBloom, 64),
    ] {
        let row = example_row(&format!("| {} | `{kind}` |", kind as u16));
        let largest = power_of_two(row[1].split_once(" to ").unwrap().1);
        let error =
            FilterSpec::new(kind).keys(1).memory_bytes(clamped(1 << 52)).build().unwrap_err();
        let SpecError::TooLarge { max_bytes, .. } = error else { panic!("{kind}: {error}") };
        assert_eq!(largest * unit_bytes, max_bytes, "{kind}");
    }
}

/// A container as the document describes it.
struct Page<'a> {
    kind: u16,
    /// The code of the hash function.
    hash: u16,
    /// The seed, or the check of the secret key.
    seed: u64,
    len: u64,
    p: [u64; 4],
    payload: &'a [u8],
}

fn number(bytes: &[u8], range: Range<usize>) -> u64 {
    bytes[range].iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

fn bit(bytes: &[u8], position: u64) -> bool {
    bytes[(position / 8) as usize] >> (position % 8) & 1 == 1
}

/// `factor · n / 2^bits`, rounded down.
fn scaled(factor: u64, n: u64, bits: u32) -> u64 {
    ((u128::from(factor) * u128::from(n)) >> bits) as u64
}

impl<'a> Page<'a> {
    fn read(bytes: &'a [u8]) -> Self {
        let checksum = |bytes: &[u8]| Hasher::xxh3(0).hash_bytes(bytes).raw();
        assert_eq!(&bytes[..8], b"TROMMEL\0");
        assert_eq!(number(bytes, 8..10), 1);
        assert_eq!(number(bytes, 120..128), checksum(&bytes[..120]));
        assert_eq!(number(bytes, 64..72), bytes.len() as u64 - 128);
        assert_eq!(number(bytes, 72..80), checksum(&bytes[128..]));
        assert!(bytes[14..16].iter().chain(&bytes[80..120]).all(|byte| *byte == 0));
        let hash = number(bytes, 12..14) as u16;
        assert!((1..=3).contains(&hash), "hash function {hash}");
        Self {
            kind: number(bytes, 10..12) as u16,
            hash,
            seed: number(bytes, 16..24),
            len: number(bytes, 24..32),
            p: [32, 40, 48, 56].map(|at| number(bytes, at..at + 8)),
            payload: &bytes[128..],
        }
    }

    /// Returns a function that looks a hash up in the way that the document describes. A table of kind 6, 7 or 8 is
    /// read here, once for all calls of the returned function.
    fn lookup(&self) -> Box<dyn Fn(u64) -> bool + '_> {
        let [p0, p1, ..] = self.p;
        let group = |h: u64| (h & 0xFFFF_FFFF) * 0x9E37_79B9;
        match self.kind {
            1 | 2 => {
                Box::new(move |h| self.positions(h).all(|position| bit(self.payload, position)))
            }
            3 => Box::new(move |h| {
                let (word, g) = (scaled(h, p0, 64), group(h));
                (0..p1).all(|j| bit(self.payload, 64 * word + (g >> (8 + 6 * j) & 63)))
            }),
            4 => Box::new(move |h| {
                let (lo, block) = (h & 0xFFFF_FFFF, scaled(h >> 32, p0, 32));
                SALTS.iter().zip(0..).all(|(salt, i)| {
                    let position = ((lo * salt) & 0xFFFF_FFFF) >> 27;
                    bit(self.payload, 256 * block + 32 * i + position)
                })
            }),
            5 => Box::new(move |h| {
                let (line, g) = (scaled(h, p0, 64), group(h));
                (0..8).all(|i| bit(self.payload, 512 * line + 64 * i + (g >> (8 + 6 * i) & 63)))
            }),
            6 | 7 => {
                let table = Table::read(self.kind, self.p, self.payload);
                Box::new(move |h| table.contains(h))
            }
            8 => {
                let table = Buckets::read(self.p, self.payload, self.len);
                Box::new(move |h| table.contains(h))
            }
            code => panic!("docs/FORMAT.md has no kind {code}, or this reader does not follow it"),
        }
    }

    /// The positions of a key's bits in the kinds `bloom` and `counting-bloom`.
    fn positions(&self, h: u64) -> impl Iterator<Item = u64> {
        let [p0, p1, ..] = self.p;
        let x = iter::successors(Some(h), |x| Some(x.wrapping_mul(0xF135_7AEA_2E62_A9C5)));
        x.take(p1 as usize).map(move |x| scaled(x, 64 * p0, 64))
    }

    /// The count of a key in the kind `counting-bloom`.
    fn count_of_key(&self, h: u64) -> u64 {
        self.positions(h).map(|position| self.count(position)).min().unwrap()
    }

    /// The count of a bit in the kind `counting-bloom`.
    fn count(&self, position: u64) -> u64 {
        let [p0, _, p2, p3] = self.p;
        let (counters, overflow) = self.payload[8 * p0 as usize..].split_at((8 * p2 * p0) as usize);
        assert_eq!(overflow.len() as u64, 16 * p3);
        let counter =
            number(counters, (p2 * position / 8) as usize..(p2 * position / 8 + 1) as usize)
                >> (p2 * position % 8)
                & ((1 << p2) - 1);
        if (p2, counter) != (2, 3) {
            return counter;
        }
        let entry = overflow.chunks(16).find(|entry| number(entry, 0..8) == position).unwrap();
        number(entry, 8..16)
    }
}

const SALTS: [u64; 8] = [
    0x47B6_137B,
    0x4497_4D91,
    0x8824_AD5B,
    0xA2B7_289D,
    0x7054_95C7,
    0x2DF1_424B,
    0x9EFC_4947,
    0x5C6B_FB31,
];

#[test]
fn the_salts_of_the_format_document_are_those_of_this_reader() {
    let (_, line) = PAGE.split_once("salt    = ").unwrap();
    let salts = line.lines().next().unwrap().split(' ').map(|salt| u64::from_str_radix(salt, 16));
    assert_eq!(salts.collect::<Result<Vec<_>, _>>().unwrap(), SALTS);
}

/// The library's hashes of the document's test keys are the hashes in the document. The lengths of the keys reach every
/// branch of XXH3 and XXH64.
#[test]
fn the_format_document_has_the_hashes_of_the_library() {
    for length in [0usize, 1, 3, 4, 8, 9, 16, 17, 32, 128, 129, 240, 241, 1025] {
        let key: Vec<u8> = (0..length).map(|i| (i % 251) as u8).collect();
        let secret = Hasher::siphash13(SECRET_KEY);
        let hashers =
            [Hasher::xxh3(0), Hasher::xxh3(7), Hasher::xxh64(0), Hasher::xxh64(7), secret];
        let expected = hashers.map(|hasher| format!("{:016X}", hasher.hash(&key).raw()));
        assert_eq!(example_row(&format!("| {length} bytes |")), expected);
        assert_eq!(secret.hash(&key).raw(), siphash13(&SECRET_KEY, &key));
    }
}

fn hashes(seed: u64, count: u64) -> Vec<KeyHash> {
    (0..count).map(|i| Hasher::xxh3(seed).hash_u64(i)).collect()
}

/// The spec of a kind. If `compact` is true, the spec has the option `compact`, and the result is `None` for a kind
/// without this option.
fn spec(kind: FilterKind, compact: bool) -> Option<FilterSpec> {
    let spec = FilterSpec::new(kind).keys(3000).fpr(0.01).compact(compact);
    spec.build().is_ok().then_some(spec)
}

#[test]
fn a_reader_written_from_the_format_document_answers_like_the_library() {
    let (keys, absent) = (hashes(1, 3000), hashes(2, 30_000));
    for kind in FilterKind::ALL {
        // The header's number of keys is the number of inserts for a Bloom filter, and the number of fingerprints for
        // other kinds.
        let counts_inserts = match kind {
            FilterKind::Bloom
            | FilterKind::CountingBloom
            | FilterKind::RegisterBloom
            | FilterKind::SplitBlockBloom
            | FilterKind::CacheLineBloom => true,
            FilterKind::Quotient | FilterKind::CacheLineQuotient | FilterKind::Cuckoo => false,
            other => panic!("say here what {other} counts"),
        };
        for spec in [false, true].into_iter().filter_map(|compact| spec(*kind, compact)) {
            for hasher in [Hasher::xxh3(42), Hasher::PARQUET, Hasher::siphash13([42; 16])] {
                let mut filter = spec.hasher(hasher).build().unwrap();
                filter.insert_batch(&keys).unwrap();
                let bytes = filter.to_bytes();
                let page = Page::read(&bytes);
                assert_eq!(page.kind, *kind as u16);
                assert_eq!((page.hash, page.seed), (hasher.id() as u16, hasher.seed()));
                assert_eq!(page.len, filter.len() as u64);
                assert!(!counts_inserts || page.len == keys.len() as u64, "{kind}: wrong len");
                let contains = page.lookup();
                assert!(
                    keys.iter().all(|hash| contains(hash.raw())),
                    "{kind}: the reader lost a key"
                );
                for hash in &absent {
                    assert_eq!(contains(hash.raw()), filter.contains_hash(*hash), "{kind}");
                }
            }
        }
    }
}

/// SipHash-1-3 by an implementation other than the library's.
fn siphash13(secret: &[u8; 16], message: &[u8]) -> u64 {
    siphasher::sip::SipHasher13::new_with_key(secret).hash(message)
}

/// Whether `check`, which was read from a file, is the key check of this secret key (see docs/FORMAT.md).
fn is_checked_by(secret: &[u8; 16], check: u64) -> bool {
    check == siphash13(secret, b"trommel.keycheck")
}

#[test]
fn a_reader_written_from_the_format_document_finds_the_keys_of_a_secret_hasher() {
    for secret in [SECRET_KEY, *b"another 16 bytes"] {
        let hasher = Hasher::siphash13(secret);
        for kind in FilterKind::ALL {
            let mut filter = spec(*kind, false).unwrap().hasher(hasher).build().unwrap();
            (0..300u64).for_each(|key| assert!(filter.insert(&key).is_ok()));
            let bytes = filter.to_bytes();
            let page = Page::read(&bytes);
            assert_eq!((page.hash, page.seed), (3, siphash13(&secret, b"trommel.keycheck")));
            let contains = page.lookup();
            for key in 0..600u64 {
                let h = siphash13(&secret, &key.to_le_bytes());
                assert_eq!(contains(h), filter.contains(&key), "{kind}");
                assert!(contains(h) || key >= 300, "{kind} lost key {key}");
            }
        }
    }
}

#[test]
fn the_library_writes_and_reads_the_example_of_a_secret_key() {
    let hasher = Hasher::siphash13(SECRET_KEY);
    let builder = RegisterBloom::builder().keys(2).memory_bytes(16).hasher(hasher);
    let mut filter = builder.build().unwrap();
    filter.add("anvil");
    filter.add("forge");
    assert_eq!(filter.to_bytes(), dump(5));
    let bytes = dump(5);
    let view = FilterView::parse_with_hasher(&bytes, &hasher).unwrap();
    assert!(view.contains("anvil") && view.contains("forge") && !view.contains("bellows"));
    let keys = ["trommel.keycheck", "anvil", "forge", "bellows"];
    let row = keys.map(|key| format!("{:016X}", siphash13(&SECRET_KEY, key.as_bytes())));
    assert_eq!(example_row("| SipHash-1-3 |"), row);
}

/// The library derives secret keys as the document says: by SipHash-1-3 with 128 bits of output.
#[test]
fn derived_keys_are_those_of_the_format_document() {
    for seed in [0u64, 7, u64::MAX] {
        let wide =
            siphasher::sip128::SipHasher13::new_with_key(&SECRET_KEY).hash(&seed.to_le_bytes());
        let derived = Hasher::siphash13(wide.as_bytes());
        assert_eq!(Hasher::siphash13(SECRET_KEY).with_seed(seed), derived);
    }
}

#[test]
fn counters_and_overflow_are_where_the_format_document_puts_them() {
    let keys = hashes(1, 500);
    for compact in [false, true] {
        let mut filter = spec(FilterKind::CountingBloom, compact).unwrap().build().unwrap();
        filter.insert_batch(&keys).unwrap();
        // Inserts ten of the keys 20 more times each, so that 4-bit counters stick at 15 and compact counters overflow.
        for hash in keys[..10].iter().cycle().take(200) {
            filter.insert_hash(*hash).unwrap();
        }
        let bytes = filter.to_bytes();
        let page = Page::read(&bytes);
        assert_eq!(page.p[2], if compact { 2 } else { 4 });
        assert_eq!(page.p[3] > 0, compact);

        let mut expected = vec![0; 64 * page.p[0] as usize];
        let inserted = keys.iter().chain(keys[..10].iter().cycle().take(200));
        for position in inserted.flat_map(|hash| page.positions(hash.raw())) {
            expected[position as usize] += 1;
        }
        for (position, count) in (0..).zip(expected) {
            let count = if compact { count } else { count.min(15) };
            assert_eq!(page.count(position), count);
            assert_eq!(bit(page.payload, position), count > 0);
        }
        assert!(AnyFilter::from_bytes(&bytes).is_ok());
    }
}
