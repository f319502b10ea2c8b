//! What the tab of a project shows: signed in, the right project, the right document, all methods.

use pcbflow_core::evidence::{Signal, Source};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{Desk, Want, is_id, left_ms, script};
use crate::cdp::ms;
use crate::settings::marks;
use crate::signals;
use crate::trouble::Trouble;

/// Longest normal start of the editor, in milliseconds.
pub(super) const START_MS: u64 = 30_000;
/// Longest wait for one look, in milliseconds.
const LOOK_MS: u64 = 5_000;
/// Between two looks, in milliseconds.
const EACH_MS: u64 = 150;
/// How long a page must be drawn signed-out before it is believed, in milliseconds.
const SIGNED_OUT_MS: u64 = 1_500;
/// How long a lock of our own old tab may last, in milliseconds.
const LOCK_MS: u64 = 2_000;
/// Longest wait for a document to open, in milliseconds.
const OPEN_MS: u64 = 20_000;

/// The wanted document, in front.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct View {
    /// Id of the project.
    pub project: String,
    /// Id of the document.
    pub document: String,
    /// Id of its tab inside the editor.
    pub tab: String,
    /// Version of the editor.
    pub version: String,
}

fn text(look: &Value, key: &str) -> String {
    look.get(key).and_then(Value::as_str).unwrap_or("").to_owned()
}

fn is(look: &Value, key: &str) -> bool {
    look.get(key).and_then(Value::as_bool).unwrap_or(false)
}

impl Desk {
    /// Waits for the project and brings the document to the front.
    pub(super) async fn view(
        &mut self,
        project: &str,
        want: &Want,
        first_load: bool,
        until: Instant,
    ) -> Result<View, Trouble> {
        let mut look = self.look_until(project, want, first_load, until).await?;
        let missing: Vec<Signal> = look
            .get("missing")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .map(|name| Signal::new(Source::Report, signals::METHOD_MISSING).text(name))
            .collect();
        if !missing.is_empty() {
            return Err(Trouble::before("the editor lacks a method that the step needs", missing));
        }
        let document = wanted_document(&look, want)?;
        if text(&look, "document") != document {
            self.open_document(project, &document, until).await?;
            look = self.look_until(project, want, first_load, until).await?;
            if text(&look, "document") != document {
                let signal = Signal::new(Source::Report, signals::DOCUMENT_DIFFERS);
                return Err(Trouble::before("another document is in front", vec![signal]));
            }
        }
        if want.writes {
            look = self.unlocked(project, want, look, until).await?;
        }
        Ok(View {
            project: project.to_owned(),
            document,
            tab: text(&look, "tab"),
            version: text(&look, "version"),
        })
    }

    /// Looks until the project is there and somebody is signed in.
    pub(super) async fn look_until(
        &mut self,
        project: &str,
        want: &Want,
        first_load: bool,
        until: Instant,
    ) -> Result<Value, Trouble> {
        let begun = Instant::now();
        let end = until.min(begun + ms(START_MS));
        let window = self.session(project)?.window();
        let mut signed_out: Option<Instant> = None;
        let mut last = Value::Null;
        let mut moved = (None, begun);
        while Instant::now() < end {
            match self.look(project, want).await {
                Ok(look) => {
                    let progress = look.get("loading").and_then(Value::as_u64);
                    if progress != moved.0 {
                        moved = (progress, Instant::now());
                    }
                    if usable(&look, project) {
                        self.signed_in_earlier = true;
                        return Ok(look);
                    }
                    let out = is(&look, "root") && is(&look, "login") && look["user"].is_null();
                    signed_out = if out { signed_out.or(Some(Instant::now())) } else { None };
                    last = look;
                    if signed_out.is_some_and(|s| s.elapsed() > ms(SIGNED_OUT_MS)) {
                        break;
                    }
                }
                // It is still on its way from one page to the next.
                Err(trouble)
                    if trouble.ended == pcbflow_core::event::Ended::ConnectionLost
                        && !self.lost(project) => {}
                Err(trouble) => return Err(trouble),
            }
            tokio::time::sleep(ms(EACH_MS)).await;
        }
        let mut seen = window.map(|w| w.close().signals()).unwrap_or_default();
        // That the page was on its way at some time says nothing; whether it is now, the look says.
        seen.retain(|s| s.code != signals::PAGE_LOADING);
        let mut signals = self.why_not(&last, project, first_load);
        if moved.0.is_some() {
            let still = i64::try_from(moved.1.elapsed().as_millis()).unwrap_or(i64::MAX);
            signals.push(Signal::new(Source::Dom, signals::PROGRESS_STUCK).number(still));
        }
        let trouble = Trouble::before("the project is not to be seen in the editor", seen);
        Err(trouble.with(signals))
    }

    /// Whether tab or browser are gone for good.
    fn lost(&self, project: &str) -> bool {
        self.session(project).is_ok_and(|s| s.detached() || s.crashed().is_some())
            || self.browser.as_ref().is_none_or(|b| b.client().lost().is_some())
    }

    /// One look.
    pub(super) async fn look(&mut self, project: &str, want: &Want) -> Result<Value, Trouble> {
        let input = json!({ "marks": marks(), "methods": want.methods });
        let look = script(include_str!("../page/look.js"), &input, LOOK_MS);
        self.run(project, "looking at the editor", &look).await.map(|(answer, _)| answer)
    }

