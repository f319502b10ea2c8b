//! Declared packages against installed ones: the lock list of the project and what a fresh
//! process of the interpreter sees.

use std::collections::BTreeMap;
use std::path::Path;

use pcbflow_core::evidence::{Signal, Source, codes};
use pcbflow_core::ports::{Services, SpawnEnded, SpawnRequest, StepContext};
use serde_json::Value;

use crate::confine::confined;
use crate::spec::CommandSpec;
use crate::{prepare, signals};

/// Longest time for listing what is installed, in milliseconds.
const LIST_MS_MAX: u64 = 60_000;
/// Largest lock list, in bytes.
const LOCK_BYTES_MAX: u64 = 32 * 1024 * 1024;
/// Most missing packages that are named.
const NAMED_MAX: usize = 20;

/// Prints `name==version` of everything that the interpreter can import.
const LIST: &str = "import importlib.metadata as m\n\
    for d in m.distributions():\n print(d.metadata['Name'] + '==' + d.version)";

/// What is declared and not installed, as signals.
pub async fn missing(
    spec: &CommandSpec,
    context: &StepContext,
    services: &Services,
) -> Vec<Signal> {
    if let Some(folder) = &spec.requires.environment {
        let there = confined(&context.root, folder).is_ok_and(|f| f.is_dir());
        if !there {
            return vec![Signal::new(Source::File, signals::ENVIRONMENT_MISSING).text(folder)];
        }
    }
    let Some(lock) = &spec.requires.lock else { return Vec::new() };
    match compare(lock, spec, context, services).await {
        Ok(missing) => missing
            .into_iter()
            .take(NAMED_MAX)
            .map(|name| Signal::new(Source::Own, codes::DEPENDENCY_MISSING).text(&name))
            .collect(),
        // A list that can't be read proves nothing; the step itself will tell.
        Err(why) => {
            tracing::info!(why, "declared packages can't be compared");
            Vec::new()
        }
    }
}

/// Packages of the lock list that are not installed in their version.
///
/// # Errors
/// Why the two lists can't be compared.
pub async fn compare(
    lock: &str,
    spec: &CommandSpec,
    context: &StepContext,
    services: &Services,
) -> Result<Vec<String>, String> {
    let file = confined(&context.root, lock).map_err(|e| e.to_string())?;
    let text = read(&file)?;
    let (wanted, installed) = if lock.ends_with(".json") {
        let folder = file.parent().unwrap_or(&context.root);
        let have = read(&folder.join("node_modules/.package-lock.json"));
        (of_npm(&text)?, have.and_then(|t| of_npm(&t)).unwrap_or_default())
    } else {
        (of_pip(&text), installed_python(spec, context, services).await?)
    };
    let lacks = |(name, version): (&String, &String)| {
        (installed.get(name) != Some(version)).then(|| format!("{name} {version}"))
    };
    Ok(wanted.iter().filter_map(lacks).collect())
}

fn read(file: &Path) -> Result<String, String> {
    let fault = |e: std::io::Error| format!("{}: {e}", file.display());
    if file.metadata().map_err(fault)?.len() > LOCK_BYTES_MAX {
        return Err(format!("{} is too large", file.display()));
    }
    std::fs::read_to_string(file).map_err(fault)
}

/// `name==version` lines; everything else of the format is passed over.
fn of_pip(text: &str) -> BTreeMap<String, String> {
    text.lines()
        .filter_map(|line| {
            let line = line.split(['#', ';', '\\']).next()?.trim();
            let (name, version) = line.split_once("==")?;
            let name = name.split('[').next()?.trim().to_ascii_lowercase().replace(['_', '.'], "-");
            let version = version.split_whitespace().next()?;
            (!name.is_empty()).then(|| (name, version.to_owned()))
        })
        .collect()
}

/// Folder and version of every package of a package-lock file that is not optional.
fn of_npm(text: &str) -> Result<BTreeMap<String, String>, String> {
    let value: Value = serde_json::from_str(text).map_err(|e| e.to_string())?;
    let packages = value.get("packages").and_then(Value::as_object).ok_or("no packages")?;
    let entry = |(path, entry): (&String, &Value)| {
        let optional = ["optional", "devOptional", "link"]
            .iter()
            .any(|k| entry.get(k).and_then(Value::as_bool) == Some(true));
        let version = entry.get("version")?.as_str()?.to_owned();
        (!path.is_empty() && !optional).then(|| (path.clone(), version))
    };
    Ok(packages.iter().filter_map(entry).collect())
}

async fn installed_python(
    spec: &CommandSpec,
    context: &StepContext,
    services: &Services,
) -> Result<BTreeMap<String, String>, String> {
    let python = python_of(spec, context);
    let request = SpawnRequest {
        argv: vec![python, "-c".into(), LIST.into()],
        cwd: context.root.clone(),
        env: prepare::own_variables(context),
        deadline_ms: LIST_MS_MAX,
        tag: context.tag.clone(),
        ..SpawnRequest::default()
    };
    let result = services.spawn.run(request, &*services.cancel).await;
    if result.ended != SpawnEnded::Exited(0) {
        return Err(format!("listing the installed packages ended with {:?}", result.ended));
    }
    // Long lists are cut in the text; the stored stream is whole.
    let whole = result.stdout.blob.as_ref().and_then(|b| services.blobs.get(&b.digest).ok());
    let text = whole.map_or(result.stdout.text, |b| String::from_utf8_lossy(&b).into_owned());
    Ok(of_pip(&text))
}

/// The interpreter whose packages count: that of the declared environment, that of the step, or
/// the one on the search path.
pub fn python_of(spec: &CommandSpec, context: &StepContext) -> String {
    let inside = if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" };
    let own = spec
        .requires
        .environment
        .as_ref()
        .map(|folder| context.root.join(folder).join(inside))
        .filter(|p| p.is_file());
    if let Some(own) = own {
        return own.to_string_lossy().into_owned();
    }
    let first = prepare::argv(spec, context).ok().and_then(|a| a.into_iter().next());
    first
        .filter(|p| pcbflow_core::evidence::program_name(p).starts_with("python"))
        .unwrap_or_else(|| "python3".to_owned())
}

#[cfg(test)]
mod tests {
    use super::{of_npm, of_pip};

    #[test]
    fn lock_lists() {
        let pip = of_pip(
            "# x\nFoo_Bar==1.2 ; python_version > '3'\nbaz[extra]==2.0 \\\n --hash=x\n-r o\n",
        );
        assert_eq!(pip["foo-bar"], "1.2");
        assert_eq!(pip["baz"], "2.0");
        assert_eq!(pip.len(), 2);
        let npm = of_npm(
            r#"{"packages":{"":{"name":"x"},"node_modules/a":{"version":"1.0.0"},
               "node_modules/b":{"version":"2.0.0","optional":true}}}"#,
        );
        assert_eq!(
            npm.unwrap().into_iter().collect::<Vec<_>>(),
            [("node_modules/a".into(), "1.0.0".into())]
        );
        assert!(of_npm("{}").is_err());
    }
}
