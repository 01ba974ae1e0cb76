//! Extreme and invalid meshes: many axes, axes of size one, huge and prime axes, invalid device orders, sub-axes that do not divide,
//! several meshes, unusual GSPMD tile assignments.

use shardc_stablehlo::parse;

use super::mutate::{EDGES, annotate_on, axes, numbers};
use super::outcome::{Finding, Trace};
use super::rng::Rng;
use super::sources::{Level, Sources};
use super::text::compiled;

/// The folder of small programs, whose meshes are replaced.
const SMALL: &str = "tests/programs/small/";

/// Programs without annotations.
const PLAIN: &[&str] = &[
    "func.func @main(%x: tensor<32x64xf32>, %w: tensor<64x16xf32>) -> tensor<32x16xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<32x64xf32>, tensor<64x16xf32>) -> tensor<32x16xf32>
  return %0 : tensor<32x16xf32>
}
",
    "func.func @main(%x: tensor<12x18xf32>) -> tensor<216xf32> {
  %0 = stablehlo.reshape %x : (tensor<12x18xf32>) -> tensor<216xf32>
  %1 = stablehlo.tanh %0 : tensor<216xf32>
  return %1 : tensor<216xf32>
}
",
    "func.func @main(%x: tensor<7x13xf32>, %y: tensor<7x13xf32>) -> tensor<14x13xf32> {
  %0 = stablehlo.concatenate %x, %y, dim = 0 : (tensor<7x13xf32>, tensor<7x13xf32>) -> tensor<14x13xf32>
  return %0 : tensor<14x13xf32>
}
",
    "func.func @main(%x: tensor<16x30xf32>, %y: tensor<16xf32>) -> tensor<16xf32> {
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %c) applies stablehlo.add across dimensions = [1] : (tensor<16x30xf32>, tensor<f32>) -> tensor<16xf32>
  %1 = stablehlo.add %0, %y : tensor<16xf32>
  return %1 : tensor<16xf32>
}
",
    "func.func @main(%x: tensor<64x8xf32>, %y: tensor<64x8xf32>) -> (tensor<64x8xf32>, tensor<8x64xf32>) {
  %0 = stablehlo.slice %x [3:61, 0:8] : (tensor<64x8xf32>) -> tensor<58x8xf32>
  %c = stablehlo.constant dense<1.0> : tensor<f32>
  %1 = stablehlo.pad %0, %c, low = [2, 0], high = [4, 0], interior = [0, 0] : (tensor<58x8xf32>, tensor<f32>) -> tensor<64x8xf32>
  %2 = stablehlo.multiply %1, %y : tensor<64x8xf32>
  %3 = stablehlo.transpose %2, dims = [1, 0] : (tensor<64x8xf32>) -> tensor<8x64xf32>
  return %2, %3 : tensor<64x8xf32>, tensor<8x64xf32>
}
",
    "func.func @main(%x: tensor<8x4x6x10xf32>) -> tensor<8x4x6x10xf32> {
  %0 = stablehlo.reverse %x, dims = [1] : tensor<8x4x6x10xf32>
  %1 = stablehlo.reshape %0 : (tensor<8x4x6x10xf32>) -> tensor<32x60xf32>
  %2 = stablehlo.negate %1 : tensor<32x60xf32>
  %3 = stablehlo.reshape %2 : (tensor<32x60xf32>) -> tensor<8x4x6x10xf32>
  return %3 : tensor<8x4x6x10xf32>
}
",
    "func.func @main(%x: tensor<f32>, %y: tensor<0x8xf32>, %z: tensor<1x1xf32>) -> tensor<0x8xf32> {
  %0 = stablehlo.broadcast_in_dim %x, dims = [] : (tensor<f32>) -> tensor<0x8xf32>
  %1 = stablehlo.add %0, %y : tensor<0x8xf32>
  return %1 : tensor<0x8xf32>
}
",
    "func.func @main(%x: tensor<24xf32>, %i: tensor<i32>) -> tensor<24xf32> {
  %c = stablehlo.constant dense<0> : tensor<i32>
  %n = stablehlo.constant dense<5> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %0:2 = stablehlo.while(%k = %c, %v = %x) : tensor<i32>, tensor<24xf32>
  cond {
    %1 = stablehlo.compare LT, %k, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %1 = stablehlo.add %k, %one : tensor<i32>
    %2 = stablehlo.dynamic_slice %v, %i, sizes = [6] : (tensor<24xf32>, tensor<i32>) -> tensor<6xf32>
    %3 = stablehlo.dynamic_update_slice %v, %2, %k : (tensor<24xf32>, tensor<6xf32>, tensor<i32>) -> tensor<24xf32>
    stablehlo.return %1, %3 : tensor<i32>, tensor<24xf32>
  }
  return %0#1 : tensor<24xf32>
}
",
];

