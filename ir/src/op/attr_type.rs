//! Types of inherent attributes.

/// The type of an inherent attribute, which determines its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttrType {
    /// `8 : i64`.
    I64,
    /// `8 : i32`.
    I32,
    /// `1.000000e-03 : f32`.
    F32,
    /// `true`.
    Bool,
    /// `array<i64: 1, 2>`; in pretty forms `[1, 2]`.
    Ints,
    /// `array<i32: 1, 2>`.
    I32s,
    /// `array<i1: true, false>`.
    Bools,
    /// `dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>`, pairs.
    Pairs,
    /// Groups of devices, with `-1` where a row is padded: `dense<[[0, 1, 2]]> : tensor<1x3xi64>`, or the axes of a mesh.
    Groups,
    /// Pairs of a sending and a receiving device, written like [`AttrType::Groups`].
    DevicePairs,
    /// `#stablehlo<kind WORD>`; in pretty forms `WORD`.
    Word(&'static str),
    /// `#chlo<kind WORD>`; in pretty forms `WORD`.
    ChloWord(&'static str),
    /// An enumeration with these variants; the generic form prints the variant's number.
    Number(&'static [&'static str]),
    /// `"text"`.
    Str,
    /// `@symbol`.
    Symbol,
    /// A unit attribute: present or absent.
    Unit,
    /// `#stablehlo.channel_handle<handle = 1, type = 1>`.
    Channel,
    /// `[#stablehlo<precision DEFAULT>, ...]`; in pretty forms `[DEFAULT, ...]`.
    Precisions,
    /// `[#chlo<precision DEFAULT>, ...]`.
    ChloPrecisions,
    /// `#chlo.ragged_dot<...>`.
    RaggedDot,
    /// `#stablehlo.dot<...>`.
    Dot,
    /// `#stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>`.
    Conv,
    /// `#stablehlo.gather<...>`.
    Gather,
    /// `#stablehlo.scatter<...>`.
    Scatter,
    /// The value of a constant, of the type of the result.
    Dense,
    /// `#sdy.sharding<...>`; in pretty forms without the name.
    Sharding,
    /// `#sdy.sharding_per_value<[...]>`; in pretty forms `[...]`.
    Shardings,
    /// `#sdy<axis_ref_list{...}>`; in pretty forms `{...}`.
    Axes,
    /// `#sdy<list_of_axis_ref_lists[{...}, ...]>`; in pretty forms `[{...}, ...]`.
    AxesPerDim,
    /// `#sdy<all_to_all_param_list[{...}: 0->1]>`; in pretty forms `[...]`.
    AllToAll,
    /// `#sdy<manual_axes{...}>`; in pretty forms `{...}`.
    ManualAxes,
    /// Text that the operation's payload keeps verbatim.
    Raw,
    /// An attribute of any type.
    Any,
    /// An attribute `prefix<...>`; in pretty forms without the prefix.
    Prefixed(&'static str),
    /// A number with the type that this text names; pretty forms print the number without the type.
    Typed(&'static str),
    /// Any attribute that is not in the payload: it is kept among the operation's other attributes.
    Carried,
}
