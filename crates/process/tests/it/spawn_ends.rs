//! Deadlines, limits, and children that do not want to end.
//!
//! Bounds on real time stand only where the bound is what is promised, and leave room for a busy
//! machine.

use std::time::{Duration, Instant};

use pcbflow_core::ports::{Spawn, SpawnEnded, SpawnRequest};
use pcbflow_process::{end_all_leftovers, end_leftovers};

use crate::common::{Place, Stop, tag, tagged_alive};

fn limited(place: &Place, line: &str, deadline_ms: u64) -> SpawnRequest {
    SpawnRequest { deadline_ms, ..place.request(&["sh", "-c", line]) }
}

#[tokio::test]
async fn a_grandchild_that_holds_the_pipe_does_not_hold_us() {
    let place = Place::new();
    let request = limited(&place, "echo before; (sleep 8; echo late) & wait", 2_000);
    let tag = request.tag.clone();
    let begun = Instant::now();
    let result = place.run(request).await;
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
    assert_eq!(result.ended, SpawnEnded::DeadlinePassed);
    assert_eq!(result.stdout.text, "before\n");
    assert!(!tagged_alive(&tag));
}

#[tokio::test]
async fn a_grandchild_of_an_ended_program_is_ended_too() {
    let place = Place::new();
    let request = limited(&place, "sleep 30 & echo done", 20_000);
    let tag = request.tag.clone();
    let begun = Instant::now();
    let result = place.run(request).await;
    assert_eq!(result.ended, SpawnEnded::Exited(0));
    assert_eq!(result.stdout.text, "done\n");
    assert!(begun.elapsed() < Duration::from_secs(10));
    assert!(!tagged_alive(&tag));
}

