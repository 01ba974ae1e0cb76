// The C++ interface of shardc: objects that free themselves, over the C interface in shardc.h. C++17, without exceptions and without RTTI.
//
//   shardc::Options options;
//   options.mesh = "data=4,model=2";
//   options.specs = {"arg0=data,-", "arg1=-,model"};
//   auto module = shardc::Module::read(text);
//   if (!module) { std::cerr << module.error().message() << "\n"; return 1; }
//   auto partitioned = module->partition(options);

#ifndef SHARDC_HPP
#define SHARDC_HPP

#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "shardc.h"

namespace shardc {

namespace detail {

inline shardc_bytes bytes(std::string_view text) {
  return {reinterpret_cast<const uint8_t *>(text.data()), text.size()};
}

inline std::string_view view(shardc_bytes bytes) {
  return {reinterpret_cast<const char *>(bytes.data), bytes.size};
}

template <typename T, void (*Free)(T *)> struct Deleter {
  void operator()(T *object) const { Free(object); }
};

template <typename T, void (*Free)(T *)> using Owned = std::unique_ptr<T, Deleter<T, Free>>;

inline std::vector<shardc_bytes> bytes_of(const std::vector<std::string> &texts) {
  std::vector<shardc_bytes> all;
  for (const std::string &text : texts) all.push_back(bytes(text));
  return all;
}

} // namespace detail

/// The version of the library: "0.1.0".
inline std::string_view version() { return detail::view(shardc_version()); }

/// An error or a warning, with copies of its texts. Texts are empty, and numbers 0, where there are none.
struct Diagnostic {
  std::string code, message, hint, file, option, user_location;
  bool is_error = false;
  uint32_t error_class = 0;
  size_t line = 0, column = 0, end_line = 0, end_column = 0;
  uint64_t bytes = 0;
};

namespace detail {

inline std::vector<Diagnostic> diagnostics(const shardc_diagnostics *list) {
  std::vector<Diagnostic> all;
  for (size_t i = 0, count = shardc_diagnostics_count(list); i < count; ++i) {
    shardc_diagnostic d = {};
    d.struct_size = sizeof d;
    if (!shardc_diagnostics_get(list, i, &d)) break;
    auto text = [](shardc_bytes bytes) { return std::string(view(bytes)); };
    all.push_back({text(d.code), text(d.message), text(d.hint), text(d.file), text(d.option), text(d.user_location),
                   d.is_error != 0, d.error_class, d.line, d.column, d.end_line, d.end_column, d.bytes});
  }
  return all;
}

} // namespace detail

/// Why a call failed.
class Error {
public:
  explicit Error(shardc_error *error) : error_(error) {}

  /// All diagnostics in readable form, with the lines of the program.
  std::string_view message() const { return detail::view(shardc_error_message(error_.get())); }
  /// SHARDC_INVALID_INPUT, SHARDC_UNSUPPORTED, SHARDC_INTERNAL or SHARDC_INTERRUPTED.
  uint32_t error_class() const { return shardc_error_class(error_.get()); }
  std::vector<Diagnostic> diagnostics() const { return detail::diagnostics(shardc_error_diagnostics(error_.get())); }

private:
  detail::Owned<shardc_error, shardc_error_free> error_;
};

/// A value, or the error of the call that should have made it. Access to the other one ends the program.
template <typename T> class [[nodiscard]] Expected {
public:
  Expected(T value) : either_(std::move(value)) {}
  Expected(Error error) : either_(std::move(error)) {}

  explicit operator bool() const { return std::holds_alternative<T>(either_); }
  T &operator*() { return get<T>(); }
  T *operator->() { return &get<T>(); }
  const Error &error() const {
    const Error *error = std::get_if<Error>(&either_);
    if (error == nullptr) std::abort();
    return *error;
  }

private:
  template <typename U> U &get() {
    U *value = std::get_if<U>(&either_);
    if (value == nullptr) std::abort();
    return *value;
  }

  std::variant<T, Error> either_;
};

/// Cancels calls from another thread.
class Cancel {
public:
  Cancel() : cancel_(shardc_cancel_new()) {}
  void cancel() const { shardc_cancel_cancel(cancel_.get()); }
  const shardc_cancel *get() const { return cancel_.get(); }

private:
  detail::Owned<shardc_cancel, shardc_cancel_free> cancel_;
};

/// A custom call whose sharding rule is asked for.
class Call {
public:
  explicit Call(shardc_call *call) : call_(call) {}

