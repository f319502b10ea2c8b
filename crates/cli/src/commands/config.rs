//! `config`: every setting, and where it comes from.

use pcbflow_core::policy::{FAILURE_ATTEMPTS_MAX, LADDER_MS_MAX, RUNG_TIMES_MAX, WAIT_MS_MAX};

use crate::App;
use crate::args::{ConfigArgs, ConfigCommand};
use crate::compose;
use crate::envelope::Answer;
use crate::error::{CommandError, Kind};
use crate::reading;
use crate::reference::VARIABLES;
use crate::settings::{self, Setting};
use crate::ui::ColorChoice;

/// `pcbflow config`.
///
/// # Errors
/// Settings that can't be read.
pub fn config(app: &App, args: &ConfigArgs) -> Result<Answer, CommandError> {
    match args.command {
        ConfigCommand::Show { origin } => show(app, origin),
    }
}

fn show(app: &App, origin: bool) -> Result<Answer, CommandError> {
    let workspace = match reading::workspace(&app.global) {
        Ok(found) => Some(found),
        // Settings outside a workspace are the defaults; a named one must be there.
        Err(e) if e.kind == Kind::NotFound && app.global.workspace.is_none() => None,
        Err(e) => return Err(e),
    };
    let mut values = of_the_call(app);
    let mut add = |key: &str, value: String, origin: &str| {
        values.push(Setting { key: key.to_owned(), value, origin: origin.to_owned() });
    };
    let root = workspace.as_ref().map_or("none".to_owned(), |w| w.root.display().to_string());
    add("workspace", root, workspace_origin(app));
    let home = compose::state_home().map_or("none".to_owned(), |h| h.0.display().to_string());
    let home_origin = if std::env::var_os(compose::STATE_HOME_VAR).is_some() {
        compose::STATE_HOME_VAR
    } else {
        "default"
    };
    add("state_home", home, home_origin);
    let mut warnings = Vec::new();
    if let Some(workspace) = &workspace {
        let loaded = settings::load(&workspace.root)?;
        compose::catalogue(&loaded)?;
        values.extend(loaded.values);
        warnings = loaded.warnings;
    }
    let caps = [
        ("cap.attempts_per_failure", u64::from(FAILURE_ATTEMPTS_MAX)),
        ("cap.ladder_seconds", LADDER_MS_MAX / 1000),
        ("cap.wait_ms", WAIT_MS_MAX),
        ("cap.times_per_rung", RUNG_TIMES_MAX as u64),
    ];
    for (key, value) in caps {
        let value = value.to_string();
        values.push(Setting {
            key: key.to_owned(),
            value,
            origin: "built in, can't be raised".to_owned(),
        });
    }
    for warning in &warnings {
        app.ui.warn(warning);
    }
    let width = values.iter().map(|v| v.key.chars().count()).max().unwrap_or(0);
    let lines = values
        .iter()
        .map(|v| {
            let value = pcbflow_core::text::one_line(&v.value);
            let from = if origin { format!("  ({})", v.origin) } else { String::new() };
            if app.ui.options.narrated {
                format!("{} is {value}{from}.", v.key)
            } else {
                format!("{:<width$}  {value}{from}", v.key)
            }
        })
        .collect();
    Ok(Answer::done("config", lines).with("settings", values).with("warnings", warnings))
}

fn workspace_origin(app: &App) -> &'static str {
    match (&app.global.workspace, std::env::var_os("PCBFLOW_WORKSPACE")) {
        (Some(flag), Some(var)) if flag.as_os_str() == var.as_os_str() => "PCBFLOW_WORKSPACE",
        (Some(_), _) => "flag",
        (None, _) => "the current folder",
    }
}

/// What flags and variables say about this call.
fn of_the_call(app: &App) -> Vec<Setting> {
    let mut values = Vec::new();
    let mut add = |key: &str, value: String, origin: &str| {
        values.push(Setting { key: key.to_owned(), value, origin: origin.to_owned() });
    };
    let color = match app.global.color {
        ColorChoice::Auto => "auto",
        ColorChoice::Always => "always",
        ColorChoice::Never => "never",
    };
    let set = |name: &str| std::env::var_os(name).is_some_and(|v| !v.is_empty());
    let color_origin = match app.global.color {
        ColorChoice::Auto if set("NO_COLOR") => "NO_COLOR",
        ColorChoice::Auto if set("CLICOLOR_FORCE") => "CLICOLOR_FORCE",
        ColorChoice::Auto => "default",
        _ => "flag",
    };
    add("color", color.to_owned(), color_origin);
    let narrated_origin = match (app.global.narrated, set("PCBFLOW_NARRATED")) {
        (true, true) => "PCBFLOW_NARRATED",
        (true, false) => "flag",
        (false, _) => "default",
    };
    add("narrated", app.global.narrated.to_string(), narrated_origin);
    for variable in VARIABLES.iter().filter(|v| v.shown) {
        if let Some(value) = std::env::var_os(variable.name) {
            add(variable.name, value.to_string_lossy().into_owned(), "variable");
        }
    }
    values
}
