//! Creates the [`Repetition`] of each kind of case: a timed section, and the untimed verification of its answers.

mod lookups;
mod slots;

pub(crate) use lookups::{hashed_lookups, lookups};
pub(crate) use slots::{Band, Removal, band_inserts, bulk_builds, enumerations, merges, removals};

use crate::measure::interleave::{Meter, Repetition};
use crate::measure::roofline::{Access, Arena};
use crate::measure::subject::Subject;
use crate::model::Api;
use anyhow::{Result, ensure};
use std::hint::black_box;
use std::time::Duration;
use trommel::{Bitmap, KeyHash};

/// The intended total time of the sections of a repetition. It is long compared with the resolution of a clock and with
/// the slow start on cold caches, but short compared with the minutes within which a shared machine changes its speed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Length(pub(crate) Duration);

impl Length {
    /// The number of passes, from one to a million, that fill the length if each pass takes the time `one`.
    fn passes(self, one: Duration) -> u32 {
        (self.0.as_secs_f64() / one.as_secs_f64().max(1e-9)).clamp(1.0, 1e6) as u32
    }

    /// Whether an untimed pass should precede each repetition. It should if a pass is short, because a short pass would
    /// spend a large part of its time on cache lines that the other subjects have evicted.
    fn wants_warming(self, one: Duration) -> bool {
        one < self.0 / 2
    }
}

/// Repeats a pass, such as a lookup of each probe, to fill the length. The first repetition times a single pass, and
/// this time determines the number of passes of later repetitions.
pub(crate) struct Repeater {
    length: Length,
    one: Option<Duration>,
}

impl Repeater {
    pub(crate) fn new(length: Length) -> Self {
        Self { length, one: None }
    }

    /// Runs the passes of one repetition and returns the number of timed passes. The closure `passes` runs as many
    /// passes as its second argument says, and times them if it gets a meter.
    pub(crate) fn run(
        &mut self,
        meter: &mut Meter,
        mut passes: impl FnMut(Option<&mut Meter>, u32),
    ) -> u64 {
        let Some(one) = self.one else {
            passes(None, 1);
            passes(Some(meter), 1);
            self.one = Some(meter.elapsed());
            return 1;
        };
        if self.length.wants_warming(one) {
            passes(None, 1);
        }
        let count = self.length.passes(one);
        passes(Some(meter), count);
        u64::from(count)
    }

    /// Does the same as [`Repeater::run`], but times all passes of a repetition together, as one section.
    pub(crate) fn run_whole(&mut self, meter: &mut Meter, mut pass: impl FnMut()) -> u64 {
        self.run(meter, |meter, count| {
            let mut all = || (0..count).for_each(|_| pass());
            match meter {
                Some(meter) => meter.time(all),
                None => all(),
            }
        })
    }
}

/// The number of keys that one timed section inserts: as many as a large batch of a user has, but few enough that the
/// repetition of a slow filter stays short.
const INSERTED_AT_A_TIME: usize = 1 << 19;

/// Inserts `hashes` slice by slice into a filter whose memory pages are already mapped, and looks up every slice after
/// its insertion. When all hashes are inserted, the next slice goes into a new empty copy of the filter.
///
/// If the filter has slots, every repetition goes on until all hashes are inserted, because inserts become slower as
/// such a filter fills. If the filter has no slots, the first of several slices is not timed: with a hundred million
/// keys, the first slice in a new copy took up to fifty times as long as the third slice.
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
                _ => filter.insert_batch(slice),
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

/// Creates a filter and inserts all of `hashes` into it; the time includes the allocation and its page faults.
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
            // Every build from the same keys gives the same filter, so it is verified only once.
            if !is_verified {
                ensure_contains_all(&*filter, hashes, &mut answers)?;
                is_verified = true;
            }
            ops += hashes.len() as u64;
        }
        Ok(ops)
    })
}

/// Reads random cache lines of an array of `bytes` bytes. This measures the roofline, interleaved with the subjects
/// whose speed it limits.
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
        "{} of {} inserted keys are reported absent",
        hashes.len() - found,
        hashes.len()
    );
    Ok(())
}
