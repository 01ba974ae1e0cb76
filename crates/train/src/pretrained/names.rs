//! Names and layouts of model variables in Hugging Face checkpoints.

use super::Family;

/// How a tensor is converted to a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    /// Unchanged.
    Same,
    /// The tensor is `[out, in]`, the variable `[in, out]`.
    Transposed,
    /// The variable is a third of the last dimension of the tensor: third 0, 1 or 2.
    Third(usize),
    /// The kernel of a convolution: the tensor is `[out, in, window..]`, the variable `[window.., in, out]`.
    Window,
}

/// The name of a tensor, with `{}` for the layer number, and its conversion.
type Place = (&'static str, How);

/// Returns the candidate names of a variable's tensor, with and without the prefix of the family. The first name that the checkpoint
/// contains is used.
pub(super) fn places(family: Family, variable: &str) -> Option<Vec<(String, How)>> {
    let (table, prefix) = table(family);
    let (layer, what) = variable.rsplit_once('.').unwrap_or(("", variable));
    let place = |&(name, how): &Place| {
        // Table entries are names of modules, to which the name of the parameter is appended. Biases are not transposed.
        let (name, how) = match what {
            "bias" => (
                format!("{name}.bias"),
                if how == How::Transposed || how == How::Window { How::Same } else { how },
            ),
            "kernel" | "scale" | "embedding" => (format!("{name}.weight"), how),
            _ => (name.to_owned(), how),
        };
        [(format!("{prefix}{name}"), how), (name, how)]
    };
    let ours = if matches!(what, "bias" | "kernel" | "scale" | "embedding") { layer } else { variable };
    let found: Vec<(String, How)> =
        table.iter().filter(|(of, _)| *of == ours).flat_map(|(_, found)| place(found)).collect();
    (!found.is_empty()).then_some(found)
}

/// The module of shardc's model that corresponds to a module of a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Module {
    /// The name in shardc's model.
    pub(super) ours: &'static str,
    /// The conversion of the module's weight.
    pub(super) how: How,
    /// The layer number, if there are several layers.
    pub(super) layer: Option<i64>,
}

/// Returns the modules of shardc's model that correspond to a module of a checkpoint. There are several if the checkpoint's module is
/// fused.
pub(super) fn modules(family: Family, name: &str) -> Vec<Module> {
    let (table, prefix) = table(family);
    let own = name.strip_prefix(prefix).unwrap_or(name);
    let layer = |template: &str| match template.split_once("{}") {
        None => (template == own).then_some(None),
        Some((before, after)) => {
            let number = own.strip_prefix(before)?.strip_suffix(after)?;
            number.parse::<i64>().ok().map(Some)
        }
    };
    let found = table
        .iter()
        .filter_map(|&(ours, (template, how))| Some(Module { ours, how, layer: layer(template)? }));
    // A tied embedding table is the output layer only if the checkpoint has no other tensor for it.
    found.filter(|module| !(module.ours == "lm_head" && own == "embed_tokens")).collect()
}

/// The names that a module of shardc's model has in checkpoints, the most common first, with `{}` for the layer number.
pub(super) fn module_names(family: Family, ours: &str) -> Vec<(String, How)> {
    let (table, prefix) = table(family);
    // Names of heads have no prefix, because a head is a sibling of the module that the prefix names.
    let is_head = matches!(ours, "lm_head" | "head");
    let names = table.iter().filter(|(of, (name, _))| *of == ours && !(is_head && *name == "embed_tokens"));
    let both = names.flat_map(|&(_, (name, how))| {
        let (with, without) = ((format!("{prefix}{name}"), how), (name.to_owned(), how));
        if is_head { [without, with] } else { [with, without] }
    });
    both.collect()
}

/// The prefix of names in models of the family.
pub(super) fn prefix(family: Family) -> &'static str {
    table(family).1
}

/// Whether only one module of a layer has a name with the last component `last`.
pub(super) fn is_only(family: Family, last: &str) -> bool {
    let is_it = |name: &&str| name.rsplit('.').next() == Some(last);
    table(family).0.iter().map(|(_, (name, _))| *name).filter(is_it).count() == 1
}

fn table(family: Family) -> (&'static [(&'static str, Place)], &'static str) {
    match family {
        Family::Gpt2 => (GPT2, "transformer."),
        Family::Llama => (LLAMA, "model."),
        Family::Bert => (BERT, "bert."),
        Family::Vit => (VIT, "vit."),
    }
}

use How::{Same, Third, Transposed, Window};

