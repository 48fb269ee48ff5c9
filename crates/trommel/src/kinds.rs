//! The table of kinds: the only list of the kinds with their types and capabilities.
//!
//! Macros generate these from the table: [`AnyFilter`](crate::AnyFilter), [`FilterView`](crate::FilterView),
//! `OwnedView`, and those methods of [`FilterSpec`](crate::FilterSpec) that depend on the kind's type. A new kind needs
//! a number in [`FilterKind`], a type in the crate of its family, and a row here. A row that lacks a column, or a kind
//! that lacks a row, does not compile.

use trommel_base::FilterKind;

/// The types that the rows name, for the modules that expand the table.
pub(crate) mod types {
    pub(crate) use trommel_bloom::{
        BloomFilter, CacheLineBloom, CountingBloomFilter, RegisterBloom, SplitBlockBloom,
    };
    pub(crate) use trommel_cuckoo::CuckooFilter;
    pub(crate) use trommel_quotient::{CacheLineQuotient, QuotientFilter};
}

/// Calls the macro `$then` with the given arguments, in brackets, followed by all rows.
///
/// | column | `yes` if the kind's type has |
/// |---|---|
/// | `bits` | `hash_count` and `estimate_len`: each key sets bits |
/// | `slots` | `load_factor`: keys take slots |
/// | `removes` | `Remove` and `Count` |
/// | `folds` | `fold`, `fold_to_fpr` and `intersect` |
/// | `blocks` | `BlockTable`: a table that can be probed without a header |
macro_rules! kinds {
    ($then:ident [$($arguments:tt)*]) => {
        $then! { [$($arguments)*]
            /// A standard Bloom filter.
            Bloom: BloomFilter { bits: yes, slots: no, removes: no, folds: yes, blocks: yes }
            /// A counting Bloom filter.
            CountingBloom: CountingBloomFilter { bits: yes, slots: no, removes: yes, folds: no, blocks: no }
            /// A register-blocked Bloom filter.
            RegisterBloom: RegisterBloom { bits: yes, slots: no, removes: no, folds: yes, blocks: yes }
            /// A split-block Bloom filter.
            SplitBlockBloom: SplitBlockBloom { bits: yes, slots: no, removes: no, folds: yes, blocks: yes }
            /// A cache-line-blocked Bloom filter.
            CacheLineBloom: CacheLineBloom { bits: yes, slots: no, removes: no, folds: yes, blocks: yes }
            /// A quotient filter in blocks of 64 slots.
            Quotient: QuotientFilter { bits: no, slots: yes, removes: yes, folds: no, blocks: yes }
            /// A quotient filter in blocks of one cache line.
            CacheLineQuotient: CacheLineQuotient { bits: no, slots: yes, removes: yes, folds: no, blocks: yes }
            /// A cuckoo filter.
            Cuckoo: CuckooFilter { bits: no, slots: yes, removes: yes, folds: no, blocks: yes }
        }
    };
}

/// Evaluates `$body`, in which `$filter` is the filter inside an [`AnyFilter`](crate::AnyFilter), a
/// [`FilterView`](crate::FilterView) or an `OwnedView`.
macro_rules! each_kind {
    ($any:ident in $value:expr, $filter:ident => $body:expr) => {
        kinds!(each_kind_arms [$any, $value, $filter, $body])
    };
}

