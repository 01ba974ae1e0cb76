//! Constants of every element type: printed as a list or as a string of bytes, they parse to the same elements.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use shardc_ir::{DType, DTypeClass, Dense, Module, OpKind, TensorType};
use shardc_stablehlo::{PrintOptions, parse, print, render};

/// Returns elements of the first constant.
fn constant(module: &Module) -> &Dense {
    let constants = module.ops.values().filter_map(|op| match &op.kind {
        OpKind::Constant(dense) => Some(dense),
        _ => None,
    });
    constants.into_iter().next().expect("a constant")
}

fn read(text: &str) -> Module {
    parse(text).unwrap_or_else(|errors| panic!("{}", render(&errors, "input", text, false)))
}

fn program(value: &str, ty: &TensorType) -> String {
    format!("func.func @main() {{\n  %0 = stablehlo.constant dense<{value}> : {ty}\n  return\n}}\n")
}

/// Pseudo-random bytes from a seed, so that failures are reproducible.
fn bytes(seed: u64, count: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    (0..count).map(|_| next()).collect()
}

/// Returns bytes per element in MLIR's storage.
fn stored(dtype: DType) -> usize {
    if dtype == DType::TF32 { 3 } else { dtype.bytes() }
}

fn hex(bytes: &[u8]) -> String {
    let digits: Vec<String> = bytes.iter().map(|b| format!("{b:02X}")).collect();
    format!("\"0x{}\"", digits.concat())
}

#[test]
fn constants_of_each_element_type_round_trip() {
    for &dtype in DType::ALL {
        for count in [1usize, 2, 3, 100, 101, 257] {
            for splat in [true, false] {
                let ty = TensorType::new(&[count as i64], dtype);
                let elements = if splat { 1 } else { count };
                let raw = bytes(u64::from(dtype.bits()) + count as u64, elements * stored(dtype));
                let module = read(&program(&hex(&raw), &ty));
                let text = print(&module, &PrintOptions::default());
                let again = read(&text);
                assert_eq!(constant(&again), constant(&module), "{ty} from {} in {text}", hex(&raw));
                assert_eq!(print(&again, &PrintOptions::default()), text);
            }
        }
    }
}

/// As in MLIR, the upper bits in the byte of a narrow element are ignored.
#[test]
fn narrow_elements_take_one_byte_each() {
    let cases = [
        ("0x77", "tensor<2xi4>", "dense<7>"),
        ("0x0777", "tensor<2xi4>", "dense<7>"),
        ("0xFF07", "tensor<2xi4>", "dense<[-1, 7]>"),
        ("0x07F9", "tensor<2xi4>", "dense<[7, -7]>"),
        ("0xFF01", "tensor<2xui4>", "dense<[15, 1]>"),
        ("0x070605", "tensor<3xi2>", "dense<[-1, -2, 1]>"),
        ("0x3FF1", "tensor<2xf4E2M1FN>", "dense<[-6.000000e+00, 5.000000e-01]>"),
        ("0xAA", "tensor<8xi1>", "dense<[false, true, false, true, false, true, false, true]>"),
        ("0x0100", "tensor<2xi1>", "dense<[true, false]>"),
    ];
    for (hex, ty, expected) in cases {
        let text = format!(
            "func.func @main() {{\n  %0 = stablehlo.constant dense<\"{hex}\"> : {ty}\n  return\n}}\n"
        );
        let printed = print(&read(&text), &PrintOptions::default());
        assert!(printed.contains(&format!("{expected} : {ty}")), "{hex} : {ty} is {printed}");
    }
}

#[test]
fn narrow_elements_are_in_range() {
    for &dtype in DType::ALL.iter().filter(|dtype| dtype.bits() < 8 && dtype.bits() > 1) {
        let ty = TensorType::new(&[256], dtype);
        let all: Vec<u8> = (0..=255).collect();
        let module = read(&program(&hex(&all), &ty));
        let Dense::Elements(elements) = constant(&module) else { panic!("{ty} is no splat") };
        let beyond = |b: &&u8| match dtype.class() {
            DTypeClass::Signed => {
                !(-(1i8 << (dtype.bits() - 1))..1i8 << (dtype.bits() - 1)).contains(&(**b as i8))
            }
            _ => **b >> dtype.bits() != 0,
        };
        assert_eq!(elements.iter().find(beyond), None, "{ty}");
    }
}

/// A `tf32` has 19 bits. A pattern with the 32 bits of an `f32` is rejected, because it would lose bits.
#[test]
fn tf32_has_nineteen_bits() {
    let ty = TensorType::new(&[], DType::TF32);
    for bits in ["0xFF800000", "0x80000"] {
        let errors = parse(&program(bits, &ty)).expect_err(bits);
        assert!(errors[0].to_string().contains("expected an element of type tf32"), "{errors:?}");
    }
    for bits in ["0x7FC00", "0x3FC00", "0x7FE00"] {
        let module = read(&program(bits, &ty));
        let text = print(&module, &PrintOptions::default());
        assert!(text.contains(bits), "{text}");
        assert_eq!(constant(&read(&text)), constant(&module));
    }
}
