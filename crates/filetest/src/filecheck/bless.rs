//! Rewrites failing check lines from the output of the program.
//!
//! Passing directives are unchanged. Failing directives are changed one by one, each as little as possible:
//!
//! | directive | becomes |
//! |---|---|
//! | `CHECK-NEXT:`, `CHECK-EMPTY:` | the next line; or the directive is removed, or preceded by up to [`INSERTED`] new lines, if that fixes it and its successor |
//! | `CHECK-SAME:` | the rest of the line |
//! | `CHECK:`, `CHECK-DAG:` | the most similar line between the previous and the next match, which must have more than half of the words |
//! | `CHECK-COUNT-3:` | the actual count, unless it is zero |
//! | `CHECK-NOT:`, `--implicit-check-not`, `CHECK-LABEL:` | unchanged: these state what is tested |
//!
//! The new text covers as much of the line as the old text did. Expressions and variables that match the new text are kept. A value name
//! that is the value of a variable in the block becomes that variable. If the new text no longer sets a variable that a later directive
//! uses, or if no rule applies, the line is unchanged and the reason is reported.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, OpenOptions},
    io::Write as _,
    ops::Range,
    path::Path,
};

use super::{
    Options,
    align::{Names, adapted, escaped},
    canonical,
    check::{Checker, Failure, Reason},
    directive::{self, Directive, Kind},
    line_of,
    pattern::{Pattern, Piece},
    read,
};

/// The environment variable with the path of the log of rewrites. FileCheck rewrites check lines only if the variable is set.
pub const LOG: &str = "SHARDC_BLESS_LOG";

/// Maximum number of lines inserted before a line that appears later than expected.
pub const INSERTED: usize = 4;

/// The result of rewriting a file of checks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Blessed {
    /// The rewritten text.
    pub text: String,
    /// The changes in order, in readable form.
    pub changed: Vec<String>,
    /// The directives that could not be rewritten, and the reasons.
    pub refused: Vec<String>,
}

/// The edit for a failing directive.
enum Edit {
    /// The new kind and text.
    Replace(Kind, String),
    /// Lines inserted before the directive.
    Insert(Vec<String>),
    Remove,
    Refuse(String),
}

/// Rewrites a file of checks so that `input` passes, as far as possible.
#[must_use]
pub fn bless(checks: &str, name: &str, input: &str, options: &Options) -> Blessed {
    let mut all = Blessed { text: checks.to_owned(), ..Blessed::default() };
    let input = canonical(input, options);
    let mut refused: BTreeSet<usize> = BTreeSet::new();
    // The number of rounds is bounded. Each round changes or refuses one directive, and few directives are changed more than once.
    for _ in 0..64 + 4 * checks.lines().count() {
        let directives = match read(&all.text, name, &input, options) {
            Ok(directives) => directives,
            Err(message) => {
                all.refused.push(message);
                return all;
            }
        };
        let failures = Checker::new(&input, &directives).check();
        let next = failures.iter().find_map(|failure| {
            let directive = directives.get(failure.directive)?;
            let key = if directive.implicit { usize::MAX } else { directive.line };
            (!refused.contains(&key)).then_some((key, failure, directive))
        });
        let Some((key, failure, directive)) = next else { return all };
        let edit = Blessing { input: &input, directives: &directives, failure, directive, options }.edit();
        let (title, at) = (directive.title(), directive.line);
        let location = format!("{name}:{}: {title}", at + 1);
        match edit {
            Edit::Refuse(reason) => {
                refused.insert(key);
                all.refused.push(format!("{location} is unchanged: {reason}\n"));
            }
            edit => {
                let change = apply(&mut all.text, at, &edit, options);
                all.changed.push(format!("{location} {change}\n"));
                refused = refused.into_iter().map(|line| moved(line, at, &edit)).collect();
            }
        }
    }
    all.refused.push(format!("{name}: cannot rewrite the check lines because the edits do not converge\n"));
    all
}

/// Rewrites the file `path` with the text `checks`, and appends the changes to `log`.
///
/// # Errors
/// A directive could not be rewritten, or a file could not be written.
pub(super) fn file(
    path: &Path,
    checks: &str,
    input: &str,
    options: &Options,
    log: &Path,
) -> Result<(), String> {
    let blessed = bless(checks, &path.display().to_string(), input, options);
    if !blessed.changed.is_empty() {
        let written = fs::write(path, &blessed.text).and_then(|()| {
            let mut log = OpenOptions::new().create(true).append(true).open(log)?;
            blessed.changed.iter().try_for_each(|line| log.write_all(line.as_bytes()))
        });
        written.map_err(|error| format!("writing {}: {error}\n", path.display()))?;
    }
    if blessed.refused.is_empty() { Ok(()) } else { Err(blessed.refused.concat()) }
}

