//! Operations whose results have other shapes than their operands, without regions.

use shardc_ir::{BroadcastingOp, BroadcastingSpec, DynamicOp, OpId, OpKind};

use super::Device;
use super::operands::{all, integers, places, scalars, sizes};
use crate::array::{Array, Dims};
use crate::error::Fault;
use crate::kernels::{elementwise, gather, moves};
use crate::numbers::Domain;

impl<D: Domain> Device<'_, '_, D> {
    /// Evaluates an operation on arrays, of which quantized ones are already real numbers.
    pub(super) fn shaped(&self, op: OpId, operands: Vec<Array<D>>) -> Result<Vec<Array<D>>, Fault> {
        for operand in &operands {
            self.charge(operand.len() as u64)?;
        }
        match &self.module.ops[op].kind {
            OpKind::Broadcasting(spec) => Ok(vec![self.broadcasting(spec, &operands)?]),
            OpKind::Dynamic(dynamic) => Ok(vec![self.dynamic(op, dynamic, &operands)?]),
            OpKind::DynamicUpdateSlice => Ok(vec![updated(operands)?]),
            _ => match self.moved(op, &operands)? {
                Some(result) => Ok(vec![result]),
                None => self.contracted(op, &operands),
            },
        }
    }

    /// Operations in which operands replace attributes.
    fn dynamic(&self, op: OpId, dynamic: &DynamicOp, operands: &[Array<D>]) -> Result<Array<D>, Fault> {
        let dtype = self.result_dtype(op, 0)?;
        let checked = |dims: Dims| {
            self.charge_result(&dims, dtype)?;
            Ok::<Dims, Fault>(dims)
        };
        match dynamic {
            DynamicOp::Reshape => {
                let [a, shape] = all(operands)?;
                a.clone().reshaped(sizes(shape)?)
            }
            DynamicOp::BroadcastInDim(spec) => {
                let [a, shape] = all(operands)?;
                moves::broadcast(a, &places(&spec.dims), checked(sizes(shape)?)?)
            }
            DynamicOp::Iota { dim } => {
                let [shape] = all(operands)?;
                moves::iota(checked(sizes(shape)?)?, dtype, *dim as usize)
            }
            DynamicOp::Pad => {
                let [a, value, low, high, interior] = all(operands)?;
                let [low, high, interior] = [integers(low)?, integers(high)?, integers(interior)?];
                checked(moves::padded(a.dims(), &low, &high, &interior)?)?;
                moves::pad(a, value, &low, &high, &interior)
            }
            DynamicOp::RealSlice => {
                let [a, start, limit, step] = all(operands)?;
                moves::slice(a, &integers(start)?, &integers(limit)?, &integers(step)?)
            }
            DynamicOp::Gather(spec) => {
                let [a, indices, sizes] = all(operands)?;
                let sizes = integers(sizes)?;
                // At most one slice per index.
                let slice = sizes.iter().map(|&n| usize::try_from(n).unwrap_or(0));
                checked(slice.chain([indices.len()]).collect())?;
                gather::gather(a, indices, spec, &sizes)
            }
            DynamicOp::Convolution(spec) => {
                let [input, kernel, padding] = all(operands)?;
                let padding = integers(padding)?;
                let pairs: Vec<(i64, i64)> =
                    padding.as_chunks::<2>().0.iter().map(|&[low, high]| (low, high)).collect();
                // A bound of the size: one window at each position of the padded input.
                let padding = pairs.iter().map(|&(low, high)| low.max(0).saturating_add(high.max(0)));
                let dilation = spec.lhs_dilation.iter().copied().max().unwrap_or(1).max(1) as usize;
                let sizes = input.dims().iter().map(|n| n.saturating_mul(dilation));
                let largest = sizes.max().unwrap_or(0);
                let outputs = kernel.dims().get(spec.kernel.output_feature as usize).copied().unwrap_or(0);
                let batch = input.dims().get(spec.input.batch as usize).copied().unwrap_or(0);
                let windows = padding.map(|n| largest.saturating_add(n as usize));
                checked(windows.chain([batch, outputs]).collect())?;
                self.convolve(op, input, kernel, spec, &pairs)
            }
        }
    }

    /// A CHLO operation whose operands may have different shapes.
    fn broadcasting(&self, spec: &BroadcastingSpec, operands: &[Array<D>]) -> Result<Array<D>, Fault> {
        let rank = operands.iter().map(Array::rank).max().unwrap_or(0);
        let places = |a: &Array<D>| -> Vec<usize> {
            match &spec.dims {
                Some(dims) if a.rank() < rank && dims.len() == a.rank() => places(dims),
                _ => (rank - a.rank()..rank).collect(),
            }
        };
        let mut dims = Dims::from_elem(1, rank);
        for a in operands {
            for (&at, &n) in places(a).iter().zip(a.dims()) {
                match dims.get_mut(at) {
                    Some(size) if *size == 1 => *size = n,
                    _ => {}
                }
            }
        }
        let first = operands.first().map_or(shardc_ir::DType::I1, Array::dtype);
        self.charge_result(&dims, first)?;
        let spread = |a: &Array<D>| moves::broadcast(a, &places(a), dims.clone());
        let operands = operands.iter().map(spread).collect::<Result<Vec<_>, Fault>>()?;
        match spec.op {
            BroadcastingOp::Binary(op) => {
                let [a, b] = all(&operands)?;
                elementwise::binary(op.op(), a, b, self.program.options.key)
            }
            BroadcastingOp::Compare(direction, how) => {
                let [a, b] = all(&operands)?;
                elementwise::compare(direction, how, a, b)
            }
            BroadcastingOp::Select => {
                let [pred, a, b] = all(&operands)?;
                elementwise::select(pred, a, b)
            }
        }
    }
}

/// Writes the second operand to a dynamic position of the first, in place if no other value shares its elements.
fn updated<D: Domain>(operands: Vec<Array<D>>) -> Result<Array<D>, Fault> {
    let mut operands = operands.into_iter();
    let (Some(a), Some(update)) = (operands.next(), operands.next()) else {
        return Fault::invalid("too few operands");
    };
    let starts: Vec<Array<D>> = operands.collect();
    moves::dynamic_update_slice(a, &update, &scalars(&starts)?)
}
