//! Typed evidence: what was seen, by which kind of witness, and how a row recognises it.
//!
//! A [`Signal`] is one observed fact. Its [`Source`] says how far it can be trusted; words in a
//! tool's output are the least trusted source. Subsystems make signals, rows match them, and
//! nothing in between parses text again.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Longest text kept inside one signal, in bytes. Full output is a blob.
pub const SIGNAL_TEXT_BYTES_MAX: usize = 4096;

/// Most signals one piece of evidence may hold.
pub const SIGNALS_MAX: usize = 256;

/// Who saw it. Declared in falling trust: an earlier source outranks a later one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// A fact that the runner recorded itself: its deadline fired, a fold over the ledger.
    Own,
    /// Exit status, ending signal or spawn error of a child process.
    Exit,
    /// A status seen on the wire during the window of the call.
    Http,
    /// Event or typed error of the browser's protocol.
    Cdp,
    /// Named field of a parsed report or return value.
    Report,
    /// Marker in a page, by selector.
    Dom,
    /// Existence, hash, size, time, header or lock content of a file.
    File,
    /// Words in output. The last resort.
    Text,
}

impl Source {
    /// Every source, most trusted first.
    pub const ALL: [Source; 8] = [
        Source::Own,
        Source::Exit,
        Source::Http,
        Source::Cdp,
        Source::Report,
        Source::Dom,
        Source::File,
        Source::Text,
    ];

    /// The word used in tables.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Source::Own => "own",
            Source::Exit => "exit",
            Source::Http => "http",
            Source::Cdp => "cdp",
            Source::Report => "report",
            Source::Dom => "dom",
            Source::File => "file",
            Source::Text => "text",
        }
    }
}

/// One observed fact.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Signal {
    /// Who saw it.
    pub source: Source,
    /// What was seen, from the closed list of the crate that makes it, such as `status`,
    /// `spawn_not_found`, `deadline_passed`, `kicad.report_missing`.
    pub code: String,
    /// A number that belongs to it: exit status, HTTP status, count, milliseconds.
    pub number: Option<i64>,
    /// A name or words that belong to it: program, file, references, output.
    pub text: String,
}

impl Signal {
    /// A signal without number and text.
    #[must_use]
    pub fn new(source: Source, code: &str) -> Signal {
        Signal { source, code: code.to_owned(), number: None, text: String::new() }
    }

    /// Adds a number.
    #[must_use]
    pub fn number(mut self, n: i64) -> Signal {
        self.number = Some(n);
        self
    }

    /// Adds a text, cut to [`SIGNAL_TEXT_BYTES_MAX`] on a character border.
    #[must_use]
    pub fn text(mut self, t: &str) -> Signal {
        self.text = crate::text::cut_bytes(t, SIGNAL_TEXT_BYTES_MAX).to_owned();
        self
    }

    /// `exit`: a child ended with this status.
    #[must_use]
    pub fn exit_status(status: i32) -> Signal {
        Signal::new(Source::Exit, codes::STATUS).number(i64::from(status))
    }

    /// `exit`: a child was ended by this signal.
    #[must_use]
    pub fn exit_signal(signal: i32) -> Signal {
        Signal::new(Source::Exit, codes::SIGNAL).number(i64::from(signal))
    }

    /// `exit`: the program does not exist.
    #[must_use]
    pub fn spawn_not_found(program: &str) -> Signal {
        Signal::new(Source::Exit, codes::SPAWN_NOT_FOUND).text(program)
    }

    /// `http`: a status seen on the wire.
    #[must_use]
    pub fn http(status: u16, place: &str) -> Signal {
        Signal::new(Source::Http, codes::STATUS).number(i64::from(status)).text(place)
    }

    /// `text`: words of a stream (`stdout`, `stderr` or `message`).
    #[must_use]
    pub fn words(stream: &str, words: &str) -> Signal {
        Signal::new(Source::Text, stream).text(words)
    }
}

