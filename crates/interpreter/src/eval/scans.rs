//! `chlo.scan`: applies a region to each slice along a dimension, with carried values.

use shardc_ir::{OpId, ScanSpec};

use super::frame::Frame;
use super::{Device, Stop, Values, arrays};
use crate::array::{Array, Dims};
use crate::error::Fault;
use crate::kernels::bits::unstacked;
use crate::kernels::moves;
use crate::numbers::Domain;
use crate::value::Value;

impl<D: Domain> Device<'_, '_, D> {
    pub(super) fn scan(
        &self,
        op: OpId,
        spec: &ScanSpec,
        operands: Vec<Array<D>>,
        frame: &mut Frame<'_, D>,
    ) -> Result<Values<D>, Stop> {
        let (dim, inputs_len) = (spec.dim as usize, spec.inputs as usize);
        let Some(&region) = self.module.ops[op].regions.first() else {
            return Err(Fault::Invalid("a scan without a region".to_owned()).into());
        };
        self.charge_static_results(op)?;
        let mut inputs = operands;
        let mut carries = inputs.split_off(inputs_len.min(inputs.len()));
        let length = match (inputs.first(), spec.dim_size) {
            (Some(first), _) => first.dims().get(dim).copied().unwrap_or(0),
            (None, size) => usize::try_from(size.unwrap_or(0)).unwrap_or(0),
        };
        let is_reverse = spec.reverse.unwrap_or(false);
        let mut slices: Vec<Vec<Array<D>>> = vec![Vec::new(); spec.outputs as usize];
        for step in 0..length {
            self.charge(1)?;
            let at = if is_reverse { length - 1 - step } else { step };
            let args = inputs.iter().map(|a| unstacked(a, dim, at)).collect::<Result<Vec<_>, Fault>>()?;
            let args = args.into_iter().chain(carries).map(Value::Array).collect();
            let mut results = arrays(self.region(region, args, frame)?)?;
            carries = results.split_off(slices.len().min(results.len()));
            for (slices, result) in slices.iter_mut().zip(results) {
                let mut dims = Dims::from_slice(result.dims());
                dims.insert(dim.min(dims.len()), 1);
                slices.push(result.reshaped(dims)?);
            }
        }
        let mut results = Vec::new();
        for (index, mut slices) in slices.into_iter().enumerate() {
            if is_reverse {
                slices.reverse();
            }
            results.push(Value::Array(match slices.is_empty() {
                true => Array::full(self.static_dims(op, index)?, self.result_dtype(op, index)?, 0.0)?,
                false => moves::concatenate(&slices, dim)?,
            }));
        }
        results.extend(carries.into_iter().map(Value::Array));
        Ok(results)
    }
}
