//! The parts of a test: its inputs, its computation, and its expected results.

use shardc_ir::{
    AttrDict, FuncId, MeshId, Module, Op, OpId, OpKind, RegionId, ValueId, ValueMap, Visibility,
};
use shardc_passes::transforms::inline::inline_calls;
use shardc_runtime::HostArray;

use super::{
    expect::{self, Expectation, elements, expectation, is_check, is_probe},
    parallel,
};

/// A constant that can become an argument.
#[derive(Clone, Debug)]
pub(super) struct Input {
    pub(super) op: OpId,
    pub(super) value: ValueId,
    pub(super) array: HostArray,
}

/// A test without its checks: the function `main` of the program returns the checked values.
#[derive(Clone, Debug)]
pub struct Case {
    pub(super) module: Module,
    pub(super) body: RegionId,
    pub(super) inputs: Vec<Input>,
    pub(super) expectations: Vec<Expectation>,
    /// The mesh that the test requires, if any.
    pub(super) mesh: Option<MeshId>,
    /// The names of the operations that compute the results of the test.
    pub operations: Vec<String>,
}

impl Case {
    /// Splits the test `func` of a program into its parts.
    ///
    /// # Errors
    /// The test cannot become a program for devices: it runs other programs, checks nothing, or has values that are not tensors.
    pub fn new(mut module: Module, func: FuncId) -> Result<Case, String> {
        let mesh = parallel::one_program(&mut module, func)?;
        let body = alone(&mut module, func)?;
        drop_probes(&mut module, body);
        let mut expectations = Vec::new();
        let mut results = Vec::new();
        for &op in &module.regions[body].ops {
            if let Some((value, expectation)) = expectation(&module, &module.ops[op])? {
                results.push(value);
                expectations.push(expectation);
            }
        }
        if module.walk(body).iter().filter(|&&op| is_check(&module.ops[op].kind)).count() > results.len() {
            return Err("checks inside of a region".to_owned());
        }
        if results.is_empty() {
            let terminator = module.terminator(body).ok_or("a function without a return")?;
            results.extend(&module.ops[terminator].operands);
            let unknown = Expectation { expected: None, closeness: expect::Closeness::Equal };
            expectations.resize(results.len(), unknown);
        }
        if results.is_empty() {
            return Err("nothing comes out that could be compared".to_owned());
        }
        if let Some(&other) = results.iter().find(|&&v| module.tensor(v).is_none()) {
            let ty = module.types.display(module.values[other].ty);
            return Err(format!("a result of type {ty}, which no program returns"));
        }
        give_back(&mut module, body, &results)?;
        drop_unused(&mut module, body);
        let inputs = inputs(&module, body)?;
        let operations = super::operations(&module, body);
        if let Some(own) = operations.iter().find(|name| name.starts_with("interpreter.")) {
            return Err(format!("{own} is an operation of the interpreter"));
        }
        Ok(Case { module, body, inputs, expectations, mesh, operations })
    }
}

/// Makes `func` the only function, named `main`, and inlines its callees.
fn alone(module: &mut Module, func: FuncId) -> Result<RegionId, String> {
    let body = module.funcs[func].body.ok_or("a function without a body")?;
    if !module.regions[body].args.is_empty() {
        return Err("its arguments are given to the interpreter by hand".to_owned());
    }
    for (id, f) in &mut module.funcs {
        if id == func {
            f.name = "main".into();
            f.visibility = Visibility::Public;
        } else {
            f.name = format!("callee_{}", f.name).into();
            f.visibility = Visibility::Private;
        }
    }
    rename_calls(module);
    module.retain_funcs(|_, _| true);
    inline_calls(module)
        .map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))?;
    module.retain_funcs(|_, f| &*f.name == "main");
    let main = module.entry().ok_or("no entry function")?;
    module.funcs[main].body.ok_or_else(|| "a function without a body".to_owned())
}

fn rename_calls(module: &mut Module) {
    for op in module.ops.values_mut() {
        match &mut op.kind {
            OpKind::Call { callee } => *callee = format!("callee_{callee}").into(),
            OpKind::Composite(spec) => spec.decomposition = format!("callee_{}", spec.decomposition).into(),
            _ => {}
        }
    }
}

/// Replaces the results of probes by their operands.
fn drop_probes(module: &mut Module, body: RegionId) {
    let mut map = ValueMap::new();
    for op in module.walk(body) {
        for operand in &mut module.ops[op].operands {
            *operand = map.get(*operand);
        }
        let op = &module.ops[op];
        if let (true, Some(&from), Some(&to)) = (is_probe(&op.kind), op.results.first(), op.operands.first())
        {
            map.insert(from, to);
        }
    }
    for region in module.regions_under(body) {
        module.retain_ops(region, |module, op| !is_probe(&module.ops[op].kind));
    }
}

/// Makes the function return `results`, and removes its checks.
fn give_back(module: &mut Module, body: RegionId, results: &[ValueId]) -> Result<(), String> {
    let terminator = module.terminator(body).ok_or("a function without a return")?;
    module.ops[terminator].operands = results.iter().copied().collect();
    let types = results.iter().map(|&v| module.values[v].ty).collect();
    let main = module.entry().ok_or("no entry function")?;
    let func = &mut module.funcs[main];
    func.results = types;
    func.res_attrs = vec![AttrDict::new(); results.len()];
    func.res_shardings = vec![None.into(); results.len()];
    func.res_spans.clear();
    module.retain_ops(body, |module, op| !is_check(&module.ops[op].kind));
    Ok(())
}

/// Removes constants that only the removed checks used.
fn drop_unused(module: &mut Module, body: RegionId) {
    let uses = module.uses();
    module.retain_ops(body, |module, op| {
        let data = &module.ops[op];
        !matches!(data.kind, OpKind::Constant(_)) || data.results.iter().any(|&v| !uses.of(v).is_empty())
    });
}

fn inputs(module: &Module, body: RegionId) -> Result<Vec<Input>, String> {
    let mut inputs = Vec::new();
    for &op in &module.regions[body].ops {
        let (OpKind::Constant(dense), Some(&value)) = (&module.ops[op].kind, module.ops[op].results.first())
        else {
            continue;
        };
        // Operands that specify sizes must stay constants.
        if module.tensor(value).is_some() && !is_size(module, value) {
            inputs.push(Input { op, value, array: elements(module, value, dense)? });
        }
    }
    Ok(inputs)
}

/// Whether a value is a size, which must stay a constant.
pub(super) fn is_size(module: &Module, value: ValueId) -> bool {
    let reads_sizes = |op: &Op| matches!(op.kind, OpKind::Dynamic(_) | OpKind::SetDimensionSize { .. });
    module.ops.values().any(|op| reads_sizes(op) && op.operands.contains(&value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_composite_keeps_its_decomposition() {
        let text = "func.func @test() {
            %0 = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
            %1 = stablehlo.composite \"my.op\" %0 {decomposition = @impl} : (tensor<2xf32>) -> tensor<2xf32>
            check.expect_almost_eq_const %1, dense<[-1.0, -2.0]> : tensor<2xf32>
            func.return
        }
        func.func private @impl(%a: tensor<2xf32>) -> tensor<2xf32> {
            %0 = stablehlo.negate %a : tensor<2xf32>
            func.return %0 : tensor<2xf32>
        }";
        let module = shardc_stablehlo::parse(text).unwrap();
        let func = module.func_names["test"];
        let case = Case::new(module, func).unwrap();
        assert_eq!(shardc_ir::verify(&case.module), Ok(()));
        assert!(case.operations.iter().any(|name| name == "negate"), "{:?}", case.operations);
    }
}