/// Codes that more than one crate uses. Codes of one subsystem stand in that subsystem.
pub mod codes {
    /// Exit or HTTP status; the number is the status.
    pub const STATUS: &str = "status";
    /// Ending signal of a child; the number is the signal.
    pub const SIGNAL: &str = "signal";
    /// The program does not exist; the text names it.
    pub const SPAWN_NOT_FOUND: &str = "spawn_not_found";
    /// The program exists and may not be started; the text names it.
    pub const SPAWN_DENIED: &str = "spawn_denied";
    /// Starting failed for another reason (out of processes, bad format); the text says which.
    pub const SPAWN_FAILED: &str = "spawn_failed";
    /// The runner's own deadline passed; the number is the deadline in milliseconds.
    pub const DEADLINE_PASSED: &str = "deadline_passed";
    /// Output went past the cap of the step; the number is the bytes seen.
    pub const OUTPUT_ENDLESS: &str = "output_endless";
    /// The same state was seen again and again; the number is how often.
    pub const LOOP_WITHOUT_END: &str = "loop_without_end";
    /// Resident memory over its limit; the number is bytes.
    pub const MEMORY_OVER_LIMIT: &str = "memory_over_limit";
    /// Free space below the reserve; the number is the free bytes.
    pub const DISK_FULL: &str = "disk_full";
    /// A folder or file that must be written is read-only; the text names it.
    pub const READ_ONLY: &str = "read_only";
    /// The fold of attempts reached the policy's count; the number is the count.
    pub const RETRIES_USED_UP: &str = "retries_used_up";
    /// An intent without a result whose owner is gone.
    pub const INTENT_WITHOUT_RESULT: &str = "intent_without_result";
    /// The claim is held by another live process.
    pub const CLAIM_HELD: &str = "claim_held";
    /// The step's declared systems lack this one; the text names this one.
    pub const WRONG_SYSTEM: &str = "wrong_system";
    /// A dependency that the step declares is not installed; the text names it.
    pub const DEPENDENCY_MISSING: &str = "dependency_missing";
    /// An output that the step declares was not made; the text names it.
    pub const OUTPUT_MISSING: &str = "output_missing";
    /// An output is empty; the text names it.
    pub const OUTPUT_EMPTY: &str = "output_empty";
    /// An output is older than the attempt; the text names it.
    pub const OUTPUT_STALE: &str = "output_stale";
    /// A parsed version is below the range; the text names tool and version.
    pub const VERSION_TOO_OLD: &str = "version_too_old";
    /// A result envelope said failure although the status was 0.
    pub const ENVELOPE_FAILED: &str = "envelope_failed";
    /// Exception type and top frame from a report; the text has the type.
    pub const EXCEPTION: &str = "exception";
    /// A module that could not be imported; the text names it.
    pub const MODULE_NOT_FOUND: &str = "module_not_found";
    /// `Retry-After` of the other side; the number is seconds.
    pub const RETRY_AFTER: &str = "http.retry_after";
    /// Standard output.
    pub const STDOUT: &str = "stdout";
    /// Standard error.
    pub const STDERR: &str = "stderr";
    /// Loose words that somebody pasted.
    pub const MESSAGE: &str = "message";
}

/// Everything seen in one attempt, with what the attempt was.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Evidence {
    /// Which layer saw it, normally the step kind; part of the fingerprint.
    pub layer: String,
    /// Plain name of the tool that was driven (`kicad-cli`, `git`), empty when none was.
    pub tool: String,
    /// The facts, in the order in which they were seen.
    pub signals: Vec<Signal>,
    /// Ids of failing tests or findings, for the fingerprint.
    pub test_ids: Vec<String>,
    /// Values for the slots of the message (`part`, `count`, `tool`, `items` ...).
    pub slots: BTreeMap<String, String>,
}

impl Evidence {
    /// Evidence of a layer and tool, with no signals yet.
    #[must_use]
    pub fn new(layer: &str, tool: &str) -> Evidence {
        Evidence { layer: layer.to_owned(), tool: tool.to_owned(), ..Evidence::default() }
    }

