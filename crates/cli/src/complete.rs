//! What a shell offers after Tab beside commands and flags: boards, phases, open asks, failure
//! classes of the workspace at hand. A fault here offers nothing and says nothing.

use std::collections::BTreeSet;

use clap::CommandFactory;
use clap_complete::engine::CompletionCandidate;
use clap_complete::env::CompleteEnv;
use pcbflow_checkpoint::manifest;
use pcbflow_checkpoint::workspace::Workspace;
use pcbflow_engine::fold_board;

use crate::args::Cli;
use crate::compose;
use crate::reading;

/// Variable by which the shell's script asks for candidates.
pub const COMPLETE_VAR: &str = "COMPLETE";

/// Answers the shell if it asks. True when it did, and nothing else is to be done.
#[must_use]
pub fn answered() -> bool {
    if std::env::var_os(COMPLETE_VAR).is_none() {
        return false;
    }
    let here = std::env::current_dir().ok();
    CompleteEnv::with_factory(Cli::command)
        .var(COMPLETE_VAR)
        .try_complete(std::env::args_os(), here.as_deref())
        // A shell that asks wrongly gets no candidates, never a run.
        .unwrap_or(true)
}

fn workspace() -> Option<Workspace> {
    match std::env::var_os("PCBFLOW_WORKSPACE") {
        Some(dir) => Workspace::at(std::path::Path::new(&dir)).ok(),
        None => Workspace::find(&std::env::current_dir().ok()?).ok(),
    }
}

fn candidates(words: impl IntoIterator<Item = String>) -> Vec<CompletionCandidate> {
    words.into_iter().map(CompletionCandidate::new).collect()
}

/// Boards of the workspace.
#[must_use]
pub fn boards() -> Vec<CompletionCandidate> {
    let found = workspace().and_then(|w| w.boards().ok()).unwrap_or_default();
    candidates(found.list.into_iter().map(|b| b.name.to_string()))
}

/// Phases of all boards.
#[must_use]
pub fn phases() -> Vec<CompletionCandidate> {
    let found = workspace().and_then(|w| w.boards().ok()).unwrap_or_default();
    let mut names = BTreeSet::new();
    for board in found.list {
        if let Ok(document) = manifest::read(&board.manifest) {
            names.extend(document.manifest.phases.into_iter().map(|p| p.id.to_string()));
        }
    }
    candidates(names)
}

/// Open asks of all boards.
#[must_use]
pub fn asks() -> Vec<CompletionCandidate> {
    let Some(opened) = workspace().and_then(|w| reading::open(&w).ok()).flatten() else {
        return Vec::new();
    };
    let ledger = opened.ledger.as_ref();
    let streams = pcbflow_core::ports::Ledger::streams(ledger).unwrap_or_default();
    let mut ids = BTreeSet::new();
    for board in streams.iter().filter_map(pcbflow_core::ids::StreamId::board) {
        if let Ok((_, state)) = fold_board(ledger, board) {
            ids.extend(state.open_asks().map(|a| a.id.to_string()));
        }
    }
    candidates(ids)
}

/// Failure classes with their titles.
#[must_use]
pub fn classes() -> Vec<CompletionCandidate> {
    let rows = compose::rows();
    rows.iter().map(|r| CompletionCandidate::new(r.id).help(Some(r.title.into()))).collect()
}
