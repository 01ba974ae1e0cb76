//! Contractions, transforms, linear algebra, normalization, and random bits.

use shardc_ir::{BatchNormKind, ConvSpec, DotSpec, OpId, OpKind, RaggedDotSpec};

use super::Device;
use super::operands::{all, cut, integers};
use crate::array::{Array, Dims};
use crate::error::Fault;
use crate::kernels::dot::{Side, dot_general};
use crate::kernels::{convolution, einsum, fft, linalg, moves, norm, rng, top_k};
use crate::numbers::Domain;

impl<D: Domain> Device<'_, '_, D> {
    /// Evaluates an operation that computes with whole rows or matrices.
    pub(super) fn contracted(&self, op: OpId, operands: &[Array<D>]) -> Result<Vec<Array<D>>, Fault> {
        let result = match &self.module.ops[op].kind {
            OpKind::DotGeneral(spec) => self.dot(op, operands, spec)?,
            OpKind::RaggedDot(spec) => self.ragged_dot(op, all(operands)?, spec)?,
            OpKind::Einsum { config } => {
                let [a, b] = all(operands)?;
                einsum::binary(a, b, config, self.result_dtype(op, 0)?)?
            }
            OpKind::UnaryEinsum { config } => {
                let [a] = all(operands)?;
                einsum::unary(a, config, self.result_dtype(op, 0)?)?
            }
            OpKind::Convolution(spec) => {
                let [input, kernel] = all(operands)?;
                self.convolve(op, input, kernel, spec, &spec.padding)?
            }
            OpKind::Fft { kind, length } => {
                let [a] = all(operands)?;
                fft::fft(a, *kind, length)?
            }
            OpKind::Cholesky { lower } => {
                let [a] = all(operands)?;
                linalg::cholesky(a, *lower, self.program.options.key)?
            }
            OpKind::TriangularSolve(spec) => {
                let [a, b] = all(operands)?;
                linalg::triangular_solve(a, b, spec)?
            }
            OpKind::BatchNorm(kind, spec) => {
                let key = self.program.options.key;
                return match kind {
                    BatchNormKind::Training => norm::training(all(operands)?, *spec, key),
                    BatchNormKind::Inference => Ok(vec![norm::inference(all(operands)?, *spec, key)?]),
                    BatchNormKind::Grad => norm::gradient(all(operands)?, *spec, key),
                };
            }
            OpKind::RngBitGenerator { algorithm } => {
                let [state] = all(operands)?;
                let (dims, dtype) = (self.static_dims(op, 1)?, self.result_dtype(op, 1)?);
                self.charge_result(&dims, dtype)?;
                return Ok(rng::generate(state, *algorithm, dims, dtype)?.to_vec());
            }
            OpKind::TopK { k, .. } => {
                let [a] = all(operands)?;
                return Ok(top_k::top_k(a, usize::try_from(*k).unwrap_or(0))?.to_vec());
            }
            other => return Fault::unsupported(other.name()),
        };
        Ok(vec![result])
    }

    fn dot(&self, op: OpId, operands: &[Array<D>], spec: &DotSpec) -> Result<Array<D>, Fault> {
        let [a, b] = operands else { return Fault::invalid("not two operands") };
        let contracted: usize = spec.lhs_contract.iter().filter_map(|&d| a.dims().get(d as usize)).product();
        if let Ok(dims) = self.static_dims(op, 0) {
            self.charge_result(&dims, self.result_dtype(op, 0)?)?;
            self.charge((crate::array::count(&dims)? as u64).saturating_mul(contracted as u64))?;
        }
        let left = Side { batch: &spec.lhs_batch, contract: &spec.lhs_contract };
        let right = Side { batch: &spec.rhs_batch, contract: &spec.rhs_contract };
        dot_general(a, b, &left, &right, self.result_dtype(op, 0)?)
    }

    pub(super) fn convolve(
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
    fn ragged_dot(
        &self,
        op: OpId,
        operands: &[Array<D>; 3],
        spec: &RaggedDotSpec,
    ) -> Result<Array<D>, Fault> {
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
                        let without =
                            |dims: &[u32]| dims.iter().map(|&d| d - u32::from(d > dim)).collect::<Vec<_>>();
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
        let missing =
            self.static_dims(op, 0)?.get(dim).copied().unwrap_or(0).saturating_sub(result.dims()[dim]);
        // Rows after the last group are zero.
        let pad = |at: usize, n: i64| -> Vec<i64> {
            (0..result.rank()).map(|d| if d == at { n } else { 0 }).collect()
        };
        let zero = Array::full(Dims::new(), dtype, 0.0)?;
        moves::pad(&result, &zero, &pad(dim, 0), &pad(dim, missing as i64), &pad(dim, 0))
    }
}