    /// Adds a signal; past [`SIGNALS_MAX`] it is dropped, the first ones count.
    pub fn push(&mut self, signal: Signal) {
        if self.signals.len() < SIGNALS_MAX {
            self.signals.push(signal);
        }
    }

    /// The words of all text signals, for the fingerprint.
    #[must_use]
    pub fn words(&self) -> String {
        let words: Vec<&str> = self
            .signals
            .iter()
            .filter(|s| s.source == Source::Text)
            .map(|s| s.text.as_str())
            .collect();
        words.join("\n")
    }
}

/// Test on a signal's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NumberTest {
    /// Any number, or none.
    Any,
    /// This number.
    Is(i64),
    /// From the first to the second, both included.
    Between(i64, i64),
    /// Any number but this.
    Not(i64),
}

/// Test on a signal's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextTest {
    /// Any text, or none.
    Any,
    /// Holds at least one of these, upper and lower case alike.
    HasAny(&'static [&'static str]),
    /// Is one of these file names or programs: the last part of the path, without `.exe`.
    NamesAny(&'static [&'static str]),
}

/// What one signal must look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pattern {
    /// Its source.
    pub source: Source,
    /// Its code; an empty code stands for every code of the source.
    pub code: &'static str,
    /// Its number.
    pub number: NumberTest,
    /// Its text.
    pub text: TextTest,
}

impl Pattern {
    /// A signal with this source and code, whatever its number and text.
    #[must_use]
    pub const fn is(source: Source, code: &'static str) -> Pattern {
        Pattern { source, code, number: NumberTest::Any, text: TextTest::Any }
    }
    /// `own` with this code.
    #[must_use]
    pub const fn own(code: &'static str) -> Pattern {
        Pattern::is(Source::Own, code)
    }
    /// `report` with this code.
    #[must_use]
    pub const fn report(code: &'static str) -> Pattern {
        Pattern::is(Source::Report, code)
    }
    /// `file` with this code.
    #[must_use]
    pub const fn file(code: &'static str) -> Pattern {
        Pattern::is(Source::File, code)
    }
    /// `cdp` with this code.
    #[must_use]
    pub const fn cdp(code: &'static str) -> Pattern {
        Pattern::is(Source::Cdp, code)
    }
    /// `dom` with this code.
    #[must_use]
    pub const fn dom(code: &'static str) -> Pattern {
        Pattern::is(Source::Dom, code)
    }
    /// Exit status `n`.
    #[must_use]
    pub const fn exit(n: i64) -> Pattern {
        Pattern::is(Source::Exit, codes::STATUS).num(NumberTest::Is(n))
    }
    /// HTTP status `n`.
    #[must_use]
    pub const fn http(n: i64) -> Pattern {
        Pattern::is(Source::Http, codes::STATUS).num(NumberTest::Is(n))
    }
    /// HTTP status from `low` to `high`.
    #[must_use]
    pub const fn http_between(low: i64, high: i64) -> Pattern {
        Pattern::is(Source::Http, codes::STATUS).num(NumberTest::Between(low, high))
    }
    /// Spawn error not-found for one of these programs.
    #[must_use]
    pub const fn not_found(programs: &'static [&'static str]) -> Pattern {
        Pattern::is(Source::Exit, codes::SPAWN_NOT_FOUND).names(programs)
    }
    /// Words in any stream of output.
    #[must_use]
    pub const fn words(words: &'static [&'static str]) -> Pattern {
        Pattern::is(Source::Text, "").has(words)
    }
    /// The same pattern with a test on the number.
    #[must_use]
    pub const fn num(mut self, test: NumberTest) -> Pattern {
        self.number = test;
        self
    }
    /// The same pattern with words that the text must hold.
    #[must_use]
    pub const fn has(mut self, words: &'static [&'static str]) -> Pattern {
        self.text = TextTest::HasAny(words);
        self
    }
    /// The same pattern with names, one of which the text must be.
    #[must_use]
    pub const fn names(mut self, names: &'static [&'static str]) -> Pattern {
        self.text = TextTest::NamesAny(names);
        self
    }

    /// Whether this signal fits.
    #[must_use]
    pub fn fits(&self, signal: &Signal) -> bool {
        self.source == signal.source
            && (self.code.is_empty() || self.code == signal.code)
            && match (self.number, signal.number) {
                (NumberTest::Any, _) => true,
                (_, None) => false,
                (NumberTest::Is(want), Some(n)) => n == want,
                (NumberTest::Between(low, high), Some(n)) => (low..=high).contains(&n),
                (NumberTest::Not(other), Some(n)) => n != other,
            }
            && match self.text {
                TextTest::Any => true,
                TextTest::HasAny(words) => {
                    let text = signal.text.to_lowercase();
                    words.iter().any(|w| text.contains(&w.to_lowercase()))
                }
                TextTest::NamesAny(names) => names.contains(&program_name(&signal.text)),
            }
    }

    /// How much this pattern asks for: one for the code, one more for each test.
    #[must_use]
    pub fn specificity(&self) -> u32 {
        u32::from(!self.code.is_empty())
            + u32::from(self.number != NumberTest::Any)
            + u32::from(self.text != TextTest::Any)
    }
}

