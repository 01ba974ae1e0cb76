//! Chooses the shape of the tiles (inner chunks of Zarr) into which the file of a block is divided.

/// The approximate maximum size of a tile in bytes. It is small enough that a restore with another sharding reads little unneeded data, and
/// large enough for efficient requests to object stores.
const TILE: usize = 1 << 20;

/// The minimum size in bytes of a row of a tile (its elements along the last dimension) for dividing the last dimension before the
/// others. Longer rows contain many elements that another sharding does not need; shorter rows take longer to copy.
const ROW: usize = 8 << 10;

/// A second condition for dividing the last dimension before the others: a row has more bytes than this number times the size of the
/// largest other dimension.
const LONG: usize = 16;

/// The maximum number of parts into which a dimension is divided at a time.
const MOST_PARTS: usize = 64;

/// Returns the shape of a block's tiles. Each size of a tile divides the corresponding size of the block. `width` is the size of an
/// element in bytes.
///
/// Dimensions other than the last are divided first, unless rows along the last dimension are very long. So the rows of a tile are
/// contiguous and long, but a tile does not span the entire block, and a process with a different sharding reads little more than its own
/// elements.
pub(crate) fn tile_of(block: &[usize], width: usize) -> Vec<usize> {
    let mut tile = block.to_vec();
    let Some(last) = block.len().checked_sub(1) else { return tile };
    let bytes = |tile: &[usize]| tile.iter().fold(width, |all, &n| all.saturating_mul(n));
    while bytes(&tile) > TILE {
        let row = tile[last].saturating_mul(width);
        let front = (0..last).filter(|&dim| divisor(tile[dim]).is_some()).max_by_key(|&dim| tile[dim]);
        // Short rows take longer to copy. Rows that are much longer than the largest other dimension contain many elements that
        // another sharding does not need.
        let cut_last = row > ROW && front.is_none_or(|dim| row > tile[dim].saturating_mul(LONG));
        let wanted = if cut_last { [Some(last), front] } else { [front, Some(last)] };
        let cut = wanted.into_iter().flatten().find_map(|dim| Some((dim, divisor(tile[dim])?)));
        let Some((dim, divisor)) = cut else { break };
        tile[dim] /= divisor;
    }
    tile
}

/// Returns the smallest divisor of a size that is at least 2 and at most [`MOST_PARTS`]; `None` if there is none. Thus a large prime size
/// is not divided into single elements.
fn divisor(n: usize) -> Option<usize> {
    (2..=MOST_PARTS.min(n)).find(|&d| n.is_multiple_of(d))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_divide_their_block_and_are_small() {
        let blocks: [&[usize]; 13] = [
            &[],
            &[1],
            &[7, 3],
            &[1 << 24],
            &[4096, 4096],
            &[4096, 4],
            &[1, 1 << 20, 2],
            &[3, 5, 1 << 18],
            &[50257, 768],
            &[104_729, 64],
            &[104_729],
            &[32, 64, 64, 128],
            &[64, 65_537],
        ];
        for block in blocks {
            let tile = tile_of(block, 4);
            assert!(tile.iter().zip(block).all(|(&t, &b)| t > 0 && b % t == 0), "{block:?} {tile:?}");
            let bytes: usize = tile.iter().product::<usize>() * 4;
            assert!(bytes <= TILE && bytes * 128 > TILE.min(block.iter().product::<usize>() * 4));
        }
        assert_eq!(tile_of(&[4096, 4096], 4), [128, 2048]);
        assert_eq!(tile_of(&[7, 3], 4), [7, 3]);
        // A prime has no small divisor.
        assert_eq!(tile_of(&[4_194_301], 4), [4_194_301]);
    }
}
