//! Dynamic shapes. As in Shardy, propagation does not shard tensors with dynamic sizes. A program that itself shards such a tensor is
//! rejected, since the size of a block would depend on the dynamic size.

use shardc_ir::{Diagnostic, FuncId, Module, RegionId, ShardingId, Span, TypeId};

use crate::analysis::regions::program_parts;

/// Rejects sharded tensors with dynamic sizes.
pub(super) fn check(module: &Module, func: FuncId, body: RegionId) -> Result<(), Vec<Diagnostic>> {
    let mut errors = Vec::new();
    let mut check = |ty: TypeId, id: Option<ShardingId>, span: Span, what: &dyn Fn() -> String| {
        let Some(sharding) = id.map(|id| module.shardings.get(id)).filter(|s| !s.is_unsplit()) else {
            return;
        };
        let Some(ty) = module.types.stored(ty).filter(|ty| !ty.is_static()) else { return };
        let spec = sharding.display(&module.meshes[sharding.mesh]);
        let message = format!("cannot shard {} as {spec} because {ty} has a dynamic size", what());
        errors.push(Diagnostic::unsupported("SH0315", message).at(span).hint(
            "give the dimension a size with `Compiler::dim`, leave it unsharded, or pad it to its maximum size \
                     (stablehlo.set_dimension_size, stablehlo.pad) and shard the padded dimension",
        ));
    };
    let data = &module.funcs[func];
    let (ops, regions) = program_parts(module, body);
    for region in regions {
        for (i, &arg) in module.regions[region].args.iter().enumerate() {
            let what = || match region == body {
                true => format!("argument {i} of @{}", data.name),
                false => "an argument of a region".to_owned(),
            };
            check(module.values[arg].ty, module.shardings.of(arg), data.span, &what);
        }
    }
    for op in ops {
        let op = &module.ops[op];
        for &result in &op.results {
            let what = || format!("the result of {}", op.kind.title());
            check(module.values[result].ty, module.shardings.of(result), op.span, &what);
        }
    }
    for (i, (&ty, id)) in data.results.iter().zip(&data.res_shardings).enumerate() {
        check(ty, id.expand(), data.span, &|| format!("result {i} of @{}", data.name));
    }
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

#[cfg(test)]
mod tests {
    use crate::plan::testing::{around, refused};

    #[test]
    fn a_sharded_tensor_with_a_dynamic_dimension_is_refused() {
        for dims in [r#"[{"x"}, {}]"#, r#"[{}, {"x"}]"#] {
            let program = format!(
                r#"sdy.mesh @mesh = <["x"=4]>
                func.func @main(%a: tensor<?x8xf32> {{sdy.sharding = #sdy.sharding<@mesh, {dims}>}}) -> tensor<?x8xf32> {{
                  %0 = stablehlo.negate %a : tensor<?x8xf32>
                  return %0 : tensor<?x8xf32>
                }}"#
            );
            assert_eq!(refused("legalize-shardings", &program), ["SH0315"], "{dims}");
        }
    }

    #[test]
    fn a_replicated_tensor_with_a_dynamic_dimension_stays() {
        let done = around(
            "legalize-shardings",
            r#""x"=4"#,
            r#"func.func @main(%a: tensor<?x8xf32>, %b: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>})
                -> (tensor<?x8xf32>, tensor<8xf32>) {
              %0 = stablehlo.negate %a : tensor<?x8xf32>
              return %0, %b : tensor<?x8xf32>, tensor<8xf32>
            }"#,
        );
        assert!(done.is_same(), "{}", done.after);
    }
}
