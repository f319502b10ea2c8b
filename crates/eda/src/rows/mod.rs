//! Rows of the families EDA (the editor) and BR (browser and debugging port), as data.
//!
//! A matcher that leads with the runner's own deadline outranks every other source, so each row
//! that a status or event of the same window decides has a matcher for "with the deadline" too:
//! inside one call window a status outranks a hang.

mod browser_start;
mod browser_tabs;
mod login;
mod page;
mod parts;
mod save;
mod server;

pub use browser_start::{BR_1, BR_2, BR_3, BR_4, BR_10};
pub use browser_tabs::{BR_5, BR_6, BR_7, BR_8, BR_9};
pub use login::{EDA_1, EDA_2, EDA_3};
pub use page::{EDA_7, EDA_8, EDA_9, EDA_11};
pub use parts::{EDA_4, EDA_10};
pub use save::{EDA_12, EDA_13, EDA_14};
pub use server::{EDA_5, EDA_6};

use pcbflow_core::evidence::{Pattern, codes};
use pcbflow_core::row::{Available, Recipe, RecipeKind, Row};

/// Every row of the families EDA and BR.
pub const ROWS: &[Row] = &[
    EDA_1, EDA_2, EDA_3, EDA_4, EDA_5, EDA_6, EDA_7, EDA_8, EDA_9, EDA_10, EDA_11, EDA_12, EDA_13,
    EDA_14, BR_1, BR_2, BR_3, BR_4, BR_5, BR_6, BR_7, BR_8, BR_9, BR_10,
];

/// Layers and tools of the editor.
const EDITOR: &[&str] = &["eda", "easyeda"];

/// Layers and tools of the browser, the editor's own included.
const BROWSER: &[&str] = &[
    "eda",
    "easyeda",
    "browser",
    "chrome",
    "google-chrome",
    "google-chrome-stable",
    "chromium",
    "chromium-browser",
];

/// When the actions of these ladders come.
const LATER: Available = Available::Later("the release that drives the EasyEDA editor");

/// The runner's own deadline passed.
const DEADLINE: Pattern = Pattern::own(codes::DEADLINE_PASSED);

/// Statuses that decide a window, whatever else is seen in it.
const UNAUTHORIZED: Pattern = Pattern::http(401);
const FORBIDDEN: Pattern = Pattern::http(403);
const NOT_FOUND: Pattern = Pattern::http(404);
const REQUEST_TIMEOUT: Pattern = Pattern::http(408);
const TOO_MANY: Pattern = Pattern::http(429);
const SERVER_FAULT: Pattern = Pattern::http_between(500, 599);

/// Paths of the part search, the only ones that are throttled by refusals.
const SEARCH_PATHS: &[&str] = &["/search", "/devices"];

/// Words that put pasted text into another program's mouth: its sign-in, limit or server fault
/// is not the editor's.
const ELSEWHERE: Pattern = Pattern::words(&[
    "github",
    "gitlab",
    "bitbucket",
    "fatal:",
    "npm",
    "pypi",
    "crates.io",
    "docker",
    "apt-get",
    "anthropic",
    "openai",
    "claude",
    "codex",
    "gemini",
    "authentication_error",
    "rate_limit_error",
]);

/// Words that put pasted text into the editor's mouth.
const OF_THE_EDITOR: Pattern =
    Pattern::words(&["easyeda", "jlceda", "lceda", "sch_document", "pcb_document"]);

/// Recipe of a row whose actions come later.
const fn diagnosis_only(how: &'static str) -> Recipe {
    Recipe { kind: RecipeKind::DiagnosisOnly, how }
}

/// Recipe of a row that the stand-in editor makes happen, in a real browser.
const fn stand_in(how: &'static str) -> Recipe {
    Recipe { kind: RecipeKind::SmallProgram, how }
}

/// Recipe of a row that happens with the real browser itself.
const fn real(how: &'static str) -> Recipe {
    Recipe { kind: RecipeKind::Real, how }
}
