//! The rubric against texts that must pass and texts that must not.

use super::*;
use crate::message::Ending;

const PLACE: &str = "door-sensor, Phase 6, step 'place motor block'";

/// The starting texts: what, why, tried, worked, ask.
const TEN: [(Ending, [&str; 5]); 10] = [
    (
        Ending::Waiting,
        [
            "Your EasyEDA session expired.",
            "EasyEDA signs you out after a while.",
            "I paused the schematic step and saved my place.",
            "Not yet. No work is lost.",
            "Log back in to EasyEDA. I will continue on my own.",
        ],
    ),
    (
        Ending::Recovered,
        [
            "EasyEDA asked me to slow down.",
            "I looked up parts faster than it allows.",
            "I waited and tried again twice.",
            "Yes. The part search is moving again and no work is lost.",
            "Nothing.",
        ],
    ),
    (
        Ending::Recovered,
        [
            "The EasyEDA drawing window stopped responding.",
            "This is a known fault in that window.",
            "I restarted the window and redid the last step.",
            "Yes. It came back and nothing was lost.",
            "Nothing.",
        ],
    ),
    (
        Ending::Escalated,
        [
            "I could not reach the EasyEDA window.",
            "It looks closed, or you are signed out.",
            "I started it again twice.",
            "No. The board is paused and no work is lost.",
            "Open EasyEDA and check that you are signed in, then say 'retry'.",
        ],
    ),
    (
        Ending::Escalated,
        [
            "I can't run the design-rule check.",
            "KiCad's command-line tool is not on this computer.",
            "I looked in the usual places.",
            "No. Your work is saved.",
            "Install KiCad (handbook step 2), then say 'retry'.",
        ],
    ),
    (
        Ending::Escalated,
        [
            "KiCad dropped 3 footprints when it read the board.",
            "It does not know these EasyEDA shapes.",
            "I matched 2 of them and put the mounting holes back.",
            "Partly. U7 still has no footprint. Your work is saved.",
            "Pick a footprint for U7, then say 'retry'.",
        ],
    ),
    (
        Ending::Recovered,
        [
            "The design-rule check reported faults that are not real.",
            "KiCad ran without this board's own rules.",
            "I copied the rules in and ran the check again.",
            "Yes. The board is clean and no work is lost.",
            "Nothing.",
        ],
    ),
    (
        Ending::Escalated,
        [
            "I could not find the part for R12.",
            "LCSC lists no 10k resistor in that size.",
            "I tried the part number and two other sizes.",
            "No. The rest of the schematic is done and no work is lost.",
            "Pick a part for R12, then say 'retry'.",
        ],
    ),
    (
        Ending::Escalated,
        [
            "I could not place the motor block.",
            "I don't know yet why it fails.",
            "I tried 3 times in EasyEDA and stopped there.",
            "No. Your work is saved up to the last good step.",
            "Check the motor block in EasyEDA, then say 'retry'.",
        ],
    ),
    (
        Ending::Recovered,
        [
            "Work on this board was cut short.",
            "The computer stopped during the step 'place motor block'.",
            "I checked the board project against the last good step.",
            "Yes. I will redo only that step.",
            "Nothing.",
        ],
    ),
];

const SEEDS: [&str; 8] = [
    "Your EasyEDA session expired. I paused the schematic step. Please log back into EasyEDA; I'll continue automatically from where we stopped \u{2014} no work is lost.",
    "I couldn't connect to the EasyEDA window. I tried relaunching it twice. Please make sure EasyEDA is open and you're signed in, then say 'retry'.",
    "KiCad's command-line tool isn't installed or isn't on the PATH. I can't run the design-rule check without it. Install KiCad (handbook step 2), then say 'retry'.",
    "The EasyEDA drawing window stopped responding (a known glitch). I restarted it and replayed the last step \u{2014} it recovered, nothing lost.",
    "EasyEDA asked me to slow down. I waited and retried; it's continuing now. No action needed.",
    "Resuming door-sensor at Phase 6, step 'place motor block' \u{2014} the previous step (schematic audit) passed and is committed.",
    "The EasyEDA session had expired; you logged back in and the step continued.",
    "EasyEDA session had expired; re-authenticated and continued (1 retry).",
];

fn list(faults: &[Fault]) -> String {
    faults.iter().map(|f| format!("{f}\n")).collect()
}

