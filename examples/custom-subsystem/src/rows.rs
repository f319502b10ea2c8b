//! What can go wrong, how it is noticed, what is tried, and what the person reads.

use pcbflow_core::evidence::{Matcher, Pattern};
use pcbflow_core::row::{
    Available, BUDGET, Notify, Recheck, Recipe, RecipeKind, Resume, Row, Rung, Severity, Texts,
};

/// Signal: ngspice gave up looking for a solution; the text is the line that says so.
pub const NO_CONVERGENCE: &str = "spice.no_convergence";
/// Signal: a model, sub-circuit or included file is not there; the text names it.
pub const MODEL_MISSING: &str = "spice.model_missing";

/// Action of SPICE-1: run again with less strict tolerances and more iterations.
pub const RELAX_SETTINGS: &str = "relax-settings";
/// Probe of SPICE-2: the netlist names no model, sub-circuit or file that is not there.
pub const MODELS_THERE: &str = "models-there";

/// All rows.
pub const ROWS: &[Row] = &[SPICE_1, SPICE_2];

const SPICE_1: Row = Row {
    id: "SPICE-1",
    title: "No convergence",
    severity: Severity::S3,
    // The report reader saw it in ngspice's own words about the run. A model that is missing
    // explains everything that follows it, so it wins.
    matchers: &[Matcher::new(&[Pattern::report(NO_CONVERGENCE)])
        .unless(&[Pattern::report(MODEL_MISSING)])
        .tools(&["spice"])],
    not_this: "a run that was stopped at its time limit (SC-3)",
    ladder: &[
        Rung::act(
            RELAX_SETTINGS,
            "once more with less strict tolerances, in a private copy",
            "I ran it again with less strict settings.",
        ),
        Rung::ask(),
    ],
    budget: BUDGET,
    notify: Notify::IfExhausted,
    // The action only leaves a note; the proof is the measured value of the next attempt.
    recheck: Recheck { what: "the run ends and its value is within the limits", probe: None },
    texts: Texts {
        what: "I found no solution for the circuit of the step {step}.",
        why: Some("Its settings may be too strict, or the circuit has no stable state."),
        healed: "The less strict settings gave a result.",
        ask: "Check the circuit of {step} in ngspice",
        resume: Resume::Retry,
        ask_kind: "check_circuit",
        tool: "ngspice",
    },
    recipe: Recipe {
        kind: RecipeKind::Real,
        how: "real ngspice with tolerances that no computer can meet; a small program where there is none",
    },
    available: Available::Now,
    passing: false,
};

const SPICE_2: Row = Row {
    id: "SPICE-2",
    title: "Model missing",
    severity: Severity::S2,
    matchers: &[Matcher::new(&[Pattern::report(MODEL_MISSING)]).tools(&["spice"])],
    not_this: "ngspice itself is not there (SC-2); a value outside its limits, which is a finding",
    // Nothing that a program could do: a guessed model gives a wrong answer.
    ladder: &[Rung::ask()],
    budget: BUDGET,
    notify: Notify::Always,
    recheck: Recheck {
        what: "every model, sub-circuit and file that the netlist names is there",
        probe: None,
    },
    texts: Texts {
        what: "The model {items} is missing in the step {step}.",
        why: Some("The netlist names it, and none of its files describes it."),
        healed: "The model is there now.",
        ask: "Add the model {items} to the netlist for ngspice",
        resume: Resume::Watch(MODELS_THERE),
        ask_kind: "add_model",
        tool: "ngspice",
    },
    recipe: Recipe {
        kind: RecipeKind::Real,
        how: "real ngspice with a diode whose model nobody wrote; a small program where there is none",
    },
    available: Available::Now,
    passing: false,
};

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use pcbflow_core::catalogue::Catalogue;
    use pcbflow_core::evidence::{Evidence, Signal, Source, codes};
    use pcbflow_core::row::RungKind;

    use super::*;

    fn class_of(signals: &[Signal]) -> String {
        let rows = [pcbflow_process::ROWS, ROWS].concat();
        let table = Catalogue::fold(rows, Vec::new()).expect("the rows fold");
        let mut evidence = Evidence::new("spice/run", "ngspice");
        signals.iter().for_each(|s| evidence.push(s.clone()));
        table.diagnose(&evidence).class.to_string()
    }

    fn seen(code: &str) -> Signal {
        Signal::new(Source::Report, code)
    }

    #[test]
    fn every_text_passes_the_rubric() {
        let faults: Vec<String> =
            ROWS.iter().flat_map(pcbflow_humanize::lint_row).map(|f| f.to_string()).collect();
        assert!(faults.is_empty(), "{}", faults.join("\n"));
    }

    #[test]
    fn each_signal_leads_to_its_row() {
        assert_eq!(class_of(&[seen(NO_CONVERGENCE), Signal::exit_status(1)]), "SPICE-1");
        assert_eq!(class_of(&[seen(MODEL_MISSING), Signal::exit_status(1)]), "SPICE-2");
        assert_eq!(class_of(&[seen(NO_CONVERGENCE), seen(MODEL_MISSING)]), "SPICE-2");
    }

    #[test]
    fn what_other_families_know_stays_theirs() {
        assert_eq!(class_of(&[Signal::spawn_not_found("ngspice")]), "SC-2");
        let late = Signal::new(Source::Own, codes::DEADLINE_PASSED).number(1000);
        assert_eq!(class_of(&[late, seen(NO_CONVERGENCE)]), "SC-3");
        assert_eq!(class_of(&[Signal::exit_status(1)]), "SC-1");
    }

    #[test]
    fn every_action_and_probe_of_the_rows_is_known() {
        let actions: BTreeSet<&str> = ROWS
            .iter()
            .flat_map(|r| r.ladder)
            .filter(|r| r.kind == RungKind::Act)
            .map(|r| r.id)
            .collect();
        assert_eq!(actions, [RELAX_SETTINGS].into());
        let watched: BTreeSet<&str> = ROWS
            .iter()
            .filter_map(|r| match r.texts.resume {
                Resume::Watch(probe) => Some(probe),
                _ => None,
            })
            .collect();
        assert_eq!(watched, [MODELS_THERE].into());
    }
}
