//! The step kinds of the editor.

mod drc;
pub(crate) mod export;
pub(crate) mod find_part;
pub(crate) mod kinds;
mod open;
pub(crate) mod read_back;
pub(crate) mod save;
pub(crate) mod script;

use std::collections::BTreeMap;
use std::path::Path;

use pcbflow_core::check::{
    CheckOutcome, CheckResult, Finding, FindingItem, FindingSeverity, Limits,
};
use pcbflow_core::event::ReadBack;
use pcbflow_core::evidence::{Signal, Source, codes};
use pcbflow_core::ids::Digest;
use pcbflow_core::manifest::CheckSpec;
use pcbflow_core::ports::{Observation, Services, StepContext, StepResult};
use serde_json::Value;
use tokio::time::Instant;

use crate::desk::{Desk, Kind, View, Want};
use crate::settings::EditorSettings;
use crate::signals;
use crate::trouble::{TOOL, Trouble};

/// Record that names the project which `eda/open` opened.
pub(crate) const PROJECT_RECORD: &str = "eda.project";
/// Record with the editor's version.
pub(crate) const VERSION_RECORD: &str = "eda.version";

/// One step at the desk.
pub(crate) struct Step<'a> {
    pub context: &'a StepContext,
    pub services: &'a Services,
    pub settings: &'a EditorSettings,
    pub desk: &'a mut Desk,
    pub until: Instant,
}

impl Step<'_> {
    /// Carries out the step.
    pub async fn run(&mut self) -> Observation {
        let kind = self.context.step.uses.as_str().to_owned();
        let done = match kind.as_str() {
            "eda/open" => self.open().await,
            "eda/script" => self.script().await,
            "eda/save" => self.save_step().await,
            "eda/read-back" => self.read_back_step().await,
            "eda/find-part" => self.find_part().await,
            "eda/drc" => self.drc().await,
            "eda/export" => self.export().await,
            other => Err(Trouble::failed(&format!("{other} is no kind of this release"))),
        };
        match done.and_then(|observation| self.outputs_made(observation)) {
            Ok(observation) => observation,
            Err(trouble) => self.looked_into(trouble).await.observation(&kind),
        }
    }

    /// An output that the engineer declares and the step does not make is none.
    fn outputs_made(&self, observation: Observation) -> Result<Observation, Trouble> {
        let passed = matches!(&observation.result, StepResult::Checked(c) if c.outcome == CheckOutcome::Pass);
        if !passed {
            return Ok(observation);
        }
        let made = |path: &String| observation.outputs.iter().any(|o| o.path == *path);
        let missing = self.context.step.outputs.iter().find(|path| !made(path));
        match missing {
            Some(path) => {
                let signal = Signal::new(Source::File, codes::OUTPUT_MISSING).text(path);
                Err(Trouble::seen(&format!("{path} was not made"), vec![signal]))
            }
            None => Ok(observation),
        }
    }

    /// What a refusal means is seen by a second sign: another signed-in read.
    async fn looked_into(&mut self, trouble: Trouble) -> Trouble {
        if trouble.status(401) && !trouble.is(signals::USER_WITHOUT_ID) {
            match self.desk.second_sign(self.settings, self.until).await {
                Ok(signs) => return trouble.with(signs),
                Err(other) => tracing::debug!(what = other.what, "no second sign"),
            }
        }
        if trouble.status(403) {
            let listed = self.desk.projects(self.settings, self.until).await;
            let fine = listed.is_ok_and(|all| !all.is_empty());
            let searching = trouble.is(signals::SEARCH_EMPTY);
            if fine && !searching {
                let sign = Signal::new(Source::Own, signals::OTHER_CALLS_FINE);
                return trouble.with(vec![sign]).slot("variant", "clear");
            }
            return trouble.slot("variant", "unclear");
        }
        trouble
    }

    /// Looks whether the effect of the step is there.
    pub async fn look_back(&mut self) -> ReadBack {
        match self.context.step.uses.as_str() {
            "eda/script" => self.script_read_back().await,
            _ => ReadBack::Unclear,
        }
    }

    /// What this step works on.
    pub fn want(&self, methods: &[&str], writes: bool) -> Result<Want, Trouble> {
        let step = &self.context.step;
        let project = step.arg_str("project").map(str::to_owned);
        let project = project.or_else(|| self.context.records.get(PROJECT_RECORD).cloned());
        let Some(project) = project else {
            return Err(Trouble::failed("no project: name it, or put a step eda/open before"));
        };
        let methods = methods.iter().map(|m| (*m).to_owned()).collect();
        let layout = step.uses.as_str() == "eda/drc" && self.kind()? == Kind::Pcb
            || step.uses.as_str() == "eda/export" && export::of_layout(step.arg_str("what"));
        let kind = if layout { Kind::Pcb } else { Kind::Page };
        let key = if layout { "layout" } else { "page" };
        let document = step.arg_str(key).map(str::to_owned);
        Ok(Want { project, document, kind, methods, writes })
    }

    /// Brings it to the front.
    pub async fn ready(&mut self, want: &Want) -> Result<View, Trouble> {
        self.services.progress.doing(&self.context.key, "opening the drawing in EasyEDA");
        self.desk.ready(self.settings, want, self.until).await
    }

    /// The time now in milliseconds since 1970.
    pub fn now_ms(&self) -> i64 {
        self.services.clock.now().0 / 1_000
    }

    /// Limits of the step's own check.
    pub fn limits(&self) -> Limits {
        match self.context.step.check {
            CheckSpec::ReportClean(limits) => limits,
            _ => Limits::default(),
        }
    }
}

/// An attempt whose check ran.
pub(crate) fn checked(check: CheckResult, summary: &str, view: Option<&View>) -> Observation {
    let tool = view.map_or_else(|| TOOL.to_owned(), |v| format!("{TOOL} {}", v.version));
    Observation {
        tool: tool.trim_end().to_owned(),
        summary: summary.to_owned(),
        ..Observation::of(StepResult::Checked(check))
    }
}

/// An error that a check found; equal ones are told apart by their number.
pub(crate) fn finding(engine: &str, rule: &str, message: &str, item: &str) -> Finding {
    let digest = Digest::of(format!("{engine}\n{rule}\n{message}\n{item}").as_bytes()).to_string();
    Finding {
        id: digest.get(..12).unwrap_or(&digest).to_owned(),
        engine: engine.to_owned(),
        rule: rule.to_owned(),
        severity: FindingSeverity::Error,
        message: message.to_owned(),
        items: vec![FindingItem {
            text: item.to_owned(),
            uuid: String::new(),
            at_nm: None,
            part: None,
            net: None,
        }],
        excluded: None,
        apart: false,
    }
}

/// Gives equal findings ids of their own.
pub(crate) fn numbered(mut findings: Vec<Finding>) -> Vec<Finding> {
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    for finding in &mut findings {
        let count = seen.entry(finding.id.clone()).or_default();
        *count += 1;
        if *count > 1 {
            finding.id = format!("{}-{count}", finding.id);
        }
    }
    findings
}

/// A text or a list of texts of the step's arguments.
pub(crate) fn texts(value: Option<&Value>) -> Vec<String> {
    match value {
        Some(Value::String(one)) => vec![one.clone()],
        Some(Value::Array(all)) => {
            all.iter().filter_map(Value::as_str).map(str::to_owned).collect()
        }
        _ => Vec::new(),
    }
}

/// A fault of the file system.
pub(crate) fn of_file(what: &str, path: &Path, error: &std::io::Error) -> Trouble {
    let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    Trouble::failed(&format!("{what} {name}: {error}"))
}
