//! Git, driven as the program `git` through the `Spawn` port, so that hooks, signing and
//! credentials work as the engineer set them up.
//!
//! Places and heads are read from the files of the repository itself ([`place`]): that costs no
//! process and keeps paths out of captured (and redacted) output. What git prints is only read as
//! object ids and repository-relative paths.
//!
//! **Invariants.** No prompt, no pager, no editor. Nothing stashes, resets, cleans, forces or
//! bypasses a hook. The person's index changes only in the entries of the committed paths, and
//! only after the commit exists.

mod commit;
mod facts;
mod found;
mod history;
mod lock;
pub mod place;
mod probe;
mod push;
mod repair;
mod tree;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use pcbflow_core::evidence::{Evidence, Signal, codes};
use pcbflow_core::ports::{Captured, Services, SpawnEnded, SpawnRequest};

pub use commit::{Done, KIND_COMMIT, Stop, Wanted, already_landed, commit, wanted, write_status};
pub use facts::why;
pub(crate) use found::with_found_git;
pub use history::{Anchor, CommitInfo, HISTORY_LOOK_MAX, anchor, committed};
pub use lock::{move_own_aside, own_dead, own_ref_locks};
pub use place::{Head, PlaceFault, Repo};
pub use probe::{
    history_sound, holds, index_parses, merge_whole, remote_equals_local, scratch_commit,
};
pub use push::{KIND_PUSH, push};
pub use repair::{InitError, fast_forward, fetch_into_copy, init_repository, merge_text};

/// Most bytes that one call of git may print.
const OUTPUT_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Deadline of one small question to git, in milliseconds.
pub const ASK_MS: u64 = 30_000;
/// Most words of git kept in a signal, in bytes.
const WORDS_BYTES_MAX: usize = 2_000;

/// Settings that hold for every call: no daemon, no background work, plain output.
const SETTINGS: [&str; 16] = [
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.untrackedCache=false",
    "-c",
    "core.splitIndex=false",
    "-c",
    "core.quotePath=false",
    "-c",
    "gc.auto=0",
    "-c",
    "maintenance.auto=false",
    "-c",
    "user.useConfigOnly=true",
    "-c",
    "color.ui=false",
];

/// Variables of the person that git alone gets, and no program of a step: where the keys lie with
/// which it signs a commit, and who unlocks them. A commit that is to be signed is, or is not made.
const SIGNING: &[&str] = &["GNUPGHOME", "GPG_TTY", "SSH_AUTH_SOCK"];

/// One way of calling git: where, with which index, for how long.
#[derive(Clone)]
pub struct Git<'s> {
    services: &'s Services,
    cwd: PathBuf,
    tag: String,
    deadline_ms: u64,
    env: BTreeMap<String, String>,
}

/// What a call of git came to.
#[derive(Debug, Clone)]
pub struct Out {
    /// How it ended.
    pub ended: SpawnEnded,
    /// All of standard output.
    pub stdout: String,
    /// Head and tail of standard error.
    pub stderr: String,
    /// The arguments, for the record.
    pub argv: Vec<String>,
    /// Both streams as captured.
    pub captured: (Captured, Captured),
}

impl Out {
    /// Exit status, if it exited.
    #[must_use]
    pub fn status(&self) -> Option<i32> {
        match self.ended {
            SpawnEnded::Exited(n) => Some(n),
            _ => None,
        }
    }

    /// Whether it exited with 0.
    #[must_use]
    pub fn ok(&self) -> bool {
        self.status() == Some(0)
    }

    /// Standard output without the blanks around it.
    #[must_use]
    pub fn word(&self) -> &str {
        self.stdout.trim()
    }
}

impl<'s> Git<'s> {
    /// Git in a folder. `tag` goes into the environment of its processes.
    #[must_use]
    pub fn new(services: &'s Services, cwd: &Path, tag: &str) -> Git<'s> {
        let env = [
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_ASKPASS", ""),
            ("SSH_ASKPASS", ""),
            ("SSH_ASKPASS_REQUIRE", "never"),
            ("GCM_INTERACTIVE", "never"),
            ("GIT_OPTIONAL_LOCKS", "0"),
            ("GIT_PAGER", "cat"),
            ("PAGER", "cat"),
            ("GIT_EDITOR", "true"),
            ("GIT_SEQUENCE_EDITOR", "true"),
            ("GIT_MERGE_AUTOEDIT", "no"),
            ("LC_ALL", "C"),
            ("LANGUAGE", "C"),
        ];
        let given = env.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
        let signing =
            SIGNING.iter().filter_map(|k| Some(((*k).to_owned(), std::env::var(k).ok()?)));
        Git {
            services,
            cwd: cwd.to_owned(),
            tag: tag.to_owned(),
            deadline_ms: ASK_MS,
            env: given.chain(signing).collect(),
        }
    }

    /// The same with another deadline.
    #[must_use]
    pub fn within(mut self, deadline_ms: u64) -> Git<'s> {
        self.deadline_ms = deadline_ms;
        self
    }

