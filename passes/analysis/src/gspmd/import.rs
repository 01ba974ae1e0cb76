//! Imports GSPMD annotations as axis-based shardings.
//!
//! 1. All sharding texts are parsed and the mesh is inferred ([`super::collect`], [`super::infer`]).
//! 2. Annotations of arguments, results and operations become shardings; `@Sharding` calls become constraints.
//! 3. Operations between `@SPMDFullToShardShape` and `@SPMDShardToFullShape` become the body of a manual computation
//!    ([`super::manual`]).
//!
//! Shardy's annotations in the form that survives a round trip through XLA (`xla.sdy.*`) are imported too.

use rustc_hash::{FxHashMap, FxHashSet};
use shardc_ir::{
    Attr, AttrDict, Build, Class, Diagnostic, FuncId, Mesh, Module, OpId, OpKind, PackedOption, Rewriter,
    ShardingId, Span, TensorSharding, UnaryOp, ValueId, ValueMap,
};

use super::collect::{OUTPUT, PARAMETERS, SHARDING, collect, home, is_annotated, is_call, short, strings};
use super::hlo::{HloSharding, Leaf, LeafKind, ShardGroup};
use super::manual;
use super::sdy_text;
use super::state::Import;
use super::text::TextError;
use super::to_axes::{MeshPlacement, Placed};
use crate::annotations::remesh;

/// Imports every annotation of a program. Afterwards no `mhlo.sharding`, no `xla.sdy.*` attribute and no sharding
/// custom call is left, and calls in manual computations are inlined. A program without such annotations is
/// unchanged.
///
/// `mesh` is the mesh to import onto; if it is `None`, a mesh is inferred. If `mesh` does not fit the tiles, a mesh is inferred, and
/// `mesh` then replaces it axis by axis ([`remesh`]).
///
/// Returns warnings.
///
/// # Errors
/// * A text cannot be parsed (`SH0340`, `SH0341`).
/// * No mesh fits (`SH0342`, `SH0343`).
/// * A sharding does not fit its value (`SH0344`).
/// * The device-local part of the program cannot be separated from the rest (`SH0345`, `SH0346`).
/// * `mesh` cannot replace the inferred mesh ([`remesh::replace_mesh`]).
pub fn import_gspmd(module: &mut Module, mesh: Option<&Mesh>) -> Result<Vec<Diagnostic>, Vec<Diagnostic>> {
    if !is_annotated(module) {
        return Ok(Vec::new());
    }
    let mut warnings = Vec::new();
    if matches!(module.attrs.get("mhlo.use_auto_spmd_partitioning"), Some(Attr::Bool(true))) {
        let message = "the program requests XLA's automatic sharding, which is not supported; only its annotations are used";
        warnings.push(Diagnostic::warning(Class::Unsupported, "SH0349", message));
    }
    if let Some(text) = sdy_text::frontend(&module.attrs, sdy_text::MESHES).map(str::to_owned) {
        sdy_text::meshes(module, &text)
            .map_err(|e| vec![sdy_error(sdy_text::MESHES, &text, &e, Span::NONE)])?;
    }
    // If Shardy exported the program to XLA, the program also has Shardy's own shardings, and the GSPMD shardings are redundant.
    let round_trip = sdy_text::add_meshes(module);
    let mut texts = collect(module)?;
    if round_trip {
        texts.clear();
    }
    let (home_mesh, instead) = home(module, &texts, mesh, round_trip)?;
    let home = MeshPlacement::new(module, home_mesh);
    let uses = module.uses();
    let errors = {
        let mut import = Import {
            rw: Rewriter::new(module),
            home,
            texts,
            replaced: ValueMap::new(),
            crossings: FxHashMap::default(),
            marked: FxHashMap::default(),
            formed: FxHashSet::default(),
            terminator: None,
            uses,
            errors: Vec::new(),
        };
        import.module_attrs();
        let order = manual::callers_first(import.rw.module);
        for &func in &order {
            import.func(func);
        }
        import.replaced.resolve_all(import.rw.module);
        if import.errors.is_empty() {
            manual::form_all(&mut import, &order);
            import.replaced.resolve_all(import.rw.module);
            manual::inline_bodies(import.rw.module)?;
        }
        import.errors
    };
    if !errors.is_empty() {
        return Err(errors);
    }
    if let (Some(mesh), Some(by)) = (mesh, instead) {
        remesh::replace(module, mesh, by)?;
    }
    Ok(warnings)
}

