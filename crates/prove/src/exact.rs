//! Runs both programs on random inputs in exact arithmetic.

use shardc_interpreter::{
    Array, Compiled, Error, Exact, Fault, Grid, Launch, Observer, Options, Program, Value,
};
use shardc_ir::{Interrupt, Module, OpKind, TensorType};

use crate::boundary::{Block, Boundary};

/// The advice for a program that is too large.
const MORE_WORK: &str = "a greater --work-limit allows the test";

/// The results of a program.
pub(crate) type Values = Vec<Value<Exact>>;

/// A reason for which a partition has no results.
pub(crate) enum Failure {
    /// The devices wait for each other.
    Deadlock(Box<Error>),
    /// It cannot be run, or not within the limits.
    NotRun(String),
}

impl From<String> for Failure {
    fn from(reason: String) -> Failure {
        Failure::NotRun(reason)
    }
}

impl From<&str> for Failure {
    fn from(reason: &str) -> Failure {
        Failure::NotRun(reason.to_owned())
    }
}

/// A test: the inputs, and the results of the original.
pub(crate) struct Test<'m> {
    original: &'m Module,
    boundary: &'m Boundary,
    inputs: Vec<Array<Exact>>,
    wanted: Values,
    /// The position in the mesh of each device.
    position: Vec<u64>,
    work: u64,
    interrupt: &'m Interrupt,
    /// The number of elements that the original computed.
    elements: u64,
}

impl<'m> Test<'m> {
    /// Runs the original on random inputs. An error is the reason for which it cannot be compared.
    pub(crate) fn new(
        original: &'m Module,
        boundary: &'m Boundary,
        work: u64,
        interrupt: &'m Interrupt,
    ) -> Result<Test<'m>, String> {
        let global = original.entry().ok_or("a program has no entry function")?;
        check_size(boundary, work)?;
        let mut inputs = Vec::new();
        for (seed, &ty) in (0u64..).zip(&original.funcs[global].params) {
            let ty = original.types.as_tensor(ty).ok_or("an input is not a tensor")?;
            inputs.push(input(ty, seed).map_err(text)?);
        }
        Test::with_inputs(original, boundary, inputs, work, interrupt)
    }

    /// Runs the original on these inputs.
    pub(crate) fn with_inputs(
        original: &'m Module,
        boundary: &'m Boundary,
        inputs: Vec<Array<Exact>>,
        work: u64,
        interrupt: &'m Interrupt,
    ) -> Result<Test<'m>, String> {
        let devices = boundary.device_ids.len();
        // Functions are random functions in the test, so that the expansion of such an operation has other results.
        if original.ops.values().any(|op| matches!(op.kind, OpKind::BatchNorm(..))) {
            return Err("batch normalization is expanded into other functions".to_owned());
        }
        if boundary.inputs.iter().chain(&boundary.outputs).any(|block| !block.unreduced.is_empty()) {
            return Err("an input or output is a partial result".to_owned());
        }
        let mut position = vec![0u64; devices];
        for (&id, at) in boundary.device_ids.iter().zip(0u64..) {
            let entry = usize::try_from(id).ok().and_then(|id| position.get_mut(id));
            *entry.ok_or("an unknown device")? = at;
        }
        let mut test =
            Test { original, boundary, inputs, wanted: Vec::new(), position, work, interrupt, elements: 0 };
        (test.wanted, test.elements) = test.run_program(original)?;
        Ok(test)
    }

    fn options(&self, max_work: u64) -> Options {
        Options { interrupt: self.interrupt.clone(), max_work, ..Options::default() }
    }

    /// The original program.
    pub(crate) fn original(&self) -> &'m Module {
        self.original
    }

    /// The inputs of the original.
    pub(crate) fn inputs(&self) -> &[Array<Exact>] {
        &self.inputs
    }

    /// The position in the mesh of each device.
    pub(crate) fn positions(&self) -> &[u64] {
        &self.position
    }

    /// The blocks of inputs and outputs.
    pub(crate) fn boundary(&self) -> &'m Boundary {
        self.boundary
    }

    /// The number of elements that the original computed.
    pub(crate) fn elements(&self) -> u64 {
        self.elements
    }

    /// The results of a variant of the original for the same inputs.
    pub(crate) fn run_original(&self, module: &Module) -> Result<Values, String> {
        Ok(self.run_program(module)?.0)
    }

    /// The results of a program on global values, and the number of elements that it computed.
    fn run_program(&self, module: &Module) -> Result<(Values, u64), String> {
        let func = module.entry().ok_or("a program has no entry function")?;
        let args = self.inputs.iter().cloned().map(Value::Array).collect();
        let program = Program::<Exact>::new(module, self.options(self.work));
        let results = Exact::call(&program, func, args).map_err(|error| match error.fault {
            Fault::WorkLimit(_) => format!("the original: {error}; {MORE_WORK}"),
            _ => format!("the original: {error}"),
        })?;
        Ok((results, program.work()))
    }

    /// The results of a partitioned program on each device.
    pub(crate) fn run(&self, module: &Module) -> Result<Vec<Values>, Failure> {
        self.run_within(module, self.work.min(MORE * self.elements + LEAST), None)
    }

    /// Shows the values of a partitioned program to an observer, until it fails. A device has its number, not its position in the mesh.
    pub(crate) fn observe(&self, module: &Module, observer: &dyn Observer<Exact>) -> Result<(), Failure> {
        self.run_within(module, self.work.min(MORE * self.elements + LEAST), Some(observer)).map(|_| ())
    }

    /// The results of the original.
    pub(crate) fn wanted(&self) -> &[Value<Exact>] {
        &self.wanted
    }

    /// Whether a changed partition has the results of the original. A changed loop may not end: the work is limited.
    pub(crate) fn is_equal(&self, module: &Module) -> bool {
        let results = self.run_within(module, self.work.min(16 * self.elements + LEAST), None);
        results.is_ok_and(|results| self.differences(&results).is_ok_and(|found| found.is_empty()))
    }

    fn run_within(
        &self,
        module: &Module,
        work: u64,
        observer: Option<&dyn Observer<Exact>>,
    ) -> Result<Vec<Values>, Failure> {
        let func = module.entry().ok_or("a program has no entry function")?;
        let mut launches = Vec::new();
        for &at in &self.position {
            let block = |(array, block): (&Array<Exact>, &Block)| {
                let local: Vec<usize> = block.local.iter().map(|&size| size as usize).collect();
                Exact::block(array, &offsets(block, at), &local, PADDING).map(Value::Array)
            };
            let args: Result<_, Fault> = self.inputs.iter().zip(&self.boundary.inputs).map(block).collect();
            launches.push(Launch { func, args: args.map_err(text)? });
        }
        let devices = self.position.len();
        let grid = match self.boundary.are_partitions {
            true => Grid { replicas: 1, partitions: devices },
            false => Grid { replicas: devices, partitions: 1 },
        };
        let mut program = Program::<Exact>::new(module, self.options(work));
        if let Some(observer) = observer {
            program = program.with_observer(observer);
        }
        let fault = |error: Box<Error>| match error.fault {
            Fault::Deadlock(_) => Failure::Deadlock(error),
            _ => Failure::NotRun(format!("the partition: {error}")),
        };
        match launches.pop() {
            // A program on global values may have manual computations, in which the devices of their mesh meet.
            Some(launch) if devices == 1 => {
                Ok(vec![Exact::call(&program, launch.func, launch.args).map_err(fault)?])
            }
            last => {
                launches.extend(last);
                Ok(Exact::run(&program, grid, launches).map_err(fault)?.results)
            }
        }
    }

    /// The outputs of which some device has a block that differs.
    pub(crate) fn differences(&self, results: &[Values]) -> Result<Vec<usize>, String> {
        let mut found = Vec::new();
        for (at, (wanted, block)) in self.wanted.iter().zip(&self.boundary.outputs).enumerate() {
            for (results, &position) in results.iter().zip(&self.position) {
                let (Some(result), Some(wanted)) =
                    (results.get(at).and_then(Value::as_array), wanted.as_array())
                else {
                    continue;
                };
                if !is_block(result, wanted, &offsets(block, position)).map_err(text)? {
                    found.push(at);
                    break;
                }
            }
        }
        Ok(found)
    }
}