/// The modules of GPT-2, which stores kernels as `[in, out]`, and the kernels of queries, keys and values in one tensor.
const GPT2: &[(&str, Place)] = &[
    ("wte", ("wte", Same)),
    ("wpe", ("wpe", Same)),
    ("h.ln_1", ("h.{}.ln_1", Same)),
    ("h.attn.query", ("h.{}.attn.c_attn", Third(0))),
    ("h.attn.key", ("h.{}.attn.c_attn", Third(1))),
    ("h.attn.value", ("h.{}.attn.c_attn", Third(2))),
    ("h.attn.out", ("h.{}.attn.c_proj", Same)),
    ("h.ln_2", ("h.{}.ln_2", Same)),
    ("h.mlp.up", ("h.{}.mlp.c_fc", Same)),
    ("h.mlp.down", ("h.{}.mlp.c_proj", Same)),
    ("ln_f", ("ln_f", Same)),
];

/// The modules of Llama. Without an `lm_head` tensor, the output layer is tied to the embedding table.
const LLAMA: &[(&str, Place)] = &[
    ("wte", ("embed_tokens", Same)),
    ("h.ln_1", ("layers.{}.input_layernorm", Same)),
    ("h.attn.query", ("layers.{}.self_attn.q_proj", Transposed)),
    ("h.attn.key", ("layers.{}.self_attn.k_proj", Transposed)),
    ("h.attn.value", ("layers.{}.self_attn.v_proj", Transposed)),
    ("h.attn.out", ("layers.{}.self_attn.o_proj", Transposed)),
    ("h.ln_2", ("layers.{}.post_attention_layernorm", Same)),
    ("h.mlp.gate", ("layers.{}.mlp.gate_proj", Transposed)),
    ("h.mlp.up", ("layers.{}.mlp.up_proj", Transposed)),
    ("h.mlp.down", ("layers.{}.mlp.down_proj", Transposed)),
    ("ln_f", ("norm", Same)),
    ("lm_head", ("lm_head", Transposed)),
    ("lm_head", ("embed_tokens", Transposed)),
];

const BERT: &[(&str, Place)] = &[
    ("wte", ("embeddings.word_embeddings", Same)),
    ("wpe", ("embeddings.position_embeddings", Same)),
    ("types", ("embeddings.token_type_embeddings", Same)),
    ("ln_0", ("embeddings.LayerNorm", Same)),
    ("h.attn.query", ("encoder.layer.{}.attention.self.query", Transposed)),
    ("h.attn.key", ("encoder.layer.{}.attention.self.key", Transposed)),
    ("h.attn.value", ("encoder.layer.{}.attention.self.value", Transposed)),
    ("h.attn.out", ("encoder.layer.{}.attention.output.dense", Transposed)),
    ("h.ln_1", ("encoder.layer.{}.attention.output.LayerNorm", Same)),
    ("h.mlp.up", ("encoder.layer.{}.intermediate.dense", Transposed)),
    ("h.mlp.down", ("encoder.layer.{}.output.dense", Transposed)),
    ("h.ln_2", ("encoder.layer.{}.output.LayerNorm", Same)),
];

const VIT: &[(&str, Place)] = &[
    ("patches", ("embeddings.patch_embeddings.projection", Window)),
    ("cls", ("embeddings.cls_token", Same)),
    ("positions", ("embeddings.position_embeddings", Same)),
    ("h.ln_1", ("encoder.layer.{}.layernorm_before", Same)),
    ("h.attn.query", ("encoder.layer.{}.attention.attention.query", Transposed)),
    ("h.attn.key", ("encoder.layer.{}.attention.attention.key", Transposed)),
    ("h.attn.value", ("encoder.layer.{}.attention.attention.value", Transposed)),
    ("h.attn.out", ("encoder.layer.{}.attention.output.dense", Transposed)),
    ("h.ln_2", ("encoder.layer.{}.layernorm_after", Same)),
    ("h.mlp.up", ("encoder.layer.{}.intermediate.dense", Transposed)),
    ("h.mlp.down", ("encoder.layer.{}.output.dense", Transposed)),
    ("ln_f", ("layernorm", Same)),
    ("head", ("classifier", Transposed)),
    // The following names are those of transformers 5.24 and later.
    ("h.ln_1", ("layers.{}.layernorm_before", Same)),
    ("h.attn.query", ("layers.{}.attention.q_proj", Transposed)),
    ("h.attn.key", ("layers.{}.attention.k_proj", Transposed)),
    ("h.attn.value", ("layers.{}.attention.v_proj", Transposed)),
    ("h.attn.out", ("layers.{}.attention.o_proj", Transposed)),
    ("h.ln_2", ("layers.{}.layernorm_after", Same)),
    ("h.mlp.up", ("layers.{}.mlp.fc1", Transposed)),
    ("h.mlp.down", ("layers.{}.mlp.fc2", Transposed)),
];
