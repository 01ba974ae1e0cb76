//! A cursor over the text of an attribute that is kept verbatim.

use smallvec::SmallVec;

/// The rest of the text that is parsed. Parsing functions return `None` if the text does not match. They skip leading whitespace unless
/// their doc says otherwise.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scan<'a> {
    rest: &'a str,
}

impl<'a> Scan<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Scan { rest: text }
    }

    /// The rest, without leading whitespace.
    pub(super) fn rest(&mut self) -> &'a str {
        self.rest = self.rest.trim_start();
        self.rest
    }

    /// Skips `token`, if it is next.
    pub(super) fn eat(&mut self, token: &str) -> Option<()> {
        self.rest = self.rest().strip_prefix(token)?;
        Some(())
    }

    /// Skips `token`, which must follow immediately, without whitespace before it.
    pub(super) fn eat_here(&mut self, token: &str) -> Option<()> {
        self.rest = self.rest.strip_prefix(token)?;
        Some(())
    }

    /// Skips this many bytes; skips nothing if there are fewer, or if the end would be inside a character.
    pub(super) fn skip(&mut self, bytes: usize) {
        self.rest = self.rest.get(bytes..).unwrap_or(self.rest);
    }

    /// Reads a sequence of digits, which must follow immediately, without whitespace before it.
    pub(super) fn digits(&mut self) -> Option<&'a str> {
        let end = self.rest.bytes().take_while(u8::is_ascii_digit).count();
        let (digits, rest) = self.rest.split_at(end);
        self.rest = rest;
        (!digits.is_empty()).then_some(digits)
    }

    /// Reads and returns everything before the character `end`, including whitespace, and skips that character.
    pub(super) fn until(&mut self, end: char) -> Option<&'a str> {
        let (text, rest) = self.rest.split_once(end)?;
        self.rest = rest;
        Some(text)
    }

    /// Reads a name: letters, digits, `_`, `.` and `$`.
    pub(super) fn word(&mut self) -> Option<&'a str> {
        let rest = self.rest();
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '_' | '.' | '$'));
        let (word, rest) = rest.split_at(end.unwrap_or(rest.len()));
        self.rest = rest;
        (!word.is_empty()).then_some(word)
    }

    /// Reads a number as text, with its sign.
    pub(super) fn number(&mut self) -> Option<&'a str> {
        let rest = self.rest();
        let mut before = ' ';
        let end = rest.find(|c: char| {
            // A sign may only start a number or its exponent: in `1e-5-2`, the second sign is not part of the number.
            let sign = matches!(c, '-' | '+') && matches!(before, ' ' | 'e' | 'E');
            before = c;
            !(sign || c == '.' || c.is_ascii_alphanumeric())
        });
        let (number, rest) = rest.split_at(end.unwrap_or(rest.len()));
        self.rest = rest;
        (!number.is_empty()).then_some(number)
    }

    /// Reads an integer.
    pub(super) fn int(&mut self) -> Option<i64> {
        self.number()?.parse().ok()
    }

    /// Reads a list of integers: `[1, 2]`.
    pub(super) fn ints(&mut self) -> Option<SmallVec<[i64; 6]>> {
        self.eat("[")?;
        let mut out = SmallVec::new();
        while self.eat("]").is_none() {
            if !out.is_empty() {
                self.eat(",")?;
            }
            out.push(self.int()?);
        }
        Some(out)
    }

    /// Reads the elements of a list of integers: `dense<[1, 2]> : tensor<2xindex>`.
    pub(super) fn dense_list(&mut self) -> Option<SmallVec<[i64; 6]>> {
        self.eat("dense<")?;
        let listed = if self.rest().starts_with('[') {
            Some(self.ints()?)
        } else if self.rest().starts_with('>') {
            Some(SmallVec::new())
        } else {
            None
        };
        let splat = if listed.is_none() { Some(self.int()?) } else { None };
        self.eat(">")?;
        self.eat(":")?;
        self.eat("tensor<")?;
        let count = self.word()?.split('x').next()?.parse::<usize>().ok()?;
        match (listed, splat) {
            (Some(list), _) => (list.len() == count).then_some(list),
            // A splat is expanded to one number per dimension; no tensor has more dimensions than this limit.
            (None, Some(value)) => (count <= 1024).then(|| SmallVec::from_elem(value, count)),
            (None, None) => None,
        }
    }
}
