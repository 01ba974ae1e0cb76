//! Kernels of linear layers; frozen kernels may be stored in four bits.

use shardc_graph::{DType, Tensor};

use crate::init::{OfWeights, Part};
use crate::nf4::{BLOCK, NESTED_BLOCK, Nf4, Quantized};
use crate::{Init, Kind, Maps, Scope};

impl<'g> Scope<'g> {
    /// Returns the kernel of a linear layer, whose last `outputs` dimensions are outputs.
    #[track_caller]
    pub(crate) fn kernel(&self, shape: &[i64], outputs: usize, init: Init) -> Tensor<'g> {
        match self.quantized.filter(|_| self.is_frozen && !self.is_output && !self.is_saved()) {
            Some(nf4) => self.kernel_in_four_bits(nf4, shape, &init),
            None => self.parameter_of_maps("kernel", shape, Maps::one(outputs), init),
        }
    }

    /// Returns a frozen four-bit kernel, dequantized to the compute type. The variables of the kernel are `kernel.nf4`, `kernel.absmax`,
    /// and with double quantization `kernel.scales` and `kernel.offset`.
    #[track_caller]
    fn kernel_in_four_bits(&self, nf4: Nf4, shape: &[i64], init: &Init) -> Tensor<'g> {
        let blocks = -(-shape.iter().product::<i64>()).div_euclid(BLOCK);
        let bytes = nf4.per_byte().unwrap_or(1);
        let of = |part: Part| {
            let (init, shape) = (Box::new(init.clone()), shape.to_vec());
            Init::Nf4(Box::new(OfWeights { nf4, part, name: self.full_name("kernel"), shape, init }))
        };
        let keep = |part: Part, shape: &[i64], dtype: DType| {
            self.variable(&format!("kernel.{}", part.name()), Kind::Frozen, shape, dtype, of(part))
        };
        let payload = keep(Part::Payload, &[blocks, BLOCK / 2 / bytes], nf4.storage);
        let quantized = if nf4.double {
            let scales = keep(Part::Scales, &[-(-blocks).div_euclid(NESTED_BLOCK)], DType::F32);
            let nested = Some((scales, keep(Part::Offset, &[], DType::F32)));
            Quantized { payload, magnitudes: keep(Part::Magnitudes, &[blocks], DType::UI8), nested }
        } else {
            Quantized { payload, magnitudes: keep(Part::Magnitudes, &[blocks], DType::F32), nested: None }
        };
        nf4.dequantize(&quantized, shape, self.policy().compute)
    }
}
