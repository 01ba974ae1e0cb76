//! Copies elements between two regions of one array, in runs of bytes that are contiguous in both regions.

use std::iter::Peekable;

use crate::region::Region;

/// A run: bytes that are contiguous in the row-major elements of two regions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    /// The offset in bytes of the run in the elements of the first region.
    pub(crate) from: usize,
    /// The offset in bytes of the run in the elements of the second region.
    pub(crate) to: usize,
    pub(crate) len: usize,
}

/// An iterator over the intersection of two regions of one array as runs, with ascending offsets in both. A run covers as many of the last
/// dimensions as are contiguous in both regions.
#[derive(Debug)]
pub(crate) struct Runs {
    /// For each dimension that is not part of a run: the size of the intersection, and the strides in bytes in the first and the second
    /// region.
    outer: Vec<(usize, usize, usize)>,
    index: Vec<usize>,
    next: Option<Run>,
}

impl Runs {
    /// Computes the runs of the intersection of `from` and `to`; `width` is the size of an element in bytes.
    pub(crate) fn new(from: &Region, to: &Region, width: usize) -> Runs {
        let Some(common) = from.overlap(to) else {
            return Runs { outer: Vec::new(), index: Vec::new(), next: None };
        };
        let (mut outer, mut len) = (common.shape.len(), width);
        while outer > 0 {
            outer -= 1;
            len *= common.shape[outer];
            if common.shape[outer] != from.shape[outer] || common.shape[outer] != to.shape[outer] {
                break;
            }
        }
        let (from_strides, to_strides) = (strides(&from.shape, width), strides(&to.shape, width));
        let start = |of: &Region, strides: &[usize]| -> usize {
            common.offset.iter().zip(&of.offset).zip(strides).map(|((&c, &o), &s)| (c - o) * s).sum()
        };
        let next = Some(Run { from: start(from, &from_strides), to: start(to, &to_strides), len });
        let outer: Vec<_> =
            (0..outer).map(|dim| (common.shape[dim], from_strides[dim], to_strides[dim])).collect();
        Runs { index: vec![0; outer.len()], outer, next }
    }
}

impl Iterator for Runs {
    type Item = Run;

    fn next(&mut self) -> Option<Run> {
        let run = self.next.take()?;
        let mut following = run;
        for (at, &(count, from, to)) in self.index.iter_mut().zip(&self.outer).rev() {
            *at += 1;
            following.from += from;
            following.to += to;
            if *at < count {
                self.next = Some(following);
                break;
            }
            following.from -= count * from;
            following.to -= count * to;
            *at = 0;
        }
        Some(run)
    }
}

fn strides(shape: &[usize], width: usize) -> Vec<usize> {
    let mut strides = vec![width; shape.len()];
    for dim in (1..shape.len()).rev() {
        strides[dim - 1] = strides[dim] * shape[dim];
    }
    strides
}

/// Copies the elements of one region, which arrive in consecutive pieces, into the elements of another region.
pub(crate) struct Scatter {
    runs: Peekable<Runs>,
    /// The number of bytes that have arrived so far.
    at: usize,
}

impl Scatter {
    pub(crate) fn new(from: &Region, to: &Region, width: usize) -> Scatter {
        Scatter { runs: Runs::new(from, to, width).peekable(), at: 0 }
    }

    /// Takes the next piece of the first region, and copies the elements in the intersection to `to`, the elements of the second
    /// region.
    pub(crate) fn take(&mut self, piece: &[u8], to: &mut [u8]) {
        let (begin, end) = (self.at, self.at + piece.len());
        self.at = end;
        while let Some(&Run { from, to: target, len }) = self.runs.peek().filter(|run| run.from < end) {
            let (first, last) = (from.max(begin), (from + len).min(end));
            let target = target + (first - from);
            to[target..target + (last - first)].copy_from_slice(&piece[first - begin..last - begin]);
            if last < from + len {
                break;
            }
            self.runs.next();
        }
    }
}

/// Produces the elements of region `to` in consecutive pieces, from the elements of region `from`. Elements of `to` outside of `from` are
/// zero.
pub(crate) struct Gather<'a> {
    elements: &'a [u8],
    runs: Peekable<Runs>,
    at: usize,
}

