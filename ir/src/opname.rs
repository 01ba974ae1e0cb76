//! Elementwise operations: one table of names each.

macro_rules! elementwise {
    ($(#[$doc:meta])* $enum:ident { $($variant:ident = $name:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[allow(missing_docs, reason = "the names are the specification's")]
        pub enum $enum { $($variant,)* }

        impl $enum {
            /// Every operation, in declaration order.
            pub const ALL: &'static [$enum] = &[$($enum::$variant,)*];

            /// Full name, with dialect.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $($enum::$variant => $name,)* }
            }

            /// The operation with this full name.
            #[must_use]
            pub fn parse(name: &str) -> Option<Self> {
                match name { $($name => Some($enum::$variant),)* _ => None }
            }
        }
    };
}

elementwise! {
    /// Elementwise operations on one operand.
    UnaryOp {
        Abs = "stablehlo.abs",
        Cbrt = "stablehlo.cbrt",
        Ceil = "stablehlo.ceil",
        Cosine = "stablehlo.cosine",
        CountLeadingZeros = "stablehlo.count_leading_zeros",
        Exponential = "stablehlo.exponential",
        ExponentialMinusOne = "stablehlo.exponential_minus_one",
        Floor = "stablehlo.floor",
        Imag = "stablehlo.imag",
        IsFinite = "stablehlo.is_finite",
        Log = "stablehlo.log",
        LogPlusOne = "stablehlo.log_plus_one",
        Logistic = "stablehlo.logistic",
        Negate = "stablehlo.negate",
        Not = "stablehlo.not",
        Popcnt = "stablehlo.popcnt",
        Real = "stablehlo.real",
        RoundNearestAfz = "stablehlo.round_nearest_afz",
        RoundNearestEven = "stablehlo.round_nearest_even",
        Rsqrt = "stablehlo.rsqrt",
        Sign = "stablehlo.sign",
        Sine = "stablehlo.sine",
        Sqrt = "stablehlo.sqrt",
        Tan = "stablehlo.tan",
        Tanh = "stablehlo.tanh",
        AsinAcosKernel = "chlo._asin_acos_kernel",
        Acos = "chlo.acos",
        Acosh = "chlo.acosh",
        Asin = "chlo.asin",
        Asinh = "chlo.asinh",
        Atan = "chlo.atan",
        Atanh = "chlo.atanh",
        BesselI1e = "chlo.bessel_i1e",
        Conj = "chlo.conj",
        Cosh = "chlo.cosh",
        Digamma = "chlo.digamma",
        Erf = "chlo.erf",
        ErfInv = "chlo.erf_inv",
        Erfc = "chlo.erfc",
        IsInf = "chlo.is_inf",
        IsNegInf = "chlo.is_neg_inf",
        IsPosInf = "chlo.is_pos_inf",
        Lgamma = "chlo.lgamma",
        Sinh = "chlo.sinh",
        Square = "chlo.square",
    }
}

elementwise! {
    /// Elementwise operations on two operands of one shape.
    BinaryOp {
        Add = "stablehlo.add",
        And = "stablehlo.and",
        Atan2 = "stablehlo.atan2",
        Complex = "stablehlo.complex",
        Divide = "stablehlo.divide",
        Maximum = "stablehlo.maximum",
        Minimum = "stablehlo.minimum",
        Multiply = "stablehlo.multiply",
        Or = "stablehlo.or",
        Power = "stablehlo.power",
        Remainder = "stablehlo.remainder",
        ShiftLeft = "stablehlo.shift_left",
        ShiftRightArithmetic = "stablehlo.shift_right_arithmetic",
        ShiftRightLogical = "stablehlo.shift_right_logical",
        Subtract = "stablehlo.subtract",
        Xor = "stablehlo.xor",
        Mulhi = "chlo.mulhi",
        NextAfter = "chlo.next_after",
        Polygamma = "chlo.polygamma",
        Zeta = "chlo.zeta",
    }
}

elementwise! {
    /// Elementwise operations on two operands whose shapes may differ: chlo's forms of [`BinaryOp`]s.
    BroadcastOp {
        Add = "chlo.broadcast_add",
        And = "chlo.broadcast_and",
        Atan2 = "chlo.broadcast_atan2",
        Complex = "chlo.broadcast_complex",
        Divide = "chlo.broadcast_divide",
        Maximum = "chlo.broadcast_maximum",
        Minimum = "chlo.broadcast_minimum",
        Multiply = "chlo.broadcast_multiply",
        NextAfter = "chlo.broadcast_next_after",
        Or = "chlo.broadcast_or",
        Polygamma = "chlo.broadcast_polygamma",
        Power = "chlo.broadcast_power",
        Remainder = "chlo.broadcast_remainder",
        ShiftLeft = "chlo.broadcast_shift_left",
        ShiftRightArithmetic = "chlo.broadcast_shift_right_arithmetic",
        ShiftRightLogical = "chlo.broadcast_shift_right_logical",
        Subtract = "chlo.broadcast_subtract",
        Xor = "chlo.broadcast_xor",
        Zeta = "chlo.broadcast_zeta",
    }
}

impl BroadcastOp {
    /// What is done to each pair of elements.
    #[must_use]
    pub fn op(self) -> BinaryOp {
        match self {
            Self::Add => BinaryOp::Add,
            Self::And => BinaryOp::And,
            Self::Atan2 => BinaryOp::Atan2,
            Self::Complex => BinaryOp::Complex,
            Self::Divide => BinaryOp::Divide,
            Self::Maximum => BinaryOp::Maximum,
            Self::Minimum => BinaryOp::Minimum,
            Self::Multiply => BinaryOp::Multiply,
            Self::NextAfter => BinaryOp::NextAfter,
            Self::Or => BinaryOp::Or,
            Self::Polygamma => BinaryOp::Polygamma,
            Self::Power => BinaryOp::Power,
            Self::Remainder => BinaryOp::Remainder,
            Self::ShiftLeft => BinaryOp::ShiftLeft,
            Self::ShiftRightArithmetic => BinaryOp::ShiftRightArithmetic,
            Self::ShiftRightLogical => BinaryOp::ShiftRightLogical,
            Self::Subtract => BinaryOp::Subtract,
            Self::Xor => BinaryOp::Xor,
            Self::Zeta => BinaryOp::Zeta,
        }
    }
}

impl BinaryOp {
    /// Whether `a op b` is `b op a`; MLIR prints a reduction by such an operation in its short form.
    #[must_use]
    pub fn is_commutative(self) -> bool {
        use BinaryOp as B;
        matches!(self, B::Add | B::And | B::Maximum | B::Minimum | B::Multiply | B::Or | B::Xor)
    }
}
