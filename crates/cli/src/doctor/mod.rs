//! The checks of `doctor`: the record, the disk, the tools, the project files.
//!
//! **Invariant.** A check that could not look says so and is never `ok`. "Fixed" is said only
//! after the same check has looked again.

mod place;
mod tools;

use serde::Serialize;

use crate::App;
use crate::compose::Site;
use crate::error::Kind;

/// How a check came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// All is as it should be.
    Ok,
    /// Something is missing or odd that nothing here needs.
    NotNeeded,
    /// Something is to be done.
    Problem,
    /// Nothing is known.
    CouldNotCheck,
}

impl Outcome {
    /// The word for people.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Outcome::Ok => "ok",
            Outcome::NotNeeded => "not needed",
            Outcome::Problem => "problem",
            Outcome::CouldNotCheck => "could not check",
        }
    }
}

/// One check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// What was looked at.
    pub name: &'static str,
    /// How it came out.
    pub result: Outcome,
    /// One line about what was seen.
    pub detail: String,
    /// The one thing to do; empty when there is none.
    pub action: String,
    /// A fix was made, and this check looked again after it.
    pub fixed: bool,
    /// A tool is not there.
    pub tool_missing: bool,
}

impl Check {
    fn new(name: &'static str, result: Outcome, detail: impl Into<String>) -> Check {
        Check {
            name,
            result,
            detail: pcbflow_core::text::one_line(&detail.into()),
            action: String::new(),
            fixed: false,
            tool_missing: false,
        }
    }

    fn ok(name: &'static str, detail: impl Into<String>) -> Check {
        Check::new(name, Outcome::Ok, detail)
    }

    fn problem(name: &'static str, detail: impl Into<String>, action: &str) -> Check {
        Check { action: action.to_owned(), ..Check::new(name, Outcome::Problem, detail) }
    }

    fn unknown(name: &'static str, detail: impl Into<String>) -> Check {
        Check::new(name, Outcome::CouldNotCheck, detail)
    }

    /// The same where nothing here needs it: told, and no problem.
    fn unless_needed(mut self, needed: bool, why: &str) -> Check {
        if self.result == Outcome::Problem && !needed {
            self.result = Outcome::NotNeeded;
            self.detail = format!("{}; {why}", self.detail);
            self.tool_missing = false;
        }
        self
    }

    fn missing(mut self) -> Check {
        self.tool_missing = true;
        self
    }
}

/// Looks at everything. With `fix`, what can be mended safely is mended and looked at again.
#[must_use]
pub fn examine(app: &App, fix: bool) -> Vec<Check> {
    let site = Site::open(&app.global);
    let mut checks = vec![tools::version(&site)];
    match &site {
        Ok(site) => {
            checks.push(place::record(site));
            checks.push(place::chain(site));
            checks.push(place::disk(&site.workspace.root));
            checks.push(place::projects(site));
            checks.push(place::ignored(site, fix));
        }
        Err(e) if e.kind == Kind::NotFound => {
            checks.push(Check::unknown(
                "workspace",
                "there is none here, so only tools are looked at",
            ));
            match crate::compose::current_dir() {
                Ok(here) => checks.push(place::disk(&here)),
                Err(e) => checks.push(Check::unknown("disk space", e.message)),
            }
        }
        Err(e) => {
            let action =
                e.hints.first().cloned().unwrap_or_else(|| "correct the settings".to_owned());
            checks.push(Check::problem("settings", e.message.clone(), &action));
        }
    }
    let folder = site.as_ref().map(|s| s.workspace.root.clone()).ok();
    checks.extend(tools::git(folder.as_deref()));
    let needed = site.as_ref().map_or(true, tools::kicad_needed);
    let why = "no board of this workspace uses it";
    checks.extend(tools::kicad().into_iter().map(|c| c.unless_needed(needed, why)));
    checks
}
