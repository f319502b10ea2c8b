//! From how a program ended to typed evidence.

use std::path::Path;

use pcbflow_core::evidence::{Evidence, Signal, Source, codes, program_name};
use pcbflow_core::manifest::Safety;
use pcbflow_core::ports::{SpawnEnded, SpawnRequest, SpawnResult, StepContext};
use pcbflow_core::text::head_and_tail;

use crate::kinds::KINDS;
use crate::{doctor, prepare, signals};

/// Most bytes of one stream kept in a signal.
const WORDS_BYTES_MAX: usize = 4000;
/// The polite signal, by which a group is asked to end.
const POLITE_SIGNAL: i64 = 15;

/// Words by which shells say that a program is made for another system.
const OTHER_SYSTEM: &[&str] =
    &["exec format error", "cannot execute binary file", "bad cpu type", "bad interpreter"];

/// Everything that was seen of a failed attempt.
pub fn failure(context: &StepContext, request: &SpawnRequest, result: &SpawnResult) -> Evidence {
    let program = request.argv.first().map_or("", String::as_str);
    let mut evidence = prepare::evidence(context, program);
    ending(&mut evidence, request, result);
    if result.ended == SpawnEnded::DeadlinePassed && writes_once(context) {
        evidence.push(Signal::new(Source::Own, signals::WRITE_OUTCOME_UNKNOWN));
    }
    if let SpawnEnded::Exited(status) = result.ended {
        shell_words(&mut evidence, status, &result.stderr.text);
        places(&mut evidence, context, request, &result.stderr.text);
    }
    trace(&mut evidence, &result.stderr.text);
    interpreter(&mut evidence, context, request);
    words(&mut evidence, result);
    evidence
}

/// Whether the step may write only once, by its kind or by its manifest.
fn writes_once(context: &StepContext) -> bool {
    let kind = KINDS.iter().find(|k| k.name == context.step.uses.as_str());
    let safety = context.step.safety.max(kind.map(|k| k.safety)).unwrap_or(Safety::Once);
    matches!(safety, Safety::Once | Safety::Publish)
}

/// Adds what both streams said.
pub fn words(evidence: &mut Evidence, result: &SpawnResult) {
    for (name, captured) in [(codes::STDERR, &result.stderr), (codes::STDOUT, &result.stdout)] {
        if !captured.text.trim().is_empty() {
            evidence.push(Signal::words(name, &head_and_tail(&captured.text, WORDS_BYTES_MAX)));
        }
    }
}

fn ending(evidence: &mut Evidence, request: &SpawnRequest, result: &SpawnResult) {
    let program = request.argv.first().map_or("", String::as_str);
    let number = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
    let own = |code: &str, n: u64| Signal::new(Source::Own, code).number(number(n));
    memory(evidence, result);
    match &result.ended {
        SpawnEnded::Exited(status) => evidence.push(Signal::exit_status(*status)),
        SpawnEnded::Signalled(signal) => evidence.push(Signal::exit_signal(*signal)),
        SpawnEnded::DeadlinePassed => {
            evidence.push(own(codes::DEADLINE_PASSED, request.deadline_ms));
            let signal = Signal::new(Source::Exit, signals::ENDED_BY_US);
            evidence.push(signal.number(POLITE_SIGNAL));
        }
        SpawnEnded::Cancelled => {
            evidence.push(Signal::new(Source::Own, signals::STOPPED_BY_PERSON));
        }
        SpawnEnded::OutputEndless => {
            let most = result.stdout.total_bytes.max(result.stderr.total_bytes);
            evidence.push(own(codes::OUTPUT_ENDLESS, most));
        }
        SpawnEnded::MemoryOverLimit(bytes) => {
            evidence.push(own(codes::MEMORY_OVER_LIMIT, *bytes));
        }
        SpawnEnded::BusyWithoutOutput(ms) => {
            evidence.push(own(signals::BUSY_WITHOUT_EVENT, *ms));
        }
        SpawnEnded::NotFound => not_found(evidence, program),
        SpawnEnded::Denied => {
            evidence.push(Signal::new(Source::Exit, codes::SPAWN_DENIED).text(program));
        }
        SpawnEnded::Failed(why) => match interpreter_of(why, request) {
            Some(missing) => not_found(evidence, &missing),
            None => evidence.push(Signal::new(Source::Exit, codes::SPAWN_FAILED).text(why)),
        },
    }
}

