//! `cargo xtask capi`: the C library with its headers, for pkg-config and CMake.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;

use crate::{
    files::{copy, write},
    process,
    workspace::{Workspace, cargo},
};

/// The version of the library, of which the first number names the interface.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The libraries that a static `libshardc.a` needs on Linux, as `rustc --print native-static-libs` lists them.
const NEEDED: &str = "-lgcc_s -lutil -lrt -lpthread -lm -ldl -lc";

/// The place of the library, and its profile.
#[derive(Args)]
pub struct CapiArgs {
    /// The folder into which `include` and `lib` are installed.
    #[arg(long, value_name = "DIR", default_value = "target/capi")]
    prefix: PathBuf,
    /// The profile of Cargo: `dist` is small and fast, and takes minutes to build.
    #[arg(long, default_value = "dist")]
    profile: String,
}

/// Builds and installs the library.
///
/// # Errors
/// The build fails, or a file cannot be written.
pub fn run(workspace: &Workspace, args: &CapiArgs) -> Result<()> {
    process::step("build the library", || {
        process::run(cargo().current_dir(&workspace.root).args([
            "build",
            "--package",
            "shardc-capi",
            "--profile",
            &args.profile,
        ]))
    })?;
    let prefix = workspace.root.join(&args.prefix);
    install(&workspace.root, &workspace.built(&args.profile), &prefix)?;
    println!("installed in {}; see docs/CAPI.md", prefix.display());
    Ok(())
}

/// Installs the libraries of the folder `built`, the headers, and the files of pkg-config and CMake.
///
/// # Errors
/// A file cannot be written.
pub fn install(root: &Path, built: &Path, prefix: &Path) -> Result<()> {
    let include = root.join("crates/capi/include");
    copy(&include.join("shardc.h"), &prefix.join("include/shardc.h"))?;
    copy(&include.join("shardc.hpp"), &prefix.join("include/shardc.hpp"))?;
    let lib = prefix.join("lib");
    copy(&built.join("libshardc_capi.a"), &lib.join("libshardc.a"))?;
    let file = library();
    copy(&built.join("libshardc_capi.so"), &lib.join(&file))?;
    let named = format!("libshardc.so.{}", major());
    link(&file, &lib.join(&named))?;
    link(&named, &lib.join("libshardc.so"))?;
    write(&lib.join("pkgconfig/shardc.pc"), &pkg_config())?;
    write(&lib.join("cmake/shardc/shardcConfig.cmake"), &cmake())?;
    write(&lib.join("cmake/shardc/shardcConfigVersion.cmake"), &cmake_version())
}

/// The file of the shared library.
pub(crate) fn library() -> String {
    format!("libshardc.so.{VERSION}")
}

fn major() -> &'static str {
    VERSION.split('.').next().unwrap_or(VERSION)
}

fn pkg_config() -> String {
    format!(
        "prefix=${{pcfiledir}}/../..\n\
         includedir=${{prefix}}/include\n\
         libdir=${{prefix}}/lib\n\n\
         Name: shardc\n\
         Description: SPMD sharding compiler for StableHLO\n\
         Version: {VERSION}\n\
         Cflags: -I${{includedir}}\n\
         Libs: -L${{libdir}} -lshardc\n\
         Libs.private: {NEEDED}\n"
    )
}

/// The targets `shardc::shardc`, which is shared, and `shardc::static`.
fn cmake() -> String {
    let needed = NEEDED.replace(' ', ";");
    let shared = format!("libshardc.so.{VERSION}");
    let target = |name: &str, kind: &str, file: &str| {
        format!(
            "if(NOT TARGET shardc::{name})\n  add_library(shardc::{name} {kind} IMPORTED)\n  \
             set_target_properties(shardc::{name} PROPERTIES\n    \
             IMPORTED_LOCATION \"${{_shardc_prefix}}/lib/{file}\"\n    \
             INTERFACE_INCLUDE_DIRECTORIES \"${{_shardc_prefix}}/include\")\nendif()\n"
        )
    };
    format!(
        "get_filename_component(_shardc_prefix \"${{CMAKE_CURRENT_LIST_DIR}}/../../..\" ABSOLUTE)\n{}\
         set_target_properties(shardc::shardc PROPERTIES IMPORTED_SONAME \"libshardc.so.{}\")\n{}\
         set_target_properties(shardc::static PROPERTIES INTERFACE_LINK_LIBRARIES \"{needed}\")\n",
        target("shardc", "SHARED", &shared),
        major(),
        target("static", "STATIC", "libshardc.a"),
    )
}

/// A version of the interface is compatible with requests for the same first number.
fn cmake_version() -> String {
    format!(
        "set(PACKAGE_VERSION \"{VERSION}\")\n\
         if(PACKAGE_FIND_VERSION_MAJOR EQUAL {} AND NOT PACKAGE_FIND_VERSION VERSION_GREATER PACKAGE_VERSION)\n  \
         set(PACKAGE_VERSION_COMPATIBLE TRUE)\nendif()\n\
         if(PACKAGE_FIND_VERSION VERSION_EQUAL PACKAGE_VERSION)\n  set(PACKAGE_VERSION_EXACT TRUE)\nendif()\n",
        major()
    )
}

fn link(target: &str, link: &Path) -> Result<()> {
    if link.is_symlink() {
        fs::remove_file(link).with_context(|| format!("removing {}", link.display()))?;
    }
    std::os::unix::fs::symlink(target, link).with_context(|| format!("linking {}", link.display()))
}
