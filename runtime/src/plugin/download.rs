//! Downloads of files from a Python package index.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::path::Path;
use std::time::Duration;

use serde::Deserialize;
use sha2::{Digest, Sha256};
use ureq::tls::{RootCerts, TlsConfig};

use super::Environment;
use super::digest;
use super::pins::Wheel;
use super::progress::InstallProgress;
use crate::error::{Result, RuntimeError};

/// The URL of the package index, unless the variable `PIP_INDEX_URL` names another index.
const INDEX: &str = "https://pypi.org/simple";

/// Limits of a download.
pub(super) struct Bounds {
    /// Maximum bytes of an index page, which lists every release of a project.
    page: u64,
    /// Maximum bytes of a wheel.
    wheel: u64,
    /// The time limit for establishing a connection.
    connect: Duration,
    /// Maximum time without data from the server.
    idle: Duration,
    /// The time limit for the download of a page or a wheel.
    total: Duration,
}

/// Limits far larger than pinned packages and their index pages, but too small to fill a disk.
pub(super) const BOUNDS: Bounds = Bounds {
    page: 64 << 20,
    wheel: 1 << 30,
    connect: Duration::from_secs(30),
    idle: Duration::from_secs(60),
    total: Duration::from_secs(60 * 60),
};

/// Downloads a pinned wheel and compares its hash with the pinned hash. An interrupted download is resumed from its partial file.
pub(super) fn download(
    pin: &Wheel,
    environment: &Environment,
    to: &Path,
    bounds: &Bounds,
    progress: &mut dyn FnMut(InstallProgress),
) -> Result<()> {
    let fail = |reason: String| RuntimeError::Install { package: pin.package(), reason };
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .timeout_connect(Some(bounds.connect))
        .timeout_per_read(Some(bounds.idle))
        .timeout_global(Some(bounds.total))
        .http_status_as_error(false)
        // Uses the system's root certificates, because a proxy of a company may have its own.
        .tls_config(TlsConfig::builder().root_certs(RootCerts::PlatformVerifier).build())
        .build()
        .into();
    let refused = |url: &str, status: ureq::http::StatusCode| {
        fail(format!("{url}: the server responded with status {status}"))
    };
    let index = environment.variable("PIP_INDEX_URL").and_then(|url| url.to_str()).unwrap_or(INDEX);
    let page_url = format!("{}/{}/", index.trim_end_matches('/'), pin.project);
    progress(InstallProgress::Looking { url: page_url.clone() });
    let mut page = agent
        .get(&page_url)
        .header("Accept", "application/vnd.pypi.simple.v1+json, text/html;q=0.5")
        .call()
        .map_err(|e| fail(format!("{page_url}: {e}")))?;
    if !page.status().is_success() {
        return Err(refused(&page_url, page.status()));
    }
    let page = page.body_mut().with_config().limit(bounds.page).read_to_string();
    let page = page.map_err(|e| fail(format!("{page_url}: {e}")))?;
    let link =
        find_link(&page, pin.file).ok_or_else(|| fail(format!("{page_url} does not list {}", pin.file)))?;
    let url = join_url(&page_url, &link);

    let have = to.metadata().map_or(0, |file| file.len());
    let mut request = agent.get(&url);
    if have > 0 {
        request = request.header("Range", format!("bytes={have}-"));
    }
    let response = request.call().map_err(|e| fail(format!("{url}: {e}")))?;
    const PARTIAL: u16 = 206;
    const NOTHING_MORE: u16 = 416;
    let status = response.status();
    let (mut hash, mut received) = (Sha256::new(), 0);
    match status.as_u16() {
        PARTIAL if have > 0 => received = hash_file(to, &mut hash)?,
        NOTHING_MORE if have > 0 => {
            hash_file(to, &mut hash)?;
            return compare(pin, to, hash);
        }
        _ if status.is_success() => drop(File::create(to).map_err(RuntimeError::io(to))?),
        _ => return Err(refused(&url, status)),
    }
    let rest = response
        .headers()
        .get("content-length")
        .and_then(|length| length.to_str().ok())
        .and_then(|length| length.parse::<u64>().ok());
    let total = rest.and_then(|rest| rest.checked_add(received));
    let too_large = || fail(format!("{url}: the file is larger than {} bytes", bounds.wheel));
    if total.is_some_and(|total| total > bounds.wheel) {
        return Err(too_large());
    }
    let mut body = response.into_body().into_reader();
    let mut file = OpenOptions::new().append(true).open(to).map_err(RuntimeError::io(to))?;
    let mut reported = 0u64;
    let mut chunk = vec![0u8; 1 << 16];
    loop {
        let size = body.read(&mut chunk).map_err(|e| fail(format!("{url}: {e}")))?;
        let Some(data) = chunk.get(..size).filter(|data| !data.is_empty()) else { break };
        hash.update(data);
        file.write_all(data).map_err(RuntimeError::io(to))?;
        received += size as u64;
        if received > bounds.wheel {
            // The partial file is larger than any pinned file, so a later attempt could not resume it.
            let _ = fs::remove_file(to);
            return Err(too_large());
        }
        if reported == 0 || received - reported >= 1 << 20 || total == Some(received) {
            reported = received;
            progress(InstallProgress::Downloading { file: pin.file.to_owned(), received, total });
        }
    }
    file.sync_all().map_err(RuntimeError::io(to))?;
    compare(pin, to, hash)
}

