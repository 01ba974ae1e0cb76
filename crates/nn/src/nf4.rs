//! NF4: four-bit weights, whose sixteen values are quantiles of a normal distribution (Dettmers et al., "QLoRA", 2023).
//!
//! Weights, in memory order, form blocks of 64. Each weight is one of sixteen values times the absmax (largest magnitude) of its block.
//! With double quantization the absmax values are stored in eight bits, in blocks of 256. Payload and statistics match bitsandbytes bit
//! for bit.

use shardc_graph::{DType, Graph, Tensor};

/// Weights per block.
pub(crate) const BLOCK: i64 = 64;

/// Absmax values per nested block.
pub(crate) const NESTED_BLOCK: i64 = 256;

/// The values of the sixteen codes.
const VALUES: [f32; 16] = [
    -1.0,
    -0.696_192_8,
    -0.525_073_05,
    -0.394_917_5,
    -0.284_441_38,
    -0.184_773_43,
    -0.091_050_036,
    0.0,
    0.079_580_3,
    0.160_930_2,
    0.246_112_3,
    0.337_915_24,
    0.440_709_83,
    0.562_617,
    0.722_956_84,
    1.0,
];

/// Settings of NF4 quantization.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nf4 {
    /// Double quantization: whether the absmax of blocks is stored in eight bits.
    pub double: bool,
    /// The type that codes are packed in: `ui8`, or a type that is sharded and gathered like other parameters (`bnb_4bit_quant_storage`).
    pub storage: DType,
}

/// The default is double quantization, with codes packed in bytes.
impl Default for Nf4 {
    fn default() -> Self {
        Nf4 { double: true, storage: DType::UI8 }
    }
}

/// The arrays of NF4-quantized weights.
#[derive(Clone, Copy, Debug)]
pub struct Quantized<'g> {
    /// The four-bit codes, two per byte with the first in the upper half: `[blocks, 32 / bytes per storage element]`.
    pub payload: Tensor<'g>,
    /// The absmax of each block, `[blocks]`: `f32`, or `ui8` codes with double quantization.
    pub magnitudes: Tensor<'g>,
    /// With double quantization, the scale of each block of 256 absmax values, and the mean of all absmax values.
    pub nested: Option<(Tensor<'g>, Tensor<'g>)>,
}

