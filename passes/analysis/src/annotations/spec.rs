//! Annotations from the command line: a mesh, and the sharding of arguments and results over it.
//!
//! A mesh is `data=4,model=2`, axes major to minor. `data=2,model=2@3,2,1,0` also gives the device ids in mesh order.
//! A partition spec has one item per dimension:
//!
//! * `-`: not sharded
//! * an axis, or axes joined by `+`, major to minor
//! * `?`: open to propagation
//! * a final `...`: `-` for all remaining dimensions

use std::fmt;
use std::str::FromStr;

use shardc_ir::limits::{MAX_DEVICES, too_many_devices};
use shardc_ir::suggest::unknown_name_hint;
use shardc_ir::{
    AxisList, AxisRef, Diagnostic, DimSharding, FuncId, Mesh, MeshId, Module, PackedOption, RegionId, Span,
    SubAxis, TensorSharding,
};

use crate::annotations::names::{Named, Names};

/// A mesh as parsed from text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MeshSpec {
    /// Names and sizes of the axes, major to minor.
    pub axes: Vec<(String, i64)>,
    /// The device id at each position, if given.
    pub device_ids: Option<Vec<i64>>,
}

/// Why a mesh, a selector or a partition spec cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SpecError {
    message: String,
    /// The invalid part of the text.
    span: Span,
}

impl SpecError {
    /// Returns the error as a diagnostic that quotes `text`, named `origin`.
    #[must_use]
    pub fn to_diagnostic(&self, origin: &'static str, text: &str) -> Diagnostic {
        Diagnostic::invalid("SH0306", self.message.as_str()).quoting(origin, text, self.span)
    }

    /// Shifts the error's span by the offset of the parsed text in a longer text.
    fn behind(self, offset: usize) -> SpecError {
        SpecError { span: behind(self.span, offset), ..self }
    }
}

/// Shifts a span by the offset of its text in a longer text.
fn behind(span: Span, offset: usize) -> Span {
    if span.is_some() { Span::new(span.start as usize + offset, span.end as usize + offset) } else { span }
}

fn error<T>(item: Item<'_>, message: impl Into<String>) -> Result<T, SpecError> {
    Err(SpecError { message: message.into(), span: item.span() })
}

/// A piece of a text, such as one axis of a mesh, and its offset in the text.
#[derive(Clone, Copy)]
struct Item<'a> {
    text: &'a str,
    start: usize,
}

impl<'a> Item<'a> {
    fn new(text: &'a str) -> Self {
        Item { text, start: 0 }
    }

    /// Returns the span of the item, at least one character long so that a diagnostic can point at it.
    fn span(self) -> Span {
        Span::new(self.start, self.start + self.text.len().max(1))
    }

    fn trimmed(self) -> Self {
        let start = self.start + self.text.len() - self.text.trim_start().len();
        Item { text: self.text.trim(), start }
    }

    /// Returns the items between separators, trimmed.
    fn split(self, separator: char) -> impl Iterator<Item = Item<'a>> {
        let mut start = self.start;
        self.text.split(separator).map(move |text| {
            let item = Item { text, start }.trimmed();
            start += text.len() + separator.len_utf8();
            item
        })
    }

    fn split_once(self, separator: char) -> Option<(Item<'a>, Item<'a>)> {
        let (before, after) = self.text.split_once(separator)?;
        let start = self.start + before.len() + separator.len_utf8();
        Some((Item { text: before, ..self }.trimmed(), Item { text: after, start }.trimmed()))
    }
}

