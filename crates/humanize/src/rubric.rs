//! The rules of the message, as far as code can hold them.
//!
//! [`check_message`] holds a whole message against them, [`check_short`] a short text; both name
//! every fault. Entry point for the texts of a failure row: [`crate::lint_row`].

use std::fmt;

use crate::lists;
use crate::message::{Ending, Message, Part, Text};
use crate::patterns;
use crate::readability::{grade, sentences, word_count};
use crate::words::{tokens, words};

/// Most words of the whole message; values of slots count as one word each.
pub const MESSAGE_WORDS_MAX: usize = 60;
/// Most words of one part.
pub const PART_WORDS_MAX: usize = 25;
/// Most sentences of one part, the lead word left out.
pub const PART_SENTENCES_MAX: usize = 2;
/// Most words of a short text.
pub const SHORT_WORDS_MAX: usize = 30;
/// Most words of one sentence.
pub const SENTENCE_WORDS_MAX: usize = 20;
/// Most words of "what happened".
pub const WHAT_WORDS_MAX: usize = 14;
/// Highest school grade.
pub const GRADE_MAX: f64 = 8.0;

macro_rules! rules {
    ($($id:ident $text:literal),* $(,)?) => {
        /// A rule of the rubric.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Rule { $(#[doc = $text] $id),* }

        impl Rule {
            /// All rules that code can hold.
            pub const ALL: &'static [Rule] = &[$(Rule::$id),*];

            /// The rule in words.
            #[must_use]
            pub const fn text(self) -> &'static str {
                match self { $(Rule::$id => $text),* }
            }
        }
    };
}

rules! {
    R01 "five parts in a fixed order, none empty",
    R02 "no protocol words, no bare status numbers",
    R03 "no stack frames, panics, line numbers, addresses",
    R04 "no paths, no code-file names",
    R05 "no program tokens, no unfilled slots",
    R06 "grade of at most 8, sentences of at most 20 words",
    R07 "at most 60 words in all, 25 and 2 sentences a part; short texts at most 30 words",
    R08 "exactly one action, or 'Nothing.'",
    R09 "names the tool or place",
    R10 "says whether work was lost",
    R11 "says where we are when a person is needed",
    R12 "what I tried starts with 'I'",
    R13 "did it work starts with Yes, No, Partly or Not yet, and fits the ending",
    R14 "no blame, no threats, at most one please",
    R15 "an unknown cause is said, not guessed",
    R16 "not vague",
    R17 "calm: no exclamation marks, no capitals",
    R18 "known words only, and the preferred ones",
    R19 "no control codes; reads the same without emoji",
    R20 "no secret, no address of a person, no home folder",
    R21 "ask and verdict agree",
    R23 "survives translation",
    R24 "what happened stands alone in at most 14 words",
}

/// Five parts, or a short text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Escalations, reports, `explain`.
    Five,
    /// One or two lines.
    Short,
}

/// One broken rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The rule.
    pub rule: Rule,
    /// Where: a part, a template, or the whole.
    pub place: String,
    /// What is wrong, with the words that are.
    pub detail: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} ({}), {}: {}", self.rule, self.rule.text(), self.place, self.detail)
    }
}

/// Collects faults of one place.
pub(crate) struct Faults {
    place: String,
    found: Vec<Fault>,
}

impl Faults {
    pub(crate) fn of(place: &str) -> Faults {
        Faults { place: place.to_owned(), found: Vec::new() }
    }

    pub(crate) fn at(&mut self, place: &str) -> &mut Faults {
        place.clone_into(&mut self.place);
        self
    }

    pub(crate) fn add(&mut self, rule: Rule, detail: impl Into<String>) {
        let fault = Fault { rule, place: self.place.clone(), detail: detail.into() };
        if !self.found.contains(&fault) {
            self.found.push(fault);
        }
    }

    pub(crate) fn when(&mut self, bad: bool, rule: Rule, detail: impl Into<String>) {
        if bad {
            self.add(rule, detail);
        }
    }

    pub(crate) fn extend(&mut self, more: Vec<Fault>) {
        for fault in more {
            if !self.found.contains(&fault) {
                self.found.push(fault);
            }
        }
    }

    pub(crate) fn done(self) -> Vec<Fault> {
        self.found
    }
}

/// Holds a message against the rules. With [`Form::Short`] its short form is held against the
/// rules of short texts.
#[must_use]
pub fn check_message(message: &Message, form: Form) -> Vec<Fault> {
    match form {
        Form::Short => check_short_text(&crate::render::short(message)),
        Form::Five => {
            let mut faults = Faults::of("message");
            for part in Part::ALL {
                faults.extend(check_part(part, message.part(part)));
            }
            faults.extend(check_whole(message));
            faults.done()
        }
    }
}

