//! A local S3 server, provided by the Python package moto. It is reachable only from this machine.

#![allow(dead_code, reason = "each test uses some of it")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use shardc_filetest::skip::{Need, skip};

/// A Python script that starts the server on a free port and prints the port. The server ends when the script's standard input is
/// closed.
const SERVER: &str = "
import sys
from moto.moto_server.threaded_moto_server import ThreadedMotoServer
server = ThreadedMotoServer(ip_address='127.0.0.1', port=0)
server.start()
print(server.get_host_and_port()[1], flush=True)
sys.stdin.read()
";

/// A server process. The process exits when this value is dropped, or when the test process exits.
pub(crate) struct Server {
    child: Child,
    /// The port on which the server listens.
    pub(crate) port: u16,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    /// The URL of the bucket that every server has at the start.
    pub(crate) const BUCKET: &str = "s3://bucket";

    /// Starts a server with an empty bucket. If a dependency is missing, prints a message and returns `None`.
    pub(crate) fn start() -> Option<Server> {
        if !cfg!(feature = "s3") {
            skip(Need::Python, "S3 stores are not built in (`--features s3`)");
            return None;
        }
        let Some(python) = std::env::var_os("SHARDC_PYTHON") else {
            skip(Need::Python, "SHARDC_PYTHON names no Python with moto[server]");
            return None;
        };
        let mut child = Command::new(python)
            .args(["-c", SERVER])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("Python starts");
        // The server prints a greeting before its port.
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let port = lines.map_while(Result::ok).find_map(|line| line.trim().parse::<u16>().ok());
        let server = Server { child, port: port.expect("the server prints its port") };
        // Creates the bucket: moto accepts a request without a signature.
        let mut stream = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
        let request = "PUT /bucket HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nConnection: close\r\n\
             Authorization: AWS4-HMAC-SHA256 Credential=k/20260101/us-east-1/s3/aws4_request\r\n\r\n";
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        Some(server)
    }
}

/// Returns the store options for a server on this port. In upper case, the keys are the names of environment variables with the same
/// effect.
pub(crate) fn options(port: u16) -> Vec<(String, String)> {
    let endpoint = format!("http://127.0.0.1:{port}");
    let options = [
        ("aws_endpoint", &*endpoint),
        ("aws_allow_http", "true"),
        ("aws_region", "us-east-1"),
        ("aws_access_key_id", "k"),
        ("aws_secret_access_key", "s"),
    ];
    options.map(|(key, value)| (key.to_owned(), value.to_owned())).to_vec()
}
