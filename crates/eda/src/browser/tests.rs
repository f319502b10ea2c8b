//! What needs no browser: places, flags, locks, copies, words of the error stream.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::stderr::{Heard, take};
use super::*;

fn variables(pairs: &'static [(&str, &str)]) -> impl Fn(&str) -> Option<OsString> {
    move |name| pairs.iter().find(|(n, _)| *n == name).map(|(_, v)| OsString::from(v))
}

#[test]
fn places_of_the_three_systems() {
    let of = |system, pairs| places(system, None, &variables(pairs));
    let linux = of(System::Linux, &[("PATH", "/usr/bin:relative:/snap/bin")]);
    assert!(linux.contains(&PathBuf::from("/usr/bin/chromium")));
    assert!(linux.contains(&PathBuf::from("/snap/bin/google-chrome")));
    assert!(linux.iter().all(|p| p.is_absolute()), "{linux:?}");
    let mac = of(System::Mac, &[("HOME", "/Users/a")]);
    let app = "Google Chrome.app/Contents/MacOS/Google Chrome";
    assert_eq!(mac[0], Path::new("/Applications").join(app));
    assert!(mac.contains(&Path::new("/Users/a/Applications").join(app)));
    let windows = of(System::Windows, &[("ProgramFiles", "P"), ("LOCALAPPDATA", "L")]);
    let chrome = |root: &str| {
        ["Google", "Chrome", "Application", "chrome.exe"]
            .iter()
            .fold(PathBuf::from(root), |path, part| path.join(part))
    };
    assert!(windows.contains(&chrome("P")) && windows.contains(&chrome("L")), "{windows:?}");
    let own = Path::new("/opt/own/chrome");
    assert_eq!(places(System::Linux, Some(own), &variables(&[("PATH", "/usr/bin")])), [own]);
}

#[test]
fn the_lasting_folder_is_the_persons() {
    let of = |system, pairs| lasting_folder(system, &variables(pairs));
    let linux = of(System::Linux, &[("HOME", "/home/a")]).unwrap();
    assert_eq!(linux, Path::new("/home/a/.local/share/pcbflow/browser"));
    let data = of(System::Linux, &[("HOME", "/home/a"), ("XDG_DATA_HOME", "/data")]).unwrap();
    assert_eq!(data, Path::new("/data/pcbflow/browser"));
    let mac = of(System::Mac, &[("HOME", "/Users/a")]).unwrap();
    assert_eq!(mac, Path::new("/Users/a/Library/Application Support/pcbflow/browser"));
    assert_eq!(of(System::Windows, &[("HOME", "/home/a")]), None);
    assert_eq!(of(System::Linux, &[("XDG_DATA_HOME", "relative")]), None);
}

#[test]
fn flags_are_the_measured_ones() {
    let mut launch = Launch::new("chrome", Profile::at("/p/profile"));
    let flags = launch.flags(false);
    for wanted in [
        "--remote-debugging-port=0",
        "--user-data-dir=/p/profile",
        "--password-store=basic",
        "--disable-background-timer-throttling",
        "--disable-renderer-backgrounding",
        "--disable-backgrounding-occluded-windows",
        "--no-first-run",
        "--no-default-browser-check",
    ] {
        assert!(flags.iter().any(|f| f == wanted), "{wanted}: {flags:?}");
    }
    let has = |launch: &Launch, root, flag: &str| launch.flags(root).iter().any(|f| f == flag);
    assert!(!has(&launch, false, "--no-sandbox") && has(&launch, true, "--no-sandbox"));
    assert!(!has(&launch, false, "--headless"));
    launch.headless = true;
    launch.sandbox = Sandbox::On;
    assert!(has(&launch, true, "--headless") && !has(&launch, true, "--no-sandbox"));
}

#[test]
fn the_error_stream_is_understood_in_any_pieces_and_kept_short() {
    let text = "[: 9: unexpected operator\n[1:2:ERROR:dbus] no bus\n\nDevTools listening on \
                ws://127.0.0.1:4242/devtools/browser/abc\nDevTools listening on ws://[::1]:1/x\n";
    for size in [1, 7, 4096] {
        let (mut heard, mut line) = (Heard::default(), Vec::new());
        for part in text.as_bytes().chunks(size) {
            take(&mut heard, &mut line, part);
        }
        let first = "ws://127.0.0.1:4242/devtools/browser/abc";
        assert_eq!(heard.listens.as_deref(), Some(first));
        assert!(!heard.no_server);
    }
    let (mut heard, mut line) = (Heard::default(), Vec::new());
    for _ in 0..100 {
        take(&mut heard, &mut line, "é".repeat(10_001).as_bytes());
    }
    take(&mut heard, &mut line, b"\nCannot start http server for devtools.\n");
    assert!(heard.words.len() <= 8 * 1024 && line.len() <= 4096 && heard.no_server);
}

