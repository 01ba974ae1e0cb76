//! Manifests of programs that another compiler or a rewrite made: the blocks are those that the original's shardings describe.

use shardc_ir::{
    Attr, DType, Dense, Diagnostic, Func, FuncId, Mesh, MeshId, Module, OpKind, ShardingId, SpmdMode,
    TensorSharding, TensorType, Type, TypeId, Visibility,
};
use shardc_passes::gspmd::import_gspmd;
use shardc_passes::sharding::interface::{Interface, InterfaceTensor};

use crate::{Error, Manifest};

/// The manifest of a program that another compiler partitioned, or that a rewrite made.
///
/// If `other` has the types of the original and no collectives, it is a program on global values, and the manifest has one device.
/// Otherwise, the block of each argument and result is that of its sharding in the original: `sdy.sharding`, or `mhlo.sharding`. An
/// argument or result without a sharding is replicated. The original must therefore have the shardings that the other compiler chose: it
/// is the program after that compiler's propagation. XLA records the shardings in its partition, and they take precedence.
///
/// # Errors
/// The types of `other` are not those of the blocks, or the mesh is not known (SH0715). An annotation cannot be read (SH034x).
pub fn annotated_manifest(original: &Module, other: &Module) -> Result<Manifest, Error> {
    let (Some(global), Some(local)) = (original.entry(), other.entry()) else {
        return Err(misfit("a program has no entry function", ENTRY));
    };
    let mode = device_mode(other);
    let types = |module: &Module, func: FuncId| {
        let Func { params, results, .. } = &module.funcs[func];
        [params, results].map(|list| list.iter().map(|&ty| module.types.display(ty)).collect::<Vec<_>>())
    };
    if mode.is_none() && types(original, global) == types(other, local) {
        return interface(original, global, (None, Mesh::default()), SpmdMode::default());
    }
    check_counts(&original.funcs[global], &other.funcs[local])?;
    let mut annotated = original.clone();
    if let Some(recorded) = recorded(original, global, other) {
        annotated = recorded;
    }
    import_gspmd(&mut annotated, None)?;
    let func = annotated.entry().unwrap_or(global);
    let mesh = mesh(&annotated, func).ok_or_else(|| misfit("the original has no mesh", ANNOTATE))?;
    let manifest = interface(&annotated, func, mesh, mode.unwrap_or_default())?;
    check(original, global, &manifest, types(other, local))?;
    Ok(manifest)
}

/// The attributes of a module in which XLA's partitioner records the shardings of parameters and results.
const RECORDED: [&str; 2] = ["mhlo.spmd_parameters_shardings", "mhlo.spmd_output_sharding"];

/// A program with the types of the original and the shardings that XLA recorded in its partition; `None` if it recorded none, or if all are
/// replicated, so that the mesh is only known from the original.
fn recorded(original: &Module, func: FuncId, other: &Module) -> Option<Module> {
    let is_sharded = |name: &str| match other.attrs.get(name) {
        Some(Attr::Str(text)) => text.contains("devices="),
        Some(Attr::Array(list)) => {
            list.iter().any(|attr| matches!(attr, Attr::Str(text) if text.contains("devices=")))
        }
        _ => false,
    };
    if !RECORDED.into_iter().any(is_sharded) {
        return None;
    }
    let mut module = Module::new();
    for name in RECORDED {
        module.attrs.set(name, other.attrs.get(name)?.clone());
    }
    let Func { params, results, .. } = &original.funcs[func];
    let mut copied = |list: &[TypeId]| -> Vec<TypeId> {
        list.iter().map(|&ty| module.types.intern(original.types.get(ty).clone())).collect()
    };
    let (params, results) = (copied(params), copied(results));
    let body = module.add_region(&params);
    let mut returned = Vec::new();
    for &ty in &results {
        let zero = Dense::splat(&vec![0; module.types.stored(ty)?.dtype.bytes()]);
        let op = module.add_op(OpKind::Constant(zero), &[], &[ty], &[]);
        module.push_op(body, op);
        returned.push(module.ops[op].results[0]);
    }
    let end = module.add_op(OpKind::Return, &returned, &[], &[]);
    module.push_op(body, end);
    module.add_func(Func { visibility: Visibility::Public, ..Func::private("main", body, params, results) });
    Some(module)
}

const ENTRY: &str = "name the function @main";
const ANNOTATE: &str = "annotate arguments and results of the original with the shardings that the other compiler chose, or pass the \
                        manifest of the partition";
const PROPAGATED: &str = "pass the original after the propagation of the compiler that partitioned it: each argument and result needs the \
                          sharding that this compiler chose";

pub(super) fn misfit(text: impl Into<String>, hint: &str) -> Error {
    Diagnostic::invalid("SH0715", text).hint(hint).into()
}

