//! A filter that is ready to be measured, and the number of cache lines that an operation on it accesses. This number
//! is needed to compare the filter with the roofline.

use crate::measure::keys::Probes;
use crate::measure::plan::{Group, Planned, SubjectSpec};
use crate::measure::subject::{Subject, ensure_no_false_negatives};
use crate::model::{Matrix, Op, Workload};
use anyhow::Result;
use trommel::{Bitmap, FilterKind};

/// A filled filter, and its expected and measured false-positive rates.
pub(crate) struct Built<S: Subject + ?Sized = dyn Subject> {
    pub(crate) spec: SubjectSpec,
    pub(crate) subject: Box<S>,
    pub(crate) fpr_expected: Option<f64>,
    pub(crate) fpr_measured: Option<f64>,
    /// The number of absent keys on which `fpr_measured` was counted.
    pub(crate) absent_keys: usize,
}

impl Built {
    /// Verifies that the answers to the probes have no false negative, and counts the false-positive rate on the probes
    /// that are not keys.
    pub(crate) fn verified(
        case: &Planned,
        subject: Box<dyn Subject>,
        keys: usize,
        probes: &Probes,
        answers: &Bitmap,
    ) -> Result<Self> {
        ensure_no_false_negatives(&probes.members, answers, &case.name)?;
        let (found, matches) = (answers.count_ones(), probes.members.count_ones());
        let absent_keys = probes.column.len() - matches;
        let fpr_measured = (absent_keys > 0).then(|| (found - matches) as f64 / absent_keys as f64);
        let fpr_expected = subject.expected_fpr(keys);
        Ok(Self { spec: case.spec, subject, fpr_expected, fpr_measured, absent_keys })
    }
}

/// Whether two sizes differ by at most 5 % of the larger one, so that they share one measurement of the roofline.
pub(crate) fn is_near(a: usize, b: usize) -> bool {
    a.abs_diff(b) * 20 <= a.max(b)
}

/// The size, in bytes, of the memory that an operation accesses at random.
pub(crate) fn working_set<S: Subject + ?Sized>(built: &Built<S>, op: Op) -> usize {
    if op == Op::Contains { built.subject.probed_bytes() } else { built.subject.memory_bytes() }
}

/// The working-set sizes at which the roofline is measured for a group.
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

/// The number of cache lines that one operation of the group must access (see
/// [`crate::measure::roofline`]); `None` if it is not known.
pub(crate) fn lines_per_op<S: Subject + ?Sized>(built: &Built<S>, group: &Group) -> Option<f64> {
    // If probes are skewed, the cache lines of frequent probes stay in the caches. In a tree of small filters, a probe
    // is looked up in several filters. So in both cases, the number of cache lines per operation is not known.
    if group.workload == Some(Workload::Zipf) || group.matrix == Some(Matrix::SmallFilters) {
        return None;
    }
    // The share of hits in an input from files or TPC-H is not known here. So the number is known only for kinds whose
    // lookups, hits and misses alike, count as one cache line each.
    if group.op == Op::Contains && group.input.is_some() {
        return lines_of(built.spec.kind?, group.op, None, None, None);
    }
    let hashes = built.subject.hash_count();
    lines_of(built.spec.kind?, group.op, group.workload, hashes, built.fpr_expected)
}

/// The number of cache lines per operation, from the filter's kind and parameters. A counting filter writes, for each
/// bit that it sets, one cache line of bits and one of counters.
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
    // A block is one cache line. If a lookup goes on into the next block, the second cache line is not counted.
    if kind == Kind::CacheLineQuotient && op == Op::Contains {
        return Some(1.0);
    }
    let k = f64::from(hash_count?);
    let expected = |hit_share: f64| {
        // `fill` is the share of bits that are set. All k bits of an absent key are set with probability fill^k, the
        // false-positive rate. A miss ends at its first zero bit, so on average it reads 1 + fill + … + fill^(k−1)
        // lines.
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
