//! Evaluation of a function on one device.
//!
//! A [`Device`] walks the operations of a region in order. The values of a function call, with those of its nested regions, are in one
//! [`frame::Frame`]. An operation takes the values whose last use it is, so that their elements can be freed or changed in place.

mod collectives;
mod contractions;
mod control;
mod decompositions;
mod dispatch;
mod elements;
mod foreign;
mod frame;
mod lift;
mod manual;
mod moving;
mod operands;
mod ragged;
mod reductions;
mod scans;
mod shaped;
mod sorting;

use std::cell::{Cell, RefCell};
use std::sync::atomic::Ordering;

use rustc_hash::FxHashMap;
use shardc_ir::{DType, Elements, FuncId, Module, OpId, OpKind, RegionId, Span, Type, ValueId};

use self::frame::Frame;
use crate::array::{Array, Dims, count};
use crate::error::{Error, Fault};
use crate::meeting::{Meeting, Room};
use crate::numbers::Domain;
use crate::program::{Grid, Program};
use crate::value::Value;

/// Maximum nesting of regions and calls.
const DEEPEST: usize = 256;
/// Number of operations between two checks of the interrupt.
const CHECKED: u64 = 64;

/// Why the evaluation of an operation ended.
#[derive(Debug)]
pub(crate) enum Stop {
    /// The operation itself failed.
    Fault(Fault),
    /// An operation in a region or a called function failed.
    Inner(Box<Error>),
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Self {
        Stop::Fault(fault)
    }
}

impl From<Box<Error>> for Stop {
    fn from(error: Box<Error>) -> Self {
        Stop::Inner(error)
    }
}

pub(crate) type Values<D> = Vec<Value<D>>;

/// A device that runs a function.
pub(crate) struct Device<'p, 'm, D: Domain> {
    program: &'p Program<'m, D>,
    module: &'m Module,
    grid: Grid,
    /// The number of the device.
    id: usize,
    meeting: &'p Meeting<D>,
    /// Whether the module has quantized types.
    has_quantized: bool,
    /// Work that is left.
    left: Cell<u64>,
    /// Number of operations so far.
    steps: Cell<u64>,
    depth: Cell<usize>,
    /// The number of executions of each collective.
    turns: RefCell<FxHashMap<(OpId, usize), u64>>,
    /// Whether each region can be evaluated on many elements at once.
    liftable: RefCell<FxHashMap<RegionId, bool>>,
}

impl<'p, 'm, D: Domain> Device<'p, 'm, D> {
    pub(crate) fn new(program: &'p Program<'m, D>, grid: Grid, id: usize, meeting: &'p Meeting<D>) -> Self {
        Device {
            program,
            module: program.module,
            grid,
            id,
            meeting,
            has_quantized: program.plan.has_quantized(),
            left: Cell::new(program.options.max_work),
            steps: Cell::new(0),
            depth: Cell::new(0),
            turns: RefCell::default(),
            liftable: RefCell::default(),
        }
    }

    /// Runs a function.
    pub(crate) fn run(&self, func: FuncId, args: Values<D>) -> Result<Values<D>, Box<Error>> {
        let data = &self.module.funcs[func];
        let fault = |fault| Error::of_function(&data.name, data.span, fault);
        let Some(body) = data.body else {
            return Err(fault(Fault::Unsupported("a function without a body".to_owned())));
        };
        if args.len() != data.params.len() {
            let text = format!("{} arguments for {} parameters", args.len(), data.params.len());
            return Err(fault(Fault::Invalid(text)));
        }
        for (i, (arg, &ty)) in args.iter().zip(&data.params).enumerate() {
            if let (Value::Array(array), Some(tensor)) = (arg, self.module.types.stored(ty))
                && !fits(array, &tensor.shape, tensor.dtype)
            {
                let text = format!("argument {i} is {:?} {}, not {tensor}", array.dims(), array.dtype());
                return Err(fault(Fault::Invalid(text)));
            }
        }
        let results = self.region(body, args, &mut Frame::new(&self.program.plan, body));
        self.program.work.fetch_add(self.program.options.max_work - self.left.get(), Ordering::Relaxed);
        results
    }

    /// Evaluates a region, and returns the operands of its terminator.
    fn region(
        &self,
        region: RegionId,
        args: Values<D>,
        frame: &mut Frame<'_, D>,
    ) -> Result<Values<D>, Box<Error>> {
        let data = &self.module.regions[region];
        let nested = self.depth.get() + 1;
        if nested > DEEPEST {
            return Err(Error::of_function("", Span::NONE, Fault::Depth(DEEPEST)));
        }
        self.depth.set(nested);
        for (&arg, value) in data.args.iter().zip(args) {
            self.define(arg, value, frame);
        }
        for &op in &data.ops {
            let operands = self.operands(op, frame).map_err(|fault| Error::at(self.module, op, fault))?;
            if let OpKind::Return = self.module.ops[op].kind {
                self.depth.set(nested - 1);
                return Ok(operands);
            }
            let results = self.operation(op, operands, frame).map_err(|stop| match stop {
                Stop::Fault(fault) => Error::at(self.module, op, fault),
                Stop::Inner(error) => error,
            })?;
            let data = &self.module.ops[op];
            if results.len() != data.results.len() {
                let text = format!("{} results instead of {}", results.len(), data.results.len());
                return Err(Error::at(self.module, op, Fault::Internal(text)));
            }
            for (&result, value) in data.results.iter().zip(results) {
                self.define(result, value, frame);
            }
            if !data.regions.is_empty() {
                for &value in self.program.plan.last_uses(op) {
                    frame.take(value);
                }
            }
        }
        self.depth.set(nested - 1);
        Ok(Vec::new())
    }

