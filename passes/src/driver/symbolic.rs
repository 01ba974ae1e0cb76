//! Dimension variables of an entry function: their names, and the sizes of parameters in terms of them.
//!
//! JAX writes the variables in two places. A parameter of the exported function that carries the size of a variable has the
//! attribute `jax.global_constant`. The message of each shape assertion lists the shapes of all arguments with symbolic
//! dimensions: `args[0].shape = (2*b, 4),args[1].shape = (b,). Obtained dimension variables: ...`.

use std::collections::{BTreeMap, BTreeSet};

use shardc_ir::suggest::unknown_name_hint;
use shardc_ir::{
    Attr, DYNAMIC, Dense, Diagnostic, Func, FuncId, Module, OpKind, TensorType, Type, ValueDef, ValueId,
};

use crate::annotations::dims::{DimSize, Expression};
use crate::annotations::names::Names;

/// The attribute of a parameter that carries the size of a dimension variable.
const GLOBAL_CONSTANT: &str = "jax.global_constant";
/// The text before the list of symbolic shapes in an assertion message.
const SHAPES: &str = "polymorphic shapes specifications: ";
/// The text in an assertion message after the list of symbolic shapes.
const AFTER_SHAPES: &str = ". Obtained dimension variables";

/// A dimension of a parameter: the parameter index and the dimension index.
type Place = (usize, usize);

/// The symbolic dimensions of an entry function.
struct Symbols {
    /// The variables of the entry function.
    variables: BTreeSet<String>,
    /// The dynamic dimensions of parameters, each with its size in terms of variables, if known.
    dims: BTreeMap<Place, Option<Expression>>,
}

/// Makes the parameter types of a function static, and replaces parameters that carry the size of a variable by constants.
///
/// # Errors
/// Returns an error if a name is unknown (SH0350, SH0333), if a dimension has no size (SH0351), or if sizes contradict each other (SH0353).
pub(super) fn bind(module: &mut Module, func: FuncId, sizes: &[DimSize]) -> Result<(), Vec<Diagnostic>> {
    let symbols = Symbols::of(module, func);
    let (variables, given) = symbols.given(module, func, sizes)?;
    let shapes = symbols.sizes(&module.funcs[func], module, &variables, &given)?;
    let Some(body) = module.funcs[func].body else { return Ok(()) };
    for (i, shape) in shapes {
        let ty = match module.types.get(module.funcs[func].params[i]).clone() {
            Type::Tensor(ty) => Type::Tensor(TensorType { shape, encoding: None, ..ty }),
            Type::Quantized(mut ty) => {
                ty.shape = shape;
                Type::Quantized(ty)
            }
            other => other,
        };
        let ty = module.types.intern(ty);
        module.funcs[func].params[i] = ty;
        let arg = module.regions[body].args[i];
        module.values[arg].ty = ty;
    }
    write_variables(module, func, &variables);
    Ok(())
}

/// Replaces uses of parameters that carry the size of a variable by constants. The dead parameters stay, so that the indices
/// of the others do not change.
fn write_variables(module: &mut Module, func: FuncId, variables: &BTreeMap<String, i64>) {
    let data = &module.funcs[func];
    let Some(body) = data.body else { return };
    let value = |attrs| variables.get(global_constant(attrs)?).copied();
    let carried: Vec<(usize, i64)> =
        data.arg_attrs.iter().enumerate().filter_map(|(i, attrs)| Some((i, value(attrs)?))).collect();
    if carried.is_empty() {
        return;
    }
    for (i, n) in carried {
        let arg = module.regions[body].args[i];
        let Some(ty) = module.tensor(arg).filter(|ty| ty.rank() == 0 && ty.dtype.is_integer()) else {
            continue;
        };
        let width = ty.dtype.bytes().min(8);
        let dense = Dense::splat(n.to_le_bytes().get(..width).unwrap_or_default());
        let constant = module.add_op(OpKind::Constant(dense), &[], &[module.values[arg].ty], &[]);
        let value = module.ops[constant].results[0];
        for op in module.walk(body) {
            module.ops[op].operands.iter_mut().filter(|v| **v == arg).for_each(|v| *v = value);
        }
        module.insert_op(body, 0, constant);
    }
}

