//! The settings folder that belongs to pcbflow, and the environment of every call.
//!
//! **Library tables.** Whether a footprint "matches its library copy" depends on which libraries
//! the machine has: the same board gives 41 or 0 warnings. So pcbflow decides, and not the
//! machine: without being asked, both global tables are **empty** (the project's own tables always
//! count), which is the same for KiCad 9 and 10 and costs nothing. With `stock_libraries: true` in
//! a step, KiCad's stock tables are used: in 10 by a row that names them (6 s more per call), in
//! 9 by letting the tool copy them into an empty settings folder.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use super::find::Version;

/// Which global library tables the tool sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Libraries {
    /// None: only those of the project.
    Project,
    /// KiCad's own ones as well.
    Stock,
}

impl Libraries {
    /// Name of its settings folder, and word in the closure.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Libraries::Project => "plain",
            Libraries::Stock => "stock",
        }
    }
}

/// The home folder of all calls, below the state folder.
#[must_use]
pub fn home(state_dir: &Path) -> PathBuf {
    state_dir.join("kicad-home")
}

/// The environment of a call. `C.UTF-8` because other locales change the language of reports, and
/// plain `C` can't open names that are not ASCII; UTC because KiCad 10 writes local times without
/// a zone.
///
/// A value that is not ASCII is empty for KiCad, in every locale (measured with 9.0.8 and 10.0.6): it
/// does not start without a `HOME`, and reads no tables without `KICAD_CONFIG_HOME`. From `cwd` the
/// same folders have names that are ASCII. What is not KiCad's own takes no such names, and no harm.
///
/// `${KICAD9_3RD_PARTY}` and `${KICAD_USER_TEMPLATE_DIR}` lead below the two folders of data, which the
/// engineer's shell may name (measured); they are ours, so that the result is the same in every shell.
/// Who wants libraries of the plugin manager sets `KICAD9_3RD_PARTY` itself.
#[must_use]
pub fn environment(home: &Path, config: &Path, tmp: &Path, cwd: &Path) -> BTreeMap<String, String> {
    let plain = |name: &str, whole: String| match name {
        "HOME" | "KICAD_CONFIG_HOME" | "KICAD_DOCUMENTS_HOME" | "KICAD_CACHE_HOME" | "TMPDIR"
            if !whole.is_ascii() =>
        {
            way(cwd, Path::new(&whole)).unwrap_or(whole)
        }
        _ => whole,
    };
    let whole = whole_environment(home, config, tmp).into_iter();
    whole.map(|(name, value)| (name.clone(), plain(&name, value))).collect()
}

/// The same with whole paths, whatever letters are in them: what names in files lead to.
#[must_use]
pub fn whole_environment(home: &Path, config: &Path, tmp: &Path) -> BTreeMap<String, String> {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let fixed = |text: &str| text.to_owned();
    BTreeMap::from([
        (fixed("HOME"), text(home)),
        (fixed("KICAD_CONFIG_HOME"), text(config)),
        (fixed("KICAD_DOCUMENTS_HOME"), text(&home.join(DOCUMENTS))),
        (fixed("KICAD_CACHE_HOME"), text(&home.join("cache"))),
        (fixed("XDG_DATA_HOME"), text(&home.join(DOCUMENTS))),
        (fixed("XDG_CONFIG_HOME"), text(&home.join("config"))),
        (fixed("XDG_CACHE_HOME"), text(&home.join("cache"))),
        (fixed("LC_ALL"), fixed("C.UTF-8")),
        (fixed("LANG"), fixed("C.UTF-8")),
        (fixed("TZ"), fixed("UTC")),
        (fixed("TMPDIR"), text(tmp)),
    ])
}

/// Where KiCad keeps what it takes for a person's own libraries, below its home.
const DOCUMENTS: &str = ".local/share";

