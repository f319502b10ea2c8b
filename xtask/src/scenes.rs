//! The table of what `cargo xtask demo` shows.
//!
//! Every scene is a list of acts; what is done is a command that a person could type, wherever that is possible.
//! Commands run in the workspace's folder; the engineer's project lies beside it:
//!
//! ```text
//! hw/StickHub/          a copy of KiCad's demo project, the engineer's own files
//! saved/StickHub/       the same once more, to put things back
//! workspace/            where pcbflow works
//! ```

/// One scene.
#[derive(Debug)]
pub struct Scene {
    /// The word on the command line.
    pub name: &'static str,
    pub title: &'static str,
    /// The failure class that it shows, if any.
    pub class: Option<&'static str>,
    pub ground: Ground,
    pub acts: Vec<Act>,
}

/// What a scene stands on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ground {
    /// An empty workspace folder and a whole project.
    Fresh,
    /// What the scene `first-run` left.
    AfterFirstRun,
    /// As `Fresh`, on a small disk of its own of so many megabytes.
    SmallDisk(u32),
}

/// One thing that happens in a scene. `{board}` in a command stands for the board's name.
#[derive(Debug)]
pub enum Act {
    /// A sentence for the person who watches.
    Say(&'static str),
    /// Runs a command; its exit code must be one of these.
    Run(&'static [i32], &'static [&'static str]),
    /// A footprint disappears from the board's file.
    DropFootprint(&'static str),
    /// The first step of this kind gets this time limit.
    SetTimeout(&'static str, &'static str),
    /// From now on a program of this kind stands before the real kicad-cli on PATH.
    StandIn(StandIn),
    /// The stand-in must have been used; it goes away.
    StandInWasUsed,
    /// Answers the open ask of the board.
    Answer(&'static str),
    /// Starts a command and kills it, without warning, as soon as the stand-in is used.
    KillWhenStandInIsUsed(&'static [&'static str]),
}

/// What a stand-in for kicad-cli does on the first design-rule check; every other call goes to the real one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StandIn {
    /// Never ends.
    Hangs,
    /// Waits some seconds, then works.
    IsSlow,
}

use Act::{Answer, DropFootprint, KillWhenStandInIsUsed, Run, Say, SetTimeout};

const DONE: &[i32] = &[0];
const NEEDS_PERSON: &[i32] = &[4];
/// dd ends so when the disk is full.
const FULL: &[i32] = &[1];

const RUN: &[&str] = &["pcbflow", "run"];

/// How every workspace begins.
fn begin() -> Vec<Act> {
    vec![
        Run(DONE, &["git", "init", "--quiet", "--initial-branch=main"]),
        Run(DONE, &["git", "config", "user.name", "Demo"]),
        Run(DONE, &["git", "config", "user.email", "demo@example.org"]),
        Run(DONE, &["pcbflow", "init", "--from", "../hw/StickHub/StickHub.kicad_pro"]),
    ]
}

fn after_begin(acts: Vec<Act>) -> Vec<Act> {
    let mut all = begin();
    all.extend(acts);
    all
}

/// All scenes, in their order.
pub fn scenes() -> Vec<Scene> {
    vec![first_run(), lost_rules(), lost_part(), hang(), disk_full(), power_cut()]
}

fn first_run() -> Scene {
    Scene {
        name: "first-run",
        title: "a real board, from its project file to the fabrication files",
        class: None,
        ground: Ground::Fresh,
        acts: {
            let mut acts = vec![Say(
                "StickHub is a USB hub, one of KiCad's demo projects. It stays where it lies; pcbflow works beside it.",
            )];
            acts.extend(begin());
            acts.extend([
                Run(DONE, RUN),
                Say("Once more: nothing has changed, so nothing is done again."),
                Run(DONE, RUN),
                Run(DONE, &["pcbflow", "status"]),
                Say("Each passed phase is one commit, tied to the record of what was done."),
                Run(DONE, &["git", "--no-pager", "log", "--oneline"]),
                Run(DONE, &["pcbflow", "ledger", "verify"]),
                Say("The engineer's own files are byte for byte what they were."),
                Run(DONE, &["diff", "-r", "../saved/StickHub", "../hw/StickHub"]),
            ]);
            acts
        },
    }
}

fn lost_rules() -> Scene {
    Scene {
        name: "lost-rules",
        title: "the project file vanishes, and with it the board's design rules",
        class: Some("KI-6"),
        ground: Ground::AfterFirstRun,
        acts: vec![
            Run(DONE, &["mv", "../hw/StickHub/StickHub.kicad_pro", "../away.kicad_pro"]),
            Say(
                "kicad-cli alone says nothing about it: exit code 0, and hundreds of errors that the board does not have.",
            ),
            Run(
                DONE,
                &[
                    "kicad-cli",
                    "pcb",
                    "drc",
                    "--format",
                    "json",
                    "-o",
                    "../alone.json",
                    "../hw/StickHub/StickHub.kicad_pcb",
                ],
            ),
            Say(
                "pcbflow notices, checks a private copy with the rules that it knows for this board, and proves that they are in force.",
            ),
            Run(DONE, RUN),
            Run(DONE, &["mv", "../away.kicad_pro", "../hw/StickHub/StickHub.kicad_pro"]),
            Run(DONE, RUN),
        ],
    }
}

fn lost_part() -> Scene {
    Scene {
        name: "lost-part",
        title: "a footprint is dropped from the board",
        class: Some("KI-2"),
        ground: Ground::AfterFirstRun,
        acts: vec![
            DropFootprint("C18"),
            Say(
                "Which part belongs there is the engineer's to say: pcbflow stops and asks, in five sentences.",
            ),
            Run(NEEDS_PERSON, RUN),
            Run(
                DONE,
                &[
                    "cp",
                    "../saved/StickHub/StickHub.kicad_pcb",
                    "../hw/StickHub/StickHub.kicad_pcb",
                ],
            ),
            Answer("retry"),
            Run(DONE, RUN),
        ],
    }
}

fn hang() -> Scene {
    Scene {
        name: "hang",
        title: "kicad-cli hangs",
        class: Some("SC-3"),
        ground: Ground::Fresh,
        acts: after_begin(vec![
            SetTimeout("kicad/drc", "20s"),
            Act::StandIn(StandIn::Hangs),
            Say(
                "The first check never ends. It is stopped with everything that it started, and tried once more.",
            ),
            Run(DONE, RUN),
            Act::StandInWasUsed,
            Run(DONE, &["pcbflow", "history", "{board}", "--decisions"]),
        ]),
    }
}

fn disk_full() -> Scene {
    Scene {
        name: "disk-full",
        title: "the disk is full",
        class: Some("LG-1"),
        ground: Ground::SmallDisk(64),
        acts: after_begin(vec![
            Say("Something else fills the disk to the last byte."),
            Run(FULL, &["dd", "if=/dev/zero", "of=../filler", "bs=64k", "status=none"]),
            Run(NEEDS_PERSON, RUN),
            Run(DONE, &["rm", "../filler"]),
            Run(DONE, RUN),
            Run(DONE, &["pcbflow", "ledger", "verify"]),
        ]),
    }
}

fn power_cut() -> Scene {
    Scene {
        name: "power-cut",
        title: "pcbflow is killed in the middle of a check",
        class: Some("ST-2"),
        ground: Ground::Fresh,
        acts: after_begin(vec![
            Act::StandIn(StandIn::IsSlow),
            KillWhenStandInIsUsed(RUN),
            Act::StandInWasUsed,
            Say("Nothing is lost, and only what was not finished is done again."),
            Run(DONE, &["pcbflow", "status"]),
            Run(DONE, &["pcbflow", "resume", "{board}"]),
            Run(DONE, &["pcbflow", "ledger", "verify"]),
        ]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_promised_failure_has_its_scene() {
        let classes: Vec<&str> = scenes().iter().filter_map(|scene| scene.class).collect();
        assert_eq!(classes, ["KI-6", "KI-2", "SC-3", "LG-1", "ST-2"]);
        let names: BTreeSet<&str> = scenes().iter().map(|scene| scene.name).collect();
        assert_eq!(names.len(), scenes().len());
    }

    #[test]
    fn the_first_scene_is_what_later_ones_stand_on() {
        let all = scenes();
        assert_eq!((all[0].name, all[0].ground), ("first-run", Ground::Fresh));
    }

    #[test]
    fn every_scene_ends_well_and_every_command_has_an_expected_code() {
        for scene in scenes() {
            let last = scene.acts.iter().rev().find_map(|act| match act {
                Run(codes, _) => Some(*codes),
                _ => None,
            });
            assert_eq!(last, Some(DONE), "{}", scene.name);
            for act in &scene.acts {
                if let Run(codes, argv) = act {
                    assert!(!codes.is_empty() && !argv.is_empty(), "{}: {argv:?}", scene.name);
                }
            }
        }
    }

    #[test]
    fn a_stand_in_never_goes_unproven() {
        for scene in scenes() {
            let count =
                |wanted: fn(&Act) -> bool| scene.acts.iter().filter(|act| wanted(act)).count();
            assert_eq!(
                count(|act| matches!(act, Act::StandIn(_))),
                count(|act| matches!(act, Act::StandInWasUsed)),
                "{}",
                scene.name
            );
        }
    }

    #[test]
    fn workspaces_begin_with_the_project_of_the_engineer() {
        for scene in scenes() {
            let begins = scene
                .acts
                .iter()
                .any(|act| matches!(act, Run(_, argv) if argv.starts_with(&["pcbflow", "init", "--from"])));
            assert_eq!(begins, scene.ground != Ground::AfterFirstRun, "{}", scene.name);
        }
    }
}
