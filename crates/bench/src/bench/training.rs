//! Generates a training step of a transformer with any number of layers. As in the output of a front end, layers are neither functions nor
//! loops: the forward pass, the backward pass and the weight updates follow one another.
//!
//! Weights are sharded over both axes of the mesh (FSDP and tensor parallelism), the batch over the first axis.

use std::fmt::Write as _;

/// The forward pass of a layer with input `%IN` and output `%OUT`; `%P` is the prefix of its value names.
const FORWARD: &str = "\
%P_q = stablehlo.dot_general %IN, %P_wq, contracting_dims = [2] x [0] : (tensor<64x128x1024xbf16>, tensor<1024x16x64xbf16>) -> tensor<64x128x16x64xbf16>
%P_k = stablehlo.dot_general %IN, %P_wk, contracting_dims = [2] x [0] : (tensor<64x128x1024xbf16>, tensor<1024x16x64xbf16>) -> tensor<64x128x16x64xbf16>
%P_v = stablehlo.dot_general %IN, %P_wv, contracting_dims = [2] x [0] : (tensor<64x128x1024xbf16>, tensor<1024x16x64xbf16>) -> tensor<64x128x16x64xbf16>
%P_s = stablehlo.dot_general %P_q, %P_k, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3] : (tensor<64x128x16x64xbf16>, tensor<64x128x16x64xbf16>) -> tensor<64x16x128x128xbf16>
%P_e = stablehlo.exponential %P_s : tensor<64x16x128x128xbf16>
%P_c = stablehlo.constant dense<0.0> : tensor<bf16>
%P_z = stablehlo.reduce(%P_e init: %P_c) applies stablehlo.add across dimensions = [3] : (tensor<64x16x128x128xbf16>, tensor<bf16>) -> tensor<64x16x128xbf16>
%P_zb = stablehlo.broadcast_in_dim %P_z, dims = [0, 1, 2] : (tensor<64x16x128xbf16>) -> tensor<64x16x128x128xbf16>
%P_p = stablehlo.divide %P_e, %P_zb : tensor<64x16x128x128xbf16>
%P_o = stablehlo.dot_general %P_p, %P_v, batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [1] : (tensor<64x16x128x128xbf16>, tensor<64x128x16x64xbf16>) -> tensor<64x16x128x64xbf16>
%P_a = stablehlo.dot_general %P_o, %P_wo, contracting_dims = [1, 3] x [0, 1] : (tensor<64x16x128x64xbf16>, tensor<16x64x1024xbf16>) -> tensor<64x128x1024xbf16>
%P_y = stablehlo.add %IN, %P_a : tensor<64x128x1024xbf16>
%P_u = stablehlo.dot_general %P_y, %P_w1, contracting_dims = [2] x [0] : (tensor<64x128x1024xbf16>, tensor<1024x4096xbf16>) -> tensor<64x128x4096xbf16>
%P_t = stablehlo.tanh %P_u : tensor<64x128x4096xbf16>
%P_f = stablehlo.dot_general %P_t, %P_w2, contracting_dims = [2] x [0] : (tensor<64x128x4096xbf16>, tensor<4096x1024xbf16>) -> tensor<64x128x1024xbf16>
%OUT = stablehlo.add %P_y, %P_f : tensor<64x128x1024xbf16>
";

