//! A block: what a script places on a sheet, exactly once.
//!
//! Its identity is the board, its name and the text of its scripts; its plan is the list of calls
//! that make objects, each with the id of the object that answers it. The plan lies in a file of
//! the workspace's state folder from the moment the script came back, before anything is saved.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use pcbflow_core::ids::{BoardName, Digest};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::sheet::{Sheet, fits};

/// Largest file of a plan, in bytes.
const FILE_BYTES_MAX: u64 = 32 * 1024 * 1024;

/// Most blocks of a board that are looked at.
const BLOCKS_MAX: usize = 10_000;

/// What is known of a block.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct Block {
    /// Digest of board, name and scripts.
    pub identity: String,
    /// Id of the document that it was placed in.
    pub document: String,
    /// The calls that made its objects, with the objects' ids.
    pub planned: Vec<Value>,
    /// Ids of what was on the sheet before its first try: nobody's doubles.
    #[serde(default)]
    pub before: Vec<String>,
    /// It was read back whole and its save was proven.
    pub done: bool,
}

/// What a sheet shows of a plan.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Shown {
    /// Planned objects that are not there, in words.
    pub missing: Vec<String>,
    /// How many are there.
    pub present: usize,
    /// Objects that are there beside a planned one that they equal.
    pub doubled: Vec<String>,
}

impl Block {
    /// Where the plan of a block lies.
    pub fn place(state_dir: &Path, board: &BoardName, name: &str) -> PathBuf {
        // A name of a person may hold anything.
        let file = Digest::of(name.as_bytes()).to_string();
        let short = file.get(..16).unwrap_or(&file);
        state_dir.join("eda").join("blocks").join(board.as_str()).join(format!("{short}.json"))
    }

    /// The plans of a board's blocks, sorted.
    pub fn files(state_dir: &Path, board: &BoardName) -> Vec<PathBuf> {
        let folder = state_dir.join("eda").join("blocks").join(board.as_str());
        let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
        let is_plan = |p: &PathBuf| p.extension().is_some_and(|e| e == "json");
        let mut all: Vec<PathBuf> =
            entries.flatten().map(|e| e.path()).filter(is_plan).take(BLOCKS_MAX).collect();
        all.sort();
        all
    }

    /// Reads a plan; `None` when there is none, or none that can be read: then the sheet alone
    /// says what is there.
    pub fn load(file: &Path) -> Option<Block> {
        let small = std::fs::metadata(file).is_ok_and(|m| m.len() <= FILE_BYTES_MAX);
        let text = small.then(|| std::fs::read(file).ok()).flatten()?;
        serde_json::from_slice(&text)
            .inspect_err(|e| tracing::warn!(%e, "the plan of a block can't be read"))
            .ok()
    }

    /// Writes it, whole or not at all.
    pub fn store(&self, file: &Path) -> std::io::Result<()> {
        let folder = file.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder)?;
        let beside = file.with_extension("new");
        let mut to = std::fs::File::create(&beside)?;
        to.write_all(&serde_json::to_vec_pretty(self)?)?;
        to.sync_all()?;
        std::fs::rename(&beside, file)
    }

    /// What the page needs to know its own objects again.
    pub fn journal(&self) -> Value {
        let entry = |p: &Value| json!({ "key": p.get("key"), "id": p.get("id") });
        Value::Array(self.planned.iter().map(entry).collect())
    }

    /// Takes over what an earlier try made and this one, which broke off, did not come to.
    pub fn remember(&mut self, earlier: &[Value]) {
        let known: Vec<Value> = self.planned.iter().filter_map(|p| p.get("id").cloned()).collect();
        let new = |p: &&Value| p.get("id").is_some_and(|id| !id.is_null() && !known.contains(id));
        self.planned.extend(earlier.iter().filter(new).cloned());
    }

    /// Ids of its objects.
    fn ids(&self) -> Vec<&str> {
        self.planned.iter().filter_map(|p| p.get("id").and_then(Value::as_str)).collect()
    }

    /// Holds a sheet against the plan. What was there before the block began is nobody's double.
    pub fn shown(&self, sheet: &Sheet) -> Shown {
        let mut shown = Shown::default();
        let mut taken: Vec<&str> = self.ids();
        for plan in &self.planned {
            let kind = plan.get("kind");
            let id = plan.get("id").and_then(Value::as_str);
            let by_id =
                id.and_then(|id| sheet.records.get(id)).is_some_and(|r| r.get("kind") == kind);
            if by_id {
                shown.present += 1;
                continue;
            }
            let found = sheet
                .records
                .iter()
                .find(|(id, r)| !taken.contains(&id.as_str()) && fits(plan, r))
                .map(|(id, _)| id.as_str());
            match found {
                Some(id) => {
                    taken.push(id);
                    shown.present += 1;
                }
                None => shown.missing.push(in_words(plan)),
            }
        }
        let extra = |id: &str, r: &Value| {
            !taken.contains(&id)
                && !self.before.iter().any(|b| b == id)
                && self.planned.iter().any(|p| fits(p, r))
        };
        shown.doubled =
            sheet.records.iter().filter(|(id, r)| extra(id, r)).map(|(id, _)| id.clone()).collect();
        shown
    }

    /// Objects of an earlier form of this block that its new form does not plan any more, and
    /// that nobody has moved since.
    pub fn orphans(&self, now: &Block, sheet: &Sheet) -> Vec<String> {
        let kept = now.ids();
        self.planned
            .iter()
            // What was there before the block is not the block's to remove.
            .filter(|p| p.get("kept").and_then(Value::as_bool) != Some(true))
            .filter_map(|p| Some((p, p.get("id")?.as_str()?)))
            .filter(|(_, id)| !kept.contains(id))
            .filter(|(p, id)| sheet.records.get(*id).is_some_and(|r| fits(p, r)))
            .map(|(_, id)| id.to_owned())
            .collect()
    }
}

