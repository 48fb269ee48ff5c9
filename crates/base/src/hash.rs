//! Hash functions that are part of the frozen format.
//!
//! XXH3-64 with a seed is the default; Parquet prescribes XXH64 with seed 0. For strings of bytes, the crate
//! `xxhash-rust` computes both functions. For integers, `kernel/hash.rs` computes both, in a form that the compiler can
//! vectorise; tests check that `kernel/hash.rs` gives the same hashes as `xxhash-rust`. The third function,
//! SipHash-1-3, has a secret key. `kernel/siphash.rs` computes SipHash-1-3 of integers and of strings.

use crate::kernel::hash::Word;
use crate::kernel::siphash::{Sip13, SipKey};
use crate::{Key, KeyHash};
use alloc::vec::Vec;
use core::fmt;
use core::hash::Hash;
use trommel_simd::{Isa, IsaError};

/// A hash function. A container (the stored form of a filter) stores the number of the function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u16)]
pub enum HashId {
    /// XXH3, 64 bits, seeded.
    Xxh3 = 1,
    /// XXH64, seeded. With seed 0, the hash of Parquet's Bloom filters.
    Xxh64 = 2,
    /// SipHash-1-3, 64 bits, with a secret key of 128 bits.
    SipHash13 = 3,
}

impl HashId {
    /// The function that a container stores as `code`.
    ///
    /// ```
    /// use trommel::container::HashId;
    /// assert_eq!(HashId::from_code(1), Some(HashId::Xxh3));
    /// assert_eq!(HashId::from_code(9), None);
    /// ```
    #[must_use]
    pub fn from_code(code: u16) -> Option<Self> {
        match code {
            1 => Some(Self::Xxh3),
            2 => Some(Self::Xxh64),
            3 => Some(Self::SipHash13),
            _ => None,
        }
    }

    /// The function's name, which is also a part of the name of a filter policy (`trommel::FilterPolicy`).
    ///
    /// ```
    /// use trommel::container::HashId;
    /// assert_eq!(HashId::Xxh3.name(), "xxh3");
    /// ```
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Xxh3 => "xxh3",
            Self::Xxh64 => "xxh64",
            Self::SipHash13 => "siphash13",
        }
    }

    /// Whether the function has a secret key instead of a seed.
    ///
    /// ```
    /// use trommel::container::HashId;
    /// assert!(HashId::SipHash13.is_keyed() && !HashId::Xxh3.is_keyed());
    /// ```
    #[must_use]
    pub const fn is_keyed(self) -> bool {
        matches!(self, Self::SipHash13)
    }
}

impl fmt::Display for HashId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A hash function, and its seed or secret key: how keys become [`KeyHash`]es.
///
/// The bytes of a filter contain the function and the seed. So a key has the same hash before the filter is written and
/// after it is read, on any machine and in any version. The seed is a parameter and not a secret. Filters with
/// different seeds are independent, but a seed does not protect from an adversary who can see it.
///
/// If an adversary chooses keys, use [`Hasher::siphash13`] with a secret key. Then the bytes of a filter contain only a
/// [check](Hasher::seed) of the secret key. To read such bytes, pass the hasher with the secret key to a function such
/// as `FilterView::parse_with_hasher`. `docs/security.md` says what a secret key protects from.
///
/// ```
/// use trommel::Hasher;
/// let hasher = Hasher::xxh3(42);
/// assert_eq!(hasher.hash(&7u64), hasher.hash_u64(7));
/// assert_ne!(hasher.hash("key"), Hasher::xxh3(43).hash("key"));
/// ```
///
/// A hasher also has an instruction set, on which it hashes batches. A hasher from `filter.hasher()` has the set of the
/// filter. Any other hasher has the set that was given to [`Hasher::with_isa`], or [`Isa::active_or_best`] if no set
/// was given. All sets give the same hashes. So hashers that differ only in the set are equal, and the bytes of a
/// filter do not contain the set.
#[derive(Clone, Copy)]
pub struct Hasher {
    id: HashId,
    /// `None`, or an instruction set that this machine has: only `with_isa` writes this field, after a check.
    isa: Option<Isa>,
    /// The seed, or the key check (see [`Hasher::seed`]).
    seed: u64,
    /// The secret key; zero in a hasher without a secret key.
    key: SipKey,
}

