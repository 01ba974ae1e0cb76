//! Upper bounds on the degrees of the polynomials that a program computes.
//!
//! In exact arithmetic, each element is a quotient of polynomials in the inputs and in the values of functions. A polynomial that is not zero
//! has a small degree, or is zero at few points. So the degrees bound the chance that two programs that differ have equal results.
//!
//! Let `M` be the product of the numerators of all divisors of the program. Each element is `N / M^power`, and the degree of `N` is at most
//! `degree + power * deg(M)`. An addition takes the maxima of `degree` and `power` of its operands, a product takes their sums, and a
//! division adds one to `power`. The value of a function such as the exponential is a new variable, so it has degree 1. Integers do not depend
//! on the inputs continuously: they are constants here.
//!
//! A degree is infinite if the program has an operation without a bound, such as a loop with an unknown trip count.

use rustc_hash::FxHashMap;
use shardc_ir::reducer::reduction_of;
use shardc_ir::trip_count::known_trips;
use shardc_ir::{
    BinaryOp, DTypeClass, FuncId, Module, OpId, OpKind, ReductionKind, RegionId, UnaryOp, ValueId,
};

/// The number of operations that are visited; loops count once per iteration.
const STEPS: u64 = 1 << 20;
/// The degree of a power with an integer exponent, which is at most 64.
const LARGEST_POWER: f64 = 64.0;

/// The degree of an element, in units that the module documentation defines.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Degree {
    degree: f64,
    power: f64,
}

impl Degree {
    const VARIABLE: Degree = Degree { degree: 1.0, power: 0.0 };
    const UNBOUNDED: Degree = Degree { degree: f64::INFINITY, power: 0.0 };

    fn sum(self, other: Degree) -> Degree {
        Degree { degree: self.degree.max(other.degree), power: self.power.max(other.power) }
    }

    fn product(self, other: Degree) -> Degree {
        Degree { degree: self.degree + other.degree, power: self.power + other.power }
    }

    fn times(self, factor: f64) -> Degree {
        // Zero times infinity is zero here: a constant stays one.
        let scaled = |n: f64| if n == 0.0 { 0.0 } else { n * factor };
        Degree { degree: scaled(self.degree), power: scaled(self.power) }
    }

    fn is_constant(self) -> bool {
        self == Degree::default()
    }
}

/// The degrees of a program.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Degrees {
    /// The largest degree of an output.
    pub(super) outputs: f64,
    /// The largest degree of an argument of a function.
    pub(super) arguments: f64,
    /// The degree of the product of all divisors.
    pub(super) divisors: f64,
    /// The number of values of functions that the program computes.
    pub(super) functions: f64,
}

/// Returns the degrees of the entry function, whose arguments are variables.
pub(super) fn degrees(module: &Module, entry: FuncId) -> Degrees {
    let mut walk =
        Walk { module, values: FxHashMap::default(), found: Degrees::default(), steps: 0, depth: 0 };
    let Some(body) = module.funcs[entry].body else { return Degrees::default() };
    let args = vec![Degree::VARIABLE; module.regions[body].args.len()];
    let results = walk.region(body, &args);
    let degrees = results.into_iter().map(|result| walk.expanded(result));
    Degrees { outputs: degrees.fold(0.0, f64::max), ..walk.found }
}

struct Walk<'m> {
    module: &'m Module,
    values: FxHashMap<ValueId, Degree>,
    found: Degrees,
    steps: u64,
    depth: usize,
}

