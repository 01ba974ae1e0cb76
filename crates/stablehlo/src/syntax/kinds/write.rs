//! Converts payloads to inherent attributes.

use std::borrow::Cow;

use shardc_ir::{
    Attr, BroadcastingOp, CollectiveSpec, ConvSpec, DynamicOp, MeshCollective, MeshCollectiveKind, MeshId,
    Module, OpKind, ReductionKind, SizeList, SplicePiece, TransferSpec, WindowSpec,
};
use smallvec::SmallVec;

use crate::syntax::values::{Attrs, ConvNumbers, Val};

fn ints(values: &[i64]) -> Val {
    Val::Ints(SmallVec::from_slice(values))
}

fn dims(values: &[u32]) -> Val {
    Val::Ints(values.iter().map(|&v| i64::from(v)).collect())
}

fn int(value: u32) -> Val {
    Val::Int(i64::from(value))
}

fn word(text: &'static str) -> Val {
    Val::Word(Cow::Borrowed(text))
}

fn push_flag(out: &mut Attrs, name: &'static str, flag: Option<bool>) {
    out.extend(flag.map(|flag| (name, Val::Bool(flag))));
}

const PAIRS: &str = "source_target_pairs";

fn push_collective(out: &mut Attrs, spec: &CollectiveSpec, groups: &'static str) {
    out.extend(spec.channel.map(|channel| ("channel_handle", Val::Channel(channel))));
    // An empty list of source-target pairs is written as a matrix of no rows and two columns, `tensor<0x2xi64>`.
    let is_no_pairs = groups == PAIRS && spec.groups.is_empty();
    out.push(match is_no_pairs {
        true => (groups, Val::Pairs(Default::default())),
        false => (groups, Val::Groups(spec.groups.clone(), spec.mesh_axes.clone())),
    });
    if spec.use_global_device_ids {
        out.push(("use_global_device_ids", Val::Unit));
    }
    if spec.has_dynamic_root {
        out.push(("has_dynamic_root", Val::Unit));
    }
}

fn push_transfer(out: &mut Attrs, spec: &TransferSpec) {
    out.push(("channel_handle", Val::Channel(spec.channel)));
    push_flag(out, "is_host_transfer", spec.is_host_transfer);
    out.extend(spec.source_target_pairs.as_ref().map(|pairs| (PAIRS, Val::Groups(pairs.clone(), None))));
}

fn push_window(out: &mut Attrs, spec: &WindowSpec, dilated: bool) {
    out.push(("window_dimensions", ints(&spec.dimensions)));
    let lists = [
        ("window_strides", &spec.strides, true),
        ("base_dilations", &spec.base_dilations, dilated),
        ("window_dilations", &spec.window_dilations, dilated),
    ];
    for (name, list, written) in lists {
        if written && !list.is_empty() {
            out.push((name, ints(list)));
        }
    }
    if !spec.padding.is_empty() {
        out.push(("padding", Val::Pairs(spec.padding.clone())));
    }
}

fn reduction_word(kind: ReductionKind) -> Option<Val> {
    let text = match kind {
        ReductionKind::Add => return None,
        ReductionKind::Mul => "mul",
        ReductionKind::Max => "max",
        ReductionKind::Min => "min",
        ReductionKind::And => "and",
        ReductionKind::Or => "or",
        ReductionKind::Xor => "xor",
    };
    Some(Val::Word(Cow::Borrowed(text)))
}

fn push_mesh_collective(out: &mut Attrs, spec: &MeshCollective) {
    out.push(("out_sharding", Val::Sharding(spec.out)));
    match &spec.kind {
        MeshCollectiveKind::AllGather(dims) => {
            out.push(("gathering_axes", Val::AxesPerDim(dims.clone(), spec.mesh)));
        }
        MeshCollectiveKind::AllSlice(dims) => {
            out.push(("slicing_axes", Val::AxesPerDim(dims.clone(), spec.mesh)));
        }
        MeshCollectiveKind::AllToAll(moves) => {
            out.push(("params", Val::AllToAll(moves.clone(), spec.mesh)));
        }
        MeshCollectiveKind::CollectivePermute | MeshCollectiveKind::Exchange => {}
        MeshCollectiveKind::ShardedToUnreduced(dims) => {
            out.push(("axes", Val::AxesPerDim(dims.clone(), spec.mesh)));
        }
        MeshCollectiveKind::ReplicatedToUnreduced(axes) => {
            out.push(("axes", Val::Axes(axes.clone(), spec.mesh)));
        }
        MeshCollectiveKind::AllReduce(axes, kind) => {
            out.push(("reduction_axes", Val::Axes(axes.clone(), spec.mesh)));
            out.extend(reduction_word(*kind).map(|w| ("reduction_op", w)));
        }
        MeshCollectiveKind::ReduceScatter(dims, kind) => {
            out.push(("reduce_scatter_axes", Val::AxesPerDim(dims.clone(), spec.mesh)));
            out.extend(reduction_word(*kind).map(|w| ("reduction_op", w)));
        }
    }
}

