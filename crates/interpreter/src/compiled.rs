//! The domains whose kernels are compiled in this crate.

use shardc_ir::{DType, FuncId};

use crate::array::Array;
use crate::error::{Error, Fault};
use crate::numbers::{Domain, Dual, Exact, Ieee};
use crate::program::{Grid, Launch, Outcome, Program};
use crate::value::Value;

/// A domain whose kernels are compiled here. A crate that calls these functions does not compile the generic kernels again, and they are
/// optimized as this crate is.
pub trait Compiled: Domain {
    /// See [`Program::call`].
    ///
    /// # Errors
    /// See [`Fault`].
    fn call(
        program: &Program<'_, Self>,
        func: FuncId,
        args: Vec<Value<Self>>,
    ) -> Result<Vec<Value<Self>>, Box<Error>>;

    /// See [`Program::run`]; the program has no infeed.
    ///
    /// # Errors
    /// See [`Fault`].
    fn run(
        program: &Program<'_, Self>,
        grid: Grid,
        launches: Vec<Launch<Self>>,
    ) -> Result<Outcome<Self>, Box<Error>>;

    /// See [`Array::from_bytes`].
    ///
    /// # Errors
    /// The number of bytes does not fit the shape.
    fn read(dims: &[usize], dtype: DType, bytes: &[u8]) -> Result<Array<Self>, Fault>;

    /// See [`Array::to_bytes`].
    fn write(array: &Array<Self>) -> Vec<u8>;

    /// See [`Array::block`].
    ///
    /// # Errors
    /// The offsets or sizes have another rank, or the block does not fit in memory.
    fn block(
        array: &Array<Self>,
        offsets: &[usize],
        sizes: &[usize],
        padding: f64,
    ) -> Result<Array<Self>, Fault>;

    /// See [`Array::differences`].
    fn differences(a: &Array<Self>, b: &Array<Self>) -> Option<Vec<usize>>;
}

macro_rules! compiled {
    ($domain:ty) => {
        impl Compiled for $domain {
            fn call(
                program: &Program<'_, Self>,
                func: FuncId,
                args: Vec<Value<Self>>,
            ) -> Result<Vec<Value<Self>>, Box<Error>> {
                program.call(func, args)
            }

            fn run(
                program: &Program<'_, Self>,
                grid: Grid,
                launches: Vec<Launch<Self>>,
            ) -> Result<Outcome<Self>, Box<Error>> {
                program.run(grid, launches, Vec::new())
            }

            fn read(dims: &[usize], dtype: DType, bytes: &[u8]) -> Result<Array<Self>, Fault> {
                Array::from_bytes(dims, dtype, bytes)
            }

            fn write(array: &Array<Self>) -> Vec<u8> {
                array.to_bytes()
            }

            fn block(
                array: &Array<Self>,
                offsets: &[usize],
                sizes: &[usize],
                padding: f64,
            ) -> Result<Array<Self>, Fault> {
                array.block(offsets, sizes, padding)
            }

            fn differences(a: &Array<Self>, b: &Array<Self>) -> Option<Vec<usize>> {
                a.differences(b)
            }
        }
    };
}

compiled!(Ieee);
compiled!(Exact);
compiled!(Dual);
