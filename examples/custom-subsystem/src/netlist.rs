//! What a netlist names and has, and a private copy of it with other settings.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Most bytes of one netlist file.
const FILE_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Most files that one netlist pulls in.
pub const FILES_MAX: usize = 1_000;

/// Settings that find a solution where the circuit's own ones are too strict. ngspice takes the
/// last word on each option.
const RELAXED: &str = ".options reltol=0.003 abstol=1e-11 vntol=1e-5 itl1=500 itl4=100 method=gear";

/// The netlist with less strict settings, as text for a private copy.
#[must_use]
pub fn relaxed(netlist: &str) -> String {
    let mut lines: Vec<&str> = netlist.lines().collect();
    let end = lines.iter().rposition(|l| l.trim().eq_ignore_ascii_case(".end"));
    lines.insert(end.unwrap_or(lines.len()), RELAXED);
    lines.join("\n") + "\n"
}

/// A netlist with everything that it includes.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Whole {
    /// All files, the netlist first; one that is missing is listed, too.
    pub files: Vec<PathBuf>,
    /// Included files that can't be read, as written.
    pub missing: Vec<String>,
    /// Names of models and sub-circuits that are described, in lower case.
    pub described: BTreeSet<String>,
}

/// Reads a netlist and what it includes. Never fails: what can't be read is in `missing`.
#[must_use]
pub fn read_whole(netlist: &Path) -> Whole {
    let mut whole = Whole { files: vec![netlist.to_owned()], ..Whole::default() };
    let mut at = 0;
    while at < whole.files.len().min(FILES_MAX) {
        let file = whole.files[at].clone();
        at += 1;
        match read(&file) {
            Some(text) => text.lines().for_each(|line| take_line(line, &file, &mut whole)),
            None => whole.missing.push(file.to_string_lossy().into_owned()),
        }
    }
    whole
}

/// The text of a file, if it is one that can be read and not too large. Models of old vendors
/// are not always UTF-8.
#[must_use]
pub fn read(file: &Path) -> Option<String> {
    let size = std::fs::metadata(file).ok().filter(std::fs::Metadata::is_file)?.len();
    let bytes = if size <= FILE_BYTES_MAX { std::fs::read(file).ok()? } else { return None };
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn take_line(line: &str, file: &Path, whole: &mut Whole) {
    let mut words = line.split_whitespace();
    let Some(first) = words.next().map(str::to_lowercase) else { return };
    let rest = line.trim_start().get(first.len()..).unwrap_or("").trim();
    match first.as_str() {
        ".include" | ".inc" | ".lib" => {
            let name = included(rest);
            let path = file.parent().unwrap_or(Path::new(".")).join(name);
            // `.lib NAME` inside a library begins a section and names no file.
            let section = first == ".lib" && !name.contains('.');
            if !name.is_empty() && !section && !whole.files.contains(&path) {
                whole.files.push(path);
            }
        }
        ".model" | ".subckt" => whole.described.extend(words.next().map(str::to_lowercase)),
        _ => {}
    }
}

/// The file name of an include line, quoted or not; what follows a library's name is a section.
fn included(rest: &str) -> &str {
    match rest.chars().next() {
        Some(quote @ ('"' | '\'')) => rest[1..].split(quote).next().unwrap_or(""),
        _ => rest.split_whitespace().next().unwrap_or(""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_settings_come_last_and_the_rest_stays() {
        let text = "title\nR1 a 0 1k\n.end\n";
        assert_eq!(relaxed(text), format!("title\nR1 a 0 1k\n{RELAXED}\n.end\n"));
        assert_eq!(relaxed("title\nR1 a 0 1k"), format!("title\nR1 a 0 1k\n{RELAXED}\n"));
    }

    #[test]
    fn includes_are_followed_once_each() {
        let dir = tempfile::tempdir().expect("a folder");
        let file = |name: &str, text: &str| {
            std::fs::write(dir.path().join(name), text).expect("a file");
        };
        file("main.cir", "title\n.include \"a b.lib\"\n.lib c.lib typical\n.inc gone.lib\n");
        file("a b.lib", ".MODEL DX D(is=1e-14)\n.include main.cir\n");
        file("c.lib", ".lib typical\n.subckt OpAmp a b c\n.ends\n.endl\n");
        let whole = read_whole(&dir.path().join("main.cir"));
        let names: Vec<String> = whole
            .files
            .iter()
            .filter_map(|f| f.file_name())
            .map(|n| n.to_string_lossy().into_owned())
            .collect();
        assert_eq!(names, ["main.cir", "a b.lib", "c.lib", "gone.lib"]);
        assert_eq!(whole.missing.len(), 1);
        assert_eq!(whole.described, ["dx".to_owned(), "opamp".to_owned()].into());
    }
}
