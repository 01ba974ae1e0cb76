//! The input of rules: the program, with queries that several rules need.

use shardc_ir::{
    AxisRef, DimSharding, FuncId, Mesh, MeshId, Module, OpKind, RegionId, SecondaryMap, ShardingId, Span,
    TensorSharding, TensorType, ValueId,
};
use smallvec::SmallVec;

use super::LintOptions;
use crate::plan::Requests;

/// Properties of the annotated program. They are valid at all stages of compilation, since passes keep the handles of values and
/// operations.
pub(super) struct Facts {
    /// For each value, whether it is computed only from constants.
    constants: SecondaryMap<ValueId, bool>,
    /// The user's annotations.
    pub(super) requested: Requests,
}

impl Facts {
    pub(super) fn new(module: &Module, body: RegionId) -> Facts {
        let mut facts = Facts { constants: SecondaryMap::new(), requested: Requests::new(module, body) };
        for op in module.walk(body) {
            let data = &module.ops[op];
            if data.regions.is_empty()
                // An operation without operands may also be a random number generator, which is not constant.
                && module.is_pure(data)
                && data.operands.iter().all(|&v| facts.constants[v])
            {
                data.results.iter().for_each(|&v| facts.constants[v] = true);
            }
        }
        facts
    }
}

/// A program at one stage of compilation: annotated, propagated or planned.
#[derive(Clone, Copy)]
pub(super) struct Subject<'a> {
    /// The program at the stage that the rule checks.
    pub(super) module: &'a Module,
    /// The program as it was annotated.
    pub(super) base: &'a Module,
    pub(super) func: FuncId,
    pub(super) body: RegionId,
    pub(super) facts: &'a Facts,
    pub(super) options: &'a LintOptions,
}

impl Subject<'_> {
    /// Returns the arguments with static tensor types, with their indices and shardings.
    pub(super) fn args(&self) -> impl Iterator<Item = (usize, &TensorType, &TensorSharding)> {
        let args = self.module.regions[self.body].args.iter().enumerate();
        args.filter_map(|(i, &arg)| {
            let ty = self.module.stored(arg).filter(|ty| ty.is_static())?;
            Some((i, ty, self.module.shardings.sharding_of(arg)?))
        })
    }

    /// Returns the results with static tensor types, with their indices and shardings.
    pub(super) fn results(&self) -> impl Iterator<Item = (usize, &TensorType, &TensorSharding)> {
        let func = &self.module.funcs[self.func];
        func.results.iter().enumerate().filter_map(|(i, &ty)| {
            let ty = self.module.types.stored(ty).filter(|ty| ty.is_static())?;
            let id: ShardingId = func.res_shardings.get(i)?.expand()?;
            Some((i, ty, self.module.shardings.get(id)))
        })
    }

    pub(super) fn mesh(&self, sharding: &TensorSharding) -> &Mesh {
        &self.module.meshes[sharding.mesh]
    }

    /// Returns a description of an argument: `argument 3 (params['w'])`.
    pub(super) fn arg_text(&self, i: usize) -> String {
        match self.module.funcs[self.func].argument_name(&self.module.locs, i) {
            Some(name) => format!("argument {i} ({name})"),
            None => format!("argument {i}"),
        }
    }

    /// Returns the short name of an argument: its name in the program, or else its index.
    pub(super) fn arg_name(&self, i: usize) -> String {
        self.module.funcs[self.func]
            .argument_name(&self.module.locs, i)
            .unwrap_or_else(|| format!("argument {i}"))
    }

    /// Whether a value is computed only from constants, and is therefore available in any sharding without communication.
    pub(super) fn is_constant(&self, value: ValueId) -> bool {
        if self.base.values.is_valid(value) {
            return self.facts.constants[value];
        }
        // The value is not in the annotated program. It is a copy of a constant, the result of a new reshard, or a new result of an old
        // operation.
        let Some(op) = self.module.def_op(value) else { return false };
        let data = &self.module.ops[op];
        match self.base.ops.get(op) {
            Some(old) => old.results.first().is_some_and(|&v| self.facts.constants[v]),
            None if matches!(data.kind, OpKind::Reshard(_) | OpKind::ShardingConstraint(_)) => {
                data.operands.first().is_some_and(|&v| self.is_constant(v))
            }
            None => true,
        }
    }

    /// Returns the user's annotations of arguments, results and constraints.
    pub(super) fn annotations(&self) -> Vec<AnnotatedValue<'_>> {
        let (base, func) = (self.base, &self.base.funcs[self.func]);
        let mut out = Vec::new();
        for (i, &arg) in base.regions[self.body].args.iter().enumerate() {
            if let (Some(sharding), Some(ty)) = (base.shardings.sharding_of(arg), base.stored(arg)) {
                let (span, user_loc) = (func.arg_span(i), self.arg_loc(i));
                out.push(AnnotatedValue { what: self.arg_text(i), ty, sharding, span, user_loc });
            }
        }
        for (i, (id, &ty)) in func.res_shardings.iter().zip(&func.results).enumerate() {
            if let (Some(id), Some(ty)) = (id.expand(), base.types.stored(ty)) {
                let (what, span) = (format!("result {i}"), func.res_span(i));
                out.push(AnnotatedValue { what, ty, sharding: base.shardings.get(id), span, user_loc: None });
            }
        }
        for op in base.walk(self.body) {
            let data = &base.ops[op];
            if let (OpKind::ShardingConstraint(id), Some(&result)) = (&data.kind, data.results.first())
                && let Some(ty) = base.stored(result)
            {
                let (what, sharding) = ("this constraint".to_owned(), base.shardings.get(*id));
                out.push(AnnotatedValue { what, ty, sharding, span: data.span, user_loc: base.user_loc(op) });
            }
        }
        out
    }

    /// Returns the source location of an argument in the user's program, if the module has it.
    pub(super) fn arg_loc(&self, i: usize) -> Option<String> {
        let loc = self.module.funcs[self.func].arg_locs.get(i)?.expand()?;
        let (file, line, col) = self.module.locs.file_position(loc)?;
        Some(format!("{file}:{line}:{col}"))
    }

    /// Whether an argument is donated to a result: a parameter or optimizer state.
    pub(super) fn is_updated(&self, i: usize) -> bool {
        crate::driver::strategy::is_updated(self.module, self.func, i)
    }
}

