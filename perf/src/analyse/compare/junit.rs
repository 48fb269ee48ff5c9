//! Writes a comparison as JUnit XML for continuous integration: one test per case of ours that all runs have.

use super::speed::Verdict;
use super::{Case, Comparison};
use anyhow::Result;
use quick_junit::{NonSuccessKind, Property, Report, TestCase, TestCaseStatus, TestSuite};

/// Writes one test suite. The tests of regressions fail. The tests of other cases are skipped if the cases are
/// unsettled or have too few repetitions.
pub(crate) fn to_junit(comparison: &Comparison) -> Result<String> {
    let mut report = Report::new("trommel-perf compare");
    let mut suite = TestSuite::new("compare");
    for (old, new) in comparison.attempts.iter().map(|it| (&it.old_commit, &it.new_commit)) {
        suite.add_property(Property::new("commits", format!("{old} and {new}")));
    }
    suite.add_properties(comparison.forced.iter().map(|it| Property::new("forced", it.as_str())));
    let ours = comparison.cases.iter().filter(|case| case.rival.is_none());
    suite.add_test_cases(ours.map(test_of));
    suite.set_system_out(comparison.summary());
    report.add_test_suite(suite);
    Ok(report.to_string()?)
}

fn test_of(case: &Case) -> TestCase {
    let speed = &case.speed;
    let message = format!(
        "{}: time {:+.1} %, drift-adjusted {:+.1} %",
        case.verdict(),
        (speed.ratio - 1.0) * 100.0,
        (speed.relative - 1.0) * 100.0
    );
    let mut status = if case.is_regression() {
        TestCaseStatus::non_success(NonSuccessKind::Failure)
    } else if matches!(speed.verdict, Verdict::Unsettled | Verdict::TooFewRepetitions) {
        TestCaseStatus::skipped()
    } else {
        TestCaseStatus::success()
    };
    status.set_message(message);
    let mut test = TestCase::new(case.to_string(), status);
    test.set_classname(format!("{}.{}", case.filter, case.isa.as_deref().unwrap_or("any")));
    test
}
