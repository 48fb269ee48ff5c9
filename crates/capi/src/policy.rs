//! Filter blocks.

use crate::border::{self, Out};
use crate::guard;
use crate::status::{Failure, Status};
use std::ffi::{CString, c_char, c_void};
use trommel::{FilterPolicy, KeyHash, PolicyError};

/// Borrowed bytes: a key. `data` may be NULL if `len` is 0.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Slice {
    /// The first byte.
    pub data: *const u8,
    /// How many bytes.
    pub len: usize,
}

/// Builds and probes filter blocks: the filter of one block or file of data, of which a storage engine keeps the bytes
/// alone. Immutable, so any number of threads share one.
#[derive(Debug)]
pub struct Policy {
    policy: FilterPolicy,
    name: CString,
}

/// Makes a policy. `kind` is a NUL-terminated text: "bloom", "register-bloom", "split-block-bloom",
/// "cache-line-bloom", "quotient", "cache-line-quotient" or "cuckoo". `bits_per_key` is at most 64, and at least 1 for the
/// Bloom kinds, 3.29 for "quotient", 10.78 for "cache-line-quotient" and 8.43 for "cuckoo"; 10 is usual. Keys are hashed
/// by XXH3-64 with `seed`; a seed that nobody else knows protects from keys chosen to be false positives.
///
/// Ownership: `*policy` is the caller's, to be freed with `trommel_policy_free`. It is NULL on failure.
///
/// Thread safety: any thread, any time.
///
/// Errors: TROMMEL_NULL_ARGUMENT, TROMMEL_MISALIGNED, TROMMEL_UNKNOWN_KIND; TROMMEL_SPEC if the kind has no block form
/// ("counting-bloom") or cannot use as many bits per key; TROMMEL_INSTRUCTION_SET.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trommel_policy_new(
    kind: *const c_char,
    bits_per_key: f64,
    seed: u64,
    policy: *mut *mut Policy,
) -> Status {
    guard::status(|| {
        // SAFETY: the header asks the caller for an address of a pointer.
        let made = unsafe { Out::required("policy", policy) }?;
        made.put(std::ptr::null_mut());
        // SAFETY: the header asks the caller for a text that ends in a NUL.
        let kind = unsafe { border::kind("kind", kind) }?;
        let policy = FilterPolicy::builder(kind).bits_per_key(bits_per_key).seed(seed).build()?;
        // A name has no NUL, so this is never empty.
        let name = CString::new(policy.name()).unwrap_or_default();
        made.put(Box::into_raw(Box::new(Policy { policy, name })));
        Ok(())
    })
}

/// Frees a policy. Does nothing with NULL.
///
/// Thread safety: no other thread uses the policy during this call or after it. Filter blocks do not depend on it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trommel_policy_free(policy: *mut Policy) {
    guard::status(|| {
        // SAFETY: the header asks the caller for a policy that is not freed yet, and not used afterwards.
        unsafe { border::free(policy) };
        Ok(())
    });
}

/// Returns everything that decides whether a policy reads a block: format version, kind, hash and seed, as ASCII of at
/// most 64 bytes and a NUL, for example "trommel.1.bloom.xxh3.0000000000000000". An engine stores it beside its blocks
/// and probes them only with a policy of the same name. Bits per key are not in it. NULL if `policy` is refused.
///
/// Ownership: the policy's; valid until it is freed. Thread safety: any number of threads at once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trommel_policy_name(policy: *const Policy) -> *const c_char {
    // SAFETY: the header asks the caller for a policy that is not freed yet.
    let name = guard::value(|| Ok(unsafe { border::handle("policy", policy) }?.name.as_ptr()));
    name.unwrap_or(std::ptr::null())
}

/// Returns the bytes of a block of `keys` keys, exactly. SIZE_MAX if one block cannot hold as many, or `policy` is refused.
///
/// Thread safety: any number of threads at once. Allocates nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trommel_policy_size(policy: *const Policy, keys: usize) -> usize {
    // SAFETY: the header asks the caller for a policy that is not freed yet.
    guard::value(|| Ok(unsafe { border::handle("policy", policy) }?.policy.encoded_len(keys)))
        .unwrap_or(usize::MAX)
}

