//! [`Eda`]: steps that drive the EasyEDA editor in a browser.

use std::sync::Arc;

use async_trait::async_trait;
use pcbflow_core::check::CheckResult;
use pcbflow_core::event::ReadBack;
use pcbflow_core::evidence::Evidence;
use pcbflow_core::manifest::{CheckSpec, KindInfo, ManifestFault, StepDef, path_fault};
use pcbflow_core::ports::{Closure, Observation, Recovery, Services, StepContext, Subsystem};
use pcbflow_core::row::Row;
use tokio::sync::{Mutex, MutexGuard};
use tokio::time::Instant;

use crate::block::Block;
use crate::cdp::ms;
use crate::desk::Desk;
use crate::settings::EditorSettings;
use crate::steps::script::CALL_SECONDS_MAX;
use crate::steps::{Step, export, kinds, texts};
use crate::trouble::Trouble;
use crate::{recover, rows};

/// Longest time for a read-back, an action or a probe, in milliseconds.
const LOOK_MS: u64 = 120_000;

/// The editor's subsystem. Steps of all boards share one desk, one after the other: a page does
/// one thing at a time.
#[derive(Debug, Default)]
pub struct Eda {
    settings: EditorSettings,
    desk: Arc<Mutex<Desk>>,
}

impl Eda {
    /// With what a person set about the editor.
    #[must_use]
    pub fn new(settings: EditorSettings) -> Eda {
        Eda { settings, desk: Arc::default() }
    }

    async fn desk(&self, until: Instant) -> Option<MutexGuard<'_, Desk>> {
        tokio::time::timeout_at(until, self.desk.lock()).await.ok()
    }
}

/// A check that a step of the editor would never make must not look as if it were made.
fn check_fault(step: &StepDef) -> Option<ManifestFault> {
    let finds = [kinds::READ_BACK.name, kinds::DRC.name].contains(&step.uses.as_str());
    let made = match step.check {
        CheckSpec::Own => true,
        CheckSpec::ReportClean(_) => finds,
        _ => false,
    };
    (!made).then(|| ManifestFault {
        path: "check".to_owned(),
        fault: format!("'{}' does not make this check", step.uses),
        remedy: "remove it: the step proves its own effect".to_owned(),
    })
}

