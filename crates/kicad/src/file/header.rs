//! Kind, format version and maker of a file from its first bytes, and which KiCad can read it.
//!
//! KiCad 9 answers "Failed to load board" for every reason there is, so the version has to be known before it is
//! called.

use std::fmt;
use std::io::Read as _;
use std::path::Path;

use crate::sexpr::{Foreign, Lexer, Reason, SexprError, TokenKind, unquote};

/// Bytes of a file that are enough to read its header.
pub const HEADER_BYTES: usize = 4096;

/// Tokens after which the search for version and generator ends.
const MAX_HEADER_TOKENS: usize = 64;

/// What a file is, by its first word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum FileKind {
    /// A board (`.kicad_pcb`).
    Board,
    /// A schematic sheet (`.kicad_sch`).
    Schematic,
    /// A symbol library (`.kicad_sym`).
    SymbolLibrary,
    /// One footprint (`.kicad_mod`).
    Footprint,
    /// Design rules (`.kicad_dru`), which begin with their version.
    Rules,
    /// A drawing sheet (`.kicad_wks`).
    DrawingSheet,
    /// A table of libraries (`fp-lib-table`, `sym-lib-table`).
    LibraryTable,
    /// A project (`.kicad_pro`): JSON.
    Project,
}

impl fmt::Display for FileKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FileKind::Board => "board",
            FileKind::Schematic => "schematic",
            FileKind::SymbolLibrary => "symbol library",
            FileKind::Footprint => "footprint",
            FileKind::Rules => "design rules",
            FileKind::DrawingSheet => "drawing sheet",
            FileKind::LibraryTable => "library table",
            FileKind::Project => "project",
        })
    }
}

/// The head of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// What it is.
    pub kind: FileKind,
    /// Format version: a date such as 20241229 for most kinds, small numbers for rules and old library tables; `None` if
    /// the file states none.
    pub version: Option<u32>,
    /// The program that wrote it: `pcbnew`, `eeschema`, or another.
    pub generator: Option<String>,
    /// That program's version, `9.0`; written since KiCad 8.
    pub generator_version: Option<String>,
    /// Whether the file begins with a byte order mark, which KiCad refuses.
    pub byte_order_mark: bool,
}

