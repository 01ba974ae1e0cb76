//! Signatures of calls of separately partitioned functions: the shardings of arguments and results.

use indexmap::IndexSet;
use shardc_ir::{CustomCallSpec, TensorSharding};

/// A function and the shardings of one of its calls. The function is partitioned once for each signature.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Signature {
    /// The index of the function in the list of separately partitioned functions.
    pub function: usize,
    /// The sharding of each operand.
    pub operands: Vec<TensorSharding>,
    /// The sharding of each result.
    pub results: Vec<TensorSharding>,
}

/// The distinct signatures of the calls in a function body.
#[derive(Clone, Debug, Default)]
pub struct Signatures(pub IndexSet<Signature>);

impl Signatures {
    /// Adds a signature, and returns the target of the custom calls that stand for calls with this signature.
    pub fn target(&mut self, signature: Signature) -> Box<str> {
        let (number, _) = self.0.insert_full(signature);
        format!("{}{number}", CustomCallSpec::KEPT).into()
    }

    /// Returns the index of a call's signature, which its target contains.
    pub(crate) fn number(&self, spec: &CustomCallSpec) -> Option<usize> {
        spec.kept_callee()?.parse().ok().filter(|&number| number < self.0.len())
    }

    /// Returns a call's signature.
    pub fn of(&self, spec: &CustomCallSpec) -> Option<&Signature> {
        self.0.get_index(self.number(spec)?)
    }
}
