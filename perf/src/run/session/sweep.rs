//! The sweep over loads: filters with slots are filled from one load to the next and measured at each load.

use super::verify::verified_lookups;
use super::{FilledFilters, Session, largest};
use crate::base::stats::round_significant;
use crate::measure::built::Built;
use crate::measure::factory::create_slots;
use crate::measure::interleave::Repetition;
use crate::measure::keys::{Column, KeyStream, as_hashes};
use crate::measure::plan::{Group, Loads, Planned, Selection, SubjectSpec, swept_specs};
use crate::measure::repetition;
use crate::measure::repetition::{Band, Removal};
use crate::measure::roofline::Arena;
use crate::measure::slots::{Slots, is_full};
use crate::measure::subject::Subject;
use crate::model::{Op, Rival, Shortfall, Workload, keys_at};
use anyhow::{Context as _, Result, ensure};
use trommel::{Bitmap, Isa, KeyHash};

/// The largest width of a band, in percentage points of load. A band is the range of keys that are inserted or removed
/// in the cases of one load. The band ends at this load, and begins [`BAND`] points below the load, or at the previous
/// load of the sweep if that is nearer.
const BAND: u32 = 2;
/// The most keys of a band, so that the repetitions of slow filters stay short. A larger band is
/// reduced to the keys in its middle, and then ends below the load.
const BAND_KEYS: usize = 1 << 20;

/// The most probes for the textbook quotient filter, which scans whole clusters: at high loads, each lookup takes
/// microseconds.
const TEXTBOOK_PROBES: usize = 1 << 12;

/// After removals, at most this many of the keys that were not removed are looked up.
const KEPT_KEYS: usize = 1 << 20;

/// A filter that is filled from load to load.
struct GrowingFilter {
    spec: SubjectSpec,
    filter: Box<dyn Slots>,
    /// The number of keys inserted so far.
    keys: usize,
}

impl GrowingFilter {
    /// Inserts keys until the filter holds the first `keys` of `hashes`.
    fn fill_up_to(&mut self, hashes: &[KeyHash], keys: usize) -> Result<()> {
        let more = &hashes[self.keys..keys];
        if self.keys == 0 {
            self.filter.bulk(more)?;
        } else {
            self.filter.insert_batch(more)?;
        }
        self.keys = keys;
        Ok(())
    }

    /// Fills the filter up to a load. Returns two copies of the filter, made at the start and at the end of the band.
    fn fill_over_band(
        &mut self,
        hashes: &[KeyHash],
        point: LoadPoint,
    ) -> Result<(Box<dyn Slots>, Box<dyn Slots>)> {
        self.fill_up_to(hashes, point.band.0)?;
        let below = self.filter.copy_slots();
        self.fill_up_to(hashes, point.band.1)?;
        let above = self.filter.copy_slots();
        self.fill_up_to(hashes, point.keys)?;
        Ok((below, above))
    }
}

/// A load, the number of keys that gives this load, and the part of the sequence of keys that is the band of the load.
#[derive(Clone, Copy, Debug)]
struct LoadPoint {
    load: u32,
    /// The number of keys that gives the load.
    keys: usize,
    /// The first and the past-the-end position of the band.
    band: (usize, usize),
}

impl LoadPoint {
    fn of(slots: usize, before: u32, load: u32) -> Self {
        let keys_at = |load| keys_at(slots, load);
        let (keys, start) = (keys_at(load), keys_at(load.saturating_sub(BAND).max(before)));
        let excess = (keys - start).saturating_sub(BAND_KEYS);
        Self { load, keys, band: (start + excess / 2, keys - excess.div_ceil(2)) }
    }
}

/// The filters of all subjects at one load, on which the groups of this load are measured.
struct Filled<'a> {
    built: Vec<Built<dyn Slots>>,
    /// For each filter, copies made at the start and at the end of the band.
    around_band: Vec<[Box<dyn Slots>; 2]>,
    hashes: &'a [KeyHash],
    point: LoadPoint,
}

