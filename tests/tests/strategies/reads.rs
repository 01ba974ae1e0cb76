//! The uses of each parameter of a single-device step.
//!
//! The loss depends on the forward pass. Everything else that depends on the batch, and all other matmuls, are the backward pass. The rest
//! is the update, which reads a parameter in its stored sharding. A value that the forward pass computes from parameters and saves, such as
//! a concatenation of weights, is an activation.

use std::collections::{HashMap, HashSet};

use shardc_ir::{Module, OpId, OpKind, RegionId, ValueId};
use shardc_passes::propagate::DimensionClasses;
use shardc_passes::transforms::inline::inline_calls;
use shardc_strategy::{Role, Roles};

/// How a parameter is used.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Reads {
    pub(super) is_forwards: bool,
    pub(super) is_backwards: bool,
    /// Whether rows of the parameter are looked up; `is_multiplied` tells whether the parameter is an operand of a matmul.
    pub(super) is_looked_up: bool,
    pub(super) is_multiplied: bool,
    /// Bits of an element that the uses need: the narrowest type on the path to the widest use.
    pub(super) bits: u32,
}

impl Reads {
    /// Returns how often the parameter is all-gathered if it is freed between the forward and the backward pass.
    pub(super) fn times(self) -> f64 {
        f64::from(u8::from(self.is_forwards) + u8::from(self.is_backwards))
    }
}

/// The uses of each argument of a step.
pub(super) fn of(mut module: Module, roles: &Roles) -> Vec<Reads> {
    inline_calls(&mut module).unwrap();
    let func = module.entry().unwrap();
    let body = module.funcs[func].body.unwrap();
    let classes = DimensionClasses::of_func(&module, func).unwrap();
    let args = &module.regions[body].args;
    let batch = |i: usize| Some(*classes.of(args[i]).get(roles.arguments[i].batch_dim?)?);
    let batch: HashSet<u32> = roles.of(Role::Batch).filter_map(batch).collect();
    let has_examples = |value: &ValueId| classes.of(*value).iter().any(|class| batch.contains(class));
    let step = Step::of(&module, body, roles);
    let reads = |&arg: &ValueId| {
        let bits = |value| module.stored(value).unwrap().dtype.bits();
        let mut reads = Reads::default();
        let (mut forms, mut seen) = (vec![(arg, bits(arg))], HashSet::from([arg]));
        while let Some((value, narrowest)) = forms.pop() {
            for &op in step.users.get(&value).into_iter().flatten() {
                if let Some(others) = step.forms(&module, op, value) {
                    let new = others.into_iter().filter(|&form| seen.insert(form));
                    forms.extend(new.map(|form| (form, narrowest.min(bits(form)))));
                    continue;
                }
                let data = &module.ops[op];
                if step.forward.contains(&op) {
                    reads.is_forwards = true;
                } else if matches!(data.kind, OpKind::DotGeneral(_))
                    || data.operands.iter().chain(&data.results).any(has_examples)
                {
                    reads.is_backwards = true;
                } else {
                    continue;
                }
                let is_lookup = matches!(data.kind, OpKind::Gather(_));
                reads.is_looked_up |= is_lookup;
                reads.is_multiplied |= !is_lookup;
                reads.bits = reads.bits.max(narrowest);
            }
        }
        reads
    };
    args.iter().map(reads).collect()
}

/// The data flow of a step, including loops.
struct Step {
    users: HashMap<ValueId, Vec<OpId>>,
    /// The operations that the loss depends on.
    forward: HashSet<OpId>,
    /// Operations outside of loops that do not depend on the batch.
    of_weights_alone: HashSet<OpId>,
}

impl Step {
    fn of(module: &Module, body: RegionId, roles: &Roles) -> Step {
        let mut users: HashMap<ValueId, Vec<OpId>> = HashMap::new();
        for op in module.walk(body) {
            for &value in &module.ops[op].operands {
                users.entry(value).or_default().push(op);
            }
        }

        let end = module.terminator(body).unwrap();
        let mut forward: HashSet<OpId> = HashSet::new();
        let mut todo = vec![module.ops[end].operands[roles.loss.unwrap()]];
        while let Some(value) = todo.pop() {
            if let Some(op) = module.def_op(value).filter(|&op| forward.insert(op)) {
                forward.extend(inside(module, op));
                todo.extend(operands(module, op));
            }
        }

        let args = &module.regions[body].args;
        let mut of_examples: HashSet<ValueId> = roles.of(Role::Batch).map(|i| args[i]).collect();
        let mut of_weights_alone = HashSet::new();
        for &op in module.regions[body].ops.iter().filter(|&&op| op != end) {
            if operands(module, op).iter().any(|value| of_examples.contains(value)) {
                of_examples.extend(&module.ops[op].results);
            } else {
                of_weights_alone.insert(op);
            }
        }
        Step { users, forward, of_weights_alone }
    }

    /// Returns the values that `value` becomes by an operation that only forwards or reformats it: loop arguments, or results of
    /// conversions, reshapes and slices. An operation outside of the forward pass that depends on weights alone also counts. Returns `None`
    /// for other operations.
    fn forms(&self, module: &Module, op: OpId, value: ValueId) -> Option<Vec<ValueId>> {
        let data = &module.ops[op];
        let at = data.operands.iter().position(|&operand| operand == value)?;
        match data.kind {
            OpKind::While => Some(
                data.regions
                    .iter()
                    .filter_map(|&region| module.regions[region].args.get(at).copied())
                    .collect(),
            ),
            OpKind::Return => Some(vec![]),
            OpKind::OptimizationBarrier => Some(vec![data.results[at]]),
            OpKind::Convert | OpKind::Reshape | OpKind::Transpose { .. } | OpKind::BroadcastInDim { .. } => {
                Some(data.results.to_vec())
            }
            OpKind::DynamicSlice { .. } if at == 0 => Some(data.results.to_vec()),
            _ if self.forward.contains(&op) => None,
            _ => self.of_weights_alone.contains(&op).then(|| data.results.to_vec()),
        }
    }
}

/// The operands of an operation and of those in its regions.
fn operands(module: &Module, op: OpId) -> Vec<ValueId> {
    std::iter::once(op).chain(inside(module, op)).flat_map(|op| module.ops[op].operands.to_vec()).collect()
}

/// The operations in the regions of an operation.
fn inside(module: &Module, op: OpId) -> Vec<OpId> {
    module.ops[op].regions.iter().flat_map(|&region| module.walk(region)).collect()
}
