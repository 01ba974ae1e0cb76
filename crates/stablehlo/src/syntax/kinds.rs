//! Inherent attributes <-> payloads of [`OpKind`].

use std::borrow::Cow;

use shardc_ir::{
    Attr, AttrDict, AxisList, CollectiveSpec, CompareDirection, CompareType, ConvSpec, CustomCallSpec,
    DimList, DotSpec, ManualSpec, MeshCollective, MeshCollectiveKind, MeshId, Module, OpKind, OpaqueSpec,
    PadSpec, ReductionKind, SizeList, SliceSpec, TriangularSpec, UnaryOp, WindowSpec,
};
use smallvec::SmallVec;

use super::table::{Elementwise, row};
use super::values::{Attrs, Val};

/// Inherent attributes of an operation of this kind, sorted by name as MLIR prints them. Those of a custom call
/// and of an unknown operation, which are kept as they were read, are not among them.
pub(crate) fn attrs_of(module: &Module, kind: &OpKind) -> Attrs {
    let mut out = Attrs::new();
    push_attrs(&mut out, module, kind);
    out.sort_by_key(|(name, _)| *name);
    out
}

fn ints(values: &[i64]) -> Val {
    Val::Ints(SmallVec::from_slice(values))
}

fn dims(values: &[u32]) -> Val {
    Val::Ints(values.iter().map(|&v| i64::from(v)).collect())
}

fn int(value: u32) -> Val {
    Val::Int(i64::from(value))
}

fn word(text: &str) -> Val {
    Val::Word(Cow::Owned(text.to_owned()))
}

