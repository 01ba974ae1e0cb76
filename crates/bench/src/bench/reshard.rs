//! Counts the bytes that a device receives in every reshard on small meshes. They are compared with the bytes of its new block that the
//! device lacks before the reshard, and with the bytes that it receives with XLA's partitioner.
//!
//! For the comparison with XLA, XLA's partitioner runs on a program that consists of only the reshard. The results are cached in a file,
//! because computing them takes minutes.

use std::{collections::BTreeMap, fs, path::Path, process::Command};

use anyhow::{Context, Result, ensure};
use shardc_ir::{AxisRef, DType, EntityRef, Mesh, MeshId, TensorSharding, TensorType};
use shardc_passes::reshard::{Traffic, traffic};

use super::{BenchArgs, page};
use xtask::{process, python, workspace::Workspace};

/// A script that runs XLA's partitioner on reshards, and counts received bytes.
const SCRIPT: &str = include_str!("../../python/reshard_bytes.py");

/// Axis sizes of each mesh.
const MESHES: &[&[i64]] = &[&[8], &[4, 2], &[2, 4], &[2, 2, 2], &[3, 2], &[6, 4]];

/// Shapes that all axes divide, by rank. They are large, so that bytes and not latency determine how a reshard is lowered.
const EVEN: &[&[i64]] = &[&[25_165_824], &[6144, 6144], &[384, 384, 384]];

/// Shapes that no axis divides.
const UNEVEN: &[&[i64]] = &[&[25_165_813], &[6143, 6137], &[383, 389, 379]];

/// Upper bound of the ratio of received bytes to lacking bytes, which are the bytes of its new block that a device does not have before the
/// reshard.
const BOUND: f64 = 1.25;

/// If a mesh and a shape have more than [`MANY`] pairs of shardings, one of every `SAMPLE` pairs is compared with XLA.
const SAMPLE: usize = 8;

/// The maximum number of pairs of shardings of a mesh and a shape for which all pairs are compared with XLA.
const MANY: usize = 4000;

/// Upper bound of the ratio of received bytes to those in XLA's partition. It is above 1, because for uneven shapes the programs differ by
/// a few bytes.
const SLACK: f64 = 1.002;

/// One reshard: a mesh, a shape, and a pair of shardings.
struct Pair {
    mesh: &'static [i64],
    shape: &'static [i64],
    from: Axes,
    to: Axes,
    /// Whether the pair is compared with XLA.
    compares: bool,
}

/// For each dimension, the indices of the mesh axes that shard it.
type Axes = Vec<Vec<usize>>;

/// A pair and its results.
struct Row {
    pair: Pair,
    ours: Traffic,
    xla: Option<f64>,
}

pub(super) fn run(workspace: &Workspace, args: &BenchArgs) -> Result<()> {
    let pairs = pairs();
    let xla = xla(workspace, args, &pairs)?;
    let mut rows = Vec::with_capacity(pairs.len());
    for pair in pairs {
        let ours = pair
            .ours()
            .with_context(|| format!("cannot find the collectives of the reshard {}", pair.name()))?;
        let xla = xla.get(&pair.name()).copied().flatten();
        rows.push(Row { pair, ours, xla });
    }
    for row in rows.iter().filter(|row| row.is_above()) {
        let Traffic { received, lacking, collectives, starts } = &row.ours;
        println!(
            "{}: receives {received}, lacks {lacking} ({:.2}), XLA {:?} ({:.2}): {starts} starts, {}; {}",
            row.pair.name(),
            row.ratio(),
            row.xla,
            row.over_xla(),
            collectives.join(", "),
            row.reason().unwrap_or("the reason is unknown")
        );
    }
    let table = table(&rows);
    println!("\n{table}");
    if args.update {
        page::update(workspace, "--only reshard", &table)?;
    }
    let open = rows.iter().filter(|row| row.is_above() && row.reason().is_none()).count();
    ensure!(open == 0, "{open} reshards receive more bytes than the bounds allow, for no known reason");
    Ok(())
}

impl Row {
    /// The ratio of received bytes to the bytes of its new block that a device lacks before the reshard.
    fn ratio(&self) -> f64 {
        match (self.ours.received, self.ours.lacking) {
            (0, 0) => 1.0,
            (received, lacking) => received as f64 / lacking as f64,
        }
    }

