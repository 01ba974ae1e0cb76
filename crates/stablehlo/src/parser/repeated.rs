//! Operations that are written exactly as an earlier operation, apart from the names of values.
//!
//! Most operations of a program with many layers repeat an earlier one, the *model*. They are not parsed again: their kind, attributes and
//! result types are copied from the model. The resulting module is the same, because the parser reads from the text of an operation, from
//! the types of its operands, and from tables whose entries never change while a module is parsed. Therefore:
//!
//! * The types of all operands must be those of the model. Any mismatch is left to the parser, which reports it.
//! * An operation is a model only if it has no regions, is not a terminator, and spent none of the limits of the parser ([`Parser::expanded`],
//!   [`Parser::depth`]) that a copy would not spend.
//! * The next token must be of the same kind, because the parser looks at it to find the end of an operation.
//! * A new module, which has tables of its own, starts without models.

use memchr::{memchr, memrchr};
use rustc_hash::FxHashMap;
use shardc_ir::{LocId, OpId, OpKind, PackedOption, Span, ValueId};
use smallvec::SmallVec;

use super::names::ResultNames;
use super::{Operand, Parser};
use crate::lexer::{Res, is_ident};

/// The longest text of a model. Longer texts are constants, which rarely repeat.
const MAX_LENGTH: usize = 4096;

/// The token after an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum After {
    Location,
    Value,
    Brace,
    Terminator,
}

impl After {
    /// Returns the kind of the token at the start of `rest`; `None` if it might continue the operation.
    fn of(rest: &[u8]) -> Option<After> {
        // Fast path: the next operation defines a value.
        if rest.first() == Some(&b' ') && rest.starts_with(b" loc(") {
            return Some(After::Location);
        }
        let blanks = rest.iter().position(|b| !matches!(b, b' ' | b'\n' | b'\t' | b'\r'))?;
        let rest = rest.get(blanks..)?;
        match rest.first()? {
            b'%' => Some(After::Value),
            b'}' => Some(After::Brace),
            _ if rest.starts_with(b"stablehlo.return") || rest.starts_with(b"return ") => {
                Some(After::Terminator)
            }
            _ => None,
        }
    }
}

/// The use of a value: `%name` or `%name#1`.
#[derive(Clone, Copy, Debug)]
struct Use {
    /// The offset of the `%`.
    start: u32,
    name_end: u32,
    end: u32,
}

/// Finds the use of a value at the `%` at `start`.
#[inline]
fn use_at(bytes: &[u8], start: usize) -> Option<Use> {
    let run = |from: usize, accepts: fn(u8) -> bool| {
        let mut end = from;
        while bytes.get(end).is_some_and(|&b| accepts(b)) {
            end += 1;
        }
        end
    };
    let is_number = bytes.get(start + 1)?.is_ascii_digit();
    let name_end = match is_number {
        true => run(start + 1, |b| b.is_ascii_digit()),
        false => run(start + 1, |b| is_ident(b) || b == b'-'),
    };
    let mut end = name_end;
    if bytes.get(name_end) == Some(&b'#') {
        end = run(name_end + 1, |b| b.is_ascii_digit());
        if end == name_end + 1 {
            return None;
        }
    }
    (name_end > start + 1).then_some(Use { start: start as u32, name_end: name_end as u32, end: end as u32 })
}

/// The text of an operation, from its name to its location, with the uses of values in it.
#[derive(Debug)]
pub(super) struct Pattern {
    start: u32,
    end: u32,
    uses: SmallVec<[Use; 3]>,
    after: After,
    hash: u64,
}

impl Pattern {
    /// Finds the pattern of the operation at `start`, if it is on one line.
    fn at(bytes: &[u8], start: usize) -> Option<Pattern> {
        let rest = bytes.get(start..)?;
        let window = rest.get(..MAX_LENGTH).unwrap_or(rest);
        let mut line = window.get(..memchr(b'\n', window)?)?.trim_ascii_end();
        if line.ends_with(b")")
            && let Some(at) = memrchr(b' ', line)
            && line.get(at..).is_some_and(|rest| rest.starts_with(b" loc("))
        {
            line = line.get(..at)?;
        }
        let end = start + line.len();
        let after = After::of(bytes.get(end..)?)?;
        let (mut uses, mut from, mut hash) = (SmallVec::new(), start, after as u64);
        while let Some(at) = memchr(b'%', bytes.get(from..end)?) {
            let found = use_at(bytes, from + at)?;
            hash = mix(hash, bytes.get(from..from + at)?);
            from = found.end as usize;
            uses.push(found);
        }
        let hash = mix(hash, bytes.get(from..end)?);
        Some(Pattern { start: start as u32, end: end as u32, uses, after, hash })
    }

