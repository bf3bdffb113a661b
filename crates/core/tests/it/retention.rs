//! The removal of sessions by their age and size.

use agenthost_core::{RetentionCheck, SessionRetention};
use agenthost_protocol::number::Millis;
use expect_test::expect;

use crate::script::{check, uri};

const DAY: i64 = 24 * 60 * 60 * 1_000;

/// Parses `DAYS|- [BYTES SESSION=BYTES ..]`.
pub(crate) fn parse_check(text: &str, now: i64) -> RetentionCheck {
    let mut words = text.split_whitespace();
    let days: Option<i64> = words.next().and_then(|days| days.parse().ok());
    let bytes = words.next().map(|bytes| bytes.parse().unwrap());
    let sizes = words.map(|word| {
        let (session, size) = word.split_once('=').unwrap();
        (uri(session), size.parse().unwrap())
    });
    RetentionCheck {
        limits: SessionRetention {
            age: days.map(|days| Millis(days * DAY)),
            bytes,
        },
        now: Millis(now),
        sizes: sizes.collect(),
    }
}

/// Old sessions are removed, unless a turn runs in them or a client looks at them.
#[test]
fn sessions_are_removed_by_age() {
    check(
        r#"
        - c1 joins a
        - c1 opens s1
        - c1 opens s2
        - c1 opens s3
        - c1 subscribe s2.chat
        - c1 ! s3.chat chat/turnStarted {"turnId": "t1", "startedAt": "2026-01-05T09:00:00Z", "message": {"text": "go", "origin": {"kind": "user"}}}
        - wait 86400000
        - c1 opens ahp-session:/late
        retention 1
        - wait 1
        retention 1
        - c1 unsubscribe s2.chat
        retention 1
        - restart
        - wait 86400000
        retention 1
        "#,
        expect![[r#"
            retention 1
                nothing
            retention 1
                agent s1: close
                changes s1: forget
                removed s1 by retention.session_days
            retention 1
                agent s2: close
                changes s2: forget
                removed s2 by retention.session_days
            retention 1
                changes ahp-session:/late: forget
                removed ahp-session:/late by retention.session_days
        "#]],
    );
}

/// Beyond the size, archived sessions are removed first, then the oldest.
#[test]
fn sessions_are_removed_by_size() {
    check(
        r#"
        - c1 joins a
        - c1 opens s1
        - wait 1000
        - c1 opens s2
        - wait 1000
        - c1 opens s3
        - c1 subscribe s3
        - c1 ! s3 session/isArchivedChanged {"isArchived": true}
        - c1 unsubscribe s3
        retention - 60 s1=20 s2=20 s3=20
        retention - 59 s1=20 s2=20 s3=20
        retention - 30 s1=20 s2=20
        retention - 10
        "#,
        expect![[r#"
            retention - 60 s1=20 s2=20 s3=20
                nothing
            retention - 59 s1=20 s2=20 s3=20
                agent s3: close
                changes s3: forget
                removed s3 by retention.session_megabytes
            retention - 30 s1=20 s2=20
                agent s1: close
                changes s1: forget
                removed s1 by retention.session_megabytes
            retention - 10
                nothing
        "#]],
    );
}
