//! Tiny random Hugging Face models, loaded by name, produce the same outputs as in Python. `data/pretrained.py` wrote the models.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use safetensors::SafeTensors;
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
use shardc_train::nn::models::{Bert, Decoder, Vit, megatron};
use shardc_train::nn::{Lora, Scope, StepProgram};
use shardc_train::pretrained::{
    AdapterFiles, Family, load, read, read_adapters, save_model, write_adapters, write_model,
};

const VALUES: &str = include_str!("../data/pretrained/values.json");

type Model = for<'g> fn(&'g Graph, &Scope<'g>) -> Tensor<'g>;

const MODELS: [(&str, Family, &[u8], Model); 4] = [
    ("gpt2", Family::Gpt2, include_bytes!("../data/pretrained/gpt2.safetensors"), |g, p| {
        Decoder::gpt2(12, 6, 8, 2, 2).apply(p, tokens(g), None)
    }),
    ("llama", Family::Llama, include_bytes!("../data/pretrained/llama.safetensors"), |g, p| {
        Decoder::llama(12, 16, 20, 2, 4, 2).apply(p, tokens(g), None)
    }),
    ("bert", Family::Bert, include_bytes!("../data/pretrained/bert.safetensors"), |g, p| {
        Bert::new(12, 6, 8, 2, 2).apply(p, tokens(g), g.parameter("types", [2, 5], I32))
    }),
    ("vit", Family::Vit, include_bytes!("../data/pretrained/vit.safetensors"), |g, p| {
        Vit::new(4, 8, 2, 2, 3).apply(p, g.parameter("pixels", [2, 8, 8, 3], F32))
    }),
];

fn tokens(g: &Graph) -> Tensor<'_> {
    g.parameter("tokens", [2, 5], I32).mark_sharding(spec!["data", None])
}

fn step(model: Model) -> StepProgram {
    let g = Graph::new("model", &Mesh::new(&[("data", 2), ("model", 2)]).unwrap());
    let p = Scope::new(&g);
    let result = model(&g, &p);
    p.mark_sharding(|variable| megatron(variable, "model"));
    p.finish(&[("result", result)]).unwrap()
}

#[test]
fn models_match_torch_outputs() {
    let Some(client) = client().unwrap() else { return };
    let values: Value = serde_json::from_str(VALUES).unwrap();
    let list = |value: &Value| -> Vec<f64> {
        value.as_array().unwrap().iter().map(|n| n.as_f64().unwrap()).collect()
    };
    for (name, family, file, model) in MODELS {
        let program = step(model);
        let inputs: Vec<(String, HostArray)> = program
            .inputs
            .iter()
            .map(|port| {
                let shape: Vec<usize> = port.shape.iter().map(|&n| n as usize).collect();
                (
                    port.name.clone(),
                    HostArray::from_f64(port.dtype, &shape, &list(&values[&port.name])).unwrap(),
                )
            })
            .collect();
        let given: Vec<(&str, &HostArray)> =
            inputs.iter().map(|(name, array)| (name.as_str(), array)).collect();
        for single in [true, false] {
            let step = match single {
                true => Step::single(&client, program.clone()).unwrap(),
                false => Step::compile(&client, &Compiler::new(), program.clone()).unwrap(),
            };
            let mut state = step.put(&read(family, step.variables(), &[file]).unwrap()).unwrap();
            let have = step.run(&mut state, &given).unwrap().get("result").unwrap().to_f64_vec();
            let want = list(&values[name]["data"]);
            assert_eq!(have.len(), want.len(), "{name}");
            let off = have.iter().zip(&want).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(off < 2e-5, "{name} is off by {off:e}: {have:?}, not {want:?}");
        }
    }
}

