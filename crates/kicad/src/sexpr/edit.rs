//! Changes to a document: chosen spans are replaced, every other byte is copied.
//!
//! **What happens to the blanks around a removed node.** [`Edit::remove`] takes exactly the bytes of the node and
//! nothing else; blanks, line ends and comments around it stay, so the place shows as a blank line. (If two words would
//! grow together, one space is left.) [`Edit::remove_lines`] takes whole lines, indentation and line end included, if
//! nothing but the node stands on them, and is the same as `remove` otherwise; differences read better that way.

use super::lex::{ends_word, is_blank};
use super::tree::all_blank;
use super::{Document, Node, Reason, SexprError, Span};

/// Most bytes of blanks that a new child copies from its neighbour.
const MAX_COPIED_BLANK_BYTES: usize = 256;

/// A change that can't be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EditError {
    /// The node is of another document than the edit.
    #[error("the node at byte {offset} is of another document")]
    OtherDocument {
        /// Where the node begins in its own document, in bytes.
        offset: usize,
    },
    /// Two changes touch the same bytes.
    #[error("two changes overlap at byte {offset}")]
    Overlap {
        /// Where, in bytes.
        offset: usize,
    },
    /// A new text is not exactly one word, string or list.
    #[error("the new text is not exactly one word, string or list")]
    NotOneNode,
    /// A new text can't be read.
    #[error("the new text can't be read")]
    Fragment(#[source] SexprError),
    /// The target is a list where an atom is needed, or the other way round.
    #[error("the node at byte {offset} is of the wrong kind for this change")]
    WrongKind {
        /// Where, in bytes.
        offset: usize,
    },
    /// Without the removed node the rest of its line would turn into a comment.
    #[error("what follows byte {offset} would become a comment")]
    WouldComment {
        /// Where, in bytes.
        offset: usize,
    },
    /// The last outermost list can't be removed.
    #[error("the document would be empty")]
    WouldBeEmpty,
}

/// A set of changes to one document.
#[derive(Debug)]
pub struct Edit<'d> {
    doc: &'d Document,
    changes: Vec<(Span, Vec<u8>)>,
}

impl<'d> Edit<'d> {
    /// No changes yet.
    #[must_use]
    pub fn new(doc: &'d Document) -> Self {
        Edit { doc, changes: Vec::new() }
    }

    /// Removes the bytes of a node, and no other byte.
    ///
    /// # Errors
    /// [`EditError::OtherDocument`], [`EditError::WouldComment`].
    pub fn remove(&mut self, node: Node<'_>) -> Result<(), EditError> {
        self.own(node)?;
        let src = self.doc.bytes();
        let span = node.span();
        let (before, after) = (&src[..span.start()], &src[span.end()..]);
        let line_start = before.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
        let next = after.iter().find(|b| !is_blank(**b) || **b == b'\n');
        if next == Some(&b'#') && all_blank(&before[line_start..]) {
            return Err(EditError::WouldComment { offset: span.end() });
        }
        let joins = |byte: Option<&u8>| byte.is_some_and(|b| !ends_word(*b));
        let left =
            if joins(before.last()) && joins(after.first()) { b" ".to_vec() } else { Vec::new() };
        self.changes.push((span, left));
        Ok(())
    }

    /// Removes a node together with its lines if it stands alone on them; otherwise the same as [`Edit::remove`].
    ///
    /// # Errors
    /// Those of [`Edit::remove`].
    pub fn remove_lines(&mut self, node: Node<'_>) -> Result<(), EditError> {
        self.own(node)?;
        let src = self.doc.bytes();
        let span = node.span();
        let line_start =
            src[..span.start()].iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
        let line_end =
            src[span.end()..].iter().position(|b| *b == b'\n').map(|at| span.end() + at + 1);
        let Some(line_end) = line_end else { return self.remove(node) };
        if all_blank(&src[line_start..span.start()]) && all_blank(&src[span.end()..line_end]) {
            self.changes.push((Span::new(line_start, line_end), Vec::new()));
            return Ok(());
        }
        self.remove(node)
    }

    /// Puts a new word or string in the place of an old one. `raw` is written as given; see [`quote`](super::quote).
    ///
    /// # Errors
    /// [`EditError::OtherDocument`], [`EditError::WrongKind`] for lists, [`EditError::NotOneNode`].
    pub fn replace_atom(&mut self, node: Node<'_>, raw: &str) -> Result<(), EditError> {
        self.own(node)?;
        if node.is_list() || raw.starts_with('(') {
            return Err(EditError::WrongKind { offset: node.span().start() });
        }
        check_fragment(raw)?;
        let src = self.doc.bytes();
        let span = node.span();
        let mut new = Vec::with_capacity(raw.len() + 2);
        if joins_before(src, span.start()) {
            new.push(b' ');
        }
        new.extend_from_slice(raw.as_bytes());
        if src.get(span.end()).is_some_and(|b| !ends_word(*b)) {
            new.push(b' ');
        }
        self.changes.push((span, new));
        Ok(())
    }

