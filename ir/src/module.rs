//! The module: arenas of operations, values and regions, and the functions over them.

use cranelift_entity::{EntityRef, PrimaryMap, SecondaryMap, packed_option::PackedOption};
use indexmap::IndexMap;
use smallvec::SmallVec;

use crate::{
    AttrDict, DTypeClass, Dense, Diagnostic, Enclosing, FuncId, Kept, KeptKind, Loc, LocId, LocTable, Mesh,
    MeshId, OpId, OpKind, RegionId, ShardingId, ShardingTable, SizeList, Span, TensorType, TypeId, TypeTable,
    ValueId,
};

/// An operation.
#[derive(Clone, Debug)]
pub struct Op {
    /// The operation's kind and typed attributes.
    pub kind: OpKind,
    /// The operands.
    pub operands: SmallVec<[ValueId; 3]>,
    /// The results.
    pub results: SmallVec<[ValueId; 1]>,
    /// The regions of the operation.
    pub regions: SmallVec<[RegionId; 1]>,
    /// Attributes that shardc keeps but does not read.
    pub attrs: AttrDict,
    /// The position in the source text.
    pub span: Span,
    /// The MLIR location (`loc(...)`), if any.
    pub loc: PackedOption<LocId>,
}

/// The definition of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueDef {
    /// Result `index` of an operation.
    Result(OpId, u32),
    /// Argument `index` of a region.
    Arg(RegionId, u32),
}

/// A value.
#[derive(Clone, Copy, Debug)]
pub struct Value {
    /// The type of the value.
    pub ty: TypeId,
    pub(crate) def: ValueDef,
}

impl Value {
    /// The definition of the value.
    #[must_use]
    pub fn def(&self) -> ValueDef {
        self.def
    }
}

/// The operations of a region, in order: a slice of handles that only [`Module`] and [`rewrite`](crate::rewrite) change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpList(pub(crate) Vec<OpId>);

impl std::ops::Deref for OpList {
    type Target = [OpId];

    fn deref(&self) -> &[OpId] {
        &self.0
    }
}

impl<'a> IntoIterator for &'a OpList {
    type Item = &'a OpId;
    type IntoIter = std::slice::Iter<'a, OpId>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl IntoIterator for OpList {
    type Item = OpId;
    type IntoIter = std::vec::IntoIter<OpId>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

/// A region with one block: StableHLO has no control flow between blocks.
#[derive(Clone, Debug)]
pub struct Region {
    /// The arguments of the region.
    pub args: Vec<ValueId>,
    /// Location of each argument, if given; empty if none is.
    pub arg_locs: Vec<PackedOption<LocId>>,
    /// Operations in order; the last is the terminator ([`OpKind::Return`]).
    pub ops: OpList,
}

/// Visibility of a function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Visibility {
    /// The text has no visibility keyword.
    #[default]
    Default,
    /// `public`.
    Public,
    /// `private`.
    Private,
    /// `nested`: not visible outside of the module and its enclosing modules.
    Nested,
}

impl Visibility {
    /// Whether the function may be called from outside of the program.
    #[must_use]
    pub fn is_public(self) -> bool {
        matches!(self, Visibility::Default | Visibility::Public)
    }

    /// Returns the keyword of the visibility; `None` for [`Visibility::Default`].
    #[must_use]
    pub fn word(self) -> Option<&'static str> {
        match self {
            Visibility::Default => None,
            Visibility::Public => Some("public"),
            Visibility::Private => Some("private"),
            Visibility::Nested => Some("nested"),
        }
    }
}

