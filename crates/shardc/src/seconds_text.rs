//! Seconds as text.

/// Formats seconds: `1.50 s`, `20.3 ms`, `7.1 us`.
#[must_use]
pub fn seconds_text(seconds: f64) -> String {
    match seconds {
        s if s >= 1.0 => format!("{s:.2} s"),
        s if s >= 1e-3 => format!("{:.1} ms", s * 1e3),
        s if s > 0.0 => format!("{:.1} us", s * 1e6),
        _ => "0 s".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_have_a_unit() {
        assert_eq!([0.0, 2e-6, 0.0203, 75.0].map(seconds_text), ["0 s", "2.0 us", "20.3 ms", "75.00 s"]);
    }
}
