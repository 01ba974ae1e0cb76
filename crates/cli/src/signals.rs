//! Handling of signals: temporary files are removed before the process exits, or the signal is forwarded to child processes.

#[cfg(unix)]
pub(crate) use self::unix::{Forwarding, clean_up_on_termination, forward, terminate};

#[cfg(not(unix))]
pub(crate) use self::others::{Forwarding, clean_up_on_termination, forward, terminate};

#[cfg(unix)]
mod unix {
    use std::process::Child;
    use std::sync::{Mutex, PoisonError};

    use anyhow::{Context, Result};
    use rustix::process::{Pid, Signal, kill_process};
    use shardc_runtime::scratch;
    use signal_hook::consts::{SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;
    use signal_hook::low_level::emulate_default_handler;

    /// The processes to which signals are forwarded; `None` if they are not forwarded.
    static RECEIVERS: Mutex<Option<Vec<Pid>>> = Mutex::new(None);

    /// Installs a handler for SIGINT and SIGTERM. It removes temporary files and folders, then terminates the process as the default
    /// handler does. While there is a [`Forwarding`], the handler forwards the signal to the child processes instead.
    pub(crate) fn clean_up_on_termination() -> Result<()> {
        let mut signals = Signals::new([SIGINT, SIGTERM]).context("cannot handle signals")?;
        std::thread::spawn(move || {
            for signal in signals.forever() {
                let receivers = RECEIVERS.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(receivers) = &*receivers {
                    let signal = if signal == SIGINT { Signal::INT } else { Signal::TERM };
                    for &receiver in receivers {
                        let _ = kill_process(receiver, signal);
                    }
                    continue;
                }
                scratch::remove_all();
                // This call returns only if it fails.
                let _ = emulate_default_handler(signal);
                std::process::exit(1);
            }
        });
        Ok(())
    }

    /// Forwards signals until it is dropped.
    pub(crate) struct Forwarding(());

    /// Starts forwarding signals to the processes that are added.
    pub(crate) fn forward() -> Forwarding {
        *RECEIVERS.lock().unwrap_or_else(PoisonError::into_inner) = Some(Vec::new());
        Forwarding(())
    }

    impl Forwarding {
        pub(crate) fn add(&self, child: &Child) {
            let mut receivers = RECEIVERS.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(receivers) = &mut *receivers {
                receivers.push(Pid::from_child(child));
            }
        }

        /// Removes a process that has exited, since its process ID may be reused.
        pub(crate) fn remove(&self, child: &Child) {
            let mut receivers = RECEIVERS.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(receivers) = &mut *receivers {
                receivers.retain(|receiver| *receiver != Pid::from_child(child));
            }
        }
    }

    impl Drop for Forwarding {
        fn drop(&mut self) {
            *RECEIVERS.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
    }

    /// Sends SIGTERM to a process that was not waited for yet, so that its process ID is still valid.
    pub(crate) fn terminate(child: &Child) {
        let _ = kill_process(Pid::from_child(child), Signal::TERM);
    }
}

/// Systems without signals.
#[cfg(not(unix))]
mod others {
    use std::process::Child;

    use anyhow::Result;

    pub(crate) fn clean_up_on_termination() -> Result<()> {
        Ok(())
    }

    pub(crate) struct Forwarding(());

    pub(crate) fn forward() -> Forwarding {
        Forwarding(())
    }

    impl Forwarding {
        pub(crate) fn add(&self, _: &Child) {}

        pub(crate) fn remove(&self, _: &Child) {}
    }

    /// Does nothing on systems without SIGTERM: the launcher kills the process later.
    pub(crate) fn terminate(_: &Child) {}
}
