//! Tests of each invariant, with a module that violates it.

use cranelift_entity::EntityRef;

use crate::testing::{arg, func, list, push, reducer, region, ret, ty};
use crate::*;

/// The errors of the verifier, one per line: code and message.
fn errors(module: &Module) -> Vec<String> {
    match verify(module) {
        Ok(()) => Vec::new(),
        Err(errors) => errors.iter().map(|e| format!("{}: {}", e.code, e.message)).collect(),
    }
}

/// Asserts that there is exactly one error, with this code and this text.
#[track_caller]
fn breaks(module: &Module, code: &str, text: &str) {
    let errors = errors(module);
    assert!(
        errors.len() == 1 && errors[0].starts_with(code) && errors[0].contains(text),
        "expected one {code} with {text:?}, have {errors:#?}"
    );
}

#[track_caller]
fn holds(module: &Module) {
    assert_eq!(errors(module), Vec::<String>::new());
}

const ADD: OpKind = OpKind::Binary(BinaryOp::Add);

/// The program `func @main(%0: 4x8xf32, %1: 4x8xf32) { return %0 + %1 }` on a mesh `data=2, model=4`, and handles of its entities.
struct Small {
    module: Module,
    mesh: MeshId,
    body: RegionId,
    add: OpId,
}

fn small() -> Small {
    let mut module = Module::new();
    let mesh = module.add_mesh("mesh", Mesh::new([("data", 2), ("model", 4)]));
    let body = region(&mut module, "4x8xf32 4x8xf32");
    let (a, b) = (arg(&module, body, 0), arg(&module, body, 1));
    let add = push(&mut module, body, ADD, &[a, b], "4x8xf32", &[]);
    let sum = module.ops[add].results[0];
    ret(&mut module, body, &[sum]);
    func(&mut module, "main", body);
    holds(&module);
    Small { module, mesh, body, add }
}

/// The module of [`small`] with an additional operation on the first argument, before the return.
fn with_op(kind: OpKind, results: &str, regions: impl FnOnce(&mut Module) -> Vec<RegionId>) -> Module {
    let Small { mut module, body, .. } = small();
    let regions = regions(&mut module);
    let types = crate::testing::tys(&mut module, results);
    let a = arg(&module, body, 0);
    let op = module.add_op(kind, &[a], &types, &regions);
    module.regions[body].ops.0.insert(0, op);
    module
}

#[test]
fn i1_handles() {
    type Edit = fn(&mut Small);
    let broken: [(&str, Edit); 11] = [
        ("the location of mesh0", |s| s.module.mesh_places[s.mesh].loc = LocId::new(99).into()),
        ("the location of an argument of region0", |s| {
            s.module.regions[s.body].arg_locs.push(LocId::new(99).into());
        }),
        ("a value of op0", |s| s.module.ops[s.add].operands[0] = ValueId::new(99)),
        ("a region of op0", |s| s.module.ops[s.add].regions.push(RegionId::new(99))),
        ("a mesh or sharding of op0", |s| {
            s.module.ops[s.add].kind = OpKind::Reshard(ShardingId::new(99));
        }),
        ("the location of op0", |s| s.module.ops[s.add].loc = LocId::new(99).into()),
        ("the type of v0", |s| s.module.values[ValueId::new(0)].ty = TypeId::new(99)),
        ("the sharding of v0", |s| s.module.shardings.set(ValueId::new(0), Some(ShardingId::new(99)))),
        ("an argument or operation of region0", |s| s.module.regions[s.body].ops.0.push(OpId::new(99))),
        ("a type of func0", |s| s.module.funcs[FuncId::new(0)].results[0] = TypeId::new(99)),
        ("an item of type1", |s| {
            s.module.types.intern(Type::Tuple(vec![TypeId::new(1)]));
        }),
    ];
    for (text, edit) in broken {
        let mut s = small();
        edit(&mut s);
        breaks(&s.module, "SH0201", text);
    }
    let mut s = small();
    ty(&mut s.module, "-3xf32");
    breaks(&s.module, "SH0201", "invalid type tensor<-3xf32>: dimension 0 has the negative size -3");
    let mut s = small();
    ty(&mut s.module, "4294967296x4294967296xf32");
    breaks(&s.module, "SH0201", "it has more than 2^56 bytes (64 PiB)");
    // A type that no value has is an error in the input, not a bug.
    assert!(verify(&s.module).unwrap_err().iter().all(|error| error.class == Class::InvalidInput));
    let mut s = small();
    s.module.locs.intern(Loc::Name { name: "x".into(), child: Some(LocId::new(1)) });
    breaks(&s.module, "SH0201", "a location that loc1 refers to");
}