/// A function.
#[derive(Clone, Debug)]
pub struct Func {
    /// Name, without `@`.
    pub name: Box<str>,
    /// Visibility.
    pub visibility: Visibility,
    /// The body; its arguments are the parameters. `None` for a declaration.
    pub body: Option<RegionId>,
    /// Types of the parameters; for a definition, the types of the body's arguments.
    pub params: Vec<TypeId>,
    /// Types of the results.
    pub results: Vec<TypeId>,
    /// Attributes of each parameter, except its sharding (see [`Module::shardings`]).
    pub arg_attrs: Vec<AttrDict>,
    /// Attributes of each result, except its sharding.
    pub res_attrs: Vec<AttrDict>,
    /// Sharding of each result, if annotated or inferred.
    pub res_shardings: Vec<PackedOption<ShardingId>>,
    /// Location of each parameter, if given; empty if none is.
    pub arg_locs: Vec<PackedOption<LocId>>,
    /// Name of each parameter in the source text, without `%`; empty if it is `arg0`, `arg1`, ... or unknown.
    pub arg_names: Vec<Box<str>>,
    /// Position of each parameter's name in the source text; empty if unknown.
    pub arg_spans: Vec<Span>,
    /// Position of each result's type in the source text; empty if unknown.
    pub res_spans: Vec<Span>,
    /// Other attributes of the function.
    pub attrs: AttrDict,
    /// The position in the source text.
    pub span: Span,
    /// The MLIR location (`loc(...)`), if any.
    pub loc: PackedOption<LocId>,
}

impl Func {
    /// Creates a private function definition without attributes, shardings and locations. `params` are the types of the arguments of
    /// `body`.
    #[must_use]
    pub fn private(name: &str, body: RegionId, params: Vec<TypeId>, results: Vec<TypeId>) -> Func {
        Func {
            name: name.into(),
            visibility: Visibility::Private,
            body: Some(body),
            arg_attrs: vec![AttrDict::new(); params.len()],
            res_attrs: vec![AttrDict::new(); results.len()],
            res_shardings: vec![PackedOption::default(); results.len()],
            params,
            results,
            arg_locs: Vec::new(),
            arg_names: Vec::new(),
            arg_spans: Vec::new(),
            res_spans: Vec::new(),
            attrs: AttrDict::new(),
            span: Span::NONE,
            loc: PackedOption::default(),
        }
    }
}

/// The position of a mesh definition in the source text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MeshPlace {
    /// The number of functions that precede the mesh in the text.
    pub funcs_above: u32,
    /// The number of meshes and of parts kept as text that precede the mesh in the text.
    pub others_above: u32,
    /// The position of the mesh's name in the source text.
    pub span: Span,
    /// The MLIR location (`loc(...)`), if any.
    pub loc: PackedOption<LocId>,
}

/// A program.
#[derive(Clone, Debug, Default)]
pub struct Module {
    /// Name (`@jit_f`), without `@`.
    pub name: Option<Box<str>>,
    /// Attributes of the module.
    pub attrs: AttrDict,
    /// Meshes; names are in [`Module::mesh_names`].
    pub meshes: PrimaryMap<MeshId, Mesh>,
    /// The mesh with each name, without `@`, in order of appearance.
    pub mesh_names: IndexMap<Box<str>, MeshId>,
    /// The position of each mesh definition in the source text; absent for a mesh that a builder or a pass created.
    pub mesh_places: SecondaryMap<MeshId, MeshPlace>,
    /// Functions in order of appearance.
    pub funcs: PrimaryMap<FuncId, Func>,
    /// The function with each name.
    pub func_names: IndexMap<Box<str>, FuncId>,
    /// Top-level parts that shardc does not support, kept as text.
    pub kept: Vec<Kept>,
    /// The enclosing modules, outermost first.
    pub enclosing: Vec<Enclosing>,
    /// All operations, including removed ones that are in no region.
    pub ops: PrimaryMap<OpId, Op>,
    /// All values.
    pub values: PrimaryMap<ValueId, Value>,
    /// All regions.
    pub regions: PrimaryMap<RegionId, Region>,
    /// Interned types.
    pub types: TypeTable,
    /// Interned locations.
    pub locs: LocTable,
    /// Interned shardings and the sharding of each value.
    pub shardings: ShardingTable,
    /// `{-# ... #-}` at the end of the file, verbatim.
    pub resources: Option<Box<str>>,
    /// The MLIR location (`loc(...)`) of the module, if any.
    pub loc: PackedOption<LocId>,
}

impl Func {
    /// Returns the position of parameter `i` in the source text; if unknown, the position of the function.
    #[must_use]
    pub fn arg_span(&self, i: usize) -> Span {
        self.arg_spans.get(i).copied().unwrap_or(self.span)
    }

    /// Returns the position of result `i` in the source text; if unknown, the position of the function.
    #[must_use]
    pub fn res_span(&self, i: usize) -> Span {
        self.res_spans.get(i).copied().unwrap_or(self.span)
    }

