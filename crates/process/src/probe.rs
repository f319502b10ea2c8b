//! Probes: the rechecks of actions and the watches of asks. Fresh processes, fresh reads, and
//! other code than the actions.

use std::path::{Path, PathBuf};

use pcbflow_core::check::CheckResult;
use pcbflow_core::ports::{Services, SpawnEnded, SpawnRequest, StepContext};

use crate::doctor::{self, Found, Tool, ToolFault};
use crate::prepare::{self, notes};
use crate::rows::probes;
use crate::spec::CommandSpec;
use crate::subsystem::ProcessSubsystem;
use crate::{lock, recover};

/// Longest time for one program of a probe, in milliseconds.
const PROBE_MS_MAX: u64 = 60_000;

/// Boards that come with KiCad, for a real check of it.
const SAMPLE_BOARDS: &[&str] = &[
    "/usr/share/kicad/demos/pic_programmer/pic_programmer.kicad_pcb",
    "/usr/share/kicad/demos/ecc83/ecc83-pp.kicad_pcb",
    "/Applications/KiCad/demos/pic_programmer/pic_programmer.kicad_pcb",
];

/// Runs a probe.
pub async fn look(
    own: &ProcessSubsystem,
    context: &StepContext,
    services: &Services,
    probe: &str,
) -> CheckResult {
    let seen = match probe {
        probes::NODE_USABLE => usable(own, context, services, &doctor::NODE).await.map(drop),
        probes::PYTHON_USABLE => usable(own, context, services, &doctor::PYTHON).await.map(drop),
        probes::CHROME_USABLE => chrome(own, context, services).await,
        probes::KICAD_USABLE => kicad(own, context, services).await,
        probes::TOOL_USABLE => tool(own, context, services).await,
        probes::RECIPE_SELF_TEST => recipe(context),
        probes::LOCK_EQUALS_INSTALLED => lock_equals(context, services).await,
        probes::DEPENDENCY_LOADS => dependency(context, services).await,
        probes::ASSISTANT_USABLE => {
            Err(Seen::Unknown("the assistants come with a later release".into()))
        }
        probes::OBJECTS_EQUAL_PLAN => {
            Err(Seen::Unknown("what a command made can't be listed".into()))
        }
        other => Err(Seen::Unknown(format!("there is no probe {other}"))),
    };
    match seen {
        Ok(()) => CheckResult::pass(probe),
        Err(Seen::Not(why)) => CheckResult::fail(probe, &why),
        Err(Seen::Unknown(why)) => CheckResult::could_not_run(probe, &why),
    }
}

/// Anything but a pass.
enum Seen {
    /// It ran, and it is not as wanted.
    Not(String),
    /// It could not run.
    Unknown(String),
}

impl From<ToolFault> for Seen {
    fn from(fault: ToolFault) -> Seen {
        Seen::Not(fault.to_string())
    }
}

async fn usable(
    own: &ProcessSubsystem,
    context: &StepContext,
    services: &Services,
    tool: &Tool,
) -> Result<Found, Seen> {
    let noted = context.notes.get(&format!("{}{}", notes::TOOL, tool.name)).map(PathBuf::from);
    // What an action recorded is judged by itself; a watch looks everywhere.
    let paths = match noted {
        Some(path) => vec![path],
        None => {
            let configured = own.configured.get(tool.name).map(PathBuf::as_path);
            doctor::candidates(tool, configured, std::env::var_os("PATH").as_deref(), true)
        }
    };
    let (spawn, cancel) = (&*services.spawn, &*services.cancel);
    let least = recover::least_of(context, tool);
    Ok(doctor::usable(spawn, cancel, tool, &paths, &context.root, least).await?)
}

