//! Converts tests that run one program in several processes to programs with a manual computation.
//!
//! The interpreter arranges its processes in a grid of replicas and partitions. Here process `r * partitions + p` becomes the device with
//! that id on one axis. Replica groups, which may refer to replicas, partitions or both, become groups of these devices.

use shardc_ir::{
    Attr, AxisList, AxisRef, Build, Builder, Channel, CollectiveSpec, DimSharding, FuncId, Group, ManualSpec,
    Mesh, MeshId, Module, OpId, OpKind, RegionId, SliceSpec, TensorSharding, TypeId, ValueId,
};

/// The mesh axis of the processes.
const AXIS: &str = "p";
const RUN: &str = "interpreter.run_parallel";

/// Rewrites the parallel run in `func`, if there is one; returns the mesh of its processes.
///
/// # Errors
/// The processes run different programs, or need more features of the interpreter.
pub(super) fn one_program(module: &mut Module, func: FuncId) -> Result<Option<MeshId>, String> {
    let body = module.funcs[func].body.ok_or("a function without a body")?;
    let is_run = |op: OpId| matches!(&module.ops[op].kind, OpKind::Opaque(spec) if &*spec.name == RUN);
    let mut runs = module.regions[body].ops.iter().copied().filter(|&op| is_run(op));
    let (run, more) = (runs.next(), runs.next());
    let Some(run) = run else { return Ok(None) };
    if more.is_some() {
        return Err("processes run one after the other".to_owned());
    }
    let grid = Grid::of(module, run)?;
    for op in called(module, &grid.program)? {
        let kind = &mut module.ops[op].kind;
        let takes_ids =
            matches!(kind, OpKind::AllReduce(_) | OpKind::AllGather { .. } | OpKind::ReduceScatter { .. });
        let pairs = matches!(kind, OpKind::CollectivePermute(_));
        match kind {
            OpKind::ReplicaId | OpKind::PartitionId => return Err("it asks for its place".to_owned()),
            OpKind::Infeed(_) | OpKind::Outfeed { .. } | OpKind::Send(_) | OpKind::Recv(_) => {
                return Err("it exchanges values with a host".to_owned());
            }
            _ => {}
        }
        if let Some(spec) = kind.collective_mut() {
            let mut groups = grid.devices(spec, pairs, takes_ids);
            let longest = groups.iter().map(Vec::len).max().unwrap_or(0);
            groups.iter_mut().for_each(|group| group.resize(longest, -1));
            spec.groups = groups.into();
            spec.channel = Some(Channel::between_devices(1));
            spec.use_global_device_ids = takes_ids;
        }
    }
    let mesh = module.add_mesh("mesh", Mesh::new([(AXIS, grid.processes() as i64)]));
    let ops = manual(module, run, &grid, mesh)?;
    let mut all = module.regions[body].ops.to_vec();
    if let Some(at) = all.iter().position(|&op| op == run) {
        all.splice(at..=at, ops);
    }
    module.set_ops(body, all);
    Ok(Some(mesh))
}

struct Grid {
    replicas: usize,
    partitions: usize,
    program: Box<str>,
}

impl Grid {
    fn of(module: &Module, run: OpId) -> Result<Grid, String> {
        let data = &module.ops[run];
        let OpKind::Opaque(spec) = &data.kind else { return Err("no run".to_owned()) };
        let attr = |name: &str| spec.props.get(name).or_else(|| data.attrs.get(name));
        if attr("infeed").is_some() {
            return Err("its processes are fed".to_owned());
        }
        let Some(Attr::Array(rows)) = attr("programs") else {
            return Err(format!("its programs are {:?}", attr("programs")));
        };
        let mut partitions = None;
        let mut program = None;
        for row in rows {
            let Attr::Array(row) = row else { return Err("its programs are no grid".to_owned()) };
            if *partitions.get_or_insert(row.len()) != row.len() {
                return Err("its programs are no grid".to_owned());
            }
            for cell in row {
                let Attr::Symbol(name) = cell else { return Err(format!("a program is {cell:?}")) };
                if program.get_or_insert_with(|| name.clone()) != name {
                    return Err("its processes run different programs".to_owned());
                }
            }
        }
        match (partitions, program) {
            (Some(partitions), Some(program)) => Ok(Grid { replicas: rows.len(), partitions, program }),
            _ => Err("no process runs".to_owned()),
        }
    }

    fn processes(&self) -> usize {
        self.replicas * self.partitions
    }

    /// The groups of a collective as device IDs, by the process grouping strategies of StableHLO's specification.
    fn devices(&self, spec: &CollectiveSpec, pairs: bool, takes_ids: bool) -> Vec<Vec<i64>> {
        let across = spec.crosses_partitions();
        let (replicas, partitions) = (self.replicas as i64, self.partitions as i64);
        let real = |group: Group<'_>| group.iter().filter(|&id| id >= 0).collect::<Vec<i64>>();
        let mut groups: Vec<Vec<i64>> = spec.groups.iter().map(real).collect();
        if groups.is_empty() && !pairs {
            groups.push((0..if across && !takes_ids { partitions } else { replicas }).collect());
        }
        let named = |group: &[i64], device: &dyn Fn(i64) -> i64| group.iter().map(|&id| device(id)).collect();
        let mut out = Vec::new();
        if takes_ids && spec.use_global_device_ids {
            return groups;
        }
        if across && takes_ids {
            // The groups contain replicas. Each replica stands for all its partitions.
            for group in &groups {
                let members = group.iter().flat_map(|r| (0..partitions).map(move |p| r * partitions + p));
                out.push(members.collect());
            }
        } else if across {
            for replica in 0..replicas {
                out.extend(groups.iter().map(|g| named(g, &|id| replica * partitions + id)));
            }
        } else {
            for partition in 0..partitions {
                out.extend(groups.iter().map(|g| named(g, &|id| id * partitions + partition)));
            }
        }
        out
    }
}

