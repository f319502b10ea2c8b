//! Digests of files, cached by file status.
//!
//! A cached digest is believed when size, times, inode and device are what they were, and the
//! file had not been touched within a moment before it was read: a file changed twice within one
//! tick of its clock looks the same (git's racy-timestamp rule). Whatever is doubtful is read
//! again. The cache file is written whole and renamed; one that does not check out is empty.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use pcbflow_core::ids::Digest;
use pcbflow_core::ports::FileDigests;

/// Most files that are remembered; the longest unused go first.
pub const ENTRIES_MAX: usize = 50_000;
/// Most bytes of the cache file.
const CACHE_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// A file touched within this time before it was read is not remembered, in nanoseconds.
const RACY_NS: i128 = 20_000_000;
/// The same where times have whole seconds only.
const RACY_COARSE_NS: i128 = 2_000_000_000;
/// How often a file that changes while it is read is read again.
const READ_TRIES_MAX: u32 = 3;
/// First bytes of the cache file: name and version.
const MAGIC: &[u8; 16] = b"pcbflow-digest-1";
/// Name of the cache file.
const FILE_NAME: &str = "digests";

/// What identifies a state of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Status {
    size: u64,
    modified_ns: i128,
    changed_ns: i128,
    inode: u64,
    device: u64,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    status: Status,
    digest: Digest,
    used: u64,
}

#[derive(Debug, Default)]
struct Cache {
    entries: BTreeMap<PathBuf, Entry>,
    /// Counts the loads of the cache, so that the longest unused is known.
    round: u64,
    loaded: bool,
    dirty: bool,
}

/// Digests with a cache in a folder, normally `.pcbflow/cache`. The cache is read at the first
/// question and written by [`CachedDigests::flush`] and when dropped.
#[derive(Debug)]
pub struct CachedDigests {
    path: PathBuf,
    cache: Mutex<Cache>,
}

impl CachedDigests {
    /// A cache in `dir`, which need not exist.
    #[must_use]
    pub fn new(dir: &Path) -> CachedDigests {
        CachedDigests { path: dir.join(FILE_NAME), cache: Mutex::new(Cache::default()) }
    }

    fn locked(&self) -> MutexGuard<'_, Cache> {
        // A panic elsewhere can't leave the map in a wrong state: each change is one insert.
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        if !cache.loaded {
            let (entries, round) = load(&self.path).unwrap_or_default();
            *cache = Cache { entries, round: round + 1, loaded: true, dirty: false };
        }
        cache
    }

    /// Writes the cache if it changed. A cache that can't be written costs time, nothing else.
    ///
    /// # Errors
    /// What the system says.
    pub fn flush(&self) -> Result<(), std::io::Error> {
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        if !cache.dirty {
            return Ok(());
        }
        let bytes = encode(&mut cache);
        let dir = self.path.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(dir)?;
        let mut temp = tempfile::Builder::new().prefix("digests-").tempfile_in(dir)?;
        temp.write_all(&bytes)?;
        temp.persist(&self.path).map_err(|e| e.error)?;
        cache.dirty = false;
        Ok(())
    }
}

impl Drop for CachedDigests {
    fn drop(&mut self) {
        if let Err(error) = self.flush() {
            tracing::debug!(%error, "the cache of digests was not written");
        }
    }
}

impl FileDigests for CachedDigests {
    fn digest(&self, path: &Path) -> Result<Option<(Digest, u64)>, std::io::Error> {
        let Some(status) = status_of(path)? else { return Ok(None) };
        {
            let mut cache = self.locked();
            let round = cache.round;
            if let Some(entry) = cache.entries.get_mut(path).filter(|e| e.status == status) {
                entry.used = round;
                return Ok(Some((entry.digest, status.size)));
            }
        }
        // Read without the lock: others may look at other files meanwhile.
        let Some((digest, status, sure)) = read(path)? else { return Ok(None) };
        let mut cache = self.locked();
        let used = cache.round;
        if sure {
            cache.entries.insert(path.to_owned(), Entry { status, digest, used });
            cache.dirty = true;
        } else if cache.entries.remove(path).is_some() {
            cache.dirty = true;
        }
        Ok(Some((digest, status.size)))
    }
}

fn absent(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{NotADirectory, NotFound};
    matches!(error.kind(), NotFound | NotADirectory)
}

fn status_of(path: &Path) -> Result<Option<Status>, std::io::Error> {
    match std::fs::metadata(path) {
        Ok(meta) => Ok(Some(status(&meta))),
        Err(e) if absent(&e) => Ok(None),
        Err(e) => Err(e),
    }
}

