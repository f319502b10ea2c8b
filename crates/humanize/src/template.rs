//! Fills the slots of a template. A template with an unfilled slot does not render.
//!
//! `{name}` is replaced by the value. `{count:footprint|footprints}` writes the value and then the
//! noun in its singular or plural. A step is always shown in quotes, whether or not the template
//! has them.

use crate::message::Text;
use crate::slots::{SLOT_NAMES, Slots};

/// Most slots of one template.
pub const SLOTS_MAX: usize = 8;

/// Why a template does not render.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TemplateError {
    /// The story has no value for this slot.
    #[error("the slot {{{0}}} has no value")]
    Unfilled(&'static str),
    /// There is no slot of this name.
    #[error("there is no slot {{{0}}}")]
    NoSlot(String),
    /// A brace is not closed, or closes nothing.
    #[error("the braces of the template do not match")]
    Braces,
    /// More slots than [`SLOTS_MAX`].
    #[error("more than {SLOTS_MAX} slots in one template")]
    TooMany,
}

/// Renders a template.
///
/// # Errors
/// [`TemplateError`] when a slot has no value or the template is malformed.
pub fn fill(template: &'static str, slots: &Slots) -> Result<Text, TemplateError> {
    let mut shown = String::new();
    let mut masked = String::new();
    let mut rest = template;
    let mut number = 0;
    while let Some((before, after)) = rest.split_once('{') {
        if before.contains('}') {
            return Err(TemplateError::Braces);
        }
        let (inside, after) = after.split_once('}').ok_or(TemplateError::Braces)?;
        number += 1;
        if number > SLOTS_MAX {
            return Err(TemplateError::TooMany);
        }
        let (name, forms) =
            inside.split_once(':').map_or((inside, None), |(n, f)| (n, f.split_once('|')));
        let known = SLOT_NAMES
            .iter()
            .copied()
            .find(|n| *n == name)
            .ok_or_else(|| TemplateError::NoSlot(name.to_owned()))?;
        let value = slots.get(known).ok_or(TemplateError::Unfilled(known))?;
        let (mut text, mut mask) = value.words();
        let mut before = before;
        let mut after = after;
        if known == "step" {
            before = before.strip_suffix('\'').unwrap_or(before);
            after = after.strip_prefix('\'').unwrap_or(after);
        }
        shown.push_str(before);
        masked.push_str(before);
        if value.is_prose() && starts_sentence(&shown) {
            text = capital(&text);
            mask = capital(&mask);
        }
        shown.push_str(&text);
        masked.push_str(&mask);
        if let Some((one, many)) = forms {
            let noun = if value.is_one() { one } else { many };
            for out in [&mut shown, &mut masked] {
                out.push(' ');
                out.push_str(noun);
            }
        }
        rest = after;
    }
    if rest.contains('}') {
        return Err(TemplateError::Braces);
    }
    shown.push_str(rest);
    masked.push_str(rest);
    Ok(Text::new(shown, masked))
}

fn starts_sentence(text: &str) -> bool {
    let text = text.trim_end();
    text.is_empty() || text.ends_with(['.', '?', '!'])
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |c| c.to_uppercase().chain(chars).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slots::{Slot, StepName, Tool};

    fn slots() -> Slots {
        Slots::default()
            .with(Slot::Count(3))
            .with(Slot::Step(StepName::new("place motor block").unwrap()))
            .with(Slot::Tool(Tool::find("git").unwrap()))
    }

    fn shown(template: &'static str) -> String {
        fill(template, &slots()).unwrap().as_str().to_owned()
    }

    #[test]
    fn values_stand_where_the_slots_were() {
        assert_eq!(shown("I lost {count} parts."), "I lost 3 parts.");
        assert_eq!(shown("I lost {count:part|parts}."), "I lost 3 parts.");
        assert_eq!(shown("The step {step} ended."), "The step 'place motor block' ended.");
        assert_eq!(shown("The step '{step}' ended."), "The step 'place motor block' ended.");
        assert_eq!(shown("{tool} stopped. {tool} is slow."), "Git stopped. Git is slow.");
        let one = Slots::default().with(Slot::Count(1));
        assert_eq!(fill("{count:part|parts} left", &one).unwrap().as_str(), "1 part left");
    }

    #[test]
    fn an_unfilled_or_unknown_slot_does_not_render() {
        assert_eq!(fill("The part {part}.", &slots()), Err(TemplateError::Unfilled("part")));
        assert_eq!(fill("The {path}.", &slots()), Err(TemplateError::NoSlot("path".to_owned())));
        for bad in ["a { b", "a } b", "a } {count}"] {
            assert_eq!(fill(bad, &slots()), Err(TemplateError::Braces), "{bad}");
        }
        let many = "{count}{count}{count}{count}{count}{count}{count}{count}{count}";
        assert_eq!(fill(many, &slots()), Err(TemplateError::TooMany));
    }
}