    fn define(&self, id: ValueId, value: Value<D>, frame: &mut Frame<'_, D>) {
        if let Some(observer) = self.program.observer {
            observer.defined(self.id, id, &value);
        }
        frame.insert(id, value);
    }

    /// The operands of an operation. Values whose last use it is are removed from the frame, unless a region may also use them.
    fn operands(&self, op: OpId, frame: &mut Frame<'_, D>) -> Result<Values<D>, Fault> {
        let data = &self.module.ops[op];
        let last_uses = self.program.plan.last_uses(op);
        let mut values = Vec::with_capacity(data.operands.len());
        for (i, operand) in data.operands.iter().enumerate() {
            let is_last = data.regions.is_empty()
                && last_uses.contains(operand)
                && !data.operands.iter().skip(i + 1).any(|later| later == operand);
            let value = if is_last { frame.take(*operand) } else { frame.get(*operand).cloned() };
            values.push(value.ok_or_else(|| Fault::Internal("an operand has no value".to_owned()))?);
        }
        Ok(values)
    }

    /// Counts work, and checks the limits.
    fn charge(&self, work: u64) -> Result<(), Fault> {
        let steps = self.steps.get() + 1;
        self.steps.set(steps);
        if steps.is_multiple_of(CHECKED) || work > 1 << 20 {
            self.program.options.interrupt.check().map_err(Fault::Interrupted)?;
        }
        match self.left.get().checked_sub(work) {
            Some(left) => {
                self.left.set(left);
                Ok(())
            }
            None => Err(Fault::WorkLimit(self.program.options.max_work)),
        }
    }

    /// Counts the elements of a result before it is computed, and checks its size.
    fn charge_result(&self, dims: &[usize], dtype: DType) -> Result<(), Fault> {
        let elements = count(dims)? as u64;
        let bytes = elements.saturating_mul(dtype.bytes() as u64);
        if bytes > self.program.options.max_bytes {
            return Err(Fault::Memory(bytes));
        }
        self.charge(elements)
    }

    /// Counts the elements of all results whose types are static tensors, and checks their sizes.
    fn charge_static_results(&self, op: OpId) -> Result<(), Fault> {
        for &value in &self.module.ops[op].results {
            let Some(ty) = self.module.stored(value).filter(|ty| ty.is_static()) else { continue };
            let dims: Dims = ty.shape.iter().map(|&n| usize::try_from(n).unwrap_or(usize::MAX)).collect();
            self.charge_result(&dims, ty.dtype)?;
        }
        Ok(())
    }

    /// The sizes of a result whose type is static.
    fn static_dims(&self, op: OpId, index: usize) -> Result<Dims, Fault> {
        let value = self.module.ops[op].results.get(index).copied();
        let dims: Option<Dims> = value
            .and_then(|value| self.module.shape(value).iter().map(|&n| usize::try_from(n).ok()).collect());
        dims.ok_or_else(|| Fault::Invalid("a result whose size is not known".to_owned()))
    }

    /// The element type that results are computed in: the storage type, or the expressed type of quantized elements for operations that
    /// compute with real numbers.
    fn result_dtype(&self, op: OpId, index: usize) -> Result<DType, Fault> {
        let data = &self.module.ops[op];
        let Some(&value) = data.results.get(index) else {
            return Err(Fault::Internal("an operation without this result".to_owned()));
        };
        self.dtype_of(value, data.kind.def().elements)
    }

    fn dtype_of(&self, value: ValueId, elements: Elements) -> Result<DType, Fault> {
        match self.module.types.get(self.module.values[value].ty) {
            Type::Tensor(tensor) => Ok(tensor.dtype),
            Type::Quantized(tensor) if elements == Elements::Real => {
                let dtype = tensor.element.expressed_dtype();
                dtype.ok_or_else(|| Fault::Unsupported("quantization without an expressed type".to_owned()))
            }
            Type::Quantized(tensor) => Ok(tensor.stored().dtype),
            other => Fault::unsupported(format!("a tensor of type {other:?}")),
        }
    }

    /// The next execution of a collective by a group.
    fn room(&self, op: OpId, group: usize) -> Room {
        let mut turns = self.turns.borrow_mut();
        let turn = turns.entry((op, group)).or_default();
        *turn += 1;
        Room { op, group, turn: *turn }
    }
}

/// Whether an array has a type; dynamic dimensions fit any size.
fn fits<D: Domain>(array: &Array<D>, shape: &[i64], dtype: DType) -> bool {
    let is_size = |(&n, &size): (&i64, &usize)| n == shardc_ir::DYNAMIC || usize::try_from(n) == Ok(size);
    array.dtype() == dtype && array.rank() == shape.len() && shape.iter().zip(array.dims()).all(is_size)
}

/// The arrays of values.
fn arrays<D: Domain>(values: Values<D>) -> Result<Vec<Array<D>>, Fault> {
    values.into_iter().map(Value::into_array).collect()
}

/// The single result of an operation.
fn one<D: Domain>(array: Array<D>) -> Result<Values<D>, Stop> {
    Ok(vec![Value::Array(array)])
}
