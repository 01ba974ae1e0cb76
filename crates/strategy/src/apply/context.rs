//! The state that all apply steps share.

use std::borrow::Cow;

use rustc_hash::FxHashMap;
use shardc_ir::{Diagnostic, FuncId, Mesh, MeshId, Module, RegionId, TensorSharding, ValueId};

use super::analyses::{Analyses, Dimensions};
use super::axes::{Axes, misspelt};
use crate::roles::Roles;
use crate::settings::Settings;
use crate::stacked::Stacked;
use crate::units::{Units, Wrap};

/// The inputs of a strategy, and the results of the apply steps so far.
pub(super) struct Context<'a> {
    pub(super) settings: &'a Settings,
    pub(super) roles: &'a Roles,
    pub(super) axes: Axes,
    pub(super) mesh: MeshId,
    /// The entry function, its body, and the arguments of the body.
    pub(super) func: FuncId,
    pub(super) body: RegionId,
    pub(super) args: Vec<ValueId>,
    /// The policy by which units are found, unless the caller specifies the units.
    pub(super) wrap: Option<Wrap>,
    pub(super) units: Option<Cow<'a, Units>>,
    /// For each argument, the dimension that tensor parallelism shards.
    pub(super) tensor_dims: FxHashMap<ValueId, usize>,
    /// For each argument, the dimension that expert parallelism shards.
    pub(super) expert_dims: FxHashMap<ValueId, usize>,
    /// For each batch argument, the dimension that context parallelism shards.
    pub(super) sequences: FxHashMap<ValueId, usize>,
    /// The annotations of arguments in the program.
    pub(super) annotated: FxHashMap<ValueId, TensorSharding>,
    /// The sharding of each argument.
    pub(super) placed: Vec<TensorSharding>,
    pub(super) warnings: Vec<Diagnostic>,
    analyses: Analyses,
}

impl<'a> Context<'a> {
    /// Checks the inputs, and adds the mesh to the module.
    ///
    /// # Errors
    /// Returns an error if the module has a different mesh (SH0331), if the roles belong to a different program (SH1250), or if the
    /// strategy does not fit the mesh (SH1251).
    pub(super) fn new(
        module: &mut Module,
        roles: &'a Roles,
        settings: &'a Settings,
        mesh: &Mesh,
    ) -> Result<Context<'a>, Vec<Diagnostic>> {
        if let Some(missing) = args_missing(module, roles) {
            return Err(vec![missing]);
        }
        let known = module.mesh_names.iter().find(|(_, id)| !module.meshes[**id].is_maximal());
        let known = known.map(|(name, &id)| (name.clone(), id));
        if let Some((name, id)) = &known
            && module.meshes[*id] != *mesh
        {
            let message = format!("the module already has a different mesh: @{name}");
            let hint = "use a program without annotations, or with annotations on the same mesh";
            return Err(vec![Diagnostic::invalid("SH0331", message).hint(hint)]);
        }
        let axes = Axes::of(mesh, settings).map_err(|error| vec![error])?;
        let (func, body) = entry(module)?;
        let id = known.map_or_else(|| module.add_mesh("mesh", mesh.clone()), |(_, id)| id);
        Ok(Context {
            settings,
            roles,
            axes,
            mesh: id,
            func,
            body,
            args: module.regions[body].args.clone(),
            wrap: None,
            units: None,
            tensor_dims: FxHashMap::default(),
            expert_dims: FxHashMap::default(),
            sequences: FxHashMap::default(),
            annotated: FxHashMap::default(),
            placed: Vec::new(),
            warnings: misspelt(mesh),
            analyses: Analyses::default(),
        })
    }

    /// Looks up the entry function again, and invalidates all analyses: inlining removes functions, which changes the handles of the
    /// remaining functions.
    ///
    /// # Errors
    /// Returns SH1250 if the module has no entry function.
    pub(super) fn enter(&mut self, module: &Module) -> Result<(), Vec<Diagnostic>> {
        (self.func, self.body) = entry(module)?;
        self.args = module.regions[self.body].args.clone();
        self.invalidate();
        Ok(())
    }

    /// Returns the dimension classes of the step; `None` if it has no body.
    pub(super) fn dimensions(&self, module: &Module) -> Option<&Dimensions> {
        self.analyses.dimensions(module, self.func, &self.args, self.roles)
    }

    /// Returns the arguments that are stacks of layers.
    pub(super) fn stacked(&self, module: &Module) -> &Stacked {
        self.analyses.stacked(module, self.body)
    }

    /// Returns the dimension classes, if they are computed and valid.
    #[cfg(test)]
    pub(super) fn cached_dimensions(&self) -> Option<&Dimensions> {
        self.analyses.cached_dimensions()
    }

    /// See [`Analyses::invalidate_dimensions`].
    pub(super) fn invalidate_dimensions(&mut self) {
        self.analyses.invalidate_dimensions();
    }

    /// See [`Analyses::invalidate`].
    pub(super) fn invalidate(&mut self) {
        self.analyses.invalidate();
    }
}

/// Returns the entry function and its body.
fn entry(module: &Module) -> Result<(FuncId, RegionId), Vec<Diagnostic>> {
    let entry = module.entry().and_then(|func| Some((func, module.funcs[func].body?)));
    entry.ok_or_else(|| vec![Diagnostic::invalid("SH1250", "the program has no function to train")])
}

/// Returns the error if the roles do not match the module's arguments.
fn args_missing(module: &Module, roles: &Roles) -> Option<Diagnostic> {
    let (has, expected) = (module.entry().map_or(0, |f| module.funcs[f].params.len()), roles.arguments.len());
    let message = || format!("the roles are for {expected} arguments, but the program has {has}");
    (has != expected).then(|| {
        Diagnostic::invalid("SH1250", message()).hint("infer the roles again for the current program")
    })
}
