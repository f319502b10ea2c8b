//! `eda/drc`: the editor's own check, of a schematic page or a layout.
//!
//! For a page the editor may answer only yes or no, whatever was asked for. What a no means is
//! then looked up in the drawing itself.

use pcbflow_core::check::{CheckResult, Finding};
use pcbflow_core::evidence::{Signal, Source};
use pcbflow_core::ports::Observation;
use serde_json::{Value, json};

use super::{Step, checked, finding, numbered};
use crate::desk::{Kind, View, left_ms, script};
use crate::sheet::{self, Sheet};
use crate::signals;
use crate::trouble::Trouble;

/// Longest wait for the check, in milliseconds.
const CHECK_MS: u64 = 60_000;

const CHECK: &str = "const root = window._EXTAPI_ROOT_; \
                     const answer = await root[INPUT.space].check(true, false, true); \
                     return answer === undefined ? null : { answer };";

impl Step<'_> {
    pub(super) async fn drc(&mut self) -> Result<Observation, Trouble> {
        let kind = self.kind()?;
        let space = if kind == Kind::Pcb { "pcb_Drc" } else { "sch_Drc" };
        let method = format!("{space}.check");
        let want = self.want(&[&method, "dmt_SelectControl.getCurrentDocumentInfo"], false)?;
        let view = self.ready(&want).await?;
        let seen = sheet::settled(self.desk, &view, kind == Kind::Page, self.until).await?;
        self.services.progress.doing(&self.context.key, "checking the drawing in EasyEDA");
        let input = json!({ "space": space });
        let check = script(CHECK, &input, left_ms(self.until).min(CHECK_MS));
        let (answer, window) = self.desk.run(&view.project, "the editor's check", &check).await?;
        let answer = answer.get("answer").cloned().unwrap_or(Value::Null);
        let findings = match &answer {
            Value::Bool(true) => Vec::new(),
            Value::Bool(false) => rebuilt(&seen),
            Value::Array(all) => all.iter().map(told).collect(),
            _ => {
                let signal = Signal::new(Source::Report, signals::SHAPE_DIFFERS).text(&method);
                let trouble = Trouble::seen("the check gave no answer", window.signals());
                return Err(trouble.with(vec![signal]));
            }
        };
        // The check of another document than the wanted one says nothing.
        self.still_in_front(&view).await?;
        let mut check = CheckResult::of_findings("editor_check", numbered(findings), self.limits());
        check.empty = seen.records.is_empty();
        let count = check.findings.len();
        let summary =
            format!("EasyEDA's check: {count} findings on {} objects", seen.records.len());
        Ok(checked(check, &summary, Some(&view)))
    }

    /// Page or layout, as the step says.
    pub(super) fn kind(&self) -> Result<Kind, Trouble> {
        let step = &self.context.step;
        match step.arg_str("of") {
            None if step.with.contains_key("layout") => Ok(Kind::Pcb),
            None | Some("schematic") => Ok(Kind::Page),
            Some("layout") => Ok(Kind::Pcb),
            Some(other) => {
                Err(Trouble::failed(&format!("'of' is schematic or layout, not {other}")))
            }
        }
    }

    pub(super) async fn still_in_front(&mut self, view: &View) -> Result<(), Trouble> {
        sheet::read(self.desk, view, false, self.until).await.map(drop)
    }
}

/// What a plain no means: pins without a net.
fn rebuilt(seen: &Sheet) -> Vec<Finding> {
    let text = |v: &Value, key: &str| v.get(key).and_then(Value::as_str).unwrap_or("").to_owned();
    let mut found = Vec::new();
    for part in seen.of_kind("part") {
        for pin in part.get("pins").and_then(Value::as_array).into_iter().flatten() {
            if text(pin, "net").is_empty() {
                let name = format!("{}.{}", text(part, "designator"), text(pin, "number"));
                let what = format!("pin {name} has no net");
                found.push(finding("easyeda-drc", "floating_pin", &what, &name));
            }
        }
    }
    if found.is_empty() {
        let what = "EasyEDA's check says no and does not say why";
        found.push(finding("easyeda-drc", "unnamed", what, ""));
    }
    found
}

/// A fault as the editor tells it.
fn told(entry: &Value) -> Finding {
    let text = |key: &str| entry.get(key).and_then(Value::as_str).unwrap_or("").to_owned();
    let rule = if text("type").is_empty() { "fault".to_owned() } else { text("type") };
    let what = pcbflow_core::text::cut_bytes(&entry.to_string(), 500).to_owned();
    let item = ["net", "pin", "designator"].into_iter().map(text).find(|t| !t.is_empty());
    finding("easyeda-drc", &rule, &format!("EasyEDA's check: {what}"), &item.unwrap_or_default())
}
