//! Shrinks an input while the finding persists.

use std::time::Instant;

/// Removes lines, or bytes of input without lines, and returns the smallest input found until `deadline` for which `stays` holds.
pub(crate) fn reduced(input: &[u8], deadline: Instant, stays: &mut dyn FnMut(&[u8]) -> bool) -> Vec<u8> {
    let is_text = std::str::from_utf8(input).is_ok();
    let mut pieces: Vec<Vec<u8>> = match is_text {
        true => input.split_inclusive(|&b| b == b'\n').map(<[u8]>::to_vec).collect(),
        false => return shorter(input, deadline, stays),
    };
    // Removes halves, then quarters, and so on, until nothing can be removed.
    let mut size = pieces.len().div_ceil(2);
    while size > 0 && !pieces.is_empty() {
        let mut at = 0;
        let mut smaller = false;
        while at < pieces.len() {
            if Instant::now() > deadline {
                return pieces.concat();
            }
            let end = (at + size).min(pieces.len());
            let rest: Vec<Vec<u8>> = pieces[..at].iter().chain(&pieces[end..]).cloned().collect();
            if stays(&rest.concat()) {
                pieces = rest;
                smaller = true;
            } else {
                at = end;
            }
        }
        if !(smaller && size == 1) {
            size /= 2;
        }
    }
    fewer_words(pieces.concat(), deadline, stays)
}

/// Removes words of a list in the first line of the input, such as a list of passes.
fn fewer_words(input: Vec<u8>, deadline: Instant, stays: &mut dyn FnMut(&[u8]) -> bool) -> Vec<u8> {
    let Ok(text) = std::str::from_utf8(&input) else { return input };
    let Some((first, rest)) = text.split_once('\n').filter(|(first, _)| first.starts_with("// ")) else {
        return input;
    };
    let Some((title, list)) = first.split_once(": ") else { return input };
    let mut words: Vec<&str> = list.split(',').collect();
    let written = |words: &[&str]| format!("{title}: {}\n{rest}", words.join(",")).into_bytes();
    let mut at = words.len();
    while at > 0 && words.len() > 1 && Instant::now() < deadline {
        at -= 1;
        let mut fewer = words.clone();
        fewer.remove(at);
        if stays(&written(&fewer)) {
            words = fewer;
        }
    }
    written(&words)
}

/// Shortens bytecode only at its end, because removing inner bytes would change the meaning of the rest.
fn shorter(input: &[u8], deadline: Instant, stays: &mut dyn FnMut(&[u8]) -> bool) -> Vec<u8> {
    let mut length = input.len();
    let mut step = length / 2;
    while step > 0 && Instant::now() < deadline {
        if length > step && stays(&input[..length - step]) {
            length -= step;
        } else {
            step /= 2;
        }
    }
    input[..length].to_vec()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn relevant_lines_are_kept() {
        let input: String = (0..100).map(|n| format!("line {n}\n")).collect();
        let deadline = Instant::now() + Duration::from_secs(10);
        let mut stays = |rest: &[u8]| {
            let text = String::from_utf8_lossy(rest);
            text.contains("line 17\n") && text.contains("line 71\n")
        };
        assert_eq!(reduced(input.as_bytes(), deadline, &mut stays), b"line 17\nline 71\n");
    }

    #[test]
    fn irrelevant_passes_are_removed() {
        let deadline = Instant::now() + Duration::from_secs(10);
        let mut stays = |rest: &[u8]| {
            let text = String::from_utf8_lossy(rest);
            text.starts_with("// passes: ") && text.contains("plan") && text.contains("line 2")
        };
        let input = b"// passes: dce,plan,inline\nline 1\nline 2\n";
        assert_eq!(reduced(input, deadline, &mut stays), b"// passes: plan\nline 2\n");
    }

    #[test]
    fn bytes_are_truncated_at_the_end() {
        let deadline = Instant::now() + Duration::from_secs(10);
        let input = [&[0xff; 40][..], &[0; 60]].concat();
        assert_eq!(reduced(&input, deadline, &mut |rest| rest.len() >= 41), input[..41]);
    }
}
