//! The stand-in editor: its server over plain HTTP, its page in a real browser.

mod browser;
mod page;
mod server;
mod strikes;
mod variants;
