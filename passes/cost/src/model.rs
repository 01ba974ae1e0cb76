//! The cost model of planning. The unit is one byte that a device sends over its fastest link.
//!
//! Collectives are assumed to use the ring algorithm. Arithmetic and memory traffic are converted by the rates of the target. An accuracy
//! within a small factor is enough to choose between an all-gather and a rematerialization.

use std::borrow::Cow;
use std::sync::Arc;

use shardc_ir::{AxisRef, Mesh};
use shardc_target::{DeviceKind, Group, PlanningRates, Target, TargetSpec, find, usual};

/// The minimum saving for [`Costs::worth_exchanging`], in launches of a collective.
const LAUNCHES_TO_EXCHANGE: f64 = 256.0;

/// The number of mesh axes with an own factor in [`Costs`]. Later axes share the last factor.
const MAX_AXES: usize = 8;

/// The rates of a machine. [`CostModel::on`] gives the costs on a mesh.
#[derive(Clone, Debug)]
pub struct CostModel {
    rates: PlanningRates,
    /// The name of the kind of device.
    device: Cow<'static, str>,
    target: Option<Arc<Target>>,
}

impl Default for CostModel {
    /// The rates of the usual TPU.
    fn default() -> CostModel {
        CostModel::of_device(usual(DeviceKind::Tpu))
    }
}

impl CostModel {
    /// The rates of one kind of device, whose mesh axes all have links of the same bandwidth.
    #[must_use]
    pub fn of_device(device: &TargetSpec) -> CostModel {
        CostModel { rates: device.planning_rates(), device: device.name.clone(), target: None }
    }

    /// The rates of a target. Its grid determines the bandwidth of each mesh axis.
    #[must_use]
    pub fn of_target(target: Arc<Target>) -> CostModel {
        CostModel {
            rates: target.spec().planning_rates(),
            device: target.spec().name.clone(),
            target: Some(target),
        }
    }

    /// The name of the target, or else of the kind of device: `v5e:2x4`, `v5e`.
    #[must_use]
    pub fn name(&self) -> String {
        self.target.as_ref().map_or_else(|| self.device.to_string(), ToString::to_string)
    }

    /// The target, if it has this number of devices, or else a target of the same kind of device; `None` if there is none of this size.
    #[must_use]
    pub fn target_with(&self, devices: usize) -> Option<Arc<Target>> {
        let own = self.target.as_ref().filter(|target| target.num_devices() == devices);
        own.cloned().or_else(|| {
            let found = Target::with_devices(find(&self.device)?, u32::try_from(devices).ok()?);
            found.ok().map(Arc::new)
        })
    }

    /// The target whose grid determines the bandwidth of each mesh axis; `None` if all axes have the same.
    #[must_use]
    pub fn target(&self) -> Option<&Target> {
        self.target.as_deref()
    }

    /// Returns the costs without a mesh: all axes have the bandwidth of the fastest link.
    #[must_use]
    pub fn of_links(&self) -> Costs {
        Costs { rates: self.rates, ..Costs::default() }
    }

    /// Returns the costs on a mesh. All axes have the bandwidth of the fastest link, unless the target has as many devices as the mesh.
    #[must_use]
    pub fn on(&self, mesh: &Mesh) -> Costs {
        let mut costs = self.of_links();
        let Some(target) = self.target().filter(|target| target.num_devices() == mesh.num_devices()) else {
            return costs;
        };
        let bandwidths = bandwidths(target, mesh);
        let Some(fastest) = bandwidths.iter().copied().filter(|b| b.is_finite()).reduce(f64::max) else {
            return costs;
        };
        // An axis that is a ring, or several dimensions of a torus, is faster than one link. The unit is a byte sent over the fastest axis.
        let scale = fastest / target.spec().link().bandwidth;
        let PlanningRates { start, per_memory_byte, per_flop } = self.rates;
        costs.rates = PlanningRates {
            start: start * scale,
            per_memory_byte: per_memory_byte * scale,
            per_flop: per_flop * scale,
        };
        for (axis, bandwidth) in bandwidths.into_iter().enumerate() {
            let place = &mut costs.slowdowns[axis.min(MAX_AXES - 1)];
            *place = place.max(fastest / bandwidth);
        }
        costs
    }
}

/// Returns the bandwidth of each mesh axis; infinite for axes of size 1.
fn bandwidths(target: &Target, mesh: &Mesh) -> Vec<f64> {
    let along = |axis: usize| {
        let stride = mesh.stride(AxisRef::whole(axis)) as usize;
        let size = mesh.axis_size(AxisRef::whole(axis)) as usize;
        // All groups along an axis use the same links, so the group of the first device stands for all.
        Group::of(target, (0..size).map(|i| mesh.device_at(i * stride) as u64)).bandwidth()
    };
    (0..mesh.axes.len()).map(along).collect()
}

/// The costs of operations on a mesh.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Costs {
    rates: PlanningRates,
    /// The cost of one byte sent along each mesh axis.
    slowdowns: [f64; MAX_AXES],
    /// The cost of one byte that a collective sends.
    per_sent_byte: f64,
}

