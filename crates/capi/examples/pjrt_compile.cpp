// A program that runs StableHLO through PJRT partitions it with shardc before it compiles it.
//
//   pjrt_compile PLUGIN PROGRAM MESH SPEC...        pjrt_compile pjrt_c_api_cpu_plugin.so step.mlir data=4,model=2 arg0=data,- arg1=-,model
//
// It prints the manifest, and what the plugin compiled. The header pjrt_c_api.h is that of OpenXLA (xla/pjrt/c/pjrt_c_api.h).

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>

#include <shardc.hpp>

#include "pjrt_c_api.h"

namespace {

[[noreturn]] void fail(std::string_view message) {
  std::cerr << message << "\n";
  std::exit(1);
}

// The arguments of a function of PJRT. A plugin that is newer than the header expects members that the header does not have, and rejects a smaller
// struct; zero is the default of each member.
template <typename Args> struct Padded : Args {
  char newer[128];
};

template <typename Args> Padded<Args> arguments() {
  Padded<Args> args = {};
  args.struct_size = sizeof args;
  return args;
}

// Ends the program with the message of an error of the plugin.
void check(const PJRT_Api *api, PJRT_Error *error) {
  if (error == nullptr) return;
  auto args = arguments<PJRT_Error_Message_Args>();
  args.error = error;
  api->PJRT_Error_Message(&args);
  fail(std::string_view(args.message, args.message_size));
}

const PJRT_Api *load(const char *plugin) {
  void *library = dlopen(plugin, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) fail(dlerror());
  auto get = reinterpret_cast<const PJRT_Api *(*)()>(dlsym(library, "GetPjrtApi"));
  if (get == nullptr) fail("the library is no PJRT plugin");
  const PJRT_Api *api = get();
  auto args = arguments<PJRT_Plugin_Initialize_Args>();
  check(api, api->PJRT_Plugin_Initialize(&args));
  return api;
}

PJRT_Client *connect(const PJRT_Api *api, int64_t devices) {
  const char name[] = "cpu_device_count";
  PJRT_NamedValue count = {};
  count.struct_size = PJRT_NamedValue_STRUCT_SIZE;
  count.name = name;
  count.name_size = std::strlen(name);
  count.type = PJRT_NamedValue_kInt64;
  count.int64_value = devices;
  count.value_size = 1;
  auto args = arguments<PJRT_Client_Create_Args>();
  args.create_options = &count;
  args.num_options = 1;
  check(api, api->PJRT_Client_Create(&args));
  return args.client;
}

// The protobuf CompileOptionsProto with executable_build_options { device_ordinal: -1, num_replicas: N, num_partitions: 1 }.
std::string compile_options(size_t replicas) {
  auto varint = [](uint64_t n) {
    std::string out;
    for (; n >= 0x80; n >>= 7) out.push_back(static_cast<char>(n | 0x80));
    out.push_back(static_cast<char>(n));
    return out;
  };
  std::string build = "\x08" + varint(~uint64_t{0}) + "\x20" + varint(replicas) + "\x28" + varint(1);
  return "\x1a" + varint(build.size()) + build;
}

PJRT_LoadedExecutable *compile(const PJRT_Api *api, PJRT_Client *client, std::string code, size_t devices) {
  PJRT_Program program = {};
  program.struct_size = PJRT_Program_STRUCT_SIZE;
  program.code = code.data();
  program.code_size = code.size();
  program.format = "mlir";
  program.format_size = 4;
  std::string options = compile_options(devices);
  auto args = arguments<PJRT_Client_Compile_Args>();
  args.client = client;
  args.program = &program;
  args.compile_options = options.data();
  args.compile_options_size = options.size();
  check(api, api->PJRT_Client_Compile(&args));
  return args.executable;
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 4) fail("usage: pjrt_compile PLUGIN PROGRAM MESH SPEC...");
  std::ostringstream source;
  source << std::ifstream(argv[2]).rdbuf();
  shardc::Options options;
  options.mesh = argv[3];
  for (int i = 4; i < argc; ++i) options.specs.push_back(argv[i]);

  auto module = shardc::Module::read(source.str(), argv[2]);
  if (!module) fail(module.error().message());
  auto partitioned = module->partition(options);
  if (!partitioned) fail(partitioned.error().message());
  std::cerr << partitioned->warning_text();
  auto code = partitioned->write(SHARDC_BACKEND, SHARDC_BYTECODE);
  if (!code) fail(code.error().message());

  const PJRT_Api *api = load(argv[1]);
  size_t devices = partitioned->num_devices();
  PJRT_Client *client = connect(api, static_cast<int64_t>(devices));
  PJRT_LoadedExecutable *executable = compile(api, client, *code, devices);
  auto addressable = arguments<PJRT_LoadedExecutable_AddressableDevices_Args>();
  addressable.executable = executable;
  check(api, api->PJRT_LoadedExecutable_AddressableDevices(&addressable));
  std::cout << partitioned->manifest() << "\ncompiled for " << addressable.num_addressable_devices << " devices\n";

  auto executable_args = arguments<PJRT_LoadedExecutable_Destroy_Args>();
  executable_args.executable = executable;
  check(api, api->PJRT_LoadedExecutable_Destroy(&executable_args));
  auto client_args = arguments<PJRT_Client_Destroy_Args>();
  client_args.client = client;
  check(api, api->PJRT_Client_Destroy(&client_args));
  return 0;
}
