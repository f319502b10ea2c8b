//! The subsystem as engine and `cli` see it: kinds, rows, actions and probes of ST and GIT.

use std::path::{Path, PathBuf};

use async_trait::async_trait;
use pcbflow_core::check::CheckResult;
use pcbflow_core::event::{Ended, OutputRef, ReadBack};
use pcbflow_core::evidence::{Evidence, Source, codes};
use pcbflow_core::manifest::{KindInfo, ManifestFault, Safety, StepDef, unmade_check};
use pcbflow_core::ports::{
    Closure, Observation, Recovery, Services, StepContext, StepResult, Subsystem,
};
use pcbflow_core::row::Row;

use crate::git::{self, KIND_COMMIT, KIND_PUSH, Repo, Stop};
use crate::rows::{actions, probes};
use crate::snapshot::{Binding, Purpose, Snapshots};
use crate::{kept, record, unrecorded};

/// Deadline of a commit in milliseconds: the person's hooks run in it.
const COMMIT_MS: u64 = 600_000;
/// Deadline of a push in milliseconds.
const PUSH_MS: u64 = 300_000;

const KINDS: &[KindInfo] = &[
    KindInfo {
        name: KIND_COMMIT,
        about: "commits the outputs of a passed phase and the manifest",
        safety: Safety::Guarded,
        timeout_ms: COMMIT_MS,
        args: &[],
        is_check: false,
        public: false,
    },
    KindInfo {
        name: KIND_PUSH,
        about: "uploads the current branch to its remote, never by force",
        safety: Safety::Publish,
        timeout_ms: PUSH_MS,
        args: &[("remote", false, "name of the remote; that of the branch without it")],
        is_check: false,
        public: true,
    },
];

/// The subsystem `checkpoint`.
#[derive(Debug, Clone, Default)]
pub struct CheckpointSubsystem {
    elsewhere: Option<PathBuf>,
}

impl CheckpointSubsystem {
    /// With its own folders in the workspace only.
    #[must_use]
    pub fn new() -> CheckpointSubsystem {
        CheckpointSubsystem::default()
    }

    /// With a folder outside the workspace, for what must survive a damaged one.
    #[must_use]
    pub fn with_elsewhere(elsewhere: PathBuf) -> CheckpointSubsystem {
        CheckpointSubsystem { elsewhere: Some(elsewhere) }
    }

    fn elsewhere(&self, context: &StepContext) -> PathBuf {
        self.elsewhere.clone().unwrap_or_else(|| context.state_dir.join("kept-elsewhere"))
    }
}

/// The store of snapshots of a workspace.
#[must_use]
pub fn snapshots(state_dir: &Path) -> Snapshots {
    Snapshots::new(&state_dir.join("snapshots"))
}

fn failed(evidence: Evidence) -> Observation {
    let number = |code: &str| {
        let found = evidence.signals.iter().find(|s| s.source == Source::Exit && s.code == code);
        found.and_then(|s| s.number).and_then(|n| i32::try_from(n).ok())
    };
    let (exit, signal) = (number(codes::STATUS), number(codes::SIGNAL));
    let late = evidence.signals.iter().any(|s| s.code == codes::DEADLINE_PASSED);
    let mut observation = Observation::of(StepResult::Failed(evidence));
    observation.exit = exit;
    observation.signal = signal;
    if late {
        observation.ended = Ended::DeadlinePassed;
    }
    observation.tool = "git".to_owned();
    observation
}

async fn run_commit(context: &StepContext, services: &Services) -> Observation {
    let wanted = git::wanted(context);
    match git::commit(services, &context.tag, &wanted).await {
        Ok(done) => {
            let repo = Repo::locate(&context.board_dir).ok();
            if let Some(head) = repo.and_then(|r| r.head()).and_then(|h| h.commit) {
                kept::remember(context, &head, done.follows.as_deref());
            }
            let mut observation =
                Observation::of(StepResult::Checked(CheckResult::pass("outputs committed")));
            let short: String = done.commit.chars().take(12).collect();
            let mut lines = vec![if done.made {
                format!("committed as {short}")
            } else {
                format!("nothing to commit, {short} holds everything")
            }];
            lines.extend(done.notes);
            observation.summary = lines.join("; ");
            observation.records.insert(kept::COMMIT_RECORD.to_owned(), done.commit);
            if context.records.contains_key(unrecorded::RECORD) {
                observation.records.insert(unrecorded::RECORD.to_owned(), "kept".to_owned());
            }
            observation.tool = "git".to_owned();
            observation.argv = vec!["git".to_owned(), "commit".to_owned()];
            observation
        }
        Err(Stop::Failed(mut evidence)) => {
            unrecorded::tell_lost(context, &mut evidence);
            match unrecorded::pass(context, services, &evidence) {
                Some(observation) => observation,
                None => failed(*evidence),
            }
        }
        Err(Stop::Unknown(evidence)) => {
            let mut observation = failed(*evidence);
            if observation.ended == Ended::Returned {
                observation.ended = Ended::Stopped;
            }
            observation
        }
        Err(Stop::Unverified(check)) => {
            let mut observation = Observation::of(StepResult::Checked(check.clone()));
            observation.summary = check.reason;
            observation
        }
    }
}

