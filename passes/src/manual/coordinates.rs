//! The coordinates at which the body of a manual computation runs.

use std::collections::BTreeMap;

use shardc_ir::{AxisRef, ManualSpec, Mesh, TensorSharding};

use super::Scope;
use super::groups::positions;

/// One lane for each coordinate along the manual axes. Free axes have none: along them the body is one program.
#[derive(Clone, Debug)]
pub(super) struct Lanes {
    pub(super) mesh: Mesh,
    pub(super) scope: Scope,
    /// A position in the mesh for each lane: that with the first free coordinate.
    places: Vec<usize>,
}

impl Lanes {
    pub(super) fn new(mesh: Mesh, scope: Scope) -> Lanes {
        let count = usize::try_from(mesh.axes_size(&scope.axes)).unwrap_or(1);
        let mut places = vec![usize::MAX; count];
        for position in 0..mesh.num_devices() {
            let lane = mesh.linear_coordinate(position, &scope.axes) as usize;
            if let Some(place) = places.get_mut(lane) {
                *place = position.min(*place);
            }
        }
        Lanes { mesh, scope, places }
    }

    /// The lanes of the body of a computation that stands in these; those of one lane follow each other.
    pub(super) fn enter(&self, spec: &ManualSpec) -> Lanes {
        Lanes::new(self.mesh.clone(), self.scope.enter(&self.mesh, spec))
    }

    pub(super) fn count(&self) -> usize {
        self.places.len()
    }

    /// The number of the device that stands for a lane.
    pub(super) fn device(&self, lane: usize) -> i64 {
        self.mesh.device_at(self.places[lane])
    }

    /// Which block of each dimension a lane has at a boundary, by the axes in it that are manual inside.
    pub(super) fn block(&self, lane: usize, sharding: &TensorSharding) -> Vec<i64> {
        sharding.dims.iter().map(|dim| self.coordinate(lane, &dim.axes)).collect()
    }

    /// The coordinate of a lane along those of `axes` that are manual.
    pub(super) fn coordinate(&self, lane: usize, axes: &[AxisRef]) -> i64 {
        let manual: Vec<AxisRef> =
            axes.iter().copied().filter(|a| self.scope.axes.iter().any(|m| m.axis == a.axis)).collect();
        self.mesh.linear_coordinate(self.places[lane], &manual)
    }

    /// The lanes of each group of devices, once for all free coordinates.
    pub(super) fn groups(&self, groups: &[Vec<i64>]) -> Vec<Vec<usize>> {
        let positions = positions(&self.mesh);
        let lanes: BTreeMap<usize, usize> =
            self.places.iter().enumerate().map(|(lane, &position)| (position, lane)).collect();
        let lane_of = |&device: &i64| {
            let position = positions.get(usize::try_from(device).ok()?)?;
            lanes.get(position).copied()
        };
        groups.iter().filter_map(|group| group.iter().map(lane_of).collect()).collect()
    }
}
