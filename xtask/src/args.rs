//! The command line of `cargo xtask`.

use crate::scenes;
use crate::suites;

/// What `cargo xtask help` prints.
pub const HELP: &str = "\
cargo xtask setup                       install what is missing (kicad-cli 9 and 10, KiCad's demos, git, ...)
cargo xtask demo [--keep] [scene...]    run a real board from end to end, then break things on purpose
cargo xtask demo --list                 the scenes
cargo xtask test [--quick] [suite...]   everything that CI runs, or only the suites named
cargo xtask test --list                 the suites and their budgets
cargo xtask editor [option...]          start the stand-in editor and say where it is; --signed-out, --port N, ...
cargo xtask help                        this text

demo and test do the set-up first.
  --quick   leave out the heavy suites and the benches
  --keep    leave the demo's folder there to look at

Variables: KICAD_PREFIX and KICAD_BINDIR say where kicad-cli is put (see scripts/install-kicad --help).
Exit: 0 all is well, 1 something failed, 2 wrong arguments.";

/// A task with its options.
#[derive(Debug, PartialEq, Eq)]
pub enum Task {
    Help,
    Setup,
    Demo(DemoOptions),
    Test(TestOptions),
    /// Options of the program itself, as they are.
    Editor(Vec<String>),
}

/// Options of `demo`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DemoOptions {
    pub list: bool,
    pub keep: bool,
    pub scenes: Vec<String>,
}

/// Options of `test`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TestOptions {
    pub list: bool,
    pub quick: bool,
    pub suites: Vec<String>,
}

/// Reads the words after `cargo xtask`.
pub fn parse(words: &[String]) -> Result<Task, String> {
    let Some((task, rest)) = words.split_first() else {
        return Ok(Task::Help);
    };
    if rest.iter().any(|word| word == "--help" || word == "-h") {
        return Ok(Task::Help);
    }
    match task.as_str() {
        "help" | "--help" | "-h" => Ok(Task::Help),
        "setup" => match rest.first() {
            None => Ok(Task::Setup),
            Some(word) => Err(format!("setup takes no arguments: {word}")),
        },
        "demo" => parse_demo(rest).map(Task::Demo),
        "test" => parse_test(rest).map(Task::Test),
        "editor" => Ok(Task::Editor(rest.to_vec())),
        other => Err(format!("no such task: {other}")),
    }
}

fn parse_demo(words: &[String]) -> Result<DemoOptions, String> {
    let known: Vec<&str> = scenes::scenes().iter().map(|scene| scene.name).collect();
    let mut options = DemoOptions::default();
    for word in words {
        match word.as_str() {
            "--list" => options.list = true,
            "--keep" => options.keep = true,
            name if known.contains(&name) => options.scenes.push(name.to_owned()),
            other => return Err(unknown("scene", other, &known)),
        }
    }
    Ok(options)
}

fn parse_test(words: &[String]) -> Result<TestOptions, String> {
    let known: Vec<&str> = suites::SUITES.iter().map(|suite| suite.name).collect();
    let mut options = TestOptions::default();
    for word in words {
        match word.as_str() {
            "--list" => options.list = true,
            "--quick" => options.quick = true,
            name if known.contains(&name) => options.suites.push(name.to_owned()),
            other => return Err(unknown("suite", other, &known)),
        }
    }
    Ok(options)
}

fn unknown(kind: &str, word: &str, known: &[&str]) -> String {
    if word.starts_with('-') {
        format!("no such option: {word}")
    } else {
        format!("no such {kind}: {word} (there are: {})", known.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_line(line: &str) -> Result<Task, String> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        parse(&words)
    }

    #[test]
    fn no_task_is_a_call_for_help() {
        for line in ["", "help", "--help", "-h", "test --help", "demo -h"] {
            assert_eq!(parse_line(line), Ok(Task::Help), "{line}");
        }
    }

    #[test]
    fn test_takes_quick_and_suites_in_any_order() {
        let expected = TestOptions {
            quick: true,
            suites: vec!["fmt".into(), "clippy".into()],
            ..TestOptions::default()
        };
        for line in ["test --quick fmt clippy", "test fmt --quick clippy"] {
            assert_eq!(parse_line(line), Ok(Task::Test(expected.clone())));
        }
    }

    #[test]
    fn demo_takes_scenes() {
        let expected =
            DemoOptions { keep: true, scenes: vec!["hang".into()], ..DemoOptions::default() };
        assert_eq!(parse_line("demo --keep hang"), Ok(Task::Demo(expected)));
    }

    #[test]
    fn what_the_editor_is_told_is_its_own_affair() {
        let expected = Task::Editor(vec!["--port".into(), "8123".into()]);
        assert_eq!(parse_line("editor --port 8123"), Ok(expected));
    }

    #[test]
    fn wrong_words_are_refused_and_named() {
        for (line, named) in [
            ("tset", "no such task: tset"),
            ("setup now", "setup takes no arguments: now"),
            ("test --fast", "no such option: --fast"),
            ("test fmtt", "no such suite: fmtt (there are: fmt"),
            ("demo hangs", "no such scene: hangs (there are: first-run"),
        ] {
            let why = parse_line(line).expect_err(line);
            assert!(why.starts_with(named), "{line}: {why}");
        }
    }

    #[test]
    fn the_help_names_every_task_and_option() {
        for word in ["setup", "demo", "test", "editor", "help", "--quick", "--keep", "--list"] {
            assert!(HELP.contains(word), "{word}");
        }
    }
}
