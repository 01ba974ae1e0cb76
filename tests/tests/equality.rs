//! Partitioned programs produce the results of their original programs, in both modes.
//!
//! Every program of `programs/` is a test, and so are real programs from the shared data, if available. Without the CPU plugin, the tests
//! are skipped with a message.

use std::{path::Path, process::ExitCode};

use libtest_mimic::{Arguments, Failed, Trial};
use shardc::{CleanOptions, Compiler, Output, SpmdMode, exec};
use shardc_runtime::plugin;
use shardc_stablehlo::{PrintOptions, print};
use shardc_tests::{
    devices::{Reference, Verdict, client, compare},
    files, root,
    sample::{is_thorough, sample},
    shared,
    skip::{Need, skipped},
};

/// Real programs that are too large for the repository, in `corpus/jax` of the shared data.
const SHARED: &[&str] = &[
    "hf_bert_tiny_fsdp_tp_train",
    "hf_llama_tiny_fsdp_tp_train",
    "hf_vit_tiny_tp_train",
    "llama_tiny_dp_train",
    "llama_tiny_fsdp_train",
    "llama_tiny_tp_train",
    "moe_shardmap_a2a_fwd",
    "shardmap_gpipe_train",
    "shardmap_megatron_sp_mlp_gspmd",
    "shardmap_megatron_sp_mlp_train",
    "shardmap_partial_auto",
    "shardmap_ring_attention_fwd",
    "two_meshes_same_devices",
];

/// Warnings about an operation or a reshard that is not partitioned. Test programs must not cause these warnings, unless their annotations
/// contradict each other.
const NOT_IN_PARTS: [&str; 2] = ["SH0310", "SH0318"];

/// Programs with warnings of [`NOT_IN_PARTS`], in addition to those in the folder [`RANDOM`].
const WARNED: &[&str] = &["manual_uneven_free_axis", "two_device_orders"];

/// The folder of shrunk random programs (see `random.rs`).
const RANDOM: &str = "programs/random";

fn main() -> ExitCode {
    // Environment variables must be set before any thread starts and any plugin is loaded.
    plugin::quiet_plugin_logs();
    let arguments = Arguments::from_args();
    let folder = root().join("programs");
    let mut programs = match files(&folder, "mlir") {
        Ok(paths) => paths,
        Err(error) => {
            eprintln!("{}: {error}", folder.display());
            return ExitCode::FAILURE;
        }
    };
    let mut missing = Vec::new();
    match shared() {
        Some(shared) => {
            programs.extend(
                SHARED.iter().map(|name| shared.join("corpus/jax").join(name).with_extension("mlir")),
            );
        }
        None => missing.push(Trial::test("shared", || {
            let reason = format!("{} programs of the shared data, which is not here", SHARED.len());
            Ok(skipped(Need::Shared, &reason)?)
        })),
    }
    let trials = programs
        .into_iter()
        .enumerate()
        .map(|(at, path)| {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            Trial::test(name, move || equal(&path, at))
        })
        .chain(missing)
        .collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// Every test run compiles a program in one mode, with and without repeated collectives, or without them if it has more than this number of
/// bytes; a thorough run compiles all programs in all modes. A quarter of the smaller programs is also compiled from text.
const SMALL: usize = 64 << 10;

/// Compares the text and the bytecode for a plugin, and returns the text.
fn text_matches_bytecode(output: &Output) -> Result<String, Failed> {
    let text = output.backend_text().map_err(|e| e.to_string())?;
    let bytecode = output.bytecode().map_err(|e| e.to_string())?;
    let again = |source: &[u8]| {
        let module = Compiler::read(source).map_err(|e| e.to_string())?;
        Ok::<_, String>(print(&module, &PrintOptions::default()))
    };
    if again(text.as_bytes())? != again(&bytecode)? {
        return Err("the text for the back end and the bytecode are two programs".into());
    }
    #[cfg(feature = "mlir")]
    if again(text.as_bytes())? != again(&output.mlir_bytecode().map_err(|e| e.to_string())?)? {
        return Err("the text for the back end and the bytecode of MLIR are two programs".into());
    }
    Ok(text)
}

fn equal(path: &Path, at: usize) -> Result<(), Failed> {
    let source = std::fs::read(path)?;
    let original = Compiler::read(&source).map_err(|e| e.to_string())?;
    let name = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let mut reference = None;
    let kept = CleanOptions::default();
    let repeated = CleanOptions { memory_bytes: Some(0), ..kept };
    let modes = [
        (SpmdMode::Replica, kept),
        (SpmdMode::Partition, kept),
        (SpmdMode::Replica, repeated),
        (SpmdMode::Partition, repeated),
    ];
    let (first, step) = if source.len() <= SMALL { (at % 2, 2) } else { (at % 2, modes.len()) };
    for (mode, clean) in sample(modes.into_iter(), first, step) {
        let output =
            Compiler::new().spmd_mode(mode).clean(clean).partition_module(original.clone()).map_err(|e| {
                e.render(&path.display().to_string(), &String::from_utf8_lossy(&source), false)
            })?;
        let may_warn = WARNED.contains(&name) || path.starts_with(root().join(RANDOM));
        if let Some(warning) = output.warnings.iter().find(|w| !may_warn && NOT_IN_PARTS.contains(&w.code)) {
            return Err(format!("{mode}: {}: {}", warning.code, warning.message).into());
        }
        if clean == repeated && output.cleaned.repeated == 0 {
            continue;
        }
        let text = text_matches_bytecode(&output)?;
        let Some(client) = client()? else { continue };
        if text.len() <= SMALL && (is_thorough() || at.is_multiple_of(4)) {
            let options = exec::compile_options(mode, output.num_devices());
            client.compile(text.as_bytes(), &options).map_err(|e| format!("{mode}, as text: {e}"))?;
        }
        let reference = match &mut reference {
            Some(known) => known,
            none => none.insert(Reference::new(&client, original.clone(), &output)?),
        };
        match compare(&client, reference, &output) {
            Verdict::Equal => {}
            Verdict::Wrong(text) | Verdict::Refused(text) => return Err(format!("{mode}: {text}").into()),
        }
    }
    Ok(())
}
