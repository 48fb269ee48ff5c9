//! serde reads and writes filters as frozen bytes: as a byte string, or, in JSON, as a sequence of numbers.

use serde::de::value::{BytesDeserializer, Error};
use serde::{Deserialize, Serialize};
use trommel::{AnyFilter, Filter, FilterKind, FilterSpec, Insert};

fn filter(kind: FilterKind) -> AnyFilter {
    let mut filter = FilterSpec::new(kind).keys(100).fpr(0.01).seed(3).build().unwrap();
    for key in 0..100u64 {
        filter.insert(&key).unwrap();
    }
    filter
}

#[test]
fn a_byte_string_is_the_frozen_filter() {
    for kind in FilterKind::ALL {
        let filter = filter(*kind);
        let bytes = filter.to_bytes();
        let read = AnyFilter::deserialize(BytesDeserializer::<Error>::new(&bytes)).unwrap();
        assert_eq!(read, filter);
    }
}

#[test]
fn json_has_a_sequence_of_numbers() {
    #[derive(Serialize, Deserialize)]
    struct Block {
        name: String,
        filter: AnyFilter,
    }
    for kind in FilterKind::ALL {
        let block = Block { name: "orders".into(), filter: filter(*kind) };
        let json = serde_json::to_string(&block).unwrap();
        let read: Block = serde_json::from_str(&json).unwrap();
        assert!(read.filter == block.filter && read.name == block.name);
        assert!(read.filter.contains(&7u64));
        assert_eq!(serde_json::to_value(&block).unwrap()["filter"][0], b'T');
    }
}

#[test]
fn damaged_bytes_are_refused_with_the_reason() {
    let mut bytes = filter(FilterKind::Cuckoo).to_bytes();
    *bytes.last_mut().unwrap() ^= 1;
    let error = AnyFilter::deserialize(BytesDeserializer::<Error>::new(&bytes)).unwrap_err();
    assert!(error.to_string().contains("checksum"), "{error}");
    let hasher = trommel::Hasher::siphash13([7; 16]);
    let bytes = FilterSpec::new(FilterKind::Cuckoo).hasher(hasher).build().unwrap().to_bytes();
    let error = AnyFilter::deserialize(BytesDeserializer::<Error>::new(&bytes)).unwrap_err();
    assert!(error.to_string().contains("secret key"), "{error}");
    for json in ["[84, 82]", "[300]", "\"TROMMEL\"", "[]", "{}"] {
        assert!(serde_json::from_str::<AnyFilter>(json).is_err(), "{json} was accepted");
    }
}
