//! What the tests of this crate share.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use pcbflow_core::event::BlobRef;
use pcbflow_core::ids::Digest;
use pcbflow_core::ports::{Blobs, Cancel, LedgerError, Spawn, SpawnRequest, SpawnResult};
use pcbflow_process::ProcessSpawn;
use tempfile::TempDir;

/// Blobs in memory.
#[derive(Default)]
pub struct MemoryBlobs(pub Mutex<BTreeMap<Digest, Vec<u8>>>);

impl Blobs for MemoryBlobs {
    fn put(&self, name: &str, bytes: &[u8]) -> Result<BlobRef, LedgerError> {
        let digest = Digest::of(bytes);
        self.0.lock().unwrap().insert(digest, bytes.to_vec());
        let bytes = bytes.len() as u64;
        Ok(BlobRef { name: name.to_owned(), digest, bytes, true_bytes: bytes })
    }

    fn get(&self, digest: &Digest) -> Result<Vec<u8>, LedgerError> {
        let all = self.0.lock().unwrap();
        all.get(digest).cloned().ok_or(LedgerError::NotFound { what: digest.to_string() })
    }
}

/// A wish to stop that a test can have.
pub struct Stop(pub tokio::sync::watch::Sender<bool>);

impl Stop {
    pub fn never() -> Stop {
        Stop(tokio::sync::watch::channel(false).0)
    }
}

#[async_trait]
impl Cancel for Stop {
    fn is_cancelled(&self) -> bool {
        *self.0.borrow()
    }

    async fn cancelled(&self) {
        let mut seen = self.0.subscribe();
        drop(seen.wait_for(|stop| *stop).await);
        if !self.is_cancelled() {
            std::future::pending::<()>().await;
        }
    }
}

/// A folder with a state folder, a spawner and its blobs.
pub struct Place {
    pub dir: TempDir,
    pub blobs: Arc<MemoryBlobs>,
    pub spawn: ProcessSpawn,
}

impl Place {
    pub fn new() -> Place {
        let dir = tempfile::Builder::new().prefix("pcbflow it ä ").tempdir().unwrap();
        let blobs = Arc::new(MemoryBlobs::default());
        std::fs::create_dir(dir.path().join("state")).unwrap();
        let spawn = ProcessSpawn::new(dir.path().join("state"), blobs.clone());
        Place { dir, blobs, spawn }
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    pub fn state(&self) -> PathBuf {
        self.path().join("state")
    }

    pub fn request(&self, argv: &[&str]) -> SpawnRequest {
        SpawnRequest {
            argv: argv.iter().map(|a| (*a).to_owned()).collect(),
            cwd: self.path().to_owned(),
            deadline_ms: 20_000,
            tag: tag(),
            ..SpawnRequest::default()
        }
    }

    pub async fn run(&self, request: SpawnRequest) -> SpawnResult {
        self.spawn.run(request, &Stop::never()).await
    }

    /// Runs a line of shell.
    pub async fn sh(&self, line: &str) -> SpawnResult {
        self.run(self.request(&["sh", "-c", line])).await
    }

    pub fn stored(&self, of: &pcbflow_core::ports::Captured) -> Vec<u8> {
        self.blobs.get(&of.blob.as_ref().unwrap().digest).unwrap()
    }
}

/// A marker that no other test has.
pub fn tag() -> String {
    use std::sync::atomic::{AtomicU32, Ordering};
    static COUNT: AtomicU32 = AtomicU32::new(0);
    format!("it-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

/// Writes a program.
pub fn program(path: &Path, text: &str) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// Whether a live process carries this marker, or one of a child of this attempt.
#[cfg(target_os = "linux")]
pub fn tagged_alive(tag: &str) -> bool {
    let wanted = format!("PCBFLOW_ATTEMPT={tag}");
    let child = format!("{wanted}.");
    std::fs::read_dir("/proc").unwrap().flatten().any(|e| {
        let stat = std::fs::read_to_string(e.path().join("stat")).unwrap_or_default();
        let zombie = stat.rsplit_once(')').is_some_and(|(_, r)| r.trim_start().starts_with('Z'));
        let environ = std::fs::read(e.path().join("environ")).unwrap_or_default();
        !zombie
            && environ
                .split(|b| *b == 0)
                .any(|v| v == wanted.as_bytes() || v.starts_with(child.as_bytes()))
    })
}

#[cfg(not(target_os = "linux"))]
pub fn tagged_alive(_tag: &str) -> bool {
    false
}
