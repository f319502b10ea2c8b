//! `eda/script`: one block, exactly once.
//!
//! The order is always the same: the script is held against the signatures; the sheet is read
//! until two reads agree; the script runs with a guarded `eda` that makes only what is not there;
//! the plan is written down; the sheet is read afresh and held against it; what is there twice or
//! not planned any more goes; it is saved, loaded again and read once more.

use std::path::PathBuf;

use pcbflow_core::check::{CheckResult, Finding, Limits};
use pcbflow_core::event::{Ended, ReadBack};
use pcbflow_core::evidence::{Signal, Source};
use pcbflow_core::ids::Digest;
use pcbflow_core::ports::Observation;
use pcbflow_core::redact::redact;
use serde_json::{Value, json};

use super::{Step, checked, finding, numbered, of_file, save, texts};
use crate::block::{Block, Shown};
use crate::cdp::{Seen, ms};
use crate::desk::{View, Want, deadline, left_ms, script};
use crate::files;
use crate::script::{check, table};
use crate::sheet::{self, Sheet};
use crate::signals;
use crate::trouble::Trouble;

/// Longest wait for one call of the API, in milliseconds.
const CALL_MS: u64 = 20_000;
/// The most that a step may say instead, in seconds.
pub(crate) const CALL_SECONDS_MAX: u64 = 600;
/// How long no call may begin before a script that nobody waits for counts as over, in
/// milliseconds.
const QUIET_MS: u64 = 1_000;
/// What is kept of the step's time for reading back and saving, in milliseconds.
const AFTER_MS: u64 = 30_000;
/// Before a write that can't be seen is believed to be lost, in milliseconds.
const AGAIN_MS: u64 = 1_000;
/// Most bytes that are kept of what a script gave.
const RESULT_BYTES_MAX: usize = 16_384;
/// Most ids of one removal: with more the editor removes none and says that it did.
const REMOVE_MAX: usize = 50;

/// The scripts of a block.
struct Code {
    /// Name of the block.
    block: String,
    /// All scripts in their order: file and text.
    files: Vec<(String, String)>,
    /// Digest of board, name and texts.
    identity: String,
    /// Where the plan lies.
    place: PathBuf,
}

impl Code {
    /// What is sent: the texts, one after the other.
    fn whole(&self) -> String {
        let texts: Vec<String> = self.files.iter().map(|(_, t)| check::guarded(t)).collect();
        texts.join("\n")
    }
}

/// What the page answered for a block.
struct Answer {
    value: Value,
    seen: Seen,
}

impl Answer {
    fn list(&self, key: &str) -> Vec<String> {
        texts(self.value.get(key))
    }
}

