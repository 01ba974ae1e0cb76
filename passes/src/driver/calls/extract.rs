//! Extracts functions that are partitioned separately into their own modules.

use rustc_hash::FxHashMap;
use shardc_ir::{
    Attr, AttrDict, Build, CompositeSpec, CustomCallSpec, Diagnostic, FuncId, Module, OpId, OpKind, RegionId,
    Rewriter, SecondaryMap, TensorSharding, ValueId, Visibility, transplant_func,
};

use super::{KeptFunction, KeptFunctions};
use crate::propagate::DimensionClasses;
use crate::rules::SHARDING_RULE_ATTR;
use crate::rules::registry::{Callee, RuleRegistry};
use crate::rules::sharding_rule::{Factor, FactorIndex, FactorKind, ShardingRule, TensorMapping};
use crate::transforms::batch_indices::batch_indices;
use crate::transforms::decompose::decompose;
use crate::transforms::inline::constrain;

/// The property in which a custom call stores the composite that it replaces.
const COMPOSITE: &str = "shardc.composite";

/// Copies the functions in `keep` out of a module whose other calls are inlined, and replaces the calls to them in the entry
/// function by custom calls. The functions also stay in the module. `order` lists callees first.
///
/// # Errors
/// Returns SH0807 if a rule of `rules` does not fit a call.
pub(in crate::driver) fn extract(
    module: &mut Module,
    order: &[FuncId],
    keep: &SecondaryMap<FuncId, bool>,
    rules: &RuleRegistry,
) -> Result<KeptFunctions, Vec<Diagnostic>> {
    let mut kept = KeptFunctions::default();
    let mut errors = Vec::new();
    for &func in order.iter().filter(|&&func| keep[func]) {
        let callees = StandIns { kept: &kept, rules, errors: &mut errors };
        if let Some(function) = function(module, func, callees) {
            kept.add(function);
        }
    }
    if let Some(body) = module.entry().and_then(|entry| module.funcs[entry].body) {
        StandIns { kept: &kept, rules, errors: &mut errors }.region(&mut Rewriter::new(module), body);
    }
    if errors.is_empty() { Ok(kept) } else { Err(errors) }
}

/// Returns a function as a module, prepared for propagation like the entry function.
fn function(from: &Module, func: FuncId, mut callees: StandIns<'_>) -> Option<KeptFunction> {
    let mut module = Module {
        attrs: from.attrs.clone(),
        meshes: from.meshes.clone(),
        mesh_names: from.mesh_names.clone(),
        ..Module::default()
    };
    let func = transplant_func(from, func, &mut module);
    let body = module.funcs[func].body?;
    let data = &mut module.funcs[func];
    let name = data.name.clone();
    // Attributes such as donations describe the function as part of the caller's program, and do not apply to an entry function.
    data.visibility = Visibility::Default;
    data.attrs = AttrDict::new();
    for attrs in data.arg_attrs.iter_mut().chain(&mut data.res_attrs) {
        *attrs = AttrDict::new();
    }
    callees.region(&mut Rewriter::new(&mut module), body);
    decompose(&mut module, body);
    batch_indices(&mut module, body);
    let args = module.regions[body].args.clone();
    let declared = module.funcs[func].res_shardings.clone();
    let results = 0..module.funcs[func].results.len();
    Some(KeptFunction {
        name,
        rule: format!("#sdy.op_sharding_rule<{}>", rule(&module, func, body)).into(),
        params: args.iter().map(|&arg| module.shardings.sharding_of(arg).cloned()).collect(),
        results: results
            .map(|i| declared.get(i).and_then(|id| id.expand()).map(|id| module.shardings.get(id).clone()))
            .collect(),
        module,
    })
}

/// Returns the sharding rule of a call: dimensions of the same class in the function share a factor.
fn rule(module: &Module, func: FuncId, body: RegionId) -> ShardingRule {
    let classes = DimensionClasses::of_func(module, func);
    let mut rule = ShardingRule { custom: true, ..ShardingRule::default() };
    let mut factors: FxHashMap<(u32, i64), FactorIndex> = FxHashMap::default();
    let mut mapping = |value: ValueId| {
        let mut mapping = TensorMapping::default();
        let known = classes.as_ref().map_or(&[][..], |classes| classes.of(value));
        for (dim, &size) in module.shape(value).iter().enumerate() {
            let next = rule.factors.len() as FactorIndex;
            // A factor occurs in at most one dimension of a tensor. The key also contains the size, since a chain of reshapes may put
            // dimensions of different sizes in one class.
            let known = known.get(dim).map(|&class| *factors.entry((class, size)).or_insert(next));
            let factor =
                known.filter(|f| !mapping.dims.iter().any(|dim: &smallvec::SmallVec<_>| dim.contains(f)));
            let factor = factor.unwrap_or(next);
            if factor == next {
                rule.factors.push(Factor { size, kind: FactorKind::PassThrough, blocked: false });
            }
            mapping.dims.push(smallvec::smallvec![factor]);
        }
        mapping
    };
    let operands = module.regions[body].args.iter().map(|&arg| mapping(arg)).collect();
    let returned: &[ValueId] =
        module.regions[body].ops.last().map_or(&[], |&end| module.ops[end].operands.as_slice());
    let results = returned.iter().map(|&value| mapping(value)).collect();
    (rule.operands, rule.results) = (operands, results);
    rule
}

