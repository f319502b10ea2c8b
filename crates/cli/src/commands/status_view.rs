//! One board as `status` shows it.

use pcbflow_checkpoint::manifest;
use pcbflow_checkpoint::workspace::Workspace;
use pcbflow_core::catalogue::Catalogue;
use pcbflow_core::check::{Counts, Gate, PhaseVerdict};
use pcbflow_core::ids::{BoardName, StepKey};
use pcbflow_core::manifest::{COMMIT_STEP, SNAPSHOT_COMMIT};
use pcbflow_core::projection::{AskState, BoardState, Stage, StepState};
use pcbflow_core::text::one_line;
use serde_json::{Value, json};

use crate::compose;
use crate::reading::{self, Running};
use crate::settings::Settings;
use crate::story;
use crate::ui::{Label, Ui};

/// How a board stands, in one word of the closed list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// A process runs it.
    Running,
    /// An ask is open.
    NeedsYou,
    /// A run stopped without closing.
    CutShort,
    /// The last run was stopped on request, or by its storage.
    Stopped,
    /// A passing fault outlived its budget.
    TryLater,
    /// Something could not be checked.
    Unverified,
    /// Findings hold it.
    Findings,
    /// Every phase that has steps is done.
    Done,
    /// Some of it passed, nothing holds it.
    Open,
    /// It never ran.
    New,
    /// No phase has a step.
    Empty,
}

impl Standing {
    pub(super) fn word(self) -> &'static str {
        match self {
            Standing::Running => "running",
            Standing::NeedsYou => "needs you",
            Standing::CutShort => "cut short",
            Standing::Stopped => "stopped",
            Standing::TryLater => "try later",
            Standing::Unverified => "unverified",
            Standing::Findings => "findings",
            Standing::Done => "done",
            Standing::Open => "open",
            Standing::New => "not run yet",
            Standing::Empty => "no steps yet",
        }
    }

    fn label(self) -> Label {
        match self {
            Standing::Running => Label::Recovered,
            Standing::NeedsYou => Label::NeedsYou,
            Standing::CutShort | Standing::Stopped | Standing::Unverified => Label::Unverified,
            Standing::TryLater | Standing::Findings => Label::Failed,
            Standing::Done => Label::Ok,
            Standing::Open | Standing::New | Standing::Empty => Label::Dim,
        }
    }
}

/// A phase.
pub(super) struct PhaseView {
    id: String,
    verdict: Option<&'static str>,
    /// The verdict before an earlier phase was opened again: it says nothing about the board now.
    last_verdict: Option<&'static str>,
    done: bool,
    commit: Option<String>,
    counts: Counts,
    steps: usize,
    note: String,
}

/// An open ask with the literal command that answers it.
pub(super) struct AskView {
    id: String,
    says: String,
    /// Files and commands that it speaks of.
    beside: Vec<String>,
    command: String,
}

/// One board.
pub(super) struct BoardView {
    pub(super) name: BoardName,
    pub(super) state: BoardState,
    pub(super) current: Option<String>,
    standing: Standing,
    phases: Vec<PhaseView>,
    asks: Vec<AskView>,
    running: Option<Running>,
    fault: Option<String>,
    last_good: Option<(String, u64)>,
}

impl BoardView {
    pub(super) fn of(
        workspace: &Workspace,
        name: BoardName,
        state: BoardState,
        past: bool,
        alone: bool,
    ) -> BoardView {
        let running = if past { None } else { reading::running(&workspace.state_dir(), &name) };
        let (plan, fault) = plan(workspace, &name);
        let phases = phases(&plan, &state, running.is_some());
        let current = phases.iter().find(|p| p.steps > 0 && !p.done).map(|p| p.id.clone());
        let last_good = state
            .steps
            .iter()
            .filter(|(key, _)| key.step.as_str() != COMMIT_STEP)
            .filter_map(|(key, s)| s.pass.as_ref().map(|p| (key.to_string(), p.seq.0)))
            .max_by_key(|(_, seq)| *seq);
        let steps = fault.is_some()
            || !state.steps.is_empty()
            || phases.iter().any(|p| p.steps > 0 || p.verdict.is_some());
        let standing = if steps || running.is_some() {
            standing(&state, running.is_some(), current.is_some())
        } else {
            Standing::Empty
        };
        let asks = asks(&name, &state, alone);
        BoardView { name, state, current, standing, phases, asks, running, fault, last_good }
    }

