//! Calls every function with NULL, zero, huge and misaligned arguments. scripts/check-capi also runs these tests under
//! AddressSanitizer.
#![allow(unsafe_code)]
// Each call passes arguments that a C program might pass, and the test checks the result.
#![allow(clippy::undocumented_unsafe_blocks)]

use std::ffi::{CStr, c_void};
use std::ptr::{null, null_mut};
use trommel_capi::Status::{self, *};
use trommel_capi::*;

/// Returns a misaligned pointer: one byte past `at`.
fn off<T>(at: *const T) -> *mut T {
    at.cast::<u8>().wrapping_add(1).cast::<T>().cast_mut()
}

fn message() -> String {
    unsafe { CStr::from_ptr(trommel_last_error()) }.to_str().unwrap().to_string()
}

/// Lengths in bytes that exceed `isize::MAX`, and are refused: the least one, and the largest `usize`.
const HUGE: [usize; 2] = [isize::MAX as usize + 1, usize::MAX];
/// Numbers of 64-bit words that take more than `isize::MAX` bytes. Multiplied by eight, the second number wraps to 8.
const HUGE_WORDS: [usize; 3] = [isize::MAX as usize / 8 + 1, (1 << 61) + 1, usize::MAX];

const KEY: &[u8] = b"anvil";

fn key() -> *const c_void {
    KEY.as_ptr().cast()
}

/// The arguments of the calls: a policy, a filter of one key, a view of the filter's frozen bytes, these bytes, and a
/// filter block that the policy built from the same key.
struct Kit {
    policy: *mut Policy,
    filter: *mut Owned,
    view: *mut View,
    frozen: Vec<u8>,
    block: Vec<u8>,
}

impl Kit {
    fn new() -> Self {
        let (mut policy, mut filter, mut view) = (null_mut(), null_mut(), null_mut());
        let (mut frozen, mut block) = (vec![0u8; 1 << 14], vec![0u8; 64]);
        let mut len = 0;
        unsafe {
            assert_eq!(trommel_policy_new(c"bloom".as_ptr(), 10.0, 7, &mut policy), TROMMEL_OK);
            assert_eq!(trommel_new(c"cuckoo".as_ptr(), 100, 0.01, 7, &mut filter), TROMMEL_OK);
            assert_eq!(trommel_insert_bytes(filter, key(), KEY.len()), TROMMEL_OK);
            let dst = frozen.as_mut_ptr().cast();
            assert_eq!(trommel_freeze(filter, dst, frozen.len(), &mut len), TROMMEL_OK);
            frozen.truncate(len);
            let opened = trommel_view_open(frozen.as_ptr().cast(), len, &mut view);
            assert_eq!(opened, TROMMEL_OK);
            let keys = [Slice { data: KEY.as_ptr(), len: KEY.len() }];
            let dst = block.as_mut_ptr().cast();
            let built = trommel_policy_build(policy, keys.as_ptr(), 1, dst, block.len(), &mut len);
            assert_eq!(built, TROMMEL_OK);
            block.truncate(len);
        }
        Self { policy, filter, view, frozen, block }
    }

    fn block(&self) -> *const c_void {
        self.block.as_ptr().cast()
    }
}

impl Drop for Kit {
    fn drop(&mut self) {
        unsafe {
            // The refused calls changed nothing.
            let mut found = false;
            for answer in [
                trommel_contains_bytes(self.filter, key(), KEY.len(), &mut found),
                trommel_view_contains_bytes(self.view, key(), KEY.len(), &mut found),
                trommel_policy_verify(self.policy, self.block(), self.block.len()),
            ] {
                assert_eq!(answer, TROMMEL_OK);
            }
            assert!(found && trommel_len(self.filter) == 1);
            trommel_policy_free(self.policy);
            trommel_free(self.filter);
            trommel_view_free(self.view);
        }
    }
}

/// Checks that a function refuses to store a new handle at a NULL or misaligned address.
fn makes_a_handle<T>(make: impl Fn(*mut *mut T) -> Status) {
    let slot = [null_mut::<T>(); 2];
    assert_eq!(make(null_mut()), TROMMEL_NULL_ARGUMENT);
    assert_eq!(make(off(slot.as_ptr())), TROMMEL_MISALIGNED);
}

