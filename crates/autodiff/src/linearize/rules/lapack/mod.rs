//! Calls of LAPACK, as JAX emits them for CPUs: `lapack_<type><routine>_ffi`.
//!
//! | routine | derivative |
//! |---|---|
//! | `potrf`, `trsm` | those of `stablehlo.cholesky` and `stablehlo.triangular_solve` |
//! | `getrf` | [`lu`] |
//! | `geqrf`, `orgqr`, `ungqr` | [`qr`] |
//! | `syevd`, `heevd` | [`eigh`] |
//! | `gesdd` | [`svd`] |
//!
//! The rules are those of JAX 0.10.2 and 0.12 (`jax/_src/lax/linalg.py`). Routines that have no derivative in JAX have none here.

mod eigh;
mod lu;
mod qr;
mod svd;

use shardc_ir::discardable::SHARDING_RULE;
use shardc_ir::{Attr, Build, Diagnostic, OpKind, Transposition, TriangularSpec, TypeId, ValueId};
use smallvec::smallvec;

use super::linear_algebra;
use crate::linearize::{At, Rule};

/// The letters that LAPACK uses for sides, triangles and modes. JAX passes them as ASCII codes.
mod letter {
    pub(super) const ALL: i64 = b'A' as i64;
    pub(super) const CONJUGATE: i64 = b'C' as i64;
    pub(super) const LEFT: i64 = b'L' as i64;
    pub(super) const LOWER: i64 = b'L' as i64;
    pub(super) const NONE: i64 = b'N' as i64;
    pub(super) const SMALL: i64 = b'S' as i64;
    pub(super) const TRANSPOSE: i64 = b'T' as i64;
    pub(super) const UNIT: i64 = b'U' as i64;
    pub(super) const VECTORS: i64 = b'V' as i64;
}

/// Linearizes a call of LAPACK; returns `None` for other calls.
///
/// # Errors
/// Returns an error if the call has no derivative in JAX.
pub(super) fn call(at: &mut At<'_, '_>, target: &str) -> Result<Option<Rule>, Box<Diagnostic>> {
    let Some(routine) = routine(target) else { return Ok(None) };
    let one = |tangent: Option<ValueId>| Rule::Tangents(smallvec![tangent]);
    Ok(Some(match routine {
        "trsm" => {
            let transpose_a = match option(at, "trans_x") {
                Some(letter::TRANSPOSE) => Transposition::Transpose,
                Some(letter::CONJUGATE) => Transposition::Adjoint,
                _ => Transposition::None,
            };
            let spec = TriangularSpec {
                left_side: option(at, "side") == Some(letter::LEFT),
                lower: option(at, "uplo") == Some(letter::LOWER),
                unit_diagonal: option(at, "diag") == Some(letter::UNIT),
                transpose_a,
            };
            one(linear_algebra::triangular_solve(at, &spec)?)
        }
        "potrf" => {
            let lower = option(at, "uplo") == Some(letter::LOWER);
            // LAPACK writes the factor into one triangle of the result, and leaves elements of the operand in the other triangle.
            let factor = linear_algebra::part(at, lower);
            let tangent = linear_algebra::cholesky(at, factor, lower)?;
            Rule::Tangents(smallvec![tangent, None])
        }
        "getrf" => lu::rule(at)?,
        "geqrf" => qr::factor(at)?,
        "orgqr" | "ungqr" => one(qr::orthogonal(at)?),
        "syevd" | "heevd" => eigh::rule(at)?,
        "gesdd" => svd::rule(at)?,
        _ => return Ok(None),
    }))
}

/// Returns the LAPACK routine that a custom call's target names, without the letter of its element type; `None` for other targets.
fn routine(target: &str) -> Option<&str> {
    let name = target.strip_prefix("lapack_")?.strip_suffix("_ffi")?;
    name.strip_prefix(['s', 'd', 'c', 'z'])
}

