//! What the table of operations says of each: the columns of [`OpDef`].
//!
//! A property of an operation that follows from its kind alone is a column here and has no default, so that who adds an
//! operation decides on each. What depends on an operation's attributes, operands or types (inference, sharding
//! rules, localization) is a function in the room of its concern.

use super::AttrType;

/// What is known about an operation from its kind alone: a row of the table.
#[derive(Debug)]
pub struct OpDef {
    /// Full name, with dialect; empty for [`OpKind::Opaque`](super::OpKind::Opaque), which has its own.
    pub name: &'static str,
    /// Inherent attributes, sorted by name: bytecode has them in this order, without names.
    pub attrs: &'static [AttrDef],
    /// How many operands.
    pub operands: Arity,
    /// How many results.
    pub results: Arity,
    /// How many regions.
    pub regions: Arity,
    /// What the regions are for.
    pub region_kind: RegionKind,
    /// How many versions of VHLO's form there are, where each is as [`AttrDef`]s say; 0 where there is none, or where
    /// it is another.
    pub vhlo: u8,
    /// What it does beside making its results, its regions left out.
    pub effect: Effect,
    /// Which elements of its operands an element of its results is made of.
    pub access: Access,
    /// How much a device has to do for it.
    pub work: Work,
    /// What it does with quantized elements.
    pub elements: Elements,
    /// Which quantized elements it takes.
    pub quantized: Quantized,
    /// Through which operands it is linear.
    pub linear: Linear,
    /// Whether a device may do it on parts of the operands.
    pub parts: Parts,
    /// What back ends get of it.
    pub lowering: Lowering,
    /// Whether its two operands may change places.
    pub commutative: bool,
}

/// An inherent attribute.
#[derive(Clone, Copy, Debug)]
pub struct AttrDef {
    /// Its name.
    pub name: &'static str,
    /// Which text stands for it.
    pub ty: AttrType,
    /// Whether it may be absent.
    pub presence: Presence,
    /// The version of the operation that has it first, counted from 1: an older writer's bytecode lacks it.
    pub since: u8,
}

/// Whether an inherent attribute may be absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// It is always written.
    Required,
    /// It may be absent; VHLO, which has no optional attributes, then writes this.
    Optional(Absent),
}

/// The value that stands for an absent attribute in VHLO.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Absent {
    /// None: there the attribute is always present.
    Never,
    /// This integer.
    Int(i64),
    /// `false`.
    False,
    /// An empty string, array, dictionary or tensor.
    Empty,
    /// A tensor, with elements, of this integer alone.
    All(i64),
    /// A tensor, with elements, of `false` alone.
    AllFalse,
    /// The attribute with this text.
    Text(&'static str),
    /// An array of the attribute with this text alone, or an empty one.
    AllText(&'static str),
    /// The default accuracy with no tolerances.
    Accuracy,
}

/// How many operands, results or regions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arity {
    /// This many.
    Exactly(u8),
    /// This many or more.
    AtLeast(u8),
}

/// What an operation's regions are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegionKind {
    /// There are none.
    None,
    /// They combine, compare or map single elements; shardings do not reach into them.
    Elements,
    /// Part of the program: done once.
    Body,
    /// Part of the program: one of them is done.
    Branches,
    /// Part of the program: done any number of times.
    Loop,
    /// Like a function that is called: shardings reach into it once it is inlined or written as a loop.
    Callee,
}

/// What an operation does beside making its results. That of its regions comes on top.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Has no effect, and ends: an unused one may go, equal ones may become one, and it may be done earlier or more often.
    Pure,
    /// Has no effect, but other results on other devices.
    DeviceNumber,
    /// Has no effect, but may never end.
    MayNotEnd,
    /// Draws from a generator that the device keeps, so that each time gives other results.
    Draws,
    /// Holds other operations in place, or says something about a value: stays though nobody uses its results.
    Holds,
    /// Is a collective: devices meet in it.
    Collective,
    /// Speaks to the host, or over a channel.
    World,
    /// Ends its region.
    Ends,
    /// May do anything.
    Unknown,
}

/// Which elements of its operands an element of an operation's results is made of; the order in which shardings
/// propagate goes by it, as Shardy's does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// An element is made of those at the same place of the operands.
    SamePlace,
    /// An element is made of the one at the same place where operand and result have one shape.
    SamePlaceIfSameShape,
    /// Elements change places: a reshape, a transpose.
    Rearranges,
    /// A box is taken or written at a place known at run time.
    SlicesAtRunTime,
    /// Elements repeat along dimensions of the result.
    Broadcasts,
    /// Anything else, and what has no part in propagation.
    Other,
}

