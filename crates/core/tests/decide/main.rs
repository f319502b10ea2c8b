//! Properties of `decide`, `replay` and the fold, in simulated worlds.

mod choices;
mod facts;
mod model;
mod rows;
mod world;

use pcbflow_core::event::{Decision, Event, Fact, ReadBack};
use pcbflow_core::evidence::Source;
use pcbflow_core::ids::Digest;
use pcbflow_core::manifest::Safety;
use pcbflow_core::policy::{ClassSettings, Policy, Replay, decide, replay};
use pcbflow_core::projection::BoardState;
use proptest::prelude::*;

use choices::Choices;
use world::World;

const SAFETIES: [Safety; 5] =
    [Safety::ReadOnly, Safety::Idempotent, Safety::Guarded, Safety::Once, Safety::Publish];

fn bytes(most: usize) -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(any::<u8>(), 0..most)
}

fn world(safety: Safety, bytes: Vec<u8>) -> World {
    let mut c = Choices::new(bytes);
    let policy = rows::policy(&mut c);
    World::new(policy, safety, c)
}

/// At least 400 worlds; more with `PROPTEST_CASES`.
fn config() -> ProptestConfig {
    let usual = ProptestConfig::default();
    ProptestConfig { cases: usual.cases.max(400), failure_persistence: None, ..usual }
}

fn decisions(events: &[Event]) -> u64 {
    events.iter().filter(|e| matches!(e.fact, Fact::DecisionTaken { .. })).count() as u64
}

proptest! {
    #![proptest_config(config())]

    /// The world ends within [`world::EPISODE_DECISIONS_MAX`] decisions an episode, the model
    /// holds all the way, and replay takes every decision again.
    #[test]
    fn every_world_ends_within_its_caps(safety in 0..5usize, bytes in bytes(600)) {
        let mut world = world(SAFETIES[safety], bytes);
        let end = world.run();
        let ends = matches!(
            end,
            Decision::Finish { .. }
                | Decision::Ask { .. }
                | Decision::LeaveUnverified
                | Decision::TryLater
        );
        prop_assert!(ends, "{end:?} is no end");
        prop_assert_eq!(world::fold(&world.events), world.state.clone());
        let taken = decisions(&world.events);
        prop_assert_eq!(replay(&world.events, &world.policy), Replay::Same { decisions: taken });
    }

    /// One recorded decision that was changed is found at its place, and a changed setting is
    /// seen at the first decision.
    #[test]
    fn a_mutated_record_is_noticed(
        safety in 0..5usize,
        bytes in bytes(300),
        which in any::<prop::sample::Index>(),
    ) {
        let mut world = world(SAFETIES[safety], bytes);
        world.run();
        let at: Vec<usize> = (0..world.events.len())
            .filter(|n| matches!(world.events[*n].fact, Fact::DecisionTaken { .. }))
            .collect();
        let at = *which.get(&at);
        let mut events = world.events.clone();
        if let Fact::DecisionTaken { decision, .. } = &mut events[at].fact {
            *decision = mutated(decision);
        }
        match replay(&events, &world.policy) {
            Replay::Different { seq, .. } => prop_assert_eq!(seq, world.events[at].seq.0),
            other => prop_assert!(false, "{other:?}"),
        }
        let mut policy = world.policy.clone();
        policy.settings.insert(
            "SY-12".into(),
            ClassSettings { attempts_max: Some(3), ..ClassSettings::default() },
        );
        let first = world.events.iter().find(|e| matches!(e.fact, Fact::DecisionTaken { .. }));
        match replay(&world.events, &policy) {
            Replay::OtherPolicy { seq, compared, .. } => {
                prop_assert_eq!(Some(seq), first.map(|e| e.seq.0));
                prop_assert_eq!(compared, 0);
            }
            other => prop_assert!(false, "{other:?}"),
        }
    }

    /// A fold takes any events, `decide` any state; the state survives JSON; and a fold that goes
    /// on from a stored one equals a fold from nothing.
    #[test]
    fn a_fold_takes_any_events(bytes in bytes(1500), split in any::<prop::sample::Index>()) {
        let mut c = Choices::new(bytes);
        let mut events = Vec::new();
        while !c.is_used_up() {
            events.push(facts::event(&mut c, events.len() as u64));
        }
        let whole = world::fold(&events);
        let split = if events.is_empty() { 0 } else { split.index(events.len()) };
        let json = serde_json::to_vec(&world::fold(&events[..split])).unwrap();
        let mut cached: BoardState = serde_json::from_slice(&json).unwrap();
        cached.apply_all(&events[split..]);
        prop_assert_eq!(&cached, &whole);
        let policy = rows::policy(&mut c);
        for key in whole.steps.keys().chain([&world::key()]) {
            let decided = decide(&whole, key, &policy, whole.at, 7);
            prop_assert!(!decided.reason.is_empty());
            prop_assert_eq!(decide(&cached, key, &policy, whole.at, 7), decided);
        }
    }
}

