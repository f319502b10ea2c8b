//! One call of the tool: own settings, fixed locale, checked folders, a deadline.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use pcbflow_core::evidence::{Evidence, Signal, Source, codes};
use pcbflow_core::ports::{Services, SpawnEnded, SpawnRequest, SpawnResult, StepContext};

use super::find::{Tool, Version};
use super::settings::{self, Libraries};
use super::space;
use crate::signals;

/// Most output per stream, in bytes; a working call writes some kilobytes.
pub const OUTPUT_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Deadline of a call whose inputs are small, in milliseconds.
pub const DEADLINE_BASE_MS: u64 = 60_000;
/// More for each megabyte of input, in milliseconds.
pub const DEADLINE_PER_MB_MS: u64 = 5_000;
/// Least deadline with KiCad's stock libraries, in milliseconds: KiCad 10 reads all of them.
pub const DEADLINE_STOCK_MS: u64 = 120_000;
/// Time kept back from a step's deadline for reading the results, in milliseconds.
const DEADLINE_RESERVE_MS: u64 = 500;
/// Least that a call gets, in milliseconds.
const DEADLINE_LEAST_MS: u64 = 100;
/// Bytes of a megabyte.
const MB: u64 = 1_000_000;

/// Layer of all calls' evidence is the step's kind; the tool is always this.
pub const TOOL: &str = "kicad-cli";

/// Deadline by size: 60 s and 5 s per megabyte, at least 120 s with stock libraries.
#[must_use]
pub fn deadline_ms(bytes: u64, libraries: Libraries) -> u64 {
    let by_size = DEADLINE_BASE_MS.saturating_add(bytes.saturating_mul(DEADLINE_PER_MB_MS) / MB);
    match libraries {
        Libraries::Project => by_size,
        Libraries::Stock => by_size.max(DEADLINE_STOCK_MS),
    }
}

/// Calls a tool for one attempt.
pub struct Caller<'a> {
    context: &'a StepContext,
    services: &'a Services,
    /// The tool.
    pub tool: Tool,
    libraries: Libraries,
    started: Instant,
    tmp: PathBuf,
}

/// How a call came out.
#[derive(Debug, Clone)]
pub struct Called {
    /// What was executed.
    pub argv: Vec<String>,
    /// What came of it.
    pub result: SpawnResult,
    /// When it was started, by the system's clock, which is also the tool's.
    pub started: SystemTime,
}

impl<'a> Caller<'a> {
    /// Makes folders ready and probes them.
    ///
    /// # Errors
    /// A signal: disk full or read-only.
    pub fn new(
        context: &'a StepContext,
        services: &'a Services,
        tool: Tool,
        libraries: Libraries,
        started: Instant,
    ) -> Result<Caller<'a>, Signal> {
        let tmp = context.scratch.join("tmp");
        std::fs::create_dir_all(&tmp).map_err(|e| space::signal_of(&tmp, &e))?;
        space::probe(&tmp)?;
        Ok(Caller { context, services, tool, libraries, started, tmp })
    }

    /// Makes a fresh folder for outputs.
    ///
    /// # Errors
    /// A signal: disk full or read-only.
    pub fn fresh(&self, name: &str) -> Result<PathBuf, Signal> {
        let folder = self.context.scratch.join(name);
        std::fs::create_dir_all(&folder).map_err(|e| space::signal_of(&folder, &e))?;
        Ok(folder)
    }

    fn left_ms(&self) -> u64 {
        let used = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        let left = self.context.deadline_ms.saturating_sub(used);
        left.saturating_sub(DEADLINE_RESERVE_MS).max(DEADLINE_LEAST_MS)
    }

    /// The settings folder, with the tables as wanted.
    async fn config(&self) -> Result<PathBuf, Signal> {
        let version = self.tool.version.unwrap_or_default();
        let state = &self.context.state_dir;
        let (config, copies) = settings::prepare(state, version, self.libraries)
            .map_err(|e| space::signal_of(&settings::home(state), &e))?;
        if copies {
            self.let_it_copy_tables(&config, version).await?;
        }
        Ok(config)
    }

    /// KiCad 8 and 9 copy their stock footprint table into an empty settings folder at the first
    /// electrical check.
    async fn let_it_copy_tables(&self, config: &Path, version: Version) -> Result<(), Signal> {
        let sheet = self.tmp.join("first.kicad_sch");
        let text = "(kicad_sch (version 20231120) (generator \"pcbflow\") (paper \"A4\")\n  (lib_symbols)\n  (sheet_instances (path \"/\" (page \"1\"))))\n";
        std::fs::write(&sheet, text).map_err(|e| space::signal_of(&sheet, &e))?;
        let report = self.tmp.join("first.json").to_string_lossy().into_owned();
        let sheet = sheet.to_string_lossy().into_owned();
        let words = ["sch", "erc", "--format", "json", "-o", &report, &sheet];
        let args: Vec<String> = words.iter().map(|w| (*w).to_owned()).collect();
        let called = self.run_in(config, &args, &self.tmp.clone()).await;
        tracing::debug!(%version, ended = ?called.result.ended, "stock tables copied");
        Ok(())
    }

    /// Runs the tool in `cwd`.
    ///
    /// # Errors
    /// A signal when the settings folder can't be made.
    pub async fn run(&self, args: &[String], cwd: &Path) -> Result<Called, Signal> {
        let config = self.config().await?;
        Ok(self.run_in(&config, args, cwd).await)
    }

    async fn run_in(&self, config: &Path, args: &[String], cwd: &Path) -> Called {
        let mut argv = vec![self.tool.path.to_string_lossy().into_owned()];
        argv.extend_from_slice(args);
        let home = settings::home(&self.context.state_dir);
        let request = SpawnRequest {
            argv: argv.clone(),
            cwd: cwd.to_owned(),
            env: settings::environment(&home, config, &self.tmp, cwd),
            stdin: None,
            deadline_ms: self.left_ms(),
            output_bytes_max: OUTPUT_BYTES_MAX,
            memory_bytes_max: 0,
            quiet_ms_max: 0,
            tag: self.context.tag.clone(),
        };
        let started = SystemTime::now();
        let result = self.services.spawn.run(request, self.services.cancel.as_ref()).await;
        Called { argv, result, started }
    }

    /// Probes the folder of the outputs and the temporary one again.
    ///
    /// # Errors
    /// A signal: disk full or read-only.
    pub fn probe_after(&self, outputs: &Path) -> Result<(), Signal> {
        space::probe(outputs)?;
        space::probe(&self.tmp)
    }
}