async fn run_push(context: &StepContext, services: &Services) -> Observation {
    match git::push(services, context).await {
        Ok(commit) => {
            let check = remote(context, services).await;
            let mut observation = Observation::of(StepResult::Checked(check));
            observation.summary = "uploaded".to_owned();
            observation.records.insert("pushed".to_owned(), commit);
            observation.tool = "git".to_owned();
            observation
        }
        Err(evidence) => failed(*evidence),
    }
}

async fn remote(context: &StepContext, services: &Services) -> CheckResult {
    let remote = context.step.arg_str("remote");
    git::remote_equals_local(services, &context.tag, &context.board_dir, remote).await
}

/// Keeps the outputs of the phase, or of the step, in a store of snapshots.
pub(crate) fn keep(context: &StepContext, services: &Services, store: &Snapshots) -> Recovery {
    if context.phase_outputs.is_empty() {
        return Recovery::not_applicable("the phase has no outputs");
    }
    let event = context
        .head
        .as_ref()
        .map_or_else(|| context.key.to_string(), |(_, h)| format!("{}:{}", h.seq, h.hash));
    let binding = Binding {
        board: &context.board,
        purpose: Purpose::Good,
        check: context.key.phase.as_str(),
        event: &event,
        at: services.clock.now(),
    };
    match store.take(&context.board_dir, &context.phase_outputs, &[], &binding) {
        Ok(id) => {
            let keep = std::collections::BTreeSet::from([id]);
            if let Err(error) = store.prune(&context.board, &keep) {
                tracing::debug!(%error, "old snapshots were not dropped");
            }
            let files = context.phase_outputs.len();
            Recovery::done(&format!("kept {files} files as snapshot {}", id.short()))
                .note("snapshot", &id.to_string())
        }
        Err(e) => Recovery::failed(&e.to_string()),
    }
}

fn as_recorded(
    probe: &str,
    context: &StepContext,
    services: &Services,
    outputs: &[OutputRef],
) -> CheckResult {
    if outputs.is_empty() {
        return CheckResult::could_not_run(probe, "no outputs are on record");
    }
    for output in outputs {
        match services.digests.digest(&context.board_dir.join(&output.path)) {
            Ok(Some((digest, _))) if digest == output.digest => {}
            Ok(_) => {
                let reason = format!("{} is not what was recorded", output.path);
                return CheckResult::fail(probe, &reason);
            }
            Err(e) => {
                let reason = format!("{} can't be read: {e}", output.path);
                return CheckResult::could_not_run(probe, &reason);
            }
        }
    }
    CheckResult::pass(probe)
}

async fn outputs_kept(context: &StepContext, services: &Services) -> CheckResult {
    let probe = probes::OUTPUTS_KEPT;
    let (dir, outputs) = (&context.board_dir, &context.phase_outputs);
    let held = git::holds(services, &context.tag, probe, dir, outputs).await;
    if held.outcome == pcbflow_core::check::CheckOutcome::Pass || outputs.is_empty() {
        return held;
    }
    match snapshots(&context.state_dir).holding(&context.board, outputs) {
        Some(_) => CheckResult::pass(probe),
        None => held,
    }
}

fn head_text(context: &StepContext) -> String {
    context.head.as_ref().map_or_else(String::new, |(_, h)| format!("{}:{}", h.seq, h.hash))
}

