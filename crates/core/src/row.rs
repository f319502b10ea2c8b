//! The failure row: one struct with everything the product knows about one kind of failure.
//!
//! Rows are consts in the crate of their family. A row without signals, ladder, recheck or text
//! does not compile, and [`crate::catalogue::Catalogue::fold`] refuses what the compiler can't see.

use serde::{Deserialize, Serialize};

use crate::evidence::Matcher;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Severity {
    /// Stops all work or risks losing it.
    S1,
    /// Blocks the current phase.
    S2,
    /// Degrades, or forces a manual step.
    S3,
    /// Cosmetic.
    S4,
}

/// When the person hears of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Notify {
    /// Healed in silence; the record has it.
    Never,
    /// Only when the ladder is at its end.
    IfExhausted,
    /// Each time.
    Always,
}

/// Who may do it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Autonomy {
    /// The product by itself.
    Alone,
    /// Only after a recorded yes.
    GoAhead,
    /// Only a person.
    Person,
}

/// Waits before a repetition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waits {
    /// Milliseconds before the first, second ... repetition. Their number is the number of
    /// repetitions that the rung allows.
    pub ms: &'static [u64],
    /// Jitter either way, in percent of the wait.
    pub jitter_percent: u8,
    /// Whether a `Retry-After` of the other side replaces the wait (at most ten minutes).
    pub honours_retry_after: bool,
}

/// Three retries after the first failure: 1 s, 4 s, 16 s, each with 25 % jitter either way.
pub const W3: Waits =
    Waits { ms: &[1_000, 4_000, 16_000], jitter_percent: 25, honours_retry_after: true };

/// A pause that all callers share: 120 s, then 240 s, with 10 % jitter.
pub const COOL: Waits =
    Waits { ms: &[120_000, 240_000], jitter_percent: 10, honours_retry_after: true };

/// The first pause of [`COOL`] only.
pub const COOL_ONCE: Waits =
    Waits { ms: &[120_000], jitter_percent: 10, honours_retry_after: true };

/// One immediate repetition.
pub const AT_ONCE: Waits = Waits { ms: &[0], jitter_percent: 0, honours_retry_after: false };

/// What a rung does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RungKind {
    /// Wait, then make the attempt again; the step's own check is the recheck.
    Retry(Waits),
    /// Make the attempt again with a deadline `factor` times as long, at most `ms_max`.
    RetryLonger {
        /// Factor on the deadline of the attempt that failed.
        factor: u32,
        /// Longest deadline in milliseconds.
        ms_max: u64,
    },
    /// Ask the step kind whether the effect is already there; absent leads to another attempt,
    /// found marks the step done, anything unclear climbs on.
    ReadBack,
    /// The subsystem carries out the action named by the rung's id; when it says done, the
    /// row's probe runs (if it has one), then the attempt is made again.
    Act,
    /// Give up work that can't be done now and go on with what does not depend on it. The step
    /// ends as not verified; no more rungs.
    GoOn,
    /// Checkpoint and ask the person.
    Ask,
}

/// One rung of a ladder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rung {
    /// Stable name; for [`RungKind::Act`] also the action that the subsystem must know.
    pub id: &'static str,
    /// What it does.
    pub kind: RungKind,
    /// Who may do it.
    pub autonomy: Autonomy,
    /// What it does, in words, for tables and technical records.
    pub what: &'static str,
    /// What the person is told was tried: one whole sentence, "I ...", past tense. It may hold
    /// the slots `{times}` ("once", "twice", "3 times"), `{count}`, `{part}`, `{parts}`,
    /// `{tool}`, `{step}`, `{items}`. Empty only for [`RungKind::Ask`].
    pub said: &'static str,
    /// Only for failures of these variants (their slot `variant`); empty = for all.
    pub only: &'static [&'static str],
}

impl Rung {
    /// Wait and repeat.
    #[must_use]
    pub const fn retry(
        id: &'static str,
        waits: Waits,
        what: &'static str,
        said: &'static str,
    ) -> Rung {
        Rung { id, kind: RungKind::Retry(waits), ..Rung::alone(what, said) }
    }
    /// Repeat with a longer deadline.
    #[must_use]
    pub const fn longer(
        id: &'static str,
        factor: u32,
        ms_max: u64,
        what: &'static str,
        said: &'static str,
    ) -> Rung {
        Rung { id, kind: RungKind::RetryLonger { factor, ms_max }, ..Rung::alone(what, said) }
    }
    /// Read back.
    #[must_use]
    pub const fn read_back(what: &'static str, said: &'static str) -> Rung {
        Rung { id: "read-back", kind: RungKind::ReadBack, ..Rung::alone(what, said) }
    }
    /// An action of the subsystem.
    #[must_use]
    pub const fn act(id: &'static str, what: &'static str, said: &'static str) -> Rung {
        Rung { id, ..Rung::alone(what, said) }
    }
    /// An action that needs a recorded yes.
    #[must_use]
    pub const fn act_with_go_ahead(
        id: &'static str,
        what: &'static str,
        said: &'static str,
    ) -> Rung {
        Rung { id, autonomy: Autonomy::GoAhead, ..Rung::alone(what, said) }
    }
    /// Go on without it.
    #[must_use]
    pub const fn go_on(id: &'static str, what: &'static str, said: &'static str) -> Rung {
        Rung { id, kind: RungKind::GoOn, ..Rung::alone(what, said) }
    }
    /// Ask.
    #[must_use]
    pub const fn ask() -> Rung {
        Rung {
            id: "ask",
            kind: RungKind::Ask,
            autonomy: Autonomy::Person,
            what: "save the place and ask",
            said: "",
            only: &[],
        }
    }

