//! A subsystem of which only the failure rows exist in this release.

use async_trait::async_trait;
use pcbflow_core::check::CheckResult;
use pcbflow_core::evidence::Evidence;
use pcbflow_core::manifest::KindInfo;
use pcbflow_core::ports::{
    Closure, Observation, Recovery, Services, StepContext, StepResult, Subsystem,
};
use pcbflow_core::row::Row;

/// Rows, messages and diagnosis without step kinds and actions.
pub struct RowsOnly {
    name: &'static str,
    rows: &'static [Row],
}

impl RowsOnly {
    /// A subsystem with these rows.
    #[must_use]
    pub fn new(name: &'static str, rows: &'static [Row]) -> RowsOnly {
        RowsOnly { name, rows }
    }
}

const LATER: &str = "this action comes with a later release";

#[async_trait]
impl Subsystem for RowsOnly {
    fn name(&self) -> &'static str {
        self.name
    }
    fn rows(&self) -> Vec<Row> {
        self.rows.to_vec()
    }
    fn kinds(&self) -> Vec<KindInfo> {
        Vec::new()
    }
    async fn closure(&self, _: &StepContext, _: &Services) -> Result<Closure, Evidence> {
        Ok(Closure::default())
    }
    async fn run(&self, context: &StepContext, _: &Services) -> Observation {
        // No kind leads here; if one ever does, it must not look as if it had run.
        Observation::of(StepResult::Failed(Evidence::new(context.step.uses.as_str(), self.name)))
    }
    async fn recover(&self, _: &StepContext, _: &Services, _: &str, _: &str) -> Recovery {
        Recovery::not_applicable(LATER)
    }
    async fn probe(&self, _: &StepContext, _: &Services, probe: &str) -> CheckResult {
        CheckResult::could_not_run(probe, LATER)
    }
}
