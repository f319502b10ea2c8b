//! Places and summaries: their words, and that they keep to the rubric.

use super::*;
use crate::render;
use crate::rubric::{Form, check_message, check_short_text};

fn board() -> Board {
    Board::new("door-sensor").unwrap()
}

fn step(name: &str) -> StepName {
    StepName::new(name).unwrap()
}

const RUNS: [RunEnd; 10] = [
    RunEnd::Pass,
    RunEnd::Conditional { findings: 404, unsaved: false },
    RunEnd::Conditional { findings: 1, unsaved: true },
    RunEnd::Findings { findings: 1 },
    RunEnd::Unverified { checks: 2 },
    RunEnd::Unverified { checks: 0 },
    RunEnd::NeedsPerson { asks: 1 },
    RunEnd::NothingToDo,
    RunEnd::TryLater,
    RunEnd::Stopped,
];

const CHECKS: [CheckEnd; 5] = [
    CheckEnd::Clean,
    CheckEnd::Findings { errors: 3, warnings: 1 },
    CheckEnd::Findings { errors: 1, warnings: 0 },
    CheckEnd::Findings { errors: 0, warnings: 2 },
    CheckEnd::CouldNotRun,
];

fn messages() -> Vec<Message> {
    let both = [false, true].into_iter().flat_map(|only| RUNS.map(|end| (only, end)));
    let runs = both.map(|(checks_only, end)| {
        let steps = u64::from(end != RunEnd::NothingToDo) * 14;
        let healed = steps / 7;
        let summary = RunSummary { board: board(), end, steps, healed, checks_only, event: None };
        summary.message().unwrap()
    });
    let checks = CHECKS.into_iter().map(|end| {
        let place = Place { board: Some(board()), phase: None, step: Some(step("drc")) };
        CheckSummary { place, check: step("drc"), end, event: None }.message().unwrap()
    });
    runs.chain(checks).collect()
}

#[test]
fn summaries_keep_to_the_rubric() {
    for message in messages() {
        let mut faults = check_message(&message, Form::Five);
        faults.extend(check_message(&message, Form::Short));
        faults.extend(check_short_text(&render::mirror(&message)));
        assert!(faults.is_empty(), "{}\n{faults:#?}", render::five_lines(&message, 80));
        assert!(
            !message.all().as_str().contains("holds the details")
                || message.all().as_str().contains("could not run")
        );
    }
}

#[test]
fn summaries_read_like_this() {
    let all: String = messages().iter().map(|m| render::five_lines(m, 80) + "\n").collect();
    insta::assert_snapshot!(all);
}

#[test]
fn the_place_is_said_in_one_sentence() {
    let phase = PhaseName::new("06-schematic").unwrap();
    let line = |before| {
        let text = resume_line(&board(), &phase, &step("place motor block"), &before);
        assert!(check_short_text(&text).is_empty(), "{:?}", check_short_text(&text));
        text.as_str().to_owned()
    };
    assert_eq!(
        line(Before::Committed(step("schematic audit"))),
        "Resuming door-sensor at Phase 6, step 'place motor block' \u{2014} the previous step (schematic audit) passed and is committed."
    );
    assert!(line(Before::Passed(step("schematic audit"))).ends_with("passed and is saved."));
    assert_eq!(line(Before::Nothing), "Resuming door-sensor at Phase 6, step 'place motor block'.");
}

#[test]
fn a_repaired_record_is_told() {
    assert!(check_short_text(&record_repaired()).is_empty());
}

#[test]
fn checks_alone_never_say_that_something_was_saved_or_that_the_board_passed() {
    for end in RUNS {
        let summary =
            RunSummary { board: board(), end, steps: 3, healed: 0, checks_only: true, event: None };
        let text = render::five_lines(&summary.message().unwrap(), 200);
        assert!(!text.contains("work is saved") && !text.contains("board passed"), "{text}");
    }
}

#[test]
fn a_condition_says_what_is_left_to_do() {
    for unsaved in [false, true] {
        let end = RunEnd::Conditional { findings: 2, unsaved };
        let summary = RunSummary {
            board: board(),
            end,
            steps: 3,
            healed: 0,
            checks_only: false,
            event: None,
        };
        let message = summary.message().unwrap();
        assert_ne!(message.part(crate::message::Part::Ask).as_str(), lists::NOTHING);
    }
}
