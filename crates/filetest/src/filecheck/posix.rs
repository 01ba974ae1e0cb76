//! Translates POSIX extended regular expressions, as FileCheck uses them, to the syntax of Rust's `regex`.

/// Translates an expression. Characters that are special only in Rust are escaped, negated classes do not match a newline, and groups do
/// not capture.
///
/// # Errors
/// The expression is unterminated, or has a back-reference.
pub(super) fn translated(expression: &str) -> Result<String, String> {
    let mut out = String::new();
    let mut chars = expression.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                None => return Err("the expression ends in a `\\`".to_owned()),
                Some(c) if c.is_ascii_digit() => {
                    return Err(format!("back-references such as `\\{c}` are not supported; use a variable"));
                }
                Some(c) => literal(c, &mut out),
            },
            '[' => {
                let mut set = String::new();
                let negative = chars.next_if_eq(&'^').is_some();
                // A `]` in first position is literal.
                let mut first = true;
                loop {
                    match chars.next() {
                        None => return Err("a `[` is not closed".to_owned()),
                        Some(']') if !first => break,
                        Some('[') if chars.peek() == Some(&':') => {
                            set.push('[');
                            while let Some(c) = chars.next_if(|&c| c != ']') {
                                set.push(c);
                            }
                            if chars.next().is_some() {
                                set.push(']');
                            }
                        }
                        Some('-') if !first && chars.peek().is_some_and(|&c| c != ']') => set.push('-'),
                        Some(c) => literal(c, &mut set),
                    }
                    first = false;
                }
                out.push_str(if negative { "[^\\n" } else { "[" });
                out.push_str(&set);
                out.push(']');
            }
            '(' => out.push_str("(?:"),
            '{' if chars.peek().is_some_and(char::is_ascii_digit) => {
                out.push('{');
                while let Some(c) = chars.next_if(|c| c.is_ascii_digit() || *c == ',') {
                    out.push(c);
                }
                if chars.next_if_eq(&'}').is_none() {
                    return Err("a `{` is not closed".to_owned());
                }
                out.push('}');
            }
            '.' | '*' | '+' | '?' | '|' | ')' | '^' | '$' => out.push(c),
            c => literal(c, &mut out),
        }
    }
    Ok(out)
}

/// Writes a literal character, with a backslash before it if the character is special in Rust's `regex`.
pub(super) fn literal(c: char, out: &mut String) {
    if r"\.+*?()|[]{}^$#&-~".contains(c) {
        out.push('\\');
    }
    out.push(c);
}
