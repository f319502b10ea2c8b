//! The engineer's file in domain terms: board, phases, steps. Reading YAML is the business of
//! the `checkpoint` crate; what makes a manifest valid is decided here.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::check::Limits;
use crate::ids::{BoardName, Digest, KindName, PhaseId, StepId};

/// Most phases of a board.
pub const PHASES_MAX: usize = 64;
/// Most steps of a phase.
pub const STEPS_MAX: usize = 500;
/// Id of the step that pcbflow adds to the end of each phase to commit its outputs.
pub const COMMIT_STEP: &str = "commit outputs";
/// How what stands in for a commit begins, where the person said no to a history.
pub const SNAPSHOT_COMMIT: &str = "snapshot:";
/// Longest deadline of a step, in milliseconds (24 h).
pub const DEADLINE_MS_MAX: u64 = 24 * 3600 * 1000;

/// What may be repeated. Declared from the freest to the strictest; a manifest may only make a
/// kind's class stricter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Safety {
    /// Changes nothing: freely repeated within the budget.
    ReadOnly,
    /// Repeating gives the same result: freely repeated within the budget.
    Idempotent,
    /// The guard is asked first whether the effect is already there.
    Guarded,
    /// Act once, read back; repeated only when the read-back proves that nothing landed.
    Once,
    /// Money, orders, pushes, public words: never without a person's recorded go-ahead.
    Publish,
}

impl Safety {
    /// Whether a repetition needs no proof.
    #[must_use]
    pub fn freely_repeated(self) -> bool {
        matches!(self, Safety::ReadOnly | Safety::Idempotent)
    }

    /// The word in manifests.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Safety::ReadOnly => "read_only",
            Safety::Idempotent => "idempotent",
            Safety::Guarded => "guarded",
            Safety::Once => "once",
            Safety::Publish => "publish",
        }
    }
}

/// The objective observation that proves a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum CheckSpec {
    /// The kind's own check with default limits.
    Own,
    /// A report within limits.
    ReportClean(Limits),
    /// The command's exit status.
    Exit {
        /// Statuses that count as pass; never empty.
        expect: Vec<i32>,
    },
    /// A file exists and is not empty.
    FileExists {
        /// Path relative to the board's folder.
        path: String,
    },
    /// A file has this digest.
    FileSha256 {
        /// Path relative to the board's folder.
        path: String,
        /// 64 hex digits.
        expect: String,
    },
    /// A regular expression matches in a file.
    RegexInFile {
        /// Path relative to the board's folder.
        path: String,
        /// The expression.
        pattern: String,
    },
}

/// One step as the engineer wrote it, defaults filled in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepDef {
    /// Its id within the phase.
    pub id: StepId,
    /// Its kind.
    pub uses: KindName,
    /// Arguments of the kind.
    pub with: BTreeMap<String, Value>,
    /// Its check.
    pub check: CheckSpec,
    /// A stricter safety class than the kind's.
    pub safety: Option<Safety>,
    /// Its deadline in milliseconds; the kind's own rule without it.
    pub timeout_ms: Option<u64>,
    /// Steps of the same phase that must be done first.
    pub needs: Vec<StepId>,
    /// More input files, folders or globs than the kind knows itself, relative to the board's root;
    /// `None` when the engineer said nothing about them.
    pub inputs: Option<Vec<String>>,
    /// Files that the step makes, relative to the board's folder.
    pub outputs: Vec<String>,
    /// Command that installs what the step needs, run at most once in the project's folder.
    pub install: Vec<String>,
    /// Operating systems on which it runs (`linux`, `macos`, `windows`); empty = all.
    pub systems: Vec<String>,
}

impl StepDef {
    /// Digest of the definition: everything the engineer wrote about this step. Made of bytes
    /// that this function writes itself, so that no serialiser setting can change it.
    #[must_use]
    pub fn digest(&self) -> Digest {
        let mut out = String::from("pcbflow step v1\n");
        let mut line = |key: &str, value: &str| {
            out.push_str(&format!("{key} {} {value}\n", value.len()));
        };
        line("id", self.id.as_str());
        line("uses", self.uses.as_str());
        for (key, value) in &self.with {
            line("with", key);
            line("value", &canonical(value));
        }
        line("check", &format!("{:?}", self.check));
        line("safety", self.safety.map_or("", Safety::word));
        line("timeout", &format!("{:?}", self.timeout_ms));
        for need in &self.needs {
            line("needs", need.as_str());
        }
        for (key, list) in [
            ("input", self.inputs()),
            ("output", &self.outputs),
            ("install", &self.install),
            ("system", &self.systems),
        ] {
            for item in list {
                line(key, item);
            }
        }
        Digest::of(out.as_bytes())
    }