impl Nf4 {
    /// Quantizes weights to the nearest of the sixteen values.
    ///
    /// Reports an error if the element type is not a float type, or the storage type does not have 8, 16 or 32 bits.
    #[must_use]
    #[track_caller]
    pub fn quantize<'g>(&self, weights: Tensor<'g>) -> Quantized<'g> {
        let (g, n) = (weights.graph(), weights.num_elements());
        let blocks = weights.to(DType::F32).reshape([n]).pad(0.0, &[0], &[(-n).rem_euclid(BLOCK)]);
        let blocks = blocks.reshape([-1, BLOCK]);
        let magnitudes = blocks.abs().amax(1);
        // Avoids 0 / 0: a block of zeros stays zero.
        let by = magnitudes.max(f64::from(f32::MIN_POSITIVE)).expand_dims(1);
        let codes = nearest(blocks / by, &VALUES);
        let pairs = codes.reshape([-1, BLOCK / 2, 2]);
        let bytes = (pairs.at(2, 0).shift_left(4) | pairs.at(2, 1)).to(DType::UI8);
        let payload = match self.per_byte() {
            Some(1) => bytes.bitcast(self.storage),
            Some(k) => bytes.reshape([-1, BLOCK / 2 / k, k]).bitcast(self.storage),
            None => g.refuse(&[weights], format!("4-bit weights cannot be stored as {}", self.storage)),
        };
        if !self.double {
            return Quantized { payload, magnitudes, nested: None };
        }
        let count = magnitudes.size(0);
        let offset = magnitudes.mean(..);
        let centred = (magnitudes - offset).pad(0.0, &[0], &[(-count).rem_euclid(NESTED_BLOCK)]);
        let centred = centred.reshape([-1, NESTED_BLOCK]);
        let scales = centred.abs().amax(1);
        let by = scales.max(f64::from(f32::MIN_POSITIVE)).expand_dims(1);
        let codes = nearest(centred / by, &dynamic_map()).to(DType::UI8);
        let magnitudes = codes.reshape([-1]).slice(0, ..count);
        Quantized { payload, magnitudes, nested: Some((scales, offset)) }
    }

    /// Dequantizes weights to this shape.
    ///
    /// Reports an error if the shape has a different number of elements than the quantized weights.
    #[must_use]
    #[track_caller]
    pub fn dequantize<'g>(&self, of: &Quantized<'g>, shape: &[i64], dtype: DType) -> Tensor<'g> {
        let g = of.payload.graph();
        let blocks = of.payload.size(0);
        let codes = self.codes(of.payload);
        let magnitudes = match of.nested {
            None => of.magnitudes,
            Some((scales, offset)) => {
                let values = g.constant(&dynamic_map(), [256]).take(of.magnitudes.to(DType::I32), 0);
                let by = scales.expand_dims(1).broadcast_to([scales.size(0), NESTED_BLOCK]);
                values * by.reshape([-1]).slice(0, ..blocks) + offset
            }
        };
        let numbers = (value_of(codes) * magnitudes.expand_dims(1)).to(dtype);
        let n: i64 = shape.iter().product();
        numbers.reshape([-1]).slice(0, ..n).reshape(shape)
    }

    /// Returns the four-bit codes of `[blocks, 64]`, as `ui8`.
    ///
    /// A matmul with a 0/1 matrix puts two copies of each byte next to each other. The matmul is exact because bytes fit in `bf16`. It
    /// needs 32 multiplications per weight, as many as the weights' own matmul for 32 tokens. The alternatives are worse. A trailing
    /// dimension of two would take 64 times the memory on a TPU, whose tiles have 128 columns. With padding between columns, the TPU
    /// compiler takes minutes.
    #[track_caller]
    fn codes<'g>(&self, payload: Tensor<'g>) -> Tensor<'g> {
        let (g, words) = (payload.graph(), payload.size(1));
        let word = match self.storage.bits() {
            32 => DType::UI32,
            16 => DType::UI16,
            _ => DType::UI8,
        };
        let packed = payload.bitcast(word);
        let per_word = BLOCK / 2 / words;
        // `bytes` contains the first byte of all storage elements, then the second byte of all elements, and so on.
        let byte = |i: i64| (packed.shift_right_logical(8 * i) & 255).to(DType::BF16);
        let bytes: Vec<Tensor<'g>> = (0..per_word).map(byte).collect();
        let is_there = |row: i64, column: i64| column / 2 == row % words * per_word + row / words;
        let places: Vec<f32> = (0..BLOCK / 2)
            .flat_map(|row| (0..BLOCK).map(move |column| f32::from(is_there(row, column))))
            .collect();
        let places = g.constant(&places, [BLOCK / 2, BLOCK]).to(DType::BF16);
        let twice = g.concatenate(&bytes, 1).matmul(places).to(DType::UI8);
        let is_first = (g.iota([BLOCK], 0, DType::UI8) & 1).eq(0);
        is_first.select(twice.shift_right_logical(4), twice & 15)
    }

    /// Returns the number of bytes per element of the storage type; `None` if the type does not have 8, 16 or 32 bits.
    pub(crate) fn per_byte(&self) -> Option<i64> {
        match self.storage.bits() {
            bits @ (8 | 16 | 32) => Some(i64::from(bits / 8)),
            _ => None,
        }
    }
}

/// Returns, for each number, the index of the nearest of the ascending values, as `ui32`; the lower index on a tie.
#[track_caller]
fn nearest<'g>(numbers: Tensor<'g>, values: &[f32]) -> Tensor<'g> {
    let g: &Graph = numbers.graph();
    let between = values.windows(2).map(|pair| f32::midpoint(pair[0], pair[1]));
    let zero = g.full(numbers.shape(), 0.0, DType::UI32);
    between.fold(zero, |place, limit| place + numbers.gt(f64::from(limit)).to(DType::UI32))
}

/// Returns the values of codes: a select on each bit, computed elementwise.
#[track_caller]
fn value_of(codes: Tensor<'_>) -> Tensor<'_> {
    let g = codes.graph();
    let mut level: Vec<Tensor<'_>> =
        VALUES.iter().map(|&value| g.full(codes.shape(), f64::from(value), DType::F32)).collect();
    for bit in 0..4 {
        let is_set = (codes & (1 << bit)).ne(0);
        level = level.chunks(2).map(|pair| is_set.select(pair[1], pair[0])).collect();
    }
    level[0]
}

/// Returns the values of eight-bit absmax codes, in ascending order. They form a dynamic data type with a sign, a power of ten, and a
/// fraction of zero to six bits, with more bits for larger powers (Dettmers, "8-Bit Approximations for Parallelism in Deep Learning",
/// 2016).
fn dynamic_map() -> [f32; 256] {
    let mut values = vec![0.0, 1.0];
    for digits in 0..7 {
        let count = 1 << digits;
        let power = 1.0 / f64::from(10u32.pow(6 - digits));
        for i in 0..count {
            let at = |i: i32| 0.1 + 0.9 * f64::from(i) / f64::from(count);
            let mean = f64::from(at(i) as f32 + at(i + 1) as f32) / 2.0;
            values.extend([(power * mean) as f32, (-power * mean) as f32]);
        }
    }
    values.sort_by(f32::total_cmp);
    let mut map = [0.0; 256];
    map.copy_from_slice(&values);
    map
}
