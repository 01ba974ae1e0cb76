//! Inlay hints: the local shape, or the sharding, after the name of each value whose local shape differs from its global shape.

use std::ops::Range;

use lsp_types::{InlayHint, InlayHintKind, InlayHintLabel, InlayHintTooltip};
use shardc::explain::{ValueLayout, bytes_text};
use shardc::stablehlo::ValueDefinition;

use crate::analysis::{Partitioned, Program, bytes};
use crate::text::Text;

/// The maximum number of hints of one answer. A client that requests the hints of a whole file gets the first ones.
const MOST: usize = 10_000;

/// The contents of a hint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum HintStyle {
    /// The local shape: `8x64`.
    #[default]
    Shape,
    /// The sharding: `data,-`.
    Sharding,
    /// Both.
    Both,
    /// There are no hints.
    Off,
}

impl HintStyle {
    /// Parses the option `inlayHints` of the client. An unknown word is the default.
    pub(crate) fn parse(word: &str) -> HintStyle {
        match word {
            "sharding" => HintStyle::Sharding,
            "both" => HintStyle::Both,
            "off" => HintStyle::Off,
            _ => HintStyle::Shape,
        }
    }

    fn label(self, layout: &ValueLayout) -> String {
        let shape = || layout.local_shape.iter().map(i64::to_string).collect::<Vec<_>>().join("x");
        match self {
            HintStyle::Sharding => layout.spec.clone(),
            HintStyle::Both => format!("{} ({})", shape(), layout.spec),
            HintStyle::Shape | HintStyle::Off => shape(),
        }
    }
}

/// The hints of the values that are defined in a range of bytes.
pub(crate) fn hints(
    (text, program): (&Text, &Program),
    partitioned: &Partitioned,
    range: Range<usize>,
    style: HintStyle,
) -> Vec<InlayHint> {
    if style == HintStyle::Off {
        return Vec::new();
    }
    let definitions = program.index.definitions_in(range).iter();
    definitions.filter_map(|definition| hint(text, partitioned, definition, style)).take(MOST).collect()
}

fn hint(
    text: &Text,
    partitioned: &Partitioned,
    definition: &ValueDefinition,
    style: HintStyle,
) -> Option<InlayHint> {
    let (mut labels, mut tooltips) = (Vec::new(), Vec::new());
    for i in 0..definition.count {
        let Some(layout) = definition.value(i).and_then(|value| partitioned.session.layout(value)) else {
            continue;
        };
        if layout.local_shape == layout.global_shape {
            continue;
        }
        let number = if definition.count > 1 { format!("#{i} ") } else { String::new() };
        labels.push(format!("{number}{}", style.label(&layout)));
        let bytes = layout.bytes.map(|bytes| format!(", {} per device", bytes_text(bytes)));
        tooltips.push(format!("{number}{}, {}{}", layout.local_type, layout.spec, bytes.unwrap_or_default()));
    }
    if labels.is_empty() {
        return None;
    }
    Some(InlayHint {
        position: text.position(end_of_name(text, definition)),
        label: InlayHintLabel::String(labels.join(", ")),
        kind: Some(InlayHintKind::TYPE),
        text_edits: None,
        tooltip: Some(InlayHintTooltip::String(tooltips.join("\n"))),
        padding_left: Some(true),
        padding_right: Some(true),
        data: None,
    })
}

/// The offset after the name, and after the number of values in `%0:2`.
fn end_of_name(text: &Text, definition: &ValueDefinition) -> usize {
    let end = bytes(definition.span).end;
    let rest = text.slice(end..text.as_str().len());
    match rest.strip_prefix(':').filter(|_| definition.count > 1) {
        Some(rest) => end + 1 + rest.bytes().take_while(u8::is_ascii_digit).count(),
        None => end,
    }
}
