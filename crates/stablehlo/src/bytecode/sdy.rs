//! The encoding of the `sdy` dialect: meshes, shardings and rules. An attribute inside another one is written without
//! its name: `"x"` in `#sdy<axis_ref_list{"x"}>`.

use std::fmt::Write as _;

use super::attr::{AttrRef, BAttr, BType, Piece};
use super::dialect::{DialectCursor, DialectReader};
use super::stablehlo::separated;
use crate::lexer::Res;
use crate::literals::tokens::{push_ints, push_list};

/// The entry of this dialect in the dialect table.
pub(super) const DIALECT: DialectReader = DialectReader { name: "sdy", attr: read_attr, ty: read_type };

fn read_type<'b>(c: &mut DialectCursor<'_, 'b>) -> Res<BType<'b>> {
    let code = c.varint()?;
    c.unknown("an sdy type (there is none)", code)
}

fn text<'b>(text: &'static str) -> Piece<'b> {
    Piece::Text(text.into())
}

/// Returns an attribute whose body has its own brackets: `#sdy.name<...>`.
fn bracketed<'b>(name: &'static str, body: Vec<Piece<'b>>) -> BAttr<'b> {
    BAttr::Nestable { head: name, body, tail: "" }
}

/// Returns an attribute `#sdy<name...>`, of which only the body is written inside another attribute.
fn wrapped<'b>(head: &'static str, body: Vec<Piece<'b>>) -> BAttr<'b> {
    BAttr::Nestable { head, body, tail: ">" }
}

fn nested<'b>(out: &mut Vec<Piece<'b>>, items: Vec<AttrRef>) {
    separated(out, items.into_iter().map(Piece::Nested));
}

/// Reads axes, as text `{"x", "y"}`.
fn axes<'b>(c: &mut DialectCursor<'_, 'b>, out: &mut Vec<Piece<'b>>) -> Res<()> {
    out.push(text("{"));
    nested(out, c.attrs()?);
    out.push(text("}"));
    Ok(())
}

/// Reads axes, as text `, name={"x"}`, or nothing if there are none.
fn named_axes<'b>(c: &mut DialectCursor<'_, 'b>, out: &mut Vec<Piece<'b>>, name: &'static str) -> Res<()> {
    let items = c.attrs()?;
    if !items.is_empty() {
        out.push(text(name));
        nested(out, items);
        out.push(text("}"));
    }
    Ok(())
}

/// Reads `[a, b]`.
fn list<'b>(c: &mut DialectCursor<'_, 'b>) -> Res<Vec<Piece<'b>>> {
    let mut body = vec![text("[")];
    nested(&mut body, c.attrs()?);
    body.push(text("]"));
    Ok(body)
}

fn read_attr<'b>(c: &mut DialectCursor<'_, 'b>) -> Res<BAttr<'b>> {
    Ok(match c.varint()? {
        0 => {
            let mut body = Vec::new();
            axes(c, &mut body)?;
            wrapped("#sdy<manual_axes", body)
        }
        1 => {
            let name = Piece::Quoted(c.string()?);
            wrapped("#sdy<mesh_axis", vec![name, Piece::Text(format!("={}", c.svarint()?).into())])
        }
        2 => {
            let mut body = vec![text("<")];
            body.extend(list(c)?);
            let ids = c.svarints()?;
            if !ids.is_empty() {
                let mut tail = String::from(", device_ids=");
                push_ints(&mut tail, ids);
                body.push(Piece::Text(tail.into()));
            }
            body.push(text(">"));
            bracketed("#sdy.mesh", body)
        }
        3 => {
            let before = c.svarint()?;
            wrapped("#sdy<sub_axis_info", vec![Piece::Text(format!("({before}){}", c.svarint()?).into())])
        }
        4 => {
            let mut body = vec![Piece::Quoted(c.string()?)];
            if let Some(part) = c.opt_attr()? {
                body.push(text(":"));
                body.push(Piece::Nested(part));
            }
            wrapped("#sdy<axis_ref", body)
        }
        5 => {
            let mut body = vec![text("{")];
            let axes = c.attrs()?;
            let replicated = axes.is_empty();
            nested(&mut body, axes);
            body.push(text(match (c.bool()?, replicated) {
                (true, _) => "}",
                (false, true) => "?}",
                (false, false) => ", ?}",
            }));
            let (priority, given) = c.cursor.flagged()?;
            if given {
                body.push(Piece::Text(format!("p{priority}").into()));
            }
            wrapped("#sdy<dimension_sharding", body)
        }
        code @ (6 | 15 | 17) => sharding(c, code)?,
        7 | 16 => {
            let mut body = vec![text("<")];
            body.extend(list(c)?);
            body.push(text(">"));
            bracketed("#sdy.sharding_per_value", body)
        }
        8 => {
            let mut name = String::new();
            for factor in c.svarints()? {
                push_factor(&mut name, factor);
            }
            wrapped("#sdy<dim_mapping", vec![Piece::Text(name.into())])
        }
        9 => wrapped("#sdy<tensor_mapping", list(c)?),
        10 => rule(c)?,
        11 => {
            let mut body = Vec::new();
            axes(c, &mut body)?;
            wrapped("#sdy<axis_ref_list", body)
        }
        12 => wrapped("#sdy<list_of_axis_ref_lists", list(c)?),
        13 => {
            let mut body = Vec::new();
            axes(c, &mut body)?;
            let from = c.svarint()?;
            body.push(Piece::Text(format!(": {from}->{}", c.svarint()?).into()));
            wrapped("#sdy<all_to_all_param", body)
        }
        14 => wrapped("#sdy<all_to_all_param_list", list(c)?),
        code => return c.unknown("an sdy attribute (0 to 17)", code),
    })
}

