//! Enumerations whose variants have uppercase names in the specifications.

use crate::DType;

/// Declares enumerations with the spelling of their variants.
macro_rules! words {
    ($($(#[$doc:meta])* $enum:ident { $($(#[$member_doc:meta])* $member:ident = $word:literal,)* })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $enum { $($(#[$member_doc])* $member,)* }

        impl $enum {
            /// Every variant, in declaration order.
            pub const ALL: &'static [$enum] = &[$($enum::$member,)*];

            /// The specification's spelling.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $($enum::$member => $word,)* }
            }

            /// The variant with the spelling `text`.
            #[must_use]
            pub fn parse(text: &str) -> Option<Self> {
                match text { $($word => Some($enum::$member),)* _ => None }
            }
        }
    )*};
}

words! {
    /// Direction of a comparison.
    CompareDirection {
        /// Equal.
        EQ = "EQ",
        /// Not equal.
        NE = "NE",
        /// Greater or equal.
        GE = "GE",
        /// Greater.
        GT = "GT",
        /// Less or equal.
        LE = "LE",
        /// Less.
        LT = "LT",
    }

    /// How a comparison interprets its operands.
    CompareType {
        /// As floats: NaN is unordered, and both zeros are equal.
        Float = "FLOAT",
        /// As floats in the total order of IEEE 754.
        TotalOrder = "TOTALORDER",
        /// As signed integers.
        Signed = "SIGNED",
        /// As unsigned integers.
        Unsigned = "UNSIGNED",
    }

    /// Precision of a `dot_general` or convolution.
    Precision {
        /// The fastest computation, with the least precision.
        Default = "DEFAULT",
        /// A slower computation with more precision than [`Precision::Default`].
        High = "HIGH",
        /// The slowest computation, with the most precision.
        Highest = "HIGHEST",
    }

    /// The distribution of [`OpKind::Rng`](crate::OpKind::Rng).
    RngDistribution {
        /// Operands 0 and 1 are the bounds.
        Uniform = "UNIFORM",
        /// Operands 0 and 1 are mean and standard deviation.
        Normal = "NORMAL",
    }

    /// The algorithm of [`OpKind::RngBitGenerator`](crate::OpKind::RngBitGenerator).
    RngAlgorithm {
        /// The back end chooses the algorithm.
        Default = "DEFAULT",
        /// Threefry.
        ThreeFry = "THREE_FRY",
        /// Philox.
        Philox = "PHILOX",
    }

    /// The kind of FFT.
    FftKind {
        /// Complex to complex.
        Fft = "FFT",
        /// The inverse of `FFT`.
        Ifft = "IFFT",
        /// Real to complex.
        Rfft = "RFFT",
        /// The inverse of `RFFT`: complex to real.
        Irfft = "IRFFT",
    }

    /// The transposition of the matrix in a triangular solve.
    Transposition {
        /// The matrix is used as it is.
        None = "NO_TRANSPOSE",
        /// The matrix is transposed.
        Transpose = "TRANSPOSE",
        /// The matrix is transposed and conjugated.
        Adjoint = "ADJOINT",
    }

    /// The direction in which shardings propagate along a factor. The order matters: the union of two directions is the greater one,
    /// except that the union of forward and backward is both.
    PropagationDirection {
        /// Neither direction.
        None = "NONE",
        /// From operands to results.
        Forward = "FORWARD",
        /// From results to operands.
        Backward = "BACKWARD",
        /// Both directions.
        Both = "BOTH",
    }
}

impl CompareType {
    /// Returns the comparison type that must be written explicitly for this element type: `SIGNED` for signed integers, because XLA would
    /// otherwise compare two constants as unsigned. `None` for other element types.
    #[must_use]
    pub fn of_integers(dtype: DType) -> Option<CompareType> {
        Some(Self::default_for(dtype)).filter(|how| *how == Self::Signed)
    }

    /// The default comparison type of this element type.
    #[must_use]
    pub fn default_for(dtype: DType) -> Self {
        match dtype.class() {
            crate::DTypeClass::Float | crate::DTypeClass::Complex => Self::Float,
            crate::DTypeClass::Unsigned | crate::DTypeClass::Bool => Self::Unsigned,
            crate::DTypeClass::Signed => Self::Signed,
        }
    }
}
