//! Dumps of other Go versions, cut ones, and what is no dump.

use super::*;

/// Go's older forms: no `?`, no braces (before 1.17), an int state of the mutex as before 1.9.
const OLD: &str = "\
goroutine 11 [semacquire, 9 minutes]:
sync.runtime_Semacquire(0xc82058a00c)
\t/usr/local/go/src/runtime/sema.go:43 +0x26
sync.(*Mutex).Lock(0xc82058a008)
\t/usr/local/go/src/sync/mutex.go:82 +0x1c4
github.com/docker/docker/daemon.(*Daemon).ContainerInspectCurrent(0xc8203d2000, 0xc8212345ab, 0x40, 0x0, 0x0, 0x0, 0x0)
\t/go/src/github.com/docker/docker/daemon/inspect.go:38 +0x9f
github.com/docker/docker/daemon.(*Daemon).ContainerInspect(0xc8203d2000, 0xc8212345ab, 0x40, 0x0, 0xc82123459b, 0x4, 0x0, 0x0, 0x0, 0x0)
\t/go/src/github.com/docker/docker/daemon/inspect.go:28 +0x11c
created by net/http.(*Server).Serve
\t/usr/local/go/src/net/http/server.go:1910 +0x3f6

goroutine 12 [select, 10 minutes]:
google.golang.org/grpc/transport.(*Stream).Header(0xc820c2e1c0, 0x14a60f0, 0xc820a08, 0x7f)
\t/go/src/google.golang.org/grpc/transport/transport.go:240 +0x146
github.com/docker/containerd/api/grpc/types.(*aPIClient).CreateContainer(0xc8200280c8, 0x7f5d, 0xc820, 0x0)
\t/go/src/github.com/docker/containerd/api/grpc/types/api.pb.go:924 +0xd7
github.com/docker/docker/daemon.(*Daemon).containerStart(0xc8203d2000, 0xc820a5c000, 0x0, 0x0)
\t/go/src/github.com/docker/docker/daemon/start.go:160 +0x5a1
";

/// The forms of Go 1.20 to 1.25, and the module's path since Docker 29.
const NEW: &str = "\
=== BEGIN goroutine stack dump ===
goroutine 11 gp=0xc000102380 m=nil [sync.Mutex.Lock, 3 minutes, locked to thread]:
internal/sync.runtime_SemacquireMutex(0x30?, 0x0?, 0x40?)
\t/usr/local/go/src/runtime/sema.go:95 +0x25 fp=0xc000 sp=0xc000 pc=0x47
internal/sync.(*Mutex).lockSlow(0xc000f96d80)
\t/usr/local/go/src/internal/sync/mutex.go:149 +0x15d
internal/sync.(*Mutex).Lock(...)
\t/usr/local/go/src/internal/sync/mutex.go:70
sync.(*Mutex).Lock(...)
\t/usr/local/go/src/sync/mutex.go:46
github.com/moby/moby/v2/daemon.(*Daemon).ContainerInspect(0xc000860000, {0x5?, 0x5?}, {0xc000de97b6, 0x40}, {0x0, {0x5624d2a8db80, 0x4}})
\t/go/src/github.com/moby/moby/v2/daemon/inspect.go:31 +0x9f
created by net/http.(*Server).Serve in goroutine 1
\t/usr/local/go/src/net/http/server.go:3454 +0x485

goroutine 12 gp=0xc000102540 m=nil [select]:
google.golang.org/grpc/internal/transport.(*recvBufferReader).readClient(0xc0007b2000, {0xc000, 0x5, 0x5})
\t/go/src/google.golang.org/grpc/internal/transport/transport.go:209 +0x8b
github.com/containerd/containerd/api/services/tasks/v1.(*tasksClient).Kill(0xc00, {0x5, 0xc0})
\t/go/src/x.go:1 +0x1
github.com/moby/moby/v2/daemon.(*Daemon).killWithSignal(0xc000860000, 0xc0003e4c80, 0xf)
\t/go/src/github.com/moby/moby/v2/daemon/kill.go:1 +0x1
github.com/moby/moby/v2/daemon.(*Daemon).containerStop.func1()
\t/go/src/github.com/moby/moby/v2/daemon/stop.go:1 +0x1
=== END goroutine stack dump ===
";

