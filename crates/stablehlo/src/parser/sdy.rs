//! Meshes, axes and shardings of the `sdy` dialect.

use rustc_hash::FxHashMap;
use shardc_ir::limits::too_many_devices;
use shardc_ir::suggest::nearest;
use shardc_ir::{
    AxisList, AxisMove, AxisRef, Diagnostic, DimSharding, Mesh, MeshId, ReductionKind, ShardingId, Span,
    SubAxis, TensorSharding,
};
use smallvec::SmallVec;

use super::Parser;
use super::attrs::NamedList;
use crate::codes;
use crate::lexer::{Failure, Res};
use crate::literals::tokens::{push_list, push_string};
use crate::source_index::SymbolKind;
use crate::syntax::Val;

/// The reductions that unreduced axes may name, as in `unreduced=max{"x"}`. Shardy defines the first two; shardc's planning also uses the
/// others.
const PENDING: [ReductionKind; 6] = [
    ReductionKind::Max,
    ReductionKind::Min,
    ReductionKind::Mul,
    ReductionKind::And,
    ReductionKind::Or,
    ReductionKind::Xor,
];

impl<'a> Parser<'a> {
    /// Parses `<["x"=2, "y"=4], device_ids=[...]>`.
    pub(super) fn mesh_body(&mut self) -> Res<Mesh> {
        self.eat("#sdy.mesh");
        self.expect("<")?;
        self.expect("[")?;
        let mut mesh = Mesh::default();
        self.list("]", |p| {
            let start = p.peek_pos();
            let name = p.text_string()?;
            p.expect("=")?;
            let size = p.int()?;
            let span = Span::new(start, p.pos);
            if size < 1 || size > i64::from(u32::MAX) {
                let message = if size < 1 {
                    format!("the size {size} of the axis \"{name}\" must be at least 1")
                } else {
                    format!("the size {size} of the axis \"{name}\" is too large: {}", too_many_devices())
                };
                return Err(Diagnostic::invalid(codes::UNKNOWN_MESH, message).at(span).into());
            }
            if mesh.axes.insert(name.as_ref().into(), size).is_some() {
                let message = format!("this mesh has two axes named \"{name}\"");
                return Err(Diagnostic::invalid(codes::REDEFINITION, message).at(span).into());
            }
            if mesh.axes.len() > usize::from(u16::MAX) {
                return Err(Diagnostic::unsupported(codes::UNKNOWN_MESH, "this mesh has too many axes")
                    .at(span)
                    .into());
            }
            Ok(())
        })?;
        if self.eat(",") {
            self.expect_word("device_ids")?;
            self.expect("=")?;
            let ids = self.int_list()?;
            // As in MLIR, a mesh with device ids in ascending order is equivalent to one without device ids.
            let devices = mesh.axes.values().try_fold(1i64, |n, &size| n.checked_mul(size));
            let in_order = devices == Some(ids.len() as i64) && ids.iter().copied().eq(0..ids.len() as i64);
            mesh.device_ids = (mesh.axes.is_empty() || !in_order).then(|| ids.to_vec());
        }
        self.expect(">")?;
        Ok(mesh)
    }

    /// Parses `sdy.mesh @name = <...> {...}` after the keyword.
    pub(super) fn mesh_op(&mut self) -> Res<()> {
        let start = self.peek_pos();
        let name = self.symbol()?;
        let span = Span::new(start, self.pos);
        self.expect("=")?;
        let mut mesh = self.mesh_body()?;
        let mut attrs = NamedList::new();
        self.opt_dict(&mut attrs)?;
        mesh.attrs = self.carry_all(&attrs)?;
        self.add_mesh(&name, mesh, span)
    }

    /// Adds a mesh, unless it was already parsed because a use precedes its definition.
    pub(super) fn add_mesh(&mut self, name: &str, mesh: Mesh, span: Span) -> Res<()> {
        // A symbol with the same span is this mesh, which was already parsed.
        if !span.is_some() || self.symbols.get(name) != Some(&span) {
            self.define_symbol("mesh", name, span)?;
            let id = self.module.add_mesh(name, mesh);
            self.module.mesh_places[id].span = span;
            if let Some(index) = &mut self.index {
                index.define_symbol(SymbolKind::Mesh, name, span);
            }
        }
        Ok(())
    }

