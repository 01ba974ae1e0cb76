//! Element-wise operations: a table each for unary, binary and broadcasting binary operations.

use super::attr_type::AttrType;
use super::def::{
    Absent, Access, Arity, AttrDef, Effect, Elements, Linear, Lowering, OpDef, Parts, Presence, Quantized,
    RegionKind, Work,
};

macro_rules! elementwise {
    ($(#[$doc:meta])* $enum:ident = $row:ident -> $ty:ty {
        $($variant:ident = $name:literal ($($column:expr),*),)*
    }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[allow(missing_docs, reason = "the names are the specification's")]
        pub enum $enum { $($variant,)* }

        impl $enum {
            /// Every operation, in declaration order.
            pub const ALL: &'static [$enum] = &[$($enum::$variant,)*];

            const ROWS: &'static [$ty] = &[$($row($name, $($column),*),)*];

            /// The operation with this full name.
            #[must_use]
            pub fn parse(name: &str) -> Option<Self> {
                match name { $($name => Some($enum::$variant),)* _ => None }
            }
        }
    };
}

// The columns are: name; number of VHLO versions (the second version adds a result accuracy); quantized elements; linearity.
elementwise! {
    /// Element-wise operations on one operand.
    UnaryOp = unary -> OpDef {
        Abs = "stablehlo.abs"(1, Quantized::PerTensor, Linear::No),
        Cbrt = "stablehlo.cbrt"(2, Quantized::PerTensor, Linear::No),
        Ceil = "stablehlo.ceil"(1, Quantized::PerTensor, Linear::No),
        Cosine = "stablehlo.cosine"(2, Quantized::PerTensor, Linear::No),
        CountLeadingZeros = "stablehlo.count_leading_zeros"(1, Quantized::No, Linear::No),
        Exponential = "stablehlo.exponential"(2, Quantized::PerTensor, Linear::No),
        ExponentialMinusOne = "stablehlo.exponential_minus_one"(2, Quantized::PerTensor, Linear::No),
        Floor = "stablehlo.floor"(1, Quantized::PerTensor, Linear::No),
        Imag = "stablehlo.imag"(1, Quantized::No, LINEAR),
        IsFinite = "stablehlo.is_finite"(1, Quantized::PerTensor, Linear::No),
        Log = "stablehlo.log"(2, Quantized::PerTensor, Linear::No),
        LogPlusOne = "stablehlo.log_plus_one"(2, Quantized::PerTensor, Linear::No),
        Logistic = "stablehlo.logistic"(2, Quantized::PerTensor, Linear::No),
        Negate = "stablehlo.negate"(1, Quantized::PerTensor, LINEAR),
        Not = "stablehlo.not"(1, Quantized::No, Linear::No),
        Popcnt = "stablehlo.popcnt"(1, Quantized::No, Linear::No),
        Real = "stablehlo.real"(1, Quantized::No, LINEAR),
        RoundNearestAfz = "stablehlo.round_nearest_afz"(1, Quantized::PerTensor, Linear::No),
        RoundNearestEven = "stablehlo.round_nearest_even"(1, Quantized::PerTensor, Linear::No),
        Rsqrt = "stablehlo.rsqrt"(2, Quantized::PerTensor, Linear::No),
        Sign = "stablehlo.sign"(1, Quantized::PerTensor, Linear::No),
        Sine = "stablehlo.sine"(2, Quantized::PerTensor, Linear::No),
        Sqrt = "stablehlo.sqrt"(2, Quantized::PerTensor, Linear::No),
        Tan = "stablehlo.tan"(2, Quantized::PerTensor, Linear::No),
        Tanh = "stablehlo.tanh"(2, Quantized::PerTensor, Linear::No),
        AsinAcosKernel = "chlo._asin_acos_kernel"(0, Quantized::PerTensor, Linear::No),
        Acos = "chlo.acos"(0, Quantized::PerTensor, Linear::No),
        Acosh = "chlo.acosh"(0, Quantized::PerTensor, Linear::No),
        Asin = "chlo.asin"(0, Quantized::PerTensor, Linear::No),
        Asinh = "chlo.asinh"(0, Quantized::PerTensor, Linear::No),
        Atan = "chlo.atan"(0, Quantized::PerTensor, Linear::No),
        Atanh = "chlo.atanh"(0, Quantized::PerTensor, Linear::No),
        BesselI1e = "chlo.bessel_i1e"(0, Quantized::PerTensor, Linear::No),
        Conj = "chlo.conj"(0, Quantized::PerTensor, LINEAR),
        Cosh = "chlo.cosh"(0, Quantized::PerTensor, Linear::No),
        Digamma = "chlo.digamma"(0, Quantized::PerTensor, Linear::No),
        Erf = "chlo.erf"(0, Quantized::PerTensor, Linear::No),
        ErfInv = "chlo.erf_inv"(0, Quantized::PerTensor, Linear::No),
        Erfc = "chlo.erfc"(0, Quantized::PerTensor, Linear::No),
        IsInf = "chlo.is_inf"(0, Quantized::PerTensor, Linear::No),
        IsNegInf = "chlo.is_neg_inf"(0, Quantized::PerTensor, Linear::No),
        IsPosInf = "chlo.is_pos_inf"(0, Quantized::PerTensor, Linear::No),
        Lgamma = "chlo.lgamma"(0, Quantized::PerTensor, Linear::No),
        Sinh = "chlo.sinh"(0, Quantized::PerTensor, Linear::No),
        Square = "chlo.square"(0, Quantized::PerTensor, Linear::No),
        Copy = "mhlo.copy"(0, Quantized::PerAxis, LINEAR),
        Exp2 = "mhlo.exp2"(0, Quantized::No, Linear::No),
        Log2 = "mhlo.log2"(0, Quantized::No, Linear::No),
    }
}

