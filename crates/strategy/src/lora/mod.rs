//! LoRA: adapters of low rank beside frozen linear maps (Hu et al., "LoRA", 2021).
//!
//! A map `W x` becomes `W x + s B A dropout(x)` with `A` of `rank` rows, `B` of zeros at first, and `s = alpha / rank`; only `A` and `B` are
//! trained.

mod adapt;
mod dropout;
mod forms;
mod maps;
mod names;
mod parameters;
mod targets;

pub use adapt::{Adapted, Adapter, adapt};
pub use forms::{Reform, Step};
pub use maps::{LinearMap, Side};
pub use parameters::Parameters;
pub use targets::{Targets, TargetsError};

/// Which linear maps get adapters, and what kind.
#[derive(Clone, Debug, PartialEq)]
pub struct Lora {
    /// How many rows `A` has.
    pub rank: i64,
    /// What the adapters' part is scaled by, times the rank.
    pub alpha: f64,
    /// Which part of what goes into adapters becomes zero while they are trained.
    pub dropout: f64,
    /// Whether the scale is `alpha / sqrt(rank)` (Kalajdzievski, "A Rank Stabilization Scaling Factor", 2023).
    pub rank_stabilized: bool,
    /// Which maps.
    pub targets: Targets,
}

/// Of rank 8, with an alpha of 8, at all linear maps but the output.
impl Default for Lora {
    fn default() -> Self {
        Lora { rank: 8, alpha: 8.0, dropout: 0.0, rank_stabilized: false, targets: Targets::AllLinear }
    }
}

impl Lora {
    /// Of this rank and alpha.
    #[must_use]
    pub fn new(rank: i64, alpha: f64) -> Lora {
        Lora { rank, alpha, ..Lora::default() }
    }

    /// With this part of what goes into adapters set to zero while they are trained.
    #[must_use]
    pub fn dropout(self, dropout: f64) -> Lora {
        Lora { dropout, ..self }
    }

    /// At these maps.
    #[must_use]
    pub fn targets(self, targets: Targets) -> Lora {
        Lora { targets, ..self }
    }

    /// What `B A x` is multiplied by.
    #[must_use]
    pub fn scale(&self) -> f64 {
        let rank = self.rank.max(1) as f64;
        self.alpha / if self.rank_stabilized { rank.sqrt() } else { rank }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales() {
        assert_eq!(Lora::new(8, 16.0).scale(), 2.0);
        assert_eq!(Lora { rank_stabilized: true, ..Lora::new(16, 8.0) }.scale(), 2.0);
    }
}
