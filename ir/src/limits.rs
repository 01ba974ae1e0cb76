//! Limits on the size of a program. Within them, passes may add and multiply sizes without overflow checks.

use crate::DYNAMIC;

/// The largest number of devices of a mesh, a tile assignment or the replica groups of a program: 262,144 hosts with 4 devices.
///
/// Partitioning time does not depend on the number of devices, but permutes, manifests and replica groups that are written as lists name
/// every device: at this limit, one collective is eight megabytes of text.
pub const MAX_DEVICES: i64 = 1 << 20;

/// The largest number of elements of one dimension, and of bytes of one tensor: the memory of [`MAX_DEVICES`] devices with 64 GiB
/// each.
///
/// Sums of sizes, and sizes rounded up to a multiple of the devices, then fit into 64 bits.
pub const MAX_BYTES: i64 = 1 << 56;

/// The largest number of operations that inlining may create, in all functions of a program together. Real programs have some hundred
/// thousand operations; an IR of this many operations takes a few gigabytes.
pub const MAX_OPERATIONS: u64 = 1 << 20;

/// The largest number of operations of the entry function after inlining. In a larger program, functions with several calls are
/// partitioned separately, once for each combination of shardings of their calls.
///
/// Training steps with unrolled layers have fewer operations (80 layers of Llama: 67,000), so they are fully inlined, and operations are
/// planned together with their surroundings.
pub const INLINE_BUDGET: u64 = 1 << 17;

/// The error for a program with more than [`MAX_DEVICES`] devices, as part of a sentence.
#[must_use]
pub fn too_many_devices() -> String {
    format!("a program has at most {MAX_DEVICES} devices")
}

/// Describes, as part of a sentence, why the sizes of a tensor with elements of `element` bytes are invalid: a dimension or the tensor
/// exceeds [`MAX_BYTES`], or a size is negative. Dynamic dimensions count as 1. `None` if the sizes are valid.
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
    // Checked before sizes are multiplied: an empty tensor has no bytes, regardless of its other dimensions.
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