    /// The same with a private index.
    #[must_use]
    pub fn with_index(mut self, index: &Path) -> Git<'s> {
        self.env.insert("GIT_INDEX_FILE".to_owned(), index.display().to_string());
        self
    }

    /// The same with a variable.
    #[must_use]
    pub fn with_env(mut self, key: &str, value: &str) -> Git<'s> {
        self.env.insert(key.to_owned(), value.to_owned());
        self
    }

    /// Runs git.
    pub async fn run(&self, args: &[&str]) -> Out {
        self.feed(args, None).await
    }

    /// Runs git with bytes for its standard input.
    pub async fn feed(&self, args: &[&str], stdin: Option<Vec<u8>>) -> Out {
        let argv: Vec<String> = std::iter::once("git")
            .chain(SETTINGS)
            .chain(args.iter().copied())
            .map(str::to_owned)
            .collect();
        let request = SpawnRequest {
            argv: argv.clone(),
            cwd: self.cwd.clone(),
            env: self.env.clone(),
            stdin,
            deadline_ms: self.deadline_ms,
            output_bytes_max: OUTPUT_BYTES_MAX,
            memory_bytes_max: 0,
            quiet_ms_max: 0,
            tag: self.tag.clone(),
        };
        let result = self.services.spawn.run(request, self.services.cancel.as_ref()).await;
        Out {
            ended: result.ended,
            stdout: self.whole(&result.stdout),
            stderr: result.stderr.text.clone(),
            argv,
            captured: (result.stdout, result.stderr),
        }
    }

    /// All of a stream: the blob when the text was cut.
    fn whole(&self, captured: &Captured) -> String {
        let shown = u64::try_from(captured.text.len()).unwrap_or(u64::MAX);
        if captured.total_bytes <= shown {
            return captured.text.clone();
        }
        captured.blob.as_ref().and_then(|b| self.services.blobs.get(&b.digest).ok()).map_or_else(
            || captured.text.clone(),
            |bytes| String::from_utf8_lossy(&bytes).into_owned(),
        )
    }
}

/// The signals of how a program ended; none after a plain 0.
pub(crate) fn ended_signals(out: &Out, deadline_ms: u64) -> Vec<Signal> {
    use pcbflow_core::evidence::Source::{Exit, Own};
    let number = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
    match &out.ended {
        SpawnEnded::Exited(0) | SpawnEnded::Cancelled => Vec::new(),
        SpawnEnded::Exited(status) => vec![Signal::exit_status(*status)],
        SpawnEnded::Signalled(signal) => vec![Signal::exit_signal(*signal)],
        SpawnEnded::DeadlinePassed | SpawnEnded::BusyWithoutOutput(_) => {
            vec![Signal::new(Own, codes::DEADLINE_PASSED).number(number(deadline_ms))]
        }
        SpawnEnded::OutputEndless => vec![Signal::new(Own, codes::OUTPUT_ENDLESS)],
        SpawnEnded::MemoryOverLimit(bytes) => {
            vec![Signal::new(Own, codes::MEMORY_OVER_LIMIT).number(number(*bytes))]
        }
        SpawnEnded::NotFound => vec![Signal::spawn_not_found("git")],
        SpawnEnded::Denied => vec![Signal::new(Exit, codes::SPAWN_DENIED).text("git")],
        SpawnEnded::Failed(why) => vec![Signal::new(Exit, codes::SPAWN_FAILED).text(why)],
    }
}

/// Evidence of a kind with how git ended and its words.
pub(crate) fn evidence(layer: &str, out: &Out, deadline_ms: u64) -> Evidence {
    let mut evidence = Evidence::new(layer, "git");
    for signal in ended_signals(out, deadline_ms) {
        evidence.push(signal);
    }
    for (stream, words) in [(codes::STDERR, &out.stderr), (codes::STDOUT, &out.captured.0.text)] {
        if !words.trim().is_empty() {
            evidence.push(Signal::words(
                stream,
                &pcbflow_core::text::head_and_tail(words, WORDS_BYTES_MAX),
            ));
        }
    }
    evidence
}