/// Builds the filter block of `n` keys into `dst`, which has room for `capacity` bytes; at most
/// `trommel_policy_size(policy, n)` are written. `keys` may be NULL if `n` is 0. A key may occur more than once: a
/// block is a set. But every occurrence counts for its size, so give keys once.
///
/// `*written` is the length of the block. After TROMMEL_BUFFER_TOO_SMALL it is the length that the buffer needs, after
/// any other failure 0. `written` may be NULL.
///
/// After a failure, `dst` may have been written to in part. An engine then stores a block of no bytes: it excludes no key.
///
/// Ownership: keys and buffer are the caller's; nothing is kept. Takes 8 bytes of memory for each key meanwhile.
///
/// Thread safety: any number of threads at once, each with a buffer of its own.
///
/// Errors: TROMMEL_NULL_ARGUMENT, TROMMEL_MISALIGNED, TROMMEL_TOO_LONG, TROMMEL_BUFFER_TOO_SMALL,
/// TROMMEL_TOO_MANY_KEYS, TROMMEL_MEMORY; TROMMEL_FULL if keys of a filter with slots find no room, which happens with
/// keys that an adversary chose.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trommel_policy_build(
    policy: *const Policy,
    keys: *const Slice,
    n: usize,
    dst: *mut c_void,
    capacity: usize,
    written: *mut usize,
) -> Status {
    guard::status(|| {
        // SAFETY: the header asks the caller for an address of a size, or NULL.
        let written = unsafe { Out::optional("written", written) }?;
        written.put(0);
        // SAFETY: the header asks the caller for a policy that is not freed yet.
        let policy = &unsafe { border::handle("policy", policy) }?.policy;
        // SAFETY: the header asks the caller for `n` keys, that nobody changes meanwhile.
        let keys = unsafe { border::array("keys", keys, n) }?;
        room_for_block(policy, n, capacity, &written)?;
        // SAFETY: as above; each key has as many bytes as it says.
        let hashes = unsafe { hash_all(policy, keys) }?;
        // SAFETY: the header asks the caller for room for `capacity` bytes, that nobody else uses meanwhile. The keys
        // are not read any more, so it does not matter if they are in it.
        let block = unsafe { border::buffer("dst", dst.cast::<u8>(), capacity, &hashes) }?;
        written.put(policy.build_into(&hashes, block)?);
        Ok(())
    })
}

/// Builds the filter block of `n` keys from their hashes, as `trommel_policy_hash` makes them: for engines that hash
/// each key once for several blocks, or whose keys are not in an array of `trommel_slice`. Otherwise as
/// `trommel_policy_build`, and without memory of its own for the Bloom kinds.
///
/// Thread safety: any number of threads at once, each with a buffer of its own.
///
/// Errors: as `trommel_policy_build`; TROMMEL_OVERLAP if `dst` and `hashes` have memory in common.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trommel_policy_build_hashes(
    policy: *const Policy,
    hashes: *const u64,
    n: usize,
    dst: *mut c_void,
    capacity: usize,
    written: *mut usize,
) -> Status {
    guard::status(|| {
        // SAFETY: the header asks the caller for an address of a size, or NULL.
        let written = unsafe { Out::optional("written", written) }?;
        written.put(0);
        // SAFETY: the header asks the caller for a policy that is not freed yet.
        let policy = &unsafe { border::handle("policy", policy) }?.policy;
        // SAFETY: the header asks the caller for `n` hashes, that nobody changes meanwhile.
        let hashes = unsafe { border::array("hashes", hashes, n) }?;
        room_for_block(policy, n, capacity, &written)?;
        // SAFETY: the header asks the caller for room for `capacity` bytes, that nobody else uses meanwhile.
        let block = unsafe { border::buffer("dst", dst.cast::<u8>(), capacity, hashes) }?;
        written.put(policy.build_into(KeyHash::slice_from_raw(hashes), block)?);
        Ok(())
    })
}

/// Returns the hash of a key. It depends on key and seed alone: policies and filters of the same seed have the same
/// hashes. `key` may be NULL if `len` is 0. Returns 0 if an argument is refused.
///
/// Thread safety: any number of threads at once. Allocates nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trommel_policy_hash(
    policy: *const Policy,
    key: *const c_void,
    len: usize,
) -> u64 {
    guard::value(|| {
        // SAFETY: the header asks the caller for a policy that is not freed yet.
        let policy = &unsafe { border::handle("policy", policy) }?.policy;
        // SAFETY: the header asks the caller for `len` bytes, that nobody changes meanwhile.
        Ok(policy.hash(unsafe { border::bytes("key", key, len) }?).raw())
    })
    .unwrap_or(0)
}

