//! Filter blocks have exactly the predicted sizes, and no false negatives. Standard blocks, which are blocks of
//! the kind `bloom`, have the false-positive rate of the equation. For bytes that are not a block, the answer is
//! "maybe".

use trommel::{
    Bitmap, Filter, FilterKind, FilterPolicy, FilterSpec, FormatError, Hasher, Insert, Isa,
    KeyHash, PolicyError, SpecError,
};
use trommel_testkit::Splitmix;
use trommel_testkit::sizes::clamped;
use trommel_testkit::stats::assert_binomial;

/// The kinds that have a block form.
fn kinds() -> impl Iterator<Item = FilterKind> {
    FilterKind::ALL.iter().copied().filter(|kind| *kind != FilterKind::CountingBloom)
}

fn policy(kind: FilterKind, bits_per_key: f64) -> FilterPolicy {
    FilterPolicy::builder(kind).bits_per_key(bits_per_key).build().unwrap()
}

fn hashes(seed: u64, count: usize) -> Vec<KeyHash> {
    let mut random = Splitmix::new(seed);
    (0..count).map(|_| KeyHash::from_raw(random.word())).collect()
}

#[test]
fn a_block_has_the_predicted_length_and_every_key() {
    for kind in kinds() {
        for bits_per_key in [11.0, 12.5, 13.0, 17.0, 40.0] {
            let policy = policy(kind, bits_per_key);
            for keys in (0..70).chain([127, 128, 500, 1_600, 20_000]) {
                let hashes = hashes(keys as u64, keys);
                let block = policy.build(&hashes);
                assert_eq!(
                    block.len(),
                    policy.encoded_len(keys),
                    "{kind}, {bits_per_key} bits per key, {keys} keys"
                );
                assert_eq!(
                    policy.verify(&block),
                    Ok(()),
                    "{kind}, {bits_per_key} bits per key, {keys} keys"
                );
                assert!(
                    hashes.iter().all(|hash| policy.may_match(&block, *hash)),
                    "{kind}, {keys} keys: a key is lost"
                );
            }
        }
    }
}

/// For 7 keys or more, LevelDB's own filter of 10 bits per key takes `⌈10 · keys / 8⌉` bytes, and one more byte for the
/// number of bits that a key sets. For fewer keys, LevelDB rounds the table up to 8 bytes.
#[test]
fn a_standard_block_is_as_long_as_leveldbs() {
    let policy = policy(FilterKind::Bloom, 10.0);
    for keys in [7, 18, 1_600, 800_000] {
        assert_eq!(policy.encoded_len(keys), (keys * 10).div_ceil(8) + 1);
    }
}

#[test]
fn blocks_of_one_key_or_none_exclude_absent_keys() {
    for kind in kinds() {
        let policy = policy(kind, 11.0);
        let absent = hashes(9, 1_000);
        let none = policy.build(&[]);
        assert!(
            absent.iter().all(|hash| !policy.may_match(&none, *hash)),
            "{kind}: a block of zero keys reports a key as present"
        );
        let one = policy.build(&hashes(1, 1));
        let reported = absent.iter().filter(|hash| policy.may_match(&one, **hash)).count();
        assert!(
            reported < 200,
            "{kind}: a block of one key reports {reported} of 1000 absent keys"
        );
    }
}

/// A table of whole words answers like a filter of the same bytes, whose false-positive rate is tested elsewhere. For
/// tables whose length is not a whole number of words, this test compares the measured rate with the equation.
#[test]
fn standard_blocks_have_the_false_positive_rate_of_the_equation() {
    for (keys, bits_per_key) in [(10_007, 10.0), (10_007, 7.3), (3_001, 15.2)] {
        let policy = policy(FilterKind::Bloom, bits_per_key);
        let block = policy.build(&hashes(1, keys));
        let table_bits = (block.len() - 1) as f64 * 8.0;
        let count = u32::from(block[block.len() - 1]);
        let fpr = trommel_base::sizing::standard_fpr(table_bits / keys as f64, count);
        let absent = hashes(2, 400_000);
        let reported = absent.iter().filter(|hash| policy.may_match(&block, **hash)).count();
        // The number of set bits varies from table to table, with a standard deviation of at most the square root of
        // its mean, and the false-positive rate of a table varies with the number of set bits. So the number of false
        // positives may deviate by 4.5 of its standard deviations, not only by three.
        assert_binomial("standard block", reported as u64, absent.len() as u64, fpr, 4.5);
    }
}

