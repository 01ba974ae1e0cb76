//! Checks whether this machine has enough memory for an execution.
//!
//! Linux overcommits memory, and kills processes when it runs out. So the memory that an execution needs is first compared with the
//! available memory (`MemAvailable`), and with the memory that the limit of the process's control group leaves. Containers and batch
//! systems set such limits (cgroup version 1 or 2).

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

/// The memory limit of an execution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MemoryLimit {
    /// The memory that is available at the start of the execution is the limit.
    #[default]
    Available,
    /// This number of bytes is the limit.
    Bytes(u64),
    /// No limit.
    Unlimited,
}

impl MemoryLimit {
    /// Returns the limit in bytes; `None` if there is none, or if the system does not report the available memory.
    #[must_use]
    pub fn bytes(self) -> Option<u64> {
        match self {
            MemoryLimit::Available => available(),
            MemoryLimit::Bytes(bytes) => Some(bytes),
            MemoryLimit::Unlimited => None,
        }
    }
}

/// The memory that an activity needs on this machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryNeed {
    /// The purposes for which memory is needed, each with its number of bytes.
    pub parts: Vec<(String, u64)>,
}

impl MemoryNeed {
    /// Adds a purpose and the bytes that it needs; a purpose that needs no bytes is not added.
    pub fn add(&mut self, what: impl Into<String>, bytes: u64) {
        if bytes > 0 {
            self.parts.push((what.into(), bytes));
        }
    }

    /// The total number of bytes.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.parts.iter().fold(0, |sum, (_, bytes)| sum.saturating_add(*bytes))
    }
}

/// A need for memory that exceeds a limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shortage {
    /// The activity that needs the memory, for the message.
    pub doing: String,
    /// The needed memory, by purpose.
    pub need: MemoryNeed,
    /// The kind of limit.
    pub limit: MemoryLimit,
    /// The limit in bytes.
    pub bytes: u64,
}

impl fmt::Display for Shortage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let has = match self.limit {
            MemoryLimit::Bytes(_) => "the limit is",
            MemoryLimit::Available | MemoryLimit::Unlimited => "the available memory is",
        };
        let (total, bytes) = (Bytes(self.need.total()), Bytes(self.bytes));
        write!(f, "{} needs about {total} of this machine's memory, but {has} {bytes}:", self.doing)?;
        for (what, bytes) in &self.need.parts {
            write!(f, "\n  {} for {what}", Bytes(*bytes))?;
        }
        Ok(())
    }
}

/// A number of bytes. It is printed in the largest unit in which it is at least 1.
pub(crate) struct Bytes(pub(crate) u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")];
        match units.into_iter().find(|(shift, _)| self.0 >> shift > 0) {
            Some((shift, unit)) => write!(f, "{:.1} {unit}", self.0 as f64 / (1u64 << shift) as f64),
            None => write!(f, "{} B", self.0),
        }
    }
}

/// Returns the memory in bytes that this process can still allocate; `None` if the system does not report it.
#[must_use]
pub fn available() -> Option<u64> {
    available_in(Path::new("/"))
}

/// Computes [`available`] from the system's files under `root`, which tests can replace.
fn available_in(root: &Path) -> Option<u64> {
    let machine = machine(&root.join("proc/meminfo"));
    let group = groups(root).into_iter().filter_map(|group| group.left()).min();
    machine.into_iter().chain(group).min()
}

