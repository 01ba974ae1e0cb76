//! Collects all `mhlo.sharding` texts of a program, and chooses the mesh onto which they are imported.

use indexmap::IndexMap;
use rustc_hash::FxHashSet;
use shardc_ir::{Attr, AttrDict, Diagnostic, MAX_DEVICES, Mesh, MeshId, Module, OpKind, ReplicaGroups, Span};

use super::hlo::{HloSharding, Leaf, LeafKind, Named, NamedValue, Tiling};
use super::infer::{TilingConflict, fit_mesh, infer};
use super::sdy_text;
use super::to_axes::{add_mesh, free_name};
use crate::annotations::remesh::Match;

/// The attribute that holds GSPMD's sharding.
pub(super) const SHARDING: &str = shardc_ir::discardable::GSPMD_SHARDING;
/// The module attribute with the shardings of all parameters of the entry function.
pub(super) const PARAMETERS: &str = "mhlo.spmd_parameters_shardings";
/// The module attribute with the sharding of the results of the entry function.
pub(super) const OUTPUT: &str = "mhlo.spmd_output_sharding";

/// A parsed sharding, and the position where its text first occurs in the program.
#[derive(Debug)]
pub(super) struct FoundText {
    pub(super) sharding: HloSharding,
    span: Span,
    place: String,
}

impl FoundText {
    /// Returns a sharding that was not parsed from the text of an attribute.
    pub(super) fn new(sharding: HloSharding) -> Self {
        FoundText { sharding, span: Span::NONE, place: "the module".to_owned() }
    }
}

/// Every sharding text of the program, with the parsed sharding.
pub(super) type Texts = IndexMap<Box<str>, FoundText>;

/// Returns the value of the string attribute `name`.
pub(super) fn string<'a>(attrs: &'a AttrDict, name: &str) -> Option<&'a str> {
    match attrs.get(name) {
        Some(Attr::Str(text)) => Some(text),
        _ => None,
    }
}

/// Whether a custom call with the target `target` carries a sharding.
pub(super) fn is_call(target: &str) -> bool {
    matches!(target, "Sharding" | "SPMDFullToShardShape" | "SPMDShardToFullShape")
        || target.starts_with("xla.sdy.")
}

/// Whether a program has GSPMD annotations, or Shardy's annotations as frontend attributes (`xla.sdy.*`), the form in which XLA preserves
/// them.
#[must_use]
pub fn is_annotated(module: &Module) -> bool {
    let annotated = |attrs: &AttrDict| attrs.get(SHARDING).is_some() || sdy_text::has_any(attrs);
    let of_func = |func: &shardc_ir::Func| func.arg_attrs.iter().chain(&func.res_attrs).any(annotated);
    annotated(&module.attrs)
        || module.attrs.get(PARAMETERS).is_some()
        || module.attrs.get(OUTPUT).is_some()
        || module.funcs.values().any(of_func)
        || module.bodies().flat_map(|body| module.walk(body)).any(|op| {
            let op = &module.ops[op];
            let call = matches!(&op.kind, OpKind::CustomCall(call) if is_call(&call.target));
            call || annotated(&op.attrs)
        })
}

/// Parses every sharding text.
pub(super) fn collect(module: &Module) -> Result<Texts, Vec<Diagnostic>> {
    let mut reader = Reader { texts: Texts::new(), errors: Vec::new(), wrong: FxHashSet::default() };
    reader.module_attr(module, PARAMETERS);
    reader.module_attr(module, OUTPUT);
    for func in module.funcs.values() {
        for (what, list) in [("argument", &func.arg_attrs), ("result", &func.res_attrs)] {
            for (i, attrs) in list.iter().enumerate() {
                reader.attr(attrs, func.span, &|| format!("{what} {i} of @{}", func.name));
            }
        }
        let Some(body) = func.body else { continue };
        for id in module.walk(body) {
            let (op, before) = (&module.ops[id], reader.errors.len());
            reader.attr(&op.attrs, op.span, &|| match &op.kind {
                OpKind::CustomCall(call) => format!("@{}", call.target),
                kind => kind.name().to_owned(),
            });
            for error in &mut reader.errors[before..] {
                error.user_loc = module.user_loc(id);
            }
        }
    }
    if reader.errors.is_empty() { Ok(reader.texts) } else { Err(reader.errors) }
}

struct Reader {
    texts: Texts,
    errors: Vec<Diagnostic>,
    wrong: FxHashSet<Box<str>>,
}

