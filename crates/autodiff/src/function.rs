//! The differentiated function: its arguments, results and body.

use rustc_hash::FxHashSet;
use shardc_ir::{AttrDict, Diagnostic, FuncId, Loc, Module, OpId, RegionId, ValueId};

use crate::blocks::split_loops;
use crate::emit::Arithmetic;
use crate::forward::Forward;
use crate::linearize::{Linear, Needed};
use crate::locations;
use crate::request::{Derivative, Request};
use crate::transpose::Transposed;

/// Transforms a function to return derivatives of its results.
///
/// The transformed function takes the original arguments, followed by a tangent for each differentiated argument (JVP) or a cotangent for
/// each result (VJP), in the order of the request. The transformed function returns the original results if requested, then a gradient for
/// each differentiated argument, or a tangent for each result. Calls must have been inlined. Dead operations may remain.
///
/// # Errors
/// Returns an error if an argument or a result does not exist or is not differentiable (`SH1003`), or if an operation between
/// them has no derivative (`SH1001`, `SH1004`).
pub fn differentiate(module: &mut Module, func: FuncId, request: &Request) -> Result<(), Vec<Diagnostic>> {
    let made = request
        .check(module, &module.funcs[func])
        .and_then(|()| Maker { module, func, request, blocks: FxHashSet::default() }.make());
    made.map_err(|error| vec![*error])
}

/// Appends to a region the gradient of the terminator's operands [`Request::of`] with respect to values that the region reads or defines.
/// Returns the gradients. [`Request::wrt`] is ignored. The region must not contain calls.
///
/// The results of the region are unchanged, but the operands of its terminator may be different SSA values than before.
///
/// # Errors
/// Returns an error if a value depends on another differentiated value, or is not differentiable (`SH1003`), or if an operation on which
/// the gradient depends has no derivative (`SH1001`, `SH1004`).
pub fn gradient_in_region(
    module: &mut Module,
    region: RegionId,
    wrt: &[ValueId],
    cotangents: &[ValueId],
    request: &Request,
) -> Result<Vec<ValueId>, Vec<Diagnostic>> {
    let blocks = match request.checkpoint.blocks {
        true => split_loops(module, region),
        false => FxHashSet::default(),
    };
    reverse(module, request, blocks, region, wrt, cotangents).map_err(|error| vec![*error])
}

/// Returns the gradient with respect to each of `args`. Without `cotangents`, each differentiated result has cotangent 1.
fn reverse(
    module: &mut Module,
    request: &Request,
    blocks: FxHashSet<OpId>,
    body: RegionId,
    args: &[ValueId],
    cotangents: &[ValueId],
) -> Result<Vec<ValueId>, Box<Diagnostic>> {
    let Some(end) = module.terminator(body) else { return Ok(Vec::new()) };
    let of: Vec<ValueId> = request.of.iter().map(|&i| module.ops[end].operands[i]).collect();
    let types: Vec<_> = args.iter().map(|&v| module.values[v].ty).collect();
    // A temporary region, whose arguments are the tangents of the function's arguments.
    let scratch = module.add_region(&types);
    let tangents = module.regions[scratch].args.clone();
    let needed = Needed::of(module, body, &of);
    let mut linear = Linear::new(module, request);
    linear.blocks = blocks;
    linear.needed = Some(needed);
    for (&arg, &tangent) in args.iter().zip(&tangents) {
        linear.set_tangent(arg, tangent);
    }
    let tape = linear.region(body)?;
    if let Some(i) = (0..args.len()).find(|&i| linear.tangent(args[i]) != Some(tangents[i])) {
        return Err(depends(linear.module, args[i]));
    }
    linear.finish(body);
    let first_new = linear.module.ops.len();
    let mut transposed = Transposed::new(&mut linear);
    for (n, (&i, &value)) in request.of.iter().zip(&of).enumerate() {
        let Some(tangent) = tape.returned[i] else { continue };
        let cotangent = match cotangents.get(n) {
            Some(&cotangent) => cotangent,
            None => transposed.emit(end).number(1.0, value),
        };
        transposed.ask(tangent, cotangent);
    }
    transposed.tape(&tape, body)?;
    let mut gradients = Vec::new();
    for (&arg, &tangent) in args.iter().zip(&tangents) {
        gradients.push(match transposed.take(tangent, end) {
            Some(gradient) => gradient,
            None => transposed.emit(end).zeros_like(arg),
        });
    }
    let backward = std::mem::take(&mut transposed.ops);
    let backward = match request.checkpoint.layers.is_empty() {
        true => transposed.recomputed(body, backward),
        false => backward,
    };
    locations::say(module, first_new, "transpose of");
    let mut ops = module.regions[body].ops.to_vec();
    ops.pop();
    ops.extend(backward);
    ops.push(end);
    module.set_ops(body, ops);
    Ok(gradients)
}

