//! `cargo xtask demo`: a real board from end to end, then things are broken on purpose.

use crate::args::DemoOptions;
use crate::board;
use crate::run::{self, Ended, Place};
use crate::scenes::{self, Act, Ground, Scene, StandIn};
use crate::setup::{self, Tools};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// No command of the demo takes longer.
const COMMAND_LIMIT: Duration = Duration::from_secs(5 * 60);
const BUILD_LIMIT: Duration = Duration::from_secs(30 * 60);
/// Set in the child that shows one scene on mounts of its own.
const INSIDE: &str = "PCBFLOW_DEMO_INSIDE";

/// How a scene ended.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    Passed,
    Failed(Vec<String>),
    Skipped(String),
}

/// Shows the scenes; true if all went as expected.
pub fn demo(options: &DemoOptions) -> Result<bool, String> {
    let all = scenes::scenes();
    let picked: Vec<&Scene> = pick(&all, &options.scenes);
    if options.list {
        for scene in picked {
            println!("{:12} {:5} {}", scene.name, scene.class.unwrap_or(""), scene.title);
        }
        return Ok(true);
    }
    if std::env::var_os(INSIDE).is_some() {
        return inside(&picked);
    }
    let root = run::root()?;
    let tools = setup::setup()?;
    let binaries = build(&root)?;
    let folder = tempfile::Builder::new()
        .prefix("pcbflow-demo-")
        .tempdir()
        .map_err(|why| format!("no temporary folder: {why}"))?;
    let stage = Stage::new(&tools, &binaries, folder.path())?;
    let mut results = Vec::new();
    for scene in picked {
        let start = Instant::now();
        println!("\n== {}: {}", scene.name, titled(scene));
        let outcome = match scene.ground {
            Ground::SmallDisk(_) => stage.in_a_child(scene),
            _ => stage.show(scene),
        };
        results.push((scene.name, outcome, start.elapsed()));
    }
    let (text, failed) = table(&results);
    println!("\n{text}");
    if options.keep || failed > 0 {
        println!("The demo's folder: {}", folder.keep().display());
    }
    Ok(failed == 0)
}

fn titled(scene: &Scene) -> String {
    match scene.class {
        Some(class) => format!("{} ({class})", scene.title),
        None => scene.title.to_owned(),
    }
}

/// The scenes named, or all; with what they stand on.
fn pick<'a>(all: &'a [Scene], named: &[String]) -> Vec<&'a Scene> {
    let wanted = |scene: &Scene| named.is_empty() || named.iter().any(|name| name == scene.name);
    let needs_first =
        all.iter().any(|scene| wanted(scene) && scene.ground == Ground::AfterFirstRun);
    all.iter().filter(|scene| wanted(scene) || (needs_first && scene.name == "first-run")).collect()
}

/// Builds the release binary; hands back its folder.
fn build(root: &Path) -> Result<PathBuf, String> {
    let place = Place { folder: root.to_owned(), env: Vec::new() };
    let argv = ["cargo", "build", "--release", "--package", "pcbflow-cli", "--bin", "pcbflow"];
    println!("$ {}", run::shown(&argv));
    match place.run(&argv, BUILD_LIMIT) {
        Ended::Exit(0) => {}
        other => return Err(format!("`{}`: {other}", run::shown(&argv))),
    }
    let (_, text) = place.capture(&["cargo", "metadata", "--format-version", "1", "--no-deps"])?;
    let metadata: serde_json::Value = serde_json::from_str(&text)
        .map_err(|why| format!("`cargo metadata` is not JSON: {why}"))?;
    let target = metadata["target_directory"].as_str();
    let target = target.ok_or_else(|| "`cargo metadata` names no target folder".to_owned())?;
    Ok(Path::new(target).join("release"))
}

/// Where the scenes play.
struct Stage {
    folder: PathBuf,
    /// KiCad's demo project.
    project: PathBuf,
    /// PATH for all commands.
    path: OsString,
}

