//! What the history says was committed: by the trailers of pcbflow's commits.

use pcbflow_core::ids::{BoardName, Digest, LedgerId, PhaseId, Seq};

use super::{Git, Wanted};

/// Trailer with the board.
pub(super) const BOARD: &str = "Pcbflow-Board";
/// Trailer with the phase.
pub(super) const PHASE: &str = "Pcbflow-Phase";
/// Trailer with the run.
pub(super) const RUN: &str = "Pcbflow-Run";
/// Trailer with the ledger, the board, the position and the hash of the record's head.
pub(super) const LEDGER: &str = "Pcbflow-Ledger";

/// Most commits that are looked at.
pub const HISTORY_LOOK_MAX: usize = 2_000;

/// A head of a ledger as a commit holds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Anchor {
    /// The ledger.
    pub ledger: LedgerId,
    /// The board.
    pub board: BoardName,
    /// The position.
    pub seq: Seq,
    /// The hash.
    pub hash: Digest,
}

impl Anchor {
    /// Reads `<ledger-id>:<board>:<seq>:<hash>`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Anchor> {
        let (ledger, rest) = text.trim().split_once(':')?;
        let (rest, hash) = rest.rsplit_once(':')?;
        let (board, seq) = rest.rsplit_once(':')?;
        Some(Anchor {
            ledger: LedgerId::new(ledger).ok()?,
            board: BoardName::new(board).ok()?,
            seq: Seq(seq.parse().ok()?),
            hash: hash.parse().ok()?,
        })
    }
}

impl std::fmt::Display for Anchor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}:{}:{}", self.ledger, self.board, self.seq, self.hash)
    }
}

/// A commit of pcbflow's. One that joins several (a squash) has several of each.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CommitInfo {
    /// Its id.
    pub commit: String,
    /// When it was made, in seconds since 1970.
    pub at_s: i64,
    /// Its runs.
    pub runs: Vec<String>,
    /// Its boards.
    pub boards: Vec<String>,
    /// Its phases.
    pub phases: Vec<String>,
    /// Its heads of ledgers.
    pub anchors: Vec<Anchor>,
}

impl CommitInfo {
    /// Whether it is a commit of this phase of this board.
    #[must_use]
    pub fn is_of(&self, board: &BoardName, phase: &PhaseId) -> bool {
        self.boards.iter().any(|b| b == board.as_str())
            && self.phases.iter().any(|p| p == phase.as_str())
    }
}

/// The message of a commit, trailers included.
pub(super) fn message(w: &Wanted) -> String {
    let count = w.outputs.len();
    let files = if count == 1 { "file" } else { "files" };
    let mut text = format!(
        "{}: outputs of {}\n\n{count} {files} and the state of the board.\n\n",
        w.board, w.phase
    );
    text.push_str(&format!("{BOARD}: {}\n{PHASE}: {}\n{RUN}: {}\n", w.board, w.phase, w.run));
    if let Some(anchor) = &w.anchor {
        text.push_str(&format!("{LEDGER}: {anchor}\n"));
    }
    text
}

/// pcbflow's commits, newest first. One call of git.
pub(super) async fn commits(git: &Git<'_>, paths: &[&str]) -> Option<Vec<CommitInfo>> {
    let most = format!("--max-count={HISTORY_LOOK_MAX}");
    let grep = format!("--grep=^{PHASE}: ");
    let mut args = vec![
        "--literal-pathspecs",
        "-c",
        "trailer.separators=:",
        "-c",
        "core.commentChar=#",
        "log",
        // The person's settings may give patterns another meaning.
        "--basic-regexp",
        &most,
        &grep,
        "--no-show-signature",
        "--no-notes",
        "--no-color",
        "--format=commit %H %ct%n%(trailers:only=true,unfold=true)",
        "HEAD",
        "--",
    ];
    args.extend(paths);
    let out = git.run(&args).await;
    out.ok().then(|| parse(&out.stdout))
}

fn parse(text: &str) -> Vec<CommitInfo> {
    let mut list: Vec<CommitInfo> = Vec::new();
    for line in text.lines() {
        if let Some((commit, at_s)) = header(line) {
            list.push(CommitInfo { commit, at_s, ..CommitInfo::default() });
            continue;
        }
        let (Some(info), Some((key, value))) = (list.last_mut(), line.split_once(':')) else {
            continue;
        };
        let value = value.trim().to_owned();
        match key {
            RUN => info.runs.push(value),
            BOARD => info.boards.push(value),
            PHASE => info.phases.push(value),
            LEDGER => info.anchors.extend(Anchor::parse(&value)),
            _ => {}
        }
    }
    list
}

fn header(line: &str) -> Option<(String, i64)> {
    let (id, at) = line.strip_prefix("commit ")?.split_once(' ')?;
    super::place::is_id(id).then(|| Some((id.to_owned(), at.parse().ok()?)))?
}

/// The newest commit of a phase, if the history has one.
pub async fn committed(git: &Git<'_>, board: &BoardName, phase: &PhaseId) -> Option<CommitInfo> {
    commits(git, &[]).await?.into_iter().find(|c| c.is_of(board, phase))
}

/// The newest head of a ledger that the history holds for a board.
pub async fn anchor(git: &Git<'_>, board: &BoardName) -> Option<Anchor> {
    commits(git, &[]).await?.into_iter().flat_map(|c| c.anchors).find(|a| a.board == *board)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trailers_are_read() {
        let id = "a".repeat(40);
        let hash = Digest::of(b"x");
        let text = format!(
            "commit {id} 12\nSigned-off-by: A <a@b>\nPcbflow-Board: tür\nPcbflow-Phase: 05-x\nPcbflow-Run: r1\nPcbflow-Ledger: l-1:tür:7:{hash}\n\ncommit short 1\nPcbflow-Ledger: broken\n"
        );
        let list = parse(&text);
        assert_eq!(list.len(), 1);
        let board = BoardName::new("tür").unwrap();
        assert!(list[0].is_of(&board, &PhaseId::new("05-x").unwrap()));
        assert!(!list[0].is_of(&board, &PhaseId::new("06-x").unwrap()));
        assert_eq!(list[0].anchors[0].seq, Seq(7));
        assert_eq!(list[0].anchors[0].to_string(), format!("l-1:tür:7:{hash}"));
    }
}
