//! Describes the conditions on which the figures depend: the processor, its caches, the kernel's
//! settings, the compiler. These conditions are read and never changed; a fact is `unknown` if the
//! system does not report it.

use crate::base::format::human_bytes;
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::process::Command;
use std::time::SystemTime;
use trommel::Isa;

/// The machine and the build, as they were during a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Environment {
    /// The sizes of the caches that one core uses, including caches that it shares with other cores.
    pub(crate) caches: Caches,
    /// All other facts, in the order of the report.
    pub(crate) facts: Vec<Fact>,
}

/// One line of the description.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Fact {
    /// The name of the fact.
    pub(crate) name: String,
    /// The value, or `unknown`.
    pub(crate) value: String,
}

/// The size of each cache level in bytes, if the system reports it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Caches {
    /// First-level data cache of a core.
    pub(crate) l1d: Option<u64>,
    /// Second level.
    pub(crate) l2: Option<u64>,
    /// Third level, shared.
    pub(crate) l3: Option<u64>,
}

impl Caches {
    /// Reads the cache sizes of this machine.
    pub(crate) fn observe() -> Self {
        read_caches()
    }

    /// The smallest level of memory that holds `bytes` bytes: L1, L2, LLC or DRAM. `None` if the size of L1 is unknown,
    /// or if `bytes` exceeds L1 and the size of L2 is unknown. If the size of L3 is unknown, the level beyond L2 is
    /// DRAM.
    pub(crate) fn regime(&self, bytes: u64) -> Option<&'static str> {
        if bytes <= self.l1d? {
            Some("L1")
        } else if bytes <= self.l2? {
            Some("L2")
        } else if self.l3.is_some_and(|l3| bytes <= l3) {
            Some("LLC")
        } else {
            Some("DRAM")
        }
    }
}

/// The name of the fact that says on which days a run was made.
pub(crate) const MEASURED_ON: &str = "measured on";

/// A run can resume an earlier one only if these facts are equal in both.
const IDENTITY: [&str; 9] =
    ["cpu", "cores", "isa", "huge pages", "rustc", "flags", "commit", "profile", "rivals"];

impl Environment {
    /// Describes this machine and this build; `isa` is the instruction set that the user has chosen, if any.
    pub(crate) fn observe(isa: Option<Isa>) -> Self {
        let cpuinfo = cpuinfo();
        let from_cpu = |key: &str| cpuinfo.get(key).cloned();
        let model = from_cpu("model name")
            .or_else(|| from_cpu("CPU part").map(|part| format!("part {part}")));
        let flags = from_cpu("flags").or_else(|| from_cpu("Features"));
        let facts = [
            (MEASURED_ON, Some(today())),
            ("cpu", model),
            ("cores", std::thread::available_parallelism().ok().map(|n| n.to_string())),
            ("caches of a core", describe_caches(read_caches())),
            ("isa", Some(describe_isa(isa))),
            ("cpu flags", flags.map(|flags| isa_flags(&flags))),
            ("hypervisor", flags_hypervisor(&cpuinfo)),
            ("memory", memory_bytes().map(human_bytes)),
            (
                "huge pages",
                sys_file("/sys/kernel/mm/transparent_hugepage/enabled").map(|s| chosen(&s)),
            ),
            ("governor", sys_file("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")),
            ("turbo", turbo()),
            ("smt", sys_file("/sys/devices/system/cpu/smt/control")),
            ("numa nodes", sys_file("/sys/devices/system/node/online")),
            ("steal since boot", steal_share().map(|share| format!("{:.2} %", share * 100.0))),
            ("kernel", sys_file("/proc/sys/kernel/osrelease")),
            ("rustc", Some(env!("TROMMEL_RUSTC").into())),
            ("target", Some(env!("TROMMEL_TARGET").into())),
            (
                "flags",
                Some(
                    match env!("TROMMEL_RUSTFLAGS") {
                        "" => "none",
                        given => given,
                    }
                    .into(),
                ),
            ),
            ("profile", Some(profile())),
            ("rivals", Some(env!("TROMMEL_RIVALS").into())),
            ("trommel", Some(env!("CARGO_PKG_VERSION").into())),
            ("commit", commit()),
        ];
        let facts = facts.map(|(name, value)| Fact {
            name: name.into(),
            value: value.unwrap_or_else(|| "unknown".into()),
        });
        Self { caches: read_caches(), facts: facts.into() }
    }

    /// The value of a fact; `unknown` if there is no fact of this name.
    pub(crate) fn get(&self, name: &str) -> &str {
        self.facts.iter().find(|fact| fact.name == name).map_or("unknown", |fact| &fact.value)
    }

