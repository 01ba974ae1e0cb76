//! The same state in a local S3: moto's server, on this machine alone.
//!
//! `SHARDC_PYTHON` names a Python with `moto[server]`; the feature `s3` has to be on.

#![cfg(feature = "s3")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod common;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use common::{check, part, save_by, state_of, varied};
use shardc_checkpoint::{
    Alone, Checkpoint, CheckpointManager, Entry, Info, Keep, Options, Region, Store, Threads,
};
use shardc_filetest::skip::{Need, skip};

/// Starts the server on a free port, and says which.
const SERVER: &str = "
import sys
from moto.moto_server.threaded_moto_server import ThreadedMotoServer
server = ThreadedMotoServer(ip_address='127.0.0.1', port=0)
server.start()
print(server.get_host_and_port()[1], flush=True)
sys.stdin.read()
";

struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A server with a bucket, and its port.
fn server() -> Option<(Server, u16)> {
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
    // It greets before it says its port.
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let port = lines.map_while(Result::ok).find_map(|line| line.trim().parse::<u16>().ok());
    let port = port.expect("the server says its port");
    // A bucket is made with one request that needs no signature there.
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let request = "PUT /bucket HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nConnection: close\r\n\
         Authorization: AWS4-HMAC-SHA256 Credential=k/20260101/us-east-1/s3/aws4_request\r\n\r\n";
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    Some((Server(child), port))
}

fn store(port: u16) -> Store {
    let option = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    let options = [
        option("aws_endpoint", &format!("http://127.0.0.1:{port}")),
        option("aws_allow_http", "true"),
        option("aws_region", "us-east-1"),
        option("aws_access_key_id", "k"),
        option("aws_secret_access_key", "s"),
    ];
    Store::open("s3://bucket/runs/one", &options).unwrap()
}

#[test]
fn a_state_is_kept_in_s3() {
    let Some((_server, port)) = server() else { return };
    let store = store(port);
    let arrays = varied(&[4, 2]);
    save_by(&store, "together", &arrays, &Info::default(), &Threads::group(2, Duration::from_secs(120)))
        .unwrap();
    let checkpoint = Checkpoint::open(&store, "together").unwrap();
    for mesh in [[2, 4], [8, 1], [1, 1]] {
        check(&checkpoint, &arrays, &mesh, 0, 1);
    }
    assert_eq!(checkpoint.verify(None).unwrap(), []);

    let keep = Keep { newest: Some(2), every: None };
    let options = Options { keep, save_on_preemption: false, ..Options::default() };
    let manager = CheckpointManager::new(&store, "steps", options).unwrap();
    let read = |entry: &Entry, region: &Region| Ok(part(&arrays[&entry.name].0, region));
    let state = state_of(&arrays, &Info::default(), &Alone);
    for step in 1..=3 {
        manager.save_async(step, &state, &read).unwrap();
    }
    manager.wait().unwrap();
    assert_eq!(manager.all_steps().unwrap(), [2, 3]);
    check(&manager.open(3).unwrap(), &arrays, &[1, 4], 0, 1);
    manager.delete(3).unwrap();
    assert_eq!(manager.latest().unwrap(), Some(2));
}
