//! Builds StableHLO's structured attributes from the separate attributes of VHLO.

use shardc_ir::DimList;

use crate::bytecode::attr::{AttrRef, BAttr, BType, Store};
use crate::bytecode::ir::OpRecord;
use crate::bytecode::stablehlo::{DOT, GATHER, Members, SCATTER, dot_algorithm};
use crate::syntax::values::{ConvNumbers, push_conv, push_members};

use super::values::{self, Budget, Problem};

/// Removes the separate attributes from the operation and adds the structured ones.
pub(super) fn join<'b>(
    budget: &mut Budget,
    store: &mut Store<'b>,
    op: &mut OpRecord<'b>,
    target: &str,
) -> Result<(), Problem> {
    let parts = &mut Parts { budget, store, op };
    match target {
        "stablehlo.dot_general" => {
            let dims = parts.members(&DOT)?;
            let algorithm = parts.algorithm()?;
            parts.add("dot_dimension_numbers", dims)?;
            if let Some(algorithm) = algorithm {
                parts.add("algorithm", algorithm)?;
            }
        }
        "stablehlo.convolution" | "stablehlo.dynamic_conv" => {
            let dims = parts.conv()?;
            parts.add("dimension_numbers", dims)?;
        }
        "stablehlo.gather" | "stablehlo.dynamic_gather" => {
            let dims = parts.members(&GATHER)?;
            parts.add("dimension_numbers", dims)?;
        }
        "stablehlo.scatter" => {
            let dims = parts.members(&SCATTER)?;
            parts.add("scatter_dimension_numbers", dims)?;
        }
        "stablehlo.send" | "stablehlo.recv" => {
            let (handle, kind) = (parts.int("channel_id")?, parts.int("channel_type")?);
            parts.add("channel_handle", BAttr::text(values::channel(handle, kind)))?;
        }
        _ => {}
    }
    Ok(())
}

pub(in crate::bytecode) const ALGORITHM_TYPES: [&str; 3] =
    ["lhs_precision_type", "rhs_precision_type", "accumulation_type"];
pub(in crate::bytecode) const ALGORITHM_COUNTS: [&str; 3] =
    ["lhs_component_count", "rhs_component_count", "num_primitive_operations"];

/// The attributes with the dimension numbers of each tensor of a convolution.
pub(in crate::bytecode) const CONV: [[&str; 3]; 3] = [
    ["input_batch_dimension", "input_feature_dimension", "input_spatial_dimensions"],
    ["kernel_input_feature_dimension", "kernel_output_feature_dimension", "kernel_spatial_dimensions"],
    ["output_batch_dimension", "output_feature_dimension", "output_spatial_dimensions"],
];

struct Parts<'s, 'b> {
    budget: &'s mut Budget,
    store: &'s mut Store<'b>,
    op: &'s mut OpRecord<'b>,
}

