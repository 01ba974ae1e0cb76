//! The columns of the operation table: [`OpDef`].
//!
//! Each property that depends only on an operation's kind is a column without a default, so a new operation must define it.
//! Properties that depend on attributes, operands or types (inference, sharding rules, localization) are functions in other modules.

use super::AttrType;

/// The properties of an operation's kind: a row in the operation table.
#[derive(Debug)]
pub struct OpDef {
    /// Full name, with dialect; empty for [`OpKind::Opaque`](super::OpKind::Opaque), whose payload contains the name.
    pub name: &'static str,
    /// Inherent attributes, sorted by name: bytecode has them in this order, without names.
    pub attrs: &'static [AttrDef],
    /// Number of operands.
    pub operands: Arity,
    /// Number of results.
    pub results: Arity,
    /// Number of regions.
    pub regions: Arity,
    /// The use of the regions: loop body, branches, reducer, ...
    pub region_kind: RegionKind,
    /// The number of VHLO versions whose attributes match the [`AttrDef`]s; 0 if there is no VHLO form, or if its attributes differ.
    pub vhlo: u8,
    /// Side effects of the operation itself, without the effects of its regions.
    pub effect: Effect,
    /// Which operand elements a result element depends on.
    pub access: Access,
    /// The amount of computation.
    pub work: Work,
    /// The semantics on quantized elements.
    pub elements: Elements,
    /// The quantized elements that the operation accepts.
    pub quantized: Quantized,
    /// The operands in which the operation is linear.
    pub linear: Linear,
    /// Whether a device may apply the operation to shards of the operands.
    pub parts: Parts,
    /// The lowering for back ends.
    pub lowering: Lowering,
    /// Whether the two operands may be swapped.
    pub commutative: bool,
}

/// An inherent attribute.
#[derive(Clone, Copy, Debug)]
pub struct AttrDef {
    /// The name of the attribute.
    pub name: &'static str,
    /// The type of the attribute, which determines its text.
    pub ty: AttrType,
    /// Whether the attribute may be absent.
    pub presence: Presence,
    /// The first version of the operation that has the attribute, counted from 1: older bytecode lacks it.
    pub since: u8,
}

/// Whether an inherent attribute may be absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// The attribute is always present.
    Required,
    /// The attribute may be absent. VHLO, which has no optional attributes, then contains the given value.
    Optional(Absent),
}

/// The VHLO value of an absent attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Absent {
    /// The attribute is always present in VHLO, so there is no such value.
    Never,
    /// The value is this integer.
    Int(i64),
    /// The value is `false`.
    False,
    /// An empty string, array, dictionary or tensor.
    Empty,
    /// A nonempty tensor whose elements are all this integer.
    All(i64),
    /// A nonempty tensor whose elements are all `false`.
    AllFalse,
    /// An attribute with this text.
    Text(&'static str),
    /// An array whose elements are all attributes with this text; the array may be empty.
    AllText(&'static str),
    /// A `result_accuracy` attribute with the mode `DEFAULT` and zero tolerances.
    Accuracy,
}

/// A number of operands, results or regions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arity {
    /// Exactly this number.
    Exactly(u8),
    /// This number or more.
    AtLeast(u8),
}

/// The role of an operation's regions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegionKind {
    /// The operation has no regions.
    None,
    /// Regions that combine, compare or map scalars; shardings do not propagate into them.
    Elements,
    /// Part of the program: runs once.
    Body,
    /// Part of the program: one of them runs.
    Branches,
    /// Part of the program: runs any number of times.
    Loop,
    /// A region like the body of a called function: shardings propagate into it only after it is inlined or expanded to a loop.
    Callee,
}

/// Side effects of an operation, besides those of its regions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// No side effects, and the operation terminates: it may be removed if dead, merged with equal operations, hoisted and rematerialized.
    Pure,
    /// No side effects, but the results differ between devices.
    DeviceNumber,
    /// No side effects, but the operation may not terminate.
    MayNotEnd,
    /// Uses the state of a random number generator on the device: results differ each time.
    Draws,
    /// Orders other operations, or annotates a value: the operation stays even without users.
    Holds,
    /// A collective: devices synchronize in it.
    Collective,
    /// Communicates with the host, or over a channel.
    World,
    /// A terminator: ends its region.
    Ends,
    /// The effects are unknown.
    Unknown,
}

/// The operand elements that a result element depends on. This dependence determines the order of propagation, as in Shardy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// The elements at the same position of the operands.
    SamePlace,
    /// The element at the same position, if operand and result have the same shape.
    SamePlaceIfSameShape,
    /// Elements are moved: a reshape, a transpose.
    Rearranges,
    /// A slice is read or written at a dynamic index.
    SlicesAtRunTime,
    /// Elements are broadcast along dimensions of the result.
    Broadcasts,
    /// Anything else, and operations that do not participate in propagation.
    Other,
}

