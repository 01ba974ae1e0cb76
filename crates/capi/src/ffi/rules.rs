//! Sharding rules of custom calls, from callbacks.

use std::ffi::c_void;

use shardc::CallRule;
use shardc::ir::Attr;
use shardc::rules::{CustomCall, Notation, RuleError};

use super::borrow;
use super::bytes::Bytes;
use crate::options::Rule;
use crate::text::Text;

/// A custom call whose rule is asked for. It is valid during the callback.
pub struct Call<'m> {
    call: &'m CustomCall<'m>,
    target: Text,
    /// The attributes that the callback has read.
    attributes: Vec<Text>,
    answer: Option<Result<String, String>>,
}

/// Gives the sharding rule of a custom call with `shardc_call_set_rule`, or says with `shardc_call_set_error` why it has none. A callback that
/// does neither leaves the call without a rule: nothing propagates through it. Callbacks run on threads of shardc, and may run at the same time
/// if several compilations do.
pub type CallRuleFn = Option<extern "C" fn(user_data: *mut c_void, call: *mut Call<'_>)>;

/// The sharding rules of a custom call target.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CRule {
    /// The name of the target.
    pub target: Bytes,
    /// Is called for each custom call of the target.
    pub callback: CallRuleFn,
    /// The first argument of the callback.
    pub user_data: *mut c_void,
}

/// The callback with its argument.
#[derive(Clone, Copy)]
struct Callback {
    function: extern "C" fn(*mut c_void, *mut Call<'_>),
    user_data: *mut c_void,
}

// SAFETY: the header says that callbacks run on other threads, and at the same time.
unsafe impl Send for Callback {}
// SAFETY: as above.
unsafe impl Sync for Callback {}

impl Callback {
    fn rule(self, call: &CustomCall<'_>) -> Result<CallRule, RuleError> {
        let target = call.target().to_owned().into();
        let mut asked = Call { call, target, attributes: Vec::new(), answer: None };
        (self.function)(self.user_data, &raw mut asked);
        match asked.answer {
            None => Ok(CallRule::Unknown),
            Some(Err(message)) => Err(RuleError::Other(message)),
            Some(Ok(text)) => {
                let notation: Notation =
                    text.parse().map_err(|error| RuleError::Other(format!("`{text}`: {error}")))?;
                notation.rule(call)
            }
        }
    }
}

impl CRule {
    /// The rule as a function; `None` without a callback.
    pub(super) fn to_rule(self) -> Option<Rule> {
        let callback = Callback { function: self.callback?, user_data: self.user_data };
        Some(Box::new(move |call| callback.rule(call)))
    }
}

/// The target of a custom call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn shardc_call_target(call: *const Call<'_>) -> Bytes {
    // SAFETY: as the header requires of callers.
    unsafe { borrow(call, "the call") }.map_or(Bytes::NONE, |asked| Bytes::of(&asked.target))
}

/// The number of operands.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn shardc_call_num_operands(call: *const Call<'_>) -> usize {
    // SAFETY: as the header requires of callers.
    unsafe { borrow(call, "the call") }.map_or(0, |asked| asked.call.num_operands())
}

/// The number of results.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn shardc_call_num_results(call: *const Call<'_>) -> usize {
    // SAFETY: as the header requires of callers.
    unsafe { borrow(call, "the call") }.map_or(0, |asked| asked.call.num_results())
}

/// The sizes of the dimensions of an operand, whose number is written to `rank`; NULL, and the rank is 0, for an operand that is not a tensor. A
/// scalar has rank 0, and the result is not NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn shardc_call_operand_shape(
    call: *const Call<'_>,
    index: usize,
    rank: *mut usize,
) -> *const i64 {
    // SAFETY: as the header requires of callers.
    let shape = unsafe { borrow(call, "the call") }.ok().and_then(|asked| asked.call.operand(index));
    // SAFETY: as the header requires of callers.
    unsafe { dimensions(shape, rank) }
}

/// The sizes of the dimensions of a result, as of an operand.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn shardc_call_result_shape(
    call: *const Call<'_>,
    index: usize,
    rank: *mut usize,
) -> *const i64 {
    // SAFETY: as the header requires of callers.
    let shape = unsafe { borrow(call, "the call") }.ok().and_then(|asked| asked.call.result(index));
    // SAFETY: as the header requires of callers.
    unsafe { dimensions(shape, rank) }
}

/// The text of a string attribute such as `backend_config`, or an attribute of another dialect as written; empty if there is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn shardc_call_attribute(call: *mut Call<'_>, name: Bytes) -> Bytes {
    // SAFETY: as the header requires of callers; the callback has the only reference.
    let (asked, name) = unsafe { (call.as_mut(), name.text("the name")) };
    let (Some(asked), Ok(name)) = (asked, name) else { return Bytes::NONE };
    match asked.call.attr(name) {
        Some(Attr::Str(text) | Attr::Raw(text) | Attr::Symbol(text)) => {
            asked.attributes.push(text.to_string().into());
            asked.attributes.last().map_or(Bytes::NONE, Bytes::of)
        }
        _ => Bytes::NONE,
    }
}

/// Sets the rule, in one of three notations: "pointwise"; one letter for each dimension, "bqd,bkd->bqe"; or factors as in Shardy's
/// `#sdy.op_sharding_rule`, "([i, j])->([i]) {i=64, j=32} reduction={j}". The text is copied.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn shardc_call_set_rule(call: *mut Call<'_>, rule: Bytes) {
    // SAFETY: as the header requires of callers.
    unsafe { answer(call, rule, Ok) }
}

/// Makes the compilation fail with a message. The text is copied.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn shardc_call_set_error(call: *mut Call<'_>, message: Bytes) {
    // SAFETY: as the header requires of callers.
    unsafe { answer(call, message, Err) }
}

/// Writes the rank of a shape; returns its sizes.
///
/// # Safety
/// `rank` is null or can be written.
unsafe fn dimensions(shape: Option<&[i64]>, rank: *mut usize) -> *const i64 {
    if !rank.is_null() {
        // SAFETY: `rank` can be written.
        unsafe { rank.write(shape.map_or(0, <[i64]>::len)) };
    }
    shape.map_or(std::ptr::null(), <[i64]>::as_ptr)
}

/// Stores the answer of a callback.
///
/// # Safety
/// `call` is null or the argument of the running callback, and `text` is a readable range.
unsafe fn answer(call: *mut Call<'_>, text: Bytes, kind: fn(String) -> Result<String, String>) {
    // SAFETY: as this function requires; the callback has the only reference.
    let (call, text) = unsafe { (call.as_mut(), text.get()) };
    if let Some(call) = call {
        call.answer = Some(kind(String::from_utf8_lossy(text).into_owned()));
    }
}
