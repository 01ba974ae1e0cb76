//! The size of a tensor in device memory, by the layout rules of each compiler.

use shardc_analysis::analysis::tiles::{LANES, SUBLANES, padded, pairs};
use shardc_ir::TensorType;
use shardc_target::{CPU, CompilerModel, TargetSpec};
use smallvec::SmallVec;

/// The compiler of a device: its layouts, and the properties that decide which values are in memory. The default is that of a TPU v5e.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Machine(CompilerModel);

impl From<&TargetSpec> for Machine {
    fn from(device: &TargetSpec) -> Machine {
        Machine(device.compiler)
    }
}

/// The dimensions of a convolution operand that are tiled: features and batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TiledDims {
    pub(super) feature: usize,
    pub(super) batch: usize,
}

/// The number of elements of a tile.
const TILE: u64 = LANES * SUBLANES;

/// If a table of a gather or scatter takes at least this many bytes with its rows along the lanes, the TPU compiler keeps the default
/// layout of the table and of the rows. Measured: 2^18 to 2^20 rows of 2 to 64 32-bit numbers (at most 512 MiB) are along the lanes; 2^21
/// rows and more (at least 1 GiB) are not. Read-only tables sometimes keep the default layout from 256 MiB on.
const TOO_MUCH_IN_ROWS: u64 = 1 << 30;

impl Machine {
    /// Dense layouts without padding, as in host memory.
    pub(super) fn dense() -> Machine {
        Machine::from(&CPU)
    }

    /// Whether layouts are tiled.
    pub(super) fn is_tpu(self) -> bool {
        self.0.is_tiled
    }

    /// Whether a matmul is a separate kernel, which reads its operands from memory and writes its result there.
    pub(super) fn multiplies_alone(self) -> bool {
        self.0.multiplies_alone
    }

    /// Whether a quotient that several matmuls read is computed once and kept.
    pub(super) fn keeps_shared_quotients(self) -> bool {
        self.0.keeps_shared_quotients
    }

    /// Whether the result of an element-wise operation and an operand that no matmul produces are in memory at the same time.
    pub(super) fn writes_beside_computed(self) -> bool {
        self.0.writes_beside_computed
    }

    /// Whether gathers run on cores of their own, beside other operations.
    pub(super) fn looks_up_beside(self) -> bool {
        self.0.looks_up_beside
    }

    /// Returns the relative cost of reading or writing a tensor: its number of elements, or its bytes.
    pub(super) fn traffic(self, ty: &TensorType) -> u64 {
        let elements = ty.num_elements().and_then(|n| u64::try_from(n).ok()).unwrap_or(0);
        if self.0.counts_elements { elements } else { elements.saturating_mul(ty.dtype.bytes() as u64) }
    }

    /// Returns the bytes of an argument of type `ty` in device memory, padding included.
    #[must_use]
    pub fn bytes_of_argument(self, ty: &TensorType) -> u64 {
        self.bytes(ty, ty.dtype.bits(), None)
    }

    /// Returns the bytes of a tensor with `bits` per element. The compiler tiles those two dimensions that need the least padding, or
    /// `dims` for a convolution.
    pub(super) fn bytes(self, ty: &TensorType, bits: u32, dims: Option<TiledDims>) -> u64 {
        let shape = || ty.shape.iter().map(|&n| u64::try_from(n).unwrap_or(0));
        let elements = shape().fold(1, u64::saturating_mul);
        if !self.is_tpu() {
            // Elements of fewer than 8 bits take a byte, as on the host.
            return elements.saturating_mul(u64::from(bits.div_ceil(8)));
        }
        if elements == 0 {
            return 0;
        }
        let sizes: SmallVec<[u64; 6]> = shape().collect();
        let in_bytes = |elements| in_bytes(elements, bits);
        let padded = |lane: usize, row: usize| padded(&sizes, lane, row);
        let dims = dims.filter(|dims| dims.feature < sizes.len() && dims.batch < sizes.len());
        let tiled = match (sizes.len(), dims) {
            (0 | 1, _) => in_bytes(in_one_row(elements)),
            (_, Some(TiledDims { feature, batch })) => {
                in_bytes(padded(feature, batch).min(padded(batch, feature)))
            }
            (rank, None) => {
                let least = pairs(rank).map(|(lane, row)| padded(lane, row)).min();
                in_bytes(least.unwrap_or(elements))
            }
        };
        tiled.max(self.0.smallest_buffer)
    }

