//! Attributes of `sdy`: meshes, shardings and rules. An attribute inside another one is written without its name.

use super::{Text, push_list};
use crate::bytecode::attr::AttrRef;
use crate::bytecode::write::nodes::{Field, Fields, code};
use crate::lexer::Res;

const SDY: &str = "sdy";

/// The codes of shardings without unreduced axes, with unreduced axes that are summed, and with other reductions.
const SHARDINGS: [u64; 3] = [6, 15, 17];

/// The reductions of unreduced axes, by code.
const REDUCTIONS: [&str; 3] = ["", "max", "min"];

impl<'m> Text<'_, '_, 'm> {
    fn sdy_coded(&mut self, fields: Fields<'m>) -> AttrRef {
        self.nodes.coded(SDY, fields)
    }

    /// Adds an attribute that is a list of attributes.
    fn sdy_list(&mut self, number: u64, items: impl IntoIterator<Item = AttrRef>) -> AttrRef {
        let mut fields = code(number);
        push_list(&mut fields, items.into_iter().map(Field::Attr));
        self.sdy_coded(fields)
    }

    /// Reads the body of `#sdy.kind<...>` or `#sdy<kind...>`. Returns `None` if the kind is not known.
    pub(super) fn sdy(&mut self, kind: &str) -> Res<Option<AttrRef>> {
        let attr = match kind {
            "" => return self.sdy_wrapped(),
            "mesh" => self.sdy_mesh()?,
            "sharding" => self.sharding()?,
            "sharding_per_value" => {
                self.cursor.expect("<")?;
                self.cursor.expect("[")?;
                let shardings = self.list("]", Text::sharding)?;
                self.cursor.expect(">")?;
                let unreduced = |at: &AttrRef| {
                    let fields = self.nodes.fields_of(*at, SDY);
                    !matches!(fields, Some([Field::Int(code), ..]) if *code == SHARDINGS[0])
                };
                let number = if shardings.iter().any(unreduced) { 16 } else { 7 };
                self.sdy_list(number, shardings)
            }
            "op_sharding_rule" => self.rule()?,
            _ => return Ok(None),
        };
        Ok(Some(attr))
    }

    /// Reads `<kind...>`.
    fn sdy_wrapped(&mut self) -> Res<Option<AttrRef>> {
        self.cursor.expect("<")?;
        let attr = match self.cursor.ident("the name of an attribute")? {
            "manual_axes" => {
                self.cursor.expect("{")?;
                let axes = self.list("}", Text::attr)?;
                self.sdy_list(0, axes)
            }
            "mesh_axis" => self.sdy_axis()?,
            "sub_axis_info" => self.sdy_sub_axis()?,
            "axis_ref" => self.sdy_axis_ref()?,
            "dimension_sharding" => self.dimension()?,
            "dim_mapping" => self.dim_mapping()?,
            "tensor_mapping" => self.tensor_mapping()?,
            "axis_ref_list" => self.axis_list()?,
            "list_of_axis_ref_lists" => {
                self.cursor.expect("[")?;
                let lists = self.list("]", Text::axis_list)?;
                self.sdy_list(12, lists)
            }
            "all_to_all_param" => self.exchange()?,
            "all_to_all_param_list" => {
                self.cursor.expect("[")?;
                let items = self.list("]", Text::exchange)?;
                self.sdy_list(14, items)
            }
            _ => return Ok(None),
        };
        self.cursor.expect(">")?;
        Ok(Some(attr))
    }

    /// Reads `"x"=2`.
    fn sdy_axis(&mut self) -> Res<AttrRef> {
        let name = self.string()?.into_owned();
        self.cursor.expect("=")?;
        let fields = [Field::Int(1), Field::Str(self.nodes.str(name)), Field::Signed(self.cursor.int()?)];
        Ok(self.sdy_coded(fields.into_iter().collect()))
    }