/// The same decision with one thing about it changed.
fn mutated(decision: &Decision) -> Decision {
    match decision.clone() {
        Decision::Attempt { no, deadline_ms, wake, wait_ms, rung } => {
            Decision::Attempt { no, deadline_ms, wake: wake.plus_ms(1), wait_ms, rung }
        }
        Decision::TryLater => Decision::LeaveUnverified,
        _ => Decision::TryLater,
    }
}

fn w3_world(safety: Safety, policy: Policy) -> World {
    let mut world = World::new(policy, safety, Choices::new(Vec::new()));
    world.only = Some(("SY-1", true));
    world.finds = Some(ReadBack::Absent);
    world
}

/// Says yes to the first ask of a step that publishes.
fn with_yes(world: &mut World) -> Decision {
    let end = world.run();
    if world.model.safety != Safety::Publish {
        return end;
    }
    let ask = world.step().ask.unwrap();
    let kind = world.state.asks[0].kind.clone();
    assert_eq!((kind.as_str(), world.state.asks[0].class.as_str()), ("go_ahead", "SC-6"));
    world.model.answered(&kind, &"SC-6".parse().unwrap(), "yes");
    world.append(vec![Fact::AskAnswered { ask, answer: "yes".into() }]);
    world.run()
}

#[test]
fn a_passing_fault_that_stays_gets_three_waits_whatever_the_class() {
    for safety in SAFETIES {
        for seed in 0..40 {
            let mut world = w3_world(safety, rows::of_rows(&[rows::PASSING]));
            world.seed = seed;
            assert_eq!(with_yes(&mut world), Decision::TryLater, "{safety:?}");
            let waits: Vec<u64> = world.model.waits.iter().copied().filter(|w| *w > 0).collect();
            assert_eq!(waits.len(), 3, "{safety:?}: {:?}", world.model.waits);
            for (wait, about) in waits.iter().zip([1000, 4000, 16_000]) {
                assert!(wait.abs_diff(about) <= about / 4, "{wait} is not near {about}");
            }
        }
    }
}

#[test]
fn jitter_is_drawn_from_the_seed() {
    let waits = |seed| {
        let mut world = w3_world(Safety::ReadOnly, rows::of_rows(&[rows::PASSING]));
        world.seed = seed;
        world.run();
        world.model.waits
    };
    assert_eq!(waits(1), waits(1));
    assert!((2..20).any(|seed| waits(seed) != waits(1)));
}

