//! Parses torchtitan's TOML: `[parallelism]`, and the keys of `[training]` and `[activation_checkpoint]` that affect partitioning.

use shardc_ir::{Class, DType, Diagnostic, Span};
use toml::{Table, Value};

use super::Accelerate;
use super::parallelism::Sizes;
use crate::settings::Sharding;
use crate::units::Wrap;

/// Returns whether a text is a torchtitan configuration: it has the table `[parallelism]`.
pub(super) fn is_it(text: &str) -> bool {
    text.lines().any(|line| line.trim() == "[parallelism]")
}

/// Keys of `[parallelism]` that do not affect partitioning.
const WITHOUT_EFFECT: &[&str] = &[
    "enable_compiled_autograd",
    "disable_loss_parallel",
    "context_parallel_rotate_method",
    "enable_async_tensor_parallel",
    "module_fqns_per_model_part",
];

/// Parses a torchtitan configuration.
pub(super) fn parse(text: &str) -> Result<Accelerate, Vec<Diagnostic>> {
    let table: Table = text.parse().map_err(|error: toml::de::Error| {
        let span =
            error.span().map_or(Span::NONE, |span| Span::new(span.start, span.end.max(span.start + 1)));
        vec![Diagnostic::invalid("SH1210", format!("the text is not TOML: {}", error.message())).at(span)]
    })?;
    let mut reader = Reader { text, table, out: Accelerate::default(), errors: Vec::new() };
    reader.read();
    if reader.errors.is_empty() {
        return Ok(reader.out);
    }
    Err(reader.errors.into_iter().chain(reader.out.warnings).collect())
}

struct Reader<'t> {
    text: &'t str,
    table: Table,
    out: Accelerate,
    errors: Vec<Diagnostic>,
}

impl Reader<'_> {
    fn read(&mut self) {
        let degree = |reader: &mut Self, name: &str| reader.degree(name, 1).unwrap_or(1);
        let replicate = degree(self, "data_parallel_replicate_degree");
        let shard = self.degree("data_parallel_shard_degree", -1);
        let context = degree(self, "context_parallel_degree");
        let tensor = degree(self, "tensor_parallel_degree");
        let expert = degree(self, "expert_parallel_degree");
        for name in ["pipeline_parallel_degree", "expert_tensor_parallel_degree"] {
            if degree(self, name) != 1 {
                self.wrong(name, format!("{name} above 1 is not supported"));
            }
        }
        // The expert axis is split off from the axis that shards parameters.
        let within = match (expert, shard) {
            (1, shard) => shard,
            (expert, Some(shard))
                if (shard * context).is_multiple_of(expert) && shard.is_multiple_of(expert) =>
            {
                Some(shard / expert)
            }
            (_, None) => None,
            (expert, Some(shard)) => {
                let text =
                    format!("expert_parallel_degree {expert} must divide data_parallel_shard_degree {shard}");
                self.wrong("expert_parallel_degree", text);
                None
            }
        };
        let again = match self.word("parallelism", "fsdp_reshard_after_forward").as_deref() {
            None | Some("default" | "always") => None,
            Some("never") => Some(false),
            Some(other) => {
                let text =
                    format!("fsdp_reshard_after_forward must be default, always or never, got {other}");
                self.wrong("fsdp_reshard_after_forward", text);
                None
            }
        };
        self.out.settings.reshard_after_forward = again;
        self.out.settings.wrap = Some(Wrap::Layers);
        let sizes = Sizes { replicate, shard: within.unwrap_or(1), expert, context, sequence: 1, tensor };
        if let Some(conflict) = sizes.conflict().filter(|_| within.is_some()) {
            self.wrong("[parallelism]", format!("[parallelism]: {conflict}"));
        }
        let is_whole = within.is_some() && sizes.product().is_some();
        if is_whole {
            self.out.settings.sharding = sizes.strategy(Sharding::FullShard);
            self.out.parallel = Some(sizes.mesh());
        } else if replicate > 1 {
            self.out.settings.sharding = Sharding::HybridShard;
        }
        self.rest();
    }

    /// Reads the tables other than `[parallelism]`, and reports unknown keys of `[parallelism]`.
    fn rest(&mut self) {
        let dtype = match self.word("training", "mixed_precision_param").as_deref() {
            Some("bfloat16") | None => Some(DType::BF16),
            _ => None,
        };
        (self.out.settings.compute_dtype, self.out.model.compute_dtype) = (dtype, dtype);
        let is_wide = self.word("training", "mixed_precision_reduce").is_none_or(|word| word == "float32");
        self.out.settings.fp32_reduce_scatter = dtype.is_some() && is_wide;
        let offload = self.table.get("training").and_then(|table| table.get("enable_cpu_offload"));
        self.out.settings.offload_params = offload == Some(&Value::Boolean(true));
        let mode = self.word("activation_checkpoint", "mode");
        self.out.settings.activation_checkpointing = mode.as_deref() == Some("full");
        self.out.model.activation_checkpointing = mode.as_deref() == Some("full");
        if mode.as_deref() == Some("selective") {
            self.warn(
                "SH1214",
                "mode",
                "activation_checkpoint.mode selective is not supported: nothing is rematerialized",
            );
        }
        let known = |name: &str| {
            name.ends_with("_degree")
                || name == "fsdp_reshard_after_forward"
                || WITHOUT_EFFECT.contains(&name)
        };
        let names: Vec<String> = match self.table.get("parallelism") {
            Some(Value::Table(table)) => table.keys().cloned().collect(),
            _ => Vec::new(),
        };
        for name in names.iter().filter(|name| !known(name)) {
            if !name.starts_with("pipeline_parallel") {
                self.warn("SH1212", name, &format!("unknown key '{name}' in [parallelism]"));
            }
        }
    }

    /// Returns a degree of parallelism in `[parallelism]`; `None` for -1, which means all remaining devices.
    fn degree(&mut self, name: &str, default: i64) -> Option<u64> {
        let value = self.table.get("parallelism").and_then(|table| table.get(name));
        let degree = value.map_or(Some(default), Value::as_integer);
        match degree {
            Some(-1) if name == "data_parallel_shard_degree" => None,
            Some(degree) if degree >= 1 => Some(degree.unsigned_abs()),
            _ => {
                self.wrong(name, format!("{name} must be a positive integer"));
                Some(1)
            }
        }
    }

    fn word(&self, table: &str, name: &str) -> Option<String> {
        self.table.get(table)?.get(name)?.as_str().map(str::to_owned)
    }

    /// Returns the position of the first occurrence of a name in the text.
    fn place(&self, name: &str) -> Span {
        self.text.find(name).map_or(Span::NONE, |at| Span::new(at, at + name.len()))
    }

    fn wrong(&mut self, name: &str, message: String) {
        self.errors.push(Diagnostic::invalid("SH1211", message).at(self.place(name)));
    }

    fn warn(&mut self, code: &'static str, name: &str, message: &str) {
        let warning = Diagnostic::warning(Class::InvalidInput, code, message);
        self.out.warnings.push(warning.at(self.place(name)));
    }
}
