//! The byte rule of the chain.
//!
//! ```text
//! body_digest = BLAKE3(body)                                        32 bytes
//! hash        = BLAKE3 in derive_key mode, context "pcbflow event v1",
//!               over  prev_hash (32) || header || body_digest (32)
//! ```
//!
//! * `header` and `body` are the **stored** bytes of the event, exactly as they lie in the
//!   ledger; nothing is ever encoded again for hashing.
//! * `prev_hash` is the hash of the event before in the same stream, 32 zero bytes for the
//!   first. The header has no length in front: it is what lies between two fields of fixed
//!   length, so no two inputs collide.
//! * A body that was expunged leaves its digest behind, so the chain verifies without it; its
//!   random salt of 32 bytes keeps the digest from being guessed back into words.
//! * The header holds the sequence number, and the first header of a stream the stream's name
//!   and the ledger's id, so events can't change place, stream or ledger.

use pcbflow_core::ids::Digest;

/// Context string of the derived key; part of the format.
pub const HASH_CONTEXT: &str = "pcbflow event v1";

/// Hashes events; keeps its tables between calls.
#[derive(Debug, Clone)]
pub struct Chain {
    keyed: blake3::Hasher,
}

impl Default for Chain {
    fn default() -> Self {
        Chain::new()
    }
}

impl Chain {
    /// A hasher for any number of events.
    #[must_use]
    pub fn new() -> Chain {
        Chain { keyed: blake3::Hasher::new_derive_key(HASH_CONTEXT) }
    }

    /// Hash of an event whose body is there.
    pub fn hash(&mut self, prev: &Digest, header: &[u8], body: &[u8]) -> Digest {
        let body = blake3::hash(body);
        self.hash_digested(prev, header, &Digest(*body.as_bytes()))
    }

    /// Hash of an event of whose body only the digest is there.
    pub fn hash_digested(&mut self, prev: &Digest, header: &[u8], body: &Digest) -> Digest {
        self.keyed.reset();
        self.keyed.update(&prev.0);
        self.keyed.update(header);
        self.keyed.update(&body.0);
        Digest(*self.keyed.finalize().as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [&str; 10] = [
        "e4650225ce644c28abc2afa819b091c8043a08e7ed2f18e9b381c29a922d5b60",
        "f198fa21492177f3c97f464d220194c2236b4680caf3526b6c946011a98bb06b",
        "bdcdb74687923dbed1f364494ffc0588ca1ff35ef80e3ce7e8f07b05b809b84c",
        "b9379116eb3593a7109d3f3fc8e59af2ef62566f0e2a4a5c74d972c1dbc2edba",
        "fa175c6401de91cf11328b60687f105cf294c73fa5ef0cb7a238f9e72d4d0bed",
        "650d08a5d8d37d28c795680e7cd529c19fe78bb22365ffffb876a25ef1de798c",
        "8053cd181e3412329be0dfdb428112d9c3703b277762fbf4ff6872732468a240",
        "cce02154ac76f1268942319b5fb3013d4e1ad188fea8edf3225bd8fdfcbc6a4b",
        "0112eba97c965b2bb47cabc88e1f26256c6b6d321928c7e2024255a01f2f55f4",
        "da955d82bf29c7fae272d3f73d9c92810537056e81a748cce0d6588cec0beda3",
    ];

    #[test]
    fn ten_known_hashes_that_must_not_move() {
        let mut chain = Chain::new();
        let mut prev = Digest::ZERO;
        let mut seen = Vec::new();
        for n in 0u8..10 {
            let header = vec![n; usize::from(n) * 37];
            let body = vec![n ^ 0xff; usize::from(n) * 111];
            prev = chain.hash(&prev, &header, &body);
            seen.push(prev.to_string());
        }
        assert_eq!(seen, KNOWN, "a moved hash breaks every ledger there is");
    }

    #[test]
    fn the_rule_is_the_one_in_the_docs() {
        let (prev, header, body) = (Digest::of(b"p"), b"header", b"body");
        let mut input = prev.0.to_vec();
        input.extend_from_slice(header);
        input.extend_from_slice(blake3::hash(body).as_bytes());
        let want = blake3::derive_key("pcbflow event v1", &input);
        assert_eq!(Chain::new().hash(&prev, header, body).0, want);
        let digested = Chain::new().hash_digested(&prev, header, &Digest::of(body));
        assert_eq!(digested.0, want, "without the body");
    }
}
