//! XLA's `HloSharding` of a value or tuple, and its text form.
//!
//! [`HloSharding`] is the content of `mhlo.sharding`. Its `Display` prints the text that XLA prints; `parse.rs` accepts every form that
//! XLA accepts.

use std::fmt;

use shardc_ir::{AxisList, AxisRef, DimSharding, Mesh};
use smallvec::SmallVec;

use super::digits::{self, Digit};

/// The sharding of a value, or of each value of a tuple.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum HloSharding {
    /// The sharding of one value.
    Single(Leaf),
    /// The shardings of the values of a tuple, in order.
    Tuple(Vec<Leaf>),
}

/// The sharding of one value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Leaf {
    /// How the value is distributed.
    pub kind: LeafKind,
    /// The group of values that must have the same sharding.
    pub group: Option<ShardGroup>,
}

/// How a value is distributed over the devices.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum LeafKind {
    /// Every device holds the full value.
    Replicated,
    /// The value is local to each device (in a manual region).
    Manual,
    /// Propagation chooses the sharding.
    Unknown,
    /// Each device holds a partial sum.
    Unreduced,
    /// One device holds the full value, the others hold nothing.
    Maximal(i64),
    /// Each device holds one tile of the value.
    Tiled(Tiling),
    /// The axes of a named mesh shard the value.
    Named(Box<Named>),
}

/// A group of values that have the same sharding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ShardGroup {
    /// `shard_as n`.
    As(i64),
    /// `shard_like n`.
    Like(i64),
}

/// The meaning of a tile dimension that shards no dimension of the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Subgroup {
    /// The value is local to each device (manual).
    Manual,
    /// Each device holds a partial sum.
    Unreduced,
    /// Each device holds the full tile.
    Replicated,
}

impl Subgroup {
    /// Returns the keyword in XLA's text.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Subgroup::Manual => "manual",
            Subgroup::Unreduced => "unreduced",
            Subgroup::Replicated => "replicated",
        }
    }
}

/// A tile assignment.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Tiling {
    /// The number of tiles of each dimension of the value, then the number of devices of each subgroup.
    pub dims: Vec<i64>,
    /// The device at each position of an array of shape `dims`, row-major.
    pub devices: Devices,
    /// The kinds of the last dimensions, which are not dimensions of the value.
    pub subgroups: SmallVec<[Subgroup; 2]>,
}

/// An order of all devices.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Devices {
    /// `0..n` as an array of shape `reshape`, transposed by `perm`, row-major.
    Iota {
        /// The shape before the transposition.
        reshape: SmallVec<[i64; 4]>,
        /// For each dimension after the transposition, the dimension before it.
        perm: SmallVec<[usize; 4]>,
    },
    /// An explicit list of devices: a permutation of `0..n`.
    List(Vec<i64>),
}

/// A sharding by axes of a mesh (XLA: `NamedSharding`).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Named {
    /// Names and sizes of the axes, major to minor. Empty for a mesh of one device.
    pub axes: Vec<(Box<str>, i64)>,
    /// The devices in mesh order, unless they are `0..n`.
    pub devices: Option<Devices>,
    /// How the axes shard the value.
    pub value: NamedValue,
}

/// How the axes of a mesh shard a value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum NamedValue {
    /// Every device holds the full value.
    Replicated,
    /// The value is local to each device: all axes are manual.
    Manual,
    /// The value is unreduced along all axes.
    Unreduced,
    /// The mesh has one device, which has the value.
    Maximal,
    /// Some axes shard dimensions.
    Dims {
        /// The sharding of each dimension of the value.
        dims: Vec<DimSharding>,
        /// Explicitly replicated axes.
        replicated: AxisList,
        /// Axes along which the value is unreduced.
        unreduced: AxisList,
        /// Axes along which the value is local to each device.
        manual: AxisList,
    },
}

impl Devices {
    /// Returns the devices `0..n` in numeric order.
    #[must_use]
    pub fn iota(n: i64) -> Self {
        Devices::Iota { reshape: SmallVec::from_slice(&[n]), perm: SmallVec::from_slice(&[0]) }
    }

