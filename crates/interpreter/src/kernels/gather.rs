//! Gather: positions of the elements that index vectors select.

use shardc_ir::GatherSpec;

use super::moves::transpose;
use crate::array::{Array, Counter, Dims, count, map, row_major};
use crate::error::Fault;
use crate::numbers::Domain;

/// Index vectors: the dimensions that enumerate them, and their components.
pub(crate) struct Indices {
    /// Sizes of the dimensions, except the one with the components.
    pub(crate) batch: Dims,
    /// The components of each vector, one vector after the other.
    pub(crate) components: Vec<i64>,
    /// Number of components.
    pub(crate) width: usize,
}

impl Indices {
    pub(crate) fn new<D: Domain>(indices: &Array<D>, vector_dim: usize) -> Result<Indices, Fault> {
        let rank = indices.rank();
        let (batch, vectors) = if vector_dim < rank {
            let order: Vec<usize> = (0..rank).filter(|&d| d != vector_dim).chain([vector_dim]).collect();
            (order.iter().take(rank - 1).map(|&d| indices.dims()[d]).collect(), transpose(indices, &order)?)
        } else {
            (Dims::from_slice(indices.dims()), indices.clone())
        };
        let width = if vector_dim < rank { indices.dims()[vector_dim] } else { 1 };
        let Some(components) = vectors.to_integers() else {
            return Fault::invalid("indices that are not integers");
        };
        Ok(Indices { batch, components, width })
    }
}

/// Takes slices of an operand at the positions of index vectors.
pub(crate) fn gather<D: Domain>(
    operand: &Array<D>,
    indices: &Array<D>,
    spec: &GatherSpec,
    slice_sizes: &[i64],
) -> Result<Array<D>, Fault> {
    let rank = operand.rank();
    let sizes: Dims = slice_sizes.iter().map(|&n| n.max(0) as usize).collect();
    if sizes.len() != rank || sizes.iter().zip(operand.dims()).any(|(size, n)| size > n) {
        return Fault::invalid(format!("slices of {sizes:?} of an array of {:?}", operand.dims()));
    }
    let vector_dim = spec.index_vector_dim as usize;
    let indices = Indices::new(indices, vector_dim)?;
    let strides = row_major(operand.dims());
    let is_dropped = |d: usize| {
        spec.collapsed_slice_dims.contains(&(d as u32)) || spec.operand_batching_dims.contains(&(d as u32))
    };
    let kept: Vec<usize> = (0..rank).filter(|&d| !is_dropped(d)).collect();
    let offsets: Dims = kept.iter().map(|&d| sizes[d]).collect();

    let mut deltas = Vec::with_capacity(count(&offsets)?);
    if !offsets.contains(&0) {
        let mut counter = Counter::new(&offsets);
        loop {
            let parts = kept.iter().zip(&counter.index);
            deltas.push(parts.map(|(&d, &i)| i * strides[d] as usize).sum::<usize>());
            if !counter.advance() {
                break;
            }
        }
    }
    let batching: Vec<(usize, usize)> = spec
        .operand_batching_dims
        .iter()
        .zip(&spec.start_indices_batching_dims)
        // The position among the batch dimensions, from which the dimension of the components is removed.
        .map(|(&d, &at)| (d as usize, at as usize - usize::from(at as usize > vector_dim)))
        .collect();
    let mut bases = Vec::with_capacity(count(&indices.batch)?);
    if !indices.batch.contains(&0) {
        let mut counter = Counter::new(&indices.batch);
        let mut vectors = indices.components.chunks_exact(indices.width.max(1));
        loop {
            let vector = vectors.next().unwrap_or(&[]);
            let mut base = 0;
            for (&start, &d) in vector.iter().zip(&spec.start_index_map) {
                let d = d as usize;
                base += start.clamp(0, (operand.dims()[d] - sizes[d]) as i64) as usize * strides[d] as usize;
            }
            for &(d, at) in &batching {
                base += counter.index[at] * strides[d] as usize;
            }
            bases.push(base);
            if !counter.advance() {
                break;
            }
        }
    }
    let run = contiguous(&deltas);
    let data = map!(operand.data(), v => {
        let mut out = crate::array::reserve(bases.len().saturating_mul(deltas.len()))?;
        for &base in &bases {
            for chunk in deltas.chunks(run) {
                let first = base + chunk[0];
                let Some(part) = v.get(first..first + chunk.len()) else {
                    return Fault::invalid("an index beyond the end of a batching dimension");
                };
                out.extend_from_slice(part);
            }
        }
        out
    });
    let dims: Dims = indices.batch.iter().chain(&offsets).copied().collect();
    let result = Array::new(dims, operand.dtype(), data)?;
    arrange(&result, indices.batch.len(), &spec.offset_dims)
}

/// The largest length of runs of consecutive positions that divides the list.
fn contiguous(deltas: &[usize]) -> usize {
    let run = deltas.iter().enumerate().position(|(i, &delta)| delta != i).unwrap_or(deltas.len());
    let is_run = |run: usize| {
        deltas.len().is_multiple_of(run)
            && deltas.chunks(run).all(|chunk| chunk.iter().enumerate().all(|(i, &d)| d == chunk[0] + i))
    };
    if run > 1 && is_run(run) { run } else { 1 }
}

/// Moves the dimensions after the first `batch` ones to the result dimensions `offset_dims`.
fn arrange<D: Domain>(a: &Array<D>, batch: usize, offset_dims: &[u32]) -> Result<Array<D>, Fault> {
    let (mut next_batch, mut next_offset) = (0..batch, batch..a.rank());
    let order: Vec<usize> = (0..a.rank())
        .filter_map(|d| match offset_dims.contains(&(d as u32)) {
            true => next_offset.next(),
            false => next_batch.next(),
        })
        .collect();
    transpose(a, &order)
}
