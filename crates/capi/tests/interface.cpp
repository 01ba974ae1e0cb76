// Uses shardc.hpp. Built without exceptions and RTTI, and run, by tests/languages.rs.

#include <iostream>
#include <thread>

#include "shardc.hpp"

#define CHECK(condition)                                                                                              \
  do {                                                                                                                \
    if (!(condition)) {                                                                                               \
      std::cerr << __FILE__ << ":" << __LINE__ << ": " << #condition << "\n";                                         \
      std::exit(1);                                                                                                   \
    }                                                                                                                 \
  } while (0)

namespace {

constexpr std::string_view kProgram = R"(
func.func @main(%x: tensor<32x64xf32>, %w: tensor<64x16xf32>) -> tensor<32x16xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
      : (tensor<32x64xf32>, tensor<64x16xf32>) -> tensor<32x16xf32>
  return %0 : tensor<32x16xf32>
}
)";

constexpr std::string_view kKernel = R"(
func.func @main(%q: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %0 = stablehlo.custom_call @kernel(%q) : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}
)";

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

template <typename T> T take(shardc::Expected<T> expected) {
  if (!expected) {
    std::cerr << expected.error().message() << "\n";
    std::exit(1);
  }
  return std::move(*expected);
}

shardc::Options options() {
  shardc::Options options;
  options.mesh = "data=4,model=2";
  options.specs = {"arg0=-,data", "arg1=data,model"};
  options.target = "v5e:2x4";
  return options;
}

void partitions() {
  shardc::Module module = take(shardc::Module::read(kProgram, "step.mlir"));
  shardc::Partitioned partitioned = take(module.partition(options()));
  CHECK(partitioned.num_devices() == 8);
  CHECK(contains(take(partitioned.write(SHARDC_PER_DEVICE, SHARDC_TEXT)), "all_reduce"));
  CHECK(contains(partitioned.manifest(), "local_shape"));
  CHECK(partitioned.warnings().empty() == partitioned.warning_text().empty());
  CHECK(contains(take(module.explain(options())).text(), "all_reduce"));
  CHECK(contains(take(module.plan(options())).json(), "memory"));
  CHECK(contains(take(module.lint(options())).json(), "findings"));
  std::vector<shardc::Diagnostic> warnings;
  CHECK(contains(take(take(module.propagate(options(), &warnings)).write(SHARDC_TEXT)), "sdy.sharding"));
  CHECK(take(module.write(SHARDC_ARTIFACT, "1.0.0")).substr(0, 4) == "ML\xefR");
}

void rules() {
  shardc::Module module = take(shardc::Module::read(kKernel));
  shardc::Options given;
  given.mesh = "data=4";
  given.specs = {"arg0=data,-"};
  given.rules.push_back({"kernel", [](shardc::Call &call) {
                           CHECK(call.operand(0)->size() == 2 && !call.operand(1));
                           call.set_rule("pointwise");
                         }});
  shardc::Partitioned partitioned = take(module.partition(given));
  CHECK(contains(take(partitioned.write(SHARDC_PER_DEVICE, SHARDC_TEXT)), "@kernel(%arg0) : (tensor<2x16xf32>)") ||
        contains(take(partitioned.write(SHARDC_PER_DEVICE, SHARDC_TEXT)), "tensor<2x16xf32>"));
}

void errors() {
  auto refused = shardc::Module::read("func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { return %y : tensor<4xf32> }");
  CHECK(!refused);
  CHECK(refused.error().error_class() == SHARDC_INVALID_INPUT);
  CHECK(refused.error().diagnostics().at(0).line == 1);
  shardc::Module module = take(shardc::Module::read(kProgram));
  shardc::Cancel cancel;
  cancel.cancel();
  shardc::Options given = options();
  given.cancel = &cancel;
  auto cancelled = module.partition(given);
  CHECK(!cancelled && cancelled.error().error_class() == SHARDC_INTERRUPTED);
}

void threads() {
  const shardc::Module module = take(shardc::Module::read(kProgram));
  std::vector<std::string> texts(4);
  std::vector<std::thread> workers;
  for (std::string &text : texts) {
    workers.emplace_back([&] { text = take(take(module.partition(options())).write(SHARDC_PER_DEVICE, SHARDC_TEXT)); });
  }
  for (std::thread &worker : workers) worker.join();
  for (const std::string &text : texts) CHECK(text == texts[0]);
}

} // namespace

int main() {
  partitions();
  rules();
  errors();
  threads();
  std::cout << "ok\n";
  return 0;
}
