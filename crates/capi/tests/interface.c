// Uses every function of shardc.h, also with arguments that are wrong. Built and run by tests/languages.rs.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shardc.h"

#define CHECK(condition)                                                                                              \
  do {                                                                                                                \
    if (!(condition)) {                                                                                               \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                                                 \
      exit(1);                                                                                                        \
    }                                                                                                                 \
  } while (0)

static const char PROGRAM[] =
    "func.func @main(%x: tensor<32x64xf32>, %w: tensor<64x16xf32>) -> tensor<32x16xf32> {\n"
    "  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]\n"
    "      : (tensor<32x64xf32>, tensor<64x16xf32>) -> tensor<32x16xf32>\n"
    "  return %0 : tensor<32x16xf32>\n"
    "}\n";

static const char KERNEL[] =
    "func.func @main(%q: tensor<8x16x64xf32>, %k: tensor<8x32x64xf32>) -> tensor<8x16x64xf32> {\n"
    "  %0 = stablehlo.custom_call @my_attention(%q, %k) {backend_config = \"fast\"}\n"
    "      : (tensor<8x16x64xf32>, tensor<8x32x64xf32>) -> tensor<8x16x64xf32>\n"
    "  return %0 : tensor<8x16x64xf32>\n"
    "}\n";

static shardc_bytes text(const char *text) {
  shardc_bytes bytes = {(const uint8_t *)text, strlen(text)};
  return bytes;
}

static bool contains(shardc_bytes bytes, const char *part) {
  // Bytes of an object are followed by a NUL byte.
  CHECK(bytes.data[bytes.size] == 0);
  return strstr((const char *)bytes.data, part) != NULL;
}

static void check(shardc_error *error) {
  if (error != NULL) {
    fprintf(stderr, "%s\n", (const char *)shardc_error_message(error).data);
    exit(1);
  }
}

static void refuse(shardc_error *error, uint32_t error_class, const char *part) {
  CHECK(error != NULL);
  CHECK(shardc_error_class(error) == error_class);
  CHECK(contains(shardc_error_message(error), part));
  shardc_error_free(error);
}

static shardc_module *read(const char *source) {
  shardc_module *module = NULL;
  check(shardc_module_read(text(source), text("step.mlir"), &module));
  return module;
}

static shardc_options sharded(const shardc_bytes *specs, size_t count) {
  shardc_options options = {0};
  options.struct_size = sizeof options;
  options.mesh = text("data=4,model=2");
  options.specs = specs;
  options.num_specs = count;
  return options;
}

static void partitions(void) {
  shardc_module *module = read(PROGRAM);
  shardc_bytes specs[] = {text("arg0=data,-"), text("arg1=-,model")};
  shardc_options options = sharded(specs, 2);
  options.spmd_mode = SHARDC_PARTITIONS;
  shardc_partitioned *partitioned = NULL;
  check(shardc_partition(module, &options, &partitioned));
  CHECK(shardc_partitioned_num_devices(partitioned) == 8);
  CHECK(contains(shardc_partitioned_manifest(partitioned), "\"local_shape\""));
  CHECK(shardc_diagnostics_count(shardc_partitioned_warnings(partitioned)) == 0);
  CHECK(shardc_partitioned_warning_text(partitioned).size == 0);
  const uint32_t parts[] = {SHARDC_PER_DEVICE, SHARDC_BACKEND, SHARDC_MANUAL_COMPUTATION};
  for (size_t part = 0; part < 3; ++part) {
    for (uint32_t form = SHARDC_TEXT; form <= SHARDC_ARTIFACT; ++form) {
      shardc_buffer *buffer = NULL;
      check(shardc_partitioned_write(partitioned, parts[part], form, text(form == SHARDC_ARTIFACT ? "1.10.0" : ""), &buffer));
      shardc_bytes written = shardc_buffer_bytes(buffer);
      CHECK(written.size > 100);
      if (form <= SHARDC_GENERIC) CHECK(contains(written, "tensor<8x64xf32>"));
      shardc_module *again = NULL;
      check(shardc_module_read(written, text("again"), &again));
      shardc_module_free(again);
      shardc_buffer_free(buffer);
    }
  }
  shardc_buffer *buffer = NULL;
  refuse(shardc_partitioned_write(partitioned, 9, SHARDC_TEXT, text(""), &buffer), SHARDC_INVALID_INPUT, "9 is no part");
  refuse(shardc_partitioned_write(partitioned, 0, 9, text(""), &buffer), SHARDC_INVALID_INPUT, "9 is no form");
  refuse(shardc_partitioned_write(partitioned, 0, SHARDC_ARTIFACT, text("new"), &buffer), SHARDC_INVALID_INPUT,
         "\"new\" is no version");
  shardc_partitioned_free(partitioned);
  shardc_module_free(module);
}

