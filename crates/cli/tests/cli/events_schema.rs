//! Reads the events out of their source: names, effects, fields. The page and the schema of the
//! events are made from it, so that neither can fall behind.

use serde_json::{Map, Value, json};

use crate::env::TestEnvironment;
use crate::scenes;

const SOURCE: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../core/src/event.rs"));

struct Field {
    name: String,
    kind: String,
    about: String,
    /// Left out when there is nothing to say.
    optional: bool,
}

struct Variant {
    name: String,
    about: String,
    fields: Vec<Field>,
}

fn snake(name: &str) -> String {
    let mut out = String::new();
    for (at, c) in name.chars().enumerate() {
        if c.is_uppercase() && at > 0 {
            out.push('_');
        }
        out.extend(c.to_lowercase());
    }
    out
}

/// The variants of an enum of the source.
fn variants(name: &str) -> Vec<Variant> {
    let start = SOURCE.find(&format!("pub enum {name} {{")).unwrap();
    let mut found: Vec<Variant> = Vec::new();
    let mut doc = String::new();
    let mut optional = false;
    for line in SOURCE[start..].lines().skip(1) {
        if line == "}" {
            break;
        }
        let depth = line.len() - line.trim_start().len();
        let text = line.trim();
        if let Some(words) = text.strip_prefix("///") {
            doc = format!("{doc} {}", words.trim()).trim().to_owned();
        } else if text.starts_with("#[") || text == "}," {
            optional |= text.contains("skip_serializing_if");
        } else if depth == 4 {
            let name = snake(text.trim_end_matches([' ', '{', ',']));
            found.push(Variant { name, about: std::mem::take(&mut doc), fields: Vec::new() });
        } else if let Some((name, kind)) = text.trim_end_matches(',').split_once(": ") {
            let field = Field {
                name: name.to_owned(),
                kind: kind.to_owned(),
                about: std::mem::take(&mut doc),
                optional: std::mem::take(&mut optional),
            };
            found.last_mut().unwrap().fields.push(field);
        }
    }
    found
}

/// JSON schema of a Rust type, as far as its form is fixed.
fn schema_of(kind: &str) -> Value {
    let inner = |wrap: &str| kind.strip_prefix(wrap).and_then(|k| k.strip_suffix('>'));
    if let Some(of) = inner("Option<") {
        return json!({"anyOf": [schema_of(of), {"type": "null"}]});
    }
    if let Some(of) = inner("Vec<") {
        return json!({"type": "array", "items": schema_of(of)});
    }
    if inner("BTreeMap<").is_some() {
        return json!({"type": "object", "additionalProperties": {"type": "string"}});
    }
    match kind {
        "bool" => json!({"type": "boolean"}),
        "u8" | "u32" | "u64" | "Seq" | "AttemptNo" => json!({"type": "integer", "minimum": 0}),
        "i32" => json!({"type": "integer"}),
        "Timestamp" => json!({"type": "string", "format": "date-time"}),
        "Digest" => json!({"type": "string", "pattern": "^[0-9a-f]{64}$"}),
        "Decision" => json!({"$ref": "#/$defs/decision"}),
        "Owner" | "Counts" | "OutputRef" | "BlobRef" => json!({"type": "object"}),
        // Words of open lists and ids.
        _ => json!({"type": "string"}),
    }
}

fn object(tag: &str, variant: &Variant) -> Value {
    let mut properties = Map::new();
    properties.insert(tag.to_owned(), json!({"const": variant.name}));
    let mut required = vec![json!(tag)];
    for field in &variant.fields {
        let mut schema = schema_of(&field.kind);
        schema["description"] = json!(field.about);
        properties.insert(field.name.clone(), schema);
        if !field.optional {
            required.push(json!(field.name));
        }
    }
    json!({"type": "object", "description": variant.about, "properties": properties,
        "required": required})
}

/// The schema of an event.
pub fn schema() -> String {
    let all = |name: &str, tag: &str| -> Vec<Value> {
        variants(name).iter().map(|v| object(tag, v)).collect()
    };
    let nullable = json!({"type": ["string", "null"]});
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "pcbflow event",
        "description": "An event of a record, as --events and explain --technical --json show it. Fields are only added; pass over events that you do not know.",
        "type": "object",
        "properties": {
            "type": {"const": "event"},
            "stream": {"type": "string"},
            "seq": {"type": "integer", "minimum": 0},
            "hash": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
            "at": {"type": "string", "format": "date-time"},
            "actor": {"enum": ["engine", "person", "agent"]},
            "scope": {"type": "object", "properties": {"run": nullable, "phase": nullable,
                "step": nullable, "attempt": {"type": ["integer", "null"]}}},
            "fact": {"oneOf": all("Fact", "event")},
            "words": {"type": ["object", "null"], "description": "Words and tails; null when they were removed."},
        },
        "required": ["stream", "seq", "hash", "at", "actor", "scope", "fact"],
        "$defs": {"decision": {"oneOf": all("Decision", "do")}},
    });
    format!("{}\n", serde_json::to_string_pretty(&schema).unwrap())
}

/// The page of the events.
pub fn page() -> String {
    let mut text = String::from(
        "<!-- Made from the program by `cargo test -p pcbflow-cli`; do not edit. -->\n\n# Events\n\n\
         What can stand in a record. Each event has a stream, a position, a time, a place and an actor besides its own fields.\n",
    );
    let mut section = |title: &str, list: &[Variant]| {
        text.push_str(&format!("\n## {title}\n"));
        for v in list {
            text.push_str(&format!("\n### {}\n\n{}\n", v.name, v.about));
            if v.fields.is_empty() {
                continue;
            }
            text.push_str("\n| Field | Type | Meaning |\n|---|---|---|\n");
            for f in &v.fields {
                text.push_str(&format!("| `{}` | `{}` | {} |\n", f.name, f.kind, f.about));
            }
        }
    };
    section("Facts", &variants("Fact"));
    section("Decisions", &variants("Decision"));
    text
}

#[test]
fn the_source_is_read_whole() {
    let facts = variants("Fact");
    assert!(facts.len() >= 35, "{}", facts.len());
    assert!(facts.iter().all(|v| !v.about.is_empty()));
    assert!(facts.iter().flat_map(|v| &v.fields).all(|f| !f.about.is_empty()));
    assert!(variants("Decision").iter().any(|v| v.name == "try_later" && v.fields.is_empty()));
}

#[test]
fn recorded_events_fit_the_schema() {
    let env = TestEnvironment::new();
    scenes::full(&env, "door").close();
    let schema: Value = serde_json::from_str(&schema()).unwrap();
    let valid = jsonschema::validator_for(&schema).unwrap();
    let json = env.run(&["explain", "2", "--technical", "--json"]).json();
    let events = json["data"]["technical"]["events"].as_array().unwrap().clone();
    assert!(events.len() > 20, "{}", events.len());
    for event in events {
        let faults: Vec<String> = valid.iter_errors(&event).map(|e| e.to_string()).collect();
        assert!(faults.is_empty(), "{faults:?}: {event}");
    }
}