/// Checks that a function refuses a handle that is NULL or misaligned.
fn takes_a_handle<T>(handle: *const T, call: impl Fn(*mut T) -> Status) {
    assert_eq!(call(null_mut()), TROMMEL_NULL_ARGUMENT);
    assert!(message().ends_with("is NULL"), "{}", message());
    assert_eq!(call(off(handle)), TROMMEL_MISALIGNED);
}

/// Checks that a function refuses impossible ranges of bytes, and returns `empty` if the length is 0, at any address.
fn takes_bytes(empty: Status, call: impl Fn(*const c_void, usize) -> Status) {
    for at in [null(), key(), off(key())] {
        assert_eq!(call(at, 0), empty);
    }
    assert_eq!(call(null(), 1), TROMMEL_NULL_ARGUMENT);
    for len in HUGE {
        assert_eq!(call(key(), len), TROMMEL_TOO_LONG);
        assert_eq!(call(null(), len), TROMMEL_NULL_ARGUMENT);
    }
    // A range that goes past the end of the address space.
    assert_eq!(call(std::ptr::without_provenance(usize::MAX - 8), 100), TROMMEL_TOO_LONG);
}

/// Checks that a function refuses impossible arrays of words.
fn takes_words(call: impl Fn(*mut u64, usize) -> Status) {
    let words = [1u64, 2, 3];
    for at in [null(), words.as_ptr(), off(words.as_ptr()).cast_const()] {
        assert_eq!(call(at.cast_mut(), 0), TROMMEL_OK);
    }
    assert_eq!(call(null_mut(), 1), TROMMEL_NULL_ARGUMENT);
    assert_eq!(call(off(words.as_ptr()), 2), TROMMEL_MISALIGNED);
    for n in HUGE_WORDS {
        assert_eq!(call(words.as_ptr().cast_mut(), n), TROMMEL_TOO_LONG);
    }
}

/// Checks what a function does with the address of its result: it returns `null_is` for NULL, and refuses a misaligned
/// address.
fn writes_a_value<T: Default>(null_is: Status, call: impl Fn(*mut T) -> Status) {
    assert_eq!(call(null_mut()), null_is);
    if align_of::<T>() > 1 {
        let values = [T::default(), T::default()];
        assert_eq!(call(off(values.as_ptr())), TROMMEL_MISALIGNED);
    }
}

/// Checks that a function refuses a NULL or misaligned address for the answers of three hashes.
fn writes_words(call: impl Fn(*mut u64) -> Status) {
    let words = [0u64; 2];
    assert_eq!(call(null_mut()), TROMMEL_NULL_ARGUMENT);
    assert_eq!(call(off(words.as_ptr())), TROMMEL_MISALIGNED);
}

/// Checks that a function refuses texts that name no kind of filter.
fn takes_a_kind(call: impl Fn(*const std::ffi::c_char) -> Status) {
    assert_eq!(call(null()), TROMMEL_NULL_ARGUMENT);
    let endless = [b'x'; 64];
    for text in [c"", c"Bloom", c"bl\xffoom", c"bloom "] {
        assert_eq!(call(text.as_ptr()), TROMMEL_UNKNOWN_KIND, "{text:?}");
    }
    // A text without a NUL: no byte after the first 64 is read.
    assert_eq!(call(endless.as_ptr().cast()), TROMMEL_UNKNOWN_KIND);
    assert!(message().contains("no NUL"), "{}", message());
}

type LookHashesUp<T> = unsafe extern "C" fn(*const T, *const u64, usize, *mut u64) -> Status;

/// Checks a function that looks up keys by their hashes.
fn looks_hashes_up<T>(handle: *const T, look: LookHashesUp<T>) {
    let mut words = [5u64; 4];
    let found = words.as_mut_ptr();
    takes_a_handle(handle, |h| unsafe { look(h, [1].as_ptr(), 1, found) });
    takes_words(|at, n| unsafe { look(handle, at, n, found) });
    let hashes = [1u64, 2, 3];
    writes_words(|at| unsafe { look(handle, hashes.as_ptr(), 3, at) });
    assert_eq!(unsafe { look(handle, found, 3, found) }, TROMMEL_OVERLAP);
}

type LookBytesUp<T> = unsafe extern "C" fn(*const T, *const c_void, usize, *mut bool) -> Status;

