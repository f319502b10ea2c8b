//! The address that only tests and people at the stand-in know.

use serde_json::{Value, json};

use super::http::{Request, Response};
use super::settings;
use super::variants::{Place, VARIANTS};
use super::world::World;

/// Answers a request to the control address.
pub fn answer(world: &mut World, request: &Request) -> Response {
    let body = request.json();
    match (request.method.as_str(), request.path.as_str()) {
        ("POST", "/fault") => arm(world, &body),
        ("POST", "/clear") => {
            world.faults.clear();
            world.journal.add("faults_cleared", json!({}));
            ambient_changed(world);
            done(&json!({}))
        }
        ("POST", "/settings") => match settings::change(&mut world.settings, &body) {
            Ok(()) => {
                world.journal.add("settings_changed", json!({ "changes": body }));
                done(&world.settings)
            }
            Err(why) => refused(&why),
        },
        ("POST", "/selftest") => {
            world.journal.add("selftest", body);
            done(&json!({}))
        }
        ("POST", "/human") => human(world, &body),
        ("POST", "/project") => {
            let uuid = world.add_project(body["name"].as_str().unwrap_or("project"));
            done(&json!({ "uuid": uuid }))
        }
        ("GET", "/state") => done(&world.shown()),
        ("GET", "/events") => {
            let since = request.asked("since").parse().unwrap_or(0);
            done(&world.journal.since(since))
        }
        ("GET", "/variants") => done(&variants()),
        ("GET", "/") => Response::html(200, help()),
        _ => Response::json(404, &json!({ "ok": false, "why": "no such control call" })),
    }
}

fn done(value: &Value) -> Response {
    Response::json(200, value)
}

fn refused(why: &str) -> Response {
    Response::json(400, &json!({ "ok": false, "why": why }))
}

fn arm(world: &mut World, wanted: &Value) -> Response {
    match world.faults.arm(wanted) {
        Err(why) => refused(&why),
        Ok(fault) => {
            world.journal.add("fault_armed", fault.told());
            if fault.place == Place::AtOnce {
                let _itself = world.faults.strike(|f| f.number == fault.number);
                world.expire(fault.params["silent_restore"] == true);
                world.forget_login = fault.variant == "logged_out";
            }
            ambient_changed(world);
            done(&fault.told())
        }
    }
}

/// Every window hears what lasts from now on.
fn ambient_changed(world: &mut World) {
    let windows: Vec<String> = world.windows.keys().cloned().collect();
    for window in windows {
        let message = json!({ "push": "ambient", "ambient": world.ambient(&window) });
        if let Some(way) = world.windows.get(&window) {
            // A full queue belongs to a window that hangs; the next call brings the state again.
            let _missed = way.try_send(message).err();
        }
    }
}

/// What a person would do.
fn human(world: &mut World, wanted: &Value) -> Response {
    match wanted["do"].as_str() {
        Some("login") => world.person_logs_in(),
        Some("logout") => world.expire(false),
        Some("reload") => world.tell_all(&json!({ "push": "reload" })),
        other => return refused(&format!("a person can login, logout or reload, not {other:?}")),
    }
    done(&json!({}))
}

fn variants() -> Value {
    let one = |v: &super::variants::Variant| {
        json!({
            "id": v.id, "variant": v.name, "place": format!("{:?}", v.place), "scope": v.scope,
            "text": v.text,
        })
    };
    VARIANTS.iter().map(one).collect()
}

fn help() -> String {
    let mut text = String::from(
        "<!doctype html><meta charset=utf-8><title>Control</title><h1>Control of the stand-in</h1>\
         <pre>POST /fault {id, variant, scope: {api?, path?, window?}, count | ms | until: \"cleared\", params}\n\
         POST /clear\nPOST /settings {...}\nPOST /human {do: \"login\" | \"logout\" | \"reload\"}\nPOST /project {name}\n\
         GET /state\nGET /events?since=N\nGET /variants</pre><table>",
    );
    for v in VARIANTS {
        text.push_str(&format!("<tr><td>{}<td>{}<td>{}", v.id, v.name, v.text));
    }
    text
}
