//! Random bits from a state: the counter-based generators Threefry2x32 and Philox4x32 (Salmon et al., SC 2011), with the states and the
//! order of elements that XLA uses.
//!
//! Both states begin with the key. Threefry has a counter of 64 bits, and Philox one of 128 bits, whose high half is the key if the state has
//! two words. Elements narrower than 32 bits take the low bits of 32 random bits.

use shardc_ir::{DType, RngAlgorithm};

use crate::array::{Array, Data, Dims, count};
use crate::error::Fault;
use crate::numbers::Domain;

/// Returns the new state, and random bits as elements of `dtype`.
pub(crate) fn generate<D: Domain>(
    state: &Array<D>,
    algorithm: RngAlgorithm,
    dims: Dims,
    dtype: DType,
) -> Result<[Array<D>; 2], Fault> {
    let words = state.to_integers().unwrap_or_default();
    let mut words: Vec<u64> = words.into_iter().map(|word| word as u64).collect();
    let len = count(&dims)?;
    let wide = dtype.bits() > 32;
    let bits = match (algorithm, words.as_mut_slice()) {
        (RngAlgorithm::ThreeFry, [key, counter, ..]) => {
            let (bits, used) =
                if wide { threefry_wide(*key, *counter, len) } else { threefry(*key, *counter, &dims) };
            *counter = counter.wrapping_add(used);
            bits
        }
        (RngAlgorithm::Philox | RngAlgorithm::Default, [key, rest @ ..]) if !rest.is_empty() => {
            let high = rest.get(1).copied().unwrap_or(*key);
            let counter = u128::from(rest[0]) | (u128::from(high) << 64);
            let (bits, counter) = philox(*key, counter, len, wide);
            rest[0] = counter as u64;
            if let Some(high) = rest.get_mut(1) {
                *high = (counter >> 64) as u64;
            }
            bits
        }
        _ => return Fault::unsupported("a generator state of fewer than two words"),
    };
    let mask = u64::MAX >> (64 - dtype.bits().clamp(1, 64));
    let bits: Vec<u64> = bits.into_iter().map(|bits| bits & mask).collect();
    let state =
        Array::new(Dims::from_slice(state.dims()), state.dtype(), Data::from_words(state.dtype(), &words)?)?;
    Ok([state, Array::new(dims, dtype, Data::from_words(dtype, &bits)?)?])
}

fn halves(word: u64) -> [u32; 2] {
    [word as u32, (word >> 32) as u32]
}

fn joined(low: u32, high: u32) -> u64 {
    u64::from(low) | (u64::from(high) << 32)
}

/// Threefry2x32 with 20 rounds.
fn threefry2x32(counter: [u32; 2], key: [u32; 2]) -> [u32; 2] {
    const ROTATIONS: [[u32; 4]; 2] = [[13, 15, 26, 6], [17, 29, 16, 24]];
    const PARITY: u32 = 0x1bd1_1bda;
    let keys = [key[0], key[1], PARITY ^ key[0] ^ key[1]];
    let [mut a, mut b] = [counter[0].wrapping_add(keys[0]), counter[1].wrapping_add(keys[1])];
    for block in 0..5 {
        for rotation in ROTATIONS[block % 2] {
            a = a.wrapping_add(b);
            b = a ^ b.rotate_left(rotation);
        }
        a = a.wrapping_add(keys[(block + 1) % 3]);
        b = b.wrapping_add(keys[(block + 2) % 3]).wrapping_add(block as u32 + 1);
    }
    [a, b]
}

/// Philox4x32 with 10 rounds.
fn philox4x32(counter: [u32; 4], key: [u32; 2]) -> [u32; 4] {
    const FACTORS: [u64; 2] = [0xd251_1f53, 0xcd9e_8d57];
    const STEPS: [u32; 2] = [0x9e37_79b9, 0xbb67_ae85];
    let ([mut a, mut b, mut c, mut d], [mut k, mut l]) = (counter, key);
    for _ in 0..10 {
        let [low, high] = halves(u64::from(a) * FACTORS[0]);
        let [other_low, other_high] = halves(u64::from(c) * FACTORS[1]);
        [a, b, c, d] = [other_high ^ b ^ k, other_low, high ^ d ^ l, low];
        k = k.wrapping_add(STEPS[0]);
        l = l.wrapping_add(STEPS[1]);
    }
    [a, b, c, d]
}

