//! `kicad/netlist`: the netlist of a schematic, proven to have the schematic's parts in it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use pcbflow_core::check::CheckResult;
use pcbflow_core::evidence::{Signal, Source, codes};

use super::project::{self, Project};
use super::stop::{Session, Stop};
use super::{args, drc, erc, tool};
use crate::cli::find::FindEnv;
use crate::file::board::Board;
use crate::file::header::FileKind;
use crate::file::netlist::{Netlist, NetlistError};
use crate::file::schematic::Hierarchy;
use crate::report::sheets::SheetIndex;
use crate::signals;

/// Where the netlist goes when the step does not say.
pub const OUTPUT_DEFAULT: &str = "out/netlist.xml";
/// Name of the step's check.
const CHECK: &str = "netlist_complete";

/// Runs the export.
///
/// # Errors
/// A failure or a refusal.
pub async fn run(env: &FindEnv, session: &mut Session<'_>) -> Result<CheckResult, Stop> {
    let (project, root_sheet, sheets) = erc::sheets(session, "schematic")?;
    let made = export(env, session, &project, &root_sheet, &sheets).await?;
    let beside = project.beside("kicad_pcb");
    let footprints = Board::read(&beside).map_or(0, |b| b.footprints.len());
    if made.netlist.components.is_empty() {
        if footprints > 0 || !made.index.symbols.is_empty() {
            return Err(empty(session, &made.index));
        }
        let reason = "there are no parts in the schematic".to_owned();
        return Ok(CheckResult { empty: true, reason, ..CheckResult::pass(CHECK) });
    }
    whole(session, &made)?;
    let path = args::output(session.context.step.arg_str("output").unwrap_or(OUTPUT_DEFAULT))?;
    session.move_output(&made.file, &path)?;
    let (parts, nets) = (made.netlist.components.len(), made.netlist.nets.len());
    session.notes.push(format!("netlist: {parts} parts, {nets} nets"));
    Ok(CheckResult::pass(CHECK))
}

/// A netlist that was just made.
pub(crate) struct Made {
    /// What is in it.
    pub netlist: Netlist,
    /// Where it lies, in the scratch folder.
    pub file: PathBuf,
    /// The same schematic by our own parser.
    pub index: SheetIndex,
}

/// The failure of a netlist without parts.
pub(super) fn empty(session: &Session<'_>, index: &SheetIndex) -> Stop {
    let parts = i64::try_from(index.symbols.len()).unwrap_or(i64::MAX);
    session.failed(Signal::new(Source::Report, signals::NETLIST_EMPTY).number(parts))
}

/// Every part that our own parser finds in the sheets must be in the netlist.
fn whole(session: &Session<'_>, made: &Made) -> Result<(), Stop> {
    let listed: BTreeSet<&str> =
        made.netlist.components.iter().map(|c| c.reference.as_str()).collect();
    let lacks: BTreeSet<&str> = made
        .index
        .symbols
        .iter()
        .filter(|s| s.on_board && !s.reference.ends_with('?'))
        .map(|s| s.reference.as_str())
        .filter(|r| !listed.contains(r))
        .collect();
    if lacks.is_empty() {
        return Ok(());
    }
    let text = lacks.into_iter().take(20).collect::<Vec<_>>().join(", ");
    let signal = Signal::new(Source::File, codes::OUTPUT_STALE);
    Err(session.failed(signal.text(&format!("the netlist lacks {text}"))))
}

/// Exports the netlist into the scratch folder and reads it back.
pub(crate) async fn export(
    env: &FindEnv,
    session: &mut Session<'_>,
    project: &Project,
    root_sheet: &Path,
    sheets: &Hierarchy,
) -> Result<Made, Stop> {
    let required = sheets.required_major().unwrap_or(0);
    let (newest, header) = erc::newest_sheet(sheets, root_sheet);
    let tool = tool::choose(env, session, required, &newest, header.as_ref()).await?;
    let mirror = project.mirror(session, Some(sheets), "netlist-project")?;
    let caller = session.caller(tool, args::libraries(&session.context.step))?;
    let out = caller.fresh("netlist").map_err(|s| session.failed(s))?;
    let file = out.join("netlist.xml");
    let name = root_sheet.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut line: Vec<String> =
        ["sch", "export", "netlist", "--format", "kicadxml", "-o"].map(String::from).into();
    line.push(file.to_string_lossy().into_owned());
    line.push(mirror.file(&name).to_string_lossy().into_owned());
    session.doing("exporting the netlist");
    let called = caller.run(&line, &mirror.folder).await.map_err(|s| session.failed(s))?;
    session.keep(&called);
    let netlist = drc::judge_call(
        session,
        &called,
        &caller,
        &out,
        |_| read(&file, &name),
        |major| project::not_loaded(root_sheet, major, FileKind::Schematic),
    )?;
    Ok(Made { netlist, file, index: SheetIndex::of(sheets) })
}

/// The netlist with its proof: there, whole, and made from our sheet.
fn read(file: &Path, sheet: &str) -> Result<Netlist, Signal> {
    let of = |code, text: &str| Signal::new(Source::File, code).text(text);
    let netlist = match Netlist::read(file) {
        Ok(netlist) => netlist,
        Err(NetlistError::Io(error)) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err(of(codes::OUTPUT_MISSING, "netlist"));
        }
        Err(NetlistError::Empty) => return Err(of(codes::OUTPUT_EMPTY, "netlist")),
        Err(error) => {
            let signal = Signal::new(Source::Report, signals::REPORT_UNREADABLE);
            return Err(signal.text(&error.to_string()));
        }
    };
    let source = netlist.source.rsplit(['/', '\\']).next().unwrap_or_default();
    if source != sheet {
        let signal = Signal::new(Source::Report, signals::REPORT_OTHER_BOARD);
        return Err(signal.text(&netlist.source));
    }
    Ok(netlist)
}
