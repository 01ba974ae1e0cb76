//! The sharding of a global array: the block that each device holds.
//!
//! A dimension of `n` elements that is sharded `k` ways has blocks of `ceil(n / k)` elements. The tail of the last block, and whole blocks
//! beyond the end, are padding whose value is unspecified. Sharding fills the padding with a conspicuous value; gathering and comparison
//! ignore the padding.
//!
//! An array may also be unreduced: then several devices hold partial sums of one block. When a host array is sharded in this way, the first
//! of these devices gets the block, and the others get zeros. When the array is gathered, the partial sums are added. For a reduction other
//! than a sum, the others get the identity of the reduction, and gathering applies the reduction.

use std::collections::{BTreeMap, BTreeSet};

use shardc_ir::{DType, ReductionKind};

use crate::error::{Result, RuntimeError};
use crate::host::{Difference, HostArray};

/// The value with which [`ShardLayout::shard`] fills padding. It makes results that use padding by mistake conspicuously wrong.
pub const LOUD_PADDING: f64 = 7.0;

/// The sharding of a global array: the block that each device holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShardLayout {
    global_shape: Vec<usize>,
    local_shape: Vec<usize>,
    shards: Vec<usize>,
    blocks: Vec<Vec<usize>>,
    /// For each device, the index of its partial sum among the partial sums of its block; empty if devices hold complete blocks.
    addends: Vec<usize>,
    combined_by: ReductionKind,
}

/// Two devices that should hold the same block but hold different values.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplicaDisagreement {
    /// The positions in the sharding of two devices: the first device that holds the block, and the device whose copy differs most from the
    /// copy of the first.
    pub devices: (usize, usize),
    /// The index of the block in the grid of blocks, by dimension.
    pub block: Vec<usize>,
    /// The difference, with the first device's block as reference; padding is ignored.
    pub difference: Difference,
    /// Whether the difference is within rounding error. A compiler may compute the same value differently on two devices, for example at
    /// the end of a block and in its middle.
    pub is_rounding: bool,
}

/// Formats the devices, their difference and the block: `devices 0 and 3 differ by 2.500e-1 in block [1, 0]`.
impl std::fmt::Display for ReplicaDisagreement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ((first, second), Difference { max_abs, mismatches, .. }) = (self.devices, self.difference);
        write!(f, "devices {first} and {second} differ ")?;
        match mismatches {
            0 => write!(f, "by {max_abs:.3e}")?,
            1 => f.write_str("in 1 element")?,
            n => write!(f, "in {n} elements")?,
        }
        if self.block.is_empty() { Ok(()) } else { write!(f, " in block {:?}", self.block) }
    }
}

/// The tolerance for rounding differences between two copies of a block, in units in the last place of the largest value.
const ROUNDING: f64 = 1024.0;

/// The upper bound of the tolerance for rounding, relative to the largest value. For narrow types, [`ROUNDING`] units would exceed the
/// value itself.
const MOST_ROUNDING: f64 = 1.0 / 16.0;

fn rounding(dtype: DType) -> f64 {
    let last_place = match dtype {
        DType::F64 | DType::C128 => f64::EPSILON,
        DType::F32 | DType::C64 => f64::from(f32::EPSILON),
        _ if dtype.is_float() => MOST_ROUNDING,
        _ => 0.0,
    };
    (ROUNDING * last_place).min(MOST_ROUNDING)
}

/// Formats the number of shards of each dimension, the number of devices, and the number of partial sums: `split [4, 1] over 8 devices, as
/// 2 partial sums`.
impl std::fmt::Display for ShardLayout {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let devices = match self.num_devices() {
            1 => "1 device".to_owned(),
            n => format!("{n} devices"),
        };
        if self.shards.iter().all(|&k| k == 1) {
            write!(f, "replicated on {devices}")?;
        } else {
            write!(f, "split {:?} over {devices}", self.shards)?;
        }
        match (self.num_addends(), self.combined_by) {
            (1, _) => Ok(()),
            (n, ReductionKind::Add) => write!(f, ", as {n} partial sums"),
            (n, by) => write!(f, ", as {n} partial results of a {}", by.word()),
        }
    }
}

