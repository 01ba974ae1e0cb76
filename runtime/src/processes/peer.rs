//! The two threads of each connection: one reads messages, the other writes queued messages and heartbeats.
//!
//! A process is lost if its connection closes without a goodbye, if nothing arrives from it for `patience`, if it sends an invalid message,
//! or if it reports a failed execution.

use std::io::{self, BufReader, BufWriter};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};

use super::frame::{Frame, Kind};
use super::options::ProcessOptions;

/// A connection to another process.
pub(super) struct Peer {
    /// The queue of the writing thread.
    pub(super) outbox: Sender<Frame>,
    /// A handle of the connection, with which it can be closed.
    pub(super) stream: TcpStream,
    /// The description of the other process for messages, such as `process 1 (10.0.0.2:40123)`.
    pub(super) name: String,
}

/// Handles the messages and events of the connections to other processes.
pub(super) trait Listener: Send + Sync + 'static {
    /// Returns the options of this process.
    fn options(&self) -> &ProcessOptions;

    /// Returns whether this process is leaving the job; if so, closed connections are expected.
    fn is_leaving(&self) -> bool;

    /// Handles a message of the process with index `from`.
    fn receive(&self, from: usize, frame: Frame);

    /// Records that a process left the job normally.
    fn ended(&self, process: usize);

    /// Records that a process is lost, and makes all waits for other processes fail.
    fn lose(&self, process: usize, what: &str);
}

/// Starts the two threads of the connection to a process. The writing thread drops `done` when it ends.
pub(super) fn start<L: Listener>(
    listener: &Arc<L>,
    process: usize,
    stream: &TcpStream,
    queue: Receiver<Frame>,
    done: Sender<()>,
) -> io::Result<()> {
    let (reading, writing) = (stream.try_clone()?, stream.try_clone()?);
    reading.set_read_timeout(Some(listener.options().patience))?;
    writing.set_write_timeout(None)?;
    let thread = |name: &str| std::thread::Builder::new().name(format!("shardc-{name}-{process}"));
    let reader = listener.clone();
    thread("hear").spawn(move || read(&*reader, process, reading))?;
    let writer = listener.clone();
    thread("tell").spawn(move || {
        write(&*writer, process, writing, &queue);
        drop(done);
    })?;
    Ok(())
}

fn read(listener: &dyn Listener, process: usize, stream: TcpStream) {
    let mut stream = BufReader::with_capacity(1 << 16, stream);
    loop {
        match Frame::read(&mut stream, listener.options().max_message) {
            Ok(frame) => {
                if frame.kind == Kind::Goodbye {
                    listener.ended(process);
                    return;
                }
                listener.receive(process, frame);
            }
            Err(_) if listener.is_leaving() => return,
            Err(error) => {
                listener.lose(process, &why(&error, listener));
                let _ = stream.get_ref().shutdown(Shutdown::Both);
                return;
            }
        }
    }
}

fn why(error: &io::Error, listener: &dyn Listener) -> String {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            format!("has been silent for {:.1} s", listener.options().patience.as_secs_f64())
        }
        io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => {
            "is gone: the connection was closed unexpectedly".to_owned()
        }
        _ => format!("cannot be reached any more: {error}"),
    }
}

fn write(listener: &dyn Listener, process: usize, stream: TcpStream, queue: &Receiver<Frame>) {
    let mut stream = BufWriter::with_capacity(1 << 16, stream);
    loop {
        let frame = match queue.recv_timeout(listener.options().heartbeat()) {
            Ok(frame) => frame,
            Err(RecvTimeoutError::Timeout) => Frame::new(Kind::Heartbeat, &[], Vec::new()),
            Err(RecvTimeoutError::Disconnected) => return,
        };
        if let Err(error) = frame.write(&mut stream) {
            if !listener.is_leaving() {
                listener.lose(process, &why(&error, listener));
            }
            return;
        }
        if frame.kind == Kind::Goodbye {
            let _ = stream.get_ref().shutdown(Shutdown::Write);
            return;
        }
    }
}
