//! Scripts of engineers: looked at before they are sent, and run with a guarded `eda`.
//!
//! [`table`] is the editor's API as data, [`check`] holds a script against it, [`lex`] finds the
//! calls in it. How a block runs in the page stands in `page/run.js`.

pub mod check;
pub mod lex;
pub mod table;