#[cfg(unix)]
fn status(meta: &std::fs::Metadata) -> Status {
    use std::os::unix::fs::MetadataExt as _;
    let ns = |s: i64, n: i64| i128::from(s) * 1_000_000_000 + i128::from(n);
    Status {
        size: meta.len(),
        modified_ns: ns(meta.mtime(), meta.mtime_nsec()),
        changed_ns: ns(meta.ctime(), meta.ctime_nsec()),
        inode: meta.ino(),
        device: meta.dev(),
    }
}

#[cfg(not(unix))]
fn status(meta: &std::fs::Metadata) -> Status {
    let modified_ns = meta.modified().map_or(0, ns_of);
    Status { size: meta.len(), modified_ns, changed_ns: modified_ns, ..Status::default() }
}

fn ns_of(time: SystemTime) -> i128 {
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => i128::try_from(after.as_nanos()).unwrap_or(i128::MAX),
        Err(before) => -i128::try_from(before.duration().as_nanos()).unwrap_or(i128::MAX),
    }
}

/// Digest and status of a file, and whether that status will tell a later change.
fn read(path: &Path) -> Result<Option<(Digest, Status, bool)>, std::io::Error> {
    let mut last = None;
    for _ in 0..READ_TRIES_MAX {
        let started = ns_of(SystemTime::now());
        // Opening a pipe waits for a writer that may never come.
        match std::fs::metadata(path) {
            Ok(meta) if !meta.is_file() => {
                let what = "not a plain file";
                return Err(std::io::Error::new(std::io::ErrorKind::InvalidInput, what));
            }
            Ok(_) => {}
            Err(e) if absent(&e) => return Ok(None),
            Err(e) => return Err(e),
        }
        let mut file = match std::fs::File::open(path) {
            Ok(file) => file,
            Err(e) if absent(&e) => return Ok(None),
            Err(e) => return Err(e),
        };
        let before = status(&file.metadata()?);
        let mut hasher = blake3::Hasher::new();
        hasher.update_reader(&mut file)?;
        let digest = Digest(*hasher.finalize().as_bytes());
        let after = status(&file.metadata()?);
        if before == after && status_of(path)? == Some(after) {
            return Ok(Some((digest, after, !racy(&after, started))));
        }
        last = Some((digest, after, false));
    }
    Ok(last)
}

/// Whether the file was touched so shortly before it was read that another change could leave
/// the same times.
fn racy(status: &Status, read_ns: i128) -> bool {
    let touched = status.modified_ns.max(status.changed_ns);
    let margin = if status.changed_ns % 1_000_000_000 == 0 { RACY_COARSE_NS } else { RACY_NS };
    // A change time in the future, on a clock that went back, says nothing.
    status.changed_ns + margin >= read_ns || (cfg!(not(unix)) && touched + margin >= read_ns)
}

/// The cache as bytes: magic, round, entries, and the digest of all that.
fn encode(cache: &mut Cache) -> Vec<u8> {
    if cache.entries.len() > ENTRIES_MAX {
        let mut rounds: Vec<u64> = cache.entries.values().map(|e| e.used).collect();
        rounds.sort_unstable();
        let oldest = rounds.get(rounds.len() - ENTRIES_MAX).copied().unwrap_or(0);
        cache.entries.retain(|_, e| e.used >= oldest);
        while cache.entries.len() > ENTRIES_MAX {
            cache.entries.pop_first();
        }
    }
    let mut out = MAGIC.to_vec();
    out.extend_from_slice(&cache.round.to_le_bytes());
    for (path, entry) in &cache.entries {
        // A path that is no text is not remembered.
        let Some(text) = path.to_str() else { continue };
        let Ok(length) = u32::try_from(text.len()) else { continue };
        out.extend_from_slice(&length.to_le_bytes());
        out.extend_from_slice(text.as_bytes());
        let s = &entry.status;
        out.extend_from_slice(&s.size.to_le_bytes());
        out.extend_from_slice(&s.modified_ns.to_le_bytes());
        out.extend_from_slice(&s.changed_ns.to_le_bytes());
        out.extend_from_slice(&s.inode.to_le_bytes());
        out.extend_from_slice(&s.device.to_le_bytes());
        out.extend_from_slice(&entry.digest.0);
        out.extend_from_slice(&entry.used.to_le_bytes());
    }
    let sum = Digest::of(&out);
    out.extend_from_slice(&sum.0);
    out
}

