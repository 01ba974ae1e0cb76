//! Every elementwise float operation, on operands where it is defined and not too steep.

use shardc_ir::{BinaryOp, UnaryOp};

use super::Choices;
use super::emit::{Elem, Emitter, Tensor};

/// The domain of an operation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Domain {
    /// All numbers.
    All,
    /// Small numbers, because the function grows fast.
    Small,
    /// Positive numbers.
    Positive,
    /// Numbers above one.
    AboveOne,
    /// Numbers between minus one and one.
    Within,
}

/// Returns the domain of an operation on floats, or `None` for an operation on integers.
fn domain(op: UnaryOp) -> Option<Domain> {
    use UnaryOp as U;
    Some(match op {
        U::CountLeadingZeros | U::Not | U::Popcnt | U::AsinAcosKernel => return None,
        // These operations convert between floats, booleans and complex numbers.
        U::IsFinite | U::IsInf | U::IsNegInf | U::IsPosInf | U::Real | U::Imag | U::Conj => return None,
        // `decompose` replaces these operations before any other pass.
        U::Copy | U::Exp2 | U::Log2 => return None,
        U::Abs
        | U::Ceil
        | U::Floor
        | U::Negate
        | U::RoundNearestAfz
        | U::RoundNearestEven
        | U::Sign
        | U::Cosine
        | U::Sine
        | U::Tanh
        | U::Logistic
        | U::Asinh
        | U::Atan
        | U::BesselI1e
        | U::Erf
        | U::Erfc => Domain::All,
        U::Exponential | U::ExponentialMinusOne | U::Tan | U::Cosh | U::Sinh | U::Square => Domain::Small,
        U::Cbrt | U::Log | U::LogPlusOne | U::Rsqrt | U::Sqrt | U::Digamma | U::Lgamma => Domain::Positive,
        U::Acosh => Domain::AboveOne,
        U::Acos | U::Asin | U::Atanh | U::ErfInv => Domain::Within,
    })
}

/// Operations on small complex numbers.
const COMPLEX: [UnaryOp; 12] = [
    UnaryOp::Negate,
    UnaryOp::Tanh,
    UnaryOp::Exponential,
    UnaryOp::ExponentialMinusOne,
    UnaryOp::Sine,
    UnaryOp::Cosine,
    UnaryOp::Sqrt,
    UnaryOp::Rsqrt,
    UnaryOp::Log,
    UnaryOp::LogPlusOne,
    UnaryOp::Sign,
    UnaryOp::Logistic,
];

impl Emitter {
    /// Emits a random operation on a tensor of floats or complex numbers.
    pub(super) fn smooth_unary(&mut self, c: &mut Choices<'_>, x: Tensor) -> Tensor {
        if x.elem == Elem::C64 {
            if c.one_in(4) {
                return self.apply("\"stablehlo.abs\"(", &[&x], ")", &x.shape, Elem::F32, false);
            }
            let op = c.of(&COMPLEX);
            // The operand `x` stays away from minus one, where rounding dominates `log(1 + x)`.
            let small = self.one("stablehlo.tanh", &x);
            let most = self.constant("(0.875, 0.0)", &x.shape, x.elem);
            let small = self.two("stablehlo.multiply", &small, &most);
            return self.one(op.name(), &small);
        }
        let all: Vec<(UnaryOp, Domain)> =
            UnaryOp::ALL.iter().filter_map(|&op| Some((op, domain(op)?))).collect();
        let (op, domain) = c.of(&all);
        let x = self.within(x, domain);
        self.one(op.name(), &x)
    }

    /// Maps the elements of `x` into a domain.
    fn within(&mut self, x: Tensor, domain: Domain) -> Tensor {
        let offset = match domain {
            Domain::All => return x,
            Domain::Small => return self.one("stablehlo.tanh", &x),
            Domain::Within => {
                let small = self.one("stablehlo.tanh", &x);
                let most = self.constant("0.875", &x.shape, x.elem);
                return self.two("stablehlo.multiply", &small, &most);
            }
            Domain::Positive => "0.375",
            Domain::AboveOne => "1.375",
        };
        let small = self.one("stablehlo.tanh", &x);
        let square = self.two("stablehlo.multiply", &small, &small);
        let offset = self.constant(offset, &x.shape, x.elem);
        self.two("stablehlo.add", &square, &offset)
    }

    /// Emits a random operation on two float or complex tensors of equal shape.
    pub(super) fn smooth_binary(&mut self, c: &mut Choices<'_>, x: Tensor, y: Tensor) -> Tensor {
        use BinaryOp as B;
        if x.elem == Elem::C64 {
            let op = c.of(&[B::Divide, B::Power]);
            let one = self.constant("(1.5, 0.5)", &y.shape, y.elem);
            let (x, y) = (self.one("stablehlo.tanh", &x), self.one("stablehlo.tanh", &y));
            let (x, y) = (self.two("stablehlo.add", &x, &one), self.two("stablehlo.add", &y, &one));
            return self.two(op.name(), &x, &y);
        }
        let (op, first, second) = c.of(&[
            (B::Divide, Domain::All, Domain::Positive),
            (B::Power, Domain::Positive, Domain::Small),
            (B::Power, Domain::Small, Domain::All),
            (B::Atan2, Domain::All, Domain::Positive),
            (B::Remainder, Domain::All, Domain::Positive),
            (B::NextAfter, Domain::All, Domain::All),
            (B::Polygamma, Domain::All, Domain::Positive),
            (B::Zeta, Domain::All, Domain::Positive),
        ]);
        let x = self.within(x, first);
        let y = match (op, second) {
            // The exponent is an integer, because the base may be negative.
            (B::Power, Domain::All) => self.constant("3.0", &x.shape, x.elem),
            _ => self.within(y, second),
        };
        let x = match op {
            B::Polygamma => self.constant("2.0", &x.shape, x.elem),
            B::Zeta => self.constant("2.5", &x.shape, x.elem),
            _ => x,
        };
        self.two(op.name(), &x, &y)
    }

    fn one(&mut self, name: &str, x: &Tensor) -> Tensor {
        self.apply(&format!("\"{name}\"("), &[x], ")", &x.shape, x.elem, false)
    }

    fn two(&mut self, name: &str, x: &Tensor, y: &Tensor) -> Tensor {
        self.apply(&format!("\"{name}\"("), &[x, y], ")", &x.shape, x.elem, false)
    }
}
