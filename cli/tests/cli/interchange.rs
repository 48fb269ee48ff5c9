//! Rust, the C interface and the command line read each other's files. They write the same bytes, except that the
//! command line can write other bytes for a cuckoo filter.
#![allow(unsafe_code)]
// Every pointer passed to C points to a value that outlives the call.
#![allow(clippy::undocumented_unsafe_blocks)]

use crate::support::{Folder, lines};
use std::ffi::CString;
use std::ptr::null_mut;
use trommel::{AnyFilter, Filter as _, FilterKind, FilterSpec, FilterView, Insert as _};
use trommel_capi::Status::TROMMEL_OK;
use trommel_capi::{
    Owned, trommel_contains_bytes, trommel_free, trommel_freeze, trommel_frozen_size,
    trommel_insert_bytes, trommel_new, trommel_thaw, trommel_view_contains_bytes,
    trommel_view_free, trommel_view_open,
};

const KEYS: u64 = 3_000;
const FPR: f64 = 0.02;
const SEED: u64 = 0x5eed;

/// The lines of a text without their line feeds.
fn keys(text: &[u8]) -> Vec<&[u8]> {
    text.split_inclusive(|byte| *byte == b'\n').map(|line| &line[..line.len() - 1]).collect()
}

/// Owns a filter of the C interface, and frees it on drop.
struct CFilter(*mut Owned);

impl Drop for CFilter {
    fn drop(&mut self) {
        unsafe { trommel_free(self.0) };
    }
}

impl CFilter {
    fn with_keys(kind: FilterKind, keys: &[&[u8]]) -> Self {
        let mut filter = null_mut();
        let name = CString::new(kind.name()).unwrap();
        unsafe {
            assert_eq!(trommel_new(name.as_ptr(), KEYS, FPR, SEED, &mut filter), TROMMEL_OK);
            for key in keys {
                let inserted = trommel_insert_bytes(filter, key.as_ptr().cast(), key.len());
                assert_eq!(inserted, TROMMEL_OK);
            }
        }
        Self(filter)
    }

    fn thaw(bytes: &[u8]) -> Self {
        let mut filter = null_mut();
        let thawed = unsafe { trommel_thaw(bytes.as_ptr().cast(), bytes.len(), &mut filter) };
        assert_eq!(thawed, TROMMEL_OK);
        Self(filter)
    }

    fn freeze(&self) -> Vec<u8> {
        let mut bytes = vec![0; unsafe { trommel_frozen_size(self.0) }];
        let mut written = 0;
        let (at, len) = (bytes.as_mut_ptr().cast(), bytes.len());
        assert_eq!(unsafe { trommel_freeze(self.0, at, len, &mut written) }, TROMMEL_OK);
        assert_eq!(written, len);
        bytes
    }

    fn contains(&self, key: &[u8]) -> bool {
        let mut found = false;
        let (at, len) = (key.as_ptr().cast(), key.len());
        assert_eq!(unsafe { trommel_contains_bytes(self.0, at, len, &mut found) }, TROMMEL_OK);
        found
    }
}

/// Opens a view of `bytes` through the C interface, and returns those of `keys` that the view reports as present.
fn found_by_view_of_c<'k>(bytes: &[u8], keys: &[&'k [u8]]) -> Vec<&'k [u8]> {
    let mut view = null_mut();
    let opened = unsafe { trommel_view_open(bytes.as_ptr().cast(), bytes.len(), &mut view) };
    assert_eq!(opened, TROMMEL_OK);
    let is_found = |key: &&&[u8]| {
        let mut found = false;
        let (at, len) = (key.as_ptr().cast(), key.len());
        let asked = unsafe { trommel_view_contains_bytes(view, at, len, &mut found) };
        assert_eq!(asked, TROMMEL_OK);
        found
    };
    let found = keys.iter().filter(is_found).copied().collect();
    unsafe { trommel_view_free(view) };
    found
}

/// The keys as the command line prints them, one per line.
fn printed(keys: &[&[u8]]) -> Vec<u8> {
    keys.iter().flat_map(|key| [key, &b"\n"[..]].concat()).collect()
}

/// Tests every kind of filter with every writer and every reader.
#[test]
fn rust_c_and_the_command_line_read_each_others_files() {
    let folder = Folder::new();
    let text = lines(2 * KEYS);
    let all = keys(&text);
    let held = &all[..KEYS as usize];
    folder.write("held", printed(held));
    for kind in FilterKind::ALL {
        let mut by_rust =
            FilterSpec::new(*kind).keys(held.len()).fpr(FPR).seed(SEED).build().unwrap();
        for key in held {
            by_rust.insert(*key).unwrap();
        }
        let rust = by_rust.to_bytes();
        let c = CFilter::with_keys(*kind, held).freeze();
        let (fpr, seed) = (FPR.to_string(), SEED.to_string());
        let options = ["build", "--kind", kind.name(), "--fpr", &fpr, "--seed", &seed];
        folder.run(options.iter().chain(&["-o", "line.filter", "held"])).silent();
        let line = folder.read("line.filter");
        assert!(rust == c, "{kind}: Rust and C write different bytes");
        // The bytes of a cuckoo filter depend on the order of its keys and on their division into batches. Rust and C
        // insert key by key here, but the command line inserts batches.
        assert!(
            rust == line || *kind == FilterKind::Cuckoo,
            "{kind}: Rust and the command line write different bytes"
        );

        for (writer, bytes) in [("Rust", rust), ("C", c), ("the command line", line)] {
            let case = format!("{kind} written by {writer}");
            let view = FilterView::parse(&bytes).unwrap();
            let expected: Vec<&[u8]> =
                all.iter().filter(|key| view.contains(**key)).copied().collect();
            assert!(held.iter().all(|key| view.contains(*key)), "{case}: a key is not in the view");
            assert!(expected.len() < all.len(), "{case}: every absent key is found");
            assert!(
                AnyFilter::from_bytes(&bytes).unwrap().to_bytes() == bytes,
                "{case}: Rust writes other bytes than it read"
            );

            assert!(
                found_by_view_of_c(&bytes, &all) == expected,
                "{case}: a view opened in C gives other answers than one opened in Rust"
            );
            let thawed = CFilter::thaw(&bytes);
            assert!(thawed.freeze() == bytes, "{case}: C writes other bytes than it read");
            assert!(
                all.iter().all(|key| thawed.contains(key) == view.contains(*key)),
                "{case}: a filter read by C gives other answers than a view opened in Rust"
            );

            folder.write("filter", &bytes);
            let asked = folder.feed(&text, ["query", "filter"]);
            assert!(
                asked.silent().stdout == printed(&expected),
                "{case}: the command line gives other answers than a view opened in Rust"
            );
            // The command line has no verb that copies a filter, but a merge with an empty filter makes a copy.
            let empty = FilterSpec::new(*kind).keys(held.len()).fpr(FPR).seed(SEED);
            folder.write("empty", empty.build().unwrap().to_bytes());
            folder.run(["merge", "-o", "copy", "filter", "empty"]).silent();
            let copy = folder.read("copy");
            assert!(
                copy == bytes || *kind == FilterKind::Cuckoo,
                "{case}: the command line writes other bytes than it read"
            );
            assert!(
                found_by_view_of_c(&copy, &all) == expected,
                "{case}: the command line's copy gives other answers than the original"
            );
        }
    }
}
