//! The program of a search, and the evaluation of a candidate.

use std::sync::Arc;

use shardc_ir::{AxisRef, Diagnostic, DimSharding, FuncId, MeshId, Module, ShardingId, TensorSharding};
use shardc_passes::annotations::forget::forget_shardings;
use shardc_passes::annotations::remesh::replace_mesh;
use shardc_passes::annotations::spec::annotate_on;
use shardc_passes::gspmd::import_gspmd;
use shardc_passes::transforms::inline::inline_calls;
use shardc_strategy::{BATCH_FIRST, Role, Roles, Sharding, THEN_STATE, apply, roles_of_any};
use shardc_target::Target;

use super::AutoOptions;
use super::candidate::{Candidate, Dims, Purpose};
use super::given::Given;
use super::groups::{Axes, Group, axes, groups};
use crate::plan::wrong_devices;
use crate::{Annotation, Compiler, Error};

/// The program, and what is known about it before the search.
pub(super) struct Problem {
    pub(super) compiler: Compiler,
    /// The program with calls inlined, with the annotations that are fixed.
    pub(super) module: Module,
    pub(super) func: FuncId,
    pub(super) roles: Roles,
    pub(super) groups: Vec<Group>,
    /// The shardings that are kept.
    pub(super) given: Given,
    /// Whether the program has annotations itself, which [`AutoOptions::ignores_shardings`] would remove.
    pub(super) is_annotated: bool,
    pub(super) target: Arc<Target>,
    /// Bytes of memory of a device; 0 if unlimited.
    pub(super) limit: u64,
    /// The mesh that the user fixed.
    pub(super) mesh: Option<MeshId>,
    /// The purposes of axes that have an effect on this program.
    pub(super) purposes: Vec<Purpose>,
    /// Annotations that name no axis, which hold on every mesh that is tried. Those of a given mesh are in the module.
    unsharded: Vec<Annotation>,
}

/// A program that is annotated according to a candidate.
pub(super) struct Annotated {
    pub(super) module: Module,
    /// Whether each part of the strategy has an effect on this program.
    pub(super) is_effective: bool,
}

/// The estimates for a candidate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Score {
    /// Seconds of one execution.
    pub(super) seconds: f64,
    /// Seconds of collectives in one execution, overlapped or not.
    pub(super) communication: f64,
    /// Seconds of arithmetic, memory traffic and collectives if nothing overlapped, without the starts of kernels.
    pub(super) busy: f64,
    /// The upper end of the estimated memory of a device, in bytes.
    pub(super) memory: u64,
    pub(super) fits: bool,
}

impl Score {
    /// Whether estimates differ by so little that a report calls them equal.
    pub(super) fn is_close(&self, other: &Score) -> bool {
        const LEAST: f64 = 1e-3;
        let is_close = |a: f64, b: f64| (a - b).abs() <= LEAST * b.abs();
        is_close(self.seconds, other.seconds)
            && is_close(self.communication, other.communication)
            && is_close(self.memory as f64, other.memory as f64)
            && self.fits == other.fits
    }
}

impl Problem {
    pub(super) fn new(
        compiler: &Compiler,
        mut module: Module,
        options: &AutoOptions,
    ) -> Result<Problem, Error> {
        let target = Arc::clone(&options.target);
        compiler.select_entry(&mut module)?;
        shardc_ir::verify(&module)?;
        import_gspmd(&mut module, None).map_err(Error::Diagnostics)?;
        if options.ignores_shardings {
            forget_shardings(&mut module).map_err(Error::Diagnostics)?;
        }
        let own = module.mesh_names.values().copied().find(|&id| !module.meshes[id].is_maximal());
        let Some(entry) = module.entry() else { return Err(module.no_entry().into()) };
        let is_annotated = Given::of(&module, entry, &[]).is_any();
        let mesh = match (&options.mesh, own) {
            (Some(given), Some(own)) => {
                replace_mesh(&mut module, given).map_err(Error::Diagnostics)?;
                Some(own)
            }
            (Some(given), None) => Some(module.add_mesh("mesh", given.clone())),
            (None, own) => own,
        };
        match mesh {
            Some(mesh) => {
                let devices = module.meshes[mesh].num_devices();
                if devices != target.num_devices() {
                    let hint = match options.mesh {
                        Some(_) => {
                            "give a mesh with as many devices as the target, or none: the search chooses one"
                        }
                        None => {
                            "give a mesh with as many devices as the target, or remove that of the program (--ignore-shardings)"
                        }
                    };
                    return Err(wrong_devices(devices, &target).hint(hint).into());
                }
                annotate_on(&mut module, mesh, &options.annotations).map_err(Error::Diagnostics)?;
            }
            None => {
                if options.annotations.iter().any(Annotation::names_axes) {
                    let message =
                        "annotations name axes of a mesh, but neither the options nor the program have one";
                    return Err(Diagnostic::invalid("SH0332", message).hint("set the mesh too").into());
                }
            }
        }
        let unsharded = if mesh.is_none() { options.annotations.clone() } else { Vec::new() };
        inline_calls(&mut module).map_err(Error::Diagnostics)?;
        let Some(func) = module.entry() else { return Err(module.no_entry().into()) };
        let roles = roles_of_any(&module).map_err(Error::Diagnostics)?;
        // Groups see the annotations on some mesh; shardings without axes do not depend on it.
        let mut seen = module.clone();
        if !unsharded.is_empty() {
            let any = seen.add_mesh("mesh", Candidate::new(Vec::new(), Sharding::NoShard).mesh());
            annotate_on(&mut seen, any, &unsharded).map_err(Error::Diagnostics)?;
        }
        let groups = groups(&seen, func, &roles);
        let given = Given::of(&seen, func, &groups);
        let compiler = compiler.clone().target(Arc::clone(&target));
        let limit = options.limit();
        let purposes = vec![Purpose::Data];
        let mut problem = Problem {
            compiler,
            module,
            func,
            roles,
            groups,
            given,
            is_annotated,
            target,
            limit,
            mesh,
            purposes,
            unsharded,
        };
        problem.purposes.extend(problem.effective_purposes());
        Ok(problem)
    }

