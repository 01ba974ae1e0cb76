//! Compiles and runs programs in C and C++ with the library that was built with this test.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use shardc::runtime::{Environment, PluginKind, plugin};
use shardc_filetest::skip::{Need, skip};
use tempfile::TempDir;
use xtask::pjrt_header;
use xtask::workspace::{Workspace, which};

/// A matrix product in MLIR's generic form, which needs no dialect of StableHLO.
const STEP: &str = "func.func @main(%x: tensor<32x64xf32>, %w: tensor<64x16xf32>) -> tensor<32x16xf32> {
  %0 = \"stablehlo.dot_general\"(%x, %w) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<32x64xf32>, tensor<64x16xf32>) -> tensor<32x16xf32>
  func.return %0 : tensor<32x16xf32>
}
";

/// The setting of CMake that leaves out the example that needs MLIR.
const NO_MLIR: &str = "-DCMAKE_DISABLE_FIND_PACKAGE_MLIR=ON";

/// The folder of this package.
fn own() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The library with its headers, as it is installed.
fn installed() -> TempDir {
    let prefix = tempfile::tempdir().unwrap();
    // Cargo builds the library before this test, in the same folder.
    let built = env::current_exe().unwrap().parent().unwrap().to_owned();
    xtask::capi::install(own().parent().unwrap().parent().unwrap(), &built, prefix.path()).unwrap();
    prefix
}

/// Whether a program is installed; if not, the test is skipped.
fn has(program: &str) -> bool {
    let is_found = which(program).is_some();
    if !is_found {
        skip(Need::Cxx, &format!("`{program}` is not installed"));
    }
    is_found
}

fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{command:?}\n{}{}", text(&output.stdout), text(&output.stderr));
    output
}

/// Compiles a source of this folder with the shared library; returns the program.
fn compiled(compiler: &str, flags: &[&str], source: &str, prefix: &Path) -> PathBuf {
    let program = prefix.join("program");
    let lib = prefix.join("lib");
    run(Command::new(compiler)
        .args(["-g", "-Wall", "-Wextra", "-Werror"])
        .args(flags)
        .arg(own().join("tests").join(source))
        .arg("-I")
        .arg(prefix.join("include"))
        .arg("-o")
        .arg(&program)
        .arg("-L")
        .arg(&lib)
        .arg(format!("-Wl,-rpath,{}", lib.display()))
        .args(["-lshardc", "-pthread"]));
    program
}

#[test]
fn every_function_works_in_c() {
    if !has("gcc") {
        return;
    }
    let prefix = installed();
    let program = compiled("gcc", &["-std=c11", "-pedantic"], "interface.c", prefix.path());
    assert_eq!(run(&mut Command::new(program)).stdout, b"ok\n");
}

#[test]
fn memory_is_used_and_freed_correctly() {
    if !has("gcc") || !has("valgrind") {
        return;
    }
    let prefix = installed();
    let program = compiled("gcc", &["-std=c11"], "interface.c", prefix.path());
    run(Command::new("valgrind")
        .args(["--quiet", "--error-exitcode=9", "--leak-check=full", "--show-leak-kinds=definite,indirect"])
        .args(["--errors-for-leak-kinds=definite,indirect"])
        .arg(program));
}

#[test]
fn the_wrapper_works_in_cpp() {
    if !has("g++") {
        return;
    }
    let prefix = installed();
    let flags = ["-std=c++17", "-fno-exceptions", "-fno-rtti"];
    let program = compiled("g++", &flags, "interface.cpp", prefix.path());
    assert_eq!(run(&mut Command::new(program)).stdout, b"ok\n");
}

#[test]
fn the_static_library_links() {
    if !has("gcc") || !has("pkg-config") {
        return;
    }
    let prefix = installed();
    let lib = prefix.path().join("lib");
    fs::remove_file(lib.join("libshardc.so")).unwrap();
    let flags = run(Command::new("pkg-config")
        .args(["--static", "--cflags", "--libs", "shardc"])
        .env("PKG_CONFIG_PATH", lib.join("pkgconfig")));
    let flags = String::from_utf8(flags.stdout).unwrap();
    let program = prefix.path().join("program");
    run(Command::new("gcc")
        .arg(own().join("tests/interface.c"))
        .args(flags.split_whitespace())
        .arg("-o")
        .arg(&program));
    assert_eq!(run(&mut Command::new(program)).stdout, b"ok\n");
}

/// Builds an example with CMake; returns the folder of the programs.
fn examples(prefix: &Path, settings: &[String]) -> PathBuf {
    let build = prefix.join("build");
    run(Command::new("cmake")
        .arg("-S")
        .arg(own().join("examples"))
        .arg("-B")
        .arg(&build)
        .arg(format!("-DCMAKE_PREFIX_PATH={}", prefix.display()))
        .args(settings));
    run(Command::new("cmake").arg("--build").arg(&build));
    build
}

#[test]
fn a_compiler_built_on_mlir_partitions_its_modules() {
    if !has("cmake") || !has("g++") {
        return;
    }
    let config = Path::new("/usr/lib/llvm-22/lib/cmake/mlir");
    if !config.is_dir() {
        skip(Need::Mlir, "MLIR 22 is not installed");
        return;
    }
    let prefix = installed();
    let build = examples(prefix.path(), &[format!("-DMLIR_DIR={}", config.display())]);
    let step = prefix.path().join("step.mlir");
    fs::write(&step, STEP).unwrap();
    let mut example = Command::new(build.join("mlir_pipeline"));
    let output = run(example.arg(&step).args(["data=4,model=2", "arg0=-,data", "arg1=data,model"]));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("stablehlo.all_reduce"), "{text}");
    assert!(text.contains("tensor<32x8xf32>"), "{text}");
}

#[test]
fn a_pjrt_program_compiles_what_it_partitions() {
    if !has("cmake") || !has("g++") {
        return;
    }
    let header = match Workspace::find().and_then(|workspace| pjrt_header::folder(&workspace)) {
        Ok(folder) => folder,
        Err(error) => return skip(Need::Cxx, &format!("the header of PJRT is missing: {error:#}")),
    };
    let Ok(plugin) = plugin::find(PluginKind::Cpu, &Environment::from_process()) else {
        return skip(Need::CpuPlugin, "XLA's CPU plugin is not installed");
    };
    let prefix = installed();
    let build =
        examples(prefix.path(), &[format!("-DPJRT_INCLUDE={}", header.display()), NO_MLIR.to_owned()]);
    let step = prefix.path().join("step.mlir");
    fs::write(&step, STEP).unwrap();
    let mut example = Command::new(build.join("pjrt_compile"));
    let output =
        run(example.arg(plugin.path).arg(&step).args(["data=4,model=2", "arg0=-,data", "arg1=data,model"]));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("\"local_shape\""), "{text}");
    assert!(text.contains("compiled for 8 devices"), "{text}");
}