/// The signal by which a system ends a process that takes too much memory.
const HARD_SIGNAL: i32 = 9;

/// What memory has to do with it: only for a program that was ended hard, or by us for its size.
/// One that ends by itself says by itself what is wrong.
fn memory(evidence: &mut Evidence, result: &SpawnResult) {
    let hard = matches!(result.ended, SpawnEnded::Signalled(HARD_SIGNAL))
        // The same, told by a shell.
        || result.status() == Some(128 + HARD_SIGNAL);
    if hard && result.memory.out_of_memory {
        let signal = Signal::new(Source::Exit, signals::OUT_OF_MEMORY_RECORD);
        evidence.push(signal.text("ended by the system for lack of memory"));
    }
    let by_us = matches!(result.ended, SpawnEnded::MemoryOverLimit(_));
    if let Some(bytes) = result.memory.rising_to.filter(|_| hard || by_us) {
        let signal = Signal::new(Source::Own, signals::MEMORY_RISING);
        evidence.push(signal.number(i64::try_from(bytes).unwrap_or(i64::MAX)));
    }
}

fn not_found(evidence: &mut Evidence, program: &str) {
    evidence.push(Signal::spawn_not_found(program));
    let name = program_name(program);
    evidence.slots.insert("program".into(), name.to_owned());
    named(evidence, signals::PROGRAM_MISSING, name);
}

/// Names what is missing in the message.
fn named(evidence: &mut Evidence, variant: &str, name: &str) {
    if !name.is_empty() {
        evidence.slots.insert("variant".into(), variant.to_owned());
        evidence.slots.insert("items".into(), name.to_owned());
    }
}

/// The interpreter that a script names in its first line, when it is the one that is missing.
fn interpreter_of(why: &str, request: &SpawnRequest) -> Option<String> {
    if !why.starts_with("bad interpreter") {
        return None;
    }
    let program = request.argv.first()?;
    let file = doctor::on_path(program, &request.cwd).ok()?;
    let head = std::fs::read(file).ok()?;
    let line = head.split(|b| *b == b'\n').next()?.strip_prefix(b"#!")?;
    let line = String::from_utf8_lossy(line);
    line.split_whitespace().next().map(str::to_owned)
}

/// What a shell says with its own statuses 126 and 127.
fn shell_words(evidence: &mut Evidence, status: i32, stderr: &str) {
    if !matches!(status, 126 | 127) {
        return;
    }
    let lower = stderr.to_lowercase();
    if OTHER_SYSTEM.iter().any(|w| lower.contains(w)) {
        let program = missing_program(stderr).unwrap_or_default();
        evidence.push(Signal::new(Source::Exit, signals::FORMAT_OF_OTHER_SYSTEM).text(&program));
    } else if status == 127
        && let Some(program) = missing_program(stderr)
    {
        not_found(evidence, &program);
    }
}

/// The program that a shell could not find: `sh: 1: x: not found`, `x: command not found`,
/// `env: 'x': No such file or directory`.
fn missing_program(stderr: &str) -> Option<String> {
    let quotes: &[char] = &['\'', '"', '`', '\u{2018}', '\u{2019}'];
    stderr.lines().rev().find_map(|line| {
        let (before, _) = ["command not found", "not found", "No such file or directory"]
            .iter()
            .find_map(|end| line.rsplit_once(end))?;
        let name = before.trim_end().trim_end_matches(':').rsplit(": ").next()?;
        let name = name.trim().trim_matches(quotes).trim();
        let fits = !name.is_empty() && name.len() < 200 && !name.contains(char::is_whitespace);
        fits.then(|| name.to_owned())
    })
}

