//! Values in scope, and the lines emitted so far.

use std::fmt::Write as _;

use super::Choices;
use super::placement::Mesh;

/// Element types of random programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Elem {
    I32,
    F32,
    I1,
    I8,
    UI32,
    C64,
}

impl Elem {
    pub(crate) fn text(self) -> &'static str {
        match self {
            Elem::I32 => "i32",
            Elem::F32 => "f32",
            Elem::I1 => "i1",
            Elem::I8 => "i8",
            Elem::UI32 => "ui32",
            Elem::C64 => "complex<f32>",
        }
    }

    /// Whether the type is an integer type.
    pub(crate) fn is_int(self) -> bool {
        match self {
            Elem::I32 | Elem::I8 | Elem::UI32 => true,
            Elem::F32 | Elem::I1 | Elem::C64 => false,
        }
    }

    /// The text of zero.
    pub(crate) fn zero(self) -> &'static str {
        match self {
            Elem::I32 | Elem::I8 | Elem::UI32 => "0",
            Elem::F32 => "0.0",
            Elem::I1 => "false",
            Elem::C64 => "(0.0, 0.0)",
        }
    }

    /// Whether operations on the type round.
    pub(crate) fn is_rounded(self) -> bool {
        matches!(self, Elem::F32 | Elem::C64)
    }

    /// Returns the smallest and the largest value of the type, or two arbitrary numbers for complex types, which have no order.
    pub(crate) fn extremes(self) -> [&'static str; 2] {
        match self {
            Elem::I32 => ["-2147483648", "2147483647"],
            Elem::I8 => ["-128", "127"],
            Elem::UI32 => ["0", "4294967295"],
            Elem::F32 => ["0xFF800000", "0x7F800000"],
            Elem::I1 => ["false", "true"],
            Elem::C64 => ["(-1.0, 0.0)", "(1.0, 0.0)"],
        }
    }

    /// The `compare_type` of a comparison of elements.
    pub(crate) fn order(self) -> &'static str {
        match self {
            Elem::I32 | Elem::I8 => "SIGNED",
            Elem::UI32 | Elem::I1 => "UNSIGNED",
            Elem::F32 | Elem::C64 => "FLOAT",
        }
    }
}

/// A tensor in scope.
#[derive(Clone, Debug)]
pub(crate) struct Tensor {
    pub(crate) name: String,
    pub(crate) shape: Vec<i64>,
    pub(crate) elem: Elem,
    /// Whether every order of computation produces the same bits.
    pub(crate) exact: bool,
}

impl Tensor {
    pub(crate) fn ty(&self) -> String {
        ty(&self.shape, self.elem)
    }

    pub(crate) fn elements(&self) -> i64 {
        self.shape.iter().product()
    }

    pub(crate) fn rank(&self) -> usize {
        self.shape.len()
    }
}

/// The text of a type.
pub(crate) fn ty(shape: &[i64], elem: Elem) -> String {
    let mut out = String::from("tensor<");
    for n in shape {
        let _ = write!(out, "{n}x");
    }
    out + elem.text() + ">"
}

/// Numbers separated by commas.
pub(crate) fn list<T: ToString>(items: impl IntoIterator<Item = T>) -> String {
    items.into_iter().map(|i| i.to_string()).collect::<Vec<_>>().join(", ")
}

const SIZES: [i64; 14] = [8, 4, 6, 5, 16, 7, 10, 2, 9, 12, 3, 11, 1, 24];

/// Element types of parameters.
const ELEMS: [Elem; 9] =
    [Elem::F32, Elem::I32, Elem::F32, Elem::I32, Elem::I1, Elem::F32, Elem::I8, Elem::UI32, Elem::C64];

/// Element types of parameters if floats are preferred.
const FLOATS: [Elem; 9] =
    [Elem::F32, Elem::F32, Elem::F32, Elem::F32, Elem::I1, Elem::F32, Elem::F32, Elem::I32, Elem::C64];

/// The maximum number of elements of a tensor, so that programs run fast.
const MOST_ELEMENTS: i64 = 6000;

