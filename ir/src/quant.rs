//! Quantized element types: integers that represent real numbers.
//!
//! Source: MLIR's `quant` dialect. Inference and the verifier check StableHLO's constraints (ranges, the same granularity for all
//! operands, ...).

use std::fmt;

use smallvec::SmallVec;

use crate::shape::write_shape;
use crate::{DType, DYNAMIC, Encoding, Shape, TensorType, floats};

/// A ranked tensor of quantized elements.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct QuantTensor {
    /// Sizes in elements; [`DYNAMIC`] where unknown.
    pub shape: Shape,
    /// Element type.
    pub element: Quant,
    /// The encoding attribute.
    pub encoding: Option<Encoding>,
}

/// A quantized element type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Quant {
    /// The storage type; `None` for [`QuantKind::Calibrated`], which has none.
    pub storage: Option<QuantStorage>,
    /// The expressed type, as MLIR spells it (`f32`); `None` if [`QuantKind::Any`] omits it.
    pub expressed: Option<Box<str>>,
    /// The mapping between storage and expressed values.
    pub kind: QuantKind,
}

/// The storage type: integers in a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct QuantStorage {
    /// Whether the integers are signed.
    pub signed: bool,
    /// Whether the type is spelled `si8` instead of `i8`: MLIR distinguishes them, and StableHLO uses `i8`.
    pub si: bool,
    /// The number of bits.
    pub bits: u32,
    /// The least value of a storage integer.
    pub min: i64,
    /// The greatest value of a storage integer.
    pub max: i64,
}

/// A 64-bit float that is compared bitwise.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct FloatBits(u64);

/// Scale and zero point: a storage integer `q` represents `(q - zero_point) * scale`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct QuantParams {
    /// The scale.
    pub scale: FloatBits,
    /// The zero point.
    pub zero_point: i64,
}

/// How storage integers map to real numbers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum QuantKind {
    /// `!quant.any`: unspecified.
    Any,
    /// `!quant.calibrated`: only the range of the values is known.
    Calibrated {
        /// The least value.
        min: FloatBits,
        /// Greatest value.
        max: FloatBits,
    },
    /// One scale for the tensor.
    PerTensor(QuantParams),
    /// One scale for each index of a dimension.
    PerAxis {
        /// The dimension of which each index has its own scale.
        axis: i32,
        /// Scale and zero point of each index.
        params: Vec<QuantParams>,
    },
    /// One scale for each block of the tensor.
    SubChannel {
        /// The blocked dimensions, with their block sizes.
        blocks: SmallVec<[(i32, i64); 2]>,
        /// Number of blocks per dimension.
        counts: SmallVec<[i64; 4]>,
        /// Scale and zero point of each block, row-major.
        params: Vec<QuantParams>,
    },
}

impl FloatBits {
    /// Wraps a float, keeping its bits: NaNs compare equal to themselves, and zero differs from minus zero.
    #[must_use]
    pub fn new(value: f64) -> Self {
        FloatBits(value.to_bits())
    }

    /// Returns the value of the float.
    #[must_use]
    pub fn value(self) -> f64 {
        f64::from_bits(self.0)
    }
}

impl fmt::Debug for FloatBits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.value())
    }
}

impl fmt::Display for FloatBits {
    /// Writes the float as MLIR prints `f64` attributes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        floats::push(&mut text, DType::F64, self.0);
        f.write_str(&text)
    }
}

impl QuantStorage {
    /// Returns a storage type with the full range of its width, which is 1 to 32 bits.
    #[must_use]
    pub fn full(signed: bool, bits: u32) -> Self {
        let (min, max) = Self::range(signed, bits);
        QuantStorage { signed, si: false, bits, min, max }
    }

    fn range(signed: bool, bits: u32) -> (i64, i64) {
        // MLIR allows 1 to 32 bits. The clamp keeps the shifts below defined for a type that the verifier has not rejected yet.
        let bits = bits.clamp(1, 62);
        if signed { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) }
    }

    /// Whether a constant with elements of the type `literal` may have this storage type. MLIR prints both `ui8` and an unsigned `i8` as
    /// `u8`, so constants of `u8` may have either storage type.
    #[must_use]
    pub fn may_be(self, literal: DType) -> bool {
        match self.dtype() {
            Some(dtype) if literal == dtype => true,
            Some(_) => !self.signed && Self { signed: true, ..self }.dtype() == Some(literal),
            None => true,
        }
    }

    /// Returns the element type of a constant with this storage type; `None` for widths without element type.
    #[must_use]
    pub fn dtype(self) -> Option<DType> {
        Some(match (self.signed, self.bits) {
            (true, 2) => DType::I2,
            (true, 4) => DType::I4,
            (true, 8) => DType::I8,
            (true, 16) => DType::I16,
            (true, 32) => DType::I32,
            (true, 64) => DType::I64,
            (false, 2) => DType::UI2,
            (false, 4) => DType::UI4,
            (false, 8) => DType::UI8,
            (false, 16) => DType::UI16,
            (false, 32) => DType::UI32,
            (false, 64) => DType::UI64,
            _ => return None,
        })
    }
}

impl fmt::Display for QuantStorage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let prefix = match (self.signed, self.si) {
            (true, true) => "si",
            (true, false) => "i",
            (false, _) => "u",
        };
        write!(f, "{prefix}{}", self.bits)?;
        if Self::range(self.signed, self.bits) != (self.min, self.max) {
            write!(f, "<{}:{}>", self.min, self.max)?;
        }
        Ok(())
    }
}

