//! Fetching pinned plugins from a Python package index.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::Path;
use std::time::Duration;

use serde::Deserialize;
use sha2::{Digest, Sha256};
use ureq::tls::{RootCerts, TlsConfig};

use super::find::cached;
use super::pins::Pin;
use super::{Environment, FoundPlugin, PluginKind};
use crate::error::{Result, RuntimeError};
use crate::scratch::Scratch;

/// The index where `PIP_INDEX_URL` names no other.
const INDEX: &str = "https://pypi.org/simple";
/// An index page lists every release of a project; this is far above any.
const LARGEST_PAGE: u64 = 64 << 20;

/// How far an installation is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InstallProgress {
    /// The plugin was there already.
    AlreadyInstalled,
    /// Asking the index for the file.
    Looking {
        /// The index page.
        url: String,
    },
    /// Fetching the file; reported again as it grows.
    Downloading {
        /// The file.
        file: String,
        /// Bytes so far.
        received: u64,
        /// Bytes in all, where the server says.
        total: Option<u64>,
    },
    /// Taking the plugin out of the file.
    Unpacking,
    /// Done.
    Installed,
}

/// Installs the pinned plugin of a kind into shardc's cache, unless it is there.
///
/// The file comes from the package index (PyPI's simple API, JSON or HTML; `PIP_INDEX_URL` names another index) and
/// must have the pinned SHA-256. The plugin appears in the cache whole or not at all, and two processes that install
/// at once do not disturb each other.
///
/// # Errors
///
/// There is no pinned plugin for this machine, no cache directory, no network, or the file is not the pinned one.
pub fn install(
    kind: PluginKind,
    environment: &Environment,
    progress: &mut dyn FnMut(InstallProgress),
) -> Result<FoundPlugin> {
    let pin = Pin::of(kind).ok_or_else(|| RuntimeError::NotInstallable {
        kind: kind.to_string(),
        platform: format!("{}-{}", std::env::consts::OS, std::env::consts::ARCH),
    })?;
    let cache = environment.plugin_cache().ok_or_else(|| {
        RuntimeError::Argument(
            "no cache directory: neither XDG_CACHE_HOME nor a home directory is known".to_owned(),
        )
    })?;
    if let Some(found) = cached(kind, &cache) {
        progress(InstallProgress::AlreadyInstalled);
        return Ok(found);
    }
    fs::create_dir_all(&cache).map_err(RuntimeError::io(&cache))?;
    // In the cache itself, so that the final rename stays on one file system.
    let work = Scratch::new(|| tempfile::Builder::new().prefix(".installing-").tempdir_in(&cache))
        .map_err(RuntimeError::io(&cache))?;
    let wheel = work.path().join("wheel");
    download(&pin, environment, &wheel, progress)?;
    progress(InstallProgress::Unpacking);
    let ready = work.path().join("ready");
    fs::create_dir(&ready).map_err(RuntimeError::io(&ready))?;
    unpack(&pin, &wheel, &ready.join(pin.file_name()))?;
    let target = pin.directory(&cache);
    // A directory takes another's place only if that one is empty: where another process was faster, its plugin is
    // as good as ours.
    match (fs::rename(&ready, &target), cached(kind, &cache)) {
        (_, Some(found)) => {
            progress(InstallProgress::Installed);
            Ok(found)
        }
        (Err(error), None) => Err(RuntimeError::Io { path: target, source: error }),
        (Ok(()), None) => Err(RuntimeError::Install {
            package: package(&pin),
            reason: format!("{} vanished after it was written", target.display()),
        }),
    }
}

fn package(pin: &Pin) -> String {
    format!("{} {}", pin.project, pin.version)
}

/// Fetches the wheel and compares its hash.
fn download(
    pin: &Pin,
    environment: &Environment,
    to: &Path,
    progress: &mut dyn FnMut(InstallProgress),
) -> Result<()> {
    let fail = |reason: String| RuntimeError::Install { package: package(pin), reason };
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .timeout_connect(Some(Duration::from_secs(30)))
        // The system's certificates, as a user behind a company's proxy needs them.
        .tls_config(TlsConfig::builder().root_certs(RootCerts::PlatformVerifier).build())
        .build()
        .into();
    let index = environment.variable("PIP_INDEX_URL").and_then(|url| url.to_str()).unwrap_or(INDEX);
    let page_url = format!("{}/{}/", index.trim_end_matches('/'), pin.project);
    progress(InstallProgress::Looking { url: page_url.clone() });
    let page = agent
        .get(&page_url)
        .header("Accept", "application/vnd.pypi.simple.v1+json, text/html;q=0.5")
        .call()
        .and_then(|mut response| response.body_mut().with_config().limit(LARGEST_PAGE).read_to_string())
        .map_err(|e| fail(format!("{page_url}: {e}")))?;
    let link =
        find_link(&page, pin.file).ok_or_else(|| fail(format!("{page_url} does not list {}", pin.file)))?;
    let url = join_url(&page_url, &link);

    let response = agent.get(&url).call().map_err(|e| fail(format!("{url}: {e}")))?;
    let total = response
        .headers()
        .get("content-length")
        .and_then(|length| length.to_str().ok())
        .and_then(|length| length.parse().ok());
    let mut body = response.into_body().into_reader();
    let mut file = File::create(to).map_err(RuntimeError::io(to))?;
    let mut hash = Sha256::new();
    let mut received = 0u64;
    let mut reported = 0u64;
    let mut chunk = vec![0u8; 1 << 16];
    loop {
        let size = body.read(&mut chunk).map_err(|e| fail(format!("{url}: {e}")))?;
        let Some(data) = chunk.get(..size).filter(|data| !data.is_empty()) else { break };
        hash.update(data);
        file.write_all(data).map_err(RuntimeError::io(to))?;
        received += size as u64;
        if received == size as u64 || received - reported >= 1 << 20 || total == Some(received) {
            reported = received;
            progress(InstallProgress::Downloading { file: pin.file.to_owned(), received, total });
        }
    }
    file.sync_all().map_err(RuntimeError::io(to))?;
    let got: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    if got != pin.sha256 {
        return Err(RuntimeError::Digest {
            package: pin.file.to_owned(),
            expected: pin.sha256.to_owned(),
            got,
        });
    }
    Ok(())
}

