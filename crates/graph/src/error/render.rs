//! Rendering of errors in rustc's style, with the line of the failed call, the lines that created the operands, and a hint.

use std::ops::Range;

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet, renderer::DecorStyle};

use super::{GraphError, GraphErrors};

/// The maximum line width of rendered errors, in columns.
const WIDTH: usize = 120;

impl GraphErrors {
    /// Renders the errors in rustc's style. `source` returns the text of the source file with this path; if it returns `None`, only the
    /// location is shown. `color` enables terminal escapes.
    #[must_use]
    pub fn render(&self, source: &mut dyn FnMut(&str) -> Option<String>, color: bool) -> String {
        let texts: Vec<String> = self.0.iter().map(|error| error.render(source, color)).collect();
        texts.join("\n")
    }
}

impl GraphError {
    /// Renders the error or warning in rustc's style: see [`GraphErrors::render`].
    #[must_use]
    pub fn render(&self, source: &mut dyn FnMut(&str) -> Option<String>, color: bool) -> String {
        let (message, hint) = (self.kind.to_string(), self.kind.hint());
        let level = if self.kind.is_warning() { Level::WARNING } else { Level::ERROR };
        let title = level.primary_title(message).id(self.kind.code());

        let at = Place { line: self.location.line(), column: self.location.column() };
        let mut files = vec![File { name: self.location.file().to_owned(), marks: vec![(at, None)] }];
        let mut unplaced = Vec::new();
        for operand in &self.operands {
            let text = operand.to_string();
            let Some((name, line, column)) = &operand.place else {
                unplaced.push(text);
                continue;
            };
            let mark = (Place { line: *line, column: *column }, Some(text));
            match files.iter_mut().find(|file| file.name == *name) {
                Some(file) if !file.marks.contains(&mark) => file.marks.push(mark),
                Some(_) => {}
                None => files.push(File { name: name.clone(), marks: vec![mark] }),
            }
        }
        let texts: Vec<Option<String>> = files.iter().map(|file| source(&file.name)).collect();
        let mut group = Group::with_title(title);
        for (file, text) in files.iter().zip(&texts) {
            match text.as_deref().and_then(|text| file.snippet(text)) {
                Some(snippet) => group = group.element(snippet),
                None => {
                    for (place, label) in &file.marks {
                        let (line, column) = (place.line as usize, place.column as usize);
                        group =
                            group.element(Origin::path(file.name.as_str()).line(line).char_column(column));
                        if let Some(label) = label {
                            group = group.element(Level::NOTE.message(label.as_str()));
                        }
                    }
                }
            }
        }
        for text in unplaced {
            group = group.element(Level::NOTE.message(text));
        }
        if let Some(hint) = hint {
            group = group.element(Level::HELP.message(hint));
        }
        let renderer = if color { Renderer::styled() } else { Renderer::plain() };
        let renderer = renderer.term_width(WIDTH).decor_style(DecorStyle::Ascii);
        let mut text = renderer.render(&[group]);
        text.push('\n');
        text
    }
}

/// Line and column, 1-based.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    line: u32,
    column: u32,
}

/// The annotated positions in one file. The primary position has no label; the title of the error describes it.
struct File {
    name: String,
    marks: Vec<(Place, Option<String>)>,
}

impl File {
    /// Returns the source lines with annotations; `None` if the text lacks one of the annotated positions.
    fn snippet<'a>(&'a self, text: &'a str) -> Option<Snippet<'a, annotate_snippets::Annotation<'a>>> {
        let mut snippet = Snippet::source(text).path(self.name.as_str());
        for (place, label) in &self.marks {
            let range = place.call(text)?;
            snippet = snippet.annotation(match label {
                None => AnnotationKind::Primary.span(range),
                Some(label) => AnnotationKind::Context.span(range).label(label.as_str()),
            });
        }
        Some(snippet)
    }
}

impl Place {
    /// Returns the byte range of the call that starts at this position: a name with its arguments, or an operator expression. The range
    /// ends on the first line of the call.
    fn call(self, text: &str) -> Option<Range<usize>> {
        let line = text.split_inclusive('\n').nth(self.line.checked_sub(1)? as usize)?;
        let start = line.as_ptr() as usize - text.as_ptr() as usize;
        let (offset, _) = line.char_indices().nth(self.column.checked_sub(1)? as usize)?;
        let from = line.get(offset..)?.trim_end();
        let name = from.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(from.len());
        let rest = &from[name..];
        // A call ends at its closing parenthesis; an operator expression ends where the enclosing expression continues.
        let is_call = name > 0 && (rest.starts_with('(') || rest.starts_with("::<"));
        let mut depth = 0i32;
        let mut end = from.len();
        for (i, c) in rest.char_indices() {
            match c {
                '(' | '[' | '{' => depth += 1,
                ')' | ']' | '}' => {
                    depth -= 1;
                    if depth < 0 || is_call && depth == 0 {
                        end = name + i + usize::from(depth == 0);
                        break;
                    }
                }
                ',' | ';' if depth == 0 => {
                    end = name + i;
                    break;
                }
                _ => {}
            }
        }
        Some(start + offset..start + offset + end.max(1).min(from.len()))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::Place;

    #[test]
    fn a_call_ends_where_its_arguments_do() {
        let text = "let y = x.dot(w(1, [2])).tanh() + b;\nf(a + b * (c), d)\n  long(a,\n b)";
        let marked = |line, column| {
            let place = Place { line, column };
            place.call(text).map(|range| &text[range])
        };
        assert_eq!(marked(1, 11), Some("dot(w(1, [2]))"));
        assert_eq!(marked(1, 9), Some("x.dot(w(1, [2])).tanh() + b"));
        assert_eq!(marked(2, 3), Some("a + b * (c)"));
        assert_eq!(marked(3, 3), Some("long(a,"));
        assert_eq!(marked(9, 1), None);
    }
}
