//! Attributes of other projects that have a meaning here: whose memory a result takes, how many processes run a program,
//! what a front end calls an argument. Their names and forms stand in this file alone.
//!
//! MLIR calls attributes of this kind *discardable*: they stand on operations, arguments and modules of any dialect, and a
//! program is right without them. [`verify()`](crate::verify()) refuses those that are malformed, so that on a verified
//! module what is read here is all that is written.

use crate::{Attr, AttrDict, Module};

/// Shardy's sharding of an argument, or of the results of an operation. Readers take it out of the attributes of values
/// ([`Module::shardings`]).
pub const SHARDING: &str = "sdy.sharding";

/// Shardy's rule of how the dimensions of an operation hang together.
pub const SHARDING_RULE: &str = "sdy.sharding_rule";

/// GSPMD's sharding of an argument, a result or an operation.
pub const GSPMD_SHARDING: &str = "mhlo.sharding";

/// What a front end says to back ends, as a dictionary of strings.
pub const FRONTEND_ATTRIBUTES: &str = "mhlo.frontend_attributes";

/// The number of the result that takes an argument's memory.
pub const ALIASING_OUTPUT: &str = "tf.aliasing_output";

/// Whether any result that fits may take an argument's memory.
pub const BUFFER_DONOR: &str = "jax.buffer_donor";

/// The kind of memory that an argument or a result lies in, where it is not the device's own.
pub const MEMORY_KIND: &str = "mhlo.memory_kind";

/// The memory layout that an argument or a result is requested to have: `{0,1}`, `default`, `auto`.
pub const LAYOUT_MODE: &str = "mhlo.layout_mode";

/// JAX's name of an argument.
pub const ARG_INFO: &str = "jax.arg_info";

/// JAX's name of a result.
pub const RESULT_INFO: &str = "jax.result_info";

/// The number of replicas that run a module.
pub const NUM_REPLICAS: &str = "mhlo.num_replicas";

/// The number of partitions that run a module.
pub const NUM_PARTITIONS: &str = "mhlo.num_partitions";

/// To what an argument gives its memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Donation {
    /// To the result of this number ([`ALIASING_OUTPUT`]).
    Result(usize),
    /// To any result that fits ([`BUFFER_DONOR`]).
    Any,
}

impl AttrDict {
    /// To what an argument with these attributes gives its memory; `None` where the caller keeps it.
    #[must_use]
    pub fn donation(&self) -> Option<Donation> {
        if let Some(result) = self.donated_to() {
            return Some(Donation::Result(result));
        }
        let is_donor = !matches!(self.get(BUFFER_DONOR), None | Some(Attr::Bool(false)));
        is_donor.then_some(Donation::Any)
    }

    /// The number of the result that takes the memory of an argument with these attributes, where they say which.
    #[must_use]
    pub fn donated_to(&self) -> Option<usize> {
        match self.get(ALIASING_OUTPUT)? {
            &Attr::Int(result, _) => usize::try_from(result).ok(),
            _ => None,
        }
    }

    /// The kind of memory that an argument or a result with these attributes lies in, where they say one: `pinned_host`.
    #[must_use]
    pub fn memory_kind(&self) -> Option<&str> {
        match self.get(MEMORY_KIND)? {
            Attr::Str(kind) => Some(kind),
            _ => None,
        }
    }

    /// The memory layout that is requested for an argument or a result with these attributes, where that is not the default.
    #[must_use]
    pub fn layout_mode(&self) -> Option<&str> {
        match self.get(LAYOUT_MODE)? {
            Attr::Str(mode) => Some(&**mode).filter(|mode| *mode != "default"),
            _ => None,
        }
    }

    /// Lets the caller keep the memory of an argument with these attributes.
    pub fn remove_donation(&mut self) {
        self.remove(ALIASING_OUTPUT);
        self.remove(BUFFER_DONOR);
    }

    /// Lets the result of this number take the memory of an argument with these attributes.
    pub fn donate_to(&mut self, result: usize) {
        self.remove(BUFFER_DONOR);
        self.set(ALIASING_OUTPUT, Attr::Int(result as i64, "i32".into()));
    }

    /// Lets any result that fits take the memory of an argument with these attributes, rather than a certain one.
    pub fn donate_to_any(&mut self) {
        self.remove(ALIASING_OUTPUT);
        self.set(BUFFER_DONOR, Attr::Bool(true));
    }

    /// The front end's name of the argument with these attributes.
    #[must_use]
    pub fn arg_info(&self) -> Option<&str> {
        self.name(ARG_INFO)
    }

