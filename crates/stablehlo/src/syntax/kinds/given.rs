//! Parsed inherent attributes.

use std::borrow::Cow;

use shardc_ir::{
    Attr, AxisList, CollectiveSpec, CompareDirection, CompareType, ConvSpec, DimList, GatherSpec,
    MeshCollective, MeshCollectiveKind, Module, OpKind, ReductionKind, SizeList, SplicePiece, TransferSpec,
    WindowSpec,
};
use smallvec::SmallVec;

use crate::syntax::values::{Attrs, ConvNumbers, Val};

/// Parsed inherent attributes, which are removed one by one as they are used.
#[derive(Debug, Default)]
pub(crate) struct Given(pub(crate) Attrs);

/// The error message for invalid attributes of an operation.
pub(crate) type Problem = String;

impl Given {
    pub(super) fn take(&mut self, name: &str) -> Option<Val> {
        let at = self.0.iter().position(|(n, _)| *n == name)?;
        Some(self.0.swap_remove(at).1)
    }

    pub(super) fn need(&mut self, name: &str) -> Result<Val, Problem> {
        self.take(name).ok_or_else(|| format!("the attribute `{name}` is missing"))
    }

    pub(super) fn opt_ints(&mut self, name: &str) -> SizeList {
        match self.take(name) {
            Some(Val::Ints(list)) => list.iter().copied().collect(),
            _ => SizeList::new(),
        }
    }

    pub(super) fn ints(&mut self, name: &str) -> Result<SizeList, Problem> {
        match self.need(name)? {
            Val::Ints(list) => Ok(list.iter().copied().collect()),
            _ => Err(format!("the attribute `{name}` must be a list of integers")),
        }
    }

    pub(super) fn splice_pieces(&mut self, name: &str) -> Result<SmallVec<[SplicePiece; 2]>, Problem> {
        let wrong = || format!("the attribute `{name}` must have three numbers for each piece");
        let list = self.ints(name)?;
        let pieces = list.chunks(3).map(|piece| match *piece {
            [operand, start, limit] => u32::try_from(operand)
                .map(|operand| SplicePiece { operand, start, limit })
                .map_err(|_| wrong()),
            _ => Err(wrong()),
        });
        pieces.collect()
    }

    pub(super) fn dims(&mut self, name: &str) -> Result<DimList, Problem> {
        to_dims(name, &self.ints(name)?)
    }

    pub(super) fn opt_dims(&mut self, name: &str) -> Result<Option<DimList>, Problem> {
        match self.take(name) {
            Some(Val::Ints(list)) => to_dims(name, &list).map(Some),
            _ => Ok(None),
        }
    }

    pub(super) fn opt_int(&mut self, name: &str) -> Option<i64> {
        match self.take(name) {
            Some(Val::Int(value)) => Some(value),
            _ => None,
        }
    }

    pub(super) fn opt_flag(&mut self, name: &str) -> Option<bool> {
        match self.take(name) {
            Some(Val::Bool(value)) => Some(value),
            _ => None,
        }
    }

    pub(super) fn opt_string(&mut self, name: &str) -> Option<Box<str>> {
        match self.take(name) {
            Some(Val::Str(text)) => Some(text),
            _ => None,
        }
    }

    pub(super) fn opt_attr(&mut self, name: &str) -> Option<Attr> {
        match self.take(name) {
            Some(Val::Attr(attr)) => Some(attr),
            _ => None,
        }
    }

    pub(super) fn int(&mut self, name: &str) -> Result<i64, Problem> {
        match self.need(name)? {
            Val::Int(value) => Ok(value),
            _ => Err(format!("the attribute `{name}` must be an integer")),
        }
    }

    pub(super) fn dim(&mut self, name: &str) -> Result<u32, Problem> {
        u32::try_from(self.int(name)?).map_err(|_| format!("the attribute `{name}` must not be negative"))
    }

    pub(super) fn flag(&mut self, name: &str) -> bool {
        matches!(self.take(name), Some(Val::Bool(true) | Val::Unit))
    }

