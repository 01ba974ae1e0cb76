//! Sharding rules as users write them in a file or an option.

use std::str::FromStr;
use std::sync::Arc;

use super::registry::{CallRule, Callee, CustomCall, RuleError, RuleRegistry};
use super::sharding_rule::ShardingRule;
use super::text::{RuleParseError, parse_rule};

/// A sharding rule in one of three notations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notation {
    /// `pointwise`: operands and results have the same shape, and the operation is element-wise.
    Pointwise,
    /// `bqd,bkd->bqe`: one letter for each dimension ([`CustomCall::letters`]).
    Letters(String),
    /// `([i, j], [j, k])->([i, k]) {i=8, j=4, k=2} reduction={j}`: Shardy's `#sdy.op_sharding_rule`.
    Factors(Box<ShardingRule>),
}

impl FromStr for Notation {
    type Err = RuleParseError;

    fn from_str(text: &str) -> Result<Self, RuleParseError> {
        match text.trim() {
            "pointwise" => Ok(Notation::Pointwise),
            text if text.contains('[') => parse_rule(text).map(Box::new).map(Notation::Factors),
            text if text.contains("->") => Ok(Notation::Letters(text.to_owned())),
            _ => Err(RuleParseError {
                at: 0,
                message: "expected 'pointwise', letters as in 'ab,bc->ac', or factors as in '([i, j])->([j, i]) {i=8, j=4}'",
            }),
        }
    }
}

impl Notation {
    /// Returns the rule that the notation specifies for `call`.
    ///
    /// # Errors
    /// Returns an error if the notation does not fit the operands and results.
    pub fn rule(&self, call: &CustomCall<'_>) -> Result<CallRule, RuleError> {
        match self {
            Notation::Pointwise => call.pointwise(),
            Notation::Letters(letters) => call.letters(letters),
            Notation::Factors(rule) => Ok((**rule).clone().into()),
        }
    }

    /// Returns the rule of `call` that the first fitting notation specifies.
    ///
    /// # Errors
    /// If no notation fits, returns the error of the first one.
    pub fn first_rule(notations: &[Notation], call: &CustomCall<'_>) -> Result<CallRule, RuleError> {
        let mut first = None;
        for notation in notations {
            match notation.rule(call) {
                Ok(rule) if call.fits(&rule) || notations.len() == 1 => return Ok(rule),
                Ok(_) => {
                    first = first.or(Some(RuleError::Other(
                        "no notation of the rule fits the operands and results".to_owned(),
                    )))
                }
                Err(error) => first = first.or(Some(error)),
            }
        }
        Err(first.unwrap_or_else(|| RuleError::Other("the rule is empty".to_owned())))
    }
}

impl RuleRegistry {
    /// Sets the rule that a user wrote for the callee `name`; each call gets the rule of the first notation that fits it. A function or
    /// composite with such a rule is not inlined.
    pub fn write(&mut self, callee: Callee, name: &str, notations: Vec<Notation>) {
        self.set_written(callee, name, Arc::new(move |call| Notation::first_rule(&notations, call)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_notations() {
        assert_eq!("pointwise".parse(), Ok(Notation::Pointwise));
        assert_eq!("ab,bc->ac".parse(), Ok(Notation::Letters("ab,bc->ac".to_owned())));
        assert!(matches!("([i, j])->([j, i]) {i=8, j=4}".parse(), Ok(Notation::Factors(_))));
        for wrong in ["", "point", "([i])->([i]"] {
            assert!(wrong.parse::<Notation>().is_err(), "{wrong}");
        }
    }
}
