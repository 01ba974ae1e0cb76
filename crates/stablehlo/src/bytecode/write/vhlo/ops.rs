//! Operations of VHLO.

use shardc_ir::Diagnostic;

use super::split::STRUCTURED;
use super::{Converter, defaults, no_form};
use crate::bytecode::attr::{AttrRef, TypeRef};
use crate::bytecode::vhlo::table::{self, Form, Row};
use crate::bytecode::write::nodes::{BUILTIN, Field, VHLO};
use crate::bytecode::write::program::Op;
use crate::codes;

/// The types of an operation's operands and results, after their conversion.
pub(super) struct Types {
    pub(super) operands: Vec<TypeRef>,
    pub(super) results: Vec<TypeRef>,
}

/// Operations whose operands and results have the same element types before StableHLO 0.17.
const SAME_ELEMENTS: [&str; 6] =
    ["all_reduce", "reduce", "reduce_scatter", "reduce_window", "scatter", "select_and_scatter"];

/// Operations whose first version has one operand.
const ONE_OPERAND: [&str; 4] = ["all_gather", "all_reduce", "all_to_all", "collective_broadcast"];

/// Returns the name of the operation in VHLO, without a version, if VHLO has operations of its dialect.
pub(super) fn base(name: &str) -> Option<&str> {
    match name {
        "func.func" => Some("func"),
        "func.call" => Some("call"),
        "func.return" => Some("return"),
        _ => name.strip_prefix("stablehlo."),
    }
}

