//! PEFT adapters on tiny random models: the logits equal those of PEFT with PyTorch. `data/make_peft.py` wrote the files.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};

use serde_json::Value;
use shardc::Compiler;
use shardc::graph::{
    DType::{F32, I32},
    Graph, Mesh, Tensor, spec,
};
use shardc::runtime::HostArray;
use shardc::statedict;
use shardc_tests::devices::client;
use shardc_train::Step;
use shardc_train::nn::models::{Bert, Decoder, Vit};
use shardc_train::nn::{Kind, Lora, Scope, StepProgram, Variable};
use shardc_train::pretrained::{
    AdapterConfig, AdapterFiles, Family, load, read, read_adapters, write_adapters,
};

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

fn values(file: &str) -> Value {
    serde_json::from_str(&std::fs::read_to_string(data(file)).unwrap()).unwrap()
}

fn list(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|n| n.as_f64().unwrap()).collect()
}

fn tokens(g: &Graph) -> Tensor<'_> {
    g.parameter("tokens", [2, 5], I32).mark_sharding(spec!["data", None])
}

/// A model of a family, with these adapters.
fn model(family: Family, lora: &Lora) -> StepProgram {
    let g = Graph::new("model", &Mesh::new(&[("data", 2)]).unwrap());
    let p = Scope::new(&g).with_lora(lora, None);
    let result = match family {
        Family::Gpt2 => Decoder::gpt2(12, 6, 8, 2, 2).apply(&p, tokens(&g), None),
        Family::Llama => Decoder::llama(12, 16, 20, 2, 4, 2).apply(&p, tokens(&g), None),
        Family::Bert => Bert::new(12, 6, 8, 2, 2).apply(&p, tokens(&g), g.parameter("types", [2, 5], I32)),
        _ => Vit::new(4, 8, 2, 2, 3).apply(&p, g.parameter("pixels", [2, 8, 8, 3], F32)),
    };
    p.finish(&[("result", result)]).unwrap()
}

const CASES: [(&str, Family, &str); 7] = [
    ("patterns", Family::Llama, "llama"),
    ("rslora_head", Family::Llama, "llama"),
    ("dora", Family::Llama, "llama"),
    ("gpt2_dora", Family::Gpt2, "gpt2"),
    ("bert_bias", Family::Bert, "bert"),
    ("vit", Family::Vit, "vit"),
    ("parameters", Family::Llama, "llama"),
];