#[cfg(unix)]
mod locks {
    use super::*;

    fn host() -> String {
        rustix::system::uname().nodename().to_string_lossy().into_owned()
    }

    fn with_lock(target: &str) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(target, dir.path().join("SingletonLock")).unwrap();
        std::os::unix::fs::symlink("42", dir.path().join("SingletonCookie")).unwrap();
        dir
    }

    /// A number that no process has.
    fn dead() -> u32 {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        child.id()
    }

    #[test]
    fn locks_that_are_replaced_by_themselves_are_left() {
        let dir = tempfile::tempdir().unwrap();
        let lock = look_at_lock(dir.path());
        assert_eq!((&lock.kind, lock.advice()), (&LockKind::Absent, Advice::Start));
        for target in [
            format!("{}-{}", host(), dead()),
            // A living process that is no browser: the test itself.
            format!("{}-{}", host(), std::process::id()),
            "garbage".to_owned(),
            format!("{}-0", host()),
            String::from("-"),
        ] {
            let dir = with_lock(&target);
            let lock = look_at_lock(dir.path());
            assert_eq!(lock.advice(), Advice::Start, "{target}: {lock:?}");
            let moved = move_lock_aside(dir.path()).unwrap();
            assert_eq!(moved, MovedAside::Refused(Advice::Start));
            assert!(dir.path().join("SingletonLock").is_symlink());
        }
    }

    #[test]
    fn only_the_links_of_a_lock_that_nobody_holds_are_moved() {
        let elsewhere = tempfile::tempdir().unwrap();
        std::fs::write(elsewhere.path().join("SingletonSocket"), "theirs").unwrap();
        let dir = with_lock("some-other-host-4242");
        let socket = elsewhere.path().join("SingletonSocket");
        std::os::unix::fs::symlink(&socket, dir.path().join("SingletonSocket")).unwrap();
        std::fs::write(dir.path().join("Cookies"), "kept").unwrap();
        let lock = look_at_lock(dir.path());
        let other = LockKind::OtherHost { host: "some-other-host".into(), pid: 4242 };
        assert_eq!((&lock.kind, lock.advice()), (&other, Advice::MoveAside));
        let MovedAside::Moved(moved) = move_lock_aside(dir.path()).unwrap() else {
            panic!("refused");
        };
        assert_eq!(moved.len(), 3);
        assert!(!dir.path().join("SingletonLock").is_symlink());
        assert_eq!(std::fs::read_to_string(socket).unwrap(), "theirs");
        assert_eq!(std::fs::read_to_string(dir.path().join("Cookies")).unwrap(), "kept");

        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("SingletonLock"), "a file").unwrap();
        let lock = look_at_lock(dir.path());
        assert_eq!((&lock.kind, lock.advice()), (&LockKind::NotALink, Advice::MoveAside));
        assert!(matches!(move_lock_aside(dir.path()).unwrap(), MovedAside::Moved(_)));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn whoever_uses_the_folder_keeps_the_lock_whatever_it_says() {
        // A program with the flag, as a browser has it, on a lock that names another computer.
        let dir = with_lock("some-other-host-4242");
        let flag = format!("--user-data-dir={}/", dir.path().display());
        // A shell that waits takes any argument.
        let mut user = std::process::Command::new("sh")
            .args(["-c", "read x", &flag])
            .stdin(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let until = std::time::Instant::now() + std::time::Duration::from_secs(5);
        while look_at_lock(dir.path()).users.is_empty() && std::time::Instant::now() < until {
            std::thread::yield_now();
        }
        let lock = look_at_lock(dir.path());
        let moved = move_lock_aside(dir.path()).unwrap();
        user.kill().unwrap();
        user.wait().unwrap();
        let in_use = Advice::InUse { pid: user.id(), frozen: false };
        assert_eq!(lock.advice(), in_use);
        assert_eq!(moved, MovedAside::Refused(in_use));
        assert!(dir.path().join("SingletonLock").is_symlink());
        assert_eq!(look_at_lock(dir.path()).advice(), Advice::MoveAside);
    }
}

