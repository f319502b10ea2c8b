//! Armed faults: what strikes, how often, and for how long.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::http::{Answer, Request, Response};
use super::variants::{self, Place, VARIANTS};

/// Most faults that are armed at a time.
const ARMED_MAX: usize = 200;
/// Span of a burst.
const BURST_SPAN: Duration = Duration::from_secs(1);
/// Most requests that a burst counts.
const BURST_REQUESTS_MAX: usize = 1000;

/// An armed fault.
#[derive(Clone, Debug)]
pub struct Fault {
    pub number: u64,
    pub id: &'static str,
    pub variant: &'static str,
    pub place: Place,
    paths: Vec<String>,
    apis: Vec<String>,
    window: Option<String>,
    left: Option<u64>,
    until: Option<Instant>,
    pub params: Value,
    fired: u64,
    recent: VecDeque<Instant>,
    closed_until: Option<Instant>,
}

impl Fault {
    fn alive(&self, now: Instant) -> bool {
        self.left != Some(0) && self.until.is_none_or(|until| now < until)
    }

    fn in_window(&self, window: &str) -> bool {
        self.window.as_deref().is_none_or(|wanted| wanted == window)
    }

    pub fn number_param(&self, name: &str, default: u64) -> u64 {
        self.params[name].as_u64().unwrap_or(default)
    }

    /// What the page gets to know.
    pub fn told(&self) -> Value {
        json!({ "fault": self.number, "id": self.id, "variant": self.variant, "params": self.params })
    }

    fn shown(&self, now: Instant) -> Value {
        let mut value = self.told();
        value["fired"] = json!(self.fired);
        value["left"] = json!(self.left);
        value["alive"] = json!(self.alive(now));
        value["scope"] = json!({ "path": self.paths, "api": self.apis, "window": self.window });
        value
    }
}

/// All faults.
#[derive(Default)]
pub struct Faults {
    list: Vec<Fault>,
    last: u64,
}

impl Faults {
    /// Arms a fault as the control address describes it.
    pub fn arm(&mut self, wanted: &Value) -> Result<Fault, String> {
        let word = |name: &str| wanted[name].as_str().unwrap_or("");
        let Some(variant) = variants::find(word("id"), word("variant")) else {
            let known: Vec<String> =
                VARIANTS.iter().map(|v| format!("{} {}", v.id, v.name)).collect();
            return Err(format!("no such fault; there are: {}", known.join(", ")));
        };
        let now = Instant::now();
        self.list.retain(|fault| fault.alive(now));
        if self.list.len() >= ARMED_MAX {
            return Err(format!("more than {ARMED_MAX} faults"));
        }
        for key in wanted.as_object().into_iter().flat_map(|map| map.keys()) {
            if !["id", "variant", "scope", "count", "ms", "until", "params"].contains(&key.as_str())
            {
                return Err(format!("unknown key: {key}"));
            }
        }
        if let Some(until) = wanted["until"].as_str().filter(|until| *until != "cleared") {
            return Err(format!("`until` is `cleared` or absent, not {until}"));
        }
        let scope = &wanted["scope"];
        let default = |on: bool| -> Vec<String> {
            variant.scope.iter().filter(|_| on).map(|s| (*s).to_owned()).collect()
        };
        let is_call = matches!(variant.place, Place::Call | Place::Sync);
        self.last += 1;
        let fault = Fault {
            number: self.last,
            id: variant.id,
            variant: variant.name,
            place: variant.place,
            paths: texts(&scope["path"]).unwrap_or_else(|| default(!is_call)),
            apis: texts(&scope["api"]).unwrap_or_else(|| default(is_call)),
            window: scope["window"].as_str().map(str::to_owned),
            left: wanted["count"].as_u64(),
            until: wanted["ms"].as_u64().map(|ms| now + Duration::from_millis(ms)),
            params: wanted["params"].clone(),
            fired: 0,
            recent: VecDeque::new(),
            closed_until: None,
        };
        self.list.push(fault.clone());
        Ok(fault)
    }

    pub fn clear(&mut self) {
        self.list.clear();
    }

    pub fn shown(&self) -> Value {
        let now = Instant::now();
        self.list.iter().map(|fault| fault.shown(now)).collect()
    }

    /// The first living fault that fits, counted down.
    pub fn strike(&mut self, fits: impl Fn(&Fault) -> bool) -> Option<Fault> {
        let now = Instant::now();
        let fault = self.list.iter_mut().find(|f| f.alive(now) && fits(f))?;
        fault.fired += 1;
        fault.left = fault.left.map(|left| left.saturating_sub(1));
        Some(fault.clone())
    }

