//! The files of corpus/format-1: their manifest, and the rules that make their keys. corpus/README.md describes both.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use trommel::{FilterKind, Hasher, KeyHash};

/// The number of absent keys that are looked up in each file. The file's rule makes the keys of the file first, and the
/// absent keys after them.
pub(crate) const ABSENT: u64 = 1000;

/// The secret key of all files that have one: the bytes 0 to 15, as in the example of docs/FORMAT.md. The key is
/// public, so that every reader can be tested on these files.
pub(crate) const SECRET_KEY: [u8; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];

/// A key that differs from `SECRET_KEY` in one bit. Every reader that is given this key refuses the files of
/// `SECRET_KEY`.
pub(crate) const WRONG_KEY: [u8; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 14];

/// The folder of the files.
pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/format-1")
}

/// The entries of the manifest.
pub(crate) fn manifest() -> Vec<Entry> {
    let text = std::fs::read_to_string(folder().join("manifest.csv")).unwrap();
    text.lines()
        .skip(1)
        .map(|line| line.parse().unwrap_or_else(|_| panic!("a malformed line: {line}")))
        .collect()
}

/// A rule that makes keys from the numbers 0, 1, 2 and so on.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Rule {
    /// The outputs of splitmix64 with this seed, as `u64`.
    U64(u64),
    /// The low 32 bits of each output of splitmix64 with this seed, as `u32`.
    U32(u64),
    /// A prefix and the number in decimal.
    Text(String),
    /// Key `i` has `i` bytes; byte `j` is `(i + 7 * j) mod 251`.
    Lengths,
}

impl Rule {
    /// The hash of key `i`.
    pub(crate) fn hash(&self, hasher: Hasher, i: u64) -> KeyHash {
        match self {
            Self::U64(seed) => hasher.hash(&splitmix64(*seed, i)),
            Self::U32(seed) => hasher.hash(&(splitmix64(*seed, i) as u32)),
            Self::Text(prefix) => hasher.hash(&format!("{prefix}{i}")),
            Self::Lengths => {
                let bytes: Vec<u8> = (0..i).map(|j| ((i + 7 * j) % 251) as u8).collect();
                hasher.hash(&bytes)
            }
        }
    }
}

/// Output `i` of splitmix64, counted from 0.
fn splitmix64(seed: u64, i: u64) -> u64 {
    let word = seed.wrapping_add((i + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    word ^ (word >> 31)
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::U64(seed) => write!(f, "u64:{seed}"),
            Self::U32(seed) => write!(f, "u32:{seed}"),
            Self::Text(prefix) => write!(f, "text:{prefix}"),
            Self::Lengths => f.write_str("lengths:"),
        }
    }
}

/// The keys of a file: the first `count` keys of a rule.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Keys {
    pub(crate) rule: Rule,
    pub(crate) count: u64,
    /// Key `i` was inserted `copies[i % copies.len()]` times.
    pub(crate) copies: Vec<u64>,
}

impl Keys {
    /// The hashes of the keys, each key once.
    pub(crate) fn hashes(&self, hasher: Hasher) -> Vec<KeyHash> {
        (0..self.count).map(|i| self.rule.hash(hasher, i)).collect()
    }

    /// The hashes of the absent keys.
    pub(crate) fn absent(&self, hasher: Hasher) -> Vec<KeyHash> {
        (self.count..self.count + ABSENT).map(|i| self.rule.hash(hasher, i)).collect()
    }
}

/// The form of a file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Form {
    /// A frozen filter.
    Frozen,
    /// A filter block.
    Block,
    /// A list of hashes.
    Hashes,
}

/// A line of the manifest.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    pub(crate) file: String,
    pub(crate) form: Form,
    /// `None` for a list of hashes.
    pub(crate) kind: Option<FilterKind>,
    pub(crate) hasher: Hasher,
    /// `p0` to `p3` of a frozen filter, or the parameter of a filter block.
    pub(crate) parameters: Vec<u64>,
    /// For a frozen filter or a list of hashes, the number of keys that its header states. For a filter block, the
    /// number of keys from which it was built.
    pub(crate) len: u64,
    pub(crate) bytes: u64,
    /// XXH3-64 of the file, with seed 0.
    pub(crate) digest: u64,
    pub(crate) keys: Keys,
    /// The number of absent keys that are reported as present.
    pub(crate) reported: u64,
    /// XXH3-64 of the answers for the absent keys: a bit per key, the lowest bit of a byte first.
    pub(crate) answers: u64,
    /// The counts of the first keys of a frozen filter; empty if the kind does not count, and for files of other forms.
    pub(crate) counts: Vec<u64>,
    /// How the file was made, as a text for people.
    pub(crate) how: String,
}

