//! Quantized element types, such as `!quant.uniform<i8:f32, 0.1:-30>`.

use shardc_ir::floats::power_of_two;
use shardc_ir::{DType, Diagnostic, FloatBits, Quant, QuantKind, QuantParams, QuantStorage, Span};
use smallvec::SmallVec;

use super::Parser;
use crate::codes;
use crate::lexer::{Failure, Res};

/// The widest storage type, in bits.
const MAX_STORAGE: u32 = 32;

impl Parser<'_> {
    /// Parses a quantized type; the cursor is at its `!`.
    pub(super) fn quant(&mut self) -> Res<Quant> {
        let start = self.peek_pos();
        self.expect("!")?;
        let name = self.ident("`quant.uniform`, `quant.any` or `quant.calibrated`")?;
        self.expect("<")?;
        let quant = match name {
            "quant.calibrated" => {
                let expressed = self.expressed()?;
                self.expect("<")?;
                let min = self.double()?;
                self.expect(":")?;
                let max = self.double()?;
                self.expect(">")?;
                Quant { storage: None, expressed: Some(expressed), kind: QuantKind::Calibrated { min, max } }
            }
            "quant.any" => {
                let storage = Some(self.storage()?);
                let expressed = if self.eat(":") { Some(self.expressed()?) } else { None };
                Quant { storage, expressed, kind: QuantKind::Any }
            }
            "quant.uniform" => {
                let storage = Some(self.storage()?);
                self.expect(":")?;
                let expressed = self.expressed()?;
                let kind = self.uniform()?;
                Quant { storage, expressed: Some(expressed), kind }
            }
            _ => return Err(bad(format!("there is no type `!{name}`"), self.span_from(start))),
        };
        self.expect(">")?;
        match fault(&quant) {
            Some(message) => Err(bad(message, self.span_from(start))),
            None => Ok(quant),
        }
    }

    /// Parses `, 0.1:-30`, `:1, {0.1:-30, 0.2}` or `:{0:2, 1:4}, {{0.1, 0.2}, {0.3, 0.4}}`.
    fn uniform(&mut self) -> Res<QuantKind> {
        if self.eat(",") {
            return Ok(QuantKind::PerTensor(self.quant_params()?));
        }
        self.expect(":")?;
        if self.eat("{") {
            let mut blocks = SmallVec::new();
            self.list("}", |p| {
                let axis = p.axis_number()?;
                p.expect(":")?;
                blocks.push((axis, p.int()?));
                Ok(())
            })?;
            self.expect(",")?;
            let (mut counts, mut params) = (Vec::new(), Vec::new());
            self.quant_nest(0, &mut counts, &mut params)?;
            let counts = counts.into_iter().map(|n| n.unwrap_or(0)).collect();
            return Ok(QuantKind::SubChannel { blocks, counts, params });
        }
        let axis = self.axis_number()?;
        self.expect(",")?;
        self.expect("{")?;
        let mut params = Vec::new();
        self.list("}", |p| {
            params.push(p.quant_params()?);
            Ok(())
        })?;
        Ok(QuantKind::PerAxis { axis, params })
    }

    fn quant_nest(
        &mut self,
        level: usize,
        counts: &mut Vec<Option<i64>>,
        params: &mut Vec<QuantParams>,
    ) -> Res<()> {
        if !self.eat("{") {
            if level < counts.len() {
                return Err(self.expected("lists of equal depth"));
            }
            params.push(self.quant_params()?);
            return Ok(());
        }
        if counts.len() == level {
            if !params.is_empty() {
                return Err(self.expected("lists of equal depth"));
            }
            counts.push(None);
        }
        let mut count = 0;
        self.list("}", |p| {
            count += 1;
            p.nested(|p| p.quant_nest(level + 1, counts, params))
        })?;
        let known = counts.get_mut(level).map(|known| *known.get_or_insert(count));
        if known == Some(count) { Ok(()) } else { Err(self.expected("lists of equal length")) }
    }

    fn quant_params(&mut self) -> Res<QuantParams> {
        let scale = self.double()?;
        let zero_point = if self.eat(":") { self.int()? } else { 0 };
        Ok(QuantParams { scale, zero_point })
    }

    fn double(&mut self) -> Res<FloatBits> {
        let span = self.token_span();
        match self.number_text().parse() {
            Ok(value) => Ok(FloatBits::new(value)),
            Err(_) => Err(bad("expected a number".to_owned(), span)),
        }
    }

    fn axis_number(&mut self) -> Res<i32> {
        let span = self.token_span();
        i32::try_from(self.int()?).map_err(|_| bad("a dimension number must fit in 32 bits".to_owned(), span))
    }

    fn expressed(&mut self) -> Res<Box<str>> {
        Ok(self.ident("the expressed type, such as `f32`")?.into())
    }

    /// Parses `i8`, `u8`, `i8<-127:127>`.
    fn storage(&mut self) -> Res<QuantStorage> {
        let span = self.token_span();
        let word = self.ident("an integer type such as `i8`")?;
        let signs = [("ui", false), ("si", true), ("i", true), ("u", false)];
        let parts = signs.iter().find_map(|&(prefix, signed)| Some((word.strip_prefix(prefix)?, signed)));
        let parts = parts.and_then(|(digits, signed)| Some((digits.parse::<u32>().ok()?, signed)));
        let Some((bits @ 1..=MAX_STORAGE, signed)) = parts else {
            let message = format!("`{word}` is not an integer type of at most {MAX_STORAGE} bits");
            return Err(bad(message, span));
        };
        let mut storage = QuantStorage::full(signed, bits);
        storage.si = word.starts_with("si");
        if self.eat("<") {
            let full = storage;
            storage.min = self.int()?;
            self.expect(":")?;
            storage.max = self.int()?;
            self.expect(">")?;
            if storage.min >= storage.max || storage.min < full.min || storage.max > full.max {
                let message = format!(
                    "the range {}:{} is empty or not within {}:{}",
                    storage.min, storage.max, full.min, full.max
                );
                return Err(bad(message, self.span_from(span.start as usize)));
            }
        }
        Ok(storage)
    }
}

