//! Alternative texts of a class that shows itself in more than one way.

/// Texts that replace those of the row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Variant {
    /// The class.
    pub class: &'static str,
    /// Its name, as evidence gives it in the slot `variant`.
    pub name: &'static str,
    /// What happened.
    pub what: &'static str,
    /// Why.
    pub why: Option<&'static str>,
    /// Said when healed.
    pub healed: &'static str,
    /// What the person is asked to do; the row's when `None`.
    pub ask: Option<&'static str>,
}

/// All of them.
pub const VARIANTS: &[Variant] = &[
    Variant {
        class: "KI-6",
        name: "looked_clean",
        what: "The design-rule check looked clean but had not used this board's rules.",
        why: Some("KiCad ran with weak rules of its own."),
        healed: "The check ran again with this board's rules.",
        ask: None,
    },
    Variant {
        class: "KI-6",
        name: "reported_faults",
        what: "The design-rule check reported faults that are not real.",
        why: Some("KiCad ran without this board's own rules."),
        healed: "The check ran again with this board's rules.",
        ask: None,
    },
    Variant {
        class: "KI-9",
        name: "sheet_missing",
        what: "A sheet of the schematic is missing.",
        why: Some("The schematic names {items}, but the file is not there."),
        healed: "Each sheet is there again.",
        ask: Some("Put the file of sheet {items} back"),
    },
    Variant {
        class: "KI-6",
        name: "project_missing",
        what: "The project file of this board is missing.",
        why: Some("Without it KiCad does not know this board's own rules."),
        healed: "The check used the rules that I had recorded.",
        ask: Some("Put the project file back"),
    },
    Variant {
        class: "KI-6",
        name: "project_unfit",
        what: "The project file of this board can't be used.",
        why: Some("KiCad finds no rules in it."),
        healed: "The check used the rules that I had recorded.",
        ask: Some("Put a good project file back"),
    },
    Variant {
        class: "KI-6",
        name: "rules_loosened",
        what: "Some rules of this board changed and may ask for less.",
        why: Some("The rules are not as on record."),
        healed: "The check used the stricter rules that I had recorded.",
        ask: Some("Put the old rules back, or accept the new ones"),
    },
    Variant {
        class: "KI-3",
        name: "holes_gone",
        what: "The board has lost {count:hole|holes} since the last check.",
        why: Some("They are on record and not on the board: {items}."),
        healed: "Each hole is back in its place, or you have said that it may go.",
        ask: Some("Put the holes back, or say in the project file that they may go"),
    },
    Variant {
        class: "KI-3",
        name: "holes_not_accepted",
        what: "The board has lost {count:hole|holes} that you have not accepted.",
        why: Some("Your answer was about an earlier check; now these are gone: {items}."),
        healed: "Each hole is back in its place.",
        ask: Some("Put the holes back, or take the old answer out and run again"),
    },
    Variant {
        class: "KI-6",
        name: "report_stale",
        what: "I could not trust the result of this check.",
        why: Some("KiCad's report is older than this check, so it is not of this run."),
        healed: "KiCad has now written a new report.",
        ask: Some("Check that KiCad works on this computer"),
    },
    Variant {
        class: "KI-6",
        name: "report_of_another",
        what: "I could not trust the result of this check.",
        why: Some("KiCad's report is about another file."),
        healed: "KiCad has now written a report about this file.",
        ask: Some("Check that KiCad works on this computer"),
    },
    Variant {
        class: "KI-6",
        name: "report_missing",
        what: "This check left no report.",
        why: Some("KiCad said that it was done, but wrote nothing."),
        healed: "KiCad has now written its report.",
        ask: Some("Check that KiCad works on this computer"),
    },
    Variant {
        class: "KI-6",
        name: "report_not_whole",
        what: "I could not trust the result of this check.",
        why: Some("The report does not show all that KiCad found."),
        healed: "KiCad has now written a whole report.",
        ask: Some("Check that KiCad works on this computer"),
    },
    Variant {
        class: "KI-6",
        name: "file_not_whole",
        what: "A file that KiCad made for this board is not whole.",
        why: Some("Its start or its end is missing."),
        healed: "KiCad has now made whole files.",
        ask: Some("Check that KiCad works on this computer"),
    },
    Variant {
        class: "KI-6",
        name: "parity_not_run",
        what: "The board was not compared with its schematic.",
        why: Some("KiCad could not use the schematic of this board."),
        healed: "The board has now been compared with its schematic.",
        ask: Some("Check that the schematic of this board is there and opens"),
    },
    Variant {
        class: "KI-6",
        name: "planted_fault_missed",
        what: "I could not trust the result of this check.",
        why: Some("I put a fault into a copy of the schematic, and KiCad did not find it."),
        healed: "KiCad has now found the fault that I put into a copy.",
        ask: Some("Check that KiCad works on this computer"),
    },
    Variant {
        class: "KI-6",
        name: "rules_file_broken",
        what: "The rules file of this board is broken.",
        why: Some("KiCad would use none of the rules in it."),
        healed: "The check used the rules that I had recorded.",
        ask: Some("Correct the rules file of this board"),
    },
    Variant {
        class: "KI-7",
        name: "file_damaged",
        what: "A design file of this board is damaged.",
        why: Some("KiCad can't read what is in it."),
        healed: "The file can be read again.",
        ask: Some("Put a good copy of the design file back"),
    },
    Variant {
        class: "KI-7",
        name: "not_loaded",
        what: "KiCad can't load a design file of this board.",
        why: Some("It is not there, it is damaged, or another KiCad version made it."),
        healed: "KiCad loads the design files again.",
        ask: Some("Check that KiCad opens this board"),
    },
    Variant {
        class: "SC-6",
        name: "publishes",
        what: "The step {step} waits for your yes.",
        why: Some("It gives something out of this house, which can't be taken back."),
        healed: "The step ran after your yes.",
        ask: None,
    },
    Variant {
        class: "SC-6",
        name: "done_before",
        what: "The step {step} was done before, and something about it is new.",
        why: Some("It may run only once, so I did not run it again."),
        healed: "The step ran again after your word.",
        ask: Some("Decide whether the step {step} is to run again"),
    },
    Variant {
        class: "SC-6",
        name: "unsettled",
        what: "I can't tell if the step {step} did its work.",
        why: Some("It did not end well, and it may run only once."),
        healed: "The step did its work.",
        ask: Some("Look at what the step {step} made"),
    },
    Variant {
        class: "SC-2",
        name: "program_missing",
        what: "I can't run the step {step} without {items}.",
        why: Some("This program is not on this computer."),
        healed: "What was missing is installed now.",
        ask: Some("Install {items}"),
    },
    Variant {
        class: "SC-2",
        name: "package_missing",
        what: "I can't run the step {step} without {items}.",
        why: Some("Its program needs that, and it is not installed here."),
        healed: "What was missing is installed now.",
        ask: Some("Install {items}"),
    },
    Variant {
        class: "GIT-2",
        name: "no_identity",
        what: "I can't save the results in the project's history.",
        why: Some("Git does not know your name and address."),
        healed: "The results are in the history now.",
        ask: Some("Tell git your name and address"),
    },
    Variant {
        class: "GIT-2",
        name: "no_repository",
        what: "This project has no history to save the results in.",
        why: Some("Nobody has made a git history in this folder yet."),
        healed: "The results are saved now.",
        ask: Some("Check this project in git"),
    },
    Variant {
        class: "GIT-2",
        name: "history_gone",
        what: "The history of this project is gone.",
        why: Some("Results were saved in a git history here, and it is not there any more."),
        healed: "The results are saved now.",
        ask: Some("Put the git history back"),
    },
    Variant {
        class: "GIT-2",
        name: "other_owner",
        what: "I can't save the results in the project's history.",
        why: Some("The folder belongs to another user of this computer."),
        healed: "The results are in the history now.",
        ask: Some("Check who owns this project folder"),
    },
    Variant {
        class: "KI-2",
        name: "not_on_board",
        what: "The board is missing {count:footprint|footprints} that the schematic has.",
        why: Some("A part was deleted, or the board was not updated from the schematic."),
        healed: "Each part has its footprint again.",
        ask: Some("Put {parts} back on the board"),
    },
];

/// The variant of a class, if there is one of this name.
#[must_use]
pub fn find(class: &str, name: &str) -> Option<&'static Variant> {
    VARIANTS.iter().find(|v| v.class == class && v.name == name)
}
