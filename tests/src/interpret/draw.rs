//! Random meshes and shardings for a test.

use shardc_ir::{
    AttrDict, AxisRef, DimSharding, Mesh, MeshId, Module, OpKind, ShardingId, SubAxis, TensorSharding,
    ValueId, ValueMap,
};
use shardc_runtime::HostArray;

use super::case::{Case, is_size};

/// The axis sizes of the meshes, which have two to eight devices.
const MESHES: [&[i64]; 14] = [
    &[2],
    &[4],
    &[8],
    &[3],
    &[5],
    &[6],
    &[7],
    &[2, 2],
    &[2, 3],
    &[3, 2],
    &[2, 4],
    &[4, 2],
    &[2, 2, 2],
    &[1, 8],
];
const NAMES: [&str; 3] = ["x", "y", "z"];
/// Number of attempts to draw an uneven sharding.
const TRIES: u64 = 40;

/// The parameters of a draw: equal parameters give equal programs.
#[derive(Clone, Copy, Debug)]
pub struct Draw {
    /// The seed.
    pub seed: u64,
    /// Whether some dimension should be sharded unevenly, if possible.
    pub uneven: bool,
    /// Whether every constant becomes an argument; otherwise some remain constants, with a sharding.
    pub arguments: bool,
}

/// A test with a mesh and shardings.
#[derive(Clone, Debug)]
pub struct Drawn {
    /// The program.
    pub module: Module,
    /// The arguments.
    pub inputs: Vec<HostArray>,
    /// Whether some dimension is sharded unevenly.
    pub uneven: bool,
}

impl Draw {
    /// Returns the parameters of draw `number` for the test named `test`. From the second draw on, shardings are uneven if possible; in the
    /// third, some constants remain.
    #[must_use]
    pub fn new(seed: u64, test: &str, number: u64) -> Draw {
        // The hash of the name is 64-bit FNV-1a.
        let fold = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        let bytes = seed.to_le_bytes().into_iter().chain(number.to_le_bytes()).chain(test.bytes());
        let seed = bytes.fold(0xcbf2_9ce4_8422_2325, fold);
        Draw { seed, uneven: number > 0, arguments: number != 2 }
    }

    /// Shards a test.
    #[must_use]
    pub fn program(&self, case: &Case) -> Drawn {
        let mut drawn = Placer::new(self, case, 0).place(case);
        for again in 1..TRIES {
            if drawn.uneven || !self.uneven {
                break;
            }
            drawn = Placer::new(self, case, again).place(case);
        }
        drawn
    }
}

/// Assigns random shardings on a mesh of eight devices to most arguments of the entry function, and to some results if `results`.
pub fn shard(module: &mut Module, seed: u64, results: bool) {
    let eight: Vec<&[i64]> = MESHES.into_iter().filter(|sizes| sizes.iter().product::<i64>() == 8).collect();
    let mut numbers = Numbers(seed);
    let mesh = Mesh::new(NAMES.into_iter().zip(eight[numbers.below(eight.len())].iter().copied()));
    let id = module.add_mesh("mesh", mesh.clone());
    let mut placer = Placer {
        numbers,
        mesh: Some((id, mesh)),
        module: std::mem::take(module),
        arguments: true,
        uneven: false,
    };
    let body = placer.module.entry().and_then(|main| placer.module.funcs[main].body);
    let args = body.map(|body| placer.module.regions[body].args.clone()).unwrap_or_default();
    for arg in args {
        if !placer.numbers.one_in(6) {
            let sharding = placer.sharding(arg);
            placer.module.shardings.set(arg, sharding);
        }
    }
    if results {
        placer.results();
    }
    *module = placer.module;
}

/// A test with all constants as arguments, without shardings.
pub(super) fn plain(case: &Case) -> (Module, Vec<HostArray>) {
    let mut placer = Placer {
        numbers: Numbers(0),
        mesh: None,
        module: case.module.clone(),
        arguments: true,
        uneven: false,
    };
    let inputs = placer.arguments(case);
    (placer.module, inputs)
}

/// SplitMix64: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}

struct Placer {
    numbers: Numbers,
    mesh: Option<(MeshId, Mesh)>,
    module: Module,
    arguments: bool,
    uneven: bool,
}

impl Placer {
    fn new(draw: &Draw, case: &Case, again: u64) -> Placer {
        let mut numbers = Numbers(draw.seed ^ again.wrapping_mul(0x2545_f491_4f6c_dd1d));
        if let Some(id) = case.mesh {
            let (module, mesh) = (case.module.clone(), Some((id, case.module.meshes[id].clone())));
            return Placer { numbers, mesh, module, arguments: draw.arguments, uneven: false };
        }
        let sizes = MESHES[numbers.below(MESHES.len())];
        let mut mesh = Mesh::new(NAMES.into_iter().zip(sizes.iter().copied()));
        if numbers.one_in(4) {
            let mut left: Vec<i64> = (0..mesh.num_devices() as i64).collect();
            let ids: Vec<i64> =
                (0..mesh.num_devices()).map(|_| left.remove(numbers.below(left.len()))).collect();
            // The default device order is not written explicitly.
            mesh.device_ids = (!ids.is_sorted()).then_some(ids);
        }
        let mut module = case.module.clone();
        let id = module.add_mesh("mesh", mesh.clone());
        Placer { numbers, mesh: Some((id, mesh)), module, arguments: draw.arguments, uneven: false }
    }

