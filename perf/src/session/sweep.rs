//! The sweep over loads: filters with slots, filled from one load to the next and measured at each.

use super::{Section, Session, largest, reference_answers};
use crate::built::Built;
use crate::cli::Selection;
use crate::interleave::Repetition;
use crate::keys::{Column, KeyStream, as_hashes};
use crate::lanes::{self, Band, Removal};
use crate::plan::{Case, Group, Loads, Op, SubjectSpec, Workload, keys_at, swept_specs};
use crate::results::Shortfall;
use crate::rivals::Rival;
use crate::roofline::Arena;
use crate::slots::{Slots, is_full};
use crate::stats::round_significant;
use crate::subject::{Subject, create_slots};
use anyhow::{Context as _, Result, ensure};
use trommel::{Bitmap, Isa, KeyHash};

/// A band ends at the load and begins this many per cent of the slots below it, or at the load before;
const BAND: u32 = 2;
/// unless that is more keys than this: then it is those in its middle, so that the repetitions of slow
/// filters stay short.
const BAND_KEYS: usize = 1 << 20;

/// Probes of filters that scan whole clusters: microseconds each at high loads.
const FEW_PROBES: usize = 1 << 12;

/// Keys that are looked up after others were removed.
const KEPT_KEYS: usize = 1 << 20;

/// A filter on its way from load to load.
struct Climber {
    spec: SubjectSpec,
    filter: Box<dyn Slots>,
    keys: usize,
}

impl Climber {
    /// Fills it up to the first `keys` of `hashes`.
    fn climb(&mut self, hashes: &[KeyHash], keys: usize) -> Result<()> {
        let more = &hashes[self.keys..keys];
        if self.keys == 0 {
            self.filter.bulk(more)?;
        } else {
            self.filter.insert_batch(more)?;
        }
        self.keys = keys;
        Ok(())
    }

    /// Fills it up to a load; copies of it where the band begins and ends.
    fn climb_over(
        &mut self,
        hashes: &[KeyHash],
        place: Place,
    ) -> Result<(Box<dyn Slots>, Box<dyn Slots>)> {
        self.climb(hashes, place.band.0)?;
        let below = self.filter.copy_slots();
        self.climb(hashes, place.band.1)?;
        let above = self.filter.copy_slots();
        self.climb(hashes, place.keys)?;
        Ok((below, above))
    }
}

/// The places in the keys of one load.
#[derive(Clone, Copy, Debug)]
struct Place {
    load: u32,
    /// Keys that make the load.
    keys: usize,
    /// The band of inserts and removals.
    band: (usize, usize),
}

impl Place {
    fn of(slots: usize, before: u32, load: u32) -> Self {
        let keys_at = |load| keys_at(slots, load);
        let (keys, start) = (keys_at(load), keys_at(load.saturating_sub(BAND).max(before)));
        let excess = (keys - start).saturating_sub(BAND_KEYS);
        Self { load, keys, band: (start + excess / 2, keys - excess.div_ceil(2)) }
    }
}

/// What the groups of one load are measured on, in the order of the subjects.
struct Filled<'a> {
    built: Vec<Built<dyn Slots>>,
    /// Filters filled to where the band begins, and to where it ends.
    around_band: Vec<[Box<dyn Slots>; 2]>,
    hashes: &'a [KeyHash],
    place: Place,
}

impl Session {
    /// All loads of one number of slots.
    pub(crate) fn sweep(&mut self, sweep: &Loads) -> Result<()> {
        let loads = sweep.loads.iter().copied();
        let before = [0].into_iter().chain(loads.clone());
        let place = |(before, load)| Place::of(sweep.slots, before, load);
        let places: Vec<Place> = before.zip(loads).map(place).collect();
        let everyone = swept_specs(sweep.family, sweep.slots, &self.selection, self.isa);
        let needed = self.climbers(sweep, &everyone)?;
        let Some(most) = places.last().filter(|_| !needed.is_empty()) else {
            self.progress.steps_done(steps_of_sweep(sweep, &self.selection, self.isa));
            return Ok(());
        };
        let stream = KeyStream::new(sweep.slots as u64);
        let hashes = stream.hashes(0, most.keys);
        let absent = as_hashes(&stream.absent(self.effort.absent));
        let mut climbers = needed;
        for (index, place) in places.iter().enumerate() {
            let (family, load, slots) = (sweep.family, place.load, sweep.slots);
            self.progress.say(format!("filling {family} filters to {load} % of {slots:e} slots"));
            let filled = self.fill_to(climbers, &hashes, &places[index..], &absent)?;
            self.progress.step_done();
            let groups = chosen_groups(sweep, load, &everyone, &self.selection);
            self.measure_load(&groups, &filled, stream)?;
            climbers = filled.back();
        }
        Ok(())
    }

