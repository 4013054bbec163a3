//! Waits of bare programs for tokio.

use std::{
    future::{Future, poll_fn},
    pin::pin,
    task::Poll,
};

use tokio::task::yield_now;

/// Waits for work of the library: polls it all the time, or sleeps.
pub async fn wait<T>(work: impl Future<Output = T>, spins: bool) -> T {
    if !spins {
        return work.await;
    }
    let mut work = pin!(work);
    loop {
        if let Poll::Ready(done) = poll_fn(|cx| Poll::Ready(work.as_mut().poll(cx))).await {
            return done;
        }
        yield_now().await;
    }
}
