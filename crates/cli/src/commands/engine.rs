//! Chooses the engine that runs a program.

use anyhow::Result;
use serde_json::json;
use shardc::exec::Engine;
use shardc::ir::Mesh;
use shardc::runtime::{Client, RuntimeError};

use super::client::{check_devices, client, find};
use crate::args::{DeviceArgs, EngineKind};
use crate::failure::Failure;
use crate::ui::Ui;

/// An engine that is ready to run programs.
pub(super) enum Chosen {
    Pjrt(Client),
    Interpreter,
}

impl Chosen {
    pub(super) fn engine(&self) -> Engine<'_> {
        match self {
            Chosen::Pjrt(client) => Engine::Pjrt(client),
            Chosen::Interpreter => Engine::Interpreter,
        }
    }

    /// The name in JSON documents.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Chosen::Pjrt(_) => "pjrt",
            Chosen::Interpreter => "interpreter",
        }
    }
}

/// Whether the interpreter runs the program. If there is no plugin and none was named, this is so, and a note is printed.
///
/// # Errors
/// The interpreter is chosen together with a plugin.
pub(super) fn is_interpreter(args: &DeviceArgs, ui: &Ui) -> Result<bool> {
    let names_plugin = args.plugin.file.is_some() || args.target.is_some();
    match args.engine.kind {
        EngineKind::Pjrt => Ok(false),
        EngineKind::Interpreter => {
            refuse_plugin(args, "--engine interpreter")?;
            Ok(true)
        }
        EngineKind::Auto if names_plugin => Ok(false),
        EngineKind::Auto => match find(args) {
            Err(RuntimeError::PluginNotFound { .. }) => {
                ui.note(
                    "no PJRT plugin is installed, so the interpreter runs the program; `shardc plugin install cpu` installs one, which is faster",
                    &[("engine", json!("interpreter"))],
                );
                Ok(true)
            }
            _ => Ok(false),
        },
    }
}

/// Rejects a plugin for an option that runs programs in the interpreter.
pub(super) fn refuse_plugin(args: &DeviceArgs, option: &str) -> Result<()> {
    let other = match args {
        DeviceArgs { plugin, .. } if plugin.file.is_some() => "--plugin",
        DeviceArgs { target: Some(_), .. } => "--target",
        _ => return Ok(()),
    };
    let message = format!("{option} runs programs without a plugin");
    Err(Failure::Usage { message, hint: Some(format!("leave out {other}, or {option}")) }.into())
}

/// Returns the engine, with one device for each device of the mesh.
pub(super) fn chosen(args: &DeviceArgs, mesh: &Mesh, ui: &Ui) -> Result<Chosen> {
    check_devices(args, mesh)?;
    match is_interpreter(args, ui)? {
        true => Ok(Chosen::Interpreter),
        false => Ok(Chosen::Pjrt(client(args, mesh, None)?)),
    }
}
