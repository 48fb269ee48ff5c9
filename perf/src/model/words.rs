//! Properties of a case that have a small set of values. Each value has one word, which stands for it in the files of a
//! run. The words of operations, workloads and calls are also parts of the names of cases. Tables show these names, and
//! `--filter` is matched with them.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A word that stands for no value of a property. It comes from the files of a run or from the user's file of cases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UnknownWord {
    /// The property that the word should be a value of.
    pub(crate) property: &'static str,
    pub(crate) word: String,
}

impl UnknownWord {
    pub(crate) fn new(property: &'static str, word: &str) -> Self {
        Self { property, word: word.to_owned() }
    }
}

impl fmt::Display for UnknownWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown {}: {}", self.property, self.word)
    }
}

impl std::error::Error for UnknownWord {}

/// Stores values of a type in files as text: the text that `Display` writes and `FromStr` parses.
macro_rules! stored_as_text {
    ($type:ident) => {
        impl From<$type> for String {
            fn from(value: $type) -> Self {
                value.to_string()
            }
        }

        impl TryFrom<String> for $type {
            type Error = UnknownWord;

            fn try_from(text: String) -> Result<Self, UnknownWord> {
                text.parse()
            }
        }
    };
}
pub(super) use stored_as_text;

/// Declares an enumeration, and the word of each variant.
macro_rules! words {
    ($(#[$meta:meta])* $type:ident { $($(#[$doc:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        pub(crate) enum $type {
            $($(#[$doc])* #[serde(rename = $word)] $variant),+
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self { $(Self::$variant => $word),+ })
            }
        }
    };
}

words! {
    /// The operation that a case measures.
    Op {
        /// Inserts keys into a filter whose memory is already mapped.
        Insert = "insert",
        /// Creates a filter and fills it.
        Build = "build",
        /// Looks up keys.
        Contains = "contains",
        /// Removes keys that the filter holds.
        Remove = "remove",
        /// Merges one filter into another.
        Merge = "merge",
        /// Lists the fingerprints that a filter holds.
        Enumerate = "enumerate",
    }
}

words! {
    /// The rule that determines which probes are keys.
    Workload {
        /// All probes are keys.
        Hit = "hit",
        /// No probe is a key.
        Miss = "miss",
        /// Each generated probe is a key with a probability of one half. Cases on given keys and probes (TPC-H, files)
        /// have this workload too, whatever share of their probes are keys.
        Mixed = "mixed",
        /// About half of the probes are keys. Some values occur far more often than others: the frequency of rank `r`
        /// is proportional to `1 / r`.
        Zipf = "zipf",
    }
}

impl Workload {
    /// The workloads that runs of every scope measure. [`Self::Zipf`] is not among them. On generated keys, a run
    /// measures it only if the text of `--filter` contains `zipf` or, without `--filter`, if the run is not quick.
    /// Other conditions decide whether the engine is measured with it (`engine_groups` in `run/engine/plan.rs`).
    pub(crate) const ALL: [Self; 3] = [Self::Hit, Self::Miss, Self::Mixed];
}

words! {
    /// How keys are passed to the filter, and on which threads.
    Api {
        /// One call per key.
        Single = "single",
        /// One call for a slice of keys.
        Batch = "batch",
        /// One call for a slice of keys, on all threads of an engine.
        Engine = "engine",
        /// Several threads with one filter each, for rivals whose inserts need exclusive access to the filter.
        Sharded = "sharded",
        /// One filter that several threads can share. A few such cases run on only one thread.
        Shared = "shared",
    }
}

/// The calls by which the keys of an operation are passed to the filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Calls {
    pub(crate) api: Api,
    /// The number of keys of each call, if the case states it. If not, the calls have the usual number of keys (see
    /// [`Self::BATCH`]).
    pub(crate) keys_per_call: Option<usize>,
}

/// The usual number of keys of one call in batched lookups: the number of rows in a batch of DataFusion. The hashes of
/// such a batch, 64 KiB, are in the cache when a database engine looks them up, because it has just computed them.
pub(crate) const KEYS_OF_BATCH: usize = 8192;

impl Calls {
    /// One call per key.
    pub(crate) const SINGLE: Self = Self::by(Api::Single);
    /// Calls for many keys:
    ///
    /// - lookups have [`KEYS_OF_BATCH`] keys per call or, if the case reads a column
    ///   ([`Case::reads_column`](super::Case::reads_column)), all keys in one call. Within such a call,
    ///   lookups with hashing, and lookups in a tree of small filters ([`Form::Tree`]), take 8192 keys at a time;
    /// - inserts have all keys in one call in the sweep over loads ([`Sizing::Slots`](super::Sizing::Slots)) and in the
    ///   engine's groups, and at most 2^19 keys per call elsewhere;
    /// - other operations have all keys in one call.
    pub(crate) const BATCH: Self = Self::by(Api::Batch);

    /// Calls of one [`Api`], with the usual number of keys.
    pub(crate) const fn by(api: Api) -> Self {
        Self { api, keys_per_call: None }
    }

    /// Calls for this many keys each.
    pub(crate) const fn batches_of(keys: usize) -> Self {
        Self { api: Api::Batch, keys_per_call: Some(keys) }
    }
}

words! {
    /// The clock that times a case.
    Clock {
        /// The processor time of the thread that measures; on other systems than Linux, wall-clock time.
        Processor = "processor",
        /// Wall-clock time, for cases on several threads and for the cases that are interleaved with them.
        Wall = "wall",
    }
}

words! {
    /// How a filter is laid out in memory.
    #[derive(Default)]
    Form {
        /// The library's default.
        #[default]
        Usual = "usual",
        /// Without huge pages.
        SmallPages = "small-pages",
        /// Many small filters, see [`crate::measure::tree`].
        Tree = "tree",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_have_the_words_that_are_displayed() {
        let word = |json: String| json.trim_matches('"').to_owned();
        for op in [Op::Insert, Op::Build, Op::Contains, Op::Remove, Op::Merge, Op::Enumerate] {
            assert_eq!(word(serde_json::to_string(&op).unwrap()), op.to_string());
        }
        for workload in Workload::ALL {
            assert_eq!(word(serde_json::to_string(&workload).unwrap()), workload.to_string());
        }
    }
}