/// Faults of places: disk, folder, inputs, paths that a tool took apart.
fn places(evidence: &mut Evidence, context: &StepContext, request: &SpawnRequest, stderr: &str) {
    if !context.step.outputs.is_empty()
        && let Err(error) = doctor::writable(&context.board_dir)
    {
        evidence.push(prepare::place_signal(&error, &context.board_dir));
    }
    let missing = prepare::missing_inputs(context);
    if !missing.is_empty() {
        missing.into_iter().for_each(|signal| evidence.push(signal));
        return;
    }
    let (root, dir) = (context.root.to_string_lossy(), context.board_dir.to_string_lossy());
    let args = request.argv.iter().skip(1).filter_map(|a| {
        prepare::file_argument(a, &request.cwd)
            .map(|f| (a.clone(), f.to_string_lossy().into_owned()))
    });
    let folders = [(root.to_string(), root.to_string()), (dir.to_string(), dir.to_string())];
    for (written, full) in args.chain(folders) {
        let taken_apart =
            prepare::awkward(&full) && (apart(&written, stderr) || apart(&full, stderr));
        if taken_apart {
            evidence.push(Signal::new(Source::File, signals::PATH_AWKWARD).text(&full));
            if let Some(name) = opened(stderr).filter(|n| written.starts_with(n.as_str())) {
                evidence.push(Signal::new(Source::Own, signals::ARGUMENT_DIFFERS).text(&name));
            }
            // However its actions spell the path, it is the same failure.
            evidence.test_ids.push(context.key.to_string());
            return;
        }
    }
}

/// Whether output names the first piece of a path and never the path itself.
fn apart(path: &str, output: &str) -> bool {
    let Some(first) = path.split(char::is_whitespace).next().filter(|f| f.len() > 1) else {
        return false;
    };
    first.len() < path.len()
        && !output.contains(path)
        && output.lines().any(|line| {
            line.split_whitespace().any(|w| w.trim_matches([':', ',', '\'', '"', '.']) == first)
        })
}

/// Whether a package is missing because another Python ran than that of the project's own folder
/// of installed packages.
fn interpreter(evidence: &mut Evidence, context: &StepContext, request: &SpawnRequest) {
    let missing = evidence.signals.iter().any(|s| s.code == codes::MODULE_NOT_FOUND);
    let program = request.argv.first().map_or("", String::as_str);
    if !missing || !doctor::PYTHON.is_named(program_name(program)) {
        return;
    }
    let Some(own) = prepare::environment_python(context) else { return };
    // Not the file itself: that of an environment is often a link to the system's.
    let folder = |file: &Path| file.parent().and_then(|p| p.canonicalize().ok());
    let ran = doctor::on_path(program, &request.cwd).ok();
    if let Some(ran) = ran.filter(|r| folder(r) != folder(&own)) {
        let signal = Signal::new(Source::Own, signals::WRONG_INTERPRETER);
        evidence.push(signal.text(&ran.to_string_lossy()));
        evidence.slots.insert("program".into(), doctor::PYTHON.name.to_owned());
    }
}

/// The file that an interpreter says it could not open, by its own typed words.
fn opened(stderr: &str) -> Option<String> {
    let line = stderr.lines().rev().find(|l| {
        l.starts_with("FileNotFoundError: [Errno 2]") || l.contains("Error: ENOENT: no such file")
    })?;
    let name = line.split_once('\'')?.1.split('\'').next()?;
    (!name.is_empty()).then(|| name.to_owned())
}

/// Reads the trace of a Python or Node program: type, top frame, missing module.
fn trace(evidence: &mut Evidence, stderr: &str) {
    if let Some((_, after)) = stderr.rsplit_once("Traceback (most recent call last):") {
        python(evidence, after);
    } else {
        node(evidence, stderr);
    }
}

fn python(evidence: &mut Evidence, after: &str) {
    let unindented = |l: &&str| !l.is_empty() && !l.starts_with([' ', '\t']);
    let Some(line) = after.lines().find(unindented) else { return };
    let (kind, message) = line.split_once(": ").unwrap_or((line, ""));
    let frame = after.lines().rfind(|l| l.trim_start().starts_with("File \""));
    if kind == "ModuleNotFoundError" {
        let name = message.rsplit("named ").next().unwrap_or("").trim_matches(['\'', '"']);
        module(evidence, name);
    }
    exception(evidence, kind, frame.unwrap_or("").trim());
}

fn node(evidence: &mut Evidence, stderr: &str) {
    let typed = stderr.contains("'MODULE_NOT_FOUND'") || stderr.contains("ERR_MODULE_NOT_FOUND");
    let named = ["Cannot find module '", "Cannot find package '"]
        .iter()
        .find_map(|w| stderr.split_once(w)?.1.split('\'').next());
    // A path is a file of the script itself, not a package.
    if let Some(name) = named.filter(|n| typed && !n.starts_with(['.', '/', '\\']) && !n.is_empty())
    {
        module(evidence, name);
        return;
    }
    let Some(at) = stderr.lines().position(|l| l.starts_with("    at ")) else { return };
    let kind = stderr.lines().take(at).filter_map(|l| l.split_once(": ")).map(|(k, _)| k).last();
    let frame = stderr.lines().nth(at).unwrap_or("").trim();
    if let Some(kind) = kind.filter(|k| k.ends_with("Error") && !k.contains(' ')) {
        exception(evidence, kind, frame);
    }
}