impl Stage {
    fn new(tools: &Tools, binaries: &Path, folder: &Path) -> Result<Stage, String> {
        // The first version's demos: every newer KiCad reads them too.
        let demos = tools.kicad.iter().find_map(|kicad| kicad.demos.as_deref());
        let demos =
            demos.ok_or("KiCad's demo projects are missing (Debian: package kicad-demos)")?;
        let project = demos.join("stickhub");
        if !project.join("StickHub.kicad_pro").is_file() {
            return Err(format!("the demo project StickHub is not in {}", demos.display()));
        }
        let mut dirs = vec![binaries.to_owned()];
        dirs.extend(std::env::split_paths(&tools.path()));
        let path = std::env::join_paths(dirs).map_err(|why| format!("PATH: {why}"))?;
        let folder = folder.to_owned();
        Ok(Stage { folder, project, path })
    }

    /// Shows one scene here.
    fn show(&self, scene: &Scene) -> Outcome {
        let ground = match scene.ground {
            Ground::AfterFirstRun => self.folder.join("first-run"),
            _ => self.folder.join(scene.name),
        };
        if scene.ground == Ground::AfterFirstRun && !ground.is_dir() {
            return Outcome::Failed(vec!["the first run left nothing to stand on".to_owned()]);
        }
        if let Ground::SmallDisk(megabytes) = scene.ground
            && let Err(why) = mount(&ground, megabytes)
        {
            return Outcome::Skipped(why);
        }
        let player = Player::new(&ground, &self.path);
        if scene.ground != Ground::AfterFirstRun
            && let Err(why) = player.lay_out(&self.project)
        {
            return Outcome::Failed(vec![why]);
        }
        player.play(&scene.acts)
    }

    /// Shows one scene in a child that has mounts of its own, so that a small disk goes away with it, whatever
    /// happens. An ordinary user may do that too, where the kernel allows it.
    fn in_a_child(&self, scene: &Scene) -> Outcome {
        let place = Place {
            folder: self.folder.clone(),
            env: vec![("PATH".into(), Some(self.path.clone()))],
        };
        let program = match std::env::current_exe() {
            Ok(program) => program.display().to_string(),
            Err(why) => return Outcome::Failed(vec![format!("cannot start myself: {why}")]),
        };
        let ways: [&[&str]; 2] =
            [&["unshare", "--mount"], &["unshare", "--map-root-user", "--mount"]];
        let probe = "mkdir -p probe && mount -t tmpfs -o size=64k none probe";
        let works = |way: &&&[&str]| {
            let argv = [way, &["sh", "-c", probe][..]].concat();
            let output = place.command(&argv).output();
            output.is_ok_and(|output| output.status.success())
        };
        let Some(way) = ways.iter().find(works) else {
            let why =
                "this user cannot mount a small disk here (run it as root, outside a container)";
            println!("Skipped: {why}.");
            return Outcome::Skipped(why.to_owned());
        };
        let argv = [way, &[program.as_str(), "demo", scene.name][..]].concat();
        let mut place = place.clone();
        let inside = [self.folder.as_os_str(), self.project.as_os_str()];
        // Both are paths without a colon, or the scene can't be shown.
        match std::env::join_paths(inside) {
            Ok(inside) => place.env.push((INSIDE.into(), Some(inside))),
            Err(why) => return Outcome::Failed(vec![format!("odd folder name: {why}")]),
        }
        match place.run(&argv, COMMAND_LIMIT * 4) {
            Ended::Exit(0) => Outcome::Passed,
            Ended::Exit(1) => Outcome::Failed(vec!["see above".to_owned()]),
            other => Outcome::Failed(vec![other.to_string()]),
        }
    }
}

