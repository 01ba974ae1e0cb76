//! Attributes of `stablehlo` and `chlo`, and the choice of the dialect.

use shardc_ir::DType;

use super::{Text, push_list};
use crate::bytecode::attr::AttrRef;
use crate::bytecode::stablehlo::{
    ACCURACIES, COMPARISON_TYPES, COMPARISONS, DOT, ENUMERATIONS, GATHER, Members, SCATTER,
};
use crate::bytecode::write::nodes::{Field, Fields, code, push_int};
use crate::lexer::Res;

const STABLEHLO: &str = "stablehlo";

/// Enumerations of `chlo`.
const CHLO: &[(u64, &str, &[&str])] =
    &[(0, "comparison_direction", COMPARISONS), (1, "comparison_type", COMPARISON_TYPES)];

impl<'m> Text<'_, '_, 'm> {
    /// Reads `#dialect.name<...>` or `#dialect<name ...>`.
    pub(super) fn dialect_attr(&mut self) -> Res<AttrRef> {
        let start = self.cursor.pos;
        let name = self.dialect_name()?;
        let (dialect, kind) = name.split_once('.').unwrap_or((name, ""));
        let body = self.cursor.pos;
        let known = match (dialect, kind) {
            (STABLEHLO, "") => self.enumeration(STABLEHLO, ENUMERATIONS)?,
            ("chlo", "") => self.enumeration("chlo", CHLO)?,
            (STABLEHLO, kind) => self.stablehlo(kind)?,
            ("sdy", kind) => self.sdy(kind)?,
            _ => None,
        };
        if let Some(attr) = known {
            return Ok(attr);
        }
        self.cursor.pos = body;
        let node = self.as_text(name, start)?;
        Ok(self.nodes.attr(node))
    }

    /// Reads `<kind WORD>`. Returns `None` if there is no such enumeration.
    fn enumeration(&mut self, dialect: &'static str, known: &[(u64, &str, &[&str])]) -> Res<Option<AttrRef>> {
        self.cursor.expect("<")?;
        let kind = self.cursor.ident("the name of an attribute")?;
        if dialect == STABLEHLO && kind == "sub_axis_info" {
            return self.sub_axis().map(Some);
        }
        let Some((number, _, words)) = known.iter().find(|(_, name, _)| *name == kind) else {
            return Ok(None);
        };
        let word = self.cursor.ident("a case of an enumeration")?;
        let Some(case) = words.iter().position(|other| *other == word) else { return Ok(None) };
        self.cursor.expect(">")?;
        let mut fields = code(*number);
        fields.push(Field::Int(case as u64));
        Ok(Some(self.nodes.coded(dialect, fields)))
    }

    /// Reads `(1)2>`, the part of an axis.
    fn sub_axis(&mut self) -> Res<AttrRef> {
        self.cursor.expect("(")?;
        let before = self.cursor.int()?;
        self.cursor.expect(")")?;
        let fields = [Field::Int(19), Field::Signed(before), Field::Signed(self.cursor.int()?)];
        self.cursor.expect(">")?;
        Ok(self.nodes.coded(STABLEHLO, fields.into_iter().collect()))
    }

    /// Reads the body of `#stablehlo.kind<...>`. Returns `None` if the kind is not known.
    fn stablehlo(&mut self, kind: &str) -> Res<Option<AttrRef>> {
        let members = [&DOT, &GATHER, &SCATTER].into_iter().find(|members| members.kind == kind);
        let fields = match (kind, members) {
            (_, Some(members)) => self.members(members)?,
            ("channel_handle", _) => self.channel()?,
            ("conv", _) => self.conv()?,
            ("bounds", _) => self.bounds()?,
            ("output_operand_alias", _) => self.alias()?,
            ("dot_algorithm", _) => self.algorithm()?,
            ("result_accuracy_mode", _) => {
                self.cursor.expect("<")?;
                let word = self.cursor.ident("a mode")?;
                let Some(case) = ACCURACIES.iter().position(|other| *other == word) else { return Ok(None) };
                self.cursor.expect(">")?;
                [Field::Int(16), Field::Int(case as u64)].into_iter().collect()
            }
            ("result_accuracy", _) => self.accuracy()?,
            ("replica_group_mesh_axes", _) => self.mesh_axes()?,
            ("axis_ref", _) => self.axis_ref()?,
            ("mesh_axis", _) => self.mesh_axis()?,
            ("mesh", _) => self.mesh()?,
            _ => return Ok(None),
        };
        Ok(Some(self.nodes.coded(STABLEHLO, fields)))
    }

