//! The small edits of files that the demo makes: a part is lost, a step's time limit is shortened.

/// Removes the footprint with this reference from the text of a board. `None` if there is no such footprint.
pub fn drop_footprint(board: &str, reference: &str) -> Option<String> {
    let name = format!("(property \"Reference\" \"{reference}\"");
    let mut from = 0;
    while let Some(found) = board[from..].find("(footprint ") {
        let start = from + found;
        let end = start + list_len(&board[start..])?;
        if board[start..end].contains(&name) {
            // With the white space before it, so that no empty line stays.
            let before = board[..start].trim_end();
            return Some(format!("{before}{}", &board[end..]));
        }
        from = end;
    }
    None
}

/// Length of the list that the text begins with, brackets included.
fn list_len(text: &str) -> Option<usize> {
    let (mut depth, mut quoted, mut escaped) = (0_usize, false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'(' if !quoted => depth += 1,
            b')' if !quoted => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
    }
    None
}

/// Gives the first step of a kind in a manifest another time limit. `None` if no step of that kind is written in
/// the usual form, one key a line.
pub fn set_timeout(manifest: &str, kind: &str, timeout: &str) -> Option<String> {
    let lines: Vec<&str> = manifest.lines().collect();
    let uses = lines.iter().position(|line| {
        let value = line.trim_start().trim_start_matches("- ").strip_prefix("uses:");
        value.is_some_and(|value| value.split('#').next().is_some_and(|value| value.trim() == kind))
    })?;
    let column = lines[uses].find("uses:")?;
    let at_column = |line: &str| line.len() - line.trim_start().len() == column;
    let first = (0..=uses).rev().find(|at| is_item_at(lines[*at], column))?;
    let end = (uses + 1..lines.len())
        .find(|at| {
            let indent = lines[*at].len() - lines[*at].trim_start().len();
            !lines[*at].trim().is_empty() && indent < column
        })
        .unwrap_or(lines.len());
    let old = (first..end)
        .find(|at| at_column(lines[*at]) && lines[*at].trim_start().starts_with("timeout:"));
    let new = format!("{}timeout: {timeout}", " ".repeat(column));
    let mut changed: Vec<&str> = lines.clone();
    match old {
        Some(at) => changed[at] = &new,
        None => changed.insert(uses + 1, &new),
    }
    Some(changed.join("\n") + "\n")
}

/// True if this line begins a list item whose keys stand at `column`.
fn is_item_at(line: &str, column: usize) -> bool {
    let indent = line.len() - line.trim_start().len();
    indent + 2 == column && line.trim_start().starts_with("- ")
}

/// The id of the first open ask in the JSON of `pcbflow status --json`, wherever it stands in it.
pub fn open_ask(status: &str) -> Option<String> {
    let document: serde_json::Value = serde_json::from_str(status).ok()?;
    find_ask(&document)
}

fn find_ask(value: &serde_json::Value) -> Option<String> {
    let id_of = |ask: &serde_json::Value| ask.get("id")?.as_str().map(str::to_owned);
    match value {
        serde_json::Value::Object(fields) => {
            fields.iter().find_map(|(key, field)| match key.as_str() {
                "ask" => id_of(field),
                "asks" | "open_asks" => field.as_array()?.iter().find_map(id_of),
                _ => find_ask(field),
            })
        }
        serde_json::Value::Array(items) => items.iter().find_map(find_ask),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOARD: &str = r#"(kicad_pcb
	(version 20241229)
	(footprint "a:C_0402"
		(descr "odd ) \" text")
		(property "Reference" "C1")
	)
	(footprint "a:C_0402"
		(property "Reference" "C11")
	)
	(segment (net 1))
)
"#;

    #[test]
    fn one_footprint_goes_and_all_else_stays() {
        let without = drop_footprint(BOARD, "C1").expect("C1 is there");
        assert!(!without.contains("\"C1\"") && without.contains("\"C11\""));
        assert_eq!(without.lines().count(), BOARD.lines().count() - 4);
        assert_eq!(list_len(&without), Some(without.trim_end().len()));
        let without = drop_footprint(BOARD, "C11").expect("C11 is there");
        assert!(
            without.contains(
                "odd ) \\\" text\")\n\t\t(property \"Reference\" \"C1\")\n\t)\n\t(segment"
            )
        );
        assert_eq!(drop_footprint(BOARD, "R1"), None);
        assert_eq!(drop_footprint("(footprint \"cut", "R1"), None);
    }

    const MANIFEST: &str = "\
phases:
  - id: 12-final-verification
    steps:
      - id: drc
        uses: kicad/drc   # rules
        with: { board: a.kicad_pcb }
      - uses: kicad/erc
        id: erc
        timeout: 300s
";

    #[test]
    fn a_time_limit_is_added_or_replaced() {
        let added = set_timeout(MANIFEST, "kicad/drc", "5s").expect("a step");
        assert!(added.contains("uses: kicad/drc   # rules\n        timeout: 5s\n        with:"));
        assert!(added.contains("timeout: 300s"));
        let replaced = set_timeout(MANIFEST, "kicad/erc", "5s").expect("a step");
        assert!(replaced.ends_with("id: erc\n        timeout: 5s\n"));
        assert_eq!(replaced.lines().count(), MANIFEST.lines().count());
        assert_eq!(set_timeout(MANIFEST, "kicad/export", "5s"), None);
    }

    #[test]
    fn an_open_ask_is_found_wherever_it_stands() {
        let found = |text: &str| open_ask(text);
        assert_eq!(
            found(r#"{"ok":false,"ask":{"id":"a7","kind":"log_in"}}"#).as_deref(),
            Some("a7")
        );
        assert_eq!(found(r#"{"boards":[{"asks":[{"id":"a1"}]}]}"#).as_deref(), Some("a1"));
        assert_eq!(found(r#"{"ask":null,"asks":[]}"#), None);
        assert_eq!(found("not json"), None);
    }
}
