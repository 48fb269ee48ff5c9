//! What does one key a call cost: absent, present and inserted, beside the crates that a user would otherwise pick?
//!
//! Each round gives every filter the same 4,096 keys, one call per key, and begins with another filter. The table has the
//! median of each filter in nanoseconds per key, and its ratio to the rival above it, which has the same bytes: above 1
//! where ours is faster. Present keys must all be found, and absent ones be reported at the expected rate.
//!
//! ```sh
//! cargo bench -p trommel-benches --bench single_keys -- [ROUNDS]
//! ```

use std::hint::black_box;
use std::time::Instant;
use trommel::{
    AnyFilter, BloomFilter, CacheLineBloom, Filter, FilterView, Insert, KeyHash, RegisterBloom,
    SplitBlockBloom,
};
use trommel_benches::{FPR, hashes};

/// Keys of a chunk.
const CHUNK: usize = 4096;
/// Keys that lookups choose from, so that no branch predictor learns them.
const POOL: usize = 1 << 20;

/// What is timed of a filter, one call for each key.
trait Subject {
    fn count(&self, hashes: &[KeyHash]) -> usize;
    fn insert(&mut self, hashes: &[KeyHash]);
}

macro_rules! ours {
    ($($filter:ty),*) => {$(
        impl Subject for $filter {
            #[inline(never)]
            fn count(&self, hashes: &[KeyHash]) -> usize {
                hashes.iter().map(|hash| usize::from(self.contains_hash(*hash))).sum()
            }
            #[inline(never)]
            fn insert(&mut self, hashes: &[KeyHash]) {
                for hash in hashes {
                    let _ = self.insert_hash(*hash);
                }
            }
        }
    )*};
}

ours!(BloomFilter, RegisterBloom, SplitBlockBloom, CacheLineBloom, AnyFilter);