impl Converter<'_> {
    /// Converts the name and the attributes of the operation whose name in VHLO is `base`.
    pub(super) fn op(&mut self, op: &mut Op, base: &str, types: &Types) -> Result<(), Diagnostic> {
        let newest = (1..).take_while(|version| table::row(&format!("{base}_v{version}")).is_some()).last();
        let Some(newest) = newest else { return Err(no_form(&format!("the operation `{base}`"))) };
        let [major, minor, _] = self.target.0;
        let has = |version: &u32| [major, minor] >= table::since(&format!("{base}_v{version}"));
        let Some(version) = (1..=newest).rev().find(has) else {
            let first = table::since(&format!("{base}_v1"));
            return self.check(first, || format!("operation `{base}`"));
        };
        let row = |version: u32| table::row(&format!("{base}_v{version}"));
        let (Some(full), Some(row)) = (row(newest), row(version)) else {
            return Err(Diagnostic::internal(codes::NOT_WRITTEN, "a version of an operation has no row"));
        };
        let typed = self.is_typed(op);
        let props = self.props(op, base, full, typed)?;
        let dims = self.window(op);
        for prop in full.props.iter().filter(|prop| row.props.iter().all(|other| other.0 != prop.0)) {
            let given = props.iter().find(|(name, _)| *name == prop.0).map(|(_, value)| *value);
            let default = match prop.1 {
                Form::Part => self.absent_part(prop.0)?,
                _ => self.default(prop, dims, typed)?,
            };
            if given.is_some_and(|given| given != default) {
                self.check(table::since(&format!("{base}_v{newest}")), || {
                    format!("attribute `{}` of `{base}`", prop.0)
                })?;
            }
        }
        op.attrs = self.other_attrs(op, base, full)?;
        op.props = Vec::with_capacity(row.props.len());
        for prop in &row.props {
            let value = match props.iter().find(|(name, _)| *name == prop.0) {
                Some((_, value)) => *value,
                // The first version of a dynamic convolution also has the padding that is an operand.
                None if prop.1 == Form::Gone => {
                    let fields = self.list(&[dims as i64, 2], &vec![0; dims * 2], false)?;
                    self.vhlo(fields)
                }
                None => self.default(prop, dims, typed)?,
            };
            self.check_attr(value)?;
            op.props.push((self.nodes.name(prop.0), value));
        }
        for &(_, value) in &op.attrs {
            self.check_attr(value)?;
        }
        self.constraints(op, base, version, typed, types)?;
        op.name = self.nodes.word(&format!("vhlo.{base}_v{version}"));
        Ok(())
    }

    fn prop(&self, op: &Op, name: &str) -> Option<AttrRef> {
        let is = |(at, _): &&(AttrRef, AttrRef)| self.nodes.string_of(*at) == Some(name.as_bytes());
        op.props.iter().find(is).map(|&(_, value)| value)
    }

    /// Returns the attributes of the newest version of the operation, converted: those that are given, and members of structured attributes.
    fn props(
        &mut self,
        op: &Op,
        base: &str,
        row: &Row,
        typed: bool,
    ) -> Result<Vec<(&'static str, AttrRef)>, Diagnostic> {
        let mut props = Vec::with_capacity(row.props.len());
        for structured in STRUCTURED.iter().filter(|structured| structured.ops.contains(&base)) {
            props.extend(self.split(structured.attr, self.prop(op, structured.attr))?);
        }
        let dims = self.window(op);
        for prop in row.props.iter().filter(|prop| !matches!(prop.1, Form::Part | Form::Gone)) {
            let name = if prop.1 == Form::Channel { "channel_handle" } else { prop.0 };
            let value = match self.prop(op, name) {
                None => self.default(prop, dims, typed)?,
                Some(value) => match (prop.1, prop.0) {
                    (Form::Channel, _) => match self.nodes.fields_of(value, "stablehlo") {
                        Some([Field::Int(1), Field::Signed(handle), _]) => {
                            let handle = *handle;
                            self.int(handle)?
                        }
                        _ => return Err(no_form("a channel in this form")),
                    },
                    (Form::Flag, _) => self.boolean(true),
                    (_, "api_version") => match self.nodes.fields_of(value, BUILTIN) {
                        Some([Field::Int(8), _, Field::Signed(version)]) => {
                            let version = *version as u64;
                            self.api_version(version)
                        }
                        _ => return Err(no_form("a version of the custom call API in this form")),
                    },
                    _ => self.attr(value)?,
                },
            };
            props.push((prop.0, value));
        }
        Ok(props)
    }

    /// Returns the converted attributes that are not inherent in VHLO.
    fn other_attrs(&mut self, op: &Op, base: &str, row: &Row) -> Result<Vec<(AttrRef, AttrRef)>, Diagnostic> {
        let structured = STRUCTURED.iter().filter(|structured| structured.ops.contains(&base));
        let mut known: Vec<&[u8]> = structured.map(|structured| structured.attr.as_bytes()).collect();
        known.extend(row.props.iter().map(|prop| match prop.1 {
            Form::Channel => &b"channel_handle"[..],
            _ => prop.0.as_bytes(),
        }));
        let unknown = |(name, _): &&(AttrRef, AttrRef)| {
            self.nodes.string_of(*name).is_some_and(|name| !known.contains(&name))
        };
        let others: Vec<_> = op.props.iter().filter(unknown).chain(&op.attrs).copied().collect();
        others.into_iter().map(|(name, value)| Ok((name, self.attr(value)?))).collect()
    }

    /// Returns the value of a member of a structured attribute for which an older version of the operation lacks the member.
    fn absent_part(&mut self, name: &str) -> Result<AttrRef, Diagnostic> {
        if name.contains("batching_dims") {
            let fields = self.list(&[0], &[], false)?;
            return Ok(self.vhlo(fields));
        }
        self.none()
    }

    /// Whether the configuration of a custom call is a dictionary.
    fn is_typed(&self, op: &Op) -> bool {
        let version = self.prop(op, "api_version").and_then(|at| self.nodes.fields_of(at, BUILTIN));
        matches!(version, Some([Field::Int(8), _, Field::Signed(version)]) if *version as u64 == defaults::TYPED_API)
    }

    /// Returns the number of dimensions of the window of an operation.
    fn window(&self, op: &Op) -> usize {
        let spatial = self.prop(op, "dimension_numbers").and_then(|at| self.nodes.fields_of(at, "stablehlo"));
        if let Some([Field::Int(4), _, _, Field::Int(count), ..]) = spatial {
            return *count as usize;
        }
        let dims = self.prop(op, "window_dimensions").and_then(|at| self.nodes.fields_of(at, BUILTIN));
        match dims {
            Some([Field::Int(17), _, Field::Int(count), _]) => *count as usize,
            _ => 0,
        }
    }

    /// Checks the conditions that the target version has besides attributes and types.
    fn constraints(
        &self,
        op: &Op,
        base: &str,
        version: u32,
        typed: bool,
        types: &Types,
    ) -> Result<(), Diagnostic> {
        if version == 1 && ONE_OPERAND.contains(&base) && types.operands.len() != 1 {
            self.check(table::since(&format!("{base}_v2")), || format!("`{base}` of several operands"))?;
        }
        if base == "composite" && version == 1 && !op.regions.is_empty() {
            self.check(table::since("composite_v2"), || "regions of `composite`".to_owned())?;
        }
        if SAME_ELEMENTS.contains(&base) {
            let element = |ty: &TypeRef| self.nodes.type_fields_of(*ty, VHLO).and_then(<[_]>::last).cloned();
            let mut pairs = types.operands.iter().zip(&types.results);
            if pairs.any(|(operand, result)| element(operand) != element(result)) {
                self.check([0, 17], || {
                    format!("`{base}` with a result type that differs from its operand types")
                })?;
            }
        }
        if base == "custom_call" {
            let future =
                |ty: &TypeRef| matches!(self.nodes.type_fields_of(*ty, VHLO), Some([Field::Int(42), ..]));
            if types.operands.iter().any(future) {
                self.check([1, 17], || "custom calls with futures as operands".to_owned())?;
            }
            let config = self.prop(op, "backend_config").and_then(|at| self.nodes.fields_of(at, VHLO));
            if typed || matches!(config, Some([Field::Int(6), ..])) {
                self.check([1, 3], || "custom calls with typed configuration".to_owned())?;
            }
        }
        Ok(())
    }
}