    /// Matches the text at `start`. Returns the end of the operation, and stores the uses of values in `uses`.
    fn matches(&self, bytes: &[u8], start: usize, uses: &mut Vec<Use>) -> Option<usize> {
        uses.clear();
        let (mut from, mut at) = (self.start as usize, start);
        for own in &self.uses {
            let part = bytes.get(from..own.start as usize)?;
            if bytes.get(at..at + part.len())? != part {
                return None;
            }
            at += part.len();
            if bytes.get(at) != Some(&b'%') {
                return None;
            }
            let found = use_at(bytes, at)?;
            at = found.end as usize;
            from = own.end as usize;
            uses.push(found);
        }
        let part = bytes.get(from..self.end as usize)?;
        let end = at + part.len();
        (bytes.get(at..end)? == part && After::of(bytes.get(end..)?) == Some(self.after)).then_some(end)
    }
}

/// Mixes the bytes into a hash. Equal hashes are followed by a comparison of the texts.
fn mix(hash: u64, bytes: &[u8]) -> u64 {
    const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;
    let step = |hash: u64, word: u64| (hash.rotate_left(23) ^ word).wrapping_mul(FACTOR);
    let (words, rest) = bytes.as_chunks::<8>();
    let hash =
        words.iter().fold(step(hash, bytes.len() as u64), |hash, word| step(hash, u64::from_le_bytes(*word)));
    rest.iter().fold(hash, |hash, &byte| step(hash, u64::from(byte)))
}

/// An operation that others may repeat.
#[derive(Debug)]
struct Model {
    pattern: Pattern,
    op: OpId,
    depth: u32,
    /// The index in [`Models::history`] of the last operation with this pattern.
    place: u32,
}

/// The models of the current module.
#[derive(Debug, Default)]
pub(super) struct Models {
    list: Vec<Model>,
    by_hash: FxHashMap<u64, u32>,
    /// The models of all operations so far.
    history: Vec<u32>,
    /// The index in `history` of the model that is expected next: a layer mostly repeats the models of an earlier layer in their order.
    expected: usize,
    /// The uses of values in the current operation.
    uses: Vec<Use>,
}

impl Models {
    pub(super) fn clear(&mut self) {
        *self = Models::default();
    }

    /// Finds the model of the operation at `start`. Returns its index and the end of the operation.
    fn find(&mut self, bytes: &[u8], start: usize) -> Result<(u32, usize), Option<Pattern>> {
        if let Some(&at) = self.history.get(self.expected)
            && let Some(model) = self.list.get(at as usize)
            && let Some(end) = model.pattern.matches(bytes, start, &mut self.uses)
        {
            self.expected += 1;
            return Ok((at, end));
        }
        let pattern = Pattern::at(bytes, start).ok_or(None)?;
        let Some(&at) = self.by_hash.get(&pattern.hash) else { return Err(Some(pattern)) };
        let Some(model) = self.list.get(at as usize) else { return Err(None) };
        match model.pattern.matches(bytes, start, &mut self.uses) {
            Some(end) => {
                self.expected = model.place as usize + 1;
                Ok((at, end))
            }
            None => Err(Some(pattern)),
        }
    }

    fn used(&mut self, at: u32) {
        if let Some(model) = self.list.get_mut(at as usize) {
            model.place = self.history.len() as u32;
            self.history.push(at);
        }
    }

    fn add(&mut self, pattern: Pattern, op: OpId, depth: u32) {
        let at = self.list.len() as u32;
        self.by_hash.insert(pattern.hash, at);
        self.list.push(Model { pattern, op, depth, place: 0 });
        self.used(at);
        self.expected = self.history.len();
    }
}

/// The result of a search for a model.
pub(super) enum Search {
    /// The operation is a copy of a model.
    Copied(OpId),
    /// The operation may become a model.
    New(Pattern),
    /// The operation cannot become a model.
    Unknown,
}

impl<'a> Parser<'a> {
    /// Creates the operation whose name starts at `start` as a copy of a model, if there is one.
    pub(super) fn copy_of_model(&mut self, names: &ResultNames<'a>, start: usize) -> Res<Search> {
        if self.index.is_some() {
            // An index contains the names in the text of each operation.
            return Ok(Search::Unknown);
        }
        let (at, end) = match self.models.find(self.cursor.text.as_bytes(), start) {
            Ok(found) => found,
            Err(Some(pattern)) => return Ok(Search::New(pattern)),
            Err(None) => return Ok(Search::Unknown),
        };
        let Some(model) = self.models.list.get(at as usize) else { return Ok(Search::Unknown) };
        let (op, depth, after) = (model.op, model.depth, model.pattern.after);
        let named: u64 = names.iter().map(|&(_, count, _)| u64::from(count)).sum();
        let is_named = named == 0 || named == self.module.ops[op].results.len() as u64;
        let mut operands = SmallVec::new();
        if self.depth > depth || !is_named || self.copied_operands(op, &mut operands).is_none() {
            return Ok(Search::Unknown);
        }
        self.models.used(at);
        self.cursor.pos = end;
        let loc = if after == After::Location { self.opt_loc()? } else { PackedOption::default() };
        let op = self.copy(op, operands, start, loc);
        self.define_results(op, names)?;
        Ok(Search::Copied(op))
    }

