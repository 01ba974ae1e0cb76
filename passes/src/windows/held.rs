//! Views of a dimension as stored on devices, and the windows that devices need of it.

use std::ops::Range;

/// A half-open range of global indices along one dimension.
pub(crate) type Span = Range<i64>;

/// A view of a dimension of one tensor, as stored on the devices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Held {
    /// The index of the tensor among those of the exchange.
    pub(crate) source: usize,
    /// Size of each device's block.
    pub(crate) block: i64,
    /// The index of each block's first element in this view.
    pub(crate) origins: Vec<i64>,
    /// The valid elements of the blocks. Starts and ends never decrease with the device index, unless the view is replicated.
    pub(crate) spans: Vec<Span>,
    /// Whether the dimension is replicated.
    pub(crate) is_whole: bool,
}

impl Held {
    /// A dimension of tensor `source` with size `size`, sharded `k` ways. Its first element has index `first`.
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

    /// A dimension of tensor `source` with size `size`, replicated on `k` devices. Its first element has index `first`.
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

/// The window of a dimension that each device needs, in elements along it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Window {
    /// Size of the window.
    pub(crate) size: i64,
    /// The index of the window's first element on each device.
    pub(crate) origins: Vec<i64>,
    /// The indices within the window that each device needs. Other elements are arbitrary.
    pub(crate) needs: Vec<Span>,
}

/// The quotient, rounded up.
pub(super) fn ceil_div(a: i64, b: i64) -> i64 {
    -(-a).div_euclid(b)
}
