//! `eda/read-back`: what a page really holds, against the plans of its blocks.

use pcbflow_core::check::{CheckResult, Finding};
use pcbflow_core::evidence::{Signal, Source};
use pcbflow_core::ports::Observation;
use serde_json::json;

use super::{Step, checked, finding, numbered, of_file, texts};
use crate::block::Block;
use crate::desk::View;
use crate::files;
use crate::sheet::{self, Sheet};
use crate::signals;
use crate::trouble::Trouble;

/// Note of a rung: what still has no net is a finding.
pub(crate) const NETS_NOTE: &str = "eda.nets";
/// Most pins that are named.
const PINS_MAX: usize = 20;
/// Methods that reading calls.
const METHODS: &[&str] = &[
    "dmt_SelectControl.getCurrentDocumentInfo",
    "sch_PrimitiveComponent.getAll",
    "sch_PrimitiveComponent.getAllPinsByPrimitiveId",
    "sch_PrimitiveWire.getAll",
];

impl Step<'_> {
    pub(super) async fn read_back_step(&mut self) -> Result<Observation, Trouble> {
        let want = self.want(METHODS, false)?;
        let view = self.ready(&want).await?;
        self.services.progress.doing(&self.context.key, "reading the drawing in EasyEDA");
        let seen = sheet::settled(self.desk, &view, true, self.until).await?;
        self.nets_settled(&seen)?;
        let blocks = self.blocks(&view);
        let mut findings = Vec::new();
        for (name, block) in &blocks {
            match block {
                Some(block) => findings.extend(held_against(name, block, &seen)),
                None => {
                    let what = format!("block {name} has not been placed on this page");
                    findings.push(finding("read-back", "block_missing", &what, name));
                }
            }
        }
        let findings = numbered(findings);
        let mut check = CheckResult::of_findings("as_planned", findings, self.limits());
        check.empty = blocks.is_empty() && seen.records.is_empty();
        let summary = format!("{} objects, {} blocks", seen.records.len(), blocks.len());
        let mut observation = checked(check, &summary, Some(&view));
        observation.outputs.push(self.report(&view, &seen)?);
        Ok(observation)
    }

    /// Pins that read no net although a wire that names one ends on them: the editor is behind.
    /// What is still so when the ladder has been climbed is a finding.
    fn nets_settled(&self, seen: &Sheet) -> Result<(), Trouble> {
        let floating = sheet::floating(seen);
        if floating.is_empty() || self.context.notes.contains_key(NETS_NOTE) {
            return Ok(());
        }
        let pins: Vec<String> =
            floating.iter().take(PINS_MAX).map(|(part, pin)| format!("{part}.{pin}")).collect();
        let count = i64::try_from(floating.len()).unwrap_or(i64::MAX);
        let report = |code: &str| Signal::new(Source::Report, code);
        let signals = vec![
            report(signals::PIN_NET_EMPTY).number(count).text(&pins.join(", ")),
            report(signals::WIRE_ENDS_ON_PIN),
        ];
        Err(Trouble::seen(&format!("{count} pins have no net yet"), signals))
    }

    /// The blocks to look at: the named ones, or all that were placed on this page.
    fn blocks(&self, view: &View) -> Vec<(String, Option<Block>)> {
        let named = texts(self.context.step.with.get("blocks"));
        let place = |name: &str| Block::place(&self.context.state_dir, &self.context.board, name);
        let here = |b: &Block| b.document == view.document;
        if !named.is_empty() {
            let load = |name: String| {
                let block = Block::load(&place(&name)).filter(here);
                (name, block)
            };
            return named.into_iter().map(load).collect();
        }
        let records = &self.context.records;
        let of_record = |key: &String| key.strip_prefix("eda.block.").map(str::to_owned);
        let names = records.keys().filter_map(of_record);
        let load = |name: String| {
            let block = Block::load(&place(&name)).filter(here)?;
            Some((name, Some(block)))
        };
        names.filter_map(load).collect()
    }

    fn report(&self, view: &View, seen: &Sheet) -> Result<pcbflow_core::event::OutputRef, Trouble> {
        let step = &self.context.step;
        let usual = format!("out/{}.json", step.id);
        let path = step.arg_str("report").unwrap_or(&usual);
        let content = json!({ "document": view.document, "objects": seen.as_json() });
        let mut bytes = serde_json::to_vec_pretty(&content).unwrap_or_default();
        bytes.push(b'\n');
        files::output(&self.context.board_dir, path, &bytes)
            .map_err(|e| of_file("the report can't be written:", path.as_ref(), &e))
    }
}

fn held_against(name: &str, block: &Block, seen: &Sheet) -> Vec<Finding> {
    let shown = block.shown(seen);
    let missing = shown.missing.iter().map(|what| {
        finding("read-back", "missing", &format!("block {name}: {what} is not there"), what)
    });
    let doubled = shown.doubled.iter().map(|id| {
        let what = format!("block {name}: an object is there twice");
        finding("read-back", "doubled", &what, id)
    });
    let mut all: Vec<Finding> = missing.chain(doubled).collect();
    if !block.done {
        let what = format!("block {name} was begun and not finished");
        all.push(finding("read-back", "unfinished", &what, name));
    }
    all.extend(sheet::floating(seen).into_iter().map(|(part, pin)| {
        let what = format!("pin {pin} of {part} has no net");
        finding("read-back", "floating_pin", &what, &format!("{part}.{pin}"))
    }));
    all
}
