//! The command line of FileCheck.

use std::{
    ffi::OsString,
    fs,
    io::Read as _,
    path::{Path, PathBuf},
};

use super::{Options, bless, check};

/// The parsed arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Command {
    /// The file of checks.
    pub checks: PathBuf,
    /// The file to check; standard input if absent.
    pub input: Option<PathBuf>,
    /// The options of the check.
    pub options: Options,
}

impl Command {
    /// Parses the arguments after the program's name.
    ///
    /// # Errors
    /// An argument is unknown, or there are too few arguments.
    pub fn parse(arguments: impl IntoIterator<Item = String>) -> Result<Self, String> {
        let mut command = Command::default();
        let mut prefixes = Vec::new();
        let mut checks = None;
        let mut arguments = arguments.into_iter();
        while let Some(argument) = arguments.next() {
            let Some(option) = argument.strip_prefix('-').filter(|option| !option.is_empty()) else {
                if checks.replace(PathBuf::from(&argument)).is_some() {
                    return Err(format!("expected one check file, got a second one: `{argument}`"));
                }
                continue;
            };
            let option = option.strip_prefix('-').unwrap_or(option);
            let (name, value) = match option.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (option, None),
            };
            let mut value = || {
                value
                    .clone()
                    .or_else(|| arguments.next())
                    .ok_or_else(|| format!("the option `{argument}` needs a value"))
            };
            match name {
                "check-prefix" | "check-prefixes" => {
                    prefixes.extend(value()?.split(',').map(str::to_owned));
                }
                "implicit-check-not" => command.options.implicit_not.push(value()?),
                "input-file" => command.input = Some(PathBuf::from(value()?)),
                "allow-empty" => command.options.allow_empty = true,
                "strict-whitespace" => command.options.strict_whitespace = true,
                _ => return Err(format!("unknown option `{argument}`")),
            }
        }
        if !prefixes.is_empty() {
            command.options.prefixes = prefixes;
        }
        command.checks = checks.ok_or("FileCheck needs a check file")?;
        Ok(command)
    }

    /// Reads the input; a relative path starts at `folder`.
    fn read(&self, folder: &Path) -> Result<String, String> {
        let bytes = match &self.input {
            Some(file) if file.as_os_str() != "-" => {
                let file = folder.join(file);
                fs::read(&file).map_err(|error| format!("cannot read {}: {error}\n", file.display()))?
            }
            _ => {
                let mut bytes = Vec::new();
                let read = std::io::stdin().lock().read_to_end(&mut bytes);
                read.map_err(|error| format!("cannot read the standard input: {error}\n"))?;
                bytes
            }
        };
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// Runs FileCheck with the arguments of this process. If [`bless::LOG`] names a file, failing check lines are rewritten and the changes
/// are logged there.
///
/// # Errors
/// The message that the process prints to standard error before it fails.
pub fn run(arguments: impl Iterator<Item = OsString>) -> Result<(), String> {
    let words = arguments.map(|argument| argument.to_string_lossy().into_owned());
    let command = Command::parse(words).map_err(|error| format!("error: {error}\n"))?;
    let input = command.read(Path::new(""))?;
    let file = &command.checks;
    let text =
        fs::read_to_string(file).map_err(|error| format!("cannot read {}: {error}\n", file.display()))?;
    let checked = check(&text, &file.display().to_string(), &input, &command.options);
    match std::env::var_os(bless::LOG) {
        Some(log) if checked.is_err() => bless::file(file, &text, &input, &command.options, Path::new(&log)),
        _ => checked,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_those_of_llvm() {
        let of = |line: &str| Command::parse(line.split_whitespace().map(str::to_owned));
        let command =
            of("a.mlir --check-prefix=A -check-prefixes B,C --implicit-check-not x --input-file in");
        let command = command.expect("all are known");
        assert_eq!(command.options.prefixes, ["A", "B", "C"]);
        assert_eq!(command.options.implicit_not, ["x"]);
        assert_eq!((command.checks, command.input), ("a.mlir".into(), Some("in".into())));
        assert!(of("a.mlir").is_ok_and(|command| command.options == Options::default()));
        assert!(of("a.mlir --match-full-lines").is_err_and(|error| error.contains("match-full-lines")));
        assert!(of("").is_err() && of("a b").is_err() && of("a --check-prefix").is_err());
    }
}
