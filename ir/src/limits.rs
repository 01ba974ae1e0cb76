//! Limits on the size of a program. What these limits admit, passes may add up and multiply without checking each step.

use crate::DYNAMIC;

/// Most devices of a mesh, of a tile assignment or of a replica group's program, whoever writes it: 262,144 hosts of 4.
///
/// Partitioning takes as long for many devices as for few, but permutes, manifests and replica groups that are written as lists
/// name every device: of so many, one collective is eight megabytes of text.
pub const MAX_DEVICES: i64 = 1 << 20;

/// Most elements of one dimension, and most bytes of one tensor: what [`MAX_DEVICES`] devices of 256 GiB have together.
///
/// Sums of sizes, and sizes rounded up to a multiple of the devices, then fit 64 bits.
pub const MAX_BYTES: i64 = 1 << 56;

/// Most operations that inlining calls makes, in all functions of a program together. Real programs have some hundred thousand;
/// so many take a few gigabytes.
pub const MAX_OPERATIONS: u64 = 1 << 20;

/// Most operations that the entry function may have once all its calls are inlined: in a larger program, functions that are
/// called often are partitioned by themselves, once for each of the shardings that they are called with.
///
/// More than the programs of one training step have with their layers written out (80 of Llama's: 67,000), since what is inlined
/// is planned together with its surroundings.
pub const INLINE_BUDGET: u64 = 1 << 17;

/// Why a mesh or tile assignment is refused, as part of a sentence.
#[must_use]
pub fn too_many_devices() -> String {
    format!("a program has at most {MAX_DEVICES} devices")
}

/// What is wrong with the sizes of a tensor whose elements take `element` bytes each, as part of a sentence: a dimension or
/// the whole is beyond [`MAX_BYTES`], or a size is negative. Dimensions of unknown size count as one.
#[must_use]
pub fn size_fault(shape: &[i64], element: i64) -> Option<String> {
    let known = || shape.iter().copied().enumerate().filter(|&(_, n)| n != DYNAMIC);
    if let Some((dim, n)) = known().find(|&(_, n)| !(0..=MAX_BYTES).contains(&n)) {
        return Some(if n < 0 {
            format!("dimension {dim} has the negative size {n}")
        } else {
            format!("dimension {dim} has {n} elements, at most 2^56 are possible")
        });
    }
    // Before the product: an empty tensor has no bytes, however large its other dimensions are.
    if known().any(|(_, n)| n == 0) {
        return None;
    }
    let bytes = known().try_fold(element, |bytes, (_, n)| bytes.checked_mul(n).filter(|&n| n <= MAX_BYTES));
    bytes.is_none().then(|| "it has more than 2^56 bytes (64 PiB)".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_end_at_the_limit() {
        let fault = |shape: &[i64], element| size_fault(shape, element).unwrap_or_default();
        assert_eq!(fault(&[MAX_BYTES], 1), "");
        assert_eq!(fault(&[DYNAMIC, 1 << 28, 1 << 26], 4), "");
        assert_eq!(fault(&[0, MAX_BYTES, MAX_BYTES], 16), "", "no element, no byte");
        assert!(fault(&[MAX_BYTES + 1], 1).starts_with("dimension 0 has 72057594037927937 elements"));
        assert!(fault(&[0, i64::MAX], 4).starts_with("dimension 1 has 9223372036854775807 elements"));
        assert_eq!(fault(&[-3], 4), "dimension 0 has the negative size -3");
        assert_eq!(fault(&[1 << 28, 1 << 28], 4), "it has more than 2^56 bytes (64 PiB)");
        assert_eq!(fault(&[1 << 40, 1 << 40, 1 << 40], 4), "it has more than 2^56 bytes (64 PiB)");
    }
}