  std::string_view target() const { return detail::view(shardc_call_target(call_)); }
  size_t num_operands() const { return shardc_call_num_operands(call_); }
  size_t num_results() const { return shardc_call_num_results(call_); }
  /// The sizes of an operand's dimensions; none if it is not a tensor.
  std::optional<std::vector<int64_t>> operand(size_t i) const { return shape(shardc_call_operand_shape, i); }
  /// The sizes of a result's dimensions; none if it is not a tensor.
  std::optional<std::vector<int64_t>> result(size_t i) const { return shape(shardc_call_result_shape, i); }
  /// The text of an attribute such as `backend_config`.
  std::string_view attribute(std::string_view name) const {
    return detail::view(shardc_call_attribute(call_, detail::bytes(name)));
  }
  /// "pointwise", "bqd,bkd->bqe", or factors as in `#sdy.op_sharding_rule`.
  void set_rule(std::string_view rule) { shardc_call_set_rule(call_, detail::bytes(rule)); }
  void set_error(std::string_view message) { shardc_call_set_error(call_, detail::bytes(message)); }

private:
  template <typename F> std::optional<std::vector<int64_t>> shape(F of, size_t i) const {
    size_t rank = 0;
    const int64_t *sizes = of(call_, i, &rank);
    if (sizes == nullptr) return std::nullopt;
    return std::vector<int64_t>(sizes, sizes + rank);
  }

  shardc_call *call_;
};

/// The sharding rules of a custom call target: the function gives the rule of each call, and may run on other threads.
struct Rule {
  std::string target;
  std::function<void(Call &)> function;
};

/// The options of a compilation, as in `shardc_options`.
struct Options {
  std::string mesh;
  std::vector<std::string> specs, dims;
  std::string entry, target, rule_file;
  std::vector<Rule> rules;
  bool partitions = false, strict = false;
  std::optional<uint64_t> warn_bytes, combine_bytes;
  std::chrono::milliseconds time_limit{0};
  const Cancel *cancel = nullptr;
};

namespace detail {

/// The options as C sees them, for the duration of a call.
class COptions {
public:
  explicit COptions(const Options &from) : specs_(bytes_of(from.specs)), dims_(bytes_of(from.dims)) {
    for (const Rule &rule : from.rules) {
      auto callback = [](void *data, shardc_call *call) {
        Call asked(call);
        static_cast<const Rule *>(data)->function(asked);
      };
      rules_.push_back({bytes(rule.target), callback, const_cast<Rule *>(&rule)});
    }
    own_.struct_size = sizeof own_;
    own_.mesh = bytes(from.mesh);
    own_.specs = specs_.data();
    own_.num_specs = specs_.size();
    own_.dims = dims_.data();
    own_.num_dims = dims_.size();
    own_.entry = bytes(from.entry);
    own_.target = bytes(from.target);
    own_.rule_file = bytes(from.rule_file);
    own_.rules = rules_.data();
    own_.num_rules = rules_.size();
    own_.spmd_mode = from.partitions ? SHARDC_PARTITIONS : SHARDC_REPLICAS;
    own_.strict = from.strict ? 1 : 0;
    own_.warn_bytes = from.warn_bytes ? &*from.warn_bytes : nullptr;
    own_.combine_bytes = from.combine_bytes ? &*from.combine_bytes : nullptr;
    own_.time_limit_ms = static_cast<uint64_t>(from.time_limit.count());
    own_.cancel = from.cancel != nullptr ? from.cancel->get() : nullptr;
  }
  COptions(const COptions &) = delete;
  COptions &operator=(const COptions &) = delete;

  const shardc_options *get() const { return &own_; }

private:
  std::vector<shardc_bytes> specs_, dims_;
  std::vector<shardc_rule> rules_;
  shardc_options own_ = {};
};

/// Takes over a buffer.
inline Expected<std::string> text(shardc_error *error, shardc_buffer *buffer) {
  if (error != nullptr) return Error(error);
  Owned<shardc_buffer, shardc_buffer_free> owned(buffer);
  return std::string(view(shardc_buffer_bytes(buffer)));
}

} // namespace detail

/// A report: the same facts as text, as JSON and as a page.
class Report {
public:
  explicit Report(shardc_report *report) : report_(report) {}

  std::string_view text() const { return detail::view(shardc_report_text(report_.get())); }
  std::string_view json() const { return detail::view(shardc_report_json(report_.get())); }
  /// Empty if there is no page for the report.
  std::string_view html() const { return detail::view(shardc_report_html(report_.get())); }

private:
  detail::Owned<shardc_report, shardc_report_free> report_;
};

/// A partitioned program.
class Partitioned {
public:
  explicit Partitioned(shardc_partitioned *partitioned) : partitioned_(partitioned) {}

