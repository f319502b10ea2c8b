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
        budget_min: 4,
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
        title: "tests of all crates",
        budget_min: 8,
        heavy: false,
        commands: &[&["cargo", "test", "--locked", "--workspace"]],
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
        assert!(sum(false) <= 50, "{}", sum(false));
        assert!(sum(true) <= 15, "{}", sum(true));
    }

    #[test]
    fn heavy_suites_come_last() {
        let first_heavy = SUITES.iter().position(|suite| suite.heavy).unwrap_or(SUITES.len());
        assert!(SUITES[first_heavy..].iter().all(|suite| suite.heavy));
    }
}
