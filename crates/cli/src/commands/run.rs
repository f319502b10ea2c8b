//! `run` and `resume`: the main job.

use std::collections::BTreeMap;
use std::sync::Arc;

use pcbflow_checkpoint::workspace::Board;
use pcbflow_core::exit::Exit;
use pcbflow_core::ids::{BoardName, KindName, PhaseId};
use pcbflow_core::ports::Ledger;
use pcbflow_engine::{EngineError, RunOptions, RunReport, fold_board, idle_board, run_board};
use pcbflow_store::Mode;
use serde_json::json;

use crate::App;
use crate::args::{ResumeArgs, RunArgs};
use crate::cancel::Stop;
use crate::compose::{self, Site};
use crate::envelope::{Answer, Envelope};
use crate::error::{CommandError, Kind};
use crate::progress::LineProgress;
use crate::reading;
use crate::settings::duration_ms;

use super::run_report::board_answer;

/// Step kind by which phases are committed.
const COMMIT_KIND: &str = "checkpoint/commit";
/// Longest wait for an ask, in milliseconds (12 h).
pub const WAIT_MS_MAX: u64 = 12 * 3_600_000;

/// Options shared by run, resume and check.
pub struct Drive {
    /// Last phase.
    pub to: Option<PhaseId>,
    /// Steps at once.
    pub jobs: usize,
    /// Boards at once.
    pub boards: usize,
    /// Wait for asks, in milliseconds.
    pub wait_ms_max: u64,
    /// Run even if up to date.
    pub force: bool,
    /// Only checks, of these kinds.
    pub checks: Option<Vec<String>>,
    /// Go on with the last run.
    pub resume: bool,
    /// Name of the command.
    pub command: &'static str,
}

/// `pcbflow run`.
///
/// # Errors
/// No such board, busy, the record; see [`CommandError`].
pub fn run(app: &App, args: &RunArgs) -> Result<Answer, CommandError> {
    let site = Site::open(&app.global)?;
    let to = match &args.to {
        Some(text) => Some(
            PhaseId::new(text.clone())
                .map_err(|e| CommandError::new(Kind::Usage, e.to_string()))?,
        ),
        None => None,
    };
    let cores = cores();
    let jobs = args.jobs.or(site.settings.jobs).map_or(cores, usize::from);
    let names = if args.all {
        site.workspace.boards()?.list.into_iter().map(|b| b.name).collect()
    } else {
        vec![site.board_name(args.board.as_deref())?]
    };
    if names.is_empty() {
        return Err(CommandError::new(Kind::NotFound, "this workspace has no board yet"));
    }
    if args.dry_run {
        return dry_run(&site, &names);
    }
    let drive = Drive {
        to,
        jobs: if args.all { (cores / jobs.max(1)).max(1) } else { jobs },
        boards: if args.all { jobs } else { 1 },
        wait_ms_max: wait_ms(app, args.wait.as_deref())?,
        force: args.force,
        checks: None,
        resume: false,
        command: "run",
    };
    drive_boards(app, &site, &names, &drive)
}

/// `pcbflow resume`.
///
/// # Errors
/// As [`run`].
pub fn resume(app: &App, args: &ResumeArgs) -> Result<Answer, CommandError> {
    let site = Site::open(&app.global)?;
    let name = site.board_name(args.board.as_deref())?;
    let drive = Drive {
        to: None,
        jobs: cores(),
        boards: 1,
        wait_ms_max: wait_ms(app, args.wait.as_deref())?,
        force: false,
        checks: None,
        resume: true,
        command: "resume",
    };
    drive_boards(app, &site, &[name], &drive)
}

/// Cores of the machine.
#[must_use]
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// On a terminal a person can do what is asked while the run waits; elsewhere it stops at once.
fn wait_ms(app: &App, text: Option<&str>) -> Result<u64, CommandError> {
    match text {
        Some(text) => Ok(duration_ms(text)?.min(WAIT_MS_MAX)),
        None if app.ui.may_ask() => Ok(WAIT_MS_MAX),
        None => Ok(0),
    }
}

