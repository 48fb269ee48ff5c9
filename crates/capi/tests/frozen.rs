//! C and Rust write the same bytes, and each reads the other's bytes.
#![allow(unsafe_code)]
// Every pointer is to a value of this test, and the value outlives the call.
#![allow(clippy::undocumented_unsafe_blocks)]

use std::ffi::{CStr, CString, c_void};
use std::process::Command;
use std::ptr::{null, null_mut};
use trommel::{
    AnyFilter, Filter, FilterKind, FilterPolicy, FilterSpec, FilterView, Insert, KeyHash,
};
use trommel_capi::Status::*;
use trommel_capi::*;

const KEYS: usize = 1000;
const SEED: u64 = 0x5eed;

fn keys() -> Vec<Vec<u8>> {
    // Keys of 2 to 280 bytes, since the hash function has a branch for each of several ranges of lengths.
    (0..KEYS).map(|i| format!("{i}-").repeat(1 + i % 70).into_bytes()).collect()
}

fn name(kind: FilterKind) -> CString {
    CString::new(kind.name()).unwrap()
}

/// Makes a filter of these keys through the C interface.
fn filter_by_c(kind: FilterKind, keys: &[Vec<u8>]) -> *mut Owned {
    let mut filter = null_mut();
    unsafe {
        let made = trommel_new(name(kind).as_ptr(), KEYS as u64, 0.03, SEED, &mut filter);
        assert_eq!(made, TROMMEL_OK);
        for key in keys {
            let status = trommel_insert_bytes(filter, key.as_ptr().cast(), key.len());
            assert_eq!(status, TROMMEL_OK);
        }
    }
    filter
}

fn freeze_by_c(filter: *const Owned) -> Vec<u8> {
    let mut bytes = vec![0xa5; unsafe { trommel_frozen_size(filter) }];
    let mut written = 0;
    let status =
        unsafe { trommel_freeze(filter, bytes.as_mut_ptr().cast(), bytes.len(), &mut written) };
    assert_eq!((status, written), (TROMMEL_OK, bytes.len()));
    bytes
}

#[test]
fn c_and_rust_freeze_a_filter_to_the_same_bytes() {
    let keys = keys();
    for &kind in FilterKind::ALL {
        let mut rust = FilterSpec::new(kind).keys(KEYS).fpr(0.03).seed(SEED).build().unwrap();
        for key in &keys {
            rust.insert(&key[..]).unwrap();
        }
        let c = filter_by_c(kind, &keys);
        let bytes = freeze_by_c(c);
        assert!(bytes == rust.to_bytes(), "{kind}: the frozen bytes differ");
        unsafe { trommel_free(c) };

        // Rust reads the bytes that C wrote.
        let view = FilterView::parse(&bytes).unwrap();
        assert!(keys.iter().all(|key| view.contains(&key[..])));
        assert_eq!(AnyFilter::from_bytes(&bytes).unwrap(), rust);

        // C reads the bytes that Rust wrote, as a view and as a thawed filter.
        let bytes = rust.to_bytes();
        let frozen = bytes.as_ptr().cast::<c_void>();
        let (mut view, mut thawed) = (null_mut(), null_mut());
        unsafe {
            assert_eq!(trommel_view_open(frozen, bytes.len(), &mut view), TROMMEL_OK);
            assert_eq!(trommel_thaw(frozen, bytes.len(), &mut thawed), TROMMEL_OK);
            assert!(freeze_by_c(thawed) == bytes);
            for i in 0..2 * KEYS {
                let absent = format!("absent {i}").into_bytes();
                let key = keys.get(i).unwrap_or(&absent);
                let (mut viewed, mut owned) = (false, false);
                let (at, len) = (key.as_ptr().cast(), key.len());
                assert_eq!(trommel_view_contains_bytes(view, at, len, &mut viewed), TROMMEL_OK);
                assert_eq!(trommel_contains_bytes(thawed, at, len, &mut owned), TROMMEL_OK);
                assert_eq!((viewed, owned), (rust.contains(&key[..]), viewed), "{kind} {i}");
            }
            trommel_view_free(view);
            trommel_free(thawed);
        }
    }
}