    const fn alone(what: &'static str, said: &'static str) -> Rung {
        Rung { id: "", kind: RungKind::Act, autonomy: Autonomy::Alone, what, said, only: &[] }
    }

    /// The same rung, only for failures of these variants.
    #[must_use]
    pub const fn only(mut self, variants: &'static [&'static str]) -> Rung {
        self.only = variants;
        self
    }

    /// How often this rung may run for one failure.
    #[must_use]
    pub const fn times(&self) -> usize {
        match self.kind {
            RungKind::Retry(waits) => waits.ms.len(),
            _ => 1,
        }
    }
}

/// What proves the cure. Always other code than the action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recheck {
    /// In words, for tables.
    pub what: &'static str,
    /// Probe of the subsystem that runs after an [`RungKind::Act`] rung and before the attempt
    /// is made again. Without one, the step's own check in the new attempt is the recheck.
    pub probe: Option<&'static str>,
}

/// How the product notices that the person did what was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resume {
    /// The person says 'retry'.
    Retry,
    /// The product polls this probe of the subsystem and goes on by itself.
    Watch(&'static str),
    /// Nothing is to be done ("Nothing.").
    Nothing,
}

/// Words for the person. Each field is a template with typed slots; the rubric in `humanize`
/// holds every one of them against the rules of the five-part message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Texts {
    /// What happened: one sentence of at most 14 words that stands alone.
    pub what: &'static str,
    /// Why: one or two sentences; `None` says "I don't know yet why."
    pub why: Option<&'static str>,
    /// Said after "Yes." when it was healed, besides that no work is lost: one sentence.
    pub healed: &'static str,
    /// The one action, without its full stop: starts with a verb of the closed list. Empty only
    /// with [`Resume::Nothing`].
    pub ask: &'static str,
    /// How it goes on after the action.
    pub resume: Resume,
    /// Kind of the ask for machines, such as `log_in`, `install_tool`, `pick_part`, `retry`.
    pub ask_kind: &'static str,
    /// Plain name of the tool or place the ask is about: a word of the closed list.
    pub tool: &'static str,
}

/// How a test makes this failure happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecipeKind {
    /// With the real tool.
    Real,
    /// With a real small program that behaves as the tool would.
    SmallProgram,
    /// Its subsystem's actions come in a later release; only the diagnosis is tested now.
    DiagnosisOnly,
}

/// Test recipe of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recipe {
    /// With what.
    pub kind: RecipeKind,
    /// How, in words.
    pub how: &'static str,
}

/// Budget of one episode of a failure of this class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowBudget {
    /// Most attempts of the step for one failure, the first included.
    pub attempts_max: u32,
    /// Longest time from the first failure to the last rung, in milliseconds.
    pub ladder_ms_max: u64,
}

/// One hour: enough for every ladder with a cool-down.
pub const BUDGET: RowBudget = RowBudget { attempts_max: 10, ladder_ms_max: 3_600_000 };

/// Whether the actions of the row's ladder exist in this release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Available {
    /// Yes.
    Now,
    /// They come with a later release; until then the ladder leads to the ask.
    Later(&'static str),
}

/// One kind of failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// Its id, such as `KI-6`. Never changes its meaning.
    pub id: &'static str,
    /// Short name for tables.
    pub title: &'static str,
    /// How bad.
    pub severity: Severity,
    /// How it is noticed; at least one.
    pub matchers: &'static [Matcher],
    /// Look-alikes, in words.
    pub not_this: &'static str,
    /// What is tried, in order; at least one rung.
    pub ladder: &'static [Rung],
    /// Its budget.
    pub budget: RowBudget,
    /// When the person hears of it.
    pub notify: Notify,
    /// What proves the cure.
    pub recheck: Recheck,
    /// Words for the person.
    pub texts: Texts,
    /// How it is tested.
    pub recipe: Recipe,
    /// Whether its actions exist yet.
    pub available: Available,
    /// A passing fault: used up retries end in "try later" instead of a stop.
    pub passing: bool,
}
