//! The exponentially scaled modified Bessel function `i0e(x) = exp(-|x|) I0(x)`. The derivative of `bessel_i1e` uses `i0e`, but neither
//! StableHLO nor CHLO has an operation for `i0e`.
//!
//! For `x >= 0`, `i0e(x)` is computed by two Chebyshev series: a series of `i0e(x)` in `x / 4 - 1` if `x <= 8`, otherwise a series of
//! `sqrt(x) i0e(x)` in `16 / x - 1`. The function is even. The coefficients of the series are the discrete cosine transform of the function
//! at 60 Chebyshev nodes. The function values were computed with 70 decimal digits from the power series of `I0`, for `x > 90` from its
//! asymptotic expansion (DLMF 10.25.2, 10.40.1). Terms below `1e-18` are omitted.

use shardc_ir::{BinaryOp, CompareDirection, DType, Module, OpKind, TensorBuild, UnaryOp, ValueId};

use super::numbers::number;
use crate::emit::{Arithmetic, Emit};

/// Coefficients of the Chebyshev series of `i0e(x)` in `x / 4 - 1`, from degree zero.
const NEAR: [f64; 30] = [
    0.338_397_637_204_738_03,
    -0.304_682_672_343_198_4,
    0.171_620_901_522_208_77,
    -0.094_901_097_048_047_64,
    0.049_305_284_239_670_71,
    -0.023_737_414_805_899_47,
    0.010_546_460_394_594_998,
    -0.004_324_309_995_050_576,
    0.001_639_475_616_941_335_7,
    -0.000_576_375_574_538_582_4,
    0.000_188_502_885_095_841_65,
    -5.754_195_010_082_104e-05,
    1.644_844_807_072_889_6e-05,
    -4.416_738_358_458_750_5e-06,
    1.117_387_539_120_103_7e-06,
    -2.670_793_853_940_612e-07,
    6.046_995_022_541_919e-08,
    -1.300_025_009_986_248e-08,
    2.659_823_724_682_386_6e-09,
    -5.189_795_601_635_263e-10,
    9.675_809_035_373_237e-11,
    -1.726_826_291_441_556e-11,
    2.955_052_663_129_64e-12,
    -4.856_446_783_111_929e-13,
    7.676_185_498_604_936e-14,
    -1.168_533_287_799_345_1e-14,
    1.715_391_285_555_133e-15,
    -2.431_279_846_547_955e-16,
    3.330_794_518_822_238_4e-17,
    -4.415_341_646_479_339_5e-18,
];

/// Coefficients of the Chebyshev series of `sqrt(x) i0e(x)` in `16 / x - 1`, from degree zero.
const FAR: [f64; 26] = [
    0.402_245_205_507_054_4,
    0.003_369_116_478_255_694_3,
    6.889_758_346_916_825e-05,
    2.891_370_520_834_756_7e-06,
    2.048_918_589_469_063_8e-07,
    2.266_668_990_498_178e-08,
    3.396_232_025_708_386_5e-09,
    4.940_602_388_224_97e-10,
    1.188_914_710_784_643_9e-11,
    -3.149_916_527_963_241_6e-11,
    -1.321_581_184_044_771_3e-11,
    -1.794_178_531_506_806_2e-12,
    7.180_124_451_383_666e-13,
    3.852_778_382_742_142_6e-13,
    1.540_086_217_521_41e-14,
    -4.150_569_347_287_222e-14,
    -9.554_846_698_828_307e-15,
    3.811_680_669_352_622_4e-15,
    1.772_560_133_056_526_3e-15,
    -3.425_485_619_677_219e-16,
    -2.827_623_980_516_583_6e-16,
    3.461_222_867_697_461e-17,
    4.465_621_420_296_76e-17,
    -4.830_504_485_944_182e-18,
    -7.233_180_487_874_754e-18,
    1.193_650_890_845_982e-18,
];

/// The largest `|x|` for which the series with the coefficients [`NEAR`] is used; beyond it, [`FAR`] is used.
const BORDER: f64 = 8.0;

/// Emits `i0e(x)` element-wise for floats, in the same form as JAX, so that an `i0e` in the program is reused.
pub(super) fn i0e(e: &mut Emit<'_>, x: ValueId) -> ValueId {
    let dtype = e.type_of(x).dtype;
    // 16-bit types are too imprecise for summing a series.
    let wide = if dtype.bits() < 32 { DType::F32 } else { dtype };
    let x = e.convert(x, wide);
    let size = e.unary(UnaryOp::Abs, x);
    let (border, two) = (e.number(BORDER, size), e.number(2.0, size));
    let (half, far) = (e.number(0.5, size), e.number(32.0, size));
    let scaled = e.mul(half, size);
    let near = e.sub(scaled, two);
    let near = series(e, &NEAR, near);
    let ratio = e.div(far, size);
    let far = e.sub(ratio, two);
    let far = series(e, &FAR, far);
    let root = e.unary(UnaryOp::Sqrt, size);
    let far = e.div(far, root);
    let shape = e.type_of(size).shape;
    let is_near = e.tensor(OpKind::Compare(CompareDirection::LE, None), &[size, border], &shape, DType::I1);
    let value = e.alike_to(OpKind::Select, &[is_near, near, far], size);
    e.convert(value, dtype)
}

