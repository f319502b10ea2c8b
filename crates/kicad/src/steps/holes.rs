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
/// In the record of an ask: its loss was accepted, or the holes are there again.
const SETTLED: &str = "settled";
/// Most holes that a message names.
const SHOWN_MAX: usize = 10;

/// Name of the record of one board file: boards of the same name in two folders have one each.
fn key(project: &Project) -> String {
    project.record_name("kicad.holes")
}

/// Name of the record of the loss that a person was asked about.
fn asked_key(project: &Project) -> String {
    project.record_name("kicad.holes_asked")
}

/// The record of a board file, if there is one.
pub(crate) fn recorded(
    context: &StepContext,
    project: &Project,
    blobs: &dyn Blobs,
) -> Option<HoleRecord> {
    read(context, &key(project), blobs)
}

fn read(context: &StepContext, key: &str, blobs: &dyn Blobs) -> Option<HoleRecord> {
    let digest: Digest = context.records.get(key)?.parse().ok()?;
    HoleRecord::from_bytes(&blobs.get(&digest).ok()?)
}

/// Holds a proven board against the record, and puts what is new on record. [`ACCEPT`] is the answer
/// to the loss that was asked about when the argument was not there yet: more holes that are gone,
/// or those of a later day, ask again.
///
/// # Errors
/// A failure: holes are gone, and nobody said that they are meant to be.
pub(crate) fn compare(
    session: &mut Session<'_>,
    project: &Project,
    board: &Board,
) -> Result<(), Stop> {
    let blobs = session.services.blobs.as_ref();
    let was = recorded(session.context, project, blobs);
    let lost = was.as_ref().map(|record| record.lost_on(board)).unwrap_or_default();
    let asked = read(session.context, &asked_key(project), blobs);
    let is_answered = args::flag(&session.context.step, ACCEPT, false);
    if !lost.is_empty() && !is_answered {
        store(session, asked_key(project), &HoleRecord::of_holes(lost.clone()));
        return Err(lost_stop(session, &lost, "holes_gone"));
    }
    if !asked.as_ref().map_or(lost.is_empty(), |asked| asked.has_all(&lost)) {
        return Err(lost_stop(session, &lost, "holes_not_accepted"));
    }
    let now = HoleRecord::of(board);
    if now.is_none() {
        session.notes.push(format!("more than {HOLES_MAX} holes; none are on record"));
    }
    let stored = match now.filter(|now| was.as_ref() != Some(now)) {
        Some(record) => store(session, key(project), &record),
        None => true,
    };
    if !lost.is_empty() {
        session.notes.push(format!("holes that are gone, as accepted: {}", listed(&lost)));
    }
    // What is not on record yet is accepted once more by the next check.
    if asked.is_some() && stored {
        session.records.insert(asked_key(project), SETTLED.to_owned());
    }
    Ok(())
}

/// Puts holes on record. A store that refuses is a line in the log.
fn store(session: &mut Session<'_>, key: String, record: &HoleRecord) -> bool {
    let stored = serde_json::to_vec(record).map_err(|e| e.to_string()).and_then(|bytes| {
        session.services.blobs.put(RECORD_NAME, &bytes).map_err(|e| e.to_string())
    });
    match stored {
        // A blob that the store cut is no record.
        Ok(blob) if blob.bytes == blob.true_bytes => {
            session.records.insert(key, blob.digest.to_string());
            true
        }
        Ok(_) => false,
        Err(error) => {
            tracing::warn!(%error, "the holes could not be recorded");
            false
        }
    }
}

fn lost_stop(session: &Session<'_>, lost: &[RecordedHole], variant: &str) -> Stop {
    let mut evidence = session.evidence();
    let count = i64::try_from(lost.len()).unwrap_or(i64::MAX);
    let text = listed(lost);
    evidence.push(Signal::new(Source::Report, signals::HOLES_LOST).number(count).text(&text));
    let owners: BTreeSet<&str> = lost.iter().map(|h| h.owner.as_str()).collect();
    let owners: Vec<&str> = owners.into_iter().take(SHOWN_MAX).collect();
    let slots = [
        ("variant", variant.to_owned()),
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