/// Last part of a program's path, without `.exe`.
#[must_use]
pub fn program_name(path: &str) -> &str {
    let last = path.rsplit(['/', '\\']).next().unwrap_or(path);
    last.strip_suffix(".exe").unwrap_or(last)
}

/// One way to recognise a row: all of `all`, none of `none`, and the tool if one is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Matcher {
    /// Each of these must fit some signal. Never empty.
    pub all: &'static [Pattern],
    /// None of these may fit any signal: the row's look-alikes.
    pub none: &'static [Pattern],
    /// Tools or layers to which the matcher is bound; empty = any. An entry fits the tool's
    /// name, the whole layer (`kicad/drc`) or the layer's first part (`kicad`).
    pub tools: &'static [&'static str],
    /// Confidence of a match in percent.
    pub confidence: u8,
}

impl Matcher {
    /// A sure match (95 %) on these patterns.
    #[must_use]
    pub const fn new(all: &'static [Pattern]) -> Matcher {
        Matcher { all, none: &[], tools: &[], confidence: 95 }
    }
    /// The same, unless one of these fits.
    #[must_use]
    pub const fn unless(mut self, none: &'static [Pattern]) -> Matcher {
        self.none = none;
        self
    }
    /// The same, only for these tools or layers.
    #[must_use]
    pub const fn tools(mut self, tools: &'static [&'static str]) -> Matcher {
        self.tools = tools;
        self
    }
    /// The same with another confidence.
    #[must_use]
    pub const fn confidence(mut self, percent: u8) -> Matcher {
        self.confidence = percent;
        self
    }

    /// Whether the evidence fits.
    #[must_use]
    pub fn fits(&self, evidence: &Evidence) -> bool {
        let family = evidence.layer.split('/').next().unwrap_or("");
        let tool = program_name(&evidence.tool);
        let bound = self.tools.is_empty()
            || self.tools.iter().any(|t| *t == tool || *t == evidence.layer || *t == family);
        bound
            && !self.all.is_empty()
            && self.all.iter().all(|p| evidence.signals.iter().any(|s| p.fits(s)))
            && !self.none.iter().any(|p| evidence.signals.iter().any(|s| p.fits(s)))
    }

    /// The most trusted source among the patterns: it leads, the others break ties.
    #[must_use]
    pub fn trust(&self) -> Source {
        self.all.iter().map(|p| p.source).min().unwrap_or(Source::Text)
    }

    /// Sum over the patterns, plus one when bound to tools.
    #[must_use]
    pub fn specificity(&self) -> u32 {
        self.all.iter().map(Pattern::specificity).sum::<u32>() + u32::from(!self.tools.is_empty())
    }
}
