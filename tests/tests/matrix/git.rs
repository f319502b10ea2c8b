//! GIT: the history, on this computer and elsewhere. Real git throughout.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::time::Duration;

use pcbflow_core::check::PhaseVerdict;
use pcbflow_core::event::Fact;
use pcbflow_tests::ledger::count;
use pcbflow_tests::{Ran, Running, TestEnvironment, tools};
use serde_json::json;

use crate::lab::{BOARD, answer, history, ready, script, step, waits};
use crate::proof::{End, Want, holds};
use crate::{Recipe, real, small};

pub const RECIPES: &[Recipe] = &[
    small("GIT-1", &[("a sign-in is wanted", sign_in)]),
    real(
        "GIT-2",
        &[
            ("no name for the person", no_identity),
            ("no history, and a yes to make one", no_repository),
            ("no history, and a no to making one", no_history_wanted),
        ],
    ),
    real(
        "GIT-3",
        &[
            ("another's lock goes away", lock_goes),
            ("another's lock stays", lock_stays),
            ("the lock of our own dead process", own_dead_lock),
        ],
    ),
    real(
        "GIT-4",
        &[
            ("only they went on", they_went_on),
            ("both changed texts", both_changed),
            ("a merge under way", under_way),
        ],
    ),
    real("GIT-5", &[("the server comes back", comes_back), ("nobody listens", nobody_listens)]),
    real(
        "GIT-6",
        &[
            ("a hook refuses", hook_refuses),
            ("an ignore rule", ignored),
            ("a signature that can't be made", unsigned),
        ],
    ),
    real("GIT-7", &[("healed from the remote", from_remote), ("no remote", damaged)]),
];

/// The step that pcbflow adds to each phase.
const COMMIT: &str = pcbflow_core::manifest::COMMIT_STEP;

/// Before a commit is attempted, its guard looks whether it is there.
fn want(class: &'static str, at: &'static str, end: End) -> Want<'static> {
    Want { class, step: at, left: &[], end }
}

fn commits() -> TestEnvironment {
    let with = json!({"argv": ["sh", "-c", "echo x > out/x.txt"]});
    ready(&[step("process/generate", "make", &with, &["outputs: [out/x.txt]", "inputs: []"])])
}

fn asked_at(test: &TestEnvironment, class: &'static str, at: &'static str) -> Ran {
    let ran = test.pcbflow(&["run", BOARD, "--json"]);
    ran.exits(4);
    assert_eq!(ran.json()["class"], class, "{ran}\n{}", test.story(BOARD));
    holds(test, BOARD, &want(class, at, End::Asked));
    ran
}

fn cured_at(test: &TestEnvironment, class: &'static str, at: &'static str, rung: &'static str) {
    test.pcbflow(&["run", BOARD, "--json"]).exits(0);
    holds(test, BOARD, &want(class, at, End::Cured(rung)));
}

/// A workspace whose phase ends with an upload, and the address that it goes to.
fn pushes(url: &str) -> TestEnvironment {
    let test = ready(&[step("checkpoint/push", "up", &json!({}), &[])]);
    history(&test, &["remote", "add", "origin", url]);
    test
}

/// Publishing waits for a yes; what follows it.
fn with_go_ahead(test: &TestEnvironment) -> Ran {
    let stopped = test.pcbflow(&["run", BOARD, "--json"]);
    stopped.exits(4);
    answer(test, &stopped, BOARD, "yes")
}

fn port_of(listener: &TcpListener) -> u16 {
    listener.local_addr().expect("an address").port()
}