    /// What of a look says why the project is not there.
    fn why_not(&self, look: &Value, project: &str, first_load: bool) -> Vec<Signal> {
        let dom = |code: &str| Signal::new(Source::Dom, code);
        let cdp = |code: &str| Signal::new(Source::Cdp, code);
        let report = |code: &str| Signal::new(Source::Report, code);
        let own = |code: &str| Signal::new(Source::Own, code);
        let mut all = Vec::new();
        if text(look, "state") != "complete" {
            all.push(cdp(signals::PAGE_LOADING));
        }
        if !is(look, "root") {
            all.push(cdp(signals::ROOT_MISSING));
            return all;
        }
        if look["user"].is_null() {
            all.push(report(signals::USER_WITHOUT_ID));
            if is(look, "login") {
                all.push(dom(signals::LOGIN_VISIBLE));
            }
            if first_load && !self.signed_in_earlier {
                all.push(own(signals::FIRST_LOAD));
            }
            if self.signed_in_earlier {
                all.push(own(signals::SIGNED_IN_EARLIER));
            }
            return all;
        }
        all.push(report(signals::USER_WITH_ID));
        if !look["window"].is_null() {
            all.push(cdp(signals::DIALOG_OPEN).text("window"));
        }
        let open = text(look, "project");
        if open.is_empty() {
            all.push(report(signals::LISTS_EMPTY));
            all.push(report(signals::OPEN_UNDEFINED));
        } else if open != project {
            all.push(cdp(signals::PROJECT_ID_DIFFERS).text(&open));
        } else {
            all.push(report(signals::PROJECT_SET));
            all.push(report(signals::LISTS_EMPTY));
        }
        all
    }

    async fn open_document(
        &mut self,
        project: &str,
        document: &str,
        until: Instant,
    ) -> Result<(), Trouble> {
        let source = "return (await window._EXTAPI_ROOT_.dmt_EditorControl.openDocument(INPUT.uuid)) ?? null;";
        let input = json!({ "uuid": document });
        let open = script(source, &input, left_ms(until).min(OPEN_MS));
        let (answer, seen) = self.run(project, "opening the document", &open).await?;
        if answer.is_null() {
            let undefined = Signal::new(Source::Report, signals::OPEN_UNDEFINED);
            let trouble = Trouble::before("the document does not open", seen.signals());
            return Err(trouble.with(vec![undefined]));
        }
        Ok(())
    }

    /// Waits for a lock that an old tab of ours still holds; another's is a fault.
    async fn unlocked(
        &mut self,
        project: &str,
        want: &Want,
        look: Value,
        until: Instant,
    ) -> Result<Value, Trouble> {
        let end = until.min(Instant::now() + ms(LOCK_MS));
        let mut look = look;
        while !look["banner"].is_null() {
            if Instant::now() >= end {
                let banner = text(&look, "banner");
                let mut signals =
                    vec![Signal::new(Source::Dom, signals::LOCK_BANNER).text(&banner)];
                if self.closed_own_tab.is_some_and(|t| t.elapsed() < ms(LOCK_MS)) {
                    signals.push(Signal::new(Source::Own, signals::OWN_TAB_JUST_CLOSED));
                }
                return Err(Trouble::before("another window holds the edit lock", signals));
            }
            tokio::time::sleep(ms(EACH_MS)).await;
            look = self.look(project, want).await?;
        }
        Ok(look)
    }
}

fn usable(look: &Value, project: &str) -> bool {
    let documents = look.get("documents").and_then(Value::as_array).is_some_and(|d| !d.is_empty());
    let there = project.is_empty() || (text(look, "project") == project && documents);
    is(look, "root")
        && text(look, "state") == "complete"
        && !look["user"].is_null()
        && there
        && look["loading"].is_null()
}

/// Id of the wanted document among those of the project.
fn wanted_document(look: &Value, want: &Want) -> Result<String, Trouble> {
    let all = look.get("documents").and_then(Value::as_array);
    let of_kind: Vec<(String, String)> = all
        .into_iter()
        .flatten()
        .filter(|d| text(d, "kind") == want.kind.word())
        .map(|d| (text(d, "uuid"), text(d, "name")))
        .collect();
    let report = |code: &str, t: &str| Signal::new(Source::Report, code).text(t);
    let Some(wanted) = &want.document else {
        // The one that is in front already, else the first.
        let front = text(look, "document");
        let found = of_kind.iter().find(|(id, _)| *id == front).or(of_kind.first());
        return found.map(|(id, _)| id.clone()).ok_or_else(|| {
            let signals = vec![report(signals::LISTS_EMPTY, ""), report(signals::PROJECT_SET, "")];
            Trouble::before("the project has no such document", signals)
        });
    };
    let fits = |(id, name): &&(String, String)| id == wanted || (!is_id(wanted) && name == wanted);
    let found: Vec<&(String, String)> = of_kind.iter().filter(fits).collect();
    match found.as_slice() {
        [(id, _)] => Ok(id.clone()),
        _ => {
            let what = format!("{} documents are called {wanted}", found.len());
            Err(Trouble::before(
                &what,
                vec![
                    report(signals::OPEN_UNDEFINED, wanted),
                    report(signals::PROJECT_NOT_LISTED, wanted),
                ],
            ))
        }
    }
}
