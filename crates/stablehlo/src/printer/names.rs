//! Value names as MLIR generates them.
//!
//! The values of a region are named before those of nested regions, which continue the numbering of their parent. Most names are numbers.
//! An operation may suggest a word for a result. If an enclosing region already uses the word, a number is appended.

use std::fmt::Write as _;

use shardc_ir::{Attr, DTypeClass, Module, OpId, OpKind, RegionId};
use smallvec::SmallVec;

use super::{PrintForm, Printer};
use crate::syntax::{SPELLING, row};

/// A value's name without `%`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Name {
    /// No name. This occurs only in invalid modules.
    #[default]
    Unknown,
    /// A number: `3`.
    Number(u32),
    /// One of several results of an operation: the number that names all of them, and the index of the result, as in `3#1`.
    Pack(u32, u32),
    /// An argument: `arg3`.
    Arg(u32),
    /// A suggested word: `cst`.
    Word(&'static str),
    /// A suggested word with a number: `cst_3`.
    WordNumber(&'static str, u32),
}

impl Name {
    pub(super) fn push(self, out: &mut String) {
        let _ = match self {
            Name::Unknown => out.write_str("%<unknown>"),
            Name::Number(n) => write!(out, "%{n}"),
            Name::Pack(n, i) => write!(out, "%{n}#{i}"),
            Name::Arg(n) => write!(out, "%arg{n}"),
            Name::Word(word) => write!(out, "%{word}"),
            Name::WordNumber(word, n) => write!(out, "%{word}_{n}"),
        };
    }
}

/// The parent of an operation. It determines how terminators and calls are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Parent {
    /// A function.
    Func,
    /// An operation of the `sdy` dialect.
    Sdy,
    /// Any other operation.
    Other,
}

impl Parent {
    pub(crate) fn of(module: &Module, op: OpId) -> Parent {
        match &module.ops[op].kind {
            OpKind::ManualComputation(_) | OpKind::NamedComputation(_) => Parent::Sdy,
            OpKind::Opaque(spec) if spec.name.starts_with("sdy.") => Parent::Sdy,
            _ => Parent::Other,
        }
    }
}

/// The next free numbers of values and arguments, and the suggested words that are already used.
#[derive(Clone, Debug, Default)]
pub(super) struct Numbering {
    next_value: u32,
    next_arg: u32,
    next_conflict: u32,
    words: SmallVec<[&'static str; 8]>,
}

impl Numbering {
    fn word(&mut self, word: &'static str) -> Name {
        if self.words.contains(&word) {
            self.next_conflict += 1;
            Name::WordNumber(word, self.next_conflict - 1)
        } else {
            self.words.push(word);
            Name::Word(word)
        }
    }
}

impl Printer<'_> {
    /// Names all values of the module for the generic form. In that form, MLIR never reuses a number, and visits nested regions in reverse
    /// order.
    pub(super) fn number_all(&mut self) {
        let module = self.module;
        let mut numbering = Numbering::default();
        let mut regions: Vec<(RegionId, Option<OpId>)> = module.bodies().map(|body| (body, None)).collect();
        while let Some((region, parent)) = regions.pop() {
            self.name_region(region, parent, &mut numbering);
            for &op in &module.regions[region].ops {
                regions.extend(module.ops[op].regions.iter().map(|&inner| (inner, Some(op))));
            }
        }
    }

    /// Names the values of a region, unless [`Printer::number_all`] did so.
    pub(super) fn number_region(
        &mut self,
        region: RegionId,
        parent: Option<OpId>,
        numbering: &mut Numbering,
    ) {
        if self.options.form == PrintForm::Pretty {
            self.name_region(region, parent, numbering);
        }
    }

    /// Names the arguments of a region and the results of its operations. `parent` is the operation that has the
    /// region.
    fn name_region(&mut self, region: RegionId, parent: Option<OpId>, numbering: &mut Numbering) {
        let module = self.module;
        let pretty = self.options.form == PrintForm::Pretty;
        let kind = parent.filter(|_| pretty).map(|op| &module.ops[op].kind);
        for (i, &arg) in module.regions[region].args.iter().enumerate() {
            self.names[arg] = match kind {
                Some(OpKind::While) => numbering.word("iterArg"),
                Some(OpKind::Scan(spec)) => {
                    numbering.word(if i < spec.inputs as usize { "input" } else { "carry" })
                }
                _ => {
                    numbering.next_arg += 1;
                    Name::Arg(numbering.next_arg - 1)
                }
            };
        }
        for &op in &module.regions[region].ops {
            self.number_op(op, numbering);
        }
    }

    fn number_op(&mut self, op: OpId, numbering: &mut Numbering) {
        let op = &self.module.ops[op];
        let Some(&first) = op.results.first() else { return };
        if self.options.form == PrintForm::Pretty {
            if let OpKind::Constant(_) = op.kind
                && !op.attrs.iter().any(|(name, _)| name == SPELLING)
            {
                let class = self.module.tensor(first).map(|t| (t.dtype.class(), t.dtype));
                let integer = matches!(
                    class,
                    Some((DTypeClass::Bool | DTypeClass::Signed | DTypeClass::Unsigned, dtype))
                        if dtype != shardc_ir::DType::Index
                );
                self.names[first] = numbering.word(if integer { "c" } else { "cst" });
                return;
            }
            if let (OpKind::Constant(_), Some(Attr::Str(spelling))) = (&op.kind, op.attrs.get(SPELLING))
                && &**spelling == "arith.constant"
            {
                self.names[first] = numbering.word("cst");
                return;
            }
            if let OpKind::TopK { .. }
            | OpKind::RngBitGenerator { .. }
            | OpKind::BatchNorm(..)
            | OpKind::Opaque(_) = op.kind
                && let Some(row) = row(op.kind.name())
                && row.result_names.len() == op.results.len()
            {
                for (&result, word) in op.results.iter().zip(row.result_names) {
                    self.names[result] = numbering.word(word);
                }
                return;
            }
        }
        let number = numbering.next_value;
        numbering.next_value += 1;
        if op.results.len() == 1 {
            self.names[first] = Name::Number(number);
        } else {
            for (i, &result) in op.results.iter().enumerate() {
                self.names[result] = Name::Pack(number, i as u32);
            }
        }
    }
}
