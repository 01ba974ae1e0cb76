//! Gradients.

use rustc_hash::FxHashSet;
use shardc_analysis::transforms::decompose::decompose;
use shardc_autodiff::{Derivative, Request, STOP_GRADIENT, gradient_in_region};
use shardc_ir::{DType, DTypeClass, Dense, Diagnostic, Module, OpId, OpKind, ValueId};

use crate::Tensor;
use crate::Tree;
use crate::error::ErrorKind;
use crate::graph::{Graph, KindResult, Maker, State};

impl Graph {
    /// Returns the gradient of `loss`, a scalar, with respect to the tensors of `by`: parameters, arguments of the enclosing closure, or
    /// intermediate values. The result has the structure of `by`.
    ///
    /// If the loss does not depend on a tensor of `by`, the gradient of that tensor is zero, and [`Graph::warnings`] reports it. Tensors of
    /// `by` are independent variables: gradients do not flow through their producers.
    ///
    /// Within a closure (of a loop, a branch, `optim::accumulated`), the loss must be computed in the closure: captured tensors must not
    /// depend on `by`.
    ///
    /// Reports an error if the loss is not a scalar of a float type, or if an operation between `by` and the loss has no derivative. The
    /// tensors of `by` must be of float or complex types, and none may depend on another. The loss of a closure must not depend on a
    /// captured tensor that depends on `by`.
    #[track_caller]
    pub fn grad<'g, T: Tree<'g>>(&'g self, loss: impl Into<Tensor<'g>>, by: &T) -> T {
        let loss = loss.into();
        let wrt = by.leaves();
        let operands: Vec<Tensor<'g>> = std::iter::once(loss).chain(wrt.iter().copied()).collect();
        let made = self.make_many(&operands, wrt.len(), |m, values| {
            let (shape, dtype) = (m.shape_of(values[0]), m.dtype_of(values[0]));
            if !shape.is_empty() || !dtype.is_float() {
                let text = format!("the loss must be a floating-point scalar, got {dtype}{shape:?}");
                return Err(ErrorKind::Gradient(Box::new(
                    Diagnostic::invalid("SH1003", text).hint("reduce the loss to a scalar with mean or sum"),
                )));
            }
            for &value in &values[1..] {
                let dtype = m.dtype_of(value);
                if !matches!(dtype.class(), DTypeClass::Float | DTypeClass::Complex) {
                    let text = format!("cannot differentiate with respect to a tensor of type {dtype}");
                    return Err(ErrorKind::Gradient(Box::new(Diagnostic::invalid("SH1003", text))));
                }
            }
            gradient(m, values[0], &values[1..])
        });
        for (&tensor, &gradient) in wrt.iter().zip(&made) {
            if self.is_zeros(gradient) {
                self.report(&[tensor], ErrorKind::ZeroGradient);
            }
        }
        by.rebuilt(&made)
    }

    /// Returns the vector-Jacobian product: `cotangents`, one for each tensor of `outputs`, times the Jacobian of `outputs` with respect to
    /// `by`. The result has the structure of `by`. Cotangents are treated as constants.
    ///
    /// Reports the errors of [`Graph::grad`] about `by`, and an error if the cotangents and the outputs differ in number, shape or type, or
    /// if an output is not of a float type.
    #[track_caller]
    pub fn vjp<'g, O: Tree<'g>, T: Tree<'g>>(&'g self, outputs: &O, by: &T, cotangents: &O) -> T {
        let (outputs, cotangents) = (outputs.leaves(), cotangents.leaves());
        let count = outputs.len();
        let both: Vec<Tensor<'g>> = outputs.iter().chain(&cotangents).copied().collect();
        let cotangents = self.make_many(&both, count, |m, values| {
            let wrong =
                |text: String| Err(ErrorKind::Gradient(Box::new(Diagnostic::invalid("SH1003", text))));
            let (outputs, cotangents) = values.split_at(count);
            if cotangents.len() != count {
                return wrong(format!("expected {count} cotangents, one per output, got {}", cotangents.len()));
            }
            for (i, (&output, &cotangent)) in outputs.iter().zip(cotangents).enumerate() {
                let (shape, dtype) = (m.shape_of(output), m.dtype_of(output));
                if !dtype.is_float() {
                    return wrong(format!("output {i} has type {dtype}, which is not differentiable"));
                }
                let (other, other_dtype) = (m.shape_of(cotangent), m.dtype_of(cotangent));
                if (&shape, dtype) != (&other, other_dtype) {
                    return wrong(format!(
                        "the cotangent of output {i} is {other_dtype}{other:?}, but the output is {dtype}{shape:?}"
                    ));
                }
            }
            Ok(cotangents.to_vec())
        });
        // The gradient of `sum(output * cotangent)` with respect to an output is its cotangent, unaffected by rounding of the sum.
        let mut loss = self.scalar(0.0, DType::F32);
        for (output, cotangent) in outputs.into_iter().zip(cotangents) {
            loss = loss + (output * cotangent.stop_gradient()).sum(..).to(DType::F32);
        }
        self.grad(loss, by)
    }
}

