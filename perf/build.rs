//! Records how the harness was compiled, because the compiler and its flags travel with the figures.

use std::env;
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
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=CARGO_ENCODED_RUSTFLAGS");
}
