//! Inference of operations with shapes, sizes and paddings as operands. If such an operand is a constant, the result must agree with it.

use smallvec::smallvec;

use super::{
    Ctx, Fail, Res, Ty, Types, distinct_dims, ensure, on_size, shape_fits, shape_text, size_fits, tensor,
};
use crate::{DType, DYNAMIC, DynamicBroadcastSpec, RngDistribution, Shape, SizeList, TensorType};

impl Ctx<'_> {
    /// Returns the integers of operand `i`, if it is a constant.
    pub(crate) fn constant(&self, i: usize) -> Option<SizeList> {
        self.module.constant_integers(*self.operands.get(i)?)
    }

    /// Checks that operand `i` is a list of integers of static length, and returns the length.
    pub(crate) fn list(&self, i: usize) -> Res<usize> {
        let list = self.tensor(i)?;
        ensure!(
            list.rank() == 1 && list.is_static() && list.dtype.is_integer(),
            "operand {i} of {} must be a 1-dimensional integer tensor of static shape, got {list}",
            self.name()
        );
        Ok(list.shape[0] as usize)
    }
}

/// Checks the result of an operation whose operand `i` is the shape of the result.
fn shape_operand(cx: &Ctx<'_>, i: usize, result: &TensorType) -> Res<()> {
    let rank = cx.list(i)?;
    ensure!(
        rank == result.rank(),
        "{} gives {result}, but its shape operand {i} has {rank} elements",
        cx.name()
    );
    if let Some(shape) = cx.constant(i) {
        ensure!(
            shape.iter().all(|&n| n >= 0) && shape_fits(&shape, &result.shape),
            "{} gives {result}, but its shape operand {i} is {shape:?}",
            cx.name()
        );
    }
    Ok(())
}

pub(crate) fn iota(cx: &Ctx<'_>, dim: u32, result: &TensorType) -> Res<()> {
    ensure!((dim as usize) < result.rank(), "dimension {dim} of dynamic_iota is out of range for {result}");
    shape_operand(cx, 0, result)
}

pub(crate) fn reshape(cx: &Ctx<'_>, result: &TensorType) -> Res<()> {
    let operand = cx.tensor(0)?;
    let counts = (operand.num_elements(), result.num_elements());
    ensure!(
        operand.dtype == result.dtype && !matches!(counts, (Some(a), Some(b)) if a != b),
        "dynamic_reshape of {operand} gives {result}: the element type and the number of elements must not change"
    );
    shape_operand(cx, 1, result)?;
    if let (Some(shape), Some(count)) = (cx.constant(1), counts.0) {
        let wanted = shape.iter().try_fold(1i64, |n, &size| n.checked_mul(size));
        ensure!(
            wanted == Some(count),
            "dynamic_reshape of {operand} to the shape {shape:?} changes the number of elements, {count}"
        );
    }
    Ok(())
}

pub(crate) fn broadcast_in_dim(cx: &Ctx<'_>, spec: &DynamicBroadcastSpec, result: &TensorType) -> Res<()> {
    super::broadcast::broadcast_in_dim(cx, &spec.dims, result)?;
    shape_operand(cx, 1, result)?;
    let operand = cx.tensor(0)?;
    if let Some(shape) = cx.constant(1) {
        for (i, (&d, &n)) in spec.dims.iter().zip(&operand.shape).enumerate() {
            ensure!(
                n == 1 || shape.get(d as usize).is_some_and(|&m| size_fits(n, m)),
                "dynamic_broadcast_in_dim of {operand} to the shape {shape:?}: operand dimension {i} of size {n} cannot be broadcast"
            );
        }
    }
    let hints = spec.known_expanding.iter().chain(&spec.known_nonexpanding).flatten().copied();
    let hints: crate::DimList = hints.collect();
    distinct_dims(cx.name(), "known expanding and nonexpanding dimensions", &hints, operand.rank())
}

pub(crate) fn pad(cx: &Ctx<'_>, result: &TensorType) -> Res<()> {
    let (operand, value) = (cx.tensor(0)?, cx.scalar(1)?);
    ensure!(
        value.dtype == operand.dtype,
        "dynamic_pad of {operand} with a value of type {value}: the element types differ"
    );
    ensure!(
        operand.dtype == result.dtype && operand.rank() == result.rank(),
        "dynamic_pad of {operand} gives {result}: the element type and the rank must not change"
    );
    for i in 2..5 {
        let length = cx.list(i)?;
        ensure!(
            length == operand.rank(),
            "operand {i} of dynamic_pad has {length} elements for {} dimensions of {operand}",
            operand.rank()
        );
    }
    let Some(interior) = cx.constant(4) else { return Ok(()) };
    ensure!(interior.iter().all(|&n| n >= 0), "dynamic_pad has negative interior padding {interior:?}");
    let (Some(low), Some(high)) = (cx.constant(2), cx.constant(3)) else { return Ok(()) };
    for (d, (&n, &m)) in operand.shape.iter().zip(&result.shape).enumerate() {
        let want = on_size(n, |n| {
            // An empty dimension has no interior padding. The arithmetic saturates, since the sizes are arbitrary constants of the program;
            // a saturated size fits no result (`limits::MAX_BYTES`).
            let between = (n - 1).max(0).saturating_mul(interior[d]);
            n.saturating_add(between).saturating_add(low[d]).saturating_add(high[d])
        });
        ensure!(
            size_fits(want, m),
            "dynamic_pad of {operand} gives {result}: dimension {d} must have size {want}"
        );
    }
    Ok(())
}

