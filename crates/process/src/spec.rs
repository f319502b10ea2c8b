//! What a `process/...` step asks for: its arguments, parsed once, with every fault and remedy.

use std::collections::BTreeMap;

use pcbflow_core::manifest::{CheckSpec, ManifestFault, StepDef};
use serde_json::Value;

use crate::doctor::Least;
use crate::words;

/// Largest memory limit of a step, in MiB.
const MEMORY_MIB_MAX: u64 = 1024 * 1024;

/// Longest quiet limit of a step, in seconds.
const QUIET_S_MAX: u64 = 24 * 3600;

/// What is executed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Work {
    /// Program and arguments.
    Argv(Vec<String>),
    /// A script in the board's root, with arguments; its ending names the interpreter.
    Script {
        /// Path relative to the root.
        path: String,
        /// Arguments.
        args: Vec<String>,
    },
}

/// What the step needs on this computer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Requires {
    /// Tools with the least version, if one is asked for.
    pub tools: Vec<(String, Option<Least>)>,
    /// Lock list in the root: `requirements.txt` or `package-lock.json`.
    pub lock: Option<String>,
    /// Folder of the project's installed packages, relative to the root.
    pub environment: Option<String>,
}

/// A parsed step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandSpec {
    /// What is executed.
    pub work: Work,
    /// The same for other systems: `linux`, `macos`, `windows`.
    pub recipes: BTreeMap<String, Vec<String>>,
    /// Folder to run in, relative to the root (or the board's folder).
    pub cwd: Option<String>,
    /// Variables.
    pub env: BTreeMap<String, String>,
    /// What it needs.
    pub requires: Requires,
    /// Statuses that count as pass.
    pub expect: Vec<i32>,
    /// Statuses that mean findings (checks only).
    pub findings: Vec<i32>,
    /// The last line of standard output is a result envelope.
    pub envelope: bool,
    /// Command that says whether the effect is there: 0 yes, 1 no, anything else unclear.
    pub guard: Vec<String>,
    /// Most resident memory in bytes; 0 = a share of the machine's.
    pub memory_bytes_max: u64,
    /// Longest work without output in milliseconds; 0 = any.
    pub quiet_ms_max: u64,
    /// Most output per stream in bytes; 0 = default.
    pub output_bytes_max: u64,
    /// Size of a batch, for steps that work in batches.
    pub batch: Option<u64>,
}

/// Faults on the way.
struct Faults(Vec<ManifestFault>);

impl Faults {
    fn add(&mut self, path: &str, fault: impl Into<String>, remedy: &str) {
        self.0.push(ManifestFault {
            path: path.to_owned(),
            fault: fault.into(),
            remedy: remedy.to_owned(),
        });
    }
}

impl CommandSpec {
    /// Reads the arguments of a step.
    ///
    /// # Errors
    /// Every fault that was found, with its place and remedy.
    pub fn parse(step: &StepDef) -> Result<CommandSpec, Vec<ManifestFault>> {
        let mut faults = Faults(Vec::new());
        let get = |key: &str| step.with.get(key).filter(|v| !v.is_null());
        let work = work(step, &mut faults);
        let spec = CommandSpec {
            work: work.unwrap_or(Work::Argv(Vec::new())),
            recipes: recipes(get("recipes"), &mut faults),
            cwd: text(get("cwd"), "with.cwd", &mut faults),
            env: env(get("env"), &mut faults),
            requires: requires(get("requires"), &mut faults),
            expect: expect(step, &mut faults),
            findings: statuses(get("findings"), "with.findings", &mut faults).unwrap_or_default(),
            envelope: flag(get("envelope"), "with.envelope", &mut faults),
            guard: get("guard").map_or(Vec::new(), |v| command(v, "with.guard", &mut faults)),
            memory_bytes_max: mib(get("memory_mb"), "with.memory_mb", &mut faults),
            quiet_ms_max: number(get("quiet_s"), "with.quiet_s", &mut faults)
                .unwrap_or(0)
                .min(QUIET_S_MAX)
                * 1000,
            output_bytes_max: mib(get("output_mb"), "with.output_mb", &mut faults),
            batch: number(get("batch"), "with.batch", &mut faults),
        };
        rules(step, &spec, &mut faults);
        if faults.0.is_empty() { Ok(spec) } else { Err(faults.0) }
    }
}

