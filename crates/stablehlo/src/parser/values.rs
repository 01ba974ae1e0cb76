//! Values of inherent attributes, in generic and in pretty form.

use std::borrow::Cow;

use shardc_ir::{
    Attr, Channel, DType, Diagnostic, DimList, DotSpec, GatherSpec, Precision, RaggedDotSpec, ScatterSpec,
    Span,
};
use smallvec::SmallVec;

use super::Parser;
use super::canonical::{number, tidy};
use crate::codes;
use crate::lexer::Res;
use crate::source_index::SymbolKind;
use crate::syntax::{AttrType, ConvNumbers, Val};

impl<'a> Parser<'a> {
    /// Parses `[1, 2]`, whose elements may have types.
    pub(super) fn int_list(&mut self) -> Res<SmallVec<[i64; 6]>> {
        self.expect("[")?;
        let mut out = SmallVec::new();
        self.list("]", |p| {
            out.push(p.int()?);
            if p.eat(":") {
                p.ident("an integer type")?;
            }
            Ok(())
        })?;
        Ok(out)
    }

    fn dim_list(&mut self) -> Res<SmallVec<[u32; 4]>> {
        self.ws();
        let start = self.pos;
        let list = self.int_list()?;
        let dims: Option<SmallVec<[u32; 4]>> = list.iter().map(|&v| u32::try_from(v).ok()).collect();
        dims.ok_or_else(|| {
            Diagnostic::invalid(codes::ATTRIBUTE, "dimension numbers must not be negative")
                .at(Span::new(start, self.pos))
                .into()
        })
    }

    fn boolean(&mut self) -> Res<bool> {
        if self.eat_word("true") {
            Ok(true)
        } else if self.eat_word("false") {
            Ok(false)
        } else {
            Err(self.expected("`true` or `false`"))
        }
    }

