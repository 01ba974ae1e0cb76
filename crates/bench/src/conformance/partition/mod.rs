//! Checks that partitioned programs produce the same results as on one device: every executable program of the corpus, on its own mesh and
//! on two other meshes, in both SPMD modes.
//!
//! Each program is compared twice. First, the worker of `shardc-tests` does the same as `shardc verify`. Then `check_partition.py` in the
//! shared data runs shardc's output with another XLA build on other inputs. For a program with manual computations, the script instead
//! compares with XLA's own partition, on the file's own mesh. Shardy's interpreter tests are also partitioned and compared with the values
//! that they expect.
//!
//! Expected differences are listed in `tests/conformance/partition.txt` as `path#mesh: reason`. For comparisons by `check_partition.py`,
//! they are listed as `path#check mesh: reason`.

mod oracle;
mod programs;
mod report;

use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use serde_json::json;
use shardc_filetest::quick::xla_flags;

pub(super) use self::oracle::SCRIPT;
use self::{
    oracle::Oracle,
    programs::{Kind, Mesh, Program, interpreted, programs},
    report::{Case, Outcome, Report},
};
use super::{
    CheckWith, ConformanceArgs,
    exceptions::Exceptions,
    worker::{self, Reply, Worker},
};
use xtask::{process, setup, workspace::Workspace};

/// The folders of programs.
const FOLDERS: [&str; 2] = ["corpus/jax", "corpus/torch_xla"];

/// The SPMD modes, as the worker and the command line name them.
const MODES: [&str; 2] = ["replica", "partition"];

/// Number of programs that run in parallel; each has one thread per device.
const SIDE_BY_SIDE: usize = 2;

/// Number of programs between progress messages. All programs take an hour.
const PROGRESS_EVERY: usize = 25;

/// Time limit of one comparison. The slowest comparison takes a tenth of the limit on two cores.
const LIMIT: Duration = Duration::from_secs(600);

pub(super) fn run(workspace: &Workspace, root: &Path, args: &ConformanceArgs) -> Result<()> {
    setup::run(&[])?;
    let program =
        process::step("build the worker", || worker::build(workspace, worker::WORKER, args.release))?;
    let dir = workspace.scratch("conformance/partition")?;
    let exceptions = Exceptions::read(&workspace.root.join("tests/conformance/partition.txt"))?;
    let oracle = Oracle::find(root, &dir, args)?;
    let mut all = Vec::new();
    for folder in FOLDERS {
        all.extend(programs(root, folder)?);
    }
    all.extend(interpreted(root)?);
    all.retain(|program| args.wants(&program.path));
    let title = format!("partition, run and compare {} programs", all.len());
    let report = process::step(&title, || {
        let report = Mutex::new(Report::new(&exceptions, args.verbose));
        let next = AtomicUsize::new(0);
        let failed = Mutex::new(None);
        thread::scope(|scope| {
            for number in 0..SIDE_BY_SIDE {
                let (program, dir, all, report, next, failed, oracle) =
                    (&program, &dir, &all, &report, &next, &failed, &oracle);
                scope.spawn(move || {
                    let lane = Lane::new(number, program, dir, oracle.as_ref());
                    let done = lane.and_then(|mut lane| {
                        loop {
                            let at = next.fetch_add(1, Ordering::Relaxed);
                            let Some(program) = all.get(at) else { return Ok(()) };
                            if at > 0 && at % PROGRESS_EVERY == 0 {
                                println!("   {at} of {} programs, at {}", all.len(), program.path);
                            }
                            lane.program(program, args, report)?;
                        }
                    });
                    if let Err(error) = done {
                        *failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                    }
                });
            }
        });
        if let Some(error) = failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(error);
        }
        Ok(report.into_inner().unwrap_or_else(PoisonError::into_inner))
    })?;
    report.finish(&dir, args.filters.is_empty())
}

/// The processes that compare one program after another.
struct Lane {
    worker: Worker,
    check: Option<oracle::Checker>,
    /// The folder to which the worker writes partitioned programs.
    out: PathBuf,
}

impl Lane {
    fn new(number: usize, program: &Path, dir: &Path, oracle: Option<&Oracle>) -> Result<Lane> {
        let out = dir.join(format!("lane-{number}"));
        std::fs::create_dir_all(&out).with_context(|| format!("making {}", out.display()))?;
        let program = program.to_owned();
        let make = move || {
            let mut command = Command::new(&program);
            command.env("XLA_FLAGS", xla_flags());
            command
        };
        let worker = Worker::new(make, out.join("worker.log"), LIMIT);
        let check = oracle.map(|oracle| oracle.checker(&out, LIMIT));
        Ok(Lane { worker, check, out })
    }

    /// Runs a program on all of its meshes and in both SPMD modes, and reports the outcomes.
    fn program(
        &mut self,
        program: &Program,
        args: &ConformanceArgs,
        report: &Mutex<Report<'_>>,
    ) -> Result<()> {
        for mesh in &program.meshes {
            for mode in MODES {
                let start = Instant::now();
                let kind = match program.kind {
                    Kind::Whole | Kind::Manual => "verify",
                    Kind::Interpreted => "interpreted",
                };
                let job = json!({
                    "kind": kind, "file": program.file, "mesh": mesh.option, "mode": mode, "out": self.out,
                });
                let (outcome, is_written) = match self.worker.ask(&job)? {
                    Reply::Answer(answer) => (Outcome::of(&answer)?, answer["written"] == true),
                    // If the worker crashed, the partitioned program is not compared a second time.
                    Reply::Lost(how) => (Outcome::Crashed(how), false),
                };
                let time = start.elapsed();
                let case = Case { path: &program.path, part: mesh.label.clone(), mode, time };
                report.lock().unwrap_or_else(PoisonError::into_inner).add(&case, &outcome);
                if is_written && Self::wants_check(program, mesh, args) {
                    self.check(program, mesh, mode, report)?;
                }
            }
        }
        Ok(())
    }

    /// Whether `check_partition.py` also compares a program on a mesh. The script compares a program with manual computations with XLA's
    /// own partition, and only on the file's own mesh.
    fn wants_check(program: &Program, mesh: &Mesh, args: &ConformanceArgs) -> bool {
        match args.check_with {
            CheckWith::Nothing => false,
            CheckWith::Own => mesh.option.is_none(),
            CheckWith::All => mesh.option.is_none() || program.kind == Kind::Whole,
        }
    }

    fn check(
        &mut self,
        program: &Program,
        mesh: &Mesh,
        mode: &'static str,
        report: &Mutex<Report<'_>>,
    ) -> Result<()> {
        let Some(check) = &mut self.check else { return Ok(()) };
        let start = Instant::now();
        let outcome = check.ask(program, &self.out)?;
        let part = format!("check {}", mesh.label);
        let case = Case { path: &program.path, part, mode, time: start.elapsed() };
        report.lock().unwrap_or_else(PoisonError::into_inner).add(&case, &outcome);
        Ok(())
    }
}

/// Returns an error if `tool` does not exist.
fn need(tool: &Path) -> Result<()> {
    if !tool.is_file() {
        bail!("cannot find {}", tool.display());
    }
    Ok(())
}
