//! A look at a script before it is sent: calls that do not fit the table are refused with their
//! line. A wrong call is the main cause of a window that hangs.
//!
//! What can't be seen in the text (a value that a search gives) the page looks at itself, right
//! before each call.

use std::collections::BTreeSet;

use pcbflow_core::manifest::nearest;

use super::lex::{Kind, Token, tokens};
use super::table::{self, Is, REFUSED, Signature, TABLE};

/// Names by which a script reaches the API.
const ROOTS: &[&str] = &["eda", "_EXTAPI_ROOT_"];
/// Most faults that are told of one script.
pub const FAULTS_MAX: usize = 50;

/// A call that must not be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The method.
    pub api: String,
    /// The line in the file, counted from 1.
    pub line: usize,
    /// What is wrong with it.
    pub why: String,
}

/// What a script calls.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Calls {
    /// Methods of the table, each once.
    pub methods: BTreeSet<String>,
    /// Calls that must not be sent.
    pub faults: Vec<Fault>,
}

/// Looks at all calls of a script.
#[must_use]
pub fn check(code: &str) -> Calls {
    let all = tokens(code);
    let mut found = Calls::default();
    for at in 0..all.len() {
        if let Some((name, line, open)) = call_at(&all, at) {
            let args = arguments(&all, open);
            judge(&name, line, &args, &mut found);
        }
    }
    found.faults.truncate(FAULTS_MAX);
    found
}

/// The script as it is run: what names the root by `window` gets the guarded one instead. Lines
/// and columns stay.
#[must_use]
pub fn guarded(code: &str) -> String {
    let all = tokens(code);
    let mut out = code.as_bytes().to_vec();
    for three in all.windows(3) {
        if let [holder, dot, name] = three
            && matches!(holder.text, "window" | "globalThis" | "self")
            && matches!(dot.text, "." | "?.")
            && name.text == "_EXTAPI_ROOT_"
        {
            for byte in out.iter_mut().take(name.at).skip(holder.at) {
                if !byte.is_ascii_whitespace() {
                    *byte = b' ';
                }
            }
        }
    }
    // Only whole words of one byte a letter were blanked, so it is text as before.
    String::from_utf8(out).unwrap_or_else(|_| code.to_owned())
}

/// The method called at a token: its name, its line, and where the bracket opens.
fn call_at(all: &[Token<'_>], at: usize) -> Option<(String, usize, usize)> {
    let token = |n: usize| all.get(at + n);
    let root = token(0)?;
    if root.kind != Kind::Name || !ROOTS.contains(&root.text) {
        return None;
    }
    let before = at.checked_sub(1).and_then(|b| all.get(b)).map_or("", |t| t.text);
    let of_window = at >= 2
        && all.get(at - 2).is_some_and(|t| matches!(t.text, "window" | "globalThis" | "self"));
    if matches!(before, "." | "?.") && !of_window {
        return None;
    }
    let dot = |n: usize| token(n).is_some_and(|t| matches!(t.text, "." | "?."));
    let name = |n: usize| token(n).filter(|t| t.kind == Kind::Name);
    if !dot(1) || !dot(3) {
        return None;
    }
    let (space, method) = (name(2)?, name(4)?);
    let open = if dot(5) { 6 } else { 5 };
    (token(open)?.text == "(")
        .then(|| (format!("{}.{}", space.text, method.text), method.line, at + open))
}

/// The arguments of a call, each as its tokens.
fn arguments<'t, 'a>(all: &'t [Token<'a>], open: usize) -> Vec<&'t [Token<'a>]> {
    let mut depth = 0_u32;
    let mut from = open + 1;
    let mut args = Vec::new();
    for (at, token) in all.iter().enumerate().skip(open) {
        match (token.kind, token.text) {
            (Kind::Sign, "(" | "[" | "{") => depth += 1,
            (Kind::Template, text) if text.ends_with("${") && !text.starts_with('}') => depth += 1,
            (Kind::Template, text) if text.starts_with('}') && !text.ends_with("${") => {
                depth = depth.saturating_sub(1);
            }
            (Kind::Sign, ")" | "]" | "}") => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    if at > from {
                        args.extend(all.get(from..at));
                    }
                    return args;
                }
            }
            (Kind::Sign, ",") if depth == 1 => {
                args.extend(all.get(from..at));
                from = at + 1;
            }
            _ => {}
        }
    }
    args
}

