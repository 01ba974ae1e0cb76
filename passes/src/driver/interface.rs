//! The interface of a planned function: shardings, memory kinds and donations of its arguments and results.

use shardc_ir::{
    AttrDict, Class, DType, Diagnostic, FuncId, Mesh, MeshId, Module, Shape, ShardingId, SpmdMode,
    TensorSharding, TensorType, Type, TypeId,
};

use crate::report::byte_size::bytes_text;
use crate::sharding::interface::{Interface, InterfaceTensor};

/// Returns for each parameter the index of the result to which it is donated; `None` if it is not donated.
pub(super) fn aliases(module: &Module, func: FuncId) -> Vec<Option<usize>> {
    module.funcs[func].arg_attrs.iter().map(AttrDict::donated_to).collect()
}

/// Returns warnings (SH0317) about donations of the program that no longer apply: a device then holds both the parameter and the result.
pub(super) fn lost_aliases(
    module: &Module,
    func: FuncId,
    aliases: &[Option<usize>],
    interface: &Interface,
) -> Vec<Diagnostic> {
    let mut warnings = Vec::new();
    for (i, (alias, input)) in aliases.iter().zip(&interface.inputs).enumerate() {
        let (&Some(result), None) = (alias, input.donated_to) else { continue };
        let Some(output) = interface.outputs.get(result) else { continue };
        let local = TensorType { shape: input.local_shape.clone(), ..input.global.clone() };
        let sharding = |tensor: &InterfaceTensor| tensor.sharding.display(interface.mesh_of(tensor));
        if input.is_token || output.is_token {
            continue;
        }
        let (why, hint) = if output.global.dtype != input.global.dtype {
            let (theirs, own) = (output.global.dtype, input.global.dtype);
            (
                format!("which has element type {theirs}, not {own}"),
                "convert the parameter or the result to the element type of the other, or do not donate the parameter",
            )
        } else if output.global.shape != input.global.shape {
            (
                format!("which is {}, not {}", output.global, input.global),
                "donate the parameter to a result of the same shape",
            )
        } else {
            (
                format!("which is sharded {}, not {}", sharding(output), sharding(input)),
                "annotate the parameter and the result with the same sharding",
            )
        };
        let bytes = local.num_bytes().and_then(|n| u64::try_from(n).ok()).unwrap_or(0);
        let message = format!(
            "parameter {i} cannot be donated to result {result}, {why}: each device needs {} more",
            bytes_text(bytes)
        );
        warnings.push(
            Diagnostic::warning(Class::InvalidInput, "SH0317", message)
                .at(module.funcs[func].arg_span(i))
                .bytes(bytes)
                .hint(hint),
        );
    }
    warnings
}

/// Returns the interface of a function that was planned on the mesh `planned`.
pub(super) fn interface(
    module: &Module,
    func: FuncId,
    mode: SpmdMode,
    planned: Option<MeshId>,
) -> Result<Interface, Vec<Diagnostic>> {
    let f = &module.funcs[func];
    let args = f.body.map(|b| module.regions[b].args.as_slice()).unwrap_or_default();
    let sharded = args.iter().filter_map(|&arg| module.shardings.of(arg));
    let sharded = sharded.chain(f.res_shardings.iter().filter_map(|id| id.expand()));
    let first = || sharded.clone().next().map(|id| module.shardings.get(id).mesh);
    let main = planned.or_else(first);
    let token_mesh = main.or_else(|| module.meshes.keys().next());
    let tensor = |ty: TypeId, sharding: Option<ShardingId>| -> Result<InterfaceTensor, Vec<Diagnostic>> {
        if let (Type::Token, Some(mesh)) = (module.types.get(ty), token_mesh) {
            return Ok(InterfaceTensor {
                name: None,
                is_token: true,
                global: TensorType::new(&[], DType::I1),
                local_shape: Shape::new(),
                sharding: TensorSharding::replicated(mesh, 0),
                mesh: None,
                memory_kind: None,
                donated_to: None,
            });
        }
        let (Some(global), Some(sharding)) = (module.types.stored(ty), sharding) else {
            let message = format!(
                "parameters and results of the entry function must be tensors or tokens, got {}",
                module.types.display(ty)
            );
            return Err(vec![
                Diagnostic::unsupported("SH0305", message)
                    .at(f.span)
                    .hint("change the entry function to take and return only tensors and tokens"),
            ]);
        };
        let sharding = module.shardings.get(sharding).clone();
        let local_shape = sharding.local_shape(&module.meshes[sharding.mesh], &global.shape);
        Ok(InterfaceTensor {
            name: None,
            is_token: false,
            global: global.clone(),
            local_shape,
            sharding,
            mesh: None,
            memory_kind: None,
            donated_to: None,
        })
    };
    let mut inputs = Vec::with_capacity(args.len());
    for (i, &arg) in args.iter().enumerate() {
        let mut input = tensor(module.values[arg].ty, module.shardings.of(arg))?;
        let attrs = f.arg_attrs.get(i);
        input.name = f.argument_name(&module.locs, i);
        input.memory_kind = attrs.and_then(AttrDict::memory_kind).map(Box::from);
        input.donated_to = attrs.and_then(AttrDict::donated_to);
        inputs.push(input);
    }
    let mut outputs = Vec::with_capacity(f.results.len());
    for (i, &ty) in f.results.iter().enumerate() {
        let mut output = tensor(ty, f.res_shardings.get(i).and_then(|s| s.expand()))?;
        output.name = f.result_name(i);
        output.memory_kind = f.res_attrs.get(i).and_then(AttrDict::memory_kind).map(Box::from);
        outputs.push(output);
    }
    for input in &mut inputs {
        input.donated_to = input.donated_to.filter(|&r| {
            outputs.get(r).is_some_and(|o| {
                o.local_shape == input.local_shape
                    && o.global.dtype == input.global.dtype
                    && o.is_token == input.is_token
            })
        });
    }
    let mesh = match main {
        Some(id) => module.meshes[id].clone(),
        None => module.meshes.values().next().cloned().unwrap_or_default(),
    };
    let mut meshes: Vec<(Box<str>, Mesh)> = Vec::new();
    for tensor in inputs.iter_mut().chain(&mut outputs).filter(|t| Some(t.sharding.mesh) != main) {
        let (name, other): (Box<str>, _) =
            (module.mesh_name(tensor.sharding.mesh).into(), &module.meshes[tensor.sharding.mesh]);
        if !meshes.iter().any(|(known, _)| *known == name) {
            meshes.push((name.clone(), other.clone()));
        }
        tensor.mesh = Some(name);
    }
    Ok(Interface { mode, mesh, meshes, inputs, outputs })
}