/// Shows what would be run.
fn dry_run(site: &Site, names: &[BoardName]) -> Result<Answer, CommandError> {
    let mut lines = Vec::new();
    let mut plan = Vec::new();
    for name in names {
        let board = site.board(name)?;
        for phase in &board.document.manifest.phases {
            for step in &phase.steps {
                let needs: Vec<&str> = step.needs.iter().map(|n| n.as_str()).collect();
                let after = if needs.is_empty() {
                    String::new()
                } else {
                    format!(", after {}", needs.join(", "))
                };
                lines.push(format!("{name}  {}/{}  {}{after}", phase.id, step.id, step.uses));
                plan.push(json!({"board": name, "phase": phase.id, "step": step.id, "uses": step.uses, "needs": step.needs}));
            }
        }
    }
    Ok(Answer::done("run", lines).with("plan", plan))
}

/// Runs boards and makes one answer of their reports.
///
/// # Errors
/// For one board its own error; for several only what stops all of them.
pub fn drive_boards(
    app: &App,
    site: &Site,
    names: &[BoardName],
    drive: &Drive,
) -> Result<Answer, CommandError> {
    if app.ui.options.events {
        app.ui.raw(
            &json!({"type": "version", "schema": 1, "pcbflow": env!("CARGO_PKG_VERSION")})
                .to_string(),
        );
    }
    for warning in &site.settings.warnings {
        app.ui.warn(warning);
    }
    let boards: Vec<Board> = names.iter().map(|n| site.board(n)).collect::<Result<_, _>>()?;
    if let Some(answer) = idle(app, site, &boards, drive)? {
        return Ok(answer);
    }
    let opened = site.ledger(Mode::Write)?;
    if opened.repaired {
        app.ui.say(pcbflow_humanize::notice::record_repaired().as_str());
    }
    let ledger: Arc<dyn Ledger> = opened.ledger.clone();
    for board in &boards {
        let anchor = || site.adopted(board);
        compose::ensure_stream(ledger.as_ref(), &board.name, BTreeMap::new(), anchor)?;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|e| CommandError::new(Kind::Bug, format!("no runtime: {e}")))?;
    let stop = Stop::default();
    let progress = Arc::new(progress(app, site, boards.len()));
    let results = runtime.block_on(async {
        stop.listen();
        let driven = drive_all(site, &boards, drive, &ledger, &stop, &progress);
        tokio::select! {
            results = driven => results,
            // Speaks until the work is done; where it has nothing to say it ends at once.
            results = async { progress.alive().await; std::future::pending().await } => results,
        }
    });
    progress.end();
    site.after_run(&opened.ledger, &boards, app);
    answer(app, site, ledger.as_ref(), drive, &stop, results)
}

fn progress(app: &App, site: &Site, boards: usize) -> LineProgress {
    LineProgress::new(app.ui.clone(), Arc::new(site.policy.catalogue.clone()), boards > 1)
}

/// The answer when every board is found to have nothing to do by looking alone: the record is only
/// read, so the commonest run of all waits for no disk. `None` when there may be work.
fn idle(
    app: &App,
    site: &Site,
    boards: &[Board],
    drive: &Drive,
) -> Result<Option<Answer>, CommandError> {
    // A record that can't be read is told by the run too, in full.
    let Ok(Some(opened)) = reading::open(&site.workspace) else { return Ok(None) };
    if opened.repaired || opened.newer.is_some() {
        return Ok(None);
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| CommandError::new(Kind::Bug, format!("no runtime: {e}")))?;
    let ledger: Arc<dyn Ledger> = opened.ledger.clone();
    let stop = Stop::default();
    let services = site.services(&stop, Arc::new(progress(app, site, boards.len())));
    let parts = site.parts(Arc::clone(&ledger), services, &stop);
    let mirrors = crate::mirror::mirrors(site);
    let mut results: Vec<Outcome> = Vec::new();
    for board in boards {
        if !mirrors.is_current(opened.ledger.as_ref(), &board.name)? {
            return Ok(None);
        }
        let (setup, options) = (site.setup(board), options(drive)?);
        // Whatever is odd is told by the run itself.
        let looked = runtime.block_on(idle_board(&parts, &setup, &options));
        let Ok(Some(report)) = looked else { return Ok(None) };
        results.push((board.name.clone(), Ok(report)));
    }
    answer(app, site, ledger.as_ref(), drive, &stop, results).map(Some)
}