    /// The ratio of received bytes to those in XLA's partition; 0 if XLA's bytes are unknown.
    fn over_xla(&self) -> f64 {
        match self.xla {
            Some(xla) if self.ours.received > 0 => self.ours.received as f64 / xla,
            _ => 0.0,
        }
    }

    /// Whether more bytes are received than the bounds allow.
    fn is_above(&self) -> bool {
        self.ratio() > BOUND || self.over_xla() > SLACK
    }

    /// Returns the reason why a device receives more bytes than a bound allows, if the reason is padding. Padding never explains a ratio of
    /// received to lacking bytes above [`BOUND`].
    fn reason(&self) -> Option<&'static str> {
        (self.ratio() <= BOUND.min(self.pair.padding())).then_some("padding of the pieces of a dimension")
    }
}

impl Pair {
    /// The largest ratio of padded to actual size among the dimensions. A reshard divides a dimension into pieces such that each old and
    /// each new shard consists of whole pieces. All pieces are padded to the longest: 379 elements in 4 pieces are padded to 4 times 95, a
    /// ratio of 1.003.
    fn padding(&self) -> f64 {
        let count = |axes: &Vec<usize>| axes.iter().map(|&axis| self.mesh[axis]).product::<i64>();
        let padding = |(&n, (from, to)): (&i64, (&Vec<usize>, &Vec<usize>))| {
            let (from, to) = (count(from), count(to));
            let parts = from / gcd(from, to) * to;
            ((n + parts - 1) / parts * parts) as f64 / n as f64
        };
        self.shape.iter().zip(self.from.iter().zip(&self.to)).map(padding).fold(1.0, f64::max)
    }

    fn mesh(&self) -> Mesh {
        Mesh::new(["a", "b", "c"].into_iter().zip(self.mesh.iter().copied()))
    }

    fn ours(&self) -> Option<Traffic> {
        let sharding = |axes: &Axes| {
            let lists: Vec<Vec<AxisRef>> =
                axes.iter().map(|list| list.iter().map(|&axis| AxisRef::whole(axis)).collect()).collect();
            TensorSharding::from_axes(MeshId::new(0), lists.iter().map(Vec::as_slice))
        };
        let ty = TensorType::new(self.shape, DType::F32);
        traffic(&self.mesh(), &sharding(&self.from), &sharding(&self.to), &ty)
    }

    fn is_even(&self) -> bool {
        EVEN.contains(&self.shape)
    }

    /// Formats mesh, shape and shardings as `4x2 6144x6144 [a][b] -> [b][a]`.
    fn name(&self) -> String {
        let (from, to) = (letters(&self.from), letters(&self.to));
        format!("{} {} {from} -> {to}", times(self.mesh), times(self.shape))
    }

    /// The program for XLA's partitioner. XLA ignores uneven shardings of arguments and results. For these, the program slices the value
    /// from an argument that is padded to an even size, and returns the sum of the resharded value.
    fn program(&self) -> String {
        let axes: Vec<String> =
            ["a", "b", "c"].iter().zip(self.mesh).map(|(name, n)| format!("\"{name}\"={n}")).collect();
        let mesh = format!("sdy.mesh @m = <[{}]>\n", axes.join(", "));
        let ty = format!("tensor<{}xf32>", times(self.shape));
        let [from, to] = [&self.from, &self.to].map(shardy);
        if self.is_even() {
            return format!(
                "{mesh}func.func public @main(%x: {ty} {{sdy.sharding = #sdy.sharding<@m, {from}>}}) -> ({ty} \
                 {{sdy.sharding = #sdy.sharding<@m, {to}>}}) {{\n  return %x : {ty}\n}}\n"
            );
        }
        let count = |axes: &Vec<usize>| axes.iter().map(|&axis| self.mesh[axis]).product::<i64>();
        let blocks: Vec<i64> = self
            .shape
            .iter()
            .zip(&self.from)
            .map(|(n, axes)| (n + count(axes) - 1) / count(axes) * count(axes))
            .collect();
        let padded = format!("tensor<{}xf32>", times(&blocks));
        let limits: Vec<String> = self.shape.iter().map(|n| format!("0:{n}")).collect();
        let dims: Vec<String> = (0..self.shape.len()).map(|d| d.to_string()).collect();
        format!(
            "{mesh}func.func public @main(%x: {padded} {{sdy.sharding = #sdy.sharding<@m, {from}>}}) -> tensor<f32> {{
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.slice %x [{}] : ({padded}) -> {ty}
  %1 = sdy.sharding_constraint %0 <@m, {from}> : {ty}
  %2 = sdy.sharding_constraint %1 <@m, {to}> : {ty}
  %3 = stablehlo.reduce(%2 init: %z) applies stablehlo.add across dimensions = [{}] : ({ty}, tensor<f32>) -> tensor<f32>
  return %3 : tensor<f32>\n}}\n",
            limits.join(", "),
            dims.join(", ")
        )
    }
}

fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

fn times(sizes: &[i64]) -> String {
    sizes.iter().map(ToString::to_string).collect::<Vec<_>>().join("x")
}

fn letters(axes: &Axes) -> String {
    let name = |axis: &usize| ["a", "b", "c"][*axis];
    axes.iter().map(|list| format!("[{}]", list.iter().map(name).collect::<String>())).collect()
}

fn shardy(axes: &Axes) -> String {
    let name = |axis: &usize| ["\"a\"", "\"b\"", "\"c\""][*axis];
    let dim = |list: &Vec<usize>| format!("{{{}}}", list.iter().map(name).collect::<Vec<_>>().join(", "));
    format!("[{}]", axes.iter().map(dim).collect::<Vec<_>>().join(", "))
}

/// Every pair of shardings by full axes (no sub-axes).
fn pairs() -> Vec<Pair> {
    let mut pairs = Vec::new();
    for shapes in [EVEN, UNEVEN] {
        for &mesh in MESHES {
            for &shape in shapes {
                let mut all = Vec::new();
                shardings(&mut vec![Vec::new()], (0..mesh.len()).collect(), shape.len(), &mut all);
                let count = all.len() * all.len();
                for (i, from) in all.iter().enumerate() {
                    for (j, to) in all.iter().enumerate().filter(|&(j, _)| i != j) {
                        let compares = count <= MANY || (i * all.len() + j) % SAMPLE == 0;
                        let (from, to) = (from.clone(), to.clone());
                        pairs.push(Pair { mesh, shape, from, to, compares });
                    }
                }
            }
        }
    }
    pairs
}

/// Appends all shardings of the remaining dimensions up to `rank` by any of the axes in `left`, in any order.
fn shardings(dims: &mut Axes, left: Vec<usize>, rank: usize, out: &mut Vec<Axes>) {
    if dims.len() == rank {
        out.push(dims.clone());
    } else {
        dims.push(Vec::new());
        shardings(dims, left.clone(), rank, out);
        dims.pop();
    }
    for &axis in &left {
        if let Some(dim) = dims.last_mut() {
            dim.push(axis);
            shardings(dims, left.iter().copied().filter(|&other| other != axis).collect(), rank, out);
            if let Some(dim) = dims.last_mut() {
                dim.pop();
            }
        }
    }
}

/// Maps the name of each compared pair to the bytes that a device receives in XLA's partition; `None` if they are unknown.
fn xla(workspace: &Workspace, args: &BenchArgs, pairs: &[Pair]) -> Result<BTreeMap<String, Option<f64>>> {
    let dir = workspace.scratch("reshard")?;
    let (known_file, script) = (dir.join("xla.json"), dir.join("reshard_bytes.py"));
    let mut known: BTreeMap<String, Option<f64>> = match fs::read_to_string(&known_file) {
        Ok(text) => {
            serde_json::from_str(&text).with_context(|| format!("reading {}", known_file.display()))?
        }
        Err(_) => BTreeMap::new(),
    };
    fs::write(&script, SCRIPT).with_context(|| format!("writing {}", script.display()))?;
    for &mesh in MESHES {
        let missing: Vec<&Pair> = pairs
            .iter()
            .filter(|pair| pair.mesh == mesh && pair.compares && !known.contains_key(&pair.name()))
            .collect();
        if missing.is_empty() {
            continue;
        }
        let python = python::with_jax(args.python.as_deref())?;
        let title = format!("partition {} reshards on {} with XLA", missing.len(), times(mesh));
        let found = process::step(&title, || counted(&dir, &python, &script, mesh, &missing))?;
        known.extend(missing.iter().map(|pair| pair.name()).zip(found));
        let text = serde_json::to_string(&known)
            .context("serializing the number of bytes that XLA's reshards send")?;
        fs::write(&known_file, text).with_context(|| format!("writing {}", known_file.display()))?;
    }
    Ok(known)
}