impl Reader {
    fn attr(&mut self, attrs: &AttrDict, span: Span, place: &dyn Fn() -> String) {
        match attrs.get(SHARDING) {
            None => {}
            Some(Attr::Str(text)) => self.text(text, span, place),
            Some(_) => self.errors.push(
                Diagnostic::invalid("SH0340", format!("the {SHARDING} of {} is not a string", place()))
                    .at(span),
            ),
        }
    }

    fn module_attr(&mut self, module: &Module, name: &str) {
        for text in strings(module.attrs.get(name)) {
            self.text(text, Span::NONE, &|| format!("the module's {name}"));
        }
    }

    fn text(&mut self, text: &str, span: Span, place: &dyn Fn() -> String) {
        // Deep models repeat the same few texts. Each is parsed once, and an invalid text is reported only at its first occurrence.
        if self.texts.contains_key(text) || self.wrong.contains(text) {
            return;
        }
        match text.parse() {
            Ok(sharding) => {
                self.texts.insert(text.into(), FoundText { sharding, span, place: place() });
            }
            Err(error) => {
                let message = format!("the sharding {} of {} cannot be read: {error}", short(text), place());
                let diagnostic = match error.unsupported {
                    true => Diagnostic::unsupported("SH0340", message),
                    false => Diagnostic::invalid("SH0340", message),
                };
                self.errors.push(diagnostic.at(span));
                self.wrong.insert(text.into());
            }
        }
    }
}

/// Returns the strings of an attribute that is a string or an array of strings.
pub(super) fn strings(attr: Option<&Attr>) -> Vec<&str> {
    match attr {
        Some(Attr::Str(text)) => vec![text],
        Some(Attr::Array(items)) => {
            items.iter().filter_map(|a| if let Attr::Str(text) = a { Some(&**text) } else { None }).collect()
        }
        _ => Vec::new(),
    }
}

/// Quotes a text; the middle of a long text is omitted.
pub(super) fn short(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    if chars.len() <= 160 {
        return format!("\"{text}\"");
    }
    let head: String = chars[..100].iter().collect();
    let tail: String = chars[chars.len() - 40..].iter().collect();
    format!("\"{head} ... {tail}\"")
}

fn leaves(sharding: &HloSharding) -> &[Leaf] {
    match sharding {
        HloSharding::Single(leaf) => std::slice::from_ref(leaf),
        HloSharding::Tuple(leaves) => leaves,
    }
}

