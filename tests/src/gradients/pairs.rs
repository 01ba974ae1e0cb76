//! Functions with JAX's gradients, in `gradients` of the shared data: differentiated by shardc, compared with finite differences in
//! double precision, and partitioned.

use std::path::{Path, PathBuf};

use serde_json::Value;
use shardc::{Compiler, Error, SpmdMode, autodiff, exec};
use shardc_ir::{Module, OpId, OpKind};
use shardc_runtime::{Client, HostArray};

use super::{Compared, Range, Wrong, derivatives, differ, drawn};
use crate::fuzz::Rng;
use crate::interpret::shard;

/// A function of the manifest.
#[derive(Clone, Debug)]
pub struct Pair {
    /// The name of the function.
    pub name: String,
    /// The path of the file.
    pub file: PathBuf,
    /// The indices of the arguments with respect to which the function is differentiated.
    pub wrt: Vec<usize>,
    /// The interval of the random elements of each argument.
    pub ranges: Vec<Range>,
}

impl Pair {
    /// All functions in a folder.
    ///
    /// # Errors
    /// The manifest cannot be read, or has a different format.
    pub fn all(dir: &Path) -> Result<Vec<Pair>, String> {
        let path = dir.join("manifest.json");
        let wrong = |why: &str| format!("{}: {why}", path.display());
        let text = std::fs::read_to_string(&path).map_err(|e| wrong(&e.to_string()))?;
        let manifest: Value = serde_json::from_str(&text).map_err(|e| wrong(&e.to_string()))?;
        let programs = manifest["programs"].as_array().ok_or_else(|| wrong("no programs"))?;
        let pair = |program: &Value| {
            let args = program["args"].as_array()?;
            let differentiated = |i: &usize| args[*i]["differentiated"] == true;
            let range =
                |arg: &Value| Some((arg["input_range"][0].as_f64()?, arg["input_range"][1].as_f64()?));
            Some(Pair {
                name: program["name"].as_str()?.to_owned(),
                file: dir.join(program["forward"].as_str()?),
                wrt: (0..args.len()).filter(differentiated).collect(),
                ranges: args.iter().map(|arg| range(arg).unwrap_or((0.0, 2.0))).collect(),
            })
        };
        programs.iter().map(|p| pair(p).ok_or_else(|| wrong("a program of another form"))).collect()
    }

    /// Reads the function.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn forward(&self) -> Result<Module, Wrong> {
        let bytes =
            std::fs::read(&self.file).map_err(|e| Wrong::Values(format!("{}: {e}", self.file.display())))?;
        Ok(Compiler::read(&bytes)?)
    }

    /// The function's value and gradients.
    ///
    /// # Errors
    /// The file cannot be read, or the function cannot be differentiated.
    pub fn gradient(&self) -> Result<Module, Wrong> {
        let mut module = self.forward()?;
        autodiff::value_and_grad(&mut module, &self.wrt)?;
        Ok(module)
    }

    /// Compares derivatives with finite differences and with each other, including those of the gradient, in double precision. Returns
    /// `None` if the function has no form in double precision, or reduces the precision explicitly, because its derivatives then round at
    /// other points.
    ///
    /// # Errors
    /// A program is rejected, or numbers differ.
    pub fn derivatives(&self, client: &Client, seed: u64) -> Result<Option<Compared>, Wrong> {
        let forward = self.forward()?;
        let rounds = |op: &OpId| matches!(forward.ops[*op].kind, OpKind::ReducePrecision { .. });
        let ops = forward.bodies().flat_map(|body| forward.walk(body)).collect::<Vec<OpId>>();
        let Some(wide) = exec::widened(&forward).filter(|_| !ops.iter().any(rounds)) else { return Ok(None) };
        Ok(derivatives(client, &wide, &self.ranges, seed, true, false)?.map(|checked| checked.compared))
    }

    /// Random arguments of a program whose first arguments are those of the function. The other arguments are between minus one and one.
    ///
    /// # Errors
    /// There is no entry function, or an argument has an unknown size.
    pub fn inputs(&self, module: &Module) -> Result<Vec<HostArray>, Wrong> {
        let entry = module.entry().ok_or_else(|| Error::from(module.no_entry()))?;
        let mut rng = Rng::new("pairs", 0, 0);
        match drawn(module, &module.funcs[entry].params, &self.ranges, &mut rng) {
            Some(inputs) => Ok(inputs),
            None => differ("an argument without a size".to_owned()),
        }
    }

    /// Random arguments, and the value and gradients at them on one device.
    ///
    /// # Errors
    /// A program is rejected.
    pub fn reference(&self, client: &Client) -> Result<Reference, Wrong> {
        let gradient = self.gradient()?;
        let inputs = self.inputs(&gradient)?;
        let outputs = exec::Program::single(client, &gradient)?.run(client, &inputs)?;
        Ok(Reference { gradient, inputs, outputs })
    }

    /// Shards arguments at random, partitions the program, runs it, and compares with one device. The shardings are on the arguments of
    /// the function before differentiation, or on the arguments and some results of the gradient. Writes the partitioned program to a
    /// file, if one is named.
    ///
    /// # Errors
    /// A program is rejected, or numbers differ.
    pub fn partitioned(
        &self,
        client: &Client,
        reference: &Reference,
        mode: SpmdMode,
        seed: u64,
        out: Option<&Path>,
    ) -> Result<(), Wrong> {
        let sharded = if seed.is_multiple_of(2) {
            let mut module = reference.gradient.clone();
            shard(&mut module, seed, true);
            module
        } else {
            let mut module = self.forward()?;
            shard(&mut module, seed, false);
            autodiff::value_and_grad(&mut module, &self.wrt)?;
            module
        };
        shardc_ir::verify(&sharded).map_err(Error::from)?;
        let output = Compiler::new().spmd_mode(mode).partition_module(sharded)?;
        if let Some(out) = out {
            std::fs::write(out, output.text())
                .map_err(|e| Wrong::Values(format!("{}: {e}", out.display())))?;
        }
        let Reference { gradient, inputs, outputs } = reference;
        let checks = exec::verify_against(client, gradient, &output, inputs, outputs)?;
        match checks.iter().find(|check| !check.ok()) {
            Some(wrong) => differ(format!("output {}: {:?}", wrong.index, wrong.difference)),
            None => Ok(()),
        }
    }
}

/// The value and gradients of a function.
#[derive(Clone, Debug)]
pub struct Reference {
    gradient: Module,
    inputs: Vec<HostArray>,
    outputs: Vec<HostArray>,
}