    /// The front end's name of parameter `i`: the name in its location in `locs`, or else its attribute `jax.arg_info`.
    #[must_use]
    pub fn argument_name(&self, locs: &LocTable, i: usize) -> Option<String> {
        let loc = self.arg_locs.get(i).and_then(|loc| loc.expand());
        match loc.map(|loc| locs.get(loc)) {
            Some(Loc::Name { name, .. }) => Some(name.to_string()),
            _ => self.arg_attrs.get(i)?.arg_info().map(str::to_owned),
        }
    }

    /// The name of parameter `i` for messages: the front end's name, or the name in the text, or `argN`.
    #[must_use]
    pub fn shown_argument(&self, locs: &LocTable, i: usize) -> String {
        let of_text = || self.arg_names.get(i).filter(|name| !name.is_empty()).map(|name| name.to_string());
        self.argument_name(locs, i).or_else(of_text).unwrap_or_else(|| format!("arg{i}"))
    }

    /// The front end's name of result `i`: its attribute `jax.result_info`.
    #[must_use]
    pub fn result_name(&self, i: usize) -> Option<String> {
        self.res_attrs.get(i)?.result_info().map(str::to_owned)
    }
}

impl Module {
    /// An empty module.
    #[must_use]
    pub fn new() -> Self {
        Module::default()
    }

    /// Adds a mesh under a name. A second mesh with the same name replaces the first in [`Module::mesh_names`].
    pub fn add_mesh(&mut self, name: &str, mesh: Mesh) -> MeshId {
        let id = self.meshes.push(mesh);
        self.mesh_names.insert(name.into(), id);
        id
    }

    /// The name of a mesh of the module.
    #[must_use]
    pub fn mesh_name(&self, mesh: MeshId) -> &str {
        self.mesh_names.iter().find(|(_, id)| **id == mesh).map_or("?", |(name, _)| name)
    }

    /// Adds a function.
    pub fn add_func(&mut self, func: Func) -> FuncId {
        let name = func.name.clone();
        let id = self.funcs.push(func);
        self.func_names.insert(name, id);
        id
    }

    /// Removes the functions that `keep` rejects, and returns them in order. Other parts of the text keep their positions among the
    /// remaining functions. Handles of functions change.
    pub fn retain_funcs(&mut self, keep: impl Fn(FuncId, &Func) -> bool) -> Vec<Func> {
        let mut refused = Vec::new();
        // The number of remaining functions that precede each position. There is one more position than functions, since parts may follow
        // the last function.
        let mut stay_above = vec![0];
        self.func_names.clear();
        for (id, func) in std::mem::take(&mut self.funcs) {
            if keep(id, &func) {
                self.add_func(func);
            } else {
                refused.push(func);
            }
            stay_above.push(self.funcs.len() as u32);
        }
        let place = |above: u32| stay_above.get(above as usize).or(stay_above.last()).copied().unwrap_or(0);
        for kept in &mut self.kept {
            kept.funcs_above = place(kept.funcs_above);
        }
        for mesh in self.meshes.keys() {
            self.mesh_places[mesh].funcs_above = place(self.mesh_places[mesh].funcs_above);
        }
        refused
    }

    /// The entry function: `main`, or else the only public function, or else the only function.
    #[must_use]
    pub fn entry(&self) -> Option<FuncId> {
        if let Some(&id) = self.func_names.get("main") {
            return Some(id);
        }
        // The program has a `main` that shardc does not support. Using any other function would silently compile the wrong program.
        if self.kept_symbol("main").is_some() {
            return None;
        }
        let mut public = self.funcs.iter().filter(|(_, f)| f.visibility.is_public());
        match (public.next(), public.next()) {
            (Some((id, _)), None) => Some(id),
            _ => None,
        }
    }

    /// Adds an empty region with arguments of these types.
    pub fn add_region(&mut self, arg_types: &[TypeId]) -> RegionId {
        let region =
            self.regions.push(Region { args: Vec::new(), arg_locs: Vec::new(), ops: OpList(Vec::new()) });
        for (i, &ty) in arg_types.iter().enumerate() {
            let arg = self.values.push(Value { ty, def: ValueDef::Arg(region, i as u32) });
            self.regions[region].args.push(arg);
        }
        region
    }

