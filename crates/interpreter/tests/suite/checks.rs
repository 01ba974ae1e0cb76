//! The operations of StableHLO's test files: `check.*`, `interpreter.*`.

use std::collections::BTreeMap;
use std::sync::Mutex;

use shardc_interpreter::{Array, Fault, Foreign, Grid, Handler, Ieee, Launch, Options, Program, Value};
use shardc_ir::{Attr, DType, Dense, FuncId, Module, OpKind};
use shardc_stablehlo::parse;

/// The default tolerance of `check.expect_almost_eq`, and the tolerance of `check.eq` for floats.
const ALMOST: f64 = 1e-4;
/// The tolerance of the custom call `check.expect_almost_eq`.
const ALMOST_IN_CALLS: f64 = 1e-3;
/// The default difference that `check.expect_close` allows, in units in the last place.
const STEPS: u64 = 3;

/// Evaluates checks, and runs programs on several devices.
pub(crate) struct Checks<'m> {
    module: &'m Module,
    /// The values of each probe, in order.
    probes: Mutex<BTreeMap<String, Vec<Array<Ieee>>>>,
    /// Number of checks that were evaluated.
    pub(crate) count: Mutex<usize>,
}

impl<'m> Checks<'m> {
    pub(crate) fn new(module: &'m Module) -> Self {
        Checks { module, probes: Mutex::default(), count: Mutex::default() }
    }

    /// Runs a function without parameters.
    pub(crate) fn run(&self, func: FuncId) -> Result<Vec<Value<Ieee>>, String> {
        let program = Program::new(self.module, Options::default()).with_handler(self);
        program.call(func, Vec::new()).map_err(|error| error.to_string())
    }

    fn run_parallel(&self, op: &Foreign<'_>, operands: &[Value<Ieee>]) -> Result<Vec<Value<Ieee>>, Fault> {
        let attr = |name: &str| op.props.get(name).or_else(|| op.attrs.get(name));
        let names = |attr: Option<&Attr>| match attr {
            Some(Attr::Array(items)) => items.clone(),
            _ => Vec::new(),
        };
        let func = |attr: &Attr| match attr {
            Attr::Symbol(name) => self.module.func_names[name],
            other => panic!("a program named {other:?}"),
        };
        let infeed = names(attr("infeed"));
        let infeed = infeed.iter().map(|name| {
            let results = self.run(func(name)).map_err(Fault::Failed)?;
            results.into_iter().next().unwrap().into_array()
        });
        let infeed = infeed.collect::<Result<Vec<_>, Fault>>()?;
        let replicas = names(attr("programs"));
        let programs: Vec<Vec<FuncId>> =
            replicas.iter().map(|row| names(Some(row)).iter().map(func).collect()).collect();
        let grid = Grid { replicas: programs.len(), partitions: programs[0].len() };
        let mut rest = operands;
        let mut launches = Vec::new();
        for func in programs.concat() {
            let (args, others) = rest.split_at(self.module.funcs[func].params.len());
            launches.push(Launch { func, args: args.to_vec() });
            rest = others;
        }
        let program = Program::new(self.module, Options::default()).with_handler(self);
        let outcome = program.run(grid, launches, infeed);
        Ok(outcome.map_err(|error| Fault::Failed(error.to_string()))?.results.concat())
    }

