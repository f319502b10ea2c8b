//! What can be done about the record and the disk under it: actions and probes of the LG rows.
//!
//! It frees only pcbflow's own space: the reserved block, caches and private folders under
//! `.pcbflow`. It never touches a file of the project, and it never repairs in place.

use std::fs;
use std::io::Write;
use std::path::Path;

use async_trait::async_trait;
use pcbflow_core::check::CheckResult;
use pcbflow_core::evidence::Evidence;
use pcbflow_core::ids::Digest;
use pcbflow_core::manifest::KindInfo;
use pcbflow_core::ports::{
    Closure, Ledger, Observation, Recovery, Services, StepContext, StepResult, Subsystem,
};
use pcbflow_core::row::Row;
use pcbflow_store::rows::{actions, probes};
use pcbflow_store::{LEDGER_FILE, Mode, OpenOptions, RESERVE_BYTES};

use crate::compose::state_home;

/// Space that must be free before the disk counts as usable again, in bytes: less than the reserve,
/// or giving that up could never be enough.
const FREE_BYTES_MIN: usize = 1 << 20;
/// Folders under `.pcbflow` that hold nothing that can't be made again.
const OWN_CACHES: [&str; 1] = ["cache"];
/// The reserved block.
const RESERVE_FILE: &str = "reserve";

/// The record's own subsystem.
#[derive(Debug, Clone, Copy, Default)]
pub struct StorageSubsystem;

fn free_own_space(state_dir: &Path) -> Recovery {
    let mut freed: Vec<&str> = Vec::new();
    let reserve = state_dir.join(RESERVE_FILE);
    if fs::remove_file(&reserve).is_ok() {
        freed.push(RESERVE_FILE);
    }
    for name in OWN_CACHES {
        if fs::remove_dir_all(state_dir.join(name)).is_ok() {
            freed.push(name);
        }
    }
    if freed.is_empty() {
        return Recovery::not_applicable("pcbflow has no space of its own to give up");
    }
    Recovery::done(&format!("gave up {} ({RESERVE_BYTES} bytes are reserved)", freed.join(", ")))
}

/// Writes, syncs and removes a file of [`FREE_BYTES_MIN`]: the only honest way to know that a
/// disk takes data.
fn takes_data(dir: &Path) -> Result<(), String> {
    let shown = |e: std::io::Error| e.to_string();
    let mut file =
        tempfile::Builder::new().prefix(".pcbflow-probe").tempfile_in(dir).map_err(shown)?;
    // Not zeros: some file systems give those no room.
    let mut block = vec![0u8; 64 << 10];
    for (at, byte) in block.iter_mut().enumerate() {
        *byte = u8::try_from(at * 167 % 251).unwrap_or(0);
    }
    for _ in 0..FREE_BYTES_MIN / block.len() {
        file.write_all(&block).map_err(shown)?;
    }
    file.as_file().sync_all().map_err(shown)
}

fn disk_probe(name: &str, context: &StepContext) -> CheckResult {
    for dir in [&context.state_dir, &context.board_dir] {
        if let Err(e) = takes_data(dir) {
            return CheckResult::fail(name, &format!("a file could not be written: {e}"));
        }
    }
    CheckResult::pass(name)
}

fn chain_probe(name: &str, context: &StepContext) -> CheckResult {
    let options = OpenOptions::new(context.state_dir.join(LEDGER_FILE), state_home(), Mode::Read);
    let checked = pcbflow_store::open(&options).and_then(|opened| {
        for stream in opened.ledger.streams()? {
            // Reading checks every hash on the way.
            let mut from = pcbflow_core::ids::Seq(0);
            // Ends at the head: each round reads on from the last event.
            loop {
                let events = opened.ledger.read(&stream, from, 4096, false)?;
                match events.last() {
                    Some(last) => from = last.seq.next(),
                    None => break,
                }
            }
        }
        Ok(())
    });
    match checked {
        Ok(()) => CheckResult::pass(name),
        Err(e) => CheckResult::fail(name, &e.to_string()),
    }
}

