//! Structured attributes of StableHLO from the parts that VHLO spells them in.

use std::fmt::Write as _;

use crate::bytecode::attr::{AttrRef, BAttr, BType, Piece, Store};
use crate::bytecode::ir::OpRecord;

use super::convert::{self, Problem};

/// Removes the parts from the operation and adds what they make.
pub(super) fn join<'b>(store: &mut Store<'b>, op: &mut OpRecord<'b>, target: &str) -> Result<(), Problem> {
    let parts = &mut Parts { store, op };
    match target {
        "stablehlo.dot_general" => {
            let dims = parts.members(
                "dot",
                &[
                    "lhs_batching_dimensions",
                    "rhs_batching_dimensions",
                    "lhs_contracting_dimensions",
                    "rhs_contracting_dimensions",
                ],
                None,
            )?;
            let algorithm = parts.algorithm()?;
            parts.add("dot_dimension_numbers", dims);
            if let Some(algorithm) = algorithm {
                parts.add("algorithm", algorithm);
            }
        }
        "stablehlo.convolution" | "stablehlo.dynamic_conv" => {
            let dims = parts.conv()?;
            parts.add("dimension_numbers", dims);
        }
        "stablehlo.gather" | "stablehlo.dynamic_gather" => {
            let members = [
                "offset_dims",
                "collapsed_slice_dims",
                "operand_batching_dims",
                "start_indices_batching_dims",
                "start_index_map",
            ];
            let dims = parts.members("gather", &members, Some("index_vector_dim"))?;
            parts.add("dimension_numbers", dims);
        }
        "stablehlo.scatter" => {
            let members = [
                "update_window_dims",
                "inserted_window_dims",
                "input_batching_dims",
                "scatter_indices_batching_dims",
                "scatter_dims_to_operand_dims",
            ];
            let dims = parts.members("scatter", &members, Some("index_vector_dim"))?;
            parts.add("scatter_dimension_numbers", dims);
        }
        "stablehlo.send" | "stablehlo.recv" => {
            let (handle, kind) = (parts.int("channel_id")?, parts.int("channel_type")?);
            parts.add("channel_handle", BAttr::text(convert::channel(handle, kind)));
        }
        _ => {}
    }
    Ok(())
}

/// The members of an algorithm in the order in which they are printed.
const ALGORITHM: [&str; 7] = [
    "lhs_precision_type",
    "rhs_precision_type",
    "accumulation_type",
    "lhs_component_count",
    "rhs_component_count",
    "num_primitive_operations",
    "allow_imprecise_accumulation",
];

/// What letters stand for the two dimensions of an array that are not spatial, and the names of its parts.
const CONV: [(&str, char, &str, char, &str); 3] = [
    ("input_batch_dimension", 'b', "input_feature_dimension", 'f', "input_spatial_dimensions"),
    (
        "kernel_input_feature_dimension",
        'i',
        "kernel_output_feature_dimension",
        'o',
        "kernel_spatial_dimensions",
    ),
    ("output_batch_dimension", 'b', "output_feature_dimension", 'f', "output_spatial_dimensions"),
];

struct Parts<'s, 'b> {
    store: &'s mut Store<'b>,
    op: &'s mut OpRecord<'b>,
}

