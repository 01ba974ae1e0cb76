//! The size of a tensor in device memory, by the layout rules of each compiler.

use shardc_analysis::analysis::tiles::{LANES, SUBLANES, padded, pairs};
use shardc_ir::TensorType;
use shardc_target::TargetSpec;
use smallvec::SmallVec;

/// The kind of device for which memory is estimated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Machine {
    /// A machine with dense layouts, such as a CPU. Its heap has no fragmentation.
    Plain,
    /// A GPU, with dense layouts. Matmuls are separate kernels that read their operands from memory and write their results there.
    Gpu,
    /// A TPU v5e, which stores tensors in tiles of 8 by 128 elements of 32 bits.
    #[default]
    TpuV5e,
    /// A TPU v5p, with the same tiles. Its compiler keeps 16-bit values instead of recomputing them from 32-bit values.
    TpuV5p,
}

impl From<&TargetSpec> for Machine {
    fn from(device: &TargetSpec) -> Machine {
        let compiler = &device.compiler;
        match (compiler.is_tiled, compiler.keeps_shared_quotients, compiler.multiplies_alone) {
            (true, true, _) => Machine::TpuV5p,
            (true, false, _) => Machine::TpuV5e,
            (false, _, true) => Machine::Gpu,
            (false, _, false) => Machine::Plain,
        }
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

/// The minimum size of a buffer on a TPU, in bytes.
const SMALLEST: u64 = 512;

/// The bytes of fast memory (VMEM, 128 MiB in all) that the compiler uses for temporaries. If all temporaries fit, none are in main memory
/// (HBM).
const FAST_MEMORY: u64 = 64 << 20;

/// Heap fragmentation, as a fraction (1/11) of the live bytes. For the programs of docs/QUALITY.md, most of the compiler's buffer
/// assignments take 0.3 to 8 % more than their live bytes, tuple index tables included. A few take up to 17 % more. The rest of the
/// fraction compensates for values that the estimate fuses but the compiler keeps in memory.
///
/// The compiler places buffers in the order of their definition, each in the smallest gap that holds it. A simulation of this
/// placement with the compiler's live ranges reproduces its heap sizes within 4 %. With the estimated live ranges, simulated fragmentation
/// is 0 to 31 %, so the simulation does not predict the compiler's fragmentation.
const LOST: u64 = 11;

/// Heap fragmentation on GPUs, as a fraction (1/9) of the live bytes. Measured: 1.3 to 10 % for GPT-2 under four strategies, and more for
/// programs of less than a megabyte, where XLA combines sequential all-gathers.
const LOST_ON_GPUS: u64 = 9;

/// If a table of a gather or scatter takes at least this many bytes with its rows along the lanes, the TPU compiler keeps the default
/// layout of the table and of the rows. Measured: 2^18 to 2^20 rows of 2 to 64 32-bit numbers (at most 512 MiB) are along the lanes; 2^21
/// rows and more (at least 1 GiB) are not. Read-only tables sometimes keep the default layout from 256 MiB on.
const TOO_MUCH_IN_ROWS: u64 = 1 << 30;

impl Machine {
    /// Whether layouts are tiled.
    pub(super) fn is_tpu(self) -> bool {
        match self {
            Machine::TpuV5e | Machine::TpuV5p => true,
            Machine::Plain | Machine::Gpu => false,
        }
    }

    /// Whether a matmul is a separate kernel, which reads its operands from memory and writes its result there.
    pub(super) fn multiplies_alone(self) -> bool {
        self == Machine::Gpu
    }

    /// Whether a quotient that several matmuls read is computed once and kept. libtpu 0.0.51 does so for a v5p; for a v5e, it recomputes
    /// the division in each matmul.
    pub(super) fn keeps_shared_quotients(self) -> bool {
        match self {
            Machine::TpuV5p => true,
            Machine::TpuV5e | Machine::Plain | Machine::Gpu => false,
        }
    }

    /// Whether the result of an element-wise operation and an operand that no matmul produces are in memory at the same time. For a v5e,
    /// libtpu 0.0.51 recomputes that operand instead of keeping it in memory.
    pub(super) fn writes_beside_computed(self) -> bool {
        match self {
            Machine::TpuV5p => true,
            Machine::TpuV5e | Machine::Plain | Machine::Gpu => false,
        }
    }

    /// Returns the relative cost of reading or writing a tensor: the number of elements for a v5e, and bytes otherwise. The costs differ
    /// because the compiler recomputes attention probabilities from exponentials, which have twice as many bytes, for a v5e but not for a
    /// v5p.
    pub(super) fn traffic(self, ty: &TensorType) -> u64 {
        let elements = ty.num_elements().and_then(|n| u64::try_from(n).ok()).unwrap_or(0);
        match self {
            Machine::TpuV5e => elements,
            Machine::TpuV5p | Machine::Plain | Machine::Gpu => {
                elements.saturating_mul(ty.dtype.bytes() as u64)
            }
        }
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
        tiled.max(SMALLEST)
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
        let least = pairs(sizes.len()).map(|(lane, row)| padded(&sizes, lane, row)).min()?;
        let is_whole = |lane, row| {
            (lane != dim || sizes[dim].is_multiple_of(LANES))
                && (row != dim || sizes[dim].is_multiple_of(SUBLANES))
        };
        if pairs(sizes.len()).any(|(lane, row)| padded(&sizes, lane, row) == least && is_whole(lane, row)) {
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
        self.is_tpu() && live <= FAST_MEMORY
    }

    /// The bytes of fast memory for temporaries; 0 if the machine has none.
    pub(super) fn fast_memory(self) -> u64 {
        if self.is_tpu() { FAST_MEMORY } else { 0 }
    }

    /// Returns the heap size of temporaries with a peak of `live` bytes.
    pub(super) fn heap(self, live: u64) -> u64 {
        match self {
            Machine::Plain => live,
            Machine::Gpu => live.saturating_add(live / LOST_ON_GPUS),
            Machine::TpuV5e | Machine::TpuV5p => live.saturating_add(live / LOST),
        }
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
        Machine::TpuV5e.bytes(&TensorType::new(shape, dtype), dtype.bits(), None)
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
        let of = |shape: &[i64]| Machine::TpuV5e.bytes(&TensorType::new(shape, DType::F32), 32, dims);
        assert_eq!(of(&[8, 112, 112, 64]), 4 * 8 * 112 * 112 * 128);
        assert_eq!(of(&[8, 224, 224, 3]), 4 * 128 * 224 * 224 * 4, "the batch along the lanes");
    }

    #[test]
    fn rows_are_along_the_lanes() {
        let of = |machine: Machine, shape: &[i64]| {
            machine.bytes_in_rows(&TensorType::new(shape, DType::F32), DType::F32.bits(), &[])
        };
        assert_eq!(of(Machine::TpuV5e, &[4096, 2]), 4 * 4096 * 128);
        assert_eq!(of(Machine::TpuV5e, &[4096, 768]), 4 * 4096 * 768);
        assert_eq!(of(Machine::TpuV5e, &[4096]), 4 * 4096);
        assert_eq!(of(Machine::Gpu, &[4096, 2]), 4 * 4096 * 2);
        let ty = TensorType::new(&[512, 8, 64], DType::F32);
        assert_eq!(
            Machine::TpuV5e.bytes_in_rows(&ty, 32, &[1, 2]),
            4 * 512 * 8 * 128,
            "a row of two dimensions"
        );
    }

    #[test]
    fn heaps_have_fragmentation() {
        assert_eq!(Machine::TpuV5p.heap(11 << 30), 12 << 30);
        assert_eq!(Machine::Plain.heap(11 << 30), 11 << 30);
        assert_eq!(Machine::Gpu.heap(9 << 30), 10 << 30);
        assert!(Machine::TpuV5e.has_fast_memory_for(1 << 20));
        assert!(!Machine::TpuV5e.has_fast_memory_for(1 << 30));
        assert!(!Machine::Plain.has_fast_memory_for(1 << 20));
    }
}
