//! CPU offload: parameters and optimizer state in host memory.
//!
//! Parameters and optimizer state are arguments and results in pinned host memory, in JAX's notation (`mhlo.memory_kind`). Each shard is
//! copied to the device before its use. A parameter is copied before its all-gather, again if the backward pass rematerializes the
//! all-gather, and again, together with the optimizer state, for its update. For a stack of layers only the rows of one iteration are
//! copied. The next values are copied back.
//!
//! State that is [small](SMALL) relative to the rest stays on the device. Stacks whose rows libtpu 0.0.51 cannot slice on the host
//! also stay on the device: rows that are vectors of elements narrower than 32 bits, such as `ui8` block scales ("Sublane slicing size
//! must be multiple of element packing factor"). libtpu also fails to compile programs that slice rows smaller than a tile, because it
//! confuses two layouts of different sizes.

use rustc_hash::{FxHashMap, FxHashSet};
use shardc_ir::discardable::MEMORY_KIND;
use shardc_ir::{
    Attr, AttrDict, Build, CustomCallSpec, FuncId, Module, OpId, OpKind, RegionId, Rewriter, ShardingId,
    TensorType, ValueId,
};

use super::context::Context;
use crate::flow;
use crate::roles::Role;
use crate::stacked::Stacked;

/// Pinned host memory, accessible to devices by DMA.
const HOST: &str = "pinned_host";
/// Memory of the device.
const DEVICE: &str = "device";

/// For transfers of fewer bytes, the launch takes longer than the transfer: about ten microseconds.
const SMALL: u64 = 64 << 10;
/// State smaller than this fraction (1/1000) of a device's state may stay on the device.
const PART: u64 = 1000;

/// Moves parameters and optimizer state to host memory.
pub(super) fn apply(module: &mut Module, context: &mut Context<'_>) {
    let (func, body, roles) = (context.func, context.body, context.roles);
    let stacked = context.stacked(module);
    let shardings = context.args.iter().zip(&context.placed);
    let state: Vec<State> = (0..)
        .zip(roles.arguments.iter().zip(shardings))
        .filter(|(_, (argument, _))| argument.role.is_weight() || argument.role == Role::OptimizerState)
        .map(|(i, (_, (&arg, sharding)))| {
            let local = sharding.local_shape(&module.meshes[sharding.mesh], module.shape(arg));
            State::new(module, i, (arg, &local), stacked)
        })
        .collect();
    let arguments = waiting(&state);
    let next = arguments.iter().filter_map(|&i| roles.arguments[i].next);
    let results: Vec<(usize, ShardingId)> = next
        .filter_map(|result| Some((result, module.funcs[func].res_shardings.get(result)?.expand()?)))
        .collect();
    offload(module, (func, body), stacked, &arguments, &results);
    context.invalidate_dimensions();
}

/// An argument that could be in host memory.
struct State {
    /// The index of the argument.
    number: usize,
    /// Bytes of the argument's shard on a device.
    bytes: u64,
    /// Bytes that are copied to the device at once: the whole shard, or one row of a stack of layers.
    at_once: u64,
    /// Whether the argument stays on the device because libtpu cannot slice its rows on the host.
    is_whole: bool,
}

impl State {
    /// Describes the argument with index `number`, whose shard has the shape `local`.
    fn new(module: &Module, number: usize, (arg, local): (ValueId, &[i64]), stacked: &Stacked) -> State {
        let bytes = |shape: &[i64]| {
            let ty = module.tensor(arg).map(|ty| TensorType::new(shape, ty.dtype));
            let bytes = ty.and_then(|ty| ty.num_bytes());
            bytes.and_then(|bytes| u64::try_from(bytes).ok()).unwrap_or(u64::MAX)
        };
        let row = |(dim, &n): (usize, &i64)| if stacked.is_stacked(arg, dim) { 1 } else { n };
        let row: Vec<i64> = local.iter().enumerate().map(row).collect();
        let is_narrow = module.tensor(arg).is_some_and(|ty| ty.dtype.bits() < 32);
        let is_whole = is_narrow && local.len() == 2 && stacked.is_stacked(arg, 0);
        State { number, bytes: bytes(local), at_once: bytes(&row), is_whole }
    }
}

/// Returns the indices of the arguments to move to host memory.
fn waiting(state: &[State]) -> Vec<usize> {
    let all = state.iter().map(|state| state.bytes).fold(0, u64::saturating_add);
    let stays = |state: &State| state.is_whole || state.at_once < SMALL && state.bytes < all / PART;
    state.iter().filter(|state| !stays(state)).map(|state| state.number).collect()
}

