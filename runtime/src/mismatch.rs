//! Mismatches between inputs and a program's parameters.

use std::fmt;

use crate::array_type::ArrayType;

/// Maximum number of mismatches in a message.
const SHOWN: usize = 20;

/// One input that does not match the program's parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// The index of the input, from 0.
    pub index: usize,
    /// The name of the parameter in the program, if any.
    pub name: Option<String>,
    /// The device on which the input does not match; `None` for all devices.
    pub device: Option<i32>,
    /// The kind of the mismatch, with its details.
    pub problem: Problem,
}

/// The kind of a mismatch between an input and a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// The input is missing.
    Missing {
        /// The parameter's type.
        expected: ArrayType,
    },
    /// The program has no such parameter.
    Extra {
        /// The input's type.
        given: ArrayType,
    },
    /// The input has a different element type or shape than the parameter.
    Type {
        /// The parameter's type.
        expected: ArrayType,
        /// The input's type.
        given: ArrayType,
    },
    /// The size of the input's data does not match its type.
    Data {
        /// The actual and the expected size, as a message.
        reason: String,
    },
    /// The input is on the wrong device.
    Device {
        /// The ID of the device on which the program reads the input.
        expected: i32,
        /// The ID of the device that has the input.
        given: i32,
    },
    /// The input has a different sharding than the program expects.
    Layout {
        /// The sharding that the program expects.
        expected: String,
        /// The sharding of the input.
        given: String,
    },
}

impl Mismatch {
    /// Creates a mismatch of the input with this index, on all devices and without a name.
    #[must_use]
    pub fn new(index: usize, problem: Problem) -> Mismatch {
        Mismatch { index, name: None, device: None, problem }
    }

    /// Creates the mismatch of an input that is on the wrong device; `expected` and `given` are device IDs.
    pub(crate) fn elsewhere(index: usize, expected: i32, given: i32) -> Mismatch {
        Mismatch::new(index, Problem::Device { expected, given })
    }

    pub(crate) fn on_device(mut self, device: i32) -> Mismatch {
        self.device = Some(device);
        self
    }

    /// Sets the input's name in the program.
    #[must_use]
    pub fn named(mut self, name: Option<&str>) -> Mismatch {
        self.name = name.map(str::to_owned);
        self
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "input {}", self.index)?;
        if let Some(name) = &self.name {
            write!(f, " ({name})")?;
        }
        if let Some(device) = self.device {
            write!(f, " on device {device}")?;
        }
        match &self.problem {
            Problem::Missing { expected } => write!(f, ": expected {expected}, but it is missing"),
            Problem::Extra { given } => write!(f, ": got {given}, but the program has no such input"),
            Problem::Type { expected, given } => write!(f, ": expected {expected}, got {given}"),
            Problem::Data { reason } => write!(f, ": {reason}"),
            Problem::Device { expected, given } => {
                write!(f, ": expected on device {expected}, got it on device {given}")
            }
            Problem::Layout { expected, given } => {
                write!(f, ": expected {expected}, got {given}")
            }
        }
    }
}

/// Compares the number and types of inputs with a program's parameters. Returns all mismatches.
#[must_use]
pub fn compare(expected: &[ArrayType], given: &[ArrayType]) -> Vec<Mismatch> {
    let problem = |i: usize| match (expected.get(i), given.get(i)) {
        (Some(expected), Some(given)) if expected != given => {
            Some(Problem::Type { expected: expected.clone(), given: given.clone() })
        }
        (Some(expected), None) => Some(Problem::Missing { expected: expected.clone() }),
        (None, Some(given)) => Some(Problem::Extra { given: given.clone() }),
        (Some(_), Some(_)) | (None, None) => None,
    };
    (0..expected.len().max(given.len())).filter_map(|i| Some(Mismatch::new(i, problem(i)?))).collect()
}

/// Sorts mismatches by input. If an input has the same mismatch on several devices, one mismatch for all devices is kept.
pub(crate) fn distinct(mismatches: Vec<Mismatch>) -> Vec<Mismatch> {
    let mut distinct: Vec<Mismatch> = Vec::new();
    for mismatch in mismatches {
        let same = |d: &&mut Mismatch| (d.index, &d.problem) == (mismatch.index, &mismatch.problem);
        match distinct.iter_mut().find(same) {
            Some(known) => known.device = None,
            None => distinct.push(mismatch),
        }
    }
    distinct.sort_by_key(|mismatch| mismatch.index);
    distinct
}

/// Formats the message of an error with these mismatches; `parameters` is the number of parameters of the program.
pub(crate) fn describe(mismatches: &[Mismatch], parameters: usize) -> String {
    let mut inputs: Vec<usize> = mismatches.iter().map(|mismatch| mismatch.index).collect();
    inputs.dedup();
    let mut text = match inputs.len() {
        1 => format!("1 input does not match the program, which has {parameters} parameters:"),
        n => format!("{n} inputs do not match the program, which has {parameters} parameters:"),
    };
    for mismatch in mismatches.iter().take(SHOWN) {
        text.push_str(&format!("\n  {mismatch}"));
    }
    if mismatches.len() > SHOWN {
        text.push_str(&format!("\n  and {} more", mismatches.len() - SHOWN));
    }
    text
}

#[cfg(test)]
mod tests {
    use shardc_ir::DType;

    use super::*;
    use crate::error::RuntimeError;

    fn ty(dtype: DType, shape: &[usize]) -> ArrayType {
        ArrayType { dtype, shape: shape.to_vec() }
    }

    #[test]
    fn all_mismatches_are_reported_together() {
        let expected = [ty(DType::F32, &[4, 8]), ty(DType::I32, &[]), ty(DType::F32, &[2])];
        let given = [ty(DType::I32, &[4, 8]), ty(DType::I32, &[])];
        let error = RuntimeError::unless_fitting(compare(&expected, &given), 3).unwrap_err();
        assert_eq!(error.code(), "RT0303");
        assert_eq!(
            error.to_string(),
            "2 inputs do not match the program, which has 3 parameters:\n  \
             input 0: expected tensor<4x8xf32>, got tensor<4x8xi32>\n  \
             input 2: expected tensor<2xf32>, but it is missing"
        );
        let extra = RuntimeError::unless_fitting(compare(&[], &given[..1]), 0).unwrap_err();
        assert!(extra.to_string().ends_with("got tensor<4x8xi32>, but the program has no such input"));
        RuntimeError::unless_fitting(compare(&expected, &expected), 3).unwrap();
    }

    #[test]
    fn mismatch_on_all_devices_is_reported_once() {
        let wrong = |device| {
            let expected = [ty(DType::F32, &[4]), ty(DType::F32, &[4])];
            let given = [ty(DType::F32, &[4]), ty(DType::F64, &[4])];
            compare(&expected, &given).remove(0).on_device(device)
        };
        let all = RuntimeError::unless_fitting((0..8).map(wrong).collect(), 2).unwrap_err().to_string();
        assert_eq!(all.lines().count(), 2, "{all}");
        assert!(!all.contains("device"), "{all}");
        assert!(
            RuntimeError::unless_fitting(vec![wrong(3)], 2)
                .unwrap_err()
                .to_string()
                .contains("input 1 on device 3:")
        );
    }

    #[test]
    fn long_lists_are_truncated() {
        let expected = vec![ty(DType::F32, &[4]); 300];
        let text = RuntimeError::unless_fitting(compare(&expected, &[]), 300).unwrap_err().to_string();
        assert!(text.ends_with("and 280 more"), "{text}");
    }
}