#[tokio::test]
async fn deaf_ears_do_not_help() {
    let place = Place::new();
    let line = "trap '' TERM INT HUP; echo up; while :; do sleep 1; done";
    let request = limited(&place, line, 1_000);
    let tag = request.tag.clone();
    let begun = Instant::now();
    let result = place.run(request).await;
    assert_eq!(result.ended, SpawnEnded::DeadlinePassed);
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
    assert_eq!(result.stdout.text, "up\n");
    assert!(!tagged_alive(&tag));
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn leaving_the_group_does_not_help() {
    let place = Place::new();
    let request = limited(&place, "setsid sh -c 'trap \"\" TERM; sleep 30' & sleep 30", 1_000);
    let tag = request.tag.clone();
    let begun = Instant::now();
    assert_eq!(place.run(request).await.ended, SpawnEnded::DeadlinePassed);
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
    assert!(!tagged_alive(&tag));
    // The same when the program itself ends well and on time.
    let request = limited(&place, "setsid sleep 30 >/dev/null 2>&1 & sleep 0.3", 20_000);
    let tag = request.tag.clone();
    assert_eq!(place.run(request).await.ended, SpawnEnded::Exited(0));
    assert!(!tagged_alive(&tag));
}

#[tokio::test]
async fn many_children_end_together() {
    let place = Place::new();
    // Each child starts others, with an end in sight should the test itself fail.
    let line = "i=0; while [ $i -lt 40 ]; do (sleep 20 & sleep 20 & setsid sleep 20) & \
                i=$((i+1)); done; wait";
    let request = limited(&place, line, 1_500);
    let tag = request.tag.clone();
    let begun = Instant::now();
    assert_eq!(place.run(request).await.ended, SpawnEnded::DeadlinePassed);
    assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
    assert!(!tagged_alive(&tag));
}

#[tokio::test]
async fn an_endless_writer_is_stopped_and_memory_stays_bounded() {
    let place = Place::new();
    let mut request = limited(&place, "yes 'a line of an endless writer'", 60_000);
    request.output_bytes_max = 96 << 20;
    let tag = request.tag.clone();
    let result = place.run(request).await;
    assert_eq!(result.ended, SpawnEnded::OutputEndless);
    assert!(result.stdout.total_bytes > 96 << 20);
    assert!(result.stdout.total_bytes < 97 << 20);
    let blob = result.stdout.blob.unwrap();
    assert!(blob.bytes <= pcbflow_process::spawn::STORED_BYTES_MAX + 100);
    assert_eq!(blob.true_bytes, result.stdout.total_bytes);
    assert!(result.stdout.text.starts_with("a line of an endless writer\n"));
    assert!(!tagged_alive(&tag));
}

#[tokio::test]
async fn a_gigabyte_on_the_wrong_stream_is_stopped_by_the_default() {
    let place = Place::new();
    let request = limited(&place, "head -c 1000000000 /dev/zero >&2; echo end", 60_000);
    let result = place.run(request).await;
    assert_eq!(result.ended, SpawnEnded::OutputEndless);
    assert!(result.stderr.total_bytes < 300 << 20);
    assert_eq!(result.stdout.text, "");
}

#[tokio::test]
async fn signals_are_told() {
    let place = Place::new();
    assert_eq!(place.sh("kill -SEGV $$").await.ended, SpawnEnded::Signalled(11));
    assert_eq!(place.sh("kill -KILL $$").await.ended, SpawnEnded::Signalled(9));
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn memory_has_a_limit() {
    let place = Place::new();
    // A shell variable that doubles: 256 MiB if nobody stops it, and then it waits.
    let line =
        "x=aaaaaaaaaaaaaaaa; i=0; while [ $i -lt 24 ]; do x=$x$x; i=$((i+1)); done; sleep 20";
    let mut request = limited(&place, line, 30_000);
    request.memory_bytes_max = 64 << 20;
    let ended = place.run(request).await.ended;
    assert!(matches!(ended, SpawnEnded::MemoryOverLimit(n) if n > 64 << 20), "{ended:?}");
}

#[tokio::test]
async fn a_wish_to_stop_is_heard() {
    let place = Place::new();
    let stop = Stop::never();
    let request = limited(&place, "echo up; sleep 30", 30_000);
    let tag = request.tag.clone();
    let later = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        stop.0.send_replace(true);
    };
    let (result, ()) = tokio::join!(place.spawn.run(request, &stop), later);
    assert_eq!(result.ended, SpawnEnded::Cancelled);
    assert_eq!(result.stdout.text, "up\n");
    assert!(!tagged_alive(&tag));
    // And nothing starts afterwards.
    let file = place.path().join("made");
    let request = place.request(&["touch", file.to_str().unwrap()]);
    assert_eq!(place.spawn.run(request, &stop).await.ended, SpawnEnded::Cancelled);
    assert!(!file.exists());
}

#[tokio::test]
async fn a_caller_that_gives_up_leaves_nothing_behind() {
    let place = Place::new();
    let request = limited(&place, "sleep 30 & sleep 30", 30_000);
    let tag = request.tag.clone();
    let run = place.run(request);
    assert!(tokio::time::timeout(Duration::from_millis(400), run).await.is_err());
    for _ in 0..100 {
        if !tagged_alive(&tag) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("children are still there");
}

#[tokio::test]
async fn children_of_one_attempt_side_by_side_do_not_end_each_other() {
    let place = Place::new();
    let mut quick = place.request(&["sh", "-c", "exit 0"]);
    let mut slow = place.request(&["sh", "-c", "sleep 0.5; echo done"]);
    let tag = tag();
    quick.tag.clone_from(&tag);
    slow.tag = tag;
    let (quick, slow) = tokio::join!(place.run(quick), place.run(slow));
    assert_eq!(quick.status(), Some(0));
    assert_eq!(slow.status(), Some(0), "{:?}", slow.ended);
    assert_eq!(slow.stdout.text, "done\n");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn leftovers_of_a_killed_run_are_ended_and_nobody_else() {
    let place = Place::new();
    let (ours, other) = (tag(), tag());
    let child = |tag: &str| {
        std::process::Command::new("sleep").arg("30").env("PCBFLOW_ATTEMPT", tag).spawn().unwrap()
    };
    let child_of = |tag: &str| format!("{tag}.1-1");
    let (ours, other) = (child_of(&ours), child_of(&other));
    let (mut a, mut b, mut c) = (child(&ours), child(&ours), child(&other));
    let folder = place.state().join("children");
    std::fs::create_dir(&folder).unwrap();
    let write = |name: &str, tag: &str, pid: u32, owner: u32, since: u64| {
        let text = format!(
            r#"{{"tag":"{tag}","pid":{pid},"group":{pid},"started":1,"owner":{owner},"owner_started":{since}}}"#
        );
        std::fs::write(folder.join(name), text).unwrap();
    };
    // The owner of the first is gone. The id of the second belongs to somebody else by now.
    write("a.json", &ours, a.id(), 4_000_000, 1);
    write("b.json", "it-none", c.id(), 4_000_000, 1);
    std::fs::write(folder.join("torn.json"), "{\"tag\":").unwrap();
    assert_eq!(end_all_leftovers(&place.state()).await, 2);
    assert!(!a.wait().unwrap().success() && !b.wait().unwrap().success());
    assert!(c.try_wait().unwrap().is_none(), "not ours");
    assert!(!folder.join("a.json").exists() && !folder.join("b.json").exists());

    // A record whose owner lives is the owner's business.
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let since = stat.rsplit_once(')').unwrap().1.split_whitespace().nth(19).unwrap().to_owned();
    write("c.json", &other, c.id(), std::process::id(), since.parse().unwrap());
    let attempt = other.trim_end_matches(".1-1");
    assert_eq!(end_leftovers(&place.state(), attempt).await, 0);
    assert!(c.try_wait().unwrap().is_none());
    c.kill().unwrap();
    c.wait().unwrap();
}

#[tokio::test]
async fn a_child_is_recorded_while_it_runs_and_not_after() {
    let place = Place::new();
    let children = place.state().join("children");
    let line = format!("cat '{}'/*.json; ls '{0}'", children.display());
    let result = place.sh(&line).await;
    assert!(result.stdout.text.contains("\"owner\""), "{}", result.stdout.text);
    assert_eq!(std::fs::read_dir(children).unwrap().count(), 0);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn who_works_without_a_word_goes_round_in_circles() {
    let place = Place::new();
    let quiet = |line: &str| SpawnRequest { quiet_ms_max: 1_500, ..limited(&place, line, 20_000) };
    let begun = Instant::now();
    let request = quiet("while :; do :; done");
    let tag = request.tag.clone();
    let ended = place.run(request).await.ended;
    assert!(matches!(ended, SpawnEnded::BusyWithoutOutput(ms) if ms > 1_500), "{ended:?}");
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    assert!(!tagged_alive(&tag));
    // Waiting is not work, and a word now and then is a sign of life.
    assert_eq!(place.run(quiet("sleep 3")).await.ended, SpawnEnded::Exited(0));
    let words =
        "for i in 1 2 3 4 5 6 7 8; do timeout 0.5 sh -c 'while :; do :; done'; echo $i; done";
    assert_eq!(place.run(quiet(words)).await.ended, SpawnEnded::Exited(0));
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn memory_that_grows_at_every_look_is_seen() {
    let place = Place::new();
    let code =
        "import time\nx=[]\nwhile True:\n x.append(bytearray(b'x')*(8<<20))\n time.sleep(0.1)\n";
    let request =
        SpawnRequest { memory_bytes_max: 240 << 20, ..place.request(&["python3", "-c", code]) };
    let result = place.run(request).await;
    assert!(matches!(result.ended, SpawnEnded::MemoryOverLimit(b) if b > 240 << 20), "{result:?}");
    assert!(result.memory.rising_to.is_some_and(|b| b > 240 << 20), "{:?}", result.memory);
    assert!(!result.memory.out_of_memory, "we ended it");
    // A program that is ended by somebody else is not one without memory.
    let ended = place.sh("kill -9 $$").await;
    assert_eq!(ended.ended, SpawnEnded::Signalled(9));
    assert_eq!(ended.memory, pcbflow_core::ports::MemorySeen::default());
}