    /// The declared inputs; none when nothing was said.
    #[must_use]
    pub fn inputs(&self) -> &[String] {
        self.inputs.as_deref().unwrap_or_default()
    }

    /// A text argument of the kind.
    #[must_use]
    pub fn arg_str(&self, key: &str) -> Option<&str> {
        self.with.get(key).and_then(Value::as_str)
    }
}

/// JSON with sorted keys, written by ourselves.
#[must_use]
pub fn canonical(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let sorted: BTreeMap<&String, &Value> = map.iter().collect();
            let parts: Vec<String> = sorted
                .iter()
                .map(|(k, v)| format!("{}:{}", Value::String((*k).clone()), canonical(v)))
                .collect();
            format!("{{{}}}", parts.join(","))
        }
        Value::Array(list) => {
            let parts: Vec<String> = list.iter().map(canonical).collect();
            format!("[{}]", parts.join(","))
        }
        other => other.to_string(),
    }
}

/// One phase.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseDef {
    /// Its id, `NN-name`.
    pub id: PhaseId,
    /// Its steps; may be empty (a phase that is not used yet is passed over and says so).
    pub steps: Vec<StepDef>,
}

/// A board's manifest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The board.
    pub board: BoardName,
    /// Where the board's files lie, relative to the manifest's folder; the folder itself without.
    pub root: Option<String>,
    /// Facts about the board that the engineer noted down.
    pub facts: BTreeMap<String, Value>,
    /// The phases, in order.
    pub phases: Vec<PhaseDef>,
}

/// What is wrong with a manifest: a place in it, the fault, and the remedy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManifestFault {
    /// Path to the place, such as `phases[1].steps[0].needs[2]`.
    pub path: String,
    /// What is wrong.
    pub fault: String,
    /// What to write instead.
    pub remedy: String,
}

/// What a step kind says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KindInfo {
    /// Its name, `subsystem/verb`.
    pub name: &'static str,
    /// What it does, one sentence.
    pub about: &'static str,
    /// Its safety class.
    pub safety: Safety,
    /// Deadline in milliseconds when neither manifest nor rule says otherwise.
    pub timeout_ms: u64,
    /// Arguments: name, whether it is needed, what it is.
    pub args: &'static [(&'static str, bool, &'static str)],
    /// It only looks: `pcbflow check` runs it.
    pub is_check: bool,
    /// Whether engineers may use it in manifests (the commit step is pcbflow's own).
    pub public: bool,
}

/// The fault of a step whose `check` its kind does not make: a check that nobody makes must not look
/// made. `report` says whether the kind counts findings.
#[must_use]
pub fn unmade_check(step: &StepDef, report: bool) -> Option<ManifestFault> {
    let made = match step.check {
        CheckSpec::Own => true,
        CheckSpec::ReportClean(_) => report,
        _ => false,
    };
    let remedy = if report {
        "use kind: report_clean, or make the other check in a step of kind 'process/check'"
    } else {
        "remove it, or make it in a step of kind 'process/check'"
    };
    (!made).then(|| ManifestFault {
        path: "check".to_owned(),
        fault: format!("a step of kind '{}' does not make this check", step.uses),
        remedy: remedy.to_owned(),
    })
}

/// All faults of a manifest against the kinds that exist; empty when it is valid.
#[must_use]
pub fn faults(manifest: &Manifest, kinds: &[KindInfo]) -> Vec<ManifestFault> {
    let mut found = Vec::new();
    let mut add = |path: String, fault: String, remedy: String| {
        found.push(ManifestFault { path, fault, remedy });
    };
    if manifest.phases.is_empty() {
        add(
            "phases".into(),
            "there are no phases".into(),
            "add at least one phase with a step".into(),
        );
    }
    if manifest.phases.len() > PHASES_MAX {
        add(
            "phases".into(),
            format!("{} phases", manifest.phases.len()),
            format!("at most {PHASES_MAX} are allowed"),
        );
    }
    let mut seen = BTreeSet::new();
    for (p, phase) in manifest.phases.iter().enumerate() {
        let at = format!("phases[{p}]");
        if !seen.insert(&phase.id) {
            add(
                format!("{at}.id"),
                format!("phase {} is there twice", phase.id),
                "give each phase its own id".into(),
            );
        }
        if phase.steps.len() > STEPS_MAX {
            add(
                format!("{at}.steps"),
                format!("{} steps", phase.steps.len()),
                format!("at most {STEPS_MAX} are allowed"),
            );
        }
        for fault in phase_faults(phase, &at, kinds) {
            add(fault.path, fault.fault, fault.remedy);
        }
    }
    found.extend(shared_outputs(manifest));
    found
}