fn some_profile() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for file in [
        "Local State",
        "Default/Cookies",
        "Default/Local Storage/leveldb/000003.log",
        "Default/Cache/Cache_Data/f_000001",
        "Default/Code Cache/js/index",
        "Default/Service Worker/CacheStorage/x",
        "ShaderCache/data_0",
        "Crashpad/settings.dat",
        "BrowserMetrics-spare.pma",
        "DevToolsActivePort",
    ] {
        let path = dir.path().join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, file).unwrap();
    }
    dir
}

#[test]
fn a_copy_has_the_sign_in_and_no_caches_and_is_marked() {
    let (from, place) = (some_profile(), tempfile::tempdir().unwrap());
    #[cfg(unix)]
    std::os::unix::fs::symlink("/etc/hostname", from.path().join("Default/out")).unwrap();
    let to = Profile::at(place.path().join("browser/profile"));
    assert_eq!(to.signals().len(), 1, "there is none yet");
    let copied = copy_profile(from.path(), &to).unwrap();
    assert_eq!(copied.files, 3);
    let there = |file: &str| to.folder().join(file).symlink_metadata().is_ok();
    assert!(there("Local State") && there("Default/Cookies"));
    assert!(there("Default/Local Storage/leveldb/000003.log"));
    for gone in ["Default/Cache", "ShaderCache", "Crashpad", "DevToolsActivePort", "Default/out"] {
        assert!(!there(gone), "{gone}");
    }
    assert!(to.signals().is_empty());
    // A second copy replaces the first and leaves nothing beside it.
    std::fs::write(from.path().join("Default/Cookies"), "newer").unwrap();
    std::fs::write(to.folder().join("Default/stale"), "").unwrap();
    copy_profile(from.path(), &to).unwrap();
    assert!(!there("Default/stale"));
    assert_eq!(std::fs::read_to_string(to.folder().join("Default/Cookies")).unwrap(), "newer");
    assert_eq!(std::fs::read_dir(to.folder().parent().unwrap()).unwrap().count(), 1);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(to.folder()).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "others can look into the profile");
    }
}

#[test]
fn a_copy_that_fails_leaves_the_old_one() {
    let place = tempfile::tempdir().unwrap();
    let to = Profile::at(place.path().join("profile"));
    to.prepare().unwrap();
    std::fs::write(to.folder().join("Cookies"), "old").unwrap();
    let missing = copy_profile(&place.path().join("nowhere"), &to).unwrap_err();
    assert!(matches!(missing, CopyFault::Io { .. }), "{missing:?}");
    let inside = copy_profile(to.folder(), &Profile::at(to.folder().join("x"))).unwrap_err();
    assert!(matches!(inside, CopyFault::IntoItself), "{inside:?}");
    assert_eq!(std::fs::read_to_string(to.folder().join("Cookies")).unwrap(), "old");
    assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 1);
}

#[test]
fn names_that_a_copy_leaves_out() {
    for name in ["Cache", "GPUCache", "SingletonLock", "SingletonSocket.old", "lockfile"] {
        assert!(copy::left_out(name), "{name}");
    }
    for name in ["Cookies", "Default", "Local State", "Preferences", "Cached Theme.pak"] {
        assert!(!copy::left_out(name), "{name}");
    }
}

#[test]
fn a_missing_marker_is_told_from_a_missing_folder() {
    let place = tempfile::tempdir().unwrap();
    let code = |profile: &Profile| profile.signals().first().map(|s| s.code.clone());
    let profile = Profile::at(place.path().join("p"));
    assert_eq!(code(&profile).as_deref(), Some(crate::signals::CLONE_MISSING));
    std::fs::create_dir(profile.folder()).unwrap();
    assert_eq!(code(&profile).as_deref(), Some(crate::signals::CLONE_MARKER_MISSING));
    profile.prepare().unwrap();
    profile.prepare().unwrap();
    assert_eq!(code(&profile), None);
    // A file in its place is refused: a browser would take the person's own profile.
    let file = place.path().join("file");
    std::fs::write(&file, "").unwrap();
    assert!(Profile::at(file).prepare().is_err());
}
