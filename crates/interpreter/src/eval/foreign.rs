//! Custom calls and operations that the interpreter does not know.

use shardc_ir::{OpId, OpKind};

use super::{Device, Stop, Values};
use crate::error::Fault;
use crate::numbers::Domain;
use crate::program::Foreign;

/// Targets of custom calls that return their operand.
const IDENTITIES: &[&str] = &[
    "Sharding",
    "SPMDFullToShardShape",
    "SPMDShardToFullShape",
    "annotate_device_placement",
    "LayoutConstraint",
    "MoveToHost",
    "MoveToDevice",
];

impl<D: Domain> Device<'_, '_, D> {
    pub(super) fn foreign(&self, op: OpId, operands: Values<D>) -> Result<Values<D>, Stop> {
        let data = &self.module.ops[op];
        let (name, is_custom_call, props) = match &data.kind {
            OpKind::CustomCall(spec) => (&*spec.target, true, &spec.props),
            OpKind::Opaque(spec) => (&*spec.name, false, &spec.props),
            _ => return Err(Fault::Internal("not a custom call".to_owned()).into()),
        };
        if let Some(handler) = self.program.handler
            && let Some(results) =
                handler.call(Foreign { name, is_custom_call, props, attrs: &data.attrs }, &operands)
        {
            return Ok(results?);
        }
        if let OpKind::CustomCall(spec) = &data.kind {
            if let Some(callee) = spec.kept_callee()
                && self.module.func_names.contains_key(callee)
            {
                return self.call(callee, operands);
            }
            let same_type = match (data.operands.as_slice(), data.results.as_slice()) {
                (&[from], &[to]) => self.module.values[from].ty == self.module.values[to].ty,
                _ => false,
            };
            if same_type && IDENTITIES.contains(&name) {
                return Ok(operands);
            }
            if let Some(results) = self.decomposition(op, spec, &operands)? {
                return Ok(results);
            }
        }
        Err(Fault::Unsupported(format!("the operation or custom call {name}")).into())
    }
}