/// Every operation of a program.
fn called(module: &Module, program: &str) -> Result<Vec<OpId>, String> {
    let body = module.func_names.get(program).and_then(|&f| module.funcs[f].body);
    let ops = module.walk(body.ok_or_else(|| format!("there is no program @{program}"))?);
    if ops.iter().any(|&op| matches!(module.ops[op].kind, OpKind::Call { .. })) {
        return Err("its program calls others".to_owned());
    }
    Ok(ops)
}

/// The operations that replace the parallel run. They concatenate the arguments of the processes, run a manual computation on the slice of
/// each process, and slice the results.
fn manual(module: &mut Module, run: OpId, grid: &Grid, mesh: MeshId) -> Result<Vec<OpId>, String> {
    let processes = grid.processes();
    let func = module.func_names.get(&grid.program).copied().ok_or("there is no such program")?;
    let (params, results) = (module.funcs[func].params.clone(), module.funcs[func].results.clone());
    let operands = module.ops[run].operands.to_vec();
    let made = module.ops[run].results.to_vec();
    if operands.len() != processes * params.len() || made.len() != processes * results.len() {
        return Err("its processes do not take and return the same number of values".to_owned());
    }
    let (mut in_shardings, mut out_shardings) = (Vec::new(), Vec::new());
    let axes = [AxisRef::whole(0)];
    for (list, types) in [(&mut in_shardings, &params), (&mut out_shardings, &results)] {
        for &ty in types {
            let rank = module.types.as_tensor(ty).ok_or("a process takes or returns no tensor")?.rank();
            let dims = (0..=rank).map(|d| DimSharding::closed(if d == 0 { &axes } else { &[] }));
            list.push(module.shardings.intern(TensorSharding::from_dims(mesh, dims.collect::<Vec<_>>())));
        }
    }
    let region = body(module, &grid.program, &params, &results)?;
    let mut stacked = Vec::new();
    let mut ops = Vec::new();
    for (i, &ty) in params.iter().enumerate() {
        let one = with_processes(module, ty, 1)?;
        let all = with_processes(module, ty, processes as i64)?;
        let mut builder = Builder::new(module);
        let parts: Vec<ValueId> = (0..processes)
            .map(|process| builder.op1(OpKind::Reshape, &[operands[process * params.len() + i]], one))
            .collect();
        stacked.push(builder.op1(OpKind::Concatenate { dim: 0 }, &parts, all));
        ops.extend(builder.take());
    }
    let types = results
        .iter()
        .map(|&ty| with_processes(module, ty, processes as i64))
        .collect::<Result<Vec<_>, _>>()?;
    let spec = ManualSpec { in_shardings, out_shardings, manual_axes: AxisList::from_slice(&axes) };
    let kind = OpKind::ManualComputation(Box::new(spec));
    let computation = module.add_op(kind, &stacked, &types, &[region]);
    ops.push(computation);
    for (i, &ty) in results.iter().enumerate() {
        let all = module.ops[computation].results[i];
        let one = with_processes(module, ty, 1)?;
        let shape = module.shape(all).to_vec();
        for process in 0..processes as i64 {
            let mut start = vec![0; shape.len()];
            let mut limit = shape.clone();
            (start[0], limit[0]) = (process, process + 1);
            let stride = vec![1; shape.len()];
            let spec = SliceSpec { start: start.into(), limit: limit.into(), stride: stride.into() };
            let slice = Builder::new(module).op1(OpKind::Slice(Box::new(spec)), &[all], one);
            ops.extend(module.def_op(slice));
            // The value keeps its id, so that its users need not change.
            let value = made[process as usize * results.len() + i];
            let reshape = module.add_op(OpKind::Reshape, &[slice], &[], &[]);
            module.give_result(reshape, value);
            ops.push(reshape);
        }
    }
    Ok(ops)
}

/// The computation of one process.
fn body(
    module: &mut Module,
    program: &str,
    params: &[TypeId],
    results: &[TypeId],
) -> Result<RegionId, String> {
    let args: Vec<TypeId> =
        params.iter().map(|&ty| with_processes(module, ty, 1)).collect::<Result<_, _>>()?;
    let given: Vec<TypeId> =
        results.iter().map(|&ty| with_processes(module, ty, 1)).collect::<Result<_, _>>()?;
    let region = module.add_region(&args);
    let args = module.regions[region].args.clone();
    let mut builder = Builder::new(module);
    let own: Vec<ValueId> =
        args.iter().zip(params).map(|(&arg, &ty)| builder.op1(OpKind::Reshape, &[arg], ty)).collect();
    let call = builder.op(OpKind::Call { callee: program.into() }, &own, results, &[]);
    let out: Vec<ValueId> = builder.module.ops[call].results.to_vec();
    let out: Vec<ValueId> =
        out.iter().zip(given).map(|(&value, ty)| builder.op1(OpKind::Reshape, &[value], ty)).collect();
    builder.ret(&out);
    builder.finish(region);
    Ok(region)
}

/// The type of a value of all processes, stacked along a new first dimension.
fn with_processes(module: &mut Module, ty: TypeId, processes: i64) -> Result<TypeId, String> {
    let tensor = module.types.as_tensor(ty).ok_or("a process takes or returns no tensor")?.clone();
    let shape: Vec<i64> = std::iter::once(processes).chain(tensor.shape.iter().copied()).collect();
    Ok(module.types.tensor(&shape, tensor.dtype))
}
