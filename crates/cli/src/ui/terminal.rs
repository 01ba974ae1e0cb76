//! Properties of the standard streams: color support and width.

use std::env;
use std::io::IsTerminal;

use crate::args::Color;

/// A stream for output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stream {
    Out,
    Err,
}

/// A stream with its properties.
#[derive(Clone, Copy, Debug)]
pub(super) struct Terminal {
    pub(super) is_terminal: bool,
    pub(super) color: bool,
    /// The width in columns, if known.
    pub(super) width: Option<usize>,
}

impl Terminal {
    pub(super) fn of(stream: Stream, color: Color) -> Terminal {
        let (is_terminal, size) = match stream {
            Stream::Out => {
                (std::io::stdout().is_terminal(), terminal_size::terminal_size_of(std::io::stdout()))
            }
            Stream::Err => {
                (std::io::stderr().is_terminal(), terminal_size::terminal_size_of(std::io::stderr()))
            }
        };
        let columns = env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
        Terminal {
            is_terminal,
            color: match color {
                Color::Always => true,
                Color::Never => false,
                Color::Auto => wants_color(is_terminal),
            },
            width: size.map(|(width, _)| usize::from(width.0)).or(columns).filter(|&width| width > 0),
        }
    }
}

/// Whether to use color according to `NO_COLOR`, then `CLICOLOR_FORCE`, and for a terminal also `CLICOLOR` and `TERM`.
fn wants_color(is_terminal: bool) -> bool {
    !anstyle_query::no_color()
        && (anstyle_query::clicolor_force()
            || (is_terminal
                && anstyle_query::clicolor().unwrap_or(true)
                && anstyle_query::term_supports_color()))
}