    /// Adds an argument to a region.
    pub fn add_arg(&mut self, region: RegionId, ty: TypeId) -> ValueId {
        let index = self.regions[region].args.len() as u32;
        let arg = self.values.push(Value { ty, def: ValueDef::Arg(region, index) });
        self.regions[region].args.push(arg);
        arg
    }

    /// Appends an unnamed parameter to a function and an argument to its body. Returns the index of the parameter and the argument.
    pub fn add_parameter(&mut self, func: FuncId, body: RegionId, ty: TypeId) -> (usize, ValueId) {
        let value = self.add_arg(body, ty);
        let func = &mut self.funcs[func];
        let place = func.params.len();
        func.params.push(ty);
        func.arg_attrs.resize(place + 1, AttrDict::default());
        if !func.arg_locs.is_empty() {
            func.arg_locs.resize(place + 1, None.into());
        }
        // The names in the text are those of the original parameters; the new one gets a default name.
        if !func.arg_names.is_empty() {
            func.arg_names.push(format!("arg{place}").into());
        }
        if !func.arg_spans.is_empty() {
            func.arg_spans.push(func.span);
        }
        (place, value)
    }

    /// Adds an operation and its results; the operation is not in a region yet.
    pub fn add_op(
        &mut self,
        kind: OpKind,
        operands: &[ValueId],
        result_types: &[TypeId],
        regions: &[RegionId],
    ) -> OpId {
        let id = OpId::new(self.ops.len());
        let results = result_types
            .iter()
            .enumerate()
            .map(|(i, &ty)| self.values.push(Value { ty, def: ValueDef::Result(id, i as u32) }))
            .collect();
        self.ops.push(Op {
            kind,
            operands: SmallVec::from_slice(operands),
            results,
            regions: SmallVec::from_slice(regions),
            attrs: AttrDict::new(),
            span: Span::NONE,
            loc: PackedOption::default(),
        })
    }

    /// Adds a copy of an operation without its regions, its span and its location. The results have the types and shardings of the
    /// original results; the operation is not in a region yet.
    pub fn add_copy(&mut self, original: OpId, operands: SmallVec<[ValueId; 3]>) -> OpId {
        let Module { ops, values, shardings, .. } = self;
        let id = ops.next_key();
        let source = &ops[original];
        let results = source.results.iter().enumerate().map(|(i, &result)| {
            let value = values.push(Value { ty: values[result].ty, def: ValueDef::Result(id, i as u32) });
            if let Some(sharding) = shardings.of(result) {
                shardings.set(value, Some(sharding));
            }
            value
        });
        let copy = Op {
            kind: source.kind.clone(),
            operands,
            results: results.collect(),
            regions: SmallVec::new(),
            attrs: source.attrs.clone(),
            span: Span::NONE,
            loc: PackedOption::default(),
        };
        ops.push(copy)
    }

    /// Replaces the list of operations of a region.
    pub fn set_ops(&mut self, region: RegionId, ops: Vec<OpId>) {
        self.regions[region].ops.0 = ops;
    }

    /// Appends an operation to a region.
    pub fn push_op(&mut self, region: RegionId, op: OpId) {
        self.regions[region].ops.0.push(op);
    }

    /// Inserts an operation at an index in a region.
    ///
    /// # Panics
    /// Panics if the region has fewer operations than `at`.
    pub fn insert_op(&mut self, region: RegionId, at: usize, op: OpId) {
        self.regions[region].ops.0.insert(at, op);
    }

    /// Removes the operations of a region that `keep` rejects; they stay in [`Module::ops`].
    pub fn retain_ops(&mut self, region: RegionId, mut keep: impl FnMut(&Module, OpId) -> bool) {
        let mut ops = std::mem::take(&mut self.regions[region].ops.0);
        ops.retain(|&op| keep(self, op));
        self.regions[region].ops.0 = ops;
    }