    /// Living faults of a place, not counted down: they are a state, not an event.
    pub fn lasting(&self, place: Place, window: &str) -> Vec<&Fault> {
        let now = Instant::now();
        self.list
            .iter()
            .filter(|f| f.alive(now) && f.place == place && f.in_window(window))
            .collect()
    }

    /// Faults of a load of the page, all that are armed.
    pub fn at_load(&mut self, window: &str) -> Vec<Fault> {
        let now = Instant::now();
        let mut struck = Vec::new();
        for fault in &mut self.list {
            if fault.alive(now) && fault.place == Place::Load && fault.in_window(window) {
                fault.fired += 1;
                fault.left = fault.left.map(|left| left.saturating_sub(1));
                struck.push(fault.clone());
            }
        }
        struck
    }

    /// A fault of a call.
    pub fn at_call(&mut self, place: Place, api: &str, window: &str) -> Option<Fault> {
        self.strike(|f| {
            f.place == place && f.in_window(window) && f.apis.iter().any(|p| matches_api(p, api))
        })
    }

    /// Methods at which the page must ask before it does anything else.
    pub fn armed_sync(&self, window: &str) -> Vec<String> {
        self.lasting(Place::Sync, window).into_iter().flat_map(|f| f.apis.clone()).collect()
    }

    /// A fault of a request: it, and what it answers.
    pub fn at_request(&mut self, request: &Request) -> Option<(Fault, Struck)> {
        let now = Instant::now();
        let window = window_of(request);
        for fault in &mut self.list {
            let fits = fault.place == Place::Http
                && fault.alive(now)
                && fault.in_window(&window)
                && fault.paths.iter().any(|path| matches_path(path, request));
            if !fits || (fault.variant == "burst" && burst_passes(fault, now)) {
                continue;
            }
            fault.fired += 1;
            fault.left = fault.left.map(|left| left.saturating_sub(1));
            let struck = answer(fault);
            return Some((fault.clone(), struck));
        }
        None
    }
}

/// What becomes of a request that a fault has struck.
pub enum Struck {
    /// This instead of the true answer.
    Instead(Answer),
    /// The true answer, later.
    Delayed(Duration),
}

/// The window that a request says it comes from.
pub fn window_of(request: &Request) -> String {
    let header = request.header("x-window").unwrap_or("");
    if header.is_empty() { request.asked("win").to_owned() } else { header.to_owned() }
}

fn texts(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::String(one) => Some(vec![one.clone()]),
        Value::Array(many) => {
            Some(many.iter().filter_map(|v| v.as_str().map(str::to_owned)).collect())
        }
        _ => None,
    }
}

/// `*.create`, `sch_*`, or a whole name.
fn matches_api(pattern: &str, api: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == api,
        Some((before, after)) => {
            api.len() >= before.len() + after.len()
                && api.starts_with(before)
                && api.ends_with(after)
        }
    }
}

/// The begin of a path, with or without a method before it.
fn matches_path(pattern: &str, request: &Request) -> bool {
    match pattern.split_once(' ') {
        Some((method, path)) => request.method == method && request.path.starts_with(path),
        None => request.path.starts_with(pattern),
    }
}

/// Counts a request; whether it is within the limit.
fn burst_passes(fault: &mut Fault, now: Instant) -> bool {
    if fault.closed_until.is_some_and(|until| now < until) {
        return false;
    }
    fault.recent.retain(|at| now.duration_since(*at) < BURST_SPAN);
    let per_s = usize::try_from(fault.number_param("per_s", 5)).unwrap_or(usize::MAX);
    if fault.recent.len() < per_s.min(BURST_REQUESTS_MAX) {
        fault.recent.push_back(now);
        return true;
    }
    let cooldown = Duration::from_millis(fault.number_param("cooldown_ms", 1000));
    fault.closed_until = Some(now + cooldown);
    false
}

fn answer(fault: &Fault) -> Struck {
    let status = |default: u16| {
        u16::try_from(fault.number_param("status", u64::from(default))).unwrap_or(default)
    };
    let reply = match fault.variant {
        "reset" => return Struck::Instead(Answer::Reset),
        "empty" => return Struck::Instead(Answer::Empty),
        "hang" => return Struck::Instead(Answer::Hang),
        "slow" => {
            let wait = fault.number_param("delay_ms", 1000);
            return Struck::Delayed(Duration::from_millis(wait));
        }
        "html" => Response::html(200, "<!doctype html><title>Welcome</title><p>Welcome back."),
        "unauthorized" if fault.params["body"] == "html" => {
            Response::html(401, "<!doctype html><title>401</title><h1>Unauthorized</h1>")
        }
        "unauthorized" => refusal(401, "please log in"),
        "forbidden" => refusal(403, "no permission"),
        "throttle" => refusal(403, "Forbidden"),
        "missing" => refusal(404, "not found"),
        "too_many" | "burst" => refusal(status(429), "too many requests"),
        _ => refusal(status(500), "internal error"),
    };
    Struck::Instead(Answer::Reply(retry_header(fault, reply)))
}

