//! The commit of a passed phase: exactly its outputs and the manifest.
//!
//! The tree is built in a private index, so that nothing of the person's staging gets in or is
//! lost; hooks run and see that index. The person's own index is locked meanwhile, and gets the
//! committed entries afterwards.

use std::path::{Path, PathBuf};

use pcbflow_core::check::CheckResult;
use pcbflow_core::event::OutputRef;
use pcbflow_core::evidence::{Evidence, Signal, Source};
use pcbflow_core::ids::{BoardName, PhaseId};
use pcbflow_core::ports::{Services, StepContext};

use super::history;
use super::lock::{Holder, IndexLock, locks, own_ref_locks};
use super::place::{Head, Repo, is_id};
use super::{Anchor, Git, facts};
use crate::manifest::MANIFEST_NAME;
use crate::signals;
use crate::status::{self, StatusError};

/// The kind of the commit step.
pub const KIND_COMMIT: &str = "checkpoint/commit";
/// Wait for another commit of pcbflow's in the same repository, in milliseconds.
const LOCK_WAIT_MS: u64 = 100;
/// Most such waits.
const LOCK_WAITS_MAX: u32 = 100;
/// Most bytes of a hook's words in a signal.
const HOOK_WORDS_BYTES_MAX: usize = 2_000;

/// What is to be committed.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// The board.
    pub board: BoardName,
    /// The phase.
    pub phase: PhaseId,
    /// The run.
    pub run: String,
    /// Head of the record.
    pub anchor: Option<Anchor>,
    /// Folder of the workspace.
    pub workspace: PathBuf,
    /// Folder of the board, canonical.
    pub board_dir: PathBuf,
    /// Private folder for the index.
    pub scratch: PathBuf,
    /// The outputs as recorded.
    pub outputs: Vec<OutputRef>,
    /// What goes under `status:`.
    pub status: serde_json::Value,
    /// Deadline of the commit itself, in milliseconds.
    pub deadline_ms: u64,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Done {
    /// Id of the commit that holds everything.
    pub commit: String,
    /// Whether it was made now.
    pub made: bool,
    /// The head that it was made on, if it was made now and changed nothing but the outputs and
    /// the manifest.
    pub follows: Option<String>,
    /// Things worth saying.
    pub notes: Vec<String>,
}

/// Why it did not come to a commit.
#[derive(Debug, Clone)]
pub enum Stop {
    /// A failure: diagnosed and healed by its row.
    Failed(Box<Evidence>),
    /// The deadline passed while the commit ran: its outcome is unknown.
    Unknown(Box<Evidence>),
    /// Nothing can be said: what is there is not what was checked.
    Unverified(CheckResult),
}

pub(super) fn failed(evidence: Evidence) -> Stop {
    Stop::Failed(Box::new(evidence))
}

pub(super) fn of_signal(signal: Signal) -> Stop {
    let mut evidence = Evidence::new(KIND_COMMIT, "git");
    evidence.push(signal);
    failed(evidence)
}

pub(super) fn unverified(reason: &str) -> Stop {
    Stop::Unverified(CheckResult::could_not_run("outputs as checked", reason))
}

/// What a step's context asks for.
#[must_use]
pub fn wanted(context: &StepContext) -> Wanted {
    let anchor = context.head.as_ref().map(|(ledger, head)| Anchor {
        ledger: ledger.clone(),
        board: context.board.clone(),
        seq: head.seq,
        hash: head.hash,
    });
    Wanted {
        board: context.board.clone(),
        phase: context.key.phase.clone(),
        run: context.run.clone(),
        anchor,
        workspace: context.workspace.clone(),
        board_dir: context.board_dir.clone(),
        scratch: context.scratch.clone(),
        outputs: context.phase_outputs.clone(),
        status: context.status.clone(),
        deadline_ms: context.deadline_ms,
    }
}

/// A file of the commit: its path from the top of the working folder, and its mode.
pub(super) struct Entry {
    pub(super) path: String,
    pub(super) mode: &'static str,
}

