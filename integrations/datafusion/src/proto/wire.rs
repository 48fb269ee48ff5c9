//! The encoding that the logical and the physical codec share.

use crate::aggregate::trommel_filter_udaf;
use crate::might_contain::might_contain_udf;
use datafusion::common::{Result, plan_datafusion_err};
use datafusion::logical_expr::{AggregateUDF, ScalarUDF};
use prost::Message;
use std::sync::Arc;

/// The first bytes of an encoded runtime filter. Protobuf messages never begin with a zero byte, so the output of a
/// codec that writes Protobuf messages never begins with this tag.
const TAG: &[u8] = b"\0trommel.runtime_filter.1\0";

/// Appends the tag and the message.
pub(super) fn encode(message: &impl Message, buffer: &mut Vec<u8>) {
    buffer.extend_from_slice(TAG);
    buffer.extend_from_slice(&message.encode_to_vec());
}

/// Decodes the message after the tag. `None` if the bytes have no tag and so are from another codec.
pub(super) fn decode<M: Message + Default>(buffer: &[u8]) -> Option<Result<M>> {
    let message = buffer.strip_prefix(TAG)?;
    Some(
        M::decode(message)
            .map_err(|error| plan_datafusion_err!("a runtime filter cannot be decoded: {error}")),
    )
}

/// Returns this crate's aggregate if `name` is its name.
pub(super) fn udaf(name: &str) -> Option<Arc<AggregateUDF>> {
    Some(trommel_filter_udaf()).filter(|udaf| udaf.name() == name)
}

/// Returns this crate's scalar function if `name` is its name.
pub(super) fn udf(name: &str) -> Option<Arc<ScalarUDF>> {
    Some(might_contain_udf()).filter(|udf| udf.name() == name)
}
