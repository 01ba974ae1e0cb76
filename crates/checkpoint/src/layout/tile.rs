//! How a block is cut into the tiles of its file.

/// Tiles have about this many bytes: small enough that another sharding reads little that it does not want, large enough for
/// object stores.
const TILE: usize = 1 << 20;

/// The bytes of a row of a tile are not made fewer than this by cutting the last dimension: longer rows would be read where another
/// sharding wants few of their elements, and shorter ones take longer to be put where they belong.
const ROW: usize = 8 << 10;

/// A row may have so many bytes for each row that there is.
const LONG: usize = 16;

/// A cut makes no more parts than this.
const MOST_PARTS: usize = 64;

/// The shape of the tiles of a block, each side of which divides the block's.
///
/// First the dimensions before the last are cut, from the front, then the last one: rows of a tile are contiguous in memory
/// and long, and yet a tile is no stripe through the whole block, so that a sharding along another dimension reads little
/// more than its own.
pub(crate) fn tile_of(block: &[usize], width: usize) -> Vec<usize> {
    let mut tile = block.to_vec();
    let Some(last) = block.len().checked_sub(1) else { return tile };
    let bytes = |tile: &[usize]| tile.iter().fold(width, |all, &n| all.saturating_mul(n));
    while bytes(&tile) > TILE {
        let row = tile[last].saturating_mul(width);
        let front = (0..last).filter(|&dim| divisor(tile[dim]).is_some()).max_by_key(|&dim| tile[dim]);
        // Rows of a tile are not short, nor is a row much longer than there are rows.
        let cut_last = row > ROW && front.is_none_or(|dim| row > tile[dim].saturating_mul(LONG));
        let wanted = if cut_last { [Some(last), front] } else { [front, Some(last)] };
        let cut = wanted.into_iter().flatten().find_map(|dim| Some((dim, divisor(tile[dim])?)));
        let Some((dim, divisor)) = cut else { break };
        tile[dim] /= divisor;
    }
    tile
}

/// The smallest divisor of a size, where that is small: a size that is prime stays whole rather than make a tile of each
/// element.
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
        // Nothing small divides a prime.
        assert_eq!(tile_of(&[4_194_301], 4), [4_194_301]);
    }
}