macro_rules! each_kind_arms {
    ([$any:ident, $value:expr, $filter:ident, $body:expr]
        $($(#[$doc:meta])* $kind:ident: $type:ident { $($column:ident: $can:ident),* })*) => {
        match $value {
            $($any::$kind($filter) => $body,)*
        }
    };
}

/// Calls a method of the filter inside `self`, for [`delegate_filter`](trommel_base::delegate_filter).
macro_rules! filter_inside {
    ($any:ident, $filter:ident => $call:expr) => {
        each_kind!(Self in $any, $filter => $call)
    };
}

/// The kind of an [`AnyFilter`](crate::AnyFilter), a [`FilterView`](crate::FilterView) or an `OwnedView`.
macro_rules! kind_arms {
    ([$any:ident, $value:expr]
        $($(#[$doc:meta])* $kind:ident: $type:ident { $($column:ident: $can:ident),* })*) => {
        match $value {
            $($any::$kind(_) => FilterKind::$kind,)*
        }
    };
}

/// A [`FilterView`](crate::FilterView) or an `OwnedView` of a parsed container.
macro_rules! view_arms {
    ([$view:ident, $parsed:expr]
        $($(#[$doc:meta])* $kind:ident: $type:ident { $($column:ident: $can:ident),* })*) => {
        match $parsed.header().kind {
            $(FilterKind::$kind => Ok($view::$kind($type::from_container($parsed)?)),)*
            // Not reached, since the table of kinds has a row for every kind.
            other => Err(FormatError::UnknownKind { code: other as u16 }),
        }
    };
}

/// Like `each_kind`, but only for the kinds that have `yes` in a column. For the other kinds, evaluates `$refusal`.
macro_rules! each_kind_that {
    ($column:ident: $any:ident in $value:expr, $filter:ident => $body:expr, else $refusal:expr) => {
        kinds!(each_kind_that_arms [$column $any, $value, $filter, $body, $refusal])
    };
}

/// Tells `if_can`, for each row, whether it has `yes` in the column that `each_kind_that` names.
macro_rules! each_kind_that_arms {
    ([$column:ident $($arguments:tt)*]
        $($(#[$doc:meta])* $kind:ident: $type:ident { $($columns:tt)* })*) => {
        if_can!([$($arguments)*] $($kind [$column $($columns)*])*)
    };
}

/// If the kind has a block form (`yes` in the column `blocks`), evaluates an expression in which `$type` is the kind's
/// type. Otherwise evaluates the expression after `else`.
macro_rules! each_block_kind {
    ($kind:expr, $type:ident => $body:expr, else $refusal:expr) => {
        kinds!(each_block_kind_arms [$kind, $type, $body, $refusal])
    };
}

macro_rules! each_block_kind_arms {
    ([$value:expr, $alias:ident, $body:expr, $refusal:expr] $($(#[$doc:meta])* $kind:ident: $type:ident {
        bits: $_b:ident, slots: $_s:ident, removes: $_r:ident, folds: $_f:ident, blocks: $can:ident
    })*) => {
        match $value {
            $(FilterKind::$kind => block_or_not!($can, $type, $alias, $body, $refusal),)*
            // Not reached, since the table of kinds has a row for every kind.
            _ => $refusal,
        }
    };
}

macro_rules! block_or_not {
    (yes, $type:ident, $alias:ident, $body:expr, $refusal:expr) => {{
        type $alias = $type;
        $body
    }};
    (no, $type:ident, $alias:ident, $body:expr, $refusal:expr) => {
        $refusal
    };
}

macro_rules! if_can {
    ([$any:ident, $value:expr, $filter:ident, $body:expr, $refusal:expr] $($kind:ident $row:tt)*) => {
        match $value {
            $($any::$kind($filter) => in_column!($row, $filter, $body, $refusal),)*
        }
    };
}

/// Selects the column that a row begins with. Each pattern names the columns up to that one, so a row that lacks a
/// column does not compile.
macro_rules! in_column {
    ([bits bits: $can:ident, $($_more:tt)*], $($then:tt)*) => { yes_or_no!($can, $($then)*) };
    ([slots bits: $_b:ident, slots: $can:ident, $($_more:tt)*], $($then:tt)*) => {
        yes_or_no!($can, $($then)*)
    };
    ([removes bits: $_b:ident, slots: $_s:ident, removes: $can:ident, $($_more:tt)*], $($then:tt)*) => {
        yes_or_no!($can, $($then)*)
    };
    (
        [folds bits: $_b:ident, slots: $_s:ident, removes: $_r:ident, folds: $can:ident, blocks: $_t:ident],
        $($then:tt)*
    ) => { yes_or_no!($can, $($then)*) };
}

macro_rules! yes_or_no {
    (yes, $filter:ident, $body:expr, $refusal:expr) => {
        $body
    };
    (no, $filter:ident, $body:expr, $refusal:expr) => {{
        let _ = $filter;
        $refusal
    }};
}

macro_rules! has_row_arms {
    ([$value:expr] $($(#[$doc:meta])* $kind:ident: $type:ident { $($column:ident: $can:ident),* })*) => {
        match $value {
            $(FilterKind::$kind => true,)*
            _ => false,
        }
    };
}

/// Whether the table has a row for a kind.
const fn has_row(kind: FilterKind) -> bool {
    kinds!(has_row_arms[kind])
}

const _: () = {
    let mut i = 0;
    while i < FilterKind::ALL.len() {
        assert!(has_row(FilterKind::ALL[i]), "each kind needs a row in the table of kinds");
        i += 1;
    }
};