fn counted(
    dir: &Path,
    python: &Path,
    script: &Path,
    mesh: &[i64],
    pairs: &[&Pair],
) -> Result<Vec<Option<f64>>> {
    let programs: Vec<String> = pairs.iter().map(|pair| pair.program()).collect();
    let input = dir.join("programs.json");
    let text = serde_json::to_string(&programs).context("writing programs")?;
    fs::write(&input, text).with_context(|| format!("writing {}", input.display()))?;
    let devices: i64 = mesh.iter().product();
    let mut command = Command::new(python);
    command.arg(script).arg(devices.to_string());
    command.stdin(fs::File::open(&input).with_context(|| format!("reading {}", input.display()))?);
    let stdout = process::output(&mut command)?;
    let found: Result<Vec<Option<f64>>, _> = stdout.lines().map(serde_json::from_str).collect();
    let found = found.context("parsing how many bytes XLA's reshards send")?;
    ensure!(
        found.len() == pairs.len(),
        "the script returned {} results for {} reshards",
        found.len(),
        pairs.len()
    );
    Ok(found)
}

fn table(rows: &[Row]) -> String {
    let mut out = String::from(
        "| mesh | sizes | pairs | received: mean | worst | above 1.25 | XLA: pairs | mean | worst | ours above XLA's |\n\
         |---|---|---:|---:|---:|---:|---:|---:|---:|---:|\n",
    );
    for (title, is_even) in [("even", true), ("uneven", false)] {
        for &mesh in MESHES {
            let of = |row: &&Row| row.pair.mesh == mesh && row.pair.is_even() == is_even;
            let rows: Vec<&Row> = rows.iter().filter(of).collect();
            out += &line(&times(mesh), title, &rows);
        }
    }
    out += &line("all", "", &rows.iter().collect::<Vec<_>>());
    out += &verdict(rows);
    out
}

/// The text after the table: the reshards that receive more bytes than XLA's, and the reason.
fn verdict(rows: &[Row]) -> String {
    let over: Vec<&Row> = rows.iter().filter(|row| row.over_xla() > SLACK).collect();
    let names: Vec<String> =
        over.iter().map(|row| format!("`{}` {:.3}", row.pair.name(), row.over_xla())).collect();
    let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    format!(
        "\nAbove XLA's: {names}. These reshards exchange pieces of blocks in rounds, and pad the pieces of a dimension to the longest. \
         The bench checks that the ratio of received to lacking bytes is at most the ratio of this padding, and that no ratio is \
         above {BOUND}.\n"
    )
}

fn line(mesh: &str, sizes: &str, rows: &[&Row]) -> String {
    let mean = |ratios: &[f64]| ratios.iter().sum::<f64>() / ratios.len().max(1) as f64;
    let worst = |ratios: &[f64]| ratios.iter().copied().fold(0.0, f64::max);
    // If each device already has its new block, the ratio of the reshard is not defined.
    let lacking = || rows.iter().filter(|row| row.ours.lacking > 0);
    let ours: Vec<f64> = lacking().map(|row| row.ratio()).collect();
    let xla: Vec<f64> = lacking().filter_map(|row| Some(row.xla? / row.ours.lacking as f64)).collect();
    let above = rows.iter().filter(|row| row.ratio() > BOUND).count();
    let over = rows.iter().filter(|row| row.over_xla() > SLACK).count();
    format!(
        "| {mesh} | {sizes} | {} | {:.3} | {:.2} | {above} | {} | {:.3} | {:.2} | {over} |\n",
        rows.len(),
        mean(&ours),
        worst(&ours),
        xla.len(),
        mean(&xla),
        worst(&xla)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_order_of_axes_over_dimensions_occurs_once() {
        let mut all = Vec::new();
        shardings(&mut vec![Vec::new()], vec![0, 1], 2, &mut all);
        let mut names: Vec<String> = all.iter().map(letters).collect();
        assert_eq!(names.len(), 11);
        names.sort();
        names.dedup();
        assert_eq!(names.len(), 11, "{names:?}");
    }
}
