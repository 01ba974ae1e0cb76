//! Loads batches for a step. Batches are read, sharded and sent to the devices while the previous step runs.
//!
//! A [`Loader`] requests from a [`Source`] only the rows of each batch that this process's devices hold in the step's sharding. The
//! batches are the same for every number of processes and devices. A [`Position`] records how many batches were returned; a checkpoint
//! saves it with the state.
//!
//! | source | contents of batches |
//! |---|---|
//! | [`Shuffled`] of [`Arrays`] | arrays in memory, for example from IDX files |
//! | [`Shuffled`] of [`Passages`] | a file of tokens that may be larger than memory |
//! | [`Shuffled`] of your own [`Examples`] | examples with random access by index |
//! | [`Callback`] | a function of the batch number and the rows |
//! | your own [`Source`] | anything else |
//!
//! ```
//! use shardc::graph::{DType::F32, Graph, Mesh, spec};
//! use shardc::{Compiler, Error};
//! use shardc_train::loader::{Arrays, Shuffled};
//! use shardc_train::nn::{Init, Scope};
//! use shardc_train::{HostArray, Loader, LoaderOptions, Step, Timings};
//! # use shardc::runtime::{Client, ClientOptions, Environment, Plugin, PluginKind, plugin};
//!
//! # fn main() -> Result<(), Error> {
//! let g = Graph::new("step", &Mesh::new(&[("data", 4)])?);
//! let p = Scope::new(&g);
//! let x = g.parameter("x", [8, 2], F32).mark_sharding(spec!["data", None]);
//! let w = p.parameter("w", [2], Init::zeros());
//! let loss = (x - w).square().mean(..);
//! p.set("w", w - 0.5 * p.gradients(loss)[0]);
//! let program = p.finish(&[("loss", loss)])?;
//!
//! # let Ok(found) = plugin::find(PluginKind::Cpu, &Environment::from_process()) else { return Ok(()) };
//! # let plugin = Plugin::load(&found.path)?;
//! # let client = Client::new(&plugin, ClientOptions { cpu_device_count: Some(4) })?;
//! let step = Step::compile(&client, &Compiler::new(), program)?;
//! let points = HostArray::from_slice(&[3.0f32; 40], &[20, 2])?;
//! let source = Shuffled::new(Arrays::new(vec![("x", points)])?, 8, 0).with_epochs(6);
//! let mut loader = Loader::new(&step, source, LoaderOptions::default())?;
//!
//! let (mut state, mut timings, mut running) = (step.init(0)?, Timings::default(), None);
//! while let Some(batch) = loader.next() {
//!     let started = step.run_batch(&mut state, &batch?)?;
//!     // The devices run this step while the host reads the times of the previous one.
//!     if let Some(metrics) = running.replace(started) {
//!         timings.add(metrics.times()?);
//!     }
//! }
//! // Six epochs of two batches; each epoch drops the last four of the twenty rows.
//! assert_eq!((loader.next_position().batch, loader.next_position().rows), (12, 8));
//! assert!((state.get("w")?.to_f64_vec()[0] - 3.0).abs() < 1e-2);
//! # Ok(())
//! # }
//! ```

mod plan;
mod position;
mod source;

use std::time::{Duration, Instant};

use shardc::Error;
use shardc_data::Prefetch;
use shardc_ir::Diagnostic;
use shardc_runtime::{Buffer, Client, Placement, ShardedArray};

use self::plan::{Input, Plan};
pub use self::position::Position;
pub use self::source::{Arrays, Callback, Examples, Passages, Rows, Shuffled, Source, SourceError};
use crate::{Metrics, State, Step};

/// The options of a loader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoaderOptions {
    /// The number of batches that are prefetched to the devices; at least one. Each prefetched batch occupies device memory.
    pub ahead: usize,
    /// The position at which to start; `None` for the first batch.
    pub position: Option<Position>,
}

impl Default for LoaderOptions {
    /// Prefetches two batches, and starts at the first batch.
    fn default() -> Self {
        LoaderOptions { ahead: 2, position: None }
    }
}

/// An iterator over the batches of a source, on the devices of a step. The iterator ends after the source's last batch, or after the
/// first error.
#[derive(Debug)]
pub struct Loader {
    made: Prefetch<Result<Made, Error>>,
    position: Position,
}

/// A batch on the devices, by input name.
#[derive(Clone, Debug)]
pub struct Batch {
    arrays: Vec<(String, ShardedArray)>,
    number: u64,
    rows: usize,
    waited: Duration,
}

/// A batch as the thread of a loader returns it, without its number.
#[derive(Debug)]
struct Made {
    arrays: Vec<(String, ShardedArray)>,
    rows: usize,
}

