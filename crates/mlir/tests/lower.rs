//! Lowering of modules built by hand: the resulting text, and diagnostics for unsupported modules.

use shardc_analysis::transforms::legalize_backend::BackendOptions;
use shardc_ir::{
    Attr, AttrDict, BinaryOp, Build, Builder, Class, CustomCallSpec, DType, Dense, Func, Loc, Mesh,
    MeshCollective, MeshCollectiveKind, Module, OpId, OpKind, OpaqueSpec, PackedOption, RegionId, Span,
    TensorSharding, TypeId, UnaryOp, ValueId, Visibility,
};
use shardc_mlir::{LowerOptions, SpmdMode, to_bytecode, to_generic_text};

/// Adds the function `@name`, whose body `build` creates from the arguments; `build` returns the results.
fn func(
    module: &mut Module,
    name: &str,
    params: &[TypeId],
    build: impl FnOnce(&mut Builder<'_>, &[ValueId]) -> Vec<ValueId>,
) {
    let body = module.add_region(params);
    let args = module.regions[body].args.clone();
    let mut builder = Builder::new(module);
    let values = build(&mut builder, &args);
    builder.ret(&values);
    let ops = builder.take();
    module.set_ops(body, ops);
    let results: Vec<TypeId> = values.iter().map(|&v| module.values[v].ty).collect();
    module.add_func(Func {
        name: name.into(),
        visibility: Visibility::Public,
        body: Some(body),
        params: params.to_vec(),
        arg_attrs: vec![AttrDict::new(); params.len()],
        res_attrs: vec![AttrDict::new(); results.len()],
        res_shardings: vec![PackedOption::default(); results.len()],
        results,
        arg_locs: Vec::new(),
        arg_names: Vec::new(),
        arg_spans: Vec::new(),
        res_spans: Vec::new(),
        attrs: AttrDict::new(),
        span: Span::NONE,
        loc: PackedOption::default(),
    });
}

/// A module whose `@main` takes one `tensor<4xf32>`.
fn one_arg(build: impl FnOnce(&mut Builder<'_>, ValueId) -> Vec<ValueId>) -> Module {
    let mut module = Module::new();
    let ty = module.types.tensor(&[4], DType::F32);
    func(&mut module, "main", &[ty], |b, args| build(b, args[0]));
    module
}

fn partitions() -> BackendOptions {
    BackendOptions { spmd_mode: SpmdMode::Partition, ..BackendOptions::default() }
}

fn quiet() -> LowerOptions {
    LowerOptions { locations: false, ..LowerOptions::default() }
}

/// The lines of the text between the function's header and its terminator.
fn body_lines(text: &str) -> Vec<String> {
    text.lines()
        .map(str::trim)
        .skip_while(|l| !l.starts_with("^bb0"))
        .skip(1)
        .take_while(|l| !l.starts_with("\"func.return\""))
        .map(str::to_owned)
        .collect()
}

fn region_of(module: &mut Module, args: &[TypeId], ops: Vec<OpId>) -> RegionId {
    let region = module.add_region(args);
    module.set_ops(region, ops);
    region
}

#[test]
fn functions_are_printed_in_the_generic_form() {
    let mut module = one_arg(|b, x| {
        let ty = b.module.values[x].ty;
        let y = b.op1(OpKind::Binary(BinaryOp::Add), &[x, x], ty);
        vec![b.op1(OpKind::Unary(UnaryOp::Square), &[y], ty)]
    });
    module.name = Some("jit_f".into());
    module.attrs.set("mhlo.num_partitions", Attr::Int(8, "i32".into()));
    module.attrs.set("jax.uses_shape_polymorphism", Attr::Bool(false));
    let main = module.func_names["main"];
    module.funcs[main].arg_attrs[0].set("tf.aliasing_output", Attr::Int(0, "i32".into()));
    module.funcs[main].arg_attrs[0].set("mhlo.sharding", Attr::Str("{devices=[2]0,1}".into()));
    module.funcs[main].res_attrs[0].set("jax.result_info", Attr::Str("a \"b\"".into()));
    let text = to_generic_text(&module, &quiet()).unwrap();
    assert_eq!(
        text,
        r#""builtin.module"() <{sym_name = "jit_f"}> ({
  "func.func"() <{arg_attrs = [{tf.aliasing_output = 0 : i32}], function_type = (tensor<4xf32>) -> tensor<4xf32>, res_attrs = [{jax.result_info = "a \22b\22"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<4xf32>):
    %0 = "stablehlo.add"(%arg0, %arg0) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %1 = "chlo.square"(%0) : (tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%1) : (tensor<4xf32>) -> ()
  }) : () -> ()
}) {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
"#
    );
    assert!(to_bytecode(&module, &quiet()).unwrap().starts_with(b"ML\xefR"));
}

#[test]
fn operations_and_signatures_are_manual_in_partition_mode() {
    let mut module = one_arg(|b, x| {
        let ty = b.module.values[x].ty;
        let y = b.op(OpKind::OptimizationBarrier, &[x, x], &[ty, ty], &[]);
        vec![b.module.ops[y].results[1]]
    });
    module.add_mesh("mesh", Mesh::new([("x", 2), ("y", 4)]));
    let options = LowerOptions { backend: partitions(), ..quiet() };
    let text = to_generic_text(&module, &options).unwrap();
    assert!(text.contains(r#"arg_attrs = [{mhlo.sharding = "{manual}"}]"#), "{text}");
    assert!(text.contains(r#"res_attrs = [{mhlo.sharding = "{manual}"}]"#), "{text}");
    assert!(text.contains(r#"(%arg0, %arg0) {mhlo.sharding = "{manual}"}"#), "{text}");
    assert!(text.contains("mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32"), "{text}");
    let replicas = to_generic_text(&module, &quiet()).unwrap();
    assert!(!replicas.contains("manual"), "{replicas}");
    assert!(replicas.contains("mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 8 : i32"), "{replicas}");
}

#[test]
fn loops_and_branches_have_no_manual_sharding() {
    let module = one_arg(|b, x| {
        let ty = b.module.values[x].ty;
        let end = b.module.add_op(OpKind::Return, &[x], &[], &[]);
        let region = region_of(b.module, &[], vec![end]);
        let op = b.op(OpKind::Case, &[x], &[ty], &[region]);
        vec![b.module.ops[op].results[0]]
    });
    let options = LowerOptions { backend: partitions(), ..quiet() };
    let lines = body_lines(&to_generic_text(&module, &options).unwrap());
    assert!(
        lines[0].starts_with("%0 = \"stablehlo.case\"") && !lines.concat().contains("manual"),
        "{lines:?}"
    );
}

#[test]
fn constants_keep_their_elements() {
    let rows: [(&[i64], DType, Dense, &str); 11] = [
        (
            &[2],
            DType::I32,
            Dense::elements(vec![1, 0, 0, 0, 254, 255, 255, 255]),
            "dense<[1, -2]> : tensor<2xi32>",
        ),
        (&[3], DType::F32, Dense::splat(&1.5f32.to_le_bytes()), "dense<1.500000e+00> : tensor<3xf32>"),
        (&[], DType::BF16, Dense::splat(&[0x80, 0x3f]), "dense<1.000000e+00> : tensor<bf16>"),
        (&[3], DType::I1, Dense::elements(vec![1, 0, 1]), "dense<[true, false, true]> : tensor<3xi1>"),
        (&[9], DType::I1, Dense::splat(&[1]), "dense<true> : tensor<9xi1>"),
        (&[2], DType::I4, Dense::elements(vec![0xff, 7]), "dense<[-1, 7]> : tensor<2xi4>"),
        (&[2], DType::UI8, Dense::elements(vec![200, 1]), "dense<[200, 1]> : tensor<2xui8>"),
        (&[1], DType::F8E4M3FN, Dense::splat(&[0x38]), "dense<1.000000e+00> : tensor<1xf8E4M3FN>"),
        (&[0, 2], DType::F32, Dense::elements(vec![]), "dense<> : tensor<0x2xf32>"),
        (
            &[1],
            DType::C64,
            Dense::splat(&[1.0f32.to_le_bytes(), (-2.0f32).to_le_bytes()].concat()),
            "dense<(1.000000e+00,-2.000000e+00)> : tensor<1xcomplex<f32>>",
        ),
        (&[2], DType::I8, Dense::Resource("k".into()), "dense<[1, 2]> : tensor<2xi8>"),
    ];
    for (shape, dtype, value, text) in rows {
        let mut module = Module::new();
        module.resources = Some(r#"dialect_resources: { builtin: { k: "0x010000000102" } }"#.into());
        func(&mut module, "main", &[], |b, _| {
            let ty = b.module.types.tensor(shape, dtype);
            vec![b.op1(OpKind::Constant(value), &[], ty)]
        });
        let lowered = to_generic_text(&module, &quiet()).unwrap();
        assert!(lowered.contains(&format!("{{value = {text}}}")), "{text}: {lowered}");
        to_bytecode(&module, &quiet()).unwrap();
    }
}

#[test]
fn constants_must_match_their_type() {
    for (shape, dtype, value) in [
        (&[2i64][..], DType::I32, Dense::elements(vec![1, 0, 0, 0])),
        (&[2], DType::I32, Dense::splat(&[1])),
        (&[2], DType::I1, Dense::elements(vec![1])),
        (&[2], DType::TF32, Dense::splat(&[0; 4])),
        (&[shardc_ir::DYNAMIC], DType::I32, Dense::splat(&[0; 4])),
        (&[2], DType::I8, Dense::Resource("absent".into())),
    ] {
        let mut module = Module::new();
        func(&mut module, "main", &[], |b, _| {
            let ty = b.module.types.tensor(shape, dtype);
            vec![b.op1(OpKind::Constant(value.clone()), &[], ty)]
        });
        assert_eq!(to_bytecode(&module, &quiet()).unwrap_err().code, "SH0506", "{shape:?} {dtype} {value:?}");
    }
}

#[test]
fn regions_use_values_of_enclosing_regions() {
    let module = one_arg(|b, x| {
        let ty = b.module.values[x].ty;
        let pred = b.module.types.tensor(&[], DType::I1);
        let p = b.op1(OpKind::Constant(Dense::splat(&[1])), &[], pred);
        let inside = b.module.add_op(OpKind::Unary(UnaryOp::Negate), &[x], &[ty], &[]);
        let result = b.module.ops[inside].results[0];
        let end = b.module.add_op(OpKind::Return, &[result], &[], &[]);
        let yes = region_of(b.module, &[], vec![inside, end]);
        let end = b.module.add_op(OpKind::Return, &[x], &[], &[]);
        let no = region_of(b.module, &[], vec![end]);
        let op = b.op(OpKind::If, &[p], &[ty], &[yes, no]);
        vec![b.module.ops[op].results[0]]
    });
    let text = to_generic_text(&module, &quiet()).unwrap();
    assert!(text.contains(r#""stablehlo.negate"(%arg0)"#), "{text}");
    assert!(text.contains(r#""stablehlo.return"(%arg0)"#), "{text}");
}

#[test]
fn annotations_are_dropped() {
    let module = one_arg(|b, x| {
        let ty = b.module.values[x].ty;
        let mesh = b.module.add_mesh("mesh", Mesh::new([("x", 2)]));
        let sharding = b.module.shardings.intern(TensorSharding::replicated(mesh, 1));
        let y = b.op1(OpKind::ShardingConstraint(sharding), &[x], ty);
        b.op(OpKind::ShardingGroup { id: 1 }, &[y], &[], &[]);
        let call = CustomCallSpec { target: "Sharding".into(), props: AttrDict::new() };
        let z = b.op1(OpKind::CustomCall(Box::new(call)), &[y], ty);
        let w = b.op1(OpKind::Reshard(sharding), &[z], ty);
        vec![b.op1(OpKind::Unary(UnaryOp::Negate), &[w], ty)]
    });
    let lines = body_lines(&to_generic_text(&module, &quiet()).unwrap());
    assert_eq!(lines, [r#"%0 = "stablehlo.negate"(%arg0) : (tensor<4xf32>) -> tensor<4xf32>"#]);
}

#[test]
fn locations_are_kept_on_request() {
    let mut module = one_arg(|b, x| {
        let ty = b.module.values[x].ty;
        vec![b.op1(OpKind::Unary(UnaryOp::Negate), &[x], ty)]
    });
    let locs = &mut module.locs;
    let file = locs.intern(Loc::File { file: "a \"b\".py".into(), line: 3, col: 5, to: None });
    let range = locs.intern(Loc::File { file: "c.py".into(), line: 1, col: 2, to: Some("to 3:4".into()) });
    let named = locs.intern(Loc::Name { name: "jit(f)/neg".into(), child: Some(file) });
    let call = locs.intern(Loc::CallSite { callee: named, caller: range });
    let fused = locs.intern(Loc::Fused { metadata: Some("\"m\"".into()), children: vec![call, file] });
    let op = module.regions[module.bodies().next().unwrap()].ops[0];
    module.ops[op].loc = fused.into();
    let with = to_generic_text(&module, &LowerOptions::default()).unwrap();
    for part in
        ["\"a \\22b\\22.py\":3:5", "\"c.py\":1:2 to 3:4", "\"jit(f)/neg\"(#loc", "callsite(", "fused<\"m\">["]
    {
        assert!(with.contains(part), "{part} in {with}");
    }
    let without = to_generic_text(&module, &quiet()).unwrap();
    assert!(!without.contains("loc("), "{without}");
}

#[test]
fn operations_on_global_values_are_rejected() {
    let module = one_arg(|b, x| {
        let ty = b.module.values[x].ty;
        let mesh = b.module.add_mesh("mesh", Mesh::new([("x", 2)]));
        let out = b.module.shardings.intern(TensorSharding::replicated(mesh, 1));
        let kind = MeshCollectiveKind::CollectivePermute;
        vec![b.op1(OpKind::MeshCollective(Box::new(MeshCollective { mesh, kind, out })), &[x], ty)]
    });
    let error = to_bytecode(&module, &quiet()).unwrap_err();
    assert_eq!((error.code, error.class), ("SH0501", Class::InvalidInput));
}

#[test]
fn text_that_mlir_rejects_is_invalid_input() {
    let attr = |attr: Attr| {
        one_arg(|b, x| {
            let ty = b.module.values[x].ty;
            let op = b.op(OpKind::Unary(UnaryOp::Negate), &[x], &[ty], &[]);
            b.module.ops[op].attrs.set("mhlo.x", attr);
            vec![b.module.ops[op].results[0]]
        })
    };
    let error = to_bytecode(&attr(Attr::Raw("dense<".into())), &quiet()).unwrap_err();
    assert_eq!((error.code, error.class), ("SH0502", Class::InvalidInput));
    assert!(error.message.contains("expected"), "{error}");
    let deep = "[".repeat(100_000) + &"]".repeat(100_000);
    assert_eq!(to_bytecode(&attr(Attr::Raw(deep.into())), &quiet()).unwrap_err().code, "SH0507");
    let kept = attr(Attr::Raw("#stablehlo.whatever<a = [1, 2], b = \"c\">".into()));
    assert!(
        to_generic_text(&kept, &quiet())
            .unwrap()
            .contains("mhlo.x = #stablehlo.whatever<a = [1, 2], b = \"c\">")
    );
}

#[test]
fn a_program_that_mlir_rejects_is_reported() {
    // A call of a function that does not exist.
    let module = one_arg(|b, x| {
        let ty = b.module.values[x].ty;
        vec![b.op1(OpKind::Call { callee: "absent".into() }, &[x], ty)]
    });
    let error = to_bytecode(&module, &quiet()).unwrap_err();
    assert_eq!(error.code, "SH0505");
    assert!(error.message.contains("absent"), "{error}");
}

#[test]
fn undefined_values_and_unknown_func_operations_are_rejected() {
    let mut module = one_arg(|b, x| {
        let ty = b.module.values[x].ty;
        let y = b.op1(OpKind::Unary(UnaryOp::Negate), &[x], ty);
        vec![b.op1(OpKind::Unary(UnaryOp::Abs), &[y], ty)]
    });
    let body = module.bodies().next().unwrap();
    let mut ops = module.regions[body].ops.to_vec();
    ops.swap(0, 1);
    module.set_ops(body, ops);
    assert_eq!(to_bytecode(&module, &quiet()).unwrap_err().code, "SH0504");
    for name in ["func.func", "builtin.module", "nodialect"] {
        let module = one_arg(|b, x| {
            let spec = OpaqueSpec { name: name.into(), props: AttrDict::new() };
            let ty = b.module.values[x].ty;
            vec![b.op1(OpKind::Opaque(Box::new(spec)), &[x], ty)]
        });
        assert_eq!(to_bytecode(&module, &quiet()).unwrap_err().code, "SH0501", "{name}");
    }
}

#[test]
fn deeply_nested_regions_are_rejected() {
    let module = one_arg(|b, x| {
        let ty = b.module.values[x].ty;
        let end = b.module.add_op(OpKind::Return, &[x], &[], &[]);
        let mut region = region_of(b.module, &[], vec![end]);
        for _ in 0..10_000 {
            let inner = b.module.add_op(OpKind::Case, &[x], &[ty], &[region]);
            let result = b.module.ops[inner].results[0];
            let end = b.module.add_op(OpKind::Return, &[result], &[], &[]);
            region = region_of(b.module, &[], vec![inner, end]);
        }
        let op = b.op(OpKind::Case, &[x], &[ty], &[region]);
        vec![b.module.ops[op].results[0]]
    });
    assert_eq!(to_bytecode(&module, &quiet()).unwrap_err().code, "SH0507");
}
