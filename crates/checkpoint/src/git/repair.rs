//! Actions of ladders on the repository. None judges its own success.

use std::path::{Path, PathBuf};

use pcbflow_core::ports::{Recovery, Services};

use super::Git;
use super::place::{PlaceFault, Repo, is_id};

/// Deadline of a fetch or clone, in milliseconds.
const FETCH_MS: u64 = 240_000;
/// Files that are never merged by text.
const DESIGN_FILES: [&str; 8] = [
    ".kicad_pcb",
    ".kicad_sch",
    ".kicad_pro",
    ".kicad_mod",
    ".kicad_sym",
    ".kicad_dru",
    ".epro",
    ".epro2",
];

/// Why a repository was not made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InitError {
    /// There is one already.
    #[error("there is a history at {path} already")]
    Exists {
        /// Where.
        path: PathBuf,
    },
    /// Something is there that is in the way.
    #[error(transparent)]
    InTheWay(#[from] PlaceFault),
    /// Git refused.
    #[error("git can't make a history in {path}")]
    Refused {
        /// Where.
        path: PathBuf,
        /// Its words.
        words: String,
    },
}

/// Makes a repository in a folder, on request only. Never sets an identity.
///
/// # Errors
/// There is one already, or git refused.
pub async fn init_repository(
    services: &Services,
    tag: &str,
    folder: &Path,
) -> Result<Repo, InitError> {
    match Repo::locate(folder) {
        Ok(repo) => return Err(InitError::Exists { path: repo.top }),
        Err(PlaceFault::None { .. }) => {}
        Err(other) => return Err(other.into()),
    }
    let out = Git::new(services, folder, tag).run(&["init", "-q"]).await;
    if !out.ok() {
        return Err(InitError::Refused { path: folder.to_owned(), words: out.stderr });
    }
    Ok(Repo::locate(folder)?)
}

/// Fetches, and fast-forwards the branch when the tree is clean and no own commit is in the way.
pub async fn fast_forward(services: &Services, tag: &str, board_dir: &Path) -> Recovery {
    let repo = match Repo::locate(board_dir) {
        Ok(repo) => repo,
        Err(fault) => return Recovery::not_applicable(&fault.to_string()),
    };
    if let Some(words) = repo.under_way() {
        return Recovery::not_applicable(&format!("{words}: that is for its owner to finish"));
    }
    let git = super::push::networked(Git::new(services, &repo.top, tag)).await.within(FETCH_MS);
    if !git.run(&["rev-parse", "--verify", "-q", "@{upstream}"]).await.ok() {
        return Recovery::not_applicable("the branch has no upstream");
    }
    if !git.run(&["fetch", "-q"]).await.ok() {
        return Recovery::failed("the fetch failed");
    }
    let clean = git.run(&["status", "--porcelain", "--untracked-files=no"]).await;
    if !clean.ok() || !clean.word().is_empty() {
        return Recovery::not_applicable("the working folder has changes");
    }
    if !git.run(&["merge-base", "--is-ancestor", "HEAD", "@{upstream}"]).await.ok() {
        return Recovery::not_applicable("both sides have commits of their own");
    }
    let out = git.run(&["merge", "--ff-only", "-q", "@{upstream}"]).await;
    if out.ok() {
        Recovery::done("fetched, and moved the branch forward")
    } else {
        Recovery::failed("the branch could not be moved forward")
    }
}

