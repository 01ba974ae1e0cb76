//! The coordinates for which the body of a manual computation is executed.

use std::collections::BTreeMap;

use shardc_ir::{AxisRef, ManualSpec, Mesh, ReplicaGroups, TensorSharding};

use super::Scope;
use super::groups::positions;

/// The coordinates along the manual axes, numbered row-major. Free axes are not included: along them, the body is partitioned like any
/// other program.
#[derive(Clone, Debug)]
pub(super) struct ManualCoordinates {
    pub(super) mesh: Mesh,
    pub(super) scope: Scope,
    /// For each coordinate along the manual axes, the position of a device that represents it: the first device with this coordinate, whose
    /// coordinates along the free axes are zero.
    representatives: Vec<usize>,
}

impl ManualCoordinates {
    pub(super) fn new(mesh: Mesh, scope: Scope) -> ManualCoordinates {
        let count = usize::try_from(mesh.axes_size(&scope.axes)).unwrap_or(1);
        let mut representatives = vec![usize::MAX; count];
        for position in 0..mesh.num_devices() {
            let coordinate = mesh.linear_coordinate(position, &scope.axes) as usize;
            if let Some(place) = representatives.get_mut(coordinate) {
                *place = position.min(*place);
            }
        }
        ManualCoordinates { mesh, scope, representatives }
    }

    /// Returns the coordinates of the body of a nested manual computation. The inner coordinates that belong to one outer coordinate have
    /// consecutive numbers, since the nested computation's axes are minor.
    pub(super) fn enter(&self, spec: &ManualSpec) -> ManualCoordinates {
        ManualCoordinates::new(self.mesh.clone(), self.scope.enter(&self.mesh, spec))
    }

    pub(super) fn count(&self) -> usize {
        self.representatives.len()
    }

    /// Returns the ID of the device that represents a coordinate.
    pub(super) fn device(&self, coordinate: usize) -> i64 {
        self.mesh.device_at(self.representatives[coordinate])
    }

    /// Returns, for each dimension of a value at the boundary, the index of the block that a coordinate receives along
    /// the manual axes of the sharding.
    pub(super) fn block(&self, coordinate: usize, sharding: &TensorSharding) -> Vec<i64> {
        sharding.dims.iter().map(|dim| self.index_along(coordinate, &dim.axes)).collect()
    }

    /// Returns the row-major index of `coordinate` along those of `axes` that are manual.
    pub(super) fn index_along(&self, coordinate: usize, axes: &[AxisRef]) -> i64 {
        let manual: Vec<AxisRef> =
            axes.iter().copied().filter(|a| self.scope.axes.iter().any(|m| m.axis == a.axis)).collect();
        self.mesh.linear_coordinate(self.representatives[coordinate], &manual)
    }

    /// Returns each replica group as a list of coordinates: the number of each device's coordinate along the manual axes. The same groups
    /// repeat for each coordinate along the free axes, so only groups of the devices that represent a coordinate are returned.
    pub(super) fn groups(&self, groups: &ReplicaGroups) -> Vec<Vec<usize>> {
        let positions = positions(&self.mesh);
        let by_position: BTreeMap<usize, usize> = self
            .representatives
            .iter()
            .enumerate()
            .map(|(coordinate, &position)| (position, coordinate))
            .collect();
        let coordinate_of = |device: i64| {
            let position = positions.get(usize::try_from(device).ok()?)?;
            by_position.get(position).copied()
        };
        groups.iter().filter_map(|group| group.iter().map(coordinate_of).collect()).collect()
    }
}
