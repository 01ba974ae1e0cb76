//! The devices for tests that run programs: eight virtual devices of XLA's CPU back end.

use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use shardc::{Output, exec};
use shardc_filetest::skip::{Need, skipped};
use shardc_ir::Module;
use shardc_runtime::{
    Client, ClientOptions, Environment, HostArray, Plugin, PluginKind, RuntimeError, plugin,
};

/// The number of devices.
pub const DEVICES: usize = 8;

/// One client for the entire process: a second client would double the number of threads.
static CLIENT: LazyLock<Result<Option<Mutex<Client>>, String>> = LazyLock::new(|| {
    let found = match plugin::find(PluginKind::Cpu, &Environment::from_process()) {
        Ok(found) => found,
        Err(RuntimeError::PluginNotFound { .. }) => {
            let reason = "running programs needs the CPU plugin (`shardc plugin install cpu` fetches it)";
            return skipped(Need::CpuPlugin, reason).map(|()| None);
        }
        Err(error) => return Err(error.to_string()),
    };
    Plugin::load(&found.path)
        .and_then(|plugin| Client::new(&plugin, ClientOptions { cpu_device_count: Some(DEVICES) }))
        .map(|client| Some(Mutex::new(client)))
        .map_err(|e| e.to_string())
});

/// Locks the devices for one test at a time. A program with collectives waits for the threads of all its devices, so two concurrent
/// programs would deadlock. If there is no plugin, returns `None`, and reports this once on standard error.
///
/// # Errors
/// The plugin exists but does not load.
pub fn client() -> Result<Option<MutexGuard<'static, Client>>, String> {
    match &*CLIENT {
        // A failed test leaves the client in a consistent state, so a poisoned lock is usable.
        Ok(client) => Ok(client.as_ref().map(|c| c.lock().unwrap_or_else(PoisonError::into_inner))),
        Err(error) => Err(error.clone()),
    }
}

/// The result of comparing a partitioned program with the original.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Every output is correct.
    Equal,
    /// Some outputs differ; the text names them.
    Wrong(String),
    /// The program is invalid, or was rejected by the back end or the comparison.
    Refused(String),
}

/// A program, its inputs, and its results on one device.
#[derive(Debug)]
pub struct Reference {
    original: Module,
    inputs: Vec<HostArray>,
    expected: Vec<HostArray>,
}

impl Reference {
    /// Runs `original`, from which `output` was partitioned, on one device.
    ///
    /// # Errors
    /// The program does not compile or run.
    pub fn new(client: &Client, original: Module, output: &Output) -> Result<Reference, String> {
        let inputs = exec::random_inputs(&output.interface, 1).map_err(|error| error.to_string())?;
        Reference::on(client, original, inputs)
    }

    /// Runs a program with the given inputs on one device.
    ///
    /// # Errors
    /// The program does not compile or run.
    pub fn on(client: &Client, original: Module, inputs: Vec<HostArray>) -> Result<Reference, String> {
        let run = || exec::Program::single(client, &original)?.run(client, &inputs);
        let expected = run().map_err(|error: shardc::Error| error.to_string())?;
        Ok(Reference { original, inputs, expected })
    }

    /// The indices of outputs without finite numbers, for which a comparison detects few errors.
    #[must_use]
    pub fn without_numbers(&self) -> Vec<usize> {
        let has_numbers = |array: &HostArray| array.to_f64_vec().into_iter().any(f64::is_finite);
        (0..self.expected.len()).filter(|&i| !has_numbers(&self.expected[i])).collect()
    }
}

/// Verifies the partitioned module, runs it, and compares every output.
#[must_use]
pub fn compare(client: &Client, reference: &Reference, output: &Output) -> Verdict {
    if let Err(errors) = shardc_ir::verify(&output.module) {
        return Verdict::Refused(errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"));
    }
    let Reference { original, inputs, expected } = reference;
    match exec::verify_against(client, original, output, inputs, expected) {
        Err(error) => Verdict::Refused(error.to_string()),
        Ok(checks) => {
            let wrong: Vec<String> = checks
                .iter()
                .filter(|c| !c.ok())
                .map(|c| {
                    format!(
                        "output {} ({}): off by {:.1e}, {} mismatches",
                        c.index, c.ty, c.difference.max_rel_to_scale, c.difference.mismatches
                    )
                })
                .collect();
            if wrong.is_empty() { Verdict::Equal } else { Verdict::Wrong(wrong.join("\n")) }
        }
    }
}
