//! Holds every text of a failure row against the rubric, by telling stories with sample values.

use std::collections::BTreeSet;

use pcbflow_core::row::{Resume, Row, RungKind};

use crate::lists::TOOLS;
use crate::message::Part;
use crate::readability::{sentences, word_count};
use crate::render;
use crate::rubric::{self, Fault, Faults, Rule};
use crate::slots::{
    Board, Duration, Items, NetName, PartRef, PhaseName, Slot, Slots, StepName, Tool,
};
use crate::story::{Outcome, Place, Story, StoryError, Try, TryResult, Work};
use crate::template::fill;
use crate::variants::VARIANTS;

/// Longest ladder that is told in all its pairs.
const RUNGS_MAX: usize = 20;

/// Holds every text of the row against the rubric: each template by itself, then whole messages
/// for every outcome and for every one, two and all rungs that may have run. An empty answer
/// means that the row may be registered.
#[must_use]
pub fn lint_row(row: &Row) -> Vec<Fault> {
    let mut faults = Faults::of("row");
    check_fields(row, &mut faults);
    let Some(slots) = sample_slots(row.texts.tool) else { return faults.done() };
    check_rungs(row, &slots, &mut faults);
    let mut seen = BTreeSet::new();
    let variants = VARIANTS.iter().filter(|v| v.class == row.id).map(|v| Some(v.name));
    let every = possible_tries(row);
    let few = none_and_wordiest(row, &slots, &every);
    for variant in std::iter::once(None).chain(variants) {
        for (at, outcome) in outcomes().into_iter().enumerate() {
            // The outcomes share what was tried, so one of them tells every set of rungs.
            for tries in if at == 0 { &every } else { &few } {
                let story = sample_story(row, &slots, variant, &outcome, tries.clone());
                check_story(&story, &mut seen, &mut faults);
            }
        }
    }
    let mut found: Vec<Fault> = Vec::new();
    for mut fault in faults.done() {
        fault.place = format!("{} {}", row.id, fault.place);
        if !found.iter().any(|f| f.rule == fault.rule && f.detail == fault.detail) {
            found.push(fault);
        }
    }
    found
}

fn check_fields(row: &Row, faults: &mut Faults) {
    let texts = &row.texts;
    let known = TOOLS.iter().any(|t| t.name == texts.tool);
    let names: Vec<&str> = TOOLS.iter().map(|t| t.name).collect();
    faults.at("tool").when(
        !known,
        Rule::R09,
        format!("{:?} is not on the closed list: {}", texts.tool, names.join(", ")),
    );
    faults.at("ask").when(
        texts.ask.trim_end().ends_with(['.', ',']) || texts.ask.contains("then say 'retry'"),
        Rule::R08,
        "stands without full stop and without \"then say 'retry'\": they are added",
    );
    faults.when(
        texts.ask.is_empty() != matches!(texts.resume, Resume::Nothing),
        Rule::R21,
        "is empty exactly when nothing is to be done",
    );
    faults.at("why").when(
        texts.why.is_some_and(str::is_empty),
        Rule::R15,
        "is empty; an unknown cause is None",
    );
}

fn check_rungs(row: &Row, slots: &Slots, faults: &mut Faults) {
    let templates = [
        ("what", row.texts.what),
        ("why", row.texts.why.unwrap_or("")),
        ("healed", row.texts.healed),
        ("ask", row.texts.ask),
    ];
    for (place, template) in templates {
        if let Err(error) = fill(template, slots) {
            faults.at(place).add(Rule::R05, error.to_string());
        }
        if place != "ask" && !template.is_empty() {
            check_form(place, template, faults);
        }
    }
    for rung in row.ladder.iter().filter(|r| r.kind != RungKind::Ask) {
        let place = format!("rung {:?}", rung.id);
        match fill(rung.said, slots) {
            Err(error) => faults.at(&place).add(Rule::R05, error.to_string()),
            Ok(text) => {
                check_form(&place, rung.said, faults);
                let found = rubric::check_part(Part::Tried, &text);
                faults.extend(
                    found.into_iter().map(|f| Fault { place: place.clone(), ..f }).collect(),
                );
            }
        }
    }
}

/// Whole sentences with capital and full stop; one of them, two for "why".
fn check_form(place: &str, template: &str, faults: &mut Faults) {
    let number = sentences(template).len();
    let most = if place == "why" { 2 } else { 1 };
    faults.at(place).when(
        number > most,
        Rule::R07,
        format!("{number} sentences, at most {most}: {template:?}"),
    );
    let begins = template
        .starts_with(|c: char| c.is_uppercase() || c.is_ascii_digit() || c == '{' || c == '\'');
    faults.when(!begins, Rule::R23, format!("does not begin with a capital: {template:?}"));
    let ends = template.ends_with(['.', '?']);
    faults.when(!ends, Rule::R23, format!("does not end with a full stop: {template:?}"));
}

