//! Discardable attributes in the canonical form in which MLIR prints them: numbers with types, lists of numbers,
//! constants, and attributes of StableHLO and CHLO.

use std::fmt::Write as _;

use shardc_ir::{Attr, DType, DTypeClass, Encoding, floats};

use super::Parser;
use super::types::bounds;
use crate::lexer::{Res, is_ident};
use crate::literals::dense;
use crate::literals::tokens::push_list;
use crate::syntax::AttrType;
use crate::syntax::values::push_generic;

/// Attributes that also occur as inherent attributes, with their types.
const TYPED: &[(&str, AttrType)] = &[
    ("#stablehlo.conv<", AttrType::Conv),
    ("#stablehlo.dot<", AttrType::Dot),
    ("#stablehlo.gather<", AttrType::Gather),
    ("#stablehlo.scatter<", AttrType::Scatter),
    ("#stablehlo.channel_handle<", AttrType::Channel),
    ("#chlo.ragged_dot<", AttrType::RaggedDot),
];

impl<'a> Parser<'a> {
    /// Returns the canonical text of the attribute `text`, which starts at the cursor and ends at `end`. Returns `None` if the attribute is
    /// kept as written. This includes attributes that cannot be parsed: the code that interprets them reports the errors.
    pub(super) fn canonical(&mut self, text: &str, end: usize) -> Option<String> {
        let start = self.pos;
        let out = if text.starts_with("dense<") || text.starts_with("dense_resource<") {
            self.quietly(|p| {
                let (dense, ty) = p.dense()?;
                let mut out = String::new();
                dense::push(&mut out, &p.module, &dense, Some(ty));
                Ok(out)
            })
        } else if text.starts_with("array<") {
            self.quietly(Self::array)
        } else if let Some(&(_, ty)) = TYPED.iter().find(|(prefix, _)| text.starts_with(prefix)) {
            self.quietly(|p| {
                let value = p.generic_value(ty)?;
                let mut out = String::new();
                push_generic(&mut out, &p.module, ty, &value, None);
                Ok(out)
            })
        } else if text.starts_with("#stablehlo.result_accuracy<") {
            self.quietly(Self::result_accuracy)
        } else if let Some(Some(bounds)) = bounds(text) {
            self.cursor.pos = end;
            Some(Encoding::Bounds(bounds).to_string())
        } else if text.starts_with("#stablehlo") || text.starts_with("#chlo") {
            self.cursor.pos = end;
            self.expand_text(text).ok().map(|text| tidy(&text))
        } else {
            return None;
        };
        let whole = self.pos == end;
        self.cursor.pos = start;
        out.filter(|_| whole)
    }

    /// Parses without reporting errors.
    fn quietly(&mut self, read: impl FnOnce(&mut Self) -> Res<String>) -> Option<String> {
        let last = self.last_dense;
        let out = read(self).ok();
        self.last_dense = last;
        out
    }

    /// Parses `array<i32: 1, 2>`.
    fn array(&mut self) -> Res<String> {
        self.expect_word("array")?;
        self.expect("<")?;
        let element = self.ident("an element type")?;
        let mut items = Vec::new();
        if self.eat(":") {
            self.list(">", |p| {
                let start = p.peek_pos();
                p.skip_attr()?;
                let item = p.slice(start, p.pos);
                items.push(match number(&format!("{item} : {element}")) {
                    Some(Attr::Int(value, _)) => value.to_string(),
                    Some(Attr::Bool(value)) => value.to_string(),
                    Some(Attr::Raw(text)) => text.split(" : ").next().unwrap_or_default().to_owned(),
                    _ => item.to_owned(),
                });
                Ok(())
            })?;
        } else {
            self.expect(">")?;
        }
        let mut out = format!("array<{element}");
        out.push_str(if items.is_empty() { "" } else { ": " });
        push_list(&mut out, &items, |out, item| out.push_str(item));
        out.push('>');
        Ok(out)
    }

