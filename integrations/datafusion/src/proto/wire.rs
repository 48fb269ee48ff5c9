//! What both codecs write.

use crate::aggregate::trommel_filter_udaf;
use crate::might_contain::might_contain_udf;
use datafusion::common::{Result, plan_datafusion_err};
use datafusion::logical_expr::{AggregateUDF, ScalarUDF};
use prost::Message;
use std::sync::Arc;

/// The first bytes of a runtime filter. No message of protobuf begins with a zero, so no other codec writes it.
const TAG: &[u8] = b"\0trommel.runtime_filter.1\0";

/// Appends tag and message.
pub(super) fn encode(message: &impl Message, buffer: &mut Vec<u8>) {
    buffer.extend_from_slice(TAG);
    buffer.extend_from_slice(&message.encode_to_vec());
}

/// The message after the tag; none if the bytes are of another codec.
pub(super) fn decode<M: Message + Default>(buffer: &[u8]) -> Option<Result<M>> {
    let message = buffer.strip_prefix(TAG)?;
    Some(
        M::decode(message).map_err(|error| {
            plan_datafusion_err!("a runtime filter that cannot be decoded: {error}")
        }),
    )
}

/// The aggregate of this crate of that name.
pub(super) fn udaf(name: &str) -> Option<Arc<AggregateUDF>> {
    Some(trommel_filter_udaf()).filter(|udaf| udaf.name() == name)
}

/// The function of this crate of that name.
pub(super) fn udf(name: &str) -> Option<Arc<ScalarUDF>> {
    Some(might_contain_udf()).filter(|udf| udf.name() == name)
}
