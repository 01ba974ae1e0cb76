//! A hash of elements that is the same on every machine and in every release.

use std::hash::Hasher;

/// Mixes the bits of a number: the finalizer of the generator SplitMix64.
pub(super) fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// Adds a word to a hash.
pub(super) fn round(state: u64, word: u64) -> u64 {
    mix((state ^ word).wrapping_add(0x9e37_79b9_7f4a_7c15))
}

/// Mixes all bits after each word. Hashes for tables mix less: in those, arrays whose elements are all equal to a multiple of a power of two
/// have the same hash.
#[derive(Clone, Debug, Default)]
pub struct Mixer(u64);

impl Hasher for Mixer {
    fn write(&mut self, bytes: &[u8]) {
        let mut words = bytes.chunks_exact(8);
        for word in &mut words {
            let word = word.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
            self.write_u64(word);
        }
        let rest = words.remainder();
        if !rest.is_empty() {
            let word = rest.iter().rev().fold(rest.len() as u64, |word, &byte| word << 8 | u64::from(byte));
            self.write_u64(word);
        }
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = round(self.0, word);
    }

    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use std::hash::{Hash, Hasher};

    use super::Mixer;

    fn hash(value: impl Hash) -> u64 {
        let mut mixer = Mixer::default();
        value.hash(&mut mixer);
        mixer.finish()
    }

    #[test]
    fn equal_elements_do_not_cancel() {
        let one = |element: u64| hash(vec![element; 256]);
        let mut hashes: Vec<u64> = (0..64).map(|bit| one(1 << bit)).chain([one(0)]).collect();
        hashes.sort_unstable();
        hashes.dedup();
        assert_eq!(hashes.len(), 65);
    }

    #[test]
    fn all_bytes_count() {
        let lists: Vec<Vec<u8>> = (0..20).map(|length| vec![0; length]).collect();
        let mut hashes: Vec<u64> = lists
            .iter()
            .map(|list| {
                let mut mixer = Mixer::default();
                mixer.write(list);
                mixer.finish()
            })
            .collect();
        hashes.sort_unstable();
        hashes.dedup();
        assert_eq!(hashes.len(), 20);
    }
}
