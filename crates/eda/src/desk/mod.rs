//! The desk: the one browser of this process, its tabs by project, and what is known of them.
//!
//! **Invariants.** One session per tab is attached before any work and kept. A tab is picked by the
//! project in its address, never as "the first page". Whatever an earlier run left going in a tab
//! is ended before anything else is done in it. One process drives a profile; others visit it.
//!
//! Start at [`Desk::ready`].

mod browser;
mod mend;
mod view;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;

use pcbflow_core::evidence::{Signal, Source, codes};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::browser::Browser;
use crate::cdp::{AttachError, CallError, Reply, Script, Seen, Session, ms};
use crate::settings::{EditorSettings, project_in};
use crate::signals;
use crate::trouble::Trouble;

pub(crate) use mend::Standing;
pub(crate) use view::View;

/// Longest wait for one question to the browser itself, in milliseconds.
const ASK_MS: u64 = 5_000;
/// Longest wait for the probe after a call that was not answered, in milliseconds.
const PROBE_MS: u64 = 1_000;
/// Between two looks whether the page still answers, in milliseconds.
const WATCH_MS: u64 = 500;
/// Longest wait for a call that an earlier run had left under way, in milliseconds.
const LEFT_MS: u64 = 20_000;
/// From this pause on a login may have run out by itself, in milliseconds.
const IDLE_MS: u64 = 600_000;
/// Largest answer of a script of ours, in bytes.
const ANSWER_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// Which kind of document is worked on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A page of a schematic.
    Page,
    /// A layout.
    Pcb,
}

impl Kind {
    /// The word of the page's look.
    fn word(self) -> &'static str {
        match self {
            Kind::Page => "page",
            Kind::Pcb => "pcb",
        }
    }
}

/// What has to be in front before a step works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Want {
    /// The project, by id or by name.
    pub project: String,
    /// The document, by id or by name; the first of its kind without.
    pub document: Option<String>,
    /// Its kind.
    pub kind: Kind,
    /// Methods of the API that the step calls.
    pub methods: Vec<String>,
    /// The step changes the document.
    pub writes: bool,
}

/// A tab.
#[derive(Debug)]
pub(crate) struct Tab {
    /// Its standing session.
    pub session: Session,
    /// We opened it.
    pub ours: bool,
}

/// Everything that is open.
#[derive(Debug, Default)]
pub(crate) struct Desk {
    browser: Option<Browser>,
    /// Held while this process drives the profile.
    driver: Option<File>,
    tabs: BTreeMap<String, Tab>,
    /// Tabs that this process has opened.
    made: BTreeSet<String>,
    /// Ids of projects that were given by name.
    names: BTreeMap<String, String>,
    /// A sign-in was proven in this run.
    signed_in_earlier: bool,
    /// How long it was not used before the step that runs, in milliseconds.
    idle: u64,
    /// When the site was last used.
    used: Option<Instant>,
    /// When a tab of ours was closed last.
    closed_own_tab: Option<Instant>,
}

/// A script of ours with its input.
pub(crate) fn script(source: &str, input: &Value, within_ms: u64) -> Script {
    let body = format!("const INPUT = {input};\n{source}");
    Script::body(&body, ms(within_ms)).at_most(ANSWER_BYTES_MAX)
}

/// Milliseconds up to a moment.
pub(crate) fn left_ms(until: Instant) -> u64 {
    let left = until.saturating_duration_since(Instant::now());
    u64::try_from(left.as_millis()).unwrap_or(u64::MAX)
}

impl Desk {
    /// Brings the wanted document to the front, in a browser that runs, in a tab that is attached,
    /// signed in, and checks that it is the wanted one.
    pub async fn ready(
        &mut self,
        settings: &EditorSettings,
        want: &Want,
        until: Instant,
    ) -> Result<View, Trouble> {
        self.browser_up(settings, until).await?;
        self.idle = self.used.map_or(0, elapsed_ms);
        self.used = Some(Instant::now());
        let project = self.project_id(settings, &want.project, until).await?;
        let first_load = self.tab(settings, &project, want, until).await?;
        self.view(&project, want, first_load, until).await
    }