    /// Looks up a mesh by name, wherever in the text it is defined.
    pub(super) fn known_mesh(&mut self, name: &str) -> Res<Option<MeshId>> {
        if let Some(&id) = self.module.mesh_names.get(name) {
            return Ok(Some(id));
        }
        if self.missing_meshes.insert(name.into()) {
            self.read_ahead(name)?;
        }
        Ok(self.module.mesh_names.get(name).copied())
    }

    fn find_mesh(&mut self, name: &str, span: Span) -> Res<MeshId> {
        if let Some(id) = self.known_mesh(name)? {
            return Ok(id);
        }
        let known: Vec<String> = self.module.mesh_names.keys().map(|name| format!("@{name}")).collect();
        let error =
            Diagnostic::invalid(codes::UNKNOWN_MESH, format!("the mesh @{name} is not defined")).at(span);
        Err(match known.is_empty() {
            true => error.hint(format!("define it at the top of the module: sdy.mesh @{name} = <[\"x\"=2]>")),
            false => error.hint(format!("the module defines {}", known.join(", "))),
        }
        .into())
    }

    /// Parses a mesh that is defined later in the text.
    fn read_ahead(&mut self, name: &str) -> Res<()> {
        let sites = match self.mesh_sites.take() {
            Some(sites) => sites,
            None => self.find_meshes(),
        };
        let site = sites.get(name).copied();
        self.mesh_sites = Some(sites);
        match site {
            Some((at, false)) => self.elsewhere(at, Self::mesh_op),
            Some((at, true)) => self.elsewhere(at, Self::generic_mesh).map(drop),
            None => Ok(()),
        }
    }

    /// Finds the mesh definitions in the rest of the text, by name. Returns the offset after the operation's name, and whether the form is
    /// generic.
    fn find_meshes(&mut self) -> FxHashMap<Box<str>, (usize, bool)> {
        const WORD: &str = "sdy.mesh";
        let text = self.cursor.text;
        let mut sites = FxHashMap::default();
        let mut from = self.pos;
        while let Some(found) = text.get(from..).and_then(|rest| rest.find(WORD)) {
            let at = from + found;
            from = at + WORD.len();
            let line = text.get(..at).map_or("", |before| before.rsplit('\n').next().unwrap_or(before));
            let site = match line.trim_start() {
                "" => self.elsewhere(from, |p| Ok((p.symbol()?.into_owned(), (from, false)))),
                "\"" => self.elsewhere(from + 1, |p| {
                    let header = p.generic_header()?;
                    let Some(named) = header.iter().find(|named| named.name == "sym_name") else {
                        return Err(Failure::Silent);
                    };
                    let name = p.at_value(named, |p| Ok(p.text_string()?.into_owned()))?;
                    Ok((name, (from + 1, true)))
                }),
                _ => continue,
            };
            // An error in a definition is reported when parsing reaches it.
            let Ok((name, site)) = site else { break };
            sites.entry(name.into()).or_insert(site);
        }
        sites
    }

    fn mesh_ref(&mut self) -> Res<MeshId> {
        let start = self.peek_pos();
        if self.eat_word("mesh") {
            let mesh = self.mesh_body()?;
            return Ok(self.unnamed_mesh(mesh));
        }
        let name = self.symbol()?;
        self.index_symbol_use(SymbolKind::Mesh, &name, start);
        self.find_mesh(&name, Span::new(start, self.pos))
    }

    /// Adds an inline mesh, which has no name.
    fn unnamed_mesh(&mut self, mesh: Mesh) -> MeshId {
        let same =
            self.module.meshes.iter().find(|(id, other)| {
                **other == mesh && !self.module.mesh_names.values().any(|named| named == id)
            });
        match same {
            Some((id, _)) => id,
            None => self.module.meshes.push(mesh),
        }
    }