impl fmt::Display for QuantParams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.scale)?;
        if self.zero_point != 0 { write!(f, ":{}", self.zero_point) } else { Ok(()) }
    }
}

impl Quant {
    /// Returns scales and zero points: one pair for the tensor, one for each index of [`Quant::axis`], or one for each block, row-major.
    #[must_use]
    pub fn params(&self) -> &[QuantParams] {
        match &self.kind {
            QuantKind::Any | QuantKind::Calibrated { .. } => &[],
            QuantKind::PerTensor(params) => std::slice::from_ref(params),
            QuantKind::PerAxis { params, .. } | QuantKind::SubChannel { params, .. } => params,
        }
    }

    /// Returns the quantized dimension; `None` unless the quantization is per axis.
    #[must_use]
    pub fn axis(&self) -> Option<i32> {
        match self.kind {
            QuantKind::PerAxis { axis, .. } => Some(axis),
            _ => None,
        }
    }

    /// Returns the expressed type as a [`DType`]; `None` if the type is omitted or has no `DType`.
    #[must_use]
    pub fn expressed_dtype(&self) -> Option<DType> {
        DType::parse(self.expressed.as_deref()?)
    }
}

impl fmt::Display for Quant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.kind {
            QuantKind::Any => "!quant.any<",
            QuantKind::Calibrated { .. } => "!quant.calibrated<",
            _ => "!quant.uniform<",
        })?;
        if let Some(storage) = self.storage {
            write!(f, "{storage}")?;
        }
        if let Some(expressed) = &self.expressed {
            write!(f, "{}{expressed}", if self.storage.is_some() { ":" } else { "" })?;
        }
        match &self.kind {
            QuantKind::Any => {}
            QuantKind::Calibrated { min, max } => write!(f, "<{min}:{max}>")?,
            QuantKind::PerTensor(params) => write!(f, ", {params}")?,
            QuantKind::PerAxis { axis, params } => {
                write!(f, ":{axis}, {{")?;
                for (i, params) in params.iter().enumerate() {
                    write!(f, "{}{params}", if i > 0 { "," } else { "" })?;
                }
                f.write_str("}")?;
            }
            QuantKind::SubChannel { blocks, counts, params } => {
                f.write_str(":{")?;
                for (i, (axis, size)) in blocks.iter().enumerate() {
                    write!(f, "{}{axis}:{size}", if i > 0 { ", " } else { "" })?;
                }
                f.write_str("}, ")?;
                write_nested(f, counts, params)?;
            }
        }
        f.write_str(">")
    }
}

/// Writes `{{1.0, 2.0}, {3.0:1, 4.0:9}}`: opens braces before the first element of each group, and closes them after the last. The loop
/// replaces recursion, which could overflow the stack: the rank in a text is not limited.
fn write_nested(f: &mut fmt::Formatter<'_>, counts: &[i64], params: &[QuantParams]) -> fmt::Result {
    // For each nesting level, the number of elements in one group, innermost first.
    let mut sizes: SmallVec<[usize; 4]> = SmallVec::new();
    let mut size = 1usize;
    for &count in counts.iter().rev() {
        size = size.saturating_mul(usize::try_from(count).unwrap_or(0)).max(1);
        sizes.push(size);
    }
    for (i, params) in params.iter().enumerate() {
        if i > 0 {
            f.write_str(", ")?;
        }
        for _ in sizes.iter().filter(|&&size| i % size == 0) {
            f.write_str("{")?;
        }
        write!(f, "{params}")?;
        for _ in sizes.iter().filter(|&&size| (i + 1) % size == 0) {
            f.write_str("}")?;
        }
    }
    Ok(())
}

impl QuantTensor {
    /// Number of dimensions.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.shape.len()
    }

    /// Returns the tensor type as stored in memory: the element type is the storage type or, if no element type has its width, the next
    /// wider one.
    #[must_use]
    pub fn stored(&self) -> TensorType {
        let widest = QuantStorage::full(true, 32);
        let storage = self.element.storage.unwrap_or(widest);
        let widths = [2, 4, 8, 16, 32, 64].into_iter().filter(|&bits| bits >= storage.bits);
        let mut fitting = widths.filter_map(|bits| QuantStorage { bits, ..storage }.dtype());
        let dtype = fitting.next().unwrap_or(DType::I32);
        TensorType { shape: self.shape.clone(), dtype, encoding: self.encoding.clone() }
    }

    /// Whether indices of this dimension have their own scales, so that its slices have different types.
    #[must_use]
    pub fn scales_along(&self, dim: usize) -> bool {
        let is = |axis: i32| usize::try_from(axis) == Ok(dim);
        match &self.element.kind {
            QuantKind::PerAxis { axis, .. } => is(*axis),
            QuantKind::SubChannel { blocks, .. } => blocks.iter().any(|&(axis, _)| is(axis)),
            QuantKind::Any | QuantKind::Calibrated { .. } | QuantKind::PerTensor(_) => false,
        }
    }

    /// Returns the number of elements; `None` if a dimension is dynamic or the product overflows.
    #[must_use]
    pub fn num_elements(&self) -> Option<i64> {
        self.shape.iter().try_fold(1i64, |acc, &n| if n == DYNAMIC { None } else { acc.checked_mul(n) })
    }
}

impl fmt::Display for QuantTensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("tensor<")?;
        write_shape(f, &self.shape)?;
        write!(f, "{}", self.element)?;
        if let Some(encoding) = &self.encoding {
            write!(f, ", {encoding}")?;
        }
        f.write_str(">")
    }
}
