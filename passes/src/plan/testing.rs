//! Runs the pipeline up to a given pass on small programs, for unit tests of planning.

use shardc_ir::{Diagnostic, Module, OpId, TensorSharding, verify};
use shardc_stablehlo::{PrintOptions, parse, print};

use crate::analysis::regions::program_ops;
use crate::driver::context::PassContext;
use crate::driver::pipeline::{Flow, Observer, PassRun, Pipeline, run};

/// A program before and after a pass.
#[derive(Debug)]
pub(super) struct Around {
    before: String,
    /// The program after the pass, as text.
    pub(super) after: String,
    /// The program after the pass.
    pub(super) module: Module,
    /// The codes of the warnings up to and including the pass.
    pub(super) warnings: Vec<&'static str>,
}

impl Around {
    /// Whether the pass leaves the program unchanged.
    pub(super) fn is_same(&self) -> bool {
        self.before == self.after
    }

    /// Returns how many occurrences of a text the pass adds to the program.
    pub(super) fn added(&self, text: &str) -> isize {
        let count = |program: &str| program.matches(text).count() as isize;
        count(&self.after) - count(&self.before)
    }

    /// Returns the shardings of the results of all operations with this name after the pass, as text, in program order.
    pub(super) fn shardings(&self, name: &str) -> Vec<String> {
        let module = &self.module;
        let body = module.funcs[module.entry().unwrap()].body.unwrap();
        let ops = program_ops(module, body).into_iter().map(|op| &module.ops[op]);
        let results = ops.filter(|op| op.kind.name() == name).flat_map(|op| &op.results);
        results.map(|&result| self.text_of(module.shardings.sharding_of(result))).collect()
    }

    /// Returns the sharding of each argument after the pass, as text.
    pub(super) fn arguments(&self) -> Vec<String> {
        let module = &self.module;
        let body = module.funcs[module.entry().unwrap()].body.unwrap();
        let args = &module.regions[body].args;
        args.iter().map(|&arg| self.text_of(module.shardings.sharding_of(arg))).collect()
    }

    fn text_of(&self, sharding: Option<&TensorSharding>) -> String {
        sharding.map_or_else(|| "none".to_owned(), |s| s.display(&self.module.meshes[s.mesh]))
    }
}

/// Runs the passes of the compiler up to the first one called `name`, on a program that defines its meshes. Verifies the module after each
/// pass.
pub(super) fn try_around(name: &str, program: &str) -> Result<Around, Vec<Diagnostic>> {
    let mut module = parse(program).unwrap();
    let mut context = PassContext { in_pipeline: true, ..PassContext::default() };
    let Pipeline { import, attempt, .. } = Pipeline::partition();
    let steps: Vec<_> = import.into_iter().chain(attempt).collect();
    let mut watch = Watch { name, before: String::new() };
    let (flow, warnings) = run(&steps, &mut module, &mut context, None, &mut 0, &mut watch)?;
    assert_eq!(flow, Flow::Stop, "no pass is called {name}");
    let warnings = warnings.iter().map(|warning| warning.code).collect();
    Ok(Around { before: watch.before, after: printed(&module), module, warnings })
}

/// Runs the passes like [`try_around`], on a program with a mesh `@mesh` of these axes. The passes must succeed.
pub(super) fn around(name: &str, axes: &str, program: &str) -> Around {
    try_around(name, &format!("sdy.mesh @mesh = <[{axes}]>\n{program}")).unwrap()
}

/// Returns the codes of the errors that the passes up to the pass `name` report for a program.
pub(super) fn refused(name: &str, program: &str) -> Vec<&'static str> {
    try_around(name, program).unwrap_err().iter().map(|error| error.code).collect()
}

/// Returns the first operation of the entry function that has this name.
pub(super) fn op_named(module: &Module, name: &str) -> OpId {
    let body = module.funcs[module.entry().unwrap()].body.unwrap();
    program_ops(module, body).into_iter().find(|&op| module.ops[op].kind.name() == name).unwrap()
}

/// Records the program before a pass, and stops after that pass.
struct Watch<'a> {
    name: &'a str,
    before: String,
}

impl Observer for Watch<'_> {
    fn before(&mut self, run: &PassRun<'_>, module: &Module) {
        if run.step.pass.name == self.name {
            self.before = printed(module);
        }
    }

    fn after(
        &mut self,
        run: &PassRun<'_>,
        module: &mut Module,
        _: &PassContext,
    ) -> Result<Flow, Vec<Diagnostic>> {
        verify(module)?;
        Ok(if run.step.pass.name == self.name { Flow::Stop } else { Flow::Continue })
    }
}

fn printed(module: &Module) -> String {
    print(module, &PrintOptions::default())
}
