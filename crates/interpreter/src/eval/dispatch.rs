//! The table of operations: which function evaluates each kind.

use shardc_ir::{DynamicOp, OpId, OpKind};

use super::frame::Frame;
use super::{Device, Stop, Values, arrays, one};
use crate::array::Array;
use crate::error::Fault;
use crate::numbers::Domain;
use crate::value::Value;

impl<D: Domain> Device<'_, '_, D> {
    /// Evaluates an operation.
    #[expect(clippy::too_many_lines, reason = "a table: one arm for each kind of operation")]
    pub(super) fn operation(
        &self,
        op: OpId,
        operands: Values<D>,
        frame: &mut Frame<'_, D>,
    ) -> Result<Values<D>, Stop> {
        let kind = &self.module.ops[op].kind;
        match kind {
            OpKind::Unary(_)
            | OpKind::Binary(_)
            | OpKind::Compare(..)
            | OpKind::Select
            | OpKind::Clamp
            | OpKind::Convert
            | OpKind::BitcastConvert
            | OpKind::ReducePrecision { .. }
            | OpKind::Constant(_)
            | OpKind::ConstantLike(_)
            | OpKind::UniformQuantize
            | OpKind::UniformDequantize => one(self.elementwise(op, arrays(operands)?)?),
            OpKind::While => self.while_loop(op, operands, frame),
            OpKind::If => self.branch(op, operands, frame),
            OpKind::Case => self.case(op, operands, frame),
            OpKind::Call { callee } => self.call(callee, operands),
            OpKind::Composite(spec) => self.call(&spec.decomposition, operands),
            OpKind::NamedComputation(_) => self.nested(op, operands, frame),
            OpKind::AsyncStart => {
                let results = self.nested(op, operands, frame)?;
                Ok(vec![Value::Tuple(results.into())])
            }
            OpKind::AsyncDone => match operands.into_iter().next() {
                Some(Value::Tuple(items)) => Ok(items.to_vec()),
                _ => Err(Fault::Invalid("an operand that is not a future".to_owned()).into()),
            },
            OpKind::Tuple => Ok(vec![Value::Tuple(operands.into())]),
            OpKind::GetTupleElement { index } => match operands.first() {
                Some(Value::Tuple(items)) => {
                    let item = items.get(*index as usize).cloned();
                    Ok(vec![item.ok_or_else(|| Fault::Invalid("a tuple without this element".to_owned()))?])
                }
                _ => Err(Fault::Invalid("an operand that is not a tuple".to_owned()).into()),
            },
            OpKind::AfterAll | OpKind::CreateToken => Ok(vec![Value::Token]),
            OpKind::OptimizationBarrier => Ok(operands),
            OpKind::ShardingConstraint(_)
            | OpKind::Reshard(_)
            | OpKind::PropagationBarrier { .. }
            | OpKind::DataFlowEdge(_)
            | OpKind::FuncDataFlowEdge
            // A collective between shardings of a global value does not change the value.
            | OpKind::MeshCollective(_) => Ok(operands),
            OpKind::ShardingGroup { .. } => Ok(Vec::new()),
            OpKind::Reduce { .. }
            | OpKind::ReduceWindow(_)
            | OpKind::SelectAndScatter(_)
            | OpKind::Scatter(_)
            | OpKind::Map { .. } => self.with_reducer(op, arrays(operands)?, frame),
            OpKind::Sort { .. } => self.sort(op, arrays(operands)?, frame),
            OpKind::Scan(spec) => self.scan(op, spec, arrays(operands)?, frame),
            OpKind::AllReduce(_)
            | OpKind::AllGather { .. }
            | OpKind::ReduceScatter { .. }
            | OpKind::AllToAll { .. }
            | OpKind::CollectivePermute(_)
            | OpKind::CollectiveBroadcast(_)
            | OpKind::CollectiveReduce(_)
            | OpKind::CrossReplicaSum(_) => self.collective(op, arrays(operands)?, frame),
            OpKind::PartitionId => self.device_number(self.id % self.grid.partitions.max(1)),
            OpKind::ReplicaId => self.device_number(self.id / self.grid.partitions.max(1)),
            OpKind::Send(_) | OpKind::Recv(_) | OpKind::Infeed(_) | OpKind::Outfeed { .. } => {
                self.transfer(op, operands)
            }
            OpKind::CustomCall(_) if kind.is_ragged_all_to_all() => self.ragged_exchange(op, operands),
            OpKind::CustomCall(_) | OpKind::Opaque(_) => self.foreign(op, operands),
            OpKind::Iota { .. }
            | OpKind::BroadcastInDim { .. }
            | OpKind::Broadcast { .. }
            | OpKind::Reshape
            | OpKind::Transpose { .. }
            | OpKind::Reverse { .. }
            | OpKind::Slice(_)
            | OpKind::DynamicSlice { .. }
            | OpKind::DynamicUpdateSlice
            | OpKind::Concatenate { .. }
            | OpKind::Splice(_)
            | OpKind::Pad(_)
            | OpKind::Gather(_)
            | OpKind::TorchIndexSelect { .. }
            | OpKind::GetDimensionSize { .. }
            | OpKind::SetDimensionSize { .. }
            | OpKind::DotGeneral(_)
            | OpKind::RaggedDot(_)
            | OpKind::Einsum { .. }
            | OpKind::UnaryEinsum { .. }
            | OpKind::Convolution(_)
            | OpKind::Fft { .. }
            | OpKind::Cholesky { .. }
            | OpKind::TriangularSolve(_)
            | OpKind::BatchNorm(..)
            | OpKind::TopK { .. }
            | OpKind::Broadcasting(_)
            | OpKind::RngBitGenerator { .. }
            | OpKind::Dynamic(
                DynamicOp::Reshape
                | DynamicOp::BroadcastInDim(_)
                | DynamicOp::Iota { .. }
                | DynamicOp::Pad
                | DynamicOp::RealSlice
                | DynamicOp::Gather(_)
                | DynamicOp::Convolution(_),
            ) => self.real(op, arrays(operands)?),
            OpKind::Rng(_) => Err(Fault::Unsupported("random numbers without a state".to_owned()).into()),
            OpKind::ManualComputation(spec) => self.manual(op, spec, operands, frame),
            OpKind::Return => Ok(operands),
        }
    }

    /// Evaluates an operation on arrays. Operations that compute with real numbers take quantized operands as the numbers that they
    /// represent, and quantize their results.
    fn real(&self, op: OpId, operands: Vec<Array<D>>) -> Result<Values<D>, Stop> {
        let operands = self.dequantized(op, operands)?;
        let results = self.shaped(op, operands)?;
        let results = self.quantized(op, results)?;
        Ok(results.into_iter().map(Value::Array).collect())
    }

    fn device_number(&self, number: usize) -> Result<Values<D>, Stop> {
        one(Array::scalar(shardc_ir::DType::UI32, number as i64)?)
    }
}
