//! The ledger rows of the speed table, each against a baseline of the same run.
//!
//! `cargo bench -p pcbflow-benches --bench ledger` takes 1,000,000 events, `-- --quick` takes
//! 100,000. Appends are compared in paired rounds, because the flush time of a disk wanders.

#![expect(clippy::print_stdout, reason = "a bench prints its table")]

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Barrier;

use pcbflow_benches::{Row, board_event, core_seconds, median, seconds, table, timed};
use pcbflow_core::event::NewEvent;
use pcbflow_core::ids::{Seq, StreamId};
use pcbflow_core::ports::{Expect, Ledger};
use pcbflow_core::projection::BoardState;
use pcbflow_core::projection::tables::Statistics;
use pcbflow_store::probe::{bare_scan, leave_as_killed};
use pcbflow_store::read::{Control, each_event};
use pcbflow_store::stats::stats;
use pcbflow_store::verify::{VerifyOptions, verify, verify_chain};
use pcbflow_store::{Mode, OpenOptions, RedbLedger, StateHome, open};

type Fault = Box<dyn std::error::Error>;

/// Sizes of a run.
struct Size {
    events: u64,
    rounds: usize,
    appends: usize,
}

fn main() -> Result<(), Fault> {
    let quick = std::env::args().any(|a| a == "--quick");
    let size = if quick {
        Size { events: 100_000, rounds: 60, appends: 20 }
    } else {
        Size { events: 1_000_000, rounds: 200, appends: 40 }
    };
    let mut rows = vec![append_row(&size)?, group_row(&size)?];
    rows.extend(size_rows(&size)?);
    let folder = tempfile::tempdir()?;
    let options = options(folder.path(), Mode::Write);
    fill(&options, size.events)?;
    rows.extend(open_rows(&options, size.events)?);
    rows.extend(scan_rows(&options, size.events)?);
    println!("{} events\n\n{}", size.events, table(&rows));
    Ok(())
}

fn options(folder: &Path, mode: Mode) -> OpenOptions {
    OpenOptions::of_workspace(folder, Some(StateHome(folder.join("state"))), mode)
}

fn stream() -> StreamId {
    // A fixed valid name.
    "board/door-sensor".parse().unwrap_or(StreamId::Workspace)
}

fn fill(options: &OpenOptions, events: u64) -> Result<(), Fault> {
    let ledger = open(options)?.ledger;
    let mut next = 0;
    while next < events {
        let batch: Vec<NewEvent> = (next..events.min(next + 1000)).map(board_event).collect();
        ledger.append(&stream(), Expect::Any, &batch)?;
        next += batch.len() as u64;
    }
    Ok(())
}

fn encoded_bytes(ledger: &RedbLedger) -> Result<u64, Fault> {
    Ok(stats(ledger, None, None)?.streams.iter().map(|s| s.bytes).sum())
}

/// One durable append against the same bytes appended to a plain file and flushed.
fn append_row(size: &Size) -> Result<Row, Fault> {
    let folder = tempfile::tempdir()?;
    let ledger = open(&options(folder.path(), Mode::Write))?.ledger;
    for n in 0..50 {
        ledger.append(&stream(), Expect::Any, &[board_event(n)])?;
    }
    let bytes = vec![7u8; usize::try_from(encoded_bytes(&ledger)? / 51)?];
    let mut plain = File::options().create(true).append(true).open(folder.path().join("plain"))?;
    let (mut ratios, mut base, mut ours) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..size.rounds {
        let raw = seconds(|| plain.write_all(&bytes).and_then(|()| plain.sync_data()));
        let event = [board_event(round as u64)];
        let durable = seconds(|| ledger.append(&stream(), Expect::Any, &event));
        ratios.push(durable / raw);
        base.push(raw);
        ours.push(durable);
    }
    let ratio = median(ours.clone()) / median(base.clone());
    Ok(Row {
        what: "durable append of one event, against append + fdatasync".into(),
        figure: format!(
            "{ratio:.2}x (median of pairs {:.2}x; {:.2} ms against {:.2} ms, {} bytes)",
            median(ratios),
            median(ours) * 1e3,
            median(base) * 1e3,
            bytes.len()
        ),
        target: "<= 3.5x".into(),
        reached: ratio <= 3.5,
    })
}

/// Appends a second of 64 waiting threads against one.
fn group_row(size: &Size) -> Result<Row, Fault> {
    const WAITING: usize = 64;
    let folder = tempfile::tempdir()?;
    let ledger = open(&options(folder.path(), Mode::Write))?.ledger;
    let mut ratios = Vec::new();
    for _ in 0..5 {
        let one = size.appends as f64
            / seconds(|| {
                for n in 0..size.appends {
                    drop(ledger.append(&stream(), Expect::Any, &[board_event(n as u64)]));
                }
            });
        let start = Barrier::new(WAITING + 1);
        let each = size.appends;
        let time = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..WAITING)
                .map(|_| {
                    scope.spawn(|| {
                        start.wait();
                        for n in 0..each {
                            let event = [board_event(n as u64)];
                            drop(ledger.append(&stream(), Expect::Any, &event));
                        }
                    })
                })
                .collect();
            start.wait();
            seconds(|| threads.into_iter().for_each(|t| drop(t.join())))
        });
        ratios.push((WAITING * each) as f64 / time / one);
    }
    let ratio = median(ratios);
    Ok(Row {
        what: "64 waiting appenders of one process, against one".into(),
        figure: format!("{ratio:.1}x"),
        target: ">= 12x".into(),
        reached: ratio >= 12.0,
    })
}

