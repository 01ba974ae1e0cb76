//! The graph: a function under construction, and handles to its tensors.
//!
//! ## Invariants
//!
//! * A [`Tensor`] is the index of a handle in its graph; the handle stores a value and its region. A value may be used only in its region
//!   and in open regions nested in it.
//! * An invalid operation is reported once, at its call, and its result is *poisoned*. Results computed from poisoned tensors are also
//!   poisoned, without further reports.
//! * No user closure runs while the state is borrowed.

mod caller;
mod finish;
mod maker;
mod region;
mod state;
mod tensor;
mod tree;

use std::cell::RefCell;
use std::panic::Location;

use shardc_ir::{AttrDict, DType, Dense, Loc, Module, OpKind, ValueId};

pub(crate) use crate::error::KindResult;
use crate::error::{ErrorKind, GraphError};
use crate::{Element, Mesh, number};

pub(crate) use maker::Maker;
pub use region::RegionBody;
pub(crate) use region::{Built, carry_captured, same_types, take_captured, types_of};
pub(crate) use state::State;
pub use tensor::Tensor;
pub use tree::Tree;

/// A program under construction.
///
/// Tensors borrow their graph, so `let g = Graph::new(..)` comes first.
#[derive(Debug)]
pub struct Graph {
    pub(crate) state: RefCell<State>,
}

/// The shape of a tensor: an array, slice or vector of sizes; `()` for a scalar.
pub trait IntoShape {
    /// Returns the sizes, major to minor.
    fn into_shape(self) -> Vec<i64>;
}

macro_rules! shapes {
    ($($int:ty),*) => {
        $(impl<const N: usize> IntoShape for [$int; N] {
            fn into_shape(self) -> Vec<i64> {
                self.iter().map(|&n| i64::try_from(n).unwrap_or(i64::MAX)).collect()
            }
        }

        impl IntoShape for &[$int] {
            fn into_shape(self) -> Vec<i64> {
                self.iter().map(|&n| i64::try_from(n).unwrap_or(i64::MAX)).collect()
            }
        }

        impl IntoShape for Vec<$int> {
            fn into_shape(self) -> Vec<i64> {
                self.as_slice().into_shape()
            }
        }

        impl IntoShape for &Vec<$int> {
            fn into_shape(self) -> Vec<i64> {
                self.as_slice().into_shape()
            }
        })*
    };
}

shapes!(i32, i64, usize);

impl IntoShape for () {
    fn into_shape(self) -> Vec<i64> {
        Vec::new()
    }
}

/// Checks that no size is negative, and that the number of elements is small enough for sums of byte counts not to overflow.
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

impl Graph {
    /// Creates an empty program for the devices of `mesh`.
    #[must_use]
    pub fn new(name: &str, mesh: &Mesh) -> Graph {
        Graph { state: RefCell::new(State::new(name, mesh)) }
    }

