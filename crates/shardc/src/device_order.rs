//! The order of a target's devices in the mesh: axes along which much is sent get the fast links.

use indexmap::IndexMap;
use shardc_passes::cost::time::collective_traffic;
use shardc_passes::cost::traffic;
use shardc_target::{AxisTraffic, DeviceOrder, Target, best_order};

use crate::explain::axes_of_collective;
use crate::{Compiler, Error, Output, Propagated};

impl Compiler {
    /// Sets whether the devices of the target are assigned to the mesh so that collectives take the least time, as `create_device_mesh` of JAX
    /// does for a fixed importance of the axes. The program is partitioned twice: the first partition shows how much is sent along each axis.
    /// It needs a [target](Compiler::target) with as many devices as the mesh, and a mesh without explicit device ids.
    /// [`Output::device_order`] has the gain.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use shardc::Compiler;
    /// use shardc::target::Target;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// // The result is summed along "model", the minor axis; the devices of a host are the ones with fast links.
    /// let source = br#"
    ///   sdy.mesh @mesh = <["model"=2, "data"=8]>
    ///   func.func @main(
    ///       %x: tensor<64x8192xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {"model"}]>},
    ///       %w: tensor<8192x8192xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {}]>}) -> tensor<64x8192xf32> {
    ///     %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
    ///         : (tensor<64x8192xf32>, tensor<8192x8192xf32>) -> tensor<64x8192xf32>
    ///     return %0 : tensor<64x8192xf32>
    ///   }
    /// "#;
    /// let target: Target = "h100:2x8".parse()?;
    /// let output = Compiler::new().target(Arc::new(target)).best_device_order(true).partition(source)?;
    /// let order = output.device_order.ok_or("the order is not changed")?;
    /// assert!(order.after < order.before / 2.0);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn best_device_order(mut self, is_wanted: bool) -> Self {
        self.orders_devices = is_wanted;
        self
    }

    /// Returns the best order of the devices for an imported program, if it is faster than the ascending order.
    pub(crate) fn device_order(&self, imported: &Propagated) -> Result<Option<DeviceOrder>, Error> {
        let Some(target) = self.options.costs.target().filter(|_| self.orders_devices) else {
            return Ok(None);
        };
        if imported.module.meshes.values().any(|mesh| mesh.device_ids.is_some()) {
            return Ok(None);
        }
        let Some(output) = self.partition_imported(imported.clone(), &mut ())? else { return Ok(None) };
        Ok(order_for(&output, target).filter(|order| order.after < order.before))
    }
}

/// The best order of the devices for the collectives of a partition; `None` if the mesh has another number of devices than the target.
fn order_for(output: &Output, target: &Target) -> Option<DeviceOrder> {
    let mesh = &output.interface.mesh;
    let sizes: Option<Vec<u32>> = mesh.axes.values().map(|&n| u32::try_from(n).ok()).collect();
    best_order(target, &sizes?, &traffic_of(output))
}

/// The collectives of a partition by kind and axes.
fn traffic_of(output: &Output) -> Vec<AxisTraffic> {
    let mut rows: IndexMap<(usize, Vec<usize>), AxisTraffic> = IndexMap::new();
    for found in traffic::collectives(&output.module) {
        let Some((kind, bytes)) = collective_traffic(&output.module, found.op) else { continue };
        let names = axes_of_collective(output, found.op);
        let axes: Vec<usize> =
            names.iter().filter_map(|name| output.interface.mesh.axes.get_index_of(name.as_str())).collect();
        let row = rows.entry((kind as usize, axes.clone())).or_insert_with(|| AxisTraffic {
            axes: axes.into(),
            kind,
            count: 0.0,
            bytes: 0.0,
        });
        row.count += found.runs as f64;
        row.bytes += bytes * found.runs as f64;
    }
    rows.into_values().collect()
}

impl Propagated {
    /// Gives the devices of the program's meshes an order. Meshes with another number of devices stay as they are.
    pub(crate) fn order_devices(&mut self, order: &DeviceOrder) {
        let ids: Vec<i64> = order.devices.iter().map(|&id| id as i64).collect();
        for mesh in self.module.meshes.values_mut().filter(|mesh| mesh.num_devices() == ids.len()) {
            mesh.device_ids = Some(ids.clone());
        }
    }
}
