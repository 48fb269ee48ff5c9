//! The functions of `trommel_policy`: filter blocks.

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
    /// The number of bytes.
    pub len: usize,
}

/// Builds and probes filter blocks. A filter block is the filter of one block or file of data, as plain bytes that a
/// storage engine stores. A policy is immutable, so any number of threads can share it.
#[derive(Debug)]
pub struct Policy {
    policy: FilterPolicy,
    name: CString,
}

/// Makes a policy. `kind` is a NUL-terminated text: "bloom", "register-bloom", "split-block-bloom", "cache-line-bloom",
/// "quotient", "cache-line-quotient" or "cuckoo". `bits_per_key` is at most 64, and at least 1 for the Bloom kinds,
/// 3.29 for "quotient", 10.78 for "cache-line-quotient" and 8.43 for "cuckoo"; 10 is usual, but too low for
/// "cache-line-quotient". Keys are hashed by XXH3-64 with `seed`. For an adversary who does not know the seed, it is
/// harder to choose keys that are false positives.
///
/// Ownership: `*policy` is the caller's, to be freed with `trommel_policy_free`. It is NULL on failure.
///
/// Thread safety: any thread, any time.
///
/// Errors: TROMMEL_NULL_ARGUMENT, TROMMEL_MISALIGNED, TROMMEL_UNKNOWN_KIND; TROMMEL_SPEC if the kind has no block form
/// ("counting-bloom") or cannot use this number of bits per key; TROMMEL_INSTRUCTION_SET;
/// TROMMEL_MEMORY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trommel_policy_new(
    kind: *const c_char,
    bits_per_key: f64,
    seed: u64,
    policy: *mut *mut Policy,
) -> Status {
    guard::status(|| {
        // SAFETY: `trommel.h` requires the address of a pointer.
        let made = unsafe { Out::required("policy", policy, std::ptr::null_mut()) }?;
        // SAFETY: `trommel.h` requires a text that ends in a NUL.
        let kind = unsafe { border::kind("kind", kind) }?;
        let policy = FilterPolicy::builder(kind).bits_per_key(bits_per_key).seed(seed).build()?;
        // The name has no NUL, so the conversion cannot fail.
        let name = CString::new(policy.name()).unwrap_or_default();
        made.put_handle(Policy { policy, name });
        Ok(())
    })
}

/// Frees a policy. Does nothing if `policy` is NULL.
///
/// Thread safety: no other thread may use the policy during this call, and no thread after it. Filter blocks that the
/// policy built stay valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trommel_policy_free(policy: *mut Policy) {
    guard::status(|| {
        // SAFETY: `trommel.h` requires a policy that is not freed yet and not used after the call.
        unsafe { border::free(policy) };
        Ok(())
    });
}

/// Returns the policy's name: at most 64 bytes of ASCII and a NUL, for example "trommel.1.bloom.xxh3.0000000000000000".
/// A policy can read the blocks of every policy with the same name. The name states format version, kind, hash function
/// and seed. It does not state the bits per key, since a policy can also read blocks with other bits per key than its
/// own. Store the name with the blocks, and probe them only with a policy of the same name. Returns NULL if `policy` is
/// NULL or misaligned.
///
/// Ownership: the policy owns the text, which is valid until the policy is freed. Thread safety: any number of threads
/// at once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trommel_policy_name(policy: *const Policy) -> *const c_char {
    // SAFETY: `trommel.h` requires a policy that is not freed yet.
    let name = guard::value(|| Ok(unsafe { border::handle("policy", policy) }?.name.as_ptr()));
    name.unwrap_or(std::ptr::null())
}

/// Returns the exact size in bytes of a block of `keys` keys. Returns SIZE_MAX if one block cannot hold this number of
/// keys, or if `policy` is NULL or misaligned.
///
/// Thread safety: any number of threads at once. Allocates nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trommel_policy_size(policy: *const Policy, keys: usize) -> usize {
    // SAFETY: `trommel.h` requires a policy that is not freed yet.
    guard::value(|| Ok(unsafe { border::handle("policy", policy) }?.policy.encoded_len(keys)))
        .unwrap_or(usize::MAX)
}

