//! Rematerializes values of a partitioned program, to measure what that costs and saves.
//!
//! ```text
//! %0 = exponential %a                 %0 = exponential %a
//! %1 = f %0                           %1 = f %0
//! ...                                 ...
//!                                     %2 = exponential %a
//! %3 = g %0, %1                       %3 = g %2, %1
//! ```

use std::collections::{HashMap, HashSet};

use shardc_ir::rewrite::{ValueMap, clone_op};
use shardc_ir::{Module, OpId, OpKind, ValueDef, ValueId};
use shardc_passes::transforms::dce::dce;

use super::classes::is_collective;

/// The limit on operations that are executed again for one value.
const EXECUTED_AGAIN: usize = 64;

/// Rematerializes `values` before their first use after the longest time without a use. Values that are not in `live` are rematerialized for
/// this too, unless a collective or a loop produces them. Returns the changed program, or `None` if no value can be rematerialized.
pub(super) fn rematerialize(module: &Module, values: &[ValueId], live: &HashSet<ValueId>) -> Option<Module> {
    let body = module.funcs[module.entry()?].body?;
    let ops = &module.regions[body].ops;
    let position: HashMap<OpId, usize> = ops.iter().enumerate().map(|(at, &op)| (op, at)).collect();
    let mut kept = live.clone();
    kept.retain(|value| !values.contains(value));
    let region = Region { module, position: &position, kept: &kept };
    let uses = module.uses();
    let mut changed = module.clone();
    let mut inserted: Vec<(usize, Vec<OpId>)> = Vec::new();
    for &value in values {
        let users: Option<Vec<usize>> =
            uses.of(value).iter().map(|(op, _)| position.get(op).copied()).collect();
        let (Some(users), Some(again)) = (users, region.executed_again(value)) else { continue };
        let Some(at) = region.after_gap(value, &users) else { continue };
        let mut map = ValueMap::new();
        let copies = again.into_iter().map(|op| clone_op(&mut changed, op, &mut map)).collect();
        for user in users.into_iter().filter(|&user| user >= at) {
            for operand in changed.ops[ops[user]].operands.iter_mut().filter(|operand| **operand == value) {
                *operand = map.get(value);
            }
        }
        inserted.push((at, copies));
    }
    if inserted.is_empty() {
        return None;
    }
    inserted.sort_by_key(|&(at, _)| at);
    let mut inserted = inserted.into_iter().peekable();
    let mut all = Vec::new();
    for (at, &op) in ops.iter().enumerate() {
        while let Some((_, copies)) = inserted.next_if(|&(before, _)| before == at) {
            all.extend(copies);
        }
        all.push(op);
    }
    changed.set_ops(body, all);
    dce(&mut changed, body);
    Some(changed)
}

/// The operations of the entry function.
#[derive(Clone, Copy)]
struct Region<'a> {
    module: &'a Module,
    position: &'a HashMap<OpId, usize>,
    /// The values that are live at the memory peak anyway.
    kept: &'a HashSet<ValueId>,
}

impl Region<'_> {
    /// The operations that produce a value again, in program order; `None` if they are too many, or cannot be executed again.
    fn executed_again(&self, value: ValueId) -> Option<Vec<OpId>> {
        let mut again: HashSet<OpId> = HashSet::new();
        let mut todo = vec![self.producer(value).filter(|&op| self.can_run_again(op))?];
        while let Some(op) = todo.pop() {
            if !again.insert(op) {
                continue;
            }
            let operands = self.module.ops[op].operands.iter().filter(|value| !self.kept.contains(value));
            todo.extend(
                operands.filter_map(|&value| self.producer(value)).filter(|&op| self.can_run_again(op)),
            );
        }
        let mut again: Vec<OpId> = again.into_iter().collect();
        again.sort_by_key(|op| self.position.get(op));
        (again.len() <= EXECUTED_AGAIN).then_some(again)
    }

    /// The operation of this region that produces a value.
    fn producer(&self, value: ValueId) -> Option<OpId> {
        match self.module.values[value].def() {
            ValueDef::Result(op, _) => self.position.contains_key(&op).then_some(op),
            ValueDef::Arg(..) => None,
        }
    }

    fn can_run_again(&self, op: OpId) -> bool {
        let data = &self.module.ops[op];
        self.module.is_pure(data)
            && !is_collective(data.kind.name())
            && !matches!(data.kind, OpKind::While | OpKind::Case | OpKind::If)
    }

    /// The first user after the longest time in which no operation uses a value, unless that is the time before its first use.
    fn after_gap(&self, value: ValueId, users: &[usize]) -> Option<usize> {
        let made = *self.position.get(&self.producer(value)?)?;
        let mut times: Vec<usize> = users.iter().copied().chain([made]).collect();
        times.sort_unstable();
        let gaps = times.windows(2).map(|pair| (pair[1] - pair[0], pair[1]));
        gaps.max_by_key(|&(length, _)| length).map(|(_, after)| after)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Compiler;

    #[test]
    fn a_value_is_computed_again_before_its_late_use() {
        let text = "func.func @main(%x: tensor<16x16xf32>) -> tensor<16x16xf32> {
            %0 = stablehlo.tanh %x : tensor<16x16xf32>
            %1 = stablehlo.exponential %0 : tensor<16x16xf32>
            %2 = stablehlo.cosine %1 : tensor<16x16xf32>
            %3 = stablehlo.cosine %2 : tensor<16x16xf32>
            %4 = stablehlo.cosine %3 : tensor<16x16xf32>
            %5 = stablehlo.add %4, %1 : tensor<16x16xf32>
            return %5 : tensor<16x16xf32> }";
        let module = Compiler::read(text.as_bytes()).unwrap();
        let body = module.funcs[module.entry().unwrap()].body.unwrap();
        let value = |at: usize| module.ops[module.regions[body].ops[at]].results[0];
        let kinds = |live: &[usize]| {
            let live: HashSet<ValueId> = live.iter().map(|&at| value(at)).collect();
            let changed = rematerialize(&module, &[value(1)], &live).unwrap();
            let ops = changed.regions[body].ops.iter().map(|&op| changed.ops[op].kind.name().to_owned());
            ops.map(|name| name.replace("stablehlo.", "")).collect::<Vec<_>>().join(" ")
        };
        // If its operand is not live, it is computed again, too.
        assert_eq!(kinds(&[1]), "tanh exponential cosine cosine cosine tanh exponential add return");
        assert_eq!(kinds(&[0, 1]), "tanh exponential cosine cosine cosine exponential add return");
    }
}