    /// The literal command that goes on, if there is anything to go on with.
    pub(super) fn resume(&self) -> Option<String> {
        match self.standing {
            Standing::Running | Standing::Done | Standing::Empty => None,
            Standing::CutShort | Standing::Stopped | Standing::NeedsYou => {
                Some(format!("pcbflow resume {}", self.name))
            }
            _ => Some(format!("pcbflow run {}", self.name)),
        }
    }

    /// What tells a change: where the record ends and whether somebody runs it.
    pub(super) fn mark(&self) -> (Option<u64>, bool) {
        (self.state.head.map(|(seq, _)| seq.0), self.running.is_some())
    }

    /// The one line of a list, with the open asks below it.
    pub(super) fn short(&self, ui: &Ui, width: usize) -> Vec<String> {
        let place = self.current.as_deref().unwrap_or("");
        let mut lines = if ui.options.narrated {
            let at = self.current.as_ref().map_or(String::new(), |c| format!(", phase {c}"));
            vec![format!("Board {}{at}: {}.", self.name, self.standing.word())]
        } else {
            let name = format!("{:<width$}", self.name.as_str());
            let word = format!("{:<11}", self.standing.word());
            vec![
                format!("{name}  {}  {place}", ui.paint(self.standing.label(), &word))
                    .trim_end()
                    .to_owned(),
            ]
        };
        lines.extend(self.ask_lines(ui));
        lines
    }

    /// Everything about the board.
    pub(super) fn full(&self, ui: &Ui) -> Vec<String> {
        let mut lines = if ui.options.narrated {
            vec![format!("Board {}: {}.", self.name, self.standing.word())]
        } else {
            let word = ui.paint(self.standing.label(), self.standing.word());
            vec![format!("{}  {word}", ui.paint(Label::Heading, self.name.as_str()))]
        };
        if let Some(r) = &self.running {
            lines.push(format!("  Process {} on {} runs it since {}.", r.pid, r.host, r.since));
        }
        if let Some(fault) = &self.fault {
            lines.push(format!("  The project file can't be used: {}", one_line(fault)));
        }
        let empty = self.phases.iter().filter(|p| p.steps == 0 && p.verdict.is_none()).count();
        for phase in self.phases.iter().filter(|p| p.steps > 0 || p.verdict.is_some()) {
            lines.push(phase.line(ui));
        }
        match empty {
            0 => {}
            1 => lines.push("  1 phase has no steps yet.".to_owned()),
            n => lines.push(format!("  {n} phases have no steps yet.")),
        }
        if let Some((step, seq)) = &self.last_good {
            lines.push(format!("  Last good step: {step} (event {seq})."));
        }
        lines.extend(self.ask_lines(ui));
        if self.asks.is_empty()
            && let Some(resume) = self.resume()
        {
            let why = match self.standing {
                Standing::CutShort => "The last run stopped without an end. Go on with",
                Standing::Stopped => "The last run was stopped before its end. Go on with",
                Standing::New => "Start with",
                _ => "Go on with",
            };
            lines.push(format!("  {why}: {resume}"));
        }
        lines
    }

    fn ask_lines(&self, ui: &Ui) -> Vec<String> {
        let mut lines = Vec::new();
        for ask in &self.asks {
            if ui.options.narrated {
                lines.push(format!("  Ask {}: {} Answer with: {}", ask.id, ask.says, ask.command));
                lines.extend(ask.beside.iter().map(|line| format!("  {line}")));
                continue;
            }
            let id = ui.paint(Label::NeedsYou, &ask.id);
            lines.push(format!("  {id}  {}", ask.says));
            lines.extend(ask.beside.iter().map(|line| format!("      {line}")));
            lines.push(format!("      {}", ask.command));
        }
        lines
    }

