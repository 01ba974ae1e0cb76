/* The C interface of shardc, an SPMD sharding compiler for StableHLO programs.
 *
 * This file is generated: see crates/capi/tests/header.rs. The guide is docs/CAPI.md.
 *
 * Ownership: a function that makes an object writes it to its last argument, and the caller frees it with the function
 * shardc_TYPE_free. Objects never change after they are made, except by cancellation: several threads may use one at a time.
 * A shardc_bytes that a function returns belongs to its object, is valid until that is freed, and is followed by a NUL byte.
 *
 * Errors: functions that can fail return a shardc_error, or NULL on success. On failure, the last argument is not written.
 *
 * Versions: the first member of a struct is its size, `sizeof(shardc_options)`. Newer versions append members. Zero is the
 * default of every member.
 */

#ifndef SHARDC_H
#define SHARDC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 The program or the options are invalid: the user has to change them.
 */
#define SHARDC_INVALID_INPUT 1

/*
 The program uses a feature that shardc does not support.
 */
#define SHARDC_UNSUPPORTED 2

/*
 A bug in shardc. Please report it.
 */
#define SHARDC_INTERNAL 3

/*
 The call was cancelled, or reached its time limit.
 */
#define SHARDC_INTERRUPTED 4

/*
 Text in MLIR's pretty form.
 */
#define SHARDC_TEXT 0

/*
 Text in MLIR's generic form, which readers without the StableHLO dialect accept.
 */
#define SHARDC_GENERIC 1

/*
 MLIR bytecode.
 */
#define SHARDC_BYTECODE 2

/*
 A portable artifact of StableHLO, for readers of a version and newer.
 */
#define SHARDC_ARTIFACT 3

/*
 The devices are replicas of one program: collectives have replica groups. This is the default.
 */
#define SHARDC_REPLICAS 0

/*
 The devices are partitions of one program, as in XLA's SPMD mode.
 */
#define SHARDC_PARTITIONS 1

/*
 The program that each device runs: local shapes, explicit collectives, and the shardings of arguments and results.
 */
#define SHARDC_PER_DEVICE 0

/*
 The program that each device runs, for PJRT plugins: without shardings, and with the number of devices. It has no pretty form.
 */
#define SHARDC_BACKEND 1

/*
 The program with its global shapes: the per-device program is the body of one `sdy.manual_computation`. Needs SHARDC_PARTITIONS.
 */
#define SHARDC_MANUAL_COMPUTATION 2

/*
 Bytes that belong to the caller.
 */
typedef struct shardc_buffer shardc_buffer;

/*
 A custom call whose rule is asked for. It is valid during the callback.
 */
typedef struct shardc_call shardc_call;

/*
 A token that cancels the calls whose options have it. Other threads may use it meanwhile.
 */
typedef struct shardc_cancel shardc_cancel;

/*
 A list of errors or warnings.
 */
typedef struct shardc_diagnostics shardc_diagnostics;

/*
 An error.
 */
typedef struct shardc_error shardc_error;

/*
 A partitioned program.
 */
typedef struct shardc_partitioned shardc_partitioned;

/*
 A program in StableHLO.
 */
typedef struct shardc_module shardc_module;

/*
 A report.
 */
typedef struct shardc_report shardc_report;

/*
 A range of bytes. Texts are UTF-8. The pointer may be NULL if the size is 0.
 */
typedef struct {
  /*
   The first byte.
   */
  const uint8_t *data;
  /*
   The number of bytes.
   */
  size_t size;
} shardc_bytes;

/*
 An error or a warning. Bytes are empty, and numbers 0, where the diagnostic has none.
 */
typedef struct {
  /*
   sizeof(shardc_diagnostic)
   */
  size_t struct_size;
  /*
   A stable code: "SH0310".
   */
  shardc_bytes code;
  /*
   One sentence.
   */
  shardc_bytes message;
  /*
   How to fix the cause.
   */
  shardc_bytes hint;
  /*
   The name of the program, if the position is in the program.
   */
  shardc_bytes file;
  /*
   The text of the option, if the position is in an option.
   */
  shardc_bytes option;
  /*
   The position in the user's own program, if the module has source locations: "model.py:12:5".
   */
  shardc_bytes user_location;
  /*
   1 for an error, 0 for a warning.
   */
  uint32_t is_error;
  /*
   SHARDC_INVALID_INPUT, SHARDC_UNSUPPORTED or SHARDC_INTERNAL.
   */
  uint32_t error_class;
  /*
   Line of the first character, counted from 1.
   */
  size_t line;
  /*
   Column of the first character, in characters, counted from 1.
   */
  size_t column;
  /*
   Line of the end.
   */
  size_t end_line;
  /*
   Column of the end, which is exclusive.
   */
  size_t end_column;
  /*
   In a warning about costs, the additional bytes that a device sends or stores.
   */
  uint64_t bytes;
} shardc_diagnostic;