    /// Creates a parameter of the program, replicated unless [`Tensor::mark_sharding`] or propagation shards it.
    ///
    /// Reports an error if a size is negative, or if the name is already used.
    #[track_caller]
    pub fn parameter(&self, name: &str, shape: impl IntoShape, dtype: DType) -> Tensor<'_> {
        let (shape, at) = (shape.into_shape(), Location::caller());
        let mut state = self.state.borrow_mut();
        let made = check_shape(&shape).and_then(|()| state.add_parameter(name, &shape, dtype, at));
        let id = state.settle(at, &[], made);
        Tensor::new(self, id)
    }

    /// Creates a constant with these elements, row-major.
    ///
    /// Reports an error if the number of elements does not match the shape.
    #[track_caller]
    pub fn constant<T: Element>(&self, elements: &[T], shape: impl IntoShape) -> Tensor<'_> {
        let shape = shape.into_shape();
        self.make(&[], |m, _| {
            check_shape(&shape)?;
            let (have, want) = (elements.len() as i64, shape.iter().product());
            if have != want {
                return Err(ErrorKind::ElementCount { have, want, shape: shape.clone() });
            }
            let mut bytes = Vec::with_capacity(elements.len() * T::DTYPE.bytes());
            elements.iter().for_each(|e| e.write(&mut bytes));
            let dense = Dense::compact(T::DTYPE.bytes(), bytes);
            m.typed(OpKind::Constant(dense), &[], &shape, T::DTYPE)
        })
    }

    /// Creates a constant whose elements are all `value`.
    ///
    /// Reports an error if the type cannot represent the number (`0.5` in an integer type), or a size is negative.
    #[track_caller]
    pub fn full(&self, shape: impl IntoShape, value: f64, dtype: DType) -> Tensor<'_> {
        let shape = shape.into_shape();
        self.make(&[], |m, _| {
            check_shape(&shape)?;
            m.filled(value, &shape, dtype)
        })
    }

    /// Creates a constant of zeros.
    ///
    /// Reports an error if a size is negative.
    #[track_caller]
    pub fn zeros(&self, shape: impl IntoShape, dtype: DType) -> Tensor<'_> {
        self.full(shape, 0.0, dtype)
    }

    /// Creates a constant of ones.
    ///
    /// Reports an error if a size is negative.
    #[track_caller]
    pub fn ones(&self, shape: impl IntoShape, dtype: DType) -> Tensor<'_> {
        self.full(shape, 1.0, dtype)
    }

    /// Creates a scalar constant.
    ///
    /// Reports an error if the type cannot represent the number.
    #[track_caller]
    pub fn scalar(&self, value: f64, dtype: DType) -> Tensor<'_> {
        self.full((), value, dtype)
    }

    /// Creates a tensor with the elements `0, 1, 2, ...` along dimension `axis`, repeated along the other dimensions. A negative
    /// `axis` counts from the last dimension.
    ///
    /// Reports an error if the shape lacks the dimension, if a size is negative, or if the element type is `i1`.
    #[track_caller]
    pub fn iota(&self, shape: impl IntoShape, axis: i64, dtype: DType) -> Tensor<'_> {
        let shape = shape.into_shape();
        self.make(&[], |m, _| {
            check_shape(&shape)?;
            let dim = crate::axes::one("iota", axis, &shape)?;
            if dtype == DType::I1 {
                return Err(ErrorKind::Operands("iota does not support the element type i1".to_owned()));
            }
            m.typed(OpKind::Iota { dim: dim as u32 }, &[], &shape, dtype)
        })
    }

    /// Creates the tensor `0, 1, 2, ..., n - 1` of rank one.
    ///
    /// Reports an error if `n` is negative, or if the element type is `i1`.
    #[track_caller]
    pub fn arange(&self, n: i64, dtype: DType) -> Tensor<'_> {
        self.iota([n], 0, dtype)
    }

    /// Creates an operation of a kind that has no method of its own. The operation must have one result, whose type is inferred.
    ///
    /// Reports an error if the operands are invalid, the result type cannot be inferred, or there is more than one result.
    #[track_caller]
    pub fn op<'g>(&'g self, kind: OpKind, operands: &[Tensor<'g>]) -> Tensor<'g> {
        self.make(operands, |m, values| m.infer(kind, values, &[]))
    }

    /// Creates an operation with regions, of a kind that has no method of its own; the result types are inferred. Each region is a function
    /// from scalars or tensors of the given types to its results.
    ///
    /// `results` is the number of results.
    ///
    /// Reports an error if the operands are invalid, the result types cannot be inferred, or their number is not `results`.
    #[track_caller]
    pub fn op_with_regions<'g>(
        &'g self,
        kind: OpKind,
        operands: &[Tensor<'g>],
        results: usize,
        regions: Vec<RegionBody<'_, 'g>>,
    ) -> Vec<Tensor<'g>> {
        let built: Option<Vec<_>> = regions.into_iter().map(|region| self.plain_region(region)).collect();
        let Some(built) = built else { return self.poisoned(results) };
        self.make_many(operands, results, |m, values| m.infer_many(kind, values, &built))
    }

    /// Creates an operation with these result types, which are checked by type inference if possible.
    ///
    /// Reports an error if a shape is invalid, or the operation cannot have such results.
    #[track_caller]
    pub fn op_typed<'g>(
        &'g self,
        kind: OpKind,
        operands: &[Tensor<'g>],
        results: &[(&[i64], DType)],
    ) -> Vec<Tensor<'g>> {
        self.make_many(operands, results.len(), |m, values| m.checked(kind, values, results))
    }

    /// Calls a custom target of the backend.
    ///
    /// Reports an error if a shape is invalid.
    #[track_caller]
    pub fn custom_call<'g>(
        &'g self,
        target: &str,
        operands: &[Tensor<'g>],
        results: &[(&[i64], DType)],
    ) -> Vec<Tensor<'g>> {
        self.custom_call_with(target, operands, results, AttrDict::new())
    }

    /// [`custom_call`](Graph::custom_call) with attributes, such as `backend_config` and `api_version`.
    ///
    /// Reports an error if a shape is invalid.
    #[track_caller]
    pub fn custom_call_with<'g>(
        &'g self,
        target: &str,
        operands: &[Tensor<'g>],
        results: &[(&[i64], DType)],
        attributes: AttrDict,
    ) -> Vec<Tensor<'g>> {
        let spec = shardc_ir::CustomCallSpec { target: target.into(), props: attributes };
        self.op_typed(OpKind::CustomCall(Box::new(spec)), operands, results)
    }

    /// Returns the mesh of devices for which the program is partitioned.
    #[must_use]
    pub fn mesh(&self) -> Mesh {
        let state = self.state.borrow();
        Mesh::from_ir(state.module.meshes[state.mesh].clone())
    }

    /// Returns the warnings so far about valid but suspicious code, such as gradients with respect to tensors that the loss does not
    /// depend on. Warnings remain available after the graph is finished.
    #[must_use]
    pub fn warnings(&self) -> Vec<GraphError> {
        self.state.borrow().warnings.clone()
    }

    /// Returns whether this call is the first with `what` on this graph. Libraries built on graphs use the result to create singletons.
    #[must_use]
    pub fn is_first(&self, what: &'static str) -> bool {
        self.state.borrow_mut().made_once.insert(what)
    }

    /// Returns the number of operations so far, including those in regions.
    #[must_use]
    pub fn num_ops(&self) -> usize {
        self.state.borrow().module.ops.len()
    }

    /// Creates a tensor from operands. If an operand is poisoned, the result is poisoned and no operation is created.
    #[track_caller]
    pub(crate) fn make<'g>(
        &'g self,
        operands: &[Tensor<'g>],
        make: impl FnOnce(&mut Maker<'_>, &[ValueId]) -> KindResult<ValueId>,
    ) -> Tensor<'g> {
        let at = Location::caller();
        let mut state = self.state.borrow_mut();
        let id = match state.values(self, operands) {
            Ok(Some(values)) => {
                let made = make(&mut Maker::new(&mut state, at), &values);
                state.settle(at, operands, made)
            }
            Ok(None) => State::POISON,
            Err(kind) => state.settle(at, operands, Err(kind)),
        };
        Tensor::new(self, id)
    }

    /// Creates tensors from operands; an error unless `make` returns exactly `results` values. If an operand is poisoned, the results are
    /// poisoned and no operation is created.
    #[track_caller]
    pub(crate) fn make_many<'g>(
        &'g self,
        operands: &[Tensor<'g>],
        results: usize,
        make: impl FnOnce(&mut Maker<'_>, &[ValueId]) -> KindResult<Vec<ValueId>>,
    ) -> Vec<Tensor<'g>> {
        let at = Location::caller();
        let mut state = self.state.borrow_mut();
        let made = match state.values(self, operands) {
            Ok(Some(values)) => make(&mut Maker::new(&mut state, at), &values).and_then(|made| {
                if made.len() == results {
                    return Ok(made);
                }
                Err(ErrorKind::Operands(format!(
                    "the operation has {} results, expected {results}",
                    made.len()
                )))
            }),
            Ok(None) => return self.poisoned(results),
            Err(kind) => Err(kind),
        };
        match made {
            Ok(made) => made.into_iter().map(|v| Tensor::new(self, state.handle(v))).collect(),
            Err(kind) => {
                state.report(at, operands, kind);
                self.poisoned(results)
            }
        }
    }

    /// Reports an error about these tensors, on behalf of a library built on graphs; [`Graph::finish`] returns it. The returned tensor is
    /// poisoned. If an operand is already poisoned, nothing is reported.
    #[track_caller]
    pub fn refuse<'g>(&'g self, operands: &[Tensor<'g>], message: impl Into<String>) -> Tensor<'g> {
        if operands.iter().any(|operand| operand.id() == State::POISON) {
            return Tensor::new(self, State::POISON);
        }
        self.report(operands, ErrorKind::Operands(message.into()))
    }

    /// Adds a warning about these tensors, for a library built on graphs: see [`Graph::warnings`]. If `kind` is an error, it is reported as
    /// an error.
    #[track_caller]
    pub fn warn<'g>(&'g self, tensors: &[Tensor<'g>], kind: ErrorKind) {
        self.report(tensors, kind);
    }

    /// Reports an error and returns a poisoned tensor.
    #[track_caller]
    pub(crate) fn report<'g>(&'g self, operands: &[Tensor<'g>], kind: ErrorKind) -> Tensor<'g> {
        self.state.borrow_mut().report(Location::caller(), operands, kind);
        Tensor::new(self, State::POISON)
    }

    /// Returns `n` poisoned tensors.
    pub(crate) fn poisoned(&self, n: usize) -> Vec<Tensor<'_>> {
        vec![Tensor::new(self, State::POISON); n]
    }

    /// Accesses the module under construction.
    pub(crate) fn with_module<T>(&self, look: impl FnOnce(&mut Module) -> T) -> T {
        look(&mut self.state.borrow_mut().module)
    }

    /// Names the value of a tensor; errors and `explain` show the name.
    pub(crate) fn name_value(&self, tensor: Tensor<'_>, name: &str) {
        let mut state = self.state.borrow_mut();
        let Ok(Some(values)) = state.values(self, &[tensor]) else { return };
        let module = &mut state.module;
        if let Some(op) = module.def_op(values[0]) {
            let line = module.ops[op].loc.expand();
            let named = module.locs.intern(Loc::Name { name: name.into(), child: line });
            module.ops[op].loc = named.into();
        }
    }
}

impl Maker<'_> {
    /// Creates a constant whose elements are all `number`.
    pub(crate) fn filled(&mut self, number: f64, shape: &[i64], dtype: DType) -> KindResult<ValueId> {
        let Some(bytes) = number::encode(dtype, number) else {
            return Err(ErrorKind::Number { number: number.to_string(), dtype });
        };
        self.typed(OpKind::Constant(Dense::splat(&bytes)), &[], shape, dtype)
    }
}