#[test]
fn i2_one_place() {
    let mut s = small();
    s.module.regions[s.body].ops.0.insert(0, s.add);
    breaks(&s.module, "SH0202", "op0 (stablehlo.add) occurs twice in the program");
    let mut s = small();
    func(&mut s.module, "again", s.body);
    let errors = errors(&s.module);
    assert!(
        errors.iter().any(|e| e.contains("region0 belongs to two operations or functions")),
        "{errors:?}"
    );
    // A region that contains itself: a walk over it would not terminate.
    let mut s = small();
    s.module.ops[s.add].regions.push(s.body);
    assert!(!verify(&s.module).unwrap_err().is_empty());
}

#[test]
fn i3_definitions() {
    let mut s = small();
    s.module.values[ValueId::new(0)].def = ValueDef::Result(s.add, 0);
    breaks(&s.module, "SH0203", "v0 is used as argument 0 of region0 but defined as result 0 of op0");
}

#[test]
fn i4_dominance() {
    let mut s = small();
    let sum = s.module.ops[s.add].results[0];
    s.module.ops[s.add].operands[1] = sum;
    breaks(&s.module, "SH0204", "operand 1 of stablehlo.add (v2) is not defined before its use");

    // An operand that is defined in another function.
    let mut s = small();
    let other = region(&mut s.module, "");
    let end = ret(&mut s.module, other, &[ValueId::new(0)]);
    func(&mut s.module, "other", other);
    breaks(&s.module, "SH0204", "operand 0 of stablehlo.return");
    assert_eq!(s.module.ops[end].operands.len(), 1);

    // A value that is defined in a region and used after that region.
    let inner = |module: &mut Module| {
        (0..2)
            .map(|_| {
                let branch = region(module, "");
                let two = push(module, branch, OpKind::Constant(Dense::splat(&[0; 4])), &[], "f32", &[]);
                let value = module.ops[two].results[0];
                ret(module, branch, &[value]);
                branch
            })
            .collect::<Vec<_>>()
    };
    let mut s = small();
    let branches = inner(&mut s.module);
    let pred = s.module.add_op(OpKind::Constant(Dense::splat(&[1])), &[], &[], &[]);
    let i1 = ty(&mut s.module, "i1");
    let pred_value = s.module.values.push(Value { ty: i1, def: ValueDef::Result(pred, 0) });
    s.module.ops[pred].results.push(pred_value);
    let f32 = ty(&mut s.module, "f32");
    let conditional = s.module.add_op(OpKind::If, &[pred_value], &[f32], &branches);
    s.module.regions[s.body].ops.0.splice(0..0, [pred, conditional]);
    holds(&s.module);
    let inside = s.module.ops[s.module.regions[branches[0]].ops[0]].results[0];
    let sine = s.module.add_op(OpKind::Unary(UnaryOp::Sine), &[inside], &[f32], &[]);
    s.module.regions[s.body].ops.0.insert(2, sine);
    breaks(&s.module, "SH0204", "operand 0 of stablehlo.sine");
    // The value is visible to operations in the same branch, but not in the other branch.
    s.module.regions[s.body].ops.0.remove(2);
    s.module.regions[branches[0]].ops.0.insert(1, sine);
    holds(&s.module);
    s.module.regions[branches[0]].ops.0.remove(1);
    s.module.regions[branches[1]].ops.0.insert(1, sine);
    breaks(&s.module, "SH0204", "operand 0 of stablehlo.sine");
}

#[test]
fn i5_terminators() {
    let mut s = small();
    s.module.regions[s.body].ops.0.pop();
    breaks(&s.module, "SH0205", "@main does not end with a return");
    let mut s = small();
    let end = s.module.add_op(OpKind::Return, &[], &[], &[]);
    s.module.regions[s.body].ops.0.insert(0, end);
    breaks(&s.module, "SH0205", "a return is not the last operation");
    let module = with_op(OpKind::ShardingGroup { id: 0 }, "", |_| vec![]);
    holds(&module);
    let all_reduce = || OpKind::AllReduce(Box::default());
    holds(&with_op(all_reduce(), "4x8xf32", |m| vec![reducer(m, BinaryOp::Add, "f32")]));
    let module = with_op(all_reduce(), "4x8xf32", |m| {
        let body = reducer(m, BinaryOp::Add, "f32");
        m.regions[body].ops.0.pop();
        vec![body]
    });
    let errors = errors(&module);
    assert_eq!(errors[0], "SH0205: a region of stablehlo.all_reduce does not end with a return");
}

