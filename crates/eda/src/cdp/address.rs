//! Where a browser listens: a port of the own computer, and nothing else.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddrV4};

/// Longest address that is read, in bytes.
const ADDRESS_BYTES_MAX: usize = 512;

/// Why an address is not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AddressFault {
    /// It names another computer, or this one by a name that may lead elsewhere.
    #[error("the address must be 127.0.0.1, not {host}")]
    NotThisComputer {
        /// The host that it names.
        host: String,
    },
    /// It has no port, or one that is no number from 1 to 65535.
    #[error("the address has no usable port: {text}")]
    NoPort {
        /// The address, cut.
        text: String,
    },
}

/// Port of a browser on this computer, with the path of its socket when that is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    port: u16,
    path: Option<String>,
}

impl Address {
    /// The browser that listens on this port of the own computer.
    #[must_use]
    pub fn port_of(port: u16) -> Address {
        Address { port, path: None }
    }

    /// Reads `127.0.0.1:9222`, `http://127.0.0.1:9222` or
    /// `ws://127.0.0.1:9222/devtools/browser/<id>`.
    ///
    /// # Errors
    /// [`AddressFault`]; names are refused too, `localhost` leads to the other address family.
    pub fn parse(text: &str) -> Result<Address, AddressFault> {
        let text = text.trim();
        let short = || pcbflow_core::text::cut_bytes(text, 80).to_owned();
        let no_port = || AddressFault::NoPort { text: short() };
        if text.len() > ADDRESS_BYTES_MAX {
            return Err(no_port());
        }
        let rest = ["ws://", "http://"].iter().find_map(|p| text.strip_prefix(p)).unwrap_or(text);
        let at = rest.find('/').unwrap_or(rest.len());
        let (authority, path) = rest.split_at(at);
        let (host, port) = authority.rsplit_once(':').ok_or_else(no_port)?;
        if host != Ipv4Addr::LOCALHOST.to_string() {
            return Err(AddressFault::NotThisComputer { host: host.to_owned() });
        }
        let port = port.parse().ok().filter(|p| *p != 0).ok_or_else(no_port)?;
        let plain = path.bytes().all(|b| b.is_ascii_graphic());
        let path = Some(path).filter(|p| p.len() > 1 && plain).map(str::to_owned);
        Ok(Address { port, path })
    }

    /// The port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The browser's own id, the last part of its socket's path; it is new at every start.
    #[must_use]
    pub fn browser_id(&self) -> Option<&str> {
        self.path.as_deref()?.strip_prefix("/devtools/browser/").filter(|id| !id.is_empty())
    }

    /// The path of its socket.
    #[must_use]
    pub fn path(&self) -> Option<&str> {
        self.path.as_deref()
    }

    /// Where to connect.
    #[must_use]
    pub fn socket(&self) -> SocketAddrV4 {
        SocketAddrV4::new(Ipv4Addr::LOCALHOST, self.port)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ws://{}{}", self.socket(), self.path.as_deref().unwrap_or(""))
    }
}
