//! Restrictions on the sharding of quantized tensors.
//!
//! A quantized tensor is sharded like any other, except where a mask or an unreduced sum would fill in zeros: the representation of zero
//! depends on the quantization parameters. A dimension with per-axis scales is not sharded: its shards would have different types, but all
//! devices run the same program.

use shardc_ir::{
    Diagnostic, DimSharding, FuncId, Module, OpId, OpKind, RegionId, ShardingId, Span, TypeId, ValueId,
};

use crate::analysis::regions::program_parts;

/// Removes the axes from dimensions with per-axis scales. Planning later reports the all-gathers that operations need as a result.
///
/// # Errors
/// Returns `SH0319` if the program itself requests such a sharding.
pub(super) fn replicate_scaled_dims(
    module: &mut Module,
    func: FuncId,
    body: RegionId,
) -> Result<(), Vec<Diagnostic>> {
    let (ops, regions) = program_parts(module, body);
    let args = regions.iter().flat_map(|&r| &module.regions[r].args);
    let values: Vec<ValueId> = args
        .chain(ops.iter().flat_map(|&op| &module.ops[op].results))
        .copied()
        .filter(|&v| module.is_quantized(v))
        .collect();
    if values.is_empty() {
        return Ok(());
    }
    let errors = requested_splits(module, func, body, &ops);
    if !errors.is_empty() {
        return Err(errors);
    }
    for value in values {
        let Some(sharding) = module.shardings.of(value) else { continue };
        let dims = split_scales(module, module.values[value].ty, sharding);
        if dims.is_empty() {
            continue;
        }
        let mut whole = module.shardings.get(sharding).clone();
        for dim in dims {
            whole.dims[dim] = DimSharding::closed(&[]);
        }
        let whole = module.shardings.intern(whole);
        module.shardings.set(value, Some(whole));
    }
    Ok(())
}

/// Returns an error for each argument, result or constraint that the program itself shards along a dimension with per-axis scales.
fn requested_splits(module: &Module, func: FuncId, body: RegionId, ops: &[OpId]) -> Vec<Diagnostic> {
    let refused = |ty: TypeId, id: Option<ShardingId>, span: Span| {
        let &dim = split_scales(module, ty, id?).first()?;
        let message = format!(
            "dimension {dim} of {} is sharded, but has per-axis scales: its shards would have different types",
            module.types.display(ty)
        );
        Some(Diagnostic::unsupported("SH0319", message).at(span).hint(
            "shard another dimension, or shard the real numbers before uniform_quantize or after uniform_dequantize",
        ))
    };
    let data = &module.funcs[func];
    let args = module.regions[body].args.iter();
    let args = args.filter_map(|&v| refused(module.values[v].ty, module.shardings.of(v), data.span));
    let results = data.results.iter().zip(&data.res_shardings);
    let results = results.filter_map(|(&ty, id)| refused(ty, id.expand(), data.span));
    let ops = ops.iter().filter_map(|&op| {
        let op = &module.ops[op];
        let (OpKind::ShardingConstraint(id) | OpKind::Reshard(id)) = op.kind else { return None };
        refused(module.values[*op.results.first()?].ty, Some(id), op.span)
    });
    args.chain(results).chain(ops).collect()
}

/// Returns the sharded dimensions of a quantized type that have per-axis scales.
fn split_scales(module: &Module, ty: TypeId, sharding: ShardingId) -> Vec<usize> {
    let Some(tensor) = module.types.as_quantized(ty) else { return Vec::new() };
    let sharding = module.shardings.get(sharding);
    let mesh = &module.meshes[sharding.mesh];
    (0..sharding.rank()).filter(|&dim| tensor.scales_along(dim) && sharding.shards(mesh, dim) > 1).collect()
}

#[cfg(test)]
mod tests {
    use crate::plan::testing::{Around, around, refused};

    /// Legalizes a program that quantizes an argument with a scale for each index of dimension 1.
    fn legalized(dims: &str) -> Around {
        let program = format!(
            r#"func.func @main(%a: tensor<8x2xf32> {{sdy.sharding = #sdy.sharding<@mesh, {dims}>}}) -> tensor<8x2xf32> {{
              %0 = stablehlo.uniform_quantize %a : (tensor<8x2xf32>) -> tensor<8x2x!quant.uniform<i8:f32:1, {{0.5, 0.25}}>>
              %1 = stablehlo.uniform_dequantize %0 : (tensor<8x2x!quant.uniform<i8:f32:1, {{0.5, 0.25}}>>) -> tensor<8x2xf32>
              return %1 : tensor<8x2xf32>
            }}"#
        );
        around("legalize-shardings", r#""x"=2"#, &program)
    }

    #[test]
    fn axes_are_removed_from_a_dimension_with_scales() {
        let done = legalized(r#"[{}, {"x"}]"#);
        assert_eq!(done.shardings("stablehlo.uniform_quantize"), ["[{}, {}]"]);
        assert_eq!(done.shardings("stablehlo.uniform_dequantize"), [r#"[{}, {"x"}]"#]);
    }

    #[test]
    fn axes_of_a_dimension_without_scales_stay() {
        let done = legalized(r#"[{"x"}, {}]"#);
        assert!(done.is_same(), "{}", done.after);
    }

    #[test]
    fn an_argument_that_is_sharded_along_its_scales_is_refused() {
        let program = r#"
            sdy.mesh @mesh = <["x"=2]>
            func.func @main(%a: tensor<8x2x!quant.uniform<i8:f32:1, {0.5, 0.25}>> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>})
                -> tensor<8x2xf32> {
              %0 = stablehlo.uniform_dequantize %a : (tensor<8x2x!quant.uniform<i8:f32:1, {0.5, 0.25}>>) -> tensor<8x2xf32>
              return %0 : tensor<8x2xf32>
            }"#;
        assert_eq!(refused("legalize-shardings", program), ["SH0319"]);
    }
}
