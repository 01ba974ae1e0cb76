//! Inference of `gather` and `scatter`.

use super::{Ctx, Res, Ty, Types, distinct_dims, ensure, shape_fits, shape_text, tensor};
use crate::{DYNAMIC, DimList, GatherSpec, ScatterSpec, Shape, TensorType};

fn joined(a: &DimList, b: &DimList) -> DimList {
    a.iter().chain(b).copied().collect()
}

/// Returns the sizes of the indices' batch dimensions, and the number of index components.
fn index_shape(cx: &Ctx<'_>, indices: &TensorType, vector_dim: u32) -> Res<(Shape, i64)> {
    let vector_dim = vector_dim as usize;
    ensure!(
        vector_dim <= indices.rank(),
        "index_vector_dim {vector_dim} of {} is out of range for the indices {indices}",
        cx.name()
    );
    ensure!(indices.dtype.is_integer(), "indices of {} must be integers, got {indices}", cx.name());
    let mut shape = indices.shape.clone();
    // `index_vector_dim` may be the rank: each index is then a scalar, with one component.
    let components = if vector_dim < shape.len() { shape.remove(vector_dim) } else { 1 };
    Ok((shape, components))
}

/// The dimension numbers that gather and scatter share, by role.
struct Dims<'a> {
    operand: &'a TensorType,
    indices: &'a TensorType,
    /// Dimensions of the result or the updates that are offsets into a slice.
    window: &'a DimList,
    collapsed: &'a DimList,
    operand_batch: &'a DimList,
    index_batch: &'a DimList,
    map: &'a DimList,
    vector_dim: u32,
}

/// Checks the common constraints of gather and scatter. Returns the batch shape and the operand dimensions that a slice drops.
fn common(cx: &Ctx<'_>, dims: &Dims<'_>) -> Res<(Shape, DimList)> {
    let (batch, components) = index_shape(cx, dims.indices, dims.vector_dim)?;
    let rank = dims.operand.rank();
    let absent = joined(dims.collapsed, dims.operand_batch);
    distinct_dims(cx.name(), "collapsed and batching dimensions", &absent, rank)?;
    distinct_dims(cx.name(), "mapped and batching dimensions", &joined(dims.map, dims.operand_batch), rank)?;
    distinct_dims(cx.name(), "window dimensions", dims.window, batch.len() + dims.window.len())?;
    distinct_dims(cx.name(), "batching dimensions of the indices", dims.index_batch, dims.indices.rank())?;
    for (what, list) in [
        ("window dimensions", dims.window),
        ("collapsed dimensions", dims.collapsed),
        ("batching dimensions", dims.operand_batch),
    ] {
        ensure!(list.is_sorted(), "{what} {list:?} of {} are not in ascending order", cx.name());
    }
    ensure!(
        components == DYNAMIC || components == dims.map.len() as i64,
        "an index of {} has {components} components, but is mapped to {} operand dimensions",
        cx.name(),
        dims.map.len()
    );
    ensure!(
        dims.window.len() + absent.len() == rank,
        "{} of {}: {} window, {} collapsed and {} batching dimensions do not add up to its rank",
        cx.name(),
        dims.operand,
        dims.window.len(),
        dims.collapsed.len(),
        dims.operand_batch.len()
    );
    ensure!(
        dims.operand_batch.len() == dims.index_batch.len() && !dims.index_batch.contains(&dims.vector_dim),
        "batching dimensions of {} do not match: {:?} of the operand, {:?} of the indices",
        cx.name(),
        dims.operand_batch,
        dims.index_batch
    );
    for (&o, &i) in dims.operand_batch.iter().zip(dims.index_batch) {
        ensure!(
            super::size_fits(dims.operand.shape[o as usize], dims.indices.shape[i as usize]),
            "batching dimensions of {} differ: dimension {o} of {} and dimension {i} of {}",
            cx.name(),
            dims.operand,
            dims.indices
        );
    }
    Ok((batch, absent))
}

/// Returns a shape with window sizes at the window dimensions and batch sizes at the others, in order.
fn interleave(batch: &[i64], window: &[i64], window_dims: &[u32]) -> Shape {
    let (mut batch, mut window) = (batch.iter(), window.iter());
    let rank = batch.len() + window.len();
    super::mask(window_dims, rank)
        .into_iter()
        .filter_map(|in_window| if in_window { window.next() } else { batch.next() })
        .copied()
        .collect()
}

