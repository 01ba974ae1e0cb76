//! Corrupted bytecode and portable artifacts.
//!
//! Mutations do not keep sections and lengths consistent, and one wrong length ends parsing. Most mutations are therefore small. Accepted
//! input is processed like corrupted text.

use shardc_stablehlo::parse_bytecode;

use super::outcome::quietly;
use super::rng::Rng;
use super::sources::Sources;

/// The approximate start of sections, after the magic number, the version and the producer.
const HEADER: usize = 16;

/// Number of attempts to find a change that the reader accepts.
const TRIES: usize = 12;

pub(super) fn draw(sources: &Sources, rng: &mut Rng) -> Vec<u8> {
    let mut bytes = sources.bytecode(rng).bytes.clone();
    // Most corruption is detected at once; some inputs must be accepted to test later stages.
    let readable = !rng.one_in(3);
    for _ in 0..=rng.below(3) {
        for _ in 0..TRIES {
            let mut changed = bytes.clone();
            damage(&mut changed, sources, rng);
            let reads = || quietly(|| parse_bytecode(&changed).is_ok()).unwrap_or(true);
            if changed != bytes && (!readable || reads()) {
                bytes = changed;
                break;
            }
        }
    }
    bytes
}

/// Applies one change.
fn damage(bytes: &mut Vec<u8>, sources: &Sources, rng: &mut Rng) {
    let at = match rng.below(8) {
        0 => rng.below(HEADER.min(bytes.len())),
        _ => rng.below(bytes.len()),
    };
    if at >= bytes.len() {
        return;
    }
    match rng.below(14) {
        0..=2 => bytes[at] ^= 1 << rng.below(8),
        3 => bytes[at] = rng.word() as u8,
        // The value of a one-byte varint is above the marker bit, so adding or subtracting 2 changes the value by one.
        4 | 5 => bytes[at] = bytes[at].wrapping_add(2),
        6 | 7 => bytes[at] = bytes[at].wrapping_sub(2),
        8 => {
            let edge = rng.of(&[0_u8, 1, 2, 3, 127, 128, 254, 255]);
            bytes[at] = edge;
        }
        // A zero byte begins a nine-byte varint.
        9 => {
            let wide = rng.of(&[u64::MAX, 1 << 62, 1 << 40, 1 << 32, 1 << 31, 1 << 20, 0]);
            bytes.splice(at..at + 1, [0].into_iter().chain(wide.to_le_bytes()));
        }
        10 => {
            let end = (at + 1 + rng.below(8)).min(bytes.len());
            bytes.drain(at..end);
        }
        11 => {
            let end = (at + 1 + rng.below(16)).min(bytes.len());
            let again = bytes[at..end].to_vec();
            bytes.splice(at..at, again);
        }
        12 => {
            let other = rng.below(bytes.len());
            bytes.swap(at, other);
        }
        _ if rng.one_in(3) => bytes.truncate(at),
        _ => {
            let other = sources.bytecode(rng);
            let from = rng.below(other.bytes.len());
            let end = (from + 1 + rng.below(32)).min(other.bytes.len());
            let to = (at + end - from).min(bytes.len());
            bytes.splice(at..to, other.bytes[from..end].iter().copied());
        }
    }
}