#[async_trait]
impl Subsystem for Eda {
    fn name(&self) -> &'static str {
        "eda"
    }

    fn rows(&self) -> Vec<Row> {
        rows::ROWS.to_vec()
    }

    fn kinds(&self) -> Vec<KindInfo> {
        kinds::ALL.to_vec()
    }

    fn step_faults(&self, step: &StepDef) -> Vec<ManifestFault> {
        let fault = |key: &str, remedy: &str| ManifestFault {
            path: format!("with.{key}"),
            fault: format!("'{key}' is not of the right form"),
            remedy: remedy.to_owned(),
        };
        let plain = [
            "project", "page", "layout", "block", "report", "part", "search", "supplier", "maker",
            "to", "what", "of",
        ];
        let mut found: Vec<ManifestFault> = plain
            .iter()
            .filter(|key| step.with.get(**key).is_some_and(|v| !v.is_string()))
            .map(|key| fault(key, "write a text"))
            .collect();
        for key in ["script", "engine", "blocks", "package"] {
            if step.with.get(key).is_some_and(|v| texts(Some(v)).is_empty()) {
                found.push(fault(key, "write a text or a list of texts"));
            }
        }
        let one_of = |key: &str, words: &[&str], found: &mut Vec<ManifestFault>| {
            if step.arg_str(key).is_some_and(|w| !words.contains(&w)) {
                let remedy = format!("write one of {}", words.join(", "));
                found.push(fault(key, &remedy));
            }
        };
        if step.uses.as_str() == kinds::EXPORT.name {
            one_of("what", &export::forms(), &mut found);
        }
        one_of("of", &["schematic", "layout"], &mut found);
        found.extend(check_fault(step));
        for key in ["script", "engine", "report", "to"] {
            for path in texts(step.with.get(key)) {
                if let Some(why) = path_fault(&path) {
                    found.push(ManifestFault {
                        path: format!("with.{key}"),
                        fault: format!("{path:?} {why}"),
                        remedy: "use a path inside the board's folder, with '/'".to_owned(),
                    });
                }
            }
        }
        let seconds = step.with.get("call_seconds");
        let fits =
            |v: &serde_json::Value| v.as_u64().is_some_and(|s| (1..=CALL_SECONDS_MAX).contains(&s));
        if seconds.is_some_and(|v| !fits(v)) {
            let remedy = format!("write a whole number from 1 to {CALL_SECONDS_MAX}");
            found.push(ManifestFault {
                path: "with.call_seconds".into(),
                fault: "'call_seconds' is no such number".into(),
                remedy,
            });
        }
        found
    }

    async fn closure(&self, context: &StepContext, _: &Services) -> Result<Closure, Evidence> {
        let mut closure = Closure::default();
        for key in ["engine", "script"] {
            let names = texts(context.step.with.get(key));
            closure.files.extend(names.iter().map(|name| context.root.join(name)));
        }
        if !matches!(context.step.uses.as_str(), "eda/open" | "eda/script" | "eda/find-part") {
            // What looks at a drawing looks again after a block was placed anew.
            closure.files.extend(Block::files(&context.state_dir, &context.board));
        }
        closure.settings.insert("editor".into(), self.settings.address.clone());
        Ok(closure)
    }

    async fn run(&self, context: &StepContext, services: &Services) -> Observation {
        let until = Instant::now() + ms(context.deadline_ms);
        let kind = context.step.uses.as_str();
        let Some(mut desk) = self.desk(until).await else {
            let what = "another step had the editor all the time";
            let late = Trouble::late(what, context.deadline_ms);
            let ended = pcbflow_core::event::Ended::NotStarted;
            return Trouble { ended, ..late }.observation(kind);
        };
        let mut step = Step { context, services, settings: &self.settings, desk: &mut desk, until };
        let work = tokio::time::timeout_at(until, step.run());
        tokio::select! {
            biased;
            done = work => done.unwrap_or_else(|_| {
                Trouble::late("the step's time is over", context.deadline_ms).observation(kind)
            }),
            () = services.cancel.cancelled() => {
                let stopped = Trouble::failed("somebody wants to stop");
                let ended = pcbflow_core::event::Ended::Stopped;
                Trouble { ended, ..stopped }.observation(kind)
            }
        }
    }

    async fn read_back(&self, context: &StepContext, services: &Services) -> ReadBack {
        let until = Instant::now() + ms(LOOK_MS);
        let Some(mut desk) = self.desk(until).await else { return ReadBack::Unclear };
        let mut step = Step { context, services, settings: &self.settings, desk: &mut desk, until };
        step.look_back().await
    }

    async fn recover(
        &self,
        context: &StepContext,
        services: &Services,
        class: &str,
        action: &str,
    ) -> Recovery {
        let until = Instant::now() + ms(LOOK_MS);
        let Some(mut desk) = self.desk(until).await else {
            return Recovery::failed("another step had the editor all the time");
        };
        let mut step = Step { context, services, settings: &self.settings, desk: &mut desk, until };
        recover::act(&mut step, class, action).await
    }

    async fn probe(&self, context: &StepContext, services: &Services, probe: &str) -> CheckResult {
        let until = Instant::now() + ms(LOOK_MS);
        let Some(mut desk) = self.desk(until).await else {
            return CheckResult::could_not_run(probe, "another step had the editor all the time");
        };
        let mut step = Step { context, services, settings: &self.settings, desk: &mut desk, until };
        crate::probe::look(&mut step, probe).await
    }

    async fn let_go(&self) {
        let closed = self.desk.lock().await.close_browser().await;
        tracing::debug!(?closed, "the browser was let go");
    }
}
