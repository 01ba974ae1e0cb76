//! Assembles variables, or blocks of them, from tensors of a checkpoint.

use std::ops::Range;

use shardc::Error;
use shardc_ir::Diagnostic;
use shardc_nn::Variable;
use shardc_runtime::HostArray;
use shardc_statedict::{StateDict, Tensor};

use super::Family;
use super::names::{How, places};

/// A variable and its source tensors: a single tensor, or one tensor for each layer of a stack.
pub(super) struct Assembled<'a> {
    pub(super) variable: &'a Variable,
    layers: Vec<Layer<'a>>,
}

/// The positions of the elements of a layer in its flattened source tensor.
struct Layer<'a> {
    name: String,
    tensor: &'a Tensor,
    first: usize,
    /// The stride of each dimension of a layer of the variable.
    strides: Vec<usize>,
}

impl<'a> Assembled<'a> {
    /// Finds the source tensors of a variable, or returns an error message.
    pub(super) fn of(
        family: Family,
        variable: &'a Variable,
        weights: &'a StateDict,
    ) -> Result<Assembled<'a>, String> {
        let name = &variable.name;
        let Some(places) = places(family, name) else {
            return Err(format!("{name:?} is not a parameter of {family:?}"));
        };
        let (count, own) = variable.layers();
        let own: Vec<usize> = own.iter().map(|&n| n as usize).collect();
        let layer = |layer: i64| {
            let filled = |name: &str| name.replace("{}", &layer.to_string());
            let found = places
                .iter()
                .find_map(|(name, how)| Some((filled(name), weights.find(&filled(name))?, *how)));
            let Some((place, tensor, how)) = found else {
                return Err(format!("{:?} is missing, for {name:?}", filled(&places[0].0)));
            };
            if !tensor.dtype().is_float() {
                return Err(format!("{place:?} has element type {}, expected a float type", tensor.dtype()));
            }
            let Some((first, strides)) = strides(how, tensor.shape(), &own) else {
                return Err(format!(
                    "{place:?} has shape {:?}, but {name:?} has shape {own:?}",
                    tensor.shape()
                ));
            };
            Ok(Layer { name: place, tensor, first, strides })
        };
        Ok(Assembled { variable, layers: (0..count).map(layer).collect::<Result<_, String>>()? })
    }

    /// The names of the source tensors.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.layers.iter().map(|layer| layer.name.as_str())
    }

    /// The elements of the variable within the bounds of each dimension.
    pub(super) fn block(&self, bounds: &[Range<usize>]) -> Result<HostArray, Error> {
        let (layers, own) = bounds.split_at(self.variable.num_stacks);
        // Layers of nested stacks are numbered consecutively.
        let mut numbers = vec![0];
        for (bounds, &count) in layers.iter().zip(&self.variable.shape) {
            let within = |&number: &usize| bounds.clone().map(move |layer| number * count as usize + layer);
            numbers = numbers.iter().flat_map(within).collect();
        }
        let shape: Vec<usize> = own.iter().map(|bounds| bounds.end - bounds.start).collect();
        let mut data = Vec::new();
        for layer in numbers.into_iter().filter_map(|number| self.layers.get(number)) {
            let first = own.iter().zip(&layer.strides).map(|(bounds, stride)| bounds.start * stride);
            let first = layer.first + first.sum::<usize>();
            let bytes = layer.tensor.read_strided(first, &shape, &layer.strides)?;
            let array = HostArray::new(layer.tensor.dtype(), &shape, bytes)?;
            if array.dtype == self.variable.dtype {
                data.extend_from_slice(&array.data);
                continue;
            }
            let converted = HostArray::from_f64(self.variable.dtype, &shape, &array.to_f64_vec());
            let wrong = |error| Diagnostic::invalid("SH0723", format!("{:?}: {error}", layer.name));
            data.extend_from_slice(&converted.map_err(wrong)?.data);
        }
        let shape: Vec<usize> = bounds.iter().map(|bounds| bounds.end - bounds.start).collect();
        Ok(HostArray::new(self.variable.dtype, &shape, data)?)
    }
}

/// Returns the offset and strides with which the elements of a variable of shape `own` are read from the flattened source tensor. Returns
/// `None` if the tensor has a different number of elements, or its dimensions are not products of consecutive dimensions of the variable.
pub(super) fn strides(how: How, shape: &[usize], own: &[usize]) -> Option<(usize, Vec<usize>)> {
    let count: usize = shape.iter().product();
    let (first, dims) = match (how, shape) {
        (How::Transposed, &[out, inputs]) => (0, vec![(inputs, 1), (out, inputs)]),
        (How::Third(part), [.., last]) => {
            let third = last / 3;
            (part * third, vec![(count / last.max(&1), *last), (third, 1)])
        }
        (How::Window, &[out, inputs, ref window @ ..]) => {
            let window: usize = window.iter().product();
            (0, vec![(window, 1), (inputs, window), (out, inputs * window)])
        }
        _ => (0, vec![(count, 1)]),
    };
    let mut strides = Vec::with_capacity(own.len());
    let mut own = own.iter().copied().peekable();
    for (size, stride) in dims {
        // The sizes of the variable's dimensions that form the current dimension of the tensor, outermost first.
        let (mut parts, mut covered) = (Vec::new(), 1);
        while let Some(n) = own.next_if(|&n| covered < size || n == 1) {
            parts.push(n);
            covered *= n;
        }
        if covered != size {
            return None;
        }
        let mut inner = size;
        for n in parts {
            inner /= n.max(1);
            strides.push(inner * stride);
        }
    }
    own.next().is_none().then_some((first, strides))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strides_of_merged_dimensions() {
        assert_eq!(strides(How::Same, &[6, 4], &[2, 3, 4]), Some((0, vec![12, 4, 1])));
        assert_eq!(strides(How::Same, &[], &[]), Some((0, vec![])));
        // `[out, in]` of size 6 x 4, for 4 inputs and 2 heads of size 3.
        assert_eq!(strides(How::Transposed, &[6, 4], &[4, 2, 3]), Some((0, vec![1, 12, 4])));
        assert_eq!(strides(How::Transposed, &[6, 4], &[2, 2, 6]), Some((0, vec![2, 1, 4])));
        assert_eq!(strides(How::Third(1), &[4, 18], &[4, 2, 3]), Some((6, vec![18, 3, 1])));
        assert_eq!(strides(How::Third(2), &[18], &[2, 3]), Some((12, vec![3, 1])));
        assert_eq!(strides(How::Window, &[8, 3, 5, 5], &[5, 5, 3, 8]), Some((0, vec![5, 1, 25, 75])));
        assert_eq!(strides(How::Transposed, &[6, 4], &[6, 4]), None);
        assert_eq!(strides(How::Same, &[6], &[5]), None);
        assert_eq!(strides(How::Same, &[6], &[6, 2]), None);
    }
}
