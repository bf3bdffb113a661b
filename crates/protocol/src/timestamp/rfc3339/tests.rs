use proptest::prelude::*;

use super::*;

#[test]
fn only_timestamps_are_accepted() {
    let accepted = [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01t00:00z", 0),
        ("1970-01-01 00:00:00.123456789Z", 123),
        ("1970-01-01T00:00:00.5+00:00", 500),
        ("1969-12-31T23:59:59.999-00:00", -1),
        ("1970-01-01T02:00:00+02:00", 0),
        ("+001970-01-01T00:00:00Z", 0),
        ("2016-12-31T23:59:60Z", 1_483_228_799_000),
        ("-009999-01-02T01:59:59.000Z", MIN_MS),
        ("9999-12-30T22:00:00.999Z", MAX_MS),
    ];
    for (text, millis) in accepted {
        assert_eq!(parse(text), Some(millis), "{text}");
    }
    let rejected = [
        "",
        "yesterday",
        "2026-07-09",
        "2026-07-09T20:00:00",
        "2026-13-01T00:00:00Z",
        "2026-02-29T00:00:00Z",
        "1900-02-29T00:00:00Z",
        "2026-07-09T24:00:00Z",
        "2026-07-09T20:00:61Z",
        "2026-07-09T20:00:00.Z",
        "2026-07-09T20:00:00.0123456789Z",
        "2026-07-09T20:00:00Z ",
        "2026-07-09T20:00:00+2",
        "2026-07-09T20:00:00é",
        "9999-12-31T23:59:59Z",
        "-000000-01-01T00:00:00Z",
        "+2026-07-09T20:00:00Z",
    ];
    for text in rejected {
        assert_eq!(parse(text), None, "{text}");
    }
}

proptest! {
    #[test]
    fn formatting_agrees_with_jiff(millis in MIN_MS..=MAX_MS) {
        let expected = jiff::Timestamp::from_millisecond(millis).unwrap();
        let text = format(millis);
        prop_assert_eq!(&text, &format!("{expected:.3}"));
        prop_assert_eq!(parse(&text), Some(millis));
    }

    #[test]
    fn parsing_agrees_with_jiff(
        text in "(-00|\\+00)?[0-9]{4}-[01][0-9]-[0-3][0-9][Tt ][0-2][0-9]:[0-6][0-9](:[0-6][0-9](\\.[0-9]{1,9})?)?(Z|z|[+-][0-2][0-9]:[0-6][0-9])"
    ) {
        let expected = text.parse::<jiff::Timestamp>().ok();
        let expected = expected.map(|point| point.as_nanosecond().div_euclid(1_000_000));
        prop_assert_eq!(parse(&text).map(i128::from), expected);
    }
}
