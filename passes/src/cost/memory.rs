//! How much memory a program needs on each device, roughly.
//!
//! Operations run in the order of the text, and a value is kept until it is last read. Arguments are there all the time;
//! those that give their memory to results only until they are last read. Results are counted with temporaries.
//!
//! What back ends fuse into its readers takes no memory, but keeps what it reads until it is read itself:
//!
//! * constants, and what gives its operand another form: a reshape, a transpose, a broadcast, a wider element type;
//! * what computes each element from one element of its operands and is read once;
//! * the same read more often, if what it is computed from is kept that long anyway: then it is computed again.
//!
//! What a region returns is in memory. What computes element by element and what updates a part is written over what it
//! reads for the last time, and a loop has its state once.
//!
//! The call of a function that is partitioned by itself takes what the function keeps besides its arguments.
//!
//! For the programs of docs/QUALITY.md this is 0.98 to 1.7 of what the TPU compiler needs, and ten times too much for the
//! convolutions of `keras_efficientnetb0_fsdp_fwd`, which it computes in pieces.

use shardc_ir::{
    AttrDict, Class, Diagnostic, EntityRef, FuncId, Module, OpId, OpKind, RegionId, TypeId, ValueId,
};
use smallvec::SmallVec;

use crate::analysis::regions::has_program_regions;
use crate::propagate::is_elementwise;
use crate::report::byte_size::bytes_text;

/// What a program of one device needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Need {
    /// Bytes of arguments.
    pub(crate) arguments: u64,
    /// Bytes of arguments, results and temporaries, when they are most.
    pub(crate) bytes: u64,
    /// When they are most.
    pub(crate) at: Moment,
}

/// Returns what the function needs, in bytes, its types being those of one device.
pub(crate) fn need(module: &Module, func: FuncId) -> Need {
    need_with_calls(module, func, &|_| 0)
}

/// As [`need`], where `of_call` tells for an operation the bytes of temporaries of the function that it stands for, if any.
fn need_with_calls(module: &Module, func: FuncId, of_call: &dyn Fn(OpId) -> u64) -> Need {
    let Some(body) = module.funcs[func].body else { return Need::default() };
    let args = &module.regions[body].args;
    let (owned, kept): (Vec<_>, Vec<_>) =
        args.iter().enumerate().partition(|&(i, _)| is_donated(module, func, i));
    let owned: Vec<ValueId> = owned.into_iter().map(|(_, &arg)| arg).collect();
    let kept = sum(module, kept.into_iter().map(|(_, &arg)| arg));
    let peak = peak(module, body, &owned, of_call);
    Need {
        arguments: kept.saturating_add(sum(module, owned)),
        bytes: kept.saturating_add(peak.bytes),
        at: peak.at,
    }
}

/// What a device is estimated to need for a program, in bytes, in the terms of XLA's compilers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryEstimate {
    /// Arguments.
    pub arguments: u64,
    /// Results, those that take the memory of arguments included.
    pub outputs: u64,
    /// The part of the results that takes the memory of arguments.
    pub aliases: u64,
    /// What else is alive when most is.
    pub temporaries: u64,
    /// All that is alive when most is.
    pub peak: u64,
}

/// Estimates what the function, its types being those of one device, needs.
#[must_use]
pub fn estimate(module: &Module, func: FuncId) -> MemoryEstimate {
    let data = &module.funcs[func];
    let Need { arguments, bytes: peak, .. } = need(module, func);
    let size =
        |ty: TypeId| module.types.stored(ty).and_then(|ty| u64::try_from(ty.num_bytes()?).ok()).unwrap_or(0);
    let donated = data.arg_attrs.iter().filter_map(AttrDict::donated_to);
    let aliases = donated.filter_map(|result| data.results.get(result)).map(|&ty| size(ty)).sum();
    let outputs: u64 = data.results.iter().map(|&ty| size(ty)).sum();
    let temporaries = peak.saturating_sub(arguments).saturating_sub(outputs.saturating_sub(aliases));
    MemoryEstimate { arguments, outputs, aliases, temporaries, peak }
}

/// Returns how many bytes more than `limit` the function needs on each device; 0 if it fits, or if `limit` is 0, which
/// stands for an unknown memory size.
#[must_use]
pub fn lacking(module: &Module, func: FuncId, limit: u64) -> u64 {
    if limit == 0 { 0 } else { need(module, func).bytes.saturating_sub(limit) }
}

/// Returns a warning (SH0470) if each device needs more than `limit` bytes, at the operation where it needs most.
pub(crate) fn too_much(module: &Module, func: FuncId, limit: u64) -> Option<Diagnostic> {
    too_much_with_calls(module, func, limit, &|_| 0)
}

