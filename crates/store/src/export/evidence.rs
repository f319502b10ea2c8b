//! The stored evidence that travels with an export: packed as it lies on disk, in the order of
//! its digests, and only what the exported events name.

use std::collections::BTreeSet;
use std::io::Write;

use pcbflow_core::event::Fact;
use pcbflow_core::ids::{Digest, Seq};
use pcbflow_core::ports::{Blobs as _, LedgerError};

use super::refused;
use crate::blobs::{BLOB_BYTES_MAX, FileBlobs, unpack_from};
use crate::fault;
use crate::hash::Chain;
use crate::read::{Control, each_frame};
use crate::verify::{Store, named};

/// Largest packed evidence: what does not get smaller by packing grows a little. In bytes.
pub(super) const PACKED_BYTES_MAX: usize = BLOB_BYTES_MAX + (BLOB_BYTES_MAX >> 7);
/// Mark of evidence in an export.
pub(super) const MARK: u8 = 2;

/// Evidence that events name, and what was removed for good.
#[derive(Debug, Default)]
pub(super) struct Named {
    all: BTreeSet<Digest>,
    removed: BTreeSet<Digest>,
}

impl Named {
    /// Takes what an event names.
    pub(super) fn see(&mut self, fact: &Fact) {
        named(fact, &mut |digest| {
            self.all.insert(*digest);
        });
        if let Fact::BodyExpunged { blobs, .. } = fact {
            self.removed.extend(blobs);
        }
    }

    fn wanted(&self) -> impl Iterator<Item = &Digest> {
        self.all.difference(&self.removed)
    }

    /// Whether an event names it, and none says that it was removed.
    pub(super) fn wants(&self, digest: &Digest) -> bool {
        self.all.contains(digest) && !self.removed.contains(digest)
    }
}

/// Evidence that was removed for good from this ledger: an older export must not bring it back.
pub(super) fn removed_here(ledger: &dyn Store) -> Result<BTreeSet<Digest>, LedgerError> {
    let mut seen = Named::default();
    for stream in ledger.streams()? {
        each_frame(ledger, &stream, Seq(0), &mut Chain::new(), &mut |seq, frame| {
            seen.see(&frame.event(&stream, seq, true)?.fact);
            Ok(Control::Next)
        })?;
    }
    Ok(seen.removed)
}

/// Writes what the events name, each piece checked against its digest. Gives how many pieces
/// were written, and how many are not there or damaged, and so can't travel.
pub(super) fn write(
    blobs: &FileBlobs,
    named: &Named,
    out: &mut impl Write,
) -> Result<(u64, u64), LedgerError> {
    let fail = |e: std::io::Error| fault::io("writing the export", &e);
    let (mut written, mut left_out) = (0, 0);
    for digest in named.wanted() {
        let packed = match std::fs::read(blobs.path_of(digest)) {
            Ok(packed) if packed.len() <= PACKED_BYTES_MAX && fits(digest, &packed) => packed,
            _ => {
                left_out += 1;
                continue;
            }
        };
        let length = u32::try_from(packed.len()).map_err(|_| refused("evidence too large"))?;
        out.write_all(&[MARK]).map_err(fail)?;
        out.write_all(&digest.0).map_err(fail)?;
        out.write_all(&length.to_le_bytes()).map_err(fail)?;
        out.write_all(&packed).map_err(fail)?;
        written += 1;
    }
    Ok((written, left_out))
}

/// Whether packed bytes hold what their digest says.
pub(super) fn fits(digest: &Digest, packed: &[u8]) -> bool {
    unpack_from(packed).is_ok_and(|bytes| Digest::of(&bytes) == *digest)
}

/// Stores packed evidence as it came, unless it is here whole. True when it was new.
pub(super) fn keep(blobs: &FileBlobs, digest: &Digest, packed: &[u8]) -> Result<bool, LedgerError> {
    if blobs.get(digest).is_ok() {
        return Ok(false);
    }
    blobs.store_packed(digest, packed).map_err(|e| fault::io("storing evidence", &e))?;
    Ok(true)
}
