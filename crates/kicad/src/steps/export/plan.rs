//! Which calls an export consists of.

use std::path::PathBuf;

use super::super::args;
use super::super::project::Project;
use super::super::stop::{Session, Stop};
use crate::cli::call::Caller;
use crate::file::board::Board;
use crate::file::schematic::Hierarchy;

/// One kind of file. In the order in which they are started: those that take longest first, so
/// that two cores end at about the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum What {
    /// A STEP model.
    Step,
    /// IPC-2581.
    Ipc2581,
    /// ODB++.
    Odb,
    /// Gerber files of all layers.
    Gerbers,
    /// A PDF with one page per layer.
    Pdf,
    /// An SVG of the front.
    Svg,
    /// Bill of materials.
    Bom,
    /// Excellon drill files, plated and not plated apart.
    Drill,
    /// Positions of parts.
    Position,
}

impl What {
    /// All of them.
    pub const ALL: [What; 9] = [
        What::Step,
        What::Ipc2581,
        What::Odb,
        What::Gerbers,
        What::Pdf,
        What::Svg,
        What::Bom,
        What::Drill,
        What::Position,
    ];

    /// The word in manifests and the name of its folder.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            What::Step => "step",
            What::Ipc2581 => "ipc2581",
            What::Odb => "odb",
            What::Gerbers => "gerbers",
            What::Pdf => "pdf",
            What::Svg => "svg",
            What::Bom => "bom",
            What::Drill => "drill",
            What::Position => "position",
        }
    }

    /// The kind of this word.
    #[must_use]
    pub fn of_word(word: &str) -> Option<What> {
        What::ALL.into_iter().find(|w| w.word() == word)
    }

    /// The oldest major version that has it.
    fn since(self) -> u32 {
        match self {
            What::Odb => 9,
            _ => 8,
        }
    }
}

/// One call.
#[derive(Debug, Clone)]
pub struct Job {
    /// What it makes.
    pub what: What,
    /// Its arguments.
    pub args: Vec<String>,
    /// The fresh folder that it fills.
    pub folder: PathBuf,
}

/// All calls of a step.
///
/// # Errors
/// A full disk; refused when the version does not have what is asked for.
pub fn jobs(
    session: &Session<'_>,
    whats: &[What],
    caller: &Caller<'_>,
    project: &Project,
    board: &Board,
    sheets: Option<&Hierarchy>,
) -> Result<Vec<Job>, Stop> {
    let mut jobs = Vec::with_capacity(whats.len());
    for what in whats {
        if caller.tool.major() < what.since() {
            let text = format!("{} has no export of {}", caller.tool.label(), what.word());
            return Err(Stop::Refused(text));
        }
        let folder =
            caller.fresh(&format!("made/{}", what.word())).map_err(|s| session.failed(s))?;
        let line = Line { what: *what, caller, project, board, folder: &folder };
        let mut args = line.args(session);
        // The tool works in the private copy, so the plain name is enough; "./" keeps a name that
        // begins with '-' from being an option.
        let input = match (what, sheets) {
            (What::Bom, Some(sheets)) => {
                sheets.root.file_name().unwrap_or_default().to_string_lossy().into_owned()
            }
            _ => project.name("kicad_pcb"),
        };
        args.push(format!("./{input}"));
        jobs.push(Job { what: *what, args, folder });
    }
    Ok(jobs)
}

struct Line<'a> {
    what: What,
    caller: &'a Caller<'a>,
    project: &'a Project,
    board: &'a Board,
    folder: &'a PathBuf,
}

impl Line<'_> {
    fn file(&self, end: &str) -> String {
        self.folder.join(format!("{}{end}", self.project.stem)).to_string_lossy().into_owned()
    }

    /// A folder as the tool wants it: with a '/' at its end.
    fn folder(&self) -> String {
        format!("{}/", self.folder.to_string_lossy())
    }

    fn args(&self, session: &Session<'_>) -> Vec<String> {
        let words = |list: &[&str]| list.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>();
        let with = |list: &[&str], out: String| {
            let mut args = words(list);
            args.push("-o".to_owned());
            args.push(out);
            args
        };
        match self.what {
            What::Gerbers => with(&["pcb", "export", "gerbers"], self.folder()),
            What::Drill => {
                with(&["pcb", "export", "drill", "--excellon-separate-th"], self.folder())
            }
            What::Position => with(
                &["pcb", "export", "pos", "--format", "csv", "--units", "mm", "--side", "both"],
                self.file("-pos.csv"),
            ),
            What::Bom => with(
                &[
                    "sch",
                    "export",
                    "bom",
                    "--group-by",
                    "Value,Footprint",
                    "--ref-range-delimiter",
                    "",
                ],
                self.file("-bom.csv"),
            ),
            What::Pdf => {
                let mut args = words(&["pcb", "export", "pdf", "--mode-multipage", "-l"]);
                args.push(self.layers());
                // KiCad 9 takes a folder here, 10 the file.
                let out =
                    if self.caller.tool.major() >= 10 { self.file(".pdf") } else { self.folder() };
                args.extend(["-o".to_owned(), out]);
                args
            }
            What::Svg => with(
                &[
                    "pcb",
                    "export",
                    "svg",
                    "--mode-single",
                    "--page-size-mode",
                    "2",
                    "--exclude-drawing-sheet",
                    "-l",
                    "F.Cu,F.Mask,F.Silkscreen,Edge.Cuts",
                ],
                self.file("-front.svg"),
            ),
            What::Step => {
                let mut args = words(&["pcb", "export", "step", "--force"]);
                let bare = args::flag(&session.context.step, "board_only", false);
                args.push(if bare { "--board-only" } else { "--subst-models" }.to_owned());
                args.extend(["-o".to_owned(), self.file(".step")]);
                args
            }
            What::Ipc2581 => with(&["pcb", "export", "ipc2581"], self.file(".xml")),
            What::Odb => with(&["pcb", "export", "odb"], self.file("-odb.zip")),
        }
    }

    /// Copper, silkscreen and outline, by the names that the tool knows.
    fn layers(&self) -> String {
        let mut names: Vec<&str> = self.board.copper_layers().map(|l| l.name.as_str()).collect();
        names.extend(["F.Silkscreen", "B.Silkscreen", "F.Fab", "B.Fab", "Edge.Cuts"]);
        names.join(",")
    }
}