fn global_constant(attrs: &shardc_ir::AttrDict) -> Option<&str> {
    match attrs.get(GLOBAL_CONSTANT) {
        Some(Attr::Str(name)) if !name.is_empty() => Some(name),
        _ => None,
    }
}

impl Symbols {
    fn of(module: &Module, func: FuncId) -> Symbols {
        let data = &module.funcs[func];
        let mut dims = BTreeMap::new();
        for (i, &ty) in data.params.iter().enumerate() {
            for (d, &n) in module.types.shape_of(ty).into_iter().flatten().enumerate() {
                if n == DYNAMIC {
                    dims.insert((i, d), None);
                }
            }
        }
        // The variables of the entry function's own parameters; `read_calls` adds those of callees.
        let names = data.arg_attrs.iter().filter_map(global_constant);
        let mut symbols = Symbols { variables: names.map(str::to_owned).collect(), dims };
        symbols.read_calls(module, func);
        symbols.read_messages(module, func);
        for expression in symbols.dims.values().flatten() {
            expression.variables(&mut symbols.variables);
        }
        symbols
    }

    /// Finds dimensions of parameters whose size the entry function passes to a callee, as the argument that carries the size of a
    /// variable.
    fn read_calls(&mut self, module: &Module, func: FuncId) {
        let Some(body) = module.funcs[func].body else { return };
        for &op in &module.regions[body].ops {
            let OpKind::Call { callee } = &module.ops[op].kind else { continue };
            let Some(callee) = module.func_names.get(callee).map(|&callee| &module.funcs[callee]) else {
                continue;
            };
            for (&operand, attrs) in module.ops[op].operands.iter().zip(&callee.arg_attrs) {
                let Some(name) = global_constant(attrs) else { continue };
                if let Some(place) = dimension_of(module, operand)
                    && let Some(expression) = self.dims.get_mut(&place)
                {
                    *expression = Some(Expression::Variable(name.to_owned()));
                }
            }
        }
    }

    /// Reads the shapes in messages of shape assertions: they list the parameters with symbolic dimensions, in order.
    fn read_messages(&mut self, module: &Module, func: FuncId) {
        let data = &module.funcs[func];
        let Some(body) = data.body else { return };
        let messages = module.regions[body].ops.iter().filter_map(|&op| match &module.ops[op].kind {
            OpKind::CustomCall(spec) if &*spec.target == "shape_assertion" => {
                module.ops[op].attrs.get("error_message")
            }
            _ => None,
        });
        let shapes = messages.filter_map(|attr| match attr {
            Attr::Str(text) => symbolic_shapes(text),
            _ => None,
        });
        let places: BTreeSet<usize> = self.dims.keys().map(|&(i, _)| i).collect();
        let fits = |shapes: &Vec<Vec<Expression>>| {
            shapes.len() == places.len()
                && shapes.iter().zip(&places).all(|(shape, &i)| {
                    let sizes = module.types.shape_of(data.params[i]).map_or(&[][..], |sizes| sizes);
                    let agree = |(size, n): (&Expression, &i64)| match size {
                        Expression::Number(size) => size == n,
                        _ => *n == DYNAMIC,
                    };
                    shape.len() == sizes.len() && shape.iter().zip(sizes).all(agree)
                })
        };
        let Some(shapes) = shapes.into_iter().find(fits) else { return };
        for (shape, &i) in shapes.into_iter().zip(&places) {
            for (d, expression) in shape.into_iter().enumerate() {
                if let Some(place) = self.dims.get_mut(&(i, d)) {
                    *place = Some(expression);
                }
            }
        }
    }