fn judge(name: &str, line: usize, args: &[&[Token<'_>]], found: &mut Calls) {
    let mut refuse = |why: String| {
        found.faults.push(Fault { api: name.to_owned(), line, why });
    };
    if let Some((_, why)) = REFUSED.iter().find(|(n, _)| *n == name) {
        return refuse(format!("is not called from a step: {why}"));
    }
    let Some(signature) = table::find(name) else {
        let near = nearest(name, TABLE.iter().map(|s| s.name));
        let near = near.map_or_else(String::new, |n| format!("; did you mean {n}?"));
        return refuse(format!("is no method that pcbflow knows{near}"));
    };
    let spread = args.iter().any(|a| a.first().is_some_and(|t| t.text == "..."));
    if !spread {
        if args.len() < signature.min {
            refuse(format!("wants at least {} arguments, here are {}", signature.min, args.len()));
        }
        if args.len() > signature.args.len() {
            let most = signature.args.len();
            refuse(format!("takes at most {most} arguments, here are {}", args.len()));
        }
        for (at, tokens) in args.iter().enumerate() {
            if let Some(why) = misfit(signature, at, tokens) {
                refuse(why);
            }
        }
    }
    found.methods.insert(name.to_owned());
}

/// What is seen of an argument in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Seen<'a> {
    Text(&'a str),
    Number,
    Bool,
    Nothing,
    Pairs,
    List,
    Object,
    BareId,
    Unknown,
}

fn seen<'a>(tokens: &[Token<'a>]) -> Seen<'a> {
    let texts: Vec<&str> = tokens.iter().map(|t| t.text).collect();
    match (tokens, texts.as_slice()) {
        ([one], _) if one.kind == Kind::Text => {
            Seen::Text(one.text.get(1..one.text.len().saturating_sub(1)).unwrap_or(""))
        }
        ([one], _) if one.kind == Kind::Number => Seen::Number,
        ([sign, one], _) if matches!(sign.text, "-" | "+") && one.kind == Kind::Number => {
            Seen::Number
        }
        (_, ["true" | "false"]) => Seen::Bool,
        (_, ["null" | "undefined"]) => Seen::Nothing,
        (_, ["[", "[", ..]) if closes_last(tokens) => Seen::Pairs,
        (_, ["[", ..]) if closes_last(tokens) => Seen::List,
        (_, ["{", ..]) if closes_last(tokens) => Seen::Object,
        _ if bare_id(tokens) => Seen::BareId,
        _ => Seen::Unknown,
    }
}

/// Whether the bracket that opens first closes last: the argument is nothing but it.
fn closes_last(tokens: &[Token<'_>]) -> bool {
    let mut depth = 0_u32;
    for (at, token) in tokens.iter().enumerate().filter(|(_, t)| t.kind == Kind::Sign) {
        match token.text {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return at + 1 == tokens.len();
                }
            }
            _ => {}
        }
    }
    false
}

