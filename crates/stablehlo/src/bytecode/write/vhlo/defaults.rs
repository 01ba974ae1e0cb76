//! Values of attributes that StableHLO omits and VHLO does not.

use shardc_ir::Diagnostic;

use super::{Converter, no_form};
use crate::bytecode::attr::AttrRef;
use crate::bytecode::vhlo::table::{Absent, Form, Prop};
use crate::bytecode::write::nodes::{Field, Fields, push_int};
use crate::bytecode::write::text;

/// Attributes that are empty strings if they are absent.
const STRINGS: [&str; 4] = ["backend_config", "infeed_config", "outfeed_config", "sym_visibility"];

/// Attributes that are arrays, empty if they are absent.
const ARRAYS: [&str; 2] = ["operand_layouts", "result_layouts"];

/// The code of the version of the custom call API.
const API_VERSION: u64 = 5;

/// The versions of the custom call API whose configuration is a dictionary.
pub(super) const TYPED_API: u64 = 4;

impl<'m> Converter<'m> {
    /// Returns the value of an attribute that is absent. `dims` is the number of dimensions of a window; `typed` is whether a custom call has
    /// a dictionary as its configuration.
    pub(super) fn default(
        &mut self,
        &(name, form, absent): &Prop,
        dims: usize,
        typed: bool,
    ) -> Result<AttrRef, Diagnostic> {
        let empty = |converter: &mut Self, number| Ok(converter.vhlo([Field::Int(number), Field::Int(0)]));
        match absent {
            _ if name == "api_version" => Ok(self.api_version(1)),
            _ if name == "backend_config" && typed => empty(self, 6),
            _ if STRINGS.contains(&name) => {
                let text = self.nodes.word("");
                Ok(self.vhlo([Field::Int(14), Field::Str(text)]))
            }
            _ if name == "composite_attributes" => empty(self, 6),
            _ if ARRAYS.contains(&name) => empty(self, 1),
            Absent::Empty if form == Form::Ints || name == "source_target_pairs" => {
                let fields = self.list(&[0], &[], false)?;
                Ok(self.vhlo(fields))
            }
            Absent::Empty => empty(self, 1),
            Absent::Int(value) => self.int(value),
            Absent::False => Ok(self.boolean(false)),
            Absent::All(value) => {
                let shape = if name == "padding" { vec![dims as i64, 2] } else { vec![dims as i64] };
                let values = vec![value; shape.iter().product::<i64>() as usize];
                let fields = self.list(&shape, &values, false)?;
                Ok(self.vhlo(fields))
            }
            Absent::AllFalse => {
                let fields = self.list(&[dims as i64], &vec![0; dims], true)?;
                Ok(self.vhlo(fields))
            }
            Absent::Text(value) => {
                let value = text::attr(&mut self.nodes, value)?;
                self.attr(value)
            }
            Absent::AllText(value) => {
                // The only arrays with default items have one item for each operand of a matmul or convolution.
                let value = text::attr(&mut self.nodes, value)?;
                let item = Field::Attr(self.attr(value)?);
                Ok(self.vhlo([Field::Int(1), Field::Int(2), item.clone(), item]))
            }
            Absent::Accuracy => {
                let mode = self.vhlo([Field::Int(19), Field::Int(0)]);
                let mut fields = Fields::from_iter([Field::Int(20)]);
                push_int(&mut fields, 64, 0);
                push_int(&mut fields, 64, 0);
                fields.extend([Field::Signed(0), Field::Attr(mode)]);
                Ok(self.vhlo(fields))
            }
            Absent::Never => Err(no_form(&format!("an operation without the attribute `{name}`"))),
        }
    }

    /// Adds a 64-bit integer.
    pub(super) fn int(&mut self, value: i64) -> Result<AttrRef, Diagnostic> {
        let ty = self.nodes.int_type(64);
        let value = self.nodes.int(ty, 64, value);
        self.attr(value)
    }

    /// Adds a boolean.
    pub(super) fn boolean(&mut self, value: bool) -> AttrRef {
        self.vhlo([Field::Int(2), Field::Int(u64::from(value))])
    }

    /// Adds a version of the custom call API.
    pub(super) fn api_version(&mut self, version: u64) -> AttrRef {
        self.vhlo([Field::Int(API_VERSION), Field::Int(version)])
    }

    /// Adds the type `none` as an attribute, which stands for a member of an absent algorithm.
    pub(super) fn none(&mut self) -> Result<AttrRef, Diagnostic> {
        let ty = self.nodes.builtin_type([Field::Int(12)]);
        let ty = self.nodes.builtin([Field::Int(6), Field::Type(ty)]);
        self.attr(ty)
    }
}