    pub(super) fn opt_word(&mut self, name: &str) -> Option<Cow<'static, str>> {
        match self.take(name) {
            Some(Val::Word(word)) => Some(word),
            _ => None,
        }
    }

    pub(super) fn word(&mut self, name: &str) -> Result<Box<str>, Problem> {
        let word = self.opt_word(name).ok_or_else(|| format!("the attribute `{name}` is missing"))?;
        Ok(word.into_owned().into())
    }

    /// Returns the enumeration case whose spelling is the attribute's value.
    pub(super) fn one_of<T: Copy>(
        &mut self,
        name: &str,
        what: &str,
        all: &[T],
        spelt: fn(T) -> &'static str,
    ) -> Result<T, Problem> {
        let word = self.word(name)?;
        all.iter().copied().find(|&one| spelt(one) == &*word).ok_or_else(|| {
            let words: Vec<&str> = all.iter().map(|&one| spelt(one)).collect();
            let last = words.last().copied().unwrap_or_default();
            let rest = words[..words.len().saturating_sub(1)].join(", ");
            format!("`{word}` is not {what}: use {rest} or {last}")
        })
    }

    pub(super) fn string(&mut self, name: &str) -> Result<Box<str>, Problem> {
        match self.need(name)? {
            Val::Str(text) => Ok(text),
            _ => Err(format!("the attribute `{name}` must be a string or symbol")),
        }
    }

    pub(super) fn sharding(&mut self, name: &str) -> Result<shardc_ir::ShardingId, Problem> {
        match self.need(name)? {
            Val::Sharding(id) => Ok(id),
            _ => Err(format!("the attribute `{name}` must be a sharding")),
        }
    }

    pub(super) fn shardings(&mut self, name: &str) -> Result<Vec<shardc_ir::ShardingId>, Problem> {
        match self.need(name)? {
            Val::Shardings(ids) => Ok(ids),
            _ => Err(format!("the attribute `{name}` must be a list of shardings")),
        }
    }

    pub(super) fn opt_shardings(&mut self, name: &str) -> Option<Vec<shardc_ir::ShardingId>> {
        match self.take(name) {
            Some(Val::Shardings(ids)) => Some(ids),
            _ => None,
        }
    }

    pub(super) fn axes_per_dim(&mut self, name: &str) -> Result<Vec<AxisList>, Problem> {
        match self.need(name)? {
            Val::AxesPerDim(dims, _) => Ok(dims),
            _ => Err(format!("the attribute `{name}` must list axes for each dimension")),
        }
    }

    pub(super) fn reduction(&mut self) -> Result<ReductionKind, Problem> {
        use ReductionKind as R;
        let word = self.opt_word("reduction_op").unwrap_or(Cow::Borrowed("sum"));
        let kinds = [R::Add, R::Mul, R::Max, R::Min, R::And, R::Or, R::Xor];
        let names = ["sum", "mul", "max", "min", "and", "or", "xor"];
        let at = names.iter().position(|n| *n == word);
        at.map(|at| kinds[at]).ok_or_else(|| format!("`{word}` is not a reduction"))
    }

    pub(super) fn pairs(&mut self, name: &str) -> SmallVec<[(i64, i64); 4]> {
        match self.take(name) {
            Some(Val::Pairs(pairs)) => pairs,
            _ => SmallVec::new(),
        }
    }

    pub(super) fn precisions(&mut self) -> SmallVec<[shardc_ir::Precision; 2]> {
        match self.take("precision_config") {
            Some(Val::Precisions(list)) => list,
            _ => SmallVec::new(),
        }
    }

    pub(super) fn collective(&mut self, groups: &str) -> Result<Box<CollectiveSpec>, Problem> {
        let channel = match self.take("channel_handle") {
            Some(Val::Channel(handle)) => Some(handle),
            _ => None,
        };
        let (groups, mesh_axes) = match self.need(groups)? {
            Val::Groups(groups, mesh_axes) => (groups, mesh_axes),
            _ => return Err(format!("the attribute `{groups}` must be a matrix of device ids")),
        };
        let use_global_device_ids = self.flag("use_global_device_ids");
        let has_dynamic_root = self.flag("has_dynamic_root");
        Ok(Box::new(CollectiveSpec { groups, mesh_axes, channel, use_global_device_ids, has_dynamic_root }))
    }

    pub(super) fn transfer(&mut self) -> Result<Box<TransferSpec>, Problem> {
        let Val::Channel(channel) = self.need("channel_handle")? else {
            return Err("the attribute `channel_handle` must be `#stablehlo.channel_handle<...>`".to_owned());
        };
        Ok(Box::new(TransferSpec {
            channel,
            is_host_transfer: self.opt_flag("is_host_transfer"),
            source_target_pairs: match self.take("source_target_pairs") {
                Some(Val::Groups(pairs, _)) => Some(pairs),
                _ => None,
            },
        }))
    }

    pub(super) fn gather(&mut self) -> Result<Box<GatherSpec>, Problem> {
        let mut spec = match self.need("dimension_numbers")? {
            Val::Gather(spec) => spec,
            _ => return Err("the attribute `dimension_numbers` must be `#stablehlo.gather<...>`".to_owned()),
        };
        spec.indices_are_sorted = self.opt_flag("indices_are_sorted");
        Ok(spec)
    }

    pub(super) fn comparison(&mut self) -> Result<(CompareDirection, Option<CompareType>), Problem> {
        let all = CompareDirection::ALL;
        let direction = self.one_of("comparison_direction", "a comparison", all, CompareDirection::as_str)?;
        let ty = match self.opt_word("compare_type") {
            Some(word) if word == "NOTYPE" => None,
            Some(word) => {
                Some(CompareType::parse(&word).ok_or_else(|| format!("`{word}` is not a comparison type"))?)
            }
            None => None,
        };
        Ok((direction, ty))
    }

    /// Returns the number of operands or results in each of two variadic groups.
    pub(super) fn two_segments(&mut self, name: &str) -> Result<[u32; 2], Problem> {
        let sizes = self.dims(name)?;
        sizes[..].try_into().map_err(|_| format!("the attribute `{name}` must have exactly two elements"))
    }

    pub(super) fn window(&mut self) -> Result<Box<WindowSpec>, Problem> {
        Ok(Box::new(WindowSpec {
            dimensions: self.opt_ints("window_dimensions"),
            strides: self.opt_ints("window_strides"),
            base_dilations: self.opt_ints("base_dilations"),
            window_dilations: self.opt_ints("window_dilations"),
            padding: self.pairs("padding"),
        }))
    }

    pub(super) fn conv(&mut self) -> Result<Box<ConvSpec>, Problem> {
        let ConvNumbers { input, kernel, output } = match self.need("dimension_numbers")? {
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

    pub(super) fn mesh_collective(&mut self, module: &Module, name: &str) -> Result<OpKind, Problem> {
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
            "shardc.exchange" => MeshCollectiveKind::Exchange,
            _ => MeshCollectiveKind::CollectivePermute,
        };
        Ok(OpKind::MeshCollective(Box::new(MeshCollective { mesh, kind, out })))
    }
}

pub(super) fn to_dims(name: &str, values: &[i64]) -> Result<DimList, Problem> {
    let dim =
        |&v: &i64| u32::try_from(v).map_err(|_| format!("`{name}` must not contain the negative number {v}"));
    values.iter().map(dim).collect()
}
