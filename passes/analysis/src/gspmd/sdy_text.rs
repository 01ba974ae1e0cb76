//! Parses Shardy's attributes that are text in frontend attributes (`xla.sdy.sharding = "#sdy.sharding<...>"`).

use shardc_ir::discardable::FRONTEND_ATTRIBUTES as FRONTEND;
use shardc_ir::{Attr, AttrDict, AxisList, AxisRef, Mesh, MeshId, Module, TensorSharding};

use super::parse::{axis_list, dim_sharding, mesh_axes, mesh_axis};
use super::text::{Cursor, TextError};
use super::to_axes::add_mesh;

/// The names of Shardy's frontend attributes.
pub(super) const SHARDING: &str = "xla.sdy.sharding";
pub(super) const MESHES: &str = "xla.sdy.meshes";
pub(super) const RULE: &str = "xla.sdy.sharding_rule";
pub(super) const IN_SHARDINGS: &str = "xla.sdy.in_shardings";
pub(super) const OUT_SHARDINGS: &str = "xla.sdy.out_shardings";
pub(super) const MANUAL_AXES: &str = "xla.sdy.manual_axes";
pub(super) const GROUP_ID: &str = "xla.sdy.sharding_group_id";
pub(super) const DIRECTION: &str = "xla.sdy.allowed_direction";
pub(super) const TUPLE_ARGS: &str = "xla.sdy.tuple_args_shardings";
pub(super) const TUPLE_RESULTS: &str = "xla.sdy.tuple_results_shardings";

/// Returns the text of the frontend attribute `name`.
pub(super) fn frontend<'a>(attrs: &'a AttrDict, name: &str) -> Option<&'a str> {
    match attrs.frontend()?.get(name) {
        Some(Attr::Str(text) | Attr::Raw(text)) => Some(text),
        _ => None,
    }
}

/// Whether the attributes contain a frontend attribute of Shardy.
pub(super) fn has_any(attrs: &AttrDict) -> bool {
    attrs.frontend().is_some_and(|dict| dict.iter().any(|(name, _)| name.starts_with("xla.sdy.")))
}

/// Removes Shardy's frontend attributes, and the dictionary if it is then empty.
pub(super) fn drop_all(attrs: &mut AttrDict) {
    let Some(dict) = attrs.frontend() else { return };
    let rest: AttrDict = dict
        .iter()
        .filter(|(name, _)| !name.starts_with("xla.sdy."))
        .map(|(name, attr)| (name.into(), attr.clone()))
        .collect();
    if rest.len() == dict.len() {
        return;
    }
    if rest.is_empty() {
        attrs.remove(FRONTEND);
    } else {
        attrs.set(FRONTEND, Attr::Dict(rest));
    }
}

/// Adds the meshes that shardings define inline. Returns whether the program has any Shardy mesh or sharding.
pub(super) fn add_meshes(module: &mut Module) -> bool {
    let mut found = frontend(&module.attrs, MESHES).is_some();
    let of_funcs = module.funcs.values().flat_map(|func| func.arg_attrs.iter().chain(&func.res_attrs));
    let ops: Vec<_> = module.bodies().flat_map(|body| module.walk(body)).collect();
    let of_ops = ops.iter().map(|&op| &module.ops[op].attrs);
    let mut texts: Vec<String> = Vec::new();
    for attrs in std::iter::once(&module.attrs).chain(of_funcs).chain(of_ops) {
        for name in [SHARDING, IN_SHARDINGS, OUT_SHARDINGS, TUPLE_ARGS, TUPLE_RESULTS] {
            let Some(text) = frontend(attrs, name) else { continue };
            found = true;
            if text.contains("mesh<") {
                texts.push(text.to_owned());
            }
        }
    }
    // The texts are collected first: parsing adds meshes to the module, so it cannot run while a loop borrows the module's attributes.
    for text in texts {
        // The result is not used: parsing adds the meshes, and an error is reported when the sharding is imported.
        let _ = per_value(module, &text);
    }
    found
}

/// Parses `{mesh = #sdy.mesh<["a"=8], device_ids=[...]>, ...}`, and adds the meshes.
pub(super) fn meshes(module: &mut Module, text: &str) -> Result<(), TextError> {
    let mut cursor = Cursor::new(text);
    let c = &mut cursor;
    c.expect("{")?;
    c.list("}", |c| {
        let quoted = c.peek("\"");
        let name = match quoted {
            true => Some(c.string("the name of a mesh")?),
            false => c.name(),
        };
        let Some(name) = name else { return Err(c.expected("the name of a mesh")) };
        c.expect("=")?;
        let quoted = c.eat("\"");
        c.expect("#sdy.mesh")?;
        let mesh = mesh(c)?;
        if quoted {
            c.expect("\"")?;
        }
        match module.mesh_names.get(name) {
            Some(&id) if module.meshes[id] != mesh => {
                return Err(c.error(format!("the module already has a different mesh @{name}")));
            }
            Some(_) => {}
            None => {
                module.add_mesh(name, mesh);
            }
        }
        Ok(())
    })?;
    cursor.expect_end()
}

/// Parses `<["a"=8], device_ids=[1, 0]>`, or `<"a"=8>` in the older syntax.
fn mesh(c: &mut Cursor<'_>) -> Result<Mesh, TextError> {
    c.expect("<")?;
    let axes = if c.peek("[") {
        mesh_axes(c)?
    } else {
        let mut axes = Vec::new();
        while !c.peek(">") {
            mesh_axis(c, &mut axes)?;
            if !c.eat(",") {
                break;
            }
        }
        axes
    };
    let mut mesh = Mesh::new(axes.iter().map(|(name, size): &(Box<str>, i64)| (&**name, *size)));
    if c.eat(",") {
        if !c.eat_word("device_ids") {
            return Err(c.expected("`device_ids=`"));
        }
        c.expect("=")?;
        c.expect("[")?;
        mesh.device_ids = Some(c.ints("a device")?);
        c.expect("]")?;
    }
    c.expect(">")?;
    Ok(mesh)
}