/// Rules that look at more than one argument.
fn rules(step: &StepDef, spec: &CommandSpec, faults: &mut Faults) {
    if step.uses.as_str() == "process/generate" && step.outputs.is_empty() {
        faults.add(
            "outputs",
            "a step of kind 'process/generate' must name what it makes",
            "add outputs: [path/to/file], or use process/command",
        );
    }
    if step.uses.as_str() != "process/check" && !spec.findings.is_empty() {
        faults.add(
            "with.findings",
            "only a step of kind 'process/check' has findings",
            "remove the line, or use process/check",
        );
    }
    match &step.check {
        CheckSpec::ReportClean(_) if !spec.envelope => faults.add(
            "check",
            "a command has no report",
            "use kind: exit, or envelope: true with errors and warnings in the last line",
        ),
        CheckSpec::RegexInFile { path, pattern } => {
            owned(step, path, faults);
            if let Err(why) = crate::checks::expression(pattern) {
                faults.add("check.pattern", why, "write a plainer expression");
            }
        }
        CheckSpec::FileExists { path } => owned(step, path, faults),
        _ => {}
    }
    if let Some(why) =
        (!step.install.is_empty()).then(|| crate::install::argv(step).err()).flatten()
    {
        faults.add("install", why, words::REMEDY);
    }
}

