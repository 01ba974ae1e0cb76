//! Variables: what a training step keeps from one step to the next.

use std::panic::Location;

use shardc_graph::{DType, Tensor};

use crate::Init;

/// What a variable is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A parameter that is trained.
    Parameter,
    /// A parameter that stays as it is.
    Frozen,
    /// What an optimiser keeps.
    Optimizer,
    /// What a layer keeps: running means and variances.
    Statistics,
    /// A count of steps.
    Counter,
    /// A key of random numbers.
    Key,
}

/// A variable of a training step.
#[derive(Clone, Debug, PartialEq)]
pub struct Variable {
    /// Its name, with those of the scopes around it, separated by dots.
    pub name: String,
    /// What it is for.
    pub kind: Kind,
    /// Its shape; of a stack of layers the number of layers comes first, of a stack in a stack those of both.
    pub shape: Vec<i64>,
    /// Its element type.
    pub dtype: DType,
    /// How it begins.
    pub init: Init,
    /// How many of the first dimensions are layers, each of which begins by itself: one of a stack, two of a stack in a stack, none where it
    /// is no stack.
    pub num_stacks: usize,
    /// The name of the parameter that it is of, for what an optimiser keeps: it is split as that is.
    pub of: Option<String>,
}

impl Variable {
    /// How many layers it is a stack of, one if it is none, and the shape of a layer's.
    #[must_use]
    pub fn layers(&self) -> (i64, &[i64]) {
        let (layers, own) = self.shape.split_at(self.num_stacks.min(self.shape.len()));
        (layers.iter().product(), own)
    }

    /// How many numbers of the model it stands for.
    pub(crate) fn num_weights(&self) -> u64 {
        let (layers, _) = self.layers();
        let elements = self.shape.iter().product::<i64>();
        self.init.num_weights().map_or(elements, |weights| weights * layers).unsigned_abs()
    }
}

/// The variable whose values another one begins with: that itself, or the one at the end of copies of copies; or why there is none.
pub(crate) fn source<'v>(
    variable: &'v Variable,
    get: impl Fn(&str) -> Option<&'v Variable>,
) -> Result<&'v Variable, String> {
    let mut source = variable;
    let mut seen = vec![variable.name.as_str()];
    while let Init::CopyOf(name) = &source.init {
        let begins = format!("the variable {:?} begins as a copy of {name:?}", source.name);
        let next = get(name).ok_or_else(|| format!("{begins}, which there is not"))?;
        if next.shape != source.shape {
            return Err(format!("{begins}, but has the shape {:?}, and not {:?}", source.shape, next.shape));
        }
        if seen.contains(&next.name.as_str()) {
            return Err(format!("{begins}, which begins as a copy of it"));
        }
        seen.push(&next.name);
        source = next;
    }
    Ok(source)
}

/// Which dimensions of one layer's parameter are those of linear maps: of `[maps.., inputs.., outputs..]` the first `maps` count maps, each
/// of which is by itself, and the last `outputs` are what comes out of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Maps {
    /// How many of the first dimensions count maps, such as experts.
    pub maps: usize,
    /// How many of the last dimensions are outputs, such as heads and the numbers of each.
    pub outputs: usize,
}

impl Maps {
    /// One map.
    pub(crate) fn one(outputs: usize) -> Maps {
        Maps { maps: 0, outputs }
    }
}

/// A parameter as the optimiser sees it.
#[derive(Clone, Debug)]
pub struct Param<'g> {
    /// Its name.
    pub name: String,
    /// The tensor, as it is kept.
    pub tensor: Tensor<'g>,
    /// How many of the first dimensions are layers of stacks.
    pub num_stacks: usize,
    /// Which of the other dimensions are those of linear maps, where the layer says so that asked for it.
    pub maps: Option<Maps>,
}

impl Param<'_> {
    /// The shape of one layer's: without the layers of stacks.
    #[must_use]
    pub fn shape(&self) -> Vec<i64> {
        let mut shape = self.tensor.shape();
        shape.split_off(self.num_stacks.min(shape.len()))
    }

    /// How many dimensions one layer's has.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.tensor.rank().saturating_sub(self.num_stacks)
    }

    /// The element type that it is kept in.
    #[must_use]
    pub fn dtype(&self) -> DType {
        self.tensor.dtype()
    }
}

/// A variable with its tensors.
#[derive(Debug)]
pub(crate) struct Entry<'g> {
    pub(crate) variable: Variable,
    /// The tensor as it is kept.
    pub(crate) tensor: Tensor<'g>,
    /// The first line that requested it through a scope that is not shared.
    pub(crate) asked_at: Option<&'static Location<'static>>,
    /// Whether an error about sharing it was reported.
    pub(crate) is_sharing_reported: bool,
    /// What it becomes.
    pub(crate) next: Option<Tensor<'g>>,
    /// Where that was said.
    pub(crate) set_at: Option<&'static Location<'static>>,
    /// Which dimensions of one layer's are those of linear maps.
    pub(crate) maps: Option<Maps>,
    /// Whether a loss scale keeps it, which says which steps are skipped.
    pub(crate) is_of_scale: bool,
    /// Whether something was said in a loop, where that cannot be.
    pub(crate) is_refused: bool,
}
