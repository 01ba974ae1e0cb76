//! Affine functions: each operation keeps their values.

use super::Positions;
use super::expression::affine;
use super::random::{Random, SLOTS};
use crate::algebra::Linear;
use crate::terms::{Digit, Digits, Kind, push};

/// All positions in slots 0 and 1, and some on the device.
fn all() -> Vec<Positions> {
    let (one, two) = (0..SLOTS[0].1, 0..SLOTS[1].1);
    let pairs = one.flat_map(|a| two.clone().map(move |b| (a, b)));
    pairs.map(|(a, b)| [(0, a), (1, b), (SLOTS[2].0, (a + b) % SLOTS[2].1)].into()).collect()
}

/// Random affine functions.
fn each(mut test: impl FnMut(&mut Random, &Linear)) {
    for seed in 0..3_000 {
        let mut random = Random::new(seed);
        let linear = random.linear(&SLOTS.to_vec());
        test(&mut random, &linear);
    }
}

fn value(linear: &Linear, at: &Positions) -> i64 {
    i64::try_from(affine(linear, at)).unwrap()
}

#[test]
fn a_merged_function_has_disjoint_digits_and_the_same_values() {
    each(|_, linear| {
        let merged = linear.merged().unwrap_or_else(|| linear.clone());
        assert!(all().iter().all(|at| value(linear, at) == value(&merged, at)), "{linear:?} {merged:?}");
    });
}

#[test]
fn the_range_has_all_values() {
    each(|_, linear| {
        let Some(merged) = linear.merged() else { return };
        let (low, high) = merged.range().unwrap();
        let values: Vec<i64> = all().iter().map(|at| value(&merged, at)).collect();
        assert!(values.iter().all(|value| (low..=high).contains(value)), "{linear:?}");
        if merged.parts.iter().all(|(_, digit)| digit.slot == 0) {
            assert_eq!((values.iter().min(), values.iter().max()), (Some(&low), Some(&high)), "{linear:?}");
        }
    });
}

#[test]
fn sums_and_products_have_the_values_of_the_functions() {
    each(|random, linear| {
        let (other, factor) = (random.linear(&SLOTS.to_vec()), random.below(7) as i64 - 3);
        if let Some(sum) = linear.plus(&other, factor) {
            for at in all() {
                assert_eq!(value(&sum, &at), value(linear, &at) + factor * value(&other, &at));
            }
        }
    });
}

#[test]
fn a_quotient_and_a_remainder_are_those_of_each_value() {
    let mut divided = 0;
    each(|random, linear| {
        let by = random.below(14) as i64;
        let (Some(quotient), Some(rest)) = (linear.quotient(by), linear.remainder(by)) else { return };
        divided += 1;
        for at in all() {
            let x = value(linear, &at);
            assert_eq!((value(&quotient, &at), value(&rest, &at)), (x / by, x % by), "{linear:?} by {by}");
        }
    });
    assert!(divided > 300, "{divided}");
}

#[test]
fn a_quotient_splits_digits() {
    let position = Linear { base: 0, parts: vec![(1, Digit::all(0, 12))] };
    let digit = |coef, stride, size| Linear { base: 0, parts: vec![(coef, Digit { slot: 0, stride, size })] };
    let is = |found: Option<Linear>, wanted: &Linear| {
        let found = found.unwrap();
        assert_eq!((found.base, &found.parts), (wanted.base, &wanted.parts));
    };
    is(position.quotient(4), &digit(1, 4, 3));
    is(position.remainder(4), &digit(1, 1, 4));
    is(position.times(2).unwrap().quotient(8), &digit(1, 4, 3));
    is(position.times(2).unwrap().remainder(8), &digit(2, 1, 4));
    is(position.times(8).unwrap().quotient(4), &digit(2, 1, 12));
    is(position.remainder(12), &position);
    assert!(position.quotient(5).is_none() && position.quotient(0).is_none());
    assert!(position.plus(&Linear::constant(-1), 1).unwrap().quotient(4).is_none(), "it may be negative");
    assert!(position.plus(&Linear::constant(1), 1).unwrap().quotient(4).is_none(), "a carry is not affine");
}

#[test]
fn a_list_of_values_is_fitted_exactly() {
    let mut fitted = 0;
    each(|random, linear| {
        let mut own = linear.clone();
        own.parts.retain(|(_, digit)| digit.slot == 0);
        let at = |position| [(0, position)].into();
        let mut list: Vec<i64> = (0..12).map(|position| value(&own, &at(position))).collect();
        if random.below(4) == 0 {
            list[random.below(12) as usize] += 1;
        }
        let Some(found) = Linear::fit(&list, 0) else { return };
        fitted += 1;
        for (position, &wanted) in (0..12).zip(&list) {
            assert_eq!(value(&found, &at(position)), wanted, "{list:?}");
        }
    });
    assert!(fitted > 1_000, "{fitted}");
}

#[test]
fn replaced_positions_have_the_same_value() {
    let mut moved = 0;
    each(|random, linear| {
        // The position in slot 0 is a number with two digits.
        let minor = random.one_of(&[2, 3, 4, 6]);
        let mut number = Digits::new();
        push(&mut number, Digit::all(5, 12 / minor));
        push(&mut number, Digit::all(6, minor));
        let Some(found) = linear.moved(|slot| (slot == 0).then_some(&number[..])) else { return };
        moved += 1;
        for mut at in all() {
            let position = at[&0];
            at.extend([(5, position / minor), (6, position % minor)]);
            assert_eq!(value(&found, &at), value(linear, &at), "{linear:?}");
        }
    });
    assert!(moved > 1_000, "{moved}");
}

#[test]
fn functions_beyond_the_kind_are_no_views() {
    let mut terms = crate::terms::Terms::default();
    let byte = Kind::Integer(shardc_ir::DType::UI8);
    let mut of = |base, coef| {
        let linear = Linear { base, parts: vec![(coef, Digit::all(0, 12))] };
        terms.linear(&linear, byte).is_some()
    };
    assert!(of(0, 1) && of(244, 1) && of(11, -1) && of(0, 23));
    assert!(!of(-1, 1) && !of(245, 1) && !of(10, -1) && !of(0, 24));
}