/// Replaces calls of separately partitioned functions by custom calls.
struct StandIns<'a> {
    kept: &'a KeptFunctions,
    /// The user's rules for calls; the default is the function's own rule.
    rules: &'a RuleRegistry,
    errors: &'a mut Vec<Diagnostic>,
}

impl StandIns<'_> {
    /// Replaces calls of separately partitioned functions under a region by custom calls with sharding rules. Annotations of parameters and
    /// results become sharding constraints, as in the inliner.
    fn region(&mut self, rw: &mut Rewriter<'_>, region: RegionId) {
        rw.enter(region);
        while let Some(op) = rw.next_op() {
            let data = &rw.module.ops[op];
            let (callee, function, props) = match &data.kind {
                OpKind::Call { callee } => (Callee::Function, callee.clone(), AttrDict::new()),
                OpKind::Composite(spec) => (Callee::Composite, spec.decomposition.clone(), written(spec)),
                _ => (Callee::CustomCall, "".into(), AttrDict::new()),
            };
            let Some(function) = self.kept.find(&function).map(|number| self.kept.get(number)) else {
                for nested in data.regions.clone() {
                    self.region(rw, nested);
                }
                continue;
            };
            let name = match &data.kind {
                OpKind::Composite(spec) => spec.name.clone(),
                _ => function.name.clone(),
            };
            let own_rule = data.attrs.get(SHARDING_RULE_ATTR).cloned();
            for i in 0..rw.module.ops[op].operands.len() {
                let operand = rw.module.ops[op].operands[i];
                let declared = intern(rw.module, function.params.get(i));
                let operand = constrain(rw, operand, declared);
                rw.module.ops[op].operands[i] = operand;
            }
            let target = format!("{}{}", CustomCallSpec::KEPT, function.name).into();
            let data = &mut rw.module.ops[op];
            data.kind = OpKind::CustomCall(Box::new(CustomCallSpec { target, props }));
            data.attrs = AttrDict::new();
            match own_rule {
                Some(rule) => data.attrs.set(SHARDING_RULE_ATTR, rule),
                None => match self.rules.rule_of_call(rw.module, op, callee, &name) {
                    Ok(rule) => {
                        let rule = rule.as_deref().unwrap_or(&function.rule);
                        rw.module.ops[op].attrs.set_sharding_rule(rule);
                    }
                    Err(error) => self.errors.push(*error),
                },
            }
            rw.keep();
            constrain_results(rw, op, function);
        }
    }
}

/// Writes a composite as a property of the custom call that replaces it; [`restored`] reads it.
fn written(spec: &CompositeSpec) -> AttrDict {
    let mut inner = AttrDict::new();
    inner.set("name", Attr::Str(spec.name.clone()));
    if let Some(attributes) = &spec.attributes {
        inner.set("attributes", Attr::Dict(attributes.clone()));
    }
    if let Some(version) = spec.version {
        inner.set("version", Attr::Int(version.into(), "i32".into()));
    }
    let mut props = AttrDict::new();
    props.set(COMPOSITE, Attr::Dict(inner));
    props
}

/// Returns the composite that a custom call replaced, with the function `decomposition` as its decomposition; `None` if the call replaced
/// no composite.
pub(in crate::driver) fn restored(call: &CustomCallSpec, decomposition: &str) -> Option<CompositeSpec> {
    let Some(Attr::Dict(inner)) = call.props.get(COMPOSITE) else { return None };
    let Some(Attr::Str(name)) = inner.get("name") else { return None };
    let attributes = match inner.get("attributes") {
        Some(Attr::Dict(attributes)) => Some(attributes.clone()),
        _ => None,
    };
    let version = match inner.get("version") {
        Some(Attr::Int(version, _)) => i32::try_from(*version).ok(),
        _ => None,
    };
    Some(CompositeSpec { name: name.clone(), attributes, decomposition: decomposition.into(), version })
}

/// Inserts sharding constraints between the results of a call and their users.
fn constrain_results(rw: &mut Rewriter<'_>, op: OpId, function: &KeptFunction) {
    for i in 0..rw.module.ops[op].results.len() {
        let result = rw.module.ops[op].results[i];
        let existing = rw.module.shardings.of(result);
        let Some(sharding) = existing.or_else(|| intern(rw.module, function.results.get(i))) else {
            continue;
        };
        rw.module.renew_result(op, i);
        let fresh = rw.module.ops[op].results[i];
        let constraint = rw.op(OpKind::ShardingConstraint(sharding), &[fresh], &[], &[]);
        rw.module.give_result(constraint, result);
        rw.module.shardings.set(result, Some(sharding));
    }
}

fn intern(module: &mut Module, sharding: Option<&Option<TensorSharding>>) -> Option<shardc_ir::ShardingId> {
    Some(module.shardings.intern(sharding?.clone()?))
}
