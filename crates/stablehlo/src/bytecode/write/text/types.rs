//! Types.

use shardc_ir::{DType, DYNAMIC};

use super::{Text, push_list};
use crate::bytecode::attr::TypeRef;
use crate::bytecode::builtin::{FLOATS, width_of_float};
use crate::bytecode::write::nodes::{BUILTIN, Field, Fields, Node, code, push_int};
use crate::lexer::{Res, is_ident_start};

impl Text<'_, '_, '_> {
    /// Reads a type.
    pub(in crate::bytecode::write) fn ty(&mut self) -> Res<TypeRef> {
        self.nested(|text| match text.cursor.peek() {
            b'!' => text.dialect_type(),
            b'(' => text.function_type(),
            first if is_ident_start(first) => text.named_type(),
            _ => Err(text.cursor.expected("a type")),
        })
    }

    /// Returns the float type that a type denotes.
    pub(super) fn float_type(&self, ty: TypeRef) -> Option<DType> {
        match self.nodes.type_fields_of(ty, BUILTIN)? {
            [Field::Int(code)] => {
                let (_, name) = FLOATS.iter().find(|(at, _)| at == code)?;
                DType::parse(name).filter(|_| width_of_float(name).is_some())
            }
            _ => None,
        }
    }

    /// Reads `(T, U) -> V` or `(T, U) -> (V, W)`.
    pub(in crate::bytecode::write) fn signature(&mut self) -> Res<(Vec<TypeRef>, Vec<TypeRef>)> {
        self.cursor.expect("(")?;
        let inputs = self.list(")", Text::ty)?;
        self.cursor.expect("->")?;
        let results = if self.cursor.eat("(") { self.list(")", Text::ty)? } else { vec![self.ty()?] };
        Ok((inputs, results))
    }

    fn function_type(&mut self) -> Res<TypeRef> {
        let (inputs, results) = self.signature()?;
        let mut fields = code(2);
        push_list(&mut fields, inputs.into_iter().map(Field::Type));
        push_list(&mut fields, results.into_iter().map(Field::Type));
        Ok(self.nodes.builtin_type(fields))
    }

    fn named_type(&mut self) -> Res<TypeRef> {
        let word = self.cursor.ident("a type")?;
        match word {
            "tensor" => return self.tensor(),
            "vector" => return self.vector(),
            "memref" => return self.memref(),
            "complex" => {
                self.cursor.expect("<")?;
                let element = self.ty()?;
                self.cursor.expect(">")?;
                return Ok(self.nodes.builtin_type([Field::Int(9), Field::Type(element)]));
            }
            "tuple" => {
                self.cursor.expect("<")?;
                let items = self.list(">", Text::ty)?;
                let mut fields = code(15);
                push_list(&mut fields, items.into_iter().map(Field::Type));
                return Ok(self.nodes.builtin_type(fields));
            }
            "index" => return Ok(self.nodes.builtin_type([Field::Int(1)])),
            "none" => return Ok(self.nodes.builtin_type([Field::Int(12)])),
            _ => {}
        }
        if let Some((code, _)) = FLOATS.iter().find(|(_, name)| *name == word) {
            return Ok(self.nodes.builtin_type([Field::Int(*code)]));
        }
        let signs = [("si", 1), ("ui", 2), ("i", 0)];
        let integer = signs.iter().find_map(|(prefix, sign)| {
            let width: u64 = word.strip_prefix(prefix)?.parse().ok()?;
            (width < 1 << 24).then_some(width << 2 | sign)
        });
        match integer {
            Some(value) => Ok(self.nodes.builtin_type([Field::Int(0), Field::Int(value)])),
            None => Err(self.cursor.expected("a builtin type")),
        }
    }

    /// Reads the size of a dimension and the `x` after it, if there is one.
    fn size(&mut self) -> Option<i64> {
        self.cursor.ws();
        let start = self.cursor.pos;
        let size = if self.cursor.eat("?") {
            Some(DYNAMIC)
        } else {
            while self.cursor.byte(0).is_ascii_digit() {
                self.cursor.pos += 1;
            }
            self.from(start).parse().ok()
        };
        if size.is_some() && self.cursor.eat("x") {
            return size;
        }
        self.cursor.pos = start;
        None
    }

    fn sizes(&mut self) -> Vec<i64> {
        std::iter::from_fn(|| self.size()).collect()
    }

    fn tensor(&mut self) -> Res<TypeRef> {
        self.cursor.expect("<")?;
        if self.cursor.eat("*") {
            self.cursor.expect("x")?;
            let element = self.ty()?;
            self.cursor.expect(">")?;
            return Ok(self.nodes.builtin_type([Field::Int(18), Field::Type(element)]));
        }
        let shape = self.sizes();
        let element = self.ty()?;
        let encoding = if self.cursor.eat(",") { Some(self.attr()?) } else { None };
        self.cursor.expect(">")?;
        let Some(encoding) = encoding else { return Ok(self.nodes.tensor_type(&shape, element)) };
        let mut fields = code(14);
        fields.push(Field::Attr(encoding));
        push_shape(&mut fields, &shape);
        fields.push(Field::Type(element));
        Ok(self.nodes.builtin_type(fields))
    }

    fn vector(&mut self) -> Res<TypeRef> {
        self.cursor.expect("<")?;
        let (mut shape, mut scalable) = (Vec::new(), Vec::new());
        loop {
            let scales = self.cursor.eat("[");
            if scales {
                shape.push(self.cursor.int()?);
                self.cursor.expect("]")?;
                self.cursor.expect("x")?;
            } else {
                match self.size() {
                    Some(size) => shape.push(size),
                    None => break,
                }
            }
            scalable.push(scales);
        }
        let element = self.ty()?;
        self.cursor.expect(">")?;
        let mut fields;
        if scalable.contains(&true) {
            fields = code(20);
            push_list(&mut fields, scalable.into_iter().map(|scales| Field::Byte(u8::from(scales))));
        } else {
            fields = code(19);
        }
        push_shape(&mut fields, &shape);
        fields.push(Field::Type(element));
        Ok(self.nodes.builtin_type(fields))
    }

    /// Reads `<2x?xf32, layout, space>` or `<*xf32, space>`. The default layout is written as an identity map.
    fn memref(&mut self) -> Res<TypeRef> {
        self.cursor.expect("<")?;
        if self.cursor.eat("*") {
            self.cursor.expect("x")?;
            let element = self.ty()?;
            let space = if self.cursor.eat(",") { Some(self.attr()?) } else { None };
            self.cursor.expect(">")?;
            let mut fields = code(if space.is_some() { 17 } else { 16 });
            fields.extend(space.map(Field::Attr));
            fields.push(Field::Type(element));
            return Ok(self.nodes.builtin_type(fields));
        }
        let shape = self.sizes();
        let element = self.ty()?;
        let (mut layout, mut space) = (None, None);
        while self.cursor.eat(",") {
            self.cursor.ws();
            if self.cursor.at_word("affine_map") || self.cursor.at_word("strided") {
                layout = Some(self.attr()?);
            } else {
                space = Some(self.attr()?);
            }
        }
        self.cursor.expect(">")?;
        let layout = layout.unwrap_or_else(|| {
            let dims: Vec<String> = (0..shape.len()).map(|dim| format!("d{dim}")).collect();
            let dims = dims.join(", ");
            let text = format!("affine_map<({dims}) -> ({dims})>").into_bytes();
            let (dialect, text) = (self.nodes.str(BUILTIN.as_bytes()), self.nodes.str(text));
            self.nodes.attr(Node::Text { dialect, text })
        });
        let mut fields = code(if space.is_some() { 11 } else { 10 });
        fields.extend(space.map(Field::Attr));
        push_shape(&mut fields, &shape);
        fields.extend([Field::Type(element), Field::Attr(layout)]);
        Ok(self.nodes.builtin_type(fields))
    }

    /// Reads `!dialect.name<...>` or `!dialect<name...>`.
    fn dialect_type(&mut self) -> Res<TypeRef> {
        let start = self.cursor.pos;
        let name = self.dialect_name()?;
        match name {
            "stablehlo.token" => Ok(self.nodes.ty(Node::Coded { dialect: "stablehlo", fields: code(0) })),
            "stablehlo.future" => {
                self.cursor.expect("<")?;
                let items = self.list(">", Text::ty)?;
                let mut fields = code(1);
                push_list(&mut fields, items.into_iter().map(Field::Type));
                Ok(self.nodes.ty(Node::Coded { dialect: "stablehlo", fields }))
            }
            "quant.uniform" => self.quantized(start),
            _ => {
                let node = self.as_text(name, start)?;
                Ok(self.nodes.ty(node))
            }
        }
    }

    /// Reads the body of `!quant.uniform<i8<-8:7>:f32:1, {1.0:3, 2.0}>`, whose text starts at `start`.
    fn quantized(&mut self, start: usize) -> Res<TypeRef> {
        let body = self.cursor.pos;
        self.cursor.expect("<")?;
        let word = self.cursor.ident("a storage type")?;
        let unsigned = word.starts_with('u');
        let width = match word.trim_start_matches(['i', 'u']).parse() {
            Ok(width @ 1..=32u32) => width,
            _ => return Err(self.cursor.expected("a storage type of at most 32 bits")),
        };
        let storage = self.nodes.int_type(width);
        let mut range = if unsigned {
            (0, (1i64 << width) - 1)
        } else {
            (-(1i64 << (width - 1)), (1i64 << (width - 1)) - 1)
        };
        if self.cursor.eat("<") {
            range.0 = self.cursor.int()?;
            self.cursor.expect(":")?;
            range.1 = self.cursor.int()?;
            self.cursor.expect(">")?;
        }
        self.cursor.expect(":")?;
        let expressed = self.ty()?;
        let axis = if self.cursor.eat(":") {
            if self.cursor.peek() == b'{' {
                // Blocks below the level of an axis have no encoding here.
                self.cursor.pos = body;
                let node = self.as_text("quant.uniform", start)?;
                return Ok(self.nodes.ty(node));
            }
            Some(self.cursor.int()?)
        } else {
            None
        };
        self.cursor.expect(",")?;
        let head = [Field::Int(u64::from(!unsigned)), Field::Type(storage), Field::Type(expressed)];
        let range = [Field::Signed(range.0), Field::Signed(range.1)];
        let mut fields = code(if axis.is_some() { 5 } else { 4 });
        fields.extend(head);
        match axis {
            None => {
                let (scale, zero_point) = self.scale()?;
                push_int(&mut fields, 64, scale as i64);
                fields.push(Field::Signed(zero_point));
                fields.extend(range);
            }
            Some(axis) => {
                self.cursor.expect("{")?;
                let params = self.list("}", Text::scale)?;
                fields.push(Field::Int(axis as u64));
                fields.extend(range);
                push_list(&mut fields, params.iter().map(|&(scale, _)| Field::Signed(scale as i64)));
                push_list(&mut fields, params.iter().map(|&(_, zero_point)| Field::Signed(zero_point)));
            }
        }
        self.cursor.expect(">")?;
        Ok(self.nodes.ty(Node::Coded { dialect: "quant", fields }))
    }

    /// Reads `1.0:3`: the bits of a scale, and a zero point.
    fn scale(&mut self) -> Res<(u64, i64)> {
        let scale = self.number()?;
        let Some(bits) = scale.float(DType::F64) else { return Err(self.cursor.expected("a scale")) };
        Ok((bits, if self.cursor.eat(":") { self.cursor.int()? } else { 0 }))
    }
}

/// Appends the sizes of a shape, preceded by their number.
fn push_shape(fields: &mut Fields<'_>, shape: &[i64]) {
    push_list(fields, shape.iter().map(|&size| Field::Signed(size)));
}
