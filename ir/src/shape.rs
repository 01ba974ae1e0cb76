//! Sizes of a tensor's dimensions.

use std::fmt;

use smallvec::SmallVec;

/// The size of a dimension that is not known at compile time (`?` in text).
pub const DYNAMIC: i64 = i64::MIN;

/// Sizes of a tensor's dimensions, outermost first.
pub type Shape = SmallVec<[i64; 6]>;

/// Writes a shape as MLIR prints it in a type: `8x?x`.
pub(crate) fn write_shape(f: &mut fmt::Formatter<'_>, shape: &[i64]) -> fmt::Result {
    for &n in shape {
        if n == DYNAMIC { f.write_str("?x")? } else { write!(f, "{n}x")? }
    }
    Ok(())
}
