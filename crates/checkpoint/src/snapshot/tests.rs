use super::*;

struct Place {
    _dir: tempfile::TempDir,
    folder: PathBuf,
    store: Snapshots,
    board: BoardName,
}

fn place() -> Place {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("board");
    std::fs::create_dir_all(folder.join("out")).unwrap();
    std::fs::write(folder.join("a"), "one").unwrap();
    std::fs::write(folder.join("out/b ü"), "two").unwrap();
    let store = Snapshots::new(&dir.path().join("snapshots"));
    Place { _dir: dir, folder, store, board: BoardName::new("b").unwrap() }
}

fn output(path: &str, text: &str) -> OutputRef {
    let bytes = u64::try_from(text.len()).unwrap();
    OutputRef { path: path.into(), digest: Digest::of(text.as_bytes()), bytes }
}

fn good<'a>(board: &'a BoardName, at: i64) -> Binding<'a> {
    let at = Timestamp(at);
    Binding { board, purpose: Purpose::Good, check: "drc", event: "7:abc", at }
}

fn both() -> Vec<OutputRef> {
    vec![output("a", "one"), output("out/b ü", "two")]
}

#[test]
fn a_change_of_several_files_is_undone_and_kept() {
    let p = place();
    let seen = p.store.take(&p.folder, &both(), &["a"], &good(&p.board, 1));
    assert!(matches!(seen, Err(SnapshotError::Changed { .. })), "said to be absent");
    let id = p.store.take(&p.folder, &both(), &["made"], &good(&p.board, 1)).unwrap();
    assert_eq!(p.store.holding(&p.board, &both()), Some(id));
    std::fs::write(p.folder.join("a"), "broken").unwrap();
    std::fs::remove_file(p.folder.join("out/b ü")).unwrap();
    std::fs::write(p.folder.join("made"), "by the broken change").unwrap();
    let id = id.to_string();
    let done = p.store.restore(&p.folder, &p.board, &id, None, Timestamp(2)).unwrap();
    assert_eq!(done.changed, ["a", "made", "out/b ü"]);
    assert!(!p.folder.join("made").exists());
    assert_eq!(std::fs::read_to_string(p.folder.join("a")).unwrap(), "one");
    assert_eq!(std::fs::read_to_string(p.folder.join("out/b ü")).unwrap(), "two");
    // The broken state can be had back: files that were missing go again.
    let broken = done.broken.to_string();
    p.store.restore(&p.folder, &p.board, &broken, None, Timestamp(3)).unwrap();
    assert_eq!(std::fs::read_to_string(p.folder.join("a")).unwrap(), "broken");
    assert!(!p.folder.join("out/b ü").exists());
    assert!(p.folder.join("made").exists());
}

#[test]
fn what_changed_since_its_check_is_not_blessed() {
    let p = place();
    let other = vec![output("a", "other")];
    let refused = p.store.take(&p.folder, &other, &[], &good(&p.board, 1));
    assert!(matches!(refused, Err(SnapshotError::Changed { .. })));
    assert!(p.store.list(&p.board).is_empty());
}

#[test]
fn ids_paths_and_links_are_refused() {
    let p = place();
    for id in ["../x", "/etc/passwd", "", "zz", &"a".repeat(64), &"../".repeat(20)] {
        let found = p.store.restore(&p.folder, &p.board, id, None, Timestamp(1));
        assert!(matches!(found, Err(SnapshotError::Unknown { .. })), "{id:?}");
    }
    for path in ["../a", "/a", "out/../../a"] {
        let refused = p.store.take(&p.folder, &[output(path, "one")], &[], &good(&p.board, 1));
        assert!(matches!(refused, Err(SnapshotError::Path(_))), "{path}");
    }
    let id = p.store.take(&p.folder, &both(), &[], &good(&p.board, 1)).unwrap().to_string();
    let wrong = p.store.restore(&p.folder, &p.board, &id, Some("a"), Timestamp(2));
    assert!(matches!(wrong, Err(SnapshotError::OtherTarget { .. })));
    let other = BoardName::new("c").unwrap();
    assert!(p.store.restore(&p.folder, &other, &id, None, Timestamp(2)).is_err());
    #[cfg(unix)]
    {
        std::fs::remove_file(p.folder.join("a")).unwrap();
        std::fs::write(p.folder.join("target"), "keep").unwrap();
        std::os::unix::fs::symlink("target", p.folder.join("a")).unwrap();
        let refused = p.store.restore(&p.folder, &p.board, &id, None, Timestamp(2));
        assert!(matches!(refused, Err(SnapshotError::Path(PathError::IsLink { .. }))));
        assert_eq!(std::fs::read_to_string(p.folder.join("target")).unwrap(), "keep");
        std::fs::remove_dir_all(p.folder.join("out")).unwrap();
        std::os::unix::fs::symlink("/tmp", p.folder.join("out")).unwrap();
        assert!(p.store.restore(&p.folder, &p.board, &id, None, Timestamp(2)).is_err());
    }
}

#[test]
fn altered_content_and_records_are_refused() {
    let p = place();
    let id = p.store.take(&p.folder, &both(), &[], &good(&p.board, 1)).unwrap();
    std::fs::write(p.folder.join("a"), "broken").unwrap();
    std::fs::write(p.store.object(&Digest::of(b"two")), "evil").unwrap();
    let text = id.to_string();
    let refused = p.store.restore(&p.folder, &p.board, &text, None, Timestamp(2));
    assert!(matches!(refused, Err(SnapshotError::Altered { .. })));
    assert_eq!(std::fs::read_to_string(p.folder.join("a")).unwrap(), "broken", "nothing written");
    assert_eq!(p.store.holding(&p.board, &both()), None);
    let record = p.store.records(&p.board).join(format!("{id}.json"));
    let mut bytes = std::fs::read(&record).unwrap();
    let at = bytes.len() / 2;
    bytes[at] ^= 1;
    std::fs::write(&record, bytes).unwrap();
    assert!(matches!(p.store.record(&p.board, &text), Err(SnapshotError::Altered { .. })));
}

#[test]
fn retention_is_bounded_and_keeps_what_counts() {
    let p = place();
    let mut ids = Vec::new();
    for n in 0..SNAPSHOTS_MAX + 5 {
        let text = format!("v{n}");
        std::fs::write(p.folder.join("a"), &text).unwrap();
        let at = i64::try_from(n).unwrap();
        // The oldest is the only good one.
        let purpose = if n == 0 { Purpose::Good } else { Purpose::Broken };
        let binding = Binding { purpose, ..good(&p.board, at) };
        ids.push(p.store.take(&p.folder, &[output("a", &text)], &[], &binding).unwrap());
    }
    let in_use = BTreeSet::from([ids[1]]);
    assert_eq!(p.store.prune(&p.board, &in_use).unwrap(), 3);
    let left: Vec<Digest> = p.store.list(&p.board).into_iter().map(|(id, _)| id).collect();
    assert_eq!(left.len(), SNAPSHOTS_MAX + 2);
    assert!(left.contains(&ids[0]) && left.contains(&ids[1]) && !left.contains(&ids[2]));
    assert!(!p.store.object(&Digest::of(b"v2")).exists(), "content that nothing uses goes");
    assert!(p.store.object(&Digest::of(b"v0")).exists());
}
