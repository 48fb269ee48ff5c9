//! Checks of filter policies, accumulators, and `IntegerBatches`, which reads keys in batches.

use crate::check::{Refusal, check};
use crate::filters::{self, Case, KEYS, hashes};
use std::convert::Infallible;
use trommel::engine::IntegerBatches;
use trommel::error::{AccumulateError, BuildError};
use trommel::{AnyFilter, Filter, FilterAccumulator, FilterKind, FilterPolicy, KeyHash};

pub(crate) fn check_policies() {
    let all = hashes(0..KEYS);
    for kind in FilterKind::ALL.iter().filter(|kind| **kind != FilterKind::CountingBloom) {
        let builder = FilterPolicy::builder(*kind).bits_per_key(12.0).seed(u64::MAX);
        let policy = builder.build().unwrap();
        check(
            &format!("{kind}: FilterPolicyBuilder::build"),
            || (),
            |()| builder.build(),
            |(), built| {
                assert!(
                    built.as_ref().is_ok_and(|built| built.name() == policy.name())
                        || built.is_err()
                );
            },
        );
        for keys in [0, 1, 20, 3_000, KEYS] {
            let (hashes, block) = (&all[..keys], policy.build(&all[..keys]));
            assert_eq!(block.len(), policy.encoded_len(keys));
            let finds_all = |block: &[u8]| hashes.iter().all(|hash| policy.may_match(block, *hash));
            check(
                &format!("{kind}: FilterPolicy::build_into, {keys} keys"),
                || vec![0; block.len()],
                |buffer: &mut Vec<u8>| policy.build_into(hashes, buffer),
                |buffer, result| assert!(result.is_err() || finds_all(buffer)),
            );
            check(
                &format!("{kind}: FilterPolicy::build, {keys} keys"),
                || (),
                |()| Ok::<_, Infallible>(policy.build(hashes)),
                |(), built| {
                    let built = built.as_ref().unwrap();
                    assert!(finds_all(built) && (built.len() <= 1 || built.len() == block.len()));
                    assert!(built.len() > 1 || policy.may_match(built, KeyHash::from_raw(7)));
                },
            );
            check(
                &format!("{kind}: FilterPolicy::verify, {keys} keys"),
                || (),
                |()| policy.verify(&block),
                |(), _| {},
            );
        }
    }
}

/// An accumulator keeps up to this many hashes; for more, it builds a filter.
const MAX_HASHES: usize = 1_000;

const CASES: &[&Case] = &[
    &filters::BLOOM,
    &filters::SPLIT_BLOCK_BLOOM,
    &filters::COUNTING_BLOOM,
    &filters::QUOTIENT,
    &filters::GROWING_QUOTIENT,
    &filters::CUCKOO_16,
];

pub(crate) fn check_accumulators() {
    let all = hashes(0..KEYS / 2);
    for case in CASES {
        let with = |keys: std::ops::Range<usize>| {
            let mut accumulator = FilterAccumulator::new(case.spec(), MAX_HASHES).unwrap();
            accumulator.insert_batch(&all[keys]).unwrap();
            accumulator
        };
        let name = |what: &str| format!("{}: {what}", case.spec().kind());
        let (few, many) = (with(0..800), with(0..5_000));
        check(
            &name("FilterAccumulator::new"),
            || (),
            |()| FilterAccumulator::new(case.spec(), MAX_HASHES),
            |(), _| {},
        );
        for (before, batch) in [(&few, 800..900), (&few, 800..KEYS / 2), (&many, 5_000..KEYS / 2)] {
            check_accumulator(&name("insert_batch"), before, &all[batch.clone()], |accumulator| {
                accumulator.insert_batch(&all[batch.clone()])
            });
        }
        for before in [&few, &many] {
            for other in [with(9_000..9_100), with(9_000..9_900), with(9_000..12_000)] {
                let bytes = other.to_bytes();
                let added = &all[9_000..][..other.len()];
                check_accumulator(&name("merge_bytes"), before, added, |accumulator| {
                    accumulator.merge_bytes(&bytes)
                });
                check(
                    &name("merge"),
                    || (before.clone(), Some(other.clone())),
                    |(accumulator, other)| accumulator.merge(other.take().unwrap()),
                    |(accumulator, _), result| match result {
                        Ok(()) => assert_has(accumulator, before, added),
                        Err(error) => assert_has(accumulator, before, &added[..inserted(error)]),
                    },
                );
            }
            let finish =
                |accumulator: &mut Option<FilterAccumulator>| accumulator.take().unwrap().finish();
            check(&name("finish"), || Some(before.clone()), finish, |_, _| {});
            let finish = |accumulator: &mut Option<FilterAccumulator>| {
                accumulator.take().unwrap().finish_compact()
            };
            check(&name("finish_compact"), || Some(before.clone()), finish, |_, _| {});
        }
    }
}

/// Checks an operation that adds `hashes` to an accumulator.
fn check_accumulator<E: Refusal + Copy + Into<AccumulateError>>(
    name: &str,
    before: &FilterAccumulator,
    hashes: &[KeyHash],
    change: impl Fn(&mut FilterAccumulator) -> Result<(), E>,
) {
    check(
        name,
        || before.clone(),
        change,
        |accumulator, result| match result {
            Ok(()) => assert_has(accumulator, before, hashes),
            Err(error) => assert_has(accumulator, before, &hashes[..inserted(&(*error).into())]),
        },
    );
}

/// The number of keys that the error reports as inserted.
fn inserted(error: &AccumulateError) -> usize {
    match error {
        AccumulateError::Build(BuildError::Full(full)) => full.inserted,
        _ => 0,
    }
}

/// Asserts that the accumulator has the keys of `before` and of `added`, and no others.
fn assert_has(accumulator: &FilterAccumulator, before: &FilterAccumulator, added: &[KeyHash]) {
    let mut expected = before.clone();
    expected.insert_batch(added).unwrap();
    assert_eq!(accumulator.len(), expected.len());
    let [filter, expected] = [accumulator.clone(), expected].map(|each| each.finish().unwrap());
    let is_cuckoo = matches!(filter, AnyFilter::Cuckoo(_));
    assert!(filter == expected || is_cuckoo && filter.len() == expected.len());
    assert!(added.iter().all(|hash| filter.contains_hash(*hash)));
}

pub(crate) fn check_key_batches() {
    let keys: Vec<u64> = (0..1_000).collect();
    let bytes: Vec<u8> = keys.iter().flat_map(|key| key.to_le_bytes()).collect();
    check(
        "IntegerBatches::next",
        || IntegerBatches::new(&bytes[..], 600),
        |batches| batches.next().transpose(),
        |_, batch| {
            assert!(
                batch.as_ref().is_ok_and(|batch| batch.as_deref() == Some(&keys[..600]))
                    || batch.is_err()
            );
        },
    );
    let mut batches = IntegerBatches::new(&bytes[..], 600);
    let refused = crate::allocator::refusing(crate::allocator::Refuse::Only(1), || batches.next());
    assert!(refused.unwrap().is_err() && batches.next().is_none());
}
