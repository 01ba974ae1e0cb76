//! The program that gives variables their first values.

use shardc_graph::{DType, Graph, GraphErrors, Tensor};
use shardc_ir::Module;

use crate::StepProgram;

impl StepProgram {
    /// A program that takes a key (`ui32[2]`) and gives the first value of each variable, in order. A value depends on the key
    /// and the name of the variable alone: not on the mesh, nor on which other variables there are.
    ///
    /// # Errors
    /// A variable has no such initial values.
    #[track_caller]
    pub fn initializer(&self) -> Result<Module, GraphErrors> {
        let g = Graph::new("init", &self.mesh);
        let _key = g.parameter("key", [2], DType::UI32);
        let value =
            |i: usize| self.variables[i].init.values(&g, &self.variables[i].shape, self.variables[i].dtype);
        let values: Vec<(&str, Tensor<'_>)> =
            (0..self.variables.len()).map(|i| (self.variables[i].name.as_str(), value(i))).collect();
        g.finish(&values)
    }
}
