//! Texts that `pcbflow init` writes: manifests and the workspace's own files.
//!
//! All arguments of KiCad's step kinds that a scaffold uses stand in `kicad_steps`.

use std::path::{Path, PathBuf};

use pcbflow_core::ids::BoardName;

use crate::manifest::PHASE_NAMES;
use crate::paths::{self, PathError};
use crate::workspace::{PROJECTS_DIR, SETTINGS_NAME, STATE_DIR};

/// Lines that a workspace needs in its `.gitignore`.
pub const IGNORED: [&str; 2] = [".pcbflow/", ".logs/"];
/// Everything that `kicad/export` is asked for.
const EXPORTS: [&str; 9] =
    ["gerbers", "drill", "position", "bom", "pdf", "svg", "step", "ipc2581", "odb"];
/// Longest board name made of a file name, in bytes.
const SLUG_BYTES_MAX: usize = 60;

/// Why a scaffold can't be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScaffoldError {
    /// The file is no KiCad project.
    #[error("{path} is not a KiCad project file (.kicad_pro)")]
    NotAProject {
        /// The file.
        path: PathBuf,
    },
    /// A folder; the project file in it is meant.
    #[error("{path} is a folder; name the .kicad_pro file in it")]
    Folder {
        /// The folder.
        path: PathBuf,
    },
    /// There is no such file.
    #[error("there is no file {path}")]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// The project has neither a board nor a schematic.
    #[error("beside {path} lies neither a board nor a schematic of that name")]
    Nothing {
        /// The file.
        path: PathBuf,
    },
    /// A file is there already and is not overwritten.
    #[error("{path} is there already, it is not overwritten")]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// A folder can't be used.
    #[error(transparent)]
    Path(#[from] PathError),
    /// The system refused.
    #[error("{path} can't be written")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
}

/// A board that `init --from` found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Name made of the file's.
    pub name: BoardName,
    /// Folder of the project, canonical.
    pub root: PathBuf,
    /// Board file, relative to the root.
    pub board: Option<String>,
    /// Schematic file, relative to the root.
    pub schematic: Option<String>,
    /// Name of the project's files, without ending.
    pub stem: String,
}

impl Found {
    /// What is not there beside the project file, and what is therefore not planned.
    #[must_use]
    pub fn missing(&self) -> Vec<String> {
        let stem = &self.stem;
        let mut lines = Vec::new();
        if self.board.is_none() {
            lines.push(format!(
                "there is no board file {stem}.kicad_pcb: no DRC, no fabrication and no comparison with the schematic is planned"
            ));
        }
        if self.schematic.is_none() {
            lines.push(format!(
                "there is no schematic {stem}.kicad_sch: no ERC, no netlist and no comparison with the board is planned"
            ));
        }
        lines
    }
}

/// Looks at a `.kicad_pro` and what lies beside it. Changes nothing.
///
/// # Errors
/// No such file, not a project, or nothing beside it.
pub fn look(project: &Path) -> Result<Found, ScaffoldError> {
    let path = || project.to_owned();
    if project.is_dir() {
        return Err(ScaffoldError::Folder { path: path() });
    }
    if !project.is_file() {
        return Err(ScaffoldError::Missing { path: path() });
    }
    if project.extension().and_then(|e| e.to_str()) != Some("kicad_pro") {
        return Err(ScaffoldError::NotAProject { path: path() });
    }
    let stem = project.file_stem().and_then(|s| s.to_str());
    let stem = stem.ok_or_else(|| ScaffoldError::NotAProject { path: path() })?;
    let dir = match project.parent() {
        Some(dir) if !dir.as_os_str().is_empty() => dir,
        _ => Path::new("."),
    };
    let root = paths::resolve_root(dir, None)?;
    let beside = |extension: &str| {
        let name = format!("{stem}.{extension}");
        root.join(&name).is_file().then_some(name)
    };
    let (board, schematic) = (beside("kicad_pcb"), beside("kicad_sch"));
    if board.is_none() && schematic.is_none() {
        return Err(ScaffoldError::Nothing { path: path() });
    }
    Ok(Found { name: slug(stem), root, board, schematic, stem: stem.to_owned() })
}

/// A board name made of any text: letters and digits of every script stay, runs of all else
/// become one '-'.
#[must_use]
pub fn slug(text: &str) -> BoardName {
    let mut out = String::new();
    for c in text.chars() {
        if c.is_alphanumeric() || matches!(c, '_' | '.') {
            out.extend(c.to_lowercase());
        } else if !out.is_empty() && !out.ends_with('-') {
            out.push('-');
        }
    }
    let cut = pcbflow_core::text::cut_bytes(&out, SLUG_BYTES_MAX);
    let cut = cut.trim_matches(['-', '.']);
    BoardName::new(cut).unwrap_or_else(|_| fallback())
}

