//! The compared programs: collectives of each element type, and a training step.

use std::fmt::Write as _;
use std::fs;

use shardc::{Interface, exec};
use shardc_ir::{DType, DTypeClass};
use shardc_runtime::HostArray;
use shardc_tests::root;

/// The number of devices of all processes together.
pub(crate) const DEVICES: usize = 8;

/// A program for [`DEVICES`] devices.
pub(crate) struct Program {
    pub(crate) name: String,
    pub(crate) text: String,
    /// Collectives that the partitioned program must contain.
    pub(crate) has: &'static [&'static str],
    /// Whether sums are exact in any order.
    pub(crate) is_exact: bool,
}

/// Element types that gloo reduces.
const REDUCED: [DType; 11] = [
    DType::I8,
    DType::I32,
    DType::I64,
    DType::UI8,
    DType::UI32,
    DType::UI64,
    DType::BF16,
    DType::F16,
    DType::F32,
    DType::F64,
    DType::C64,
];
/// Element types that gloo only moves.
const MOVED: [DType; 4] = [DType::I1, DType::I16, DType::UI16, DType::C128];

const MOVES: &[&str] = &["all_gather", "all_to_all", "collective_permute"];
const ALL: &[&str] = &["all_reduce", "all_gather", "reduce_scatter", "all_to_all", "collective_permute"];
const STEP: &[&str] = &["all_reduce"];

/// Device groups: all devices, pairs, and unordered groups of four. Each group has devices of two or four processes.
const GROUPS: [(usize, &str); 3] = [
    (8, "[[0, 1, 2, 3, 4, 5, 6, 7]]"),
    (2, "[[0, 4], [1, 5], [2, 6], [3, 7]]"),
    (4, "[[6, 1, 4, 3], [2, 5, 0, 7]]"),
];

/// All programs.
pub(crate) fn all() -> Vec<Program> {
    let of = |dtype: DType, reductions: &[&str], has| Program {
        name: format!("collectives of {dtype}"),
        text: collectives(dtype, reductions),
        has,
        is_exact: true,
    };
    let reduced = REDUCED.map(|dtype| {
        let reductions: &[&str] = match dtype.class() {
            DTypeClass::Complex => &["add", "multiply"],
            _ => &["add", "multiply", "maximum", "minimum"],
        };
        of(dtype, reductions, ALL)
    });
    let moved = MOVED.map(|dtype| of(dtype, &[], MOVES));
    let step = "mlp_dp_tp_train";
    let step = Program {
        name: step.to_owned(),
        text: fs::read_to_string(root().join("programs").join(format!("{step}.mlir"))).unwrap(),
        has: STEP,
        is_exact: false,
    };
    reduced.into_iter().chain(moved).chain([step]).collect()
}

/// The collectives of one element type, each with one result.
fn collectives(dtype: DType, reductions: &[&str]) -> String {
    let mut text = Body { dtype, text: String::new(), results: Vec::new() };
    for (i, reduction) in reductions.iter().enumerate() {
        text.reduction("all_reduce", "", GROUPS[i % 3].1, reduction, "8x8");
        let (size, groups) = GROUPS[(i + 1) % 3];
        text.reduction(
            "reduce_scatter",
            "scatter_dimension = 1 : i64, ",
            groups,
            reduction,
            &format!("8x{}", 8 / size),
        );
    }
    for (size, groups) in GROUPS {
        text.operation(
            "all_gather",
            "all_gather_dim = 0 : i64, ",
            groups,
            ", use_global_device_ids",
            &format!("{}x8", 8 * size),
        );
        let dims =
            format!("split_dimension = 0 : i64, concat_dimension = 1 : i64, split_count = {size} : i64, ");
        text.operation("all_to_all", &dims, groups, "", &format!("{}x{}", 8 / size, 8 * size));
    }
    // A cyclic shift over all devices, and a collective-permute in which some devices receive zeros.
    text.permute("[[0, 1], [1, 2], [2, 3], [3, 4], [4, 5], [5, 6], [6, 7], [7, 0]]");
    text.permute("[[7, 0], [0, 5], [3, 2]]");
    text.program()
}

/// A computation on blocks of 8x8, under construction.
struct Body {
    dtype: DType,
    text: String,
    /// The shape of each result.
    results: Vec<String>,
}

impl Body {
    fn begin(&mut self, name: &str, options: &str) {
        let number = self.results.len();
        let channel = number + 1;
        let _ = write!(
            self.text,
            "    %{number} = \"stablehlo.{name}\"(%x) <{{{options}channel_handle = #stablehlo.channel_handle<handle = {channel}, type = 1>, "
        );
    }