#[test]
fn models_round_trip() {
    for (name, family, file, model) in MODELS {
        let (variables, original) = (step(model).variables, safetensors_of(file));
        let arrays = read(family, &variables, &[file]).unwrap();
        let written = write_model(family, &variables, |name| Ok(arrays[name].clone())).unwrap();
        for (max_shard_size, num_files) in [(u64::MAX, 2), (2000, 4)] {
            let folder = tempfile::tempdir().unwrap();
            save_model(folder.path(), &written, max_shard_size, Some("{}")).unwrap();
            assert!(std::fs::read_dir(folder.path()).unwrap().count() >= num_files, "{name}");
            assert_eq!(std::fs::read_to_string(folder.path().join("config.json")).unwrap(), "{}");
            let again = statedict::open(folder.path()).unwrap();
            assert_eq!(again.iter().count(), original.iter().count(), "{name}");
            for (tensor, want) in original.iter() {
                let have = again.find(tensor).unwrap_or_else(|| panic!("{name}: {tensor} is missing"));
                assert_eq!(have.shape(), want.shape(), "{name}: {tensor}");
                // One tensor of the file has 16 bits; variables have 32.
                let numbers = |tensor: &statedict::Tensor| {
                    let bytes = tensor.read().unwrap();
                    HostArray::new(tensor.dtype(), tensor.shape(), bytes).unwrap().to_f64_vec()
                };
                assert_eq!((have.dtype(), numbers(have)), (F32, numbers(want)), "{name}: {tensor}");
            }
        }
    }
    // A fused tensor with a missing part is not written.
    let (name, family, file, model) = MODELS[0];
    let mut variables = step(model).variables;
    let arrays = read(family, &variables, &[file]).unwrap();
    variables.retain(|variable| !variable.name.contains("attn.key"));
    let error = write_model(family, &variables, |name| Ok(arrays[name].clone())).unwrap_err().to_string();
    assert!(
        error.contains(
            "\"transformer.h.0.attn.c_attn.weight\" is incomplete: some of its variables are missing"
        ),
        "{name}: {error}"
    );
}

/// The folder of a model whose weights are in several files.
fn folder(file: &[u8]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let dict = safetensors_of(file);
    let split = statedict::safetensors::split(&dict, "model", 700).unwrap();
    assert!(split.parts.len() > 2);
    for part in &split.parts {
        let mut bytes = Vec::new();
        statedict::safetensors::write(&part.tensors, &mut bytes, &mut |_| {}).unwrap();
        std::fs::write(folder.path().join(&part.file), bytes).unwrap();
    }
    let (name, text) = split.index.unwrap();
    std::fs::write(folder.path().join(name), text).unwrap();
    folder
}

fn safetensors_of(file: &[u8]) -> statedict::StateDict {
    statedict::safetensors::from_bytes(file).unwrap()
}

#[test]
fn devices_read_their_slices_of_several_files() {
    let Some(client) = client().unwrap() else { return };
    for (name, family, file, model) in MODELS {
        let folder = folder(file);
        let weights = statedict::open(folder.path()).unwrap();
        let step = Step::compile(&client, &Compiler::new(), step(model)).unwrap();
        let want = step.put(&read(family, step.variables(), &[file]).unwrap()).unwrap();
        let have = load(family, &step, &weights, None).unwrap();
        let mut split = 0;
        for (variable, want) in want.iter() {
            let have = have.sharded(variable).unwrap();
            assert_eq!(have.layout(), want.layout(), "{name}: {variable}");
            assert_eq!(have.shards().unwrap(), want.shards().unwrap(), "{name}: {variable}");
            split += usize::from(have.layout().shards().iter().any(|&k| k > 1));
        }
        assert!(split > 2, "{name}: {split} variables are split");
    }
}

#[test]
fn other_variables_come_from_another_state() {
    let Some(client) = client().unwrap() else { return };
    let (_, family, file, model) = MODELS[1];
    let g = Graph::new("model", &Mesh::new(&[("data", 2), ("model", 2)]).unwrap());
    let lora = Lora::new(2, 6.0).targets("attn.query,attn.value,mlp.down".parse().unwrap());
    let p = Scope::new(&g).with_lora(&lora, None);
    let result = model(&g, &p);
    let step = Step::compile(&client, &Compiler::new(), p.finish(&[("result", result)]).unwrap()).unwrap();
    let weights = safetensors_of(file);
    let error = load(family, &step, &weights, None).unwrap_err().to_string();
    assert!(error.contains("SH0720") && error.contains("no initial value for the variable"), "{error}");
    let first = step.init(3).unwrap();
    let state = load(family, &step, &weights, Some(&first)).unwrap();
    let is_adapter = |name: &str| name.ends_with("lora_a") || name.ends_with("lora_b");
    let adapters: Vec<&str> = state.iter().map(|(name, _)| name).filter(|name| is_adapter(name)).collect();
    assert!(!adapters.is_empty() && adapters.len() < state.len());
    let frozen = read(family, step.variables(), &[file]).unwrap();
    for (name, array) in state.iter() {
        let want = if is_adapter(name) { first.get(name).unwrap() } else { frozen[name].clone() };
        assert_eq!(array.to_host().unwrap(), want, "{name}");
    }
}

