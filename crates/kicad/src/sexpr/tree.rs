//! The flat tree over the bytes of a file.

use std::borrow::Cow;

use super::error::{Foreign, Reason, SexprError, line_column};
use super::lex::{BOM_BYTES, Lexer, TokenKind, has_bom, is_blank};
use super::{MAX_DEPTH_LEVELS, MAX_FILE_BYTES, MAX_NODES, unquote};

/// A range of bytes, end excluded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    start: u32,
    end: u32,
}

impl Span {
    pub(super) fn new(start: usize, end: usize) -> Self {
        // Sources are at most MAX_FILE_BYTES long, which is below u32::MAX; saturating keeps this total.
        let fit = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Span { start: fit(start), end: fit(end) }
    }

    /// First byte.
    #[must_use]
    pub fn start(self) -> usize {
        self.start as usize
    }

    /// First byte after.
    #[must_use]
    pub fn end(self) -> usize {
        self.end as usize
    }

    /// The same as a range.
    #[must_use]
    pub fn range(self) -> std::ops::Range<usize> {
        self.start()..self.end()
    }
}

/// One stored node: its bytes, and the index of the first node after its subtree.
#[derive(Debug, Clone, Copy)]
struct Slot {
    span: Span,
    next: u32,
}

/// Bytes per node that are assumed when memory is set aside; real boards have 7 to 12.
const BYTES_PER_NODE_GUESS: usize = 8;

/// A file and the tree over it.
#[derive(Debug, Clone)]
pub struct Document {
    src: Vec<u8>,
    slots: Vec<Slot>,
}

impl Document {
    /// Reads a file of any number of lists (`.kicad_dru` has several, most files one), and refuses what KiCad refuses
    /// too: a byte order mark and the marks of an unfinished merge.
    ///
    /// # Errors
    /// [`SexprError`] with place and reason: empty, too large, no s-expression, byte order mark, merge conflict, cut
    /// off, open string, brackets that do not match, or one of the limits of this module.
    pub fn parse(src: Vec<u8>) -> Result<Self, SexprError> {
        if has_bom(&src) && src.len() > BOM_BYTES {
            return Err(SexprError::at(&src, 0, Reason::ByteOrderMark));
        }
        Self::read(src, true)
    }

    /// As [`Document::parse`], but keeps a byte order mark and takes the marks of a merge for words, so that a file which
    /// KiCad refuses can still be looked at and mended.
    ///
    /// # Errors
    /// Those of [`Document::parse`] except [`Reason::ByteOrderMark`] and [`Reason::MergeConflict`].
    pub fn parse_lenient(src: Vec<u8>) -> Result<Self, SexprError> {
        Self::read(src, false)
    }

    fn read(src: Vec<u8>, strict: bool) -> Result<Self, SexprError> {
        match build(&src, strict) {
            Ok(slots) => Ok(Document { src, slots }),
            Err((offset, reason)) => Err(SexprError::at(&src, offset, reason)),
        }
    }

    /// The bytes of the file, exactly as read.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.src
    }

    /// Gives the bytes back.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.src
    }

    /// Whether the file begins with a byte order mark.
    #[must_use]
    pub fn has_bom(&self) -> bool {
        has_bom(&self.src)
    }

    /// Number of lists, words and strings.
    #[must_use]
    pub fn node_count(&self) -> usize {
        self.slots.len()
    }

    /// The outermost lists, in order.
    #[must_use]
    pub fn top(&self) -> Children<'_> {
        Children { doc: self, at: 0, end: self.slots.len() }
    }

    /// The first outermost list; every document has one.
    #[must_use]
    pub fn root(&self) -> Node<'_> {
        Node { doc: self, index: 0 }
    }

    /// Line and column (from 1, column in bytes) of a byte.
    #[must_use]
    pub fn line_column(&self, offset: usize) -> (u32, u32) {
        line_column(&self.src, offset)
    }
}