    /// Parses `"x"` or `"x":(1)2`.
    pub(super) fn axis(&mut self, mesh: MeshId) -> Res<AxisRef> {
        let start = self.peek_pos();
        let name = self.text_string()?;
        let mut span = Span::new(start, self.pos);
        let sub = if self.eat(":") {
            self.expect("(")?;
            let pre = self.int()?;
            self.expect(")")?;
            let size = self.int()?;
            span = Span::new(start, self.pos);
            match (u32::try_from(pre), u32::try_from(size)) {
                (Ok(pre @ 1..), Ok(size @ 1..)) => Some(SubAxis { pre, size }),
                _ => {
                    let message = "the sizes of a sub-axis must be at least 1";
                    return Err(Diagnostic::invalid(codes::UNKNOWN_MESH, message).at(span).into());
                }
            }
        } else {
            None
        };
        let axes = &self.module.meshes[mesh].axes;
        let Some((index, _, &size)) = axes.get_full(name.as_ref()) else {
            let known: Vec<String> = axes.keys().map(|axis| format!("\"{axis}\"")).collect();
            let hint = match nearest(&name, axes.keys().map(|axis| &**axis)) {
                Some(axis) => {
                    format!("did you mean \"{axis}\"? The axes of the mesh are {}", known.join(", "))
                }
                None if known.is_empty() => "the mesh has no axes".to_owned(),
                None => format!("the axes of the mesh are {}", known.join(", ")),
            };
            let mesh = self.module.mesh_name(mesh);
            return Err(Diagnostic::invalid(
                codes::UNKNOWN_MESH,
                format!("the mesh @{mesh} has no axis \"{name}\""),
            )
            .at(span)
            .hint(hint)
            .into());
        };
        if let Some(SubAxis { pre, size: part }) = sub
            && i64::from(pre).checked_mul(i64::from(part)).is_none_or(|parts| size % parts != 0)
        {
            let message = format!("({pre}){part} is not a sub-axis of the axis \"{name}\" of size {size}");
            return Err(Diagnostic::invalid(codes::UNKNOWN_MESH, message).at(span).into());
        }
        Ok(AxisRef { axis: index as u16, sub })
    }

    /// Parses `{"x", "y"}`.
    pub(super) fn axes(&mut self, mesh: MeshId) -> Res<AxisList> {
        self.expect("{")?;
        let mut axes = AxisList::new();
        self.list("}", |p| {
            axes.push(p.axis(mesh)?);
            Ok(())
        })?;
        Ok(axes)
    }

    /// Parses `[{"x"}, {}]`.
    pub(super) fn axes_per_dim(&mut self, mesh: MeshId) -> Res<Vec<AxisList>> {
        self.expect("[")?;
        let mut dims = Vec::new();
        self.list("]", |p| {
            dims.push(p.axes(mesh)?);
            Ok(())
        })?;
        Ok(dims)
    }

    /// Parses `[{"x"}: 0->2, {"y"}: 1->3]`.
    pub(super) fn axis_moves(&mut self, mesh: MeshId) -> Res<Vec<AxisMove>> {
        self.expect("[")?;
        let mut moves = Vec::new();
        self.list("]", |p| {
            let axes = p.axes(mesh)?;
            p.expect(":")?;
            let from = p.dim_number()?;
            p.expect("->")?;
            moves.push(AxisMove { axes, from, to: p.dim_number()? });
            Ok(())
        })?;
        Ok(moves)
    }

    fn dim_number(&mut self) -> Res<u32> {
        let span = self.token_span();
        u32::try_from(self.int()?).map_err(|_| {
            Diagnostic::invalid(codes::ATTRIBUTE, "a dimension number must not be negative").at(span).into()
        })
    }

