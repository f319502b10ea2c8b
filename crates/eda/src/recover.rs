//! What the rungs of the ladders do,.
//!
//! An action does one thing and says whether it did; that it helped is for the row's probe to say,
//! which looks afresh.

use pcbflow_core::event::RecoveryOutcome;
use pcbflow_core::ports::Recovery;
use tokio::time::Instant;

use crate::browser::{Advice, MovedAside, find, look_at_lock, move_lock_aside};
use crate::cadence::Cadence;
use crate::cdp::ms;
use crate::desk::{Standing, Want};
use crate::sheet;
use crate::steps::find_part::HOW_NOTE;
use crate::steps::read_back::NETS_NOTE;
use crate::steps::{Step, save};
use crate::trouble::Trouble;

/// Longest time for a page to show progress while it loads, in milliseconds.
const LOADING_MS: u64 = 60_000;
/// Before nets are read again, in milliseconds: soon, and later.
const NETS_MS: (u64, u64) = (500, 2_000);
/// Before objects are read again, in milliseconds: soon, and later.
const READS_MS: (u64, u64) = (250, 1_000);
/// How soon a page that was freed must answer a fresh look, in milliseconds.
const ANSWERS_MS: u64 = 2_000;

/// What came of an action.
enum Done {
    /// It did what it says.
    Yes(&'static str),
    /// The next attempt searches in this way.
    Note(&'static str),
    /// It has nothing to do here.
    NotHere(&'static str),
    /// It did not work.
    No(String),
}

impl From<Trouble> for Done {
    fn from(trouble: Trouble) -> Done {
        Done::No(trouble.what)
    }
}

impl Done {
    fn of(result: Result<(), Trouble>, did: &'static str) -> Done {
        match result {
            Ok(()) => Done::Yes(did),
            Err(trouble) => trouble.into(),
        }
    }

    fn if_so(result: Result<bool, Trouble>, did: &'static str, not: &str) -> Done {
        match result {
            Ok(true) => Done::Yes(did),
            Ok(false) => Done::No(not.to_owned()),
            Err(trouble) => trouble.into(),
        }
    }
}

/// Carries out the action of a rung.
pub(crate) async fn act(step: &mut Step<'_>, class: &str, action: &str) -> Recovery {
    let done = match (class, action) {
        ("EDA-7", "read-events") => step.read_events().await,
        ("EDA-7", "probe-page") => step.probe_page().await,
        ("EDA-7", "end-script") => step.end_script().await,
        ("EDA-7" | "EDA-8" | "EDA-9", "fresh-tab") => step.fresh_tab().await,
        ("EDA-7", "restart-browser")
        | ("BR-6", "relaunch")
        | ("BR-2", "relaunch" | "relaunch-again") => step.restart(0).await,
        ("EDA-8", "answer-dialog") => step.answer_dialog().await,
        ("EDA-8", "wait-while-moving") | ("EDA-9", "wait-for-root") => step.wait_for_page().await,
        ("EDA-8", "full-load")
        | ("EDA-12", "replay-from-checkpoint")
        | ("BR-7", "open-address") => step.full_load().await,
        ("EDA-9" | "BR-7", "select-target") => step.select_target().await,
        ("EDA-9", "reload") => step.full_load().await,
        ("EDA-4", "resolve-by-name") => step.resolve().await,
        ("EDA-12", "save-now") => step.save_now().await,
        ("EDA-12", "compare") => step.compare().await,
        ("EDA-13", "read-again-soon") => step.wait(NETS_MS.0).await,
        ("EDA-13", "read-again-later") => step.wait(NETS_MS.1).await,
        ("EDA-14", "read-again-soon") => step.wait(READS_MS.0).await,
        ("EDA-14", "read-again-later") => step.wait(READS_MS.1).await,
        ("EDA-14", "save-and-reload") => step.save_now().await,
        ("EDA-13", "save-and-reload") => step.save_and_load_all().await,
        ("EDA-1" | "EDA-2" | "BR-3" | "BR-10", "click-login") => step.click_login().await,
        ("EDA-1" | "EDA-2" | "BR-2" | "BR-3" | "BR-10", "copy-profile") => {
            Done::NotHere("no signed-in profile is set from which to copy")
        }
        ("BR-1", "known-flags") | ("BR-4", "relaunch") => step.restart(0).await,
        ("BR-1", "other-browser") => step.restart(1).await,
        ("BR-2", "poll-port") => step.browser_up().await,
        ("BR-4", "parse-lock") => step.parse_lock(),
        ("BR-4", "attach-to-owner") => step.browser_up().await,
        ("BR-4", "move-links-aside") => step.move_links(),
        ("BR-5", "close-own-duplicates") => step.close_duplicates().await,
        ("BR-6", "reload-tab") => step.reload_tab().await,
        ("EDA-2", "second-sign") => step.second_sign().await,
        ("EDA-3", "read-elsewhere") => step.read_elsewhere().await,
        ("EDA-10", "broaden-search") => step.search_note("broad"),
        ("EDA-10", "supplier-number") => step.search_note("supplier"),
        ("EDA-10", "other-footprint") => step.search_note("footprint"),
        ("EDA-5", "slow-searches") => step.slow_searches(),
        ("BR-7", "activate-document") => step.activate().await,
        _ => Done::NotHere("this action comes with a later release"),
    };
    let last_word = (class, action) == ("EDA-13", "save-and-reload");
    let (outcome, summary) = match done {
        Done::Yes(did) if last_word => return Recovery::done(did).note(NETS_NOTE, "settled"),
        Done::Note(how) => {
            let did = "the next search goes another way";
            return Recovery::done(did).note(HOW_NOTE, how);
        }
        Done::Yes(did) => (RecoveryOutcome::Done, did.to_owned()),
        Done::NotHere(why) => (RecoveryOutcome::NotApplicable, why.to_owned()),
        Done::No(why) => (RecoveryOutcome::Failed, why),
    };
    Recovery { outcome, ..Recovery::done(&summary) }
}

impl Step<'_> {
    pub(crate) fn wanted_any(&self) -> Result<Want, Trouble> {
        self.want(&[], false)
    }

    /// The project's id and what is wanted of it.
    fn project(&self) -> Result<(String, Want), Trouble> {
        let want = self.wanted_any()?;
        // Before its id is known, the tab is the one that lists all projects.
        let id = self.desk.known(&want).unwrap_or_default();
        Ok((id, want))
    }

    async fn read_events(&mut self) -> Done {
        let project = match self.project() {
            Ok((project, _)) => project,
            Err(trouble) => return trouble.into(),
        };
        match self.desk.standing(&project).await {
            Standing::Dialog => Done::if_so(
                self.desk.answer_dialogs(&project).await,
                "the dialog in the way was answered",
                "the dialog in the way could not be answered",
            ),
            Standing::Crashed => self.reload_tab().await,
            Standing::Gone => {
                self.desk.forget(&project);
                Done::Yes("the tab is gone; another one takes its place")
            }
            Standing::Open => Done::NotHere("no dialog, and the tab is there"),
        }
    }

    async fn probe_page(&mut self) -> Done {
        match self.project() {
            Ok((project, _)) if self.desk.settles(&project, ANSWERS_MS / 2).await => {
                Done::Yes("the page answers: only that call was stuck")
            }
            Ok(_) => Done::No("the page does not answer".into()),
            Err(trouble) => trouble.into(),
        }
    }

    async fn end_script(&mut self) -> Done {
        let project = match self.project() {
            Ok((project, _)) => project,
            Err(trouble) => return trouble.into(),
        };
        match self.desk.end_script(&project).await {
            Ok(true) => {}
            Ok(false) => return Done::No("the script could not be stopped".into()),
            Err(trouble) => return trouble.into(),
        }
        // What the page holds is saved at once, before anything else can happen to it.
        match self.save_what_is_there().await {
            Ok(()) => Done::Yes("the script was stopped and the drawing saved"),
            Err(trouble) => {
                tracing::debug!(what = trouble.what, "nothing was saved after a stop");
                Done::Yes("the script was stopped; the drawing was not saved")
            }
        }
    }

    async fn save_what_is_there(&mut self) -> Result<(), Trouble> {
        let want = self.want(save::METHODS, false)?;
        let view = self.ready(&want).await?;
        self.save_only(&view).await.map(drop)
    }

    async fn fresh_tab(&mut self) -> Done {
        match self.project() {
            Ok((project, _)) if project.is_empty() => {
                self.desk.close_tab(&project).await;
                Done::Yes("the next look opens a new tab")
            }
            Ok((project, want)) => {
                let document = want.document.filter(|d| crate::desk::is_id(d));
                let opened = self
                    .desk
                    .fresh_tab(self.settings, &project, document.as_deref(), self.until)
                    .await;
                Done::of(opened, "a new tab is open and the old one closed")
            }
            Err(trouble) => trouble.into(),
        }
    }

    /// Starts the browser again; `nth` of those that are installed.
    async fn restart(&mut self, nth: usize) -> Done {
        if !self.desk.drives() && self.desk.browser_answers().await {
            return Done::NotHere("another process drives this browser");
        }
        let programs = find(self.settings.browser.as_deref());
        if nth > 0 && programs.get(nth).is_none() {
            return Done::NotHere("no other browser is installed");
        }
        let program = programs.get(nth).map(std::path::PathBuf::as_path);
        let started = self.desk.restart(self.settings, program, self.until).await;
        Done::of(started, "the browser was started again")
    }

    async fn browser_up(&mut self) -> Done {
        if self.desk.browser_answers().await {
            return Done::Yes("the browser answers");
        }
        let started = self.desk.start_browser(self.settings, None, self.until).await;
        Done::of(started, "the browser answers")
    }

    fn parse_lock(&self) -> Done {
        let Some(folder) = self.settings.profile_folder() else {
            return Done::NotHere("there is no profile");
        };
        match look_at_lock(&folder).advice() {
            Advice::Start => Done::Yes("nobody holds the profile"),
            Advice::InUse { frozen: true, .. } => {
                Done::No("the browser that holds the profile is stopped".into())
            }
            Advice::InUse { .. } => Done::No("a browser holds the profile".into()),
            Advice::MoveAside => Done::No("the lock was left by another computer".into()),
        }
    }

    fn move_links(&self) -> Done {
        let Some(folder) = self.settings.profile_folder() else {
            return Done::NotHere("there is no profile");
        };
        match move_lock_aside(&folder) {
            Ok(MovedAside::Moved { .. }) => Done::Yes("the lock that nobody holds was moved aside"),
            Ok(_) => Done::NotHere("the lock is held, or there is none"),
            Err(error) => Done::No(error.to_string()),
        }
    }

    async fn answer_dialog(&mut self) -> Done {
        match self.project() {
            Ok((project, _)) => match self.desk.standing(&project).await {
                Standing::Dialog => Done::if_so(
                    self.desk.answer_dialogs(&project).await,
                    "the dialog in the way was answered",
                    "the dialog in the way could not be answered",
                ),
                _ => Done::NotHere("no dialog is open"),
            },
            Err(trouble) => trouble.into(),
        }
    }

    /// Waits while the page is on its way.
    async fn wait_for_page(&mut self) -> Done {
        let until = self.until.min(Instant::now() + ms(LOADING_MS));
        let want = match self.wanted_any() {
            Ok(want) => want,
            Err(trouble) => return trouble.into(),
        };
        let there = self.desk.ready(self.settings, &want, until).await;
        Done::of(there.map(drop), "the project is there")
    }

    async fn full_load(&mut self) -> Done {
        match self.project() {
            Ok((project, want)) => {
                let document = want.document.filter(|d| crate::desk::is_id(d));
                if self.desk.session(&project).is_err() {
                    return Done::Yes("the next look opens the full address");
                }
                let loaded =
                    self.desk.load(self.settings, &project, document.as_deref(), self.until).await;
                Done::of(loaded, "the full address was loaded again")
            }
            Err(trouble) => trouble.into(),
        }
    }

    /// Lets go of the tab, so that the next look picks it by the project in its address.
    async fn select_target(&mut self) -> Done {
        match self.project() {
            Ok((project, _)) => {
                self.desk.forget(&project);
                Done::Yes("the tab is picked again by its project")
            }
            Err(trouble) => trouble.into(),
        }
    }

    async fn activate(&mut self) -> Done {
        Done::of(self.in_front(false).await.map(drop), "the document is in front")
    }

    async fn resolve(&mut self) -> Done {
        let want = match self.wanted_any() {
            Ok(want) => want,
            Err(trouble) => return trouble.into(),
        };
        if crate::desk::is_id(&want.project) {
            return Done::NotHere("the project is given by its id, not by its name");
        }
        self.desk.forget_name(&want.project);
        self.wait_for_page().await
    }

    async fn save_now(&mut self) -> Done {
        let saved = async {
            let want = self.want(save::METHODS, true)?;
            let view = self.ready(&want).await?;
            let seen = sheet::settled(self.desk, &view, false, self.until).await?;
            self.save(&view, &seen).await
        };
        Done::of(saved.await, "the drawing was saved and loaded again")
    }

    /// Saves and loads the whole page again: only then are nets worked out anew.
    async fn save_and_load_all(&mut self) -> Done {
        match self.save_now().await {
            Done::Yes(_) => self.full_load().await,
            other => other,
        }
    }

    /// Loads the document afresh and reads it.
    async fn compare(&mut self) -> Done {
        match self.full_load().await {
            Done::Yes(_) => {
                Done::of(self.reads_agree().await, "what is saved was loaded afresh and read twice")
            }
            other => other,
        }
    }

    async fn wait(&mut self, wait_ms: u64) -> Done {
        tokio::time::sleep(ms(wait_ms)).await;
        Done::Yes("waited for the editor")
    }

    async fn second_sign(&mut self) -> Done {
        Done::of(self.is_signed_in().await, "somebody is signed in: it was one refused call")
    }

    async fn read_elsewhere(&mut self) -> Done {
        match self.desk.projects(self.settings, self.until).await {
            Ok(all) if !all.is_empty() => {
                Done::NotHere("other calls are answered: it is this project")
            }
            Ok(_) => Done::No("no project is listed".into()),
            Err(trouble) => trouble.into(),
        }
    }

    async fn click_login(&mut self) -> Done {
        match self.project() {
            Ok((project, want)) => Done::if_so(
                self.desk.click_login(&project, &want).await,
                "the stored login works again",
                "no stored login, or it is over",
            ),
            Err(trouble) => trouble.into(),
        }
    }

    fn search_note(&self, how: &'static str) -> Done {
        let said = |key: &str| self.context.step.with.contains_key(key);
        let packages = crate::steps::texts(self.context.step.with.get("package"));
        match how {
            "supplier" if !said("supplier") => Done::NotHere("the step names no supplier's number"),
            "footprint" if packages.len() < 2 => Done::NotHere("no other footprint is allowed"),
            _ => Done::Note(how),
        }
    }

    fn slow_searches(&self) -> Done {
        let slowed = Cadence::at(&self.context.state_dir).slow_down(self.now_ms());
        match slowed {
            Ok(()) => Done::Yes("all searches of the workspace go slowly"),
            Err(error) => Done::No(error.to_string()),
        }
    }

    async fn reload_tab(&mut self) -> Done {
        match self.project() {
            Ok((project, _)) => match self.desk.standing(&project).await {
                Standing::Crashed => {
                    Done::of(self.desk.reload(&project).await, "the crashed tab was loaded again")
                }
                _ => Done::NotHere("the tab has not crashed"),
            },
            Err(trouble) => trouble.into(),
        }
    }

    async fn close_duplicates(&mut self) -> Done {
        match self.project() {
            Ok((project, _)) => match self.desk.close_duplicates(self.settings, &project).await {
                Ok(0 | 1) => Done::Yes("only one window of the project is left"),
                Ok(_) => Done::No("the other window was not opened here".into()),
                Err(trouble) => trouble.into(),
            },
            Err(trouble) => trouble.into(),
        }
    }
}
