//! Programs of functions that are partitioned by themselves.

use rustc_hash::FxHashMap;
use shardc_ir::{
    AttrDict, Build, CustomCallSpec, FuncId, Module, OpId, OpKind, RegionId, Rewriter, SecondaryMap,
    TensorSharding, ValueId, Visibility, transplant_func,
};

use super::{KeptFunction, KeptFunctions};
use crate::propagate::DimensionClasses;
use crate::rules::sharding_rule::{Factor, FactorIndex, FactorKind, ShardingRule, TensorMapping};
use crate::transforms::batch_indices::batch_indices;
use crate::transforms::decompose::decompose;
use crate::transforms::inline::constrain;

/// Takes the functions that `keep` names out of a module whose other calls are inlined, and makes their calls in the entry
/// function custom calls. The functions stay in the module too; each of `order` stands after those that it calls.
pub(in crate::driver) fn extract(
    module: &mut Module,
    order: &[FuncId],
    keep: &SecondaryMap<FuncId, bool>,
) -> KeptFunctions {
    let mut kept = KeptFunctions::default();
    for &func in order.iter().filter(|&&func| keep[func]) {
        if let Some(function) = function(module, func, &kept) {
            kept.add(function);
        }
    }
    if let Some(body) = module.entry().and_then(|entry| module.funcs[entry].body) {
        stand_for_calls(&mut Rewriter::new(module), body, &kept);
    }
    kept
}

/// Returns a function as a program, prepared as the entry function is before propagation.
fn function(from: &Module, func: FuncId, callees: &KeptFunctions) -> Option<KeptFunction> {
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
    // What is said of it as a part of another program is not said of the program that it is now.
    data.visibility = Visibility::Default;
    data.attrs = AttrDict::new();
    for attrs in data.arg_attrs.iter_mut().chain(&mut data.res_attrs) {
        *attrs = AttrDict::new();
    }
    stand_for_calls(&mut Rewriter::new(&mut module), body, callees);
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

/// Returns the rule of a call: dimensions of one class in the function are one factor.
fn rule(module: &Module, func: FuncId, body: RegionId) -> ShardingRule {
    let classes = DimensionClasses::of_func(module, func);
    let mut rule = ShardingRule { custom: true, ..ShardingRule::default() };
    let mut factors: FxHashMap<(u32, i64), FactorIndex> = FxHashMap::default();
    let mut mapping = |value: ValueId| {
        let mut mapping = TensorMapping::default();
        let known = classes.as_ref().map_or(&[][..], |classes| classes.of(value));
        for (dim, &size) in module.shape(value).iter().enumerate() {
            let next = rule.factors.len() as FactorIndex;
            // A factor stands in one dimension of a tensor; and in a chain of reshapes dimensions of several sizes are of one class.
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

/// Makes the calls of kept functions under a region custom calls, which say by a rule how dimensions hang together. What the
/// program says about parameters and results becomes constraints, as where calls are inlined.
fn stand_for_calls(rw: &mut Rewriter<'_>, region: RegionId, kept: &KeptFunctions) {
    rw.enter(region);
    while let Some(op) = rw.next_op() {
        let function = match &rw.module.ops[op].kind {
            OpKind::Call { callee } => kept.find(callee).map(|number| kept.get(number)),
            _ => None,
        };
        let Some(function) = function else {
            for nested in rw.module.ops[op].regions.clone() {
                stand_for_calls(rw, nested, kept);
            }
            continue;
        };
        for i in 0..rw.module.ops[op].operands.len() {
            let operand = rw.module.ops[op].operands[i];
            let declared = intern(rw.module, function.params.get(i));
            let operand = constrain(rw, operand, declared);
            rw.module.ops[op].operands[i] = operand;
        }
        let target = format!("{}{}", CustomCallSpec::KEPT, function.name).into();
        let data = &mut rw.module.ops[op];
        data.kind = OpKind::CustomCall(Box::new(CustomCallSpec { target, props: AttrDict::new() }));
        data.attrs = AttrDict::new();
        data.attrs.set_sharding_rule(&function.rule);
        rw.keep();
        constrain_results(rw, op, function);
    }
}

/// Lets readers of a call see its results through what the program says about them.
fn constrain_results(rw: &mut Rewriter<'_>, op: OpId, function: &KeptFunction) {
    for i in 0..rw.module.ops[op].results.len() {
        let result = rw.module.ops[op].results[i];
        let said = rw.module.shardings.of(result);
        let Some(sharding) = said.or_else(|| intern(rw.module, function.results.get(i))) else { continue };
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