pub(super) fn sdy_error(name: &str, text: &str, error: &TextError, span: Span) -> Diagnostic {
    let message = format!("the attribute {name} = {} cannot be read: {error}", short(text));
    let diagnostic = match error.unsupported {
        true => Diagnostic::unsupported("SH0341", message),
        false => Diagnostic::invalid("SH0341", message),
    };
    diagnostic.at(span)
}

impl Import<'_> {
    /// Imports the shardings of the entry function's parameters and results from the module's attributes.
    fn module_attrs(&mut self) {
        // The module's attributes are moved to the function, so that they are read in only one place. An attribute of an argument itself
        // takes precedence.
        let entry = self.rw.module.entry();
        let mut move_to = |name: &str, arguments: bool| {
            let Some(attr) = self.rw.module.attrs.remove(name) else { return };
            let Some(func) = entry.map(|id| &mut self.rw.module.funcs[id]) else { return };
            let count = if arguments { func.params.len() } else { func.results.len() };
            let list = if arguments { &mut func.arg_attrs } else { &mut func.res_attrs };
            list.resize(count, AttrDict::new());
            let mut texts: Vec<String> = Vec::new();
            for text in strings(Some(&attr)) {
                // The text may be a tuple with one sharding for each parameter or result.
                match self.texts.get(text).map(|found| &found.sharding) {
                    Some(HloSharding::Tuple(leaves)) => texts.extend(leaves.iter().map(Leaf::to_string)),
                    _ => texts.push(text.to_owned()),
                }
            }
            for text in &texts {
                if !self.texts.contains_key(text.as_str())
                    && let Ok(sharding) = text.parse()
                {
                    self.texts.insert(text.as_str().into(), super::collect::FoundText::new(sharding));
                }
            }
            if texts.len() == count {
                for (attrs, text) in list.iter_mut().zip(texts) {
                    if attrs.get(SHARDING).is_none() && !sdy_text::has_any(attrs) {
                        attrs.set(SHARDING, Attr::Str(text.into()));
                    }
                }
            }
        };
        move_to(PARAMETERS, true);
        move_to(OUTPUT, false);
        for (name, arguments) in [(sdy_text::TUPLE_ARGS, true), (sdy_text::TUPLE_RESULTS, false)] {
            let Some(text) = sdy_text::frontend(&self.rw.module.attrs, name).map(str::to_owned) else {
                continue;
            };
            match (sdy_text::per_value(self.rw.module, &text), entry) {
                (Err(error), _) => self.errors.push(sdy_error(name, &text, &error, Span::NONE)),
                (Ok(_), None) => {}
                (Ok(list), Some(func)) => {
                    let ids: Vec<ShardingId> =
                        list.into_iter().map(|s| self.rw.module.shardings.intern(s)).collect();
                    let args =
                        self.rw.module.funcs[func].body.map(|body| self.rw.module.regions[body].args.clone());
                    let count = if arguments {
                        args.as_ref().map_or(0, Vec::len)
                    } else {
                        self.rw.module.funcs[func].results.len()
                    };
                    if ids.len() != count {
                        let message = format!("{name} has {} shardings, expected {count}", ids.len());
                        self.errors.push(Diagnostic::invalid("SH0344", message));
                    } else if arguments {
                        for (arg, id) in args.unwrap_or_default().into_iter().zip(ids) {
                            self.rw.module.shardings.set(arg, Some(id));
                        }
                    } else {
                        self.rw.module.funcs[func].res_shardings =
                            ids.into_iter().map(PackedOption::from).collect();
                    }
                }
            }
        }
        sdy_text::drop_all(&mut self.rw.module.attrs);
    }

    fn func(&mut self, id: FuncId) {
        let span = self.rw.module.funcs[id].span;
        let name = self.rw.module.funcs[id].name.clone();
        let is_entry = self.rw.module.entry() == Some(id);
        let Some(body) = self.rw.module.funcs[id].body else {
            // Annotations on a declaration do not affect its calls.
            let data = &mut self.rw.module.funcs[id];
            for attrs in data.arg_attrs.iter_mut().chain(&mut data.res_attrs) {
                attrs.remove(SHARDING);
                sdy_text::drop_all(attrs);
            }
            return;
        };
        let args = self.rw.module.regions[body].args.clone();
        let mut first: Vec<OpId> = Vec::new();
        for (i, &arg) in args.iter().enumerate() {
            let mut attrs = std::mem::take(match self.rw.module.funcs[id].arg_attrs.get_mut(i) {
                Some(attrs) => attrs,
                None => continue,
            });
            let what = || format!("argument {i} of @{name}");
            if let Some((sharding, group)) = self.of_value(&mut attrs, arg, span, is_entry, &what) {
                // If the argument already has a sharding from Shardy, that takes precedence.
                if let Some(sharding) = sharding.filter(|_| self.rw.module.shardings.of(arg).is_none()) {
                    let sharding = self.rw.module.shardings.intern(sharding);
                    self.rw.module.shardings.set(arg, Some(sharding));
                }
                first.extend(group.map(|group| self.group_op(arg, group, span)));
            }
            self.rw.module.funcs[id].arg_attrs[i] = attrs;
        }
        self.terminator = self.rw.module.terminator(body);
        let returned = self.terminator.map(|op| self.rw.module.ops[op].operands.clone());
        for (i, value) in returned.unwrap_or_default().into_iter().enumerate() {
            let mut attrs = std::mem::take(match self.rw.module.funcs[id].res_attrs.get_mut(i) {
                Some(attrs) => attrs,
                None => continue,
            });
            let what = || format!("result {i} of @{name}");
            if let Some((Some(sharding), _)) = self.of_value(&mut attrs, value, span, is_entry, &what) {
                let sharding = self.rw.module.shardings.intern(sharding);
                let results = self.rw.module.funcs[id].results.len();
                let list = &mut self.rw.module.funcs[id].res_shardings;
                list.resize(results, PackedOption::default());
                if let Some(slot) = list.get_mut(i).filter(|slot| slot.is_none()) {
                    *slot = sharding.into();
                }
            }
            self.rw.module.funcs[id].res_attrs[i] = attrs;
        }
        let mut regions = vec![body];
        while let Some(region) = regions.pop() {
            self.rw.enter(region);
            first.drain(..).for_each(|group| self.rw.insert(group));
            while let Some(op) = self.rw.next_op() {
                regions.extend(self.rw.module.ops[op].regions.iter().copied());
                let before = self.errors.len();
                self.op(op, id);
                for error in &mut self.errors[before..] {
                    error.user_loc = self.rw.module.user_loc(op);
                }
            }
        }
    }

    /// Removes the annotation of an argument or result of a function, and returns it.
    fn of_value(
        &mut self,
        attrs: &mut AttrDict,
        value: ValueId,
        span: Span,
        is_entry: bool,
        what: &dyn Fn() -> String,
    ) -> Option<(Option<TensorSharding>, Option<ShardGroup>)> {
        let old = attrs.remove(SHARDING);
        if let Some(text) = sdy_text::frontend(attrs, sdy_text::SHARDING).map(str::to_owned) {
            sdy_text::drop_all(attrs);
            return match sdy_text::sharding(self.rw.module, &text) {
                Ok(sharding) => Some((Some(sharding), None)),
                Err(error) => {
                    self.errors.push(sdy_error(sdy_text::SHARDING, &text, &error, span));
                    None
                }
            };
        }
        sdy_text::drop_all(attrs);
        let Some(Attr::Str(text)) = old else { return None };
        let sharding = self.texts.get(&*text).map(|found| found.sharding.clone())?;
        let Some(rank) = self.rw.module.stored(value).map(shardc_ir::TensorType::rank) else {
            self.of_no_tensor(&text, &sharding, span, what);
            return None;
        };
        let leaf = match sharding {
            HloSharding::Single(leaf) => leaf,
            HloSharding::Tuple(mut leaves) if leaves.len() == 1 => leaves.remove(0),
            HloSharding::Tuple(_) => {
                self.misfit(&text, span, what, "it is for a tuple");
                return None;
            }
        };
        let placed = self.place(&text, &leaf, rank, &[], span, what)?;
        if !placed.manual.is_empty() && is_entry {
            let message = format!("{} is local to each device ({})", what(), short(&text));
            self.errors.push(
                Diagnostic::unsupported("SH0345", message)
                    .at(span)
                    .hint("give the entry function global values; local values may only be between @SPMDFullToShardShape and @SPMDShardToFullShape"),
            );
            return None;
        }
        let local = !placed.manual.is_empty() && placed.sharding.is_unsplit();
        Some(((!local).then_some(placed.sharding), leaf.group))
    }

    /// Rejects a sharding of a value that is not a tensor, unless the sharding shards nothing. The IR cannot represent such a sharding, and
    /// it must not be dropped silently.
    pub(super) fn of_no_tensor(
        &mut self,
        text: &str,
        sharding: &HloSharding,
        span: Span,
        what: &dyn Fn() -> String,
    ) {
        let leaves = match sharding {
            HloSharding::Single(leaf) => std::slice::from_ref(leaf),
            HloSharding::Tuple(leaves) => leaves,
        };
        if leaves.iter().any(|leaf| matches!(leaf.kind, LeafKind::Tiled(_) | LeafKind::Unreduced)) {
            let message = format!("the sharding {} is on {}, which is not a tensor", short(text), what());
            self.errors.push(
                Diagnostic::unsupported("SH0344", message)
                    .at(span)
                    .hint("annotate each tensor of a tuple at its producer"),
            );
        }
    }

    fn misfit(&mut self, text: &str, span: Span, what: &dyn Fn() -> String, why: &str) {
        let message = format!("the sharding {} does not fit {}: {why}", short(text), what());
        self.errors.push(Diagnostic::invalid("SH0344", message).at(span));
    }

    pub(super) fn place(
        &mut self,
        text: &str,
        leaf: &Leaf,
        rank: usize,
        open: &[i64],
        span: Span,
        what: &dyn Fn() -> String,
    ) -> Option<Placed> {
        let open = |d: usize| open.contains(&(d as i64));
        match self.home.place(self.rw.module, leaf, rank, &open) {
            Ok(placed) => Some(placed),
            Err(why) => {
                self.misfit(text, span, what, &why);
                None
            }
        }
    }

    pub(super) fn group_op(&mut self, value: ValueId, group: ShardGroup, span: Span) -> OpId {
        let (ShardGroup::As(id) | ShardGroup::Like(id)) = group;
        let op = self.rw.module.add_op(OpKind::ShardingGroup { id }, &[value], &[], &[]);
        self.rw.module.ops[op].span = span;
        op
    }

    /// Imports the annotations of the current operation.
    fn op(&mut self, op: OpId, func: FuncId) {
        let data = &mut self.rw.module.ops[op];
        let old = data.attrs.remove(SHARDING);
        let sdy = sdy_text::has_any(&data.attrs);
        if old.is_none() && !sdy && !matches!(&data.kind, OpKind::CustomCall(call) if is_call(&call.target)) {
            return;
        }
        // Shardy's attributes are removed from the operation; `frontend` keeps a copy of all attributes for the code below.
        let frontend = std::mem::take(&mut data.attrs);
        data.attrs = frontend.clone();
        sdy_text::drop_all(&mut data.attrs);
        let text = match old {
            Some(Attr::Str(text)) if self.texts.contains_key(&*text) => Some(text),
            _ => None,
        };
        if let Some(rule) = sdy_text::frontend(&frontend, sdy_text::RULE) {
            self.rw.module.ops[op].attrs.set_sharding_rule(rule);
        }
        let target = match &self.rw.module.ops[op].kind {
            OpKind::CustomCall(call) if is_call(&call.target) => call.target.clone(),
            OpKind::Unary(UnaryOp::Copy) => "Sharding".into(),
            _ => {
                // The current operation is kept first, so that the sharding groups, which use its results, are inserted after it.
                self.rw.keep();
                self.annotated(op, text.as_deref());
                return;
            }
        };
        let done = match &*target {
            "Sharding" => self.constraint(op, text.as_deref(), &frontend),
            "SPMDFullToShardShape" | "SPMDShardToFullShape" => self.crossing(op, text.as_deref(), &target),
            _ => self.shardy_call(op, func, &target, &frontend),
        };
        if let Err(error) = done {
            self.errors.push(*error);
        }
    }

    /// Imports the sharding of each result of an operation.
    fn annotated(&mut self, op: OpId, text: Option<&str>) {
        let Some(text) = text else { return };
        let Some(sharding) = self.texts.get(text).map(|found| found.sharding.clone()) else { return };
        let (results, span) = (self.rw.module.ops[op].results.clone(), self.rw.module.ops[op].span);
        let name = self.rw.module.ops[op].kind.title().into_owned();
        let leaves = match sharding {
            HloSharding::Single(leaf) => vec![leaf; results.len()],
            HloSharding::Tuple(leaves) if leaves.len() == results.len() => leaves,
            sharding if results.iter().any(|&r| self.rw.module.stored(r).is_none()) || results.is_empty() => {
                self.of_no_tensor(text, &sharding, span, &|| name.clone());
                return;
            }
            HloSharding::Tuple(leaves) => {
                let why =
                    format!("it is for {} values, but the operation has {}", leaves.len(), results.len());
                self.misfit(text, span, &|| name.clone(), &why);
                return;
            }
        };
        for (i, (&result, leaf)) in results.iter().zip(&leaves).enumerate() {
            let what = || format!("result {i} of {name}");
            let Some(rank) = self.rw.module.stored(result).map(shardc_ir::TensorType::rank) else {
                self.of_no_tensor(text, &HloSharding::Single(leaf.clone()), span, &what);
                continue;
            };
            let Some(placed) = self.place(text, leaf, rank, &[], span, &what) else { return };
            if !placed.manual.is_empty() {
                self.marked.insert(op, placed.manual.clone());
            }
            let says_nothing = matches!(leaf.kind, LeafKind::Unknown) || self.is_local(&placed);
            if !says_nothing {
                let id = self.rw.module.shardings.intern(placed.sharding);
                self.rw.module.shardings.set(result, Some(id));
            }
            if let Some(group) = leaf.group {
                let group = self.group_op(result, group, span);
                self.rw.insert(group);
            }
        }
    }

    /// Erases the current operation and replaces its `result` by `value`.
    pub(super) fn replace(&mut self, result: ValueId, value: ValueId) {
        // `value` may itself have been replaced: the operation that defines it was visited earlier.
        let value = self.replaced.get(value);
        self.replaced.insert(result, value);
        self.rw.erase();
    }

    /// Whether all axes of the mesh are manual, so that no axis is left to shard the value.
    pub(super) fn is_local(&self, placed: &Placed) -> bool {
        let mesh = &self.rw.module.meshes[placed.sharding.mesh];
        !placed.manual.is_empty()
            && placed.manual.len() == mesh.axes.len()
            // A sharding lists an axis only once. So if it has as many manual axes as the mesh has axes, and none is a sub-axis, all axes
            // are manual.
            && placed.manual.iter().all(|axis| axis.sub.is_none())
    }
}