/// A commit under way.
pub(super) struct Work<'a> {
    pub(super) wanted: &'a Wanted,
    services: &'a Services,
    pub(super) repo: Repo,
    pub(super) git: Git<'a>,
    pub(super) head: Option<Head>,
    notes: Vec<String>,
}

/// Commits the outputs of a phase and the manifest, unless the history holds them already.
///
/// # Errors
/// [`Stop`] says why not; nothing is staged then.
pub async fn commit(services: &Services, tag: &str, wanted: &Wanted) -> Result<Done, Stop> {
    let repo =
        Repo::locate(&wanted.board_dir).map_err(|f| failed(facts::no_place(KIND_COMMIT, &f)))?;
    let git = Git::new(services, &repo.top, tag);
    let head = repo.head();
    let mut work = Work { wanted, services, repo, git, head, notes: Vec::new() };
    work.answers().await?;
    work.unchanged("since its check")?;
    if let Some(done) = work.landed().await? {
        return Ok(done);
    }
    work.may_commit().await?;
    write_status(wanted)?;
    let entries = work.entries().await?;
    let lock = work.lock().await?;
    // The head may have moved until the lock was held.
    work.head = work.repo.head();
    let ids = work.objects(&entries, true).await?;
    if work.same_as_head(&entries, &ids).await? {
        let commit = work.existing(&entries).await?;
        work.sync(&lock, &entries, &ids).await?;
        return Ok(Done { commit, made: false, follows: None, notes: work.notes });
    }
    let commit = work.make(&entries, &ids).await?;
    work.sync(&lock, &entries, &ids).await?;
    drop(lock);
    let alone = work.verify(&commit, &entries, &ids).await?;
    let follows = work.head.and_then(|h| h.commit).filter(|_| alone);
    Ok(Done { commit, made: true, follows, notes: work.notes })
}

/// The commit that a run already made for the phase, if its tree holds the recorded hashes.
pub async fn already_landed(
    services: &Services,
    tag: &str,
    wanted: &Wanted,
) -> Result<Option<String>, Stop> {
    let Ok(repo) = Repo::locate(&wanted.board_dir) else { return Ok(None) };
    let git = Git::new(services, &repo.top, tag);
    let head = repo.head();
    let mut work = Work { wanted, services, repo, git, head, notes: Vec::new() };
    Ok(work.landed().await?.map(|d| d.commit))
}

/// Writes `status:` into the manifest.
///
/// # Errors
/// [`Stop`] says why not.
pub fn write_status(wanted: &Wanted) -> Result<(), Stop> {
    let path = wanted.board_dir.join(MANIFEST_NAME);
    match status::write_inside(&wanted.workspace, &path, &wanted.status) {
        Ok(_) => Ok(()),
        Err(StatusError::Io { source, path, .. }) => match facts::storage_signal(&path, &source) {
            Some(signal) => Err(of_signal(signal)),
            None => Err(unverified(&format!("{} can't be written: {source}", path.display()))),
        },
        Err(e) => Err(unverified(&e.to_string())),
    }
}