// The columns are: name; number of VHLO versions; whether the operation is commutative; quantized elements; linearity.
elementwise! {
    /// Element-wise operations on two operands of the same shape.
    BinaryOp = binary -> OpDef {
        Add = "stablehlo.add"(1, true, Quantized::PerAxis, LINEAR),
        And = "stablehlo.and"(1, true, Quantized::No, Linear::Itself),
        Atan2 = "stablehlo.atan2"(1, false, Quantized::PerTensor, Linear::No),
        Complex = "stablehlo.complex"(1, false, Quantized::No, LINEAR),
        Divide = "stablehlo.divide"(1, false, Quantized::PerTensor, Linear::Depends),
        Maximum = "stablehlo.maximum"(1, true, Quantized::PerTensor, Linear::Itself),
        Minimum = "stablehlo.minimum"(1, true, Quantized::PerTensor, Linear::Itself),
        Multiply = "stablehlo.multiply"(1, true, Quantized::PerTensor, Linear::EitherSums),
        Or = "stablehlo.or"(1, true, Quantized::No, Linear::Itself),
        Power = "stablehlo.power"(1, false, Quantized::PerTensor, Linear::No),
        Remainder = "stablehlo.remainder"(1, false, Quantized::PerTensor, Linear::No),
        ShiftLeft = "stablehlo.shift_left"(1, false, Quantized::No, Linear::No),
        ShiftRightArithmetic = "stablehlo.shift_right_arithmetic"(1, false, Quantized::No, Linear::No),
        ShiftRightLogical = "stablehlo.shift_right_logical"(1, false, Quantized::No, Linear::No),
        Subtract = "stablehlo.subtract"(1, false, Quantized::PerTensor, LINEAR),
        Xor = "stablehlo.xor"(1, true, Quantized::No, Linear::Itself),
        Mulhi = "chlo.mulhi"(0, false, Quantized::PerTensor, Linear::No),
        NextAfter = "chlo.next_after"(0, false, Quantized::PerTensor, Linear::No),
        Polygamma = "chlo.polygamma"(0, false, Quantized::PerTensor, Linear::No),
        Zeta = "chlo.zeta"(0, false, Quantized::PerTensor, Linear::No),
    }
}