impl<'b> Parts<'_, 'b> {
    fn add(&mut self, name: &'static str, attr: BAttr<'b>) {
        let at = self.store.add_attr(attr);
        self.op.props.push((name.into(), at));
    }

    fn take(&mut self, name: &str) -> Result<AttrRef, Problem> {
        self.op.take_attr(name).ok_or_else(|| convert::missing(name))
    }

    fn int(&mut self, name: &str) -> Result<i64, Problem> {
        let at = self.take(name)?;
        self.store.int(at).ok_or_else(|| format!("the attribute `{name}` must be an integer"))
    }

    /// The numbers of a tensor; older versions of the operation do not have all of them.
    fn ints(&mut self, name: &str) -> Result<Vec<i64>, Problem> {
        match self.op.take_attr(name) {
            Some(at) => convert::int_list(self.store, at, name),
            None if name.contains("batching_dims") => Ok(Vec::new()),
            None => Err(convert::missing(name)),
        }
    }

    /// `#stablehlo.kind<a = [1], index = 2>`: what is empty or zero is not written.
    fn members(
        &mut self,
        kind: &str,
        lists: &[&str],
        index: Option<&str>,
    ) -> Result<BAttr<'static>, Problem> {
        let mut text = format!("#stablehlo.{kind}<");
        let mut separator = "";
        for name in lists {
            let dims = self.ints(name)?;
            if !dims.is_empty() {
                let dims: Vec<String> = dims.iter().map(i64::to_string).collect();
                let _ = write!(text, "{separator}{name} = [{}]", dims.join(", "));
                separator = ", ";
            }
        }
        if let Some(name) = index {
            match self.int(name)? {
                0 => {}
                value => {
                    let _ = write!(text, "{separator}{name} = {value}");
                }
            }
        }
        text.push('>');
        Ok(BAttr::text(text))
    }

    /// `#stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>`.
    fn conv(&mut self) -> Result<BAttr<'static>, Problem> {
        let mut text = String::from("#stablehlo.conv<");
        for ((first, a, second, b, spatial), separator) in CONV.into_iter().zip(["", "x", "->"]) {
            text.push_str(separator);
            let (x, y) = (self.int(first)?, self.int(second)?);
            let dims = self.ints(spatial)?;
            let mut names = vec![String::new(); dims.len() + 2];
            let spatial = dims.iter().enumerate().map(|(i, &dim)| (dim, i.to_string()));
            for (dim, name) in [(x, a.to_string()), (y, b.to_string())].into_iter().chain(spatial) {
                match usize::try_from(dim).ok().and_then(|dim| names.get_mut(dim)) {
                    Some(slot) if slot.is_empty() => *slot = name,
                    _ => {
                        let what = "the dimension numbers of a convolution must name each dimension once";
                        return Err(format!("{what}: {dim} of {} does not fit", dims.len() + 2));
                    }
                }
            }
            let _ = write!(text, "[{}]", names.join(", "));
        }
        text.push('>');
        Ok(BAttr::text(text))
    }

    /// `#stablehlo.dot_algorithm<lhs_precision_type = tf32, ...>`; `none` in all members is no algorithm.
    fn algorithm(&mut self) -> Result<Option<BAttr<'b>>, Problem> {
        let given: Vec<Option<AttrRef>> = ALGORITHM.iter().map(|name| self.op.take_attr(name)).collect();
        let none = |at: &AttrRef| matches!(self.store.attr(*at), BAttr::Type(ty) if matches!(self.store.ty(*ty), BType::None));
        if given.iter().flatten().all(none) {
            return Ok(None);
        }
        let mut out = Vec::new();
        let mut before = "#stablehlo.dot_algorithm<";
        for (name, at) in ALGORITHM.into_iter().zip(given) {
            let at = at.ok_or_else(|| convert::missing(name))?;
            let mut text = format!("{before}{name} = ");
            before = ", ";
            let ty = match (name, self.store.attr(at)) {
                (name, BAttr::Type(ty)) if name.ends_with("_type") => Some(*ty),
                _ => None,
            };
            let written = match name {
                "allow_imprecise_accumulation" => convert::bool(self.store, at).map(|v| v.to_string()),
                _ if name.ends_with("_type") => ty.map(|_| String::new()),
                _ => self.store.int(at).map(|v| v.to_string()),
            };
            text.push_str(&written.ok_or_else(|| format!("the attribute `{name}` has the wrong form"))?);
            out.push(Piece::Text(text.into()));
            out.extend(ty.map(Piece::Type));
        }
        out.push(Piece::Text(">".into()));
        Ok(Some(BAttr::Pieces(out)))
    }
}
