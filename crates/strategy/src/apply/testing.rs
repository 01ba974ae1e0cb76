//! Runs apply steps on small programs, for the tests of these steps.

use shardc_analysis::annotations::spec::MeshSpec;
use shardc_analysis::propagate::DimensionClasses;
use shardc_ir::{Diagnostic, Module};
use shardc_stablehlo::{PrintOptions, parse, print};

use super::context::Context;
use super::steps::ApplyStep;
use crate::roles::{Role, RoleOverrides, roles};
use crate::settings::Settings;

/// A step that trains one weight.
pub(super) const ONE_WEIGHT: &str = r#"func.func @main(
    %w: tensor<16x8xf32> {tf.aliasing_output = 0 : i32} loc("w"), %x: tensor<8x16xf32> loc("x"))
    -> (tensor<16x8xf32>, tensor<f32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
  %square = stablehlo.multiply %y, %y : tensor<8x8xf32>
  %loss = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x8xf32>, tensor<f32>) -> tensor<f32>
  %dy = stablehlo.add %y, %y : tensor<8x8xf32>
  %g = stablehlo.dot_general %x, %dy, contracting_dims = [0] x [0] : (tensor<8x16xf32>, tensor<8x8xf32>) -> tensor<16x8xf32>
  %n = stablehlo.subtract %w, %g : tensor<16x8xf32>
  return %n, %loss : tensor<16x8xf32>, tensor<f32>
}"#;

/// A step that trains two layers of two weights.
pub(super) const TWO_LAYERS: &str = r#"func.func @main(
    %a0: tensor<16x16xf32> {tf.aliasing_output = 0 : i32} loc("params['h'][0]['a']"),
    %b0: tensor<16x16xf32> {tf.aliasing_output = 1 : i32} loc("params['h'][0]['b']"),
    %a1: tensor<16x16xf32> {tf.aliasing_output = 2 : i32} loc("params['h'][1]['a']"),
    %b1: tensor<16x16xf32> {tf.aliasing_output = 3 : i32} loc("params['h'][1]['b']"),
    %x: tensor<8x16xf32> loc("x"))
    -> (tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>, tensor<f32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %u0 = stablehlo.dot_general %x, %a0, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
  %e0 = stablehlo.exponential %u0 : tensor<8x16xf32>
  %h1 = stablehlo.dot_general %e0, %b0, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
  %u1 = stablehlo.dot_general %h1, %a1, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
  %e1 = stablehlo.exponential %u1 : tensor<8x16xf32>
  %y = stablehlo.dot_general %e1, %b1, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
  %square = stablehlo.multiply %y, %y : tensor<8x16xf32>
  %loss = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x16xf32>, tensor<f32>) -> tensor<f32>
  %dy = stablehlo.add %y, %y : tensor<8x16xf32>
  %gb1 = stablehlo.dot_general %e1, %dy, contracting_dims = [0] x [0] : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<16x16xf32>
  %de1 = stablehlo.dot_general %dy, %b1, contracting_dims = [1] x [1] : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
  %du1 = stablehlo.multiply %de1, %e1 : tensor<8x16xf32>
  %ga1 = stablehlo.dot_general %h1, %du1, contracting_dims = [0] x [0] : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<16x16xf32>
  %dh1 = stablehlo.dot_general %du1, %a1, contracting_dims = [1] x [1] : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
  %gb0 = stablehlo.dot_general %e0, %dh1, contracting_dims = [0] x [0] : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<16x16xf32>
  %de0 = stablehlo.dot_general %dh1, %b0, contracting_dims = [1] x [1] : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
  %du0 = stablehlo.multiply %de0, %e0 : tensor<8x16xf32>
  %ga0 = stablehlo.dot_general %x, %du0, contracting_dims = [0] x [0] : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<16x16xf32>
  %na0 = stablehlo.subtract %a0, %ga0 : tensor<16x16xf32>
  %nb0 = stablehlo.subtract %b0, %gb0 : tensor<16x16xf32>
  %na1 = stablehlo.subtract %a1, %ga1 : tensor<16x16xf32>
  %nb1 = stablehlo.subtract %b1, %gb1 : tensor<16x16xf32>
  return %na0, %nb0, %na1, %nb1, %loss : tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>, tensor<f32>
}"#;