/// Holds a short text against the rules that both forms have.
#[must_use]
pub fn check_short(text: &str) -> Vec<Fault> {
    check_short_text(&Text::new(text.to_owned(), text.to_owned()))
}

/// The same for a text whose values are known.
#[must_use]
pub fn check_short_text(text: &Text) -> Vec<Fault> {
    let mut faults = Faults::of("short text");
    check_text(text, &mut faults);
    let count = word_count(text.masked());
    faults.when(
        count > SHORT_WORDS_MAX,
        Rule::R07,
        format!("{count} words, at most {SHORT_WORDS_MAX}"),
    );
    faults.when(text.is_empty(), Rule::R01, "empty");
    let actions = sentences(text.as_str()).iter().filter(|s| starts_with_action(s)).count();
    faults.when(actions > 1, Rule::R08, format!("{actions} actions, at most one"));
    check_grade(text, &mut faults);
    faults.done()
}

fn check_grade(text: &Text, faults: &mut Faults) {
    if let Some(grade) = grade(text.masked()) {
        faults.when(grade > GRADE_MAX, Rule::R06, format!("grade {grade:.1}, at most {GRADE_MAX}"));
    }
}

/// Rules of both forms for one piece of text.
pub(crate) fn check_text(text: &Text, faults: &mut Faults) {
    for (rule, detail) in patterns::on_shown(text.as_str()) {
        faults.add(rule, detail);
    }
    let literal = without_emoji(text.literal());
    for (rule, detail) in patterns::on_words(&literal) {
        faults.add(rule, detail);
    }
    let words_only = without_emoji(text.masked());
    faults.when(
        words_only.trim().is_empty() && !text.is_empty(),
        Rule::R19,
        "says nothing without its emoji",
    );
    if let Some(detail) = patterns::bare_status(&literal) {
        faults.add(Rule::R02, detail);
    }
    for sentence in sentences(&words_only) {
        let count = word_count(sentence);
        faults.when(
            count > SENTENCE_WORDS_MAX,
            Rule::R06,
            format!("a sentence of {count} words, at most {SENTENCE_WORDS_MAX}: {sentence:?}"),
        );
    }
    let please = tokens(&words_only).filter(|w| w.eq_ignore_ascii_case("please")).count();
    faults.when(please > 1, Rule::R14, "more than one please");
    check_words(&words_only, faults);
}

fn check_words(text: &str, faults: &mut Faults) {
    for word in tokens(text) {
        let letters: Vec<char> = word.chars().filter(|c| c.is_alphabetic()).collect();
        let shouts = letters.len() > 1 && letters.iter().all(|c| c.is_uppercase());
        let upper = word.trim_end_matches("'s").to_uppercase();
        let allowed = upper.split('-').all(|part| lists::CAPITALS.contains(&part));
        faults.when(shouts && !allowed, Rule::R17, format!("capitals: {word:?}"));
        faults.when(
            !words().knows(word),
            Rule::R18,
            format!("{word:?} is neither a plain word nor in the glossary"),
        );
    }
    if let Some(s) = words().avoided(text) {
        faults.add(Rule::R18, format!("say {:?}, not {:?}", s.say, s.not));
    }
}

fn without_emoji(text: &str) -> String {
    let picture = |c: char| matches!(c, '\u{2190}'..='\u{2bff}' | '\u{fe0f}' | '\u{200d}' | '\u{1f000}'..='\u{1faff}');
    text.chars().filter(|c| !picture(*c)).collect()
}

/// Rules for one of the five parts.
pub(crate) fn check_part(part: Part, text: &Text) -> Vec<Fault> {
    let mut faults = Faults::of(part.title());
    faults.when(text.is_empty(), Rule::R01, "empty");
    check_text(text, &mut faults);
    let masked = text.masked();
    let count = word_count(masked);
    faults.when(
        count > PART_WORDS_MAX,
        Rule::R07,
        format!("{count} words, at most {PART_WORDS_MAX}"),
    );
    let lead = lead_of(masked);
    let body = lead.map_or(masked, |l| masked.get(l.len()..).unwrap_or(""));
    let body = if part == Part::Worked { body } else { masked };
    let number = sentences(body).len();
    faults.when(
        number > PART_SENTENCES_MAX,
        Rule::R07,
        format!("{number} sentences, at most {PART_SENTENCES_MAX}"),
    );
    let ends = text.as_str().trim_end_matches(['\'', ')']).ends_with(['.', '?']);
    faults.when(!ends, Rule::R23, "is not a whole sentence: it does not end with a full stop");
    match part {
        Part::What => {
            faults.when(
                count > WHAT_WORDS_MAX,
                Rule::R24,
                format!("{count} words, at most {WHAT_WORDS_MAX}"),
            );
        }
        Part::Why => {}
        Part::Tried => {
            let first = masked.split([' ', '\'', '\u{2019}']).next().unwrap_or("");
            faults.when(first != "I", Rule::R12, format!("starts with {first:?}"));
        }
        Part::Worked => check_worked(text, lead, &mut faults),
        Part::Ask => check_ask(text, &mut faults),
    }
    faults.done()
}

