//! The printer, which matches MLIR's layout byte for byte.
//!
//! A module does not store value names; [`names`] generates the same names as MLIR. [`ops`] prints operations in pretty form ([`bodies`] if
//! they have regions), and [`generic`] in generic form. [`outline`] gives the parts of the generic form to the writer of bytecode. All use the syntax table of [`syntax`](crate::syntax).

mod attrs;
mod bodies;
mod booleans;
mod generic;
mod locs;
mod module;
mod names;
mod opaque;
mod ops;
pub(crate) mod outline;
mod properties;

use std::ops::Range;

use rustc_hash::FxHashMap;
use shardc_ir::{Module, OpId, ReplicaGroups, SecondaryMap, TypeId, ValueId};

pub use booleans::list_booleans;
use names::{Name, Numbering};
pub use properties::properties;

/// The MLIR form that is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PrintForm {
    /// Each operation in its custom assembly format, if it has one.
    #[default]
    Pretty,
    /// `"name"(operands) <{properties}> ({regions}) {attributes} : types`, which any version of MLIR reads.
    Generic,
    /// `"name"(operands) ({regions}) {properties and attributes} : types`, the form of MLIR before operations had properties. A tool that
    /// does not know an operation keeps its inherent attributes in this dictionary, where a tool that knows the operation finds them.
    GenericAttributes,
}

impl PrintForm {
    fn is_generic(self) -> bool {
        match self {
            PrintForm::Pretty => false,
            PrintForm::Generic | PrintForm::GenericAttributes => true,
        }
    }
}

/// The shardings of a module that are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shardings {
    /// All shardings: those of function arguments and results, and of operations.
    #[default]
    All,
    /// Only the shardings of function arguments and results.
    Signature,
    /// No shardings.
    None,
}

/// The options of [`print()`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PrintOptions {
    /// The pretty or generic form.
    pub form: PrintForm,
    /// Whether source locations are written.
    pub locations: bool,
    /// The shardings that are printed.
    pub shardings: Shardings,
}

/// Prints a module. Equal modules have equal text, and text printed by MLIR is unchanged by [`parse`](crate::parse) and `print`.
#[must_use]
pub fn print(module: &Module, options: &PrintOptions) -> String {
    let mut printer = Printer::new(module, *options);
    printer.module();
    printer.out
}

/// Prints one operation in pretty form, with the value names of its function.
#[must_use]
pub fn print_op(module: &Module, op: OpId) -> String {
    let mut printer = Printer::new(module, PrintOptions::default());
    let numbering = printer.number_function_of(op);
    printer.op(op, &numbering, names::Parent::Func);
    printer.out
}

/// Returns the value names that [`print()`] assigns, with `%`.
#[must_use]
pub fn value_names(module: &Module) -> SecondaryMap<ValueId, String> {
    let mut printer = Printer::new(module, PrintOptions::default());
    printer.module();
    let mut names = SecondaryMap::new();
    for value in module.values.keys() {
        let mut text = String::new();
        printer.names[value].push(&mut text);
        names[value] = text;
    }
    names
}

struct Printer<'m> {
    module: &'m Module,
    options: PrintOptions,
    out: String,
    indent: usize,
    names: SecondaryMap<ValueId, Name>,
    types: SecondaryMap<TypeId, Option<Box<str>>>,
    locs: locs::LocAliases,
    /// For each large list of replica groups, the range of its text in `out`.
    groups: FxHashMap<ReplicaGroups, Range<usize>>,
}

impl<'m> Printer<'m> {
    fn new(module: &'m Module, options: PrintOptions) -> Self {
        Printer {
            module,
            options,
            out: String::with_capacity(module.ops.len() * 96 + 1024),
            indent: 0,
            names: SecondaryMap::new(),
            types: SecondaryMap::new(),
            locs: locs::LocAliases::default(),
            groups: FxHashMap::default(),
        }
    }

    fn push(&mut self, text: &str) {
        self.out.push_str(text);
    }

    fn newline(&mut self) {
        self.out.push('\n');
        for _ in 0..self.indent {
            self.out.push_str("  ");
        }
    }

    fn ty(&mut self, ty: TypeId) {
        if self.types[ty].is_none() {
            self.types[ty] = Some(self.module.types.display(ty).into());
        }
        if let Some(text) = &self.types[ty] {
            self.out.push_str(text);
        }
    }

    fn ty_of(&mut self, value: ValueId) {
        self.ty(self.module.values[value].ty);
    }

    fn value(&mut self, value: ValueId) {
        self.names[value].push(&mut self.out);
    }

    fn values(&mut self, values: &[ValueId]) {
        for (i, &value) in values.iter().enumerate() {
            if i > 0 {
                self.push(", ");
            }
            self.value(value);
        }
    }

    fn types_of(&mut self, values: &[ValueId]) {
        for (i, &value) in values.iter().enumerate() {
            if i > 0 {
                self.push(", ");
            }
            self.ty_of(value);
        }
    }

    /// Prints `T` for one result, else `(T, U)`.
    fn result_types(&mut self, values: &[ValueId]) {
        if let [value] = values {
            self.ty_of(*value);
        } else {
            self.push("(");
            self.types_of(values);
            self.push(")");
        }
    }

    /// Prints `(T, U) -> V`.
    fn functional_type(&mut self, op: OpId) {
        let op = &self.module.ops[op];
        self.push("(");
        self.types_of(&op.operands);
        self.push(") -> ");
        self.result_types(&op.results);
    }

    /// Names all values of the function that contains `op`, to print the operation alone.
    fn number_function_of(&mut self, op: OpId) -> Numbering {
        let mut at_op = Numbering::default();
        for body in self.module.bodies().collect::<Vec<_>>() {
            let mut stack = vec![(body, Numbering::default())];
            while let Some((region, mut numbering)) = stack.pop() {
                self.number_region(region, None, &mut numbering);
                for &inner in &self.module.regions[region].ops {
                    if inner == op {
                        at_op = numbering.clone();
                    }
                    for &region in &self.module.ops[inner].regions {
                        stack.push((region, numbering.clone()));
                    }
                }
            }
        }
        at_op
    }
}
