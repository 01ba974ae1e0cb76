//! The graph: a function under construction.

use std::panic::Location;
use std::sync::atomic::{AtomicU64, Ordering};

use shardc_ir::{
    AttrDict, DType, Dense, Func, Loc, LocId, MeshId, Module, OpKind, PackedOption, RegionId, ShardingId,
    Span, TensorSharding, TensorType, TypeId, ValueDef, ValueId, Visibility, infer_types, verify,
};

use crate::error::Here;
use crate::{Element, ErrorKind, GraphError, Mesh, PartitionSpec, number};

/// A tensor of a [`Graph`]: a handle, cheap to copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tensor {
    graph: u64,
    index: u32,
}

/// Builds a program, operation by operation.
#[derive(Debug)]
pub struct Graph {
    id: u64,
    module: Module,
    mesh: MeshId,
    body: RegionId,
    /// What each handle stands for at present.
    values: Vec<ValueId>,
    names: Vec<Box<str>>,
    locs: Vec<PackedOption<LocId>>,
}

/// Graphs are numbered only so that a handle of another graph is noticed; the numbers go nowhere else.
static NEXT_ID: AtomicU64 = AtomicU64::new(0);

/// Sizes have to be countable: not negative, and so few elements that sums of byte counts do not overflow.
pub(crate) fn check_shape(shape: &[i64]) -> KindResult<()> {
    let elements = shape.iter().try_fold(1i64, |n, &size| match size {
        0..=0x00ff_ffff_ffff_ffff => n.checked_mul(size),
        _ => None,
    });
    match elements {
        Some(n) if n <= i64::MAX / 32 => Ok(()),
        _ => Err(ErrorKind::Shape(shape.to_vec())),
    }
}

pub(crate) type Result<T> = std::result::Result<T, GraphError>;
pub(crate) type KindResult<T> = std::result::Result<T, ErrorKind>;

impl Graph {
    /// An empty program over the devices of `mesh`.
    #[must_use]
    pub fn new(name: &str, mesh: Mesh) -> Graph {
        let mut module = Module::new();
        module.name = Some(name.into());
        let mesh = module.add_mesh("mesh", mesh.as_ir().clone());
        let body = module.add_region(&[]);
        Graph {
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
            module,
            mesh,
            body,
            values: Vec::new(),
            names: Vec::new(),
            locs: Vec::new(),
        }
    }

    /// A parameter of the program. It is replicated unless [`Graph::mark_sharding`] or propagation says otherwise.
    ///
    /// # Errors
    /// A size is negative, or the name is taken.
    #[track_caller]
    pub fn parameter(&mut self, name: &str, shape: impl AsRef<[i64]>, dtype: DType) -> Result<Tensor> {
        let shape = shape.as_ref();
        check_shape(shape).here()?;
        if self.names.iter().any(|n| **n == *name) {
            return Err(ErrorKind::Name { what: "parameters", name: name.to_owned() }.here());
        }
        let ty = self.module.types.tensor(shape, dtype);
        let value = self.module.add_arg(self.body, ty);
        self.names.push(name.into());
        // The name of a parameter is the name of its location, as JAX writes it; the line comes below it.
        let line = self.caller_loc();
        let loc = self.module.locs.intern(Loc::Name { name: name.into(), child: line.expand() });
        self.locs.push(loc.into());
        Ok(self.handle(value))
    }

    /// A constant with these elements, row-major.
    ///
    /// # Errors
    /// There are more or fewer elements than the shape has.
    #[track_caller]
    pub fn constant<T: Element>(&mut self, elements: &[T], shape: impl AsRef<[i64]>) -> Result<Tensor> {
        let shape = shape.as_ref();
        check_shape(shape).here()?;
        let (have, want) = (elements.len() as i64, shape.iter().product());
        if have != want {
            return Err(ErrorKind::ElementCount { have, want, shape: shape.to_vec() }.here());
        }
        let mut bytes = Vec::new();
        elements.iter().for_each(|e| e.write(&mut bytes));
        let ty = self.module.types.tensor(shape, T::DTYPE);
        Ok(self.push(OpKind::Constant(Dense::elements(bytes)), &[], ty, &[]))
    }

    /// A constant of `f32`, row-major.
    ///
    /// # Errors
    /// There are more or fewer elements than the shape has.
    #[track_caller]
    pub fn constant_f32(&mut self, elements: &[f32], shape: impl AsRef<[i64]>) -> Result<Tensor> {
        self.constant(elements, shape)
    }

    /// A constant of `i32`, row-major.
    ///
    /// # Errors
    /// There are more or fewer elements than the shape has.
    #[track_caller]
    pub fn constant_i32(&mut self, elements: &[i32], shape: impl AsRef<[i64]>) -> Result<Tensor> {
        self.constant(elements, shape)
    }

