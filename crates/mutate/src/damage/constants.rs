//! Other constants.

use shardc_ir::Dense;

use crate::random::Random;

/// Changes one element of a constant: an integer by one, a float by a bit of its exponent or the first bit after the point.
pub(super) fn change(dense: &mut Dense, width: usize, is_float: bool, random: &mut Random) -> Option<()> {
    let mut bytes = match dense {
        Dense::Splat(bytes) => bytes.to_vec(),
        Dense::Elements(bytes) => bytes.to_vec(),
        Dense::Resource(_) | Dense::Raw(_) => return None,
    };
    let start = random.below(bytes.len().checked_div(width)?) * width;
    let element = bytes.get_mut(start..start + width)?;
    if is_float {
        // Bits 6 and 7 of the last but one byte are the last bit of the exponent and the first of the mantissa of most formats.
        let byte = element.get_mut(width.checked_sub(2)?)?;
        *byte ^= if random.below(2) == 0 { 0x80 } else { 0x40 };
    } else {
        let mut carry = if random.below(2) == 0 { 1u8 } else { 0xff };
        let step = carry;
        for byte in element {
            let (sum, overflows) = byte.overflowing_add(carry);
            *byte = sum;
            // One more carries on overflow; one less borrows unless it overflows.
            match (step, overflows) {
                (1, true) => carry = 1,
                (0xff, false) => carry = 0xff,
                _ => break,
            }
        }
    }
    *dense = match dense {
        Dense::Splat(_) => Dense::splat(&bytes),
        _ => Dense::compact(width, bytes),
    };
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_change_by_one() {
        for value in [0i32, 255, 256, -1, 7] {
            let mut found = Vec::new();
            for seed in 0..16 {
                let mut dense = Dense::splat(&value.to_le_bytes());
                change(&mut dense, 4, false, &mut Random::new(seed)).unwrap();
                let Dense::Splat(bytes) = dense else { panic!("{dense:?}") };
                found.push(i32::from_le_bytes(bytes.as_slice().try_into().unwrap()).wrapping_sub(value));
            }
            found.sort_unstable();
            found.dedup();
            assert_eq!(found, [-1, 1]);
        }
    }
}