impl ShardLayout {
    /// Creates a sharding from numbers of blocks and block indices.
    ///
    /// `shards[dim]` is the number of blocks of a dimension; `blocks[device][dim]` is the index of a device's block. Devices may hold the
    /// same block (replicas).
    ///
    /// # Errors
    ///
    /// Ranks differ, there are no devices, a dimension has no blocks, or a block index is out of range.
    pub fn new(global_shape: &[usize], shards: &[usize], blocks: Vec<Vec<usize>>) -> Result<ShardLayout> {
        let bad = |text: String| Err(RuntimeError::Layout(text));
        if shards.len() != global_shape.len() {
            return bad(format!(
                "an array of {} dimensions needs a number of shards for each, got {} numbers",
                global_shape.len(),
                shards.len()
            ));
        }
        if blocks.is_empty() {
            return bad("a sharding must have at least one device".to_owned());
        }
        if let Some(dim) = shards.iter().position(|&k| k == 0) {
            return bad(format!("dimension {dim} must have at least one shard, got 0"));
        }
        for (device, block) in blocks.iter().enumerate() {
            if block.len() != shards.len() {
                return bad(format!(
                    "device {device} has {} block indices, expected {}, one for each dimension",
                    block.len(),
                    shards.len()
                ));
            }
            if let Some(dim) = block.iter().zip(shards).position(|(&i, &k)| i >= k) {
                return bad(format!(
                    "device {device} has block index {} in dimension {dim}, which has {} blocks",
                    block[dim], shards[dim]
                ));
            }
        }
        let local_shape = global_shape.iter().zip(shards).map(|(&n, &k)| n.div_ceil(k)).collect();
        Ok(ShardLayout {
            global_shape: global_shape.to_vec(),
            local_shape,
            shards: shards.to_vec(),
            blocks,
            addends: Vec::new(),
            combined_by: ReductionKind::Add,
        })
    }

    /// Makes the sharding unreduced: device `d` holds partial sum `addends[d]` of its block, counted from 0. The block is the reduction of
    /// its partial sums with `by`. Devices may hold the same partial sum of the same block.
    ///
    /// # Errors
    ///
    /// The numbers of indices and devices differ, or blocks do not all have the same partial sums, starting with 0.
    pub fn with_addends(self, addends: Vec<usize>, by: ReductionKind) -> Result<ShardLayout> {
        let bad = |text: String| Err(RuntimeError::Layout(text));
        if addends.len() != self.num_devices() {
            return bad(format!(
                "a sharding over {} devices needs a partial sum for each, got {}",
                self.num_devices(),
                addends.len()
            ));
        }
        let count = addends.iter().max().map_or(0, |&last| last.saturating_add(1));
        let held: BTreeSet<(&[usize], usize)> =
            self.blocks.iter().map(Vec::as_slice).zip(addends.iter().copied()).collect();
        let blocks: BTreeSet<&[usize]> = self.blocks.iter().map(Vec::as_slice).collect();
        if blocks.len().checked_mul(count) != Some(held.len()) {
            return bad(format!(
                "the devices hold {} partial sums of {} blocks, expected {count} of each",
                held.len(),
                blocks.len()
            ));
        }
        // A single partial sum is the block itself.
        let addends = if count == 1 { Vec::new() } else { addends };
        Ok(ShardLayout { addends, combined_by: by, ..self })
    }

    /// Returns the index of a device's partial sum among the partial sums of its block; 0 if devices hold complete blocks.
    #[must_use]
    pub fn addend(&self, device: usize) -> usize {
        self.addends.get(device).copied().unwrap_or(0)
    }

    /// Returns the number of partial sums of each block; 1 if devices hold complete blocks.
    #[must_use]
    pub fn num_addends(&self) -> usize {
        self.addends.iter().max().map_or(1, |&last| last + 1)
    }

    /// Creates the sharding in which the array is replicated on `devices` devices.
    ///
    /// # Errors
    ///
    /// There are no devices.
    pub fn replicated(global_shape: &[usize], devices: usize) -> Result<ShardLayout> {
        ShardLayout::new(
            global_shape,
            &vec![1; global_shape.len()],
            vec![vec![0; global_shape.len()]; devices],
        )
    }

    /// The shape of the global array.
    #[must_use]
    pub fn global_shape(&self) -> &[usize] {
        &self.global_shape
    }

    /// The shape of each device's block, padding included.
    #[must_use]
    pub fn local_shape(&self) -> &[usize] {
        &self.local_shape
    }

    /// The number of blocks of each dimension.
    #[must_use]
    pub fn shards(&self) -> &[usize] {
        &self.shards
    }

    /// The number of devices.
    #[must_use]
    pub fn num_devices(&self) -> usize {
        self.blocks.len()
    }

    /// Returns the index of a device's block in the grid of blocks, by dimension; `None` if the device does not exist.
    #[must_use]
    pub fn block(&self, device: usize) -> Option<&[usize]> {
        self.blocks.get(device).map(Vec::as_slice)
    }