/// Small program: a web server that wants a sign-in for every call. A real host would need an
/// account.
fn sign_in() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = port_of(&listener);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten().take(50) {
            let mut stream = stream;
            let mut bytes = [0; 4096];
            let asked = stream.read(&mut bytes).unwrap_or(0);
            let text = "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"x\"\r\n\
                        Content-Length: 0\r\nConnection: close\r\n\r\n";
            // The other side may have gone.
            if asked > 0 {
                stream.write_all(text.as_bytes()).ok();
            }
        }
    });
    let test = pushes(&format!("http://127.0.0.1:{port}/x.git"));
    let stopped = with_go_ahead(&test);
    stopped.exits(4);
    assert_eq!(stopped.json()["class"], "GIT-1", "{stopped}");
    holds(&test, BOARD, &want("GIT-1", "up", End::Asked));
    // Signed in: here, by another address that wants none.
    let bare = bare(&test);
    history(&test, &["remote", "set-url", "origin", &bare.display().to_string()]);
    answer(&test, &stopped, BOARD, "push").exits(0);
    assert_eq!(remote_head(&test), test.git(&["rev-parse", "HEAD~1"]).trim());
}

fn bare(test: &TestEnvironment) -> PathBuf {
    let place = test.path("remote.git");
    history(test, &["init", "-q", "--bare", "-b", "main", &place.display().to_string()]);
    place
}

fn remote_head(test: &TestEnvironment) -> String {
    let place = test.path("remote.git").display().to_string();
    test.git(&["-C", &place, "rev-parse", "main"]).trim().to_owned()
}

const OF_NO_REPOSITORY: &[(&str, &str)] =
    &[("create-repository", "a history is there"), ("without-history", "a history is there")];

const NO_GO_AHEAD: &[(&str, &str)] =
    &[("create-repository", "it needs a person's yes, and the answer was no")];

fn no_identity() {
    let test = commits();
    let config = test.path("home/.gitconfig");
    let old = fs::read_to_string(&config).expect("the identity");
    fs::write(&config, "[safe]\n\tdirectory = *\n").expect("no identity");
    let stopped = test.pcbflow(&["run", BOARD, "--json"]);
    stopped.exits(4);
    let told = stopped.json();
    assert_eq!((&told["class"], &told["ask"]["kind"]), (&"GIT-2".into(), &"run_commands".into()));
    assert!(told["human"]["ask"].as_str().is_some_and(|a| a.contains("name and address")));
    holds(
        &test,
        BOARD,
        &Want { class: "GIT-2", step: COMMIT, left: OF_NO_REPOSITORY, end: End::Asked },
    );
    fs::write(&config, old).expect("the identity");
    answer(&test, &stopped, BOARD, "retry").exits(0);
    assert!(!test.git(&["show", "HEAD:projects/b/out/x.txt"]).is_empty());
}

fn no_repository() {
    let test = commits();
    fs::remove_dir_all(test.ws().join(".git")).expect("no history");
    let stopped = test.pcbflow(&["run", BOARD, "--json"]);
    stopped.exits(4);
    assert!(!test.ws().join(".git").exists(), "made without a yes");
    answer(&test, &stopped, BOARD, "yes").exits(0);
    holds(&test, BOARD, &want("GIT-2", COMMIT, End::Cured("create-repository")));
}

