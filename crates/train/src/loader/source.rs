//! Sources of batches.

use std::ops::Range;

use shardc::Error;
use shardc_data::{Batches, LastBatch, TokenFile};
use shardc_ir::{DType, Diagnostic};
use shardc_runtime::HostArray;

/// The error of a source.
pub type SourceError = Box<dyn std::error::Error + Send + Sync>;

/// Arrays with the requested number of rows, one for each input that the source provides.
pub type Rows = Vec<HostArray>;

/// Provides the rows of batches. The rows of a batch depend only on the batch number, not on the process that requests them. Thus
/// training on several processes and resumed training use the same batches.
pub trait Source: Send {
    /// The inputs of the step that this source provides.
    fn names(&self) -> Vec<String>;

    /// Rows of a batch: arrays `[rows.len(), ...]` in the order of [`Source::names`]. `rows` does not exceed [`Source::rows_of`].
    ///
    /// # Errors
    /// Any error of the source; the loader reports it with the batch number (SH1122).
    fn rows(&mut self, batch: u64, rows: Range<usize>) -> Result<Rows, SourceError>;

    /// The batch size, if the source fixes it.
    fn batch_size(&self) -> Option<usize> {
        None
    }

    /// The number of rows that are not padding, in a batch of `full` rows.
    fn rows_of(&self, batch: u64, full: usize) -> usize {
        let _ = batch;
        full
    }

    /// The number of batches; `None` if the source is endless.
    fn num_batches(&self) -> Option<u64> {
        None
    }
}

impl Source for Box<dyn Source> {
    fn names(&self) -> Vec<String> {
        (**self).names()
    }

    fn rows(&mut self, batch: u64, rows: Range<usize>) -> Result<Rows, SourceError> {
        (**self).rows(batch, rows)
    }

    fn batch_size(&self) -> Option<usize> {
        (**self).batch_size()
    }

    fn rows_of(&self, batch: u64, full: usize) -> usize {
        (**self).rows_of(batch, full)
    }

    fn num_batches(&self) -> Option<u64> {
        (**self).num_batches()
    }
}

/// An endless source that calls a function of the batch number and the rows. The function determines the order of the data.
pub struct Callback<F> {
    names: Vec<String>,
    function: F,
}

impl<F> Callback<F>
where
    F: FnMut(u64, Range<usize>) -> Result<Rows, SourceError> + Send,
{
    /// Creates a source of the inputs `names`.
    pub fn new(names: &[&str], function: F) -> Callback<F> {
        Callback { names: names.iter().map(|&name| name.to_owned()).collect(), function }
    }
}

impl<F> std::fmt::Debug for Callback<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Callback({:?})", self.names)
    }
}

impl<F> Source for Callback<F>
where
    F: FnMut(u64, Range<usize>) -> Result<Rows, SourceError> + Send,
{
    fn names(&self) -> Vec<String> {
        self.names.clone()
    }

    fn rows(&mut self, batch: u64, rows: Range<usize>) -> Result<Rows, SourceError> {
        (self.function)(batch, rows)
    }
}

/// Examples with random access by index, for [`Shuffled`].
pub trait Examples: Send {
    /// The inputs of the step that an example provides.
    fn names(&self) -> Vec<String>;

    /// The number of examples.
    fn count(&self) -> u64;

    /// Reads examples: arrays `[numbers.len(), ...]` in the order of [`Examples::names`].
    ///
    /// # Errors
    /// Any error; the loader reports it with the batch number (SH1122).
    fn read(&mut self, numbers: &[u64]) -> Result<Rows, SourceError>;
}

/// A [`Source`] of batches of examples; each epoch has a different order, determined by the seed.
#[derive(Debug)]
pub struct Shuffled<E> {
    examples: E,
    batches: Batches,
    epochs: Option<u64>,
}

impl<E: Examples> Shuffled<E> {
    /// An endless source of batches of `rows` rows. Examples that do not fill a batch at the end of an epoch are dropped.
    #[must_use]
    pub fn new(examples: E, rows: usize, seed: u64) -> Shuffled<E> {
        let batches = Batches::new(examples.count(), rows as u64, seed);
        Shuffled { examples, batches, epochs: None }
    }

    /// Sets what happens to the remaining examples at the end of an epoch. [`LastBatch::Keep`] returns them as a batch padded with rows of
    /// zeros; [`Batch::rows`](super::Batch::rows) is the number of rows without padding.
    #[must_use]
    pub fn with_last(mut self, last: LastBatch) -> Shuffled<E> {
        self.batches = self.batches.with_last(last);
        self
    }

    /// Ends the source after `epochs` epochs; without a limit, it is endless.
    #[must_use]
    pub fn with_epochs(mut self, epochs: u64) -> Shuffled<E> {
        self.epochs = Some(epochs);
        self
    }
}

