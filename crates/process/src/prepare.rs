//! From a step to the program that is started: system, tools, arguments, folder, variables.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use pcbflow_core::evidence::{Evidence, Signal, Source, codes, program_name};
use pcbflow_core::ports::{Services, SpawnRequest, StepContext};
use pcbflow_core::projection::INSTALL_SLOT;
use tempfile::TempDir;

use crate::confine::{ConfineFault, confined};
use crate::doctor::{self, Least, Tool, ToolFault};
use crate::spec::{CommandSpec, Work};
use crate::{lock, rows, signals};

/// Notes that actions leave for the next attempts.
pub mod notes {
    /// `process.tool.NAME`: the file of a tool that was found.
    pub const TOOL: &str = "process.tool.";
    /// Arguments that are files are made absolute and canonical.
    pub const CANONICAL: &str = "process.canonical";
    /// Arguments that are files are copied under short plain names.
    pub const SHORT_COPY: &str = "process.short_copy";
    /// The recipe for this system is taken.
    pub const RECIPE: &str = "process.recipe";
    /// Size of a batch.
    pub const BATCH: &str = "process.batch";
}

/// A program ready to start.
pub struct Prepared {
    /// What the port is asked for.
    pub request: SpawnRequest,
    /// Copies under short names; they go with it.
    pub copies: Option<TempDir>,
}

/// Evidence of this step with no signals yet. The install that the step declares goes with it, to
/// be shown beside the message when the person has to run it.
pub fn evidence(context: &StepContext, program: &str) -> Evidence {
    let mut evidence = Evidence::new(context.step.uses.as_str(), program_name(program));
    if !context.step.install.is_empty() {
        let words: Vec<String> = context.step.install.iter().map(|w| typed(w)).collect();
        evidence.slots.insert(INSTALL_SLOT.into(), words.join(" "));
    }
    evidence
}

