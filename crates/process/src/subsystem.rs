//! [`ProcessSubsystem`]: steps that run commands and scripts.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use pcbflow_core::check::{CheckOutcome, CheckResult};
use pcbflow_core::event::{Ended, ReadBack};
use pcbflow_core::evidence::{Evidence, Signal, Source, codes};
use pcbflow_core::manifest::{CheckSpec, KindInfo, ManifestFault, Safety, StepDef};
use pcbflow_core::ports::{
    Closure, Observation, Recovery, Services, SpawnEnded, SpawnRequest, StepContext, StepResult,
    Subsystem,
};
use pcbflow_core::row::Row;

use crate::kinds::KINDS;
use crate::spec::CommandSpec;
use crate::{checks, confine, doctor, judge, outputs, prepare, probe, recover, rows};

/// Longest time for a guard, in milliseconds.
const GUARD_MS_MAX: u64 = 60_000;

/// Commands and scripts.
#[derive(Debug, Clone, Default)]
pub struct ProcessSubsystem {
    /// Files of tools that the person configured, by the tool's plain name.
    pub(crate) configured: BTreeMap<String, PathBuf>,
}

impl ProcessSubsystem {
    /// Without any configured tool.
    #[must_use]
    pub fn new() -> ProcessSubsystem {
        ProcessSubsystem::default()
    }

    /// With the file of a tool, as the person configured it.
    #[must_use]
    pub fn tool(mut self, name: &str, file: impl Into<PathBuf>) -> ProcessSubsystem {
        let name = doctor::tool(name).map_or(name, |t| t.name);
        self.configured.insert(name.to_owned(), file.into());
        self
    }
}

fn parsed(context: &StepContext) -> Result<CommandSpec, Evidence> {
    CommandSpec::parse(&context.step).map_err(|faults| {
        let mut evidence = prepare::evidence(context, "");
        for fault in faults {
            let text = format!("{}: {}; {}", fault.path, fault.fault, fault.remedy);
            evidence.push(Signal::new(Source::Exit, codes::SPAWN_FAILED).text(&text));
        }
        evidence
    })
}

/// A step that could not begin.
fn failed(evidence: Evidence) -> Observation {
    let summary =
        evidence.signals.first().map_or(String::new(), |s| format!("{} {}", s.code, s.text));
    Observation {
        ended: Ended::NotStarted,
        tool: evidence.tool.clone(),
        summary,
        ..Observation::of(StepResult::Failed(evidence))
    }
}

