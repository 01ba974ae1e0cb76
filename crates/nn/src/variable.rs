//! Variables: the state of a training step that persists from step to step.

use std::panic::Location;

use shardc_graph::{DType, Tensor};

use crate::Init;

/// The role of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A trained parameter.
    Parameter,
    /// A parameter that is not trained.
    Frozen,
    /// Optimizer state.
    Optimizer,
    /// State that layers compute, such as running means and variances.
    Statistics,
    /// A step counter.
    Counter,
    /// A random number generator key.
    Key,
}

/// A variable of a training step.
#[derive(Clone, Debug, PartialEq)]
pub struct Variable {
    /// The full name, with the names of the enclosing scopes, separated by dots.
    pub name: String,
    /// The role of the variable in training.
    pub kind: Kind,
    /// The shape; for a stack of layers, the leading dimensions index the layers.
    pub shape: Vec<i64>,
    /// The element type.
    pub dtype: DType,
    /// The initial values.
    pub init: Init,
    /// The number of leading dimensions that index layers: one for a stack, two for nested stacks, otherwise zero. Each layer is
    /// initialized separately.
    pub num_stacks: usize,
    /// For optimizer state, the name of its parameter; both have the same sharding.
    pub of: Option<String>,
}

impl Variable {
    /// Returns the number of layers of a stack, or one for other variables; and the shape of one layer.
    #[must_use]
    pub fn layers(&self) -> (i64, &[i64]) {
        let (layers, own) = self.shape.split_at(self.num_stacks.min(self.shape.len()));
        (layers.iter().product(), own)
    }

    /// Returns the number of model weights that the variable represents.
    pub(crate) fn num_weights(&self) -> u64 {
        let (layers, _) = self.layers();
        let elements = self.shape.iter().product::<i64>();
        self.init.num_weights().map_or(elements, |weights| weights * layers).unsigned_abs()
    }
}

/// Returns the variable that defines the initial values of `variable`: itself, or the end of its chain of copies. Returns an error if
/// a copied variable is missing or has a different shape, or if the chain is circular.
pub(crate) fn source<'v>(
    variable: &'v Variable,
    get: impl Fn(&str) -> Option<&'v Variable>,
) -> Result<&'v Variable, String> {
    let mut source = variable;
    let mut seen = vec![variable.name.as_str()];
    while let Init::CopyOf(name) = &source.init {
        let begins = format!("the initializer of the variable {:?} copies {name:?}", source.name);
        let next = get(name).ok_or_else(|| format!("{begins}, but there is no such variable"))?;
        if next.shape != source.shape {
            return Err(format!("{begins}, but the shapes differ: {:?} and {:?}", source.shape, next.shape));
        }
        if seen.contains(&next.name.as_str()) {
            return Err(format!("{begins}, but the chain of copies is circular"));
        }
        seen.push(&next.name);
        source = next;
    }
    Ok(source)
}

/// How the dimensions of one layer's parameter, `[maps.., inputs.., outputs..]`, form linear maps (matrices). The first `maps` dimensions
/// are batch dimensions, with a separate map for each index. The last `outputs` dimensions are the outputs of a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Maps {
    /// Number of leading batch dimensions: each index selects a separate linear map, such as an expert.
    pub maps: usize,
    /// Number of trailing output dimensions, such as the heads and the elements of a head.
    pub outputs: usize,
}

impl Maps {
    /// Creates a single linear map.
    pub(crate) fn one(outputs: usize) -> Maps {
        Maps { maps: 0, outputs }
    }
}

/// A parameter, as passed to optimizers.
#[derive(Clone, Debug)]
pub struct Param<'g> {
    /// The full name of the variable.
    pub name: String,
    /// The tensor, in its stored type.
    pub tensor: Tensor<'g>,
    /// The number of leading dimensions that index the layers of stacks.
    pub num_stacks: usize,
    /// How the other dimensions form linear maps, if the layer that created the parameter specifies it.
    pub maps: Option<Maps>,
}

impl Param<'_> {
    /// Returns the shape of one layer, without the dimensions of stacks.
    #[must_use]
    pub fn shape(&self) -> Vec<i64> {
        let mut shape = self.tensor.shape();
        shape.split_off(self.num_stacks.min(shape.len()))
    }

    /// Returns the rank of one layer.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.tensor.rank().saturating_sub(self.num_stacks)
    }

    /// Returns the stored element type.
    #[must_use]
    pub fn dtype(&self) -> DType {
        self.tensor.dtype()
    }
}

/// A variable with its tensor in the graph and its next value.
#[derive(Debug)]
pub(crate) struct Entry<'g> {
    pub(crate) variable: Variable,
    /// The tensor in its stored type.
    pub(crate) tensor: Tensor<'g>,
    /// The first line that requested the variable through a scope that is not shared.
    pub(crate) asked_at: Option<&'static Location<'static>>,
    /// Whether an error about sharing the variable was reported.
    pub(crate) is_sharing_reported: bool,
    /// The next value, if the variable was set.
    pub(crate) next: Option<Tensor<'g>>,
    /// The line that set the next value.
    pub(crate) set_at: Option<&'static Location<'static>>,
    /// How the dimensions of one layer form linear maps.
    pub(crate) maps: Option<Maps>,
    /// Whether the variable belongs to a loss scale, which decides which steps are skipped.
    pub(crate) is_of_scale: bool,
    /// Whether setting the variable in a loop was reported as an error.
    pub(crate) is_refused: bool,
}
