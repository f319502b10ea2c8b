//! The service behind the page: `/editor`, `/api`, `/login`.

use serde_json::{Value, json};

use super::faults::{Struck, refusal, window_of};
use super::http::{Answer, Request, Response};
use super::page;
use super::variants::Place;
use super::world::{USER, World};

/// Most entries of a page of a list.
const PAGE_SIZE_MAX: usize = 100;

/// Answers a request, with the faults that are armed, and writes it down.
pub fn answer(world: &mut World, request: &Request) -> Answer {
    let window = window_of(request);
    if request.path == "/channel/silence" {
        // What a synchronous request of a fault waits for.
        return Answer::Hang;
    }
    let struck = world.faults.at_request(request);
    let mut fields = json!({ "method": request.method, "path": request.path, "window": window });
    let answer = match struck {
        Some((fault, struck)) => {
            fields["fault"] = fault.told();
            match struck {
                Struck::Instead(answer) => answer,
                Struck::Delayed(wait) => Answer::Late(respond(world, request), wait),
            }
        }
        None => Answer::Reply(respond(world, request)),
    };
    fields["status"] = match &answer {
        Answer::Reply(response) | Answer::Late(response, _) => json!(response.status),
        Answer::Reset => json!("reset"),
        Answer::Empty => json!("empty"),
        Answer::Hang => json!("hang"),
    };
    if !request.path.starts_with("/static/") {
        world.journal.add("request", fields);
    }
    answer
}

fn respond(world: &mut World, request: &Request) -> Response {
    match (request.method.as_str(), request.path.as_str()) {
        ("GET", "/") => Response::new(302, "text/plain", "").with("Location", "/editor"),
        ("GET", "/editor") => editor(world, request),
        ("GET", "/favicon.ico") => Response::new(200, "image/x-icon", ""),
        ("GET", path) if path.starts_with("/static/") => {
            page::file(path).unwrap_or_else(|| refusal(404, "no such file"))
        }
        ("POST", "/login") => log_in(world, request),
        ("POST", "/logout") => log_out(world, request),
        // A call asks, before its first pause, whether a fault is meant for it.
        ("POST", "/channel/fire") => {
            let fault =
                world.faults.at_call(Place::Sync, request.asked("api"), request.asked("win"));
            if let Some(fault) = &fault {
                world.journal.add(
                    "fault_fired",
                    json!({ "api": request.asked("api"), "window": request.asked("win"), "fault": fault.told() }),
                );
            }
            Response::json(200, &fault.map_or(Value::Null, |f| f.told()))
        }
        (_, path) if path.starts_with("/api/") => match signed_in(world, request) {
            true => api(world, request),
            false => refusal(401, "please log in"),
        },
        _ => refusal(404, "not found"),
    }
}

fn editor(world: &mut World, request: &Request) -> Response {
    let struck = world.faults.strike(|f| f.place == Place::Document);
    match struck.as_ref().map(|f| f.variant) {
        Some("document") => Response::html(401, "<!doctype html><title>401</title><h1>401</h1>"),
        Some(_) => {
            // The policy lets the document in and nothing that it wants to run.
            page::document(world, request).with("Content-Security-Policy", "script-src 'none'")
        }
        None => page::document(world, request),
    }
}

fn signed_in(world: &World, request: &Request) -> bool {
    let cookie = request.cookie("eda_session").unwrap_or("");
    world.sessions.get(cookie).is_some_and(|session| session.alive)
}

/// With `restore`, only a login that can be brought back is; otherwise a new one begins.
fn log_in(world: &mut World, request: &Request) -> Response {
    let user = json!({ "success": true, "result": { "uuid": user_uuid(), "username": USER } });
    if request.json()["restore"] == true {
        let cookie = request.cookie("eda_session").unwrap_or("").to_owned();
        return match world.sessions.get_mut(&cookie) {
            Some(session) if session.alive || session.restorable => {
                session.alive = true;
                world.journal.add("logged_in", json!({ "by": "restore" }));
                Response::json(200, &user)
            }
            _ => refusal(401, "please log in"),
        };
    }
    let cookie = world.log_in();
    Response::json(200, &user).with("Set-Cookie", &page::cookie_header(&cookie))
}

fn log_out(world: &mut World, request: &Request) -> Response {
    let cookie = request.cookie("eda_session").unwrap_or("");
    world.sessions.remove(cookie);
    world.journal.add("logged_out", json!({}));
    Response::json(200, &json!({ "success": true }))
        .with("Set-Cookie", "eda_session=; Path=/; Max-Age=0")
}

fn user_uuid() -> String {
    super::parts::uuid_of("user:engineer")
}

fn done(result: &Value) -> Response {
    Response::json(200, &json!({ "success": true, "code": 0, "result": result }))
}