/*
 Gives the sharding rule of a custom call with `shardc_call_set_rule`, or says with `shardc_call_set_error` why it has none. A callback that
 does neither leaves the call without a rule: nothing propagates through it. Callbacks run on threads of shardc, and may run at the same time
 if several compilations do.
 */
typedef void (*shardc_call_rule_fn)(void *user_data, shardc_call *call);

/*
 The sharding rules of a custom call target.
 */
typedef struct {
  /*
   The name of the target.
   */
  shardc_bytes target;
  /*
   Is called for each custom call of the target.
   */
  shardc_call_rule_fn callback;
  /*
   The first argument of the callback.
   */
  void *user_data;
} shardc_rule;

/*
 The options of a compilation. Zero and NULL are the defaults.
 */
typedef struct {
  /*
   sizeof(shardc_options)
   */
  size_t struct_size;
  /*
   The mesh of a program that has none, or another mesh for it: "data=4,model=2".
   */
  shardc_bytes mesh;
  /*
   Shardings of arguments and results: "arg0=data,-", "res0=-,model", "params*=model,-" for names of the front end.
   */
  const shardc_bytes *specs;
  /*
   The number of specs.
   */
  size_t num_specs;
  /*
   Sizes of dynamic dimensions: "batch=8".
   */
  const shardc_bytes *dims;
  /*
   The number of dims.
   */
  size_t num_dims;
  /*
   The name of the entry function, if it is not the only public one or `main`.
   */
  shardc_bytes entry;
  /*
   The devices that decisions and plans are for: "v5e", "v5p:4x4x4", "h100:4x8", or the text of a TOML file that describes them.
   */
  shardc_bytes target;
  /*
   The text of a TOML file with sharding rules of custom calls, functions and composites.
   */
  shardc_bytes rule_file;
  /*
   Sharding rules from callbacks.
   */
  const shardc_rule *rules;
  /*
   The number of rules.
   */
  size_t num_rules;
  /*
   SHARDC_REPLICAS or SHARDC_PARTITIONS.
   */
  uint32_t spmd_mode;
  /*
   1: an all-gather that no annotation requests is an error.
   */
  uint32_t strict;
  /*
   The threshold of warnings about costs, in bytes; NULL for the default.
   */
  const uint64_t *warn_bytes;
  /*
   The size up to which collectives are combined, in bytes; NULL for the default.
   */
  const uint64_t *combine_bytes;
  /*
   The time after which the call fails, in milliseconds; 0 for no limit.
   */
  uint64_t time_limit_ms;
  /*
   Cancels the call from another thread; may be NULL.
   */
  const shardc_cancel *cancel;
} shardc_options;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/*
 The version of shardc: "0.1.0".
 */
shardc_bytes shardc_version(void);

/*
 The bytes of a buffer.
 */
shardc_bytes shardc_buffer_bytes(const shardc_buffer *buffer);

/*
 Frees a buffer.
 */
void shardc_buffer_free(shardc_buffer *buffer);

/*
 Why the call failed: SHARDC_INVALID_INPUT, SHARDC_UNSUPPORTED, SHARDC_INTERNAL or SHARDC_INTERRUPTED.
 */
uint32_t shardc_error_class(const shardc_error *error);

/*
 All diagnostics in readable form, each with the line of the program that it is about.
 */
shardc_bytes shardc_error_message(const shardc_error *error);

/*
 The diagnostics of an error, which belong to it. The list is empty if an argument of the call is invalid.
 */
const shardc_diagnostics *shardc_error_diagnostics(const shardc_error *error);

/*
 Frees an error with its diagnostics.
 */
void shardc_error_free(shardc_error *error);

/*
 The number of diagnostics.
 */
size_t shardc_diagnostics_count(const shardc_diagnostics *list);

/*
 Writes a diagnostic to `out`, whose `struct_size` the caller has set; its bytes belong to the list. Returns whether there is one.
 */
bool shardc_diagnostics_get(const shardc_diagnostics *list,
                            size_t index,
                            shardc_diagnostic *out);

/*
 The diagnostics as JSON, with their notes: an array of objects.
 */
shardc_bytes shardc_diagnostics_json(const shardc_diagnostics *list);

/*
 Frees a list that `shardc_propagate` made.
 */
void shardc_diagnostics_free(shardc_diagnostics *list);

/*
 Reads and verifies a program: StableHLO as text, MLIR bytecode or a portable artifact. Messages call it `name`.
 */
shardc_error *shardc_module_read(shardc_bytes source,
                                 shardc_bytes name,
                                 shardc_module **out);

/*
 Writes a program in a form (SHARDC_TEXT, ...). `version` is that of a SHARDC_ARTIFACT, such as "1.0.0", and empty for other forms.
 */
shardc_error *shardc_module_write(const shardc_module *module,
                                  uint32_t form,
                                  shardc_bytes version,
                                  shardc_buffer **out);

/*
 Propagates shardings: the result has a sharding on every value. `options` may be NULL. If `warnings` is not NULL, the warnings are written
 to it, and the caller frees them.
 */
shardc_error *shardc_propagate(const shardc_module *module,
                               const shardc_options *options,
                               shardc_diagnostics **warnings,
                               shardc_module **out);

