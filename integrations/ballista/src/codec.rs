//! Encodes the operators of this crate as bytes.

use crate::merge::MergeStageExec;
use ballista_core::serde::BallistaPhysicalExtensionCodec;
use datafusion::common::{Result, plan_err};
use datafusion::execution::TaskContext;
use datafusion::physical_plan::ExecutionPlan;
use datafusion_proto::physical_plan::{PhysicalExtensionCodec, PhysicalProtoConverterExtension};
use std::sync::Arc;
use trommel_datafusion::proto::TrommelPhysicalCodec;

/// The encoding of [`MergeStageExec`], which has no parameters. Ballista encodes its operators as Protobuf messages,
/// which never begin with a zero byte, so none of Ballista's operators has this encoding.
const MERGE_STAGE: &[u8] = b"\0trommel.merge_stage.1\0";

/// Makes the codec for schedulers and executors: Ballista's own codec, extended by Trommel's operators and functions.
#[must_use]
pub fn physical_codec() -> Arc<dyn PhysicalExtensionCodec> {
    let ballista = Arc::new(BallistaPhysicalExtensionCodec::default());
    Arc::new(TrommelPhysicalCodec::new(Arc::new(MergeStageCodec { inner: ballista })))
}

/// Ballista's codec, extended by [`MergeStageExec`]. Like Ballista's codec, this one uses DataFusion's defaults for
/// expressions and functions.
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
