//! State that waits in host memory.
//!
//! Parameters and optimizer state are arguments and results in pinned host memory, as JAX writes it (`mhlo.memory_kind`). Each part
//! comes to the device before it is used: a parameter before it is gathered, again for the backward part if it is gathered again,
//! and again, with the optimizer's state, for its update; of a stack of layers the rows of one trip. What is next goes back.

use rustc_hash::{FxHashMap, FxHashSet};
use shardc_ir::{Attr, AttrDict, Build, CustomCallSpec, Module, OpId, OpKind, RegionId, Rewriter, ValueId};

use crate::stacked::Stacked;

/// Memory of the host that devices reach without the processor.
const HOST: &str = "pinned_host";
/// Memory of the device.
const DEVICE: &str = "device";
/// Of an argument or a result, the memory that it is in.
const MEMORY_KIND: &str = "mhlo.memory_kind";

/// Puts the arguments with these numbers, and the results with those, into host memory.
pub(super) fn offload(
    module: &mut Module,
    body: RegionId,
    stacked: &Stacked,
    arguments: &[usize],
    results: &[usize],
) {
    let Some(func) = module.entry() else { return };
    let func = &mut module.funcs[func];
    func.arg_attrs.resize(func.params.len(), AttrDict::new());
    func.res_attrs.resize(func.results.len(), AttrDict::new());
    for &i in arguments {
        func.arg_attrs[i].set(MEMORY_KIND, Attr::Str(HOST.into()));
    }
    for &i in results {
        func.res_attrs[i].set(MEMORY_KIND, Attr::Str(HOST.into()));
    }
    let at_host: FxHashSet<ValueId> = arguments.iter().map(|&i| module.regions[body].args[i]).collect();
    let mut walk = Walk { at_host, stacked, placed: FxHashMap::default(), results };
    let mut rw = Rewriter::new(module);
    walk.region(&mut rw, body, true);
}

/// What state comes to the device for, each time anew.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum For {
    /// The forward part.
    Use,
    /// The backward part, where it is gathered again. (XLA does not follow host memory through a barrier.)
    UseAgain,
    Update,
}

struct Walk<'a> {
    at_host: FxHashSet<ValueId>,
    stacked: &'a Stacked,
    /// What is on the device of an argument for each of its uses.
    placed: FxHashMap<(ValueId, For), ValueId>,
    results: &'a [usize],
}

impl Walk<'_> {
    fn region(&mut self, rw: &mut Rewriter<'_>, region: RegionId, is_body: bool) {
        rw.enter(region);
        while let Some(op) = rw.next_op() {
            match &rw.module.ops[op].kind {
                OpKind::Return if is_body => self.go_back(rw, op),
                OpKind::DynamicSlice { .. } if self.is_stack(rw.module.ops[op].operands[0]) => {
                    Self::rows(rw, op)
                }
                OpKind::While => {
                    self.come(rw, op, |walk, value| !walk.is_stack(value));
                    for inner in rw.module.ops[op].regions.clone() {
                        self.region(rw, inner, false);
                    }
                }
                _ => self.come(rw, op, |_, _| true),
            }
        }
    }

    /// Whether a value is an argument at the host of which loops take rows.
    fn is_stack(&self, value: ValueId) -> bool {
        let arg = self.stacked.origin(value);
        arg.is_some_and(|arg| self.at_host.contains(&arg) && self.stacked.has_rows(arg))
    }

    /// Brings what an operation reads of the host to the device.
    fn come(&mut self, rw: &mut Rewriter<'_>, op: OpId, may: impl Fn(&Self, ValueId) -> bool) {
        let used_for = match rw.module.ops[op].kind {
            OpKind::ShardingConstraint(_) | OpKind::Convert => For::Use,
            OpKind::OptimizationBarrier => For::UseAgain,
            _ => For::Update,
        };
        for (i, value) in rw.module.ops[op].operands.clone().into_iter().enumerate() {
            if !self.at_host.contains(&value) || !may(self, value) {
                continue;
            }
            let here = match self.placed.get(&(value, used_for)) {
                Some(&here) => here,
                None => {
                    let here = placed(rw, value, DEVICE);
                    self.placed.insert((value, used_for), here);
                    here
                }
            };
            rw.module.ops[op].operands[i] = here;
        }
    }

    /// Brings the rows of a stack to the device.
    fn rows(rw: &mut Rewriter<'_>, op: OpId) {
        let row = rw.module.ops[op].results[0];
        rw.keep();
        let here = placed(rw, row, DEVICE);
        rw.stand_for(row, here);
    }

    fn go_back(&mut self, rw: &mut Rewriter<'_>, end: OpId) {
        for &result in self.results {
            let Some(&value) = rw.module.ops[end].operands.get(result) else { continue };
            // What is returned as it came is there.
            if !self.at_host.contains(&value) {
                let there = placed(rw, value, HOST);
                rw.module.ops[end].operands[result] = there;
            }
        }
    }
}

/// A value in another memory.
fn placed(rw: &mut Rewriter<'_>, value: ValueId, memory: &str) -> ValueId {
    let mut call = CustomCallSpec { target: "annotate_device_placement".into(), ..CustomCallSpec::default() };
    call.props.set("has_side_effect", Attr::Bool(true));
    let ty = rw.module.values[value].ty;
    let placed = rw.op1(OpKind::CustomCall(Box::new(call)), &[value], ty);
    let mut attrs = AttrDict::new();
    attrs.set("_xla_buffer_placement", Attr::Str(memory.into()));
    if let Some(op) = rw.module.def_op(placed) {
        rw.module.ops[op].attrs.set_frontend(attrs);
    }
    placed
}
