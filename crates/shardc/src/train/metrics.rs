//! What a step tells.

use indexmap::IndexMap;
use shardc_runtime::{HostArray, Processes, ShardedArray};

use super::state::{to_host, unknown};
use crate::Error;

/// The metrics of one run, on the devices until they are asked for.
#[derive(Clone, Debug)]
pub struct Metrics {
    pub(super) arrays: IndexMap<String, ShardedArray>,
    /// The processes of the job, where these are several.
    pub(super) processes: Option<Processes>,
}

impl Metrics {
    /// Their names, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.arrays.keys().map(String::as_str)
    }

    /// A metric, put together on the host. In a job of several processes all have to ask for the same metrics, in the same
    /// order, unless every device has the whole of them, as it has of a single number.
    ///
    /// # Errors
    /// There is none of this name (SH0720), or a copy fails.
    pub fn get(&self, name: &str) -> Result<HostArray, Error> {
        match self.arrays.get(name) {
            Some(array) => to_host(array, self.processes.as_ref()),
            None => Err(unknown("metric", name, self.arrays.keys())),
        }
    }

    /// A metric of one element, as a number.
    ///
    /// # Errors
    /// There is none of this name (SH0720), or a copy fails.
    pub fn scalar(&self, name: &str) -> Result<f64, Error> {
        Ok(self.get(name)?.to_f64_vec().first().copied().unwrap_or(f64::NAN))
    }
}
