//! `pcbflow.toml` and `knowledge/rules.toml`: what a person may set, and where each value is from.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use pcbflow_core::catalogue::UserRule;
use pcbflow_core::ids::ClassId;
use pcbflow_core::manifest::nearest;
use pcbflow_core::policy::{
    ClassSettings, FAILURE_ATTEMPTS_MAX, LADDER_MS_MAX, RUNG_TIMES_MAX, WAIT_MS_MAX,
};
use pcbflow_eda::EditorSettings;
use pcbflow_eda::browser::Sandbox;
use serde::Deserialize;

use crate::error::{CommandError, Kind};

/// Largest settings file in bytes.
const SETTINGS_BYTES_MAX: u64 = 1 << 20;
/// Most rules of a person.
const RULES_MAX: usize = 500;

/// One value and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Setting {
    /// Its key.
    pub key: String,
    /// Its value.
    pub value: String,
    /// `default`, a file, a variable or `flag`.
    pub origin: String,
}

/// All settings.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// Retry numbers by class.
    pub classes: BTreeMap<String, ClassSettings>,
    /// A person's rules.
    pub rules: Vec<UserRule>,
    /// Steps or boards at once.
    pub jobs: Option<u16>,
    /// Files of tools, by their plain names.
    pub tools: BTreeMap<String, PathBuf>,
    /// The EasyEDA editor and its browser.
    pub editor: EditorSettings,
    /// Each value with its origin.
    pub values: Vec<Setting>,
    /// Unknown keys and the like.
    pub warnings: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
