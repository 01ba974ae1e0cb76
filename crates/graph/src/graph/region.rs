//! Regions of operations, built by closures.

use rustc_hash::{FxHashMap, FxHashSet};
use shardc_ir::{DType, Module, OpKind, RegionId, TypeId, ValueId};

use super::state::Open;
use super::{Graph, KindResult, State, Tensor, Tree};
use crate::error::ErrorKind;

/// A closure that takes a region's arguments and returns its results.
type Body<'f, 'g> = Box<dyn FnOnce(&[Tensor<'g>]) -> Vec<Tensor<'g>> + 'f>;

/// A region of an operation: the shapes and element types of its arguments, and its body.
pub struct RegionBody<'f, 'g> {
    args: Vec<(Vec<i64>, DType)>,
    body: Body<'f, 'g>,
}

impl<'f, 'g> RegionBody<'f, 'g> {
    /// Creates a region with arguments of these shapes and element types.
    pub fn new(args: &[(&[i64], DType)], body: impl FnOnce(&[Tensor<'g>]) -> Vec<Tensor<'g>> + 'f) -> Self {
        let args = args.iter().map(|(shape, dtype)| (shape.to_vec(), *dtype)).collect();
        RegionBody { args, body: Box::new(body) }
    }

    /// Creates a region with `n` scalar arguments of one element type, such as a combiner or comparator.
    pub fn of_scalars(
        n: usize,
        dtype: DType,
        body: impl FnOnce(&[Tensor<'g>]) -> Vec<Tensor<'g>> + 'f,
    ) -> Self {
        RegionBody { args: vec![(Vec::new(), dtype); n], body: Box::new(body) }
    }
}

impl std::fmt::Debug for RegionBody<'_, '_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RegionBody").field("args", &self.args).finish_non_exhaustive()
    }
}

/// A complete region, with the types of its results.
#[derive(Debug)]
pub(crate) struct Built {
    pub(crate) region: RegionId,
    pub(crate) types: Vec<TypeId>,
}

impl Graph {
    /// Builds a region that captures only constants; reports an error if the region captures other values.
    #[track_caller]
    pub(crate) fn plain_region<'g>(&'g self, region: RegionBody<'_, 'g>) -> Option<RegionId> {
        let types: Vec<Option<TypeId>> = self.with_module(|module| {
            region.args.iter().map(|(shape, dtype)| Some(module.types.tensor(shape, *dtype))).collect()
        });
        let (built, ()) = self.region("a region of an operation", &types, |args| ((region.body)(&args), ()));
        built.map(|built| built.region).filter(|&region| self.seals(region))
    }

    /// Copies captured constants into a region. Returns true if the region captures no other values, and otherwise reports an error.
    #[track_caller]
    pub(crate) fn seals(&self, region: RegionId) -> bool {
        let read = self.with_module(|module| {
            let read = free_values(module, &[region]);
            let (constants, others): (Vec<_>, Vec<_>) =
                read.into_iter().partition(|&value| is_constant(module, value));
            copy_constants(module, &[region], &constants);
            others
        });
        if !read.is_empty() {
            let text = "the closure captures a tensor, but may use only its arguments and constants";
            self.report(&[], ErrorKind::Operands(text.to_owned()));
        }
        read.is_empty()
    }

    /// Builds a region: calls `body` with the region's arguments, and ends the region with a `return` of the results of `body`. The region
    /// is `None` if a result is poisoned, or if an argument has no type.
    #[track_caller]
    pub(crate) fn region<'g, R>(
        &'g self,
        what: &'static str,
        types: &[Option<TypeId>],
        body: impl FnOnce(Vec<Tensor<'g>>) -> (Vec<Tensor<'g>>, R),
    ) -> (Option<Built>, R) {
        let args = {
            let mut state = self.state.borrow_mut();
            let region = state.module.add_region(&[]);
            state.open.push(Open { region, what });
            let arg = |ty: &Option<TypeId>| match *ty {
                Some(ty) => {
                    let arg = state.module.add_arg(region, ty);
                    Tensor::new(self, state.handle(arg))
                }
                None => Tensor::new(self, State::POISON),
            };
            types.iter().map(arg).collect()
        };
        let (returned, extra) = body(args);
        let mut built = None;
        self.make_many(&returned, 0, |m, values| {
            let types = types_of(&m.state.module, values);
            built = Some(Built { region: m.state.region(), types });
            m.with_types(OpKind::Return, values, &[], &[]);
            Ok(Vec::new())
        });
        let mut state = self.state.borrow_mut();
        if let Some(open) = state.open.pop() {
            state.closed.insert(open.region, what);
        }
        (built.filter(|_| types.iter().all(Option::is_some)), extra)
    }

    /// Builds a region whose arguments have the types of the loop-carried values.
    #[track_caller]
    pub(crate) fn region_like<'g, C: Tree<'g>, R>(
        &'g self,
        what: &'static str,
        like: &C,
        body: impl FnOnce(C) -> (Vec<Tensor<'g>>, R),
    ) -> (Option<Built>, R) {
        let types: Vec<Option<TypeId>> = like.leaves().iter().map(|leaf| self.type_of(*leaf)).collect();
        self.region(what, &types, |args| body(like.rebuilt(&args)))
    }

    /// Returns the type of a tensor; `None` if it is poisoned or out of scope. The latter is reported as an error.
    #[track_caller]
    pub(crate) fn type_of<'g>(&'g self, tensor: Tensor<'g>) -> Option<TypeId> {
        let mut ty = None;
        self.make_many(&[tensor], 0, |m, values| {
            ty = Some(m.state.module.values[values[0]].ty);
            Ok(Vec::new())
        });
        ty
    }
}

/// Returns whether a value is a constant, which can be copied into any region.
fn is_constant(module: &Module, value: ValueId) -> bool {
    module.def_op(value).is_some_and(|op| matches!(module.ops[op].kind, OpKind::Constant(_)))
}

/// Returns the values that regions capture, without duplicates, in order of their first use.
pub(crate) fn free_values(module: &Module, regions: &[RegionId]) -> Vec<ValueId> {
    let mut inside: FxHashSet<ValueId> = FxHashSet::default();
    let mut out = Vec::new();
    for &region in regions {
        let (ops, nested) = module.walk_with_regions(region, |_| true);
        for region in nested {
            inside.extend(&module.regions[region].args);
        }
        for &op in &ops {
            inside.extend(&module.ops[op].results);
        }
        for &op in &ops {
            for &value in &module.ops[op].operands {
                // A captured value is recorded only once.
                if inside.insert(value) {
                    out.push(value);
                }
            }
        }
        for value in &out {
            inside.remove(value);
        }
    }
    let mut seen = FxHashSet::default();
    out.retain(|&value| seen.insert(value));
    out
}

/// Replaces operands of all operations in a region, including nested regions, as `map` specifies.
fn replace(module: &mut Module, region: RegionId, map: &FxHashMap<ValueId, ValueId>) {
    if map.is_empty() {
        return;
    }
    for op in module.walk(region) {
        for operand in &mut module.ops[op].operands {
            if let Some(&other) = map.get(operand) {
                *operand = other;
            }
        }
    }
}

/// Copies constants to the start of each region.
fn copy_constants(module: &mut Module, regions: &[RegionId], constants: &[ValueId]) {
    for &region in regions {
        let mut map = FxHashMap::default();
        let read: FxHashSet<ValueId> = free_values(module, &[region]).into_iter().collect();
        let mut ops = Vec::new();
        for &value in constants.iter().filter(|value| read.contains(value)) {
            let Some(op) = module.def_op(value) else { continue };
            let (kind, ty, loc) = (module.ops[op].kind.clone(), module.values[value].ty, module.ops[op].loc);
            let copy = module.add_op(kind, &[], &[ty], &[]);
            module.ops[copy].loc = loc;
            map.insert(value, module.ops[copy].results[0]);
            ops.push(copy);
        }
        if ops.is_empty() {
            continue;
        }
        replace(module, region, &map);
        ops.extend(module.regions[region].ops.iter().copied());
        module.set_ops(region, ops);
    }
}

/// Turns the values that the regions of a loop capture into loop-carried values: each region gets an argument for each value, and the
/// last region, the body, returns that argument unchanged. Constants are copied into the regions.
///
/// Loops without captures have the same semantics in all compilers.
pub(crate) fn carry_captured(module: &mut Module, regions: &[RegionId]) -> Vec<ValueId> {
    let carried = captured(module, regions);
    for (i, &region) in regions.iter().enumerate() {
        let args = add_args(module, region, &carried);
        if i + 1 == regions.len()
            && let Some(end) = module.terminator(region)
        {
            module.ops[end].operands.extend(args);
        }
    }
    carried
}

/// Turns the values that a region captures into arguments of the region, and returns the captured values, which are the operands to
/// pass. Constants are copied into the region.
pub(crate) fn take_captured(module: &mut Module, region: RegionId) -> Vec<ValueId> {
    let taken = captured(module, &[region]);
    add_args(module, region, &taken);
    taken
}

/// Returns the values that regions capture, except for small constants, which are copied into the regions.
fn captured(module: &mut Module, regions: &[RegionId]) -> Vec<ValueId> {
    let read = free_values(module, regions);
    let (constants, others): (Vec<_>, Vec<_>) =
        read.into_iter().partition(|&value| is_small_constant(module, value));
    copy_constants(module, regions, &constants);
    others
}

/// Adds an argument to a region for each of these values, and replaces uses of the values in the region by the arguments.
fn add_args(module: &mut Module, region: RegionId, values: &[ValueId]) -> Vec<ValueId> {
    let mut map = FxHashMap::default();
    let mut args = Vec::with_capacity(values.len());
    for &value in values {
        let ty = module.values[value].ty;
        let arg = module.add_arg(region, ty);
        map.insert(value, arg);
        args.push(arg);
    }
    replace(module, region, &map);
    args
}

/// Returns whether a constant is small enough to be duplicated.
fn is_small_constant(module: &Module, value: ValueId) -> bool {
    /// The largest size of a duplicated constant, in bytes.
    const SMALL: usize = 64;
    module.def_op(value).is_some_and(|op| match &module.ops[op].kind {
        OpKind::Constant(shardc_ir::Dense::Splat(_)) => true,
        OpKind::Constant(shardc_ir::Dense::Elements(bytes)) => bytes.len() <= SMALL,
        _ => false,
    })
}

/// Returns the types of these values, in order.
pub(crate) fn types_of(module: &Module, values: &[ValueId]) -> Vec<TypeId> {
    values.iter().map(|&v| module.values[v].ty).collect()
}

/// Checks that two lists of types are equal; reports the first difference.
pub(crate) fn same_types(
    module: &Module,
    what: &'static str,
    want: &[TypeId],
    have: &[TypeId],
) -> KindResult<()> {
    if want.len() != have.len() {
        let text = format!("{what} returns {} tensors, expected {}", have.len(), want.len());
        return Err(ErrorKind::Operands(text));
    }
    match want.iter().zip(have).position(|(want, have)| want != have) {
        None => Ok(()),
        Some(at) => Err(ErrorKind::Carried {
            what,
            at,
            want: module.types.display(want[at]).clone(),
            have: module.types.display(have[at]).clone(),
        }),
    }
}