#[test]
fn i6_counts() {
    let mut s = small();
    s.module.ops[s.add].operands.pop();
    breaks(&s.module, "SH0206", "stablehlo.add has 1 operands, expected 2");
    let module = with_op(OpKind::AllReduce(Box::default()), "4x8xf32", |_| vec![]);
    breaks(&module, "SH0206", "stablehlo.all_reduce has 0 regions, expected 1");
    // Inference does not determine the result types of this operation, so the number of results is checked separately.
    let module = with_op(OpKind::UnaryEinsum { config: "ab->a".into() }, "4xf32 4xf32", |_| vec![]);
    breaks(&module, "SH0206", "stablehlo.unary_einsum has 2 results, expected 1");
}

#[test]
fn i7_types() {
    let mut s = small();
    let ty = ty(&mut s.module, "8x4xf32");
    let sum = s.module.ops[s.add].results[0];
    s.module.values[sum].ty = ty;
    let end = s.module.terminator(s.body).unwrap();
    s.module.ops[end].operands[0] = ValueId::new(0);
    breaks(&s.module, "SH0207", "result 0 of stablehlo.add is tensor<8x4xf32>, expected tensor<4x8xf32>");
    let mut s = small();
    let ty = self::ty(&mut s.module, "8x4xf32");
    let other = s.module.add_arg(s.body, ty);
    s.module.funcs[FuncId::new(0)].params.push(ty);
    s.module.ops[s.add].operands[1] = other;
    s.module.ops[s.add].span = Span::new(3, 9);
    let errors = verify(&s.module).unwrap_err();
    let error = errors.iter().find(|e| e.code == "SH0207").unwrap();
    assert_eq!(error.span, Span::new(3, 9));
    assert_eq!(
        error.hint.as_deref(),
        Some("elementwise operations do not broadcast: use stablehlo.broadcast_in_dim")
    );
}

#[test]
fn i8_region_types() {
    let all_reduce = |body: fn(&mut Module) -> RegionId| {
        with_op(OpKind::AllReduce(Box::default()), "4x8xf32", |m| vec![body(m)])
    };
    breaks(
        &all_reduce(|m| {
            let body = region(m, "f32 i32");
            let a = arg(m, body, 0);
            ret(m, body, &[a]);
            body
        }),
        "SH0208",
        "argument 1 of region 0 of stablehlo.all_reduce is tensor<i32>, expected tensor<f32>",
    );
    breaks(
        &all_reduce(|m| {
            let body = region(m, "f32 f32");
            let a = arg(m, body, 0);
            ret(m, body, &[a, a]);
            body
        }),
        "SH0208",
        "region 0 of stablehlo.all_reduce has 2 returned values, expected 1",
    );
    let mut s = small();
    let i32 = ty(&mut s.module, "i32");
    s.module.funcs[FuncId::new(0)].results[0] = i32;
    breaks(&s.module, "SH0208", "returned value 0 of @main is tensor<4x8xf32>, expected tensor<i32>");

    // A loop whose condition region returns a number.
    let module = with_op(OpKind::While, "4x8xf32", |m| {
        (0..2)
            .map(|_| {
                let body = region(m, "4x8xf32");
                let a = arg(m, body, 0);
                ret(m, body, &[a]);
                body
            })
            .collect()
    });
    breaks(
        &module,
        "SH0208",
        "returned value 0 of region 0 of stablehlo.while is tensor<4x8xf32>, expected tensor<i1>",
    );
    let sort = |args: &'static str| {
        with_op(OpKind::Sort { dim: Some(0), stable: Some(false) }, "4x8xf32", move |m| {
            let body = region(m, args);
            let values = m.regions[body].args.clone();
            let less = push(m, body, OpKind::Compare(CompareDirection::LT, None), &values[..2], "i1", &[]);
            let less = m.ops[less].results[0];
            ret(m, body, &[less]);
            vec![body]
        })
    };
    holds(&sort("f32 f32"));
    breaks(&sort("f32 f32 f32"), "SH0208", "has 3 arguments, expected 2");
}

