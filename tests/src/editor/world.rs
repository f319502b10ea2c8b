//! What the server knows: projects, documents, logins, leases, windows.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::sync::mpsc::Sender;

use super::faults::{Fault, Faults};
use super::journal::Journal;
use super::parts::{Parts, uuid_of};
use super::settings;
use super::variants::Place;

/// Who is signed in: there is one account.
pub const USER: &str = "engineer";
/// Saved revisions that are kept of a document.
const REVISIONS_MAX: usize = 1000;

/// A project: its boards, each a schematic with pages and a layout.
pub struct Project {
    pub uuid: String,
    pub name: String,
    pub boards: Vec<Board>,
}

/// A board of a project.
pub struct Board {
    pub name: String,
    pub schematic: String,
    pub schematic_name: String,
    /// Uuid and name.
    pub pages: Vec<(String, String)>,
    /// Uuid and name.
    pub layout: Option<(String, String)>,
}

/// A saved document.
pub struct Doc {
    pub project: String,
    pub kind: &'static str,
    pub revision: u64,
    pub body: Value,
    /// Revision, time and window of each save.
    pub saves: Vec<Value>,
}

/// A login.
pub struct Session {
    pub alive: bool,
    /// A click on Login brings it back.
    pub restorable: bool,
}

/// The edit lease of a project.
#[derive(Default)]
pub struct Lease {
    pub holder: Option<String>,
    pub waiting: Vec<String>,
    held_until: Option<Instant>,
}

/// Everything.
pub struct World {
    pub journal: Journal,
    pub faults: Faults,
    pub parts: Parts,
    pub settings: Value,
    pub projects: Vec<Project>,
    pub docs: BTreeMap<String, Doc>,
    pub sessions: BTreeMap<String, Session>,
    pub leases: BTreeMap<String, Lease>,
    /// Windows that stand in connection, and the way to each.
    pub windows: BTreeMap<String, Sender<Value>>,
    /// What a new profile does not know: the page forgets its login at the next load.
    pub forget_login: bool,
    made: BTreeMap<&'static str, u64>,
}

impl World {
    pub fn new(project: &str) -> World {
        let mut world = World {
            journal: Journal::new(),
            faults: Faults::default(),
            parts: Parts::new(),
            settings: settings::standard(),
            projects: Vec::new(),
            docs: BTreeMap::new(),
            sessions: BTreeMap::new(),
            leases: BTreeMap::new(),
            windows: BTreeMap::new(),
            forget_login: false,
            made: BTreeMap::new(),
        };
        world.add_project(project);
        world
    }

    /// The next number of a kind of thing.
    pub fn number(&mut self, kind: &'static str) -> u64 {
        let made = self.made.entry(kind).or_default();
        *made += 1;
        *made
    }

    fn uuid(&mut self, kind: &'static str) -> String {
        let number = self.number(kind);
        uuid_of(&format!("{kind}:{number}"))
    }

    /// Makes a project with one board, one page and one layout.
    pub fn add_project(&mut self, name: &str) -> String {
        let uuid = self.uuid("project");
        self.projects.push(Project { uuid: uuid.clone(), name: name.into(), boards: Vec::new() });
        self.add_board(&uuid);
        let _first = self.add_page(&uuid, "");
        let _layout = self.add_layout(&uuid, "");
        uuid
    }

    fn project_mut(&mut self, uuid: &str) -> Option<&mut Project> {
        self.projects.iter_mut().find(|p| p.uuid == uuid)
    }

    pub fn project(&self, uuid: &str) -> Option<&Project> {
        self.projects.iter().find(|p| p.uuid == uuid)
    }

    /// Adds a board with an empty schematic; its schematic's uuid.
    pub fn add_board(&mut self, project: &str) -> Option<String> {
        let schematic = self.uuid("schematic");
        let project = self.project_mut(project)?;
        let number = project.boards.len() + 1;
        project.boards.push(Board {
            name: format!("Board{number}"),
            schematic: schematic.clone(),
            schematic_name: format!("Schematic{number}"),
            pages: Vec::new(),
            layout: None,
        });
        Some(schematic)
    }

