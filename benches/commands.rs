//! Benches of the program itself: what a person waits for.
//!
//! `cargo bench -p pcbflow-benches --bench commands` takes a ledger of 1,000,000 events,
//! `-- --quick` one of 100,000. It needs the release binary (built by the command itself), git,
//! and for the KiCad rows kicad-cli with its demos; without them those rows are left out by name.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use pcbflow_benches::{Row, board_event, median, seconds, table};
use pcbflow_core::ids::{BoardName, StreamId};
use pcbflow_core::ports::{Expect, Ledger};
use pcbflow_store::{Mode, OpenOptions, StateHome};

type Fault = Box<dyn std::error::Error>;

/// Events appended in one transaction while a ledger is filled.
const FILL_EVENTS: u64 = 1000;
/// Steps of the board that measures the overhead of a step.
const OVERHEAD_STEPS: usize = 40;
/// What the fabrication row makes, as it stands in a manifest and as kicad-cli's arguments.
const EXPORTS: [(&str, &[&str]); 6] = [
    ("gerbers", &["pcb", "export", "gerbers", "-o", "OUT/", "BOARD"]),
    ("drill", &["pcb", "export", "drill", "-o", "OUT/", "BOARD"]),
    ("position", &["pcb", "export", "pos", "--format", "csv", "-o", "OUT/pos.csv", "BOARD"]),
    ("bom", &["sch", "export", "bom", "-o", "OUT/bom.csv", "SCHEMATIC"]),
    ("pdf", &["pcb", "export", "pdf", "-l", "F.Cu,Edge.Cuts", "-o", "OUT/board.pdf", "BOARD"]),
    ("step", &["pcb", "export", "step", "--board-only", "-f", "-o", "OUT/board.step", "BOARD"]),
];

struct Bench {
    binary: PathBuf,
    dir: tempfile::TempDir,
}

impl Bench {
    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn pcbflow(&self, cwd: &Path, args: &[&str]) -> Command {
        let mut command = Command::new(&self.binary);
        command.args(args).current_dir(cwd).stdout(Stdio::null()).stderr(Stdio::null());
        command.env("PCBFLOW_STATE_HOME", self.path("state"));
        command.env("GIT_CONFIG_GLOBAL", self.path("gitconfig"));
        command.env("NO_COLOR", "1");
        command
    }

    fn run(&self, cwd: &Path, args: &[&str]) -> Result<(), Fault> {
        let out = self.pcbflow(cwd, args).stdout(Stdio::piped()).stderr(Stdio::piped()).output()?;
        if out.status.success() {
            return Ok(());
        }
        let words = String::from_utf8_lossy(&out.stderr).into_owned();
        Err(format!("pcbflow {args:?}: {}\n{words}", out.status).into())
    }
}

fn main() -> Result<(), Fault> {
    let quick = std::env::args().any(|a| a == "--quick");
    let (events, rounds) = if quick { (100_000, 15) } else { (1_000_000, 31) };
    let bench = Bench { binary: build()?, dir: tempfile::tempdir()? };
    std::fs::write(
        bench.path("gitconfig"),
        "[user]\n\tname = bench\n\temail = bench@example.org\n",
    )?;
    let mut rows = vec![status_row(&bench, events, rounds)?, overhead_row(&bench, rounds)?];
    match demo_board() {
        Some(demo) => {
            rows.push(idle_row(&bench, &demo, rounds)?);
            rows.extend(fabrication_rows(&bench, &demo, if quick { 3 } else { 7 })?);
        }
        None => show("left out: rows that need kicad-cli and its demos, which are not here"),
    }
    show(&table(&rows));
    Ok(())
}

#[expect(clippy::print_stdout, reason = "a bench's result is its output")]
fn show(text: &str) {
    println!("{text}");
}

/// Builds the release binary and says where it is.
fn build() -> Result<PathBuf, Fault> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo).args(["build", "--release", "-p", "pcbflow-cli"]).status()?;
    if !status.success() {
        return Err("the release binary could not be built".into());
    }
    // .../target/release/deps/commands-<hash>
    let own = std::env::current_exe()?;
    let release = own.ancestors().nth(2).ok_or("no target folder")?;
    Ok(release.join("pcbflow"))
}

