//! The block cipher Threefry-2x32 with 20 rounds (Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3", SC 2011).

use shardc_ir::DType;

use super::Key;
use crate::Tensor;

/// The rotation distance of the second word in each round; the two lists alternate.
const ROTATIONS: [[i64; 4]; 2] = [[13, 15, 26, 6], [17, 29, 16, 24]];

/// Parity constant of the key schedule: the third word of the key is the XOR of the first two words and this constant.
const PARITY: i64 = 0x1bd1_1bda;

/// Encrypts blocks of two words each.
#[track_caller]
pub(super) fn cipher<'g>(key: Key<'g>, first: Tensor<'g>, second: Tensor<'g>) -> (Tensor<'g>, Tensor<'g>) {
    let (k0, k1) = (key.words.at(0, 0), key.words.at(0, 1));
    let keys = [k0, k1, (k0 ^ k1) ^ PARITY];
    let (mut x, mut y) = (first + keys[0], second + keys[1]);
    for group in 0..5 {
        for by in ROTATIONS[group % 2] {
            x = x + y;
            y = (y.shift_left(by) | y.shift_right_logical(32 - by)) ^ x;
        }
        x = x + keys[(group + 1) % 3];
        y = y + (keys[(group + 2) % 3] + (group as i64 + 1));
    }
    (x, y)
}

/// Returns the encrypted row-major indices of the elements of a tensor of shape `shape`, as two words each.
#[track_caller]
pub(super) fn blocks<'g>(key: Key<'g>, shape: &[i64]) -> (Tensor<'g>, Tensor<'g>) {
    let g = key.words.graph();
    let count: i64 = shape.iter().fold(1, |n, &size| n.saturating_mul(size));
    let fits = count <= i64::from(u32::MAX) + 1;
    let dtype = if fits { DType::UI32 } else { DType::UI64 };
    // Counts each dimension separately, so that a device with a shard computes only the indices of that shard.
    let mut number = g.zeros(shape, dtype);
    let mut stride = 1;
    for (dim, &size) in shape.iter().enumerate().rev() {
        if size > 1 {
            let along = g.iota(shape, dim as i64, dtype);
            let along = if stride == 1 { along } else { along * stride };
            number = if stride == 1 { along } else { number + along };
            stride *= size;
        }
    }
    if fits {
        return cipher(key, number.zeros_like(), number);
    }
    let high = number.shift_right_logical(32).to(DType::UI32);
    cipher(key, high, number.to(DType::UI32))
}