// The columns are: name; the element-wise operation on each pair of elements.
elementwise! {
    /// Element-wise operations on two operands whose shapes may differ: the CHLO forms of [`BinaryOp`]s.
    BroadcastOp = broadcasting -> (OpDef, BinaryOp) {
        Add = "chlo.broadcast_add"(BinaryOp::Add),
        And = "chlo.broadcast_and"(BinaryOp::And),
        Atan2 = "chlo.broadcast_atan2"(BinaryOp::Atan2),
        Complex = "chlo.broadcast_complex"(BinaryOp::Complex),
        Divide = "chlo.broadcast_divide"(BinaryOp::Divide),
        Maximum = "chlo.broadcast_maximum"(BinaryOp::Maximum),
        Minimum = "chlo.broadcast_minimum"(BinaryOp::Minimum),
        Multiply = "chlo.broadcast_multiply"(BinaryOp::Multiply),
        NextAfter = "chlo.broadcast_next_after"(BinaryOp::NextAfter),
        Or = "chlo.broadcast_or"(BinaryOp::Or),
        Polygamma = "chlo.broadcast_polygamma"(BinaryOp::Polygamma),
        Power = "chlo.broadcast_power"(BinaryOp::Power),
        Remainder = "chlo.broadcast_remainder"(BinaryOp::Remainder),
        ShiftLeft = "chlo.broadcast_shift_left"(BinaryOp::ShiftLeft),
        ShiftRightArithmetic = "chlo.broadcast_shift_right_arithmetic"(BinaryOp::ShiftRightArithmetic),
        ShiftRightLogical = "chlo.broadcast_shift_right_logical"(BinaryOp::ShiftRightLogical),
        Subtract = "chlo.broadcast_subtract"(BinaryOp::Subtract),
        Xor = "chlo.broadcast_xor"(BinaryOp::Xor),
        Zeta = "chlo.broadcast_zeta"(BinaryOp::Zeta),
    }
}

/// The operation is jointly linear in all operands.
const LINEAR: Linear = Linear::Sums { from: 0, to: u8::MAX };

/// The attribute with the required accuracy of a result; the IR keeps it among the operation's other attributes.
const ACCURACY: &[AttrDef] = &[AttrDef {
    name: "result_accuracy",
    ty: AttrType::Carried,
    presence: Presence::Optional(Absent::Accuracy),
    since: 2,
}];

const BROADCAST_DIMENSIONS: &[AttrDef] = &[AttrDef {
    name: "broadcast_dimensions",
    ty: AttrType::Ints,
    presence: Presence::Optional(Absent::Never),
    since: 1,
}];

const fn unary(name: &'static str, vhlo: u8, quantized: Quantized, linear: Linear) -> OpDef {
    OpDef {
        name,
        attrs: if vhlo > 1 { ACCURACY } else { &[] },
        operands: Arity::Exactly(1),
        results: Arity::Exactly(1),
        regions: Arity::NONE,
        region_kind: RegionKind::None,
        vhlo,
        effect: Effect::Pure,
        access: Access::SamePlace,
        work: Work::Light,
        elements: Elements::Real,
        quantized,
        linear,
        parts: Parts::AlongPassThrough,
        lowering: Lowering::Stays,
        commutative: false,
    }
}

const fn binary(
    name: &'static str,
    vhlo: u8,
    commutative: bool,
    quantized: Quantized,
    linear: Linear,
) -> OpDef {
    OpDef { operands: Arity::Exactly(2), commutative, ..unary(name, vhlo, quantized, linear) }
}

const fn broadcasting(name: &'static str, op: BinaryOp) -> (OpDef, BinaryOp) {
    let def = binary(name, 0, op.is_commutative(), Quantized::PerAxis, Linear::No);
    (OpDef { attrs: BROADCAST_DIMENSIONS, access: Access::Other, ..def }, op)
}

impl UnaryOp {
    /// The properties of the operation: its row in the operation table.
    #[must_use]
    pub const fn def(self) -> &'static OpDef {
        &Self::ROWS[self as usize]
    }

    /// Full name, with dialect.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.def().name
    }
}

impl BinaryOp {
    /// The properties of the operation: its row in the operation table.
    #[must_use]
    pub const fn def(self) -> &'static OpDef {
        &Self::ROWS[self as usize]
    }

    /// Full name, with dialect.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.def().name
    }

    /// Whether `a op b` equals `b op a`; MLIR prints a reduction by a commutative operation in its short form.
    #[must_use]
    pub const fn is_commutative(self) -> bool {
        self.def().commutative
    }
}

impl BroadcastOp {
    /// The properties of the operation: its row in the operation table.
    #[must_use]
    pub const fn def(self) -> &'static OpDef {
        &Self::ROWS[self as usize].0
    }

    /// Full name, with dialect.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.def().name
    }

    /// The element-wise operation that is applied to each pair of elements after broadcasting.
    #[must_use]
    pub const fn op(self) -> BinaryOp {
        Self::ROWS[self as usize].1
    }
}