/// Merges text files without touching the working folder, then takes the merge. Not possible
/// when a design file was changed on both sides.
pub async fn merge_text(services: &Services, tag: &str, board_dir: &Path) -> Recovery {
    let repo = match Repo::locate(board_dir) {
        Ok(repo) => repo,
        Err(fault) => return Recovery::not_applicable(&fault.to_string()),
    };
    if let Some(words) = repo.under_way() {
        return Recovery::not_applicable(&format!("{words}: that is for its owner to finish"));
    }
    let git = Git::new(services, &repo.top, tag).within(FETCH_MS);
    let ours = git.run(&["rev-parse", "--verify", "-q", "HEAD"]).await;
    let theirs = git.run(&["rev-parse", "--verify", "-q", "@{upstream}"]).await;
    let base = git.run(&["merge-base", "HEAD", "@{upstream}"]).await;
    if !ours.ok() || !theirs.ok() || !base.ok() {
        return Recovery::not_applicable("there are no two sides with a common start");
    }
    let changed = async |side: &str| {
        let out = git.run(&["diff", "--name-only", base.word(), side]).await;
        out.stdout.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let (mine, other) = (changed(ours.word()).await, changed(theirs.word()).await);
    let is_design = |p: &&String| DESIGN_FILES.iter().any(|e| p.ends_with(e));
    if let Some(path) = mine.iter().filter(|p| other.contains(p)).find(is_design) {
        return Recovery::not_applicable(&format!("{path} was changed on both sides"));
    }
    let merged = git.run(&["merge-tree", "--write-tree", ours.word(), theirs.word()]).await;
    let tree = merged.stdout.lines().next().unwrap_or_default().to_owned();
    if !merged.ok() || !is_id(&tree) {
        return Recovery::not_applicable("the texts do not fit together by themselves");
    }
    let args =
        ["commit-tree", "-p", ours.word(), "-p", theirs.word(), "-m", "Join both versions", &tree];
    let commit = git.run(&args).await;
    if !commit.ok() {
        return Recovery::failed("the merge could not be made");
    }
    // Moves forward only, and only if no changed file of the person's is in the way.
    let taken = git.run(&["merge", "--ff-only", "-q", commit.word()]).await;
    if taken.ok() {
        Recovery::done("joined both versions; what they touch is checked again")
            .note("merged", commit.word())
    } else {
        Recovery::failed("the merge could not be taken over")
    }
}

/// Fetches the history from its remote into a copy, proves the copy, and adds its objects to the
/// damaged history. Nothing there is changed or removed, save that damaged objects which the
/// copy has whole are moved into `aside`.
pub async fn fetch_into_copy(
    services: &Services,
    tag: &str,
    board_dir: &Path,
    aside: &Path,
) -> Recovery {
    let repo = match Repo::locate(board_dir) {
        Ok(repo) => repo,
        Err(fault) => return Recovery::not_applicable(&fault.to_string()),
    };
    let git = super::push::networked(Git::new(services, &repo.top, tag)).await.within(FETCH_MS);
    let url = git.run(&["remote", "get-url", "origin"]).await;
    if !url.ok() {
        return Recovery::not_applicable("there is no remote to fetch from");
    }
    if let Err(e) = std::fs::create_dir_all(aside) {
        return Recovery::failed(&format!("no place for the copy: {e}"));
    }
    let Ok(copy) = tempfile::Builder::new().prefix("history-").tempdir_in(aside) else {
        return Recovery::failed("no place for the copy");
    };
    let to = copy.path().display().to_string();
    // By name, not by its printed address: what is printed may have been redacted.
    let steps: [&[&str]; 2] =
        [&["init", "-q", "--bare", &to], &["config", "--get", "remote.origin.url"]];
    for args in steps {
        if !git.run(args).await.ok() {
            return Recovery::failed("the copy could not be made");
        }
    }
    let cloned = clone_objects(&git, &repo, copy.path()).await;
    let there = Git::new(services, copy.path(), tag).within(FETCH_MS);
    if !cloned || !there.run(&["fsck", "--no-progress", "--no-dangling"]).await.ok() {
        return Recovery::failed("the remote has no whole copy either");
    }
    match take_over(&repo, copy.path(), aside, &there).await {
        Ok((added, moved)) => Recovery::done(&format!(
            "fetched a whole copy: {added} packs added, {moved} damaged objects moved aside"
        )),
        Err(e) => Recovery::failed(&format!("the fetched objects could not be added: {e}")),
    }
}

/// Fetches all branches of `origin` into the bare repository `copy`.
async fn clone_objects(git: &Git<'_>, repo: &Repo, copy: &Path) -> bool {
    // The remote's settings are read by git itself from a copy of the person's.
    let config = repo.common_dir.join("config");
    let Ok(text) = std::fs::read_to_string(&config) else { return false };
    let remote: String = section(&text, "[remote \"origin\"]");
    let own = copy.join("config");
    let Ok(mut mine) = std::fs::read_to_string(&own) else { return false };
    mine.push_str(&absolute_urls(&remote, &repo.top));
    if std::fs::write(&own, mine).is_err() {
        return false;
    }
    let dir = format!("--git-dir={}", copy.display());
    let spec = "+refs/heads/*:refs/heads/*";
    git.run(&[&dir, "-c", "fetch.unpackLimit=1", "fetch", "-q", "--no-auto-gc", "origin", spec])
        .await
        .ok()
}

/// The lines of a section of git's settings, its heading included.
fn section(text: &str, heading: &str) -> String {
    let mut out = String::new();
    let mut inside = false;
    for line in text.lines() {
        if line.trim_start().starts_with('[') {
            inside = line.trim() == heading;
        }
        if inside {
            out.push_str(line);
            out.push('\n');
        }
    }
    out
}

/// A remote that is a relative folder means another one when seen from the copy.
fn absolute_urls(section: &str, top: &Path) -> String {
    let mut out = String::new();
    for line in section.lines() {
        match line.split_once('=').map(|(k, v)| (k.trim(), v.trim())) {
            Some(("url", url)) if url.starts_with('.') => {
                out.push_str(&format!("\turl = {}\n", top.join(url).display()));
            }
            _ => {
                out.push_str(line);
                out.push('\n');
            }
        }
    }
    out
}

/// Adds the copy's packs to the damaged history and moves its damaged loose objects aside.
async fn take_over(
    repo: &Repo,
    copy: &Path,
    aside: &Path,
    there: &Git<'_>,
) -> Result<(usize, usize), std::io::Error> {
    let objects = repo.common_dir.join("objects");
    let ours = objects.join("pack");
    std::fs::create_dir_all(&ours)?;
    let mut packs: Vec<PathBuf> = std::fs::read_dir(copy.join("objects/pack"))?
        .filter_map(|e| Some(e.ok()?.path()))
        .collect();
    // The index of a pack last: git sees the pack only with it.
    packs.sort_by_key(|p| p.extension().is_some_and(|e| e == "idx"));
    let mut added = 0;
    for pack in packs {
        let Some(name) = pack.file_name() else { continue };
        let to = ours.join(name);
        if !to.exists() {
            std::fs::copy(&pack, &to)?;
            added += usize::from(to.extension().is_some_and(|e| e == "pack"));
        }
    }
    let mut moved = 0;
    let mut suspects = damaged(&objects)?;
    suspects.extend(named_by_fsck(repo, there, &objects).await);
    suspects.sort();
    suspects.dedup();
    for (id, path) in suspects {
        if there.run(&["cat-file", "-e", &id]).await.ok() {
            let to = aside.join("damaged-objects");
            std::fs::create_dir_all(&to)?;
            std::fs::copy(&path, to.join(&id))?;
            std::fs::remove_file(&path)?;
            moved += 1;
        }
    }
    Ok((added, moved))
}

/// Loose objects whose ids the integrity check names. Moving a whole one aside does no harm: only
/// those go that the copy has as well.
async fn named_by_fsck(repo: &Repo, there: &Git<'_>, objects: &Path) -> Vec<(String, PathBuf)> {
    let dir = format!("--git-dir={}", repo.common_dir.display());
    let out = there.run(&[&dir, "fsck", "--no-progress", "--no-dangling", "--no-reflogs"]).await;
    let words = format!("{} {}", out.stdout, out.stderr);
    words
        .split(|c: char| !c.is_ascii_hexdigit())
        .filter(|w| is_id(w))
        .filter_map(|id| Some((id.to_owned(), objects.join(id.get(..2)?).join(id.get(2..)?))))
        .filter(|(_, path)| path.is_file())
        .collect()
}

/// Loose objects that are empty or do not start as a compressed stream does.
fn damaged(objects: &Path) -> Result<Vec<(String, PathBuf)>, std::io::Error> {
    use std::io::Read as _;
    let mut found = Vec::new();
    for folder in std::fs::read_dir(objects)? {
        let folder = folder?.path();
        let Some(head) = folder.file_name().and_then(|n| n.to_str()).map(str::to_owned) else {
            continue;
        };
        if head.len() != 2 || !folder.is_dir() {
            continue;
        }
        for file in std::fs::read_dir(&folder)? {
            let path = file?.path();
            let Some(rest) = path.file_name().and_then(|n| n.to_str()) else { continue };
            let id = format!("{head}{rest}");
            let mut start = [0; 2];
            let whole = std::fs::File::open(&path).and_then(|mut f| f.read_exact(&mut start));
            let stream = u16::from_be_bytes(start);
            // The first two bytes of such a stream, read as one number, divide by 31.
            if is_id(&id) && (whole.is_err() || stream % 31 != 0 || start[0] & 0x0f != 8) {
                found.push((id, path));
            }
        }
    }
    Ok(found)
}
