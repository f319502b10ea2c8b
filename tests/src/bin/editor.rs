//! The stand-in editor as a program: prints its addresses and runs until it is ended.
//!
//! `editor [--port N] [--control-port N] [--project NAME] [--signed-out]`

use std::io::Write as _;
use std::process::ExitCode;

use pcbflow_tests::editor::{Options, StandIn};
use serde_json::json;

fn main() -> ExitCode {
    match start() {
        Ok(editor) => {
            let said = writeln!(
                std::io::stdout(),
                "editor   {}\ncontrol  http://{}/\nEnd it with Ctrl-C.",
                editor.first_page_url(),
                editor.control()
            );
            if said.is_err() {
                return ExitCode::FAILURE;
            }
            // Ends with the process: a signal is the only way out.
            loop {
                std::thread::park();
            }
        }
        Err(why) => {
            pcbflow_tests::note(&why);
            ExitCode::from(2)
        }
    }
}

fn start() -> Result<StandIn, String> {
    let mut options = Options::default();
    let mut signed_in = true;
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or(format!("{word} needs a value"));
        let port = |text: String| text.parse().map_err(|_| format!("not a port: {text}"));
        match word.as_str() {
            "--port" => options.port = port(value()?)?,
            "--control-port" => options.control_port = port(value()?)?,
            "--project" => options.project = value()?,
            "--signed-out" => signed_in = false,
            other => return Err(format!("no such option: {other}")),
        }
    }
    let editor = StandIn::start(&options).map_err(|why| format!("the editor: {why}"))?;
    editor.set(&json!({ "signed_in": signed_in }));
    Ok(editor)
}
