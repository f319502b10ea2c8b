//! How the stand-in behaves when nothing is broken: habits and delays of the real editor.
//! A page takes them at its load; one that is open keeps what it has.

use serde_json::{Value, json};

/// Habits of the page; each can be turned off.
const QUIRKS: &[&str] = &[
    // Reads show a copy that is behind the truth.
    "stale_reads",
    // Nets of pins come late.
    "late_nets",
    // Unknown keys of `modify` are ignored.
    "modify_ignores_unknown",
    // `modify` without `otherProperty` empties it.
    "modify_wipes_properties",
    // More ids than sixty at once: nothing is deleted, and the answer is true.
    "delete_batch_limit",
    // `pcb_PrimitiveComponent.modify` moves nothing.
    "pcb_modify_moves_nothing",
    // `getNetlist` waits for ever while a pin floats.
    "netlist_hangs",
    // An arc with swapped arguments never ends.
    "fatal_arc",
    // `importChanges` only opens a window.
    "import_needs_click",
    // Methods of one kind of document fail while another is active.
    "needs_active_document",
];

/// Delays in milliseconds: a tenth of what is reported of the real editor.
fn fast() -> Value {
    json!({
        "read": 2, "create": 20, "jitter": 5, "search": 50, "save": 80, "open_project": 300,
        "open_document": 150, "settle": 150, "net_settle": 400, "import_each": 100,
    })
}

/// The size that public reports give.
fn slow() -> Value {
    json!({
        "read": 20, "create": 400, "jitter": 600, "search": 500, "save": 800,
        "open_project": 3000, "open_document": 1500, "settle": 1500, "net_settle": 4000,
        "import_each": 1000,
    })
}

/// The settings to begin with.
pub fn standard() -> Value {
    let quirks: serde_json::Map<String, Value> =
        QUIRKS.iter().map(|q| ((*q).to_owned(), json!(true))).collect();
    json!({
        "quirks": quirks,
        "latency": fast(),
        // Every browser that comes without a cookie is signed in, as a cloned profile is.
        "signed_in": false,
        "inject_enums": false,
        // The strict form of the rule check; the real one answers a boolean.
        "drc_verbose": false,
        "language": "en",
        "version": "3.2.149",
    })
}

/// Takes changes in; unknown keys are refused, so that a misspelt one changes no test's meaning.
pub fn change(settings: &mut Value, changes: &Value) -> Result<(), String> {
    let Some(map) = changes.as_object() else { return Err("settings are an object".into()) };
    let mut next = settings.clone();
    for (key, value) in map {
        match (key.as_str(), value) {
            ("quirks", Value::Bool(on)) => {
                for quirk in QUIRKS {
                    next["quirks"][*quirk] = json!(on);
                }
            }
            ("profile", Value::String(name)) => {
                next["latency"] = match name.as_str() {
                    "fast" => fast(),
                    "slow" => slow(),
                    other => return Err(format!("no such profile: {other}")),
                };
            }
            ("quirks" | "latency", Value::Object(inner)) => {
                for (name, value) in inner {
                    let known = &mut next[key.as_str()][name.as_str()];
                    if known.is_null() {
                        return Err(format!("unknown setting: {key}.{name}"));
                    }
                    *known = value.clone();
                }
            }
            (key, value) if next.get(key).is_some_and(|v| !v.is_object() && !v.is_null()) => {
                next[key] = value.clone();
            }
            (key, _) => return Err(format!("unknown setting: {key}")),
        }
    }
    *settings = next;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_change_whole_or_not_at_all() {
        let mut settings = standard();
        change(&mut settings, &json!({ "quirks": false, "latency": { "save": 5 } })).expect("ok");
        assert_eq!(settings["quirks"]["fatal_arc"], false);
        assert_eq!(settings["latency"]["save"], 5);
        let before = settings.clone();
        for wrong in [
            json!({ "language": "zh", "quirk": true }),
            json!({ "latency": { "sav": 1 } }),
            json!({ "profile": "quick" }),
            json!([]),
        ] {
            assert!(change(&mut settings, &wrong).is_err(), "{wrong}");
            assert_eq!(settings, before);
        }
    }
}