#[test]
fn all_missing_tensors_are_reported() {
    let program = step(MODELS[0].3);
    let wrong = |family, variables: &[shardc_train::nn::Variable], file: &[u8]| {
        read(family, variables, &[file]).unwrap_err().to_string()
    };
    let text = wrong(Family::Llama, &program.variables, MODELS[0].2);
    assert!(
        text.contains("SH0723") && text.contains("\"wpe.embedding\" is not a parameter of Llama"),
        "{text}"
    );
    assert!(
        text.contains("\"model.layers.0.mlp.up_proj.weight\" is missing, for \"h.mlp.up.kernel\""),
        "{text}"
    );
    let mut larger = program.variables.clone();
    larger[0].shape = vec![13, 8];
    let text = wrong(Family::Gpt2, &larger, MODELS[0].2);
    assert!(
        text.contains(
            "\"transformer.wte.weight\" has shape [12, 8], but \"wte.embedding\" has shape [13, 8]"
        ),
        "{text}"
    );
    let text = wrong(Family::Gpt2, &program.variables, b"no file at all");
    assert!(text.contains("SH0725"), "{text}");
}

#[test]
fn peft_adapters_match_their_outputs() {
    let Some(client) = client().unwrap() else { return };
    let (base, file) = (MODELS[1].2, include_bytes!("../data/pretrained/llama_lora.safetensors"));
    let values: Value = serde_json::from_str(VALUES).unwrap();
    let list = |value: &Value| -> Vec<f64> {
        value.as_array().unwrap().iter().map(|n| n.as_f64().unwrap()).collect()
    };
    let lora = Lora::new(2, 6.0).targets("attn.query,attn.value,mlp.down".parse().unwrap());
    let g = Graph::new("model", &Mesh::new(&[("data", 2)]).unwrap());
    let p = Scope::new(&g).with_lora(&lora, None);
    let logits = Decoder::llama(12, 16, 20, 2, 4, 2).apply(&p, tokens(&g), None);
    let program = p.finish(&[("result", logits)]).unwrap();
    let step = Step::compile(&client, &Compiler::new(), program).unwrap();
    let mut arrays = read(Family::Llama, step.variables(), &[base]).unwrap();
    let config = r#"{"peft_type": "LORA", "r": 2, "lora_alpha": 6, "target_modules": ["q_proj", "v_proj", "down_proj"]}"#;
    let files = |weights: &[u8]| AdapterFiles { weights: weights.to_vec(), config: config.to_owned() };
    assert_eq!(files(file).lora(Family::Llama).unwrap().scale(), 3.0);
    arrays.extend(read_adapters(Family::Llama, step.variables(), &lora, &files(file)).unwrap());
    let mut state = step.put(&arrays).unwrap();
    let tokens: Vec<i32> = list(&values["tokens"]).iter().map(|&n| n as i32).collect();
    let tokens = HostArray::from_slice(&tokens, &[2, 5]).unwrap();
    let have = step.run(&mut state, &[("tokens", &tokens)]).unwrap().get("result").unwrap().to_f64_vec();
    let want = list(&values["llama_lora"]["data"]);
    let off = have.iter().zip(&want).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(have.len() == want.len() && off < 2e-5, "off by {off:e}: {have:?}, not {want:?}");

    // Writing the models again produces the same tensors.
    let written_files =
        write_adapters(Family::Llama, step.variables(), &lora, |name| Ok(arrays[name].clone())).unwrap();
    let (written, theirs) =
        (SafeTensors::deserialize(&written_files.weights).unwrap(), SafeTensors::deserialize(file).unwrap());
    assert_eq!(written.len(), theirs.len());
    for (name, tensor) in theirs.tensors() {
        assert_eq!(written.tensor(&name).unwrap(), tensor, "{name}");
    }
    let config: Value = serde_json::from_str(&written_files.config).unwrap();
    assert_eq!((config["r"].as_i64(), config["lora_alpha"].as_f64()), (Some(2), Some(6.0)));
    assert_eq!(config["target_modules"], serde_json::json!(["q_proj", "v_proj", "down_proj"]));

    let text = files(base).lora(Family::Llama).unwrap_err().to_string();
    assert!(text.contains("lm_head.weight\" (it is not in modules_to_save)"), "{text}");
    let gpt2 = write_adapters(Family::Gpt2, step.variables(), &lora, |name| Ok(arrays[name].clone()));
    let text = gpt2.unwrap_err().to_string();
    assert!(text.contains("SH0724") && text.contains("h.attn.query"), "{text}");
}
