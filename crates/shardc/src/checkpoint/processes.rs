//! The processes of a job, for checkpoints.

use shardc_checkpoint::{CheckpointError, Processes};
use shardc_runtime as runtime;

/// The processes of a job ([`crate::runtime::Processes`]), which save and restore checkpoints together.
#[derive(Clone, Debug)]
pub struct Job(runtime::Processes);

impl Job {
    /// Wraps the processes of a job.
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
