//! The program that computes the initial values of variables.

use indexmap::IndexMap;
use shardc_graph::{DType, Graph, GraphErrors, Key, Tensor};
use shardc_ir::Module;

use crate::variable::source;
use crate::{Init, StepProgram, Variable};

impl StepProgram {
    /// Returns a program that takes a key (`ui32[2]`) and returns the initial value of each variable, in order. A value depends only
    /// on the key and the name of the variable or, for a copy, the name of the copied variable. It does not depend on the mesh or on
    /// the other variables.
    ///
    /// # Errors
    /// A variable has invalid initial values.
    #[track_caller]
    pub fn initializer(&self) -> Result<Module, GraphErrors> {
        let g = Graph::new("init", &self.mesh);
        let key = Key::from_tensor(g.parameter("key", [2], DType::UI32));
        let all: IndexMap<&str, &Variable> = self.variables.iter().map(|v| (v.name.as_str(), v)).collect();
        let (mut made, mut values) = (IndexMap::new(), Vec::new());
        for variable in &self.variables {
            if let Init::NormOf { of, axes } = &variable.init {
                let tensor = match all.get(of.as_str()) {
                    Some(of) => norms(
                        variable,
                        *axes,
                        *made.entry(of.name.as_str()).or_insert_with(|| values_of(of, key)),
                    ),
                    None => g.refuse(
                        &[],
                        format!(
                            "the initializer of the variable {:?} needs the norms of {of:?}, but there is no such variable",
                            variable.name
                        ),
                    ),
                };
                values.push((variable.name.as_str(), tensor));
                continue;
            }
            let tensor = match source(variable, |name| all.get(name).copied()) {
                Ok(source) => {
                    // Initial values that several variables copy are generated once.
                    let tensor = *made.entry(source.name.as_str()).or_insert_with(|| values_of(source, key));
                    tensor.to(variable.dtype)
                }
                Err(text) => g.refuse(&[], text),
            };
            values.push((variable.name.as_str(), tensor));
        }
        g.finish(&values)
    }
}

#[track_caller]
fn values_of<'g>(variable: &Variable, key: Key<'g>) -> Tensor<'g> {
    let key = key.fold_in(i64::from(hash(variable.init.drawn_as().unwrap_or(&variable.name))));
    let (shape, dtype) = (variable.shape.as_slice(), variable.dtype);
    if variable.num_stacks == 0 || variable.init.is_constant() {
        return variable.init.values(key, shape, dtype);
    }
    // Each layer has its own key; layers of nested stacks are numbered consecutively.
    let (layers, one) = variable.layers();
    let g = key.to_tensor().graph();
    let numbers = g.arange(layers, DType::I32);
    let ((), values) =
        g.scan((), numbers, |(), layer| ((), variable.init.values(key.fold_in(layer), one, dtype)));
    if variable.num_stacks > 1 { values.reshape(shape) } else { values }
}

/// Computes initial values that are L2 norms of another variable (`of`) with the same stack dimensions.
#[track_caller]
fn norms<'g>(variable: &Variable, axes: usize, of: Tensor<'g>) -> Tensor<'g> {
    let first = variable.num_stacks as i64;
    let dims: Vec<i64> = (first..first + axes as i64).collect();
    of.to(DType::F32).square().sum(dims).sqrt().to(variable.dtype)
}

/// Returns a hash of a name (FNV-1a).
pub(crate) fn hash(name: &str) -> u32 {
    name.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}