pub(crate) struct Emitter {
    pub(crate) mesh: Mesh,
    sizes: [i64; 3],
    /// Whether floats are preferred.
    pub(crate) floats: bool,
    parameters: Vec<String>,
    body: String,
    indent: usize,
    next: usize,
    /// The values that operations may use.
    pub(crate) scope: Vec<Tensor>,
    used: std::collections::BTreeSet<String>,
    /// Other functions.
    functions: String,
}

impl Emitter {
    pub(crate) fn new(mesh: Mesh, sizes: [u16; 3]) -> Self {
        Emitter {
            mesh,
            sizes: sizes.map(|s| SIZES[usize::from(s) % SIZES.len()]),
            floats: false,
            parameters: Vec::new(),
            body: String::new(),
            indent: 2,
            next: 0,
            scope: Vec::new(),
            used: std::collections::BTreeSet::new(),
            functions: String::new(),
        }
    }

    /// Emits the parameters. The last parameter is an index.
    pub(crate) fn parameters(&mut self, recipes: &[[u16; 10]]) {
        for recipe in recipes {
            let mut c = Choices::new(recipe);
            let elems = if self.floats { FLOATS } else { ELEMS };
            let elem = c.of(&elems);
            let rank = c.of(&[2, 1, 3, 2]);
            let shape = (0..rank).map(|_| c.of(&self.sizes)).collect();
            let sharding = (!c.one_in(6)).then(|| self.mesh.sharding(&mut c, rank));
            self.parameter(shape, elem, sharding);
        }
        self.parameter(Vec::new(), Elem::I32, None);
    }

    fn parameter(&mut self, shape: Vec<i64>, elem: Elem, sharding: Option<String>) {
        let name = format!("%arg{}", self.parameters.len());
        let sharding = sharding.map(|s| format!(" {{sdy.sharding = #sdy.sharding{s}}}")).unwrap_or_default();
        self.parameters.push(format!("{name}: {}{sharding}", ty(&shape, elem)));
        self.scope.push(Tensor { name, shape, elem, exact: true });
    }

    /// Returns the number of an unused value name.
    pub(crate) fn fresh(&mut self) -> usize {
        self.next += 1;
        self.next - 1
    }

    pub(crate) fn line(&mut self, text: &str) {
        for line in text.lines() {
            let _ = writeln!(self.body, "{:1$}{line}", "", self.indent);
        }
    }

    /// Returns the lines that `write` emits, without adding them to the program, and the result of `write`. Values defined in these lines
    /// do not remain in scope.
    pub(crate) fn apart_from_body<R>(
        &mut self,
        write: impl FnOnce(&mut Self) -> Option<(Tensor, R)>,
    ) -> Option<(String, Tensor, R)> {
        let before = std::mem::take(&mut self.body);
        let outside = self.scope.len();
        self.nest();
        let result = write(self);
        self.outdent();
        self.scope.truncate(outside);
        let body = std::mem::replace(&mut self.body, before);
        result.map(|(tensor, more)| (body, tensor, more))
    }

    /// Appends lines that were emitted separately.
    pub(crate) fn append(&mut self, body: &str) {
        self.body += body;
    }

    /// Indents lines by two columns until the next `outdent`.
    pub(crate) fn nest(&mut self) {
        self.indent += 2;
    }

    pub(crate) fn outdent(&mut self) {
        self.indent -= 2;
    }

    /// Whether comparing the elements of a tensor gives the same result on every platform. Floats are compared only if they are preferred:
    /// in double precision, random floats are rarely equal.
    pub(crate) fn compares(&self, t: &Tensor) -> bool {
        t.elem.is_int() && t.exact || self.floats && t.elem == Elem::F32
    }

    /// Whether a tensor has exact 32-bit integers, or floats if these are preferred.
    pub(crate) fn sorts(&self, t: &Tensor) -> bool {
        t.elem == Elem::I32 && t.exact || self.floats && t.elem == Elem::F32
    }