/*
 Differentiates a program: the result returns the gradients of the first result, a scalar, with respect to the arguments `wrt` ("arg0", or
 names of the front end). With `value` 1 it also returns that result.
 */
shardc_error *shardc_grad(const shardc_module *module,
                          const shardc_bytes *wrt,
                          size_t num_wrt,
                          uint32_t value,
                          shardc_module **out);

/*
 Frees a program.
 */
void shardc_module_free(shardc_module *module);

/*
 Makes a token.
 */
shardc_cancel *shardc_cancel_new(void);

/*
 Cancels all running and future calls whose options have the token; they fail with SHARDC_INTERRUPTED.
 */
void shardc_cancel_cancel(const shardc_cancel *cancel);

/*
 Frees a token. Calls that are running keep a copy.
 */
void shardc_cancel_free(shardc_cancel *cancel);

/*
 Partitions a program. `options` may be NULL.
 */
shardc_error *shardc_partition(const shardc_module *module,
                               const shardc_options *options,
                               shardc_partitioned **out);

/*
 The number of devices.
 */
size_t shardc_partitioned_num_devices(const shardc_partitioned *partitioned);

/*
 The inputs and outputs with their shapes and shardings, and the mesh, as JSON.
 */
shardc_bytes shardc_partitioned_manifest(const shardc_partitioned *partitioned);

/*
 All warnings. The list belongs to the program.
 */
const shardc_diagnostics *shardc_partitioned_warnings(const shardc_partitioned *partitioned);

/*
 The warnings that are worth printing, as text with lines of the program; empty if there are none.
 */
shardc_bytes shardc_partitioned_warning_text(const shardc_partitioned *partitioned);

/*
 Writes a part of the result (SHARDC_PER_DEVICE, ...) in a form (SHARDC_TEXT, ...). `version` is that of a SHARDC_ARTIFACT.
 */
shardc_error *shardc_partitioned_write(const shardc_partitioned *partitioned,
                                       uint32_t part,
                                       uint32_t form,
                                       shardc_bytes version,
                                       shardc_buffer **out);

/*
 Frees a partitioned program with its warnings.
 */
void shardc_partitioned_free(shardc_partitioned *partitioned);

/*
 Explains why values are sharded and why collectives are there: of the whole program, or of `value` ("%3", "arg0", or a name of the front
 end) if it is not empty. `options` may be NULL.
 */
shardc_error *shardc_explain(const shardc_module *module,
                             const shardc_options *options,
                             shardc_bytes value,
                             shardc_report **out);

/*
 Estimates memory and time of a device of the options' target, which must have a grid ("v5p:4x4x4"), and suggests changes.
 */
shardc_error *shardc_plan(const shardc_module *module,
                          const shardc_options *options,
                          shardc_report **out);

/*
 Reports annotations that are valid but probably cost more than intended. `options` may be NULL.
 */
shardc_error *shardc_lint(const shardc_module *module,
                          const shardc_options *options,
                          shardc_report **out);

/*
 The report as text.
 */
shardc_bytes shardc_report_text(const shardc_report *report);

/*
 The report as JSON, as the program `shardc` writes it with `--json`.
 */
shardc_bytes shardc_report_json(const shardc_report *report);

/*
 The report as a self-contained page; empty if there is no page for it.
 */
shardc_bytes shardc_report_html(const shardc_report *report);

/*
 Frees a report.
 */
void shardc_report_free(shardc_report *report);

/*
 The target of a custom call.
 */
shardc_bytes shardc_call_target(const shardc_call *call);

/*
 The number of operands.
 */
size_t shardc_call_num_operands(const shardc_call *call);

/*
 The number of results.
 */
size_t shardc_call_num_results(const shardc_call *call);

/*
 The sizes of the dimensions of an operand, whose number is written to `rank`; NULL, and the rank is 0, for an operand that is not a tensor. A
 scalar has rank 0, and the result is not NULL.
 */
const int64_t *shardc_call_operand_shape(const shardc_call *call,
                                         size_t index,
                                         size_t *rank);

/*
 The sizes of the dimensions of a result, as of an operand.
 */
const int64_t *shardc_call_result_shape(const shardc_call *call, size_t index, size_t *rank);

/*
 The text of a string attribute such as `backend_config`, or an attribute of another dialect as written; empty if there is none.
 */
shardc_bytes shardc_call_attribute(shardc_call *call,
                                   shardc_bytes name);

/*
 Sets the rule, in one of three notations: "pointwise"; one letter for each dimension, "bqd,bkd->bqe"; or factors as in Shardy's
 `#sdy.op_sharding_rule`, "([i, j])->([i]) {i=64, j=32} reduction={j}". The text is copied.
 */
void shardc_call_set_rule(shardc_call *call,
                          shardc_bytes rule);

/*
 Makes the compilation fail with a message. The text is copied.
 */
void shardc_call_set_error(shardc_call *call, shardc_bytes message);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* SHARDC_H */
