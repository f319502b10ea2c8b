//! The mirrors: `projects/<board>/.logs/<phase>.jsonl` with the seed's fields, one record an
//! attempt, and beside it the two-line `.log`.
//!
//! A mirror is a projection: a function of the board's events and of nothing else. It can be
//! deleted at any time and comes back byte for byte. A record may change until the next attempt
//! of its step starts or the run stops; what is final is never written again. A mirror that
//! can't be written is a [`MirrorWarning`], never an error: the ledger is the record.

mod draft;
mod record;
mod records;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pcbflow_core::ids::{BoardName, Digest, PhaseId, Seq, StreamId};
use pcbflow_core::ports::{Head, LedgerError};

use crate::read::{Control, each_event};
use crate::verify::Store;
use draft::{Fold, Phase};
pub use record::{Record, RecordError, RecordRecovery, Status};
pub use records::Records;

/// Name of the fold in the cache.
const PROJECTION: &str = "mirror";

/// Version of the fold; another one is not read.
const PROJECTION_VERSION: u32 = 2;

/// What a message for the engineer may be made of.
#[derive(Debug, Clone, Copy)]
pub struct MessageFacts<'m> {
    /// The board.
    pub board: &'m str,
    /// The phase.
    pub phase: &'m str,
    /// The step.
    pub step: &'m str,
    /// How the attempt stands.
    pub status: Status,
    /// Class of the failure, empty without one.
    pub class: &'m str,
    /// Whether a rule fitted.
    pub known: bool,
    /// The rungs tried.
    pub tried: &'m [String],
    /// Tool and version that ran.
    pub tool: &'m str,
    /// Warnings with which a step passed.
    pub notes: u64,
    /// Values of the message.
    pub slots: &'m BTreeMap<String, String>,
}

/// Says in the engineer's words how an attempt stands. The same facts must give the same words,
/// or a rebuilt mirror would differ.
pub trait HumanMessage: Send + Sync {
    /// One or two sentences.
    fn message(&self, facts: &MessageFacts<'_>) -> String;
}

/// A mirror that could not be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MirrorWarning {
    /// The file.
    pub path: PathBuf,
    /// What the system said.
    pub message: String,
}

/// Writes the mirrors of a workspace.
#[derive(Clone)]
pub struct Mirrors {
    projects: PathBuf,
    words: Arc<dyn HumanMessage>,
}

impl std::fmt::Debug for Mirrors {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mirrors").field("projects", &self.projects).finish_non_exhaustive()
    }
}

impl Mirrors {
    /// Mirrors of the workspace in `workspace`.
    #[must_use]
    pub fn new(workspace: &Path, words: Arc<dyn HumanMessage>) -> Mirrors {
        Mirrors { projects: workspace.join("projects"), words }
    }

    /// Folder of a board's mirrors.
    #[must_use]
    pub fn folder(&self, board: &BoardName) -> PathBuf {
        self.projects.join(board.as_str()).join(".logs")
    }

    /// Whether the mirrors of a board stand at its head and were not touched since.
    ///
    /// # Errors
    /// Only what the ledger says.
    pub fn is_current(&self, ledger: &dyn Store, board: &BoardName) -> Result<bool, LedgerError> {
        let stream = StreamId::Board(board.clone());
        let Some(head) = ledger.head(&stream)? else { return Ok(false) };
        let fold = self.cached(ledger, &stream)?;
        Ok(fold.is_some_and(|f| f.next == head.seq.next() && self.fits(board, &f)))
    }

    fn cached(&self, ledger: &dyn Store, stream: &StreamId) -> Result<Option<Fold>, LedgerError> {
        let cached = ledger.fold_cache(stream, PROJECTION, PROJECTION_VERSION)?;
        Ok(cached.and_then(|(at, bytes)| {
            let fold: Fold = ciborium::from_reader(bytes.as_slice()).ok()?;
            (fold.next == at.seq.next()).then_some(fold)
        }))
    }

    /// Brings the mirrors of a board up to its head.
    ///
    /// # Errors
    /// Only what the ledger says; faults of the mirror are the warnings.
    pub fn update(
        &self,
        ledger: &dyn Store,
        board: &BoardName,
    ) -> Result<Vec<MirrorWarning>, LedgerError> {
        let stream = StreamId::Board(board.clone());
        match self.cached(ledger, &stream)? {
            Some(fold) if self.fits(board, &fold) => self.run(ledger, board, fold),
            _ => self.run(ledger, board, Fold::default()),
        }
    }

    /// Deletes the mirrors of a board and makes them again from its first event.
    ///
    /// # Errors
    /// Only what the ledger says.
    pub fn rebuild(
        &self,
        ledger: &dyn Store,
        board: &BoardName,
    ) -> Result<Vec<MirrorWarning>, LedgerError> {
        self.run(ledger, board, Fold::default())
    }

    /// Deletes and makes again the mirrors of every board in the ledger.
    ///
    /// # Errors
    /// Only what the ledger says.
    pub fn rebuild_all(&self, ledger: &dyn Store) -> Result<Vec<MirrorWarning>, LedgerError> {
        let mut warnings = Vec::new();
        for stream in ledger.streams()? {
            if let Some(board) = stream.board() {
                warnings.extend(self.rebuild(ledger, board)?);
            }
        }
        Ok(warnings)
    }

