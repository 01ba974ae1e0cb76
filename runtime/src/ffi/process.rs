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

/// Adds an option to a variable that holds a list of them separated by spaces, unless the list has the option already;
/// says whether it has it now. As [`set_environment_defaults`], this changes nothing where other threads run.
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
    // SAFETY: this is the process's only thread, as the kernel has just said, and it is here.
    unsafe { std::env::set_var(variable, longer) };
    true
}

/// Whether the kernel says that this process has one thread.
fn single_threaded() -> bool {
    std::fs::read_dir("/proc/self/task").is_ok_and(|tasks| tasks.count() == 1)
}
