//! `cargo xtask dist`: what people install who do not compile Rust.

mod machine;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use clap::Args;

use crate::{
    capi,
    files::{copy, write},
    process, wheel,
    workspace::{Workspace, cargo, which},
};
use machine::Machine;

/// The version of the files.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The size that the stripped program may have, in bytes.
const PROGRAM_LIMIT: u64 = 20_000_000;

/// The shells with a completion script, and the place of the script.
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "share/bash-completion/completions/shardc"),
    ("zsh", "share/zsh/site-functions/_shardc"),
    ("fish", "share/fish/vendor_completions.d/shardc.fish"),
];

/// The folder of the files, and the profile.
#[derive(Args)]
pub struct DistArgs {
    /// The folder of the files.
    #[arg(short, long, value_name = "DIR", default_value = "target/dist-files")]
    output: PathBuf,
    /// The profile of Cargo: `dist` is small and fast, and takes minutes to build.
    #[arg(long, default_value = "dist")]
    profile: String,
    /// Build for this machine too, such as `aarch64-unknown-linux-gnu`: needs `rustup target add` and a C compiler for it.
    #[arg(long, value_name = "TRIPLE")]
    target: Vec<String>,
    /// Do not build Python wheels.
    #[arg(long)]
    no_wheel: bool,
}

/// Builds the tarball, the Debian package and the wheel of each machine, the list of components and the checksums.
///
/// # Errors
/// A build fails, a tool is missing, or the program is too large.
pub fn run(workspace: &Workspace, args: &DistArgs) -> Result<()> {
    ensure!(
        which("dpkg-deb").is_some(),
        "`dpkg-deb` is not installed: the Debian package needs Debian's tools"
    );
    let output = workspace.root.join(&args.output);
    for folder in [&output, &workspace.scratch("dist")?] {
        if folder.exists() {
            fs::remove_dir_all(folder).with_context(|| format!("removing {}", folder.display()))?;
        }
        fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
    }
    let host = Machine::host()?;
    let shared = workspace.scratch("dist")?.join("shared");
    for (at, triple) in [&host.triple].into_iter().chain(&args.target).enumerate() {
        let machine = Machine::of(triple)?;
        let built = machine.build(workspace, &args.profile)?;
        if at == 0 {
            documentation(workspace, &built.join("shardc"), &shared)?;
        }
        let top = install(workspace, &machine, &built, &shared)?;
        let program = top.join("bin/shardc");
        check_size(&program, &args.profile)?;
        println!("{}\n{}", tarball(&top, &output)?.display(), debian(&machine, &top, &output)?.display());
        if !args.no_wheel {
            wheel::build(workspace, &output, &args.profile, &program, |maturin| machine.selects(maturin))?;
        }
    }
    println!("{}", components(workspace, &output)?.display());
    checksums(&output)
}

fn check_size(program: &Path, profile: &str) -> Result<()> {
    let size = fs::metadata(program).context("reading the program")?.len();
    println!("the program: {:.1} MB", size as f64 / 1e6);
    ensure!(
        profile != "dist" || size <= PROGRAM_LIMIT,
        "the program has {size} bytes, more than {PROGRAM_LIMIT}"
    );
    Ok(())
}

/// Writes what all machines have in `share`: completions, man pages, and documents.
fn documentation(workspace: &Workspace, program: &Path, top: &Path) -> Result<()> {
    for (shell, path) in COMPLETIONS {
        let script = process::output(Command::new(program).args(["completions", shell]))?;
        write(&top.join(path), &script)?;
    }
    let man = top.join("share/man/man1");
    fs::create_dir_all(&man).with_context(|| format!("making {}", man.display()))?;
    process::output(Command::new(program).args(["man", "--dir"]).arg(&man))?;
    for file in ["LICENSE", "README.md", "CHANGELOG.md"] {
        copy(&workspace.root.join(file), &top.join("share/doc/shardc").join(file))?;
    }
    Ok(())
}

/// Installs what is built for a machine and what all machines share, as below `/usr`; returns the folder.
fn install(workspace: &Workspace, machine: &Machine, built: &Path, shared: &Path) -> Result<PathBuf> {
    let name = format!("shardc-{VERSION}-{}", machine.triple);
    let top = workspace.scratch("dist")?.join(&machine.triple).join(name);
    capi::install(&workspace.root, built, &top)?;
    let program = top.join("bin/shardc");
    copy(&built.join("shardc"), &program)?;
    let lib = top.join("lib");
    machine.strip(&program)?;
    machine.strip(&lib.join(capi::library()))?;
    machine.strip_static(&lib.join("libshardc.a"))?;
    process::run(Command::new("cp").arg("-a").arg(shared.join("share")).arg(&top))?;
    Ok(top)
}