fn demo_board() -> Option<PathBuf> {
    let from_env = std::env::var_os("PCBFLOW_TEST_DEMOS_9").map(PathBuf::from);
    let beside = || {
        let path = std::env::var_os("PATH")?;
        let tool =
            std::env::split_paths(&path).map(|d| d.join("kicad-cli-9")).find(|p| p.exists())?;
        let real = std::fs::canonicalize(tool).ok()?;
        Some(real.parent()?.join("root/usr/share/kicad/demos"))
    };
    let demo = from_env.or_else(beside)?.join("stickhub");
    demo.join("StickHub.kicad_pro").exists().then_some(demo)
}

fn copy_tree(from: &Path, to: &Path) -> Result<(), Fault> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_tree(&entry.path(), &target)?;
        } else {
            std::fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

fn ratio_row(what: &str, ratios: Vec<f64>, most: f64, shown: impl Fn(f64) -> String) -> Row {
    let middle = median(ratios);
    Row {
        what: what.to_owned(),
        figure: shown(middle),
        target: format!("<= {most}x"),
        reached: middle <= most,
    }
}

/// `status` on a board in a large ledger against `--version`.
fn status_row(bench: &Bench, events: u64, rounds: usize) -> Result<Row, Fault> {
    let ws = bench.path("large");
    std::fs::create_dir_all(&ws)?;
    bench.run(&ws, &["init", "busy", "--no-git"])?;
    let state = StateHome(bench.path("state"));
    let options = OpenOptions::of_workspace(&ws, Some(state), Mode::Write);
    let stream = StreamId::Board(BoardName::new("busy")?);
    {
        let opened = pcbflow_store::open(&options)?;
        for at in (0..events).step_by(usize::try_from(FILL_EVENTS)?) {
            let batch: Vec<_> = (at..(at + FILL_EVENTS).min(events)).map(board_event).collect();
            opened.ledger.append(&stream, Expect::Any, &batch)?;
        }
    }
    // The first look folds everything and may store the fold, as the end of a run does.
    bench.run(&ws, &["run", "busy"]).or_else(|_| bench.run(&ws, &["status", "busy"]))?;
    let mut ratios = Vec::new();
    for _ in 0..rounds {
        let version = seconds(|| bench.pcbflow(&ws, &["--version"]).status());
        let status = seconds(|| bench.pcbflow(&ws, &["status", "busy"]).status());
        ratios.push(status / version);
    }
    let what = format!("`status` in a ledger of {events} events, against `pcbflow --version`");
    Ok(ratio_row(&what, ratios, 3.0, |r| format!("{r:.2}x")))
}

/// `run` with nothing to do against `git status` in the same folder.
fn idle_row(bench: &Bench, demo: &Path, rounds: usize) -> Result<Row, Fault> {
    let (hw, ws) = (bench.path("hw"), bench.path("idle"));
    copy_tree(demo, &hw)?;
    std::fs::create_dir_all(&ws)?;
    bench.run(&ws, &["init", "--from", &hw.join("StickHub.kicad_pro").to_string_lossy()])?;
    bench.run(&ws, &["run"])?;
    bench.run(&ws, &["run"])?;
    let mut ratios = Vec::new();
    for _ in 0..rounds {
        let git = seconds(|| {
            Command::new("git").arg("status").current_dir(&ws).stdout(Stdio::null()).status()
        });
        let run = seconds(|| bench.pcbflow(&ws, &["run"]).status());
        ratios.push(run / git);
    }
    let what = "`run` on a finished board, against `git status` in the same folder";
    Ok(ratio_row(what, ratios, 3.0, |r| format!("{r:.2}x")))
}

/// What a step costs besides its command.
fn overhead_row(bench: &Bench, rounds: usize) -> Result<Row, Fault> {
    let ws = bench.path("overhead");
    std::fs::create_dir_all(&ws)?;
    bench.run(&ws, &["init", "steps", "--no-git"])?;
    let mut text = String::from("board: steps\nphases:\n  - id: 01-many\n    steps:\n");
    for n in 0..OVERHEAD_STEPS {
        text.push_str(&format!(
            "      - id: s{n}\n        uses: process/check\n        with: {{ argv: [\"true\"] }}\n"
        ));
        if n > 0 {
            text.push_str(&format!("        needs: [s{}]\n", n - 1));
        }
    }
    std::fs::write(ws.join("projects/steps/project.yaml"), text)?;
    let mut costs = Vec::new();
    for _ in 0..rounds.min(9) {
        let bare = seconds(|| {
            for _ in 0..OVERHEAD_STEPS {
                // Only the time counts.
                drop(Command::new("true").status());
            }
        });
        let idle = seconds(|| bench.pcbflow(&ws, &["--version"]).status());
        let run = seconds(|| bench.pcbflow(&ws, &["check", "steps", "--force"]).status());
        costs.push((run - idle - bare) * 1000.0 / OVERHEAD_STEPS as f64);
    }
    let middle = median(costs);
    Ok(Row {
        what: format!("overhead of one step ({OVERHEAD_STEPS} in a row), besides its command"),
        figure: format!("{middle:.1} ms"),
        target: "<= 10 ms".to_owned(),
        reached: middle <= 10.0,
    })
}

/// All fabrication outputs against the same kicad-cli calls one after another.
fn fabrication_rows(bench: &Bench, demo: &Path, rounds: usize) -> Result<Vec<Row>, Fault> {
    let (hw, ws) = (bench.path("fab-hw"), bench.path("fab"));
    copy_tree(demo, &hw)?;
    std::fs::create_dir_all(&ws)?;
    bench.run(&ws, &["init", "fab", "--no-git"])?;
    let what: Vec<&str> = EXPORTS.iter().map(|(name, _)| *name).collect();
    let text = format!(
        "board: fab\nroot: ../../../fab-hw\nphases:\n  - id: 12-final\n    steps:\n      - id: fab\n        uses: kicad/export\n        with: {{ board: StickHub.kicad_pcb, schematic: StickHub.kicad_sch, what: [{}] }}\n",
        what.join(", ")
    );
    std::fs::write(ws.join("projects/fab/project.yaml"), text)?;
    let (mut one, mut two) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let script = seconds(|| script(bench, &hw));
        let run = |jobs: &str| {
            // The phase is not committed (no repository), so the exit status is not looked at;
            // what was made is.
            let took =
                seconds(|| bench.pcbflow(&ws, &["run", "fab", "--force", "-j", jobs]).status());
            let made = ws.join("projects/fab/out").exists();
            if made { Ok(took) } else { Err("the run made no outputs") }
        };
        one.push(run("1")? / script);
        two.push(script / run("2")?);
    }
    let faster = median(two);
    Ok(vec![
        ratio_row(
            "all fabrication outputs with one job, against the same calls in a script",
            one,
            1.05,
            |r| format!("{r:.2}x"),
        ),
        Row {
            what: "the same on two cores, against the script".to_owned(),
            figure: format!("{faster:.2} times faster"),
            target: ">= 1.7 times faster".to_owned(),
            reached: faster >= 1.7,
        },
    ])
}

/// The calls of [`EXPORTS`] one after another, as a shell script makes them.
fn script(bench: &Bench, hw: &Path) -> Result<(), Fault> {
    let out = bench.path("script-out");
    std::fs::create_dir_all(&out)?;
    for (_, args) in EXPORTS {
        let args: Vec<String> = args
            .iter()
            .map(|a| {
                a.replace("OUT", &out.to_string_lossy())
                    .replace("BOARD", "StickHub.kicad_pcb")
                    .replace("SCHEMATIC", "StickHub.kicad_sch")
            })
            .collect();
        Command::new("kicad-cli")
            .args(args.iter().map(OsStr::new))
            .current_dir(hw)
            .env("LC_ALL", "C.UTF-8")
            .env("KICAD_CONFIG_HOME", bench.path("kicad-settings"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()?;
    }
    Ok(())
}
