//! Propagates one program; `cargo xtask bench` compares the time with Shardy's and looks at how it grows.
//!
//! `propagate FILE` prints one JSON object: the seconds of each stage, the number of operations, and the memory of the module and the
//! additional memory of propagation, in bytes, if the system reports it.

#![allow(clippy::print_stdout, reason = "a program: what it says is its output")]

use std::{error::Error, fs, time::Instant};

use shardc_analysis::{
    gspmd::{import_gspmd, is_annotated},
    propagate::{PropagateOptions, propagate},
    transforms::inline::inline_calls,
};
use shardc_ir::Module;
use shardc_stablehlo::{parse, render};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1).filter(|arg| !arg.starts_with('-'));
    let Some(path) = arguments.next() else {
        println!("no file named: nothing measured");
        return Ok(());
    };
    let text = fs::read_to_string(&path)?;
    let rendered = |errors: Vec<shardc_ir::Diagnostic>| render(&errors, &path, &text, false);
    let before = resident("VmRSS:");
    let (module, read) = timed(|| parse(&text));
    let mut module = module.map_err(rendered)?;
    let (imported, import) = timed(|| match is_annotated(&module) {
        true => import_gspmd(&mut module, None).map(drop),
        false => Ok(()),
    });
    imported.map_err(rendered)?;
    let (inlined, inline) = timed(|| inline_calls(&mut module));
    inlined.map_err(rendered)?;
    let ops = operations(&module);
    let module_bytes = resident("VmRSS:") - before;
    // Resets the high-water mark.
    let _ = fs::write("/proc/self/clear_refs", "5");
    let low = resident("VmRSS:");
    let (report, seconds) = timed(|| propagate(&mut module, &PropagateOptions::default()));
    let report = report.map_err(rendered)?;
    let bytes = resident("VmHWM:") - low;
    println!(
        r#"{{"seconds": {{"read": {read}, "import": {import}, "inline": {inline}, "propagate": {seconds}}}, "ops": {ops}, "visits": {}, "updates": {}, "module": {module_bytes}, "bytes": {bytes}}}"#,
        report.visits, report.updates
    );
    Ok(())
}

fn operations(module: &Module) -> usize {
    let body = module.entry().and_then(|func| module.funcs[func].body);
    body.map_or(0, |body| module.walk(body).len())
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let start = Instant::now();
    let result = work();
    (result, start.elapsed().as_secs_f64())
}

/// The resident bytes of this process, now (`VmRSS:`) or at most (`VmHWM:`), as Linux counts them; 0 elsewhere.
fn resident(what: &str) -> i64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(what)).unwrap_or_default();
    1024 * line.trim().trim_end_matches("kB").trim().parse::<i64>().unwrap_or_default()
}
