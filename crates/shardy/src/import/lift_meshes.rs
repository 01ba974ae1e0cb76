//! `sdy-lift-inlined-meshes`: replaces inlined meshes by named meshes.

use rustc_hash::FxHashMap;
use shardc_ir::discardable::SHARDING;
use shardc_ir::{
    Attr, AttrDict, CollectiveSpec, Mesh, MeshId, MeshPlace, Module, OpId, OpKind, TensorSharding,
};
use shardc_passes::driver::passes::PassResult;
use shardc_passes::internal::map;
use shardc_passes::internal::symbols::FreshNames;
use shardc_passes::internal::{TextCursor as Cursor, TextError};

/// The attribute of a mesh definition that contains the mesh in StableHLO's form.
const STABLEHLO_MESH: &str = "stablehlo.mesh";

/// Gives each mesh one name: inlined meshes get definitions, and the first of equal definitions is kept. Each definition also gets the mesh
/// in StableHLO's form.
pub(super) fn run(module: &mut Module) -> PassResult {
    let mut lifter = Lifter::new(module);
    map::map_module(module, &mut |module, sharding| {
        let mesh = lifter.named(module, sharding.mesh);
        TensorSharding { mesh, ..sharding.clone() }
    });
    lifter.texts(module);
    lifter.groups(module);
    for &id in module.mesh_names.values() {
        let mesh = &mut module.meshes[id];
        if mesh.attrs.get(STABLEHLO_MESH).is_none() {
            let words = stablehlo_words(mesh);
            mesh.attrs.set(STABLEHLO_MESH, words);
        }
    }
    Ok(Vec::new())
}

/// Meshes with equal keys are merged.
type Key = (Vec<(Box<str>, i64)>, Option<Vec<i64>>);

fn key(mesh: &Mesh) -> Key {
    (mesh.axes.iter().map(|(name, &size)| (name.clone(), size)).collect(), mesh.device_ids.clone())
}

struct Lifter {
    /// The named meshes, keyed by axes and device IDs.
    known: FxHashMap<Key, MeshId>,
    /// The named meshes that replace inline meshes in StableHLO's syntax, keyed by the text of the inline mesh.
    foreign: FxHashMap<Box<str>, MeshId>,
    /// The meshes that replace equal mesh definitions, keyed by the name of the removed definition.
    dropped: FxHashMap<Box<str>, MeshId>,
    names: FreshNames,
    /// The position in the module at which new mesh definitions are inserted: after the last existing one.
    place: MeshPlace,
}

impl Lifter {
    fn new(module: &mut Module) -> Self {
        let places = &module.mesh_places;
        module.mesh_names.sort_by_cached_key(|_, &id| (places[id].funcs_above, places[id].others_above));
        let mut lifter = Lifter {
            known: FxHashMap::default(),
            foreign: FxHashMap::default(),
            dropped: FxHashMap::default(),
            names: FreshNames::default(),
            place: MeshPlace::default(),
        };
        let (meshes, places) = (&module.meshes, &module.mesh_places);
        module.mesh_names.retain(|name, &mut id| {
            let first = *lifter.known.entry(key(&meshes[id])).or_insert(id);
            if first == id {
                lifter.place = MeshPlace { loc: lifter.place.loc, ..places[id] };
            } else {
                lifter.dropped.insert(name.clone(), first);
            }
            first == id
        });
        lifter
    }

    /// Returns the named mesh that is equal to `mesh`. If there is none, names `mesh` itself and returns it.
    fn named(&mut self, module: &mut Module, mesh: MeshId) -> MeshId {
        let key = key(&module.meshes[mesh]);
        if let Some(&known) = self.known.get(&key) {
            return known;
        }
        self.known.insert(key, mesh);
        self.define(module, mesh);
        mesh
    }

