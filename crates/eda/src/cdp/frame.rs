//! One message of the socket, read. Whatever it holds, reading it gives a frame.

use serde_json::Value;

/// What a message is.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Frame {
    /// The answer to a call of ours.
    Answer { id: u64, outcome: Result<Value, Refusal> },
    /// Something happened.
    Event { session: Option<String>, method: String, params: Value },
    /// Nothing that we know; newer browsers may send more than we understand.
    Odd,
}

/// An error of the protocol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    pub code: i64,
    pub message: String,
}

/// Longest name of a method or session that is taken, in bytes.
const NAME_BYTES_MAX: usize = 256;
/// Most bytes that are kept of a refusal's words.
const MESSAGE_BYTES_MAX: usize = 2048;

/// Reads a message.
pub(super) fn read(text: &str) -> Frame {
    // Half a character, as pages may well produce, is a fault for the reader and not for us.
    let value = serde_json::from_str::<Value>(text)
        .or_else(|_| serde_json::from_str::<Value>(&without_halves(text)));
    let Ok(Value::Object(mut map)) = value else { return Frame::Odd };
    if let Some(id) = map.get("id").and_then(Value::as_u64) {
        let outcome = match map.remove("error") {
            Some(error) => Err(Refusal {
                code: error.get("code").and_then(Value::as_i64).unwrap_or(0),
                message: words(error.get("message")),
            }),
            None => Ok(map.remove("result").unwrap_or(Value::Null)),
        };
        return Frame::Answer { id, outcome };
    }
    let short = |v: Option<&Value>| {
        v.and_then(Value::as_str).filter(|s| s.len() <= NAME_BYTES_MAX).map(str::to_owned)
    };
    let Some(method) = short(map.get("method")) else { return Frame::Odd };
    let session = match map.get("sessionId") {
        None | Some(Value::Null) => None,
        some => match short(some) {
            Some(session) => Some(session),
            // An event of nobody knows which page must not be taken for the browser's own.
            None => return Frame::Odd,
        },
    };
    Frame::Event { session, method, params: map.remove("params").unwrap_or(Value::Null) }
}

fn words(value: Option<&Value>) -> String {
    let text = value.and_then(Value::as_str).unwrap_or("");
    pcbflow_core::text::cut_bytes(text, MESSAGE_BYTES_MAX).to_owned()
}

/// The same text with every lone half of a surrogate pair replaced.
pub(super) fn without_halves(text: &str) -> String {
    let bytes = text.as_bytes();
    let unit = |at: usize| -> Option<u16> {
        let escape = bytes.get(at..at + 6)?;
        let hex = escape.strip_prefix(b"\\u")?;
        u16::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok()
    };
    let mut out = String::with_capacity(text.len());
    let (mut at, mut kept) = (0, 0);
    while let Some(found) = text.get(at..).and_then(|rest| rest.find('\\')) {
        let here = at + found;
        let next = match unit(here) {
            Some(0xD800..=0xDBFF) if matches!(unit(here + 6), Some(0xDC00..=0xDFFF)) => here + 12,
            Some(0xD800..=0xDFFF) => {
                out.push_str(text.get(kept..here).unwrap_or(""));
                out.push_str("\\uFFFD");
                kept = here + 6;
                kept
            }
            Some(_) => here + 6,
            // Another escape: its second character is part of it, whatever it is.
            None => here + 1 + text[here + 1..].chars().next().map_or(0, char::len_utf8),
        };
        at = next;
    }
    out.push_str(text.get(kept..).unwrap_or(""));
    out
}
