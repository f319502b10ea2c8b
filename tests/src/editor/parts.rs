//! The part library: search, and what a part looks like.

use serde_json::{Value, json};

use super::faults::Fault;
use super::journal::fnv;

const TABLE: &str = include_str!("../../editor/parts.json");
/// Longest list that a search gives.
const ITEMS_MAX: usize = 100;

/// All parts.
pub struct Parts {
    table: Value,
}

impl Parts {
    pub fn new() -> Parts {
        Parts { table: serde_json::from_str(TABLE).unwrap_or_default() }
    }

    fn all(&self) -> impl Iterator<Item = &Value> {
        self.table["parts"].as_array().into_iter().flatten()
    }

    /// Parts whose words hold all words of the key.
    pub fn search(&self, key: &str, page: usize, items: usize, fault: Option<&Fault>) -> Value {
        let wanted: Vec<String> =
            key.to_lowercase().split_whitespace().map(str::to_owned).collect();
        let found: Vec<&Value> = self
            .all()
            .filter(|part| model(part))
            .filter(|part| {
                let words = words(part);
                !wanted.is_empty() && wanted.iter().all(|w| words.contains(w))
            })
            .collect();
        let list: Vec<Value> = match fault.map(|f| f.variant) {
            Some("empty") => Vec::new(),
            Some("arrays_only") => self.all().filter(|p| p["array"] == true).map(item).collect(),
            Some("many") => {
                let near = |p: &&Value| found.iter().any(|f| f["prefix"] == p["prefix"]);
                self.all().filter(near).filter(|p| model(p)).map(item).collect()
            }
            _ => found.into_iter().map(item).collect(),
        };
        let items = items.clamp(1, ITEMS_MAX);
        let lists: Vec<Value> =
            list.into_iter().skip(page.saturating_sub(1) * items).take(items).collect();
        json!(lists)
    }

    /// Parts by their numbers in the shop.
    pub fn by_numbers(&self, numbers: &[&str], fault: Option<&Fault>) -> Value {
        if matches!(fault.map(|f| f.variant), Some("empty" | "no_model")) {
            return json!([]);
        }
        self.all()
            .filter(|part| model(part))
            .filter(|part| part["lcsc"].as_str().is_some_and(|n| numbers.contains(&n)))
            .map(item)
            .collect()
    }

    /// A device with its symbol's pins and its footprint's pads.
    pub fn device(&self, uuid: &str) -> Option<Value> {
        let part = self.all().find(|part| device_uuid(part) == uuid && model(part))?;
        let mut device = item(part);
        let name = part["symbol"].as_str().unwrap_or("");
        device["symbolData"] = self.table["symbols"][name].clone();
        device["pads"] = part["pads"].clone();
        device["through"] = json!(part["through"] == true);
        device["designator"] = part["prefix"].clone();
        Some(device)
    }

    /// A device in the form that searches give.
    pub fn device_item(&self, uuid: &str) -> Option<Value> {
        self.all().find(|part| device_uuid(part) == uuid && model(part)).map(item)
    }
}

/// The library that everybody has.
pub fn system_library() -> String {
    uuid_of("library:system")
}

/// A uuid that is the same in every life of the stand-in.
pub fn uuid_of(name: &str) -> String {
    let half = fnv(name.as_bytes());
    format!("{half:016x}{:016x}", fnv(&half.to_le_bytes()))
}

fn model(part: &Value) -> bool {
    part["model"] != false
}

fn device_uuid(part: &Value) -> String {
    uuid_of(&format!("device:{}", part["lcsc"].as_str().unwrap_or("")))
}

fn words(part: &Value) -> String {
    ["lcsc", "name", "mpn", "manufacturer", "package", "description"]
        .iter()
        .filter_map(|key| part[*key].as_str())
        .collect::<Vec<_>>()
        .join(" ")
        .to_lowercase()
}

fn item(part: &Value) -> Value {
    let text = |key: &str| part[key].as_str().unwrap_or("").to_owned();
    let library = system_library();
    let named = |kind: &str, name: &str| json!({ "name": name, "uuid": uuid_of(&format!("{kind}:{name}")), "libraryUuid": library });
    json!({
        "uuid": device_uuid(part),
        "libraryUuid": library,
        "name": part["name"],
        "ordinal": 0,
        "symbol": named("symbol", &text("symbol")),
        "footprint": named("footprint", &text("package")),
        "description": part["description"],
        "lcscInventory": part["stock"],
        "lcscPrice": part["price"],
        "jlcInventory": part["stock"],
        "jlcPrice": part["price"],
        "jlcLibraryCategory": if part["basic"] == true { "standard" } else { "extend" },
        "symbolName": part["symbol"],
        "footprintName": part["package"],
        "manufacturer": part["manufacturer"],
        "manufacturerId": part["mpn"],
        "supplier": "LCSC",
        "supplierId": part["lcsc"],
        "otherProperty": { "Supplier Part": part["lcsc"], "Footprint": part["package"] },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_finds_all_words_and_nothing_without_a_model() {
        let parts = Parts::new();
        let count = |key: &str| parts.search(key, 1, 20, None).as_array().map_or(0, Vec::len);
        assert_eq!(count("100nF 0603"), 1);
        assert_eq!(count("10K ohm"), 2, "a resistor, and an array that looks like one");
        assert_eq!(count("RP2040"), 0);
        assert_eq!(count(""), 0);
        assert_eq!(parts.by_numbers(&["C14663", "C0"], None)[0]["supplierId"], "C14663");
    }

    #[test]
    fn every_part_has_a_symbol_with_pins() {
        let parts = Parts::new();
        for part in parts.all().filter(|p| model(p)) {
            let device = parts.device(&device_uuid(part)).expect("a device");
            let pins = device["symbolData"]["pins"].as_array().map_or(0, Vec::len);
            assert!(pins >= 2, "{part}");
            assert_eq!(device["pads"].as_array().map_or(0, Vec::len), pins, "{part}");
        }
    }
}