/// A value with a sharding that the user wrote.
pub(super) struct AnnotatedValue<'a> {
    /// The annotated value: `argument 0 (x)`, `result 1`, `this constraint`.
    pub(super) what: String,
    pub(super) ty: &'a TensorType,
    pub(super) sharding: &'a TensorSharding,
    pub(super) span: Span,
    pub(super) user_loc: Option<String>,
}

/// Returns the bytes of a block of shape `shape` with the element type of `ty`.
pub(super) fn bytes_of(ty: &TensorType, shape: &[i64]) -> u64 {
    let elements = shape.iter().fold(1u64, |all, &n| all.saturating_mul(u64::try_from(n).unwrap_or(0)));
    // The bits of all elements are added before rounding up to bytes: four `i4` are two bytes.
    elements.saturating_mul(u64::from(ty.dtype.bits())).div_ceil(8)
}

/// Returns the bytes of the unsharded tensor.
pub(super) fn whole_bytes(ty: &TensorType) -> u64 {
    bytes_of(ty, &ty.shape)
}

/// Returns the bytes of a tensor on one device.
pub(super) fn local_bytes(mesh: &Mesh, ty: &TensorType, sharding: &TensorSharding) -> u64 {
    bytes_of(ty, &sharding.local_shape(mesh, &ty.shape))
}

/// Returns the text of a sharding that shards one dimension along one axis.
pub(super) fn example(module: &Module, mesh: MeshId, rank: usize, dim: usize, axis: AxisRef) -> String {
    let axes = [axis];
    let dims = (0..rank).map(|d| DimSharding::closed(if d == dim { &axes } else { &[] }));
    let sharding = TensorSharding::from_dims(mesh, dims);
    format!("#sdy.sharding<@{}, {}>", module.mesh_name(mesh), sharding.display(&module.meshes[mesh]))
}

/// Returns each axis that divides some dimension, with all dimensions that it divides.
pub(super) fn candidates(mesh: &Mesh, shape: &[i64]) -> Vec<(AxisRef, SmallVec<[usize; 4]>)> {
    let divided = |axis: AxisRef| {
        let k = mesh.axis_size(axis);
        (0..shape.len()).filter(|&d| shape[d] > 1 && shape[d] % k == 0).collect::<SmallVec<[usize; 4]>>()
    };
    let axes = mesh.all_axes().into_iter().filter(|&a| !mesh.is_trivial(a));
    axes.map(|axis| (axis, divided(axis))).filter(|(_, dims)| !dims.is_empty()).collect()
}

/// Returns [`candidates`] as text: `"data" divides dimension 0 and 1, "model" divides dimension 1`.
pub(super) fn candidates_text(mesh: &Mesh, candidates: &[(AxisRef, SmallVec<[usize; 4]>)]) -> String {
    let one = |(axis, dims): &(AxisRef, SmallVec<[usize; 4]>)| {
        let dims: Vec<String> = dims.iter().map(usize::to_string).collect();
        format!("\"{}\" divides dimension {}", mesh.axis_text(*axis), dims.join(" and "))
    };
    candidates.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// Returns the text of a list: the first few items, and the number of further items.
pub(super) fn few(items: impl ExactSizeIterator<Item = String>) -> String {
    const SHOWN: usize = 4;
    let more = items.len().saturating_sub(SHOWN);
    let shown: Vec<String> = items.take(SHOWN).collect();
    if more == 0 { shown.join(", ") } else { format!("{} and {more} more", shown.join(", ")) }
}

/// Returns a number with a noun: `1 argument`, `3 arguments`.
pub(super) fn count(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}
