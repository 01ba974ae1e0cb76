//! The options of a compilation, from their texts.

use std::sync::Arc;
use std::time::Duration;

use shardc::rules::{CustomCall, RuleError, RuleFile};
use shardc::target::Target;
use shardc::{Annotation, CallRule, CancelToken, CleanOptions, Compiler, SpecError, SpmdMode};

use crate::failure::Failure;

/// The name of options in messages.
const NAME: &str = "<options>";

/// The rule of a custom call.
pub(crate) type Rule = Box<dyn Fn(&CustomCall<'_>) -> Result<CallRule, RuleError> + Send + Sync>;

/// The options as the caller gave them.
#[derive(Default)]
pub(crate) struct Texts<'a> {
    pub(crate) mesh: &'a str,
    pub(crate) specs: Vec<&'a str>,
    pub(crate) dims: Vec<&'a str>,
    pub(crate) entry: &'a str,
    pub(crate) target: &'a str,
    pub(crate) rule_file: &'a str,
    pub(crate) rules: Vec<(&'a str, Rule)>,
    pub(crate) partitions: bool,
    pub(crate) strict: bool,
    pub(crate) warn_bytes: Option<u64>,
    pub(crate) combine_bytes: Option<u64>,
    pub(crate) time_limit: Option<Duration>,
    pub(crate) cancel: Option<CancelToken>,
}

/// The options of a compilation.
#[derive(Default)]
pub(crate) struct Options {
    pub(crate) compiler: Compiler,
    /// The target, if it has a grid.
    pub(crate) target: Option<Arc<Target>>,
}

impl Options {
    pub(crate) fn new(texts: Texts<'_>) -> Result<Options, Failure> {
        let refused = |error: shardc::Error| Failure::of(&error, NAME, "");
        let mode = if texts.partitions { SpmdMode::Partition } else { SpmdMode::Replica };
        let mut compiler = Compiler::new().spmd_mode(mode).strict(texts.strict);
        let mut target = None;
        if let Some(bytes) = texts.combine_bytes {
            compiler = compiler.clean(CleanOptions { combine_bytes: bytes, ..CleanOptions::default() });
        }
        if !texts.target.is_empty() {
            match shardc::target::find(texts.target) {
                Some(device) => compiler = compiler.device(device),
                None => {
                    let found = self::target(texts.target)?;
                    compiler = compiler.target(Arc::clone(&found));
                    target = Some(found);
                }
            }
        }
        if !texts.mesh.is_empty() {
            compiler = compiler.mesh(texts.mesh).map_err(refused)?;
        }
        for text in texts.specs {
            let spec: Annotation =
                text.parse().map_err(|error: SpecError| refused(error.to_diagnostic("spec", text).into()))?;
            compiler = compiler.annotation(spec);
        }
        for text in texts.dims {
            let dim = text.split_once('=').and_then(|(name, size)| Some((name, size.parse().ok()?)));
            let (name, size) = dim.ok_or_else(|| {
                Failure::argument(&format!(
                    "a dimension has the form NAME=SIZE, as in \"batch=8\", not \"{text}\""
                ))
            })?;
            compiler = compiler.dim(name, size);
        }
        if !texts.rule_file.is_empty() {
            let rules = RuleFile::parse(texts.rule_file);
            compiler =
                compiler.rules(&rules.map_err(|error| Failure::of(&error, "<rules>", texts.rule_file))?);
        }
        for (name, rule) in texts.rules {
            compiler = compiler.custom_call_rule(name, rule);
        }
        if !texts.entry.is_empty() {
            compiler = compiler.entry(texts.entry);
        }
        if let Some(bytes) = texts.warn_bytes {
            compiler = compiler.warn_bytes(bytes);
        }
        if let Some(limit) = texts.time_limit {
            compiler = compiler.time_limit(limit);
        }
        if let Some(token) = texts.cancel {
            compiler = compiler.cancel_token(token);
        }
        Ok(Options { compiler, target })
    }
}

/// A target with a grid, or the text of a TOML file that describes one.
fn target(text: &str) -> Result<Arc<Target>, Failure> {
    let parsed = if text.contains('=') { Target::from_toml(text) } else { text.parse() };
    parsed.map(Arc::new).map_err(|error| Failure::argument(&error.to_string()))
}