fn fallback() -> BoardName {
    match BoardName::new("board") {
        Ok(name) => name,
        // Five small letters are a board name by the rules of its type.
        Err(_) => unreachable!("'board' is a board name"),
    }
}

/// Text in double quotes, as YAML reads it back.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The manifest of a new board: all phases of the flow, none with steps yet.
#[must_use]
pub fn manifest_new(name: &BoardName) -> String {
    let mut out = format!(
        "# Manifest of the board '{name}'. You write this file; pcbflow reads it and keeps its own\n\
         # state under the one key 'status:' at the end.\n\
         board: {}\n\
         \n\
         # Where the design files lie, relative to this file; without it, in this folder.\n\
         # root: ../../hw\n\
         \n\
         # Facts worth noting down.\n\
         # facts: {{ layers: 2, supply: 3.3 V }}\n\
         \n\
         # The phases, in order. A phase without steps is passed over and says so.\n\
         # A step looks like this:\n\
         #\n\
         #   - id: drc                       # its name in this phase\n\
         #     uses: kicad/drc               # its kind; 'pcbflow schema kinds' lists them all\n\
         #     with: {{ board: my.kicad_pcb }} # what the kind needs, relative to the root\n\
         #     check: {{ kind: report_clean, errors: 0, warnings: any }}\n\
         #     timeout: 5m                   # 300s, 5m or 2h; each kind has its own rule without\n\
         #     needs: [fill-zones]           # steps of this phase that come first\n\
         #     outputs: [out/drc.json]       # files it makes, relative to this folder\n\
         phases:\n",
        quoted(name.as_str())
    );
    for phase in PHASE_NAMES {
        out.push_str(&format!("  - id: {phase}\n    steps: []\n"));
    }
    out
}

/// One step of a scaffold.
struct Step {
    phase: &'static str,
    id: &'static str,
    uses: &'static str,
    with: Vec<(&'static str, String)>,
    check: Option<&'static str>,
    needs: &'static [&'static str],
}