/// The message whose hash is the key check: the bytes `trommel.keycheck`.
const KEY_CHECK: [u64; 2] = [u64::from_le_bytes(*b"trommel."), u64::from_le_bytes(*b"keycheck")];

impl PartialEq for Hasher {
    fn eq(&self, other: &Self) -> bool {
        (self.id, self.seed, self.key) == (other.id, other.seed, other.key)
    }
}

impl Eq for Hasher {}

impl Hash for Hasher {
    fn hash<H: core::hash::Hasher>(&self, state: &mut H) {
        // The secret key is left out, since the hash of a `Hasher` can become known, for example from the
        // order of a hash table.
        (self.id, self.seed).hash(state);
    }
}

/// Prints the check of a secret key, but never the secret key.
impl fmt::Debug for Hasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seed = if self.id.is_keyed() { "key_check" } else { "seed" };
        let mut fields = f.debug_struct("Hasher");
        fields.field("id", &self.id).field("isa", &self.isa).field(seed, &self.seed).finish()
    }
}

impl Default for Hasher {
    /// XXH3 with seed 0.
    fn default() -> Self {
        Self::xxh3(0)
    }
}

impl Hasher {
    /// The hash of Parquet's Bloom filters: XXH64 with seed 0.
    pub const PARQUET: Hasher = Hasher::xxh64(0);

    /// A hasher from its function and seed; `None` if the function has a secret key instead of a seed.
    ///
    /// ```
    /// use trommel::{Hasher, container::HashId};
    /// assert_eq!(Hasher::new(HashId::Xxh64, 0), Some(Hasher::PARQUET));
    /// assert_eq!(Hasher::new(HashId::SipHash13, 0), None);
    /// ```
    #[must_use]
    pub const fn new(id: HashId, seed: u64) -> Option<Self> {
        match id {
            HashId::Xxh3 | HashId::Xxh64 => Some(Self::seeded(id, seed)),
            HashId::SipHash13 => None,
        }
    }

    const fn seeded(id: HashId, seed: u64) -> Self {
        Self { id, isa: None, seed, key: [0; 2] }
    }

    const fn keyed(key: SipKey) -> Self {
        let check = Sip13::of_two_words(key, KEY_CHECK);
        Self { id: HashId::SipHash13, isa: None, seed: check, key }
    }