/// Moves the arguments and results with these indices to host memory, with their shardings.
fn offload(
    module: &mut Module,
    (func, body): (FuncId, RegionId),
    stacked: &Stacked,
    arguments: &[usize],
    results: &[(usize, ShardingId)],
) {
    let func = &mut module.funcs[func];
    func.arg_attrs.resize(func.params.len(), AttrDict::new());
    func.res_attrs.resize(func.results.len(), AttrDict::new());
    for &i in arguments {
        func.arg_attrs[i].set(MEMORY_KIND, Attr::Str(HOST.into()));
    }
    for &(i, _) in results {
        func.res_attrs[i].set(MEMORY_KIND, Attr::Str(HOST.into()));
    }
    let at_host: FxHashSet<ValueId> = arguments.iter().map(|&i| module.regions[body].args[i]).collect();
    let mut walk = Walk { at_host, stacked, placed: FxHashMap::default(), results };
    let mut rw = Rewriter::new(module);
    walk.region(&mut rw, body, true);
}

/// The uses for which state is copied to the device separately.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum For {
    /// The forward pass: the sharding constraint of an all-gather, or a cast before it.
    Use,
    /// The backward pass, if it rematerializes the all-gather: XLA does not propagate host memory through the barrier.
    UseAgain,
    Update,
}

struct Walk<'a> {
    at_host: FxHashSet<ValueId>,
    stacked: &'a Stacked,
    /// The device copy of an argument for each of its uses.
    placed: FxHashMap<(ValueId, For), ValueId>,
    results: &'a [(usize, ShardingId)],
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
                    self.copy_in(rw, op, |walk, value| !walk.is_stack(value));
                    for inner in rw.module.ops[op].regions.clone() {
                        // Copies made inside the loop are not available after the loop.
                        let around = self.placed.clone();
                        self.region(rw, inner, false);
                        self.placed = around;
                    }
                }
                _ => self.copy_in(rw, op, |_, _| true),
            }
        }
    }

    /// Returns whether a value is an argument in host memory whose rows loops read.
    fn is_stack(&self, value: ValueId) -> bool {
        let arg = self.stacked.origin(value);
        arg.is_some_and(|arg| self.at_host.contains(&arg) && self.stacked.has_rows(arg))
    }

    /// Copies the values in host memory that an operation reads to the device, before the operation. Values that regions of a branch
    /// capture are copied before the branch; for loops, the initial carried values are copied.
    fn copy_in(&mut self, rw: &mut Rewriter<'_>, op: OpId, may: impl Fn(&Self, ValueId) -> bool) {
        let data = &rw.module.ops[op];
        let used_for = match data.kind {
            OpKind::ShardingConstraint(_) | OpKind::Convert => For::Use,
            OpKind::OptimizationBarrier => For::UseAgain,
            _ => For::Update,
        };
        let read = match data.kind {
            OpKind::While => data.operands.to_vec(),
            _ => flow::reads(rw.module, op),
        };
        let mut copies: FxHashMap<ValueId, ValueId> = FxHashMap::default();
        for value in read.into_iter().filter(|value| self.at_host.contains(value)) {
            if !may(self, value) || copies.contains_key(&value) {
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
            copies.insert(value, here);
        }
        if matches!(rw.module.ops[op].kind, OpKind::While) {
            let operands = rw.module.ops[op].operands.iter_mut();
            operands.for_each(|operand| *operand = copies.get(operand).copied().unwrap_or(*operand));
        } else {
            flow::replace(rw.module, op, |value| copies.get(&value).copied());
        }
    }

    /// Copies the rows of a stack to the device.
    fn rows(rw: &mut Rewriter<'_>, op: OpId) {
        let row = rw.module.ops[op].results[0];
        rw.keep();
        let here = placed(rw, row, DEVICE);
        rw.stand_for(row, here);
    }

    fn go_back(&mut self, rw: &mut Rewriter<'_>, end: OpId) {
        for &(result, sharding) in self.results {
            let Some(&value) = rw.module.ops[end].operands.get(result) else { continue };
            // A returned argument is already in host memory.
            if !self.at_host.contains(&value) {
                // The value is resharded on the device, before it is copied to the host.
                let ty = rw.module.values[value].ty;
                let split = rw.op1(OpKind::ShardingConstraint(sharding), &[value], ty);
                let there = placed(rw, split, HOST);
                rw.module.ops[end].operands[result] = there;
            }
        }
    }
}

/// Returns a copy of a value in another memory.
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

#[cfg(test)]
mod tests {
    use super::super::testing::{ONE_WEIGHT, around};
    use super::{State, waiting};

    #[test]
    fn a_weight_is_in_host_memory() {
        let around = around("offload", ONE_WEIGHT, ("full_shard offload", "fsdp=4"), &[]);
        assert_eq!(around.added(r#"mhlo.memory_kind = "pinned_host""#), 2, "the argument and its next value");
        assert!(around.added("annotate_device_placement") >= 3, "{}", around.after);
    }

    #[test]
    fn without_the_setting_state_stays_on_the_device() {
        assert!(around("offload", ONE_WEIGHT, ("full_shard", "fsdp=4"), &[]).is_same());
    }

    #[test]
    fn state_that_is_small_stays_on_the_device() {
        let state = |number, bytes| State { number, bytes, at_once: bytes, is_whole: false };
        assert_eq!(waiting(&[state(0, 1 << 30), state(1, 1 << 10)]), [0]);
    }
}