    /// Parses `#stablehlo.result_accuracy<atol = 1.0e-05, ulps = 1, mode = ...>`. Returns it without zero members.
    fn result_accuracy(&mut self) -> Res<String> {
        self.expect("#stablehlo.result_accuracy<")?;
        let (mut atol, mut rtol, mut ulps, mut mode) = (String::new(), String::new(), 0, "DEFAULT");
        self.members(">", |p, name| {
            match name {
                "atol" | "rtol" => {
                    let bits = p.float(DType::F64)?;
                    let tolerance = if name == "atol" { &mut atol } else { &mut rtol };
                    tolerance.clear();
                    if bits << 1 != 0 {
                        floats::push(tolerance, DType::F64, bits);
                    }
                }
                "ulps" => ulps = p.int()?,
                "mode" => {
                    p.expect("#stablehlo.result_accuracy_mode<")?;
                    mode = p.ident("a mode")?;
                    p.expect(">")?;
                }
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        let mut out = String::from("#stablehlo.result_accuracy<");
        for (name, value) in [("atol", &atol), ("rtol", &rtol)] {
            if !value.is_empty() {
                let _ = write!(out, "{name} = {value}, ");
            }
        }
        if ulps != 0 {
            let _ = write!(out, "ulps = {ulps}, ");
        }
        let _ = write!(out, "mode = #stablehlo.result_accuracy_mode<{mode}>>");
        Ok(out)
    }
}

/// Parses a number with an optional type. As in MLIR, integers without a type are `i64`, floats `f64`, and signless integers are signed.
/// Returns `None` if `text` is not a number.
pub(super) fn number(text: &str) -> Option<Attr> {
    let (digits, ty) = match text.split_once(':') {
        Some((digits, ty)) => (digits.trim(), Some(ty.trim())),
        None => (text.trim(), None),
    };
    match digits {
        "true" | "false" => return Some(Attr::Bool(digits == "true")),
        _ => {}
    }
    let (negative, magnitude) = match digits.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, digits),
    };
    let hex = magnitude.strip_prefix("0x");
    let dtype = ty.and_then(DType::parse);
    if let Some(dtype) = dtype.filter(|dtype| dtype.is_float()).or((ty.is_none()).then_some(DType::F64)) {
        let bits = match hex {
            Some(hex) if ty.is_some() => u64::from_str_radix(hex, 16).ok(),
            Some(_) => None,
            None if magnitude.contains('.') => floats::encode(dtype, digits.parse().ok()?),
            None => None,
        };
        if let Some(bits) = bits {
            let mut out = String::new();
            floats::push(&mut out, dtype, bits);
            let _ = write!(out, " : {dtype}");
            return Some(Attr::Raw(out.into()));
        }
    }
    let magnitude = match hex {
        Some(hex) if hex.bytes().all(|b| b.is_ascii_hexdigit()) => i128::from_str_radix(hex, 16).ok()?,
        Some(_) => return None,
        None if magnitude.bytes().all(|b| b.is_ascii_digit()) => magnitude.parse().ok()?,
        None => return None,
    };
    let value = if negative { -magnitude } else { magnitude };
    let ty = ty.unwrap_or("i64");
    let dtype = DType::parse(ty);
    if dtype == Some(DType::I1) {
        return Some(Attr::Bool(value & 1 != 0));
    }
    let wrapped = match dtype.map(|dtype| (dtype.class(), dtype.bits())) {
        Some((DTypeClass::Signed, bits)) if value >> bits == 0 && value >= 1 << (bits - 1) => {
            value - (1 << bits)
        }
        _ => value,
    };
    Some(match i64::try_from(wrapped) {
        Ok(value) => Attr::Int(value, ty.into()),
        Err(_) => Attr::Raw(format!("{wrapped} : {ty}").into()),
    })
}

/// Normalizes the whitespace of an attribute as MLIR prints it: after commas, around `=`, and between words.
pub(super) fn tidy(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut quoted, mut escaped, mut blank) = (false, false, false);
    for c in text.chars() {
        if quoted {
            out.push(c);
            (quoted, escaped) = (c != '"' || escaped, c == '\\' && !escaped);
            continue;
        }
        if c.is_whitespace() {
            blank = true;
            continue;
        }
        let word = |c: char| c.is_ascii() && is_ident(c as u8);
        if blank && word(c) && out.chars().next_back().is_some_and(word) {
            out.push(' ');
        }
        blank = false;
        match c {
            ',' => out.push_str(", "),
            '=' => out.push_str(" = "),
            ':' => out.push_str(" : "),
            '"' => {
                quoted = true;
                out.push(c);
            }
            c => out.push(c),
        }
    }
    out
}
