//! Plans as bytes, for engines that send them to other processes.
//!
//! Each codec adds to another one what this crate has: the functions by name, and the runtime filter. So a process that
//! decodes with it needs no function registry.

mod logical;
mod physical;

pub use logical::TrommelLogicalCodec;
pub use physical::TrommelPhysicalCodec;

use crate::{might_contain_udf, trommel_filter_udaf};
use datafusion::common::{Result, plan_datafusion_err};
use datafusion::logical_expr::{AggregateUDF, ScalarUDF};
use prost::Message;
use std::sync::Arc;

/// The first bytes of a runtime filter. No message of protobuf begins with a zero, so no other codec writes it.
const TAG: &[u8] = b"\0trommel.runtime_filter.1\0";

/// Appends tag and message.
fn encode(message: &impl Message, buffer: &mut Vec<u8>) {
    buffer.extend_from_slice(TAG);
    buffer.extend_from_slice(&message.encode_to_vec());
}

/// The message after the tag; none if the bytes are of another codec.
fn decode<M: Message + Default>(buffer: &[u8]) -> Option<Result<M>> {
    let message = buffer.strip_prefix(TAG)?;
    Some(
        M::decode(message).map_err(|error| {
            plan_datafusion_err!("a runtime filter that cannot be decoded: {error}")
        }),
    )
}

/// The aggregate of this crate of that name.
fn udaf(name: &str) -> Option<Arc<AggregateUDF>> {
    Some(trommel_filter_udaf()).filter(|udaf| udaf.name() == name)
}

/// The function of this crate of that name.
fn udf(name: &str) -> Option<Arc<ScalarUDF>> {
    Some(might_contain_udf()).filter(|udf| udf.name() == name)
}
