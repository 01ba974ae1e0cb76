//! The compiler and `shardc opt --passes` run the same passes: the modules after each pass are equal.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::path::Path;

use shardc::{Compiler, Diagnostic, Module, SpmdMode};
use shardc_ir::{ValueDef, verify};
use shardc_passes::driver::context::PassContext;
use shardc_passes::driver::pass_options::PassOptions;
use shardc_passes::driver::passes::find;
use shardc_passes::driver::pipeline::{Flow, Observer, PassRun};
use shardc_passes::driver::strategy::Strategy;
use shardc_stablehlo::{PrintOptions, parse, print};

fn text(module: &Module) -> String {
    print(module, &PrintOptions::default())
}

/// Runs each pass again, by name and options only, on the printed text of the preceding module.
struct ByText {
    name: String,
    mode: SpmdMode,
    /// The printed program after the passes that precede propagation, which all propagation strategies share.
    imported: String,
    /// The attempted propagation strategies, with the current printed program of each.
    attempts: Vec<(Strategy, String)>,
    /// The passes that ran.
    passes: Vec<&'static str>,
}

impl Observer for ByText {
    fn before(&mut self, run: &PassRun<'_>, _: &Module) {
        let Some(strategy) = run.strategy else { return };
        if self.attempts.iter().all(|(tried, _)| *tried != strategy) {
            self.attempts.push((strategy, self.imported.clone()));
        }
    }

    fn after(
        &mut self,
        run: &PassRun<'_>,
        module: &mut Module,
        _: &PassContext,
    ) -> Result<Flow, Vec<Diagnostic>> {
        let step = run.step.text();
        let (name, options) = step.split_once('{').unwrap_or((&step, ""));
        let pass = find(name).expect("a pass of that name");
        let options = PassOptions::parse(options.trim_end_matches('}'), pass.options).expect("its options");
        let attempt = self.attempts.iter_mut().find(|(tried, _)| Some(*tried) == run.strategy);
        let before = attempt.map_or(&mut self.imported, |(_, text)| text);
        let mut alone = parse(before).unwrap_or_else(|e| panic!("{}: before {step}: {e:#?}", self.name));
        let done = pass.run(&mut alone, &mut PassContext::new(self.mode, options));
        done.unwrap_or_else(|e| panic!("{}: {step}: {e:#?}", self.name));
        let (ours, its) = (text(module), text(&alone));
        let differs = ours.lines().zip(its.lines()).find(|(a, b)| a != b);
        assert!(ours == its, "{}: after {step} ({:?}): {differs:#?}", self.name, run.strategy);
        *before = ours;
        self.passes.push(run.step.pass.name);
        Ok(Flow::Continue)
    }
}

#[test]
fn passes_by_name_match_the_compiler() {
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs");
    let mut strategies = Vec::new();
    for name in ["mlp_dp_tp_train.mlir", "llama_tiny_fsdp_tp_train.mlir", "llama_tiny_scan_remat_train.mlir"]
    {
        for mode in [SpmdMode::Replica, SpmdMode::Partition] {
            let source = std::fs::read(programs.join(name)).expect("a program");
            let module = Compiler::read(&source).expect("reads");
            let imported = text(&module);
            let mut by_text =
                ByText { name: name.to_owned(), mode, imported, attempts: Vec::new(), passes: Vec::new() };
            let output = Compiler::new().spmd_mode(mode).partition_observed(module, &mut by_text);
            assert!(output.expect("partitions").is_some());
            // The expected count consists of the passes before propagation, the passes of each propagation strategy, and the passes on the
            // result of the chosen strategy.
            let done = by_text.passes.iter().filter(|pass| **pass == "clean-collectives").count();
            // If the propagated shardings of a strategy equal those of the preceding strategy, the attempt ends after propagation.
            assert_eq!(
                by_text.passes.len(),
                9 + 25 * done + REPEATED.len() * (by_text.attempts.len() - done) + 1
            );
            strategies.extend(by_text.attempts.into_iter().map(|(strategy, _)| strategy.as_str()));
        }
    }
    assert!(strategies.contains(&"as-annotated") && strategies.contains(&"batch-first"), "{strategies:?}");
}