struct RulesFile {
    #[serde(default)]
    rule: Vec<RuleEntry>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleEntry {
    name: String,
    class: String,
    #[serde(default)]
    words: Vec<String>,
    #[serde(default)]
    exit: Vec<i32>,
    #[serde(default)]
    http: Vec<u16>,
    #[serde(default)]
    tools: Vec<String>,
    #[serde(default)]
    hint: String,
    #[serde(default)]
    allow: Option<String>,
}

fn config(message: String) -> CommandError {
    CommandError::new(Kind::Config, message)
}

fn read(path: &Path) -> Result<Option<String>, CommandError> {
    let meta = match std::fs::metadata(path) {
        Ok(meta) => meta,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(config(format!("{} can't be read: {e}", path.display()))),
    };
    if meta.len() > SETTINGS_BYTES_MAX {
        return Err(config(format!("{} is larger than 1 MiB", path.display())));
    }
    std::fs::read_to_string(path)
        .map(Some)
        .map_err(|e| config(format!("{} can't be read: {e}", path.display())))
}

/// Reads both files of a workspace. Missing files are no fault.
///
/// # Errors
/// A file that can't be read or understood, with the line.
pub fn load(workspace: &Path) -> Result<Settings, CommandError> {
    let mut settings = Settings::default();
    let path = workspace.join("pcbflow.toml");
    if let Some(text) = read(&path)? {
        load_settings(&path, &text, &mut settings)?;
    }
    let path = workspace.join("knowledge").join("rules.toml");
    if let Some(text) = read(&path)? {
        load_rules(&path, &text, &mut settings)?;
    }
    Ok(settings)
}

fn load_settings(path: &Path, text: &str, settings: &mut Settings) -> Result<(), CommandError> {
    let origin = path.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
    let table: toml::Table =
        text.parse().map_err(|e| config(format!("{}: {e}", path.display())))?;
    for (key, value) in &table {
        match (key.as_str(), value) {
            ("retry", toml::Value::Table(classes)) => {
                for (class, numbers) in classes {
                    let read = class_settings(class, numbers, settings).map_err(|why| {
                        config(format!("{}: retry.{class}: {why}", path.display()))
                    })?;
                    settings.values.push(Setting {
                        key: format!("retry.{class}"),
                        value: numbers.to_string(),
                        origin: origin.clone(),
                    });
                    settings.classes.insert(class.clone(), read);
                }
            }
            ("run", toml::Value::Table(run)) => run_settings(path, run, &origin, settings)?,
            ("tools", toml::Value::Table(tools)) => tool_settings(path, tools, &origin, settings)?,
            ("editor", toml::Value::Table(editor)) => {
                editor_settings(path, editor, &origin, settings)?;
            }
            (key, _) => {
                let near = nearest(key, ["retry", "run", "tools", "editor"].into_iter())
                    .map_or_else(String::new, |n| format!(", did you mean '{n}'?"));
                settings.warnings.push(format!("{origin}: unknown key '{key}'{near}"));
            }
        }
    }
    Ok(())
}

fn run_settings(
    path: &Path,
    run: &toml::Table,
    origin: &str,
    settings: &mut Settings,
) -> Result<(), CommandError> {
    for (key, value) in run {
        if key == "jobs" {
            let jobs = value.as_integer().and_then(|n| u16::try_from(n).ok());
            let jobs = jobs.filter(|n| (1..=256).contains(n)).ok_or_else(|| {
                config(format!("{}: run.jobs must be from 1 to 256", path.display()))
            })?;
            settings.jobs = Some(jobs);
            settings.values.push(Setting {
                key: "run.jobs".to_owned(),
                value: jobs.to_string(),
                origin: origin.to_owned(),
            });
        } else {
            settings.warnings.push(format!("{origin}: unknown key 'run.{key}'"));
        }
    }
    Ok(())
}

/// `[tools]`: where a tool is that no search path holds.
fn tool_settings(
    path: &Path,
    tools: &toml::Table,
    origin: &str,
    settings: &mut Settings,
) -> Result<(), CommandError> {
    for (name, value) in tools {
        let file = value.as_str().map(PathBuf::from).filter(|f| f.is_absolute());
        let file = file.ok_or_else(|| {
            config(format!("{}: tools.{name} must be the whole path of a file", path.display()))
        })?;
        settings.values.push(Setting {
            key: format!("tools.{name}"),
            value: file.display().to_string(),
            origin: origin.to_owned(),
        });
        settings.tools.insert(name.clone(), file);
    }
    Ok(())
}

/// `[editor]`: where the EasyEDA editor is and how its browser is started.
fn editor_settings(
    path: &Path,
    editor: &toml::Table,
    origin: &str,
    settings: &mut Settings,
) -> Result<(), CommandError> {
    for (key, value) in editor {
        let fault = |what: &str| config(format!("{}: editor.{key} {what}", path.display()));
        let file = || {
            let file = value.as_str().map(PathBuf::from).filter(|f| f.is_absolute());
            file.ok_or_else(|| fault("must be a whole path"))
        };
        let yes_no = || value.as_bool().ok_or_else(|| fault("must be true or false"));
        match key.as_str() {
            "address" => {
                let address = value
                    .as_str()
                    .filter(|a| a.starts_with("https://") || a.starts_with("http://127.0.0.1:"));
                let address = address.ok_or_else(|| fault("must begin with https://"))?;
                address.clone_into(&mut settings.editor.address);
            }
            "browser" => settings.editor.browser = Some(file()?),
            "profile" => settings.editor.profile = Some(file()?),
            "headless" => settings.editor.headless = yes_no()?,
            "sandbox" => {
                let on = yes_no()?;
                settings.editor.sandbox = if on { Sandbox::On } else { Sandbox::Off };
            }
            _ => {
                settings.warnings.push(format!("{origin}: unknown key 'editor.{key}'"));
                continue;
            }
        }
        settings.values.push(Setting {
            key: format!("editor.{key}"),
            value: value.to_string(),
            origin: origin.to_owned(),
        });
    }
    Ok(())
}

fn class_settings(
    class: &str,
    value: &toml::Value,
    settings: &mut Settings,
) -> Result<ClassSettings, String> {
    ClassId::new(class).map_err(|e| e.to_string())?;
    let toml::Value::Table(table) = value else { return Err("must be a table".to_owned()) };
    let mut read = ClassSettings::default();
    for (key, value) in table {
        let number = || value.as_integer().and_then(|n| u64::try_from(n).ok());
        match key.as_str() {
            "attempts" => {
                let n = number().ok_or("attempts must be a whole number")?;
                let most = u64::from(FAILURE_ATTEMPTS_MAX);
                if n == 0 || n > most {
                    return Err(format!("attempts must be from 1 to {most}"));
                }
                read.attempts_max = u32::try_from(n).ok();
            }
            "ladder_seconds" => {
                let n = number().ok_or("ladder_seconds must be a whole number")?;
                if n.saturating_mul(1000) > LADDER_MS_MAX {
                    return Err(format!("ladder_seconds must be at most {}", LADDER_MS_MAX / 1000));
                }
                read.ladder_ms_max = Some(n * 1000);
            }
            "waits_ms" => read.waits_ms = Some(waits(value)?),
            other => settings.warnings.push(format!("retry.{class}: unknown key '{other}'")),
        }
    }
    Ok(read)
}

fn waits(value: &toml::Value) -> Result<Vec<u64>, String> {
    let list = value.as_array().ok_or("waits_ms must be a list of whole numbers")?;
    if list.len() > RUNG_TIMES_MAX {
        return Err(format!("waits_ms may have at most {RUNG_TIMES_MAX} numbers"));
    }
    list.iter()
        .map(|v| {
            v.as_integer()
                .and_then(|n| u64::try_from(n).ok())
                .filter(|n| *n <= WAIT_MS_MAX)
                .ok_or_else(|| format!("each wait must be from 0 to {WAIT_MS_MAX} ms"))
        })
        .collect()
}

fn load_rules(path: &Path, text: &str, settings: &mut Settings) -> Result<(), CommandError> {
    let file: RulesFile =
        toml::from_str(text).map_err(|e| config(format!("{}: {e}", path.display())))?;
    if file.rule.len() > RULES_MAX {
        return Err(config(format!("{}: more than {RULES_MAX} rules", path.display())));
    }
    for rule in file.rule {
        let class = ClassId::new(rule.class.clone())
            .map_err(|e| config(format!("{}: rule '{}': {e}", path.display(), rule.name)))?;
        if rule.words.iter().any(|t| t.trim().len() < 4) {
            return Err(config(format!(
                "{}: rule '{}': each word needs at least 4 characters, or it would match anything",
                path.display(),
                rule.name
            )));
        }
        settings.values.push(Setting {
            key: format!("rule.{}", rule.name),
            value: rule.class.clone(),
            origin: "knowledge/rules.toml".to_owned(),
        });
        settings.rules.push(UserRule {
            name: rule.name,
            class,
            words: rule.words,
            exit: rule.exit,
            http: rule.http,
            tools: rule.tools,
            hint: rule.hint,
            allow: rule.allow,
        });
    }
    Ok(())
}

/// Reads a time such as `30s`, `10m` or `12h` as milliseconds.
///
/// # Errors
/// What is wrong with it.
pub fn duration_ms(text: &str) -> Result<u64, CommandError> {
    let text = text.trim();
    let fault = || {
        CommandError::new(Kind::Usage, format!("'{text}' is no time"))
            .hint("write a number with its unit, such as 30s, 10m or 12h")
    };
    let split = text.find(|c: char| !c.is_ascii_digit()).ok_or_else(fault)?;
    let (number, unit) = text.split_at(split);
    let number: u64 = number.parse().map_err(|_| fault())?;
    let factor = match unit {
        "ms" => 1,
        "s" => 1000,
        "m" | "min" => 60_000,
        "h" => 3_600_000,
        _ => return Err(fault()),
    };
    number.checked_mul(factor).ok_or_else(fault)
}

#[cfg(test)]
mod tests {