    /// Parses a value in generic form, as in `<{name = ...}>`.
    pub(super) fn generic_value(&mut self, ty: AttrType) -> Res<Val> {
        Ok(match ty {
            AttrType::I64 | AttrType::I32 => {
                let value = self.int()?;
                if self.eat(":") {
                    self.ident("an integer type")?;
                }
                Val::Int(value)
            }
            AttrType::Bool => Val::Bool(self.boolean()?),
            AttrType::F32 => {
                let bits = self.float(DType::F32)?;
                self.expect(":")?;
                self.expect_word("f32")?;
                Val::F32(f32::from_bits(bits as u32))
            }
            AttrType::Ints | AttrType::I32s => Val::Ints(self.generic_ints()?),
            AttrType::Bools => Val::Bools(self.generic_bools()?),
            AttrType::Pairs => self.generic_pairs()?,
            AttrType::Groups | AttrType::DevicePairs => self.groups()?,
            AttrType::Word(kind) => self.enum_word("stablehlo", kind)?,
            AttrType::ChloWord(kind) => self.enum_word("chlo", kind)?,
            AttrType::Number(words) => {
                let start = self.pos;
                let at = self.int()?;
                match usize::try_from(at).ok().and_then(|at| words.get(at)) {
                    Some(word) => Val::Word(Cow::Borrowed(word)),
                    None => {
                        let message = format!("expected a number from 0 to {}", words.len() - 1);
                        let span = Span::new(start, self.pos);
                        return Err(Diagnostic::invalid(codes::ATTRIBUTE, message).at(span).into());
                    }
                }
            }
            AttrType::Str => Val::Str(self.text_string()?.into()),
            AttrType::Symbol => {
                let start = self.peek_pos();
                let name = self.symbol()?;
                self.index_symbol_use(SymbolKind::Function, &name, start);
                Val::Str(name.into())
            }
            AttrType::Unit => {
                if !self.eat_word("unit") {
                    return Err(self.expected("`unit`"));
                }
                Val::Unit
            }
            AttrType::Channel => {
                self.expect("#stablehlo.channel_handle<")?;
                let mut channel = Channel { handle: 0, ty: 0 };
                self.members(">", |p, name| {
                    *match name {
                        "handle" => &mut channel.handle,
                        "type" => &mut channel.ty,
                        _ => return Ok(false),
                    } = p.int()?;
                    Ok(true)
                })?;
                Val::Channel(channel)
            }
            AttrType::Precisions => self.generic_precisions("#stablehlo<")?,
            AttrType::ChloPrecisions => self.generic_precisions("#chlo<")?,
            AttrType::Dot => Val::Dot(Box::new(self.dot()?)),
            AttrType::RaggedDot => Val::RaggedDot(Box::new(self.ragged_dot()?)),
            AttrType::Conv => {
                self.expect("#stablehlo.conv<")?;
                if self.eat_word("raw") {
                    return Ok(Val::Conv(Box::new(self.raw_conv_dims()?)));
                }
                let dims = self.conv_dims()?;
                self.expect(">")?;
                Val::Conv(Box::new(dims))
            }
            AttrType::Gather => Val::Gather(Box::new(self.gather()?)),
            AttrType::Scatter => Val::Scatter(Box::new(self.scatter()?)),
            AttrType::Dense => Val::Dense(self.dense()?.0),
            AttrType::Sharding => {
                self.expect("#sdy.sharding")?;
                Val::Sharding(self.sharding()?)
            }
            AttrType::Shardings => {
                self.expect("#sdy.sharding_per_value<")?;
                let list = self.shardings()?;
                self.expect(">")?;
                Val::Shardings(list)
            }
            // Axes are deferred until the mesh is known.
            AttrType::Axes | AttrType::AxesPerDim | AttrType::AllToAll | AttrType::ManualAxes => {
                return Err(self.expected("axes after the sharding"));
            }
            AttrType::Any | AttrType::Typed(_) | AttrType::Prefixed(_) | AttrType::Carried => {
                let start = self.peek_pos();
                self.skip_attr()?;
                Val::Attr(self.carried_text(start, self.pos)?)
            }
            AttrType::Raw => return Err(self.expected("an attribute")),
        })
    }

    /// Parses a word of an enumeration, as in `#stablehlo<kind WORD>`.
    fn enum_word(&mut self, dialect: &str, kind: &str) -> Res<Val> {
        if self.eat(&format!("#{dialect}<")) {
            self.expect_word(kind)?;
            Ok(Val::Word(Cow::Owned(self.word_until(">")?)))
        } else if self.peek() == b'#' {
            // Some versions of StableHLO write `#stablehlo.transpose<NO_TRANSPOSE>`.
            self.cursor.pos += 1;
            self.ident("an attribute name")?;
            self.expect("<")?;
            Ok(Val::Word(Cow::Owned(self.word_until(">")?)))
        } else if self.peek() == b'"' {
            Ok(Val::Word(Cow::Owned(self.text_string()?.into_owned())))
        } else {
            Err(self.expected(&format!("`#{dialect}<{kind} ...>`")))
        }
    }

    /// Parses pairs of integers: a matrix of two columns.
    fn generic_pairs(&mut self) -> Res<Val> {
        let rows = self.matrix()?;
        let pair = |row: &Vec<i64>| match row[..] {
            [a, b] => Some((a, b)),
            _ => None,
        };
        match rows.iter().map(pair).collect::<Option<_>>() {
            Some(pairs) => Ok(Val::Pairs(pairs)),
            None => Err(self.expected("pairs of integers")),
        }
    }

    /// Parses a list of precisions, as in `[#stablehlo<precision DEFAULT>]`. `prefix` is the text before `precision`.
    fn generic_precisions(&mut self, prefix: &str) -> Res<Val> {
        self.expect("[")?;
        let mut list = SmallVec::new();
        self.list("]", |p| {
            p.expect(prefix)?;
            p.expect_word("precision")?;
            list.push(p.precision()?);
            p.expect(">")
        })?;
        Ok(Val::Precisions(list))
    }

