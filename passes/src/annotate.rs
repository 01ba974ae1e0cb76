//! Annotations from the command line: a mesh, and how arguments and results are split over it.
//!
//! A mesh is `data=4,model=2`, axes major to minor; `data=2,model=2@3,2,1,0` also gives the device ids in mesh
//! order. A specification is one item per dimension: `-` for not split, an axis, or axes joined by `+` major to
//! minor; `?` leaves a dimension to propagation, and a last `...` stands for as many `-` as are missing.

use std::fmt;
use std::str::FromStr;

use shardc_ir::{
    Attr, AxisList, AxisRef, Diagnostic, DimSharding, FuncId, Loc, Mesh, MeshId, Module, PackedOption,
    RegionId, SubAxis, TensorSharding,
};

/// A mesh as text gives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MeshSpec {
    /// Names and sizes of the axes, major to minor.
    pub axes: Vec<(String, i64)>,
    /// Device id at each position, where given.
    pub device_ids: Option<Vec<i64>>,
}

/// Why a mesh, a selector or a specification cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SpecError(String);

fn error<T>(message: impl Into<String>) -> Result<T, SpecError> {
    Err(SpecError(message.into()))
}

impl FromStr for MeshSpec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let (axes_text, ids_text) = match text.split_once('@') {
            Some((axes, ids)) => (axes, Some(ids)),
            None => (text, None),
        };
        let mut axes: Vec<(String, i64)> = Vec::new();
        for item in axes_text.split(',') {
            let Some((name, size)) = item.split_once('=') else {
                return error(format!("mesh axis '{}' is not of the form name=size", item.trim()));
            };
            let (name, size) = (name.trim(), size.trim());
            if !is_axis_name(name) {
                return error(format!("'{name}' is no name for a mesh axis"));
            }
            let Some(size) = size.parse::<i64>().ok().filter(|n| (1..=i64::from(u32::MAX)).contains(n))
            else {
                return error(format!("size '{size}' of mesh axis '{name}' is not a positive number"));
            };
            if axes.iter().any(|(other, _)| other == name) {
                return error(format!("the mesh has two axes named '{name}'"));
            }
            axes.push((name.to_owned(), size));
        }
        let Some(devices) = axes.iter().try_fold(1i64, |n, (_, size)| n.checked_mul(*size)) else {
            return error("the mesh has too many devices");
        };
        let device_ids = ids_text.map(|ids| device_ids(ids, devices)).transpose()?;
        Ok(MeshSpec { axes, device_ids })
    }
}

fn device_ids(text: &str, devices: i64) -> Result<Vec<i64>, SpecError> {
    let mut ids = Vec::new();
    for item in text.split(',') {
        match item.trim().parse::<i64>() {
            Ok(id) if id >= 0 && !ids.contains(&id) => ids.push(id),
            Ok(id) if id >= 0 => return error(format!("device id {id} is given twice")),
            _ => return error(format!("'{}' is no device id", item.trim())),
        }
    }
    if ids.len() as i64 != devices {
        return error(format!("the mesh has {devices} devices but {} device ids are given", ids.len()));
    }
    Ok(ids)
}

fn is_axis_name(name: &str) -> bool {
    !name.is_empty()
        && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.'))
        && !name.starts_with(|c: char| c.is_ascii_digit())
}

impl MeshSpec {
    /// The mesh itself.
    #[must_use]
    pub fn to_mesh(&self) -> Mesh {
        let mut mesh = Mesh::new(self.axes.iter().map(|(name, size)| (name.as_str(), *size)));
        mesh.device_ids.clone_from(&self.device_ids);
        mesh
    }
}

/// Which arguments or results a specification is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArgSelector {
    /// Argument `n`.
    Arg(usize),
    /// Result `n`.
    Result(usize),
    /// Arguments whose name (or `argN`) matches, or results if the pattern begins with `result`; `*` stands for
    /// any text.
    Pattern(String),
}

