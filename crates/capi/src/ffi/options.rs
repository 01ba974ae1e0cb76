//! Options, and cancellation.

use std::time::Duration;

use shardc::CancelToken;

use super::bytes::Bytes;
use super::rules::CRule;
use super::{array, borrow, free, give, versioned};
use crate::failure::Failure;
use crate::options::{Options, Texts};

/// The devices are replicas of one program: collectives have replica groups. This is the default.
pub const SHARDC_REPLICAS: u32 = 0;
/// The devices are partitions of one program, as in XLA's SPMD mode.
pub const SHARDC_PARTITIONS: u32 = 1;

/// A token that cancels the calls whose options have it. Other threads may use it meanwhile.
#[derive(Debug)]
pub struct Cancel(CancelToken);

/// The options of a compilation. Zero and NULL are the defaults.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct COptions {
    /// sizeof(shardc_options)
    pub struct_size: usize,
    /// The mesh of a program that has none, or another mesh for it: "data=4,model=2".
    pub mesh: Bytes,
    /// Shardings of arguments and results: "arg0=data,-", "res0=-,model", "params*=model,-" for names of the front end.
    pub specs: *const Bytes,
    /// The number of specs.
    pub num_specs: usize,
    /// Sizes of dynamic dimensions: "batch=8".
    pub dims: *const Bytes,
    /// The number of dims.
    pub num_dims: usize,
    /// The name of the entry function, if it is not the only public one or `main`.
    pub entry: Bytes,
    /// The devices that decisions and plans are for: "v5e", "v5p:4x4x4", "h100:4x8", or the text of a TOML file that describes them.
    pub target: Bytes,
    /// The text of a TOML file with sharding rules of custom calls, functions and composites.
    pub rule_file: Bytes,
    /// Sharding rules from callbacks.
    pub rules: *const CRule,
    /// The number of rules.
    pub num_rules: usize,
    /// SHARDC_REPLICAS or SHARDC_PARTITIONS.
    pub spmd_mode: u32,
    /// 1: an all-gather that no annotation requests is an error.
    pub strict: u32,
    /// The threshold of warnings about costs, in bytes; NULL for the default.
    pub warn_bytes: *const u64,
    /// The size up to which collectives are combined, in bytes; NULL for the default.
    pub combine_bytes: *const u64,
    /// The time after which the call fails, in milliseconds; 0 for no limit.
    pub time_limit_ms: u64,
    /// Cancels the call from another thread; may be NULL.
    pub cancel: *const Cancel,
}

/// Makes a token.
#[unsafe(no_mangle)]
pub extern "C" fn shardc_cancel_new() -> *mut Cancel {
    give(Cancel(CancelToken::new()))
}

/// Cancels all running and future calls whose options have the token; they fail with SHARDC_INTERRUPTED.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn shardc_cancel_cancel(cancel: *const Cancel) {
    // SAFETY: as the header requires of callers.
    if let Ok(cancel) = unsafe { borrow(cancel, "the token") } {
        cancel.0.cancel();
    }
}

/// Frees a token. Calls that are running keep a copy.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn shardc_cancel_free(cancel: *mut Cancel) {
    // SAFETY: as the header requires of callers.
    unsafe { free(cancel) }
}

/// Reads the options of a caller.
///
/// # Safety
/// `given` is null or options as the header documents them.
pub(super) unsafe fn read(given: *const COptions) -> Result<Options, Failure> {
    // SAFETY: `COptions` begins with its size, and zero is a value of all members.
    let Some(given) = (unsafe { versioned(given) }) else { return Ok(Options::default()) };
    let partitions = match given.spmd_mode {
        SHARDC_REPLICAS => false,
        SHARDC_PARTITIONS => true,
        other => return Err(Failure::argument(&format!("spmd_mode is {other}, which is no mode"))),
    };
    // SAFETY: the caller passes readable arrays and ranges.
    unsafe {
        let texts = |first, count, what| -> Result<Vec<&str>, Failure> {
            array(first, count, what)?.iter().map(|bytes: &Bytes| bytes.text(what)).collect()
        };
        let mut rules = Vec::new();
        for rule in array(given.rules, given.num_rules, "rules")? {
            let name = rule.target.text("the target of a rule")?;
            let to_rule = rule.to_rule();
            rules.push((name, to_rule.ok_or_else(|| Failure::argument("the callback of a rule is NULL"))?));
        }
        Options::new(Texts {
            mesh: given.mesh.text("mesh")?,
            specs: texts(given.specs, given.num_specs, "specs")?,
            dims: texts(given.dims, given.num_dims, "dims")?,
            entry: given.entry.text("entry")?,
            target: given.target.text("target")?,
            rule_file: given.rule_file.text("rule_file")?,
            rules,
            partitions,
            strict: given.strict != 0,
            warn_bytes: given.warn_bytes.as_ref().copied(),
            combine_bytes: given.combine_bytes.as_ref().copied(),
            time_limit: (given.time_limit_ms != 0).then(|| Duration::from_millis(given.time_limit_ms)),
            cancel: given.cancel.as_ref().map(|cancel| cancel.0.clone()),
        })
    }
}
