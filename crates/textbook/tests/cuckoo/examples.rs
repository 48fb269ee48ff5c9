//! A worked example from a blog post, checked bucket by bucket, and small examples of our own.

use trommel_textbook::cuckoo::{Buckets, Kicks};

/// The moves of the blog post: `(fingerprint, from, to)` is a move from bucket `from` to bucket `to`, which can be the
/// same bucket. The first move of each fingerprint starts at the fingerprint's primary bucket.
///
/// The author of the post computed alternate buckets by hand and gave the fingerprint 27356 three buckets (0, 7
/// and 2), although a fingerprint has only two. So these moves cannot be computed, and are listed here as printed.
const MOVES: [(u32, u64, u64); 6] =
    [(49615, 7, 0), (27356, 0, 7), (16431, 7, 9), (15377, 7, 7), (27356, 7, 2), (53104, 0, 6)];

fn alternate(bucket: u64, fingerprint: u32) -> u64 {
    let matches = |(moved, from, _): &&(u32, u64, u64)| *moved == fingerprint && *from == bucket;
    MOVES.iter().find(matches).unwrap_or_else(|| panic!("no move of {fingerprint} from {bucket}")).2
}

fn primary(fingerprint: u32) -> u64 {
    MOVES.iter().find(|(moved, ..)| *moved == fingerprint).unwrap().1
}

/// The taken buckets of a table with one entry per bucket, each with its fingerprint.
fn held(buckets: &Buckets) -> Vec<(usize, u32)> {
    let entries = buckets.entries().enumerate();
    entries.filter_map(|(bucket, held)| held.map(|held| (bucket, held))).collect()
}

#[test]
fn four_fingerprints_in_ten_buckets_make_the_table_of_the_blog_post() {
    let mut buckets = Buckets::new(10, 1, 16).unwrap();
    // An insert that kicks chooses at random in which bucket to begin, and which entry of a bucket to kick. In this
    // table, a bucket has one entry, and 15377, the only fingerprint whose insert kicks, has only one bucket. So there
    // is nothing to choose, and every seed must give the same result.
    for seed in 0..20 {
        let mut kicks = Kicks::new(500, seed).unwrap();
        buckets = Buckets::new(10, 1, 16).unwrap();
        let mut steps = Vec::new();
        for fingerprint in [49615, 27356, 16431, 15377] {
            assert!(buckets.insert(fingerprint, primary(fingerprint), &mut kicks, alternate));
            steps.push((held(&buckets), kicks.total()));
        }
        let expected = [
            (vec![(7, 49615)], 0),
            (vec![(0, 27356), (7, 49615)], 0),
            (vec![(0, 27356), (7, 49615), (9, 16431)], 0),
            // Moves: 49615 to 0, 27356 to 7, 15377 to 7 again, 27356 to 2.
            (vec![(0, 49615), (2, 27356), (7, 15377), (9, 16431)], 4),
        ];
        assert_eq!(steps, expected);
    }
    assert!(buckets.contains(16431, [7, 9]));
    assert!(!buckets.contains(53104, [0, 6]));
}

/// The insert of 15377 needs four kicks. With a lower limit, it fails and leaves every fingerprint in its bucket.
#[test]
fn kicks_beyond_the_limit_are_undone() {
    for limit in 1..=5 {
        let mut kicks = Kicks::new(limit, 1).unwrap();
        let mut buckets = Buckets::new(10, 1, 16).unwrap();
        for fingerprint in [49615, 27356, 16431] {
            assert!(buckets.insert(fingerprint, primary(fingerprint), &mut kicks, alternate));
        }
        let before = held(&buckets);
        assert_eq!(buckets.insert(15377, 7, &mut kicks, alternate), limit >= 4);
        assert_eq!(held(&buckets) == before, limit < 4);
        assert_eq!(kicks.total(), u64::from(limit.min(4)));
    }
}

/// Two buckets of two entries have room for four copies. The next two inserts fail, each after 500 kicks, the default
/// limit.
#[test]
fn both_buckets_fill_before_anything_is_kicked() {
    let other = |bucket: u64, _| 1 - bucket;
    let mut kicks = Kicks::default();
    let mut buckets = Buckets::new(2, 2, 8).unwrap();
    for copies in 1..=4 {
        assert!(buckets.insert(77, 1, &mut kicks, other));
        assert_eq!(buckets.count(77, [1, 0]), copies);
    }
    assert_eq!(kicks.total(), 0);
    assert!(!buckets.insert(77, 1, &mut kicks, other));
    assert!(!buckets.insert(78, 0, &mut kicks, other));
    assert_eq!((kicks.total(), buckets.count(77, [0, 1])), (1000, 4));
    for left in (0..4).rev() {
        assert!(buckets.remove(77, [1, 0]));
        assert_eq!(buckets.count(77, [1, 0]), left);
    }
    assert!(!buckets.remove(77, [1, 0]));
}

#[test]
fn impossible_fingerprints_are_never_found() {
    let mut buckets = Buckets::new(3, 4, 5).unwrap();
    for fingerprint in [0, 32, u32::MAX] {
        assert!(!buckets.contains(fingerprint, [0, 1]));
        assert_eq!(buckets.count(fingerprint, [0, 1]), 0);
        assert!(!buckets.remove(fingerprint, [0, 1]));
    }
}
