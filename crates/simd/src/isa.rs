//! The instruction sets that kernels, the inner loops of the filters, are written for.

use core::fmt;
use core::sync::atomic::{AtomicU16, Ordering};

/// An instruction set that a kernel can be written for. The sets of an architecture are ordered from the least to the
/// most capable. `Portable` is the lowest on every architecture.
///
/// A new filter uses [`Isa::active`] unless its builder names another set. The sets differ only in speed: all of them
/// give the same answers.
///
/// ```
/// use trommel::Isa;
/// assert!(Isa::Portable.is_available());
/// assert!(Isa::available().any(|isa| isa == Isa::best()));
/// assert_eq!("avx2".parse::<Isa>().unwrap(), Isa::Avx2);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
#[repr(u8)]
pub enum Isa {
    /// Plain Rust, compiled for the target's baseline.
    Portable = 1,
    /// aarch64 with Advanced SIMD.
    Neon = 2,
    /// x86-64 with AVX2, BMI1, BMI2, LZCNT and POPCNT (Haswell, Zen).
    Avx2 = 3,
    /// x86-64 with the AVX-512 of Skylake and Cascade Lake servers: F, BW, CD, DQ and VL, in addition to all of
    /// [`Isa::Avx2`].
    Avx512Core = 4,
    /// x86-64 with the AVX-512 of Ice Lake and Zen 4: VBMI, BITALG, IFMA and VPOPCNTDQ, in addition to all of
    /// [`Isa::Avx512Core`].
    Avx512 = 5,
    /// The instructions of [`Isa::Avx512`], with gathers in some kernels of Bloom and cuckoo filters. This set is
    /// [`Isa::best`] on processors that have its instructions and AVX512-FP16, such as Sapphire Rapids. On Zen 4, a
    /// gather takes longer than separate loads, one for each lane. Intel cores before Sapphire Rapids can slow a gather
    /// down to prevent data leaks.
    Avx512Gather = 6,
}

/// Why an instruction set cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum IsaError {
    /// The instruction set is not available: [`Isa::is_available`] returns false.
    Unavailable {
        /// The set asked for.
        asked: Isa,
        /// The fastest set that is available: [`Isa::best`].
        best: Isa,
    },
    /// The name is none of `portable`, `avx2`, `avx512-core`, `avx512`, `avx512-gather` and `neon`.
    UnknownName,
}

impl fmt::Display for IsaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unavailable { asked, best } => {
                write!(f, "this machine has no {asked}; the best it has is {best}")
            }
            Self::UnknownName => f.write_str(
                "unknown instruction set: expected portable, avx2, avx512-core, avx512, avx512-gather \
                 or neon",
            ),
        }
    }
}

impl core::error::Error for IsaError {}

crate::display_and_parse_names!(Isa, or IsaError::UnknownName => IsaError);

impl Isa {
    /// Every instruction set that kernels are written for, on any machine.
    pub const ALL: [Isa; 6] =
        [Isa::Portable, Isa::Neon, Isa::Avx2, Isa::Avx512Core, Isa::Avx512, Isa::Avx512Gather];

