//! Conversion between quantized elements and the real numbers that they represent.

use shardc_ir::{BinaryOp, DType, Quant, QuantKind, QuantParams, UnaryOp};

use super::convert::convert;
use super::elementwise::{binary, unary};
use super::moves::broadcast;
use crate::array::{Array, Data, Dims};
use crate::error::Fault;
use crate::numbers::Domain;

/// Scales and zero points, broadcast to a shape, as elements of type `dtype`.
fn params<D: Domain>(quant: &Quant, dims: &[usize], dtype: DType) -> Result<[Array<D>; 2], Fault> {
    let list = |f: &dyn Fn(&QuantParams) -> f64, params: &[QuantParams], to: &[usize], sizes: Dims| {
        let values: Vec<f64> = params.iter().map(f).collect();
        let small = Array::fitted(sizes, dtype, Data::from_numbers(dtype, &values)?)?;
        broadcast(&small, to, Dims::from_slice(dims))
    };
    let both = |params: &[QuantParams], to: &[usize], sizes: Dims| {
        let scales = list(&|p| p.scale.value(), params, to, sizes.clone())?;
        Ok([scales, list(&|p| p.zero_point as f64, params, to, sizes)?])
    };
    match &quant.kind {
        QuantKind::PerTensor(one) => both(std::slice::from_ref(one), &[], Dims::new()),
        QuantKind::PerAxis { axis, params } => {
            both(params, &[usize::try_from(*axis).unwrap_or(0)], Dims::from_slice(&[params.len()]))
        }
        QuantKind::SubChannel { .. } => Fault::unsupported("sub-channel quantization"),
        QuantKind::Any | QuantKind::Calibrated { .. } => Fault::unsupported("quantization without scales"),
    }
}

fn expressed(quant: &Quant) -> Result<DType, Fault> {
    quant
        .expressed_dtype()
        .ok_or_else(|| Fault::Unsupported("quantization without an expressed type".to_owned()))
}

/// The real numbers that storage integers represent, in the expressed type.
pub(crate) fn dequantize<D: Domain>(a: &Array<D>, quant: &Quant) -> Result<Array<D>, Fault> {
    let dtype = expressed(quant)?;
    let [scale, zero] = params(quant, a.dims(), dtype)?;
    let centered = binary(BinaryOp::Subtract, &convert(a, dtype)?, &zero, 0)?;
    binary(BinaryOp::Multiply, &centered, &scale, 0)
}

/// The storage integers, in the type `storage`, nearest to real numbers of the expressed type.
pub(crate) fn quantize<D: Domain>(a: &Array<D>, quant: &Quant, storage: DType) -> Result<Array<D>, Fault> {
    let dtype = expressed(quant)?;
    let a = convert(a, dtype)?;
    let [scale, zero] = params(quant, a.dims(), dtype)?;
    let scaled = binary(BinaryOp::Divide, &a, &scale, 0)?;
    let shifted = binary(BinaryOp::Add, &scaled, &zero, 0)?;
    let Some(range) = quant.storage else { return Fault::unsupported("quantization without a storage type") };
    let bound = |value: i64| Array::full(Dims::from_slice(a.dims()), dtype, value as f64);
    let raised = binary(BinaryOp::Maximum, &shifted, &bound(range.min)?, 0)?;
    let clamped = binary(BinaryOp::Minimum, &raised, &bound(range.max)?, 0)?;
    convert(&unary(UnaryOp::RoundNearestEven, &clamped, 0)?, storage)
}
