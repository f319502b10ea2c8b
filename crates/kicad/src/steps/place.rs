//! Puts finished files into the board's folder: written aside, then renamed, one by one.

use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use pcbflow_core::event::OutputRef;
use pcbflow_core::ids::Digest;

use super::args;
use super::stop::{Session, Stop};
use crate::cli::space;

/// Bytes that are read at once while a digest is made.
const CHUNK_BYTES: usize = 256 * 1024;

/// Digest and size of a file.
///
/// # Errors
/// What the system says.
pub fn digest(path: &Path) -> io::Result<(Digest, u64)> {
    let mut file = std::fs::File::open(path)?;
    let mut hasher = blake3::Hasher::new();
    let mut chunk = vec![0u8; CHUNK_BYTES];
    let mut size = 0u64;
    // Ends at the end of the file.
    loop {
        let read = file.read(&mut chunk)?;
        if read == 0 {
            return Ok((Digest(*hasher.finalize().as_bytes()), size));
        }
        hasher.update(chunk.get(..read).unwrap_or_default());
        size += read as u64;
    }
}

impl Session<'_> {
    /// Writes a file below the board's folder and lists it among the outputs.
    ///
    /// # Errors
    /// A full disk or a folder that can't be written.
    pub fn write_output(&mut self, relative: &Path, bytes: &[u8]) -> Result<(), Stop> {
        let target = self.target(relative)?;
        write_aside(&self.context.scratch, &target, bytes)
            .map_err(|e| self.failed(space::signal_of(&target, &e)))?;
        self.list_output(relative, Digest::of(bytes), bytes.len() as u64);
        Ok(())
    }

    /// Moves a finished file into the board's folder and lists it among the outputs.
    ///
    /// # Errors
    /// A full disk or a folder that can't be written.
    pub fn move_output(&mut self, from: &Path, relative: &Path) -> Result<(), Stop> {
        let target = self.target(relative)?;
        let (digest, bytes) = move_aside(&self.context.scratch, from, &target)
            .map_err(|e| self.failed(space::signal_of(&target, &e)))?;
        self.list_output(relative, digest, bytes);
        Ok(())
    }

    /// Where an output goes. A link in its way must not lead the file out of the board's folder.
    fn target(&self, relative: &Path) -> Result<PathBuf, Stop> {
        let folder = &self.context.board_dir;
        let real = folder.canonicalize().unwrap_or_else(|_| folder.clone());
        let target = real.join(relative);
        let there = target.ancestors().skip(1).find(|a| a.symlink_metadata().is_ok());
        args::confined(&real, there.unwrap_or(&real))?;
        Ok(target)
    }

    /// Removes what this step made when it last passed and did not make now: it would lie beside
    /// the new files as if it were theirs. What was changed since, or is another step's too,
    /// stays; the changed ones are returned.
    ///
    /// # Errors
    /// A file that can't be read or removed.
    pub fn remove_earlier(&mut self) -> Result<Vec<String>, Stop> {
        let mut changed = Vec::new();
        for earlier in &self.context.earlier_outputs {
            let made = self.outputs.iter().any(|o| o.path == earlier.path);
            let of_another = self.context.phase_outputs.iter().any(|o| o.path == earlier.path);
            if made || of_another {
                continue;
            }
            let target = self.target(Path::new(&earlier.path))?;
            let there = target.symlink_metadata().is_ok_and(|m| m.is_file());
            if !there {
                continue;
            }
            let failed = |e: &io::Error| self.failed(space::signal_of(&target, e));
            if digest(&target).map_err(|e| failed(&e))? != (earlier.digest, earlier.bytes) {
                changed.push(earlier.path.clone());
                continue;
            }
            std::fs::remove_file(&target).map_err(|e| failed(&e))?;
            // An empty folder goes too; one that holds anything stays by itself.
            target.parent().map(std::fs::remove_dir).and_then(Result::ok);
        }
        Ok(changed)
    }

    fn list_output(&mut self, relative: &Path, digest: Digest, bytes: u64) {
        let parts: Vec<String> =
            relative.components().map(|c| c.as_os_str().to_string_lossy().into_owned()).collect();
        self.outputs.push(OutputRef { path: parts.join("/"), digest, bytes });
    }
}

fn folder_of(target: &Path) -> io::Result<PathBuf> {
    let folder = target.parent().unwrap_or(Path::new(".")).to_owned();
    std::fs::create_dir_all(&folder)?;
    Ok(folder)
}

/// A new file for what goes to `folder`: in the step's private folder, which the next run clears when
/// this one is killed, unless a file can't be moved from there to there.
fn aside(scratch: &Path, folder: &Path) -> io::Result<tempfile::NamedTempFile> {
    let place = if one_file_system(scratch, folder) { scratch } else { folder };
    tempfile::Builder::new().prefix(".pcbflow-new").tempfile_in(place)
}

#[cfg(unix)]
fn one_file_system(one: &Path, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let device = |path: &Path| path.metadata().map(|m| m.dev()).ok();
    device(one).is_some_and(|d| Some(d) == device(other))
}

#[cfg(not(unix))]
fn one_file_system(_one: &Path, _other: &Path) -> bool {
    false
}

fn write_aside(scratch: &Path, target: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = folder_of(target)?;
    let mut file = aside(scratch, &folder)?;
    file.write_all(bytes)?;
    persist(file, target)
}

fn move_aside(scratch: &Path, from: &Path, target: &Path) -> io::Result<(Digest, u64)> {
    let folder = folder_of(target)?;
    let mut source = std::fs::File::open(from)?;
    let mut file = aside(scratch, &folder)?;
    io::copy(&mut source, &mut file)?;
    let made = digest(file.path())?;
    persist(file, target)?;
    Ok(made)
}

fn persist(file: tempfile::NamedTempFile, target: &Path) -> io::Result<()> {
    file.as_file().sync_data()?;
    ordinary_rights(file.as_file())?;
    file.persist(target).map_err(|e| e.error)?;
    Ok(())
}

/// Temporary files, and KiCad's IPC-2581 ones, are for their owner alone; outputs are not.
#[cfg(unix)]
fn ordinary_rights(file: &std::fs::File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    file.set_permissions(std::fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn ordinary_rights(_file: &std::fs::File) -> io::Result<()> {
    Ok(())
}