    /// Returns the bytes of a tensor in a layout in which a row is read or written at once. `window` has the dimensions of a row. If a
    /// row has several dimensions, two of them are tiled. Otherwise the last dimension is along the lanes.
    pub(super) fn bytes_in_rows(self, ty: &TensorType, bits: u32, window: &[usize]) -> u64 {
        let sizes: SmallVec<[u64; 6]> = ty.shape.iter().map(|&n| u64::try_from(n).unwrap_or(0)).collect();
        let least = self.bytes(ty, bits, None);
        let rank = sizes.len();
        if rank < 2 || !self.is_tpu() || sizes.contains(&0) {
            return least;
        }
        let window: SmallVec<[usize; 6]> =
            window.iter().copied().filter(|&dim| dim < rank && sizes[dim] > 1).collect();
        let of_window = pairs(rank).filter(|(lane, row)| window.contains(lane) && window.contains(row));
        let tiled = of_window.map(|(lane, row)| padded(&sizes, lane, row)).min();
        least.max(in_bytes(tiled.unwrap_or_else(|| padded(&sizes, rank - 1, rank - 2)), bits))
    }

    /// Whether the rows of a table are along the lanes if a gather reads them, or a scatter adds to them.
    pub(super) fn puts_in_rows(self, table: &TensorType, window: &[usize]) -> bool {
        let bits = table.dtype.bits();
        let bytes = self.bytes_in_rows(table, bits, window);
        bytes < TOO_MUCH_IN_ROWS || bytes == self.bytes(table, bits, None)
    }

    /// Returns the bytes of a tensor in a layout in which shards along `dim` can be all-gathered, or `None` if this is possible in the
    /// default layout. It is impossible if all layouts with the least padding tile `dim`, and `dim` is not a multiple of the tile. The
    /// returned layout has `dim` outermost, and the other dimensions are row-major.
    pub(super) fn bytes_gathered(self, ty: &TensorType, bits: u32, dim: usize) -> Option<u64> {
        let sizes: SmallVec<[u64; 6]> = ty.shape.iter().map(|&n| u64::try_from(n).unwrap_or(0)).collect();
        if !self.is_tpu() || sizes.len() < 3 || sizes.contains(&0) {
            return None;
        }
        // If several layouts have the least padding, the tiled dimensions are the last two if possible.
        let last_two = |&(lane, row): &(usize, usize)| {
            lane.max(row) + 1 == sizes.len() && lane.min(row) + 2 == sizes.len()
        };
        let least = pairs(sizes.len()).map(|(lane, row)| padded(&sizes, lane, row)).min()?;
        let mut pairs: SmallVec<[(usize, usize); 6]> =
            pairs(sizes.len()).filter(|&(lane, row)| padded(&sizes, lane, row) == least).collect();
        if sizes.len() > 3 && pairs.iter().any(last_two) {
            pairs.retain(|pair| last_two(pair));
        }
        // Shards of the last dimension of a matrix among several are not concatenated along the rows of a tile.
        let is_last = sizes.len() > 3 && dim + 1 == sizes.len();
        let is_whole = |&(lane, row): &(usize, usize)| {
            (lane != dim || sizes[dim].is_multiple_of(LANES))
                && (row != dim || sizes[dim].is_multiple_of(SUBLANES) && !is_last)
        };
        if pairs.iter().any(is_whole) {
            return None;
        }
        let mut others = (0..sizes.len()).rev().filter(|&other| other != dim);
        let (lane, row) = (others.next()?, others.next()?);
        Some(in_bytes(padded(&sizes, lane, row), bits))
    }

    /// Returns the bytes of a tensor in a layout in which blocks at one index of `dim` can be read, or `None` if this is possible in the
    /// default layout. It is impossible if all layouts with the least padding tile `dim`.
    pub(super) fn bytes_by_blocks(self, ty: &TensorType, dim: usize) -> Option<u64> {
        let sizes: SmallVec<[u64; 6]> = ty.shape.iter().map(|&n| u64::try_from(n).unwrap_or(0)).collect();
        if !self.is_tpu() || sizes.contains(&0) {
            return None;
        }
        let without = pairs(sizes.len()).filter(|&(lane, row)| lane != dim && row != dim);
        let least = without.map(|(lane, row)| padded(&sizes, lane, row)).min()?;
        let bytes = in_bytes(least, ty.dtype.bits());
        (bytes > self.bytes_of_argument(ty)).then_some(bytes)
    }

    /// Whether temporaries with a peak of `live` bytes fit in the fast memory.
    pub(super) fn has_fast_memory_for(self, live: u64) -> bool {
        self.fast_memory() > 0 && live <= self.fast_memory()
    }

    /// The bytes of fast memory for temporaries; 0 if the machine has none.
    pub(super) fn fast_memory(self) -> u64 {
        self.0.fast_memory
    }