impl Work<'_> {
    /// Git is there and works in this folder.
    async fn answers(&mut self) -> Result<(), Stop> {
        let out = self.git.run(&["rev-parse", "--verify", "-q", "HEAD"]).await;
        // Status 1: a branch without commits. Anything else but 0 has a cause that is looked for.
        match out.status() {
            Some(0) => {
                let commit = out.word().to_owned();
                let branch = self.head.as_ref().and_then(|h| h.branch.clone());
                if self.head.is_none() && is_id(&commit) {
                    self.head = Some(Head { branch, commit: Some(commit) });
                }
            }
            Some(1) => {
                let commit = self.head.as_ref().and_then(|h| h.commit.as_ref());
                if commit.is_some() {
                    return Err(failed(facts::why(&self.git, &self.repo, KIND_COMMIT, &out).await));
                }
            }
            _ => return Err(failed(facts::why(&self.git, &self.repo, KIND_COMMIT, &out).await)),
        }
        if self.head.as_ref().is_some_and(|h| h.branch.is_none()) {
            self.notes.push("the commit is on no branch: the head is detached".to_owned());
        }
        Ok(())
    }

    /// Every output is on disk as it was recorded.
    fn unchanged(&self, when: &str) -> Result<(), Stop> {
        for output in &self.wanted.outputs {
            let path = crate::paths::output(&self.wanted.board_dir, &output.path)
                .map_err(|e| unverified(&e.to_string()))?;
            match self.services.digests.digest(&path) {
                Ok(Some((digest, _))) if digest == output.digest => {}
                Ok(Some(_)) => return Err(unverified(&format!("{} changed {when}", output.path))),
                Ok(None) => return Err(unverified(&format!("{} is gone {when}", output.path))),
                Err(e) => {
                    let signal = facts::storage_signal(&path, &e);
                    let reason = format!("{} can't be read: {e}", output.path);
                    return Err(signal.map_or_else(|| unverified(&reason), of_signal));
                }
            }
        }
        Ok(())
    }

    /// The commit of this run and phase, if it is there with the recorded content.
    async fn landed(&mut self) -> Result<Option<Done>, Stop> {
        if self.head.as_ref().is_none_or(|h| h.commit.is_none()) {
            return Ok(None);
        }
        let manifest = Entry { path: self.below_top(MANIFEST_NAME)?, mode: "100644" };
        // Without the manifest in the head there is nothing to look for in the whole history.
        if !self.head_has(std::slice::from_ref(&manifest)).await? {
            return Ok(None);
        }
        let folder = self.folder()?;
        let list = history::commits(&self.git, &[&folder]).await.unwrap_or_default();
        let found = list.into_iter().find(|c| {
            c.is_of(&self.wanted.board, &self.wanted.phase) && c.runs.contains(&self.wanted.run)
        });
        let Some(info) = found else { return Ok(None) };
        let entries = self.output_entries("100644")?;
        let ids = self.objects(&entries, false).await?;
        if self.ids_in(&info.commit, &entries).await? != ids {
            return Ok(None);
        }
        // A stop between the commit and the person's index left the old entries there.
        let entries = self.entries().await?;
        let ids = self.objects(&entries, false).await?;
        if self.same_as_head(&entries, &ids).await? {
            let lock = self.lock().await?;
            self.sync(&lock, &entries, &ids).await?;
        }
        let note = "the commit was there already".to_owned();
        Ok(Some(Done { commit: info.commit, made: false, follows: None, notes: vec![note] }))
    }

    /// Nothing is under way, nothing is locked, the identity is set, no path is ignored.
    async fn may_commit(&self) -> Result<(), Stop> {
        let mut signals = facts::conflicts(&self.git, &self.repo).await;
        signals.extend(self.locks().await);
        if signals.is_empty() {
            signals = facts::identity(&self.git).await;
        }
        if signals.is_empty() {
            signals = self.ignored().await?;
        }
        if signals.is_empty() {
            return Ok(());
        }
        let mut evidence = Evidence::new(KIND_COMMIT, "git");
        for signal in signals {
            evidence.push(signal);
        }
        facts::slots(&mut evidence);
        Err(failed(evidence))
    }

    /// Locks that stand against a commit. While a living pcbflow holds the index, the others are
    /// its git's: it is waited for when the lock is taken.
    async fn locks(&self) -> Vec<Signal> {
        let mut found = facts::lock_signals(&self.repo);
        if found.iter().any(|s| s.code == signals::LOCK_HELD) {
            return Vec::new();
        }
        if found.iter().any(|s| s.code == signals::LOCK_FILE) {
            let ours = own_ref_locks(&self.git, &self.repo, &self.wanted.run).await;
            for signal in &mut found {
                if ours.iter().any(|p| *p == Path::new(&signal.text)) {
                    let code = signals::LOCK_OF_OWN_DEAD_CHILD;
                    *signal = Signal::new(Source::Own, code).text(&signal.text);
                }
            }
        }
        found
    }

    /// Paths that an ignore rule, or another repository below this one, keeps out.
    async fn ignored(&self) -> Result<Vec<Signal>, Stop> {
        let paths = self.paths()?;
        let signal = |text: &str| Signal::new(Source::Report, signals::PATH_IGNORED).text(text);
        for path in &paths {
            if let Some(nested) = self.repo.nested(&self.repo.top.join(path)) {
                let inner = crate::paths::relative(&self.repo.top, &nested).unwrap_or_default();
                return Ok(vec![signal(&format!("{path} lies in the history at {inner}"))]);
            }
        }
        let stdin = paths.join("\n").into_bytes();
        let out = self.git.feed(&["check-ignore", "-v", "--stdin"], Some(stdin)).await;
        Ok(match out.status() {
            Some(0) => out.stdout.lines().take(1).map(|l| signal(&l.replace('\t', " "))).collect(),
            Some(1) => Vec::new(),
            _ => return Err(failed(facts::why(&self.git, &self.repo, KIND_COMMIT, &out).await)),
        })
    }

    fn below_top(&self, path: &str) -> Result<String, Stop> {
        crate::paths::relative(&self.repo.top, &self.wanted.board_dir.join(path))
            .ok_or_else(|| unverified(&format!("{path} does not lie in the working folder")))
    }

    /// The board's folder from the top of the working folder.
    fn folder(&self) -> Result<String, Stop> {
        let folder = crate::paths::relative(&self.repo.top, &self.wanted.board_dir);
        match folder {
            Some(folder) if folder.is_empty() => Ok(".".to_owned()),
            Some(folder) => Ok(folder),
            None => Err(unverified("the board's folder does not lie in the working folder")),
        }
    }

    pub(super) fn paths(&self) -> Result<Vec<String>, Stop> {
        let outputs = self.wanted.outputs.iter().map(|o| o.path.as_str());
        let mut paths: Vec<String> =
            outputs.chain([MANIFEST_NAME]).map(|p| self.below_top(p)).collect::<Result<_, _>>()?;
        paths.sort();
        paths.dedup();
        Ok(paths)
    }

    fn output_entries(&self, mode: &'static str) -> Result<Vec<Entry>, Stop> {
        let outputs = self.wanted.outputs.iter();
        outputs.map(|o| Ok(Entry { path: self.below_top(&o.path)?, mode })).collect()
    }

    /// Takes the lock, after a commit of pcbflow's own that is under way.
    async fn lock(&self) -> Result<IndexLock, Stop> {
        for _ in 0..LOCK_WAITS_MAX {
            match IndexLock::take(&self.repo, &self.wanted.run) {
                Ok(lock) => return Ok(lock),
                Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(e) => {
                    let signal = facts::storage_signal(&self.repo.git_dir, &e);
                    let reason = format!("the history can't be locked: {e}");
                    return Err(signal.map_or_else(|| unverified(&reason), of_signal));
                }
            }
            let seen = locks(&self.repo);
            let own = seen.iter().any(|(_, h)| matches!(h, Holder::OwnAlive(_)));
            if !(own || seen.is_empty()) || self.services.cancel.is_cancelled() {
                break;
            }
            let clock = &self.services.clock;
            clock.sleep_until(clock.now().plus_ms(LOCK_WAIT_MS)).await;
        }
        let mut evidence = Evidence::new(KIND_COMMIT, "git");
        for signal in facts::lock_signals(&self.repo) {
            evidence.push(signal);
        }
        facts::slots(&mut evidence);
        Err(failed(evidence))
    }

    /// Makes the commit through a private index that starts at the head.
    async fn make(&mut self, entries: &[Entry], ids: &[String]) -> Result<String, Stop> {
        let index = self.wanted.scratch.join("commit-index");
        let git = self.git.clone().with_index(&index);
        // The person's index only lends what it knows of file times; its entries go.
        std::fs::remove_file(&index).ok();
        let lent = std::fs::copy(self.repo.git_dir.join("index"), &index).is_ok();
        let head = self.head.as_ref().and_then(|h| h.commit.clone());
        let out = match &head {
            Some(head) if lent => git.run(&["read-tree", "-m", "-i", head]).await,
            Some(head) => git.run(&["read-tree", head]).await,
            None => git.run(&["read-tree", "--empty"]).await,
        };
        self.fine(&out).await?;
        self.put(&git, entries, ids).await?;
        let git = git.within(self.wanted.deadline_ms);
        let args = ["commit", "-q", "--cleanup=whitespace", "-F", "-"];
        let out = git.feed(&args, Some(history::message(self.wanted).into_bytes())).await;
        let now = self.repo.head().and_then(|h| h.commit);
        let now = match now {
            Some(id) => Some(id),
            None => Some(self.git.run(&["rev-parse", "HEAD"]).await.word().to_owned()),
        };
        match now {
            // A hook that runs after the commit may fail; the commit is there all the same.
            Some(id) if is_id(&id) && Some(&id) != head.as_ref() => {
                if !out.ok() {
                    self.notes.push("a hook after the commit failed".to_owned());
                }
                Ok(id)
            }
            _ => Err(self.refused(&out).await),
        }
    }

    async fn refused(&self, out: &super::Out) -> Stop {
        use pcbflow_core::ports::SpawnEnded;
        let mut evidence = facts::why(&self.git, &self.repo, KIND_COMMIT, out).await;
        if matches!(out.ended, SpawnEnded::DeadlinePassed | SpawnEnded::Cancelled) {
            return Stop::Unknown(Box::new(evidence));
        }
        let explained =
            evidence.signals.iter().any(|s| !matches!(s.source, Source::Exit | Source::Text));
        let signing = out.status() == Some(128) && self.signs().await;
        // Git itself ends with 128; 1 is what it answers when a hook refused, and nothing else
        // explains it here, for there is something to commit.
        if !explained && (out.status() == Some(1) || signing) {
            let words = if out.stderr.trim().is_empty() { &out.stdout } else { &out.stderr };
            let words = pcbflow_core::text::head_and_tail(words.trim(), HOOK_WORDS_BYTES_MAX);
            evidence.push(Signal::new(Source::Report, signals::HOOK_REFUSED).text(&words));
        }
        failed(evidence)
    }

    /// Whether commits must be signed here.
    async fn signs(&self) -> bool {
        let out = self.git.run(&["config", "--type=bool", "--get", "commit.gpgSign"]).await;
        out.word() == "true"
    }

    pub(super) async fn fine(&self, out: &super::Out) -> Result<(), Stop> {
        if out.ok() {
            return Ok(());
        }
        Err(failed(facts::why(&self.git, &self.repo, KIND_COMMIT, out).await))
    }

    /// The commit holds the recorded content at every path, and the files are still what was
    /// recorded. Returns whether it changed nothing else and follows the head it was made for.
    async fn verify(
        &mut self,
        commit: &str,
        entries: &[Entry],
        ids: &[String],
    ) -> Result<bool, Stop> {
        let missing = |text: &str| {
            of_signal(Signal::new(Source::Own, signals::OUTPUT_NOT_COMMITTED).text(text))
        };
        let held = self.ids_in(commit, entries).await?;
        if let Some((entry, _)) =
            entries.iter().zip(held.iter().zip(ids)).find(|(_, (held, id))| held != id)
        {
            return Err(missing(&format!("{} was changed by a commit check", entry.path)));
        }
        let others: Vec<String> =
            entries.iter().map(|e| format!(":(top,exclude,literal){}", e.path)).collect();
        let mut args = vec!["diff-tree", "--root", "--no-commit-id", "--name-only", "-r", "-m"];
        args.extend([commit, "--"]);
        args.extend(others.iter().map(String::as_str));
        let more = self.git.run(&args).await.stdout.lines().count();
        if more > 0 {
            self.notes.push(format!("a hook put {more} more files into the commit"));
        }
        let parent = self.git.run(&["log", "-1", "--format=%P", commit]).await;
        let head = self.head.as_ref().and_then(|h| h.commit.as_deref());
        let follows = parent.word() == head.unwrap_or_default();
        if !follows {
            self.notes.push("another commit was made at the same time; look at both".to_owned());
        }
        self.unchanged("while it was committed")?;
        Ok(more == 0 && follows)
    }
}