/// The new number of a line after an edit at line `at`.
fn moved(line: usize, at: usize, edit: &Edit) -> usize {
    match edit {
        Edit::Insert(lines) if line >= at && line != usize::MAX => line + lines.len(),
        Edit::Remove if line > at && line != usize::MAX => line - 1,
        _ => line,
    }
}

/// Applies an edit at line `at`; returns its description.
fn apply(text: &mut String, at: usize, edit: &Edit, options: &Options) -> String {
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    let Some(line) = lines.get(at).cloned() else { return String::new() };
    let Some(found) = directive::find(line.trim_end_matches('\n'), &options.prefixes) else {
        return String::new();
    };
    let before = line.get(..found.name.start).unwrap_or_default();
    let blanks = line.get(found.name.end + 1..found.text.start).filter(|blanks| !blanks.is_empty());
    let blanks = blanks.unwrap_or(" ");
    let written = |kind: Kind, text: &str| {
        let suffix = match kind {
            Kind::Next => "-NEXT".to_owned(),
            Kind::Same => "-SAME".to_owned(),
            Kind::Dag => "-DAG".to_owned(),
            Kind::Empty => "-EMPTY".to_owned(),
            Kind::Count(count) => format!("-COUNT-{count}"),
            Kind::Label => "-LABEL".to_owned(),
            Kind::Not => "-NOT".to_owned(),
            Kind::Check | Kind::End => String::new(),
        };
        let literal = if found.literal && kind != Kind::Empty { "{LITERAL}" } else { "" };
        let line = format!("{before}{}{suffix}{literal}:{blanks}{text}", found.prefix);
        line.trim_end().to_owned() + "\n"
    };
    let change = match edit {
        Edit::Replace(kind, text) => {
            lines[at] = written(*kind, text);
            let line = lines[at].get(before.len()..).unwrap_or_default();
            format!("is now\n    {}", line.trim_end())
        }
        Edit::Insert(new) => {
            let new: Vec<String> = new
                .iter()
                .map(|text| written(if text.is_empty() { Kind::Empty } else { Kind::Next }, text))
                .collect();
            let count = new.len();
            lines.splice(at..at, new);
            format!("moves down: {count} new lines are inserted before it")
        }
        Edit::Remove => {
            lines.remove(at);
            "is removed: its line no longer exists".to_owned()
        }
        Edit::Refuse(_) => String::new(),
    };
    *text = lines.concat();
    change
}

/// A failure, and the state needed to choose an edit.
struct Blessing<'a> {
    input: &'a str,
    directives: &'a [Directive],
    failure: &'a Failure,
    directive: &'a Directive,
    options: &'a Options,
}

