//! Diagnostics as text for people: file, line and column, the line itself with a caret, what to do.

use std::ops::Range;

use annotate_snippets::{
    AnnotationKind, Group, Level, Message, Origin, Renderer, Snippet, renderer::DecorStyle,
};
use shardc_ir::{Class, Diagnostic, Severity, Span};

/// Width that lines are cut to: signatures of functions in real programs have thousands of characters.
const WIDTH: usize = 120;

/// Shows diagnostics one after the other, each with its place in `source`. `source_name` is what the place is
/// called, usually the path of a file. With `color`, terminal escapes are used.
#[must_use]
pub fn render(diagnostics: &[Diagnostic], source_name: &str, source: &str, color: bool) -> String {
    let renderer = if color { Renderer::styled() } else { Renderer::plain() };
    let renderer = renderer.term_width(WIDTH).decor_style(DecorStyle::Ascii);
    let mut out = String::new();
    for (i, diagnostic) in diagnostics.iter().enumerate() {
        if i > 0 {
            out.push_str("\n\n");
        }
        out.push_str(&renderer.render(&[group(diagnostic, source_name, source)]));
    }
    if !out.is_empty() {
        out.push('\n');
    }
    out
}

fn group<'a>(diagnostic: &'a Diagnostic, name: &'a str, source: &'a str) -> Group<'a> {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let title = level.primary_title(diagnostic.message.as_str()).id(diagnostic.code);
    let mut group = match range(diagnostic.span, source) {
        Some(main) => {
            let label = match diagnostic.class {
                Class::InvalidInput => "",
                Class::Unsupported => "not supported",
                Class::Internal => "",
            };
            let mut annotation = AnnotationKind::Primary.span(main);
            if !label.is_empty() {
                annotation = annotation.label(label);
            }
            let mut snippet = Snippet::source(source).path(name).annotation(annotation);
            for (span, note) in &diagnostic.notes {
                if let Some(place) = range(*span, source) {
                    snippet = snippet.annotation(AnnotationKind::Context.span(place).label(note.as_str()));
                }
            }
            title.element(snippet)
        }
        None => title.element(Origin::path(name)),
    };
    for (span, note) in &diagnostic.notes {
        if range(diagnostic.span, source).is_none() || range(*span, source).is_none() {
            group = group.element(message(Level::NOTE, note));
        }
    }
    if let Some(place) = &diagnostic.user_loc {
        group = group.element(Level::NOTE.message(format!("in your program: {place}")));
    }
    if let Some(hint) = &diagnostic.hint {
        group = group.element(message(Level::HELP, hint));
    }
    if diagnostic.class == Class::Internal {
        group =
            group.element(message(Level::NOTE, "this is a bug in shardc: please report it with the input"));
    }
    group
}

fn message<'a>(level: Level<'a>, text: &'a str) -> Message<'a> {
    level.message(text)
}

/// The span as a range of the text, on character boundaries; `None` if it is not in the text.
fn range(span: Span, source: &str) -> Option<Range<usize>> {
    if !span.is_some() {
        return None;
    }
    let mut start = (span.start as usize).min(source.len());
    let mut end = (span.end as usize).clamp(start, source.len());
    while !source.is_char_boundary(start) {
        start -= 1;
    }
    while !source.is_char_boundary(end) {
        end += 1;
    }
    Some(start..end)
}
