//! Slots clean what people named and refuse what tools must not say.

use super::*;

#[test]
fn names_are_shown_as_given_but_clean() {
    for (raw, shown) in [
        ("place motor block", "place motor block"),
        ("place_motor_block", "place_motor_block"),
        ("  two \n lines ", "two lines"),
        ("\u{1b}[31mred\u{1b}[0m", "red"),
        ("/home/ana/hw/board", "board"),
        ("C:\\Users\\ana\\board", "board"),
        ("it's", "it\u{2019}s"),
        ("a{count}b", "acountb"),
        ("zero\u{200b}width", "zerowidth"),
    ] {
        assert_eq!(StepName::new(raw).unwrap().as_str(), shown, "{raw:?}");
    }
    let long = StepName::new(&"long ".repeat(2_000)).unwrap();
    assert!(long.as_str().chars().count() <= NAME_CHARS_MAX);
    assert!(long.as_str().ends_with('\u{2026}'));
    for bad in ["", " ", "///", "\u{1b}[0m", "ghp_abcdefgh12345678", "token: abc"] {
        assert!(StepName::new(bad).is_err(), "{bad:?}");
    }
}

#[test]
fn phases_are_said_by_number() {
    assert_eq!(PhaseName::new("06-schematic").unwrap().as_str(), "Phase 6");
    assert_eq!(PhaseName::new("12").unwrap().as_str(), "Phase 12");
    assert_eq!(PhaseName::new("layout").unwrap().as_str(), "phase 'layout'");
    assert!(PhaseName::new("..").is_err());
}

#[test]
fn tools_come_from_the_closed_list() {
    assert_eq!(Tool::find("/usr/bin/kicad-cli").unwrap().as_str(), "KiCad");
    assert_eq!(Tool::find("EasyEDA").unwrap().as_str(), "EasyEDA");
    assert_eq!(Tool::find("python3").unwrap().as_str(), "Python");
    assert!(Tool::find("rm").is_err());
}

#[test]
fn parts_nets_and_items_have_a_form() {
    assert!(PartRef::new("R12").is_ok() && PartRef::new("U7A").is_ok());
    for bad in ["", "12", "R", "R12;", "R-12", "/R12", "R12\n", "RESISTOR1", "\u{dc}7"] {
        assert!(PartRef::new(bad).is_err(), "{bad:?}");
    }
    assert_eq!(Slot::read("net", "/motor/EN_1").unwrap().words().0, "EN_1");
    assert!(NetName::new("a b").is_err());
    for bad in ["ECONNREFUSED", "TypeError", "export.py", "HTTP 401", "exit code 5", ", ;"] {
        assert!(Items::new(bad).is_err(), "{bad:?}");
    }
    assert!(Slot::read("parts", "U7, R12").is_ok());
    assert!(Slot::read("parts", "U7, ../x").is_err());
    assert!(matches!(Slot::read("path", "x"), Err(SlotError::NoSlot(_))));
    assert!(Slot::read("count", "many").is_err());
}

#[test]
fn lists_are_short() {
    let shown = |raw: &str| Slot::read("items", raw).unwrap().words().0;
    assert_eq!(shown("U7"), "U7");
    assert_eq!(shown("U7, U9"), "U7 and U9");
    assert_eq!(shown("U7, U9, R1"), "U7, U9 and R1");
    assert_eq!(shown("U7, U9, R1, R2"), "U7, U9 and 2 more");
    assert_eq!(shown("U7, U9, R1, R2, R3"), "U7, U9, R1 and 2 more");
}

#[test]
fn times_and_spans_are_words() {
    assert_eq!([times_word(1), times_word(2), times_word(3)], ["once", "twice", "3 times"]);
    let shown = |ms| Slot::Duration(Duration { ms }).words().0;
    assert_eq!(shown(5), "less than a second");
    assert_eq!(shown(1_000), "1 second");
    assert_eq!(shown(90_000), "90 seconds");
    assert_eq!(shown(600_000), "10 minutes");
    assert_eq!(shown(7_200_000), "2 hours");
}

#[test]
fn evidence_gives_what_fits_and_names_what_does_not() {
    let raw = [("part", "R12"), ("net", "a b"), ("path", "/etc"), ("variant", "looked_clean")];
    let raw = raw.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    let (slots, refused) = Slots::from_evidence(&raw);
    assert!(slots.get("part").is_some() && slots.get("net").is_none());
    assert_eq!(refused.len(), 1);
}