/// The child's side of `in_a_child`.
fn inside(picked: &[&Scene]) -> Result<bool, String> {
    let inside = std::env::var_os(INSIDE).unwrap_or_default();
    let mut parts = std::env::split_paths(&inside);
    let (Some(folder), Some(project), [scene]) = (parts.next(), parts.next(), picked) else {
        return Err(format!("{INSIDE} is not for people"));
    };
    let path = std::env::var_os("PATH").unwrap_or_default();
    let stage = Stage { folder, project, path };
    match stage.show(scene) {
        Outcome::Passed => Ok(true),
        Outcome::Failed(_) => Ok(false),
        Outcome::Skipped(why) => Err(why),
    }
}

fn mount(folder: &Path, megabytes: u32) -> Result<(), String> {
    std::fs::create_dir_all(folder).map_err(|why| format!("{}: {why}", folder.display()))?;
    let place = Place { folder: folder.to_owned(), env: Vec::new() };
    let options = format!("size={megabytes}m");
    let target = folder.display().to_string();
    let argv = ["mount", "-t", "tmpfs", "-o", &options, "tmpfs", &target];
    println!("$ {}", run::shown(&argv));
    match place.run(&argv, COMMAND_LIMIT) {
        Ended::Exit(0) => Ok(()),
        other => Err(format!("mounting a small disk: {other}")),
    }
}

/// Plays the acts of one scene in one folder.
struct Player {
    workspace: PathBuf,
    project: PathBuf,
    saved: PathBuf,
    stand_in: PathBuf,
    /// Made by the stand-in when it is used.
    mark: PathBuf,
    path: OsString,
    home: PathBuf,
}

impl Player {
    fn new(ground: &Path, path: &OsString) -> Player {
        Player {
            workspace: ground.join("workspace"),
            project: ground.join("hw/StickHub"),
            saved: ground.join("saved/StickHub"),
            stand_in: ground.join("stand-in"),
            mark: ground.join("stand-in-was-used"),
            path: path.clone(),
            home: ground.join("home"),
        }
    }

    fn lay_out(&self, project: &Path) -> Result<(), String> {
        copy_folder(project, &self.project)?;
        copy_folder(project, &self.saved)?;
        for folder in [&self.workspace, &self.home] {
            std::fs::create_dir_all(folder)
                .map_err(|why| format!("{}: {why}", folder.display()))?;
        }
        println!("KiCad's demo project StickHub is copied to {}", self.project.display());
        println!("$ cd {}", self.workspace.display());
        Ok(())
    }

    /// Settings and state of the person who runs the demo are neither read nor changed.
    fn place(&self) -> Place {
        let mut path = self.path.clone();
        if self.stand_in.is_dir() {
            let dirs =
                std::iter::once(self.stand_in.clone()).chain(std::env::split_paths(&self.path));
            path = std::env::join_paths(dirs).unwrap_or(path);
        }
        let mut env: Vec<(String, Option<OsString>)> = std::env::vars_os()
            .filter_map(|(name, _)| name.into_string().ok())
            .filter(|name| {
                ["PCBFLOW_", "GIT_", "KICAD", "CARGO_"].iter().any(|ours| name.starts_with(ours))
            })
            .map(|name| (name, None))
            .collect();
        env.extend([
            ("PATH".into(), Some(path)),
            ("HOME".into(), Some(self.home.clone().into())),
            ("XDG_STATE_HOME".into(), Some(self.home.join("state").into())),
            ("XDG_CONFIG_HOME".into(), Some(self.home.join("config").into())),
            ("XDG_DATA_HOME".into(), Some(self.home.join("data").into())),
            ("XDG_CACHE_HOME".into(), Some(self.home.join("cache").into())),
        ]);
        Place { folder: self.workspace.clone(), env }
    }

    /// Plays all acts; what went wrong does not stop the scene, since later acts may put things back.
    fn play(&self, acts: &[Act]) -> Outcome {
        let mut wrong = Vec::new();
        for act in acts {
            if let Err(why) = self.act(act) {
                println!("!! {why}");
                wrong.push(why);
            }
        }
        match wrong.is_empty() {
            true => Outcome::Passed,
            false => Outcome::Failed(wrong),
        }
    }

