//! Frozen filters: bytes that were written are read back as the same filter, and damaged bytes are refused.

use super::{answers, answers_singly, fill, room_for, that_fit};
use crate::Splitmix;
use crate::streams::Stream;
use crate::subject::{Room, Subject, built, spec, with_hasher};
use trommel_base::container::{HEADER_BYTES, MAGIC, VERSION};
use trommel_base::{Filter, Hasher, Insert, KeyHash, Spec};
use trommel_simd::Isa;

/// The number of keys in the filters whose bytes are damaged.
const FEW: usize = 20;

/// The spec of the filter whose frozen bytes have the golden digest: 200 keys at 1 %, XXH3 with seed 0x5EED.
#[must_use]
pub fn golden_spec(isa: Isa) -> Spec {
    with_hasher(spec(200, 0.01, isa), Hasher::xxh3(0x5EED))
}

/// The keys of the golden digest: the integers from 0 to 199 as `u64`.
pub fn golden_keys() -> impl Iterator<Item = u64> {
    0..200
}

/// A filter with up to `keys` keys of the stream [`Stream::Zipf`], and these keys.
fn sample<S: Subject>(keys: usize) -> (S::Filter, Vec<KeyHash>) {
    let hasher = Hasher::xxh3(0xABCD);
    let mut filter =
        built::<S>(&with_hasher(spec(room_for::<S>(keys), 0.01, Isa::Portable), hasher));
    let hashes = that_fit::<S>(Stream::Zipf.hashes(77, keys));
    fill::<S>(&mut filter, &hashes);
    (filter, hashes)
}

/// The digest of the golden filter is the one that was committed: format, hash function and layout must never change. A
/// failure here can mean that filters written by earlier versions can no longer be read, or are read but give wrong
/// answers. (It can also mean that the same spec now gives another size.)
pub fn golden_digest_is_unchanged<S: Subject>(isa: Isa) {
    let mut filter = built::<S>(&golden_spec(isa));
    for key in golden_keys() {
        filter.insert(&key).unwrap();
    }
    let digest = xxhash_rust::xxh3::xxh3_64(&S::to_bytes(&filter));
    assert!(
        digest == S::GOLDEN,
        "the golden digest is {:#018x}, the bytes now have {digest:#018x}",
        S::GOLDEN
    );
}

/// A filter that is read from frozen bytes has the same bytes and answers as the filter that was written, whatever its
/// size.
pub fn frozen_bytes_come_back_the_same<S: Subject>() {
    for keys in [0, 1, FEW, 777, 5000] {
        let (filter, hashes) = sample::<S>(keys);
        let bytes = S::to_bytes(&filter);
        assert_eq!(bytes, S::to_bytes(&filter), "freezing twice gave different bytes");
        let mut written = Vec::new();
        S::write_to(&filter, &mut written).unwrap();
        assert!(written == bytes, "write_to and to_bytes differ");
        assert!(
            S::write_to(&filter, &mut &mut [0u8; 100][..]).is_err(),
            "a full writer made no error"
        );

        let mut read = S::from_bytes(&bytes).unwrap();
        assert!(S::to_bytes(&read) == bytes, "{keys} keys: the bytes change when read and written");
        assert_alike(&filter, &read, &hashes);
        // The filter that was read takes more keys in the same way as the filter that was written.
        let more = Stream::Random.hashes(5, 300);
        let mut filter = filter;
        let outcome = filter.insert_batch(&more);
        assert!(outcome.is_ok() || S::ROOM != Room::Endless);
        assert_eq!(read.insert_batch(&more), outcome);
        assert!(
            S::to_bytes(&read) == S::to_bytes(&filter),
            "{keys} keys: {} more make other bytes in the filter that was read",
            more.len()
        );
    }
}

fn assert_alike(one: &impl Filter, other: &impl Filter, members: &[KeyHash]) {
    assert_eq!((one.len(), one.is_empty()), (other.len(), other.is_empty()));
    assert_eq!(one.memory_bytes(), other.memory_bytes());
    assert_eq!(one.bits_per_key().to_bits(), other.bits_per_key().to_bits());
    assert_eq!(one.expected_fpr().to_bits(), other.expected_fpr().to_bits());
    assert_eq!(one.hasher(), other.hasher());
    let mut probes = members.to_vec();
    Stream::ALL.iter().for_each(|stream| probes.extend(stream.hashes(8, 300)));
    let expected = answers(one, &probes);
    assert!(members.iter().enumerate().all(|(i, _)| expected.get(i)));
    assert_eq!(answers(other, &probes), expected);
    assert_eq!(answers_singly(other, &probes), expected);
}

