//! Publishing: the current branch to its remote. Never forced; the safety class `publish` keeps
//! it behind a person's recorded go-ahead.

use std::collections::BTreeMap;
use std::net::{TcpStream, ToSocketAddrs as _};
use std::time::Duration;

use pcbflow_core::evidence::{Evidence, Signal, Source};
use pcbflow_core::ports::{Services, StepContext};

use super::place::Repo;
use super::{Git, Out, evidence, facts};
use crate::signals;

/// The kind that publishes.
pub const KIND_PUSH: &str = "checkpoint/push";
/// Longest wait for a host to answer, in milliseconds.
const CONNECT_MS_MAX: u64 = 5_000;

/// The same git with its connections kept from asking anything.
pub(super) async fn networked(git: Git<'_>) -> Git<'_> {
    let out = git.run(&["config", "--get", "core.sshCommand"]).await;
    let ssh = if out.ok() && !out.word().is_empty() { out.word() } else { "ssh" };
    let ssh = format!("{ssh} -oBatchMode=yes");
    git.with_env("GIT_SSH_COMMAND", &ssh)
}

/// The remote that a branch belongs to.
pub(super) async fn remote_of(git: &Git<'_>, branch: &str) -> String {
    let name = branch.strip_prefix("refs/heads/").unwrap_or(branch);
    let out = git.run(&["config", "--get", &format!("branch.{name}.remote")]).await;
    if out.ok() && !out.word().is_empty() { out.word().to_owned() } else { "origin".to_owned() }
}

/// Pushes the current branch. Returns the commit that the remote has now.
///
/// # Errors
/// Evidence by facts: rejected flag, probe of the host, missing sign-in.
pub async fn push(services: &Services, context: &StepContext) -> Result<String, Box<Evidence>> {
    let repo =
        Repo::locate(&context.board_dir).map_err(|f| Box::new(facts::no_place(KIND_PUSH, &f)))?;
    let git = networked(Git::new(services, &repo.top, &context.tag)).await;
    let git = git.within(context.deadline_ms);
    let head = repo.head().and_then(|h| h.branch.zip(h.commit));
    let Some((branch, commit)) = head else {
        let mut found = Evidence::new(KIND_PUSH, "git");
        let text = "the head is on no branch with commits";
        found.push(Signal::new(Source::Report, signals::NO_REPOSITORY).text(text));
        return Err(Box::new(found));
    };
    let remote = match context.step.arg_str("remote") {
        Some(remote) => remote.to_owned(),
        None => remote_of(&git, &branch).await,
    };
    let spec = format!("{branch}:{branch}");
    let out = git.run(&["push", "--porcelain", "--", &remote, &spec]).await;
    if out.ok() {
        return Ok(commit);
    }
    Err(Box::new(refused(&git, &repo, &remote, &out).await))
}

async fn refused(git: &Git<'_>, repo: &Repo, remote: &str, out: &Out) -> Evidence {
    let mut found = evidence(KIND_PUSH, out, git.deadline_ms);
    // Machine-readable lines: flag, references, summary.
    let rejected = out.stdout.lines().find(|l| l.starts_with("!\t"));
    if let Some(line) = rejected {
        let refused = line.contains("[remote rejected]");
        let code = if refused { signals::CONTENT_REFUSED } else { signals::PUSH_REJECTED };
        found.push(Signal::new(Source::Report, code).text(line));
        return found;
    }
    let url = git.run(&["remote", "get-url", "--push", "--", remote]).await;
    let url = if url.ok() { url.word().to_owned() } else { remote.to_owned() };
    match host_of(&url) {
        Some((host, port)) if !answers(&host, port).await => {
            found.push(Signal::new(Source::Own, signals::HOST_UNREACHABLE).text(&host));
            found.push(Signal::new(Source::Report, signals::REMOTE_NOT_REACHED).text(&host));
        }
        Some((host, _)) => {
            // The host answers, and with prompts off nothing else keeps a push from being heard.
            let asked = out.status() == Some(128) && !credential(git, &url).await;
            let code =
                if asked { signals::CREDENTIAL_MISSING } else { signals::CREDENTIAL_REFUSED };
            if out.status() == Some(128) {
                found.push(Signal::new(Source::Report, code).text(&host));
            }
        }
        None => {
            for signal in facts::storage(&[&repo.git_dir]) {
                found.push(signal);
            }
            found.push(Signal::new(Source::Report, signals::REMOTE_NOT_REACHED).text(remote));
        }
    }
    found
}

/// Whether a credential helper has something for the address. Asks nobody.
async fn credential(git: &Git<'_>, url: &str) -> bool {
    if !url.starts_with("http") {
        return false;
    }
    let stdin = format!("url={url}\n\n").into_bytes();
    git.feed(&["credential", "fill"], Some(stdin)).await.ok()
}

/// Host and port of a remote's address; `None` for a folder.
fn host_of(url: &str) -> Option<(String, u16)> {
    let ports: BTreeMap<&str, u16> =
        [("https", 443), ("http", 80), ("ssh", 22), ("git", 9418)].into_iter().collect();
    if let Some((scheme, rest)) = url.split_once("://") {
        let port = *ports.get(scheme)?;
        let place = rest.split('/').next()?.rsplit('@').next()?;
        return match place.rsplit_once(':') {
            Some((host, number)) if !host.is_empty() && !number.contains(']') => {
                Some((host.trim_matches(['[', ']']).to_owned(), number.parse().ok()?))
            }
            _ => Some((place.trim_matches(['[', ']']).to_owned(), port)),
        };
    }
    // user@host:path
    let (place, path) = url.split_once(':')?;
    if place.contains('/') || place.len() < 2 || path.starts_with('\\') {
        return None;
    }
    Some((place.rsplit('@').next()?.to_owned(), 22))
}

async fn answers(host: &str, port: u16) -> bool {
    let place = (host.to_owned(), port);
    let (send, receive) = std::sync::mpsc::channel();
    // Resolving a name can block for long, so it has a thread of its own; the wait is bounded.
    std::thread::spawn(move || {
        let wait = Duration::from_millis(CONNECT_MS_MAX);
        let found = place
            .to_socket_addrs()
            .is_ok_and(|mut all| all.any(|a| TcpStream::connect_timeout(&a, wait).is_ok()));
        send.send(found).ok();
    });
    receive.recv_timeout(Duration::from_millis(CONNECT_MS_MAX * 2)).unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts() {
        let of = |url: &str| host_of(url).map(|(h, p)| format!("{h} {p}"));
        assert_eq!(of("https://github.com/a/b.git").unwrap(), "github.com 443");
        assert_eq!(of("http://u:p@127.0.0.1:8123/x").unwrap(), "127.0.0.1 8123");
        assert_eq!(of("ssh://git@host/x").unwrap(), "host 22");
        assert_eq!(of("git@github.com:a/b.git").unwrap(), "github.com 22");
        assert_eq!(of("https://[::1]:81/x").unwrap(), "::1 81");
        assert_eq!(of("https://[::1]/x").unwrap(), "::1 443");
        for folder in ["/a/b", "../x", "C:\\x", "file:///x"] {
            assert_eq!(host_of(folder), None, "{folder}");
        }
    }
}