/// Puts how a call ended into the evidence; whether that alone is a failure.
pub fn push_ended(evidence: &mut Evidence, called: &Called) -> bool {
    let ended = match &called.result.ended {
        SpawnEnded::Exited(0 | 5) => return false,
        SpawnEnded::Exited(status) => Signal::exit_status(*status),
        SpawnEnded::Signalled(signal) => Signal::exit_signal(*signal),
        SpawnEnded::DeadlinePassed | SpawnEnded::BusyWithoutOutput(_) => {
            let ms = i64::try_from(called.result.took_ms).unwrap_or(i64::MAX);
            Signal::new(Source::Own, codes::DEADLINE_PASSED).number(ms)
        }
        SpawnEnded::Cancelled => return true,
        SpawnEnded::OutputEndless => {
            let seen = called.result.stdout.total_bytes.max(called.result.stderr.total_bytes);
            let seen = i64::try_from(seen).unwrap_or(i64::MAX);
            Signal::new(Source::Own, codes::OUTPUT_ENDLESS).number(seen)
        }
        SpawnEnded::MemoryOverLimit(bytes) => {
            let bytes = i64::try_from(*bytes).unwrap_or(i64::MAX);
            Signal::new(Source::Own, codes::MEMORY_OVER_LIMIT).number(bytes)
        }
        SpawnEnded::NotFound => Signal::spawn_not_found(TOOL),
        SpawnEnded::Denied => Signal::new(Source::Exit, codes::SPAWN_DENIED).text(TOOL),
        SpawnEnded::Failed(what) => Signal::new(Source::Exit, codes::SPAWN_FAILED).text(what),
    };
    evidence.push(ended);
    push_install_faults(evidence, called);
    for (stream, captured) in
        [(codes::STDERR, &called.result.stderr), (codes::STDOUT, &called.result.stdout)]
    {
        let words = pcbflow_core::text::without_control(&captured.text);
        if !words.trim().is_empty() {
            evidence.push(Signal::words(stream, words.trim()));
        }
    }
    true
}

/// Status 255 with a library that can't be loaded, and status 1 with the usage, are facts of the
/// installation and not of the board.
fn push_install_faults(evidence: &mut Evidence, called: &Called) {
    let said = format!("{}\n{}", called.result.stdout.text, called.result.stderr.text);
    let broken = ["Failed to load kiface library", "Failed to load shared library"];
    match called.result.status() {
        Some(255) if broken.iter().any(|w| said.contains(w)) => {
            evidence.push(Signal::new(Source::Report, signals::INSTALL_BROKEN));
        }
        Some(1) if said.contains("Usage:") || said.contains("Unknown argument") => {
            evidence.push(Signal::new(Source::Report, signals::FLAGS_REFUSED));
        }
        _ => {}
    }
}

/// A moment as the tool writes it: whole seconds.
#[must_use]
pub fn whole_seconds(time: SystemTime) -> i64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}
