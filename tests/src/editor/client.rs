//! A plain HTTP client for tests: one request, one connection.

use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// How long a reply may take.
const REPLY_LIMIT: Duration = Duration::from_secs(20);
/// Longest reply that is read.
const REPLY_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// A reply as it came.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The status, such as 200.
    pub status: u16,
    /// Names as the server spelt them.
    pub headers: Vec<(String, String)>,
    /// The body as text.
    pub text: String,
}

impl Reply {
    /// The body as JSON; of anything else, null.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_default()
    }

    /// A header's value.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(n, _)| n.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }
}

/// Makes a request.
///
/// # Errors
/// When the connection fails, is cut or stays silent, and when what comes is no HTTP.
pub fn request(
    to: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &Value,
) -> io::Result<Reply> {
    let mut stream = TcpStream::connect_timeout(&to, REPLY_LIMIT)?;
    stream.set_read_timeout(Some(REPLY_LIMIT))?;
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let mut text = format!("{method} {path} HTTP/1.1\r\nHost: {to}\r\n");
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text.push_str(&format!("Content-Length: {}\r\n\r\n{body}", body.len()));
    stream.write_all(text.as_bytes())?;
    let mut bytes = Vec::new();
    // The server keeps connections; what it has announced is where a reply ends.
    let head = loop {
        if let Some(head) = end_of_head(&bytes) {
            break head;
        }
        if take(&mut stream, &mut bytes)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    };
    let (status, headers) = parse(&bytes[..head])?;
    let mut reply = Reply { status, headers, text: String::new() };
    let length = reply.header("content-length").and_then(|l| l.parse::<u64>().ok()).unwrap_or(0);
    let rest = length.min(REPLY_BYTES_MAX).saturating_sub((bytes.len() - head) as u64);
    stream.take(rest).read_to_end(&mut bytes)?;
    reply.text = String::from_utf8_lossy(&bytes[head..]).into_owned();
    Ok(reply)
}

fn take(stream: &mut TcpStream, bytes: &mut Vec<u8>) -> io::Result<usize> {
    let mut part = [0; 4096];
    let count = stream.read(&mut part)?;
    bytes.extend_from_slice(&part[..count]);
    Ok(count)
}

fn end_of_head(bytes: &[u8]) -> Option<usize> {
    bytes.windows(4).position(|four| four == b"\r\n\r\n").map(|at| at + 4)
}

fn parse(head: &[u8]) -> io::Result<(u16, Vec<(String, String)>)> {
    let text = String::from_utf8_lossy(head);
    let mut lines = text.lines();
    let status = lines.next().and_then(|l| l.split(' ').nth(1)).and_then(|s| s.parse().ok());
    let status = status.ok_or(io::ErrorKind::InvalidData)?;
    let headers = lines.filter_map(|line| line.split_once(": "));
    Ok((status, headers.map(|(n, v)| (n.to_owned(), v.to_owned())).collect()))
}