#[expect(clippy::too_many_lines, reason = "a table: an arm for each operation")]
pub(super) fn push_attrs(out: &mut Attrs, module: &Module, kind: &OpKind) {
    use OpKind as K;
    match kind {
        K::Unary(_) | K::Binary(_) | K::Select | K::Clamp | K::Convert | K::BitcastConvert | K::Reshape => {}
        K::DynamicUpdateSlice | K::While | K::Case | K::If | K::OptimizationBarrier | K::Return => {}
        K::Tuple | K::AfterAll | K::PartitionId | K::ReplicaId | K::Opaque(_) => {}
        K::UniformQuantize | K::UniformDequantize | K::AsyncStart | K::AsyncDone | K::CreateToken => {}
        K::FuncDataFlowEdge => {}
        K::Compare(direction, ty) => {
            out.push(("comparison_direction", word(direction.as_str())));
            out.extend(ty.map(|ty| ("compare_type", word(ty.as_str()))));
        }
        K::ReducePrecision { exponent_bits, mantissa_bits } => {
            out.push(("exponent_bits", int(*exponent_bits)));
            out.push(("mantissa_bits", int(*mantissa_bits)));
        }
        K::Constant(dense) => out.push(("value", Val::Dense(dense.clone()))),
        K::Iota { dim } => out.push(("iota_dimension", int(*dim))),
        K::BroadcastInDim { dims: d } => out.push(("broadcast_dimensions", dims(d))),
        K::Transpose { permutation } => out.push(("permutation", dims(permutation))),
        K::Reverse { dims: d } | K::Reduce { dims: d } => out.push(("dimensions", dims(d))),
        K::Slice(spec) => {
            out.push(("start_indices", ints(&spec.start)));
            out.push(("limit_indices", ints(&spec.limit)));
            out.push(("strides", ints(&spec.stride)));
        }
        K::DynamicSlice { sizes } => out.push(("slice_sizes", ints(sizes))),
        K::Concatenate { dim } => out.push(("dimension", int(*dim))),
        K::Splice(spec) => {
            let piece = |p: &SplicePiece| [i64::from(p.operand), p.start, p.limit];
            let pieces: SizeList = spec.pieces.iter().flat_map(piece).collect();
            out.push(("dimension", int(spec.dim)));
            out.push(("pieces", ints(&pieces)));
        }
        K::Pad(spec) => {
            out.push(("edge_padding_low", ints(&spec.low)));
            out.push(("edge_padding_high", ints(&spec.high)));
            out.push(("interior_padding", ints(&spec.interior)));
        }
        K::DotGeneral(spec) => {
            out.push(("dot_dimension_numbers", Val::Dot(spec.clone())));
            if !spec.precision.is_empty() {
                out.push(("precision_config", Val::Precisions(spec.precision.clone())));
            }
            if let Some(algorithm) = &spec.algorithm {
                out.push(("algorithm", Val::Raw(algorithm.clone())));
            }
        }
        K::Convolution(spec) => push_conv(out, spec),
        K::ReduceWindow(spec) => push_window(out, spec, true),
        K::SelectAndScatter(spec) => push_window(out, spec, false),
        K::Sort { dim, stable } => {
            out.extend(dim.map(|dim| ("dimension", Val::Int(dim))));
            push_flag(out, "is_stable", *stable);
        }
        K::Gather(spec) => {
            out.push(("dimension_numbers", Val::Gather(spec.clone())));
            out.push(("slice_sizes", ints(&spec.slice_sizes)));
            push_flag(out, "indices_are_sorted", spec.indices_are_sorted);
        }
        K::Scatter(spec) => {
            out.push(("scatter_dimension_numbers", Val::Scatter(spec.clone())));
            push_flag(out, "indices_are_sorted", spec.indices_are_sorted);
            push_flag(out, "unique_indices", spec.unique_indices);
        }
        K::RngBitGenerator { algorithm } => out.push(("rng_algorithm", word(algorithm.as_str()))),
        K::Fft { kind, length } => {
            out.push(("fft_type", word(kind.as_str())));
            out.push(("fft_length", ints(length)));
        }
        K::Cholesky { lower } => out.extend(lower.then_some(("lower", Val::Bool(true)))),
        K::TriangularSolve(spec) => {
            out.push(("left_side", Val::Bool(spec.left_side)));
            out.push(("lower", Val::Bool(spec.lower)));
            out.push(("unit_diagonal", Val::Bool(spec.unit_diagonal)));
            out.push(("transpose_a", word(spec.transpose_a.as_str())));
        }
        K::Call { callee } => out.push(("callee", Val::Str(callee.clone()))),
        K::CustomCall(spec) => out.push(("call_target_name", Val::Str(spec.target.clone()))),
        K::GetTupleElement { index } => out.push(("index", int(*index))),
        K::AllReduce(spec) => push_collective(out, spec, "replica_groups"),
        K::AllGather { dim, spec } => {
            out.push(("all_gather_dim", int(*dim)));
            push_collective(out, spec, "replica_groups");
        }
        K::ReduceScatter { dim, spec } => {
            out.push(("scatter_dimension", int(*dim)));
            push_collective(out, spec, "replica_groups");
        }
        K::AllToAll { split_dim, concat_dim, split_count, spec } => {
            out.push(("split_dimension", int(*split_dim)));
            out.push(("concat_dimension", int(*concat_dim)));
            out.push(("split_count", int(*split_count)));
            push_collective(out, spec, "replica_groups");
        }
        K::CollectivePermute(spec) => push_collective(out, spec, PAIRS),
        K::CollectiveBroadcast(spec) => push_collective(out, spec, "replica_groups"),
        K::BatchNorm(_, spec) => {
            out.push(("epsilon", Val::F32(spec.epsilon)));
            out.push(("feature_index", int(spec.feature_index)));
        }
        K::Map { dims: d } => out.push(("dimensions", dims(d))),
        K::Rng(distribution) => {
            out.push(("rng_distribution", word(distribution.as_str())));
        }
        K::Dynamic(op) => push_dynamic(out, op),
        K::GetDimensionSize { dim } | K::SetDimensionSize { dim } => out.push(("dimension", int(*dim))),
        K::Broadcast { sizes } => out.push(("broadcast_sizes", ints(sizes))),
        K::Einsum { config } | K::UnaryEinsum { config } => {
            out.push(("einsum_config", Val::Str(config.clone())));
        }
        K::TorchIndexSelect { dim, batch_dims } => {
            out.push(("dim", Val::Int(*dim)));
            out.push(("batch_dims", Val::Int(*batch_dims)));
        }
        K::Composite(spec) => {
            out.push(("name", Val::Str(spec.name.clone())));
            let attributes = spec.attributes.clone().map(Attr::Dict);
            out.extend(attributes.map(|dict| ("composite_attributes", Val::Attr(dict))));
            out.push(("decomposition", Val::Str(spec.decomposition.clone())));
            out.extend(spec.version.map(|version| ("version", Val::Int(i64::from(version)))));
        }
        K::Infeed(spec) => {
            out.push(("infeed_config", Val::Str(spec.config.clone())));
            out.extend(spec.layout.clone().map(|layout| ("layout", Val::Attr(layout))));
        }
        K::Outfeed { config } => out.push(("outfeed_config", Val::Str(config.clone()))),
        K::Send(spec) | K::Recv(spec) => push_transfer(out, spec),
        K::CollectiveReduce(spec) | K::CrossReplicaSum(spec) => push_collective(out, spec, "replica_groups"),
        K::Broadcasting(spec) => {
            out.extend(spec.dims.as_ref().map(|d| ("broadcast_dimensions", dims(d))));
            if let BroadcastingOp::Compare(direction, ty) = spec.op {
                out.push(("comparison_direction", word(direction.as_str())));
                out.extend(ty.map(|ty| ("compare_type", word(ty.as_str()))));
            }
        }
        K::ConstantLike(value) => out.push(("value", Val::Attr((**value).clone()))),
        K::TopK { k, stable } => {
            out.push(("k", Val::Int(*k)));
            push_flag(out, "is_stable", *stable);
        }
        K::RaggedDot(spec) => {
            if !spec.precision.is_empty() {
                out.push(("precision_config", Val::Precisions(spec.precision.clone())));
            }
            out.push(("ragged_dot_dimension_numbers", Val::RaggedDot(spec.clone())));
        }
        K::Scan(spec) => {
            out.push(("dimension", int(spec.dim)));
            out.push(("operandSegmentSizes", dims(&[spec.inputs, spec.carries])));
            out.push(("resultSegmentSizes", dims(&[spec.outputs, spec.carries])));
            out.extend(spec.dim_size.map(|size| ("scan_dim_size", Val::Int(size))));
            push_flag(out, "is_reverse", spec.reverse);
            push_flag(out, "is_associative", spec.associative);
        }
        K::ShardingConstraint(sharding) | K::Reshard(sharding) => {
            out.push(("sharding", Val::Sharding(*sharding)));
        }
        K::DataFlowEdge(sharding) => out.extend(sharding.map(|id| ("sharding", Val::Sharding(id)))),
        K::NamedComputation(spec) => {
            out.push(("name", Val::Str(spec.name.clone())));
            let lists = [("in_shardings", &spec.in_shardings), ("out_shardings", &spec.out_shardings)];
            out.extend(
                lists.into_iter().filter_map(|(name, list)| Some((name, Val::Shardings(list.clone()?)))),
            );
        }
        K::MeshCollective(spec) => push_mesh_collective(out, spec),
        K::ManualComputation(spec) => {
            let named = spec.in_shardings.iter().chain(&spec.out_shardings);
            let named = named.map(|&id| module.shardings.get(id).mesh);
            let has_axes = |mesh: &MeshId| {
                let count = module.meshes[*mesh].axes.len();
                spec.manual_axes.iter().all(|axis| usize::from(axis.axis) < count)
            };
            let mesh = named.chain(module.meshes.keys()).find(has_axes);
            out.push(("in_shardings", Val::Shardings(spec.in_shardings.clone())));
            out.push(("out_shardings", Val::Shardings(spec.out_shardings.clone())));
            out.push(("manual_axes", Val::ManualAxes(spec.manual_axes.clone(), mesh)));
        }
        K::PropagationBarrier { direction } => out.push(("allowed_direction", word(direction.as_str()))),
        K::ShardingGroup { id } => out.push(("group_id", Val::Int(*id))),
    }
}