#[test]
fn a_batch_gives_the_answers_of_single_lookups() {
    let (keys, absent) = (keys(), (0..200_000u64).map(u64::to_le_bytes));
    for &kind in FilterKind::ALL {
        let filter = filter_by_c(kind, &[]);
        let mut hashes: Vec<u64> = keys
            .iter()
            .map(|key| unsafe { trommel_hash_bytes(filter, key.as_ptr().cast(), key.len()) })
            .collect();
        let mut inserted = 0;
        let status = unsafe { trommel_insert_hashes(filter, hashes.as_ptr(), KEYS, &mut inserted) };
        assert_eq!((status, inserted), (TROMMEL_OK, KEYS));

        let bytes = freeze_by_c(filter);
        let rust = AnyFilter::from_bytes(&bytes).unwrap();
        assert_eq!(unsafe { trommel_len(filter) }, rust.len() as u64);
        let mut view = null_mut();
        let opened = unsafe { trommel_view_open(bytes.as_ptr().cast(), bytes.len(), &mut view) };
        assert_eq!(opened, TROMMEL_OK);
        // A word has 64 answers, so the answers for 1, 63, 65 and 1000 keys end within a word. The two largest numbers
        // exceed 2^16, the number of keys that the library looks up at a time.
        hashes.extend(absent.clone().map(|key| rust.hash(&key).raw()));
        for n in [0, 1, 63, 64, 65, 1000, 1 << 16, (1 << 16) + 1, hashes.len()] {
            // Each vector has one word more than the answers take. This last word must not change.
            let (mut owned, mut viewed) =
                (vec![u64::MAX; n.div_ceil(64) + 1], vec![u64::MAX; n.div_ceil(64) + 1]);
            let hashes = &hashes[..n];
            let (at, to) = (hashes.as_ptr(), owned.as_mut_ptr());
            assert_eq!(unsafe { trommel_contains_hashes(filter, at, n, to) }, TROMMEL_OK);
            let to = viewed.as_mut_ptr();
            assert_eq!(unsafe { trommel_view_contains_hashes(view, at, n, to) }, TROMMEL_OK);
            assert!(owned == viewed);
            assert_eq!(owned.pop(), Some(u64::MAX));
            for bit in 0..owned.len() * 64 {
                let hash = hashes.get(bit).copied().map(KeyHash::from_raw);
                let expected = hash.is_some_and(|hash| rust.contains_hash(hash));
                assert_eq!(owned[bit / 64] >> (bit % 64) & 1 == 1, expected, "{kind} {n} {bit}");
            }
        }
        unsafe {
            trommel_view_free(view);
            trommel_free(filter);
        }
    }
}

#[test]
fn c_and_rust_build_the_same_filter_block() {
    let keys = keys();
    let slices: Vec<Slice> =
        keys.iter().map(|key| Slice { data: key.as_ptr(), len: key.len() }).collect();
    for &kind in FilterKind::ALL.iter().filter(|kind| **kind != FilterKind::CountingBloom) {
        let rust = FilterPolicy::builder(kind).bits_per_key(12.0).seed(SEED).build().unwrap();
        let hashes: Vec<KeyHash> = keys.iter().map(|key| rust.hash(&key[..])).collect();
        let raw: Vec<u64> = hashes.iter().map(|hash| hash.raw()).collect();
        let mut c = null_mut();
        let made = unsafe { trommel_policy_new(name(kind).as_ptr(), 12.0, SEED, &mut c) };
        assert_eq!(made, TROMMEL_OK);
        assert_eq!(unsafe { CStr::from_ptr(trommel_policy_name(c)) }.to_str(), Ok(rust.name()));
        for n in [0, 1, 18, 1000] {
            let expected = rust.build(&hashes[..n]);
            let size = unsafe { trommel_policy_size(c, n) };
            // The buffer is larger than needed.
            let mut block = vec![0xa5u8; size + 100];
            let (mut written, dst) = (0, block.as_mut_ptr().cast::<c_void>());
            for by_hashes in [false, true] {
                let status = unsafe {
                    if by_hashes {
                        let raw = raw.as_ptr();
                        trommel_policy_build_hashes(c, raw, n, dst, size + 100, &mut written)
                    } else {
                        let keys = slices.as_ptr();
                        trommel_policy_build(c, keys, n, dst, size + 100, &mut written)
                    }
                };
                assert_eq!((status, written), (TROMMEL_OK, size));
                assert!(block[..size] == expected, "{kind}: the blocks of {n} keys differ");
                assert!(block[size..].iter().all(|byte| *byte == 0xa5));
            }
            for (key, hash) in keys.iter().zip(&hashes) {
                let (at, len) = (key.as_ptr().cast(), key.len());
                let answers = unsafe {
                    [
                        trommel_policy_may_match(c, at, len, dst, size),
                        trommel_policy_may_match_hash(c, hash.raw(), dst, size),
                    ]
                };
                assert_eq!(answers, [rust.may_match(&expected, *hash); 2], "{kind} {n}");
            }
            assert_eq!(unsafe { trommel_policy_verify(c, dst, size) }, TROMMEL_OK);
            assert_eq!(rust.verify(&block[..size]), Ok(()));
        }
        unsafe { trommel_policy_free(c) };
    }
}

