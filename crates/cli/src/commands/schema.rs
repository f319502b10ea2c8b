//! `schema`: what machines may rely on, as JSON.

use crate::App;
use crate::args::SchemaArgs;
use crate::envelope::Answer;
use crate::error::{CommandError, Kind};
use crate::reference;

/// `pcbflow schema`.
///
/// # Errors
/// No schema of this name.
pub fn schema(_app: &App, args: &SchemaArgs) -> Result<Answer, CommandError> {
    let Some(name) = &args.name else {
        let lines =
            reference::SCHEMAS.iter().map(|s| format!("{:<12}  {}", s.name, s.about)).collect();
        let names: Vec<&str> = reference::SCHEMAS.iter().map(|s| s.name).collect();
        return Ok(Answer::done("schema", lines).with("schemas", names));
    };
    let Some(found) = reference::SCHEMAS.iter().find(|s| s.name == name) else {
        let names = reference::SCHEMAS.iter().map(|s| s.name);
        let error = CommandError::new(Kind::NotFound, format!("there is no schema '{name}'"));
        return Err(match pcbflow_core::manifest::nearest(name, names.clone()) {
            Some(near) => error.hint(format!("did you mean '{near}'?")),
            None => error.hint(format!("one of: {}", names.collect::<Vec<_>>().join(", "))),
        });
    };
    let value = (found.make)();
    let text = serde_json::to_string_pretty(&value).unwrap_or_default();
    let lines = text.lines().map(str::to_owned).collect();
    Ok(Answer::done("schema", lines).with("name", name).with("schema", value))
}