/// Copies the ledger aside, with its digest in the name. The original is not touched.
fn copy_aside(state_dir: &Path) -> Recovery {
    let from = state_dir.join(LEDGER_FILE);
    let bytes = match fs::read(&from) {
        Ok(bytes) => bytes,
        Err(e) => return Recovery::failed(&format!("the record can't be read: {e}")),
    };
    let to = state_dir.join(format!("ledger-{}.aside", Digest::of(&bytes).short()));
    match fs::write(&to, &bytes) {
        Ok(()) => Recovery::done("copied the record aside"),
        Err(e) => Recovery::failed(&format!("the copy could not be written: {e}")),
    }
}

#[async_trait]
impl Subsystem for StorageSubsystem {
    fn name(&self) -> &'static str {
        "store"
    }

    fn rows(&self) -> Vec<Row> {
        pcbflow_store::rows::ROWS.to_vec()
    }

    fn kinds(&self) -> Vec<KindInfo> {
        Vec::new()
    }

    async fn closure(&self, _: &StepContext, _: &Services) -> Result<Closure, Evidence> {
        Ok(Closure::default())
    }

    async fn run(&self, context: &StepContext, _: &Services) -> Observation {
        // No kind leads here; if one ever does, it must not look as if it had run.
        Observation::of(StepResult::Failed(Evidence::new(context.step.uses.as_str(), "store")))
    }

    async fn recover(
        &self,
        context: &StepContext,
        _: &Services,
        _class: &str,
        action: &str,
    ) -> Recovery {
        match action {
            // The ledger drops its handle by itself when storage refuses, and opens it anew at
            // the next append; that append is what records this.
            actions::DROP_HANDLE => Recovery::done("the handle is opened anew with the next event"),
            actions::FREE_OWN_SPACE => free_own_space(&context.state_dir),
            actions::REOPEN_AND_CHECK | actions::FIND_BREAK => {
                let check = chain_probe(action, context);
                match check.outcome {
                    pcbflow_core::check::CheckOutcome::Pass => Recovery::done("the chain is whole"),
                    _ => Recovery::failed(&check.reason),
                }
            }
            actions::COPY_ASIDE => copy_aside(&context.state_dir),
            actions::OPEN_FOR_WRITING_ONCE => {
                let path = context.state_dir.join(LEDGER_FILE);
                match pcbflow_store::open(&OpenOptions::new(path, state_home(), Mode::Write)) {
                    Ok(_) => Recovery::done("opened for writing once"),
                    Err(e) => Recovery::failed(&e.to_string()),
                }
            }
            other => Recovery::not_applicable(&format!("there is no action {other}")),
        }
    }

    async fn probe(&self, context: &StepContext, _: &Services, probe: &str) -> CheckResult {
        match probe {
            probes::HEAD_IS_ACKNOWLEDGED | probes::WRITABLE => {
                let disk = disk_probe(probe, context);
                if disk.gate().advances() { chain_probe(probe, context) } else { disk }
            }
            probes::CHAIN_AND_ANCHOR | probes::FORMAT_KNOWN => chain_probe(probe, context),
            other => CheckResult::could_not_run(other, "there is no such probe"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_own_space_is_freed() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["cache", "blobs", "claims"] {
            fs::create_dir(dir.path().join(name)).unwrap();
            fs::write(dir.path().join(name).join("x"), "x").unwrap();
        }
        fs::write(dir.path().join("reserve"), "x").unwrap();
        fs::write(dir.path().join("ledger.redb"), "x").unwrap();
        let recovery = free_own_space(dir.path());
        assert_eq!(recovery.outcome, pcbflow_core::event::RecoveryOutcome::Done);
        let mut left: Vec<String> = fs::read_dir(dir.path())
            .unwrap()
            .map(|e| e.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        left.sort();
        assert_eq!(left, ["blobs", "claims", "ledger.redb"]);
        let again = free_own_space(dir.path());
        assert_eq!(again.outcome, pcbflow_core::event::RecoveryOutcome::NotApplicable);
    }

    #[test]
    fn a_disk_that_takes_data_is_told_from_one_that_does_not() {
        let dir = tempfile::tempdir().unwrap();
        assert!(takes_data(dir.path()).is_ok());
        assert!(takes_data(&dir.path().join("not-there")).is_err());
    }
}
