//! Manifests of steps that take milliseconds.

use std::fs;
use std::path::Path;

use crate::program;

/// A manifest in the making.
#[derive(Debug, Clone)]
pub struct Manifest {
    name: String,
    text: String,
    act: String,
}

impl Manifest {
    /// A board without phases.
    #[must_use]
    pub fn new(name: &str) -> Manifest {
        let act = program::own("act").display().to_string();
        Manifest { name: name.to_owned(), text: format!("board: {name}\nphases:\n"), act }
    }

    /// From here on steps find `act` on `PATH`, where a wrapper may stand before it.
    #[must_use]
    pub fn by_path(mut self) -> Manifest {
        "act".clone_into(&mut self.act);
        self
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

    /// Adds a step that runs `act`, of the kind `process/<kind>`; `more` are further keys, one a
    /// line.
    #[must_use]
    pub fn act(self, kind: &str, id: &str, words: &[&str], more: &[&str]) -> Manifest {
        let act = self.act.clone();
        let argv: Vec<&str> = std::iter::once(act.as_str()).chain(words.iter().copied()).collect();
        self.command(kind, id, &argv, more)
    }

    /// Adds a `process/generate` step that writes a file of the board's folder.
    #[must_use]
    pub fn make(self, id: &str, file: &str, more: &[&str]) -> Manifest {
        let outputs = format!("outputs: [{file}]");
        // It reads nothing, so its pass holds until its output changes.
        let more = [&[outputs.as_str(), "inputs: []"], more].concat();
        self.act("generate", id, &["make", file, id], &more)
    }

    /// Adds a `once` step whose effect is a line in `file`, with its guard.
    #[must_use]
    pub fn land(mut self, id: &str, file: &str, options: &[&str], more: &[&str]) -> Manifest {
        let act = self.act.clone();
        let words = [&[act.as_str(), "land", file], options].concat();
        self.text.push_str(&format!(
            "      - id: {id}\n        uses: process/command\n        \
             with: {{ argv: {}, guard: {} }}\n        safety: once\n",
            list(&words),
            list(&[&act, "is", file])
        ));
        self.lines(more)
    }

    /// Adds a step that runs a command, of the kind `process/<kind>`.
    #[must_use]
    pub fn command(mut self, kind: &str, id: &str, argv: &[&str], more: &[&str]) -> Manifest {
        self.text.push_str(&format!(
            "      - id: {id}\n        uses: process/{kind}\n        with: {{ argv: {} }}\n",
            list(argv)
        ));
        self.lines(more)
    }

    fn lines(mut self, lines: &[&str]) -> Manifest {
        for line in lines {
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

/// A list of texts as YAML.
fn list(words: &[&str]) -> String {
    let words: Vec<String> =
        words.iter().map(|word| serde_json::Value::from(*word).to_string()).collect();
    format!("[{}]", words.join(", "))
}