static void transforms(void) {
  shardc_module *module = read(PROGRAM);
  shardc_bytes specs[] = {text("arg0=data,-")};
  shardc_options options = sharded(specs, 1);
  shardc_module *propagated = NULL;
  shardc_diagnostics *warnings = NULL;
  check(shardc_propagate(module, &options, &warnings, &propagated));
  CHECK(contains(shardc_diagnostics_json(warnings), "["));
  shardc_buffer *buffer = NULL;
  check(shardc_module_write(propagated, SHARDC_TEXT, text(""), &buffer));
  CHECK(contains(shardc_buffer_bytes(buffer), "sdy.sharding"));
  shardc_buffer_free(buffer);
  shardc_diagnostics_free(warnings);
  shardc_module_free(propagated);
  shardc_module_free(module);

  module = read("func.func @main(%x: tensor<f32>) -> tensor<f32> {\n  %0 = stablehlo.sine %x : tensor<f32>\n"
                "  return %0 : tensor<f32>\n}\n");
  shardc_bytes wrt[] = {text("arg0")};
  shardc_module *gradient = NULL;
  check(shardc_grad(module, wrt, 1, 1, &gradient));
  check(shardc_module_write(gradient, SHARDC_TEXT, text(""), &buffer));
  CHECK(contains(shardc_buffer_bytes(buffer), "stablehlo.cosine"));
  shardc_buffer_free(buffer);
  shardc_module_free(gradient);
  shardc_module_free(module);
}

static void reports(void) {
  shardc_module *module = read(PROGRAM);
  shardc_bytes specs[] = {text("arg0=-,data"), text("arg1=data,-")};
  shardc_options options = sharded(specs, 2);
  shardc_report *report = NULL;
  check(shardc_explain(module, &options, text(""), &report));
  CHECK(contains(shardc_report_text(report), "all_reduce"));
  CHECK(contains(shardc_report_json(report), "{"));
  CHECK(contains(shardc_report_html(report), "<html"));
  shardc_report_free(report);
  check(shardc_explain(module, &options, text("arg0"), &report));
  shardc_report_free(report);
  refuse(shardc_plan(module, &options, &report), SHARDC_INVALID_INPUT, "target");
  options.target = text("v5e:2x4");
  check(shardc_plan(module, &options, &report));
  CHECK(contains(shardc_report_json(report), "\"memory\""));
  shardc_report_free(report);
  check(shardc_lint(module, &options, &report));
  CHECK(contains(shardc_report_text(report), "unused-mesh-axis") || contains(shardc_report_json(report), "\"findings\""));
  shardc_report_free(report);
  shardc_module_free(module);
}

static void rule(void *user_data, shardc_call *call) {
  *(int *)user_data += 1;
  CHECK(contains(shardc_call_target(call), "my_attention") && shardc_call_target(call).size == 12);
  CHECK(shardc_call_num_operands(call) == 2 && shardc_call_num_results(call) == 1);
  size_t rank = 0;
  const int64_t *sizes = shardc_call_operand_shape(call, 1, &rank);
  CHECK(rank == 3 && sizes[1] == 32);
  CHECK(shardc_call_result_shape(call, 0, &rank)[2] == 64);
  CHECK(shardc_call_operand_shape(call, 2, &rank) == NULL && rank == 0);
  CHECK(contains(shardc_call_attribute(call, text("backend_config")), "fast"));
  CHECK(shardc_call_attribute(call, text("absent")).size == 0);
  shardc_call_set_rule(call, text("bqd,bkd->bqe"));
}

static void no_rule(void *user_data, shardc_call *call) {
  (void)user_data;
  shardc_call_set_error(call, text("this kernel has no rule for such shapes"));
}

static void callbacks(void) {
  shardc_module *module = read(KERNEL);
  int asked = 0;
  shardc_rule rules[] = {{text("my_attention"), rule, &asked}};
  shardc_bytes specs[] = {text("arg0=data,-,-")};
  shardc_options options = sharded(specs, 1);
  options.rules = rules;
  options.num_rules = 1;
  shardc_partitioned *partitioned = NULL;
  check(shardc_partition(module, &options, &partitioned));
  CHECK(asked > 0);
  shardc_buffer *buffer = NULL;
  check(shardc_partitioned_write(partitioned, SHARDC_PER_DEVICE, SHARDC_TEXT, text(""), &buffer));
  CHECK(contains(shardc_buffer_bytes(buffer), "tensor<2x16x64xf32>"));
  shardc_buffer_free(buffer);
  shardc_partitioned_free(partitioned);
  rules[0].callback = no_rule;
  refuse(shardc_partition(module, &options, &partitioned), SHARDC_INVALID_INPUT, "no rule for such shapes");
  rules[0].callback = NULL;
  refuse(shardc_partition(module, &options, &partitioned), SHARDC_INVALID_INPUT, "callback");
  shardc_module_free(module);
}

