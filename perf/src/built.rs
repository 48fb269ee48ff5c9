//! A filter that is ready to be measured, and what the machine's limit means for it.

use crate::keys::Probes;
use crate::plan::{Case, Group, Matrix, Op, SubjectSpec, Workload};
use crate::subject::{Subject, ensure_no_key_denied};
use anyhow::Result;
use trommel::{Bitmap, FilterKind};

/// A filter that holds its keys, and what is known of it.
pub(crate) struct Built<S: Subject + ?Sized = dyn Subject> {
    pub(crate) spec: SubjectSpec,
    pub(crate) subject: Box<S>,
    pub(crate) fpr_expected: Option<f64>,
    pub(crate) fpr_measured: Option<f64>,
    /// Absent keys that it was measured on.
    pub(crate) absent_keys: usize,
}

impl Built {
    /// A filled filter whose answers to the probes were verified: no key denied. Its false-positive
    /// rate is counted on those probes that are no keys.
    pub(crate) fn verified(
        case: &Case,
        subject: Box<dyn Subject>,
        keys: usize,
        probes: &Probes,
        answers: &Bitmap,
    ) -> Result<Self> {
        ensure_no_key_denied(&probes.members, answers, &case.name)?;
        let (passed, matches) = (answers.count_ones(), probes.members.count_ones());
        let absent_keys = probes.column.len() - matches;
        let fpr_measured =
            (absent_keys > 0).then(|| (passed - matches) as f64 / absent_keys as f64);
        let fpr_expected = subject.expected_fpr(keys);
        Ok(Self { spec: case.spec, subject, fpr_expected, fpr_measured, absent_keys })
    }
}

/// Sizes so near that they share one measurement of the limit.
pub(crate) fn is_near(a: usize, b: usize) -> bool {
    a.abs_diff(b) * 20 <= a.max(b)
}

/// Bytes that an operation on the filter reaches at random.
pub(crate) fn working_set<S: Subject + ?Sized>(built: &Built<S>, op: Op) -> usize {
    if op == Op::Contains { built.subject.probed_bytes() } else { built.subject.memory_bytes() }
}

/// The sizes at which the limit is measured for a group.
pub(crate) fn working_sets<S: Subject + ?Sized>(built: &[Built<S>], op: Op) -> Vec<usize> {
    let mut sizes: Vec<usize> = Vec::new();
    for built in built {
        let bytes = working_set(built, op);
        if !sizes.iter().any(|size| is_near(*size, bytes)) {
            sizes.push(bytes);
        }
    }
    sizes
}

/// Cache lines that one operation of the group must read (see [`crate::roofline`]); none if that is not
/// known of the kind.
pub(crate) fn lines_per_op<S: Subject + ?Sized>(built: &Built<S>, group: &Group) -> Option<f64> {
    // Of skewed probes the lines are in the caches that come often; small filters are asked one after the other.
    if group.workload == Some(Workload::Zipf) || group.matrix == Some(Matrix::SmallFilters) {
        return None;
    }
    // The hit share of a given input is its own.
    if group.op == Op::Contains && group.input.is_some() {
        return lines_of(built.spec.kind?, group.op, None, None, None);
    }
    let hashes = built.subject.hash_count();
    lines_of(built.spec.kind?, group.op, group.workload, hashes, built.fpr_expected)
}

/// The same by what it depends on. A counting filter writes one line of bits and one of counters for each bit
/// that it inserts.
pub(crate) fn lines_of(
    kind: FilterKind,
    op: Op,
    workload: Option<Workload>,
    hash_count: Option<u32>,
    fpr_expected: Option<f64>,
) -> Option<f64> {
    use FilterKind as Kind;
    if matches!(kind, Kind::RegisterBloom | Kind::SplitBlockBloom | Kind::CacheLineBloom) {
        return Some(1.0);
    }
    // A block is a line; that some lookups go on in the next is not counted.
    if kind == Kind::CacheLineQuotient && op == Op::Contains {
        return Some(1.0);
    }
    let k = f64::from(hash_count?);
    let expected = |hit_share: f64| {
        // From the rate: an absent key passes all k bits with probability fill^k.
        let fill = fpr_expected?.powf(1.0 / k);
        let miss = (1.0 - fill.powf(k)) / (1.0 - fill);
        Some(hit_share * k + (1.0 - hit_share) * miss)
    };
    match (kind, op) {
        (Kind::Bloom | Kind::CountingBloom, Op::Contains) => match workload? {
            Workload::Hit => Some(k),
            Workload::Miss => expected(0.0),
            Workload::Mixed => expected(0.5),
            Workload::Zipf => None,
        },
        (Kind::Bloom, Op::Insert | Op::Build) => Some(k),
        (Kind::CountingBloom, Op::Insert | Op::Build) => Some(2.0 * k),
        _ => None,
    }
}
