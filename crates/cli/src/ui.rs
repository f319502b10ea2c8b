//! The only place that prints. Data goes to standard output, everything else to standard error.
//!
//! **Invariants.** With `--json` exactly one document stands on standard output, with `--events`
//! one JSON line per event and a last line with the result. A reader that goes away is no error.
//! Text from tools and files loses control codes before it is shown.

use std::io::{BufRead, IsTerminal, Write};

use anstyle::{AnsiColor, Style};
use pcbflow_core::text::without_control;

/// When colour is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum ColorChoice {
    /// When standard output is a terminal and nobody asked for none.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// What a word means; the one table of colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Label {
    /// Passed.
    Ok,
    /// Healed.
    Recovered,
    /// Waits for the person.
    NeedsYou,
    /// Findings or a failure.
    Failed,
    /// Nothing is known.
    Unverified,
    /// Less important.
    Dim,
    /// A heading.
    Heading,
}

impl Label {
    fn style(self) -> Style {
        let color = |c: AnsiColor| Style::new().fg_color(Some(c.into()));
        match self {
            Label::Ok => color(AnsiColor::Green),
            Label::Recovered => color(AnsiColor::Cyan),
            Label::NeedsYou => color(AnsiColor::Yellow).bold(),
            Label::Failed => color(AnsiColor::Red),
            Label::Unverified => color(AnsiColor::Magenta),
            Label::Dim => Style::new().dimmed(),
            Label::Heading => Style::new().bold(),
        }
    }
}

/// How output is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UiOptions {
    /// One JSON document.
    pub json: bool,
    /// JSON lines.
    pub events: bool,
    /// 0 = all, 1 = no progress, 2 = nothing but the result.
    pub quiet: u8,
    /// Whole sentences, no columns.
    pub narrated: bool,
    /// Colour.
    pub color: ColorChoice,
}

/// Prints.
#[derive(Debug, Clone)]
pub struct Ui {
    /// How output is wanted.
    pub options: UiOptions,
}

impl Ui {
    /// A way to print. Sets the colour choice of the process.
    #[must_use]
    pub fn new(options: UiOptions) -> Ui {
        let choice = match options.color {
            ColorChoice::Auto => anstream::ColorChoice::Auto,
            ColorChoice::Always => anstream::ColorChoice::AlwaysAnsi,
            ColorChoice::Never => anstream::ColorChoice::Never,
        };
        choice.write_global();
        Ui { options }
    }

    /// Whether machine output is wanted, so that people's words go nowhere.
    #[must_use]
    pub fn machine(&self) -> bool {
        self.options.json || self.options.events
    }

    /// Whether a person watches progress.
    #[must_use]
    pub fn progress(&self) -> bool {
        self.options.quiet == 0
    }

    /// Whether standard error is a terminal.
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        std::io::stderr().is_terminal()
    }

    /// Whether a question may be put: both ends are terminals and no machine reads.
    #[must_use]
    pub fn may_ask(&self) -> bool {
        !self.machine() && self.is_terminal() && std::io::stdin().is_terminal()
    }

    /// Whether standard output is a terminal.
    #[must_use]
    pub fn shows_on_terminal(&self) -> bool {
        !self.machine() && std::io::stdout().is_terminal()
    }

    /// Shows lines through the person's pager. False when there is none to use: standard output
    /// is no terminal, or the pager does not start. Then the caller prints them.
    #[must_use]
    pub fn page(&self, lines: &[String]) -> bool {
        let pager = std::env::var("PAGER").unwrap_or_else(|_| "less".to_owned());
        let mut words = pager.split_whitespace();
        let Some(program) = words.next().filter(|p| *p != "cat") else { return false };
        if !self.shows_on_terminal() {
            return false;
        }
        let mut command = std::process::Command::new(program);
        command.args(words).stdin(std::process::Stdio::piped());
        if std::env::var_os("LESS").is_none() {
            command.env("LESS", "FRX");
        }
        let Ok(mut child) = command.spawn() else { return false };
        if let Some(mut stdin) = child.stdin.take() {
            let mut to = anstream::AutoStream::new(
                Vec::new(),
                anstream::AutoStream::choice(&std::io::stdout()),
            );
            for line in lines {
                write_line(&mut to, line);
            }
            // A pager that is closed early has shown what was wanted.
            if let Err(e) = stdin.write_all(&to.into_inner()) {
                tracing::debug!("the pager stopped reading: {e}");
            }
        }
        child.wait().is_ok()
    }

    /// Puts a question and gives whether it was answered with yes. Only where [`Ui::may_ask`].
    #[must_use]
    pub fn ask_yes(&self, question: &str) -> bool {
        let mut err = anstream::stderr().lock();
        write_line(&mut err, &format!("{} [y/N]", without_control(question)));
        drop(err);
        let mut answer = String::new();
        match std::io::stdin().lock().read_line(&mut answer) {
            Ok(_) => matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"),
            Err(_) => false,
        }
    }

    /// Columns of the terminal; 80 when there is none.
    #[must_use]
    pub fn columns(&self) -> usize {
        std::env::var("COLUMNS")
            .ok()
            .and_then(|c| c.parse().ok())
            .filter(|c| *c >= 40)
            .unwrap_or(80)
    }

    /// A word in its colour. Without colour it is the word alone.
    #[must_use]
    pub fn paint(&self, label: Label, text: &str) -> String {
        let style = label.style();
        format!("{}{}{}", style.render(), without_control(text), style.render_reset())
    }

    /// A line of data for people on standard output; nothing when a machine reads.
    pub fn out(&self, line: &str) {
        if !self.machine() {
            write_line(&mut anstream::stdout().lock(), line);
        }
    }

    /// A line of a machine's output on standard output, as it is.
    pub fn raw(&self, line: &str) {
        write_line(&mut std::io::stdout().lock(), line);
    }

    /// A line about how it goes, on standard error; nothing with `-q` or when a machine reads.
    pub fn say(&self, line: &str) {
        if self.progress() && !self.machine() {
            write_line(&mut anstream::stderr().lock(), line);
        }
    }

    /// A warning on standard error; nothing with `-qq`.
    pub fn warn(&self, line: &str) {
        if self.options.quiet < 2 {
            let word = self.paint(Label::NeedsYou, "note:");
            write_line(
                &mut anstream::stderr().lock(),
                &format!("{word} {}", without_control(line)),
            );
        }
    }

    /// An error on standard error, with hints below it.
    pub fn error(&self, message: &str, hints: &[String]) {
        let mut err = anstream::stderr().lock();
        let word = self.paint(Label::Failed, "error:");
        write_line(&mut err, &format!("{word} {}", without_control(message)));
        for hint in hints {
            let word = self.paint(Label::Heading, "hint:");
            write_line(&mut err, &format!("{word} {}", without_control(hint)));
        }
    }
}

/// Writes a line. When nobody reads any more, output stops quietly: that is the reader's choice.
fn write_line(to: &mut dyn Write, line: &str) {
    let written =
        to.write_all(line.as_bytes()).and_then(|()| to.write_all(b"\n")).and_then(|()| to.flush());
    if let Err(e) = written
        && e.kind() != std::io::ErrorKind::BrokenPipe
    {
        tracing::debug!("a line could not be printed: {e}");
    }
}
