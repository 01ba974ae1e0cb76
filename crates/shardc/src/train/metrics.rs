//! What a step tells.

use indexmap::IndexMap;
use shardc_runtime::{HostArray, ShardedArray};

use super::state::unknown;
use crate::Error;

/// The metrics of one run, on the devices until they are asked for.
#[derive(Clone, Debug)]
pub struct Metrics {
    pub(super) arrays: IndexMap<String, ShardedArray>,
}

impl Metrics {
    /// Their names, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.arrays.keys().map(String::as_str)
    }

    /// A metric, put together on the host.
    ///
    /// # Errors
    /// There is none of this name (SH0720), or a copy fails.
    pub fn get(&self, name: &str) -> Result<HostArray, Error> {
        match self.arrays.get(name) {
            Some(array) => Ok(array.to_host()?),
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