    fn act(&self, act: &Act) -> Result<(), String> {
        match act {
            Act::Say(words) => {
                println!("\n# {words}");
                Ok(())
            }
            Act::Run(codes, argv) => self.run(codes, argv),
            Act::DropFootprint(reference) => self.drop_footprint(reference),
            Act::SetTimeout(kind, timeout) => self.set_timeout(kind, timeout),
            Act::StandIn(what) => self.put_stand_in(*what),
            Act::StandInWasUsed => self.take_stand_in_away(),
            Act::Answer(words) => self.answer(words),
            Act::KillWhenStandInIsUsed(argv) => self.kill_in_the_middle(argv),
        }
    }

    fn run(&self, codes: &[i32], argv: &[&str]) -> Result<(), String> {
        let argv = self.filled_in(argv)?;
        let argv: Vec<&str> = argv.iter().map(String::as_str).collect();
        println!("$ {}", run::shown(&argv));
        let ended = self.place().run(&argv, COMMAND_LIMIT);
        if matches!(ended, Ended::Exit(code) if codes.contains(&code)) {
            return Ok(());
        }
        let wanted: Vec<String> = codes.iter().map(i32::to_string).collect();
        Err(format!("`{}`: {ended}, expected exit code {}", run::shown(&argv), wanted.join(" or ")))
    }

    fn filled_in(&self, argv: &[&str]) -> Result<Vec<String>, String> {
        let fill = |word: &&str| match *word {
            "{board}" => self.board(),
            plain => Ok(plain.to_owned()),
        };
        argv.iter().map(fill).collect()
    }

    /// The name of the only board.
    fn board(&self) -> Result<String, String> {
        let projects = self.workspace.join("projects");
        let entries =
            std::fs::read_dir(&projects).map_err(|why| format!("{}: {why}", projects.display()))?;
        let names: Vec<String> = entries
            .flatten()
            .filter(|entry| entry.path().join("project.yaml").is_file())
            .filter_map(|entry| entry.file_name().into_string().ok())
            .collect();
        match names.as_slice() {
            [name] => Ok(name.clone()),
            other => Err(format!("expected one board in the workspace, found {}", other.len())),
        }
    }

    fn drop_footprint(&self, reference: &str) -> Result<(), String> {
        println!("(the footprint of {reference} is removed from StickHub.kicad_pcb)");
        let drop = |text: &str| board::drop_footprint(text, reference);
        edit(&self.project.join("StickHub.kicad_pcb"), drop)
    }

    fn set_timeout(&self, kind: &str, timeout: &str) -> Result<(), String> {
        let manifest = format!("projects/{}/project.yaml", self.board()?);
        println!("(in {manifest}, the step {kind} gets `timeout: {timeout}`)");
        edit(&self.workspace.join(manifest), |text| board::set_timeout(text, kind, timeout))
    }

    fn put_stand_in(&self, what: StandIn) -> Result<(), String> {
        let words = match what {
            StandIn::Hangs => "hangs on the first design-rule check",
            StandIn::IsSlow => "takes some seconds longer for the first design-rule check",
        };
        println!("(a program that {words} now stands before the real kicad-cli on PATH)");
        let fail = |why: std::io::Error| format!("{}: {why}", self.stand_in.display());
        std::fs::create_dir_all(&self.stand_in).map_err(fail)?;
        for name in ["kicad-cli", "kicad-cli-9", "kicad-cli-10"] {
            if let Some(real) = run::find_in(&self.path, name) {
                let file = self.stand_in.join(name);
                std::fs::write(&file, stand_in_script(what, &self.mark, &real)).map_err(fail)?;
                let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
                std::fs::set_permissions(&file, mode).map_err(fail)?;
            }
        }
        Ok(())
    }

    fn take_stand_in_away(&self) -> Result<(), String> {
        let fail = |why: std::io::Error| format!("{}: {why}", self.stand_in.display());
        std::fs::remove_dir_all(&self.stand_in).map_err(fail)?;
        if !self.mark.is_dir() {
            return Err(
                "the program before the real kicad-cli was never used; the scene shows nothing"
                    .to_owned(),
            );
        }
        std::fs::remove_dir(&self.mark).map_err(fail)
    }