/// A table of whole units (words, split blocks or cache lines) is the table of a filter with the same parameters, bit
/// for bit.
#[test]
fn a_block_is_the_table_of_a_frozen_filter() {
    let kinds = [
        FilterKind::Bloom,
        FilterKind::RegisterBloom,
        FilterKind::SplitBlockBloom,
        FilterKind::CacheLineBloom,
    ];
    for kind in kinds {
        let policy = policy(kind, 12.0);
        // 12 bits for each of 4096 keys are 96 cache lines.
        let hashes = hashes(1, 4_096);
        let block = policy.build(&hashes);
        let spec = FilterSpec::new(kind).keys(4_096).memory_bytes(4_096 * 12 / 8);
        let mut filter = spec.build().unwrap();
        filter.insert_batch(&hashes).unwrap();
        assert_eq!(block[..6_144], filter.to_bytes()[128..], "{kind}");
        for hash in hashes.iter().chain(&self::hashes(2, 10_000)) {
            assert_eq!(policy.may_match(&block, *hash), filter.contains_hash(*hash), "{kind}");
        }
    }
}

#[test]
fn every_isa_answers_alike_and_builds_the_same_block() {
    let (keys, absent) = (hashes(1, 5_000), hashes(2, 5_000));
    for kind in kinds() {
        for bits_per_key in [11.0, 14.0, 35.0] {
            let builder = FilterPolicy::builder(kind).bits_per_key(bits_per_key);
            let portable = builder.isa(Isa::Portable).build().unwrap();
            let block = portable.build(&keys);
            for isa in Isa::available() {
                let policy = builder.isa(isa).build().unwrap();
                assert_eq!(policy.build(&keys), block, "{kind}, {isa}");
                for hash in keys.iter().chain(&absent) {
                    let expected = portable.may_match(&block, *hash);
                    assert_eq!(policy.may_match(&block, *hash), expected, "{kind}, {isa}");
                }
            }
        }
    }
}

/// Digests of blocks of 300 keys. The digests must never change, since stored blocks must stay readable. (The exception
/// is `Cuckoo`: a later release is allowed to place the fingerprints of cuckoo blocks in other slots.)
#[test]
fn blocks_have_their_golden_digests() {
    let digest = |kind, hasher| {
        let policy = FilterPolicy::builder(kind)
            .bits_per_key(11.0)
            .hasher(hasher)
            .isa(Isa::Portable)
            .build();
        let block = policy.unwrap().build(&hashes(1, 300));
        format!("{:016x}", Hasher::xxh3(0).hash_bytes(&block).raw())
    };
    let digests: Vec<_> = kinds()
        .map(|kind| (kind, digest(kind, Hasher::xxh3(0)), digest(kind, Hasher::PARQUET)))
        .collect();
    let expected = [
        (FilterKind::Bloom, "baea049d0dd4bc8c", "28a5e8b30c4e7b80"),
        (FilterKind::RegisterBloom, "6f367ce8d8f24116", "7d0159d633a72aff"),
        (FilterKind::SplitBlockBloom, "cb4dfeef0d8b7637", "1a3a8b80876a48b4"),
        (FilterKind::CacheLineBloom, "629c8e0252c4ce86", "7a517e9d89bff73e"),
        (FilterKind::Quotient, "82c6e9c3bf6226bd", "e17b7b856c2d25b2"),
        (FilterKind::CacheLineQuotient, "7e94f1ed55f1c2bc", "5a8ea9579b1138f8"),
        (FilterKind::Cuckoo, "ed0fcf72a5a144a8", "f23e06f75b7e1444"),
    ];
    assert_eq!(digests.len(), expected.len(), "{digests:#?}");
    for ((kind, xxh3, xxh64), golden) in digests.iter().zip(expected) {
        assert_eq!((*kind, xxh3.as_str(), xxh64.as_str()), golden);
    }
}

