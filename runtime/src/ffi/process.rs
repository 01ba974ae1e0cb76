//! The environment of this process, which C code reads without a lock.

/// Gives variables of this process's environment a value where they have none; says whether it did.
///
/// C code reads the environment without Rust's lock, so a write is sound only while no other thread runs. That is
/// checked, and where it does not hold (or cannot be found out) nothing is changed.
pub(crate) fn set_environment_defaults(defaults: &[(&str, &str)]) -> bool {
    if !single_threaded() {
        return false;
    }
    for (name, value) in defaults {
        if std::env::var_os(name).is_none() {
            // SAFETY: this is the process's only thread, as the kernel has just said, and it is here.
            unsafe { std::env::set_var(name, value) };
        }
    }
    true
}

/// Whether the kernel says that this process has one thread.
fn single_threaded() -> bool {
    std::fs::read_dir("/proc/self/task").is_ok_and(|tasks| tasks.count() == 1)
}
