//! The one plain request that the browser's port is asked: who are you.

use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::address::Address;
use super::error::ConnectError;

/// Most bytes of an answer, head included.
const ANSWER_BYTES_MAX: usize = 64 * 1024;
/// Most header lines.
const HEADERS_MAX: usize = 64;

/// What a browser says about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// Product and version, such as `Chrome/156.0.8078.114`.
    pub product: String,
    /// Version of the protocol.
    pub protocol: String,
    /// Its socket.
    pub socket: Address,
}

/// Asks the browser on a port who it is.
///
/// # Errors
/// [`ConnectError::PortSilent`] when nobody answers in time, [`ConnectError::NotABrowser`] when
/// the answer is not a browser's.
pub async fn version(address: &Address, within: Duration) -> Result<Version, ConnectError> {
    let silent = |why: String| ConnectError::PortSilent { port: address.port(), why };
    let not_a_browser =
        |why: &str| ConnectError::NotABrowser { port: address.port(), why: why.to_owned() };
    let answer = timeout(within, get(address, "/json/version"))
        .await
        .map_err(|_| silent("it does not answer".into()))?
        .map_err(|e| match e.kind() {
            std::io::ErrorKind::InvalidData => not_a_browser("its answer is no web server's"),
            _ => silent(e.to_string()),
        })?;
    let (status, body) = answer;
    if status != 200 {
        return Err(not_a_browser(&format!("status {status}")));
    }
    let value: Value =
        serde_json::from_slice(&body).map_err(|_| not_a_browser("its answer is no JSON"))?;
    let text = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or("").to_owned();
    let socket = Address::parse(&text("webSocketDebuggerUrl"))
        .ok()
        .filter(|a| a.port() == address.port() && a.browser_id().is_some())
        .ok_or_else(|| not_a_browser("it names no socket of its own"))?;
    Ok(Version { product: text("Browser"), protocol: text("Protocol-Version"), socket })
}

/// One request. The server keeps the connection open whatever it is asked, so the length that it
/// names is what ends the answer.
async fn get(address: &Address, path: &str) -> std::io::Result<(u16, Vec<u8>)> {
    let mut stream = TcpStream::connect(address.socket()).await?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: {}\r\n\r\n", address.socket());
    stream.write_all(request.as_bytes()).await?;
    let mut bytes = Vec::new();
    // Ends with a whole answer, the end of the stream, or at ANSWER_BYTES_MAX.
    loop {
        if let Some(answer) = parse(&bytes)? {
            return Ok(answer);
        }
        if bytes.len() >= ANSWER_BYTES_MAX {
            return Err(std::io::ErrorKind::InvalidData.into());
        }
        let mut chunk = [0; 4096];
        match stream.read(&mut chunk).await? {
            0 => return Err(std::io::ErrorKind::UnexpectedEof.into()),
            n => bytes.extend_from_slice(chunk.get(..n).unwrap_or(&[])),
        }
    }
}

/// Status and body, once all of it is there.
pub(super) fn parse(bytes: &[u8]) -> std::io::Result<Option<(u16, Vec<u8>)>> {
    let invalid = || std::io::Error::from(std::io::ErrorKind::InvalidData);
    let begin = bytes.get(..5).unwrap_or(bytes);
    if !b"HTTP/".starts_with(begin) {
        return Err(invalid());
    }
    let Some(at) = bytes.windows(4).position(|w| w == b"\r\n\r\n") else { return Ok(None) };
    let head = std::str::from_utf8(bytes.get(..at).unwrap_or(&[])).map_err(|_| invalid())?;
    let mut lines = head.split("\r\n");
    let status = lines.next().and_then(|l| l.split(' ').nth(1)).and_then(|s| s.parse().ok());
    let status: u16 = status.ok_or_else(invalid)?;
    let length = lines
        .take(HEADERS_MAX)
        .filter_map(|l| l.split_once(':'))
        .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
        .and_then(|(_, value)| value.trim().parse::<usize>().ok())
        .filter(|n| *n <= ANSWER_BYTES_MAX)
        .ok_or_else(invalid)?;
    let body = bytes.get(at + 4..).unwrap_or(&[]);
    Ok(body.get(..length).map(|b| (status, b.to_vec())))
}
