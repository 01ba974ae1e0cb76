//! Stable codes of the diagnostics of this crate.

/// The text does not follow the grammar.
pub const SYNTAX: &str = "SH0101";
/// A value is used before its definition, or is not defined.
pub const UNKNOWN_VALUE: &str = "SH0102";
/// A name is defined twice.
pub const REDEFINITION: &str = "SH0103";
/// The type written at a use differs from the type of the value.
pub const TYPE_MISMATCH: &str = "SH0104";
/// The number of operands, results or regions is wrong.
pub const COUNT: &str = "SH0105";
/// An operation whose pretty form is not known.
pub const UNKNOWN_OP: &str = "SH0106";
/// An attribute is missing or has the wrong form.
pub const ATTRIBUTE: &str = "SH0107";
/// A mesh or an axis is not defined.
pub const UNKNOWN_MESH: &str = "SH0108";
/// Regions or attributes are nested too deeply.
pub const NESTING: &str = "SH0109";
/// A malformed type.
pub const TYPE: &str = "SH0110";
/// A malformed constant.
pub const CONSTANT: &str = "SH0111";
/// An alias is not defined.
pub const UNKNOWN_ALIAS: &str = "SH0112";
/// Valid MLIR that shardc does not read.
pub const NOT_READ: &str = "SH0113";
/// Bytecode that does not follow the format.
pub const MALFORMED: &str = "SH0120";
/// Bytecode that is truncated.
pub const TRUNCATED: &str = "SH0121";
/// Bytecode of a version that shardc does not know.
pub const VERSION: &str = "SH0122";
/// An encoding of a dialect that shardc does not know.
pub const ENCODING: &str = "SH0123";
/// Bytecode whose attributes expand to too much text for the size of the file.
pub const TOO_LARGE: &str = "SH0124";
/// An attribute, a type or an operation that has no form in bytecode, or none in the version of an artifact.
pub const NOT_WRITTEN: &str = "SH0125";
/// An expected diagnostic was not produced, or a produced one was not expected.
pub const EXPECTED: &str = "SH0190";
/// The input is another kind of file.
pub const FOREIGN: &str = "SH0191";
