//! What can be done about a tab or browser that does not work, the cheapest first. The order is
//! the ladder's business.

use serde_json::{Value, json};
use tokio::time::Instant;

use super::{ASK_MS, Desk, Tab, Want, is_id, left_ms, script};
use crate::cdp::{Script, ms};
use crate::hang::{DialogAnswer, FREED_MS, LOOK_MS, NEW_TAB_MS, PROBE_MS, TERMINATE_MS, Usable};
use crate::settings::{EditorSettings, marks};
use crate::trouble::Trouble;

/// Most dialogs that are answered in a row.
const DIALOGS_MAX: usize = 5;
/// How long a page must keep running after it was freed, in milliseconds: a loop that a timer
/// enters again comes back within it.
const SETTLE_MS: u64 = 300;
/// How long a click on Login may take, in milliseconds.
const CLICK_MS: u64 = 3_000;

/// What the browser and the events say of a tab.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Nothing is known against it.
    Open,
    /// A dialog is open.
    Dialog,
    /// Its process is gone.
    Crashed,
    /// It is not there any more.
    Gone,
}

impl Desk {
    /// Id of the wanted project, when it is known without asking.
    pub fn known(&self, want: &Want) -> Option<String> {
        if is_id(&want.project) {
            return Some(want.project.clone());
        }
        self.names.get(&want.project).cloned()
    }

    /// How a tab stands, as far as is known without asking the page.
    pub async fn standing(&mut self, project: &str) -> Standing {
        let Ok(session) = self.session(project) else { return Standing::Gone };
        let target = session.target().to_owned();
        let (crashed, dialog) = (session.crashed().is_some(), session.dialog().is_some());
        let detached = session.detached();
        let listed = match self.client() {
            Ok(client) => client.targets(ms(LOOK_MS)).await,
            Err(_) => return Standing::Gone,
        };
        if detached || !listed.is_ok_and(|all| all.iter().any(|t| t.id == target)) {
            Standing::Gone
        } else if crashed {
            Standing::Crashed
        } else if dialog {
            Standing::Dialog
        } else {
            Standing::Open
        }
    }

    /// The second sign, with a browser that is started for it if none is there.
    pub async fn second_sign_anew(
        &mut self,
        settings: &EditorSettings,
        until: Instant,
    ) -> Result<Vec<pcbflow_core::evidence::Signal>, Trouble> {
        self.browser_up(settings, until).await?;
        self.second_sign(settings, until).await
    }

    /// Forgets the id of a project that was given by name.
    pub fn forget_name(&mut self, name: &str) {
        self.names.remove(name);
    }

    /// Forgets a tab that is gone; the next step opens another.
    pub fn forget(&mut self, project: &str) {
        self.tabs.remove(project);
    }

    /// Answers open dialogs. What a dialog would lead to does not happen, but for leaving a page.
    pub async fn answer_dialogs(&mut self, project: &str) -> Result<bool, Trouble> {
        let session = self.session(project)?;
        for _ in 0..DIALOGS_MAX {
            let Some(dialog) = session.dialog() else { break };
            let leave = dialog.kind == "beforeunload";
            if let Err(error) = session.answer_dialog(leave, ms(PROBE_MS)).await {
                tracing::debug!(%error, "a dialog was gone before it was answered");
            }
            if session.answers(ms(PROBE_MS)).await {
                break;
            }
        }
        Ok(session.dialog().is_none() && self.settles(project, PROBE_MS).await)
    }

    /// Whether the page answers and goes on to: its timers run.
    pub async fn settles(&self, project: &str, within_ms: u64) -> bool {
        let Ok(session) = self.session(project) else { return false };
        let wait = format!("return await new Promise(r => setTimeout(() => r(2), {SETTLE_MS}));");
        let script = Script::body(&wait, ms(within_ms + SETTLE_MS));
        session.evaluate(&script).await == Ok(Some(Value::from(2)))
    }

    /// Ends the script that runs in the page; what the page holds stays. Whether it runs again.
    pub async fn end_script(&mut self, project: &str) -> Result<bool, Trouble> {
        let stopped = self.session(project)?.terminate(ms(TERMINATE_MS)).await;
        Ok(stopped.is_ok() && self.settles(project, FREED_MS).await)
    }

