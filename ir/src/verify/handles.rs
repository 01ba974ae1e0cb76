//! Verifies invariant I1: handles are in range.
//!
//! Structures are destructured field by field, so a new field does not compile until it is checked.

use cranelift_entity::EntityRef;

use super::Report;
use crate::{
    AttrDef, Func, Loc, LocId, ManualSpec, Mesh, MeshCollective, MeshId, MeshPlace, Module, Op, OpKind,
    PackedOption, Region, ShardingId, TensorSharding, Type, TypeId, Value, ValueDef,
};

const CODE: &str = "SH0201";

pub(super) fn check(report: &mut Report<'_>) {
    let module = report.module;
    let Module {
        name: _,
        attrs: _,
        meshes,
        mesh_names,
        mesh_places,
        funcs,
        func_names,
        kept: _,
        enclosing,
        ops,
        values,
        regions,
        types,
        locs,
        shardings,
        resources: _,
        loc,
    } = module;
    let mut bad = |what: String| report.internal(CODE, format!("invalid handle: {what} is out of range"));
    for (name, &mesh) in mesh_names {
        if !meshes.is_valid(mesh) {
            bad(format!("{mesh} named @{name}"));
        }
    }
    for (name, &func) in func_names {
        if !funcs.is_valid(func) {
            bad(format!("{func} named @{name}"));
        }
    }
    if !loc_ok(module, *loc) || enclosing.iter().any(|outer| !loc_ok(module, outer.loc)) {
        bad("the location of the module".to_owned());
    }
    for (id, mesh) in meshes {
        let Mesh { axes: _, device_ids: _, attrs: _ } = mesh;
        let MeshPlace { funcs_above: _, others_above: _, span: _, loc } = mesh_places[id];
        if !loc_ok(module, loc) {
            bad(format!("the location of {id}"));
        }
    }
    check_funcs(module, &mut bad);
    check_ops(module, &mut bad);
    check_values(module, &mut bad);
    for (id, region) in regions {
        let Region { args, arg_locs, ops: listed } = region;
        if !args.iter().all(|&v| values.is_valid(v)) || !listed.iter().all(|&op| ops.is_valid(op)) {
            bad(format!("an argument or operation of {id}"));
        }
        if !arg_locs.iter().all(|&l| loc_ok(module, l)) {
            bad(format!("the location of an argument of {id}"));
        }
    }
    for i in 0..shardings.len() {
        let id = ShardingId::new(i);
        // The check of invariant I12 covers the axes in the ignored fields.
        let TensorSharding { mesh, dims: _, replicated: _, unreduced: _, reduction: _ } = shardings.get(id);
        if !meshes.is_valid(*mesh) {
            bad(format!("the mesh of {id}"));
        }
    }
    for i in 0..locs.len() {
        if !loc_children_before(locs.get(LocId::new(i)), i) {
            bad(format!("a location that {} refers to", LocId::new(i)));
        }
    }
    for i in 0..types.len() {
        if let Type::Tuple(items) = types.get(TypeId::new(i))
            && items.iter().any(|item| item.index() >= i)
        {
            bad(format!("an item of {}", TypeId::new(i)));
        }
    }
}

fn type_ok(module: &Module, ty: TypeId) -> bool {
    ty.index() < module.types.len()
}

fn loc_ok(module: &Module, loc: PackedOption<LocId>) -> bool {
    loc.expand().is_none_or(|loc| loc.index() < module.locs.len())
}

fn sharding_ok(module: &Module, sharding: ShardingId) -> bool {
    sharding.index() < module.shardings.len()
}

fn check_funcs(module: &Module, bad: &mut impl FnMut(String)) {
    for (id, func) in &module.funcs {
        let Func {
            name: _,
            visibility: _,
            body,
            params,
            results,
            arg_attrs: _,
            res_attrs: _,
            res_shardings,
            arg_locs,
            arg_names: _,
            arg_spans: _,
            res_spans: _,
            attrs: _,
            span: _,
            loc,
        } = func;
        if body.is_some_and(|b| !module.regions.is_valid(b)) {
            bad(format!("the body of {id}"));
        }
        if !params.iter().chain(results).all(|&ty| type_ok(module, ty)) {
            bad(format!("a type of {id}"));
        }
        if !res_shardings.iter().filter_map(|s| s.expand()).all(|s| sharding_ok(module, s)) {
            bad(format!("a sharding of {id}"));
        }
        if !arg_locs.iter().chain([loc]).all(|&l| loc_ok(module, l)) {
            bad(format!("a location of {id}"));
        }
    }
}

fn check_ops(module: &Module, bad: &mut impl FnMut(String)) {
    let Module { meshes, ops, values, regions, .. } = module;
    for (id, op) in ops {
        let Op { kind, operands, results, regions: op_regions, attrs: _, span: _, loc } = op;
        if !operands.iter().chain(results).all(|&v| values.is_valid(v)) {
            bad(format!("a value of {id}"));
        }
        if !op_regions.iter().all(|&r| regions.is_valid(r)) {
            bad(format!("a region of {id}"));
        }
        if !loc_ok(module, *loc) {
            bad(format!("the location of {id}"));
        }
        if !kind_ok(kind, |m| meshes.is_valid(m), |s| sharding_ok(module, s)) {
            bad(format!("a mesh or sharding of {id}"));
        }
    }
}

fn check_values(module: &Module, bad: &mut impl FnMut(String)) {
    for (id, value) in &module.values {
        let Value { ty, def } = *value;
        if !type_ok(module, ty) {
            bad(format!("the type of {id}"));
        }
        let def_ok = match def {
            ValueDef::Result(op, _) => module.ops.is_valid(op),
            ValueDef::Arg(region, _) => module.regions.is_valid(region),
        };
        if !def_ok {
            bad(format!("the definition of {id}"));
        }
        if module.shardings.of(id).is_some_and(|s| !sharding_ok(module, s)) {
            bad(format!("the sharding of {id}"));
        }
    }
}

fn loc_children_before(loc: &Loc, i: usize) -> bool {
    let before = |id: &LocId| id.index() < i;
    match loc {
        Loc::Unknown | Loc::Raw(_) | Loc::File { file: _, line: _, col: _, to: _ } => true,
        Loc::Name { name: _, child } => child.iter().all(before),
        Loc::CallSite { callee, caller } => before(callee) && before(caller),
        Loc::Fused { metadata: _, children } => children.iter().all(before),
    }
}

/// Whether the handles in an operation's payload are in range.
fn kind_ok(kind: &OpKind, mesh: impl Fn(MeshId) -> bool, sharding: impl Fn(ShardingId) -> bool) -> bool {
    use OpKind as K;
    match kind {
        K::ShardingConstraint(s) | K::Reshard(s) => sharding(*s),
        K::MeshCollective(c) => {
            // The check of invariant I13 covers the axes in `kind`.
            let MeshCollective { mesh: m, kind: _, out } = &**c;
            mesh(*m) && sharding(*out)
        }
        K::ManualComputation(spec) => {
            let ManualSpec { in_shardings, out_shardings, manual_axes: _ } = &**spec;
            in_shardings.iter().chain(out_shardings).all(|&s| sharding(s))
        }
        K::DataFlowEdge(s) => s.is_none_or(&sharding),
        K::NamedComputation(spec) => {
            let lists = spec.in_shardings.iter().chain(&spec.out_shardings);
            lists.flatten().all(|&s| sharding(s))
        }
        // An operation that has no arm above must not have attributes with handles. A new operation with handles needs an arm that checks
        // them.
        kind => !kind.def().attrs.iter().any(AttrDef::has_handles),
    }
}
