//! The order in which examples are seen.

/// A seeded order of `n` examples for each epoch: a permutation that is computed example by example, so that it takes no memory
/// and every process finds its part without the others.
///
/// A Feistel network of four rounds on the number's halves, walked until the result is below `n` ("Ciphers with Arbitrary Finite
/// Domains", Black and Rogaway, CT-RSA 2002).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shuffle {
    examples: u64,
    seed: u64,
    /// Bits of each half.
    half: u32,
}

impl Shuffle {
    /// An order of so many examples.
    #[must_use]
    pub fn new(examples: u64, seed: u64) -> Shuffle {
        let bits = u64::BITS - examples.saturating_sub(1).leading_zeros();
        Shuffle { examples, seed, half: bits.div_ceil(2).max(1) }
    }

    /// Which example comes at place `i` of an epoch; `i` is below the number of examples.
    #[must_use]
    pub fn at(&self, epoch: u64, i: u64) -> u64 {
        if self.examples <= 1 {
            return 0;
        }
        let mut at = i % self.examples;
        loop {
            at = self.round_trip(epoch, at);
            // Less than four numbers in five lie outside: it ends soon.
            if at < self.examples {
                return at;
            }
        }
    }

    fn round_trip(&self, epoch: u64, number: u64) -> u64 {
        let mask = (1u64 << self.half) - 1;
        let (mut left, mut right) = (number >> self.half, number & mask);
        for round in 0..4 {
            let mixed = mix(self.seed ^ mix(epoch ^ mix(round ^ (right << 3)))) & mask;
            (left, right) = (right, left ^ mixed);
        }
        (left << self.half) | right
    }
}

/// A number with its bits mixed (SplitMix64's finalizer).
fn mix(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

/// Random numbers (SplitMix64).
#[cfg(feature = "images")]
pub(crate) struct Random(pub(crate) u64);

#[cfg(feature = "images")]
impl Random {
    pub(crate) fn bits(&mut self) -> u64 {
        let bits = mix(self.0);
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        bits
    }

    /// A number from the first to below the second.
    pub(crate) fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * ((self.bits() >> 11) as f64 / (1u64 << 53) as f64)
    }
}

/// The batches of a training run, one after the other: each epoch in another order, without what is left over at its end. The
/// position is one number, which a checkpoint keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batches {
    shuffle: Shuffle,
    examples: u64,
    size: u64,
    /// How many batches were given.
    position: u64,
}

/// Which examples a batch has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// Which epoch it is of, from 0.
    pub epoch: u64,
    /// The numbers of its examples.
    pub examples: Vec<u64>,
}

impl Batches {
    /// Batches of `size` of so many examples, in an order that follows from the seed. Fewer examples than `size` make one batch in
    /// which they repeat.
    #[must_use]
    pub fn new(examples: u64, size: u64, seed: u64) -> Batches {
        Batches { shuffle: Shuffle::new(examples, seed), examples, size: size.max(1), position: 0 }
    }

    /// How many batches an epoch has.
    #[must_use]
    pub fn per_epoch(&self) -> u64 {
        (self.examples / self.size).max(1)
    }

    /// How many batches were given.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Goes on behind this many batches, as a checkpoint says.
    pub fn seek(&mut self, position: u64) {
        self.position = position;
    }
}

/// It does not end.
impl Iterator for Batches {
    type Item = Batch;

    fn next(&mut self) -> Option<Batch> {
        let (epoch, batch) = (self.position / self.per_epoch(), self.position % self.per_epoch());
        self.position += 1;
        let first = batch * self.size;
        let examples = (first..first + self.size).map(|i| self.shuffle.at(epoch, i)).collect();
        Some(Batch { epoch, examples })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn an_epoch_has_each_example_once(n in 1u64..3000, seed: u64, epoch in 0u64..5) {
            let shuffle = Shuffle::new(n, seed);
            let mut seen: Vec<u64> = (0..n).map(|i| shuffle.at(epoch, i)).collect();
            seen.sort_unstable();
            prop_assert_eq!(seen, (0..n).collect::<Vec<_>>());
        }
    }

    #[test]
    fn orders_are_shuffled_and_differ() {
        let order =
            |seed, epoch| -> Vec<u64> { (0..1000).map(|i| Shuffle::new(1000, seed).at(epoch, i)).collect() };
        let first = order(1, 0);
        assert!(first != order(1, 1) && first != order(2, 0) && first == order(1, 0));
        // Neighbours end up far from each other: a third of the range on average.
        let distance: u64 = first.windows(2).map(|pair| pair[0].abs_diff(pair[1])).sum::<u64>() / 999;
        assert!((250..420).contains(&distance), "{distance}");
    }

    #[test]
    fn batches_go_on_where_they_were() {
        let mut batches = Batches::new(10, 3, 7);
        let all: Vec<Batch> = batches.by_ref().take(7).collect();
        assert_eq!((all[2].epoch, all[3].epoch, all[6].epoch), (0, 1, 2));
        let mut again = Batches::new(10, 3, 7);
        again.seek(4);
        assert_eq!(again.take(3).collect::<Vec<_>>(), all[4..]);
    }
}
