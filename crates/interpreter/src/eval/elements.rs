//! Element-wise operations, also on quantized elements and on many scalars at once.

use shardc_ir::{Attr, DType, Dense, Elements, OpId, OpKind};

use super::Device;
use crate::array::{Array, Dims};
use crate::error::Fault;
use crate::kernels::{bits, convert, elementwise, quant};
use crate::numbers::Domain;

/// The error for an operation with another number of operands.
fn operand<D: Domain>(operands: &[Array<D>], index: usize) -> Result<&Array<D>, Fault> {
    operands.get(index).ok_or_else(|| Fault::Invalid("too few operands".to_owned()))
}

impl<D: Domain> Device<'_, '_, D> {
    /// Evaluates an element-wise operation. The shape of the result is that of the operands, which may be more elements than the type says
    /// if the operation is evaluated on many elements at once.
    pub(super) fn elementwise(&self, op: OpId, operands: Vec<Array<D>>) -> Result<Array<D>, Fault> {
        let operands = self.dequantized(op, operands)?;
        let result = self.on_elements(op, &operands)?;
        if !self.is_real(op) {
            return Ok(result);
        }
        let mut results = self.quantized(op, vec![result])?;
        results.pop().ok_or_else(|| Fault::Internal("an element-wise operation without a result".to_owned()))
    }

    fn on_elements(&self, op: OpId, operands: &[Array<D>]) -> Result<Array<D>, Fault> {
        let kind = &self.module.ops[op].kind;
        let key = self.program.options.key;
        if let Some(first) = operands.first() {
            self.charge(first.len() as u64)?;
        }
        match kind {
            OpKind::Unary(unary) => elementwise::unary(*unary, operand(operands, 0)?, key),
            OpKind::Binary(binary) => {
                elementwise::binary(*binary, operand(operands, 0)?, operand(operands, 1)?, key)
            }
            OpKind::Compare(direction, how) => {
                elementwise::compare(*direction, *how, operand(operands, 0)?, operand(operands, 1)?)
            }
            OpKind::Select => {
                elementwise::select(operand(operands, 0)?, operand(operands, 1)?, operand(operands, 2)?)
            }
            OpKind::Clamp => {
                elementwise::clamp(operand(operands, 0)?, operand(operands, 1)?, operand(operands, 2)?)
            }
            OpKind::Convert => convert::convert(operand(operands, 0)?, self.result_dtype(op, 0)?),
            OpKind::BitcastConvert => bits::bitcast(operand(operands, 0)?, self.result_dtype(op, 0)?),
            OpKind::ReducePrecision { exponent_bits, mantissa_bits } => {
                elementwise::reduce_precision(operand(operands, 0)?, *exponent_bits, *mantissa_bits)
            }
            OpKind::UniformQuantize | OpKind::UniformDequantize => Ok(operand(operands, 0)?.clone()),
            OpKind::Constant(dense) => self.constant(op, dense),
            OpKind::ConstantLike(value) => {
                let dims = Dims::from_slice(operand(operands, 0)?.dims());
                let dtype = self.result_dtype(op, 0)?;
                self.charge_result(&dims, dtype)?;
                Array::full(dims, dtype, number(value)?)
            }
            other => Err(Fault::Internal(format!("{} is not element-wise", other.name()))),
        }
    }

    fn constant(&self, op: OpId, dense: &Dense) -> Result<Array<D>, Fault> {
        let (dims, dtype) = (self.static_dims(op, 0)?, self.stored_dtype(op)?);
        self.charge_result(&dims, dtype)?;
        match dense {
            Dense::Splat(bytes) => Array::from_bytes(&dims, dtype, bytes),
            Dense::Elements(bytes) => Array::from_bytes(&dims, dtype, bytes),
            Dense::Resource(key) => {
                let text = self.module.resources.as_deref().unwrap_or("");
                let bytes = resource(text, key);
                Array::from_bytes(
                    &dims,
                    dtype,
                    &bytes.ok_or_else(|| Fault::Invalid(format!("no resource {key}")))?,
                )
            }
            Dense::Raw(_) => Fault::unsupported("a constant that is not dense"),
        }
    }

    fn stored_dtype(&self, op: OpId) -> Result<DType, Fault> {
        let result = self.module.ops[op].results.first().and_then(|&value| self.module.stored(value));
        result
            .map(|ty| ty.dtype)
            .ok_or_else(|| Fault::Unsupported("a constant that is not a tensor".to_owned()))
    }

    /// Whether operands and results of an operation are converted to real numbers and back.
    fn is_real(&self, op: OpId) -> bool {
        self.has_quantized && self.module.ops[op].kind.def().elements == Elements::Real
    }

    /// Replaces quantized operands by the numbers that they represent, if the operation computes with real numbers.
    pub(super) fn dequantized(&self, op: OpId, operands: Vec<Array<D>>) -> Result<Vec<Array<D>>, Fault> {
        if !self.is_real(op) {
            return Ok(operands);
        }
        let values = &self.module.ops[op].operands;
        let real = |(array, &value): (Array<D>, _)| match self
            .module
            .types
            .as_quantized(self.module.values[value].ty)
        {
            Some(ty) => quant::dequantize(&array, &ty.element),
            None => Ok(array),
        };
        operands.into_iter().zip(values).map(real).collect()
    }

    /// Quantizes results, if the operation computes with real numbers.
    pub(super) fn quantized(&self, op: OpId, results: Vec<Array<D>>) -> Result<Vec<Array<D>>, Fault> {
        if !self.is_real(op) {
            return Ok(results);
        }
        let values = &self.module.ops[op].results;
        let stored = |(array, &value): (Array<D>, _)| match self
            .module
            .types
            .as_quantized(self.module.values[value].ty)
        {
            Some(ty) => quant::quantize(&array, &ty.element, ty.stored().dtype),
            None => Ok(array),
        };
        results.into_iter().zip(values).map(stored).collect()
    }
}

/// The number of an attribute such as `1.5 : f32`.
fn number(attr: &Attr) -> Result<f64, Fault> {
    match attr {
        Attr::Int(value, _) => Ok(*value as f64),
        Attr::Bool(value) => Ok(f64::from(u8::from(*value))),
        Attr::Raw(text) => {
            let (value, ty) = text.split_once(':').unwrap_or((text, ""));
            let dtype = DType::parse(ty.trim()).filter(|dtype| dtype.is_float());
            let number = match (value.trim().strip_prefix("0x"), dtype) {
                (Some(hex), Some(dtype)) => {
                    u64::from_str_radix(hex, 16).ok().map(|bits| crate::numbers::decode(dtype, bits))
                }
                _ => value.trim().parse().ok(),
            };
            number.ok_or_else(|| Fault::Unsupported(format!("the constant {text}")))
        }
        _ => Fault::unsupported("a constant that is not a number"),
    }
}

/// The bytes of a resource in the text of a resource section: hexadecimal digits, of which the first four bytes are the alignment.
fn resource(text: &str, key: &str) -> Option<Vec<u8>> {
    let at = text.find(&format!("{key}: \"0x")).or_else(|| text.find(&format!("\"{key}\": \"0x")))?;
    let rest = text.get(at..)?;
    let digits = rest.split_once("\"0x")?.1.split_once('"')?.0;
    let bytes: Option<Vec<u8>> =
        (4..digits.len() / 2).map(|i| u8::from_str_radix(digits.get(2 * i..2 * i + 2)?, 16).ok()).collect();
    bytes
}
