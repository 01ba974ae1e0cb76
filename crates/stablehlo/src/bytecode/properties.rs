//! The encoding of inherent attributes from version 5 of the format on: in the order of their names, without the names.
//! MLIR generates this encoding from the definitions of operations. The syntax table has the same data, and [`FOREIGN`]
//! has it for operations that are not in the table.
//!
//! An operation that the writer did not register has a dictionary instead, which needs no table.

use std::borrow::Cow;

use shardc_ir::{AttrDef, Diagnostic, Presence};
use smallvec::SmallVec;

use super::attr::{AttrRef, BAttr, BType, Sign, Store, TypeRef};
use super::ir::NamedAttr;
use super::reader::ByteCursor;
use super::vhlo;
use crate::codes;
use crate::lexer::Res;
use crate::syntax::row;

/// From this version on, the sizes of operand and result groups come last, in a packed form.
const PACKED_SEGMENTS: u64 = 6;

/// Operations that the syntax table does not contain. The string lists attribute names, separated by spaces. `?` marks an optional
/// attribute, and `...SegmentSizes` are the sizes of operand or result groups. After a `|`, the shorter list of an older version of the
/// dialect follows.
const FOREIGN: &[(&str, &str)] = &[
    ("arith.addf", "fastmath?|fastmath? roundingmode?"),
    ("arith.addi", "overflowFlags?"),
    ("arith.cmpf", "fastmath? predicate"),
    ("arith.cmpi", "predicate"),
    ("arith.divf", "fastmath?|fastmath? roundingmode?"),
    ("arith.divsi", "isExact?"),
    ("arith.divui", "isExact?"),
    ("arith.extf", "fastmath?"),
    ("arith.maximumf", "fastmath?|fastmath? roundingmode?"),
    ("arith.maxnumf", "fastmath?|fastmath? roundingmode?"),
    ("arith.minimumf", "fastmath?|fastmath? roundingmode?"),
    ("arith.minnumf", "fastmath?|fastmath? roundingmode?"),
    ("arith.mulf", "fastmath?|fastmath? roundingmode?"),
    ("arith.muli", "overflowFlags?"),
    ("arith.negf", "fastmath?|fastmath? roundingmode?"),
    ("arith.remf", "fastmath?|fastmath? roundingmode?"),
    ("arith.scaling_extf", "fastmath?|fastmath? roundingmode?"),
    ("arith.scaling_truncf", "fastmath? roundingmode?"),
    ("arith.shli", "overflowFlags?"),
    ("arith.shrsi", "isExact?"),
    ("arith.shrui", "isExact?"),
    ("arith.subf", "fastmath?|fastmath? roundingmode?"),
    ("arith.subi", "overflowFlags?"),
    ("arith.truncf", "fastmath? roundingmode?"),
    ("arith.trunci", "overflowFlags?"),
    ("builtin.module", "sym_name? sym_visibility?"),
    ("cf.assert", "msg"),
    ("cf.cond_br", "branch_weights? operandSegmentSizes"),
    ("cf.switch", "case_operand_segments case_values? operandSegmentSizes"),
    ("func.call_indirect", "arg_attrs? res_attrs?"),
    ("func.constant", "value"),
    ("func.func", "arg_attrs? function_type no_inline? res_attrs? sym_name sym_visibility?"),
    ("interpreter.run_parallel", "infeed? programs"),
    ("scf.execute_region", "no_inline?"),
    ("scf.for", "unsignedCmp?"),
    ("scf.forall", "mapping? operandSegmentSizes staticLowerBound staticStep staticUpperBound"),
    ("scf.index_switch", "cases"),
    ("scf.parallel", "operandSegmentSizes"),
    ("sdy.mesh", "mesh sym_name"),
    ("shape.broadcast", "error?"),
    ("shape.const_shape", "shape"),
    ("shape.const_size", "value"),
    ("shape.const_witness", "passing"),
    ("shape.cstr_require", "msg"),
    ("shape.func", "arg_attrs? function_type res_attrs? sym_name sym_visibility?"),
    ("shape.function_library", "mapping sym_name sym_visibility?"),
    ("shape.meet", "error?"),
    ("tensor.collapse_shape", "reassociation"),
    ("tensor.concat", "dim"),
    ("tensor.expand_shape", "reassociation static_output_shape"),
    ("tensor.extract_slice", "operandSegmentSizes static_offsets static_sizes static_strides"),
    ("tensor.gather", "gather_dims unique?"),
    ("tensor.insert_slice", "operandSegmentSizes static_offsets static_sizes static_strides"),
    ("tensor.pad", "nofold? operandSegmentSizes static_high static_low"),
    ("tensor.parallel_insert_slice", "operandSegmentSizes static_offsets static_sizes static_strides"),
    ("tensor.scatter", "scatter_dims unique?"),
];

