//! Creates empty filters to be measured. Such a filter, the *subject* of a case, is one of our filters or a rival.

use crate::measure::plan::SubjectSpec;
use crate::measure::rivals::Size;
use crate::measure::slots::Slots;
use crate::measure::subject::Subject;
use crate::measure::{ours, rivals, tree};
use crate::model::{Form, Sizing};
use anyhow::{Context as _, Result, bail};
use trommel::Isa;

/// Creates the empty filter that `spec` describes, for `keys` keys. A rival is given the bits per key or the
/// false-positive rate of the case. It is also given two numbers of our filter of the same kind and sizing: its bytes
/// and its hashes per key. The rival's file in `measure/rivals` determines which of these numbers the rival uses.
pub(crate) fn create(
    spec: &SubjectSpec,
    keys: usize,
    isa: Option<Isa>,
) -> Result<Box<dyn Subject>> {
    let kind = spec.kind.context("the rival has no kind of ours: it is sized by slots")?;
    let is_tree = spec.form == Form::Tree;
    let keys = if is_tree { tree::keys_of_each(keys) } else { keys };
    let ours = ours::create(kind, spec.sizing, keys, spec.isa.or(isa), spec.form)?;
    let Some(rival) = spec.rival else { return Ok(ours) };
    let bytes = ours.memory_bytes();
    // For a tree of filters, `Size::bytes` is the size of one filter in the tree.
    let bytes = if is_tree { bytes / tree::FILTERS } else { bytes };
    let size = Size {
        keys,
        bits_per_key: spec.sizing.bits_per_key(),
        fpr: spec.sizing.fpr(),
        bytes,
        hash_count: ours.hash_count(),
    };
    rivals::create(rival, &size, is_tree)
}

/// Creates the empty filter that `spec` describes, if it is sized by slots.
pub(crate) fn create_slots(spec: &SubjectSpec, isa: Option<Isa>) -> Result<Box<dyn Slots>> {
    let Sizing::Slots(filling) = spec.sizing else {
        bail!("{} is not sized by slots", spec.sizing)
    };
    match (spec.rival, spec.kind) {
        (Some(rival), _) => rivals::create_slots(rival, &filling),
        (None, Some(kind)) => ours::create_slots(kind, &filling, spec.isa.or(isa)),
        (None, None) => bail!("the subject is neither a rival nor a kind of ours"),
    }
}
