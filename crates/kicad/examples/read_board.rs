//! Reads one KiCad file and prints how long it took: `cargo run --release -p pcbflow-kicad --example read_board FILE`.

use std::io::Write as _;
use std::time::Instant;

use pcbflow_kicad::file::board::Board;
use pcbflow_kicad::sexpr::{Document, Edit};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("the path of a KiCad file is needed")?;
    let mut out = std::io::stdout();
    let bytes = std::fs::read(&path)?;
    let size = bytes.len();
    let begun = Instant::now();
    let doc = Document::parse(bytes)?;
    let read = begun.elapsed();
    let begun = Instant::now();
    let same = Edit::new(&doc).finish()?.len() == size;
    let written = begun.elapsed();
    writeln!(
        out,
        "{size} bytes, {} nodes, read in {read:?}, written in {written:?}, same: {same}",
        doc.node_count()
    )?;
    let begun = Instant::now();
    match Board::from_document(&doc) {
        Ok(board) => writeln!(
            out,
            "{} footprints, {} nets, {} holes, {} zones, {} tracks, {} oddities, facts in {:?}",
            board.footprints.len(),
            board.nets.len(),
            board.drill_count(),
            board.zones.len(),
            board.tracks,
            board.oddities.len(),
            begun.elapsed()
        )?,
        Err(error) => writeln!(out, "no facts: {error}")?,
    }
    Ok(())
}