/// Whether devices are partitions or replicas, by the operations that depend on devices; `None` if there is no such operation.
fn device_mode(module: &Module) -> Option<SpmdMode> {
    let is_outside = |kind: &OpKind| !matches!(kind, OpKind::ManualComputation(_));
    let ops = module.bodies().flat_map(|body| module.walk_where(body, is_outside));
    // Collectives without a channel also occur in programs for partitions, as groups of one replica.
    let modes = ops.filter_map(|op| match &module.ops[op].kind {
        OpKind::PartitionId => Some(SpmdMode::Partition),
        OpKind::ReplicaId => Some(SpmdMode::Replica),
        kind => Some(match kind.collective()?.crosses_partitions() {
            true => SpmdMode::Partition,
            false => SpmdMode::Replica,
        }),
    });
    modes.max_by_key(|&mode| mode == SpmdMode::Partition)
}

/// The shardings of the arguments and the results.
fn shardings(module: &Module, func: FuncId) -> [Vec<Option<ShardingId>>; 2] {
    let func = &module.funcs[func];
    let args = func.body.map(|body| module.regions[body].args.as_slice()).unwrap_or_default();
    let results = (0..func.results.len()).map(|at| func.res_shardings.get(at)?.expand());
    [args.iter().map(|&arg| module.shardings.of(arg)).collect(), results.collect()]
}

/// The mesh of the first sharding, or else the first mesh of several devices.
fn mesh(module: &Module, func: FuncId) -> Option<(Option<MeshId>, Mesh)> {
    let of_shardings = shardings(module, func).concat().into_iter().flatten();
    let of_shardings = of_shardings.map(|id| module.shardings.get(id).mesh);
    let mut all = of_shardings.chain(module.meshes.keys());
    let mesh = all.find(|&id| !module.meshes[id].is_maximal())?;
    Some((Some(mesh), module.meshes[mesh].clone()))
}

/// The arguments and results with the blocks of their shardings.
fn interface(
    module: &Module,
    func: FuncId,
    (main, mesh): (Option<MeshId>, Mesh),
    mode: SpmdMode,
) -> Result<Manifest, Error> {
    let Func { params, results, .. } = &module.funcs[func];
    let mut meshes: Vec<(Box<str>, Mesh)> = Vec::new();
    let mut tensor = |&ty: &TypeId, sharding: Option<ShardingId>| -> Result<InterfaceTensor, Error> {
        let is_token = matches!(module.types.get(ty), Type::Token);
        let global = match module.types.stored(ty) {
            Some(global) => global.clone(),
            None if is_token => TensorType::new(&[], DType::I1),
            None => {
                let text = format!("an argument or result has type {}", module.types.display(ty));
                return Err(misfit(text, "use tensors and tokens only"));
            }
        };
        let sharding = match (main, sharding) {
            (Some(_), Some(id)) => module.shardings.get(id).closed(),
            _ => TensorSharding::replicated(main.unwrap_or(MeshId::from_u32(0)), global.shape.len()),
        };
        let is_sharded =
            sharding.dims.iter().any(|dim| !dim.axes.is_empty()) || !sharding.unreduced.is_empty();
        let own = module.meshes.get(sharding.mesh).filter(|_| is_sharded);
        let local_shape = own.map(|own| sharding.local_shape(own, &global.shape));
        let mut name = None;
        if let Some(own) = own.filter(|_| Some(sharding.mesh) != main) {
            let text: Box<str> = module.mesh_name(sharding.mesh).into();
            if !meshes.iter().any(|(known, _)| *known == text) {
                meshes.push((text.clone(), own.clone()));
            }
            name = Some(text);
        }
        Ok(InterfaceTensor {
            name: None,
            is_token,
            local_shape: local_shape.unwrap_or_else(|| global.shape.clone()),
            global,
            sharding,
            mesh: name,
            memory_kind: None,
            donated_to: None,
        })
    };
    let [of_params, of_results] = shardings(module, func);
    let mut list = |types: &[TypeId], shardings: Vec<Option<ShardingId>>| {
        types.iter().zip(shardings).map(|(ty, sharding)| tensor(ty, sharding)).collect::<Result<Vec<_>, _>>()
    };
    let (inputs, outputs) = (list(params, of_params)?, list(results, of_results)?);
    Ok(Manifest::from(&Interface { mode, mesh, meshes, inputs, outputs }))
}

fn check_counts(original: &Func, other: &Func) -> Result<(), Error> {
    let counts = |func: &Func| [func.params.len(), func.results.len()];
    let ([args, results], [own_args, own_results]) = (counts(original), counts(other));
    let hint = match own_args > args && results == own_results {
        true => "if the last arguments are additional ones, name those that are zero: `--zero NAME`",
        false => "pass the original of this partition",
    };
    if args != own_args {
        return Err(misfit(format!("the original has {args} arguments, and the partition {own_args}"), hint));
    }
    if results != own_results {
        return Err(misfit(
            format!("the original has {results} results, and the partition {own_results}"),
            hint,
        ));
    }
    Ok(())
}