/// The gradients of a layer's weights, and of its input (`%P_g`), from the cotangent `%G` of its output.
const BACKWARD: &str = "\
%P_dw2 = stablehlo.dot_general %P_t, %G, contracting_dims = [0, 1] x [0, 1] : (tensor<64x128x4096xbf16>, tensor<64x128x1024xbf16>) -> tensor<4096x1024xbf16>
%P_dt = stablehlo.dot_general %G, %P_w2, contracting_dims = [2] x [1] : (tensor<64x128x1024xbf16>, tensor<4096x1024xbf16>) -> tensor<64x128x4096xbf16>
%P_tt = stablehlo.multiply %P_t, %P_t : tensor<64x128x4096xbf16>
%P_1 = stablehlo.constant dense<1.0> : tensor<bf16>
%P_1b = stablehlo.broadcast_in_dim %P_1, dims = [] : (tensor<bf16>) -> tensor<64x128x4096xbf16>
%P_om = stablehlo.subtract %P_1b, %P_tt : tensor<64x128x4096xbf16>
%P_du = stablehlo.multiply %P_dt, %P_om : tensor<64x128x4096xbf16>
%P_dw1 = stablehlo.dot_general %P_y, %P_du, contracting_dims = [0, 1] x [0, 1] : (tensor<64x128x1024xbf16>, tensor<64x128x4096xbf16>) -> tensor<1024x4096xbf16>
%P_dy1 = stablehlo.dot_general %P_du, %P_w1, contracting_dims = [2] x [1] : (tensor<64x128x4096xbf16>, tensor<1024x4096xbf16>) -> tensor<64x128x1024xbf16>
%P_dy = stablehlo.add %G, %P_dy1 : tensor<64x128x1024xbf16>
%P_do = stablehlo.dot_general %P_dy, %P_wo, contracting_dims = [2] x [2] : (tensor<64x128x1024xbf16>, tensor<16x64x1024xbf16>) -> tensor<64x128x16x64xbf16>
%P_dwo = stablehlo.dot_general %P_o, %P_dy, contracting_dims = [0, 2] x [0, 1] : (tensor<64x16x128x64xbf16>, tensor<64x128x1024xbf16>) -> tensor<16x64x1024xbf16>
%P_dp = stablehlo.dot_general %P_do, %P_v, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3] : (tensor<64x128x16x64xbf16>, tensor<64x128x16x64xbf16>) -> tensor<64x16x128x128xbf16>
%P_dvt = stablehlo.dot_general %P_p, %P_do, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [1] : (tensor<64x16x128x128xbf16>, tensor<64x128x16x64xbf16>) -> tensor<64x16x128x64xbf16>
%P_dv = stablehlo.transpose %P_dvt, dims = [0, 2, 1, 3] : (tensor<64x16x128x64xbf16>) -> tensor<64x128x16x64xbf16>
%P_pp = stablehlo.multiply %P_dp, %P_p : tensor<64x16x128x128xbf16>
%P_c2 = stablehlo.constant dense<0.0> : tensor<bf16>
%P_ds0 = stablehlo.reduce(%P_pp init: %P_c2) applies stablehlo.add across dimensions = [3] : (tensor<64x16x128x128xbf16>, tensor<bf16>) -> tensor<64x16x128xbf16>
%P_dsb = stablehlo.broadcast_in_dim %P_ds0, dims = [0, 1, 2] : (tensor<64x16x128xbf16>) -> tensor<64x16x128x128xbf16>
%P_ds1 = stablehlo.subtract %P_dp, %P_dsb : tensor<64x16x128x128xbf16>
%P_ds = stablehlo.multiply %P_p, %P_ds1 : tensor<64x16x128x128xbf16>
%P_dqt = stablehlo.dot_general %P_ds, %P_k, batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [1] : (tensor<64x16x128x128xbf16>, tensor<64x128x16x64xbf16>) -> tensor<64x16x128x64xbf16>
%P_dq = stablehlo.transpose %P_dqt, dims = [0, 2, 1, 3] : (tensor<64x16x128x64xbf16>) -> tensor<64x128x16x64xbf16>
%P_dkt = stablehlo.dot_general %P_ds, %P_q, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [1] : (tensor<64x16x128x128xbf16>, tensor<64x128x16x64xbf16>) -> tensor<64x16x128x64xbf16>
%P_dk = stablehlo.transpose %P_dkt, dims = [0, 2, 1, 3] : (tensor<64x16x128x64xbf16>) -> tensor<64x128x16x64xbf16>
%P_dwq = stablehlo.dot_general %IN, %P_dq, contracting_dims = [0, 1] x [0, 1] : (tensor<64x128x1024xbf16>, tensor<64x128x16x64xbf16>) -> tensor<1024x16x64xbf16>
%P_dwk = stablehlo.dot_general %IN, %P_dk, contracting_dims = [0, 1] x [0, 1] : (tensor<64x128x1024xbf16>, tensor<64x128x16x64xbf16>) -> tensor<1024x16x64xbf16>
%P_dwv = stablehlo.dot_general %IN, %P_dv, contracting_dims = [0, 1] x [0, 1] : (tensor<64x128x1024xbf16>, tensor<64x128x16x64xbf16>) -> tensor<1024x16x64xbf16>
%P_dxq = stablehlo.dot_general %P_dq, %P_wq, contracting_dims = [2, 3] x [1, 2] : (tensor<64x128x16x64xbf16>, tensor<1024x16x64xbf16>) -> tensor<64x128x1024xbf16>
%P_dxk = stablehlo.dot_general %P_dk, %P_wk, contracting_dims = [2, 3] x [1, 2] : (tensor<64x128x16x64xbf16>, tensor<1024x16x64xbf16>) -> tensor<64x128x1024xbf16>
%P_dxv = stablehlo.dot_general %P_dv, %P_wv, contracting_dims = [2, 3] x [1, 2] : (tensor<64x128x16x64xbf16>, tensor<1024x16x64xbf16>) -> tensor<64x128x1024xbf16>
%P_g1 = stablehlo.add %P_dy, %P_dxv : tensor<64x128x1024xbf16>
%P_g2 = stablehlo.add %P_g1, %P_dxk : tensor<64x128x1024xbf16>
%P_g = stablehlo.add %P_g2, %P_dxq : tensor<64x128x1024xbf16>
";