/// Returns false if a key is certainly not among those of a filter block, and true if it may be. True for whatever is no
/// block of this policy: no bytes, bytes of another kind, a NULL or otherwise impossible argument. Bytes that were damaged
/// within the block can give a wrong false: keep a checksum over it. Any alignment. The time
/// depends on the length of the key, not of the block. Allocates nothing.
///
/// Thread safety: any number of threads at once. Does not change `trommel_last_error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trommel_policy_may_match(
    policy: *const Policy,
    key: *const c_void,
    key_len: usize,
    block: *const c_void,
    block_len: usize,
) -> bool {
    guard::maybe(|| {
        // SAFETY: the header asks the caller for a policy that is not freed yet.
        let policy = &unsafe { border::handle("policy", policy) }?.policy;
        // SAFETY: the header asks the caller for `key_len` bytes, that nobody changes meanwhile.
        let key = unsafe { border::bytes("key", key, key_len) }?;
        // SAFETY: the header asks the caller for `block_len` bytes, that nobody changes meanwhile.
        let block = unsafe { border::bytes("block", block, block_len) }?;
        Ok(policy.may_match(block, policy.hash(key)))
    })
}

/// The same for a key whose hash is known, as `trommel_policy_hash` makes it: for a key that is looked for in several
/// blocks.
///
/// Thread safety: any number of threads at once. Does not change `trommel_last_error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trommel_policy_may_match_hash(
    policy: *const Policy,
    hash: u64,
    block: *const c_void,
    block_len: usize,
) -> bool {
    guard::maybe(|| {
        // SAFETY: the header asks the caller for a policy that is not freed yet.
        let policy = &unsafe { border::handle("policy", policy) }?.policy;
        // SAFETY: the header asks the caller for `block_len` bytes, that nobody changes meanwhile.
        let block = unsafe { border::bytes("block", block, block_len) }?;
        Ok(policy.may_match(block, KeyHash::from_raw(hash)))
    })
}

/// Checks all that the bytes of a block tell, which have no checksum: that a policy of this name can have built them.
/// Reads the whole block of a filter with slots ("quotient", "cuckoo"); the Bloom kinds take constant time.
///
/// Thread safety: any number of threads at once.
///
/// Errors: TROMMEL_NULL_ARGUMENT, TROMMEL_MISALIGNED, TROMMEL_TOO_LONG, TROMMEL_FORMAT (also for no bytes).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trommel_policy_verify(
    policy: *const Policy,
    block: *const c_void,
    block_len: usize,
) -> Status {
    guard::status(|| {
        // SAFETY: the header asks the caller for a policy that is not freed yet.
        let policy = &unsafe { border::handle("policy", policy) }?.policy;
        // SAFETY: the header asks the caller for `block_len` bytes, that nobody changes meanwhile.
        let block = unsafe { border::bytes("block", block, block_len) }?;
        Ok(policy.verify(block)?)
    })
}

/// Refuses a buffer that is too short before any key is read.
fn room_for_block(
    policy: &FilterPolicy,
    keys: usize,
    capacity: usize,
    written: &Out<'_, usize>,
) -> Result<(), Failure> {
    let need = policy.encoded_len(keys);
    if need == usize::MAX {
        return Err(PolicyError::TooManyKeys { keys }.into());
    }
    if need <= capacity {
        return Ok(());
    }
    written.put(need);
    Err(Failure::BufferTooSmall { need, got: capacity })
}

/// The hashes of some keys.
///
/// # Safety
/// Each key has as many bytes as it says, and nobody changes them meanwhile.
unsafe fn hash_all(policy: &FilterPolicy, keys: &[Slice]) -> Result<Vec<KeyHash>, Failure> {
    let mut hashes = Vec::new();
    let refused = Failure::Memory { bytes: keys.len().saturating_mul(size_of::<KeyHash>()) };
    hashes.try_reserve_exact(keys.len()).map_err(|_| refused)?;
    for key in keys {
        // SAFETY: the duty of this function.
        hashes.push(policy.hash(unsafe { border::bytes("a key", key.data, key.len) }?));
    }
    Ok(hashes)
}
