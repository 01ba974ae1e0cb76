//! Activation checkpointing: selects the values that the forward pass saves for the backward pass, and those that the backward pass
//! recomputes.

use std::{fmt, str::FromStr};

use shardc_ir::suggest::nearest;
use shardc_ir::{Attr, Effect, Module, OpId, OpKind, ValueId};

/// The composite that returns its operand and names it (attribute `name`), for [`Keep::Named`].
pub const CHECKPOINT_NAME: &str = "shardc.checkpoint_name";

/// The attribute of a named computation with its own policy: a [`Keep`] as text.
pub const CHECKPOINT: &str = "shardc.checkpoint";

/// Which results of the forward pass are saved as residuals.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Keep {
    /// All values that the backward pass reads. In loops, cheap values are recomputed, since saving a value of a loop body needs a tensor
    /// that stacks the values of all iterations.
    #[default]
    Everything,
    /// No values: the backward pass recomputes all values from the arguments.
    Nothing,
    /// Results of matmuls and convolutions.
    Products,
    /// Results named by a [`CHECKPOINT_NAME`] composite with one of these names.
    Named(Vec<String>),
}

/// Parses `everything`, `nothing`, `dots` or `names:A,B`.
impl FromStr for Keep {
    type Err = UnknownPolicy;

    fn from_str(text: &str) -> Result<Keep, UnknownPolicy> {
        Ok(match Policy::from_str(text)? {
            Policy::Everything => Keep::Everything,
            Policy::Nothing => Keep::Nothing,
            Policy::Products => Keep::Products,
            Policy::Named(names) => Keep::Named(names),
        })
    }
}

/// The text that [`FromStr`] parses.
impl fmt::Display for Keep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Keep::Everything => f.write_str("everything"),
            Keep::Nothing => f.write_str("nothing"),
            Keep::Products => f.write_str("dots"),
            Keep::Named(names) => write!(f, "names:{}", names.join(",")),
        }
    }
}

/// The error for a text that is not a checkpointing policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownPolicy(pub String);

impl fmt::Display for UnknownPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let meant = nearest(&self.0, ["everything", "nothing", "dots"]);
        let meant = meant.map(|meant| format!("; did you mean {meant}?")).unwrap_or_default();
        write!(f, "{}: expected everything, nothing, dots or names:A,B{meant}", self.0)
    }
}

impl std::error::Error for UnknownPolicy {}

/// A parsed policy: the values that it selects, to save or to offload.
enum Policy {
    Everything,
    Nothing,
    Products,
    Named(Vec<String>),
}

impl FromStr for Policy {
    type Err = UnknownPolicy;

    fn from_str(text: &str) -> Result<Policy, UnknownPolicy> {
        Ok(match text {
            "everything" => Policy::Everything,
            "nothing" => Policy::Nothing,
            "dots" => Policy::Products,
            _ => match text.strip_prefix("names:") {
                Some(names) => Policy::Named(names.split(',').map(str::to_owned).collect()),
                None => return Err(UnknownPolicy(text.to_owned())),
            },
        })
    }
}

/// Which results of the forward pass are offloaded to host memory. Offloaded results are saved regardless of [`Keep`]. Residuals inside
/// branches and manual computations stay on the device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Offload {
    /// No residuals.
    #[default]
    Nothing,
    /// All residuals except scalars.
    Everything,
    /// Results of matmuls and convolutions.
    Products,
    /// Results named by a [`CHECKPOINT_NAME`] composite with one of these names.
    Named(Vec<String>),
}

/// Parses `nothing`, `everything`, `dots` or `names:A,B`.
impl FromStr for Offload {
    type Err = UnknownPolicy;

    fn from_str(text: &str) -> Result<Offload, UnknownPolicy> {
        Ok(match Policy::from_str(text)? {
            Policy::Everything => Offload::Everything,
            Policy::Nothing => Offload::Nothing,
            Policy::Products => Offload::Products,
            Policy::Named(names) => Offload::Named(names),
        })
    }
}

