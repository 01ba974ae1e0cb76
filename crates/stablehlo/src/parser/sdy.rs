//! Meshes, axes and shardings of the `sdy` dialect.

use shardc_ir::{
    AxisList, AxisMove, AxisRef, Diagnostic, DimSharding, Mesh, MeshId, ReductionKind, ShardingId, Span,
    SubAxis, TensorSharding,
};
use smallvec::SmallVec;

use super::Parser;
use super::attrs::NamedList;
use super::canonical::tidy;
use crate::codes;
use crate::lexer::Res;
use crate::syntax::Val;
use crate::syntax::values::{push_int, push_ints, push_list, push_string, push_symbol};

impl<'a> Parser<'a> {
    /// `<["x"=2, "y"=4], device_ids=[...]>`.
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
                let message = format!("the size {size} of the axis \"{name}\" must be at least 1");
                return Err(Diagnostic::invalid(codes::UNKNOWN_MESH, message).at(span).into());
            }
            if mesh.axes.insert(name.as_ref().into(), size).is_some() {
                let message = format!("this mesh has two axes called \"{name}\"");
                return Err(Diagnostic::invalid(codes::REDEFINITION, message).at(span).into());
            }
            Ok(())
        })?;
        if self.eat(",") {
            self.expect_word("device_ids")?;
            self.expect("=")?;
            let ids = self.int_list()?;
            // MLIR takes device ids in order for none.
            let devices = mesh.axes.values().try_fold(1i64, |n, &size| n.checked_mul(size));
            let in_order = devices == Some(ids.len() as i64) && ids.iter().copied().eq(0..ids.len() as i64);
            mesh.device_ids = (mesh.axes.is_empty() || !in_order).then(|| ids.to_vec());
        }
        self.expect(">")?;
        Ok(mesh)
    }

    /// `sdy.mesh @name = <...> {...}`; the keyword was read.
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

    /// Adds a mesh, or completes one that was read ahead because it was used before it was defined.
    pub(super) fn add_mesh(&mut self, name: &str, mesh: Mesh, span: Span) -> Res<()> {
        match self.module.mesh_names.get(name) {
            None => {
                self.module.add_mesh(name, mesh);
                Ok(())
            }
            Some(&id) if self.module.meshes[id] == mesh => Ok(()),
            Some(_) => {
                Err(Diagnostic::invalid(codes::REDEFINITION, format!("the mesh @{name} is defined twice"))
                    .at(span)
                    .into())
            }
        }
    }

    /// A mesh that a sharding names, wherever in the text it is defined.
    fn find_mesh(&mut self, name: &str, span: Span) -> Res<MeshId> {
        if let Some(&id) = self.module.mesh_names.get(name) {
            return Ok(id);
        }
        let mut from = self.pos;
        while let Some(found) = self.cursor.text.get(from..).and_then(|rest| rest.find("sdy.mesh @")) {
            let at = from + found + "sdy.mesh".len();
            let here = self.elsewhere(at, |p| Ok(p.symbol()?.as_ref() == name)).unwrap_or(false);
            if here {
                self.elsewhere(at, Self::mesh_op)?;
                if let Some(&id) = self.module.mesh_names.get(name) {
                    return Ok(id);
                }
            }
            from = at;
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

    fn mesh_ref(&mut self) -> Res<MeshId> {
        let start = self.peek_pos();
        if self.eat_word("mesh") {
            let mesh = self.mesh_body()?;
            return Ok(self.unnamed_mesh(mesh));
        }
        let name = self.symbol()?;
        self.find_mesh(&name, Span::new(start, self.pos))
    }

    /// A mesh that is written where it is used.
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

    /// `"x"` or `"x":(1)2`.
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
            let mesh = self.module.mesh_name(mesh);
            return Err(Diagnostic::invalid(
                codes::UNKNOWN_MESH,
                format!("the mesh @{mesh} has no axis \"{name}\""),
            )
            .at(span)
            .hint(format!("its axes are {}", known.join(", ")))
            .into());
        };
        if let Some(SubAxis { pre, size: part }) = sub
            && size % (i64::from(pre) * i64::from(part)) != 0
        {
            let message = format!("({pre}){part} is no part of the axis \"{name}\" of size {size}");
            return Err(Diagnostic::invalid(codes::UNKNOWN_MESH, message).at(span).into());
        }
        Ok(AxisRef { axis: index as u16, sub })
    }

    /// `{"x", "y"}`.
    pub(super) fn axes(&mut self, mesh: MeshId) -> Res<AxisList> {
        self.expect("{")?;
        let mut axes = AxisList::new();
        self.list("}", |p| {
            axes.push(p.axis(mesh)?);
            Ok(())
        })?;
        Ok(axes)
    }

    /// `[{"x"}, {}]`.
    pub(super) fn axes_per_dim(&mut self, mesh: MeshId) -> Res<Vec<AxisList>> {
        self.expect("[")?;
        let mut dims = Vec::new();
        self.list("]", |p| {
            dims.push(p.axes(mesh)?);
            Ok(())
        })?;
        Ok(dims)
    }

    /// `[{"x"}: 0->2, {"y"}: 1->3]`.
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

    /// `<@mesh, [{"x", ?}p1, {}], replicated={"y"}, unreduced={"z"}>`.
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
                sharding.reduction = if self.eat_word("max") {
                    ReductionKind::Max
                } else if self.eat_word("min") {
                    ReductionKind::Min
                } else {
                    self.eat_word("sum");
                    ReductionKind::Add
                };
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
                    let message = "a priority is a number from 0 on, without zeros before it";
                    return Err(Diagnostic::invalid(codes::SYNTAX, message).at(span).into());
                }
            };
        }
        Ok(dim)
    }

    /// `{"x", "y"}` of a manual computation, on the first of `meshes` that has these axes, else on any mesh. Where
    /// neither an operand nor a result has a sharding, the names need not be those of axes; they stay text.
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

    /// `#stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">]>` as groups, and
    /// its canonical text. There are no groups where the name is a function's, which MLIR takes too, so that nobody
    /// knows the sizes of the axes.
    pub(super) fn mesh_axes_groups(&mut self) -> Res<(Vec<Vec<i64>>, String)> {
        self.expect("#stablehlo.replica_group_mesh_axes<")?;
        let mut mesh = None;
        let mut axes = AxisList::new();
        let mut text = String::from("#stablehlo.replica_group_mesh_axes<mesh = ");
        self.members(">", |p, name| {
            match (name, mesh) {
                ("mesh", None) => mesh = Some(p.stablehlo_mesh(&mut text)?),
                ("axes", Some(mesh)) => {
                    let start = p.peek_pos();
                    p.expect("[")?;
                    p.list("]", |p| match mesh {
                        Some(mesh) => {
                            axes.push(p.stablehlo_axis(mesh)?);
                            Ok(())
                        }
                        None => p.skip_attr(),
                    })?;
                    text.push_str(", axes = ");
                    text.push_str(&tidy(p.slice(start, p.pos)));
                }
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        text.push('>');
        match mesh {
            Some(Some(mesh)) => Ok((self.module.meshes[mesh].replica_groups(&axes), text)),
            Some(None) => Ok((Vec::new(), text)),
            None => Err(self.expected("`mesh = @name` before this")),
        }
    }

    /// `@mesh` or `#stablehlo.mesh<axes = [#stablehlo.mesh_axis<name = "x", size = 4>]>`.
    fn stablehlo_mesh(&mut self, text: &mut String) -> Res<Option<MeshId>> {
        let start = self.peek_pos();
        if !self.eat("#stablehlo.mesh<") {
            let name = self.symbol()?;
            let found = self.find_mesh(&name, Span::new(start, self.pos));
            let is_func = found.is_err()
                && [format!("@{name}("), format!("sym_name = \"{name}\"")]
                    .iter()
                    .any(|def| self.cursor.text.contains(def));
            push_symbol(text, &name);
            return if is_func { Ok(None) } else { found.map(Some) };
        }
        let mut mesh = Mesh::default();
        self.members(">", |p, name| {
            match name {
                "axes" => {
                    p.expect("[")?;
                    p.list("]", |p| p.stablehlo_mesh_axis(&mut mesh))?;
                }
                "device_ids" => mesh.device_ids = Some(p.matrix()?.into_iter().flatten().collect()),
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        let size = mesh.axes.values().try_fold(1i64, |acc, &size| acc.checked_mul(size));
        let fits = |count: i64| mesh.device_ids.as_ref().is_none_or(|ids| ids.len() as i64 == count);
        if !size.is_some_and(|size| size <= i64::from(u32::MAX) && fits(size)) {
            let message = "the sizes of this mesh do not multiply to its number of devices";
            return Err(Diagnostic::invalid(codes::UNKNOWN_MESH, message).at(self.span_from(start)).into());
        }
        text.push_str("#stablehlo.mesh<axes=[");
        push_list(text, &mesh.axes, |text, (axis, size)| {
            text.push_str("<name = ");
            push_string(text, axis);
            push_int(text, format_args!(", size = {size}>"));
        });
        text.push(']');
        if let Some(ids) = &mesh.device_ids {
            text.push_str(", device_ids=dense<");
            push_ints(text, ids);
            push_int(text, format_args!("> : tensor<{}xi64>", ids.len()));
        }
        text.push('>');
        Ok(Some(self.unnamed_mesh(mesh)))
    }

    /// `#stablehlo.mesh_axis<name = "x", size = 4>`.
    fn stablehlo_mesh_axis(&mut self, mesh: &mut Mesh) -> Res<()> {
        let start = self.peek_pos();
        self.eat("#stablehlo.mesh_axis");
        self.expect("<")?;
        let (mut axis, mut size) = (None, 0);
        self.members(">", |p, name| {
            match name {
                "name" => axis = Some(p.text_string()?),
                "size" => size = p.int()?,
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        match axis {
            Some(axis) if size > 0 && !mesh.axes.contains_key(axis.as_ref()) => {
                mesh.axes.insert(axis.as_ref().into(), size);
                Ok(())
            }
            _ => {
                let message = "an axis of a mesh needs a name of its own and a positive size";
                Err(Diagnostic::invalid(codes::UNKNOWN_MESH, message).at(self.span_from(start)).into())
            }
        }
    }

    /// `#stablehlo.axis_ref<name = "x", sub_axis_info = (1)2>`.
    fn stablehlo_axis(&mut self, mesh: MeshId) -> Res<AxisRef> {
        self.expect("#stablehlo.axis_ref<")?;
        let mut axis = None;
        self.members(">", |p, name| {
            match (name, &mut axis) {
                ("name", axis @ None) => *axis = Some(p.axis(mesh)?),
                ("sub_axis_info", Some(axis)) => {
                    let span = p.token_span();
                    p.eat("#stablehlo.sub_axis_info<");
                    p.expect("(")?;
                    let pre = p.int()?;
                    p.expect(")")?;
                    let size = p.int()?;
                    p.eat(">");
                    let sub = u32::try_from(pre).ok().zip(u32::try_from(size).ok());
                    let full = p.module.meshes[mesh].full_size(*axis);
                    axis.sub = match sub {
                        Some((pre @ 1.., size @ 1..)) if full % (i64::from(pre) * i64::from(size)) == 0 => {
                            Some(SubAxis { pre, size })
                        }
                        _ => {
                            let message = format!("({pre}){size} is no part of an axis of size {full}");
                            return Err(Diagnostic::invalid(codes::UNKNOWN_MESH, message).at(span).into());
                        }
                    };
                }
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        axis.ok_or_else(|| self.expected("`name = \"...\"` before this"))
    }

    /// `[<...>, <...>]`.
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
