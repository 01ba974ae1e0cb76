//! Separates the members of StableHLO's structured attributes: dimension numbers, channels and algorithms.

use shardc_ir::Diagnostic;

use super::{Converter, no_form};
use crate::bytecode::attr::AttrRef;
use crate::bytecode::stablehlo::{DOT, GATHER, Members, SCATTER};
use crate::bytecode::vhlo::join::{ALGORITHM_COUNTS, ALGORITHM_TYPES, CONV};
use crate::bytecode::write::nodes::Field;

/// The separate attributes: names and values.
type Parts = Vec<(&'static str, AttrRef)>;

/// A structured attribute of an operation.
pub(super) struct Structured {
    /// The operations, without dialect.
    pub(super) ops: &'static [&'static str],
    /// The name of the attribute.
    pub(super) attr: &'static str,
}

/// All structured attributes.
pub(super) const STRUCTURED: &[Structured] = &[
    Structured { ops: &["dot_general"], attr: "dot_dimension_numbers" },
    Structured { ops: &["dot_general"], attr: "algorithm" },
    Structured {
        ops: &["convolution", "dynamic_conv", "gather", "dynamic_gather"],
        attr: "dimension_numbers",
    },
    Structured { ops: &["scatter"], attr: "scatter_dimension_numbers" },
    Structured { ops: &["send", "recv"], attr: "channel_handle" },
];

/// The fields of a structured attribute that are not yet taken.
struct Rest<'f, 'm>(&'f [Field<'m>]);

impl Rest<'_, '_> {
    fn int(&mut self) -> Option<i64> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        match first {
            Field::Signed(value) => Some(*value),
            Field::Int(value) => i64::try_from(*value).ok(),
            _ => None,
        }
    }

    fn list(&mut self) -> Option<Vec<i64>> {
        let count = self.int()?;
        (0..count).map(|_| self.int()).collect()
    }
}

impl Converter<'_> {
    /// Returns the members of the attribute `attr`. Without a value, returns those that stand for an absent attribute.
    pub(super) fn split(&mut self, attr: &str, value: Option<AttrRef>) -> Result<Parts, Diagnostic> {
        let Some(value) = value else {
            if attr != "algorithm" {
                return Err(no_form(&format!("an operation without the attribute `{attr}`")));
            }
            let none = self.none()?;
            let names = ALGORITHM_TYPES.into_iter().chain(ALGORITHM_COUNTS).chain([IMPRECISE]);
            return Ok(names.map(|name| (name, none)).collect());
        };
        let wrong = || no_form(&format!("the attribute `{attr}` in this form"));
        let fields = self.nodes.fields_of(value, "stablehlo").map(<[_]>::to_vec).ok_or_else(wrong)?;
        let [Field::Int(code), fields @ ..] = &fields[..] else { return Err(wrong()) };
        let members = [&DOT, &GATHER, &SCATTER].into_iter().find(|members| members.code == *code);
        let mut rest = Rest(fields);
        match (code, members) {
            (_, Some(members)) => self.members(&mut rest, members).ok_or_else(wrong)?,
            (1, _) => {
                let (Some(handle), Some(kind)) = (rest.int(), rest.int()) else { return Err(wrong()) };
                Ok(vec![("channel_id", self.int(handle)?), ("channel_type", self.int(kind)?)])
            }
            (4, _) => {
                let mut parts = Vec::new();
                for [first, second, spatial] in CONV {
                    let (Some(a), Some(b), Some(list)) = (rest.int(), rest.int(), rest.list()) else {
                        return Err(wrong());
                    };
                    parts.extend([
                        (first, self.int(a)?),
                        (second, self.int(b)?),
                        (spatial, self.dims(&list)?),
                    ]);
                }
                Ok(parts)
            }
            (15, _) => self.algorithm(fields),
            _ => Err(wrong()),
        }
    }

    fn members(&mut self, rest: &mut Rest<'_, '_>, members: &Members) -> Option<Result<Parts, Diagnostic>> {
        let lists: Option<Vec<_>> = members.lists.iter().map(|&name| Some((name, rest.list()?))).collect();
        let (lists, index) = (lists?, members.index);
        let number = if index.is_some() { rest.int()? } else { 0 };
        let mut all = || {
            let mut parts = Vec::with_capacity(lists.len() + 1);
            for (name, list) in &lists {
                parts.push((*name, self.dims(list)?));
            }
            if let Some(name) = index {
                parts.push((name, self.int(number)?));
            }
            Ok(parts)
        };
        Some(all())
    }

    /// Adds a tensor of dimension numbers.
    fn dims(&mut self, dims: &[i64]) -> Result<AttrRef, Diagnostic> {
        let fields = self.list(&[dims.len() as i64], dims, false)?;
        Ok(self.vhlo(fields))
    }

    fn algorithm(&mut self, fields: &[Field<'_>]) -> Result<Parts, Diagnostic> {
        let mut parts = Vec::new();
        for (name, field) in ALGORITHM_TYPES.into_iter().zip(fields) {
            if let Field::Type(ty) = field {
                let ty = self.nodes.builtin([Field::Int(6), Field::Type(*ty)]);
                parts.push((name, self.attr(ty)?));
            }
        }
        for (name, field) in ALGORITHM_COUNTS.into_iter().zip(fields.iter().skip(ALGORITHM_TYPES.len())) {
            if let Field::Signed(count) = field {
                parts.push((name, self.int(*count)?));
            }
        }
        let imprecise = fields.last() == Some(&Field::Byte(1));
        parts.push((IMPRECISE, self.boolean(imprecise)));
        Ok(parts)
    }
}

const IMPRECISE: &str = "allow_imprecise_accumulation";
