//! Builds two versions of a training step for one device: the unchanged step, and the step with its gradient replaced by shardc's.
//!
//! The forward pass, which computes the loss, is extracted from the step. `shardc grad` differentiates the forward pass with respect to the
//! state that it reads. The gradients of the step are found by following the computation of the state's next value backward. shardc's loss
//! and gradients replace those of the step. Dead operations are then removed. The optimizer is unchanged.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    process::Command,
};

use anyhow::{Context, Result, anyhow, ensure};
use shardc_ir::{
    Access, AttrDict, Diagnostic, FuncId, Module, OpKind, RegionId, SpmdMode, Uses, ValueDef, ValueId,
    Visibility, transplant_func,
};
use shardc_passes::transforms::{
    dce::dce,
    inline::inline_calls,
    legalize_backend::{BackendOptions, legalize},
};
use shardc_stablehlo::PrintOptions;

use xtask::process;

/// The name of shardc's gradient function in a step.
const GRADIENT: &str = "gradient";

/// Writes the unchanged step to `original`, and the step with shardc's gradient to `ours`. Returns the reason if the gradient cannot be
/// replaced.
pub(super) fn write(
    step: &Path,
    shardc: &Path,
    dir: &Path,
    original: &Path,
    ours: &Path,
) -> Result<Result<(), String>> {
    let mut module = read(step)?;
    inline_calls(&mut module).map_err(|errors| first_error(&errors))?;
    let step = Step::of(&module)?;
    let Some(loss) = step.loss() else {
        return Ok(Err("no result of the step is a floating-point scalar".to_owned()));
    };
    let next = step.next(loss);
    let forward = step.only(loss);
    let wrt = parameters(&forward, &next)?;
    // shardc's gradient also computes the loss, which replaces that of the step. If the step kept its own loss, a loop in the forward pass
    // would run twice: once for the loss, and once to save residuals.
    let mut replaced = vec![step.returned[loss]];
    for &(argument, result) in &wrt {
        match step.gradient(argument, result) {
            Some(value) => replaced.push(value),
            None => {
                return Ok(Err(format!("cannot find the gradient of arg{argument} in the step")));
            }
        }
    }
    let (input, output) = (dir.join("forward.mlir"), dir.join("gradient.mlir"));
    save(&forward, &input)?;
    let names: Vec<String> = wrt.iter().map(|(argument, _)| format!("arg{argument}")).collect();
    let mut grad = Command::new(shardc);
    grad.arg("grad").arg(&input).arg("--wrt").arg(names.join(",")).arg("--value").arg("-o").arg(&output);
    let done = grad.output().with_context(|| format!("starting {}", process::shown(&grad)))?;
    if !done.status.success() {
        let error = String::from_utf8_lossy(&done.stderr).lines().next().unwrap_or_default().to_owned();
        return Ok(Err(format!("shardc cannot differentiate the loss: {error}")));
    }
    let mut with_ours = step.with(read(&output)?, &replaced)?;
    // Calls are inlined, so that the gradients and their users are in one function, as in the original step.
    inline_calls(&mut with_ours).map_err(|errors| first_error(&errors))?;
    save(&for_one_device(module)?, original)?;
    save(&for_one_device(with_ours)?, ours)?;
    Ok(Ok(()))
}

fn read(file: &Path) -> Result<Module> {
    let text = fs::read_to_string(file).with_context(|| format!("reading {}", file.display()))?;
    shardc_stablehlo::parse(&text).map_err(|errors| first_error(&errors))
}

fn save(module: &Module, file: &Path) -> Result<()> {
    let text = shardc_stablehlo::print(module, &PrintOptions::default());
    fs::write(file, text).with_context(|| format!("writing {}", file.display()))
}

fn first_error(errors: &[Diagnostic]) -> anyhow::Error {
    anyhow!("{}", errors.first().map_or_else(String::new, |error| error.message.clone()))
}

/// The program without its shardings.
fn for_one_device(mut module: Module) -> Result<Module> {
    let options =
        BackendOptions { spmd_mode: SpmdMode::Replica, num_devices: Some(1), ..BackendOptions::default() };
    legalize(&mut module, &options).map_err(|error| first_error(&[error]))?;
    Ok(module)
}

