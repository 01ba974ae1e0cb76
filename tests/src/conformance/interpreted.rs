//! Shardy's executable tests, in which StableHLO's interpreter runs Shardy's partitioned functions on every device.
//!
//! A file has two parts. The first part has functions with shardings (`@parallel_*`), and the same functions without shardings
//! (`@sequential_*`; if absent, they are derived by removing the shardings). The second part has `@main`: `interpreter.run_parallel` passes
//! each device its shards, and `check.expect_eq` specifies the expected results. Here shardc replaces Shardy's partitioner and the back end
//! replaces the interpreter. `@main` runs on one device up to each `run_parallel`, whose operands go to the devices unchanged.
//!
//! Shardy treats an argument or result without a sharding as replicated. shardc could shard it, so the tests annotate it as replicated.

use std::{collections::HashMap, path::Path};

use serde_json::{Value, json};
use shardc::{Compiler, Error, SpmdMode, exec};
use shardc_ir::{
    Attr, Build, Builder, FuncId, Module, OpId, OpKind, PackedOption, ShardingId, TensorSharding, ValueId,
    Visibility,
};
use shardc_passes::{driver::passes::PassContext, transforms::inline::inline_calls};
use shardc_runtime::HostArray;

use super::{Answer, Devices, Outcome};

/// Tests of this pass do not run on several devices: they compare a program before and after the pass.
const BATCHING: &str = "explicit_gather_scatter_batching";

/// The name of the Shardy pass that the tests of [`BATCHING`] run.
const BATCHING_PASS: &str = "sdy-explicit-gather-scatter-batching";

/// Tolerance relative to the largest value, for sums in a different order than that of the interpreter.
const ROUNDING: f64 = 1e-6;

/// Runs a job `{"file", "mode"}`: the test in `file`, with shardc's partitioner.
pub(super) fn answer(job: &Value, devices: &mut Devices) -> Answer {
    let file = Path::new(job["file"].as_str().unwrap_or_default());
    let mode = if job["mode"] == "partition" { SpmdMode::Partition } else { SpmdMode::Replica };
    let done = std::fs::read_to_string(file)
        .map_err(|e| Answer::new(Outcome::Failed, format!("{}: {e}", file.display())))
        .and_then(|text| Test::read(file, &text))
        .and_then(|test| test.run(mode, devices));
    match done {
        Ok(answer) | Err(answer) => answer,
    }
}

fn failed(message: impl Into<String>) -> Answer {
    Answer::new(Outcome::Failed, message)
}

fn error(error: &Error) -> Answer {
    let message = error.render("", "", false);
    let is_refusal = matches!(error, Error::Diagnostics(_)) && !error.is_internal();
    Answer::new(if is_refusal { Outcome::Refused } else { Outcome::Failed }, message)
}

/// Values of `@main` that were computed on devices.
type Known = HashMap<ValueId, HostArray>;

/// A test, with both parts in one module.
struct Test {
    module: Module,
}

/// Two values that are compared at the end.
struct Check {
    got: ValueId,
    expected: ValueId,
}

impl Test {
    fn read(file: &Path, text: &str) -> Result<Test, Answer> {
        let mut parts =
            text.split("//--- ").skip(1).map(|part| part.split_once('\n').map_or("", |(_, rest)| rest));
        let (Some(first), Some(second)) = (parts.next(), parts.next()) else {
            return Err(failed("the file does not have two parts"));
        };
        let copy = if file.components().any(|part| part.as_os_str().to_string_lossy().contains(BATCHING)) {
            let mut module = Compiler::read(first.as_bytes()).map_err(|e| error(&e))?;
            let pass = shardc_shardy::find(BATCHING_PASS).ok_or_else(|| failed("the pass is gone"))?;
            pass.run(&mut module, &mut PassContext::default())
                .map_err(|errors| error(&Error::from(errors)))?;
            // The output of the pass is the transformed program; the unchanged text is the original program.
            let transformed = functions_of(&shardc_stablehlo::print(&module, &Default::default()));
            let combined =
                format!("{}\n{transformed}\n{second}", first.replace("@transformed_", "@original_"));
            let module = Compiler::read(combined.as_bytes()).map_err(|e| error(&e))?;
            return Ok(Test { module });
        } else if first.contains("@parallel_") && !first.contains("@sequential_") {
            let lines = first.lines().filter(|line| !line.starts_with("sdy.mesh"));
            lines.collect::<Vec<_>>().join("\n").replace("@parallel_", "@sequential_")
        } else {
            String::new()
        };
        let combined = format!("{first}\n{copy}\n{second}");
        let module = Compiler::read(combined.as_bytes()).map_err(|e| error(&e))?;
        Ok(Test { module })
    }

