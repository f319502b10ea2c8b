//! Large evidence as compressed files, named by what is in them.
//!
//! `.pcbflow/blobs/ab/cdef..` holds the zstd frame of the bytes whose BLAKE3 digest is
//! `abcdef..`. A file is whole and durable before [`Blobs::put`] returns, so an event that names
//! a digest never names nothing.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use pcbflow_core::event::BlobRef;
use pcbflow_core::ids::Digest;
use pcbflow_core::ports::{Blobs, LedgerError};

use crate::fault;
use crate::open::sync_folder;

/// Most bytes of one blob, before compression; the rest is cut and its length recorded.
pub const BLOB_BYTES_MAX: usize = 64 << 20;

/// Level of compression: quick, and good enough for reports and logs.
const ZSTD_LEVEL: i32 = 3;

/// Blobs in a folder.
#[derive(Debug, Clone)]
pub struct FileBlobs {
    folder: PathBuf,
}

/// How many blobs there are, and how large.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct BlobStats {
    /// Files.
    pub files: u64,
    /// Their compressed bytes.
    pub bytes: u64,
}

impl FileBlobs {
    /// Blobs in `folder`, normally `.pcbflow/blobs`; made when the first is stored.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>) -> FileBlobs {
        FileBlobs { folder: folder.into() }
    }

    /// Where a blob lies.
    #[must_use]
    pub fn path_of(&self, digest: &Digest) -> PathBuf {
        let name = digest.to_string();
        let (first, rest) = name.split_at(2);
        self.folder.join(first).join(rest)
    }

    /// Whether a blob is there, without looking into it.
    #[must_use]
    pub fn has(&self, digest: &Digest) -> bool {
        self.path_of(digest).is_file()
    }

    /// Whether a file is one of this folder.
    pub(crate) fn holds(&self, path: &Path) -> bool {
        path.starts_with(&self.folder)
    }

    /// Removes a blob for good. True when there was one.
    ///
    /// # Errors
    /// What the system says when the file can't be removed.
    pub fn remove(&self, digest: &Digest) -> Result<bool, LedgerError> {
        let path = self.path_of(digest);
        match fs::remove_file(&path) {
            Ok(()) => {
                sync_folder(&path);
                Ok(true)
            }
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(false),
            Err(e) => Err(fault::io("removing stored evidence", &e)),
        }
    }

    /// Digests of all blobs.
    ///
    /// # Errors
    /// What the system says when a folder can't be listed.
    pub fn list(&self) -> Result<BTreeSet<Digest>, LedgerError> {
        let mut found = BTreeSet::new();
        self.each(&mut |digest, _| {
            found.insert(digest);
        })?;
        Ok(found)
    }

    /// Counts all blobs.
    ///
    /// # Errors
    /// What the system says when a folder can't be listed.
    pub fn stats(&self) -> Result<BlobStats, LedgerError> {
        let mut stats = BlobStats::default();
        self.each(&mut |_, bytes| {
            stats.files += 1;
            stats.bytes += bytes;
        })?;
        Ok(stats)
    }

    fn each(&self, visit: &mut dyn FnMut(Digest, u64)) -> Result<(), LedgerError> {
        let fail = |e: std::io::Error| fault::io("listing stored evidence", &e);
        let folders = match fs::read_dir(&self.folder) {
            Ok(folders) => folders,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(e) => return Err(fail(e)),
        };
        for folder in folders {
            let folder = folder.map_err(fail)?;
            if !folder.file_type().map_err(fail)?.is_dir() {
                continue;
            }
            let first = folder.file_name().to_string_lossy().into_owned();
            for file in fs::read_dir(folder.path()).map_err(fail)? {
                let file = file.map_err(fail)?;
                let name = format!("{first}{}", file.file_name().to_string_lossy());
                if let Ok(digest) = name.parse() {
                    visit(digest, file.metadata().map_err(fail)?.len());
                }
            }
        }
        Ok(())
    }

    fn store(&self, digest: &Digest, bytes: &[u8]) -> std::io::Result<()> {
        self.store_packed(digest, &zstd::bulk::compress(bytes, ZSTD_LEVEL)?)
    }

    /// Stores packed bytes, which were checked against the digest.
    pub(crate) fn store_packed(&self, digest: &Digest, packed: &[u8]) -> std::io::Result<()> {
        let path = self.path_of(digest);
        let folder = path.parent().unwrap_or(&self.folder);
        if !folder.is_dir() {
            fs::create_dir_all(folder)?;
            sync_folder(folder);
        }
        let mut temp = tempfile::NamedTempFile::new_in(folder)?;
        temp.write_all(packed)?;
        temp.as_file().sync_all()?;
        temp.persist(&path).map_err(|e| e.error)?;
        sync_folder(&path);
        Ok(())
    }
}

