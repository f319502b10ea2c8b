//! The main job on a real board: KiCad's StickHub from its project file to the fabrication files,
//! with the engineer's own files untouched and everything on record.

mod corpus;
mod end_to_end;
mod newcomer;
