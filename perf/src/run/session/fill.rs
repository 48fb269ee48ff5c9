//! Fills several filters with the same keys. The lookups of several groups share the filled filters.

use crate::measure::built::Built;
use crate::measure::environment::Environment;
use crate::measure::factory::create;
use crate::measure::keys::KeyStream;
use crate::measure::pages::SmallPages;
use crate::measure::plan::SubjectSpec;
use crate::model::Form;
use anyhow::Result;
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use trommel::{Bitmap, Isa, KeyHash};

/// The most threads that fill filters. Each thread needs memory for the hashes of keys.
const MAX_FILLERS: usize = 4;

/// From this number of keys on, several filters are filled at the same time, one per thread. Filters of fewer keys are
/// filled by one thread, in a second or two.
const LARGE: usize = 10_000_000;

/// The number of keys that one call inserts while a filter is filled. It bounds the memory for keys and hashes: 2^22
/// keys and their hashes, of 8 bytes each, take 64 MiB for each filter that is being filled.
const FILLED_AT_A_TIME: usize = 1 << 22;

/// Starts threads that fill large filters. `None` if the machine has several NUMA nodes: the system places a page of
/// memory on the node of the thread that writes it first, and the measuring thread should read from its own node. Also
/// `None` if the threads cannot be started: filling then takes longer.
pub(crate) fn start_fillers(environment: &Environment, cores: usize) -> Option<ThreadPool> {
    let has_one_node = matches!(environment.get("numa nodes"), "0" | "unknown");
    let pool = ThreadPoolBuilder::new().num_threads(cores.clamp(1, MAX_FILLERS));
    has_one_node.then(|| pool.build().ok()).flatten()
}

/// Fills filters. If they are large and none of them needs small pages, several are filled at the same time, each on
/// one of the threads of `fillers`.
pub(super) fn fill_all(
    specs: &[SubjectSpec],
    isa: Option<Isa>,
    stream: KeyStream,
    keys: usize,
    absent: &[KeyHash],
    fillers: Option<&ThreadPool>,
) -> Result<Vec<Built>> {
    let fill = |spec: &SubjectSpec| fill(spec, isa, stream, keys, absent);
    // To give one filter small pages, huge pages are refused to the whole process while that filter is filled. So if
    // one of the filters needs small pages, all filters are filled one after the other.
    let has_small_pages = specs.iter().any(|spec| spec.form == Form::SmallPages);
    match fillers.filter(|_| keys >= LARGE && !has_small_pages) {
        Some(fillers) => fillers.install(|| specs.par_iter().map(fill).collect()),
        None => specs.iter().map(fill).collect(),
    }
}

/// Creates and fills a filter, and measures its false-positive rate.
fn fill(
    spec: &SubjectSpec,
    isa: Option<Isa>,
    stream: KeyStream,
    keys: usize,
    absent: &[KeyHash],
) -> Result<Built> {
    let _small = (spec.form == Form::SmallPages).then(SmallPages::begin);
    let mut subject = create(spec, keys, isa)?;
    let mut start = 0;
    while start < keys {
        let count = (keys - start).min(FILLED_AT_A_TIME);
        subject.insert_batch(&stream.hashes(start, count))?;
        start += count;
    }
    let mut answers = Bitmap::new(0);
    subject.answer_batch(absent, &mut answers);
    let fpr_measured = Some(answers.count_ones() as f64 / absent.len() as f64);
    let fpr_expected = subject.expected_fpr(keys);
    let (spec, absent_keys) = (*spec, absent.len());
    Ok(Built { spec, subject, fpr_expected, fpr_measured, absent_keys })
}
