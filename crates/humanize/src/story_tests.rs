//! Stories: what is told, what is left out, and that every one keeps to the rubric.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::render;
use crate::rubric::{Form, check_message, check_short_text};
use crate::samples::sample_rows;
use crate::slots::{PartRef, SLOT_NAMES};

fn place() -> Place {
    Place {
        board: Board::new("door-sensor").ok(),
        phase: PhaseName::new("06-schematic").ok(),
        step: StepName::new("place motor block").ok(),
    }
}

fn row(id: &str) -> Row {
    sample_rows().into_iter().find(|r| r.id == id).unwrap()
}

fn ran(rung: &str, times: u64) -> Try {
    Try { rung: rung.to_owned(), times, result: TryResult::NotCured }
}

fn said(story: &Story<'_>, part: Part) -> String {
    story.message().unwrap().part(part).as_str().to_owned()
}

#[test]
fn a_sign_in_that_is_watched_reads_like_the_handbook() {
    let row = row("EDA-1");
    let story = Story::new(&row, place(), Outcome::Waiting);
    assert_eq!(said(&story, Part::What), "Your EasyEDA session expired.");
    assert_eq!(said(&story, Part::Tried), "I stopped there and saved your place.");
    assert_eq!(said(&story, Part::Worked), "Not yet. No work is lost.");
    assert_eq!(said(&story, Part::Ask), "Log back in to EasyEDA. I will continue on my own.");
    let told = Story { resume: Resume::Retry, ..story };
    assert_eq!(said(&told, Part::Ask), "Log back in to EasyEDA, then say 'retry'.");
}

#[test]
fn what_was_tried_is_what_ran() {
    let row = row("EDA-10");
    let slots =
        || Slots::default().with(Slot::Part(PartRef::new("R12").unwrap())).with(Slot::Count(1));
    let with =
        |tries| Story { tries, slots: slots(), ..Story::new(&row, place(), Outcome::Escalated) };
    let cases = [
        (vec![], "I stopped there and saved your place."),
        (vec![ran("ask", 1)], "I stopped there and saved your place."),
        (vec![ran("broaden", 1)], "I searched for R12 with fewer words."),
        (
            vec![ran("broaden", 1), ran("other", 1)],
            "I searched for R12 with fewer words. I tried 1 other size.",
        ),
        (
            vec![ran("broaden", 1), ran("number", 1), ran("other", 1)],
            "I tried 3 ways. I tried 1 other size.",
        ),
        (vec![ran("broaden", 0), ran("number", 1)], "I tried the supplier's number."),
        (vec![ran("from-an-older-table", 2)], "I tried a known remedy twice."),
    ];
    for (tries, expected) in cases {
        assert_eq!(said(&with(tries), Part::Tried), expected);
    }
    let skipped = Try { result: TryResult::CouldNotRun, ..ran("broaden", 1) };
    assert_eq!(
        said(&with(vec![skipped, ran("number", 1)]), Part::Tried),
        "I tried the supplier's number."
    );
    let check = super::tests::row("KI-6");
    let again =
        Story { tries: vec![ran("again", 3)], ..Story::new(&check, place(), Outcome::Recovered) };
    assert_eq!(said(&again, Part::Tried), "I ran the check again 3 times.");
}