fn api(world: &mut World, request: &Request) -> Response {
    let parts: Vec<&str> = request.path.split('/').skip(2).collect();
    match (request.method.as_str(), parts.as_slice()) {
        ("GET", ["user"]) => done(&json!({ "uuid": user_uuid(), "username": USER })),
        ("GET", ["teams"]) => {
            let uuid = super::parts::uuid_of("team:personal");
            done(&json!({ "lists": [{ "uuid": uuid, "name": "Personal" }] }))
        }
        ("GET", ["projects"]) => projects(world, request),
        ("POST", ["v4", "projects", "add"]) => {
            let body = request.json();
            let uuid = world.add_project(body["name"].as_str().unwrap_or("New Project"));
            done(&json!({ "uuid": uuid }))
        }
        ("GET", ["projects", uuid]) => match world.project(uuid) {
            Some(project) => done(&project.shown()),
            None => refusal(404, "no such project"),
        },
        ("POST", ["projects", uuid, "docs"]) => add_document(world, uuid, &request.json()),
        ("GET", ["projects", project, "docs", page]) => match world.docs.get(*page) {
            Some(doc) if doc.project == *project => done(&json!({
                "revision": doc.revision, "kind": doc.kind, "body": doc.body,
            })),
            _ => refusal(404, "no such document"),
        },
        ("PUT", ["projects", project, "docs", page]) => save(world, request, project, page),
        ("GET", ["v2", "devices"]) => devices(world, request),
        ("POST", ["v2", "eda", "product", "search"]) => search(world, request),
        ("GET", ["libraries", "system"]) => {
            done(&json!({ "uuid": super::parts::system_library() }))
        }
        // What the page needs to draw a part that was found; no search, and not throttled.
        ("GET", ["libraries", "devices", uuid]) => match world.parts.device(uuid) {
            Some(device) => done(&device),
            None => refusal(404, "no such device"),
        },
        _ => refusal(404, "not found"),
    }
}

fn projects(world: &World, request: &Request) -> Response {
    let number = |name: &str, default: usize| request.asked(name).parse().unwrap_or(default);
    let (page, size) = (number("page", 1), number("pageSize", 20).clamp(1, PAGE_SIZE_MAX));
    let lists: Vec<Value> = world
        .projects
        .iter()
        .skip(page.saturating_sub(1) * size)
        .take(size)
        .map(|p| json!({ "uuid": p.uuid, "name": p.name }))
        .collect();
    done(&json!({ "lists": lists, "total": world.projects.len() }))
}

fn add_document(world: &mut World, project: &str, wanted: &Value) -> Response {
    let parent = wanted["parent"].as_str().unwrap_or("");
    let made = match wanted["kind"].as_str() {
        Some("board") => world.add_board(project),
        Some("page") => world.add_page(project, parent),
        Some("pcb") => world.add_layout(project, parent),
        _ => return refusal(400, "no such kind"),
    };
    match made {
        Some(uuid) => done(&json!({ "uuid": uuid })),
        None => refusal(404, "no such project"),
    }
}

fn save(world: &mut World, request: &Request, project: &str, page: &str) -> Response {
    if world.docs.get(page).is_none_or(|doc| doc.project != project) {
        return refusal(404, "no such document");
    }
    let window = window_of(request);
    if world.lease_seen(project, &window)["mine"] != true {
        return refusal(409, "the project is being edited elsewhere");
    }
    let body = request.json();
    if !body["primitives"].is_array() {
        return refusal(400, "not a document");
    }
    match world.save(page, body, &window) {
        Some(revision) => done(&json!({ "revision": revision })),
        None => refusal(404, "no such document"),
    }
}

/// Devices by number in the shop or by uuid.
fn devices(world: &mut World, request: &Request) -> Response {
    let fault = world.faults.strike(|f| f.place == Place::Parts);
    let numbers: Vec<&str> =
        request.asked("lcsc").split(',').map(str::trim).filter(|n| !n.is_empty()).collect();
    let found = match request.asked("uuid") {
        "" => world.parts.by_numbers(&numbers, fault.as_ref()),
        uuid => world.parts.device_item(uuid).into_iter().collect(),
    };
    done(&json!({ "lists": found }))
}

fn search(world: &mut World, request: &Request) -> Response {
    let fault = world.faults.strike(|f| f.place == Place::Parts);
    let asked = request.json();
    let number = |name: &str, default: usize| {
        asked[name].as_u64().and_then(|n| usize::try_from(n).ok()).unwrap_or(default)
    };
    let key = asked["keyword"].as_str().unwrap_or("");
    let (page, items) = (number("page", 1), number("pageSize", 20));
    done(&json!({ "lists": world.parts.search(key, page, items, fault.as_ref()) }))
}