/// Unpacks a blob's file, at most [`BLOB_BYTES_MAX`] bytes of it.
pub(crate) fn unpack(path: &Path) -> std::io::Result<Vec<u8>> {
    unpack_from(File::open(path)?)
}

/// The same of packed bytes.
pub(crate) fn unpack_from(packed: impl Read) -> std::io::Result<Vec<u8>> {
    let packed = zstd::stream::read::Decoder::new(packed)?;
    let mut bytes = Vec::new();
    packed.take(BLOB_BYTES_MAX as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

impl Blobs for FileBlobs {
    fn put(&self, name: &str, bytes: &[u8]) -> Result<BlobRef, LedgerError> {
        let kept = bytes.get(..BLOB_BYTES_MAX).unwrap_or(bytes);
        let digest = Digest::of(kept);
        // What is there is checked, so that a damaged file does not stand for new evidence.
        if self.get(&digest).is_err() {
            self.store(&digest, kept).map_err(|e| fault::io("storing evidence", &e))?;
        }
        Ok(BlobRef {
            name: name.to_owned(),
            digest,
            bytes: kept.len() as u64,
            true_bytes: bytes.len() as u64,
        })
    }

    fn get(&self, digest: &Digest) -> Result<Vec<u8>, LedgerError> {
        let path = self.path_of(digest);
        let damaged = |what: &str| LedgerError::Damaged {
            what: format!("stored evidence {} {what}", digest.short()),
        };
        let bytes = match unpack(&path) {
            Ok(bytes) => bytes,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                let what = format!("stored evidence {}", digest.short());
                return Err(LedgerError::NotFound { what });
            }
            Err(e) if matches!(e.kind(), std::io::ErrorKind::PermissionDenied) => {
                return Err(fault::io("reading stored evidence", &e));
            }
            Err(e) => return Err(damaged(&format!("is unreadable ({e})"))),
        };
        if Digest::of(&bytes) != *digest {
            return Err(damaged("has other content than its name says"));
        }
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn put_get_and_damage() {
        let folder = tempfile::tempdir().unwrap();
        let blobs = FileBlobs::new(folder.path().join("blobs"));
        let blob = blobs.put("stdout", b"hello hello hello").unwrap();
        assert_eq!((blob.bytes, blob.true_bytes), (17, 17));
        assert_eq!(blobs.get(&blob.digest).unwrap(), b"hello hello hello");
        assert!(matches!(blobs.get(&Digest::ZERO), Err(LedgerError::NotFound { .. })));
        assert_eq!(blobs.list().unwrap().len(), 1);

        fs::write(blobs.path_of(&blob.digest), b"not zstd").unwrap();
        assert!(matches!(blobs.get(&blob.digest), Err(LedgerError::Damaged { .. })));
        let other = zstd::bulk::compress(b"other", 3).unwrap();
        fs::write(blobs.path_of(&blob.digest), other).unwrap();
        assert!(matches!(blobs.get(&blob.digest), Err(LedgerError::Damaged { .. })));
        blobs.put("stdout", b"hello hello hello").unwrap();
        assert_eq!(blobs.get(&blob.digest).unwrap().len(), 17, "mended by storing it again");
        assert!(blobs.remove(&blob.digest).unwrap());
        assert!(!blobs.has(&blob.digest));
    }

    #[test]
    fn what_is_over_the_cap_is_cut_and_its_length_recorded() {
        let folder = tempfile::tempdir().unwrap();
        let blobs = FileBlobs::new(folder.path());
        let big = vec![b'x'; BLOB_BYTES_MAX + 5];
        let blob = blobs.put("stdout", &big).unwrap();
        assert_eq!((blob.bytes, blob.true_bytes), (64 << 20, (64 << 20) + 5));
        assert_eq!(blobs.get(&blob.digest).unwrap().len(), BLOB_BYTES_MAX);
    }
}