    /// Returns the iota of shape `reshape`, transposed by `perm` and written in its shortest form.
    #[must_use]
    pub fn transposed(reshape: &[i64], perm: &[usize]) -> Self {
        // In XLA's canonical form, dimensions of size 1 are dropped, and dimensions that stay adjacent are merged. `[1,4,2]T(0,1,2)`
        // is `[8]`, and `[2,2,2]T(2,0,1)` is `[4,2]T(1,0)`: 0 and 1 stay adjacent.
        let kept: Vec<usize> =
            perm.iter().copied().filter(|&d| reshape.get(d).is_some_and(|&n| n != 1)).collect();
        let mut runs: Vec<(usize, i64)> = Vec::new();
        let next = |d: usize| (d + 1..reshape.len()).find(|&e| reshape[e] != 1);
        let mut last = None;
        for d in kept {
            match runs.last_mut() {
                Some((_, size)) if last.and_then(next) == Some(d) => *size *= reshape[d],
                _ => runs.push((d, reshape[d])),
            }
            last = Some(d);
        }
        if runs.len() <= 1 {
            return Devices::iota(reshape.iter().product());
        }
        let mut order: Vec<usize> = (0..runs.len()).collect();
        order.sort_unstable_by_key(|&i| runs[i].0);
        let rank = |i: usize| order.iter().position(|&o| o == i).unwrap_or(0);
        Devices::Iota {
            reshape: order.iter().map(|&i| runs[i].1).collect(),
            perm: (0..runs.len()).map(rank).collect(),
        }
    }

    /// Returns the number of devices.
    #[must_use]
    pub fn count(&self) -> i64 {
        match self {
            Devices::Iota { reshape, .. } => reshape.iter().product(),
            Devices::List(list) => list.len() as i64,
        }
    }

    /// Returns the devices as an explicit list.
    #[must_use]
    pub fn list(&self) -> Vec<i64> {
        match self {
            Devices::List(list) => list.clone(),
            Devices::Iota { reshape, perm } => {
                let strides = digits::row_major(reshape);
                let digits: Vec<Digit> =
                    perm.iter().map(|&d| Digit { size: reshape[d], stride: strides[d] }).collect();
                digits::positions(&digits)
            }
        }
    }

    /// Whether the order is `0..n`.
    #[must_use]
    pub fn is_identity(&self) -> bool {
        match self {
            Devices::Iota { reshape, perm } => {
                matches!(Devices::transposed(reshape, perm), Devices::Iota { perm, .. } if perm.len() == 1)
            }
            Devices::List(list) => list.iter().enumerate().all(|(i, &d)| i as i64 == d),
        }
    }
}

/// Returns the device order that digits over `0..n` enumerate, as a reshaped and transposed iota.
pub(crate) fn to_devices(digits: &[Digit]) -> Devices {
    let mut order: Vec<usize> = (0..digits.len()).collect();
    order.sort_unstable_by_key(|&i| (std::cmp::Reverse(digits[i].stride), std::cmp::Reverse(digits[i].size)));
    let reshape: Vec<i64> = order.iter().map(|&i| digits[i].size).collect();
    let perm: Vec<usize> =
        (0..digits.len()).map(|i| order.iter().position(|&o| o == i).unwrap_or(0)).collect();
    if digits.is_empty() { Devices::iota(1) } else { Devices::transposed(&reshape, &perm) }
}