    fn word_until(&mut self, close: &str) -> Res<String> {
        let word = self.ident("a word")?.to_owned();
        self.expect(close)?;
        Ok(word)
    }

    fn precision(&mut self) -> Res<Precision> {
        let span = self.token_span();
        let word = self.ident("a precision")?;
        Precision::parse(word).ok_or_else(|| {
            Diagnostic::invalid(codes::ATTRIBUTE, format!("`{word}` is not a precision"))
                .at(span)
                .hint("use DEFAULT, HIGH or HIGHEST")
                .into()
        })
    }

    /// Parses `array<i64: 1, 2>`, `[1, 2]` or `dense<[1, 2]> : tensor<2xi64>`.
    fn generic_ints(&mut self) -> Res<SmallVec<[i64; 6]>> {
        if self.peek() == b'[' {
            return self.int_list();
        }
        if self.at_word("dense") {
            return Ok(self.matrix()?.into_iter().flatten().collect());
        }
        self.expect_word("array")?;
        self.expect("<")?;
        self.ident("an element type")?;
        let mut out = SmallVec::new();
        if self.eat(":") {
            self.list(">", |p| {
                out.push(p.int()?);
                Ok(())
            })?;
        } else {
            self.expect(">")?;
        }
        Ok(out)
    }

    fn generic_bools(&mut self) -> Res<SmallVec<[bool; 2]>> {
        if self.at_word("dense") {
            return Ok(self.matrix()?.into_iter().flatten().map(|v| v != 0).collect());
        }
        let mut out = SmallVec::new();
        let mut item = |p: &mut Self| {
            out.push(p.boolean()?);
            Ok(())
        };
        if self.eat("[") {
            self.list("]", &mut item)?;
        } else {
            self.expect_word("array")?;
            self.expect("<")?;
            self.ident("an element type")?;
            if self.eat(":") { self.list(">", &mut item)? } else { self.expect(">")? }
        }
        Ok(out)
    }

