//! Full disks and read-only ones, on a real file system of our own where the system lets us.

use std::path::{Path, PathBuf};
use std::process::Command;

use pcbflow_core::ids::Seq;
use pcbflow_core::ports::{Expect, Ledger, LedgerError};

use super::{board, note, options_of};
use crate::verify::{VerifyOptions, verify};
use crate::{Mode, OpenOptions, open};

/// A small file system in memory, unmounted at the end.
struct Disk {
    folder: tempfile::TempDir,
}

impl Disk {
    /// `None`, with the reason printed, where mounting is not allowed.
    #[expect(clippy::print_stderr, reason = "a skipped test says why")]
    fn new(kib: u64) -> Option<Disk> {
        let folder = tempfile::tempdir().unwrap();
        let size = format!("size={kib}k");
        let mounted = mount(&["-t", "tmpfs", "-o", &size, "tmpfs"], folder.path());
        if !mounted {
            eprintln!("skipped: this user may not mount a tmpfs");
            return None;
        }
        std::fs::create_dir(folder.path().join("ws")).unwrap();
        Some(Disk { folder })
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The state folder lies elsewhere, as it does for people.
    fn options(&self, mode: Mode, home: &Path) -> OpenOptions {
        let home = Some(crate::StateHome(home.to_owned()));
        OpenOptions { mode, state_home: home, ..options_of(self.path()) }
    }

    fn read_only(&self) {
        assert!(mount(&["-o", "remount,ro"], self.path()));
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let done = Command::new("umount").arg("-l").arg(self.path()).status();
        assert!(done.is_ok_and(|s| s.success()) || std::thread::panicking());
    }
}

fn mount(args: &[&str], at: &Path) -> bool {
    let done =
        Command::new("mount").args(args).arg(at).stderr(std::process::Stdio::null()).status();
    done.is_ok_and(|s| s.success())
}

/// Fills the disk to its last byte.
fn fill(disk: &Disk) -> PathBuf {
    let path = disk.path().join("ballast");
    let mut file = std::fs::File::create(&path).unwrap();
    for size in [64 << 10, 4096, 1] {
        let block = vec![1u8; size];
        while std::io::Write::write_all(&mut file, &block).is_ok() {}
    }
    path
}

#[test]
fn a_full_disk_takes_the_reserve_and_then_refuses_and_comes_back() {
    let Some(disk) = Disk::new(6 << 10) else { return };
    let home = tempfile::tempdir().unwrap();
    let options =
        OpenOptions { reserve_bytes: 512 << 10, ..disk.options(Mode::Write, home.path()) };
    let ledger = open(&options).unwrap().ledger;
    let mut acked = ledger.append(&board("a"), Expect::Any, &[note(0)]).unwrap();
    assert!(!ledger.space_is_short());
    let ballast = fill(&disk);

    let mut refused = false;
    for n in 1..2_000 {
        let mut event = note(n);
        event.words.stdout_tail = "x".repeat(4_000);
        match ledger.append(&board("a"), Expect::At(acked), &[event]) {
            Ok(head) => acked = head,
            Err(LedgerError::DiskFull { .. }) => {
                refused = true;
                break;
            }
            Err(e) => panic!("event {n}: {e}"),
        }
    }
    assert!(refused && ledger.space_is_short());
    assert!(!disk.path().join("ws/.pcbflow/reserve").exists(), "given up before refusing");
    assert!(acked.seq.0 > 1, "the reserve took some events");

    assert_eq!(ledger.head(&board("a")).unwrap(), Some(acked), "reading goes on");
    let again = ledger.append(&board("a"), Expect::At(acked), &[note(1)]);
    assert!(matches!(again, Err(LedgerError::DiskFull { .. }) | Ok(_)), "{again:?}");

    std::fs::remove_file(ballast).unwrap();
    let head = ledger.head(&board("a")).unwrap().unwrap();
    let head = ledger.append(&board("a"), Expect::At(head), &[note(2)]).unwrap();
    assert!(ledger.ensure_reserve() && !ledger.space_is_short());
    assert!(verify(ledger.as_ref(), &VerifyOptions::default()).unwrap().is_good());
    drop(ledger);
    let ledger = open(&options).unwrap().ledger;
    assert_eq!(ledger.head(&board("a")).unwrap(), Some(head));
}

#[test]
fn no_room_for_a_new_ledger_is_said_so() {
    let Some(disk) = Disk::new(256) else { return };
    let home = tempfile::tempdir().unwrap();
    let ballast = fill(&disk);
    let refused = open(&disk.options(Mode::Write, home.path()));
    assert!(matches!(refused, Err(LedgerError::DiskFull { .. })), "{refused:?}");
    std::fs::remove_file(ballast).unwrap();
    drop(refused);
}

#[test]
fn a_read_only_disk_is_read_and_not_written() {
    let Some(disk) = Disk::new(16 << 10) else { return };
    let home = tempfile::tempdir().unwrap();
    let write = disk.options(Mode::Write, home.path());
    let ledger = open(&write).unwrap().ledger;
    let head = ledger.append(&board("a"), Expect::Any, &[note(0)]).unwrap();
    drop(ledger);
    disk.read_only();
    let refused = open(&write);
    assert!(matches!(refused, Err(LedgerError::ReadOnly { .. })), "{refused:?}");
    let opened = open(&disk.options(Mode::Read, home.path())).unwrap();
    assert!(!opened.private_copy && !opened.repaired);
    assert_eq!(opened.ledger.head(&board("a")).unwrap(), Some(head));
}

#[test]
fn a_read_only_disk_after_a_killed_writer_is_read_from_a_private_copy() {
    let Some(disk) = Disk::new(16 << 10) else { return };
    let home = tempfile::tempdir().unwrap();
    let options = disk.options(Mode::Write, home.path());
    let ledger = open(&options).unwrap().ledger;
    let head = ledger.append(&board("a"), Expect::Any, &[note(0)]).unwrap();
    // A copy of the file while it is open is what a killed writer leaves.
    let image = std::fs::read(&options.path).unwrap();
    drop(ledger);
    std::fs::write(&options.path, image).unwrap();
    disk.read_only();
    let opened = open(&disk.options(Mode::Read, home.path())).unwrap();
    assert!(opened.private_copy && opened.repaired);
    assert_eq!(opened.ledger.head(&board("a")).unwrap(), Some(head));
    assert_eq!(opened.ledger.read(&board("a"), Seq(1), 9, true).unwrap().len(), 1);
}

#[test]
fn where_no_new_file_may_be_made_writing_is_refused() {
    let Some(disk) = Disk::new(1 << 10) else { return };
    let home = tempfile::tempdir().unwrap();
    disk.read_only();
    let refused = open(&disk.options(Mode::Write, home.path()));
    assert!(matches!(refused, Err(LedgerError::ReadOnly { .. })), "{refused:?}");
    let none = open(&disk.options(Mode::Read, home.path()));
    assert!(matches!(none, Err(LedgerError::NotFound { .. })));
}
