//! HTTP/1.1 by hand, as little as a browser on the same computer needs.
//!
//! A finished server library answers every request it takes. This one must also be able to answer
//! with nothing, to cut the connection and to stay silent, so it owns the socket.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// Longest head of a request.
const HEAD_BYTES_MAX: usize = 64 * 1024;
/// Longest body: the drawing of a large board.
const BODY_BYTES_MAX: usize = 32 * 1024 * 1024;
const HEADERS_MAX: usize = 64;
/// How long a connection that is to hang stays open before it is given up.
const HANG_MAX: Duration = Duration::from_secs(600);

/// A request, whole.
#[derive(Clone, Debug, Default)]
pub struct Request {
    pub method: String,
    /// Without the query.
    pub path: String,
    pub query: Vec<(String, String)>,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Request {
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(n, _)| n.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    /// A value of the query, or nothing.
    pub fn asked(&self, name: &str) -> &str {
        self.query.iter().find(|(n, _)| n == name).map_or("", |(_, value)| value)
    }

    pub fn cookie(&self, name: &str) -> Option<&str> {
        self.header("cookie")?
            .split(';')
            .filter_map(|pair| pair.trim().split_once('='))
            .find(|(n, _)| *n == name)
            .map(|(_, value)| value)
    }

    /// The body as JSON; of anything else, null.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

/// A reply.
#[derive(Clone, Debug)]
pub struct Response {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Response {
    pub fn new(status: u16, kind: &str, body: impl Into<Vec<u8>>) -> Response {
        let headers = vec![
            ("Content-Type".to_owned(), kind.to_owned()),
            ("Cache-Control".to_owned(), "no-store".to_owned()),
        ];
        Response { status, headers, body: body.into() }
    }

    pub fn json(status: u16, value: &serde_json::Value) -> Response {
        Response::new(status, "application/json; charset=utf-8", value.to_string())
    }

    pub fn html(status: u16, text: impl Into<Vec<u8>>) -> Response {
        Response::new(status, "text/html; charset=utf-8", text)
    }

    pub fn with(mut self, name: &str, value: &str) -> Response {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }
}

/// What comes back for a request.
#[derive(Clone, Debug)]
pub enum Answer {
    Reply(Response),
    /// The reply, after a while.
    Late(Response, Duration),
    /// The connection is cut.
    Reset,
    /// The connection is closed without a byte.
    Empty,
    /// Nothing, and the connection stays open.
    Hang,
}

/// Reads the next request; `None` when the other side is through. `buffer` keeps what came too
/// early for the next one.
pub async fn read(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> io::Result<Option<Request>> {
    let (mut request, head) = loop {
        if let Some(parsed) = parse_head(buffer)? {
            break parsed;
        }
        if buffer.len() > HEAD_BYTES_MAX {
            return Err(bad("the head is too long"));
        }
        if stream.read_buf(buffer).await? == 0 {
            return if buffer.is_empty() { Ok(None) } else { Err(bad("half a request")) };
        }
    };
    let length = match request.header("content-length") {
        Some(text) => text.trim().parse::<usize>().map_err(|_| bad("no length"))?,
        None => 0,
    };
    if length > BODY_BYTES_MAX {
        return Err(bad("the body is too long"));
    }
    while buffer.len() < head + length {
        if stream.read_buf(buffer).await? == 0 {
            return Err(bad("half a body"));
        }
    }
    request.body = buffer[head..head + length].to_vec();
    buffer.drain(..head + length);
    Ok(Some(request))
}

fn bad(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

/// The request without its body, and the length of its head; `None` while it is not all there.
fn parse_head(bytes: &[u8]) -> io::Result<Option<(Request, usize)>> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut parsed = httparse::Request::new(&mut headers);
    let head = match parsed.parse(bytes) {
        Ok(httparse::Status::Complete(head)) => head,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(_) => return Err(bad("not HTTP")),
    };
    let target = parsed.path.unwrap_or("/");
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let headers = parsed
        .headers
        .iter()
        .map(|h| (h.name.to_owned(), String::from_utf8_lossy(h.value).into_owned()));
    let request = Request {
        method: parsed.method.unwrap_or("GET").to_owned(),
        path: decoded(path),
        query: pairs(query),
        headers: headers.collect(),
        body: Vec::new(),
    };
    Ok(Some((request, head)))
}

/// `a=1&b=2`.
pub fn pairs(text: &str) -> Vec<(String, String)> {
    text.split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        .map(|(name, value)| (decoded(name), decoded(&value.replace('+', " "))))
        .collect()
}

/// Without the `%xx`; what is none stays.
fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let hex = text.get(at + 1..at + 3).filter(|_| bytes[at] == b'%');
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                out.push(byte);
                at += 3;
            }
            None => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Gives an answer; whether the connection can be used again.
pub async fn give(stream: &mut TcpStream, answer: Answer) -> io::Result<bool> {
    let response = match answer {
        Answer::Reply(response) => response,
        Answer::Late(response, wait) => {
            tokio::time::sleep(wait.min(HANG_MAX)).await;
            response
        }
        Answer::Reset => {
            // Closing a socket that must not linger sends a reset instead of a goodbye.
            stream.set_zero_linger()?;
            return Ok(false);
        }
        Answer::Empty => return Ok(false),
        Answer::Hang => {
            tokio::time::timeout(HANG_MAX, gone(stream)).await.unwrap_or(Ok(()))?;
            return Ok(false);
        }
    };
    let length = response.body.len();
    let mut bytes = head(&response, &format!("Content-Length: {length}\r\n")).into_bytes();
    bytes.extend_from_slice(&response.body);
    stream.write_all(&bytes).await?;
    Ok(true)
}

/// Sends the head that turns a connection into a websocket.
pub async fn switch(stream: &mut TcpStream, response: &Response) -> io::Result<()> {
    stream.write_all(head(response, "").as_bytes()).await
}

fn head(response: &Response, more: &str) -> String {
    let mut head = format!("HTTP/1.1 {} {}\r\n", response.status, phrase(response.status));
    for (name, value) in &response.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head + more + "\r\n"
}

/// Waits until the other side has closed.
async fn gone(stream: &mut TcpStream) -> io::Result<()> {
    let mut rest = [0; 1024];
    while stream.read(&mut rest).await? > 0 {}
    Ok(())
}

fn phrase(status: u16) -> &'static str {
    match status {
        101 => "Switching Protocols",
        200 => "OK",
        302 => "Found",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        409 => "Conflict",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        _ => "Other",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_read_with_its_query_cookies_and_odd_letters() {
        let text = b"GET /api/x%20y?a=1&name=R%C3%A9+1 HTTP/1.1\r\nCookie: a=b; eda_session=s1\r\n\r\nrest";
        let (request, head) = parse_head(text).expect("valid").expect("whole");
        assert_eq!(request.path, "/api/x y");
        assert_eq!(request.asked("name"), "R\u{e9} 1");
        assert_eq!(request.cookie("eda_session"), Some("s1"));
        assert_eq!(&text[head..], b"rest");
        assert!(parse_head(b"GET / HTTP/1.1\r\nHo").expect("so far").is_none());
        assert!(parse_head(b"\x16\x03\x01").is_err());
    }
}
