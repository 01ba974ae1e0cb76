//! Closed forms of the bytes that each device has to send in one execution, by strategy.
//!
//! Assume `P` bytes of parameters on `d` devices along the batch axis, and ring collectives.
//!
//! * Data parallelism: gradients are all-reduced, `2 P (d-1)/d`; a forward pass alone sends nothing.
//! * FSDP: each sharded parameter is all-gathered for the forward and for the backward pass, and its gradient is reduce-scattered: `3 P
//!   (d-1)/d`. The forward pass alone sends `P (d-1)/d`. Replicated parameters are treated as in data parallelism.
//! * Megatron tensor parallelism on `m` devices, with `A` bytes of activations on a device between layers: `4 · 2 A (m-1)/m` per layer in
//!   training (two all-reduces in the forward pass, two in the backward pass), and half of that in the forward pass alone. Sequence
//!   parallelism sends the same, since each all-reduce becomes a reduce-scatter and an all-gather. A device holds a fraction `1/m` of the
//!   parameters.
//!
//!   If the vocabulary is also sharded, the embedding needs one more all-reduce in the forward pass, and the output layer needs one more in
//!   the backward pass.
//!
//! Reductions for the loss and for gradient norms send a little more; a tolerance of a tenth allows for this.

use serde_json::Value;

/// The transformers of the corpus whose activations cause significant traffic: name, number of all-reduces of activations over the model
/// axis in a training step, hidden size, bytes of an element.
const TRANSFORMERS: [(&str, f64, f64, f64); 5] = [
    ("hf_bert_large_tp_train", 4.0 * 24.0, 1024.0, 4.0),
    ("llama7b_2l_fsdp_tp_train", 4.0 * 2.0 + 2.0, 4096.0, 2.0),
    ("llama7b_32l_fsdp_tp_train", 4.0 * 32.0 + 2.0, 4096.0, 2.0),
    ("llama7b_32l_scan_remat_fsdp_tp_train", 4.0 * 32.0 + 2.0, 4096.0, 2.0),
    ("llama70b_80l_fsdp_tp_train", 4.0 * 80.0 + 2.0, 8192.0, 2.0),
];

/// Computes the bytes that a device must send for `strategy`, from the interface of the partitioned program. Returns `None` if the strategy
/// has no closed form.
pub(super) fn closed_form(name: &str, strategy: &str, manifest: &Value) -> Option<f64> {
    let (is_fsdp, is_tensor_parallel) = match strategy {
        "dp" => (false, false),
        "fsdp" => (true, false),
        "dp+tp" => (false, true),
        "fsdp+tp" => (true, true),
        _ => return None,
    };
    let transformer = TRANSFORMERS.iter().find(|t| t.0 == name);
    if is_tensor_parallel && transformer.is_none() {
        return None;
    }
    let axis = |i: usize| manifest["mesh"]["axes"][i]["size"].as_f64();
    let data = axis(0)?;
    let share = |n: f64| (n - 1.0) / n;
    let is_training = name.contains("train");
    let mut sent = 0.0;
    let mut tokens = 0.0;
    for (i, input) in manifest["inputs"].as_array()?.iter().enumerate() {
        let Some(local) = parameter(input, i, manifest, is_training) else {
            // An input that is not a parameter is a batch of token indices (integers), or optimizer state (floating-point numbers).
            if bytes_of(input["dtype"].as_str()?).is_none() {
                tokens = f64::max(tokens, product(&input["global_shape"]));
            }
            continue;
        };
        let is_split =
            input["spec"].as_array()?.iter().any(|axes| axes[0] == manifest["mesh"]["axes"][0]["name"]);
        // The bytes on a device if all axes except the batch axis shard the input.
        let bytes = local * if is_split { data } else { 1.0 };
        let times = match (is_fsdp && is_split, is_training) {
            (true, true) => 3.0,
            (true, false) => 1.0,
            (false, true) => 2.0,
            (false, false) => 0.0,
        };
        sent += times * bytes * share(data);
    }
    if let (true, Some(&(_, sums, hidden, element))) = (is_tensor_parallel, transformer) {
        let activation = tokens / data * hidden * element;
        sent += sums * 2.0 * activation * share(axis(1)?);
    }
    Some(sent)
}

/// Returns the bytes on a device of input `i`, if the input is a parameter. In a training step, the parameters are the inputs that are
/// updated and are not optimizer state. In a forward pass, they are all floating-point inputs except the last, which is the batch.
fn parameter(input: &Value, i: usize, manifest: &Value, is_training: bool) -> Option<f64> {
    let element = bytes_of(input["dtype"].as_str()?)?;
    let inputs = manifest["inputs"].as_array()?.len();
    let is_parameter = if is_training {
        let output = input["donated_to"].as_u64().map_or(i, |result| result as usize);
        let name = manifest["outputs"][output]["name"].as_str().unwrap_or_default();
        name.starts_with("result[0]") && !name.contains("opt_state") && !name.contains("step")
    } else {
        i + 1 < inputs
    };
    is_parameter.then(|| product(&input["local_shape"]) * element)
}

/// Returns the size in bytes of a floating-point element, or `None` for types that cannot be parameters.
fn bytes_of(dtype: &str) -> Option<f64> {
    match dtype {
        "f64" => Some(8.0),
        "f32" => Some(4.0),
        "bf16" | "f16" => Some(2.0),
        _ => None,
    }
}

fn product(shape: &Value) -> f64 {
    shape.as_array().into_iter().flatten().filter_map(Value::as_f64).product()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest(spec: &str) -> Value {
        let text = format!(
            r#"{{"mesh": {{"axes": [{{"name": "data", "size": 4}}]}},
            "inputs": [
              {{"dtype": "f32", "global_shape": [8, 4], "local_shape": {}, "spec": {spec}, "donated_to": 0}},
              {{"dtype": "f32", "global_shape": [8, 4], "local_shape": [2, 4], "spec": [["data"], []], "donated_to": 1}},
              {{"dtype": "i32", "global_shape": [16], "local_shape": [4], "spec": [["data"]]}}],
            "outputs": [{{"name": "result[0]['w']"}}, {{"name": "result[1].mu['w']"}}]}}"#,
            if spec.contains("data") { "[2, 4]" } else { "[8, 4]" }
        );
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn parameters_are_summed_or_gathered() {
        assert_eq!(closed_form("x_train", "dp", &manifest("[[], []]")), Some(2.0 * 128.0 * 0.75));
        assert_eq!(closed_form("x_train", "fsdp", &manifest(r#"[["data"], []]"#)), Some(3.0 * 128.0 * 0.75));
        assert_eq!(closed_form("x_fwd", "dp", &manifest("[[], []]")), Some(0.0));
        assert_eq!(closed_form("x_train", "dp+spatial", &manifest("[[], []]")), None);
    }
}