fn bad(message: String, span: Span) -> Failure {
    Diagnostic::invalid(codes::TYPE, message).at(span).into()
}

/// Returns the error message for a type that follows the grammar but is invalid.
fn fault(quant: &Quant) -> Option<String> {
    let expressed = quant.expressed.as_deref();
    if let Some(expressed) = expressed
        && !matches!(expressed, "f80" | "f128")
        && !DType::parse(expressed).is_some_and(DType::is_float)
    {
        return Some(format!("the expressed type `{expressed}` must be a float type"));
    }
    for params in quant.params() {
        let scale = params.scale.value();
        if !(scale > 0.0 && scale.is_finite()) {
            return Some(format!("the scale {} is not a positive number", params.scale));
        }
        if let Some((least, greatest)) = quant.expressed_dtype().and_then(finite_range)
            && !(least..=greatest).contains(&scale)
        {
            let expressed = expressed.unwrap_or_default();
            return Some(format!("the scale {} is out of range for {expressed}", params.scale));
        }
    }
    match &quant.kind {
        QuantKind::PerAxis { axis, .. } if *axis < 0 => {
            Some(format!("the quantized dimension {axis} is negative"))
        }
        QuantKind::SubChannel { blocks, .. } => blocks.iter().find_map(|&(axis, size)| match (axis, size) {
            (..0, _) => Some(format!("the quantized dimension {axis} is negative")),
            (_, ..1) => Some(format!("the block size {size} is not positive")),
            _ => None,
        }),
        _ => None,
    }
}

/// Returns the smallest and the largest positive number of a float type.
fn finite_range(dtype: DType) -> Option<(f64, f64)> {
    Some(match dtype {
        DType::F16 => (power_of_two(-24), 65504.0),
        DType::BF16 => (power_of_two(-133), (2.0 - power_of_two(-7)) * power_of_two(127)),
        DType::F32 => (f64::from(f32::from_bits(1)), f64::from(f32::MAX)),
        _ => return None,
    })
}