/// Outputs that two steps make: each is undone by the other, and what is committed is not what was
/// checked. Told at the later step.
fn shared_outputs(manifest: &Manifest) -> Vec<ManifestFault> {
    let mut found = Vec::new();
    // The parts of each output, as a path is read: `./o` and `o` are one file.
    let mut made: BTreeMap<Vec<&str>, &StepDef> = BTreeMap::new();
    for (p, phase) in manifest.phases.iter().enumerate() {
        for (s, step) in phase.steps.iter().enumerate() {
            let outputs = step.outputs.iter().filter(|o| path_fault(o).is_none());
            let own: Vec<(&String, Vec<&str>)> = outputs
                .map(|o| (o, o.split(['/', '\\']).filter(|w| !matches!(*w, "" | ".")).collect()))
                .collect();
            for (output, parts) in &own {
                let above = (0..=parts.len()).find_map(|n| made.get(parts.get(..n)?));
                // Paths sort by their parts: what lies below follows at once.
                let below = made.range(parts.clone()..).next();
                let below = below.filter(|(o, _)| o.starts_with(parts)).map(|(_, step)| step);
                if let Some(other) = above.or(below) {
                    found.push(ManifestFault {
                        path: format!("phases[{p}].steps[{s}].outputs"),
                        fault: format!("{output:?} is made by step '{}' too", other.id),
                        remedy: "give each step outputs of its own, none inside another's".into(),
                    });
                }
            }
            for (_, parts) in own {
                made.entry(parts).or_insert(step);
            }
        }
    }
    found
}

fn phase_faults(phase: &PhaseDef, at: &str, kinds: &[KindInfo]) -> Vec<ManifestFault> {
    let mut found = Vec::new();
    let ids: BTreeSet<&StepId> = phase.steps.iter().map(|s| &s.id).collect();
    let mut seen = BTreeSet::new();
    for (s, step) in phase.steps.iter().enumerate() {
        let at = format!("{at}.steps[{s}]");
        let mut add = |path: String, fault: String, remedy: String| {
            found.push(ManifestFault { path, fault, remedy });
        };
        if !seen.insert(&step.id) {
            add(
                format!("{at}.id"),
                format!("step '{}' is there twice in its phase", step.id),
                "give each step of a phase its own id".into(),
            );
        }
        if step.id.as_str() == COMMIT_STEP {
            add(
                format!("{at}.id"),
                format!("the id '{COMMIT_STEP}' is pcbflow's own"),
                "choose another id".into(),
            );
        }
        for (n, need) in step.needs.iter().enumerate() {
            if !ids.contains(need) {
                add(
                    format!("{at}.needs[{n}]"),
                    format!("step '{}' needs '{need}', which is not in this phase", step.id),
                    near(
                        "name one of this phase's steps",
                        need.as_str(),
                        ids.iter().map(|i| i.as_str()),
                    ),
                );
            }
        }
        if step.timeout_ms.is_some_and(|ms| ms == 0 || ms > DEADLINE_MS_MAX) {
            add(
                format!("{at}.timeout"),
                "the time limit is out of range".into(),
                "use more than 0 s and at most 24h".into(),
            );
        }
        step_faults(step, &at, kinds, &mut add);
    }
    if let Some(cycle) = cycle(phase) {
        found.push(ManifestFault {
            path: format!("{at}.steps"),
            fault: format!("the steps wait for each other: {}", cycle.join(" -> ")),
            remedy: "remove one of these needs".into(),
        });
    }
    found
}

