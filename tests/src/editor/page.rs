//! The page: its files, and the one document that loads them.

use serde_json::{Value, json};

use super::faults::Fault;
use super::http::{Request, Response};
use super::journal::fnv;
use super::world::World;

const HTML: &str = include_str!("../../editor/editor.html");
const WORDS: &str = include_str!("../../editor/words.json");

/// Name, type, text.
const FILES: &[(&str, &str, &str)] = &[
    ("boot.js", JS, include_str!("../../editor/boot.js")),
    ("channel.js", JS, include_str!("../../editor/channel.js")),
    ("documents.js", JS, include_str!("../../editor/documents.js")),
    ("nets.js", JS, include_str!("../../editor/nets.js")),
    ("primitives.js", JS, include_str!("../../editor/primitives.js")),
    ("call.js", JS, include_str!("../../editor/call.js")),
    ("harm.js", JS, include_str!("../../editor/harm.js")),
    ("desk.js", JS, include_str!("../../editor/desk.js")),
    ("api_system.js", JS, include_str!("../../editor/api_system.js")),
    ("api_project.js", JS, include_str!("../../editor/api_project.js")),
    ("api_library.js", JS, include_str!("../../editor/api_library.js")),
    ("api_schematic.js", JS, include_str!("../../editor/api_schematic.js")),
    ("api_layout.js", JS, include_str!("../../editor/api_layout.js")),
    ("exports.js", JS, include_str!("../../editor/exports.js")),
    ("draw.js", JS, include_str!("../../editor/draw.js")),
    ("selftest.js", JS, include_str!("../../editor/selftest.js")),
    ("editor.css", "text/css; charset=utf-8", include_str!("../../editor/editor.css")),
];
const JS: &str = "text/javascript; charset=utf-8";

/// The folder of the files: its name changes with what is in them.
pub fn folder() -> String {
    let all: String = FILES.iter().map(|(_, _, text)| *text).collect();
    format!("/static/{:08x}/", fnv(all.as_bytes()) & 0xffff_ffff)
}

/// A file of the page.
pub fn file(path: &str) -> Option<Response> {
    let name = path.strip_prefix(folder().as_str())?;
    let (_, kind, text) = FILES.iter().find(|(known, _, _)| *known == name)?;
    Some(Response::new(200, kind, *text))
}

/// The page itself.
pub fn document(world: &mut World, request: &Request) -> Response {
    let window = format!("w{}", world.number("window"));
    let loaded = world.faults.at_load(&window);
    let known = request.cookie("eda_session").is_some_and(|c| world.sessions.contains_key(c));
    let mut fresh = None;
    if !known && world.settings["signed_in"] == true && !world.forget_login {
        fresh = Some(world.log_in());
    }
    world.journal.add(
        "window_loaded",
        json!({ "window": window, "faults": loaded.iter().map(Fault::told).collect::<Vec<_>>() }),
    );
    let words: Value = serde_json::from_str(WORDS).unwrap_or_default();
    let language = world.settings["language"].as_str().unwrap_or("en").to_owned();
    let config = json!({
        "window": window,
        "words": words[&language],
        "errors": words["errors"],
        "settings": world.settings,
        "faults": loaded.iter().map(Fault::told).collect::<Vec<_>>(),
        "ambient": world.ambient(&window),
        "forgetLogin": world.forget_login,
        // A page that has just been given its cookie also knows whose it is.
        "knownLogin": fresh.is_some(),
    });
    // `</script>` in a name must not end the block that holds the settings.
    let config = config.to_string().replace('<', "\\u003c");
    let text = HTML.replace("{{folder}}", &folder()).replace("{{config}}", &config);
    let response = Response::html(200, text);
    match fresh {
        Some(cookie) => response.with("Set-Cookie", &cookie_header(&cookie)),
        None => response,
    }
}

/// The login cookie: lasting, and out of the reach of scripts.
pub fn cookie_header(value: &str) -> String {
    format!("eda_session={value}; Path=/; Max-Age=2592000; HttpOnly; SameSite=Lax")
}