    fn run(&self, mode: SpmdMode, devices: &mut Devices) -> Result<Answer, Answer> {
        let body = self.main().and_then(|main| self.module.funcs[main].body);
        let ops = body.map(|body| self.module.regions[body].ops.to_vec()).unwrap_or_default();
        let mut known: Known = Known::new();
        let mut checks = Vec::new();
        for op in ops {
            let data = &self.module.ops[op];
            let OpKind::Opaque(spec) = &data.kind else { continue };
            match &*spec.name {
                "interpreter.run_parallel" => {
                    let blocks = self.evaluate(&data.operands, &known, devices)?;
                    let outputs = self.parallel(op, blocks, mode, devices)?;
                    known.extend(data.results.iter().copied().zip(outputs));
                }
                "check.expect_eq" => match data.operands[..] {
                    [got, expected] => checks.push(Check { got, expected }),
                    _ => return Err(failed("check.expect_eq takes two values")),
                },
                name => return Err(failed(format!("{name} is not known here"))),
            }
        }
        let values: Vec<ValueId> = checks.iter().flat_map(|check| [check.got, check.expected]).collect();
        let arrays = self.evaluate(&values, &known, devices)?;
        let (mut wrong, mut worst) = (Vec::new(), 0.0f64);
        for (i, pair) in arrays.chunks(2).enumerate() {
            let [got, expected] = pair else { continue };
            let difference = HostArray::compare(expected, got).map_err(|e| failed(e.to_string()))?;
            worst = worst.max(difference.max_rel_to_scale);
            if !difference.within(ROUNDING) {
                wrong.push(format!(
                    "check {i}: {:?}, expected {:?}",
                    got.to_f64_vec(),
                    expected.to_f64_vec()
                ));
            }
        }
        if checks.is_empty() {
            return Err(failed("the test checks nothing"));
        }
        let outcome = if wrong.is_empty() { Outcome::Equal } else { Outcome::Wrong };
        let mut answer = Answer::new(outcome, wrong.join("\n"));
        answer.figures = vec![("worst", json!(worst))];
        Ok(answer)
    }

    fn main(&self) -> Option<FuncId> {
        self.module.func_names.get("main").copied()
    }

    /// Computes values of `@main` on one device from known values.
    fn evaluate(
        &self,
        values: &[ValueId],
        known: &Known,
        devices: &mut Devices,
    ) -> Result<Vec<HostArray>, Answer> {
        let mut module = self.module.clone();
        let main = self.main().ok_or_else(|| failed("the test has no @main"))?;
        // Collects the operations that the values depend on, in program order.
        let (mut needed, mut inputs, mut ops) = (values.to_vec(), Vec::new(), Vec::new());
        while let Some(value) = needed.pop() {
            if known.contains_key(&value) {
                if !inputs.contains(&value) {
                    inputs.push(value);
                }
            } else if let Some(op) = module.def_op(value)
                && !ops.contains(&op)
            {
                ops.push(op);
                needed.extend(module.ops[op].operands.iter().copied());
            }
        }
        ops.sort_unstable();
        let types: Vec<_> = inputs.iter().map(|&value| module.values[value].ty).collect();
        let region = module.add_region(&types);
        let args: HashMap<ValueId, ValueId> =
            inputs.iter().copied().zip(module.regions[region].args.iter().copied()).collect();
        let of = |value: ValueId| args.get(&value).copied().unwrap_or(value);
        for &op in &ops {
            let operands = module.ops[op].operands.iter().map(|&value| of(value)).collect();
            module.ops[op].operands = operands;
        }
        let returned: Vec<ValueId> = values.iter().map(|&value| of(value)).collect();
        let mut builder = Builder::new(&mut module);
        builder.ret(&returned);
        ops.extend(builder.take());
        module.set_ops(region, ops);
        let results = values.iter().map(|&value| module.values[value].ty).collect();
        let func = &mut module.funcs[main];
        (func.body, func.params, func.results) = (Some(region), types, results);
        keep_only(&mut module, "main").map_err(|e| error(&e))?;
        let arrays: Vec<HostArray> = inputs.iter().filter_map(|value| known.get(value)).cloned().collect();
        let client = devices.at_least(1).map_err(failed)?;
        exec::Program::single(client, &module)
            .and_then(|program| program.run(client, &arrays))
            .map_err(|e| error(&e))
    }

