//! Prefetching of batches.

use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::JoinHandle;

/// Runs an iterator on its own thread, up to a number of items ahead, so that examples are read and preprocessed while devices compute. The
/// order of the items is that of the iterator. To resume training, pass the number of consumed batches to
/// [`Batches::seek`](crate::Batches::seek). Prefetched items that were not consumed do not count.
#[derive(Debug)]
pub struct Prefetch<T> {
    /// The receiver of prefetched items; `None` after the last item, and during drop.
    made: Option<Receiver<T>>,
    maker: Option<JoinHandle<()>>,
}

impl<T: Send + 'static> Prefetch<T> {
    /// Prefetches up to `ahead` items of `items`, at least one.
    ///
    /// ```
    /// use shardc_data::{Batches, Prefetch};
    ///
    /// let batches = Batches::new(1000, 10, 0).take(5);
    /// let sums = Prefetch::new(2, batches.map(|batch| batch.examples.iter().sum::<u64>()));
    /// let direct = Batches::new(1000, 10, 0).take(5).map(|batch| batch.examples.iter().sum::<u64>());
    /// assert!(sums.eq(direct));
    /// ```
    pub fn new(ahead: usize, items: impl Iterator<Item = T> + Send + 'static) -> Prefetch<T> {
        let (give, made) = sync_channel(ahead.max(1) - 1);
        let maker = std::thread::spawn(move || {
            for item in items {
                // Sending fails only if the consumer was dropped.
                if give.send(item).is_err() {
                    return;
                }
            }
        });
        Prefetch { made: Some(made), maker: Some(maker) }
    }
}

impl<T> Iterator for Prefetch<T> {
    type Item = T;

    /// # Panics
    /// Propagates a panic of the iterator.
    fn next(&mut self) -> Option<T> {
        if let Ok(item) = self.made.as_ref()?.recv() {
            return Some(item);
        }
        self.made = None;
        if let Some(Err(panic)) = self.maker.take().map(JoinHandle::join) {
            std::panic::resume_unwind(panic);
        }
        None
    }
}

impl<T> Drop for Prefetch<T> {
    fn drop(&mut self) {
        self.made = None;
        if let Some(maker) = self.maker.take() {
            // After the consumer was dropped, a panic of the iterator is ignored.
            let _ = maker.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn prefetch_is_limited_to_the_requested_items() {
        let made = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&made);
        let mut items =
            Prefetch::new(3, (0..100).inspect(move |_| _ = counted.fetch_add(1, Ordering::SeqCst)));
        assert_eq!(items.by_ref().take(10).collect::<Vec<_>>(), (0..10).collect::<Vec<_>>());
        std::thread::sleep(std::time::Duration::from_millis(50));
        assert!((10..=13).contains(&made.load(Ordering::SeqCst)), "{made:?}");
        drop(items);
        assert!(made.load(Ordering::SeqCst) <= 14, "{made:?}");
    }

    #[test]
    fn a_panic_reaches_the_consumer() {
        let mut items = Prefetch::new(1, (0..3).map(|i| assert!(i < 2)));
        assert_eq!((items.next(), items.next()), (Some(()), Some(())));
        let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| items.next()));
        assert!(ended.is_err());
        assert_eq!(items.next(), None);
    }
}
