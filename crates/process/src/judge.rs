//! From a program that ran to the observation of an attempt.

use pcbflow_core::check::{CheckOutcome, CheckResult, Counts, Finding, FindingSeverity, Limits};
use pcbflow_core::event::Ended;
use pcbflow_core::evidence::{Evidence, Signal, Source, codes, program_name};
use pcbflow_core::manifest::CheckSpec;
use pcbflow_core::ports::{
    Captured, Observation, Services, SpawnEnded, SpawnRequest, SpawnResult, StepContext, StepResult,
};
use pcbflow_core::redact::arguments;
use pcbflow_core::text::one_line;
use serde_json::Value;

use crate::outputs::Before;
use crate::spec::CommandSpec;
use crate::{checks, observe, outputs, prepare, signals};

/// The observation of an attempt whose program ran, or could not be started.
pub fn judge(
    spec: &CommandSpec,
    context: &StepContext,
    services: &Services,
    request: &SpawnRequest,
    result: SpawnResult,
    before: &Before,
) -> Observation {
    let judged = verdict(spec, context, services, request, &result, before);
    let (step_result, made) = match judged {
        Ok((check, made)) => (StepResult::Checked(check), made),
        Err(evidence) => {
            let (dir, names) = (&context.board_dir, &context.step.outputs);
            (StepResult::Failed(*evidence), outputs::present(dir, names, &*services.digests))
        }
    };
    let program = request.argv.first().map_or("", |p| program_name(p)).to_owned();
    let blobs = [&result.stdout, &result.stderr].into_iter().filter_map(|c| c.blob.clone());
    Observation {
        ended: match result.ended {
            SpawnEnded::Cancelled => Ended::Stopped,
            // We ended it in the middle of its work, so what it did is unknown.
            SpawnEnded::DeadlinePassed
            | SpawnEnded::OutputEndless
            | SpawnEnded::BusyWithoutOutput(_)
            | SpawnEnded::MemoryOverLimit(_) => Ended::DeadlinePassed,
            SpawnEnded::NotFound | SpawnEnded::Denied => Ended::NotStarted,
            SpawnEnded::Exited(_) | SpawnEnded::Signalled(_) | SpawnEnded::Failed(_) => {
                Ended::Returned
            }
        },
        argv: recorded(&request.argv),
        tool: program.clone(),
        exit: result.status(),
        signal: match result.ended {
            SpawnEnded::Signalled(signal) => Some(signal),
            _ => None,
        },
        outputs: made,
        blobs: blobs.collect(),
        summary: summary(&program, &result.ended),
        stdout: result.stdout,
        stderr: result.stderr,
        ..Observation::of(step_result)
    }
}

/// The arguments as they may be recorded.
fn recorded(argv: &[String]) -> Vec<String> {
    let home = std::env::var("HOME").or_else(|_| std::env::var("USERPROFILE")).ok();
    arguments(argv, home.as_deref()).shown
}

fn summary(program: &str, ended: &SpawnEnded) -> String {
    match ended {
        SpawnEnded::Exited(status) => format!("{program} ended with status {status}"),
        SpawnEnded::Signalled(signal) => format!("{program} was ended by signal {signal}"),
        SpawnEnded::DeadlinePassed => format!("{program} did not end in its time"),
        SpawnEnded::Cancelled => format!("{program} was stopped"),
        SpawnEnded::OutputEndless => format!("{program} wrote without end"),
        SpawnEnded::MemoryOverLimit(bytes) => format!("{program} took {bytes} bytes of memory"),
        SpawnEnded::BusyWithoutOutput(ms) => {
            format!("{program} worked for {ms} ms without a word")
        }
        SpawnEnded::NotFound => format!("{program} is not there"),
        SpawnEnded::Denied => format!("{program} may not be started"),
        SpawnEnded::Failed(why) => format!("{program} could not be started: {why}"),
    }
}

type Verdict = Result<(CheckResult, Vec<pcbflow_core::event::OutputRef>), Box<Evidence>>;

