//! The state of a step between executions, on the devices.

use indexmap::IndexMap;
use shardc::Error;
use shardc_ir::Diagnostic;
use shardc_runtime::{HostArray, Processes, ShardedArray};

/// The variables of a [`Step`](crate::Step), on its devices, by name.
#[derive(Clone, Debug)]
pub struct State {
    /// The arrays in the order of the step's variables; empty after a failed execution that had donated their memory.
    pub(crate) arrays: IndexMap<String, ShardedArray>,
    /// The processes of the job, if there are several.
    pub(crate) processes: Option<Processes>,
}

impl State {
    /// The variables by name, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &ShardedArray)> {
        self.arrays.iter().map(|(name, array)| (name.as_str(), array))
    }

    /// The number of variables.
    #[must_use]
    pub fn len(&self) -> usize {
        self.arrays.len()
    }

    /// Whether the state has no variables.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.arrays.is_empty()
    }

    /// A variable, as an array on the devices.
    #[must_use]
    pub fn sharded(&self, name: &str) -> Option<&ShardedArray> {
        self.arrays.get(name)
    }

    /// A variable, assembled on the host. In a job of several processes, all processes must request the same variables in
    /// the same order.
    ///
    /// # Errors
    /// No variable has this name (SH0720), or a copy fails.
    pub fn get(&self, name: &str) -> Result<HostArray, Error> {
        match self.arrays.get(name) {
            Some(array) => to_host(array, self.processes.as_ref()),
            None => Err(unknown("variable", name, self.arrays.keys())),
        }
    }
}

/// An array assembled on the host, including the blocks of other processes.
pub(crate) fn to_host(array: &ShardedArray, processes: Option<&Processes>) -> Result<HostArray, Error> {
    Ok(match processes {
        Some(processes) => array.to_host_across(processes)?,
        None => array.to_host()?,
    })
}

/// The error for an unknown name, with a list of the known names.
pub(crate) fn unknown<'a>(
    what: &str,
    name: &str,
    known: impl Iterator<Item = impl AsRef<str> + 'a>,
) -> Error {
    /// The maximum number of names listed in an error.
    const SHOWN: usize = 8;
    let known: Vec<String> = known.map(|name| format!("{:?}", name.as_ref())).collect();
    let more = if known.len() > SHOWN { ", ..." } else { "" };
    let list = known[..known.len().min(SHOWN)].join(", ");
    Diagnostic::invalid("SH0720", format!("there is no {what} named {name:?}"))
        .hint(if known.is_empty() {
            format!("no {what} exists")
        } else {
            format!("the known names are {list}{more}")
        })
        .into()
}