impl FromStr for MeshSpec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let whole = Item::new(text);
        let (axes_text, ids_text) = match whole.split_once('@') {
            Some((axes, ids)) => (axes, Some(ids)),
            None => (whole, None),
        };
        let mut axes: Vec<(String, i64)> = Vec::new();
        for item in axes_text.split(',') {
            let Some((name, size)) = item.split_once('=') else {
                return error(item, format!("mesh axis '{}' is not of the form name=size", item.text));
            };
            if !is_axis_name(name.text) {
                return error(name, format!("'{}' is not a valid name of a mesh axis", name.text));
            }
            // The digits of the text are checked, since a number beyond `i64` fails to parse, but must be reported as
            // too large.
            let is_number = !size.text.is_empty() && size.text.bytes().all(|b| b.is_ascii_digit());
            let n = match size.text.parse::<i64>() {
                Ok(n) if (1..=MAX_DEVICES).contains(&n) => n,
                other => {
                    let fault = if is_number && other != Ok(0) {
                        format!("too large: {}", too_many_devices())
                    } else {
                        "not a positive number".to_owned()
                    };
                    let message = format!("size '{}' of mesh axis '{}' is {fault}", size.text, name.text);
                    return error(size, message);
                }
            };
            if axes.iter().any(|(other, _)| other == name.text) {
                return error(name, format!("the mesh has two axes named '{}'", name.text));
            }
            axes.push((name.text.to_owned(), n));
        }
        let devices = axes.iter().try_fold(1i64, |n, (_, size)| n.checked_mul(*size));
        let Some(devices) = devices.filter(|&n| n <= MAX_DEVICES) else {
            let message = format!("the mesh '{}' is too large: {}", axes_text.text, too_many_devices());
            return error(axes_text, message);
        };
        let device_ids = ids_text.map(|ids| device_ids(ids, devices)).transpose()?;
        Ok(MeshSpec { axes, device_ids })
    }
}

fn device_ids(list: Item<'_>, devices: i64) -> Result<Vec<i64>, SpecError> {
    let mut ids = Vec::new();
    for item in list.split(',') {
        match item.text.parse::<i64>() {
            Ok(id) if id >= 0 && !ids.contains(&id) => ids.push(id),
            Ok(id) if id >= 0 => return error(item, format!("device id {id} is given twice")),
            _ => return error(item, format!("'{}' is not a device id", item.text)),
        }
    }
    if ids.len() as i64 != devices {
        let message = format!("the mesh has {devices} devices but {} device ids are given", ids.len());
        return error(list, message);
    }
    Ok(ids)
}

fn is_axis_name(name: &str) -> bool {
    !name.is_empty()
        && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.'))
        && !name.starts_with(|c: char| c.is_ascii_digit())
}

impl From<&Mesh> for MeshSpec {
    fn from(mesh: &Mesh) -> Self {
        let axes = mesh.axes.iter().map(|(name, &size)| (name.to_string(), size)).collect();
        MeshSpec { axes, device_ids: mesh.device_ids.clone() }
    }
}

/// Prints the mesh as it is parsed: `data=4,model=2`, followed by `@` and the device ids if they are not in order.
impl fmt::Display for MeshSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (name, size)) in self.axes.iter().enumerate() {
            write!(f, "{}{name}={size}", if i > 0 { "," } else { "" })?;
        }
        for (i, id) in self.device_ids.iter().flatten().enumerate() {
            write!(f, "{}{id}", if i > 0 { "," } else { "@" })?;
        }
        Ok(())
    }
}

impl MeshSpec {
    /// Converts to a mesh of the IR.
    #[must_use]
    pub fn to_mesh(&self) -> Mesh {
        let mut mesh = Mesh::new(self.axes.iter().map(|(name, size)| (name.as_str(), *size)));
        mesh.device_ids.clone_from(&self.device_ids);
        mesh
    }
}

/// The arguments or results that a partition spec applies to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArgSelector {
    /// The argument or result at a position.
    Position(Named),
    /// Every argument or result whose name matches a name or pattern ([`Names::matching`]).
    Pattern(String),
}

impl FromStr for ArgSelector {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let text = text.trim();
        if text.is_empty() {
            return error(Item::new(text), "the name of an argument is missing");
        }
        Ok(Named::position(text).map_or_else(|| ArgSelector::Pattern(text.to_owned()), ArgSelector::Position))
    }
}

/// A named axis or sub-axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AxisName {
    /// Name of the axis.
    pub name: String,
    /// The sub-axis (`name:(pre)size`), if not the full axis.
    pub sub: Option<SubAxis>,
    /// The position of the axis name in the text of the partition spec.
    pub span: Span,
}

/// How the dimensions of a tensor are sharded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartitionSpec {
    /// For each dimension, the axes that shard it (major to minor), and whether the dimension is open.
    pub dims: Vec<(Vec<AxisName>, bool)>,
    /// Whether dimensions that `dims` does not list are unsharded. If false, every dimension must be listed.
    pub rest: bool,
}

