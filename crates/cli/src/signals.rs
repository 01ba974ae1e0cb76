//! What a signal leaves behind: nothing.

use anyhow::Result;

/// From now on, temporary files and folders go when the process is interrupted or told to end, which it then does as
/// if nobody had caught the signal.
#[cfg(unix)]
pub(crate) fn clean_up_on_termination() -> Result<()> {
    use anyhow::Context;
    use shardc_runtime::scratch;
    use signal_hook::consts::{SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;
    use signal_hook::low_level::emulate_default_handler;

    let mut signals = Signals::new([SIGINT, SIGTERM]).context("cannot listen for signals")?;
    std::thread::spawn(move || {
        if let Some(signal) = signals.forever().next() {
            scratch::remove_all();
            // It does not return where it works.
            let _ = emulate_default_handler(signal);
            std::process::exit(1);
        }
    });
    Ok(())
}

/// There are no signals.
#[cfg(not(unix))]
pub(crate) fn clean_up_on_termination() -> Result<()> {
    Ok(())
}