/// File size against the bytes of the events, batched and one by one.
fn size_rows(size: &Size) -> Result<Vec<Row>, Fault> {
    let mut rows = Vec::new();
    let cases =
        [("1000 a commit", 1000, size.events.min(100_000), 1.3), ("one by one", 1, 2_000, 2.0)];
    for (name, batch, events, target) in cases {
        let folder = tempfile::tempdir()?;
        let options = options(folder.path(), Mode::Write);
        let ledger = open(&options)?.ledger;
        for from in (0..events).step_by(batch) {
            let list: Vec<_> = (from..from + batch as u64).map(board_event).collect();
            ledger.append(&stream(), Expect::Any, &list)?;
        }
        let bytes = encoded_bytes(&ledger)?;
        drop(ledger);
        let ratio = std::fs::metadata(&options.path)?.len() as f64 / bytes as f64;
        rows.push(Row {
            what: format!("file against encoded bytes, {name} ({} bytes an event)", bytes / events),
            figure: format!("{ratio:.2}x"),
            target: format!("<= {target}x"),
            reached: ratio <= target,
        });
    }
    Ok(rows)
}

fn open_rows(options: &OpenOptions, events: u64) -> Result<Vec<Row>, Fault> {
    let mut rows = Vec::new();
    let cases = [
        ("for writing, clean", Mode::Write, false, 10.0),
        ("for reading, clean", Mode::Read, false, 10.0),
        ("for writing, after kill -9", Mode::Write, true, 20.0),
        ("for reading, after kill -9", Mode::Read, true, 20.0),
    ];
    for (name, mode, killed, target) in cases {
        let mut times = Vec::new();
        for _ in 0..7 {
            if killed {
                leave_as_killed(&options.path)?;
            }
            let (time, opened) = timed(|| open(&OpenOptions { mode, ..options.clone() }));
            let opened = opened?;
            if opened.repaired != killed {
                return Err(format!("{name}: repaired is {}", opened.repaired).into());
            }
            times.push(time.as_secs_f64() * 1e3);
        }
        let ms = median(times);
        rows.push(Row {
            what: format!("open a ledger of {events} events {name}"),
            figure: format!("{ms:.1} ms"),
            target: format!("<= {target} ms"),
            reached: ms <= target,
        });
    }
    Ok(rows)
}

fn scan_rows(options: &OpenOptions, events: u64) -> Result<Vec<Row>, Fault> {
    let ledger = open(&OpenOptions { mode: Mode::Read, ..options.clone() })?.ledger;
    // Once unmeasured: everybody starts from the same warm cache.
    bare_scan(&ledger)?;
    let (mut ratios, mut full, mut rebuild, mut chain_rate) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for _ in 0..5 {
        let bare = core_seconds(|| bare_scan(&ledger));
        let chain = core_seconds(|| verify_chain(ledger.as_ref(), &stream()));
        let whole = core_seconds(|| verify(ledger.as_ref(), &VerifyOptions::default()));
        let folds = core_seconds(|| {
            let (mut board, mut numbers) = (BoardState::default(), Statistics::default());
            let end = each_event(ledger.as_ref(), &stream(), Seq(0), false, &mut |event| {
                board.apply(&event);
                numbers.apply(&event);
                Ok(Control::Next)
            });
            drop(end);
            std::hint::black_box((board, numbers))
        });
        ratios.push(chain / bare);
        chain_rate.push(events as f64 / chain);
        full.push(events as f64 / whole);
        rebuild.push(events as f64 / folds);
    }
    let (ratio, rebuild) = (median(ratios), median(rebuild));
    Ok(vec![
        Row {
            what: "scan and verify the chain, against a bare scan + BLAKE3".into(),
            figure: format!("{ratio:.2}x ({:.0} events/s of core time)", median(chain_rate)),
            target: "<= 1.5x".into(),
            reached: ratio <= 1.5,
        },
        Row {
            what: "verify and rebuild all projections, headers only decoded".into(),
            figure: format!("{rebuild:.0} events/s of core time"),
            target: ">= 500000 events/s on one core".into(),
            reached: rebuild >= 500_000.0,
        },
        Row {
            what: "full verify, bodies decoded too".into(),
            figure: format!("{:.0} events/s of core time", median(full)),
            target: "none".into(),
            reached: true,
        },
    ])
}
