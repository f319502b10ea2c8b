//! One stream of a child, kept in full with bounded memory: the first bytes in memory, all of
//! them in an unnamed temporary file once there are more. A killed pcbflow leaves nothing behind.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use pcbflow_core::ports::{Blobs, Captured};
use pcbflow_core::redact::{MASK, redact};
use pcbflow_core::text::head_and_tail;

/// What is kept in memory before a file is made, in bytes.
const MEMORY_BYTES_MAX: usize = 1024 * 1024;
/// What is kept of the end when the file can't be written, in bytes.
const TAIL_BYTES_MAX: usize = 256 * 1024;
/// Longest stream that is stored whole; of a longer one, head and tail are. In bytes.
pub const STORED_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Longest head and tail handed to the caller, in bytes.
pub const TEXT_BYTES_MAX: usize = 64 * 1024;

/// What came in so far.
#[derive(Debug)]
pub(super) struct Capture {
    folder: PathBuf,
    memory: Vec<u8>,
    file: Option<File>,
    /// The end of the stream, kept only after writing the file failed.
    tail: Option<Vec<u8>>,
    total: u64,
}

impl Capture {
    /// An empty one that makes its file in `folder` if it needs one.
    pub(super) fn new(folder: &Path) -> Capture {
        Capture { folder: folder.to_owned(), memory: Vec::new(), file: None, tail: None, total: 0 }
    }

    /// Bytes that came in.
    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// Takes bytes. Never fails: when the disk is full, the first and the last bytes survive.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        if let Some(tail) = &mut self.tail {
            tail.extend_from_slice(bytes);
            if tail.len() > 2 * TAIL_BYTES_MAX {
                tail.drain(..tail.len() - TAIL_BYTES_MAX);
            }
            return;
        }
        if self.file.is_none() && self.memory.len() + bytes.len() <= MEMORY_BYTES_MAX {
            self.memory.extend_from_slice(bytes);
            return;
        }
        if let Err(error) = self.spill(bytes) {
            tracing::warn!(%error, "output can't be kept in full");
            self.file = None;
            self.tail = Some(bytes.to_vec());
        }
    }

    fn spill(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.file.is_none() {
            let made = tempfile::tempfile_in(&self.folder).or_else(|_| tempfile::tempfile());
            let mut file = made?;
            file.write_all(&self.memory)?;
            self.file = Some(file);
        }
        match &mut self.file {
            Some(file) => file.write_all(bytes),
            None => Ok(()),
        }
    }

    /// What is to be stored, whole or head and tail.
    fn content(&mut self) -> io::Result<Vec<u8>> {
        let Some(file) = &mut self.file else {
            let mut all = std::mem::take(&mut self.memory);
            if let Some(tail) = &self.tail {
                let left_out = self.total.saturating_sub((all.len() + tail.len()) as u64);
                all.extend_from_slice(mark(left_out).as_bytes());
                all.extend_from_slice(tail);
            }
            return Ok(all);
        };
        self.memory = Vec::new();
        let len = file.seek(SeekFrom::End(0))?;
        file.seek(SeekFrom::Start(0))?;
        if len <= STORED_BYTES_MAX {
            let mut all = Vec::with_capacity(usize::try_from(len).unwrap_or(0));
            file.read_to_end(&mut all)?;
            return Ok(all);
        }
        let head = STORED_BYTES_MAX / 4;
        let tail = STORED_BYTES_MAX - head;
        let mut all = Vec::new();
        Read::by_ref(file).take(head).read_to_end(&mut all)?;
        all.extend_from_slice(mark(len - head - tail).as_bytes());
        file.seek(SeekFrom::Start(len - tail))?;
        file.read_to_end(&mut all)?;
        Ok(all)
    }

    /// Redacts and stores what came in; `secrets` are masked wherever they stand. Blocks; large
    /// streams take a moment.
    pub(super) fn finish(
        mut self,
        name: &str,
        blobs: &dyn Blobs,
        home: Option<&str>,
        secrets: &[String],
    ) -> Captured {
        let total_bytes = self.total;
        if total_bytes == 0 {
            return Captured::default();
        }
        let content = self.content().unwrap_or_else(|error| {
            tracing::warn!(%error, name, "captured output can't be read back");
            std::mem::take(&mut self.memory)
        });
        let cut = (content.len() as u64) < total_bytes;
        let text = String::from_utf8_lossy(&content);
        let mut text = redact(&text, home);
        for secret in secrets {
            if text.contains(secret.as_str()) {
                text = text.replace(secret.as_str(), MASK).into();
            }
        }
        let blob = match blobs.put(name, text.as_bytes()) {
            Ok(mut blob) => {
                if cut {
                    blob.true_bytes = blob.true_bytes.max(total_bytes);
                }
                Some(blob)
            }
            Err(error) => {
                tracing::warn!(%error, name, "captured output can't be stored");
                None
            }
        };
        Captured { text: head_and_tail(&text, TEXT_BYTES_MAX), blob, total_bytes }
    }
}

fn mark(left_out: u64) -> String {
    format!("\n[... {left_out} bytes left out ...]\n")
}