    /// The purposes besides data parallelism that have an effect: an axis of the purpose shards other dimensions of arguments than one of data
    /// parallelism. Without experts, for example, an axis of expert parallelism only shards the batch.
    fn effective_purposes(&self) -> Vec<Purpose> {
        let others = [Purpose::Expert, Purpose::Context, Purpose::Tensor];
        if self.mesh.is_some() {
            return others.to_vec();
        }
        let devices = self.target.num_devices() as i64;
        let Some(factor) = (2..=devices).find(|factor| devices % factor == 0) else { return Vec::new() };
        let placed = |purpose| {
            let candidate = Candidate::new(vec![(purpose, factor)], Sharding::NoShard);
            let annotated = self.annotated(&candidate, false).ok()?;
            Some(self.placements(&annotated.module))
        };
        let data = placed(Purpose::Data);
        let has_effect = |&purpose: &Purpose| {
            placed(purpose).is_some_and(|dims| {
                let is_used = dims.iter().flatten().flatten().any(|axes| !axes.is_empty());
                is_used && data.as_ref() != Some(&dims)
            })
        };
        others.into_iter().filter(has_effect).collect()
    }

    /// Whether the program is a training step.
    pub(super) fn trains(&self) -> bool {
        self.roles.loss.is_some()
    }

    /// The program as it is annotated, if it has a mesh and annotations: the candidate that is estimated as [`Compiler::plan`] does.
    pub(super) fn as_annotated(&self) -> Option<Candidate> {
        let mesh = &self.module.meshes[self.mesh.filter(|_| self.given.is_any())?];
        let axes = mesh.axes.iter().map(|(name, &size)| (Purpose::of_name(name), size)).collect();
        Some(Candidate { as_annotated: true, ..Candidate::new(axes, Sharding::NoShard) })
    }

    /// Annotates the program according to a candidate. With `user_names`, the axes of a mesh of the user keep their names.
    ///
    /// # Errors
    /// The errors of the strategy.
    pub(super) fn annotated(&self, candidate: &Candidate, user_names: bool) -> Result<Annotated, Error> {
        let mut module = self.module.clone();
        if let Some(mesh) = self.mesh.filter(|_| candidate.as_annotated) {
            for (&group, dims) in &candidate.placed {
                self.place(&mut module, mesh, &self.groups[group], dims);
            }
            return Ok(Annotated { module, is_effective: true });
        }
        let mut mesh = candidate.mesh();
        let id = match self.mesh {
            Some(id) => {
                mesh.device_ids.clone_from(&module.meshes[id].device_ids);
                mesh.attrs = module.meshes[id].attrs.clone();
                module.meshes[id] = mesh.clone();
                id
            }
            None => module.add_mesh("mesh", mesh.clone()),
        };
        annotate_on(&mut module, id, &self.unsharded).map_err(Error::Diagnostics)?;
        for (&group, dims) in &candidate.placed {
            self.place(&mut module, id, &self.groups[group], dims);
        }
        let settings = candidate.settings().for_device(self.target.spec());
        let warnings = apply(&mut module, &self.roles, &settings, &mesh).map_err(Error::Diagnostics)?;
        if let Some(own) = self.mesh.filter(|_| user_names) {
            module.meshes[own] = self.module.meshes[own].clone();
        }
        if !candidate.batch_first {
            self.without_priorities(&mut module);
        }
        let is_effective = !warnings.iter().any(|warning| warning.code == "SH1252");
        Ok(Annotated { module, is_effective })
    }

