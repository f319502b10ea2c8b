//! Work in an open KiCad that a step does not see: it reads the files as they were last saved.
//!
//! KiCad keeps a lock (`~lamp.kicad_pcb.lck`) beside each file that it has open, and from time to
//! time saves changed work beside it (`_autosave-lamp.kicad_pcb`) until the person saves.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use pcbflow_core::check::{CheckOutcome, CheckResult, FINDINGS_MAX, Finding, FindingSeverity};

use super::args;
use super::project::Project;
use super::sheet_cache::SheetFiles;
use super::stop::Session;

/// Rule of the finding.
const RULE: &str = "pcbflow_unsaved_work";
/// Most files that a text names.
const SHOWN_MAX: usize = 5;

/// Signs of an open KiCad beside the files of a step.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Unsaved {
    /// Names of files of which KiCad has saved newer work by itself.
    pub newer: Vec<String>,
    /// Names of files that KiCad has open, or had when it was ended.
    pub open: Vec<String>,
}

/// Looks beside the board and the sheets that a step reads; `sheets` lists those below a root.
pub(crate) fn beside(session: &Session<'_>, sheets: impl Fn(&Path) -> SheetFiles) -> Unsaved {
    let mut files = BTreeSet::new();
    for arg in ["board", "schematic", "project"] {
        let Ok((project, file)) = Project::of_arg(session, arg) else { continue };
        let sheet = if arg == "schematic" { file } else { project.beside("kicad_sch") };
        if arg != "schematic" {
            files.insert(project.beside("kicad_pcb"));
        }
        let board_alone = session.context.step.uses.as_str() == "kicad/drc"
            && !args::flag(&session.context.step, "parity", true);
        if !board_alone {
            files.extend(sheets(&sheet).files);
        }
    }
    let named = |beside: &dyn Fn(&Path, &str) -> bool| -> Vec<String> {
        let name = |f: &PathBuf| Some(f.file_name()?.to_string_lossy().into_owned());
        let there = |f: &&PathBuf| name(f).is_some_and(|name| beside(f, &name));
        files.iter().filter(there).filter_map(name).collect()
    };
    Unsaved {
        newer: named(&|file, name| {
            is_newer(&file.with_file_name(format!("_autosave-{name}")), file)
        }),
        open: named(&|file, name| file.with_file_name(format!("~{name}.lck")).is_file()),
    }
}

/// One that is older than the file is of no use any more.
fn is_newer(autosave: &Path, file: &Path) -> bool {
    let time = |path: &Path| path.metadata().ok().filter(|m| m.is_file())?.modified().ok();
    time(autosave).is_some_and(|auto| time(file).is_none_or(|saved| auto > saved))
}

impl Unsaved {
    /// Says it in the result of a step.
    pub(crate) fn told(&self, session: &mut Session<'_>, mut check: CheckResult) -> CheckResult {
        if !self.open.is_empty() {
            session.notes.push(format!(
                "KiCad has {} open, or was ended while it had; what is not saved there was not \
                 looked at",
                listed(&self.open)
            ));
        }
        if self.newer.is_empty() || check.outcome == CheckOutcome::CouldNotRun {
            return check;
        }
        let names = listed(&self.newer);
        let finding = Finding {
            id: format!("files:{RULE}:{names}"),
            engine: "files".to_owned(),
            rule: RULE.to_owned(),
            severity: FindingSeverity::Warning,
            message: format!(
                "KiCad holds newer work on {names} that is not saved, so it was not looked at; \
                 save it in KiCad, or delete the file '_autosave-...' beside it, and run again"
            ),
            items: Vec::new(),
            excluded: None,
            apart: false,
        };
        session.notes.push(finding.message.clone());
        check.findings.insert(0, finding);
        check.findings.truncate(FINDINGS_MAX);
        check.counts.warnings = check.counts.warnings.saturating_add(1);
        let limits = args::limits(&session.context.step);
        if check.outcome == CheckOutcome::Pass && !limits.warnings.allows(check.counts.warnings) {
            check.outcome = CheckOutcome::Fail;
            check.reason = format!("unsaved work on {names}");
        }
        check
    }
}

fn listed(names: &[String]) -> String {
    let shown = names.get(..names.len().min(SHOWN_MAX)).unwrap_or_default().join(", ");
    match names.len().saturating_sub(SHOWN_MAX) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
