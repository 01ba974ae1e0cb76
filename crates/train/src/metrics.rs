//! The metrics of a step.

use std::time::Duration;

use indexmap::IndexMap;
use shardc::Error;
use shardc_ir::Diagnostic;
use shardc_runtime::{Execution, HostArray, Processes, ShardedArray};

use crate::StepTimes;
use crate::state::{to_host, unknown};

/// The metrics of one execution, on the devices until they are read.
#[derive(Clone, Debug)]
pub struct Metrics {
    pub(crate) arrays: IndexMap<String, ShardedArray>,
    /// The processes of the job, if there are several.
    pub(crate) processes: Option<Processes>,
    pub(crate) run: Run,
}

/// The execution that computes the metrics, which may still be in progress.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub(crate) execution: Execution,
    pub(crate) input: Duration,
    pub(crate) transfer: Duration,
}

impl Metrics {
    /// The names of the metrics, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.arrays.keys().map(String::as_str)
    }

    /// A metric, assembled on the host. In a job of several processes, all processes must request the same metrics in the same order,
    /// except for metrics that are replicated on every device, such as scalars.
    ///
    /// # Errors
    /// No metric has this name (SH0720), or a copy fails.
    pub fn get(&self, name: &str) -> Result<HostArray, Error> {
        match self.arrays.get(name) {
            Some(array) => to_host(array, self.processes.as_ref()),
            None => Err(unknown("metric", name, self.arrays.keys())),
        }
    }

    /// A metric of one element, as a number.
    ///
    /// # Errors
    /// No metric has this name (SH0720), it has more or fewer elements (SH0721), or a copy fails.
    pub fn scalar(&self, name: &str) -> Result<f64, Error> {
        let metric = self.get(name)?;
        match metric.to_f64_vec().as_slice() {
            &[number] => Ok(number),
            _ => {
                let text = format!("the metric {name:?} is {}, not a scalar", metric.ty());
                Err(Diagnostic::invalid("SH0721", text).hint("read the array with `Metrics::get`").into())
            }
        }
    }

    /// Whether the execution is done or has failed. The call does not wait.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.run.execution.is_done()
    }

    /// Waits until the execution is done, and returns its times.
    ///
    /// # Errors
    /// The error of the execution.
    pub fn times(&self) -> Result<StepTimes, Error> {
        let times = self.run.execution.wait()?;
        Ok(StepTimes {
            input: self.run.input,
            transfer: self.run.transfer,
            backpressure: times.backpressure,
            enqueue: times.enqueue,
            device: times.device,
        })
    }
}
