//! Inference of operations on tokens and futures, and of transfers to and from the host.

use smallvec::smallvec;

use super::{Ctx, Res, Ty, Types, ensure, type_fits};
use crate::{Attr, InfeedSpec, OpKind, TensorType, TransferSpec, Type, TypeId};

fn is_token(cx: &Ctx<'_>, ty: TypeId) -> bool {
    matches!(cx.module.types.get(ty), Type::Token)
}

/// Fails unless operand `i` is a token.
fn token(cx: &Ctx<'_>, i: usize) -> Res<()> {
    let ty = cx.ty(i)?;
    ensure!(
        is_token(cx, ty),
        "operand {i} of {} must be a token, got {}",
        cx.name(),
        cx.module.types.display(ty)
    );
    Ok(())
}

/// Fails unless the results are tensors, then a token.
fn tensors_then_token(cx: &Ctx<'_>, results: &[TypeId]) -> Res<()> {
    let Some((&last, rest)) = results.split_last() else {
        return Err(super::Fail::Wrong(format!(
            "the last result of {} must be a token, but it has no result",
            cx.name()
        )));
    };
    ensure!(
        is_token(cx, last),
        "the last result of {} must be a token, got {}",
        cx.name(),
        cx.module.types.display(last)
    );
    for (i, &ty) in rest.iter().enumerate() {
        ensure!(
            matches!(cx.module.types.get(ty), Type::Tensor(_) | Type::Quantized(_) | Type::Other(_)),
            "result {i} of {} must be a tensor, got {}",
            cx.name(),
            cx.module.types.display(ty)
        );
    }
    Ok(())
}

pub(crate) fn infeed(cx: &Ctx<'_>, spec: &InfeedSpec, results: &[TypeId]) -> Res<()> {
    token(cx, 0)?;
    tensors_then_token(cx, results)?;
    let Some(layout) = &spec.layout else { return Ok(()) };
    let Attr::Array(entries) = layout else {
        return Err(super::Fail::Wrong("the layout of infeed must be a list of lists".to_owned()));
    };
    ensure!(
        entries.len() + 1 == results.len(),
        "infeed has {} layouts for {} tensors",
        entries.len(),
        results.len() - 1
    );
    for (i, entry) in entries.iter().enumerate() {
        let fits = matches!(entry, Attr::Array(dims) if dims.iter().all(|d| matches!(d, Attr::Int(..))));
        ensure!(fits, "layout {i} of infeed must be a list of dimension numbers");
    }
    Ok(())
}

pub(crate) fn outfeed(cx: &Ctx<'_>) -> Res<Types> {
    token(cx, cx.operands.len().saturating_sub(1))?;
    Ok(smallvec![Ty::Token])
}

/// The names of the channel types; the index is the type's number in the text.
const CHANNELS: [&str; 4] = ["no type", "device to device", "device to host", "host to device"];

fn channel(cx: &Ctx<'_>, spec: &TransferSpec, with_host: i64) -> Res<()> {
    // Indices into `CHANNELS`; in StableHLO's specification, `send` has 2 and `recv` 3 for transfers with the host.
    let want = if spec.is_host_transfer == Some(true) { with_host } else { 1 };
    let word = |ty: i64| usize::try_from(ty).ok().and_then(|i| CHANNELS.get(i)).copied().unwrap_or("no type");
    ensure!(
        spec.channel.ty == want,
        "the channel type of {} is {}, but that of {} must be {} (type = {want})",
        cx.name(),
        word(spec.channel.ty),
        if want == 1 { "a transfer between devices" } else { "a host transfer" },
        word(want)
    );
    Ok(())
}

pub(crate) fn send(cx: &Ctx<'_>, spec: &TransferSpec) -> Res<Types> {
    token(cx, cx.operands.len().saturating_sub(1))?;
    channel(cx, spec, 2)?;
    Ok(smallvec![Ty::Token])
}

pub(crate) fn recv(cx: &Ctx<'_>, spec: &TransferSpec, results: &[TypeId]) -> Res<()> {
    token(cx, 0)?;
    channel(cx, spec, 3)?;
    tensors_then_token(cx, results)
}

/// Returns the text of the element type of a future that has a single element.
fn promised<'m>(cx: &Ctx<'m>, ty: TypeId) -> Option<&'m str> {
    match cx.module.types.get(ty) {
        Type::Other(text) => text.strip_prefix("!stablehlo.future<")?.strip_suffix('>'),
        Type::Tensor(_) | Type::Quantized(_) | Type::Token | Type::Tuple(_) => None,
    }
}

