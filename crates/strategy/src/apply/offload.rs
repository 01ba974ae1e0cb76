//! State that waits in host memory.
//!
//! Parameters and optimizer state are arguments and results in pinned host memory, as JAX writes it (`mhlo.memory_kind`). Each part
//! comes to the device before it is used: a parameter before it is gathered, again for the backward part if it is gathered again,
//! and again, with the optimizer's state, for its update; of a stack of layers the rows of one trip. What is next goes back.
//!
//! What is [small](SMALL) beside the rest stays on the device. So does what libtpu 0.0.51 cannot take rows of at the host: a stack of
//! vectors of less than 32 bits, such as magnitudes of blocks in `ui8` ("Sublane slicing size must be multiple of element packing
//! factor"). Nor does it compile programs that take rows of less than a tile: it takes two layouts of different sizes for one.

use rustc_hash::{FxHashMap, FxHashSet};
use shardc_ir::discardable::MEMORY_KIND;
use shardc_ir::{
    Attr, AttrDict, Build, CustomCallSpec, FuncId, Module, OpId, OpKind, RegionId, Rewriter, ShardingId,
    TensorType, ValueId,
};

use crate::flow;
use crate::stacked::Stacked;

/// Memory of the host that devices reach without the processor.
const HOST: &str = "pinned_host";
/// Memory of the device.
const DEVICE: &str = "device";

/// Bytes that a device is sent at once for which a transfer takes longer to begin than to run: some ten microseconds.
const SMALL: u64 = 64 << 10;
/// What stays on the device for that is less than this part of what a device has.
const PART: u64 = 1000;

/// An argument that could wait in host memory.
pub(super) struct State {
    /// The number of the argument.
    number: usize,
    /// Bytes that a device has of it.
    bytes: u64,
    /// Bytes that come to the device at once: all, or of a stack of layers a row.
    at_once: u64,
    /// Whether rows cannot be taken at the host.
    is_whole: bool,
}

impl State {
    /// Of argument `number`, of which a device has a part of the shape `local`.
    pub(super) fn new(
        module: &Module,
        number: usize,
        (arg, local): (ValueId, &[i64]),
        stacked: &Stacked,
    ) -> State {
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

/// The numbers of the arguments that wait in host memory.
pub(super) fn waiting(state: &[State]) -> Vec<usize> {
    let all = state.iter().map(|state| state.bytes).fold(0, u64::saturating_add);
    let stays = |state: &State| state.is_whole || state.at_once < SMALL && state.bytes < all / PART;
    state.iter().filter(|state| !stays(state)).map(|state| state.number).collect()
}

/// Puts the arguments with these numbers, and the results with those, each split as it says, into host memory.
pub(super) fn offload(
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
                    self.come(rw, op, |walk, value| !walk.is_stack(value));
                    for inner in rw.module.ops[op].regions.clone() {
                        // What comes inside is not there behind the loop.
                        let around = self.placed.clone();
                        self.region(rw, inner, false);
                        self.placed = around;
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

    /// Brings what an operation reads of the host to the device; a branch reads in its regions, and a loop what it carries.
    fn come(&mut self, rw: &mut Rewriter<'_>, op: OpId, may: impl Fn(&Self, ValueId) -> bool) {
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
        let mut come: FxHashMap<ValueId, ValueId> = FxHashMap::default();
        for value in read.into_iter().filter(|value| self.at_host.contains(value)) {
            if !may(self, value) || come.contains_key(&value) {
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
            come.insert(value, here);
        }
        if matches!(rw.module.ops[op].kind, OpKind::While) {
            let operands = rw.module.ops[op].operands.iter_mut();
            operands.for_each(|operand| *operand = come.get(operand).copied().unwrap_or(*operand));
        } else {
            flow::replace(rw.module, op, |value| come.get(&value).copied());
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
        for &(result, sharding) in self.results {
            let Some(&value) = rw.module.ops[end].operands.get(result) else { continue };
            // What is returned as it came is there.
            if !self.at_host.contains(&value) {
                // Devices exchange before it goes, not what is at the host.
                let ty = rw.module.values[value].ty;
                let split = rw.op1(OpKind::ShardingConstraint(sharding), &[value], ty);
                let there = placed(rw, split, HOST);
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