    fn end(&mut self, shape: &str) {
        let _ = writeln!(self.text, " : (tensor<8x8x{0}>) -> tensor<{shape}x{0}>", self.dtype);
        self.results.push(shape.to_owned());
    }

    fn operation(&mut self, name: &str, options: &str, groups: &str, more: &str, shape: &str) {
        self.begin(name, options);
        let _ = write!(self.text, "replica_groups = dense<{groups}> : tensor<{}xi64>{more}}}>", dims(groups));
        self.end(shape);
    }

    fn reduction(&mut self, name: &str, options: &str, groups: &str, by: &str, shape: &str) {
        self.begin(name, options);
        let _ = write!(
            self.text,
            "replica_groups = dense<{groups}> : tensor<{}xi64>, use_global_device_ids}}> ({{\n    \
             ^bb0(%l: tensor<{t}>, %r: tensor<{t}>):\n      %both = stablehlo.{by} %l, %r : tensor<{t}>\n      \
             stablehlo.return %both : tensor<{t}>\n    }})",
            dims(groups),
            t = self.dtype,
        );
        self.end(shape);
    }

    fn permute(&mut self, pairs: &str) {
        self.begin("collective_permute", "");
        let _ = write!(self.text, "source_target_pairs = dense<{pairs}> : tensor<{}xi64>}}>", dims(pairs));
        self.end("8x8");
    }

    /// The text of the program. The argument and the results are sharded along their first dimension.
    fn program(&self) -> String {
        let count = self.results.len();
        let list = |of: &dyn Fn(usize) -> String| (0..count).map(of).collect::<Vec<_>>().join(", ");
        let block = |i: usize| format!("tensor<{}x{}>", self.results[i], self.dtype);
        let whole = |i: usize| {
            let (rows, columns) = self.results[i].split_once('x').unwrap();
            let rows: usize = rows.parse().unwrap();
            format!("tensor<{}x{columns}x{}>", rows * DEVICES, self.dtype)
        };
        let (wholes, blocks) = (list(&whole), list(&block));
        let sharding = "<@mesh, [{\"x\"}, {}]>";
        let argument = format!("tensor<64x8x{}>", self.dtype);
        format!(
            "sdy.mesh @mesh = <[\"x\"={DEVICES}]>\n\
             func.func @main(%arg: {argument} {{sdy.sharding = #sdy.sharding{sharding}}}) -> ({wholes}) {{\n  \
             %all:{count} = sdy.manual_computation(%arg) in_shardings=[{sharding}] out_shardings=[{}] \
             manual_axes={{\"x\"}} (%x: tensor<8x8x{}>) {{\n{}    sdy.return {} : {blocks}\n  }} : ({argument}) -> ({wholes})\n  \
             return {} : {wholes}\n}}\n",
            list(&|_| sharding.to_owned()),
            self.dtype,
            self.text,
            list(&|i| format!("%{i}")),
            list(&|i| format!("%all#{i}")),
        )
    }
}

/// The shape of a list of lists.
fn dims(lists: &str) -> String {
    let count = lists.matches('[').count() - 1;
    format!("{count}x{}", (lists.matches(',').count() + 1) / count)
}

impl Program {
    /// The inputs of the program.
    pub(crate) fn inputs(&self, interface: &Interface) -> Vec<HostArray> {
        match self.is_exact {
            true => interface.inputs.iter().map(|input| exact(input.global.dtype)).collect(),
            false => exec::random_inputs(interface, 1).unwrap(),
        }
    }
}

/// Elements of which eight can be added and multiplied exactly: any integers, and floats that are powers of two.
fn exact(dtype: DType) -> HostArray {
    let shape = [64, 8];
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let size = HostArray::byte_size(dtype, &shape).unwrap();
    match dtype.class() {
        DTypeClass::Bool => {
            HostArray::new(dtype, &shape, (0..size).map(|_| (random() & 1) as u8).collect()).unwrap()
        }
        DTypeClass::Signed | DTypeClass::Unsigned => {
            HostArray::new(dtype, &shape, (0..size).map(|_| (random() >> 32) as u8).collect()).unwrap()
        }
        DTypeClass::Float | DTypeClass::Complex => {
            let parts = if dtype.class() == DTypeClass::Complex { 2 } else { 1 };
            let values: Vec<f64> =
                (0..64 * 8 * parts).map(|_| [-2.0, -1.0, 1.0, 2.0][(random() >> 32) as usize % 4]).collect();
            HostArray::from_f64(dtype, &shape, &values).unwrap()
        }
    }
}
