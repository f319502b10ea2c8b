//! Starts programs with a time limit, and prints what is started.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How often a running program is looked at.
const POLL_MS: u64 = 25;

/// How a program ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It ended by itself with this code.
    Exit(i32),
    /// It was ended by this signal.
    Signal(i32),
    /// It did not end in time and was killed with all its children.
    Deadline(Duration),
    /// It could not be started.
    NotStarted(String),
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ended::Exit(code) => write!(f, "exit code {code}"),
            Ended::Signal(signal) => write!(f, "ended by signal {signal}"),
            Ended::Deadline(limit) => {
                write!(f, "did not end within {} and was stopped", span(*limit))
            }
            Ended::NotStarted(why) => write!(f, "could not be started ({why})"),
        }
    }
}

/// A span of time in seconds or minutes.
pub fn span(time: Duration) -> String {
    if time < Duration::from_secs(90) {
        format!("{:.1} s", time.as_secs_f64())
    } else {
        minutes(time)
    }
}

/// A span of time in minutes.
pub fn minutes(time: Duration) -> String {
    format!("{:.1} min", time.as_secs_f64() / 60.0)
}

/// Where a program runs: its folder and the variables that are set (or, if `None`, removed).
#[derive(Clone, Debug, Default)]
pub struct Place {
    pub folder: PathBuf,
    pub env: Vec<(String, Option<OsString>)>,
}

impl Place {
    /// A command in this place. It reads nothing from the terminal.
    pub fn command(&self, argv: &[&str]) -> Command {
        let program = self.program(argv[0]);
        let mut command = Command::new(program);
        command.args(&argv[1..]).current_dir(&self.folder).stdin(Stdio::null());
        for (name, value) in &self.env {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command
    }

    /// The program to start: cargo is the one that started us, all others are looked up on *this place's* PATH.
    fn program(&self, name: &str) -> OsString {
        if name == "cargo" {
            return std::env::var_os("CARGO").unwrap_or_else(|| name.into());
        }
        let path = self.env.iter().rev().find(|(key, _)| key == "PATH");
        let path = path.and_then(|(_, value)| value.as_deref());
        match path.and_then(|path| find_in(path, name)) {
            Some(file) => file.into_os_string(),
            None => name.into(),
        }
    }

    /// Runs a command to its end, its output going where ours goes.
    pub fn run(&self, argv: &[&str], limit: Duration) -> Ended {
        match self.command(argv).spawn() {
            Ok(mut child) => wait(&mut child, limit),
            Err(why) => Ended::NotStarted(why.to_string()),
        }
    }

    /// Runs a command and hands back its standard output.
    pub fn capture(&self, argv: &[&str]) -> Result<(Ended, String), String> {
        let output = self
            .command(argv)
            .stderr(Stdio::inherit())
            .output()
            .map_err(|why| format!("{} could not be started ({why})", argv[0]))?;
        let ended = ended(output.status);
        Ok((ended, String::from_utf8_lossy(&output.stdout).into_owned()))
    }
}

/// Waits for a child; past the limit it is killed, and with it everything that it started.
pub fn wait(child: &mut Child, limit: Duration) -> Ended {
    let start = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return ended(status),
            Ok(None) => {}
            Err(why) => return Ended::NotStarted(why.to_string()),
        }
        if start.elapsed() >= limit {
            kill_tree(child);
            return Ended::Deadline(limit);
        }
        std::thread::sleep(Duration::from_millis(POLL_MS));
    }
}

fn ended(status: std::process::ExitStatus) -> Ended {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => Ended::Exit(code),
        (None, signal) => Ended::Signal(signal.unwrap_or(0)),
    }
}

/// Kills a child and its descendants. They are looked up before the first of them dies, since orphans lose their
/// parent.
fn kill_tree(child: &mut Child) {
    let family = descendants(child.id(), &parents());
    if let Err(why) = child.kill() {
        eprintln!("xtask: cannot end process {}: {why}", child.id());
    }
    if !family.is_empty() {
        let list: Vec<String> = family.iter().map(u32::to_string).collect();
        // The shell's own `kill`: the program of that name is not on every machine. Some may be gone already.
        let script = format!("kill -9 {} 2>/dev/null || true", list.join(" "));
        if let Err(why) = Command::new("sh").args(["-c", &script]).status() {
            eprintln!("xtask: cannot end processes {}: {why}", list.join(", "));
        }
    }
    if let Err(why) = child.wait() {
        eprintln!("xtask: lost process {}: {why}", child.id());
    }
}

/// All processes as (process, parent).
fn parents() -> Vec<(u32, u32)> {
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter_map(|entry| {
            let id = entry.file_name().to_str()?.parse().ok()?;
            let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
            Some((id, parent_in_stat(&stat)?))
        })
        .collect()
}

/// The parent in a line of `/proc/N/stat`: `N (name) state parent ...`, where the name may hold anything.
fn parent_in_stat(stat: &str) -> Option<u32> {
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(1)?.parse().ok()
}

