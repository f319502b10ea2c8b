//! `eda/open`: the project is open, signed in, and the wanted one.

use pcbflow_core::check::CheckResult;
use pcbflow_core::ports::Observation;

use super::{PROJECT_RECORD, Step, VERSION_RECORD, checked};
use crate::trouble::Trouble;

/// Methods without which no step of the editor works.
const NEEDED: &[&str] = &[
    "sys_Environment.getUserInfo",
    "dmt_Project.getCurrentProjectInfo",
    "dmt_SelectControl.getCurrentDocumentInfo",
    "dmt_EditorControl.openDocument",
    "dmt_EditorControl.closeDocument",
    "sch_PrimitiveComponent.getAll",
    "sch_PrimitiveWire.getAll",
    "sch_Document.save",
];

impl Step<'_> {
    pub(super) async fn open(&mut self) -> Result<Observation, Trouble> {
        let want = self.want(NEEDED, false)?;
        let view = self.ready(&want).await?;
        let summary = format!("the project is open in EasyEDA {}", view.version);
        let mut observation = checked(CheckResult::pass("project_open"), &summary, Some(&view));
        observation.records.insert(PROJECT_RECORD.to_owned(), view.project.clone());
        observation.records.insert(VERSION_RECORD.to_owned(), view.version.clone());
        Ok(observation)
    }
}