/// Checks a function that looks a key up.
fn looks_bytes_up<T>(handle: *const T, look: LookBytesUp<T>) {
    takes_a_handle(handle, |h| unsafe { look(h, key(), KEY.len(), &mut { false }) });
    takes_bytes(TROMMEL_OK, |at, n| unsafe {
        let mut found = false;
        let status = look(handle, at, n, &mut found);
        assert!(found || status == TROMMEL_OK);
        status
    });
    writes_a_value::<bool>(TROMMEL_NULL_ARGUMENT, |at| unsafe {
        look(handle, key(), KEY.len(), at)
    });
}

type HashBytes<T> = unsafe extern "C" fn(*const T, *const c_void, usize) -> u64;

/// Checks a function that hashes a key: it returns 0 for refused arguments, and the hash of the filter for others.
fn hashes_bytes<T>(kit: &Kit, handle: *const T, hash: HashBytes<T>) {
    let len = KEY.len();
    unsafe {
        assert_eq!(hash(null(), key(), len), 0);
        assert_eq!(hash(off(handle), key(), len), 0);
        assert_eq!(hash(handle, null(), 1), 0);
        assert_eq!(hash(handle, null(), 0), hash(handle, key(), 0));
        for huge in HUGE {
            assert_eq!(hash(handle, key(), huge), 0);
        }
        assert_eq!(hash(handle, key(), len), trommel_hash_bytes(kit.filter, key(), len));
    }
}

