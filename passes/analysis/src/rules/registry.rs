//! Sharding rules for the custom calls of a front end.
//!
//! Only the front end knows how the dimensions of its own kernels correspond. The front end registers a function for each target.
//! [`RuleRegistry::resolve`] calls this function for each custom call in a module, and writes the returned rule to the call as
//! `sdy.sharding_rule`. Propagation and planning read this attribute. All rules are therefore visible in the program.
//!
//! A rule that does not fit its call is an error of the front end. [`CallRule::Unknown`] states that nothing is known about a call.

use std::collections::{BTreeMap, BTreeSet};
use std::{fmt, sync::Arc};

use shardc_ir::suggest::unknown_name_hint;
use shardc_ir::{Attr, Class, CustomCallSpec, Diagnostic, Module, OpId, OpKind, sharding_rule_fault};

use super::SHARDING_RULE_ATTR;
use super::builder::{operand_shape, pointwise, result_shape};
use super::letters::{self, LettersFault, Side, TensorRef};
use crate::rules::sharding_rule::{FactorKind, ShardingRule};

pub(super) type Rule = dyn Fn(&CustomCall<'_>) -> Result<CallRule, RuleError> + Send + Sync;

/// The rule of a front end for one of its calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallRule {
    /// The sharding rule.
    Known(Box<ShardingRule>),
    /// There is no rule. Unless shardc has a rule for the target itself, nothing propagates through the call, and its operands are
    /// replicated.
    Unknown,
}

impl From<ShardingRule> for CallRule {
    fn from(rule: ShardingRule) -> Self {
        CallRule::Known(Box::new(rule))
    }
}

/// The reason why a rule does not fit its call.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RuleError {
    /// The letters do not fit the operands and results.
    #[error("`{letters}` {fault}")]
    Letters {
        /// The rule as written.
        letters: Box<str>,
        /// The mismatch.
        fault: LettersFault,
    },
    /// The shapes of operands and results differ.
    #[error("the rule is element-wise, but {tensor} is {ty} and {reference} is {reference_ty}")]
    Pointwise {
        /// The operand or result whose shape differs.
        tensor: TensorRef,
        /// The type of `tensor`.
        ty: String,
        /// The tensor with the expected shape.
        reference: TensorRef,
        /// The type of `reference`.
        reference_ty: String,
    },
    /// An error that the front end reports for the call.
    #[error("{0}")]
    Other(String),
}

/// The kind of callee to which a rule applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Callee {
    /// A `stablehlo.custom_call`, by its target.
    CustomCall,
    /// A function of the program: its calls are not inlined.
    Function,
    /// A `stablehlo.composite`, by its name: it is not decomposed.
    Composite,
}

impl Callee {
    /// Returns the name of the kind of callee, for messages.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Callee::CustomCall => "custom call",
            Callee::Function => "function",
            Callee::Composite => "composite",
        }
    }
}

/// The rules of a front end, by kind and name of the callee.
#[derive(Clone, Default)]
pub struct RuleRegistry {
    rules: BTreeMap<(Callee, Box<str>), Arc<Rule>>,
    /// The functions and composites that are not inlined, with or without a rule.
    kept: BTreeSet<(Callee, Box<str>)>,
    /// Names in rules that the user wrote. A warning (SH0363) reports names that do not occur in the program.
    named: BTreeSet<(Callee, Box<str>)>,
}

/// A custom call, as passed to the function that returns the rule of the call.
#[derive(Clone, Copy, Debug)]
pub struct CustomCall<'m> {
    module: &'m Module,
    op: OpId,
    spec: &'m CustomCallSpec,
}