fn check_worked(text: &Text, lead: Option<&str>, faults: &mut Faults) {
    faults.when(lead.is_none(), Rule::R13, "starts with none of Yes, No, Partly, Not yet");
    let lower = text.masked().to_lowercase();
    let told = lists::WORK_WORDS.iter().any(|w| lower.contains(w));
    faults.when(!told, Rule::R10, "does not say whether work was lost");
}

/// The lead word of "did it work", full stop included.
pub(crate) fn lead_of(text: &str) -> Option<&'static str> {
    lists::LEADS.iter().copied().find(|l| text.starts_with(l))
}

fn starts_with_action(sentence: &str) -> bool {
    let mut list = tokens(sentence).map(str::to_lowercase);
    let first = list.next();
    let verb = if first.as_deref() == Some("please") { list.next() } else { first };
    verb.is_some_and(|v| lists::ASK_VERBS.contains(&v.as_str()))
}

/// The one action: a sentence that starts with a verb of the closed list, then at most one
/// sentence that says how it goes on.
fn check_ask(text: &Text, faults: &mut Faults) {
    if text.as_str() == lists::NOTHING {
        return;
    }
    let list = sentences(text.as_str());
    let first = list.first().copied().unwrap_or("");
    faults.when(
        !starts_with_action(first),
        Rule::R08,
        format!("does not start with a verb of the closed list: {first:?}"),
    );
    for more in list.iter().skip(1) {
        faults.when(
            !lists::RESUME_SENTENCES.contains(more),
            Rule::R08,
            format!("says more than one action: {more:?}"),
        );
    }
    let said = text.as_str().matches("then say '").count();
    faults.when(said > 1, Rule::R08, "says twice what to say");
}

/// Rules for the message as a whole, its parts left out.
pub(crate) fn check_whole(message: &Message) -> Vec<Fault> {
    let mut faults = Faults::of("message");
    check_sum(message, &mut faults);
    check_ending(message, faults.at("ending"));
    faults.done()
}

fn check_sum(message: &Message, faults: &mut Faults) {
    let all = message.all();
    let count = word_count(all.masked());
    faults.when(
        count > MESSAGE_WORDS_MAX,
        Rule::R07,
        format!("{count} words, at most {MESSAGE_WORDS_MAX}"),
    );
    check_grade(&all, faults);
    let step_named = all.as_str().contains("step '");
    faults.when(
        !step_named && !lists::names_a_tool(all.as_str()),
        Rule::R09,
        "names neither a tool of the closed list nor a step",
    );
    let please = tokens(all.masked()).filter(|w| w.eq_ignore_ascii_case("please")).count();
    faults.when(please > 1, Rule::R14, "more than one please");
    for (rule, detail) in patterns::on_shown(message.place().as_str()) {
        faults.at("place").add(rule, detail);
    }
}

fn check_ending(message: &Message, faults: &mut Faults) {
    let nothing = message.part(Part::Ask).as_str() == lists::NOTHING;
    let lead = lead_of(message.part(Part::Worked).masked()).unwrap_or("");
    let yes = lead == "Yes.";
    let (leads, ask): (&[&str], Option<bool>) = match message.ending() {
        Ending::Recovered | Ending::FixedByPerson => (&["Yes."], Some(false)),
        Ending::Escalated => (&["No.", "Partly."], Some(true)),
        Ending::Waiting => (&["Not yet."], Some(true)),
        Ending::Partly => (&["Partly."], None),
        Ending::CouldNotVerify => (&["No.", "Not yet.", "Partly."], None),
        Ending::TryLater => (&["Not yet."], Some(true)),
        Ending::Note => (lists::LEADS, None),
    };
    faults.when(
        !leads.contains(&lead),
        Rule::R13,
        format!("{lead:?} does not fit {:?}", message.ending()),
    );
    faults.when(yes && !nothing, Rule::R21, "it worked and still asks for something");
    match ask {
        Some(true) => faults.when(nothing, Rule::R21, "a person is needed and nothing is asked"),
        Some(false) => faults.when(!nothing, Rule::R21, "nothing is needed and something is asked"),
        None => {}
    }
    faults.when(
        !nothing && message.place().is_empty(),
        Rule::R11,
        "a person is needed and the place is not said",
    );
}

#[cfg(test)]
#[path = "rubric_tests.rs"]
mod tests;
