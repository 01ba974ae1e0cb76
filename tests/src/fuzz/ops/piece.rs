//! A small program around one operation, emitted line by line.
//!
//! Operations are emitted in generic form, so that one function can emit all of them.

use std::fmt::Write as _;

use crate::fuzz::Rng;

/// Generates a program around the operation with the given name; `None` if the random choices are not valid.
pub(super) type Drawer = fn(&mut Piece<'_>, &'static str) -> Option<()>;

/// The axes of a mesh and the order of its devices.
pub(super) struct Mesh {
    axes: Vec<(&'static str, usize)>,
    ids: Option<Vec<usize>>,
}

/// Meshes of at most eight devices, including sizes that divide few dimensions.
const MESHES: &[&[(&str, usize)]] = &[
    &[("x", 8)],
    &[("x", 4), ("y", 2)],
    &[("x", 2), ("y", 4)],
    &[("x", 2), ("y", 2), ("z", 2)],
    &[("x", 2)],
    &[("x", 3), ("y", 2)],
    &[("x", 2), ("y", 3)],
    &[("x", 6)],
    &[("x", 5)],
    &[("x", 4), ("y", 1), ("z", 2)],
    &[("x", 7)],
    &[("x", 3)],
];

impl Mesh {
    pub(super) fn draw(rng: &mut Rng) -> Mesh {
        let axes = rng.of(MESHES).to_vec();
        let devices = axes.iter().map(|(_, size)| size).product();
        let ids = rng.one_in(4).then(|| {
            let mut ids: Vec<usize> = (0..devices).collect();
            rng.shuffle(&mut ids);
            ids
        });
        Mesh { axes, ids }
    }

