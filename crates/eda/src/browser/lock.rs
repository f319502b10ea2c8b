//! The lock of a profile, read before anything is started on it.
//!
//! Chrome replaces the lock of a dead process by itself. Moving a lock aside is only right when it
//! names another computer (a container that was made anew) or is no link at all, and only when no
//! process of this computer uses the folder: a live owner never loses its lock.

use std::io;
use std::path::Path;

use pcbflow_core::evidence::{Signal, Source};

use super::owner::{self, Owner};
use crate::cdp::Address;
use crate::signals;

/// The lock itself.
const LOCK: &str = "SingletonLock";
/// The three links that belong together.
const LINKS: [&str; 3] = [LOCK, "SingletonCookie", "SingletonSocket"];
/// What a link is called once it was moved aside.
const ASIDE: &str = "old";
/// Largest size of the file that names a browser's port, in bytes.
const PORT_FILE_BYTES_MAX: u64 = 4096;

/// What the lock is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LockKind {
    /// There is none.
    Absent,
    /// A link that names a process of this computer.
    Here {
        /// Its number.
        pid: u32,
        /// Who that is.
        owner: Owner,
    },
    /// A link that names a process of another computer.
    OtherHost {
        /// The computer.
        host: String,
        /// The number there.
        pid: u32,
    },
    /// A file or folder.
    NotALink,
    /// A link that names nothing; Chrome replaces it by itself.
    Garbled,
}

/// A profile's lock with who uses the profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lock {
    /// What it is.
    pub kind: LockKind,
    /// Browsers of this computer that use the folder, whatever the lock says.
    pub users: Vec<u32>,
}

/// What may be done about a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Advice {
    /// Start: there is no lock, or Chrome replaces it by itself.
    Start,
    /// The profile is in use: attach to its owner, or have it closed. Never start, never touch
    /// the lock.
    InUse {
        /// The owner.
        pid: u32,
        /// It is stopped: a second start would end it after 20 s.
        frozen: bool,
    },
    /// Nobody uses the profile and Chrome would stop at the lock: move it aside.
    MoveAside,
}

impl Lock {
    /// What may be done.
    #[must_use]
    pub fn advice(&self) -> Advice {
        if let LockKind::Here { pid, owner: Owner::Alive { frozen } } = self.kind {
            return Advice::InUse { pid, frozen };
        }
        if let Some(pid) = self.users.first() {
            return Advice::InUse { pid: *pid, frozen: false };
        }
        match self.kind {
            LockKind::Absent | LockKind::Garbled => Advice::Start,
            // Chrome takes any living browser for the owner and may end it.
            LockKind::Here { owner: Owner::OtherFolder, .. } => Advice::MoveAside,
            LockKind::Here { .. } => Advice::Start,
            LockKind::OtherHost { .. } | LockKind::NotALink => Advice::MoveAside,
        }
    }

    /// The facts for the diagnosis.
    #[must_use]
    pub fn signals(&self) -> Vec<Signal> {
        let fact = |code: &str| Signal::new(Source::File, code);
        let link = |pid: u32| fact(signals::LOCK_LINK).number(i64::from(pid));
        if let Advice::InUse { pid, .. } = self.advice() {
            return vec![link(pid).text(&format!("process {pid} of this computer"))];
        }
        match &self.kind {
            LockKind::Absent => vec![fact(signals::LOCK_ABSENT)],
            LockKind::Here { pid, .. } => vec![link(*pid), fact(signals::LOCK_OWNER_DEAD)],
            LockKind::Garbled => vec![fact(signals::LOCK_LINK), fact(signals::LOCK_OWNER_DEAD)],
            LockKind::OtherHost { host, pid } => {
                let other = fact(signals::LOCK_OTHER_HOST).number(i64::from(*pid));
                vec![other.text(host)]
            }
            LockKind::NotALink => vec![fact(signals::LOCK_NOT_A_LINK)],
        }
    }
}

/// Reads the lock of the profile in `folder`.
#[must_use]
pub fn look_at_lock(folder: &Path) -> Lock {
    Lock { kind: kind_of(folder, &this_host()), users: owner::users_of(folder) }
}

fn kind_of(folder: &Path, this_host: &str) -> LockKind {
    let lock = folder.join(LOCK);
    let target = match std::fs::read_link(&lock) {
        Ok(target) => target,
        Err(_) if std::fs::symlink_metadata(&lock).is_ok() => return LockKind::NotALink,
        Err(_) => return LockKind::Absent,
    };
    let text = target.to_string_lossy();
    let named = text.rsplit_once('-').and_then(|(host, pid)| Some((host, pid.parse().ok()?)));
    match named {
        None | Some((_, 0)) => LockKind::Garbled,
        Some((host, pid)) if host == this_host => {
            LockKind::Here { pid, owner: owner::who(pid, folder) }
        }
        // Where nobody can be seen, a living process with that number may well be the owner: the
        // computer's own name changes with the network.
        Some((_, pid)) if !owner::SEES_USERS && owner::who(pid, folder) != Owner::Dead => {
            LockKind::Here { pid, owner: owner::who(pid, folder) }
        }
        Some((host, pid)) => LockKind::OtherHost { host: host.to_owned(), pid },
    }
}

#[cfg(unix)]
fn this_host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

#[cfg(not(unix))]
fn this_host() -> String {
    String::new()
}

/// Whether a lock was moved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MovedAside {
    /// These links lie beside their place now.
    Moved(Vec<String>),
    /// It must stay; this is what may be done instead.
    Refused(Advice),
}

/// Moves the three links of this profile aside, if that is right at this moment. Nothing outside
/// the folder is touched, whatever the links point to.
///
/// # Errors
/// What the system says.
pub fn move_lock_aside(folder: &Path) -> io::Result<MovedAside> {
    // Looked at again, right here: the earlier look may be old.
    match look_at_lock(folder).advice() {
        Advice::MoveAside => {}
        other => return Ok(MovedAside::Refused(other)),
    }
    let mut moved = Vec::new();
    for name in LINKS {
        let (from, to) = (folder.join(name), folder.join(format!("{name}.{ASIDE}")));
        match std::fs::rename(&from, to) {
            Ok(()) => moved.push(name.to_owned()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(MovedAside::Moved(moved))
}

/// Removes the links of a child of ours that has ended and been collected.
pub(super) fn remove_of_ended_child(folder: &Path, pid: u32) {
    let ours = matches!(
        kind_of(folder, &this_host()),
        LockKind::Here { pid: named, owner: Owner::Dead | Owner::NotABrowser } if named == pid
    );
    if !ours || owner::anybody_on(folder) {
        return;
    }
    for name in LINKS {
        let link = folder.join(name);
        if link.is_symlink()
            && let Err(error) = std::fs::remove_file(link)
        {
            tracing::debug!(%error, name, "a link of an ended browser stays");
        }
    }
}

/// Where the browser that owns this profile listens, as it wrote down itself. The file outlives
/// its browser, so the id has to be held against the one on the port:
/// [`super::Browser::attach`] does.
#[must_use]
pub fn owner_address(folder: &Path) -> Option<Address> {
    let file = folder.join("DevToolsActivePort");
    let small = std::fs::metadata(&file).is_ok_and(|m| m.len() <= PORT_FILE_BYTES_MAX);
    let text = small.then(|| std::fs::read_to_string(file).ok()).flatten()?;
    let (port, path) = text.split_once('\n')?;
    Address::parse(&format!("127.0.0.1:{}{}", port.trim(), path.trim())).ok()
}
