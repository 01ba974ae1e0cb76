//! Discardable attributes of other projects that shardc interprets: donation, numbers of replicas and partitions, names of arguments.
//! Their names and formats occur only in this file.
//!
//! In MLIR, *discardable* attributes of any dialect may be on operations, arguments and modules, and a program is valid without them.
//! [`verify()`](crate::verify()) rejects malformed attributes, so they are never ignored silently.

use crate::{Attr, AttrDict, Module};

/// Shardy's sharding of an argument, or of the results of an operation. Parsers move it to [`Module::shardings`].
pub const SHARDING: &str = "sdy.sharding";

/// Shardy's sharding rule of an operation.
pub const SHARDING_RULE: &str = "sdy.sharding_rule";

/// GSPMD's sharding of an argument, a result or an operation.
pub const GSPMD_SHARDING: &str = "mhlo.sharding";

/// Attributes of a front end for back ends, as a dictionary of strings.
pub const FRONTEND_ATTRIBUTES: &str = "mhlo.frontend_attributes";

/// The index of the result that an argument is donated to.
pub const ALIASING_OUTPUT: &str = "tf.aliasing_output";

/// Whether an argument may be donated to any suitable result.
pub const BUFFER_DONOR: &str = "jax.buffer_donor";

/// The memory space of an argument or a result, if it is not the default memory space of the device.
pub const MEMORY_KIND: &str = "mhlo.memory_kind";

/// The requested memory layout of an argument or a result: `{0,1}`, `default`, `auto`.
pub const LAYOUT_MODE: &str = "mhlo.layout_mode";

/// JAX's name of an argument.
pub const ARG_INFO: &str = "jax.arg_info";

/// JAX's name of a result.
pub const RESULT_INFO: &str = "jax.result_info";

/// The number of replicas that run a module.
pub const NUM_REPLICAS: &str = "mhlo.num_replicas";

/// The number of partitions that run a module.
pub const NUM_PARTITIONS: &str = "mhlo.num_partitions";

/// The donation of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Donation {
    /// To the result with this index ([`ALIASING_OUTPUT`]).
    Result(usize),
    /// To any suitable result ([`BUFFER_DONOR`]).
    Any,
}

impl AttrDict {
    /// Returns the donation of an argument with these attributes; `None` if the argument is not donated.
    #[must_use]
    pub fn donation(&self) -> Option<Donation> {
        if let Some(result) = self.donated_to() {
            return Some(Donation::Result(result));
        }
        let is_donor = !matches!(self.get(BUFFER_DONOR), None | Some(Attr::Bool(false)));
        is_donor.then_some(Donation::Any)
    }

    /// Returns the index of the result that an argument with these attributes is donated to, if it is donated to a specific result.
    #[must_use]
    pub fn donated_to(&self) -> Option<usize> {
        match self.get(ALIASING_OUTPUT)? {
            &Attr::Int(result, _) => usize::try_from(result).ok(),
            _ => None,
        }
    }

    /// Returns the memory space of an argument or a result with these attributes, if specified: `pinned_host`.
    #[must_use]
    pub fn memory_kind(&self) -> Option<&str> {
        match self.get(MEMORY_KIND)? {
            Attr::Str(kind) => Some(kind),
            _ => None,
        }
    }

    /// Returns the requested memory layout of an argument or a result with these attributes, if it is not the default.
    #[must_use]
    pub fn layout_mode(&self) -> Option<&str> {
        match self.get(LAYOUT_MODE)? {
            Attr::Str(mode) => Some(&**mode).filter(|mode| *mode != "default"),
            _ => None,
        }
    }

    /// Removes the donation of an argument with these attributes.
    pub fn remove_donation(&mut self) {
        self.remove(ALIASING_OUTPUT);
        self.remove(BUFFER_DONOR);
    }

    /// Donates an argument with these attributes to the result with this index.
    pub fn donate_to(&mut self, result: usize) {
        self.remove(BUFFER_DONOR);
        self.set(ALIASING_OUTPUT, Attr::Int(result as i64, "i32".into()));
    }

    /// Donates an argument with these attributes to any suitable result, instead of a specific one.
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

    /// The front end's attributes for back ends.
    #[must_use]
    pub fn frontend(&self) -> Option<&AttrDict> {
        match self.get(FRONTEND_ATTRIBUTES)? {
            Attr::Dict(dict) => Some(dict),
            _ => None,
        }
    }

    /// Sets the front end's attributes for back ends.
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
    /// Returns the number of replicas that run the program, if specified.
    #[must_use]
    pub fn num_replicas(&self) -> Option<i64> {
        self.attrs.count(NUM_REPLICAS)
    }

    /// Returns the number of partitions that run the program, if specified.
    #[must_use]
    pub fn num_partitions(&self) -> Option<i64> {
        self.attrs.count(NUM_PARTITIONS)
    }

    /// Sets the numbers of replicas and partitions that run the program.
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
