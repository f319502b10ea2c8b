//! Helpers for the tests of this crate: the corpus of real projects, and kicad-cli where it is installed.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Writes a line to standard error, past the test harness, for what a test left out.
pub(crate) fn note(text: &str) {
    // A note that can't be written is of no consequence for the test.
    let _written = writeln!(std::io::stderr(), "note: {text}");
}

/// The folder of real projects, or `None` (and a note) where it is absent.
pub(crate) fn corpus() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus/kicad");
    if folder.is_dir() {
        return Some(folder);
    }
    note("skipped: the corpus of real KiCad projects is not here");
    None
}

/// All files below `under` in the corpus for which `wanted` says yes, sorted.
pub(crate) fn corpus_files(under: &str, wanted: impl Fn(&Path) -> bool) -> Option<Vec<PathBuf>> {
    Some(files_below(&corpus()?.join(under), wanted))
}

/// All files below a folder for which `wanted` says yes, sorted.
pub(crate) fn files_below(folder: &Path, wanted: impl Fn(&Path) -> bool) -> Vec<PathBuf> {
    let mut folders = vec![folder.to_owned()];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if wanted(&path) {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

/// KiCad's own demo projects of one version, beside an installed `kicad-cli-<major>`; `None` (and a note) without.
pub(crate) fn demos(major: u32) -> Option<PathBuf> {
    let name = format!("kicad-cli-{major}");
    let paths = std::env::var_os("PATH")?;
    let program =
        std::env::split_paths(&paths).map(|folder| folder.join(&name)).find(|path| path.exists());
    let program = program.and_then(|path| path.canonicalize().ok());
    let above = program.iter().flat_map(|path| path.ancestors().skip(1));
    let demos = above
        .map(|folder| folder.join("root/usr/share/kicad/demos"))
        .find(|folder| folder.is_dir());
    if demos.is_none() {
        note(&format!("skipped: the demo projects of KiCad {major} are not installed"));
    }
    demos
}

/// Path of `kicad-cli-<major>`, or `None` (and a note) where it is not installed.
pub(crate) fn kicad_cli(major: u32) -> Option<String> {
    let name = format!("kicad-cli-{major}");
    let answers = Command::new(&name).arg("version").output().is_ok_and(|out| out.status.success());
    if !answers {
        note(&format!("skipped: {name} is not installed"));
    }
    answers.then_some(name)
}

/// Runs a prepared kicad-cli with its own settings folder and a fixed locale; gives exit code, stdout and stderr.
pub(crate) fn run(program: &str, home: &Path, args: &[&str]) -> (Option<i32>, String, String) {
    let out = Command::new(program)
        .args(args)
        .env("HOME", home)
        .env("KICAD_CONFIG_HOME", home.join("config"))
        .env("LC_ALL", "C.UTF-8")
        .env("LANG", "C.UTF-8")
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    (out.status.code(), text(out.stdout), text(out.stderr))
}

/// Types and descriptions of all violations that a design-rule check finds.
pub(crate) fn drc(program: &str, folder: &Path, board: &Path) -> Vec<(String, String)> {
    let report = folder.join("report.json");
    let (report_text, board_text) = (report.to_string_lossy(), board.to_string_lossy());
    let args =
        ["pcb", "drc", "--format", "json", "--severity-all", "-o", &report_text, &board_text];
    let (code, _, stderr) = run(program, folder, &args);
    assert_eq!(code, Some(0), "{stderr}");
    let json: serde_json::Value = serde_json::from_slice(&std::fs::read(&report).unwrap()).unwrap();
    std::fs::remove_file(report).unwrap();
    let text = |v: &serde_json::Value| v.as_str().unwrap().to_owned();
    let all = json["violations"].as_array().unwrap();
    all.iter().map(|v| (text(&v["type"]), text(&v["description"]))).collect()
}
