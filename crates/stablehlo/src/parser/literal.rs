//! Numbers among attributes, in the one form in which MLIR prints them.

use std::fmt::Write as _;

use shardc_ir::{Attr, DType};

use super::Parser;
use crate::{floats, printer};

impl<'a> Parser<'a> {
    /// The number that ends at `end`. In an array MLIR leaves the types `i64` and `f64` out.
    pub(super) fn number(&mut self, text: &'a str, end: usize, in_array: bool) -> Attr {
        let (digits, ty) = match text.split_once(':') {
            Some((digits, ty)) => (digits.trim_end(), ty.trim()),
            None => (text, ""),
        };
        let has_point = digits.contains('.');
        if let Some(value) = int_value(digits).filter(|_| !has_point && !ty.starts_with(['f', 'b', 't'])) {
            let ty = match (ty, in_array) {
                ("i64", true) => "",
                ("", false) => "i64",
                (ty, _) => ty,
            };
            return Attr::Int(value, ty.into());
        }
        let dtype = DType::parse(if ty.is_empty() { "f64" } else { ty }).filter(|dtype| dtype.is_float());
        let Some(dtype) = dtype.filter(|_| has_point || digits.starts_with("0x")) else {
            return Attr::Raw(text.into());
        };
        let bits = self.float(dtype).ok();
        self.cursor.pos = end;
        let Some(bits) = bits else { return Attr::Raw(text.into()) };
        let mut out = String::new();
        floats::push(&mut out, dtype, bits);
        if !(in_array && dtype == DType::F64) {
            let _ = write!(out, " : {dtype}");
        }
        Attr::Raw(out.into())
    }

    /// `dense<...> : type` and `array<type: ...>`; `None` for elements of which shardc does not know the type.
    pub(super) fn elements_attr(&mut self, text: &str) -> Option<Attr> {
        if text.starts_with("dense") {
            let last = self.last_dense.take();
            let read = self.dense();
            self.last_dense = last;
            let (dense, ty) = read.ok()?;
            let mut out = String::new();
            printer::dense::push(&mut out, &self.module, &dense, Some(ty));
            return Some(Attr::Raw(out.into()));
        }
        let (ty, items) = text.strip_prefix("array<")?.strip_suffix('>')?.split_once(':')?;
        let dtype = DType::parse(ty.trim())?;
        let start = self.pos + "array<".len() + ty.len() + 1;
        let mut out = format!("array<{dtype}: ");
        let mut first = true;
        for item in items.split(',') {
            if !std::mem::take(&mut first) {
                out.push_str(", ");
            }
            if dtype.is_float() {
                let at = start + (item.as_ptr() as usize).checked_sub(items.as_ptr() as usize)?;
                let bits = self.elsewhere(at, |p| p.float(dtype)).ok()?;
                floats::push(&mut out, dtype, bits);
            } else {
                out.push_str(item.trim());
            }
        }
        out.push('>');
        Some(Attr::Raw(out.into()))
    }
}

fn int_value(digits: &str) -> Option<i64> {
    let (negative, rest) = digits.strip_prefix('-').map_or((false, digits), |rest| (true, rest));
    let Some(hex) = rest.strip_prefix("0x") else { return digits.parse().ok() };
    let value = i64::from_str_radix(hex, 16).ok()?;
    Some(if negative { -value } else { value })
}