impl Graph {
    /// Returns whether a tensor is a constant of zeros.
    fn is_zeros(&self, tensor: Tensor<'_>) -> bool {
        let state = self.state.borrow();
        let Ok(Some(values)) = state.values(self, &[tensor]) else { return false };
        let made = state.module.def_op(values[0]).map(|op| &state.module.ops[op].kind);
        matches!(made, Some(OpKind::Constant(Dense::Splat(bytes))) if bytes.iter().all(|&byte| byte == 0))
    }
}

/// Appends the gradient to the open region.
fn gradient(m: &mut Maker<'_>, loss: ValueId, wrt: &[ValueId]) -> KindResult<Vec<ValueId>> {
    let region = m.state.region();
    let wrt: Vec<ValueId> = wrt.iter().map(|&value| before_mark(m.state, value)).collect();
    check_around(m.state, loss, &wrt)?;
    // Differentiation may replace values of the region. Therefore, a temporary `return` holds the values of all handles, and the handles
    // are updated from its operands afterwards.
    let held: Vec<usize> =
        (0..m.state.handles.len()).filter(|&i| m.state.handles[i].region == region).collect();
    let handles = held.iter().map(|&i| m.state.handles[i].value);
    let returned: Vec<ValueId> = [loss].into_iter().chain(wrt.iter().copied()).chain(handles).collect();
    m.with_types(OpKind::Return, &returned, &[], &[]);
    decompose(&mut m.state.module, region);
    let State { module, rules, .. } = &mut *m.state;
    let Some(end) = module.terminator(region) else { return Ok(Vec::new()) };
    let wrt: Vec<ValueId> = module.ops[end].operands[1..=wrt.len()].to_vec();
    let mut request = Request::new(Derivative::Gradient, &[], &[0]);
    request.rules.clone_from(rules);
    let made = gradient_in_region(module, region, &wrt, &[], &request);
    let returned = module.ops[end].operands.clone();
    module.retain_ops(region, |_, op| op != end);
    for (&i, &value) in held.iter().zip(&returned[1 + wrt.len()..]) {
        m.state.handles[i].value = value;
    }
    made.map_err(|mut errors| ErrorKind::Gradient(Box::new(errors.swap_remove(0))))
}

/// Returns the value before the sharding constraints that [`Tensor::mark_sharding`] applied to a tensor in the open region. A gradient
/// with respect to the unconstrained value also includes users that were created before the constraint.
fn before_mark(state: &State, mut value: ValueId) -> ValueId {
    while let Some(op) = state.module.def_op(value) {
        let data = &state.module.ops[op];
        let &[source] = data.operands.as_slice() else { break };
        let is_mark = matches!(data.kind, OpKind::ShardingConstraint(_));
        // If another handle still refers to the operand, the constraint created a separate copy of the tensor and is not skipped.
        let is_moved = || state.handles.iter().all(|handle| handle.value != source);
        if !is_mark || !state.module.regions[state.region()].ops.contains(&op) || !is_moved() {
            break;
        }
        value = source;
    }
    value
}

/// Checks that the loss of a closure depends on no captured tensor that depends on `wrt`.
fn check_around(state: &State, loss: ValueId, wrt: &[ValueId]) -> KindResult<()> {
    let Some((inner, around)) = state.open.split_last().filter(|(_, around)| !around.is_empty()) else {
        return Ok(());
    };
    let module = &state.module;
    let mut changes: FxHashSet<ValueId> = wrt.iter().copied().collect();
    let reads = |op: OpId| {
        let data = &module.ops[op];
        let inside = data.regions.iter().flat_map(|&region| module.walk(region));
        data.operands.iter().copied().chain(inside.flat_map(|op| module.ops[op].operands.iter().copied()))
    };
    for &op in around.iter().flat_map(|open| &module.regions[open.region].ops) {
        let is_stopped =
            matches!(&module.ops[op].kind, OpKind::Composite(spec) if &*spec.name == STOP_GRADIENT);
        if !is_stopped && reads(op).any(|value| changes.contains(&value)) {
            let results = module.ops[op].results.iter().copied();
            changes.extend(results.filter(|&v| is_differentiable(module, v)));
        }
    }
    if changes.len() == wrt.len() {
        return Ok(());
    }
    let local: FxHashSet<OpId> = module.regions[inner.region].ops.iter().copied().collect();
    let mut seen: FxHashSet<ValueId> = wrt.iter().copied().collect();
    let mut todo = vec![loss];
    while let Some(value) = todo.pop() {
        if !seen.insert(value) {
            continue;
        }
        if changes.contains(&value) {
            let text = "the loss uses a captured tensor that depends on the inputs of this gradient";
            let hint = "compute that tensor inside the closure, capture its stop_gradient, or take the gradient outside of the closure";
            return Err(ErrorKind::Gradient(Box::new(Diagnostic::invalid("SH1003", text).hint(hint))));
        }
        todo.extend(module.def_op(value).filter(|op| local.contains(op)).into_iter().flat_map(reads));
    }
    Ok(())
}

fn is_differentiable(module: &Module, value: ValueId) -> bool {
    let class = module.tensor(value).map(|ty| ty.dtype.class());
    matches!(class, Some(DTypeClass::Float | DTypeClass::Complex))
}
