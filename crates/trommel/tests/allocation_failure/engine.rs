//! Checks of engines with one thread, and of filters that are split into shards.

use crate::check::check;
use crate::filters::{self, Case, KEYS, assert_built, hashes};
use std::convert::Infallible;
use trommel::engine::{ShardedFilter, Strategy};
use trommel::{Bitmap, Engine, Filter, InsertShared, KeyHash};

const CASES: &[&Case] = &[
    &filters::BLOOM,
    &filters::COUNTING_BLOOM,
    &filters::REGISTER_BLOOM,
    &filters::SPLIT_BLOCK_BLOOM,
    &filters::CACHE_LINE_BLOOM,
    &filters::QUOTIENT,
    &filters::GROWING_QUOTIENT,
    &filters::CACHE_LINE_QUOTIENT,
    &filters::CUCKOO_16,
    &filters::GROWING_CUCKOO,
];

/// Checks lookups that write their answers to a bitmap with enough room.
fn check_lookups(name: &str, probes: &[KeyHash], look_up: impl Fn(&mut Bitmap)) {
    let mut expected = Bitmap::default();
    look_up(&mut expected);
    let with_room = || {
        let mut found = Bitmap::default();
        found.try_reserve(probes.len()).unwrap();
        found
    };
    let look_up = |found: &mut Bitmap| {
        look_up(found);
        Ok::<(), Infallible>(())
    };
    check(name, with_room, look_up, |found, _| assert!(*found == expected, "{name}: answers"));
}

pub(crate) fn check_engines() {
    let (all, probes) = (hashes(0..KEYS), hashes(KEYS / 2..3 * KEYS / 2));
    for case in CASES {
        let (spec, expected) = (case.spec(), case.filled(&all));
        let kind = spec.kind();
        for strategy in [Strategy::Direct, Strategy::Partitioned] {
            let engine = || Engine::builder().threads(1).strategy(strategy).build().unwrap();
            check(
                &format!("{kind}: Engine::build, {strategy:?}"),
                engine,
                |engine| engine.build(&spec, &all),
                |_, built| assert_built(case, built, &expected, &all),
            );
            // In the second call, the engine can have memory that it kept from the first.
            let twice =
                |engine: &mut Engine| engine.build(&spec, &all).and(engine.build(&spec, &all));
            check(
                &format!("{kind}: Engine::build twice, {strategy:?}"),
                engine,
                twice,
                |_, built| assert_built(case, built, &expected, &all),
            );
            let started = engine();
            check_lookups(
                &format!("{kind}: Engine::contains_batch, {strategy:?}"),
                &probes,
                |found| {
                    started.release_memory();
                    started.contains_batch(&expected, &probes, found);
                },
            );
        }
    }
}

pub(crate) fn check_sharded_filters() {
    let (held, batch) = (hashes(0..KEYS / 2), hashes(KEYS / 2..KEYS));
    let probes = hashes(KEYS / 2..3 * KEYS / 2);
    for case in CASES {
        let spec = case.spec();
        let kind = spec.kind();
        for shards in [1, 8] {
            check(
                &format!("{kind}: ShardedFilter::build, {shards} shards"),
                || (),
                |()| ShardedFilter::build(&spec, shards),
                |(), built| {
                    assert!(built.as_ref().is_ok_and(ShardedFilter::is_empty) || built.is_err());
                },
            );
            let filled = || {
                let filter = ShardedFilter::build(&spec, shards).unwrap();
                filter.insert_batch(&held).unwrap();
                filter
            };
            let has = |filter: &ShardedFilter, hashes: &[KeyHash]| {
                hashes.iter().all(|hash| filter.contains_hash(*hash))
            };
            check(
                &format!("{kind}: ShardedFilter::insert_batch, {shards} shards"),
                filled,
                |filter| filter.insert_batch(&batch),
                |filter, result| {
                    assert!(has(filter, &held) && (result.is_err() || has(filter, &batch)));
                },
            );
            let before = filled();
            check_lookups(
                &format!("{kind}: ShardedFilter::contains_batch, {shards} shards"),
                &probes,
                |found| before.contains_batch(&probes, found),
            );
        }
    }
}