/// An argument as a person types it: in quotes where a shell would take it apart.
fn typed(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./:=@%+,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// Variables that every program of a step gets.
pub fn own_variables(context: &StepContext) -> BTreeMap<String, String> {
    let path = |p: &Path| p.to_string_lossy().into_owned();
    [
        ("PCBFLOW_BOARD", context.board.to_string()),
        ("PCBFLOW_PHASE", context.key.phase.to_string()),
        ("PCBFLOW_STEP", context.key.step.to_string()),
        ("PCBFLOW_ROOT", path(&context.root)),
        ("PCBFLOW_BOARD_DIR", path(&context.board_dir)),
        ("PCBFLOW_SCRATCH", path(&context.scratch)),
    ]
    .into_iter()
    .map(|(name, value)| (name.to_owned(), value))
    .collect()
}

/// Whether the step runs on this system, as written or by a recipe.
fn fits_system(context: &StepContext) -> bool {
    let systems = &context.step.systems;
    systems.is_empty()
        || systems.iter().any(|s| s == doctor::system())
        || context.notes.contains_key(notes::RECIPE)
}

/// Looks at everything that the step needs before it starts.
pub async fn needs(
    spec: &CommandSpec,
    context: &StepContext,
    services: &Services,
) -> Result<(), Evidence> {
    if !fits_system(context) {
        let mut evidence = evidence(context, "");
        evidence.push(Signal::new(Source::Own, codes::WRONG_SYSTEM).text(doctor::system()));
        return Err(evidence);
    }
    for (name, least) in &spec.requires.tools {
        need_tool(name, *least, context, services).await?;
    }
    let missing = lock::missing(spec, context, services).await;
    if missing.is_empty() {
        return Ok(());
    }
    let mut evidence = evidence(context, "");
    missing.into_iter().for_each(|signal| evidence.push(signal));
    Err(evidence)
}

async fn need_tool(
    name: &str,
    least: Option<Least>,
    context: &StepContext,
    services: &Services,
) -> Result<(), Evidence> {
    let mut evidence = evidence(context, name);
    evidence.slots.insert("program".into(), name.to_owned());
    let Some(tool) = doctor::tool(name) else {
        return match doctor::on_path(name, &context.root) {
            Ok(_) => Ok(()),
            Err(_) => {
                if [rows::ASSISTANTS, rows::HELPERS].concat().contains(&name) {
                    absent(&mut evidence, name);
                } else {
                    evidence.push(Signal::spawn_not_found(name));
                }
                Err(evidence)
            }
        };
    };
    let noted = context.notes.get(&format!("{}{}", notes::TOOL, tool.name)).map(PathBuf::from);
    let search = std::env::var_os("PATH");
    let paths = doctor::candidates(tool, noted.as_deref(), search.as_deref(), false);
    let (spawn, cancel) = (&*services.spawn, &*services.cancel);
    match doctor::usable(spawn, cancel, tool, &paths, &context.root, least).await {
        Ok(_) => return Ok(()),
        Err(ToolFault::TooOld { found, .. }) => {
            let text = format!("{} {found}", tool.name);
            evidence.push(Signal::new(Source::Exit, codes::VERSION_TOO_OLD).text(&text));
        }
        // A shim that prints no version is as good as no tool.
        Err(_) => {
            absent(&mut evidence, tool.name);
            if !tool.places().iter().any(|p| p.is_file()) {
                evidence.push(Signal::new(Source::File, signals::TOOL_ABSENT).text(tool.name));
            }
        }
    }
    Err(evidence)
}

/// A tool that the step declares was looked for before anything started, and is not there.
fn absent(evidence: &mut Evidence, tool: &str) {
    evidence.push(Signal::new(Source::Own, signals::TOOL_MISSING_FOR_PHASE).text(tool));
    evidence.push(Signal::spawn_not_found(tool));
}

/// Program and arguments, with what actions have noted.
pub fn argv(spec: &CommandSpec, context: &StepContext) -> Result<Vec<String>, ConfineFault> {
    if let Some(recipe) = context.notes.get(notes::RECIPE).and_then(|s| spec.recipes.get(s)) {
        return Ok(recipe.clone());
    }
    let mut argv = match &spec.work {
        Work::Argv(argv) => argv.clone(),
        Work::Script { path, args } => {
            let file = confined(&context.root, path)?;
            let mut argv = interpreter(path, context);
            argv.push(file.to_string_lossy().into_owned());
            argv.extend(args.iter().cloned());
            argv
        }
    };
    if let Some(first) = argv.first_mut()
        && let Some(tool) = doctor::tool(first).filter(|_| !first.contains(['/', '\\']))
        && let Some(path) = context.notes.get(&format!("{}{}", notes::TOOL, tool.name))
    {
        first.clone_from(path);
    }
    Ok(argv)
}

/// The Python of the step's own folder of installed packages, if there is one.
pub fn environment_python(context: &StepContext) -> Option<PathBuf> {
    let spec = CommandSpec::parse(&context.step).ok()?;
    let folder = confined(&context.root, spec.requires.environment.as_deref()?).ok()?;
    let places = [["bin", "python3"], ["bin", "python"], ["Scripts", "python.exe"]];
    places.iter().map(|[dir, name]| folder.join(dir).join(name)).find(|p| p.is_file())
}

/// What runs a script, by the ending of its name.
fn interpreter(path: &str, context: &StepContext) -> Vec<String> {
    let ending = path.rsplit('.').next().unwrap_or("").to_ascii_lowercase();
    let of = |tool: &Tool| {
        let noted = context.notes.get(&format!("{}{}", notes::TOOL, tool.name)).cloned();
        let found = || {
            let there = |n: &&&str| doctor::on_path(n, &context.root).is_ok();
            tool.names.iter().find(there).map_or(tool.name, |n| n).to_owned()
        };
        vec![noted.unwrap_or_else(found)]
    };
    match ending.as_str() {
        "py" => of(&doctor::PYTHON),
        "js" | "mjs" | "cjs" => of(&doctor::NODE),
        "sh" => vec!["sh".to_owned()],
        "ps1" => vec![if cfg!(windows) { "powershell" } else { "pwsh" }.to_owned(), "-File".into()],
        _ => Vec::new(),
    }
}

/// Folder to run in.
pub fn folder(spec: &CommandSpec, context: &StepContext) -> Result<PathBuf, ConfineFault> {
    let Some(cwd) = &spec.cwd else { return Ok(context.root.clone()) };
    let in_root = confined(&context.root, cwd)?;
    if in_root.is_dir() {
        return Ok(in_root);
    }
    let in_board = confined(&context.board_dir, cwd)?;
    Ok(if in_board.is_dir() { in_board } else { in_root })
}

/// Everything for the start.
pub fn prepare(spec: &CommandSpec, context: &StepContext) -> Result<Prepared, Evidence> {
    let refuse = |why: String| {
        let mut evidence = evidence(context, "");
        evidence.push(Signal::new(Source::Exit, codes::SPAWN_FAILED).text(&why));
        evidence
    };
    let argv = argv(spec, context).map_err(|fault| refuse(fault.to_string()))?;
    let cwd = folder(spec, context).map_err(|fault| refuse(fault.to_string()))?;
    for output in &context.step.outputs {
        let file =
            confined(&context.board_dir, output).map_err(|fault| refuse(fault.to_string()))?;
        if let Some(parent) = file.parent() {
            std::fs::create_dir_all(parent).map_err(|e| folder_fault(context, parent, &e))?;
        }
    }
    let (argv, copies) = plain_arguments(argv, &cwd, context)
        .map_err(|e| refuse(format!("the files can't be copied: {e}")))?;
    let mut env = own_variables(context);
    if let Some(batch) = batch(spec, context) {
        env.insert("PCBFLOW_BATCH".into(), batch.to_string());
    }
    env.extend(spec.env.clone());
    let request = SpawnRequest {
        argv,
        cwd,
        env,
        stdin: None,
        deadline_ms: context.deadline_ms,
        output_bytes_max: spec.output_bytes_max,
        memory_bytes_max: spec.memory_bytes_max,
        quiet_ms_max: spec.quiet_ms_max,
        tag: context.tag.clone(),
    };
    Ok(Prepared { request, copies })
}

/// Size of a batch now.
pub fn batch(spec: &CommandSpec, context: &StepContext) -> Option<u64> {
    context.notes.get(notes::BATCH).and_then(|n| n.parse().ok()).or(spec.batch)
}

fn folder_fault(context: &StepContext, folder: &Path, error: &std::io::Error) -> Evidence {
    let mut evidence = evidence(context, "");
    evidence.push(place_signal(error, folder));
    evidence
}

/// What a refused write says about the place.
pub fn place_signal(error: &std::io::Error, folder: &Path) -> Signal {
    if error.kind() == std::io::ErrorKind::StorageFull {
        let free = doctor::free_space(folder).ok().and_then(|n| i64::try_from(n).ok());
        return Signal::new(Source::Own, codes::DISK_FULL).number(free.unwrap_or(0));
    }
    Signal::new(Source::Own, codes::READ_ONLY).text(&folder.to_string_lossy())
}

/// Arguments that are files of the board, made canonical or copied when an action noted that.
fn plain_arguments(
    argv: Vec<String>,
    cwd: &Path,
    context: &StepContext,
) -> std::io::Result<(Vec<String>, Option<TempDir>)> {
    let canonical = context.notes.contains_key(notes::CANONICAL);
    let copy = context.notes.contains_key(notes::SHORT_COPY);
    if !canonical && !copy {
        return Ok((argv, None));
    }
    let copies = if copy { Some(tempfile::Builder::new().prefix("pf").tempdir()?) } else { None };
    let mut out = Vec::new();
    for (at, arg) in argv.into_iter().enumerate() {
        let Some(file) = (at > 0).then(|| file_argument(&arg, cwd)).flatten() else {
            out.push(arg);
            continue;
        };
        let file = match &copies {
            None => file,
            Some(dir) => {
                let ending = file.extension().map(|e| e.to_string_lossy().into_owned());
                let ending = ending.map_or(String::new(), |e| format!(".{e}"));
                let place = dir.path().join(format!("f{at}{ending}"));
                std::fs::copy(&file, &place)?;
                place
            }
        };
        out.push(file.to_string_lossy().into_owned());
    }
    Ok((out, copies))
}

/// The file that an argument names, canonical, when it names one.
pub fn file_argument(arg: &str, cwd: &Path) -> Option<PathBuf> {
    if arg.is_empty() || arg.starts_with('-') {
        return None;
    }
    let home = std::env::var_os("HOME").or_else(|| std::env::var_os("USERPROFILE"));
    let path = match (arg.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => PathBuf::from(home).join(rest),
        _ => cwd.join(arg),
    };
    path.is_file().then(|| path.canonicalize().ok()).flatten()
}

/// Whether a tool could stumble over a path.
pub fn awkward(path: &str) -> bool {
    /// Longest path that old programs take, in bytes.
    const PATH_BYTES_MAX: usize = 250;
    path.len() > PATH_BYTES_MAX
        || !path.is_ascii()
        || path.contains([' ', '~', '\n', '\t', '\'', '"', '$', '&', '(', ')'])
        || (!cfg!(windows) && path.contains('\\'))
}

/// The layer's word for inputs that are declared and not there.
pub fn missing_inputs(context: &StepContext) -> Vec<Signal> {
    context
        .step
        .inputs()
        .iter()
        .filter(|i| !i.contains('*') && !context.root.join(i).exists())
        .map(|i| Signal::new(Source::File, signals::INPUT_MISSING).text(i))
        .collect()
}
