//! `cargo xtask book`: the documentation as an mdBook, and the check of its pages and links.

mod check;
mod links;
mod page;

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;

use crate::workspace::Workspace;

pub use check::faults;

/// The folder of the book's sources, in the workspace.
const SOURCES: &str = "docs";

/// The folder of the HTML pages, in the workspace: `build-dir` of `docs/book.toml`.
const PAGES: &str = "target/book";

/// Build or check.
#[derive(Args)]
pub struct BookArgs {
    /// Only check that every page is in docs/SUMMARY.md and that no link is broken; needs no mdBook.
    #[arg(long)]
    check: bool,
    /// Act as a preprocessor of mdBook.
    #[arg(long, hide = true, num_args = 0.., conflicts_with = "check")]
    preprocess: Option<Vec<String>>,
}

/// Checks the book, and builds it.
pub fn run(workspace: &Workspace, args: &BookArgs) -> Result<()> {
    if let Some(request) = &args.preprocess {
        return preprocess(&workspace.root, request);
    }
    let found = faults(&workspace.root)?;
    ensure!(found.is_empty(), "the book has {} faults:\n{}", found.len(), found.join("\n"));
    if args.check {
        println!("every page is in {SOURCES}/SUMMARY.md, and no link is broken");
        return Ok(());
    }
    ensure!(build(&workspace.root)?.success(), "mdbook failed");
    println!("the book: {}", workspace.root.join(PAGES).join("index.html").display());
    Ok(())
}

fn build(root: &Path) -> Result<ExitStatus> {
    match Command::new("mdbook").arg("build").arg(root.join(SOURCES)).status() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            bail!("mdBook is not installed: cargo install mdbook --locked")
        }
        status => status.context("cannot run mdbook"),
    }
}

/// Answers mdBook's question whether an output format is supported, or rewrites the links of a book between standard input and output.
fn preprocess(root: &Path, request: &[String]) -> Result<()> {
    if request.first().is_some_and(|word| word == "supports") {
        return Ok(());
    }
    let (_, mut book): (serde_json::Value, serde_json::Value) =
        serde_json::from_reader(std::io::stdin().lock()).context("mdBook's input")?;
    links::rewrite(&mut book, &repository(root)?);
    serde_json::to_writer(std::io::stdout().lock(), &book)?;
    std::io::stdout().flush()?;
    Ok(())
}

/// The address of the repository, from the workspace's manifest.
fn repository(root: &Path) -> Result<String> {
    let manifest = root.join("Cargo.toml");
    let output = Command::new("cargo")
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1", "--manifest-path"])
        .arg(manifest)
        .stderr(Stdio::inherit())
        .output()
        .context("cannot run cargo metadata")?;
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).context("cargo metadata")?;
    let address =
        metadata["packages"][0]["repository"].as_str().context("the workspace has no repository")?;
    Ok(address.to_owned())
}