async fn run(context: &StepContext, services: &Services, argv: Vec<String>) -> SpawnEnded {
    let request = SpawnRequest {
        argv,
        cwd: context.root.clone(),
        env: prepare::own_variables(context),
        deadline_ms: PROBE_MS_MAX,
        tag: context.tag.clone(),
        ..SpawnRequest::default()
    };
    services.spawn.run(request, &*services.cancel).await.ended
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

async fn chrome(
    own: &ProcessSubsystem,
    context: &StepContext,
    services: &Services,
) -> Result<(), Seen> {
    let found = usable(own, context, services, &doctor::CHROME).await?;
    let profile = tempfile::tempdir().map_err(|e| Seen::Unknown(e.to_string()))?;
    let argv = vec![
        text(&found.path),
        "--headless=new".into(),
        "--no-first-run".into(),
        "--disable-gpu".into(),
        format!("--user-data-dir={}", profile.path().display()),
        "--dump-dom".into(),
        "about:blank".into(),
    ];
    match run(context, services, argv).await {
        SpawnEnded::Exited(0) => Ok(()),
        ended => Err(Seen::Not(format!("it does not start on an empty profile: {ended:?}"))),
    }
}

async fn kicad(
    own: &ProcessSubsystem,
    context: &StepContext,
    services: &Services,
) -> Result<(), Seen> {
    let found = usable(own, context, services, &doctor::KICAD).await?;
    let Some(board) = SAMPLE_BOARDS.iter().find(|b| Path::new(b).is_file()) else {
        // No board came with this installation: its version is all that can be proven.
        return Ok(());
    };
    let folder = tempfile::tempdir().map_err(|e| Seen::Unknown(e.to_string()))?;
    let report = folder.path().join("drc.json");
    let args = ["pcb", "drc", "--format", "json", "--output"];
    let mut argv = vec![text(&found.path)];
    argv.extend(args.map(str::to_owned));
    argv.extend([text(&report), (*board).to_owned()]);
    let ended = run(context, services, argv).await;
    if report.metadata().is_ok_and(|m| m.len() > 0) {
        Ok(())
    } else {
        Err(Seen::Not(format!("it writes no report: {ended:?}")))
    }
}

async fn tool(
    own: &ProcessSubsystem,
    context: &StepContext,
    services: &Services,
) -> Result<(), Seen> {
    if let Some(tool) = recover::tool_of(context) {
        return usable(own, context, services, tool).await.map(drop);
    }
    let Some(name) = recover::program_of(context) else {
        return Err(Seen::Unknown("no tool is named".into()));
    };
    let file = doctor::on_path(&name, &context.root)
        .map_err(|_| Seen::Not(format!("{name} is not on this computer")))?;
    let (spawn, cancel) = (&*services.spawn, &*services.cancel);
    let args = &["--version"];
    doctor::version_of(spawn, cancel, &name, &file, args, &context.root).await?;
    Ok(())
}

fn recipe(context: &StepContext) -> Result<(), Seen> {
    let spec = CommandSpec::parse(&context.step)
        .map_err(|_| Seen::Unknown("this step is no command".into()))?;
    let Some(recipe) = spec.recipes.get(doctor::system()) else {
        return Err(Seen::Not("the step has no command for this system".into()));
    };
    let program = recipe.first().map_or("", String::as_str);
    let cwd = prepare::folder(&spec, context).map_err(|e| Seen::Unknown(e.to_string()))?;
    doctor::on_path(program, &cwd).map(drop).map_err(|e| Seen::Not(format!("{program}: {e}")))
}

async fn lock_equals(context: &StepContext, services: &Services) -> Result<(), Seen> {
    let spec = CommandSpec::parse(&context.step)
        .map_err(|_| Seen::Unknown("this step is no command".into()))?;
    if let Some(folder) = &spec.requires.environment
        && !context.root.join(folder).is_dir()
    {
        return Err(Seen::Not(format!("{folder} is not there")));
    }
    let Some(lock) = &spec.requires.lock else {
        // The folder is all that was declared.
        return match spec.requires.environment {
            Some(_) => Ok(()),
            None => Err(Seen::Unknown("the step declares no lock list".into())),
        };
    };
    let missing = lock::compare(lock, &spec, context, services).await.map_err(Seen::Unknown)?;
    if missing.is_empty() { Ok(()) } else { Err(Seen::Not(missing.join(", "))) }
}

async fn dependency(context: &StepContext, services: &Services) -> Result<(), Seen> {
    if let Some(module) = context.notes.get("slot:module") {
        return load(module, context, services).await;
    }
    let Some(program) = recover::program_of(context) else {
        return Err(Seen::Unknown("no dependency is named".into()));
    };
    let found = doctor::on_path(&program, &context.root).is_ok()
        || doctor::on_path(&format!("./{program}"), &context.root).is_ok()
        || ["node_modules/.bin", ".venv/bin", "bin"]
            .iter()
            .any(|folder| context.root.join(folder).join(&program).is_file());
    if found { Ok(()) } else { Err(Seen::Not(format!("{program} is still not there"))) }
}

async fn load(module: &str, context: &StepContext, services: &Services) -> Result<(), Seen> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-@/".contains(c);
    let spec = CommandSpec::parse(&context.step)
        .map_err(|_| Seen::Unknown("this step is no command".into()))?;
    if !module.chars().all(plain) {
        return Err(Seen::Unknown(format!("{module:?} is no name of a module")));
    }
    let program = prepare::argv(&spec, context).ok().and_then(|a| a.into_iter().next());
    let node = program.as_deref().filter(|p| doctor::NODE.is_named(p));
    let argv = match node {
        Some(node) => vec![node.to_owned(), "-e".into(), format!("require({module:?})")],
        None => {
            let python = lock::python_of(&spec, context);
            vec![
                python,
                "-c".into(),
                format!("import importlib; importlib.import_module({module:?})"),
            ]
        }
    };
    let cwd = prepare::folder(&spec, context).map_err(|e| Seen::Unknown(e.to_string()))?;
    let mut env = prepare::own_variables(context);
    env.extend(spec.env.clone());
    let request = SpawnRequest {
        argv,
        cwd,
        env,
        deadline_ms: PROBE_MS_MAX,
        tag: context.tag.clone(),
        ..SpawnRequest::default()
    };
    match services.spawn.run(request, &*services.cancel).await.ended {
        SpawnEnded::Exited(0) => Ok(()),
        ended => Err(Seen::Not(format!("{module} does not load: {ended:?}"))),
    }
}
