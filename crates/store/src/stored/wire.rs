//! Building blocks of the stored form: how one value becomes CBOR and comes back, and how a
//! stored value becomes one of the domain. Frozen together with [`super::v1`].

use std::borrow::Cow;
use std::collections::BTreeMap;

use minicbor::Decoder;
use minicbor::data::Type;
use pcbflow_core::ids::{
    AskId, AttemptNo, ClassId, Digest, IdError, KindName, LedgerId, PhaseId, RunId, Seq, StepId,
    StreamId,
};
use pcbflow_core::time::Timestamp;
use serde::{Serialize, Serializer};

/// Most elements of one stored list or map; more is damage, not data.
pub(crate) const ELEMENTS_MAX: u64 = 1 << 20;

/// Why stored bytes are not an event of this release.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Fault {
    /// A newer release wrote something that this one has no word for.
    #[error("written by a newer release: {0}")]
    Unknown(String),
    /// The bytes have no form that any release writes.
    #[error("{0}")]
    Form(String),
}

impl From<minicbor::decode::Error> for Fault {
    fn from(e: minicbor::decode::Error) -> Fault {
        Fault::Form(e.to_string())
    }
}

impl From<IdError> for Fault {
    fn from(e: IdError) -> Fault {
        Fault::Form(e.to_string())
    }
}

/// Reads itself from stored bytes, borrowing what it can.
pub(crate) trait Get<'a>: Sized {
    fn get(d: &mut Decoder<'a>) -> Result<Self, Fault>;

    /// What it is in an event of a release that did not write it yet; `None` for what every release
    /// wrote.
    fn unwritten() -> Option<Self> {
        None
    }
}

/// A stored type that stands for the domain type `D`.
pub(crate) trait Frozen<'a, D>: Sized {
    fn of(domain: &'a D) -> Self;
    fn domain(self) -> Result<D, Fault>;
}

/// Length of the array that starts here.
pub(crate) fn array(d: &mut Decoder<'_>) -> Result<u64, Fault> {
    match d.array()? {
        Some(n) if n <= ELEMENTS_MAX => Ok(n),
        Some(n) => Err(Fault::Form(format!("a list of {n} elements"))),
        None => Err(Fault::Form("a list of unknown length".into())),
    }
}

/// Takes the next element of an array of which `left` are left.
pub(crate) fn element<'a, T: Get<'a>>(d: &mut Decoder<'a>, left: &mut u64) -> Result<T, Fault> {
    let Some(rest) = left.checked_sub(1) else {
        return T::unwritten().ok_or_else(|| Fault::Form("a list that is too short".into()));
    };
    *left = rest;
    T::get(d)
}

/// Passes over what a newer release put behind the elements that this one knows.
pub(crate) fn skip_rest(d: &mut Decoder<'_>, left: u64) -> Result<(), Fault> {
    for _ in 0..left {
        d.skip()?;
    }
    Ok(())
}

/// Text, borrowed from the stored bytes or from the domain value.
pub(crate) type Text<'a> = Cow<'a, str>;

impl<'a> Get<'a> for Text<'a> {
    fn get(d: &mut Decoder<'a>) -> Result<Self, Fault> {
        Ok(Cow::Borrowed(d.str()?))
    }
}

impl<'a> Frozen<'a, String> for Text<'a> {
    fn of(domain: &'a String) -> Self {
        Cow::Borrowed(domain)
    }
    fn domain(self) -> Result<String, Fault> {
        Ok(self.into_owned())
    }
}

macro_rules! text_ids {
    ($($id:ident),*) => {$(
        impl<'a> Frozen<'a, $id> for Text<'a> {
            fn of(domain: &'a $id) -> Self {
                Cow::Borrowed(domain.as_str())
            }
            fn domain(self) -> Result<$id, Fault> {
                Ok($id::new(self.into_owned())?)
            }
        }
    )*};
}
text_ids!(AskId, ClassId, KindName, LedgerId, PhaseId, RunId, StepId);

impl<'a> Frozen<'a, StreamId> for Text<'a> {
    fn of(domain: &'a StreamId) -> Self {
        Cow::Owned(domain.to_string())
    }
    fn domain(self) -> Result<StreamId, Fault> {
        Ok(self.parse()?)
    }
}

macro_rules! numbers {
    ($($ty:ident $read:ident),*) => {$(
        impl<'a> Get<'a> for $ty {
            fn get(d: &mut Decoder<'a>) -> Result<Self, Fault> {
                Ok(d.$read()?)
            }
        }
        impl<'a> Frozen<'a, $ty> for $ty {
            fn of(domain: &'a $ty) -> Self {
                *domain
            }
            fn domain(self) -> Result<$ty, Fault> {
                Ok(self)
            }
        }
    )*};
}
numbers!(bool bool, u8 u8, u32 u32, u64 u64, i32 i32, i64 i64);