impl Step<'_> {
    pub(super) async fn script(&mut self) -> Result<Observation, Trouble> {
        let code = self.code()?;
        let (methods, faults) = looked_through(&code);
        if !faults.is_empty() {
            return Ok(refused(faults));
        }
        let want = self.wanted(&methods)?;
        let view = self.ready(&want).await?;
        // An earlier try of this process may have run out of time with its script still going.
        self.desk.quiet(&view.project).await?;
        let before = sheet::settled(self.desk, &view, false, self.until).await?;
        let old = Block::load(&code.place).filter(|b| b.document == view.document);
        let begun = begun(&code, &view, old.as_ref(), &before);
        let stored = begun.store(&code.place);
        stored.map_err(|e| of_file("the plan of the block can't be kept:", &code.place, &e))?;
        let answer = self.perform(&code, &view, &before, old.as_ref()).await?;
        let mut block = Block {
            identity: code.identity.clone(),
            document: view.document.clone(),
            planned: answer.value["planned"].as_array().cloned().unwrap_or_default(),
            before: begun.before.clone(),
            done: false,
        };
        remember_origin(&mut block, old.as_ref());
        if answer.value.get("ok") != Some(&Value::Bool(true)) {
            block.remember(&begun.planned);
        }
        let stored = block.store(&code.place);
        stored.map_err(|e| of_file("the plan of the block can't be kept:", &code.place, &e))?;
        let wrong = wrong_calls(&answer);
        if !wrong.is_empty() {
            return Ok(refused(wrong));
        }
        judged(&answer)?;
        let sheet = self.settle_block(&view, &block, old.as_ref()).await?;
        self.save(&view, &sheet).await?;
        block.done = true;
        let stored = block.store(&code.place);
        stored.map_err(|e| of_file("the plan of the block can't be kept:", &code.place, &e))?;
        Ok(self.placed(&code, &view, &block, &answer))
    }

    fn placed(&self, code: &Code, view: &View, block: &Block, answer: &Answer) -> Observation {
        let count = block.planned.len();
        let kept = answer.value.get("kept").and_then(Value::as_u64).unwrap_or(0);
        let summary = format!(
            "block {}: {count} objects there once and saved, {kept} of them were there before",
            code.block
        );
        let mut observation = checked(CheckResult::pass("placed"), &summary, Some(view));
        let plan = serde_json::to_vec_pretty(block).unwrap_or_default();
        let name = format!("block-{}.json", code.block);
        match self.services.blobs.put(&name, &plan) {
            Ok(blob) => observation.blobs.push(blob),
            // The plan lies in its file as well.
            Err(error) => tracing::warn!(%error, "the plan of a block is not in the evidence"),
        }
        // What the script gave, for whoever wrote it.
        let gave = answer.value.get("v").map_or_else(String::new, Value::to_string);
        let home = std::env::var("HOME").or_else(|_| std::env::var("USERPROFILE")).ok();
        let shown = pcbflow_core::text::cut_bytes(&gave, RESULT_BYTES_MAX);
        observation.stdout.text = redact(shown, home.as_deref()).into_owned();
        observation.stdout.total_bytes = u64::try_from(gave.len()).unwrap_or(u64::MAX);
        let record = format!("eda.block.{}", code.block);
        observation.records.insert(record, code.identity.clone());
        observation
    }

    /// Whether the block is there: whole and proven, in part, or not at all.
    pub(super) async fn script_read_back(&mut self) -> ReadBack {
        let Ok(code) = self.code() else { return ReadBack::Unclear };
        let known = Block::load(&code.place);
        if known.is_none() && self.context.attempt.0 == 0 {
            // Nothing of this block was ever begun here. The attempt looks for itself all the same.
            return ReadBack::Absent;
        }
        let (methods, _) = looked_through(&code);
        let Ok(want) = self.wanted(&methods) else { return ReadBack::Unclear };
        let seen = async {
            let view = self.ready(&want).await?;
            let seen = sheet::settled(self.desk, &view, false, self.until).await?;
            Ok::<_, Trouble>((view, seen))
        };
        let (view, seen) = match seen.await {
            Ok(found) => found,
            Err(trouble) => {
                tracing::debug!(what = trouble.what, "a block could not be read back");
                return ReadBack::Unclear;
            }
        };
        let Some(block) = known.filter(|b| b.document == view.document) else {
            // Cut off before its plan came back. The next attempt makes only what is not there.
            return ReadBack::Partial;
        };
        let shown = block.shown(&seen);
        if block.identity == code.identity && block.done && shown.missing.is_empty() {
            ReadBack::Landed
        } else if shown.present == 0 && !block.planned.is_empty() {
            ReadBack::Absent
        } else {
            ReadBack::Partial
        }
    }

    /// Longest wait for one call of the API.
    fn call_ms(&self) -> u64 {
        let said = self.context.step.with.get("call_seconds").and_then(Value::as_u64);
        said.map_or(CALL_MS, |seconds| seconds.clamp(1, CALL_SECONDS_MAX) * 1_000)
    }

    fn wanted(&self, methods: &[String]) -> Result<Want, Trouble> {
        let mut want = self.want(save::METHODS, true)?;
        want.methods.extend(methods.iter().cloned());
        want.methods.sort();
        want.methods.dedup();
        Ok(want)
    }

    fn code(&self) -> Result<Code, Trouble> {
        let step = &self.context.step;
        let mut names = texts(step.with.get("engine"));
        names.extend(texts(step.with.get("script")));
        let mut files = Vec::new();
        for name in names {
            let text = files::script(&self.context.root, &name)
                .map_err(|e| of_file("the script can't be read:", name.as_ref(), &e))?;
            files.push((name, text));
        }
        let block = step.arg_str("block").unwrap_or(step.id.as_str()).to_owned();
        let mut whole = format!("{}\n{block}\n", self.context.board);
        for (name, text) in &files {
            whole.push_str(&format!("{name} {}\n{text}\n", text.len()));
        }
        let identity = Digest::of(whole.as_bytes()).to_string();
        let place = Block::place(&self.context.state_dir, &self.context.board, &block);
        Ok(Code { block, files, identity, place })
    }

    /// Runs the block in the page.
    async fn perform(
        &mut self,
        code: &Code,
        view: &View,
        before: &Sheet,
        old: Option<&Block>,
    ) -> Result<Answer, Trouble> {
        self.services.progress.doing(&self.context.key, &format!("placing block {}", code.block));
        let input = json!({
            "block": format!("{}/{}", self.context.board, code.block),
            "code": code.whole(),
            "table": table::as_json(),
            "creates": table::making_as_json(),
            "start": before.as_json(),
            "journal": old.map_or_else(|| json!([]), Block::journal),
            "quietMs": QUIET_MS,
            "callMs": self.call_ms(),
        });
        let within = left_ms(self.until).saturating_sub(AFTER_MS).max(AGAIN_MS);
        let run = script(include_str!("../page/run.js"), &input, within);
        let what = format!("block {}", code.block);
        let (value, seen) =
            self.desk.run_watched(&view.project, &what, &run, self.call_ms()).await?;
        Ok(Answer { value, seen })
    }

    /// Reads the sheet afresh until it holds the plan exactly once; removes what is there twice
    /// and what the block does not plan any more.
    async fn settle_block(
        &mut self,
        view: &View,
        block: &Block,
        old: Option<&Block>,
    ) -> Result<Sheet, Trouble> {
        let mut seen = sheet::settled(self.desk, view, false, self.until).await?;
        let mut shown = block.shown(&seen);
        if !shown.missing.is_empty() {
            tokio::time::sleep(ms(AGAIN_MS)).await;
            seen = sheet::settled(self.desk, view, false, self.until).await?;
            shown = block.shown(&seen);
        }
        let mut gone = shown.doubled.clone();
        gone.extend(old.map_or_else(Vec::new, |old| old.orphans(block, &seen)));
        if !gone.is_empty() {
            self.remove(view, &seen, &gone).await?;
            seen = sheet::settled(self.desk, view, false, self.until).await?;
            shown = block.shown(&seen);
            if gone.iter().any(|id| seen.records.contains_key(id)) {
                return Err(lost("objects that are too many do not go away", &shown));
            }
        }
        if shown.missing.is_empty() { Ok(seen) } else { Err(lost("a write is not there", &shown)) }
    }

    async fn remove(&mut self, view: &View, seen: &Sheet, ids: &[String]) -> Result<(), Trouble> {
        let source = "const space = window._EXTAPI_ROOT_[INPUT.space]; \
                      return (await space.delete(INPUT.ids)) ?? null;";
        let is_wire = |id: &String| {
            seen.records.get(id).and_then(|r| r.get("kind")).is_some_and(|k| k == "wire")
        };
        let (wires, parts): (Vec<String>, Vec<String>) = ids.iter().cloned().partition(is_wire);
        for (space, all) in [("sch_PrimitiveComponent", parts), ("sch_PrimitiveWire", wires)] {
            for some in all.chunks(REMOVE_MAX) {
                let input = json!({ "space": space, "ids": some });
                let delete = script(source, &input, left_ms(self.until).min(CALL_MS));
                self.desk.run(&view.project, "removing what is too many", &delete).await?;
            }
        }
        Ok(())
    }
}