pub(super) fn draw(sources: &Sources, rng: &mut Rng) -> Vec<u8> {
    let text = match rng.below(4) {
        0 => own_meshes(sources.under(SMALL, rng).text(), rng),
        1 => own_meshes(sources.text(rng, Level::Partitions).text(), rng),
        2 => tiles(rng.of(PLAIN), rng),
        _ => {
            let names: Vec<String> = names(rng);
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let mesh = format!("sdy.mesh @mesh = {}\n", mesh(&names, rng));
            let plain = rng.of(PLAIN);
            let program = annotate_on(plain, &names, rng).unwrap_or_else(|| plain.to_owned());
            let more = match rng.below(4) {
                0 => format!("sdy.mesh @mesh_0 = {}\n", self::mesh(&names, rng)),
                _ => String::new(),
            };
            // Some arguments are annotated with the second mesh.
            let program = if more.is_empty() { program } else { program.replacen("@mesh,", "@mesh_0,", 1) };
            mesh + &more + &parts(&program, rng)
        }
    };
    text.into_bytes()
}

/// Names for mesh axes: usually a few, rarely many.
fn names(rng: &mut Rng) -> Vec<String> {
    let count = match rng.below(10) {
        0 => 0,
        1 => 8 + rng.below(30),
        2 => 5 + rng.below(4),
        _ => 1 + rng.below(4),
    };
    (0..count).map(|n| format!("a{n}")).collect()
}

/// Draws the size of an axis. The product of all sizes is usually small enough for the mesh to be valid.
fn size(rng: &mut Rng, count: usize) -> String {
    match rng.below(24) {
        0 => rng.of(EDGES).to_owned(),
        1 => rng.of(&[31, 97, 127, 251, 1009, 8191]).to_string(),
        2 => rng.of(&[16, 64, 256, 512]).to_string(),
        3..=6 => "1".to_owned(),
        7..=9 => rng.of(&[3, 5, 7, 6, 9, 11, 13]).to_string(),
        _ if count > 6 => rng.of(&[1, 1, 1, 2]).to_string(),
        _ => rng.of(&[2, 2, 4, 8]).to_string(),
    }
}

/// Returns the text of a mesh with the axes `names`.
fn mesh(names: &[&str], rng: &mut Rng) -> String {
    let sizes: Vec<String> = if rng.one_in(10) {
        large(names.len(), rng)
    } else {
        names.iter().map(|_| size(rng, names.len())).collect()
    };
    let axes: Vec<String> =
        names.iter().zip(&sizes).map(|(name, size)| format!("\"{name}\"={size}")).collect();
    let devices = sizes.iter().try_fold(1_i64, |all, size| all.checked_mul(size.parse().ok()?));
    format!("<[{}]{}>", axes.join(", "), ids(devices.unwrap_or(i64::MAX), rng))
}

/// Axis sizes for many devices. The maximum is rare, because it only makes the device lists of collective-permutes longer.
fn large(count: usize, rng: &mut Rng) -> Vec<String> {
    let mut left = if rng.one_in(8) { 20 } else { 10 + rng.below(6) };
    let last = count.saturating_sub(1);
    let part = |axis: usize| {
        let log = if axis == last { left } else { rng.below(left + 1) };
        left -= log;
        (1_i64 << log).to_string()
    };
    (0..count).map(part).collect()
}

/// The device order: none, a valid order, or an order with repeated, missing or additional devices.
fn ids(devices: i64, rng: &mut Rng) -> String {
    if !(0..=512).contains(&devices) || !rng.one_in(3) {
        return String::new();
    }
    let mut ids: Vec<i64> = (0..devices).collect();
    match rng.below(12) {
        0 => {}
        1 => ids.reverse(),
        2 => drop(ids.pop()),
        3 => ids.push(devices),
        4 if devices > 0 => ids[0] = rng.of(&[-1, devices, devices * 2, i64::MAX, devices - 1]),
        5 => ids.iter_mut().for_each(|id| *id += 1),
        _ => rng.shuffle(&mut ids),
    }
    let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
    format!(", device_ids=[{}]", ids.join(", "))
}

/// A program on other meshes with the same axes, and sometimes additional ones.
fn own_meshes(text: &str, rng: &mut Rng) -> String {
    let mut out = String::new();
    for line in text.lines() {
        match (line.find("sdy.mesh @"), line.find('<')) {
            (Some(_), Some(at)) if !rng.one_in(4) => {
                let mut names = axes(line);
                match rng.below(6) {
                    0 => names.push("more"),
                    1 => names.reverse(),
                    2 => drop(names.pop()),
                    _ => {}
                }
                out.push_str(&line[..at]);
                out.push_str(&mesh(&names, rng));
            }
            _ => out.push_str(line),
        }
        out.push('\n');
    }
    parts(&out, rng)
}

