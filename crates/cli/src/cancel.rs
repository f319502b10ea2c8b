//! The wish to stop: Ctrl-C and the termination signal, as core's `Cancel`.

use async_trait::async_trait;
use pcbflow_core::exit::Exit;
use pcbflow_core::ports::Cancel;
use tokio::sync::watch;

/// What was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    /// Nothing: go on.
    None,
    /// Ctrl-C.
    Interrupt,
    /// Terminate.
    Terminate,
}

/// A wish to stop that everything can watch.
#[derive(Debug, Clone)]
pub struct Stop {
    tx: watch::Sender<Wish>,
}

impl Default for Stop {
    fn default() -> Self {
        Stop { tx: watch::Sender::new(Wish::None) }
    }
}

impl Stop {
    /// Asks everything to stop.
    pub fn wish(&self, wish: Wish) {
        // The first wish stays: it decides the exit code.
        self.tx.send_if_modified(|now| {
            let first = *now == Wish::None;
            if first {
                *now = wish;
            }
            first
        });
    }

    /// What was asked for.
    #[must_use]
    pub fn wished(&self) -> Wish {
        *self.tx.borrow()
    }

    /// Exit code of a stop, if one was asked for.
    #[must_use]
    pub fn exit(&self) -> Option<Exit> {
        match self.wished() {
            Wish::None => None,
            Wish::Interrupt => Some(Exit::Interrupted),
            Wish::Terminate => Some(Exit::Terminated),
        }
    }

    /// Listens for signals until the runtime ends. A second Ctrl-C changes nothing: the run is
    /// already going to its next safe point, and kill -9 is always safe.
    pub fn listen(&self) {
        let stop = self.clone();
        tokio::spawn(async move {
            // Ends when no signal can be listened for any more.
            while let Some(wish) = next_signal().await {
                stop.wish(wish);
            }
        });
    }
}

#[cfg(unix)]
async fn next_signal() -> Option<Wish> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut term = signal(SignalKind::terminate()).ok()?;
    let mut hup = signal(SignalKind::hangup()).ok()?;
    tokio::select! {
        r = tokio::signal::ctrl_c() => r.ok().map(|()| Wish::Interrupt),
        r = term.recv() => r.map(|()| Wish::Terminate),
        r = hup.recv() => r.map(|()| Wish::Terminate),
    }
}

#[cfg(not(unix))]
async fn next_signal() -> Option<Wish> {
    tokio::signal::ctrl_c().await.ok().map(|()| Wish::Interrupt)
}

#[async_trait]
impl Cancel for Stop {
    fn is_cancelled(&self) -> bool {
        self.wished() != Wish::None
    }

    async fn cancelled(&self) {
        let mut rx = self.tx.subscribe();
        // The sender lives in `self`, so the wait can only end with a wish.
        if rx.wait_for(|w| *w != Wish::None).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
