//! Operations with side effects, such as infeed and outfeed.
//!
//! Outside of manual computations, every device executes such an operation with replicated operands: the host feeds the full value to each
//! device, and receives it from each. XLA rejects such operations unless they name their devices; planning reports a warning (SH0316)
//! instead. In a manual computation, the program itself defines the behavior of each device.

use shardc_ir::{Attr, Class, Diagnostic, Effect, OpId, OpKind};

use super::OpPlanner;
use crate::rules::is_identity_call;

/// The channel type (`DEVICE_TO_DEVICE`) of `send` and `recv` between devices.
const BETWEEN_DEVICES: i64 = 1;

impl OpPlanner<'_> {
    /// Warns that every device executes `op`, if its side effect is observable; rejects `op` if it communicates between devices.
    pub(super) fn check_side_effect(&mut self, op: OpId) {
        let data = &self.rw.module.ops[op];
        let has_effect = match &data.kind {
            OpKind::Send(spec) | OpKind::Recv(spec) if spec.channel.ty == BETWEEN_DEVICES => {
                let message = format!("{} between devices is not supported", data.kind.name());
                let mut error = Diagnostic::unsupported("SH0313", message)
                    .at(data.span)
                    .hint("use stablehlo.collective_permute in an sdy.manual_computation (jax.shard_map)");
                error.user_loc = self.rw.module.user_loc(op);
                self.errors.push(error);
                return;
            }
            OpKind::CustomCall(spec) => {
                !is_identity_call(&spec.target)
                    && matches!(spec.props.get("has_side_effect"), Some(Attr::Bool(true) | Attr::Unit))
            }
            kind => kind.def().effect == Effect::World,
        };
        if !has_effect || self.scope.is_some() {
            return;
        }
        let message = format!(
            "{} has a side effect: every device executes it, with replicated operands",
            data.kind.title()
        );
        let mut note = Diagnostic::warning(Class::Unsupported, "SH0316", message).at(data.span).hint(
            "wrap the operation in an sdy.manual_computation (jax.shard_map), so that each device runs it on its own shard",
        );
        note.user_loc = self.rw.module.user_loc(op);
        self.notes.push(note);
    }
}

#[cfg(test)]
mod tests {
    use crate::plan::testing::around;

    #[test]
    fn every_device_sends_the_unsharded_value_to_the_host() {
        let done = around(
            "plan",
            r#""x"=4"#,
            r#"func.func @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> {
              %t = stablehlo.create_token : !stablehlo.token
              %o = "stablehlo.outfeed"(%x, %t) <{outfeed_config = ""}> : (tensor<8xf32>, !stablehlo.token) -> !stablehlo.token
              return %x : tensor<8xf32>
            }"#,
        );
        assert!(done.warnings.contains(&"SH0316"), "{:?}", done.warnings);
        assert_eq!(done.shardings("sdy.reshard"), ["[{}]"]);
    }

    #[test]
    fn an_outfeed_in_a_manual_computation_gives_no_warning() {
        let done = around(
            "plan",
            r#""x"=4"#,
            r#"func.func @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> {
              %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%a: tensor<2xf32>) {
                %t = stablehlo.create_token : !stablehlo.token
                %o = "stablehlo.outfeed"(%a, %t) <{outfeed_config = ""}> : (tensor<2xf32>, !stablehlo.token) -> !stablehlo.token
                sdy.return %a : tensor<2xf32>
              } : (tensor<8xf32>) -> tensor<8xf32>
              return %0 : tensor<8xf32>
            }"#,
        );
        assert!(done.warnings.is_empty(), "{:?}", done.warnings);
        assert!(done.is_same(), "{}", done.after);
    }
}
