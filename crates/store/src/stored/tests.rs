use std::path::PathBuf;

use pcbflow_core::event::{Actor, Fact, Words};
use pcbflow_core::ids::StreamId;
use pcbflow_core::projection::tables::fact_name;
use proptest::prelude::*;

use super::*;
use crate::tests::arb::{Arb, FACTS};

fn stream() -> StreamId {
    "board/door-sensor".parse().unwrap()
}

fn golden_folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("golden")
}

/// Header and body of the sample event of a variant.
fn sample(variant: u64) -> (Fact, Scope, Words, Vec<u8>, Vec<u8>) {
    let mut arb = Arb(0x5eed_0000 + variant);
    let (fact, scope, words) = (arb.fact(variant), arb.scope(), arb.words());
    let at = Timestamp(1_783_965_852_000_007);
    let seq = if variant == 0 { 0 } else { 1_000 + variant };
    let (mut header, mut body) = (Vec::new(), Vec::new());
    write_header(&stream(), seq, at, Actor::Agent, &scope, &fact, &mut header).unwrap();
    write_body(&words, [7; 32], &mut body).unwrap();
    (fact, scope, words, header, body)
}

#[test]
fn every_variant_has_one_number() {
    let numbers: Vec<u64> = v1::FactV1::VARIANTS.iter().map(|(n, _)| *n).collect();
    assert_eq!(numbers, (1..=FACTS).collect::<Vec<_>>());
    for (n, name) in v1::FactV1::VARIANTS {
        let debug = format!("{:?}", Arb(1).fact(n - 1));
        assert!(debug.starts_with(name), "{debug} is not {name}");
    }
    for n in 0..FACTS {
        let fact = Arb(2).fact(n);
        let json = serde_json::to_value(&fact).unwrap();
        assert_eq!(json["event"], fact_name(&fact), "the name is the one in JSON");
    }
    assert_eq!(v1::DecisionV1::VARIANTS.len(), 8);
}

/// Core's enum is open to other crates, so the compiler does not miss a variant here.
#[test]
fn every_fact_of_core_has_a_stored_form() {
    let source = include_str!("../../../core/src/event.rs");
    let facts = source.split_once("pub enum Fact {").unwrap().1.split_once("\n}\n").unwrap().0;
    let names: Vec<&str> = facts
        .lines()
        .filter_map(|line| {
            line.strip_prefix("    ").filter(|l| !l.starts_with([' ', '/', '#', '}']))
        })
        .map(|line| line.split([' ', ',', '(']).next().unwrap())
        .collect();
    let stored: Vec<&str> = v1::FactV1::VARIANTS.iter().map(|(_, name)| *name).collect();
    let missing: Vec<_> = names.iter().filter(|n| !stored.contains(n)).collect();
    assert!(missing.is_empty() && names.len() == stored.len(), "no stored form: {missing:?}");
}

/// Variants that got fields later; the file of their first form stays beside the one of today.
const SHORTER: [u64; 2] = [3, 4];

fn golden_name(variant: u64, fact: &Fact) -> String {
    let form = if SHORTER.contains(&variant) { "-limited" } else { "" };
    format!("{:02}-{}{form}.cbor", variant + 1, fact_name(fact))
}

/// The files are the format. They are written once, with `PCBFLOW_WRITE_GOLDEN=1`, when a
/// variant is new, and never edited.
#[test]
fn golden_files_of_version_1() {
    let folder = golden_folder().join("v1");
    for variant in 0..FACTS {
        let (fact, scope, words, header, body) = sample(variant);
        let path = folder.join(golden_name(variant, &fact));
        let bytes = [header.clone(), body.clone()].concat();
        if !path.exists() && std::env::var_os("PCBFLOW_WRITE_GOLDEN").is_some() {
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(&path, &bytes).unwrap();
        }
        let golden = std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        assert_eq!(golden, bytes, "{}: the writer has changed", path.display());
        let (header, body) = golden.split_at(header.len());
        let read = read_header(header).unwrap();
        assert_eq!((read.fact, read.scope), (fact, scope));
        assert_eq!(read_body(body).unwrap(), words);
        assert_eq!(salt_of(body).unwrap(), [7; 32]);
    }
    let shorter = SHORTER.len() as u64;
    assert_eq!(std::fs::read_dir(&folder).unwrap().count() as u64, FACTS + shorter);
}

/// What releases wrote before a run recorded how far it goes: it goes all the way.
#[test]
fn a_fact_without_its_later_fields_is_read() {
    for variant in SHORTER {
        let mut fact = sample(variant).0;
        let name = format!("{:02}-{}.cbor", variant + 1, fact_name(&fact));
        let bytes = std::fs::read(golden_folder().join("v1").join(name)).unwrap();
        let (Fact::RunStarted { to, only_kinds, .. } | Fact::RunResumed { to, only_kinds, .. }) =
            &mut fact
        else {
            panic!("{fact:?} has no later fields")
        };
        (*to, *only_kinds) = (None, Vec::new());
        let mut decoder = minicbor::Decoder::new(&bytes);
        decoder.skip().unwrap();
        let header = &bytes[..decoder.position()];
        assert_eq!(read_header(header).unwrap().fact, fact);
    }
}