    /// A mesh of up to 2^20 devices, whose axis sizes are powers of two except one. Most meshes are small, because a collective-permute
    /// lists every pair of devices.
    pub(super) fn draw_large(rng: &mut Rng) -> Mesh {
        let names = ["x", "y", "z", "w"];
        let mut left = if rng.one_in(4) { 20 } else { 4 + rng.below(10) };
        let mut room = 1_usize << left;
        let count = 1 + rng.below(names.len());
        let mut axes: Vec<(&'static str, usize)> = Vec::new();
        for name in &names[..count] {
            let log = rng.below(left + 1);
            left -= log;
            axes.push((*name, 1 << log));
        }
        room /= axes.iter().map(|(_, size)| size).product::<usize>();
        if let Some((_, size)) = axes.last_mut() {
            *size *= match room {
                0..=2 => room.max(1),
                _ => rng.of(&[1, 2, 3]).min(room),
            };
        }
        Mesh { axes, ids: None }
    }

    pub(super) fn text(&self) -> String {
        let axes = list(self.axes.iter().map(|(name, size)| format!("\"{name}\"={size}")));
        let ids = self.ids.as_ref().map(|ids| format!(", device_ids=[{}]", list(ids)));
        format!("<[{axes}]{}>", ids.unwrap_or_default())
    }

    pub(super) fn devices(&self) -> usize {
        self.axes.iter().map(|(_, size)| size).product()
    }

    pub(super) fn axes(&self) -> &[(&'static str, usize)] {
        &self.axes
    }

    /// The device groups along `axis`, one for each combination of coordinates along the other axes.
    pub(super) fn groups(&self, axis: &str) -> Vec<Vec<usize>> {
        let at = self.axes.iter().position(|(name, _)| *name == axis).unwrap_or(0);
        let sizes: Vec<usize> = self.axes.iter().map(|(_, size)| *size).collect();
        let (inner, size) = (sizes[at + 1..].iter().product::<usize>(), sizes[at]);
        let devices: usize = sizes.iter().product();
        let id = |n: usize| self.ids.as_ref().map_or(n, |ids| ids[n]);
        (0..devices)
            .filter(|n| n / inner % size == 0)
            .map(|first| (0..size).map(|k| id(first + k * inner)).collect())
            .collect()
    }

    /// Draws a sharding of a tensor of rank `rank`: axes, sub-axes, open and closed dimensions.
    pub(super) fn sharding(&self, rng: &mut Rng, rank: usize) -> String {
        // Each part is a name, a pre-size, a size, and the size of the axis.
        let mut parts: Vec<(&str, usize, usize, usize)> = Vec::new();
        for &(name, size) in &self.axes {
            let cuts: Vec<usize> = (2..size).filter(|cut| size.is_multiple_of(*cut)).collect();
            if !cuts.is_empty() && rng.one_in(4) {
                let cut = rng.of(&cuts);
                parts.extend([(name, 1, cut, size), (name, cut, size / cut, size)]);
            } else {
                parts.push((name, 1, size, size));
            }
        }
        rng.shuffle(&mut parts);
        let mut dims: Vec<Vec<(&str, usize, usize, usize)>> = vec![Vec::new(); rank];
        for part in parts {
            if rank == 0 || rng.one_in(4) {
                continue;
            }
            let dim = &mut dims[rng.below(rank)];
            match dim.last_mut() {
                Some(last) if last.0 == part.0 && last.1 * last.2 == part.1 => last.2 *= part.2,
                _ => dim.push(part),
            }
        }
        let dims: Vec<String> = dims
            .iter()
            .map(|dim| {
                let mut items: Vec<String> = dim
                    .iter()
                    .map(|&(name, pre, size, full)| match size == full {
                        true => format!("\"{name}\""),
                        false => format!("\"{name}\":({pre}){size}"),
                    })
                    .collect();
                if rng.one_in(4) {
                    items.push("?".to_owned());
                }
                format!("{{{}}}", items.join(", "))
            })
            .collect();
        format!("<@mesh, [{}]>", dims.join(", "))
    }
}

/// A value of the program.
#[derive(Clone, Debug)]
pub(super) struct Tensor {
    pub(super) name: String,
    pub(super) shape: Vec<i64>,
    pub(super) elem: &'static str,
}

impl Tensor {
    pub(super) fn ty(&self) -> String {
        ty(&self.shape, self.elem)
    }

    pub(super) fn rank(&self) -> usize {
        self.shape.len()
    }
}

/// The text of a type.
pub(super) fn ty(shape: &[i64], elem: &str) -> String {
    let mut out = String::from("tensor<");
    for n in shape {
        let _ = write!(out, "{n}x");
    }
    out + elem + ">"
}

/// Items separated by commas.
pub(super) fn list<T: ToString>(items: impl IntoIterator<Item = T>) -> String {
    items.into_iter().map(|item| item.to_string()).collect::<Vec<_>>().join(", ")
}

/// An array attribute of integers.
pub(super) fn ints<T: ToString>(items: impl IntoIterator<Item = T>) -> String {
    let items = list(items);
    if items.is_empty() { "array<i64>".to_owned() } else { format!("array<i64: {items}>") }
}

/// Pairs of numbers as a dense attribute.
pub(super) fn pairs(items: &[(i64, i64)]) -> String {
    let rows = list(items.iter().map(|(a, b)| format!("[{a}, {b}]")));
    let rows = if items.is_empty() { String::new() } else { format!("[{rows}]") };
    format!("dense<{rows}> : tensor<{}x2xi64>", items.len())
}

/// Groups of devices as a dense attribute.
pub(super) fn groups(items: &[Vec<usize>]) -> String {
    let rows = list(items.iter().map(|row| format!("[{}]", list(row))));
    format!("dense<[{rows}]> : tensor<{}x{}xi64>", items.len(), items.first().map_or(0, Vec::len))
}

pub(super) const FLOATS: &[&str] = &["f32", "f32", "f32", "f64", "bf16", "f16"];
pub(super) const INTS: &[&str] = &["i32", "i32", "i8", "ui32", "i64", "ui8", "i16", "ui16", "ui64"];
pub(super) const SIGNED: &[&str] = &["i32", "i8", "i64", "i16"];
pub(super) const COMPLEX: &[&str] = &["complex<f32>", "complex<f64>"];
/// Element types that most operations support.
pub(super) const NUMBERS: &[&str] = &["f32", "i32", "f32", "bf16", "i8", "f64", "ui32", "complex<f32>"];
/// Element types of operations that only move elements.
pub(super) const ANY: &[&str] =
    &["f32", "i32", "i1", "bf16", "i8", "f64", "ui32", "complex<f32>", "f16", "ui8", "i64", "f8E4M3FN"];

const SIZES: &[i64] = &[8, 4, 6, 5, 16, 7, 10, 2, 9, 12, 3, 11, 1, 13, 8, 4, 6];

pub(super) fn is_float(elem: &str) -> bool {
    elem.starts_with('f') || elem == "bf16"
}

/// Formats a number as a literal of an element type.
pub(super) fn number(elem: &str, value: i64) -> String {
    match elem {
        "i1" => (value != 0).to_string(),
        _ if elem.starts_with("complex") => format!("({value}.0, 0.5)"),
        _ if is_float(elem) => format!("{value}.0"),
        _ if elem.starts_with("ui") => value.unsigned_abs().to_string(),
        _ => value.to_string(),
    }
}

/// The text of a small program under construction.
pub(super) struct Piece<'a> {
    pub(super) rng: &'a mut Rng,
    pub(super) mesh: &'a Mesh,
    number: usize,
    next: usize,
    arguments: String,
    body: String,
    functions: String,
    results: String,
    notes: Vec<String>,
}

impl<'a> Piece<'a> {
    pub(super) fn new(rng: &'a mut Rng, mesh: &'a Mesh, number: usize) -> Piece<'a> {
        let [arguments, body, functions, results] = std::array::from_fn(|_| String::new());
        Piece { rng, mesh, number, next: 0, arguments, body, functions, results, notes: Vec::new() }
    }

