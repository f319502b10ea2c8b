//! `eda/find-part`: one part of the parts list in the editor's library.
//!
//! The first hit is no match. A part is taken when the supplier's number, the maker's number or,
//! without either, everything that the step says leaves exactly one.

use pcbflow_core::check::CheckResult;
use pcbflow_core::evidence::{Signal, Source};
use pcbflow_core::ports::Observation;
use serde_json::{Value, json};

use super::{Step, checked, of_file, texts};
use crate::cadence::Cadence;
use crate::cdp::{Seen, ms};
use crate::desk::{left_ms, script};
use crate::files;
use crate::signals;
use crate::trouble::Trouble;

/// Longest wait for a search, in milliseconds.
const SEARCH_MS: u64 = 20_000;
/// Most candidates that a person is shown.
const CANDIDATES_MAX: usize = 5;
/// Note of a rung that says how to search.
pub(crate) const HOW_NOTE: &str = "eda.search";
/// Words in names and descriptions of parts that hold several in one housing.
const ARRAYS: &[&str] = &["array", "network", "isolated", "cay16", "4d03", "exb-"];
/// Methods that looking up calls.
const METHODS: &[&str] = &["lib_Device.search", "lib_Device.getByLcscIds"];

fn text<'a>(part: &'a Value, key: &str) -> &'a str {
    part.get(key).and_then(Value::as_str).unwrap_or("")
}

fn same(a: &str, b: &str) -> bool {
    a.trim().eq_ignore_ascii_case(b.trim())
}

fn is_array(part: &Value) -> bool {
    let words = format!("{} {}", text(part, "name"), text(part, "description")).to_lowercase();
    ARRAYS.iter().any(|a| words.contains(a))
}

/// What the step says about the part.
struct Wanted {
    /// Its place in the design, such as `R5`.
    part: String,
    words: Option<String>,
    supplier: Option<String>,
    maker: Option<String>,
    packages: Vec<String>,
}

impl Wanted {
    fn fits(&self, part: &Value, any_package: bool) -> bool {
        let supplier = self.supplier.as_ref().is_none_or(|s| same(s, text(part, "supplierId")));
        let maker = self.maker.as_ref().is_none_or(|m| same(m, text(part, "manufacturerId")));
        let footprint = text(part, "footprint").to_lowercase();
        // The first package is the wanted one; the others are allowed in its place.
        let allowed = if any_package { self.packages.len() } else { 1 };
        let housed = self.packages.is_empty()
            || self.packages.iter().take(allowed).any(|p| footprint.contains(&p.to_lowercase()));
        supplier && maker && housed && (self.named() || self.said_of(part))
    }

    /// Whether everything that was searched for is said of the part. A broader search finds what
    /// nobody has asked for.
    fn said_of(&self, part: &Value) -> bool {
        let all =
            ["name", "description", "manufacturer", "manufacturerId", "supplierId", "footprint"]
                .map(|key| text(part, key).to_lowercase())
                .join(" ");
        let package = |word: &str| self.packages.iter().any(|p| same(p, word));
        let words = self.words.as_deref().unwrap_or("");
        words.split_whitespace().filter(|w| !package(w)).all(|w| all.contains(&w.to_lowercase()))
    }

    fn named(&self) -> bool {
        self.supplier.is_some() || self.maker.is_some()
    }
}