#[test]
fn bytes_that_are_not_a_block_of_the_policy_answer_maybe() {
    let hash = hashes(3, 1)[0];
    for kind in kinds() {
        let policy = policy(kind, 11.0);
        let block = policy.build(&hashes(1, 100));
        assert!(!policy.may_match(&block, hash), "{kind}: the test needs an absent key");
        let maybe = |bytes: &[u8]| {
            assert!(policy.may_match(bytes, hash), "{kind} excludes a key: {bytes:?}");
            assert!(bytes == [0] || policy.verify(bytes).is_err(), "{kind} accepts {bytes:?}");
        };
        maybe(&[]);
        maybe(&[0]);
        for other in kinds().filter(|other| *other != kind) {
            maybe(&self::policy(other, 11.0).build(&hashes(1, 100)));
        }
        let parquet = FilterPolicy::builder(kind).bits_per_key(11.0).hasher(Hasher::PARQUET);
        maybe(&parquet.build().unwrap().build(&hashes(1, 100)));
        // The trailer alone, and every reserved code below 128.
        let trailer = if kind == FilterKind::Bloom { 1 } else { 2 };
        maybe(&block[block.len() - trailer..]);
        let mut reserved = block.clone();
        for code in 33..0x80 {
            *reserved.last_mut().unwrap() = code;
            maybe(&reserved);
        }
        // A parameter that `FilterPolicy::build` never writes.
        let mut parameter = block.clone();
        let at = block.len() - trailer;
        for value in
            [0, 33, 255].into_iter().filter(|value| kind != FilterKind::Bloom || *value != 255)
        {
            parameter[at] = value;
            maybe(&parameter);
        }
    }
}

/// No lookup panics on bytes that end like a block of the policy, at any alignment.
#[test]
fn lookups_in_any_bytes_do_not_panic() {
    let mut random = Splitmix::new(5);
    for kind in kinds() {
        for isa in Isa::available() {
            let policy = FilterPolicy::builder(kind).bits_per_key(11.0).isa(isa).build().unwrap();
            let lengths =
                (0..400).chain(hashes(7, 40).into_iter().map(|hash| hash.raw() as usize % 20_000));
            for len in lengths {
                // Clears most of the random bits, sets most of them, or leaves them as they are.
                let mut bytes = random.bytes(len + 1);
                let dense = random.word() % 4;
                bytes.iter_mut().for_each(|byte| match dense {
                    0 => *byte &= random.word() as u8 & random.word() as u8,
                    1 => *byte |= random.word() as u8 | random.word() as u8,
                    _ => {}
                });
                let good = policy.build(&hashes(len as u64, len / 2 + 1));
                let block = &mut bytes[usize::from(len % 3 == 1)..];
                let trailer = good.len().min(2).min(block.len());
                let at = block.len() - trailer;
                block[at..].copy_from_slice(&good[good.len() - trailer..]);
                for hash in hashes(len as u64, 20) {
                    let _ = policy.may_match(block, hash);
                }
                let _ = policy.verify(block);
            }
            // A block of the right length, with up to 200 bytes of its table overwritten.
            for _ in 0..200 {
                let mut block = policy.build(&hashes(1, 200));
                let table = block.len() - 2;
                for _ in 0..1 + random.word() % 200 {
                    block[random.word() as usize % table] = random.word() as u8;
                }
                for hash in hashes(random.word(), 50) {
                    let _ = policy.may_match(&block, hash);
                }
                let _ = policy.verify(&block);
            }
        }
    }
}

#[test]
fn a_name_has_exactly_what_decides_compatibility() {
    let builder = FilterPolicy::builder;
    let name =
        |builder: trommel::policy::FilterPolicyBuilder| builder.build().unwrap().name().to_owned();
    for kind in kinds() {
        let base = name(builder(kind).bits_per_key(11.0));
        assert_eq!(base, name(builder(kind).bits_per_key(12.0)));
        assert_ne!(base, name(builder(kind).bits_per_key(11.0).seed(1)));
        assert_ne!(base, name(builder(kind).bits_per_key(11.0).hasher(Hasher::xxh64(0))));
        let secret = Hasher::siphash13([7; 16]);
        let keyed = name(builder(kind).bits_per_key(11.0).hasher(secret));
        assert!(
            keyed.ends_with(&format!(".siphash13.{:016x}", secret.seed())) && keyed.len() <= 64
        );
        assert_ne!(keyed, name(builder(kind).bits_per_key(11.0).hasher(secret.with_seed(1))));
        assert!(base.len() <= 64 && base.bytes().all(|byte| byte.is_ascii_graphic()), "{base}");
        for other in kinds().filter(|other| *other != kind) {
            assert_ne!(base, name(builder(other).bits_per_key(11.0)));
        }
    }
}

