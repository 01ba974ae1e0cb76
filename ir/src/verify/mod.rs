//! The verifier: invariants of every module that a pass takes or returns.
//!
//! Each invariant has a diagnostic code. A module that satisfies I1 to I3 may be walked without checking handles; the other invariants are
//! checked only if I1 to I3 hold. Operations that are in no region are not part of the program: only their handles must be in range.
//!
//! * **I1** (SH0201) Handles. Every handle that the module stores is in range: of values, operations, regions, types, meshes, shardings
//!   and locations. Types and locations refer only to types and locations that were interned earlier. Sizes are not negative, and neither
//!   a size nor the bytes of a tensor exceed [`crate::limits::MAX_BYTES`].
//! * **I2** (SH0202) Ownership. A region is the body of one function or belongs to one operation; an operation is in one region, once.
//! * **I3** (SH0203) Definitions. Result `i` of an operation, and argument `i` of a region, name that operation or
//!   region and the index `i` as their definition.
//! * **I4** (SH0204) Dominance. An operand is defined earlier in the same region or in an enclosing one. Bodies of functions and of
//!   `sdy.manual_computation` are isolated from above.
//! * **I5** (SH0205) Terminators. Regions end with a return and contain no other return. (Regions of unknown operations may end in any
//!   way.)
//! * **I6** (SH0206) Counts. An operation has the number of operands and regions that its kind requires.
//! * **I7** (SH0207) Types. Attributes and result types fit the operands ([`check_result_types`]): the constraints of StableHLO's
//!   specification, on shapes, element types, scales and zero points.
//! * **I8** (SH0208) Region types. Arguments and returned values of a region have the types that its operation or function requires.
//! * **I9** (SH0209) Functions. Names are unique; parameters and arguments of the body agree in number and type; lists of attributes,
//!   shardings and locations have one entry for each parameter or result, or none at all.
//! * **I10** (SH0210) Calls. They name a function of the module, fit its type, and do not recurse. Composites have a name with a namespace
//!   and the type of their decomposition.
//! * **I11** (SH0211) Meshes. Axis sizes are positive, and there are at most [`crate::MAX_DEVICES`] devices. Device ids are a permutation
//!   of `0..n`, except that a maximal mesh (one device) may have any id.
//! * **I12** (SH0212) Shardings. There is one entry per dimension, and axes exist. A sub-axis divides its axis and is not the full axis. No
//!   axis or sub-axis is used twice in one sharding, including replicated and unreduced axes. A maximal sharding shards nothing.
//! * **I13** (SH0213) Placements. A `sdy.manual_computation` and the collectives between shardings agree with their shardings: in number,
//!   mesh, local types and axes. The body of a manual computation does not use its manual axes.
//! * **I14** (SH0214) Replica groups. Groups have equal size (except groups padded with `-1`), ids are unique and in range; all devices
//!   participate, except in a broadcast. Global device ids require a channel.
//! * **I15** (SH0215) Permutes. No device sends twice, none receives twice.
//! * **I16** (SH0216) Attributes that are kept as text. If their form is known, they fit the operation: `result_accuracy`, the algorithm
//!   of a `dot_general`, layouts, aliases and configuration of a `custom_call`, the programs of an `interpreter.run_parallel`.
//! * **I17** (SH0217) Types. There is one bound per dimension, and none for a static size. Zero points fit the storage type, and scales the
//!   expressed type; a per-axis type has one scale for each index of the quantized dimension. The elements of futures are tensors.
//! * **I18** (SH0218) Shardy. Sharding rules fit their operation; unreduced values are reduced with the reduction that their
//!   sharding names; Shardy's attributes have the kind that their name implies.
//! * **I19** (SH0219) Donations. A parameter is donated (`tf.aliasing_output`) to an existing result, and no two parameters are donated
//!   to the same result.

mod aliases;
mod attrs;
mod codes;
mod custom_call;
mod edges;
mod funcs;
mod groups;
mod handles;
mod hints;
mod interpreter;
mod mesh;
mod ops;
mod placement;
mod regions;
mod rule;
mod scan;
mod scope;
mod sdy;
mod structure;
#[cfg(test)]
mod tests;
mod types;