/// The passes that run for a propagation strategy whose shardings equal those of the preceding strategy.
const REPEATED: [&str; 2] = ["prioritize", "propagate"];

/// Records the passes, each with the propagation strategy that it ran for.
#[derive(Default)]
struct Passes(Vec<(Strategy, &'static str)>);

impl Observer for Passes {
    fn after(&mut self, run: &PassRun<'_>, _: &mut Module, _: &PassContext) -> Result<Flow, Vec<Diagnostic>> {
        self.0.extend(run.strategy.map(|strategy| (strategy, run.step.pass.name)));
        Ok(Flow::Continue)
    }
}

#[test]
fn repeated_attempt_ends_early() {
    // A parameter sharded on its contracting dimension does not conflict with the batch: both strategies propagate the same shardings. A
    // parameter sharded on its output features conflicts with the batch: the annotation that propagates first gets the axis.
    for (parameter, is_repeated) in [("{\"x\"}, {}", true), ("{}, {\"x\"}", false)] {
        let source = format!(
            r#"
            sdy.mesh @mesh = <["x"=4]>
            func.func @main(
                %a: tensor<8x16xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}, {{}}]>}},
                %w: tensor<16x1024xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{parameter}]>, tf.aliasing_output = 0 : i32}})
                -> (tensor<16x1024xf32>, tensor<8x1024xf32>) {{
              %0 = stablehlo.dot_general %a, %w, contracting_dims = [1] x [0]
                : (tensor<8x16xf32>, tensor<16x1024xf32>) -> tensor<8x1024xf32>
              %1 = stablehlo.negate %w : tensor<16x1024xf32>
              return %1, %0 : tensor<16x1024xf32>, tensor<8x1024xf32>
            }}"#
        );
        let module = Compiler::read(source.as_bytes()).expect("reads");
        let mut passes = Passes::default();
        let output = Compiler::new().partition_observed(module, &mut passes);
        assert!(output.expect("partitions").is_some());
        let second = passes.0.iter().filter(|(strategy, _)| *strategy == Strategy::BatchFirst);
        let second: Vec<&str> = second.map(|(_, pass)| *pass).collect();
        assert!(!second.is_empty());
        assert_eq!(second == REPEATED, is_repeated, "{parameter}: {second:?}");
    }
}

/// After the named pass, makes an operation use its own result as operand.
struct Damages(&'static str);

impl Observer for Damages {
    fn after(
        &mut self,
        run: &PassRun<'_>,
        module: &mut Module,
        _: &PassContext,
    ) -> Result<Flow, Vec<Diagnostic>> {
        if run.step.pass.name == self.0 {
            let body = module.entry().and_then(|entry| module.funcs[entry].body).expect("a body");
            let op = module.walk(body).into_iter().find(|&op| !module.ops[op].operands.is_empty());
            let op = op.expect("an operation with operands");
            let own = module.ops[op].results[0];
            assert!(matches!(module.values[own].def(), ValueDef::Result(..)));
            module.ops[op].operands[0] = own;
            verify(module)?;
        }
        Ok(Flow::Continue)
    }
}

#[test]
fn observer_error_ends_the_run() {
    let source = br#"
      sdy.mesh @mesh = <["x"=4]>
      func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> {
        %0 = stablehlo.negate %a : tensor<8xf32>
        return %0 : tensor<8xf32>
      }"#;
    for pass in ["inline", "plan", "localize"] {
        let module = Compiler::read(source).expect("reads");
        let error = Compiler::new().partition_observed(module, &mut Damages(pass)).unwrap_err();
        assert!(error.to_string().contains("SH02"), "{pass}: {error}");
    }
}