/// As [`too_much`], where `of_call` tells for an operation the bytes of temporaries of the function that it stands for, if any.
pub(crate) fn too_much_with_calls(
    module: &Module,
    func: FuncId,
    limit: u64,
    of_call: &dyn Fn(OpId) -> u64,
) -> Option<Diagnostic> {
    let need = need_with_calls(module, func, of_call);
    if limit == 0 || need.bytes <= limit {
        return None;
    }
    let message = format!(
        "each device needs about {}, and has {}: {} for arguments, and {} for results and temporaries, here",
        bytes_text(need.bytes),
        bytes_text(limit),
        bytes_text(need.arguments),
        bytes_text(need.bytes.saturating_sub(need.arguments)),
    );
    let mut warning = Diagnostic::warning(Class::InvalidInput, "SH0470", message)
        .hint("split more of the program, take a larger mesh, or compute more again in the backward pass (`jax.checkpoint`)");
    if let Some(&(region, number)) = need.at.last() {
        let op = module.regions[region].ops[number];
        warning = warning.at(module.ops[op].span);
        warning.user_loc = module.user_loc(op);
    }
    Some(warning)
}

/// Whether argument `i` is donated: its memory becomes that of a result.
fn is_donated(module: &Module, func: FuncId, i: usize) -> bool {
    module.funcs[func].arg_attrs.get(i).is_some_and(|attrs| attrs.donated_to().is_some())
}

fn bytes(module: &Module, value: ValueId) -> u64 {
    module.stored(value).and_then(|ty| u64::try_from(ty.num_bytes()?).ok()).unwrap_or(0)
}

fn sum(module: &Module, values: impl IntoIterator<Item = ValueId>) -> u64 {
    values.into_iter().map(|value| bytes(module, value)).fold(0, u64::saturating_add)
}

/// Returns the most bytes of temporaries that are live at one time while the function runs; arguments are not counted.
pub(crate) fn temporaries(module: &Module, func: FuncId) -> u64 {
    temporaries_with_calls(module, func, &|_| 0)
}

/// As [`temporaries`], where `of_call` tells for an operation the bytes of temporaries of the function that it stands for, if
/// any.
pub(crate) fn temporaries_with_calls(module: &Module, func: FuncId, of_call: &dyn Fn(OpId) -> u64) -> u64 {
    module.funcs[func].body.map_or(0, |body| peak(module, body, &[], of_call).bytes)
}

/// What runs at some time: the number of an operation in a region, and within that operation one of a region of it, and
/// so on. Empty where nothing is kept.
pub(crate) type Moment = SmallVec<[(RegionId, usize); 2]>;

/// The moment at which most is kept.
#[derive(Clone, Debug, Default)]
struct Peak {
    /// Bytes that are kept.
    bytes: u64,
    at: Moment,
}

/// Returns when the function with this body keeps most, of temporaries and of the arguments that it `owned`: those whose
/// memory it may take over after their last use.
fn peak(module: &Module, body: RegionId, owned: &[ValueId], of_call: &dyn Fn(OpId) -> u64) -> Peak {
    let mut reads = vec![Reads::default(); module.values.len()];
    for op in module.walk(body) {
        let data = &module.ops[op];
        for value in &data.operands {
            let of = &mut reads[value.index()];
            of.count += 1;
            of.returned |= matches!(data.kind, OpKind::Return);
        }
    }
    // One table for all regions rather than live ranges per region: a value is live for as long as the outermost operation
    // that reads it, so the entry of an inner region is overwritten when the region around it is looked at.
    let mut last = vec![(body, 0); module.values.len()];
    for arg in &module.regions[body].args {
        last[arg.index()].1 = FOREVER;
    }
    // `jax.jit(donate_argnums)`: what a donated argument holds is free as soon as it is read for the last time.
    for arg in owned {
        last[arg.index()].1 = 0;
    }
    Estimate { module, of_call, reads, fused: vec![false; module.ops.len()], last }.region(body, owned)
}

/// The number of the operation until which a value is kept that is never given up.
const FOREVER: u32 = u32::MAX;

/// How often a value is read, and by what.
#[derive(Clone, Copy, Default)]
struct Reads {
    /// The number of operands that are this value, in all regions.
    count: u32,
    /// Whether a region returns it.
    returned: bool,
}

