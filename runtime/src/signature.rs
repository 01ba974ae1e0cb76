//! Reads the signature of a compiled program from its optimized HLO.

use prost::Message;
use shardc_ir::DType;

use crate::array_type::ArrayType;
use crate::device_layout::DeviceLayout;

/// Returns the parameter types of a program from `PJRT_Executable_OptimizedProgram`; `None` for a format or an element type that shardc
/// cannot read. Field numbers are from `xla/service/hlo.proto` and `xla/xla_data.proto`.
pub(crate) fn parameters(format: &str, program: &[u8]) -> Option<Vec<ArrayType>> {
    program_shape(format, program)?.parameters.iter().map(array_type).collect()
}

fn program_shape(format: &str, program: &[u8]) -> Option<ProgramShape> {
    let module = match format {
        "hlo" => Module::decode(program).ok()?,
        "hlo_with_config" => ModuleWithConfig::decode(program).ok()?.module?,
        _ => return None,
    };
    module.host_program_shape
}

/// Returns the memory layouts of the parameters; `None` if the format is not supported, as in [`parameters`].
pub(crate) fn parameter_layouts(format: &str, program: &[u8]) -> Option<Vec<DeviceLayout>> {
    let layout = |shape: &Shape| {
        let layout = shape.layout.as_ref()?;
        let tiles: Vec<Vec<i64>> = layout.tiles.iter().map(|tile| tile.dimensions.clone()).collect();
        DeviceLayout::from_numbers(&layout.minor_to_major, &tiles)
    };
    program_shape(format, program)?.parameters.iter().map(layout).collect()
}

fn array_type(shape: &Shape) -> Option<ArrayType> {
    let dtype = TYPES.iter().find(|(number, _)| *number == shape.element_type)?.1;
    let shape = shape.dimensions.iter().map(|&n| usize::try_from(n)).collect::<Result<_, _>>().ok()?;
    Some(ArrayType { dtype, shape })
}

/// The values of the enum `xla.PrimitiveType`, which differ from those of `PJRT_Buffer_Type`, and their element types.
const TYPES: &[(i32, DType)] = &[
    (1, DType::I1),
    (2, DType::I8),
    (3, DType::I16),
    (4, DType::I32),
    (5, DType::I64),
    (6, DType::UI8),
    (7, DType::UI16),
    (8, DType::UI32),
    (9, DType::UI64),
    (10, DType::F16),
    (11, DType::F32),
    (12, DType::F64),
    (15, DType::C64),
    (16, DType::BF16),
    (18, DType::C128),
    (19, DType::F8E5M2),
    (20, DType::F8E4M3FN),
    (21, DType::I4),
    (22, DType::UI4),
    (23, DType::F8E4M3B11FNUZ),
    (24, DType::F8E5M2FNUZ),
    (25, DType::F8E4M3FNUZ),
    (26, DType::I2),
    (27, DType::UI2),
    (28, DType::F8E4M3),
    (29, DType::F8E3M4),
    (32, DType::F4E2M1FN),
    (33, DType::F8E8M0FNU),
];

#[derive(Clone, PartialEq, Message)]
struct ModuleWithConfig {
    #[prost(message, optional, tag = "1")]
    module: Option<Module>,
}

#[derive(Clone, PartialEq, Message)]
struct Module {
    #[prost(message, optional, tag = "4")]
    host_program_shape: Option<ProgramShape>,
}

#[derive(Clone, PartialEq, Message)]
struct ProgramShape {
    #[prost(message, repeated, tag = "1")]
    parameters: Vec<Shape>,
}

#[derive(Clone, PartialEq, Message)]
struct Shape {
    #[prost(int32, tag = "2")]
    element_type: i32,
    #[prost(int64, repeated, tag = "3")]
    dimensions: Vec<i64>,
    #[prost(message, optional, tag = "5")]
    layout: Option<Layout>,
}

#[derive(Clone, PartialEq, Message)]
struct Layout {
    #[prost(int64, repeated, tag = "1")]
    minor_to_major: Vec<i64>,
    #[prost(message, repeated, tag = "6")]
    tiles: Vec<Tile>,
}

#[derive(Clone, PartialEq, Message)]
struct Tile {
    #[prost(int64, repeated, tag = "1")]
    dimensions: Vec<i64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_of_parameters() {
        let shape = |element_type, dimensions: &[i64]| Shape {
            element_type,
            dimensions: dimensions.to_vec(),
            layout: None,
        };
        let of = |parameters| {
            let module = Module { host_program_shape: Some(ProgramShape { parameters }) };
            super::parameters("hlo_with_config", &ModuleWithConfig { module: Some(module) }.encode_to_vec())
        };
        let types = of(vec![shape(16, &[2, 3]), shape(1, &[])]).unwrap();
        let text: Vec<String> = types.iter().map(ToString::to_string).collect();
        assert_eq!(text, ["tensor<2x3xbf16>", "tensor<i1>"]);
        // Type 13 is a tuple, which is not supported.
        assert_eq!(of(vec![shape(13, &[])]), None);
        assert_eq!(super::parameters("mlir", b"module {}"), None);
    }
}