impl Session {
    /// Measures all loads of one family and number of slots.
    pub(crate) fn sweep(&mut self, sweep: &Loads) -> Result<()> {
        let loads = sweep.loads.iter().copied();
        let before = [0].into_iter().chain(loads.clone());
        let point = |(before, load)| LoadPoint::of(sweep.slots, before, load);
        let points: Vec<LoadPoint> = before.zip(loads).map(point).collect();
        let subjects = swept_specs(sweep.family, sweep.slots, &self.selection, self.isa);
        let needed = self.empty_filters(sweep, &subjects)?;
        let Some(most) = points.last().filter(|_| !needed.is_empty()) else {
            self.progress.steps_done(steps_of_sweep(sweep, &self.selection, self.isa));
            return Ok(());
        };
        let stream = KeyStream::new(sweep.slots as u64);
        let hashes = stream.hashes(0, most.keys);
        let absent = as_hashes(&stream.absent(self.effort.absent));
        let mut growing = needed;
        for (index, point) in points.iter().enumerate() {
            let (family, load, slots) = (sweep.family, point.load, sweep.slots);
            self.progress.say(format!("filling {family} filters to {load} % of {slots:e} slots"));
            let filled = self.fill_to(growing, &hashes, &points[index..], &absent)?;
            self.progress.step_done();
            let groups = chosen_groups(sweep, load, &subjects, &self.selection);
            self.measure_load(&groups, &filled, stream)?;
            growing = filled.into_growing();
        }
        Ok(())
    }

    /// Creates an empty filter for each subject that has cases left to measure.
    fn empty_filters(&self, sweep: &Loads, subjects: &[SubjectSpec]) -> Result<Vec<GrowingFilter>> {
        let mut growing = Vec::new();
        for spec in subjects {
            let is_needed = sweep.loads.iter().copied().any(|load| {
                let all: Vec<SubjectSpec> = subjects
                    .iter()
                    .map(|spec| spec.at_load(load))
                    .filter(|spec| !self.results.falls_short(&spec.case()))
                    .collect();
                sweep.groups(load).iter().any(|group| {
                    let mut missing = self.missing(group, &all).into_iter();
                    missing.any(|case| case.spec == spec.at_load(load))
                })
            });
            if is_needed {
                let filter = create_slots(spec, self.isa)?;
                growing.push(GrowingFilter { spec: *spec, filter, keys: 0 });
            }
        }
        Ok(growing)
    }

