//! Lossless reader and writer of KiCad's s-expressions.
//!
//! Boards, schematics, symbol and footprint libraries, library tables and design rules are all written in one
//! notation: lists in brackets, bare words, quoted strings, and comment lines that begin with `#`. A [`Document`]
//! keeps the bytes of the file exactly as they were (line ends, byte order mark, NUL bytes, stray Latin-1 bytes,
//! blanks, comments) and lays a flat tree of byte spans over them. Nothing is ever printed anew: an [`Edit`] replaces
//! chosen spans and copies every other byte, so that a file with no edits comes back byte for byte.
//!
//! Boards saved by KiCad 9 with teardrops lack an opening bracket before `filter_ratio`; KiCad reads them, and so does
//! this module.
//!
//! **Invariants.** Nodes are stored in the order of the file, a list before its children, so each subtree is one
//! contiguous run. Reading is iterative: no input, however deep, can overflow the stack. Every limit below is
//! checked before memory is spent.
//!
//! Entry points: [`Document::parse`], [`Document::top`], [`Edit`], [`quote`].

mod edit;
mod error;
mod lex;
mod text;
mod tree;

pub use edit::{Edit, EditError};
pub use error::{Foreign, Reason, SexprError};
pub(crate) use lex::{Lexer, TokenKind};
pub use text::{quote, unquote};
pub use tree::{Children, Document, Node, Span};

/// Largest file that is read, in bytes (512 MiB). The largest public board known is below 100 MB.
pub const MAX_FILE_BYTES: usize = 512 * 1024 * 1024;

/// Deepest nesting of lists that is read, in levels. KiCad's own files stay below 20.
pub const MAX_DEPTH_LEVELS: usize = 512;

/// Most nodes (lists, words and strings together) in one file; at 12 bytes each this caps the tree at 1.2 GB.
pub const MAX_NODES: usize = 100_000_000;

/// Longest single word or string, in bytes (16 MiB). Embedded pictures are stored in lines of 76 characters.
pub const MAX_ATOM_BYTES: usize = 16 * 1024 * 1024;

#[cfg(test)]
mod tests;