/// Whether the results can be written over operands of their size, as XLA's buffer assignment shares their buffers.
fn writes_over(module: &Module, op: OpId) -> bool {
    let kind = &module.ops[op].kind;
    is_elementwise(module, op)
        || matches!(kind, OpKind::DynamicUpdateSlice | OpKind::Scatter(_) | OpKind::While)
}

/// Liveness of one function, region by region. Each operation is looked at once per region around it.
struct Estimate<'m> {
    module: &'m Module,
    /// The temporaries of what an operation calls.
    of_call: &'m dyn Fn(OpId) -> u64,
    reads: Vec<Reads>,
    /// Whether operations are fused into their readers, of the regions that were looked at.
    fused: Vec<bool>,
    /// The region that was looked at last of those that read a value, and the number of the operation there until which it
    /// is kept; from one.
    last: Vec<(RegionId, u32)>,
}

impl Estimate<'_> {
    /// Returns when the region keeps most, of what it computes and of the region arguments that it `owned`.
    fn region(&mut self, region: RegionId, owned: &[ValueId]) -> Peak {
        let ops = &self.module.regions[region].ops;
        // Regions within first: they leave their own numbers behind.
        let mut inside: Vec<RegionNeed> = ops.iter().map(|&op| self.inside(op)).collect();
        for (number, &op) in (1..).zip(ops) {
            self.read_by(op, region, number);
        }
        // Readers before what they read: an operation that is fused into one that is fused itself keeps its operands until
        // the end of the whole chain.
        for (at, &op) in ops.iter().enumerate().rev() {
            let number = at as u32 + 1;
            let data = &self.module.ops[op];
            let until = data.results.iter().map(|&v| self.until(v, region)).fold(number, u32::max);
            if self.is_fused(op, region, until) {
                self.fused[op.index()] = true;
                for &operand in &data.operands {
                    self.keep(operand, region, until);
                }
            }
        }
        // Bytes by the number of the operation after which they are free. Entry 0 is never taken off: an owned argument that
        // nothing reads stays for the whole region.
        let mut freed = vec![0u64; ops.len() + 1];
        for &value in owned {
            freed[self.until(value, region) as usize] += bytes(self.module, value);
        }
        let (mut live, mut most, mut at) = (sum(self.module, owned.iter().copied()), 0, None);
        for ((number, &op), inside) in (1u32..).zip(ops).zip(&inside) {
            let before = freed[number as usize];
            let mut now = live;
            // A loop's state takes the place of the operands that are not read again; counting both would charge a training
            // loop for its parameters twice.
            if inside.peak.bytes > 0 {
                now = live - self.dying_operands(op, region, number).min(inside.owned) + inside.peak.bytes;
            }
            if !self.fused[op.index()] {
                let mut made = 0;
                for &result in &self.module.ops[op].results {
                    let bytes = bytes(self.module, result);
                    made += bytes;
                    freed[self.until(result, region).max(number) as usize] += bytes;
                }
                live += made;
                // Only what dies at this very operation can be written over, and no more of it than the results need.
                let over = if writes_over(self.module, op) { made.min(before) } else { 0 };
                now = now.max(live - over);
            }
            if now > most {
                most = now;
                at = Some(number as usize - 1);
            }
            live -= freed[number as usize];
        }
        let Some(number) = at else { return Peak::default() };
        let mut at = std::mem::take(&mut inside[number].peak.at);
        at.insert(0, (region, number));
        Peak { bytes: most, at }
    }

    /// Returns what the regions of an operation need: the most of them, since no two run at once.
    fn inside(&mut self, op: OpId) -> RegionNeed {
        let data = &self.module.ops[op];
        if matches!(data.kind, OpKind::CustomCall(_)) {
            let peak = Peak { bytes: (self.of_call)(op), at: Moment::new() };
            return RegionNeed { peak, owned: 0 };
        }
        if !has_program_regions(&data.kind) {
            return RegionNeed::default();
        }
        let of = |&inner: &RegionId| {
            let owned = &self.module.regions[inner].args;
            RegionNeed { peak: self.region(inner, owned), owned: sum(self.module, owned.iter().copied()) }
        };
        data.regions.iter().map(of).max_by_key(|inside| inside.peak.bytes).unwrap_or_default()
    }

    /// Returns the bytes of the operands that operation `number` of the region is the last to read.
    fn dying_operands(&self, op: OpId, region: RegionId, number: u32) -> u64 {
        let mut operands = self.module.ops[op].operands.to_vec();
        operands.sort_unstable();
        operands.dedup();
        // What is fused has no buffer of its own that could be handed over.
        let in_memory = |v: ValueId| self.module.def_op(v).is_none_or(|def| !self.fused[def.index()]);
        sum(self.module, operands.into_iter().filter(|&v| in_memory(v) && self.until(v, region) == number))
    }

    /// Notes that operation `number` of the region reads what `op` and everything nested in it reads.
    fn read_by(&mut self, op: OpId, region: RegionId, number: u32) {
        let data = &self.module.ops[op];
        for &operand in &data.operands {
            self.keep(operand, region, number);
        }
        for &nested in &data.regions {
            for &inner in &self.module.regions[nested].ops {
                self.read_by(inner, region, number);
            }
        }
    }

    fn keep(&mut self, value: ValueId, region: RegionId, until: u32) {
        let until = until.max(self.until(value, region));
        self.last[value.index()] = (region, until);
    }

    /// Whether an operation of the region is fused into its readers, of which the last is operation `until` of the region.
    fn is_fused(&self, op: OpId, region: RegionId, until: u32) -> bool {
        let recomputes = |op| is_elementwise(self.module, op) && !self.is_returned(op);
        self.is_always_fused(op) || recomputes(op) && self.is_kept(op, region, until, &mut 16)
    }

    /// Whether an operation is fused into its readers wherever these are.
    fn is_always_fused(&self, op: OpId) -> bool {
        let data = &self.module.ops[op];
        match &data.kind {
            // A bitcast on row-major layouts, even where it is returned.
            OpKind::Reshape => true,
            _ if self.is_returned(op) => false,
            OpKind::Constant(_)
            | OpKind::Iota { .. }
            | OpKind::BroadcastInDim { .. }
            | OpKind::Transpose { .. } => true,
            // Widening is done again by each reader. Narrowing is kept: the narrow value frees the wide one.
            OpKind::Convert => match (data.operands.first(), data.results.first()) {
                (Some(&narrow), Some(&wide)) => bytes(self.module, narrow) <= bytes(self.module, wide),
                _ => false,
            },
            _ => {
                is_elementwise(self.module, op)
                    && data.results.iter().all(|v| self.reads[v.index()].count <= 1)
            }
        }
    }

    fn is_returned(&self, op: OpId) -> bool {
        self.module.ops[op].results.iter().any(|v| self.reads[v.index()].returned)
    }

    /// Whether everything that the operation is computed from is kept that long anyway. At most `left` operations are
    /// looked at, since without a bound operands that are shared would be visited once for each path to them.
    fn is_kept(&self, op: OpId, region: RegionId, until: u32, left: &mut usize) -> bool {
        if *left == 0 {
            return false;
        }
        *left -= 1;
        self.module.ops[op].operands.iter().all(|&operand| {
            let def = self.module.def_op(operand).filter(|&def| self.is_always_fused(def));
            self.until(operand, region) >= until
                || def.is_some_and(|def| self.is_kept(def, region, until, left))
        })
    }

    /// Returns the number of the operation of the region until which the value is kept; 0 if none reads it.
    fn until(&self, value: ValueId, region: RegionId) -> u32 {
        let (of, number) = self.last[value.index()];
        if of == region || number == FOREVER { number } else { 0 }
    }
}