impl CustomCall<'_> {
    /// Returns the target or name of the callee.
    #[must_use]
    pub fn target(&self) -> &str {
        &self.spec.target
    }

    /// Returns the number of operands.
    #[must_use]
    pub fn num_operands(&self) -> usize {
        self.module.ops[self.op].operands.len()
    }

    /// Returns the number of results.
    #[must_use]
    pub fn num_results(&self) -> usize {
        self.module.ops[self.op].results.len()
    }

    /// Returns the shape of an operand; `None` if it is missing or not a tensor.
    #[must_use]
    pub fn operand(&self, i: usize) -> Option<&[i64]> {
        operand_shape(self.module, self.op, i)
    }

    /// Returns the shape of a result; `None` if it is missing or not a tensor.
    #[must_use]
    pub fn result(&self, i: usize) -> Option<&[i64]> {
        result_shape(self.module, self.op, i)
    }

    /// Whether the tensors, dimensions and sizes of a rule are those of the call.
    pub(super) fn fits(&self, rule: &CallRule) -> bool {
        match rule {
            CallRule::Known(rule) => {
                sharding_rule_fault(self.module, self.op, &format!("#sdy.op_sharding_rule<{rule}>")).is_none()
            }
            CallRule::Unknown => true,
        }
    }

    /// Returns an attribute of the call: `backend_config`, `mhlo.frontend_attributes`, ...
    #[must_use]
    pub fn attr(&self, name: &str) -> Option<&Attr> {
        self.spec.props.get(name).or_else(|| self.module.ops[self.op].attrs.get(name))
    }

    /// Returns the rule that `letters` specifies with one letter for each dimension: `bmk,bkn->bmn`. Letters that operands and results
    /// share are pass-through; dimensions with other letters need replication.
    ///
    /// # Errors
    /// Returns an error if the text has another form, if it does not have one letter for each dimension of each tensor of the call, or if a
    /// letter labels dimensions of different sizes.
    pub fn letters(&self, letters: &str) -> Result<CallRule, RuleError> {
        match letters::rule(self.module, self.op, letters, FactorKind::NeedReplication) {
            Ok(rule) => Ok(rule.into()),
            Err(fault) => Err(RuleError::Letters { letters: letters.into(), fault }),
        }
    }

    /// Returns the rule of an element-wise call whose operands and results have the same shape. Scalar operands are broadcast.
    ///
    /// # Errors
    /// Returns an error if the shapes differ.
    pub fn pointwise(&self) -> Result<CallRule, RuleError> {
        let data = &self.module.ops[self.op];
        let operands = data.operands.iter().enumerate().map(|(index, &v)| (Side::Operand, index, v));
        let results = data.results.iter().enumerate().map(|(index, &v)| (Side::Result, index, v));
        let shape = self.result(0);
        // Results come first, since the shape of the first result is the reference: if it is not a tensor, the error refers to it.
        for (side, index, value) in results.chain(operands) {
            let own = self.module.stored(value).map(|t| t.shape.as_slice());
            let is_scalar = side == Side::Operand && own.is_some_and(<[i64]>::is_empty);
            if own.is_none() || (own != shape && !is_scalar) {
                let display = |value| self.module.types.display(self.module.values[value].ty).to_string();
                return Err(RuleError::Pointwise {
                    tensor: TensorRef { side, index },
                    ty: display(value),
                    reference: TensorRef { side: Side::Result, index: 0 },
                    reference_ty: display(data.results[0]),
                });
            }
        }
        pointwise(self.module, self.op).map(CallRule::from).ok_or_else(|| {
            RuleError::Other("the rule is element-wise, but the call has no result".to_owned())
        })
    }
}

impl RuleRegistry {
    /// Creates an empty registry.
    #[must_use]
    pub fn new() -> Self {
        RuleRegistry::default()
    }