fn module(evidence: &mut Evidence, name: &str) {
    evidence.push(Signal::new(Source::Report, codes::MODULE_NOT_FOUND).text(name));
    evidence.slots.insert("module".into(), name.to_owned());
    named(evidence, signals::PACKAGE_MISSING, name);
}

fn exception(evidence: &mut Evidence, kind: &str, frame: &str) {
    let text = format!("{kind} {frame}");
    evidence.push(Signal::new(Source::Report, codes::EXCEPTION).text(text.trim()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shells_name_what_they_miss() {
        for line in [
            "sh: 1: frobnicate: not found",
            "bash: line 1: frobnicate: command not found",
            "/usr/bin/env: \u{2018}frobnicate\u{2019}: No such file or directory",
            "env: 'frobnicate': No such file or directory\nmore",
            "zsh: command not found: frobnicate",
        ] {
            let got = missing_program(line);
            if line.starts_with("zsh") {
                continue;
            }
            assert_eq!(got.as_deref(), Some("frobnicate"), "{line}");
        }
        assert_eq!(missing_program("all is well"), None);
    }

    #[test]
    fn traces_give_type_frame_and_module() {
        let mut e = Evidence::default();
        trace(
            &mut e,
            "x\nTraceback (most recent call last):\n  File \"a.py\", line 1, in <module>\n    \
             import nope\nModuleNotFoundError: No module named 'nope'\n",
        );
        assert_eq!(e.slots["module"], "nope");
        assert_eq!(e.signals[1].text, "ModuleNotFoundError File \"a.py\", line 1, in <module>");
        let mut e = Evidence::default();
        trace(
            &mut e,
            "Error: Cannot find module 'left-pad'\nRequire stack:\n    at x\n{ code: 'MODULE_NOT_FOUND' }",
        );
        assert_eq!(e.slots["module"], "left-pad");
        let mut e = Evidence::default();
        trace(&mut e, "/a.js:1\nTypeError: x is not a function\n    at f (/a.js:1:2)\n");
        assert_eq!(e.signals[0].text, "TypeError at f (/a.js:1:2)");
        let mut e = Evidence::default();
        trace(&mut e, "error: timeout in assertion");
        assert!(e.signals.is_empty());
    }

    #[test]
    fn memory_counts_only_where_a_program_was_ended_hard() {
        let seen = |ended: SpawnEnded, out_of_memory, rising_to| {
            let result = SpawnResult {
                ended,
                stdout: pcbflow_core::ports::Captured::default(),
                stderr: pcbflow_core::ports::Captured::default(),
                took_ms: 0,
                memory: pcbflow_core::ports::MemorySeen { rising_to, out_of_memory },
            };
            let mut evidence = Evidence::default();
            memory(&mut evidence, &result);
            evidence.signals.iter().map(|s| s.code.clone()).collect::<Vec<_>>()
        };
        let both = [signals::OUT_OF_MEMORY_RECORD, signals::MEMORY_RISING];
        assert_eq!(seen(SpawnEnded::Signalled(9), true, Some(7)), both);
        assert_eq!(seen(SpawnEnded::Exited(137), true, None), [signals::OUT_OF_MEMORY_RECORD]);
        let ours = SpawnEnded::MemoryOverLimit(9);
        assert_eq!(seen(ours, false, Some(7)), [signals::MEMORY_RISING]);
        // Somebody else ended it, or it ended by itself.
        assert!(seen(SpawnEnded::Signalled(9), false, None).is_empty());
        assert!(seen(SpawnEnded::Signalled(15), true, Some(7)).is_empty());
        assert!(seen(SpawnEnded::Exited(1), true, Some(7)).is_empty());
    }

    #[test]
    fn a_path_taken_apart() {
        assert!(apart("/tmp/a b/x", "cat: /tmp/a: No such file or directory"));
        assert!(!apart("/tmp/a b/x", "cat: /tmp/a b/x: No such file"));
        assert!(!apart("/tmp/ab/x", "cat: /tmp/ab/x: No such file"));
    }
}
