//! If the environment variable `TROMMEL_ISA` has a value that cannot be used, filters cannot be built, but frozen
//! filters answer as before.
#![cfg(feature = "std")]

use trommel::{AnyFilter, FilterKind, FilterSpec, FilterView, Insert, KeyHash, SpecError};
use trommel_testkit::process::{assert_passed, run_ignored};
use trommel_testkit::streams::distinct;

const KEYS: u64 = 1000;
const DIRECTORY: &str = "TROMMEL_TEST_DIRECTORY";

fn hashes() -> Vec<KeyHash> {
    distinct(5, 0..KEYS)
}

/// A process reads `TROMMEL_ISA` only once, so the test starts another process for each value.
#[test]
fn an_unusable_isa_is_never_reported_as_corruption() {
    let directory =
        std::env::temp_dir().join(format!("trommel-environment-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    for kind in FilterKind::ALL {
        let mut filter = FilterSpec::new(*kind).keys(KEYS as usize).fpr(0.01).build().unwrap();
        filter.insert_batch(&hashes()).unwrap();
        std::fs::write(directory.join(kind.to_string()), filter.to_bytes()).unwrap();
    }
    for name in ["avx1024", "AVX2", "neon,avx2"] {
        let variables = [("TROMMEL_ISA", name), (DIRECTORY, directory.to_str().unwrap())];
        let done = run_ignored("in_a_process_with_an_unusable_isa", &variables);
        assert_passed(&done, name);
        let output_text = String::from_utf8_lossy(&done.stderr);
        // The process prints one warning, with the value.
        assert_eq!(output_text.matches("TROMMEL_ISA").count(), 1, "{output_text}");
        assert!(output_text.contains(name), "{output_text}");
    }
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
#[ignore = "started by an_unusable_isa_is_never_reported_as_corruption"]
fn in_a_process_with_an_unusable_isa() {
    let directory = std::path::PathBuf::from(std::env::var_os(DIRECTORY).unwrap());
    let hashes = hashes();
    for kind in FilterKind::ALL {
        let bytes = std::fs::read(directory.join(kind.to_string())).unwrap();
        let filter = AnyFilter::from_bytes(&bytes).unwrap();
        let view = FilterView::parse(&bytes).unwrap();
        for hash in &hashes {
            assert!(trommel::Filter::contains_hash(&filter, *hash), "{kind} lost a key");
            assert!(trommel::Filter::contains_hash(&view, *hash), "the view of {kind} lost a key");
        }
        let refused = FilterSpec::new(*kind).keys(10).fpr(0.01).build();
        assert!(matches!(refused, Err(SpecError::Isa(_))), "{kind}: {refused:?}");
    }
}
