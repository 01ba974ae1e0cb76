//! Code shared by `lora_70b` and `qlora_70b`: the training step of PEFT's guide for Llama-2-70B.

use anyhow::Result;
use clap::Args;
use shardc::graph::{DType, Graph, Keep, Mesh};
use shardc_train::nn::loss::CrossEntropy;
use shardc_train::nn::models::Decoder;
use shardc_train::nn::optim::{self, AdamW, Schedule, accumulated, clip_by_global_norm};
use shardc_train::nn::{Lora, Nf4, Policy, Scope, StepProgram};

/// Tokens of a sequence.
const TOKENS: i64 = 2048;

/// Block size of keys in attention, as in the guide's flash attention.
const BLOCK: i64 = 512;

/// The batch of a step.
#[derive(Args, Clone, Copy, Debug)]
pub struct Batch {
    /// Sequences of 2048 tokens on each device, in each microbatch of gradient accumulation
    #[arg(long, default_value_t = 2)]
    pub sequences: i64,
    /// Number of microbatches of gradient accumulation
    #[arg(long, default_value_t = 2)]
    pub parts: i64,
}

/// A training step of adapters on all linear layers: rank 8, alpha 16, dropout 0.1. AdamW has a cosine schedule, and gradients are
/// clipped at a norm of one. Layers are rematerialized. Parameters are stored in the type `params`; matmuls are in `bf16`.
///
/// # Errors
/// The graph is invalid.
pub fn step(mesh: &Mesh, batch: Batch, params: DType, nf4: Option<Nf4>) -> Result<StepProgram> {
    let llama = Decoder::llama(32_000, 8192, 28_672, 80, 64, 8).attention_block(BLOCK);
    let g = Graph::new("train", mesh);
    let p = Scope::new(&g).with_policy(Policy { params, ..Policy::mixed_bf16() });
    let lora = Lora::new(8, 16.0).dropout(0.1);
    let p = p.checkpointed(Keep::Nothing).with_lora(&lora, Some(g.key(0)));
    let p = nf4.map_or(p.clone(), |nf4| p.quantized(nf4));
    let examples = batch.sequences * batch.parts * mesh.num_devices() as i64;
    let tokens = g.parameter("tokens", [examples, TOKENS + 1], DType::I32);
    let (loss, gradients) = accumulated(&p, batch.parts, &tokens, |p, tokens| {
        let logits = llama.apply(p, tokens.slice(1, ..-1), None);
        CrossEntropy::new().mean(logits, tokens.slice(1, 1..))
    });
    let gradients = clip_by_global_norm(&gradients, 1.0);
    let rate = Schedule::WarmupCosine { from: 0.0, peak: 1e-4, warmup: 30.0, steps: 1000.0, to: 0.0 };
    optim::apply(&AdamW::new(rate).with_weight_decay(1e-4), &p, &gradients);
    Ok(p.finish(&[("loss", loss)])?)
}