/// A planned object in a person's words.
pub(crate) fn in_words(plan: &Value) -> String {
    let text = |key: &str| plan.get(key).and_then(Value::as_str).unwrap_or("");
    let number = |key: &str| plan.get(key).map_or_else(String::new, Value::to_string);
    let what = match text("kind") {
        "part" if !text("supplier").is_empty() => format!("part {}", text("supplier")),
        "wire" if !text("net").is_empty() => format!("wire of net {}", text("net")),
        "wire" => return format!("wire {}", number("line")),
        "netflag" | "netport" | "netlabel" => format!("{} {}", text("kind"), text("net")),
        kind => kind.to_owned(),
    };
    if text("kind") == "wire" {
        what
    } else {
        format!("{what} at {}, {}", number("x"), number("y"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sheet(records: &[Value]) -> Sheet {
        let id = |r: &Value| r["id"].as_str().unwrap_or("").to_owned();
        Sheet { records: records.iter().map(|r| (id(r), r.clone())).collect() }
    }

    fn part(id: &str, x: i32) -> Value {
        json!({ "id": id, "kind": "part", "device": "d", "x": x, "y": 0 })
    }

    fn block(planned: &[Value]) -> Block {
        Block { planned: planned.to_vec(), ..Block::default() }
    }

    #[test]
    fn what_is_missing_and_what_is_there_twice() {
        let plan = block(&[part("e1", 0), part("e2", 100)]);
        let whole = plan.shown(&sheet(&[part("e1", 0), part("e2", 100)]));
        assert_eq!(whole, Shown { present: 2, ..Shown::default() });
        let late = plan.shown(&sheet(&[part("e1", 0), part("e9", 100)]));
        assert_eq!((late.present, late.doubled.len()), (2, 0), "the same part under another id");
        let twice = sheet(&[part("e1", 0), part("e2", 100), part("e3", 100)]);
        assert_eq!(plan.shown(&twice).doubled, ["e3"]);
        let there = Block { before: vec!["e3".into()], ..plan.clone() };
        assert_eq!(there.shown(&twice).doubled.len(), 0, "it was there before");
        let half = plan.shown(&sheet(&[part("e1", 0)]));
        assert_eq!(half.missing, ["part at 100, 0"]);
        // A part that the script has moved after placing it is known by its id.
        let moved = plan.shown(&sheet(&[part("e1", 700), part("e2", 100)]));
        assert_eq!(moved.present, 2);
    }

    #[test]
    fn orphans_are_ours_unmoved_and_not_planned_any_more() {
        let mut found = part("e3", 300);
        found["kept"] = json!(true);
        let old = block(&[part("e1", 0), part("e2", 100), found]);
        let new = block(&[part("e1", 0)]);
        let seen = sheet(&[part("e1", 0), part("e2", 100), part("e3", 300)]);
        assert_eq!(old.orphans(&new, &seen), ["e2"]);
        assert_eq!(old.orphans(&new, &sheet(&[part("e2", 150)])).len(), 0, "somebody moved it");
    }

    #[test]
    fn a_try_that_broke_off_forgets_nothing_of_the_one_before() {
        let mut now = block(&[part("e1", 0)]);
        now.remember(&[part("e1", 0), part("e2", 100), json!({ "id": null })]);
        assert_eq!(now.ids(), ["e1", "e2"]);
    }

    #[test]
    fn a_plan_is_stored_whole_and_read_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("a/b/c.json");
        let plan = Block { identity: "x".into(), done: true, ..block(&[part("e1", 0)]) };
        plan.store(&file).expect("stored");
        assert_eq!(Block::load(&file), Some(plan));
        std::fs::write(&file, "{").expect("cut");
        assert_eq!(Block::load(&file), None);
    }
}
