//! Corrupted partitions: a correct partitioned program is changed in one place, and the collective verifier checks it.
//!
//! The first line of an input names the change and the seed of its details; the annotated program follows. Some [kinds of changes](DAMAGES)
//! violate the invariants C1 to C5 and must always be detected. Other changes preserve the invariants and only make values incorrect; the
//! verifier may accept them.

mod damage;

use shardc::{CleanOptions, Compiler, Diagnostic};
use shardc_ir::{FuncId, Module, SpmdMode};
use shardc_passes::collectives::verify::verify_collectives;
use shardc_passes::driver::pass_options::PassOptions;
use shardc_passes::driver::passes::{PassContext, find};
use shardc_passes::sharding::interface::Interface;

use self::damage::DAMAGES;
use super::mutate::annotate;
use super::outcome::{Finding, Trace, listed};
use super::rng::Rng;
use super::sources::{Level, Sources};

/// The prefix of the first line of a fuzzer input, which names the change and its seed.
const LINE: &str = "// damage: ";

/// Whether a change must be detected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Promise {
    /// The change violates an invariant.
    Found,
    /// The change may preserve the invariants.
    Perhaps,
}

/// A kind of change.
struct Damage {
    name: &'static str,
    promise: Promise,
    /// Applies the change; `None` if it does not apply to the program.
    edit: fn(&mut Broken, &mut Rng) -> Option<()>,
}

/// The program to change.
struct Broken {
    module: Module,
    /// The inputs and outputs of the program; `None` before localization.
    interface: Option<Interface>,
    entry: FuncId,
    mode: SpmdMode,
    devices: i64,
}

pub(super) fn draw(sources: &Sources, rng: &mut Rng) -> Vec<u8> {
    let mut text = match rng.below(4) {
        0 => sources.text(rng, Level::Partitions).text().to_owned(),
        1 => sources.under("tests/programs/small/", rng).text().to_owned(),
        _ => rng.program(),
    };
    if let Some(annotated) = annotate(&text, rng) {
        text = annotated;
    }
    let damage = &DAMAGES[rng.below(DAMAGES.len())];
    format!("{LINE}{} {}\n{text}", rng.below(1_000_000), damage.name).into_bytes()
}

/// The passes after propagation up to the check of C1.
const UNTIL_PENDING: [&str; 7] =
    ["fold-pads", "unfuse-products", "fold-slices", "dce", "plan", "merge-reductions", "lower-reshards"];

pub(super) fn run(input: &[u8], trace: &mut Trace) -> Result<(), Finding> {
    let text = String::from_utf8_lossy(input);
    let first = text.lines().next().and_then(|line| line.strip_prefix(LINE)?.split_once(' '));
    let Some((number, name)) = first else {
        trace.refused = Some("no line of damage".to_owned());
        return Ok(());
    };
    let Some(damage) = DAMAGES.iter().find(|damage| damage.name == name) else {
        trace.refused = Some("no such damage".to_owned());
        return Ok(());
    };
    let seed = number.parse().unwrap_or(0);
    let mode = if seed % 2 == 0 { SpmdMode::Replica } else { SpmdMode::Partition };
    let right = if name.starts_with("C1") { planned(&text, mode) } else { partitioned(&text, mode) };
    let Ok(mut broken) = right else {
        trace.refused = Some("not partitioned".to_owned());
        return Ok(());
    };
    trace.pass("partitioned");
    if let Err(errors) = verified(&broken) {
        return Err(Finding::new("the right program is refused", listed(&errors)));
    }
    if (damage.edit)(&mut broken, &mut Rng::new(name, seed, 0)).is_none() {
        trace.refused = Some("the damage does not apply".to_owned());
        return Ok(());
    }
    trace.pass("damaged");
    match (verified(&broken), damage.promise) {
        (Err(errors), _) => {
            trace.pass(&format!("found: {name}"));
            trace.refused = errors.first().map(|e| format!("verifier {}", e.code));
            Ok(())
        }
        (Ok(()), Promise::Perhaps) => {
            trace.pass(&format!("let through: {name}"));
            Ok(())
        }
        (Ok(()), Promise::Found) => Err(Finding::new(
            format!("not found: {name}"),
            shardc_stablehlo::print(&broken.module, &Default::default()),
        )),
    }
}

fn partitioned(text: &str, mode: SpmdMode) -> Result<Broken, shardc::Error> {
    // Without combining, there are more collectives to choose from.
    let clean = CleanOptions { combine_bytes: 0, ..CleanOptions::default() };
    let output = Compiler::new().spmd_mode(mode).clean(clean).partition(text.as_bytes())?;
    let module = output.module;
    let entry = module.entry().ok_or_else(|| module.no_entry())?;
    let devices = output.interface.mesh.num_devices() as i64;
    Ok(Broken { module, interface: Some(output.interface), entry, mode, devices })
}

fn planned(text: &str, mode: SpmdMode) -> Result<Broken, shardc::Error> {
    let mut module = Compiler::new().propagate(Compiler::read(text.as_bytes())?)?.module;
    // The planned module is an internal stage: meshes of one named device, or without a name, are removed only later.
    if module.mesh_names.is_empty() || module.meshes.values().any(|mesh| mesh.is_maximal()) {
        return Err(Diagnostic::unsupported("SH0303", "no mesh along which a value can be unreduced").into());
    }
    for name in UNTIL_PENDING {
        if let Some(pass) = find(name) {
            pass.run(&mut module, &mut PassContext::new(mode, PassOptions::default()))?;
        }
    }
    let entry = module.entry().ok_or_else(|| module.no_entry())?;
    Ok(Broken { module, interface: None, entry, mode, devices: 0 })
}

/// The result of both verifiers.
fn verified(broken: &Broken) -> Result<(), Vec<Diagnostic>> {
    match shardc_ir::verify(&broken.module) {
        // The collective verifier also reports errors about devices, and requires only that the operations are otherwise well-formed.
        Err(errors) if errors.iter().any(|e| !ABOUT_DEVICES.contains(&e.code)) => Err(errors),
        Err(errors) => collectives(broken).and(Err(errors)),
        Ok(()) => collectives(broken),
    }
}

/// Codes of the verifier for errors in groups and types, which the collective verifier also checks.
const ABOUT_DEVICES: [&str; 3] = ["SH0207", "SH0214", "SH0215"];

fn collectives(broken: &Broken) -> Result<(), Vec<Diagnostic>> {
    match (&broken.interface, find("verify-collectives")) {
        (Some(interface), _) => verify_collectives(&broken.module, broken.entry, Some(interface)),
        (None, Some(pass)) => {
            let mut context = PassContext::new(broken.mode, PassOptions::default());
            pass.run(&mut broken.module.clone(), &mut context).map(|_| ())
        }
        (None, None) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damage_names_are_unique() {
        for (n, damage) in DAMAGES.iter().enumerate() {
            assert!(DAMAGES[n + 1..].iter().all(|other| other.name != damage.name), "{}", damage.name);
        }
    }
}
