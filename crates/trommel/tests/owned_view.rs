//! A view that owns its bytes gives the answers of the frozen filter, on any thread, as long as the view lives.

use std::sync::Arc;
use trommel::container::OwnedView;
use trommel::{AnyFilter, Bitmap, Filter, FilterKind, FilterSpec, FilterView, Insert, KeyHash};
use trommel_testkit::streams::distinct;

fn filled(kind: FilterKind, hashes: &[KeyHash]) -> AnyFilter {
    let mut filter = FilterSpec::new(kind).keys(hashes.len()).fpr(0.02).build().unwrap();
    filter.insert_batch(hashes).unwrap();
    filter
}

#[test]
fn an_owned_view_of_any_holder_answers_as_its_filter() {
    let hashes = distinct(1, 0..2_000);
    let absent = distinct(2, 0..2_000);
    for kind in FilterKind::ALL {
        let filter = filled(*kind, &hashes);
        let bytes = filter.to_bytes();
        // These owners of the bytes do not align them to cache lines, so views must work without alignment.
        let holders = [
            OwnedView::parse(bytes.clone()).unwrap(),
            OwnedView::parse(bytes.clone().into_boxed_slice()).unwrap(),
            OwnedView::parse(Arc::<[u8]>::from(&bytes[..])).unwrap(),
            OwnedView::parse_trusted(bytes.clone()).unwrap(),
        ];
        for view in holders {
            assert_eq!(
                (view.kind(), view.len(), view.hasher()),
                (*kind, filter.len(), filter.hasher())
            );
            let (mut ours, mut theirs) = (Bitmap::new(0), Bitmap::new(0));
            for batch in [&hashes, &absent] {
                view.contains_batch(batch, &mut ours);
                filter.contains_batch(batch, &mut theirs);
                assert_eq!(ours, theirs, "{kind}");
            }
            for hash in hashes.iter().chain(&absent) {
                assert_eq!(view.contains_hash(*hash), filter.contains_hash(*hash), "{kind}");
            }
            assert_eq!(view.to_owned_filter().unwrap(), filter, "{kind}");
        }
    }
}

#[test]
fn clones_share_the_bytes_and_outlive_the_first() {
    let hashes = distinct(1, 0..500);
    for kind in FilterKind::ALL {
        let block: Arc<[u8]> = filled(*kind, &hashes).to_bytes().into();
        let view = OwnedView::parse(Arc::clone(&block)).unwrap();
        assert_eq!(Arc::strong_count(&block), 2, "{kind}");
        let readers: Vec<_> = (0..3)
            .map(|_| {
                let (view, hashes) = (view.clone(), hashes.clone());
                std::thread::spawn(move || hashes.iter().all(|hash| view.contains_hash(*hash)))
            })
            .collect();
        assert_eq!(Arc::strong_count(&block), 2, "{kind}: a view's clone cloned the `Arc`");
        drop(view);
        assert!(readers.into_iter().all(|reader| reader.join().unwrap()));
        assert_eq!(Arc::strong_count(&block), 1, "{kind}");
    }
}

/// An owned view refuses the same bytes as a borrowed view, with the same error.
#[test]
fn damaged_bytes_are_refused_as_in_a_borrowed_view() {
    for kind in FilterKind::ALL {
        let good = filled(*kind, &distinct(1, 0..50)).to_bytes();
        for bit in (0..good.len() * 8).step_by(7) {
            let mut bytes = good.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            let expected = FilterView::parse(&bytes).unwrap_err();
            assert_eq!(OwnedView::parse(bytes.clone()).unwrap_err(), expected, "{kind}, bit {bit}");
            let trusted = FilterView::parse_trusted(&bytes).err();
            assert_eq!(OwnedView::parse_trusted(bytes).err(), trusted, "{kind}, bit {bit}");
        }
        for len in [0, 1, 127, 128, good.len() - 1] {
            assert!(OwnedView::parse(good[..len].to_vec()).is_err());
        }
    }
}