fn push_dynamic(out: &mut Attrs, op: &DynamicOp) {
    match op {
        DynamicOp::Reshape | DynamicOp::Pad | DynamicOp::RealSlice => {}
        DynamicOp::BroadcastInDim(spec) => {
            out.push(("broadcast_dimensions", dims(&spec.dims)));
            let known = [
                ("known_expanding_dimensions", &spec.known_expanding),
                ("known_nonexpanding_dimensions", &spec.known_nonexpanding),
            ];
            out.extend(known.into_iter().filter_map(|(name, list)| Some((name, dims(list.as_ref()?)))));
        }
        DynamicOp::Iota { dim } => out.push(("iota_dimension", int(*dim))),
        DynamicOp::Gather(spec) => {
            out.push(("dimension_numbers", Val::Gather(spec.clone())));
            push_flag(out, "indices_are_sorted", spec.indices_are_sorted);
        }
        DynamicOp::Convolution(spec) => push_conv(out, spec),
    }
}

fn push_conv(out: &mut Attrs, spec: &ConvSpec) {
    let (input, kernel, output) = (spec.input.clone(), spec.kernel.clone(), spec.output.clone());
    out.push(("dimension_numbers", Val::Conv(Box::new(ConvNumbers { input, kernel, output }))));
    out.push(("feature_group_count", Val::Int(spec.feature_group_count)));
    out.push(("batch_group_count", Val::Int(spec.batch_group_count)));
    let lists = [
        ("window_strides", &spec.strides),
        ("lhs_dilation", &spec.lhs_dilation),
        ("rhs_dilation", &spec.rhs_dilation),
    ];
    for (name, list) in lists {
        if !list.is_empty() {
            out.push((name, ints(list)));
        }
    }
    if !spec.padding.is_empty() {
        out.push(("padding", Val::Pairs(spec.padding.iter().copied().collect())));
    }
    if !spec.reversal.is_empty() {
        out.push(("window_reversal", Val::Bools(spec.reversal.clone())));
    }
    if !spec.precision.is_empty() {
        out.push(("precision_config", Val::Precisions(spec.precision.clone())));
    }
}
