//! Where copper is certain to be.

use std::collections::BTreeMap;

use super::Layer;

/// Copper items on one layer, by kind. Only what is certain counts: pads and vias that lose unconnected rings are
/// left out, and so are holes without plating.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LayerCopper {
    /// Track pieces.
    pub tracks: usize,
    /// Vias.
    pub vias: usize,
    /// Pads.
    pub pads: usize,
    /// Filled areas of zones.
    pub fills: usize,
    /// Drawn shapes and texts.
    pub graphics: usize,
}

impl LayerCopper {
    /// All of them.
    #[must_use]
    pub fn total(&self) -> usize {
        self.tracks + self.vias + self.pads + self.fills + self.graphics
    }
}

/// Counts copper by layer.
pub(super) struct Counter {
    /// Copper layers from front to back.
    order: Vec<String>,
    pub(super) by_layer: BTreeMap<String, LayerCopper>,
}

impl Counter {
    pub(super) fn new(layers: &[Layer]) -> Self {
        let mut order: Vec<String> =
            layers.iter().filter(|l| l.is_copper()).map(|l| l.name.clone()).collect();
        order.sort_by_key(|name| rank(name));
        let by_layer = order.iter().map(|name| (name.clone(), LayerCopper::default())).collect();
        Counter { order, by_layer }
    }

    /// Adds one item to each copper layer that the patterns name.
    pub(super) fn add(
        &mut self,
        patterns: &[String],
        what: impl Fn(&mut LayerCopper) -> &mut usize,
    ) {
        for (name, layer) in &mut self.by_layer {
            if patterns.iter().any(|pattern| names(pattern, name)) {
                *what(layer) += 1;
            }
        }
    }

    /// Adds a via to all layers that it passes, or to its two ends.
    pub(super) fn add_via(&mut self, layers: &[String], ends_only: bool) {
        let at = |name: &String| self.order.iter().position(|l| l == name);
        let places: Vec<usize> = layers.iter().filter_map(at).collect();
        let (Some(&first), Some(&last)) = (places.iter().min(), places.iter().max()) else {
            return;
        };
        for (index, name) in self.order.iter().enumerate().take(last + 1).skip(first) {
            if ends_only && index != first && index != last {
                continue;
            }
            if let Some(layer) = self.by_layer.get_mut(name) {
                layer.vias += 1;
            }
        }
    }
}

/// Place of a copper layer from front (0) to back.
fn rank(name: &str) -> u32 {
    match name {
        "F.Cu" => 0,
        "B.Cu" => u32::MAX,
        _ => name
            .strip_prefix("In")
            .and_then(|r| r.strip_suffix(".Cu"))
            .and_then(|n| n.parse().ok())
            .unwrap_or(1),
    }
}

/// Whether a layer pattern of a file names a copper layer.
pub(super) fn names(pattern: &str, layer: &str) -> bool {
    match pattern {
        "*.Cu" | "*" => true,
        "F&B.Cu" => layer == "F.Cu" || layer == "B.Cu",
        _ => pattern == layer,
    }
}

/// Whether a layer pattern names any copper layer.
pub(super) fn is_copper(pattern: &str) -> bool {
    pattern == "*" || pattern.ends_with(".Cu")
}