/// Reads `MemAvailable` from a `meminfo` file and converts it from KiB to bytes.
fn machine(meminfo: &Path) -> Option<u64> {
    let text = fs::read_to_string(meminfo).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// The control groups of this process and their ancestors.
fn groups(root: &Path) -> Vec<Group> {
    let text = fs::read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    let mut groups = Vec::new();
    for line in text.lines() {
        // A line of `/proc/self/cgroup`: hierarchy ID, controller list, cgroup path.
        let mut fields = line.splitn(3, ':');
        let (Some(number), Some(controllers), Some(path)) = (fields.next(), fields.next(), fields.next())
        else {
            continue;
        };
        let (mount, files) = if number == "0" && controllers.is_empty() {
            (root.join("sys/fs/cgroup"), VERSION_2)
        } else if controllers.split(',').any(|name| name == "memory") {
            (root.join("sys/fs/cgroup/memory"), VERSION_1)
        } else {
            continue;
        };
        let inside = mount.join(path.trim_start_matches('/'));
        let to_mount = inside.ancestors().take_while(|directory| directory.starts_with(&mount));
        groups.extend(to_mount.map(|directory| Group { directory: directory.to_owned(), files }));
    }
    groups
}

/// A control group.
struct Group {
    directory: PathBuf,
    files: Files,
}

/// The names of a control group's files, which differ between version 1 and 2.
#[derive(Clone, Copy)]
struct Files {
    limit: &'static str,
    usage: &'static str,
    /// The key in the file `memory.stat` for the number of bytes of cached files, which the kernel can drop.
    droppable: &'static str,
}

const VERSION_2: Files = Files { limit: "memory.max", usage: "memory.current", droppable: "inactive_file" };
const VERSION_1: Files = Files {
    limit: "memory.limit_in_bytes",
    usage: "memory.usage_in_bytes",
    droppable: "total_inactive_file",
};

impl Group {
    /// Returns the bytes that processes of this group can still allocate; `None` if the group has no limit.
    fn left(&self) -> Option<u64> {
        let read = |file: &str| fs::read_to_string(self.directory.join(file)).ok();
        let number = |file: &str| read(file)?.trim().parse::<u64>().ok();
        let limit = number(self.files.limit)?;
        let usage = number(self.files.usage).unwrap_or(0);
        let droppable = read("memory.stat")
            .and_then(|text| {
                let line = text.lines().find_map(|line| line.strip_prefix(self.files.droppable))?;
                line.trim().parse::<u64>().ok()
            })
            .unwrap_or(0);
        Some(limit.saturating_sub(usage.saturating_sub(droppable)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn system(files: &[(&str, &str)]) -> Option<u64> {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        available_in(root.path())
    }

    const MEMINFO: (&str, &str) = ("proc/meminfo", "MemTotal: 9000 kB\nMemAvailable:    4000 kB\n");

    #[test]
    fn available_memory_is_the_minimum() {
        assert_eq!(system(&[]), None);
        assert_eq!(system(&[MEMINFO]), Some(4000 * 1024));
        let v2 = |max: &'static str| {
            [
                MEMINFO,
                ("proc/self/cgroup", "1:name=systemd:/x\n0::/job/step\n"),
                ("sys/fs/cgroup/job/memory.max", max),
                ("sys/fs/cgroup/job/memory.current", "3000"),
                ("sys/fs/cgroup/job/memory.stat", "anon 1\ninactive_file 1000\nactive_file 7\n"),
                ("sys/fs/cgroup/job/step/memory.max", "max"),
            ]
        };
        assert_eq!(system(&v2("10000\n")), Some(8000));
        assert_eq!(system(&v2("max\n")), Some(4000 * 1024));
        assert_eq!(system(&v2("1500\n")), Some(0));
        let v1 = [
            MEMINFO,
            ("proc/self/cgroup", "4:cpu:/a\n3:memory:/b\n"),
            ("sys/fs/cgroup/memory/b/memory.limit_in_bytes", "2000"),
            ("sys/fs/cgroup/memory/b/memory.usage_in_bytes", "500"),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712"),
        ];
        assert_eq!(system(&v1), Some(1500));
    }

    #[test]
    fn memory_shortage_lists_purposes() {
        let mut need = MemoryNeed::default();
        need.add("inputs", 3 << 30);
        need.add("nothing", 0);
        need.add("outputs of 8 devices", 512 << 20);
        need.clone().check("the run", MemoryLimit::Bytes(4 << 30)).unwrap();
        need.clone().check("the run", MemoryLimit::Unlimited).unwrap();
        let error = need.check("the run", MemoryLimit::Bytes(1 << 30)).unwrap_err();
        assert_eq!(error.code(), "RT0304");
        assert_eq!(
            error.to_string(),
            "the run needs about 3.5 GiB of this machine's memory, but the limit is 1.0 GiB:\n  \
             3.0 GiB for inputs\n  512.0 MiB for outputs of 8 devices"
        );
        assert!(error.hint().is_some());
    }
}