pub(crate) fn real_slice(cx: &Ctx<'_>, result: &TensorType) -> Res<()> {
    let operand = cx.tensor(0)?;
    ensure!(
        operand.dtype == result.dtype && operand.rank() == result.rank(),
        "real_dynamic_slice of {operand} gives {result}: the element type and the rank must not change"
    );
    for i in 1..4 {
        let list = cx.tensor(i)?;
        ensure!(
            list.rank() == 1 && list.dtype.is_integer() && size_fits(list.shape[0], operand.rank() as i64),
            "operand {i} of real_dynamic_slice must have one integer per dimension of {operand}, got {list}"
        );
    }
    Ok(())
}

pub(crate) fn rng(cx: &Ctx<'_>, distribution: RngDistribution) -> Res<Types> {
    let (a, b) = (cx.scalar(0)?, cx.scalar(1)?);
    ensure!(a.dtype == b.dtype, "rng between {a} and {b}: the element types differ");
    ensure!(
        !matches!(a.dtype.class(), crate::DTypeClass::Complex),
        "rng does not support the element type {}",
        a.dtype
    );
    ensure!(
        distribution == RngDistribution::Uniform || a.dtype.is_float(),
        "rng with a normal distribution needs a float type, got {}",
        a.dtype
    );
    let rank = cx.list(2)?;
    let shape: Shape = match cx.constant(2) {
        Some(sizes) => sizes.iter().copied().collect(),
        None => Shape::from_elem(DYNAMIC, rank),
    };
    ensure!(
        shape.iter().all(|&n| n == DYNAMIC || n >= 0),
        "rng of shape {}: sizes must not be negative",
        shape_text(&shape)
    );
    Ok(tensor(&shape, a.dtype))
}

fn dim_of(cx: &Ctx<'_>, dim: u32) -> Res<usize> {
    let operand = cx.tensor(0)?;
    ensure!(
        (dim as usize) < operand.rank(),
        "dimension {dim} of {} is out of range for {operand}",
        cx.name()
    );
    Ok(dim as usize)
}

pub(crate) fn get_dimension_size(cx: &Ctx<'_>, dim: u32) -> Res<Types> {
    dim_of(cx, dim)?;
    Ok(tensor(&[], DType::I32))
}

pub(crate) fn set_dimension_size(cx: &Ctx<'_>, dim: u32) -> Res<Types> {
    let (operand, size) = (cx.tensor(0)?, cx.scalar(1)?);
    ensure!(size.dtype == DType::I32, "the size operand of set_dimension_size must be i32, got {size}");
    let dim = dim_of(cx, dim)?;
    let mut shape = operand.shape.clone();
    let mut limits =
        operand.bounds().map_or_else(|| Shape::from_elem(DYNAMIC, shape.len()), Shape::from_slice);
    if limits.len() != shape.len() {
        // The verifier reports a list of bounds whose length is not the rank (I17).
        return Err(Fail::Unknown);
    }
    if shape[dim] != DYNAMIC {
        // A static size becomes the upper bound of the dynamic size: the operation can only make a dimension smaller (StableHLO
        // specification, `set_dimension_size`).
        limits[dim] = shape[dim];
    }
    shape[dim] = DYNAMIC;
    if let Some(sizes) = cx.constant(1)
        && sizes.first() == Some(&limits[dim])
    {
        shape[dim] = limits[dim];
        limits[dim] = DYNAMIC;
    }
    let encoding = super::bounds::encoding(&limits);
    Ok(smallvec![Ty::Tensor(TensorType { shape, dtype: operand.dtype, encoding })])
}

pub(crate) fn broadcast(cx: &Ctx<'_>, sizes: &SizeList) -> Res<Types> {
    let operand = cx.tensor(0)?;
    ensure!(sizes.iter().all(|&n| n >= 0), "the sizes of broadcast must not be negative, got {sizes:?}");
    let shape: Shape = sizes.iter().chain(&operand.shape).copied().collect();
    Ok(tensor(&shape, operand.dtype))
}
