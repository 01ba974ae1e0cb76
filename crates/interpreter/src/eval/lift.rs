//! Evaluation of a region on many elements at once.
//!
//! The regions of reductions, sorts and maps combine scalars. Instead of one evaluation per element, each scalar becomes an array with one
//! element per evaluation. A region with other operations is evaluated once per element.

use rustc_hash::FxHashMap;
use shardc_ir::{OpKind, RegionId, ValueId};

use super::frame::Frame;
use super::{Device, Stop, Values, arrays};
use crate::array::{Array, Dims};
use crate::error::{Error, Fault};
use crate::kernels::elementwise::spread;
use crate::kernels::moves;
use crate::numbers::Domain;
use crate::value::Value;

impl<D: Domain> Device<'_, '_, D> {
    /// Evaluates a region for each of `lanes` elements; every argument and result is an array with that many elements.
    pub(super) fn lifted(
        &self,
        region: RegionId,
        args: Vec<Array<D>>,
        lanes: usize,
        frame: &mut Frame<'_, D>,
    ) -> Result<Vec<Array<D>>, Stop> {
        if self.is_liftable(region) {
            return self.on_lanes(region, args, lanes, frame);
        }
        let mut columns: Vec<Vec<Array<D>>> = Vec::new();
        for lane in 0..lanes {
            let scalar = |array: &Array<D>| -> Result<Value<D>, Fault> {
                let scalar = moves::dynamic_slice(array, &[lane as i64], &[1])?;
                Ok(Value::Array(scalar.reshaped(Dims::new())?))
            };
            let scalars: Values<D> = args.iter().map(scalar).collect::<Result<_, Fault>>()?;
            let results = arrays(self.region(region, scalars, frame)?)?;
            columns.resize(results.len(), Vec::new());
            for (column, result) in columns.iter_mut().zip(results) {
                column.push(result.reshaped(Dims::from_slice(&[1]))?);
            }
        }
        Ok(columns.iter().map(|column| moves::concatenate(column, 0)).collect::<Result<_, Fault>>()?)
    }

    /// Whether all operations of a region are element-wise.
    fn is_liftable(&self, region: RegionId) -> bool {
        if let Some(&known) = self.liftable.borrow().get(&region) {
            return known;
        }
        let is_scalar = |value: &ValueId| self.module.stored(*value).is_some_and(|ty| ty.shape.is_empty());
        let is_elementwise = self.module.regions[region].ops.iter().all(|&op| {
            let data = &self.module.ops[op];
            let computes = matches!(
                data.kind,
                OpKind::Unary(_)
                    | OpKind::Binary(_)
                    | OpKind::Compare(..)
                    | OpKind::Select
                    | OpKind::Clamp
                    | OpKind::Convert
                    | OpKind::BitcastConvert
                    | OpKind::ReducePrecision { .. }
                    | OpKind::Constant(_)
                    | OpKind::UniformQuantize
                    | OpKind::UniformDequantize
            );
            let passes_on = matches!(
                data.kind,
                OpKind::Reshape
                    | OpKind::BroadcastInDim { .. }
                    | OpKind::ShardingConstraint(_)
                    | OpKind::Return
            );
            let is_lifted = computes || passes_on;
            is_lifted && data.operands.iter().chain(&data.results).all(is_scalar)
        });
        self.liftable.borrow_mut().insert(region, is_elementwise);
        is_elementwise
    }

    fn on_lanes(
        &self,
        region: RegionId,
        args: Vec<Array<D>>,
        lanes: usize,
        frame: &Frame<'_, D>,
    ) -> Result<Vec<Array<D>>, Stop> {
        let data = &self.module.regions[region];
        let mut values: FxHashMap<ValueId, Array<D>> = data.args.iter().copied().zip(args).collect();
        for &op in &data.ops {
            let operation = &self.module.ops[op];
            let operand = |value: &ValueId| -> Result<Array<D>, Fault> {
                let own = values.get(value);
                // Values from outside of the region are the same for all elements.
                let outer = || frame.get(*value).and_then(Value::as_array);
                match own.or_else(outer) {
                    Some(array) => spread(array, &[lanes]),
                    None => Err(Fault::Internal("an operand has no value".to_owned())),
                }
            };
            let at = |fault| Stop::Inner(Error::at(self.module, op, fault));
            let operands =
                operation.operands.iter().map(operand).collect::<Result<Vec<_>, Fault>>().map_err(at)?;
            let result = match operation.kind {
                OpKind::Return => return Ok(operands),
                OpKind::Reshape | OpKind::BroadcastInDim { .. } | OpKind::ShardingConstraint(_) => {
                    operands.into_iter().next().ok_or_else(|| Fault::Invalid("no operand".to_owned()))
                }
                _ => self.elementwise(op, operands),
            };
            if let Some(&value) = operation.results.first() {
                values.insert(value, result.map_err(at)?);
            }
        }
        Err(Fault::Invalid("a region without a terminator".to_owned()).into())
    }
}