/// Replaces some axes in shardings by sub-axes.
fn parts(text: &str, rng: &mut Rng) -> String {
    let mut out = text.to_owned();
    let count = if rng.one_in(3) { 1 + rng.below(2) } else { 0 };
    for _ in 0..count {
        let places: Vec<usize> = out.match_indices("\"}").map(|(at, _)| at + 1).collect();
        if places.is_empty() {
            break;
        }
        let at = places[rng.below(places.len())];
        let (pre, size) = (
            rng.of(&["1", "1", "1", "1", "2", "2", "3", "0"]),
            rng.of(&["2", "2", "2", "2", "4", "3", "1", "0"]),
        );
        out.insert_str(at, &format!(":({pre}){size}"));
    }
    out
}

/// A program with GSPMD tile assignments on its arguments.
fn tiles(plain: &str, rng: &mut Rng) -> String {
    let mut out = String::new();
    let mut rest = plain;
    let devices = rng.of(&[1_usize, 2, 3, 4, 6, 8, 8, 8, 12, 16, 64]);
    let body = plain.find("{\n").unwrap_or(plain.len());
    let mut from = 0;
    while let Some(at) = rest.find(": tensor<").filter(|at| from + at < body) {
        let Some(end) = rest[at..].find('>').map(|n| at + n + 1) else { break };
        let rank = rest[at..end].matches('x').count();
        out.push_str(&rest[..end]);
        (rest, from) = (&rest[end..], from + end);
        if rest.starts_with([',', ')']) && !rng.one_in(3) {
            out.push_str(&format!(" {{mhlo.sharding = \"{}\"}}", tile(rank, devices, rng)));
        }
    }
    out + rest
}

/// A tile assignment, valid or nearly so.
fn tile(rank: usize, devices: usize, rng: &mut Rng) -> String {
    match rng.below(12) {
        0 => {
            return rng
                .of(&["{replicated}", "{manual}", "{unknown}", "{}", "{{replicated}}", "{maximal device=9}"])
                .to_owned();
        }
        1 => return format!("{{maximal device={}}}", rng.of(EDGES)),
        _ => {}
    }
    let mut left = devices;
    let mut dims: Vec<usize> = (0..rank)
        .map(|_| {
            let divisors: Vec<usize> = (1..=left).filter(|&n| left.is_multiple_of(n)).collect();
            let n = rng.of(&divisors);
            left /= n;
            n
        })
        .collect();
    let mut tail = "";
    if left > 1 || rng.one_in(4) {
        dims.push(left);
        tail = rng.of(&[
            " last_tile_dim_replicate",
            " last_tile_dims={replicated}",
            " last_tile_dims={manual}",
            "",
            " last_tile_dims={manual, replicated}",
            " last_tile_dims={unreduced}",
        ]);
    }
    let mut order: Vec<usize> = (0..devices).collect();
    let order = match rng.below(5) {
        0 => {
            let perm: Vec<usize> = (0..dims.len()).rev().collect();
            format!("<=[{}]T({})", joined(&dims), joined(&perm))
        }
        1 | 2 => format!("<=[{devices}]"),
        3 => {
            rng.shuffle(&mut order);
            joined(&order)
        }
        _ => joined(&order),
    };
    let text = format!("{{devices=[{}]{order}{tail}}}", joined(&dims));
    if !rng.one_in(4) {
        return text;
    }
    let places = numbers(&text);
    match places.get(rng.below(places.len())) {
        Some(place) => format!("{}{}{}", &text[..place.start], rng.of(EDGES), &text[place.end..]),
        None => text,
    }
}

fn joined(numbers: &[usize]) -> String {
    numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

pub(super) fn run(input: &[u8], trace: &mut Trace) -> Result<(), Finding> {
    let text = String::from_utf8_lossy(input);
    let module = match parse(&text) {
        Ok(module) => module,
        Err(errors) => return trace.refuse("read", &errors),
    };
    trace.pass("read");
    if let Err(errors) = shardc_ir::verify(&module) {
        return trace.refuse("verify", &errors);
    }
    trace.pass("verify");
    compiled(input, module, trace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_meshes_are_within_the_limit() {
        let mut rng = Rng::new("meshes", 1, 1);
        for _ in 0..1000 {
            let devices: i64 =
                large(3, &mut rng).iter().map(|size| size.parse::<i64>().expect("a size")).product();
            assert!((1 << 10..=shardc_ir::MAX_DEVICES).contains(&devices));
        }
    }

    #[test]
    fn plain_programs_are_programs() {
        for plain in PLAIN {
            let module = parse(plain).unwrap_or_else(|errors| panic!("{plain}\n{errors:?}"));
            assert_eq!(shardc_ir::verify(&module), Ok(()), "{plain}");
        }
    }
}