fn value_is_newest(context: &StepContext) -> CheckResult {
    let probe = probes::VALUE_IS_NEWEST;
    let now = head_text(context);
    let note = context.notes.get("note.head").or_else(|| context.records.get("note.head"));
    match note {
        None => CheckResult::pass(probe),
        Some(head) if *head == now && !now.is_empty() => CheckResult::pass(probe),
        Some(_) if context.notes.contains_key("note.superseded") => CheckResult::pass(probe),
        Some(_) if context.notes.contains_key("note.ignored") => CheckResult::pass(probe),
        Some(_) => CheckResult::fail(probe, "the note is older than the record"),
    }
}

async fn create_repository(context: &StepContext, services: &Services) -> Recovery {
    match git::init_repository(services, &context.tag, &context.workspace).await {
        Ok(_) => Recovery::done("made a history in the project folder"),
        Err(e @ git::InitError::Exists { .. }) => Recovery::not_applicable(&e.to_string()),
        Err(e) => Recovery::failed(&e.to_string()),
    }
}

/// Moves the locks of our own dead processes aside; with `run`, only those of that run.
async fn move_locks(
    context: &StepContext,
    services: &Services,
    run: Option<&str>,
) -> Result<usize, String> {
    let repo = Repo::locate(&context.board_dir).map_err(|fault| fault.to_string())?;
    let git = git::Git::new(services, &repo.top, &context.tag);
    let more = git::own_ref_locks(&git, &repo, &context.run).await;
    let aside = context.state_dir.join("moved-locks");
    git::move_own_aside(&repo, &aside, run, &more)
        .map_err(|e| format!("the lock can't be moved: {e}"))
}

async fn move_lock(context: &StepContext, services: &Services) -> Recovery {
    match move_locks(context, services, None).await {
        Ok(0) => Recovery::not_applicable("the lock is not our own"),
        Ok(n) => Recovery::done(&format!("moved {n} locks of a dead process of our own aside")),
        Err(why) => Recovery::failed(&why),
    }
}