    /// Fills filters to the first of `points`, and measures their false-positive rates. If a filter is full before it
    /// reaches this point, it is dropped, and a [`Shortfall`] is recorded for each of `points`.
    ///
    /// # Errors
    ///
    /// If an insert fails for another reason, or if a false-positive rate is too far from the expected rate.
    fn fill_to<'a>(
        &mut self,
        growing: Vec<GrowingFilter>,
        hashes: &'a [KeyHash],
        points: &[LoadPoint],
        absent: &[KeyHash],
    ) -> Result<Filled<'a>> {
        let point = points[0];
        let (mut built, mut around_band) = (Vec::new(), Vec::new());
        for mut next in growing {
            let spec = next.spec.at_load(point.load);
            let name = || format!("filling {} {}", spec.subject_name(), spec.sizing);
            let (below, above) = match next.fill_over_band(hashes, point) {
                Err(error) if is_full(&error) => {
                    let load_reached = next.filter.load_factor().unwrap_or_default();
                    self.record_shortfall(&spec, points, load_reached);
                    continue;
                }
                copies => copies.with_context(name)?,
            };
            let fpr_expected = next.filter.expected_fpr(point.keys);
            let false_positives = count_batch(&*next.filter, absent);
            ensure_fpr(fpr_expected, false_positives, absent.len()).with_context(name)?;
            let fpr_measured = Some(false_positives as f64 / absent.len() as f64);
            built.push(Built {
                spec,
                subject: next.filter,
                fpr_expected,
                fpr_measured,
                absent_keys: absent.len(),
            });
            around_band.push([below, above]);
        }
        Ok(Filled { built, around_band, hashes, point })
    }

    /// Prints and records that a filter was full before it reached the loads of `points`.
    fn record_shortfall(&mut self, spec: &SubjectSpec, points: &[LoadPoint], load_reached: f64) {
        let subject = spec.subject_name();
        let name = format!("{subject} {}", spec.sizing);
        self.progress.note(&format!("{name}: full at {:.1} %", load_reached * 100.0));
        self.results.shortfalls.extend(points.iter().map(|point| Shortfall {
            case: spec.at_load(point.load).case(),
            load_reached: round_significant(load_reached, 4),
        }));
    }

    /// Measures the groups of a load.
    fn measure_load(
        &mut self,
        groups: &[Group],
        filled: &Filled<'_>,
        stream: KeyStream,
    ) -> Result<()> {
        let LoadPoint { load, keys, .. } = filled.point;
        if filled.built.is_empty() {
            self.progress.steps_done(groups.len());
            return Ok(());
        }
        let arena = Arena::new(largest(&filled.built))?;
        let filters = FilledFilters { keys, built: &filled.built, arena: &arena };
        let specs: Vec<SubjectSpec> = filled.built.iter().map(|built| built.spec).collect();
        for group in groups {
            let cases = self.missing(group, &specs);
            if !cases.is_empty() {
                self.progress.say(format!("{} at {} %", group.name(), load));
                if group.op == Op::Contains {
                    self.slot_lookups(group, &cases, &filters, stream)?;
                } else {
                    let repetitions = cases
                        .iter()
                        .map(|case| self.slot_repetition(group, case, filled))
                        .collect::<Result<_>>()?;
                    self.time_interleaved(group, &cases, &filters, repetitions)?;
                }
            }
            self.progress.step_done();
        }
        Ok(())
    }

    fn slot_lookups(
        &mut self,
        group: &Group,
        cases: &[Planned],
        filters: &FilledFilters<'_, dyn Slots>,
        stream: KeyStream,
    ) -> Result<()> {
        let workload = group.workload.unwrap_or(Workload::Mixed);
        let probes = stream.probes(workload, filters.keys, self.probe_count(filters));
        let Column::Integers(values) = probes.column else {
            unreachable!("generated keys are integers")
        };
        let hashes = as_hashes(&values);
        let few = hashes.len().min(TEXTBOOK_PROBES);
        let mut first_members = Bitmap::new(few);
        probes.members.iter_ones().take_while(|i| *i < few).for_each(|i| first_members.set(i));
        let length = self.effort.length;
        let mut repetitions = Vec::new();
        for case in cases {
            let subject: &dyn Subject = &*filters.find(&case.spec).subject;
            let (hashes, members) = match case.spec.rival {
                Some(Rival::TextbookQuotient) => (&hashes[..few], &first_members),
                _ => (&*hashes, &probes.members),
            };
            repetitions.push(verified_lookups(subject, case, hashes, members, length)?);
        }
        self.time_interleaved(group, cases, filters, repetitions)
    }

    /// Returns the repetition of a case other than lookups.
    fn slot_repetition<'a>(
        &self,
        group: &Group,
        case: &Planned,
        filled: &'a Filled<'_>,
    ) -> Result<Repetition<'a>> {
        let Filled { built, around_band, hashes, point } = filled;
        let index = built
            .iter()
            .position(|built| built.spec == case.spec)
            .context("a subject that the case needs was not filled")?;
        let at_load = &*built[index].subject;
        let (length, (start, end)) = (self.effort.length, point.band);
        let [below, above] = &around_band[index];
        let band = Band { below: &**below, at_load: &**above, hashes: &hashes[start..end] };
        let (spec, isa) = (case.spec, self.isa);
        let bulk = |hashes: &[KeyHash]| {
            let mut filter = create_slots(&spec, isa)?;
            filter.bulk(hashes)?;
            anyhow::Ok(filter)
        };
        let keys = &hashes[..point.keys];
        Ok(match group.op {
            Op::Insert => repetition::band_inserts(band, case.case.calls.api, length),
            Op::Remove => {
                let others = &hashes[..start.min(KEPT_KEYS).min(self.effort.most_probes)];
                let expected = match at_load.as_set() {
                    Some(_) => Removal::from_set(&*bulk(band.hashes)?, others),
                    None => Removal::of_each(band.hashes, others),
                };
                repetition::removals(band, expected, others, length)
            }
            Op::Build => {
                repetition::bulk_builds(move || create_slots(&spec, isa), keys, at_load, length)
            }
            Op::Merge => {
                let (left, right) = keys.split_at(keys.len() / 2);
                repetition::merges([bulk(left)?, bulk(right)?], at_load, length)
            }
            Op::Enumerate => repetition::enumerations(at_load, length)?,
            Op::Contains => unreachable!("lookups are measured by `slot_lookups`"),
        })
    }
}