#[test]
fn i9_functions() {
    let mut s = small();
    let other = region(&mut s.module, "");
    ret(&mut s.module, other, &[]);
    func(&mut s.module, "main", other);
    breaks(&s.module, "SH0209", "there are two functions @main");
    let mut s = small();
    s.module.funcs[FuncId::new(0)].arg_attrs.pop();
    breaks(&s.module, "SH0209", "@main has 1 attribute lists of parameters, expected 2");
    let mut s = small();
    s.module.funcs[FuncId::new(0)].params.pop();
    s.module.funcs[FuncId::new(0)].arg_attrs.pop();
    breaks(&s.module, "SH0209", "the parameter types of @main differ from the argument types of its body");
    let mut s = small();
    s.module.func_names.insert("alias".into(), FuncId::new(0));
    breaks(&s.module, "SH0209", "is listed as @alias");
}

#[test]
fn i10_calls() {
    let with_callee = |callee: &str, params: &str| {
        let mut module = with_op(OpKind::Call { callee: callee.into() }, "", |_| vec![]);
        let f = region(&mut module, params);
        ret(&mut module, f, &[]);
        func(&mut module, "f", f);
        module
    };
    holds(&with_callee("f", "4x8xf32"));
    breaks(&with_callee("g", "4x8xf32"), "SH0207", "there is no function @g");
    breaks(&with_callee("f", "4x8xf32 i32"), "SH0210", "the call of @f has 1 operands, expected 2");
    breaks(
        &with_callee("f", "4x8xi32"),
        "SH0210",
        "operand 0 of the call of @f is tensor<4x8xf32>, expected tensor<4x8xi32>",
    );
    let mut module = with_callee("f", "4x8xf32");
    let f = module.funcs[module.func_names["f"]].body.unwrap();
    let x = arg(&module, f, 0);
    let back = module.add_op(OpKind::Call { callee: "f".into() }, &[x], &[], &[]);
    module.regions[f].ops.0.insert(0, back);
    breaks(&module, "SH0210", "@f calls itself, directly or indirectly");
}

#[test]
fn i11_meshes() {
    let with_mesh = |mesh: Mesh| {
        let mut s = small();
        s.module.add_mesh("other", mesh);
        s.module
    };
    let ids = |ids: &[i64]| Mesh { device_ids: Some(ids.to_vec()), ..Mesh::new([("x", 2), ("y", 2)]) };
    holds(&with_mesh(ids(&[3, 1, 0, 2])));
    holds(&with_mesh(Mesh { device_ids: Some(vec![7]), ..Mesh::default() }));
    holds(&with_mesh(Mesh::default()));
    breaks(
        &with_mesh(Mesh::new([("x", 0)])),
        "SH0211",
        "axis \"x\" of mesh @other must have a size of at least 1, got 0",
    );
    breaks(&with_mesh(ids(&[0, 1, 2])), "SH0211", "mesh @other has 4 devices and 3 device ids");
    breaks(&with_mesh(ids(&[0, 1, 1, 2])), "SH0211", "1 is repeated");
    breaks(&with_mesh(ids(&[0, 1, 2, 4])), "SH0211", "4 is out of range");
    let none = Mesh { device_ids: Some(vec![1, 2]), ..Mesh::default() };
    breaks(&with_mesh(none), "SH0211", "without axes must have one device id");
    let huge = Mesh::new([("x", 1 << 40), ("y", 1 << 40)]);
    breaks(&with_mesh(huge), "SH0211", "mesh @other of 1099511627776 x 1099511627776 devices is too large");
}

fn sub(axis: u16, pre: u32, size: u32) -> AxisRef {
    AxisRef { axis, sub: Some(SubAxis { pre, size }) }
}

fn sharding(mesh: MeshId, dims: &[&[AxisRef]]) -> TensorSharding {
    TensorSharding::from_axes(mesh, dims.iter().copied())
}