    /// Returns the most bytes that a heap loses between buffers of `live` bytes.
    pub(super) fn gaps(self, live: u64) -> u64 {
        live.checked_div(self.0.fragmentation).unwrap_or(0)
    }

    /// The machine of a device of the table.
    #[cfg(test)]
    pub(super) fn of(device: &str) -> Machine {
        Machine::from(shardc_target::find(device).unwrap())
    }
}

/// Returns the number of elements of a vector, padding included. libtpu 0.0.51 stores vectors in tiles of 1024 elements. A shorter vector
/// takes one tile whose size is the next power of two.
fn in_one_row(elements: u64) -> u64 {
    if elements < TILE { elements.next_power_of_two() } else { elements.next_multiple_of(TILE) }
}

/// Returns the bytes of `elements` elements. An `i1` element takes a byte.
fn in_bytes(elements: u64, bits: u32) -> u64 {
    if bits == 1 { elements } else { elements.saturating_mul(u64::from(bits)).div_ceil(8) }
}

#[cfg(test)]
mod tests {
    use shardc_ir::DType;

    use super::*;

    fn tpu(shape: &[i64], dtype: DType) -> u64 {
        Machine::of("v5e").bytes(&TensorType::new(shape, dtype), dtype.bits(), None)
    }

    #[test]
    fn the_two_dimensions_with_the_least_padding_are_tiled() {
        assert_eq!(tpu(&[4096, 4096], DType::BF16), 2 * 4096 * 4096);
        assert_eq!(tpu(&[2048, 64], DType::F32), 4 * 2048 * 64, "2048 along the lanes");
        assert_eq!(tpu(&[100, 60], DType::F32), 4 * 128 * 64);
        assert_eq!(tpu(&[3, 60], DType::F32), 4 * 4 * 128, "three rows take a tile of four");
        assert_eq!(tpu(&[2048, 2048], DType::I1), 2048 * 2048);
        assert_eq!(tpu(&[], DType::F32), 512);
        assert_eq!(tpu(&[200], DType::F32), 1024);
        // The sizes that libtpu 0.0.51 allocates for arguments.
        for (n, bytes) in [(100, 512), (257, 2048), (513, 4096), (1024, 4096), (1025, 8192), (3000, 12288)] {
            assert_eq!(tpu(&[n], DType::F32), bytes, "{n}");
        }
        for (n, bytes) in [(128, 512), (257, 1024), (1025, 4096), (4097, 10240)] {
            assert_eq!(tpu(&[n], DType::BF16), bytes, "{n}");
        }
        assert_eq!(tpu(&[0, 7], DType::F32), 0);
    }

    #[test]
    fn features_of_a_convolution_are_along_the_lanes_if_smaller() {
        let dims = Some(TiledDims { feature: 3, batch: 0 });
        let of = |shape: &[i64]| Machine::of("v5e").bytes(&TensorType::new(shape, DType::F32), 32, dims);
        assert_eq!(of(&[8, 112, 112, 64]), 4 * 8 * 112 * 112 * 128);
        assert_eq!(of(&[8, 224, 224, 3]), 4 * 128 * 224 * 224 * 4, "the batch along the lanes");
    }

    #[test]
    fn rows_are_along_the_lanes() {
        let of = |machine: Machine, shape: &[i64]| {
            machine.bytes_in_rows(&TensorType::new(shape, DType::F32), DType::F32.bits(), &[])
        };
        assert_eq!(of(Machine::of("v5e"), &[4096, 2]), 4 * 4096 * 128);
        assert_eq!(of(Machine::of("v5e"), &[4096, 768]), 4 * 4096 * 768);
        assert_eq!(of(Machine::of("v5e"), &[4096]), 4 * 4096);
        assert_eq!(of(Machine::of("h100"), &[4096, 2]), 4 * 4096 * 2);
        let ty = TensorType::new(&[512, 8, 64], DType::F32);
        assert_eq!(
            Machine::of("v5e").bytes_in_rows(&ty, 32, &[1, 2]),
            4 * 512 * 8 * 128,
            "a row of two dimensions"
        );
    }

    #[test]
    fn heaps_have_fragmentation() {
        assert_eq!(Machine::of("v5p").gaps(11 << 30), 1 << 30);
        assert_eq!(Machine::of("cpu").gaps(11 << 30), 0);
        assert!(Machine::of("v5e").has_fast_memory_for(1 << 20));
        assert!(!Machine::of("v5e").has_fast_memory_for(1 << 30));
        assert!(!Machine::of("cpu").has_fast_memory_for(1 << 20));
    }
}
