//! The stand-in editor: its server over plain HTTP, its page in a real browser.

mod blocks;
mod browser;
mod example;
mod kinds;
mod ladders;
mod page;
mod place;
mod server;
mod strikes;
mod variants;
