//! The programs of the development set and of the held-out set, which scripts print, and the effect of each rule on their estimates.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, anyhow};
use serde_json::Value;
use shardc_filetest::memory::{bytes, command, estimated, need};
use shardc_ir::Module;
use shardc_passes::cost::memory::{Machine, Model, RULES, RuleSet, estimate};

use super::asked;
use crate::bench::BenchArgs;
use xtask::{process, python, workspace::Workspace};

/// The sets of `tests/memory.json`, in the order of the tables.
const SETS: [&str; 2] = ["development", "held_out"];

/// The range of the ratio of expected to reported bytes that counts as correct.
const BAND: std::ops::RangeInclusive<f64> = 0.95..=1.12;

/// Returns the tables of both sets, and measures the compiler's figures if asked.
pub(super) fn tables(
    workspace: &Workspace,
    args: &BenchArgs,
    shardc: &Path,
    figures: &mut Value,
) -> Result<String> {
    let mut text = String::new();
    for set in SETS {
        let _ = write!(
            text,
            "\n\n| {} | slice | TPU compiler | estimate | ratio | interval |\n|---|---|---:|---:|---:|---|\n",
            set.replace('_', "-")
        );
        let files = files(workspace, args, &figures[set])?;
        let mut ratios = Vec::new();
        let programs = figures[set].as_array_mut().with_context(|| format!("no set `{set}`"))?;
        for program in programs {
            let name = program["name"].as_str().unwrap_or_default().to_owned();
            let slice = program["slice"].as_str().context("a program has no `slice`")?.to_owned();
            if !args.wants(&name, || true) || program["compiler"].is_null() && !args.tpu {
                continue;
            }
            let file = files.get(&name).with_context(|| format!("no script prints `{name}`"))?;
            if args.tpu {
                program["compiler"] = asked(&mut command(shardc, "compile", file, program), &slice)?;
            }
            let ours = estimated(&mut command(shardc, "partition", file, program))?;
            let need = need(&program["compiler"])?;
            let ratio = bytes(&ours, "peak")? / need;
            let is_inside = (bytes(&ours, "low")?..=bytes(&ours, "high")?).contains(&need);
            ratios.push((ratio, is_inside));
            let short = super::short;
            let place = if is_inside { "contains it" } else { "does not contain it" };
            let peak = short(bytes(&ours, "peak")?);
            let line = format!("| `{name}` | {slice} | {} | {peak} | {ratio:.3} | {place} |\n", short(need));
            print!("{line}");
            text.push_str(&line);
        }
        let _ = write!(text, "\n{}", summary(&ratios));
    }
    Ok(text)
}

/// How many ratios are in the band, how many are too low, and how many intervals contain the compiler's figure.
fn summary(ratios: &[(f64, bool)]) -> String {
    let count = |is: &dyn Fn(&(f64, bool)) -> bool| ratios.iter().filter(|it| is(it)).count();
    format!(
        "{} of {} ratios are 0.95 to 1.12, {} are below 0.92; {} intervals contain the compiler's figure.",
        count(&|it| BAND.contains(&it.0)),
        ratios.len(),
        count(&|it| it.0 < 0.92),
        count(&|it| it.1),
    )
}

/// Runs the scripts that print the programs of a set, and returns the file of each program.
fn files(workspace: &Workspace, args: &BenchArgs, set: &Value) -> Result<BTreeMap<String, PathBuf>> {
    let folder = workspace.scratch("memory")?;
    let mut scripts: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for program in set.as_array().into_iter().flatten() {
        let name = program["name"].as_str().context("a program has no `name`")?;
        let names =
            scripts.entry(program["script"].as_str().context("a program has no `script`")?).or_default();
        if args.wants(name, || true) && !names.contains(&name) {
            names.push(name);
        }
    }
    let mut files = BTreeMap::new();
    for (script, names) in scripts.into_iter().filter(|(_, names)| !names.is_empty()) {
        let python = python::with_jax(args.python.as_deref())?;
        let mut command = Command::new(python);
        command.arg(workspace.root.join("tests/tests/data").join(script)).args(names);
        let printed = process::output(command.env("JAX_PLATFORMS", "cpu"))?;
        let programs: Value =
            serde_json::from_str(&printed).with_context(|| format!("parsing the output of {script}"))?;
        for (name, program) in programs.as_object().into_iter().flatten() {
            let file = folder.join(format!("{name}.mlir"));
            fs::write(&file, program["text"].as_str().unwrap_or_default())?;
            files.insert(name.clone(), file);
        }
    }
    Ok(files)
}

/// A partitioned program with the compiler's bytes.
struct Partitioned {
    module: Module,
    machine: Machine,
    need: f64,
}

impl Partitioned {
    fn ratio(&self, rules: RuleSet) -> Result<f64> {
        let func = self.module.entry().context("there is no entry function")?;
        Ok(estimate(&self.module, func, Model::new(self.machine, rules)).peak as f64 / self.need)
    }
}

/// Prints the error of the estimates without each rule, on the programs of the tables and on both sets.
pub(super) fn ablation(
    workspace: &Workspace,
    args: &BenchArgs,
    shardc: &Path,
    figures: &Value,
) -> Result<()> {
    let mut sets: Vec<(&str, Vec<Partitioned>)> = Vec::new();
    for set in ["programs"].into_iter().chain(SETS) {
        let files = if set == "programs" { BTreeMap::new() } else { files(workspace, args, &figures[set])? };
        let mut programs = Vec::new();
        for program in figures[set].as_array().into_iter().flatten() {
            let name = program["name"].as_str().unwrap_or_default();
            if !args.wants(name, || true) || program["compiler"].is_null() {
                continue;
            }
            let file = match files.get(name) {
                Some(file) => file.clone(),
                None => super::file_of(workspace, program)?,
            };
            let text =
                process::output(command(shardc, "partition", &file, program).args(["-o", "-", "--quiet"]))?;
            let module = shardc_stablehlo::parse(&text)
                .map_err(|_| anyhow!("the partition of `{name}` cannot be parsed"))?;
            let slice = program["slice"].as_str().unwrap_or_default();
            let kind = slice.split(':').next().unwrap_or_default();
            let device =
                shardc::target::find(kind).with_context(|| format!("there is no device {kind:?}"))?;
            programs.push(Partitioned {
                module,
                machine: Machine::from(device),
                need: need(&program["compiler"])?,
            });
        }
        sets.push((set, programs));
    }
    let error = |rules: RuleSet| -> Result<String> {
        let mut cells = String::new();
        for (set, programs) in &sets {
            let ratios: Vec<f64> = programs.iter().map(|it| it.ratio(rules)).collect::<Result<_>>()?;
            let squares: f64 = ratios.iter().map(|ratio| ratio.ln() * ratio.ln()).sum();
            let inside = ratios.iter().filter(|ratio| BAND.contains(ratio)).count();
            let deviation = 100.0 * (squares / ratios.len().max(1) as f64).sqrt();
            let _ = write!(cells, "  {set}: {inside} of {} in the band, {deviation:.1} %", ratios.len());
        }
        Ok(cells)
    };
    println!("{:26}{}", "all rules", error(RuleSet::default())?);
    for info in RULES {
        println!("{:26}{}", format!("without {}", info.id), error(RuleSet::default().without(info.rule))?);
    }
    Ok(())
}