    use super::*;

    #[test]
    fn settings_are_bounded() {
        let mut s = Settings::default();
        let p = PathBuf::from("pcbflow.toml");
        load_settings(&p, "[retry.EDA-5]\nattempts = 2\nwaits_ms = [5, 10]\nx = 1\n", &mut s)
            .unwrap();
        assert_eq!(s.classes["EDA-5"].attempts_max, Some(2));
        assert_eq!(s.classes["EDA-5"].waits_ms, Some(vec![5, 10]));
        assert_eq!(s.warnings, ["retry.EDA-5: unknown key 'x'"]);
        for bad in [
            "[retry.EDA-5]\nattempts = 99\n",
            "[retry.EDA-5]\nwaits_ms = [700000]\n",
            "[retry.EDA-5]\nwaits_ms = [1,1,1,1,1,1]\n",
            "[retry.eda5]\nattempts = 1\n",
            "[retry\n",
        ] {
            assert!(load_settings(&p, bad, &mut Settings::default()).is_err(), "{bad}");
        }
        load_settings(&p, "[tools]\nnode = '/opt/node/bin/node'\n", &mut s).unwrap();
        assert_eq!(s.tools["node"], Path::new("/opt/node/bin/node"));
        assert!(load_settings(&p, "[tools]\nnode = 'bin/node'\n", &mut s).is_err());
        let editor = "[editor]\naddress = 'http://127.0.0.1:9/editor'\nheadless = true\nx = 1\n";
        load_settings(&p, editor, &mut s).unwrap();
        assert!(s.editor.headless && s.editor.address.ends_with(":9/editor"));
        assert_eq!(s.warnings.pop().as_deref(), Some("pcbflow.toml: unknown key 'editor.x'"));
        for bad in [
            "[editor]\naddress = 'http://example.org/editor'\n",
            "[editor]\nheadless = 1\n",
            "[editor]\nprofile = 'here'\n",
        ] {
            assert!(load_settings(&p, bad, &mut Settings::default()).is_err(), "{bad}");
        }
        load_settings(&p, "retri = 1\n", &mut s).unwrap();
        assert!(s.warnings[1].contains("did you mean 'retry'"));
    }

    #[test]
    fn rules_need_a_real_text() {
        let p = PathBuf::from("rules.toml");
        let mut s = Settings::default();
        load_rules(&p, "[[rule]]\nname='x'\nclass='SC-2'\nwords=['no module ngspice']\n", &mut s)
            .unwrap();
        assert_eq!(s.rules.len(), 1);
        assert!(load_rules(&p, "[[rule]]\nname='x'\nclass='SC-2'\nwords=['a']\n", &mut s).is_err());
        assert!(load_rules(&p, "[[rule]]\nname='x'\nclass='SC-2'\nrun='rm'\n", &mut s).is_err());
    }

    #[test]
    fn times() {
        assert_eq!(duration_ms("10m").unwrap(), 600_000);
        for bad in ["", "10", "m", "-1s", "1d", "99999999999999999999s"] {
            assert!(duration_ms(bad).is_err(), "{bad}");
        }
    }
}
