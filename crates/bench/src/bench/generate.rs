//! Generates programs of any size, to measure the scaling of passes.
//!
//! Each program is a sequence of transformer layers on a mesh of two axes. Shapes do not depend on the mesh, so programs of one size differ
//! only in their shardings.

use std::fmt::Write as _;

/// The structure of a program.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// A sequence of layers with annotated weights, as in a real model.
    Layers,
    /// Each layer in a separate loop.
    Loops,
    /// Like [`Shape::Layers`], but only one weight of the last layer is annotated, and its sharding propagates through the entire program.
    Far,
}

impl Shape {
    pub(super) const ALL: [Shape; 3] = [Shape::Layers, Shape::Loops, Shape::Far];

    pub(super) fn name(self) -> &'static str {
        match self {
            Shape::Layers => "layers",
            Shape::Loops => "loops",
            Shape::Far => "far",
        }
    }

    /// Number of operations of one layer.
    fn operations(self) -> usize {
        // The layer has three reductions, and the body of each has two operations.
        let layer = LAYER.lines().count() + 6;
        match self {
            Shape::Layers | Shape::Far => layer,
            // A loop adds the `while`, three constants, the comparison, the addition, and two region terminators.
            Shape::Loops => layer + 8,
        }
    }
}

/// A layer's text, in which `X` is replaced by the input, `O` by the output, and `P` by the prefix of value names.
const LAYER: &str = "\
%P_sq = stablehlo.multiply X, X : tensor<256x64x1024xf32>
%P_zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
%P_ss = stablehlo.reduce(%P_sq init: %P_zero) applies stablehlo.add across dimensions = [2] : (tensor<256x64x1024xf32>, tensor<f32>) -> tensor<256x64xf32>
%P_eps = stablehlo.constant dense<1.000000e-03> : tensor<f32>
%P_epsb = stablehlo.broadcast_in_dim %P_eps, dims = [] : (tensor<f32>) -> tensor<256x64xf32>
%P_ms = stablehlo.add %P_ss, %P_epsb : tensor<256x64xf32>
%P_r = stablehlo.rsqrt %P_ms : tensor<256x64xf32>
%P_rb = stablehlo.broadcast_in_dim %P_r, dims = [0, 1] : (tensor<256x64xf32>) -> tensor<256x64x1024xf32>
%P_n = stablehlo.multiply X, %P_rb : tensor<256x64x1024xf32>
%P_g = stablehlo.broadcast_in_dim %P_scale, dims = [2] : (tensor<1024xf32>) -> tensor<256x64x1024xf32>
%P_h = stablehlo.multiply %P_n, %P_g : tensor<256x64x1024xf32>
%P_q = stablehlo.dot_general %P_h, %P_wq, contracting_dims = [2] x [0] : (tensor<256x64x1024xf32>, tensor<1024x256x4xf32>) -> tensor<256x64x256x4xf32>
%P_k = stablehlo.dot_general %P_h, %P_wk, contracting_dims = [2] x [0] : (tensor<256x64x1024xf32>, tensor<1024x256x4xf32>) -> tensor<256x64x256x4xf32>
%P_v = stablehlo.dot_general %P_h, %P_wv, contracting_dims = [2] x [0] : (tensor<256x64x1024xf32>, tensor<1024x256x4xf32>) -> tensor<256x64x256x4xf32>
%P_s = stablehlo.dot_general %P_q, %P_k, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3] : (tensor<256x64x256x4xf32>, tensor<256x64x256x4xf32>) -> tensor<256x256x64x64xf32>
%P_least = stablehlo.constant dense<0xFF800000> : tensor<f32>
%P_m = stablehlo.reduce(%P_s init: %P_least) applies stablehlo.maximum across dimensions = [3] : (tensor<256x256x64x64xf32>, tensor<f32>) -> tensor<256x256x64xf32>
%P_mb = stablehlo.broadcast_in_dim %P_m, dims = [0, 1, 2] : (tensor<256x256x64xf32>) -> tensor<256x256x64x64xf32>
%P_d = stablehlo.subtract %P_s, %P_mb : tensor<256x256x64x64xf32>
%P_e = stablehlo.exponential %P_d : tensor<256x256x64x64xf32>
%P_sum = stablehlo.reduce(%P_e init: %P_zero) applies stablehlo.add across dimensions = [3] : (tensor<256x256x64x64xf32>, tensor<f32>) -> tensor<256x256x64xf32>
%P_sumb = stablehlo.broadcast_in_dim %P_sum, dims = [0, 1, 2] : (tensor<256x256x64xf32>) -> tensor<256x256x64x64xf32>
%P_p = stablehlo.divide %P_e, %P_sumb : tensor<256x256x64x64xf32>
%P_o = stablehlo.dot_general %P_p, %P_v, batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [1] : (tensor<256x256x64x64xf32>, tensor<256x64x256x4xf32>) -> tensor<256x256x64x4xf32>
%P_t = stablehlo.transpose %P_o, dims = [0, 2, 1, 3] : (tensor<256x256x64x4xf32>) -> tensor<256x64x256x4xf32>
%P_flat = stablehlo.reshape %P_t : (tensor<256x64x256x4xf32>) -> tensor<256x64x1024xf32>
%P_a = stablehlo.dot_general %P_flat, %P_wo, contracting_dims = [2] x [0] : (tensor<256x64x1024xf32>, tensor<1024x1024xf32>) -> tensor<256x64x1024xf32>
%P_y = stablehlo.add X, %P_a : tensor<256x64x1024xf32>
%P_u = stablehlo.dot_general %P_y, %P_w1, contracting_dims = [2] x [0] : (tensor<256x64x1024xf32>, tensor<1024x4096xf32>) -> tensor<256x64x4096xf32>
%P_act = stablehlo.tanh %P_u : tensor<256x64x4096xf32>
%P_f = stablehlo.dot_general %P_act, %P_w2, contracting_dims = [2] x [0] : (tensor<256x64x4096xf32>, tensor<4096x1024xf32>) -> tensor<256x64x1024xf32>
O = stablehlo.add %P_y, %P_f : tensor<256x64x1024xf32>
";