#[test]
fn i12_shardings() {
    let (data, model) = (AxisRef::whole(0), AxisRef::whole(1));
    let with_sharding = |make: &dyn Fn(MeshId) -> TensorSharding| {
        let mut s = small();
        let id = s.module.shardings.intern(make(s.mesh));
        s.module.shardings.set(ValueId::new(0), Some(id));
        s.module
    };
    let with_dims = |dims: &[&[AxisRef]]| with_sharding(&|mesh| sharding(mesh, dims));
    holds(&with_dims(&[&[data], &[model]]));
    holds(&with_dims(&[&[sub(1, 2, 2), data], &[sub(1, 1, 2)]]));
    breaks(
        &with_dims(&[&[data]]),
        "SH0212",
        "the sharding of argument 0 of @main has 1 dimensions, but the value has 2",
    );
    breaks(&with_dims(&[&[data], &[data]]), "SH0212", "axis data is used twice");
    breaks(
        &with_dims(&[&[AxisRef::whole(2)], &[]]),
        "SH0212",
        "axis number 2 is out of range, the mesh has the axes \"data\", \"model\"",
    );
    breaks(&with_dims(&[&[model], &[sub(1, 1, 2)]]), "SH0212", "overlap");
    breaks(&with_dims(&[&[sub(1, 1, 3)], &[]]), "SH0212", "is not a sub-axis of axis \"model\" of size 4");
    breaks(&with_dims(&[&[sub(1, 1, 4)], &[]]), "SH0212", "is the full axis \"model\"");
    breaks(&with_dims(&[&[sub(1, 0, 2)], &[]]), "SH0212", "is not a sub-axis");
    breaks(
        &with_sharding(&|mesh| TensorSharding {
            unreduced: list(&[data]),
            ..sharding(mesh, &[&[data], &[]])
        }),
        "SH0212",
        "axis data is used twice",
    );
    breaks(
        &with_sharding(&|mesh| TensorSharding {
            replicated: list(&[model]),
            ..sharding(mesh, &[&[], &[sub(1, 1, 2)]])
        }),
        "SH0212",
        "overlap",
    );
    // `(1)2` and `(3)2` of an axis do not belong to one factorization.
    let mut s = small();
    let six = s.module.add_mesh("six", Mesh::new([("x", 12)]));
    let id = s.module.shardings.intern(sharding(six, &[&[sub(0, 1, 2)], &[sub(0, 3, 2)]]));
    s.module.shardings.set(ValueId::new(1), Some(id));
    breaks(&s.module, "SH0212", "do not belong to one factorization");
    // The shardings of constraints and of function results are checked too.
    let mut s = small();
    let id = s.module.shardings.intern(sharding(s.mesh, &[&[data]]));
    s.module.ops[s.add].kind = OpKind::ShardingConstraint(id);
    s.module.ops[s.add].operands.pop();
    breaks(&s.module, "SH0212", "the sharding of value 0 of sdy.sharding_constraint has 1 dimensions");
    let mut s = small();
    let id = s.module.shardings.intern(sharding(s.mesh, &[&[data]]));
    s.module.funcs[FuncId::new(0)].res_shardings[0] = id.into();
    breaks(&s.module, "SH0212", "result 0 of @main");
    // The sharding of a maximal mesh lists no dimensions.
    let mut s = small();
    let one = s.module.add_mesh("one", Mesh { device_ids: Some(vec![1]), ..Mesh::default() });
    let id = s.module.shardings.intern(sharding(one, &[]));
    s.module.shardings.set(ValueId::new(1), Some(id));
    holds(&s.module);
    for dims in [&[&[data][..], &[]], &[&[][..], &[]]] {
        let id = s.module.shardings.intern(sharding(one, dims));
        s.module.shardings.set(ValueId::new(1), Some(id));
        breaks(&s.module, "SH0212", "a sharding on a maximal mesh has no axes");
    }
}

