//! `shardc help`

use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;
use serde_json::json;
use shardc_ir::codes::{self, Code};

use crate::args::Cli;
use crate::failure::Failure;
use crate::ui::Ui;

/// Prints the explanation of a code, or the help of a command.
pub(crate) fn run(topic: &[String], ui: &Ui) -> Result<ExitCode> {
    if let [name] = topic
        && codes::is_code(name)
    {
        let code = codes::find(name).ok_or_else(|| unknown(name))?;
        ui.result(|| text(&code), || json(&code))?;
        return Ok(ExitCode::SUCCESS);
    }
    let line = ["shardc"].into_iter().chain(topic.iter().map(String::as_str)).chain(["--help"]);
    match Cli::try_parse_from(line) {
        Err(help) => Ok(ExitCode::from(ui.command_line(&help))),
        Ok(_) => Ok(ExitCode::FAILURE),
    }
}

fn unknown(name: &str) -> Failure {
    let hint = codes::nearest(name).map(|code| format!("the nearest code is {}: {}", code.code, code.title));
    Failure::Usage { message: format!("there is no diagnostic code {name}"), hint }
}

fn text(code: &Code) -> String {
    format!("{}: {}\n({})\n\n{}", code.code, code.title, code.kind, code.text)
}

fn json(code: &Code) -> serde_json::Value {
    json!({ "version": 1, "code": code.code, "title": code.title, "kind": code.kind, "text": code.text })
}
