//! Strided views: most operations that move elements copy a view, or write to one.

use super::Dims;
use super::data::reserve;
use crate::error::Fault;

/// A selection of elements of a row-major vector: the first position, and the distance between elements along each dimension.
#[derive(Clone, Debug)]
pub(crate) struct View {
    /// Position of the first element.
    pub(crate) offset: isize,
    /// Distance between elements along each dimension.
    pub(crate) strides: SmallStrides,
    /// Sizes of the dimensions.
    pub(crate) dims: Dims,
}

/// Distances between elements along each dimension.
pub(crate) type SmallStrides = smallvec::SmallVec<[isize; 6]>;

/// The distances of elements of a row-major vector with these sizes.
pub(crate) fn row_major(dims: &[usize]) -> SmallStrides {
    let mut strides: SmallStrides = dims.iter().map(|_| 1).collect();
    for d in (1..dims.len()).rev() {
        strides[d - 1] = strides[d].saturating_mul(dims[d] as isize);
    }
    strides
}

/// Enumerates the indices of an array in row-major order.
pub(crate) struct Counter<'d> {
    dims: &'d [usize],
    /// The current index.
    pub(crate) index: Dims,
}

impl<'d> Counter<'d> {
    pub(crate) fn new(dims: &'d [usize]) -> Self {
        Counter { dims, index: dims.iter().map(|_| 0).collect() }
    }

    /// Moves to the next index; false after the last.
    pub(crate) fn advance(&mut self) -> bool {
        for d in (0..self.dims.len()).rev() {
            self.index[d] += 1;
            if self.index[d] < self.dims[d] {
                return true;
            }
            self.index[d] = 0;
        }
        false
    }
}

impl View {
    /// All elements of an array with these sizes.
    pub(crate) fn whole(dims: &[usize]) -> View {
        View { offset: 0, strides: row_major(dims), dims: dims.iter().copied().collect() }
    }

    /// Joins adjacent dimensions that are contiguous, so that rows are as long as possible.
    fn merged(&self) -> (Dims, SmallStrides) {
        let (mut dims, mut strides) = (Dims::new(), SmallStrides::new());
        for (&n, &stride) in self.dims.iter().zip(&self.strides) {
            if n == 1 {
                continue;
            }
            match (dims.last_mut(), strides.last_mut()) {
                (Some(last), Some(before)) if *before == stride * n as isize => {
                    *last *= n;
                    *before = stride;
                }
                _ => {
                    dims.push(n);
                    strides.push(stride);
                }
            }
        }
        (dims, strides)
    }

    /// Calls `row` with the first position of each row, in row-major order; all rows have the returned length and stride.
    fn rows(&self, mut row: impl FnMut(isize, usize, isize)) {
        if self.dims.contains(&0) {
            return;
        }
        let (mut dims, mut strides) = self.merged();
        let (length, stride) = (dims.pop().unwrap_or(1), strides.pop().unwrap_or(1));
        let mut counter = Counter::new(&dims);
        let mut position = self.offset;
        loop {
            row(position, length, stride);
            // The position changes by the strides of the dimensions that the counter steps over.
            let mut d = dims.len();
            loop {
                if d == 0 {
                    return;
                }
                d -= 1;
                counter.index[d] += 1;
                position += strides[d];
                if counter.index[d] < dims[d] {
                    break;
                }
                position -= strides[d] * dims[d] as isize;
                counter.index[d] = 0;
            }
        }
    }

    /// Whether all elements lie within a vector of this length.
    fn fits(&self, len: usize) -> bool {
        if self.dims.contains(&0) {
            return true;
        }
        let (mut first, mut last) = (self.offset, self.offset);
        for (&n, &stride) in self.dims.iter().zip(&self.strides) {
            let reach = stride.saturating_mul(n as isize - 1);
            if reach < 0 { first = first.saturating_add(reach) } else { last = last.saturating_add(reach) }
        }
        first >= 0 && last < len as isize
    }
}

/// The elements of a view, in row-major order.
pub(crate) fn copy_view<T: Copy>(from: &[T], view: &View) -> Result<Vec<T>, Fault> {
    if !view.fits(from.len()) {
        return Err(Fault::Internal("a view beyond the end of an array".to_owned()));
    }
    let mut out = reserve(super::count(&view.dims)?)?;
    view.rows(|position, length, stride| {
        let start = position as usize;
        match stride {
            1 => out.extend_from_slice(&from[start..start + length]),
            0 => out.resize(out.len() + length, from[start]),
            _ => out.extend((0..length).map(|i| from[(position + i as isize * stride) as usize])),
        }
    });
    Ok(out)
}

/// Writes elements in row-major order to a view.
pub(crate) fn write_view<T: Copy>(to: &mut [T], view: &View, from: &[T]) -> Result<(), Fault> {
    if !view.fits(to.len()) || super::count(&view.dims)? != from.len() {
        return Err(Fault::Internal("a view beyond the end of an array".to_owned()));
    }
    let mut rest = from;
    view.rows(|position, length, stride| {
        let (row, next) = rest.split_at(length.min(rest.len()));
        rest = next;
        if stride == 1 {
            to[position as usize..position as usize + row.len()].copy_from_slice(row);
        } else {
            for (i, &value) in row.iter().enumerate() {
                to[(position + i as isize * stride) as usize] = value;
            }
        }
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn views_select_in_row_major_order() {
        let numbers: Vec<i32> = (0..12).collect();
        let transposed =
            View { offset: 0, strides: SmallStrides::from_slice(&[1, 4]), dims: Dims::from_slice(&[4, 3]) };
        assert_eq!(copy_view(&numbers, &transposed).unwrap(), [0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11]);
        let reversed = View {
            offset: 11,
            strides: SmallStrides::from_slice(&[-4, -1]),
            dims: Dims::from_slice(&[3, 4]),
        };
        assert_eq!(copy_view(&numbers, &reversed).unwrap(), (0..12).rev().collect::<Vec<_>>());
        let repeated =
            View { offset: 5, strides: SmallStrides::from_slice(&[0, 1]), dims: Dims::from_slice(&[2, 2]) };
        assert_eq!(copy_view(&numbers, &repeated).unwrap(), [5, 6, 5, 6]);
        let beyond =
            View { offset: 5, strides: SmallStrides::from_slice(&[1]), dims: Dims::from_slice(&[8]) };
        assert!(copy_view(&numbers, &beyond).is_err());
        let mut grid = [0; 6];
        let column =
            View { offset: 1, strides: SmallStrides::from_slice(&[3]), dims: Dims::from_slice(&[2]) };
        write_view(&mut grid, &column, &[7, 8]).unwrap();
        assert_eq!(grid, [0, 7, 0, 0, 8, 0]);
    }
}