/// A failure in the words of the service.
pub fn refusal(status: u16, message: &str) -> Response {
    Response::json(status, &json!({ "success": false, "code": status, "message": message }))
}

fn retry_header(fault: &Fault, reply: Response) -> Response {
    if let Some(seconds) = fault.params["retry_after"].as_u64() {
        return reply.with("Retry-After", &seconds.to_string());
    }
    match fault.params["retry_date"].as_u64() {
        Some(seconds) => {
            let at = std::time::SystemTime::now() + Duration::from_secs(seconds);
            reply.with("Retry-After", &http_date(at))
        }
        None => reply,
    }
}

/// `Tue, 01 Dec 2026 01:02:03 GMT`.
fn http_date(at: std::time::SystemTime) -> String {
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let seconds = at.duration_since(std::time::UNIX_EPOCH).map_or(0, |d| d.as_secs());
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // Counted from the first of March of the year 0, so that the odd day is the last of a year.
    let z = days + 719_468;
    let era_day = z % 146_097;
    let year_of_era = (era_day - era_day / 1460 + era_day / 36_524 - era_day / 146_096) / 365;
    let day_of_year = era_day - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = (month_from_march + 2) % 12;
    let year = year_of_era + z / 146_097 * 400 + u64::from(month < 2);
    let index = |n: u64| usize::try_from(n).unwrap_or(0);
    format!(
        "{}, {day:02} {} {year} {:02}:{:02}:{:02} GMT",
        DAYS[index(days % 7)],
        MONTHS[index(month)],
        rest / 3600,
        rest / 60 % 60,
        rest % 60
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(method: &str, path: &str) -> Request {
        Request { method: method.into(), path: path.into(), ..Request::default() }
    }

    #[test]
    fn a_fault_strikes_as_often_as_was_asked_and_only_in_its_scope() {
        let mut faults = Faults::default();
        let wanted = json!({ "id": "EDA-12", "variant": "save_http", "count": 2 });
        faults.arm(&wanted).expect("known");
        assert!(faults.at_request(&request("GET", "/api/projects/1")).is_none());
        assert!(faults.at_request(&request("PUT", "/api/user")).is_none());
        for _ in 0..2 {
            assert!(faults.at_request(&request("PUT", "/api/projects/1")).is_some());
        }
        assert!(faults.at_request(&request("PUT", "/api/projects/1")).is_none());
    }

    #[test]
    fn wrong_faults_are_refused() {
        let mut faults = Faults::default();
        for wrong in [
            json!({}),
            json!({ "id": "EDA-7", "variant": "lop" }),
            json!({ "id": "EDA-7", "variant": "loop", "times": 3 }),
            json!({ "id": "EDA-7", "variant": "loop", "until": "tomorrow" }),
        ] {
            assert!(faults.arm(&wrong).is_err(), "{wrong}");
        }
        assert_eq!(faults.shown(), json!([]));
    }

    #[test]
    fn names_of_methods_match_whole_or_by_one_end() {
        assert!(matches_api("*.create", "sch_PrimitiveWire.create"));
        assert!(matches_api("sch_*", "sch_Document.save"));
        assert!(matches_api("sch_Document.save", "sch_Document.save"));
        assert!(!matches_api("*.create", "sch_PrimitiveComponent.createNetFlag"));
        assert!(!matches_api("sch_Document.save", "sch_Document.saves"));
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        let at = |s| std::time::UNIX_EPOCH + Duration::from_secs(s);
        assert_eq!(http_date(at(0)), "Thu, 01 Jan 1970 00:00:00 GMT");
        assert_eq!(http_date(at(951_827_696)), "Tue, 29 Feb 2000 12:34:56 GMT");
        assert_eq!(http_date(at(1_796_087_464)), "Tue, 01 Dec 2026 01:11:04 GMT");
    }

    #[test]
    fn no_variant_is_there_twice() {
        let mut names: Vec<_> = VARIANTS.iter().map(|v| (v.id, v.name)).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), VARIANTS.len());
        assert!(VARIANTS.iter().all(|v| !v.text.is_empty()));
    }
}
