//! The probes of the rows: each looks afresh, and is other code than the action that it proves.

use pcbflow_core::check::CheckResult;
use tokio::time::Instant;

use crate::cdp::ms;
use crate::desk::{View, Want};
use crate::sheet;
use crate::signals;
use crate::steps::read_back::NETS_NOTE;
use crate::steps::{Step, save};
use crate::trouble::Trouble;

/// How soon a page that was freed must answer a fresh look, in milliseconds.
const ANSWERS_MS: u64 = 2_000;

/// Runs a probe.
pub(crate) async fn look(step: &mut Step<'_>, probe: &str) -> CheckResult {
    let seen = match probe {
        "page-answers" => step.page_answers().await,
        "browser-up" => step.is_up().await,
        "signed-in" => step.is_signed_in().await,
        "project-open" | "capabilities" | "document-in-focus" | "same-request" | "fresh-read" => {
            step.in_front(false).await.map(drop)
        }
        "project-picked" => step.is_picked().await,
        "one-window" => step.in_front(true).await.map(drop),
        "saved" => step.is_saved().await,
        "two-reads" => step.reads_agree().await,
        "pin-nets" => step.nets_are_there().await,
        // The next attempt searches afresh and is held against the parts list.
        "known-part" | "part-read-back" => step.in_front(false).await.map(drop),
        _ => return CheckResult::could_not_run(probe, "this probe comes with a later release"),
    };
    match seen {
        Ok(()) => CheckResult::pass(probe),
        Err(trouble) => CheckResult::fail(probe, &trouble.what),
    }
}

impl Step<'_> {
    /// The project can be found by what the step calls it, in a fresh list.
    async fn is_picked(&mut self) -> Result<(), Trouble> {
        let want = self.wanted_any()?;
        self.desk.forget_name(&want.project);
        self.in_front(false).await.map(drop)
    }

    async fn is_up(&mut self) -> Result<(), Trouble> {
        if self.desk.browser_answers().await {
            return Ok(());
        }
        Err(Trouble::failed("no browser answers"))
    }

    pub(crate) async fn is_signed_in(&mut self) -> Result<(), Trouble> {
        let signs = self.desk.second_sign_anew(self.settings, self.until).await?;
        if signs.iter().any(|s| s.code == signals::USER_WITH_ID) {
            return Ok(());
        }
        Err(Trouble::failed("nobody is signed in"))
    }

    /// A fresh evaluate answers.
    async fn page_answers(&mut self) -> Result<(), Trouble> {
        let want = self.wanted_any()?;
        let view = self.ready(&want).await?;
        let until = Instant::now() + ms(ANSWERS_MS);
        sheet::read(self.desk, &view, false, until).await.map(drop)
    }

    pub(crate) async fn in_front(&mut self, writes: bool) -> Result<View, Trouble> {
        let want = Want { writes, ..self.wanted_any()? };
        self.ready(&want).await
    }

    async fn is_saved(&mut self) -> Result<(), Trouble> {
        let want = self.want(save::METHODS, false)?;
        let view = self.ready(&want).await?;
        let seen = sheet::settled(self.desk, &view, false, self.until).await?;
        self.prove_saved(&view, &seen).await
    }

    pub(crate) async fn reads_agree(&mut self) -> Result<(), Trouble> {
        let view = self.in_front(false).await?;
        sheet::settled(self.desk, &view, false, self.until).await.map(drop)
    }

    async fn nets_are_there(&mut self) -> Result<(), Trouble> {
        let view = self.in_front(false).await?;
        let seen = sheet::settled(self.desk, &view, true, self.until).await?;
        if self.context.notes.contains_key(NETS_NOTE) {
            // The editor has had every chance: the attempt lists what is left.
            return Ok(());
        }
        match sheet::floating(&seen).first() {
            None => Ok(()),
            Some((part, pin)) => Err(Trouble::failed(&format!("pin {pin} of {part} has no net"))),
        }
    }
}