    /// Returns the sizes of variables and of dimensions that the user gives. Variables are also solved from dimension sizes.
    #[expect(clippy::type_complexity, reason = "two maps that are used once")]
    fn given(
        &self,
        module: &Module,
        func: FuncId,
        sizes: &[DimSize],
    ) -> Result<(BTreeMap<String, i64>, BTreeMap<Place, i64>), Vec<Diagnostic>> {
        let data = &module.funcs[func];
        let names = Names::of(module, data);
        let (mut variables, mut places) = (BTreeMap::new(), BTreeMap::new());
        let mut errors = Vec::new();
        for DimSize { target, size } in sizes {
            let twice = if self.variables.contains(target) {
                variables.insert(target.clone(), *size).filter(|other| other != size)
            } else {
                match self.place(data, &names, module, target, *size) {
                    Ok(place) => places.insert(place, *size).filter(|other| other != size),
                    Err(error) => {
                        errors.push(*error);
                        None
                    }
                }
            };
            if let Some(other) = twice {
                errors.push(Diagnostic::invalid(
                    "SH0353",
                    format!("dimension '{target}' has two sizes: {other} and {size}"),
                ));
            }
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        // The loop is repeated, since the size of a dimension may determine a variable, which may determine another dimension and variable.
        for _ in 0..places.len() {
            for (place, &size) in &places {
                let Some(Some(expression)) = self.dims.get(place) else { continue };
                if let Some((name, n)) = expression.solve(size, &variables) {
                    variables.insert(name, n);
                }
            }
        }
        Ok((variables, places))
    }

    /// Returns the dimension of a parameter that a name denotes: `arg1.0` is dimension 0 of argument 1.
    fn place(
        &self,
        data: &Func,
        names: &Names,
        module: &Module,
        target: &str,
        size: i64,
    ) -> Result<Place, Box<Diagnostic>> {
        let Some((argument, dim)) = DimSize::new(target, size).dimension().map(|(a, d)| (a.to_owned(), d))
        else {
            let known: Vec<&str> = self.variables.iter().map(String::as_str).collect();
            let message = format!("the program has no symbolic dimension '{target}'");
            let hint = match known.as_slice() {
                [] => format!(
                    "the symbolic dimensions of the program have no names; {}",
                    self.by_place(data, module)
                ),
                known => unknown_name_hint(target, "its symbolic dimensions", known),
            };
            return Err(Box::new(Diagnostic::invalid("SH0350", message).at(data.span).hint(hint)));
        };
        let i = names.find_argument(&argument).map_err(Box::new)?;
        let shape = module.types.shape_of(data.params[i]).map_or(&[][..], |shape| shape);
        match shape.get(dim) {
            Some(&n) if n == DYNAMIC || n == size => Ok((i, dim)),
            Some(n) => Err(Box::new(
                Diagnostic::invalid(
                    "SH0353",
                    format!("dimension {dim} of {argument} has size {n}, not {size}"),
                )
                .at(data.arg_span(i)),
            )),
            None => Err(Box::new(
                Diagnostic::invalid(
                    "SH0350",
                    format!(
                        "{argument} has no dimension {dim}: it is {}",
                        module.types.display(data.params[i])
                    ),
                )
                .at(data.arg_span(i)),
            )),
        }
    }

    /// Returns the hint that names the first dynamic dimension by argument and index.
    fn by_place(&self, data: &Func, module: &Module) -> String {
        match self.dims.keys().next() {
            Some(&(i, d)) => {
                let name = data.shown_argument(&module.locs, i);
                format!(
                    "identify a dimension by argument and index with `Compiler::dim`, as in {name}.{d}=64"
                )
            }
            None => "all arguments have static shapes".to_owned(),
        }
    }

    /// Returns static shapes for the parameters that have unknown sizes.
    fn sizes(
        &self,
        data: &Func,
        module: &Module,
        variables: &BTreeMap<String, i64>,
        given: &BTreeMap<Place, i64>,
    ) -> Result<BTreeMap<usize, shardc_ir::Shape>, Vec<Diagnostic>> {
        let mut shapes: BTreeMap<usize, shardc_ir::Shape> = BTreeMap::new();
        let (mut errors, mut missing, mut nameless) = (Vec::new(), BTreeSet::new(), Vec::new());
        for (&(i, d), expression) in &self.dims {
            let name = data.shown_argument(&module.locs, i);
            let derived = expression.as_ref().and_then(|expression| expression.evaluate(variables));
            let size = match (given.get(&(i, d)), derived) {
                (Some(&size), Some(derived)) if size != derived => {
                    let message = format!(
                        "dimension {d} of {name} has two sizes: {size}, and {derived} according to its symbolic shape"
                    );
                    errors.push(Diagnostic::invalid("SH0353", message).at(data.arg_span(i)));
                    continue;
                }
                (Some(&size), _) | (None, Some(size)) => size,
                (None, None) => {
                    match expression {
                        Some(expression) => expression.variables(&mut missing),
                        None => nameless.push(format!("{name}.{d}")),
                    }
                    continue;
                }
            };
            if size < 0 {
                let message = format!("dimension {d} of {name} would have the negative size {size}");
                errors.push(Diagnostic::invalid("SH0353", message).at(data.arg_span(i)));
                continue;
            }
            let ty = data.params[i];
            let shape =
                shapes.entry(i).or_insert_with(|| module.types.shape_of(ty).cloned().unwrap_or_default());
            if let Some(n) = shape.get_mut(d) {
                *n = size;
            }
        }
        missing.retain(|name| !variables.contains_key(name));
        let wanted: Vec<String> = missing.into_iter().chain(nameless).collect();
        if let Some(first) = wanted.first() {
            let message = format!("no size is given for {}", wanted.join(", "));
            let hint = format!("give sizes with `Compiler::dim`, as in {first}=64");
            errors.push(Diagnostic::invalid("SH0351", message).at(data.span).hint(hint));
        }
        if errors.is_empty() { Ok(shapes) } else { Err(errors) }
    }
}

/// Returns the dimension of a parameter whose size equals `value`.
fn dimension_of(module: &Module, value: ValueId) -> Option<Place> {
    let op = &module.ops[module.def_op(value)?];
    match op.kind {
        OpKind::Convert => dimension_of(module, *op.operands.first()?),
        OpKind::GetDimensionSize { dim } => match module.values[*op.operands.first()?].def() {
            ValueDef::Arg(_, i) => Some((i as usize, dim as usize)),
            ValueDef::Result(..) => None,
        },
        _ => None,
    }
}

/// Returns the shapes that the message of a shape assertion lists: `args[0].shape = (2*b, 4),args[1]['w'].shape = (b,)`.
fn symbolic_shapes(message: &str) -> Option<Vec<Vec<Expression>>> {
    let (_, rest) = message.split_once(SHAPES)?;
    let (list, _) = rest.split_once(AFTER_SHAPES)?;
    let mut shapes = Vec::new();
    for part in list.split(".shape = (").skip(1) {
        let mut depth = 0u32;
        let mut dims = vec![String::new()];
        for c in part.chars() {
            match c {
                ')' if depth == 0 => break,
                ',' if depth == 0 => {
                    dims.push(String::new());
                    continue;
                }
                '(' => depth += 1,
                ')' => depth -= 1,
                _ => {}
            }
            dims.last_mut()?.push(c);
        }
        // Python writes a tuple of one element as `(b,)`.
        if dims.last().is_some_and(|dim| dim.trim().is_empty()) {
            dims.pop();
        }
        shapes.push(dims.iter().map(|dim| Expression::parse(dim)).collect::<Option<Vec<_>>>()?);
    }
    Some(shapes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shapes_of_a_message_are_read() {
        let message = "... polymorphic shapes specifications: args[0]['(a'].shape = (max(b, 3), 4),args[1].shape = (2*b,). \
                       Obtained dimension variables: 'b' = {0}";
        let shapes = symbolic_shapes(message).unwrap();
        let sizes = BTreeMap::from([("b".to_owned(), 5)]);
        let sizes: Vec<Vec<_>> =
            shapes.iter().map(|shape| shape.iter().map(|dim| dim.evaluate(&sizes)).collect()).collect();
        assert_eq!(sizes, [vec![Some(5), Some(4)], vec![Some(10)]]);
    }
}
