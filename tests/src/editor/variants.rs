//! The faults that page and server can make, by the failure they imitate.
//!
//! What only the browser or its profile can do (no start, a lost process, a stale lock) is not here.

/// Where a fault strikes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A request below `scope.path`.
    Http,
    /// A load of the page itself; decided by the server.
    Document,
    /// A load of the page; carried out by the page.
    Load,
    /// A call of an API method, `scope.api`.
    Call,
    /// A call, before its first pause.
    Sync,
    /// No event: how the page is while the fault lasts.
    Ambient,
    /// The part library.
    Parts,
    /// The edit lease.
    Lease,
    /// At once, when it is armed.
    AtOnce,
}

/// One fault.
pub struct Variant {
    pub id: &'static str,
    pub name: &'static str,
    pub place: Place,
    /// Scope when none is given: begins of paths, or names of methods with `*`.
    pub scope: &'static [&'static str],
    /// What it does, and its parameters.
    pub text: &'static str,
}

const SEARCH: &[&str] = &["/api/v2/"];
const API: &[&str] = &["/api/"];
const PROJECTS: &[&str] = &["/api/projects/"];
const WRITES: &[&str] = &["*.create"];
const SAVES: &[&str] = &["*_Document.save"];
const DONE: &[&str] = &["*.done"];
const NOWHERE: &[&str] = &[];

const fn variant(
    id: &'static str,
    name: &'static str,
    place: Place,
    scope: &'static [&'static str],
    text: &'static str,
) -> Variant {
    Variant { id, name, place, scope, text }
}