/// Emits the Chebyshev series in `twice / 2` by Clenshaw's recurrence. Terms that the element type cannot resolve are omitted.
fn series(e: &mut Emit<'_>, coefficients: &[f64], twice: ValueId) -> ValueId {
    let least = if e.type_of(twice).dtype == DType::F64 { 0.0 } else { 3e-9 };
    let count = coefficients.iter().rposition(|c| c.abs() > least).map_or(1, |last| last + 1);
    let zero = e.number(0.0, twice);
    let (mut last, mut before, mut one_before) = (zero, zero, zero);
    for (k, &c) in coefficients[..count].iter().enumerate().rev() {
        let c = e.number(if k == 0 { 2.0 * c } else { c }, twice);
        let next = e.mul(twice, last);
        let next = e.sub(next, before);
        (one_before, before, last) = (before, last, e.add(next, c));
    }
    let (half, difference) = (e.number(0.5, twice), e.sub(last, one_before));
    e.mul(half, difference)
}

/// Returns `x` if a value is `i0e(x)` in the form that [`i0e`] emits. Such a value is differentiated as a whole, since some operations of
/// the form have no derivative at zero, but `i0e` has one.
pub(super) fn argument_of_i0e(module: &Module, value: ValueId) -> Option<ValueId> {
    let &[is_near, near, far] = made(module, value, &OpKind::Select)? else { return None };
    let compare = &module.ops[module.def_op(is_near)?];
    let &[size, border] = compare.operands.as_slice() else { return None };
    if !matches!(compare.kind, OpKind::Compare(CompareDirection::LE, _)) || number(module, border)? != BORDER
    {
        return None;
    }
    let [far, root] = pair(module, far, BinaryOp::Divide)?;
    let &[of_root] = made(module, root, &OpKind::Unary(UnaryOp::Sqrt))? else {
        return None;
    };
    let [half, of_near] =
        pair(module, shifted(module, argument_of(module, near, &NEAR)?)?, BinaryOp::Multiply)?;
    let [above, of_far] = pair(module, shifted(module, argument_of(module, far, &FAR)?)?, BinaryOp::Divide)?;
    let is_it = [of_root, of_near, of_far] == [size; 3]
        && number(module, half)? == 0.5
        && number(module, above)? == 32.0;
    let &[x] = made(module, size, &OpKind::Unary(UnaryOp::Abs))? else { return None };
    is_it.then_some(x)
}

/// Returns `v` if `value` is `v - 2`.
fn shifted(module: &Module, value: ValueId) -> Option<ValueId> {
    let [v, two] = pair(module, value, BinaryOp::Subtract)?;
    (number(module, two)? == 2.0).then_some(v)
}

/// Returns the argument of a Chebyshev series if `value` is a series with the given coefficients.
fn argument_of(module: &Module, value: ValueId, coefficients: &[f64]) -> Option<ValueId> {
    let [half, difference] = pair(module, value, BinaryOp::Multiply)?;
    let [mut last, one_before] = pair(module, difference, BinaryOp::Subtract)?;
    let mut before = None;
    let mut of = None;
    let mut count = 0;
    for (k, &coefficient) in coefficients.iter().enumerate() {
        let [rest, c] = pair(module, last, BinaryOp::Add)?;
        let [product, next_but_one] = pair(module, rest, BinaryOp::Subtract)?;
        let [twice, next] = pair(module, product, BinaryOp::Multiply)?;
        let coefficient = if k == 0 { 2.0 * coefficient } else { coefficient };
        // The smallest coefficients of an `f64` series are within the rounding error of the others.
        let is_near = (number(module, c)? - coefficient).abs() <= 1e-6 * coefficient.abs() + 1e-18;
        let goes_on =
            before.is_none_or(|before| is_same(module, before, next)) && of.is_none_or(|of| of == twice);
        if !is_near || !goes_on || k == 0 && !is_same(module, next_but_one, one_before) {
            return None;
        }
        (of, before, last, count) = (Some(twice), Some(next_but_one), next, k + 1);
        if number(module, next).is_some() {
            break;
        }
    }
    let ends = [Some(last), before].iter().all(|&v| v.and_then(|v| number(module, v)) == Some(0.0));
    let is_all = coefficients[count..].iter().all(|c| c.abs() < 1e-8);
    (ends && is_all && number(module, half)? == 0.5).then_some(of?)
}

/// Returns the operands of the producer of `value`, if the producer is an operation of kind `kind`.
fn made<'a>(module: &'a Module, value: ValueId, kind: &OpKind) -> Option<&'a [ValueId]> {
    let data = &module.ops[module.def_op(value)?];
    (data.kind == *kind).then_some(data.operands.as_slice())
}

fn pair(module: &Module, value: ValueId, op: BinaryOp) -> Option<[ValueId; 2]> {
    made(module, value, &OpKind::Binary(op))?.try_into().ok()
}

/// Whether two values are the same value or equal constants: a scalar program has a separate constant for each zero in a series.
fn is_same(module: &Module, a: ValueId, b: ValueId) -> bool {
    a == b || number(module, a).is_some_and(|a| number(module, b) == Some(a))
}
