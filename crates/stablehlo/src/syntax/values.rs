//! Values of inherent attributes and how they are written.

use std::borrow::Cow;
use std::fmt::Write as _;

use shardc_ir::{
    Attr, AttrType, AxisList, AxisMove, Channel, ConvDims, DType, Dense, DimList, DotSpec, GatherSpec, Group,
    KernelDims, Module, Precision, RaggedDotSpec, ReplicaGroups, ScatterSpec, ShardingId, floats,
};
use smallvec::SmallVec;

use crate::literals;
use crate::literals::tokens::{push_int, push_ints, push_list, push_string, push_symbol};

/// The value of an inherent attribute.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Val {
    Int(i64),
    F32(f32),
    Bool(bool),
    Ints(SmallVec<[i64; 6]>),
    Bools(SmallVec<[bool; 2]>),
    Pairs(SmallVec<[(i64, i64); 4]>),
    /// Replica groups, and their text if they are axes of a mesh.
    Groups(ReplicaGroups, Option<Box<str>>),
    Word(Cow<'static, str>),
    Str(Box<str>),
    Unit,
    Channel(Channel),
    Precisions(SmallVec<[Precision; 2]>),
    Dot(Box<DotSpec>),
    RaggedDot(Box<RaggedDotSpec>),
    Conv(Box<ConvNumbers>),
    Gather(Box<GatherSpec>),
    Scatter(Box<ScatterSpec>),
    Dense(Dense),
    Sharding(ShardingId),
    Shardings(Vec<ShardingId>),
    Axes(AxisList, shardc_ir::MeshId),
    AxesPerDim(Vec<AxisList>, shardc_ir::MeshId),
    AllToAll(Vec<AxisMove>, shardc_ir::MeshId),
    ManualAxes(AxisList, Option<shardc_ir::MeshId>),
    Raw(Box<str>),
    Attr(Attr),
}

/// The dimension numbers of a convolution.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ConvNumbers {
    pub(crate) input: ConvDims,
    pub(crate) kernel: KernelDims,
    pub(crate) output: ConvDims,
}

impl ConvNumbers {
    /// Creates dimension numbers from the two named dimensions and the spatial dimensions of each tensor: input, kernel, output.
    pub(crate) fn new(tensors: [([u32; 2], DimList); 3]) -> Self {
        let [([batch, feature], spatial), ([input_feature, output_feature], in_kernel), (out, of_output)] =
            tensors;
        ConvNumbers {
            input: ConvDims { batch, feature, spatial },
            kernel: KernelDims { input_feature, output_feature, spatial: in_kernel },
            output: ConvDims { batch: out[0], feature: out[1], spatial: of_output },
        }
    }
}