macro_rules! wrapped {
    ($($domain:ident $raw:ty),*) => {$(
        impl<'a> Frozen<'a, $domain> for $raw {
            fn of(domain: &'a $domain) -> Self {
                domain.0
            }
            fn domain(self) -> Result<$domain, Fault> {
                Ok($domain(self))
            }
        }
    )*};
}
wrapped!(Seq u64, AttemptNo u32, Timestamp i64);

/// Thirty-two bytes, stored as a byte string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hash32(pub(crate) [u8; 32]);

impl Serialize for Hash32 {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_bytes(&self.0)
    }
}

impl<'a> Get<'a> for Hash32 {
    fn get(d: &mut Decoder<'a>) -> Result<Self, Fault> {
        let bytes = d.bytes()?;
        <[u8; 32]>::try_from(bytes)
            .map(Hash32)
            .map_err(|_| Fault::Form(format!("a digest of {} bytes", bytes.len())))
    }
}

impl<'a> Frozen<'a, Digest> for Hash32 {
    fn of(domain: &'a Digest) -> Self {
        Hash32(domain.0)
    }
    fn domain(self) -> Result<Digest, Fault> {
        Ok(Digest(self.0))
    }
}

impl<'a, T: Get<'a>> Get<'a> for Option<T> {
    fn get(d: &mut Decoder<'a>) -> Result<Self, Fault> {
        if d.datatype()? == Type::Null {
            d.null()?;
            return Ok(None);
        }
        T::get(d).map(Some)
    }
}

impl<'a, D, T: Frozen<'a, D>> Frozen<'a, Option<D>> for Option<T> {
    fn of(domain: &'a Option<D>) -> Self {
        domain.as_ref().map(T::of)
    }
    fn domain(self) -> Result<Option<D>, Fault> {
        self.map(T::domain).transpose()
    }
}

impl<'a, T: Get<'a>> Get<'a> for Vec<T> {
    fn get(d: &mut Decoder<'a>) -> Result<Self, Fault> {
        let n = array(d)?;
        // The count is not believed for the allocation: a flipped byte must not ask for gigabytes.
        let mut list = Vec::with_capacity(usize::try_from(n.min(64)).unwrap_or(0));
        for _ in 0..n {
            list.push(T::get(d)?);
        }
        Ok(list)
    }
}

impl<'a, D, T: Frozen<'a, D>> Frozen<'a, Vec<D>> for Vec<T> {
    fn of(domain: &'a Vec<D>) -> Self {
        domain.iter().map(T::of).collect()
    }
    fn domain(self) -> Result<Vec<D>, Fault> {
        self.into_iter().map(T::domain).collect()
    }
}

/// A field that was appended after the first release: where an event ends before it, it is empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Later<T>(pub(crate) T);

impl<T: Serialize> Serialize for Later<T> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(s)
    }
}

impl<'a, T: Get<'a> + Default> Get<'a> for Later<T> {
    fn get(d: &mut Decoder<'a>) -> Result<Self, Fault> {
        T::get(d).map(Later)
    }
    fn unwritten() -> Option<Self> {
        Some(Later(T::default()))
    }
}

impl<'a, D, T: Frozen<'a, D>> Frozen<'a, D> for Later<T> {
    fn of(domain: &'a D) -> Self {
        Later(T::of(domain))
    }
    fn domain(self) -> Result<D, Fault> {
        self.0.domain()
    }
}

/// A map of texts, in the order of its keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pairs<'a>(pub(crate) Vec<(Text<'a>, Text<'a>)>);

impl Serialize for Pairs<'_> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_map(self.0.iter().map(|(k, v)| (k, v)))
    }
}

impl<'a> Get<'a> for Pairs<'a> {
    fn get(d: &mut Decoder<'a>) -> Result<Self, Fault> {
        let n = match d.map()? {
            Some(n) if n <= ELEMENTS_MAX => n,
            _ => return Err(Fault::Form("a map of unknown or absurd length".into())),
        };
        let mut pairs = Vec::new();
        for _ in 0..n {
            pairs.push((Text::get(d)?, Text::get(d)?));
        }
        Ok(Pairs(pairs))
    }
}

impl<'a> Frozen<'a, BTreeMap<String, String>> for Pairs<'a> {
    fn of(domain: &'a BTreeMap<String, String>) -> Self {
        Pairs(domain.iter().map(|(k, v)| (Cow::Borrowed(&**k), Cow::Borrowed(&**v))).collect())
    }
    fn domain(self) -> Result<BTreeMap<String, String>, Fault> {
        Ok(self.0.into_iter().map(|(k, v)| (k.into_owned(), v.into_owned())).collect())
    }
}

