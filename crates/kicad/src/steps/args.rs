//! Arguments of steps: files stay inside the board's root, outputs inside its folder.

use std::path::{Component, Path, PathBuf};

use pcbflow_core::check::Limits;
use pcbflow_core::manifest::{CheckSpec, StepDef, path_fault};
use pcbflow_core::ports::StepContext;
use serde_json::Value;

use super::stop::Stop;
use crate::cli::settings::Libraries;

/// A yes-or-no argument.
#[must_use]
pub fn flag(step: &StepDef, name: &str, default: bool) -> bool {
    step.with.get(name).and_then(Value::as_bool).unwrap_or(default)
}

/// Which libraries the step wants to see.
#[must_use]
pub fn libraries(step: &StepDef) -> Libraries {
    if flag(step, "stock_libraries", false) { Libraries::Stock } else { Libraries::Project }
}

/// The pinned major version, if there is one.
#[must_use]
pub fn pinned_major(step: &StepDef) -> Option<u32> {
    step.with.get("kicad").and_then(Value::as_u64).and_then(|n| u32::try_from(n).ok())
}

/// Limits of the step's check.
#[must_use]
pub fn limits(step: &StepDef) -> Limits {
    match &step.check {
        CheckSpec::ReportClean(limits) => *limits,
        _ => Limits::default(),
    }
}

/// The board's root with all links resolved.
///
/// # Errors
/// Refused when it is not there.
pub fn root(context: &StepContext) -> Result<PathBuf, Stop> {
    context.root.canonicalize().map_err(|error| {
        Stop::Refused(format!(
            "the board's folder {} can't be opened: {error}",
            context.root.display()
        ))
    })
}

/// An input file named in an argument, absolute; its folder has no links in it. The file itself
/// need not be there.
///
/// # Errors
/// Refused when the argument is missing or leads out of the root, by `..` or by a link.
pub fn input(context: &StepContext, name: &str) -> Result<PathBuf, Stop> {
    let Some(text) = context.step.arg_str(name) else {
        return Err(Stop::Refused(format!("the step names no {name}")));
    };
    inside(&root(context)?, text)
}

/// A file below `root`.
///
/// # Errors
/// Refused when it leads out of it.
pub fn inside(root: &Path, text: &str) -> Result<PathBuf, Stop> {
    // Names with line ends are legal file names; only those that could lead elsewhere are not.
    if let Some(fault) = path_fault(text).filter(|f| !f.contains("control") || text.contains('\0'))
    {
        return Err(Stop::Refused(format!("the path {text:?} {fault}")));
    }
    let path = root.join(text);
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(Stop::Refused(format!("the path {text:?} names no file")));
    };
    // A folder that is not there has no links in it; the missing file is found later.
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let path = folder.join(name);
    confined(root, &path)?;
    Ok(path)
}

/// Whether a file, links followed, lies below `root`.
///
/// # Errors
/// Refused when it does not.
pub fn confined(root: &Path, path: &Path) -> Result<(), Stop> {
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    if real.starts_with(root) {
        return Ok(());
    }
    Err(Stop::Refused(format!("{} lies outside the board's folder", path.display())))
}

/// A path below the board's own folder for an output.
///
/// # Errors
/// Refused when it leads out of it.
pub fn output(text: &str) -> Result<PathBuf, Stop> {
    if let Some(fault) = path_fault(text) {
        return Err(Stop::Refused(format!("the path {text:?} {fault}")));
    }
    let parts = Path::new(text).components().filter(|c| matches!(c, Component::Normal(_)));
    Ok(parts.collect())
}

/// Where a step's report goes: its argument, else its first declared output, else `default`.
///
/// # Errors
/// Refused when it leads out of the board's folder.
pub fn report_path(step: &StepDef, default: &str) -> Result<PathBuf, Stop> {
    let declared = step.arg_str("report").or(step.outputs.first().map(String::as_str));
    output(declared.unwrap_or(default))
}