/// The way from one folder to another, links resolved; `None` if one is not there.
fn way(from: &Path, to: &Path) -> Option<String> {
    // The last folders may still have to be made.
    let there = to.ancestors().find(|folder| folder.exists())?;
    let below = to.strip_prefix(there).ok()?;
    let (from, to) = (from.canonicalize().ok()?, there.canonicalize().ok()?.join(below));
    let common = from.components().zip(to.components()).take_while(|(a, b)| a == b).count();
    let mut way: PathBuf = from.components().skip(common).map(|_| "..").collect();
    way.extend(to.components().skip(common));
    let text = way.to_string_lossy().into_owned();
    Some(if text.is_empty() { ".".to_owned() } else { text })
}

/// Kinds of library tables: file name and first word.
const TABLES: [(&str, &str); 2] =
    [("fp-lib-table", "fp_lib_table"), ("sym-lib-table", "sym_lib_table")];

/// Makes the settings folder for a version ready and gives its path (for `KICAD_CONFIG_HOME`).
/// The second value says that the tool still has to copy its tables (KiCad 8 and 9).
///
/// # Errors
/// What the system says when a folder or table can't be written.
pub fn prepare(
    state_dir: &Path,
    version: Version,
    libraries: Libraries,
) -> io::Result<(PathBuf, bool)> {
    let config = home(state_dir).join(libraries.word());
    let folder = config.join(format!("{}.{}", version.major, version.minor));
    std::fs::create_dir_all(&folder)?;
    let mut copies = false;
    for (file, word) in TABLES {
        let path = folder.join(file);
        match libraries {
            Libraries::Project => keep(&path, &format!("({word} (version 7))\n"))?,
            Libraries::Stock if version.major >= 10 => {
                let uri = format!("${{KICAD{}_TEMPLATE_DIR}}/{file}", version.major);
                keep(
                    &path,
                    &format!(
                        "({word}\n  (version 7)\n  (lib (name \"KiCad\") (type \"Table\") (uri \"{uri}\") (options \"\") (descr \"\")))\n"
                    ),
                )?;
            }
            Libraries::Stock => copies |= file == "fp-lib-table" && !path.exists(),
        }
    }
    Ok((config, copies))
}

/// Writes a small file unless it has this text already.
fn keep(path: &Path, text: &str) -> io::Result<()> {
    if std::fs::read(path).is_ok_and(|bytes| bytes == text.as_bytes()) {
        return Ok(());
    }
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    io::Write::write_all(&mut file, text.as_bytes())?;
    file.persist(path).map_err(|e| e.error)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each folder that the tool would look for in the engineer's home is one of ours.
    #[test]
    fn every_folder_of_the_home_is_ours() {
        let home = Path::new("/own");
        let variables = environment(home, &home.join("plain"), Path::new("/tmp/x"), home);
        for name in [
            "HOME",
            "KICAD_CONFIG_HOME",
            "KICAD_DOCUMENTS_HOME",
            "XDG_CACHE_HOME",
            "XDG_CONFIG_HOME",
            "XDG_DATA_HOME",
        ] {
            assert!(Path::new(&variables[name]).starts_with(home), "{name}");
        }
    }

    #[test]
    fn folders_that_are_not_ascii_are_named_from_where_the_tool_runs() {
        let folder = tempfile::Builder::new().prefix("ü").tempdir().unwrap();
        let (home, cwd) = (folder.path().join("state/home"), folder.path().join("state/基板/1"));
        std::fs::create_dir_all(&home).unwrap();
        std::fs::create_dir_all(&cwd).unwrap();
        let env = environment(&home, &home.join("plain"), &cwd.join("tmp"), &cwd);
        let named = |name: &str| env[name].as_str();
        assert_eq!(named("HOME"), "../../home");
        assert_eq!(named("KICAD_CONFIG_HOME"), "../../home/plain");
        assert_eq!(named("KICAD_DOCUMENTS_HOME"), "../../home/.local/share");
        assert_eq!(named("TMPDIR"), "tmp");
        assert_eq!(environment(&home, &home, &home, &home)["HOME"], ".");
        let plain = environment(Path::new("/h"), Path::new("/h/p"), Path::new("/t"), &cwd);
        assert_eq!(plain["KICAD_CONFIG_HOME"], "/h/p");
    }
}
