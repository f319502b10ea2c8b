//! A small program that answers as ngspice does, for machines without it.
//!
//! It reads the netlist it is given and does what a comment in it says: `* stand-in: converge`,
//! `* stand-in: strict` (converges only with less strict settings),
//! `* stand-in: never`, `* stand-in: model NAME` (until the netlist describes the model),
//! `* stand-in: hang`. The words on both streams and the statuses are those of ngspice 39.

use std::io::Write;
use std::process::ExitCode;

/// How long `hang` takes, in milliseconds; every test stops it before.
const HANG_MS: u64 = 60_000;

fn main() -> ExitCode {
    let path = std::env::args().next_back().unwrap_or_default();
    let mut streams = Streams { out: String::new(), err: String::new() };
    let status = match std::fs::read_to_string(&path) {
        Ok(netlist) => answer(&netlist, &mut streams),
        Err(_) => {
            streams.err.push_str(&format!("{path}: No such file or directory\n"));
            1
        }
    };
    let written = std::io::stdout()
        .write_all(streams.out.as_bytes())
        .and_then(|()| std::io::stderr().write_all(streams.err.as_bytes()));
    if written.is_err() { ExitCode::FAILURE } else { ExitCode::from(status) }
}

struct Streams {
    out: String,
    err: String,
}

fn answer(netlist: &str, streams: &mut Streams) -> u8 {
    streams.out.push_str("\nNote: No compatibility mode selected!\n\n\nCircuit: stand-in\n\n");
    let said = netlist.lines().find_map(|l| l.trim().strip_prefix("* stand-in: "));
    let mut words = said.unwrap_or("converge").split_whitespace();
    match (words.next().unwrap_or(""), words.next()) {
        ("never", _) => gave_up(streams),
        ("strict", _) if !netlist.to_lowercase().contains("reltol=0.003") => gave_up(streams),
        ("model", Some(name)) if !describes(netlist, name) => {
            streams.err.push_str(&format!(
                "warning, can't find model '{name}' from line\n    d1 in out {name}\n\
                 Error on line 3 or its substitute:\n  d1 in out {name}\n\
                 could not find a valid modelname\n    Simulation interrupted due to error!\n\n"
            ));
            1
        }
        ("hang", _) => {
            std::thread::sleep(std::time::Duration::from_millis(HANG_MS));
            1
        }
        _ => {
            streams.out.push_str(
                "\n  Measurements for Transient Analysis\n\nvout                =  2.500000e+00\n\n",
            );
            0
        }
    }
}

fn gave_up(streams: &mut Streams) -> u8 {
    streams.err.push_str(
        "doAnalyses: TRAN:  Timestep too small; time = 1e-07, timestep = 1.25e-17: trouble with \
         node \"d1#internal\"\n\n\nrun simulation(s) aborted\n",
    );
    1
}

fn describes(netlist: &str, model: &str) -> bool {
    netlist.lines().any(|l| {
        let mut words = l.split_whitespace();
        words.next().is_some_and(|w| w.eq_ignore_ascii_case(".model"))
            && words.next().is_some_and(|w| w.eq_ignore_ascii_case(model))
    })
}