/// The block as it is written down before its script runs: what is known of it from earlier
/// tries, and what was on the sheet before the first of them.
fn begun(code: &Code, view: &View, old: Option<&Block>, before: &Sheet) -> Block {
    Block {
        identity: code.identity.clone(),
        document: view.document.clone(),
        planned: old.map_or_else(Vec::new, |o| o.planned.clone()),
        before: old.map_or_else(|| before.records.keys().cloned().collect(), |o| o.before.clone()),
        done: false,
    }
}

/// Objects that an earlier try of the block made are the block's own, also when this try only
/// found them.
fn remember_origin(block: &mut Block, old: Option<&Block>) {
    let made = |id: &Value| {
        old.into_iter()
            .flat_map(|o| &o.planned)
            .any(|p| p.get("id") == Some(id) && p.get("kept") != Some(&Value::Bool(true)))
    };
    for plan in &mut block.planned {
        if plan.get("id").is_some_and(|id| !id.is_null() && made(id)) {
            plan["kept"] = Value::Bool(false);
        }
    }
}

/// Methods and faults of all scripts, seen in their text.
fn looked_through(code: &Code) -> (Vec<String>, Vec<Finding>) {
    let mut methods = Vec::new();
    let mut faults = Vec::new();
    for (file, text) in &code.files {
        let calls = check::check(text);
        methods.extend(calls.methods);
        for fault in calls.faults {
            let place = format!("{file}:{}", fault.line);
            let what = format!("{place}: {} {}", fault.api, fault.why);
            faults.push(finding("script", "wrong_call", &what, &place));
        }
    }
    (methods, faults)
}