fn fixture(ending: Ending, parts: [&'static str; 5]) -> Message {
    Message::fixture(PLACE, parts, ending).unwrap()
}

/// A good message with one part replaced.
fn with(part: Part, text: &'static str) -> Message {
    let (ending, mut parts) = TEN[3];
    let at = Part::ALL.iter().position(|p| *p == part).unwrap();
    parts[at] = text;
    fixture(ending, parts)
}

fn rules_of(faults: &[Fault]) -> Vec<Rule> {
    faults.iter().map(|f| f.rule).collect()
}

#[test]
fn accepts_the_ten_starting_texts() {
    for (ending, parts) in TEN {
        let message = fixture(ending, parts);
        let faults = check_message(&message, Form::Five);
        assert!(faults.is_empty(), "{parts:?}\n{}", list(&faults));
        let faults = check_message(&message, Form::Short);
        assert!(faults.is_empty(), "short of {parts:?}\n{}", list(&faults));
        let masked = message.all().masked().to_owned();
        let grade = grade(&masked).unwrap();
        assert!((-0.5..3.0).contains(&grade), "grade {grade} of {masked}");
    }
}

#[test]
fn accepts_the_eight_seed_texts() {
    for seed in SEEDS {
        let faults = check_short(seed);
        assert!(faults.is_empty(), "{seed}\n{}", list(&faults));
    }
}

#[test]
fn rejects_bad_short_texts_by_the_right_rule() {
    for (bad, rule) in [
        ("ECONNREFUSED :9222", Rule::R05),
        ("HTTP 401 Unauthorized", Rule::R02),
        ("429 Too Many Requests", Rule::R02),
        ("kicad-cli: command not found", Rule::R18),
        ("renderer eval timeout", Rule::R18),
        ("Something went wrong!", Rule::R16),
        ("FATAL: the BOARD is broken!", Rule::R17),
        ("The step export_gerbers.py did not finish.", Rule::R04),
        ("thread 'main' panicked at the board.", Rule::R03),
        ("TypeError: undefined is not a function", Rule::R05),
        ("The file /home/ana/hw/board is gone.", Rule::R04),
        ("KI-6 was seen on this board.", Rule::R05),
        ("The commit 3f2a9c01d4e5b6a7 is missing.", Rule::R05),
        ("The tool ended with exit code 5.", Rule::R05),
        ("You forgot to save the board.", Rule::R14),
        ("The board file is invalid.", Rule::R14),
        ("An unexpected error happened, contact support.", Rule::R16),
        ("The package of U7 is missing.", Rule::R18),
        ("Please open EasyEDA, and please sign in.", Rule::R14),
        ("Open EasyEDA. Install KiCad. Say 'retry'.", Rule::R08),
        ("Write to ana.b@example.com for help.", Rule::R20),
        ("The key ghp_abcdefgh12345678 was refused.", Rule::R20),
        ("The board \u{1b}[31mstopped\u{1b}[0m.", Rule::R19),
        ("\u{2705}\u{1f389}", Rule::R19),
        ("It stopped, probably a cable.", Rule::R15),
    ] {
        let faults = check_short(bad);
        assert!(rules_of(&faults).contains(&rule), "{bad} wants {rule:?}, got\n{}", list(&faults));
    }
}

#[test]
fn each_part_is_held_by_its_own_rules() {
    let long = "The check of the board and of its parts and of its rules and of its holes did not end today.";
    let cases: [(Part, &'static str, Rule); 14] = [
        (
            Part::What,
            "I stopped. I did not go on with the old board at all because it was late.",
            Rule::R24,
        ),
        (Part::What, "EasyEDA stopped", Rule::R23),
        (Part::Why, long, Rule::R06),
        (Part::Why, "One. Two. Three.", Rule::R07),
        (Part::Why, "It was slow, maybe.", Rule::R15),
        (Part::Tried, "Started it twice.", Rule::R12),
        (Part::Tried, "It was started twice.", Rule::R12),
        (Part::Worked, "The board is paused and no work is lost.", Rule::R13),
        (Part::Worked, "Yes. The board is done and no work is lost.", Rule::R13),
        (Part::Worked, "No. The board is paused.", Rule::R10),
        (Part::Ask, "EasyEDA must be opened.", Rule::R08),
        (Part::Ask, "Open EasyEDA. Then sign in.", Rule::R08),
        (Part::Ask, "Nothing.", Rule::R21),
        (Part::Ask, "Open EasyEDA, then say 'retry', then say 'retry'.", Rule::R08),
    ];
    for (part, text, rule) in cases {
        let faults = check_message(&with(part, text), Form::Five);
        assert!(rules_of(&faults).contains(&rule), "{text} wants {rule:?}, got\n{}", list(&faults));
    }
}

#[test]
fn the_whole_is_held_too() {
    let nowhere = Message::fixture("", TEN[3].1, Ending::Escalated).unwrap();
    assert_eq!(rules_of(&check_message(&nowhere, Form::Five)), [Rule::R11]);
    let nameless = fixture(
        Ending::Escalated,
        [
            "I could not go on.",
            "It looks closed.",
            "I started it again.",
            "No. No work is lost.",
            "Look at it, then say 'retry'.",
        ],
    );
    assert_eq!(rules_of(&check_message(&nameless, Form::Five)), [Rule::R09]);
    let twenty = "I could not reach the window and tried one more time, because it was closed before I came to it.";
    let wordy = fixture(
        Ending::Escalated,
        [TEN[3].1[0], twenty, twenty, "No. The board is paused and no work is lost.", TEN[3].1[4]],
    );
    assert!(rules_of(&check_message(&wordy, Form::Five)).contains(&Rule::R07));
    let hard = fixture(
        Ending::Escalated,
        [
            "EasyEDA communication unexpectedly deteriorated considerably.",
            "Universal compatibility verification necessitated comprehensive reconsideration.",
            "I immediately reestablished communication.",
            "No. Your work is saved.",
            "Check EasyEDA, then say 'retry'.",
        ],
    );
    assert!(rules_of(&check_message(&hard, Form::Five)).contains(&Rule::R06));
}

#[test]
fn the_ending_must_fit_what_is_said() {
    let (_, waiting) = TEN[0];
    for ending in [Ending::Recovered, Ending::Escalated, Ending::Partly] {
        let faults = check_message(&fixture(ending, waiting), Form::Five);
        assert!(rules_of(&faults).contains(&Rule::R13), "{ending:?}");
    }
    let (_, yes) = TEN[6];
    let faults = check_message(&fixture(Ending::CouldNotVerify, yes), Form::Five);
    assert!(rules_of(&faults).contains(&Rule::R13));
    let asks_anyway = [yes[0], yes[1], yes[2], yes[3], "Open KiCad, then say 'retry'."];
    let faults = check_message(&fixture(Ending::Recovered, asks_anyway), Form::Five);
    assert!(rules_of(&faults).contains(&Rule::R21));
}

#[test]
fn an_empty_part_is_no_message() {
    for part in Part::ALL {
        let mut parts = TEN[0].1;
        let at = Part::ALL.iter().position(|p| *p == part).unwrap();
        parts[at] = " ";
        assert!(Message::fixture(PLACE, parts, Ending::Waiting).is_err());
    }
}

#[test]
fn emoji_carry_no_meaning_and_do_no_harm() {
    assert!(check_short("\u{2705} The board is clean.").is_empty());
}

#[test]
fn every_rule_says_what_it_wants() {
    for rule in Rule::ALL {
        assert!(!rule.text().is_empty());
    }
    let fault =
        Fault { rule: Rule::R08, place: "ask".to_owned(), detail: "two actions".to_owned() };
    assert_eq!(fault.to_string(), "R08 (exactly one action, or 'Nothing.'), ask: two actions");
}

#[test]
fn every_rule_refuses_something() {
    let five = |part, text| check_message(&with(part, text), Form::Five);
    let nowhere = Message::fixture("", TEN[3].1, Ending::Escalated).unwrap();
    let nameless = [
        "I could not go on.",
        "It looks closed.",
        "I started it again.",
        "No. No work is lost.",
        "Look at it, then say 'retry'.",
    ];
    let long =
        "I looked at the board and at the parts and at the rules and at the holes and at the nets.";
    let all: Vec<Fault> = [
        check_short(""),
        check_short("The answer was 404."),
        check_short("It was caused by line 7."),
        check_short("I ran export.py again."),
        check_short("The tool gave undefined."),
        five(Part::Why, long),
        five(Part::Why, "One. Two. Three."),
        five(Part::Ask, "EasyEDA must be opened."),
        check_message(&fixture(Ending::Escalated, nameless), Form::Five),
        five(Part::Worked, "No. The board is paused."),
        check_message(&nowhere, Form::Five),
        five(Part::Tried, "It was started twice."),
        five(Part::Worked, "No work is lost."),
        check_short("You forgot to save."),
        check_short("It is probably the cable."),
        check_short("Something went wrong."),
        check_short("It STOPPED."),
        check_short("The daemon stopped."),
        check_short("a\u{7}b"),
        check_short("Ask ana@example.com."),
        five(Part::Ask, "Nothing."),
        five(Part::What, "EasyEDA stopped"),
        five(
            Part::What,
            "I could not reach the window that shows EasyEDA to you on this old computer.",
        ),
    ]
    .concat();
    let refused = rules_of(&all);
    let never: Vec<&Rule> = Rule::ALL.iter().filter(|r| !refused.contains(r)).collect();
    assert!(never.is_empty(), "{never:?}");
}
