//! Options of a process of a job.

use std::fmt;
use std::net::{Ipv4Addr, TcpListener};
use std::time::Duration;

use crate::error::{Result, RuntimeError};

/// The minimum length of a secret in bytes.
const MIN_SECRET: usize = 16;

/// Maximum number of processes of a job: it is limited because each process is connected to all others.
pub const MAX_PROCESSES: usize = 1024;

/// A secret that only the processes of a job know. At the start of each connection, both processes prove that they know the secret, which
/// is never sent and never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Box<[u8]>);

impl Secret {
    /// Creates a secret from bytes.
    ///
    /// # Errors
    ///
    /// [`RuntimeError::Processes`] if there are fewer than 16 bytes.
    pub fn new(bytes: impl AsRef<[u8]>) -> Result<Secret> {
        let bytes = bytes.as_ref();
        if bytes.len() < MIN_SECRET {
            return Err(RuntimeError::Processes(format!(
                "the secret of the job must have at least {MIN_SECRET} bytes, got {}",
                bytes.len()
            )));
        }
        Ok(Secret(bytes.into()))
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// Prints no part of the secret.
impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// Options of [`Processes::connect`](super::Processes::connect). All processes of a job must have the same options except `index`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessOptions {
    /// The index of this process, from 0.
    pub index: usize,
    /// The number of processes.
    pub count: usize,
    /// The address at which process 0 listens: `host:port`.
    pub coordinator: String,
    /// The job's secret.
    pub secret: Secret,
    /// The time limit for connecting at the start of the job; two minutes by default.
    pub connect_timeout: Duration,
    /// The time without a message after which a process counts as lost; 5 s by default. Each process sends a heartbeat after a tenth of
    /// this time.
    pub patience: Duration,
    /// Time limit of a barrier, a gather or a lookup; half an hour by default.
    pub time_limit: Duration,
    /// Maximum size of one message in bytes; 2 GiB by default. A longer message is an error in the process that sends it, and in the
    /// process that receives it.
    pub max_message: usize,
}

impl ProcessOptions {
    /// Creates options with the default time limits and message size.
    #[must_use]
    pub fn new(index: usize, count: usize, coordinator: impl Into<String>, secret: Secret) -> ProcessOptions {
        ProcessOptions {
            index,
            count,
            coordinator: coordinator.into(),
            secret,
            connect_timeout: Duration::from_secs(120),
            patience: Duration::from_secs(5),
            time_limit: Duration::from_secs(30 * 60),
            max_message: 2 << 30,
        }
    }

    /// Reads the options from environment variables, with the defaults of [`ProcessOptions::new`]. `None` if the variables do not describe
    /// a job of several processes. `get` returns the value of a variable.
    ///
    /// | variable | value |
    /// |---|---|
    /// | `SHARDC_PROCESS_ID` | the index; `SLURM_PROCID` if it is not set |
    /// | `SHARDC_NUM_PROCESSES` | the count; `SLURM_NTASKS` if it is not set |
    /// | `SHARDC_COORDINATOR` | the address at which process 0 listens, `host:port`; under SLURM, the first node and port 12355 |
    /// | `SHARDC_SECRET` | the secret |
    ///
    /// SLURM's variables are used only if `SHARDC_SECRET` is set: otherwise, independent programs that SLURM starts would become one job.
    ///
    /// # Errors
    ///
    /// [`RuntimeError::Processes`] with the variable that is missing or not a number.
    pub fn from_variables(get: impl Fn(&str) -> Option<String>) -> Result<Option<ProcessOptions>> {
        let secret = get("SHARDC_SECRET");
        let slurm = |name: &str| secret.as_ref().and_then(|_| get(name));
        let count = get("SHARDC_NUM_PROCESSES").or_else(|| slurm("SLURM_NTASKS"));
        let index = get("SHARDC_PROCESS_ID").or_else(|| slurm("SLURM_PROCID"));
        let coordinator = get("SHARDC_COORDINATOR").or_else(|| {
            let nodes = slurm("SLURM_STEP_NODELIST").or_else(|| slurm("SLURM_JOB_NODELIST"))?;
            Some(format!("{}:{SLURM_PORT}", first_node(&nodes)))
        });
        if index.is_none() && count.is_none() && coordinator.is_none() {
            return Ok(None);
        }
        let missing = |name: &str| {
            RuntimeError::Processes(format!(
                "{name} is not set, although other variables describe a job of several processes"
            ))
        };
        let number = |name: &str, text: Option<String>| -> Result<usize> {
            let text = text.ok_or_else(|| missing(name))?;
            text.trim()
                .parse()
                .map_err(|_| RuntimeError::Processes(format!("{name} must be a number, got {text:?}")))
        };
        let index = number("SHARDC_PROCESS_ID", index)?;
        let count = number("SHARDC_NUM_PROCESSES", count)?;
        let coordinator = coordinator.ok_or_else(|| missing("SHARDC_COORDINATOR"))?;
        let secret = Secret::new(secret.ok_or_else(|| missing("SHARDC_SECRET"))?)?;
        let options = ProcessOptions::new(index, count, coordinator, secret);
        options.check()?;
        Ok(Some(options))
    }

