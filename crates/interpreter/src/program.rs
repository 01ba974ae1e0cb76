//! Programs that can be run: a module with limits and a handler of foreign operations.

use std::sync::atomic::{AtomicU64, Ordering};

use shardc_ir::{AttrDict, FuncId, Module, ValueId};

use crate::error::Fault;
use crate::numbers::Domain;
use crate::options::Options;
use crate::plan::Plan;
use crate::value::Value;

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

/// Sees the values of a run while devices compute them.
pub trait Observer<D: Domain>: Sync {
    /// A device has computed a result of an operation, or begins a region with this argument; in a loop, several times. The devices call it
    /// at the same time.
    fn defined(&self, device: usize, id: ValueId, value: &Value<D>);
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
    pub(crate) observer: Option<&'m dyn Observer<D>>,
    pub(crate) work: AtomicU64,
}

impl<'m, D: Domain> Program<'m, D> {
    /// Prepares a module, which must be [verified](shardc_ir::verify()).
    #[must_use]
    pub fn new(module: &'m Module, options: Options) -> Self {
        let (plan, work) = (Plan::new(module), AtomicU64::new(0));
        Program { module, plan, options, handler: None, observer: None, work }
    }

    /// Sets the handler of operations that the interpreter does not know.
    #[must_use]
    pub fn with_handler(mut self, handler: &'m dyn Handler<D>) -> Self {
        self.handler = Some(handler);
        self
    }

    /// Sets what sees the values of a run.
    #[must_use]
    pub fn with_observer(mut self, observer: &'m dyn Observer<D>) -> Self {
        self.observer = Some(observer);
        self
    }

    /// The number of elements that all devices computed, in all runs that ended.
    #[must_use]
    pub fn work(&self) -> u64 {
        self.work.load(Ordering::Relaxed)
    }

    /// The module.
    #[must_use]
    pub fn module(&self) -> &'m Module {
        self.module
    }
}