    fn board_mut(&mut self, project: &str, named: &str) -> Option<&mut Board> {
        let boards = &mut self.project_mut(project)?.boards;
        if named.is_empty() {
            return boards.first_mut();
        }
        boards.iter_mut().find(|b| b.schematic == named || b.name == named)
    }

    /// Adds a page to a schematic, the first one's if none is named.
    pub fn add_page(&mut self, project: &str, schematic: &str) -> Option<String> {
        let uuid = self.uuid("page");
        let board = self.board_mut(project, schematic)?;
        board.pages.push((uuid.clone(), format!("P{}", board.pages.len() + 1)));
        self.add_doc(project, &uuid, "page");
        Some(uuid)
    }

    /// Adds a layout to a board, the first one's if none is named.
    pub fn add_layout(&mut self, project: &str, board: &str) -> Option<String> {
        let uuid = self.uuid("layout");
        let number = self.number("layout-name");
        let board = self.board_mut(project, board)?;
        board.layout = Some((uuid.clone(), format!("PCB{number}")));
        self.add_doc(project, &uuid, "pcb");
        Some(uuid)
    }

    fn add_doc(&mut self, project: &str, uuid: &str, kind: &'static str) {
        let doc = Doc {
            project: project.to_owned(),
            kind,
            revision: 0,
            body: json!({ "next": 1, "primitives": [] }),
            saves: Vec::new(),
        };
        self.docs.insert(uuid.to_owned(), doc);
    }

    /// Takes a save; the new revision.
    pub fn save(&mut self, page: &str, body: Value, window: &str) -> Option<u64> {
        let at = self.journal.now_ms();
        let doc = self.docs.get_mut(page)?;
        doc.revision += 1;
        doc.body = body;
        let count = doc.body["primitives"].as_array().map_or(0, Vec::len);
        let revision = doc.revision;
        let entry =
            json!({ "revision": revision, "at_ms": at, "window": window, "primitives": count });
        if doc.saves.len() < REVISIONS_MAX {
            doc.saves.push(entry);
        }
        self.journal.add(
            "saved",
            json!({ "page": page, "revision": revision, "window": window, "primitives": count }),
        );
        Some(revision)
    }

    /// Starts a login; its cookie.
    pub fn log_in(&mut self) -> String {
        let cookie = self.uuid("session");
        self.sessions.insert(cookie.clone(), Session { alive: true, restorable: false });
        self.forget_login = false;
        self.journal.add("logged_in", json!({}));
        cookie
    }

    /// Ends all logins.
    pub fn expire(&mut self, restorable: bool) {
        for session in self.sessions.values_mut() {
            session.alive = false;
            session.restorable = restorable;
        }
        self.journal.add("logins_expired", json!({ "restorable": restorable }));
    }

    /// The person has logged in somewhere: all logins are good again, and every window hears of it.
    pub fn person_logs_in(&mut self) {
        for session in self.sessions.values_mut() {
            session.alive = true;
        }
        self.forget_login = false;
        self.journal.add("logged_in", json!({ "by": "control" }));
        self.tell_all(&json!({ "push": "login" }));
    }

    /// Sends to every window. One that does not listen misses it.
    pub fn tell_all(&mut self, message: &Value) {
        self.windows.retain(|_, way| !way.is_closed());
        for way in self.windows.values() {
            // A full queue belongs to a window that hangs; it hears nothing anyway.
            let _missed = way.try_send(message.clone()).err();
        }
    }

    /// What lasts in a window: armed states and the methods at which it must ask.
    pub fn ambient(&self, window: &str) -> Value {
        let states: Vec<Value> =
            self.faults.lasting(Place::Ambient, window).into_iter().map(Fault::told).collect();
        json!({ "states": states, "sync": self.faults.armed_sync(window) })
    }

    /// A window asks for the lease of a project.
    pub fn lease_asked(&mut self, project: &str, window: &str) {
        let lease = self.leases.entry(project.to_owned()).or_default();
        lease.waiting.push(window.to_owned());
        self.journal.add("lease_asked", json!({ "project": project, "window": window }));
        self.lease_settled(project);
    }