/// The steps that suit a project, by what it has. The one place that knows the arguments of
/// KiCad's kinds.
fn kicad_steps(found: &Found) -> Vec<Step> {
    const LIMITS: &str = "{ kind: report_clean, errors: 0, warnings: any }";
    let board = found.board.as_ref().map(|b| ("board", quoted(b)));
    let schematic = found.schematic.as_ref().map(|s| ("schematic", quoted(s)));
    let step = |phase, id, uses, with: &[&Option<(&'static str, String)>]| Step {
        phase,
        id,
        uses,
        with: with.iter().filter_map(|w| (*w).clone()).collect(),
        check: None,
        needs: &[],
    };
    let mut steps = Vec::new();
    if schematic.is_some() {
        steps.push(Step {
            check: Some(LIMITS),
            ..step(PHASE_NAMES[4], "erc", "kicad/erc", &[&schematic])
        });
        steps.push(step(PHASE_NAMES[9], "netlist", "kicad/netlist", &[&schematic]));
    }
    if board.is_some() && schematic.is_some() {
        steps.push(step(PHASE_NAMES[9], "compare", "kicad/compare", &[&board, &schematic]));
    }
    if board.is_some() {
        // Without a schematic there is nothing that the board could be compared with.
        let parity = schematic.is_none().then(|| ("parity", "false".to_owned()));
        steps.push(Step {
            check: Some(LIMITS),
            ..step(PHASE_NAMES[11], "drc", "kicad/drc", &[&board, &parity])
        });
        let kinds = EXPORTS.iter().filter(|e| **e != "bom" || schematic.is_some());
        let what = Some(("what", format!("[{}]", kinds.copied().collect::<Vec<_>>().join(", "))));
        steps.push(Step {
            needs: &["drc"],
            ..step(PHASE_NAMES[11], "fabrication", "kicad/export", &[&board, &schematic, &what])
        });
    }
    steps
}

/// The manifest for an existing KiCad project, used where it lies. `board_dir` is the board's
/// folder in the workspace; it must be there.
///
/// # Errors
/// The folder can't be looked at.
pub fn manifest_from(
    found: &Found,
    name: &BoardName,
    board_dir: &Path,
) -> Result<String, ScaffoldError> {
    let from = paths::resolve_root(board_dir, None)?;
    let way = paths::way(&from, &found.root);
    let mut out = format!(
        "# Manifest of the board '{name}'. You write this file; pcbflow reads it and keeps its own\n\
         # state under the one key 'status:' at the end.\n\
         board: {}\n\
         \n\
         # The design files are used where they lie; pcbflow never copies or changes them.\n\
         root: {}\n\
         \n\
         # The phases, in order. 'pcbflow schema kinds' lists all kinds of steps.\n\
         phases:\n",
        quoted(name.as_str()),
        quoted(&way)
    );
    for line in found.missing() {
        out.push_str(&format!("  # {}\n", line.replace(char::is_control, " ")));
    }
    let mut phase = "";
    for step in kicad_steps(found) {
        if step.phase != phase {
            phase = step.phase;
            out.push_str(&format!("  - id: {phase}\n    steps:\n"));
        }
        let with: Vec<String> = step.with.iter().map(|(k, v)| format!("{k}: {v}")).collect();
        out.push_str(&format!(
            "      - id: {}\n        uses: {}\n        with: {{ {} }}\n",
            step.id,
            step.uses,
            with.join(", ")
        ));
        if let Some(check) = step.check {
            out.push_str(&format!("        check: {check}\n"));
        }
        if !step.needs.is_empty() {
            out.push_str(&format!("        needs: [{}]\n", step.needs.join(", ")));
        }
    }
    if found.board.is_none() {
        // A phase without steps is told as one, so nobody takes the schematic's pass for the board's.
        out.push_str(&format!("  - id: {}\n    steps: []\n", PHASE_NAMES[11]));
    }
    Ok(out)
}

/// `pcbflow.toml` with all defaults as comments.
pub const SETTINGS_TEXT: &str = "\
# Settings of this workspace. Remove the '#' of a line to use it. Hard caps hold all the same:
# at most 12 attempts for one failure, 5 waits, and 600000 ms a wait.

[run]
# jobs = 2                   # steps that run side by side; without it the number of cores

# Numbers of one class of failure, named as in 'pcbflow failures'.
# [retry.EDA-5]
# attempts = 4               # most attempts for one failure, the first included
# waits_ms = [1000, 4000]    # waits before its repetitions
# ladder_seconds = 3600      # longest time from the first failure to the last try
";

/// `knowledge/rules.toml` with one example as a comment.
pub const RULES_TEXT: &str = "\
# Rules of your own: how a failure is recognised, and what may be tried first.
# A rule can only choose among the actions that the failure's own row allows.

# [[rule]]
# name = \"our library server is asleep\"
# words = [\"could not load library\", \"//libs/\"]
# class = \"KI-5\"
# hint = \"The library server needs a minute after the weekend.\"
# allow = \"find-in-known-places\"
";

/// Writes a file that must not be there yet.
///
/// # Errors
/// It is there, or the system refused.
pub fn write_new(path: &Path, text: &str) -> Result<(), ScaffoldError> {
    use std::io::Write as _;
    let io = |source| ScaffoldError::Io { path: path.to_owned(), source };
    if let Some(dir) = path.parent() {
        std::fs::create_dir_all(dir).map_err(io)?;
    }
    let mut file = match std::fs::File::create_new(path) {
        Ok(file) => file,
        Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {
            return Err(ScaffoldError::Exists { path: path.to_owned() });
        }
        Err(e) => return Err(io(e)),
    };
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(io)
}

/// Makes the workspace's own files in `root`; those that are there stay as they are, save that
/// missing lines are added to `.gitignore`. Returns what was written.
///
/// # Errors
/// The system refused.
pub fn workspace_files(root: &Path) -> Result<Vec<PathBuf>, ScaffoldError> {
    let mut written = Vec::new();
    for dir in [STATE_DIR, PROJECTS_DIR] {
        let path = root.join(dir);
        let io = |source| ScaffoldError::Io { path: path.clone(), source };
        std::fs::create_dir_all(&path).map_err(io)?;
    }
    let files = [(SETTINGS_NAME, SETTINGS_TEXT), ("knowledge/rules.toml", RULES_TEXT)];
    for (name, text) in files {
        let path = root.join(name);
        match write_new(&path, text) {
            Ok(()) => written.push(path),
            Err(ScaffoldError::Exists { .. }) => {}
            Err(e) => return Err(e),
        }
    }
    written.extend(ignore_lines(root)?);
    Ok(written)
}

fn ignore_lines(root: &Path) -> Result<Option<PathBuf>, ScaffoldError> {
    let path = root.join(".gitignore");
    let io = |source| ScaffoldError::Io { path: path.clone(), source };
    let old = match std::fs::read(&path) {
        Ok(bytes) => bytes,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        Err(e) => return Err(io(e)),
    };
    let text = String::from_utf8_lossy(&old);
    let has = |line: &str| {
        text.lines().any(|l| {
            l.trim().trim_start_matches('/').trim_end_matches('/') == line.trim_end_matches('/')
        })
    };
    let missing: Vec<&str> = IGNORED.into_iter().filter(|l| !has(l)).collect();
    if missing.is_empty() {
        return Ok(None);
    }
    let eol = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let mut new = old.clone();
    if !old.is_empty() && !old.ends_with(b"\n") {
        new.extend_from_slice(eol.as_bytes());
    }
    for line in missing {
        new.extend_from_slice(line.as_bytes());
        new.extend_from_slice(eol.as_bytes());
    }
    std::fs::write(&path, new).map_err(io)?;
    Ok(Some(path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest;

    #[test]
    fn slugs() {
        for (from, to) in [
            ("StickHub", "stickhub"),
            ("Tür Sensor (v2)", "tür-sensor-v2"),
            ("  --", "board"),
            ("...", "board"),
            ("基板 1", "基板-1"),
            ("a/b\\c\nd", "a-b-c-d"),
        ] {
            assert_eq!(slug(from).as_str(), to, "{from:?}");
        }
        assert!(slug(&"ä".repeat(200)).as_str().len() <= SLUG_BYTES_MAX);
    }

    #[test]
    fn a_new_board_is_a_valid_manifest() {
        let name = BoardName::new("tür-1").unwrap();
        let doc = manifest::parse(Path::new("p"), manifest_new(&name).into_bytes()).unwrap();
        assert_eq!(doc.manifest.board, name);
        assert_eq!(doc.manifest.phases.len(), 12);
        assert!(doc.faults(&[], vec![]).is_empty());
        insta::assert_snapshot!(manifest_new(&name));
    }

    #[test]
    fn from_a_project_where_it_lies() {
        let dir = tempfile::tempdir().unwrap();
        let hw = dir.path().join("my hw ü");
        std::fs::create_dir_all(&hw).unwrap();
        for name in ["Tür: 1.kicad_pro", "Tür: 1.kicad_pcb", "Tür: 1.kicad_sch"] {
            std::fs::write(hw.join(name), "x").unwrap();
        }
        let found = look(&hw.join("Tür: 1.kicad_pro")).unwrap();
        assert_eq!(found.name.as_str(), "tür-1");
        let board_dir = dir.path().join("ws/projects/tür-1");
        std::fs::create_dir_all(&board_dir).unwrap();
        let text = manifest_from(&found, &found.name, &board_dir).unwrap();
        insta::assert_snapshot!(text);
        let doc = manifest::parse(&board_dir.join("project.yaml"), text.into_bytes()).unwrap();
        let root = paths::resolve_root(&board_dir, doc.manifest.root.as_deref()).unwrap();
        assert_eq!(root, std::fs::canonicalize(&hw).unwrap());
        assert!(matches!(look(&hw), Err(ScaffoldError::Folder { .. })));
        assert!(matches!(look(&hw.join("gone")), Err(ScaffoldError::Missing { .. })));
        assert!(matches!(
            look(&hw.join("Tür: 1.kicad_pcb")),
            Err(ScaffoldError::NotAProject { .. })
        ));
    }

    /// What can't be checked yet is said, in the manifest too, and the board's phase is there without
    /// steps, so that it does not pass.
    #[test]
    fn what_is_missing_beside_a_project_is_said() {
        let dir = tempfile::tempdir().unwrap();
        let hw = dir.path().join("hw");
        std::fs::create_dir_all(&hw).unwrap();
        let project = hw.join("Lamp.kicad_pro");
        std::fs::write(&project, "x").unwrap();
        let text = |there: &str, gone: &str| {
            std::fs::write(hw.join(gone), "x").unwrap();
            std::fs::rename(hw.join(gone), hw.join(there)).unwrap();
            let found = look(&project).unwrap();
            let missing = found.missing();
            assert!(missing.len() == 1 && missing[0].contains(gone), "{missing:?}");
            let text = manifest_from(&found, &found.name, dir.path()).unwrap();
            manifest::parse(Path::new("p"), text.clone().into_bytes()).unwrap();
            text
        };
        insta::assert_snapshot!("no_board", text("Lamp.kicad_sch", "Lamp.kicad_pcb"));
        insta::assert_snapshot!("no_schematic", text("Lamp.kicad_pcb", "Lamp.kicad_sch"));
    }

    #[test]
    fn workspace_files_keep_what_is_there() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(".gitignore"), "*.bak\r\n/.logs").unwrap();
        std::fs::write(dir.path().join("pcbflow.toml"), "# mine\n").unwrap();
        assert_eq!(workspace_files(dir.path()).unwrap().len(), 2);
        assert!(workspace_files(dir.path()).unwrap().is_empty());
        let ignore = std::fs::read_to_string(dir.path().join(".gitignore")).unwrap();
        assert_eq!(ignore, "*.bak\r\n/.logs\r\n.pcbflow/\r\n");
        assert_eq!(std::fs::read(dir.path().join("pcbflow.toml")).unwrap(), b"# mine\n");
        crate::workspace::Workspace::at(dir.path()).unwrap();
    }
}