/// Random bits for 64-bit elements, and the number of counters that were used.
fn threefry_wide(key: u64, counter: u64, len: usize) -> (Vec<u64>, u64) {
    let word = |i: u64| {
        let [low, high] = threefry2x32(halves(counter.wrapping_add(i)), halves(key));
        joined(low, high)
    };
    ((0..len as u64).map(word).collect(), len as u64)
}

/// Random bits for 32-bit elements. Each counter gives two elements, which are adjacent along one dimension: the first of even size, or
/// else the first of the largest size.
fn threefry(key: u64, counter: u64, dims: &[usize]) -> (Vec<u64>, u64) {
    let split = dims.iter().position(|n| n.is_multiple_of(2)).or_else(|| {
        let largest = dims.iter().max()?;
        dims.iter().position(|n| n == largest)
    });
    let Some(split) = split else {
        return (vec![u64::from(threefry2x32(halves(counter), halves(key))[0])], 1);
    };
    let inner: usize = dims[split + 1..].iter().product();
    let outer: usize = dims[..split].iter().product();
    let pairs = dims[split].div_ceil(2);
    let mut bits = Vec::with_capacity(outer * dims[split] * inner);
    for block in 0..outer {
        for at in 0..dims[split] {
            for column in 0..inner {
                let index = ((block * pairs + at / 2) * inner + column) as u64;
                let words = threefry2x32(halves(counter.wrapping_add(index)), halves(key));
                bits.push(u64::from(words[at % 2]));
            }
        }
    }
    (bits, (outer * pairs * inner) as u64)
}

/// Random bits, and the next counter. Each counter gives four elements of 32 bits or two of 64 bits.
fn philox(key: u64, counter: u128, len: usize, wide: bool) -> (Vec<u64>, u128) {
    let per_counter = if wide { 2 } else { 4 };
    let blocks = len.div_ceil(per_counter);
    let block = |i: usize| {
        let counter = counter.wrapping_add(i as u128);
        let ([a, b], [c, d]) = (halves(counter as u64), halves((counter >> 64) as u64));
        let [a, b, c, d] = philox4x32([a, b, c, d], halves(key));
        if wide { vec![joined(a, b), joined(c, d)] } else { [a, b, c, d].map(u64::from).to_vec() }
    };
    ((0..blocks).flat_map(block).take(len).collect(), counter.wrapping_add(blocks as u128))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numbers::Ieee;

    /// The known answers of the authors' library Random123.
    #[test]
    fn known_answers() {
        assert_eq!(threefry2x32([0, 0], [0, 0]), [0x6b20_0159, 0x99ba_4efe]);
        assert_eq!(threefry2x32([!0, !0], [!0, !0]), [0x1cb9_96fc, 0xbb00_2be7]);
        assert_eq!(philox4x32([0; 4], [0; 2]), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
        assert_eq!(philox4x32([!0; 4], [!0; 2]), [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]);
    }

    #[test]
    fn pairs_of_elements_share_a_counter() {
        let (bits, used) = threefry(7, 100, &[3, 5]);
        assert_eq!((bits.len(), used), (15, 9));
        let word = |index: u64| threefry2x32(halves(100 + index), halves(7)).map(u64::from);
        // The dimension of size 5 is split: elements 0 and 1 of the second row.
        assert_eq!(bits[5..7], word(3));
    }

    /// Results of XLA's CPU client for nine elements of type `ui8`.
    #[test]
    fn bits_are_those_of_xla() {
        let words = [0x0123_4567_89ab_cdef, 0xfedc_ba98_7654_3210_u64 as i64];
        let state = Array::<Ieee>::from_integers(Dims::from_slice(&[2]), DType::UI64, &words).unwrap();
        let bits = |algorithm| {
            let [next, bits] = generate(&state, algorithm, Dims::from_slice(&[9]), DType::UI8).unwrap();
            (next.to_integers().unwrap()[1] - words[1], bits.to_integers().unwrap())
        };
        assert_eq!(bits(RngAlgorithm::ThreeFry), (5, vec![127, 17, 2, 46, 78, 122, 168, 153, 16]));
        assert_eq!(bits(RngAlgorithm::Philox), (3, vec![66, 181, 2, 23, 25, 122, 152, 137, 73]));
    }
}