impl FromStr for PartitionSpec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let mut spec = PartitionSpec::default();
        if text.trim().is_empty() {
            return Ok(spec);
        }
        for item in Item::new(text).split(',') {
            if spec.rest {
                return error(item, "'...' must be last");
            }
            match item.text {
                "..." => spec.rest = true,
                "-" => spec.dims.push((Vec::new(), false)),
                "" => return error(item, "a dimension is empty; write '-' for one that is not sharded"),
                _ => spec.dims.push(dim(item)?),
            }
        }
        Ok(spec)
    }
}

/// Parses the axes of one dimension, `(a+b)`, `a+b` or `a`, each with an optional sub-axis. A `?` among them makes the dimension open; the
/// returned `bool` is then true.
fn dim(item: Item<'_>) -> Result<(Vec<AxisName>, bool), SpecError> {
    // A sub-axis has its own parentheses, so only remove a pair that encloses the whole item.
    let inner = match item.text.strip_prefix('(').and_then(|t| t.strip_suffix(')')) {
        Some(text) => Item { text, start: item.start + 1 },
        None => item,
    };
    let (mut axes, mut open) = (Vec::new(), false);
    for item in inner.split('+') {
        if item.text == "?" {
            open = true;
            continue;
        }
        let (name, sub) = match item.split_once(':') {
            Some((name, part)) => (name, Some(sub_axis(part)?)),
            None => (item, None),
        };
        if !is_axis_name(name.text) {
            return error(item, format!("'{}' is not a mesh axis", item.text));
        }
        axes.push(AxisName { name: name.text.to_owned(), sub, span: item.span() });
    }
    Ok((axes, open))
}

fn sub_axis(item: Item<'_>) -> Result<SubAxis, SpecError> {
    let parts = item.text.strip_prefix('(').and_then(|t| t.split_once(')'));
    match parts.and_then(|(pre, size)| Some((pre.parse().ok()?, size.parse().ok()?))) {
        Some((pre, size)) => Ok(SubAxis { pre, size }),
        None => error(item, format!("'{}' is not a sub-axis; write (pre)size", item.text)),
    }
}

/// The sharding of some arguments or results, and its source text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Annotation {
    selector: ArgSelector,
    spec: PartitionSpec,
    /// The text `ARG=SPEC`, as written.
    text: String,
    /// The length of `ARG` in `text`, in bytes.
    name: usize,
}

impl Annotation {
    /// Whether the spec names an axis of a mesh.
    #[must_use]
    pub fn names_axes(&self) -> bool {
        self.spec.dims.iter().any(|(axes, _)| !axes.is_empty())
    }

    /// Parses an argument or result and its partition spec.
    ///
    /// # Errors
    /// Returns an error that points into `ARG=SPEC` if one of the texts is invalid.
    pub fn new(target: &str, spec: &str) -> Result<Annotation, SpecError> {
        let offset = target.len() + 1;
        Ok(Annotation {
            selector: target.parse()?,
            spec: spec.parse().map_err(|e: SpecError| e.behind(offset))?,
            text: format!("{target}={spec}"),
            name: target.len(),
        })
    }

    /// Makes an error quote `ARG=SPEC` and point to the argument's name.
    fn about_name(&self, error: Diagnostic) -> Diagnostic {
        error.quoting("spec", self.text.as_str(), Span::new(0, self.name))
    }

    /// Makes an error quote `ARG=SPEC` and point to the range `span` of the partition spec.
    fn about(&self, error: Diagnostic, span: Span) -> Diagnostic {
        error.quoting("spec", self.text.as_str(), behind(span, self.name + 1))
    }
}

/// Parses `ARG=SPEC`; the name may contain equals signs.
impl FromStr for Annotation {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Annotation, SpecError> {
        match text.rsplit_once('=') {
            Some((target, spec)) => Annotation::new(target, spec),
            None => {
                let message = format!("'{text}' is not of the form ARG=SPEC, such as arg0=data,-");
                error(Item::new(text), message)
            }
        }
    }
}

/// Adds a mesh to a module that has none, and shardings on it to arguments and results of its entry function. If two specs apply to the
/// same argument, the later one takes precedence.
///
/// # Errors
/// Returns all errors: the module already has a mesh, or a spec names an unknown argument or axis, uses an axis twice or has the wrong
/// number of dimensions.
pub fn annotate(module: &mut Module, mesh: &MeshSpec, specs: &[Annotation]) -> Result<(), Vec<Diagnostic>> {
    if let Some((name, _)) = module.mesh_names.iter().find(|(_, id)| !module.meshes[**id].is_maximal()) {
        return Err(vec![
            Diagnostic::invalid("SH0331", format!("the module already has a mesh: @{name}")).hint(
                "leave out `Compiler::mesh` and `Compiler::spec`, or remove the annotations from the module",
            ),
        ]);
    }
    let mesh = module.add_mesh("mesh", mesh.to_mesh());
    annotate_on(module, mesh, specs)
}