impl FromStr for ArgSelector {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let text = text.trim();
        let number = |text: &str| text.parse::<usize>().ok();
        if text.is_empty() {
            return error("the name of an argument is missing");
        }
        let arg = text.strip_prefix("%arg").or_else(|| text.strip_prefix("arg")).unwrap_or(text);
        if let Some(n) = number(arg) {
            return Ok(ArgSelector::Arg(n));
        }
        if let Some(n) = text.strip_prefix("result").and_then(number) {
            return Ok(ArgSelector::Result(n));
        }
        Ok(ArgSelector::Pattern(text.to_owned()))
    }
}

impl fmt::Display for ArgSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ArgSelector::Arg(n) => write!(f, "arg{n}"),
            ArgSelector::Result(n) => write!(f, "result{n}"),
            ArgSelector::Pattern(text) => f.write_str(text),
        }
    }
}

/// An axis or a part of one, by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AxisName {
    /// Name of the axis.
    pub name: String,
    /// The part (`name:(pre)size`), if not the whole.
    pub sub: Option<SubAxis>,
}

/// How the dimensions of a tensor are split.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartitionSpec {
    /// For each dimension its axes, major to minor, and whether propagation may add some.
    pub dims: Vec<(Vec<AxisName>, bool)>,
    /// Whether dimensions that are not listed are not split; otherwise every dimension is listed.
    pub rest: bool,
}

impl FromStr for PartitionSpec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let mut spec = PartitionSpec::default();
        if text.trim().is_empty() {
            return Ok(spec);
        }
        for item in text.split(',').map(str::trim) {
            if spec.rest {
                return error("'...' must be last");
            }
            match item {
                "..." => spec.rest = true,
                "-" => spec.dims.push((Vec::new(), false)),
                "" => return error("a dimension is empty; write '-' for one that is not split"),
                _ => spec.dims.push(dim(item)?),
            }
        }
        Ok(spec)
    }
}

/// `(a+b)`, `a+b` or `a`, each axis with an optional part; `?` among them leaves the dimension open.
fn dim(text: &str) -> Result<(Vec<AxisName>, bool), SpecError> {
    // A part has parentheses of its own, so only a pair around everything is taken off.
    let inner = match text.strip_prefix('(').and_then(|t| t.strip_suffix(')')) {
        Some(inner) => inner,
        None => text,
    };
    let (mut axes, mut open) = (Vec::new(), false);
    for item in inner.split('+').map(str::trim) {
        if item == "?" {
            open = true;
            continue;
        }
        let (name, sub) = match item.split_once(':') {
            Some((name, part)) => (name, Some(sub_axis(part)?)),
            None => (item, None),
        };
        if !is_axis_name(name) {
            return error(format!("'{item}' is no mesh axis"));
        }
        axes.push(AxisName { name: name.to_owned(), sub });
    }
    Ok((axes, open))
}

fn sub_axis(text: &str) -> Result<SubAxis, SpecError> {
    let parts = text.strip_prefix('(').and_then(|t| t.split_once(')'));
    match parts.and_then(|(pre, size)| Some((pre.parse().ok()?, size.parse().ok()?))) {
        Some((pre, size)) => Ok(SubAxis { pre, size }),
        None => error(format!("'{text}' is no part of an axis; write (pre)size")),
    }
}

/// Reads `ARG=SPEC`.
///
/// # Errors
/// The text is not of that form.
pub fn parse_annotation(text: &str) -> Result<(ArgSelector, PartitionSpec), SpecError> {
    let Some((arg, spec)) = text.rsplit_once('=') else {
        return error(format!("'{text}' is not of the form ARG=SPEC, such as arg0=data,-"));
    };
    Ok((arg.parse()?, spec.parse()?))
}

