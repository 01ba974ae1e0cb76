//! Closes shardings: each becomes a placement on the common mesh, without priorities, open dimensions and axes of size one.

use rustc_hash::FxHashMap;
use shardc_ir::{Diagnostic, FuncId, MeshId, Module, OpKind, RegionId, ShardingId, TensorSharding, ValueId};

use super::device_order::{self, Crossing, planned_mesh};
use super::maximal;
use super::meshes::tidy;
use crate::analysis::regions::program_parts;

/// Converts the sharding of every tensor of the program to a closed sharding on `mesh`, without priorities and axes of size one.
pub(super) fn close_shardings(module: &mut Module, body: RegionId, mesh: MeshId) {
    let mut values: Vec<ValueId> = Vec::new();
    let (ops, regions) = program_parts(module, body);
    for region in regions {
        values.extend(&module.regions[region].args);
    }
    for &op in &ops {
        values.extend(&module.ops[op].results);
    }
    let mut known: FxHashMap<(Option<ShardingId>, usize), ShardingId> = FxHashMap::default();
    for value in values {
        let Some(ty) = module.stored(value) else {
            // A token holds no data, and has no sharding.
            module.shardings.set(value, None);
            continue;
        };
        let rank = ty.rank();
        let given = module.shardings.of(value);
        let id = known.get(&(given, rank)).copied().unwrap_or_else(|| {
            let closed = match given.map(|id| module.shardings.get(id)) {
                Some(sharding) => maximal::on_all(module, sharding, mesh, rank)
                    .unwrap_or_else(|| tidy(module, sharding, mesh)),
                None => TensorSharding::replicated(mesh, rank),
            };
            module.shardings.intern(closed)
        });
        known.insert((given, rank), id);
        module.shardings.set(value, Some(id));
    }
    // The attribute of a sharding constraint or reshard contains the sharding of its result.
    for op in ops {
        let Some(id) = module.ops[op].results.first().and_then(|&result| module.shardings.of(result)) else {
            continue;
        };
        match &mut module.ops[op].kind {
            OpKind::ShardingConstraint(to) | OpKind::Reshard(to) => *to = id,
            _ => {}
        }
    }
}

/// Assigns each result of the function a closed sharding: its annotation, or the sharding of the returned value. A sharding on a mesh with
/// a different device order keeps that mesh. Returns the sharding on `mesh` that each returned value must have.
pub(crate) fn close_results(
    module: &mut Module,
    func: FuncId,
    body: RegionId,
    mesh: MeshId,
) -> Vec<Option<ShardingId>> {
    let Some(ret) = module.terminator(body) else { return Vec::new() };
    let operands = module.ops[ret].operands.clone();
    let mut returned = Vec::with_capacity(operands.len());
    for (i, &value) in operands.iter().enumerate() {
        let declared = module.funcs[func].res_shardings.get(i).and_then(|s| s.expand());
        returned.push(match declared {
            Some(id) => {
                let (sharding, rank) = (module.shardings.get(id), module.rank(value));
                let closed = maximal::on_all(module, sharding, mesh, rank)
                    .unwrap_or_else(|| tidy(module, sharding, mesh));
                Some(module.shardings.intern(closed))
            }
            None => module.shardings.of(value),
        });
    }
    let leaving = device_order::leaving(module, func, mesh);
    module.funcs[func].res_shardings = returned.iter().map(|&sharding| sharding.into()).collect();
    for Crossing { index, sharding } in leaving {
        if let Some(place) = module.funcs[func].res_shardings.get_mut(index) {
            *place = Some(sharding).into();
        }
    }
    returned
}