    /// Parses lists of members such as `{stride = ...}` and `dot<...>`. Members may be in any order.
    pub(super) fn members(
        &mut self,
        close: &str,
        mut member: impl FnMut(&mut Self, &'a str) -> Res<bool>,
    ) -> Res<()> {
        let mut seen: SmallVec<[&str; 8]> = SmallVec::new();
        self.list(close, |p| {
            if p.peek() == close.bytes().next().unwrap_or(0) {
                // A trailing comma is allowed.
                return Ok(());
            }
            let span = p.token_span();
            let name = p.ident("a member name")?;
            if seen.contains(&name) {
                let message = format!("the member `{name}` is given twice");
                return Err(Diagnostic::invalid(codes::REDEFINITION, message).at(span).into());
            }
            seen.push(name);
            p.expect("=")?;
            if member(p, name)? {
                return Ok(());
            }
            Err(Diagnostic::invalid(codes::ATTRIBUTE, format!("there is no member `{name}` here"))
                .at(span)
                .into())
        })
    }

    fn dot(&mut self) -> Res<DotSpec> {
        self.expect("#stablehlo.dot<")?;
        let mut spec = DotSpec::default();
        self.members(">", |p, name| {
            *match name {
                "lhs_batching_dimensions" => &mut spec.lhs_batch,
                "rhs_batching_dimensions" => &mut spec.rhs_batch,
                "lhs_contracting_dimensions" => &mut spec.lhs_contract,
                "rhs_contracting_dimensions" => &mut spec.rhs_contract,
                _ => return Ok(false),
            } = p.dim_list()?;
            Ok(true)
        })?;
        Ok(spec)
    }

    fn ragged_dot(&mut self) -> Res<RaggedDotSpec> {
        self.expect("#chlo.ragged_dot<")?;
        let mut spec = RaggedDotSpec::default();
        self.members(">", |p, name| {
            *match name {
                "lhs_batching_dimensions" => &mut spec.lhs_batch,
                "rhs_batching_dimensions" => &mut spec.rhs_batch,
                "lhs_contracting_dimensions" => &mut spec.lhs_contract,
                "rhs_contracting_dimensions" => &mut spec.rhs_contract,
                "lhs_ragged_dimensions" => &mut spec.lhs_ragged,
                "rhs_group_dimensions" => &mut spec.rhs_group,
                _ => return Ok(false),
            } = p.dim_list()?;
            Ok(true)
        })?;
        Ok(spec)
    }

    fn index(&mut self) -> Res<u32> {
        let span = self.token_span();
        let value = self.int()?;
        u32::try_from(value).map_err(|_| {
            Diagnostic::invalid(codes::ATTRIBUTE, "a dimension number must not be negative").at(span).into()
        })
    }

    fn gather(&mut self) -> Res<GatherSpec> {
        self.expect("#stablehlo.gather<")?;
        let mut spec = GatherSpec::default();
        self.members(">", |p, name| {
            let list = match name {
                "offset_dims" => &mut spec.offset_dims,
                "collapsed_slice_dims" => &mut spec.collapsed_slice_dims,
                "operand_batching_dims" => &mut spec.operand_batching_dims,
                "start_indices_batching_dims" => &mut spec.start_indices_batching_dims,
                "start_index_map" => &mut spec.start_index_map,
                "index_vector_dim" => {
                    spec.index_vector_dim = p.index()?;
                    return Ok(true);
                }
                _ => return Ok(false),
            };
            *list = p.dim_list()?;
            Ok(true)
        })?;
        Ok(spec)
    }

    fn scatter(&mut self) -> Res<ScatterSpec> {
        self.expect("#stablehlo.scatter<")?;
        let mut spec = ScatterSpec::default();
        self.members(">", |p, name| {
            let list = match name {
                "update_window_dims" => &mut spec.update_window_dims,
                "inserted_window_dims" => &mut spec.inserted_window_dims,
                "input_batching_dims" => &mut spec.input_batching_dims,
                "scatter_indices_batching_dims" => &mut spec.scatter_indices_batching_dims,
                "scatter_dims_to_operand_dims" => &mut spec.scatter_dims_to_operand_dims,
                "index_vector_dim" => {
                    spec.index_vector_dim = p.index()?;
                    return Ok(true);
                }
                _ => return Ok(false),
            };
            *list = p.dim_list()?;
            Ok(true)
        })?;
        Ok(spec)
    }

    /// Parses `[b, 0, f]x[0, i, o]->[b, 0, f]`.
    fn conv_dims(&mut self) -> Res<ConvNumbers> {
        let input = self.conv_tensor('b', 'f')?;
        self.expect("x")?;
        let kernel = self.conv_tensor('i', 'o')?;
        self.expect("->")?;
        let output = self.conv_tensor('b', 'f')?;
        Ok(ConvNumbers::new([input, kernel, output]))
    }

    /// Parses `input_batch_dimension = 0, input_spatial_dimensions = [1], ...>`.
    fn raw_conv_dims(&mut self) -> Res<ConvNumbers> {
        let unset = || ([u32::MAX; 2], DimList::new());
        let start = self.peek_pos();
        let mut dims = [unset(), unset(), unset()];
        self.members(">", |p, name| {
            let [input, kernel, output] = &mut dims;
            match name {
                "input_batch_dimension" => input.0[0] = p.index()?,
                "input_feature_dimension" => input.0[1] = p.index()?,
                "input_spatial_dimensions" => input.1 = p.dim_list()?,
                "kernel_input_feature_dimension" => kernel.0[0] = p.index()?,
                "kernel_output_feature_dimension" => kernel.0[1] = p.index()?,
                "kernel_spatial_dimensions" => kernel.1 = p.dim_list()?,
                "output_batch_dimension" => output.0[0] = p.index()?,
                "output_feature_dimension" => output.0[1] = p.index()?,
                "output_spatial_dimensions" => output.1 = p.dim_list()?,
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        // The dimension numbers of each tensor must be a permutation of its dimensions.
        let whole = dims.iter().all(|(numbers, spatial)| {
            let mut all: SmallVec<[u32; 6]> = numbers.iter().chain(spatial).copied().collect();
            all.sort_unstable();
            all.iter().copied().eq(0..all.len() as u32)
        });
        if !whole {
            let message = "the dimension numbers of each tensor must be 0, 1, ..., each once";
            return Err(Diagnostic::invalid(codes::ATTRIBUTE, message).at(Span::new(start, self.pos)).into());
        }
        Ok(ConvNumbers::new(dims))
    }

    /// Parses the dimensions called `a` and `b`, and the spatial dimensions in order.
    fn conv_tensor(&mut self, a: char, b: char) -> Res<([u32; 2], DimList)> {
        let start = self.peek_pos();
        self.expect("[")?;
        let mut named = [u32::MAX; 2];
        let mut spatial: SmallVec<[(i64, u32); 4]> = SmallVec::new();
        let mut at = 0u32;
        self.list("]", |p| {
            match p.opt_ident() {
                Some(name) if name.chars().eq([a]) => named[0] = at,
                Some(name) if name.chars().eq([b]) => named[1] = at,
                Some(_) => {
                    return Err(p.expected(&format!("`{a}`, `{b}` or the number of a spatial dimension")));
                }
                None => spatial.push((p.int()?, at)),
            }
            at += 1;
            Ok(())
        })?;
        spatial.sort_unstable();
        let ordered = spatial.iter().enumerate().all(|(i, &(number, _))| number == i as i64);
        if named.contains(&u32::MAX) || !ordered {
            let message = format!("these dimensions must be `{a}`, `{b}` and 0, 1, ..., each once");
            return Err(Diagnostic::invalid(codes::ATTRIBUTE, message).at(Span::new(start, self.pos)).into());
        }
        Ok((named, spatial.iter().map(|&(_, dim)| dim).collect()))
    }

    /// Returns the offset of the next token.
    pub(super) fn peek_pos(&mut self) -> usize {
        self.ws();
        self.pos
    }

    /// Parses a value in the pretty form of its operation.
    pub(super) fn pretty_value(&mut self, ty: AttrType) -> Res<Val> {
        Ok(match ty {
            AttrType::I64 | AttrType::I32 => Val::Int(self.int()?),
            AttrType::Ints => Val::Ints(self.int_list()?),
            AttrType::Word(_) | AttrType::ChloWord(_) | AttrType::Number(_) => {
                Val::Word(Cow::Owned(self.ident("a word in capitals")?.to_owned()))
            }
            AttrType::Precisions => {
                self.expect("[")?;
                let mut list = SmallVec::new();
                self.list("]", |p| {
                    list.push(p.precision()?);
                    Ok(())
                })?;
                Val::Precisions(list)
            }
            AttrType::Conv => Val::Conv(Box::new(self.conv_dims()?)),
            AttrType::Sharding => Val::Sharding(self.sharding()?),
            AttrType::Shardings => Val::Shardings(self.shardings()?),
            AttrType::Bool
            | AttrType::Bools
            | AttrType::Pairs
            | AttrType::Groups
            | AttrType::Str
            | AttrType::DevicePairs => self.generic_value(ty)?,
            AttrType::Symbol | AttrType::Unit | AttrType::Channel | AttrType::Dot | AttrType::Gather => {
                self.generic_value(ty)?
            }
            AttrType::Scatter
            | AttrType::Dense
            | AttrType::Axes
            | AttrType::AxesPerDim
            | AttrType::AllToAll => self.generic_value(ty)?,
            AttrType::Raw => {
                let start = self.peek_pos();
                if self.byte(0) == b'<' {
                    self.skip_brackets()?
                } else {
                    self.skip_attr()?
                }
                let text = self.slice(start, self.pos);
                Val::Raw(self.expand_text(text)?.into())
            }
            AttrType::Prefixed(prefix) => {
                let start = self.peek_pos();
                self.skip_brackets()?;
                let text = self.slice(start, self.pos);
                Val::Attr(Attr::Raw(format!("{prefix}{text}").into()))
            }
            AttrType::Typed(ty) => {
                let start = self.peek_pos();
                let text = self.number_text();
                match number(&format!("{text} : {ty}")) {
                    Some(attr) => Val::Attr(attr),
                    None => {
                        let message = format!("expected a number of type {ty}");
                        let span = self.span_from(start);
                        return Err(Diagnostic::invalid(codes::ATTRIBUTE, message).at(span).into());
                    }
                }
            }
            AttrType::F32
            | AttrType::I32s
            | AttrType::ChloPrecisions
            | AttrType::RaggedDot
            | AttrType::Any
            | AttrType::Carried => self.generic_value(ty)?,
            AttrType::ManualAxes => self.generic_value(ty)?,
        })
    }

    /// Parses `batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [...], algorithm = <...>`.
    pub(super) fn pretty_dot(&mut self) -> Res<DotSpec> {
        let mut spec = DotSpec::default();
        if self.eat_word("batching_dims") {
            self.expect("=")?;
            spec.lhs_batch = self.dim_list()?;
            self.expect("x")?;
            spec.rhs_batch = self.dim_list()?;
            self.expect(",")?;
        }
        self.expect_word("contracting_dims")?;
        self.expect("=")?;
        spec.lhs_contract = self.dim_list()?;
        self.expect("x")?;
        spec.rhs_contract = self.dim_list()?;
        while self.eat(",") {
            if self.eat_word("precision") {
                self.expect("=")?;
                self.expect("[")?;
                self.list("]", |p| {
                    spec.precision.push(p.precision()?);
                    Ok(())
                })?;
            } else {
                self.expect_word("algorithm")?;
                self.expect("=")?;
                let start = self.peek_pos();
                self.skip_brackets()?;
                let body = self.slice(start, self.pos);
                spec.algorithm = Some(tidy(&format!("#stablehlo.dot_algorithm{body}")).into());
            }
        }
        Ok(spec)
    }

    /// Parses `{stride = [1, 1], pad = [[0, 0], [0, 0]], lhs_dilate = ..., rhs_dilate = ..., reverse = ...}`.
    pub(super) fn pretty_window(&mut self, out: &mut crate::syntax::Attrs) -> Res<()> {
        self.expect("{")?;
        self.members("}", |p, name| {
            out.push(match name {
                "stride" => ("window_strides", Val::Ints(p.int_list()?)),
                "lhs_dilate" => ("lhs_dilation", Val::Ints(p.int_list()?)),
                "rhs_dilate" => ("rhs_dilation", Val::Ints(p.int_list()?)),
                "reverse" => ("window_reversal", Val::Bools(p.pretty_bools()?)),
                "pad" => {
                    let mut pairs = SmallVec::new();
                    p.expect("[")?;
                    p.list("]", |p| {
                        p.expect("[")?;
                        let low = p.int()?;
                        p.expect(",")?;
                        pairs.push((low, p.int()?));
                        p.expect("]")
                    })?;
                    ("padding", Val::Pairs(pairs))
                }
                _ => return Ok(false),
            });
            Ok(true)
        })
    }

    fn pretty_bools(&mut self) -> Res<SmallVec<[bool; 2]>> {
        let mut out = SmallVec::new();
        self.expect("[")?;
        self.list("]", |p| {
            out.push(if matches!(p.peek(), b't' | b'f') { p.boolean()? } else { p.int()? != 0 });
            Ok(())
        })?;
        Ok(out)
    }
}
