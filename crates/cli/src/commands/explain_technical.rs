//! The technical record of an episode: class, signals, attempts with their outputs, decisions,
//! recoveries, checks, stored evidence. For agents and for whoever wants to know.

use pcbflow_core::event::{BlobRef, Event, Fact, Words, word};
use pcbflow_core::ids::{ClassId, Digest};
use pcbflow_core::text::{one_line, without_control};
use serde_json::{Value, json};

use super::Episode;
use crate::compose::Site;
use crate::ui::{Label, Ui};

/// Longest line of a tool's output that is shown, in characters.
const TAIL_LINE_CHARS_MAX: usize = 400;

/// A stored file that an event names.
struct Stored {
    name: String,
    digest: Digest,
    /// Bytes kept, and bytes that there really were.
    bytes: Option<(u64, u64)>,
    seq: u64,
    /// How to read it.
    how: String,
}

pub(super) struct Record<'e> {
    episode: &'e Episode,
    title: String,
    severity: String,
    ladder: Vec<&'static str>,
    blobs: Vec<Stored>,
}

impl<'e> Record<'e> {
    pub(super) fn of(episode: &'e Episode, site: &Site) -> Record<'e> {
        let row = episode
            .class()
            .and_then(|c| ClassId::new(c).ok())
            .and_then(|c| site.policy.catalogue.row(&c).copied());
        let store = site.blobs();
        let mut blobs = Vec::new();
        let mut add = |event: &Event, name: &str, digest: Digest, bytes: Option<(u64, u64)>| {
            let path = store.path_of(&digest);
            let how = if store.has(&digest) {
                let shown = path.strip_prefix(&site.workspace.root).unwrap_or(&path);
                format!("zstd -dc < {}", shown.display())
            } else {
                "no longer stored".to_owned()
            };
            blobs.push(Stored { name: name.to_owned(), digest, bytes, seq: event.seq.0, how });
        };
        for event in &episode.events {
            match &event.fact {
                Fact::AttemptFinished { blobs, .. } => {
                    for BlobRef { name, digest, bytes, true_bytes } in blobs {
                        add(event, name, *digest, Some((*bytes, *true_bytes)));
                    }
                }
                Fact::CheckObserved { findings: Some(digest), .. } => {
                    add(event, "findings.json", *digest, None);
                }
                Fact::RunStarted { policy, .. } => add(event, "policy", *policy, None),
                _ => {}
            }
        }
        Record {
            episode,
            title: row.map_or_else(String::new, |r| r.title.to_owned()),
            severity: row.map_or_else(String::new, |r| format!("{:?}", r.severity)),
            ladder: row.map_or_else(Vec::new, |r| r.ladder.iter().map(|l| l.id).collect()),
            blobs,
        }
    }

    pub(super) fn json(&self) -> Value {
        let events: Vec<Value> = self
            .episode
            .events
            .iter()
            .map(|e| serde_json::to_value(e).unwrap_or_default())
            .collect();
        let blobs: Vec<Value> = self
            .blobs
            .iter()
            .map(|b| {
                json!({"name": b.name, "digest": b.digest, "bytes": b.bytes.map(|n| n.0),
                    "true_bytes": b.bytes.map(|n| n.1), "event": b.seq, "read_with": b.how})
            })
            .collect();
        json!({
            "class": self.episode.class(), "title": self.title, "severity": self.severity,
            "ladder": self.ladder, "blobs": blobs, "events": events,
            "hash": self.episode.event.hash,
        })
    }

    pub(super) fn lines(&self, ui: &Ui) -> Vec<String> {
        let event = &self.episode.event;
        let mut lines = vec![
            format!(
                "event {} of {} at {}: {}",
                event.seq, self.episode.board, event.at, event.fact
            ),
            format!("hash blake3:{}", event.hash),
        ];
        if let Some(class) = self.episode.class() {
            lines.push(format!("class {class} ({}), {}", self.title, self.severity));
            lines.push(format!("ladder {}", self.ladder.join(" > ")));
        }
        for event in &self.episode.events {
            lines.push(String::new());
            let head = format!("{}  {}  {}", event.seq, event.at, event.fact);
            lines.push(ui.paint(Label::Heading, &head));
            facts(&event.fact, &mut lines);
            match &event.words {
                Some(words) => told(words, &mut lines),
                None => lines.push("    its words were removed".to_owned()),
            }
        }
        if !self.blobs.is_empty() {
            lines.push(String::new());
            lines.push(ui.paint(Label::Heading, "stored evidence"));
        }
        for Stored { name, digest, bytes, seq, how } in &self.blobs {
            let size = match bytes {
                Some((kept, all)) if kept < all => format!(", {kept} of {all} bytes"),
                Some((kept, _)) => format!(", {kept} bytes"),
                None => String::new(),
            };
            lines.push(format!("    {name} of event {seq}{size}, {}", digest.short()));
            lines.push(format!("      {how}"));
        }
        lines
    }
}

/// The numbers of an event.
fn facts(fact: &Fact, lines: &mut Vec<String>) {
    let mut add = |line: String| lines.push(format!("    {line}"));
    match fact {
        Fact::AttemptStarted { what, safety, deadline_ms, .. } => {
            add(format!(
                "safety {}, deadline {deadline_ms} ms, executes {}",
                safety.word(),
                what.short()
            ));
        }
        Fact::AttemptFinished { ended, exit, signal, took_ms, tool, outputs, closure, .. } => {
            let number = |n: &Option<i32>| n.map_or("none".to_owned(), |n| n.to_string());
            add(format!(
                "ended {}, exit {}, signal {}, took {took_ms} ms, tool {}",
                word(ended),
                number(exit),
                number(signal),
                if tool.is_empty() { "none" } else { tool }
            ));
            add(format!("closure {}, {} outputs", closure.short(), outputs.len()));
        }
        Fact::FailureDiagnosed {
            known,
            confidence,
            trust,
            fingerprint,
            retry_after_ms,
            slots,
            ..
        } => {
            add(format!(
                "known {known}, confidence {confidence} %, trust {}, fingerprint {}",
                trust.word(),
                fingerprint.short()
            ));
            if let Some(ms) = retry_after_ms {
                add(format!("the other side asked to wait {ms} ms"));
            }
            for (name, value) in slots {
                add(format!("slot {name} = {}", one_line(value)));
            }
        }
        Fact::DecisionTaken { based_on, now, seed, policy, .. } => {
            add(format!(
                "based on event {based_on} at {now}, seed {seed:016x}, policy {}",
                policy.short()
            ));
        }
        Fact::CheckObserved { purpose, outcome, gate, counts, .. } => add(format!(
            "purpose {}, outcome {}, gate {}, {} errors, {} warnings, {} excluded, {} apart",
            word(purpose),
            word(outcome),
            word(gate),
            counts.errors,
            counts.warnings,
            counts.excluded,
            counts.apart
        )),
        Fact::RecoveryFinished { notes, .. } => {
            for (name, value) in notes {
                add(format!("note {name} = {}", one_line(value)));
            }
        }
        _ => {}
    }
}

/// The words of an event.
fn told(words: &Words, lines: &mut Vec<String>) {
    if !words.summary.is_empty() {
        for line in without_control(&words.summary).lines() {
            lines.push(format!("    {line}"));
        }
    }
    if !words.argv.is_empty() {
        let argv: Vec<String> = words.argv.iter().map(|a| quoted(a)).collect();
        lines.push(format!("    argv {}", argv.join(" ")));
    }
    for signal in &words.signals {
        let number = signal.number.map_or(String::new(), |n| format!(" {n}"));
        let text = cut(&one_line(&signal.text));
        let text = if text.is_empty() { text } else { format!(": {text}") };
        lines.push(format!("    signal {} {}{number}{text}", signal.source.word(), signal.code));
    }
    for (name, value) in &words.more {
        lines.push(format!("    {name} {}", cut(&one_line(value))));
    }
    for (name, tail) in [("stdout", &words.stdout_tail), ("stderr", &words.stderr_tail)] {
        if tail.trim().is_empty() {
            continue;
        }
        lines.push(format!("    {name}:"));
        for line in without_control(tail).lines() {
            lines.push(format!("      | {}", cut(line)));
        }
    }
}

fn cut(text: &str) -> String {
    if text.chars().count() <= TAIL_LINE_CHARS_MAX {
        return text.to_owned();
    }
    text.chars().take(TAIL_LINE_CHARS_MAX).chain("...".chars()).collect()
}

/// An argument as it would be typed, for reading only.
fn quoted(arg: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./=:,+@%".contains(c);
    if !arg.is_empty() && arg.chars().all(plain) {
        return arg.to_owned();
    }
    format!("'{}'", one_line(arg).replace('\'', "'\\''"))
}
