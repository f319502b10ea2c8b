//! The table of what `cargo xtask test` runs.
//!
//! A suite that does not exist yet is not in the table: an entry always does its work. To add one, add an entry;
//! its place is its turn.

/// One suite: what it runs, and how long that may take.
#[derive(Debug)]
pub struct Suite {
    /// The word on the command line.
    pub name: &'static str,
    /// What it shows, in a few words.
    pub title: &'static str,
    /// Minutes on two cores, from nothing. Printed before the suite; after three times as long it is stopped.
    pub budget_min: u32,
    /// Left out by `--quick`.
    pub heavy: bool,
    /// The commands, one after another; the first that fails ends the suite.
    pub commands: &'static [&'static [&'static str]],
    /// Variables of these commands, beside those of every suite (see `setup::Tools::variables`).
    pub env: &'static [(&'static str, &'static str)],
}

/// All suites, in their order.
pub const SUITES: &[Suite] = &[
    Suite {
        name: "fmt",
        title: "the code is formatted",
        budget_min: 1,
        heavy: false,
        commands: &[&["cargo", "fmt", "--all", "--check"]],
        env: &[],
    },
    Suite {
        name: "clippy",
        title: "no warnings",
        budget_min: 3,
        heavy: false,
        commands: &[&[
            "cargo",
            "clippy",
            "--locked",
            "--workspace",
            "--all-targets",
            "--",
            "-D",
            "warnings",
        ]],
        env: &[],
    },
    Suite {
        name: "workspace",
        title: "tests of all crates but the one of the browser",
        budget_min: 6,
        heavy: false,
        commands: &[&[
            "cargo",
            "test",
            "--locked",
            "--workspace",
            "--exclude",
            "pcbflow-tests",
            "--exclude",
            "pcbflow-eda",
        ]],
        env: &[],
    },
    Suite {
        name: "browser",
        title: "the crate that drives the browser, in real headless Chromium",
        budget_min: 2,
        heavy: false,
        commands: &[&["cargo", "test", "--locked", "--package", "pcbflow-eda"]],
        env: &[],
    },
    Suite {
        name: "flows",
        title: "the catalogue, the rules of the house, whole flows of milliseconds, redaction",
        budget_min: 2,
        heavy: false,
        commands: &[&[
            "cargo",
            "test",
            "--locked",
            "--package",
            "pcbflow-tests",
            "--test",
            "catalogue",
            "--test",
            "house",
            "--test",
            "flows",
            "--test",
            "redaction",
        ]],
        env: &[],
    },
    Suite {
        name: "main-job",
        title: "a real board from its project file to the fabrication files",
        budget_min: 2,
        heavy: true,
        commands: &[&[
            "cargo",
            "test",
            "--locked",
            "--package",
            "pcbflow-tests",
            "--test",
            "main_job",
        ]],
        env: &[],
    },
    Suite {
        name: "matrix",
        title: "every failure injected, its ladder and recheck on record",
        budget_min: 5,
        heavy: true,
        commands: &[&[
            "cargo",
            "test",
            "--locked",
            "--package",
            "pcbflow-tests",
            "--test",
            "matrix",
        ]],
        env: &[],
    },
    Suite {
        name: "editor",
        title: "the stand-in editor in a real browser: its habits and faults, and boards that are drawn in it all the same",
        budget_min: 11,
        heavy: true,
        commands: &[&[
            "cargo",
            "test",
            "--locked",
            "--package",
            "pcbflow-tests",
            "--features",
            "heavy",
            "--test",
            "editor",
        ]],
        env: &[],
    },
    Suite {
        name: "bad-input",
        title: "broken, hostile and odd input, full disks, a kicad-cli that lies",
        budget_min: 4,
        heavy: true,
        commands: &[&[
            "cargo",
            "test",
            "--locked",
            "--package",
            "pcbflow-tests",
            "--features",
            "heavy",
            "--test",
            "bad_input",
        ]],
        env: &[],
    },
    Suite {
        name: "crash",
        title: "the release binary killed at every event and at 160 random moments",
        budget_min: 3,
        heavy: true,
        commands: &[&[
            "cargo",
            "test",
            "--locked",
            "--package",
            "pcbflow-tests",
            "--features",
            "heavy",
            "--test",
            "crash",
            "--",
            "--skip",
            "kicad",
        ]],
        env: &[],
    },
    Suite {
        name: "crash-kicad",
        title: "the release binary killed at 40 random moments of the real KiCad flow",
        budget_min: 5,
        heavy: true,
        commands: &[&[
            "cargo",
            "test",
            "--locked",
            "--package",
            "pcbflow-tests",
            "--features",
            "heavy",
            "--test",
            "crash",
            "kicad",
        ]],
        env: &[],
    },
    Suite {
        name: "boards",
        title: "KiCad's demo boards up to 20 MB, and the corpus of real projects where it is",
        budget_min: 5,
        heavy: true,
        commands: &[
            &[
                "cargo",
                "test",
                "--locked",
                "--package",
                "pcbflow-tests",
                "--features",
                "heavy",
                "--test",
                "main_job",
                "corpus",
            ],
            &[
                "cargo",
                "test",
                "--locked",
                "--package",
                "pcbflow-kicad",
                "--test",
                "in_place",
                "--test",
                "exports",
            ],
        ],
        env: &[("PCBFLOW_HEAVY", "1")],
    },
    Suite {
        name: "newcomer",
        title: "the demo in a clean clone",
        budget_min: 5,
        heavy: true,
        commands: &[&[
            "cargo",
            "test",
            "--locked",
            "--package",
            "pcbflow-tests",
            "--features",
            "heavy",
            "--test",
            "main_job",
            "newcomer",
        ]],
        env: &[],
    },
];

/// Picks what to run: the suites named, or all, without the heavy ones if it shall be quick. A suite that is named
/// is run in any case.
pub fn pick<'a>(table: &'a [Suite], named: &[String], quick: bool) -> Vec<&'a Suite> {
    table
        .iter()
        .filter(|suite| {
            if named.is_empty() {
                !(quick && suite.heavy)
            } else {
                named.iter().any(|name| name == suite.name)
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    const TABLE: &[Suite] = &[
        Suite {
            name: "light",
            title: "",
            budget_min: 1,
            heavy: false,
            commands: &[&["true"]],
            env: &[],
        },
        Suite {
            name: "heavy",
            title: "",
            budget_min: 1,
            heavy: true,
            commands: &[&["true"]],
            env: &[],
        },
    ];

    fn picked(named: &[&str], quick: bool) -> Vec<&'static str> {
        let named: Vec<String> = named.iter().map(|name| (*name).to_owned()).collect();
        pick(TABLE, &named, quick).iter().map(|suite| suite.name).collect()
    }

    #[test]
    fn quick_leaves_out_heavy_suites_unless_named() {
        assert_eq!(picked(&[], false), ["light", "heavy"]);
        assert_eq!(picked(&[], true), ["light"]);
        assert_eq!(picked(&["heavy"], true), ["heavy"]);
        assert_eq!(picked(&["heavy", "light"], false), ["light", "heavy"]);
    }

    #[test]
    fn every_suite_does_something_and_has_a_name_of_its_own() {
        let mut names = BTreeSet::new();
        for suite in SUITES {
            assert!(names.insert(suite.name), "{} is there twice", suite.name);
            assert!(!suite.title.is_empty() && !suite.name.starts_with('-'), "{}", suite.name);
            assert!(suite.budget_min > 0, "{}", suite.name);
            assert!(!suite.commands.is_empty(), "{}", suite.name);
            assert!(suite.commands.iter().all(|argv| !argv.is_empty()), "{}", suite.name);
        }
    }

    #[test]
    fn the_budgets_fit_into_an_hour_and_the_quick_ones_into_a_quarter() {
        let sum = |quick: bool| {
            pick(SUITES, &[], quick).iter().map(|suite| suite.budget_min).sum::<u32>()
        };
        assert!(sum(false) <= 55, "{}", sum(false));
        assert!(sum(true) <= 15, "{}", sum(true));
    }

    #[test]
    fn no_binary_of_the_end_to_end_tests_is_forgotten() {
        let tests = crate::run::root().expect("the project").join("tests/tests");
        for entry in std::fs::read_dir(tests).expect("the tests").flatten() {
            let name = entry.path().file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let run = SUITES.iter().flat_map(|s| s.commands).any(|c| c.contains(&name.as_str()));
            assert!(run, "no suite runs tests/tests/{name}");
        }
    }

    #[test]
    fn heavy_suites_come_last() {
        let first_heavy = SUITES.iter().position(|suite| suite.heavy).unwrap_or(SUITES.len());
        assert!(SUITES[first_heavy..].iter().all(|suite| suite.heavy));
    }
}
