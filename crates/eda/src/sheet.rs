//! The objects of a document, read until two fresh reads agree.
//!
//! A read that shares an evaluate with a write, or comes right after one, shows an old state. So
//! every read is an evaluate of its own, and one alone is never believed.

use std::collections::BTreeMap;

use pcbflow_core::evidence::{Signal, Source};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::cdp::ms;
use crate::desk::{Desk, View, left_ms, script};
use crate::signals;
use crate::trouble::Trouble;

/// Between two reads that must agree, in milliseconds; the editor's own settle time is shorter.
const BETWEEN_MS: u64 = 300;
/// Most reads until two agree.
const READS_MAX: usize = 8;
/// Longest wait for one read, in milliseconds.
const READ_MS: u64 = 20_000;
/// How far two places may be apart and still be one, in units of the sheet.
const NEAR: f64 = 2.0;

/// What a document holds.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Sheet {
    /// Its objects by id.
    pub records: BTreeMap<String, Value>,
}

impl Sheet {
    fn of(answer: &Value) -> Sheet {
        let all = answer.get("records").and_then(Value::as_array);
        let pair = |r: &Value| {
            let id = r.get("id").and_then(Value::as_str).filter(|id| !id.is_empty())?;
            Some((id.to_owned(), r.clone()))
        };
        Sheet { records: all.into_iter().flatten().filter_map(pair).collect() }
    }

    /// Objects of a kind.
    pub fn of_kind<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Value> {
        self.records.values().filter(move |r| r.get("kind").and_then(Value::as_str) == Some(kind))
    }

    /// The list for the page.
    pub fn as_json(&self) -> Value {
        Value::Array(self.records.values().cloned().collect())
    }
}

/// One read of the document in front.
pub(crate) async fn read(
    desk: &mut Desk,
    view: &View,
    pins: bool,
    until: Instant,
) -> Result<Sheet, Trouble> {
    let input = json!({ "pins": pins });
    let read = script(include_str!("page/read.js"), &input, left_ms(until).min(READ_MS));
    let (answer, _) = desk.run(&view.project, "reading the drawing", &read).await?;
    let document = answer.get("document").and_then(Value::as_str).unwrap_or("");
    if document != view.document {
        let signal = Signal::new(Source::Report, signals::DOCUMENT_DIFFERS).text(document);
        return Err(Trouble::seen("another document is in front", vec![signal]));
    }
    Ok(Sheet::of(&answer))
}

/// Reads until two reads agree.
pub(crate) async fn settled(
    desk: &mut Desk,
    view: &View,
    pins: bool,
    until: Instant,
) -> Result<Sheet, Trouble> {
    let mut last = read(desk, view, pins, until).await?;
    for _ in 1..READS_MAX {
        tokio::time::sleep(ms(BETWEEN_MS.min(left_ms(until)))).await;
        let next = read(desk, view, pins, until).await?;
        if next == last {
            return Ok(next);
        }
        last = next;
    }
    let signals = vec![
        Signal::new(Source::Own, signals::READ_TOO_EARLY),
        Signal::new(Source::Report, signals::READ_DIFFERS),
    ];
    Err(Trouble::seen("the drawing reads differently each time", signals))
}

fn number(value: &Value, key: &str) -> Option<f64> {
    value.get(key).and_then(Value::as_f64)
}

/// Whether two numbers are one place.
pub(crate) fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= NEAR
}

fn line(value: &Value) -> Vec<f64> {
    let line = value.get("line").and_then(Value::as_array);
    line.into_iter().flatten().filter_map(Value::as_f64).collect()
}

fn same_line(a: &[f64], b: &[f64]) -> bool {
    let same = |b: &[f64]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| near(*a, *b));
    let turned: Vec<f64> = b.chunks(2).rev().flatten().copied().collect();
    !a.is_empty() && (same(b) || same(&turned))
}

/// Whether an object of the sheet is what a call planned: kind, part identity or net, place.
pub(crate) fn fits(plan: &Value, record: &Value) -> bool {
    let text = |v: &Value, key: &str| v.get(key).and_then(Value::as_str).unwrap_or("").to_owned();
    if text(plan, "kind") != text(record, "kind") {
        return false;
    }
    let placed = match text(plan, "kind").as_str() {
        "wire" => same_line(&line(plan), &line(record)),
        _ => ["x", "y"]
            .iter()
            .all(|key| number(plan, key).zip(number(record, key)).is_some_and(|(a, b)| near(a, b))),
    };
    let same = |key: &str| !text(plan, key).is_empty() && text(plan, key) == text(record, key);
    match text(plan, "kind").as_str() {
        "part" => placed && (same("device") || same("supplier")),
        _ => placed && (text(plan, "net").is_empty() || same("net")),
    }
}

/// Pins on which a wire ends that names a net, and which read none.
pub(crate) fn floating(seen: &Sheet) -> Vec<(String, String)> {
    let text = |v: &Value, key: &str| v.get(key).and_then(Value::as_str).unwrap_or("").to_owned();
    let mut found = Vec::new();
    for part in seen.of_kind("part") {
        for pin in part.get("pins").and_then(Value::as_array).into_iter().flatten() {
            if text(pin, "net").is_empty() && named_wire_ends(seen, pin) {
                found.push((text(part, "designator"), text(pin, "number")));
            }
        }
    }
    found
}

fn named_wire_ends(seen: &Sheet, pin: &Value) -> bool {
    let at = |key: &str| pin.get(key).and_then(Value::as_f64);
    let (Some(x), Some(y)) = (at("x"), at("y")) else { return false };
    seen.of_kind("wire").any(|wire| {
        let line: Vec<f64> = wire
            .get("line")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_f64)
            .collect();
        let named = wire.get("net").and_then(Value::as_str).is_some_and(|n| !n.is_empty());
        named && line.chunks(2).any(|p| p == [x, y])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_known_by_what_and_where_it_is() {
        let plan = json!({ "kind": "part", "device": "d1", "supplier": "C1", "x": 100, "y": 50 });
        let record =
            |device: &str, x: f64| json!({ "kind": "part", "device": device, "x": x, "y": 50 });
        assert!(fits(&plan, &record("d1", 101.5)));
        assert!(!fits(&plan, &record("d1", 103.0)));
        assert!(!fits(&plan, &record("d2", 100.0)));
        let other_id =
            json!({ "kind": "part", "device": "copy", "supplier": "C1", "x": 100, "y": 50 });
        assert!(fits(&plan, &other_id));
        assert!(!fits(&plan, &json!({ "kind": "netflag", "x": 100, "y": 50 })));
        let wire = json!({ "kind": "wire", "line": [0, 0, 10, 0, 10, 5], "net": "" });
        let turned = json!({ "kind": "wire", "line": [10, 5, 10, 0, 0, 0], "net": "VCC" });
        assert!(fits(&wire, &turned));
        let named = json!({ "kind": "wire", "line": [0, 0, 10, 0, 10, 5], "net": "GND" });
        assert!(!fits(&named, &turned));
        assert!(
            !fits(&json!({ "kind": "wire" }), &json!({ "kind": "wire" })),
            "no place is no proof"
        );
    }
}