    /// Returns the offsets of a device's block in the global array; `None` if the device does not exist.
    #[must_use]
    pub fn offsets(&self, device: usize) -> Option<Vec<usize>> {
        Some(self.span(self.block(device)?).0)
    }

    /// Returns the sizes of a device's block without padding; `None` if the device does not exist.
    #[must_use]
    pub fn extent(&self, device: usize) -> Option<Vec<usize>> {
        Some(self.span(self.block(device)?).1)
    }

    /// Returns the block of `array` for a device, with padding filled with [`LOUD_PADDING`]. If devices hold partial sums, the first device
    /// of each block gets the block, and the others get identity elements.
    ///
    /// # Errors
    ///
    /// The array's shape is not the sharding's global shape, or the device does not exist.
    pub fn shard(&self, array: &HostArray, device: usize) -> Result<HostArray> {
        self.shard_padded(array, device, LOUD_PADDING)
    }

    /// Returns the block of `array` for a device as [`ShardLayout::shard`] does, but with this padding value.
    ///
    /// # Errors
    ///
    /// The errors of [`ShardLayout::shard`].
    pub fn shard_padded(&self, array: &HostArray, device: usize, padding: f64) -> Result<HostArray> {
        if array.shape != self.global_shape {
            return Err(RuntimeError::Layout(format!(
                "an array of shape {:?} does not match a sharding of shape {:?}",
                array.shape, self.global_shape
            )));
        }
        let offsets = self.offsets(device).ok_or_else(|| {
            RuntimeError::Layout(format!(
                "device {device} is out of range for a sharding over {} devices",
                self.num_devices()
            ))
        })?;
        if self.addend(device) != 0
            && let Some(nothing) = HostArray::neutral(array.dtype, &self.local_shape, self.combined_by)
        {
            return nothing;
        }
        array.slice_block(&offsets, &self.local_shape, padding)
    }

    /// Assembles the array from the blocks of all devices, and adds partial sums. If several devices hold the same block, the block of the
    /// first device is used; [`ShardLayout::check_replicas`] compares the copies.
    ///
    /// # Errors
    ///
    /// Blocks have the wrong number, type or shape, or a part of the array is on no device.
    pub fn gather(&self, shards: &[HostArray]) -> Result<HostArray> {
        self.gather_at(&(0..self.num_devices()).collect::<Vec<_>>(), shards)
    }

    /// Assembles the array from the blocks of some devices, as [`ShardLayout::gather`] does from the blocks of all devices: `shards[i]` is
    /// the block of device `places[i]`.
    ///
    /// # Errors
    ///
    /// The errors of [`ShardLayout::gather`]; a part of the array, or a partial sum, is on none of these devices.
    pub fn gather_at(&self, places: &[usize], shards: &[HostArray]) -> Result<HostArray> {
        let dtype = self.check_shards(places, shards)?;
        let mut blocks: BTreeMap<&[usize], BTreeMap<usize, &HostArray>> = BTreeMap::new();
        for (&device, shard) in places.iter().zip(shards) {
            blocks.entry(&self.blocks[device]).or_default().entry(self.addend(device)).or_insert(shard);
        }
        let mut array = HostArray::zeros(dtype, &self.global_shape)?;
        let mut covered = 0usize;
        for (block, addends) in blocks.into_iter().filter(|(_, held)| held.len() == self.num_addends()) {
            let (offsets, extent) = self.span(block);
            match addends.into_values().collect::<Vec<_>>().as_slice() {
                [only] => array.paste_block(only, &offsets)?,
                addends => array.paste_block(&HostArray::combined(addends, self.combined_by)?, &offsets)?,
            }
            covered = covered.saturating_add(extent.iter().product());
        }
        // Different blocks do not overlap, so the array is complete if the number of elements is correct.
        if covered != array.len() {
            return Err(RuntimeError::Layout(format!(
                "the devices hold {covered} of the array's {} elements",
                array.len()
            )));
        }
        Ok(array)
    }

    /// The offsets of a block in the global array, and its sizes without padding.
    fn span(&self, block: &[usize]) -> (Vec<usize>, Vec<usize>) {
        let offsets: Vec<usize> =
            block.iter().zip(&self.local_shape).map(|(&i, &n)| i.saturating_mul(n)).collect();
        let sizes = self.global_shape.iter().zip(&self.local_shape).zip(&offsets);
        let extent = sizes.map(|((&n, &local), &offset)| local.min(n.saturating_sub(offset))).collect();
        (offsets, extent)
    }

