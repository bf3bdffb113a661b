//! Annotations of a session.

use expect_test::expect;

use crate::script::check;

/// ANN-1 to ANN-6, ANN-8; the rows of table 7.1.
#[test]
fn annotations_are_checked_and_published() {
    check(
        r#"
        - c1 connect
        - c1 initialize {"protocolVersions": ["1.0.0"], "clientId": "a", "initialSubscriptions": ["ahp-root://"]}
        - c1 opens s1
        - c1 subscribe ahp-session:/s1/annotations
        c1 ! ahp-session:/s1/annotations annotations/set {"annotation": {"id": "n", "origin": {"session": "ahp-session:/s2"}, "resource": "file:///a", "resolved": false, "entries": [{"id": "e", "text": "why?"}]}}
        c1 ! ahp-session:/s1/annotations annotations/set {"annotation": {"id": "n", "origin": {"session": "ahp-session:/s1"}, "resource": "file:///a", "resolved": false, "entries": []}}
        c1 ! ahp-session:/s1/annotations annotations/set {"annotation": {"id": "n", "origin": {"session": "ahp-session:/s1"}, "resource": "file:///a", "resolved": true, "entries": [{"id": "e", "text": "why?"}]}}
        c1 ! ahp-session:/s1/annotations annotations/set {"annotation": {"id": "n", "origin": {"session": "ahp-session:/s1"}, "resource": "file:///a", "resolved": false, "entries": [{"id": "e", "text": "why?"}]}}
        c1 ! ahp-session:/s1/annotations annotations/entrySet {"annotationId": "n", "entry": {"id": "f", "text": "because"}}
        c1 ! ahp-session:/s1/annotations annotations/entrySet {"annotationId": "x", "entry": {"id": "f", "text": "because"}}
        c1 ! ahp-session:/s1/annotations annotations/updated {"annotationId": "n", "resolved": true}
        c1 ! ahp-session:/s1/annotations annotations/entryRemoved {"annotationId": "n", "entryId": "e"}
        c1 ! ahp-session:/s1/annotations annotations/entryRemoved {"annotationId": "n", "entryId": "f"}
        - quiet
        - restart
        - c2 connect
        - c2 initialize {"protocolVersions": ["1.0.0"], "clientId": "b", "initialSubscriptions": ["ahp-root://"]}
        - c2 subscribe ahp-session:/s1/annotations
        c2 ! ahp-session:/s1/annotations annotations/removed {"annotationId": "n"}
        c2 ! ahp-session:/s1/annotations annotations/removed {"annotationId": "n"}
        "#,
        expect![[r#"
            c1 ! ahp-session:/s1/annotations annotations/set {"annotation": {"id": "n", "origin": {"session": "ahp-session:/s2"}, "resource": "file:///a", "resolved": false, "entries": [{"id": "e", "text": "why?"}]}}
                c1: 3 rejected: origin.session is not the session of this channel
            c1 ! ahp-session:/s1/annotations annotations/set {"annotation": {"id": "n", "origin": {"session": "ahp-session:/s1"}, "resource": "file:///a", "resolved": false, "entries": []}}
                c1: 4 rejected: an annotation needs at least one entry
            c1 ! ahp-session:/s1/annotations annotations/set {"annotation": {"id": "n", "origin": {"session": "ahp-session:/s1"}, "resource": "file:///a", "resolved": true, "entries": [{"id": "e", "text": "why?"}]}}
                c1: 5 rejected: a new annotation cannot be resolved
            c1 ! ahp-session:/s1/annotations annotations/set {"annotation": {"id": "n", "origin": {"session": "ahp-session:/s1"}, "resource": "file:///a", "resolved": false, "entries": [{"id": "e", "text": "why?"}]}}
                c1: 6 ahp-session:/s1/annotations by a annotations/set {"annotation":{"id":"n","origin":{"session":"s1"},"resource":"file:///a","resolved":false,"entries":[{"id":"e","text":"why?"}]}}
                c1: root/sessionSummaryChanged {"changes":{"annotations":{"resource":"s1/annotations","annotationCount":1,"entryCount":1}},"session":"s1"}
            c1 ! ahp-session:/s1/annotations annotations/entrySet {"annotationId": "n", "entry": {"id": "f", "text": "because"}}
                c1: 7 ahp-session:/s1/annotations by a annotations/entrySet {"entry":{"id":"f","text":"because"},"annotationId":"n"}
                c1: root/sessionSummaryChanged {"changes":{"annotations":{"resource":"s1/annotations","annotationCount":1,"entryCount":2}},"session":"s1"}
            c1 ! ahp-session:/s1/annotations annotations/entrySet {"annotationId": "x", "entry": {"id": "f", "text": "because"}}
                c1: 8 rejected: there is no annotation `x`
            c1 ! ahp-session:/s1/annotations annotations/updated {"annotationId": "n", "resolved": true}
                c1: 9 ahp-session:/s1/annotations by a annotations/updated {"resolved":true,"annotationId":"n"}
            c1 ! ahp-session:/s1/annotations annotations/entryRemoved {"annotationId": "n", "entryId": "e"}
                c1: 10 ahp-session:/s1/annotations by a annotations/entryRemoved {"entryId":"e","annotationId":"n"}
                c1: root/sessionSummaryChanged {"changes":{"annotations":{"resource":"s1/annotations","annotationCount":1,"entryCount":1}},"session":"s1"}
            c1 ! ahp-session:/s1/annotations annotations/entryRemoved {"annotationId": "n", "entryId": "f"}
                c1: 11 rejected: the last entry can't be removed: remove the annotation
            c2 ! ahp-session:/s1/annotations annotations/removed {"annotationId": "n"}
                c2: 12 ahp-session:/s1/annotations by b annotations/removed {"annotationId":"n"}
                c2: root/sessionSummaryChanged {"changes":{"annotations":{"resource":"s1/annotations","annotationCount":0,"entryCount":0}},"session":"s1"}
            c2 ! ahp-session:/s1/annotations annotations/removed {"annotationId": "n"}
                c2: 13 rejected: there is no annotation `n`
        "#]],
    );
}
