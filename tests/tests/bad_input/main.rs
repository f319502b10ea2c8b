//! Input that is broken, hostile or odd, and surroundings that are worse. Never a clean verdict,
//! never a panic, never a lost event; each ends with the exit code that scripts rely on.

mod clock;
mod disk;
mod kicad_lies;
mod kicad_projects;
mod manifests;
mod names;
mod repositories;
