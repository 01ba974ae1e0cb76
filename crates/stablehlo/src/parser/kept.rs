//! Code that is kept as text: nested modules, functions with branches, operations with unknown syntax.

use shardc_ir::{Enclosing, Kept, KeptKind, Module, Span};

use super::Parser;
use super::attrs::{NamedList, take};
use crate::lexer::{Cursor, Res, is_ident, is_ident_start};

/// Dialects of MLIR, and VHLO. shardc keeps their operations as text, because it does not parse their syntax.
const UPSTREAM: &[&str] = &[
    "acc",
    "affine",
    "amdgpu",
    "arith",
    "async",
    "bufferization",
    "cf",
    "complex",
    "dlti",
    "emitc",
    "gpu",
    "index",
    "irdl",
    "linalg",
    "llvm",
    "math",
    "memref",
    "ml_program",
    "nvgpu",
    "nvvm",
    "omp",
    "pdl",
    "pdl_interp",
    "quant",
    "rocdl",
    "scf",
    "shape",
    "smt",
    "sparse_tensor",
    "spirv",
    "tensor",
    "tosa",
    "transform",
    "ub",
    "vector",
    "vhlo",
    "x86vector",
    "xegpu",
];

/// Whether `name` is an operation of a dialect in [`UPSTREAM`].
pub(super) fn is_upstream(name: &str) -> bool {
    name.split_once('.').is_some_and(|(dialect, _)| UPSTREAM.contains(&dialect))
}

/// The range in the text of a top-level item that is not a function, and whether the item is a module.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeptPlace {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) is_module: bool,
}

/// Whether the text of a module contains a function. Words that only begin with `func` do not count.
fn holds_functions(text: &str) -> bool {
    let mut cursor = Cursor::new(text);
    while !cursor.at_end() {
        let start = cursor.pos;
        match cursor.byte(0) {
            b'"' => match cursor.raw_string() {
                Ok("func.func") if cursor.peek() == b'(' => return true,
                Ok(_) => {}
                Err(_) => return false,
            },
            b if is_ident_start(b) => {
                cursor.take_ident();
                let is_function = matches!(cursor.slice(start, cursor.pos), "func.func" | "func");
                let starts = |c: &Cursor<'_>| {
                    let rest = c.slice(c.pos, c.text.len());
                    ["@", "public ", "private ", "nested "].iter().any(|word| rest.starts_with(word))
                };
                if is_function && cursor.peek() != 0 && starts(&cursor) {
                    return true;
                }
            }
            _ => cursor.pos += 1,
        }
    }
    false
}

impl<'a> Parser<'a> {
    /// Keeps the operation at the cursor as text. `span` is the unsupported construct.
    pub(super) fn keep(&mut self, kind: KeptKind, span: Span) -> Res<()> {
        let start = self.peek_pos();
        let name = self.skip_whole_op()?;
        if let Some(name) = &name {
            self.define_symbol("symbol", name, span)?;
        }
        let text = self.kept_text(start, self.pos)?;
        let others_above = self.places.len() as u32;
        self.places.push(KeptPlace { start, end: self.pos, is_module: kind == KeptKind::Module });
        self.module.kept.push(Kept {
            kind,
            name,
            text: text.into(),
            funcs_above: self.module.funcs.len() as u32,
            others_above,
            span,
        });
        Ok(())
    }

    /// Returns the text between two offsets with aliases expanded, without the indentation of its first line.
    fn kept_text(&mut self, start: usize, end: usize) -> Res<String> {
        let text = self.cursor.text;
        let line = text.get(..start).and_then(|before| before.rfind('\n')).map_or(0, |at| at + 1);
        let indent = self.slice(line, start);
        let indent = indent.len() - indent.trim_start_matches(' ').len();
        let text = self.expand_text(self.slice(start, end))?;
        let mut out = String::with_capacity(text.len());
        for (i, line) in text.lines().enumerate() {
            if i > 0 {
                out.push('\n');
            }
            let blanks = line.len() - line.trim_start_matches(' ').len();
            out.push_str(line.get(if i == 0 { 0 } else { blanks.min(indent) }..).unwrap_or("").trim_end());
        }
        Ok(out)
    }

    /// Skips any operation at the cursor. Returns the symbol that it defines.
    pub(super) fn skip_whole_op(&mut self) -> Res<Option<Box<str>>> {
        if self.peek() == b'%' {
            while !matches!(self.byte(0), b'=' | b'\n' | 0) {
                self.cursor.pos += 1;
            }
            self.expect("=")?;
        }
        if self.peek() == b'"' {
            return self.skip_generic_op();
        }
        let name = self.ident("an operation")?;
        if matches!(name, "func.func" | "func" | "module" | "builtin.module") {
            return self.skip_symbol_op();
        }
        self.skip_line()
    }

