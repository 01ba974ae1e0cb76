//! How much memory a program needs on each device, roughly.
//!
//! Its arguments are there all the time, and temporaries come and go; results are counted with these.
//! Operations run in the order of the text, and a value is kept until it is last read. What computes each element from
//! one element of its operands and is read once is taken to be fused into its reader; it takes no memory, but what it
//! reads is kept until then. Read more often, it is written over what it reads for the last time. A back end does better and worse than that, so the number serves to compare partitions of one
//! program.

use shardc_ir::{Class, Diagnostic, EntityRef, FuncId, Module, OpId, OpKind, RegionId, ValueId};
use smallvec::SmallVec;

use crate::propagate::is_elementwise;
use crate::structure::has_program_regions;
use crate::units::bytes_text;

/// What a program of one device needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Need {
    /// Bytes of arguments whose memory no result takes.
    pub(crate) arguments: u64,
    /// When most else is kept.
    pub(crate) peak: Peak,
}

impl Need {
    /// All bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.arguments.saturating_add(self.peak.bytes)
    }
}

/// What the function needs, its types being those of one device.
pub(crate) fn need(module: &Module, func: FuncId) -> Need {
    let Some(body) = module.funcs[func].body else { return Need::default() };
    let kept = module.regions[body].args.iter().enumerate().filter(|&(i, _)| !gives_memory(module, func, i));
    let arguments = kept.map(|(_, &arg)| bytes(module, arg)).fold(0, u64::saturating_add);
    Need { arguments, peak: peak(module, body) }
}

/// The bytes that a device lacks for the program, if it has so many; with 0 nobody knows how many it has.
#[must_use]
pub fn lacking(module: &Module, func: FuncId, limit: u64) -> u64 {
    if limit == 0 { 0 } else { need(module, func).bytes().saturating_sub(limit) }
}

/// A warning, where each device needs more than the `limit` that it has.
pub(crate) fn too_much(module: &Module, func: FuncId, limit: u64) -> Option<Diagnostic> {
    if lacking(module, func, limit) == 0 {
        return None;
    }
    let need = need(module, func);
    let message = format!(
        "each device needs about {}, and has {}: {} for arguments, and {} for results and temporaries, here",
        bytes_text(need.bytes()),
        bytes_text(limit),
        bytes_text(need.arguments),
        bytes_text(need.peak.bytes),
    );
    let mut warning = Diagnostic::warning(Class::InvalidInput, "SH0470", message)
        .hint("split more of the program, take a larger mesh, or compute more again in the backward pass (`jax.checkpoint`)");
    if let Some(&(region, number)) = need.peak.at.last() {
        let op = module.regions[region].ops[number];
        warning = warning.at(module.ops[op].span);
        warning.user_loc = module.user_loc(op);
    }
    Some(warning)
}

/// Whether argument `i` gives its memory to a result.
fn gives_memory(module: &Module, func: FuncId, i: usize) -> bool {
    module.funcs[func].arg_attrs.get(i).is_some_and(|attrs| attrs.get("tf.aliasing_output").is_some())
}

fn bytes(module: &Module, value: ValueId) -> u64 {
    module.stored(value).and_then(|ty| u64::try_from(ty.num_bytes()?).ok()).unwrap_or(0)
}

/// The most bytes of temporaries that are kept at one time while the function runs.
pub(crate) fn temporaries(module: &Module, func: FuncId) -> u64 {
    module.funcs[func].body.map_or(0, |body| peak(module, body).bytes)
}

/// The moment at which most is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Peak {
    /// Bytes of temporaries.
    pub(crate) bytes: u64,
    /// What runs then: the number of an operation in a region, and within that operation one of a region of it, and so on.
    /// Empty where nothing is kept.
    pub(crate) at: SmallVec<[(RegionId, usize); 2]>,
}