fn mesh_ref(module: &mut Module, c: &mut Cursor<'_>) -> Result<MeshId, TextError> {
    if c.eat_word("mesh") {
        let mesh = mesh(c)?;
        return Ok(add_mesh(module, mesh));
    }
    c.expect("@")?;
    let name = match c.peek("\"") {
        true => Some(c.string("the name of a mesh")?),
        false => c.name(),
    };
    let Some(name) = name else { return Err(c.expected("the name of a mesh")) };
    match module.mesh_names.get(name) {
        Some(&id) => Ok(id),
        None => Err(c.error(format!("there is no mesh @{name}"))),
    }
}

/// Parses `#sdy.sharding<@mesh, [{"a"}p1, {?}], replicated={"b"}, unreduced={"c"}>`.
pub(super) fn sharding(module: &mut Module, text: &str) -> Result<TensorSharding, TextError> {
    let mut cursor = Cursor::new(text);
    cursor.eat("#sdy.sharding");
    let sharding = one(module, &mut cursor)?;
    cursor.expect_end()?;
    Ok(sharding)
}

/// Parses `#sdy.sharding_per_value<[<...>, <...>]>`, or one `#sdy.sharding<...>`.
pub(super) fn per_value(module: &mut Module, text: &str) -> Result<Vec<TensorSharding>, TextError> {
    let mut cursor = Cursor::new(text);
    if !cursor.eat("#sdy.sharding_per_value") {
        return Ok(vec![sharding(module, text)?]);
    }
    cursor.expect("<")?;
    cursor.expect("[")?;
    let mut out = Vec::new();
    cursor.list("]", |c| {
        out.push(one(module, c)?);
        Ok(())
    })?;
    cursor.expect(">")?;
    cursor.expect_end()?;
    Ok(out)
}

fn one(module: &mut Module, c: &mut Cursor<'_>) -> Result<TensorSharding, TextError> {
    c.expect("<")?;
    let mesh = mesh_ref(module, c)?;
    let axes = axes_of(&module.meshes[mesh]);
    c.expect(",")?;
    c.expect("[")?;
    let mut dims = Vec::new();
    c.list("]", |c| {
        let mut dim = dim_sharding(c, &axes)?;
        if c.eat("p") {
            let priority = c.int("a priority")?;
            let too_large =
                |_| c.error(format!("priority {priority} is too large: the maximum is {}", u32::MAX));
            dim.priority = Some(u32::try_from(priority).map_err(too_large)?);
        }
        dims.push(dim);
        Ok(())
    })?;
    let mut sharding = TensorSharding::from_dims(mesh, dims);
    while c.eat(",") {
        if c.eat_word("replicated") {
            c.expect("=")?;
            sharding.replicated = axis_list(c, &axes)?;
        } else if c.eat_word("unreduced") {
            c.expect("=")?;
            if !c.peek("{") && !c.eat_word("sum") {
                return Err(TextError {
                    unsupported: true,
                    ..c.error("the only supported reduction of an unreduced value is sum")
                });
            }
            sharding.unreduced = axis_list(c, &axes)?;
        } else {
            return Err(c.expected("`replicated=` or `unreduced=`"));
        }
    }
    c.expect(">")?;
    Ok(sharding)
}

fn axes_of(mesh: &Mesh) -> Vec<(Box<str>, i64)> {
    mesh.axes.iter().map(|(name, &size)| (name.clone(), size)).collect()
}

/// Parses `#sdy<manual_axes{"a", "b"}>`.
pub(super) fn manual_axes(module: &Module, mesh: MeshId, text: &str) -> Result<AxisList, TextError> {
    let mut cursor = Cursor::new(text);
    let c = &mut cursor;
    // MLIR's pretty form is `#sdy<manual_axes{"a"}>`; both forms end with one `>`.
    let wrapped = c.eat("#sdy<manual_axes") || c.eat("#sdy.manual_axes<");
    let axes: Vec<AxisRef> = axis_list(c, &axes_of(&module.meshes[mesh]))?.to_vec();
    if wrapped {
        c.expect(">")?;
    }
    cursor.expect_end()?;
    Ok(AxisList::from_slice(&axes))
}

/// Parses an integer attribute: `21 : i64`.
pub(super) fn integer(text: &str) -> Result<i64, TextError> {
    let mut cursor = Cursor::new(text);
    let value = cursor.int("a number")?;
    if cursor.eat(":") {
        cursor.name();
    }
    cursor.expect_end()?;
    Ok(value)
}

/// Parses `unspecified_dims=[0,1]`, possibly within other text.
pub(super) fn unspecified_dims(text: &str) -> Result<Vec<i64>, TextError> {
    // `backend_config` is free text of the front end; unknown words are ignored.
    let Some((_, rest)) = text.split_once("unspecified_dims") else { return Ok(Vec::new()) };
    let mut cursor = Cursor::new(rest);
    cursor.expect("=")?;
    cursor.expect("[")?;
    let mut dims = Vec::new();
    cursor.list("]", |c| {
        dims.push(c.int("a dimension")?);
        Ok(())
    })?;
    Ok(dims)
}