/// The source of the list of an operation's inherent attributes.
#[derive(Clone, Copy)]
enum Known {
    /// The operation table.
    Defs(&'static [AttrDef]),
    /// A string as in [`FOREIGN`].
    Names(&'static str),
}

fn known(op: &str) -> Option<Known> {
    if let Some(name) = op.strip_prefix("vhlo.") {
        return vhlo::properties(name).map(Known::Names);
    }
    if let Ok(at) = FOREIGN.binary_search_by_key(&op, |(name, _)| name) {
        return FOREIGN.get(at).map(|(_, names)| Known::Names(names));
    }
    match row(op) {
        Some(row) if !row.attrs.is_empty() => Some(Known::Defs(row.attrs)),
        _ if op.starts_with("math.") => Some(Known::Names("fastmath?")),
        _ => None,
    }
}

/// The name of each inherent attribute, and whether the attribute may be absent.
pub(super) type Names = SmallVec<[(&'static str, bool); 12]>;

impl Known {
    /// Returns the attributes in the version `older` steps before the newest; `None` if there is no such version.
    fn version(self, older: usize) -> Option<Names> {
        match self {
            Known::Defs(attrs) => {
                let newest = attrs.iter().map(|attr| attr.since).max()?;
                let version = newest.checked_sub(u8::try_from(older).ok()?).filter(|&version| version > 0)?;
                let attrs = attrs.iter().filter(|attr| attr.since <= version);
                Some(attrs.map(|attr| (attr.name, attr.presence != Presence::Required)).collect())
            }
            Known::Names(names) => {
                let name = |name: &'static str| match name.strip_suffix('?') {
                    Some(name) => (name, true),
                    None => (name, false),
                };
                let names = names.split('|').nth(older)?.split(' ');
                Some(names.filter(|name| !name.is_empty()).map(name).collect())
            }
        }
    }

    /// Returns the attributes in each version of the operation, newest first.
    fn versions(self) -> impl Iterator<Item = Names> {
        (0..).map_while(move |older| self.version(older))
    }
}

/// Dialects that are assumed to be registered in every writer.
const COMMON: &[&str] = &[
    "arith",
    "builtin",
    "cf",
    "check",
    "chlo",
    "func",
    "math",
    "scf",
    "sdy",
    "shape",
    "stablehlo",
    "tensor",
];

/// Whether every writer is assumed to know the operation's dialect.
pub(super) fn is_common(op: &str) -> bool {
    op.split_once('.').is_some_and(|(dialect, _)| COMMON.contains(&dialect) || dialect == "vhlo")
}

/// Returns the order of the inherent attributes of an operation, in the newest version of the operation; `None` if the order is not
/// known, or if `has_all` returns false for it.
pub(super) fn order(op: &str, has_all: impl Fn(&Names) -> bool) -> Option<Names> {
    if let Some(known) = known(op) {
        return known.version(0).filter(has_all);
    }
    let known = op.ends_with(".return") || row(op).is_some();
    (known && is_common(op)).then(Names::new).filter(has_all)
}

/// Whether `name` is an inherent attribute of operation `op`. This is needed for files of old versions, which store inherent and
/// discardable attributes together.
pub(super) fn is_inherent(op: &str, name: &str) -> bool {
    if row(op).is_some_and(|row| row.attr(name).is_some()) {
        return true;
    }
    let known = known(op).filter(|_| is_common(op));
    known.is_some_and(|known| known.versions().flatten().any(|(inherent, _)| inherent == name))
}

/// Decodes the inherent attributes of an operation called `op`.
pub(super) fn read<'b>(
    store: &mut Store<'b>,
    op: &str,
    c: ByteCursor<'b>,
    version: u64,
) -> Res<Vec<NamedAttr<'b>>> {
    let Some(known) = known(op) else {
        let message = format!("unknown encoding of the inherent attributes of {op}, at byte {}", c.offset());
        let hint = "write the module with version 4 of the format, or as text";
        return Err(Diagnostic::unsupported(codes::ENCODING, message).hint(hint).into());
    };
    let mut first = None;
    for attrs in known.versions() {
        match layout(store, op, c, version, &attrs) {
            Ok(props) => return Ok(props),
            Err(failure) => drop(first.get_or_insert(failure)),
        }
    }
    match first {
        Some(failure) => Err(failure),
        None => Ok(Vec::new()),
    }
}

/// Whether an inherent attribute is the sizes of operand or result groups, and these are packed.
pub(super) fn is_packed(name: &str, version: u64) -> bool {
    name.ends_with("SegmentSizes") && version >= PACKED_SEGMENTS
}

fn layout<'b>(
    store: &mut Store<'b>,
    op: &str,
    mut c: ByteCursor<'b>,
    version: u64,
    attrs: &[(&'static str, bool)],
) -> Res<Vec<NamedAttr<'b>>> {
    let mut out = Vec::new();
    let mut segments = Vec::new();
    for &(name, optional) in attrs {
        if is_packed(name, version) {
            segments.push(name);
            continue;
        }
        let limit = store.attrs.len();
        if !optional {
            out.push((Cow::Borrowed(name), AttrRef(c.index(limit, "an attribute")?)));
        } else if !c.at_end() {
            // The encoding may end here: older writers do not have the last attributes.
            let place = c;
            let (at, present) = c.flagged()?;
            if present {
                let at = place.indexed(at, limit, "an attribute")?;
                out.push((Cow::Borrowed(name), AttrRef(at)));
            }
        }
    }
    for name in segments {
        let sizes = packed(&mut c)?;
        out.push((Cow::Borrowed(name), i32_array(store, &sizes)));
    }
    c.end(&format!("the inherent attributes of {op}"))?;
    Ok(out)
}

/// The largest number of operand groups of any operation.
const MAX_SEGMENTS: usize = 256;

/// Reads an array of numbers. The sparse form omits zeros.
fn packed(c: &mut ByteCursor<'_>) -> Res<Vec<u64>> {
    let (count, sparse) = c.flagged_count("groups")?;
    if !sparse {
        return (0..count).map(|_| c.varint()).collect();
    }
    let mut sizes = Vec::new();
    if count == 0 {
        return Ok(sizes);
    }
    let place = *c;
    let bits = c.varint()?;
    if bits > 8 {
        return Err(place.malformed(format!("expected an index width of at most 8 bits, found {bits}")));
    }
    for _ in 0..count {
        let pair = c.varint()?;
        let at = (pair & ((1 << bits) - 1)) as usize;
        if at >= sizes.len() && at < MAX_SEGMENTS {
            sizes.resize(at + 1, 0);
        }
        if let Some(size) = sizes.get_mut(at) {
            *size = pair >> bits;
        }
    }
    Ok(sizes)
}

fn i32_array<'b>(store: &mut Store<'b>, values: &[u64]) -> AttrRef {
    let i32_type = BType::Int { width: 32, sign: Sign::Signless };
    let last = store.types.len().checked_sub(1).filter(|&at| store.types.get(at) == Some(&i32_type));
    let element = match last.map(u32::try_from) {
        Some(Ok(at)) => TypeRef(at),
        _ => store.add_type(i32_type),
    };
    let bytes: Vec<u8> = values.iter().flat_map(|&v| (v as u32).to_le_bytes()).collect();
    store.add_attr(BAttr::DenseArray { element, count: values.len() as u64, bytes: bytes.into() })
}