    /// Reads `<["x"=2], device_ids=[0, 1]>`.
    fn sdy_mesh(&mut self) -> Res<AttrRef> {
        self.cursor.expect("<")?;
        self.cursor.expect("[")?;
        let axes = self.list("]", Text::sdy_axis)?;
        let mut ids = Vec::new();
        if self.cursor.eat(",") {
            self.cursor.expect_word("device_ids")?;
            self.cursor.expect("=")?;
            ids = self.ints()?;
        }
        self.cursor.expect(">")?;
        let mut fields = code(2);
        push_list(&mut fields, axes.into_iter().map(Field::Attr));
        push_list(&mut fields, ids.into_iter().map(Field::Signed));
        Ok(self.sdy_coded(fields))
    }

    /// Reads `(1)2`.
    fn sdy_sub_axis(&mut self) -> Res<AttrRef> {
        self.cursor.expect("(")?;
        let before = self.cursor.int()?;
        self.cursor.expect(")")?;
        let fields = [Field::Int(3), Field::Signed(before), Field::Signed(self.cursor.int()?)];
        Ok(self.sdy_coded(fields.into_iter().collect()))
    }

    /// Reads `"x"` or `"x":(1)2`.
    fn sdy_axis_ref(&mut self) -> Res<AttrRef> {
        let name = self.string()?.into_owned();
        let part = if self.cursor.eat(":") { Some(self.sdy_sub_axis()?) } else { None };
        let fields = [Field::Int(4), Field::Str(self.nodes.str(name)), Field::OptAttr(part)];
        Ok(self.sdy_coded(fields.into_iter().collect()))
    }

    /// Reads `{"x", "y"}`.
    fn axes(&mut self) -> Res<Vec<AttrRef>> {
        self.cursor.expect("{")?;
        self.list("}", Text::sdy_axis_ref)
    }

    fn axis_list(&mut self) -> Res<AttrRef> {
        let axes = self.axes()?;
        Ok(self.sdy_list(11, axes))
    }

    /// Reads `{"x"}: 0->1`.
    fn exchange(&mut self) -> Res<AttrRef> {
        let axes = self.axes()?;
        self.cursor.expect(":")?;
        let from = self.cursor.int()?;
        self.cursor.expect("->")?;
        let to = self.cursor.int()?;
        let mut fields = code(13);
        push_list(&mut fields, axes.into_iter().map(Field::Attr));
        fields.extend([Field::Signed(from), Field::Signed(to)]);
        Ok(self.sdy_coded(fields))
    }

    /// Reads `{"x", ?}p1`.
    fn dimension(&mut self) -> Res<AttrRef> {
        self.cursor.expect("{")?;
        let mut closed = true;
        let axes = self.list("}", |text| {
            if text.cursor.eat("?") {
                closed = false;
                return Ok(None);
            }
            text.sdy_axis_ref().map(Some)
        })?;
        let mut priority = 0;
        if self.cursor.byte(0) == b'p' {
            self.cursor.pos += 1;
            let value = self.cursor.int()?;
            priority = (value as u64) << 1 | 1;
        }
        let mut fields = code(5);
        push_list(&mut fields, axes.into_iter().flatten().map(Field::Attr));
        fields.extend([Field::Byte(u8::from(closed)), Field::Int(priority)]);
        Ok(self.sdy_coded(fields))
    }

