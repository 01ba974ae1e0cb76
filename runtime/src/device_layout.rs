//! Memory layouts of arrays on a device.

use std::fmt;

use shardc_ir::DType;

use crate::error::{Result, RuntimeError};
use crate::host::HostArray;

/// The memory layout of an array on a device, as XLA describes it: an order of dimensions, and tiles.
///
/// Printed and parsed in XLA's notation, `{0,1:T(8,128)}`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DeviceLayout {
    /// The indices of the dimensions, from the contiguous dimension to the one with the largest stride.
    minor_to_major: Vec<usize>,
    /// The tiles, from the outermost to the innermost. Each tile lists its size in each dimension; `None` is a dimension that the tile
    /// combines with the next one.
    tiles: Vec<Vec<Option<u64>>>,
}

/// The tile size by which XLA denotes a dimension that a tile combines with the next one (`*` in text).
const COMBINED: i64 = i64::MIN;

impl DeviceLayout {
    /// Creates an untiled layout; `None` if the list is not a permutation of the dimensions.
    #[must_use]
    pub fn untiled(minor_to_major: &[usize]) -> Option<DeviceLayout> {
        let mut sorted = minor_to_major.to_vec();
        sorted.sort_unstable();
        sorted
            .into_iter()
            .eq(0..minor_to_major.len())
            .then(|| DeviceLayout { minor_to_major: minor_to_major.to_vec(), tiles: Vec::new() })
    }

    /// Creates the untiled layout of an array of this rank whose last dimension is contiguous.
    #[must_use]
    pub fn row_major(rank: usize) -> DeviceLayout {
        DeviceLayout { minor_to_major: (0..rank).rev().collect(), tiles: Vec::new() }
    }

    /// Parses XLA's text of a layout. Memory spaces, alignments and element sizes are not part of [`DeviceLayout`] and are skipped.
    #[must_use]
    pub fn parse(text: &str) -> Option<DeviceLayout> {
        let inner = text.trim().strip_prefix('{')?.strip_suffix('}')?;
        let (order, attributes) = inner.split_once(':').unwrap_or((inner, ""));
        let order = order.trim();
        let minor_to_major = match order {
            "" => Vec::new(),
            order => order.split(',').map(|n| n.trim().parse().ok()).collect::<Option<Vec<usize>>>()?,
        };
        let mut layout = DeviceLayout::untiled(&minor_to_major)?;
        // The parenthesized groups after the letter `T` are the tiles; other attributes begin with other letters, and are skipped.
        let mut is_tile = false;
        let mut rest = attributes;
        while let Some(first) = rest.chars().next() {
            if first == '(' {
                let (group, after) = rest[1..].split_once(')')?;
                if is_tile {
                    let size = |n: &str| match n.trim() {
                        "*" => Some(None),
                        n => n.parse().ok().map(Some),
                    };
                    layout.tiles.push(group.split(',').map(size).collect::<Option<_>>()?);
                }
                rest = after;
            } else {
                is_tile = first == 'T';
                rest = &rest[first.len_utf8()..];
            }
        }
        Some(layout)
    }

    /// Creates a layout from the integers with which XLA's protocols encode it; `None` if they are invalid.
    pub(crate) fn from_numbers(minor_to_major: &[i64], tiles: &[Vec<i64>]) -> Option<DeviceLayout> {
        let order: Vec<usize> =
            minor_to_major.iter().map(|&n| usize::try_from(n).ok()).collect::<Option<_>>()?;
        let mut layout = DeviceLayout::untiled(&order)?;
        let size = |&n: &i64| if n == COMBINED { Some(None) } else { u64::try_from(n).ok().map(Some) };
        layout.tiles =
            tiles.iter().map(|tile| tile.iter().map(size).collect()).collect::<Option<Vec<_>>>()?;
        Some(layout)
    }

    /// The indices of the dimensions, from the contiguous dimension to the one with the largest stride.
    #[must_use]
    pub fn minor_to_major(&self) -> &[usize] {
        &self.minor_to_major
    }