#[test]
fn i13_manual_computations() {
    let (data, model) = (AxisRef::whole(0), AxisRef::whole(1));
    let manual = |local: &'static str, dims: &[&[AxisRef]], axes: &[AxisRef], shardings: usize| {
        let spec = |m: &mut Module| {
            let id = m.shardings.intern(sharding(MeshId::new(0), dims));
            ManualSpec { in_shardings: vec![id; shardings], out_shardings: vec![id], manual_axes: list(axes) }
        };
        let mut module = with_op(
            OpKind::ManualComputation(Box::new(ManualSpec {
                in_shardings: vec![],
                out_shardings: vec![],
                manual_axes: list(axes),
            })),
            "4x8xf32",
            move |m| {
                let body = region(m, local);
                let a = arg(m, body, 0);
                ret(m, body, &[a]);
                vec![body]
            },
        );
        let spec = spec(&mut module);
        let main = module.bodies().next().unwrap();
        let op = module.regions[main].ops[0];
        module.ops[op].kind = OpKind::ManualComputation(Box::new(spec));
        module
    };
    holds(&manual("2x2xf32", &[&[data], &[model]], &[data, model], 1));
    holds(&manual("2x8xf32", &[&[data], &[model]], &[data], 1));
    holds(&manual("2x8xf32", &[&[data, model], &[]], &[data], 1));
    let both = &[&[data] as &[AxisRef], &[model]];
    breaks(
        &manual("4x8xf32", both, &[data], 1),
        "SH0213",
        "operand 0: the value in the body has type tensor<4x8xf32>, expected tensor<2x8xf32>, the local type of tensor<4x8xf32>",
    );
    breaks(
        &manual("2x8xf32", both, &[data], 2),
        "SH0213",
        "there are 1 operands, but 2 shardings and 1 corresponding values in the body",
    );
    breaks(
        &manual("2x8xf32", &[&[model, data], &[]], &[data], 1),
        "SH0213",
        "manual axes must precede free axes",
    );
    breaks(&manual("2x8xf32", both, &[data, data], 1), "SH0213", "axis data is used twice");
    // The body of a manual computation cannot use values of the enclosing region.
    let mut module = manual("2x8xf32", both, &[data], 1);
    let outside = arg(&module, RegionId::new(0), 0);
    let body = RegionId::new(1);
    let sine = push(&mut module, body, OpKind::Unary(UnaryOp::Sine), &[outside], "4x8xf32", &[]);
    module.regions[body].ops.0.swap(0, 1);
    breaks(&module, "SH0204", "operand 0 of stablehlo.sine");
    assert!(module.ops[sine].regions.is_empty());

    // Inside the body, no value may be sharded along manual axes.
    let inside = |kind: &dyn Fn(&mut Module) -> OpKind| {
        let mut module = manual("2x8xf32", both, &[data], 1);
        let local = arg(&module, body, 0);
        let kind = kind(&mut module);
        push(&mut module, body, kind, &[local], "2x8xf32", &[]);
        module.regions[body].ops.0.swap(0, 1);
        module
    };
    let constraint = |dims: &'static [&'static [AxisRef]]| {
        inside(&move |m| OpKind::ShardingConstraint(m.shardings.intern(sharding(MeshId::new(0), dims))))
    };
    const DATA: AxisRef = AxisRef { axis: 0, sub: None };
    const MODEL: AxisRef = AxisRef { axis: 1, sub: None };
    holds(&constraint(&[&[], &[MODEL]]));
    breaks(
        &constraint(&[&[], &[DATA]]),
        "SH0213",
        "sdy.sharding_constraint uses the axis data, which is manual in an enclosing sdy.manual_computation",
    );
    let mut module = inside(&|_| OpKind::Unary(UnaryOp::Sine));
    let sine = module.ops[module.regions[body].ops[0]].results[0];
    let id = module.shardings.intern(sharding(MeshId::new(0), &[&[sub(1, 1, 2)], &[]]));
    module.shardings.set(sine, Some(id));
    holds(&module);
    let unreduced = TensorSharding { unreduced: list(&[data]), ..sharding(MeshId::new(0), &[&[], &[]]) };
    let id = module.shardings.intern(unreduced);
    module.shardings.set(sine, Some(id));
    breaks(&module, "SH0213", "stablehlo.sine uses the axis data");
    // All shardings of one manual computation must be on one mesh.
    let mut module = manual("2x8xf32", both, &[data], 1);
    let other = module.add_mesh("other", Mesh::new([("data", 2), ("model", 2)]));
    let id = module.shardings.intern(sharding(other, both));
    let op = module.regions[RegionId::new(0)].ops[0];
    if let OpKind::ManualComputation(spec) = &mut module.ops[op].kind {
        spec.out_shardings = vec![id];
    }
    breaks(&module, "SH0213", "the shardings are on different meshes, @mesh and @other");
}

