//! Connects the processes of a job with each other.
//!
//! Process 0 listens at the coordinator's address. The others connect to it, with retries, and send it the port on which they listen
//! themselves. When all are connected, process 0 sends each process the addresses of the others. Then each process connects to processes
//! with lower indices and accepts connections from those with higher indices. Every connection begins with a mutual proof that both
//! processes know the secret ([`super::handshake`]). An unauthenticated connection occupies one thread for at most [`HANDSHAKE`].

use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use super::handshake::{Refusal, Side, shake_hands};
use super::options::ProcessOptions;
use crate::error::{Result, RuntimeError};

/// The time limit of the handshake on a new connection.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// The time between two attempts to connect.
const RETRY: Duration = Duration::from_millis(100);
/// Maximum number of connections that are in a handshake at the same time.
const MAX_STRANGERS: usize = 2 * super::MAX_PROCESSES;

/// A connection to another process.
pub(super) struct Connection {
    pub(super) stream: TcpStream,
    pub(super) address: SocketAddr,
}

/// Connects to all other processes. Returns the connections by process index, with `None` for this process.
pub(super) fn connect_all(options: &ProcessOptions) -> Result<Vec<Option<Connection>>> {
    let deadline = Instant::now() + options.connect_timeout;
    let mut connections: Vec<Option<Connection>> = (0..options.count).map(|_| None).collect();
    if options.count == 1 {
        return Ok(connections);
    }
    if options.index == 0 {
        let listener = listen(options)?;
        accept(options, &listener, deadline, &mut connections)?;
        introduce(&mut connections)?;
    } else {
        let mut first = call(options, 0, &options.coordinator, deadline)?;
        let own = first.stream.local_addr().map_err(broken(0))?;
        let listener = TcpListener::bind((own.ip(), 0)).map_err(|error| {
            RuntimeError::Processes(format!(
                "process {} cannot listen on {}: {error}",
                options.index,
                own.ip()
            ))
        })?;
        let port = listener.local_addr().map_err(broken(0))?.port();
        first.stream.write_all(&port.to_le_bytes()).map_err(broken(0))?;
        let addresses = introduction(options, &mut first, deadline)?;
        for (other, address) in addresses.iter().enumerate().take(options.index).skip(1) {
            connections[other] = Some(call(options, other, &address.to_string(), deadline)?);
        }
        connections[0] = Some(first);
        accept(options, &listener, deadline, &mut connections)?;
    }
    for connection in connections.iter().flatten() {
        connection.stream.set_nodelay(true).map_err(broken(options.index))?;
    }
    Ok(connections)
}

fn broken(process: usize) -> impl Fn(io::Error) -> RuntimeError {
    move |error| RuntimeError::Processes(format!("the connection to process {process} failed: {error}"))
}

fn listen(options: &ProcessOptions) -> Result<TcpListener> {
    let at = &options.coordinator;
    let bad = |error: &dyn std::fmt::Display| {
        RuntimeError::Processes(format!("process 0 cannot listen on {at}: {error}"))
    };
    let addresses: Vec<SocketAddr> = at.to_socket_addrs().map_err(|error| bad(&error))?.collect();
    TcpListener::bind(addresses.as_slice()).map_err(|error| bad(&error))
}

/// Connects to the process with index `process` at the address `at`, with retries, and runs the handshake.
fn call(options: &ProcessOptions, process: usize, at: &str, deadline: Instant) -> Result<Connection> {
    let mut last = String::from("no attempt was made");
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(RuntimeError::Processes(format!(
                "process {} cannot reach process {process} at {at} within {} s: {last}",
                options.index,
                options.connect_timeout.as_secs()
            )));
        }
        match call_once(options, process, at, left) {
            Ok(connection) => return Ok(connection),
            Err(Refusal::Io(error)) => last = error.to_string(),
            Err(refusal) => {
                return Err(RuntimeError::Processes(format!(
                    "process {} and the listener at {at} do not belong to the same job: {refusal}",
                    options.index
                )));
            }
        }
        std::thread::sleep(RETRY.min(left));
    }
}

fn call_once(
    options: &ProcessOptions,
    process: usize,
    at: &str,
    left: Duration,
) -> std::result::Result<Connection, Refusal> {
    let mut last = io::Error::other(format!("{at} is not a valid address"));
    for address in at.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, left.min(HANDSHAKE)) {
            Ok(mut stream) => {
                limit(&stream, left.min(HANDSHAKE))?;
                let us = (options.index, options.count);
                let found = shake_hands(&mut stream, Side::Caller, &options.secret, us)?;
                if found != process {
                    return Err(Refusal::Job(format!("it is process {found}, expected process {process}")));
                }
                return Ok(Connection { stream, address });
            }
            Err(error) => last = error,
        }
    }
    Err(Refusal::Io(last))
}

fn limit(stream: &TcpStream, limit: Duration) -> io::Result<()> {
    let limit = Some(limit.max(Duration::from_millis(1)));
    stream.set_read_timeout(limit)?;
    stream.set_write_timeout(limit)
}

