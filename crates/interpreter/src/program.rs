//! Programs that can be run: a module with limits and a handler of foreign operations.

use std::collections::VecDeque;
use std::thread;

use shardc_ir::{AttrDict, FuncId, Module};

use crate::array::Array;
use crate::error::{Error, Fault};
use crate::eval::Device;
use crate::meeting::Meeting;
use crate::numbers::Domain;
use crate::options::Options;
use crate::plan::Plan;
use crate::value::Value;

/// Size of the stack of the threads on which devices run. Only pages that are used take memory.
const STACK: usize = 64 << 20;

/// An operation that the interpreter does not know, or a custom call.
#[derive(Clone, Copy, Debug)]
pub struct Foreign<'m> {
    /// The full name of an operation, or the target of a custom call.
    pub name: &'m str,
    /// Whether it is a custom call.
    pub is_custom_call: bool,
    /// Inherent attributes.
    pub props: &'m AttrDict,
    /// Other attributes.
    pub attrs: &'m AttrDict,
}

/// Evaluates operations that the interpreter does not know.
pub trait Handler<D: Domain>: Sync {
    /// Returns the results of an operation, or `None` if it is unknown here too.
    fn call(&self, op: Foreign<'_>, operands: &[Value<D>]) -> Option<Result<Vec<Value<D>>, Fault>>;
}

/// The devices of a run: process `(r, p)` has the number `r * partitions + p`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    /// Number of replicas.
    pub replicas: usize,
    /// Number of partitions of each replica.
    pub partitions: usize,
}

impl Grid {
    /// Number of devices.
    #[must_use]
    pub fn devices(self) -> usize {
        self.replicas.saturating_mul(self.partitions)
    }
}

/// The function that a device of a grid runs.
#[derive(Clone, Debug)]
pub struct Launch<D: Domain> {
    /// The function of the device.
    pub func: FuncId,
    /// Its arguments.
    pub args: Vec<Value<D>>,
}

/// The results of a run on several devices.
#[derive(Clone, Debug)]
pub struct Outcome<D: Domain> {
    /// The results of each device.
    pub results: Vec<Vec<Value<D>>>,
    /// The values that each outfeed sent, in order.
    pub outfeed: Vec<Vec<Value<D>>>,
}

/// A verified module that can be run.
pub struct Program<'m, D: Domain> {
    pub(crate) module: &'m Module,
    pub(crate) plan: Plan,
    pub(crate) options: Options,
    pub(crate) handler: Option<&'m dyn Handler<D>>,
}

impl<'m, D: Domain> Program<'m, D> {
    /// Prepares a module, which must be [verified](shardc_ir::verify()).
    #[must_use]
    pub fn new(module: &'m Module, options: Options) -> Self {
        Program { module, plan: Plan::new(module), options, handler: None }
    }

    /// Sets the handler of operations that the interpreter does not know.
    #[must_use]
    pub fn with_handler(mut self, handler: &'m dyn Handler<D>) -> Self {
        self.handler = Some(handler);
        self
    }

    /// The module.
    #[must_use]
    pub fn module(&self) -> &'m Module {
        self.module
    }

    /// Runs a function on global values. If the program has manual computations, all devices of their mesh run it.
    ///
    /// # Errors
    /// See [`Fault`].
    pub fn call(&self, func: FuncId, args: Vec<Value<D>>) -> Result<Vec<Value<D>>, Box<Error>> {
        let grid = Grid { replicas: 1, partitions: self.plan.devices() };
        let launches = vec![Launch { func, args }; grid.devices()];
        let outcome = self.run(grid, launches, Vec::new())?;
        Ok(outcome.results.into_iter().next().unwrap_or_default())
    }

    /// Runs a function on each device of a grid. `infeed` has the values that infeeds receive, in order.
    ///
    /// # Errors
    /// See [`Fault`]. If several devices fail, the error is that of the first of them that did not fail because of another device.
    pub fn run(
        &self,
        grid: Grid,
        launches: Vec<Launch<D>>,
        infeed: Vec<Array<D>>,
    ) -> Result<Outcome<D>, Box<Error>> {
        let name = launches.first().map_or("", |launch| &*self.module.funcs[launch.func].name);
        let fault = |fault| Error::of_function(name, shardc_ir::Span::NONE, fault);
        if launches.len() != grid.devices() {
            let text = format!("{} programs for {} devices", launches.len(), grid.devices());
            return Err(fault(Fault::Invalid(text)));
        }
        let alone = launches.len() == 1;
        let meeting = Meeting::new(launches.len(), VecDeque::from(infeed));
        let results = thread::scope(|scope| {
            let mut threads = Vec::new();
            for (id, launch) in launches.into_iter().enumerate() {
                let device = Device::new(self, grid, id, &meeting);
                let run = move || {
                    let result = device.run(launch.func, launch.args);
                    device.finish(result.is_err());
                    result
                };
                threads.push(thread::Builder::new().stack_size(STACK).spawn_scoped(scope, run));
                if matches!(threads.last(), Some(Err(_))) {
                    meeting.abort();
                }
            }
            let join = |thread: std::io::Result<thread::ScopedJoinHandle<'_, _>>| match thread {
                Ok(thread) => thread.join().unwrap_or_else(|_| {
                    Err(fault(Fault::Internal("the evaluation of an operation panicked".to_owned())))
                }),
                Err(_) => Err(fault(Fault::Internal("a thread cannot be started".to_owned()))),
            };
            threads.into_iter().map(join).collect::<Vec<Result<Vec<Value<D>>, Box<Error>>>>()
        });
        let mut all = Vec::new();
        let mut failed: Option<Box<Error>> = None;
        for (id, result) in results.into_iter().enumerate() {
            match result {
                Ok(values) => all.push(values),
                Err(mut error) => {
                    error.device = (!alone).then_some(id);
                    // The first error that is not a consequence of another.
                    if failed.as_ref().is_none_or(|first| first.fault == Fault::Aborted) {
                        failed = Some(error);
                    }
                }
            }
        }
        match failed {
            Some(error) => Err(error),
            None => Ok(Outcome { results: all, outfeed: meeting.into_outfeed() }),
        }
    }
}