/// Gives a module without a mesh this mesh, and arguments and results of its entry function shardings on it.
/// Where two specifications are for one argument, the later counts.
///
/// # Errors
/// The module has a mesh already, or a specification names an unknown argument or axis, uses an axis twice or
/// has the wrong number of dimensions. All errors are listed.
pub fn annotate(
    module: &mut Module,
    mesh: &MeshSpec,
    specs: &[(ArgSelector, PartitionSpec)],
) -> Result<(), Vec<Diagnostic>> {
    if let Some((name, _)) = module.mesh_names.iter().find(|(_, id)| !module.meshes[**id].is_maximal()) {
        return Err(vec![
            Diagnostic::invalid("SH0331", format!("the module has a mesh already: @{name}"))
                .hint("leave out --mesh and --spec, or remove the annotations from the module"),
        ]);
    }
    let mesh = module.add_mesh("mesh", mesh.to_mesh());
    annotate_on(module, mesh, specs)
}

/// Gives arguments and results of the entry function shardings on a mesh of the module, in place of those that they
/// have.
///
/// # Errors
/// As [`annotate`].
pub fn annotate_on(
    module: &mut Module,
    mesh: MeshId,
    specs: &[(ArgSelector, PartitionSpec)],
) -> Result<(), Vec<Diagnostic>> {
    let Some((func, body)) = module.entry().and_then(|f| Some((f, module.funcs[f].body?))) else {
        return Err(vec![Diagnostic::invalid("SH0332", "the module has no entry function with a body")]);
    };
    let names = Names::new(module, func, body);
    let mut errors = Vec::new();
    for (selector, spec) in specs {
        let targets = match names.select(selector) {
            Ok(targets) => targets,
            Err(error) => {
                errors.push(error.at(module.funcs[func].span));
                continue;
            }
        };
        for target in targets {
            if let Err(error) = apply(module, func, body, mesh, target, spec) {
                errors.push(error.at(module.funcs[func].span));
            }
        }
    }
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

#[derive(Clone, Copy)]
enum Target {
    Arg(usize),
    Result(usize),
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Arg(n) => write!(f, "argument {n}"),
            Target::Result(n) => write!(f, "result {n}"),
        }
    }
}

/// What arguments and results are called.
struct Names {
    args: Vec<Option<String>>,
    results: Vec<Option<String>>,
}

impl Names {
    fn new(module: &Module, func: FuncId, body: RegionId) -> Self {
        let data = &module.funcs[func];
        let text = |attr: Option<&Attr>| match attr {
            Some(Attr::Str(text)) if !text.is_empty() => Some(text.to_string()),
            _ => None,
        };
        let arg = |i: usize| {
            let loc = data.arg_locs.get(i).and_then(|loc| loc.expand());
            match loc.map(|loc| module.locs.get(loc)) {
                Some(Loc::Name { name, .. }) => Some(name.to_string()),
                _ => text(data.arg_attrs.get(i).and_then(|a| a.get("jax.arg_info"))),
            }
        };
        let result = |i: usize| text(data.res_attrs.get(i).and_then(|a| a.get("jax.result_info")));
        Names {
            args: (0..module.regions[body].args.len()).map(arg).collect(),
            results: (0..data.results.len()).map(result).collect(),
        }
    }

    fn select(&self, selector: &ArgSelector) -> Result<Vec<Target>, Diagnostic> {
        let missing = |what: &str, n: usize, of: usize| {
            let message = format!("the entry function has no {what} {n}");
            Diagnostic::invalid("SH0333", message).hint(format!("it has {of} {what}s, counted from 0"))
        };
        match selector {
            ArgSelector::Arg(n) if *n < self.args.len() => Ok(vec![Target::Arg(*n)]),
            ArgSelector::Arg(n) => Err(missing("argument", *n, self.args.len())),
            ArgSelector::Result(n) if *n < self.results.len() => Ok(vec![Target::Result(*n)]),
            ArgSelector::Result(n) => Err(missing("result", *n, self.results.len())),
            ArgSelector::Pattern(pattern) => self.matching(pattern),
        }
    }

