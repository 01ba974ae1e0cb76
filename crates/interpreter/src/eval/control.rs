//! Control flow and calls.

use shardc_ir::OpId;

use super::frame::Frame;
use super::{Device, Stop, Values};
use crate::error::Fault;
use crate::numbers::Domain;
use crate::value::Value;

impl<D: Domain> Device<'_, '_, D> {
    /// Repeats the body as long as the condition holds.
    pub(super) fn while_loop(
        &self,
        op: OpId,
        operands: Values<D>,
        frame: &mut Frame<'_, D>,
    ) -> Result<Values<D>, Stop> {
        let &[condition, body] = self.module.ops[op].regions.as_slice() else {
            return Err(Fault::Invalid("a loop without condition and body".to_owned()).into());
        };
        let mut state = operands;
        loop {
            self.charge(1)?;
            let holds = self.region(condition, state.clone(), frame)?;
            // Values of the condition must not keep the elements of the state, which the body may change in place.
            for arg in &self.module.regions[condition].args {
                frame.take(*arg);
            }
            let holds = holds.into_iter().next().map(Value::into_array).transpose()?;
            match holds.map(|holds| holds.to_index()).transpose()? {
                Some(0) => return Ok(state),
                Some(_) => state = self.region(body, state, frame)?,
                None => return Err(Fault::Invalid("a condition without a value".to_owned()).into()),
            }
        }
    }

    /// Runs region 0 if the operand is true, else region 1.
    pub(super) fn branch(
        &self,
        op: OpId,
        operands: Values<D>,
        frame: &mut Frame<'_, D>,
    ) -> Result<Values<D>, Stop> {
        let index = usize::from(self.index(operands)? == 0);
        self.chosen(op, index, frame)
    }

    /// Runs the region with the number of the operand, or the last one.
    pub(super) fn case(
        &self,
        op: OpId,
        operands: Values<D>,
        frame: &mut Frame<'_, D>,
    ) -> Result<Values<D>, Stop> {
        let last = self.module.ops[op].regions.len().saturating_sub(1);
        let index = usize::try_from(self.index(operands)?).unwrap_or(last).min(last);
        self.chosen(op, index, frame)
    }

    fn index(&self, operands: Values<D>) -> Result<i64, Stop> {
        let first = operands.into_iter().next();
        let first = first.ok_or_else(|| Fault::Invalid("a branch without an index".to_owned()))?;
        Ok(first.into_array()?.to_index()?)
    }

    fn chosen(&self, op: OpId, index: usize, frame: &mut Frame<'_, D>) -> Result<Values<D>, Stop> {
        match self.module.ops[op].regions.get(index) {
            Some(&region) => Ok(self.region(region, Vec::new(), frame)?),
            None => Err(Fault::Invalid("a branch that does not exist".to_owned()).into()),
        }
    }

    /// Runs the only region of an operation with its operands.
    pub(super) fn nested(
        &self,
        op: OpId,
        operands: Values<D>,
        frame: &mut Frame<'_, D>,
    ) -> Result<Values<D>, Stop> {
        match self.module.ops[op].regions.first() {
            Some(&region) => Ok(self.region(region, operands, frame)?),
            None => Err(Fault::Invalid("an operation without a region".to_owned()).into()),
        }
    }

    /// Calls a function of the module.
    pub(super) fn call(&self, callee: &str, operands: Values<D>) -> Result<Values<D>, Stop> {
        match self.module.func_names.get(callee) {
            Some(&func) => Ok(self.run(func, operands)?),
            None => Err(Fault::Invalid(format!("there is no function @{callee}")).into()),
        }
    }
}