    /// A constant whose elements are all `value`.
    ///
    /// # Errors
    /// The number is not an element of the type (`0.5` of an integer type), or a size is negative.
    #[track_caller]
    pub fn full(&mut self, shape: impl AsRef<[i64]>, value: f64, dtype: DType) -> Result<Tensor> {
        let shape = shape.as_ref();
        check_shape(shape).here()?;
        let Some(bytes) = number::encode(dtype, value) else {
            return Err(ErrorKind::Number { number: value.to_string(), dtype }.here());
        };
        Ok(self.splat(&bytes, shape, dtype))
    }

    /// A scalar constant.
    ///
    /// # Errors
    /// The number is not an element of the type.
    #[track_caller]
    pub fn scalar(&mut self, value: f64, dtype: DType) -> Result<Tensor> {
        self.full([], value, dtype)
    }

    /// `0, 1, 2, ...` along dimension `dim`, the same along the others.
    ///
    /// # Errors
    /// The shape lacks the dimension or a size is negative; the element type is `i1`.
    #[track_caller]
    pub fn iota(&mut self, shape: impl AsRef<[i64]>, dim: usize, dtype: DType) -> Result<Tensor> {
        let shape = shape.as_ref();
        check_shape(shape).here()?;
        if dim >= shape.len() {
            return Err(ErrorKind::Dimensions { op: "iota", dims: vec![dim], shape: shape.to_vec() }.here());
        }
        if dtype == DType::I1 {
            return Err(ErrorKind::Operands("iota does not make elements of type i1".to_owned()).here());
        }
        let ty = self.module.types.tensor(shape, dtype);
        Ok(self.push(OpKind::Iota { dim: dim as u32 }, &[], ty, &[]))
    }

    /// Says how a tensor is split. On a parameter this is how it has to be fed; on any other tensor it is a
    /// constraint, and the handle stands for the constrained tensor from here on. Returns the handle.
    ///
    /// # Errors
    /// The specification does not have one entry per dimension, names an axis that the mesh lacks, or names one
    /// twice.
    #[track_caller]
    pub fn mark_sharding(&mut self, tensor: Tensor, spec: PartitionSpec) -> Result<Tensor> {
        let value = self.value(tensor).here()?;
        let shape = self.module.shape(value);
        let sharding = spec.resolve(&self.module.meshes[self.mesh], self.mesh, shape).here()?;
        let sharding = self.module.shardings.intern(sharding);
        match self.module.values[value].def() {
            ValueDef::Arg(..) => self.module.shardings.set(value, Some(sharding)),
            ValueDef::Result(..) => {
                let ty = self.module.values[value].ty;
                let constrained = self.push(OpKind::ShardingConstraint(sharding), &[value], ty, &[]);
                // The new handle's value moves to the old one; the new one is not given out.
                self.values[tensor.index as usize] = self.values[constrained.index as usize];
                self.values.truncate(constrained.index as usize);
            }
        }
        Ok(tensor)
    }

    /// Ends the program, which returns these tensors under these names. The module has passed
    /// [`shardc_ir::verify()`].
    ///
    /// # Errors
    /// Two results of one name, or a tensor of another graph.
    #[track_caller]
    pub fn finish(mut self, results: &[(&str, Tensor)]) -> Result<Module> {
        let mut values = Vec::with_capacity(results.len());
        let mut res_attrs = Vec::with_capacity(results.len());
        for (i, &(name, tensor)) in results.iter().enumerate() {
            if results[..i].iter().any(|&(other, _)| other == name) {
                return Err(ErrorKind::Name { what: "results", name: name.to_owned() }.here());
            }
            values.push(self.value(tensor).here()?);
            let mut attrs = AttrDict::new();
            attrs.set_result_info(name);
            res_attrs.push(attrs);
        }
        let end = self.module.add_op(OpKind::Return, &values, &[], &[]);
        self.module.ops[end].loc = self.caller_loc();
        self.module.push_op(self.body, end);
        let types = |values: &[ValueId]| values.iter().map(|&v| self.module.values[v].ty).collect::<Vec<_>>();
        let params = types(&self.module.regions[self.body].args);
        let func = Func {
            name: "main".into(),
            visibility: Visibility::Public,
            body: Some(self.body),
            arg_attrs: vec![AttrDict::new(); params.len()],
            params,
            results: types(&values),
            res_attrs,
            res_shardings: vec![PackedOption::default(); values.len()],
            arg_locs: self.locs,
            arg_names: Vec::new(),
            arg_spans: Vec::new(),
            res_spans: Vec::new(),
            attrs: AttrDict::new(),
            span: Span::NONE,
            loc: PackedOption::default(),
        };
        self.module.add_func(func);
        match verify(&self.module) {
            Ok(()) => Ok(self.module),
            Err(mut errors) => Err(ErrorKind::Invalid(Box::new(errors.swap_remove(0))).here()),
        }
    }

