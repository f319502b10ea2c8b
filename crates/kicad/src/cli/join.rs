//! Runs futures side by side, at most so many at once, without a runtime of its own.

use std::future::Future;
use std::pin::Pin;
use std::task::Poll;

/// A piece of work that may borrow from its surroundings.
pub type Job<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Runs all jobs, at most `width` of them at once, and gives the results in the order of the
/// jobs. A `width` of 0 counts as 1.
pub async fn side_by_side<T>(jobs: Vec<Job<'_, T>>, width: usize) -> Vec<T> {
    let width = width.max(1);
    let mut results: Vec<Option<T>> = jobs.iter().map(|_| None).collect();
    let mut waiting = jobs.into_iter().enumerate();
    let mut running: Vec<(usize, Job<'_, T>)> = Vec::with_capacity(width);
    std::future::poll_fn(|context| {
        // Ends when a round finished no job: each round that goes on has taken one away.
        loop {
            while running.len() < width {
                let Some(next) = waiting.next() else { break };
                running.push(next);
            }
            let before = running.len();
            running.retain_mut(|(at, job)| match job.as_mut().poll(context) {
                Poll::Ready(value) => {
                    if let Some(slot) = results.get_mut(*at) {
                        *slot = Some(value);
                    }
                    false
                }
                Poll::Pending => true,
            });
            if running.is_empty() && waiting.len() == 0 {
                return Poll::Ready(());
            }
            // A place became free: start the next job now, nobody else would wake us for it.
            if running.len() == before || waiting.len() == 0 {
                return Poll::Pending;
            }
        }
    })
    .await;
    results.into_iter().flatten().collect()
}
