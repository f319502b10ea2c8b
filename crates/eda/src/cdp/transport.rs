//! The way a script gets into the editor, whatever carries it. The debugging protocol is the only
//! one now; a bridge that an extension of the editor offers can be another.

use std::time::Duration;

use async_trait::async_trait;
use pcbflow_core::evidence::Signal;
use serde_json::Value;

use super::error::CallError;
use super::session::{Script, Session};
use super::window::Seen;

/// What came of a script, with what was seen while it ran.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// Its result; `None` is JavaScript's `undefined`.
    pub result: Result<Option<Value>, CallError>,
    /// What happened in the page meanwhile, as far as the transport can see it.
    pub seen: Seen,
}

impl Reply {
    /// All facts for the diagnosis: what the window saw, then what became of the call.
    #[must_use]
    pub fn signals(&self) -> Vec<Signal> {
        let mut all = self.seen.signals();
        if let Err(error) = &self.result {
            for signal in error.signals() {
                if !all.contains(&signal) {
                    all.push(signal);
                }
            }
        }
        all
    }
}

/// Carries scripts into one window of the editor.
#[async_trait]
pub trait Transport: Send + Sync {
    /// Plain name, for records.
    fn name(&self) -> &'static str;
    /// Runs a script; returns at the latest when its deadline passes.
    async fn run(&self, script: &Script) -> Reply;
    /// Whether the window answers at all.
    async fn answers(&self, within: Duration) -> bool;
}

#[async_trait]
impl Transport for Session {
    fn name(&self) -> &'static str {
        "debugging port"
    }

    async fn run(&self, script: &Script) -> Reply {
        match self.window() {
            Ok(window) => {
                let result = self.evaluate(script).await;
                Reply { result, seen: window.close() }
            }
            Err(error) => Reply { result: Err(error), seen: Seen::default() },
        }
    }

    async fn answers(&self, within: Duration) -> bool {
        Session::answers(self, within).await
    }
}