    /// Compares the copies of each block that several devices hold, without padding. Returns the worst disagreement: the one with the most
    /// mismatches, and among those the one with the largest relative error. `None` if all copies are equal.
    ///
    /// # Errors
    ///
    /// The blocks have a wrong number, element type or shape.
    pub fn check_replicas(&self, shards: &[HostArray]) -> Result<Option<ReplicaDisagreement>> {
        self.check_replicas_at(&(0..self.num_devices()).collect::<Vec<_>>(), shards)
    }

    /// Compares the copies of each block that some devices hold, as [`ShardLayout::check_replicas`] does for all devices: `shards[i]` is
    /// the block of device `places[i]`.
    ///
    /// # Errors
    ///
    /// The blocks have a wrong number, element type or shape.
    pub fn check_replicas_at(
        &self,
        places: &[usize],
        shards: &[HostArray],
    ) -> Result<Option<ReplicaDisagreement>> {
        let dtype = self.check_shards(places, shards)?;
        let mut worst: Option<ReplicaDisagreement> = None;
        let mut first_of: BTreeMap<(&[usize], usize), (usize, HostArray)> = BTreeMap::new();
        for (&second, shard) in places.iter().zip(shards) {
            let (_, extent) = self.span(&self.blocks[second]);
            let shard = shard.slice_block(&vec![0; extent.len()], &extent, 0.0)?;
            let held = (self.blocks[second].as_slice(), self.addend(second));
            let Some((first, reference)) = first_of.get(&held) else {
                first_of.insert(held, (second, shard));
                continue;
            };
            let difference = HostArray::compare(reference, &shard)?;
            let rank = |d: &Difference| (d.mismatches, d.max_rel_to_scale);
            let differs = difference.mismatches > 0 || difference.max_abs > 0.0;
            if differs && worst.as_ref().is_none_or(|w| rank(&w.difference) < rank(&difference)) {
                worst = Some(ReplicaDisagreement {
                    devices: (*first, second),
                    block: self.blocks[second].clone(),
                    is_rounding: difference.within(rounding(dtype)),
                    difference,
                });
            }
        }
        Ok(worst)
    }

