//! Tests of an unreliable network to a real server: connections that break in the middle of a message.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use shardc_checkpoint::{Alone, Checkpoint, Info, Retry, Store};

use crate::common::moto::{self, Server};
use crate::common::{check, save_blocks, small};
use crate::place::{Place, server};

/// Byte counts after which a connection is cut: some within a request, some within a response.
const CUTS: [usize; 4] = [300, 40_000, 700, 900_000];

/// Forwards connections to a port, and cuts some of them. Returns the port on which the forwarder listens, and a counter of the
/// connections that were cut.
fn bad_line(to: u16) -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let cut = Arc::new(AtomicUsize::new(0));
    let count = cut.clone();
    thread::spawn(move || {
        for (number, near) in listener.incoming().flatten().enumerate() {
            let Ok(far) = TcpStream::connect(("127.0.0.1", to)) else { return };
            // One in three connections is not cut.
            let limit = if number % 3 == 0 { usize::MAX } else { CUTS[number % CUTS.len()] };
            let left = Arc::new(AtomicUsize::new(limit));
            for (from, to) in [(&near, &far), (&far, &near)] {
                let (from, to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                let (left, count) = (left.clone(), count.clone());
                thread::spawn(move || pass(from, to, &left, &count));
            }
        }
    });
    (port, cut)
}

fn pass(mut from: TcpStream, mut to: TcpStream, left: &AtomicUsize, cut: &AtomicUsize) {
    let mut buffer = vec![0; 16 << 10];
    while let Ok(read @ 1..) = from.read(&mut buffer) {
        let before =
            left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| Some(left.saturating_sub(read)));
        let passed = read.min(before.unwrap_or(0));
        if to.write_all(&buffer[..passed]).is_err() || passed < read {
            cut.fetch_add(usize::from(passed < read), Ordering::SeqCst);
            break;
        }
    }
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}

pub(crate) fn broken_connections_lose_nothing(place: &Place) {
    let (port, cut) = bad_line(server().expect("the place is on S3"));
    let retry = Retry { attempts: 8, first_wait: Duration::from_millis(1) };
    let url = format!("{}/{}", Server::BUCKET, place.root);
    let store = Store::open(&url, &moto::options(port)).unwrap().with_retry(retry);
    let arrays = small();
    for path in ["1", "2", "3"] {
        save_blocks(&store, path, &arrays, &Info::default(), &Alone).unwrap();
        let checkpoint = Checkpoint::open(&store, path).unwrap();
        check(&checkpoint, &arrays, &[2, 4], 0, 1);
        assert_eq!(checkpoint.verify(None).unwrap(), []);
    }
    let cut = cut.load(Ordering::SeqCst);
    assert!(cut > 2, "only {cut} connections were cut");
    // Over a reliable connection, the checkpoint is complete.
    let checkpoint = Checkpoint::open(&place.store, "2").unwrap();
    assert_eq!(checkpoint.verify(None).unwrap(), []);
}
