//! Rules of functions, composites and custom calls with custom derivatives.

use shardc_ir::{Build, Diagnostic, FuncId, Module, OpId, OpKind, TensorBuild, ValueId, ValueMap, clone_op};
use smallvec::SmallVec;

use crate::custom::{CustomDerivative, STOP_GRADIENT};
use crate::linearize::{At, Given, Nested, Rule, Tangents};
use crate::replace::replace;

/// Linearizes an operation by the custom rule for its name, if there is one.
///
/// # Errors
/// Returns an error if the function of the rule is missing or has an unexpected type.
pub(super) fn by_rule(at: &mut At<'_, '_>) -> Result<Option<Rule>, Box<Diagnostic>> {
    let (name, num_results) = {
        let data = &at.linear.module.ops[at.op];
        let name = match &data.kind {
            OpKind::Call { callee } => callee.clone(),
            OpKind::Composite(spec) => spec.name.clone(),
            OpKind::CustomCall(spec) => spec.target.clone(),
            _ => return Ok(None),
        };
        (name, data.results.len())
    };
    let Some(rule) = at.linear.rules.iter().find(|rule| *rule.name == *name) else {
        return Ok((*name == *STOP_GRADIENT).then(|| Rule::nothing(num_results)));
    };
    match rule.derivative.clone() {
        CustomDerivative::Nothing => Ok(Some(Rule::nothing(num_results))),
        CustomDerivative::Jvp { function } => by_jvp(at, &function).map(Some),
        CustomDerivative::Vjp { forward, backward } => by_vjp(at, &forward, &backward).map(Some),
    }
}

/// The indices of the differentiable operands, and those of the differentiable results.
fn changing(at: &At<'_, '_>) -> (Vec<usize>, Vec<usize>) {
    let data = &at.linear.module.ops[at.op];
    let of = |values: &[ValueId]| (0..values.len()).filter(|&i| at.can_change(values[i])).collect();
    (of(&data.operands), of(&data.results))
}

/// Inserts the body of the function: operations on tangents onto the tape, the others in place of the operation.
fn by_jvp(at: &mut At<'_, '_>, function: &str) -> Result<Rule, Box<Diagnostic>> {
    let (operands, results) = changing(at);
    let mut args = at.linear.module.ops[at.op].operands.to_vec();
    args.extend(operands.iter().map(|&i| super::written_out(at, i)).collect::<Vec<_>>());
    let num_results = at.linear.module.ops[at.op].results.len();
    let returned = splice(at, function, &args, num_results + results.len())?;
    let mut tangents: Tangents = std::iter::repeat_n(None, num_results).collect();
    for (&i, &value) in results.iter().zip(&returned[num_results..]) {
        tangents[i] = at.linear.is_tangent(value).then_some(value);
    }
    Ok(Rule::Replaced(tangents))
}

/// Inserts the forward function in place of the operation; the tape refers to the backward function until it is transposed.
fn by_vjp(at: &mut At<'_, '_>, forward: &str, backward: &str) -> Result<Rule, Box<Diagnostic>> {
    let (operands, results) = changing(at);
    let num_results = at.linear.module.ops[at.op].results.len();
    let backward = function_of(at, backward)?;
    let given: Vec<Option<ValueId>> = operands.iter().map(|&i| at.tangent(i)).collect();
    let args = at.linear.module.ops[at.op].operands.to_vec();
    let name = at.kind().title().to_string();
    let returned = splice(at, forward, &args, num_results)?;
    let residuals = returned[num_results..].to_vec();
    let types: Vec<_> = {
        let all = &at.linear.module.ops[at.op].results;
        results.iter().map(|&i| at.linear.module.values[all[i]].ty).collect()
    };
    let expected: Vec<_> =
        residuals.iter().map(|&v| at.linear.module.values[v].ty).chain(types.iter().copied()).collect();
    let func = &at.linear.module.funcs[backward];
    let wanted: Vec<_> = operands.iter().map(|&i| at.linear.module.values[args[i]].ty).collect();
    if func.params != expected || func.results != wanted {
        let text =
            format!("@{}, the derivative rule of {name}, has the wrong argument or result types", func.name);
        return Err(Box::new(Diagnostic::invalid("SH1005", text).at(func.span)));
    }
    let callee = func.name.clone();
    let changing: Vec<ValueId> = given.iter().copied().flatten().collect();
    let call = at.tape().op(OpKind::Call { callee }, &changing, &types, &[]);
    let made = at.linear.module.ops[call].results.clone();
    at.linear.nested.insert(call, Nested::Given(Given { backward, residuals, operands: given }));
    let mut tangents: Tangents = std::iter::repeat_n(None, num_results).collect();
    for (&i, &value) in results.iter().zip(&made) {
        tangents[i] = Some(value);
    }
    Ok(Rule::Replaced(tangents))
}

