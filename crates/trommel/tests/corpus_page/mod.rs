//! Reads the files of corpus/format-1 with the readers that are written only from docs/FORMAT.md.

use super::corpus::{Entry, Form, SECRET_KEY, WRONG_KEY, digest, manifest};
use super::{Buckets, Page, Table, block_page, is_checked_by, number};
use trommel::container::HashId;

/// If the hash function of a file has a secret key, asserts that `seed` is the check of the corpus's secret key, and
/// that a reader with another key refuses the file.
fn assert_key(entry: &Entry, hash: u64, seed: u64) {
    assert_eq!(hash == 3, entry.secret().is_some(), "{}: hash function {hash}", entry.file);
    if hash == 3 {
        assert!(is_checked_by(&SECRET_KEY, seed), "{}: refused with its key", entry.file);
        assert!(!is_checked_by(&WRONG_KEY, seed), "{}: read with another key", entry.file);
    }
}

fn read_frozen(entry: &Entry) {
    let bytes = entry.read();
    let page = Page::read(&bytes);
    assert_eq!(Some(page.kind), entry.kind.map(|kind| kind as u16), "{}", entry.file);
    let hasher = (entry.hasher.id() as u16, entry.hasher.seed());
    assert_eq!((page.hash, page.seed), hasher, "{}", entry.file);
    assert_key(entry, page.hash.into(), page.seed);
    assert_eq!(page.len, entry.len, "{}", entry.file);
    assert_eq!(page.p[..], entry.parameters, "{}", entry.file);
    let contains = page.lookup();
    entry.assert_answers("the document's reader", |hash| contains(hash.raw()));
    match page.kind {
        2 => entry.assert_counts("the document's reader", |hash| page.count_of_key(hash.raw())),
        6 | 7 => {
            let table = Table::read(page.kind, page.p, page.payload);
            entry.assert_counts("the document's reader", |hash| table.count(hash.raw()));
        }
        8 => {
            let table = Buckets::read(page.p, page.payload, page.len);
            entry.assert_counts("the document's reader", |hash| table.count(hash.raw()));
        }
        _ => assert!(entry.counts.is_empty(), "{} has counts", entry.file),
    }
}

fn read_block(entry: &Entry) {
    let bytes = entry.read();
    match block_page::open(&bytes) {
        Some((kind, hash, parameter, _)) => {
            assert_eq!(Some(kind), entry.kind.map(|kind| kind as u16), "{}", entry.file);
            assert_eq!(hash, entry.hasher.id(), "{}", entry.file);
            // A block does not contain the check of its secret key. The check is part of the policy's name, and the
            // manifest has it in the column `seed`.
            assert_key(entry, hash as u64, entry.hasher.seed());
            assert_eq!(entry.parameters, [parameter], "{}", entry.file);
        }
        None => assert!(
            bytes == [0] && entry.parameters.is_empty(),
            "{}: a block without a filter must be one zero byte, without parameters",
            entry.file
        ),
    }
    let contains = block_page::lookup(&bytes);
    entry.assert_answers("the document's reader", |hash| contains(hash.raw()));
}

fn read_hashes(entry: &Entry) {
    let bytes = entry.read();
    assert_eq!(&bytes[..8], b"TrmlHash", "{}", entry.file);
    let hash = match entry.hasher.id() {
        HashId::Xxh3 => 1,
        HashId::Xxh64 => 2,
        HashId::SipHash13 => 3,
        other => panic!("no file has hashes by {other:?}"),
    };
    assert_eq!([8, 10, 12, 14].map(|at| number(&bytes, at..at + 2)), [1, hash, 0, 0]);
    assert_eq!(number(&bytes, 16..24), entry.hasher.seed(), "{}", entry.file);
    assert_key(entry, hash, number(&bytes, 16..24));
    assert_eq!(number(&bytes, 24..32), entry.len, "{}", entry.file);
    let (body, checksum) = bytes.split_at(32 + 8 * entry.len as usize);
    assert_eq!(number(checksum, 0..8), digest(body), "{}", entry.file);
    let hashes: Vec<u64> = body[32..].chunks(8).map(|hash| number(hash, 0..8)).collect();
    entry.assert_answers("the document's reader", |hash| hashes.contains(&hash.raw()));
}

#[test]
fn readers_written_from_the_format_document_read_every_file_of_the_corpus() {
    for entry in manifest() {
        match entry.form {
            Form::Frozen => read_frozen(&entry),
            Form::Block => read_block(&entry),
            Form::Hashes => read_hashes(&entry),
        }
    }
}