/// Policies that differ only in bits per key read each other's blocks.
#[test]
fn a_policy_reads_blocks_of_other_widths() {
    let keys = hashes(1, 1_000);
    for kind in kinds() {
        let (narrow, wide) = (policy(kind, 11.0), policy(kind, 36.0));
        for (writer, reader) in [(&narrow, &wide), (&wide, &narrow)] {
            let block = writer.build(&keys);
            assert!(
                keys.iter().all(|hash| reader.may_match(&block, *hash)),
                "{kind}: a key is lost"
            );
            for hash in hashes(2, 1_000) {
                assert_eq!(
                    reader.may_match(&block, hash),
                    writer.may_match(&block, hash),
                    "{kind}"
                );
            }
        }
    }
}

#[test]
fn impossible_policies_are_refused() {
    for kind in kinds() {
        for bits_per_key in
            [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0, 0.0, 0.5, 64.5, 1e300]
        {
            let error = FilterPolicy::builder(kind).bits_per_key(bits_per_key).build().unwrap_err();
            assert!(matches!(error, SpecError::BitsPerKeyOutOfRange { .. }), "{kind}: {error}");
        }
    }
    let counting = FilterPolicy::builder(FilterKind::CountingBloom).build().unwrap_err();
    assert!(matches!(counting, SpecError::Option { kind: FilterKind::CountingBloom, .. }));
}

/// Tests several hashers, so that a policy that always uses the default hasher fails.
#[test]
fn a_policy_hashes_keys_by_its_own_hasher() {
    for hasher in [Hasher::xxh3(0), Hasher::xxh3(7), Hasher::siphash13([7; 16])] {
        for kind in kinds() {
            let policy =
                FilterPolicy::builder(kind).bits_per_key(11.0).hasher(hasher).build().unwrap();
            assert_eq!(policy.hasher(), hasher, "{kind}");
            assert_eq!(policy.hash("anvil"), hasher.hash("anvil"), "{kind}");
            assert_eq!(policy.hash(&7u64), hasher.hash(&7u64), "{kind}");
        }
    }
}

#[test]
fn a_policy_uses_the_given_isa_or_is_refused() {
    for kind in kinds() {
        for isa in Isa::ALL {
            match FilterPolicy::builder(kind).bits_per_key(11.0).isa(isa).build() {
                Ok(policy) => {
                    assert!(isa.is_available(), "{kind} was built for {isa}");
                    let shown = format!("{policy:?}");
                    assert!(shown.contains(&format!("isa: {isa:?},")), "{isa}: {shown}");
                }
                Err(error) => {
                    assert!(!isa.is_available(), "{kind}, {isa}: {error}");
                    assert!(matches!(error, SpecError::Isa(_)), "{kind}, {isa}: {error}");
                }
            }
        }
    }
}

#[test]
fn a_buffer_that_is_too_short_is_left_as_it_was() {
    for kind in kinds() {
        let policy = policy(kind, 11.0);
        let keys = hashes(1, 50);
        let need = policy.encoded_len(50);
        for got in [0, 1, need - 1] {
            let mut buffer = vec![0xA5; got];
            let error = policy.build_into(&keys, &mut buffer).unwrap_err();
            assert_eq!(error, PolicyError::BufferTooShort { need, got }, "{kind}");
            assert!(buffer.iter().all(|byte| *byte == 0xA5), "{kind}: the buffer was written");
        }
        let mut buffer = vec![0xA5; need + 9];
        assert_eq!(policy.build_into(&keys, &mut buffer), Ok(need));
        assert_eq!(
            buffer[..need],
            policy.build(&keys)[..],
            "{kind}: the block has old contents of the buffer"
        );
        assert!(
            buffer[need..].iter().all(|byte| *byte == 0xA5),
            "{kind}: bytes after the block were written"
        );
    }
}

#[test]
fn encoded_len_is_the_maximum_for_more_keys_than_a_block_can_hold() {
    for kind in kinds() {
        let policy = policy(kind, 11.0);
        for keys in [usize::MAX, usize::MAX / 2, clamped(u64::MAX / 64)] {
            assert_eq!(policy.encoded_len(keys), usize::MAX, "{kind}");
        }
        // Lengths grow with the number of keys, up to the largest block.
        let lengths: Vec<_> =
            (0..usize::BITS - 2).map(|log2| policy.encoded_len(1 << log2)).collect();
        assert!(lengths.is_sorted(), "{kind}: {lengths:?}");
    }
}