/// Copies the body of a function to the current position, and makes its first returned values the results of the operation. Returns all
/// values that the function returns. It is an error if the function returns fewer than `least` values.
fn splice(
    at: &mut At<'_, '_>,
    name: &str,
    args: &[ValueId],
    least: usize,
) -> Result<Vec<ValueId>, Box<Diagnostic>> {
    let func = function_of(at, name)?;
    let types: Vec<_> = args.iter().map(|&v| at.linear.module.values[v].ty).collect();
    let data = &at.linear.module.funcs[func];
    let results = at.linear.module.ops[at.op].results.clone();
    let own: Vec<_> = results.iter().map(|&v| at.linear.module.values[v].ty).collect();
    if data.params != types || data.results.len() < least || !data.results.starts_with(&own) {
        let title = at.linear.module.ops[at.op].kind.title();
        let text = format!("@{name}, the derivative rule of {title}, has the wrong argument or result types");
        return Err(Box::new(Diagnostic::invalid("SH1005", text).at(data.span)));
    }
    let Some(body) = data.body else { return Err(no_function(at.linear.module, at.op, name)) };
    let params = at.linear.module.regions[body].args.clone();
    let mut map = ValueMap::new();
    for (&param, &arg) in params.iter().zip(args) {
        map.insert(param, arg);
    }
    let mut returned: Vec<ValueId> = Vec::new();
    let mut copies: SmallVec<[OpId; 8]> = SmallVec::new();
    let ops = at.linear.module.regions[body].ops.to_vec();
    for op in ops {
        if matches!(at.linear.module.ops[op].kind, OpKind::Return) {
            returned = at.linear.module.ops[op].operands.iter().map(|&v| map.get(v)).collect();
            continue;
        }
        let copy = clone_op(at.linear.module, op, &mut map);
        copies.push(copy);
        at.place(copy);
    }
    for (i, &result) in results.iter().enumerate() {
        let is_own = at.linear.module.def_op(returned[i]).is_some_and(|op| copies.contains(&op));
        // An argument that is returned unchanged, or a value that is returned twice, becomes a separate value.
        if !is_own || returned[..i].contains(&returned[i]) {
            let value = returned[i];
            returned[i] = at.primal().alike(OpKind::Reshape, &[value]);
        }
        let map = std::iter::once((returned[i], result)).collect();
        replace(at.linear.module, &copies, &map);
        at.linear.module.take_over(returned[i], result);
        let made = returned[i];
        for value in &mut returned {
            if *value == made {
                *value = result;
            }
        }
    }
    Ok(returned)
}

fn function_of(at: &At<'_, '_>, name: &str) -> Result<FuncId, Box<Diagnostic>> {
    at.linear.module.func_names.get(name).copied().ok_or_else(|| no_function(at.linear.module, at.op, name))
}

fn no_function(module: &Module, op: OpId, name: &str) -> Box<Diagnostic> {
    let title = module.ops[op].kind.title();
    let text = format!("the derivative rule of {title} names @{name}, which is not in the program");
    Box::new(Diagnostic::invalid("SH1005", text).at(module.ops[op].span))
}
