//! Records the compiler, its flags and the versions of the measured crates, which the harness reports with its figures.

use std::env;
use std::fs;
use std::process::Command;

fn main() {
    let rustc = env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
    let version = Command::new(rustc)
        .arg("--version")
        .output()
        .ok()
        .and_then(|output| String::from_utf8(output.stdout).ok())
        .map_or_else(|| "unknown".into(), |text| text.trim().to_owned());
    // Cargo separates encoded flags by the ASCII unit separator.
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default().replace('\u{1f}', " ");
    println!("cargo::rustc-env=TROMMEL_RUSTC={version}");
    println!("cargo::rustc-env=TROMMEL_RUSTFLAGS={flags}");
    println!("cargo::rustc-env=TROMMEL_TARGET={}", env::var("TARGET").unwrap_or_default());
    println!("cargo::rustc-env=TROMMEL_OPT_LEVEL={}", env::var("OPT_LEVEL").unwrap_or_default());
    println!("cargo::rustc-env=TROMMEL_RIVALS={}", locked_rivals().unwrap_or_default());
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={LOCK}");
    println!("cargo::rerun-if-env-changed=CARGO_ENCODED_RUSTFLAGS");
}

/// The crates that `src/measure/rivals` measures, except our `trommel-textbook`.
const RIVALS: [&str; 8] = [
    "atomic-cuckoo-filter",
    "autoscale_cuckoo_filter",
    "cuckoofilter",
    "fastbloom",
    "parquet",
    "qfilter",
    "sbbf-rs-safe",
    "subms-cuckoo-filter",
];

/// Whether the rival is compiled into this program.
fn is_compiled(rival: &str) -> bool {
    rival != "parquet" || env::var_os("CARGO_FEATURE_PARQUET").is_some()
}

/// The path of the workspace's lock file, relative to this package.
const LOCK: &str = "../Cargo.lock";

/// Returns the compiled rivals with their locked versions: `fastbloom 0.17.0, ...`. In the lock file, the line with a
/// package's version follows the line with its name.
fn locked_rivals() -> Option<String> {
    let lock = fs::read_to_string(LOCK).ok()?;
    let quoted = |line: &str, key: &str| {
        Some(line.strip_prefix(key)?.strip_prefix(" = \"")?.strip_suffix('"')?.to_owned())
    };
    let mut lines = lock.lines().peekable();
    let mut found = Vec::new();
    while let Some(line) = lines.next() {
        let Some(name) = quoted(line, "name") else { continue };
        let version = lines.peek().and_then(|next| quoted(next, "version"));
        if RIVALS.contains(&&*name) && is_compiled(&name) {
            found.push(format!("{name} {}", version?));
        }
    }
    Some(found.join(", "))
}
