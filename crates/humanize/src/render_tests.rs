//! Forms of a message: widths, words read aloud, and room for another language.

use super::*;
use crate::rubric::check_short_text;
use crate::samples::sample_rows;
use crate::slots::{Board, Items, PartRef, PhaseName, StepName};
use crate::story::{Outcome, Place, Story};

fn message() -> Message {
    let rows = sample_rows();
    let place = Place {
        board: Board::new("door-sensor").ok(),
        phase: PhaseName::new("06-schematic").ok(),
        step: StepName::new("place motor block").ok(),
    };
    Story::new(&rows[1], place, Outcome::Waiting).message().unwrap()
}

/// English as another language would come out: a third longer, with accents.
fn pseudo(text: &str) -> String {
    let longer = |word: &str| {
        let letters = word.chars().filter(|c| c.is_alphabetic()).count();
        let accented: String = word
            .chars()
            .map(|c| match c {
                'a' => '\u{e1}',
                'e' => '\u{e9}',
                'i' => '\u{ef}',
                'o' => '\u{f6}',
                'u' => '\u{fc}',
                o => o,
            })
            .collect();
        format!("{accented}{}", "~".repeat((letters * 3).div_ceil(10)))
    };
    text.split(' ').map(longer).collect::<Vec<_>>().join(" ")
}

#[test]
fn five_lines_have_titles_and_fit() {
    let text = five_lines(&message(), COLUMNS);
    insta::assert_snapshot!(text, @r"
    door-sensor, Phase 6, step 'place motor block'
      What happened        Your EasyEDA session expired.
      Why                  EasyEDA signs you out after a while.
      What I tried         I stopped there and saved your place.
      Did it work          Not yet. No work is lost.
      What you need to do  Log back in to EasyEDA. I will continue on my own.
    ");
    assert!(five_lines(&message(), 40).lines().skip(1).all(|l| l.chars().count() <= 44));
}

#[test]
fn narrated_text_has_whole_sentences_and_no_columns() {
    let text = narrated(&message());
    assert!(!text.contains("  "));
    assert!(text.lines().all(|l| l.ends_with('.')));
    assert_eq!(text.lines().count(), 6);
}

#[test]
fn short_texts_hold_what_matters() {
    assert_eq!(
        short(&message()).as_str(),
        "Your EasyEDA session expired. No work is lost. Log back in to EasyEDA. I will continue on my own."
    );
    assert_eq!(mirror(&message()).as_str(), "Your EasyEDA session expired. You are needed.");
    assert!(check_short_text(&mirror(&message())).is_empty());
}

#[test]
fn json_has_the_five_parts() {
    let human = human(&message());
    assert_eq!(human.what, "Your EasyEDA session expired.");
    assert_eq!(human.ask, "Log back in to EasyEDA. I will continue on my own.");
    assert!([human.why, human.tried, human.worked].iter().all(|p| !p.is_empty()));
}

#[test]
fn another_language_fits_eighty_columns() {
    let slots = Slots::default()
        .with(Slot::Count(2))
        .with(Slot::Part(PartRef::new("R12").unwrap()))
        .with(Slot::Items(Items::new("U7").unwrap()));
    for row in sample_rows() {
        for outcome in
            [Outcome::Recovered, Outcome::Escalated, Outcome::CouldNotVerify, Outcome::TryLater]
        {
            let story =
                Story { slots: slots.clone(), ..Story::new(&row, Place::default(), outcome) };
            let told = story.message().unwrap();
            for part in Part::ALL {
                let longer = pseudo(told.part(part).as_str());
                assert!(
                    longer.chars().count() * 10 >= told.part(part).as_str().chars().count() * 12
                );
                assert!(
                    wrap(&longer, COLUMNS - 23).iter().all(|l| l.chars().count() <= COLUMNS - 23),
                    "{longer}"
                );
                assert!(wrap(&longer, COLUMNS - 23).len() <= 4, "{longer}");
            }
        }
    }
}

#[test]
fn wrapping_loses_no_word() {
    let text = "one two three four five";
    assert_eq!(wrap(text, 9).join(" "), text);
    assert_eq!(wrap(text, 9), ["one two", "three", "four five"]);
    assert_eq!(wrap("", 9), [""]);
}