impl<E: Examples> Source for Shuffled<E> {
    fn names(&self) -> Vec<String> {
        self.examples.names()
    }

    fn rows(&mut self, batch: u64, rows: Range<usize>) -> Result<Rows, SourceError> {
        if self.examples.count() == 0 {
            return Err("there are no examples".into());
        }
        let numbers = self.batches.at(batch, rows.start as u64..rows.end as u64).examples;
        self.examples.read(&numbers)
    }

    fn batch_size(&self) -> Option<usize> {
        usize::try_from(self.batches.size()).ok()
    }

    fn rows_of(&self, batch: u64, full: usize) -> usize {
        // Without examples, every batch would contain only padding. Returning `full` makes the loader request rows, which is an error.
        if self.examples.count() == 0 {
            return full;
        }
        usize::try_from(self.batches.size_at(batch)).unwrap_or(full).min(full)
    }

    fn num_batches(&self) -> Option<u64> {
        Some(self.epochs?.saturating_mul(self.batches.per_epoch()))
    }
}

/// Arrays in memory whose first dimension is the index of the example.
#[derive(Clone, Debug, Default)]
pub struct Arrays {
    arrays: Vec<(String, HostArray)>,
}

impl Arrays {
    /// Creates a data set of arrays, each with the name of its input.
    ///
    /// # Errors
    /// The arrays have different numbers of examples, or an array has no examples or is a scalar (SH1120); or the data of an array does not
    /// have the size of its type.
    pub fn new(arrays: Vec<(&str, HostArray)>) -> Result<Arrays, Error> {
        let mut first: Option<(&str, usize)> = None;
        for (name, array) in &arrays {
            array.check()?;
            let (what, hint) = match (array.shape.first(), first) {
                (None, _) => ("no example dimension".to_owned(), "add a leading dimension for the examples"),
                (Some(0), _) => (
                    "no examples".to_owned(),
                    "the first dimension counts examples: a filter or a limit may have removed all of them",
                ),
                (Some(&count), Some((other, want))) if count != want => (
                    format!("{count} examples, but {other:?} has {want}"),
                    "all arrays must have the same number of examples",
                ),
                (Some(&count), _) => {
                    first.get_or_insert((name, count));
                    continue;
                }
            };
            let text = format!("{name:?} is {}, which has {what}", array.ty());
            return Err(Diagnostic::invalid("SH1120", text).hint(hint).into());
        }
        Ok(Arrays { arrays: arrays.into_iter().map(|(name, array)| (name.to_owned(), array)).collect() })
    }
}

impl Examples for Arrays {
    fn names(&self) -> Vec<String> {
        self.arrays.iter().map(|(name, _)| name.clone()).collect()
    }

    fn count(&self) -> u64 {
        self.arrays.first().map_or(0, |(_, array)| array.shape[0] as u64)
    }

    fn read(&mut self, numbers: &[u64]) -> Result<Rows, SourceError> {
        let of = |(_, array): &(String, HostArray)| {
            let size = array.data.len() / array.shape[0].max(1);
            let mut data = Vec::with_capacity(size * numbers.len());
            for &number in numbers {
                let at = usize::try_from(number)? * size;
                data.extend_from_slice(array.data.get(at..at + size).ok_or("there is no such example")?);
            }
            let shape = [&[numbers.len()], &array.shape[1..]].concat();
            Ok(HostArray::new(array.dtype, &shape, data)?)
        };
        self.arrays.iter().map(of).collect()
    }
}

/// Passages of a token file, each of shape `[length]`, as 32-bit integers.
#[derive(Debug)]
pub struct Passages {
    name: String,
    file: TokenFile,
    length: usize,
    stride: u64,
}

impl Passages {
    /// Consecutive passages of `length` tokens, as the input `name`.
    #[must_use]
    pub fn new(name: &str, file: TokenFile, length: usize) -> Passages {
        Passages { name: name.to_owned(), file, length, stride: length.max(1) as u64 }
    }

    /// Sets the stride: a passage begins every `tokens` tokens. Passages overlap if the stride is less than their length.
    #[must_use]
    pub fn every(mut self, tokens: u64) -> Passages {
        self.stride = tokens.max(1);
        self
    }
}

impl Examples for Passages {
    fn names(&self) -> Vec<String> {
        vec![self.name.clone()]
    }

    fn count(&self) -> u64 {
        self.file.len().checked_sub(self.length as u64).map_or(0, |rest| rest / self.stride + 1)
    }

    fn read(&mut self, numbers: &[u64]) -> Result<Rows, SourceError> {
        let mut tokens = Vec::with_capacity(numbers.len() * self.length);
        for &number in numbers {
            tokens.extend(self.file.read(number * self.stride, self.length)?);
        }
        let data = tokens.iter().flat_map(|token| token.to_le_bytes()).collect();
        Ok(vec![HostArray::new(DType::I32, &[numbers.len(), self.length], data)?])
    }
}
