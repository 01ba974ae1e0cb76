//! Programs in text, and arrays of numbers.

use shardc_interpreter::{Array, Domain, Grid, Launch, Options, Program, Value};
use shardc_ir::{DType, Module};

/// Reads and verifies a program.
pub(crate) fn module(text: &str) -> Module {
    let module = shardc_stablehlo::parse(text).unwrap_or_else(|errors| panic!("{errors:?}\n{text}"));
    shardc_ir::verify(&module).unwrap_or_else(|errors| panic!("{errors:?}\n{text}"));
    module
}

/// An array of `f32`.
pub(crate) fn floats<D: Domain>(dims: &[usize], values: &[f32]) -> Value<D> {
    let bytes: Vec<u8> = values.iter().flat_map(|x| x.to_le_bytes()).collect();
    Value::Array(Array::from_bytes(dims, DType::F32, &bytes).unwrap())
}

/// Runs `main` on one device.
pub(crate) fn run<D: Domain>(text: &str, args: Vec<Value<D>>, options: Options) -> Result<Array<D>, String> {
    let module = module(text);
    let program = Program::<D>::new(&module, options);
    let results = program.call(module.entry().unwrap(), args).map_err(|error| error.to_string())?;
    Ok(results[0].as_array().unwrap().clone())
}

/// Runs `main` on each partition, with its own arguments; returns the first result of each.
pub(crate) fn partitions<D: Domain>(text: &str, args: Vec<Vec<Value<D>>>) -> Result<Vec<Array<D>>, String> {
    let module = module(text);
    let func = module.entry().unwrap();
    let program = Program::<D>::new(&module, Options::default());
    let grid = Grid { replicas: 1, partitions: args.len() };
    let launches = args.into_iter().map(|args| Launch { func, args }).collect();
    let outcome = program.run(grid, launches, Vec::new()).map_err(|error| error.to_string())?;
    Ok(outcome.results.iter().map(|results| results[0].as_array().unwrap().clone()).collect())
}