    /// SipHash-1-3 with a secret key: a pseudo-random function, so an adversary without the secret key cannot compute
    /// which keys collide. It takes longer than XXH3: `docs/decisions/0074-siphash-1-3.md` has the figures.
    ///
    /// The 16 bytes must be uniformly random, from the operating system's generator; a password is not random enough.
    /// The library never prints the secret key or writes it into frozen bytes. A frozen filter has only a
    /// [check](Hasher::seed) of the secret key. So keep the secret key yourself: without the secret key, nobody
    /// can look up keys.
    ///
    /// ```
    /// use trommel::{Filter, FilterView, FormatError, Hasher, SplitBlockBloom};
    /// let key = [7; 16]; // in a real program, 16 random bytes
    /// let hasher = Hasher::siphash13(key);
    /// let mut filter = SplitBlockBloom::builder().keys(100).hasher(hasher).build()?;
    /// filter.add("anvil");
    /// let bytes = filter.to_bytes();
    /// assert!(matches!(FilterView::parse(&bytes), Err(FormatError::KeyRequired { .. })));
    /// assert!(FilterView::parse_with_hasher(&bytes, &hasher)?.contains("anvil"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub const fn siphash13(key: [u8; 16]) -> Self {
        let key = u128::from_le_bytes(key);
        Self::keyed([key as u64, (key >> 64) as u64])
    }

    /// XXH3-64 with a seed.
    ///
    /// ```
    /// use trommel::Hasher;
    /// assert_eq!(Hasher::xxh3(0), Hasher::default());
    /// assert_eq!(Hasher::xxh3(0).hash("").raw(), 0x2D06_8005_38D3_94C2);
    /// ```
    #[must_use]
    pub const fn xxh3(seed: u64) -> Self {
        Self::seeded(HashId::Xxh3, seed)
    }

    /// XXH64 with a seed.
    ///
    /// ```
    /// use trommel::Hasher;
    /// assert_eq!(Hasher::xxh64(0), Hasher::PARQUET);
    /// assert_eq!(Hasher::xxh64(0).hash("").raw(), 0xEF46_DB37_51D8_E999);
    /// ```
    #[must_use]
    pub const fn xxh64(seed: u64) -> Self {
        Self::seeded(HashId::Xxh64, seed)
    }

    /// The hash function.
    ///
    /// ```
    /// use trommel::{Hasher, container::HashId};
    /// assert_eq!(Hasher::PARQUET.id(), HashId::Xxh64);
    /// ```
    #[must_use]
    pub const fn id(&self) -> HashId {
        self.id
    }

    /// The seed. If the function has a secret key, returns the *key check* instead: the hash of a fixed message under
    /// the secret key. The 64 bits of the check tell secret keys apart. The check is public: it is stored with filters.
    /// An adversary who knows the check can find the secret key only by trying all secret keys.
    ///
    /// ```
    /// use trommel::Hasher;
    /// assert_eq!(Hasher::xxh3(42).seed(), 42);
    /// assert_eq!(Hasher::siphash13([7; 16]).seed(), Hasher::siphash13([7; 16]).hash("trommel.keycheck").raw());
    /// ```
    #[must_use]
    pub const fn seed(&self) -> u64 {
        self.seed
    }

    /// The same function with another seed. A function with a secret key gets a new secret key, which is derived from
    /// the old secret key and the seed. So a single secret key is enough for many independent filters, for example the
    /// filters of many files.
    ///
    /// ```
    /// use trommel::Hasher;
    /// assert_eq!(Hasher::xxh64(0).with_seed(42), Hasher::xxh64(42));
    /// let secret = Hasher::siphash13([7; 16]);
    /// assert_eq!(secret.with_seed(42), secret.with_seed(42));
    /// assert_ne!(secret.with_seed(42).hash("anvil"), secret.with_seed(43).hash("anvil"));
    /// ```
    #[must_use]
    pub const fn with_seed(self, seed: u64) -> Self {
        match self.id {
            HashId::Xxh3 | HashId::Xxh64 => Self { seed, ..self },
            HashId::SipHash13 => {
                let derived = Self::keyed(Sip13::wide_of_word(self.key, seed));
                Self { isa: self.isa, ..derived }
            }
        }
    }

    /// The secret key; zero in a hasher without a secret key.
    pub(crate) const fn key(&self) -> SipKey {
        self.key
    }

    /// The instruction set that batches are hashed on.
    ///
    /// ```
    /// use trommel::{Hasher, Isa};
    /// assert_eq!(Hasher::default().isa(), Isa::active_or_best());
    /// ```
    #[must_use]
    pub fn isa(&self) -> Isa {
        self.isa.unwrap_or_else(Isa::active_or_best)
    }

    /// The same function, with batches hashed on another instruction set. All sets give the same hashes.
    ///
    /// A filter that is built with this hasher uses the builder's instruction set instead.
    ///
    /// # Errors
    /// [`IsaError::Unavailable`] if the machine lacks the set.
    ///
    /// ```
    /// use trommel::{Hasher, Isa};
    /// let portable = Hasher::default().with_isa(Isa::Portable)?;
    /// assert_eq!(portable.isa(), Isa::Portable);
    /// assert_eq!(portable, Hasher::default());
    /// # Ok::<(), trommel::error::IsaError>(())
    /// ```
    pub fn with_isa(self, isa: Isa) -> Result<Self, IsaError> {
        Ok(Self { isa: Some(isa.require()?), ..self })
    }

    /// The hash of a key.
    ///
    /// ```
    /// use trommel::Hasher;
    /// let hasher = Hasher::default();
    /// assert_eq!(hasher.hash("anvil"), hasher.hash(b"anvil"));
    /// assert_ne!(hasher.hash("anvil"), hasher.hash("forge"));
    /// ```
    #[inline]
    #[must_use]
    pub fn hash<K: Key + ?Sized>(&self, key: &K) -> KeyHash {
        key.hash_with(self)
    }

    /// The hash of a string of bytes.
    ///
    /// ```
    /// use trommel::Hasher;
    /// let hasher = Hasher::default();
    /// assert_eq!(hasher.hash_bytes(b"anvil"), hasher.hash("anvil"));
    /// assert_eq!(hasher.hash_bytes(&7u32.to_le_bytes()), hasher.hash(&7u32));
    /// ```
    #[inline]
    #[must_use]
    pub fn hash_bytes(&self, bytes: &[u8]) -> KeyHash {
        KeyHash::from_raw(match self.id {
            HashId::Xxh3 => xxhash_rust::xxh3::xxh3_64_with_seed(bytes, self.seed),
            HashId::Xxh64 => xxhash_rust::xxh64::xxh64(bytes, self.seed),
            HashId::SipHash13 => siphash13(self.key, bytes),
        })
    }

    /// The hash of the eight little-endian bytes of `key`: the same as `hash(&key)`. XXH3 and XXH64 compute it by a few
    /// multiplications, shifts and rotations, without a loop.
    ///
    /// ```
    /// use trommel::Hasher;
    /// let hasher = Hasher::default();
    /// assert_eq!(hasher.hash_u64(1001), hasher.hash(&1001u64));
    /// ```
    #[inline]
    #[must_use]
    pub fn hash_u64(&self, key: u64) -> KeyHash {
        KeyHash::from_raw(key.hash(self))
    }

    /// Hashes a column of keys, each exactly as [`Hasher::hash`] does. `hashes` gets the length of `keys`, and reuses
    /// its allocation if that is large enough.
    ///
    /// Integers are hashed by a loop that is compiled for the instruction set of [`Hasher::isa`], several at a time if
    /// the set has vector instructions for that. With AVX-512 and XXH3, an integer of up to 64 bits takes 0.14 to 0.2
    /// ns in a batch, but 1.1 to 1.5 ns if it is hashed alone (AMD EPYC, in L2). Keys of any other [`Key`] type are
    /// accepted too: `&str`, `String`, `&[u8]`, `[u8; 16]`. [`Hasher::hash_column`] takes strings as columnar formats
    /// store them.
    ///
    /// As with [`Hasher::hash`], an integer is hashed by the bytes of its own width: `1u32` and `1u64` have different
    /// hashes. A literal without a type is an `i32` unless the context gives it another type.
    ///
    /// If `hashes` needs a larger allocation and the system refuses it, the program ends. To get an error instead, call
    /// `try_reserve` on `hashes` first.
    ///
    /// ```
    /// use trommel::Hasher;
    /// let hasher = Hasher::default();
    /// let mut hashes = Vec::new();
    /// hasher.hash_batch(&[1u64, 2, 3], &mut hashes);
    /// assert_eq!(hashes[2], hasher.hash(&3u64));
    /// hasher.hash_batch(&["anvil", "hammer"], &mut hashes);
    /// assert_eq!(hashes, [hasher.hash("anvil"), hasher.hash("hammer")]);
    /// ```
    pub fn hash_batch<K: Key>(&self, keys: &[K], hashes: &mut Vec<KeyHash>) {
        hashes.clear();
        hashes.resize(keys.len(), KeyHash::default());
        K::hash_slice_with(keys, self, hashes);
    }
}

