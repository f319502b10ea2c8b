//! Rounds as the runner would record them, one and more for each id.

use super::*;
use crate::signals as s;

#[test]
fn the_agent_itself() {
    let status = |n: i64| report(s::LOG_STATUS).number(n);
    for (want, signals) in [
        ("AG-1", vec![Signal::spawn_not_found("claude")]),
        ("AG-1", vec![Signal::exit_status(127)]),
        ("AG-1", vec![Signal::exit_status(126), own(s::ENDED_BEFORE_FIRST_EVENT)]),
        ("AG-1", vec![Signal::exit_status(1), own(s::ENDED_BEFORE_FIRST_EVENT)]),
        ("AG-2", vec![report(s::AUTH_ERROR), Signal::exit_status(1)]),
        ("AG-2", vec![status(401), Signal::exit_status(1)]),
        ("AG-2", vec![Signal::http(401, "/v1/messages")]),
        (
            "AG-2",
            vec![report(s::AUTH_ERROR), Signal::exit_status(1), own(s::ENDED_BEFORE_FIRST_EVENT)],
        ),
        ("AG-3", vec![report(s::LIMIT_ERROR).number(1_790_000_000), Signal::exit_status(1)]),
        ("AG-3", vec![status(429)]),
        ("AG-3", vec![Signal::http(429, "/v1/messages"), Signal::words("stderr", "429")]),
        ("AG-4", vec![report(s::SCHEMA_ERROR), Signal::exit_status(0)]),
        ("AG-4", vec![report(s::NO_FINAL_OBJECT), Signal::exit_status(0)]),
        ("AG-4", vec![report(s::UNKNOWN_SPELLING).text("changeDefect")]),
        ("AG-4", vec![report(s::EVIDENCE_NOT_FOUND)]),
        ("AG-12", vec![deadline()]),
        ("AG-12", vec![deadline(), Signal::exit_signal(15), report(s::NO_FINAL_OBJECT)]),
        ("AG-12", vec![Signal::exit_signal(9), report(s::NO_FINAL_OBJECT)]),
        ("AG-12", vec![Signal::exit_status(1), report(s::NO_FINAL_OBJECT)]),
        ("AG-12", vec![report(s::TURNS_USED_UP).number(60), report(s::NO_FINAL_OBJECT)]),
        ("AG-12", vec![report(s::STREAM_BROKEN), report(s::SCHEMA_ERROR)]),
        ("AG-12", vec![status(529), report(s::OVERLOADED)]),
    ] {
        assert_eq!(class_of(&signals), want, "{signals:?}");
    }
}

#[test]
fn rounds_and_plans() {
    for (want, signals) in [
        ("AG-5", vec![own(s::TREE_UNCHANGED)]),
        ("AG-5", vec![own(s::PUSH_UNCHANGED)]),
        ("AG-6", vec![own(s::PATHS_OUTSIDE_SCOPE).text("checks/drc.py")]),
        ("AG-6", vec![own(s::PROTECTED_CHANGED), own(s::ONLY_GENERATED)]),
        ("AG-6", vec![own(s::LEAVES_TREE)]),
        ("AG-6", vec![own(s::PROTECTED_CHANGED), own(s::PUSH_UNCHANGED)]),
        ("AG-7", vec![report(s::CRITERIA_CONFLICT), own(s::BOTH_DEMANDS_FOUND)]),
        ("AG-13", vec![report(s::CANNOT_BUILD)]),
        ("AG-13", vec![report(s::CANNOT_BUILD), own(s::TREE_UNCHANGED)]),
        ("AG-13", vec![own(s::UNPLANNED_REPLANS).number(4)]),
    ] {
        assert_eq!(class_of(&signals), want, "{signals:?}");
    }
}

#[test]
fn limits_and_acceptance() {
    for (want, signals) in [
        ("AG-8", vec![own(s::REPLANS_USED), own(s::FINGERPRINT_BACK)]),
        ("AG-8", vec![own(s::REPLANS_USED), own(s::FINGERPRINT_STALLED)]),
        ("AG-9", vec![own(s::ACCEPTANCE_UNENDED).number(2)]),
        ("AG-9", vec![own(s::ACCEPTANCE_UNENDED).number(2), report(s::NOTHING_PROVEN)]),
        ("AG-10", vec![own("claim_held").text("laptop 4242")]),
        ("AG-11", vec![own(s::CYCLES_USED_UP).number(50)]),
        ("AG-11", vec![own(s::HOURS_USED_UP).number(86_400_000)]),
        ("AG-14", vec![report(s::NOTHING_PROVEN).number(3)]),
    ] {
        assert_eq!(class_of(&signals), want, "{signals:?}");
    }
}

#[test]
fn pasted_words() {
    for (want, words) in [
        ("AG-2", "Invalid API key \u{b7} Please run /login"),
        (
            "AG-2",
            "API Error: 401 {\"type\":\"error\",\"error\":{\"type\":\"authentication_error\"}}",
        ),
        ("AG-2", "OAuth token has expired"),
        ("AG-3", "Claude usage limit"),
        ("AG-3", "The Claude usage limit was reached. Try again later."),
        ("AG-3", "Claude AI usage limit reached|1790000000"),
        ("AG-3", "You've hit your usage limit"),
    ] {
        let found = catalogue().diagnose(&seen("", &[Signal::words("message", words)]));
        assert_eq!(found.class.as_str(), want, "{words}");
        assert!(found.confidence <= 60, "{words}");
    }
}
