//! Progress of a run: one line a step on standard error, JSON lines with `--events`, a quiet
//! spinner on a terminal from the first step on.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use pcbflow_core::catalogue::Catalogue;
use pcbflow_core::check::Gate;
use pcbflow_core::event::{Event, Fact};
use pcbflow_core::ids::{BoardName, StepKey};
use pcbflow_core::manifest::{COMMIT_STEP, SNAPSHOT_COMMIT};
use pcbflow_core::ports::Progress;
use pcbflow_core::text::one_line;
use pcbflow_humanize::message::Part;
use pcbflow_humanize::slots::Slots;
use pcbflow_humanize::story::{Outcome, Story};

use crate::story;
use crate::ui::{Label, Ui};

/// How often the spinner moves, in milliseconds.
const SPINNER_TICK_MS: u64 = 200;
/// Silence, in milliseconds, after which a line says that the work goes on, where no spinner does.
const ALIVE_AFTER_MS: u64 = 30_000;
/// How often it is looked whether that line is due, in milliseconds.
const ALIVE_LOOK_MS: u64 = 1_000;
/// Most characters of what a step says of itself.
const DOING_CHARS_MAX: usize = 60;

/// Shows how a run goes.
pub struct LineProgress {
    ui: Ui,
    catalogue: Arc<Catalogue>,
    state: Mutex<Shown>,
    began: Instant,
}

/// A step under way.
struct Running {
    /// When it began, in milliseconds since the start.
    since_ms: u64,
    /// What it says of itself.
    doing: String,
}

#[derive(Default)]
struct Shown {
    running: BTreeMap<String, Running>,
    /// When the last line was said, in milliseconds since the start.
    said_ms: u64,
    took: BTreeMap<String, u64>,
    healed: BTreeMap<String, String>,
    bar: Option<ProgressBar>,
    several_boards: bool,
}

impl Shown {
    /// How a step is called: with several boards its board comes first.
    fn name(&self, board: &BoardName, step: &str) -> String {
        if self.several_boards { format!("{board}  {step}") } else { step.to_owned() }
    }

    /// What runs, in one line for the spinner.
    fn working(&self) -> String {
        let one = |(name, running): (&String, &Running)| match running.doing.as_str() {
            "" => name.clone(),
            doing => format!("{name}: {doing}"),
        };
        self.running.iter().map(one).collect::<Vec<_>>().join(", ")
    }

    /// The lines that are due after a long silence: one for each step under way.
    fn alive_lines(&mut self, now_ms: u64) -> Vec<String> {
        if self.running.is_empty() || now_ms.saturating_sub(self.said_ms) < ALIVE_AFTER_MS {
            return Vec::new();
        }
        self.said_ms = now_ms;
        let one = |(name, running): (&String, &Running)| {
            let took = seconds(now_ms.saturating_sub(running.since_ms));
            let doing = if running.doing.is_empty() { "" } else { ": " };
            format!("{:<11} {name}{took}{doing}{}", "goes on", running.doing)
        };
        self.running.iter().map(one).collect()
    }
}