    fn matching(&self, pattern: &str) -> Result<Vec<Target>, Diagnostic> {
        let matches = |name: &Option<String>, position: String| {
            glob(pattern, &position) || name.as_deref().is_some_and(|name| glob(pattern, name))
        };
        let found: Vec<Target> = if pattern.starts_with("result") {
            let of = |(i, name): (usize, &Option<String>)| {
                matches(name, format!("result{i}")).then_some(Target::Result(i))
            };
            self.results.iter().enumerate().filter_map(of).collect()
        } else {
            let of = |(i, name): (usize, &Option<String>)| {
                matches(name, format!("arg{i}")).then_some(Target::Arg(i))
            };
            self.args.iter().enumerate().filter_map(of).collect()
        };
        if !found.is_empty() {
            return Ok(found);
        }
        let diagnostic = Diagnostic::invalid("SH0333", format!("no argument is named '{pattern}'"));
        let close = self.close_to(pattern);
        Err(if close.is_empty() {
            diagnostic.hint(format!("the arguments are arg0 to arg{}", self.args.len().saturating_sub(1)))
        } else {
            diagnostic.hint(format!("did you mean {}?", close.join(", ")))
        })
    }

    /// Up to three names that are most like `pattern`.
    fn close_to(&self, pattern: &str) -> Vec<String> {
        let limit = pattern.chars().count() / 2 + 1;
        let mut close: Vec<(usize, &String)> = self
            .args
            .iter()
            .flatten()
            .filter_map(|name| {
                let distance = if name.contains(pattern) { 0 } else { edit_distance(name, pattern) };
                (distance <= limit).then_some((distance, name))
            })
            .collect();
        close.sort();
        close.dedup();
        close.into_iter().take(3).map(|(_, name)| format!("'{name}'")).collect()
    }
}

