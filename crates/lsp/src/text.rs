//! The text of a document, with positions in the encoding of the client.
//!
//! The protocol counts lines, and within a line the code units of a negotiated encoding: UTF-16 by default. The compiler counts bytes.
//! Positions outside of the text are moved to its nearest position, since a client may send a request while the text changes.

use std::ops::Range;

use lsp_types::{Position, PositionEncodingKind, Range as LineRange};

/// The unit in which the client counts the columns of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Encoding {
    /// Bytes.
    Utf8,
    /// UTF-16 code units, the default of the protocol.
    #[default]
    Utf16,
}

impl Encoding {
    /// The name in the protocol.
    pub(crate) fn kind(self) -> PositionEncodingKind {
        match self {
            Encoding::Utf8 => PositionEncodingKind::UTF8,
            Encoding::Utf16 => PositionEncodingKind::UTF16,
        }
    }
}

/// A text and the offsets at which its lines begin.
#[derive(Clone, Debug, Default)]
pub(crate) struct Text {
    text: String,
    /// The offset of the first byte of each line. Lines end with `\n`; a preceding `\r` is part of the line end.
    lines: Vec<usize>,
    encoding: Encoding,
}

/// The offsets after each line end of a text that begins at `start`.
fn line_starts(text: &str, start: usize) -> impl Iterator<Item = usize> {
    text.bytes().enumerate().filter(|&(_, byte)| byte == b'\n').map(move |(at, _)| start + at + 1)
}

impl Text {
    pub(crate) fn new(text: String, encoding: Encoding) -> Text {
        let lines = std::iter::once(0).chain(line_starts(&text, 0)).collect();
        Text { text, lines, encoding }
    }

    pub(crate) fn encoding(&self) -> Encoding {
        self.encoding
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// The text in a range of bytes; empty if the range is invalid.
    pub(crate) fn slice(&self, range: Range<usize>) -> &str {
        self.text.get(range).unwrap_or("")
    }

    /// The offset at which a line begins.
    pub(crate) fn line_start(&self, line: usize) -> Option<usize> {
        self.lines.get(line).copied()
    }

    /// The range of the bytes of a line, without its end.
    fn line(&self, line: usize) -> Option<Range<usize>> {
        let start = *self.lines.get(line)?;
        let end = self.lines.get(line + 1).map_or(self.text.len(), |next| next - 1);
        let content = self.slice(start..end);
        Some(start..start + content.strip_suffix('\r').unwrap_or(content).len())
    }

    /// The byte offset of a position. A position within a character is moved to the start of the character.
    pub(crate) fn offset(&self, position: Position) -> usize {
        let Some(line) = self.line(position.line as usize) else { return self.text.len() };
        let (content, column) = (self.slice(line.clone()), position.character as usize);
        if self.encoding == Encoding::Utf8 || content.is_ascii() {
            let at = column.min(content.len());
            return line.start + (0..=at).rev().find(|&at| content.is_char_boundary(at)).unwrap_or(0);
        }
        let mut units = 0;
        for (at, character) in content.char_indices() {
            units += character.len_utf16();
            if units > column {
                return line.start + at;
            }
        }
        line.end
    }

    /// The position of a byte offset.
    pub(crate) fn position(&self, offset: usize) -> Position {
        let offset = offset.min(self.text.len());
        let line = self.lines.partition_point(|&start| start <= offset).saturating_sub(1);
        let start = self.lines.get(line).copied().unwrap_or(0);
        let end = (start..=offset).rev().find(|&at| self.text.is_char_boundary(at)).unwrap_or(start);
        let before = self.slice(start..end);
        let column = match self.encoding {
            Encoding::Utf8 => before.len(),
            // A line may have more than 100 kB, and most are ASCII.
            Encoding::Utf16 if before.is_ascii() => before.len(),
            Encoding::Utf16 => before.chars().map(char::len_utf16).sum(),
        };
        Position::new(u32::try_from(line).unwrap_or(u32::MAX), u32::try_from(column).unwrap_or(u32::MAX))
    }

    /// The offset after the character at an offset; the same offset at the end of a line.
    pub(crate) fn next_character(&self, offset: usize) -> usize {
        let rest = self.text.get(offset..).unwrap_or("");
        offset + rest.chars().next().filter(|&character| character != '\n').map_or(0, char::len_utf8)
    }

    /// The position of a range of bytes.
    pub(crate) fn range(&self, range: Range<usize>) -> LineRange {
        LineRange::new(self.position(range.start), self.position(range.end.max(range.start)))
    }

    /// The range of the first line, for messages about the whole text.
    pub(crate) fn first_line(&self) -> LineRange {
        self.range(self.line(0).unwrap_or(0..0))
    }

    /// Replaces a range by a new text.
    pub(crate) fn edit(&mut self, range: LineRange, new: &str) {
        let start = self.offset(range.start);
        let end = self.offset(range.end).max(start);
        let first = self.lines.partition_point(|&at| at <= start);
        let last = self.lines.partition_point(|&at| at <= end);
        for at in self.lines.iter_mut().skip(last) {
            *at = *at - end + start + new.len();
        }
        self.lines.splice(first..last, line_starts(new, start));
        self.text.replace_range(start..end, new);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Text {
        Text::new(text.to_owned(), Encoding::Utf16)
    }

    #[test]
    fn columns_are_utf16_code_units() {
        // The first character after the slashes has one code unit and two bytes, the second has two code units and four bytes.
        let text = text("// \u{e4}\u{1f600} x\r\n%0\n");
        let x = text.as_str().find('x').unwrap();
        assert_eq!(text.position(x), Position::new(0, 7));
        assert_eq!(text.offset(Position::new(0, 7)), x);
        assert_eq!(text.offset(Position::new(0, 5)), "// \u{e4}".len(), "within a pair of surrogates");
        assert_eq!(text.offset(Position::new(0, 99)), "// \u{e4}\u{1f600} x".len(), "before the line end");
        assert_eq!(text.offset(Position::new(1, 1)), text.as_str().find("0\n").unwrap());
        assert_eq!(text.offset(Position::new(9, 9)), text.as_str().len());
        assert_eq!(text.position(usize::MAX), Position::new(2, 0));
        assert_eq!(text.position("// \u{e4}".len() - 1), Position::new(0, 3), "within a character");
    }

    #[test]
    fn columns_are_bytes_if_the_client_wants_bytes() {
        let text = Text::new("\u{e4} x".to_owned(), Encoding::Utf8);
        assert_eq!(text.position(3), Position::new(0, 3));
        assert_eq!((text.offset(Position::new(0, 3)), text.offset(Position::new(0, 1))), (3, 0));
    }

    #[test]
    fn edits_keep_the_lines() {
        let edits = [
            ((0, 1), (0, 1), "X"),
            ((0, 1), (2, 0), ""),
            ((1, 0), (1, 0), "new\nlines\n"),
            ((0, 0), (99, 0), "\u{1f600}\nb\n\nc"),
            ((0, 2), (1, 1), "\n\n"),
            ((3, 0), (0, 0), "reversed"),
        ];
        let mut edited = text("aa\nbb\ncc\ndd\n");
        for (start, end, new) in edits {
            let range = LineRange::new(Position::new(start.0, start.1), Position::new(end.0, end.1));
            let (from, to) = (edited.offset(range.start), edited.offset(range.end));
            let mut expected = edited.as_str().to_owned();
            expected.replace_range(from..to.max(from), new);
            edited.edit(range, new);
            assert_eq!(edited.as_str(), expected);
            assert_eq!(edited.lines, text(&expected).lines, "{expected:?}");
        }
    }
}