    /// The name in kebab case. The environment variable `TROMMEL_ISA` selects a set by this name; see [`Isa::active`].
    ///
    /// ```
    /// use trommel::Isa;
    /// assert_eq!(Isa::Avx512Core.name(), "avx512-core");
    /// ```
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            Self::Neon => "neon",
            Self::Avx2 => "avx2",
            Self::Avx512Core => "avx512-core",
            Self::Avx512 => "avx512",
            Self::Avx512Gather => "avx512-gather",
        }
    }

    /// The sets that this machine has, the least capable first. Never empty.
    ///
    /// ```
    /// use trommel::Isa;
    /// assert_eq!(Isa::available().next(), Some(Isa::Portable));
    /// ```
    pub fn available() -> impl Iterator<Item = Isa> {
        Isa::ALL.into_iter().filter(|isa| isa.is_available())
    }

    /// The fastest set of this machine: the most capable set that it has, except that [`Isa::Avx512Gather`] is left out
    /// if gathers are slow.
    ///
    /// ```
    /// use trommel::Isa;
    /// assert!(Isa::best().is_available());
    /// ```
    #[must_use]
    pub fn best() -> Isa {
        Isa::available()
            .filter(|isa| *isa != Isa::Avx512Gather || detected() & FAST_GATHERS != 0)
            .max()
            .unwrap_or(Isa::Portable)
    }

    /// Whether this machine has the set. On x86-64 without the feature `std`, and on aarch64, the answer is true only
    /// if the target that the program is compiled for guarantees the set. The sets are detected once; later calls cost
    /// one load.
    ///
    /// ```
    /// use trommel::Isa;
    /// assert!(Isa::Portable.is_available());
    /// assert!(!(Isa::Neon.is_available() && Isa::Avx2.is_available())); // no machine has both
    /// ```
    #[must_use]
    pub fn is_available(self) -> bool {
        detected() & (1 << self as u8) != 0
    }

    /// The set itself if the machine has it.
    ///
    /// ```
    /// use trommel::{Isa, error::IsaError};
    /// assert_eq!(Isa::Portable.require(), Ok(Isa::Portable));
    /// for isa in Isa::ALL.into_iter().filter(|isa| !isa.is_available()) {
    ///     assert_eq!(isa.require(), Err(IsaError::Unavailable { asked: isa, best: Isa::best() }));
    /// }
    /// ```
    ///
    /// # Errors
    /// [`IsaError::Unavailable`] if the machine does not have the set, as [`Isa::is_available`] tells.
    pub fn require(self) -> Result<Isa, IsaError> {
        if self.is_available() {
            Ok(self)
        } else {
            Err(IsaError::Unavailable { asked: self, best: Isa::best() })
        }
    }

    /// The set that filters use unless told otherwise. With the feature `std`, this is the set that the environment
    /// variable `TROMMEL_ISA` names. Without the feature, or if the variable does not exist or is empty, the set is
    /// [`Isa::best`].
    ///
    /// The variable is read once in a process, by the first call. If its value cannot be used, that call writes a line
    /// to the standard error output.
    ///
    /// ```
    /// use trommel::Isa;
    /// if std::env::var_os("TROMMEL_ISA").is_none() {
    ///     assert_eq!(Isa::active(), Ok(Isa::best()));
    /// }
    /// ```
    ///
    /// # Errors
    /// [`IsaError`] if the variable names a set that does not exist or that the machine lacks. Such a name is an error
    /// because a test run that asks for one set must not silently build filters with another set.
    pub fn active() -> Result<Isa, IsaError> {
        #[cfg(feature = "std")]
        {
            static ACTIVE: std::sync::OnceLock<Result<Isa, IsaError>> = std::sync::OnceLock::new();
            *ACTIVE.get_or_init(named_by_environment)
        }
        #[cfg(not(feature = "std"))]
        Ok(Isa::best())
    }

    /// [`Isa::active`], or [`Isa::best`] if the variable's value cannot be used. Filters that are read from bytes use
    /// this function: a wrong value of the variable is no reason to refuse the bytes.
    ///
    /// ```
    /// use trommel::Isa;
    /// assert_eq!(Isa::active_or_best(), Isa::active().unwrap_or(Isa::best()));
    /// ```
    #[must_use]
    pub fn active_or_best() -> Isa {
        Isa::active().unwrap_or_else(|_| Isa::best())
    }
}

#[cfg(feature = "std")]
fn named_by_environment() -> Result<Isa, IsaError> {
    let Some(name) = std::env::var_os(VARIABLE).filter(|name| !name.is_empty()) else {
        return Ok(Isa::best());
    };
    let named =
        name.to_str().ok_or(IsaError::UnknownName).and_then(|name| name.parse::<Isa>()?.require());
    if let Err(error) = named {
        // `eprintln!` would panic if it could not write to standard error.
        use std::io::Write;
        let _ = writeln!(std::io::stderr(), "trommel: {VARIABLE}={name:?}: {error}");
    }
    named
}

/// The variable that names the set to use.
#[cfg(feature = "std")]
const VARIABLE: &str = "TROMMEL_ISA";

/// Bit of [`detected`]: detection has run.
const HAS_RUN: u16 = 1;
/// Bit of [`detected`]: gathers are fast. This bit is above the bits of the sets.
const FAST_GATHERS: u16 = 1 << 15;

/// Checks that the sets are numbered from 1 in the order of [`Isa::ALL`], and that this list lacks no set up to
/// [`Isa::Avx512Gather`], the last one. A missing set would never be detected, and its tests would be skipped.
const _: () = {
    let mut i = 0;
    while i < Isa::ALL.len() {
        assert!(Isa::ALL[i] as usize == i + 1);
        i += 1;
    }
    assert!(Isa::Avx512Gather as usize == Isa::ALL.len());
    assert!(FAST_GATHERS > 1 << Isa::ALL.len());
};

/// The capabilities of this machine: bit `isa as u8` for every available set, and [`HAS_RUN`] and [`FAST_GATHERS`].
fn detected() -> u16 {
    static DETECTED: AtomicU16 = AtomicU16::new(0);
    let known = DETECTED.load(Ordering::Relaxed);
    if known != 0 {
        return known;
    }
    let sets = Isa::ALL.into_iter().filter(|isa| detect(*isa));
    let mut bits = sets.fold(HAS_RUN, |bits, isa| bits | (1 << isa as u8));
    if bits & (1 << Isa::Avx512Gather as u8) != 0 && has_fp16() {
        bits |= FAST_GATHERS;
    }
    DETECTED.store(bits, Ordering::Relaxed);
    bits
}