/// Chooses the mesh of the program:
///
/// * the program's own mesh, if it has one;
/// * otherwise the `given` mesh, if it fits the tiles and the number of devices;
/// * otherwise the coarsest mesh that fits all tiles.
///
/// If the chosen mesh is not `given`, also returns how the axes of `given` are matched with those of the chosen mesh, which `given`
/// replaces later. If `round_trip` is true, the program was exported by Shardy, and its shardings name their meshes.
pub(super) fn home(
    module: &mut Module,
    texts: &Texts,
    given: Option<&Mesh>,
    round_trip: bool,
) -> Result<(MeshId, Option<Match>), Vec<Diagnostic>> {
    let mut tilings: Vec<(&Tiling, usize)> = Vec::new();
    let mut seen: FxHashSet<&Tiling> = FxHashSet::default();
    let mut named: Vec<&Named> = Vec::new();
    for (i, found) in texts.values().enumerate() {
        for leaf in leaves(&found.sharding) {
            match &leaf.kind {
                LeafKind::Tiled(tiling) if seen.insert(tiling) => tilings.push((tiling, i)),
                LeafKind::Named(mesh) if !matches!(mesh.value, NamedValue::Maximal) => named.push(mesh),
                _ => {}
            }
        }
    }
    let partitions = module.num_partitions().filter(|&n| n > 1);
    let list: Vec<&Tiling> = tilings.iter().map(|(tiling, _)| *tiling).collect();
    let place = |which: usize| {
        tilings
            .get(which)
            .and_then(|&(_, i)| texts.get_index(i))
            .map(|(text, found)| (short(text), found.place.clone(), found.span))
    };
    let existing = module.mesh_names.values().copied().find(|&id| !module.meshes[id].is_maximal());
    let named = named.first().map(|named| named.mesh());
    let own = existing.map(|id| module.meshes[id].clone()).or(named);
    // In a program without tile assignments, the module's attributes or the replica groups determine the number of devices.
    let count = partitions.or_else(|| devices_of_groups(module));
    let instead = match (given, &own) {
        // The import uses the program's own mesh, because shardings refer to its axes. Afterwards, `given` replaces this mesh; the axes of
        // the two meshes are matched by name.
        (Some(_), Some(_)) => Some(Match::Name),
        (Some(mesh), None) if fit_mesh(mesh, &list).is_err() => Some(Match::Place),
        (Some(mesh), None) if list.is_empty() && count.is_some_and(|n| n != mesh.num_devices() as i64) => {
            Some(Match::Place)
        }
        _ => None,
    };
    let fixed = own.or_else(|| given.filter(|_| instead.is_none()).cloned());
    let id = if let Some(mut mesh) = fixed {
        match fit_mesh(&mesh, &list) {
            Ok(devices) if existing.is_none() => mesh.device_ids = devices,
            Ok(devices) if devices == mesh.device_ids => {}
            Ok(_) => return Err(vec![unfit(&mesh, place(0))]),
            Err(which) => return Err(vec![unfit(&mesh, place(which))]),
        }
        match existing {
            Some(id) => id,
            None => add_mesh(module, mesh),
        }
    } else {
        let mut axes = infer(&list).map_err(|TilingConflict(a, b)| vec![conflict(place(a), place(b))])?;
        if list.is_empty() {
            axes.sizes = vec![count.unwrap_or(1)];
        } else if axes.sizes.is_empty() {
            axes.sizes = vec![1];
        }
        if round_trip {
            // The mesh is only inferred from the number of devices, so its name must differ from every mesh name in the shardings.
            module.add_mesh(&free_name(module, "inferred_mesh"), axes.mesh())
        } else {
            add_mesh(module, axes.mesh())
        }
    };
    let devices = module.meshes[id].num_devices() as i64;
    if let Some(n) = partitions.filter(|&n| n != devices) {
        let at = place(0);
        let span = at.as_ref().map_or(Span::NONE, |(.., span)| *span);
        let message = match at.filter(|_| given.is_none() || instead.is_some()) {
            Some((text, place, _)) => {
                format!(
                    "the sharding {text} of {place} is for {devices} devices, but mhlo.num_partitions is {n}"
                )
            }
            None => format!("the mesh has {devices} devices, but mhlo.num_partitions is {n}"),
        };
        return Err(vec![Diagnostic::invalid("SH0343", message).at(span)]);
    }
    Ok((id, instead))
}

type WrittenAt = Option<(String, String, Span)>;

fn conflict(a: WrittenAt, b: WrittenAt) -> Diagnostic {
    let (Some((text_a, place_a, span_a)), Some((text_b, place_b, span_b))) = (a, b) else {
        return Diagnostic::internal("SH0342", "no mesh fits the shardings of the program");
    };
    let message = format!("no mesh fits both the sharding {text_b} of {place_b} and {text_a} of {place_a}");
    Diagnostic::invalid("SH0342", message)
        .at(span_b)
        .note(span_a, format!("{text_a} is here"))
        .hint("both shardings must tile values with dimensions of the same device array")
}

fn unfit(mesh: &Mesh, place: WrittenAt) -> Diagnostic {
    let axes: Vec<String> = mesh.axes.iter().map(|(name, size)| format!("{name}={size}")).collect();
    let (text, place, span) = place.unwrap_or_else(|| (String::new(), "the program".to_owned(), Span::NONE));
    let message = format!("the sharding {text} of {place} does not fit the mesh {}", axes.join(","));
    Diagnostic::invalid("SH0342", message)
        .at(span)
        .hint("leave out the mesh: it is then inferred from the shardings")
}

/// Returns the number of devices that the replica groups of a program imply.
fn devices_of_groups(module: &Module) -> Option<i64> {
    let ops = module.bodies().flat_map(|body| module.walk(body));
    let groups = ops.filter_map(|op| module.ops[op].kind.collective()).map(|spec| &spec.groups);
    // Strided groups contain every device once, so their largest id is known without listing them.
    let last = |groups: &ReplicaGroups| match groups.as_strided() {
        Some(strided) => Some(strided.num_devices() as i64 - 1),
        None => groups.ids().max(),
    };
    // Groups list every device (I14), so the largest id determines the count.
    groups.filter_map(last).max().filter(|&id| id < MAX_DEVICES).map(|id| id + 1)
}
