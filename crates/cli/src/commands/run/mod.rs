//! `shardc run`

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use serde_json::{Value, json};
use shardc::exec::{Program, random_inputs, run_need};
use shardc::ir::DType;
use shardc::runtime::{ArrayType, HostArray};
use shardc_passes::annotations::names::Names;

use super::{cpu_client, limits, runtime_error};
use crate::args::RunArgs;
use crate::failure::Failure;
use crate::job;
use crate::output::Outputs;
use crate::ui::Ui;
use crate::ui::table::Table;

pub(crate) fn run(args: &RunArgs, ui: &Ui) -> Result<ExitCode> {
    let saved = args.outputs.as_deref().map(|path| ("--outputs", path));
    let given = args.inputs.as_deref().map(|path| ("--inputs", path));
    let inputs: Vec<_> = given.into_iter().chain([args.input.named()]).collect();
    let mut files = Outputs::plan(&args.how.outputs(&[saved]), &inputs)?;
    let mut job = job::partition(&args.input, &args.how, ui)?;
    let client = cpu_client(&args.device, &job.output.interface.mesh)?;
    let limits = limits(&args.device);
    // Before the inputs are made, and before anything is compiled.
    run_need(&job.output.interface).check("running the program", limits.memory).map_err(runtime_error)?;
    let mut inputs =
        random_inputs(&job.output.interface, args.device.seed).map_err(|e| job.source.explain(&e))?;
    if let Some(path) = &args.inputs {
        load(path, &Names::of_interface(&job.output.interface), &mut inputs)?;
    }
    job.progress.stage("compile");
    let program = Program::partitioned(&client, &job.output).map_err(|e| job.source.explain(&e))?;
    let program = program.with_limits(limits);
    job.progress.stage("run");
    let outputs = program.run(&client, &inputs).map_err(|e| job.source.explain(&e))?;
    job.finish(&mut files, &args.how, ui)?;
    if let Some(path) = &args.outputs {
        files.put(path, serialized(&outputs)?)?;
    }
    files.commit()?;
    let rows: Vec<Row> = outputs
        .iter()
        .zip(&job.output.interface.outputs)
        .map(|(array, tensor)| Row::new(array, tensor.global.to_string(), tensor.name.clone()))
        .collect();
    ui.result(
        || ui.table(&table(&rows)),
        || json!({ "version": 1, "outputs": rows.iter().map(Row::json).collect::<Vec<_>>() }),
    )?;
    Ok(ExitCode::SUCCESS)
}

/// What is told of an output.
struct Row {
    name: Option<String>,
    ty: String,
    smallest: f64,
    largest: f64,
    mean: f64,
}

impl Row {
    fn new(array: &HostArray, ty: String, name: Option<String>) -> Row {
        let values = array.to_f64_vec();
        let fold = |f: fn(f64, f64) -> f64, start: f64| values.iter().copied().fold(start, f);
        Row {
            name,
            ty,
            smallest: fold(f64::min, f64::INFINITY),
            largest: fold(f64::max, f64::NEG_INFINITY),
            mean: values.iter().sum::<f64>() / values.len().max(1) as f64,
        }
    }

    /// Numbers that are not finite are null.
    fn json(&self) -> Value {
        json!({
            "name": self.name,
            "type": self.ty,
            "smallest": self.smallest,
            "largest": self.largest,
            "mean": self.mean,
        })
    }
}

fn table(rows: &[Row]) -> Table {
    let mut table = Table::new(&["output", "type", ">smallest", ">largest", ">mean"]);
    for (i, row) in rows.iter().enumerate() {
        let name = row.name.as_deref().map(|n| format!(" ({n})")).unwrap_or_default();
        let number = |n: f64| format!("{n:.6}");
        let (name, ty) = (format!("out{i}{name}"), row.ty.clone());
        table.row(vec![name, ty, number(row.smallest), number(row.largest), number(row.mean)]);
    }
    table
}

const TYPES: &[(DType, Dtype)] = &[
    (DType::I1, Dtype::BOOL),
    (DType::I8, Dtype::I8),
    (DType::UI8, Dtype::U8),
    (DType::I16, Dtype::I16),
    (DType::UI16, Dtype::U16),
    (DType::I32, Dtype::I32),
    (DType::UI32, Dtype::U32),
    (DType::I64, Dtype::I64),
    (DType::UI64, Dtype::U64),
    (DType::F16, Dtype::F16),
    (DType::BF16, Dtype::BF16),
    (DType::F32, Dtype::F32),
    (DType::F64, Dtype::F64),
];

/// Puts the arrays of a file in the place of inputs. Everything that does not fit is said at once.
fn load(path: &Path, names: &Names, inputs: &mut [HostArray]) -> Result<()> {
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let file = SafeTensors::deserialize(&bytes)
        .with_context(|| format!("{} is not a safetensors file", path.display()))?;
    let mut tensors = file.tensors();
    tensors.sort_by(|a, b| a.0.cmp(&b.0));
    let mut wrong = Vec::new();
    let mut unknown = Vec::new();
    let mut given: BTreeMap<usize, String> = BTreeMap::new();
    for (name, view) in tensors {
        let index = match names.find_argument(&name) {
            Ok(index) => index,
            Err(error) => {
                unknown.push(error);
                continue;
            }
        };
        if let Some(other) = given.insert(index, name.clone()) {
            wrong.push(format!("{other} and {name} are the same input"));
            continue;
        }
        let wanted = inputs[index].ty();
        let dtype = TYPES.iter().find(|(_, t)| *t == view.dtype()).map(|(d, _)| *d);
        match dtype.map(|dtype| ArrayType { dtype, shape: view.shape().to_vec() }) {
            Some(ty) if ty == wanted => {
                let data = view.data().to_vec();
                inputs[index] = HostArray::new(wanted.dtype, view.shape(), data).map_err(runtime_error)?;
            }
            Some(ty) => wrong.push(format!("{name} is {ty}, and {wanted} is expected")),
            None => {
                wrong.push(format!("{name} has elements of {:?}, and {wanted} is expected", view.dtype()))
            }
        }
    }
    if wrong.is_empty() {
        return match unknown.is_empty() {
            true => Ok(()),
            false => Err(Failure::of(&unknown.into(), &path.display().to_string(), "").into()),
        };
    }
    wrong.extend(unknown.iter().map(|error| error.message.clone()));
    let message = match wrong.as_slice() {
        [only] => format!("{}: {only}", path.display()),
        all => format!("{}: {} inputs do not fit:\n  {}", path.display(), all.len(), all.join("\n  ")),
    };
    let hint = unknown.into_iter().find_map(|error| error.hint.map(|hint| hint.to_string()));
    Err(Failure::Runtime { code: "RT0303".to_owned(), message, notes: Vec::new(), hint }.into())
}

fn serialized(outputs: &[HostArray]) -> Result<Vec<u8>> {
    let mut tensors = BTreeMap::new();
    for (i, array) in outputs.iter().enumerate() {
        let Some((_, dtype)) = TYPES.iter().find(|(d, _)| *d == array.dtype) else {
            bail!("out{i} has type {}, which safetensors does not have", array.dtype);
        };
        tensors.insert(format!("out{i}"), TensorView::new(*dtype, array.shape.clone(), &array.data)?);
    }
    Ok(safetensors::serialize(tensors, None)?)
}