    /// Returns the used values, if they have the types of the model's operands.
    fn copied_operands(&self, model: OpId, found: &mut SmallVec<[ValueId; 3]>) -> Option<()> {
        let values = &self.module.values;
        for (used, &operand) in self.models.uses.iter().zip(&self.module.ops[model].operands) {
            let def = self.names.get(self.slice(used.start as usize + 1, used.name_end as usize))?;
            let first = def.first.expand()?.as_u32();
            let result = match used.end > used.name_end {
                true => self.slice(used.name_end as usize + 1, used.end as usize).parse().ok()?,
                false => 0,
            };
            let value = ValueId::from_u32(first + Some(result).filter(|&at| at < def.count)?);
            if values[value].ty != values[operand].ty {
                return None;
            }
            found.push(value);
        }
        Some(())
    }

    /// Creates an operation that is equal to a model without regions, apart from its operands and location.
    fn copy(
        &mut self,
        model: OpId,
        operands: SmallVec<[ValueId; 3]>,
        start: usize,
        loc: PackedOption<LocId>,
    ) -> OpId {
        let source = self.module.ops[model].span;
        let op = self.module.add_copy(model, operands);
        let copy = &mut self.module.ops[op];
        copy.loc = loc;
        copy.span = Span::new(start, start + (source.end - source.start) as usize);
        op
    }

    /// Returns the pattern if the operation that was parsed at it, and that ends at the cursor, can be a model.
    pub(super) fn checked_pattern(&self, pattern: Pattern, operands: &[Operand]) -> Option<Pattern> {
        let end = self.slice(0, self.pos).trim_ascii_end().len();
        let same = pattern.end as usize == end
            && pattern.uses.len() == operands.len()
            && pattern.uses.iter().zip(operands).all(|(found, operand)| found.start == operand.span.start);
        same.then_some(pattern)
    }

    /// Makes an operation a model for later operations.
    pub(super) fn add_model(&mut self, pattern: Pattern, op: OpId, loc: PackedOption<LocId>) {
        let data = &self.module.ops[op];
        if data.regions.is_empty() && !matches!(data.kind, OpKind::Return) && data.loc == loc {
            self.models.add(pattern, op, self.depth);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;

    fn program(body: &str) -> String {
        let args = "%a: tensor<2xf32>, %b: tensor<2xf32>, %c: tensor<3xf32>";
        format!("func.func @main({args}) {{\n{body}  return\n}}\n")
    }

    #[test]
    fn patterns_ignore_names() {
        let text = b"add %a, %b#1 : t\n%x = add %12, %c : t\n  return %x";
        let pattern = Pattern::at(text, 0).expect("a pattern");
        assert_eq!((pattern.uses.len(), pattern.end, pattern.after), (2, 16, After::Value));
        let (mut uses, start) = (Vec::new(), 22);
        assert_eq!(pattern.matches(text, start, &mut uses), None, "another token follows");
        let other = Pattern::at(text, start).expect("a pattern");
        assert_eq!(other.after, After::Terminator);
        assert_eq!(other.matches(text, start, &mut uses), Some(other.end as usize));
        assert_eq!(uses.len(), 2);
    }

    #[test]
    fn copies_have_own_operands_and_spans() {
        let text = program(
            "  %0 = stablehlo.add %a, %b {x} : tensor<2xf32>\n  %1 = stablehlo.add %0, %a {x} : tensor<2xf32>\n  %2 = \
             stablehlo.add %1, %0 {x} : tensor<2xf32>\n",
        );
        let module = parse(&text).expect("a valid program");
        let adds: Vec<_> = module.ops.values().filter(|op| op.kind.name() == "stablehlo.add").collect();
        assert_eq!(adds.len(), 3);
        let [.., second, third] = adds[..] else { unreachable!("three operations") };
        assert_eq!(third.operands[..], [second.results[0], second.operands[0]]);
        assert_eq!((&third.kind, &third.attrs), (&second.kind, &second.attrs));
        for op in adds {
            assert_eq!(text.get(op.span.start as usize..op.span.end as usize), Some("stablehlo.add"));
        }
    }

    #[test]
    fn errors_in_repeated_operations_are_reported() {
        let with = |operands: &str| {
            let body = format!(
                "  %0 = stablehlo.add %a, %b : tensor<2xf32>\n  %1 = stablehlo.add {operands} : tensor<2xf32>\n"
            );
            parse(&program(&format!("{body}  %2 = stablehlo.add %b, %b : tensor<2xf32>\n")))
        };
        assert!(with("%b, %a").is_ok());
        let message = |operands| with(operands).map(drop).map_err(|errors| errors[0].message.clone());
        let wrong = "`%c` has the type tensor<3xf32>, but this operation uses it as tensor<2xf32>";
        assert_eq!(message("%b, %c"), Err(wrong.into()));
        assert!(message("%b, %z").is_err());
        assert!(message("%b, %a#1").is_err());
    }
}