/// Sets shardings of arguments and results of the entry function on a mesh of the module. They replace existing shardings.
///
/// # Errors
/// Fails as [`annotate`] does.
pub fn annotate_on(module: &mut Module, mesh: MeshId, specs: &[Annotation]) -> Result<(), Vec<Diagnostic>> {
    let Some((func, body)) = module.entry().and_then(|f| Some((f, module.funcs[f].body?))) else {
        return Err(vec![Diagnostic::invalid("SH0332", "the module has no entry function with a body")]);
    };
    let names = Names::of(module, &module.funcs[func]);
    let mut errors = Vec::new();
    for annotation in specs {
        let targets = match &annotation.selector {
            ArgSelector::Position(named) => names.find(&named.short()).map(|named| vec![named]),
            ArgSelector::Pattern(pattern) => names.matching(pattern),
        };
        match targets {
            Ok(targets) => errors.extend(
                targets
                    .into_iter()
                    .filter_map(|target| apply(module, func, body, mesh, target, annotation).err()),
            ),
            Err(error) => errors.push(annotation.about_name(error).at(module.funcs[func].span)),
        }
    }
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

fn apply(
    module: &mut Module,
    func: FuncId,
    body: RegionId,
    mesh: MeshId,
    target: Named,
    annotation: &Annotation,
) -> Result<(), Diagnostic> {
    let spec = &annotation.spec;
    let (ty, place) = match target {
        Named::Argument(i) => {
            (module.values[module.regions[body].args[i]].ty, module.funcs[func].arg_span(i))
        }
        Named::Result(i) => (module.funcs[func].results[i], module.funcs[func].res_span(i)),
    };
    let Some(tensor) = module.types.stored(ty) else {
        let message = format!("{target} is not a tensor but {}", module.types.display(ty));
        return Err(annotation.about_name(Diagnostic::invalid("SH0334", message)).at(place));
    };
    let rank = tensor.rank();
    if spec.dims.len() > rank || (!spec.rest && spec.dims.len() < rank) {
        let message = format!(
            "{target} has type {tensor}, of rank {rank}, but its partition spec has {} dimensions",
            spec.dims.len()
        );
        let error = Diagnostic::invalid("SH0334", message)
            .hint("write one item per dimension, '-' for one that is not sharded");
        let whole = Span::new(0, annotation.text.len() - annotation.name - 1);
        return Err(annotation.about(error, whole).at(place));
    }
    let mut used = AxisList::new();
    let mut dims = Vec::with_capacity(rank);
    for (names, open) in &spec.dims {
        let mut axes = AxisList::new();
        for name in names {
            let axis = resolve(&module.meshes[mesh], name)
                .map_err(|error| annotation.about(error, name.span).at(place))?;
            if used.iter().any(|&other| crate::propagate::overlaps(axis, other)) {
                let message = format!("axis '{}' is used twice for {target}", name.name);
                let error = Diagnostic::invalid("SH0336", message)
                    .hint("an axis shards at most one dimension of a tensor");
                return Err(annotation.about(error, name.span).at(place));
            }
            used.push(axis);
            axes.push(axis);
        }
        dims.push(DimSharding { axes, open: *open, priority: None });
    }
    dims.resize(rank, DimSharding::default());
    let sharding = module.shardings.intern(TensorSharding::from_dims(mesh, dims));
    match target {
        Named::Argument(i) => {
            let arg = module.regions[body].args[i];
            module.shardings.set(arg, Some(sharding));
        }
        Named::Result(i) => {
            let results = module.funcs[func].results.len();
            let list = &mut module.funcs[func].res_shardings;
            list.resize(results, PackedOption::default());
            list[i] = sharding.into();
        }
    }
    Ok(())
}

/// Returns the axis or sub-axis of `mesh` that `name` denotes.
fn resolve(mesh: &Mesh, name: &AxisName) -> Result<AxisRef, Diagnostic> {
    let Some((index, _, &size)) = mesh.axes.get_full(name.name.as_str()) else {
        let known: Vec<&str> = mesh.axes.keys().map(|n| &**n).collect();
        return Err(Diagnostic::invalid("SH0335", format!("the mesh has no axis '{}'", name.name))
            .hint(unknown_name_hint(&name.name, "its axes", &known)));
    };
    let Some(sub) = name.sub else { return Ok(AxisRef::whole(index)) };
    let parts = i64::from(sub.pre).saturating_mul(i64::from(sub.size));
    if parts == 0 || size % parts != 0 {
        let message =
            format!("{}:({}){} is not a sub-axis of an axis of size {size}", name.name, sub.pre, sub.size);
        return Err(Diagnostic::invalid("SH0335", message));
    }
    let whole = sub.pre == 1 && i64::from(sub.size) == size;
    Ok(AxisRef { axis: index as u16, sub: if whole { None } else { Some(sub) } })
}

#[cfg(test)]
mod tests {
    use shardc_ir::{DType, Func, Loc, Visibility};

    use shardc_ir::Build;

    use super::*;

    /// Returns a function of two named arguments, `w: 8x6` and `params['b']: 6`, that returns the first.
    fn module() -> Module {
        let mut module = Module::new();
        let (w, b) = (module.types.tensor(&[8, 6], DType::F32), module.types.tensor(&[6], DType::F32));
        let body = module.add_region(&[w, b]);
        let mut builder = shardc_ir::Builder::new(&mut module);
        let arg = builder.module.regions[body].args[0];
        builder.ret(&[arg]);
        builder.finish(body);
        let loc = |name: &str| Loc::Name { name: name.into(), child: None };
        let locs = [loc("w"), loc("params['b']")].map(|l| module.locs.intern(l).into());
        module.add_func(Func {
            name: "main".into(),
            visibility: Visibility::Public,
            body: Some(body),
            params: vec![w, b],
            results: vec![w],
            arg_attrs: Vec::new(),
            res_attrs: Vec::new(),
            res_shardings: Vec::new(),
            arg_locs: locs.to_vec(),
            arg_names: Vec::new(),
            arg_spans: Vec::new(),
            res_spans: Vec::new(),
            attrs: shardc_ir::AttrDict::new(),
            span: Span::NONE,
            loc: PackedOption::default(),
        });
        module
    }

    /// Returns the shardings that `specs` assign on `mesh`, or the errors, as text.
    fn run(mesh: &str, specs: &[&str]) -> String {
        let mut module = module();
        let parsed: Result<Vec<_>, _> = specs.iter().map(|s| s.parse::<Annotation>()).collect();
        let (mesh, parsed) = match (mesh.parse::<MeshSpec>(), parsed) {
            (Ok(mesh), Ok(parsed)) => (mesh, parsed),
            (Err(e), _) | (_, Err(e)) => return format!("{e}\n"),
        };
        if let Err(errors) = annotate(&mut module, &mesh, &parsed) {
            return errors.iter().map(|e| format!("{e}\n")).collect();
        }
        let mut out = String::new();
        let show = |module: &Module, id: Option<shardc_ir::ShardingId>| match id {
            Some(id) => {
                let s = module.shardings.get(id);
                s.display(&module.meshes[s.mesh])
            }
            None => "none".to_owned(),
        };
        for value in module.regions[module.funcs.values().next().unwrap().body.unwrap()].args.clone() {
            out += &format!("{}\n", show(&module, module.shardings.of(value)));
        }
        let results = &module.funcs.values().next().unwrap().res_shardings;
        out + &format!("{}\n", show(&module, results.first().and_then(|r| r.expand())))
    }

    #[test]
    fn specifications() {
        let cases: &[(&str, &[&str], &str)] = &[
            ("data=4,model=2", &["arg0=data,-"], "[{\"data\"}, {}]\nnone\nnone\n"),
            ("data=4,model=2", &["w=(data+model),-"], "[{\"data\", \"model\"}, {}]\nnone\nnone\n"),
            ("data=4,model=2", &["*=data,..."], "[{\"data\"}, {}]\n[{\"data\"}]\nnone\n"),
            ("data=4,model=2", &["%arg1=model", "1=-"], "none\n[{}]\nnone\n"),
            ("data=4,model=2", &["params*=?", "result0=-,model"], "none\n[{?}]\n[{}, {\"model\"}]\n"),
            (
                "data=4,model=2",
                &["w=data:(1)2,data:(2)2+?"],
                "[{\"data\":(1)2}, {\"data\":(2)2, ?}]\nnone\nnone\n",
            ),
        ];
        for (mesh, specs, expected) in cases {
            assert_eq!(run(mesh, specs), *expected, "{specs:?}");
        }
    }

    #[test]
    fn errors() {
        let cases: &[(&str, &[&str], &str)] = &[
            ("data", &[], "mesh axis 'data' is not of the form name=size\n"),
            ("data=0", &[], "size '0' of mesh axis 'data' is not a positive number\n"),
            (
                "data=99999999999999",
                &[],
                "size '99999999999999' of mesh axis 'data' is too large: a program has at most 1048576 devices\n",
            ),
            (
                "a=65536,b=32",
                &[],
                "the mesh 'a=65536,b=32' is too large: a program has at most 1048576 devices\n",
            ),
            ("a=2,a=2", &[], "the mesh has two axes named 'a'\n"),
            ("a=2@0", &[], "the mesh has 2 devices but 1 device ids are given\n"),
            ("a=2@1,1", &[], "device id 1 is given twice\n"),
            ("a=2", &["w"], "'w' is not of the form ARG=SPEC, such as arg0=data,-\n"),
            ("a=2", &["w=a,"], "a dimension is empty; write '-' for one that is not sharded\n"),
            ("a=2", &["w=...,a"], "'...' must be last\n"),
            (
                "a=2",
                &["7=a"],
                "error[SH0333]: the entry function has no argument 7; the function has 2 arguments; indices start at 0\n",
            ),
            (
                "a=2",
                &["param=a"],
                "error[SH0333]: no argument or result is named 'param'; did you mean 'params['b']'?\n",
            ),
            (
                "a=2",
                &["w=a"],
                "error[SH0334]: argument 0 has type tensor<8x6xf32>, of rank 2, but its partition spec has 1 dimensions; \
                 write one item per dimension, '-' for one that is not sharded\n",
            ),
            ("a=2", &["w=b,-"], "error[SH0335]: the mesh has no axis 'b'; its axes are a\n"),
            ("a=4", &["w=a:(2)3,-"], "error[SH0335]: a:(2)3 is not a sub-axis of an axis of size 4\n"),
            (
                "a=2",
                &["w=a,a"],
                "error[SH0336]: axis 'a' is used twice for argument 0; an axis shards at most one dimension of a tensor\n",
            ),
        ];
        for (mesh, specs, expected) in cases {
            assert_eq!(run(mesh, specs), *expected, "{mesh} {specs:?}");
        }
    }

    /// Tests which part of `ARG=SPEC` an error points at.
    #[test]
    fn errors_point_at_the_fault() {
        let mesh: MeshSpec = "data=4,model=2".parse().unwrap();
        let cases = [
            ("w=dta,-", "dta"),
            ("w=-,(data + dta)", "dta"),
            ("w=data:(2)3,-", "data:(2)3"),
            ("w=data", "data"),
            ("w=data,-,-", "data,-,-"),
            ("arg7=data", "arg7"),
            ("params['w']=data,-", "params['w']"),
        ];
        for (text, part) in cases {
            let errors = annotate(&mut module(), &mesh, &[text.parse().unwrap()]).unwrap_err();
            let quote = errors[0].quote.clone().unwrap();
            let at = quote.span.start as usize..quote.span.end as usize;
            assert_eq!((quote.text.as_str(), &text[at]), (text, part));
        }
        let unread = [("w=a,,b", ","), ("w=...,a", "a"), ("w=a:x,b", "x"), ("w=1a,-", "1a")];
        for (text, part) in unread {
            let span = text.parse::<Annotation>().unwrap_err().span;
            assert_eq!(&text[span.start as usize..span.end as usize], part, "{text}");
        }
        let span = "data=4, model=x".parse::<MeshSpec>().unwrap_err().span;
        assert_eq!((span.start, span.end), (14, 15));
    }

    #[test]
    fn a_second_mesh_is_refused() {
        let mut module = module();
        let mesh: MeshSpec = "a=2@1,0".parse().unwrap();
        annotate(&mut module, &mesh, &[]).unwrap();
        assert_eq!(module.meshes.values().next().unwrap().device_ids, Some(vec![1, 0]));
        let errors = annotate(&mut module, &mesh, &[]).unwrap_err();
        assert_eq!(errors[0].message, "the module already has a mesh: @mesh");
    }
}
