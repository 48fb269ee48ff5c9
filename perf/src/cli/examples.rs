//! The examples at the end of each verb's `--help`.

pub(super) const PROGRAM: &str = "\
Examples:
  trommel-perf
  trommel-perf measure --full
  trommel-perf report perf-out
Exit codes: 0 done, 1 a wrong answer or another failure, 2 input that cannot be used or output that cannot be
written, 3 a regression found by compare, 4 cases that compare could not decide, 5 another run writes to the output
directory.";

pub(super) const MEASURE: &str = "\
Examples:
  trommel-perf measure --quick
  trommel-perf measure
  trommel-perf measure -f 'miss.*split-block' --keys 1e5,1e6
  trommel-perf measure -f cuckoo --load 75,85,95 --out loads
  trommel-perf measure -f engine --threads 1,2
  trommel-perf measure --full --resume
  trommel-perf measure --keys-file words.txt --probes-file probes.txt";

pub(super) const CHECK: &str = "\
Examples:
  trommel-perf check
  trommel-perf check --isa portable";

pub(super) const COMPARE: &str = "\
Examples:
  trommel-perf compare before after
  trommel-perf compare --old a1 a2 --new b1 b2 --min-effect 3 --all
  trommel-perf compare before after --json compare.json --junit compare.xml
  trommel-perf compare before after --allow-undecided
Exit codes: 0 no regression, 2 runs that cannot be compared, 3 a regression, 4 no regression, but cases of ours that
are unsettled or have too few repetitions, or that the old program has and that were not measured in every run.
An attempt is a pair of runs, an old and a new one. If other programs took more than 5 % of the time of a run, its
attempt does not count, provided that at least three other attempts remain.";

pub(super) const REPORT: &str = "\
Examples:
  trommel-perf report perf-out
  trommel-perf report perf-out results/zen-3
  trommel-perf report perf-out --history counts.csv
  trommel-perf report perf-out --splice RESULTS.md
  trommel-perf report perf-out --splice RESULTS.md --part engine";

pub(super) const TEXTBOOK: &str = "\
Examples:
  trommel-perf textbook --quick
  trommel-perf textbook --out textbook --plots docs/plots --splice docs/textbook.md";

pub(super) const ADVISE: &str = "\
Examples:
  trommel-perf advise --keys 1e7 --fpr 0.01 --miss-cost 20000
  trommel-perf advise --keys 1e6 --memory 2MiB --miss-cost 500 --hit-rate 0.5 --need delete
  trommel-perf advise --keys 1e7 --bits-per-key 12 --miss-cost 20000 --from perf-out";

pub(super) const CALIBRATE: &str = "\
Examples:
  trommel-perf calibrate --out here
  trommel-perf measure -f engine --cost-model here/calibration.json";

pub(super) const ROOFLINE: &str = "\
Examples:
  trommel-perf roofline";

pub(super) const ENV: &str = "\
Examples:
  trommel-perf env";

pub(super) const LIST: &str = "\
Examples:
  trommel-perf list
  trommel-perf list -f 'miss/1e6'
  trommel-perf list -f '^contains/miss/1e6/split-block-bloom/12-bit/batch$' --keys 1e6";

pub(super) const COMPLETIONS: &str = "\
Examples:
  trommel-perf completions bash
  trommel-perf completions fish";

pub(super) const MAN: &str = "\
Examples:
  trommel-perf man man1";