/// The floating-point arguments that are state and that the loss depends on, each with the index of the result that is its next value.
fn parameters(forward: &Module, next: &BTreeMap<usize, usize>) -> Result<Vec<(usize, usize)>> {
    let body = Step::of(forward)?.body;
    let args = &forward.regions[body].args;
    let mut is_used = vec![false; args.len()];
    for op in forward.walk(body) {
        for &operand in &forward.ops[op].operands {
            if let ValueDef::Arg(region, index) = forward.values[operand].def()
                && region == body
            {
                is_used[index as usize] = true;
            }
        }
    }
    let is_float = |i: usize| forward.tensor(args[i]).is_some_and(|ty| ty.dtype.is_float());
    Ok(next.iter().map(|(&i, &result)| (i, result)).filter(|&(i, _)| is_used[i] && is_float(i)).collect())
}

/// A training step: the entry function of a module without calls.
struct Step<'m> {
    module: &'m Module,
    entry: FuncId,
    body: RegionId,
    /// The values that the step returns.
    returned: Vec<ValueId>,
    uses: Uses,
}

impl<'m> Step<'m> {
    fn of(module: &'m Module) -> Result<Step<'m>> {
        let entry = module.entry().context("the step has no entry function")?;
        let body = module.funcs[entry].body.context("the entry function of the step has no body")?;
        let end = module.terminator(body).context("the entry function of the step has no terminator")?;
        Ok(Step { module, entry, body, returned: module.ops[end].operands.to_vec(), uses: module.uses() })
    }

    /// The index of the first result that is a floating-point scalar.
    fn loss(&self) -> Option<usize> {
        let is_number =
            |v: &ValueId| self.module.tensor(*v).is_some_and(|ty| ty.shape.is_empty() && ty.dtype.is_float());
        self.returned.iter().position(is_number)
    }

    /// Maps the index of each argument that is state to the index of the result to which it is donated, which is its next value. A step
    /// without donations returns its state in the order of its arguments.
    fn next(&self, loss: usize) -> BTreeMap<usize, usize> {
        let func = &self.module.funcs[self.entry];
        let donated = func.arg_attrs.iter().map(AttrDict::donated_to).enumerate();
        let donated: BTreeMap<usize, usize> = donated.filter_map(|(i, to)| Some((i, to?))).collect();
        if !donated.is_empty() {
            return donated;
        }
        let (mut out, mut first) = (BTreeMap::new(), 0);
        for (result, ty) in func.results.iter().enumerate().filter(|(result, _)| *result != loss) {
            if let Some(argument) = (first..func.params.len()).find(|&i| func.params[i] == *ty) {
                out.insert(argument, result);
                first = argument + 1;
            }
        }
        out
    }

    /// The program with only the result of index `result`, and the operations on which it depends.
    fn only(&self, result: usize) -> Module {
        let mut out = self.module.clone();
        if let Some(end) = out.terminator(self.body) {
            out.ops[end].operands = [self.returned[result]].into_iter().collect();
        }
        let ty = out.values[self.returned[result]].ty;
        let func = &mut out.funcs[self.entry];
        func.res_attrs = vec![AttrDict::default()];
        func.res_shardings = vec![Default::default()];
        func.results = vec![ty];
        func.res_spans = Vec::new();
        func.arg_attrs.iter_mut().for_each(AttrDict::remove_donation);
        dce(&mut out, self.body);
        out
    }

    /// Finds the gradient of an argument in the computation of `result`, which is the argument's next value.
    ///
    /// An optimizer is elementwise: it computes the next value from the gradient, from broadcast scalars, and from state. All other inputs
    /// of this elementwise computation are gradients or terms of gradients. The first value that depends on all of them is the gradient.
    fn gradient(&self, argument: usize, result: usize) -> Option<ValueId> {
        let module = self.module;
        let ty = module.values[module.regions[self.body].args[argument]].ty;
        let shape = |v: ValueId| module.tensor(v).map(|ty| &ty.shape);
        let elements = |v: ValueId| shape(v).map(|shape| shape.iter().product::<i64>());
        let mut seen = BTreeSet::from([self.returned[result]]);
        let mut todo = vec![self.returned[result]];
        // The operands of the elementwise operation that defines each value; none for inputs of the elementwise computation.
        let mut made_of: BTreeMap<ValueId, Vec<ValueId>> = BTreeMap::new();
        while let Some(value) = todo.pop() {
            let ValueDef::Result(op, _) = module.values[value].def() else { continue };
            let op = &module.ops[op];
            let operands: Vec<ValueId> = match op.kind.def().access {
                Access::SamePlace if !op.operands.is_empty() => {
                    op.operands.iter().copied().filter(|&v| shape(v) == shape(value)).collect()
                }
                Access::Broadcasts if op.operands.iter().all(|&v| elements(v) < elements(value)) => continue,
                _ if op.operands.is_empty() => continue,
                _ => Vec::new(),
            };
            todo.extend(operands.iter().copied().filter(|&v| seen.insert(v)));
            made_of.insert(value, operands);
        }
        let begins = |v: &ValueId| made_of.get(v).is_some_and(Vec::is_empty);
        let count = made_of.keys().filter(|v| begins(v)).count();
        // Operations are visited after their operands.
        let mut of: BTreeMap<ValueId, BTreeSet<ValueId>> = BTreeMap::new();
        for &op in &module.regions[self.body].ops {
            for &value in &module.ops[op].results {
                let Some(operands) = made_of.get(&value) else { continue };
                let mut begun: BTreeSet<ValueId> =
                    operands.iter().filter_map(|v| of.get(v)).flatten().copied().collect();
                if operands.is_empty() {
                    begun.insert(value);
                }
                if begun.len() == count && module.values[value].ty == ty {
                    return Some(self.scaled(value));
                }
                of.insert(value, begun);
            }
        }
        None
    }

    /// Follows a gradient through elementwise operations with scalars, such as a multiplication, as long as each value has only one user.
    /// Returns the last value.
    ///
    /// A scalar factor may also belong to the optimizer, if the optimizer has no state. The replaced value then differs from the gradient
    /// by this factor, but the cost is the same.
    fn scaled(&self, mut value: ValueId) -> ValueId {
        let module = self.module;
        let is_number = |v: ValueId| match module.values[v].def() {
            ValueDef::Result(op, _) => {
                let op = &module.ops[op];
                op.operands.is_empty() || op.kind.def().access == Access::Broadcasts
            }
            ValueDef::Arg(..) => false,
        };
        while let [user] = self.uses.of(value)[..] {
            let op = &module.ops[user.0];
            let of_numbers = op.operands.iter().all(|&v| v == value || is_number(v));
            match op.results[..] {
                [next]
                    if of_numbers
                        && op.kind.def().access == Access::SamePlace
                        && module.values[next].ty == module.values[value].ty =>
                {
                    value = next;
                }
                _ => break,
            }
        }
        value
    }

    /// Returns the step with `values` replaced by the results of `gradient`.
    fn with(&self, mut gradient: Module, values: &[ValueId]) -> Result<Module> {
        let mut out = self.module.clone();
        let entry = gradient.entry().context("the gradient has no entry function")?;
        let func = &mut gradient.funcs[entry];
        func.name = GRADIENT.into();
        func.visibility = Visibility::Private;
        let made = transplant_func(&gradient, entry, &mut out);
        let types = out.funcs[made].results.clone();
        ensure!(
            types.len() == values.len(),
            "the gradient has {} results, expected {}",
            types.len(),
            values.len()
        );
        let args = out.regions[self.body].args.clone();
        let call = out.add_op(OpKind::Call { callee: GRADIENT.into() }, &args, &types, &[]);
        let made = out.ops[call].results.clone();
        let new: BTreeMap<ValueId, ValueId> = values.iter().copied().zip(made.iter().copied()).collect();
        for op in out.walk(self.body) {
            for operand in &mut out.ops[op].operands {
                if let Some(&ours) = new.get(operand) {
                    *operand = ours;
                }
            }
        }
        let ops = std::iter::once(call).chain(out.regions[self.body].ops.iter().copied()).collect();
        out.set_ops(self.body, ops);
        dce(&mut out, self.body);
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Adam with clipping by the gradient's norm, and weights that are used twice.
    const STEP: &str = r#"
        func.func @main(%w: tensor<4x4xf32> {tf.aliasing_output = 0 : i32}, %m: tensor<4x4xf32> {tf.aliasing_output = 1 : i32}, %x: tensor<4x4xf32>)
            -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<f32>) {
          %zero = stablehlo.constant dense<0.0> : tensor<f32>
          %half = stablehlo.constant dense<0.5> : tensor<4x4xf32>
          %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
          %z = stablehlo.dot_general %y, %w, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
          %loss = stablehlo.reduce(%z init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x4xf32>, tensor<f32>) -> tensor<f32>
          %one = stablehlo.constant dense<1.0> : tensor<4x4xf32>
          %dy = stablehlo.dot_general %one, %w, contracting_dims = [1] x [1] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
          %a = stablehlo.dot_general %y, %one, contracting_dims = [0] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
          %b = stablehlo.dot_general %x, %dy, contracting_dims = [0] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
          %g = stablehlo.add %a, %b : tensor<4x4xf32>
          %square = stablehlo.multiply %g, %g : tensor<4x4xf32>
          %norm = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x4xf32>, tensor<f32>) -> tensor<f32>
          %norms = stablehlo.broadcast_in_dim %norm, dims = [] : (tensor<f32>) -> tensor<4x4xf32>
          %clipped = stablehlo.divide %g, %norms : tensor<4x4xf32>
          %m1 = stablehlo.multiply %m, %half : tensor<4x4xf32>
          %next_m = stablehlo.add %m1, %clipped : tensor<4x4xf32>
          %next_w = stablehlo.subtract %w, %next_m : tensor<4x4xf32>
          return %next_w, %next_m, %loss : tensor<4x4xf32>, tensor<4x4xf32>, tensor<f32>
        }"#;

