//! Reads snapshots, as text and as JSON.

use shardc_ir::{Diagnostic, Span};

use super::text::MAGIC;
use super::{CollectiveRow, MemoryRow, Snapshot, TensorRow, TimeRow, VERSION, WarningRow};
use crate::Error;

/// The contents of the rows of each section, for messages.
const SECTIONS: [(&str, &str); 8] = [
    ("mesh", "axes with sizes, such as data=4,model=2"),
    ("target", "the value of --target"),
    ("arguments", "x1  64x16xf32  data,-  name"),
    ("results", "x1  64x16xf32  data,-  name"),
    ("collectives", "all_gather  data  x1  1  4096"),
    ("memory", "peak  4096"),
    ("time", "execution  1500000"),
    ("warnings", "SH0310  x1  4096"),
];

impl Snapshot {
    /// Whether a file is a snapshot, as text or as JSON, and not a program.
    #[must_use]
    pub fn is_snapshot(bytes: &[u8]) -> bool {
        let start = bytes.trim_ascii_start();
        start.starts_with(MAGIC.as_bytes()) || start.first() == Some(&b'{') && !start.starts_with(b"{-#")
    }

    /// Reads a snapshot from its text or JSON form.
    ///
    /// # Errors
    /// The text is not a snapshot (SH1501), it has another version (SH1502), or a line is malformed (SH1503).
    pub fn parse(text: &str) -> Result<Snapshot, Error> {
        let snapshot = if text.trim_start().starts_with('{') { json(text)? } else { rows(text)? };
        match snapshot.version {
            VERSION => Ok(snapshot),
            other => Err(Diagnostic::invalid("SH1502", format!("the snapshot has version {other}"))
                .hint(format!(
                    "this shardc reads version {VERSION}: write the snapshot again with `shardc snapshot`"
                ))
                .into()),
        }
    }
}

fn json(text: &str) -> Result<Snapshot, Error> {
    serde_json::from_str(text).map_err(|error| {
        Diagnostic::invalid("SH1501", format!("the file is not a snapshot in JSON: {error}"))
            .hint("write one with `shardc snapshot IN --format json`")
            .into()
    })
}

fn rows(text: &str) -> Result<Snapshot, Error> {
    let mut lines = Lines { rest: text, start: 0, end: 0, number: 0 };
    let version = lines.next().and_then(|line| line.strip_prefix(MAGIC)?.trim().parse().ok());
    let Some(version) = version else {
        return Err(Diagnostic::invalid(
            "SH1501",
            format!("the file is not a snapshot: expected `{MAGIC} {VERSION}` on line 1"),
        )
        .at(Span::new(lines.start, lines.end))
        .hint("write one with `shardc snapshot IN -o FILE`")
        .into());
    };
    let mut snapshot = Snapshot { version, ..Snapshot::default() };
    if version != VERSION {
        return Ok(snapshot);
    }
    let mut section: Option<(&str, &str)> = None;
    while let Some(line) = lines.next() {
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        if !line.starts_with(' ') {
            let name = line.trim_end().strip_suffix(':').unwrap_or(line);
            section = SECTIONS.into_iter().find(|(known, _)| *known == name);
            if section.is_none() {
                let names: Vec<String> = SECTIONS.iter().map(|(name, _)| format!("`{name}:`")).collect();
                return Err(lines.error(&format!("a section: {}", names.join(", "))));
            }
            continue;
        }
        let Some((name, form)) = section else { return Err(lines.error("`mesh:`")) };
        if row(&mut snapshot, name, line.trim()).is_none() {
            return Err(lines.error(&format!("a row of `{name}:`, such as `{form}`")));
        }
    }
    Ok(snapshot)
}

/// Adds a row of a section; `None` if it is malformed.
fn row(snapshot: &mut Snapshot, section: &str, line: &str) -> Option<()> {
    match section {
        "mesh" => line.clone_into(&mut snapshot.mesh),
        "target" => line.clone_into(&mut snapshot.target),
        "arguments" => snapshot.arguments.push(tensor(line)?),
        "results" => snapshot.results.push(tensor(line)?),
        "collectives" => {
            let (kind, rest) = word(line)?;
            let (axes, rest) = word(rest)?;
            let (count, rest) = word(rest)?;
            let (runs, rest) = word(rest)?;
            let axes = axes.split('+').filter(|&axis| axis != "-").map(str::to_owned).collect();
            let (count, runs) = (count.strip_prefix('x')?.parse().ok()?, runs.parse().ok()?);
            snapshot.collectives.push(CollectiveRow {
                kind: kind.to_owned(),
                axes,
                count,
                runs,
                bytes: number(rest)?,
            });
        }
        "memory" => {
            let (part, rest) = word(line)?;
            snapshot.memory.push(MemoryRow { part: part.to_owned(), bytes: number(rest)? });
        }
        "time" => {
            let (part, rest) = word(line)?;
            snapshot.time.push(TimeRow { part: part.to_owned(), nanoseconds: number(rest)? });
        }
        _ => {
            let (code, rest) = word(line)?;
            let (count, rest) = word(rest)?;
            let count = count.strip_prefix('x')?.parse().ok()?;
            snapshot.warnings.push(WarningRow { code: code.to_owned(), count, bytes: number(rest)? });
        }
    }
    Some(())
}

