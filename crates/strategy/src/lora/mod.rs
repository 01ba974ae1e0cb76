//! LoRA: low-rank adapters for frozen linear layers (Hu et al., "LoRA", 2021).
//!
//! A linear layer `x W` becomes `x W + s dropout(x) A B`, where `A` has `rank` columns, `B` is initially zero, and `s = alpha / rank`.
//! Only `A` and `B` are trained.

mod adapt;
mod dropout;
mod forms;
mod layers;
mod maps;
mod names;
mod parameters;
mod patterns;
mod targets;

pub use adapt::{Adapted, Adapter, adapt};
pub use forms::{Reform, Step};
pub use layers::Layers;
pub use maps::{LinearMap, Side};
pub use parameters::Parameters;
pub use patterns::Patterns;
pub use targets::{Targets, TargetsError};

/// Which linear layers get adapters, and what kind: PEFT's `LoraConfig`.
#[derive(Clone, Debug, PartialEq)]
pub struct Lora {
    /// The rank: the number of columns of `A`, and of rows of `B`.
    pub rank: i64,
    /// The numerator of the adapters' scale, `alpha / rank`.
    pub alpha: f64,
    /// The dropout probability of the adapters' input during training.
    pub dropout: f64,
    /// Whether the scale is `alpha / sqrt(rank)` (Kalajdzievski, "A Rank Stabilization Scaling Factor", 2023).
    pub rank_stabilized: bool,
    /// The linear layers that get adapters.
    pub targets: Targets,
    /// Linear layers that get no adapters although they are targets.
    pub exclude: Option<Targets>,
    /// The layers in which targets get adapters; all layers if unset. Ignored for [`Targets::Pattern`], and for a target that is the full
    /// name of a linear layer.
    pub layers: Option<Layers>,
    /// Ranks of specific linear layers, instead of `rank`.
    pub rank_pattern: Patterns<i64>,
    /// Alphas of specific linear layers, instead of `alpha`.
    pub alpha_pattern: Patterns<f64>,
    /// Whether the norm of each column of `W + s A B`, with `W` as `[inputs, outputs]`, is trained separately as a magnitude (Liu
    /// et al., "DoRA", 2024).
    pub dora: bool,
    /// Modules that are trained fully, without adapters: names, or the last parts of names.
    pub modules_to_save: Vec<String>,
    /// Which biases are trained.
    pub bias: Bias,
}

/// Which biases of a model with adapters are trained.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bias {
    /// No biases are trained.
    #[default]
    None,
    /// All biases are trained.
    All,
    /// The biases of linear layers with adapters are trained.
    LoraOnly,
}

/// The default: rank 8, alpha 8, all linear layers except the output.
impl Default for Lora {
    fn default() -> Self {
        Lora {
            rank: 8,
            alpha: 8.0,
            dropout: 0.0,
            rank_stabilized: false,
            targets: Targets::AllLinear,
            exclude: None,
            layers: None,
            rank_pattern: Patterns::default(),
            alpha_pattern: Patterns::default(),
            dora: false,
            modules_to_save: Vec::new(),
            bias: Bias::None,
        }
    }
}

impl Lora {
    /// Creates a configuration with this rank and alpha.
    #[must_use]
    pub fn new(rank: i64, alpha: f64) -> Lora {
        Lora { rank, alpha, ..Lora::default() }
    }

    /// Sets the dropout probability of the adapters' input.
    #[must_use]
    pub fn dropout(self, dropout: f64) -> Lora {
        Lora { dropout, ..self }
    }

    /// Sets the targeted linear layers.
    #[must_use]
    pub fn targets(self, targets: Targets) -> Lora {
        Lora { targets, ..self }
    }

    /// Returns the scale of `x A B`, unless a pattern specifies a different one.
    #[must_use]
    pub fn scale(&self) -> f64 {
        self.scaled(self.alpha, self.rank)
    }

    /// Returns whether the linear layer of this name gets adapters.
    #[must_use]
    pub fn adapts(&self, name: &str, is_output: bool) -> bool {
        if self.exclude.as_ref().is_some_and(|exclude| exclude.has(name, false)) || self.saves(name) {
            return false;
        }
        let is_named_whole = |targets: &Targets| match targets {
            Targets::Names(names) => names.iter().any(|target| target == name),
            Targets::Pattern(_) => true,
            Targets::AllLinear => false,
        };
        self.targets.has(name, is_output)
            && self.layers.as_ref().is_none_or(|layers| is_named_whole(&self.targets) || layers.has(name))
    }

    /// Returns whether a module is fully trained, or is part of a fully trained module.
    #[must_use]
    pub fn saves(&self, name: &str) -> bool {
        let parts: Vec<&str> = name.split('.').collect();
        let is_saved = |saved: &String| {
            let of: Vec<&str> = saved.split('.').collect();
            parts.windows(of.len()).any(|window| window == of.as_slice())
        };
        self.modules_to_save.iter().any(is_saved)
    }

    /// Returns the rank of the adapters of the linear layer of this name.
    #[must_use]
    pub fn rank_of(&self, name: &str) -> i64 {
        self.rank_pattern.get(name).copied().unwrap_or(self.rank)
    }

    /// Returns the scale of `x A B` for the linear layer of this name.
    #[must_use]
    pub fn scale_of(&self, name: &str) -> f64 {
        let alpha = self.alpha_pattern.get(name).copied().unwrap_or(self.alpha);
        self.scaled(alpha, self.rank_of(name))
    }

    fn scaled(&self, alpha: f64, rank: i64) -> f64 {
        let rank = rank.max(1) as f64;
        alpha / if self.rank_stabilized { rank.sqrt() } else { rank }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales() {
        assert_eq!(Lora::new(8, 16.0).scale(), 2.0);
        let patterns = |entries: &[(&str, f64)]| {
            Patterns::new(entries.iter().map(|&(text, alpha)| (text.to_owned(), alpha))).unwrap()
        };
        let ranks = Patterns::new([("down".to_owned(), 2)]).unwrap();
        let lora =
            Lora { rank_pattern: ranks, alpha_pattern: patterns(&[("up", 4.0)]), ..Lora::new(8, 16.0) };
        assert_eq!((lora.scale_of("h.up"), lora.scale_of("h.down"), lora.scale_of("q")), (0.5, 8.0, 2.0));
        assert_eq!((lora.rank_of("h.down"), lora.rank_of("h.up")), (2, 8));
        assert_eq!(Lora { rank_stabilized: true, ..Lora::new(16, 8.0) }.scale(), 2.0);
    }

    #[test]
    fn fully_trained_modules_have_no_adapters() {
        let lora = Lora { modules_to_save: vec!["lm_head".to_owned()], ..Lora::default() };
        assert!(lora.saves("lm_head") && lora.saves("model.lm_head") && lora.saves("lm_head.linear"));
        assert!(!lora.saves("my_lm_head") && lora.adapts("up", false) && !lora.adapts("lm_head", false));
        let named = Lora { targets: "x.1.up,q".parse().unwrap(), ..Lora::default() };
        let layers = Layers::new(vec![0], Vec::new()).unwrap();
        let named = Lora { layers: Some(layers), exclude: Some("m.h.0.k.q".parse().unwrap()), ..named };
        assert!(named.adapts("x.1.up", false) && named.adapts("m.h.0.q", false));
        assert!(!named.adapts("m.h.1.q", false) && !named.adapts("m.h.0.k.q", false));
    }
}