fn build(src: &[u8], strict: bool) -> Result<Vec<Slot>, (usize, Reason)> {
    if src.len() > MAX_FILE_BYTES {
        return Err((0, Reason::TooLarge { bytes: src.len(), limit: MAX_FILE_BYTES }));
    }
    let mut slots: Vec<Slot> =
        Vec::with_capacity((src.len() / BYTES_PER_NODE_GUESS).min(MAX_NODES));
    let mut open: Vec<usize> = Vec::new();
    let mut lexer = Lexer::new(src, strict);
    let mut ratio = StrayRatio::default();
    while let Some((kind, span)) = lexer.next_token()? {
        let forgiven = ratio.sees(kind, &src[span.range()]);
        if kind == TokenKind::Close {
            if forgiven {
                continue;
            }
            let Some(list) = open.pop() else { return Err((span.start(), Reason::ExtraClose)) };
            let whole = Span::new(slots[list].span.start(), span.end());
            slots[list] = Slot { span: whole, next: index(slots.len()) };
            continue;
        }
        if slots.len() >= MAX_NODES {
            return Err((span.start(), Reason::TooManyNodes { limit: MAX_NODES }));
        }
        if kind == TokenKind::Open {
            if open.len() >= MAX_DEPTH_LEVELS {
                return Err((span.start(), Reason::TooDeep { limit: MAX_DEPTH_LEVELS }));
            }
            open.push(slots.len());
        } else if open.is_empty() {
            return Err((span.start(), outside(src, slots.is_empty())));
        }
        slots.push(Slot { span, next: index(slots.len() + 1) });
    }
    if let Some(&innermost) = open.last() {
        let opened_line = line_column(src, slots[innermost].span.start()).0;
        return Err((src.len(), Reason::CutOff { open: open.len(), opened_line }));
    }
    if slots.is_empty() { Err((src.len(), Reason::Empty)) } else { Ok(slots) }
}

/// KiCad 9 writes a bracket too few for teardrops, `(curved_edges no)filter_ratio 0.9)`, and KiCad 9 and 10 read it all the
/// same (seen in a demo board of 9.0.8, loaded with both). The closing bracket is passed over here and so belongs to no
/// node; `filter_ratio` and its number become children of the list around them.
#[derive(Default)]
struct StrayRatio {
    last: Option<TokenKind>,
    /// Tokens seen since the stray word, itself included; 0 if there was none.
    seen: u8,
}

impl StrayRatio {
    /// Takes the next token; true for the closing bracket that has no opening one.
    fn sees(&mut self, kind: TokenKind, bytes: &[u8]) -> bool {
        let begins = kind == TokenKind::Word
            && bytes == b"filter_ratio"
            && self.last == Some(TokenKind::Close);
        self.last = Some(kind);
        let forgiven = self.seen == 2 && kind == TokenKind::Close;
        self.seen = match (begins, self.seen, kind) {
            (true, ..) => 1,
            (_, 1, TokenKind::Word) => 2,
            _ => 0,
        };
        forgiven
    }
}

fn outside(src: &[u8], first: bool) -> Reason {
    const MARK: &str = "<<<<<<<";
    match first {
        true if src.starts_with(MARK.as_bytes()) => Reason::MergeConflict { mark: MARK.to_owned() },
        true => Reason::NotSexpr { found: Foreign::guess(src) },
        false => Reason::StrayText,
    }
}

/// An index into the slots; they are fewer than [`MAX_NODES`] + 1, which fits.
fn index(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// One list, word or string of a [`Document`].
#[derive(Clone, Copy)]
pub struct Node<'d> {
    doc: &'d Document,
    index: usize,
}

impl std::fmt::Debug for Node<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        const SHOWN_BYTES: usize = 60;
        let bytes = self.bytes();
        write!(f, "Node({})", String::from_utf8_lossy(&bytes[..bytes.len().min(SHOWN_BYTES)]))
    }
}

impl<'d> Node<'d> {
    /// Where it stands in the file.
    #[must_use]
    pub fn span(self) -> Span {
        self.doc.slots[self.index].span
    }