    fn define(&mut self, module: &mut Module, mesh: MeshId) {
        let data = &module.meshes[mesh];
        let wanted = match data.device_ids.as_deref() {
            Some([device]) if data.axes.is_empty() => format!("maximal_mesh_{device}"),
            None if data.axes.is_empty() => "empty_mesh".to_owned(),
            _ => "mesh".to_owned(),
        };
        let name = self.names.make(module, &wanted);
        module.mesh_names.insert(name.into(), mesh);
        module.mesh_places[mesh] = self.place;
    }

    /// Lifts meshes in shardings that are text: of operations without results, and of functions without bodies.
    fn texts(&mut self, module: &mut Module) {
        for op in walk_all(module) {
            if module.ops[op].results.is_empty() {
                let mut attrs = std::mem::take(&mut module.ops[op].attrs);
                self.text(module, &mut attrs);
                module.ops[op].attrs = attrs;
            }
        }
        for func in module.funcs.keys().collect::<Vec<_>>() {
            let mut lists = std::mem::take(&mut module.funcs[func].arg_attrs);
            lists.iter_mut().for_each(|attrs| self.text(module, attrs));
            module.funcs[func].arg_attrs = lists;
        }
    }

    fn text(&mut self, module: &mut Module, attrs: &mut AttrDict) {
        let Some(Attr::Raw(text)) = attrs.get(SHARDING) else { return };
        // The mesh is the first part: `#sdy.sharding_per_value<[<@mesh, []>]>`, `#sdy.sharding<mesh<[]>, []>`.
        let Some((start, rest)) = text.char_indices().find_map(|(at, c)| match c {
            '@' => Some((at, &text[at + 1..])),
            'm' => {
                text[at..].strip_prefix("mesh").filter(|rest| rest.starts_with('<')).map(|rest| (at, rest))
            }
            _ => None,
        }) else {
            return;
        };
        let (mesh, rest) = if rest.starts_with('<') {
            let (Ok(mesh), Some(end)) = (sdy_mesh(rest), close(rest)) else { return };
            (self.find(module, mesh), &rest[end..])
        } else {
            let end = rest.find(',').unwrap_or(rest.len());
            let Some(&mesh) = self.dropped.get(&rest[..end]) else { return };
            (mesh, &rest[end..])
        };
        let new = format!("{}@{}{rest}", &text[..start], module.mesh_name(mesh));
        attrs.set(SHARDING, Attr::Raw(new.into()));
    }

    fn find(&mut self, module: &mut Module, mesh: Mesh) -> MeshId {
        if let Some(&known) = self.known.get(&key(&mesh)) {
            return known;
        }
        let id = module.meshes.push(mesh);
        self.named(module, id)
    }

    /// Lifts meshes in replica groups that are written as axes.
    fn groups(&mut self, module: &mut Module) {
        let ops = walk_all(module);
        // As in Shardy, collectives are processed kind by kind. The order determines the numbers in the names of new meshes.
        for kind in 0..5 {
            for &op in &ops {
                let Some(text) =
                    spec_of(&mut module.ops[op].kind, kind).and_then(|spec| spec.mesh_axes.clone())
                else {
                    continue;
                };
                if let Some(new) = self.group(module, &text)
                    && let Some(spec) = spec_of(&mut module.ops[op].kind, kind)
                {
                    spec.mesh_axes = Some(new);
                }
            }
        }
    }

    fn group(&mut self, module: &mut Module, text: &str) -> Option<Box<str>> {
        const MESH: &str = "mesh = ";
        let start = text.find(MESH)? + MESH.len();
        let rest = &text[start..];
        let (mesh, rest) = if let Some(symbol) = rest.strip_prefix('@') {
            let end = symbol.find([',', '>']).unwrap_or(symbol.len());
            (*self.dropped.get(&symbol[..end])?, &symbol[end..])
        } else {
            let (written, rest) = rest.split_at(close(rest)?);
            let mesh = if let Some(written) = written.strip_prefix("#sdy.mesh") {
                let mesh = sdy_mesh(written).ok()?;
                self.find(module, mesh)
            } else if let Some(&known) = self.foreign.get(written) {
                known
            } else {
                let id = module.meshes.push(stablehlo_mesh(written).ok()?);
                self.define(module, id);
                self.foreign.insert(written.into(), id);
                id
            };
            (mesh, rest)
        };
        Some(format!("{}@{}{rest}", &text[..start], module.mesh_name(mesh)).into())
    }
}