fn tensor(line: &str) -> Option<TensorRow> {
    let (count, rest) = word(line)?;
    let (ty, rest) = word(rest)?;
    let (sharding, name) = word(rest)?;
    let count = count.strip_prefix('x')?.parse().ok()?;
    let is_valid = !name.is_empty() && crate::folding::unfold(name, count).is_some();
    let row = TensorRow { name: name.to_owned(), count, ty: ty.to_owned(), sharding: sharding.to_owned() };
    is_valid.then_some(row)
}

/// Splits off the first word.
fn word(text: &str) -> Option<(&str, &str)> {
    let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
    (!word.is_empty()).then(|| (word, rest.trim_start()))
}

/// A number, with or without its readable form in parentheses.
fn number(text: &str) -> Option<u64> {
    let (number, readable) = text.split_once(' ').unwrap_or((text, ""));
    let is_readable = readable.is_empty() || readable.starts_with('(') && readable.ends_with(')');
    number.parse().ok().filter(|_| is_readable)
}

/// The lines of a text, with the position of the last line that was read.
struct Lines<'a> {
    rest: &'a str,
    start: usize,
    end: usize,
    /// The number of the last line, from 1.
    number: usize,
}

impl<'a> Lines<'a> {
    fn next(&mut self) -> Option<&'a str> {
        if self.rest.is_empty() {
            return None;
        }
        self.start = if self.number == 0 { 0 } else { self.end + 1 };
        let (line, rest) = self.rest.split_once('\n').unwrap_or((self.rest, ""));
        (self.rest, self.end, self.number) = (rest, self.start + line.len(), self.number + 1);
        Some(line.strip_suffix('\r').unwrap_or(line))
    }

    fn error(&self, expected: &str) -> Error {
        Diagnostic::invalid("SH1503", format!("line {} of the snapshot: expected {expected}", self.number))
            .at(Span::new(self.start, self.end))
            .hint("snapshots are not edited by hand: write it again with `shardc snapshot`")
            .into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> String {
        let error = Snapshot::parse(text).unwrap_err();
        let first = error.diagnostics()[0].clone();
        format!("{} {}", first.code, first.message)
    }

    #[test]
    fn malformed_snapshots_are_rejected() {
        assert!(code("func.func @main()").starts_with("SH1501"));
        assert!(code("{\"version\": 1}").starts_with("SH1501"));
        assert!(code("shardc snapshot 9\nnew:\n").starts_with("SH1502"));
        assert_eq!(
            code("shardc snapshot 1\n\nmesh:\n  data=2\nmemory:\n  peak many\n"),
            "SH1503 line 6 of the snapshot: expected a row of `memory:`, such as `peak  4096`"
        );
        assert!(code("shardc snapshot 1\nmeshes:\n").contains("line 2 of the snapshot: expected a section"));
        assert!(code("shardc snapshot 1\n  data=2\n").contains("expected `mesh:`"));
        assert!(code("shardc snapshot 1\narguments:\n  x3  f32  ()  a[0..1]\n").contains("line 3"));
    }

    #[test]
    fn text_and_json_are_read() {
        let snapshot = Snapshot {
            version: VERSION,
            mesh: "data=4,model=2".to_owned(),
            target: "v5e:2x4".to_owned(),
            arguments: vec![TensorRow {
                name: "layers[0..79]['w q']".to_owned(),
                count: 80,
                ty: "64x16xf32".to_owned(),
                sharding: "-,data+model".to_owned(),
            }],
            collectives: vec![CollectiveRow {
                kind: "all_gather".to_owned(),
                axes: Vec::new(),
                count: 2,
                runs: 160,
                bytes: 1 << 20,
            }],
            memory: vec![MemoryRow { part: "peak".to_owned(), bytes: 7 }],
            time: vec![TimeRow { part: "execution".to_owned(), nanoseconds: 1_500_000 }],
            warnings: vec![WarningRow { code: "SH0310".to_owned(), count: 2, bytes: 4096 }],
            ..Snapshot::default()
        };
        assert_eq!(Snapshot::parse(&snapshot.to_text()).unwrap(), snapshot);
        assert_eq!(Snapshot::parse(&snapshot.to_json()).unwrap(), snapshot);
        assert!(Snapshot::is_snapshot(snapshot.to_json().as_bytes()));
        assert!(!Snapshot::is_snapshot(b"module {}"));
    }
}