/// Calls that the page refused right before they were made.
fn wrong_calls(answer: &Answer) -> Vec<Finding> {
    let faults = answer.value.get("faults").and_then(Value::as_array);
    let text = |f: &Value, key: &str| f.get(key).and_then(Value::as_str).unwrap_or("").to_owned();
    faults
        .into_iter()
        .flatten()
        .map(|f| {
            let what = format!("{} {}", text(f, "api"), text(f, "why"));
            finding("script", "wrong_call", &what, &text(f, "api"))
        })
        .collect()
}

/// The observation of a script that was not sent, or not to its end, because a call is wrong.
fn refused(faults: Vec<Finding>) -> Observation {
    let faults = numbered(faults);
    let summary = faults.first().map_or_else(String::new, |f| f.message.clone());
    checked(CheckResult::of_findings("script", faults, Limits::default()), &summary, None)
}

/// Whether the script came to its end and every write was taken.
fn judged(answer: &Answer) -> Result<(), Trouble> {
    let report = |code: &str, text: &str| Signal::new(Source::Report, code).text(text);
    let seen = answer.seen.signals();
    let missing = answer.list("missing");
    if !missing.is_empty() {
        let signals = missing.iter().map(|m| report(signals::METHOD_MISSING, m)).collect();
        return Err(Trouble::seen("the editor lacks a method of the script", signals));
    }
    if let Some(stuck) = answer.value.get("stuck").and_then(Value::as_str) {
        let mut more = vec![deadline(CALL_MS), Signal::new(Source::Cdp, signals::PROBE_ANSWERED)];
        if stuck == "done" {
            more.push(Signal::new(Source::Own, signals::DONE_UNANSWERED));
        }
        let trouble = Trouble::seen(&format!("{stuck} did not answer"), seen).with(more);
        return Err(Trouble { ended: Ended::DeadlinePassed, ..trouble });
    }
    let refused = answer.list("refused");
    if let Some(first) = refused.first() {
        let signals = vec![report(signals::WRITES_REFUSED, first), report(signals::READS_FINE, "")];
        return Err(Trouble::seen(&format!("{first} gave nothing"), seen).with(signals));
    }
    if answer.value.get("ok") != Some(&Value::Bool(true)) {
        let why = answer.value.get("err").and_then(Value::as_str);
        let failed = Trouble::failed(why.unwrap_or("the script gave no result"));
        return Err(failed.with(seen));
    }
    Ok(())
}

/// A write that two fresh reads do not show.
fn lost(what: &str, shown: &Shown) -> Trouble {
    let first = shown.missing.first().or(shown.doubled.first()).cloned().unwrap_or_default();
    let signals = vec![
        Signal::new(Source::Own, signals::FRESH_READS_AGREE),
        Signal::new(Source::Report, signals::READ_DIFFERS).text(&first),
    ];
    Trouble::seen(&format!("{what}: {first}"), signals)
}
