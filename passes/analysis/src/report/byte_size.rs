//! Human-readable byte sizes.

/// Formats a number of bytes: `1.5 MiB`.
#[must_use]
pub fn bytes_text(n: u64) -> String {
    let mut value = n as f64;
    for unit in ["B", "KiB", "MiB", "GiB"] {
        if value < 1024.0 {
            return if unit == "B" { format!("{n} B") } else { format!("{value:.1} {unit}") };
        }
        value /= 1024.0;
    }
    format!("{value:.1} TiB")
}

/// Parses a number of bytes: `4096`, `64KiB`, `1.5 MiB`, `2GB`. Units are powers of 1024, with or without `i` and `B`. `None` if the text
/// is malformed.
#[must_use]
pub fn parse_bytes(text: &str) -> Option<u64> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let unit = unit.trim().to_ascii_lowercase();
    let power = match unit.trim_end_matches('b').trim_end_matches('i') {
        "" => 0u32,
        "k" => 1,
        "m" => 2,
        "g" => 3,
        "t" => 4,
        _ => return None,
    };
    let value = number.parse::<f64>().ok()? * 1024u64.pow(power) as f64;
    (value < u64::MAX as f64).then_some(value as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn byte_sizes_are_formatted_and_parsed() {
        assert_eq!([0, 1023, 1536, 3 << 30].map(bytes_text), ["0 B", "1023 B", "1.5 KiB", "3.0 GiB"]);
        let read = ["0", "4096", "1MiB", "1.5 kib", "2G", "7B"].map(parse_bytes);
        assert_eq!(read, [0, 4096, 1 << 20, 1536, 2 << 30, 7].map(Some));
        assert_eq!(["", "MiB", "1x", "1.2.3", "-1"].map(parse_bytes), [None; 5]);
    }
}