    /// Removes the arguments of a region that `keep` rejects, with their locations. The removed arguments must have no uses.
    pub fn retain_args(&mut self, region: RegionId, keep: impl Fn(usize) -> bool) {
        let data = &mut self.regions[region];
        let kept = |i: &mut usize| keep(std::mem::replace(i, *i + 1));
        let (mut arg, mut loc) = (0, 0);
        data.args.retain(|_| kept(&mut arg));
        data.arg_locs.retain(|_| kept(&mut loc));
        for (i, &arg) in data.args.iter().enumerate() {
            self.values[arg].def = ValueDef::Arg(region, i as u32);
        }
    }

    /// Removes the results of an operation that `keep` rejects. The removed results must have no uses.
    pub fn retain_results(&mut self, op: OpId, keep: impl Fn(usize) -> bool) {
        let mut places = 0..;
        self.ops[op].results.retain(|_| places.next().is_some_and(&keep));
        for (i, &result) in self.ops[op].results.clone().iter().enumerate() {
            self.values[result].def = ValueDef::Result(op, i as u32);
        }
    }

    /// Replaces result `index` of an operation by a new value of the same type without a sharding. Returns the old value, which has no
    /// definition until [`Module::give_result`] or [`Module::take_over`].
    pub fn renew_result(&mut self, op: OpId, index: usize) -> ValueId {
        let old = self.ops[op].results[index];
        let ty = self.values[old].ty;
        let fresh = self.values.push(Value { ty, def: ValueDef::Result(op, index as u32) });
        std::mem::replace(&mut self.ops[op].results[index], fresh)
    }

    /// Replaces argument `index` of a region by a new value of the same type without a sharding. Returns the old value, which has no
    /// definition until [`Module::give_result`] or [`Module::take_over`].
    pub fn renew_arg(&mut self, region: RegionId, index: usize) -> ValueId {
        let old = self.regions[region].args[index];
        let fresh = Value { ty: self.values[old].ty, def: ValueDef::Arg(region, index as u32) };
        let fresh = self.values.push(fresh);
        std::mem::replace(&mut self.regions[region].args[index], fresh)
    }

    /// Appends a value without a definition to the results of an operation.
    pub fn give_result(&mut self, op: OpId, value: ValueId) {
        self.values[value].def = ValueDef::Result(op, self.ops[op].results.len() as u32);
        self.ops[op].results.push(value);
    }

    /// Replaces the result `fresh` by `old`, so that users of `old` read that result. `fresh` must have no uses.
    pub fn take_over(&mut self, fresh: ValueId, old: ValueId) {
        let def = self.values[fresh].def;
        if let ValueDef::Result(op, i) = def {
            self.values[old].def = def;
            self.ops[op].results[i as usize] = old;
        }
    }

    /// Appends a new result to an operation.
    pub fn add_result(&mut self, op: OpId, ty: TypeId) -> ValueId {
        let index = self.ops[op].results.len() as u32;
        let value = self.values.push(Value { ty, def: ValueDef::Result(op, index) });
        self.ops[op].results.push(value);
        value
    }

    /// Returns the tensor type of a value; `None` for quantized tensors, tokens, tuples and others.
    #[must_use]
    #[inline]
    pub fn tensor(&self, value: ValueId) -> Option<&TensorType> {
        self.types.as_tensor(self.values[value].ty)
    }

    /// Returns the tensor type of a value as stored in memory: the elements of a quantized tensor have the storage type. `None` for tokens,
    /// tuples and others. This type gives the shape and the size in bytes, but not the meaning of elements.
    #[must_use]
    #[inline]
    pub fn stored(&self, value: ValueId) -> Option<&TensorType> {
        self.types.stored(self.values[value].ty)
    }

    /// Whether the elements of a value are quantized.
    #[must_use]
    #[inline]
    pub fn is_quantized(&self, value: ValueId) -> bool {
        self.types.as_quantized(self.values[value].ty).is_some()
    }

    /// Rank of a tensor, quantized or not; 0 for other values.
    #[must_use]
    #[inline]
    pub fn rank(&self, value: ValueId) -> usize {
        self.shape(value).len()
    }

    /// Shape of a tensor, quantized or not; empty for other values.
    #[must_use]
    #[inline]
    pub fn shape(&self, value: ValueId) -> &[i64] {
        self.types.shape_of(self.values[value].ty).map_or(&[], |shape| shape)
    }

