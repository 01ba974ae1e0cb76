//! Operations with a region that combines elements: reductions, windows, scatter, maps.

use shardc_ir::reducer::reduction_of;
use shardc_ir::{OpId, OpKind, RegionId, ScatterSpec, WindowSpec};

use super::frame::Frame;
use super::{Device, Stop, Values};
use crate::array::{Array, Dims, both, count};
use crate::error::Fault;
use crate::kernels::windows::{Axis, Windows};
use crate::kernels::{elementwise, moves, reduce, scatter};
use crate::numbers::Domain;
use crate::value::Value;

/// The windows of an operation over an array of these sizes.
fn windows(dims: &[usize], spec: &WindowSpec) -> Result<Windows, Fault> {
    let at = |list: &[i64], d: usize| list.get(d).copied().unwrap_or(1);
    let axis = |(d, &size): (usize, &usize)| {
        Axis::new(
            size,
            usize::try_from(at(&spec.dimensions, d)).unwrap_or(0),
            at(&spec.strides, d),
            at(&spec.base_dilations, d),
            at(&spec.window_dilations, d),
            spec.padding.get(d).copied().unwrap_or((0, 0)),
        )
    };
    Ok(Windows::new(dims.iter().enumerate().map(axis).collect::<Result<_, Fault>>()?))
}

/// Elements at these positions, in an array with one dimension; `init` where there is no position.
fn taken<D: Domain>(
    from: &Array<D>,
    positions: &[Option<usize>],
    init: &Array<D>,
) -> Result<Array<D>, Fault> {
    // The initial value is appended, so that every position exists.
    let flat = from.clone().reshaped(Dims::from_slice(&[from.len()]))?;
    let all = moves::concatenate(&[flat, init.clone().reshaped(Dims::from_slice(&[1]))?], 0)?;
    let places: Vec<usize> = positions.iter().map(|at| at.unwrap_or(from.len())).collect();
    Array::new(Dims::from_slice(&[places.len()]), from.dtype(), all.data().taken(&places))
}

/// The initial value, once for each result.
fn repeated<D: Domain>(init: &Array<D>, len: usize) -> Result<Array<D>, Fault> {
    elementwise::spread(&init.clone().reshaped(Dims::new())?, &[len])
}

/// Inputs, and the initial value of each.
type Halves<D> = (Vec<Array<D>>, Vec<Array<D>>);

impl<D: Domain> Device<'_, '_, D> {
    /// Evaluates an operation whose region combines elements.
    pub(super) fn with_reducer(
        &self,
        op: OpId,
        operands: Vec<Array<D>>,
        frame: &mut Frame<'_, D>,
    ) -> Result<Values<D>, Stop> {
        let data = &self.module.ops[op];
        let Some(&region) = data.regions.first() else {
            return Err(Fault::Invalid("an operation without a region".to_owned()).into());
        };
        self.charge_static_results(op)?;
        let results = match &data.kind {
            OpKind::Reduce { dims } => {
                let dims: Vec<usize> = dims.iter().map(|&d| d as usize).collect();
                self.reduce(region, operands, &dims, frame)?
            }
            OpKind::ReduceWindow(spec) => self.reduce_window(region, operands, spec, frame)?,
            OpKind::SelectAndScatter(spec) => self.select_and_scatter(op, operands, spec, frame)?,
            OpKind::Scatter(spec) => self.scatter(region, operands, spec, frame)?,
            OpKind::Map { .. } => {
                let dims = operands.first().map(|first| Dims::from_slice(first.dims())).unwrap_or_default();
                let lanes = count(&dims)?;
                let flat = |array: Array<D>| array.reshaped(Dims::from_slice(&[lanes]));
                let args = operands.into_iter().map(flat).collect::<Result<_, Fault>>()?;
                let results = self.lifted(region, args, lanes, frame)?;
                results.into_iter().map(|array| array.reshaped(dims.clone())).collect::<Result<_, Fault>>()?
            }
            other => return Err(Fault::Internal(format!("{} has no reducer", other.name())).into()),
        };
        Ok(results.into_iter().map(Value::Array).collect())
    }

