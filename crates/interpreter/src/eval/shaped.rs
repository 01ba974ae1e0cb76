//! Operations whose results have other shapes than their operands, without regions.

use shardc_ir::{
    BatchNormKind, BroadcastingOp, BroadcastingSpec, ConvSpec, DType, DotSpec, DynamicOp, OpId, OpKind,
    RaggedDotSpec, SpliceSpec,
};

use super::Device;
use crate::array::{Array, Dims};
use crate::error::Fault;
use crate::kernels::dot::{Side, dot_general};
use crate::kernels::{convolution, elementwise, fft, gather, linalg, moves, norm, top_k};
use crate::numbers::Domain;

fn places(dims: &[u32]) -> Vec<usize> {
    dims.iter().map(|&d| d as usize).collect()
}

/// The elements of an integer array.
fn integers<D: Domain>(a: &Array<D>) -> Result<Vec<i64>, Fault> {
    a.to_integers().ok_or_else(|| Fault::Invalid("sizes that are not integers".to_owned()))
}

/// The elements of an integer array as sizes.
fn sizes<D: Domain>(a: &Array<D>) -> Result<Dims, Fault> {
    let all: Option<Dims> = integers(a)?.into_iter().map(|n| usize::try_from(n).ok()).collect();
    all.ok_or_else(|| Fault::Invalid("a negative size".to_owned()))
}

/// Scalars as one list.
fn scalars<D: Domain>(arrays: &[Array<D>]) -> Result<Vec<i64>, Fault> {
    // An index that is too large for a signed integer is beyond the end of every array.
    let index = |a: &Array<D>| {
        let index = a.to_index()?;
        Ok(if a.dtype() == DType::UI64 && index < 0 { i64::MAX } else { index })
    };
    arrays.iter().map(index).collect()
}

/// Exactly `N` operands.
fn all<const N: usize, D: Domain>(operands: Vec<Array<D>>) -> Result<[Array<D>; N], Fault> {
    <[Array<D>; N]>::try_from(operands).map_err(|_| Fault::Invalid(format!("not {N} operands")))
}

impl<D: Domain> Device<'_, '_, D> {
    /// Evaluates an operation on arrays, of which quantized ones are already real numbers.
    pub(super) fn shaped(&self, op: OpId, operands: Vec<Array<D>>) -> Result<Vec<Array<D>>, Fault> {
        let kind = &self.module.ops[op].kind;
        let static_dims = || {
            let dims = self.static_dims(op, 0)?;
            self.charge_result(&dims, self.result_dtype(op, 0)?)?;
            Ok::<Dims, Fault>(dims)
        };
        for operand in &operands {
            self.charge(operand.len() as u64)?;
        }
        let result = match kind {
            OpKind::Iota { dim } => moves::iota(static_dims()?, self.result_dtype(op, 0)?, *dim as usize)?,
            OpKind::BroadcastInDim { dims } => {
                let [a] = all(operands)?;
                moves::broadcast(&a, &places(dims), static_dims()?)?
            }
            OpKind::Broadcast { sizes } => {
                let [a] = all(operands)?;
                let to: Vec<usize> = (sizes.len()..sizes.len() + a.rank()).collect();
                moves::broadcast(&a, &to, static_dims()?)?
            }
            OpKind::Reshape => {
                let [a] = all(operands)?;
                a.reshaped(self.static_dims(op, 0)?)?
            }
            OpKind::Transpose { permutation } => {
                let [a] = all(operands)?;
                moves::transpose(&a, &places(permutation))?
            }
            OpKind::Reverse { dims } => {
                let [a] = all(operands)?;
                moves::reverse(&a, &places(dims))?
            }
            OpKind::Slice(spec) => {
                let [a] = all(operands)?;
                moves::slice(&a, &spec.start, &spec.limit, &spec.stride)?
            }
            OpKind::DynamicSlice { sizes } => {
                let (first, starts) = split_first(&operands)?;
                let sizes: Dims = sizes.iter().map(|&n| n.max(0) as usize).collect();
                moves::dynamic_slice(first, &scalars(starts)?, &sizes)?
            }
            OpKind::DynamicUpdateSlice => {
                let mut operands = operands.into_iter();
                let (Some(a), Some(update)) = (operands.next(), operands.next()) else {
                    return Fault::invalid("too few operands");
                };
                let starts: Vec<Array<D>> = operands.collect();
                moves::dynamic_update_slice(a, &update, &scalars(&starts)?)?
            }
            OpKind::Concatenate { dim } => moves::concatenate(&operands, *dim as usize)?,
            OpKind::Splice(spec) => splice(&operands, spec)?,
            OpKind::Pad(spec) => {
                static_dims()?;
                let [a, value] = all(operands)?;
                moves::pad(&a, &value, &spec.low, &spec.high, &spec.interior)?
            }
            OpKind::Gather(spec) => {
                static_dims()?;
                let [a, indices] = all(operands)?;
                gather::gather(&a, &indices, spec, &spec.slice_sizes)?
            }
            OpKind::TorchIndexSelect { dim, batch_dims } => {
                static_dims()?;
                let [a, indices] = all(operands)?;
                index_select(&a, &indices, *dim, *batch_dims)?
            }
            OpKind::GetDimensionSize { dim } => {
                let [a] = all(operands)?;
                let size = a.dims().get(*dim as usize).copied();
                Array::scalar(DType::I32, size.map_or(0, |n| n as i64))?
            }
            OpKind::SetDimensionSize { dim } => {
                let [a, size] = all(operands)?;
                resized(&a, *dim as usize, size.to_index()?)?
            }
            OpKind::DotGeneral(spec) => self.dot(op, &operands, spec)?,
            OpKind::RaggedDot(spec) => {
                static_dims()?;
                self.ragged_dot(op, &all(operands)?, spec)?
            }
            OpKind::Einsum { .. } | OpKind::UnaryEinsum { .. } => return Fault::unsupported("einsum"),
            OpKind::Convolution(spec) => {
                let [input, kernel] = all(operands)?;
                self.convolve(op, &input, &kernel, spec, &spec.padding)?
            }
            OpKind::Fft { kind, length } => {
                let [a] = all(operands)?;
                fft::fft(&a, *kind, length)?
            }
            OpKind::Cholesky { lower } => {
                let [a] = all(operands)?;
                linalg::cholesky(&a, *lower, self.program.options.key)?
            }
            OpKind::TriangularSolve(spec) => {
                let [a, b] = all(operands)?;
                linalg::triangular_solve(&a, &b, spec)?
            }
            OpKind::BatchNorm(kind, spec) => {
                let key = self.program.options.key;
                return match kind {
                    BatchNormKind::Training => norm::training(&all(operands)?, *spec, key),
                    BatchNormKind::Inference => Ok(vec![norm::inference(&all(operands)?, *spec, key)?]),
                    BatchNormKind::Grad => norm::gradient(&all(operands)?, *spec, key),
                };
            }
            OpKind::TopK { k, .. } => {
                let [a] = all(operands)?;
                return Ok(top_k::top_k(&a, usize::try_from(*k).unwrap_or(0))?.to_vec());
            }
            OpKind::Broadcasting(spec) => self.broadcasting(spec, operands)?,
            OpKind::Dynamic(dynamic) => self.dynamic(op, dynamic, operands)?,
            other => return Fault::unsupported(other.name()),
        };
        Ok(vec![result])
    }