    /// Whether the files still begin with what the fold wrote as final.
    fn fits(&self, board: &BoardName, fold: &Fold) -> bool {
        fold.phases.iter().all(|(id, phase)| {
            let (json, log) = self.files(board, id);
            let log_fits = fs::metadata(log).map_or(0, |m| m.len()) >= phase.log_bytes;
            log_fits && json_fits(&json, phase)
        })
    }

    fn files(&self, board: &BoardName, phase: &PhaseId) -> (PathBuf, PathBuf) {
        let folder = self.folder(board);
        (folder.join(format!("{phase}.jsonl")), folder.join(format!("{phase}.log")))
    }

    fn run(
        &self,
        ledger: &dyn Store,
        board: &BoardName,
        mut fold: Fold,
    ) -> Result<Vec<MirrorWarning>, LedgerError> {
        let stream = StreamId::Board(board.clone());
        let fresh = fold.next == Seq(0);
        let mut changed: BTreeSet<PhaseId> = BTreeSet::new();
        let mut head: Option<Head> = None;
        let mut warnings = Vec::new();
        let mut begun: BTreeSet<PhaseId> = BTreeSet::new();
        each_event(ledger, &stream, fold.next, true, &mut |event| {
            head = Some(Head { seq: event.seq, hash: event.hash });
            for phase in fold.apply(&event) {
                // Written when its attempts are final, so that memory stays bounded.
                if matches!(event.fact, pcbflow_core::event::Fact::RunStopped { .. }) {
                    let restart = fresh && begun.insert(phase.clone());
                    self.write(board, &phase, &mut fold, restart, &mut warnings);
                    changed.remove(&phase);
                } else {
                    changed.insert(phase);
                }
            }
            Ok(Control::Next)
        })?;
        for phase in &changed {
            let restart = fresh && begun.insert(phase.clone());
            self.write(board, phase, &mut fold, restart, &mut warnings);
        }
        if let (Some(head), true) = (head, warnings.is_empty()) {
            self.keep(ledger, &stream, head, &fold)?;
        }
        Ok(warnings)
    }

    fn keep(
        &self,
        ledger: &dyn Store,
        stream: &StreamId,
        head: Head,
        fold: &Fold,
    ) -> Result<(), LedgerError> {
        let mut bytes = Vec::new();
        if ciborium::into_writer(fold, &mut bytes).is_err() {
            return Ok(());
        }
        ledger.store_fold(stream, PROJECTION, PROJECTION_VERSION, head, &bytes)
    }

    fn write(
        &self,
        board: &BoardName,
        id: &PhaseId,
        fold: &mut Fold,
        restart: bool,
        warnings: &mut Vec<MirrorWarning>,
    ) {
        let Some(phase) = fold.phases.get_mut(id) else { return };
        if restart {
            (phase.json_bytes, phase.log_bytes, phase.last_line) = (0, 0, None);
        }
        let (json_path, log_path) = self.files(board, id);
        let done = phase.drafts.iter().take_while(|d| d.is_closed()).count();
        let mut texts = [Vec::new(), Vec::new()];
        let mut ends = [0usize; 2];
        let mut last = phase.last_line;
        for (at, draft) in phase.drafts.iter().enumerate() {
            let Some(record) = draft.record(board.as_str(), id, self.words.as_ref()) else {
                continue;
            };
            let line = record.json_line();
            let [json, log] = &mut texts;
            json.extend_from_slice(&line);
            log.extend_from_slice(record.log_lines().as_bytes());
            if at < done {
                last = Some((line.len() as u64, Digest::of(&line)));
                ends = [json.len(), log.len()];
            }
        }
        let [json, log] = &texts;
        for (path, from, text) in
            [(&json_path, phase.json_bytes, json), (&log_path, phase.log_bytes, log)]
        {
            if let Err(e) = write_from(path, from, text) {
                let warning = MirrorWarning { path: path.clone(), message: e.to_string() };
                tracing::warn!(path = %path.display(), error = %e, "a mirror can't be written");
                if !warnings.contains(&warning) {
                    warnings.push(warning);
                }
            }
        }
        phase.json_bytes += ends[0] as u64;
        phase.log_bytes += ends[1] as u64;
        phase.last_line = last;
        phase.drafts.drain(..done);
    }
}

/// Puts `text` at `from` and ends the file there.
fn write_from(path: &Path, from: u64, text: &[u8]) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut file = File::options().create(true).truncate(false).write(true).open(path)?;
    file.set_len(from)?;
    file.seek(SeekFrom::Start(from))?;
    file.write_all(text)
}

fn json_fits(path: &Path, phase: &Phase) -> bool {
    let Some((length, digest)) = phase.last_line else { return phase.json_bytes == 0 };
    let read = || -> std::io::Result<Vec<u8>> {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(phase.json_bytes.saturating_sub(length)))?;
        let mut line = Vec::new();
        file.take(length).read_to_end(&mut line)?;
        Ok(line)
    };
    read().is_ok_and(|line| Digest::of(&line) == digest)
}