#[test]
fn a_merged_filter_holds_the_keys_of_both() {
    let keys = keys();
    for &kind in FilterKind::ALL {
        let (left, right) = (filter_by_c(kind, &keys[..400]), filter_by_c(kind, &keys[400..]));
        assert_eq!(unsafe { trommel_merge(left, right) }, TROMMEL_OK, "{kind}");
        let bytes = freeze_by_c(left);
        let merged = FilterView::parse(&bytes).unwrap();
        assert!(keys.iter().all(|key| merged.contains(&key[..])), "{kind}: a key is lost");
        unsafe {
            trommel_free(left);
            trommel_free(right);
        }
    }
}

#[test]
fn a_full_filter_reports_how_many_keys_were_inserted() {
    let filter = filter_by_c(FilterKind::Quotient, &[]);
    let hashes: Vec<u64> = (0..10_000u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
    let mut inserted = 0;
    let status =
        unsafe { trommel_insert_hashes(filter, hashes.as_ptr(), hashes.len(), &mut inserted) };
    assert_eq!(status, TROMMEL_FULL);
    assert!((KEYS..10_000).contains(&inserted), "{inserted} keys were inserted");
    assert_eq!(unsafe { trommel_len(filter) }, inserted as u64);
    unsafe { trommel_free(filter) };
}

#[test]
fn views_refuse_every_changed_byte() {
    let filter = filter_by_c(FilterKind::SplitBlockBloom, &keys()[..50]);
    let mut bytes = freeze_by_c(filter);
    unsafe { trommel_free(filter) };
    for i in 0..bytes.len() {
        bytes[i] ^= 0x10;
        let mut view = std::ptr::dangling_mut();
        let status = unsafe { trommel_view_open(bytes.as_ptr().cast(), bytes.len(), &mut view) };
        assert_eq!((status, view.is_null()), (TROMMEL_FORMAT, true), "changed byte {i}");
        bytes[i] ^= 0x10;
    }
}

/// A filter whose hash function has a secret key can be read only with this secret, which the C interface does not
/// take. The bytes of such a filter are not reported as damaged.
#[test]
fn a_filter_of_a_secret_key_is_refused_by_a_status_of_its_own() {
    for &kind in FilterKind::ALL {
        let hasher = trommel::Hasher::siphash13(*b"0123456789abcdef");
        let spec = FilterSpec::new(kind).keys(KEYS).fpr(0.03).hasher(hasher);
        let bytes = spec.build().unwrap().to_bytes();
        let frozen = bytes.as_ptr().cast::<c_void>();
        let (mut view, mut thawed) = (std::ptr::dangling_mut(), std::ptr::dangling_mut());
        unsafe {
            assert_eq!(trommel_view_open(frozen, bytes.len(), &mut view), TROMMEL_SECRET_KEY);
            let message = CStr::from_ptr(trommel_last_error()).to_str().unwrap();
            assert!(message.contains("secret key"), "{message}");
            assert_eq!(trommel_thaw(frozen, bytes.len(), &mut thawed), TROMMEL_SECRET_KEY);
        }
        assert!(view.is_null() && thawed.is_null());
    }
}

/// A process reads the environment variable `TROMMEL_ISA` only once, so the test starts another process, in which the
/// variable is set.
#[test]
fn an_unusable_instruction_set_is_never_reported_as_corruption() {
    let done = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "in_a_process_with_an_unusable_instruction_set", "--ignored"])
        .env("TROMMEL_ISA", "avx1024")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success() && text.contains("1 passed"), "{text}");
}

#[test]
#[ignore = "started by an_unusable_instruction_set_is_never_reported_as_corruption"]
fn in_a_process_with_an_unusable_instruction_set() {
    let frozen: &[u8] = &FilterSpec::new(FilterKind::Bloom)
        .isa(trommel::Isa::Portable)
        .keys(10)
        .build()
        .unwrap()
        .to_bytes();
    let (mut policy, mut filter, mut view) = (null_mut(), null_mut(), null_mut());
    unsafe {
        let kind = c"bloom".as_ptr();
        assert_eq!(trommel_policy_new(kind, 10.0, 0, &mut policy), TROMMEL_INSTRUCTION_SET);
        assert!(CStr::from_ptr(trommel_last_error()).to_str().unwrap().contains("portable"));
        assert_eq!(trommel_new(kind, 10, 0.01, 0, &mut filter), TROMMEL_INSTRUCTION_SET);
        assert!(policy.is_null() && filter.is_null());
        assert!(trommel_policy_may_match(policy, null(), 0, null(), 0));
        let opened = trommel_view_open(frozen.as_ptr().cast(), frozen.len(), &mut view);
        assert_eq!(opened, TROMMEL_OK);
        trommel_view_free(view);
    }
}
