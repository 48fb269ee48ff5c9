//! Encodes logical plans as bytes.

use super::wire::{decode, encode, udaf, udf};
use crate::node::{FilteredJoin, RuntimeFilterNode};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::{Column, Result, TableReference, plan_err};
use datafusion::datasource::TableProvider;
use datafusion::datasource::file_format::FileFormatFactory;
use datafusion::execution::TaskContext;
use datafusion::logical_expr::{
    AggregateUDF, Extension, HigherOrderUDF, LogicalPlan, ScalarUDF, WindowUDF,
};
use datafusion_proto::logical_plan::LogicalExtensionCodec;
use std::sync::Arc;

/// Encodes [`RuntimeFilterNode`] and the functions of this crate, and uses another codec for everything else.
#[derive(Debug)]
pub struct TrommelLogicalCodec {
    inner: Arc<dyn LogicalExtensionCodec>,
}

impl TrommelLogicalCodec {
    /// Makes a codec that uses `inner` for everything that is not from this crate.
    #[must_use]
    pub fn new(inner: Arc<dyn LogicalExtensionCodec>) -> Self {
        Self { inner }
    }
}

/// The encoding of a [`RuntimeFilterNode`] without its inputs, which the engine encodes.
#[derive(Clone, PartialEq, prost::Message)]
struct FilterNode {
    /// The key's index among the columns of the first input. The key's name is not used, since a qualified name can
    /// need quotes.
    #[prost(uint64, tag = "1")]
    key_index: u64,
    #[prost(uint64, tag = "2")]
    build_row_bytes: u64,
    #[prost(bool, tag = "3")]
    pays_if_broadcast: bool,
}

impl LogicalExtensionCodec for TrommelLogicalCodec {
    fn try_decode(
        &self,
        buf: &[u8],
        inputs: &[LogicalPlan],
        ctx: &TaskContext,
    ) -> Result<Extension> {
        let Some(message) = decode::<FilterNode>(buf) else {
            return self.inner.try_decode(buf, inputs, ctx);
        };
        let [probe, build] = inputs else {
            return plan_err!("a runtime filter has 2 inputs, not {}", inputs.len());
        };
        let message = message?;
        let (index, columns) = (message.key_index, probe.schema().fields().len());
        let Some(index) = usize::try_from(index).ok().filter(|index| *index < columns) else {
            return plan_err!(
                "a runtime filter uses column {index}, but its input has {columns} columns"
            );
        };
        let join = FilteredJoin {
            build_row_bytes: usize::try_from(message.build_row_bytes).unwrap_or(usize::MAX),
            pays_if_broadcast: message.pays_if_broadcast,
        };
        let key = Column::from(probe.schema().qualified_field(index));
        let node = RuntimeFilterNode::try_new(probe.clone(), key, build.clone())?.for_join(join);
        Ok(Extension { node: Arc::new(node) })
    }

    fn try_encode(&self, node: &Extension, buf: &mut Vec<u8>) -> Result<()> {
        let Some(filter) = node.node.as_any().downcast_ref::<RuntimeFilterNode>() else {
            return self.inner.try_encode(node, buf);
        };
        let key_index = filter.probe.schema().index_of_column(&filter.key)?;
        let message = FilterNode {
            key_index: key_index as u64,
            build_row_bytes: filter.join.build_row_bytes as u64,
            pays_if_broadcast: filter.join.pays_if_broadcast,
        };
        encode(&message, buf);
        Ok(())
    }

    fn try_decode_table_provider(
        &self,
        buf: &[u8],
        table_ref: &TableReference,
        schema: SchemaRef,
        ctx: &TaskContext,
    ) -> Result<Arc<dyn TableProvider>> {
        self.inner.try_decode_table_provider(buf, table_ref, schema, ctx)
    }

    fn try_encode_table_provider(
        &self,
        table_ref: &TableReference,
        node: Arc<dyn TableProvider>,
        buf: &mut Vec<u8>,
    ) -> Result<()> {
        self.inner.try_encode_table_provider(table_ref, node, buf)
    }

    fn try_decode_file_format(
        &self,
        buf: &[u8],
        ctx: &TaskContext,
    ) -> Result<Arc<dyn FileFormatFactory>> {
        self.inner.try_decode_file_format(buf, ctx)
    }

    fn try_encode_file_format(
        &self,
        buf: &mut Vec<u8>,
        node: Arc<dyn FileFormatFactory>,
    ) -> Result<()> {
        self.inner.try_encode_file_format(buf, node)
    }

    fn try_decode_udf(&self, name: &str, buf: &[u8]) -> Result<Arc<ScalarUDF>> {
        udf(name).map_or_else(|| self.inner.try_decode_udf(name, buf), Ok)
    }

    fn try_encode_udf(&self, node: &ScalarUDF, buf: &mut Vec<u8>) -> Result<()> {
        // Writes nothing to `buf`: DataFusion encodes the name, and `try_decode_udf` finds the function by it.
        if udf(node.name()).is_some() { Ok(()) } else { self.inner.try_encode_udf(node, buf) }
    }

    fn try_decode_udaf(&self, name: &str, buf: &[u8]) -> Result<Arc<AggregateUDF>> {
        udaf(name).map_or_else(|| self.inner.try_decode_udaf(name, buf), Ok)
    }

    fn try_encode_udaf(&self, node: &AggregateUDF, buf: &mut Vec<u8>) -> Result<()> {
        if udaf(node.name()).is_some() { Ok(()) } else { self.inner.try_encode_udaf(node, buf) }
    }

    fn try_decode_higher_order_function(
        &self,
        name: &str,
        buf: &[u8],
    ) -> Result<Arc<HigherOrderUDF>> {
        self.inner.try_decode_higher_order_function(name, buf)
    }

    fn try_encode_higher_order_function(
        &self,
        node: &HigherOrderUDF,
        buf: &mut Vec<u8>,
    ) -> Result<()> {
        self.inner.try_encode_higher_order_function(node, buf)
    }

    fn try_decode_udwf(&self, name: &str, buf: &[u8]) -> Result<Arc<WindowUDF>> {
        self.inner.try_decode_udwf(name, buf)
    }

    fn try_encode_udwf(&self, node: &WindowUDF, buf: &mut Vec<u8>) -> Result<()> {
        self.inner.try_encode_udwf(node, buf)
    }
}