impl Blessing<'_> {
    fn edit(&self) -> Edit {
        if self.directive.implicit {
            return Edit::Refuse("the output contains the excluded text".to_owned());
        }
        match self.directive.kind {
            Kind::Not => Edit::Refuse("the output contains the excluded text".to_owned()),
            Kind::Label | Kind::End => Edit::Refuse("labels are not rewritten".to_owned()),
            Kind::Count(_) => match self.failure.reason {
                Reason::TooFew { found } => {
                    Edit::Replace(Kind::Count(found), self.directive.pattern.source.clone())
                }
                _ => Edit::Refuse("the output does not contain the counted text".to_owned()),
            },
            Kind::Next | Kind::Empty => self.next(),
            Kind::Same => self.same(),
            Kind::Check | Kind::Dag => self.similar(),
        }
    }

    fn next(&self) -> Edit {
        let lines = self.lines();
        let Some(target) = lines.get(1) else {
            return Edit::Refuse("the block ends before the next line".to_owned());
        };
        if let Reason::Elsewhere { at } = &self.failure.reason {
            let between = line_of(self.input, at.start) - line_of(self.input, self.failure.region.start);
            if (2..=INSERTED + 1).contains(&between) {
                let new = lines.iter().take(between).skip(1);
                return Edit::Insert(new.map(|line| self.written(self.text(line))).collect());
            }
        }
        let text = self.text(target);
        let follows = self.directives.get(self.failure.directive + 1).is_some_and(|after| {
            let same_chain =
                matches!(after.kind, Kind::Next | Kind::Check) && !after.pattern.source.is_empty();
            same_chain && matches!(after.pattern.find(text, &self.failure.values), Ok(Some(_)))
        });
        if follows && self.lost(&[]).is_empty() {
            return Edit::Remove;
        }
        if text.trim().is_empty() {
            return match self.lost(&[]).first() {
                None => Edit::Replace(Kind::Empty, String::new()),
                Some(name) => Edit::Refuse(format!("the new line is empty, but later directives use {name}")),
            };
        }
        self.replaced(Kind::Next, text)
    }

    fn same(&self) -> Edit {
        let line = self.lines().into_iter().next().map(|line| self.text(&line)).unwrap_or_default();
        let after = self.directives.get(self.failure.directive + 1).filter(|after| after.kind == Kind::Same);
        let end = after.and_then(|after| after.pattern.find(line, &self.failure.values).ok().flatten());
        let line = end.and_then(|end| line.get(..end.at.start)).unwrap_or(line);
        if line.trim().is_empty() {
            return Edit::Refuse("the rest of the line is empty".to_owned());
        }
        self.replaced(Kind::Same, line)
    }

    fn similar(&self) -> Edit {
        let is_group = self.directive.kind == Kind::Dag;
        let after = self.directives.get(self.failure.directive + 1..).unwrap_or_default();
        let stop = after.iter().find(|directive| !matches!(directive.kind, Kind::Not | Kind::Dag));
        let region = self.input.get(self.failure.region.clone()).unwrap_or_default();
        let until = stop
            .and_then(|stop| stop.pattern.find(region, &self.failure.values).ok().flatten())
            .map_or(self.failure.region.end, |found| self.failure.region.start + found.at.start);
        let wanted = words_of(&self.directive.pattern, self.failure);
        let mut best: Option<((usize, usize), Range<usize>)> = None;
        for line in self.lines().into_iter().filter(|line| line.start < until) {
            if is_group && self.failure.taken.iter().any(|old| old.start < line.end && line.start < old.end) {
                continue;
            }
            let words = words(self.text(&line));
            let common = common(&wanted, &words);
            let total: usize = wanted.values().sum();
            let surplus: usize = words.values().sum::<usize>() - common;
            let score = (common, usize::MAX - surplus);
            if 2 * common > total && best.as_ref().is_none_or(|(old, _)| score > *old) {
                best = Some((score, line));
            }
        }
        match best {
            Some((_, line)) => self.replaced(self.directive.kind, self.text(&line)),
            None => Edit::Refuse(format!(
                "the output has no similar line from line {} on",
                line_of(self.input, self.failure.region.start) + 1
            )),
        }
    }

    fn replaced(&self, kind: Kind, line: &str) -> Edit {
        let text = if self.is_literal() {
            line.trim().to_owned()
        } else {
            adapted(&self.directive.pattern, line.trim(), &self.names(), self.options)
        };
        if text == self.directive.pattern.source && kind == self.directive.kind {
            return Edit::Refuse("the matching line gives the same text".to_owned());
        }
        let kept: Vec<Piece> = Pattern::read(&text, self.is_literal(), 0, self.options)
            .map(|pattern| pattern.pieces)
            .unwrap_or_default();
        match self.lost(&kept).first() {
            None => Edit::Replace(kind, text),
            Some(name) => Edit::Refuse(format!(
                "later directives use {name}, but the new line does not contain it:\n    {line}"
            )),
        }
    }

    /// The variables that the directive sets and a later directive uses, but that `kept` does not set.
    fn lost(&self, kept: &[Piece]) -> Vec<&str> {
        let sets = |piece: &Piece, wanted: &str| matches!(piece, Piece::Set(name, _) if name == wanted);
        let mut lost = Vec::new();
        for piece in &self.directive.pattern.pieces {
            let Piece::Set(name, _) = piece else { continue };
            let after = self.directives.get(self.failure.directive + 1..).unwrap_or_default();
            // The search ends at the directive that sets the variable again.
            let again = |d: &&Directive| !d.pattern.pieces.iter().any(|piece| sets(piece, name));
            let used = after.iter().take_while(again).any(|d| d.pattern.names().any(|used| used == name));
            if used && !kept.iter().any(|piece| sets(piece, name)) {
                lost.push(&**name);
            }
        }
        lost
    }

    /// Converts a line of the output to a pattern.
    fn written(&self, line: &str) -> String {
        if self.is_literal() { line.trim().to_owned() } else { self.names().used_in(&escaped(line.trim())) }
    }

    fn is_literal(&self) -> bool {
        self.directive.is_literal
    }

    fn names(&self) -> Names<'_> {
        Names::new(self.directives, self.failure)
    }

    fn text(&self, line: &Range<usize>) -> &str {
        self.input.get(line.clone()).unwrap_or_default()
    }

    /// The lines of the region in which the directive was searched, as byte ranges: the rest of the first line, and all lines that end in
    /// the region.
    fn lines(&self) -> Vec<Range<usize>> {
        let Range { start, end } = self.failure.region;
        let mut lines = Vec::new();
        let mut at = start;
        for line in self.input.get(start..).unwrap_or_default().split_inclusive('\n') {
            let text = line.trim_end_matches('\n');
            if at > end || (at + text.len() > end && !lines.is_empty()) {
                break;
            }
            lines.push(at..at + text.len());
            at += line.len();
        }
        lines
    }
}