impl Default for Costs {
    /// The costs on TPU v5e, with the same links along all axes.
    fn default() -> Costs {
        Costs { rates: PlanningRates::default(), slowdowns: [1.0; MAX_AXES], per_sent_byte: 1.0 }
    }
}

impl Costs {
    /// Returns the costs of collectives along the mesh axes with these indices: the slowest axis decides.
    #[must_use]
    pub fn along(self, axes: impl IntoIterator<Item = u16>) -> Costs {
        let slowdowns = axes.into_iter().map(|axis| self.slowdowns[usize::from(axis).min(MAX_AXES - 1)]);
        Costs { per_sent_byte: slowdowns.fold(1.0, f64::max), ..self }
    }

    /// Returns the cost of the launch of a collective.
    #[must_use]
    pub fn start(self) -> f64 {
        self.rates.start
    }

    /// Returns the minimum saving for replacing one collective by all-to-alls before and after an operation: the cost of 256 launches, which
    /// is 4 MiB on TPU v5e. The single collective can be combined with others and overlap with computation, whereas all devices wait for each
    /// of up to three all-to-alls. Below this saving, the all-to-alls are slower on XLA's CPU devices and, by the compiler's own estimate, on
    /// TPUs.
    #[must_use]
    pub fn worth_exchanging(self) -> f64 {
        LAUNCHES_TO_EXCHANGE * self.start()
    }

    fn ring(self, bytes: f64, group: f64) -> f64 {
        self.sent(bytes * (group - 1.0) / group) + self.start()
    }

    /// Returns the cost of `bytes` that a device sends, without a launch.
    #[must_use]
    pub fn sent(self, bytes: f64) -> f64 {
        bytes * self.per_sent_byte
    }

    /// Returns the cost of an all-gather whose result has `bytes` on each device.
    #[must_use]
    pub fn all_gather(self, bytes: f64, group: f64) -> f64 {
        self.ring(bytes, group)
    }

    /// Returns the cost of a reduce-scatter of `bytes` on each device.
    #[must_use]
    pub fn reduce_scatter(self, bytes: f64, group: f64) -> f64 {
        self.ring(bytes, group)
    }

    /// Returns the cost of an all-reduce of `bytes` on each device.
    #[must_use]
    pub fn all_reduce(self, bytes: f64, group: f64) -> f64 {
        self.ring(2.0 * bytes, group)
    }

    /// Returns the cost of an all-to-all of `bytes` on each device.
    #[must_use]
    pub fn all_to_all(self, bytes: f64, group: f64) -> f64 {
        self.ring(bytes, group)
    }

    /// Returns the cost of a collective-permute of `bytes` on each device.
    #[must_use]
    pub fn permute(self, bytes: f64) -> f64 {
        self.sent(bytes) + self.start()
    }

    /// Returns the cost of a copy of `bytes` on the device.
    #[must_use]
    pub fn local_copy(self, bytes: f64) -> f64 {
        bytes * self.rates.per_memory_byte
    }

    /// Returns the cost of a computation with `flops` operations and `bytes` of operands and results.
    #[must_use]
    pub fn compute(self, flops: f64, bytes: f64) -> f64 {
        (flops * self.rates.per_flop).max(bytes * self.rates.per_memory_byte)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn costs(target: &str, axes: [(&str, i64); 2]) -> Costs {
        CostModel::of_target(Arc::new(target.parse().unwrap())).on(&Mesh::new(axes))
    }

    #[test]
    fn the_default_is_a_tpu_v5e() {
        let costs = Costs::default();
        assert!((costs.start() / (16.0 * 1024.0) - 1.0).abs() < 0.02, "{}", costs.start());
        assert!((costs.worth_exchanging() / f64::from(4 << 20) - 1.0).abs() < 0.02);
        assert_eq!(CostModel::default().on(&Mesh::new([("x", 8)])), costs);
    }

    #[test]
    fn an_axis_between_slices_is_slow() {
        let costs = costs("v5e:4x4:2", [("replica", 2), ("data", 16)]);
        let (outer, inner) = (costs.along([0]), costs.along([1]));
        // 16 chips are two lines of a torus: 90 GB/s. The data-center network has 3.125 GB/s.
        assert_eq!(inner.sent(1.0), 1.0);
        assert_eq!(outer.sent(1.0), 90.0 / 3.125);
        assert_eq!(costs.along([0, 1]).sent(1.0), outer.sent(1.0));
        assert_eq!(outer.start(), inner.start());
    }

    #[test]
    fn a_mesh_of_another_size_has_equal_links() {
        let costs = costs("v5e:4x4:2", [("x", 2), ("y", 4)]);
        assert_eq!(costs.along([0, 1]), CostModel::of_device(&shardc_target::V5E).of_links());
    }

    #[test]
    fn faster_memory_makes_copies_cheaper() {
        let of = |name| CostModel::of_device(shardc_target::find(name).unwrap()).of_links();
        assert!(of("cpu").local_copy(1.0) > of("v5e").local_copy(1.0));
        assert!(of("h100").start() > of("v5e").start());
    }
}