/// A step whose loop reads rows of a stack of layers, and whose update multiplies the layers' matrices. Argument 1 is the batch.
pub(super) const STACK: &str = r#"func.func @main(
    %w: tensor<4x8x8xf32> {tf.aliasing_output = 0 : i32}, %x: tensor<8x8xf32>) -> (tensor<4x8x8xf32>, tensor<f32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %layers = stablehlo.constant dense<4> : tensor<i32>
  %nothing = stablehlo.constant dense<0.0> : tensor<f32>
  %r:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i32>, tensor<8x8xf32>
    cond {
      %c = stablehlo.compare LT, %i, %layers : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %row = stablehlo.dynamic_slice %w, %i, %zero, %zero, sizes = [1, 8, 8] : (tensor<4x8x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x8x8xf32>
      %layer = stablehlo.reshape %row : (tensor<1x8x8xf32>) -> tensor<8x8xf32>
      %next = stablehlo.dot_general %y, %layer, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
      %j = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %j, %next : tensor<i32>, tensor<8x8xf32>
    }
  %outer = stablehlo.dot_general %x, %r#1, contracting_dims = [0] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %all = stablehlo.broadcast_in_dim %outer, dims = [1, 2] : (tensor<8x8xf32>) -> tensor<4x8x8xf32>
  %g = stablehlo.multiply %all, %w : tensor<4x8x8xf32>
  %t = stablehlo.transpose %g, dims = [0, 2, 1] : (tensor<4x8x8xf32>) -> tensor<4x8x8xf32>
  %product = stablehlo.dot_general %g, %t, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<4x8x8xf32>, tensor<4x8x8xf32>) -> tensor<4x8x8xf32>
  %new = stablehlo.subtract %w, %product : tensor<4x8x8xf32>
  %loss = stablehlo.reduce(%r#1 init: %nothing) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x8xf32>, tensor<f32>) -> tensor<f32>
  return %new, %loss : tensor<4x8x8xf32>, tensor<f32>
}"#;

/// The program before and after an apply step.
pub(super) struct Around {
    pub(super) before: String,
    pub(super) after: String,
    /// After the step: the names of units, the number of warnings, and the indices of arguments whose rows loops read.
    pub(super) units: Option<Vec<String>>,
    pub(super) warnings: usize,
    pub(super) stacks: Vec<usize>,
}

impl Around {
    /// Returns the number of occurrences of a text that the step adds to the program.
    pub(super) fn added(&self, text: &str) -> usize {
        self.after.matches(text).count() - self.before.matches(text).count()
    }

    /// Returns whether the step leaves the program unchanged.
    pub(super) fn is_same(&self) -> bool {
        self.before == self.after
    }
}

/// Runs the apply steps up to step `name`, with settings in short form, on a mesh; `given` gives the roles of some arguments. Checks after
/// each step that cached dimension classes are still valid.
pub(super) fn try_around(
    name: &str,
    text: &str,
    (words, mesh): (&str, &str),
    given: &[(usize, Role)],
) -> Result<Around, Vec<Diagnostic>> {
    let mut module = parse(text).unwrap();
    let roles = roles(&module, &RoleOverrides { roles: given.to_vec(), loss: None })?;
    let settings = Settings::from_words(words)?;
    let mut context =
        Context::new(&mut module, &roles, &settings, &mesh.parse::<MeshSpec>().unwrap().to_mesh())?;
    context.wrap = settings.wrap;
    let mut before = printed(&module);
    for step in ApplyStep::ALL {
        (step.apply)(&mut module, &mut context)?;
        shardc_ir::verify(&module)?;
        check_classes(step.name, &module, &context);
        let after = printed(&module);
        if step.name == name {
            let units = context.units.as_ref().map(|units| units.names.clone());
            let has_rows = |i: &usize| context.stacked(&module).has_rows(context.args[*i]);
            let stacks = (0..context.args.len()).filter(has_rows).collect();
            return Ok(Around { before, after, units, warnings: context.warnings.len(), stacks });
        }
        before = after;
    }
    panic!("no step is called {name}");
}

/// Runs the apply steps up to step `name`, as [`try_around`] does, and panics on an error.
pub(super) fn around(name: &str, text: &str, how: (&str, &str), given: &[(usize, Role)]) -> Around {
    try_around(name, text, how, given).unwrap()
}

fn printed(module: &Module) -> String {
    print(module, &PrintOptions::default())
}

fn check_classes(step: &str, module: &Module, context: &Context<'_>) {
    let Some(cached) = context.cached_dimensions() else { return };
    let new = DimensionClasses::of_func(module, context.func).unwrap();
    let results = module.walk(context.body).into_iter().flat_map(|op| module.ops[op].results.to_vec());
    for value in context.args.iter().copied().chain(results) {
        assert_eq!(cached.classes.of(value), new.of(value), "{step} does not invalidate dimension classes");
    }
}