    /// A window is gone or wants no lease any more.
    pub fn lease_given_back(&mut self, project: &str, window: &str) {
        let release_ms = self
            .faults
            .lasting(Place::Lease, window)
            .into_iter()
            .find(|f| f.variant == "slow_release")
            .map(|f| f.number_param("release_ms", 1000));
        let lease = self.leases.entry(project.to_owned()).or_default();
        lease.waiting.retain(|w| w != window);
        if lease.holder.as_deref() == Some(window) {
            match release_ms {
                Some(ms) => lease.held_until = Some(Instant::now() + Duration::from_millis(ms)),
                None => {
                    lease.holder = None;
                    let fields = json!({ "project": project, "window": window });
                    self.journal.add("lease_free", fields);
                }
            }
        }
        self.lease_settled(project);
    }

    /// Gives a free lease to the first who waits.
    fn lease_settled(&mut self, project: &str) {
        let Some(lease) = self.leases.get_mut(project) else { return };
        if lease.held_until.is_some_and(|until| Instant::now() >= until) {
            let window = lease.holder.take();
            lease.held_until = None;
            self.journal.add("lease_free", json!({ "project": project, "window": window }));
        }
        if lease.holder.is_none() && !lease.waiting.is_empty() {
            let window = lease.waiting.remove(0);
            lease.holder = Some(window.clone());
            self.journal.add("lease_granted", json!({ "project": project, "window": window }));
        }
    }

    /// Who holds a project, as one window sees it.
    pub fn lease_seen(&mut self, project: &str, window: &str) -> Value {
        self.lease_settled(project);
        let foreign = self
            .faults
            .lasting(Place::Lease, window)
            .into_iter()
            .find(|f| f.variant == "foreign")
            .map(|f| f.params.clone());
        let holder = self.leases.get(project).and_then(|l| l.holder.clone());
        match foreign {
            Some(params) => json!({
                "mine": false,
                "holder": params["holder"].as_str().unwrap_or("another person"),
                "foreign": true,
                "writes": params["writes"].as_str().unwrap_or("undefined"),
                "banner": params["banner"].as_bool().unwrap_or(true),
            }),
            None => json!({
                "mine": holder.as_deref() == Some(window),
                "holder": holder,
                "foreign": false,
                "writes": "undefined",
                "banner": true,
            }),
        }
    }

    /// Everything, for the control address.
    pub fn shown(&self) -> Value {
        let docs: serde_json::Map<String, Value> = self
            .docs
            .iter()
            .map(|(uuid, doc)| {
                let value = json!({
                    "project": doc.project, "kind": doc.kind, "revision": doc.revision,
                    "saves": doc.saves, "primitives": doc.body["primitives"],
                });
                (uuid.clone(), value)
            })
            .collect();
        let leases: serde_json::Map<String, Value> = self
            .leases
            .iter()
            .map(|(project, lease)| {
                (project.clone(), json!({ "holder": lease.holder, "waiting": lease.waiting }))
            })
            .collect();
        let windows: Vec<&String> =
            self.windows.iter().filter(|(_, way)| !way.is_closed()).map(|(id, _)| id).collect();
        json!({
            "projects": self.projects.iter().map(Project::shown).collect::<Vec<_>>(),
            "docs": docs,
            "leases": leases,
            "windows": windows,
            "sessions": self.sessions.values().filter(|s| s.alive).count(),
            "faults": self.faults.shown(),
            "settings": self.settings,
        })
    }
}

impl Project {
    /// The document tree.
    pub fn shown(&self) -> Value {
        let boards: Vec<Value> = self
            .boards
            .iter()
            .map(|board| {
                let pages: Vec<Value> = board
                    .pages
                    .iter()
                    .map(|(uuid, name)| json!({ "uuid": uuid, "name": name }))
                    .collect();
                let layout = board.layout.as_ref().map(|(u, n)| json!({ "uuid": u, "name": n }));
                json!({
                    "name": board.name,
                    "schematic": {
                        "uuid": board.schematic, "name": board.schematic_name, "page": pages,
                    },
                    "pcb": layout,
                })
            })
            .collect();
        json!({ "uuid": self.uuid, "name": self.name, "boards": boards })
    }
}