/// Adds the content of a file to a hash; returns the length of the file in bytes.
fn hash_file(path: &Path, hash: &mut Sha256) -> Result<u64> {
    let mut file = File::open(path).map_err(RuntimeError::io(path))?;
    let (mut length, mut chunk) = (0, vec![0u8; 1 << 20]);
    loop {
        let size = file.read(&mut chunk).map_err(RuntimeError::io(path))?;
        let Some(data) = chunk.get(..size).filter(|data| !data.is_empty()) else { return Ok(length) };
        hash.update(data);
        length += size as u64;
    }
}

/// Compares the hash of a downloaded file with the pinned hash. If they differ, the file is removed.
fn compare(pin: &Wheel, path: &Path, hash: Sha256) -> Result<()> {
    let got = digest::hex(hash);
    if got == pin.sha256 {
        return Ok(());
    }
    let _ = fs::remove_file(path);
    Err(RuntimeError::Digest { package: pin.file.to_owned(), expected: pin.sha256.to_owned(), got })
}

/// A project page of the package index in JSON (PEP 691).
#[derive(Deserialize)]
struct Page {
    files: Vec<PageFile>,
}

#[derive(Deserialize)]
struct PageFile {
    filename: String,
    url: String,
}

/// Returns the address of a file from an index page in JSON or HTML; `None` if the page does not list the file.
fn find_link(page: &str, file: &str) -> Option<String> {
    if let Ok(page) = serde_json::from_str::<Page>(page) {
        return page.files.into_iter().find(|entry| entry.filename == file).map(|entry| entry.url);
    }
    // In HTML (PEP 503), each file is an anchor whose address ends with the file's name, before a fragment.
    page.split("href=").skip(1).find_map(|rest| {
        let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        let address = rest[1..].split(quote).next()?.replace("&amp;", "&");
        let plain = address.split(['#', '?']).next()?;
        (plain.rsplit('/').next()? == file).then(|| plain.to_owned())
    })
}

/// Resolves a link on a page to an absolute address.
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
    // Relative links start from the folder of the page, so the last component of the page's path is removed.
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

    /// Starts a server of a package index and its files on this machine. `respond` writes the response to a request for a path.
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

    const PIN: Wheel = Wheel {
        project: "pkg",
        version: "1",
        file: "pkg-1.whl",
        size: 10,
        // No file of the tests has this digest, so the comparison fails.
        sha256: "0000000000000000000000000000000000000000000000000000000000000000",
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
        // The server responds with and without a Content-Length header.
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
    fn silent_server_times_out() {
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

    /// A pinned wheel with the content `0123456789`.
    const DIGITS: Wheel =
        Wheel { sha256: "84d89877f0d4041efb6bf91a16f0248f2fd573e6af05c19f96bedb9f882f7882", ..PIN };

    /// Starts a server of the file [`DIGITS`]. If `ranges` is true, the server supports requests for the rest of a file; otherwise it
    /// always sends the full file.
    fn serve_digits(ranges: bool) -> Environment {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { break };
                let mut reader = BufReader::new(stream.try_clone().unwrap());
                let (mut head, mut line) = (String::new(), String::new());
                while reader.read_line(&mut line).is_ok_and(|n| n > 2) {
                    head.push_str(&line.to_lowercase());
                    line.clear();
                }
                let from = head.split_once("range: bytes=").map(|(_, rest)| rest.split('-').next().unwrap());
                let from = from.filter(|_| ranges).map(|from| from.parse::<usize>().unwrap());
                let body: &[u8] = if head.contains("/simple/pkg/") { PAGE } else { b"0123456789" };
                let (status, body) = match from {
                    None => ("200 OK", body),
                    Some(from) if from >= body.len() => ("416 Range Not Satisfiable", &body[..0]),
                    Some(from) => ("206 Partial Content", &body[from..]),
                };
                let length = body.len();
                let head =
                    format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
                let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body));
            }
        });
        Environment::default().with_variable("PIP_INDEX_URL", format!("http://{address}/simple"))
    }

    #[test]
    fn interrupted_download_resumes() {
        let directory = tempfile::tempdir().unwrap();
        let part = directory.path().join("part");
        for (ranges, begun, sent) in [
            (true, "", 10),
            (true, "0123", 10),
            (true, "0123456789", 0),
            (false, "0123", 10),
            (false, "x", 10),
        ] {
            std::fs::write(&part, begun).unwrap();
            let mut last = 0;
            let mut progress = |step| {
                if let InstallProgress::Downloading { received, total, .. } = step {
                    assert_eq!(total, Some(10));
                    last = received;
                }
            };
            download(&DIGITS, &serve_digits(ranges), &part, &TIGHT, &mut progress).unwrap();
            assert_eq!(std::fs::read_to_string(&part).unwrap(), "0123456789");
            assert_eq!(last, sent, "{begun}");
        }
        // The partial file belongs to another file: it is removed, and the next attempt starts from the beginning.
        std::fs::write(&part, "wrong").unwrap();
        let error = download(&DIGITS, &serve_digits(true), &part, &TIGHT, &mut |_| {}).unwrap_err();
        assert_eq!((error.code(), part.exists()), ("RT0106", false));
        download(&DIGITS, &serve_digits(true), &part, &TIGHT, &mut |_| {}).unwrap();
    }
}