#[test]
fn older_and_newer_forms_are_read() {
    let old = Stacks::read(OLD.as_bytes());
    let [inspect, start] = &old.calls[..] else {
        panic!("{old:#?}")
    };
    assert_eq!(
        (
            inspect.verb,
            inspect.minutes,
            inspect.ours,
            inspect.waits.lock()
        ),
        (Verb::Inspect, 9, false, Some(0xc82058a008))
    );
    assert_eq!(
        (start.verb, start.holds, start.minutes),
        (Verb::Start, true, 10)
    );
    assert_eq!(start.waits.name(), "containerd");

    let new = Stacks::read(NEW.as_bytes());
    let [inspect, stop] = &new.calls[..] else {
        panic!("{new:#?}")
    };
    assert_eq!(
        (
            inspect.verb,
            inspect.minutes,
            inspect.state.as_str(),
            inspect.waits.lock()
        ),
        (Verb::Inspect, 3, "sync.Mutex.Lock", Some(0xc000f96d80))
    );
    assert_eq!(
        (stop.verb, stop.holds, &stop.waits),
        (Verb::Stop, true, &containerd("tasks.Kill"))
    );
}

#[test]
fn a_dump_may_come_in_any_pieces() {
    let whole = dump("two-hang");
    let bytes = std::fs::read(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/fixtures/stacks/two-hang.txt"
    ))
    .unwrap();
    for size in [1, 7, 4096] {
        let mut reader = Reader::default();
        bytes.chunks(size).for_each(|piece| reader.push(piece));
        assert_eq!(reader.finish(true), whole, "{size}");
    }
}

#[test]
fn a_dump_cut_anywhere_tells_of_no_lock_of_ours() {
    let bytes = std::fs::read(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/fixtures/stacks/start.txt"
    ))
    .unwrap();
    for end in (0..bytes.len()).step_by(13) {
        let mut reader = Reader::default();
        reader.push(&bytes[..end]);
        let stacks = reader.finish(false);
        assert!(stacks.our_lock().is_none());
        assert!(stacks.calls.len() <= 2);
    }
}

#[test]
fn what_is_no_dump_is_nothing() {
    let giant = "x".repeat(1 << 20);
    for text in [
        "",
        "\n\n\n",
        "goroutine",
        "goroutine [",
        "goroutine 5 ]x[:\nf(",
        "goroutine 99999999999999999999999 [select]:\nf(0x1)",
        "\tat /x:1\n(\n)\n.\ncreated by \n",
        "<html>404 page not found</html>",
        &giant,
    ] {
        let stacks = Stacks::read(text.as_bytes());
        assert_eq!(
            (stacks.calls.len(), stacks.our_lock()),
            (0, None),
            "{text:.40}"
        );
    }
    let odd = format!(
        "goroutine 5 [select, x minutes]:\n\t:\n{giant}(0xzz, {{0x\n\u{0}\u{fffd}ä(é)\n.func1()\n-fm(0x1)\n"
    );
    assert_eq!(Stacks::read(odd.as_bytes()).goroutines, 1);
    Stacks::read(&[0xff, b'\n', 0xfe, b'g', 0, b'\n']);
}

#[test]
fn a_pile_of_waiting_inspects_is_bounded_and_the_holder_behind_it_kept() {
    let (waiting, holder) = OLD.split_once("\n\n").unwrap();
    let dump = format!("{waiting}\n\n").repeat(5_000) + holder;
    let stacks = Stacks::read(dump.as_bytes());
    assert_eq!(stacks.goroutines, 5_001);
    assert_eq!((stacks.calls.len(), stacks.calls_left_out), (2_001, 3_000));
    assert_eq!(stacks.hanging()[0].verb, Verb::Start);
    assert!(stacks.our_lock().is_none());
}