/// The inherent attributes of one operation.
pub(crate) type Attrs = SmallVec<[(&'static str, Val); 4]>;

/// Appends replica groups as a matrix with one row per group. A matrix without rows is written with `width` columns.
pub(crate) fn push_groups(out: &mut String, groups: &ReplicaGroups, width: usize) {
    if groups.group_size() == Some(0) && groups.len() == 1 {
        // A single empty group is written as an empty list, not as a matrix.
        out.push_str("dense<> : tensor<0xi64>");
        return;
    }
    out.push_str("dense<");
    let first = groups.first().and_then(Group::first);
    match first {
        Some(first) if groups.ids().all(|id| id == first) => push_int(out, first),
        Some(_) => {
            out.push('[');
            push_list(out, groups.iter(), |out, group| {
                out.push('[');
                push_list(out, group, push_id);
                out.push(']');
            });
            out.push(']');
        }
        None => {}
    }
    let width = groups.first().map_or(width, Group::len);
    let _ = write!(out, "> : tensor<{}x{width}xi64>", groups.len());
}

/// Appends the id of a device. Large programs have millions of ids, for which `format!` is too slow.
fn push_id(out: &mut String, id: i64) {
    if !(0..10_000).contains(&id) {
        return push_int(out, id);
    }
    let digits = [id / 1000, id / 100 % 10, id / 10 % 10, id % 10];
    let leading = digits[..3].iter().take_while(|&&digit| digit == 0).count();
    out.extend(digits[leading..].iter().map(|&digit| char::from(b'0' + digit as u8)));
}

/// Appends `name = [1, 2], index = 3`, without empty lists and without an index of 0.
pub(crate) fn push_members(out: &mut String, lists: &[(&str, &[u32])], index: Option<(&str, u32)>) {
    let mut first = true;
    let mut name = |out: &mut String, name: &str| {
        if !std::mem::take(&mut first) {
            out.push_str(", ");
        }
        out.push_str(name);
        out.push_str(" = ");
    };
    for (member, dims) in lists.iter().filter(|(_, dims)| !dims.is_empty()) {
        name(out, member);
        push_ints(out, dims.iter());
    }
    if let Some((member, value)) = index.filter(|&(_, value)| value != 0) {
        name(out, member);
        push_int(out, value);
    }
}

fn push_conv_dims(out: &mut String, names: [char; 2], numbers: [u32; 2], spatial: &[u32]) {
    let rank = spatial.len() + 2;
    out.push('[');
    push_list(out, 0..rank as u32, |out, dim| {
        if dim == numbers[0] {
            out.push(names[0]);
        } else if dim == numbers[1] {
            out.push(names[1]);
        } else {
            match spatial.iter().position(|&s| s == dim) {
                Some(at) => push_int(out, at),
                None => out.push('?'),
            }
        }
    });
    out.push(']');
}

/// Appends `[b, 0, f]x[0, i, o]->[b, 0, f]`.
pub(crate) fn push_conv(out: &mut String, ConvNumbers { input, kernel, output }: &ConvNumbers) {
    push_conv_dims(out, ['b', 'f'], [input.batch, input.feature], &input.spatial);
    out.push('x');
    push_conv_dims(out, ['i', 'o'], [kernel.input_feature, kernel.output_feature], &kernel.spatial);
    out.push_str("->");
    push_conv_dims(out, ['b', 'f'], [output.batch, output.feature], &output.spatial);
}

/// Appends `[DEFAULT, HIGH]`.
pub(crate) fn push_precisions(out: &mut String, precisions: &[Precision]) {
    out.push('[');
    push_list(out, precisions, |out, p| out.push_str(p.as_str()));
    out.push(']');
}

/// Appends the value as in `<{...}>`. `result_type` is the type of a constant.
pub(crate) fn push_generic(
    out: &mut String,
    module: &Module,
    ty: AttrType,
    val: &Val,
    result_type: Option<shardc_ir::TypeId>,
) {
    match (val, ty) {
        (Val::Int(v), AttrType::I32) => {
            let _ = write!(out, "{v} : i32");
        }
        (Val::Int(v), _) => {
            let _ = write!(out, "{v} : i64");
        }
        (Val::F32(v), _) => {
            floats::push(out, DType::F32, u64::from(v.to_bits()));
            out.push_str(" : f32");
        }
        (Val::Bool(v), _) => out.push_str(if *v { "true" } else { "false" }),
        (Val::Ints(v), AttrType::I32s) => {
            out.push_str(if v.is_empty() { "array<i32" } else { "array<i32: " });
            push_list(out, v, push_int);
            out.push('>');
        }
        (Val::Ints(v), _) => {
            out.push_str(if v.is_empty() { "array<i64" } else { "array<i64: " });
            push_list(out, v, push_int);
            out.push('>');
        }
        (Val::Bools(v), _) => {
            out.push_str(if v.is_empty() { "array<i1" } else { "array<i1: " });
            push_list(out, v, push_int);
            out.push('>');
        }
        (Val::Pairs(v), _) => {
            push_groups(out, &ReplicaGroups::pairs(v.iter().copied()), 2);
        }
        (Val::Groups(_, Some(text)), _) => out.push_str(text),
        (Val::Groups(groups, None), _) => push_groups(out, groups, 0),
        (Val::Word(word), AttrType::Number(words)) => {
            let at = words.iter().position(|w| w == word).unwrap_or(0);
            let _ = write!(out, "{at} : i32");
        }
        (Val::Word(word), AttrType::Word(kind)) => {
            let _ = write!(out, "#stablehlo<{kind} {word}>");
        }
        (Val::Word(word), AttrType::ChloWord(kind)) => {
            let _ = write!(out, "#chlo<{kind} {word}>");
        }
        (Val::Word(word), _) => out.push_str(word),
        (Val::Str(text), AttrType::Symbol) => push_symbol(out, text),
        (Val::Str(text), _) => push_string(out, text),
        (Val::Unit, _) => out.push_str("unit"),
        (Val::Channel(Channel { handle, ty }), _) => {
            let _ = write!(out, "#stablehlo.channel_handle<handle = {handle}, type = {ty}>");
        }
        (Val::Precisions(list), _) => {
            let dialect = if ty == AttrType::ChloPrecisions { "chlo" } else { "stablehlo" };
            out.push('[');
            push_list(out, list, |out, p| {
                let _ = write!(out, "#{dialect}<precision {}>", p.as_str());
            });
            out.push(']');
        }
        (Val::Dot(spec), _) => push_dot(out, spec),
        (Val::RaggedDot(spec), _) => push_ragged_dot(out, spec),
        (Val::Conv(dims), _) => {
            out.push_str("#stablehlo.conv<");
            push_conv(out, dims);
            out.push('>');
        }
        (Val::Gather(spec), _) => push_gather(out, spec),
        (Val::Scatter(spec), _) => push_scatter(out, spec),
        (Val::Dense(dense), _) => literals::dense::push(out, module, dense, result_type),
        (Val::Sharding(id), _) => {
            out.push_str("#sdy.sharding");
            literals::sdy::push_sharding(out, module, *id);
        }
        (Val::Shardings(ids), _) => {
            out.push_str("#sdy.sharding_per_value<");
            literals::sdy::push_shardings(out, module, ids);
            out.push('>');
        }
        (Val::Axes(..), _) => wrapped(out, module, "axis_ref_list", ty, val),
        (Val::AxesPerDim(..), _) => wrapped(out, module, "list_of_axis_ref_lists", ty, val),
        (Val::AllToAll(..), _) => wrapped(out, module, "all_to_all_param_list", ty, val),
        (Val::ManualAxes(..), _) => wrapped(out, module, "manual_axes", ty, val),
        (Val::Raw(text), _) => out.push_str(text),
        (Val::Attr(attr), _) => literals::attrs::push_attr(out, attr),
    }
}

fn push_dot(out: &mut String, spec: &DotSpec) {
    out.push_str("#stablehlo.dot<");
    let lists: [(&str, &[u32]); 4] = [
        ("lhs_batching_dimensions", &spec.lhs_batch),
        ("rhs_batching_dimensions", &spec.rhs_batch),
        ("lhs_contracting_dimensions", &spec.lhs_contract),
        ("rhs_contracting_dimensions", &spec.rhs_contract),
    ];
    push_members(out, &lists, None);
    out.push('>');
}

fn push_ragged_dot(out: &mut String, spec: &RaggedDotSpec) {
    out.push_str("#chlo.ragged_dot<");
    let lists: [(&str, &[u32]); 6] = [
        ("lhs_batching_dimensions", &spec.lhs_batch),
        ("rhs_batching_dimensions", &spec.rhs_batch),
        ("lhs_contracting_dimensions", &spec.lhs_contract),
        ("rhs_contracting_dimensions", &spec.rhs_contract),
        ("lhs_ragged_dimensions", &spec.lhs_ragged),
        ("rhs_group_dimensions", &spec.rhs_group),
    ];
    push_members(out, &lists, None);
    out.push('>');
}

fn push_gather(out: &mut String, spec: &GatherSpec) {
    out.push_str("#stablehlo.gather<");
    let lists: [(&str, &[u32]); 5] = [
        ("offset_dims", &spec.offset_dims),
        ("collapsed_slice_dims", &spec.collapsed_slice_dims),
        ("operand_batching_dims", &spec.operand_batching_dims),
        ("start_indices_batching_dims", &spec.start_indices_batching_dims),
        ("start_index_map", &spec.start_index_map),
    ];
    push_members(out, &lists, Some(("index_vector_dim", spec.index_vector_dim)));
    out.push('>');
}

fn push_scatter(out: &mut String, spec: &ScatterSpec) {
    out.push_str("#stablehlo.scatter<");
    let lists: [(&str, &[u32]); 5] = [
        ("update_window_dims", &spec.update_window_dims),
        ("inserted_window_dims", &spec.inserted_window_dims),
        ("input_batching_dims", &spec.input_batching_dims),
        ("scatter_indices_batching_dims", &spec.scatter_indices_batching_dims),
        ("scatter_dims_to_operand_dims", &spec.scatter_dims_to_operand_dims),
    ];
    push_members(out, &lists, Some(("index_vector_dim", spec.index_vector_dim)));
    out.push('>');
}

fn wrapped(out: &mut String, module: &Module, name: &str, ty: AttrType, val: &Val) {
    out.push_str("#sdy<");
    out.push_str(name);
    push_pretty(out, module, ty, val);
    out.push('>');
}

/// Appends the value as in an operation's pretty form.
pub(crate) fn push_pretty(out: &mut String, module: &Module, ty: AttrType, val: &Val) {
    match val {
        Val::Int(v) => push_int(out, v),
        Val::Ints(v) => push_ints(out, v),
        Val::Word(word) => out.push_str(word),
        Val::Precisions(list) => push_precisions(out, list),
        Val::Conv(dims) => push_conv(out, dims),
        Val::Sharding(id) => literals::sdy::push_sharding(out, module, *id),
        Val::Shardings(ids) => literals::sdy::push_shardings(out, module, ids),
        Val::Axes(axes, mesh) => literals::sdy::push_axes(out, module, *mesh, axes),
        Val::AxesPerDim(dims, mesh) => {
            out.push('[');
            push_list(out, dims, |out, axes| literals::sdy::push_axes(out, module, *mesh, axes));
            out.push(']');
        }
        Val::AllToAll(moves, mesh) => {
            out.push('[');
            push_list(out, moves, |out, AxisMove { axes, from, to }| {
                literals::sdy::push_axes(out, module, *mesh, axes);
                let _ = write!(out, ": {from}->{to}");
            });
            out.push(']');
        }
        Val::ManualAxes(axes, mesh) => match mesh {
            Some(mesh) => literals::sdy::push_axes(out, module, *mesh, axes),
            None => out.push_str("{}"),
        },
        Val::Raw(text) => out.push_str(text),
        Val::Attr(attr) => match (attr, ty) {
            (Attr::Int(value, _), AttrType::Typed(_)) => push_int(out, value),
            (Attr::Raw(text), AttrType::Prefixed(prefix)) => {
                out.push_str(text.strip_prefix(prefix).unwrap_or(text));
            }
            (Attr::Raw(text), AttrType::Typed(ty)) => {
                let bare = text.strip_suffix(ty).and_then(|rest| rest.strip_suffix(" : "));
                out.push_str(bare.unwrap_or(text));
            }
            _ => literals::attrs::push_attr(out, attr),
        },
        Val::Bool(_) | Val::Bools(_) | Val::Pairs(_) | Val::Groups(..) | Val::Str(_) | Val::Unit => {
            push_generic(out, module, ty, val, None);
        }
        Val::F32(_) | Val::RaggedDot(_) => push_generic(out, module, ty, val, None),
        Val::Channel(_) | Val::Dot(_) | Val::Gather(_) | Val::Scatter(_) | Val::Dense(_) => {
            push_generic(out, module, ty, val, None);
        }
    }
}