pub(crate) fn async_start(cx: &Ctx<'_>, results: &[TypeId]) -> Res<()> {
    let module = cx.module;
    let body = cx.regions.first().map(|&r| &module.regions[r]);
    let Some(body) = body else { return Ok(()) };
    ensure!(
        body.ops.len() == 2,
        "the region of async_start must contain one operation and a return, got {} operations",
        body.ops.len()
    );
    let inner = &module.ops[body.ops[0]].kind;
    let may_start = matches!(
        inner,
        OpKind::AllGather { .. }
            | OpKind::AllReduce(_)
            | OpKind::AllToAll { .. }
            | OpKind::CollectiveBroadcast(_)
            | OpKind::CollectivePermute(_)
            | OpKind::CollectiveReduce(_)
            | OpKind::DynamicSlice { .. }
            | OpKind::DynamicUpdateSlice
            | OpKind::ReduceScatter { .. }
            | OpKind::Slice(_)
    );
    ensure!(may_start, "async_start must contain a collective or a slice, got {}", inner.name());
    ensure!(
        body.args.len() == cx.operands.len(),
        "async_start has {} operands, but its region has {} arguments",
        cx.operands.len(),
        body.args.len()
    );
    for (i, &arg) in body.args.iter().enumerate() {
        let (operand, arg) = (cx.ty(i)?, module.values[arg].ty);
        ensure!(
            operand == arg,
            "operand {i} of async_start is {}, but the argument of its region is {}",
            module.types.display(operand),
            module.types.display(arg)
        );
    }
    let Some(mut yields) = cx.yields(0) else { return Ok(()) };
    let (count, first) = (yields.len(), yields.next());
    ensure!(count == 1, "the region of async_start must return one value, got {count}");
    let (Some(first), &[result]) = (first, results) else {
        return Err(super::Fail::Wrong(format!("async_start has {} results, expected 1", results.len())));
    };
    let want = module.types.display(first);
    ensure!(
        // The types are compared as text: this IR does not parse future types, and both types are printed in the same way.
        promised(cx, result) == Some(&want),
        "async_start gives {}, expected !stablehlo.future<{want}>",
        module.types.display(result)
    );
    Ok(())
}

pub(crate) fn async_done(cx: &Ctx<'_>, results: &[TypeId]) -> Res<()> {
    let ty = cx.ty(0)?;
    let Some(text) = promised(cx, ty) else {
        return Err(super::Fail::Wrong(format!(
            "async_done expects a future, got {}",
            cx.module.types.display(ty)
        )));
    };
    let &[result] = results else {
        return Err(super::Fail::Wrong(format!("async_done has {} results, expected 1", results.len())));
    };
    let have = cx.module.types.display(result);
    ensure!(have == text, "async_done of {} gives {have}, expected {text}", cx.module.types.display(ty));
    Ok(())
}

/// Infers the results of a collective: one for each data operand, of the same type. With `has_root`, the last operand is not data: it
/// contains the root for each data operand.
pub(crate) fn with_root(cx: &Ctx<'_>, has_root: bool) -> Res<Types> {
    let count = cx.operands.len();
    let data = if has_root {
        ensure!(count >= 2, "{} with a dynamic root needs data and a root, got {count} operand", cx.name());
        let root = cx.tensor(count - 1)?;
        ensure!(
            root.dtype == crate::DType::I32 && root.shape.as_slice() == [count as i64 - 1],
            "the root of {} must be tensor<{}xi32>, one number per tensor, got {root}",
            cx.name(),
            count - 1
        );
        count - 1
    } else {
        ensure!(count >= 1, "{} needs at least one operand", cx.name());
        count
    };
    (0..data).map(|i| cx.ty(i).map(Ty::Same)).collect()
}

/// Infers a reduction to one device of each group; the region may combine in a wider type.
pub(crate) fn collective_reduce(cx: &Ctx<'_>, has_root: bool) -> Res<Types> {
    let data = with_root(cx, has_root)?.len();
    let result = |i: usize| -> Res<Ty> {
        let operand = cx.tensor(i)?;
        Ok(Ty::Tensor(TensorType::new(&operand.shape, cx.accumulated(0, 0, operand.dtype)?)))
    };
    (0..data).map(result).collect()
}

/// Checks that results have the types that the region returns.
pub(crate) fn body_like(cx: &Ctx<'_>, results: &[TypeId]) -> Res<()> {
    let Some(yields) = cx.yields(0) else { return Ok(()) };
    ensure!(
        yields.len() == results.len(),
        "{} has {} results, but its region returns {} values",
        cx.name(),
        results.len(),
        yields.len()
    );
    for (i, (have, &want)) in yields.zip(results).enumerate() {
        ensure!(
            type_fits(cx.module, have, want),
            "result {i} of {} is {}, but its region returns {}",
            cx.name(),
            cx.module.types.display(want),
            cx.module.types.display(have)
        );
    }
    Ok(())
}