    /// The standing session of a project's tab.
    pub fn session(&self, project: &str) -> Result<&Session, Trouble> {
        let gone = || {
            let signal = Signal::new(Source::Cdp, signals::NO_EDITOR_TARGET);
            Trouble::before("the project has no tab", vec![signal])
        };
        self.tabs.get(project).map(|t| &t.session).ok_or_else(gone)
    }

    /// Runs a script of ours in a project's tab; its result, `null` for none, and what was seen
    /// meanwhile.
    pub async fn run(
        &mut self,
        project: &str,
        what: &str,
        script: &Script,
    ) -> Result<(Value, Seen), Trouble> {
        self.run_watched(project, what, script, left_ms(Instant::now() + script.within)).await
    }

    /// The same for a script that may take long: the page itself must answer within
    /// `answer_ms` all the time. A script that only waits does not keep it from that; one that
    /// hangs does.
    pub async fn run_watched(
        &mut self,
        project: &str,
        what: &str,
        script: &Script,
        answer_ms: u64,
    ) -> Result<(Value, Seen), Trouble> {
        let session = self.session(project)?;
        let window = session.window().map_err(|e| Trouble::of_call(what, &e))?;
        let hung = async {
            tokio::time::sleep(ms(WATCH_MS)).await;
            while session.answers(ms(answer_ms)).await {
                tokio::time::sleep(ms(WATCH_MS)).await;
            }
        };
        let result = tokio::select! {
            biased;
            result = session.evaluate(script) => result,
            () = hung => Err(CallError::DeadlinePassed {
                method: "the page".into(),
                ms: answer_ms,
            }),
        };
        let reply = Reply { result, seen: window.close() };
        let error = match &reply.result {
            Ok(value) => return Ok((value.clone().unwrap_or(Value::Null), reply.seen)),
            Err(error) => error,
        };
        let mut more = Vec::new();
        if matches!(error, CallError::DeadlinePassed { .. }) {
            let answered = session.answers(ms(PROBE_MS)).await;
            let code = if answered { signals::PROBE_ANSWERED } else { signals::PROBE_UNANSWERED };
            more.push(Signal::new(Source::Cdp, code));
        }
        if session.dialog().is_some() {
            more.push(Signal::new(Source::Cdp, signals::DIALOG_OPEN));
        }
        if let Some(browser) = self.browser.as_mut() {
            more.extend(browser.end_signals());
        }
        Err(Trouble::of_reply(what, &reply).with(more))
    }

    /// The tab of a project: the attached one, the one that is open, or a new one. Whether it was
    /// loaded just now.
    async fn tab(
        &mut self,
        settings: &EditorSettings,
        project: &str,
        want: &Want,
        until: Instant,
    ) -> Result<bool, Trouble> {
        if let Some(tab) = self.tabs.get(project) {
            if tab.session.crashed().is_none() && !tab.session.detached() {
                return Ok(false);
            }
            let crashed = tab.session.crashed();
            if let Some((status, code)) = crashed {
                let signal = Signal::new(Source::Cdp, signals::TARGET_CRASHED);
                let signal = signal.text(&status).number(code);
                return Err(Trouble::before("the tab has crashed", vec![signal]));
            }
            // Closed by somebody, with all that was not saved; the next one begins from there.
            self.tabs.remove(project);
        }
        let open = self.windows_of(settings, project).await?;
        match open.as_slice() {
            [] => self.new_tab(settings, project, want, until).await.map(|()| true),
            [one] => self.attach(project, one, false).await.map(|()| false),
            several => {
                let count = i64::try_from(several.len()).unwrap_or(i64::MAX);
                let signal = Signal::new(Source::Cdp, signals::TWO_WINDOWS).number(count);
                Err(Trouble::before("the project is open in several windows", vec![signal]))
            }
        }
    }

