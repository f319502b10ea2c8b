//! All readers over KiCad's own demo projects, up to a size, where they are installed.

use std::path::Path;

use super::board::Board;
use super::header::FileKind;
use super::project::{Probe, ProjectState};
use super::rules::{CanaryTarget, lint};
use super::schematic::Hierarchy;
use crate::sexpr::{Document, Edit};
use crate::testing::{demos, files_below};

/// Larger demo files are left to the slow suites, in bytes.
const MAX_DEMO_BYTES: u64 = 20_000_000;

fn is_small(path: &Path) -> bool {
    path.metadata().is_ok_and(|data| data.is_file() && data.len() <= MAX_DEMO_BYTES)
}

#[test]
fn every_demo_is_read_without_loss() {
    for major in [9, 10] {
        let Some(folder) = demos(major) else { continue };
        let wanted = ["kicad_pcb", "kicad_sch", "kicad_sym", "kicad_mod", "kicad_dru", "kicad_wks"];
        let known = |path: &Path| path.extension().is_some_and(|e| wanted.iter().any(|w| e == *w));
        let files = files_below(&folder, |path| known(path) && is_small(path));
        assert!(files.len() > 100, "{} demo files", files.len());
        for path in files {
            let bytes = std::fs::read(&path).unwrap();
            let doc = Document::parse(bytes.clone())
                .unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            assert_eq!(Edit::new(&doc).finish().unwrap(), bytes, "{}", path.display());
            match path.extension().and_then(|e| e.to_str()) {
                Some("kicad_pcb") => check_board(&path, &doc, major),
                Some("kicad_dru") => check_rules(&path, &bytes, major),
                _ => {}
            }
        }
    }
}

fn check_board(path: &Path, doc: &Document, major: u32) {
    let board = Board::from_document(doc).unwrap();
    let name = path.display();
    assert_eq!(board.header.kind, FileKind::Board);
    assert!(board.header.required_major().unwrap() <= major, "{name}: {:?}", board.header);
    assert!(board.oddities.is_empty(), "{name}: {:?}", board.oddities);
    assert!(
        CanaryTarget::for_board(&board).is_some() && Probe::for_board(&board).is_some(),
        "{name}"
    );
    // One demo has its project elsewhere.
    let project = ProjectState::read(&path.with_extension("kicad_pro"));
    assert!(project.is_ok() || project == ProjectState::Missing, "{name}: {project:?}");
    let sheet = path.with_extension("kicad_sch");
    if sheet.is_file() {
        let hierarchy = Hierarchy::read(&sheet);
        assert_eq!(hierarchy.problems, [], "{name}");
        assert_eq!(hierarchy.too_new_for(major).count(), 0, "{name}");
    }
}

fn check_rules(path: &Path, bytes: &[u8], major: u32) {
    let board = std::fs::read(path.with_extension("kicad_pcb")).unwrap();
    let board = Board::parse(board).unwrap();
    let names: Vec<String> = board.layers.into_iter().filter_map(|layer| layer.user_name).collect();
    let set = lint(bytes, major, &names);
    assert!(set.is_sound() && !set.rules.is_empty(), "{}: {:?}", path.display(), set.problems);
}
