//! The lock of a profile, with the real browser on both sides of it.

use std::os::unix::fs::symlink;

use pcbflow_eda::browser::{
    Advice, Browser, Closed, LockKind, MovedAside, Owner, StartFault, look_at_lock,
    move_lock_aside, owner_address,
};

use super::support::{PATIENT, Place, Signal, World, chromium, class_of, launch, signal, stop};

#[tokio::test]
async fn a_live_owner_keeps_its_lock_and_can_be_attached_to() {
    let world = World::new().await;
    let folder = world.place.folder();
    let pid = world.browser.pid().unwrap();
    let before = std::fs::read_link(folder.join("SingletonLock")).unwrap();
    let lock = look_at_lock(&folder);
    assert_eq!(lock.kind, LockKind::Here { pid, owner: Owner::Alive { frozen: false } });
    let in_use = Advice::InUse { pid, frozen: false };
    assert_eq!(lock.advice(), in_use);
    let fault = launch(chromium(), &folder).start().await.unwrap_err();
    assert!(matches!(fault, StartFault::InUse { .. }), "{fault:?}");
    assert_eq!(class_of(&fault.signals()), "BR-4");
    assert_eq!(move_lock_aside(&folder).unwrap(), MovedAside::Refused(in_use));
    assert_eq!(std::fs::read_link(folder.join("SingletonLock")).unwrap(), before);
    // Whoever comes later finds the owner's port and proves that it is the owner's.
    let address = owner_address(&folder).unwrap();
    assert_eq!(&address, world.client().address());
    let visitor = Browser::attach(&address, PATIENT).await.unwrap();
    assert_eq!(visitor.close().await, Closed::LeftAlone);
    world.end().await;
}

#[tokio::test]
async fn nothing_is_started_on_a_frozen_owner() {
    let world = World::new().await;
    let folder = world.place.folder();
    let pid = world.browser.pid().unwrap();
    stop(pid).await;
    assert_eq!(look_at_lock(&folder).advice(), Advice::InUse { pid, frozen: true });
    let fault = launch(chromium(), &folder).start().await.unwrap_err();
    assert!(matches!(fault, StartFault::InUse { .. }), "{fault:?}");
    signal(Signal::CONT, pid);
    world.end().await;
}

#[tokio::test]
async fn locks_that_stop_chrome_are_moved_aside_and_it_starts() {
    let place = Place::new().await;
    std::fs::create_dir(place.folder()).unwrap();
    let lock = place.folder().join("SingletonLock");
    for kind in ["other host", "plain file"] {
        match kind {
            "other host" => symlink("some-other-host-4242", &lock).unwrap(),
            _ => std::fs::write(&lock, "").unwrap(),
        }
        let fault = launch(chromium(), &place.folder()).start().await.unwrap_err();
        let StartFault::Ended { status: Some(21), .. } = &fault else {
            panic!("{kind}: {fault:?}")
        };
        assert_eq!(class_of(&fault.signals()), "BR-4", "{kind}");
        assert!(lock.symlink_metadata().is_ok(), "{kind}: a failed start removed it");
        let MovedAside::Moved(moved) = move_lock_aside(&place.folder()).unwrap() else {
            panic!("{kind}: refused");
        };
        assert_eq!(moved, ["SingletonLock"]);
        let browser = launch(chromium(), &place.folder()).start().await.unwrap();
        assert_eq!(browser.close_within(PATIENT).await, Closed::Gracefully);
        place.assert_clean();
    }
}

