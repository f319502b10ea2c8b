//! The install that a step declares: run at most once, pinned, inside the project, with a limit.

use std::path::Path;

use pcbflow_core::evidence::program_name;
use pcbflow_core::manifest::StepDef;
use pcbflow_core::ports::{Recovery, Services, SpawnEnded, SpawnRequest, StepContext};

use crate::{prepare, words};

/// Deadline of an install, in milliseconds (10 min).
pub const INSTALL_MS_MAX: u64 = 600_000;
/// Waits before the tries after a broken download, in milliseconds.
pub const DOWNLOAD_WAITS_MS: &[u64] = &[1_000, 4_000, 16_000];
/// Note that an install ran: `done`, `download_broken` or `failed`.
pub const NOTE: &str = "process.install";

/// Words of package managers when a download broke.
const BROKEN_DOWNLOAD: &[&str] = &[
    "connection reset",
    "connection aborted",
    "connection broken",
    "connection refused",
    "read timed out",
    "readtimeout",
    "econnreset",
    "etimedout",
    "eai_again",
    "enotfound",
    "temporary failure in name resolution",
    "network is unreachable",
    "incompleteread",
    "tls handshake",
    "could not resolve host",
    "503 service unavailable",
    "502 bad gateway",
    "err_socket_timeout",
    "failed to establish a new connection",
];

/// Programs that install for the whole computer.
const SYSTEM_WIDE: &[&str] = &[
    "sudo", "doas", "su", "pkexec", "apt", "apt-get", "aptitude", "dpkg", "dnf", "yum", "rpm",
    "zypper", "pacman", "apk", "brew", "port", "snap", "flatpak", "choco", "winget", "scoop",
    "msiexec",
];

/// The declared install as a list: as written, or one string split by the quoting rules.
///
/// # Errors
/// Why there is none that may run, in words.
pub fn argv(step: &StepDef) -> Result<Vec<String>, String> {
    let argv = match step.install.as_slice() {
        [] => return Err("the step declares no install".to_owned()),
        [line] if line.contains(' ') => words::split(line).map_err(|e| e.to_string())?,
        list => list.to_vec(),
    };
    match fault(&argv) {
        Some(why) => Err(why.to_owned()),
        None => Ok(argv),
    }
}

/// Why an install would leave the project or is not pinned, if so.
fn fault(argv: &[String]) -> Option<&'static str> {
    let program = argv.first().map(|p| program_name(p))?;
    if program.is_empty() {
        return Some("the install names no program");
    }
    if SYSTEM_WIDE.contains(&program) {
        return Some("it would install for the whole computer, which only a person may do");
    }
    let has = |words: &[&str]| argv.iter().skip(1).any(|a| words.contains(&a.as_str()));
    if has(&["-g", "--global", "--user", "--break-system-packages", "--system"]) {
        return Some("it would install outside the project, which only a person may do");
    }
    let pip = program.starts_with("pip") || argv.windows(2).any(|w| w == ["-m", "pip"]);
    let npm = matches!(program, "npm" | "pnpm" | "yarn");
    let after = argv.iter().position(|a| matches!(a.as_str(), "install" | "add" | "i"))?;
    let names = package_names(argv.get(after + 1..)?);
    let from_file = has(&["-r", "--requirement", "-e", "--editable", "--find-links"]);
    let pinned = |name: &String| {
        name.contains("==") || name.contains(['/', '\\']) || name == "." || name.ends_with(".whl")
    };
    if pip && !from_file && !names.iter().copied().all(pinned) {
        return Some("it names a package without its version (==)");
    }
    let at = |name: &String| name.trim_start_matches('@').contains('@') || name.contains('/');
    if npm && !names.iter().copied().all(at) {
        return Some("it names a package without its version (@)");
    }
    None
}

/// The words that are neither options nor values of options.
fn package_names(words: &[String]) -> Vec<&String> {
    const WITH_VALUE: &[&str] = &[
        "-t",
        "--target",
        "--prefix",
        "-i",
        "--index-url",
        "--extra-index-url",
        "-c",
        "--constraint",
        "--cache-dir",
        "--registry",
    ];
    let mut names = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if WITH_VALUE.contains(&word.as_str()) {
            words.next();
        } else if !word.starts_with('-') {
            names.push(word);
        }
    }
    names
}

