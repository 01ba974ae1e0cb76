//! Requests for derivatives: the values to differentiate, and the options.

use shardc_ir::{DTypeClass, Diagnostic, Func, Module, OpKind, TypeId};

use crate::checkpoint::{CHECKPOINT_NAME, Checkpoint};
use crate::custom::{CustomRule, STOP_GRADIENT};

/// The kind of derivative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Derivative {
    /// The gradient of a scalar result with respect to each argument: `d of / d wrt`.
    #[default]
    Gradient,
    /// A vector-Jacobian product (reverse mode): the function takes a cotangent for each result after its arguments.
    Vjp,
    /// A Jacobian-vector product (forward mode): the function takes a tangent for each differentiated argument after its arguments.
    Jvp,
}

/// The results and arguments of a derivative.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Request {
    /// The kind of derivative.
    pub derivative: Derivative,
    /// The indices of the differentiated arguments.
    pub wrt: Vec<usize>,
    /// The indices of the results; for a gradient, the index of one scalar result.
    pub of: Vec<usize>,
    /// Whether the function also returns the results `of`, before their derivatives.
    pub value: bool,
    /// If true, derivatives do not get the shardings of the corresponding arguments, results and constraints.
    pub free_shardings: bool,
    /// Custom derivative rules.
    pub rules: Vec<CustomRule>,
    /// The checkpointing policy.
    pub checkpoint: Checkpoint,
}

impl Request {
    /// Requests the derivative of results `of` with respect to arguments `wrt`, without the results.
    #[must_use]
    pub fn new(derivative: Derivative, wrt: &[usize], of: &[usize]) -> Self {
        Request { derivative, wrt: wrt.to_vec(), of: of.to_vec(), ..Request::default() }
    }

    /// Requests the results as well, before their derivatives.
    #[must_use]
    pub fn with_value(mut self) -> Self {
        self.value = true;
        self
    }

    /// Checks that a function has the requested arguments and results, and that they are differentiable.
    pub(crate) fn check(&self, module: &Module, func: &Func) -> Result<(), Box<Diagnostic>> {
        let wrong = |text: String| Err(Box::new(Diagnostic::invalid("SH1003", text).at(func.span)));
        for &i in &self.wrt {
            match func.params.get(i) {
                None => {
                    return wrong(format!(
                        "@{} has no argument {i}: it has {} arguments",
                        func.name,
                        func.params.len()
                    ));
                }
                Some(&ty) if !can_change(module, ty) => {
                    let ty = module.types.display(ty);
                    let text =
                        format!("argument {i} of @{} has type {ty}, which is not differentiable", func.name);
                    return Err(Box::new(Diagnostic::invalid("SH1003", text).at(func.arg_span(i))));
                }
                Some(_) => {}
            }
        }
        if let Some(twice) = self.wrt.iter().enumerate().find(|(i, arg)| self.wrt[..*i].contains(arg)) {
            return wrong(format!("argument {} of @{} is listed twice", twice.1, func.name));
        }
        for &i in &self.of {
            let Some(&ty) = func.results.get(i) else {
                return wrong(format!(
                    "@{} has no result {i}: it has {} results",
                    func.name,
                    func.results.len()
                ));
            };
            let shown = module.types.display(ty);
            if !can_change(module, ty) {
                let text =
                    format!("result {i} of @{} has type {shown}, which is not differentiable", func.name);
                return Err(Box::new(Diagnostic::invalid("SH1003", text).at(func.res_span(i))));
            }
            let is_scalar =
                || module.types.as_tensor(ty).is_some_and(|ty| ty.shape.is_empty() && ty.dtype.is_float());
            if self.derivative == Derivative::Gradient && !is_scalar() {
                let text = format!(
                    "result {i} of @{} has type {shown}, but a gradient needs a floating-point scalar",
                    func.name
                );
                let hint = "return a scalar, such as a sum, or compute a vector-Jacobian product (vjp)";
                return Err(Box::new(Diagnostic::invalid("SH1003", text).at(func.res_span(i)).hint(hint)));
            }
        }
        match (self.derivative, self.of.len()) {
            (Derivative::Gradient, n) if n != 1 => {
                wrong(format!("a gradient needs exactly one result, got {n}"))
            }
            _ => Ok(()),
        }
    }
}

/// Whether values of a type are differentiable.
fn can_change(module: &Module, ty: TypeId) -> bool {
    let class = module.types.as_tensor(ty).map(|ty| ty.dtype.class());
    matches!(class, Some(DTypeClass::Float | DTypeClass::Complex))
}

/// The functions whose calls must not be inlined before differentiation.
#[must_use]
pub fn kept_functions(module: &Module, request: &Request) -> Vec<String> {
    let mut out: Vec<String> = request.checkpoint.layers.clone();
    for rule in &request.rules {
        out.push(rule.name.clone());
    }
    for op in module.ops.values() {
        if let OpKind::Composite(spec) = &op.kind
            && ([STOP_GRADIENT, CHECKPOINT_NAME].contains(&&*spec.name)
                || request.rules.iter().any(|rule| *rule.name == *spec.name))
        {
            out.push(spec.decomposition.to_string());
        }
    }
    out.sort_unstable();
    out.dedup();
    out
}