fn outcomes() -> Vec<(Outcome, Work)> {
    let step = StepName::new("place motor block").ok();
    let redo = step.map_or(Work::Safe, Work::WillRedo);
    let left = Items::new("U7, U9").ok();
    let mut list = vec![
        (Outcome::Recovered, Work::Safe),
        (Outcome::Recovered, redo),
        (Outcome::Escalated, Work::Saved),
        (Outcome::CouldNotVerify, Work::Saved),
        (Outcome::Partly { left }, Work::Saved),
        (Outcome::Partly { left: None }, Work::Safe),
        (Outcome::Waiting, Work::Safe),
        (Outcome::TryLater, Work::Saved),
        (Outcome::FixedByPerson, Work::Safe),
    ];
    if let Ok(tool) = Tool::find("EasyEDA") {
        list.push((Outcome::Escalated, Work::AtRisk(tool)));
    }
    list
}

fn none_and_wordiest(row: &Row, slots: &Slots, every: &[Vec<Try>]) -> Vec<Vec<Try>> {
    let words = |tries: &&Vec<Try>| {
        let outcome = (Outcome::Recovered, Work::Safe);
        let story = sample_story(row, slots, None, &outcome, (*tries).clone());
        story.message().map_or(0, |m| word_count(m.part(Part::Tried).as_str()))
    };
    std::iter::once(Vec::new()).chain(every.iter().max_by_key(words).cloned()).collect()
}

/// Nothing, each rung alone, each pair in its order, and the whole ladder.
fn possible_tries(row: &Row) -> Vec<Vec<Try>> {
    let rungs: Vec<Try> = row
        .ladder
        .iter()
        .filter(|r| r.kind != RungKind::Ask)
        .take(RUNGS_MAX)
        .map(|r| Try {
            rung: r.id.to_owned(),
            times: u64::try_from(r.times()).unwrap_or(1).max(1),
            result: TryResult::NotCured,
        })
        .collect();
    let mut all = vec![Vec::new()];
    for (at, first) in rungs.iter().enumerate() {
        all.push(vec![first.clone()]);
        for second in rungs.iter().skip(at + 1) {
            all.push(vec![first.clone(), second.clone()]);
        }
    }
    if rungs.len() > 2 {
        all.push(rungs);
    }
    all
}

fn sample_story<'a>(
    row: &'a Row,
    slots: &Slots,
    variant: Option<&'static str>,
    (outcome, work): &(Outcome, Work),
    tries: Vec<Try>,
) -> Story<'a> {
    let mut story = Story::new(row, sample_place(), outcome.clone());
    story.tries = tries;
    story.work = work.clone();
    story.slots = slots.clone();
    story.variant = variant.map(str::to_owned);
    if matches!((outcome, row.texts.resume), (Outcome::Waiting, Resume::Retry)) {
        story.resume = Resume::Watch("sample");
    }
    story
}

/// Texts that were checked already; stories of one row share most of their parts.
type Seen = BTreeSet<(Option<Part>, String)>;

fn check_story(story: &Story<'_>, seen: &mut Seen, faults: &mut Faults) {
    let message = match story.message_strict() {
        Ok(message) => message,
        Err(StoryError::Gaps(gaps)) => {
            for gap in gaps {
                faults.at(gap.part.title()).add(Rule::R05, gap.error.to_string());
            }
            return;
        }
        Err(error) => return faults.at("message").add(Rule::R01, error.to_string()),
    };
    for part in Part::ALL {
        let text = message.part(part);
        if seen.insert((Some(part), text.as_str().to_owned())) {
            faults.extend(rubric::check_part(part, text));
        }
    }
    faults.extend(rubric::check_whole(&message));
    for (place, text) in
        [("short form", render::short(&message)), ("mirror line", render::mirror(&message))]
    {
        if seen.insert((None, text.as_str().to_owned())) {
            let found = rubric::check_short_text(&text);
            faults.extend(
                found.into_iter().map(|f| Fault { place: place.to_owned(), ..f }).collect(),
            );
        }
    }
}

fn sample_place() -> Place {
    Place {
        board: Board::new("door-sensor").ok(),
        phase: PhaseName::new("06-schematic").ok(),
        step: StepName::new("place motor block").ok(),
    }
}

/// A value for every slot; `None` when the row's tool is not on the list, which is a fault of
/// its own.
fn sample_slots(tool: &str) -> Option<Slots> {
    let tool = Tool::find(tool).ok()?;
    let mut slots = Slots::default()
        .with(Slot::Times(3))
        .with(Slot::Count(3))
        .with(Slot::Tool(tool))
        .with(Slot::Duration(Duration { ms: 120_000 }));
    let more = [
        PartRef::new("R12").map(Slot::Part),
        Items::new("U7, U9, R12").map(Slot::Parts),
        StepName::new("place motor block").map(Slot::Step),
        PhaseName::new("06-schematic").map(Slot::Phase),
        Board::new("door-sensor").map(Slot::Board),
        NetName::new("VBUS").map(Slot::Net),
        Items::new("MOT_A, MOT_B").map(Slot::Items),
    ];
    for slot in more.into_iter().flatten() {
        slots = slots.with(slot);
    }
    Some(slots)
}

#[cfg(test)]
#[path = "lint_tests.rs"]
mod tests;