type Case = (&'static str, fn(&Kit));

const CASES: &[Case] = &[
    ("trommel_abi_version", |_| assert_eq!(trommel_abi_version(), TROMMEL_ABI_VERSION)),
    ("trommel_version", |_| {
        let version = unsafe { CStr::from_ptr(trommel_version()) };
        assert_eq!(version.to_str(), Ok(env!("CARGO_PKG_VERSION")));
    }),
    ("trommel_last_error", |_| assert!(!trommel_last_error().is_null())),
    ("trommel_policy_new", |_| {
        let mut made = null_mut();
        let new = trommel_policy_new;
        makes_a_handle(|at| unsafe { new(c"bloom".as_ptr(), 10.0, 0, at) });
        takes_a_kind(|kind| unsafe { new(kind, 10.0, 0, &mut { null_mut() }) });
        for bits in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e300, 65.0] {
            made = std::ptr::dangling_mut();
            assert_eq!(unsafe { new(c"bloom".as_ptr(), bits, 0, &mut made) }, TROMMEL_SPEC);
            assert!(made.is_null());
        }
        let counting = unsafe { new(c"counting-bloom".as_ptr(), 10.0, u64::MAX, &mut made) };
        assert_eq!(counting, TROMMEL_SPEC);
    }),
    ("trommel_policy_free", |kit| unsafe {
        trommel_policy_free(null_mut());
        trommel_policy_free(off(kit.policy));
    }),
    ("trommel_policy_name", |kit| unsafe {
        assert!(trommel_policy_name(null()).is_null());
        assert!(trommel_policy_name(off(kit.policy)).is_null());
        let name = CStr::from_ptr(trommel_policy_name(kit.policy));
        assert_eq!(name, c"trommel.1.bloom.xxh3.0000000000000007");
    }),
    ("trommel_policy_size", |kit| unsafe {
        assert_eq!(trommel_policy_size(null(), 1), usize::MAX);
        assert_eq!(trommel_policy_size(off(kit.policy), 1), usize::MAX);
        assert_eq!(trommel_policy_size(kit.policy, usize::MAX), usize::MAX);
        assert_eq!(trommel_policy_size(kit.policy, 18), 24);
        assert!(trommel_policy_size(kit.policy, 0) < 8);
    }),
    ("trommel_policy_build", |kit| {
        let (mut block, len) = ([0u8; 64], 64);
        let dst = block.as_mut_ptr().cast::<c_void>();
        let build = trommel_policy_build;
        let keys = [Slice { data: KEY.as_ptr(), len: KEY.len() }; 2];
        takes_a_handle(kit.policy, |p| unsafe { build(p, keys.as_ptr(), 2, dst, len, null_mut()) });
        writes_a_value(TROMMEL_OK, |at| unsafe {
            build(kit.policy, keys.as_ptr(), 2, dst, len, at)
        });
        unsafe {
            assert_eq!(build(kit.policy, null(), 0, dst, len, null_mut()), TROMMEL_OK);
            assert_eq!(build(kit.policy, null(), 1, dst, len, null_mut()), TROMMEL_NULL_ARGUMENT);
            let beside = off(keys.as_ptr());
            assert_eq!(build(kit.policy, beside, 1, dst, len, null_mut()), TROMMEL_MISALIGNED);
            for n in [isize::MAX as usize / 16 + 1, (1 << 60) + 1, usize::MAX] {
                let built = build(kit.policy, keys.as_ptr(), n, dst, len, null_mut());
                assert_eq!(built, TROMMEL_TOO_LONG);
            }
            let (dst, none) = (null_mut(), null_mut());
            assert_eq!(build(kit.policy, keys.as_ptr(), 1, dst, len, none), TROMMEL_NULL_ARGUMENT);
        }
        for huge in HUGE {
            let built = unsafe { build(kit.policy, keys.as_ptr(), 1, dst, huge, null_mut()) };
            assert_eq!(built, TROMMEL_TOO_LONG);
        }
        let mut written = 0;
        for capacity in 0..3 {
            let built = unsafe { build(kit.policy, keys.as_ptr(), 2, dst, capacity, &mut written) };
            assert_eq!(built, TROMMEL_BUFFER_TOO_SMALL);
            assert_eq!(written, unsafe { trommel_policy_size(kit.policy, 2) });
        }
        // The first key is valid. The second key gets each address and length that `takes_bytes` tries.
        takes_bytes(TROMMEL_OK, |data, n| unsafe {
            let keys = [keys[0], Slice { data: data.cast(), len: n }];
            build(kit.policy, keys.as_ptr(), 2, dst, len, &mut { 0 })
        });
    }),
    ("trommel_policy_build_hashes", |kit| {
        let (mut block, len) = ([0u64; 8], 64);
        let dst = block.as_mut_ptr().cast::<c_void>();
        let (build, hashes) = (trommel_policy_build_hashes, [1u64, 2]);
        takes_a_handle(kit.policy, |p| unsafe {
            build(p, hashes.as_ptr(), 2, dst, len, null_mut())
        });
        writes_a_value(TROMMEL_OK, |at| unsafe {
            build(kit.policy, hashes.as_ptr(), 2, dst, len, at)
        });
        takes_words(|at, n| unsafe { build(kit.policy, at, n, dst, len, null_mut()) });
        for huge in HUGE {
            let built = unsafe { build(kit.policy, hashes.as_ptr(), 2, dst, huge, null_mut()) };
            assert_eq!(built, TROMMEL_TOO_LONG);
        }
        let built = unsafe { build(kit.policy, hashes.as_ptr(), 2, null_mut(), 0, &mut { 0 }) };
        assert_eq!(built, TROMMEL_BUFFER_TOO_SMALL);
        let built = unsafe { build(kit.policy, dst.cast::<u64>(), 8, dst, len, null_mut()) };
        assert_eq!(built, TROMMEL_OVERLAP);
    }),
    ("trommel_policy_hash", |kit| hashes_bytes(kit, kit.policy, trommel_policy_hash)),
    ("trommel_policy_may_match", |kit| unsafe {
        let (may, block, len) = (trommel_policy_may_match, kit.block(), kit.block.len());
        let absent = c"bellows".as_ptr().cast::<c_void>();
        assert_eq!(trommel_policy_verify(null(), block, len), TROMMEL_NULL_ARGUMENT);
        let before = message();
        assert!(may(kit.policy, key(), KEY.len(), block, len));
        assert!(!may(kit.policy, absent, 7, block, len));
        for policy in [null(), off(kit.policy).cast_const()] {
            assert!(may(policy, absent, 7, block, len));
        }
        for (at, n) in [(null(), 1), (absent, HUGE[0]), (absent, HUGE[1])] {
            assert!(may(kit.policy, at, n, block, len), "{at:?} {n}");
        }
        for (at, n) in [(null(), 9), (block, 0), (null(), 0), (block, HUGE[0]), (block, HUGE[1])] {
            assert!(may(kit.policy, absent, 7, at, n), "{at:?} {n}");
        }
        // Lookups do not change the last error's message.
        assert_eq!(message(), before);
    }),
    ("trommel_policy_may_match_hash", |kit| unsafe {
        let (may, block, len) = (trommel_policy_may_match_hash, kit.block(), kit.block.len());
        let absent = trommel_policy_hash(kit.policy, c"bellows".as_ptr().cast(), 7);
        assert!(!may(kit.policy, absent, block, len));
        for policy in [null(), off(kit.policy).cast_const()] {
            assert!(may(policy, absent, block, len));
        }
        for (at, n) in [(null(), 9), (block, 0), (null(), 0), (block, HUGE[0]), (block, HUGE[1])] {
            assert!(may(kit.policy, absent, at, n), "{at:?} {n}");
        }
    }),
    ("trommel_policy_verify", |kit| {
        let verify = trommel_policy_verify;
        takes_a_handle(kit.policy, |p| unsafe { verify(p, kit.block(), kit.block.len()) });
        takes_bytes(TROMMEL_FORMAT, |at, n| unsafe { verify(kit.policy, at, n) });
    }),
    ("trommel_new", |_| {
        let (new, mut made) = (trommel_new, null_mut());
        makes_a_handle(|at| unsafe { new(c"bloom".as_ptr(), 1, 0.01, 0, at) });
        takes_a_kind(|kind| unsafe { new(kind, 1, 0.01, 0, &mut { null_mut() }) });
        for fpr in [0.0, 1.0, -1.0, f64::NAN, f64::INFINITY, 1e-300] {
            made = std::ptr::dangling_mut();
            let status = unsafe { new(c"split-block-bloom".as_ptr(), 10, fpr, 0, &mut made) };
            assert_eq!(status, TROMMEL_SPEC, "{fpr}");
            assert!(made.is_null());
        }
        for kind in trommel::FilterKind::ALL {
            let kind = std::ffi::CString::new(kind.name()).unwrap();
            for keys in [u64::MAX, u64::MAX / 2, 1 << 60, 1 << 50] {
                let status = unsafe { new(kind.as_ptr(), keys, 0.01, 0, &mut made) };
                let refused = status == TROMMEL_SPEC || status == TROMMEL_MEMORY;
                assert!(refused && made.is_null(), "{kind:?} {keys} {status:?}");
            }
            assert_eq!(unsafe { new(kind.as_ptr(), 0, 0.03, 0, &mut made) }, TROMMEL_OK);
            unsafe { trommel_free(made) };
        }
    }),
    ("trommel_thaw", |kit| {
        makes_a_handle(|at| unsafe {
            trommel_thaw(kit.frozen.as_ptr().cast(), kit.frozen.len(), at)
        });
        takes_bytes(TROMMEL_FORMAT, |at, n| unsafe { trommel_thaw(at, n, &mut { null_mut() }) });
    }),
    ("trommel_free", |kit| unsafe {
        trommel_free(null_mut());
        trommel_free(off(kit.filter));
    }),
    ("trommel_hash_bytes", |kit| hashes_bytes(kit, kit.filter, trommel_hash_bytes)),
    ("trommel_insert_hashes", |kit| {
        let insert = trommel_insert_hashes;
        takes_a_handle(kit.filter, |f| unsafe { insert(f, [1].as_ptr(), 1, null_mut()) });
        takes_words(|at, n| unsafe { insert(kit.filter, at, n, null_mut()) });
        writes_a_value(TROMMEL_OK, |at| unsafe { insert(kit.filter, null(), 0, at) });
    }),
    ("trommel_contains_hashes", |kit| looks_hashes_up(kit.filter, trommel_contains_hashes)),
    ("trommel_insert_bytes", |kit| {
        let insert = trommel_insert_bytes;
        takes_a_handle(kit.filter, |f| unsafe { insert(f, key(), KEY.len()) });
        takes_bytes(TROMMEL_OK, |at, n| unsafe {
            let status = insert(kit.filter, at, n);
            if status == TROMMEL_OK {
                assert_eq!(trommel_remove_bytes(kit.filter, at, n, null_mut()), TROMMEL_OK);
            }
            status
        });
    }),
    ("trommel_contains_bytes", |kit| looks_bytes_up(kit.filter, trommel_contains_bytes)),
    ("trommel_remove_bytes", |kit| {
        let remove = trommel_remove_bytes;
        takes_a_handle(kit.filter, |f| unsafe { remove(f, key(), KEY.len(), null_mut()) });
        takes_bytes(TROMMEL_OK, |at, n| unsafe { remove(kit.filter, at, n, &mut { true }) });
        writes_a_value::<bool>(TROMMEL_OK, |at| unsafe { remove(kit.filter, null(), 0, at) });
    }),
    ("trommel_merge", |kit| {
        let merge = trommel_merge;
        takes_a_handle(kit.filter, |f| unsafe { merge(f, kit.filter) });
        takes_a_handle(kit.filter, |f| unsafe { merge(kit.filter, f) });
        assert_eq!(unsafe { merge(kit.filter, kit.filter) }, TROMMEL_OVERLAP);
        let mut other = null_mut();
        for (kind, seed) in [(c"cuckoo", 8), (c"bloom", 7)] {
            unsafe {
                assert_eq!(trommel_new(kind.as_ptr(), 100, 0.01, seed, &mut other), TROMMEL_OK);
                assert_eq!(merge(kit.filter, other), TROMMEL_INCOMPATIBLE, "{}", message());
                trommel_free(other);
            }
        }
    }),
    ("trommel_len", |kit| unsafe {
        assert_eq!(trommel_len(null()), 0);
        assert_eq!(trommel_len(off(kit.filter)), 0);
        assert_eq!(trommel_len(kit.filter), 1);
    }),
    ("trommel_frozen_size", |kit| unsafe {
        assert_eq!(trommel_frozen_size(null()), 0);
        assert_eq!(trommel_frozen_size(off(kit.filter)), 0);
        assert_eq!(trommel_frozen_size(kit.filter), kit.frozen.len());
    }),
    ("trommel_freeze", |kit| {
        let (freeze, mut bytes) = (trommel_freeze, vec![0u8; kit.frozen.len()]);
        let (dst, len) = (bytes.as_mut_ptr().cast::<c_void>(), bytes.len());
        takes_a_handle(kit.filter, |f| unsafe { freeze(f, dst, len, null_mut()) });
        writes_a_value(TROMMEL_OK, |at| unsafe { freeze(kit.filter, dst, len, at) });
        let mut written = 1;
        for capacity in [0, len - 1] {
            let status = unsafe { freeze(kit.filter, dst, capacity, &mut written) };
            assert_eq!((status, written), (TROMMEL_BUFFER_TOO_SMALL, len));
        }
        for huge in HUGE {
            let status = unsafe { freeze(kit.filter, dst, huge, &mut written) };
            assert_eq!((status, written), (TROMMEL_TOO_LONG, 0));
        }
        let status = unsafe { freeze(kit.filter, null_mut(), len, &mut written) };
        assert_eq!(status, TROMMEL_NULL_ARGUMENT);
    }),
    ("trommel_view_open", |kit| {
        let open = trommel_view_open;
        makes_a_handle(|at| unsafe { open(kit.frozen.as_ptr().cast(), kit.frozen.len(), at) });
        takes_bytes(TROMMEL_FORMAT, |at, n| unsafe { open(at, n, &mut { null_mut() }) });
        // Frozen bytes may have any alignment.
        for offset in 0..9 {
            let moved = [vec![0; offset], kit.frozen.clone()].concat();
            let (mut view, mut found) = (null_mut(), false);
            unsafe {
                let frozen = moved.as_ptr().add(offset).cast();
                assert_eq!(open(frozen, kit.frozen.len(), &mut view), TROMMEL_OK);
                let look = trommel_view_contains_bytes(view, key(), KEY.len(), &mut found);
                assert!(look == TROMMEL_OK && found);
                trommel_view_free(view);
            }
        }
    }),
    ("trommel_view_free", |kit| unsafe {
        trommel_view_free(null_mut());
        trommel_view_free(off(kit.view));
    }),
    ("trommel_view_contains_bytes", |kit| looks_bytes_up(kit.view, trommel_view_contains_bytes)),
    ("trommel_view_contains_hashes", |kit| looks_hashes_up(kit.view, trommel_view_contains_hashes)),
    ("trommel_view_hash_bytes", |kit| hashes_bytes(kit, kit.view, trommel_view_hash_bytes)),
];

#[test]
fn every_function_refuses_null_misaligned_and_impossible_arguments() {
    for (name, case) in CASES {
        println!("{name}");
        case(&Kit::new());
    }
}

#[test]
fn every_function_of_the_header_has_a_case() {
    let header = include_str!("../include/trommel.h");
    let mut declared: Vec<&str> = header
        .lines()
        .filter(|line| !line.starts_with("//") && !line.starts_with("   "))
        .filter_map(|line| line.split_once('(')?.0.rsplit([' ', '*']).next())
        .filter(|name| name.starts_with("trommel_"))
        .collect();
    let mut tested: Vec<&str> = CASES.iter().map(|(name, _)| *name).collect();
    declared.sort_unstable();
    tested.sort_unstable();
    assert_eq!(declared, tested);
}
