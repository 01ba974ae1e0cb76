//! How much memory a program needs besides its arguments and results, roughly.
//!
//! Operations run in the order of the text, and a value is kept until it is last read. What computes each element from
//! one element of its operands and is read once is taken to be fused into its reader; it takes no memory, but what it
//! reads is kept until then. A back end does better and worse than that, so the number serves to compare partitions of one
//! program.

use shardc_ir::{EntityRef, FuncId, Module, OpId, OpKind, RegionId, ValueId};

use crate::propagate::is_elementwise;
use crate::structure::has_program_regions;

/// The most bytes of temporaries that are kept at one time while the function runs.
pub(crate) fn temporaries(module: &Module, func: FuncId) -> u64 {
    let Some(body) = module.funcs[func].body else { return 0 };
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
    fn region(&mut self, region: RegionId) -> u64 {
        let ops = &self.module.regions[region].ops;
        // Regions within first: they leave their own numbers behind.
        let inside: Vec<u64> = ops.iter().map(|&op| self.inside(op)).collect();
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
        let (mut live, mut most) = (0u64, 0);
        for ((number, &op), inside) in (1u32..).zip(ops).zip(inside) {
            if !self.is_fused(op) {
                for &result in &self.module.ops[op].results {
                    let bytes = self.bytes(result);
                    live += bytes;
                    freed[self.until(result, region).max(number) as usize] += bytes;
                }
            }
            most = most.max(live + inside);
            live -= freed[number as usize];
        }
        most
    }

    /// What the regions of an operation need.
    fn inside(&mut self, op: OpId) -> u64 {
        let data = &self.module.ops[op];
        if !has_program_regions(&data.kind) {
            return 0;
        }
        data.regions.iter().map(|&inner| self.region(inner)).max().unwrap_or(0)
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

    fn bytes(&self, value: ValueId) -> u64 {
        self.module.tensor(value).and_then(|ty| u64::try_from(ty.num_bytes()?).ok()).unwrap_or(0)
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
    }
}