    pub(super) fn json(&self) -> Value {
        let asks: Vec<Value> = self
            .state
            .open_asks()
            .zip(&self.asks)
            .map(|(ask, view)| {
                let mut value = serde_json::to_value(story::ask_out(ask)).unwrap_or_default();
                if let Some(map) = value.as_object_mut() {
                    map.insert("says".to_owned(), view.says.clone().into());
                    map.insert("answer".to_owned(), view.command.clone().into());
                }
                value
            })
            .collect();
        let phases: Vec<Value> = self
            .phases
            .iter()
            .map(|p| {
                json!({"phase": p.id, "verdict": p.verdict, "last_verdict": p.last_verdict,
                    "done": p.done, "commit": p.commit,
                    "counts": p.counts, "steps": p.steps, "note": p.note})
            })
            .collect();
        let steps: Vec<Value> = self
            .state
            .steps
            .iter()
            .map(|(key, s)| {
                json!({"phase": key.phase, "step": key.step, "standing": step_word(s),
                    "gate": s.gate(), "attempts": s.attempts,
                    "class": s.failure.as_ref().filter(|_| s.has_open_failure()).map(|f| &f.class)})
            })
            .collect();
        let run = self.state.run.as_ref().map(|r| {
            json!({"id": r.id, "started": r.started.to_string(), "stopped": r.stopped,
                "checks_only": r.checks_only})
        });
        json!({
            "board": self.name, "standing": self.standing.word().replace(' ', "_"), "phase": self.current,
            "phases": phases, "steps": steps, "asks": asks, "running": self.running, "run": run,
            "last_good_step": self.last_good.as_ref().map(|(step, _)| step),
            "seq": self.state.head.map(|(seq, _)| seq.0),
            "head": self.state.head.map(|(_, hash)| format!("blake3:{hash}")),
            "resume": self.resume(), "fault": self.fault,
        })
    }
}

impl PhaseView {
    fn line(&self, ui: &Ui) -> String {
        let verdict = self.verdict.unwrap_or("not judged");
        let label = match (self.verdict, self.done) {
            (Some("PASS" | "CONDITIONAL"), _) => Label::Ok,
            (Some("FAIL"), _) => Label::Failed,
            (Some(_), _) => Label::Unverified,
            (None, _) => Label::Dim,
        };
        let mut more = Vec::new();
        if self.counts.errors > 0 {
            more.push(count(self.counts.errors, "error"));
        }
        if self.counts.warnings > 0 {
            more.push(count(self.counts.warnings, "warning"));
        }
        if let Some(commit) = &self.commit {
            more.push(match commit.strip_prefix(SNAPSHOT_COMMIT) {
                Some(_) => "kept as a snapshot, in no history".to_owned(),
                None => format!("committed {}", commit.chars().take(10).collect::<String>()),
            });
        }
        if !self.note.is_empty() {
            more.push(self.note.clone());
        }
        let more = more.join(", ");
        if ui.options.narrated {
            let more = if more.is_empty() { more } else { format!(", {more}") };
            return format!("  Phase {}: {verdict}{more}.", self.id);
        }
        let word = ui.paint(label, &format!("{verdict:<11}"));
        format!("  {:<24}  {word}  {more}", self.id).trim_end().to_owned()
    }
}