/// Checks that the types of the partition are those of the blocks.
fn check(module: &Module, func: FuncId, manifest: &Manifest, types: [Vec<String>; 2]) -> Result<(), Error> {
    let func = &module.funcs[func];
    let shown = |what: &str, at: usize| match what {
        "argument" => format!("argument {at} ({})", func.shown_argument(&module.locs, at)),
        _ => format!("result {at}"),
    };
    let [inputs, outputs] = types;
    for (what, blocks, types) in
        [("argument", &manifest.inputs, inputs), ("result", &manifest.outputs, outputs)]
    {
        for (at, (block, found)) in blocks.iter().zip(types).enumerate() {
            if block.dtype == "token" {
                continue;
            }
            let sizes: String = block.local_shape.iter().map(|size| format!("{size}x")).collect();
            let expected = format!("tensor<{sizes}{}>", block.dtype);
            if expected != found {
                let axes: Vec<String> =
                    block.spec.iter().map(|axes| format!("{{{}}}", axes.join(", "))).collect();
                let text = format!(
                    "{} of the partition is {found}, but its sharding in the original, [{}], has blocks of {expected}",
                    shown(what, at),
                    axes.join(", ")
                );
                return Err(misfit(text, PROPAGATED));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Compiler;

    const ORIGINAL: &str = r#"
      sdy.mesh @mesh = <["a"=2, "b"=2]>
      func.func @main(%x: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}]>}, %y: tensor<4xf32>)
          -> (tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {"b"}]>}) {
        return %x : tensor<8x4xf32>
      }"#;

    fn manifest(original: &str, other: &str) -> Result<Manifest, String> {
        let read = |text: &str| Compiler::parse(text.as_bytes()).unwrap();
        annotated_manifest(&read(original), &read(other)).map_err(|error| error.to_string())
    }

    #[test]
    fn blocks_are_those_of_the_shardings() {
        let local = "func.func @main(%x: tensor<4x4xf32>, %y: tensor<4xf32>) -> tensor<4x2xf32> {
          %p = stablehlo.partition_id : tensor<ui32>
          %0 = stablehlo.slice %x [0:4, 0:2] : (tensor<4x4xf32>) -> tensor<4x2xf32>
          return %0 : tensor<4x2xf32>
        }";
        let found = manifest(ORIGINAL, local).unwrap();
        assert_eq!((found.num_devices, found.spmd_mode.as_str()), (4, "partition"));
        assert_eq!(found.inputs[0].spec, [vec!["a".to_owned()], vec![]]);
        assert_eq!(found.inputs[1].local_shape, [4]);
        assert_eq!(found.outputs[0].local_shape, [4, 2]);
    }

    #[test]
    fn tile_assignments_are_shardings() {
        let original = r#"
          func.func @main(%x: tensor<8xf32> {mhlo.sharding = "{devices=[4]<=[4]}"}) -> tensor<8xf32> {
            return %x : tensor<8xf32>
          }"#;
        let local = r#"func.func @main(%x: tensor<2xf32>) -> tensor<8xf32> {
          %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}>
              : (tensor<2xf32>) -> tensor<8xf32>
          return %0 : tensor<8xf32>
        }"#;
        let found = manifest(original, local).unwrap();
        assert_eq!((found.num_devices, found.spmd_mode.as_str()), (4, "replica"));
        assert_eq!(found.outputs[0].local_shape, [8]);
    }

    #[test]
    fn programs_with_equal_types_are_compared_on_one_device() {
        let found = manifest(ORIGINAL, ORIGINAL).unwrap();
        assert_eq!((found.num_devices, found.inputs[0].local_shape.as_slice()), (1, [8, 4].as_slice()));
    }

    #[test]
    fn types_that_do_not_fit_are_errors() {
        let local = "func.func @main(%x: tensor<2x4xf32>, %y: tensor<4xf32>) -> tensor<2x2xf32> {
          %0 = stablehlo.slice %x [0:2, 0:2] : (tensor<2x4xf32>) -> tensor<2x2xf32>
          return %0 : tensor<2x2xf32>
        }";
        let error = manifest(ORIGINAL, local).unwrap_err();
        assert!(error.contains("SH0715"), "{error}");
        assert!(error.contains("argument 0 (x) of the partition is tensor<2x4xf32>"), "{error}");
        assert!(error.contains("[{a}, {}], has blocks of tensor<4x4xf32>"), "{error}");
        let plain = "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }";
        let other = "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> { return %x : tensor<2xf32> }";
        assert!(manifest(plain, other).unwrap_err().contains("the original has no mesh"));
        assert!(manifest(ORIGINAL, other).unwrap_err().contains("the original has 2 arguments"));
    }
}
