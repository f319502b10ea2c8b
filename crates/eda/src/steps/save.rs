//! Saving, and the proof of it: a fresh load of the document shows the same objects.
//!
//! An answer of `true` proves nothing. A request that changes something and was answered is a
//! witness; what the document holds when it is loaded again is the proof.

use pcbflow_core::check::CheckResult;
use pcbflow_core::evidence::{Signal, Source};
use pcbflow_core::ports::Observation;
use serde_json::{Value, json};

use super::{Step, checked};
use crate::cdp::Seen;
use crate::desk::{View, left_ms, script};
use crate::sheet::{self, Sheet};
use crate::signals;
use crate::trouble::Trouble;

/// Longest wait for the answer of a save, in milliseconds.
const SAVE_MS: u64 = 20_000;
/// Longest wait for a document to be closed and loaded again, in milliseconds.
const REOPEN_MS: u64 = 20_000;
/// Methods that saving calls.
pub(crate) const METHODS: &[&str] = &[
    "sch_Document.save",
    "dmt_EditorControl.closeDocument",
    "dmt_EditorControl.openDocument",
    "dmt_SelectControl.getCurrentDocumentInfo",
    "sch_PrimitiveComponent.getAll",
    "sch_PrimitiveWire.getAll",
];

const SAVE: &str = "return (await window._EXTAPI_ROOT_.sch_Document.save()) ?? null;";
const REOPEN: &str = "const control = window._EXTAPI_ROOT_.dmt_EditorControl; \
                      const closed = await control.closeDocument(INPUT.tab); \
                      const opened = await control.openDocument(INPUT.document); \
                      return { closed: closed ?? null, opened: opened ?? null };";

impl Step<'_> {
    pub(super) async fn save_step(&mut self) -> Result<Observation, Trouble> {
        let want = self.want(METHODS, true)?;
        let view = self.ready(&want).await?;
        let before = sheet::settled(self.desk, &view, false, self.until).await?;
        self.save(&view, &before).await?;
        let summary = format!("saved, and read again: {} objects", before.records.len());
        Ok(checked(CheckResult::pass("saved"), &summary, Some(&view)))
    }

    /// Saves and proves it; `wanted` is what the document holds now.
    pub(crate) async fn save(&mut self, view: &View, wanted: &Sheet) -> Result<(), Trouble> {
        self.services.progress.doing(&self.context.key, "saving in EasyEDA");
        if !self.save_once(view).await? {
            // No request was seen. Before anything is loaded again it is asked for once more.
            self.save_once(view).await?;
        }
        self.prove_saved(view, wanted).await
    }

    /// Only calls save.
    pub(crate) async fn save_only(&mut self, view: &View) -> Result<bool, Trouble> {
        self.save_once(view).await
    }

    /// Calls save; whether a request that changes something was seen to succeed meanwhile.
    async fn save_once(&mut self, view: &View) -> Result<bool, Trouble> {
        let save = script(SAVE, &json!({}), left_ms(self.until).min(SAVE_MS));
        let report = |code: &str| Signal::new(Source::Report, code);
        let (answer, seen) = match self.desk.run(&view.project, "saving", &save).await {
            Ok(done) => done,
            Err(trouble) => {
                let code = match trouble.ended {
                    pcbflow_core::event::Ended::ConnectionLost => {
                        Signal::new(Source::Cdp, signals::GONE_BEFORE_SAVE)
                    }
                    _ => Signal::new(Source::Own, signals::SAVE_UNANSWERED),
                };
                return Err(trouble.with(vec![code]));
            }
        };
        if answer != Value::Bool(true) {
            let trouble = Trouble::seen("EasyEDA did not save", seen.signals());
            return Err(trouble.with(vec![report(signals::SAVE_FALSE)]));
        }
        Ok(wrote(&seen, view))
    }

    /// Loads the document again and compares.
    pub(crate) async fn prove_saved(&mut self, view: &View, wanted: &Sheet) -> Result<(), Trouble> {
        let input = json!({ "tab": view.tab, "document": view.document });
        let reopen = script(REOPEN, &input, left_ms(self.until).min(REOPEN_MS));
        let what = "loading the drawing again";
        let (answer, seen) = self.desk.run(&view.project, what, &reopen).await?;
        if answer.get("opened").is_none_or(Value::is_null) {
            let undefined = Signal::new(Source::Report, signals::OPEN_UNDEFINED);
            let trouble = Trouble::seen("the drawing does not open again", seen.signals());
            return Err(trouble.with(vec![undefined]));
        }
        let again = sheet::settled(self.desk, view, false, self.until).await?;
        let ids = |s: &Sheet| s.records.keys().cloned().collect::<Vec<_>>();
        if ids(&again) == ids(wanted) {
            return Ok(());
        }
        let report = |code: &str| Signal::new(Source::Report, code);
        let what =
            format!("saved {} objects, loaded {} again", wanted.records.len(), again.records.len());
        Err(Trouble::seen(
            &what,
            vec![report(signals::SAVE_TRUE), report(signals::REVISION_UNMOVED)],
        ))
    }
}

/// Whether the window saw a request about this document or project that changes something and was
/// answered.
fn wrote(seen: &Seen, view: &View) -> bool {
    let about = |path: &str| path.contains(&view.document) || path.contains(&view.project);
    seen.written.iter().any(|(_, path)| about(path))
}
