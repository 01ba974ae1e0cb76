//! Scatter: positions of the elements that updates are combined with.

use shardc_ir::ScatterSpec;

use super::gather::Indices;
use super::moves::transpose;
use crate::array::{Array, Counter, Dims, count, row_major};
use crate::error::Fault;
use crate::numbers::Domain;

/// The updates of a scatter in the order in which they are applied.
pub(crate) struct Updates<D: Domain> {
    /// The arrays of updates, each with its elements in the order of `positions`.
    pub(crate) arrays: Vec<Array<D>>,
    /// The position in the input of each update; `None` beyond its end, where an update has no effect.
    pub(crate) positions: Vec<Option<usize>>,
}

/// Finds the position of each update.
pub(crate) fn updates<D: Domain>(
    input_dims: &[usize],
    indices: &Array<D>,
    updates: &[Array<D>],
    spec: &ScatterSpec,
) -> Result<Updates<D>, Fault> {
    let Some(first) = updates.first() else { return Fault::invalid("a scatter without updates") };
    let vector_dim = spec.index_vector_dim as usize;
    let indices = Indices::new(indices, vector_dim)?;
    let is_window = |d: &usize| spec.update_window_dims.contains(&(*d as u32));
    let scatter_dims: Vec<usize> = (0..first.rank()).filter(|d| !is_window(d)).collect();
    let window_dims: Vec<usize> = (0..first.rank()).filter(is_window).collect();
    let order: Vec<usize> = scatter_dims.iter().chain(&window_dims).copied().collect();
    let arrays = updates.iter().map(|array| transpose(array, &order)).collect::<Result<Vec<_>, _>>()?;
    let window: Dims = window_dims.iter().map(|&d| first.dims()[d]).collect();
    let batch: Dims = scatter_dims.iter().map(|&d| first.dims()[d]).collect();
    if batch != indices.batch {
        return Fault::invalid(format!("updates for {batch:?} indices, but there are {:?}", indices.batch));
    }
    let is_dropped = |d: usize| {
        spec.inserted_window_dims.contains(&(d as u32)) || spec.input_batching_dims.contains(&(d as u32))
    };
    let kept: Vec<usize> = (0..input_dims.len()).filter(|&d| !is_dropped(d)).collect();
    let strides = row_major(input_dims);
    let mut positions = Vec::with_capacity(first.len());
    if first.is_empty() {
        return Ok(Updates { arrays, positions });
    }
    let window_len = count(&window)?;
    let mut counter = Counter::new(&batch);
    let mut vectors = indices.components.chunks_exact(indices.width.max(1));
    loop {
        let vector = vectors.next().unwrap_or(&[]);
        let mut start: Vec<i64> = vec![0; input_dims.len()];
        for (&component, &d) in vector.iter().zip(&spec.scatter_dims_to_operand_dims) {
            start[d as usize] = component;
        }
        for (&d, &at) in spec.input_batching_dims.iter().zip(&spec.scatter_indices_batching_dims) {
            let at = at as usize - usize::from(at as usize > vector_dim);
            start[d as usize] = counter.index[at] as i64;
        }
        // Positions of the window relative to its start; the whole window is checked element by element, since parts of it may be inside.
        let mut offset = Counter::new(&window);
        for _ in 0..window_len {
            let mut position = Some(0usize);
            let mut kept_offsets = kept.iter().zip(&offset.index).peekable();
            for (d, &size) in input_dims.iter().enumerate() {
                let inner = kept_offsets.next_if(|(at, _)| **at == d).map_or(0, |(_, &i)| i as i64);
                let at = start[d].checked_add(inner).and_then(|at| usize::try_from(at).ok());
                position = match (position, at) {
                    (Some(sum), Some(at)) if at < size => Some(sum + at * strides[d] as usize),
                    _ => None,
                };
            }
            positions.push(position);
            offset.advance();
        }
        if !counter.advance() {
            break;
        }
    }
    Ok(Updates { arrays, positions })
}

/// Splits updates into rounds. The positions of a round differ, and the updates of one position are in successive rounds in their order.
/// Each round lists update numbers and their positions.
pub(crate) fn rounds(positions: &[Option<usize>], len: usize) -> Vec<(Vec<usize>, Vec<usize>)> {
    let mut seen = vec![0u32; len];
    let mut rounds: Vec<(Vec<usize>, Vec<usize>)> = Vec::new();
    for (update, position) in positions.iter().enumerate() {
        let Some(position) = *position else { continue };
        let Some(round) = seen.get_mut(position) else { continue };
        if *round as usize == rounds.len() {
            rounds.push((Vec::new(), Vec::new()));
        }
        if let Some((updates, places)) = rounds.get_mut(*round as usize) {
            updates.push(update);
            places.push(position);
        }
        *round += 1;
    }
    rounds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn updates_of_one_position_keep_their_order() {
        let positions = [Some(1), Some(0), None, Some(1), Some(1)];
        let rounds = rounds(&positions, 2);
        assert_eq!(rounds, [(vec![0, 1], vec![1, 0]), (vec![3], vec![1]), (vec![4], vec![1])]);
    }
}