fn load(path: &Path) -> Option<(BTreeMap<PathBuf, Entry>, u64)> {
    let file = std::fs::File::open(path).ok()?;
    if file.metadata().ok()?.len() > CACHE_BYTES_MAX {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(CACHE_BYTES_MAX).read_to_end(&mut bytes).ok()?;
    let body = bytes.get(..bytes.len().checked_sub(32)?)?;
    if bytes.get(body.len()..)? != Digest::of(body).0.as_slice() {
        return None;
    }
    let mut rest = body.strip_prefix(MAGIC.as_slice())?;
    let round = u64::from_le_bytes(take(&mut rest)?);
    let mut entries = BTreeMap::new();
    while !rest.is_empty() {
        let length = usize::try_from(u32::from_le_bytes(take(&mut rest)?)).ok()?;
        let (text, behind) = rest.split_at_checked(length)?;
        rest = behind;
        let status = Status {
            size: u64::from_le_bytes(take(&mut rest)?),
            modified_ns: i128::from_le_bytes(take(&mut rest)?),
            changed_ns: i128::from_le_bytes(take(&mut rest)?),
            inode: u64::from_le_bytes(take(&mut rest)?),
            device: u64::from_le_bytes(take(&mut rest)?),
        };
        let digest = Digest(take(&mut rest)?);
        let used = u64::from_le_bytes(take(&mut rest)?);
        let path = PathBuf::from(std::str::from_utf8(text).ok()?);
        entries.insert(path, Entry { status, digest, used });
    }
    Some((entries, round))
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (head, behind) = rest.split_first_chunk::<N>()?;
    *rest = behind;
    Some(*head)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn settle() {
        std::thread::sleep(Duration::from_millis(40));
    }

    fn cached(digests: &CachedDigests, path: &Path) -> bool {
        digests.locked().entries.contains_key(path)
    }

    #[test]
    fn a_change_is_always_seen() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("ä b");
        let digests = CachedDigests::new(&dir.path().join("cache"));
        assert_eq!(digests.digest(&file).unwrap(), None);
        // Same size, as fast as it goes: the racy rule must keep every one of them apart.
        for n in 0..200u32 {
            let text = format!("{n:04}");
            std::fs::write(&file, &text).unwrap();
            let seen = digests.digest(&file).unwrap().unwrap();
            assert_eq!(seen, (Digest::of(text.as_bytes()), 4));
        }
        settle();
        digests.digest(&file).unwrap();
        assert!(cached(&digests, &file));
        // A change that puts the old time back is seen by the change time.
        let old = std::fs::metadata(&file).unwrap().modified().unwrap();
        std::fs::write(&file, "zzzz").unwrap();
        std::fs::File::options().write(true).open(&file).unwrap().set_modified(old).unwrap();
        assert_eq!(digests.digest(&file).unwrap().unwrap().0, Digest::of(b"zzzz"));
        std::fs::remove_file(&file).unwrap();
        assert_eq!(digests.digest(&file).unwrap(), None);
        assert!(digests.digest(dir.path()).is_err(), "a folder has no digest");
    }

    #[test]
    fn the_cache_survives_and_a_corrupt_one_is_empty() {
        let dir = tempfile::tempdir().unwrap();
        let cache = dir.path().join("cache");
        let file = dir.path().join("f");
        std::fs::write(&file, "x").unwrap();
        settle();
        CachedDigests::new(&cache).digest(&file).unwrap();
        let again = CachedDigests::new(&cache);
        assert!(cached(&again, &file));
        let path = cache.join(FILE_NAME);
        let good = std::fs::read(&path).unwrap();
        for cut in [0, 5, 31, 32, 40, good.len() - 1] {
            std::fs::write(&path, &good[..cut]).unwrap();
            assert!(!cached(&CachedDigests::new(&cache), &file), "cut at {cut}");
        }
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 1;
            std::fs::write(&path, &bad).unwrap();
            let digests = CachedDigests::new(&cache);
            assert!(!cached(&digests, &file), "byte {at}");
            assert_eq!(digests.digest(&file).unwrap().unwrap().0, Digest::of(b"x"));
            drop(digests);
        }
    }

    #[test]
    fn it_is_bounded() {
        let mut cache = Cache { round: 7, loaded: true, ..Cache::default() };
        for n in 0..ENTRIES_MAX + 10 {
            let used = if n < 20 { 1 } else { 7 };
            let entry = Entry { status: Status::default(), digest: Digest::ZERO, used };
            cache.entries.insert(PathBuf::from(format!("/{n:08}")), entry);
        }
        let bytes = encode(&mut cache);
        assert!(cache.entries.len() <= ENTRIES_MAX);
        assert!(!cache.entries.contains_key(Path::new("/00000001")), "longest unused first");
        assert!(u64::try_from(bytes.len()).unwrap() < CACHE_BYTES_MAX);
    }
}