    /// Tabs of this browser that show a project.
    pub async fn windows_of(
        &mut self,
        settings: &EditorSettings,
        project: &str,
    ) -> Result<Vec<String>, Trouble> {
        let client = self.client()?;
        let all = client.targets(ms(ASK_MS)).await;
        let all = all.map_err(|e| Trouble::of_call("listing the tabs", &e))?;
        let shows = |url: &str| settings.is_editor(url) && project_in(url) == Some(project);
        Ok(all.into_iter().filter(|t| t.is_page() && shows(&t.url)).map(|t| t.id).collect())
    }

    async fn attach(&mut self, project: &str, target: &str, ours: bool) -> Result<(), Trouble> {
        let attached = self.client()?.attach(target, ms(ASK_MS)).await;
        if ours {
            self.made.insert(target.to_owned());
        }
        let session = attached.map_err(|error| match error {
            AttachError::Call(error) => Trouble::of_call("attaching to the tab", &error),
            AttachError::Hangs { .. } => {
                let hangs = Signal::new(Source::Cdp, signals::PROBE_UNANSWERED);
                Trouble::late("the tab hung before it was attached to", ASK_MS).with(vec![hangs])
            }
        })?;
        self.tabs.insert(project.to_owned(), Tab { session, ours });
        self.quiet(project).await
    }

    /// Ends what an earlier run left going in the tab.
    pub async fn quiet(&mut self, project: &str) -> Result<(), Trouble> {
        let input = json!({ "withinMs": LEFT_MS });
        let quiet = script(include_str!("../page/quiet.js"), &input, LEFT_MS + ASK_MS);
        match self.run(project, "ending what was left going", &quiet).await {
            Ok((answer, _)) => {
                if answer.get("went").and_then(Value::as_bool) == Some(true) {
                    tracing::info!(%answer, "an earlier block was still going in the tab");
                }
                Ok(())
            }
            // A tab that still loads has nothing left.
            Err(trouble) if trouble.ended == pcbflow_core::event::Ended::ConnectionLost => Ok(()),
            Err(trouble) => Err(trouble),
        }
    }

    /// Opens a tab with the full address of the project. It is attached to before it loads, so
    /// that every refusal of the load is seen.
    async fn new_tab(
        &mut self,
        settings: &EditorSettings,
        project: &str,
        want: &Want,
        until: Instant,
    ) -> Result<(), Trouble> {
        let created = self.client()?.create_tab("about:blank", ms(ASK_MS)).await;
        let target = created.map_err(|e| Trouble::of_call("opening a tab", &e))?;
        self.attach(project, &target, true).await?;
        let document = want.document.as_deref().filter(|d| is_id(d));
        self.load(settings, project, document, until).await
    }

    /// Loads the full address in the project's tab.
    pub async fn load(
        &mut self,
        settings: &EditorSettings,
        project: &str,
        document: Option<&str>,
        until: Instant,
    ) -> Result<(), Trouble> {
        let address = if project.is_empty() {
            settings.address.clone()
        } else {
            settings.address_of(project, document)
        };
        let session = self.session(project)?;
        let within = ms(left_ms(until).min(view::START_MS));
        let went = session.call("Page.navigate", json!({ "url": address }), within).await;
        let went = went.map_err(|e| Trouble::of_call("loading the editor", &e))?;
        match went.get("errorText").and_then(Value::as_str) {
            None | Some("") => Ok(()),
            Some(text) => {
                let signal = Signal::new(Source::Cdp, signals::LOADING_FAILED).text(text);
                Err(Trouble::before(&format!("the editor can't be loaded: {text}"), vec![signal]))
            }
        }
    }