#[test]
fn ciborium_reads_what_is_written() {
    for variant in 0..FACTS {
        let (.., header, body) = sample(variant);
        for bytes in [header, body] {
            let value: ciborium::Value = ciborium::from_reader(bytes.as_slice()).unwrap();
            assert_eq!(value.as_array().unwrap()[0], 1.into());
            let mut again = Vec::new();
            ciborium::into_writer(&value, &mut again).unwrap();
            assert_eq!(again, bytes, "shortest forms only");
        }
    }
}

/// What a release after this one may write: more elements, new facts, new words, other fields.
#[test]
fn a_newer_version_is_read_as_far_as_known() {
    use ciborium::Value;
    let folder = golden_folder().join("v2-from-future");
    let scope = || vec![Value::Null, "05-x".into(), "s".into(), Value::from(2)];
    let header = |fact: Value| {
        let mut list = vec![Value::from(2), Value::from(7), Value::from(1_000), Value::from(0)];
        list.extend(scope());
        list.push(fact);
        list.push(Value::Map(vec![("trace".into(), "t1".into())]));
        Value::Array(list)
    };
    let list = |items: Vec<Value>| Value::Array(items);
    let cases = [
        ("more-fields", list(vec![35.into(), "clock_went_back".into(), 99.into()]), false),
        ("new-fact", list(vec![400.into(), Value::Map(vec![(1.into(), 2.into())])]), true),
        ("new-word", list(vec![6.into(), 77.into()]), true),
        ("other-fields", list(vec![30.into(), "three".into()]), true),
    ];
    for (name, fact, unknown) in cases {
        let path = folder.join(format!("{name}.cbor"));
        if !path.exists() && std::env::var_os("PCBFLOW_WRITE_GOLDEN").is_some() {
            std::fs::create_dir_all(&folder).unwrap();
            let mut bytes = Vec::new();
            ciborium::into_writer(&header(fact), &mut bytes).unwrap();
            std::fs::write(&path, bytes).unwrap();
        }
        let bytes = std::fs::read(&path).unwrap();
        assert_eq!(version_of(&bytes).unwrap(), 2);
        let read = read_header(&bytes).unwrap_or_else(|e| panic!("{name}: {e}"));
        let topic = if unknown { UNKNOWN_EVENT_TOPIC } else { "clock_went_back" };
        assert_eq!(read.fact, Fact::Noted { topic: topic.into() }, "{name}");
        assert_eq!((read.seq, read.at), (7, Timestamp(1_000)));
        assert_eq!(read.scope.step.unwrap().as_str(), "s");
    }
}

proptest! {
    #[test]
    fn domain_of_stored_is_the_domain(seed: u64, variant in 0..FACTS, seq in 1u64.., at: i64) {
        let mut arb = Arb(seed);
        let (fact, scope, words) = (arb.fact(variant), arb.scope(), arb.words());
        let mut header = Vec::new();
        write_header(&stream(), seq, Timestamp(at), Actor::Person, &scope, &fact, &mut header)
            .unwrap();
        let read = read_header(&header).unwrap();
        prop_assert_eq!(read.fact, fact);
        prop_assert_eq!(read.scope, scope);
        prop_assert_eq!((read.seq, read.at, read.actor), (seq, Timestamp(at), Actor::Person));
        prop_assert_eq!(read.stream, None);
        let mut body = Vec::new();
        write_body(&words, [3; 32], &mut body).unwrap();
        prop_assert_eq!(read_body(&body).unwrap(), words);
    }

    #[test]
    fn hostile_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        std::hint::black_box(read_header(&bytes).is_ok());
        std::hint::black_box(read_body(&bytes).is_ok());
        std::hint::black_box(crate::frame::Frame::parse(&bytes).is_ok());
    }

    #[test]
    fn a_flipped_byte_never_panics(seed: u64, variant in 0..FACTS, at: prop::sample::Index, to: u8) {
        let mut arb = Arb(seed);
        let (fact, words) = (arb.fact(variant), arb.words());
        let (mut header, mut body) = (Vec::new(), Vec::new());
        write_header(
            &stream(), 0, Timestamp(0), Actor::Engine, &Scope::default(), &fact, &mut header,
        ).unwrap();
        write_body(&words, [3; 32], &mut body).unwrap();
        let place = at.index(header.len());
        header[place] = to;
        let place = at.index(body.len());
        body[place] = to;
        std::hint::black_box(read_header(&header).is_ok());
        std::hint::black_box(read_body(&body).is_ok());
    }
}