    /// Whether a tensor of the shape `shape` is small enough for a random program.
    pub(crate) fn fits(shape: &[i64]) -> bool {
        shape.len() <= 4 && shape.iter().product::<i64>() <= MOST_ELEMENTS
    }

    /// Emits an operation with one result. The line is `text`, then `join`, then the type of the result.
    pub(crate) fn push(&mut self, text: &str, join: &str, shape: &[i64], elem: Elem, exact: bool) -> Tensor {
        let name = format!("%{}", self.fresh());
        self.line(&format!("{name} = {text}{join}{}", ty(shape, elem)));
        let tensor = Tensor { name, shape: shape.to_vec(), elem, exact };
        self.scope.push(tensor.clone());
        tensor
    }

    /// Emits the operation `name` on tensors: `name %a, %b, attributes : (types) -> type`.
    pub(crate) fn apply(
        &mut self,
        name: &str,
        operands: &[&Tensor],
        attributes: &str,
        shape: &[i64],
        elem: Elem,
        exact: bool,
    ) -> Tensor {
        self.use_all(operands);
        let names = list(operands.iter().map(|t| &t.name));
        let types = list(operands.iter().map(|t| t.ty()));
        self.push(&format!("{name} {names}{attributes} : ({types})"), " -> ", shape, elem, exact)
    }

    pub(crate) fn use_all(&mut self, operands: &[&Tensor]) {
        self.used.extend(operands.iter().map(|t| t.name.clone()));
    }

    /// Emits a scalar constant, which later random operations do not use.
    pub(crate) fn scalar(&mut self, elem: Elem, text: &str) -> Tensor {
        self.constant(text, &[], elem)
    }

    /// Chooses a random tensor in scope that satisfies `fits`; recent tensors are more likely.
    pub(crate) fn pick(&self, c: &mut Choices<'_>, fits: impl Fn(&Tensor) -> bool) -> Option<Tensor> {
        let candidates: Vec<&Tensor> = self.scope.iter().filter(|t| fits(t)).collect();
        let n = candidates.len();
        if n == 0 {
            return None;
        }
        let at = c.below(n * 2);
        let at = if at < n { n - 1 - at } else { n - 1 - (at - n) % n.min(3) };
        candidates.get(at).map(|&t| t.clone())
    }

    /// Adds another function to the module.
    pub(crate) fn function(&mut self, text: &str) {
        self.functions += text;
        self.functions.push('\n');
    }

    /// Emits a constant tensor, which later random operations do not use. `text` is the content of `dense<...>`.
    pub(crate) fn constant(&mut self, text: &str, shape: &[i64], elem: Elem) -> Tensor {
        let tensor = self.push(&format!("stablehlo.constant dense<{text}>"), " : ", shape, elem, true);
        self.scope.pop();
        tensor
    }

    /// Emits a constant list of 64-bit integers, and returns its name and type.
    pub(crate) fn numbers(&mut self, numbers: &[i64]) -> (String, String) {
        let (name, ty) = (format!("%{}", self.fresh()), format!("tensor<{}xi64>", numbers.len()));
        self.line(&format!("{name} = stablehlo.constant dense<[{}]> : {ty}", list(numbers)));
        (name, ty)
    }

    /// The text of the module, which returns all unused values, and the used values that `more` selects.
    pub(crate) fn finish(mut self, more: u16) -> String {
        let returned: Vec<Tensor> = self
            .scope
            .iter()
            .enumerate()
            .filter(|(i, t)| {
                !t.name.starts_with("%arg") && (!self.used.contains(&t.name) || more >> (i % 16) & 1 == 1)
            })
            .map(|(_, t)| t.clone())
            .collect();
        let returned = if returned.is_empty() { self.scope[..1].to_vec() } else { returned };
        let types = list(returned.iter().map(Tensor::ty));
        self.line(&format!("return {} : {types}", list(returned.iter().map(|t| &t.name))));
        format!(
            "{}func.func public @main({}) -> ({types}) {{\n{}}}\n{}",
            self.mesh.text(),
            self.parameters.join(", "),
            self.body,
            self.functions
        )
    }
}