    /// Skips `"name"(...)[...] <{...}> ({...}) {...} : (...) -> ... loc(...)`.
    fn skip_generic_op(&mut self) -> Res<Option<Box<str>>> {
        self.raw_string()?;
        if self.peek() != b'(' {
            return Err(self.expected("`(` after the name of an operation in generic form"));
        }
        self.skip_brackets()?;
        if self.peek() == b'[' {
            self.skip_brackets()?;
        }
        let mut attrs = NamedList::new();
        if self.eat("<") {
            self.dict(&mut attrs)?;
            self.expect(">")?;
        }
        if self.peek() == b'(' {
            self.skip_brackets()?;
        }
        self.opt_dict(&mut attrs)?;
        self.expect(":")?;
        self.functional_type()?;
        self.skip_loc()?;
        let Some(named) = take(&mut attrs, "sym_name") else { return Ok(None) };
        self.at_value(&named, |p| Ok(Some(p.text_string()?.into())))
    }

    /// Skips `public @name(...) -> ... attributes {...} {...} loc(...)` of a function or module, after the keyword.
    fn skip_symbol_op(&mut self) -> Res<Option<Box<str>>> {
        for word in ["public", "private", "nested"] {
            self.eat_word(word);
        }
        let name = if self.peek() == b'@' { Some(self.symbol()?.into()) } else { None };
        if self.peek() == b'(' {
            self.skip_brackets()?;
        }
        if self.eat("->") {
            if self.peek() == b'(' {
                self.skip_brackets()?;
            } else {
                self.skip_attr()?;
            }
        }
        if self.eat_word("attributes") {
            self.skip_brackets()?;
        }
        if self.peek() == b'{' {
            self.skip_brackets()?;
        }
        self.skip_loc()?;
        Ok(name)
    }

    fn skip_loc(&mut self) -> Res<()> {
        let pos = self.pos;
        if self.eat_word("loc") && self.peek() == b'(' {
            return self.skip_brackets();
        }
        self.cursor.pos = pos;
        Ok(())
    }

    /// Skips to the end of the line, or of the line on which the last bracket closes.
    fn skip_line(&mut self) -> Res<Option<Box<str>>> {
        let mut name = None;
        loop {
            match self.byte(0) {
                0 if self.pos >= self.cursor.text.len() => break,
                b'\n' | b'}' => break,
                b'"' => drop(self.raw_string()?),
                b'@' if name.is_none() => name = Some(self.symbol()?.into()),
                b'(' | b'[' | b'{' => self.skip_brackets()?,
                b if is_ident(b) => self.cursor.take_ident(),
                b'/' if self.byte(1) == b'/' => break,
                _ => self.cursor.pos += 1,
            }
        }
        let end = self.cursor.text.get(..self.pos).map_or(0, |text| text.trim_end().len());
        self.cursor.pos = end;
        Ok(name)
    }

    /// If only a nested module has functions, parses that module as the program and keeps the enclosing code as text.
    pub(super) fn enter_nested(&mut self) -> Res<()> {
        self.nested(|p| {
            if !p.module.funcs.is_empty() || p.module.enclosing.len() >= super::MAX_DEPTH as usize {
                return Ok(());
            }
            let places = std::mem::take(&mut p.places);
            let is_program =
                |place: &KeptPlace| place.is_module && holds_functions(p.slice(place.start, place.end));
            let Some(inner) = places.iter().position(is_program) else { return Ok(()) };
            let mut texts = Vec::with_capacity(places.len());
            for place in &places {
                texts.push(p.kept_text(place.start, place.end)?.into_boxed_str());
            }
            let below = texts.split_off(inner + 1);
            texts.truncate(inner);
            p.symbols.clear();
            p.missing_meshes.clear();
            p.models.clear();
            p.mesh_sites = None;
            let outer = std::mem::replace(&mut p.module, Module::new());
            p.module.enclosing = outer.enclosing;
            p.module.enclosing.push(Enclosing {
                name: outer.name,
                attrs: outer.attrs,
                loc: outer.loc,
                above: texts,
                below,
            });
            (p.module.types, p.module.locs, p.module.resources) = (outer.types, outer.locs, outer.resources);
            let Some(place) = places.get(inner) else { return Ok(()) };
            p.elsewhere(place.start, Self::any_module)
        })
    }
}
