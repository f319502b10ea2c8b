//! Replay: the recorded observations are fed to `decide` again and the decisions compared.

use super::{Policy, decide};
use crate::event::{Decision, Event, Fact};
use crate::ids::Digest;
use crate::projection::BoardState;

/// What replay found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Replay {
    /// Every decision came out again.
    Same {
        /// How many decisions were compared.
        decisions: u64,
    },
    /// A decision came out differently: the first one.
    Different {
        /// Position of the recorded decision.
        seq: u64,
        /// What was recorded.
        recorded: Decision,
        /// What comes out now.
        now: Decision,
        /// The reason that `decide` gives now.
        reason: String,
    },
    /// Decisions were taken under another policy: nothing can be said.
    OtherPolicy {
        /// Position of the first such decision.
        seq: u64,
        /// Its policy.
        recorded: Digest,
        /// The policy now.
        now: Digest,
        /// Decisions that could be compared and were the same.
        compared: u64,
    },
}

/// Feeds the recorded observations to `decide` and compares the decisions. `events` are the
/// whole stream from its first event on.
#[must_use]
pub fn replay<'a>(events: impl IntoIterator<Item = &'a Event>, policy: &Policy) -> Replay {
    let digest = policy.digest();
    let mut state = BoardState::default();
    let mut compared = 0;
    let mut other: Option<(u64, Digest)> = None;
    for event in events {
        if let Fact::DecisionTaken { decision, now, seed, policy: under, .. } = &event.fact
            && let Some(key) = event.step_key()
        {
            if *under == digest {
                let again = decide(&state, &key, policy, *now, *seed);
                if again.decision != *decision {
                    return Replay::Different {
                        seq: event.seq.0,
                        recorded: decision.clone(),
                        now: again.decision,
                        reason: again.reason,
                    };
                }
                compared += 1;
            } else if other.is_none() {
                other = Some((event.seq.0, *under));
            }
        }
        state.apply(event);
    }
    match other {
        Some((seq, recorded)) => Replay::OtherPolicy { seq, recorded, now: digest, compared },
        None => Replay::Same { decisions: compared },
    }
}