/// Whether `text` matches `pattern`, in which `*` stands for any text.
fn glob(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or("");
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// Number of characters to insert, drop or change to make `b` of `a`.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &y) in b.iter().enumerate() {
            let change = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = change.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

fn apply(
    module: &mut Module,
    func: FuncId,
    body: RegionId,
    mesh: MeshId,
    target: Target,
    spec: &PartitionSpec,
) -> Result<(), Diagnostic> {
    let ty = match target {
        Target::Arg(i) => module.values[module.regions[body].args[i]].ty,
        Target::Result(i) => module.funcs[func].results[i],
    };
    let Some(tensor) = module.types.stored(ty) else {
        let message = format!("{target} is no tensor but {}", module.types.display(ty));
        return Err(Diagnostic::invalid("SH0334", message));
    };
    let rank = tensor.rank();
    if spec.dims.len() > rank || (!spec.rest && spec.dims.len() < rank) {
        let message = format!(
            "{target} has type {tensor}, of rank {rank}, but its specification has {} dimensions",
            spec.dims.len()
        );
        return Err(Diagnostic::invalid("SH0334", message)
            .hint("write one item per dimension, '-' for one not split"));
    }
    let mut used = AxisList::new();
    let mut dims = Vec::with_capacity(rank);
    for (names, open) in &spec.dims {
        let mut axes = AxisList::new();
        for name in names {
            let axis = resolve(&module.meshes[mesh], name)?;
            if used.iter().any(|&other| crate::propagate::overlaps(axis, other)) {
                let message = format!("axis '{}' is used twice for {target}", name.name);
                return Err(
                    Diagnostic::invalid("SH0336", message).hint("an axis splits one dimension of a tensor")
                );
            }
            used.push(axis);
            axes.push(axis);
        }
        dims.push(DimSharding { axes, open: *open, priority: None });
    }
    dims.resize(rank, DimSharding::default());
    let sharding = module.shardings.intern(TensorSharding::from_dims(mesh, dims));
    match target {
        Target::Arg(i) => {
            let arg = module.regions[body].args[i];
            module.shardings.set(arg, Some(sharding));
        }
        Target::Result(i) => {
            let results = module.funcs[func].results.len();
            let list = &mut module.funcs[func].res_shardings;
            list.resize(results, PackedOption::default());
            list[i] = sharding.into();
        }
    }
    Ok(())
}

/// The axis with this name, or the part of it.
fn resolve(mesh: &Mesh, name: &AxisName) -> Result<AxisRef, Diagnostic> {
    let Some((index, _, &size)) = mesh.axes.get_full(name.name.as_str()) else {
        let known: Vec<&str> = mesh.axes.keys().map(|n| &**n).collect();
        return Err(Diagnostic::invalid("SH0335", format!("the mesh has no axis '{}'", name.name))
            .hint(format!("its axes are {}", known.join(", "))));
    };
    let Some(sub) = name.sub else { return Ok(AxisRef::whole(index)) };
    let parts = i64::from(sub.pre) * i64::from(sub.size);
    if parts == 0 || size % parts != 0 {
        let message = format!("{}:({}){} is no part of an axis of size {size}", name.name, sub.pre, sub.size);
        return Err(Diagnostic::invalid("SH0335", message));
    }
    let whole = sub.pre == 1 && i64::from(sub.size) == size;
    Ok(AxisRef { axis: index as u16, sub: if whole { None } else { Some(sub) } })
}

#[cfg(test)]
mod tests {
    use shardc_ir::{DType, Func, Span, Visibility};

    use super::*;

    /// A function of two named arguments, `w: 8x6` and `params['b']: 6`, that returns the first.
    fn module() -> Module {
        let mut module = Module::new();
        let (w, b) = (module.types.tensor(&[8, 6], DType::F32), module.types.tensor(&[6], DType::F32));
        let body = module.add_region(&[w, b]);
        let mut builder = shardc_ir::Builder::new(&mut module);
        let arg = builder.module.regions[body].args[0];
        builder.ret(&[arg]);
        let ops = builder.take();
        module.regions[body].ops = ops;
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
            arg_spans: Vec::new(),
            res_spans: Vec::new(),
            attrs: shardc_ir::AttrDict::new(),
            span: Span::NONE,
            loc: PackedOption::default(),
        });
        module
    }

    /// The shardings that `specs` give on `mesh`, or the errors.
    fn run(mesh: &str, specs: &[&str]) -> String {
        let mut module = module();
        let parsed: Result<Vec<_>, _> = specs.iter().map(|s| parse_annotation(s)).collect();
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
            ("a=2,a=2", &[], "the mesh has two axes named 'a'\n"),
            ("a=2@0", &[], "the mesh has 2 devices but 1 device ids are given\n"),
            ("a=2@1,1", &[], "device id 1 is given twice\n"),
            ("a=2", &["w"], "'w' is not of the form ARG=SPEC, such as arg0=data,-\n"),
            ("a=2", &["w=a,"], "a dimension is empty; write '-' for one that is not split\n"),
            ("a=2", &["w=...,a"], "'...' must be last\n"),
            (
                "a=2",
                &["7=a"],
                "error[SH0333]: the entry function has no argument 7; it has 2 arguments, counted from 0\n",
            ),
            (
                "a=2",
                &["param=a"],
                "error[SH0333]: no argument is named 'param'; did you mean 'params['b']'?\n",
            ),
            (
                "a=2",
                &["w=a"],
                "error[SH0334]: argument 0 has type tensor<8x6xf32>, of rank 2, but its specification has 1 dimensions; \
                 write one item per dimension, '-' for one not split\n",
            ),
            ("a=2", &["w=b,-"], "error[SH0335]: the mesh has no axis 'b'; its axes are a\n"),
            ("a=4", &["w=a:(2)3,-"], "error[SH0335]: a:(2)3 is no part of an axis of size 4\n"),
            (
                "a=2",
                &["w=a,a"],
                "error[SH0336]: axis 'a' is used twice for argument 0; an axis splits one dimension of a tensor\n",
            ),
        ];
        for (mesh, specs, expected) in cases {
            assert_eq!(run(mesh, specs), *expected, "{mesh} {specs:?}");
        }
    }

    #[test]
    fn a_second_mesh_is_refused() {
        let mut module = module();
        let mesh: MeshSpec = "a=2@1,0".parse().unwrap();
        annotate(&mut module, &mesh, &[]).unwrap();
        assert_eq!(module.meshes.values().next().unwrap().device_ids, Some(vec![1, 0]));
        let errors = annotate(&mut module, &mesh, &[]).unwrap_err();
        assert_eq!(errors[0].message, "the module has a mesh already: @mesh");
    }
}
