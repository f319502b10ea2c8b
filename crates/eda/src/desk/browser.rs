//! The desk's browser: started, taken over from a killed run, or visited.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::Path;

use pcbflow_core::evidence::Signal;
use tokio::time::Instant;

use super::{Desk, left_ms};
use crate::browser::{Browser, Closed, Launch, Profile, START_MS, StartFault, find, owner_address};
use crate::cdp::{Client, ms};
use crate::settings::EditorSettings;
use crate::trouble::Trouble;

/// File of the profile that the process which drives it holds locked.
const DRIVER: &str = "pcbflow-driver";
/// Longest wait for the port of a browser that another process starts, in milliseconds.
const VISIT_MS: u64 = 15_000;
/// Between two looks for it, in milliseconds.
const LOOK_MS: u64 = 200;

impl Desk {
    /// A browser that runs and answers.
    pub(super) async fn browser_up(
        &mut self,
        settings: &EditorSettings,
        until: Instant,
    ) -> Result<(), Trouble> {
        if let Some(browser) = self.browser.as_mut() {
            if browser.client().lost().is_none() {
                return Ok(());
            }
            // It went while nobody looked. What it had not saved is gone; the record says so.
            let signals = browser.end_signals();
            return Err(Trouble::before("the browser is gone", signals));
        }
        self.start_browser(settings, None, until).await
    }

    /// Starts a browser, or finds the one that is there; `program` replaces the usual one.
    pub async fn start_browser(
        &mut self,
        settings: &EditorSettings,
        program: Option<&Path>,
        until: Instant,
    ) -> Result<(), Trouble> {
        let Some(folder) = settings.profile_folder() else {
            return Err(Trouble::failed("there is no place for the browser's profile"));
        };
        let profile = Profile::at(&folder);
        profile.prepare().map_err(|e| StartFault::Folder { what: e.to_string() })?;
        if self.driver.is_none() {
            self.driver =
                driver(&folder).map_err(|e| StartFault::Folder { what: e.to_string() })?;
        }
        if self.driver.is_none() {
            let browser = visit(&folder, until).await?;
            self.browser = Some(browser);
            return Ok(());
        }
        let within = ms(left_ms(until).min(START_MS));
        if let Some(browser) = Browser::take_over(&folder, within).await {
            self.browser = Some(browser);
            return Ok(());
        }
        if let Closed::Killed = Browser::end_left_over(&folder).await {
            tracing::warn!("a browser of an earlier run did not answer and was ended");
        }
        let programs = find(program.or(settings.browser.as_deref()));
        let Some(program) = programs.first() else {
            // Whatever a configured file is called, a browser is what is missing.
            let signal = Signal::spawn_not_found("google-chrome");
            let what = match &settings.browser {
                Some(file) => format!("there is no browser at {}", file.display()),
                None => "there is no browser on this computer".to_owned(),
            };
            return Err(Trouble::before(&what, vec![signal]));
        };
        let mut launch = Launch::new(program, profile);
        launch.headless = settings.headless;
        launch.sandbox = settings.sandbox;
        launch.within = within;
        self.browser = Some(launch.start().await?);
        Ok(())
    }

    /// The connection.
    pub(super) fn client(&self) -> Result<&Client, Trouble> {
        let none = || Trouble::before("there is no browser", Vec::new());
        self.browser.as_ref().map(Browser::client).ok_or_else(none)
    }

    /// Lets the browser go: one of ours is closed gracefully, so that all it holds is on disk.
    pub async fn close_browser(&mut self) -> Option<Closed> {
        if !self.drives() {
            // Somebody else's browser stays; the tabs that were opened in it do not.
            let ours: Vec<String> =
                self.tabs.iter().filter(|(_, t)| t.ours).map(|(p, _)| p.clone()).collect();
            for project in ours {
                self.close_tab(&project).await;
            }
        }
        self.tabs.clear();
        let closed = match self.browser.take() {
            Some(browser) => Some(browser.close().await),
            None => None,
        };
        self.driver = None;
        closed
    }
}

/// Takes the right to drive a profile; `None` when another process has it.
fn driver(folder: &Path) -> std::io::Result<Option<File>> {
    let file =
        OpenOptions::new().create(true).truncate(false).write(true).open(folder.join(DRIVER))?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Attaches to the browser that another process of ours drives.
async fn visit(folder: &Path, until: Instant) -> Result<Browser, Trouble> {
    let end = Instant::now() + ms(VISIT_MS.min(left_ms(until)));
    while Instant::now() < end {
        if let Some(address) = owner_address(folder)
            && let Ok(browser) = Browser::attach(&address, ms(LOOK_MS * 5)).await
        {
            return Ok(browser);
        }
        tokio::time::sleep(ms(LOOK_MS)).await;
    }
    let lock = crate::browser::look_at_lock(folder);
    Err(StartFault::InUse { lock }.into())
}