/// A file that proves the step is one that it makes (then an old one counts for nothing) or reads
/// (then a changed one makes it run again). A file that is neither could be of any age.
fn owned(step: &StepDef, path: &str, faults: &mut Faults) {
    let below = |folder: &String| {
        let rest = path.strip_prefix(folder.trim_end_matches('/'));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let fits = |input: &String| match input.split_once('*') {
        Some((front, back)) => {
            let rest = path.strip_prefix(front).unwrap_or("/");
            !rest.contains('/') && rest.ends_with(back.rsplit('*').next().unwrap_or(back))
        }
        None => below(input),
    };
    if !step.outputs.iter().any(below) && !step.inputs().iter().any(fits) {
        faults.add(
            "check.path",
            format!("nobody says whether the step makes or reads {path:?}"),
            "name it under outputs when the step makes it, under inputs when it reads it",
        );
    }
}

fn work(step: &StepDef, faults: &mut Faults) -> Option<Work> {
    let get = |key: &str| step.with.get(key).filter(|v| !v.is_null());
    let named: Vec<&str> =
        ["argv", "run", "script"].into_iter().filter(|k| get(k).is_some()).collect();
    if named.len() != 1 {
        let fault = if named.is_empty() {
            "nothing to run is named".to_owned()
        } else {
            format!("{} are named at once", named.join(" and "))
        };
        faults.add("with", fault, "write exactly one of argv, run and script");
        return None;
    }
    let args = get("args").map_or(Some(Vec::new()), |v| list(v, "with.args", faults))?;
    if !args.is_empty() && get("script").is_none() {
        faults.add("with.args", "args belong to script", "add them to argv");
    }
    match (get("argv"), get("script")) {
        (Some(value), _) => list(value, "with.argv", faults)
            .filter(|l| named_program(l, "with.argv", faults))
            .map(Work::Argv),
        (_, Some(value)) => {
            let path = text(Some(value), "with.script", faults)?;
            if let Some(why) = pcbflow_core::manifest::path_fault(&path) {
                faults.add(
                    "with.script",
                    format!("{path:?} {why}"),
                    "use a path inside the board's folder, with '/'",
                );
                return None;
            }
            Some(Work::Script { path, args })
        }
        _ => get("run").map(|v| Work::Argv(command(v, "with.run", faults))),
    }
}

/// A command as a list or as one string.
fn command(value: &Value, path: &str, faults: &mut Faults) -> Vec<String> {
    let Value::String(line) = value else {
        let words = list(value, path, faults).unwrap_or_default();
        named_program(&words, path, faults);
        return words;
    };
    match words::split(line) {
        Ok(words) => words,
        Err(fault) => {
            faults.add(path, fault.to_string(), words::REMEDY);
            Vec::new()
        }
    }
}

fn named_program(words: &[String], path: &str, faults: &mut Faults) -> bool {
    let named = words.first().is_some_and(|w| !w.is_empty());
    if !named {
        faults.add(path, "the command is empty", "name a program first");
    }
    named
}

fn list(value: &Value, path: &str, faults: &mut Faults) -> Option<Vec<String>> {
    let Value::Array(items) = value else {
        faults.add(path, "is not a list", words::REMEDY);
        return None;
    };
    let mut out = Vec::new();
    for (at, item) in items.iter().enumerate() {
        match item {
            Value::String(s) if s.contains('\0') => {
                faults.add(&format!("{path}[{at}]"), "holds a NUL character", "remove it");
            }
            Value::String(s) => out.push(s.clone()),
            Value::Number(n) => out.push(n.to_string()),
            Value::Bool(b) => out.push(b.to_string()),
            _ => faults.add(&format!("{path}[{at}]"), "is not a text", "write it as a text"),
        }
    }
    (out.len() == items.len()).then_some(out)
}

fn text(value: Option<&Value>, path: &str, faults: &mut Faults) -> Option<String> {
    match value? {
        Value::String(s) if !s.is_empty() => Some(s.clone()),
        _ => {
            faults.add(path, "is not a text", "write a text");
            None
        }
    }
}

fn flag(value: Option<&Value>, path: &str, faults: &mut Faults) -> bool {
    match value {
        None => false,
        Some(Value::Bool(b)) => *b,
        Some(_) => {
            faults.add(path, "is neither true nor false", "write true or false");
            false
        }
    }
}

fn number(value: Option<&Value>, path: &str, faults: &mut Faults) -> Option<u64> {
    let number = value?.as_u64().filter(|n| *n > 0);
    if number.is_none() {
        faults.add(path, "is not a number above 0", "write a whole number");
    }
    number
}

fn mib(value: Option<&Value>, path: &str, faults: &mut Faults) -> u64 {
    number(value, path, faults).unwrap_or(0).min(MEMORY_MIB_MAX) * 1024 * 1024
}

fn statuses(value: Option<&Value>, path: &str, faults: &mut Faults) -> Option<Vec<i32>> {
    let one = |v: &Value| v.as_i64().and_then(|n| i32::try_from(n).ok());
    let list = match value? {
        Value::Array(items) => items.iter().map(one).collect::<Option<Vec<i32>>>(),
        other => one(other).map(|n| vec![n]),
    };
    match list {
        Some(list) if !list.is_empty() => Some(list),
        _ => {
            faults.add(path, "is no list of exit statuses", "write numbers: [0, 2]");
            None
        }
    }
}

/// The statuses that count as pass: the check's, the argument's, or 0. Never a silent default
/// beside something unreadable.
fn expect(step: &StepDef, faults: &mut Faults) -> Vec<i32> {
    let value = step.with.get("expect").filter(|v| !v.is_null());
    if let CheckSpec::Exit { expect } = &step.check {
        if value.is_some() {
            faults.add("with.expect", "the check names the statuses already", "remove one of both");
        }
        return expect.clone();
    }
    match value {
        None => vec![0],
        some => statuses(some, "with.expect", faults).unwrap_or_default(),
    }
}

fn env(value: Option<&Value>, faults: &mut Faults) -> BTreeMap<String, String> {
    let mut out = BTreeMap::new();
    let Some(value) = value else { return out };
    let Value::Object(map) = value else {
        faults.add("with.env", "is not a map", "write NAME: value lines");
        return out;
    };
    for (name, value) in map {
        let path = format!("with.env.{name}");
        if name.is_empty() || name.contains(['=', '\0']) || name.starts_with("PCBFLOW_") {
            faults.add(&path, "is no name for a variable here", "choose another name");
            continue;
        }
        let text = match value {
            Value::String(s) if !s.contains('\0') => s.clone(),
            Value::Number(n) => n.to_string(),
            Value::Bool(b) => b.to_string(),
            _ => {
                faults.add(&path, "is not a text", "write a text");
                continue;
            }
        };
        out.insert(name.clone(), text);
    }
    out
}

fn recipes(value: Option<&Value>, faults: &mut Faults) -> BTreeMap<String, Vec<String>> {
    let mut out = BTreeMap::new();
    let Some(value) = value else { return out };
    let Value::Object(map) = value else {
        faults.add("with.recipes", "is not a map", "write linux: [program, argument]");
        return out;
    };
    for (system, value) in map {
        let path = format!("with.recipes.{system}");
        if !["linux", "macos", "windows"].contains(&system.as_str()) {
            faults.add(&path, "is no system", "use linux, macos or windows");
            continue;
        }
        out.insert(system.clone(), command(value, &path, faults));
    }
    out
}

fn requires(value: Option<&Value>, faults: &mut Faults) -> Requires {
    let mut out = Requires::default();
    let Some(value) = value else { return out };
    let Value::Object(map) = value else {
        faults.add("with.requires", "is not a map", "write node: \">=18\" or tools: [git]");
        return out;
    };
    for (key, value) in map {
        let path = format!("with.requires.{key}");
        match key.as_str() {
            "tools" => {
                let tools = list(value, &path, faults).unwrap_or_default();
                out.tools.extend(tools.into_iter().map(|t| (t, None)));
            }
            "lock" => out.lock = text(Some(value), &path, faults),
            "environment" => out.environment = text(Some(value), &path, faults),
            tool => match value.as_str().map(str::parse::<Least>) {
                Some(Ok(least)) => out.tools.push((tool.to_owned(), Some(least))),
                _ => faults.add(&path, "is no version range", "write \">=18\" or \">=3.9\""),
            },
        }
    }
    for (key, path) in [("lock", &out.lock), ("environment", &out.environment)] {
        if let Some(why) = path.as_deref().and_then(pcbflow_core::manifest::path_fault) {
            faults.add(
                &format!("with.requires.{key}"),
                why,
                "use a path inside the board's folder, with '/'",
            );
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use pcbflow_core::ids::{KindName, StepId};
    use serde_json::json;

    use super::*;

    fn step(uses: &str, with: Value) -> StepDef {
        let Value::Object(map) = with else { panic!("a map is wanted") };
        StepDef {
            id: StepId::new("s").unwrap(),
            uses: KindName::new(uses).unwrap(),
            with: map.into_iter().collect(),
            check: CheckSpec::Own,
            safety: None,
            timeout_ms: None,
            needs: vec![],
            inputs: None,
            outputs: vec![],
            install: vec![],
            systems: vec![],
        }
    }

    #[test]
    fn both_forms_give_the_same() {
        let a = CommandSpec::parse(&step("process/command", json!({"run": "a 'b c'"}))).unwrap();
        let b = CommandSpec::parse(&step("process/command", json!({"argv": ["a", "b c"]})));
        assert_eq!(a, b.unwrap());
        assert_eq!(a.expect, [0]);
    }

    #[test]
    fn faults_have_a_place_and_a_remedy() {
        let cases = [
            (json!({}), "with"),
            (json!({"argv": ["a"], "run": "a"}), "with"),
            (json!({"argv": []}), "with.argv"),
            (json!({"argv": "a b"}), "with.argv"),
            (json!({"argv": [""]}), "with.argv"),
            (json!({"argv": ["a", null]}), "with.argv[1]"),
            (json!({"run": ""}), "with.run"),
            (json!({"run": "a | b"}), "with.run"),
            (json!({"script": "../x.py"}), "with.script"),
            (json!({"argv": ["a"], "args": ["b"]}), "with.args"),
            (json!({"argv": ["a"], "expect": "one"}), "with.expect"),
            (json!({"argv": ["a"], "expect": []}), "with.expect"),
            (json!({"argv": ["a"], "env": {"PCBFLOW_X": "1"}}), "with.env.PCBFLOW_X"),
            (json!({"argv": ["a"], "envelope": "yes"}), "with.envelope"),
            (json!({"argv": ["a"], "requires": {"node": "new"}}), "with.requires.node"),
            (json!({"argv": ["a"], "findings": [1]}), "with.findings"),
            (json!({"argv": ["a"], "recipes": {"bsd": ["a"]}}), "with.recipes.bsd"),
        ];
        for (with, path) in cases {
            let faults = CommandSpec::parse(&step("process/command", with.clone())).unwrap_err();
            assert_eq!(faults[0].path, path, "{with} {faults:?}");
            assert!(!faults[0].remedy.is_empty());
        }
        let run = CommandSpec::parse(&step("process/command", json!({"run": "a $B"}))).unwrap_err();
        assert!(run[0].remedy.contains("argv: ["), "{run:?}");
        let none = CommandSpec::parse(&step("process/generate", json!({"argv": ["a"]})));
        assert_eq!(none.unwrap_err()[0].path, "outputs");
    }
}
