//! The grid of GPUs of a compilation target.

/// A number of hosts, each with the same number of GPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Grid {
    pub(crate) hosts: u32,
    pub(crate) per_host: u32,
}

impl Grid {
    /// Parses a number of GPUs of one host (`8`), or hosts and GPUs per host (`2x8`).
    pub(super) fn parse(text: &str) -> Option<Grid> {
        let (hosts, per_host) = text.split_once('x').unwrap_or(("1", text));
        let number = |text: &str| text.parse::<u32>().ok().filter(|&n| n > 0);
        let grid = Grid { hosts: number(hosts)?, per_host: number(per_host)? };
        // Rejects more devices than fit in the signed 32-bit integers of XLA.
        grid.hosts.checked_mul(grid.per_host).filter(|&n| i32::try_from(n).is_ok())?;
        Some(grid)
    }
}
