//! Functions with custom derivatives.

use std::panic::Location;

use shardc_autodiff::{CustomDerivative, CustomRule};
use shardc_ir::{CompositeSpec, DTypeClass, OpKind, TypeId};

use super::function::{first_results, function};
use crate::graph::{Built, Graph, same_types};
use crate::{Tensor, Tree};

impl Graph {
    /// Applies `forward` to `inputs`, with a gradient computed by `backward` (JAX's `custom_vjp`).
    ///
    /// `forward` returns outputs and residuals. `backward` takes the residuals and the cotangents of the outputs, and returns the
    /// cotangents of the inputs. Integer tensors have no cotangents: zeros are passed for them, and values returned for them are ignored.
    /// Without a gradient, the residuals are not computed.
    ///
    /// Reports an error if a closure captures a tensor that is not constant, or if a cotangent differs in shape or element type from its
    /// input.
    #[track_caller]
    pub fn custom_vjp<'g, I: Tree<'g>, O: Tree<'g>, R: Tree<'g>>(
        &'g self,
        inputs: I,
        forward: impl FnOnce(I) -> (O, R),
        backward: impl FnOnce(R, O) -> I,
    ) -> O {
        const WHAT: &str = "custom_vjp";
        let line = Location::caller();
        let (built, (outputs, residuals)) = self.region_like(WHAT, &inputs, |args| {
            let (outputs, residuals) = forward(args);
            ([outputs.leaves(), residuals.leaves()].concat(), (outputs, residuals))
        });
        let n = outputs.leaves().len();
        let given_up = || outputs.rebuilt(&self.poisoned(n));
        let Some(first) = built.and_then(|built| self.sealed(built)) else { return given_up() };
        let (of_outputs, of_residuals) = first.types.split_at(n);
        let changing = self.changing(of_outputs);
        let types: Vec<TypeId> = of_residuals.iter().chain(changing.iter().flatten()).copied().collect();
        let types: Vec<Option<TypeId>> = types.into_iter().map(Some).collect();
        let of_inputs = self.changing_of(&inputs);
        let (built, ()) = self.region(WHAT, &types, |args| {
            let (kept, cotangents) = args.split_at(of_residuals.len());
            let cotangents = self.at_line(line, || self.with_zeros(of_outputs, &changing, cotangents));
            let given = backward(residuals.rebuilt(kept), outputs.rebuilt(&cotangents));
            let given = given.leaves().into_iter().zip(&of_inputs);
            (given.filter_map(|(leaf, changes)| changes.is_some().then_some(leaf)).collect(), ())
        });
        let Some(second) = built.and_then(|built| self.sealed(built)) else { return given_up() };
        let made = self.make_many(&inputs.leaves(), n, |m, values| {
            let wanted: Vec<TypeId> = of_inputs.iter().flatten().copied().collect();
            let (module, number) = (&mut m.state.module, m.state.rules.len());
            same_types(module, "the backward function of custom_vjp", &wanted, &second.types)
                .map_err(|kind| kind.numbered(|at| number_of_changing(&of_inputs, at)))?;
            let plain = first_results(module, first.region, n);
            let names = ["", "_forward", "_backward"].map(|part| format!("custom_vjp_{number}{part}"));
            for (name, region) in names.iter().zip([plain, first.region, second.region]) {
                function(module, name, region);
            }
            let [plain, forward, backward] = names;
            let kind = composite(&plain);
            let derivative = CustomDerivative::Vjp { forward, backward };
            m.state.rules.push(CustomRule { name: format!("shardc.{plain}"), derivative });
            Ok(m.with_types(kind, values, of_outputs, &[]))
        });
        outputs.rebuilt(&made)
    }

