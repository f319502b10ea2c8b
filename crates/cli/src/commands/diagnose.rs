//! `diagnose`: says what a loose error is. It never guesses: without a fitting rule the answer is
//! "unknown".

use std::io::Read;

use pcbflow_core::catalogue::{Catalogue, Diagnosis};
use pcbflow_core::evidence::{Evidence, Signal, codes};
use pcbflow_core::row::Row;
use pcbflow_core::text::without_control;
use pcbflow_humanize::message::{Message, Part};
use pcbflow_humanize::slots::{Slot, Slots, Tool};

use super::failures;
use crate::App;
use crate::args::DiagnoseArgs;
use crate::envelope::{Answer, HumanParts};
use crate::error::{CommandError, Kind};
use crate::story;
use crate::ui::Label;

/// Most bytes of pasted text that are read (1 MiB).
const TEXT_BYTES_MAX: usize = 1 << 20;
/// Bytes of a longer text that are looked at: its head and its tail.
const LOOKED_BYTES_MAX: usize = 32 * 1024;
/// Bytes of one signal, so that the text of a longer paste becomes several.
const PIECE_BYTES: usize = 4096;
/// What is said about tries: nothing was tried.
const TRIED: &str = "I compared it with every failure that I know.";
/// What is said about the result.
const WORKED: &str = "Not yet. I changed nothing, so no work is lost.";
/// What is said when no rule fits: nothing is guessed, and no step is named that there is not.
const UNKNOWN: [&str; 3] = [
    "I don't know this failure.",
    "No rule fits what you gave me.",
    "Run the step again and give me more of its words.",
];

/// Forms in which a class shows itself, told by its words where nothing else is known.
const FORMS: &[(&str, &str, &str)] = &[("KI-7", "failed to load", "not_loaded")];

/// Names of signals with their numbers, as Linux and macOS number them alike.
const SIGNALS: &[(&str, i32)] = &[
    ("HUP", 1),
    ("INT", 2),
    ("QUIT", 3),
    ("ILL", 4),
    ("TRAP", 5),
    ("ABRT", 6),
    ("FPE", 8),
    ("KILL", 9),
    ("SEGV", 11),
    ("PIPE", 13),
    ("ALRM", 14),
    ("TERM", 15),
];

/// What a shell adds to the number of the signal that ended a program.
const SHELL_SIGNAL_BASE: i32 = 128;

/// `pcbflow diagnose`.
///
/// # Errors
/// Nothing to look at, or text that can't be read.
pub fn diagnose(app: &App, args: &DiagnoseArgs) -> Result<Answer, CommandError> {
    let evidence = evidence(args)?;
    let catalogue = failures::catalogue(app)?;
    let found = catalogue.diagnose(&evidence);
    let row = catalogue.row(&found.class).copied();
    let human = if found.known {
        row.as_ref().and_then(|row| human(row, &evidence))
    } else {
        let [what, why, ask] = UNKNOWN.map(str::to_owned);
        Some(HumanParts { what, why, tried: TRIED.to_owned(), worked: WORKED.to_owned(), ask })
    };
    let lines = lines(app, &catalogue, &found, row.as_ref(), human.as_ref());
    let mut answer = Answer::done("diagnose", lines)
        .with("class", &found.class)
        .with("title", row.map(|r| r.title))
        .with("known", found.known)
        .with("confidence", found.confidence)
        .with("rule", &found.rule)
        .with("trust", found.trust)
        .with("also", &found.also)
        .with("fingerprint", found.fingerprint)
        .with("ladder", row.as_ref().map(failures::ladder_json));
    if !found.hint.is_empty() {
        answer = answer.with("hint", &found.hint);
    }
    answer.envelope.class = Some(found.class.to_string());
    answer.envelope.human = human;
    Ok(answer)
}

fn evidence(args: &DiagnoseArgs) -> Result<Evidence, CommandError> {
    let tool = args.tool.as_deref().map(without_control).unwrap_or_default();
    // The tool also stands for the layer: rules bound to a subsystem's steps know both.
    let mut evidence = Evidence::new(layer(&tool), &tool);
    if let Some(status) = args.exit {
        evidence.push(Signal::exit_status(status));
        // A shell tells a signal as 128 and its number.
        if let Some((_, number)) = SIGNALS.iter().find(|(_, n)| status == SHELL_SIGNAL_BASE + n) {
            evidence.push(Signal::exit_signal(*number));
        }
    }
    if let Some(signal) = &args.signal {
        evidence.push(Signal::exit_signal(signal_number(signal)?));
    }
    if let Some(status) = args.http {
        if !(100..=599).contains(&status) {
            return Err(CommandError::new(Kind::Usage, format!("{status} is no HTTP status")));
        }
        evidence.push(Signal::http(status, ""));
    }
    let text = match args.text.as_deref() {
        Some("-") => read_input()?,
        Some(text) => text.to_owned(),
        None => String::new(),
    };
    let text = without_control(&text);
    let looked = pcbflow_core::text::head_and_tail(text.trim(), LOOKED_BYTES_MAX);
    for piece in pieces(&looked) {
        evidence.push(Signal::words(codes::MESSAGE, piece));
    }
    if evidence.signals.is_empty() {
        return Err(CommandError::new(Kind::Usage, "there is nothing to look at").hint(
            "give --text, '--text -' with the words on standard input, --exit, --signal or --http",
        ));
    }
    Ok(evidence)
}

/// Pieces of a text that each fit one signal, cut at line ends where there are any.
fn pieces(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let head = pcbflow_core::text::cut_bytes(rest, PIECE_BYTES);
        if head.len() == rest.len() {
            found.push(rest);
            break;
        }
        let at = head.rfind('\n').filter(|at| *at > 0).map_or(head.len(), |at| at + 1);
        let (piece, after) = rest.split_at(at);
        found.push(piece);
        rest = after;
    }
    found
}