    /// Returns the operation that defines a value; `None` for an argument.
    #[must_use]
    #[inline]
    pub fn def_op(&self, value: ValueId) -> Option<OpId> {
        match self.values[value].def {
            ValueDef::Result(op, _) => Some(op),
            ValueDef::Arg(..) => None,
        }
    }

    /// Returns the elements of an integer constant, row-major; `None` for other values, and for constants with more than 1024 elements.
    #[must_use]
    pub fn constant_integers(&self, value: ValueId) -> Option<SizeList> {
        /// Above this number of elements, a constant is not a list of dimensions or sizes.
        const MANY: i64 = 1024;
        let ty = self.tensor(value)?;
        let OpKind::Constant(dense) = &self.ops[self.def_op(value)?].kind else { return None };
        let count = ty.num_elements().filter(|&n| n <= MANY)?;
        let width = ty.dtype.bytes();
        let signed = ty.dtype.class() == DTypeClass::Signed;
        if !ty.dtype.is_integer() || width > 8 {
            return None;
        }
        let int = |bytes: &[u8]| -> i64 {
            // Little-endian: the last byte has the sign, which is extended. `0xff` of an `i8` is -1, of a `ui8` 255.
            let negative = signed && bytes.last().is_some_and(|&b| b >= 0x80);
            let mut word = if negative { [0xff; 8] } else { [0; 8] };
            for (to, &from) in word.iter_mut().zip(bytes) {
                *to = from;
            }
            i64::from_le_bytes(word)
        };
        let list: SizeList = match dense {
            Dense::Splat(bytes) => SizeList::from_elem(int(bytes), count as usize),
            Dense::Elements(bytes) => bytes.chunks_exact(width).map(int).collect(),
            Dense::Resource(_) | Dense::Raw(_) => return None,
        };
        (list.len() as i64 == count).then_some(list)
    }

    /// Returns the terminator of a region, if it has one.
    #[must_use]
    #[inline]
    pub fn terminator(&self, region: RegionId) -> Option<OpId> {
        let last = *self.regions[region].ops.last()?;
        matches!(self.ops[last].kind, OpKind::Return).then_some(last)
    }

    /// Every operation in `region` and in regions nested in it, in pre-order.
    #[must_use]
    pub fn walk(&self, region: RegionId) -> Vec<OpId> {
        self.walk_where(region, |_| true)
    }

    /// Returns every operation under `region`, in pre-order. The regions of operations that `enters` rejects are skipped.
    #[must_use]
    pub fn walk_where(&self, region: RegionId, enters: impl Fn(&OpKind) -> bool) -> Vec<OpId> {
        self.walk_with_regions(region, enters).0
    }

    /// The operations that [`Module::walk_where`] returns, and the regions that contain them, each region before the regions nested in it.
    #[must_use]
    pub fn walk_with_regions(
        &self,
        region: RegionId,
        enters: impl Fn(&OpKind) -> bool,
    ) -> (Vec<OpId>, Vec<RegionId>) {
        let (mut ops, mut regions) = (Vec::with_capacity(self.regions[region].ops.len()), vec![region]);
        // An explicit stack: the input determines the nesting, and recursion could overflow the stack.
        let mut stack: Vec<&[OpId]> = vec![&self.regions[region].ops];
        while let Some(mut rest) = stack.pop() {
            while let Some((&op, behind)) = rest.split_first() {
                ops.push(op);
                rest = behind;
                let data = &self.ops[op];
                // `enters` is called rarely, since most operations have no region.
                if !data.regions.is_empty() && enters(&data.kind) {
                    regions.extend(&data.regions);
                    stack.push(rest);
                    stack.extend(data.regions.iter().rev().map(|&r| &*self.regions[r].ops));
                    break;
                }
            }
        }
        (ops, regions)
    }

    /// Every operation in `region` and in regions nested in it, in post-order.
    #[must_use]
    pub fn walk_inner_first(&self, region: RegionId) -> Vec<OpId> {
        // Post-order is the reverse of a pre-order that visits the operations of each region from last to first.
        let mut out = Vec::new();
        let mut stack: Vec<OpId> = self.regions[region].ops.to_vec();
        while let Some(op) = stack.pop() {
            out.push(op);
            for &nested in &self.ops[op].regions {
                stack.extend(&self.regions[nested].ops);
            }
        }
        out.reverse();
        out
    }