/// A no is an end: the phase passes under a condition, and nobody is asked again.
fn no_history_wanted() {
    let test = commits();
    fs::remove_dir_all(test.ws().join(".git")).expect("no history");
    let stopped = test.pcbflow(&["run", BOARD, "--json"]);
    stopped.exits(4);
    assert_eq!(stopped.json()["ask"]["kind"], "go_ahead", "{stopped}");
    let done = answer(&test, &stopped, BOARD, "no");
    done.exits(0);
    let told = done.json();
    assert_eq!((&told["conditional"], &told["verdict"]), (&true.into(), &"pass".into()), "{done}");
    assert!(done.stdout.contains("not_in_a_history"), "the verdict names it: {done}");
    let left = NO_GO_AHEAD;
    let end = End::Cured("without-history");
    holds(&test, BOARD, &Want { class: "GIT-2", step: COMMIT, left, end });
    // Nothing to do, nothing to ask.
    let before = test.events(BOARD).len();
    let again = test.pcbflow(&["run", BOARD, "--json"]);
    again.exits(0);
    assert_eq!(test.events(BOARD).len(), before, "{again}\n{}", test.story(BOARD));
    assert_eq!(again.json()["conditional"], true, "{again}");
    // Other results are kept the same way, without a word.
    fs::remove_file(test.board(BOARD).join("out/x.txt")).expect("the result");
    test.pcbflow(&["run", BOARD, "--json"]).exits(0);
    let asked = |f: &Fact| matches!(f, Fact::AskRaised { .. });
    assert_eq!(count(&test.facts(BOARD), asked), 1, "{}", test.story(BOARD));
    assert!(test.json(0, &["status", BOARD]).to_string().contains("CONDITIONAL"));
    assert!(!test.ws().join(".git").exists(), "made against a no");
    // The person makes one: the next run saves the results in it.
    history(&test, &["init", "-q", "-b", "main"]);
    let kept = test.pcbflow(&["run", BOARD, "--json"]);
    kept.exits(0);
    assert_eq!(kept.json()["conditional"], false, "{kept}\n{}", test.story(BOARD));
    assert!(!test.git(&["show", "HEAD:projects/b/out/x.txt"]).is_empty());
    let mut given = test.facts(BOARD).into_iter().filter_map(|f| match f {
        Fact::PhaseVerdictGiven { verdict, .. } => Some(verdict),
        _ => None,
    });
    assert_eq!(given.next_back(), Some(PhaseVerdict::Pass), "{}", test.story(BOARD));
    test.pcbflow(&["run", BOARD]).exits(0);
    test.pcbflow(&["replay", BOARD]).exits(0);
}

