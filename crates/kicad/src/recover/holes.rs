//! KI-3: a board with the recorded holes put back, beside the outputs. The engineer's design file is
//! never written; taking the new one over is a person's matter.

use std::path::PathBuf;

use pcbflow_core::check::CheckResult;
use pcbflow_core::ports::{Recovery, Services, StepContext};

use super::rules::project_of;
use crate::file::board::Board;
use crate::file::holes::{self, HoleRecord};
use crate::rows::probes as names;
use crate::sexpr::Document;
use crate::steps::holes::{listed, recorded};
use crate::steps::project::Project;
use crate::steps::stop::{Session, Stop};

/// Folder of boards with holes put back, below the board's folder.
const FOLDER: &str = "out/restored";

/// Writes the board with its recorded holes below the outputs.
pub(super) fn restore(context: &StepContext, services: &Services) -> Recovery {
    match work(context, services) {
        Ok(said) | Err(Stop::Refused(said)) => Recovery::not_applicable(&said),
        Err(Stop::Failed(evidence)) => {
            let code = evidence.signals.first().map_or("", |s| s.code.as_str()).to_owned();
            Recovery::failed(&code)
        }
    }
}

fn refused(why: impl std::fmt::Display) -> Stop {
    Stop::Refused(why.to_string())
}

fn work(context: &StepContext, services: &Services) -> Result<String, Stop> {
    let mut session = Session::new(context, services);
    let (project, record) = on_record(&session)?;
    let bytes = crate::file::read_bounded(&project.beside("kicad_pcb")).map_err(refused)?;
    let doc = Document::parse(bytes).map_err(refused)?;
    let board = Board::from_document(&doc).map_err(refused)?;
    let lost = record.lost_on(&board);
    let new = holes::restored(&doc, &board, &lost).map_err(refused)?;
    if new.holes.is_empty() {
        return Ok(match new.by_hand.is_empty() {
            true => "every recorded hole is there".to_owned(),
            false => format!("a person has to draw: {}", listed(&new.by_hand)),
        });
    }
    let now = Board::parse(new.text.clone()).map_err(refused)?;
    if record.lost_on(&now) != new.by_hand
        || now.footprints.len() != board.footprints.len() + new.holes.len()
    {
        return Err(refused("the copy did not have exactly the old and the new holes"));
    }
    let name = project.name("kicad_pcb");
    session.write_output(&PathBuf::from(FOLDER).join(&name), &new.text)?;
    let mut said = format!(
        "the design file is the engineer's; {FOLDER}/{name} has these holes again: {}",
        listed(&new.holes)
    );
    if !new.by_hand.is_empty() {
        said.push_str(&format!("; a person has to draw: {}", listed(&new.by_hand)));
    }
    Ok(said)
}

fn on_record(session: &Session<'_>) -> Result<(Project, HoleRecord), Stop> {
    let project = project_of(session)?;
    let record = recorded(session.context, &project, session.services.blobs.as_ref())
        .ok_or_else(|| refused("no holes of this board are on record"))?;
    Ok((project, record))
}

/// A fresh parse finds each recorded hole once.
pub(super) fn holes_equal(context: &StepContext, services: &Services) -> CheckResult {
    let session = Session::new(context, services);
    let read = on_record(&session).and_then(|(project, record)| {
        Board::read(&project.beside("kicad_pcb"))
            .map(|board| record.lost_on(&board))
            .map_err(refused)
    });
    match read {
        Ok(lost) if lost.is_empty() => CheckResult::pass(names::HOLES_EQUAL),
        Ok(lost) => CheckResult::fail(names::HOLES_EQUAL, &format!("gone: {}", listed(&lost))),
        Err(Stop::Refused(why)) => CheckResult::could_not_run(names::HOLES_EQUAL, &why),
        Err(Stop::Failed(_)) => {
            CheckResult::could_not_run(names::HOLES_EQUAL, "the board can't be read")
        }
    }
}
