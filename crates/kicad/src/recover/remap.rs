//! KI-2: footprints from the project's footprint map.

use pcbflow_core::ports::{Recovery, Services, StepContext};

/// Puts mapped footprints onto the board.
pub(super) fn remap(_context: &StepContext, _services: &Services) -> Recovery {
    Recovery::not_applicable("the step names no footprint map")
}
