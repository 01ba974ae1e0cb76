//! Matrix products and reductions.

use shardc_ir::{BinaryOp, DotSpec, OpKind, RegionId, TypeId, ValueId};

use crate::error::Here;
use crate::graph::Result;
use crate::movement::dims;
use crate::{ErrorKind, Graph, Tensor, number};

/// Dimensions of [`Graph::dot_general`]. The result has the batching dimensions, then the free ones of the left,
/// then those of the right.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DotDims {
    /// Dimensions of the left that go along with `right_batch`.
    pub left_batch: Vec<usize>,
    /// Dimensions of the right that go along with `left_batch`.
    pub right_batch: Vec<usize>,
    /// Dimensions of the left that are summed over.
    pub left_contract: Vec<usize>,
    /// Dimensions of the right that are summed over.
    pub right_contract: Vec<usize>,
}

impl Graph {
    /// Sums over the last dimension of `x` and the first of `y`: the matrix product, for matrices.
    ///
    /// # Errors
    /// Those dimensions differ, a tensor has none, or the element types differ.
    #[track_caller]
    pub fn dot(&mut self, x: Tensor, y: Tensor) -> Result<Tensor> {
        let (left, right) = (self.tensor(x).here()?, self.tensor(y).here()?);
        let (l, r) = (left.shape.last(), right.shape.first());
        if l.is_none() || l != r {
            let (left, right) = (left.shape.to_vec(), right.shape.to_vec());
            return Err(ErrorKind::Shapes { op: "dot", left, right }.here());
        }
        let dims =
            DotDims { left_contract: vec![left.rank() - 1], right_contract: vec![0], ..DotDims::default() };
        self.dot_general(x, y, &dims)
    }

    /// Sums products over contracting dimensions, side by side along batching dimensions.
    ///
    /// # Errors
    /// The dimensions do not exist, are named twice or differ in size, or the element types differ.
    #[track_caller]
    pub fn dot_general(&mut self, x: Tensor, y: Tensor, roles: &DotDims) -> Result<Tensor> {
        let op = "dot_general";
        let (left, right) = (self.tensor(x).here()?, self.tensor(y).here()?);
        if left.dtype != right.dtype {
            return Err(ErrorKind::DTypes { op, left: left.dtype, right: right.dtype }.here());
        }
        for (batch, contract, shape) in [
            (&roles.left_batch, &roles.left_contract, &left.shape),
            (&roles.right_batch, &roles.right_contract, &right.shape),
        ] {
            dims(op, &[batch.as_slice(), contract].concat(), shape).here()?;
        }
        let pairs = |l: &[usize], r: &[usize]| {
            l.len() == r.len() && l.iter().zip(r).all(|(&l, &r)| left.shape[l] == right.shape[r])
        };
        if !pairs(&roles.left_batch, &roles.right_batch)
            || !pairs(&roles.left_contract, &roles.right_contract)
        {
            let (left, right) = (left.shape.to_vec(), right.shape.to_vec());
            return Err(ErrorKind::Shapes { op, left, right }.here());
        }
        let list = |dims: &[usize]| dims.iter().map(|&d| d as u32).collect();
        let spec = DotSpec {
            lhs_batch: list(&roles.left_batch),
            rhs_batch: list(&roles.right_batch),
            lhs_contract: list(&roles.left_contract),
            rhs_contract: list(&roles.right_contract),
            ..DotSpec::default()
        };
        let operands = [self.value(x).here()?, self.value(y).here()?];
        self.infer(OpKind::DotGeneral(Box::new(spec)), &operands, &[])
    }

    /// Sums over dimensions, which vanish; over `i1`, whether any element holds.
    ///
    /// # Errors
    /// The tensor lacks a dimension, or one is named twice.
    #[track_caller]
    pub fn reduce_sum(&mut self, x: Tensor, over: &[usize]) -> Result<Tensor> {
        self.reduce(BinaryOp::Add, "reduce_sum", x, over)
    }

    /// Multiplies over dimensions, which vanish.
    ///
    /// # Errors
    /// The tensor lacks a dimension, or one is named twice.
    #[track_caller]
    pub fn reduce_prod(&mut self, x: Tensor, over: &[usize]) -> Result<Tensor> {
        self.reduce(BinaryOp::Multiply, "reduce_prod", x, over)
    }

    /// The largest element along dimensions, which vanish.
    ///
    /// # Errors
    /// The tensor lacks a dimension, or one is named twice; complex numbers have no order.
    #[track_caller]
    pub fn reduce_max(&mut self, x: Tensor, over: &[usize]) -> Result<Tensor> {
        self.reduce(BinaryOp::Maximum, "reduce_max", x, over)
    }

    /// The smallest element along dimensions, which vanish.
    ///
    /// # Errors
    /// The tensor lacks a dimension, or one is named twice; complex numbers have no order.
    #[track_caller]
    pub fn reduce_min(&mut self, x: Tensor, over: &[usize]) -> Result<Tensor> {
        self.reduce(BinaryOp::Minimum, "reduce_min", x, over)
    }

    /// The mean over dimensions, which vanish.
    ///
    /// # Errors
    /// The tensor lacks a dimension, or one is named twice; its elements are not floats.
    #[track_caller]
    pub fn reduce_mean(&mut self, x: Tensor, over: &[usize]) -> Result<Tensor> {
        let ty = self.tensor(x).here()?;
        if !ty.dtype.is_float() {
            let message = format!("reduce_mean takes floats, not {}", ty.dtype);
            return Err(ErrorKind::Operands(message).here());
        }
        dims("reduce_mean", over, &ty.shape).here()?;
        let count: i64 = over.iter().map(|&d| ty.shape[d]).product();
        let sum = self.reduce_sum(x, over)?;
        self.div(sum, count as f64)
    }

    #[track_caller]
    fn reduce(&mut self, op: BinaryOp, name: &'static str, x: Tensor, over: &[usize]) -> Result<Tensor> {
        let ty = self.tensor(x).here()?;
        let dims = dims(name, over, &ty.shape).here()?;
        let dtype = ty.dtype;
        let start = match op {
            BinaryOp::Maximum => number::extreme(dtype, false),
            BinaryOp::Minimum => number::extreme(dtype, true),
            BinaryOp::Multiply => number::encode(dtype, 1.0),
            _ => number::encode(dtype, 0.0),
        };
        let Some(start) = start else {
            return Err(ErrorKind::Operands(format!("{name} does not take elements of type {dtype}")).here());
        };
        let input = self.value(x).here()?;
        let start = self.splat(&start, &[], dtype);
        let start = self.value(start).here()?;
        let scalar = self.module_mut().types.tensor(&[], dtype);
        let body = self.combiner(op, scalar);
        self.infer(OpKind::Reduce { dims }, &[input, start], &[body])
    }

    /// A region that combines two scalars.
    fn combiner(&mut self, op: BinaryOp, scalar: TypeId) -> RegionId {
        let module = self.module_mut();
        let body = module.add_region(&[scalar, scalar]);
        let args: Vec<ValueId> = module.regions[body].args.clone();
        let combine = module.add_op(OpKind::Binary(op), &args, &[scalar], &[]);
        let results = module.ops[combine].results.clone();
        let end = module.add_op(OpKind::Return, &results, &[], &[]);
        module.set_ops(body, vec![combine, end]);
        body
    }
}
