//! Every operation of the operation table (`shardc_ir::OpDef`), with random attributes, regions and shapes.
//!
//! An input is a mesh and some pieces: small programs around one operation. Each piece is partitioned separately. The accepted pieces are
//! joined into one program, which is partitioned and run on its devices and on one device. The padding of arguments contains NaN or other
//! extreme values. If results differ, the piece that causes the difference is found and shrunk.
//!
//! For each operation, the number and the outcome of the attempts to generate it are counted under stages that begin with `@`.

mod check;
mod control;
mod devices;
mod elements;
mod gathers;
mod moves;
mod piece;
mod sums;
mod table;
mod values;
mod windows;

use std::env;

use self::piece::{Mesh, Piece};
use super::rng::Rng;
use super::sources::Sources;

pub(super) use self::check::{run, run_on_many};

/// The number of small programs in a fuzzer input.
const PIECES: usize = 12;

/// The number of small programs in a fuzzer input with a large mesh.
const PIECES_ON_MANY: usize = 4;

/// The environment variable that selects a single operation to generate.
pub const ONLY: &str = "SHARDC_FUZZ_OP";

pub(super) fn draw(_: &Sources, rng: &mut Rng) -> Vec<u8> {
    let mesh = Mesh::draw(rng);
    pieces(rng, &mesh, PIECES)
}

/// Draws a few small programs on a mesh of up to a million devices.
pub(super) fn draw_on_many(_: &Sources, rng: &mut Rng) -> Vec<u8> {
    let mesh = Mesh::draw_large(rng);
    pieces(rng, &mesh, PIECES_ON_MANY)
}

fn pieces(rng: &mut Rng, mesh: &Mesh, count: usize) -> Vec<u8> {
    let only = env::var(ONLY).ok();
    let drawn: Vec<_> = table::drawers()
        .into_iter()
        .filter(|(name, _)| only.as_deref().is_none_or(|only| name.ends_with(only)))
        // Manual computations have values with one element per device, which would be large on large meshes.
        .filter(|(_, drawer)| mesh.devices() <= 64 || !table::is_manual(*drawer))
        .collect();
    let mut out = format!("// mesh {}\n// mode {}\n// seed {}\n", mesh.text(), rng.below(2), rng.below(1000));
    let mut number = 0;
    for _ in 0..count * 3 {
        if number == count || drawn.is_empty() {
            break;
        }
        let (name, drawer) = drawn[rng.below(drawn.len())];
        let mut piece = Piece::new(rng, mesh, number);
        if drawer(&mut piece, name).is_some() {
            out.push_str(&piece.finish(name));
            number += 1;
        }
    }
    out.into_bytes()
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use shardc::Compiler;

    use super::*;
    use crate::fuzz::{From, Sources};

    /// Generated programs are valid StableHLO, and every operation is generated often.
    #[test]
    fn pieces_are_programs() {
        let sources = Sources::load(From::Checkout).unwrap();
        let (mut drawn, mut failures) = (BTreeSet::new(), BTreeMap::new());
        for case in 0..400 {
            let mut rng = Rng::new("ops", 5, case);
            let input = String::from_utf8(draw(&sources, &mut rng)).unwrap();
            for program in check::programs(&input) {
                drawn.insert(program.op.clone());
                let text = program.text();
                let wrong = match Compiler::read(text.as_bytes()) {
                    Ok(module) => shardc_ir::verify(&module).err().map(|errors| format!("{errors:?}")),
                    Err(error) => Some(error.render("piece", &text, false)),
                };
                if let Some(wrong) = wrong {
                    failures.entry(program.op.clone()).or_insert(format!("{wrong}\n{text}"));
                }
            }
        }
        let missing: Vec<&str> = table::drawers()
            .into_iter()
            .map(|(name, _)| name)
            .filter(|name| !drawn.contains(*name))
            .collect();
        let shown = failures.into_values().collect::<Vec<String>>().join("\n");
        assert!(shown.is_empty(), "{shown}");
        assert!(missing.is_empty(), "never drawn: {missing:?}");
    }
}