    fn check_shards(&self, places: &[usize], shards: &[HostArray]) -> Result<DType> {
        let is_known = places.iter().all(|&device| device < self.blocks.len());
        let Some(first) = shards.first().filter(|_| shards.len() == places.len() && is_known) else {
            return Err(RuntimeError::Layout(format!(
                "{} blocks do not match {} devices of a sharding over {} devices",
                shards.len(),
                places.len(),
                self.blocks.len()
            )));
        };
        for (device, shard) in places.iter().zip(shards) {
            if shard.shape != self.local_shape || shard.dtype != first.dtype {
                return Err(RuntimeError::Layout(format!(
                    "device {device} has a block of {}{:?}, expected {}{:?}",
                    shard.dtype, shard.shape, first.dtype, self.local_shape
                )));
            }
        }
        Ok(first.dtype)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the sharding of both dimensions of an array over a 2 x 3 mesh.
    fn grid(shape: &[usize]) -> ShardLayout {
        let blocks = (0..6).map(|d| vec![d / 3, d % 3]).collect();
        ShardLayout::new(shape, &[2, 3], blocks).unwrap()
    }

    #[test]
    fn uneven_arrays_round_trip() {
        for shape in [[4, 6], [5, 7], [1, 1], [3, 4], [0, 5], [2, 9]] {
            let layout = grid(&shape);
            let array = HostArray::random(1, DType::F32, &shape).unwrap();
            let shards: Vec<_> = (0..6).map(|d| layout.shard(&array, d).unwrap()).collect();
            assert!(shards.iter().all(|s| s.shape == layout.local_shape()));
            assert_eq!(layout.gather(&shards).unwrap(), array, "{shape:?}");
        }
    }

    #[test]
    fn padding_is_conspicuous_and_ignored() {
        let layout = ShardLayout::new(&[5], &[4], (0..4).map(|d| vec![d]).collect()).unwrap();
        let array = HostArray::from_f64(DType::I32, &[5], &[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        assert_eq!(layout.shard(&array, 2).unwrap().to_f64_vec(), [5.0, 7.0]);
        assert_eq!(layout.shard(&array, 3).unwrap().to_f64_vec(), [7.0, 7.0]);
        assert_eq!(layout.extent(3).unwrap(), [0]);
        assert!(layout.shard(&array, 4).is_err());
    }

    #[test]
    fn replicas_are_compared_without_padding() {
        let layout = ShardLayout::new(&[3], &[2], vec![vec![0], vec![1], vec![0], vec![1]]).unwrap();
        let array = HostArray::from_f64(DType::F32, &[3], &[1.0, 2.0, 4.0]).unwrap();
        let mut shards: Vec<_> = (0..4).map(|d| layout.shard_padded(&array, d, d as f64).unwrap()).collect();
        assert_eq!(layout.check_replicas(&shards).unwrap(), None);
        shards[3] = HostArray::from_f64(DType::F32, &[2], &[3.0, 0.0]).unwrap();
        let worst = layout.check_replicas(&shards).unwrap().unwrap();
        assert_eq!((worst.devices, worst.block, worst.difference.max_rel_to_scale), ((1, 3), vec![1], 0.25));
        assert!(!worst.is_rounding);
        shards[3] = HostArray::from_f64(DType::F32, &[2], &[4.000_001, 0.0]).unwrap();
        assert!(layout.check_replicas(&shards).unwrap().unwrap().is_rounding);
        let integers = [2, 3].map(|n| HostArray::from_f64(DType::I32, &[1], &[f64::from(n)]).unwrap());
        let both = ShardLayout::replicated(&[1], 2).unwrap();
        assert!(!both.check_replicas(&integers).unwrap().unwrap().is_rounding);
    }

    #[test]
    fn partial_sums_are_sharded_and_gathered() {
        let blocks = vec![vec![0], vec![1], vec![0], vec![1]];
        let layout = ShardLayout::new(&[3], &[2], blocks).unwrap();
        let layout = layout.with_addends(vec![0, 0, 1, 1], ReductionKind::Add).unwrap();
        assert_eq!(layout.to_string(), "split [2] over 4 devices, as 2 partial sums");
        let array = HostArray::from_f64(DType::F32, &[3], &[1.0, 2.0, 4.0]).unwrap();
        let mut shards: Vec<_> = (0..4).map(|d| layout.shard_padded(&array, d, 9.0).unwrap()).collect();
        assert_eq!(shards[0].to_f64_vec(), [1.0, 2.0]);
        assert_eq!(shards[3].to_f64_vec(), [0.0, 0.0]);
        assert_eq!(layout.check_replicas(&shards).unwrap(), None);
        shards[2] = HostArray::from_f64(DType::F32, &[2], &[0.5, -2.0]).unwrap();
        assert_eq!(layout.gather(&shards).unwrap().to_f64_vec(), [1.5, 0.0, 4.0]);
    }

    #[test]
    fn maximum_of_equal_partial_results() {
        let layout = ShardLayout::replicated(&[2], 2).unwrap();
        let layout = layout.with_addends(vec![0, 1], ReductionKind::Max).unwrap();
        let array = HostArray::from_f64(DType::F32, &[2], &[-1.0, 2.0]).unwrap();
        let shards: Vec<_> = (0..2).map(|d| layout.shard(&array, d).unwrap()).collect();
        assert_eq!(layout.gather(&shards).unwrap(), array);
    }

    #[test]
    fn incomplete_partial_sums_are_rejected() {
        let layout = || ShardLayout::new(&[4], &[2], vec![vec![0], vec![1], vec![0]]).unwrap();
        assert!(layout().with_addends(vec![0, 0, 1], ReductionKind::Add).is_err());
        assert!(layout().with_addends(vec![0, 0], ReductionKind::Add).is_err());
        assert!(layout().with_addends(vec![1, 1, 1], ReductionKind::Add).is_err());
        assert!(layout().with_addends(vec![0, 0, 0], ReductionKind::Add).is_ok());
    }

    #[test]
    fn missing_blocks_are_detected() {
        let layout = ShardLayout::new(&[4], &[2], vec![vec![0], vec![0]]).unwrap();
        let shard = HostArray::zeros(DType::F32, &[2]).unwrap();
        assert!(matches!(layout.gather(&[shard.clone(), shard]), Err(RuntimeError::Layout(_))));
    }

    #[test]
    fn bad_layouts_are_rejected() {
        assert!(ShardLayout::new(&[4], &[2, 2], vec![vec![0]]).is_err());
        assert!(ShardLayout::new(&[4], &[0], vec![vec![0]]).is_err());
        assert!(ShardLayout::new(&[4], &[2], vec![vec![2]]).is_err());
        assert!(ShardLayout::new(&[4], &[2], vec![]).is_err());
        assert!(ShardLayout::new(&[], &[], vec![vec![]; 2]).is_ok());
    }
}
