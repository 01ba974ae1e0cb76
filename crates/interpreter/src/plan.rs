//! Facts about a module that evaluation needs, computed once.

use rustc_hash::{FxHashMap, FxHashSet};
use shardc_ir::{EntityRef, Module, OpId, OpKind, RegionId, ValueId};
use smallvec::SmallVec;

/// The slot of a value without a use.
const UNUSED: u32 = u32::MAX;

/// The place of each value in the frame of its function, and the last uses of values, so that elements are freed, or changed in place, as
/// early as possible.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plan {
    /// For each operation, the values whose last use it is.
    last_uses: Vec<SmallVec<[ValueId; 2]>>,
    /// The slot of each value.
    slots: Vec<u32>,
    /// The number of slots of each function body.
    frames: FxHashMap<RegionId, usize>,
    /// Whether a value has a quantized type.
    has_quantized: bool,
    /// The number of devices of the first manual computation, or 1.
    devices: usize,
}

impl Plan {
    pub(crate) fn new(module: &Module) -> Plan {
        let mut plan = Plan {
            last_uses: vec![SmallVec::new(); module.ops.len()],
            slots: vec![UNUSED; module.values.len()],
            frames: FxHashMap::default(),
            devices: 1,
            has_quantized: module.values.keys().any(|value| module.is_quantized(value)),
        };
        for body in module.bodies() {
            let regions = module.regions_under(body);
            let ops = || regions.iter().flat_map(|&region| &module.regions[region].ops);
            if let Some(devices) = ops().find_map(|&op| manual_devices(module, op)) {
                plan.devices = devices;
            }
            for &region in &regions {
                plan.find_last_uses(module, region);
            }
            let mut next = 0;
            for op in ops() {
                for value in &module.ops[*op].operands {
                    if let Some(slot @ &mut UNUSED) = plan.slots.get_mut(value.index()) {
                        *slot = next;
                        next += 1;
                    }
                }
            }
            plan.frames.insert(body, next as usize);
        }
        plan
    }

    /// Finds the last use of each value that the region defines.
    fn find_last_uses(&mut self, module: &Module, region: RegionId) {
        let data = &module.regions[region];
        let mut own: FxHashSet<ValueId> = data.args.iter().copied().collect();
        own.extend(data.ops.iter().flat_map(|&op| module.ops[op].results.iter().copied()));
        for &op in data.ops.iter().rev() {
            let mut uses = module.ops[op].operands.to_vec();
            for &nested in &module.ops[op].regions {
                for inner in module.walk(nested) {
                    uses.extend(&module.ops[inner].operands);
                }
            }
            for value in uses {
                if own.remove(&value)
                    && let Some(last_uses) = self.last_uses.get_mut(op.index())
                {
                    last_uses.push(value);
                }
            }
        }
    }

    /// The values whose last use is an operation.
    pub(crate) fn last_uses(&self, op: OpId) -> &[ValueId] {
        self.last_uses.get(op.index()).map_or(&[], |values| values)
    }

    /// The place of a value in the frame of its function; `None` for a value without a use.
    pub(crate) fn slot(&self, value: ValueId) -> Option<usize> {
        self.slots.get(value.index()).filter(|&&slot| slot != UNUSED).map(|&slot| slot as usize)
    }

    /// The number of slots of the frame of a function body.
    pub(crate) fn frame_len(&self, body: RegionId) -> usize {
        self.frames.get(&body).copied().unwrap_or(0)
    }

    /// Whether a value of the module has a quantized type.
    pub(crate) fn has_quantized(&self) -> bool {
        self.has_quantized
    }

    /// The number of devices that a program on global values needs: those of its manual computations, or 1.
    pub(crate) fn devices(&self) -> usize {
        self.devices
    }
}

/// The number of devices of a manual computation.
fn manual_devices(module: &Module, op: OpId) -> Option<usize> {
    let OpKind::ManualComputation(spec) = &module.ops[op].kind else { return None };
    let &sharding = spec.in_shardings.first().or(spec.out_shardings.first())?;
    Some(module.meshes[module.shardings.get(sharding).mesh].num_devices())
}
