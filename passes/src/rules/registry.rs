//! Rules for the custom calls of a front end.
//!
//! Only the front end knows how the dimensions of its own kernels hang together. It registers a function per target;
//! [`RuleRegistry::resolve`] asks it for each call in a module and writes the answer on the call as
//! `sdy.sharding_rule`, which is what propagation and planning go by. So there is no second way for a rule to be known,
//! and the program says by itself what it was compiled with.

use std::{collections::BTreeMap, fmt, sync::Arc};

use shardc_ir::{Attr, CustomCallSpec, Diagnostic, Module, OpId, OpKind, sharding_rule_fault};

use super::builder::{operand_shape, pointwise, result_shape};
use super::{SHARDING_RULE_ATTR, letters};
use crate::rule::{FactorKind, ShardingRule};

type Rule = dyn Fn(&CustomCall<'_>) -> Option<ShardingRule> + Send + Sync;

/// The rules of a front end, by target.
#[derive(Clone, Default)]
pub struct RuleRegistry {
    rules: BTreeMap<Box<str>, Arc<Rule>>,
}

/// A custom call, as the function that gives its rule sees it.
#[derive(Clone, Copy, Debug)]
pub struct CustomCall<'m> {
    module: &'m Module,
    op: OpId,
    spec: &'m CustomCallSpec,
}

impl CustomCall<'_> {
    /// What is called.
    #[must_use]
    pub fn target(&self) -> &str {
        &self.spec.target
    }

    /// The sizes of an operand; `None` if there is no such operand or it is no tensor.
    #[must_use]
    pub fn operand(&self, i: usize) -> Option<&[i64]> {
        operand_shape(self.module, self.op, i)
    }

    /// The sizes of a result; `None` if there is no such result or it is no tensor.
    #[must_use]
    pub fn result(&self, i: usize) -> Option<&[i64]> {
        result_shape(self.module, self.op, i)
    }

    /// An attribute of the call: `backend_config`, `mhlo.frontend_attributes`, ...
    #[must_use]
    pub fn attr(&self, name: &str) -> Option<&Attr> {
        self.spec.props.get(name).or_else(|| self.module.ops[self.op].attrs.get(name))
    }

    /// The rule by which each dimension is a letter: `bmk,bkn->bmn`. Letters that operands and results share pass
    /// through; the call needs the dimensions of all others whole. `None` where the letters do not fit the shapes.
    #[must_use]
    pub fn letters(&self, letters: &str) -> Option<ShardingRule> {
        letters::rule(self.module, self.op, letters, FactorKind::NeedReplication)
    }

    /// The rule of a call whose operands and results have one shape, and which works on each element by itself.
    #[must_use]
    pub fn pointwise(&self) -> Option<ShardingRule> {
        pointwise(self.module, self.op)
    }
}

impl RuleRegistry {
    /// No rules.
    #[must_use]
    pub fn new() -> Self {
        RuleRegistry::default()
    }

    /// Sets the function that gives the rule of each call of `target`; `None` from it is what an unknown call has. A
    /// second function for one target replaces the first.
    pub fn register(
        &mut self,
        target: &str,
        rule: impl Fn(&CustomCall<'_>) -> Option<ShardingRule> + Send + Sync + 'static,
    ) {
        self.rules.insert(target.into(), Arc::new(rule));
    }

    /// Whether no rule is registered.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Writes on each call of a registered target the rule that its function gives. A rule that the program gives
    /// itself stays.
    ///
    /// # Errors
    /// SH0807 for each call whose rule does not fit its operands and results.
    pub fn resolve(&self, module: &mut Module) -> Result<(), Vec<Diagnostic>> {
        if self.is_empty() {
            return Ok(());
        }
        let mut errors = Vec::new();
        let ops: Vec<OpId> = module.bodies().flat_map(|body| module.walk(body)).collect();
        for op in ops {
            let data = &module.ops[op];
            let OpKind::CustomCall(spec) = &data.kind else { continue };
            let Some(rule) = self.rules.get(&spec.target) else { continue };
            if data.attrs.get(SHARDING_RULE_ATTR).or_else(|| spec.props.get(SHARDING_RULE_ATTR)).is_some() {
                continue;
            }
            let Some(rule) = rule(&CustomCall { module, op, spec }) else { continue };
            let text = format!("#sdy.op_sharding_rule<{}>", ShardingRule { custom: true, ..rule });
            if let Some(fault) = sharding_rule_fault(module, op, &text) {
                let message = format!("the rule that is registered for @{} {fault}", spec.target);
                errors.push(
                    Diagnostic::invalid("SH0807", message)
                        .at(data.span)
                        .hint(format!("it is {}", &text["#sdy.op_sharding_rule<".len()..text.len() - 1])),
                );
                continue;
            }
            module.ops[op].attrs.set(SHARDING_RULE_ATTR, Attr::Raw(text.into()));
        }
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }
}

impl fmt::Debug for RuleRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.rules.keys()).finish()
    }
}
