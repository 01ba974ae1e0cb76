//! Tests that a training run that is killed at any time resumes from its last complete checkpoint, bit for bit.
//!
//! This program starts itself as the training run, kills that process, and checks the checkpoints. `SHARDC_KILLS` is the number of kills,
//! by default a few. `SHARDC_KILLS_STORE` names a folder of an object store without checkpoints. If it is not set, the training runs save
//! to a folder and to a local S3 server (with the feature `s3`, and if `SHARDC_PYTHON` names a Python with moto).

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod common;

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::Duration;

use common::moto::{self, Server};
use common::{Arrays, array, part, state_of};
use libtest_mimic::{Arguments, Failed, Trial};
use object_store::ObjectStore;
use object_store::local::LocalFileSystem;
use object_store::path::Path as ObjectPath;
use shardc_checkpoint::{
    Alone, Checkpoint, CheckpointManager, Entry, Fit, Info, Keep, Options, Region, Store, Wanted,
};
use shardc_ir::DType;
use tempfile::TempDir;
use tokio::runtime::Runtime;
use url::Url;

/// The environment variable with the location of the checkpoints. It is set only in the training run that is killed.
const RUN: &str = "SHARDC_KILLED_RUN";
/// The variable that names an object store for checkpoints.
const STORE: &str = "SHARDC_KILLS_STORE";
/// Number of checkpoints that the training run keeps.
const KEPT: usize = 3;

