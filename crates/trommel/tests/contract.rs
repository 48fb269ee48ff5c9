//! Every kind under the contract, through the face that chooses it at run time.

use trommel::sizing::{blocked_fpr, split_fpr, standard_fpr};
use trommel::{
    AnyFilter, Filter, FilterKind, FilterSpec, FilterView, FormatError, Insert, Isa, Spec,
    SpecError,
};
use trommel_testkit::subject::{Estimate, Subject};
use trommel_testkit::{contract_suite, estimate_suite};

/// What a spec says, said to the face.
fn filter_spec(kind: FilterKind, spec: &Spec) -> FilterSpec {
    let mut said = FilterSpec::new(kind)
        .keys(spec.keys)
        .hasher(spec.hasher)
        .huge_pages(spec.huge_pages)
        .foldable_by(spec.foldable_by)
        .compact(spec.compact);
    if let Some(fpr) = spec.fpr {
        said = said.fpr(fpr);
    }
    if let Some(bytes) = spec.memory_bytes {
        said = said.memory_bytes(bytes);
    }
    if let Some(isa) = spec.isa {
        said = said.isa(isa);
    }
    said
}

/// The rate of the kind's equation for a filter of this shape.
fn sizing_fpr(filter: &AnyFilter, keys: usize) -> f64 {
    let load = |units: u64| keys as f64 / units as f64;
    let hashes = filter.hash_count();
    match filter {
        AnyFilter::Bloom(bloom) => standard_fpr(64.0 / load(bloom.geometry().units), hashes),
        AnyFilter::CountingBloom(bloom) => {
            standard_fpr(64.0 / load(bloom.geometry().units), hashes)
        }
        AnyFilter::RegisterBloom(bloom) => blocked_fpr(64, hashes, load(bloom.geometry().units)),
        AnyFilter::SplitBlockBloom(bloom) => split_fpr(8, 32, load(bloom.geometry().units)),
        AnyFilter::CacheLineBloom(bloom) => split_fpr(8, 64, load(bloom.geometry().units)),
        other => panic!("the tests know no equation of {}", other.kind()),
    }
}

/// A subject for each kind, with the golden digest that its family's own tests have too: the face
/// adds nothing to the bytes.
macro_rules! kinds {
    ($($module:ident, $estimate:ident: $kind:ident, $golden:literal, $probes_per_key:literal;)*) => {
        /// Every kind there is stands trial below.
        #[test]
        fn no_kind_is_left_out() {
            assert_eq!(FilterKind::ALL, [$(FilterKind::$kind),*]);
        }

        $(
            struct $kind;

            impl Subject for $kind {
                type Filter = AnyFilter;
                type View<'a> = FilterView<'a>;
                const GOLDEN: u64 = $golden;
                const PROBES_PER_KEY: f64 = $probes_per_key;

                fn build(spec: &Spec) -> Result<AnyFilter, SpecError> {
                    let filter = filter_spec(FilterKind::$kind, spec).build()?;
                    assert_eq!(filter.kind(), FilterKind::$kind);
                    Ok(filter)
                }
                fn isa(filter: &AnyFilter) -> Isa {
                    filter.isa()
                }
                fn sizing_fpr(filter: &AnyFilter, keys: usize) -> f64 {
                    sizing_fpr(filter, keys)
                }
                fn to_bytes(filter: &AnyFilter) -> Vec<u8> {
                    filter.to_bytes()
                }
                fn write_to(filter: &AnyFilter, to: &mut dyn std::io::Write) -> std::io::Result<()> {
                    filter.write_to(to)
                }
                fn from_bytes(bytes: &[u8]) -> Result<AnyFilter, FormatError> {
                    AnyFilter::from_bytes(bytes)
                }
                fn view(bytes: &[u8]) -> Result<FilterView<'_>, FormatError> {
                    FilterView::parse(bytes)
                }
            }

            impl Estimate for $kind {
                fn estimate_keys(filter: &AnyFilter) -> f64 {
                    filter.estimate_keys()
                }
            }

            contract_suite!($module, $kind);
            estimate_suite!($estimate, $kind);
        )*
    };
}

kinds! {
    bloom, bloom_estimate: Bloom, 0xb003_90df_bdcd_d182, 0.25;
    counting_bloom, counting_bloom_estimate: CountingBloom, 0x9c20_4976_0469_b840, 2.0;
    register_bloom, register_bloom_estimate: RegisterBloom, 0x521e_55bd_fe48_6cb6, 0.25;
    split_block_bloom, split_block_bloom_estimate: SplitBlockBloom, 0x89b0_2642_3452_0edf, 0.25;
    cache_line_bloom, cache_line_bloom_estimate: CacheLineBloom, 0x1b6a_41eb_1cc3_ae43, 0.25;
}

/// Bytes say what kind they are, to the owned filter and to the view.
#[test]
fn the_kind_is_in_the_bytes() {
    for kind in FilterKind::ALL {
        let mut filter = FilterSpec::new(*kind).keys(100).fpr(0.01).seed(9).build().unwrap();
        assert_eq!(filter.kind(), *kind);
        filter.insert("anvil").unwrap();
        let bytes = filter.to_bytes();
        let (owned, view) =
            (AnyFilter::from_bytes(&bytes).unwrap(), FilterView::parse(&bytes).unwrap());
        assert_eq!((owned.kind(), view.kind()), (*kind, *kind));
        assert!(owned.contains("anvil") && view.contains("anvil"));
        let copy = view.to_owned_filter().unwrap();
        assert!(copy.kind() == *kind && copy.to_bytes() == bytes);
    }
}