    /// Applies `function` to `inputs`, with a derivative computed by `jvp` (JAX's `custom_jvp`). `jvp` takes inputs and tangents, and
    /// returns outputs and tangents, and is linear in tangents. Reverse-mode gradients also use `jvp`.
    ///
    /// Integer tensors have no tangents: zeros are passed for them, and values returned for them are ignored.
    ///
    /// Reports an error if a closure captures a tensor that is not constant, or if the outputs of `jvp` differ in shape or element type
    /// from those of `function`.
    #[track_caller]
    pub fn custom_jvp<'g, I: Tree<'g>, O: Tree<'g>>(
        &'g self,
        inputs: I,
        body: impl FnOnce(I) -> O,
        jvp: impl FnOnce(I, I) -> (O, O),
    ) -> O {
        const WHAT: &str = "custom_jvp";
        let line = Location::caller();
        let (built, outputs) = self.region_like(WHAT, &inputs, |args| {
            let outputs = body(args);
            (outputs.leaves(), outputs)
        });
        let n = outputs.leaves().len();
        let given_up = || outputs.rebuilt(&self.poisoned(n));
        let Some(first) = built.and_then(|built| self.sealed(built)) else { return given_up() };
        let of_inputs: Vec<Option<TypeId>> = inputs.leaves().into_iter().map(|x| self.type_of(x)).collect();
        let changing = self.changing_of(&inputs);
        let of_outputs = self.changing(&first.types);
        let types: Vec<Option<TypeId>> =
            of_inputs.iter().copied().chain(changing.iter().copied().filter(Option::is_some)).collect();
        let known: Vec<TypeId> = of_inputs.iter().flatten().copied().collect();
        let (built, ()) = self.region(WHAT, &types, |args| {
            let (values, tangents) = args.split_at(known.len());
            let tangents = self.at_line(line, || self.with_zeros(&known, &changing, tangents));
            let (outputs, changes) = jvp(inputs.rebuilt(values), inputs.rebuilt(&tangents));
            let mut returned = outputs.leaves();
            let changes = changes.leaves().into_iter().zip(&of_outputs);
            returned.extend(changes.filter_map(|(leaf, changes)| changes.is_some().then_some(leaf)));
            (returned, ())
        });
        let Some(second) = built.and_then(|built| self.sealed(built)) else { return given_up() };
        let made = self.make_many(&inputs.leaves(), n, |m, values| {
            let wanted: Vec<TypeId> = of_outputs.iter().flatten().copied().collect();
            let (values_of, tangents_of) = second.types.split_at(n.min(second.types.len()));
            let (module, number) = (&mut m.state.module, m.state.rules.len());
            same_types(module, "the outputs in the derivative of custom_jvp", &first.types, values_of)?;
            same_types(module, "the tangents in the derivative of custom_jvp", &wanted, tangents_of)
                .map_err(|kind| kind.numbered(|at| number_of_changing(&of_outputs, at)))?;
            let (plain, derivative) = (format!("custom_jvp_{number}"), format!("custom_jvp_{number}_jvp"));
            function(module, &plain, first.region);
            function(module, &derivative, second.region);
            let kind = composite(&plain);
            let derivative = CustomDerivative::Jvp { function: derivative };
            m.state.rules.push(CustomRule { name: format!("shardc.{plain}"), derivative });
            Ok(m.with_types(kind, values, &first.types, &[]))
        });
        outputs.rebuilt(&made)
    }

    /// Copies captured constants into a region. If the region captures any other value, reports an error and returns `None`.
    #[track_caller]
    fn sealed(&self, built: Built) -> Option<Built> {
        self.seals(built.region).then_some(built)
    }

    /// Returns, for each type, the type itself if it is differentiable (a float or complex type), else `None`.
    fn changing(&self, types: &[TypeId]) -> Vec<Option<TypeId>> {
        self.with_module(|module| {
            let can_change = |ty: &TypeId| {
                let class = module.types.as_tensor(*ty).map(|ty| ty.dtype.class());
                matches!(class, Some(DTypeClass::Float | DTypeClass::Complex))
            };
            types.iter().map(|ty| can_change(ty).then_some(*ty)).collect()
        })
    }

    /// Returns, for each tensor of `tree`, the type of the tensor if it is differentiable, else `None`.
    #[track_caller]
    fn changing_of<'g, T: Tree<'g>>(&'g self, tree: &T) -> Vec<Option<TypeId>> {
        let types: Vec<Option<TypeId>> = tree.leaves().into_iter().map(|leaf| self.type_of(leaf)).collect();
        types.into_iter().map(|ty| self.changing(&[ty?])[0]).collect()
    }

    /// Returns one tensor per type: the next element of `tensors` if the type is differentiable, else a constant of zeros.
    #[track_caller]
    fn with_zeros<'g>(
        &'g self,
        types: &[TypeId],
        changing: &[Option<TypeId>],
        tensors: &[Tensor<'g>],
    ) -> Vec<Tensor<'g>> {
        let mut tensors = tensors.iter();
        let each = types.iter().zip(changing).map(|(&ty, changes)| {
            let next = if changes.is_some() { tensors.next().copied() } else { None };
            next.unwrap_or_else(|| {
                let like = self.with_module(|module| module.types.as_tensor(ty).cloned());
                like.map_or(self.poisoned(1)[0], |like| self.zeros(&like.shape[..], like.dtype))
            })
        });
        each.collect()
    }
}

/// Returns the index, among all types, of the `at`-th differentiable type.
fn number_of_changing(types: &[Option<TypeId>], at: usize) -> usize {
    let changing = types.iter().enumerate().filter(|(_, ty)| ty.is_some());
    changing.map(|(number, _)| number).nth(at).unwrap_or(at)
}

/// Creates a composite whose decomposition function has a custom derivative.
fn composite(function: &str) -> OpKind {
    let name = format!("shardc.{function}").into();
    let decomposition: Box<str> = function.into();
    OpKind::Composite(Box::new(CompositeSpec { name, decomposition, ..CompositeSpec::default() }))
}