/// Returns an option of the call by its name in the `backend_config`.
fn option(at: &At<'_, '_>, name: &str) -> Option<i64> {
    let data = &at.linear.module.ops[at.op];
    let OpKind::CustomCall(spec) = &data.kind else { return None };
    let of_op = data.attrs.get("mhlo.backend_config");
    let configs = [of_op, spec.props.get("mhlo.backend_config"), spec.props.get("backend_config")];
    configs.into_iter().flatten().find_map(|config| match config {
        Attr::Dict(dict) => match dict.get(name)? {
            Attr::Int(value, _) => Some(*value),
            _ => None,
        },
        Attr::Raw(text) => raw_option(text, name),
        _ => None,
    })
}

/// The number after `name =` in a dictionary's text.
fn raw_option(text: &str, name: &str) -> Option<i64> {
    text.trim_matches(['{', '}']).split(',').find_map(|entry| {
        let (key, value) = entry.split_once('=')?;
        let number = value.split(':').next()?.trim();
        (key.trim() == name).then(|| number.parse().ok())?
    })
}

/// A second call of LAPACK, inserted after the current call, with a different target or mode and different result types. Its layouts are
/// copied from operands and results of the current call.
struct Again<'a> {
    target: Option<String>,
    mode: Option<i64>,
    operands: &'a [ValueId],
    types: &'a [TypeId],
    /// For each operand, the operand (`Ok`) or the result (`Err`) of the current call whose layout it gets, as an index.
    operand_layouts: &'a [Result<usize, usize>],
    /// For each result, the index of the result of the current call whose layout it gets.
    result_layouts: &'a [usize],
}

impl Again<'_> {
    fn write(self, at: &mut At<'_, '_>) -> Vec<ValueId> {
        let OpKind::CustomCall(mut spec) = at.kind() else { return Vec::new() };
        let mut attrs = at.linear.module.ops[at.op].attrs.clone();
        // The aliases and the sharding rule describe the types of the current call, so the new call does not get these attributes.
        spec.props.remove("output_operand_aliases");
        attrs.remove(SHARDING_RULE);
        if let Some(target) = self.target {
            spec.target = target.into();
        }
        let list = |name: &str| match spec.props.get(name) {
            Some(Attr::Array(list)) => Some(list.clone()),
            _ => None,
        };
        let (of_operands, of_results) = (list("operand_layouts"), list("result_layouts"));
        if let (Some(of_operands), Some(of_results)) = (of_operands, of_results) {
            let operand = |place: &Result<usize, usize>| match place {
                Ok(i) => of_operands.get(*i).cloned(),
                Err(i) => of_results.get(*i).cloned(),
            };
            let operands: Vec<Attr> = self.operand_layouts.iter().filter_map(operand).collect();
            let results = self.result_layouts.iter().filter_map(|&i| of_results.get(i).cloned()).collect();
            spec.props.set("operand_layouts", Attr::Array(operands));
            spec.props.set("result_layouts", Attr::Array(results));
        }
        if let Some(mode) = self.mode {
            for dict in [&mut attrs, &mut spec.props] {
                for name in ["mhlo.backend_config", "backend_config"] {
                    if let Some(Attr::Dict(config)) = dict.get(name).cloned() {
                        let mut config = config;
                        if config.get("mode").is_some() {
                            config.set("mode", Attr::Int(mode, "ui8".into()));
                        }
                        dict.set(name, Attr::Dict(config));
                    }
                }
            }
        } else if let Some(Attr::Dict(_)) = attrs.get("mhlo.backend_config") {
            attrs.set("mhlo.backend_config", Attr::Dict(shardc_ir::AttrDict::new()));
        }
        let op = at.primal().op(OpKind::CustomCall(spec), self.operands, self.types, &[]);
        at.linear.module.ops[op].attrs = attrs;
        at.linear.module.ops[op].results.to_vec()
    }
}
