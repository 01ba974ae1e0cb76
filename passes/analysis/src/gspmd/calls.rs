//! Import of custom calls that carry shardings.

use shardc_ir::{
    AttrDict, Build, Diagnostic, FuncId, OpId, OpKind, PackedOption, PropagationDirection, TensorSharding,
    ValueId,
};

use super::collect::{short, string};
use super::hlo::{HloSharding, Leaf, ShardGroup};
use super::import::sdy_error;
use super::sdy_text;
use super::state::{Crossing, Import};
use super::text::TextError;

impl Import<'_> {
    fn unary(&self, op: OpId, what: &str) -> Result<(ValueId, ValueId), Box<Diagnostic>> {
        let data = &self.rw.module.ops[op];
        match (data.operands.as_slice(), data.results.as_slice()) {
            (&[operand], &[result]) => Ok((operand, result)),
            _ => Err(Box::new(
                Diagnostic::invalid("SH0347", format!("@{what} must have one operand and one result"))
                    .at(data.span),
            )),
        }
    }

    /// Returns the sharding on a custom call with one operand and one result, and the dimensions that its `backend_config` declares open.
    fn of_call(&mut self, op: OpId, text: &str) -> Result<(Leaf, Vec<i64>), Box<Diagnostic>> {
        let span = self.rw.module.ops[op].span;
        let leaf = match self.texts.get(text).map(|found| &found.sharding) {
            Some(HloSharding::Single(leaf)) => leaf.clone(),
            Some(HloSharding::Tuple(leaves)) if leaves.len() == 1 => leaves[0].clone(),
            _ => {
                let message = format!("{} is not the sharding of one value", short(text));
                return Err(Box::new(Diagnostic::invalid("SH0344", message).at(span)));
            }
        };
        let open = match &self.rw.module.ops[op].kind {
            OpKind::CustomCall(call) => match string(&call.props, "backend_config") {
                Some(config) => sdy_text::unspecified_dims(config)
                    .map_err(|e| Box::new(sdy_error("backend_config", config, &e, span)))?,
                None => Vec::new(),
            },
            _ => Vec::new(),
        };
        Ok((leaf, open))
    }

    /// Imports a `@Sharding` call as a sharding constraint.
    pub(super) fn constraint(
        &mut self,
        op: OpId,
        text: Option<&str>,
        frontend: &AttrDict,
    ) -> Result<(), Box<Diagnostic>> {
        let (operand, result) = self.unary(op, "Sharding")?;
        let span = self.rw.module.ops[op].span;
        if self.rw.module.values[operand].ty != self.rw.module.values[result].ty {
            let message = "@Sharding must not change the type";
            return Err(Box::new(Diagnostic::invalid("SH0347", message).at(span)));
        }
        let rank = self.rw.module.stored(operand).map(shardc_ir::TensorType::rank);
        if let Some(sdy) = sdy_text::frontend(frontend, sdy_text::SHARDING) {
            let list = sdy_text::per_value(self.rw.module, sdy)
                .map_err(|e| Box::new(sdy_error(sdy_text::SHARDING, sdy, &e, span)))?;
            if let (Some(sharding), Some(_)) = (list.into_iter().next(), rank) {
                self.constrain(op, sharding);
                return Ok(());
            }
        }
        let (Some(text), Some(rank)) = (text, rank) else {
            if let Some(sharding) =
                text.and_then(|text| self.texts.get(text)).map(|found| found.sharding.clone())
            {
                self.of_no_tensor(text.unwrap_or_default(), &sharding, span, &|| "@Sharding".to_owned());
            }
            self.replace(result, operand);
            return Ok(());
        };
        let (leaf, open) = self.of_call(op, text)?;
        let what = || "@Sharding".to_owned();
        let Some(placed) = self.place(text, &leaf, rank, &open, span, &what) else { return Ok(()) };
        if let Some(group) = leaf.group {
            let group = self.group_op(operand, group, span);
            self.rw.insert(group);
        }
        let s = &placed.sharding;
        let says_nothing =
            s.is_unsplit() && s.unreduced.is_empty() && s.dims.iter().all(|d| d.open) && rank > 0;
        if says_nothing || self.is_local(&placed) {
            self.replace(result, operand);
            return Ok(());
        }
        if !placed.manual.is_empty() {
            self.marked.insert(op, placed.manual.clone());
        }
        self.constrain(op, placed.sharding);
        Ok(())
    }

    fn constrain(&mut self, op: OpId, sharding: TensorSharding) {
        let id = self.rw.module.shardings.intern(sharding);
        self.rw.module.ops[op].kind = OpKind::ShardingConstraint(id);
    }

    /// Imports `@SPMDFullToShardShape` and `@SPMDShardToFullShape`, which convert between global values and the values of one device.
    pub(super) fn crossing(
        &mut self,
        op: OpId,
        text: Option<&str>,
        target: &str,
    ) -> Result<(), Box<Diagnostic>> {
        let (operand, result) = self.unary(op, target)?;
        let span = self.rw.module.ops[op].span;
        let Some(text) = text else {
            let message = format!("@{target} has no mhlo.sharding");
            return Err(Box::new(Diagnostic::invalid("SH0347", message).at(span)));
        };
        // The call's annotation describes only its result. The result of `@SPMDFullToShardShape` is the local value, with its manual
        // subgroups; the result of `@SPMDShardToFullShape` is the global value. The sharding of the operand is its own annotation.
        let enters = target == "SPMDFullToShardShape";
        let (leaf, open) = self.of_call(op, text)?;
        let value = if enters { operand } else { result };
        let rank = self.rw.module.rank(value);
        let what = || format!("@{target}");
        let Some(placed) = self.place(text, &leaf, rank, &open, span, &what) else { return Ok(()) };
        let crossing = if enters {
            if placed.manual.is_empty() {
                let message = format!("@{target} has the sharding {}, which has no manual axes", short(text));
                return Err(Box::new(
                    Diagnostic::invalid("SH0347", message)
                        .at(span)
                        .hint("the sharding must be {manual} or have manual subgroups"),
                ));
            }
            Crossing { enters, inner: Some(placed.manual), outer: None, added: None, shardings: Vec::new() }
        } else {
            Crossing {
                enters,
                inner: None,
                outer: Some(placed.manual),
                added: None,
                shardings: vec![placed.sharding],
            }
        };
        self.crossings.insert(op, crossing);
        Ok(())
    }

    /// Imports the custom calls that represent Shardy's operations in a program that went through XLA.
    pub(super) fn shardy_call(
        &mut self,
        op: OpId,
        func: FuncId,
        target: &str,
        frontend: &AttrDict,
    ) -> Result<(), Box<Diagnostic>> {
        let span = self.rw.module.ops[op].span;
        let attr = |name: &str| {
            sdy_text::frontend(frontend, name).ok_or_else(|| {
                Box::new(Diagnostic::invalid("SH0347", format!("@{target} has no {name}")).at(span))
            })
        };
        let failed = |name: &'static str, text: &str| {
            let text = text.to_owned();
            move |e: TextError| Box::new(sdy_error(name, &text, &e, span))
        };
        match target {
            "xla.sdy.FuncResultSharding" => {
                let (operand, result) = self.unary(op, target)?;
                let text = attr(sdy_text::SHARDING)?;
                let list =
                    sdy_text::per_value(self.rw.module, text).map_err(failed(sdy_text::SHARDING, text))?;
                match list.into_iter().next() {
                    Some(sharding) => self.func_result(op, func, (operand, result), sharding),
                    None => self.replace(result, operand),
                }
            }
            "xla.sdy.GlobalToLocalShape" | "xla.sdy.LocalToGlobalShape" => {
                let enters = target == "xla.sdy.GlobalToLocalShape";
                let name = if enters { sdy_text::IN_SHARDINGS } else { sdy_text::OUT_SHARDINGS };
                let text = attr(name)?;
                let shardings = sdy_text::per_value(self.rw.module, text).map_err(failed(name, text))?;
                let count = self.rw.module.ops[op].operands.len();
                if shardings.len() != count || self.rw.module.ops[op].results.len() != count {
                    let message = format!("@{target} has {count} operands and {} shardings", shardings.len());
                    return Err(Box::new(Diagnostic::invalid("SH0347", message).at(span)));
                }
                let text = attr(sdy_text::MANUAL_AXES)?;
                let mesh = shardings.first().map_or(self.home.mesh, |s| s.mesh);
                let axes = sdy_text::manual_axes(self.rw.module, mesh, text)
                    .map_err(failed(sdy_text::MANUAL_AXES, text))?;
                let crossing = Crossing { enters, inner: None, outer: None, added: Some(axes), shardings };
                self.crossings.insert(op, crossing);
            }
            "xla.sdy.ShardingGroup" => {
                let text = attr(sdy_text::GROUP_ID)?;
                let id = sdy_text::integer(text).map_err(failed(sdy_text::GROUP_ID, text))?;
                if self.rw.module.ops[op].results.iter().any(|&r| !self.uses.of(r).is_empty()) {
                    let message = format!("the result of @{target} must be unused");
                    return Err(Box::new(Diagnostic::invalid("SH0347", message).at(span)));
                }
                let operand = self.rw.module.ops[op].operands.first().copied();
                if let Some(operand) = operand {
                    let group = self.group_op(operand, ShardGroup::As(id), span);
                    self.rw.insert(group);
                }
                self.rw.erase();
            }
            "xla.sdy.PropagationBarrier" => {
                self.unary(op, target)?;
                let text = attr(sdy_text::DIRECTION)?;
                // Shardy writes the propagation direction as an index; older texts contain the name of the direction.
                let numbered = |number| PropagationDirection::ALL.get(usize::try_from(number).ok()?).copied();
                let direction = match sdy_text::integer(text) {
                    Ok(number) => numbered(number),
                    Err(_) => PropagationDirection::parse(text),
                };
                let Some(direction) = direction else {
                    let message = format!("@{target} has the unknown direction {text}");
                    return Err(Box::new(
                        Diagnostic::invalid("SH0347", message)
                            .at(span)
                            .hint("use NONE, FORWARD, BACKWARD or BOTH, or their numbers from 0"),
                    ));
                };
                self.rw.module.ops[op].kind = OpKind::PropagationBarrier { direction };
            }
            _ => {}
        }
        Ok(())
    }

    /// Assigns a sharding to a function result. Users of the value inside the function read it through an open sharding constraint.
    fn func_result(
        &mut self,
        op: OpId,
        func: FuncId,
        (operand, result): (ValueId, ValueId),
        sharding: TensorSharding,
    ) {
        let count = self.rw.module.funcs[func].results.len();
        let id = self.rw.module.shardings.intern(sharding.clone());
        // The import does not change operands, so the table of uses, which was built before the import, is still valid.
        let mut elsewhere = false;
        for &(user, i) in self.uses.of(result) {
            if self.terminator == Some(user) {
                let list = &mut self.rw.module.funcs[func].res_shardings;
                list.resize(count, PackedOption::default());
                if let Some(slot) = list.get_mut(i as usize) {
                    *slot = id.into();
                }
            } else {
                elsewhere = true;
            }
        }
        // The constraint is open because Shardy's call applies only to the function's result: a closed constraint would also affect the
        // users inside the function.
        if elsewhere {
            let mut open = sharding;
            for dim in &mut open.dims {
                dim.open = true;
            }
            self.constrain(op, open);
        } else {
            self.replace(result, operand);
        }
    }
}