    /// The number of dimensions.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.minor_to_major.len()
    }

    /// The sizes of the tiles as the C API passes them: one list with the sizes of all tiles, and one with the number of sizes of each
    /// tile.
    pub(crate) fn flat_tiles(&self) -> (Vec<i64>, Vec<usize>) {
        let size = |n: &Option<u64>| n.map_or(COMBINED, |n| i64::try_from(n).unwrap_or(i64::MAX));
        (self.tiles.iter().flatten().map(size).collect(), self.tiles.iter().map(Vec::len).collect())
    }

    /// Returns whether both layouts store an array of this shape in the same order of dimensions. Tiles are not compared: plugins that use
    /// tiles compare them at launch.
    #[must_use]
    pub fn has_same_order(&self, other: &DeviceLayout, shape: &[usize]) -> bool {
        if self.rank() != shape.len() || other.rank() != shape.len() {
            return false;
        }
        // The position of a dimension of size 1 does not matter, unless there are tiles, which apply to the most minor dimensions.
        let is_free = self.tiles.is_empty() && other.tiles.is_empty();
        let counted = |layout: &DeviceLayout| -> Vec<usize> {
            layout.minor_to_major.iter().copied().filter(|&dim| !is_free || shape[dim] != 1).collect()
        };
        counted(self) == counted(other)
    }

    /// Reorders `data`, the elements of an array of this type and shape in this layout, to row-major order. Tiles are not supported.
    pub(crate) fn to_row_major(&self, dtype: DType, shape: &[usize], data: Vec<u8>) -> Result<Vec<u8>> {
        if self.rank() != shape.len() || data.len() != HostArray::byte_size(dtype, shape)? {
            return Err(RuntimeError::Layout(format!(
                "the memory layout {self} does not match an array of shape {shape:?}"
            )));
        }
        if self.has_same_order(&DeviceLayout::row_major(shape.len()), shape) || data.is_empty() {
            return Ok(data);
        }
        let mut strides = vec![0; shape.len()];
        self.minor_to_major.iter().fold(1, |stride, &dim| {
            strides[dim] = stride;
            stride * shape[dim]
        });
        Ok(match dtype.bytes() {
            1 => gathered::<1>(&data, shape, &strides),
            2 => gathered::<2>(&data, shape, &strides),
            4 => gathered::<4>(&data, shape, &strides),
            8 => gathered::<8>(&data, shape, &strides),
            _ => gathered::<16>(&data, shape, &strides),
        })
    }
}

impl fmt::Display for DeviceLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |numbers: Vec<String>| numbers.join(",");
        write!(f, "{{{}", list(self.minor_to_major.iter().map(ToString::to_string).collect()))?;
        if !self.tiles.is_empty() {
            f.write_str(":T")?;
        }
        for tile in &self.tiles {
            let size = |n: &Option<u64>| n.map_or("*".to_owned(), |n| n.to_string());
            write!(f, "({})", list(tile.iter().map(size).collect()))?;
        }
        f.write_str("}")
    }
}

/// Returns the elements, of `WIDTH` bytes each, in row-major order of `shape`. `strides` are the strides of `data` in elements.
fn gathered<const WIDTH: usize>(data: &[u8], shape: &[usize], strides: &[usize]) -> Vec<u8> {
    let (elements, _) = data.as_chunks::<WIDTH>();
    let mut result = Vec::with_capacity(data.len());
    let mut index = vec![0; shape.len()];
    let mut place = 0;
    for _ in 0..elements.len() {
        result.extend_from_slice(&elements[place]);
        for dim in (0..shape.len()).rev() {
            index[dim] += 1;
            place += strides[dim];
            if index[dim] < shape[dim] {
                break;
            }
            place -= strides[dim] * shape[dim];
            index[dim] = 0;
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts_are_read_and_printed() {
        for text in ["{}", "{0}", "{1,0}", "{0,2,1}", "{1,0:T(8,128)}", "{1,0:T(8,128)(2,1)}", "{0:T(*,128)}"]
        {
            assert_eq!(DeviceLayout::parse(text).map(|layout| layout.to_string()).as_deref(), Some(text));
        }
        let parsed = DeviceLayout::parse("{1,0:T(8,128)(4,1)E(4)S(5)L(1024)}").map(|l| l.to_string());
        assert_eq!(parsed.as_deref(), Some("{1,0:T(8,128)(4,1)}"));
        for text in ["", "1,0", "{1,1}", "{2,0}", "{a}", "{1,0:T(8,128}", "{-1}"] {
            assert_eq!(DeviceLayout::parse(text), None, "{text}");
        }
    }

    #[test]
    fn dimensions_of_size_one_do_not_count_without_tiles() {
        let parse = |text| DeviceLayout::parse(text).unwrap();
        assert!(parse("{0,1}").has_same_order(&parse("{1,0}"), &[1, 5]));
        assert!(!parse("{0,1}").has_same_order(&parse("{1,0}"), &[2, 5]));
        assert!(!parse("{0,1:T(8,128)}").has_same_order(&parse("{1,0:T(8,128)}"), &[1, 5]));
        assert!(parse("{1,0:T(4,128)}").has_same_order(&parse("{1,0:T(8,128)}"), &[4, 5]));
        assert!(!parse("{0}").has_same_order(&parse("{1,0}"), &[4]));
    }

    #[test]
    fn elements_are_put_into_row_major_order() {
        let layout = DeviceLayout::parse("{0,2,1}").unwrap();
        // The element at [i, j, k] of a 2x3x2 array is 100 i + 10 j + k; dimension 0 is the contiguous dimension.
        let mut data = Vec::new();
        for j in 0..3u16 {
            for k in 0..2 {
                (0..2).for_each(|i| data.extend((100 * i + 10 * j + k).to_le_bytes()));
            }
        }
        let ordered = layout.to_row_major(DType::UI16, &[2, 3, 2], data).unwrap();
        let array = HostArray::new(DType::UI16, &[2, 3, 2], ordered).unwrap();
        assert_eq!(array.to_f64_vec(), [0., 1., 10., 11., 20., 21., 100., 101., 110., 111., 120., 121.]);
        assert!(layout.to_row_major(DType::UI16, &[2, 3], vec![0; 12]).is_err());
    }
}