    /// Operations in which operands replace attributes.
    fn dynamic(&self, op: OpId, dynamic: &DynamicOp, operands: Vec<Array<D>>) -> Result<Array<D>, Fault> {
        let dtype = self.result_dtype(op, 0)?;
        let checked = |dims: Dims| {
            self.charge_result(&dims, dtype)?;
            Ok::<Dims, Fault>(dims)
        };
        match dynamic {
            DynamicOp::Reshape => {
                let [a, shape] = all(operands)?;
                a.reshaped(sizes(&shape)?)
            }
            DynamicOp::BroadcastInDim(spec) => {
                let [a, shape] = all(operands)?;
                moves::broadcast(&a, &places(&spec.dims), checked(sizes(&shape)?)?)
            }
            DynamicOp::Iota { dim } => {
                let [shape] = all(operands)?;
                moves::iota(checked(sizes(&shape)?)?, dtype, *dim as usize)
            }
            DynamicOp::Pad => {
                let [a, value, low, high, interior] = all(operands)?;
                moves::pad(&a, &value, &integers(&low)?, &integers(&high)?, &integers(&interior)?)
            }
            DynamicOp::RealSlice => {
                let [a, start, limit, step] = all(operands)?;
                moves::slice(&a, &integers(&start)?, &integers(&limit)?, &integers(&step)?)
            }
            DynamicOp::Gather(spec) => {
                let [a, indices, sizes] = all(operands)?;
                gather::gather(&a, &indices, spec, &integers(&sizes)?)
            }
            DynamicOp::Convolution(spec) => {
                let [input, kernel, padding] = all(operands)?;
                let padding = integers(&padding)?;
                let pairs: Vec<(i64, i64)> =
                    padding.as_chunks::<2>().0.iter().map(|&[low, high]| (low, high)).collect();
                self.convolve(op, &input, &kernel, spec, &pairs)
            }
        }
    }