/// Infers the result type of a gather. `sizes` are the slice sizes, if known.
pub(crate) fn gather(cx: &Ctx<'_>, spec: &GatherSpec, sizes: Option<&[i64]>) -> Res<Types> {
    let (operand, indices) = (cx.tensor(0)?, cx.tensor(1)?);
    let (batch, absent) = common(
        cx,
        &Dims {
            operand,
            indices,
            window: &spec.offset_dims,
            collapsed: &spec.collapsed_slice_dims,
            operand_batch: &spec.operand_batching_dims,
            index_batch: &spec.start_indices_batching_dims,
            map: &spec.start_index_map,
            vector_dim: spec.index_vector_dim,
        },
    )?;
    let Some(sizes) = sizes else {
        let length = cx.list(2)?;
        ensure!(
            length == operand.rank(),
            "{} needs {} slice sizes for {operand}, got {length}",
            cx.name(),
            operand.rank()
        );
        let window = Shape::from_elem(DYNAMIC, spec.offset_dims.len());
        return Ok(tensor(&interleave(&batch, &window, &spec.offset_dims), operand.dtype));
    };
    ensure!(
        sizes.len() == operand.rank()
            && sizes.iter().zip(&operand.shape).all(|(&s, &n)| s >= 0 && (n == DYNAMIC || s <= n)),
        "slice sizes {sizes:?} of {} do not fit {operand}",
        cx.name()
    );
    ensure!(
        // A slice size of zero is also accepted: the operand may have no elements along the dimension.
        absent.iter().all(|&d| sizes[d as usize] <= 1),
        "slice sizes {sizes:?} of {} must be 1 in the collapsed and batching dimensions {absent:?}",
        cx.name()
    );
    let window = super::without(sizes, &absent);
    Ok(tensor(&interleave(&batch, &window, &spec.offset_dims), operand.dtype))
}

pub(crate) fn scatter(cx: &Ctx<'_>, spec: &ScatterSpec) -> Res<Types> {
    let count = cx.operands.len();
    ensure!(
        count >= 3 && !count.is_multiple_of(2),
        "scatter expects n inputs, the indices and n updates, got {count} operands"
    );
    let n = count / 2;
    let (first, indices) = (cx.tensor(0)?, cx.tensor(n)?);
    let (batch, absent) = common(
        cx,
        &Dims {
            operand: first,
            indices,
            window: &spec.update_window_dims,
            collapsed: &spec.inserted_window_dims,
            operand_batch: &spec.input_batching_dims,
            index_batch: &spec.scatter_indices_batching_dims,
            map: &spec.scatter_dims_to_operand_dims,
            vector_dim: spec.index_vector_dim,
        },
    )?;
    let window = super::without(&first.shape, &absent);
    let limit = interleave(&batch, &window, &spec.update_window_dims);
    let in_window = super::mask(&spec.update_window_dims, limit.len());
    let result = |i: usize| -> Res<Ty> {
        let (input, update) = (cx.tensor(i)?, cx.tensor(n + 1 + i)?);
        ensure!(
            shape_fits(&input.shape, &first.shape),
            "inputs of scatter have different shapes: {first} and {input}"
        );
        let fits = update.rank() == limit.len()
            && (0..limit.len()).all(|d| {
                let (size, limit) = (update.shape[d], limit[d]);
                // Updates may be smaller than the window but not than the batch: each index has an update.
                super::size_fits(size, limit) || (in_window[d] && size < limit)
            });
        ensure!(
            fits && update.dtype == input.dtype,
            "the update {update} of scatter does not fit the input {input}: its shape must be {} or, in the window dimensions, smaller",
            shape_text(&limit)
        );
        let dtype = cx.accumulated(0, i, input.dtype)?;
        if dtype == input.dtype && cx.stand_ins.is_empty() {
            return Ok(Ty::Same(cx.ty(i)?));
        }
        Ok(Ty::Tensor(TensorType::new(&input.shape, dtype)))
    };
    (0..n).map(result).collect()
}