    /// Splits operands into inputs and initial values.
    fn halves(mut operands: Vec<Array<D>>) -> Result<Halves<D>, Fault> {
        let inits = operands.split_off(operands.len() / 2);
        let same = |array: &Array<D>| operands.first().is_some_and(|first| first.dims() == array.dims());
        if operands.is_empty() || inits.len() != operands.len() || !operands.iter().all(same) {
            return Fault::invalid("inputs of different shapes, or not one initial value for each input");
        }
        Ok((operands, inits))
    }

    /// Reduces dimensions: by a known operation, or by the region for all results at once.
    pub(super) fn reduce(
        &self,
        region: RegionId,
        operands: Vec<Array<D>>,
        dims: &[usize],
        frame: &mut Frame<'_, D>,
    ) -> Result<Vec<Array<D>>, Stop> {
        let (inputs, inits) = Self::halves(operands)?;
        for input in &inputs {
            self.charge(input.len() as u64)?;
        }
        if let Some(kind) = reduction_of(self.module, region, inputs.len())
            && !self.is_region_quantized(region)
        {
            let fast = inputs.iter().zip(&inits).map(|(a, init)| reduce::reduce(a, init, dims, kind.op()));
            if let Some(results) = fast.collect::<Option<Vec<_>>>() {
                return Ok(results.into_iter().collect::<Result<_, Fault>>()?);
            }
        }
        let first_dims = inputs.first().map(Array::dims).unwrap_or_default();
        let kept = reduce::kept(first_dims.len(), dims);
        let out: Dims = kept.iter().map(|&d| first_dims[d]).collect();
        let lanes = count(&out)?;
        let order: Vec<usize> = dims.iter().chain(&kept).copied().collect();
        let rows: usize = dims.iter().map(|&d| first_dims[d]).product();
        let ordered = inputs
            .iter()
            .map(|a| moves::transpose(a, &order)?.reshaped(Dims::from_slice(&[rows, lanes])))
            .collect::<Result<Vec<_>, Fault>>()?;
        let mut state = inits.iter().map(|init| repeated(init, lanes)).collect::<Result<Vec<_>, Fault>>()?;
        for row in 0..rows {
            let line = |a: &Array<D>| -> Result<Array<D>, Fault> {
                moves::dynamic_slice(a, &[row as i64, 0], &[1, lanes])?.reshaped(Dims::from_slice(&[lanes]))
            };
            let values = ordered.iter().map(line).collect::<Result<Vec<_>, Fault>>()?;
            state = self.lifted(region, state.into_iter().chain(values).collect(), lanes, frame)?;
        }
        Ok(state.into_iter().map(|a| a.reshaped(out.clone())).collect::<Result<_, Fault>>()?)
    }

    /// Whether a region combines quantized elements, which are not combined as integers.
    fn is_region_quantized(&self, region: RegionId) -> bool {
        self.module.regions[region].args.iter().any(|&arg| self.module.is_quantized(arg))
    }

    /// Combines the elements of each window, in row-major order, for all windows at once.
    fn reduce_window(
        &self,
        region: RegionId,
        operands: Vec<Array<D>>,
        spec: &WindowSpec,
        frame: &mut Frame<'_, D>,
    ) -> Result<Vec<Array<D>>, Stop> {
        let (inputs, inits) = Self::halves(operands)?;
        let windows = windows(inputs.first().map(Array::dims).unwrap_or_default(), spec)?;
        let out = windows.results();
        let lanes = count(&out)?;
        let known =
            reduction_of(self.module, region, inputs.len()).filter(|_| !self.is_region_quantized(region));
        let mut state = inits.iter().map(|init| repeated(init, lanes)).collect::<Result<Vec<_>, Fault>>()?;
        for positions in windows.lanes() {
            self.charge(lanes as u64)?;
            let values = inputs.iter().zip(&inits).map(|(a, init)| taken(a, &positions, init));
            let values = values.collect::<Result<Vec<_>, Fault>>()?;
            state = match known {
                Some(kind) => {
                    let pairs = state.iter().zip(&values);
                    let combine = |(a, b)| elementwise::binary(kind.op(), a, b, self.program.options.key);
                    pairs.map(combine).collect::<Result<_, Fault>>()?
                }
                None => self.lifted(region, state.into_iter().chain(values).collect(), lanes, frame)?,
            };
        }
        Ok(state.into_iter().map(|a| a.reshaped(out.clone())).collect::<Result<_, Fault>>()?)
    }

