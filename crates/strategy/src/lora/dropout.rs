//! Dropout by a hash of each element's position: the mask is the same on every mesh, and needs no communication.

use shardc_ir::floats::power_of_two;
use shardc_ir::{
    BinaryOp, CompareDirection, CompareType, DType, OpKind, SizeList, SliceSpec, TensorBuild, ValueId,
};

/// Dropout with a probability, and the key: an argument of two words.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dropout {
    pub(super) probability: f64,
    pub(super) key: ValueId,
}

impl Dropout {
    /// Returns `x` with dropped elements set to zero, and the other elements scaled to preserve the mean. Each `stream` (the index of an
    /// adapter) and each row of a stack has its own mask.
    pub(super) fn apply<B: TensorBuild>(
        &self,
        build: &mut B,
        x: ValueId,
        stream: usize,
        rows: &[ValueId],
    ) -> Option<ValueId> {
        let ty = build.module().tensor(x)?.clone();
        let stream = words(build, stream as u32, &[]);
        let mut seed = self.word(build, 0);
        seed = hashed(build, seed, stream);
        for &row in rows {
            let row = build.convert(row, DType::UI32);
            seed = hashed(build, seed, row);
        }
        let mut bits = places(build, &ty.shape);
        for word in [seed, self.word(build, 1)] {
            let word = build.spread(word, [].into_iter().collect(), &ty.shape)?;
            bits = hashed(build, bits, word);
        }
        let limit = words(build, (self.probability * power_of_two(32)) as u32, &ty.shape);
        let is_kept = OpKind::Compare(CompareDirection::GE, Some(CompareType::Unsigned));
        let is_kept = build.tensor(is_kept, &[bits, limit], &ty.shape, DType::I1);
        let scale = build.full(1.0 / (1.0 - self.probability), x)?;
        let scaled = build.binary(BinaryOp::Multiply, x, scale);
        let zeros = build.zeros(&ty.shape, ty.dtype);
        Some(build.tensor(OpKind::Select, &[is_kept, scaled, zeros], &ty.shape, ty.dtype))
    }

    /// Returns a word of the key.
    fn word<B: TensorBuild>(&self, build: &mut B, i: i64) -> ValueId {
        let list = |n: i64| SizeList::from_slice(&[n]);
        let spec = SliceSpec { start: list(i), limit: list(i + 1), stride: list(1) };
        let one = build.tensor(OpKind::Slice(Box::new(spec)), &[self.key], &[1], DType::UI32);
        build.tensor(OpKind::Reshape, &[one], &[], DType::UI32)
    }
}

/// Creates a splat of one word.
fn words<B: TensorBuild>(build: &mut B, word: u32, shape: &[i64]) -> ValueId {
    build.splat(&word.to_le_bytes(), shape, DType::UI32)
}

/// Returns the row-major position of each element.
fn places<B: TensorBuild>(build: &mut B, shape: &[i64]) -> ValueId {
    let mut place = words(build, 0, shape);
    let mut stride: u32 = 1;
    for (dim, &size) in shape.iter().enumerate().rev() {
        let along = build.tensor(OpKind::Iota { dim: dim as u32 }, &[], shape, DType::UI32);
        let by = words(build, stride, shape);
        let along = build.binary(BinaryOp::Multiply, along, by);
        place = build.binary(BinaryOp::Add, place, along);
        stride = stride.wrapping_mul(size as u32);
    }
    place
}

/// Applies MurmurHash3's finalizer to the exclusive or: each bit of the result depends on all bits of both inputs.
fn hashed<B: TensorBuild>(build: &mut B, a: ValueId, b: ValueId) -> ValueId {
    let mut bits = build.binary(BinaryOp::Xor, a, b);
    let shape = build.module().shape(bits).to_vec();
    for (shift, factor) in [(16, Some(0x85eb_ca6b)), (13, Some(0xc2b2_ae35)), (16, None)] {
        let by = words(build, shift, &shape);
        let shifted = build.binary(BinaryOp::ShiftRightLogical, bits, by);
        bits = build.binary(BinaryOp::Xor, bits, shifted);
        if let Some(factor) = factor {
            let factor = words(build, factor, &shape);
            bits = build.binary(BinaryOp::Multiply, bits, factor);
        }
    }
    bits
}
