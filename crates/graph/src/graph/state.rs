//! The state of a graph under construction.

use std::panic::Location;

use rustc_hash::{FxHashMap, FxHashSet};
use shardc_ir::{AxisList, DType, Loc, LocId, MeshId, Module, PackedOption, RegionId, ValueDef, ValueId};

use super::{Graph, KindResult, Tensor};
use crate::error::{ErrorKind, GraphError, OperandNote};
use crate::{Mesh, PartitionSpec};

/// A handle: the current value of a [`Tensor`], and its region.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Handle {
    pub(crate) value: ValueId,
    pub(crate) region: RegionId,
}

/// A region under construction, to which operations are appended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Open {
    pub(crate) region: RegionId,
    /// The name of the operation that the region will belong to, such as `scan`.
    pub(crate) what: &'static str,
}

#[derive(Debug)]
pub(crate) struct State {
    pub(crate) module: Module,
    pub(crate) mesh: MeshId,
    /// Open regions, innermost last; the first is the body of `main`.
    pub(crate) open: Vec<Open>,
    pub(crate) handles: Vec<Handle>,
    pub(crate) errors: Vec<GraphError>,
    pub(crate) warnings: Vec<GraphError>,
    /// Names of parameters.
    names: FxHashSet<Box<str>>,
    /// The location of each parameter, which contains its name.
    pub(crate) parameter_locs: Vec<PackedOption<LocId>>,
    /// Locations, keyed by the address of the caller location.
    lines: FxHashMap<*const Location<'static>, LocId>,
    /// The name of the operation that each closed region belongs to, for errors about later uses of its values.
    pub(crate) closed: FxHashMap<RegionId, &'static str>,
    /// Custom differentiation rules.
    pub(crate) rules: Vec<shardc_autodiff::CustomRule>,
    /// The number of sharding groups created so far.
    groups: i64,
    /// The axes of each enclosing `shard_map`, innermost last.
    pub(crate) manual: Vec<AxisList>,
    /// The axes along which tensors, by handle, are assumed to be replicated.
    pub(crate) assumed: FxHashMap<u32, AxisList>,
    /// The number of channel ids given to collectives so far.
    pub(crate) channels: i64,
    /// Annotated shardings of results, by name, with the source line of the annotation.
    pub(crate) result_specs: Vec<(String, PartitionSpec, &'static Location<'static>)>,
    pub(crate) is_finished: bool,
    /// The singletons that libraries built on graphs have created: see [`Graph::is_first`].
    pub(crate) made_once: FxHashSet<&'static str>,
    /// The caller location of a library while it runs its own closures: see [`Graph::track_caller`].
    pub(crate) caller: Option<&'static Location<'static>>,
}

impl State {
    /// The handle of poisoned tensors.
    pub(crate) const POISON: u32 = u32::MAX;

    pub(crate) fn new(name: &str, mesh: &Mesh) -> State {
        let mut module = Module::new();
        module.name = Some(name.into());
        let mesh = module.add_mesh("mesh", mesh.as_ir().clone());
        let body = module.add_region(&[]);
        State {
            module,
            mesh,
            open: vec![Open { region: body, what: "the program" }],
            handles: Vec::new(),
            errors: Vec::new(),
            warnings: Vec::new(),
            names: FxHashSet::default(),
            parameter_locs: Vec::new(),
            lines: FxHashMap::default(),
            closed: FxHashMap::default(),
            rules: Vec::new(),
            groups: 0,
            manual: Vec::new(),
            assumed: FxHashMap::default(),
            channels: 0,
            result_specs: Vec::new(),
            is_finished: false,
            made_once: FxHashSet::default(),
            caller: None,
        }
    }

    /// Returns the body of `main`.
    pub(crate) fn body(&self) -> RegionId {
        self.open[0].region
    }

    /// Returns the ID of a new sharding group.
    pub(crate) fn new_group(&mut self) -> i64 {
        self.groups += 1;
        self.groups - 1
    }

    /// Returns the innermost open region.
    pub(crate) fn region(&self) -> RegionId {
        self.open.last().map_or(self.open[0].region, |open| open.region)
    }

