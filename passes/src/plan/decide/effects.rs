//! Operations with side effects, such as infeed and outfeed.
//!
//! Outside of manual computations, every device executes them with replicated operands: the host feeds the full value to each device, and
//! receives it from each. XLA rejects such operations unless they name their devices; planning prints a note instead. In a manual
//! computation, the program itself defines the behavior of each device.

use shardc_ir::{Attr, Class, Diagnostic, Effect, OpId, OpKind};

use super::OpPlanner;
use crate::rules::is_identity;

/// The channel type of `send` and `recv` between devices.
const BETWEEN_DEVICES: i64 = 1;

impl OpPlanner<'_> {
    /// Prints a note that every device executes `op`, if that is observable; rejects `op` if it communicates between devices.
    pub(super) fn check_side_effect(&mut self, op: OpId) {
        let data = &self.rw.module.ops[op];
        let has_effect = match &data.kind {
            OpKind::Send(spec) | OpKind::Recv(spec) if spec.channel.ty == BETWEEN_DEVICES => {
                let message = format!("{} between devices", data.kind.name());
                let mut error = Diagnostic::unsupported("SH0313", message)
                    .at(data.span)
                    .hint("use stablehlo.collective_permute in an sdy.manual_computation (jax.shard_map)");
                error.user_loc = self.rw.module.user_loc(op);
                self.errors.push(error);
                return;
            }
            OpKind::CustomCall(spec) => {
                !is_identity(&spec.target)
                    && matches!(spec.props.get("has_side_effect"), Some(Attr::Bool(true) | Attr::Unit))
            }
            kind => kind.def().effect == Effect::World,
        };
        if !has_effect || self.scope.is_some() {
            return;
        }
        let message = format!(
            "{} has a side effect, and every device executes it with replicated values",
            data.kind.title()
        );
        let mut note = Diagnostic::warning(Class::Unsupported, "SH0316", message).at(data.span).hint(
            "run it on one device, or on the shard of each device, in an sdy.manual_computation (jax.shard_map)",
        );
        note.user_loc = self.rw.module.user_loc(op);
        self.notes.push(note);
    }
}
