//! What a program may bring along that shardc does not read yet.

use shardc_ir::{Diagnostic, Module, OpKind, Span};

/// Refuses a program whose shardings are GSPMD's (`mhlo.sharding` attributes, `@Sharding` custom calls): to ignore
/// them would partition it otherwise than its author said.
///
/// # Errors
/// `SH0308`, at the first such annotation.
pub fn refuse_gspmd(module: &Module) -> Result<(), Vec<Diagnostic>> {
    let refused = |span: Span, what: &str| {
        Err(vec![
            Diagnostic::unsupported("SH0308", format!("the program is annotated for GSPMD ({what})"))
                .at(span)
                .hint("lower it with Shardy annotations instead (in JAX, jax_use_shardy_partitioner=True), or remove them and give --mesh and --spec"),
        ])
    };
    for func in module.funcs.values() {
        let attrs = func.arg_attrs.iter().chain(&func.res_attrs);
        if attrs.into_iter().any(|a| a.get("mhlo.sharding").is_some()) {
            return refused(func.span, "mhlo.sharding");
        }
    }
    for body in module.bodies() {
        for op in module.walk(body) {
            let op = &module.ops[op];
            if op.attrs.get("mhlo.sharding").is_some() {
                return refused(op.span, "mhlo.sharding");
            }
            if let OpKind::CustomCall(call) = &op.kind
                && matches!(&*call.target, "Sharding" | "SPMDFullToShardShape" | "SPMDShardToFullShape")
            {
                return refused(op.span, &format!("@{}", call.target));
            }
        }
    }
    Ok(())
}