    pub(super) fn check(&self) -> Result<()> {
        let bad = |text: String| Err(RuntimeError::Processes(text));
        if self.count == 0 || self.count > MAX_PROCESSES {
            return bad(format!("a job must have 1 to {MAX_PROCESSES} processes, got {}", self.count));
        }
        if self.index >= self.count {
            return bad(format!(
                "process index {} is out of range for {} processes: indices begin with 0",
                self.index, self.count
            ));
        }
        if self.patience < Duration::from_millis(100) {
            return bad(format!(
                "the patience (the time to wait for other processes) must be at least 100 ms, got {:?}",
                self.patience
            ));
        }
        Ok(())
    }

    /// The time between heartbeats.
    pub(super) fn heartbeat(&self) -> Duration {
        self.patience / 10
    }
}

/// Returns the environment variables for a job of `count` processes on this machine, with a new secret and a port that is free now.
/// `SHARDC_PROCESS_ID` is not included, because it differs between processes.
///
/// # Errors
///
/// [`RuntimeError::Processes`] if the system provides no random numbers or no free port.
pub fn local_job(count: usize) -> Result<Vec<(&'static str, String)>> {
    let failed = |error: &dyn fmt::Display| RuntimeError::Processes(format!("cannot create a job: {error}"));
    let mut secret = [0; 32];
    getrandom::fill(&mut secret).map_err(|error| failed(&error))?;
    let secret: String = secret.iter().map(|byte| format!("{byte:02x}")).collect();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(|error| failed(&error))?;
    let address = listener.local_addr().map_err(|error| failed(&error))?;
    Ok(vec![
        ("SHARDC_NUM_PROCESSES", count.to_string()),
        ("SHARDC_COORDINATOR", address.to_string()),
        ("SHARDC_SECRET", secret),
    ])
}

/// The default port of process 0 under SLURM.
const SLURM_PORT: u16 = 12355;

/// Returns the first node of a SLURM node list: `gpu07` for `gpu[07-09,12],cpu3`.
fn first_node(list: &str) -> String {
    let end = list.find([',', '[']).unwrap_or(list.len());
    let (name, rest) = list.split_at(end);
    let Some(numbers) = rest.strip_prefix('[') else { return name.to_owned() };
    let number: String = numbers.chars().take_while(char::is_ascii_digit).collect();
    let suffix = numbers.split_once(']').map_or("", |(_, rest)| rest.split(',').next().unwrap_or(""));
    format!("{name}{number}{suffix}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)]) -> Result<Option<ProcessOptions>> {
        ProcessOptions::from_variables(|name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    }

    const SECRET: (&str, &str) = ("SHARDC_SECRET", "0123456789abcdef");

    #[test]
    fn variables_give_options_or_name_what_is_missing() {
        assert_eq!(of(&[]).unwrap(), None);
        // SLURM's variables alone do not create a job.
        assert_eq!(of(&[("SLURM_NTASKS", "4"), ("SLURM_PROCID", "1")]).unwrap(), None);
        let options = of(&[
            ("SHARDC_PROCESS_ID", "1"),
            ("SHARDC_NUM_PROCESSES", "2"),
            ("SHARDC_COORDINATOR", "a:1"),
            SECRET,
        ]);
        let options = options.unwrap().unwrap();
        assert_eq!((options.index, options.count, options.coordinator.as_str()), (1, 2, "a:1"));
        let missing = of(&[("SHARDC_PROCESS_ID", "1"), SECRET]).unwrap_err();
        assert!(missing.to_string().contains("SHARDC_NUM_PROCESSES"), "{missing}");
        let beyond = of(&[
            ("SHARDC_PROCESS_ID", "2"),
            ("SHARDC_NUM_PROCESSES", "2"),
            ("SHARDC_COORDINATOR", "a:1"),
            SECRET,
        ]);
        assert_eq!(beyond.unwrap_err().code(), "RT0701");
    }

    #[test]
    fn local_job_needs_only_an_index() {
        let variables = local_job(3).unwrap();
        let of = |name: &str| match name {
            "SHARDC_PROCESS_ID" => Some("2".to_owned()),
            name => variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.clone()),
        };
        let options = ProcessOptions::from_variables(of).unwrap().unwrap();
        assert_eq!((options.index, options.count), (2, 3));
        assert_ne!(local_job(3).unwrap()[2], variables[2], "secrets are new");
    }

    #[test]
    fn slurm_variables_are_defaults() {
        let options = of(&[
            ("SLURM_PROCID", "3"),
            ("SLURM_NTASKS", "4"),
            ("SLURM_STEP_NODELIST", "gpu[07-09,12],cpu3"),
            SECRET,
        ]);
        let options = options.unwrap().unwrap();
        assert_eq!((options.index, options.count, options.coordinator.as_str()), (3, 4, "gpu07:12355"));
        assert_eq!(first_node("a,b"), "a");
        assert_eq!(first_node("n[3,5]-ib"), "n3-ib");
    }

    #[test]
    fn secrets_have_a_minimum_length_and_are_not_printed() {
        assert!(Secret::new("short").is_err());
        let secret = Secret::new("0123456789abcdef").unwrap();
        assert_eq!(format!("{secret:?}"), "Secret");
    }
}