    /// Adds a parameter to `main`, even if a nested region is open.
    pub(crate) fn add_parameter(
        &mut self,
        name: &str,
        shape: &[i64],
        dtype: DType,
        at: &'static Location<'static>,
    ) -> KindResult<ValueId> {
        if !self.names.insert(name.into()) {
            return Err(ErrorKind::Name { what: "parameters", name: name.to_owned() });
        }
        let ty = self.module.types.tensor(shape, dtype);
        let body = self.body();
        let value = self.module.add_arg(body, ty);
        // The parameter has a named location (MLIR's `NameLoc`), as in JAX. The child of this location is the source line.
        let line = self.line(at);
        let loc = self.module.locs.intern(Loc::Name { name: name.into(), child: Some(line) });
        self.parameter_locs.push(loc.into());
        Ok(value)
    }

    /// Returns the IR location of source location `at`, or of the library's caller while [`Graph::track_caller`] runs.
    pub(crate) fn line(&mut self, at: &'static Location<'static>) -> LocId {
        let (at, locs) = (self.caller.unwrap_or(at), &mut self.module.locs);
        *self.lines.entry(std::ptr::from_ref(at)).or_insert_with(|| {
            locs.intern(Loc::File { file: at.file().into(), line: at.line(), col: at.column(), to: None })
        })
    }

    /// Returns the values of tensors; `None` if one of them is poisoned. Returns an error if a tensor belongs to another graph or is
    /// out of scope.
    pub(crate) fn values(&self, graph: &Graph, tensors: &[Tensor<'_>]) -> KindResult<Option<Vec<ValueId>>> {
        if self.is_finished {
            return Err(ErrorKind::Finished);
        }
        let mut values = Vec::with_capacity(tensors.len());
        let mut is_poisoned = false;
        for tensor in tensors {
            if !tensor.is_of(graph) {
                return Err(ErrorKind::ForeignTensor);
            }
            match self.handles.get(tensor.id() as usize) {
                None => is_poisoned = true,
                Some(handle) if self.open.iter().any(|open| open.region == handle.region) => {
                    values.push(handle.value);
                }
                Some(handle) => {
                    let of = self.closed.get(&handle.region).copied().unwrap_or("a closure");
                    return Err(ErrorKind::Escaped { of });
                }
            }
        }
        Ok(if is_poisoned { None } else { Some(values) })
    }

    /// Creates a new handle for a value.
    pub(crate) fn handle(&mut self, value: ValueId) -> u32 {
        let region = match self.module.values[value].def() {
            ValueDef::Arg(region, _) => region,
            ValueDef::Result(..) => self.region(),
        };
        self.handles.push(Handle { value, region });
        (self.handles.len() - 1) as u32
    }

    /// Returns the handle of a new value. If `made` is an error, reports the error and returns the poisoned handle.
    pub(crate) fn settle(
        &mut self,
        at: &'static Location<'static>,
        operands: &[Tensor<'_>],
        made: KindResult<ValueId>,
    ) -> u32 {
        match made {
            Ok(value) => self.handle(value),
            Err(kind) => {
                self.report(at, operands, kind);
                State::POISON
            }
        }
    }

    /// Records an error or a warning.
    pub(crate) fn report(
        &mut self,
        at: &'static Location<'static>,
        operands: &[Tensor<'_>],
        kind: ErrorKind,
    ) {
        let operands = match kind {
            // The handle of a foreign tensor is not a handle of this graph.
            ErrorKind::ForeignTensor => Vec::new(),
            _ => operands.iter().filter_map(|t| self.note(*t)).collect(),
        };
        let list = if kind.is_warning() { &mut self.warnings } else { &mut self.errors };
        list.push(GraphError { kind, location: self.caller.unwrap_or(at), operands });
    }

    /// Returns a description of an operand for errors.
    fn note(&self, tensor: Tensor<'_>) -> Option<OperandNote> {
        let handle = self.handles.get(tensor.id() as usize)?;
        let module = &self.module;
        let ty = module.tensor(handle.value)?;
        let loc = match module.values[handle.value].def() {
            ValueDef::Result(op, _) => module.ops[op].loc.expand(),
            ValueDef::Arg(region, i) if region == self.body() => {
                self.parameter_locs.get(i as usize).and_then(|loc| loc.expand())
            }
            ValueDef::Arg(..) => None,
        };
        let name = loc.and_then(|loc| match module.locs.get(loc) {
            Loc::Name { name, .. } => Some(name.to_string()),
            _ => None,
        });
        let place = loc.and_then(|loc| module.locs.file_position(loc));
        Some(OperandNote {
            name,
            shape: ty.shape.to_vec(),
            dtype: ty.dtype,
            place: place.map(|(file, line, column)| (file.to_owned(), line, column)),
        })
    }
}
