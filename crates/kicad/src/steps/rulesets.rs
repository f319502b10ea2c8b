//! The rules of a board before a check: sound, recorded, not loosened behind anybody's back.

use std::collections::BTreeMap;
use std::path::Path;

use pcbflow_core::evidence::{Signal, Source};
use pcbflow_core::ports::Blobs;

use super::args;
use super::project::Project;
use super::stop::{Session, Stop};
use crate::cli::mirror::Mirror;
use crate::file::project::{ProjectRules, ProjectState};
use crate::report::rules::{RULESET_RECORD, RuleSetBlob, project_signal};
use crate::signals;

/// Note of a recovery: check with the recorded rule set.
pub const NOTE_RULESET: &str = "kicad.ruleset";
/// Value of [`NOTE_RULESET`].
pub const RECORDED: &str = "recorded";

/// Whether a step puts the recorded rule set into its private copy.
#[must_use]
pub fn are_laid(session: &Session<'_>, project: &Project) -> bool {
    let uses = ["kicad/drc", "kicad/erc", "kicad/export", "kicad/jobset"];
    uses.contains(&session.context.step.uses.as_str())
        && session.context.notes.get(NOTE_RULESET).is_some_and(|v| v == RECORDED)
        && !accepted(session, project)
        && project
            .recorded_rules(&session.context.records, session.services.blobs.as_ref())
            .is_some()
}

/// The person stands by the rules as they lie there; recorded ones then stand in only for files
/// that can't be used.
#[must_use]
pub fn accepted(session: &Session<'_>, project: &Project) -> bool {
    args::flag(&session.context.step, "accept_rules", false)
        && project.state().is_ok()
        && project.custom_rules().is_ok()
}

/// Most differences that a signal lists.
const DIFFERENCES_SHOWN_MAX: usize = 10;

/// The rules that a check is made with.
#[derive(Debug, Clone)]
pub struct InForce {
    /// What the project file says.
    pub project: ProjectRules,
    /// Bytes of the custom rules.
    pub custom: Option<Vec<u8>>,
    /// Lines for the person.
    pub notes: Vec<String>,
    set: Option<RuleSetBlob>,
    /// Name of its record.
    name: String,
    /// Custom rules that an earlier check proved.
    proven: Option<String>,
    recorded: bool,
}

impl InForce {
    /// Puts a recorded rule set into the private copy; the engineer's own files stay as they are.
    ///
    /// # Errors
    /// A full disk.
    pub fn lay(
        &self,
        session: &Session<'_>,
        project: &Project,
        mirror: &Mirror,
    ) -> Result<(), Stop> {
        let (true, Some(set)) = (self.recorded, &self.set) else { return Ok(()) };
        let name = project.name("kicad_pro");
        mirror
            .write(&name, set.project.as_bytes())
            .map_err(|e| session.failed(crate::cli::space::signal_of(&mirror.file(&name), &e)))?;
        let name = project.name("kicad_dru");
        if set.rules.is_none() && mirror.file(&name).is_symlink() {
            std::fs::remove_file(mirror.file(&name)).map_err(|e| {
                session.failed(crate::cli::space::signal_of(&mirror.file(&name), &e))
            })?;
        }
        Ok(())
    }

    /// The record of these rules after a check that does not use the custom ones: of those, the
    /// record keeps what was proven before.
    #[must_use]
    pub fn record_but_custom(&self, blobs: &dyn Blobs) -> BTreeMap<String, String> {
        match &self.set {
            Some(set) if !self.recorded => {
                RuleSetBlob { rules: self.proven.clone(), ..set.clone() }.record(&self.name, blobs)
            }
            _ => BTreeMap::new(),
        }
    }

    /// The record of these rules, for the day when they are lost. Only for a check that proved
    /// them.
    #[must_use]
    pub fn record(&self, blobs: &dyn Blobs) -> BTreeMap<String, String> {
        match &self.set {
            Some(set) if !self.recorded => set.record(&self.name, blobs),
            _ => BTreeMap::new(),
        }
    }
}