    fn check(&self, name: &str, op: &Foreign<'_>, operands: &[Value<Ieee>]) -> Result<(), Fault> {
        let number = |key: &str| {
            [op.props.get(key), op.attrs.get(key)].into_iter().flatten().find_map(|attr| match attr {
                Attr::Int(n, _) => Some(*n as f64),
                Attr::Raw(text) => text.split(':').next().and_then(|n| n.trim().parse().ok()),
                _ => None,
            })
        };
        let array = |index: usize| operands[index].clone().into_array();
        let (got, want) = match name {
            "expect_eq_const" | "expect_almost_eq_const" => {
                let Some(Attr::Raw(text)) = op.props.get("value").or_else(|| op.attrs.get("value")) else {
                    panic!("a check without a value: {op:?}");
                };
                (array(0)?, written(text))
            }
            "expect_serialized_eq" => {
                let Some(Attr::Str(id)) = op.props.get("probe_id").or_else(|| op.attrs.get("probe_id"))
                else {
                    panic!("a check without a probe: {op:?}");
                };
                let turn = number("iter").or_else(|| number("iteration")).unwrap_or(0.0) as usize;
                (array(0)?, self.probes.lock().unwrap()[&**id][turn].clone())
            }
            // In this check, the expected value is the first operand.
            "eq" => (array(1)?, array(0)?),
            _ => (array(0)?, array(1)?),
        };
        let close: Box<dyn Fn(f64, f64, DType) -> bool> = match name {
            "eq" | "expect_almost_eq" | "expect_almost_eq_const" => {
                let default = if op.is_custom_call && name != "eq" { ALMOST_IN_CALLS } else { ALMOST };
                let tolerance = number("tolerance").unwrap_or(default);
                Box::new(move |a, b, _| a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= tolerance)
            }
            "expect_close" => {
                let most = number("max_ulp_difference").map_or(STEPS, |n| n as u64);
                Box::new(move |a, b, dtype| distance(dtype, a, b) <= most)
            }
            _ => Box::new(|a, b, _| a == b),
        };
        *self.count.lock().unwrap() += 1;
        if got.dims() != want.dims() || got.dtype() != want.dtype() {
            let text =
                format!("{:?} {} instead of {:?} {}", got.dims(), got.dtype(), want.dims(), want.dtype());
            return Err(Fault::Failed(text));
        }
        let part = match got.dtype() {
            DType::C64 => DType::F32,
            DType::C128 => DType::F64,
            dtype => dtype,
        };
        let is_integer = !part.is_float();
        if is_integer && got.data() == want.data() {
            return Ok(());
        }
        let (a, b) = (got.to_f64_vec(), want.to_f64_vec());
        let wrong: Vec<usize> = (0..a.len()).filter(|&i| is_integer || !close(a[i], b[i], part)).collect();
        match wrong.first() {
            None => Ok(()),
            Some(&at) => Err(Fault::Failed(format!(
                "{} of {} numbers differ; number {at} is {:e} instead of {:e}",
                wrong.len(),
                a.len(),
                a[at],
                b[at],
            ))),
        }
    }
}

/// The distance of two floats in units in the last place.
fn distance(dtype: DType, a: f64, b: f64) -> u64 {
    if a.is_nan() && b.is_nan() {
        return 0;
    }
    if !a.is_finite() || !b.is_finite() {
        return if a == b { 0 } else { u64::MAX };
    }
    let magnitude = |x: f64| shardc_ir::floats::encode(dtype, x.abs()).unwrap();
    let (x, y) = (magnitude(a), magnitude(b));
    if a.is_sign_negative() == b.is_sign_negative() { x.abs_diff(y) } else { x + y }
}

impl Handler<Ieee> for Checks<'_> {
    fn call(&self, op: Foreign<'_>, operands: &[Value<Ieee>]) -> Option<Result<Vec<Value<Ieee>>, Fault>> {
        if let Some(name) = op.name.strip_prefix("check.") {
            let result = self.check(name, &op, operands);
            // `check.eq` returns a boolean.
            let results = if name == "eq" {
                let yes = Array::from_bytes(&[], DType::I1, &[1]).unwrap();
                vec![Value::Array(yes)]
            } else {
                Vec::new()
            };
            return Some(result.map(|()| results));
        }
        match op.name {
            "interpreter.print" => Some(Ok(Vec::new())),
            "interpreter.probe" => {
                if let (Some(Attr::Str(id)), Some(Value::Array(array))) =
                    (op.props.get("probe_id").or_else(|| op.attrs.get("probe_id")), operands.first())
                {
                    self.probes.lock().unwrap().entry(id.to_string()).or_default().push(array.clone());
                }
                Some(Ok(operands.to_vec()))
            }
            "interpreter.run_parallel" => Some(self.run_parallel(&op, operands)),
            _ => None,
        }
    }
}

/// The array in the text of an attribute, `dense<...> : tensor<...>`.
pub(crate) fn written(text: &str) -> Array<Ieee> {
    let ty = text.rsplit_once(" : ").map_or("", |(_, ty)| ty);
    let program = format!(
        "func.func @main() -> {ty} {{\n  %0 = \"stablehlo.constant\"() <{{value = {text}}}> : () -> {ty}\n  return %0 : {ty}\n}}"
    );
    let module = parse(&program).unwrap_or_else(|errors| panic!("{text}: {errors:?}"));
    let constant = module.ops.values().find_map(|op| match (&op.kind, op.results.first()) {
        (OpKind::Constant(dense), Some(&value)) => Some((value, dense)),
        _ => None,
    });
    let (value, dense) = constant.unwrap();
    let tensor = module.tensor(value).unwrap();
    let dims: Vec<usize> = tensor.shape.iter().map(|&n| n as usize).collect();
    let bytes = match dense {
        Dense::Splat(bytes) => bytes.to_vec(),
        Dense::Elements(bytes) => bytes.to_vec(),
        other => panic!("{other:?}"),
    };
    Array::from_bytes(&dims, tensor.dtype, &bytes).unwrap()
}