    /// Returns the environment of a run that was resumed today. `earlier` is the value that the run's fact
    /// [`MEASURED_ON`] has had so far: one day, or the first and the last of several.
    pub(crate) fn begun_on(mut self, earlier: &str) -> Self {
        let first = earlier.split(" to ").next().unwrap_or(earlier);
        if let Some(fact) = self.facts.iter_mut().find(|fact| fact.name == MEASURED_ON)
            && first != fact.value
        {
            fact.value = format!("{first} to {}", fact.value);
        }
        self
    }

    /// The names of the facts in [`IDENTITY`] that differ. If there are any, the rows of the two
    /// runs must not be mixed.
    pub(crate) fn differences(&self, other: &Self) -> Vec<&'static str> {
        IDENTITY.into_iter().filter(|name| self.get(name) != other.get(name)).collect()
    }
}

/// The date, in Coordinated Universal Time.
fn today() -> String {
    DateTime::<Utc>::from(SystemTime::now()).format("%Y-%m-%d").to_string()
}

fn sys_file(path: &str) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// The fields of the first processor in `/proc/cpuinfo`.
fn cpuinfo() -> BTreeMap<String, String> {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    text.lines()
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.split_once(':'))
        .map(|(key, value)| (key.trim().to_owned(), value.trim().to_owned()))
        .collect()
}

/// How many caches of the first core are read: those that the kernel numbers from 0 to 7.
const CACHES_LISTED: usize = 8;

/// Reads a file of the kernel about a cache of the first core.
fn cache_file(index: usize, file: &str) -> Option<String> {
    sys_file(&format!("/sys/devices/system/cpu/cpu0/cache/index{index}/{file}"))
}

/// The number of cache lines per set in the data cache of a level, if the system reports it.
pub(crate) fn cache_ways(level: u32) -> Option<u64> {
    let is_wanted = |index: &usize| {
        cache_file(*index, "level") == Some(level.to_string())
            && cache_file(*index, "type").is_some_and(|kind| kind != "Instruction")
    };
    let index = (0..CACHES_LISTED).find(is_wanted)?;
    cache_file(index, "ways_of_associativity")?.parse().ok().filter(|ways| *ways > 0)
}

fn read_caches() -> Caches {
    let mut caches = Caches::default();
    for index in 0..CACHES_LISTED {
        let read = |file: &str| cache_file(index, file);
        let (Some(level), Some(kind), Some(size)) = (read("level"), read("type"), read("size"))
        else {
            continue;
        };
        let bytes = parse_size(&size);
        match (&*level, &*kind) {
            ("1", "Data" | "Unified") => caches.l1d = bytes,
            ("2", "Data" | "Unified") => caches.l2 = bytes,
            ("3", "Data" | "Unified") => caches.l3 = bytes,
            _ => {}
        }
    }
    caches
}

