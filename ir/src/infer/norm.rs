//! Type inference for the batch normalization operations and `map`.

use super::{Ctx, Fail, Res, Ty, Types, ensure, shape_fits, size_fits, tensor};
use crate::{BatchNormKind, BatchNormSpec, DimList, TensorType};

pub(crate) fn batch_norm(cx: &Ctx<'_>, kind: BatchNormKind, spec: BatchNormSpec) -> Res<Types> {
    let operand = cx.tensor(0)?;
    ensure!(operand.dtype.is_float(), "{} expects floats, got {}", cx.name(), operand.dtype);
    let feature = spec.feature_index as usize;
    ensure!(
        feature < operand.rank(),
        "feature_index {feature} of {} is out of range for {operand}",
        cx.name()
    );
    let count = operand.shape[feature];
    let full = match kind {
        BatchNormKind::Grad => 4,
        BatchNormKind::Training | BatchNormKind::Inference => cx.operands.len(),
    };
    for i in 1..cx.operands.len() {
        let other = cx.tensor(i)?;
        ensure!(
            other.dtype == operand.dtype,
            "operand {i} of {} is {other}, but operand 0 is {operand}: the element types differ",
            cx.name()
        );
        if i == full {
            ensure!(
                shape_fits(&other.shape, &operand.shape),
                "operand {i} of {} is {other}, expected the shape of {operand}",
                cx.name()
            );
        } else {
            let fits = matches!(other.shape.as_slice(), &[n] if size_fits(n, count));
            ensure!(
                fits,
                "operand {i} of {} is {other}, expected one element per feature (dimension {feature} of {operand})",
                cx.name()
            );
        }
    }
    let whole = Ty::Same(cx.ty(0)?);
    let feature = || Ty::Tensor(TensorType::new(&[count], operand.dtype));
    Ok(match kind {
        BatchNormKind::Inference => [whole].into_iter().collect(),
        BatchNormKind::Training | BatchNormKind::Grad => [whole, feature(), feature()].into_iter().collect(),
    })
}

pub(crate) fn map(cx: &Ctx<'_>, dims: &DimList) -> Res<Types> {
    let first = cx.tensor(0)?;
    for i in 1..cx.operands.len() {
        let other = cx.tensor(i)?;
        ensure!(
            shape_fits(&first.shape, &other.shape),
            "operands of map have different shapes: {first} and {other}"
        );
    }
    ensure!(
        dims.iter().copied().eq(0..first.rank() as u32),
        "the dimensions of map of {first} must be all of its dimensions in order, got {dims:?}"
    );
    let Some(mut yields) = cx.yields(0) else { return Err(Fail::Free) };
    let (count, only) = (yields.len(), yields.next());
    ensure!(count == 1, "the region of map must return one value, got {count}");
    match only.and_then(|ty| cx.module.types.as_tensor(ty)) {
        Some(result) => Ok(tensor(&first.shape, result.dtype)),
        None => Err(Fail::Unknown),
    }
}
