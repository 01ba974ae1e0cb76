//! Manual computations of the original: their bodies are programs for each device, on blocks of the operands.
//!
//! In the body, the values of the original have digits of the device, as those of a partitioned program have. The results are global again:
//! their digits of the device are blocks of the dimensions that the shardings of the results list.

use shardc_ir::{ManualSpec, OpId, ShardingId};

use super::induction::as_state;
use super::{Devices, Eval, OrStop, Stop};
use crate::terms::{DEVICE, Digit, Digits, View, push};

impl Eval<'_, '_> {
    pub(super) fn manual(&mut self, op: OpId, spec: &ManualSpec) -> Result<Vec<View>, Stop> {
        let module = self.module;
        let data = &module.ops[op];
        let body = data.regions[0];
        let Some(&first) = spec.in_shardings.iter().chain(&spec.out_shardings).next() else {
            return Stop::rule("a manual computation without shardings");
        };
        let mesh = &module.meshes[module.shardings.get(first).mesh];
        let ids = mesh.device_ids.clone().unwrap_or_default();
        let is_identity = ids.iter().zip(0..).all(|(&id, at)| id == at);
        let devices = Devices {
            count: mesh.num_devices() as u64,
            are_partitions: true,
            ids: if is_identity { Vec::new() } else { ids },
        };
        if self.devices.count != 1 && self.devices.count != devices.count {
            return Stop::rule("a manual computation on other devices");
        }
        let mut args = Vec::new();
        let operands = data.operands.iter().zip(&module.regions[body].args).zip(&spec.in_shardings);
        for ((&value, &arg), &sharding) in operands {
            let numbers = self.blocks_of(spec, sharding, &self.sizes(value), &self.sizes(arg))?;
            let view = self.value(value)?;
            args.push(view.moved(|slot| numbers.get(slot as usize).map(|number| &number[..])).or_stop()?);
        }
        let outer = std::mem::replace(&mut self.devices, devices);
        let found = self.region(body, args);
        self.devices = outer;
        let Some(&end) = module.regions[body].ops.last() else { return Stop::rule("a body without results") };
        let mut results = Vec::new();
        let locals = module.ops[end].operands.iter().zip(&data.results).zip(&spec.out_shardings);
        for (view, ((&local, &result), &sharding)) in found?.iter().zip(locals) {
            let numbers = self.blocks_of(spec, sharding, &self.sizes(result), &self.sizes(local))?;
            match as_state(view, &numbers, 0) {
                Some(view) => results.push(view),
                None => return Stop::rule("a result of a manual computation that differs between devices"),
            }
        }
        Ok(results)
    }

    /// The position in each global dimension, as digits of the device and of the local dimension.
    fn blocks_of(
        &self,
        spec: &ManualSpec,
        sharding: ShardingId,
        global: &[u64],
        local: &[u64],
    ) -> Result<Vec<Digits>, Stop> {
        let sharding = self.module.shardings.get(sharding);
        let mesh = &self.module.meshes[sharding.mesh];
        if !sharding.unreduced.is_empty() {
            return Stop::rule("a manual computation with partial results");
        }
        let mut numbers = Vec::new();
        for (dim, (&size, &own)) in (0u32..).zip(global.iter().zip(local)) {
            let axes = sharding.dims.get(dim as usize).map(|dim| &dim.axes[..]).unwrap_or_default();
            let mut number = Digits::new();
            let is_manual =
                |axis: &&shardc_ir::AxisRef| spec.manual_axes.iter().any(|manual| manual.axis == axis.axis);
            for &axis in axes.iter().filter(is_manual) {
                let (stride, size) = (mesh.stride(axis) as u64, mesh.axis_size(axis) as u64);
                push(&mut number, Digit { slot: DEVICE, stride, size });
            }
            push(&mut number, Digit::all(dim, own));
            if crate::terms::count(&number) != size {
                return Stop::rule("uneven blocks of a manual computation");
            }
            numbers.push(number);
        }
        Ok(numbers)
    }
}
