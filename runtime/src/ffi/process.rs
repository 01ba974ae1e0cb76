//! Changes the environment variables of this process, which C code reads without a lock.

/// Sets environment variables of this process that have no value; returns whether they were set.
///
/// C code reads the environment without Rust's lock, so a write is sound only while no other thread runs. If other threads run, or the
/// number of threads is unknown, this function changes nothing.
pub(crate) fn set_environment_defaults(defaults: &[(&str, &str)]) -> bool {
    if !single_threaded() {
        return false;
    }
    for (name, value) in defaults {
        if std::env::var_os(name).is_none() {
            // SAFETY: this is the process's only thread, as the kernel has just reported.
            unsafe { std::env::set_var(name, value) };
        }
    }
    true
}

/// Adds an option with a value to an environment variable that holds a space-separated list, unless the list already has the option.
/// Returns whether the list has the option afterwards. If other threads run, nothing is changed, as in [`set_environment_defaults`].
pub(crate) fn add_option_to_environment(variable: &str, option: &str, value: &str) -> bool {
    let list = std::env::var_os(variable).unwrap_or_default();
    if list.to_string_lossy().contains(option) {
        return true;
    }
    if !single_threaded() {
        return false;
    }
    let mut longer = list;
    if !longer.is_empty() {
        longer.push(" ");
    }
    longer.push(format!("{option}={value}"));
    // SAFETY: this is the process's only thread, as the kernel has just reported.
    unsafe { std::env::set_var(variable, longer) };
    true
}

/// Returns whether the kernel reports a single thread for this process.
fn single_threaded() -> bool {
    std::fs::read_dir("/proc/self/task").is_ok_and(|tasks| tasks.count() == 1)
}