/// Writes the filter block of `n` keys to `dst`, which has room for `capacity` bytes. The block has
/// `trommel_policy_size(policy, n)` bytes, and no more bytes are written. `keys` may be NULL if `n` is 0. A key may
/// occur more than once, but each occurrence makes the block larger, so pass each key once.
///
/// `*written` becomes the length of the block. After TROMMEL_BUFFER_TOO_SMALL it is the length that the buffer needs;
/// after any other failure it is 0. `written` may be NULL.
///
/// A failed call can leave a part of `dst` overwritten. An engine can then store an empty block (0 bytes), for which
/// every lookup returns true.
///
/// Ownership: keys and buffer stay the caller's; the policy keeps no pointer to them. During the call, 8 bytes of
/// memory per key are allocated. For "quotient", "cache-line-quotient" and "cuckoo", the call also allocates two other
/// pieces of memory: one for a copy of the block's table, and one as scratch memory for the inserts.
///
/// Thread safety: any number of threads at once, each with its own buffer.
///
/// Errors: TROMMEL_NULL_ARGUMENT, TROMMEL_MISALIGNED, TROMMEL_TOO_LONG, TROMMEL_BUFFER_TOO_SMALL,
/// TROMMEL_TOO_MANY_KEYS, TROMMEL_MEMORY; TROMMEL_FULL if a quotient or cuckoo filter has no room for a key. An
/// adversary can choose keys that cause this.
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
        // SAFETY: `trommel.h` requires the address of a size, or NULL.
        let written = unsafe { Out::optional("written", written, 0) }?;
        // SAFETY: `trommel.h` requires a policy that is not freed yet.
        let policy = &unsafe { border::handle("policy", policy) }?.policy;
        // SAFETY: `trommel.h` requires `n` keys that nobody changes during the call.
        let keys = unsafe { border::array("keys", keys, n) }?;
        room_for_block(policy, n, capacity, &written)?;
        // SAFETY: `trommel.h` requires that each key points to `len` bytes that nobody changes during the call.
        let hashes = unsafe { hash_all(policy, keys) }?;
        // SAFETY: `trommel.h` requires room for `capacity` bytes that nobody else uses during the call. The keys are
        // not read any more, so the buffer may overlap them.
        let block = unsafe { border::buffer("dst", dst.cast::<u8>(), capacity, &hashes) }?;
        written.put(policy.build_into(&hashes, block)?);
        Ok(())
    })
}

/// Like `trommel_policy_build`, but takes the keys' hashes, as `trommel_policy_hash` returns them. The function is
/// meant for engines that hash each key once for several blocks, or whose keys are not in an array of `trommel_slice`.
/// Allocates nothing for the Bloom kinds.
///
/// Thread safety: any number of threads at once, each with its own buffer.
///
/// Errors: those of `trommel_policy_build`; TROMMEL_OVERLAP if `dst` and `hashes` overlap.
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
        // SAFETY: `trommel.h` requires the address of a size, or NULL.
        let written = unsafe { Out::optional("written", written, 0) }?;
        // SAFETY: `trommel.h` requires a policy that is not freed yet.
        let policy = &unsafe { border::handle("policy", policy) }?.policy;
        // SAFETY: `trommel.h` requires `n` hashes that nobody changes during the call.
        let hashes = unsafe { border::array("hashes", hashes, n) }?;
        room_for_block(policy, n, capacity, &written)?;
        // SAFETY: `trommel.h` requires room for `capacity` bytes that nobody else uses during the call.
        let block = unsafe { border::buffer("dst", dst.cast::<u8>(), capacity, hashes) }?;
        written.put(policy.build_into(KeyHash::slice_from_raw(hashes), block)?);
        Ok(())
    })
}

/// Returns the hash of a key. It depends only on the key and the seed: policies, and filters that `trommel_new` made,
/// return the same hash if they have the same seed. `key` may be NULL if `len` is 0. Returns 0 if `policy` is NULL or
/// misaligned, if `key` is NULL and `len` is not 0, or if the key is longer than PTRDIFF_MAX bytes or reaches past the
/// end of the address space.
///
/// Thread safety: any number of threads at once. Allocates nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trommel_policy_hash(
    policy: *const Policy,
    key: *const c_void,
    len: usize,
) -> u64 {
    guard::value(|| {
        // SAFETY: `trommel.h` requires a policy that is not freed yet.
        let policy = &unsafe { border::handle("policy", policy) }?.policy;
        // SAFETY: `trommel.h` requires `len` bytes that nobody changes during the call.
        Ok(policy.hash(unsafe { border::bytes("key", key, len) }?).raw())
    })
    .unwrap_or(0)
}