/// What a region nested in an operation needs.
#[derive(Default)]
struct RegionNeed {
    peak: Peak,
    /// How much of that are its arguments. The memory of operands that are not read again becomes theirs.
    owned: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(body: &str) -> u64 {
        let text = format!("func.func @main(%x: tensor<256xf32>) -> tensor<256xf32> {{ {body} }}");
        let module = shardc_stablehlo::parse(&text).unwrap();
        temporaries(&module, module.entry().unwrap())
    }

    #[test]
    fn values_are_kept_until_they_are_last_read() {
        let sorts = "%0 = stablehlo.cosine %x : tensor<256xf32>
            %1 = stablehlo.reverse %0, dims = [0] : tensor<256xf32>
            %2 = stablehlo.reverse %1, dims = [0] : tensor<256xf32>
            %3 = stablehlo.reverse %2, dims = [0] : tensor<256xf32>";
        assert_eq!(of(&format!("{sorts} return %3 : tensor<256xf32>")), 2048);
        let kept = format!("{sorts} %4 = stablehlo.add %3, %1 : tensor<256xf32> return %4 : tensor<256xf32>");
        assert_eq!(of(&kept), 3072);
    }

    #[test]
    fn what_is_fused_takes_no_memory_and_keeps_what_it_reads() {
        let text = "%0 = stablehlo.reverse %x, dims = [0] : tensor<256xf32>
            %1 = stablehlo.cosine %0 : tensor<256xf32>
            %2 = stablehlo.reverse %x, dims = [0] : tensor<256xf32>
            %3 = stablehlo.reverse %2, dims = [0] : tensor<256xf32>
            %4 = stablehlo.add %3, %1 : tensor<256xf32>
            return %4 : tensor<256xf32>";
        assert_eq!(of(text), 3072);
    }

