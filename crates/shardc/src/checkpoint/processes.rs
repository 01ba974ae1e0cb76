//! The processes of a job as a checkpoint sees them.

use shardc_checkpoint::{CheckpointError, Processes};
use shardc_runtime as runtime;

/// The processes of a job ([`crate::runtime::Processes`]), for saving and restoring one checkpoint together.
#[derive(Clone, Debug)]
pub struct Job(runtime::Processes);

impl Job {
    /// Of these processes.
    #[must_use]
    pub fn new(processes: runtime::Processes) -> Job {
        Job(processes)
    }
}

impl Processes for Job {
    fn index(&self) -> usize {
        self.0.index()
    }

    fn count(&self) -> usize {
        self.0.count()
    }

    fn gather(&self, name: &str, value: Vec<u8>) -> Result<Vec<Vec<u8>>, CheckpointError> {
        self.0
            .all_gather(&format!("checkpoint {name}"), &value)
            .map_err(|error| CheckpointError::Process(error.to_string()))
    }
}
