//! What one repetition of a case does: the timed section, and the verification beside it.

mod slots;

pub(crate) use slots::{Band, Removal, bands, bulk_builds, enumerations, merges, removals};

use crate::interleave::{Meter, Repetition};
use crate::keys::Column;
use crate::plan::Api;
use crate::roofline::{Access, Arena};
use crate::subject::{Scratch, Subject};
use anyhow::{Result, ensure};
use std::hint::black_box;
use std::time::Duration;
use trommel::{Bitmap, KeyHash};

/// About how long the sections of a repetition take together: long against a clock's resolution and
/// a cold start, short against the minutes in which a shared machine changes its speed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Length(pub(crate) Duration);

impl Length {
    /// Passes that fill the length, judged by the time of one.
    fn passes(self, one: Duration) -> u32 {
        (self.0.as_secs_f64() / one.as_secs_f64().max(1e-9)).clamp(1.0, 1e6) as u32
    }

    /// Whether one untimed pass before each repetition is worth its time: if a pass is short, then the
    /// lines that the other subjects have driven out of the cache are a large part of it.
    fn wants_warming(self, one: Duration) -> bool {
        one < self.0 / 2
    }
}

/// Repeats a pass until the length is filled; the first repetition finds out how many passes that is.
pub(crate) struct Repeater {
    length: Length,
    one: Option<Duration>,
}

impl Repeater {
    pub(crate) fn new(length: Length) -> Self {
        Self { length, one: None }
    }

    /// Runs the passes of one repetition; returns how many were timed.
    pub(crate) fn run(&mut self, meter: &mut Meter, mut pass: impl FnMut()) -> u64 {
        let Some(one) = self.one else {
            pass();
            meter.time(&mut pass);
            self.one = Some(meter.elapsed());
            return 1;
        };
        if self.length.wants_warming(one) {
            pass();
        }
        let passes = self.length.passes(one);
        meter.time(|| (0..passes).for_each(|_| pass()));
        u64::from(passes)
    }
}

/// Looks up all of `hashes` again and again; every repetition's count is compared with the reference's.
pub(crate) fn lookups<'a>(
    subject: &'a dyn Subject,
    api: Api,
    hashes: &'a [KeyHash],
    reference: &Bitmap,
    length: Length,
) -> Repetition<'a> {
    let expected = reference.count_ones();
    let mut answers = Bitmap::new(hashes.len());
    let mut repeater = Repeater::new(length);
    Box::new(move |meter| {
        let mut found = 0;
        let passes = repeater.run(meter, || match api {
            Api::Single => found = black_box(subject.count_single(black_box(hashes))),
            Api::Batch => {
                subject.answer_batch(black_box(hashes), &mut answers);
                black_box(answers.as_words());
            }
            Api::BatchesOf(keys) => {
                found = black_box(subject.count_batches(black_box(hashes), keys, &mut answers));
            }
        });
        if api == Api::Batch {
            found = answers.count_ones();
        }
        ensure!(
            found == expected,
            "{found} of {} probes found, the reference found {expected}",
            hashes.len()
        );
        Ok(passes * hashes.len() as u64)
    })
}

/// The same with hashing inside the timed section.
pub(crate) fn hashed_lookups<'a>(
    subject: &'a dyn Subject,
    probes: &'a Column,
    reference: &Bitmap,
    length: Length,
) -> Repetition<'a> {
    let expected = reference.count_ones();
    let mut scratch = Scratch::default();
    let mut repeater = Repeater::new(length);
    Box::new(move |meter| {
        let mut found = 0;
        let passes = repeater
            .run(meter, || found = black_box(subject.count_keys(black_box(probes), &mut scratch)));
        ensure!(
            found == expected,
            "{found} of {} probes found, the reference found {expected}",
            probes.len()
        );
        Ok(passes * probes.len() as u64)
    })
}

/// Keys that one timed section inserts: as many as a user's batch has, few enough that a slow filter's
/// repetition stays short.
const INSERTED_AT_A_TIME: usize = 1 << 19;

/// Inserts `hashes` slice by slice into a filter whose memory is there already, and begins again with
/// an empty one when all are in. Every slice is looked up after it was inserted. A filter with slots
/// takes them all in every repetition: it is the slower the fuller it is. For other filters the first of several
/// slices is not timed: with a hundred million keys, the first in a new copy took up to fifty times as long as the
/// third.
pub(crate) fn inserts<'a>(
    empty: Box<dyn Subject>,
    api: Api,
    hashes: &'a [KeyHash],
    length: Length,
) -> Repetition<'a> {
    let mut filter = empty.copy();
    let mut inserted = 0;
    let mut answers = Bitmap::new(0);
    let takes_all = empty.load_factor().is_some();
    Box::new(move |meter| {
        let mut ops = 0;
        while meter.elapsed() < length.0 || (takes_all && inserted < hashes.len()) {
            if inserted == hashes.len() {
                filter = empty.copy();
                inserted = 0;
            }
            let end = hashes.len().min(inserted + INSERTED_AT_A_TIME);
            let slice = black_box(&hashes[inserted..end]);
            let is_first_of_several = inserted == 0 && end < hashes.len();
            inserted = end;
            let mut insert = || match api {
                Api::Single => filter.insert_single(slice),
                Api::Batch | Api::BatchesOf(_) => filter.insert_batch(slice),
            };
            if is_first_of_several && !takes_all {
                insert()?;
            } else {
                meter.time(insert)?;
                ops += slice.len() as u64;
            }
            ensure_contains_all(&*filter, slice, &mut answers)?;
        }
        Ok(ops)
    })
}

/// Makes a filter and inserts all of `hashes` into it, memory and page faults included.
pub(crate) fn builds<'a>(
    create: impl Fn() -> Result<Box<dyn Subject>> + 'a,
    hashes: &'a [KeyHash],
    length: Length,
) -> Repetition<'a> {
    let mut answers = Bitmap::new(0);
    let mut is_verified = false;
    Box::new(move |meter| {
        let mut ops = 0;
        while meter.elapsed() < length.0 {
            let filter = meter.time(|| {
                let mut filter = create()?;
                filter.insert_batch(black_box(hashes))?;
                anyhow::Ok(filter)
            })?;
            // Every build of the same keys is the same filter: one full look at it is enough.
            if !is_verified {
                ensure_contains_all(&*filter, hashes, &mut answers)?;
                is_verified = true;
            }
            ops += hashes.len() as u64;
        }
        Ok(ops)
    })
}

/// Reads random cache lines of `bytes` bytes: the limit, interleaved with the subjects that it limits.
pub(crate) fn line_reads(
    arena: &Arena,
    bytes: usize,
    access: Access,
    length: Length,
) -> Repetition<'_> {
    let mut shift = 0x9E37_79B9_7F4A_7C15;
    let lines = arena.calibrate(bytes, access, length.0, &mut shift);
    let warming = (bytes / 64).min(lines / 2);
    Box::new(move |meter: &mut Meter| {
        arena.read_lines(bytes, access, warming, &mut shift);
        Ok(meter.time(|| arena.read_lines(bytes, access, lines, &mut shift)))
    })
}

fn ensure_contains_all(
    filter: &dyn Subject,
    hashes: &[KeyHash],
    answers: &mut Bitmap,
) -> Result<()> {
    filter.answer_batch(hashes, answers);
    let found = answers.count_ones();
    ensure!(
        found == hashes.len(),
        "{} of {} inserted keys denied",
        hashes.len() - found,
        hashes.len()
    );
    Ok(())
}