/// Each layout has a largest number of words, split blocks or cache lines.
#[test]
#[cfg(target_pointer_width = "64")]
fn the_largest_bloom_blocks_have_the_layouts_largest_tables() {
    let largest = [
        (FilterKind::Bloom, 1 << 44, 1),
        (FilterKind::RegisterBloom, (u32::MAX as usize) * 8, 2),
        (FilterKind::SplitBlockBloom, 1 << 32, 2),
        (FilterKind::CacheLineBloom, 1 << 35, 2),
    ];
    for (kind, bytes, trailer) in largest {
        // With 8 bits per key, a table has as many bytes as keys.
        let policy = policy(kind, 8.0);
        assert_eq!(policy.encoded_len(bytes), bytes + trailer, "{kind}");
        assert_eq!(policy.encoded_len(bytes + 1), usize::MAX, "{kind}");
    }
}

/// The tables have 16 MiB, which is far below the largest table of any kind.
#[test]
fn large_tables_are_read() {
    for kind in [FilterKind::SplitBlockBloom, FilterKind::CacheLineBloom] {
        let policy = policy(kind, 12.0);
        let small = policy.build(&[]);
        let mut block = vec![0; 16 << 20];
        block.extend(&small[small.len() - 2..]);
        assert_eq!(policy.verify(&block), Ok(()), "{kind}");
        assert!(hashes(1, 100).iter().all(|hash| !policy.may_match(&block, *hash)), "{kind}");
    }
}

/// A table of buckets of six bytes ends with two bytes of padding, since each bucket is read as eight bytes.
#[test]
fn the_padding_of_a_cuckoo_block_must_be_zero() {
    let policy = policy(FilterKind::Cuckoo, 13.0);
    let mut block = policy.build(&hashes(1, 100));
    assert_eq!(policy.verify(&block), Ok(()));
    let padding = block.len() - 3;
    assert_eq!(block[padding], 0);
    block[padding] = 1;
    let refused = policy.verify(&block);
    assert!(matches!(refused, Err(FormatError::Structure { name: "padding", .. })), "{refused:?}");
}

/// A policy takes the widest fingerprints or remainders with which a table at 95 % load stays within the bits per key.
/// Padding, and in quotient tables the extra slots at the end, make a table a little longer.
#[test]
fn blocks_have_the_widest_fingerprints_that_the_bits_per_key_allow() {
    const KEYS: usize = 1_000_000;
    let at_load = |bits: f64| bits / 0.95;
    let cuckoo = [8, 12, 16, 32].map(|width| at_load(f64::from(width)));
    // A slot has a remainder, two bits of metadata, and a 64th of the offset byte that 64 slots share.
    let quotient: Vec<_> =
        (1..=32).map(|remainder| at_load(f64::from(remainder) + 2.0 + 8.0 / 64.0)).collect();
    // A cache line has 50 remainders of 8 bits.
    let cache_line = [at_load(512.0 / 50.0)];
    for (kind, widths) in [
        (FilterKind::Cuckoo, &cuckoo[..]),
        (FilterKind::Quotient, &quotient),
        (FilterKind::CacheLineQuotient, &cache_line),
    ] {
        let below_first = FilterPolicy::builder(kind).bits_per_key(widths[0] - 0.001).build();
        assert!(matches!(below_first, Err(SpecError::BitsPerKeyOutOfRange { .. })), "{kind}");
        for (i, width) in widths.iter().enumerate() {
            let next = widths.get(i + 1).map_or(64.0, |next| next - 0.001);
            for given in [width + 0.001, next] {
                let taken = policy(kind, given).encoded_len(KEYS) as f64 * 8.0 / KEYS as f64;
                assert!(
                    (width - 0.001..width + 0.02).contains(&taken),
                    "{kind}, {given} bits per key: {taken} instead of {width}"
                );
            }
        }
    }
}

/// `keys` is the largest number of keys for which the table has at most 2^42 slots, the maximum.
#[test]
#[cfg(target_pointer_width = "64")]
fn the_largest_quotient_block_has_the_maximum_of_slots() {
    let policy = policy(FilterKind::Quotient, 11.0);
    let keys = 4_178_144_185_548;
    assert_eq!((keys as f64 / 0.95).ceil(), 2f64.powi(42));
    let bytes = policy.encoded_len(keys) as f64;
    assert!((10.1..10.2).contains(&(bytes * 8.0 / 2f64.powi(42))), "{bytes} bytes");
    assert_eq!(policy.encoded_len(keys + 1), usize::MAX);
}

