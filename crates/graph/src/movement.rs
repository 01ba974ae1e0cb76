//! Operations that move elements.

use shardc_ir::{DimList, OpKind, PadSpec, SizeList, SliceSpec};

use crate::error::{Here, broadcasts};
use crate::graph::{KindResult, Result, check_shape};
use crate::{ErrorKind, Graph, Tensor};

/// Dimension numbers that have to be in range and different.
pub(crate) fn dims(op: &'static str, dims: &[usize], shape: &[i64]) -> KindResult<DimList> {
    let mut seen = vec![false; shape.len()];
    for &dim in dims {
        match seen.get_mut(dim) {
            Some(seen) if !*seen => *seen = true,
            _ => return Err(ErrorKind::Dimensions { op, dims: dims.to_vec(), shape: shape.to_vec() }),
        }
    }
    Ok(dims.iter().map(|&d| d as u32).collect())
}

impl Graph {
    /// Returns the elements of a tensor, row-major, in another shape.
    ///
    /// # Errors
    /// The shape has another number of elements.
    #[track_caller]
    pub fn reshape(&mut self, x: Tensor, shape: impl AsRef<[i64]>) -> Result<Tensor> {
        let shape = shape.as_ref();
        check_shape(shape).here()?;
        let from = self.tensor(x).here()?;
        let (have, want) = (from.shape.iter().product(), shape.iter().product());
        if have != want {
            return Err(ErrorKind::ElementCount { have, want, shape: shape.to_vec() }.here());
        }
        let dtype = from.dtype;
        let value = self.value(x).here()?;
        let ty = self.module_mut().types.tensor(shape, dtype);
        Ok(self.push(OpKind::Reshape, &[value], ty, &[]))
    }

    /// Dimension `i` of the result is dimension `permutation[i]` of `x`.
    ///
    /// # Errors
    /// `permutation` does not name every dimension once.
    #[track_caller]
    pub fn transpose(&mut self, x: Tensor, permutation: &[usize]) -> Result<Tensor> {
        let shape = &self.tensor(x).here()?.shape;
        let fault =
            || ErrorKind::Dimensions { op: "transpose", dims: permutation.to_vec(), shape: shape.to_vec() };
        if permutation.len() != shape.len() {
            return Err(fault().here());
        }
        let permutation = dims("transpose", permutation, shape).here()?;
        let value = self.value(x).here()?;
        self.infer(OpKind::Transpose { permutation }, &[value], &[])
    }

    /// Dimension `i` of `x` becomes dimension `places[i]` of the result; the others, and dimensions of size one,
    /// repeat.
    ///
    /// # Errors
    /// `places` does not name a dimension of the result for each of `x`, or a size is neither equal nor one.
    #[track_caller]
    pub fn broadcast_in_dim(
        &mut self,
        x: Tensor,
        shape: impl AsRef<[i64]>,
        places: &[usize],
    ) -> Result<Tensor> {
        let shape = shape.as_ref();
        check_shape(shape).here()?;
        let from = self.tensor(x).here()?;
        let op = "broadcast_in_dim";
        if places.len() != from.rank() {
            return Err(
                ErrorKind::Dimensions { op, dims: places.to_vec(), shape: from.shape.to_vec() }.here()
            );
        }
        let placed = dims(op, places, shape).here()?;
        if from.shape.iter().zip(places).any(|(&n, &d)| n != 1 && n != shape[d]) {
            let (left, right) = (from.shape.to_vec(), shape.to_vec());
            return Err(ErrorKind::Shapes { op, left, right }.here());
        }
        let dtype = from.dtype;
        let value = self.value(x).here()?;
        let ty = self.module_mut().types.tensor(shape, dtype);
        Ok(self.push(OpKind::BroadcastInDim { dims: placed }, &[value], ty, &[]))
    }

    /// Repeats `x` to a shape whose last dimensions are those of `x`, or where `x` has size one.
    ///
    /// # Errors
    /// The shapes do not go together so.
    #[track_caller]
    pub fn broadcast_to(&mut self, x: Tensor, shape: impl AsRef<[i64]>) -> Result<Tensor> {
        let shape = shape.as_ref();
        let from = self.tensor(x).here()?;
        if !broadcasts(&from.shape, shape) {
            let (left, right) = (from.shape.to_vec(), shape.to_vec());
            return Err(ErrorKind::Shapes { op: "broadcast_to", left, right }.here());
        }
        let places: Vec<usize> = (shape.len() - from.rank()..shape.len()).collect();
        self.broadcast_in_dim(x, shape, &places)
    }

    /// The elements from `start` to `limit`, exclusive, along each dimension.
    ///
    /// # Errors
    /// The bounds do not lie in the tensor.
    #[track_caller]
    pub fn slice(&mut self, x: Tensor, start: &[i64], limit: &[i64]) -> Result<Tensor> {
        let value = self.value(x).here()?;
        let spec = SliceSpec {
            start: SizeList::from_slice(start),
            limit: SizeList::from_slice(limit),
            stride: SizeList::from_elem(1, start.len()),
        };
        self.infer(OpKind::Slice(Box::new(spec)), &[value], &[])
    }

    /// Tensors side by side along dimension `dim`.
    ///
    /// # Errors
    /// There is none, they lack the dimension, or they differ in element type or in another dimension.
    #[track_caller]
    pub fn concatenate(&mut self, parts: &[Tensor], dim: usize) -> Result<Tensor> {
        let mut values = Vec::with_capacity(parts.len());
        for &part in parts {
            let (first, next) = (self.tensor(parts[0]).here()?, self.tensor(part).here()?);
            if first.dtype != next.dtype {
                return Err(
                    ErrorKind::DTypes { op: "concatenate", left: first.dtype, right: next.dtype }.here()
                );
            }
            dims("concatenate", &[dim], &first.shape).here()?;
            let same = first.rank() == next.rank()
                && first.shape.iter().zip(&next.shape).enumerate().all(|(d, (a, b))| d == dim || a == b);
            if !same {
                let (left, right) = (first.shape.to_vec(), next.shape.to_vec());
                return Err(ErrorKind::Shapes { op: "concatenate", left, right }.here());
            }
            values.push(self.value(part).here()?);
        }
        self.infer(OpKind::Concatenate { dim: dim as u32 }, &values, &[])
    }

    /// Adds `low` elements before and `high` after each dimension, all equal to the scalar `value`.
    ///
    /// # Errors
    /// `value` is not a scalar of the tensor's element type, or there is not one entry per dimension.
    #[track_caller]
    pub fn pad(&mut self, x: Tensor, value: Tensor, low: &[i64], high: &[i64]) -> Result<Tensor> {
        let operands = [self.value(x).here()?, self.value(value).here()?];
        let spec = PadSpec {
            low: SizeList::from_slice(low),
            high: SizeList::from_slice(high),
            interior: SizeList::from_elem(0, low.len()),
        };
        self.infer(OpKind::Pad(Box::new(spec)), &operands, &[])
    }
}