    /// `region` and every region nested in it.
    #[must_use]
    pub fn regions_under(&self, region: RegionId) -> Vec<RegionId> {
        let mut out = vec![region];
        let mut at = 0;
        while let Some(&region) = out.get(at) {
            at += 1;
            out.extend(self.regions[region].ops.iter().flat_map(|&op| self.ops[op].regions.iter().copied()));
        }
        out
    }

    /// The function bodies in order.
    pub fn bodies(&self) -> impl Iterator<Item = RegionId> {
        self.funcs.values().filter_map(|f| f.body)
    }

    /// The uses of each value by operations in function bodies.
    #[must_use]
    pub fn uses(&self) -> Uses {
        let ops: Vec<OpId> = self.bodies().flat_map(|body| self.walk(body)).collect();
        Uses::new(self, &ops)
    }

    /// Whether the entry function has arguments and the front end named none of them.
    #[must_use]
    pub fn has_no_argument_names(&self) -> bool {
        let Some(func) = self.entry().map(|func| &self.funcs[func]) else { return false };
        let is_named = |i| func.argument_name(&self.locs, i).is_some();
        !func.params.is_empty() && func.arg_names.is_empty() && !(0..func.params.len()).any(is_named)
    }

    /// Whether the module has any source location, so that it is printed with locations by default.
    #[must_use]
    pub fn has_locations(&self) -> bool {
        self.locs.len() > 1
    }

    /// Returns the location of an operation in the user's own program, as text, if known.
    #[must_use]
    pub fn user_loc(&self, op: OpId) -> Option<String> {
        let (file, line, col) = self.locs.file_position(self.ops[op].loc.expand()?)?;
        Some(format!("{file}:{line}:{col}"))
    }
}

/// Uses of each value: a compact table, built once, valid until an operand changes.
#[derive(Clone, Debug)]
pub struct Uses {
    first: Vec<u32>,
    list: Vec<(OpId, u32)>,
}

impl Uses {
    fn new(module: &Module, ops: &[OpId]) -> Uses {
        let mut first = vec![0u32; module.values.len() + 1];
        for &op in ops {
            for &v in &module.ops[op].operands {
                first[v.index() + 1] += 1;
            }
        }
        for i in 1..first.len() {
            first[i] += first[i - 1];
        }
        // The format is that of a sparse matrix in compressed rows: uses are counted, the counts are summed to row offsets, and the rows
        // are filled. This takes two allocations instead of one per value.
        let mut next = first.clone();
        let mut list = vec![(OpId::new(0), 0); first.last().copied().unwrap_or(0) as usize];
        for &op in ops {
            for (i, &v) in module.ops[op].operands.iter().enumerate() {
                list[next[v.index()] as usize] = (op, i as u32);
                next[v.index()] += 1;
            }
        }
        Uses { first, list }
    }

    /// The operations that use `value`, with the operand index, in program order.
    #[must_use]
    #[inline]
    pub fn of(&self, value: ValueId) -> &[(OpId, u32)] {
        let range = |i: usize| self.first.get(i).copied().unwrap_or(self.list.len() as u32) as usize;
        &self.list[range(value.index())..range(value.index() + 1)]
    }
}

impl Module {
    /// The part kept as text that defines the symbol `name`.
    #[must_use]
    pub fn kept_symbol(&self, name: &str) -> Option<&Kept> {
        self.kept.iter().find(|kept| kept.name.as_deref() == Some(name))
    }

    /// The error for a module without an entry function, with a suggestion.
    #[must_use]
    pub fn no_entry(&self) -> Diagnostic {
        let function = |kept: &&Kept| matches!(kept.kind, KeptKind::Branches | KeptKind::Foreign);
        let only = || self.kept.iter().find(function).filter(|_| self.funcs.is_empty());
        match self.kept_symbol("main").or_else(only) {
            Some(kept) => kept.unsupported("SH0301"),
            None if self.funcs.is_empty() && self.kept.is_empty() => {
                Diagnostic::invalid("SH0301", "the program is empty: it has no functions")
                    .hint("is this the correct file?")
            }
            None => Diagnostic::invalid("SH0301", "the program has no entry function")
                .hint("name it @main, or make it the only public function"),
        }
    }
}
