//! The holes on record, and those that a board has lost since (KI-3).

use std::collections::BTreeSet;

use pcbflow_core::evidence::{Signal, Source};
use pcbflow_core::ids::Digest;
use pcbflow_core::ports::{Blobs, StepContext};

use super::args;
use super::project::Project;
use super::stop::{Session, Stop};
use crate::file::board::Board;
use crate::file::holes::{HOLES_MAX, HoleRecord, RecordedHole};
use crate::signals;

/// Name of the stored record, for people.
const RECORD_NAME: &str = "holes.json";
/// Argument: holes that are gone are meant to be.
pub(crate) const ACCEPT: &str = "accept_holes";
/// The two states of an acceptance on record.
const USED: &str = "used";
const UNUSED: &str = "unused";
/// Most holes that a message names.
const SHOWN_MAX: usize = 10;

/// Name of the record of one board file: boards of the same name in two folders have one each.
fn key(project: &Project) -> String {
    format!("kicad.holes.{}", place(project))
}

/// Name of the record that says whether [`ACCEPT`] was used up.
fn used_key(project: &Project) -> String {
    format!("kicad.holes_accepted.{}", place(project))
}

/// The board file from the root on, the same on every system.
fn place(project: &Project) -> String {
    let folder = project.folder.strip_prefix(&project.root).unwrap_or(&project.folder);
    let parts = folder.components().map(|c| c.as_os_str().to_string_lossy().into_owned());
    let name = project.name("kicad_pcb");
    parts.chain([name]).collect::<Vec<String>>().join("/")
}

/// The record of a board file, if there is one.
pub(crate) fn recorded(
    context: &StepContext,
    project: &Project,
    blobs: &dyn Blobs,
) -> Option<HoleRecord> {
    let digest: Digest = context.records.get(&key(project))?.parse().ok()?;
    HoleRecord::from_bytes(&blobs.get(&digest).ok()?)
}

/// Holds a proven board against the record, and puts what is new on record. An acceptance counts for
/// the first board that a check sees with it: a later loss asks again, until the argument was taken
/// out and set anew.
///
/// # Errors
/// A failure: holes are gone, and nobody said that they are meant to be.
pub(crate) fn compare(
    session: &mut Session<'_>,
    project: &Project,
    board: &Board,
) -> Result<(), Stop> {
    let accepted = args::flag(&session.context.step, ACCEPT, false);
    let used_key = used_key(project);
    let used = session.context.records.get(&used_key).is_some_and(|word| word == USED);
    if accepted != used {
        let word = if accepted { USED } else { UNUSED };
        session.records.insert(used_key, word.to_owned());
    }
    let was = recorded(session.context, project, session.services.blobs.as_ref());
    let lost = was.as_ref().map(|record| record.lost_on(board)).unwrap_or_default();
    if !lost.is_empty() && (!accepted || used) {
        if used && accepted {
            let text =
                format!("{ACCEPT} was said of an earlier loss; take it out, then set it anew");
            session.notes.push(text);
        }
        return Err(lost_stop(session, &lost));
    }
    let now = HoleRecord::of(board);
    if now.is_none() {
        session.notes.push(format!("more than {HOLES_MAX} holes; none are on record"));
    }
    let stored = match now.filter(|now| was.as_ref() != Some(now)) {
        Some(record) => store(session, project, &record),
        None => true,
    };
    if !lost.is_empty() {
        session.notes.push(format!("holes that are gone, as accepted: {}", listed(&lost)));
    }
    if !stored {
        // What is not on record was not accepted for good: the next check says it again.
        session.records.remove(&self::used_key(project));
    }
    Ok(())
}

/// Puts the holes on record. A store that refuses is a line in the log.
fn store(session: &mut Session<'_>, project: &Project, record: &HoleRecord) -> bool {
    let stored = serde_json::to_vec(record).map_err(|e| e.to_string()).and_then(|bytes| {
        session.services.blobs.put(RECORD_NAME, &bytes).map_err(|e| e.to_string())
    });
    match stored {
        // A blob that the store cut is no record.
        Ok(blob) if blob.bytes == blob.true_bytes => {
            session.records.insert(key(project), blob.digest.to_string());
            true
        }
        Ok(_) => false,
        Err(error) => {
            tracing::warn!(%error, "the holes could not be recorded");
            false
        }
    }
}

fn lost_stop(session: &Session<'_>, lost: &[RecordedHole]) -> Stop {
    let mut evidence = session.evidence();
    let count = i64::try_from(lost.len()).unwrap_or(i64::MAX);
    let text = listed(lost);
    evidence.push(Signal::new(Source::Report, signals::HOLES_LOST).number(count).text(&text));
    let owners: BTreeSet<&str> = lost.iter().map(|h| h.owner.as_str()).collect();
    let owners: Vec<&str> = owners.into_iter().take(SHOWN_MAX).collect();
    let slots = [
        ("variant", "holes_gone".to_owned()),
        ("count", count.to_string()),
        ("items", owners.join(", ")),
    ];
    evidence.slots.extend(slots.map(|(name, value)| (name.to_owned(), value)));
    Stop::Failed(evidence)
}

/// Holes as a person reads them, so many that a message stays short.
pub(crate) fn listed(holes: &[RecordedHole]) -> String {
    let shown: Vec<String> = holes.iter().take(SHOWN_MAX).map(RecordedHole::words).collect();
    match holes.len().saturating_sub(SHOWN_MAX) {
        0 => shown.join("; "),
        more => format!("{} and {more} more", shown.join("; ")),
    }
}
