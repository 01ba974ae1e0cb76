//! The two threads of each connection: one reads messages, the other writes queued messages and heartbeats.
//!
//! A process is lost if its connection closes without a goodbye, if nothing arrives from it for `patience`, if it sends an invalid message,
//! or if it reports that its run failed.

use std::io::{self, BufReader, BufWriter};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};

use super::frame::{Frame, Kind};
use super::job::Job;

/// A connection to another process.
pub(super) struct Peer {
    /// The queue of the writing thread.
    pub(super) outbox: Sender<Frame>,
    /// Closes the connection.
    pub(super) stream: TcpStream,
    /// `process 1 (10.0.0.2:40123)`.
    pub(super) name: String,
}

/// Starts the threads of the connection to a process. `done` is dropped when the writing thread has ended.
pub(super) fn start(
    job: &Arc<Job>,
    process: usize,
    stream: &TcpStream,
    queue: Receiver<Frame>,
    done: Sender<()>,
) -> io::Result<()> {
    let (reading, writing) = (stream.try_clone()?, stream.try_clone()?);
    reading.set_read_timeout(Some(job.options.patience))?;
    writing.set_write_timeout(None)?;
    let thread = |name: &str| std::thread::Builder::new().name(format!("shardc-{name}-{process}"));
    let reader = job.clone();
    thread("hear").spawn(move || read(&reader, process, reading))?;
    let writer = job.clone();
    thread("tell").spawn(move || {
        write(&writer, process, writing, &queue);
        drop(done);
    })?;
    Ok(())
}

fn read(job: &Job, process: usize, stream: TcpStream) {
    let mut stream = BufReader::with_capacity(1 << 16, stream);
    loop {
        match Frame::read(&mut stream, job.options.max_message) {
            Ok(frame) => {
                if frame.kind == Kind::Goodbye {
                    job.ended(process);
                    return;
                }
                job.receive(process, frame);
            }
            Err(_) if job.is_leaving() => return,
            Err(error) => {
                job.lose(process, &why(&error, job));
                let _ = stream.get_ref().shutdown(Shutdown::Both);
                return;
            }
        }
    }
}

fn why(error: &io::Error, job: &Job) -> String {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            format!("has been silent for {:.1} s", job.options.patience.as_secs_f64())
        }
        io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => {
            "is gone: the connection was closed without a goodbye".to_owned()
        }
        _ => format!("cannot be reached any more: {error}"),
    }
}

fn write(job: &Job, process: usize, stream: TcpStream, queue: &Receiver<Frame>) {
    let mut stream = BufWriter::with_capacity(1 << 16, stream);
    loop {
        let frame = match queue.recv_timeout(job.options.heartbeat()) {
            Ok(frame) => frame,
            Err(RecvTimeoutError::Timeout) => Frame::new(Kind::Heartbeat, &[], Vec::new()),
            Err(RecvTimeoutError::Disconnected) => return,
        };
        if let Err(error) = frame.write(&mut stream) {
            if !job.is_leaving() {
                job.lose(process, &why(&error, job));
            }
            return;
        }
        if frame.kind == Kind::Goodbye {
            let _ = stream.get_ref().shutdown(Shutdown::Write);
            return;
        }
    }
}
