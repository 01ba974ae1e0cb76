//! Contractions: matmul and `dot_general`.

use shardc_ir::{DType, DotSpec, OpKind, ValueId};

use crate::error::ErrorKind;
use crate::graph::{KindResult, Maker};
use crate::ops::broadcast::{broadcast_to, common_shape};
use crate::{Tensor, axes};

/// Dimension numbers of [`Tensor::dot_general`]; negative numbers count from the last dimension. The result has the batching dimensions,
/// then the other dimensions of the left operand, then those of the right.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DotDims {
    /// Batching dimensions of the left operand.
    pub lhs_batching: Vec<i64>,
    /// Batching dimensions of the right operand, in the same order.
    pub rhs_batching: Vec<i64>,
    /// Contracting dimensions of the left operand.
    pub lhs_contracting: Vec<i64>,
    /// Contracting dimensions of the right operand, in the same order.
    pub rhs_contracting: Vec<i64>,
    /// Element type of the accumulation and the result; by default, that of the operands.
    pub accumulate: Option<DType>,
}

impl DotDims {
    /// Creates dimension numbers with the given contracting dimensions and without batching dimensions.
    #[must_use]
    pub fn contracting(lhs: &[i64], rhs: &[i64]) -> Self {
        DotDims { lhs_contracting: lhs.to_vec(), rhs_contracting: rhs.to_vec(), ..DotDims::default() }
    }

    /// Sets the batching dimensions.
    #[must_use]
    pub fn batching(mut self, lhs: &[i64], rhs: &[i64]) -> Self {
        (self.lhs_batching, self.rhs_batching) = (lhs.to_vec(), rhs.to_vec());
        self
    }

    /// Sets the element type of the accumulation and the result.
    #[must_use]
    pub fn accumulating(mut self, dtype: DType) -> Self {
        self.accumulate = Some(dtype);
        self
    }
}

impl<'g> Tensor<'g> {
    /// Contracts the last dimension of this tensor with the first dimension of `y`: for matrices, a matmul. The result has the other
    /// dimensions of this tensor, then the other dimensions of `y`.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// let w = g.parameter("w", [3, 4], F32);
    /// assert_eq!(x.dot(w).shape(), [2, 4]);
    /// ```
    ///
    /// Reports an error if the contracted dimensions differ in size, if a tensor is a scalar, or if the element types differ.
    #[must_use]
    #[track_caller]
    pub fn dot(self, y: impl Into<Tensor<'g>>) -> Tensor<'g> {
        let y = y.into();
        self.graph().make(&[self, y], |m, values| {
            let (left, right) = (m.shape_of(values[0]), m.shape_of(values[1]));
            if left.is_empty() || left.last() != right.first() {
                return Err(ErrorKind::Shapes { op: "dot", left, right });
            }
            dot_general(m, values, &DotDims::contracting(&[-1], &[0]))
        })
    }

    /// Batched matmul over the last two dimensions; leading dimensions broadcast.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [8, 2, 3], F32);
    /// let w = g.parameter("w", [8, 3, 4], F32);
    /// assert_eq!(x.matmul(w).shape(), [8, 2, 4]);
    /// ```
    ///
    /// Reports an error if the shapes do not match, a tensor has fewer than two dimensions, or the element types differ.
    #[must_use]
    #[track_caller]
    pub fn matmul(self, y: impl Into<Tensor<'g>>) -> Tensor<'g> {
        let y = y.into();
        self.graph().make(&[self, y], |m, values| {
            let (left, right) = (m.shape_of(values[0]), m.shape_of(values[1]));
            let fault = || ErrorKind::Shapes { op: "matmul", left: left.clone(), right: right.clone() };
            let (Some(l), Some(r)) = (left.len().checked_sub(2), right.len().checked_sub(2)) else {
                return Err(fault());
            };
            if left[l + 1] != right[r] {
                return Err(fault());
            }
            if r == 0 {
                // A right operand without batch dimensions need not be broadcast.
                return dot_general(m, values, &DotDims::contracting(&[-1], &[0]));
            }
            let batch = common_shape("matmul", &left[..l], &right[..r]).map_err(|_| fault())?;
            let spread = |m: &mut Maker<'_>, value, tail: &[i64]| {
                let shape = [&batch[..], tail].concat();
                broadcast_to(m, "matmul", value, &shape)
            };
            let operands = [spread(m, values[0], &left[l..])?, spread(m, values[1], &right[r..])?];
            let along: Vec<i64> = (0..batch.len() as i64).collect();
            dot_general(m, &operands, &DotDims::contracting(&[-1], &[-2]).batching(&along, &along))
        })
    }

    /// Sums products over the contracting dimensions, for each index of the batching dimensions: `jax.lax.dot_general`.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, DotDims, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [8, 2, 3], F32);
    /// let w = g.parameter("w", [8, 3, 4], F32);
    /// let dims = DotDims::contracting(&[2], &[1]).batching(&[0], &[0]);
    /// assert_eq!(x.dot_general(w, &dims).shape(), [8, 2, 4]);
    /// ```
    ///
    /// Reports an error if dimensions do not exist, are repeated or differ in size, or the element types differ.
    #[must_use]
    #[track_caller]
    pub fn dot_general(self, y: impl Into<Tensor<'g>>, dims: &DotDims) -> Tensor<'g> {
        self.graph().make(&[self, y.into()], |m, values| dot_general(m, values, dims))
    }
}

pub(crate) fn dot_general(m: &mut Maker<'_>, values: &[ValueId], dims: &DotDims) -> KindResult<ValueId> {
    let op = "dot_general";
    let (left, right) = (m.dtype_of(values[0]), m.dtype_of(values[1]));
    if left != right {
        return Err(ErrorKind::DTypes { op, left, right });
    }
    let (left, right) = (m.shape_of(values[0]), m.shape_of(values[1]));
    let list = |batching: &[i64], contracting: &[i64], shape: &[i64]| {
        axes::all(op, &[batching, contracting].concat(), shape)
    };
    let lhs = list(&dims.lhs_batching, &dims.lhs_contracting, &left)?;
    let rhs = list(&dims.rhs_batching, &dims.rhs_contracting, &right)?;
    let batching = dims.lhs_batching.len();
    let fits = batching == dims.rhs_batching.len()
        && lhs.len() == rhs.len()
        && lhs.iter().zip(&rhs).all(|(&l, &r)| left[l] == right[r]);
    if !fits {
        return Err(ErrorKind::Shapes { op, left, right });
    }
    let split = |dims: &[usize]| {
        let list = |dims: &[usize]| dims.iter().map(|&d| d as u32).collect();
        (list(&dims[..batching]), list(&dims[batching..]))
    };
    let ((lhs_batch, lhs_contract), (rhs_batch, rhs_contract)) = (split(&lhs), split(&rhs));
    let spec = DotSpec { lhs_batch, rhs_batch, lhs_contract, rhs_contract, ..DotSpec::default() };
    let kind = OpKind::DotGeneral(Box::new(spec));
    let Some(dtype) = dims.accumulate else { return m.infer(kind, values, &[]) };
    let free = |shape: &[i64], used: &[usize]| {
        let free = (0..shape.len()).filter(|d| !used.contains(d));
        free.map(|d| shape[d]).collect::<Vec<i64>>()
    };
    let along: Vec<i64> = lhs[..batching].iter().map(|&d| left[d]).collect();
    let shape = [along, free(&left, &lhs), free(&right, &rhs)].concat();
    let made = m.checked(kind, values, &[(&shape, dtype)])?;
    Ok(made[0])
}