/// All of them.
pub const VARIANTS: &[Variant] = &[
    variant(
        "EDA-1",
        "expired",
        Place::AtOnce,
        NOWHERE,
        "all logins end; `silent_restore`: a click on Login brings them back",
    ),
    variant("EDA-2", "unauthorized", Place::Http, API, "401; `body`: json or html"),
    variant("EDA-2", "document", Place::Document, NOWHERE, "401 for the page itself"),
    variant("EDA-3", "forbidden", Place::Http, PROJECTS, "403 with a refusal"),
    variant("EDA-3", "throttle", Place::Http, SEARCH, "403 without a header"),
    variant("EDA-4", "missing", Place::Http, PROJECTS, "404"),
    variant(
        "EDA-5",
        "too_many",
        Place::Http,
        SEARCH,
        "429; `retry_after` seconds, or `retry_date` seconds from now as a date",
    ),
    variant(
        "EDA-5",
        "burst",
        Place::Http,
        SEARCH,
        "`per_s` requests pass; then `status` (429) for `cooldown_ms` (1000); `retry_after`",
    ),
    variant(
        "EDA-5",
        "search_throws",
        Place::Ambient,
        NOWHERE,
        "a failed search throws instead of giving an empty list",
    ),
    variant("EDA-6", "error", Place::Http, API, "`status` (500); `retry_after`"),
    variant("EDA-6", "reset", Place::Http, API, "the connection is cut"),
    variant("EDA-6", "empty", Place::Http, API, "the connection ends without a byte"),
    variant("EDA-6", "hang", Place::Http, API, "no answer"),
    variant("EDA-6", "html", Place::Http, API, "200 with HTML where JSON is due"),
    variant("EDA-6", "slow", Place::Http, API, "the answer comes after `delay_ms`"),
    variant("EDA-7", "loop", Place::Sync, WRITES, "endless loop at the call"),
    variant(
        "EDA-7",
        "promise_loop",
        Place::Call,
        WRITES,
        "endless loop in a continuation; `landed`",
    ),
    variant("EDA-7", "timer_loop", Place::Call, WRITES, "endless loop from a timer; `landed`"),
    variant(
        "EDA-7",
        "reenter",
        Place::Call,
        WRITES,
        "a timer that loops again whenever it is stopped; `landed`",
    ),
    variant(
        "EDA-7",
        "never",
        Place::Call,
        WRITES,
        "the promise never settles, the page is well; `landed`",
    ),
    variant(
        "EDA-7",
        "sync_xhr",
        Place::Call,
        WRITES,
        "a synchronous request to a server that is silent; `landed`",
    ),
    variant("EDA-7", "alert", Place::Call, WRITES, "alert(); `landed`"),
    variant(
        "EDA-7",
        "modal",
        Place::Call,
        WRITES,
        "a window in the page that blocks only the API; `landed`",
    ),
    variant("EDA-7", "memory", Place::Call, WRITES, "memory runs out; `landed`"),
    variant("EDA-8", "stuck", Place::Load, NOWHERE, "loading stops at 20 %"),
    variant(
        "EDA-8",
        "no_boards",
        Place::Load,
        NOWHERE,
        "no boards and no pages until the next load",
    ),
    variant(
        "EDA-8",
        "rejects",
        Place::Load,
        NOWHERE,
        "reads of primitives reject until the next load",
    ),
    variant(
        "EDA-9",
        "late",
        Place::Load,
        NOWHERE,
        "the API's root comes `delay_ms` after the load",
    ),
    variant("EDA-9", "absent", Place::Load, NOWHERE, "no API root"),
    variant("EDA-9", "iframe", Place::Load, NOWHERE, "the API root is in a frame only"),
    variant("EDA-9", "csp", Place::Document, NOWHERE, "a security policy that lets no script run"),
    variant("EDA-10", "empty", Place::Parts, NOWHERE, "no part matches"),
    variant("EDA-10", "arrays_only", Place::Parts, NOWHERE, "only array parts match"),
    variant("EDA-10", "no_model", Place::Parts, NOWHERE, "the id is known and has no model"),
    variant("EDA-10", "many", Place::Parts, NOWHERE, "several parts match"),
    variant("EDA-11", "renamed", Place::Load, NOWHERE, "`api` is now called `to`"),
    variant("EDA-11", "removed", Place::Load, NOWHERE, "`api` is gone"),
    variant(
        "EDA-11",
        "order",
        Place::Load,
        NOWHERE,
        "the first two arguments of `api` have changed places",
    ),
    variant("EDA-11", "shape", Place::Load, NOWHERE, "`api` answers {result:[...]}"),
    variant("EDA-11", "version", Place::Load, NOWHERE, "another editor version: `version`"),
    variant("EDA-12", "save_false", Place::Call, SAVES, "save() gives false and saves nothing"),
    variant("EDA-12", "save_lies", Place::Call, SAVES, "save() gives true and saves nothing"),
    variant("EDA-12", "save_never", Place::Call, SAVES, "save() never settles; `landed`"),
    variant(
        "EDA-12",
        "save_http",
        Place::Http,
        &["PUT /api/projects/"],
        "`status` (500) for a save",
    ),
    variant("EDA-12", "done_never", Place::Call, DONE, "done() never settles; `landed`"),
    variant("EDA-12", "done_dropped", Place::Call, DONE, "done() settles and changes nothing"),
    variant("EDA-12", "dropped", Place::Call, WRITES, "a write answers as if it had worked"),
    variant("EDA-13", "slow_nets", Place::Ambient, NOWHERE, "nets settle after `net_settle_ms`"),
    variant("EDA-13", "never", Place::Load, NOWHERE, "nets settle only at a load"),
    variant("EDA-14", "slow_reads", Place::Ambient, NOWHERE, "reads are behind by `settle_ms`"),
    variant(
        "EDA-14",
        "next_call",
        Place::Ambient,
        NOWHERE,
        "reads are behind until a call after a pause",
    ),
    variant("EDA-14", "until_load", Place::Load, NOWHERE, "reads are behind until the next load"),
    variant(
        "BR-3",
        "logged_out",
        Place::AtOnce,
        NOWHERE,
        "as a new profile: no login, and none that the page knows of",
    ),
    variant(
        "BR-5",
        "foreign",
        Place::Lease,
        NOWHERE,
        "another person holds the lease; `writes`: undefined, false or throw; `banner`",
    ),
    variant(
        "BR-5",
        "slow_release",
        Place::Lease,
        NOWHERE,
        "a lease is free only `release_ms` after its window is gone",
    ),
];

/// A fault by its two words.
pub fn find(id: &str, name: &str) -> Option<&'static Variant> {
    VARIANTS.iter().find(|v| v.id == id && v.name == name)
}
