//! `cargo xtask test`: runs the suites and prints a table of results.

use crate::args::TestOptions;
use crate::run::{self, Ended, Place};
use crate::setup::{self, Tools};
use crate::suites::{self, SUITES, Suite};
use std::path::Path;
use std::time::{Duration, Instant};

/// A suite is stopped, and has failed, after this many times its budget.
const BUDGETS_MAX: u32 = 3;

struct Row<'a> {
    suite: &'a Suite,
    /// `Err` says what went wrong.
    result: Result<(), String>,
    took: Duration,
}

/// Runs the suites; true if all passed.
pub fn test(options: &TestOptions) -> Result<bool, String> {
    let picked = suites::pick(SUITES, &options.suites, options.quick);
    if options.list {
        for suite in picked {
            let kind = if suite.heavy { "heavy" } else { "" };
            println!("{:12} {:>3} min  {:5}  {}", suite.name, suite.budget_min, kind, suite.title);
        }
        return Ok(true);
    }
    let root = run::root()?;
    let tools = setup::setup()?;
    let rows: Vec<Row> = picked.into_iter().map(|suite| run_suite(suite, &root, &tools)).collect();
    let (table, failed) = table(&rows);
    println!("\n{table}");
    Ok(failed == 0)
}

fn run_suite<'a>(suite: &'a Suite, root: &Path, tools: &Tools) -> Row<'a> {
    println!("\n== {}: {} (budget {} min)", suite.name, suite.title, suite.budget_min);
    let mut place = Place { folder: root.to_owned(), env: tools.variables() };
    for (name, value) in suite.env {
        place.env.push(((*name).to_owned(), Some(value.into())));
    }
    let limit = Duration::from_secs(60) * suite.budget_min * BUDGETS_MAX;
    let start = Instant::now();
    let result = suite.commands.iter().try_for_each(|argv| {
        println!("$ {}", run::shown(argv));
        match place.run(argv, limit.saturating_sub(start.elapsed())) {
            Ended::Exit(0) => Ok(()),
            Ended::Deadline(_) => Err(format!("stopped after {BUDGETS_MAX} times its budget")),
            other => Err(format!("`{}`: {other}", run::shown(argv))),
        }
    });
    let took = start.elapsed();
    let word = if result.is_ok() { "passed" } else { "FAILED" };
    println!(
        "== {}: {word} in {} (budget {} min)",
        suite.name,
        run::minutes(took),
        suite.budget_min
    );
    Row { suite, result, took }
}

/// The table of results and how many failed.
fn table(rows: &[Row]) -> (String, usize) {
    let mut text = format!("{:12} {:6} {:>8} {:>8}\n", "suite", "result", "minutes", "budget");
    for row in rows {
        let word = if row.result.is_ok() { "passed" } else { "FAILED" };
        let measured = row.took.as_secs_f64() / 60.0;
        text +=
            &format!("{:12} {word:6} {measured:>8.1} {:>8}", row.suite.name, row.suite.budget_min);
        if let Err(why) = &row.result {
            text += &format!("  {why}");
        } else if measured > f64::from(row.suite.budget_min) {
            text += "  over its budget";
        }
        text.push('\n');
    }
    let failed = rows.iter().filter(|row| row.result.is_err()).count();
    text += &format!("{} passed, {failed} failed", rows.len() - failed);
    (text, failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_counts_suites_and_names_what_failed() {
        let suite = &SUITES[0];
        let row = |result: Result<(), String>, secs| Row {
            suite,
            result,
            took: Duration::from_secs(secs),
        };
        let rows = [row(Ok(()), 6), row(Ok(()), 600), row(Err("`x`: exit code 1".into()), 60)];
        let (text, failed) = table(&rows);
        assert_eq!(failed, 1);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[1], "fmt          passed      0.1        1");
        assert_eq!(lines[2], "fmt          passed     10.0        1  over its budget");
        assert_eq!(lines[3], "fmt          FAILED      1.0        1  `x`: exit code 1");
        assert_eq!(lines[4], "2 passed, 1 failed");
    }
}