/// Parses a size in the notation of the kernel: `48K`, `2048K`, `1M`.
fn parse_size(text: &str) -> Option<u64> {
    let (digits, unit) =
        text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    let scale = match unit {
        "" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(scale)
}

fn describe_caches(caches: Caches) -> Option<String> {
    let part = |name: &str, bytes: Option<u64>| {
        format!("{name} {}", bytes.map_or("unknown".into(), human_bytes))
    };
    caches.l1d?;
    Some([part("L1d", caches.l1d), part("L2", caches.l2), part("L3", caches.l3)].join(", "))
}

fn describe_isa(asked: Option<Isa>) -> String {
    let available: Vec<String> = Isa::available().map(|isa| isa.to_string()).collect();
    let used = match asked {
        Some(isa) => format!("{isa}, as asked"),
        None => Isa::active().map_or_else(|error| error.to_string(), |isa| isa.to_string()),
    };
    format!("{used} (of {})", available.join(", "))
}

/// The processor flags that are reported: `popcnt`, `bmi2`, and the flags of vector instructions. Our kernels use some
/// of these instructions.
fn isa_flags(flags: &str) -> String {
    let is_for_kernels = |flag: &&str| {
        ["sse4_2", "popcnt", "bmi2", "avx2", "asimd", "sve", "sve2"].contains(flag)
            || flag.starts_with("avx512")
    };
    flags.split_whitespace().filter(is_for_kernels).collect::<Vec<_>>().join(" ")
}

fn flags_hypervisor(cpuinfo: &BTreeMap<String, String>) -> Option<String> {
    let flags = cpuinfo.get("flags")?;
    Some(
        if flags.split_whitespace().any(|flag| flag == "hypervisor") { "yes" } else { "no" }.into(),
    )
}

/// The size of the memory in bytes, if the system reports it.
pub(crate) fn memory_bytes() -> Option<u64> {
    let text = sys_file("/proc/meminfo")?;
    let line = text.lines().find(|line| line.starts_with("MemTotal:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    kib.checked_mul(1024)
}

/// The bracketed word of a kernel setting such as `always [madvise] never`.
fn chosen(text: &str) -> String {
    let bracketed = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    bracketed.map_or(text, |(word, _)| word).to_owned()
}

fn turbo() -> Option<String> {
    let intel = sys_file("/sys/devices/system/cpu/intel_pstate/no_turbo").map(|off| off == "0");
    let boost = sys_file("/sys/devices/system/cpu/cpufreq/boost").map(|on| on == "1");
    intel.or(boost).map(|on| if on { "on" } else { "off" }.into())
}

/// The jiffies of all processors since boot: first their total number, then the number of jiffies stolen by the
/// hypervisor.
pub(crate) fn cpu_jiffies() -> Option<(u64, u64)> {
    let text = sys_file("/proc/stat")?;
    let fields: Vec<u64> = text
        .lines()
        .next()?
        .split_whitespace()
        .skip(1)
        .filter_map(|field| field.parse().ok())
        .collect();
    // The first eight fields are user nice system idle iowait irq softirq steal. The field user already includes guest
    // time.
    Some((fields.iter().take(8).sum(), *fields.get(7)?))
}

fn steal_share() -> Option<f64> {
    let (all, stolen) = cpu_jiffies()?;
    Some(stolen as f64 / all.max(1) as f64)
}

fn profile() -> String {
    let checks = if cfg!(debug_assertions) { "on: figures mean nothing" } else { "off" };
    format!("opt-level {}, debug assertions {checks}", env!("TROMMEL_OPT_LEVEL"))
}

/// Returns the commit that `scripts/build-static` has recorded in the program. If the program was built in another way,
/// returns the commit that is checked out in the folder of the sources while the program runs, with `+changes` if
/// tracked files differ from this commit.
fn commit() -> Option<String> {
    option_env!("TROMMEL_COMMIT").map(Into::into).or_else(checked_out)
}

fn checked_out() -> Option<String> {
    let git = |arguments: &[&str]| {
        let output = Command::new("git")
            .arg("-C")
            .arg(env!("CARGO_MANIFEST_DIR"))
            .args(arguments)
            .output()
            .ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let hash = git(&["rev-parse", "--short=12", "HEAD"])?;
    let changed = git(&["status", "--porcelain", "--untracked-files=no"])
        .is_some_and(|text| !text.is_empty());
    Some(if changed { format!("{hash}+changes") } else { hash })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_regime_is_the_smallest_cache_that_holds_the_bytes() {
        let caches = Caches { l1d: Some(48 << 10), l2: Some(2 << 20), l3: Some(64 << 20) };
        let regimes =
            [1 << 10, 1 << 20, 8 << 20, 1 << 30].map(|bytes| caches.regime(bytes).unwrap());
        assert_eq!(regimes, ["L1", "L2", "LLC", "DRAM"]);
        assert_eq!(Caches::default().regime(1), None);
    }

    #[test]
    fn sizes_and_settings_of_the_kernel_are_parsed() {
        assert_eq!(parse_size("48K"), Some(49_152));
        assert_eq!(parse_size("266240K"), Some(272_629_760));
        assert_eq!(parse_size("12Q"), None);
        assert_eq!(chosen("always [madvise] never"), "madvise");
        assert_eq!(chosen("on"), "on");
    }

    #[test]
    fn rivals_are_listed_with_their_versions() {
        let environment = Environment::observe(None);
        let rivals: Vec<&str> = environment.get("rivals").split(", ").collect();
        let is_listed = |name: &str| rivals.iter().any(|rival| rival.starts_with(name));
        assert_eq!(is_listed("parquet "), cfg!(feature = "parquet"), "{rivals:?}");
        for crate_name in ["fastbloom", "qfilter", "sbbf-rs-safe", "cuckoofilter"] {
            let has_version = |rival: &&str| {
                let version =
                    rival.strip_prefix(crate_name).and_then(|rest| rest.strip_prefix(' '));
                version.is_some_and(|version| version.starts_with(|c: char| c.is_ascii_digit()))
            };
            assert!(rivals.iter().any(has_version), "{crate_name}: {rivals:?}");
        }
    }

    #[test]
    fn environments_differ_only_if_a_fact_of_the_identity_differs() {
        let environment = Environment::observe(None);
        assert!(environment.differences(&environment).is_empty());
        let mut other = environment.clone();
        other.facts.iter_mut().find(|fact| fact.name == "rustc").unwrap().value = "another".into();
        assert_eq!(environment.differences(&other), ["rustc"]);
    }
}