fn step_faults(
    step: &StepDef,
    at: &str,
    kinds: &[KindInfo],
    add: &mut dyn FnMut(String, String, String),
) {
    match kinds.iter().find(|k| k.name == step.uses.as_str() && k.public) {
        None => add(
            format!("{at}.uses"),
            format!("there is no step kind '{}'", step.uses),
            near(
                "see 'pcbflow schema kinds' for the list",
                step.uses.as_str(),
                kinds.iter().filter(|k| k.public).map(|k| k.name),
            ),
        ),
        Some(kind) => {
            if step.safety.is_some_and(|s| s < kind.safety) {
                add(
                    format!("{at}.safety"),
                    format!(
                        "{} is {}, a manifest may only make it stricter",
                        kind.name,
                        kind.safety.word()
                    ),
                    format!("remove the line or use a class from {} on", kind.safety.word()),
                );
            }
            for (name, needed, about) in kind.args {
                if *needed && !step.with.contains_key(*name) {
                    add(
                        format!("{at}.with"),
                        format!("'{}' needs '{name}'", kind.name),
                        format!("add {name}: {about}"),
                    );
                }
            }
            for key in step.with.keys() {
                if !kind.args.iter().any(|(name, ..)| name == key) {
                    add(
                        format!("{at}.with.{key}"),
                        format!("'{}' knows no '{key}'", kind.name),
                        near("remove it", key, kind.args.iter().map(|a| a.0)),
                    );
                }
            }
        }
    }
    let paths = step
        .outputs
        .iter()
        .map(|p| ("outputs", p))
        .chain(step.inputs().iter().map(|p| ("inputs", p)));
    for (key, path) in paths {
        if let Some(fault) = path_fault(path) {
            add(
                format!("{at}.{key}"),
                format!("{path:?} {fault}"),
                "use a path inside the board's folder, with '/'".into(),
            );
        }
    }
}

/// Why a path written in a manifest is refused, if it is. Links are the business of those who
/// open the file.
#[must_use]
pub fn path_fault(path: &str) -> Option<&'static str> {
    if path.is_empty() {
        return Some("is empty");
    }
    if path.contains('\0') || path.chars().any(char::is_control) {
        return Some("has a control code");
    }
    if path.starts_with('/') || path.starts_with('\\') || path.chars().nth(1) == Some(':') {
        return Some("is not relative");
    }
    if path.split(['/', '\\']).any(|part| part == "..") {
        return Some("leaves the board's folder");
    }
    if path.split(['/', '\\']).any(|part| part.eq_ignore_ascii_case(".git")) {
        return Some("lies in git's own folder");
    }
    None
}

fn near<'a>(otherwise: &str, word: &str, known: impl Iterator<Item = &'a str>) -> String {
    match nearest(word, known) {
        Some(best) => format!("did you mean '{best}'?"),
        None => otherwise.to_owned(),
    }
}

/// The known word that is most like `word`, if one is near enough (a third of its length).
#[must_use]
pub fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
    let limit = (word.chars().count() / 3).max(1);
    known
        .map(|k| (edit_distance(word, k), k))
        .filter(|(d, _)| *d <= limit)
        .min()
        .map(|(_, k)| k.to_owned())
}

fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().take(200).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().take(200).enumerate() {
        let mut left = i + 1;
        let mut diagonal = i;
        for (j, cb) in b.iter().enumerate() {
            let up = row.get(j + 1).copied().unwrap_or(usize::MAX);
            let cost = (diagonal + usize::from(ca != *cb)).min(up + 1).min(left + 1);
            diagonal = up;
            if let Some(cell) = row.get_mut(j) {
                *cell = left;
            }
            left = cost;
        }
        if let Some(cell) = row.last_mut() {
            *cell = left;
        }
    }
    row.last().copied().unwrap_or(0)
}