impl Walk<'_> {
    /// The degree of a numerator, with the divisors so far.
    fn expanded(&self, value: Degree) -> f64 {
        value.degree + if value.power == 0.0 { 0.0 } else { value.power * self.found.divisors }
    }

    fn region(&mut self, region: RegionId, args: &[Degree]) -> Vec<Degree> {
        let data = &self.module.regions[region];
        for (&arg, &degree) in data.args.iter().zip(args) {
            let degree = self.of_type(arg, degree);
            self.values.insert(arg, degree);
        }
        // Nesting is limited as in the interpreter, which would have failed.
        self.depth += 1;
        let mut returned = Vec::new();
        for &op in &data.ops {
            let operands: Vec<Degree> = self.module.ops[op]
                .operands
                .iter()
                .map(|value| self.values.get(value).copied().unwrap_or_default())
                .collect();
            if matches!(self.module.ops[op].kind, OpKind::Return) {
                returned = operands;
                break;
            }
            self.steps += 1;
            let results = match self.steps > STEPS || self.depth > 256 {
                true => vec![Degree::UNBOUNDED],
                false => self.operation(op, &operands),
            };
            let joined = join(&results);
            for (i, &value) in self.module.ops[op].results.iter().enumerate() {
                let degree = self.of_type(value, results.get(i).copied().unwrap_or(joined));
                self.values.insert(value, degree);
            }
        }
        self.depth -= 1;
        returned
    }

    /// The degree of a value: integers and booleans are constants.
    fn of_type(&self, value: ValueId, degree: Degree) -> Degree {
        match self.module.stored(value).map(|tensor| tensor.dtype.class()) {
            Some(DTypeClass::Float | DTypeClass::Complex) | None => degree,
            Some(DTypeClass::Bool | DTypeClass::Signed | DTypeClass::Unsigned) => Degree::default(),
        }
    }

    /// The number of elements of the first result.
    fn elements(&self, op: OpId) -> f64 {
        let result = self.module.ops[op].results.first().and_then(|&value| self.module.stored(value));
        result.map_or(1.0, |tensor| tensor.shape.iter().map(|&n| n as f64).product())
    }

    /// The number of distinct elements of a divisor: those of the operand of a broadcast.
    fn distinct(&self, value: ValueId) -> f64 {
        let made = self.module.def_op(value).map(|op| &self.module.ops[op]);
        if let Some(op) = made
            && let (OpKind::BroadcastInDim { .. } | OpKind::Reshape | OpKind::Convert, &[from]) =
                (&op.kind, op.operands.as_slice())
        {
            return self.distinct(from);
        }
        self.module.stored(value).map_or(1.0, |tensor| tensor.shape.iter().map(|&n| n as f64).product())
    }

    /// The values of a function of these operands.
    fn function(&mut self, op: OpId, operands: &[Degree]) -> Degree {
        if operands.iter().all(|operand| operand.is_constant()) {
            return Degree::default();
        }
        for &operand in operands {
            self.found.arguments = self.found.arguments.max(self.expanded(operand));
        }
        self.found.functions += self.elements(op);
        Degree::VARIABLE
    }

    /// The quotient by a divisor with `count` distinct elements.
    fn quotient(&mut self, dividend: Degree, divisor: Degree, count: f64) -> Degree {
        if divisor.is_constant() {
            return dividend;
        }
        self.found.divisors += count * self.expanded(divisor);
        Degree { degree: dividend.degree, power: dividend.power + divisor.power + 1.0 }
    }

    /// The degrees of the results of an operation; the last one counts for the results that are not listed.
    fn operation(&mut self, op: OpId, operands: &[Degree]) -> Vec<Degree> {
        let module = self.module;
        let data = &module.ops[op];
        let first = operands.first().copied().unwrap_or_default();
        let all = join(operands);
        let one = match &data.kind {
            OpKind::Unary(unary) => self.unary(op, *unary, first),
            OpKind::Binary(binary) => self.binary(op, *binary, operands),
            OpKind::Compare(..)
            | OpKind::Constant(_)
            | OpKind::Iota { .. }
            | OpKind::RngBitGenerator { .. }
            | OpKind::Rng(_)
            | OpKind::PartitionId
            | OpKind::ReplicaId
            | OpKind::GetDimensionSize { .. }
            | OpKind::CreateToken
            | OpKind::AfterAll
            | OpKind::ConstantLike(_)
            | OpKind::UniformDequantize => Degree::default(),
            OpKind::Select => join(operands.get(1..).unwrap_or_default()),
            OpKind::BitcastConvert | OpKind::UniformQuantize => self.function(op, operands),
            OpKind::Clamp
            | OpKind::Convert
            | OpKind::ReducePrecision { .. }
            | OpKind::BroadcastInDim { .. }
            | OpKind::Broadcast { .. }
            | OpKind::Reshape
            | OpKind::Transpose { .. }
            | OpKind::Reverse { .. }
            | OpKind::Slice(_)
            | OpKind::DynamicSlice { .. }
            | OpKind::DynamicUpdateSlice
            | OpKind::Concatenate { .. }
            | OpKind::Splice(_)
            | OpKind::Pad(_)
            | OpKind::Gather(_)
            | OpKind::TorchIndexSelect { .. }
            | OpKind::TopK { .. }
            | OpKind::OptimizationBarrier
            | OpKind::Tuple
            | OpKind::GetTupleElement { .. }
            | OpKind::AllGather { .. }
            | OpKind::AllToAll { .. }
            | OpKind::CollectivePermute(_)
            | OpKind::CollectiveBroadcast(_)
            | OpKind::ShardingConstraint(_)
            | OpKind::Reshard(_)
            | OpKind::PropagationBarrier { .. }
            | OpKind::DataFlowEdge(_)
            | OpKind::UnaryEinsum { .. }
            | OpKind::Fft { .. } => all,
            OpKind::DotGeneral(_) | OpKind::Convolution(_) | OpKind::RaggedDot(_) | OpKind::Einsum { .. } => {
                first.product(operands.get(1).copied().unwrap_or_default())
            }
            OpKind::Sort { .. } => return operands.to_vec(),
            OpKind::Reduce { .. }
            | OpKind::ReduceWindow(_)
            | OpKind::SelectAndScatter(_)
            | OpKind::Scatter(_)
            | OpKind::AllReduce(_)
            | OpKind::ReduceScatter { .. }
            | OpKind::CollectiveReduce(_)
            | OpKind::CrossReplicaSum(_) => self.reduction(op, operands),
            OpKind::While => return self.repeated(op, operands),
            OpKind::If | OpKind::Case => {
                let branches: Vec<Vec<Degree>> =
                    data.regions.iter().map(|&region| self.region(region, &[])).collect();
                let result = |i: usize| {
                    branches
                        .iter()
                        .filter_map(|branch| branch.get(i))
                        .fold(Degree::default(), |a, &b| a.sum(b))
                };
                return (0..data.results.len()).map(result).collect();
            }
            OpKind::Call { callee } => return self.call(callee, operands),
            OpKind::Composite(spec) => return self.call(&spec.decomposition, operands),
            OpKind::ManualComputation(_) | OpKind::NamedComputation(_) => {
                let Some(&body) = data.regions.first() else { return vec![Degree::UNBOUNDED] };
                return self.region(body, operands);
            }
            _ => Degree::UNBOUNDED,
        };
        vec![one]
    }

    fn unary(&mut self, op: OpId, unary: UnaryOp, operand: Degree) -> Degree {
        match unary {
            UnaryOp::Negate | UnaryOp::Copy | UnaryOp::Real | UnaryOp::Imag | UnaryOp::Conj => operand,
            UnaryOp::Abs if !self.is_complex(op) => operand,
            UnaryOp::Square => operand.times(2.0),
            UnaryOp::Sign => Degree::default(),
            _ => self.function(op, &[operand]),
        }
    }

    fn binary(&mut self, op: OpId, binary: BinaryOp, operands: &[Degree]) -> Degree {
        let &[a, b] = operands else { return Degree::UNBOUNDED };
        let divisor = self.module.ops[op].operands.get(1).copied();
        let count = divisor.map_or(1.0, |value| self.distinct(value));
        match binary {
            BinaryOp::Add
            | BinaryOp::Subtract
            | BinaryOp::Maximum
            | BinaryOp::Minimum
            | BinaryOp::Complex => a.sum(b),
            BinaryOp::Multiply => a.product(b),
            // A complex divisor is multiplied by its conjugate.
            BinaryOp::Divide if self.is_complex(op) => self.quotient(a.product(b), b.times(2.0), count),
            BinaryOp::Divide => self.quotient(a, b, count),
            BinaryOp::Power if b.is_constant() => {
                // A negative exponent divides.
                let power = a.times(LARGEST_POWER);
                let inverse = self.quotient(Degree::default(), power, count);
                power.sum(inverse)
            }
            _ => self.function(op, operands),
        }
    }

    fn is_complex(&self, op: OpId) -> bool {
        let operand = self.module.ops[op].operands.first();
        let dtype = operand.and_then(|&value| self.module.stored(value)).map(|tensor| tensor.dtype.class());
        dtype == Some(DTypeClass::Complex)
    }

    /// A reduction with a region: a sum or an extremum does not change the degree, and a product multiplies it.
    fn reduction(&mut self, op: OpId, operands: &[Degree]) -> Degree {
        let data = &self.module.ops[op];
        let all = join(operands);
        let mut found = all;
        for &region in &data.regions {
            let count = self.module.regions[region].args.len();
            match reduction_of(self.module, region, count / 2) {
                Some(ReductionKind::Mul) => {
                    let elements = data.operands.first().and_then(|&value| self.module.stored(value));
                    let elements = elements
                        .map_or(f64::INFINITY, |tensor| tensor.shape.iter().map(|&n| n as f64).product());
                    found = found.sum(all.times(elements + 1.0));
                }
                Some(_) => {}
                // A region that only selects and adds does not change the degree.
                None => {
                    let args = vec![all; count];
                    let results = join(&self.region(region, &args));
                    if all.sum(results) != all {
                        return Degree::UNBOUNDED;
                    }
                }
            }
        }
        found
    }

    /// A loop with a known trip count.
    fn repeated(&mut self, op: OpId, operands: &[Degree]) -> Vec<Degree> {
        let (Some(trips), &[condition, body]) =
            (known_trips(self.module, op), self.module.ops[op].regions.as_slice())
        else {
            return vec![Degree::UNBOUNDED; operands.len()];
        };
        let mut carried = operands.to_vec();
        for _ in 0..trips {
            if self.steps > STEPS {
                return vec![Degree::UNBOUNDED; operands.len()];
            }
            self.region(condition, &carried);
            carried = self.region(body, &carried);
        }
        carried
    }

    fn call(&mut self, callee: &str, operands: &[Degree]) -> Vec<Degree> {
        let func = self.module.func_names.get(callee).map(|&func| &self.module.funcs[func]);
        match func.and_then(|func| func.body) {
            Some(body) => self.region(body, operands),
            None => vec![Degree::UNBOUNDED],
        }
    }
}