/// The subsystem whose steps drive a tool.
fn layer(tool: &str) -> &'static str {
    let name = pcbflow_core::evidence::program_name(tool).to_lowercase();
    match name.as_str() {
        n if n.starts_with("kicad") || n == "pcbnew" || n == "eeschema" => "kicad",
        "git" | "gh" => "checkpoint",
        n if n.starts_with("easyeda") || n.starts_with("chrom") => "eda",
        "claude" | "codex" | "gemini" => "agents",
        "" => "",
        _ => "process",
    }
}

fn read_input() -> Result<String, CommandError> {
    let mut bytes = Vec::new();
    let most = TEXT_BYTES_MAX as u64 + 1;
    std::io::stdin().lock().take(most).read_to_end(&mut bytes).map_err(|e| {
        CommandError::new(Kind::Usage, format!("standard input can't be read: {e}"))
    })?;
    if bytes.len() > TEXT_BYTES_MAX {
        return Err(CommandError::new(Kind::Usage, "the text is longer than 1 MiB")
            .hint("paste the part around the error"));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn signal_number(text: &str) -> Result<i32, CommandError> {
    if let Ok(number) = text.parse::<i32>()
        && (1..=64).contains(&number)
    {
        return Ok(number);
    }
    let upper = text.to_uppercase();
    let name = upper.strip_prefix("SIG").unwrap_or(&upper);
    SIGNALS.iter().find(|(n, _)| *n == name).map(|(_, number)| *number).ok_or_else(|| {
        CommandError::new(Kind::Usage, format!("'{text}' is no signal"))
            .hint("name it (SEGV, SIGKILL) or give its number")
    })
}

/// The five parts: what and why of the row, and the truth about what was done: nothing.
fn human(row: &Row, evidence: &Evidence) -> Option<HumanParts> {
    let (mut slots, _) = Slots::from_evidence(&evidence.slots);
    if let Ok(tool) = Tool::find(&evidence.tool) {
        slots = slots.with(Slot::Tool(tool));
    }
    let said = evidence.words().to_lowercase();
    let form = FORMS.iter().find(|(class, words, _)| *class == row.id && said.contains(words));
    let message: Message = story::class_message(row, slots, form.map(|f| f.2))?;
    let part = |p| message.part(p).as_str().to_owned();
    Some(HumanParts {
        what: part(Part::What),
        why: part(Part::Why),
        tried: TRIED.to_owned(),
        worked: WORKED.to_owned(),
        ask: part(Part::Ask),
    })
}

fn lines(
    app: &App,
    catalogue: &Catalogue,
    found: &Diagnosis,
    row: Option<&Row>,
    human: Option<&HumanParts>,
) -> Vec<String> {
    let ui = &app.ui;
    let title = row.map_or("", |r| r.title);
    let mut lines = Vec::new();
    if found.known {
        let class = ui.paint(Label::Heading, found.class.as_str());
        lines.push(format!("{class}  {title}  ({} % sure, by {})", found.confidence, found.rule));
    } else {
        let class = ui.paint(Label::Heading, "unknown");
        lines.push(format!("{class}  no rule fits, so nothing is guessed ({})", found.class));
    }
    for other in &found.also {
        let title = catalogue.row(other).map_or("", |r| r.title);
        lines.push(format!("  also possible: {other}  {title}"));
    }
    if let Some(h) = human {
        let parts = [&h.what, &h.why, &h.tried, &h.worked, &h.ask];
        for (part, text) in Part::ALL.iter().zip(parts) {
            if ui.options.narrated {
                lines.push(format!("{}: {text}", part.title()));
                continue;
            }
            let width = ui.columns().saturating_sub(24).max(20);
            for (at, line) in pcbflow_humanize::render::wrap(text, width).iter().enumerate() {
                let title = if at == 0 { part.title() } else { "" };
                lines.push(format!("  {title:<20}  {line}"));
            }
        }
    }
    if let Some(row) = row {
        lines.push("In a run this would be tried:".to_owned());
        for (at, rung) in row.ladder.iter().enumerate() {
            lines.push(format!("  {}. {} ({})", at + 1, rung.what, failures::kind_words(rung)));
        }
    }
    if !found.hint.is_empty() {
        lines.push(format!("Hint of knowledge/rules.toml: {}", without_control(&found.hint)));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_by_name_and_number() {
        for (text, number) in [("9", 9), ("SIGKILL", 9), ("segv", 11), ("sigterm", 15)] {
            assert_eq!(signal_number(text).unwrap(), number, "{text}");
        }
        for bad in ["", "0", "65", "-9", "SIGNOPE"] {
            assert!(signal_number(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_shells_status_tells_the_signal() {
        let seen = |exit| {
            let none = DiagnoseArgs { text: None, http: None, exit, signal: None, tool: None };
            let numbers = evidence(&none).unwrap().signals;
            numbers.iter().filter_map(|s| s.number).collect::<Vec<_>>()
        };
        assert_eq!(seen(Some(139)), [139, 11]);
        assert_eq!(seen(Some(137)), [137, 9]);
        assert_eq!(seen(Some(1)), [1]);
        assert_eq!(seen(Some(-11)), [-11]);
        assert_eq!(seen(Some(160)), [160], "no signal of that number ends a program");
    }

    #[test]
    fn long_text_is_cut_into_pieces_without_loss() {
        let text = "ä line\n".repeat(3000);
        let cut = pieces(&text);
        assert_eq!(cut.concat(), text);
        assert!(cut.iter().all(|p| p.len() <= PIECE_BYTES));
        assert!(pieces("").is_empty());
        assert_eq!(pieces(&"x".repeat(9000)).concat().len(), 9000);
    }
}