impl<'b> Parts<'_, 'b> {
    fn add(&mut self, name: &'static str, attr: BAttr<'b>) -> Result<(), Problem> {
        let at = self.budget.add(self.store, attr)?;
        self.op.props.push((name.into(), at));
        Ok(())
    }

    fn take(&mut self, name: &str) -> Result<AttrRef, Problem> {
        self.op.take_attr(name).ok_or_else(|| values::missing(name))
    }

    fn int(&mut self, name: &str) -> Result<i64, Problem> {
        let at = self.take(name)?;
        self.store.int(at).ok_or_else(|| format!("the attribute `{name}` must be an integer"))
    }

    /// Removes and returns a dimension number.
    fn dim(&mut self, name: &str) -> Result<u32, Problem> {
        let value = self.int(name)?;
        u32::try_from(value)
            .map_err(|_| format!("the attribute `{name}` must be a dimension number, not {value}"))
    }

    /// Removes and returns dimension numbers, which older versions of the operation may lack.
    fn dims(&mut self, name: &str) -> Result<Vec<u32>, Problem> {
        let list = match self.op.take_attr(name) {
            Some(at) => values::int_list(self.store, at, name)?,
            None if name.contains("batching_dims") => Vec::new(),
            None => return Err(values::missing(name)),
        };
        let dims: Result<Vec<u32>, _> = list.into_iter().map(u32::try_from).collect();
        dims.map_err(|_| format!("the attribute `{name}` must be a list of dimension numbers"))
    }

    /// Builds `#stablehlo.kind<a = [1], index = 2>`.
    fn members(&mut self, members: &Members) -> Result<BAttr<'static>, Problem> {
        let names = members.lists;
        let lists = names.iter().map(|name| self.dims(name)).collect::<Result<Vec<_>, _>>()?;
        let named: Vec<(&str, &[u32])> =
            names.iter().copied().zip(lists.iter().map(|list| &list[..])).collect();
        let index = match members.index {
            Some(name) => Some((name, self.dim(name)?)),
            None => None,
        };
        let mut text = format!("#stablehlo.{}<", members.kind);
        push_members(&mut text, &named, index);
        text.push('>');
        Ok(BAttr::text(text))
    }

    /// Builds `#stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>`.
    fn conv(&mut self) -> Result<BAttr<'static>, Problem> {
        let mut all = Vec::with_capacity(CONV.len());
        for [a, b, spatial] in CONV {
            let (named, list) = ([self.dim(a)?, self.dim(b)?], DimList::from(self.dims(spatial)?));
            let rank = list.len() as u32 + 2;
            let mut numbers: Vec<u32> = list.iter().copied().chain(named).collect();
            numbers.sort_unstable();
            if !numbers.into_iter().eq(0..rank) {
                return Err(format!("`{a}`, `{b}` and `{spatial}` must name each of {rank} dimensions once"));
            }
            all.push((named, list));
        }
        let Ok(all) = <[_; 3]>::try_from(all) else { return Err("not three arrays".to_owned()) };
        let mut text = String::from("#stablehlo.conv<");
        push_conv(&mut text, &ConvNumbers::new(all));
        text.push('>');
        Ok(BAttr::text(text))
    }

    /// Builds `#stablehlo.dot_algorithm<lhs_precision_type = tf32, ...>`. If all members are `none`, there is no
    /// algorithm.
    fn algorithm(&mut self) -> Result<Option<BAttr<'b>>, Problem> {
        let types = ALGORITHM_TYPES.map(|name| (name, self.op.take_attr(name)));
        let counts = ALGORITHM_COUNTS.map(|name| (name, self.op.take_attr(name)));
        let imprecise = ("allow_imprecise_accumulation", self.op.take_attr("allow_imprecise_accumulation"));
        let none = |at: AttrRef| matches!(self.store.attr(at), BAttr::Type(ty) if matches!(self.store.ty(*ty), BType::None));
        if types.iter().chain(&counts).chain([&imprecise]).filter_map(|member| member.1).all(none) {
            return Ok(None);
        }
        let wrong = |name: &str| format!("the attribute `{name}` is missing or has the wrong form");
        let store = &*self.store;
        let ty = |(name, at): (&str, Option<AttrRef>)| match at.map(|at| store.attr(at)) {
            Some(BAttr::Type(ty)) => Ok(*ty),
            _ => Err(wrong(name)),
        };
        let count =
            |(name, at): (&str, Option<AttrRef>)| at.and_then(|at| store.int(at)).ok_or_else(|| wrong(name));
        let types = [ty(types[0])?, ty(types[1])?, ty(types[2])?];
        let counts = [count(counts[0])?, count(counts[1])?, count(counts[2])?];
        let imprecise =
            imprecise.1.and_then(|at| values::bool(store, at)).ok_or_else(|| wrong(imprecise.0))?;
        Ok(Some(dot_algorithm(types, counts, imprecise)))
    }
}
