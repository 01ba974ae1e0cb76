//! Exact equivalence relations over devices, computed for each device individually. Each collective takes time and memory proportional to
//! the number of devices.

use std::rc::Rc;

use rustc_hash::FxHashMap;
use shardc_ir::{AxisRef, Mesh, Module, OpId, ReplicaGroups, ValueId};

use super::agreement::{Agreement, Agreements};
use super::relations::Relations;
use crate::analysis::device_scalars::{PerDevice, evaluate};

/// Relations that list the equivalence class of each device.
pub(super) struct Enumerated {
    devices: usize,
    agreements: Agreements,
}

impl Enumerated {
    pub(super) fn new(devices: usize) -> Enumerated {
        Enumerated { devices, agreements: Agreements::new(devices) }
    }

    /// Returns the equivalence class of each device.
    #[cfg(test)]
    pub(super) fn classes(&self, a: Agreement) -> &[u32] {
        self.agreements.classes(a)
    }
}

impl Relations for Enumerated {
    type Number = PerDevice;

    fn apart(&self) -> Agreement {
        Agreement::APART
    }

    fn refine(&mut self, a: Agreement, b: Agreement) -> Agreement {
        self.agreements.refine(a, b)
    }

    fn blocks(&mut self, mesh: &Mesh, axes: &[AxisRef]) -> Agreement {
        let mut blocks = vec![None; self.devices];
        for position in 0..mesh.num_devices() {
            let device = usize::try_from(mesh.device_at(position)).ok();
            if let Some(block) = device.and_then(|device| blocks.get_mut(device)) {
                *block = Some(mesh.linear_coordinate(position, axes));
            }
        }
        self.agreements.by_key(blocks)
    }

    fn exchange(&mut self, groups: &ReplicaGroups, before: Agreement, by_place: bool) -> Agreement {
        let classes = self.agreements.classes(before);
        // Numbers the lists of equivalence classes that the members of a group have, so that groups with equal values get the same number.
        // Devices in no group get 0. Large groups are few, so the numbering is cheap.
        let mut numbers: FxHashMap<Vec<u32>, usize> = FxHashMap::default();
        let mut keys: Vec<(usize, usize)> = vec![(0, 0); self.devices];
        for group in groups.iter() {
            let members: Vec<usize> = group.iter().filter_map(|d| usize::try_from(d).ok()).collect();
            let held: Vec<u32> = members.iter().filter_map(|&d| classes.get(d).copied()).collect();
            let next = numbers.len() + 1;
            let number = *numbers.entry(held).or_insert(next);
            for (place, &device) in members.iter().enumerate() {
                if let Some(key) = keys.get_mut(device) {
                    *key = (number, if by_place { place } else { 0 });
                }
            }
        }
        self.agreements.by_key(keys)
    }

    fn permute(&mut self, pairs: &ReplicaGroups, before: Agreement) -> Agreement {
        let classes = self.agreements.classes(before);
        let mut keys: Vec<Option<u32>> = vec![None; self.devices];
        for pair in pairs.iter() {
            let Some((source, target)) = pair.pair() else { continue };
            let held = usize::try_from(source).ok().and_then(|d| classes.get(d).copied());
            if let Some(key) = usize::try_from(target).ok().and_then(|d| keys.get_mut(d)) {
                *key = held;
            }
        }
        self.agreements.by_key(keys)
    }

    fn divergence(&self, groups: &ReplicaGroups, control: Agreement) -> Option<(i64, i64)> {
        let classes = self.agreements.classes(control);
        let class = |device: i64| usize::try_from(device).ok().and_then(|d| classes.get(d));
        groups.iter().find_map(|group| {
            let first = group.first()?;
            let other = group.iter().find(|&d| d >= 0 && class(d) != class(first))?;
            Some((first, other))
        })
    }

    fn own_number(&mut self, along: Option<(&Mesh, &[AxisRef])>) -> (Agreement, Option<PerDevice>) {
        let mut numbers: Vec<i64> = (0..self.devices as i64).collect();
        if let Some((mesh, axes)) = along {
            let mut first: FxHashMap<i64, i64> = FxHashMap::default();
            for position in 0..mesh.num_devices() {
                let device = mesh.device_at(position);
                let number = *first.entry(mesh.linear_coordinate(position, axes)).or_insert(device);
                if let Some(slot) = usize::try_from(device).ok().and_then(|d| numbers.get_mut(d)) {
                    *slot = number;
                }
            }
        }
        let numbers: PerDevice = numbers.into();
        (self.agreements.by_key(numbers.iter()), Some(numbers))
    }

    fn evaluate(
        &mut self,
        module: &Module,
        op: OpId,
        known: &dyn Fn(ValueId) -> Option<PerDevice>,
    ) -> Option<(Agreement, PerDevice)> {
        let number = evaluate(module, op, self.devices, known)?;
        Some((self.agreements.by_key(number.iter()), Rc::clone(&number)))
    }
}
