// A compiler that is built on MLIR uses shardc in place of Shardy's pipeline: mlir::ModuleOp -> bytes -> shardc -> mlir::ModuleOp.
//
//   mlir_pipeline PROGRAM [MESH SPEC...]        mlir_pipeline step.mlir data=4,model=2 arg0=data,-
//
// It prints the module that each device runs. A compiler with StableHLO's dialects registers them, and takes SHARDC_BYTECODE in both
// directions; this example has only LLVM's own dialects, so that it writes bytecode, and reads MLIR's generic form.

#include <shardc.hpp>

#include "llvm/Support/raw_ostream.h"
#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"

namespace {

// Reports an error of shardc as diagnostics of MLIR, at the place in the user's program where there is one.
mlir::LogicalResult emit(mlir::ModuleOp module, const shardc::Error &error) {
  for (const shardc::Diagnostic &diagnostic : error.diagnostics()) {
    mlir::InFlightDiagnostic emitted = mlir::emitError(module.getLoc());
    emitted << diagnostic.message << " [" << diagnostic.code << "]";
    if (!diagnostic.user_location.empty()) emitted.attachNote() << "at " << diagnostic.user_location;
    if (!diagnostic.hint.empty()) emitted.attachNote() << diagnostic.hint;
  }
  return mlir::failure();
}

// Partitions a module: the result is the program of each device.
mlir::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>> partition(mlir::ModuleOp module, const shardc::Options &options) {
  std::string bytecode;
  llvm::raw_string_ostream stream(bytecode);
  if (mlir::failed(mlir::writeBytecodeToFile(module, stream))) return mlir::failure();
  auto program = shardc::Module::read(bytecode, "the module");
  if (!program) return emit(module, program.error());
  auto partitioned = program->partition(options);
  if (!partitioned) return emit(module, partitioned.error());
  auto text = partitioned->write(SHARDC_PER_DEVICE, SHARDC_GENERIC);
  if (!text) return emit(module, text.error());
  auto parsed = mlir::parseSourceString<mlir::ModuleOp>(*text, module.getContext());
  if (!parsed) return mlir::failure();
  return parsed;
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 2) {
    llvm::errs() << "usage: mlir_pipeline PROGRAM [MESH SPEC...]\n";
    return 2;
  }
  mlir::MLIRContext context;
  context.loadDialect<mlir::func::FuncDialect>();
  context.allowUnregisteredDialects();
  auto module = mlir::parseSourceFile<mlir::ModuleOp>(argv[1], &context);
  if (!module) return 1;
  shardc::Options options;
  if (argc > 2) options.mesh = argv[2];
  for (int i = 3; i < argc; ++i) options.specs.push_back(argv[i]);
  auto partitioned = partition(*module, options);
  if (mlir::failed(partitioned)) return 1;
  (*partitioned)->print(llvm::outs());
  llvm::outs() << "\n";
  return 0;
}