/// A cycle in the needs of a phase's steps, as the ids along it, if there is one.
#[must_use]
pub fn cycle(phase: &PhaseDef) -> Option<Vec<String>> {
    let mut done: BTreeSet<&StepId> = BTreeSet::new();
    // Peel off steps whose needs are all done; what remains is or hangs on a cycle. Ends when a
    // round peels nothing, at the latest after one round a step.
    loop {
        let ready: Vec<&StepId> = phase
            .steps
            .iter()
            .filter(|s| !done.contains(&s.id))
            .filter(|s| {
                s.needs.iter().all(|n| done.contains(n) || !phase.steps.iter().any(|t| t.id == *n))
            })
            .map(|s| &s.id)
            .collect();
        if ready.is_empty() {
            break;
        }
        done.extend(ready);
    }
    let start = phase.steps.iter().find(|s| !done.contains(&s.id))?;
    let mut path: Vec<&StepId> = vec![&start.id];
    // Each step along the way has an open need, so within `steps + 1` moves one repeats.
    for _ in 0..=phase.steps.len() {
        let last = path.last()?;
        let step = phase.steps.iter().find(|s| s.id == **last)?;
        let next = step.needs.iter().find(|n| !done.contains(n))?;
        if let Some(at) = path.iter().position(|id| *id == next) {
            let mut names: Vec<String> = path.iter().skip(at).map(|i| i.to_string()).collect();
            names.push(next.to_string());
            return Some(names);
        }
        path.push(next);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(crate) fn step(id: &str, needs: &[&str]) -> StepDef {
        StepDef {
            id: StepId::new(id).unwrap(),
            uses: KindName::new("process/command").unwrap(),
            with: BTreeMap::new(),
            check: CheckSpec::Own,
            safety: None,
            timeout_ms: None,
            needs: needs.iter().map(|n| StepId::new(*n).unwrap()).collect(),
            inputs: None,
            outputs: vec![],
            install: vec![],
            systems: vec![],
        }
    }

    #[test]
    fn cycles_are_named() {
        let phase = PhaseDef {
            id: PhaseId::new("01-x").unwrap(),
            steps: vec![step("a", &["c"]), step("b", &["a"]), step("c", &["b"]), step("d", &["a"])],
        };
        assert_eq!(cycle(&phase).unwrap(), ["a", "c", "b", "a"]);
        let fine = PhaseDef { steps: vec![step("a", &[]), step("b", &["a"])], ..phase };
        assert_eq!(cycle(&fine), None);
    }

    #[test]
    fn no_two_steps_make_the_same_output() {
        let shared = |first: &[&str], second: &[&str], phases: bool| {
            let make = |id: &str, outputs: &[&str]| StepDef {
                outputs: outputs.iter().map(|o| (*o).to_owned()).collect(),
                ..step(id, &[])
            };
            let phase = |id: &str, steps| PhaseDef { id: PhaseId::new(id).unwrap(), steps };
            let (a, b) = (make("a", first), make("b", second));
            let phases = if phases {
                vec![phase("01-x", vec![a]), phase("02-x", vec![b])]
            } else {
                vec![phase("01-x", vec![a, b])]
            };
            let board = BoardName::new("b").unwrap();
            shared_outputs(&Manifest { board, root: None, facts: BTreeMap::new(), phases })
        };
        for (a, b) in
            [("o.txt", "o.txt"), ("o.txt", "./o.txt"), ("d/o", "d"), ("d", "d//o"), ("d/", "d")]
        {
            for phases in [false, true] {
                let found = shared(&[a], &[b], phases);
                assert_eq!(found.len(), 1, "{a} {b}");
                assert!(found[0].fault.contains("step 'a'"), "{}", found[0].fault);
            }
        }
        for (a, b) in [("o.txt", "o.txt2"), ("d/o", "d/p"), ("d", "d.x"), ("d/o", "e/d")] {
            assert_eq!(shared(&[a], &[b], false), [], "{a} {b}");
        }
        assert_eq!(shared(&["d", "d/o"], &[], false), [], "within one step nothing is undone");
    }

    #[test]
    fn paths_stay_inside() {
        for bad in ["", "/etc/x", "../x", "a/../../x", "C:\\x", "a\\..\\b", "a\nb", "\\\\host\\x"] {
            assert!(path_fault(bad).is_some(), "{bad:?}");
        }
        for good in ["out/a b.json", "ä/ö.kicad_pcb", "a..b/c"] {
            assert_eq!(path_fault(good), None, "{good:?}");
        }
    }

    #[test]
    fn near_words() {
        assert_eq!(
            nearest("kicad/drcc", ["kicad/drc", "kicad/erc"].into_iter()).unwrap(),
            "kicad/drc"
        );
        assert_eq!(nearest("zzz", ["kicad/drc"].into_iter()), None);
        assert_eq!(edit_distance("kitten", "sitting"), 3);
        assert_eq!(edit_distance("", "abc"), 3);
    }

    #[test]
    fn the_digest_tells_definitions_apart() {
        let a = step("a", &[]);
        let mut b = a.clone();
        assert_eq!(a.digest(), b.digest());
        b.with.insert("x".into(), serde_json::json!({"b": 1, "a": [1, "2"]}));
        assert_ne!(a.digest(), b.digest());
        assert_eq!(canonical(&serde_json::json!({"b": 1, "a": "x"})), r#"{"a":"x","b":1}"#);
    }
}