/// Keys that an adversary chose: all of them belong to the last 1/256 of the table.
#[test]
fn keys_without_room_give_a_block_that_excludes_nothing() {
    for kind in [FilterKind::Quotient, FilterKind::CacheLineQuotient, FilterKind::Cuckoo] {
        let policy = policy(kind, 17.0);
        // The highest byte of these hashes is 255, so they belong to the last 1/256 of the buckets or quotients.
        let chosen: Vec<_> =
            hashes(1, 300).iter().map(|hash| KeyHash::from_raw(!(hash.raw() >> 8))).collect();
        let mut buffer = vec![0; policy.encoded_len(chosen.len())];
        let error = policy.build_into(&chosen, &mut buffer).unwrap_err();
        assert!(matches!(error, PolicyError::Full(_)), "{kind}: {error}");
        let block = policy.build(&chosen);
        assert_eq!(block, [0]);
        assert!(chosen.iter().chain(&hashes(2, 100)).all(|hash| policy.may_match(&block, *hash)));
    }
    // Copies of one key take no more room than one key, so they always fit.
    for kind in kinds() {
        let policy = policy(kind, 11.0);
        let copies = vec![hashes(1, 1)[0]; 5_000];
        let block = policy.build(&copies);
        assert_eq!(block.len(), policy.encoded_len(5_000), "{kind}");
        assert!(policy.may_match(&block, copies[0]), "{kind} lost the key");
    }
}

/// Builds blocks of 1 to 300 keys, chosen as in the test above. `build_into` fails as soon as one of the keys has no
/// slot.
#[test]
fn a_cuckoo_block_is_refused_as_soon_as_one_key_has_no_slot() {
    let policy = policy(FilterKind::Cuckoo, 17.0);
    let mut refused = None;
    for count in 1..=300 {
        let chosen: Vec<_> =
            hashes(1, count).iter().map(|hash| KeyHash::from_raw(!(hash.raw() >> 8))).collect();
        let mut buffer = vec![0; policy.encoded_len(count)];
        match policy.build_into(&chosen, &mut buffer) {
            Ok(_) => {
                assert!(chosen.iter().all(|hash| policy.may_match(&buffer, *hash)), "{count} keys");
            }
            Err(PolicyError::Full(full)) => refused = refused.or(Some((count, full.inserted))),
            Err(error) => panic!("{count} keys: {error}"),
        }
    }
    let (count, inserted) = refused.expect("some number of keys is refused");
    assert_eq!(inserted, count - 1);
}

#[test]
fn a_policy_is_shared_by_threads() {
    fn assert_shared<T: Send + Sync + Clone + 'static>() {}
    assert_shared::<FilterPolicy>();
    assert_shared::<PolicyError>();
}

/// Looks keys up in blocks of many sizes, a block of another policy, an empty slice, the block of one byte that
/// excludes no key (`[0]`), and two blocks with a damaged trailer.
#[test]
fn many_blocks_are_answered_like_one_after_the_other() {
    for kind in kinds() {
        let policy = policy(kind, 12.0);
        let mut blocks: Vec<Vec<u8>> =
            (0..150).map(|i| policy.build(&hashes(i, i as usize * i as usize % 700))).collect();
        let foreign =
            if kind == FilterKind::Bloom { FilterKind::Cuckoo } else { FilterKind::Bloom };
        blocks.push(FilterPolicy::builder(foreign).build().unwrap().build(&hashes(1, 50)));
        blocks.extend([vec![], vec![0], vec![255]]);
        let mut damaged = policy.build(&hashes(2, 50));
        *damaged.last_mut().unwrap() ^= 0xFF;
        blocks.push(damaged);
        for count in [0, 1, 15, 16, 17, 31, 32, 33, blocks.len()] {
            // Every second probe is for the first key of its block, if the block has keys.
            let probes: Vec<(&[u8], KeyHash)> = blocks[blocks.len() - count..]
                .iter()
                .enumerate()
                .map(|(i, block)| {
                    let owner = (blocks.len() - count + i) as u64;
                    (&block[..], hashes(if i % 2 == 0 { owner } else { 1_000 + owner }, 1)[0])
                })
                .collect();
            let mut found = Bitmap::new(7);
            policy.may_match_many(&probes, &mut found);
            assert_eq!(found.len(), count, "{kind}");
            for (i, (block, hash)) in probes.iter().enumerate() {
                assert_eq!(
                    found.get(i),
                    policy.may_match(block, *hash),
                    "{kind}, block {i} of {count}"
                );
            }
        }
    }
}