/// Not inlined, to keep SipHash out of code that hashes strings by XXH3.
#[inline(never)]
fn siphash13(key: SipKey, bytes: &[u8]) -> u64 {
    Sip13::of_bytes(key, bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::fmt::Debug;
    use std::format;
    use std::string::{String, ToString};

    const SEEDS: [u64; 5] = [0, 1, 42, 0x8000_0000_0000_0000, u64::MAX];
    const LONGEST: usize = if cfg!(miri) { 300 } else { 1000 };
    const LENGTHS: [usize; 9] = [0, 1, 7, 8, 9, 63, 64, 65, LONGEST];

    fn hashers() -> impl Iterator<Item = Hasher> {
        // All seeds would take Miri too long.
        let seeds = if cfg!(miri) { &SEEDS[2..3] } else { &SEEDS[..] };
        seeds.iter().flat_map(|&seed| {
            let keyed = Hasher::siphash13(*b"0123456789abcdef").with_seed(seed);
            [Hasher::xxh3(seed), Hasher::xxh64(seed), keyed]
        })
    }

    fn mixed(i: u64) -> u64 {
        i.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(21)
    }

    fn keys() -> Vec<u64> {
        let random = (0..LONGEST as u64).map(mixed);
        [0, 1, 255, 256, 1 << 32, u64::MAX].into_iter().chain(random).collect()
    }

    /// Fails unless every key has the hash that [`Hasher::hash_bytes`] gives to `bytes(key)`. Hashes each key alone,
    /// and in batches of each length in `LENGTHS` on every instruction set of this machine.
    fn assert_batches<K: Key + Debug>(keys: &[K], bytes: impl Fn(&K) -> Vec<u8>) {
        for hasher in hashers() {
            let expected: Vec<_> = keys.iter().map(|key| hasher.hash_bytes(&bytes(key))).collect();
            for (key, hash) in keys.iter().zip(&expected) {
                assert_eq!(hasher.hash(key), *hash, "{key:?} by {hasher:?}");
            }
            for hasher in Isa::available().map(|isa| hasher.with_isa(isa).unwrap()).chain([hasher])
            {
                for length in LENGTHS {
                    let mut hashes = Vec::new();
                    hasher.hash_batch(&keys[..length], &mut hashes);
                    assert!(hashes == expected[..length], "{length} keys by {hasher:?}");
                }
            }
        }
    }

    #[test]
    fn integers_hash_as_the_reference_hashes_their_bytes() {
        for hasher in hashers() {
            for key in keys() {
                assert_eq!(hasher.hash_u64(key), hasher.hash_bytes(&key.to_le_bytes()));
            }
        }
    }

    #[test]
    fn batches_of_integers_equal_single_hashes_at_every_length_and_isa() {
        macro_rules! widths {
            ($($type:ty),*) => {$({
                // The two halves of a 128-bit key differ.
                let wide = |key: &u64| (u128::from(*key) << 64 | u128::from(mixed(!*key))) as $type;
                let narrow = |key: &u64| *key as $type;
                let all: Vec<$type> = keys().iter().flat_map(|key| [narrow(key), wide(key)]).collect();
                assert_batches(&all, |key| key.to_le_bytes().to_vec());
            })*};
        }
        widths!(u8, i8, u16, i16, u32, i32, u64, i64, u128, i128);
    }

    #[test]
    fn batches_of_strings_equal_single_hashes_in_every_key_type() {
        // The lengths of 0 to 258 bytes cover all length classes of XXH3 and XXH64. XXH3's last class begins at 241
        // bytes.
        let text: String = (0..300u32).map(|i| char::from(b'a' + (i * i % 26) as u8)).collect();
        let strings: Vec<&str> = (0..LONGEST).map(|i| &text[i % 41..][..i % 259]).collect();
        let bytes_of = |key: &&str| key.as_bytes().to_vec();
        assert_batches(&strings, bytes_of);
        let slices: Vec<&[u8]> = strings.iter().map(|key| key.as_bytes()).collect();
        assert_batches(&slices, |key| key.to_vec());
        let owned: Vec<String> = strings.iter().map(ToString::to_string).collect();
        assert_batches(&owned, |key| key.as_bytes().to_vec());
        let arrays: Vec<[u8; 16]> =
            keys().iter().map(|key| (u128::from(*key) << 60).to_le_bytes()).collect();
        assert_batches(&arrays, |key| key.to_vec());
    }

    #[test]
    fn a_batch_reuses_the_memory_of_its_hashes() {
        let hasher = Hasher::default();
        let mut hashes = Vec::new();
        hasher.hash_batch(&keys(), &mut hashes);
        let memory = (hashes.as_ptr(), hashes.capacity());
        hasher.hash_batch(&["a", "b"], &mut hashes);
        hasher.hash_column(&[0i32, 1, 2, 2], b"ab", &mut hashes).unwrap();
        assert_eq!(hashes, [hasher.hash("a"), hasher.hash("b"), hasher.hash("")]);
        assert_eq!((hashes.as_ptr(), hashes.capacity()), memory);
    }

    #[test]
    fn hashing_stops_at_the_end_of_the_shorter_slice() {
        let hasher = Hasher::default();
        let mut hashes = [KeyHash::default(); 9];
        u32::hash_slice_with(&[1, 2], &hasher, &mut hashes);
        assert_eq!(hashes[1..3], [hasher.hash(&2u32), KeyHash::default()]);
        <&str>::hash_slice_with(&["a"; 20], &hasher, &mut hashes);
        assert_eq!(hashes, [hasher.hash("a"); 9]);
    }

    #[test]
    fn the_instruction_set_is_kept_and_is_no_part_of_equality() {
        for isa in Isa::ALL {
            let hasher = Hasher::xxh64(3).with_isa(isa);
            assert_eq!(hasher.is_ok(), isa.is_available());
            let Ok(hasher) = hasher else { continue };
            assert_eq!((hasher.isa(), hasher.with_seed(4).isa()), (isa, isa));
            assert_eq!(hasher, Hasher::xxh64(3));
            assert_ne!(hasher.with_seed(4), hasher);
        }
        assert_eq!(Hasher::default().isa(), Isa::active_or_best());
        let keyed = Hasher::siphash13([1; 16]).with_isa(Isa::Portable).unwrap();
        assert_eq!((keyed.isa(), keyed.with_seed(4).isa()), (Isa::Portable, Isa::Portable));
        #[cfg(target_pointer_width = "64")]
        assert_eq!(size_of::<Hasher>(), 32);
    }

    #[test]
    fn a_keyed_hasher_shows_its_check_and_not_its_key() {
        let (key, other) = (*b"KEYKEYKEYKEYKEY!", *b"KEYKEYKEYKEYKEY?");
        let hasher = Hasher::siphash13(key);
        let check = hasher.seed();
        assert_eq!(check, hasher.hash_bytes(b"trommel.keycheck").raw());
        assert_eq!(
            format!("{hasher:?}"),
            format!("Hasher {{ id: SipHash13, isa: None, key_check: {check} }}")
        );
        assert_eq!(format!("{:?}", Hasher::xxh3(7)), "Hasher { id: Xxh3, isa: None, seed: 7 }");
        assert_eq!(hasher, Hasher::siphash13(key));
        assert_ne!(hasher, Hasher::siphash13(other));
        assert_ne!(check, Hasher::siphash13(other).seed());
        // Hashers with different secret keys differ even if their checks are equal.
        assert_ne!(hasher, Hasher { key: [1, 2], ..hasher });
        assert_ne!(hasher, Hasher::xxh3(check));
        assert_eq!(Hasher::new(HashId::SipHash13, check), None);
    }

    #[test]
    fn a_seed_derives_another_secret_key() {
        let secret = Hasher::siphash13(*b"0123456789abcdef");
        let derived: Vec<Hasher> = SEEDS.into_iter().map(|seed| secret.with_seed(seed)).collect();
        for (i, hasher) in derived.iter().enumerate() {
            assert_eq!((hasher.id(), *hasher), (HashId::SipHash13, secret.with_seed(SEEDS[i])));
            for other in derived[i + 1..].iter().chain([&secret]) {
                assert!(hasher.key != other.key && hasher.seed() != other.seed());
            }
        }
        assert_ne!(derived[0], Hasher::siphash13(*b"0123456789abcdeg").with_seed(SEEDS[0]));
    }

    /// The oracle is the standard library's `DefaultHasher`: SipHash-1-3 with the secret key 0.
    #[test]
    fn siphash_under_key_0_is_that_of_the_standard_library() {
        use core::hash::Hasher as _;
        for key in keys() {
            let mut oracle = std::hash::DefaultHasher::new();
            oracle.write(&key.to_le_bytes());
            assert_eq!(Hasher::siphash13([0; 16]).hash_u64(key).raw(), oracle.finish());
        }
    }

    /// XXH3-64 and XXH64 of the empty input with seed 0, from the sanity tests of the xxHash repository. The test fails
    /// if the crate `xxhash-rust` hashes the empty input differently. The test checks no other input.
    #[test]
    fn hashes_of_the_empty_input_are_the_published_ones() {
        assert_eq!(Hasher::xxh3(0).hash_bytes(b"").raw(), 0x2D06_8005_38D3_94C2);
        assert_eq!(Hasher::xxh64(0).hash_bytes(b"").raw(), 0xEF46_DB37_51D8_E999);
    }
}
