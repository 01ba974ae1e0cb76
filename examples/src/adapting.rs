//! Code shared by `lora` and `qlora`: trains adapters on a frozen model to write sonnets, saves them, and loads them again.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use clap::Args;
use shardc::graph::{Graph, Keep, Mesh, Tensor};
use shardc_train::data::text::Characters;
use shardc_train::nn::loss::CrossEntropy;
use shardc_train::nn::models::Decoder;
use shardc_train::nn::optim::{self, AdamW, Schedule, clip_by_global_norm};
use shardc_train::nn::{Kind, Lora, Nf4, Scope, StepProgram};
use shardc_train::pretrained::{AdapterFiles, Family, read_adapters, write_adapters};
use shardc_train::{State, Step};

use crate::harness::Options;
use crate::training::{self, Finished};
use crate::writing::{self, TOKENS};

/// How adapters are trained, and where they are saved.
#[derive(Args, Debug)]
pub struct Adapting {
    /// Steps of training
    #[arg(long, default_value_t = 200)]
    pub train: u64,
    /// Layers of the frozen model
    #[arg(long, default_value_t = 2)]
    pub layers: i64,
    /// The rank of the adapters
    #[arg(long, default_value_t = 8)]
    pub rank: i64,
    /// Folder for adapter_model.safetensors and adapter_config.json, as PEFT writes them; a temporary folder if not given
    #[arg(long, value_name = "DIR")]
    pub save: Option<PathBuf>,
}

/// Trains adapters, saves them, loads them with the same frozen model, and checks that the outputs are equal.
///
/// # Errors
/// A program does not compile or run, a file cannot be written, or loaded adapters produce different outputs.
#[expect(clippy::print_stdout, reason = "an example shows its results")]
pub fn learn(options: &Options, args: &Adapting, nf4: Option<Nf4>) -> Result<()> {
    let model =
        Model { options, mesh: options.mesh()?, args, nf4, lora: Lora::new(args.rank, 16.0).dropout(0.1) };
    let tokens = Characters::of(writing::TEXT).encode(writing::TEXT);
    let client = options.client()?;
    let train = model.training()?;
    println!("{}", train.parameters());
    let steps = options.limited(args.train);
    let train = options.compile(&client, train)?;
    let source = writing::batches(tokens.clone(), options.seed);
    let Some(Finished { state, .. }) = training::train(options, &train, steps, TOKENS, source)? else {
        return Ok(());
    };
    let thrown_away = tempfile::tempdir()?;
    let folder = args.save.as_deref().unwrap_or(thrown_away.path());
    let evaluate = options.compile(&client, model.evaluation()?)?;
    let loss = |state: &mut State| -> Result<f64> {
        let batch = writing::batch(&tokens, options.seed, u64::MAX)?;
        Ok(evaluate.run(state, &[("tokens", &batch)])?.scalar("loss")?)
    };
    let trained = loss(&mut evaluate.adopt(&state)?)?;
    save(folder, &evaluate, &model.lora, &state)?;
    let before = loss(&mut evaluate.init(options.seed)?)?;
    let loaded = loss(&mut load(folder, &evaluate, &model.lora, options.seed)?)?;
    println!("loss {before:.4} without adapters, {trained:.4} with them, {loaded:.4} with the loaded ones");
    ensure!(loaded == trained, "the loaded adapters give a different loss");
    Ok(())
}

/// A small Llama, and its training configuration.
struct Model<'a> {
    options: &'a Options,
    mesh: Mesh,
    args: &'a Adapting,
    nf4: Option<Nf4>,
    lora: Lora,
}

impl Model<'_> {
    /// A training step of the adapters: AdamW with a cosine schedule and gradient clipping; each layer is rematerialized.
    fn training(&self) -> Result<StepProgram> {
        let g = Graph::new("train", &self.mesh);
        let p = self.options.scope(&g).checkpointed(Keep::Nothing).with_lora(&self.lora, Some(g.key(7)));
        let (p, loss) = self.loss(&g, p);
        let gradients = clip_by_global_norm(&p.gradients(loss), 1.0);
        let steps = self.args.train as f64;
        let rate = Schedule::WarmupCosine { from: 0.0, peak: 1e-2, warmup: 10.0, steps, to: 0.0 };
        optim::apply(&AdamW::new(rate), &p, &gradients);
        Ok(p.finish(&[("loss", loss)])?)
    }

    fn evaluation(&self) -> Result<StepProgram> {
        let g = Graph::new("evaluate", &self.mesh);
        let p = self.options.scope(&g).with_lora(&self.lora, None);
        let (p, loss) = self.loss(&g, p);
        Ok(p.finish(&[("loss", loss)])?)
    }

    fn loss<'g>(&self, g: &'g Graph, p: Scope<'g>) -> (Scope<'g>, Tensor<'g>) {
        let p = self.nf4.map_or(p.clone(), |nf4| p.quantized(nf4));
        let llama = Decoder::llama(writing::vocab_size(), 96, 256, self.args.layers, 4, 2);
        let (tokens, next) = writing::passages(g);
        let loss = CrossEntropy::new().mean(llama.apply(&p, tokens, None), next);
        (p, loss)
    }
}

fn save(folder: &Path, step: &Step, lora: &Lora, state: &State) -> Result<()> {
    let files = write_adapters(Family::Llama, step.variables(), lora, |name| state.get(name))?;
    std::fs::create_dir_all(folder)?;
    std::fs::write(folder.join("adapter_model.safetensors"), files.weights)?;
    std::fs::write(folder.join("adapter_config.json"), files.config)?;
    Ok(())
}

/// Returns the frozen model with its initial values, and adapters from a file.
fn load(folder: &Path, step: &Step, lora: &Lora, seed: u64) -> Result<State> {
    let files = AdapterFiles::open(folder)?;
    let mut arrays = read_adapters(Family::Llama, step.variables(), lora, &files)?;
    let base = step.init(seed)?;
    for variable in step.variables().iter().filter(|variable| variable.kind != Kind::Parameter) {
        arrays.insert(variable.name.clone(), base.get(&variable.name)?);
    }
    Ok(step.put(&arrays)?)
}