#[test]
fn i13_collectives() {
    let (data, model) = (AxisRef::whole(0), AxisRef::whole(1));
    let collective = |kind: MeshCollectiveKind, before: &[&[AxisRef]], after: &[&[AxisRef]]| {
        let mut s = small();
        let (before, after) = (sharding(s.mesh, before), sharding(s.mesh, after));
        let before = s.module.shardings.intern(before);
        let out = s.module.shardings.intern(after);
        s.module.shardings.set(ValueId::new(0), Some(before));
        s.module.ops[s.add].operands.pop();
        s.module.ops[s.add].kind =
            OpKind::MeshCollective(Box::new(MeshCollective { mesh: s.mesh, kind, out }));
        s.module
    };
    let axes = |dims: &[&[AxisRef]]| dims.iter().map(|d| list(d)).collect::<Vec<AxisList>>();
    let gather = || MeshCollectiveKind::AllGather(axes(&[&[data], &[]]));
    holds(&collective(gather(), &[&[data], &[model]], &[&[], &[model]]));
    breaks(
        &collective(gather(), &[&[], &[model]], &[&[], &[model]]),
        "SH0213",
        "dimension 0 is sharded {} in the operand and {} in the result",
    );
    breaks(
        &collective(MeshCollectiveKind::AllSlice(axes(&[&[data]])), &[&[], &[]], &[&[data], &[]]),
        "SH0213",
        "axes for 1 dimensions",
    );
    let reduce = || MeshCollectiveKind::AllReduce(list(&[model]), ReductionKind::Add);
    holds(&collective(reduce(), &[&[data], &[]], &[&[data], &[]]));
    breaks(
        &collective(reduce(), &[&[data], &[model]], &[&[data], &[model]]),
        "SH0213",
        "it reduces along an axis that shards a dimension",
    );
    let parts = || MeshCollectiveKind::AllGather(axes(&[&[sub(1, 2, 2)], &[]]));
    holds(&collective(parts(), &[&[model], &[]], &[&[sub(1, 1, 2)], &[]]));
    breaks(
        &collective(parts(), &[&[model], &[]], &[&[sub(1, 2, 2)], &[]]),
        "SH0213",
        "dimension 0 is sharded {model} in the operand and {model:(2)2} in the result",
    );
    let exchange = |to| MeshCollectiveKind::AllToAll(vec![AxisMove { axes: list(&[model]), from: 0, to }]);
    holds(&collective(exchange(1), &[&[model], &[]], &[&[], &[model]]));
    breaks(
        &collective(exchange(2), &[&[model], &[]], &[&[], &[model]]),
        "SH0213",
        "dimensions 0 and 2 must be different dimensions",
    );
    breaks(
        &collective(exchange(0), &[&[model], &[]], &[&[], &[model]]),
        "SH0213",
        "dimensions 0 and 0 must be different dimensions",
    );
    let replicated = || MeshCollectiveKind::ReplicatedToUnreduced(list(&[model]));
    breaks(
        &collective(replicated(), &[&[data], &[]], &[&[data], &[]]),
        "SH0213",
        "its result is unreduced along {}, expected {model}",
    );
    let there_and_back = MeshCollectiveKind::AllToAll(vec![
        AxisMove { axes: list(&[model]), from: 0, to: 1 },
        AxisMove { axes: list(&[data]), from: 1, to: 0 },
    ]);
    breaks(
        &collective(there_and_back, &[&[model], &[data]], &[&[data], &[model]]),
        "SH0213",
        "two moves of axes use dimension 1",
    );
    holds(&collective(MeshCollectiveKind::CollectivePermute, &[&[data], &[]], &[&[sub(1, 1, 2)], &[]]));
    breaks(
        &collective(MeshCollectiveKind::CollectivePermute, &[&[data], &[]], &[&[model], &[]]),
        "SH0213",
        "sharded {data} in the operand and {model} in the result",
    );
}

fn grouped(groups: &[&[i64]], channel: Option<i64>, global: bool) -> CollectiveSpec {
    CollectiveSpec {
        groups: groups.iter().map(|g| g.to_vec()).collect(),
        channel: channel.map(Channel::between_devices),
        use_global_device_ids: global,
        ..CollectiveSpec::default()
    }
}

fn with_devices(mut module: Module, replicas: i64, partitions: i64) -> Module {
    module.attrs.set("mhlo.num_replicas", Attr::Int(replicas, "i32".into()));
    module.attrs.set("mhlo.num_partitions", Attr::Int(partitions, "i32".into()));
    module
}