impl Loader {
    /// Starts to load batches for a step. In a job of several processes, each process creates a loader with the same source.
    ///
    /// # Errors
    /// A name of the source is not an input of the step (SH0720); the inputs have different numbers of rows, or one is unreduced (SH1120);
    /// the number of shards of an input does not divide the batch size, or the source has a different batch size (SH1121); the position has
    /// a different batch size (SH1123).
    pub fn new(step: &Step, source: impl Source + 'static, options: LoaderOptions) -> Result<Loader, Error> {
        let input = |name: String| {
            let port = step.input(&name)?;
            Ok(Input { ty: port.ty.clone(), layout: port.layout.clone(), name })
        };
        let inputs = source.names().into_iter().map(input).collect::<Result<Vec<_>, Error>>()?;
        let placement = step.program().executable().placement().clone();
        let plan = Plan::new(inputs, placement.places().to_vec(), source.batch_size())?;
        let first = options.position.unwrap_or(Position { batch: 0, rows: plan.rows() });
        if first.rows != plan.rows() {
            let text = format!(
                "the loader position is for batches of {} rows, but the step expects {}",
                first.rows,
                plan.rows()
            );
            return Err(Diagnostic::invalid("SH1123", text)
                .hint("resume with the batch size of the position")
                .into());
        }
        let (next, client) = (first.batch, step.client().clone());
        let maker = Maker { plan, source: Box::new(source), client, placement, next, has_failed: false };
        Ok(Loader { made: Prefetch::new(options.ahead, maker), position: first })
    }

    /// The position after the returned batches, without prefetched batches. After an error, it is the position of the failed batch.
    #[must_use]
    pub fn next_position(&self) -> Position {
        self.position
    }
}

impl Step {
    /// Runs the step on a batch of a [`Loader`](crate::Loader), as [`Step::run`] does; the measured step time includes waiting for
    /// the batch.
    ///
    /// # Errors
    /// The errors of [`Step::run`].
    pub fn run_batch(&self, state: &mut State, batch: &Batch) -> Result<Metrics, Error> {
        self.run_after(state, &batch.feeds(), batch.waited())
    }
}

impl Iterator for Loader {
    type Item = Result<Batch, Error>;

    /// # Panics
    /// Panics if the source panicked.
    fn next(&mut self) -> Option<Result<Batch, Error>> {
        let asked = Instant::now();
        let made = self.made.next()?;
        let (number, waited) = (self.position.batch, asked.elapsed());
        Some(made.map(|Made { arrays, rows }| {
            self.position.batch += 1;
            Batch { arrays, number, rows, waited }
        }))
    }
}

impl Batch {
    /// The arrays by name, for [`Step::run`] together with other inputs.
    #[must_use]
    pub fn feeds(&self) -> Vec<(&str, &ShardedArray)> {
        self.arrays.iter().map(|(name, array)| (name.as_str(), array)).collect()
    }

    /// The batch number, from 0.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The number of rows of the batch that come from the source; the remaining rows are zeros.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// How long the caller waited for the batch.
    #[must_use]
    pub fn waited(&self) -> Duration {
        self.waited
    }
}

/// Loads the batches in order, on a separate thread.
struct Maker {
    plan: Plan,
    source: Box<dyn Source>,
    client: Client,
    placement: Placement,
    next: u64,
    has_failed: bool,
}

impl Maker {
    fn make(&mut self) -> Result<Made, Error> {
        let blocks = self.plan.blocks(&mut *self.source, self.next)?;
        let mut arrays = Vec::with_capacity(blocks.len());
        for (input, blocks) in self.plan.inputs().iter().zip(blocks) {
            let send = |(block, device)| Ok(vec![self.client.send(block, device)?]);
            let lists = blocks.into_iter().zip(self.placement.devices()).map(send);
            let lists = lists.collect::<Result<Vec<Vec<Buffer>>, Error>>()?;
            let layouts = std::slice::from_ref(&input.layout);
            let of_one = ShardedArray::from_results_on(&self.placement, &lists, layouts)?;
            arrays.extend(of_one.into_iter().map(|array| (input.name.clone(), array)));
        }
        Ok(Made { arrays, rows: self.source.rows_of(self.next, self.plan.rows()) })
    }
}

/// The iterator ends after the last batch of the source, or after the first error.
impl Iterator for Maker {
    type Item = Result<Made, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.has_failed || self.source.num_batches().is_some_and(|count| self.next >= count) {
            return None;
        }
        let made = self.make();
        self.has_failed = made.is_err();
        self.next += 1;
        Some(made)
    }
}

#[cfg(test)]
mod tests;
