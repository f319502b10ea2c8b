//! What must not be taken for a row, although it looks like it.

use super::*;
use crate::signals as s;

const UNKNOWN_ID: &str = "SC-1";

#[test]
fn words_alone_are_not_enough() {
    for words in [
        "session expired",
        "401 Unauthorized",
        "429 Too Many Requests",
        "timeout",
        "Permission denied",
        "disk usage limit reached on storage",
        "the limit of 20 mA was reached",
        "rate limit",
        "No match for net GND",
        "agent pad 3 is unconnected",
    ] {
        assert_eq!(class_of_words(words), UNKNOWN_ID, "{words}");
    }
}

#[test]
fn a_typed_answer_outranks_words() {
    let words = Signal::words("stderr", "Claude usage limit reached");
    assert_eq!(class_of(&[words.clone(), report(s::AUTH_ERROR)]), "AG-2");
    assert_eq!(class_of(&[words, report(s::SCHEMA_ERROR)]), "AG-4");
    let timeout = Signal::words("stdout", "KeyError: 'timeout'");
    assert_eq!(class_of(&[timeout]), UNKNOWN_ID);
}

#[test]
fn the_same_facts_of_another_layer_are_not_the_agents() {
    for signal in [
        deadline(),
        Signal::exit_status(127),
        Signal::exit_signal(9),
        Signal::http(401, "/api/user"),
        Signal::http(429, "/api/v2/devices"),
        Signal::http(503, "/api/user"),
        Signal::spawn_not_found("kicad-cli"),
    ] {
        let found = catalogue().diagnose(&seen("process/command", std::slice::from_ref(&signal)));
        assert_eq!(found.class.as_str(), UNKNOWN_ID, "{signal:?}");
    }
}

#[test]
fn overload_is_no_usage_limit() {
    let logged = [report(s::LOG_STATUS).number(429), report(s::OVERLOADED)];
    assert_ne!(class_of(&logged), "AG-3");
    assert_ne!(class_of(&[report(s::LIMIT_ERROR), report(s::OVERLOADED)]), "AG-3");
}

#[test]
fn an_ended_turn_budget_is_never_success() {
    let done = [report(s::TURNS_USED_UP).number(60), Signal::exit_status(0)];
    assert_eq!(class_of(&done), "AG-12");
}

#[test]
fn round_look_alikes() {
    for (not, signals) in [
        ("AG-5", vec![own(s::TREE_UNCHANGED), report(s::CANNOT_BUILD)]),
        ("AG-5", vec![own(s::PUSH_UNCHANGED), own(s::PATHS_OUTSIDE_SCOPE)]),
        ("AG-6", vec![own(s::PATHS_OUTSIDE_SCOPE), own(s::ONLY_GENERATED)]),
        ("AG-7", vec![report(s::CRITERIA_CONFLICT)]),
        (
            "AG-7",
            vec![report(s::CRITERIA_CONFLICT), own(s::BOTH_DEMANDS_FOUND), own(s::CHECK_FLAKY)],
        ),
        ("AG-8", vec![own(s::REPLANS_USED)]),
        ("AG-8", vec![own(s::FINGERPRINT_STALLED)]),
        ("AG-8", vec![own(s::UNPLANNED_REPLANS).number(4), own(s::FINGERPRINT_BACK)]),
        ("AG-13", vec![own(s::UNPLANNED_REPLANS).number(3)]),
        ("AG-13", vec![own(s::REPLANS_USED), own(s::FINGERPRINT_BACK)]),
    ] {
        assert_ne!(class_of(&signals), not, "{signals:?}");
    }
}

#[test]
fn acceptance_and_claim_look_alikes() {
    for (not, signals) in [
        ("AG-9", vec![report(s::NOTHING_PROVEN)]),
        ("AG-9", vec![report(s::ITEM_FAILED)]),
        ("AG-14", vec![report(s::NOTHING_PROVEN), report(s::ITEM_FAILED)]),
        ("AG-14", vec![report(s::NOTHING_PROVEN), own(s::ACCEPTANCE_UNENDED).number(1)]),
        ("AG-10", vec![own("claim_held"), own(s::OTHER_BOARD)]),
    ] {
        assert_ne!(class_of(&signals), not, "{signals:?}");
    }
    let first =
        catalogue().diagnose(&seen("agents/accept", &[own(s::ACCEPTANCE_UNENDED).number(1)]));
    assert!(first.confidence <= 70, "once is not yet twice in a row");
}