fn main() -> ExitCode {
    if let Ok(at) = std::env::var(RUN) {
        return run(&At(at).store(&[]));
    }
    let trials = match std::env::var(STORE) {
        Ok(url) => vec![Trial::test(url.clone(), move || kill(&Place::of_url(&url)))],
        Err(_) => vec![
            Trial::test("folder", || kill(&Place::of_folder("folder"))),
            Trial::test("objects", || kill(&Place::of_folder("objects"))),
            Trial::test("s3", || Place::of_moto().map_or(Ok(()), |place| kill(&place))),
        ],
    };
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// The location of checkpoints as text. `folder:PATH` is a folder in which checkpoints are committed by a rename, as in file systems.
/// `objects:PATH` is a folder in which checkpoints are committed by a marker file, as in object stores. Other text is the URL of an
/// object store.
struct At(String);

impl At {
    fn store(&self, options: &[(String, String)]) -> Store {
        match self.0.split_once(':').unwrap() {
            ("folder", folder) => Store::folder(Path::new(folder)).unwrap(),
            ("objects", _) => {
                let (objects, root) = self.objects(options);
                Store::new(objects, root.as_ref()).unwrap()
            }
            _ => Store::open(&self.0, options).unwrap(),
        }
    }

    /// Returns the object store that contains the checkpoints, and the path prefix of their objects, for checks that bypass [`Store`].
    fn objects(&self, options: &[(String, String)]) -> (Arc<dyn ObjectStore>, ObjectPath) {
        match self.0.split_once(':').unwrap() {
            ("folder" | "objects", folder) => {
                (Arc::new(LocalFileSystem::new_with_prefix(folder).unwrap()), ObjectPath::ROOT)
            }
            _ => {
                let options = std::env::vars().chain(options.iter().cloned());
                let (objects, root) =
                    object_store::parse_url_opts(&Url::parse(&self.0).unwrap(), options).unwrap();
                (objects.into(), root)
            }
        }
    }
}

/// The store in which a training run saves its checkpoints.
struct Place {
    at: At,
    /// Options of the store in addition to its URL and the environment.
    options: Vec<(String, String)>,
    /// A temporary folder that is deleted with this value.
    _folder: Option<TempDir>,
    _server: Option<Server>,
}

impl Place {
    fn of_url(url: &str) -> Place {
        Place { at: At(url.to_owned()), options: Vec::new(), _folder: None, _server: None }
    }

    /// Creates a temporary folder; `rule` is `folder` or `objects`, as in [`At`].
    fn of_folder(rule: &str) -> Place {
        let folder = tempfile::tempdir().unwrap();
        let at = format!("{rule}:{}", folder.path().display());
        Place { _folder: Some(folder), ..Place::of_url(&at) }
    }

    /// Starts a local S3 server. If a dependency is missing, prints a message and returns `None`.
    fn of_moto() -> Option<Place> {
        let server = Server::start()?;
        let options = moto::options(server.port);
        Some(Place { options, _server: Some(server), ..Place::of_url(&format!("{}/runs", Server::BUCKET)) })
    }

    /// Returns the number of checkpoints, complete or not.
    fn steps(&self) -> usize {
        let (objects, root) = self.at.objects(&self.options);
        let run = root.join("run");
        let list = async { objects.list_with_delimiter(Some(&run)).await };
        Runtime::new().unwrap().block_on(list).map_or(0, |found| found.common_prefixes.len())
    }

    /// Returns the command that starts the training run as a separate process.
    fn command(&self) -> Command {
        let mut command = Command::new(std::env::current_exe().unwrap());
        let variables = self.options.iter().map(|(key, value)| (key.to_uppercase(), value));
        command.env(RUN, &self.at.0).envs(variables).stdout(Stdio::piped());
        command
    }
}

fn manager(store: &Store) -> CheckpointManager {
    let keep = Keep { newest: Some(KEPT), every: None };
    CheckpointManager::new(store, "run", Options { save_interval: 1 << 40, keep, ..Options::default() })
        .unwrap()
}

/// Returns the state before the first step.
fn first() -> Arrays {
    let mut arrays = Arrays::new();
    arrays.insert("params.w".to_owned(), (array(1, DType::F32, &[512, 700]), vec![4, 1]));
    arrays.insert("params.b".to_owned(), (array(2, DType::BF16, &[333, 7]), vec![2, 1]));
    arrays.insert("step".to_owned(), (array(3, DType::I64, &[]), vec![]));
    arrays
}

/// Changes every byte of the state, as the training step `step` does.
fn advance(arrays: &mut Arrays, step: u64) {
    let key = (step.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8;
    arrays.values_mut().flat_map(|(array, _)| &mut array.bytes).for_each(|byte| *byte ^= key);
}

/// Restores all arrays of a checkpoint.
fn restored(checkpoint: &Checkpoint) -> Arrays {
    let mut arrays = first();
    let wanted: Vec<Wanted> = arrays
        .iter()
        .map(|(name, (array, _))| Wanted {
            name: name.clone(),
            dtype: array.dtype,
            shape: array.shape.clone(),
            regions: vec![Region::whole(&array.shape)],
        })
        .collect();
    let mut take = |number: usize, _, elements: &mut Vec<u8>| {
        arrays.get_mut(&wanted[number].name).unwrap().0.bytes = std::mem::take(elements);
        Ok(())
    };
    checkpoint.restore(&wanted, &Fit::default(), &mut take, None).unwrap();
    arrays
}

/// Runs the training run: resumes from the last checkpoint, saves each step synchronously or asynchronously, and prints the steps with a
/// complete checkpoint. It stops on `SIGTERM`.
fn run(store: &Store) -> ExitCode {
    let manager = manager(store);
    let say = |text: String| {
        let mut out = std::io::stdout().lock();
        out.write_all(format!("{text}\n").as_bytes()).and_then(|()| out.flush()).unwrap();
    };
    let (mut step, mut arrays) = match manager.latest().unwrap() {
        Some(step) => (step, restored(&manager.open(step).unwrap())),
        None => (0, first()),
    };
    say(format!("begun {step}"));
    loop {
        step += 1;
        advance(&mut arrays, step);
        let state = state_of(&arrays, &Info::default(), &Alone);
        let read = |entry: &Entry, region: &Region| Ok(part(&arrays[&entry.name].0, region));
        // The save interval is larger than any step, so `should_save` returns true only after `SIGTERM`.
        if manager.should_save(step).unwrap() {
            manager.save(step, &state, &read).unwrap();
            say(format!("ended {step}"));
            return ExitCode::SUCCESS;
        }
        if step % 3 == 0 {
            manager.save_async(step, &state, &read).unwrap();
        } else {
            manager.save(step, &state, &read).unwrap();
            say(format!("saved {step}"));
        }
    }
}

fn kill(place: &Place) -> Result<(), Failed> {
    let kills: u64 = match std::env::var("SHARDC_KILLS") {
        Ok(text) => text.parse().map_err(|_| format!("SHARDC_KILLS must be a number, got {text:?}"))?,
        Err(_) => 12,
    };
    let store = place.at.store(&place.options);
    let (mut expected, mut at, mut there) = (first(), 0, 0);
    let mut random = 88172645463325252u64;
    let mut found_half = 0;
    for number in 0..kills {
        let mut child = place.command().spawn()?;
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        // Waits until the training run has started, so that the kill hits a save and not the start of the process.
        let begun = lines.next().ok_or("the run ended before it began")?.unwrap();
        if begun != format!("begun {at}") {
            return Err(format!("kill {number}: the run reports {begun}, but step {at} is complete").into());
        }
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        // Until a step is complete, each run gets more time than the run before it, because the first save is slower on a slow disk.
        let longest = if at == 0 { 400_000 * (number + 1) } else { 400_000 };
        std::thread::sleep(Duration::from_micros(random % longest));
        let is_asked = number % 10 == 9;
        if is_asked {
            let pid = child.id().to_string();
            assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
        } else {
            child.kill().unwrap();
        }
        let printed: Vec<String> = lines.map(Result::unwrap).collect();
        let status = child.wait().unwrap();
        let whole = |word: &str| -> Option<u64> {
            printed.iter().rev().find_map(|line| line.strip_prefix(word)?.trim().parse().ok())
        };
        if is_asked && (!status.success() || whole("ended").is_none()) {
            return Err(format!("kill {number}: the run ended on request with {status}: {printed:?}").into());
        }
        found_half += u64::from(place.steps() > shardc_checkpoint::steps(&store, "run").unwrap().len());
        let run = manager(&store);
        let (steps, latest) = (run.all_steps().unwrap(), run.latest().unwrap());
        let known = whole("ended").or_else(|| whole("saved"));
        if latest < known || latest.unwrap_or(0) < at {
            return Err(
                format!("kill {number}: step {known:?} was complete, but the latest is {latest:?}").into()
            );
        }
        let Some(latest) = latest else { continue };
        // A kill between a save and the deletion of an older checkpoint leaves one more checkpoint than the manager keeps.
        if steps.len() > there.max(KEPT) + 1 || is_asked && Some(latest) != whole("ended") {
            return Err(format!("kill {number}: there are {steps:?}").into());
        }
        there = steps.len();
        (at + 1..=latest).for_each(|step| advance(&mut expected, step));
        at = latest;
        let checkpoint = run.open(latest).unwrap();
        if restored(&checkpoint) != expected || !checkpoint.verify(None).unwrap().is_empty() {
            return Err(format!("kill {number}: step {latest} has changed").into());
        }
    }
    if at == 0 {
        return Err("no step was ever complete".into());
    }
    // Writes to standard error directly, because the test harness hides the output of passing tests.
    let text =
        format!("{}: {kills} kills, {at} steps; {found_half} kills left an incomplete save\n", place.at.0);
    std::io::stderr().write_all(text.as_bytes()).unwrap();
    Ok(())
}
