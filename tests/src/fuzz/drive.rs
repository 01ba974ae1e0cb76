//! Starts and watches workers, and counts outcomes.

use std::{
    env, fs,
    io::{self, BufRead, BufReader, Read},
    path::PathBuf,
    process::{Child, Command, ExitStatus, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    thread,
    time::{Duration, Instant},
};

use super::reduce::reduced;
use super::worker::{self, Work};
use super::{Finding, From, Fuzzer, Report, find};

/// The environment variable that makes a process of this program a worker; its value is the work as text.
const WORKER: &str = "SHARDC_FUZZ_WORKER";
/// The interval at which the driver checks workers that print nothing.
const TICK: Duration = Duration::from_millis(100);
/// Time limit for loading a worker's programs.
const START: Duration = Duration::from_secs(120);
/// Time limit for shrinking an input that crashes its process.
const REDUCE: Duration = Duration::from_secs(20);

/// The parameters of a fuzzing run.
#[derive(Clone, Debug)]
pub struct Run {
    /// The fuzzer.
    pub fuzzer: &'static Fuzzer,
    /// The seed of inputs.
    pub seed: u64,
    /// The first case.
    pub first: u64,
    /// Maximum number of cases.
    pub cases: u64,
    /// Maximum time.
    pub time: Duration,
    /// Number of workers.
    pub jobs: u64,
    /// The programs to use.
    pub from: From,
    /// Time limit of one case.
    pub limit: Duration,
    /// Memory limit of a worker in bytes.
    pub memory: u64,
    /// The folder for findings.
    pub dir: PathBuf,
    /// Whether to print progress.
    pub progress: bool,
}

impl Run {
    /// A fuzzing run with the documented limits: 20 seconds and 8 GB for each case.
    #[must_use]
    pub fn new(fuzzer: &'static Fuzzer, seed: u64, dir: PathBuf) -> Run {
        Run {
            fuzzer,
            seed,
            first: 0,
            cases: u64::MAX / 2,
            time: Duration::MAX,
            jobs: 2,
            from: From::Everywhere,
            limit: Duration::from_secs(20),
            memory: 8 << 30,
            dir,
            progress: false,
        }
    }
}

/// Runs the worker if this process is a worker. Every program that calls [`drive`] must call this function first.
///
/// # Errors
/// The work cannot be done.
pub fn work_if_worker() -> io::Result<bool> {
    let Ok(words) = env::var(WORKER) else { return Ok(false) };
    let words: Vec<&str> = words.splitn(6, ' ').collect();
    let wrong = || io::Error::other(format!("{WORKER} is {words:?}"));
    let [name, from, seed, first, step, rest] = words[..] else { return Err(wrong()) };
    let (end, dir) = rest.split_once(' ').ok_or_else(wrong)?;
    let number = |text: &str| text.parse().map_err(|_| wrong());
    let work = Work {
        fuzzer: find(name).ok_or_else(wrong)?,
        seed: number(seed)?,
        first: number(first)?,
        end: number(end)?,
        step: number(step)?,
        from: if from == "everywhere" { From::Everywhere } else { From::Checkout },
        dir: dir.as_ref(),
    };
    // Cases run in a thread, as in programs that embed shardc and call it from threads. The stack of a thread has a quarter of the size of
    // the main thread's stack.
    thread::scope(|scope| match scope.spawn(|| run(&work)).join() {
        Ok(done) => done.map(|()| true),
        Err(_) => Err(io::Error::other("a fuzzer panicked outside of a case")),
    })
}

/// Runs the cases of a worker, or the one input in a file.
fn run(work: &Work<'_>) -> io::Result<()> {
    match work.step {
        0 => worker::replay(work.fuzzer, &fs::read(work.dir)?).map(|_| ()),
        _ => worker::work(work),
    }
}

/// A command that runs this program again as a worker.
fn command(run: &Run, words: &str) -> io::Result<Command> {
    let program = env::current_exe()?;
    let mut command = if cfg!(unix) && !run.fuzzer.runs {
        // Limits the address space, so that an excessive allocation is reported instead of killing the process.
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(format!("ulimit -v {}; exec \"$0\"", run.memory / 1024)).arg(program);
        shell
    } else {
        Command::new(program)
    };
    command.env(WORKER, words).env("RUST_BACKTRACE", "0");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    Ok(command)
}

enum Event {
    Line(String),
    /// The last output on standard error.
    Closed(String),
}

/// A worker, and its state.
struct Running {
    child: Child,
    /// The running case, if any; `since` is its start time.
    case: Option<u64>,
    since: Instant,
    /// The next case.
    next: u64,
    /// The reason why the driver killed the worker, if it did.
    ended: Option<&'static str>,
    /// Number of workers started for this job.
    generation: u64,
}

type Events = (u64, u64, Event);

fn start(run: &Run, job: u64, first: u64, generation: u64, events: &Sender<Events>) -> io::Result<Running> {
    let from = if run.from == From::Everywhere { "everywhere" } else { "checkout" };
    let words = format!(
        "{} {from} {} {first} {} {} {}",
        run.fuzzer.name,
        run.seed,
        run.jobs,
        run.first.saturating_add(run.cases),
        run.dir.display()
    );
    let mut child = command(run, &words)?.spawn()?;
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let events = events.clone();
    let last_words = thread::spawn(move || {
        let mut text = Vec::new();
        let mut err = err;
        while let Some(err) = &mut err {
            let mut buffer = [0; 4096];
            match err.read(&mut buffer) {
                Ok(n) if n > 0 => text.extend_from_slice(&buffer[..n]),
                _ => break,
            }
            let surplus = text.len().saturating_sub(8192);
            text.drain(..surplus);
        }
        String::from_utf8_lossy(&text).into_owned()
    });
    thread::spawn(move || {
        for line in out.into_iter().flat_map(|out| BufReader::new(out).lines()).map_while(Result::ok) {
            let _ = events.send((job, generation, Event::Line(line)));
        }
        let text = last_words.join().unwrap_or_default();
        let _ = events.send((job, generation, Event::Closed(text)));
    });
    Ok(Running { child, case: None, since: Instant::now(), next: first, ended: None, generation })
}

/// Runs a fuzzer.
///
/// # Errors
/// A worker does not start, or exits without an input as the cause.
pub fn drive(run: &Run) -> io::Result<Report> {
    fs::create_dir_all(&run.dir)?;
    let mut report = Report { name: run.fuzzer.name.to_owned(), ..Report::default() };
    let begun = Instant::now();
    let (sender, receiver) = channel();
    let mut workers: Vec<Option<Running>> = Vec::new();
    for job in 0..run.jobs {
        workers.push(Some(start(run, job, run.first + job, 0, &sender)?));
    }
    let done = watch(run, &mut workers, &sender, &receiver, begun, &mut report);
    for mut worker in workers.into_iter().flatten() {
        let _ = worker.child.kill();
        let _ = worker.child.wait();
    }
    for job in 0..run.jobs {
        let _ = fs::remove_file(worker::running(&run.dir, job));
    }
    report.time = begun.elapsed();
    done.map(|()| report)
}

fn watch(
    run: &Run,
    workers: &mut [Option<Running>],
    sender: &Sender<Events>,
    receiver: &Receiver<Events>,
    begun: Instant,
    report: &mut Report,
) -> io::Result<()> {
    let mut last_progress = begun;
    while workers.iter().any(Option::is_some) && begun.elapsed() < run.time {
        let event = match receiver.recv_timeout(TICK) {
            Ok(event) => Some(event),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => break,
        };
        if let Some((job, generation, event)) = event
            && let Some(slot) = workers.get_mut(job as usize)
            && slot.as_ref().is_some_and(|worker| worker.generation == generation)
        {
            match event {
                Event::Line(line) => {
                    if let Some(worker) = slot {
                        heard(run, worker, &line, report);
                    }
                }
                Event::Closed(words) => {
                    if let Some(worker) = slot.take() {
                        *slot = closed(run, job, worker, &words, sender, report)?;
                    }
                }
            }
        }
        for worker in workers.iter_mut().flatten() {
            let limit = if worker.case.is_some() { run.limit } else { START };
            if worker.since.elapsed() > limit {
                worker.ended = Some("takes too long");
            } else if resident(worker.child.id()) > run.memory {
                worker.ended = Some("takes too much memory");
            }
            if worker.ended.is_some() {
                worker.child.kill()?;
            }
        }
        if run.progress && last_progress.elapsed() > Duration::from_secs(10) {
            last_progress = Instant::now();
            let findings: usize = report.findings.values().map(Vec::len).sum();
            eprintln!(
                "{}: {} s, {} cases, {findings} findings of {} kinds",
                run.fuzzer.name,
                begun.elapsed().as_secs(),
                report.cases,
                report.findings.len()
            );
        }
    }
    Ok(())
}

fn heard(run: &Run, worker: &mut Running, line: &str, report: &mut Report) {
    let words: Vec<&str> = line.split('\t').collect();
    match words[..] {
        ["begin", case] => {
            worker.case = case.parse().ok();
            worker.since = Instant::now();
        }
        ["found", case, kind] => {
            // Shrinking also takes time, so the clock restarts.
            worker.since = Instant::now();
            found(report, kind, case.parse().unwrap_or(0));
        }
        ["end", case, micros, passed, refused] => {
            let case: u64 = case.parse().unwrap_or(0);
            (worker.case, worker.since, worker.next) = (None, Instant::now(), case + run.jobs);
            report.cases += 1;
            let time = Duration::from_micros(micros.parse().unwrap_or(0));
            report.slowest = report.slowest.max((time, case));
            for stage in passed.split(',').filter(|stage| !stage.is_empty()) {
                *report.passed.entry(stage.to_owned()).or_default() += 1;
            }
            if !refused.is_empty() {
                *report.refused.entry(refused.to_owned()).or_default() += 1;
            }
        }
        _ => {}
    }
}

fn found(report: &mut Report, kind: &str, case: u64) {
    let cases = report.findings.entry(kind.to_owned()).or_default();
    if !cases.contains(&case) {
        cases.push(case);
    }
}

/// Handles the end of a worker: its cases are done, or a case crashed it and another worker continues after that case.
fn closed(
    run: &Run,
    job: u64,
    mut worker: Running,
    words: &str,
    sender: &Sender<Events>,
    report: &mut Report,
) -> io::Result<Option<Running>> {
    let status = worker.child.wait()?;
    let Some(case) = worker.case else {
        if status.success() {
            return Ok(None);
        }
        return Err(io::Error::other(format!("a worker ended between cases ({status}): {words}")));
    };
    report.cases += 1;
    let kind = worker.ended.map_or_else(|| cause(status, words), str::to_owned);
    found(report, &kind, case);
    keep(run, case, &Finding { kind, details: words.trim().to_owned() })?;
    start(run, job, case + run.jobs, worker.generation + 1, sender).map(Some)
}

/// The reason why a process ended: its exit status, and the first line of its output that names a cause, without digits.
fn cause(status: ExitStatus, words: &str) -> String {
    let telling =
        ["memory allocation", "overflowed its stack", "panicked at", "Check failed", "terminate called"];
    let line = words.lines().find(|line| telling.iter().any(|word| line.contains(word)));
    let line = line.unwrap_or_default().replace(|c: char| c.is_ascii_digit(), "");
    format!("ends the process ({status}) {}", line.trim()).trim().to_owned()
}

/// Shrinks an input that crashed its process, within the time limit, and writes the input to a file.
fn keep(run: &Run, case: u64, finding: &Finding) -> io::Result<()> {
    if worker::is_known(&run.dir, &finding.kind) {
        return Ok(());
    }
    let mut input = fs::read(worker::running(&run.dir, case % run.jobs))?;
    if finding.kind.starts_with("ends the process") {
        let trial = run.dir.join(format!("trial-{case}.{}", run.fuzzer.extension));
        let mut stays =
            |rest: &[u8]| fs::write(&trial, rest).is_ok() && ends(run, &trial) == Some(finding.kind.clone());
        input = reduced(&input, Instant::now() + REDUCE, &mut stays);
        let _ = fs::remove_file(&trial);
    }
    let work = Work {
        fuzzer: run.fuzzer,
        seed: run.seed,
        first: case,
        end: case + 1,
        step: 1,
        from: run.from,
        dir: &run.dir,
    };
    worker::write(&work, case, &input, finding)
}

/// Runs the input in a file in a new process, and returns how the process fails; `None` if it succeeds or takes too long.
fn ends(run: &Run, file: &std::path::Path) -> Option<String> {
    let words = format!("{} checkout 0 0 0 0 {}", run.fuzzer.name, file.display());
    let mut child = command(run, &words).ok()?.spawn().ok()?;
    let begun = Instant::now();
    while child.try_wait().ok()?.is_none() {
        if begun.elapsed() > Duration::from_secs(5) {
            let _ = child.kill();
            let _ = child.wait();
            return None;
        }
        thread::sleep(Duration::from_millis(5));
    }
    let out = child.wait_with_output().ok()?;
    (!out.status.success()).then(|| cause(out.status, &String::from_utf8_lossy(&out.stderr)))
}

/// Returns the resident memory of a process in bytes, or zero if it is unknown.
fn resident(process: u32) -> u64 {
    let pages = fs::read_to_string(format!("/proc/{process}/statm")).ok();
    let pages = pages.and_then(|text| text.split(' ').nth(1)?.parse::<u64>().ok());
    pages.unwrap_or(0) * 4096
}