impl Step<'_> {
    pub(super) async fn find_part(&mut self) -> Result<Observation, Trouble> {
        let wanted = self.wanted_part()?;
        let how = self.context.notes.get(HOW_NOTE).map_or("", String::as_str).to_owned();
        let found = self.search(&wanted, &how).await?;
        let part = chosen(&wanted, &found, &how)?;
        let usual = format!("parts/{}.json", wanted.part);
        let to = self.context.step.arg_str("to").unwrap_or(&usual);
        let mut bytes = serde_json::to_vec_pretty(&part).unwrap_or_default();
        bytes.push(b'\n');
        let output = files::output(&self.context.board_dir, to, &bytes)
            .map_err(|e| of_file("the part can't be written down:", to.as_ref(), &e))?;
        let summary =
            format!("{}: {} {}", wanted.part, text(&part, "supplierId"), text(&part, "name"));
        let mut observation = checked(CheckResult::pass("part_found"), &summary, None);
        observation.outputs.push(output);
        Ok(observation)
    }

    fn wanted_part(&self) -> Result<Wanted, Trouble> {
        let step = &self.context.step;
        let arg = |key: &str| step.arg_str(key).map(str::to_owned);
        let wanted = Wanted {
            part: arg("part").unwrap_or_else(|| step.id.to_string()),
            words: arg("search"),
            supplier: arg("supplier"),
            maker: arg("maker"),
            packages: texts(step.with.get("package")),
        };
        if wanted.words.is_none() && !wanted.named() {
            return Err(Trouble::failed("nothing to search by: give search, supplier or maker"));
        }
        Ok(wanted)
    }

    /// Looks the part up, at the pace of the workspace.
    async fn search(&mut self, wanted: &Wanted, how: &str) -> Result<Vec<Value>, Trouble> {
        let want = self.want(METHODS, false)?;
        let view = self.ready(&want).await?;
        let cadence = Cadence::at(&self.context.state_dir);
        let pace = |e: std::io::Error| Trouble::failed(&format!("the pace of searches: {e}"));
        let wait = cadence.take(self.now_ms()).map_err(pace)?;
        tokio::time::sleep(ms(wait.min(left_ms(self.until)))).await;
        let by_number = how == "supplier" || (how.is_empty() && wanted.words.is_none());
        let numbers: Vec<&str> =
            wanted.supplier.iter().filter(|_| by_number).map(String::as_str).collect();
        let input = json!({ "numbers": numbers, "words": query(wanted, how) });
        let search =
            script(include_str!("../page/search.js"), &input, left_ms(self.until).min(SEARCH_MS));
        self.services.progress.doing(&self.context.key, &format!("looking up {}", wanted.part));
        let (answer, seen) = self.desk.run(&view.project, "looking up a part", &search).await?;
        let refused = |s: u16| matches!(s, 401 | 403 | 429 | 500..=599);
        if seen.refused.iter().any(|r| refused(r.status)) || !seen.failed.is_empty() {
            let now = self.now_ms();
            if seen.refused.iter().any(|r| matches!(r.status, 403 | 429)) {
                cadence.slow_down(now).map_err(pace)?;
            }
            return Err(self.refused_search(&seen, cadence.count()).slot("part", &wanted.part));
        }
        if let Some(thrown) = answer.get("thrown").and_then(Value::as_str) {
            return Err(Trouble::failed(thrown).with(seen.signals()));
        }
        cadence.answered().map_err(pace)?;
        let all: Vec<Value> = answer["parts"].as_array().cloned().unwrap_or_default();
        if all.is_empty() {
            let empty = Signal::new(Source::Report, signals::SEARCH_EMPTY);
            let mut facts = seen.signals();
            // An answer that the page had kept is an answer all the same.
            if !facts.iter().any(|f| f.source == Source::Http) {
                facts.push(Signal::http(200, "kept by the page"));
            }
            let mut none = Trouble::seen("no part fits", facts).with(vec![empty]);
            if cadence.just_refused(self.now_ms()) {
                none = none.with(vec![Signal::new(Source::Own, signals::THROTTLE_SEEN)]);
            }
            return Err(none.slot("part", &wanted.part));
        }
        Ok(all)
    }

    fn refused_search(&self, seen: &Seen, answered: u64) -> Trouble {
        let mut more = vec![Signal::new(Source::Report, signals::SEARCH_EMPTY)];
        if answered > 0 {
            let count = i64::try_from(answered).unwrap_or(i64::MAX);
            more.push(Signal::new(Source::Own, signals::SEARCHES_ANSWERED).number(count));
        }
        Trouble::seen("the part search was refused", seen.signals()).with(more)
    }
}

/// The words of a search; a broader one leaves out all but the maker's number or the first word.
fn query(wanted: &Wanted, how: &str) -> String {
    let words = wanted.words.clone().or_else(|| wanted.maker.clone()).unwrap_or_default();
    match how {
        "broad" | "footprint" => {
            let first = words.split_whitespace().next().unwrap_or("").to_owned();
            wanted.maker.clone().unwrap_or(first)
        }
        _ => words,
    }
}

