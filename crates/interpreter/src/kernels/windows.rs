//! Windows that slide over an array: the input position of each element of each window.

use crate::array::{Counter, Dims, row_major};
use crate::error::Fault;

/// The window along one dimension.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    /// Size of the input.
    size: usize,
    /// Number of windows.
    windows: usize,
    /// For each window and element of the window, the position in the input; `None` in padding and between dilated elements.
    table: Vec<Vec<Option<usize>>>,
}

/// Largest size of the tables of one dimension.
const LARGEST_TABLE: i64 = 1 << 28;

impl Axis {
    /// A window of `window` elements that moves by `stride` over an input of `size` elements.
    pub(crate) fn new(
        size: usize,
        window: usize,
        stride: i64,
        base_dilation: i64,
        window_dilation: i64,
        (low, high): (i64, i64),
    ) -> Result<Axis, Fault> {
        if stride < 1 || base_dilation < 1 || window_dilation < 1 {
            return Fault::invalid("a stride or dilation that is not positive");
        }
        let dilated = |n: usize, dilation: i64| match n {
            0 => 0,
            n => (n as i64 - 1).saturating_mul(dilation).saturating_add(1),
        };
        let padded = low.saturating_add(dilated(size, base_dilation)).saturating_add(high);
        let reach = dilated(window, window_dilation);
        let windows = if padded <= 0 || reach > padded { 0 } else { (padded - reach) / stride + 1 };
        if windows.saturating_mul(window as i64) > LARGEST_TABLE {
            return Err(Fault::Memory(windows as u64 * window as u64));
        }
        let place = |index: i64, element: usize| {
            let at = index * stride + element as i64 * window_dilation - low;
            let inside = at >= 0 && at % base_dilation == 0 && at / base_dilation < size as i64;
            inside.then_some((at / base_dilation) as usize)
        };
        let table =
            (0..window).map(|element| (0..windows).map(|index| place(index, element)).collect()).collect();
        Ok(Axis { size, windows: windows as usize, table })
    }
}

/// Windows over several dimensions.
#[derive(Clone, Debug)]
pub(crate) struct Windows {
    axes: Vec<Axis>,
}

impl Windows {
    pub(crate) fn new(axes: Vec<Axis>) -> Windows {
        Windows { axes }
    }

    /// The number of windows along each dimension.
    pub(crate) fn results(&self) -> Dims {
        self.axes.iter().map(|axis| axis.windows).collect()
    }

    /// The number of elements of a window.
    pub(crate) fn taps(&self) -> usize {
        self.axes.iter().map(|axis| axis.table.len()).product()
    }

    /// For each element of the window, in row-major order, the input position of each window; `None` in padding.
    pub(crate) fn lanes(&self) -> impl Iterator<Item = Vec<Option<usize>>> {
        let dims: Dims = self.axes.iter().map(|axis| axis.table.len()).collect();
        let sizes: Dims = self.axes.iter().map(|axis| axis.size).collect();
        let strides = row_major(&sizes);
        let results = self.results();
        let is_empty = dims.contains(&0);
        let mut next = (!is_empty).then(|| Dims::from_elem(0, dims.len()));
        std::iter::from_fn(move || {
            let element = next.take()?;
            let mut lane = Vec::new();
            if !results.contains(&0) {
                let tables: Vec<&[Option<usize>]> =
                    self.axes.iter().zip(&element).map(|(axis, &e)| axis.table[e].as_slice()).collect();
                let mut counter = Counter::new(&results);
                loop {
                    let mut parts = tables.iter().zip(&counter.index).zip(&strides);
                    let position = parts.try_fold(0, |sum, ((table, &index), &stride)| {
                        Some(sum + table[index]? * stride as usize)
                    });
                    lane.push(position);
                    if !counter.advance() {
                        break;
                    }
                }
            }
            let mut following = Counter::new(&dims);
            following.index = element;
            next = following.advance().then(|| following.index.clone());
            Some(lane)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_skip_padding_and_dilation() {
        let windows = Windows::new(vec![Axis::new(3, 2, 2, 2, 1, (1, 1)).unwrap()]);
        // Padded and dilated input: _ 0 _ 1 _ 2 _.
        assert_eq!(windows.results().as_slice(), [3]);
        let lanes: Vec<_> = windows.lanes().collect();
        assert_eq!(lanes, [[None, None, None], [Some(0), Some(1), Some(2)]]);
    }
}