#[test]
fn i14_replica_groups() {
    let all_reduce = |groups: &[&[i64]], channel, global| {
        let spec = grouped(groups, channel, global);
        with_op(OpKind::AllReduce(Box::new(spec)), "4x8xf32", |m| vec![reducer(m, BinaryOp::Add, "f32")])
    };
    let replicas = |groups: &[&[i64]]| with_devices(all_reduce(groups, None, false), 4, 1);
    holds(&replicas(&[&[0, 1], &[2, 3]]));
    holds(&replicas(&[]));
    holds(&replicas(&[&[0, 1, 2], &[3, -1, -1]]));
    breaks(&replicas(&[&[0, 1, 2], &[3]]), "SH0214", "has groups of different sizes, 3 and 1");
    breaks(&replicas(&[&[0, 1], &[1, 3]]), "SH0214", "has device 1 in its groups twice");
    breaks(&replicas(&[&[0, 1], &[2, 4]]), "SH0214", "has device id 4, expected an id in 0..4");
    breaks(&replicas(&[&[0, 1], &[2, -3]]), "SH0214", "has device id -3, expected an id in 0..4");
    breaks(&replicas(&[&[0, 1]]), "SH0214", "has only 2 of 4 devices in its groups");
    // With global ids, the groups must list replicas times partitions devices. Without `use_global_device_ids`, the ids
    // of an all-reduce refer to replicas.
    holds(&with_devices(all_reduce(&[&[0, 1, 2, 3]], Some(1), true), 1, 4));
    breaks(
        &with_devices(all_reduce(&[&[0, 1, 2, 3]], Some(1), false), 1, 4),
        "SH0214",
        "has device id 1, expected an id in 0..1",
    );
    holds(&all_reduce(&[&[0, 1]], None, false));
    breaks(&all_reduce(&[&[0, 9]], None, false), "SH0214", "has device id 9, expected an id in 0..2");
    breaks(&all_reduce(&[&[0, 1]], None, true), "SH0214", "has use_global_device_ids but no channel");
    let gather = |groups: &[&[i64]], result: &str| {
        let spec = Box::new(grouped(groups, None, false));
        with_op(OpKind::AllGather { dim: 0, spec }, result, |_| vec![])
    };
    holds(&gather(&[&[0, 1]], "8x8xf32"));
    breaks(&gather(&[&[0, 1], &[2, -1]], "8x8xf32"), "SH0214", "cannot have groups padded with -1");
    let broadcast = |groups: &[&[i64]]| {
        let kind = OpKind::CollectiveBroadcast(Box::new(grouped(groups, None, false)));
        with_devices(with_op(kind, "4x8xf32", |_| vec![]), 4, 1)
    };
    holds(&broadcast(&[&[0, 1]]));
}

#[test]
fn i15_permutes() {
    let permute = |pairs: &[&[i64]]| {
        let kind = OpKind::CollectivePermute(Box::new(grouped(pairs, Some(1), false)));
        with_devices(with_op(kind, "4x8xf32", |_| vec![]), 1, 4)
    };
    holds(&permute(&[&[0, 1], &[1, 0], &[2, 2]]));
    holds(&permute(&[]));
    breaks(&permute(&[&[0, 1], &[0, 2]]), "SH0215", "has device 0 as source twice");
    breaks(&permute(&[&[0, 1], &[2, 1]]), "SH0215", "has device 1 as target twice");
    breaks(&permute(&[&[0, 1, 2]]), "SH0215", "needs pairs");
    let global = OpKind::CollectivePermute(Box::new(grouped(&[&[0, 1]], Some(1), true)));
    breaks(&with_op(global, "4x8xf32", |_| vec![]), "SH0214", "cannot have use_global_device_ids");
    breaks(&permute(&[&[0, 4]]), "SH0215", "has device id 4, expected an id in 0..4");
}

#[test]
fn many_errors_are_listed_and_cut_off() {
    let mut s = small();
    let (a, i32) = (arg(&s.module, s.body, 0), ty(&mut s.module, "i32"));
    for _ in 0..super::MAX_ERRORS + 5 {
        let op = s.module.add_op(ADD, &[a, a], &[i32], &[]);
        s.module.regions[s.body].ops.0.insert(0, op);
    }
    assert_eq!(verify(&s.module).unwrap_err().len(), super::MAX_ERRORS);
}

#[test]
fn every_invariant_is_documented_and_tested() {
    let (doc, tests) = (include_str!("mod.rs"), include_str!("tests.rs"));
    for n in 1..=15 {
        assert!(doc.contains(&format!("* **I{n}** (SH02{n:02})")), "I{n} is not in the module documentation");
        assert!(tests.contains(&format!("fn i{n}_")), "I{n} has no test");
    }
}