    /// Reads `<@mesh, [{"x"}, {?}], replicated={"y"}, unreduced=max{"z"}>`.
    fn sharding(&mut self) -> Res<AttrRef> {
        self.cursor.expect("<")?;
        let mesh = if self.cursor.eat_word("mesh") { self.sdy_mesh()? } else { self.attr()? };
        self.cursor.expect(",")?;
        self.cursor.expect("[")?;
        let dims = self.list("]", Text::dimension)?;
        let (mut replicated, mut unreduced, mut reduction) = (Vec::new(), Vec::new(), 0);
        while self.cursor.eat(",") {
            let name = self.cursor.ident("`replicated` or `unreduced`")?;
            self.cursor.expect("=")?;
            if name == "replicated" {
                replicated = self.axes()?;
                continue;
            }
            let word = self.cursor.opt_ident().unwrap_or("");
            let Some(code) = REDUCTIONS.iter().position(|known| *known == word) else {
                return Err(self.cursor.expected("a reduction that has an encoding"));
            };
            reduction = code as i64;
            unreduced = self.axes()?;
        }
        self.cursor.expect(">")?;
        let kind = if unreduced.is_empty() { 0 } else { 1 + usize::from(reduction != 0) };
        let mut fields = code(SHARDINGS[kind]);
        fields.push(Field::Attr(mesh));
        push_list(&mut fields, dims.into_iter().map(Field::Attr));
        push_list(&mut fields, replicated.into_iter().map(Field::Attr));
        if kind > 0 {
            push_list(&mut fields, unreduced.into_iter().map(Field::Attr));
        }
        if kind > 1 {
            fields.push(Field::Signed(reduction));
        }
        Ok(self.sdy_coded(fields))
    }

    /// Reads the names of factors, `i` to `z`, then `z_1` and so on, without separators.
    fn factors(&mut self) -> Res<Vec<i64>> {
        let mut factors = Vec::new();
        loop {
            match self.cursor.byte(0) {
                b'z' if self.cursor.byte(1) == b'_' => {
                    self.cursor.pos += 2;
                    factors.push(17 + self.cursor.int()?);
                }
                letter @ b'i'..=b'z' => {
                    self.cursor.pos += 1;
                    factors.push(i64::from(letter - b'i'));
                }
                _ => return Ok(factors),
            }
        }
    }

    /// Reads one factor.
    fn factor(&mut self) -> Res<i64> {
        self.cursor.ws();
        match self.factors()?[..] {
            [only] => Ok(only),
            _ => Err(self.cursor.expected("the name of a factor")),
        }
    }

    fn dim_mapping(&mut self) -> Res<AttrRef> {
        self.cursor.ws();
        let factors = self.factors()?;
        let mut fields = code(8);
        push_list(&mut fields, factors.into_iter().map(Field::Signed));
        Ok(self.sdy_coded(fields))
    }

    fn tensor_mapping(&mut self) -> Res<AttrRef> {
        self.cursor.expect("[")?;
        let dims = self.list("]", Text::dim_mapping)?;
        Ok(self.sdy_list(9, dims))
    }

    /// Reads `<([i, k], [k, j])->([i, j]) {i=8, j=16, k=8} reduction={k}>`.
    fn rule(&mut self) -> Res<AttrRef> {
        self.cursor.expect("<")?;
        self.cursor.expect("(")?;
        let operands = self.list(")", Text::tensor_mapping)?;
        self.cursor.expect("->")?;
        self.cursor.expect("(")?;
        let results = self.list(")", Text::tensor_mapping)?;
        let mut sizes = Vec::new();
        if self.cursor.eat("{") {
            sizes = self.list("}", |text| {
                text.factor()?;
                text.cursor.expect("=")?;
                text.cursor.int()
            })?;
        }
        let mut fields = code(10);
        push_list(&mut fields, sizes.into_iter().map(Field::Signed));
        push_list(&mut fields, operands.into_iter().map(Field::Attr));
        push_list(&mut fields, results.into_iter().map(Field::Attr));
        for name in ["reduction", "need_replication", "permutation", "blocked_propagation"] {
            let mut factors = Vec::new();
            if self.cursor.eat_word(name) {
                self.cursor.expect("=")?;
                self.cursor.expect("{")?;
                factors = self.list("}", Text::factor)?;
            }
            push_list(&mut fields, factors.into_iter().map(Field::Signed));
        }
        let custom = self.cursor.eat(",");
        if custom {
            self.cursor.expect_word("custom")?;
        }
        fields.push(Field::Byte(u8::from(custom)));
        self.cursor.expect(">")?;
        Ok(self.sdy_coded(fields))
    }
}