    /// An empty filter of each subject that has cases left to measure.
    fn climbers(&self, sweep: &Loads, everyone: &[SubjectSpec]) -> Result<Vec<Climber>> {
        let mut climbers = Vec::new();
        for spec in everyone {
            let is_needed = sweep.loads.iter().copied().any(|load| {
                let all: Vec<SubjectSpec> = everyone
                    .iter()
                    .map(|spec| spec.at_load(load))
                    .filter(|spec| {
                        let (subject, variant) = (spec.subject_name(), spec.size_name());
                        !self.results.falls_short(&subject, &variant)
                    })
                    .collect();
                sweep.groups(load).iter().any(|group| {
                    let mut missing = self.missing(group, &all).into_iter();
                    missing.any(|case| case.spec == spec.at_load(load))
                })
            });
            if is_needed {
                let filter = create_slots(spec, self.isa)?;
                climbers.push(Climber { spec: *spec, filter, keys: 0 });
            }
        }
        Ok(climbers)
    }

    /// Fills filters to the first of these loads and counts their false positives. A filter that is full
    /// before takes no part in any of them, and the results say so.
    fn fill_to<'a>(
        &mut self,
        climbers: Vec<Climber>,
        hashes: &'a [KeyHash],
        places: &[Place],
        absent: &[KeyHash],
    ) -> Result<Filled<'a>> {
        let place = places[0];
        let (mut built, mut around_band) = (Vec::new(), Vec::new());
        for mut climber in climbers {
            let spec = climber.spec.at_load(place.load);
            let name = || format!("filling {} {}", spec.subject_name(), spec.sizing);
            let (below, above) = match climber.climb_over(hashes, place) {
                Err(error) if is_full(&error) => {
                    let load_reached = climber.filter.load_factor().unwrap_or_default();
                    self.fall_short(&spec, places, load_reached);
                    continue;
                }
                around => around.with_context(name)?,
            };
            let fpr_expected = climber.filter.expected_fpr(place.keys);
            let passed = count_batch(&*climber.filter, absent);
            ensure_rate(fpr_expected, passed, absent.len()).with_context(name)?;
            let fpr_measured = Some(passed as f64 / absent.len() as f64);
            built.push(Built {
                spec,
                subject: climber.filter,
                fpr_expected,
                fpr_measured,
                absent_keys: absent.len(),
            });
            around_band.push([below, above]);
        }
        Ok(Filled { built, around_band, hashes, place })
    }

    /// Notes that a filter was full before these loads.
    fn fall_short(&mut self, spec: &SubjectSpec, places: &[Place], load_reached: f64) {
        let subject = spec.subject_name();
        let what = format!("{subject} {}", spec.sizing);
        self.progress.note(&format!("{what}: full at {:.1} %", load_reached * 100.0));
        self.results.shortfalls.extend(places.iter().map(|place| Shortfall {
            subject: subject.clone(),
            is_rival: spec.rival.is_some(),
            variant: spec.at_load(place.load).size_name(),
            load_reached: round_significant(load_reached, 4),
        }));
    }

    /// The groups of a load.
    fn measure_load(
        &mut self,
        groups: &[Group],
        filled: &Filled<'_>,
        stream: KeyStream,
    ) -> Result<()> {
        let Place { load, keys, .. } = filled.place;
        if filled.built.is_empty() {
            self.progress.steps_done(groups.len());
            return Ok(());
        }
        let arena = Arena::new(largest(&filled.built))?;
        let section = Section { keys, built: &filled.built, arena: &arena };
        let specs: Vec<SubjectSpec> = filled.built.iter().map(|built| built.spec).collect();
        for group in groups {
            let cases = self.missing(group, &specs);
            if !cases.is_empty() {
                self.progress.say(format!("{} at {} %", group.name(), load));
                if group.op == Op::Contains {
                    self.slot_lookups(group, &cases, &section, stream)?;
                } else {
                    let repetitions = cases
                        .iter()
                        .map(|case| self.slot_repetition(group, case, filled))
                        .collect::<Result<_>>()?;
                    self.time_interleaved(group, &cases, &section, repetitions)?;
                }
            }
            self.progress.step_done();
        }
        Ok(())
    }

    fn slot_lookups(
        &mut self,
        group: &Group,
        cases: &[Case],
        section: &Section<'_, dyn Slots>,
        stream: KeyStream,
    ) -> Result<()> {
        let workload = group.workload.unwrap_or(Workload::Mixed);
        let probes = stream.probes(workload, section.keys, self.probe_count(section));
        let Column::Integers(values) = probes.column else {
            unreachable!("generated keys are integers")
        };
        let hashes = as_hashes(&values);
        let few = hashes.len().min(FEW_PROBES);
        let mut members_of_few = Bitmap::new(few);
        probes.members.iter_ones().take_while(|i| *i < few).for_each(|i| members_of_few.set(i));
        let mut repetitions = Vec::new();
        for case in cases {
            let subject: &dyn Subject = &*section.find(&case.spec).subject;
            let (hashes, members) = match case.spec.rival {
                Some(Rival::TextbookQuotient) => (&hashes[..few], &members_of_few),
                _ => (&*hashes, &probes.members),
            };
            let reference = reference_answers(subject, hashes, members, &case.name)?;
            repetitions.push(lanes::lookups(
                subject,
                case.api,
                hashes,
                &reference,
                self.effort.length,
            ));
        }
        self.time_interleaved(group, cases, section, repetitions)
    }

    /// One case that is no lookup.
    fn slot_repetition<'a>(
        &self,
        group: &Group,
        case: &Case,
        filled: &'a Filled<'_>,
    ) -> Result<Repetition<'a>> {
        let Filled { built, around_band, hashes, place } = filled;
        let index = built
            .iter()
            .position(|built| built.spec == case.spec)
            .context("every needed subject was filled")?;
        let at_load = &*built[index].subject;
        let (length, (start, end)) = (self.effort.length, place.band);
        let [below, above] = &around_band[index];
        let band = Band { below: &**below, at_load: &**above, hashes: &hashes[start..end] };
        let (spec, isa) = (case.spec, self.isa);
        let bulk = |hashes: &[KeyHash]| {
            let mut filter = create_slots(&spec, isa)?;
            filter.bulk(hashes)?;
            anyhow::Ok(filter)
        };
        let keys = &hashes[..place.keys];
        Ok(match group.op {
            Op::Insert => lanes::bands(band, case.api, length),
            Op::Remove => {
                let others = &hashes[..start.min(KEPT_KEYS).min(self.effort.most_probes)];
                let due = match at_load.as_set() {
                    Some(_) => Removal::from_set(&*bulk(band.hashes)?, others),
                    None => Removal::of_each(band.hashes, others),
                };
                lanes::removals(band, due, others, length)
            }
            Op::Build => {
                lanes::bulk_builds(move || create_slots(&spec, isa), keys, at_load, length)
            }
            Op::Merge => {
                let (left, right) = keys.split_at(keys.len() / 2);
                lanes::merges([bulk(left)?, bulk(right)?], at_load, length)
            }
            Op::Enumerate => lanes::enumerations(at_load, length)?,
            Op::Contains => unreachable!("lookups share their probes"),
        })
    }
}