    fn answer(&self, words: &str) -> Result<(), String> {
        let (_, status) = self.place().capture(&["pcbflow", "status", "--json"])?;
        match board::open_ask(&status) {
            Some(ask) => self.run(&[0], &["pcbflow", "answer", &ask, words]),
            None => Err("`pcbflow status --json` shows no open ask".to_owned()),
        }
    }

    fn kill_in_the_middle(&self, argv: &[&str]) -> Result<(), String> {
        println!("$ {} &", run::shown(argv));
        let mut child =
            self.place().command(argv).spawn().map_err(|why| format!("{}: {why}", argv[0]))?;
        let start = Instant::now();
        while !self.mark.is_dir() && start.elapsed() < COMMAND_LIMIT {
            if let Ok(Some(status)) = child.try_wait() {
                return Err(format!(
                    "`{}` ended before it could be killed: {status}",
                    run::shown(argv)
                ));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        println!("$ kill -9 {}", child.id());
        child.kill().map_err(|why| format!("kill: {why}"))?;
        match run::wait(&mut child, COMMAND_LIMIT) {
            Ended::Signal(9) => Ok(()),
            other => Err(format!("`{}`: {other}, expected to be killed", run::shown(argv))),
        }
    }
}

/// The stand-in's script. Making a folder succeeds once only, whoever comes first.
fn stand_in_script(what: StandIn, mark: &Path, real: &Path) -> String {
    let quoted = |path: &Path| format!("'{}'", path.display().to_string().replace('\'', r"'\''"));
    let first = match what {
        StandIn::Hangs => "exec sleep 3600",
        StandIn::IsSlow => "sleep 3",
    };
    format!(
        "#!/bin/sh\nif [ \"$1 $2\" = 'pcb drc' ] && mkdir {} 2>/dev/null; then {first}; fi\nexec {} \"$@\"\n",
        quoted(mark),
        quoted(real)
    )
}

fn edit(file: &Path, change: impl Fn(&str) -> Option<String>) -> Result<(), String> {
    let fail = |why: std::io::Error| format!("{}: {why}", file.display());
    let text = std::fs::read_to_string(file).map_err(fail)?;
    let changed =
        change(&text).ok_or_else(|| format!("{}: not written as expected", file.display()))?;
    std::fs::write(file, changed).map_err(fail)
}

fn copy_folder(from: &Path, to: &Path) -> Result<(), String> {
    let fail = |why: std::io::Error| format!("{}: {why}", from.display());
    std::fs::create_dir_all(to).map_err(|why| format!("{}: {why}", to.display()))?;
    for entry in std::fs::read_dir(from).map_err(fail)? {
        let entry = entry.map_err(fail)?;
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_folder(&entry.path(), &target)?;
        } else {
            std::fs::copy(entry.path(), target).map_err(fail)?;
        }
    }
    Ok(())
}

/// The table of results and how many failed.
fn table(results: &[(&str, Outcome, Duration)]) -> (String, usize) {
    let mut text = String::new();
    let (mut passed, mut failed, mut skipped) = (0, 0, 0);
    for (name, outcome, took) in results {
        let (word, why) = match outcome {
            Outcome::Passed => {
                passed += 1;
                ("as expected", String::new())
            }
            Outcome::Failed(wrong) => {
                failed += 1;
                ("FAILED", format!("  {}", wrong.join("; ")))
            }
            Outcome::Skipped(why) => {
                skipped += 1;
                ("skipped", format!("  {why}"))
            }
        };
        text += &format!("{name:12} {word:11} {:>8}{why}\n", run::span(*took));
    }
    text += &format!("{passed} passed, {failed} failed");
    if skipped > 0 {
        text += &format!(", {skipped} skipped");
    }
    (text, failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scene_brings_along_what_it_stands_on() {
        let all = scenes::scenes();
        let names = |named: &[&str]| {
            let named: Vec<String> = named.iter().map(|name| (*name).to_owned()).collect();
            pick(&all, &named).iter().map(|scene| scene.name).collect::<Vec<_>>()
        };
        assert_eq!(names(&["lost-part"]), ["first-run", "lost-part"]);
        assert_eq!(names(&["hang"]), ["hang"]);
        assert_eq!(names(&[]).len(), all.len());
    }

    #[test]
    fn the_table_tells_failed_from_skipped() {
        let second = Duration::from_secs(1);
        let (text, failed) = table(&[
            ("a", Outcome::Passed, second),
            ("b", Outcome::Failed(vec!["x".into(), "y".into()]), second),
            ("c", Outcome::Skipped("no rights".into()), second),
        ]);
        assert_eq!(failed, 1);
        assert!(text.contains("FAILED         1.0 s  x; y"), "{text}");
        assert!(text.contains("skipped        1.0 s  no rights"), "{text}");
        assert!(text.ends_with("1 passed, 1 failed, 1 skipped"), "{text}");
    }

    fn player(folder: &Path) -> Player {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let player = Player::new(folder, &path);
        for needed in [&player.workspace, &player.project, &player.home] {
            std::fs::create_dir_all(needed).expect("a folder");
        }
        player
    }

    #[test]
    fn an_unexpected_exit_code_fails_the_scene_but_does_not_stop_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let outcome = player(folder.path()).play(&[
            Act::Run(&[0], &["sh", "-c", "exit 3"]),
            Act::Run(&[3, 4], &["sh", "-c", "exit 4"]),
            Act::Run(&[0], &["touch", "later"]),
        ]);
        let wrong = "`sh -c 'exit 3'`: exit code 3, expected exit code 0";
        assert_eq!(outcome, Outcome::Failed(vec![wrong.to_owned()]));
        assert!(folder.path().join("workspace/later").is_file());
    }

    #[test]
    fn a_stand_in_interferes_once_and_is_noticed() {
        let folder = tempfile::tempdir().expect("a folder");
        let bin = folder.path().join("bin");
        std::fs::create_dir_all(&bin).expect("a folder");
        let real = bin.join("kicad-cli");
        std::fs::write(&real, "#!/bin/sh\necho \"$@\" >> calls\n").expect("a program");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&real, mode).expect("its rights");
        let mut player = player(folder.path());
        let old = std::env::split_paths(&player.path).collect::<Vec<_>>();
        player.path = std::env::join_paths([bin].into_iter().chain(old)).expect("a path");

        let unused = [Act::StandIn(StandIn::IsSlow), Act::StandInWasUsed];
        assert!(matches!(player.play(&unused), Outcome::Failed(_)));

        let outcome = player.play(&[
            Act::StandIn(StandIn::IsSlow),
            Act::Run(&[0], &["kicad-cli", "version"]),
            Act::KillWhenStandInIsUsed(&["kicad-cli", "pcb", "drc", "killed"]),
            Act::Run(&[0], &["kicad-cli", "pcb", "drc", "a b"]),
            Act::StandInWasUsed,
            Act::Run(&[0], &["kicad-cli", "last"]),
        ]);
        assert_eq!(outcome, Outcome::Passed);
        let calls = std::fs::read_to_string(player.workspace.join("calls")).expect("calls");
        assert_eq!(calls, "version\npcb drc a b\nlast\n");
    }

    #[test]
    fn settings_of_the_person_stay_outside() {
        let folder = tempfile::tempdir().expect("a folder");
        const INSIDE_HOME: &[&str] = &[
            "sh",
            "-c",
            "case $HOME:$XDG_STATE_HOME in */home:*/home/state) ;; *) exit 1 ;; esac",
        ];
        let outcome = player(folder.path()).play(&[Act::Run(&[0], INSIDE_HOME)]);
        assert_eq!(outcome, Outcome::Passed);
    }
}
