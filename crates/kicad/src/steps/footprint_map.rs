//! The project's footprint map: a JSON object from a part's reference, or from the footprint name
//! that its symbol carries, to a footprint: `"Library:Name"` of the project's own table, or the
//! path of a `.kicad_mod` file below the board's root.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use pcbflow_core::ports::StepContext;

use super::args;
use super::project::Project;
use super::stop::Stop;
use crate::sexpr::Document;

/// Argument that names the file.
pub const ARG: &str = "footprint_map";
/// Largest map, in bytes.
const MAP_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// A footprint map.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FootprintMap(BTreeMap<String, String>);

impl FootprintMap {
    /// The map that a step names; `None` when it names none.
    ///
    /// # Errors
    /// Refused when it leads out of the root, or is no JSON object of texts.
    pub fn of_step(context: &StepContext) -> Result<Option<FootprintMap>, Stop> {
        if context.step.arg_str(ARG).is_none() {
            return Ok(None);
        }
        let path = args::input(context, ARG)?;
        let fault = |why: String| Stop::Refused(format!("{}: {why}", path.display()));
        let size = path.metadata().map_err(|e| fault(e.to_string()))?.len();
        if size > MAP_BYTES_MAX {
            return Err(fault("it is too large".to_owned()));
        }
        let bytes = crate::file::read_bounded(&path).map_err(|e| fault(e.to_string()))?;
        let map = serde_json::from_slice(&bytes).map_err(|e| fault(e.to_string()))?;
        Ok(Some(FootprintMap(map)))
    }

    /// The footprint of a part, by its reference, else by the name its symbol carries.
    #[must_use]
    pub fn get(&self, reference: &str, shape: &str) -> Option<&str> {
        self.0.get(reference).or_else(|| self.0.get(shape)).map(String::as_str)
    }
}

/// The file of a footprint.
///
/// # Errors
/// Refused when it is not there or leads out of the root.
pub fn file_of(project: &Project, footprint: &str) -> Result<PathBuf, Stop> {
    let unknown = || Stop::Refused(format!("there is no footprint {footprint:?}"));
    let path = if footprint.ends_with(".kicad_mod") {
        args::inside(&project.root, footprint)?
    } else {
        let (library, name) = footprint.split_once(':').ok_or_else(unknown)?;
        library_folder(project, library).ok_or_else(unknown)?.join(format!("{name}.kicad_mod"))
    };
    args::confined(&project.root, &path)?;
    if path.is_file() { Ok(path) } else { Err(unknown()) }
}

/// The folder of a library, from the project's own table.
fn library_folder(project: &Project, library: &str) -> Option<PathBuf> {
    let bytes = crate::file::read_bounded(&project.folder.join("fp-lib-table")).ok()?;
    let doc = Document::parse(bytes).ok()?;
    let table = doc.root();
    let entry = table
        .children_named("lib")
        .find(|lib| lib.field("name", 1).is_some_and(|name| name == library))?;
    let uri = entry.field("uri", 1)?;
    let rest = Path::new(uri.strip_prefix("${KIPRJMOD}/")?);
    project.folder.join(rest).canonicalize().ok()
}