#[test]
fn an_unfilled_slot_gives_a_general_text_and_never_braces() {
    let row = row("EDA-10");
    let story =
        Story { tries: vec![ran("broaden", 1)], ..Story::new(&row, place(), Outcome::Escalated) };
    let message = story.message().unwrap();
    assert_eq!(message.part(Part::What).as_str(), "A step that uses LCSC did not work.");
    assert_eq!(message.part(Part::Tried).as_str(), "I tried a known remedy once.");
    assert_eq!(
        message.part(Part::Ask).as_str(),
        "Check the step 'place motor block', then say 'retry'."
    );
    assert!(check_message(&message, Form::Five).is_empty());
    match story.message_strict() {
        Err(StoryError::Gaps(gaps)) => {
            let parts: Vec<Part> = gaps.iter().map(|g| g.part).collect();
            assert_eq!(parts, [Part::What, Part::Tried, Part::Ask]);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_place_is_never_taken_for_a_tool() {
    let mut row = row("SC-1");
    row.texts.what = "I can't run this step without {tool}.";
    row.texts.ask = "Install {tool}";
    row.texts.tool = "the computer";
    let story = Story::new(&row, place(), Outcome::Escalated);
    assert_eq!(said(&story, Part::What), "A step that uses the computer did not work.");
    assert_eq!(said(&story, Part::Ask), "Check the step 'place motor block', then say 'retry'.");
    let slots = Slots::default().with(Slot::read("tool", "rsync").unwrap());
    let known = Story { slots, ..story };
    assert_eq!(said(&known, Part::Ask), "Install rsync, then say 'retry'.");
    assert!(check_message(&known.message().unwrap(), Form::Five).is_empty());
}

#[test]
fn an_unknown_cause_is_said() {
    let row = row("SC-1");
    let story = Story::new(&row, place(), Outcome::Escalated);
    assert_eq!(said(&story, Part::Why), "I don't know yet why.");
    assert_eq!(said(&story, Part::What), "The step 'place motor block' did not finish.");
}

#[test]
fn repeats_become_one_message_with_a_count() {
    let row = row("EDA-1");
    let story = Story { count: 3, ..Story::new(&row, place(), Outcome::Waiting) };
    let message = story.message().unwrap();
    assert_eq!(
        message.part(Part::Why).as_str(),
        "EasyEDA signs you out after a while. It happened 3 times in this run."
    );
    assert!(render::heading(&message).ends_with("(3 times in this run)"));
    assert!(check_message(&message, Form::Five).is_empty());
}

#[test]
fn a_variant_changes_the_texts() {
    let row = row("KI-6");
    let story = Story {
        variant: Some("looked_clean".to_owned()),
        ..Story::new(&row, place(), Outcome::Recovered)
    };
    assert!(said(&story, Part::What).starts_with("The design-rule check looked clean"));
    let unknown = Story { variant: Some("other".to_owned()), ..story };
    assert_eq!(said(&unknown, Part::What), row.texts.what);
}

#[test]
fn work_is_always_spoken_of() {
    let row = row("KI-6");
    let step = StepName::new("drc").unwrap();
    for (work, end) in [
        (Work::Safe, "No work is lost."),
        (Work::Saved, "Your work is saved."),
        (Work::WillRedo(step), "I will redo only the step 'drc'."),
        (Work::AtRisk(Tool::find("EasyEDA").unwrap()), "Unsaved changes in EasyEDA may be lost."),
    ] {
        let story = Story { work, ..Story::new(&row, place(), Outcome::Escalated) };
        assert!(said(&story, Part::Worked).ends_with(end), "{end}");
    }
}

#[test]
fn the_event_leads_to_the_record() {
    let row = row("KI-6");
    let story = Story { event: Some(Seq(42)), ..Story::new(&row, place(), Outcome::Escalated) };
    let message = story.message().unwrap();
    assert_eq!(message.event(), Some(Seq(42)));
    assert!(!message.all().as_str().contains("42"), "the event stands outside the prose");
}

#[test]
fn a_row_that_asks_for_nothing_still_asks_when_it_must() {
    let row = row("GIT-5");
    let ask = |outcome| said(&Story::new(&row, place(), outcome), Part::Ask);
    assert_eq!(ask(Outcome::Escalated), "Check the step 'place motor block', then say 'retry'.");
    assert_eq!(ask(Outcome::TryLater), "Run this board again in ten minutes.");
    assert_eq!(ask(Outcome::CouldNotVerify), "Nothing.");
    let nowhere = Story::new(&row, Place::default(), Outcome::Escalated);
    assert_eq!(said(&nowhere, Part::Ask), "Check GitHub, then say 'retry'.");
}

#[test]
fn sample_messages_read_like_this() {
    let mut out = String::new();
    let slots =
        Slots::default().with(Slot::Part(PartRef::new("R12").unwrap())).with(Slot::Count(2));
    for row in sample_rows() {
        for outcome in [Outcome::Recovered, Outcome::Escalated, Outcome::CouldNotVerify] {
            let tries = row.ladder.iter().map(|r| ran(r.id, r.times() as u64)).collect();
            let story = Story { tries, slots: slots.clone(), ..Story::new(&row, place(), outcome) };
            let message = story.message_strict().unwrap();
            out.push_str(&format!(
                "# {} {:?}\n{}",
                row.id,
                message.ending(),
                render::five_lines(&message, 80)
            ));
            out.push_str(&format!(
                "short: {}\nmirror: {}\n\n",
                render::short(&message),
                render::mirror(&message)
            ));
        }
    }
    insta::assert_snapshot!(out);
}

/// A text as a hostile or broken tool would give it; shown in short when a test fails.
#[derive(Clone)]
struct Raw(String);

impl std::fmt::Debug for Raw {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.0.chars().take(60).collect::<String>())
    }
}

const BAD: &[&str] = &[
    "HTTP 401 Unauthorized",
    "ECONNREFUSED :9222",
    "/home/ana/secret",
    "ghp_abcdefgh12345678",
    "token=abcdef",
    "thread 'main' panicked at src/x.rs:1",
    "\u{1b}[31mred\u{1b}[0m",
    "{count}",
    "\u{202e}desrever",
    "0x7fff",
    "Something went wrong!",
    "500",
    "a. b. c. d.",
    "!!!",
    "C:\\Users\\ana",
    "",
];

fn hostile() -> impl Strategy<Value = Raw> {
    prop_oneof![
        any::<String>(),
        "\\PC{0,80}",
        "[A-Z]{1,3}[0-9]{1,4}",
        "(/[a-z.]{1,8}){1,6}(\\.py|\\.kicad_pcb)?",
        "[a-z_ ]{1,30}",
        "\\PC{0,20}".prop_map(|s| format!("{s} x").repeat(5_000)),
        prop::sample::select(BAD).prop_map(str::to_owned),
    ]
    .prop_map(Raw)
}

fn some_outcome() -> impl Strategy<Value = Outcome> {
    prop_oneof![
        Just(Outcome::Recovered),
        Just(Outcome::Escalated),
        Just(Outcome::CouldNotVerify),
        Just(Outcome::Waiting),
        Just(Outcome::TryLater),
        Just(Outcome::FixedByPerson),
        hostile().prop_map(|left| Outcome::Partly { left: Items::new(&left.0).ok() }),
    ]
}

fn some_work() -> impl Strategy<Value = Work> {
    prop_oneof![
        Just(Work::Safe),
        Just(Work::Saved),
        hostile().prop_map(|s| StepName::new(&s.0).map_or(Work::Safe, Work::WillRedo)),
        Just(Tool::find("EasyEDA").map_or(Work::Safe, Work::AtRisk)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_the_slots_the_message_keeps_to_the_rubric(
        at in 0usize..5,
        values in prop::collection::vec(hostile(), SLOT_NAMES.len()),
        names in (hostile(), hostile(), hostile()),
        outcome in some_outcome(),
        work in some_work(),
        taken in prop::collection::vec((hostile(), 0usize..5, 0u64..2_000), 0..6),
        count in 0u32..2_000,
    ) {
        let rows = sample_rows();
        let row = &rows[at];
        let raw: BTreeMap<String, String> =
            SLOT_NAMES.iter().map(|n| (*n).to_owned()).zip(values.into_iter().map(|v| v.0)).collect();
        let tries = taken
            .into_iter()
            .map(|(name, at, times)| Try {
                rung: row.ladder.get(at).map_or(name.0, |r| r.id.to_owned()),
                times,
                result: TryResult::NotCured,
            })
            .collect();
        let place = Place {
            board: Board::new(&names.0.0).ok(),
            phase: PhaseName::new(&names.1.0).ok(),
            step: StepName::new(&names.2.0).ok(),
        };
        // Only the policy may decide to wait for a person; then it always watches something.
        let resume = if outcome == Outcome::Waiting { Resume::Watch("probe") } else { row.texts.resume };
        let (slots, _) = Slots::from_evidence(&raw);
        let story = Story { tries, work, count, slots, resume, ..Story::new(row, place, outcome) };
        let message = story.message().unwrap();
        let mut faults = check_message(&message, Form::Five);
        faults.extend(check_message(&message, Form::Short));
        faults.extend(check_short_text(&render::mirror(&message)));
        prop_assert!(faults.is_empty(), "{}\n{faults:#?}", render::five_lines(&message, 80));
        let all = render::narrated(&message);
        for canary in ["ghp_", "/home", "Users", "\u{1b}", "\u{202e}", "{", "token=", "src/x.rs"] {
            prop_assert!(!all.contains(canary), "{canary}: {all}");
        }
        prop_assert_eq!(render::narrated(&story.clone().message().unwrap()), all);
    }
}

#[test]
fn a_go_ahead_asks_for_a_yes_or_a_no() {
    let step = Slots::default().with(Slot::Step(StepName::new("order").unwrap()));
    for class in ["GIT-2", "KI-8", "EDA-11", "SC-6", "SC-1"] {
        let text = super::go_ahead_question(class, &step);
        let faults = crate::rubric::check_part(Part::Ask, &text);
        assert!(faults.is_empty(), "{faults:?}");
        assert!(text.as_str().ends_with("say 'yes' or 'no'."), "{text:?}");
    }
    // Where the step has no name that can be shown, the question is still one.
    assert!(super::go_ahead_question("SC-6", &Slots::default()).as_str().contains("'yes'"));
}

#[test]
fn every_variant_keeps_to_the_rubric() {
    let step = Slot::Step(StepName::new("panel").unwrap());
    let items = Slot::read("items", "kikit").unwrap();
    let slots = Slots::default().with(step).with(items).with(Slot::Count(2));
    let slots = slots.with(Slot::read("parts", "D4").unwrap());
    for v in crate::variants::VARIANTS {
        let texts = [Some(v.what), v.why, Some(v.healed), v.ask];
        for text in texts.into_iter().flatten() {
            let text = fill(text, &slots).unwrap_or_else(|e| panic!("{} {}: {e}", v.class, v.name));
            let faults = crate::rubric::check_short_text(&text);
            let plain = faults.iter().all(|f| !matches!(f.rule, crate::rubric::Rule::R18));
            assert!(plain, "{} {}: {faults:?}", v.class, v.name);
        }
    }
}
