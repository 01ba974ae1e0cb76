//! Conversion of XLA's `HloSharding` to an axis-based sharding.

use rustc_hash::FxHashMap;
use shardc_ir::{AxisList, AxisRef, DimSharding, Mesh, MeshId, Module, TensorSharding};

use super::hlo::{Leaf, LeafKind, Named, NamedValue, Subgroup, Tiling};
use super::tiles::{Order, axes_of, digits, subgroup_axes};

/// The meshes that imported shardings refer to.
#[derive(Debug)]
pub(super) struct MeshPlacement {
    /// The mesh of tile assignments, and of every sharding that names no mesh.
    pub(super) mesh: MeshId,
    order: Order,
    maximal: FxHashMap<i64, MeshId>,
}

/// An axis-based sharding; manual axes are listed separately.
#[derive(Clone, Debug)]
pub(super) struct Placed {
    /// The sharding without the manual axes, which are in `manual`.
    pub(super) sharding: TensorSharding,
    /// Axes along which the value is local to the device.
    pub(super) manual: AxisList,
}

/// Returns the sharding without `axes`: for manual axes, the sharding inside the manual computation.
pub(super) fn without(sharding: &TensorSharding, axes: &[AxisRef]) -> TensorSharding {
    let keep = |list: &AxisList| -> AxisList {
        list.iter().copied().filter(|a| !axes.iter().any(|other| other.axis == a.axis)).collect()
    };
    let mut out = sharding.clone();
    for dim in &mut out.dims {
        dim.axes = keep(&dim.axes);
    }
    out.unreduced = keep(&out.unreduced);
    out.replicated = keep(&out.replicated);
    out
}

impl MeshPlacement {
    pub(super) fn new(module: &Module, mesh: MeshId) -> MeshPlacement {
        let order = match &module.meshes[mesh].device_ids {
            // The list is a permutation: `home` took it from a tile assignment or compared it with the tile assignments.
            Some(devices) => Order::of(devices).unwrap_or(Order::IOTA),
            None => Order::IOTA,
        };
        MeshPlacement { mesh, order, maximal: FxHashMap::default() }
    }

    /// Converts the sharding of a value with `rank` dimensions. `open` lists the dimensions that propagation may shard further.
    ///
    /// # Errors
    /// Returns an error if the sharding has a different rank, or if its tiles do not fit its mesh.
    pub(super) fn place(
        &mut self,
        module: &mut Module,
        leaf: &Leaf,
        rank: usize,
        open: &dyn Fn(usize) -> bool,
    ) -> Result<Placed, String> {
        let bare = |mesh: MeshId, open: &dyn Fn(usize) -> bool| {
            let dims = (0..rank).map(|d| DimSharding { open: open(d), ..DimSharding::default() });
            TensorSharding::from_dims(mesh, dims)
        };
        let all = module.meshes[self.mesh].all_axes();
        let all = || AxisList::from_slice(&all);
        let placed = |sharding| Placed { sharding, manual: AxisList::new() };
        Ok(match &leaf.kind {
            LeafKind::Replicated => placed(bare(self.mesh, open)),
            LeafKind::Unknown => placed(bare(self.mesh, &|_| true)),
            LeafKind::Manual => Placed { sharding: bare(self.mesh, open), manual: all() },
            LeafKind::Unreduced => placed(TensorSharding { unreduced: all(), ..bare(self.mesh, open) }),
            // A maximal sharding lists no dimensions.
            LeafKind::Maximal(device) => {
                placed(TensorSharding::replicated(self.maximal_mesh(module, *device), 0))
            }
            LeafKind::Tiled(tiling) => self.tiled(&module.meshes[self.mesh], tiling, rank, open)?,
            LeafKind::Named(named) => self.named(module, named, rank, open)?,
        })
    }

    fn maximal_mesh(&mut self, module: &mut Module, device: i64) -> MeshId {
        *self.maximal.entry(device).or_insert_with(|| {
            let mesh = Mesh { device_ids: Some(vec![device]), ..Mesh::default() };
            let known = module.mesh_names.values().find(|&&id| module.meshes[id] == mesh);
            match known {
                Some(&id) => id,
                None => module.add_mesh(&free_name(module, &format!("maximal_mesh_{device}")), mesh),
            }
        })
    }

