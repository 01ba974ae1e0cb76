//! Replica groups that are given as axes of a mesh:
//! `#stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">]>`.

use shardc_ir::{AxisList, AxisRef, MAX_DEVICES, Mesh, ReplicaGroups, SubAxis};

use super::Parser;
use super::canonical::tidy;
use crate::lexer::Res;
use crate::literals::tokens::{push_int, push_ints, push_list, push_string, push_symbol};

/// The name of an axis and its sub-axis, not yet resolved.
type NamedAxis = (Box<str>, Option<(i64, i64)>);

impl<'a> Parser<'a> {
    /// Parses the attribute. Returns the groups and its text as MLIR prints it. The groups are empty if the mesh or an
    /// axis is not known; the verifier reports this.
    pub(super) fn mesh_axes_groups(&mut self) -> Res<(ReplicaGroups, String)> {
        self.expect("#stablehlo.replica_group_mesh_axes<")?;
        let mut mesh = None;
        let mut axes: Option<Vec<NamedAxis>> = None;
        let mut text = String::from("#stablehlo.replica_group_mesh_axes<");
        self.members(">", |p, name| {
            text.push_str(if text.ends_with('<') { "" } else { ", " });
            text.push_str(name);
            text.push_str(" = ");
            match name {
                "mesh" => mesh = p.group_mesh(&mut text)?,
                "axes" => {
                    let start = p.peek_pos();
                    axes = p.group_axes()?;
                    text.push_str(&tidy(p.slice(start, p.pos)));
                }
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        text.push('>');
        let (Some(mesh), Some(axes)) = (mesh, axes) else { return Ok((ReplicaGroups::default(), text)) };
        let axes: Option<AxisList> = axes.iter().map(|axis| resolve(&mesh, axis)).collect();
        let devices = mesh.axes.values().try_fold(1i64, |n, &size| n.checked_mul(size));
        // The verifier rejects a mesh with the wrong number of device ids.
        let names_all = mesh.device_ids.as_ref().is_none_or(|ids| Some(ids.len() as i64) == devices);
        let groups = match axes {
            Some(axes) if names_all && devices.is_some_and(|n| n <= MAX_DEVICES) => {
                mesh.replica_groups(&axes)
            }
            _ => ReplicaGroups::default(),
        };
        Ok((groups, text))
    }

    /// Parses `@mesh`, or an inline mesh of either dialect.
    fn group_mesh(&mut self, text: &mut String) -> Res<Option<Mesh>> {
        let start = self.peek_pos();
        if self.eat("#sdy.mesh") {
            let mesh = self.mesh_body()?;
            text.push_str(self.slice(start, self.pos));
            return Ok(Some(mesh));
        }
        if !self.eat("#stablehlo.mesh") {
            let name = self.symbol()?;
            push_symbol(text, &name);
            return Ok(self.known_mesh(&name)?.map(|id| self.module.meshes[id].clone()));
        }
        let mut mesh = Mesh::default();
        self.expect("<")?;
        self.members(">", |p, name| {
            match name {
                "axes" => {
                    p.expect("[")?;
                    p.list("]", |p| {
                        p.eat("#stablehlo.mesh_axis");
                        p.expect("<")?;
                        let (mut name, mut size) = (None, None);
                        p.members(">", |p, member| {
                            match member {
                                "name" => name = Some(p.text_string()?.into()),
                                "size" => size = Some(p.int()?),
                                _ => return Ok(false),
                            }
                            Ok(true)
                        })?;
                        match (name, size) {
                            (Some(name), Some(size @ 1..)) => drop(mesh.axes.insert(name, size)),
                            _ => return Err(p.expected("`name` and a positive `size` of the mesh axis")),
                        }
                        Ok(())
                    })?;
                }
                "device_ids" => {
                    let ids: Vec<i64> = p.matrix()?.into_iter().flatten().collect();
                    mesh.device_ids = Some(ids);
                }
                _ => return Ok(false),
            }
            Ok(true)
        })?;
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
        let devices = mesh.axes.values().try_fold(1i64, |n, &size| n.checked_mul(size));
        let whole = mesh.device_ids.as_ref().is_none_or(|ids| devices == Some(ids.len() as i64));
        Ok(whole.then_some(mesh))
    }

    /// Parses the axes. Returns `None` if they are not names.
    fn group_axes(&mut self) -> Res<Option<Vec<NamedAxis>>> {
        let mut axes = Some(Vec::new());
        self.expect("[")?;
        self.list("]", |p| {
            if !p.eat("#stablehlo.axis_ref<") {
                axes = None;
                return p.skip_attr();
            }
            let (mut name, mut part) = (None, None);
            p.members(">", |p, member| {
                match member {
                    "name" => name = Some(p.text_string()?.into()),
                    "sub_axis_info" => {
                        let long = p.eat("#stablehlo.sub_axis_info<");
                        p.expect("(")?;
                        let pre = p.int()?;
                        p.expect(")")?;
                        part = Some((pre, p.int()?));
                        if long {
                            p.expect(">")?;
                        }
                    }
                    _ => return Ok(false),
                }
                Ok(true)
            })?;
            match (name, &mut axes) {
                (Some(name), Some(axes)) => axes.push((name, part)),
                (Some(_), None) => {}
                (None, _) => return Err(p.expected("`name = \"...\"` of the axis")),
            }
            Ok(())
        })?;
        Ok(axes)
    }
}

/// Resolves an axis of a mesh.
fn resolve(mesh: &Mesh, (name, part): &NamedAxis) -> Option<AxisRef> {
    let (index, _, &full) = mesh.axes.get_full(name)?;
    let axis = u16::try_from(index).ok()?;
    let sub = match *part {
        None => None,
        Some((pre, size)) => {
            let fits = full % pre.checked_mul(size).filter(|&n| n > 0)? == 0;
            fits.then_some(())?;
            Some(SubAxis { pre: u32::try_from(pre).ok()?, size: u32::try_from(size).ok()? })
        }
    };
    Some(AxisRef { axis, sub })
}