use crate::{Diagnostic, Module, OpId, Span};

#[allow(unused_imports, reason = "named in the module documentation")]
use crate::check_result_types;

/// Describes why a text is not a valid sharding rule (`#sdy.op_sharding_rule<...>`) of an operation, as part of a sentence; `None` if it is
/// valid.
#[must_use]
pub fn sharding_rule_fault(module: &Module, op: OpId, text: &str) -> Option<String> {
    rule::fault(module, &module.ops[op], text)
}

/// For each dimension of each operand, the dimension of all results along which the operation of a sharding rule
/// (`#sdy.op_sharding_rule<...>`) computes each element on its own; `None` if the text is not a rule.
#[must_use]
pub fn sharding_rule_batch_dims(text: &str) -> Option<Vec<Vec<Option<u32>>>> {
    rule::batch_dims(text)
}

/// Describes, as a sentence, the error in the groups or device pairs of a collective (I14, I15); `None` if they are valid, and for other
/// operations.
#[must_use]
pub fn collective_fault(module: &Module, op: OpId) -> Option<String> {
    groups::fault(module, op).map(|(_, (message, _))| message)
}

/// The largest number of reported errors: one bug of a pass can break every operation.
const MAX_ERRORS: usize = 1000;

/// Checks every invariant, in time linear in the size of the module.
///
/// # Errors
/// Returns all violations found (at most 1000), in program order within each invariant.
pub fn verify(module: &Module) -> Result<(), Vec<Diagnostic>> {
    let mut report = Report { module, errors: Vec::new() };
    handles::check(&mut report);
    // Each check relies on the previous ones: `structure` follows handles, and all later checks walk the program.
    if report.errors.is_empty()
        && let Some(program) = structure::check(&mut report)
    {
        // Sizes are checked before all steps that compute with them, which would overflow on
        // `tensor<9223372036854775807x2xf32>`.
        types::check_sizes(&mut report, &program.order);
        if !report.errors.is_empty() {
            return Err(report.errors);
        }
        types::check(&mut report, &program.order);
        funcs::check(&mut report, &program.order);
        aliases::check(&mut report);
        let meshes_ok = mesh::check(&mut report, &program.order);
        for &op in &program.order {
            ops::check(&mut report, op);
            groups::check(&mut report, op);
            attrs::check(&mut report, op);
            if meshes_ok {
                sdy::check(&mut report, op);
                placement::check(&mut report, &program, op);
            }
        }
        if meshes_ok {
            edges::check_flow(&mut report, &program);
            scope::check(&mut report, &program);
        }
    }
    if report.errors.is_empty() { Ok(()) } else { Err(report.errors) }
}

/// Collects the errors that checks find.
struct Report<'m> {
    module: &'m Module,
    errors: Vec<Diagnostic>,
}

impl Report<'_> {
    fn push(&mut self, diagnostic: Diagnostic) {
        if self.errors.len() < MAX_ERRORS {
            self.errors.push(diagnostic);
        }
    }

    /// Reports a broken invariant: a bug in the code that created the module.
    fn internal(&mut self, code: &'static str, message: impl Into<String>) {
        self.push(Diagnostic::internal(code, message));
    }

    /// Reports an error at a position in the text.
    fn invalid(&mut self, code: &'static str, span: Span, message: impl Into<String>) {
        self.push(Diagnostic::invalid(code, message).at(span));
    }

    /// Reports an error at an operation.
    fn at_op(&mut self, code: &'static str, op: OpId, message: impl Into<String>) {
        self.hinted(code, op, message, None);
    }

    /// Reports an error at an operation, with a hint.
    fn hinted(&mut self, code: &'static str, op: OpId, message: impl Into<String>, hint: Option<&str>) {
        let mut diagnostic = Diagnostic::invalid(code, message).at(self.module.ops[op].span);
        diagnostic.user_loc = self.module.user_loc(op);
        diagnostic.hint = hint.map(str::to_owned);
        self.push(diagnostic);
    }
}