/// One value of a closed list, stored as a small number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Code(pub(crate) u8);

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_u8(self.0)
    }
}

impl<'a> Get<'a> for Code {
    fn get(d: &mut Decoder<'a>) -> Result<Self, Fault> {
        let n = d.u64()?;
        u8::try_from(n).map(Code).map_err(|_| Fault::Unknown(format!("a word with number {n}")))
    }
}

/// Gives each value of a domain enum its number for ever.
macro_rules! codes {
    ($domain:ident { $($name:ident = $n:literal),* $(,)? }) => {
        impl<'a> Frozen<'a, $domain> for Code {
            fn of(domain: &'a $domain) -> Self {
                Code(match domain { $($domain::$name => $n),* })
            }
            fn domain(self) -> Result<$domain, Fault> {
                match self.0 {
                    $($n => Ok($domain::$name),)*
                    n => Err(Fault::Unknown(format!("{} {n}", stringify!($domain)))),
                }
            }
        }
    };
}
pub(crate) use codes;

/// A stored struct: an array of its fields, of which newer releases may append more.
macro_rules! stored_struct {
    ($(#[$doc:meta])* $stored:ident => $domain:ident { $($field:ident : $ty:ty),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub(crate) struct $stored<'a> { $(pub(crate) $field: $ty),* }

        impl serde::Serialize for $stored<'_> {
            fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                use serde::ser::SerializeTuple;
                let mut t = s.serialize_tuple([$(stringify!($field)),*].len())?;
                $(t.serialize_element(&self.$field)?;)*
                t.end()
            }
        }

        impl<'a> Get<'a> for $stored<'a> {
            fn get(d: &mut minicbor::Decoder<'a>) -> Result<Self, Fault> {
                let mut left = array(d)?;
                $(let $field = element(d, &mut left)?;)*
                skip_rest(d, left)?;
                Ok(Self { $($field),* })
            }
        }

        impl<'a> Frozen<'a, $domain> for $stored<'a> {
            fn of(domain: &'a $domain) -> Self {
                Self { $($field: <$ty as Frozen<'a, _>>::of(&domain.$field)),* }
            }
            fn domain(self) -> Result<$domain, Fault> {
                Ok($domain { $($field: <$ty as Frozen<'a, _>>::domain(self.$field)?),* })
            }
        }
    };
}
pub(crate) use stored_struct;

/// A stored enum: an array of the variant's number and its fields.
macro_rules! stored_enum {
    (
        $(#[$doc:meta])* $stored:ident => $domain:ident, rest { $($rest:tt)* }
        $($tag:literal $name:ident { $($field:ident : $ty:ty),* $(,)? })*
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub(crate) enum $stored<'a> { $($name { $($field: $ty),* }),* }

        impl<'a> $stored<'a> {
            /// Number and name of every variant.
            #[cfg(test)]
            pub(crate) const VARIANTS: &'static [(u64, &'static str)] =
                &[$(($tag, stringify!($name))),*];

            /// The stored form, `None` when this version has no form for the value.
            pub(crate) fn of(domain: &'a $domain) -> Option<Self> {
                match domain {
                    $($domain::$name { $($field),* } => Some(Self::$name {
                        $($field: <$ty as Frozen<'a, _>>::of($field)),*
                    }),)*
                    $($rest)*
                }
            }

            /// The domain value.
            pub(crate) fn domain(self) -> Result<$domain, Fault> {
                Ok(match self {
                    $(Self::$name { $($field),* } => $domain::$name {
                        $($field: <$ty as Frozen<'a, _>>::domain($field)?),*
                    },)*
                })
            }
        }

        impl serde::Serialize for $stored<'_> {
            fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                use serde::ser::SerializeTuple;
                match self {
                    $(Self::$name { $($field),* } => {
                        let names: &[&str] = &[$(stringify!($field)),*];
                        let mut t = s.serialize_tuple(1 + names.len())?;
                        t.serialize_element(&($tag as u64))?;
                        $(t.serialize_element($field)?;)*
                        t.end()
                    })*
                }
            }
        }

        impl<'a> Get<'a> for $stored<'a> {
            fn get(d: &mut minicbor::Decoder<'a>) -> Result<Self, Fault> {
                let mut left = array(d)?;
                let tag: u64 = element(d, &mut left)?;
                let value = match tag {
                    $($tag => Self::$name { $($field: element(d, &mut left)?),* },)*
                    n => return Err(Fault::Unknown(format!("{} {n}", stringify!($domain)))),
                };
                skip_rest(d, left)?;
                Ok(value)
            }
        }
    };
}
pub(crate) use stored_enum;
