//! Manifests of steps that take milliseconds.

use std::fs;
use std::path::Path;

use crate::program;

/// A manifest in the making.
#[derive(Debug, Clone)]
pub struct Manifest {
    name: String,
    text: String,
}

impl Manifest {
    /// A board without phases.
    #[must_use]
    pub fn new(name: &str) -> Manifest {
        Manifest { name: name.to_owned(), text: format!("board: {name}\nphases:\n") }
    }

    /// The board's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Adds a phase.
    #[must_use]
    pub fn phase(mut self, id: &str) -> Manifest {
        self.text.push_str(&format!("  - id: {id}\n    steps:\n"));
        self
    }

    /// Adds a step that runs `act`; `more` are further keys, one a line.
    #[must_use]
    pub fn act(self, id: &str, words: &[&str], more: &[&str]) -> Manifest {
        let act = program::own("act").display().to_string();
        let argv: Vec<&str> = std::iter::once(act.as_str()).chain(words.iter().copied()).collect();
        self.command(id, &argv, more)
    }

    /// Adds a step that runs a command; `more` are further keys, one a line.
    #[must_use]
    pub fn command(mut self, id: &str, argv: &[&str], more: &[&str]) -> Manifest {
        let argv: Vec<String> =
            argv.iter().map(|word| serde_json::Value::from(*word).to_string()).collect();
        self.text.push_str(&format!(
            "      - id: {id}\n        uses: process/command\n        with: {{ argv: [{}] }}\n",
            argv.join(", ")
        ));
        for line in more {
            self.text.push_str(&format!("        {line}\n"));
        }
        self
    }

    /// Adds lines as they are.
    #[must_use]
    pub fn raw(mut self, text: &str) -> Manifest {
        self.text.push_str(text);
        self
    }

    /// The text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Writes it into a board's folder.
    ///
    /// # Panics
    /// When it can't be written.
    pub fn write(&self, folder: &Path) {
        fs::create_dir_all(folder).expect("a board's folder");
        fs::write(folder.join("project.yaml"), &self.text).expect("a manifest");
    }
}