    /// Loads the page of a tab again; a crashed one comes back. What was not saved is lost.
    pub async fn reload(&mut self, project: &str) -> Result<(), Trouble> {
        let session = self.session(project)?;
        let asked = session.reload(ms(ASK_MS)).await;
        asked.map_err(|e| Trouble::of_call("loading the tab again", &e))
    }

    /// Opens a new tab for the project, waits until it is usable, and only then closes the old
    /// one. What the old one had not saved is lost.
    pub async fn fresh_tab(
        &mut self,
        settings: &EditorSettings,
        project: &str,
        document: Option<&str>,
        until: Instant,
    ) -> Result<(), Trouble> {
        let usable = Usable {
            url: settings.address_of(project, document),
            ready: "typeof window._EXTAPI_ROOT_ === 'object'".into(),
            within: ms(left_ms(until).min(NEW_TAB_MS)),
            dialogs: DialogAnswer::Dismiss,
        };
        let what = "opening a new tab";
        if let Some(old) = self.tabs.get(project) {
            let fresh = crate::hang::replace_tab(&old.session, &usable).await;
            let session = fresh.map_err(|e| Trouble::of_call(what, &e))?;
            self.tabs.insert(project.to_owned(), Tab { session, ours: true });
        } else {
            // The old one could never be attached to.
            let old = self.windows_of(settings, project).await?;
            let client = self.client()?.clone();
            let made = client.create_tab(&usable.url, ms(ASK_MS)).await;
            let target = made.map_err(|e| Trouble::of_call(what, &e))?;
            self.attach(project, &target, true).await?;
            let session = self.session(project)?;
            let ready = session.wait_ready(&usable.url, &usable.ready, usable.within).await;
            ready.map_err(|e| Trouble::of_call(what, &e))?;
            for target in old {
                if let Err(error) = client.close_tab(&target, ms(ASK_MS)).await {
                    tracing::debug!(%error, "an old tab was gone before it was closed");
                }
            }
        }
        self.closed_own_tab = Some(Instant::now());
        Ok(())
    }

    /// Whether the browser is this process's to close.
    pub fn drives(&self) -> bool {
        self.driver.is_some()
    }

    /// Closes the browser and starts it again on the same profile.
    pub async fn restart(
        &mut self,
        settings: &EditorSettings,
        program: Option<&std::path::Path>,
        until: Instant,
    ) -> Result<(), Trouble> {
        let closed = self.close_browser().await;
        tracing::info!(?closed, "the browser was closed to be started again");
        self.start_browser(settings, program, until).await
    }

    /// Whether a browser is there and answers on its own socket.
    pub async fn browser_answers(&self) -> bool {
        match self.client() {
            Ok(client) => client.product(ms(ASK_MS)).await.is_ok(),
            Err(_) => false,
        }
    }

    /// Clicks Login where the page remembers a sign-in; whether somebody is signed in after it.
    pub async fn click_login(&mut self, project: &str, want: &Want) -> Result<bool, Trouble> {
        let source = "const remembered = localStorage.getItem('isLogin') !== null; \
                      if (remembered) document.querySelector(INPUT.marks.login)?.click(); \
                      return remembered;";
        let click = script(source, &json!({ "marks": marks() }), ASK_MS);
        let (clicked, _) = self.run(project, "clicking Login", &click).await?;
        if clicked != Value::Bool(true) {
            return Ok(false);
        }
        let end = Instant::now() + ms(CLICK_MS);
        while Instant::now() < end {
            if !self.look(project, want).await?["user"].is_null() {
                return Ok(true);
            }
            tokio::time::sleep(ms(SETTLE_MS)).await;
        }
        Ok(false)
    }

    /// Closes further tabs of a project that this process has opened; how many are left open.
    pub async fn close_duplicates(
        &mut self,
        settings: &EditorSettings,
        project: &str,
    ) -> Result<usize, Trouble> {
        let open = self.windows_of(settings, project).await?;
        let kept = self.tabs.get(project).map(|t| t.session.target().to_owned());
        let client = self.client()?.clone();
        let mut left = open.len();
        for target in open.iter().filter(|t| self.made.contains(*t) && Some(*t) != kept.as_ref()) {
            if left > 1 && client.close_tab(target, ms(ASK_MS)).await.is_ok() {
                left -= 1;
                self.closed_own_tab = Some(Instant::now());
            }
        }
        Ok(left)
    }
}
