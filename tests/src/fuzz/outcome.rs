//! The outcome of a case: the stages that it passed, which stage rejected it, and findings.

use std::{
    cell::{Cell, RefCell},
    panic::{self, AssertUnwindSafe, PanicHookInfo, catch_unwind},
    sync::Once,
};

use shardc::{Diagnostic, Error};
use shardc_ir::{Class, Module};
use shardc_stablehlo::{PrintForm, PrintOptions, parse, print, render};

/// A finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The kind of the finding. Inputs that fail in the same way have findings of the same kind.
    pub kind: String,
    /// Details for the reader.
    pub details: String,
}

impl Finding {
    /// A finding.
    pub(crate) fn new(kind: impl Into<String>, details: impl Into<String>) -> Finding {
        Finding { kind: kind.into(), details: details.into() }
    }
}

/// The stages that a case passed, and its rejection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// The stages that were passed, in order.
    pub passed: Vec<String>,
    /// The stage and the code that rejected the input.
    pub refused: Option<String>,
}

impl Trace {
    /// Records that the input passed a stage.
    pub(crate) fn pass(&mut self, stage: &str) {
        self.passed.push(stage.to_owned());
    }

    /// Records why a stage rejected the input. An internal error of shardc is a finding.
    pub(crate) fn refuse(&mut self, stage: &str, errors: &[Diagnostic]) -> Result<(), Finding> {
        if errors.is_empty() {
            return Err(Finding::new(format!("{stage} refuses without a reason"), ""));
        }
        no_blame(stage, errors)?;
        self.refused = Some(format!("{stage} {}", errors[0].code));
        Ok(())
    }

    /// [`Trace::refuse`] for an error of the crate `shardc`.
    pub(crate) fn refuse_error(&mut self, stage: &str, error: &Error) -> Result<(), Finding> {
        match error {
            Error::Runtime(error) => {
                self.refused = Some(format!("{stage} {}", error.code()));
                Ok(())
            }
            _ => self.refuse(stage, &error.diagnostics()),
        }
    }
}

/// Checks that no diagnostic is an internal error of shardc.
pub(crate) fn no_blame(stage: &str, diagnostics: &[Diagnostic]) -> Result<(), Finding> {
    match diagnostics.iter().find(|d| d.class == Class::Internal) {
        Some(d) => Err(Finding::new(format!("{stage}: shardc takes the blame ({})", d.code), d.to_string())),
        None => Ok(()),
    }
}

/// Diagnostics, one per line.
pub(crate) fn listed(diagnostics: &[Diagnostic]) -> String {
    diagnostics.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// Checks that printing and parsing leave a valid program unchanged, in both print forms.
pub(crate) fn reads_back(stage: &str, module: &Module) -> Result<(), Finding> {
    for form in [PrintForm::Pretty, PrintForm::Generic] {
        let options = PrintOptions { form, ..PrintOptions::default() };
        let printed = print(module, &options);
        let read = parse(&printed).map_err(|errors| {
            let shown = render(&errors, "printed", &printed, false);
            let code = errors.first().map_or("", |e| e.code);
            Finding::new(format!("{stage}: {form:?} text is not read back ({code})"), shown)
        })?;
        if let Err(errors) = shardc_ir::verify(&read) {
            let shown = render(&errors, "printed", &printed, false);
            let code = errors.first().map_or("", |e| e.code);
            return Err(Finding::new(format!("{stage}: {form:?} text reads back invalid ({code})"), shown));
        }
        let again = print(&read, &options);
        if again != printed {
            let kind = format!("{stage}: {form:?} text reads back as another");
            return Err(Finding::new(kind, first_difference(&printed, &again)));
        }
    }
    Ok(())
}

fn first_difference(a: &str, b: &str) -> String {
    match a.lines().zip(b.lines()).find(|(a, b)| a != b) {
        Some((a, b)) => format!("{a}\n{b}"),
        None => format!("{} lines and {}", a.lines().count(), b.lines().count()),
    }
}

thread_local! {
    /// The location and message of this thread's last panic.
    static PANIC: RefCell<Option<(String, String)>> = const { RefCell::new(None) };
    /// The nesting depth of [`quietly`] in this thread. A panic outside of [`quietly`] is a panic of the fuzzer, and is printed.
    static QUIET: Cell<usize> = const { Cell::new(0) };
}

/// Runs code that may panic, and reports the location of a panic.
///
/// # Errors
/// The code panics.
pub(crate) fn quietly<T>(work: impl FnOnce() -> T) -> Result<T, Finding> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let loud = panic::take_hook();
        panic::set_hook(Box::new(move |info| if QUIET.get() > 0 { note_panic(info) } else { loud(info) }));
    });
    QUIET.set(QUIET.get() + 1);
    let done = catch_unwind(AssertUnwindSafe(work));
    QUIET.set(QUIET.get() - 1);
    done.map_err(|_| {
        let (place, message) = PANIC.with_borrow_mut(Option::take).unwrap_or_default();
        Finding::new(format!("panic at {place}"), message)
    })
}

fn note_panic(info: &PanicHookInfo<'_>) {
    let place = info.location().map_or_else(String::new, |l| format!("{}:{}", l.file(), l.line()));
    // A location in the standard library is not informative, so stack frames are added.
    let mut message = info.payload_as_str().unwrap_or("without a message").to_owned();
    let frames = std::backtrace::Backtrace::force_capture().to_string();
    let ours = frames.lines().map(str::trim).filter(|l| {
        l.starts_with("at ")
            && [".rustup", "/rustc/", ".cargo", "/fuzz/"].iter().all(|other| !l.contains(other))
    });
    for frame in ours.take(8) {
        message.push_str(&format!("\n  {frame}"));
    }
    PANIC.with_borrow_mut(|panic| *panic = Some((place, message)));
}
