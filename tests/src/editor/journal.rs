//! What happened, in its order: the tests' witness beside pcbflow's own ledger.

use std::time::Instant;

use serde_json::{Value, json};

/// Most entries of one life of the stand-in. Past it the log says that it is full.
const ENTRIES_MAX: usize = 200_000;
/// Longest arguments of a call that are kept as they are; the hash is of all of them.
const ARGUMENT_BYTES_MAX: usize = 4096;

/// The append-only log.
pub struct Journal {
    start: Instant,
    entries: Vec<Value>,
    full: bool,
}

impl Journal {
    pub fn new() -> Journal {
        Journal { start: Instant::now(), entries: Vec::new(), full: false }
    }

    pub fn now_ms(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Adds an entry: its kind, and what belongs to it.
    pub fn add(&mut self, event: &str, mut fields: Value) {
        if self.entries.len() >= ENTRIES_MAX {
            self.full = true;
            return;
        }
        let (seq, at) = (self.entries.len() + 1, self.now_ms());
        if let Some(map) = fields.as_object_mut() {
            map.insert("seq".into(), json!(seq));
            map.insert("at_ms".into(), json!(at));
            map.insert("event".into(), json!(event));
        }
        self.entries.push(fields);
    }

    /// Entries after a number.
    pub fn since(&self, seq: usize) -> Value {
        let from = seq.min(self.entries.len());
        json!({ "events": self.entries[from..], "full": self.full, "now_ms": self.now_ms() })
    }
}

/// Arguments of a call for the log: their hash, and as much of them as is fit to read.
pub fn arguments(args: &Value) -> (String, Value) {
    let text = args.to_string();
    let hash = format!("{:016x}", fnv(text.as_bytes()));
    let shown = match text.len() <= ARGUMENT_BYTES_MAX {
        true => args.clone(),
        false => json!(format!("{} bytes", text.len())),
    };
    (hash, shown)
}

/// FNV-1a: short, the same on every machine, and no promise beyond that.
pub fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