/// The checkpointing policy, and the parts of the program that it applies to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Checkpoint {
    /// The residuals to save.
    pub keep: Keep,
    /// The residuals to offload to host memory.
    pub offload: Offload,
    /// Functions whose calls are rematerialized one by one in the backward pass. The operands of these calls and all values outside of the
    /// functions are saved; values inside of the functions are saved according to [`Checkpoint::keep`]. If there are no such functions, the
    /// policy applies to the whole program. The policy always applies to loop bodies. A named computation with the attribute [`CHECKPOINT`]
    /// has its own policy.
    pub layers: Vec<String>,
    /// Whether loops are checkpointed in blocks: the carried state is saved at about the square root of the number of iterations, and the
    /// iterations in between are recomputed block by block.
    pub blocks: bool,
}

impl Checkpoint {
    /// Returns the policy for the regions of `op`: its own policy if `op` is a named computation with one, and otherwise this policy.
    pub(crate) fn within(&self, module: &Module, op: OpId) -> Checkpoint {
        let mut policy = self.clone();
        if let Some(Attr::Str(text)) = module.ops[op].attrs.get(CHECKPOINT)
            && let Ok(keep) = text.parse()
        {
            policy.keep = keep;
        }
        policy
    }

    /// Whether results of an operation are saved instead of recomputed.
    pub(crate) fn keeps(&self, module: &Module, op: OpId) -> bool {
        let keeps = match &self.keep {
            Keep::Everything => true,
            Keep::Nothing => false,
            Keep::Products => is_product(module, op),
            Keep::Named(names) => is_named(module, op, names),
        };
        keeps || !may_repeat(module, op) || self.offload.names(module, op)
    }
}

impl Offload {
    /// Whether a residual is offloaded to host memory.
    pub(crate) fn takes(&self, module: &Module, value: ValueId) -> bool {
        let is_scalar = || module.tensor(value).is_none_or(|ty| ty.rank() == 0);
        let is_named = || module.def_op(value).is_some_and(|op| self.names(module, op));
        !is_scalar() && (*self == Offload::Everything || is_named())
    }

    /// Whether the policy explicitly selects results of this operation.
    fn names(&self, module: &Module, op: OpId) -> bool {
        match self {
            Offload::Nothing | Offload::Everything => false,
            Offload::Products => is_product(module, op),
            Offload::Named(names) => is_named(module, op, names),
        }
    }
}

/// Whether an operation is a matmul or a convolution.
fn is_product(module: &Module, op: OpId) -> bool {
    let kind = &module.ops[op].kind;
    matches!(kind, OpKind::DotGeneral(_) | OpKind::Convolution(_) | OpKind::RaggedDot(_))
}

/// Whether an operation is a [`CHECKPOINT_NAME`] composite with one of these names.
fn is_named(module: &Module, op: OpId, names: &[String]) -> bool {
    let OpKind::Composite(spec) = &module.ops[op].kind else { return false };
    let name = spec.attributes.as_ref().and_then(|attrs| attrs.get("name"));
    *spec.name == *CHECKPOINT_NAME
        && matches!(name, Some(Attr::Str(name)) if names.iter().any(|n| **n == **name))
}

/// Whether an operation can be recomputed: it returns the same results each time and has no side effects. A loop that terminated in the
/// forward pass terminates again.
fn may_repeat(module: &Module, op: OpId) -> bool {
    let data = &module.ops[op];
    let is_loop = data.kind.def().effect == Effect::MayNotEnd;
    let may_repeat = |&op: &OpId| may_repeat(module, op) || module.ops[op].kind.def().effect == Effect::Ends;
    // A composite has side effects if its decomposition has side effects.
    let function = match &data.kind {
        OpKind::Composite(spec) => module.func_names.get(&spec.decomposition),
        _ => None,
    };
    let body = function.and_then(|&func| module.funcs[func].body);
    let mut inner = data.regions.iter().chain(&body).flat_map(|&region| &module.regions[region].ops);
    (is_loop || body.is_some() || data.kind.def().effect.is_pure()) && inner.all(may_repeat)
}