impl<'a> Gather<'a> {
    /// Starts at the first element of `to`; `elements` are the elements of `from`, and `width` is the size of an element in bytes.
    pub(crate) fn new(elements: &'a [u8], from: &Region, to: &Region, width: usize) -> Gather<'a> {
        Gather { elements, runs: Runs::new(from, to, width).peekable(), at: 0 }
    }

    /// Returns the next bytes of `to`, as many as `room` holds. If they are contiguous in `elements`, they are not copied to `room`.
    pub(crate) fn piece<'b>(&mut self, room: &'b mut [u8]) -> &'b [u8]
    where
        'a: 'b,
    {
        let (begin, end) = (self.at, self.at + room.len());
        self.at = end;
        if let Some(&Run { from, to, len }) = self.runs.peek()
            && to <= begin
            && end <= to + len
        {
            if end == to + len {
                self.runs.next();
            }
            return &self.elements[from + (begin - to)..from + (end - to)];
        }
        let mut filled = 0;
        while let Some(&Run { from, to, len }) = self.runs.peek().filter(|run| run.to < end) {
            let (first, last) = (to.max(begin), (to + len).min(end));
            room[filled..first - begin].fill(0);
            filled = last - begin;
            room[first - begin..filled]
                .copy_from_slice(&self.elements[from + (first - to)..from + (last - to)]);
            if last < to + len {
                break;
            }
            self.runs.next();
        }
        room[filled..].fill(0);
        room
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::region::Indices;

    fn element(shape: &[usize], index: &[usize]) -> usize {
        shape.iter().zip(index).fold(0, |at, (&n, &i)| at * n + i)
    }

    fn boxes() -> impl Strategy<Value = (Region, Region, usize, usize)> {
        (0usize..4).prop_flat_map(|rank| {
            let one = || {
                (prop::collection::vec(0usize..4, rank), prop::collection::vec(0usize..5, rank))
                    .prop_map(|(offset, shape)| Region { offset, shape })
            };
            (one(), one(), 1usize..4, 1usize..9)
        })
    }

    /// Copies the intersection of two regions element by element, as a reference.
    fn copied(from: &[u8], a: &Region, to: &mut [u8], b: &Region, width: usize) {
        for index in Indices::new(&b.shape) {
            let at: Vec<usize> = index.iter().zip(&b.offset).map(|(i, o)| i + o).collect();
            if at.iter().zip(&a.offset).zip(&a.shape).all(|((&i, &o), &n)| i >= o && i < o + n) {
                let own: Vec<usize> = at.iter().zip(&a.offset).map(|(i, o)| i - o).collect();
                let (s, t) = (element(&a.shape, &own) * width, element(&b.shape, &index) * width);
                to[t..t + width].copy_from_slice(&from[s..s + width]);
            }
        }
    }

    proptest! {
        #[test]
        fn pieces_are_copied_as_elements_are((a, b, width, size) in boxes()) {
            let from: Vec<u8> = (0..a.elements() * width).map(|i| i as u8 | 1).collect();
            let mut expected = vec![0u8; b.elements() * width];
            copied(&from, &a, &mut expected, &b, width);

            let (mut scatter, mut to) = (Scatter::new(&a, &b, width), vec![0u8; expected.len()]);
            from.chunks(size).for_each(|piece| scatter.take(piece, &mut to));
            prop_assert_eq!(&to, &expected);

            let mut gather = Gather::new(&from, &a, &b, width);
            let mut made = Vec::new();
            while made.len() < expected.len() {
                let mut room = vec![9u8; size.min(expected.len() - made.len())];
                made.extend_from_slice(gather.piece(&mut room));
            }
            prop_assert_eq!(made, expected);
        }
    }

    #[test]
    fn rows_that_both_have_whole_are_one_run() {
        let of =
            |offset: [usize; 2], shape: [usize; 2]| Region { offset: offset.into(), shape: shape.into() };
        let runs: Vec<Run> = Runs::new(&of([2, 0], [4, 8]), &of([0, 0], [5, 8]), 2).collect();
        assert_eq!(runs, [Run { from: 0, to: 32, len: 48 }]);
        let runs: Vec<Run> = Runs::new(&of([0, 4], [2, 4]), &of([0, 0], [2, 8]), 1).collect();
        assert_eq!(runs, [Run { from: 0, to: 4, len: 4 }, Run { from: 4, to: 12, len: 4 }]);
        let runs: Vec<Run> = Runs::new(&Region::whole(&[]), &Region::whole(&[]), 4).collect();
        assert_eq!(runs, [Run { from: 0, to: 0, len: 4 }]);
    }
}
