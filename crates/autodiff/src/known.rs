//! Recognizes functions of front ends whose derivatives are known.
//!
//! JAX 0.12 lowers `lgamma` of `f32` to the function `@lgamma_impl`, which manipulates the bits of numbers (masks of mantissas,
//! error-free splits). Bit manipulations have no derivative. JAX itself differentiates the primitive: the derivative of `lgamma` is
//! `digamma` (`jax/_src/lax/special.py`).
//!
//! A user's function may also be named `lgamma_impl`. So a function counts as known only if it has the signature of the primitive, converts
//! to bits, and contains the constants of the algorithm: Euler's constant, zeta(2), and the constant of Stirling's formula.

use rustc_hash::FxHashSet;
use shardc_ir::reducer::encode;
use shardc_ir::{
    BinaryOp, DType, Dense, Func, FuncId, Module, OpKind, RegionId, TypeId, UnaryOp, Visibility,
};

use crate::custom::{CustomDerivative, CustomRule};

/// The name of the function that JAX lowers `lgamma` to. Further copies have a numeric suffix.
const LGAMMA: &str = "lgamma_impl";

/// Absolute values of constants in the algorithm for log-gamma: Euler's constant, zeta(2), and `ln(2 pi) / 2 - 1/2`.
const OF_LGAMMA: [f64; 3] = [0.577_215_664_901_532_9, 1.644_934_066_848_226_4, 0.418_938_517_570_495_6];

/// Finds functions with known derivatives, adds a function for each derivative to the program, and returns their rules.
pub fn known_rules(module: &mut Module) -> Vec<CustomRule> {
    let found: Vec<FuncId> = module.funcs.keys().filter(|&func| is_lgamma(module, func)).collect();
    found.into_iter().map(|func| rule_of_lgamma(module, func)).collect()
}

fn is_lgamma(module: &Module, func: FuncId) -> bool {
    let data = &module.funcs[func];
    let is_named = data.name.strip_prefix(LGAMMA).is_some_and(|rest| {
        rest.is_empty() || rest.strip_prefix('_').is_some_and(|n| n.bytes().all(|c| c.is_ascii_digit()))
    });
    let (&[from], &[to]) = (data.params.as_slice(), data.results.as_slice()) else { return false };
    let is_f32 = module.types.as_tensor(from).is_some_and(|ty| ty.dtype == DType::F32 && ty.is_static());
    if !is_named || from != to || !is_f32 || data.visibility != Visibility::Private {
        return false;
    }
    let holds = |value: f64| {
        let encoded = [value, -value].map(|value| encode(DType::F32, value));
        reachable(module, func).into_iter().any(|region| {
            module.walk(region).into_iter().any(|op| {
                let OpKind::Constant(Dense::Splat(bytes)) = &module.ops[op].kind else { return false };
                encoded.iter().flatten().any(|other| other == bytes)
            })
        })
    };
    let reads_bits = reachable(module, func).into_iter().any(|region| {
        module.walk(region).into_iter().any(|op| matches!(module.ops[op].kind, OpKind::BitcastConvert))
    });
    reads_bits && OF_LGAMMA.into_iter().all(holds)
}

/// The bodies of a function and of all its callees.
fn reachable(module: &Module, func: FuncId) -> Vec<RegionId> {
    let mut seen: FxHashSet<FuncId> = FxHashSet::default();
    let (mut next, mut bodies) = (vec![func], Vec::new());
    while let Some(func) = next.pop() {
        let Some(body) = module.funcs[func].body.filter(|_| seen.insert(func)) else { continue };
        bodies.push(body);
        for op in module.walk(body) {
            if let OpKind::Call { callee, .. } = &module.ops[op].kind {
                next.extend(module.func_names.get(&**callee).copied());
            }
        }
    }
    bodies
}

/// Adds a function that maps a number and its tangent to the log-gamma of the number and the tangent of the result.
fn rule_of_lgamma(module: &mut Module, func: FuncId) -> CustomRule {
    let (name, ty) = (module.funcs[func].name.to_string(), module.funcs[func].params[0]);
    let body = module.add_region(&[ty, ty]);
    let (x, tangent) = (module.regions[body].args[0], module.regions[body].args[1]);
    let call = OpKind::Call { callee: name.as_str().into() };
    let mut ops = Vec::new();
    let mut add = |module: &mut Module, kind: OpKind, operands: &[_], results: &[TypeId]| {
        let op = module.add_op(kind, operands, results, &[]);
        ops.push(op);
        module.ops[op].results.first().copied()
    };
    let value = add(module, call, &[x], &[ty]);
    let slope = add(module, OpKind::Unary(UnaryOp::Digamma), &[x], &[ty]);
    let product =
        slope.and_then(|slope| add(module, OpKind::Binary(BinaryOp::Multiply), &[slope, tangent], &[ty]));
    let returned: Vec<_> = value.into_iter().chain(product).collect();
    add(module, OpKind::Return, &returned, &[]);
    module.set_ops(body, ops);
    let function = unused_name(module, &format!("{name}_jvp"));
    module.add_func(Func::private(&function, body, vec![ty; 2], vec![ty; 2]));
    CustomRule { name, derivative: CustomDerivative::Jvp { function } }
}

/// Returns a name that no function of the program has.
fn unused_name(module: &Module, wanted: &str) -> String {
    let numbered = (0usize..).map(|n| if n == 0 { wanted.to_owned() } else { format!("{wanted}_{n}") });
    let mut free = numbered.filter(|name| !module.func_names.contains_key(name.as_str()));
    free.next().unwrap_or_default()
}