impl Tiling {
    /// Returns the number of dimensions of the value.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.dims.len() - self.subgroups.len()
    }

    /// Returns XLA's canonical form of the sharding:
    ///
    /// * Subgroups of one kind are merged, in the order manual, unreduced, replicated. Subgroups of one device are
    ///   dropped.
    /// * Devices that hold the same tile are in ascending order.
    /// * A sharding with one tile is replicated, manual or unreduced.
    #[must_use]
    pub fn canonical(self) -> LeafKind {
        let rank = self.rank();
        let Some(&first) = self.subgroups.first() else { return LeafKind::Tiled(self) };
        if self.subgroups.iter().all(|&s| s == first) && self.dims[..rank].iter().all(|&n| n == 1) {
            return match first {
                Subgroup::Manual => LeafKind::Manual,
                Subgroup::Unreduced => LeafKind::Unreduced,
                Subgroup::Replicated => LeafKind::Replicated,
            };
        }
        let mut order: Vec<usize> = (0..self.subgroups.len()).filter(|&i| self.dims[rank + i] != 1).collect();
        // The sort is stable: subgroups of the same kind are merged in the order in which they are written.
        order.sort_by_key(|&i| self.subgroups[i]);
        let mut subgroups: SmallVec<[Subgroup; 2]> = SmallVec::new();
        let mut dims: Vec<i64> = self.dims[..rank].to_vec();
        for &i in &order {
            if subgroups.last() == Some(&self.subgroups[i]) {
                if let Some(last) = dims.last_mut() {
                    *last *= self.dims[rank + i];
                }
            } else {
                subgroups.push(self.subgroups[i]);
                dims.push(self.dims[rank + i]);
            }
        }
        let perm: Vec<usize> = (0..rank).chain(order.iter().map(|i| rank + i)).collect();
        // Only replicated devices, which hold the same tile, may be sorted: their order has no meaning.
        let sorted = subgroups.last() == Some(&Subgroup::Replicated);
        let devices = self.reordered(&perm, sorted.then(|| dims.last().copied().unwrap_or(1)));
        let out = Tiling { dims, devices, subgroups };
        let rank = out.rank();
        match out.subgroups.as_slice() {
            // As in XLA, an `unreduced` subgroup that remains after merging is not simplified.
            [Subgroup::Manual] if out.dims[..rank].iter().all(|&n| n == 1) => LeafKind::Manual,
            [Subgroup::Replicated] if out.dims[..rank].iter().all(|&n| n == 1) => LeafKind::Replicated,
            _ => LeafKind::Tiled(out),
        }
    }

    /// Returns the devices after a transposition of the dimensions by `perm`. If `sorted` is `Some(n)`, each run of `n` consecutive devices
    /// is then sorted in ascending order.
    fn reordered(&self, perm: &[usize], sorted: Option<i64>) -> Devices {
        let identity = perm.iter().enumerate().all(|(i, &p)| i == p);
        if identity && sorted.is_none() {
            return self.devices.clone();
        }
        // An iota is converted to digits, if possible, so that a large assignment is never listed explicitly.
        if let Devices::Iota { reshape, perm: transpose } = &self.devices
            && let Some(mut digits) = digits::iota_digits(&self.dims, reshape, transpose)
        {
            let mut digits: Vec<Vec<Digit>> = perm.iter().map(|&d| std::mem::take(&mut digits[d])).collect();
            // The digits of the last dimensions, which enumerate the devices of one tile, are sorted together.
            let mut rest = sorted.unwrap_or(1);
            let mut tail = Vec::new();
            while rest > 1
                && let Some(list) = digits.pop()
            {
                rest /= list.iter().map(|d| d.size).product::<i64>().max(1);
                tail.extend(list);
            }
            tail.sort_unstable_by_key(|d| std::cmp::Reverse(d.stride));
            digits.push(tail);
            let flat: Vec<Digit> = digits.into_iter().flatten().collect();
            return to_devices(&flat);
        }
        let list = self.devices.list();
        let strides = digits::row_major(&self.dims);
        let digits: Vec<Digit> =
            perm.iter().map(|&d| Digit { size: self.dims[d], stride: strides[d] }).collect();
        let mut out: Vec<i64> =
            digits::positions(&digits).into_iter().filter_map(|p| list.get(p as usize).copied()).collect();
        if let Some(size) = sorted.and_then(|n| usize::try_from(n).ok()).filter(|&n| n > 0) {
            out.chunks_mut(size).for_each(<[i64]>::sort_unstable);
        }
        if out == list { self.devices.clone() } else { Devices::List(out) }
    }
}

impl Named {
    /// Returns the mesh that the sharding names, as a mesh of the IR.
    #[must_use]
    pub fn mesh(&self) -> Mesh {
        let mut mesh = Mesh::new(self.axes.iter().map(|(name, size)| (&**name, *size)));
        mesh.device_ids = self.devices.as_ref().map(Devices::list);
        mesh
    }
}

impl From<LeafKind> for HloSharding {
    fn from(kind: LeafKind) -> Self {
        HloSharding::Single(Leaf { kind, group: None })
    }
}

fn join(
    f: &mut fmt::Formatter<'_>,
    list: impl IntoIterator<Item = impl fmt::Display>,
    by: &str,
) -> fmt::Result {
    for (i, item) in list.into_iter().enumerate() {
        if i > 0 {
            f.write_str(by)?;
        }
        write!(f, "{item}")?;
    }
    Ok(())
}

impl fmt::Display for HloSharding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HloSharding::Single(leaf) => leaf.fmt(f),
            HloSharding::Tuple(leaves) => {
                f.write_str("{")?;
                for (i, leaf) in leaves.iter().enumerate() {
                    if i > 0 {
                        f.write_str(", ")?;
                        // XLA marks every fifth element with its index.
                        if i % 5 == 0 {
                            write!(f, "/*index={i}*/")?;
                        }
                    }
                    leaf.fmt(f)?;
                }
                f.write_str("}")
            }
        }
    }
}

