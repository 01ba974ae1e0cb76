//! Enumerations whose members the specification names in capitals.

use crate::DType;

/// Direction of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are the specification's")]
pub enum CompareDirection {
    EQ,
    NE,
    GE,
    GT,
    LE,
    LT,
}

/// How a comparison reads its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are the specification's")]
pub enum CompareType {
    Float,
    TotalOrder,
    Signed,
    Unsigned,
}

/// Precision of a product, as the specification spells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Precision {
    /// `DEFAULT`.
    Default,
    /// `HIGH`.
    High,
    /// `HIGHEST`.
    Highest,
}

impl CompareDirection {
    /// The specification's spelling.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::EQ => "EQ",
            Self::NE => "NE",
            Self::GE => "GE",
            Self::GT => "GT",
            Self::LE => "LE",
            Self::LT => "LT",
        }
    }

    /// The direction spelt `text`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        [Self::EQ, Self::NE, Self::GE, Self::GT, Self::LE, Self::LT].into_iter().find(|d| d.as_str() == text)
    }
}

impl CompareType {
    /// The specification's spelling.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Float => "FLOAT",
            Self::TotalOrder => "TOTALORDER",
            Self::Signed => "SIGNED",
            Self::Unsigned => "UNSIGNED",
        }
    }

    /// The type spelt `text`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Float, Self::TotalOrder, Self::Signed, Self::Unsigned].into_iter().find(|t| t.as_str() == text)
    }

    /// What a comparison of this element type means where nothing is written.
    #[must_use]
    pub fn default_for(dtype: DType) -> Self {
        match dtype.class() {
            crate::DTypeClass::Float | crate::DTypeClass::Complex => Self::Float,
            crate::DTypeClass::Unsigned | crate::DTypeClass::Bool => Self::Unsigned,
            crate::DTypeClass::Signed => Self::Signed,
        }
    }
}

impl Precision {
    /// The specification's spelling.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Precision::Default => "DEFAULT",
            Precision::High => "HIGH",
            Precision::Highest => "HIGHEST",
        }
    }

    /// The precision spelt `text`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Default, Self::High, Self::Highest].into_iter().find(|p| p.as_str() == text)
    }
}

/// What [`OpKind::Rng`](crate::OpKind::Rng) draws from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RngDistribution {
    /// Operands 0 and 1 are the bounds.
    Uniform,
    /// Operands 0 and 1 are mean and standard deviation.
    Normal,
}

impl RngDistribution {
    /// The specification's spelling.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Uniform => "UNIFORM",
            Self::Normal => "NORMAL",
        }
    }

    /// The distribution spelt `text`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Uniform, Self::Normal].into_iter().find(|d| d.as_str() == text)
    }
}
