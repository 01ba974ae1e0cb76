//! Helpers for the tests of this crate: types from text, values, small programs.

use smallvec::SmallVec;

use crate::{
    AttrDict, DType, DYNAMIC, FuncId, Module, OpId, OpKind, PackedOption, RegionId, Shape, Span, Type,
    TypeId, ValueId, Visibility,
};

/// The type with this short text: `2x?xf32`, `token` or `!...`.
pub(crate) fn ty(module: &mut Module, text: &str) -> TypeId {
    if text == "token" {
        return module.types.intern(Type::Token);
    }
    if text.starts_with('!') {
        return module.types.intern(Type::Other(text.into()));
    }
    let mut parts: Vec<&str> = text.split('x').collect();
    // `complex<f32>` contains the separator `x`.
    let dtype = match text.find("complex") {
        Some(at) => {
            parts = text[..at].split('x').filter(|p| !p.is_empty()).collect();
            DType::parse(&text[at..])
        }
        None => parts.pop().and_then(DType::parse),
    };
    let shape: Shape =
        parts.iter().map(|p| if *p == "?" { DYNAMIC } else { p.parse().expect("a size") }).collect();
    module.types.tensor(&shape, dtype.expect("an element type"))
}

/// The types with these short texts, which are separated by whitespace.
pub(crate) fn tys(module: &mut Module, texts: &str) -> Vec<TypeId> {
    texts.split_whitespace().map(|t| ty(module, t)).collect()
}

/// A region with arguments of these types.
pub(crate) fn region(module: &mut Module, args: &str) -> RegionId {
    let types = tys(module, args);
    module.add_region(&types)
}

/// Appends an operation to a region.
pub(crate) fn push(
    module: &mut Module,
    into: RegionId,
    kind: OpKind,
    operands: &[ValueId],
    results: &str,
    regions: &[RegionId],
) -> OpId {
    let types = tys(module, results);
    let op = module.add_op(kind, operands, &types, regions);
    module.push_op(into, op);
    op
}

/// Appends a return of these values to a region.
pub(crate) fn ret(module: &mut Module, into: RegionId, values: &[ValueId]) -> OpId {
    push(module, into, OpKind::Return, values, "", &[])
}

/// Argument `i` of a region.
pub(crate) fn arg(module: &Module, region: RegionId, i: usize) -> ValueId {
    module.regions[region].args[i]
}

/// A region that combines two scalars with a binary operation.
pub(crate) fn reducer(module: &mut Module, op: crate::BinaryOp, dtype: &str) -> RegionId {
    let body = region(module, &format!("{dtype} {dtype}"));
    let (a, b) = (arg(module, body, 0), arg(module, body, 1));
    let op = push(module, body, OpKind::Binary(op), &[a, b], dtype, &[]);
    let result = module.ops[op].results[0];
    ret(module, body, &[result]);
    body
}

/// Adds a function with this body. The result types are the types that the body returns.
pub(crate) fn func(module: &mut Module, name: &str, body: RegionId) -> FuncId {
    let params: Vec<TypeId> = module.regions[body].args.iter().map(|&v| module.values[v].ty).collect();
    let results: Vec<TypeId> = match module.terminator(body) {
        Some(end) => module.ops[end].operands.iter().map(|&v| module.values[v].ty).collect(),
        None => Vec::new(),
    };
    module.add_func(crate::Func {
        name: name.into(),
        visibility: Visibility::Default,
        body: Some(body),
        arg_attrs: vec![AttrDict::new(); params.len()],
        res_attrs: vec![AttrDict::new(); results.len()],
        res_shardings: vec![PackedOption::default(); results.len()],
        params,
        results,
        arg_locs: Vec::new(),
        arg_names: Vec::new(),
        arg_spans: Vec::new(),
        res_spans: Vec::new(),
        attrs: AttrDict::new(),
        span: Span::NONE,
        loc: PackedOption::default(),
    })
}

/// Dimension numbers or sizes.
pub(crate) fn list<A: smallvec::Array>(items: &[A::Item]) -> SmallVec<A>
where
    A::Item: Copy,
{
    SmallVec::from_slice(items)
}