/// The error for a differentiated value that depends on another differentiated value.
fn depends(module: &Module, value: ValueId) -> Box<Diagnostic> {
    let text = "a differentiated value depends on another differentiated value";
    let hint = "differentiate with respect to only one of them, or apply stop_gradient to the dependent one";
    let mut error = Diagnostic::invalid("SH1003", text).hint(hint);
    if let Some(op) = module.def_op(value) {
        error.user_loc = module.user_loc(op);
        error.span = module.ops[op].span;
    }
    Box::new(error)
}

struct Maker<'a> {
    module: &'a mut Module,
    func: FuncId,
    request: &'a Request,
    /// Loops over blocks of iterations, which save only the initial state of each block.
    blocks: FxHashSet<OpId>,
}

impl Maker<'_> {
    fn make(&mut self) -> Result<(), Box<Diagnostic>> {
        let Some(body) = self.module.funcs[self.func].body else {
            let name = &self.module.funcs[self.func].name;
            let text = format!("@{name} has no body");
            return Err(Box::new(Diagnostic::invalid("SH1003", text).at(self.module.funcs[self.func].span)));
        };
        let is_forward = self.request.derivative == Derivative::Jvp;
        self.blocks = match self.request.checkpoint.blocks && !is_forward {
            true => split_loops(self.module, body),
            false => FxHashSet::default(),
        };
        let Some(end) = self.module.terminator(body) else { return Ok(()) };
        let of: Vec<ValueId> = self.request.of.iter().map(|&i| self.module.ops[end].operands[i]).collect();
        let derivatives = match self.request.derivative {
            Derivative::Gradient => self.backward(body, &of, true)?,
            Derivative::Vjp => self.backward(body, &of, false)?,
            Derivative::Jvp => self.forward(body, end, &of)?,
        };
        self.give_back(end, &of, &derivatives);
        Ok(())
    }

    /// Reverse mode: the gradient of each differentiated argument.
    fn backward(
        &mut self,
        body: RegionId,
        of: &[ValueId],
        is_gradient: bool,
    ) -> Result<Vec<ValueId>, Box<Diagnostic>> {
        let args: Vec<ValueId> =
            self.request.wrt.iter().map(|&i| self.module.regions[body].args[i]).collect();
        let cotangents: Vec<ValueId> = match is_gradient {
            true => Vec::new(),
            false => (0..of.len()).map(|i| self.add_argument(body, of[i], Asked::Result(i))).collect(),
        };
        let blocks = std::mem::take(&mut self.blocks);
        reverse(self.module, self.request, blocks, body, &args, &cotangents)
    }

    /// Forward mode: the tangent of each result.
    fn forward(
        &mut self,
        body: RegionId,
        end: OpId,
        of: &[ValueId],
    ) -> Result<Vec<ValueId>, Box<Diagnostic>> {
        let args: Vec<ValueId> =
            self.request.wrt.iter().map(|&i| self.module.regions[body].args[i]).collect();
        let tangents: Vec<ValueId> =
            (0..args.len()).map(|i| self.add_argument(body, args[i], Asked::Argument(i))).collect();
        let mut linear = Linear::new(self.module, self.request);
        for (&arg, &tangent) in args.iter().zip(&tangents) {
            linear.set_tangent(arg, tangent);
        }
        let tape = linear.region(body)?;
        let returned: Vec<Option<ValueId>> = self.request.of.iter().map(|&i| tape.returned[i]).collect();
        let instead = Forward::new(&mut linear).body(body, &tape)?;
        linear.finish(body);
        let mut ops = self.module.regions[body].ops.to_vec();
        ops.pop();
        let mut out = Vec::new();
        for (&value, tangent) in of.iter().zip(returned) {
            out.push(match tangent {
                Some(tangent) => instead.get(&tangent).copied().unwrap_or(tangent),
                None => crate::emit::Emit::new(self.module, &mut ops, end).zeros_like(value),
            });
        }
        ops.push(end);
        self.module.set_ops(body, ops);
        Ok(out)
    }

    /// Adds an argument with the type of `like` to the function: the tangent of an argument, or the cotangent of a result.
    fn add_argument(&mut self, body: RegionId, like: ValueId, asked: Asked) -> ValueId {
        let ty = self.module.values[like].ty;
        let func = &self.module.funcs[self.func];
        let (name, sharding) = match asked {
            Asked::Argument(i) => {
                let i = self.request.wrt[i];
                let name = func.shown_argument(&self.module.locs, i);
                (format!("tangent({name})"), self.module.shardings.of(like))
            }
            Asked::Result(i) => {
                let i = self.request.of[i];
                let name = func.result_name(i).unwrap_or_else(|| format!("res{i}"));
                (format!("cotangent({name})"), func.res_shardings.get(i).and_then(|s| s.expand()))
            }
        };
        let loc = self.module.locs.intern(Loc::Name { name: name.into(), child: None });
        let (place, arg) = self.module.add_parameter(self.func, body, ty);
        if !self.request.free_shardings {
            self.module.shardings.set(arg, sharding);
        }
        let locs = &mut self.module.funcs[self.func].arg_locs;
        locs.resize(place + 1, None.into());
        locs[place] = Some(loc).into();
        arg
    }

    /// Makes the function return its results, if requested, and then the derivatives.
    fn give_back(&mut self, end: OpId, of: &[ValueId], derivatives: &[ValueId]) {
        let mut returned = Vec::new();
        let func = &mut self.module.funcs[self.func];
        let (mut attrs, mut shardings) = (Vec::new(), Vec::new());
        if self.request.value {
            for (&i, &value) in self.request.of.iter().zip(of) {
                returned.push(value);
                attrs.push(func.res_attrs.get(i).cloned().unwrap_or_default());
                shardings.push(func.res_shardings.get(i).copied().unwrap_or_default());
            }
        }
        let body = func.body;
        for (n, &value) in derivatives.iter().enumerate() {
            returned.push(value);
            let func = &self.module.funcs[self.func];
            let (name, sharding) = match self.request.derivative {
                Derivative::Jvp => {
                    let i = self.request.of[n];
                    let name = func.result_name(i).unwrap_or_else(|| format!("res{i}"));
                    (format!("tangent({name})"), func.res_shardings.get(i).copied().unwrap_or_default())
                }
                Derivative::Gradient | Derivative::Vjp => {
                    let i = self.request.wrt[n];
                    let name = func.shown_argument(&self.module.locs, i);
                    let arg = body.and_then(|body| self.module.regions[body].args.get(i).copied());
                    (format!("gradient({name})"), arg.and_then(|arg| self.module.shardings.of(arg)).into())
                }
            };
            let mut named = AttrDict::default();
            named.set_result_info(&name);
            attrs.push(named);
            shardings.push(if self.request.free_shardings { None.into() } else { sharding });
        }
        let func = &mut self.module.funcs[self.func];
        func.results = returned.iter().map(|&v| self.module.values[v].ty).collect();
        (func.res_attrs, func.res_shardings, func.res_spans) = (attrs, shardings, Vec::new());
        // Result indices change, so donations of arguments to specific results are dropped.
        for attrs in &mut func.arg_attrs {
            attrs.remove_donation();
        }
        self.module.ops[end].operands = returned.into_iter().collect();
    }
}

/// The purpose of a new argument: the tangent of an argument, or the cotangent of a result. The number is an index into [`Request::wrt`] or
/// [`Request::of`].
#[derive(Clone, Copy)]
enum Asked {
    Argument(usize),
    Result(usize),
}