impl LineProgress {
    /// Progress through `ui`. With several boards each line names its board.
    #[must_use]
    pub fn new(ui: Ui, catalogue: Arc<Catalogue>, several_boards: bool) -> LineProgress {
        let shown = Shown { several_boards, ..Shown::default() };
        LineProgress { ui, catalogue, state: Mutex::new(shown), began: Instant::now() }
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

    fn now_ms(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Says now and then what goes on, for as long as it is polled: in a log of a CI run, half an
    /// hour without a word looks like a hang. Where a spinner turns or a machine reads, nothing.
    pub async fn alive(&self) {
        let wanted = self.ui.progress() && !self.ui.machine() && !self.ui.is_terminal();
        if !wanted {
            return;
        }
        let mut tick = tokio::time::interval(Duration::from_millis(ALIVE_LOOK_MS));
        // Ends with the run, which drops this future.
        loop {
            tick.tick().await;
            let mut shown = self.shown();
            let now_ms = self.now_ms();
            for line in shown.alive_lines(now_ms) {
                self.ui.say(&line);
            }
        }
    }

    fn say(&self, shown: &mut Shown, line: &str) {
        shown.said_ms = self.now_ms();
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
            bar.set_message(shown.working());
        }
    }

    fn line(&self, shown: &mut Shown, board: &BoardName, label: Label, word: &str, what: &str) {
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
                let running = Running { since_ms: self.now_ms(), doing: String::new() };
                let name = shown.name(&board, &name);
                shown.running.insert(name, running);
                self.spin(&mut shown);
            }
            Fact::AttemptFinished { took_ms, .. } => {
                let shown_as = shown.name(&board, &name);
                shown.running.remove(&shown_as);
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
                self.line(&mut shown, &board, label, word, &format!("{name}{took}"));
            }
            Fact::StepSkipped { .. } => {
                self.line(&mut shown, &board, Label::Dim, "up to date", &name);
            }
            Fact::StepHeld { gate } => {
                let (label, word) = match gate {
                    Gate::Fail => (Label::Failed, "findings"),
                    Gate::Empty => (Label::Unverified, "empty"),
                    _ => (Label::Unverified, "unverified"),
                };
                self.line(&mut shown, &board, label, word, &name);
            }
            Fact::StepEscalated { try_later: true, .. } => {
                self.line(&mut shown, &board, Label::Failed, "try later", &name);
            }
            Fact::AskRaised { .. } => {
                self.line(&mut shown, &board, Label::NeedsYou, "needs you", &name)
            }
            Fact::FailureDiagnosed { class, slots, .. } => {
                let what = self.what(class.as_str(), slots, &board, key.as_ref());
                self.line(
                    &mut shown,
                    &board,
                    Label::NeedsYou,
                    "trouble",
                    &format!("{name}: {what}"),
                );
            }
            Fact::PhaseVerdictGiven { verdict, .. } => {
                let phase = event.phase().map(ToString::to_string).unwrap_or_default();
                self.line(
                    &mut shown,
                    &board,
                    Label::Heading,
                    "phase",
                    &format!("{phase}: {}", verdict.word()),
                );
            }
            Fact::OutputsCommitted { commit } => {
                let (word, id) = match commit.strip_prefix(SNAPSHOT_COMMIT) {
                    Some(id) => ("snapshot", id),
                    None => ("committed", commit.as_str()),
                };
                let short: String = id.chars().take(10).collect();
                self.line(&mut shown, &board, Label::Dim, word, &short);
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
    fn doing(&self, key: &StepKey, text: &str) {
        let mut shown = self.shown();
        let end = format!("  {key}");
        let name = key.to_string();
        let of_step = |n: &String| *n == name || n.ends_with(&end);
        let mut found = shown.running.iter_mut().filter(|(n, _)| of_step(n));
        // Of two boards with such a step it can't be told which one speaks.
        if let (Some((_, running)), None) = (found.next(), found.next()) {
            running.doing = one_line(text).chars().take(DOING_CHARS_MAX).collect();
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_silence_is_broken_by_one_line_a_step() {
        let mut shown = Shown::default();
        assert!(shown.alive_lines(10 * ALIVE_AFTER_MS).is_empty(), "nothing runs");
        for (name, doing) in [("a/drc", "checking the design rules"), ("b/make", "")] {
            let running = Running { since_ms: 500, doing: doing.to_owned() };
            shown.running.insert(name.to_owned(), running);
        }
        assert!(shown.alive_lines(ALIVE_AFTER_MS - 1).is_empty());
        assert_eq!(
            shown.alive_lines(ALIVE_AFTER_MS + 600),
            ["goes on     a/drc  30.1 s: checking the design rules", "goes on     b/make  30.1 s"]
        );
        assert!(shown.alive_lines(ALIVE_AFTER_MS + 700).is_empty(), "said only now");
        assert_eq!(shown.working(), "a/drc: checking the design rules, b/make");
    }
}
