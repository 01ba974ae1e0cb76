//! Initial values of the arrays of NF4-quantized weights.

use shardc_graph::{DType, Key, Tensor};

use super::Init;
use crate::nf4::Nf4;

/// One of the arrays of quantized weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Payload,
    Magnitudes,
    Scales,
    Offset,
}

impl Part {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Part::Payload => "nf4",
            Part::Magnitudes => "absmax",
            Part::Scales => "scales",
            Part::Offset => "offset",
        }
    }
}

/// Initial values of one array of NF4-quantized weights. All arrays of the same weights store the name, shape and initial values of the
/// unquantized weights.
#[derive(Clone, Debug, PartialEq)]
pub struct OfWeights {
    pub(crate) nf4: Nf4,
    pub(crate) part: Part,
    pub(crate) name: String,
    pub(crate) shape: Vec<i64>,
    pub(crate) init: Box<Init>,
}

impl OfWeights {
    /// Returns the name of the quantized weights.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the contribution of this array to the number of model weights: all weights for the payload, zero for the other arrays.
    pub(crate) fn num_weights(&self) -> i64 {
        if self.part == Part::Payload { self.shape.iter().product() } else { 0 }
    }

    #[track_caller]
    pub(crate) fn values<'g>(&self, key: Key<'g>) -> Tensor<'g> {
        let of = self.nf4.quantize(self.init.values(key, &self.shape, DType::F32));
        match (self.part, of.nested) {
            (Part::Payload, _) => of.payload,
            (Part::Scales, Some((scales, _))) => scales,
            (Part::Offset, Some((_, offset))) => offset,
            _ => of.magnitudes,
        }
    }
}