    fn tiled(
        &self,
        mesh: &Mesh,
        tiling: &Tiling,
        rank: usize,
        open: &dyn Fn(usize) -> bool,
    ) -> Result<Placed, String> {
        if tiling.rank() != rank {
            return Err(format!("it has {} dimensions, but the value has {rank}", tiling.rank()));
        }
        let unfit = || "its tiles do not fit the mesh".to_owned();
        let digits = digits(tiling, &self.order).ok_or_else(unfit)?;
        let dims = digits[..rank]
            .iter()
            .enumerate()
            .map(|(d, digits)| {
                Some(DimSharding { axes: axes_of(mesh, digits)?, open: open(d), priority: None })
            })
            .collect::<Option<Vec<_>>>()
            .ok_or_else(unfit)?;
        let of = |kind| subgroup_axes(mesh, tiling, &digits, kind).ok_or_else(unfit);
        let sharding = TensorSharding {
            unreduced: of(Subgroup::Unreduced)?,
            ..TensorSharding::from_dims(self.mesh, dims)
        };
        Ok(Placed { sharding, manual: of(Subgroup::Manual)? })
    }

    fn named(
        &mut self,
        module: &mut Module,
        named: &Named,
        rank: usize,
        open: &dyn Fn(usize) -> bool,
    ) -> Result<Placed, String> {
        if let (NamedValue::Maximal, Some(devices)) = (&named.value, &named.devices) {
            let device = devices.list().first().copied().unwrap_or(0);
            let kind = LeafKind::Maximal(device);
            return self.place(module, &Leaf { kind, group: None }, rank, open);
        }
        let mesh = add_mesh(module, named.mesh());
        let bare = || {
            let dims = (0..rank).map(|d| DimSharding { open: open(d), ..DimSharding::default() });
            TensorSharding::from_dims(mesh, dims)
        };
        let all = AxisList::from_slice(&module.meshes[mesh].all_axes());
        Ok(match &named.value {
            NamedValue::Replicated | NamedValue::Maximal => {
                Placed { sharding: bare(), manual: AxisList::new() }
            }
            NamedValue::Manual => Placed { sharding: bare(), manual: all },
            NamedValue::Unreduced => {
                Placed { sharding: TensorSharding { unreduced: all, ..bare() }, manual: AxisList::new() }
            }
            NamedValue::Dims { dims, replicated, unreduced, manual } => {
                if dims.len() != rank {
                    return Err(format!("it has {} dimensions, but the value has {rank}", dims.len()));
                }
                let dims = dims
                    .iter()
                    .enumerate()
                    .map(|(d, dim)| DimSharding { open: dim.open || open(d), ..dim.clone() });
                let sharding = TensorSharding {
                    replicated: replicated.clone(),
                    unreduced: unreduced.clone(),
                    ..TensorSharding::from_dims(mesh, dims)
                };
                Placed { sharding, manual: manual.clone() }
            }
        })
    }
}

/// Returns the mesh of the module that has the same axes and devices as `mesh`; adds `mesh` if there is none.
pub(super) fn add_mesh(module: &mut Module, mesh: Mesh) -> MeshId {
    // `==` would also compare the attributes of the mesh operation, which a mesh from a text does not have.
    let same = |other: &Mesh| other.axes.iter().eq(&mesh.axes) && other.device_ids == mesh.device_ids;
    match module.mesh_names.values().find(|&&id| same(&module.meshes[id])) {
        Some(&id) => id,
        None => module.add_mesh(&free_name(module, "mesh"), mesh),
    }
}

/// Returns `name`, with a number appended if it is already the symbol of a mesh or function.
pub(super) fn free_name(module: &Module, name: &str) -> String {
    let taken = |name: &str| module.mesh_names.contains_key(name) || module.func_names.contains_key(name);
    let numbered = (0..).map(|i| format!("{name}_{i}"));
    std::iter::once(name.to_owned()).chain(numbered).find(|name| !taken(name)).unwrap_or_default()
}