    /// Records a feature of the program, for the table of generated features.
    pub(super) fn note(&mut self, class: impl Into<String>) {
        let class = class.into().replace(['@', ',', ';'], " ");
        if !self.notes.contains(&class) {
            self.notes.push(class);
        }
    }

    /// Records the feature `class` with [`Piece::note`] if `is` is true.
    pub(super) fn note_if(&mut self, is: bool, class: &str) {
        if is {
            self.note(class);
        }
    }

    /// Returns true with probability 1 in `n`, and then records the feature `class`.
    pub(super) fn chance(&mut self, n: usize, class: &str) -> bool {
        let is = self.rng.one_in(n);
        self.note_if(is, class);
        is
    }

    pub(super) fn fresh(&mut self) -> String {
        self.next += 1;
        format!("p{}_{}", self.number, self.next)
    }

    /// Draws the size of a dimension, which is rarely zero.
    pub(super) fn size(&mut self) -> i64 {
        if self.chance(60, "size 0") { 0 } else { self.rng.of(SIZES) }
    }

    /// Draws a shape of `rank` dimensions with at most a few thousand elements.
    pub(super) fn shape_of(&mut self, rank: usize) -> Vec<i64> {
        let mut shape: Vec<i64> = (0..rank).map(|_| self.size()).collect();
        while shape.iter().product::<i64>() > 3000 {
            let at = self.rng.below(rank);
            shape[at] = shape[at].div_euclid(2).max(1);
        }
        shape
    }

    /// Draws a shape of one to three dimensions, rarely four.
    pub(super) fn shape(&mut self) -> Vec<i64> {
        let rank = self.rng.of(&[1, 2, 2, 2, 3, 3, 4]);
        self.shape_of(rank)
    }

