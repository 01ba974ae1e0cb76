//! Checks the sizes of local tensors. With padding, before a collective or after a concatenation, a local tensor may be larger than the
//! original tensor.

use rustc_hash::FxHashSet;
use shardc_ir::{Diagnostic, Module, RegionId, Type, limits};

/// Checks that no local tensor exceeds [`limits::MAX_BYTES`].
///
/// # Errors
/// Returns `SH0414` for the first tensor that exceeds the limit.
pub(super) fn check(module: &Module, body: RegionId) -> Result<(), Box<Diagnostic>> {
    let mut seen = FxHashSet::default();
    for op in module.walk(body) {
        for &result in &module.ops[op].results {
            let ty = module.values[result].ty;
            if !seen.insert(ty) {
                continue;
            }
            let fault = match module.types.get(ty) {
                Type::Tensor(tensor) => tensor.size_fault(),
                Type::Quantized(tensor) => limits::size_fault(&tensor.shape, 1),
                Type::Token | Type::Tuple(_) | Type::Other(_) => None,
            };
            let Some(fault) = fault else { continue };
            let message = format!(
                "each device would need a {} here, which is too large: {fault}",
                module.types.display(ty)
            );
            let hint = "dimensions that do not divide evenly are padded: shard dimensions whose size is a multiple of the number of \
                 shards, or use a smaller tensor";
            return Err(Box::new(
                Diagnostic::unsupported("SH0414", message).at(module.ops[op].span).hint(hint),
            ));
        }
    }
    Ok(())
}
