//! The meaning of terms, element by element, for tests: every rewrite must keep it.
//!
//! `numbers` has the elements, `terms` evaluates terms, `expression` evaluates expressions that are never rewritten, and `random` builds
//! both side by side. `linear` tests affine functions on their own.

mod expression;
mod linear;
mod numbers;
mod random;
mod terms;

use random::Random;

/// The positions in slots.
type Positions = std::collections::BTreeMap<u32, u64>;

/// Random expressions of this depth.
fn check(depth: usize, count: u64) {
    let count = if shardc_filetest::sample::is_thorough() { 50 * count } else { count };
    let (mut built, mut compared) = (0, 0);
    for seed in 0..count {
        let mut random = Random::new(seed);
        let (expr, view) = random.expression(depth);
        built += expr.size();
        for _ in 0..6 {
            let at = random.positions();
            let wanted = expr.value(&at);
            let Some(found) = random.terms.value(&view, &at) else { continue };
            compared += 1;
            assert_eq!(wanted, found, "seed {seed}, at {at:?}: {expr:#?}\n{view:?}");
        }
    }
    assert!(compared > 3 * count, "most elements are arbitrary: {compared}");
    assert!(built > count as usize * depth / 2, "expressions are too small: {built} operations");
}

#[test]
fn rewrites_of_small_expressions_keep_the_meaning() {
    check(1, 4_000);
    check(2, 4_000);
}

#[test]
fn rewrites_of_expressions_keep_the_meaning() {
    check(3, 4_000);
}

#[test]
fn rewrites_of_nested_expressions_keep_the_meaning() {
    check(5, 400);
}