    /// Shape of a tensor.
    ///
    /// # Errors
    /// The tensor belongs to another graph.
    #[track_caller]
    pub fn shape(&self, tensor: Tensor) -> Result<&[i64]> {
        Ok(&self.tensor(tensor).here()?.shape)
    }

    /// Element type of a tensor.
    ///
    /// # Errors
    /// The tensor belongs to another graph.
    #[track_caller]
    pub fn dtype(&self, tensor: Tensor) -> Result<DType> {
        Ok(self.tensor(tensor).here()?.dtype)
    }

    /// What [`Graph::mark_sharding`] said of a tensor, if anything.
    ///
    /// # Errors
    /// The tensor belongs to another graph.
    #[track_caller]
    pub fn sharding(&self, tensor: Tensor) -> Result<Option<&TensorSharding>> {
        let value = self.value(tensor).here()?;
        Ok(self.marked(value).map(|id| self.module.shardings.get(id)))
    }

    /// The mesh.
    #[must_use]
    pub fn mesh(&self) -> &shardc_ir::Mesh {
        &self.module.meshes[self.mesh]
    }

    /// An operation that has no method of its own, if its result type follows from its operands.
    ///
    /// # Errors
    /// The operands do not fit, or the result type does not follow, or there is more than one result.
    #[track_caller]
    pub fn op(&mut self, kind: OpKind, operands: &[Tensor]) -> Result<Tensor> {
        let values: Vec<ValueId> =
            operands.iter().map(|&t| self.value(t)).collect::<KindResult<_>>().here()?;
        self.infer(kind, &values, &[])
    }

    fn marked(&self, value: ValueId) -> Option<ShardingId> {
        match self.module.def_op(value).map(|op| &self.module.ops[op].kind) {
            Some(&OpKind::ShardingConstraint(id)) => Some(id),
            _ => self.module.shardings.of(value),
        }
    }

    fn handle(&mut self, value: ValueId) -> Tensor {
        self.values.push(value);
        Tensor { graph: self.id, index: (self.values.len() - 1) as u32 }
    }

    /// The value that a handle stands for.
    pub(crate) fn value(&self, tensor: Tensor) -> KindResult<ValueId> {
        if tensor.graph != self.id {
            return Err(ErrorKind::ForeignTensor);
        }
        self.values.get(tensor.index as usize).copied().ok_or(ErrorKind::ForeignTensor)
    }

    /// The type of a tensor.
    pub(crate) fn tensor(&self, tensor: Tensor) -> KindResult<&TensorType> {
        // Every value of a graph is a tensor.
        self.module.tensor(self.value(tensor)?).ok_or(ErrorKind::ForeignTensor)
    }

    pub(crate) fn module_mut(&mut self) -> &mut Module {
        &mut self.module
    }

    /// The place of the call into this crate.
    #[track_caller]
    fn caller_loc(&mut self) -> PackedOption<LocId> {
        let at = Location::caller();
        let (line, col) = (at.line(), at.column());
        self.module.locs.intern(Loc::File { file: at.file().into(), line, col, to: None }).into()
    }

    /// Appends an operation with one result of a type that fits.
    #[track_caller]
    pub(crate) fn push(
        &mut self,
        kind: OpKind,
        operands: &[ValueId],
        ty: TypeId,
        regions: &[RegionId],
    ) -> Tensor {
        let op = self.module.add_op(kind, operands, &[ty], regions);
        self.module.ops[op].loc = self.caller_loc();
        self.module.push_op(self.body, op);
        let result = self.module.ops[op].results[0];
        self.handle(result)
    }

    /// Appends an operation whose one result type follows from its operands.
    #[track_caller]
    pub(crate) fn infer(
        &mut self,
        kind: OpKind,
        operands: &[ValueId],
        regions: &[RegionId],
    ) -> Result<Tensor> {
        let types = infer_types(&mut self.module, &kind, operands, regions);
        let types = types.map_err(|error| ErrorKind::Operands(error.to_string())).here()?;
        match types.as_slice() {
            &[ty] if self.module.types.as_tensor(ty).is_some() => Ok(self.push(kind, operands, ty, regions)),
            _ => Err(ErrorKind::Operands(format!("{} does not give one tensor", kind.name())).here()),
        }
    }

    /// A constant whose elements all have these bytes.
    #[track_caller]
    pub(crate) fn splat(&mut self, bytes: &[u8], shape: &[i64], dtype: DType) -> Tensor {
        let ty = self.module.types.tensor(shape, dtype);
        self.push(OpKind::Constant(Dense::splat(bytes)), &[], ty, &[])
    }
}
