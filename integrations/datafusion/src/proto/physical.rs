//! Encodes physical plans as bytes.

use super::wire::{decode, encode, udaf, udf};
use crate::exec::RuntimeFilterExec;
use crate::stream::Sampling;
use datafusion::common::{Result, plan_err};
use datafusion::execution::TaskContext;
use datafusion::logical_expr::{AggregateUDF, HigherOrderUDF, ScalarUDF, WindowUDF};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr_common::physical_expr::proto_decode::PhysicalExprDecodeCtx;
use datafusion::physical_expr_common::physical_expr::proto_encode::PhysicalExprEncodeCtx;
use datafusion::physical_plan::ExecutionPlan;
use datafusion_proto::physical_plan::{PhysicalExtensionCodec, PhysicalProtoConverterExtension};
use std::sync::Arc;

/// Encodes [`RuntimeFilterExec`] and the functions of this crate, and uses another codec for everything else.
#[derive(Debug)]
pub struct TrommelPhysicalCodec {
    inner: Arc<dyn PhysicalExtensionCodec>,
}

impl TrommelPhysicalCodec {
    /// Makes a codec that uses `inner` for everything that is not from this crate.
    #[must_use]
    pub fn new(inner: Arc<dyn PhysicalExtensionCodec>) -> Self {
        Self { inner }
    }
}

/// The encoding of a [`RuntimeFilterExec`] without its inputs: DataFusion encodes the inputs itself.
#[derive(Clone, PartialEq, prost::Message)]
struct FilterExec {
    #[prost(string, tag = "1")]
    key: String,
    #[prost(uint64, tag = "2")]
    key_index: u64,
    #[prost(uint64, tag = "3")]
    sample_rows: u64,
    #[prost(double, tag = "4")]
    max_pass_share: f64,
}

impl PhysicalExtensionCodec for TrommelPhysicalCodec {
    fn try_decode(
        &self,
        buf: &[u8],
        inputs: &[Arc<dyn ExecutionPlan>],
        ctx: &TaskContext,
        proto_converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let Some(message) = decode::<FilterExec>(buf) else {
            return self.inner.try_decode(buf, inputs, ctx, proto_converter);
        };
        let message = message?;
        let [probe, filter] = inputs else {
            return plan_err!("a runtime filter has 2 inputs, not {}", inputs.len());
        };
        let key =
            Column::new(&message.key, usize::try_from(message.key_index).unwrap_or(usize::MAX));
        let sampling = Sampling {
            rows: usize::try_from(message.sample_rows).unwrap_or(usize::MAX),
            max_pass_share: message.max_pass_share,
        };
        Ok(Arc::new(RuntimeFilterExec::try_new(
            Arc::clone(probe),
            Arc::clone(filter),
            key,
            sampling,
        )?))
    }

    fn try_encode(
        &self,
        node: Arc<dyn ExecutionPlan>,
        buf: &mut Vec<u8>,
        proto_converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<()> {
        let Some(filter) = node.downcast_ref::<RuntimeFilterExec>() else {
            return self.inner.try_encode(node, buf, proto_converter);
        };
        let message = FilterExec {
            key: filter.key().name().to_owned(),
            key_index: filter.key().index() as u64,
            sample_rows: filter.sampling().rows as u64,
            max_pass_share: filter.sampling().max_pass_share,
        };
        encode(&message, buf);
        Ok(())
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

    fn try_decode_expr(
        &self,
        buf: &[u8],
        inputs: &[Arc<dyn PhysicalExpr>],
        ctx: &PhysicalExprDecodeCtx<'_>,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        self.inner.try_decode_expr(buf, inputs, ctx)
    }

    fn try_encode_expr(
        &self,
        node: &Arc<dyn PhysicalExpr>,
        buf: &mut Vec<u8>,
        ctx: &PhysicalExprEncodeCtx<'_>,
    ) -> Result<()> {
        self.inner.try_encode_expr(node, buf, ctx)
    }

    fn try_decode_udwf(&self, name: &str, buf: &[u8]) -> Result<Arc<WindowUDF>> {
        self.inner.try_decode_udwf(name, buf)
    }

    fn try_encode_udwf(&self, node: &WindowUDF, buf: &mut Vec<u8>) -> Result<()> {
        self.inner.try_encode_udwf(node, buf)
    }
}