/// Returns the mesh of all shardings under `body`. Argument shardings may refer to a mesh with a different device order.
///
/// # Errors
/// Returns SH0391 if the shardings are not closed and on one mesh.
pub(crate) fn unified_mesh(module: &Module, body: RegionId) -> Result<MeshId, Vec<Diagnostic>> {
    let failed = || {
        let message = "the shardings of the program are not all closed, or not all on one mesh";
        vec![Diagnostic::invalid("SH0391", message).hint("run the pass unify-meshes first")]
    };
    let mesh = planned_mesh(module, body).ok_or_else(failed)?;
    let is_unified = |value: ValueId, is_argument: bool| {
        if module.stored(value).is_none() {
            return true;
        }
        module.shardings.sharding_of(value).is_some_and(|sharding| {
            let is_there = sharding.mesh == mesh
                || is_argument && module.meshes[sharding.mesh].axes == module.meshes[mesh].axes;
            is_there && sharding.dims.iter().all(|dim| !dim.open && dim.priority.is_none())
        })
    };
    let (ops, regions) = program_parts(module, body);
    let mut args =
        regions.iter().flat_map(|&r| module.regions[r].args.iter().map(move |&arg| (arg, r == body)));
    let mut results = ops.iter().flat_map(|&op| &module.ops[op].results);
    if args.all(|(arg, is_argument)| is_unified(arg, is_argument)) && results.all(|&v| is_unified(v, false)) {
        return Ok(mesh);
    }
    Err(failed())
}

#[cfg(test)]
mod tests {
    use shardc_ir::{OpKind, ShardingId};
    use shardc_stablehlo::{PrintOptions, parse, print};

    use super::{close_results, close_shardings, unified_mesh};
    use crate::plan::testing::{around, op_named};

    const OPEN: &str = r#"
        sdy.mesh @mesh = <["x"=4, "one"=1]>
        func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", ?}p1, {"one", ?}]>}, %b: tensor<8xf32>) -> tensor<8x8xf32> {
          %0 = sdy.sharding_constraint %a <@mesh, [{"x", ?}, {"one"}]> : tensor<8x8xf32>
          return %0 : tensor<8x8xf32>
        }"#;

    #[test]
    fn open_dimensions_priorities_and_axes_of_size_one_are_removed() {
        let mut module = parse(OPEN).unwrap();
        let func = module.entry().unwrap();
        let body = module.funcs[func].body.unwrap();
        let mesh = module.meshes.keys().next().unwrap();
        let constraint = op_named(&module, "sdy.sharding_constraint");
        let OpKind::ShardingConstraint(asked) = module.ops[constraint].kind else { panic!() };
        let result = module.ops[constraint].results[0];
        module.shardings.set(result, Some(asked));
        assert_eq!(unified_mesh(&module, body).unwrap_err()[0].code, "SH0391");
        close_shardings(&mut module, body, mesh);
        assert_eq!(unified_mesh(&module, body).unwrap(), mesh);
        let text = |sharding: Option<ShardingId>| {
            module.shardings.get(sharding.unwrap()).display(&module.meshes[mesh])
        };
        let args: Vec<_> =
            module.regions[body].args.iter().map(|&arg| text(module.shardings.of(arg))).collect();
        assert_eq!(args, [r#"[{"x"}, {}]"#, "[{}]"]);
        // The attribute of a constraint contains the sharding of its result.
        let program = print(&module, &PrintOptions::default());
        assert!(program.contains(r#"sdy.sharding_constraint %arg0 <@mesh, [{"x"}, {}]>"#), "{program}");
        let returned = close_results(&mut module, func, body, mesh);
        assert_eq!(returned, [module.shardings.of(result)]);
    }

    #[test]
    fn a_result_keeps_the_sharding_that_it_is_annotated_with() {
        let done = around(
            "plan",
            r#""x"=4"#,
            r#"func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>})
                -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}, tensor<8xf32>) {
              return %a, %a : tensor<8xf32>, tensor<8xf32>
            }"#,
        );
        assert_eq!(done.shardings("sdy.reshard"), ["[{}]"]);
        assert!(done.after.contains("return %0, %arg0 :"), "{}", done.after);
    }
}
