//! Meshes with axes of prime sizes, along which shardings of meshes with other axes or device orders can be written.

use indexmap::IndexMap;
use shardc_ir::{AxisRef, Mesh, TensorSharding};

/// A mesh in which each axis is split into axes of prime sizes, with the same device at each position.
#[derive(Clone, Debug)]
pub struct RefinedMesh {
    mesh: Mesh,
}

impl RefinedMesh {
    /// Splits the axes of a mesh: `"x"=4, "y"=2` becomes `"x_0"=2, "x_1"=2, "y"=2`.
    #[must_use]
    pub fn of(mesh: &Mesh) -> RefinedMesh {
        let mut axes: IndexMap<Box<str>, i64> = IndexMap::new();
        for (name, &size) in &mesh.axes {
            let primes = primes(size);
            let is_split = primes.len() > 1;
            for (i, prime) in primes.into_iter().enumerate() {
                let mut part = if is_split { format!("{name}_{i}") } else { name.to_string() };
                while axes.contains_key(part.as_str()) || (is_split && mesh.axes.contains_key(part.as_str()))
                {
                    part.push('_');
                }
                axes.insert(part.into(), prime);
            }
        }
        RefinedMesh { mesh: Mesh { axes, ..mesh.clone() } }
    }

    /// The mesh.
    #[must_use]
    pub fn mesh(&self) -> &Mesh {
        &self.mesh
    }

    /// Writes a sharding on a mesh of the same devices as a sharding on this one: the axes of each dimension, major to minor, then those along which
    /// the tensor is unreduced. Returns `None` if the blocks of the devices are not those of any axes.
    #[must_use]
    pub fn axes_of(&self, sharding: &TensorSharding, on: &Mesh) -> Option<(Vec<Vec<AxisRef>>, Vec<AxisRef>)> {
        let devices = self.mesh.num_devices();
        let mut position_of = vec![None; devices];
        for position in 0..devices {
            *position_of.get_mut(usize::try_from(on.device_at(position)).ok()?)? = Some(position);
        }
        let axes = |axes: &[AxisRef]| {
            let block = |position| {
                let device = usize::try_from(self.mesh.device_at(position)).ok()?;
                Some(on.linear_coordinate((*position_of.get(device)?)?, axes))
            };
            self.axes_with((0..devices).map(block).collect::<Option<Vec<i64>>>()?)
        };
        let dims = sharding.dims.iter().map(|dim| axes(&dim.axes)).collect::<Option<_>>()?;
        Some((dims, axes(&sharding.unreduced)?))
    }

    /// The axes, major to minor, along which a dimension is sharded, if `blocks` has its block at each position.
    fn axes_with(&self, blocks: Vec<i64>) -> Option<Vec<AxisRef>> {
        // A step along an axis changes the block by the product of the sizes of the more minor axes.
        let mut steps: Vec<(i64, AxisRef)> = self
            .mesh
            .all_axes()
            .into_iter()
            .filter(|&axis| self.mesh.axis_size(axis) > 1)
            .filter_map(|axis| Some((*blocks.get(usize::try_from(self.mesh.stride(axis)).ok()?)?, axis)))
            .filter(|(step, _)| *step != 0)
            .collect();
        steps.sort_unstable_by_key(|(step, _)| std::cmp::Reverse(*step));
        let axes: Vec<AxisRef> = steps.into_iter().map(|(_, axis)| axis).collect();
        let is_same = |(position, &block)| self.mesh.linear_coordinate(position, &axes) == block;
        blocks.iter().enumerate().all(is_same).then_some(axes)
    }
}

/// The prime factors of a size, in ascending order; those of 1 are 1.
fn primes(size: i64) -> Vec<i64> {
    let (mut rest, mut found, mut factor) = (size, Vec::new(), 2);
    while factor * factor <= rest {
        while rest % factor == 0 {
            found.push(factor);
            rest /= factor;
        }
        factor += 1;
    }
    if rest > 1 || found.is_empty() {
        found.push(rest);
    }
    found
}

#[cfg(test)]
mod tests {
    use shardc_ir::{DimSharding, EntityRef, MeshId, SubAxis};

    use super::*;

    fn sharding(dims: &[&[AxisRef]]) -> TensorSharding {
        TensorSharding::from_dims(MeshId::new(0), dims.iter().map(|axes| DimSharding::closed(axes)))
    }

    fn names(refined: &RefinedMesh, axes: &[AxisRef]) -> Vec<String> {
        axes.iter().map(|&axis| refined.mesh().axis_text(axis)).collect()
    }

    #[test]
    fn parts_of_axes_become_axes() {
        let mesh = Mesh::new([("x", 4), ("y", 2)]);
        let refined = RefinedMesh::of(&mesh);
        let minor = AxisRef { axis: 0, sub: Some(SubAxis { pre: 2, size: 2 }) };
        let (dims, _) = refined.axes_of(&sharding(&[&[AxisRef::whole(1), minor], &[]]), &mesh).unwrap();
        assert_eq!(names(&refined, &dims[0]), ["y", "x_1"]);
        assert!(dims[1].is_empty());
    }

    #[test]
    fn transposed_devices_are_other_axes() {
        let refined = RefinedMesh::of(&Mesh::new([("x", 2), ("y", 4)]));
        let transposed =
            Mesh { device_ids: Some(vec![0, 4, 1, 5, 2, 6, 3, 7]), ..Mesh::new([("a", 4), ("b", 2)]) };
        let (dims, _) =
            refined.axes_of(&sharding(&[&[AxisRef::whole(0)], &[AxisRef::whole(1)]]), &transposed).unwrap();
        assert_eq!(
            (names(&refined, &dims[0]), names(&refined, &dims[1])),
            (vec!["y_0".into(), "y_1".into()], vec!["x".to_owned()])
        );
    }

    #[test]
    fn rotated_devices_are_no_axes() {
        let refined = RefinedMesh::of(&Mesh::new([("x", 4)]));
        let rotated = Mesh { device_ids: Some(vec![1, 2, 3, 0]), ..Mesh::new([("x", 4)]) };
        assert!(refined.axes_of(&sharding(&[&[AxisRef::whole(0)]]), &rotated).is_none());
    }

    #[test]
    fn names_of_parts_are_free() {
        let refined = RefinedMesh::of(&Mesh::new([("x", 6), ("x_0", 2)]));
        assert_eq!(
            refined.mesh().axes.keys().map(|name| &**name).collect::<Vec<_>>(),
            ["x_0_", "x_1", "x_0"]
        );
    }
}