impl Filled<'_> {
    /// Returns the filters, so that they can be filled further.
    fn into_growing(self) -> Vec<GrowingFilter> {
        let keys = self.point.keys;
        let growing = self.built.into_iter().map(|built| GrowingFilter {
            spec: built.spec,
            filter: built.subject,
            keys,
        });
        growing.collect()
    }
}

/// Returns the selected groups of a load.
fn chosen_groups(
    sweep: &Loads,
    load: u32,
    subjects: &[SubjectSpec],
    selection: &Selection,
) -> Vec<Group> {
    let at_load: Vec<SubjectSpec> = subjects.iter().map(|spec| spec.at_load(load)).collect();
    selection.choose_groups(sweep.groups(load), &at_load)
}

/// Returns the number of progress steps of a sweep: one per group, and one per load for filling. Zero if no group is
/// selected.
pub(crate) fn steps_of_sweep(sweep: &Loads, selection: &Selection, isa: Option<Isa>) -> usize {
    let subjects = swept_specs(sweep.family, sweep.slots, selection, isa);
    let loads = sweep.loads.iter();
    let groups: usize =
        loads.map(|load| chosen_groups(sweep, *load, &subjects, selection).len()).sum();
    if groups == 0 { 0 } else { sweep.loads.len() + groups }
}

fn count_batch(subject: &dyn Slots, hashes: &[KeyHash]) -> usize {
    let mut answers = Bitmap::new(0);
    subject.answer_batch(hashes, &mut answers);
    answers.count_ones()
}

/// Checks that the number of false positives differs from the expected number by at most 1 plus six standard deviations
/// of a binomial distribution.
fn ensure_fpr(expected: Option<f64>, false_positives: usize, absent: usize) -> Result<()> {
    let Some(fpr) = expected else { return Ok(()) };
    let mean = fpr * absent as f64;
    let deviation = (mean * (1.0 - fpr)).sqrt();
    ensure!(
        (false_positives as f64 - mean).abs() <= 6.0 * deviation + 1.0,
        "{false_positives} of {absent} absent keys are false positives, expected {mean:.0}"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bands_end_at_the_load_or_are_the_middle_of_a_large_range() {
        let point = LoadPoint::of(1000, 75, 95);
        assert_eq!((point.keys, point.band), (950, (930, 950)));
        let large = LoadPoint::of(1 << 27, 90, 95);
        assert_eq!(large.band.1 - large.band.0, BAND_KEYS);
        let middle = keys_at(1 << 27, 94);
        assert!(middle.abs_diff((large.band.0 + large.band.1) / 2) < 2);
        assert_eq!(LoadPoint::of(1000, 0, 1).band, (0, 10));
        assert_eq!(LoadPoint::of(1000, 94, 95).band, (940, 950));
    }

    #[test]
    fn an_unexpected_false_positive_rate_is_an_error() {
        // 4000 false positives are expected, and six standard deviations are 379.
        assert!(ensure_fpr(Some(0.004), 4100, 1_000_000).is_ok());
        assert!(ensure_fpr(Some(0.004), 4500, 1_000_000).is_err());
        assert!(ensure_fpr(None, 4500, 1_000_000).is_ok());
    }
}