    fn dot(&self, op: OpId, operands: &[Array<D>], spec: &DotSpec) -> Result<Array<D>, Fault> {
        let [a, b] = operands else { return Fault::invalid("not two operands") };
        let contracted: usize =
            spec.lhs_contract.iter().filter_map(|&d| a.dims().get(d as usize)).product();
        if let Ok(dims) = self.static_dims(op, 0) {
            self.charge_result(&dims, self.result_dtype(op, 0)?)?;
            self.charge((crate::array::count(&dims)? as u64).saturating_mul(contracted as u64))?;
        }
        let left = Side { batch: &spec.lhs_batch, contract: &spec.lhs_contract };
        let right = Side { batch: &spec.rhs_batch, contract: &spec.rhs_contract };
        dot_general(a, b, &left, &right, self.result_dtype(op, 0)?)
    }

    fn convolve(
        &self,
        op: OpId,
        input: &Array<D>,
        kernel: &Array<D>,
        spec: &ConvSpec,
        padding: &[(i64, i64)],
    ) -> Result<Array<D>, Fault> {
        if let Ok(dims) = self.static_dims(op, 0) {
            self.charge_result(&dims, self.result_dtype(op, 0)?)?;
            let outputs = kernel.dims().get(spec.kernel.output_feature as usize).copied().unwrap_or(1).max(1);
            let taps = (kernel.len() / outputs) as u64;
            self.charge((crate::array::count(&dims)? as u64).saturating_mul(taps))?;
        }
        convolution::convolution(input, kernel, spec, padding, self.result_dtype(op, 0)?)
    }

    /// A matmul with its own right operand for each group of rows. The ragged dimension is a free dimension, a contracting dimension, or a
    /// batching dimension of the left operand.
    fn ragged_dot(&self, op: OpId, operands: &[Array<D>; 3], spec: &RaggedDotSpec) -> Result<Array<D>, Fault> {
        let [a, b, groups] = operands;
        let dtype = self.result_dtype(op, 0)?;
        let &[ragged] = spec.lhs_ragged.as_slice() else { return Fault::invalid("not one ragged dimension") };
        if groups.rank() != 1 {
            return Fault::unsupported("ragged groups per batch");
        }
        let ragged = ragged as usize;
        let is_contracted = spec.lhs_contract.iter().position(|&d| d as usize == ragged);
        let is_batch = spec.lhs_batch.iter().position(|&d| d as usize == ragged);
        let left = Side { batch: &spec.lhs_batch, contract: &spec.lhs_contract };
        let right = Side { batch: &spec.rhs_batch, contract: &spec.rhs_contract };
        let mut parts = Vec::new();
        let (mut start, size) = (0i64, a.dims().get(ragged).copied().unwrap_or(0) as i64);
        for (group, length) in integers(groups)?.into_iter().enumerate() {
            let length = length.clamp(0, size - start);
            let rows = cut(a, ragged, start, length)?;
            let other = match (is_contracted, is_batch) {
                (Some(at), _) => cut(b, spec.rhs_contract[at] as usize, start, length)?,
                (None, Some(at)) => cut(b, spec.rhs_batch[at] as usize, start, length)?,
                (None, None) => match spec.rhs_group.as_slice() {
                    &[dim] => {
                        let part = cut(b, dim as usize, group as i64, 1)?;
                        let mut dims = Dims::from_slice(part.dims());
                        dims.remove(dim as usize);
                        let part = part.reshaped(dims)?;
                        let without = |dims: &[u32]| dims.iter().map(|&d| d - u32::from(d > dim)).collect::<Vec<_>>();
                        let (batch, contract) = (without(&spec.rhs_batch), without(&spec.rhs_contract));
                        let right = Side { batch: &batch, contract: &contract };
                        parts.push(dot_general(&rows, &part, &left, &right, dtype)?);
                        start += length;
                        continue;
                    }
                    _ => return Fault::invalid("not one group dimension"),
                },
            };
            let product = dot_general(&rows, &other, &left, &right, dtype)?;
            if is_contracted.is_some() {
                let dims = [&[1], product.dims()].concat();
                parts.push(product.reshaped(Dims::from_slice(&dims))?);
            } else {
                parts.push(product);
            }
            start += length;
        }
        // The dimension of the result along which groups are concatenated.
        let dim = match (is_contracted, is_batch) {
            (Some(_), _) => 0,
            (None, Some(at)) => at,
            (None, None) => {
                let is_free = |d: &u32| !spec.lhs_batch.contains(d) && !spec.lhs_contract.contains(d);
                spec.lhs_batch.len() + (0..ragged as u32).filter(is_free).count()
            }
        };
        let result = moves::concatenate(&parts, dim)?;
        let missing = self.static_dims(op, 0)?.get(dim).copied().unwrap_or(0).saturating_sub(result.dims()[dim]);
        // Rows after the last group are zero.
        let pad = |at: usize, n: i64| -> Vec<i64> { (0..result.rank()).map(|d| if d == at { n } else { 0 }).collect() };
        let zero = Array::full(Dims::new(), dtype, 0.0)?;
        moves::pad(&result, &zero, &pad(dim, 0), &pad(dim, missing as i64), &pad(dim, 0))
    }