/// Looks at the rules before a check.
///
/// # Errors
/// A failure: the project file is not sound, or it is looser than the recorded rule set.
pub fn before(session: &Session<'_>, project: &Project) -> Result<InForce, Stop> {
    let blobs = session.services.blobs.as_ref();
    let recorded = project.recorded_rules(&session.context.records, blobs);
    if session.context.notes.get(NOTE_RULESET).is_some_and(|v| v == RECORDED)
        && !accepted(session, project)
        && let Some(set) = recorded
    {
        return Ok(of_recorded(set, project));
    }
    let proven = recorded.as_ref().and_then(|set| set.rules.clone());
    let state = project.state();
    if let Some(signal) = project_signal(&state, &project.name("kicad_pro")) {
        return Err(session.failed(signal));
    }
    let custom = project.custom_rules().map_err(|error| {
        let text = format!("{}: {error}", project.name("kicad_dru"));
        session.failed(Signal::new(Source::File, signals::RULES_FILE_BROKEN).text(&text))
    })?;
    let set = project.rule_set();
    if let (Some(was), Some(now)) = (&recorded, &set) {
        not_loosened(session, was, now)?;
    }
    let ProjectState::Ok(rules) = state else {
        // `project_signal` answers for every other state.
        return Err(Stop::Refused("the project file is not sound".to_owned()));
    };
    let name = project.record_name(RULESET_RECORD);
    Ok(InForce { project: *rules, custom, notes: Vec::new(), set, name, proven, recorded: false })
}

/// The recorded project file with the board's own custom rules, if these hold all recorded rules;
/// else with the recorded ones.
fn of_recorded(mut set: RuleSetBlob, project: &Project) -> InForce {
    let rules = match ProjectState::of_bytes(set.project.as_bytes()) {
        ProjectState::Ok(rules) => *rules,
        // `RuleSetBlob::recorded` gives sound sets only.
        _ => ProjectRules::default(),
    };
    let own = project.custom_rules().ok().flatten().and_then(|b| String::from_utf8(b).ok());
    if own.as_deref().is_some_and(|own| set.rules_kept_in(own)) {
        set.rules = own;
    }
    InForce {
        project: rules,
        custom: set.rules.clone().map(String::into_bytes),
        notes: vec!["checked with the recorded rule set".to_owned()],
        proven: set.rules.clone(),
        set: Some(set),
        name: project.record_name(RULESET_RECORD),
        recorded: true,
    }
}

/// Looks at the rules before files are made of a board, which only show the settings of the project:
/// looser rules change nothing in them.
///
/// # Errors
/// A failure: the project file is not sound.
pub fn for_files(session: &Session<'_>, project: &Project) -> Result<Option<InForce>, Stop> {
    let blobs = session.services.blobs.as_ref();
    if are_laid(session, project) {
        let recorded = project.recorded_rules(&session.context.records, blobs);
        return Ok(recorded.map(|set| of_recorded(set, project)));
    }
    match project_signal(&project.state(), &project.name("kicad_pro")) {
        Some(signal) => Err(session.failed(signal)),
        None => Ok(None),
    }
}

fn not_loosened(session: &Session<'_>, was: &RuleSetBlob, now: &RuleSetBlob) -> Result<(), Stop> {
    if args::flag(&session.context.step, "accept_rules", false) {
        return Ok(());
    }
    let mut list = was.loosened(now);
    if list.is_empty() {
        return Ok(());
    }
    let count = i64::try_from(list.len()).unwrap_or(i64::MAX);
    list.truncate(DIFFERENCES_SHOWN_MAX);
    let signal = Signal::new(Source::File, signals::RULESET_CHANGED).number(count);
    Err(session.failed(signal.text(&list.join(", "))))
}

/// Records the rule set that lies beside a board, for `init --from`: the name of the record and
/// the digest of the stored blob. Empty when the project file is not sound.
#[must_use]
pub fn record_ruleset(
    root: &Path,
    board_file: &Path,
    blobs: &dyn Blobs,
) -> BTreeMap<String, String> {
    // With links resolved, as steps name it.
    let resolved = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let file = root.join(board_file);
    let project = Project {
        root: resolved(root),
        folder: resolved(file.parent().unwrap_or(root)),
        stem: file.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
    };
    let name = project.record_name(RULESET_RECORD);
    let set = project.rule_set().map(RuleSetBlob::without_doubtful_rules);
    set.map(|set| set.record(&name, blobs)).unwrap_or_default()
}