    /// Line on which it begins, from 1.
    #[must_use]
    pub fn line(self) -> u32 {
        self.doc.line_column(self.span().start()).0
    }

    /// Its bytes, brackets or quotes included.
    #[must_use]
    pub fn bytes(self) -> &'d [u8] {
        &self.doc.src[self.span().range()]
    }

    /// Whether it is a list.
    #[must_use]
    pub fn is_list(self) -> bool {
        self.bytes()[0] == b'('
    }

    /// Whether it is a quoted string.
    #[must_use]
    pub fn is_quoted(self) -> bool {
        self.bytes()[0] == b'"'
    }

    /// What a list holds, in order; nothing for a word or string.
    #[must_use]
    pub fn children(self) -> Children<'d> {
        Children {
            doc: self.doc,
            at: self.index + 1,
            end: self.doc.slots[self.index].next as usize,
        }
    }

    /// The bare word that a list begins with: `pad` for `(pad "1" …)`; empty if there is none.
    #[must_use]
    pub fn head(self) -> &'d [u8] {
        match self.children().next() {
            Some(first) if !first.is_list() && !first.is_quoted() => first.bytes(),
            _ => b"",
        }
    }

    /// The first list in it that begins with `head`.
    #[must_use]
    pub fn child(self, head: &str) -> Option<Node<'d>> {
        self.children().find(|node| node.is_list() && node.head() == head.as_bytes())
    }

    /// All lists in it that begin with `head`.
    pub fn children_named(self, head: &str) -> impl Iterator<Item = Node<'d>> {
        self.children().filter(move |node| node.is_list() && node.head() == head.as_bytes())
    }

    /// The child at `position`, from 0, if it is a word or string. The head of a list stands at 0.
    #[must_use]
    pub fn atom(self, position: usize) -> Option<Node<'d>> {
        self.children().nth(position).filter(|node| !node.is_list())
    }

    /// Its value: a word as it stands, a string without quotes and escapes; a list gives its bytes.
    #[must_use]
    pub fn value(self) -> Cow<'d, [u8]> {
        unquote(self.bytes())
    }

    /// [`Node::value`] as text; bytes that are no UTF-8 become U+FFFD.
    #[must_use]
    pub fn text(self) -> String {
        String::from_utf8_lossy(&self.value()).into_owned()
    }

    /// The text of the atom at `position` in the first list that begins with `head`: `("net" 1)` of `(net "GND")`.
    #[must_use]
    pub fn field(self, head: &str, position: usize) -> Option<String> {
        self.child(head)?.atom(position).map(Node::text)
    }

    /// Whether a bare word stands in it, after the head: `locked` in `(footprint "x" locked …)`.
    #[must_use]
    pub fn has_word(self, word: &str) -> bool {
        self.children().skip(1).any(|node| node.bytes() == word.as_bytes())
    }

    /// KiCad's ways to say yes: the bare word, `(word)` or `(word yes)`; `(word no)` says no.
    #[must_use]
    pub fn flag(self, word: &str) -> bool {
        match self.child(word) {
            Some(list) => {
                list.atom(1).is_none_or(|value| matches!(&*value.value(), b"yes" | b"true"))
            }
            None => self.has_word(word),
        }
    }

    pub(super) fn belongs_to(self, doc: &Document) -> bool {
        std::ptr::eq(self.doc, doc)
    }
}

/// Nodes beside each other, in order.
#[derive(Debug, Clone)]
pub struct Children<'d> {
    doc: &'d Document,
    at: usize,
    end: usize,
}

impl<'d> Iterator for Children<'d> {
    type Item = Node<'d>;

    fn next(&mut self) -> Option<Node<'d>> {
        if self.at >= self.end {
            return None;
        }
        let node = Node { doc: self.doc, index: self.at };
        self.at = self.doc.slots[self.at].next as usize;
        Some(node)
    }
}

/// Whether nothing but blanks stands between two bytes on one line, looking at `range` of `src`.
pub(super) fn all_blank(src: &[u8]) -> bool {
    src.iter().all(|b| is_blank(*b))
}