/// Whether this processor, which has AVX-512, also has AVX512-FP16. No kernel uses FP16 instructions; they are taken as
/// a sign of fast gathers, for which processors have no flag. On Sapphire Rapids, which has FP16, gathers were measured
/// to be faster than lookups key by key. On Zen 4, which has no FP16, gathers are slower than separate loads.
#[cfg(all(target_arch = "x86_64", not(miri)))]
fn has_fp16() -> bool {
    crate::kernel::cpuid(7, 0).edx >> 23 & 1 == 1
}

#[cfg(not(all(target_arch = "x86_64", not(miri))))]
fn has_fp16() -> bool {
    false
}

/// Returns whether the machine has all features of [`Isa::Avx2`], of [`Isa::Avx512Core`] and of [`Isa::Avx512`]. The
/// macro `$has` evaluates to whether it has one feature.
#[cfg(target_arch = "x86_64")]
macro_rules! x86_sets_by {
    ($has:ident) => {{
        let avx2 =
            $has!("avx2") && $has!("bmi1") && $has!("bmi2") && $has!("popcnt") && $has!("lzcnt");
        let core = avx2
            && $has!("avx512f")
            && $has!("avx512bw")
            && $has!("avx512dq")
            && $has!("avx512cd")
            && $has!("avx512vl");
        let whole = core
            && $has!("avx512vbmi")
            && $has!("avx512bitalg")
            && $has!("avx512ifma")
            && $has!("avx512vpopcntdq");
        (avx2, core, whole)
    }};
}

#[cfg(all(target_arch = "x86_64", feature = "std"))]
fn x86_sets() -> (bool, bool, bool) {
    use std::is_x86_feature_detected as has;
    x86_sets_by!(has)
}

// Without the standard library, a set is available only if the target guarantees its features. (In this
// file, only `has_fp16` still queries the processor.)
#[cfg(all(target_arch = "x86_64", not(feature = "std")))]
fn x86_sets() -> (bool, bool, bool) {
    macro_rules! has {
        ($feature:tt) => {
            cfg!(target_feature = $feature)
        };
    }
    x86_sets_by!(has)
}

#[cfg(target_arch = "x86_64")]
fn detect(isa: Isa) -> bool {
    let (avx2, core, whole) = x86_sets();
    match isa {
        Isa::Portable => true,
        Isa::Neon => false,
        Isa::Avx2 => avx2,
        Isa::Avx512Core => core,
        Isa::Avx512 | Isa::Avx512Gather => whole,
    }
}

#[cfg(target_arch = "aarch64")]
fn detect(isa: Isa) -> bool {
    match isa {
        Isa::Portable => true,
        Isa::Neon => cfg!(target_feature = "neon"),
        Isa::Avx2 | Isa::Avx512Core | Isa::Avx512 | Isa::Avx512Gather => false,
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn detect(isa: Isa) -> bool {
    isa == Isa::Portable
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for isa in Isa::ALL {
            assert_eq!(std::string::ToString::to_string(&isa).parse(), Ok(isa));
        }
        assert_eq!("AVX2".parse::<Isa>(), Err(IsaError::UnknownName));
        assert_eq!("".parse::<Isa>(), Err(IsaError::UnknownName));
    }

    #[test]
    fn a_set_the_machine_lacks_is_a_typed_error() {
        for isa in Isa::ALL {
            match isa.require() {
                Ok(got) => assert!(got == isa && isa.is_available()),
                Err(IsaError::Unavailable { asked, best }) => {
                    assert!(asked == isa && !isa.is_available() && best == Isa::best());
                }
                Err(other) => panic!("unexpected {other}"),
            }
        }
        // No machine has both NEON and AVX2.
        assert!(!(Isa::Neon.is_available() && Isa::Avx2.is_available()));
    }

    #[cfg(all(target_arch = "x86_64", feature = "std"))]
    #[test]
    fn a_set_is_available_exactly_if_its_instructions_are_detected() {
        use std::is_x86_feature_detected as has;
        let avx2 = has!("avx2") & has!("bmi1") & has!("bmi2") & has!("popcnt") & has!("lzcnt");
        let core = avx2 & has!("avx512f") & has!("avx512bw") & has!("avx512dq") & has!("avx512cd");
        let core = core & has!("avx512vl");
        let more = has!("avx512vbmi") & has!("avx512bitalg") & has!("avx512ifma");
        let avx512 = core & more & has!("avx512vpopcntdq");
        let expected = [true, false, avx2, core, avx512, avx512];
        assert_eq!(Isa::ALL.map(Isa::is_available), expected);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn gathers_are_best_exactly_if_linux_reports_fp16() {
        let Ok(text) = std::fs::read_to_string("/proc/cpuinfo") else { return };
        let has_fp16 = text.split_ascii_whitespace().any(|word| word == "avx512_fp16");
        let gathers = has_fp16 && Isa::Avx512Gather.is_available();
        assert_eq!(Isa::best() == Isa::Avx512Gather, gathers);
        assert_eq!(Isa::Avx512Gather.is_available(), Isa::Avx512.is_available());
    }
}