    /// Puts any node in the place of another.
    ///
    /// # Errors
    /// [`EditError::OtherDocument`], [`EditError::Fragment`], [`EditError::NotOneNode`].
    pub fn replace(&mut self, node: Node<'_>, raw: &str) -> Result<(), EditError> {
        self.own(node)?;
        check_fragment(raw)?;
        let src = self.doc.bytes();
        let span = node.span();
        let before = if joins_before(src, span.start()) { " " } else { "" };
        let after = if src.get(span.end()).is_some_and(|b| !ends_word(*b)) { " " } else { "" };
        self.changes.push((span, format!("{before}{raw}{after}").into_bytes()));
        Ok(())
    }

    /// Adds a child to a list, right after `sibling`, or after the last child if `None`. The blanks before the sibling
    /// are copied, so that a child on a line of its own gets a line of its own.
    ///
    /// # Errors
    /// [`EditError::OtherDocument`], [`EditError::WrongKind`] if `parent` is no list, [`EditError::Fragment`],
    /// [`EditError::NotOneNode`].
    pub fn insert_child(
        &mut self,
        parent: Node<'_>,
        sibling: Option<Node<'_>>,
        raw: &str,
    ) -> Result<(), EditError> {
        self.own(parent)?;
        if !parent.is_list() {
            return Err(EditError::WrongKind { offset: parent.span().start() });
        }
        check_fragment(raw)?;
        let src = self.doc.bytes();
        let sibling = match sibling {
            Some(node) => {
                self.own(node)?;
                Some(node)
            }
            None => parent.children().last(),
        };
        let (at, mut new) = match sibling {
            Some(node) => (node.span().end(), blanks_before(src, node.span().start())),
            None => (parent.span().start() + 1, Vec::new()),
        };
        new.extend_from_slice(raw.as_bytes());
        if src.get(at).is_some_and(|b| !ends_word(*b)) {
            new.push(b' ');
        }
        self.changes.push((Span::new(at, at), new));
        Ok(())
    }

    /// Carries out all changes and gives the new bytes. With no changes these are the bytes of the document.
    ///
    /// # Errors
    /// [`EditError::Overlap`], [`EditError::WouldBeEmpty`].
    pub fn finish(mut self) -> Result<Vec<u8>, EditError> {
        self.changes.sort_by_key(|(span, _)| *span);
        let src = self.doc.bytes();
        let grown: usize = self.changes.iter().map(|(_, new)| new.len()).sum();
        let mut out = Vec::with_capacity(src.len() + grown);
        let mut done = 0;
        for (span, new) in &self.changes {
            if span.start() < done {
                return Err(EditError::Overlap { offset: span.start() });
            }
            out.extend_from_slice(&src[done..span.start()]);
            out.extend_from_slice(new);
            done = span.end();
        }
        out.extend_from_slice(&src[done..]);
        let gone = |node: Node<'_>| {
            let whole = |(span, new): &(Span, Vec<u8>)| {
                span.start() <= node.span().start()
                    && node.span().end() <= span.end()
                    && all_blank(new)
            };
            self.changes.iter().any(whole)
        };
        if !self.changes.is_empty() && self.doc.top().all(gone) {
            return Err(EditError::WouldBeEmpty);
        }
        Ok(out)
    }

    fn own(&self, node: Node<'_>) -> Result<(), EditError> {
        if node.belongs_to(self.doc) {
            Ok(())
        } else {
            Err(EditError::OtherDocument { offset: node.span().start() })
        }
    }
}

fn joins_before(src: &[u8], start: usize) -> bool {
    // A string may stand directly behind a word or string; a word put there instead would grow into it.
    start > 0 && !ends_word(src[start - 1])
}

fn blanks_before(src: &[u8], start: usize) -> Vec<u8> {
    let before = &src[start.saturating_sub(MAX_COPIED_BLANK_BYTES)..start];
    let from = before.iter().rposition(|b| !is_blank(*b)).map_or(0, |at| at + 1);
    let blanks: Vec<u8> = before[from..].iter().copied().filter(|b| *b != 0).collect();
    if blanks.is_empty() { b" ".to_vec() } else { blanks }
}

/// A fragment must be one node, with nothing around it.
fn check_fragment(raw: &str) -> Result<(), EditError> {
    let wrapped = format!("(x {raw}\n)");
    let doc = Document::parse(wrapped.into_bytes()).map_err(|error| match error.reason {
        Reason::StrayText | Reason::ExtraClose | Reason::NotSexpr { .. } => EditError::NotOneNode,
        _ => EditError::Fragment(error),
    })?;
    let mut inner = doc.root().children().skip(1);
    let alone =
        inner.next().is_some_and(|node| node.bytes() == raw.as_bytes()) && inner.next().is_none();
    // A word that begins with `#` turns into a comment as soon as it stands first on a line.
    if alone && doc.top().count() == 1 && !raw.starts_with('#') {
        Ok(())
    } else {
        Err(EditError::NotOneNode)
    }
}