fn count(n: u32, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// Phases of the project file with their steps, and why it can't be used, if so.
type Plan = Vec<(String, Vec<StepKey>)>;

fn plan(workspace: &Workspace, name: &BoardName) -> (Plan, Option<String>) {
    let path = workspace.board_dir(name).join(manifest::MANIFEST_NAME);
    match manifest::read(&path) {
        Ok(document) => {
            let phases = document.manifest.phases.into_iter().map(|phase| {
                let key = |step| StepKey { phase: phase.id.clone(), step };
                let steps = phase.steps.iter().map(|s| key(s.id.clone())).collect();
                (phase.id.to_string(), steps)
            });
            (phases.collect(), None)
        }
        Err(e) => (Vec::new(), Some(crate::error::chain(&e))),
    }
}

fn phases(plan: &Plan, state: &BoardState, running: bool) -> Vec<PhaseView> {
    let mut all = plan.clone();
    for (id, _) in state.phases.iter().filter(|(id, _)| !plan.iter().any(|p| p.0 == id.as_str())) {
        // No longer in the project file: what was judged stays visible.
        all.push((id.to_string(), Vec::new()));
    }
    let mut list: Vec<PhaseView> = all
        .into_iter()
        .map(|(id, keys)| {
            let known = state.phases.iter().find(|(p, _)| p.as_str() == id).map(|(_, p)| p);
            PhaseView {
                verdict: known.and_then(|p| p.verdict).map(|(v, _)| v.word()),
                last_verdict: None,
                done: known.is_some_and(pcbflow_core::projection::PhaseState::is_done),
                commit: known.and_then(|p| p.commit.clone()),
                counts: known.map(|p| p.counts).unwrap_or_default(),
                note: note(state, &id, running),
                steps: keys.len(),
                id,
            }
        })
        .collect();
    let open = list.iter().position(|p| p.steps > 0 && !p.done);
    for later in list.iter_mut().skip(open.map_or(usize::MAX, |at| at.saturating_add(1))) {
        if let Some(verdict) = later.verdict.filter(|_| later.done) {
            later.last_verdict = Some(verdict);
            later.verdict = Some(PhaseVerdict::Pending.word());
            later.done = false;
            later.note = format!("{verdict} before, not checked since");
        }
    }
    list
}

/// The first step of a phase that stands in the way, in words.
fn note(state: &BoardState, phase: &str, running: bool) -> String {
    let steps = state.steps.iter().filter(|(key, _)| key.phase.as_str() == phase);
    for (key, step) in steps {
        let what = match &step.stage {
            Stage::Done { .. } | Stage::Planned => continue,
            Stage::Held { gate: Gate::Fail } => "has findings",
            Stage::Held { .. } => "could not be checked",
            Stage::Escalated { try_later: true } => "is to be tried later",
            Stage::Escalated { .. } => "waits for you",
            _ if running => "is running",
            _ => "was cut short",
        };
        return format!("step '{}' {what}", key.step);
    }
    String::new()
}

fn step_word(step: &StepState) -> &'static str {
    match &step.stage {
        Stage::Planned => "planned",
        Stage::Done { .. } if step.healed.is_some() => "recovered",
        Stage::Done { .. } => "ok",
        Stage::Held { gate: Gate::Fail } => "findings",
        Stage::Held { .. } => "unverified",
        Stage::Escalated { try_later: true } => "try_later",
        Stage::Escalated { .. } => "needs_person",
        _ => "open",
    }
}

fn standing(state: &BoardState, running: bool, open: bool) -> Standing {
    let any = |wanted: &dyn Fn(&Stage) -> bool| state.steps.values().any(|s| wanted(&s.stage));
    if running {
        return Standing::Running;
    }
    if state.open_asks().next().is_some() {
        return Standing::NeedsYou;
    }
    if state.open_run().is_some() {
        return Standing::CutShort;
    }
    if was_stopped(state) {
        return Standing::Stopped;
    }
    if any(&|s| matches!(s, Stage::Escalated { try_later: true })) {
        return Standing::TryLater;
    }
    if any(&|s| matches!(s, Stage::Held { gate: Gate::Empty | Gate::Blocked })) {
        return Standing::Unverified;
    }
    if any(&|s| matches!(s, Stage::Held { .. })) {
        return Standing::Findings;
    }
    match (state.run.is_some(), open) {
        (false, _) => Standing::New,
        (true, false) => Standing::Done,
        (true, true) => Standing::Open,
    }
}

/// Whether the last run was ended from outside: what it had not come to is as it was before. A look
/// at checks alone leaves nothing to go on with.
fn was_stopped(state: &BoardState) -> bool {
    let ended = ["interrupted", "terminated", "storage"];
    let by = |word: &String| ended.contains(&word.as_str());
    state.run.as_ref().is_some_and(|r| !r.checks_only && r.stopped.as_ref().is_some_and(by))
}

/// The open asks in the words of their rows. The table of rows is made only when there are any.
fn asks(board: &BoardName, state: &BoardState, alone: bool) -> Vec<AskView> {
    if state.open_asks().next().is_none() {
        return Vec::new();
    }
    let catalogue: Option<Catalogue> = compose::catalogue(&Settings::default()).ok();
    let view = |ask: &AskState| AskView {
        id: ask.id.to_string(),
        says: story::asked(catalogue.as_ref(), board, state, ask),
        beside: ask.step.as_ref().map(|k| story::beside_lines(state, k)).unwrap_or_default(),
        command: story::answer_command(ask, Some(board).filter(|_| !alone)),
    };
    state.open_asks().map(view).collect()
}
