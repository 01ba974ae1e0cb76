//! Shuffled order of examples.

use std::ops::Range;

/// A seeded permutation of `n` examples for each epoch. The example at each position is computed separately, so the permutation needs no
/// memory, and each process computes only its own slice.
///
/// The permutation is a four-round Feistel network on the two halves of the index's bits, applied repeatedly until the result is below `n`
/// (cycle walking; "Ciphers with Arbitrary Finite Domains", Black and Rogaway, CT-RSA 2002).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shuffle {
    examples: u64,
    seed: u64,
    /// The number of bits of each half of an index.
    half: u32,
}

impl Shuffle {
    /// Creates the permutations of `examples` examples that `seed` determines.
    #[must_use]
    pub fn new(examples: u64, seed: u64) -> Shuffle {
        let bits = u64::BITS - examples.saturating_sub(1).leading_zeros();
        Shuffle { examples, seed, half: bits.div_ceil(2).max(1) }
    }

    /// Returns the index of the example at position `i` of an epoch; `i` must be below the number of examples.
    #[must_use]
    pub fn at(&self, epoch: u64, i: u64) -> u64 {
        if self.examples <= 1 {
            return 0;
        }
        let mut at = i % self.examples;
        loop {
            at = self.round_trip(epoch, at);
            // Fewer than three in four values are out of range, so the expected number of iterations is below four.
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

/// Mixes the bits of a number (SplitMix64's finalizer).
fn mix(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

/// A random number generator (SplitMix64).
#[cfg(feature = "images")]
pub(crate) struct Random(pub(crate) u64);

#[cfg(feature = "images")]
impl Random {
    pub(crate) fn bits(&mut self) -> u64 {
        let bits = mix(self.0);
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        bits
    }

    /// Returns a random number from `low` (inclusive) to `high` (exclusive).
    pub(crate) fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * ((self.bits() >> 11) as f64 / (1u64 << 53) as f64)
    }
}

/// Whether the incomplete last batch of an epoch is dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LastBatch {
    /// The batch is dropped; the dropped examples differ from epoch to epoch.
    #[default]
    Drop,
    /// The batch is kept, with fewer examples. A loader pads it with zeros.
    Keep,
}

/// The batches of a training run. Examples are reshuffled in each epoch. The position in the run is one number, which a checkpoint can
/// store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batches {
    shuffle: Shuffle,
    examples: u64,
    size: u64,
    last: LastBatch,
    /// The number of batches returned so far.
    position: u64,
}

/// The examples of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// The epoch of the batch, counted from 0.
    pub epoch: u64,
    /// The indices of the examples in the batch.
    pub examples: Vec<u64>,
}

impl Batches {
    /// Creates batches of `size` examples, in an order determined by the seed; the incomplete last batch of an epoch is dropped. If
    /// there are fewer examples than `size`, an epoch is one batch with repeated examples.
    #[must_use]
    pub fn new(examples: u64, size: u64, seed: u64) -> Batches {
        let (shuffle, size) = (Shuffle::new(examples, seed), size.max(1));
        Batches { shuffle, examples, size, last: LastBatch::Drop, position: 0 }
    }

    /// Sets whether the incomplete last batch of an epoch is dropped.
    #[must_use]
    pub fn with_last(mut self, last: LastBatch) -> Batches {
        self.last = last;
        self
    }

    /// Returns the number of batches in an epoch.
    #[must_use]
    pub fn per_epoch(&self) -> u64 {
        let batches = match self.last {
            LastBatch::Drop => self.examples / self.size,
            LastBatch::Keep => self.examples.div_ceil(self.size),
        };
        batches.max(1)
    }

    /// Returns the number of examples in a batch, except possibly the last batch of an epoch.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Returns the number of examples in the batch at a position of the run.
    #[must_use]
    pub fn size_at(&self, position: u64) -> u64 {
        match self.last {
            LastBatch::Drop => self.size,
            LastBatch::Keep => {
                let first = position % self.per_epoch() * self.size;
                self.size.min(self.examples.saturating_sub(first))
            }
        }
    }

    /// Returns the examples at the positions `rows` within the batch at a position of the run.
    #[must_use]
    pub fn at(&self, position: u64, rows: Range<u64>) -> Batch {
        let (epoch, batch) = (position / self.per_epoch(), position % self.per_epoch());
        let first = batch * self.size;
        let rows = rows.start..rows.end.min(self.size_at(position));
        Batch { epoch, examples: rows.map(|row| self.shuffle.at(epoch, first + row)).collect() }
    }

    /// Returns the number of batches returned so far.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Resumes at a position of the run: the next batch is the one after the first `position` batches. A checkpoint can store the
    /// number.
    pub fn seek(&mut self, position: u64) {
        self.position = position;
    }
}

/// Returns the batches in order. The iterator is infinite.
impl Iterator for Batches {
    type Item = Batch;

    fn next(&mut self) -> Option<Batch> {
        let batch = self.at(self.position, 0..self.size);
        self.position += 1;
        Some(batch)
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
        // The indices at adjacent positions differ by a third of the range on average, as in a random order.
        let distance: u64 = first.windows(2).map(|pair| pair[0].abs_diff(pair[1])).sum::<u64>() / 999;
        assert!((250..420).contains(&distance), "{distance}");
    }

    #[test]
    fn batches_resume_at_a_position() {
        let mut batches = Batches::new(10, 3, 7);
        let all: Vec<Batch> = batches.by_ref().take(7).collect();
        assert_eq!((all[2].epoch, all[3].epoch, all[6].epoch), (0, 1, 2));
        let mut again = Batches::new(10, 3, 7);
        again.seek(4);
        assert_eq!(again.take(3).collect::<Vec<_>>(), all[4..]);
    }

    #[test]
    fn the_incomplete_last_batch_may_be_kept() {
        let batches = Batches::new(10, 4, 3).with_last(LastBatch::Keep);
        assert_eq!(
            (batches.per_epoch(), batches.size_at(1), batches.size_at(2), batches.size_at(5)),
            (3, 4, 2, 2)
        );
        let mut seen: Vec<u64> = batches.clone().take(3).flat_map(|batch| batch.examples).collect();
        seen.sort_unstable();
        assert_eq!(seen, (0..10).collect::<Vec<_>>());
        // The concatenated slices of a batch are equal to the batch.
        for position in 0..7 {
            let parts = [0..1, 1..3, 3..4].map(|rows| batches.at(position, rows).examples).concat();
            assert_eq!(parts, batches.at(position, 0..4).examples);
        }
        assert_eq!(Batches::new(3, 8, 0).with_last(LastBatch::Keep).next().unwrap().examples.len(), 3);
        assert_eq!(Batches::new(3, 8, 0).next().unwrap().examples.len(), 8);
    }
}
