//! Rows of the family AG (agents and the repair loop), as data.
//!
//! Facts of the agent's process (status, signal, deadline) are more trusted than what the agent
//! says, so a row that its typed answer decides keeps the process rows away by name.

mod agent;
mod limits;
mod rounds;

pub use agent::{AG_1, AG_2, AG_3, AG_4, AG_12};
pub use limits::{AG_8, AG_9, AG_10, AG_11, AG_14};
pub use rounds::{AG_5, AG_6, AG_7, AG_13};

use pcbflow_core::row::{Available, Recipe, RecipeKind, Row};

/// Every row of the family AG.
pub const ROWS: &[Row] =
    &[AG_1, AG_2, AG_3, AG_4, AG_5, AG_6, AG_7, AG_8, AG_9, AG_10, AG_11, AG_12, AG_13, AG_14];

/// The layer of this crate's own calls of agents.
const LAYER: &[&str] = &["agents"];

/// The layer, and the agents by name where another layer drives them.
const AGENTS: &[&str] =
    &["agents", "agent", "claude", "codex", "gemini", "cursor-agent", "aider", "opencode"];

/// When the actions of these ladders come.
const LATER: Available = Available::Later("the release that lets agents repair scripts");

/// Recipe of a row whose actions come later.
const fn diagnosis_only(how: &'static str) -> Recipe {
    Recipe { kind: RecipeKind::DiagnosisOnly, how }
}
