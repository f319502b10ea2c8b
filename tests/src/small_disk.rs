//! Disks of a test's own: small, or read-only. They go away with the value.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A mount that is taken away when it is dropped.
#[derive(Debug)]
pub struct Mount {
    place: PathBuf,
}

fn run(argv: &[&str]) -> Result<(), String> {
    let command = Command::new(argv[0]).args(&argv[1..]).output();
    match command {
        Ok(Output { status, .. }) if status.success() => Ok(()),
        Ok(Output { stderr, .. }) => Err(String::from_utf8_lossy(&stderr).trim().to_owned()),
        Err(why) => Err(why.to_string()),
    }
}

impl Mount {
    /// A disk of this size in memory; `None` (and a note) when this user may not mount.
    #[must_use]
    pub fn small(place: &Path, kilobytes: u64) -> Option<Mount> {
        let options = format!("size={kilobytes}k");
        let target = place.display().to_string();
        Mount::of(place, &["mount", "-t", "tmpfs", "-o", &options, "tmpfs", &target])
    }

    /// The folder itself, read-only; `None` (and a note) when this user may not mount.
    #[must_use]
    pub fn read_only(place: &Path) -> Option<Mount> {
        let target = place.display().to_string();
        let mount = Mount::of(place, &["mount", "--bind", &target, &target])?;
        match run(&["mount", "-o", "remount,bind,ro", &target]) {
            Ok(()) => Some(mount),
            Err(why) => {
                crate::note(&format!("skipped: no read-only mount here: {why}"));
                None
            }
        }
    }

    fn of(place: &Path, argv: &[&str]) -> Option<Mount> {
        match run(argv) {
            Ok(()) => Some(Mount { place: place.to_owned() }),
            Err(why) => {
                crate::note(&format!("skipped: no mount here: {why}"));
                None
            }
        }
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let target = self.place.display().to_string();
        // Lazily, should something still stand in it.
        if let Err(why) = run(&["umount", &target]).or_else(|_| run(&["umount", "-l", &target])) {
            crate::note(&format!("{target} stays mounted: {why}"));
        }
    }
}
