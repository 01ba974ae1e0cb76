//! Random numbers for the fuzzers. A seed gives the same numbers on every machine and in every release.

use crate::random::{MeshRecipe, Recipe};

/// A stream of random numbers from a key (splitmix64).
#[derive(Clone, Debug)]
pub struct Rng(u64);

/// One step of splitmix64: every bit of the input reaches every bit of the output.
fn mixed(state: u64) -> u64 {
    let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A hash of words and a text (FNV-1a, mixed).
pub(crate) fn hash(words: &[u64], text: &str) -> u64 {
    let fold = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    let bytes = words.iter().flat_map(|word| word.to_le_bytes()).chain(text.bytes());
    mixed(bytes.fold(0xcbf2_9ce4_8422_2325, fold))
}

impl Rng {
    /// The random numbers of case `case` of the fuzzer `name`.
    #[must_use]
    pub fn new(name: &str, seed: u64, case: u64) -> Rng {
        Rng(hash(&[seed, case], name))
    }

    /// Any number.
    pub fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mixed(self.0)
    }

    /// Returns a number below `limit`, or zero if `limit` is zero.
    pub fn below(&mut self, limit: usize) -> usize {
        if limit == 0 { 0 } else { (self.word() % limit as u64) as usize }
    }

    /// Returns true with probability 1 in `n`.
    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// A random element of `things`, which must not be empty.
    pub fn of<T: Copy>(&mut self, things: &[T]) -> T {
        things[self.below(things.len())]
    }

    /// The text of a random program for eight devices.
    pub(crate) fn program(&mut self) -> String {
        let mut word = || self.word() as u16;
        let order = if word().is_multiple_of(2) { 0 } else { word() };
        let mut recipe = Recipe {
            mesh: MeshRecipe { axes: word(), order },
            sizes: std::array::from_fn(|_| word()),
            outputs: word(),
            ..Recipe::default()
        };
        recipe.parameters = (0..1 + word() % 4).map(|_| std::array::from_fn(|_| word())).collect();
        recipe.ops = (0..1 + word() % 10).map(|_| std::array::from_fn(|_| word())).collect();
        recipe.text()
    }

    /// Shuffles the elements.
    pub fn shuffle<T>(&mut self, things: &mut [T]) {
        for at in (1..things.len()).rev() {
            things.swap(at, self.below(at + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_have_distinct_random_numbers() {
        let draw = |seed, case| Rng::new("text", seed, case).word();
        assert_eq!(draw(1, 2), draw(1, 2));
        assert_ne!(draw(1, 2), draw(2, 1));
        assert_ne!(draw(1, 2), Rng::new("passes", 1, 2).word());
    }

    #[test]
    fn numbers_stay_below_their_limit() {
        let mut rng = Rng::new("", 0, 0);
        assert!((0..1000).map(|_| rng.below(7)).all(|n| n < 7));
        assert_eq!(rng.below(0), 0);
    }
}