fn off(have: &[f64], want: &[f64]) -> f64 {
    assert_eq!(have.len(), want.len());
    have.iter().zip(want).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

/// The outputs of a model with adapters for the shared inputs; the adapters are merged into the kernels first if `merge`.
fn outputs(family: Family, base: &str, lora: &Lora, files: &AdapterFiles, merge: bool) -> Vec<f64> {
    let client = client().unwrap().expect("the plugin");
    let inputs = values("pretrained/values.json");
    let program = model(family, lora);
    let given: Vec<(String, HostArray)> = program
        .inputs
        .iter()
        .map(|port| {
            let shape: Vec<usize> = port.shape.iter().map(|&n| n as usize).collect();
            (port.name.clone(), HostArray::from_f64(port.dtype, &shape, &list(&inputs[&port.name])).unwrap())
        })
        .collect();
    let given: Vec<(&str, &HostArray)> = given.iter().map(|(name, array)| (name.as_str(), array)).collect();
    let step = Step::compile(&client, &Compiler::new(), program).unwrap();
    let weights = std::fs::read(data(&format!("pretrained/{base}.safetensors"))).unwrap();
    let mut arrays = read(family, step.variables(), &[&weights]).unwrap();
    arrays.extend(read_adapters(family, step.variables(), lora, files).unwrap());
    let mut state = step.put(&arrays).unwrap();
    if !merge {
        return step.run(&mut state, &given).unwrap().get("result").unwrap().to_f64_vec();
    }
    let g = Graph::new("model", &Mesh::new(&[("data", 2)]).unwrap());
    let p = Scope::new(&g).frozen();
    let result = Decoder::llama(12, 16, 20, 2, 4, 2).apply(&p, tokens(&g), None);
    let without = Step::compile(&client, &Compiler::new(), p.finish(&[("result", result)]).unwrap()).unwrap();
    let merged = step.merge_adapters(&state, lora).unwrap();
    let mut merged = without.adopt(&merged).unwrap();
    without.run(&mut merged, &given).unwrap().get("result").unwrap().to_f64_vec()
}

#[test]
fn adapted_models_match_peft() {
    if client().unwrap().is_none() {
        return;
    }
    let wanted = values("peft/values.json");
    for (name, family, base) in CASES {
        let files = AdapterFiles::open(&data(&format!("peft/{name}"))).unwrap();
        let lora = files.lora(family).unwrap();
        let have = outputs(family, base, &lora, &files, false);
        let off = off(&have, &list(&wanted[name]));
        assert!(off < 3e-5, "{name} is off by {off:e}");
    }
}

#[test]
fn merged_adapters_give_equal_outputs() {
    if client().unwrap().is_none() {
        return;
    }
    let wanted = values("peft/values.json");
    for name in ["patterns", "dora", "rslora_head"] {
        let files = AdapterFiles::open(&data(&format!("peft/{name}"))).unwrap();
        let lora = files.lora(Family::Llama).unwrap();
        let off = off(&outputs(Family::Llama, "llama", &lora, &files, true), &list(&wanted[name]));
        assert!(off < 3e-5, "{name} is off by {off:e}");
    }
}

#[test]
fn adapters_round_trip() {
    for (name, family, _) in CASES.iter().filter(|(_, family, _)| *family != Family::Gpt2) {
        let files = AdapterFiles::open(&data(&format!("peft/{name}"))).unwrap();
        let lora = files.lora(*family).unwrap();
        let variables = model(*family, &lora).variables;
        let arrays = read_adapters(*family, &variables, &lora, &files).unwrap();
        let written = write_adapters(*family, &variables, &lora, |name| Ok(arrays[name].clone())).unwrap();
        let again = written.lora(*family).unwrap_or_else(|error| panic!("{name}: {error}"));
        let trained: Vec<&Variable> = variables.iter().filter(|v| v.kind == Kind::Parameter).collect();
        let read = read_adapters(*family, &variables, &again, &written).unwrap();
        for variable in trained {
            assert_eq!(read[&variable.name], arrays[&variable.name], "{name}: {}", variable.name);
        }
        for map in ["h.attn.query", "h.attn.key", "h.mlp.down", "lm_head"] {
            assert_eq!(
                (again.rank_of(map), again.scale_of(map)),
                (lora.rank_of(map), lora.scale_of(map)),
                "{name}"
            );
        }
    }
}

/// The files in `data/peft` were written by PEFT. Adapters written by shardc have the same names, shapes and element types.
#[test]
fn written_adapters_match_peft_tensors() {
    for (name, family) in [("dora", Family::Llama), ("parameters", Family::Llama)] {
        let files = AdapterFiles::open(&data(&format!("peft/{name}"))).unwrap();
        let lora = files.lora(family).unwrap();
        let variables = model(family, &lora).variables;
        let arrays = read_adapters(family, &variables, &lora, &files).unwrap();
        let written = write_adapters(family, &variables, &lora, |name| Ok(arrays[name].clone())).unwrap();
        let tensors = |bytes: &[u8]| {
            let dict = statedict::safetensors::from_bytes(bytes).unwrap();
            // PEFT also saves the base weight of a targeted output layer.
            let is_written = |name: &str| !name.ends_with(".base_layer.weight");
            let tensors = dict.iter().filter(|(name, _)| is_written(name));
            let described = tensors.map(|(name, t)| format!("{name}: {} {:?}", t.dtype(), t.shape()));
            let mut described: Vec<String> = described.collect();
            described.sort();
            described
        };
        assert_eq!(tensors(&written.weights), tensors(&files.weights), "{name}");
    }
}

#[test]
fn unsupported_settings_are_named() {
    let mut files = AdapterFiles::open(&data("peft/dora")).unwrap();
    let lora = files.lora(Family::Llama).unwrap();
    // Writes adapters without magnitudes.
    let plain = Lora { dora: false, ..lora.clone() };
    let error =
        read_adapters(Family::Llama, &model(Family::Llama, &plain).variables, &plain, &files).unwrap_err();
    assert!(
        error.to_string().contains(
            "the model has no variable for \"model.layers.0.self_attn.q_proj.lora_magnitude_vector\""
        ),
        "{error}"
    );
    // Writes adapters of fewer linear layers.
    let fewer = Lora { targets: "h.attn.query".parse().unwrap(), ..lora.clone() };
    let error =
        read_adapters(Family::Llama, &model(Family::Llama, &fewer).variables, &fewer, &files).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("v_proj.lora_A") && text.contains("lm_head.lora_B"), "{text}");
    // Settings that do not match the tensors.
    files.config = files.config.replace("\"r\": 2", "\"r\": 3");
    let lora = files.lora(Family::Llama).unwrap();
    let error =
        read_adapters(Family::Llama, &model(Family::Llama, &lora).variables, &lora, &files).unwrap_err();
    assert!(error.to_string().contains("has shape [2, 16], expected [3, 16]"), "{error}");
    files.config = files.config.replace("\"lora_bias\": false", "\"lora_bias\": true");
    assert!(files.lora(Family::Llama).unwrap_err().to_string().contains("lora_bias"));
    let patterns = AdapterFiles::open(&data("peft/patterns")).unwrap();
    let config = patterns.config.replace("\"q_proj\",", "");
    let error = AdapterFiles { config, ..patterns }.lora(Family::Llama).unwrap_err().to_string();
    assert!(error.contains("q_proj.lora_A.weight\" (adapter_config.json does not target it)"), "{error}");
    assert!(AdapterConfig::parse("{\"peft_type\": \"IA3\"}").is_err());
}

#[test]
fn magnitudes_start_as_kernel_norms() {
    let Some(client) = client().unwrap() else { return };
    let lora = Lora { dora: true, ..Lora::new(2, 4.0) };
    let step = Step::compile(&client, &Compiler::new(), model(Family::Llama, &lora)).unwrap();
    let weights = statedict::open(&data("pretrained/llama.safetensors")).unwrap();
    let first = step.init(1).unwrap();
    for state in [&first, &load(Family::Llama, &step, &weights, Some(&first)).unwrap()] {
        let kernel = state.get("h.mlp.down.kernel").unwrap();
        let magnitude = state.get("h.mlp.down.lora_magnitude").unwrap();
        let ([layers, inputs, outputs], numbers) =
            (kernel.shape[..].try_into().unwrap(), kernel.to_f64_vec());
        let norm = |layer: usize, output: usize| -> f64 {
            let at = |input: usize| numbers[(layer * inputs + input) * outputs + output];
            (0..inputs).map(|input| at(input) * at(input)).sum::<f64>().sqrt()
        };
        let want: Vec<f64> =
            (0..layers).flat_map(|l| (0..outputs).map(move |o| (l, o))).map(|(l, o)| norm(l, o)).collect();
        assert!(off(&magnitude.to_f64_vec(), &want) < 1e-5);
    }
}