    /// Annotates the members of a group.
    fn place(&self, module: &mut Module, mesh: MeshId, group: &Group, dims: &Dims) {
        let Some(body) = module.funcs[self.func].body else { return };
        let priority = if group.role == Some(Role::Batch) { BATCH_FIRST } else { THEN_STATE };
        let dims = dims.iter().map(|axes| {
            let axes: Vec<AxisRef> = axes.iter().map(|&axis| AxisRef::whole(axis)).collect();
            let priority = (!axes.is_empty()).then_some(priority);
            DimSharding { priority, ..DimSharding::closed(&axes) }
        });
        let sharding = module.shardings.intern(TensorSharding::from_dims(mesh, dims));
        for &i in &group.members {
            match group.role {
                Some(_) => {
                    let arg = module.regions[body].args[i];
                    module.shardings.set(arg, Some(sharding));
                }
                None => module.funcs[self.func].res_shardings[i] = sharding.into(),
            }
        }
    }

    /// Removes the priorities of arguments and results.
    fn without_priorities(&self, module: &mut Module) {
        let Some(body) = module.funcs[self.func].body else { return };
        let flat = |module: &mut Module, id: ShardingId| {
            let mut sharding = module.shardings.get(id).clone();
            sharding.dims.iter_mut().for_each(|dim| dim.priority = None);
            module.shardings.intern(sharding)
        };
        for arg in module.regions[body].args.clone() {
            if let Some(id) = module.shardings.of(arg) {
                let id = flat(module, id);
                module.shardings.set(arg, Some(id));
            }
        }
        for i in 0..module.funcs[self.func].res_shardings.len() {
            if let Some(id) = module.funcs[self.func].res_shardings[i].expand() {
                module.funcs[self.func].res_shardings[i] = flat(module, id).into();
            }
        }
    }

    /// The shardings of the groups in an annotated program, if they have any. Sub-axes are left out.
    pub(super) fn placements(&self, module: &Module) -> Vec<Option<Dims>> {
        let of = |group: &Group| -> Option<Dims> {
            let sharding = self.sharding_of(module, group)?;
            let axes = |dim: &DimSharding| dim.axes.iter().map(|axis| usize::from(axis.axis)).collect();
            Some(sharding.dims.iter().map(axes).collect())
        };
        self.groups.iter().map(of).collect()
    }

    /// The axes that shard the arguments and results of an annotated program; `None` for open ones.
    pub(super) fn axes_of(&self, module: &Module) -> Vec<Axes> {
        let func = &module.funcs[self.func];
        let args = func.body.map(|body| module.regions[body].args.as_slice()).unwrap_or_default();
        let args = args.iter().map(|&arg| module.shardings.of(arg));
        let results = func.res_shardings.iter().map(|sharding| sharding.expand());
        args.chain(results).map(|sharding| axes(module, sharding)).collect()
    }

    /// The sharding of the first member of a group in an annotated program.
    pub(super) fn sharding_of<'m>(&self, module: &'m Module, group: &Group) -> Option<&'m TensorSharding> {
        let first = *group.members.first()?;
        match group.role {
            Some(_) => {
                let body = module.funcs[self.func].body?;
                module.shardings.sharding_of(*module.regions[body].args.get(first)?)
            }
            None => {
                let id = module.funcs[self.func].res_shardings.get(first)?.expand()?;
                Some(module.shardings.get(id))
            }
        }
    }

    /// Partitions the program according to a candidate, and estimates memory and time.
    ///
    /// # Errors
    /// The errors of the strategy and of the partitioner. `Ok(None)` if a part of the strategy has no effect.
    pub(super) fn evaluate(&self, candidate: &Candidate) -> Result<Option<Score>, Error> {
        let annotated = self.annotated(candidate, false)?;
        if !annotated.is_effective && !candidate.is_plain() {
            return Ok(None);
        }
        let output = self.compiler.partition_module(annotated.module)?;
        let Some(func) = output.module.entry() else { return Ok(None) };
        let time = output.time(func, &self.target).total;
        let memory = output.memory().high;
        Ok(Some(Score {
            seconds: time.seconds,
            communication: time.communication,
            busy: time.compute - time.launches + time.communication,
            memory,
            fits: self.limit == 0 || memory <= self.limit,
        }))
    }
}