struct View(FilterView<'static>);

impl Subject for View {
    #[inline(never)]
    fn count(&self, hashes: &[KeyHash]) -> usize {
        hashes.iter().map(|hash| usize::from(self.0.contains_hash(*hash))).sum()
    }
    fn insert(&mut self, _: &[KeyHash]) {}
}

impl Subject for sbbf_rs_safe::Filter {
    #[inline(never)]
    fn count(&self, hashes: &[KeyHash]) -> usize {
        hashes.iter().map(|hash| usize::from(self.contains_hash(hash.raw()))).sum()
    }
    #[inline(never)]
    fn insert(&mut self, hashes: &[KeyHash]) {
        for hash in hashes {
            self.insert_hash(hash.raw());
        }
    }
}

impl Subject for fastbloom::BloomFilter {
    #[inline(never)]
    fn count(&self, hashes: &[KeyHash]) -> usize {
        hashes.iter().map(|hash| usize::from(self.contains_hash(hash.raw()))).sum()
    }
    #[inline(never)]
    fn insert(&mut self, hashes: &[KeyHash]) {
        for hash in hashes {
            self.insert_hash(hash.raw());
        }
    }
}

/// The medians of a filter.
struct Figures {
    name: &'static str,
    nanoseconds: [f64; 3],
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Times all filters, chunk by chunk.
fn time(
    subjects: &mut [(&'static str, Box<dyn Subject>)],
    keys: &[KeyHash],
    absent: &[KeyHash],
    rounds: usize,
) -> Vec<Figures> {
    let mut times: Vec<[Vec<f64>; 3]> = subjects.iter().map(|_| [vec![], vec![], vec![]]).collect();
    let present: Vec<KeyHash> = keys.iter().take(POOL).copied().collect();
    for round in 0..rounds {
        // Other keys for each operation, so that none finds its cache lines in L1 because of the one before.
        let chunk = |pool: &[KeyHash], operation: usize| {
            let chunks = pool.len() / CHUNK;
            let first = (round * 7 + operation * 5) % chunks * CHUNK;
            pool[first..first + CHUNK].to_vec()
        };
        let (absent, present, new) = (chunk(absent, 0), chunk(&present, 0), chunk(&present, 1));
        let count = subjects.len();
        for i in 0..count {
            let i = (i + round) % count;
            let (name, subject) = &mut subjects[i];
            let start = Instant::now();
            let reported = black_box(&**subject).count(black_box(&absent));
            times[i][0].push(start.elapsed().as_nanos() as f64 / CHUNK as f64);
            assert!(reported < CHUNK / 20, "{name} reports {reported} of {CHUNK} absent keys");
            let start = Instant::now();
            let found = black_box(&**subject).count(black_box(&present));
            times[i][1].push(start.elapsed().as_nanos() as f64 / CHUNK as f64);
            assert_eq!(found, CHUNK, "{name} lost a key");
            let start = Instant::now();
            black_box(&mut **subject).insert(black_box(&new));
            times[i][2].push(start.elapsed().as_nanos() as f64 / CHUNK as f64);
        }
    }
    subjects
        .iter()
        .zip(times)
        .map(|((name, _), times)| Figures { name, nanoseconds: times.map(median) })
        .collect()
}

/// A copy that begins at a multiple of 64, as the pages of a mapped file do.
fn aligned(bytes: &[u8]) -> &'static [u8] {
    let buffer: &'static mut [u8] = vec![0; bytes.len() + 64].leak();
    let start = buffer.as_ptr().align_offset(64);
    buffer[start..][..bytes.len()].copy_from_slice(bytes);
    &buffer[start..][..bytes.len()]
}

fn bloom_filters(keys: &[KeyHash]) -> Vec<(&'static str, Box<dyn Subject>)> {
    let n = keys.len();
    let build = |mut filter: Box<dyn Subject>| {
        filter.insert(keys);
        filter
    };
    let split = SplitBlockBloom::with_capacity_and_fpr(n, FPR).expect("a size");
    let register = RegisterBloom::with_capacity_and_fpr(n, FPR).expect("a size");
    let cache_line = CacheLineBloom::with_capacity_and_fpr(n, FPR).expect("a size");
    let standard = BloomFilter::with_capacity_and_fpr(n, FPR).expect("a size");
    let sbbf =
        |bytes: usize| sbbf_rs_safe::Filter::from_bytes(&vec![0; bytes]).expect("whole blocks");
    let fastbloom = fastbloom::BloomFilter::with_num_bits(standard.memory_bytes() * 8)
        .hashes(standard.hash_count());
    let mut any = AnyFilter::from(split.clone());
    any.insert_batch(keys).expect("room");
    let view = FilterView::parse(aligned(&any.to_bytes())).expect("what was written");
    vec![
        ("sbbf-rs-safe", build(Box::new(sbbf(split.memory_bytes())))),
        ("split-block", build(Box::new(split))),
        ("any split-block", Box::new(any)),
        ("view split-block", Box::new(View(view))),
        ("sbbf-rs-safe", build(Box::new(sbbf(register.memory_bytes() / 32 * 32)))),
        ("register", build(Box::new(register))),
        ("sbbf-rs-safe", build(Box::new(sbbf(cache_line.memory_bytes())))),
        ("cache-line", build(Box::new(cache_line))),
        ("fastbloom", build(Box::new(fastbloom))),
        ("standard", build(Box::new(standard))),
    ]
}

fn main() {
    let rounds =
        std::env::args().filter_map(|argument| argument.parse().ok()).next().unwrap_or(401);
    println!("| keys | filter | absent, ns | present, ns | insert, ns | ratios |");
    println!("|---:|---|---:|---:|---:|---|");
    for n in [100_000, 1_000_000, 10_000_000] {
        let keys = hashes(1, n);
        let absent = hashes(2, POOL);
        let mut subjects = bloom_filters(&keys);
        let figures = time(&mut subjects, &keys, &absent, rounds);
        let rivals = ["sbbf-rs-safe", "fastbloom"];
        let mut rival = &figures[0];
        for row in &figures {
            if rivals.contains(&row.name) {
                rival = row;
            }
            let [a, p, i] = row.nanoseconds;
            let [ra, rp, ri] = rival.nanoseconds;
            println!(
                "| {n} | {} | {a:.2} | {p:.2} | {i:.2} | {:.2} / {:.2} / {:.2} |",
                row.name,
                ra / a,
                rp / p,
                ri / i
            );
        }
    }
}
