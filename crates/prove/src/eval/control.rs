//! Calls, branches and loops.
//!
//! A call is evaluated like its body. A loop whose condition is known before each iteration is unrolled: its terms are those of the
//! iterations. Other loops are evaluated by induction. A branch whose predicate is unknown selects between the results of all branches.

use shardc_ir::{CompareDirection, OpId};

use super::{Eval, OrStop, Stop};
use crate::terms::View;

impl Eval<'_, '_> {
    pub(super) fn call(&mut self, op: OpId, callee: &str) -> Result<Vec<View>, Stop> {
        let func = self.module.func_names.get(callee);
        let body = func.and_then(|&func| self.module.funcs[func].body);
        let Some(body) = body else { return Stop::rule("a call of a function without a body") };
        let args = self.operands(op)?;
        self.region(body, args)
    }

    pub(super) fn while_loop(&mut self, op: OpId) -> Result<Vec<View>, Stop> {
        let module = self.module;
        let &[condition, body] = module.ops[op].regions.as_slice() else {
            return Stop::rule("a loop without two regions");
        };
        let mut carried = self.operands(op)?;
        loop {
            let test = self.region(condition, carried.clone())?;
            match test.first().and_then(|test| self.terms.as_integer(test)) {
                Some(0) => return Ok(carried),
                Some(_) => carried = self.region(body, carried)?,
                None => return self.induction(op, condition, body),
            }
        }
    }

    /// The results of each branch. Values of enclosing regions are in scope.
    fn branches(&mut self, op: OpId) -> Result<Vec<Vec<View>>, Stop> {
        let module = self.module;
        module.ops[op].regions.iter().map(|&region| self.region(region, Vec::new())).collect()
    }

    pub(super) fn if_else(&mut self, op: OpId) -> Result<Vec<View>, Stop> {
        let module = self.module;
        let data = &module.ops[op];
        let test = self.value(data.operands[0])?;
        if let Some(value) = self.terms.as_integer(&test) {
            return self.region(data.regions[usize::from(value == 0)], Vec::new());
        }
        let branches = self.branches(op)?;
        let [yes, no] = branches.as_slice() else { return Stop::rule("a branch without two regions") };
        let mut results = Vec::new();
        for ((&result, a), b) in data.results.iter().zip(yes).zip(no) {
            let kind = self.kind(result);
            results.push(self.terms.select(kind, &test, a, b).or_stop()?);
        }
        Ok(results)
    }

    pub(super) fn case(&mut self, op: OpId) -> Result<Vec<View>, Stop> {
        let module = self.module;
        let data = &module.ops[op];
        let index = self.value(data.operands[0])?;
        let last = data.regions.len().saturating_sub(1);
        if let Some(value) = self.terms.as_integer(&index) {
            let at = usize::try_from(value).unwrap_or(last).min(last);
            return self.region(data.regions[at], Vec::new());
        }
        let branches = self.branches(op)?;
        let Some((default, others)) = branches.split_last() else { return Stop::rule("no branches") };
        let integers = self.terms.kind(&index);
        let mut results = default.clone();
        for (at, branch) in others.iter().enumerate().rev() {
            let number = self.terms.integer(integers, at as i64);
            let test = self.terms.compare(CompareDirection::EQ, &index, &number, true).or_stop()?;
            for ((result, view), &value) in results.iter_mut().zip(branch).zip(&data.results) {
                let kind = self.kind(value);
                *result = self.terms.select(kind, &test, view, result).or_stop()?;
            }
        }
        Ok(results)
    }
}