fn descendants(root: u32, parents: &[(u32, u32)]) -> Vec<u32> {
    let mut family = vec![root];
    let mut seen = 0;
    while seen < family.len() {
        let of = family[seen];
        family.extend(parents.iter().filter(|(_, parent)| *parent == of).map(|(id, _)| *id));
        seen += 1;
    }
    family.split_off(1)
}

/// Looks a program up in a list of folders like PATH.
pub fn find_in(path: &std::ffi::OsStr, name: &str) -> Option<PathBuf> {
    std::env::split_paths(path).map(|folder| folder.join(name)).find(|file| is_executable(file))
}

/// True for a file that may be run.
pub fn is_executable(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(file)
        .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

/// A command as a person would type it.
pub fn shown(argv: &[&str]) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@+%".contains(c);
    let words: Vec<String> = argv
        .iter()
        .map(|word| match !word.is_empty() && word.chars().all(plain) {
            true => (*word).to_owned(),
            false => format!("'{}'", word.replace('\'', r"'\''")),
        })
        .collect();
    words.join(" ")
}

/// The root of the workspace: the folder that holds `xtask/`.
pub fn root() -> Result<PathBuf, String> {
    if let Some(folder) = std::env::var_os("CARGO_MANIFEST_DIR") {
        let folder = PathBuf::from(folder);
        if let Some(root) = folder.parent().filter(|root| root.join("xtask/Cargo.toml").is_file()) {
            return Ok(root.to_owned());
        }
    }
    let here = std::env::current_dir().map_err(|why| format!("no current folder: {why}"))?;
    here.ancestors()
        .find(|folder| folder.join("xtask/Cargo.toml").is_file())
        .map(Path::to_owned)
        .ok_or_else(|| "run this inside the project's folder".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place() -> Place {
        Place { folder: std::env::temp_dir(), env: Vec::new() }
    }

    #[test]
    fn every_way_to_end_is_told_apart() {
        let minute = Duration::from_secs(60);
        assert_eq!(place().run(&["sh", "-c", "exit 7"], minute), Ended::Exit(7));
        assert_eq!(place().run(&["sh", "-c", "kill -9 $$"], minute), Ended::Signal(9));
        let absent = place().run(&["no-such-program-here"], minute);
        assert!(matches!(absent, Ended::NotStarted(_)), "{absent}");
    }

    #[test]
    fn a_hang_is_ended_with_its_children() {
        let folder = tempfile::tempdir().expect("a folder");
        let place = Place { folder: folder.path().to_owned(), env: Vec::new() };
        let limit = Duration::from_millis(700);
        let ended = place.run(&["sh", "-c", "sleep 600 & echo $! > child; wait"], limit);
        assert_eq!(ended, Ended::Deadline(limit));
        let child = std::fs::read_to_string(folder.path().join("child")).expect("its number");
        // Gone, or a dead entry that its new parent has not collected yet. A kill takes a moment.
        let gone = || match std::fs::read_to_string(format!("/proc/{}/stat", child.trim())) {
            Ok(stat) => stat.contains(") Z "),
            Err(_) => true,
        };
        let start = Instant::now();
        while !gone() {
            assert!(start.elapsed() < Duration::from_secs(10), "{child} lives on");
            std::thread::sleep(Duration::from_millis(POLL_MS));
        }
    }

    #[test]
    fn variables_of_a_place_reach_the_program() {
        let mut place = place();
        place.env = vec![("XTASK_A".into(), Some("1".into())), ("HOME".into(), None)];
        let script = "test \"$XTASK_A\" = 1 && test -z \"${HOME+set}\"";
        assert_eq!(place.run(&["sh", "-c", script], Duration::from_secs(60)), Ended::Exit(0));
    }

    #[test]
    fn family_trees_are_followed_to_the_leaves() {
        let parents = [(2, 1), (3, 2), (4, 3), (9, 8)];
        assert_eq!(descendants(1, &parents), [2, 3, 4]);
        assert_eq!(descendants(4, &parents), Vec::<u32>::new());
        assert_eq!(parent_in_stat("12 (a ) b) S 7 12 12"), Some(7));
        assert_eq!(parent_in_stat("nonsense"), None);
    }

    #[test]
    fn commands_are_shown_as_typed() {
        assert_eq!(shown(&["mv", "../hw/a.kicad_pro", "b c"]), "mv ../hw/a.kicad_pro 'b c'");
        assert_eq!(shown(&["echo", "it's", ""]), r"echo 'it'\''s' ''");
    }

    #[test]
    fn spans_read_well() {
        assert_eq!(span(Duration::from_millis(1530)), "1.5 s");
        assert_eq!(span(Duration::from_secs(90)), "1.5 min");
        assert_eq!(minutes(Duration::from_secs(3)), "0.1 min");
    }
}