/// When the function with this body keeps the most temporaries.
fn peak(module: &Module, body: RegionId) -> Peak {
    let mut readers = vec![0u32; module.values.len()];
    for op in module.walk(body) {
        for value in &module.ops[op].operands {
            readers[value.index()] += 1;
        }
    }
    let nowhere = vec![(body, 0); module.values.len()];
    Estimate { module, readers, last: nowhere }.region(body)
}

struct Estimate<'m> {
    module: &'m Module,
    /// How many operands each value is.
    readers: Vec<u32>,
    /// The region that was looked at last of those that read a value, and the number of the operation there that reads it
    /// last; from one.
    last: Vec<(RegionId, u32)>,
}

impl Estimate<'_> {
    fn region(&mut self, region: RegionId) -> Peak {
        let ops = &self.module.regions[region].ops;
        // Regions within first: they leave their own numbers behind.
        let mut inside: Vec<Peak> = ops.iter().map(|&op| self.inside(op)).collect();
        for (number, &op) in (1..).zip(ops) {
            self.read_by(op, region, number);
        }
        for (at, &op) in ops.iter().enumerate().rev() {
            let number = at as u32 + 1;
            if self.is_fused(op) {
                let data = &self.module.ops[op];
                let until = data.results.iter().map(|&v| self.until(v, region)).fold(number, u32::max);
                for &operand in &data.operands {
                    self.keep(operand, region, until);
                }
            }
        }
        let mut freed = vec![0u64; ops.len() + 1];
        let (mut live, mut most, mut at) = (0u64, 0, None);
        for ((number, &op), inside) in (1u32..).zip(ops).zip(&inside) {
            let mut in_place = 0;
            if !self.is_fused(op) {
                let before = freed[number as usize];
                let mut made = 0;
                for &result in &self.module.ops[op].results {
                    let bytes = bytes(self.module, result);
                    made += bytes;
                    freed[self.until(result, region).max(number) as usize] += bytes;
                }
                live += made;
                if is_elementwise(self.module, op) {
                    in_place = made.min(before);
                }
            }
            let now = live - in_place + inside.bytes;
            if now > most {
                most = now;
                at = Some(number as usize - 1);
            }
            live -= freed[number as usize];
        }
        let Some(number) = at else { return Peak::default() };
        let mut at = std::mem::take(&mut inside[number].at);
        at.insert(0, (region, number));
        Peak { bytes: most, at }
    }

    /// What the regions of an operation need.
    fn inside(&mut self, op: OpId) -> Peak {
        let data = &self.module.ops[op];
        if !has_program_regions(&data.kind) {
            return Peak::default();
        }
        data.regions.iter().map(|&inner| self.region(inner)).max_by_key(|peak| peak.bytes).unwrap_or_default()
    }

    /// What `op` and everything in it reads, operation `number` of the region reads.
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

    /// The operation of the region that reads the value last; 0 if none does.
    fn until(&self, value: ValueId, region: RegionId) -> u32 {
        let (of, number) = self.last[value.index()];
        if of == region { number } else { 0 }
    }

    fn is_fused(&self, op: OpId) -> bool {
        let data = &self.module.ops[op];
        match &data.kind {
            OpKind::Constant(_) | OpKind::Iota { .. } | OpKind::BroadcastInDim { .. } | OpKind::Reshape => {
                true
            }
            _ => is_elementwise(self.module, op) && data.results.iter().all(|v| self.readers[v.index()] <= 1),
        }
    }
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
        assert_eq!(of(text), 4096);
        let text = format!("func.func @main(%x: tensor<256xf32>) -> tensor<256xf32> {{ {text} }}");
        let module = shardc_stablehlo::parse(&text).unwrap();
        let need = need(&module, module.entry().unwrap());
        assert_eq!(need.bytes(), 4096 + 1024);
        let numbers: Vec<usize> = need.peak.at.iter().map(|&(_, number)| number).collect();
        assert_eq!(numbers, [2, 1], "the second operation of the loop, which is the third of the function");
    }
}
