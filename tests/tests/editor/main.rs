//! The stand-in editor: its server over plain HTTP, its page in a real browser.

mod blocks;
mod browser;
mod example;
mod kinds;
// Minutes of waiting for windows that hang.
#[cfg(feature = "heavy")]
mod ladders;
mod page;
mod place;
mod server;
mod strikes;
mod variants;
