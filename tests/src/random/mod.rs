//! Random programs: a [`Recipe`] of numbers becomes the text of an annotated single-device program.
//!
//! Any numbers produce a valid program, so generators and shrinkers (which remove numbers) need not know their meaning. Numbers that select
//! an impossible operation, such as a matmul of tensors without a common size, add no operation.
//!
//! Values stay finite and integers are exact, so the program has one result on every platform. Compared values and indices do not come
//! from sums of floats, which depend on the order of summation.

mod bits;
mod control;
mod emit;
mod index;
mod manual;
mod ops;
mod placement;
mod places;
mod products;
mod shaped;
mod smooth;
mod windows;

use emit::Emitter;
pub use placement::MeshRecipe;

/// The numbers that determine a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recipe {
    /// The mesh.
    pub mesh: MeshRecipe,
    /// Numbers that select the sizes of the parameters' dimensions.
    pub sizes: [u16; 3],
    /// The parameters: type, rank, sizes, sharding.
    pub parameters: Vec<[u16; 10]>,
    /// The operations: kind, operands, attributes.
    pub ops: Vec<[u16; 12]>,
    /// A number that selects the used values that are also returned. Unused values are always returned.
    pub outputs: u16,
    /// Whether the program is generated for differentiation. Floats in double precision are then preferred, and are also compared and
    /// sorted, and all elementwise float operations occur.
    pub floats: bool,
}

impl Recipe {
    /// The program as StableHLO text.
    #[must_use]
    pub fn text(&self) -> String {
        let mut emitter = Emitter::new(self.mesh.mesh(), self.sizes);
        emitter.floats = self.floats;
        emitter.parameters(&self.parameters);
        for op in &self.ops {
            emitter.op(&mut Choices::new(op));
        }
        let text = emitter.finish(self.outputs);
        match self.floats {
            // Infinities are written as bit patterns.
            true => text
                .replace("0xFF800000", "0xFFF0000000000000")
                .replace("0x7F800000", "0x7FF0000000000000")
                .replace("f32>", "f64>"),
            false => text,
        }
    }
}

/// Reads numbers as choices; a missing number selects the first choice.
pub(crate) struct Choices<'a> {
    rest: std::slice::Iter<'a, u16>,
}

impl<'a> Choices<'a> {
    pub(crate) fn new(numbers: &'a [u16]) -> Self {
        Choices { rest: numbers.iter() }
    }

    /// Returns a number in `0..n`, or zero if `n` is zero.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        let number = usize::from(self.rest.next().copied().unwrap_or(0));
        if n == 0 { 0 } else { number % n }
    }

    /// A random element of `things`.
    pub(crate) fn of<T: Copy>(&mut self, things: &[T]) -> T {
        things[self.below(things.len())]
    }

    /// Returns true with probability 1 in `n`, and false if numbers are missing.
    pub(crate) fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == n - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_numbers_select_the_first_choice() {
        let mut c = Choices::new(&[7]);
        assert_eq!((c.below(5), c.below(5), c.below(0)), (2, 0, 0));
        assert!(!c.one_in(3));
    }

    /// Programs whose recipes are consecutive numbers of a random generator.
    fn some_programs(count: usize) -> Vec<String> {
        let mut state = 1u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as u16
        };
        (0..count)
            .map(|_| {
                let recipe = Recipe {
                    mesh: MeshRecipe { axes: next(), order: 0 },
                    sizes: std::array::from_fn(|_| next()),
                    parameters: (0..4).map(|_| std::array::from_fn(|_| next())).collect(),
                    ops: (0..10).map(|_| std::array::from_fn(|_| next())).collect(),
                    outputs: next(),
                    floats: false,
                };
                recipe.text()
            })
            .collect()
    }

    #[test]
    fn every_kind_is_drawn() {
        let programs = some_programs(1500);
        for kind in KINDS {
            let count = programs.iter().filter(|text| text.contains(kind)).count();
            assert!(count >= 3, "{kind} is in {count} of {} programs", programs.len());
        }
    }

    const KINDS: &[&str] = &[
        "chlo.top_k",
        "complex<f32>",
        "func.call",
        "sdy.manual_computation",
        "sdy.sharding_constraint",
        "stablehlo.all_gather",
        "stablehlo.all_reduce",
        "stablehlo.all_to_all",
        "stablehlo.batch_norm_grad",
        "stablehlo.batch_norm_inference",
        "stablehlo.batch_norm_training",
        "stablehlo.bitcast_convert",
        "stablehlo.broadcast\"",
        "stablehlo.broadcast_in_dim",
        "stablehlo.case",
        "stablehlo.cholesky",
        "stablehlo.clamp",
        "stablehlo.collective_permute",
        "stablehlo.complex",
        "stablehlo.composite",
        "stablehlo.concatenate",
        "stablehlo.convert",
        "stablehlo.convolution",
        "stablehlo.dot_general",
        "stablehlo.dynamic_broadcast_in_dim",
        "stablehlo.dynamic_iota",
        "stablehlo.dynamic_pad",
        "stablehlo.dynamic_reshape",
        "stablehlo.dynamic_slice",
        "stablehlo.dynamic_update_slice",
        "stablehlo.einsum",
        "stablehlo.fft",
        "stablehlo.gather",
        "stablehlo.if",
        "stablehlo.iota",
        "stablehlo.map",
        "stablehlo.optimization_barrier",
        "stablehlo.pad",
        "stablehlo.partition_id",
        "stablehlo.real",
        "stablehlo.real_dynamic_slice",
        "stablehlo.reduce(",
        "stablehlo.reduce_precision",
        "stablehlo.reduce_scatter",
        "stablehlo.reduce_window",
        "stablehlo.reshape",
        "stablehlo.reverse",
        "stablehlo.rng_bit_generator",
        "stablehlo.scatter",
        "stablehlo.select",
        "stablehlo.select_and_scatter",
        "stablehlo.slice",
        "stablehlo.sort",
        "stablehlo.torch_index_select",
        "stablehlo.transpose",
        "stablehlo.triangular_solve",
        "stablehlo.unary_einsum",
        "stablehlo.while",
        "xbf16",
    ];

    #[test]
    fn a_recipe_is_a_program() {
        let recipe = Recipe { parameters: vec![[0; 10]], ops: vec![[1; 12]], ..Recipe::default() };
        let text = recipe.text();
        assert!(text.starts_with("sdy.mesh @mesh = <[\"x\"=8]>\nfunc.func public @main("), "{text}");
    }
}
