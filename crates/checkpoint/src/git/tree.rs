//! What git would store and what it holds: ids of files and commits, and the two indexes.

use std::path::Path;

use super::commit::{Entry, Stop, Work, failed, of_signal, unverified};
use super::lock::IndexLock;
use super::place::is_id;
use super::{Git, KIND_COMMIT, facts};

impl Work<'_> {
    /// All files of the commit, with the modes that they should have.
    pub(super) async fn entries(&self) -> Result<Vec<Entry>, Stop> {
        let out = self.git.run(&["config", "--type=bool", "--get", "core.fileMode"]).await;
        let modes = out.word() != "false";
        let paths = self.paths()?;
        Ok(paths
            .into_iter()
            .map(|path| {
                let executable = modes && is_executable(&self.repo.top.join(&path));
                Entry { path, mode: if executable { "100755" } else { "100644" } }
            })
            .collect())
    }

    /// Ids of the files as git would store them, filters included. With `store`, they are stored.
    pub(super) async fn objects(
        &self,
        entries: &[Entry],
        store: bool,
    ) -> Result<Vec<String>, Stop> {
        let list: Vec<String> = entries.iter().map(|e| unquoted(&e.path)).collect();
        let mut args = vec!["hash-object", "--stdin-paths"];
        if store {
            args.insert(1, "-w");
        }
        let out = self.git.feed(&args, Some(lines(&list))).await;
        let ids: Vec<String> = out.stdout.lines().map(str::to_owned).collect();
        if out.ok() && ids.len() == entries.len() && ids.iter().all(|i| is_id(i)) {
            return Ok(ids);
        }
        Err(failed(facts::why(&self.git, &self.repo, KIND_COMMIT, &out).await))
    }

    /// Ids that a commit holds at the paths; empty where it has nothing.
    pub(super) async fn ids_in(
        &self,
        commit: &str,
        entries: &[Entry],
    ) -> Result<Vec<String>, Stop> {
        let list: Vec<String> = entries.iter().map(|e| format!("{commit}:{}", e.path)).collect();
        let args = ["cat-file", "--batch-check=%(objectname)"];
        let out = self.git.feed(&args, Some(lines(&list))).await;
        let ids: Vec<String> = out
            .stdout
            .lines()
            .map(|l| if is_id(l) { l.to_owned() } else { String::new() })
            .collect();
        if out.ok() && ids.len() == entries.len() {
            return Ok(ids);
        }
        Err(failed(facts::why(&self.git, &self.repo, KIND_COMMIT, &out).await))
    }

    pub(super) async fn same_as_head(
        &self,
        entries: &[Entry],
        ids: &[String],
    ) -> Result<bool, Stop> {
        match self.head.as_ref().and_then(|h| h.commit.as_deref()) {
            Some(head) => Ok(self.ids_in(head, entries).await? == ids),
            None => Ok(false),
        }
    }

    /// Whether the head has something at every path.
    pub(super) async fn head_has(&self, entries: &[Entry]) -> Result<bool, Stop> {
        match self.head.as_ref().and_then(|h| h.commit.as_deref()) {
            Some(head) => Ok(self.ids_in(head, entries).await?.iter().all(|id| !id.is_empty())),
            None => Ok(false),
        }
    }

    /// The newest commit that touched the paths.
    pub(super) async fn existing(&self, entries: &[Entry]) -> Result<String, Stop> {
        let mut args = vec!["--literal-pathspecs", "log", "-1", "--format=%H", "HEAD", "--"];
        args.extend(entries.iter().map(|e| e.path.as_str()));
        let out = self.git.run(&args).await;
        match out.word() {
            id if out.ok() && is_id(id) => Ok(id.to_owned()),
            _ => Err(failed(facts::why(&self.git, &self.repo, KIND_COMMIT, &out).await)),
        }
    }

    /// Puts the entries into the index that `git` works on.
    pub(super) async fn put(
        &self,
        git: &Git<'_>,
        entries: &[Entry],
        ids: &[String],
    ) -> Result<(), Stop> {
        let mut stdin = Vec::new();
        for (entry, id) in entries.iter().zip(ids) {
            stdin.extend_from_slice(format!("{} {id} 0\t{}\0", entry.mode, entry.path).as_bytes());
        }
        let args = ["update-index", "--add", "--replace", "-z", "--index-info"];
        let out = git.feed(&args, Some(stdin)).await;
        self.fine(&out).await
    }

    /// Gives the person's index the committed entries; everything else in it stays.
    pub(super) async fn sync(
        &self,
        lock: &IndexLock,
        entries: &[Entry],
        ids: &[String],
    ) -> Result<(), Stop> {
        let index = self.wanted.scratch.join("person-index");
        std::fs::remove_file(&index).ok();
        let there = std::fs::copy(self.repo.git_dir.join("index"), &index).is_ok();
        let git = self.git.clone().with_index(&index);
        if there && self.index_has(&git, entries, ids).await {
            return Ok(());
        }
        self.put(&git, entries, ids).await?;
        // Only fills in file times; files that differ are the person's business.
        git.run(&["update-index", "-q", "--refresh"]).await;
        lock.replace_index(&index).map_err(|e| {
            let signal = facts::storage_signal(&self.repo.git_dir, &e);
            let reason = format!("the index can't be written: {e}");
            signal.map_or_else(|| unverified(&reason), of_signal)
        })
    }

    pub(super) async fn index_has(&self, git: &Git<'_>, entries: &[Entry], ids: &[String]) -> bool {
        let list: Vec<String> = entries.iter().map(|e| format!(":{}", e.path)).collect();
        let args = ["cat-file", "--batch-check=%(objectname)"];
        let out = git.feed(&args, Some(lines(&list))).await;
        out.ok() && out.stdout.lines().eq(ids.iter().map(String::as_str))
    }
}

/// A path for `--stdin-paths`, which takes a quotation mark at the start as quoting.
fn unquoted(path: &str) -> String {
    if path.starts_with('"') { format!("./{path}") } else { path.to_owned() }
}

fn lines(list: &[String]) -> Vec<u8> {
    let mut text = list.join("\n");
    text.push('\n');
    text.into_bytes()
}

#[cfg(unix)]
fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::metadata(path).is_ok_and(|m| m.permissions().mode() & 0o100 != 0)
}

#[cfg(not(unix))]
fn is_executable(_path: &Path) -> bool {
    false
}
