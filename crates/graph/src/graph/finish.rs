//! Finishes a graph: returns its module, or all errors.

use std::panic::Location;

use shardc_ir::{
    AttrDict, Func, Module, OpKind, PackedOption, ShardingId, Span, ValueId, Visibility, verify,
};

use shardc_analysis::analysis::symbols::drop_unused_funcs;

use super::region::types_of;
use super::{Graph, Maker, State, Tensor};
use crate::error::{ErrorKind, GraphErrors};

impl Graph {
    /// Finishes the program and returns its module, whose entry function returns the tensors of `results` under the given names. The module
    /// has passed [`shardc_ir::verify()`]. After a successful call, the graph cannot be used.
    ///
    /// # Errors
    /// All errors reported since the graph was created, in order, and an error if two results have the same name.
    #[track_caller]
    pub fn finish(&self, results: &[(&str, Tensor<'_>)]) -> Result<Module, GraphErrors> {
        let at = Location::caller();
        let mut state = self.state.borrow_mut();
        for (i, &(name, tensor)) in results.iter().enumerate() {
            if results[..i].iter().any(|&(other, _)| other == name) {
                let kind = ErrorKind::Name { what: "results", name: name.to_owned() };
                state.report(at, &[tensor], kind);
            }
        }
        let tensors: Vec<Tensor<'_>> = results.iter().map(|&(_, tensor)| tensor).collect();
        let values = match state.values(self, &tensors) {
            Ok(values) => values.unwrap_or_default(),
            Err(kind) => {
                state.report(at, &tensors, kind);
                Vec::new()
            }
        };
        if state.open.len() > 1 {
            let what = state.open[1].what;
            let text = format!("finish was called inside the closure of {what}");
            state.report(at, &[], ErrorKind::Operands(text));
        }
        let shardings = state.result_shardings(results, &values);
        if !state.errors.is_empty() {
            return Err(GraphErrors(std::mem::take(&mut state.errors)));
        }
        Maker::new(&mut state, at).with_types(OpKind::Return, &values, &[], &[]);
        let module = state.module_of(results, &values, shardings);
        state.is_finished = true;
        state.handles.clear();
        drop(state);
        verify(&module).map_err(|mut errors| {
            let kind = ErrorKind::Invalid(Box::new(errors.swap_remove(0)));
            GraphErrors(vec![crate::GraphError { kind, location: at, operands: Vec::new() }])
        })?;
        Ok(module)
    }
}

impl State {
    /// Returns the annotated sharding of each result, if any.
    fn result_shardings(
        &mut self,
        results: &[(&str, Tensor<'_>)],
        values: &[ValueId],
    ) -> Vec<PackedOption<ShardingId>> {
        let mut shardings = vec![PackedOption::default(); results.len()];
        for (name, spec, at) in std::mem::take(&mut self.result_specs) {
            let Some(place) = results.iter().position(|&(result, _)| result == name) else {
                let known: Vec<String> = results.iter().map(|(result, _)| format!("{result:?}")).collect();
                let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                let text =
                    format!("the spec {spec} is for an unknown result {name:?}; the results are {known}");
                self.report(at, &[], ErrorKind::Operands(text));
                continue;
            };
            // A result without a value is poisoned, and its error is already reported.
            let Some(&value) = values.get(place) else { continue };
            let shape = self.module.shape(value).to_vec();
            match spec.resolve(&self.module.meshes[self.mesh], self.mesh, &shape) {
                Ok(sharding) => {
                    let sharding = self.module.shardings.intern(sharding);
                    match shardings[place].expand() {
                        Some(before) if before != sharding => {
                            let kind =
                                self.conflicting_mark(&format!("the result {name:?}"), before, sharding);
                            self.report(at, &[results[place].1], kind);
                        }
                        _ => shardings[place] = sharding.into(),
                    }
                }
                Err(kind) => self.report(at, &[results[place].1], kind),
            }
        }
        shardings
    }

    /// Takes the module out of the state and adds its entry function, which returns `values` under the names in `results`.
    fn module_of(
        &mut self,
        results: &[(&str, Tensor<'_>)],
        values: &[ValueId],
        res_shardings: Vec<PackedOption<ShardingId>>,
    ) -> Module {
        let body = self.body();
        let res_attrs = results
            .iter()
            .map(|&(name, _)| {
                let mut attrs = AttrDict::new();
                attrs.set_result_info(name);
                attrs
            })
            .collect();
        let mut module = std::mem::take(&mut self.module);
        let params = types_of(&module, &module.regions[body].args);
        let func = Func {
            name: "main".into(),
            visibility: Visibility::Public,
            body: Some(body),
            arg_attrs: vec![AttrDict::new(); params.len()],
            params,
            results: types_of(&module, values),
            res_attrs,
            res_shardings,
            arg_locs: std::mem::take(&mut self.parameter_locs),
            arg_names: Vec::new(),
            arg_spans: Vec::new(),
            res_spans: Vec::new(),
            attrs: AttrDict::new(),
            span: Span::NONE,
            loc: PackedOption::default(),
        };
        module.add_func(func);
        // Functions of custom derivatives may be unused after differentiation.
        drop_unused_funcs(&mut module, None);
        module
    }
}