    #[test]
    fn a_gradient_is_found_from_the_next_value() {
        let module = shardc_stablehlo::parse(STEP).unwrap();
        let step = Step::of(&module).unwrap();
        let loss = step.loss().unwrap();
        assert_eq!(loss, 2);
        let wrt = parameters(&step.only(loss), &step.next(loss)).unwrap();
        assert_eq!(wrt, [(0, 0)]);
        let ValueDef::Result(sum, _) = module.values[step.gradient(0, 0).unwrap()].def() else { panic!() };
        assert_eq!(module.ops[sum].kind.def().name, "stablehlo.add");
        // The gradient is `%g`, the sum of the terms of both uses of `%w`, not the clipped gradient, which is added to the moment.
        let place = module.regions[step.body].ops.iter().position(|&op| op == sum);
        assert_eq!(place, Some(9));
    }

    #[test]
    fn a_gradient_replaces_that_of_the_step() {
        let module = shardc_stablehlo::parse(STEP).unwrap();
        let step = Step::of(&module).unwrap();
        let gradient = "
            func.func @main(%w: tensor<4x4xf32>, %m: tensor<4x4xf32>, %x: tensor<4x4xf32>) -> (tensor<f32>, tensor<4x4xf32>) {
              %zero = stablehlo.constant dense<0.0> : tensor<f32>
              return %zero, %x : tensor<f32>, tensor<4x4xf32>
            }";
        let gradient = shardc_stablehlo::parse(gradient).unwrap();
        let value = step.gradient(0, 0).unwrap();
        let with = step.with(gradient, &[step.returned[2], value]).unwrap();
        let text = shardc_stablehlo::print(&with, &PrintOptions::default());
        // The forward and the backward pass of the step are removed, but not its optimizer.
        assert_eq!(text.matches("dot_general").count(), 0, "{text}");
        assert!(text.contains("call @gradient(") && text.contains("stablehlo.divide"), "{text}");
        shardc_ir::verify(&with).unwrap();
    }
}