/// The update of the weight `W` of type `TYPE` by its gradient.
const UPDATE: &str = "\
%P_lW = stablehlo.constant dense<1.0e-3> : tensor<bf16>
%P_bW = stablehlo.broadcast_in_dim %P_lW, dims = [] : (tensor<bf16>) -> TYPE
%P_mW = stablehlo.multiply %P_bW, %P_dW : TYPE
%P_nW = stablehlo.subtract %P_W, %P_mW : TYPE
";

/// Names, types and shardings of a layer's weights.
const WEIGHTS: [(&str, &str, &str); 6] = [
    ("wq", "tensor<1024x16x64xbf16>", r#"{"data"}, {"model"}, {}"#),
    ("wk", "tensor<1024x16x64xbf16>", r#"{"data"}, {"model"}, {}"#),
    ("wv", "tensor<1024x16x64xbf16>", r#"{"data"}, {"model"}, {}"#),
    ("wo", "tensor<16x64x1024xbf16>", r#"{"model"}, {}, {"data"}"#),
    ("w1", "tensor<1024x4096xbf16>", r#"{"data"}, {"model"}"#),
    ("w2", "tensor<4096x1024xbf16>", r#"{"model"}, {"data"}"#),
];

const ACTIVATIONS: &str = "tensor<64x128x1024xbf16>";

/// Number of operations of one layer. The body of each of the two reductions has two operations.
fn operations() -> usize {
    FORWARD.lines().count() + BACKWARD.lines().count() + WEIGHTS.len() * UPDATE.lines().count() + 4
}

/// A training step of about `operations` operations on a mesh of `data` x `model` devices.
pub(super) fn program(operations: usize, (data, model): (usize, usize)) -> String {
    let layers = operations.div_ceil(self::operations()).max(1);
    let mut out = format!(
        "module @training {{\n  sdy.mesh @mesh = <[\"data\"={data}, \"model\"={model}]>\n  func.func public @main(\
         %x0: {ACTIVATIONS} {{sdy.sharding = #sdy.sharding<@mesh, [{{\"data\"}}, {{}}, {{}}]>}}"
    );
    let weights = || (0..layers).flat_map(|layer| WEIGHTS.map(|weight| (layer, weight)));
    for (i, (layer, (name, ty, sharding))) in weights().enumerate() {
        let _ = write!(
            out,
            ", %l{layer}_{name}: {ty} {{sdy.sharding = #sdy.sharding<@mesh, [{sharding}]>, tf.aliasing_output = {i} : i32}}"
        );
    }
    out.push_str(") -> (");
    for (i, (_, (_, ty, sharding))) in weights().enumerate() {
        let comma = if i > 0 { ", " } else { "" };
        let _ = write!(out, "{comma}{ty} {{sdy.sharding = #sdy.sharding<@mesh, [{sharding}]>}}");
    }
    out.push_str(") {\n");
    let named = |text: &str, layer: usize| {
        let text = text.replace("%P", &format!("%l{layer}")).replace("%IN", &format!("%x{layer}"));
        text.replace("%OUT", &format!("%x{}", layer + 1))
    };
    for layer in 0..layers {
        out.push_str(&named(FORWARD, layer));
    }
    // The loss is half the sum of squares of the output, so its gradient is the output.
    let mut gradient = format!("%x{layers}");
    for layer in (0..layers).rev() {
        out.push_str(&named(BACKWARD, layer).replace("%G", &gradient));
        gradient = format!("%l{layer}_g");
        for (name, ty, _) in WEIGHTS {
            out.push_str(&named(&UPDATE.replace("TYPE", ty).replace('W', name), layer));
        }
    }
    let names: Vec<String> = weights().map(|(layer, (name, ..))| format!("%l{layer}_n{name}")).collect();
    let types: Vec<&str> = weights().map(|(_, (_, ty, _))| ty).collect();
    let _ = write!(out, "return {} : {}\n}}\n}}\n", names.join(", "), types.join(", "));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_valid_and_have_the_requested_size() {
        let text = program(1000, (4, 2));
        let module = shardc_stablehlo::parse(&text)
            .map_err(|errors| shardc_stablehlo::render(&errors, "generated", &text, false))
            .unwrap_or_else(|errors| panic!("{errors}"));
        assert_eq!(shardc_ir::verify(&module), Ok(()));
        let operations: usize = module.bodies().map(|body| module.walk(body).len()).sum();
        assert!((1000..1100).contains(&operations), "{operations}");
    }
}