    /// Adds an argument with or without a sharding. [`filled`](super::values::filled) interprets `fill`.
    pub(super) fn argument(&mut self, shape: &[i64], elem: &'static str, fill: &str) -> Tensor {
        let tensor = Tensor { name: format!("%{}", self.fresh()), shape: shape.to_vec(), elem };
        let sharding = match self.rng.one_in(6) {
            true => String::new(),
            false => {
                format!(" {{sdy.sharding = #sdy.sharding{}}}", self.mesh.sharding(self.rng, shape.len()))
            }
        };
        let _ = writeln!(self.arguments, "// argument {fill}; {}: {}{sharding}", tensor.name, tensor.ty());
        tensor
    }

    /// Adds an argument with numbers of both signs.
    pub(super) fn numbers(&mut self, shape: &[i64], elem: &'static str) -> Tensor {
        self.argument(shape, elem, "wide")
    }

    /// Emits a scalar, as a constant or an argument.
    pub(super) fn scalar(&mut self, elem: &'static str, value: i64) -> Tensor {
        if self.chance(5, "scalar argument") {
            return self.argument(&[], elem, &format!("only {value}"));
        }
        self.constant(&[], elem, &number(elem, value))
    }

    /// Emits a constant; `text` is the content of `dense<...>`.
    pub(super) fn constant(&mut self, shape: &[i64], elem: &'static str, text: &str) -> Tensor {
        let attribute = format!("value = dense<{text}> : {}", ty(shape, elem));
        self.op1("stablehlo.constant", &[], &attribute, "", shape, elem)
    }

    pub(super) fn line(&mut self, line: &str) {
        self.body.push_str("  ");
        self.body.push_str(line);
        self.body.push('\n');
    }

    /// Adds another function to the module.
    pub(super) fn function(&mut self, text: &str) {
        for line in text.lines() {
            let _ = writeln!(self.functions, "// function {line}");
        }
    }