/// Why the head of a file could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HeaderError {
    /// The bytes are no KiCad file.
    #[error(transparent)]
    Sexpr(#[from] SexprError),
    /// A list, but of no known kind.
    #[error("the file begins with {word:?}, which is no kind of KiCad file")]
    UnknownKind {
        /// The first word, at most 64 bytes of it.
        word: String,
    },
    /// The file could not be opened or read.
    #[error("the file can't be read")]
    Io(#[from] std::io::Error),
}

/// Longest first word that an error repeats, in bytes.
const MAX_SHOWN_BYTES: usize = 64;

impl Header {
    /// Reads the head from the first [`HEADER_BYTES`] bytes of a file (or all of it).
    ///
    /// # Errors
    /// [`HeaderError::Sexpr`] if the bytes are empty, conflicted or no s-expression, [`HeaderError::UnknownKind`].
    pub fn parse(head: &[u8]) -> Result<Self, HeaderError> {
        let byte_order_mark = head.starts_with(b"\xef\xbb\xbf");
        let text = if byte_order_mark { &head[3..] } else { head };
        if Foreign::guess(text) == Foreign::Json {
            return Ok(Header::of(FileKind::Project, byte_order_mark));
        }
        let tokens = first_tokens(head)?;
        let fault = |offset, reason| HeaderError::Sexpr(SexprError::at(head, offset, reason));
        let Some(first) = tokens.first() else { return Err(fault(head.len(), Reason::Empty)) };
        if first.kind != TokenKind::Open {
            return Err(fault(first.start, Reason::NotSexpr { found: Foreign::guess(text) }));
        }
        let Some(word) = tokens.get(1) else {
            return Err(fault(head.len(), Reason::CutOff { open: 1, opened_line: 1 }));
        };
        let kind = kind_of(&word.raw)?;
        let mut header = Header::of(kind, byte_order_mark);
        if kind == FileKind::Rules {
            header.version = tokens.get(2).and_then(|token| number(&token.raw));
            return Ok(header);
        }
        header.fill(&tokens[2..]);
        Ok(header)
    }

    /// Reads the head of a file on disk; reads at most [`HEADER_BYTES`].
    ///
    /// # Errors
    /// Those of [`Header::parse`], and [`HeaderError::Io`].
    pub fn read(path: &Path) -> Result<Self, HeaderError> {
        let mut head = Vec::with_capacity(HEADER_BYTES);
        super::open_plain(path)?.take(HEADER_BYTES as u64).read_to_end(&mut head)?;
        Self::parse(&head)
    }

    fn of(kind: FileKind, byte_order_mark: bool) -> Self {
        Header { kind, version: None, generator: None, generator_version: None, byte_order_mark }
    }

    /// Looks through `(word value …)` lists that follow the first word, whatever their order.
    fn fill(&mut self, tokens: &[Token]) {
        let mut depth = 0_usize;
        for window in tokens.windows(3) {
            match window[0].kind {
                TokenKind::Open => depth += 1,
                TokenKind::Close => depth = depth.saturating_sub(1),
                _ => {}
            }
            if window[0].kind != TokenKind::Open || depth != 1 {
                continue;
            }
            let value = || Some(String::from_utf8_lossy(&unquote(&window[2].raw)).into_owned());
            match window[1].raw.as_slice() {
                b"version" => self.version = number(&window[2].raw),
                // KiCad 5 wrote `(host pcbnew "(5.0.1)-3")`.
                b"generator" | b"host" => self.generator = value(),
                b"generator_version" => self.generator_version = value(),
                b"general" | b"layers" | b"paper" | b"page" | b"uuid" => return,
                _ => {}
            }
        }
    }

    /// The KiCad major version that is needed to read this file; see [`required_major`].
    #[must_use]
    pub fn required_major(&self) -> Option<u32> {
        // KiCad does not check the date of a schematic that names no generator version.
        if self.kind == FileKind::Schematic
            && self.generator_version.is_none()
            && self.version > Some(20_231_120)
        {
            return Some(6);
        }
        required_major(self.kind, self.version?)
    }
}

struct Token {
    kind: TokenKind,
    start: usize,
    raw: Vec<u8>,
}

fn first_tokens(head: &[u8]) -> Result<Vec<Token>, HeaderError> {
    let head = &head[..head.len().min(HEADER_BYTES)];
    let mut lexer = Lexer::new(head, true);
    let mut tokens = Vec::new();
    while tokens.len() < MAX_HEADER_TOKENS {
        match lexer.next_token() {
            Ok(Some((kind, span))) => {
                tokens.push(Token { kind, start: span.start(), raw: head[span.range()].to_vec() });
            }
            Ok(None) => break,
            // The string may only look open because the head was cut off here.
            Err((_, Reason::OpenString)) if !tokens.is_empty() => break,
            Err((offset, reason)) => return Err(SexprError::at(head, offset, reason).into()),
        }
    }
    Ok(tokens)
}

fn kind_of(word: &[u8]) -> Result<FileKind, HeaderError> {
    Ok(match word {
        b"kicad_pcb" => FileKind::Board,
        b"kicad_sch" => FileKind::Schematic,
        b"kicad_symbol_lib" => FileKind::SymbolLibrary,
        b"footprint" | b"module" => FileKind::Footprint,
        b"kicad_wks" | b"page_layout" => FileKind::DrawingSheet,
        b"fp_lib_table" | b"sym_lib_table" | b"design_block_lib_table" => FileKind::LibraryTable,
        b"version" => FileKind::Rules,
        other => {
            let shown = &other[..other.len().min(MAX_SHOWN_BYTES)];
            return Err(HeaderError::UnknownKind {
                word: String::from_utf8_lossy(shown).into_owned(),
            });
        }
    })
}

fn number(raw: &[u8]) -> Option<u32> {
    std::str::from_utf8(&unquote(raw)).ok()?.parse().ok()
}

/// Newest format that each major version reads, from the oldest to the newest: (major, boards, schematics).
///
/// Boards: measured, 9.0.8 refuses all above 20241229 and 10.0.6 all above 20260206; the older rows are the formats
/// that those releases write. Schematics: measured, 9.0.8 refuses all above 20250114; 10.0.6 reads 20260306 and
/// refuses 20260401.
pub const READS_UP_TO: [(u32, u32, u32); 6] = [
    (5, 20_171_130, 0),
    (6, 20_211_014, 20_211_123),
    (7, 20_221_018, 20_230_121),
    (8, 20_240_108, 20_231_120),
    (9, 20_241_229, 20_250_114),
    (10, 20_260_206, 20_260_306),
];

/// The lowest KiCad major version that reads a format: `Some(9)` for a board of 20241229. A format newer than all that
/// are known gives one more than the newest known major; kinds without a table give `None`.
#[must_use]
pub fn required_major(kind: FileKind, version: u32) -> Option<u32> {
    let limit = |row: &(u32, u32, u32)| match kind {
        FileKind::Board | FileKind::Footprint => Some(row.1),
        FileKind::Schematic | FileKind::SymbolLibrary => Some(row.2),
        _ => None,
    };
    let mut newest = 0;
    for row in &READS_UP_TO {
        if version <= limit(row)? {
            return Some(row.0);
        }
        newest = row.0;
    }
    Some(newest + 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::corpus_files;

    #[test]
    fn reads_one_line_and_several() {
        let one =
            Header::parse(b"(kicad_pcb (version 20171130) (host pcbnew \"(5.0.1)-3\")\n").unwrap();
        assert_eq!((one.kind, one.version), (FileKind::Board, Some(20_171_130)));
        assert_eq!(one.generator.as_deref(), Some("pcbnew"));
        let several = b"# x\r\n(kicad_sch\r\n\t(version\r\n 20250114)\r\n\t(generator \"eeschema\")\r\n\t(generator_version \"9.0\")\r\n";
        let several = Header::parse(several).unwrap();
        assert_eq!(several.generator_version.as_deref(), Some("9.0"));
        assert_eq!(several.required_major(), Some(9));
        assert_eq!(Header::parse(b"(version 1)\n(rule x").unwrap().kind, FileKind::Rules);
        assert_eq!(Header::parse(b"\xef\xbb\xbf {}").unwrap().kind, FileKind::Project);
        assert!(Header::parse(b"\xef\xbb\xbf(kicad_pcb (version 1))").unwrap().byte_order_mark);
    }

    #[test]
    fn versions_inside_the_file_do_not_count() {
        let header =
            Header::parse(b"(kicad_pcb (general (version 5)) (version 20240108))").unwrap();
        assert_eq!(header.version, None, "a version after the general part is not a header");
        let header = Header::parse(b"(kicad_pcb (x (version 5)) (version 20240108))").unwrap();
        assert_eq!(header.version, Some(20_240_108));
    }

    #[test]
    fn tells_what_is_no_kicad_file() {
        let text = |bytes: &[u8]| Header::parse(bytes).unwrap_err().to_string();
        assert!(text(b"").contains("is empty"));
        assert!(text(b"(foo 1)").contains("\"foo\""));
        assert!(text(b"version https://git-lfs").contains("large-file"));
        assert!(text(b"<<<<<<< HEAD\n(kicad_pcb").contains("merge conflict"));
        assert!(text(b"(").contains("cut off"));
    }

    #[test]
    #[cfg(unix)]
    fn folders_and_devices_are_errors() {
        let folder = tempfile::tempdir().unwrap();
        let kind = |path: &Path| match Header::read(path) {
            Err(HeaderError::Io(error)) => error.kind(),
            other => panic!("{other:?}"),
        };
        assert_eq!(kind(folder.path()), std::io::ErrorKind::IsADirectory);
        assert_eq!(kind(Path::new("/dev/null")), std::io::ErrorKind::InvalidInput);
        assert_eq!(kind(&folder.path().join("gone")), std::io::ErrorKind::NotFound);
    }

    #[test]
    fn table_of_majors() {
        let board = |v| required_major(FileKind::Board, v);
        assert_eq!(board(4), Some(5));
        assert_eq!(board(20_171_130), Some(5));
        assert_eq!(board(20_211_014), Some(6));
        assert_eq!(board(20_230_620), Some(8));
        assert_eq!(board(20_241_229), Some(9));
        assert_eq!(board(20_241_230), Some(10));
        assert_eq!(board(20_260_206), Some(10));
        assert_eq!(board(20_270_101), Some(11));
        assert_eq!(required_major(FileKind::Schematic, 20_260_401), Some(11));
        assert_eq!(required_major(FileKind::Rules, 1), None);
    }

    #[test]
    fn every_board_and_sheet_of_the_corpus_has_a_header() {
        let wanted =
            |path: &Path| path.extension().is_some_and(|e| e == "kicad_pcb" || e == "kicad_sch");
        let Some(files) = corpus_files("", wanted) else { return };
        for path in files {
            let header = Header::read(&path).unwrap();
            let name = path.to_string_lossy();
            let major =
                ["v5-", "v6-", "v7-", "v8-", "v9-", "v10-"].iter().position(|p| name.contains(p));
            let expected = major.map_or(9, |at| 5 + u32::try_from(at).unwrap());
            assert!(header.version.is_some(), "{name}");
            // The root sheets of one old project were saved by an older release than its board.
            assert!(header.required_major().unwrap() <= expected, "{name}: {header:?}");
            if header.kind == FileKind::Board {
                assert_eq!(header.required_major(), Some(expected), "{name}");
            }
        }
    }

    proptest! {
        #[test]
        fn never_panics(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _result = Header::parse(&bytes);
        }

        #[test]
        fn never_panics_near(text in "[(]kicad_pcb[(version)0-9\" \n]{0,60}") {
            let _result = Header::parse(text.as_bytes());
        }
    }
}