fn join(degrees: &[Degree]) -> Degree {
    degrees.iter().copied().fold(Degree::default(), Degree::sum)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Compiler;

    fn of(body: &str) -> Degrees {
        let text = format!(
            "func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {{ {body}\n return %r : tensor<4xf32> }}"
        );
        let module = Compiler::read(text.as_bytes()).unwrap();
        degrees(&module, module.entry().unwrap())
    }

    #[test]
    fn products_add_degrees_and_sums_do_not() {
        let found = of("%a = stablehlo.multiply %x, %y : tensor<4xf32>
          %b = stablehlo.add %a, %x : tensor<4xf32>
          %r = stablehlo.multiply %b, %b : tensor<4xf32>");
        assert_eq!(found, Degrees { outputs: 4.0, ..Degrees::default() });
    }

    #[test]
    fn functions_are_variables() {
        let found = of("%a = stablehlo.multiply %x, %y : tensor<4xf32>
          %b = stablehlo.exponential %a : tensor<4xf32>
          %r = stablehlo.multiply %b, %x : tensor<4xf32>");
        assert_eq!(found, Degrees { outputs: 2.0, arguments: 2.0, divisors: 0.0, functions: 4.0 });
    }

    #[test]
    fn quotients_have_common_denominators() {
        // Each of the four quotients has its own divisor of degree 1.
        let found = of("%a = stablehlo.divide %x, %y : tensor<4xf32>
          %r = stablehlo.add %a, %x : tensor<4xf32>");
        assert_eq!(found, Degrees { outputs: 5.0, divisors: 4.0, ..Degrees::default() });
        // A divisor that is broadcast counts once.
        let found = of("%zero = stablehlo.constant dense<0.0> : tensor<f32>
          %s = stablehlo.reduce(%y init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
          %b = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<4xf32>
          %r = stablehlo.divide %x, %b : tensor<4xf32>");
        assert_eq!(found, Degrees { outputs: 2.0, divisors: 1.0, ..Degrees::default() });
    }

    #[test]
    fn loops_repeat_their_body() {
        let found = of("%zero = stablehlo.constant dense<0> : tensor<i32>
          %one = stablehlo.constant dense<1> : tensor<i32>
          %n = stablehlo.constant dense<3> : tensor<i32>
          %l:2 = stablehlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<4xf32>
          cond {
            %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
            stablehlo.return %p : tensor<i1>
          } do {
            %j = stablehlo.add %i, %one : tensor<i32>
            %w = stablehlo.multiply %v, %v : tensor<4xf32>
            stablehlo.return %j, %w : tensor<i32>, tensor<4xf32>
          }
          %r = stablehlo.add %l#1, %y : tensor<4xf32>");
        assert_eq!(found.outputs, 8.0);
        let unknown = of("%r = stablehlo.custom_call @f(%x) : (tensor<4xf32>) -> tensor<4xf32>");
        assert_eq!(unknown.outputs, f64::INFINITY);
    }
}
