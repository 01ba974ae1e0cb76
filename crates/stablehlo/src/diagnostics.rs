//! Renders diagnostics as text: file, line and column, the source line with a caret, and the hint.

use std::borrow::Cow;
use std::ops::Range;

use annotate_snippets::{
    Annotation, AnnotationKind, Group, Level, Message, Origin, Renderer, Snippet, renderer::DecorStyle,
};
use shardc_ir::{Class, Diagnostic, Quote, Severity, Span};

/// The maximum number of underlined bytes in a line.
const LONGEST: usize = 120;

/// How diagnostics are rendered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RenderOptions {
    /// Whether terminal escapes are used; off by default.
    pub color: bool,
    /// The number of columns to which source lines are truncated, 120 by default. Function signatures of real programs have thousands of
    /// characters.
    pub width: usize,
}

impl Default for RenderOptions {
    fn default() -> Self {
        RenderOptions { color: false, width: 120 }
    }
}

/// Renders diagnostics one after the other, each with its place in `source`. `source_name` is the name before line and column, usually a
/// path. With `color`, terminal escapes are used.
#[must_use]
pub fn render(diagnostics: &[Diagnostic], source_name: &str, source: &str, color: bool) -> String {
    render_with(diagnostics, source_name, source, &RenderOptions { color, ..RenderOptions::default() })
}

/// Renders diagnostics as [`render`] does, with the given options.
#[must_use]
pub fn render_with(
    diagnostics: &[Diagnostic],
    source_name: &str,
    source: &str,
    options: &RenderOptions,
) -> String {
    let renderer = if options.color { Renderer::styled() } else { Renderer::plain() };
    let renderer = renderer.term_width(options.width).decor_style(DecorStyle::Ascii);
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
    let title = level.primary_title(shortened(&diagnostic.message)).id(diagnostic.code);
    let main = range(diagnostic.span, source).map(|main| clipped(source, main));
    let is_near = |place: &Range<usize>| main.as_ref().is_some_and(|main| near(main, place));
    let mut near_notes = Vec::new();
    let mut far_notes = Vec::new();
    for (span, note) in &diagnostic.notes {
        match range(*span, source) {
            Some(place) if is_near(&place) => near_notes.push((place, note)),
            place => far_notes.push((place, note)),
        }
    }
    let title = match &diagnostic.quote {
        // The quoted option comes first; the source is shown as context.
        Some(quote) => title.element(quoted(quote)),
        None => Group::with_title(title),
    };
    let mut group = match &main {
        Some(main) => {
            // Only the shown lines are passed to the renderer: a program may have millions of lines.
            let places = || near_notes.iter().map(|(place, _)| place).chain([main]);
            let (from, to) = (places().map(|r| r.start).min(), places().map(|r| r.end).max());
            let lines = whole_lines(source, from.unwrap_or(0)..to.unwrap_or(source.len()));
            let first = line_of(source, lines.start);
            let shown = Shown::new(source, lines);
            let within = |range: &Range<usize>| shown.offset(range.start)..shown.offset(range.end);
            let kind = match diagnostic.quote {
                Some(_) => AnnotationKind::Context,
                None => AnnotationKind::Primary,
            };
            let mut annotation = kind.span(within(main));
            if diagnostic.class == Class::Unsupported {
                annotation = annotation.label("not supported");
            }
            let mut snippet =
                Snippet::source(shown.text.clone()).line_start(first).path(name).annotation(annotation);
            for (place, note) in &near_notes {
                let context = AnnotationKind::Context.span(within(place));
                snippet = snippet.annotation(context.label(note.as_str()));
            }
            title.element(snippet)
        }
        None if diagnostic.quote.is_some() => title,
        None => title.element(Origin::path(name)),
    };
    for (place, note) in far_notes {
        group = match place {
            Some(place) => {
                let line = line_of(source, place.start);
                group.element(Level::NOTE.message(format!("{note} ({name}:{line})")))
            }
            None => group.element(message(Level::NOTE, note)),
        };
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

/// Returns a command-line option, with a caret under the invalid part.
fn quoted(quote: &Quote) -> Snippet<'_, Annotation<'_>> {
    let span = range(quote.span, &quote.text).unwrap_or(0..quote.text.len());
    Snippet::source(quote.text.as_str()).path(quote.origin).annotation(AnnotationKind::Primary.span(span))
}

fn message<'a>(level: Level<'a>, text: &'a str) -> Message<'a> {
    level.message(text)
}

/// Source lines to show, without a byte order mark and carriage returns.
struct Shown<'a> {
    text: Cow<'a, str>,
    start: usize,
    /// The parts omitted from long lines: the offset and the length in bytes of each.
    left_out: Vec<(usize, usize)>,
}

impl<'a> Shown<'a> {
    fn new(source: &'a str, lines: Range<usize>) -> Self {
        const MARK: char = '\u{FEFF}';
        let start = lines.start;
        let text = source.get(lines).unwrap_or("");
        let mut left_out = Vec::new();
        if start == 0 && text.starts_with(MARK) {
            left_out.push((0, MARK.len_utf8()));
        }
        left_out.extend(text.match_indices("\r\n").map(|(at, _)| (start + at, 1)));
        if text.ends_with('\r') {
            left_out.push((start + text.len() - 1, 1));
        }
        if left_out.is_empty() {
            return Shown { text: Cow::Borrowed(text), start, left_out };
        }
        let (mut kept, mut at) = (String::with_capacity(text.len()), 0);
        for &(offset, bytes) in &left_out {
            kept.push_str(text.get(at..offset - start).unwrap_or(""));
            at = offset - start + bytes;
        }
        kept.push_str(text.get(at..).unwrap_or(""));
        Shown { text: Cow::Owned(kept), start, left_out }
    }

    fn offset(&self, offset: usize) -> usize {
        let gone: usize = self.left_out.iter().take_while(|(at, _)| *at < offset).map(|(_, n)| n).sum();
        (offset - self.start).saturating_sub(gone).min(self.text.len())
    }
}

/// Replaces the middle of a very long message, which may contain a long name, by `...`.
fn shortened(message: &str) -> Cow<'_, str> {
    const LONG: usize = 2000;
    const KEPT: usize = 400;
    if message.len() <= LONG {
        return Cow::Borrowed(message);
    }
    let head: String = message.chars().take(KEPT).collect();
    let tail: Vec<char> = message.chars().rev().take(KEPT).collect();
    Cow::Owned(format!("{head} ... {}", tail.into_iter().rev().collect::<String>()))
}

