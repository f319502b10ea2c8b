//! What a browser writes on its error stream: where it listens, and why it does not.

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Most bytes of the stream that are kept, from its end.
const KEPT_BYTES_MAX: usize = 8 * 1024;
/// Most bytes of one line that are read for its meaning.
const LINE_BYTES_MAX: usize = 4 * 1024;
/// What comes before the address.
const LISTENS: &str = "DevTools listening on ";
/// What is written when there will be no port: none could be had, or the profile is the person's
/// own.
const NO_SERVER: &[&str] = &[
    "Cannot start http server for devtools",
    "DevTools remote debugging requires a non-default data directory",
];

/// What was heard so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Heard {
    /// The address of the line that says where it listens.
    pub listens: Option<String>,
    /// It runs without a port.
    pub no_server: bool,
    /// The end of what it wrote.
    pub words: String,
    /// The stream ended.
    pub ended: bool,
}

/// Reads to the end of the stream, for as long as the browser lives: one that nobody reads would
/// block it.
pub(super) fn listen<R: AsyncRead + Unpin + Send + 'static>(
    mut stream: R,
) -> (watch::Receiver<Heard>, JoinHandle<()>) {
    let (tell, heard) = watch::channel(Heard::default());
    let task = tokio::spawn(async move {
        let mut line: Vec<u8> = Vec::new();
        let mut chunk = [0; 4096];
        while let Ok(n @ 1..) = stream.read(&mut chunk).await {
            let part = chunk.get(..n).unwrap_or(&[]);
            tell.send_modify(|heard| take(heard, &mut line, part));
        }
        tell.send_modify(|heard| {
            understand(heard, &line);
            heard.ended = true;
        });
    });
    (heard, task)
}

/// Takes a part of the stream.
pub(super) fn take(heard: &mut Heard, line: &mut Vec<u8>, part: &[u8]) {
    heard.words.push_str(&String::from_utf8_lossy(part));
    if heard.words.len() > KEPT_BYTES_MAX {
        let mut from = heard.words.len() - KEPT_BYTES_MAX;
        while !heard.words.is_char_boundary(from) {
            from += 1;
        }
        heard.words.drain(..from);
    }
    for byte in part {
        if *byte == b'\n' {
            understand(heard, line);
            line.clear();
        } else if line.len() < LINE_BYTES_MAX {
            line.push(*byte);
        }
    }
}

fn understand(heard: &mut Heard, line: &[u8]) {
    let line = String::from_utf8_lossy(line);
    if let Some((_, address)) = line.split_once(LISTENS) {
        heard.listens.get_or_insert_with(|| address.trim().to_owned());
    }
    heard.no_server |= NO_SERVER.iter().any(|w| line.contains(w));
}