/// Whether the inputs are small enough for a test.
fn check_size(boundary: &Boundary, work: u64) -> Result<(), String> {
    let elements: u64 = boundary.inputs.iter().map(|block| block.local.iter().product::<u64>()).sum();
    match elements.saturating_mul(boundary.device_ids.len() as u64) > work {
        true => Err(format!("the inputs are too large for a test; {MORE_WORK}")),
        false => Ok(()),
    }
}

/// The elements that a partition may compute on each device, even if the original computes few.
const LEAST: u64 = 1 << 14;
/// How many times as many elements as the original a partition may compute on each device: a wrong loop may not end.
const MORE: u64 = 64;

/// The value of padding; a program that uses it has other results.
const PADDING: f64 = 17.0;

fn text(fault: Fault) -> String {
    fault.to_string()
}

fn offsets(block: &Block, position: u64) -> Vec<usize> {
    block.offsets(position).into_iter().map(|offset| offset as usize).collect()
}

/// A random input: elements of the field, or small integers.
pub(crate) fn input(ty: &TensorType, seed: u64) -> Result<Array<Exact>, Fault> {
    let dims: Vec<usize> = ty.shape.iter().map(|&size| size.max(0) as usize).collect();
    if let Some(array) = Array::random(&dims, ty.dtype, seed)? {
        return Ok(array);
    }
    let values = if ty.dtype.bits() < 4 { 2 } else { 7 };
    let count: usize = dims.iter().product();
    let mut bytes = Vec::with_capacity(count * ty.dtype.bytes());
    for at in 0..count as u64 {
        let mixed =
            (at + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (seed + 1).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let number = ((mixed ^ (mixed >> 29)).wrapping_mul(0x94d0_49bb_1331_11eb) >> 32) % values;
        bytes.extend(&number.to_le_bytes()[..ty.dtype.bytes()]);
    }
    Exact::read(&dims, ty.dtype, &bytes)
}

/// Whether a block, without its padding, has the elements of the global array that begin at `offsets`.
fn is_block(block: &Array<Exact>, global: &Array<Exact>, offsets: &[usize]) -> Result<bool, Fault> {
    let sizes = block.dims().iter().zip(global.dims()).zip(offsets);
    let extent: Vec<usize> =
        sizes.map(|((&local, &global), &offset)| local.min(global.saturating_sub(offset))).collect();
    let found = Exact::block(block, &vec![0; extent.len()], &extent, PADDING)?;
    let wanted = Exact::block(global, offsets, &extent, PADDING)?;
    Ok(Exact::differences(&found, &wanted).is_some_and(|differences| differences.is_empty()))
}