impl Filled<'_> {
    /// The filters, to be filled further.
    fn back(self) -> Vec<Climber> {
        let keys = self.place.keys;
        let climbers = self.built.into_iter().map(|built| Climber {
            spec: built.spec,
            filter: built.subject,
            keys,
        });
        climbers.collect()
    }
}

/// The groups of a load that are wanted.
fn chosen_groups(
    sweep: &Loads,
    load: u32,
    everyone: &[SubjectSpec],
    selection: &Selection,
) -> Vec<Group> {
    let at_load: Vec<SubjectSpec> = everyone.iter().map(|one| one.at_load(load)).collect();
    selection.choose_groups(sweep.groups(load), &at_load)
}

/// Steps of a sweep: at each load, filling and its groups; none if no group is wanted.
pub(crate) fn steps_of_sweep(sweep: &Loads, selection: &Selection, isa: Option<Isa>) -> usize {
    let everyone = swept_specs(sweep.family, sweep.slots, selection, isa);
    let loads = sweep.loads.iter();
    let groups: usize =
        loads.map(|load| chosen_groups(sweep, *load, &everyone, selection).len()).sum();
    if groups == 0 { 0 } else { sweep.loads.len() + groups }
}

fn count_batch(subject: &dyn Slots, hashes: &[KeyHash]) -> usize {
    let mut answers = Bitmap::new(0);
    subject.answer_batch(hashes, &mut answers);
    answers.count_ones()
}

/// Checks that as many of the absent keys pass as the filter expects: a count that is binomial, within
/// six of its standard deviations.
fn ensure_rate(expected: Option<f64>, passed: usize, absent: usize) -> Result<()> {
    let Some(rate) = expected else { return Ok(()) };
    let mean = rate * absent as f64;
    let deviation = (mean * (1.0 - rate)).sqrt();
    ensure!(
        (passed as f64 - mean).abs() <= 6.0 * deviation + 1.0,
        "{passed} of {absent} absent keys pass where {mean:.0} are due"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bands_end_at_the_load_or_have_its_middle() {
        let place = Place::of(1000, 75, 95);
        assert_eq!((place.keys, place.band), (950, (930, 950)));
        let large = Place::of(1 << 27, 90, 95);
        assert_eq!(large.band.1 - large.band.0, BAND_KEYS);
        let middle = keys_at(1 << 27, 94);
        assert!(middle.abs_diff((large.band.0 + large.band.1) / 2) < 2);
        assert_eq!(Place::of(1000, 0, 1).band, (0, 10));
        assert_eq!(Place::of(1000, 94, 95).band, (940, 950));
    }

    #[test]
    fn a_rate_that_is_off_is_an_error() {
        assert!(ensure_rate(Some(0.004), 4100, 1_000_000).is_ok());
        assert!(ensure_rate(Some(0.004), 4500, 1_000_000).is_err());
        assert!(ensure_rate(None, 4500, 1_000_000).is_ok());
    }
}
