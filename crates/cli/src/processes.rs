//! The role of this process in a job of several processes.

use anyhow::Result;
use shardc::runtime::ProcessOptions;

use crate::failure::{Failure, usage};

/// The role of this process.
pub(crate) enum Place {
    /// The only process.
    Alone,
    /// The launcher of the job; contains the number of processes.
    Launcher(usize),
    /// One of several processes.
    Member(Box<ProcessOptions>),
}

/// Determines the role from the environment and `--processes`.
///
/// # Errors
/// Environment variables are missing or invalid (RT0701), or contradict the option (invalid usage).
pub(crate) fn place(asked: Option<usize>) -> Result<Place> {
    let options = ProcessOptions::from_variables(|name| std::env::var(name).ok());
    let options = options.map_err(|error| anyhow::Error::from(Failure::runtime(&error)))?;
    match (options, asked) {
        (Some(options), Some(asked)) if options.count != asked => Err(usage(format!(
            "--processes {asked} contradicts the environment, which sets {} processes: leave --processes out",
            options.count
        ))),
        (Some(options), _) if options.count > 1 => Ok(Place::Member(Box::new(options))),
        (_, Some(0)) => Err(usage("--processes 0: the number must be at least 1")),
        (None, Some(asked)) if asked > 1 => Ok(Place::Launcher(asked)),
        _ => Ok(Place::Alone),
    }
}