    fn place(mut self, case: &Case) -> Drawn {
        let inputs = self.arguments(case);
        self.constrain(case);
        self.results();
        Drawn { module: self.module, inputs, uneven: self.uneven }
    }

    /// Converts constants to arguments.
    fn arguments(&mut self, case: &Case) -> Vec<HostArray> {
        let mut inputs = Vec::new();
        let mut map = ValueMap::new();
        let mut gone = Vec::new();
        for input in &case.inputs {
            if !self.arguments && self.numbers.one_in(4) {
                continue;
            }
            let ty = self.module.values[input.value].ty;
            let arg = self.module.add_arg(case.body, ty);
            map.insert(input.value, arg);
            gone.push(input.op);
            inputs.push(input.array.clone());
            if let Some(main) = self.module.entry() {
                self.module.funcs[main].params.push(ty);
                self.module.funcs[main].arg_attrs.push(AttrDict::new());
            }
            if !self.numbers.one_in(6) {
                let sharding = self.sharding(arg);
                self.module.shardings.set(arg, sharding);
            }
        }
        self.module.retain_ops(case.body, |_, op| !gone.contains(&op));
        for op in self.module.walk(case.body) {
            for operand in &mut self.module.ops[op].operands {
                *operand = map.get(*operand);
            }
        }
        inputs
    }

    /// Constrains some intermediate values and the remaining constants.
    fn constrain(&mut self, case: &Case) {
        let mut map = ValueMap::new();
        let mut placed = Vec::new();
        for op in self.module.regions[case.body].ops.clone() {
            let mut reading = vec![op];
            for &region in &self.module.ops[op].regions {
                reading.extend(self.module.walk(region));
            }
            for op in reading {
                for operand in &mut self.module.ops[op].operands {
                    *operand = map.get(*operand);
                }
            }
            placed.push(op);
            let constant = matches!(self.module.ops[op].kind, OpKind::Constant(_));
            for result in self.module.ops[op].results.clone() {
                let chance = if constant { 2 } else { 4 };
                let fixed =
                    self.module.tensor(result).is_none() || (constant && is_size(&self.module, result));
                if fixed || !self.numbers.one_in(chance) {
                    continue;
                }
                if let Some(sharding) = self.sharding(result) {
                    let ty = self.module.values[result].ty;
                    let kind = OpKind::ShardingConstraint(sharding);
                    let constraint = self.module.add_op(kind, &[result], &[ty], &[]);
                    map.insert(result, self.module.ops[constraint].results[0]);
                    placed.push(constraint);
                }
            }
        }
        self.module.set_ops(case.body, placed);
    }

    fn results(&mut self) {
        let Some(main) = self.module.entry() else { return };
        let terminator = self.module.funcs[main].body.and_then(|body| self.module.terminator(body));
        let Some(terminator) = terminator else { return };
        for (i, value) in self.module.ops[terminator].operands.clone().into_iter().enumerate() {
            if !self.numbers.one_in(3) {
                self.module.funcs[main].res_shardings[i] = self.sharding(value).into();
            }
        }
    }

    /// A sharding of a value: each axis, or each half of an axis, shards a random dimension or none.
    fn sharding(&mut self, value: ValueId) -> Option<ShardingId> {
        let (id, mesh) = self.mesh.clone()?;
        let shape = self.module.tensor(value)?.shape.clone();
        let mut pieces = Vec::new();
        for (axis, &size) in mesh.axes.values().enumerate() {
            let half = size / 2;
            if size >= 4 && size % 2 == 0 && self.numbers.one_in(4) {
                let part = |pre, size| AxisRef { axis: axis as u16, sub: Some(SubAxis { pre, size }) };
                pieces.extend([part(1, 2), part(2, half as u32)]);
            } else {
                pieces.push(AxisRef::whole(axis));
            }
        }
        if self.numbers.one_in(3) {
            pieces.reverse();
        }
        let mut dims: Vec<Vec<AxisRef>> = vec![Vec::new(); shape.len()];
        for piece in pieces {
            // Usually selects a dimension with more than one element.
            let mut at = self.numbers.below(shape.len() * 3 + 1) / 3;
            if shape.get(at).is_some_and(|&n| n <= 1) && !self.numbers.one_in(4) {
                at = self.numbers.below(shape.len());
            }
            if let Some(dim) = dims.get_mut(at) {
                push(dim, piece, &mesh);
            }
        }
        for (axes, &n) in dims.iter().zip(&shape) {
            let shards = mesh.axes_size(axes);
            self.uneven |= shards > 1 && n > 1 && n % shards != 0;
        }
        let dims = dims.into_iter().map(|axes| match self.numbers.one_in(3) {
            true => DimSharding::open(&axes),
            false => DimSharding::closed(&axes),
        });
        let sharding = TensorSharding::from_dims(id, dims.collect::<Vec<_>>());
        Some(self.module.shardings.intern(sharding))
    }
}

/// Appends an axis or a sub-axis to a dimension, and merges adjacent sub-axes.
fn push(dim: &mut Vec<AxisRef>, piece: AxisRef, mesh: &Mesh) {
    if let (Some(last), Some(sub)) = (dim.last_mut(), piece.sub)
        && last.axis == piece.axis
        && let Some(before) = last.sub
        && before.pre * before.size == sub.pre
    {
        let joined = SubAxis { pre: before.pre, size: before.size * sub.size };
        let whole = i64::from(joined.size) == mesh.full_size(piece);
        last.sub = (!whole).then_some(joined);
        return;
    }
    dim.push(piece);
}
