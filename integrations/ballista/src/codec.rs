//! The operators of this crate as bytes.

use crate::merge::MergeStageExec;
use ballista_core::serde::BallistaPhysicalExtensionCodec;
use datafusion::common::{Result, plan_err};
use datafusion::execution::TaskContext;
use datafusion::physical_plan::ExecutionPlan;
use datafusion_proto::physical_plan::{PhysicalExtensionCodec, PhysicalProtoConverterExtension};
use std::sync::Arc;
use trommel_datafusion::proto::TrommelPhysicalCodec;

/// The bytes of the operator, which has no parameters. No message of protobuf begins with a zero.
const MERGE_STAGE: &[u8] = b"\0trommel.merge_stage.1\0";

/// The codec for schedulers and executors: Ballista's own, and what Trommel adds to plans.
#[must_use]
pub fn physical_codec() -> Arc<dyn PhysicalExtensionCodec> {
    let ballista = Arc::new(BallistaPhysicalExtensionCodec::default());
    Arc::new(TrommelPhysicalCodec::new(Arc::new(MergeStageCodec { inner: ballista })))
}

/// Ballista's codec with one operator more. Both leave expressions and functions to the defaults of DataFusion.
#[derive(Debug)]
struct MergeStageCodec {
    inner: Arc<BallistaPhysicalExtensionCodec>,
}

impl PhysicalExtensionCodec for MergeStageCodec {
    fn try_decode(
        &self,
        buf: &[u8],
        inputs: &[Arc<dyn ExecutionPlan>],
        ctx: &TaskContext,
        proto_converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if buf != MERGE_STAGE {
            return self.inner.try_decode(buf, inputs, ctx, proto_converter);
        }
        match inputs {
            [marker, input] => {
                Ok(Arc::new(MergeStageExec::try_new(Arc::clone(marker), Arc::clone(input))?))
            }
            _ => plan_err!("a merge stage has 2 inputs, not {}", inputs.len()),
        }
    }

    fn try_encode(
        &self,
        node: Arc<dyn ExecutionPlan>,
        buf: &mut Vec<u8>,
        proto_converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<()> {
        if node.downcast_ref::<MergeStageExec>().is_none() {
            return self.inner.try_encode(node, buf, proto_converter);
        }
        buf.extend_from_slice(MERGE_STAGE);
        Ok(())
    }
}
