//! What ngspice said: measured values and what stopped it. Typed here, once; nothing after this
//! file reads its words again.

use pcbflow_core::evidence::{Signal, Source};

use crate::rows::{MODEL_MISSING, NO_CONVERGENCE};

/// Most signals taken from one run.
const SIGNALS_MAX: usize = 32;

/// The value of a measurement, if it was printed and is a number.
#[must_use]
pub fn measured(stdout: &str, name: &str) -> Option<f64> {
    let wanted = name.to_lowercase();
    let value = stdout.lines().rev().find_map(|line| {
        let (left, right) = line.split_once('=')?;
        (left.trim() == wanted).then(|| right.split_whitespace().next().unwrap_or(""))
    })?;
    value.parse::<f64>().ok().filter(|v| v.is_finite())
}

/// What stopped the run, as typed facts. Empty when nothing did.
#[must_use]
pub fn signals(stdout: &str, stderr: &str) -> Vec<Signal> {
    let lines = stderr.lines().chain(stdout.lines());
    lines.filter_map(signal_of).take(SIGNALS_MAX).collect()
}

fn signal_of(line: &str) -> Option<Signal> {
    let line = line.trim();
    let lower = line.to_lowercase();
    let report = |code, text: &str| Some(Signal::new(Source::Report, code).text(text));
    if let Some(rest) = lower.strip_prefix("warning, can't find model '") {
        return report(MODEL_MISSING, rest.split('\'').next().unwrap_or(rest));
    }
    if let Some(rest) = lower.strip_prefix("error: unknown subckt:") {
        return report(MODEL_MISSING, rest.split_whitespace().last().unwrap_or(rest));
    }
    if lower.starts_with("error: could not find include file") {
        return report(MODEL_MISSING, line.split_whitespace().last().unwrap_or(line));
    }
    let gave_up = lower.contains("timestep too small")
        || lower.starts_with("transient solution failed")
        || lower.starts_with("transient op failed")
        || lower.contains("no convergence in");
    if gave_up { report(NO_CONVERGENCE, line) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_by_name() {
        let out = "Note: x\n  Measurements for Transient Analysis\n\nvout                =  \
                   2.500000e+00\nvout_max = 3.1e+00 at= 1e-3\n";
        assert_eq!(measured(out, "VOUT"), Some(2.5));
        assert_eq!(measured(out, "vout_max"), Some(3.1));
        assert_eq!(measured(out, "out"), None);
        assert_eq!(measured("vout = failed", "vout"), None);
        assert_eq!(measured("vout = nan", "vout"), None);
    }

    #[test]
    fn what_stopped_it_is_typed() {
        let stderr =
            "doAnalyses: TRAN:  Timestep too small; time = 1e-07: trouble with node \"d1\"\n";
        assert_eq!(signals("", stderr)[0].code, NO_CONVERGENCE);
        assert_eq!(signals("Transient solution failed -\n", "")[0].code, NO_CONVERGENCE);
        let stderr = "warning, can't find model 'd1n4148' from line\n    d1 in out d1n4148\n";
        let found = signals("", stderr);
        assert_eq!((found[0].code.as_str(), found[0].text.as_str()), (MODEL_MISSING, "d1n4148"));
        let stderr = "Error: unknown subckt: x1 in out 0 opamp\n";
        assert_eq!(signals("", stderr)[0].text, "opamp");
        let stderr = "Error: Could not find include file Models/d.lib\n";
        assert_eq!(signals("", stderr)[0].text, "Models/d.lib");
        assert!(
            signals("Note: Starting dynamic gmin stepping\n", "Warning: Last gmin step failed")
                .is_empty()
        );
    }
}