fn words(text: &str) -> BTreeMap<String, usize> {
    let mut words = BTreeMap::new();
    let ends = |c: char| !c.is_alphanumeric() && c != '_';
    for word in text.split(ends).filter(|word| !word.is_empty()) {
        *words.entry(word.to_owned()).or_default() += 1;
    }
    words
}

/// The words of a pattern, with variables replaced by their values.
fn words_of(pattern: &Pattern, failure: &Failure) -> BTreeMap<String, usize> {
    let mut text = String::new();
    for piece in &pattern.pieces {
        match piece {
            Piece::Text(plain) => text.push_str(plain),
            Piece::Get(name) => text.push_str(failure.values.get(name).map_or(" ", |value| value)),
            _ => text.push(' '),
        }
    }
    words(&text)
}

fn common(a: &BTreeMap<String, usize>, b: &BTreeMap<String, usize>) -> usize {
    a.iter().map(|(word, count)| *b.get(word).unwrap_or(&0).min(count)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rewritten text, and the number of refusals.
    fn of(checks: &str, input: &str) -> (String, usize) {
        let blessed = bless(checks, "f", input, &Options::default());
        if blessed.refused.is_empty() {
            let again = super::super::check(&blessed.text, "f", input, &Options::default());
            assert_eq!(again, Ok(()), "{}", blessed.text);
        }
        (blessed.text, blessed.refused.len())
    }

    #[test]
    fn passing_checks_are_unchanged() {
        let checks = "// CHECK: a\n//   CHECK-NEXT:   {{.}}\n";
        assert_eq!(of(checks, "a\nb\n"), (checks.to_owned(), 0));
    }

    #[test]
    fn only_failing_checks_are_replaced() {
        let checks = "// CHECK: func @a\n// CHECK-NEXT:   %0 = stablehlo.add %arg0, %arg0 : tensor<8xf32>\n// CHECK-NEXT: return {{.*}}\n";
        let input = "func @a\n  %0 = stablehlo.subtract %arg0, %arg0 : tensor<4xf32>\n  return %0\n";
        let after = "// CHECK: func @a\n// CHECK-NEXT:   %0 = stablehlo.subtract %arg0, %arg0 : tensor<4xf32>\n// CHECK-NEXT: return {{.*}}\n";
        assert_eq!(of(checks, input), (after.to_owned(), 0));
    }

    #[test]
    fn variables_and_expressions_are_kept() {
        let checks = "// CHECK: %[[A:.*]] = add\n// CHECK-NEXT: %[[B:.*]] = mul %[[A]], %[[A]] {{.*}}: f32\n// CHECK-NEXT: return %[[B]]\n";
        let input = "%5 = add\n%6 = div %5, %5 {x} : f64\nreturn %6\n";
        let after = "// CHECK: %[[A:.*]] = add\n// CHECK-NEXT: %[[B:.*]] = div %[[A]], %[[A]] {{.*}}: f64\n// CHECK-NEXT: return %[[B]]\n";
        assert_eq!(of(checks, input), (after.to_owned(), 0));
    }

    #[test]
    fn new_text_replaces_an_expression() {
        let checks = "// CHECK: a\n// CHECK-NEXT: %[[H:.*]] = dotx %0, {{.*}} -> f32\n// CHECK-NEXT: at [[@LINE+1]]: %[[H]]\n";
        let input = "a\n%7 = dot %0, dims = [1] x [0] : (f64, f64) -> f32\nat 13: %7\n";
        let after = "// CHECK: a\n// CHECK-NEXT: %[[H:.*]] = dot %0, {{.*}} -> f32\n// CHECK-NEXT: at [[#@LINE+10]]: %[[H]]\n";
        assert_eq!(of(checks, input), (after.to_owned(), 0));
    }

    #[test]
    fn check_lines_are_added_and_removed() {
        let checks = "// CHECK: a\n// CHECK-NEXT: b 1\n// CHECK-NEXT: c 1\n";
        let grown = "// CHECK: a\n// CHECK-NEXT: x\n// CHECK-NEXT: b 1\n// CHECK-NEXT: c 1\n";
        assert_eq!(of(checks, "a\nx\nb 1\nc 1\n"), (grown.to_owned(), 0));
        assert_eq!(of(grown, "a\nb 1\nc 1\n"), (checks.to_owned(), 0));
        let (text, _) = of(checks, "a\nb 1\n\nc 1\n");
        assert_eq!(text, "// CHECK: a\n// CHECK-NEXT: b 1\n// CHECK-EMPTY:\n// CHECK-NEXT: c 1\n");
    }

    #[test]
    fn a_line_is_searched_at_its_expected_position() {
        let checks =
            "// CHECK-LABEL: @a\n// CHECK: \"all_gather\"(%0) over x\n// CHECK: return\n// CHECK-LABEL: @b\n";
        let input = "@a\nzero\n%1 = \"all_gather\"(%0) over y, z\nreturn\n@b\n\"all_gather\"(%0) over w\n";
        let after = checks.replace("over x", "over y, z");
        assert_eq!(of(checks, input), (after, 0));
    }

    #[test]
    fn claims_are_never_blessed() {
        assert_eq!(of("// CHECK: a\n// CHECK-NOT: b\n", "a\nb\n").1, 1);
        assert_eq!(of("// CHECK-LABEL: @b\n", "@a\n").1, 1);
        assert_eq!(of("// CHECK: stablehlo.all_gather\n", "stablehlo.add\n").1, 1, "nothing is like it");
        let lost = "// CHECK: [[A:%.*]] = add\n// CHECK-NEXT: [[B:%.*]] = neg\n// CHECK: return [[B]]\n";
        let (text, refused) = of(lost, "%0 = add\nprint %0\nreturn %0\n");
        assert_eq!((&*text, refused), (lost, 1), "B would be lost");
    }

    #[test]
    fn brackets_are_escaped() {
        let input = "a\nb = dense<[[0, 1]]> {{x}}\n";
        let (text, refused) = of("// CHECK: a\n// CHECK-NEXT: b = dense<0> {x\n", input);
        assert_eq!(refused, 0, "{text}");
        assert!(text.ends_with("b = dense<{{\\[\\[}}0, 1]]> {{\\{\\{}}x\n"), "only as far as before: {text}");
        let (text, _) = of("// CHECK: a\n// CHECK-NEXT{LITERAL}: [[0]]\n", input);
        assert!(text.contains("CHECK-NEXT{LITERAL}: b = dense<[[0, 1]]> {{x}}"), "{text}");
    }

    #[test]
    fn counts_and_groups() {
        assert_eq!(of("// CHECK-COUNT-3: a\n", "a\na\n").0, "// CHECK-COUNT-2: a\n");
        let checks = "// CHECK-DAG: x = add one\n// CHECK-DAG: y = add one\n";
        let after = "// CHECK-DAG: x = add two\n// CHECK-DAG: y = add two\n";
        assert_eq!(of(checks, "y = add two\nx = add two\n").0, after);
    }

    #[test]
    fn the_rest_of_a_line_is_kept() {
        let checks = "// CHECK: func @a(\n// CHECK-SAME: %arg0: f32,\n// CHECK-SAME: %arg1: f32)\n";
        let after = "// CHECK: func @a(\n// CHECK-SAME: %arg0: f64,\n// CHECK-SAME: %arg1: f32)\n";
        assert_eq!(of(checks, "func @a(%arg0: f64, %arg1: f32)\n"), (after.to_owned(), 0));
    }
}
