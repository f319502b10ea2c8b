//! `init`: a workspace and a board, new or from a KiCad project that stays where it lies.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pcbflow_checkpoint::git::InitError;
use pcbflow_checkpoint::scaffold::{self, Found, ScaffoldError};
use pcbflow_checkpoint::workspace::Workspace;
use pcbflow_core::ids::BoardName;
use pcbflow_store::Mode;

use crate::App;
use crate::args::InitArgs;
use crate::cancel::Stop;
use crate::compose::{self, NoProgress, Site, block_on, current_dir};
use crate::envelope::Answer;
use crate::error::{CommandError, Kind, chain};

impl From<ScaffoldError> for CommandError {
    fn from(e: ScaffoldError) -> CommandError {
        let kind = match e {
            ScaffoldError::Missing { .. } => Kind::NotFound,
            ScaffoldError::Io { .. } => Kind::Config,
            _ => Kind::Usage,
        };
        let error = CommandError::new(kind, chain(&e));
        match e {
            ScaffoldError::NotAProject { .. } => error.hint(
                "name the .kicad_pro beside the board; a project of KiCad 5 (.pro) gets one when a newer KiCad opens and saves it",
            ),
            _ => error,
        }
    }
}

/// `pcbflow init`.
///
/// # Errors
/// The board is there already; the project can't be used; the folder can't be written.
pub fn init(app: &App, args: &InitArgs) -> Result<Answer, CommandError> {
    let found = args.from.as_deref().map(scaffold::look).transpose()?;
    let name = match (&args.name, &found) {
        (Some(name), _) => BoardName::new(name.clone())
            .map_err(|e| CommandError::new(Kind::Usage, e.to_string()))?,
        (None, Some(found)) => found.name.clone(),
        (None, None) => return Err(CommandError::new(Kind::Usage, "name the board")),
    };
    let root = place(app)?;
    let existed = root.join("projects").join(name.as_str()).join("project.yaml").exists();
    if existed {
        return Err(CommandError::new(Kind::Usage, format!("the board '{name}' is there already"))
            .hint(format!(
                "'pcbflow run {name}' runs it; 'pcbflow init OTHER-NAME --from ...' makes another"
            )));
    }
    let mut lines = Vec::new();
    for file in scaffold::workspace_files(&root)? {
        lines.push(format!("wrote {}", shown(&root, &file)));
    }
    let site = Site::at(Workspace::at(&root)?)?;
    if !args.no_git && make_repository(&site)? {
        lines.push("made a git repository for the workspace".to_owned());
    }
    let manifest = write_manifest(&root, &name, found.as_ref())?;
    lines.push(format!("wrote {}", shown(&root, &manifest)));
    // The manifest that was just written must be valid: a scaffold with a fault is our bug.
    let board = site.board(&name)?;
    let opened = site.ledger(Mode::Write)?;
    let records = match &found {
        Some(found) => records(&site, found),
        None => BTreeMap::new(),
    };
    let anchor = || site.adopted(&board);
    compose::ensure_stream(opened.ledger.as_ref(), &name, records, anchor)?;
    lines.push(match &found {
        Some(found) => format!(
            "board '{name}' uses {} where it lies; nothing there was changed",
            found.root.display()
        ),
        None => {
            format!("board '{name}' has its phases and no steps yet; add steps to that file")
        }
    });
    lines.extend(found.iter().flat_map(Found::missing));
    lines.push(format!("next: pcbflow run {name}"));
    let mut answer = Answer::done("init", lines)
        .with("manifest", shown(&root, &manifest))
        .with("workspace", root.display().to_string());
    answer.envelope.board = Some(name.to_string());
    answer.envelope.resume = Some(format!("pcbflow run {name}"));
    Ok(answer)
}

/// The workspace's folder: the named one, the one that the current folder lies in, or the
/// current folder itself.
fn place(app: &App) -> Result<PathBuf, CommandError> {
    let dir = match &app.global.workspace {
        Some(dir) => {
            std::fs::create_dir_all(dir).map_err(|e| {
                CommandError::new(Kind::Config, format!("{} can't be made: {e}", dir.display()))
            })?;
            dir.clone()
        }
        None => {
            let here = current_dir()?;
            Workspace::find(&here).map(|w| w.root).unwrap_or(here)
        }
    };
    std::fs::canonicalize(&dir)
        .map_err(|e| CommandError::new(Kind::Config, format!("{}: {e}", dir.display())))
}

/// Makes a git repository for the workspace unless it lies in one. True when one was made.
fn make_repository(site: &Site) -> Result<bool, CommandError> {
    let services = site.services(&Stop::default(), Arc::new(NoProgress));
    let root = &site.workspace.root;
    match block_on(pcbflow_checkpoint::git::init_repository(&services, "init", root))? {
        Ok(_) => Ok(true),
        Err(InitError::Exists { .. }) => Ok(false),
        Err(e) => Err(CommandError::new(Kind::ToolMissing, chain(&e))
            .hint("install git, or say --no-git; phases are then not committed")),
    }
}

fn write_manifest(
    root: &Path,
    name: &BoardName,
    found: Option<&Found>,
) -> Result<PathBuf, CommandError> {
    let dir = root.join("projects").join(name.as_str());
    std::fs::create_dir_all(&dir)
        .map_err(|e| CommandError::new(Kind::Config, format!("{}: {e}", dir.display())))?;
    let text = match found {
        Some(found) => scaffold::manifest_from(found, name, &dir)?,
        None => scaffold::manifest_new(name),
    };
    let path = dir.join("project.yaml");
    scaffold::write_new(&path, &text)?;
    Ok(path)
}

/// The rule set as it is now, so that it can stand in when it is lost later. Without one the
/// first check takes it; nothing is lost by going on.
fn records(site: &Site, found: &Found) -> BTreeMap<String, String> {
    let file = found.board.as_ref().or(found.schematic.as_ref());
    file.map_or_else(BTreeMap::new, |file| {
        pcbflow_kicad::record_ruleset(&found.root, Path::new(file), &site.blobs())
    })
}

fn shown(root: &Path, path: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).display().to_string()
}