    /// Reads `name =`, which must come next.
    fn member(&mut self, name: &str) -> Res<()> {
        self.cursor.expect_word(name)?;
        self.cursor.expect("=")
    }

    /// Reads `<name = [1], index = 2>`. Members that are missing are empty or zero.
    fn members(&mut self, members: &Members) -> Res<Fields<'m>> {
        self.cursor.expect("<")?;
        let mut lists = vec![Vec::new(); members.lists.len()];
        let mut index = 0;
        self.list(">", |text| {
            let name = text.cursor.ident("the name of a member")?;
            text.cursor.expect("=")?;
            match members.lists.iter().position(|other| *other == name).and_then(|at| lists.get_mut(at)) {
                Some(list) => *list = text.ints()?,
                None if members.index == Some(name) => index = text.cursor.int()?,
                None => return Err(text.cursor.expected("the value of a known member")),
            }
            Ok(())
        })?;
        let mut fields = code(members.code);
        for list in lists {
            push_list(&mut fields, list.into_iter().map(Field::Signed));
        }
        fields.extend(members.index.map(|_| Field::Signed(index)));
        Ok(fields)
    }

    fn channel(&mut self) -> Res<Fields<'m>> {
        self.cursor.expect("<")?;
        self.member("handle")?;
        let handle = self.cursor.int()?;
        self.cursor.expect(",")?;
        self.member("type")?;
        let kind = self.cursor.int()?;
        self.cursor.expect(">")?;
        Ok([Field::Int(1), Field::Signed(handle), Field::Signed(kind)].into_iter().collect())
    }

    /// Reads `<[b, 0, f]x[0, i, o]->[b, 0, f]>`.
    fn conv(&mut self) -> Res<Fields<'m>> {
        self.cursor.expect("<")?;
        let mut fields = code(4);
        for (named, after) in [(["b", "f"], "x"), (["i", "o"], "->"), (["b", "f"], ">")] {
            self.cursor.expect("[")?;
            let dims = self.list("]", |text| {
                let number = text.cursor.peek().is_ascii_digit();
                if number {
                    text.cursor.int().map(|at| at.to_string())
                } else {
                    text.cursor.ident("a dimension").map(str::to_owned)
                }
            })?;
            let place = |wanted: &str| dims.iter().position(|dim| dim == wanted);
            let spatial: Option<Vec<usize>> =
                (0..dims.len().saturating_sub(2)).map(|at| place(&at.to_string())).collect();
            let (Some(first), Some(second), Some(spatial)) = (place(named[0]), place(named[1]), spatial)
            else {
                return Err(self.cursor.expected("dimension numbers that name each dimension once"));
            };
            fields.extend([Field::Signed(first as i64), Field::Signed(second as i64)]);
            push_list(&mut fields, spatial.into_iter().map(|at| Field::Signed(at as i64)));
            self.cursor.expect(after)?;
        }
        Ok(fields)
    }

    /// Reads `<4, ?>`.
    fn bounds(&mut self) -> Res<Fields<'m>> {
        self.cursor.expect("<")?;
        let sizes =
            self.list(
                ">",
                |text| {
                    if text.cursor.eat("?") { Ok(shardc_ir::DYNAMIC) } else { text.cursor.int() }
                },
            )?;
        let mut fields = code(13);
        push_list(&mut fields, sizes.into_iter().map(Field::Signed));
        Ok(fields)
    }

    fn alias(&mut self) -> Res<Fields<'m>> {
        self.cursor.expect("<")?;
        let mut fields = code(14);
        self.member("output_tuple_indices")?;
        let outputs = self.ints()?;
        push_list(&mut fields, outputs.into_iter().map(Field::Signed));
        self.cursor.expect(",")?;
        self.member("operand_index")?;
        fields.push(Field::Signed(self.cursor.int()?));
        self.cursor.expect(",")?;
        self.member("operand_tuple_indices")?;
        let operands = self.ints()?;
        push_list(&mut fields, operands.into_iter().map(Field::Signed));
        self.cursor.expect(">")?;
        Ok(fields)
    }

    fn algorithm(&mut self) -> Res<Fields<'m>> {
        self.cursor.expect("<")?;
        let mut fields = code(15);
        for name in ["lhs_precision_type", "rhs_precision_type", "accumulation_type"] {
            self.member(name)?;
            fields.push(Field::Type(self.ty()?));
            self.cursor.expect(",")?;
        }
        for name in ["lhs_component_count", "rhs_component_count", "num_primitive_operations"] {
            self.member(name)?;
            fields.push(Field::Signed(self.cursor.int()?));
            self.cursor.expect(",")?;
        }
        self.member("allow_imprecise_accumulation")?;
        let allowed = self.cursor.eat_word("true");
        if !allowed {
            self.cursor.expect_word("false")?;
        }
        fields.push(Field::Byte(u8::from(allowed)));
        self.cursor.expect(">")?;
        Ok(fields)
    }

    /// Reads `<atol = 1.0e-05, ulps = 1, mode = ...>`. Tolerances that are missing are zero.
    fn accuracy(&mut self) -> Res<Fields<'m>> {
        self.cursor.expect("<")?;
        let (mut tolerances, mut ulps, mut mode) = ([0; 2], 0, None);
        self.list(">", |text| {
            let name = text.cursor.ident("the name of a member")?;
            text.cursor.expect("=")?;
            match name {
                "atol" | "rtol" => {
                    let Some(bits) = text.number()?.float(DType::F64) else {
                        return Err(text.cursor.expected("a tolerance"));
                    };
                    tolerances[usize::from(name == "rtol")] = bits;
                }
                "ulps" => ulps = text.cursor.int()?,
                "mode" => mode = Some(text.attr()?),
                _ => return Err(text.cursor.expected("the value of a known member")),
            }
            Ok(())
        })?;
        let Some(mode) = mode else { return Err(self.cursor.expected("a mode")) };
        let mut fields = code(17);
        for bits in tolerances {
            push_int(&mut fields, 64, bits as i64);
        }
        fields.extend([Field::Signed(ulps), Field::Attr(mode)]);
        Ok(fields)
    }

    /// Reads `<mesh = @mesh, axes = [...]>`.
    fn mesh_axes(&mut self) -> Res<Fields<'m>> {
        self.cursor.expect("<")?;
        self.member("mesh")?;
        let mut fields = code(18);
        fields.push(Field::Attr(self.attr()?));
        self.cursor.expect(",")?;
        self.member("axes")?;
        self.cursor.expect("[")?;
        let axes = self.list("]", Text::attr)?;
        push_list(&mut fields, axes.into_iter().map(Field::Attr));
        self.cursor.expect(">")?;
        Ok(fields)
    }

    /// Reads `<name = "x", sub_axis_info = (1)2>`.
    fn axis_ref(&mut self) -> Res<Fields<'m>> {
        self.cursor.expect("<")?;
        self.member("name")?;
        let name = self.string()?.into_owned();
        let mut fields = code(20);
        fields.push(Field::Str(self.nodes.str(name)));
        let part = self.cursor.eat(",");
        fields.push(Field::Byte(u8::from(part)));
        if part {
            self.member("sub_axis_info")?;
            fields.push(Field::Attr(self.sub_axis()?));
        } else {
            self.cursor.expect(">")?;
        }
        Ok(fields)
    }

    /// Reads `<name = "x", size = 2>`.
    fn mesh_axis(&mut self) -> Res<Fields<'m>> {
        self.cursor.expect("<")?;
        self.member("name")?;
        let name = self.string()?.into_owned();
        self.cursor.expect(",")?;
        self.member("size")?;
        let fields = [Field::Int(21), Field::Str(self.nodes.str(name)), Field::Signed(self.cursor.int()?)];
        self.cursor.expect(">")?;
        Ok(fields.into_iter().collect())
    }

    /// Reads `<axes = [<name = "x", size = 2>], device_ids = dense<...>>`.
    fn mesh(&mut self) -> Res<Fields<'m>> {
        self.cursor.expect("<")?;
        self.member("axes")?;
        self.cursor.expect("[")?;
        let axes = self.list("]", |text| {
            if text.cursor.peek() == b'#' {
                return text.attr();
            }
            let fields = text.mesh_axis()?;
            Ok(text.nodes.coded(STABLEHLO, fields))
        })?;
        let axes = self.array(&axes);
        let mut fields = code(22);
        fields.push(Field::Attr(axes));
        let devices = self.cursor.eat(",");
        fields.push(Field::Byte(u8::from(devices)));
        if devices {
            self.member("device_ids")?;
            fields.push(Field::Attr(self.attr()?));
        }
        self.cursor.expect(">")?;
        Ok(fields)
    }
}