    #[test]
    fn what_is_read_for_the_last_time_is_written_over() {
        let text = "%0 = stablehlo.reverse %x, dims = [0] : tensor<256xf32>
            %1 = stablehlo.cosine %0 : tensor<256xf32>
            %2 = stablehlo.reverse %1, dims = [0] : tensor<256xf32>
            %3 = stablehlo.add %2, %1 : tensor<256xf32>
            return %3 : tensor<256xf32>";
        assert_eq!(of(text), 2048);
    }

    #[test]
    fn what_can_be_computed_again_is_not_kept() {
        let text = |kept: &str| {
            format!(
                "%0 = stablehlo.reverse %x, dims = [0] : tensor<256xf32>
                %1 = stablehlo.cosine %0 : tensor<256xf32>
                %2 = stablehlo.reverse %1, dims = [0] : tensor<256xf32>
                %3 = stablehlo.reverse %2, dims = [0] : tensor<256xf32>
                %4 = stablehlo.reverse %3, dims = [0] : tensor<256xf32>
                %5 = stablehlo.add %4, %1 : tensor<256xf32>
                %6 = stablehlo.add %5, {kept} : tensor<256xf32>
                return %6 : tensor<256xf32>"
            )
        };
        assert_eq!(of(&text("%0")), 3072, "%0 and two of the reversed");
        assert_eq!(of(&text("%5")), 3072, "%1 and two of the reversed");
    }

    #[test]
    fn a_loop_has_its_state_once() {
        let text = "%0 = stablehlo.reverse %x, dims = [0] : tensor<256xf32>
            %n = stablehlo.constant dense<0> : tensor<i32>
            %r = stablehlo.while(%a = %0) : tensor<256xf32> cond {
              %c = stablehlo.compare LT, %n, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
              stablehlo.return %c : tensor<i1>
            } do {
              %1 = stablehlo.slice %a [0:64] : (tensor<256xf32>) -> tensor<64xf32>
              %2 = stablehlo.dynamic_update_slice %a, %1, %n : (tensor<256xf32>, tensor<64xf32>, tensor<i32>) -> tensor<256xf32>
              stablehlo.return %2 : tensor<256xf32>
            }
            %s = stablehlo.reverse %r, dims = [0] : tensor<256xf32>
            return %s : tensor<256xf32>";
        assert_eq!(of(text), 2048, "what the last operation reads and makes; the loop has 1024 + 256");
    }

    #[test]
    fn an_argument_that_gives_its_memory_is_there_until_it_is_read() {
        let text = "func.func @main(%x: tensor<256xf32> {tf.aliasing_output = 0 : i32}) -> tensor<256xf32> {
            %0 = stablehlo.reverse %x, dims = [0] : tensor<256xf32>
            %1 = stablehlo.reverse %0, dims = [0] : tensor<256xf32>
            %2 = stablehlo.add %1, %x : tensor<256xf32>
            return %2 : tensor<256xf32> }";
        let module = shardc_stablehlo::parse(text).unwrap();
        let need = need(&module, module.entry().unwrap());
        assert_eq!((need.arguments, need.bytes), (1024, 3072));
    }

    #[test]
    fn a_loop_needs_what_its_body_needs() {
        let text = "%0 = stablehlo.reverse %x, dims = [0] : tensor<256xf32>
            %n = stablehlo.constant dense<false> : tensor<i1>
            %r = stablehlo.while(%a = %x) : tensor<256xf32> cond {
              stablehlo.return %n : tensor<i1>
            } do {
              %1 = stablehlo.reverse %0, dims = [0] : tensor<256xf32>
              %2 = stablehlo.reverse %1, dims = [0] : tensor<256xf32>
              stablehlo.return %2 : tensor<256xf32>
            }
            return %r : tensor<256xf32>";
        assert_eq!(of(text), 4097);
        let text = format!("func.func @main(%x: tensor<256xf32>) -> tensor<256xf32> {{ {text} }}");
        let module = shardc_stablehlo::parse(&text).unwrap();
        let need = need(&module, module.entry().unwrap());
        assert_eq!(need.bytes, 4097 + 1024);
        let numbers: Vec<usize> = need.at.iter().map(|&(_, number)| number).collect();
        assert_eq!(numbers, [2, 1], "the second operation of the loop, which is the third of the function");
    }
}
