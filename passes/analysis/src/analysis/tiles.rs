//! TPU tiles: 8 x 128 elements of 32 bits, over two dimensions of a tensor.

use smallvec::SmallVec;

/// The number of elements along the minor dimension of a tile.
pub const LANES: u64 = 128;

/// The number of rows of a tile.
pub const SUBLANES: u64 = 8;

/// The dimensions of a tensor from minor (along the lanes) to major.
pub(crate) type Order = SmallVec<[usize; 4]>;

/// Returns the layout in which a TPU client passes an argument: row-major, unless tiles over another pair of dimensions need less padding.
/// Ties are broken in favor of the pair with the last dimension along the lanes, then of the pair with the last dimension along the
/// sublanes. The remaining dimensions are row-major. Returns `None` for vectors and empty tensors.
#[must_use]
pub(crate) fn order_of_argument(shape: &[i64]) -> Option<Order> {
    let sizes: SmallVec<[u64; 6]> = shape.iter().map(|&n| u64::try_from(n).unwrap_or(0)).collect();
    if sizes.len() < 2 || sizes.contains(&0) {
        return None;
    }
    let last = sizes.len() - 1;
    let least = pairs(sizes.len()).map(|(lane, row)| padded(&sizes, lane, row)).min()?;
    let is_least = |&(lane, row): &(usize, usize)| padded(&sizes, lane, row) == least;
    let row_by_row = Some((last, last - 1)).filter(is_least);
    let (lane, row) = row_by_row.or_else(|| pairs(sizes.len()).filter(is_least).max())?;
    let others = (0..=last).rev().filter(|&dim| dim != lane && dim != row);
    Some([lane, row].into_iter().chain(others).collect())
}

/// Returns the pairs of dimensions that can be tiled: the dimension along the lanes, and the dimension along the sublanes.
pub fn pairs(rank: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..rank).flat_map(move |lane| (0..rank).map(move |row| (lane, row))).filter(|(lane, row)| lane != row)
}

/// Returns the number of elements, including padding, of a non-empty tensor with tiles over two of its dimensions.
pub fn padded(sizes: &[u64], lane: usize, row: usize) -> u64 {
    let elements = sizes.iter().fold(1, |all: u64, &n| all.saturating_mul(n));
    let (lane, row) = (sizes[lane], sizes[row]);
    let tiled = lane.next_multiple_of(LANES).saturating_mul(rows(row));
    (elements / lane / row).saturating_mul(tiled)
}

/// Returns the padded number of rows. Tensors with fewer than eight rows have smaller tiles.
fn rows(n: u64) -> u64 {
    if n < SUBLANES { n.next_power_of_two() } else { n.next_multiple_of(SUBLANES) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_row_major_unless_padding_is_larger() {
        let of = |shape: &[i64]| order_of_argument(shape).map(SmallVec::into_vec);
        assert_eq!(of(&[4096, 256]), Some(vec![1, 0]));
        assert_eq!(of(&[400_028, 16]), Some(vec![0, 1]), "columns along the lanes");
        assert_eq!(of(&[128, 128]), Some(vec![1, 0]), "either is padded as little");
        assert_eq!(of(&[2, 4096, 256]), Some(vec![2, 1, 0]));
        assert_eq!(of(&[64, 8, 8]), Some(vec![0, 2, 1]), "a short dimension is not along the lanes");
        assert_eq!(of(&[7, 7, 3, 2]), Some(vec![1, 3, 2, 0]), "of equal ones the last");
        assert_eq!(of(&[4096]), None);
        assert_eq!(of(&[0, 16]), None);
    }
}