#[tokio::test]
async fn the_lock_of_a_dead_browser_needs_no_help() {
    let place = Place::new().await;
    std::fs::create_dir(place.folder()).unwrap();
    let mut child = std::process::Command::new("true").spawn().unwrap();
    child.wait().unwrap();
    let host = std::process::Command::new("uname").arg("-n").output().unwrap();
    let host = String::from_utf8_lossy(&host.stdout).trim().to_owned();
    let lock = place.folder().join("SingletonLock");
    for target in [format!("{host}-{}", child.id()), format!("{host}-{}", std::process::id())] {
        symlink(&target, &lock).unwrap();
        assert_eq!(look_at_lock(&place.folder()).advice(), Advice::Start, "{target}");
        let refused = move_lock_aside(&place.folder()).unwrap();
        assert_eq!(refused, MovedAside::Refused(Advice::Start), "{target}");
        let browser = launch(chromium(), &place.folder()).start().await.unwrap();
        assert_eq!(browser.close_within(PATIENT).await, Closed::Gracefully);
        place.assert_clean();
    }
}

#[tokio::test]
async fn a_stale_port_file_leads_to_nobody() {
    let world = World::new().await;
    let folder = world.place.folder();
    let stale = owner_address(&folder).unwrap();
    let World { place, browser } = world;
    assert_eq!(browser.close_within(PATIENT).await, Closed::Gracefully);
    // It outlives its browser; another browser on that port is not taken for the owner.
    assert_eq!(owner_address(&folder), Some(stale.clone()));
    let other = Place::more();
    let mut taken = launch(chromium(), &other.folder());
    taken.port = stale.port();
    let other_browser = taken.start().await.unwrap();
    let error = Browser::attach(&stale, PATIENT).await.unwrap_err();
    assert_eq!(class_of(&error.signals()), "BR-2", "{error:?}");
    assert_eq!(other_browser.close_within(PATIENT).await, Closed::Gracefully);
    other.assert_clean();
    place.assert_clean();
}

/// Starts a browser as a run would that is killed then: nobody closes it, and its number is where
/// the run wrote it.
async fn left_over(place: &Place) -> u32 {
    let folder = place.folder();
    let browser = launch(chromium(), &folder).start().await.unwrap();
    let pid = browser.pid().unwrap();
    // What a kill of pcbflow leaves: no destructor runs.
    std::mem::forget(browser);
    pid
}

#[tokio::test]
async fn the_browser_of_a_killed_run_is_taken_over_and_closed() {
    let place = Place::new().await;
    let pid = left_over(&place).await;
    let browser = Browser::take_over(&place.folder(), PATIENT).await.unwrap();
    assert_eq!(browser.pid(), Some(pid));
    assert!(browser.client().product(PATIENT).await.is_ok());
    // Dropped, it stays, for the next who comes.
    drop(browser);
    let browser = Browser::take_over(&place.folder(), PATIENT).await.unwrap();
    assert_eq!(browser.close_within(PATIENT).await, Closed::Gracefully);
    place.assert_clean();
    assert!(Browser::take_over(&place.folder(), PATIENT).await.is_none());
}

#[tokio::test]
async fn a_frozen_browser_of_a_killed_run_is_ended_and_a_strangers_is_not() {
    let place = Place::new().await;
    let pid = left_over(&place).await;
    let record = place.folder().join("pcbflow-started");
    let ours = std::fs::read_to_string(&record).unwrap();
    // Without our own word it is somebody else's.
    for strange in ["", "1\nx\n", &ours.replace(&pid.to_string(), "4242")] {
        std::fs::write(&record, strange).unwrap();
        assert_eq!(Browser::end_left_over(&place.folder()).await, Closed::LeftAlone);
        assert!(Browser::take_over(&place.folder(), PATIENT).await.is_none());
    }
    let other_id = format!("{pid}\nanother-id\n");
    std::fs::write(&record, other_id).unwrap();
    assert!(Browser::take_over(&place.folder(), PATIENT).await.is_none());
    assert!(matches!(look_at_lock(&place.folder()).advice(), Advice::InUse { .. }));
    std::fs::write(&record, ours).unwrap();
    stop(pid).await;
    assert_eq!(Browser::end_left_over(&place.folder()).await, Closed::Killed);
    place.assert_clean();
}
