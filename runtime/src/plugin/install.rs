//! Fetching pinned plugins from a Python package index.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::Path;
use std::time::Duration;

use serde::Deserialize;
use sha2::{Digest, Sha256};
use ureq::tls::{RootCerts, TlsConfig};

use super::digest;
use super::find::cached;
use super::pins::Pin;
use super::{Environment, FoundPlugin, PluginKind};
use crate::error::{Result, RuntimeError};
use crate::scratch::Scratch;

/// The index where `PIP_INDEX_URL` names no other.
const INDEX: &str = "https://pypi.org/simple";

/// What a download may take.
struct Bounds {
    /// Bytes of an index page, which lists every release of a project.
    page: u64,
    /// Bytes of a wheel.
    wheel: u64,
    /// How long until there is a connection.
    connect: Duration,
    /// How long the server may send nothing.
    idle: Duration,
    /// How long a page or a wheel may take.
    total: Duration,
}

/// Far above what pinned projects and their index pages have, and below what would fill a disk.
const BOUNDS: Bounds = Bounds {
    page: 64 << 20,
    wheel: 1 << 30,
    connect: Duration::from_secs(30),
    idle: Duration::from_secs(60),
    total: Duration::from_secs(60 * 60),
};

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
/// must have the pinned SHA-256. It is refused where it is larger than a gigabyte, where the server sends nothing for a
/// minute, and after an hour. The plugin appears in the cache whole or not at all, and two processes that install
/// at once do not disturb each other. A plugin that was installed before and was damaged since is installed anew.
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
        match digest::check(&found.path) {
            Ok(()) => {
                progress(InstallProgress::AlreadyInstalled);
                return Ok(found);
            }
            Err(RuntimeError::Damaged { .. }) => {
                let damaged = pin.directory(&cache);
                fs::remove_dir_all(&damaged).map_err(RuntimeError::io(&damaged))?;
            }
            Err(error) => return Err(error),
        }
    }
    fs::create_dir_all(&cache).map_err(RuntimeError::io(&cache))?;
    // In the cache itself, so that the final rename stays on one file system.
    let work = Scratch::new(|| tempfile::Builder::new().prefix(".installing-").tempdir_in(&cache))
        .map_err(RuntimeError::io(&cache))?;
    let wheel = work.path().join("wheel");
    download(&pin, environment, &wheel, &BOUNDS, progress)?;
    progress(InstallProgress::Unpacking);
    let ready = work.path().join("ready");
    fs::create_dir(&ready).map_err(RuntimeError::io(&ready))?;
    let unpacked = ready.join(pin.file_name());
    unpack(&pin, &wheel, &unpacked)?;
    digest::record(&unpacked)?;
    let target = pin.directory(&cache);
    // A directory takes another's place only if that one is empty: where another process was faster, its plugin is
    // as good as ours.
    match (fs::rename(&ready, &target), cached(kind, &cache)) {
        (_, Some(found)) => {
            progress(InstallProgress::Installed);
            Ok(found)
        }
        (Err(error), None) => Err(RuntimeError::io(&target)(error)),
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
    bounds: &Bounds,
    progress: &mut dyn FnMut(InstallProgress),
) -> Result<()> {
    let fail = |reason: String| RuntimeError::Install { package: package(pin), reason };
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .timeout_connect(Some(bounds.connect))
        .timeout_per_read(Some(bounds.idle))
        .timeout_global(Some(bounds.total))
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
        .and_then(|mut response| response.body_mut().with_config().limit(bounds.page).read_to_string())
        .map_err(|e| fail(format!("{page_url}: {e}")))?;
    let link =
        find_link(&page, pin.file).ok_or_else(|| fail(format!("{page_url} does not list {}", pin.file)))?;
    let url = join_url(&page_url, &link);

    let response = agent.get(&url).call().map_err(|e| fail(format!("{url}: {e}")))?;
    let total = response
        .headers()
        .get("content-length")
        .and_then(|length| length.to_str().ok())
        .and_then(|length| length.parse::<u64>().ok());
    let too_large = || fail(format!("{url}: the file is larger than {} bytes", bounds.wheel));
    if total.is_some_and(|total| total > bounds.wheel) {
        return Err(too_large());
    }
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
        if received > bounds.wheel {
            return Err(too_large());
        }
        if received == size as u64 || received - reported >= 1 << 20 || total == Some(received) {
            reported = received;
            progress(InstallProgress::Downloading { file: pin.file.to_owned(), received, total });
        }
    }
    file.sync_all().map_err(RuntimeError::io(to))?;
    let got = digest::hex(hash);
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
    use std::io::{BufRead, BufReader};
    use std::net::{TcpListener, TcpStream};

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

    /// An index and its files on this machine: `respond` writes the answer to a request for a path.
    fn serve(respond: impl Fn(&str, &mut TcpStream) + Send + 'static) -> Environment {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { break };
                let mut request = String::new();
                let mut reader = BufReader::new(stream.try_clone().unwrap());
                let mut line = String::new();
                while reader.read_line(&mut line).is_ok_and(|n| n > 2) {
                    request.push_str(&line);
                    line.clear();
                }
                let path = request.split(' ').nth(1).unwrap_or_default().to_owned();
                respond(&path, &mut stream);
            }
        });
        Environment::default().with_variable("PIP_INDEX_URL", format!("http://{address}/simple"))
    }

    fn answer(stream: &mut TcpStream, body: &[u8]) {
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
        let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body));
    }

    const PIN: Pin = Pin {
        kind: PluginKind::Cpu,
        platform: ("", ""),
        project: "pkg",
        version: "1",
        file: "pkg-1.whl",
        // The digest of no file that the tests serve.
        sha256: "0000000000000000000000000000000000000000000000000000000000000000",
        member: "x.so",
    };
    const PAGE: &[u8] = b"<a href='/files/pkg-1.whl'>x</a>";

    fn fetch(bounds: &Bounds, respond: impl Fn(&str, &mut TcpStream) + Send + 'static) -> RuntimeError {
        let directory = tempfile::tempdir().unwrap();
        let environment = serve(respond);
        download(&PIN, &environment, &directory.path().join("wheel"), bounds, &mut |_| {}).unwrap_err()
    }

    const TIGHT: Bounds = Bounds {
        page: 1000,
        wheel: 1000,
        connect: Duration::from_secs(5),
        idle: Duration::from_millis(300),
        total: Duration::from_secs(20),
    };

    #[test]
    fn damaged_files_are_refused() {
        let error = fetch(&TIGHT, |path, stream| match path {
            "/simple/pkg/" => answer(stream, PAGE),
            _ => answer(stream, b"something else"),
        });
        assert_eq!(error.code(), "RT0106");
    }

    #[test]
    fn files_that_are_too_large_are_refused() {
        // Whether the server says so or not.
        let error = fetch(&TIGHT, |path, stream| match path {
            "/simple/pkg/" => answer(stream, PAGE),
            _ => answer(stream, &[0; 1001]),
        });
        assert!(error.to_string().contains("larger than 1000 bytes"), "{error}");
        let error = fetch(&TIGHT, |path, stream| match path {
            "/simple/pkg/" => answer(stream, PAGE),
            _ => {
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n");
                while stream.write_all(&[0; 4096]).is_ok() {}
            }
        });
        assert!(error.to_string().contains("larger than 1000 bytes"), "{error}");
        let error = fetch(&TIGHT, |_, stream| answer(stream, &[b' '; 2000]));
        assert_eq!(error.code(), "RT0105");
    }

    #[test]
    fn a_server_that_sends_nothing_is_not_waited_for() {
        let started = std::time::Instant::now();
        for stuck in ["/simple/pkg/", "/files/pkg-1.whl"] {
            let error = fetch(&TIGHT, move |path, stream| {
                if path != stuck {
                    return answer(stream, PAGE);
                }
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n12345");
                std::thread::sleep(Duration::from_secs(15));
            });
            assert!(error.to_string().contains("timeout"), "{error}");
        }
        assert!(started.elapsed() < Duration::from_secs(10));
    }

    #[test]
    fn what_is_not_pinned_cannot_be_installed() {
        let error = install(PluginKind::Cuda, &Environment::default(), &mut |_| {}).unwrap_err();
        assert_eq!(error.code(), "RT0104");
    }
}
