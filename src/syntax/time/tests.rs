use super::*;

fn time(text: &str) -> Time {
    DateTime::parse_from_rfc3339(text).unwrap()
}

#[test]
fn stamps_with_a_zone_are_moments() {
    for (text, expected, used) in [
        ("2023-03-14T09:26:53Z x", "2023-03-14T09:26:53Z", 20),
        (
            "2023-03-14T09:26:53.589793123Z",
            "2023-03-14T09:26:53.589793123Z",
            30,
        ),
        ("2023-03-14T09:26:53+0000 x", "2023-03-14T09:26:53Z", 24),
        (
            "2023-03-14T17:26:53.5+08:00 x",
            "2023-03-14T09:26:53.5Z",
            27,
        ),
        ("2023-03-14 09:26:53-07:00", "2023-03-14T16:26:53Z", 25),
        ("2020-02-29T09:26:53Z", "2020-02-29T09:26:53Z", 20),
    ] {
        assert_eq!(
            rfc3339(text.as_bytes()),
            Some((Stamp::Exact(time(expected)), used)),
            "{text}"
        );
    }
}

#[test]
fn a_stamp_without_a_zone_stays_local() {
    let Some((Stamp::Local(local), 23)) = rfc3339(b"2023-03-14 09:26:53,123 x") else {
        panic!("not local");
    };
    assert_eq!(local.to_string(), "2023-03-14 09:26:53.123");
}

#[test]
fn what_is_no_time_is_refused() {
    for text in [
        "",
        "2023-03-14",
        "2023-02-29T09:26:53Z",
        "2023-13-14T09:26:53Z",
        "2023-03-14T24:26:53Z",
        "2023-03-14T09:26:53+99",
        "2023-03-14X09:26:53Z",
        "10.200.1.3: {\"ts\":1}",
    ] {
        assert_eq!(rfc3339(text.as_bytes()), None, "{text}");
    }
    assert_eq!(journal_short("M\u{e4}r 14 09:26:53".as_bytes()), None);
    assert_eq!(journal_short(b"Mar 32 09:26:53"), None);
    assert_eq!(unix(b"123.5 host"), None);
}

#[test]
fn days_of_syslog_are_padded_with_a_blank() {
    let (stamp, used) = journal_short(b"Oct  8 09:26:53 host").unwrap();
    assert_eq!((stamp.month, stamp.day, used), (10, 8, 15));
    let (stamp, used) = journal_short(b"Oct 18 09:26:53.000001 host").unwrap();
    assert_eq!((stamp.day, stamp.micros % 1_000_000, used), (18, 1, 22));
}

#[test]
fn go_prints_a_zone_twice_and_its_uptime() {
    for (text, expected) in [
        (
            "2020-08-03 22:33:00.895519165 +0000 UTC m=+1885571.887843195",
            "2020-08-03T22:33:00.895519165Z",
        ),
        ("2020-08-03 22:33:00 +0800 CST", "2020-08-03T22:33:00+08:00"),
        (
            "2020-08-03 22:33:00.5 -0700 PDT m=+1.5",
            "2020-08-03T22:33:00.5-07:00",
        ),
    ] {
        assert_eq!(go_time(text), Some(time(expected)), "{text}");
    }
    for text in [
        "",
        "<nil>",
        "2020-08-03 22:33:00",
        "2020-08-03 22:33:00 +08",
    ] {
        assert_eq!(go_time(text), None, "{text}");
    }
}

#[test]
fn milliseconds_of_records_have_fractions() {
    assert_eq!(
        epoch_millis(1_796_010_357_319.683_8).map(|time| time.timestamp_micros()),
        Some(1_796_010_357_319_683)
    );
    for millis in [f64::NAN, f64::INFINITY, -1.0, 1e300] {
        assert_eq!(epoch_millis(millis), None, "{millis}");
    }
}

#[test]
fn summer_time_ends_after_a_run_of_lines_that_look_late() {
    let hints = Hints {
        now: time("2023-11-01T00:00:00Z"),
        utc_offset: None,
    };
    let mut calendar = Timestamps::new(hints);
    let klog = |hour: i64| Yearless {
        month: 10,
        day: 29,
        micros: hour * 3_600_000_000,
    };
    let zone = |calendar: &mut Timestamps, hour: i64, received: &str| {
        let when = calendar.observe(Some(klog(hour)), Some(Stamp::Exact(time(received))));
        calendar.at(&when).unwrap().offset().local_minus_utc()
    };
    assert_eq!(zone(&mut calendar, 2, "2023-10-29T00:00:00Z"), 7200);
    let zones: Vec<i32> = (0..20)
        .map(|_| zone(&mut calendar, 2, "2023-10-29T01:00:00Z"))
        .collect();
    assert_eq!((zones[0], zones[19]), (7200, 3600));
}