/// Truncates an underlined range at the end of its line and at [`LONGEST`] bytes.
fn clipped(source: &str, range: Range<usize>) -> Range<usize> {
    let mut end = range.end.min(range.start + LONGEST);
    while !source.is_char_boundary(end) {
        end += 1;
    }
    let line =
        source.get(range.start..end).and_then(|text| text.find('\n')).map_or(end, |at| range.start + at);
    range.start..line.max(range.start)
}

/// Whether two ranges of the source are near enough to be shown in one snippet.
fn near(a: &Range<usize>, b: &Range<usize>) -> bool {
    const FAR: usize = 1 << 18;
    a.start.abs_diff(b.start) < FAR && a.end.abs_diff(b.end) < FAR
}

/// Extends a range to whole lines.
fn whole_lines(source: &str, range: Range<usize>) -> Range<usize> {
    let start = source.get(..range.start).and_then(|before| before.rfind('\n')).map_or(0, |at| at + 1);
    let end =
        source.get(range.end..).and_then(|after| after.find('\n')).map_or(source.len(), |at| range.end + at);
    start..end.max(range.end)
}

/// Returns the line of an offset, from 1.
fn line_of(source: &str, offset: usize) -> usize {
    1 + source.as_bytes().get(..offset).unwrap_or(&[]).iter().filter(|&&b| b == b'\n').count()
}

/// Returns the span as a range of the text, on character boundaries. Returns `None` if the diagnostic has no span.
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