    /// Emits an operation in generic form, and returns its results.
    pub(super) fn op(
        &mut self,
        name: &str,
        operands: &[&Tensor],
        attributes: &str,
        regions: &str,
        results: &[(&[i64], &'static str)],
    ) -> Vec<Tensor> {
        let base = self.fresh();
        let all: Vec<Tensor> = results
            .iter()
            .enumerate()
            .map(|(i, (shape, elem))| Tensor { name: format!("%{base}#{i}"), shape: shape.to_vec(), elem })
            .collect();
        let names = list(operands.iter().map(|t| &t.name));
        let types = list(operands.iter().map(|t| t.ty()));
        let attributes = if attributes.is_empty() { String::new() } else { format!(" <{{{attributes}}}>") };
        let regions = if regions.is_empty() { String::new() } else { format!(" ({regions})") };
        let outs = list(all.iter().map(Tensor::ty));
        // Some operations with one result get a sharding annotation.
        let annotated = all.len() == 1
            && name != "stablehlo.constant"
            && !name.starts_with("sdy.")
            && self.chance(5, "annotated operation");
        let sharding = match (annotated, all.first()) {
            (true, Some(only)) => {
                let sharding = self.mesh.sharding(self.rng, only.rank());
                format!(" {{sdy.sharding = #sdy.sharding_per_value<[{sharding}]>}}")
            }
            _ => String::new(),
        };
        let left = if all.is_empty() { String::new() } else { format!("%{base}:{} = ", all.len()) };
        let text =
            format!("{left}\"{name}\"({names}){attributes}{regions}{sharding} : ({types}) -> ({outs})");
        self.line(&text);
        all
    }

    /// Emits an operation with one result.
    pub(super) fn op1(
        &mut self,
        name: &str,
        operands: &[&Tensor],
        attributes: &str,
        regions: &str,
        shape: &[i64],
        elem: &'static str,
    ) -> Tensor {
        self.op(name, operands, attributes, regions, &[(shape, elem)]).swap_remove(0)
    }

    /// Returns a value from the program, so that it is compared.
    pub(super) fn result(&mut self, tensor: &Tensor) {
        let sharding = match self.rng.one_in(4) {
            true => String::new(),
            false => {
                let sharding = self.mesh.sharding(self.rng, tensor.rank());
                format!(" {{sdy.sharding = #sdy.sharding{sharding}}}")
            }
        };
        let _ = writeln!(self.results, "// result {}; {}{sharding}", tensor.name, tensor.ty());
    }

    /// Returns the text of a region that combines two scalars of a type by an operation.
    pub(super) fn combiner(&mut self, op: &str, elem: &str) -> String {
        let n = self.fresh();
        let ty = ty(&[], elem);
        format!(
            "{{ ^bb0(%{n}a: {ty}, %{n}b: {ty}): %{n}c = \"{op}\"(%{n}a, %{n}b) : ({ty}, {ty}) -> {ty} \"stablehlo.return\"(%{n}c) : ({ty}) -> () }}"
        )
    }

    /// Returns the text of a region that returns the second of two scalars.
    pub(super) fn second(&mut self, elem: &str) -> String {
        let n = self.fresh();
        let ty = ty(&[], elem);
        format!("{{ ^bb0(%{n}a: {ty}, %{n}b: {ty}): \"stablehlo.return\"(%{n}b) : ({ty}) -> () }}")
    }

    /// Returns the text of a region that compares two scalars.
    pub(super) fn comparison(&mut self, direction: &str, elem: &str) -> String {
        let n = self.fresh();
        let ty = ty(&[], elem);
        format!(
            "{{ ^bb0(%{n}a: {ty}, %{n}b: {ty}): %{n}c = \"stablehlo.compare\"(%{n}a, %{n}b) <{{comparison_direction = #stablehlo<comparison_direction {direction}>}}> : ({ty}, {ty}) -> tensor<i1> \"stablehlo.return\"(%{n}c) : (tensor<i1>) -> () }}"
        )
    }

    /// Draws an associative and commutative operation on a type, and an initial value.
    pub(super) fn reducer(&mut self, elem: &'static str) -> (&'static str, Tensor) {
        let complex = elem.starts_with("complex");
        let names: &[&str] = match elem {
            "i1" => &["or", "and", "xor"],
            _ if complex => &["add"],
            _ if is_float(elem) => &["add", "maximum", "minimum", "add"],
            _ => &["add", "maximum", "minimum", "multiply", "and", "or", "xor"],
        };
        let name = self.rng.of(names);
        self.note(name);
        let neutral = match name {
            "add" | "or" | "xor" => 0,
            "multiply" => 1,
            // The initial value need not be the identity of the reduction.
            _ => self.rng.of(&[-1, 0, 1]),
        };
        let value = if self.chance(3, "initial value counts") { self.rng.of(&[3, 1, 2]) } else { neutral };
        let start = match (name, complex) {
            ("and", _) if value != 3 => self.constant(&[], elem, if elem == "i1" { "true" } else { "127" }),
            (_, true) if value == 0 => self.constant(&[], elem, "(0.0, 0.0)"),
            _ => self.scalar(elem, value),
        };
        let full: &[(&str, &str)] = &[
            ("add", "stablehlo.add"),
            ("maximum", "stablehlo.maximum"),
            ("minimum", "stablehlo.minimum"),
            ("multiply", "stablehlo.multiply"),
            ("and", "stablehlo.and"),
            ("or", "stablehlo.or"),
            ("xor", "stablehlo.xor"),
        ];
        let full = full.iter().find(|(short, _)| *short == name).map_or("stablehlo.add", |(_, full)| *full);
        (full, start)
    }

    /// The lines of the program.
    pub(super) fn finish(self, op: &str) -> String {
        let Piece { arguments, body, functions, results, notes, .. } = self;
        format!("// piece {op}; {}\n{arguments}{body}{results}{functions}", notes.join("; "))
    }
}