#[async_trait]
impl Subsystem for CheckpointSubsystem {
    fn name(&self) -> &'static str {
        "checkpoint"
    }

    fn rows(&self) -> Vec<Row> {
        crate::ROWS.to_vec()
    }

    fn kinds(&self) -> Vec<KindInfo> {
        KINDS.to_vec()
    }

    fn step_faults(&self, step: &StepDef) -> Vec<ManifestFault> {
        unmade_check(step, false).into_iter().collect()
    }

    /// The outputs, and whether they were lost from the history since. The head itself is left
    /// out: it moves with every commit, this one's own included.
    async fn closure(
        &self,
        context: &StepContext,
        services: &Services,
    ) -> Result<Closure, Evidence> {
        let mut closure = Closure::default();
        if context.step.uses.as_str() == KIND_PUSH {
            let repo = Repo::locate(&context.board_dir).ok();
            let head = repo.and_then(|r| r.head()).and_then(|h| h.commit);
            closure.settings.insert("head".to_owned(), head.unwrap_or_default());
            return Ok(closure);
        }
        closure.files =
            context.phase_outputs.iter().map(|o| context.board_dir.join(&o.path)).collect();
        if unrecorded::no_repository(context) {
            // A history that is made later takes the results in.
            closure.settings.insert("history".to_owned(), "none".to_owned());
        } else if let Some(since) = kept::lost(context, services).await {
            closure.settings.insert("history".to_owned(), format!("lost since {since}"));
        }
        Ok(closure)
    }

    async fn run(&self, context: &StepContext, services: &Services) -> Observation {
        let services = &git::with_found_git(context, services);
        if context.step.uses.as_str() == KIND_PUSH {
            run_push(context, services).await
        } else {
            run_commit(context, services).await
        }
    }

    /// A commit that is there is answered as partial, never as landed: the attempt that follows
    /// finds it, makes no second one, gives the person's index its entries and records its id.
    async fn read_back(&self, context: &StepContext, services: &Services) -> ReadBack {
        let services = &git::with_found_git(context, services);
        if context.step.uses.as_str() == KIND_PUSH {
            return match remote(context, services).await.outcome {
                pcbflow_core::check::CheckOutcome::Pass => ReadBack::Landed,
                // Where nobody answers, nothing can be told. A branch that is uploaded twice is
                // there once, so the upload may be tried again when its time has come.
                pcbflow_core::check::CheckOutcome::Fail
                | pcbflow_core::check::CheckOutcome::CouldNotRun => ReadBack::Absent,
            };
        }
        // What this very run left behind when it was cut short.
        if let Err(error) = move_locks(context, services, Some(&context.run)).await {
            tracing::debug!(%error, "a lock of this run stays");
        }
        match git::already_landed(services, &context.tag, &git::wanted(context)).await {
            Ok(Some(_)) => ReadBack::Partial,
            // Whatever keeps git from answering keeps the attempt from committing, and is
            // diagnosed there.
            Ok(None) | Err(_) => ReadBack::Absent,
        }
    }

    async fn recover(
        &self,
        context: &StepContext,
        services: &Services,
        _class: &str,
        action: &str,
    ) -> Recovery {
        let services = &git::with_found_git(context, services);
        let (tag, dir) = (context.tag.as_str(), context.board_dir.as_path());
        match action {
            actions::COMMIT_OUTPUTS => {
                match git::commit(services, tag, &git::wanted(context)).await {
                    Ok(done) => {
                        Recovery::done("committed the outputs").note("commit", &done.commit)
                    }
                    Err(_) => Recovery::failed("the commit was refused"),
                }
            }
            actions::SNAPSHOT_OUTPUTS => keep(context, services, &snapshots(&context.state_dir)),
            actions::SNAPSHOT_ELSEWHERE => {
                let store = Snapshots::new(&self.elsewhere(context).join("snapshots"));
                keep(context, services, &store)
            }
            actions::CORRECT_RECORD => record::correct(context),
            actions::UNVERIFY_AFFECTED => {
                Recovery::done("what rests on the corrected facts is checked again")
                    .note("unverified", context.key.phase.as_str())
            }
            actions::READ_LIVE => Recovery::done("left the note aside and read what is there")
                .note("note.ignored", &head_text(context)),
            actions::SUPERSEDE_NOTE => Recovery::done("marked the note as superseded")
                .note("note.superseded", &head_text(context)),
            actions::TAKE_RECORDED_RESULT => {
                let seen = as_recorded(action, context, services, &context.phase_outputs);
                match seen.outcome {
                    pcbflow_core::check::CheckOutcome::Pass => {
                        Recovery::done("kept the recorded result").note("result", "recorded")
                    }
                    _ => Recovery::not_applicable(&seen.reason),
                }
            }
            actions::CREATE_REPOSITORY => create_repository(context, services).await,
            actions::MOVE_OWN_LOCK_ASIDE => move_lock(context, services).await,
            actions::FAST_FORWARD => git::fast_forward(services, tag, dir).await,
            actions::MERGE_TEXT_IN_SCRATCH => git::merge_text(services, tag, dir).await,
            actions::AGAIN_AT_PHASE_END => {
                Recovery::done("put the upload off to the end of the phase")
                    .note("again_at", "phase_end")
            }
            actions::FETCH_INTO_COPY => {
                let aside = self.elsewhere(context).join("history");
                git::fetch_into_copy(services, tag, dir, &aside).await
            }
            _ => Recovery::not_applicable("this subsystem has no such action"),
        }
    }

    async fn probe(&self, context: &StepContext, services: &Services, probe: &str) -> CheckResult {
        let services = &git::with_found_git(context, services);
        let (tag, dir) = (context.tag.as_str(), context.board_dir.as_path());
        let outputs = context.phase_outputs.as_slice();
        match probe {
            probes::OUTPUTS_KEPT => outputs_kept(context, services).await,
            probes::COMMIT_HOLDS_OUTPUTS => git::holds(services, tag, probe, dir, outputs).await,
            probes::FINISHED_UNCHANGED | probes::OUTPUT_EQUALS_RECORD => {
                as_recorded(probe, context, services, outputs)
            }
            probes::MANIFEST_EQUALS_LIVE => record::equals_live(context),
            probes::VALUE_IS_NEWEST => value_is_newest(context),
            probes::SCRATCH_COMMIT => git::scratch_commit(services, tag, dir).await,
            probes::INDEX_PARSES => git::index_parses(services, tag, dir).await,
            probes::MERGE_WHOLE => git::merge_whole(services, tag, dir).await,
            probes::REMOTE_EQUALS_LOCAL => remote(context, services).await,
            probes::HISTORY_SOUND => git::history_sound(services, tag, dir).await,
            _ => CheckResult::could_not_run(probe, "this subsystem has no such probe"),
        }
    }
}