#[async_trait]
impl Subsystem for ProcessSubsystem {
    fn name(&self) -> &'static str {
        "process"
    }

    fn rows(&self) -> Vec<Row> {
        rows::ROWS.to_vec()
    }

    fn kinds(&self) -> Vec<KindInfo> {
        KINDS.to_vec()
    }

    fn step_faults(&self, step: &StepDef) -> Vec<ManifestFault> {
        CommandSpec::parse(step).err().unwrap_or_default()
    }

    async fn closure(
        &self,
        context: &StepContext,
        _services: &Services,
    ) -> Result<Closure, Evidence> {
        let spec = parsed(context)?;
        let mut closure = Closure::default();
        let cwd = prepare::folder(&spec, context).unwrap_or_else(|_| context.root.clone());
        let argv = prepare::argv(&spec, context).unwrap_or_default();
        let program = argv.first().map_or("", String::as_str);
        closure.settings.insert("program".into(), program_state(program, &cwd));
        let made: Vec<PathBuf> = context
            .step
            .outputs
            .iter()
            .filter_map(|o| confine::confined(&context.board_dir, o).ok())
            .collect();
        let root = context.root.canonicalize().unwrap_or_else(|_| context.root.clone());
        // The program itself may be a large one of the system, and is known by `program_state`. A file
        // elsewhere may be what the step makes: one that may run only once is not asked about for it.
        let anywhere = safety(context).freely_repeated();
        let own = |(at, file): &(usize, PathBuf)| (*at > 0 && anywhere) || file.starts_with(&root);
        let files = argv
            .iter()
            .enumerate()
            .filter_map(|(at, a)| Some((at, prepare::file_argument(a, &cwd)?)));
        let files = files.filter(own).map(|(_, file)| file);
        closure.files.extend(files.filter(|f| !made.contains(f)));
        if let Some(lock) = &spec.requires.lock {
            closure.files.push(context.root.join(lock));
        }
        closure.files.sort();
        closure.files.dedup();
        // What a program reads can't be known from its command line. Where nobody says it, the
        // step's pass holds for the run that made it and is no proof in a later one.
        // A step that may not be repeated is not run again for what only may have changed.
        if safety(context).freely_repeated() {
            if context.step.inputs.is_none() {
                closure.settings.insert("inputs not declared, run".into(), context.run.clone());
            }
            for (need, digest) in &context.needs {
                closure.settings.insert(format!("need:{need}"), digest.to_string());
            }
        }
        for (name, value) in &spec.env {
            closure.settings.insert(format!("env:{name}"), value.clone());
        }
        Ok(closure)
    }

    async fn run(&self, context: &StepContext, services: &Services) -> Observation {
        let spec = match parsed(context) {
            Ok(spec) => spec,
            Err(evidence) => return failed(evidence),
        };
        if let Err(evidence) = prepare::needs(&spec, context, services).await {
            return failed(evidence);
        }
        let prepared = match prepare::prepare(&spec, context) {
            Ok(prepared) => prepared,
            Err(evidence) => return failed(evidence),
        };
        let request = prepared.request;
        let before = outputs::look(&context.board_dir, &context.step.outputs);
        let program = request.argv.first().map_or("", String::as_str);
        services.progress.doing(&context.key, &format!("running {program}"));
        let result = services.spawn.run(request.clone(), &*services.cancel).await;
        let observation = judge::judge(&spec, context, services, &request, result, &before);
        drop(prepared.copies);
        observation
    }

    /// Proof, never a guess: the guard's answer, or a file with the wanted sum. Outputs that are
    /// merely there prove nothing about a command with unknown effects.
    async fn read_back(&self, context: &StepContext, services: &Services) -> ReadBack {
        let Ok(spec) = parsed(context) else { return ReadBack::Unclear };
        // A guard says that the work was done, not that it was done well: the step's own check and
        // its outputs are judged all the same.
        let check = &context.step.check;
        let check_holds = match check {
            CheckSpec::Own | CheckSpec::Exit { .. } => true,
            // Its numbers were in what the program wrote when it ran.
            CheckSpec::ReportClean(_) => false,
            _ => checks::observe(check, &context.board_dir, None)
                .is_some_and(|seen| seen.outcome == CheckOutcome::Pass),
        };
        let holds = check_holds && outputs::are_there(&context.board_dir, &context.step.outputs);
        if !spec.guard.is_empty() {
            return match ask_guard(&spec, context, services).await {
                ReadBack::Landed if !holds => ReadBack::Partial,
                found => found,
            };
        }
        if matches!(check, CheckSpec::FileSha256 { .. }) && holds {
            return ReadBack::Landed;
        }
        if safety(context).freely_repeated() { ReadBack::Absent } else { ReadBack::Unclear }
    }

    async fn recover(
        &self,
        context: &StepContext,
        services: &Services,
        _class: &str,
        action: &str,
    ) -> Recovery {
        recover::act(self, context, services, action).await
    }

    async fn probe(&self, context: &StepContext, services: &Services, probe: &str) -> CheckResult {
        probe::look(self, context, services, probe).await
    }
}

/// The promise of the step: that of its kind, or the stricter one of the manifest.
fn safety(context: &StepContext) -> Safety {
    let kind = KINDS.iter().find(|k| k.name == context.step.uses.as_str());
    context.step.safety.max(kind.map(|k| k.safety)).unwrap_or(Safety::Once)
}

/// File, size and time of the program: another version of it is another closure.
fn program_state(program: &str, cwd: &Path) -> String {
    let Ok(file) = doctor::on_path(program, cwd) else { return format!("{program} missing") };
    let meta = file.metadata().ok();
    let len = meta.as_ref().map_or(0, std::fs::Metadata::len);
    let modified = meta
        .and_then(|m| m.modified().ok())
        .and_then(|t| t.duration_since(std::time::UNIX_EPOCH).ok())
        .map_or(0, |d| d.as_nanos());
    format!("{} {len} {modified}", file.display())
}

async fn ask_guard(spec: &CommandSpec, context: &StepContext, services: &Services) -> ReadBack {
    let Ok(cwd) = prepare::folder(spec, context) else { return ReadBack::Unclear };
    let mut env = prepare::own_variables(context);
    env.extend(spec.env.clone());
    let request = SpawnRequest {
        argv: spec.guard.clone(),
        cwd,
        env,
        deadline_ms: GUARD_MS_MAX,
        tag: context.tag.clone(),
        ..SpawnRequest::default()
    };
    match services.spawn.run(request, &*services.cancel).await.ended {
        SpawnEnded::Exited(0) => ReadBack::Landed,
        SpawnEnded::Exited(1) => ReadBack::Absent,
        _ => ReadBack::Unclear,
    }
}