    /// Id of a project that may be given by its name.
    async fn project_id(
        &mut self,
        settings: &EditorSettings,
        project: &str,
        until: Instant,
    ) -> Result<String, Trouble> {
        if is_id(project) {
            return Ok(project.to_owned());
        }
        if let Some(id) = self.names.get(project) {
            return Ok(id.clone());
        }
        let found = self.projects(settings, until).await?;
        let named: Vec<&String> =
            found.iter().filter(|(_, name)| name == project).map(|(id, _)| id).collect();
        if let [one] = named.as_slice() {
            self.names.insert(project.to_owned(), (*one).clone());
            return Ok((*one).clone());
        }
        let report = |code: &str| Signal::new(Source::Report, code).text(project);
        let what = format!("{} projects are called {project}", named.len());
        Err(Trouble::before(
            &what,
            vec![report(signals::OPEN_UNDEFINED), report(signals::PROJECT_NOT_LISTED)],
        ))
    }

    /// Whether somebody is signed in, seen afresh in a tab of its own: a page that stands keeps
    /// showing who was signed in when it was loaded.
    pub async fn second_sign(
        &mut self,
        settings: &EditorSettings,
        until: Instant,
    ) -> Result<Vec<Signal>, Trouble> {
        let known = self.signed_in_earlier;
        let home = home();
        self.tabs.remove(HOME);
        self.new_tab(settings, HOME, &home, until).await?;
        let seen = self.look_until(HOME, &home, !known, until).await;
        self.close_tab(HOME).await;
        match seen {
            Ok(_) => Ok(vec![Signal::new(Source::Report, signals::USER_WITH_ID)]),
            Err(trouble) if trouble.is(signals::USER_WITHOUT_ID) => {
                let mut all = trouble.signals;
                if self.idle >= IDLE_MS {
                    let idle = i64::try_from(self.idle).unwrap_or(i64::MAX);
                    all.push(Signal::new(Source::Own, signals::IDLE_BEFORE).number(idle));
                }
                Ok(all)
            }
            Err(trouble) => Err(trouble),
        }
    }

    /// Ids and names of all projects, from a fresh list.
    pub async fn projects(
        &mut self,
        settings: &EditorSettings,
        until: Instant,
    ) -> Result<Vec<(String, String)>, Trouble> {
        let home = home();
        let first_load = if self.tabs.get(HOME).is_some_and(|t| !t.session.detached()) {
            false
        } else {
            self.tabs.remove(HOME);
            self.new_tab(settings, HOME, &home, until).await?;
            true
        };
        let seen = self.look_until(HOME, &home, first_load, until).await;
        let listed = match seen {
            Ok(_) => {
                let list = script(include_str!("../page/projects.js"), &json!({}), left_ms(until));
                self.run(HOME, "listing the projects", &list).await.map(|(answer, _)| answer)
            }
            Err(trouble) => Err(trouble),
        };
        self.close_tab(HOME).await;
        let pair = |p: &Value| {
            let text = |key: &str| p.get(key).and_then(Value::as_str).map(str::to_owned);
            Some((text("uuid")?, text("name")?))
        };
        Ok(listed?.as_array().into_iter().flatten().filter_map(pair).collect())
    }

    /// Closes a tab that we opened.
    pub async fn close_tab(&mut self, project: &str) {
        let Some(tab) = self.tabs.remove(project) else { return };
        if !tab.ours {
            return;
        }
        let target = tab.session.target().to_owned();
        let closed = tab.session.client().close_tab(&target, ms(ASK_MS)).await;
        tracing::debug!(?closed, "a tab of ours was closed");
        self.closed_own_tab = Some(Instant::now());
    }
}

/// The tab that shows no project.
const HOME: &str = "";

fn home() -> Want {
    Want {
        project: HOME.to_owned(),
        document: None,
        kind: Kind::Page,
        methods: vec!["dmt_Project.getAllProjectsUuid".into()],
        writes: false,
    }
}

fn elapsed_ms(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}

/// Whether a text is an id of the editor: 32 hex digits.
pub(crate) fn is_id(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|b| b.is_ascii_hexdigit())
}

/// Our own deadline as a signal.
pub(crate) fn deadline(ms: u64) -> Signal {
    let ms = i64::try_from(ms).unwrap_or(i64::MAX);
    Signal::new(Source::Own, codes::DEADLINE_PASSED).number(ms)
}