/// Names, shapes and shardings of a layer's weights.
const WEIGHTS: [(&str, &str, &str); 7] = [
    ("scale", "1024", "{}"),
    ("wq", "1024x256x4", r#"{"data"}, {"model"}, {}"#),
    ("wk", "1024x256x4", r#"{"data"}, {"model"}, {}"#),
    ("wv", "1024x256x4", r#"{"data"}, {"model"}, {}"#),
    ("wo", "1024x1024", r#"{"model"}, {"data"}"#),
    ("w1", "1024x4096", r#"{"data"}, {"model"}"#),
    ("w2", "4096x1024", r#"{"model"}, {"data"}"#),
];

/// A program of about `operations` operations on a mesh of `data` x `model` devices.
pub(super) fn program(shape: Shape, operations: usize, (data, model): (usize, usize)) -> String {
    let layers = operations.div_ceil(shape.operations()).max(1);
    let mut out =
        format!("module @{} {{\n  sdy.mesh @mesh = <[\"data\"={data}, \"model\"={model}]>\n", shape.name());
    out.push_str("  func.func public @main(%x0: tensor<256x64x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"data\"}, {}, {}]>}");
    for layer in 0..layers {
        for (name, dims, sharding) in WEIGHTS {
            let _ = write!(out, ", %l{layer}_{name}: tensor<{dims}xf32>");
            if shape != Shape::Far || layer + 1 == layers {
                let _ = write!(out, " {{sdy.sharding = #sdy.sharding<@mesh, [{sharding}]>}}");
            }
        }
    }
    out.push_str(") -> tensor<256x64x1024xf32> {\n");
    let mut x = "%x0".to_owned();
    for layer in 0..layers {
        let named = |input: &str, output: &str| {
            let text = LAYER.replace("%P", &format!("%l{layer}"));
            text.replace('X', input).replace("O =", &format!("{output} ="))
        };
        if shape == Shape::Loops {
            in_loop(&mut out, layer, &x, &named("%in", "%out"));
            x = format!("%l{layer}_pair#1");
        } else {
            let output = format!("%x{}", layer + 1);
            out.push_str(&named(&x, &output));
            x = output;
        }
    }
    let _ = write!(out, "return {x} : tensor<256x64x1024xf32>\n}}\n}}\n");
    out
}

fn in_loop(out: &mut String, layer: usize, input: &str, body: &str) {
    let _ = write!(
        out,
        "%l{layer}_0 = stablehlo.constant dense<0> : tensor<i32>
%l{layer}_pair:2 = stablehlo.while(%i = %l{layer}_0, %in = {input}) : tensor<i32>, tensor<256x64x1024xf32>
cond {{
%n = stablehlo.constant dense<4> : tensor<i32>
%less = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
stablehlo.return %less : tensor<i1>
}} do {{
%one = stablehlo.constant dense<1> : tensor<i32>
%next = stablehlo.add %i, %one : tensor<i32>
{body}stablehlo.return %next, %out : tensor<i32>, tensor<256x64x1024xf32>
}}
"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_valid_and_have_the_requested_size() {
        for shape in Shape::ALL {
            let text = program(shape, 1000, (4, 2));
            let module = shardc_stablehlo::parse(&text)
                .map_err(|errors| shardc_stablehlo::render(&errors, "generated", &text, false))
                .unwrap_or_else(|errors| panic!("{errors}"));
            assert_eq!(shardc_ir::verify(&module), Ok(()));
            let operations: usize = module.bodies().map(|body| module.walk(body).len()).sum();
            assert!((1000..1100).contains(&operations), "{operations} in {}", shape.name());
        }
    }
}