/// Returns false if a key is certainly not among the keys of a filter block, and true if the key may be among them.
/// Also returns true if an argument is refused: `policy` is NULL or misaligned, `key` or `block` is NULL and its length
/// is not 0, or one of them is longer than PTRDIFF_MAX bytes or reaches past the end of the address space. It also
/// returns true if the last bytes or the length of the block show that it is not a block of this policy, for example if
/// it is empty or of another kind. A block with other damage, or a block that was built with another seed, can give a
/// false negative: keep a checksum over the block, and compare the policy's name. `key` may be NULL if `key_len` is 0.
/// The block may have any alignment. The time depends on the length of the key. For "quotient" and
/// "cache-line-quotient" the time also depends on how many keys of the block have nearly the same hash; if the block is
/// damaged, a lookup can take as long as reading the whole block. Allocates nothing.
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
        // SAFETY: `trommel.h` requires a policy that is not freed yet.
        let policy = &unsafe { border::handle("policy", policy) }?.policy;
        // SAFETY: `trommel.h` requires `key_len` bytes that nobody changes during the call.
        let key = unsafe { border::bytes("key", key, key_len) }?;
        // SAFETY: `trommel.h` requires `block_len` bytes that nobody changes during the call.
        let block = unsafe { border::bytes("block", block, block_len) }?;
        Ok(policy.may_match(block, policy.hash(key)))
    })
}

/// Like `trommel_policy_may_match`, but takes the key's hash, as `trommel_policy_hash` returns it. Use it for a key
/// that is looked up in several blocks.
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
        // SAFETY: `trommel.h` requires a policy that is not freed yet.
        let policy = &unsafe { border::handle("policy", policy) }?.policy;
        // SAFETY: `trommel.h` requires `block_len` bytes that nobody changes during the call.
        let block = unsafe { border::bytes("block", block, block_len) }?;
        Ok(policy.may_match(block, KeyHash::from_raw(hash)))
    })
}

/// Checks whether a policy with the same name as `policy` can have built the block. Blocks have no checksum, so not all
/// damage is found. Reads the whole block for "quotient" and "cache-line-quotient"; takes constant time for the other
/// kinds.
///
/// Thread safety: any number of threads at once.
///
/// Errors: TROMMEL_NULL_ARGUMENT, TROMMEL_MISALIGNED, TROMMEL_TOO_LONG, TROMMEL_FORMAT (also if `block_len` is 0).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trommel_policy_verify(
    policy: *const Policy,
    block: *const c_void,
    block_len: usize,
) -> Status {
    guard::status(|| {
        // SAFETY: `trommel.h` requires a policy that is not freed yet.
        let policy = &unsafe { border::handle("policy", policy) }?.policy;
        // SAFETY: `trommel.h` requires `block_len` bytes that nobody changes during the call.
        let block = unsafe { border::bytes("block", block, block_len) }?;
        Ok(policy.verify(block)?)
    })
}

/// Returns an error if one block cannot hold this number of keys, or if the buffer is too short. If the buffer is too
/// short, writes the needed length to `written`. Reads no key.
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

/// Returns the hashes of `keys`.
///
/// # Safety
/// The caller must ensure that each key whose pointer and length pass the checks of [`border::bytes`] points to `len`
/// bytes that nobody changes during the call.
unsafe fn hash_all(policy: &FilterPolicy, keys: &[Slice]) -> Result<Vec<KeyHash>, Failure> {
    let mut hashes = Vec::new();
    let refused = Failure::Memory { bytes: keys.len().saturating_mul(size_of::<KeyHash>()) };
    hashes.try_reserve_exact(keys.len()).map_err(|_| refused)?;
    for key in keys {
        // SAFETY: the caller of this function guarantees the bytes.
        hashes.push(policy.hash(unsafe { border::bytes("a key", key.data, key.len) }?));
    }
    Ok(hashes)
}
