//! Starts that work, and every way in which they do not.

use std::time::{Duration, Instant};

use pcbflow_core::evidence::Signal;
use pcbflow_eda::browser::{Browser, Closed, Sandbox, StartFault};
use pcbflow_eda::cdp::{Address, ConnectError, version};
use pcbflow_eda::signals;
use tokio::net::TcpListener;

use super::support::{PATIENT, Place, SHORT, World, chromium, class_of, launch, stop};

fn code(all: &[Signal], code: &str) -> bool {
    all.iter().any(|s| s.code == code)
}

#[tokio::test]
async fn the_browser_on_the_port_is_the_one_that_was_started() {
    let world = World::new().await;
    let address = world.client().address().clone();
    let says = version(&Address::port_of(address.port()), PATIENT).await.unwrap();
    assert_eq!(says.socket, address);
    assert!(says.product.contains("Chrome/") && says.protocol == "1.3", "{says:?}");
    assert_eq!(world.client().product(PATIENT).await.unwrap(), says.product);
    let lock = std::fs::read_link(world.place.folder().join("SingletonLock")).unwrap();
    let pid = world.browser.pid().unwrap().to_string();
    assert!(lock.to_string_lossy().ends_with(&format!("-{pid}")), "{lock:?}");
    world.end().await;
}

#[tokio::test]
async fn two_browsers_have_two_ports() {
    let (one, two) = (World::new().await, World::at(Place::more()).await);
    assert_ne!(one.client().address(), two.client().address());
    one.end().await;
    two.end().await;
}

#[tokio::test]
async fn an_attached_browser_is_never_ended() {
    let mut world = World::new().await;
    let port = Address::port_of(world.client().address().port());
    let visitor = Browser::attach(&port, PATIENT).await.unwrap();
    assert_eq!((visitor.pid(), visitor.profile()), (None, None));
    assert_eq!(visitor.close().await, Closed::LeftAlone);
    drop(Browser::attach(world.client().address(), PATIENT).await.unwrap());
    assert!(world.browser.end_signals().is_empty());
    let other = format!("ws://127.0.0.1:{}/devtools/browser/another-id", port.port());
    let error = Browser::attach(&Address::parse(&other).unwrap(), PATIENT).await.unwrap_err();
    assert!(matches!(error, ConnectError::IdDiffers { .. }), "{error:?}");
    assert_eq!(class_of(&error.signals()), "BR-2");
    assert!(world.client().product(PATIENT).await.is_ok());
    world.end().await;
}

#[tokio::test]
async fn a_browser_that_is_dropped_leaves_nothing() {
    let world = World::new().await;
    let tab = world.tab("about:blank").await;
    let World { place, browser } = world;
    drop((tab, browser));
    super::support::assert_no_process_names(&place.folder());
}

#[tokio::test]
async fn a_browser_that_does_not_close_is_ended() {
    let world = World::new().await;
    stop(world.browser.pid().unwrap()).await;
    let begun = Instant::now();
    assert_eq!(world.browser.close_within(SHORT).await, Closed::Killed);
    assert!(begun.elapsed() < Duration::from_secs(30));
    world.place.assert_clean();
}

#[tokio::test]
async fn a_missing_or_forbidden_program() {
    let place = Place::new().await;
    let missing = launch(place.beside("nowhere"), &place.folder()).start().await.unwrap_err();
    assert!(matches!(missing, StartFault::NotFound { .. }), "{missing:?}");
    std::fs::write(place.beside("text"), "no program").unwrap();
    let denied = launch(place.beside("text"), &place.folder()).start().await.unwrap_err();
    assert_eq!(denied, StartFault::Denied);
    assert_eq!(class_of(&denied.signals()), "BR-1");
    place.assert_clean();
}

#[tokio::test]
async fn the_sandbox_of_the_administrator() {
    let place = Place::new().await;
    // The real browser says it when the tests run as root; else its words are played.
    let root = nix_root();
    let words = "[1:1:ERROR:zygote] Running as root without --no-sandbox is not supported. \
                 See https://crbug.com/638180.";
    let fake = place.program(&format!("echo '{words}' >&2; exit 1"));
    let mut launch = launch(if root { chromium() } else { fake }, &place.folder());
    launch.sandbox = Sandbox::On;
    let fault = launch.start().await.unwrap_err();
    let StartFault::Ended { status: Some(1), words, .. } = &fault else { panic!("{fault:?}") };
    assert!(words.contains("Running as root without --no-sandbox"), "{words}");
    assert_eq!(class_of(&fault.signals()), "BR-1");
    place.assert_clean();
}

fn nix_root() -> bool {
    let id = std::process::Command::new("id").arg("-u").output().expect("id runs");
    id.stdout.trim_ascii() == b"0"
}

