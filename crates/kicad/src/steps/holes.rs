//! The holes on record, and those that a board has lost since (KI-3).

use std::collections::{BTreeMap, BTreeSet};

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
/// Most holes that a message names.
const SHOWN_MAX: usize = 10;

/// Name of the record of one board file.
fn key(project: &Project) -> String {
    project.record_name("kicad.holes")
}

/// The name that older releases gave it, whatever folder the board lies in.
fn old_key(project: &Project) -> String {
    format!("kicad.holes.{}", project.stem)
}

/// The record of a board file, if there is one.
pub(crate) fn recorded(
    context: &StepContext,
    project: &Project,
    blobs: &dyn Blobs,
) -> Option<HoleRecord> {
    let records = &context.records;
    let record = records.get(&key(project)).or_else(|| records.get(&old_key(project)))?;
    let digest: Digest = record.parse().ok()?;
    HoleRecord::from_bytes(&blobs.get(&digest).ok()?)
}

/// Holds a proven board against the record, and gives the new record.
///
/// # Errors
/// A failure: holes are gone, and nobody said that they are meant to be.
pub(crate) fn compare(
    session: &mut Session<'_>,
    project: &Project,
    board: &Board,
) -> Result<BTreeMap<String, String>, Stop> {
    let blobs = session.services.blobs.as_ref();
    let was = recorded(session.context, project, blobs);
    if let Some(record) = &was {
        let lost = record.lost_on(board);
        if !lost.is_empty() && !args::flag(&session.context.step, ACCEPT, false) {
            return Err(lost_stop(session, &lost));
        }
        if !lost.is_empty() {
            session.notes.push(format!("holes that are gone, as accepted: {}", listed(&lost)));
        }
    }
    let Some(record) = HoleRecord::of(board) else {
        session.notes.push(format!("more than {HOLES_MAX} holes; none are on record"));
        return Ok(BTreeMap::new());
    };
    if was.as_ref() == Some(&record) {
        return Ok(BTreeMap::new());
    }
    let stored = serde_json::to_vec(&record)
        .map_err(|e| e.to_string())
        .and_then(|bytes| blobs.put(RECORD_NAME, &bytes).map_err(|e| e.to_string()));
    match stored {
        // A blob that the store cut is no record.
        Ok(blob) if blob.bytes == blob.true_bytes => {
            Ok(BTreeMap::from([(key(project), blob.digest.to_string())]))
        }
        Ok(_) => Ok(BTreeMap::new()),
        Err(error) => {
            tracing::warn!(%error, "the holes could not be recorded");
            Ok(BTreeMap::new())
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
