//! Converts inherent attributes to payloads.

use shardc_ir::{
    Attr, AttrDict, BatchNormKind, BatchNormSpec, BroadcastingOp, BroadcastingSpec, CompositeSpec,
    CustomCallSpec, DotSpec, DynamicBroadcastSpec, DynamicOp, FftKind, InfeedSpec, ManualSpec, Module,
    NamedSpec, OpKind, OpaqueSpec, PadSpec, PropagationDirection, RngAlgorithm, RngDistribution, ScanSpec,
    SliceSpec, SpliceSpec, Transposition, TriangularSpec, UnaryOp,
};

use super::given::{Given, Problem};
use crate::syntax::table::kept::IMPLIED;
use crate::syntax::table::{Elementwise, row};
use crate::syntax::values::Val;

/// Returns the kind of the operation called `name` from its inherent attributes. An unknown operation keeps them in
/// [`OpaqueSpec::props`].
#[expect(clippy::too_many_lines, reason = "a table: an arm for each operation")]
pub(crate) fn kind_of(module: &Module, name: &str, given: &mut Given) -> Result<OpKind, Problem> {
    use OpKind as K;
    match row(name).and_then(|row| row.elementwise) {
        Some(Elementwise::Unary(op)) => return Ok(K::Unary(op)),
        Some(Elementwise::Binary(op)) => return Ok(K::Binary(op)),
        Some(Elementwise::Broadcast(op)) => {
            let dims = given.opt_dims("broadcast_dimensions")?;
            return Ok(K::Broadcasting(Box::new(BroadcastingSpec { op: BroadcastingOp::Binary(op), dims })));
        }
        None => {}
    }
    Ok(match name {
        "stablehlo.compare" => {
            let (direction, ty) = given.comparison()?;
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
        "arith.constant" if !given.0.iter().any(|(name, _)| *name == "value") => {
            K::Opaque(Box::new(OpaqueSpec { name: name.into(), props: AttrDict::new() }))
        }
        "stablehlo.constant" | "sdy.constant" | "chlo.constant" | "arith.constant" => {
            match given.need("value")? {
                Val::Dense(dense) => K::Constant(dense),
                _ => return Err("the attribute `value` must be a constant".to_owned()),
            }
        }
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
        "shardc.splice" => {
            let dim = given.dim("dimension")?;
            K::Splice(Box::new(SpliceSpec { dim, pieces: given.splice_pieces("pieces")? }))
        }
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
                Some(Val::Raw(text)) if text.starts_with("#stablehlo.dot_algorithm<") => Some(text),
                Some(_) => {
                    return Err(
                        "the attribute `algorithm` must be `#stablehlo.dot_algorithm<...>`".to_owned()
                    );
                }
                None => None,
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
        "stablehlo.sort" => K::Sort { dim: given.opt_int("dimension"), stable: given.opt_flag("is_stable") },
        "stablehlo.gather" => {
            let mut spec = given.gather()?;
            spec.slice_sizes = given.ints("slice_sizes")?;
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
            spec.indices_are_sorted = given.opt_flag("indices_are_sorted");
            spec.unique_indices = given.opt_flag("unique_indices");
            K::Scatter(spec)
        }
        "stablehlo.rng_bit_generator" => {
            let all = RngAlgorithm::ALL;
            let algorithm = given.one_of("rng_algorithm", "an algorithm", all, RngAlgorithm::as_str)?;
            K::RngBitGenerator { algorithm }
        }
        "stablehlo.fft" => K::Fft {
            kind: given.one_of("fft_type", "a Fourier transform", FftKind::ALL, FftKind::as_str)?,
            length: given.ints("fft_length")?,
        },
        "stablehlo.cholesky" => K::Cholesky { lower: given.flag("lower") },
        "stablehlo.triangular_solve" => K::TriangularSolve(Box::new(TriangularSpec {
            left_side: given.flag("left_side"),
            lower: given.flag("lower"),
            unit_diagonal: given.flag("unit_diagonal"),
            transpose_a: given.one_of(
                "transpose_a",
                "a transposition",
                Transposition::ALL,
                Transposition::as_str,
            )?,
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
        | "shardc.exchange"
        | "sdy.all_reduce"
        | "sdy.reduce_scatter"
        | "sdy.sharded_to_unreduced"
        | "sdy.replicated_to_unreduced" => given.mesh_collective(module, name)?,
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
        "sdy.propagation_barrier" => {
            let all = PropagationDirection::ALL;
            let direction =
                given.one_of("allowed_direction", "a direction", all, PropagationDirection::as_str)?;
            K::PropagationBarrier { direction }
        }
        "sdy.sharding_group" => K::ShardingGroup { id: given.int("group_id")? },
        "sdy.data_flow_edge" => K::DataFlowEdge(match given.take("sharding") {
            Some(Val::Sharding(id)) => Some(id),
            _ => None,
        }),
        "sdy.func_data_flow_edge" => K::FuncDataFlowEdge,
        "sdy.named_computation" => K::NamedComputation(Box::new(NamedSpec {
            name: given.string("name")?,
            in_shardings: given.opt_shardings("in_shardings"),
            out_shardings: given.opt_shardings("out_shardings"),
        })),
        _ => return rare_kind_of(name, given),
    })
}

/// Kinds of rare operations.
#[expect(clippy::too_many_lines, reason = "a table: an arm for each operation")]
fn rare_kind_of(name: &str, given: &mut Given) -> Result<OpKind, Problem> {
    use OpKind as K;
    Ok(match name {
        "stablehlo.batch_norm_training" => K::BatchNorm(BatchNormKind::Training, batch_norm(given)?),
        "stablehlo.batch_norm_inference" => K::BatchNorm(BatchNormKind::Inference, batch_norm(given)?),
        "stablehlo.batch_norm_grad" => K::BatchNorm(BatchNormKind::Grad, batch_norm(given)?),
        "stablehlo.map" => K::Map { dims: given.dims("dimensions")? },
        "stablehlo.rng" => {
            let all = RngDistribution::ALL;
            K::Rng(given.one_of("rng_distribution", "a distribution", all, RngDistribution::as_str)?)
        }
        "stablehlo.dynamic_reshape" => K::Dynamic(DynamicOp::Reshape),
        "stablehlo.dynamic_broadcast_in_dim" => {
            K::Dynamic(DynamicOp::BroadcastInDim(Box::new(DynamicBroadcastSpec {
                dims: given.dims("broadcast_dimensions")?,
                known_expanding: given.opt_dims("known_expanding_dimensions")?,
                known_nonexpanding: given.opt_dims("known_nonexpanding_dimensions")?,
            })))
        }
        "stablehlo.dynamic_iota" => K::Dynamic(DynamicOp::Iota { dim: given.dim("iota_dimension")? }),
        "stablehlo.dynamic_pad" => K::Dynamic(DynamicOp::Pad),
        "stablehlo.real_dynamic_slice" => K::Dynamic(DynamicOp::RealSlice),
        "stablehlo.dynamic_gather" => K::Dynamic(DynamicOp::Gather(given.gather()?)),
        "stablehlo.dynamic_conv" => K::Dynamic(DynamicOp::Convolution(given.conv()?)),
        "stablehlo.get_dimension_size" => K::GetDimensionSize { dim: given.dim("dimension")? },
        "stablehlo.set_dimension_size" => K::SetDimensionSize { dim: given.dim("dimension")? },
        "stablehlo.broadcast" => K::Broadcast { sizes: given.ints("broadcast_sizes")? },
        "stablehlo.einsum" => K::Einsum { config: given.string("einsum_config")? },
        "stablehlo.unary_einsum" => K::UnaryEinsum { config: given.string("einsum_config")? },
        "stablehlo.torch_index_select" => {
            K::TorchIndexSelect { dim: given.int("dim")?, batch_dims: given.int("batch_dims")? }
        }
        "stablehlo.uniform_quantize" => K::UniformQuantize,
        "stablehlo.uniform_dequantize" => K::UniformDequantize,
        "stablehlo.composite" => K::Composite(Box::new(CompositeSpec {
            name: given.string("name")?,
            attributes: match given.opt_attr("composite_attributes") {
                Some(Attr::Dict(dict)) => Some(dict),
                Some(_) => return Err("the attribute `composite_attributes` must be a dictionary".to_owned()),
                None => None,
            },
            decomposition: given.string("decomposition")?,
            version: match given.opt_int("version").map(i32::try_from) {
                None => None,
                Some(Ok(version)) => Some(version),
                Some(Err(_)) => return Err("the attribute `version` must fit in 32 bits".to_owned()),
            },
        })),
        "stablehlo.async_start" => K::AsyncStart,
        "stablehlo.async_done" => K::AsyncDone,
        "stablehlo.create_token" => K::CreateToken,
        "stablehlo.infeed" => K::Infeed(Box::new(InfeedSpec {
            config: given.opt_string("infeed_config").unwrap_or_default(),
            layout: given.opt_attr("layout"),
        })),
        "stablehlo.outfeed" => K::Outfeed { config: given.opt_string("outfeed_config").unwrap_or_default() },
        "stablehlo.send" => K::Send(given.transfer()?),
        "stablehlo.recv" => K::Recv(given.transfer()?),
        "stablehlo.collective_reduce" => K::CollectiveReduce(given.collective("replica_groups")?),
        "stablehlo.cross-replica-sum" => K::CrossReplicaSum(given.collective("replica_groups")?),
        "chlo.broadcast_compare" => {
            let (direction, ty) = given.comparison()?;
            let dims = given.opt_dims("broadcast_dimensions")?;
            K::Broadcasting(Box::new(BroadcastingSpec { op: BroadcastingOp::Compare(direction, ty), dims }))
        }
        "chlo.broadcast_select" => {
            K::Broadcasting(Box::new(BroadcastingSpec { op: BroadcastingOp::Select, dims: None }))
        }
        "chlo.constant_like" => match given.need("value")? {
            Val::Attr(value) => K::ConstantLike(Box::new(value)),
            _ => return Err("the attribute `value` must be a number".to_owned()),
        },
        "chlo.top_k" => K::TopK { k: given.int("k")?, stable: given.opt_flag("is_stable") },
        "chlo.ragged_dot" => match given.need("ragged_dot_dimension_numbers")? {
            Val::RaggedDot(mut spec) => {
                spec.precision = given.precisions();
                K::RaggedDot(spec)
            }
            _ => {
                let form = "the attribute `ragged_dot_dimension_numbers` must be `#chlo.ragged_dot<...>`";
                return Err(form.to_owned());
            }
        },
        "chlo.scan" => {
            let [inputs, carries] = given.two_segments("operandSegmentSizes")?;
            let [outputs, carried] = given.two_segments("resultSegmentSizes")?;
            if carries != carried {
                return Err(format!(
                    "the operation has {carries} loop-carried operands, but {carried} loop-carried results"
                ));
            }
            K::Scan(Box::new(ScanSpec {
                inputs,
                carries,
                outputs,
                dim: given.dim("dimension")?,
                dim_size: given.opt_int("scan_dim_size"),
                reverse: given.opt_flag("is_reverse"),
                associative: given.opt_flag("is_associative"),
            }))
        }
        _ => {
            let mut props = opaque_props(given);
            let written = |props: &AttrDict, name: &str| props.iter().any(|(other, _)| other == name);
            for &(attr, value) in IMPLIED {
                if row(name).is_some_and(|row| row.attr(attr).is_some()) && !written(&props, attr) {
                    props.set(attr, Attr::Raw(value.into()));
                }
            }
            K::Opaque(Box::new(OpaqueSpec { name: name.into(), props }))
        }
    })
}

fn batch_norm(given: &mut Given) -> Result<BatchNormSpec, Problem> {
    let epsilon = match given.need("epsilon")? {
        Val::F32(epsilon) => epsilon,
        _ => return Err("the attribute `epsilon` must be a 32-bit float".to_owned()),
    };
    Ok(BatchNormSpec { epsilon, feature_index: given.dim("feature_index")? })
}

/// Returns the attributes of a manual computation without shardings, whose axes therefore have no mesh.
fn axes_of_no_mesh(given: &mut Given) -> AttrDict {
    let text = |val| match val {
        Val::Raw(text) => text,
        _ => "#sdy.sharding_per_value<[]>".into(),
    };
    let attrs = std::mem::take(&mut given.0).into_iter();
    attrs.map(|(name, val)| (name.into(), Attr::Raw(text(val)))).collect()
}

fn opaque_props(given: &mut Given) -> AttrDict {
    let attr = |val: Val| match val {
        Val::Int(value) => Some(Attr::Int(value, "i64".into())),
        Val::Bool(value) => Some(Attr::Bool(value)),
        Val::Str(text) => Some(Attr::Str(text)),
        Val::Raw(text) => Some(Attr::Raw(text)),
        Val::Attr(attr) => Some(attr),
        _ => None,
    };
    std::mem::take(&mut given.0)
        .into_iter()
        .filter_map(|(name, val)| Some((name.into(), attr(val)?)))
        .collect()
}
