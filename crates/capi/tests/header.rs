//! `include/trommel.h` is what cbindgen generates from the source, with the options of `cbindgen.toml`.
//!
//! After a change of the interface, regenerate the header:
//!
//! ```sh
//! TROMMEL_WRITE_HEADER=1 cargo test -p trommel-capi --test header
//! ```

use cbindgen::{Builder, Config};
use std::path::Path;

/// The source files with exported items, in the order of the header.
const FILES: [&str; 6] = ["version", "status", "guard", "policy", "filter", "view"];

fn generated() -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config =
        Config::from_file(folder.join("cbindgen.toml")).expect("cbindgen reads its options");
    let builder = FILES.iter().fold(Builder::new().with_config(config), |builder, file| {
        builder.with_src(folder.join("src").join(file).with_extension("rs"))
    });
    let mut header = Vec::new();
    builder.generate().expect("cbindgen reads the source").write(&mut header);
    String::from_utf8(header).unwrap()
}

#[test]
fn the_committed_header_matches_the_source() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("include/trommel.h");
    let generated = generated();
    if std::env::var_os("TROMMEL_WRITE_HEADER").is_some() {
        std::fs::write(&path, &generated).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == generated,
        "{} is not current: run TROMMEL_WRITE_HEADER=1 cargo test -p trommel-capi --test header",
        path.display()
    );
}

/// Fails if [`FILES`] lacks a source file that exports a function.
#[test]
fn the_header_has_every_exported_function() {
    let header = generated();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut exported = 0;
    for file in std::fs::read_dir(folder).unwrap() {
        let source = std::fs::read_to_string(file.unwrap().path()).unwrap();
        for (_, after) in
            source.match_indices("extern \"C\" fn ").map(|(i, text)| (i, &source[i + text.len()..]))
        {
            let name = after.split('(').next().unwrap();
            assert!(header.contains(&format!("{name}(")), "{name} is not in the header");
            exported += 1;
        }
    }
    assert!(exported > 20, "found only {exported} exported functions");
}