/// The one part that is meant, or why none is.
fn chosen(wanted: &Wanted, found: &[Value], how: &str) -> Result<Value, Trouble> {
    let report = |code: &str, t: &str| Signal::new(Source::Report, code).text(t);
    let names = |list: &[&Value]| {
        let name = |p: &&Value| format!("{} {}", text(p, "supplierId"), text(p, "name"));
        list.iter().take(CANDIDATES_MAX).map(name).collect::<Vec<_>>().join(", ")
    };
    let fail = |what: &str, signal: Signal, list: &[&Value]| {
        let trouble = Trouble::seen(what, vec![Signal::http(200, "search"), signal]);
        Err(trouble.slot("part", &wanted.part).slot("items", &names(list)))
    };
    let single: Vec<&Value> = found.iter().filter(|p| !is_array(p)).collect();
    if single.is_empty() {
        let all: Vec<&Value> = found.iter().collect();
        return fail("only arrays fit", report(signals::ONLY_ARRAYS, &names(&all)), &all);
    }
    let fitting: Vec<&Value> =
        single.iter().copied().filter(|p| wanted.fits(p, how == "footprint")).collect();
    let with_model: Vec<&Value> = fitting
        .iter()
        .copied()
        .filter(|p| !text(p, "uuid").is_empty() && !text(p, "libraryUuid").is_empty())
        .collect();
    match with_model.as_slice() {
        [] if !fitting.is_empty() => {
            fail("the part has no model", report(signals::NO_MODEL, &names(&fitting)), &fitting)
        }
        [] => fail("other parts only", report(signals::WRONG_VALUES, &names(&single)), &single),
        [one] => Ok((*one).clone()),
        // The same number twice is the same part.
        [one, ..] if wanted.named() => Ok((*one).clone()),
        several => {
            fail("several parts fit", report(signals::WRONG_VALUES, &names(several)), several)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(number: &str, name: &str, footprint: &str) -> Value {
        json!({ "uuid": "u", "libraryUuid": "l", "supplierId": number, "name": name,
                "footprint": footprint, "manufacturerId": format!("M-{number}") })
    }

    fn wanted() -> Wanted {
        Wanted {
            part: "R5".into(),
            words: Some("10k 0603".into()),
            supplier: None,
            maker: None,
            packages: vec!["0603".into(), "0402".into()],
        }
    }

    fn code(found: &[Value], wanted: &Wanted, how: &str) -> Result<String, String> {
        let taken = chosen(wanted, found, how).map(|p| text(&p, "supplierId").to_owned());
        taken.map_err(|t| t.signals.last().map_or(String::new(), |s| s.code.clone()))
    }

    #[test]
    fn the_first_hit_is_no_match() {
        let (a, b) = (part("C1", "10k", "R0603"), part("C2", "10k", "R0603"));
        let array = part("C3", "10k x4 array", "R0603");
        let other = part("C4", "10k", "R0402");
        let all = [a.clone(), b.clone()];
        assert_eq!(code(&all, &wanted(), ""), Err(signals::WRONG_VALUES.into()), "which one?");
        assert_eq!(code(&[array.clone(), a.clone()], &wanted(), ""), Ok("C1".into()));
        assert_eq!(code(&[array], &wanted(), ""), Err(signals::ONLY_ARRAYS.into()));
        assert_eq!(
            code(std::slice::from_ref(&other), &wanted(), ""),
            Err(signals::WRONG_VALUES.into())
        );
        assert_eq!(code(&[other], &wanted(), "footprint"), Ok("C4".into()));
        let exact = Wanted { supplier: Some("c2".into()), ..wanted() };
        assert_eq!(code(&all, &exact, ""), Ok("C2".into()));
        let mut bare = a;
        bare["uuid"] = Value::Null;
        assert_eq!(code(&[bare], &wanted(), ""), Err(signals::NO_MODEL.into()));
        // Found by its first word only, and alone: not what was asked for.
        let switch = part("C9", "10 pole switch", "R0603");
        assert_eq!(code(&[switch], &wanted(), "broad"), Err(signals::WRONG_VALUES.into()));
    }
}
