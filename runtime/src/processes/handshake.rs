//! Handshake: two processes prove to each other that they know the job's secret.
//!
//! Each sends a greeting with a fresh random number, then an HMAC-SHA256 code, keyed with the secret, over both greetings and the sender's
//! role (caller or listener). So recorded messages cannot be replayed, and a code cannot be reflected to its sender. The caller sends its
//! code first. The connection is neither encrypted nor signed afterwards.

use std::io::{self, Read, Write};
use std::net::TcpStream;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::options::Secret;

const MAGIC: &[u8; 8] = b"shardc\x00\x01";
const GREETING: usize = 8 + 4 + 4 + 32;
const CODE: usize = 32;

/// The role of a process on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// The process that started the connection.
    Caller = 0,
    /// The process that accepted the connection.
    Listener = 1,
}

/// The reason why a handshake failed.
#[derive(Debug)]
pub(super) enum Refusal {
    /// The other process has a different secret, or none.
    Secret,
    /// The other process does not belong to a job with the same number of processes; the text describes the difference.
    Job(String),
    /// The connection failed, or nothing was received in time.
    Io(io::Error),
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Refusal {
        Refusal::Io(error)
    }
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Refusal::Secret => f.write_str("it has a different secret"),
            Refusal::Job(why) => f.write_str(why),
            Refusal::Io(error) => error.fmt(f),
        }
    }
}

/// The possible responses of the listener to the caller's proof.
const WELCOME: u8 = 0;
const WRONG_SECRET: u8 = 1;

/// Runs the handshake; returns the index of the other process. The stream's timeouts apply.
pub(super) fn shake_hands(
    stream: &mut TcpStream,
    side: Side,
    secret: &Secret,
    (index, count): (usize, usize),
) -> Result<usize, Refusal> {
    let mut ours = Vec::with_capacity(GREETING);
    ours.extend_from_slice(MAGIC);
    ours.extend_from_slice(&(index as u32).to_le_bytes());
    ours.extend_from_slice(&(count as u32).to_le_bytes());
    let mut drawn = [0u8; 32];
    getrandom::fill(&mut drawn).map_err(|error| io::Error::other(error.to_string()))?;
    ours.extend_from_slice(&drawn);
    stream.write_all(&ours)?;
    let mut theirs = [0u8; GREETING];
    stream.read_exact(&mut theirs)?;
    if theirs[..8] != *MAGIC {
        return Err(Refusal::Job("it is not a process of shardc, or has a different version".to_owned()));
    }
    let number = |at: usize| u32::from_le_bytes([theirs[at], theirs[at + 1], theirs[at + 2], theirs[at + 3]]);
    let (their_index, their_count) = (number(8) as usize, number(12) as usize);
    let other = if side == Side::Caller { Side::Listener } else { Side::Caller };
    let (caller, listener) =
        if side == Side::Caller { (&ours[..], &theirs[..]) } else { (&theirs[..], &ours[..]) };
    let proof = code(secret, side, caller, listener)?;
    if side == Side::Caller {
        stream.write_all(&proof.finalize().into_bytes())?;
        let mut answer = [0u8];
        stream.read_exact(&mut answer)?;
        if answer[0] == WRONG_SECRET {
            return Err(Refusal::Secret);
        }
        check(stream, secret, other, caller, listener)?;
    } else {
        if check(stream, secret, other, caller, listener).is_err() {
            // Notifies the caller that its secret is wrong; an error of this write is ignored.
            let _ = stream.write_all(&[WRONG_SECRET]);
            return Err(Refusal::Secret);
        }
        stream.write_all(&[WELCOME])?;
        stream.write_all(&proof.finalize().into_bytes())?;
    }
    if their_count != count || their_index >= count || their_index == index {
        return Err(Refusal::Job(format!(
            "it is process {their_index} of {their_count}, and this one is process {index} of {count}"
        )));
    }
    Ok(their_index)
}

fn code(secret: &Secret, side: Side, caller: &[u8], listener: &[u8]) -> Result<Hmac<Sha256>, Refusal> {
    let mut code = Hmac::<Sha256>::new_from_slice(secret.bytes()).map_err(|_| Refusal::Secret)?;
    code.update(&[side as u8]);
    code.update(caller);
    code.update(listener);
    Ok(code)
}

fn check(
    stream: &mut TcpStream,
    secret: &Secret,
    other: Side,
    caller: &[u8],
    listener: &[u8],
) -> Result<(), Refusal> {
    let mut proof = [0u8; CODE];
    stream.read_exact(&mut proof)?;
    code(secret, other, caller, listener)?.verify_slice(&proof).map_err(|_| Refusal::Secret)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::time::Duration;

    use super::*;

    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let caller = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (listening, _) = listener.accept().unwrap();
        for stream in [&caller, &listening] {
            stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        }
        (caller, listening)
    }

    fn meet(
        caller: (&'static str, usize, usize),
        listener: (&'static str, usize, usize),
    ) -> (Result<usize, Refusal>, Result<usize, Refusal>) {
        let (mut calling, mut listening) = pair();
        let thread = std::thread::spawn(move || {
            let secret = Secret::new(caller.0).unwrap();
            shake_hands(&mut calling, Side::Caller, &secret, (caller.1, caller.2))
        });
        let secret = Secret::new(listener.0).unwrap();
        let heard = shake_hands(&mut listening, Side::Listener, &secret, (listener.1, listener.2));
        (thread.join().unwrap(), heard)
    }

    const SECRET: &str = "a secret of many bytes";

    #[test]
    fn processes_of_one_job_meet() {
        let (caller, listener) = meet((SECRET, 1, 2), (SECRET, 0, 2));
        assert_eq!((caller.unwrap(), listener.unwrap()), (0, 1));
    }

    #[test]
    fn strangers_are_rejected() {
        let (caller, listener) = meet(("another secret of many bytes", 1, 2), (SECRET, 0, 2));
        assert!(matches!(caller, Err(Refusal::Secret)), "{caller:?}");
        assert!(matches!(listener, Err(Refusal::Secret)), "{listener:?}");
        let (_, listener) = meet((SECRET, 1, 3), (SECRET, 0, 2));
        assert!(listener.unwrap_err().to_string().contains("process 1 of 3"));
    }

    #[test]
    fn proofs_cannot_be_reflected() {
        let (mut calling, mut listening) = pair();
        let thread = std::thread::spawn(move || {
            // Simulates an attacker who sends every message back to its sender.
            let mut bytes = [0u8; GREETING];
            calling.read_exact(&mut bytes).unwrap();
            calling.write_all(&bytes).unwrap();
            calling.write_all(&[0; CODE]).unwrap();
            calling
        });
        let secret = Secret::new(SECRET).unwrap();
        let heard = shake_hands(&mut listening, Side::Listener, &secret, (0, 2));
        assert!(matches!(heard, Err(Refusal::Secret)), "{heard:?}");
        drop(thread.join());
    }
}