  size_t num_devices() const { return shardc_partitioned_num_devices(partitioned_.get()); }
  /// Inputs, outputs and the mesh as JSON.
  std::string_view manifest() const { return detail::view(shardc_partitioned_manifest(partitioned_.get())); }
  std::vector<Diagnostic> warnings() const {
    return detail::diagnostics(shardc_partitioned_warnings(partitioned_.get()));
  }
  std::string_view warning_text() const { return detail::view(shardc_partitioned_warning_text(partitioned_.get())); }
  /// `part` is SHARDC_PER_DEVICE, SHARDC_BACKEND or SHARDC_MANUAL_COMPUTATION; `form` is SHARDC_TEXT or another form.
  Expected<std::string> write(uint32_t part, uint32_t form, std::string_view version = {}) const {
    shardc_buffer *buffer = nullptr;
    shardc_error *error = shardc_partitioned_write(partitioned_.get(), part, form, detail::bytes(version), &buffer);
    return detail::text(error, buffer);
  }

private:
  detail::Owned<shardc_partitioned, shardc_partitioned_free> partitioned_;
};

/// A program in StableHLO. Several threads may use it.
class Module {
public:
  explicit Module(shardc_module *module) : module_(module) {}

  /// Reads and verifies text, MLIR bytecode or a portable artifact.
  static Expected<Module> read(std::string_view source, std::string_view name = "<program>") {
    shardc_module *out = nullptr;
    if (shardc_error *error = shardc_module_read(detail::bytes(source), detail::bytes(name), &out)) return Error(error);
    return Module(out);
  }

  /// Writes the program; `form` is SHARDC_TEXT or another form, and `version` that of a SHARDC_ARTIFACT.
  Expected<std::string> write(uint32_t form, std::string_view version = {}) const {
    shardc_buffer *buffer = nullptr;
    shardc_error *error = shardc_module_write(module_.get(), form, detail::bytes(version), &buffer);
    return detail::text(error, buffer);
  }

  /// Propagates shardings: the result has a sharding on every value.
  Expected<Module> propagate(const Options &options = {}, std::vector<Diagnostic> *warnings = nullptr) const {
    shardc_module *out = nullptr;
    shardc_diagnostics *found = nullptr;
    detail::COptions given(options);
    if (shardc_error *error = shardc_propagate(module_.get(), given.get(), &found, &out)) return Error(error);
    detail::Owned<shardc_diagnostics, shardc_diagnostics_free> owned(found);
    if (warnings != nullptr) *warnings = detail::diagnostics(found);
    return Module(out);
  }

  Expected<Partitioned> partition(const Options &options = {}) const {
    shardc_partitioned *out = nullptr;
    detail::COptions given(options);
    if (shardc_error *error = shardc_partition(module_.get(), given.get(), &out)) return Error(error);
    return Partitioned(out);
  }

  /// Explains the whole program, or one value.
  Expected<Report> explain(const Options &options = {}, std::string_view value = {}) const {
    shardc_report *out = nullptr;
    detail::COptions given(options);
    if (shardc_error *error = shardc_explain(module_.get(), given.get(), detail::bytes(value), &out)) return Error(error);
    return Report(out);
  }

  /// Estimates memory and time of a device of the options' target.
  Expected<Report> plan(const Options &options) const { return report(shardc_plan, options); }
  /// Reports annotations that probably cost more than intended.
  Expected<Report> lint(const Options &options = {}) const { return report(shardc_lint, options); }

  /// The program of the gradients with respect to arguments; with `value`, it also returns the differentiated result.
  Expected<Module> grad(const std::vector<std::string> &wrt, bool value = false) const {
    shardc_module *out = nullptr;
    std::vector<shardc_bytes> names = detail::bytes_of(wrt);
    if (shardc_error *error = shardc_grad(module_.get(), names.data(), names.size(), value, &out)) return Error(error);
    return Module(out);
  }

private:
  template <typename F> Expected<Report> report(F make, const Options &options) const {
    shardc_report *out = nullptr;
    detail::COptions given(options);
    if (shardc_error *error = make(module_.get(), given.get(), &out)) return Error(error);
    return Report(out);
  }

  detail::Owned<shardc_module, shardc_module_free> module_;
};

} // namespace shardc

#endif // SHARDC_HPP