/// Reads a sharding, as text `<@mesh, [{"x"}, {}], replicated={"y"}, unreduced={"z"}>`.
fn sharding<'b>(c: &mut DialectCursor<'_, 'b>, code: u64) -> Res<BAttr<'b>> {
    // Unlike other nested attributes, an inline mesh is written with its name, `mesh<...>`. A symbol has only one form.
    let mut body = vec![text("<"), Piece::Mesh(c.attr()?), text(", ")];
    body.extend(list(c)?);
    named_axes(c, &mut body, ", replicated={")?;
    if code != 6 {
        let axes = c.attrs()?;
        let reduction = if code == 17 {
            let place = c.cursor;
            match c.svarint()? {
                0 => ", unreduced={",
                1 => ", unreduced=max{",
                2 => ", unreduced=min{",
                n => return Err(place.malformed(format!("expected a reduction from 0 to 2, found {n}"))),
            }
        } else {
            ", unreduced={"
        };
        if !axes.is_empty() {
            body.push(text(reduction));
            nested(&mut body, axes);
            body.push(text("}"));
        }
    }
    body.push(text(">"));
    Ok(bracketed("#sdy.sharding", body))
}

/// Reads a sharding rule, as text `<([i, k], [k, j])->([i, j]) {i=8, j=16, k=8} reduction={k}>`.
fn rule<'b>(c: &mut DialectCursor<'_, 'b>) -> Res<BAttr<'b>> {
    let sizes = c.svarints()?;
    let mut body = vec![text("<(")];
    nested(&mut body, c.attrs()?);
    body.push(text(")->("));
    nested(&mut body, c.attrs()?);
    let mut tail = String::from(")");
    if !sizes.is_empty() {
        tail.push_str(" {");
        push_list(&mut tail, (0..).zip(sizes), |out, (factor, size)| {
            push_factor(out, factor);
            let _ = write!(out, "={size}");
        });
        tail.push('}');
    }
    for name in ["reduction", "need_replication", "permutation", "blocked_propagation"] {
        let factors = c.svarints()?;
        if !factors.is_empty() {
            let _ = write!(tail, " {name}={{");
            push_list(&mut tail, factors, push_factor);
            tail.push('}');
        }
    }
    if c.bool()? {
        tail.push_str(", custom");
    }
    tail.push('>');
    body.push(Piece::Text(tail.into()));
    Ok(bracketed("#sdy.op_sharding_rule", body))
}

/// Appends the name of a factor: `i` to `z`, then `z_1` and so on.
fn push_factor(out: &mut String, factor: i64) {
    match u8::try_from(factor) {
        Ok(factor @ 0..=17) => out.push(char::from(b'i' + factor)),
        _ => {
            let _ = write!(out, "z_{}", factor.saturating_sub(17));
        }
    }
}