/// `part.uuid`, also as one of several with `||` or `??` between.
fn bare_id(tokens: &[Token<'_>]) -> bool {
    let plain = |t: &Token<'_>| t.kind == Kind::Name || matches!(t.text, "." | "?." | "|" | "?");
    let ids = ["uuid", "id", "primitiveId"];
    tokens.len() >= 3
        && tokens.iter().all(plain)
        && tokens
            .split(|t| matches!(t.text, "|" | "?"))
            .filter(|part| !part.is_empty())
            .any(|part| part.len() >= 3 && part.last().is_some_and(|t| ids.contains(&t.text)))
}

fn misfit(signature: &Signature, at: usize, tokens: &[Token<'_>]) -> Option<String> {
    let arg = signature.args.get(at)?;
    let seen = seen(tokens);
    if seen == Seen::Unknown || (seen == Seen::Nothing && at >= signature.min) {
        return None;
    }
    let wants = match (arg.is, seen) {
        (Is::Any, _)
        | (Is::Number, Seen::Number)
        | (Is::Text | Is::Texts, Seen::Text(_))
        | (Is::Text | Is::Texts | Is::One(_), Seen::BareId)
        | (Is::Bool, Seen::Bool)
        | (Is::Object, Seen::Object)
        | (Is::Device, Seen::Object)
        | (Is::List | Is::Flat | Is::Texts, Seen::List)
        | (Is::List, Seen::Pairs)
        | (Is::Ids, Seen::Text(_) | Seen::BareId | Seen::List | Seen::Object) => return None,
        (Is::One(words), Seen::Text(word)) if words.contains(&word) => return None,
        (Is::One(words), _) => format!("one of {}", words.join(", ")),
        (Is::Device, _) => {
            "an object with uuid and libraryUuid, such as a search gives, not a bare uuid".into()
        }
        (Is::Flat, _) => "a flat list [x1, y1, x2, y2, ...], not pairs".into(),
        (Is::Number, _) => "a number".into(),
        (Is::Text, _) => "a text".into(),
        (Is::Texts, _) => "a text or a list of texts".into(),
        (Is::Bool, _) => "true or false".into(),
        (Is::Object, _) => "an object".into(),
        (Is::List, _) => "a list".into(),
        (Is::Ids, _) => "an id or an object".into(),
    };
    Some(format!("argument {} ({}) must be {wants}", at + 1, arg.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(code: &str) -> Vec<String> {
        check(code).faults.iter().map(|f| format!("{} {} {}", f.line, f.api, f.why)).collect()
    }

    #[test]
    fn what_makes_the_window_hang_is_refused_with_its_line() {
        let code = "const a = 1;\nawait eda.sch_PrimitiveComponent.create(part.uuid || part.id, x, y, rot || 0);\n\
                    await eda.sch_PrimitiveWire.create([[0, 0], [10, 0]], 'VCC');\n\
                    eda.pcb_PrimitiveArc.create('GND', 1, 0, 0);\n\
                    eda.sch_PrimitiveComponent.creat(d, 0, 0);\n\
                    eda.sch_PrimitiveComponent.createNetFlag('Masse', 'GND', 0, 0);\n\
                    eda.sch_PrimitiveComponent.create(d, 0);\n\
                    eda.sch_PrimitiveComponent.create(d, 0, 0, 90);\n\
                    eda.lib_Device.search('a', '', null, null, 5, 1, 7);";
        let found = faults(code);
        let lines: Vec<&str> = found.iter().map(|f| &f[..1]).collect();
        assert_eq!(lines, ["2", "3", "4", "5", "6", "7", "8", "9"], "{found:#?}");
        for (at, words) in [
            (0, "not a bare uuid"),
            (1, "not pairs"),
            (2, "end the drawing window"),
            (3, "did you mean sch_PrimitiveComponent.create?"),
            (4, "one of Power"),
            (5, "at least 3"),
            (6, "argument 4 (subPartName) must be a text"),
            (7, "at most 6"),
        ] {
            assert!(found[at].contains(words), "{}", found[at]);
        }
    }

    #[test]
    fn right_calls_and_look_alikes_pass() {
        let code = "const d = (await eda.lib_Device.search('10k 0603'))[0];\n\
                    const r = await eda.sch_PrimitiveComponent.create(d, 100, -50, '', 90, false);\n\
                    await eda.sch_PrimitiveComponent.create({ uuid: d.uuid, libraryUuid: d.libraryUuid }, 1, 2);\n\
                    await eda?.sch_PrimitiveWire.create([p.x, p.y, p.x + f(1, 2), p.y], net);\n\
                    await eda.sch_PrimitiveWire.create(...line);\n\
                    await eda.sch_PrimitiveComponent.getAllPinsByPrimitiveId(r.primitiveId);\n\
                    await eda.sch_PrimitiveComponent.modify(r, { designator: `R${n}` }, );\n\
                    // eda.sch_PrimitiveComponent.create(1)\n\
                    const text = 'eda.sch_PrimitiveComponent.create(1)';\n\
                    my.eda.sch_PrimitiveComponent.create(1);";
        assert_eq!(faults(code), Vec::<String>::new());
        let methods = check(code).methods;
        assert!(methods.contains("lib_Device.search") && methods.len() == 5, "{methods:?}");
    }

    #[test]
    fn the_root_of_the_window_is_the_guarded_one() {
        let code =
            "const eda = window._EXTAPI_ROOT_;\n'window._EXTAPI_ROOT_'; globalThis . _EXTAPI_ROOT_";
        let run = guarded(code);
        assert_eq!(run.len(), code.len());
        assert!(
            run.starts_with("const eda =        _EXTAPI_ROOT_;\n'window._EXTAPI_ROOT_'"),
            "{run}"
        );
        assert!(!run.contains("globalThis"), "{run}");
        assert_eq!(faults("window._EXTAPI_ROOT_.sch_PrimitiveComponent.create(1)").len(), 2);
    }
}
