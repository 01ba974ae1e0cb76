//! `shardc explain`

use std::process::ExitCode;

use anyhow::Result;
use shardc::explain::Question;

use crate::args::ExplainArgs;
use crate::io::{self, Source};

pub(crate) fn run(args: &ExplainArgs) -> Result<ExitCode> {
    let compiler = io::compiler(&args.input.annotations, None)?;
    let source = Source::read(&args.input.input)?;
    let question = if let Some(name) = &args.value {
        Question::Value(name.clone())
    } else if let Some(i) = args.arg {
        Question::Argument(i)
    } else if let Some(i) = args.result {
        Question::Result(i)
    } else if let Some(line) = args.line {
        Question::Line(line)
    } else if let Some(number) = args.collective {
        Question::Collective(number)
    } else {
        Question::Summary
    };
    let report = compiler.explain(&source.bytes, &source.name, &question).map_err(|e| source.explain(&e))?;
    if let Some(path) = &args.html {
        io::write(path, report.to_html().as_bytes())?;
    }
    if let Some(path) = &args.json {
        io::write(path, format!("{}\n", report.to_json()).as_bytes())?;
    }
    if args.html.is_none() && args.json.is_none() {
        io::print(report.to_text(args.all))?;
    }
    Ok(ExitCode::SUCCESS)
}
