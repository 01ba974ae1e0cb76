//! Regions (boxes of elements) of an array, and grids that divide an array into blocks.

/// A box of elements of an array.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Region {
    /// The index of the first element in each dimension.
    pub offset: Vec<usize>,
    /// The number of elements in each dimension.
    pub shape: Vec<usize>,
}

impl Region {
    /// Returns the region that covers an entire array.
    #[must_use]
    pub fn whole(shape: &[usize]) -> Region {
        Region { offset: vec![0; shape.len()], shape: shape.to_vec() }
    }

    /// Returns the number of elements in the box.
    #[must_use]
    pub fn elements(&self) -> usize {
        self.shape.iter().fold(1, |all: usize, &n| all.saturating_mul(n))
    }

    /// Returns the intersection of two boxes of the same rank; `None` if it is empty.
    #[must_use]
    pub fn overlap(&self, other: &Region) -> Option<Region> {
        let mut common = Region { offset: Vec::new(), shape: Vec::new() };
        for dim in 0..self.offset.len() {
            let start = self.offset[dim].max(*other.offset.get(dim)?);
            let end = (self.offset[dim] + self.shape[dim]).min(other.offset[dim] + *other.shape.get(dim)?);
            if start >= end {
                return None;
            }
            common.offset.push(start);
            common.shape.push(end - start);
        }
        Some(common)
    }

    /// Returns whether the box is within an array of this shape.
    pub(crate) fn fits(&self, shape: &[usize]) -> bool {
        self.offset.len() == shape.len()
            && self.shape.len() == shape.len()
            && self
                .offset
                .iter()
                .zip(&self.shape)
                .zip(shape)
                .all(|((&o, &n), &all)| o.checked_add(n).is_some_and(|end| end <= all))
    }
}

/// Formats the region as a list of index ranges: `[0..4, 8..16]`.
impl std::fmt::Display for Region {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ranges: Vec<String> =
            self.offset.iter().zip(&self.shape).map(|(&o, &n)| format!("{o}..{}", o + n)).collect();
        write!(f, "[{}]", ranges.join(", "))
    }
}

/// An iterator over all indices of a grid, row-major.
pub(crate) struct Indices {
    grid: Vec<usize>,
    next: Option<Vec<usize>>,
}

impl Indices {
    pub(crate) fn new(grid: &[usize]) -> Indices {
        let next = (!grid.contains(&0)).then(|| vec![0; grid.len()]);
        Indices { grid: grid.to_vec(), next }
    }
}

impl Iterator for Indices {
    type Item = Vec<usize>;

    fn next(&mut self) -> Option<Vec<usize>> {
        let current = self.next.take()?;
        let mut following = current.clone();
        for dim in (0..self.grid.len()).rev() {
            following[dim] += 1;
            if following[dim] < self.grid[dim] {
                self.next = Some(following);
                break;
            }
            following[dim] = 0;
        }
        Some(current)
    }
}

/// A grid that divides an array into blocks of one shape; the last blocks may be truncated by the array's end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Grid {
    shape: Vec<usize>,
    block: Vec<usize>,
}

impl Grid {
    /// Creates a grid of blocks of shape `block`, which has as many dimensions as `shape`, and no zeros.
    pub(crate) fn new(shape: &[usize], block: &[usize]) -> Grid {
        Grid { shape: shape.to_vec(), block: block.to_vec() }
    }

    /// Returns the number of blocks in each dimension.
    pub(crate) fn counts(&self) -> Vec<usize> {
        self.shape.iter().zip(&self.block).map(|(&n, &b)| n.div_ceil(b)).collect()
    }

    /// Returns the region of the block at a grid index, clipped to the array.
    pub(crate) fn region(&self, index: &[usize]) -> Region {
        let offset: Vec<usize> = index.iter().zip(&self.block).map(|(&i, &b)| i * b).collect();
        let shape =
            offset.iter().zip(&self.block).zip(&self.shape).map(|((&o, &b), &n)| b.min(n.saturating_sub(o)));
        Region { shape: shape.collect(), offset }
    }

    /// Returns the grid index of the block with this region; `None` if the region is not a block.
    pub(crate) fn index_of(&self, region: &Region) -> Option<Vec<usize>> {
        if !region.fits(&self.shape) {
            return None;
        }
        let index: Vec<usize> = region.offset.iter().zip(&self.block).map(|(&o, &b)| o / b).collect();
        (self.region(&index) == *region && region.elements() > 0).then_some(index)
    }

    /// Returns the grid indices of the blocks that intersect a region; the region must be within the array.
    pub(crate) fn touched(&self, region: &Region) -> impl Iterator<Item = Vec<usize>> + use<> {
        let first: Vec<usize> = region.offset.iter().zip(&self.block).map(|(&o, &b)| o / b).collect();
        let empty = region.elements() == 0;
        let counts: Vec<usize> = region
            .offset
            .iter()
            .zip(&region.shape)
            .zip(self.block.iter().zip(&first))
            .map(|((&o, &n), (&b, &f))| if empty { 0 } else { (o + n).div_ceil(b) - f })
            .collect();
        let none = empty && counts.is_empty();
        Indices::new(&counts)
            .filter(move |_| !none)
            .map(move |index| index.iter().zip(&first).map(|(i, f)| i + f).collect())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn touched_blocks_are_those_that_overlap(
            (shape, block, offset, size) in (1usize..4).prop_flat_map(|rank| (
                prop::collection::vec(1usize..9, rank),
                prop::collection::vec(1usize..5, rank),
                prop::collection::vec(0usize..9, rank),
                prop::collection::vec(0usize..9, rank),
            ))
        ) {
            let offset: Vec<usize> = offset.iter().zip(&shape).map(|(&o, &n)| o.min(n)).collect();
            let size = size.iter().zip(&offset).zip(&shape).map(|((&s, &o), &n)| s.min(n - o)).collect();
            let region = Region { offset, shape: size };
            let grid = Grid::new(&shape, &block);
            let touched: Vec<_> = grid.touched(&region).collect();
            let overlapping: Vec<_> = Indices::new(&grid.counts())
                .filter(|index| grid.region(index).overlap(&region).is_some())
                .collect();
            prop_assert_eq!(touched, overlapping);
        }
    }

    #[test]
    fn a_scalar_is_one_block() {
        let grid = Grid::new(&[], &[]);
        assert_eq!(grid.touched(&Region::whole(&[])).collect::<Vec<_>>(), [Vec::<usize>::new()]);
        assert_eq!(grid.index_of(&Region::whole(&[])), Some(vec![]));
    }

    #[test]
    fn last_block_is_truncated() {
        let grid = Grid::new(&[5], &[2]);
        assert_eq!(grid.counts(), [3]);
        assert_eq!(grid.region(&[2]), Region { offset: vec![4], shape: vec![1] });
        assert_eq!(grid.index_of(&Region { offset: vec![4], shape: vec![1] }), Some(vec![2]));
        assert_eq!(grid.index_of(&Region { offset: vec![4], shape: vec![2] }), None);
        assert_eq!(grid.index_of(&Region { offset: vec![1], shape: vec![2] }), None);
    }
}
