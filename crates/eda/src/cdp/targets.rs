//! What the browser has open.

use serde_json::Value;

/// Most targets that a list is read up to.
pub const TARGETS_MAX: usize = 512;

/// A tab, a worker, an extension or a piece of the browser's own surface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Its id.
    pub id: String,
    /// Its type: only `page` is a tab.
    pub kind: String,
    /// Its title.
    pub title: String,
    /// Its address, fragment included.
    pub url: String,
}

impl Target {
    /// Whether it is a tab.
    #[must_use]
    pub fn is_page(&self) -> bool {
        self.kind == "page"
    }

    pub(super) fn read(info: &Value) -> Option<Target> {
        let text = |key: &str| info.get(key).and_then(Value::as_str).unwrap_or("").to_owned();
        let id = text("targetId");
        (!id.is_empty()).then(|| Target {
            id,
            kind: text("type"),
            title: text("title"),
            url: text("url"),
        })
    }

    pub(super) fn list(answer: &Value) -> Vec<Target> {
        let infos = answer.get("targetInfos").and_then(Value::as_array);
        infos.into_iter().flatten().take(TARGETS_MAX).filter_map(Target::read).collect()
    }
}

/// A process of the browser.
#[derive(Debug, Clone, PartialEq)]
pub struct Process {
    /// Its number in the system.
    pub pid: u32,
    /// Its type: pages run in a `renderer`.
    pub kind: String,
    /// Processor time so far, in seconds. The process of a page that hangs in a loop is the one
    /// in which it grows.
    pub cpu_seconds: f64,
}

impl Process {
    pub(super) fn list(answer: &Value) -> Vec<Process> {
        let infos = answer.get("processInfo").and_then(Value::as_array);
        let read = |info: &Value| {
            Some(Process {
                pid: info.get("id")?.as_u64()?.try_into().ok()?,
                kind: info.get("type")?.as_str()?.to_owned(),
                cpu_seconds: info.get("cpuTime").and_then(Value::as_f64).unwrap_or(0.0),
            })
        };
        infos.into_iter().flatten().take(TARGETS_MAX).filter_map(read).collect()
    }
}
