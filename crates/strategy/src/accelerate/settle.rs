//! Combines keys of a configuration file whose meanings depend on each other.

use shardc_ir::{Class, Diagnostic, Span};

use super::keys::STRATEGIES;
use super::values::sharding;
use super::{Idle, NOT_BY_SIZE, NOT_FSDP, Reader};
use crate::settings::Sharding;
use crate::units::Wrap;

/// The reason why keys of FSDP version 1 have no effect in version 2.
const OF_VERSION_1: &str =
    "with fsdp_version 2, use fsdp_reshard_after_forward and parallelism_config instead";

impl Reader<'_> {
    /// Combines keys whose meanings depend on each other.
    pub(super) fn settle(&mut self) {
        self.versions();
        let sharding = self.sharding.map(|(sharding, _)| sharding);
        self.out.settings.sharding =
            if self.is_fsdp { sharding.unwrap_or_default() } else { Sharding::NoShard };
        self.deepspeed();
        self.parallelism();
        let least = self.min_parameters.map(|(n, _)| n);
        self.out.settings.wrap = match self.wrap {
            Some("TRANSFORMER_BASED_WRAP") => Some(Wrap::Layers),
            Some("SIZE_BASED_WRAP") => Some(Wrap::Size(least.unwrap_or(Wrap::MIN_PARAMETERS))),
            Some(_) => Some(Wrap::Nothing),
            None => None,
        };
        if let Some(fsdp) = self.fsdp.filter(|_| !self.is_fsdp) {
            self.ignored("fsdp_config", fsdp, NOT_FSDP);
        }
        let is_by_size = matches!(self.out.settings.wrap, Some(Wrap::Size(_)));
        if let Some((_, at)) = self.min_parameters.filter(|&(n, _)| n > 0 && !is_by_size && self.is_fsdp) {
            self.idle("fsdp_min_num_params", at, NOT_BY_SIZE);
        }
        for Idle { code, reason, keys } in std::mem::take(&mut self.idle) {
            let names: Vec<&str> = keys.iter().map(|(name, _)| *name).collect();
            let message = format!("settings without effect: {}", names.join(", "));
            let warning = Diagnostic::warning(Class::InvalidInput, code, message);
            let span = keys.first().map_or(Span::NONE, |(_, span)| *span);
            self.out.warnings.push(warning.at(span).hint(reason));
        }
    }

    /// Reads `fsdp_reshard_after_forward`: a strategy in version 1 of FSDP, a boolean in version 2 (Accelerate 1.15 raises an error for
    /// other values).
    fn versions(&mut self) {
        let default = if self.is_trainer { 2 } else { 1 };
        let is_second = match self.version.unwrap_or(default) {
            1 => false,
            2 => true,
            version => {
                let message = format!("fsdp_version must be 1 or 2, got {version}");
                let at = self.fsdp.unwrap_or(Span::NONE);
                self.errors.push(Diagnostic::invalid("SH1211", message).at(at));
                return;
            }
        };
        if is_second && let Some((sharding, at)) = self.sharding.take() {
            // Strategies in the Trainer's `fsdp` are converted to a boolean.
            let again = match sharding {
                Sharding::FullShard => "true",
                Sharding::ShardGradOp => "false",
                _ => "",
            };
            if !self.is_trainer {
                self.ignored("fsdp_sharding_strategy", at, OF_VERSION_1);
            } else if again.is_empty() {
                let message = "fsdp: this strategy needs fsdp_version: 1 in fsdp_config";
                self.errors.push(Diagnostic::invalid("SH1211", message).at(at));
            } else {
                self.reshard.get_or_insert((again.to_owned(), at));
            }
        }
        let Some((word, at)) = self.reshard.take() else { return };
        let again = match word.to_lowercase().as_str() {
            "true" | "yes" | "y" | "t" | "on" => Some(true),
            "false" | "no" | "n" | "f" | "off" => Some(false),
            "1" if is_second => Some(true),
            "0" if is_second => Some(false),
            _ => None,
        };
        let upper = word.to_uppercase();
        let numbered = word.parse::<usize>().ok().and_then(|n| STRATEGIES.get(n.checked_sub(1)?).copied());
        let strategy = sharding(&upper).or_else(|| sharding(numbered?));
        match (again, strategy) {
            (Some(again), _) => self.out.settings.reshard_after_forward = Some(again),
            (None, Some(strategy)) if !is_second => self.sharding = Some((strategy, at)),
            _ => {
                let (wanted, hint) = match is_second {
                    true => (
                        "true or false".to_owned(),
                        "with fsdp_version: 2, set mesh sizes with dp_shard_size and dp_replicate_size",
                    ),
                    false => (
                        format!("true, false, or one of {}", STRATEGIES.join(", ")),
                        "fsdp_version: 1 allows these values; fsdp_version: 2 allows only true and false",
                    ),
                };
                let message = format!("fsdp_reshard_after_forward must be {wanted}, got {word}");
                self.errors.push(Diagnostic::invalid("SH1211", message).at(at).hint(hint));
            }
        }
    }

    /// Sets the strategy from DeepSpeed's ZeRO stage, and host offload from its offload keys.
    fn deepspeed(&mut self) {
        if !self.is_deepspeed {
            return;
        }
        let (stage, at) = self.zero.stage.unwrap_or((2, Span::NONE));
        self.out.settings.sharding = match stage {
            0 => Sharding::NoShard,
            1 => Sharding::Zero1,
            2 => Sharding::ShardGradOp,
            3 => Sharding::FullShard,
            _ => {
                let error =
                    Diagnostic::invalid("SH1211", format!("zero_stage must be 0, 1, 2 or 3, got {stage}"));
                return self.errors.push(error.at(at));
            }
        };
        match (self.zero.parameters, self.zero.optimizer) {
            (Some(_), Some(_)) => self.out.settings.offload_params = true,
            (Some(at), None) => self.ignored("offload_param_device", at, TOGETHER),
            (None, Some(at)) => self.ignored("offload_optimizer_device", at, TOGETHER),
            (None, None) => {}
        }
    }

    /// Sets the mesh and the strategy from `parallelism_config`, or reports a conflict.
    fn parallelism(&mut self) {
        let Some((sizes, at)) = self.sizes else { return };
        let product = sizes.product();
        let message = match (sizes.conflict(), product, self.out.devices) {
            (Some(conflict), ..) => format!("parallelism_config: {conflict}"),
            // If all sizes are one, no parallelism is requested.
            (None, Some(1), _) => return,
            (None, Some(product), Some(devices)) if product != devices => {
                format!(
                    "parallelism_config has {} = {product} devices, but num_processes is {devices}",
                    sizes.factors()
                )
            }
            (None, None, _) => format!("parallelism_config has too many devices: {}", sizes.factors()),
            (None, Some(_), _) if self.is_fsdp && self.version != Some(2) => {
                "parallelism_config needs fsdp_version: 2".to_owned()
            }
            (None, Some(_), _) => {
                let settings = &mut self.out.settings;
                settings.sharding = sizes.strategy(settings.sharding);
                self.out.parallel = Some(sizes.mesh());
                return;
            }
        };
        self.errors.push(Diagnostic::invalid("SH1211", message).at(at));
    }
}

/// The reason why one of DeepSpeed's two offload keys has no effect without the other.
const TOGETHER: &str = "parameters and optimizer state are only offloaded together: offload both, or neither";