/// How much a device has to do for an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// A few steps per element.
    Light,
    /// Many steps per element.
    Heavy,
    /// Sums of products, what devices do most of the time. The element type of the result is the program's choice.
    Contraction,
}

/// What an operation does with quantized elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Elements {
    /// Works on the integers that are stored, or has nothing to do with elements; its regions may compute.
    Stored,
    /// Moves the integers that are stored, which have to stand for real numbers in one way.
    Moved,
    /// Computes with the real numbers.
    Real,
    /// Does what is not known.
    Unknown,
}

/// Which quantized elements an operation takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantized {
    /// Takes no quantized elements.
    No,
    /// Takes elements with one scale for the whole tensor.
    PerTensor,
    /// Takes elements with scales along a dimension, too.
    PerAxis,
}

/// Through which operands an operation is linear: where those are addends on each device, so are the results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Linear {
    /// Is not linear.
    No,
    /// Moves the elements of operands `from..to`, alike, so that any reduction may be done after it.
    Moves {
        /// The first.
        from: u8,
        /// One past the last.
        to: u8,
    },
    /// Is linear in operands `from..to` together: a sum may be done after it.
    Sums {
        /// The first.
        from: u8,
        /// One past the last.
        to: u8,
    },
    /// Is linear in any one operand, the others whole: a sum may be done after it.
    EitherSums,
    /// Goes with itself: a reduction by this operation may be done after it.
    Itself,
    /// Depends on types or regions.
    Depends,
}

/// Whether a device may do an operation on the parts of the operands that it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parts {
    /// Is done on parts along the factors that pass through it, as it is.
    AlongPassThrough,
    /// Depends on the factor.
    Depends,
    /// Is done on whole operands.
    Whole,
}

/// What back ends get of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lowering {
    /// Back ends get the operation.
    Stays,
    /// Back ends get its operand in place of its result.
    Operand,
    /// Back ends get nothing of it.
    Nothing,
    /// Back ends cannot get it: it is about global values, of which partitioning leaves none.
    Refused,
}

impl Arity {
    /// Any number.
    pub const ANY: Arity = Arity::AtLeast(0);
    /// None.
    pub const NONE: Arity = Arity::Exactly(0);

    /// Whether `n` are as many as there may be.
    #[must_use]
    pub fn fits(self, n: usize) -> bool {
        match self {
            Arity::Exactly(want) => n == usize::from(want),
            Arity::AtLeast(want) => n >= usize::from(want),
        }
    }

    /// The number, where there is only one.
    #[must_use]
    pub fn exactly(self) -> Option<usize> {
        match self {
            Arity::Exactly(n) => Some(usize::from(n)),
            Arity::AtLeast(_) => None,
        }
    }

    /// The number for messages: `2`, `at least 1`.
    #[must_use]
    pub fn text(self) -> String {
        match self {
            Arity::Exactly(n) => n.to_string(),
            Arity::AtLeast(n) => format!("at least {n}"),
        }
    }
}

impl RegionKind {
    /// Whether regions hold tensors of the program, so that shardings reach into them.
    #[must_use]
    pub fn is_program(self) -> bool {
        match self {
            RegionKind::Body | RegionKind::Branches | RegionKind::Loop => true,
            RegionKind::None | RegionKind::Elements | RegionKind::Callee => false,
        }
    }
}

impl Effect {
    /// Whether an operation does nothing but make its results, its regions left out.
    #[must_use]
    pub fn is_pure(self) -> bool {
        matches!(self, Effect::Pure | Effect::DeviceNumber)
    }
}

impl AttrDef {
    /// Whether the attribute names a sharding, or axes of a mesh.
    #[must_use]
    pub fn has_handles(&self) -> bool {
        use AttrType as A;
        matches!(self.ty, A::Sharding | A::Shardings | A::Axes | A::AxesPerDim | A::AllToAll | A::ManualAxes)
    }
}

impl OpDef {
    /// The inherent attribute of this name.
    #[must_use]
    pub fn attr(&self, name: &str) -> Option<&'static AttrDef> {
        self.attrs.iter().find(|attr| attr.name == name)
    }
}
