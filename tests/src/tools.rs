//! Programs that stand on `PATH` before the real tools.
//!
//! A wrapper is a copy of one of this package's programs under a tool's name, with its orders in a
//! file beside it (`<name>.orders`): told apart only by its address, as the product sees it.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::program;

/// Looks a program up in a list of folders like `PATH`.
#[must_use]
pub fn find_in(path: &OsStr, name: &str) -> Option<PathBuf> {
    std::env::split_paths(path).map(|dir| dir.join(name)).find(|file| {
        fs::metadata(file).is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
    })
}

/// A program of this machine's `PATH`.
#[must_use]
pub fn find(name: &str) -> Option<PathBuf> {
    find_in(&std::env::var_os("PATH").unwrap_or_default(), name)
}

/// Puts a copy of one of this package's programs into a folder, under a tool's name.
///
/// # Panics
/// When it can't be written.
pub fn put(folder: &Path, name: &str, program: &str, orders: &Value) -> PathBuf {
    let place = folder.join(name);
    let own = program::own(program);
    if place.exists() {
        fs::remove_file(&place).expect("an old wrapper");
    }
    if fs::hard_link(&own, &place).is_err() {
        fs::copy(&own, &place).expect("a copy of a wrapper");
    }
    fs::write(orders_of(&place), orders.to_string()).expect("orders");
    place
}

/// The orders that lie beside a program.
#[must_use]
pub fn orders_of(program: &Path) -> PathBuf {
    let mut name = program.file_name().unwrap_or_default().to_owned();
    name.push(".orders");
    program.with_file_name(name)
}

/// A folder with links to some programs of this machine and nothing else.
///
/// # Panics
/// When it can't be made.
pub fn only(folder: &Path, names: &[&str]) -> OsString {
    fs::create_dir_all(folder).expect("a folder");
    for name in names {
        if let Some(real) = find(name) {
            std::os::unix::fs::symlink(real, folder.join(name)).expect("a link");
        }
    }
    folder.as_os_str().to_owned()
}

/// One line of a journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// `start` or `end`.
    pub what: String,
    /// Process of the wrapper; the same for both lines of a call.
    pub pid: u64,
    /// The attempt's marker that it was started with.
    pub tag: String,
    /// Program and arguments.
    pub argv: Vec<String>,
    /// Exit status; only at the end.
    pub exit: Option<i64>,
}

/// The lines that the wrappers wrote. A line that was being written when its writer was killed
/// is left out.
///
/// # Panics
/// When another line is not as the wrapper writes it.
#[must_use]
pub fn journal(path: &Path) -> Vec<Entry> {
    let text = fs::read_to_string(path).unwrap_or_default();
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    whole
        .lines()
        .map(|line| {
            let value: Value = serde_json::from_str(line).expect("a journal line");
            Entry {
                what: value["what"].as_str().unwrap_or_default().to_owned(),
                pid: value["pid"].as_u64().unwrap_or_default(),
                tag: value["tag"].as_str().unwrap_or_default().to_owned(),
                argv: value["argv"]
                    .as_array()
                    .map(|a| a.iter().filter_map(|w| w.as_str().map(str::to_owned)).collect())
                    .unwrap_or_default(),
                exit: value["exit"].as_i64(),
            }
        })
        .collect()
}

/// Puts a wrapper that keeps a journal before the real tool of this name; before this package's
/// own `act`, too.
///
/// # Panics
/// When there is no such tool.
pub fn put_journal(folder: &Path, name: &str, journal: &Path) {
    let real = if name == "act" { Some(program::own(name)) } else { find(name) };
    let real = real.unwrap_or_else(|| panic!("there is no {name}"));
    let real = fs::canonicalize(&real).unwrap_or(real);
    put(folder, name, "journal-wrapper", &json!({"real": real, "journal": journal}));
}