/// Packs an installation.
fn tarball(top: &Path, output: &Path) -> Result<PathBuf> {
    let name = top.file_name().context("the installation has no name")?.to_string_lossy();
    let file = output.join(format!("{name}.tar.gz"));
    let mut pack = Command::new("tar");
    pack.arg("-C").arg(top.with_file_name("")).arg("-czf").arg(&file).arg(&*name);
    process::run(&mut pack)?;
    Ok(file)
}

/// The Debian package of an installation.
fn debian(machine: &Machine, top: &Path, output: &Path) -> Result<PathBuf> {
    let architecture = machine.debian();
    let root = top.with_file_name("debian");
    fs::create_dir_all(root.join("DEBIAN")).context("making the folder of the Debian package")?;
    process::run(Command::new("cp").arg("-a").arg(top).arg(root.join("usr")))?;
    write(
        &root.join("DEBIAN/control"),
        &format!(
            "Package: shardc\nVersion: {VERSION}\nArchitecture: {architecture}\nSection: devel\nPriority: optional\n\
             Depends: libc6 (>= 2.34), libgcc-s1\nMaintainer: The shardc authors\n\
             Description: SPMD sharding compiler for StableHLO\n Partitions programs for several devices, explains every \
             collective, and plans\n memory and time without a device. With the C library.\n"
        ),
    )?;
    let file = output.join(format!("shardc_{VERSION}_{architecture}.deb"));
    process::run(Command::new("dpkg-deb").args(["--build", "--root-owner-group"]).arg(&root).arg(&file))?;
    Ok(file)
}

/// The components of the program with their versions and licenses, in CycloneDX's form.
fn components(workspace: &Workspace, output: &Path) -> Result<PathBuf> {
    let mut tree = cargo();
    tree.current_dir(&workspace.root).args([
        "tree",
        "--package",
        "shardc-cli",
        "--edges",
        "normal",
        "--prefix",
        "none",
    ]);
    let shown = process::output(tree.args(["--no-dedupe", "--format", "{p}\t{l}"]))?;
    let mut lines: Vec<&str> = shown.lines().collect();
    lines.sort_unstable();
    lines.dedup();
    let components: Vec<_> = lines.into_iter().filter_map(component).collect();
    ensure!(components.len() > 50, "only {} components were found", components.len());
    let document = serde_json::json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": { "component": { "type": "application", "name": "shardc", "version": VERSION } },
        "components": components,
    });
    let file = output.join(format!("shardc-{VERSION}.cdx.json"));
    write(&file, &format!("{document:#}\n"))?;
    Ok(file)
}

/// A component, from a line of `cargo tree`: `serde v1.0.0<TAB>MIT OR Apache-2.0`.
fn component(line: &str) -> Option<serde_json::Value> {
    let (package, license) = line.split_once('\t')?;
    let mut words = package.split(' ');
    let (name, version) = (words.next()?, words.next()?.strip_prefix('v')?);
    Some(serde_json::json!({
        "type": "library",
        "name": name,
        "version": version,
        "purl": format!("pkg:cargo/{name}@{version}"),
        "licenses": [{ "expression": license }],
    }))
}

/// The checksums of all files, for `sha256sum --check`.
fn checksums(output: &Path) -> Result<()> {
    let mut names: Vec<_> = fs::read_dir(output)
        .with_context(|| format!("reading {}", output.display()))?
        .filter_map(|entry| Some(entry.ok()?.file_name()))
        .collect();
    names.sort();
    let sums = process::output(Command::new("sha256sum").current_dir(output).args(names))?;
    print!("{sums}");
    write(&output.join("SHA256SUMS"), &sums)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_have_a_name_a_version_and_a_license() {
        let found = component("serde v1.0.229\tMIT OR Apache-2.0").unwrap();
        assert_eq!(found["purl"], "pkg:cargo/serde@1.0.229");
        assert_eq!(found["licenses"][0]["expression"], "MIT OR Apache-2.0");
        let own = component("shardc v0.1.0 (/src/crates/shardc)\tApache-2.0").unwrap();
        assert_eq!(own["version"], "0.1.0");
        assert!(component("[build-dependencies]").is_none());
    }
}