#[tokio::test]
async fn a_browser_that_dies_or_says_nothing_ends_with_all_it_started() {
    let place = Place::new().await;
    let dies = place.program("sleep 0.2; kill -SEGV $$");
    let fault = launch(dies, &place.folder()).start().await.unwrap_err();
    assert!(matches!(fault, StartFault::Ended { signal: Some(11), .. }), "{fault:?}");
    assert_eq!(class_of(&fault.signals()), "BR-1");

    let mark = place.beside("x").display().to_string();
    let silent =
        place.program(&format!("sh -c 'sleep 300; : {mark}' & sh -c 'sleep 300; : {mark}'"));
    let mut launch = launch(silent, &place.folder());
    launch.within = SHORT;
    let fault = launch.start().await.unwrap_err();
    assert!(matches!(fault, StartFault::NoPort { ms: 1_000, said_so: false, .. }), "{fault:?}");
    assert!(code(&fault.signals(), signals::NEITHER_EXIT_NOR_PORT));
    assert_eq!(class_of(&fault.signals()), "BR-1");
    place.assert_clean();
}

#[tokio::test]
async fn an_address_handed_to_a_running_browser_is_no_success() {
    let place = Place::new().await;
    let fake = place.program("echo 'Opening in existing browser session.' >&2; exit 0");
    let fault = launch(fake, &place.folder()).start().await.unwrap_err();
    assert!(matches!(fault, StartFault::Ended { status: Some(0), .. }), "{fault:?}");
    assert_eq!(class_of(&fault.signals()), "BR-2");
    let words = "DevTools remote debugging requires a non-default data directory. Specify this \
                 using --user-data-dir.";
    let fake = place.program(&format!("echo '{words}' >&2; sleep 300"));
    let begun = Instant::now();
    let fault = launch(fake, &place.folder()).start().await.unwrap_err();
    assert!(matches!(fault, StartFault::NoPort { said_so: true, .. }), "{fault:?}");
    assert!(begun.elapsed() < PATIENT, "the words are not waited out");
    assert_eq!(class_of(&fault.signals()), "BR-2");
    place.assert_clean();
}

#[tokio::test]
async fn a_child_that_names_another_browsers_port_is_not_believed() {
    let world = World::new().await;
    let place = Place::more();
    let port = world.client().address().port();
    let line = format!("DevTools listening on ws://127.0.0.1:{port}/devtools/browser/mine");
    let fake = place.program(&format!("echo '{line}' >&2; sleep 300"));
    let fault = launch(fake, &place.folder()).start().await.unwrap_err();
    assert!(matches!(&fault, StartFault::Connect(ConnectError::IdDiffers { .. })), "{fault:?}");
    assert_eq!(class_of(&fault.signals()), "BR-2");
    place.assert_clean();
    assert!(world.client().product(PATIENT).await.is_ok());
    world.end().await;
}

#[tokio::test]
async fn a_taken_port_is_noticed_whoever_has_it() {
    let world = World::new().await;
    let place = Place::more();
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let of_silent = silent.local_addr().unwrap().port();
    for port in [world.client().address().port(), of_silent] {
        let mut launch = launch(chromium(), &place.folder());
        launch.port = port;
        match launch.start().await.unwrap_err() {
            fault @ StartFault::PortTaken { .. } => {
                assert!(code(&fault.signals(), signals::LISTENS_ELSEWHERE));
                assert_eq!(class_of(&fault.signals()), "BR-2");
            }
            // A machine without the other address family has no port at all then.
            fault @ StartFault::NoPort { said_so: true, .. } => {
                assert_eq!(class_of(&fault.signals()), "BR-2");
            }
            fault => panic!("{fault:?}"),
        }
        place.assert_clean();
    }
    if let Ok(other) = TcpListener::bind(("::1", of_silent)).await {
        let mut launch = launch(chromium(), &place.folder());
        launch.port = of_silent;
        let fault = launch.start().await.unwrap_err();
        assert!(matches!(fault, StartFault::NoPort { said_so: true, .. }), "{fault:?}");
        assert_eq!(class_of(&fault.signals()), "BR-2");
        drop(other);
    }
    place.assert_clean();
    world.end().await;
}

#[tokio::test]
async fn a_profile_folder_that_can_not_be_one_is_refused_before_the_start() {
    let place = Place::new().await;
    std::fs::write(place.folder(), "a file").unwrap();
    let fault = launch(chromium(), &place.folder()).start().await.unwrap_err();
    assert!(matches!(fault, StartFault::Folder { .. }), "{fault:?}");
    let below = place.folder().join("profile");
    let fault = launch(chromium(), &below).start().await.unwrap_err();
    assert!(matches!(fault, StartFault::Folder { .. }), "{fault:?}");
    place.assert_clean();
}
