//! Progress of a run: one line a step on standard error, JSON lines with `--events`, a quiet
//! spinner on a terminal from the first step on.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use pcbflow_core::catalogue::Catalogue;
use pcbflow_core::check::Gate;
use pcbflow_core::event::{Event, Fact};
use pcbflow_core::ids::{BoardName, StepKey};
use pcbflow_core::manifest::COMMIT_STEP;
use pcbflow_core::ports::Progress;
use pcbflow_core::time::Timestamp;
use pcbflow_humanize::message::Part;
use pcbflow_humanize::slots::Slots;
use pcbflow_humanize::story::{Outcome, Story};

use crate::story;
use crate::ui::{Label, Ui};

/// How often the spinner moves, in milliseconds.
const SPINNER_TICK_MS: u64 = 200;

/// Shows how a run goes.
pub struct LineProgress {
    ui: Ui,
    catalogue: Arc<Catalogue>,
    state: Mutex<Shown>,
}

#[derive(Default)]
struct Shown {
    running: BTreeMap<String, Timestamp>,
    took: BTreeMap<String, u64>,
    healed: BTreeMap<String, String>,
    bar: Option<ProgressBar>,
    several_boards: bool,
}

impl LineProgress {
    /// Progress through `ui`. With several boards each line names its board.
    #[must_use]
    pub fn new(ui: Ui, catalogue: Arc<Catalogue>, several_boards: bool) -> LineProgress {
        let shown = Shown { several_boards, ..Shown::default() };
        LineProgress { ui, catalogue, state: Mutex::new(shown) }
    }

    fn shown(&self) -> MutexGuard<'_, Shown> {
        // A panic elsewhere while a line was printed leaves nothing half done here.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the spinner away.
    pub fn end(&self) {
        if let Some(bar) = self.shown().bar.take() {
            bar.finish_and_clear();
        }
    }

    fn say(&self, shown: &Shown, line: &str) {
        match &shown.bar {
            Some(bar) => bar.suspend(|| self.ui.say(line)),
            None => self.ui.say(line),
        }
    }

    fn spin(&self, shown: &mut Shown) {
        let wanted = self.ui.progress()
            && !self.ui.machine()
            && self.ui.is_terminal()
            && !self.ui.options.narrated;
        if !wanted {
            return;
        }
        if shown.bar.is_none() {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} {elapsed}") {
                bar.set_style(style);
            }
            bar.enable_steady_tick(Duration::from_millis(SPINNER_TICK_MS));
            shown.bar = Some(bar);
        }
        if let Some(bar) = &shown.bar {
            let names: Vec<&str> = shown.running.keys().map(String::as_str).collect();
            bar.set_message(names.join(", "));
        }
    }

    fn line(&self, shown: &Shown, board: &BoardName, label: Label, word: &str, what: &str) {
        let board = if shown.several_boards { format!("{board}  ") } else { String::new() };
        let line = if self.ui.options.narrated {
            format!("{board}{what}: {word}.")
        } else {
            format!("{} {board}{what}", self.ui.paint(label, &format!("{word:<11}")))
        };
        self.say(shown, &line);
    }

    fn show(&self, event: &Event) {
        let mut shown = self.shown();
        let Some(board) = event.stream.board().cloned() else { return };
        let key = event.step_key();
        let name = key.as_ref().map(ToString::to_string).unwrap_or_default();
        match &event.fact {
            Fact::AttemptStarted { .. } => {
                shown.running.insert(name, event.at);
                self.spin(&mut shown);
            }
            Fact::AttemptFinished { took_ms, .. } => {
                shown.running.remove(&name);
                shown.took.insert(name, *took_ms);
                self.spin(&mut shown);
            }
            Fact::StepRecovered { class, .. } => {
                shown.healed.insert(name, class.to_string());
            }
            // The line with the commit's id says it.
            Fact::StepPassed { .. } if name.ends_with(COMMIT_STEP) => {}
            Fact::StepPassed { gate, .. } => {
                let took = shown.took.get(&name).map(|ms| seconds(*ms)).unwrap_or_default();
                let (label, word) = if shown.healed.remove(&name).is_some() {
                    (Label::Recovered, "recovered")
                } else if *gate == Gate::Warn {
                    (Label::Ok, "ok, notes")
                } else {
                    (Label::Ok, "ok")
                };
                self.line(&shown, &board, label, word, &format!("{name}{took}"));
            }
            Fact::StepSkipped { .. } => {
                self.line(&shown, &board, Label::Dim, "up to date", &name);
            }
            Fact::StepHeld { gate } => {
                let (label, word) = match gate {
                    Gate::Fail => (Label::Failed, "findings"),
                    Gate::Empty => (Label::Unverified, "empty"),
                    _ => (Label::Unverified, "unverified"),
                };
                self.line(&shown, &board, label, word, &name);
            }
            Fact::StepEscalated { try_later: true, .. } => {
                self.line(&shown, &board, Label::Failed, "try later", &name);
            }
            Fact::AskRaised { .. } => {
                self.line(&shown, &board, Label::NeedsYou, "needs you", &name)
            }
            Fact::FailureDiagnosed { class, slots, .. } => {
                let what = self.what(class.as_str(), slots, &board, key.as_ref());
                self.line(&shown, &board, Label::NeedsYou, "trouble", &format!("{name}: {what}"));
            }
            Fact::PhaseVerdictGiven { verdict, .. } => {
                let phase = event.phase().map(ToString::to_string).unwrap_or_default();
                self.line(
                    &shown,
                    &board,
                    Label::Heading,
                    "phase",
                    &format!("{phase}: {}", verdict.word()),
                );
            }
            Fact::OutputsCommitted { commit } => {
                let short: String = commit.chars().take(10).collect();
                self.line(&shown, &board, Label::Dim, "committed", &short);
            }
            _ => {}
        }
    }

    /// What happened, in the words of the class.
    fn what(
        &self,
        class: &str,
        slots: &BTreeMap<String, String>,
        board: &BoardName,
        key: Option<&StepKey>,
    ) -> String {
        let row = pcbflow_core::ids::ClassId::new(class).ok().and_then(|c| self.catalogue.row(&c));
        let Some(row) = row else { return class.to_owned() };
        let mut told = Story::new(row, story::place(board, key), Outcome::Waiting);
        told.slots = Slots::from_evidence(slots).0;
        told.variant = slots.get("variant").cloned();
        told.message()
            .map_or_else(|_| row.title.to_owned(), |m| m.part(Part::What).as_str().to_owned())
    }
}

fn seconds(ms: u64) -> String {
    format!("  {}.{} s", ms / 1000, ms % 1000 / 100)
}

impl Progress for LineProgress {
    fn doing(&self, _key: &StepKey, _text: &str) {
        let mut shown = self.shown();
        self.spin(&mut shown);
    }

    fn appended(&self, events: &[Event]) {
        for event in events {
            if self.ui.options.events {
                let mut value = serde_json::to_value(event).unwrap_or_default();
                if let Some(map) = value.as_object_mut() {
                    map.insert("type".to_owned(), "event".into());
                }
                self.ui.raw(&value.to_string());
            } else if !self.ui.machine() {
                self.show(event);
            }
        }
    }
}