fn push_collective(out: &mut Attrs, spec: &CollectiveSpec, groups: &'static str, global: bool) {
    if let Some(channel) = spec.channel {
        out.push(("channel_handle", Val::Channel(channel)));
    }
    out.push((groups, Val::Groups(spec.groups.clone())));
    if global && spec.use_global_device_ids {
        out.push(("use_global_device_ids", Val::Unit));
    }
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
        MeshCollectiveKind::CollectivePermute => {}
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

fn push_attrs(out: &mut Attrs, module: &Module, kind: &OpKind) {
    use OpKind as K;
    match kind {
        K::Unary(_) | K::Binary(_) | K::Select | K::Clamp | K::Convert | K::BitcastConvert | K::Reshape => {}
        K::DynamicUpdateSlice | K::While | K::Case | K::If | K::OptimizationBarrier | K::Return => {}
        K::Tuple | K::AfterAll | K::PartitionId | K::ReplicaId | K::Opaque(_) => {}
        K::Compare(direction, ty) => {
            out.push(("comparison_direction", Val::Word(Cow::Borrowed(direction.as_str()))));
            out.extend(ty.map(|ty| ("compare_type", Val::Word(Cow::Borrowed(ty.as_str())))));
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
            out.push(("dimension", Val::Int(*dim)));
            out.push(("is_stable", Val::Bool(*stable)));
        }
        K::Gather(spec) => {
            out.push(("dimension_numbers", Val::Gather(spec.clone())));
            out.push(("slice_sizes", ints(&spec.slice_sizes)));
            out.push(("indices_are_sorted", Val::Bool(spec.indices_are_sorted)));
        }
        K::Scatter(spec) => {
            out.push(("scatter_dimension_numbers", Val::Scatter(spec.clone())));
            out.push(("indices_are_sorted", Val::Bool(spec.indices_are_sorted)));
            out.push(("unique_indices", Val::Bool(spec.unique_indices)));
        }
        K::RngBitGenerator { algorithm } => out.push(("rng_algorithm", word(algorithm))),
        K::Fft { kind, length } => {
            out.push(("fft_type", word(kind)));
            out.push(("fft_length", ints(length)));
        }
        K::Cholesky { lower } => out.extend(lower.then_some(("lower", Val::Bool(true)))),
        K::TriangularSolve(spec) => {
            out.push(("left_side", Val::Bool(spec.left_side)));
            out.push(("lower", Val::Bool(spec.lower)));
            out.push(("unit_diagonal", Val::Bool(spec.unit_diagonal)));
            out.push(("transpose_a", word(&spec.transpose_a)));
        }
        K::Call { callee } => out.push(("callee", Val::Str(callee.clone()))),
        K::CustomCall(spec) => out.push(("call_target_name", Val::Str(spec.target.clone()))),
        K::GetTupleElement { index } => out.push(("index", int(*index))),
        K::AllReduce(spec) => push_collective(out, spec, "replica_groups", true),
        K::AllGather { dim, spec } => {
            out.push(("all_gather_dim", int(*dim)));
            push_collective(out, spec, "replica_groups", true);
        }
        K::ReduceScatter { dim, spec } => {
            out.push(("scatter_dimension", int(*dim)));
            push_collective(out, spec, "replica_groups", true);
        }
        K::AllToAll { split_dim, concat_dim, split_count, spec } => {
            out.push(("split_dimension", int(*split_dim)));
            out.push(("concat_dimension", int(*concat_dim)));
            out.push(("split_count", int(*split_count)));
            push_collective(out, spec, "replica_groups", false);
        }
        K::CollectivePermute(spec) => push_collective(out, spec, "source_target_pairs", false),
        K::CollectiveBroadcast(spec) => push_collective(out, spec, "replica_groups", false),
        K::ShardingConstraint(sharding) | K::Reshard(sharding) => {
            out.push(("sharding", Val::Sharding(*sharding)));
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
        K::PropagationBarrier { direction } => out.push(("allowed_direction", word(direction))),
        K::ShardingGroup { id } => out.push(("group_id", Val::Int(*id))),
    }
}

fn push_conv(out: &mut Attrs, spec: &ConvSpec) {
    let all = [spec.input.clone(), spec.kernel.clone(), spec.output.clone()];
    out.push(("dimension_numbers", Val::Conv(Box::new(all))));
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

/// Inherent attributes as read, to be taken one by one.
#[derive(Debug, Default)]
pub(crate) struct Given(pub(crate) Attrs);

/// What is wrong with the attributes of an operation.
pub(crate) type Problem = String;

impl Given {
    fn take(&mut self, name: &str) -> Option<Val> {
        let at = self.0.iter().position(|(n, _)| *n == name)?;
        Some(self.0.swap_remove(at).1)
    }

    fn need(&mut self, name: &str) -> Result<Val, Problem> {
        self.take(name).ok_or_else(|| format!("the attribute `{name}` is missing"))
    }

    fn opt_ints(&mut self, name: &str) -> SizeList {
        match self.take(name) {
            Some(Val::Ints(list)) => list.iter().copied().collect(),
            _ => SizeList::new(),
        }
    }

    fn ints(&mut self, name: &str) -> Result<SizeList, Problem> {
        match self.need(name)? {
            Val::Ints(list) => Ok(list.iter().copied().collect()),
            _ => Err(format!("the attribute `{name}` must be a list of integers")),
        }
    }

    fn dims(&mut self, name: &str) -> Result<DimList, Problem> {
        to_dims(name, &self.ints(name)?)
    }

    fn int(&mut self, name: &str) -> Result<i64, Problem> {
        match self.need(name)? {
            Val::Int(value) => Ok(value),
            _ => Err(format!("the attribute `{name}` must be an integer")),
        }
    }

    fn dim(&mut self, name: &str) -> Result<u32, Problem> {
        u32::try_from(self.int(name)?).map_err(|_| format!("the attribute `{name}` must not be negative"))
    }

    fn flag(&mut self, name: &str) -> bool {
        matches!(self.take(name), Some(Val::Bool(true) | Val::Unit))
    }

    fn opt_word(&mut self, name: &str) -> Option<Cow<'static, str>> {
        match self.take(name) {
            Some(Val::Word(word)) => Some(word),
            _ => None,
        }
    }

    fn word(&mut self, name: &str) -> Result<Box<str>, Problem> {
        let word = self.opt_word(name).ok_or_else(|| format!("the attribute `{name}` is missing"))?;
        Ok(word.into_owned().into())
    }

    fn string(&mut self, name: &str) -> Result<Box<str>, Problem> {
        match self.need(name)? {
            Val::Str(text) => Ok(text),
            _ => Err(format!("the attribute `{name}` must be a name")),
        }
    }

    fn sharding(&mut self, name: &str) -> Result<shardc_ir::ShardingId, Problem> {
        match self.need(name)? {
            Val::Sharding(id) => Ok(id),
            _ => Err(format!("the attribute `{name}` must be a sharding")),
        }
    }

    fn shardings(&mut self, name: &str) -> Result<Vec<shardc_ir::ShardingId>, Problem> {
        match self.need(name)? {
            Val::Shardings(ids) => Ok(ids),
            _ => Err(format!("the attribute `{name}` must be a list of shardings")),
        }
    }

    fn axes_per_dim(&mut self, name: &str) -> Result<Vec<AxisList>, Problem> {
        match self.need(name)? {
            Val::AxesPerDim(dims, _) => Ok(dims),
            _ => Err(format!("the attribute `{name}` must list axes for each dimension")),
        }
    }

    fn reduction(&mut self) -> Result<ReductionKind, Problem> {
        use ReductionKind as R;
        let word = self.opt_word("reduction_op").unwrap_or(Cow::Borrowed("sum"));
        let kinds = [R::Add, R::Mul, R::Max, R::Min, R::And, R::Or, R::Xor];
        let names = ["sum", "mul", "max", "min", "and", "or", "xor"];
        let at = names.iter().position(|n| *n == word);
        at.map(|at| kinds[at]).ok_or_else(|| format!("`{word}` is not a reduction"))
    }

    fn pairs(&mut self, name: &str) -> SmallVec<[(i64, i64); 4]> {
        match self.take(name) {
            Some(Val::Pairs(pairs)) => pairs,
            _ => SmallVec::new(),
        }
    }

    fn precisions(&mut self) -> SmallVec<[shardc_ir::Precision; 2]> {
        match self.take("precision_config") {
            Some(Val::Precisions(list)) => list,
            _ => SmallVec::new(),
        }
    }

    fn collective(&mut self, groups: &str) -> Result<Box<CollectiveSpec>, Problem> {
        let channel = match self.take("channel_handle") {
            Some(Val::Channel(handle)) => Some(handle),
            _ => None,
        };
        let groups = match self.need(groups)? {
            Val::Groups(groups) => groups,
            _ => return Err(format!("the attribute `{groups}` must be a matrix of device numbers")),
        };
        let use_global_device_ids = self.flag("use_global_device_ids");
        Ok(Box::new(CollectiveSpec { groups, channel, use_global_device_ids }))
    }

    fn window(&mut self) -> Result<Box<WindowSpec>, Problem> {
        Ok(Box::new(WindowSpec {
            dimensions: self.opt_ints("window_dimensions"),
            strides: self.opt_ints("window_strides"),
            base_dilations: self.opt_ints("base_dilations"),
            window_dilations: self.opt_ints("window_dilations"),
            padding: self.pairs("padding"),
        }))
    }

    fn conv(&mut self) -> Result<Box<ConvSpec>, Problem> {
        let [input, kernel, output] = match self.need("dimension_numbers")? {
            Val::Conv(dims) => *dims,
            _ => return Err("the attribute `dimension_numbers` must be `#stablehlo.conv<...>`".to_owned()),
        };
        let count = |val: Option<Val>| match val {
            Some(Val::Int(value)) => value,
            _ => 1,
        };
        Ok(Box::new(ConvSpec {
            input,
            kernel,
            output,
            strides: self.opt_ints("window_strides"),
            padding: self.pairs("padding").into_iter().collect(),
            lhs_dilation: self.opt_ints("lhs_dilation"),
            rhs_dilation: self.opt_ints("rhs_dilation"),
            reversal: match self.take("window_reversal") {
                Some(Val::Bools(list)) => list,
                _ => SmallVec::new(),
            },
            feature_group_count: count(self.take("feature_group_count")),
            batch_group_count: count(self.take("batch_group_count")),
            precision: self.precisions(),
        }))
    }

    fn mesh_collective(&mut self, module: &Module, name: &str) -> Result<OpKind, Problem> {
        let out = self.sharding("out_sharding")?;
        let mesh = module.shardings.get(out).mesh;
        let kind = match name {
            "sdy.all_gather" => MeshCollectiveKind::AllGather(self.axes_per_dim("gathering_axes")?),
            "sdy.all_slice" => MeshCollectiveKind::AllSlice(self.axes_per_dim("slicing_axes")?),
            "sdy.all_to_all" => match self.need("params")? {
                Val::AllToAll(moves, _) => MeshCollectiveKind::AllToAll(moves),
                _ => return Err("the attribute `params` must name axes and two dimensions".to_owned()),
            },
            "sdy.all_reduce" => match self.need("reduction_axes")? {
                Val::Axes(axes, _) => MeshCollectiveKind::AllReduce(axes, self.reduction()?),
                _ => return Err("the attribute `reduction_axes` must be a list of axes".to_owned()),
            },
            "sdy.sharded_to_unreduced" => MeshCollectiveKind::ShardedToUnreduced(self.axes_per_dim("axes")?),
            "sdy.replicated_to_unreduced" => match self.need("axes")? {
                Val::Axes(axes, _) => MeshCollectiveKind::ReplicatedToUnreduced(axes),
                _ => return Err("the attribute `axes` must be a list of axes".to_owned()),
            },
            "sdy.reduce_scatter" => MeshCollectiveKind::ReduceScatter(
                self.axes_per_dim("reduce_scatter_axes")?,
                self.reduction()?,
            ),
            _ => MeshCollectiveKind::CollectivePermute,
        };
        Ok(OpKind::MeshCollective(Box::new(MeshCollective { mesh, kind, out })))
    }
}

fn to_dims(name: &str, values: &[i64]) -> Result<DimList, Problem> {
    let dim =
        |&v: &i64| u32::try_from(v).map_err(|_| format!("`{name}` must not hold the negative number {v}"));
    values.iter().map(dim).collect()
}

/// The kind of the operation called `name` from its inherent attributes. An operation that shardc does not know
/// keeps them in [`OpaqueSpec::props`].
pub(crate) fn kind_of(module: &Module, name: &str, given: &mut Given) -> Result<OpKind, Problem> {
    use OpKind as K;
    match row(name).and_then(|row| row.elementwise) {
        Some(Elementwise::Unary(op)) => return Ok(K::Unary(op)),
        Some(Elementwise::Binary(op)) => return Ok(K::Binary(op)),
        None => {}
    }
    Ok(match name {
        "stablehlo.compare" => {
            let direction = given.word("comparison_direction")?;
            let direction = CompareDirection::parse(&direction)
                .ok_or_else(|| format!("`{direction}` is not a comparison: use EQ, NE, GE, GT, LE or LT"))?;
            let ty = match given.opt_word("compare_type") {
                Some(word) if word == "NOTYPE" => None,
                Some(word) => Some(
                    CompareType::parse(&word).ok_or_else(|| format!("`{word}` is not a comparison type"))?,
                ),
                None => None,
            };
            K::Compare(direction, ty)
        }
        "stablehlo.select" => K::Select,
        "stablehlo.clamp" => K::Clamp,
        "stablehlo.convert" => K::Convert,
        "stablehlo.bitcast_convert" => K::BitcastConvert,
        "stablehlo.reduce_precision" => K::ReducePrecision {
            exponent_bits: given.dim("exponent_bits")?,
            mantissa_bits: given.dim("mantissa_bits")?,
        },
        "stablehlo.constant" | "sdy.constant" | "chlo.constant" => match given.need("value")? {
            Val::Dense(dense) => K::Constant(dense),
            _ => return Err("the attribute `value` must be a constant".to_owned()),
        },
        "stablehlo.iota" => K::Iota { dim: given.dim("iota_dimension")? },
        "stablehlo.broadcast_in_dim" => K::BroadcastInDim { dims: given.dims("broadcast_dimensions")? },
        "stablehlo.reshape" => K::Reshape,
        "stablehlo.transpose" => K::Transpose { permutation: given.dims("permutation")? },
        "stablehlo.reverse" => K::Reverse { dims: given.dims("dimensions")? },
        "stablehlo.slice" => K::Slice(Box::new(SliceSpec {
            start: given.ints("start_indices")?,
            limit: given.ints("limit_indices")?,
            stride: given.ints("strides")?,
        })),
        "stablehlo.dynamic_slice" => K::DynamicSlice { sizes: given.ints("slice_sizes")? },
        "stablehlo.dynamic_update_slice" => K::DynamicUpdateSlice,
        "stablehlo.concatenate" => K::Concatenate { dim: given.dim("dimension")? },
        "stablehlo.pad" => K::Pad(Box::new(PadSpec {
            low: given.ints("edge_padding_low")?,
            high: given.ints("edge_padding_high")?,
            interior: given.ints("interior_padding")?,
        })),
        "stablehlo.dot_general" => {
            let mut spec = match given.need("dot_dimension_numbers")? {
                Val::Dot(spec) => spec,
                _ => {
                    return Err(
                        "the attribute `dot_dimension_numbers` must be `#stablehlo.dot<...>`".to_owned()
                    );
                }
            };
            spec.precision = given.precisions();
            spec.algorithm = match given.take("algorithm") {
                Some(Val::Raw(text)) => Some(text),
                _ => None,
            };
            K::DotGeneral(spec)
        }
        "stablehlo.dot" => {
            K::DotGeneral(Box::new(DotSpec { precision: given.precisions(), ..DotSpec::default() }))
        }
        "chlo.tan" => K::Unary(UnaryOp::Tan),
        "stablehlo.convolution" => K::Convolution(given.conv()?),
        "stablehlo.reduce" => K::Reduce { dims: given.dims("dimensions")? },
        "stablehlo.reduce_window" => K::ReduceWindow(given.window()?),
        "stablehlo.select_and_scatter" => K::SelectAndScatter(given.window()?),
        "stablehlo.sort" => K::Sort {
            dim: match given.take("dimension") {
                Some(Val::Int(dim)) => dim,
                _ => -1,
            },
            stable: given.flag("is_stable"),
        },
        "stablehlo.gather" => {
            let mut spec = match given.need("dimension_numbers")? {
                Val::Gather(spec) => spec,
                _ => {
                    return Err(
                        "the attribute `dimension_numbers` must be `#stablehlo.gather<...>`".to_owned()
                    );
                }
            };
            spec.slice_sizes = given.ints("slice_sizes")?;
            spec.indices_are_sorted = given.flag("indices_are_sorted");
            K::Gather(spec)
        }
        "stablehlo.scatter" => {
            let mut spec = match given.need("scatter_dimension_numbers")? {
                Val::Scatter(spec) => spec,
                _ => {
                    let form = "the attribute `scatter_dimension_numbers` must be `#stablehlo.scatter<...>`";
                    return Err(form.to_owned());
                }
            };
            spec.indices_are_sorted = given.flag("indices_are_sorted");
            spec.unique_indices = given.flag("unique_indices");
            K::Scatter(spec)
        }
        "stablehlo.rng_bit_generator" => K::RngBitGenerator { algorithm: given.word("rng_algorithm")? },
        "stablehlo.fft" => K::Fft { kind: given.word("fft_type")?, length: given.ints("fft_length")? },
        "stablehlo.cholesky" => K::Cholesky { lower: given.flag("lower") },
        "stablehlo.triangular_solve" => K::TriangularSolve(Box::new(TriangularSpec {
            left_side: given.flag("left_side"),
            lower: given.flag("lower"),
            unit_diagonal: given.flag("unit_diagonal"),
            transpose_a: given.word("transpose_a")?,
        })),
        "stablehlo.while" => K::While,
        "stablehlo.case" => K::Case,
        "stablehlo.if" => K::If,
        "stablehlo.optimization_barrier" => K::OptimizationBarrier,
        "func.call" => K::Call { callee: given.string("callee")? },
        "stablehlo.return" | "func.return" | "sdy.return" => K::Return,
        "stablehlo.custom_call" => K::CustomCall(Box::new(CustomCallSpec {
            target: given.string("call_target_name")?,
            props: AttrDict::new(),
        })),
        "stablehlo.tuple" => K::Tuple,
        "stablehlo.get_tuple_element" => K::GetTupleElement { index: given.dim("index")? },
        "stablehlo.after_all" => K::AfterAll,
        "stablehlo.all_reduce" => K::AllReduce(given.collective("replica_groups")?),
        "stablehlo.all_gather" => {
            K::AllGather { dim: given.dim("all_gather_dim")?, spec: given.collective("replica_groups")? }
        }
        "stablehlo.reduce_scatter" => K::ReduceScatter {
            dim: given.dim("scatter_dimension")?,
            spec: given.collective("replica_groups")?,
        },
        "stablehlo.all_to_all" => K::AllToAll {
            split_dim: given.dim("split_dimension")?,
            concat_dim: given.dim("concat_dimension")?,
            split_count: given.dim("split_count")?,
            spec: given.collective("replica_groups")?,
        },
        "stablehlo.collective_permute" => K::CollectivePermute(given.collective("source_target_pairs")?),
        "stablehlo.collective_broadcast" => K::CollectiveBroadcast(given.collective("replica_groups")?),
        "stablehlo.partition_id" => K::PartitionId,
        "stablehlo.replica_id" => K::ReplicaId,
        "sdy.sharding_constraint" => K::ShardingConstraint(given.sharding("sharding")?),
        "sdy.reshard" => K::Reshard(given.sharding("sharding")?),
        "sdy.all_gather"
        | "sdy.all_slice"
        | "sdy.all_to_all"
        | "sdy.collective_permute"
        | "sdy.all_reduce"
        | "sdy.sharded_to_unreduced"
        | "sdy.replicated_to_unreduced"
        | "sdy.reduce_scatter" => given.mesh_collective(module, name)?,
        "sdy.manual_computation" if given.0.iter().any(|(_, val)| matches!(val, Val::Raw(_))) => {
            K::Opaque(Box::new(OpaqueSpec { name: name.into(), props: axes_of_no_mesh(given) }))
        }
        "sdy.manual_computation" => K::ManualComputation(Box::new(ManualSpec {
            in_shardings: given.shardings("in_shardings")?,
            out_shardings: given.shardings("out_shardings")?,
            manual_axes: match given.need("manual_axes")? {
                Val::ManualAxes(axes, _) => axes,
                _ => return Err("the attribute `manual_axes` must be a list of axes".to_owned()),
            },
        })),
        "sdy.propagation_barrier" => K::PropagationBarrier { direction: given.word("allowed_direction")? },
        "sdy.sharding_group" => K::ShardingGroup { id: given.int("group_id")? },
        _ => K::Opaque(Box::new(OpaqueSpec { name: name.into(), props: opaque_props(name, given) })),
    })
}

/// The attributes of a manual computation without shardings, whose axes are no mesh's.
fn axes_of_no_mesh(given: &mut Given) -> AttrDict {
    let text = |val| match val {
        Val::Raw(text) => text,
        _ => "#sdy.sharding_per_value<[]>".into(),
    };
    let attrs = std::mem::take(&mut given.0).into_iter();
    attrs.map(|(name, val)| (name.into(), Attr::Raw(text(val)))).collect()
}

fn opaque_props(name: &str, given: &mut Given) -> AttrDict {
    let attr = |val: Val| match val {
        Val::Int(value) => Some(Attr::Int(value, "i64".into())),
        Val::Bool(value) => Some(Attr::Bool(value)),
        Val::Str(text) => Some(Attr::Str(text)),
        Val::Raw(text) => Some(Attr::Raw(text)),
        Val::Ints(list) => {
            let items: Vec<String> = list.iter().map(i64::to_string).collect();
            Some(Attr::Raw(if items.is_empty() {
                "array<i64>".into()
            } else {
                format!("array<i64: {}>", items.join(", ")).into()
            }))
        }
        Val::Word(word) if name == "stablehlo.rng" => {
            Some(Attr::Raw(format!("#stablehlo<rng_distribution {word}>").into()))
        }
        _ => None,
    };
    std::mem::take(&mut given.0)
        .into_iter()
        .filter_map(|(name, val)| Some((name.into(), attr(val)?)))
        .collect()
}

/// How many operands an operation of this kind takes, where that is a fixed number.
pub(crate) fn operand_count(kind: &OpKind) -> Option<usize> {
    use OpKind as K;
    match kind {
        K::Constant(_) | K::Iota { .. } | K::PartitionId | K::ReplicaId => Some(0),
        K::Unary(_)
        | K::Convert
        | K::BitcastConvert
        | K::ReducePrecision { .. }
        | K::BroadcastInDim { .. } => Some(1),
        K::Reshape | K::Transpose { .. } | K::Reverse { .. } | K::Slice(_) | K::RngBitGenerator { .. } => {
            Some(1)
        }
        K::Fft { .. } | K::Cholesky { .. } | K::Case | K::If | K::GetTupleElement { .. } => Some(1),
        K::CollectivePermute(_) | K::ShardingConstraint(_) | K::Reshard(_) => Some(1),
        K::MeshCollective(_) | K::PropagationBarrier { .. } | K::ShardingGroup { .. } => Some(1),
        K::ReduceScatter { .. } => Some(1),
        K::Binary(_) | K::Compare(..) | K::Pad(_) | K::DotGeneral(_) | K::Convolution(_) | K::Gather(_) => {
            Some(2)
        }
        K::TriangularSolve(_) => Some(2),
        K::Select | K::Clamp | K::SelectAndScatter(_) => Some(3),
        K::DynamicSlice { .. } | K::DynamicUpdateSlice | K::Concatenate { .. } | K::Reduce { .. } => None,
        K::ReduceWindow(_) | K::Sort { .. } | K::Scatter(_) | K::While | K::OptimizationBarrier => None,
        K::Call { .. } | K::Return | K::CustomCall(_) | K::Tuple | K::AfterAll | K::AllReduce(_) => None,
        K::AllGather { .. }
        | K::AllToAll { .. }
        | K::CollectiveBroadcast(_)
        | K::ManualComputation(_)
        | K::Opaque(_) => None,
    }
}