    /// Sets the function that returns the rule of each call of `target`. It replaces an earlier function for the target.
    pub fn register(
        &mut self,
        target: &str,
        rule: impl Fn(&CustomCall<'_>) -> Result<CallRule, RuleError> + Send + Sync + 'static,
    ) {
        self.rules.insert((Callee::CustomCall, target.into()), Arc::new(rule));
    }

    /// Sets the rule that a user wrote for the callee `name`. A function or composite with such a rule is not inlined.
    pub(super) fn set_written(&mut self, callee: Callee, name: &str, rule: Arc<Rule>) {
        let key: (Callee, Box<str>) = (callee, name.into());
        self.rules.insert(key.clone(), rule);
        if callee != Callee::CustomCall {
            self.kept.insert(key.clone());
        }
        self.named.insert(key);
    }

    /// Excludes a function or composite from inlining. Without a rule, the function's body defines which dimensions correspond.
    pub fn keep(&mut self, callee: Callee, name: &str) {
        self.kept.insert((callee, name.into()));
        self.named.insert((callee, name.into()));
    }

    /// Returns the registry without exclusions from inlining, so that all calls are inlined.
    #[must_use]
    pub fn inlining_all(mut self) -> Self {
        self.kept.clear();
        self.named.retain(|(callee, _)| *callee == Callee::CustomCall);
        self
    }

    /// Whether any function or composite is excluded from inlining.
    #[must_use]
    pub fn keeps_any(&self) -> bool {
        !self.kept.is_empty()
    }

    /// Whether a function or composite is excluded from inlining.
    #[must_use]
    pub fn keeps(&self, callee: Callee, name: &str) -> bool {
        self.kept.contains(&(callee, name.into()))
    }

    /// Whether no rule is registered.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Returns warnings (SH0363) about names in user-written rules that do not occur in the program.
    #[must_use]
    pub fn unused(&self, module: &Module) -> Vec<Diagnostic> {
        if self.named.is_empty() {
            return Vec::new();
        }
        let mut known: BTreeSet<(Callee, &str)> = BTreeSet::new();
        for op in module.bodies().flat_map(|body| module.walk(body)) {
            match &module.ops[op].kind {
                OpKind::CustomCall(spec) => known.insert((Callee::CustomCall, &spec.target)),
                OpKind::Call { callee } => known.insert((Callee::Function, callee)),
                OpKind::Composite(spec) => known.insert((Callee::Composite, &spec.name)),
                _ => false,
            };
        }
        let is_unused = |(callee, name): &&(Callee, Box<str>)| !known.contains(&(*callee, &**name));
        let warning = |(callee, name): &(Callee, Box<str>)| {
            let title = callee.title();
            let message = format!(
                "the rule for {title} '{name}' has no effect because the program has no such {title}"
            );
            let alike: Vec<&str> =
                known.iter().filter(|(other, _)| other == callee).map(|(_, name)| *name).collect();
            Diagnostic::warning(Class::InvalidInput, "SH0363", message).hint(unknown_name_hint(
                name,
                &format!("the {title}s"),
                &alike,
            ))
        };
        self.named.iter().filter(is_unused).map(warning).collect()
    }

    /// Writes to each call of a registered target the rule that the registered function returns. A rule that is already in the program is
    /// kept.
    ///
    /// # Errors
    /// Returns SH0807 for each call whose rule does not fit its operands and results.
    pub fn resolve(&self, module: &mut Module) -> Result<(), Vec<Diagnostic>> {
        if self.is_empty() {
            return Ok(());
        }
        let mut errors = Vec::new();
        let ops: Vec<OpId> = module.bodies().flat_map(|body| module.walk(body)).collect();
        for op in ops {
            match self.rule_text(module, op) {
                Ok(Some(text)) => module.ops[op].attrs.set_sharding_rule(&text),
                Ok(None) => {}
                Err(error) => errors.push(*error),
            }
        }
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }

    /// Returns the rule to write to an operation, as text.
    fn rule_text(&self, module: &Module, op: OpId) -> Result<Option<String>, Box<Diagnostic>> {
        let OpKind::CustomCall(spec) = &module.ops[op].kind else { return Ok(None) };
        self.rule_of_call(module, op, Callee::CustomCall, &spec.target)
    }

    /// Returns the rule to write to a custom call, which may represent a call of a function or a composite. `name` is the target of the
    /// custom call, or the name of the function or composite.
    ///
    /// # Errors
    /// Returns SH0807 if the rule does not fit the operands and results.
    pub fn rule_of_call(
        &self,
        module: &Module,
        op: OpId,
        callee: Callee,
        name: &str,
    ) -> Result<Option<String>, Box<Diagnostic>> {
        let data = &module.ops[op];
        let OpKind::CustomCall(spec) = &data.kind else { return Ok(None) };
        let Some(rule) = self.rules.get(&(callee, name.into())) else { return Ok(None) };
        if data.attrs.get(SHARDING_RULE_ATTR).or_else(|| spec.props.get(SHARDING_RULE_ATTR)).is_some() {
            return Ok(None);
        }
        let wrong = |what: String, hint: String| {
            let title = match callee {
                Callee::CustomCall => data.kind.title().to_string(),
                Callee::Function | Callee::Composite => format!("the {} {name}", callee.title()),
            };
            let message = format!("the rule registered for {title} {what}");
            let mut error = Diagnostic::invalid("SH0807", message).at(data.span).hint(hint);
            error.user_loc = module.user_loc(op);
            Box::new(error)
        };
        let rule = match rule(&CustomCall { module, op, spec }) {
            // `custom` marks the rule as user-defined and protects it from `drop_written_rules`.
            Ok(CallRule::Known(rule)) => ShardingRule { custom: true, ..*rule },
            Ok(CallRule::Unknown) => return Ok(None),
            Err(error) => {
                let hint = "return a rule that fits the operands and results, or CallRule::Unknown if the call has no rule";
                return Err(wrong(format!("does not fit: {error}"), hint.to_owned()));
            }
        };
        let text = format!("#sdy.op_sharding_rule<{rule}>");
        match sharding_rule_fault(module, op, &text) {
            Some(fault) => Err(wrong(fault, format!("the rule is {rule}"))),
            None => Ok(Some(text)),
        }
    }
}

impl fmt::Debug for RuleRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.rules.keys()).finish()
    }
}