static void errors(void) {
  shardc_module *module = NULL;
  shardc_error *error = shardc_module_read(text("func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n  return %y : tensor<4xf32>\n}"),
                                           text("step.mlir"), &module);
  CHECK(error != NULL && module == NULL);
  CHECK(contains(shardc_error_message(error), "step.mlir:2:10"));
  const shardc_diagnostics *list = shardc_error_diagnostics(error);
  CHECK(shardc_diagnostics_count(list) == 1);
  shardc_diagnostic diagnostic = {0};
  diagnostic.struct_size = sizeof diagnostic;
  CHECK(shardc_diagnostics_get(list, 0, &diagnostic) && !shardc_diagnostics_get(list, 1, &diagnostic));
  CHECK(diagnostic.line == 2 && diagnostic.column == 10 && diagnostic.is_error == 1);
  CHECK(diagnostic.error_class == SHARDC_INVALID_INPUT && contains(diagnostic.code, "SH0"));
  // A caller that was built with an older header gets the members that it knows.
  shardc_diagnostic old = {0};
  old.struct_size = offsetof(shardc_diagnostic, message);
  CHECK(shardc_diagnostics_get(list, 0, &old) && old.code.size == 6 && old.message.size == 0);
  CHECK(old.struct_size == offsetof(shardc_diagnostic, message));
  shardc_error_free(error);

  refuse(shardc_module_read(text(PROGRAM), text(""), NULL), SHARDC_INVALID_INPUT, "NULL");
  refuse(shardc_partition(NULL, NULL, (shardc_partitioned **)&module), SHARDC_INVALID_INPUT, "the module is NULL");
  const uint8_t latin[] = {0xff, 0xfe};
  shardc_bytes name = {latin, 2};
  refuse(shardc_module_read(text(PROGRAM), name, &module), SHARDC_INVALID_INPUT, "UTF-8");

  module = read(PROGRAM);
  shardc_partitioned *partitioned = NULL;
  refuse(shardc_partition(module, NULL, &partitioned), SHARDC_INVALID_INPUT, "SH0303");
  shardc_options options = sharded(NULL, 1);
  refuse(shardc_partition(module, &options, &partitioned), SHARDC_INVALID_INPUT, "specs is NULL");
  shardc_bytes wrong[] = {text("arg0")};
  options = sharded(wrong, 1);
  refuse(shardc_partition(module, &options, &partitioned), SHARDC_INVALID_INPUT, "ARG=SPEC");
  options = sharded(NULL, 0);
  options.spmd_mode = 7;
  refuse(shardc_partition(module, &options, &partitioned), SHARDC_INVALID_INPUT, "spmd_mode is 7");
  options = sharded(NULL, 0);
  options.target = text("v99");
  refuse(shardc_partition(module, &options, &partitioned), SHARDC_INVALID_INPUT, "v99");
  shardc_cancel *cancel = shardc_cancel_new();
  shardc_cancel_cancel(cancel);
  options = sharded(NULL, 0);
  options.cancel = cancel;
  refuse(shardc_partition(module, &options, &partitioned), SHARDC_INTERRUPTED, "cancel");
  shardc_cancel_free(cancel);
  // A struct of an older version ends before the members that are newer.
  options.struct_size = offsetof(shardc_options, cancel);
  check(shardc_partition(module, &options, &partitioned));
  shardc_partitioned_free(partitioned);
  shardc_module_free(module);

  shardc_module_free(NULL);
  shardc_partitioned_free(NULL);
  shardc_report_free(NULL);
  shardc_buffer_free(NULL);
  shardc_error_free(NULL);
  shardc_diagnostics_free(NULL);
  shardc_cancel_free(NULL);
  CHECK(shardc_buffer_bytes(NULL).size == 0 && shardc_diagnostics_count(NULL) == 0);
}

int main(void) {
  CHECK(contains(shardc_version(), "."));
  partitions();
  transforms();
  reports();
  callbacks();
  errors();
  puts("ok");
  return 0;
}
