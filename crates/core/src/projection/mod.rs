//! States folded from events. A projection never panics on an odd event: it keeps the best state
//! it can give and counts the oddity.

mod board;
mod step;
mod step_fold;
pub mod tables;

pub use tables::fact_name;

pub use board::{
    Aside, AskState, BESIDE_SLOT, BOARD_PROJECTION, BOARD_PROJECTION_VERSION, BoardState,
    CAUSE_SLOT, INSTALL_SLOT, NEW_RUN, PhaseState, RunState,
};
pub use step::{Decided, FailureState, Lesson, PassState, Planned, Seen, Stage, StepState, Tried};

/// Serde for maps whose keys are not texts: a list of pairs.
mod pairs {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<K: Serialize, V: Serialize, S: Serializer>(
        map: &BTreeMap<K, V>,
        s: S,
    ) -> Result<S::Ok, S::Error> {
        s.collect_seq(map.iter())
    }

    pub fn deserialize<'de, K, V, D>(d: D) -> Result<BTreeMap<K, V>, D::Error>
    where
        K: Deserialize<'de> + Ord,
        V: Deserialize<'de>,
        D: Deserializer<'de>,
    {
        Ok(Vec::<(K, V)>::deserialize(d)?.into_iter().collect())
    }
}
