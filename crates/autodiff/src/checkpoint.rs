//! Checkpointing: what the forward pass keeps for the backward pass, and what this computes again.

use std::{fmt, str::FromStr};

use shardc_ir::suggest::nearest;
use shardc_ir::{Attr, Effect, Module, OpId, OpKind, ValueId};

/// The name of the composite that hands a value on and gives it a name (its attribute `name`), for [`Keep::Named`].
pub const CHECKPOINT_NAME: &str = "shardc.checkpoint_name";

/// The attribute of a named computation that has a policy of its own: a [`Keep`] as text.
pub const CHECKPOINT: &str = "shardc.checkpoint";

/// Which results of the forward pass are kept until the backward pass reads them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Keep {
    /// All that are read. What costs next to nothing is computed again in loops, where keeping it would take a stack.
    #[default]
    Everything,
    /// None: the backward pass begins from the arguments.
    Nothing,
    /// Those of matrix products and convolutions.
    Products,
    /// Those that composites [`CHECKPOINT_NAME`] give one of these names.
    Named(Vec<String>),
}

/// `everything`, `nothing`, `dots` or `names:A,B`.
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

/// What [`FromStr`] reads.
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

/// A text that says no policy of checkpointing.
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

/// Which values the text of a policy means.
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

/// Which results of the forward pass wait for the backward pass in the host's memory. They are kept, whatever [`Keep`] says. What
/// is kept inside of branches and manual computations stays on the device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Offload {
    /// None.
    #[default]
    Nothing,
    /// All that are kept, but for scalars.
    Everything,
    /// Those of matrix products and convolutions.
    Products,
    /// Those that composites [`CHECKPOINT_NAME`] give one of these names.
    Named(Vec<String>),
}

/// `nothing`, `everything`, `dots` or `names:A,B`.
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

/// What is kept, of which parts of the program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Checkpoint {
    /// What is kept.
    pub keep: Keep,
    /// What of it is kept in the host's memory.
    pub offload: Offload,
    /// Functions whose calls are done again one by one, each in the backward pass where its gradient is computed: all but
    /// their operands is as [`Checkpoint::keep`] says, and everything around them is kept. Without any, the whole program is
    /// one such part. Bodies of loops always are, and named computations with the attribute [`CHECKPOINT`], as that says.
    pub layers: Vec<String>,
    /// Whether loops are done in blocks: of about the square root of their trips the state is kept, and what lies between is
    /// computed again, block after block.
    pub blocks: bool,
}

impl Checkpoint {
    /// The same, with the policy that a named computation has of its own, if it has one.
    pub(crate) fn within(&self, module: &Module, op: OpId) -> Checkpoint {
        let mut policy = self.clone();
        if let Some(Attr::Str(text)) = module.ops[op].attrs.get(CHECKPOINT)
            && let Ok(keep) = text.parse()
        {
            policy.keep = keep;
        }
        policy
    }

    /// Whether results of an operation are kept rather than computed again.
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
    /// Whether a value that is kept is kept in the host's memory.
    pub(crate) fn takes(&self, module: &Module, value: ValueId) -> bool {
        let is_scalar = || module.tensor(value).is_none_or(|ty| ty.rank() == 0);
        let is_named = || module.def_op(value).is_some_and(|op| self.names(module, op));
        !is_scalar() && (*self == Offload::Everything || is_named())
    }

    /// Whether it is about results of this operation in particular.
    fn names(&self, module: &Module, op: OpId) -> bool {
        match self {
            Offload::Nothing | Offload::Everything => false,
            Offload::Products => is_product(module, op),
            Offload::Named(names) => is_named(module, op, names),
        }
    }
}

/// Whether an operation is a matrix product or a convolution.
fn is_product(module: &Module, op: OpId) -> bool {
    let kind = &module.ops[op].kind;
    matches!(kind, OpKind::DotGeneral(_) | OpKind::Convolution(_) | OpKind::RaggedDot(_))
}

/// Whether an operation gives a value one of these names.
fn is_named(module: &Module, op: OpId, names: &[String]) -> bool {
    let OpKind::Composite(spec) = &module.ops[op].kind else { return false };
    let name = spec.attributes.as_ref().and_then(|attrs| attrs.get("name"));
    *spec.name == *CHECKPOINT_NAME
        && matches!(name, Some(Attr::Str(name)) if names.iter().any(|n| **n == **name))
}

/// Whether an operation that was done gives the same results when it is done again, and does nothing else. A loop that ended once
/// ends again.
fn may_repeat(module: &Module, op: OpId) -> bool {
    let data = &module.ops[op];
    let is_loop = data.kind.def().effect == Effect::MayNotEnd;
    let may_repeat = |&op: &OpId| may_repeat(module, op) || module.ops[op].kind.def().effect == Effect::Ends;
    // A composite does what its function does.
    let function = match &data.kind {
        OpKind::Composite(spec) => module.func_names.get(&spec.decomposition),
        _ => None,
    };
    let body = function.and_then(|&func| module.funcs[func].body);
    let mut inner = data.regions.iter().chain(&body).flat_map(|&region| &module.regions[region].ops);
    (is_loop || body.is_some() || data.kind.def().effect.is_pure()) && inner.all(may_repeat)
}
