//! Tensors that consist of boxes (rectangular parts) at separate locations, as saved by the ranks of a distributed program.

use std::ops::Range;
use std::sync::Arc;

use shardc_ir::DType;

use super::Tensor;
use crate::error::{ErrorKind, Result, StateDictError};
use crate::gather::row_major;

/// A box of a tensor, and its elements.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    /// The offset of the box in each dimension.
    pub(crate) offsets: Vec<usize>,
    pub(crate) tensor: Tensor,
}

/// The boxes of a tensor. They do not overlap and cover all elements.
#[derive(Clone, Debug)]
pub(crate) struct Pieces(Arc<[Piece]>);

impl Pieces {
    /// Creates the boxes of a tensor. Returns an error if they overlap or do not cover the tensor.
    pub(crate) fn new(dtype: DType, shape: &[usize], pieces: Vec<Piece>) -> Result<Pieces> {
        let wrong = |text: String| Err(StateDictError::new(ErrorKind::Tensor, text));
        let mut elements = 0u128;
        for Piece { offsets, tensor } in &pieces {
            let sizes = tensor.shape();
            let is_inside = offsets.len() == shape.len()
                && sizes.len() == shape.len()
                && offsets
                    .iter()
                    .zip(sizes)
                    .zip(shape)
                    .all(|((&o, &n), &end)| o.checked_add(n).is_some_and(|last| last <= end));
            if !is_inside || tensor.dtype() != dtype {
                let part = tensor.dtype();
                return wrong(format!(
                    "the chunk {part}{sizes:?} at {offsets:?} is not inside the tensor {dtype}{shape:?}"
                ));
            }
            elements += sizes.iter().map(|&n| n as u128).product::<u128>();
        }
        let want = shape.iter().map(|&n| n as u128).product::<u128>();
        if elements < want {
            return wrong(format!("chunks are missing: the chunks have {elements} of {want} elements"));
        }
        for (i, a) in pieces.iter().enumerate() {
            if let Some(b) = pieces[..i].iter().find(|b| common(a, b).is_some()) {
                return wrong(format!("the chunks at {:?} and {:?} overlap", b.offsets, a.offsets));
            }
        }
        Ok(Pieces(pieces.into()))
    }

    /// Returns the elements between the bounds in each dimension, row-major.
    pub(crate) fn read_slice(&self, width: usize, bounds: &[Range<usize>], out: &mut [u8]) -> Result<()> {
        let lengths: Vec<usize> = bounds.iter().map(Range::len).collect();
        let strides = row_major(&lengths);
        for Piece { offsets, tensor } in self.0.iter() {
            let inside = |((bounds, &offset), &size): ((&Range<usize>, &usize), &usize)| {
                let (start, end) = (bounds.start.max(offset), bounds.end.min(offset + size));
                (start < end).then_some(start..end)
            };
            let boxes = bounds.iter().zip(offsets).zip(tensor.shape()).map(inside);
            let Some(boxes) = boxes.collect::<Option<Vec<_>>>() else { continue };
            let local: Vec<Range<usize>> =
                boxes.iter().zip(offsets).map(|(b, &o)| b.start - o..b.end - o).collect();
            let elements = tensor.read_slice(&local)?;
            let run = boxes.last().map_or(1, Range::len) * width;
            let mut index: Vec<usize> = boxes.iter().map(|range| range.start).collect();
            for row in elements.chunks_exact(run) {
                let at = index.iter().zip(bounds).zip(&strides);
                let at: usize = at.map(|((&i, bounds), &stride)| (i - bounds.start) * stride as usize).sum();
                out[at * width..at * width + run].copy_from_slice(row);
                // Advances the index to the next row, over all dimensions except the last, innermost first.
                for dim in (0..index.len().saturating_sub(1)).rev() {
                    index[dim] += 1;
                    if index[dim] < boxes[dim].end {
                        break;
                    }
                    index[dim] = boxes[dim].start;
                }
            }
        }
        Ok(())
    }
}

/// Returns `Some` if two boxes overlap.
fn common(a: &Piece, b: &Piece) -> Option<()> {
    let dims = a.offsets.iter().zip(a.tensor.shape()).zip(b.offsets.iter().zip(b.tensor.shape()));
    let mut is_common = a.tensor.byte_len() > 0 && b.tensor.byte_len() > 0;
    for ((&a, &n), (&b, &m)) in dims {
        is_common &= a < b + m && b < a + n;
    }
    is_common.then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(offsets: &[usize], shape: &[usize], first: u8) -> Piece {
        let count: usize = shape.iter().product();
        let bytes: Vec<u8> = (0..count as u8).map(|i| first + i).collect();
        Piece { offsets: offsets.to_vec(), tensor: Tensor::from_bytes(DType::UI8, shape, bytes).unwrap() }
    }

    #[test]
    fn slices_are_put_together() {
        let pieces =
            vec![piece(&[0, 0], &[2, 2], 0), piece(&[0, 2], &[2, 1], 10), piece(&[2, 0], &[1, 3], 20)];
        let tensor = Tensor::of_pieces(DType::UI8, &[3, 3], pieces).unwrap();
        assert_eq!(tensor.read().unwrap(), [0, 1, 10, 2, 3, 11, 20, 21, 22]);
        assert_eq!(tensor.read_slice(&[1..3, 1..3]).unwrap(), [3, 11, 21, 22]);
        assert_eq!(tensor.read_strided(1, &[3], &[3]).unwrap(), [1, 3, 21]);
        let scalar = Tensor::of_pieces(DType::UI8, &[], vec![piece(&[], &[], 5)]).unwrap();
        assert_eq!(scalar.read().unwrap(), [5]);
    }

    #[test]
    fn pieces_must_make_up_a_tensor() {
        let of = |pieces: &[Piece]| Tensor::of_pieces(DType::UI8, &[2, 2], pieces.to_vec());
        let (top, bottom) = (piece(&[0, 0], &[1, 2], 0), piece(&[1, 0], &[1, 2], 0));
        assert!(of(&[top.clone(), bottom.clone()]).is_ok());
        let text = |pieces: &[Piece]| of(pieces).unwrap_err().to_string();
        assert!(text(std::slice::from_ref(&top)).contains("2 of 4 elements"));
        assert!(text(&[top.clone(), top.clone()]).contains("overlap"));
        assert!(text(&[top.clone(), piece(&[1, 1], &[1, 2], 0)]).contains("not inside"));
        assert!(text(&[top, bottom, piece(&[usize::MAX, 0], &[1, 2], 0)]).contains("not inside"));
    }
}