    /// Parses `<@mesh, [{"x", ?}p1, {}], replicated={"y"}, unreduced={"z"}>`.
    pub(super) fn sharding(&mut self) -> Res<ShardingId> {
        self.eat("#sdy.sharding");
        self.expect("<")?;
        let mesh = self.mesh_ref()?;
        self.expect(",")?;
        self.expect("[")?;
        let mut dims = SmallVec::new();
        self.list("]", |p| {
            dims.push(p.dim_sharding(mesh)?);
            Ok(())
        })?;
        let mut sharding = TensorSharding { dims, ..TensorSharding::replicated(mesh, 0) };
        while self.eat(",") {
            if sharding.replicated.is_empty() && self.eat_word("replicated") {
                self.expect("=")?;
                sharding.replicated = self.axes(mesh)?;
            } else if sharding.unreduced.is_empty() && self.eat_word("unreduced") {
                self.expect("=")?;
                let reduction = PENDING.into_iter().find(|kind| self.eat_word(kind.word()));
                sharding.reduction = reduction.unwrap_or_else(|| {
                    self.eat_word("sum");
                    ReductionKind::Add
                });
                sharding.unreduced = self.axes(mesh)?;
            } else {
                return Err(self.expected("`replicated={...}` or `unreduced={...}`"));
            }
        }
        self.expect(">")?;
        Ok(self.module.shardings.intern(sharding.tidied()))
    }

    fn dim_sharding(&mut self, mesh: MeshId) -> Res<DimSharding> {
        self.expect("{")?;
        let mut dim = DimSharding::default();
        self.list("}", |p| {
            if p.eat("?") {
                dim.open = true;
                return if p.peek() == b'}' { Ok(()) } else { Err(p.expected("`}` after `?`")) };
            }
            dim.axes.push(p.axis(mesh)?);
            Ok(())
        })?;
        if self.byte(0) == b'p' {
            self.cursor.pos += 1;
            let span = self.token_span();
            let zeros = self.byte(0) == b'0' && self.byte(1).is_ascii_digit();
            dim.priority = match u32::try_from(self.int()?) {
                Ok(priority) if !zeros => Some(priority),
                _ => {
                    let message = "a priority must be a non-negative number without leading zeros";
                    return Err(Diagnostic::invalid(codes::SYNTAX, message).at(span).into());
                }
            };
        }
        Ok(dim)
    }

    /// Parses `{"x", "y"}` of a manual computation. The mesh is the first of `meshes` that has these axes, or else any mesh of the module
    /// that has them. If neither operands nor results have shardings, unknown names are kept as text.
    pub(super) fn manual_axes(&mut self, meshes: &[MeshId]) -> Res<Val> {
        let at = self.peek_pos();
        self.skip_brackets()?;
        let all: Vec<MeshId> = self.module.meshes.keys().collect();
        let mut first_failure = None;
        for &mesh in meshes.iter().chain(&all) {
            match self.elsewhere(at, |p| p.axes(mesh)) {
                Ok(axes) => return Ok(Val::ManualAxes(axes, Some(mesh))),
                Err(failure) => {
                    first_failure.get_or_insert(failure);
                }
            }
        }
        match first_failure {
            Some(failure) if !meshes.is_empty() => Err(failure),
            _ => {
                let mut names = Vec::new();
                self.elsewhere(at, |p| {
                    p.expect("{")?;
                    p.list("}", |p| {
                        names.push(p.text_string()?.into_owned());
                        Ok(())
                    })
                })?;
                if names.is_empty() {
                    return Ok(Val::ManualAxes(AxisList::new(), None));
                }
                let mut text = String::from("#sdy<manual_axes{");
                push_list(&mut text, &names, |out, name| push_string(out, name));
                text.push_str("}>");
                Ok(Val::Raw(text.into()))
            }
        }
    }

    /// Parses `[<...>, <...>]`.
    pub(super) fn shardings(&mut self) -> Res<Vec<ShardingId>> {
        self.expect("[")?;
        let mut list = Vec::new();
        self.list("]", |p| {
            list.push(p.sharding()?);
            Ok(())
        })?;
        Ok(list)
    }
}
