//! The values of the propagated program that stand for a value of the text.
//!
//! Passes before propagation replace operations, and inlining copies them. Copies and replacements keep the source positions of their
//! originals. Thus the counterparts of a result are results of operations at the same position with the same type. An argument of a
//! called function is the operand of its calls, and the result of a call is the value that the function returns.

use shardc_ir::{FuncId, OpId, OpKind, RegionId, ValueDef, ValueId};

use super::links::Links;
use super::session::Session;

/// The maximum number of nested calls that are followed.
const DEPTH: usize = 32;

/// The maximum number of counterparts.
const MOST: usize = 64;

impl Session {
    /// The values of the propagated program that stand for a value of the parsed program.
    pub(super) fn counterparts(&self, value: ValueId) -> Vec<ValueId> {
        let mut found = Vec::new();
        self.add_counterparts(value, 0, &mut found);
        found.truncate(MOST);
        found
    }

    fn add_counterparts(&self, value: ValueId, depth: usize, found: &mut Vec<ValueId>) {
        if depth >= DEPTH || found.len() >= MOST || !self.raw.values.is_valid(value) {
            return;
        }
        match self.raw.values[value].def() {
            ValueDef::Result(op, i) => self.add_result(op, i as usize, value, depth, found),
            ValueDef::Arg(region, i) => self.add_argument(region, i as usize, value, depth, found),
        }
    }

    /// The operations of the propagated program at the position of an operation of the text.
    fn ops_at(&self, op: OpId) -> impl Iterator<Item = OpId> + '_ {
        let span = self.raw.ops[op].span;
        let from = self.ops.partition_point(|&(start, _)| start < span.start);
        let rest = self.ops.get(from..).unwrap_or_default().iter();
        rest.take_while(move |&&(start, _)| span.is_some() && start == span.start).map(|&(_, op)| op)
    }

    fn add_result(&self, op: OpId, i: usize, value: ValueId, depth: usize, found: &mut Vec<ValueId>) {
        let data = &self.raw.ops[op];
        let before = found.len();
        let ops = self.ops_at(op).filter(|&at| self.propagated.ops[at].kind.name() == data.kind.name());
        found.extend(ops.filter_map(|at| self.propagated.ops[at].results.get(i).copied()));
        if found.len() > before {
            return;
        }
        if let OpKind::Call { callee } = &data.kind {
            let body = self.raw.func_names.get(callee).and_then(|&func| self.raw.funcs[func].body);
            let returned = body.and_then(|body| self.raw.terminator(body));
            if let Some(&value) = returned.and_then(|ret| self.raw.ops[ret].operands.get(i)) {
                self.add_counterparts(value, depth + 1, found);
                self.keep_those_of_call(op, before, found);
                return;
            }
        }
        // An operation that was decomposed: the last of its operations with a result of the same type.
        let ty = self.raw.types.get(self.raw.values[value].ty);
        let is_equal = |&v: &ValueId| self.propagated.types.get(self.propagated.values[v].ty) == ty;
        let results = self.ops_at(op).flat_map(|at| self.propagated.ops[at].results.iter().copied());
        found.extend(results.filter(is_equal).last());
    }

    /// Removes the values of other calls than `call` from those found since `before`, if there are values of this call.
    fn keep_those_of_call(&self, call: OpId, before: usize, found: &mut Vec<ValueId>) {
        let is_of_call = |value: &ValueId| {
            let op = self.propagated.def_op(*value);
            op.is_some_and(|op| self.sites.of(op).contains(&call))
        };
        let own: Vec<ValueId> =
            found.iter().skip(before).filter(|value| is_of_call(value)).copied().collect();
        if !own.is_empty() {
            found.truncate(before);
            found.extend(own);
        }
    }

    fn add_argument(
        &self,
        region: RegionId,
        i: usize,
        value: ValueId,
        depth: usize,
        found: &mut Vec<ValueId>,
    ) {
        let func = self.raw.funcs.iter().find(|(_, func)| func.body == Some(region));
        match func {
            Some((_, data)) if data.name == self.propagated.funcs[self.entry].name => {
                found.extend(self.propagated.regions[self.body].args.get(i));
            }
            Some((func, _)) => self.add_operands_of_calls(func, i, depth, found),
            None => {
                let Some(op) = self.links().owners[region].expand() else { return };
                let data = &self.raw.ops[op];
                let Some(at) = data.regions.iter().position(|&own| own == region) else { return };
                let ty = self.raw.types.get(self.raw.values[value].ty);
                let args = self.ops_at(op).filter_map(|op| {
                    let region = *self.propagated.ops[op].regions.get(at)?;
                    self.propagated.regions[region].args.get(i).copied()
                });
                found.extend(args.filter(|&v| self.propagated.types.get(self.propagated.values[v].ty) == ty));
            }
        }
    }

    fn add_operands_of_calls(&self, func: FuncId, i: usize, depth: usize, found: &mut Vec<ValueId>) {
        for &call in &self.links().calls[func] {
            if let Some(&operand) = self.raw.ops[call].operands.get(i) {
                self.add_counterparts(operand, depth + 1, found);
            }
        }
    }

    fn links(&self) -> &Links {
        self.links.get_or_init(|| Links::new(&self.raw))
    }
}