    /// Selects an element of each window, and adds the source of the window to the selected positions. Padding is never selected.
    fn select_and_scatter(
        &self,
        op: OpId,
        operands: Vec<Array<D>>,
        spec: &WindowSpec,
        frame: &mut Frame<'_, D>,
    ) -> Result<Vec<Array<D>>, Stop> {
        let regions = &self.module.ops[op].regions;
        let (Ok([operand, source, init]), &[select, combine]) =
            (<[Array<D>; 3]>::try_from(operands), regions.as_slice())
        else {
            return Err(Fault::Invalid("not three operands and two regions".to_owned()).into());
        };
        let windows = windows(operand.dims(), spec)?;
        let lanes = count(&windows.results())?;
        if source.dims() != windows.results().as_slice() {
            return Err(Fault::Invalid(format!(
                "a source of {:?} for {:?} windows",
                source.dims(),
                windows.results()
            ))
            .into());
        }
        let mut chosen: Vec<Option<usize>> = vec![None; lanes];
        for positions in windows.lanes() {
            self.charge(lanes as u64)?;
            let old = taken(&operand, &chosen, &init)?;
            let new = taken(&operand, &positions, &init)?;
            let keeps = self.lifted(select, vec![old, new], lanes, frame)?;
            let keeps = keeps.first().and_then(Array::to_integers).unwrap_or_default();
            for ((chosen, position), keeps) in chosen.iter_mut().zip(positions).zip(keeps) {
                if position.is_some() && (keeps == 0 || chosen.is_none()) {
                    *chosen = position;
                }
            }
        }
        let start = elementwise::spread(&init.reshaped(Dims::new())?, operand.dims())?;
        let flat = source.reshaped(Dims::from_slice(&[lanes]))?;
        self.combined(combine, vec![start], &[flat], &chosen, frame)
    }

    fn scatter(
        &self,
        region: RegionId,
        mut operands: Vec<Array<D>>,
        spec: &ScatterSpec,
        frame: &mut Frame<'_, D>,
    ) -> Result<Vec<Array<D>>, Stop> {
        let n = operands.len() / 2;
        if operands.len() != 2 * n + 1 || n == 0 {
            return Err(Fault::Invalid("not one array of updates for each input".to_owned()).into());
        }
        let updates = operands.split_off(n + 1);
        let Some(indices) = operands.pop() else { return Ok(Vec::new()) };
        for array in &updates {
            self.charge(array.len() as u64)?;
        }
        let dims = operands.first().map(|a| Dims::from_slice(a.dims())).unwrap_or_default();
        let found = scatter::updates(&dims, &indices, &updates, spec)?;
        self.combined(region, operands, &found.arrays, &found.positions, frame)
    }

    /// Combines elements of `inputs` with updates, in the order of the updates.
    fn combined(
        &self,
        region: RegionId,
        mut inputs: Vec<Array<D>>,
        updates: &[Array<D>],
        positions: &[Option<usize>],
        frame: &mut Frame<'_, D>,
    ) -> Result<Vec<Array<D>>, Stop> {
        let len = inputs.first().map_or(0, Array::len);
        for (numbers, places) in scatter::rounds(positions, len) {
            let lanes = numbers.len();
            let flat = |a: &Array<D>, places: &[usize]| {
                Array::new(Dims::from_slice(&[lanes]), a.dtype(), a.data().taken(places))
            };
            let old = inputs.iter().map(|a| flat(a, &places));
            let new = updates.iter().map(|a| flat(a, &numbers));
            let args = old.chain(new).collect::<Result<Vec<_>, Fault>>()?;
            let results = self.lifted(region, args, lanes, frame)?;
            for (input, result) in inputs.iter_mut().zip(&results) {
                put(input, &places, result)?;
            }
        }
        Ok(inputs)
    }
}

/// Replaces the elements at these positions.
fn put<D: Domain>(to: &mut Array<D>, places: &[usize], from: &Array<D>) -> Result<(), Fault> {
    both!(to.data_mut(), from.data(), (x, y) => {
        for (&at, &value) in places.iter().zip(y) {
            x[at] = value;
        }
    });
    Ok(())
}