#[test]
fn a_changed_wait_shows_at_the_first_divergent_event() {
    let mut world = w3_world(Safety::ReadOnly, rows::of_rows(&[rows::PASSING]));
    world.run();
    let mut policy = world.policy.clone();
    let waits_ms = Some(vec![1_000, 4_000, 17_000]);
    policy.settings.insert("SY-1".into(), ClassSettings { waits_ms, ..ClassSettings::default() });
    let digest = policy.digest();
    let mut third = None;
    let mut waits = 0;
    for event in &mut world.events {
        if let Fact::DecisionTaken { decision, policy, .. } = &mut event.fact {
            // As if the constant had changed without the digest telling.
            *policy = digest;
            waits += u64::from(matches!(decision, Decision::Attempt { wait_ms: 1.., .. }));
            if waits == 3 && third.is_none() {
                third = Some(event.seq.0);
            }
        }
    }
    match replay(&world.events, &policy) {
        Replay::Different { seq, .. } => assert_eq!(Some(seq), third),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_longer_deadline_survives_the_read_back() {
    for safety in SAFETIES {
        let mut world = w3_world(safety, rows::of_rows(&[rows::FIXED[2]]));
        world.only = Some(("SY-3", true));
        with_yes(&mut world);
        assert_eq!(world.model.deadlines, [60_000, 240_000], "{safety:?}");
    }
}

#[test]
fn what_is_asked_for_replaces_the_wait_up_to_ten_minutes() {
    for (asked, want) in [(0, 0), (2_500, 2_500), (u64::MAX, 600_000)] {
        let mut world = w3_world(Safety::ReadOnly, rows::of_rows(&[rows::PASSING]));
        let print = Digest::of(b"f");
        world.append(vec![world::failure("SY-1", true, Source::Http, print, Some(asked))]);
        match decide(&world.state, &world.key, &world.policy, world.now, 1).decision {
            Decision::Attempt { wait_ms, .. } => assert_eq!(wait_ms, want),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_no_to_publishing_ends_the_step_and_a_yes_to_another_action_is_none() {
    let mut world = w3_world(Safety::Publish, rows::of_rows(&[rows::PASSING]));
    world.run();
    let ask = world.step().ask.unwrap();
    let mut no = world.state.clone();
    let mut answered = world.events.last().unwrap().clone();
    answered.fact = Fact::AskAnswered { ask: ask.clone(), answer: "no".into() };
    no.apply(&answered);
    let next = |s: &BoardState| decide(s, &world.key, &world.policy, world.now, 1).decision;
    assert_eq!(next(&no), Decision::LeaveUnverified);

    let mut other = world.state.clone();
    other.asks[0].class = "SY-8".parse().unwrap();
    answered.fact = Fact::AskAnswered { ask, answer: "yes".into() };
    other.apply(&answered);
    assert!(matches!(next(&other), Decision::Ask { .. }));
}

#[test]
fn a_yes_goes_on_with_the_ladder_where_it_stood() {
    let mut world = w3_world(Safety::ReadOnly, rows::of_rows(&[rows::FIXED[7]]));
    world.only = Some(("SY-8", true));
    let end = world.run();
    assert!(matches!(end, Decision::Ask { kind, .. } if kind == "go_ahead"));
    let ask = world.step().ask.unwrap();
    world.model.answered("go_ahead", &"SY-8".parse().unwrap(), "yes");
    // Far later than the time for one failure: the answer grants a fresh one.
    world.now = world.now.plus_ms(48 * 3600 * 1000);
    world.append(vec![Fact::AskAnswered { ask, answer: "yes".into() }]);
    let end = world.run();
    assert_eq!(world.model.recovered, ["with-yes"]);
    assert!(matches!(end, Decision::Ask { kind, .. } if kind == "look"));
}

#[test]
fn lessons_order_the_ladder_and_hopeless_actions_are_left_out() {
    let policy = rows::of_rows(&[rows::FIXED[5]]);
    let print = Digest::of(b"only");
    let lesson = |rung: &str, worked| Fact::LessonLearned {
        fingerprint: print,
        class: "SY-6".parse().unwrap(),
        rung: rung.into(),
        worked,
    };
    let first = |lessons: Vec<Fact>| {
        let mut world = w3_world(Safety::ReadOnly, policy.clone());
        world.append(lessons);
        world.append(vec![world::failure("SY-6", true, Source::Own, print, None)]);
        decide(&world.state, &world.key, &policy, world.now, 1).decision
    };
    let recover = |rung: &str| Decision::Recover { rung: rung.into() };
    assert_eq!(first(vec![]), recover("first"));
    assert_eq!(first(vec![lesson("second", true)]), recover("second"));
    assert_eq!(first(vec![lesson("first", false), lesson("first", false)]), recover("first"));
    assert_eq!(first(vec![lesson("first", false); 3]), recover("second"));
}
