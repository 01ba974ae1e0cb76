//! The elements of a dimension that each device holds (views), and those that each device needs (windows).

use std::ops::Range;

/// A half-open range of global indices along one dimension.
pub(crate) type Span = Range<i64>;

/// A view of a dimension: the elements that each device holds, with their indices in the index space of the window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Held {
    /// The index of the tensor in the list of tensors of the exchange.
    pub(crate) source: usize,
    /// The size of each device's block, padding included.
    pub(crate) block: i64,
    /// For each device, the index (in this view) of the first element of its block.
    pub(crate) origins: Vec<i64>,
    /// For each device, the indices of the elements of its block that are not padding. Starts and ends never decrease with the device
    /// index, unless the view is replicated.
    pub(crate) spans: Vec<Span>,
    /// Whether the dimension is replicated.
    pub(crate) is_whole: bool,
}

impl Held {
    /// Returns the view of a dimension of tensor `source` that has size `size` and is sharded `k` ways. Its first element has index
    /// `first`.
    pub(crate) fn blocks(source: usize, size: i64, k: i64, first: i64) -> Held {
        let block = ceil_div(size, k);
        let at = |i: i64| first + (i * block).min(size);
        Held {
            source,
            block,
            origins: (0..k).map(at).collect(),
            spans: (0..k).map(|i| at(i)..at(i + 1)).collect(),
            is_whole: false,
        }
    }

    /// Returns the view of a dimension of tensor `source` that has size `size` and is replicated on `k` devices. Its first element has
    /// index `first`.
    pub(crate) fn whole(source: usize, size: i64, k: i64, first: i64) -> Held {
        let all = |of: i64| (0..k).map(move |_| of);
        Held {
            source,
            block: size,
            origins: all(first).collect(),
            spans: all(first + size).map(|end| first..end).collect(),
            is_whole: true,
        }
    }

    /// Restricts the view to the elements in `seen`.
    pub(crate) fn only(mut self, seen: &Span) -> Held {
        for span in &mut self.spans {
            *span = span.start.clamp(seen.start, seen.end)..span.end.clamp(seen.start, seen.end);
        }
        self
    }
}

/// The window of a dimension that each device needs. All windows have the same size.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Window {
    /// The number of elements in each device's window.
    pub(crate) size: i64,
    /// For each device, the index of the first element of its window.
    pub(crate) origins: Vec<i64>,
    /// For each device, the range of indices that it needs, which is within its window. The other elements of the window may have any
    /// value.
    pub(crate) needs: Vec<Span>,
}

/// Returns the quotient `a / b`, rounded up.
pub(super) fn ceil_div(a: i64, b: i64) -> i64 {
    -(-a).div_euclid(b)
}