/// A buffer that contains a copy of `bytes`, and the range of the copy, which begins `offset` bytes after an address
/// that is a multiple of 64.
fn misaligned(bytes: &[u8], offset: usize) -> (Vec<u8>, core::ops::Range<usize>) {
    let mut buffer = vec![0xEE; bytes.len() + 2 * 64];
    let start = buffer.as_ptr().align_offset(64) + offset;
    let range = start..start + bytes.len();
    buffer[range.clone()].copy_from_slice(bytes);
    (buffer, range)
}

/// A view of bytes at any address gives the same answers as the filter that was frozen to these bytes. An owned filter
/// that is read from that address writes the same bytes.
pub fn views_answer_alike_at_every_alignment<S: Subject>() {
    for keys in [0, 1, FEW, 777] {
        let (filter, hashes) = sample::<S>(keys);
        let bytes = S::to_bytes(&filter);
        for offset in (0..=8).chain([31, 32, 33, 63]) {
            let (buffer, range) = misaligned(&bytes, offset);
            assert_alike(&filter, &S::view(&buffer[range.clone()]).unwrap(), &hashes);
            assert!(S::to_bytes(&S::from_bytes(&buffer[range]).unwrap()) == bytes);
        }
    }
}

#[track_caller]
fn assert_refused<S: Subject>(bytes: &[u8], what: &str) {
    match S::from_bytes(bytes) {
        Err(error) => assert!(!error.to_string().is_empty()),
        Ok(filter) => panic!("{what}: bytes that must be refused were read as {filter:?}"),
    }
    assert!(S::view(bytes).is_err(), "{what}: bytes that must be refused were accepted as a view");
}

/// A container with one flipped bit is refused, whichever bit it is.
pub fn every_flipped_bit_is_refused<S: Subject>() {
    for keys in [0, FEW] {
        let mut bytes = S::to_bytes(&sample::<S>(keys).0);
        for bit in 0..bytes.len() * 8 {
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert_refused::<S>(&bytes, &format!("bit {bit} flipped"));
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        assert!(S::from_bytes(&bytes).is_ok());
    }
}

/// A container is refused if bytes are missing at its end, or if other bytes follow it.
pub fn every_truncation_and_extension_is_refused<S: Subject>() {
    let bytes = S::to_bytes(&sample::<S>(FEW).0);
    for len in 0..bytes.len() {
        assert_refused::<S>(&bytes[..len], &format!("the first {len} bytes"));
    }
    for extra in [1, 8, 63, 64, 1000] {
        let mut longer = bytes.clone();
        longer.resize(bytes.len() + extra, 0);
        assert_refused::<S>(&longer, &format!("{extra} bytes more"));
    }
    let twice = [&bytes[..], &bytes[..]].concat();
    assert_refused::<S>(&twice, "two containers");
}

/// Random bytes are refused, even if they begin with the right magic number and version. A container is also refused if
/// some of its bytes or its whole payload were replaced by random bytes, or if two of its bytes were exchanged.
pub fn garbage_is_refused<S: Subject>() {
    let mut random = Splitmix::new(0x6A6B);
    let good = S::to_bytes(&sample::<S>(FEW).0);
    for round in 0..20_000 {
        let mut bytes = match round % 4 {
            0 => random.bytes((round / 40) % 400),
            _ => good.clone(),
        };
        match round % 4 {
            // Noise after the right magic number and version.
            0 if bytes.len() >= 10 && round % 8 == 0 => {
                bytes[..8].copy_from_slice(&MAGIC);
                bytes[8..10].copy_from_slice(&VERSION.to_le_bytes());
            }
            // Noise in place of 1 to 16 adjacent bytes.
            1 => {
                let start = random.below(bytes.len() as u64) as usize;
                let len = (1 + random.below(16) as usize).min(bytes.len() - start);
                let noise = random.bytes(len);
                bytes[start..start + len].copy_from_slice(&noise);
            }
            // Noise instead of the payload.
            2 => {
                let noise = random.bytes(bytes.len() - HEADER_BYTES);
                bytes[HEADER_BYTES..].copy_from_slice(&noise);
            }
            // Two bytes exchanged.
            3 => {
                let [a, b] = [0, 0].map(|_| random.below(good.len() as u64) as usize);
                bytes.swap(a, b);
            }
            _ => {}
        }
        if bytes != good {
            assert_refused::<S>(&bytes, &format!("round {round}"));
        }
    }
}
