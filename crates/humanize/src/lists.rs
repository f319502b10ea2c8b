//! The closed lists of the rubric, in one place: tools and places, verbs of an ask, capitals,
//! lead words, sentences that say how it goes on.

/// A tool or place that a message may name.
#[derive(Debug, PartialEq, Eq)]
pub struct ToolName {
    /// The name that is shown.
    pub name: &'static str,
    /// Other words by which a text or a program may name it, in lower case.
    pub also: &'static [&'static str],
    /// A place or thing, not a program: nobody can install or start it.
    pub place: bool,
}

const fn tool(name: &'static str, also: &'static [&'static str]) -> ToolName {
    ToolName { name, also, place: false }
}

const fn place(name: &'static str, also: &'static [&'static str]) -> ToolName {
    ToolName { name, also, place: true }
}

/// Every tool and place that pcbflow speaks of.
pub const TOOLS: &[ToolName] = &[
    tool(
        "EasyEDA",
        &["easyeda pro", "easyeda-pro", "the editor", "drawing window", "easyeda window"],
    ),
    tool("KiCad", &["kicad-cli", "kicad-cli-nightly", "pcbnew", "eeschema"]),
    tool(
        "Chrome",
        &[
            "chromium",
            "google-chrome",
            "google-chrome-stable",
            "chromium-browser",
            "headless_shell",
        ],
    ),
    tool("the browser", &["browser"]),
    tool("git", &[]),
    tool("GitHub", &["gh"]),
    tool("Node", &["nodejs", "npm", "npx"]),
    tool("Python", &["python3", "py", "pip", "pip3"]),
    tool("Java", &["jre", "openjdk"]),
    tool("Freerouting", &["freerouting.jar"]),
    tool("OpenSCAD", &[]),
    tool("ngspice", &[]),
    tool("rsync", &[]),
    tool("curl", &[]),
    tool("zip", &["unzip"]),
    tool("tar", &["gtar"]),
    tool("LCSC", &["lcsc search"]),
    tool("JLCPCB", &[]),
    tool("pcbflow", &["this tool", "this program"]),
    tool("the AI assistant", &["assistant", "ai assistant", "claude", "codex", "gemini"]),
    tool("the step's own tool", &["own tool"]),
    tool("the step's own script", &["own script", "script", "script of the step"]),
    tool("the design-rule check", &["design-rule check", "drc"]),
    place("the computer", &["computer", "the disk", "disk", "memory", "operating system"]),
    place("the internet", &["internet", "network"]),
    place("the project folder", &["project folder", "folder", "the project", "board project"]),
    place("the project file", &["project file"]),
    place("the history", &["history"]),
    place("the record", &["record"]),
    place("the board", &["board"]),
    place("the schematic", &["schematic"]),
    place("the parts list", &["parts list", "part list", "bom"]),
];

/// Verbs with which the one sentence of an ask may start.
pub const ASK_VERBS: &[&str] = &[
    "add",
    "allow",
    "answer",
    "approve",
    "ask",
    "change",
    "check",
    "choose",
    "clear",
    "close",
    "commit",
    "confirm",
    "connect",
    "copy",
    "correct",
    "create",
    "decide",
    "delete",
    "download",
    "draw",
    "edit",
    "empty",
    "end",
    "enter",
    "export",
    "fill",
    "finish",
    "fix",
    "free",
    "give",
    "go",
    "grant",
    "import",
    "install",
    "keep",
    "let",
    "link",
    "log",
    "look",
    "make",
    "mark",
    "move",
    "name",
    "open",
    "pick",
    "place",
    "plug",
    "press",
    "put",
    "quit",
    "read",
    "reinstall",
    "release",
    "reload",
    "remove",
    "rename",
    "repair",
    "replace",
    "restart",
    "restore",
    "review",
    "route",
    "run",
    "save",
    "say",
    "select",
    "set",
    "sign",
    "start",
    "stop",
    "switch",
    "tell",
    "try",
    "turn",
    "undo",
    "unlock",
    "unplug",
    "update",
    "upgrade",
    "use",
    "wait",
    "write",
];

/// The ask when nothing is to be done.
pub const NOTHING: &str = "Nothing.";

/// The same in a short text.
pub const NO_ACTION: &str = "No action needed.";

/// Says that the product goes on without being told.
pub const WATCHES: &str = "I will continue on my own.";

/// Sentences that may follow the one action.
pub const RESUME_SENTENCES: &[&str] = &[WATCHES];

/// Ends an action after which the person reports.
pub const THEN_RETRY: &str = ", then say 'retry'.";

/// Words in capitals that engineers read every day; every other one shouts.
pub const CAPITALS: &[&str] = &[
    "DRC", "ERC", "BOM", "PCB", "PCBS", "LCSC", "JLCPCB", "USB", "PATH", "AI", "LED", "LEDS",
    "JSON", "EDA", "I", "A", "PC", "GND", "OK",
];

/// First words of "did it work".
pub const LEADS: &[&str] = &["Yes.", "No.", "Partly.", "Not yet."];

/// Fragments of which one says what became of the work, in lower case.
pub const WORK_WORDS: &[&str] = &[
    "work is lost",
    "nothing was lost",
    "nothing is lost",
    "nothing lost",
    "work is saved",
    "work was saved",
    "redo only",
    "may be lost",
    "work is safe",
];

/// Whether `text` names a tool or place of the list.
#[must_use]
pub fn names_a_tool(text: &str) -> bool {
    let text = format!(" {} ", bare(text));
    TOOLS.iter().any(|t| {
        std::iter::once(&t.name).chain(t.also).any(|n| {
            let name = bare(n);
            text.contains(&format!(" {name} ")) || text.contains(&format!(" {name}s "))
        })
    })
}

fn bare(text: &str) -> String {
    let lower = text.to_lowercase().replace("'s", "");
    let words: Vec<&str> = lower
        .split(|c: char| !(c.is_alphanumeric() || c == '-'))
        .filter(|w| !w.is_empty())
        .collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_are_found_by_whole_words() {
        assert!(names_a_tool("Log back in to EasyEDA."));
        assert!(names_a_tool("KiCad's tool is gone"));
        assert!(names_a_tool("The disk is full"));
        assert!(!names_a_tool("It digits and onboards"));
    }
}