    /// A CHLO operation whose operands may have different shapes.
    fn broadcasting(&self, spec: &BroadcastingSpec, operands: Vec<Array<D>>) -> Result<Array<D>, Fault> {
        let rank = operands.iter().map(Array::rank).max().unwrap_or(0);
        let places = |a: &Array<D>| -> Vec<usize> {
            match &spec.dims {
                Some(dims) if a.rank() < rank && dims.len() == a.rank() => places(dims),
                _ => (rank - a.rank()..rank).collect(),
            }
        };
        let mut dims = Dims::from_elem(1, rank);
        for a in &operands {
            for (&at, &n) in places(a).iter().zip(a.dims()) {
                match dims.get_mut(at) {
                    Some(size) if *size == 1 => *size = n,
                    _ => {}
                }
            }
        }
        let spread = |a: &Array<D>| moves::broadcast(a, &places(a), dims.clone());
        let operands = operands.iter().map(spread).collect::<Result<Vec<_>, Fault>>()?;
        match spec.op {
            BroadcastingOp::Binary(op) => {
                let [a, b] = all(operands)?;
                elementwise::binary(op.op(), &a, &b, self.program.options.key)
            }
            BroadcastingOp::Compare(direction, how) => {
                let [a, b] = all(operands)?;
                elementwise::compare(direction, how, &a, &b)
            }
            BroadcastingOp::Select => {
                let [pred, a, b] = all(operands)?;
                elementwise::select(&pred, &a, &b)
            }
        }
    }
}

fn split_first<D: Domain>(operands: &[Array<D>]) -> Result<(&Array<D>, &[Array<D>]), Fault> {
    operands.split_first().ok_or_else(|| Fault::Invalid("too few operands".to_owned()))
}

/// `length` elements along a dimension.
fn cut<D: Domain>(a: &Array<D>, dim: usize, start: i64, length: i64) -> Result<Array<D>, Fault> {
    let (mut from, mut to): (Vec<i64>, Vec<i64>) = a.dims().iter().map(|&n| (0, n as i64)).unzip();
    let (Some(first), Some(last)) = (from.get_mut(dim), to.get_mut(dim)) else {
        return Fault::invalid("a dimension that does not exist");
    };
    (*first, *last) = (start, start + length);
    moves::slice(a, &from, &to, &vec![1; a.rank()])
}

/// Concatenates ranges of operands.
fn splice<D: Domain>(operands: &[Array<D>], spec: &SpliceSpec) -> Result<Array<D>, Fault> {
    let piece = |piece: &shardc_ir::SplicePiece| match operands.get(piece.operand as usize) {
        Some(a) => cut(a, spec.dim as usize, piece.start, piece.limit - piece.start),
        None => Fault::invalid("a piece of an operand that does not exist"),
    };
    let pieces = spec.pieces.iter().map(piece).collect::<Result<Vec<_>, Fault>>()?;
    moves::concatenate(&pieces, spec.dim as usize)
}

/// The first elements of a dimension.
fn resized<D: Domain>(a: &Array<D>, dim: usize, size: i64) -> Result<Array<D>, Fault> {
    cut(a, dim, 0, size.clamp(0, a.dims().get(dim).map_or(0, |&n| n as i64)))
}

/// Takes slices along a dimension at the positions in `indices`; the first dimensions of both are batching dimensions.
fn index_select<D: Domain>(a: &Array<D>, indices: &Array<D>, dim: i64, batch: i64) -> Result<Array<D>, Fault> {
    let place = |n: i64, rank: usize| usize::try_from(if n < 0 { n + rank as i64 } else { n }).unwrap_or(rank);
    let (dim, batch) = (place(dim, a.rank()) as u32, place(batch, indices.rank()) as u32);
    let rank = a.rank() as u32;
    let own = indices.rank() as u32 - batch.min(indices.rank() as u32);
    // Result dimensions: those of the operand before `dim`, of the indices, of the operand after `dim`.
    let offsets = (batch..dim).chain(dim + own..rank - 1 + own);
    let spec = shardc_ir::GatherSpec {
        offset_dims: offsets.collect(),
        collapsed_slice_dims: [dim].into_iter().collect(),
        operand_batching_dims: (0..batch).collect(),
        start_indices_batching_dims: (0..batch).collect(),
        start_index_map: [dim].into_iter().collect(),
        index_vector_dim: indices.rank() as u32,
        slice_sizes: shardc_ir::SizeList::new(),
        indices_are_sorted: None,
    };
    let is_one = |d: u32| d == dim || d < batch;
    let sizes: Vec<i64> =
        (0..rank).map(|d| if is_one(d) { 1 } else { a.dims()[d as usize] as i64 }).collect();
    gather::gather(a, indices, &spec, &sizes)
}