    /// Sets the front end's name of the argument with these attributes.
    pub fn set_arg_info(&mut self, name: &str) {
        self.set(ARG_INFO, Attr::Str(name.into()));
    }

    /// The front end's name of the result with these attributes.
    #[must_use]
    pub fn result_info(&self) -> Option<&str> {
        self.name(RESULT_INFO)
    }

    /// Sets the front end's name of the result with these attributes.
    pub fn set_result_info(&mut self, name: &str) {
        self.set(RESULT_INFO, Attr::Str(name.into()));
    }

    /// What a front end says to back ends.
    #[must_use]
    pub fn frontend(&self) -> Option<&AttrDict> {
        match self.get(FRONTEND_ATTRIBUTES)? {
            Attr::Dict(dict) => Some(dict),
            _ => None,
        }
    }

    /// Sets what a front end says to back ends.
    pub fn set_frontend(&mut self, attributes: AttrDict) {
        self.set(FRONTEND_ATTRIBUTES, Attr::Dict(attributes));
    }

    /// The text of the sharding rule of the operation with these attributes: `#sdy.op_sharding_rule<...>`.
    #[must_use]
    pub fn sharding_rule(&self) -> Option<&str> {
        match self.get(SHARDING_RULE)? {
            Attr::Raw(text) => Some(text),
            _ => None,
        }
    }

    /// Sets the sharding rule of the operation with these attributes: `#sdy.op_sharding_rule<...>`.
    pub fn set_sharding_rule(&mut self, rule: &str) {
        self.set(SHARDING_RULE, Attr::Raw(rule.into()));
    }

    fn name(&self, attribute: &str) -> Option<&str> {
        match self.get(attribute)? {
            Attr::Str(text) if !text.is_empty() => Some(text),
            _ => None,
        }
    }

    fn count(&self, attribute: &str) -> Option<i64> {
        match self.get(attribute)? {
            &Attr::Int(n, _) if n > 0 => Some(n),
            _ => None,
        }
    }
}

impl Module {
    /// How many replicas run the program, where it says so.
    #[must_use]
    pub fn num_replicas(&self) -> Option<i64> {
        self.attrs.count(NUM_REPLICAS)
    }

    /// How many partitions run the program, where it says so.
    #[must_use]
    pub fn num_partitions(&self) -> Option<i64> {
        self.attrs.count(NUM_PARTITIONS)
    }

    /// Says how many replicas and partitions run the program.
    pub fn set_process_counts(&mut self, replicas: i64, partitions: i64) {
        for (name, n) in [(NUM_PARTITIONS, partitions), (NUM_REPLICAS, replicas)] {
            self.attrs.set(name, Attr::Int(n, "i32".into()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attrs(entries: &[(&str, Attr)]) -> AttrDict {
        entries.iter().map(|(name, attr)| ((*name).into(), attr.clone())).collect()
    }

    #[test]
    fn an_argument_gives_its_memory_as_it_says() {
        let alias = (ALIASING_OUTPUT, Attr::Int(2, "i32".into()));
        let donor = |says| (BUFFER_DONOR, Attr::Bool(says));
        assert_eq!(attrs(&[]).donation(), None);
        assert_eq!(attrs(std::slice::from_ref(&alias)).donation(), Some(Donation::Result(2)));
        assert_eq!(attrs(&[donor(true)]).donation(), Some(Donation::Any));
        assert_eq!(attrs(&[donor(false)]).donation(), None, "it says that it does not");
        let mut both = attrs(&[alias, donor(false)]);
        assert_eq!(both.donated_to(), Some(2));
        both.donate_to_any();
        assert_eq!((both.donated_to(), both.donation()), (None, Some(Donation::Any)));
    }

    #[test]
    fn names_that_say_nothing_are_none() {
        let text = |text: &str| attrs(&[(ARG_INFO, Attr::Str(text.into()))]);
        assert_eq!(text("x").arg_info(), Some("x"));
        assert_eq!(text("").arg_info(), None);
        assert_eq!(text("x").result_info(), None);
    }

    #[test]
    fn processes_are_counted_where_the_module_says_how_many() {
        let mut module = Module::new();
        assert_eq!((module.num_replicas(), module.num_partitions()), (None, None));
        module.set_process_counts(8, 1);
        assert_eq!((module.num_replicas(), module.num_partitions()), (Some(8), Some(1)));
        module.attrs.set(NUM_REPLICAS, Attr::Int(0, "i32".into()));
        assert_eq!(module.num_replicas(), None);
    }
}
