//! Reproducers of internal compiler errors: files that replay the failure.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use shardc::{Error, Module};
use shardc_ir::{Class, Span};
use shardc_stablehlo::PrintOptions;

use crate::observe::Watch;
use crate::source::Source;

/// The maximum number of reproducers of one pass in a folder.
const FILES: usize = 100;

/// If the error is an internal compiler error, writes a file to the current folder that replays it, and adds a note to the error. If the
/// file cannot be written, the note reports that. Other errors are returned unchanged.
pub(crate) fn write(error: Error, source: &Source, watch: &Watch<'_>) -> Error {
    let Error::Diagnostics(mut diagnostics) = error else { return error };
    if let Some(internal) = diagnostics.iter_mut().find(|d| d.class == Class::Internal) {
        let text = match shardc::is_bytecode(&source.bytes) {
            false => source.text().into_owned(),
            true => read_back(&source.bytes).unwrap_or_default(),
        };
        let arguments: Vec<String> = std::env::args().skip(1).collect();
        let (number, pass) = watch.last().unwrap_or_default();
        let about = About { failure: internal.to_string(), pass, number, pipeline: watch.pipeline() };
        let note = match put(Path::new("."), &about, &arguments, &source.name, &text) {
            Ok(path) => format!("a reproducer was written to {}; please report it", path.display()),
            Err(error) => format!("a reproducer could not be written: {error}"),
        };
        internal.notes.push((Span::NONE, note));
    }
    Error::Diagnostics(diagnostics)
}

fn read_back(bytes: &[u8]) -> Option<String> {
    let module: Module = shardc::Compiler::read(bytes).ok()?;
    let options = PrintOptions { locations: module.has_locations(), ..PrintOptions::default() };
    Some(shardc_stablehlo::print(&module, &options))
}

/// The failure, and the pass that caused it.
struct About {
    failure: String,
    /// The pass that ran last.
    pass: String,
    number: usize,
    /// The passes that ran.
    pipeline: String,
}

/// Writes a temporary file, then renames it to a name that does not exist yet.
fn put(
    folder: &Path,
    about: &About,
    arguments: &[String],
    input: &str,
    text: &str,
) -> std::io::Result<PathBuf> {
    let pass: String = about.pass.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
    let mut file = tempfile::Builder::new().prefix(".shardc-").tempfile_in(folder)?;
    for number in 1..=FILES {
        let name = format!("shardc-reproducer-{pass}-{number}.mlir");
        let words: Vec<String> = arguments
            .iter()
            .map(|word| {
                shell_word(if word == input || (word == "-" && input == "<stdin>") { &name } else { word })
            })
            .collect();
        let path = folder.join(&name);
        if path.exists() {
            continue;
        }
        let one_line = about.failure.replace('\n', " ");
        let head = format!(
            "// shardc {}: {one_line}\n// failed in pass {}: {}\n// pipeline: {}\n// replay: shardc {}\n",
            env!("CARGO_PKG_VERSION"),
            about.number,
            about.pass,
            about.pipeline,
            words.join(" "),
        );
        write_whole(file.as_file_mut(), &format!("{head}{text}"))?;
        match file.persist_noclobber(&path) {
            Ok(_) => return Ok(path),
            // Another process created a file of this name in the meantime.
            Err(taken) if taken.error.kind() == std::io::ErrorKind::AlreadyExists => file = taken.file,
            Err(other) => return Err(other.error),
        }
    }
    Err(std::io::ErrorKind::AlreadyExists.into())
}

fn write_whole(file: &mut File, text: &str) -> std::io::Result<()> {
    use std::io::{Seek, SeekFrom};
    file.set_len(0)?;
    file.seek(SeekFrom::Start(0))?;
    file.write_all(text.as_bytes())
}

/// Quotes a word for a shell.
fn shell_word(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_=./,:%+@".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reproducer_has_the_replay_command_and_overwrites_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let about = About {
            failure: "internal error\nSH0463".to_owned(),
            pass: "localize (strategy batch-first)".to_owned(),
            number: 11,
            pipeline: "inline,localize".to_owned(),
        };
        let arguments = ["partition", "in.mlir", "--spec", "a*=x,-"].map(str::to_owned);
        let put = || put(folder.path(), &about, &arguments, "in.mlir", "module {}\n").unwrap();
        let (first, second) = (put(), put());
        assert_ne!(first, second);
        let text = std::fs::read_to_string(&first).unwrap();
        assert!(text.contains("// failed in pass 11: localize (strategy batch-first)\n"), "{text}");
        let replay = "// replay: shardc partition shardc-reproducer-localize-1.mlir --spec 'a*=x,-'\n";
        assert!(text.contains(replay) && text.ends_with("module {}\n"), "{text}");
    }
}