/// Takes the plugin out of the wheel, which is a zip file.
fn unpack(pin: &Pin, wheel: &Path, to: &Path) -> Result<()> {
    let fail = |reason: String| RuntimeError::Install { package: package(pin), reason };
    let file = File::open(wheel).map_err(RuntimeError::io(wheel))?;
    let mut archive = zip::ZipArchive::new(file).map_err(|e| fail(e.to_string()))?;
    let mut member = archive.by_name(pin.member).map_err(|e| fail(format!("{}: {e}", pin.member)))?;
    let mut out = File::create(to).map_err(RuntimeError::io(to))?;
    std::io::copy(&mut member, &mut out).map_err(RuntimeError::io(to))?;
    out.sync_all().map_err(RuntimeError::io(to))
}

/// A page of the index in its JSON form (PEP 691).
#[derive(Deserialize)]
struct Page {
    files: Vec<PageFile>,
}

#[derive(Deserialize)]
struct PageFile {
    filename: String,
    url: String,
}

/// The address of a file on an index page, JSON or HTML.
fn find_link(page: &str, file: &str) -> Option<String> {
    if let Ok(page) = serde_json::from_str::<Page>(page) {
        return page.files.into_iter().find(|entry| entry.filename == file).map(|entry| entry.url);
    }
    // In the HTML form (PEP 503) each file is an anchor whose address ends with the file's name, before a fragment.
    page.split("href=").skip(1).find_map(|rest| {
        let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        let address = rest[1..].split(quote).next()?.replace("&amp;", "&");
        let plain = address.split(['#', '?']).next()?;
        (plain.rsplit('/').next()? == file).then(|| plain.to_owned())
    })
}

/// The absolute address of a link on a page.
fn join_url(page: &str, link: &str) -> String {
    if link.contains("://") {
        return link.to_owned();
    }
    let (scheme, rest) = page.split_once("://").unwrap_or(("https", page));
    if let Some(rest) = link.strip_prefix("//") {
        return format!("{scheme}://{rest}");
    }
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    if link.starts_with('/') {
        return format!("{scheme}://{host}{link}");
    }
    // The last part of the page's path is the page itself.
    let mut parts: Vec<&str> = path.split('/').collect();
    parts.pop();
    for part in link.split('/') {
        match part {
            "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    format!("{scheme}://{host}/{}", parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_in_both_forms_of_the_index() {
        let html = r#"<a href="https://files.example/a/pkg-1.whl#sha256=00">x</a>
            <a href='../../b/pkg-2.whl' data-x="1">y</a>"#;
        assert_eq!(find_link(html, "pkg-1.whl").unwrap(), "https://files.example/a/pkg-1.whl");
        assert_eq!(find_link(html, "pkg-2.whl").unwrap(), "../../b/pkg-2.whl");
        assert_eq!(find_link(html, "kg-2.whl"), None);
        let json =
            r#"{"files": [{"filename": "pkg-1.whl", "url": "/p/pkg-1.whl", "hashes": {}}], "name": "pkg"}"#;
        assert_eq!(find_link(json, "pkg-1.whl").unwrap(), "/p/pkg-1.whl");
    }

    #[test]
    fn links_are_joined() {
        let page = "https://index.example/team/simple/pkg/";
        assert_eq!(join_url(page, "https://x.example/y"), "https://x.example/y");
        assert_eq!(join_url(page, "//x.example/y"), "https://x.example/y");
        assert_eq!(join_url(page, "/y"), "https://index.example/y");
        assert_eq!(join_url(page, "../../files/y"), "https://index.example/team/files/y");
        assert_eq!(join_url(page, "y"), "https://index.example/team/simple/pkg/y");
    }

    #[test]
    fn what_is_not_pinned_cannot_be_installed() {
        let error = install(PluginKind::Cuda, &Environment::default(), &mut |_| {}).unwrap_err();
        assert_eq!(error.code(), "RT0104");
    }
}
