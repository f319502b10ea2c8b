//! `log`: the two-line form, one entry an attempt, read from the record itself.

use std::collections::VecDeque;
use std::time::Duration;

use pcbflow_core::exit::Exit;
use pcbflow_core::ids::{BoardName, Seq, StreamId};
use pcbflow_core::ports::{Cancel, Ledger};
use pcbflow_core::text::one_line;
use pcbflow_store::mirror::{HumanMessage, Record, Records};
use serde_json::Value;

use crate::App;
use crate::args::LogArgs;
use crate::cancel::Stop;
use crate::compose::Site;
use crate::envelope::{Answer, Envelope};
use crate::error::{CommandError, Kind};
use crate::reading;

/// How often the record is looked at with `--follow`, in milliseconds.
const POLL_MS: u64 = 300;
/// Most attempts shown without `--last`; the newest ones.
const ATTEMPTS_MAX: usize = 10_000;

/// `pcbflow log`.
///
/// # Errors
/// No such board or phase, a record that can't be read.
pub fn log(app: &App, args: &LogArgs) -> Result<Answer, CommandError> {
    let site = Site::open(&app.global)?;
    if args.follow && app.ui.options.json {
        return Err(CommandError::new(
            Kind::Usage,
            "--follow goes on and on, --json is one document",
        )
        .hint("use --events for one line per attempt"));
    }
    let opened = reading::open(&site.workspace)?;
    let ledger = opened.as_ref().map(|o| o.ledger.as_ref() as &dyn Ledger);
    let board = reading::board(&site.workspace, ledger, args.board.as_deref())?;
    let mut tail = Tail::new(&site, board.clone(), args);
    if let Some(opened) = &opened {
        if opened.repaired {
            app.ui.say(pcbflow_humanize::notice::record_repaired().as_str());
        }
        tail.read(opened.ledger.as_ref())?;
    }
    let records = tail.first();
    drop(opened);
    if args.follow {
        for record in &records {
            show(app, record);
        }
        return follow(app, &site, tail);
    }
    let mut lines: Vec<String> = Vec::new();
    for record in &records {
        lines.extend(entry(app, record));
    }
    if records.is_empty() && app.ui.progress() {
        lines.push(format!("Nothing was attempted on {board} yet."));
    }
    let mut answer = Answer::done("log", lines).with("attempts", json(&records));
    answer.envelope.board = Some(board.to_string());
    Ok(answer)
}

/// Reads a board's stream onwards.
struct Tail {
    board: BoardName,
    next: Seq,
    records: Records,
    words: std::sync::Arc<dyn HumanMessage>,
    phase: Option<String>,
    last: usize,
    kept: VecDeque<Record>,
}

impl Tail {
    fn new(site: &Site, board: BoardName, args: &LogArgs) -> Tail {
        Tail {
            board,
            next: Seq(0),
            records: Records::default(),
            words: crate::mirror::words(site),
            phase: args.phase.clone(),
            last: args.last.unwrap_or(ATTEMPTS_MAX).min(ATTEMPTS_MAX),
            kept: VecDeque::new(),
        }
    }

    /// Takes in everything new. True when there was something.
    fn read(&mut self, ledger: &dyn Ledger) -> Result<bool, CommandError> {
        let stream = StreamId::Board(self.board.clone());
        let mut any = false;
        // Ends at the head: each round reads on from the last event.
        loop {
            let chunk = ledger.read(&stream, self.next, reading::CHUNK_EVENTS, true)?;
            let Some(last) = chunk.last() else { return Ok(any) };
            any = true;
            self.next = last.seq.next();
            chunk.iter().for_each(|event| self.records.apply(event));
            let done = self.records.take_final(&self.board, self.words.as_ref());
            self.keep(done);
        }
    }

    fn keep(&mut self, records: Vec<Record>) {
        for record in records.into_iter().filter(|r| fits(self.phase.as_deref(), &r.phase)) {
            self.kept.push_back(record);
            if self.kept.len() > self.last {
                self.kept.pop_front();
            }
        }
    }

    /// What stands so far.
    fn first(&mut self) -> Vec<Record> {
        let open = self.records.take_all(&self.board, self.words.as_ref());
        self.keep(open);
        std::mem::take(&mut self.kept).into()
    }
}

/// A phase may be named in full, by its number or by its name.
fn fits(wanted: Option<&str>, phase: &str) -> bool {
    let Some(wanted) = wanted else { return true };
    let (number, name) = phase.split_once('-').unwrap_or((phase, phase));
    phase == wanted || name == wanted || number == wanted
}

fn follow(app: &App, site: &Site, mut tail: Tail) -> Result<Answer, CommandError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| CommandError::new(Kind::Bug, format!("no runtime: {e}")))?;
    let stop = Stop::default();
    runtime.block_on(async {
        stop.listen();
        while !stop.is_cancelled() {
            tokio::select! {
                () = tokio::time::sleep(Duration::from_millis(POLL_MS)) => {}
                () = stop.cancelled() => break,
            }
            // Opened anew each time: a record that is rewritten or repaired is never held.
            if let Some(opened) = reading::open(&site.workspace)?
                && tail.read(opened.ledger.as_ref())?
            {
                tail.first().iter().for_each(|record| show(app, record));
            }
        }
        let exit = stop.exit().unwrap_or(Exit::Interrupted);
        Ok(Answer::new(Envelope::new("log", exit), exit, Vec::new()))
    })
}

fn show(app: &App, record: &Record) {
    if app.ui.options.events {
        let mut value = serde_json::to_value(record).unwrap_or_default();
        if let Some(map) = value.as_object_mut() {
            map.insert("type".to_owned(), "attempt".into());
        }
        app.ui.raw(&value.to_string());
    } else {
        entry(app, record).iter().for_each(|line| app.ui.out(line));
    }
}

/// The two lines, or one sentence for screen readers.
fn entry(app: &App, record: &Record) -> Vec<String> {
    if app.ui.options.narrated {
        let clock = record.ts.get(11..19).unwrap_or("");
        return vec![one_line(&format!(
            "At {clock}, board {}, phase {}, step {}: {}. {}",
            record.project,
            record.phase,
            record.step,
            record.status.word(),
            record.human_message
        ))];
    }
    record.log_lines().lines().map(pcbflow_core::text::without_control).collect()
}

fn json(records: &[Record]) -> Vec<Value> {
    records.iter().map(|r| serde_json::to_value(r).unwrap_or_default()).collect()
}