fn lock_goes() {
    let test = commits();
    waits(&test, "GIT-3", &[1, 1, 2000]);
    let lock = test.ws().join(".git/index.lock");
    fs::write(&lock, "").expect("a lock");
    let running = test.start(&["run", BOARD, "--json"]);
    let end = std::time::Instant::now() + Duration::from_secs(60);
    // It goes away once pcbflow waits for it.
    while !test.story_or_nothing().contains("after 1 ms") && std::time::Instant::now() < end {
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(Duration::from_millis(500));
    fs::remove_file(&lock).expect("the lock");
    running.wait().exits(0);
    holds(&test, BOARD, &want("GIT-3", COMMIT, End::Cured("wait-and-retry")));
}

trait Peek {
    fn story_or_nothing(&self) -> String;
}

impl Peek for TestEnvironment {
    /// The story as far as pcbflow tells it itself; a reader of its own could meet a half-open
    /// ledger.
    fn story_or_nothing(&self) -> String {
        self.pcbflow(&["history", BOARD, "--decisions"]).stdout
    }
}

fn lock_stays() {
    let test = commits();
    waits(&test, "GIT-3", &[1, 1, 1]);
    let lock = test.ws().join(".git/index.lock");
    fs::write(&lock, "").expect("a lock");
    let stopped = asked_at(&test, "GIT-3", COMMIT);
    assert!(lock.exists(), "another's lock is never removed");
    fs::remove_file(&lock).expect("the lock");
    answer(&test, &stopped, BOARD, "retry").exits(0);
}

fn own_dead_lock() {
    let test = commits();
    waits(&test, "GIT-3", &[1, 1, 1]);
    let mut child = std::process::Command::new("true").spawn().expect("a child");
    let pid = child.id();
    child.wait().expect("its end");
    let host = fs::read_to_string("/proc/sys/kernel/hostname").expect("the host");
    let text = format!("pcbflow-lock-v1 {pid} 1 {} r-0\n", host.trim());
    fs::write(test.ws().join(".git/index.lock"), text).expect("a lock");
    cured_at(&test, "GIT-3", COMMIT, "move-own-lock-aside");
}

/// A remote that a second clone has moved on, and the ask for the go-ahead of an upload to it.
fn moved_on(name: &str) -> (TestEnvironment, Ran) {
    let test = pushes("../remote.git");
    bare(&test);
    let stopped = test.pcbflow(&["run", BOARD, "--json"]);
    stopped.exits(4);
    history(&test, &["commit", "-q", "-a", "-m", "where the work stands"]);
    history(&test, &["push", "-q", "-u", "origin", "main"]);
    let clone = test.path("clone").display().to_string();
    history(&test, &["clone", "-q", "../remote.git", &clone]);
    fs::write(test.path("clone").join(name), "theirs\n").expect("a file");
    history(&test, &["-C", &clone, "add", "-A"]);
    history(&test, &["-C", &clone, "commit", "-q", "-m", "theirs"]);
    history(&test, &["-C", &clone, "push", "-q"]);
    (test, stopped)
}

fn they_went_on() {
    let (test, stopped) = moved_on("notes.txt");
    answer(&test, &stopped, BOARD, "yes").exits(0);
    holds(&test, BOARD, &want("GIT-4", "up", End::Cured("fast-forward")));
}

fn both_changed() {
    let (test, stopped) = moved_on("notes.txt");
    fs::write(test.ws().join("mine.txt"), "mine\n").expect("a file");
    history(&test, &["add", "mine.txt"]);
    history(&test, &["commit", "-q", "-m", "mine"]);
    answer(&test, &stopped, BOARD, "yes").exits(0);
    holds(&test, BOARD, &want("GIT-4", "up", End::Cured("merge-text-in-scratch")));
    assert_eq!(
        test.git(&["ls-tree", "--name-only", "origin/main", "notes.txt", "mine.txt"])
            .lines()
            .count(),
        2
    );
}

fn under_way() {
    let test = commits();
    fs::write(test.ws().join("note.txt"), "one\n").expect("a file");
    history(&test, &["add", "note.txt"]);
    history(&test, &["commit", "-q", "-m", "one"]);
    history(&test, &["checkout", "-q", "-b", "side", "HEAD~1"]);
    fs::write(test.ws().join("note.txt"), "two\n").expect("a file");
    history(&test, &["add", "note.txt"]);
    history(&test, &["commit", "-q", "-m", "two"]);
    let mut merge = test.program("git");
    merge.args(["merge", "main"]);
    assert_ne!(Running::start(merge).wait().exit, Some(0), "a conflict");
    let stopped = asked_at(&test, "GIT-4", COMMIT);
    history(&test, &["merge", "--abort"]);
    answer(&test, &stopped, BOARD, "retry").exits(0);
}

fn nobody_listens() {
    let free = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = port_of(&free);
    drop(free);
    let test = pushes(&format!("http://127.0.0.1:{port}/x.git"));
    waits(&test, "GIT-5", &[1, 1, 1]);
    with_go_ahead(&test).exits(5);
    holds(&test, BOARD, &want("GIT-5", "up", End::LeftOut));
}

/// A real server of git, which starts while pcbflow waits for it.
fn comes_back() {
    let free = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = port_of(&free);
    drop(free);
    let test = pushes(&format!("git://127.0.0.1:{port}/remote.git"));
    waits(&test, "GIT-5", &[1, 1, 6000]);
    bare(&test);
    let stopped = test.pcbflow(&["run", BOARD, "--json"]);
    let ask = stopped.exits(4).json()["ask"]["id"].as_str().expect("an ask").to_owned();
    test.pcbflow(&["answer", &ask, "yes"]).exits(0);
    let running = test.start(&["resume", BOARD, "--json"]);
    std::thread::sleep(Duration::from_millis(2500));
    let mut command = test.program(tools::find("git").expect("git"));
    command.args(["daemon", "--reuseaddr", "--export-all", "--enable=receive-pack"]);
    command.args(["--listen=127.0.0.1", &format!("--port={port}")]);
    command.arg(format!("--base-path={}", test.path("").display()));
    let daemon = Running::start(command);
    let ran = running.wait();
    daemon.signal(rustix::process::Signal::TERM);
    let ended = daemon.wait();
    assert!(ran.exit == Some(0), "{ran}\n{ended}\n{}", test.story(BOARD));
    holds(&test, BOARD, &want("GIT-5", "up", End::Cured("wait-and-retry")));
}

fn hook_refuses() {
    let test = commits();
    let hook = test.ws().join(".git/hooks/pre-commit");
    script(&hook, "#!/bin/sh\necho 'boards need a review' >&2\nexit 1\n");
    let stopped = asked_at(&test, "GIT-6", COMMIT);
    fs::remove_file(&hook).expect("the hook");
    answer(&test, &stopped, BOARD, "retry").exits(0);
}

fn ignored() {
    let test = commits();
    fs::write(test.ws().join("projects/b/.gitignore"), "out/\n").expect("a rule");
    asked_at(&test, "GIT-6", COMMIT);
}

/// A commit that is to be signed is signed, or is not made; git alone learns where the keys lie.
fn unsigned() {
    let with = json!({"argv": ["sh", "-c", "echo x > out/x.txt; echo \"$GNUPGHOME\" > seen"]});
    let test = ready(&[step("process/generate", "make", &with, &["outputs: [out/x.txt]"])]);
    let asked = test.path("asked");
    let text = format!("#!/bin/sh\necho \"$GNUPGHOME\" > '{}'\nexit 2\n", asked.display());
    let program = script(&test.path("home/no-signature"), &text);
    history(&test, &["config", "commit.gpgSign", "true"]);
    history(&test, &["config", "gpg.program", &program.display().to_string()]);
    let before = test.git(&["rev-parse", "HEAD"]);
    let keys = test.path("home/keys").display().to_string();
    let mut command = test.command(&["run", BOARD, "--json"]);
    command.env("GNUPGHOME", &keys);
    let stopped = Running::start(command).wait();
    stopped.exits(4);
    assert_eq!(stopped.json()["class"], "GIT-6", "{stopped}");
    holds(&test, BOARD, &want("GIT-6", COMMIT, End::Asked));
    assert_eq!(test.git(&["rev-parse", "HEAD"]), before, "never without its signature");
    assert_eq!(fs::read_to_string(asked).expect("git asked for one").trim(), keys);
    let seen = fs::read_to_string(test.board(BOARD).join("seen")).expect("what a step saw");
    assert_eq!(seen.trim(), "", "a step has no business with the keys");

    let Some(keygen) = tools::find("ssh-keygen") else {
        return pcbflow_tests::note("skipped: no ssh-keygen to sign with");
    };
    let key = test.path("home/key").display().to_string();
    let mut made = test.program(keygen);
    made.args(["-q", "-t", "ed25519", "-N", "", "-f", &key]);
    Running::start(made).wait().exits(0);
    history(&test, &["config", "gpg.format", "ssh"]);
    history(&test, &["config", "user.signingKey", &format!("{key}.pub")]);
    answer(&test, &stopped, BOARD, "retry").exits(0);
    let commit = test.git(&["cat-file", "commit", "HEAD"]);
    assert!(commit.contains("\ngpgsig "), "{commit}");
}

fn damage(test: &TestEnvironment) {
    let ids = ["HEAD^{tree}", "HEAD:.gitignore"].map(|what| test.git(&["rev-parse", what]));
    for id in ids {
        let (dir, name) = id.trim().split_at(2);
        let object = test.ws().join(".git/objects").join(dir).join(name);
        fs::set_permissions(&object, fs::Permissions::from_mode(0o644)).expect("rights");
        fs::write(&object, "garbage").expect("a damaged object");
    }
}

fn damaged() {
    let test = commits();
    damage(&test);
    asked_at(&test, "GIT-7", COMMIT);
    assert!(test.board(BOARD).join("out/x.txt").is_file());
}

fn from_remote() {
    let test = commits();
    bare(&test);
    history(&test, &["remote", "add", "origin", "../remote.git"]);
    history(&test, &["push", "-q", "-u", "origin", "main"]);
    damage(&test);
    cured_at(&test, "GIT-7", COMMIT, "fetch-into-copy");
}