impl Entry {
    /// The hasher with the secret key of the file, if the file has a secret key. Readers need this hasher, since the
    /// file contains only the check of the key: a number that tells whether a key is the right key.
    pub(crate) fn secret(&self) -> Option<&Hasher> {
        self.hasher.id().is_keyed().then_some(&self.hasher)
    }

    /// The contents of the file.
    pub(crate) fn read(&self) -> Vec<u8> {
        std::fs::read(folder().join(&self.file)).unwrap()
    }

    /// Asserts that a reader finds every key of the file, and gives the recorded answers for the absent keys.
    pub(crate) fn assert_answers(&self, reader: &str, contains: impl Fn(KeyHash) -> bool) {
        for (i, hash) in self.keys.hashes(self.hasher).into_iter().enumerate() {
            assert!(contains(hash), "{}: {reader} does not find key {i}", self.file);
        }
        let answers: Vec<bool> = self.keys.absent(self.hasher).into_iter().map(contains).collect();
        let (reported, digest) = summary(&answers);
        let recorded = (self.reported, self.answers);
        assert_eq!((reported, digest), recorded, "{}: {reader}, absent keys", self.file);
    }

    /// Asserts that a reader gives the recorded counts of the first keys.
    pub(crate) fn assert_counts(&self, reader: &str, count: impl Fn(KeyHash) -> u64) {
        let hashes = (0..).map(|i| self.keys.rule.hash(self.hasher, i));
        let counts: Vec<u64> = hashes.take(self.counts.len()).map(count).collect();
        assert_eq!(counts, self.counts, "{}: {reader}, counts", self.file);
    }
}

/// The number of answers that are yes, and the digest of all answers.
pub(crate) fn summary(answers: &[bool]) -> (u64, u64) {
    let bits = |byte: &[bool]| byte.iter().rev().fold(0, |bits, yes| bits << 1 | u8::from(*yes));
    let packed: Vec<u8> = answers.chunks(8).map(bits).collect();
    (answers.iter().filter(|yes| **yes).count() as u64, digest(&packed))
}

/// XXH3-64 of some bytes, with seed 0.
pub(crate) fn digest(bytes: &[u8]) -> u64 {
    Hasher::xxh3(0).hash_bytes(bytes).raw()
}

/// The error for a line whose fields cannot be read.
#[derive(Debug)]
pub(crate) struct Malformed;

impl FromStr for Entry {
    type Err = Malformed;

    fn from_str(line: &str) -> Result<Self, Malformed> {
        let number = |text: &str| text.parse::<u64>().map_err(|_| Malformed);
        let hex = |text: &str| u64::from_str_radix(text, 16).map_err(|_| Malformed);
        let list = |text: &str| text.split_whitespace().map(number).collect::<Result<Vec<_>, _>>();
        let fields: Vec<&str> = line.split(',').collect();
        let fields = <[&str; 16]>::try_from(fields).map_err(|_| Malformed)?;
        let [file, form, kind, hash, seed, parameters, len, bytes, digest, rule, keys, copies, ..] =
            fields;
        let [.., reported, answers, counts, how] = fields;
        let seed = number(seed)?;
        let hasher = match hash {
            "xxh3" => Hasher::xxh3(seed),
            "xxh64" => Hasher::xxh64(seed),
            "siphash13" => Hasher::siphash13(SECRET_KEY),
            _ => return Err(Malformed),
        };
        // If the hash function has a secret key, the column `seed` has the check of this key.
        if hasher.seed() != seed {
            return Err(Malformed);
        }
        let (rule, argument) = rule.split_once(':').ok_or(Malformed)?;
        let rule = match rule {
            "u64" => Rule::U64(number(argument)?),
            "u32" => Rule::U32(number(argument)?),
            "text" => Rule::Text(argument.to_owned()),
            "lengths" => Rule::Lengths,
            _ => return Err(Malformed),
        };
        Ok(Self {
            file: file.to_owned(),
            form: match form {
                "frozen" => Form::Frozen,
                "block" => Form::Block,
                "hashes" => Form::Hashes,
                _ => return Err(Malformed),
            },
            kind: match kind {
                "" => None,
                name => Some(name.parse().map_err(|_| Malformed)?),
            },
            hasher,
            parameters: list(parameters)?,
            len: number(len)?,
            bytes: number(bytes)?,
            digest: hex(digest)?,
            keys: Keys { rule, count: number(keys)?, copies: list(copies)? },
            reported: number(reported)?,
            answers: hex(answers)?,
            counts: list(counts)?,
            how: how.to_owned(),
        })
    }
}
