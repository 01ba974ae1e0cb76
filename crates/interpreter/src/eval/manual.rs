//! `sdy.manual_computation` in a program on global values.
//!
//! Every device of the mesh runs the program, and has all global values. A device takes its shard of each operand along the manual axes,
//! evaluates the body, and meets the devices that differ from it only in manual axes. Their results together are the global results.

use shardc_ir::{AxisList, AxisRef, ManualSpec, Mesh, OpId, ShardingId, TensorSharding};

use super::frame::Frame;
use super::{Device, Stop, Values, arrays};
use crate::array::{Array, Dims, View};
use crate::error::Fault;
use crate::kernels::moves::{block, write};
use crate::numbers::Domain;
use crate::value::Value;

/// The manual axes of each dimension.
fn manual_axes(sharding: &TensorSharding, rank: usize, manual: &[AxisRef]) -> Vec<AxisList> {
    let is_manual = |axis: &AxisRef| {
        manual.iter().any(|own| own.axis == axis.axis && (own.sub.is_none() || own.sub == axis.sub))
    };
    (0..rank).map(|dim| sharding.axes(dim).iter().copied().filter(is_manual).collect()).collect()
}

impl<D: Domain> Device<'_, '_, D> {
    pub(super) fn manual(
        &self,
        op: OpId,
        spec: &ManualSpec,
        operands: Values<D>,
        frame: &mut Frame<'_, D>,
    ) -> Result<Values<D>, Stop> {
        let first = spec.in_shardings.first().or(spec.out_shardings.first());
        let Some(&first) = first else { return self.nested(op, operands, frame) };
        let mesh = &self.module.meshes[self.module.shardings.get(first).mesh];
        let devices = mesh.num_devices();
        if devices != self.grid.devices() {
            let text = format!("a computation on {devices} devices, but {} run", self.grid.devices());
            return Err(Fault::Invalid(text).into());
        }
        let own = self.position(mesh, self.id)?;
        let local = |(value, &sharding): (Value<D>, &ShardingId)| -> Result<Value<D>, Fault> {
            let mut array = value.into_array()?;
            let axes = manual_axes(self.module.shardings.get(sharding), array.rank(), &spec.manual_axes);
            for (dim, axes) in axes.iter().enumerate() {
                array = block(&array, dim, shard(mesh, own, axes), shards(mesh, axes))?;
            }
            Ok(Value::Array(array))
        };
        let args = operands.into_iter().zip(&spec.in_shardings).map(local).collect::<Result<_, Fault>>()?;
        let results = arrays(self.nested(op, args, frame)?)?;
        let groups = mesh.replica_groups(&spec.manual_axes);
        let missing = || Fault::Invalid("the device is not in the mesh".to_owned());
        let (group, place) = groups.place_of(self.id as i64).ok_or_else(missing)?;
        let members: Vec<usize> =
            groups.get(group).into_iter().flatten().filter_map(|id| usize::try_from(id).ok()).collect();
        let gathered = self.meeting.meet(self.room(op, group), place, members.len(), results)?;
        let global = |(index, &sharding): (usize, &ShardingId)| -> Result<Value<D>, Fault> {
            let sharding = self.module.shardings.get(sharding);
            if !sharding.unreduced.is_empty() {
                return Fault::unsupported("an unreduced result of a manual computation");
            }
            let parts: Vec<&Array<D>> =
                gathered.operands.iter().filter_map(|results| results.get(index)).collect();
            let Some(first) = parts.first() else { return Fault::invalid("a computation without results") };
            let axes = manual_axes(sharding, first.rank(), &spec.manual_axes);
            let sizes = first.dims().iter().zip(&axes);
            let dims: Dims = sizes.map(|(&size, axes)| size * shards(mesh, axes)).collect();
            self.charge_result(&dims, first.dtype())?;
            let mut out = Array::full(dims.clone(), first.dtype(), 0.0)?;
            for (part, &member) in parts.iter().zip(&members) {
                let position = self.position(mesh, member)?;
                let mut view = View::whole(&dims);
                view.dims = Dims::from_slice(part.dims());
                for (dim, axes) in axes.iter().enumerate() {
                    let start = shard(mesh, position, axes) * part.dims()[dim];
                    view.offset += view.strides[dim] * start as isize;
                }
                write(&mut out, &view, part)?;
            }
            Ok(Value::Array(out))
        };
        Ok(spec.out_shardings.iter().enumerate().map(global).collect::<Result<_, Fault>>()?)
    }

    /// The position of a device in a mesh.
    fn position(&self, mesh: &Mesh, device: usize) -> Result<usize, Fault> {
        let position = (0..mesh.num_devices()).find(|&at| usize::try_from(mesh.device_at(at)) == Ok(device));
        position.ok_or_else(|| Fault::Invalid(format!("device {device} is not in the mesh")))
    }
}

/// The number of shards along axes.
fn shards(mesh: &Mesh, axes: &[AxisRef]) -> usize {
    usize::try_from(mesh.axes_size(axes)).unwrap_or(1)
}

/// The number of the shard of a position along axes.
fn shard(mesh: &Mesh, position: usize, axes: &[AxisRef]) -> usize {
    usize::try_from(mesh.linear_coordinate(position, axes)).unwrap_or(0)
}