type Outcome = (BoardName, Result<RunReport, EngineError>);

async fn drive_all(
    site: &Site,
    boards: &[Board],
    drive: &Drive,
    ledger: &Arc<dyn Ledger>,
    stop: &Stop,
    progress: &Arc<LineProgress>,
) -> Vec<Outcome> {
    let services = site.services(stop, Arc::clone(progress) as _);
    let parts = site.parts(Arc::clone(ledger), services, stop);
    let gate = Arc::new(tokio::sync::Semaphore::new(drive.boards.max(1)));
    let mut tasks = tokio::task::JoinSet::new();
    for board in boards {
        let (parts, setup, gate) = (parts.clone(), site.setup(board), Arc::clone(&gate));
        let options = options(drive);
        let name = board.name.clone();
        tasks.spawn(async move {
            // The semaphore is never closed.
            let _permit = gate.acquire_owned().await;
            let result = match options {
                Ok(options) => run_board(&parts, &setup, &options).await,
                Err(e) => Err(EngineError::Ledger(pcbflow_core::ports::LedgerError::Refused {
                    why: e.message,
                })),
            };
            (name, result)
        });
    }
    let mut results = Vec::new();
    while let Some(done) = tasks.join_next().await {
        match done {
            Ok(outcome) => results.push(outcome),
            Err(e) => std::panic::resume_unwind(e.into_panic()),
        }
    }
    for subsystem in &parts.subsystems {
        subsystem.let_go().await;
    }
    results.sort_by(|a, b| a.0.cmp(&b.0));
    results
}

fn options(drive: &Drive) -> Result<RunOptions, CommandError> {
    Ok(RunOptions {
        to: drive.to.clone(),
        jobs: drive.jobs,
        wait_ms_max: drive.wait_ms_max,
        checks_only: drive.checks.is_some(),
        only_kinds: drive.checks.clone().unwrap_or_default(),
        resume: drive.resume,
        commit_kind: KindName::new(COMMIT_KIND).ok(),
        seed: compose::new_seed(),
        run: compose::new_run_id()?,
        force: drive.force,
    })
}

fn answer(
    app: &App,
    site: &Site,
    ledger: &dyn Ledger,
    drive: &Drive,
    stop: &Stop,
    results: Vec<Outcome>,
) -> Result<Answer, CommandError> {
    let single = results.len() == 1;
    let mut answers = Vec::new();
    for (name, result) in results {
        match result {
            Ok(report) => {
                let (_, state) = fold_board(ledger, &name)?;
                answers.push(board_answer(app, site, drive, stop, &report, &state));
            }
            Err(e) if single => return Err(e.into()),
            Err(e) => {
                let error = CommandError::from(e);
                let mut envelope = Envelope::failed(drive.command, &error);
                envelope.board = Some(name.to_string());
                let lines = vec![format!("{name}: {}", error.message)];
                answers.push(Answer::new(envelope, error.kind.exit(), lines));
            }
        }
    }
    if single && let Some(one) = answers.pop() {
        return Ok(one);
    }
    Ok(together(drive, answers))
}

/// One answer for several boards: the worst exit, all documents in `data.boards`.
fn together(drive: &Drive, answers: Vec<Answer>) -> Answer {
    let rank = |e: Exit| match e {
        Exit::Done => 0,
        Exit::Findings => 1,
        Exit::TryLater => 2,
        Exit::Unverified => 3,
        Exit::NeedsPerson => 4,
        Exit::Busy => 5,
        Exit::Interrupted | Exit::Terminated => 9,
        _ => 6,
    };
    let exit = answers.iter().map(|a| a.exit).max_by_key(|e| rank(*e)).unwrap_or(Exit::Done);
    let mut envelope = Envelope::new(drive.command, exit);
    envelope.verdict =
        answers.iter().max_by_key(|a| rank(a.exit)).and_then(|a| a.envelope.verdict.clone());
    envelope.conditional = exit == Exit::Done && answers.iter().any(|a| a.envelope.conditional);
    let mut lines = Vec::new();
    let mut documents = Vec::new();
    for a in answers {
        lines.extend(a.lines);
        documents.push(a.envelope);
    }
    Answer::new(envelope.with("boards", documents), exit, lines)
}