fn walk_all(module: &Module) -> Vec<OpId> {
    module.bodies().flat_map(|body| module.walk_inner_first(body)).collect()
}

/// Returns the replica groups of an operation if it is a collective of kind `kind`; `None` for other operations.
fn spec_of(op: &mut OpKind, kind: usize) -> Option<&mut CollectiveSpec> {
    let (number, spec) = match op {
        OpKind::AllGather { spec, .. } => (0, spec),
        OpKind::AllReduce(spec) => (1, spec),
        OpKind::ReduceScatter { spec, .. } => (2, spec),
        OpKind::AllToAll { spec, .. } => (3, spec),
        OpKind::CollectiveBroadcast(spec) => (4, spec),
        _ => return None,
    };
    (number == kind).then_some(spec)
}

/// The position after the `>` that closes the first `<` of a text.
fn close(text: &str) -> Option<usize> {
    let (mut depth, mut quoted) = (0usize, false);
    for (at, c) in text.char_indices() {
        match c {
            '"' => quoted = !quoted,
            '<' if !quoted => depth += 1,
            '>' if !quoted => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
    }
    None
}

/// Parses `<["x"=2, "y"=4], device_ids=[1, 0, ...]>`.
fn sdy_mesh(text: &str) -> Result<Mesh, TextError> {
    let mut c = Cursor::new(text);
    let mut mesh = Mesh::default();
    c.expect("<")?;
    c.expect("[")?;
    c.list("]", |c| {
        let name = c.string("the name of an axis")?;
        c.expect("=")?;
        mesh.axes.insert(name.into(), c.int("the size of an axis")?);
        Ok(())
    })?;
    if c.eat(",") {
        c.expect("device_ids")?;
        c.expect("=")?;
        c.expect("[")?;
        mesh.device_ids = Some(c.ints("a device")?);
    }
    Ok(mesh)
}

/// Parses `#stablehlo.mesh<axes = [#stablehlo.mesh_axis<name = "x", size = 2>]>`, without device ids.
fn stablehlo_mesh(text: &str) -> Result<Mesh, TextError> {
    let mut c = Cursor::new(text);
    let mut mesh = Mesh::default();
    for token in ["#stablehlo.mesh", "<", "axes", "=", "["] {
        c.expect(token)?;
    }
    c.list("]", |c| {
        c.eat("#stablehlo.mesh_axis");
        for token in ["<", "name", "="] {
            c.expect(token)?;
        }
        let name = c.string("the name of an axis")?;
        for token in [",", "size", "="] {
            c.expect(token)?;
        }
        mesh.axes.insert(name.into(), c.int("the size of an axis")?);
        c.expect(">")
    })?;
    Ok(mesh)
}

/// `{axes = [{name = "x", size = 2 : i64}], device_ids = dense<[1, 0]> : tensor<2xi64>}`.
fn stablehlo_words(mesh: &Mesh) -> Attr {
    let entry = |name: &str, attr| (Box::from(name), attr);
    let axes = mesh.axes.iter().map(|(name, &size)| {
        let parts = [entry("name", Attr::Str(name.clone())), entry("size", Attr::Int(size, "i64".into()))];
        Attr::Dict(parts.into_iter().collect())
    });
    let mut parts = vec![entry("axes", Attr::Array(axes.collect()))];
    if let Some(ids) = mesh.device_ids.as_deref().filter(|ids| !ids.is_empty()) {
        let all = ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let splat = ids.iter().all(|id| *id == ids[0]);
        let values = if splat { ids[0].to_string() } else { format!("[{all}]") };
        let text = format!("dense<{values}> : tensor<{}xi64>", ids.len());
        parts.push(entry("device_ids", Attr::Raw(text.into())));
    }
    Attr::Dict(parts.into_iter().collect())
}