enum Ran {
    Done,
    BrokenDownload,
    Failed(String),
}

/// Runs the declared install, once in the life of the step's notes.
pub async fn once(context: &StepContext, services: &Services) -> Recovery {
    let argv = match argv(&context.step) {
        Ok(argv) => argv,
        Err(why) => return Recovery::not_applicable(&why),
    };
    if context.notes.contains_key(NOTE) {
        return Recovery::not_applicable("the declared install ran already");
    }
    report(&argv, run(context, services, &argv).await)
}

/// Runs it again after a broken download, with waits between.
pub async fn after_broken_download(context: &StepContext, services: &Services) -> Recovery {
    if context.notes.get(NOTE).map(String::as_str) != Some("download_broken") {
        return Recovery::not_applicable("no download broke");
    }
    let argv = match argv(&context.step) {
        Ok(argv) => argv,
        Err(why) => return Recovery::not_applicable(&why),
    };
    let mut last = Ran::BrokenDownload;
    for wait_ms in DOWNLOAD_WAITS_MS {
        let wake = services.clock.now().plus_ms(*wait_ms);
        tokio::select! {
            () = services.clock.sleep_until(wake) => {}
            () = services.cancel.cancelled() => return Recovery::failed("stopped"),
        }
        last = run(context, services, &argv).await;
        if !matches!(last, Ran::BrokenDownload) {
            break;
        }
    }
    report(&argv, last)
}

fn report(argv: &[String], ran: Ran) -> Recovery {
    let command = argv.join(" ");
    match ran {
        Ran::Done => Recovery::done(&format!("ran {command}")).note(NOTE, "done"),
        Ran::BrokenDownload => {
            Recovery::failed(&format!("a download broke: {command}")).note(NOTE, "download_broken")
        }
        Ran::Failed(why) => Recovery::failed(&format!("{command}: {why}")).note(NOTE, "failed"),
    }
}

async fn run(context: &StepContext, services: &Services, argv: &[String]) -> Ran {
    let mut env = prepare::own_variables(context);
    // Package managers then refuse to leave the project's own environment. A target folder is
    // such an environment, too.
    let has_target = argv.iter().any(|a| {
        matches!(a.as_str(), "-t" | "--target" | "--prefix") || a.starts_with("--target=")
    });
    if !has_target {
        env.insert("PIP_REQUIRE_VIRTUALENV".into(), "1".into());
    }
    env.insert("PIP_DISABLE_PIP_VERSION_CHECK".into(), "1".into());
    env.insert("PIP_NO_INPUT".into(), "1".into());
    services.progress.doing(&context.key, "installing what the step needs");
    let request = SpawnRequest {
        argv: argv.to_vec(),
        cwd: folder(context).to_owned(),
        env,
        deadline_ms: INSTALL_MS_MAX,
        tag: context.tag.clone(),
        ..SpawnRequest::default()
    };
    let result = services.spawn.run(request, &*services.cancel).await;
    match result.ended {
        SpawnEnded::Exited(0) => Ran::Done,
        SpawnEnded::Exited(status) => {
            let text = format!("{}\n{}", result.stderr.text, result.stdout.text).to_lowercase();
            if BROKEN_DOWNLOAD.iter().any(|w| text.contains(w)) {
                Ran::BrokenDownload
            } else {
                Ran::Failed(format!("status {status}"))
            }
        }
        ended => Ran::Failed(format!("{ended:?}")),
    }
}

fn folder(context: &StepContext) -> &Path {
    &context.root
}

#[cfg(test)]
mod tests {
    use super::fault;

    #[test]
    fn only_pinned_installs_inside_the_project() {
        let fault = |line: &str| fault(&line.split(' ').map(str::to_owned).collect::<Vec<_>>());
        for fine in [
            ".venv/bin/pip install -r requirements.txt",
            "python3 -m pip install --target lib x==1.0",
            "npm ci",
            "npm install",
            "npm install left-pad@1.3.0",
            "./setup.sh",
            "uv sync --frozen",
        ] {
            assert_eq!(fault(fine), None, "{fine}");
        }
        for bad in [
            "sudo ./setup.sh",
            "apt-get install x",
            "npm install -g x@1",
            "npm install left-pad",
            "pip install --user -r r.txt",
            "python3 -m pip install numpy",
        ] {
            assert!(fault(bad).is_some(), "{bad}");
        }
    }
}