/// Accepts connections until all processes with higher indices are connected.
fn accept(
    options: &ProcessOptions,
    listener: &TcpListener,
    deadline: Instant,
    connections: &mut [Option<Connection>],
) -> Result<()> {
    let own = |error: io::Error| RuntimeError::Processes(format!("process {}: {error}", options.index));
    listener.set_nonblocking(true).map_err(own)?;
    let (arrivals, arrived) = channel();
    let (mut refused, mut last, mut in_hand) = (0usize, String::new(), 0usize);
    let is_missing = |connections: &[Option<Connection>]| {
        (options.index + 1..options.count).filter(|&i| connections[i].is_none()).collect::<Vec<_>>()
    };
    loop {
        let missing = is_missing(connections);
        if missing.is_empty() {
            return Ok(());
        }
        if Instant::now() >= deadline {
            let mut what = format!(
                "process {} waited {} s for the processes {missing:?}, which did not connect",
                options.index,
                options.connect_timeout.as_secs()
            );
            if refused > 0 {
                what.push_str(&format!("; it rejected {refused} connections, the last because {last}"));
            }
            return Err(RuntimeError::Processes(what));
        }
        while in_hand < MAX_STRANGERS {
            match listener.accept() {
                Ok((stream, address)) => {
                    in_hand += 1;
                    greet(options, stream, address, arrivals.clone()).map_err(own)?;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(error) => return Err(own(error)),
            }
        }
        match arrived.recv_timeout(Duration::from_millis(10)) {
            Ok(Ok((process, connection))) => {
                in_hand -= 1;
                let place =
                    connections.get_mut(process).filter(|place| process > options.index && place.is_none());
                match place {
                    Some(place) => *place = Some(connection),
                    None => {
                        (refused, last) = (refused + 1, format!("process {process} is already connected"));
                    }
                }
            }
            Ok(Err(refusal)) => {
                in_hand -= 1;
                (refused, last) = (refused + 1, Refusal::to_string(&refusal));
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
        }
    }
}

type Arrival = std::result::Result<(usize, Connection), Refusal>;

/// Starts a thread that runs the handshake with a process that connected, and sends the outcome to `arrivals`.
fn greet(
    options: &ProcessOptions,
    mut stream: TcpStream,
    address: SocketAddr,
    arrivals: Sender<Arrival>,
) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    let (secret, us) = (options.secret.clone(), (options.index, options.count));
    let greet = move || {
        let arrival = limit(&stream, HANDSHAKE)
            .map_err(Refusal::Io)
            .and_then(|()| shake_hands(&mut stream, Side::Listener, &secret, us))
            .map(|process| (process, Connection { stream, address }));
        // An error is ignored: the receiver stops when all processes are connected.
        let _ = arrivals.send(arrival);
    };
    std::thread::Builder::new().name("shardc-greet".to_owned()).spawn(greet).map(drop)
}

/// Receives the port on which each other process listens, and sends the list of addresses to all of them. For a process that connected
/// through the loopback interface of this machine, the address in the list is empty: other processes reach it at the coordinator's address.
fn introduce(connections: &mut [Option<Connection>]) -> Result<()> {
    let mut list = Vec::new();
    for (process, connection) in connections.iter_mut().enumerate() {
        let Some(connection) = connection else { continue };
        let mut port = [0u8; 2];
        connection.stream.read_exact(&mut port).map_err(broken(process))?;
        let ip = connection.address.ip();
        let text = if ip.is_loopback() { String::new() } else { ip.to_string() };
        list.push(text.len() as u8);
        list.extend_from_slice(text.as_bytes());
        list.extend_from_slice(&port);
    }
    for (process, connection) in connections.iter_mut().enumerate() {
        if let Some(connection) = connection {
            connection.stream.write_all(&(list.len() as u32).to_le_bytes()).map_err(broken(process))?;
            connection.stream.write_all(&list).map_err(broken(process))?;
        }
    }
    Ok(())
}

/// Receives the list of addresses from process 0. Returns the address of each process; the address of process 0 is the one to which this
/// process connected.
fn introduction(
    options: &ProcessOptions,
    first: &mut Connection,
    deadline: Instant,
) -> Result<Vec<SocketAddr>> {
    // Process 0 sends the list when all processes are connected, which may take until the deadline.
    let left = deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
    first.stream.set_read_timeout(Some(left)).map_err(broken(0))?;
    let mut length = [0u8; 4];
    first.stream.read_exact(&mut length).map_err(|error| {
        RuntimeError::Processes(format!(
            "process {} reached process 0, which did not send the addresses of the others: {error}",
            options.index
        ))
    })?;
    // An entry of the list consists of a length (one byte), an address of at most 255 bytes, and a port (two bytes).
    let length = u32::from_le_bytes(length) as usize;
    let bad = || RuntimeError::Processes("process 0 sent an invalid list of addresses".to_owned());
    if length > options.count * 258 {
        return Err(bad());
    }
    let mut list = vec![0; length];
    first.stream.read_exact(&mut list).map_err(broken(0))?;
    let mut addresses = vec![first.address];
    let mut rest = list.as_slice();
    while let Some((&text, tail)) = rest.split_first() {
        let (text, tail) = tail.split_at_checked(usize::from(text)).ok_or_else(bad)?;
        let (port, tail) = tail.split_at_checked(2).ok_or_else(bad)?;
        let ip: IpAddr = match text {
            [] => first.address.ip(),
            text => std::str::from_utf8(text).ok().and_then(|text| text.parse().ok()).ok_or_else(bad)?,
        };
        addresses.push(SocketAddr::new(ip, u16::from_le_bytes([port[0], port[1]])));
        rest = tail;
    }
    if addresses.len() != options.count {
        return Err(bad());
    }
    Ok(addresses)
}