fn verdict(
    spec: &CommandSpec,
    context: &StepContext,
    services: &Services,
    request: &SpawnRequest,
    result: &SpawnResult,
    before: &Before,
) -> Verdict {
    let is_check = context.step.uses.as_str() == "process/check";
    let fail = |more: Vec<Signal>| {
        let mut evidence = prepare::evidence(context, request.argv.first().map_or("", |p| p));
        more.into_iter().for_each(|signal| evidence.push(signal));
        observe::words(&mut evidence, result);
        Box::new(evidence)
    };
    match result.status() {
        Some(status) if spec.findings.contains(&status) => {
            let reason = format!("ended with status {status}, which says that it found something");
            let check = CheckResult::fail(name(&context.step.check), &reason);
            return Ok((as_finding(check, request, result), Vec::new()));
        }
        Some(status) if spec.expect.contains(&status) => {}
        _ => return Err(Box::new(observe::failure(context, request, result))),
    }
    let envelope = match spec.envelope.then(|| envelope(&result.stdout, services)) {
        None => None,
        Some(Ok(value)) => Some(value),
        Some(Err(why)) => {
            let signal = Signal::new(Source::Report, codes::ENVELOPE_FAILED).text(&why);
            return Err(fail(vec![signal]));
        }
    };
    let (dir, declared) = (&context.board_dir, &context.step.outputs);
    let made = outputs::prove(dir, declared, before, &*services.digests).map_err(&fail)?;
    let check = match &context.step.check {
        CheckSpec::ReportClean(limits) => counted(envelope.as_ref(), *limits),
        spec => {
            checks::observe(spec, dir, result.status()).unwrap_or_else(|| CheckResult::pass("exit"))
        }
    };
    if check.outcome == CheckOutcome::Fail && !is_check {
        let unmet = Signal::new(Source::Report, signals::POST_CONDITION_UNMET);
        return Err(fail(vec![unmet.text(&format!("{}: {}", check.name, check.reason))]));
    }
    Ok((as_finding(check, request, result), made))
}

/// Most characters of a program's last words in a finding.
const LAST_WORDS_CHARS_MAX: usize = 200;

/// A failed check whose program counts nothing has found one thing: that is what a person reads,
/// with the last words of the program.
fn as_finding(check: CheckResult, request: &SpawnRequest, result: &SpawnResult) -> CheckResult {
    if check.outcome != CheckOutcome::Fail || check.counts != Counts::default() {
        return check;
    }
    let program = request.argv.first().map_or("the program", |p| program_name(p));
    let last = |c: &Captured| {
        let line = c.text.lines().rev().find(|l| !l.trim().is_empty())?;
        Some(one_line(line).chars().take(LAST_WORDS_CHARS_MAX).collect::<String>())
    };
    let said = last(&result.stdout).or_else(|| last(&result.stderr));
    let said = said.map_or_else(String::new, |words| format!(": {words}"));
    let finding = Finding {
        id: check.name.clone(),
        engine: program.to_owned(),
        rule: check.name.clone(),
        severity: FindingSeverity::Error,
        message: format!("{program}: {}{said}", check.reason),
        items: Vec::new(),
        excluded: None,
        apart: false,
    };
    let findings = vec![finding];
    CheckResult { counts: Counts::of(&findings), findings, ..check }
}

fn name(check: &CheckSpec) -> &'static str {
    match check {
        CheckSpec::Own | CheckSpec::Exit { .. } => "exit",
        CheckSpec::ReportClean(_) => "report_clean",
        CheckSpec::FileExists { .. } => "file_exists",
        CheckSpec::FileSha256 { .. } => "file_sha256",
        CheckSpec::RegexInFile { .. } => "regex_in_file",
    }
}

/// The result envelope in the last line of standard output, when it says ok.
///
/// # Errors
/// What it says instead, or that there is none.
fn envelope(stdout: &Captured, services: &Services) -> Result<Value, String> {
    let whole = stdout.blob.as_ref().and_then(|b| services.blobs.get(&b.digest).ok());
    let whole = whole.map(|b| String::from_utf8_lossy(&b).into_owned());
    let text = whole.as_deref().unwrap_or(&stdout.text);
    let line = text.lines().rev().find(|l| !l.trim().is_empty()).unwrap_or("");
    let value: Value = serde_json::from_str(line.trim())
        .map_err(|_| "the last line of the output is no result".to_owned())?;
    match value.get("ok") {
        Some(Value::Bool(true)) => Ok(value),
        Some(Value::Bool(false)) => {
            let why = value.get("err").or_else(|| value.get("error"));
            Err(why.map_or("ok: false".to_owned(), |e| match e {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            }))
        }
        _ => Err("the result does not say ok: true or ok: false".to_owned()),
    }
}

/// Numbers of findings in an envelope against limits. Numbers that are not there are not zero.
fn counted(envelope: Option<&Value>, limits: Limits) -> CheckResult {
    let name = "report_clean";
    let number = |key: &str| {
        let inner = envelope.and_then(|e| e.get("v")).and_then(|v| v.get(key));
        let value = inner.or_else(|| envelope.and_then(|e| e.get(key)))?;
        u32::try_from(value.as_u64()?).ok()
    };
    let (Some(errors), Some(warnings)) = (number("errors"), number("warnings")) else {
        return CheckResult::could_not_run(name, "the result names no errors and warnings");
    };
    let counts = Counts { errors, warnings, ..Counts::default() };
    let within = limits.errors.allows(errors) && limits.warnings.allows(warnings);
    let result = if within {
        CheckResult::pass(name)
    } else {
        CheckResult::fail(name, &format!("{errors} errors, {warnings} warnings"))
    };
    CheckResult { counts, ..result }
}