    /// The results of the functions of a `run_parallel`, each on its device.
    fn parallel(
        &self,
        op: OpId,
        blocks: Vec<HostArray>,
        mode: SpmdMode,
        devices: &mut Devices,
    ) -> Result<Vec<HostArray>, Answer> {
        let names = programs(&self.module, op);
        let Some(name) = names.first().filter(|first| names.iter().all(|name| name == *first)) else {
            return Err(failed("run_parallel runs several programs, or none"));
        };
        let mut module = self.module.clone();
        close(&mut module, name)?;
        keep_only(&mut module, name).map_err(|e| error(&e))?;
        let output = Compiler::new().spmd_mode(mode).partition_module(module).map_err(|e| error(&e))?;
        let count = output.num_devices();
        if count != names.len() {
            return Err(failed(format!(
                "@{name} is for {count} devices, the test runs it on {}",
                names.len()
            )));
        }
        let client = devices.at_least(count).map_err(failed)?;
        let run = || -> Result<Vec<HostArray>, Error> {
            let code = output.backend_code()?;
            let program = client.compile(&code, &exec::compile_options(mode, count))?;
            let each = blocks.len() / count;
            let mut arguments = Vec::with_capacity(count);
            for (i, device) in program.devices().iter().enumerate() {
                let own = blocks.iter().skip(i * each).take(each);
                let buffers = own.map(|block| client.buffer_from_host(block, device));
                arguments.push(buffers.collect::<Result<Vec<_>, _>>()?);
            }
            let mut outputs = Vec::new();
            for buffer in program.execute(&arguments)?.into_iter().flatten() {
                outputs.push(buffer.to_host()?);
            }
            Ok(outputs)
        };
        for (i, (tensor, block)) in output.interface.inputs.iter().zip(&blocks).enumerate() {
            let local: Vec<usize> =
                tensor.local_shape.iter().filter_map(|&n| usize::try_from(n).ok()).collect();
            if local != block.shape {
                let message = format!(
                    "argument {i} of @{name} is {local:?} on each device, the test has {:?}",
                    block.shape
                );
                return Err(failed(message));
            }
        }
        run().map_err(|e| error(&e))
    }
}

/// The functions of a module's text, without the enclosing module.
fn functions_of(text: &str) -> String {
    match (text.split_once('{'), text.trim_start().starts_with("module")) {
        (Some((_, rest)), true) => rest.rsplit_once('}').map_or(rest, |(inner, _)| inner).to_owned(),
        _ => text.to_owned(),
    }
}

/// The names of the functions of a `run_parallel`, by device.
fn programs(module: &Module, op: OpId) -> Vec<String> {
    let data = &module.ops[op];
    let inherent = match &data.kind {
        OpKind::Opaque(spec) => spec.props.get("programs"),
        _ => None,
    };
    let items = |attr: &Attr| match attr {
        Attr::Array(items) => items.to_vec(),
        other => vec![other.clone()],
    };
    let replicas = inherent.or_else(|| data.attrs.get("programs")).map(items).unwrap_or_default();
    let name = |attr: &Attr| match attr {
        Attr::Symbol(name) => Some(name.to_string()),
        _ => None,
    };
    replicas.iter().flat_map(items).filter_map(|attr| name(&attr)).collect()
}

/// Annotates unsharded values as replicated.
fn close(module: &mut Module, name: &str) -> Result<(), Answer> {
    let missing = || failed(format!("there is no function @{name} with a sharding"));
    let func = module.func_names.get(name).copied().ok_or_else(missing)?;
    let args = module.funcs[func].body.map(|body| module.regions[body].args.clone()).unwrap_or_default();
    let of_args = args.iter().filter_map(|&arg| module.shardings.sharding_of(arg));
    let of_results = module.funcs[func].res_shardings.iter().filter_map(|s| s.expand());
    let mesh = of_args
        .chain(of_results.map(|id| module.shardings.get(id)))
        .map(|sharding| sharding.mesh)
        .find(|&mesh| !module.meshes[mesh].is_maximal())
        .ok_or_else(missing)?;
    for arg in args {
        if module.shardings.of(arg).is_none() {
            let replicated = TensorSharding::replicated(mesh, module.rank(arg));
            let id = module.shardings.intern(replicated);
            module.shardings.set(arg, Some(id));
        }
    }
    let results = module.funcs[func].results.clone();
    let mut shardings = module.funcs[func].res_shardings.clone();
    shardings.resize(results.len(), PackedOption::default());
    for (slot, &ty) in shardings.iter_mut().zip(&results) {
        if slot.is_none() {
            let rank = module.types.as_tensor(ty).map_or(0, |tensor| tensor.rank());
            let id: ShardingId = module.shardings.intern(TensorSharding::replicated(mesh, rank));
            *slot = id.into();
        }
    }
    module.funcs[func].res_shardings = shardings;
    Ok(())
}

/// Keeps only one function, which has no calls.
fn keep_only(module: &mut Module, name: &str) -> Result<(), Error> {
    // `@main` would be the entry function, so it is removed unless it is the selected function.
    module.retain_funcs(|_, func| *func.name == *name || *func.name != *"main");
    for func in module.funcs.values_mut() {
        func.visibility = if *func.name == *name { Visibility::Public } else { Visibility::Private };
    }
    inline_calls(module)?;
    module.retain_funcs(|_, func| *func.name == *name);
    Ok(())
}
