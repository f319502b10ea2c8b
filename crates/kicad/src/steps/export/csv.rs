//! A small reader of comma-separated lines with quotes.

/// All records; fields without their quotes.
#[must_use]
pub fn records(text: &str) -> Vec<Vec<String>> {
    let (mut records, mut record, mut field) = (Vec::new(), Vec::new(), String::new());
    let (mut quoted, mut any) = (false, false);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        any = true;
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => {
                field.push('"');
                chars.next();
            }
            '"' => quoted = !quoted,
            ',' if !quoted => record.push(std::mem::take(&mut field)),
            '\r' if !quoted => {}
            '\n' if !quoted => {
                record.push(std::mem::take(&mut field));
                records.push(std::mem::take(&mut record));
                any = false;
            }
            other => field.push(other),
        }
    }
    if any {
        record.push(field);
        records.push(record);
    }
    records
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_commas_and_line_ends() {
        let read = records("a,b\r\n\"x,\"\"y\"\"\",\"two\nlines\"\nlast,");
        assert_eq!(read, [vec!["a", "b"], vec!["x,\"y\"", "two\nlines"], vec!["last", ""]]);
        assert!(records("").is_empty());
    }
}