impl fmt::Display for Leaf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{")?;
        match &self.kind {
            LeafKind::Replicated => f.write_str("replicated")?,
            LeafKind::Manual => f.write_str("manual")?,
            LeafKind::Unknown => f.write_str("unknown")?,
            LeafKind::Unreduced => f.write_str("unreduced")?,
            LeafKind::Maximal(device) => write!(f, "maximal device={device}")?,
            LeafKind::Tiled(tiling) => tiling.fmt(f)?,
            LeafKind::Named(named) => named.fmt(f)?,
        }
        match self.group {
            Some(ShardGroup::As(n)) => write!(f, " shard_as {n}")?,
            Some(ShardGroup::Like(n)) => write!(f, " shard_like {n}")?,
            None => {}
        }
        f.write_str("}")
    }
}

impl fmt::Display for Tiling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("devices=[")?;
        join(f, &self.dims, ",")?;
        f.write_str("]")?;
        match &self.devices {
            Devices::Iota { reshape, perm } => {
                f.write_str("<=")?;
                iota(f, reshape, perm)?;
            }
            Devices::List(list) => join(f, list, ",")?,
        }
        match self.subgroups.as_slice() {
            [] => Ok(()),
            [Subgroup::Replicated] => f.write_str(" last_tile_dim_replicate"),
            list => {
                f.write_str(" last_tile_dims={")?;
                join(f, list.iter().map(|s| s.as_str()), ", ")?;
                f.write_str("}")
            }
        }
    }
}

fn iota(f: &mut fmt::Formatter<'_>, reshape: &[i64], perm: &[usize]) -> fmt::Result {
    f.write_str("[")?;
    join(f, reshape, ",")?;
    f.write_str("]")?;
    if reshape.len() > 1 {
        f.write_str("T(")?;
        join(f, perm, ",")?;
        f.write_str(")")?;
    }
    Ok(())
}

impl Named {
    fn axis(&self, axis: AxisRef) -> String {
        let name = self.axes.get(usize::from(axis.axis)).map_or("?", |(name, _)| &**name);
        match axis.sub {
            Some(sub) => format!("'{name}':({}){}", sub.pre, sub.size),
            None => format!("'{name}'"),
        }
    }

    fn axes_text(&self, axes: &[AxisRef]) -> String {
        axes.iter().map(|&a| self.axis(a)).collect::<Vec<_>>().join(", ")
    }
}

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if matches!(self.value, NamedValue::Maximal) {
            let device = self.devices.as_ref().and_then(|d| d.list().first().copied()).unwrap_or(0);
            return write!(f, "maximal_mesh[device_id={device}]");
        }
        f.write_str("mesh[")?;
        join(f, self.axes.iter().map(|(name, size)| format!("'{name}'={size}")), ",")?;
        f.write_str("]")?;
        if let Some(devices) = &self.devices {
            f.write_str(", device_ids=(")?;
            match devices {
                Devices::Iota { reshape, perm } => iota(f, reshape, perm)?,
                Devices::List(list) => join(f, list, ",")?,
            }
            f.write_str(")")?;
        }
        match &self.value {
            NamedValue::Replicated => f.write_str(", replicated"),
            NamedValue::Manual => f.write_str(", manual"),
            NamedValue::Unreduced => f.write_str(", unreduced"),
            NamedValue::Maximal => Ok(()),
            NamedValue::Dims { dims, replicated, unreduced, manual } => {
                f.write_str(", [")?;
                join(
                    f,
                    dims.iter().map(|dim| {
                        let axes = self.axes_text(&dim.axes);
                        match (dim.open, axes.is_empty()) {
                            (true, true) => "{?}".to_owned(),
                            (true, false) => format!("{{{axes}, ?}}"),
                            (false, _) => format!("{{{axes}}}"),
                        }
                    }),
                    ", ",
                )?;
                f.write_str("]")?;
                for (name, axes) in [("replicated", replicated), ("unreduced", unreduced), ("manual", manual)]
                {
                    if !axes.is_empty() {
                        write!(f, ", {name}={{{}}}", self.axes_text(axes))?;
                    }
                }
                Ok(())
            }
        }
    }
}
