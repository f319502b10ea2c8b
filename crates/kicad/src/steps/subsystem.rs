//! The subsystem as the engine sees it.

use async_trait::async_trait;
use pcbflow_core::check::CheckResult;
use pcbflow_core::evidence::Evidence;
use pcbflow_core::manifest::{KindInfo, ManifestFault, StepDef, path_fault, unmade_check};
use pcbflow_core::ports::{
    Closure, Observation, Recovery, RowOverride, Services, StepContext, Subsystem,
};
use pcbflow_core::row::Row;

use super::seen::Rounds;
use super::stop::{Session, Stop};
use super::{args, closure, compare, drc, erc, export, jobset, kinds, netlist, unsaved};
use crate::cli::call;
use crate::cli::find::FindEnv;
use crate::recover;

/// KiCad on the command line.
#[derive(Debug, Default)]
pub struct Kicad {
    find: Option<FindEnv>,
    rounds: Rounds,
}

impl Kicad {
    /// Looks for the tool on `PATH` and in the usual places of the system.
    #[must_use]
    pub fn new() -> Kicad {
        Kicad::default()
    }

    /// Looks for the tool in these places only.
    #[must_use]
    pub fn looking_in(find: FindEnv) -> Kicad {
        Kicad { find: Some(find), ..Kicad::default() }
    }

    /// Where it looks now.
    pub(crate) fn env(&self) -> FindEnv {
        self.find.clone().unwrap_or_else(FindEnv::of_system)
    }
}

#[async_trait]
impl Subsystem for Kicad {
    fn name(&self) -> &'static str {
        "kicad"
    }

    fn rows(&self) -> Vec<Row> {
        crate::ROWS.to_vec()
    }

    fn kinds(&self) -> Vec<KindInfo> {
        kinds::ALL.to_vec()
    }

    /// The size of a board is a poor guess of how long its check takes, so a second try gets four
    /// times the first deadline.
    fn overrides(&self) -> Vec<RowOverride> {
        vec![RowOverride { class: "SC-3", longer_factor: 4 }]
    }

    fn step_faults(&self, step: &StepDef) -> Vec<ManifestFault> {
        let paths = ["board", "schematic", "project", "netlist", "jobset", "footprint_map"];
        let outputs = ["report", "output", "to"];
        paths
            .into_iter()
            .chain(outputs)
            .filter_map(|name| {
                let text = step.arg_str(name)?;
                let fault = path_fault(text).filter(|f| !f.contains("control"))?;
                Some(ManifestFault {
                    path: format!("with.{name}"),
                    fault: format!("{text:?} {fault}"),
                    remedy: "use a path inside the board's folder, with '/'".to_owned(),
                })
            })
            .chain(unmade_check(step, kinds::counts_findings(step.uses.as_str())))
            .collect()
    }

    fn deadline_ms(&self, context: &StepContext) -> u64 {
        let bytes: u64 = ["board", "schematic", "project"]
            .into_iter()
            .filter_map(|name| args::input(context, name).ok())
            .map(|file| input_bytes(&file))
            .sum();
        call::deadline_ms(bytes, args::libraries(&context.step))
    }

    async fn closure(
        &self,
        context: &StepContext,
        services: &Services,
    ) -> Result<Closure, Evidence> {
        let seen = self.rounds.seen(context.round);
        closure::of(&self.env(), context, services, &seen).await
    }

    async fn run(&self, context: &StepContext, services: &Services) -> Observation {
        let mut session = Session::new(context, services);
        let env = self.env();
        let unsaved = unsaved::beside(&session, |root| closure::sheet_files(&session, root));
        let end = match context.step.uses.as_str() {
            "kicad/drc" => drc::run(&env, &mut session).await,
            "kicad/erc" => erc::run(&env, &mut session).await,
            "kicad/netlist" => netlist::run(&env, &mut session).await,
            "kicad/compare" => compare::run(&env, &mut session).await,
            "kicad/export" => export::run(&env, &mut session).await,
            "kicad/jobset" => jobset::run(&env, &mut session).await,
            other => Err(Stop::Refused(format!("there is no step kind {other}"))),
        };
        let end = end.map(|check| unsaved.told(&mut session, check));
        session.finish(end)
    }

    fn handles(&self, class: &str, action: &str) -> bool {
        recover::handles(class, action)
    }

    async fn recover(
        &self,
        context: &StepContext,
        services: &Services,
        _class: &str,
        action: &str,
    ) -> Recovery {
        recover::recover(&self.env(), context, services, action).await
    }

    async fn probe(&self, context: &StepContext, services: &Services, probe: &str) -> CheckResult {
        recover::probe(&self.env(), context, services, probe).await
    }
}

/// Size of a file; of a sheet, all sheets beside it.
fn input_bytes(file: &std::path::Path) -> u64 {
    let size = |path: &std::path::Path| path.metadata().map_or(0, |m| m.len());
    if file.extension().is_none_or(|e| e != "kicad_sch") {
        return size(file);
    }
    let Some(Ok(entries)) = file.parent().map(std::fs::read_dir) else { return size(file) };
    let sheets = entries.flatten().map(|e| e.path());
    sheets.filter(|p| p.extension().is_some_and(|e| e == "kicad_sch")).map(|p| size(&p)).sum()
}

#[cfg(test)]
mod tests {
    use pcbflow_core::check::Limits;
    use pcbflow_core::manifest::CheckSpec;

    use super::*;

    fn faults(uses: &str, check: CheckSpec) -> Vec<String> {
        let step = StepDef {
            id: "s".parse().unwrap(),
            uses: uses.parse().unwrap(),
            with: Default::default(),
            check,
            safety: None,
            timeout_ms: None,
            needs: Vec::new(),
            inputs: None,
            outputs: Vec::new(),
            install: Vec::new(),
            systems: Vec::new(),
        };
        Kicad::new().step_faults(&step).into_iter().map(|f| f.path).collect()
    }

    #[test]
    fn a_check_that_a_kind_does_not_make_is_refused() {
        let report = || CheckSpec::ReportClean(Limits::default());
        for kind in kinds::ALL {
            let counts = ["kicad/drc", "kicad/erc", "kicad/compare", "kicad/export"];
            let wanted = if counts.contains(&kind.name) { Vec::new() } else { vec!["check"] };
            assert_eq!(faults(kind.name, report()), wanted, "{}", kind.name);
            assert_eq!(faults(kind.name, CheckSpec::Own), Vec::<String>::new(), "{}", kind.name);
            let regex = CheckSpec::RegexInFile { path: "a".into(), pattern: "b".into() };
            for other in [regex, CheckSpec::Exit { expect: vec![0] }] {
                assert_eq!(faults(kind.name, other), ["check"], "{}", kind.name);
            }
        }
    }
}