/// The amount of computation of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// A few instructions per element.
    Light,
    /// Many instructions per element.
    Heavy,
    /// A contraction, which takes most of the time. The operands do not determine the element type of the result.
    Contraction,
}

/// The semantics of an operation on quantized elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Elements {
    /// Operates on the storage integers, or not on elements at all. Its regions may compute with elements.
    Stored,
    /// Moves storage integers; operand and result must have the same quantization parameters.
    Moved,
    /// Computes with real numbers.
    Real,
    /// The semantics are unknown.
    Unknown,
}

/// The quantized elements that an operation accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantized {
    /// The operation accepts no quantized elements.
    No,
    /// Elements with per-tensor scales.
    PerTensor,
    /// Elements with per-tensor or per-axis scales.
    PerAxis,
}

/// The operands in which an operation is linear: if these are unreduced, so are the results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Linear {
    /// The operation is linear in no operand.
    No,
    /// The operation moves the elements of operands `from..to` in the same way: any reduction may be deferred past it.
    Moves {
        /// The first of these operands.
        from: u8,
        /// One past the last of these operands.
        to: u8,
    },
    /// The operation is jointly linear in operands `from..to`: a sum may be deferred past it.
    Sums {
        /// The first of these operands.
        from: u8,
        /// One past the last of these operands.
        to: u8,
    },
    /// The operation is linear in any single operand, if the other operands are reduced: a sum may be deferred past it.
    EitherSums,
    /// If the operand is a partial result of a reduction with the same operator, that reduction may be deferred past the operation.
    Itself,
    /// The answer depends on types or regions.
    Depends,
}

/// Whether a device may apply an operation to its shards of the operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parts {
    /// A device may apply the same operation to its shards, along pass-through factors of the sharding rule.
    AlongPassThrough,
    /// The answer depends on the factor along which operands are sharded.
    Depends,
    /// A device may not apply the operation to shards: operands must be replicated.
    Whole,
}

/// The lowering of an operation for back ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lowering {
    /// The operation is kept.
    Stays,
    /// The operation is replaced by its operand.
    Operand,
    /// The operation is removed.
    Nothing,
    /// The operation is an error: it operates on global values, which do not exist after partitioning.
    Refused,
}

impl Arity {
    /// Any number.
    pub const ANY: Arity = Arity::AtLeast(0);
    /// Exactly zero.
    pub const NONE: Arity = Arity::Exactly(0);

    /// Whether an operation may have `n` operands, results or regions.
    #[must_use]
    pub fn fits(self, n: usize) -> bool {
        match self {
            Arity::Exactly(want) => n == usize::from(want),
            Arity::AtLeast(want) => n >= usize::from(want),
        }
    }

    /// Returns the number of operands, results or regions; `None` if the number is not fixed.
    #[must_use]
    pub fn exactly(self) -> Option<usize> {
        match self {
            Arity::Exactly(n) => Some(usize::from(n)),
            Arity::AtLeast(_) => None,
        }
    }

    /// The number of operands, results or regions as text for messages: `2`, `at least 1`.
    #[must_use]
    pub fn text(self) -> String {
        match self {
            Arity::Exactly(n) => n.to_string(),
            Arity::AtLeast(n) => format!("at least {n}"),
        }
    }
}

impl RegionKind {
    /// Whether the regions operate on tensors of the program and not on single elements, so that shardings propagate into them.
    #[must_use]
    pub fn is_program(self) -> bool {
        match self {
            RegionKind::Body | RegionKind::Branches | RegionKind::Loop => true,
            RegionKind::None | RegionKind::Elements | RegionKind::Callee => false,
        }
    }
}

impl Effect {
    /// Whether an operation, without its regions, has no side effects and terminates.
    #[must_use]
    pub fn is_pure(self) -> bool {
        matches!(self, Effect::Pure | Effect::DeviceNumber)
    }
}

impl AttrDef {
    /// Whether the attribute contains a sharding, or axes of a mesh.
    #[must_use]
    pub fn has_handles(&self) -> bool {
        use AttrType as A;
        matches!(self.ty, A::Sharding | A::Shardings | A::Axes | A::AxesPerDim | A::AllToAll | A::ManualAxes)
    }
}

impl OpDef {
    /// The inherent attribute with this name.
    #[must_use]
    pub fn attr(&self, name: &str) -> Option<&'static AttrDef> {
        self.attrs.iter().find(|attr| attr.name == name)
    }
}
