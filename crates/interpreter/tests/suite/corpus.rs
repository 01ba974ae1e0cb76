//! Real programs: every program of the corpora whose work is small runs in both domains, and limits end the others.

use std::fmt::Write as _;
use std::path::Path;

use shardc_filetest::sample::sample;
use shardc_filetest::skip::{Need, skip};
use shardc_filetest::{files, shared};
use shardc_interpreter::{Array, Domain, Error, Exact, Fault, Ieee, Options, Program, Value};
use shardc_ir::{DType, DTypeClass, Module, Type, TypeId};

use crate::conformance::exceptions;

/// One of this many programs runs; all of them in a thorough run.
const SAMPLE: usize = 6;
/// The work that each program may do.
const WORK: u64 = 1 << 22;
/// The number of elements that the arguments of a program may have.
const ARGUMENTS: usize = 1 << 20;

/// An argument with small numbers.
fn argument<D: Domain>(module: &Module, ty: TypeId, seed: usize) -> Option<Value<D>> {
    let tensor = match module.types.get(ty) {
        Type::Tensor(tensor) if tensor.is_static() => tensor,
        Type::Token => return Some(Value::Token),
        _ => return None,
    };
    let dims: Vec<usize> = tensor.shape.iter().map(|&n| n as usize).collect();
    let count: usize = dims.iter().product();
    if count > ARGUMENTS {
        return None;
    }
    let number = |i: usize| ((i * 37 + seed * 11) % 23) as f64 / 16.0 - 0.6;
    let bytes: Vec<u8> = (0..count)
        .flat_map(|i| match tensor.dtype.class() {
            DTypeClass::Float => {
                let bits = shardc_ir::floats::encode(tensor.dtype, number(i)).unwrap();
                bits.to_le_bytes()[..tensor.dtype.bytes()].to_vec()
            }
            DTypeClass::Complex => {
                let part = if tensor.dtype == DType::C64 { DType::F32 } else { DType::F64 };
                let bits = shardc_ir::floats::encode(part, number(i)).unwrap().to_le_bytes();
                [&bits[..part.bytes()], &bits[..part.bytes()]].concat()
            }
            _ => (((i + seed) % 2) as u64).to_le_bytes()[..tensor.dtype.bytes()].to_vec(),
        })
        .collect();
    Some(Value::Array(Array::from_bytes(&dims, tensor.dtype, &bytes).unwrap()))
}

/// Runs the entry function of a program; `None` if its arguments are too large.
fn run<D: Domain>(module: &Module) -> Option<Result<(), Box<Error>>> {
    let func = module.entry()?;
    let params = module.funcs[func].params.iter().enumerate();
    let args = params.map(|(i, &ty)| argument(module, ty, i)).collect::<Option<Vec<_>>>()?;
    let program = Program::<D>::new(module, Options { max_work: WORK, ..Options::default() });
    Some(program.call(func, args).map(|_| ()))
}

fn check(path: &Path, is_listed: bool, counts: &mut [usize; 4], failures: &mut String) {
    let text = std::fs::read_to_string(path).expect("a readable file");
    let module = shardc_stablehlo::parse(&text).unwrap_or_else(|errors| panic!("{path:?}: {errors:?}"));
    let name = path.file_name().expect("a file").to_string_lossy();
    for outcome in [run::<Ieee>(&module), run::<Exact>(&module)] {
        match outcome {
            None => counts[2] += 1,
            Some(Ok(())) => counts[0] += 1,
            Some(Err(error)) => match error.fault {
                Fault::WorkLimit(_) | Fault::Memory(_) => counts[1] += 1,
                // Calls of libraries, and computations on shards, are listed.
                Fault::Unsupported(_) | Fault::Invalid(_) if is_listed => counts[3] += 1,
                _ => {
                    let _ = writeln!(failures, "{name}: {error}");
                }
            },
        }
    }
}

#[test]
fn programs_run_or_reach_a_limit() {
    let Some(dir) = shared().map(|dir| dir.join("corpus")).filter(|dir| dir.is_dir()) else {
        return skip(Need::Shared, "the corpora");
    };
    let listed = exceptions();
    let (mut counts, mut failures) = ([0; 4], String::new());
    for path in sample(files(&dir, "mlir").expect("a readable folder").into_iter(), 0, SAMPLE) {
        let name = path.display().to_string();
        let is_listed = listed.iter().any(|exception| name.ends_with(&exception.path));
        check(&path, is_listed, &mut counts, &mut failures);
    }
    let [ended, limited, large, listed] = counts;
    eprintln!("{ended} runs end, {limited} reach a limit, {large} have large arguments, {listed} are listed");
    assert!(failures.is_empty(), "\n{failures}");
}
