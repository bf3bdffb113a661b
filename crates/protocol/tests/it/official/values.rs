//! Generated values of every type, both ways.

use std::collections::BTreeSet;
use std::fmt::Debug;

use agenthost_protocol::wire;
use agenthost_protocol::wire::{Json, Shape, Wire};
use agenthost_testkit::json::{diff, normalize};
use agenthost_testkit::{Generator, GeneratorOptions};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{pairs, probe};

/// An official type and ours, with the questions to ask about them.
pub(super) struct Pair {
    official: &'static str,
    ours: &'static str,
    shape: fn() -> Shape,
    official_fields: Option<&'static [&'static str]>,
    both_ways: fn(&Json) -> Result<(), String>,
    accepted: fn(&Json) -> [bool; 2],
}

impl Pair {
    pub(super) fn of<O, T>(official: &'static str, ours: &'static str) -> Pair
    where
        O: Serialize + DeserializeOwned + PartialEq + Debug,
        T: Wire + PartialEq + Debug,
    {
        Pair {
            official,
            ours,
            shape: T::shape,
            official_fields: probe::fields::<O>(),
            both_ways: check_both_directions::<O, T>,
            accepted: |json| {
                [
                    serde_json::from_value::<O>(json.clone()).is_ok(),
                    wire::from_str::<T>(&json.to_string()).is_ok(),
                ]
            },
        }
    }
}

/// Ours to theirs to ours, and theirs to ours to theirs.
fn check_both_directions<O, T>(json: &Json) -> Result<(), String>
where
    O: Serialize + DeserializeOwned + PartialEq + Debug,
    T: Wire + PartialEq + Debug,
{
    let decode_ours = |json: &Json| {
        wire::from_str::<T>(&json.to_string()).map_err(|error| format!("ours refuses: {error}"))
    };
    let decode_theirs = |json: &Json| {
        serde_json::from_value::<O>(json.clone())
            .map_err(|error| format!("theirs refuses: {error}"))
    };
    let equal = |what: &str, left: &Json, right: &Json| {
        let difference = diff(&normalize(left), &normalize(right));
        if difference.is_empty() {
            Ok(())
        } else {
            Err(format!("{what}:\n{difference}"))
        }
    };
    let encode = |value: &dyn erased::Encode| value.encode();

    let ours = decode_ours(json)?;
    let our_json = encode(&ours);
    equal("ours writes something else", json, &our_json)?;

    let theirs = decode_theirs(&our_json)?;
    let their_json = encode(&theirs);
    equal("theirs writes something else", &our_json, &their_json)?;

    let ours_again = decode_ours(&their_json)?;
    if ours_again != ours {
        return Err("ours is another value after theirs wrote it".to_owned());
    }
    let theirs_again = decode_theirs(&encode(&ours_again))?;
    if theirs_again != theirs {
        return Err("theirs is another value after ours wrote it".to_owned());
    }
    Ok(())
}

mod erased {
    use super::{Json, Serialize};

    pub(super) trait Encode {
        fn encode(&self) -> Json;
    }

    impl<T: Serialize> Encode for T {
        fn encode(&self) -> Json {
            serde_json::to_value(self).unwrap()
        }
    }
}

#[test]
fn every_type_survives_a_round_trip_with_the_official_one() {
    let mut failures = Vec::new();
    for pair in pairs::all() {
        for seed in 0..60 {
            // From no optional field at all to every one of them.
            let options = GeneratorOptions {
                optional: f64::from(u32::try_from(seed % 4).unwrap()) / 3.0,
                ..GeneratorOptions::default()
            };
            let json = Generator::new(seed, options).generate(&(pair.shape)());
            if let Err(problem) = (pair.both_ways)(&json) {
                failures.push(format!(
                    "{} and {}, seed {seed}: {problem}\n{json}",
                    pair.official, pair.ours
                ));
                break;
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

/// A generator makes only fields that we know, so forgotten ones would go
/// unnoticed: the official structs are asked for theirs.
#[test]
fn every_official_field_is_supported() {
    let mut probed = 0;
    for pair in pairs::all() {
        let (Some(official), Shape::Object { fields, .. }) = (pair.official_fields, (pair.shape)())
        else {
            continue;
        };
        let ours: BTreeSet<_> = fields.iter().map(|field| field.name).collect();
        let mut official: BTreeSet<_> = official.iter().copied().collect();
        // The tag of the union that the struct is a variant of.
        if ours.contains("status") && pair.ours.starts_with("wire::Standalone") {
            official.insert("status");
        }
        assert_eq!(ours, official, "{} and {}", pair.official, pair.ours);
        probed += 1;
    }
    assert!(probed > 300, "only {probed} structs could be probed");
}

/// Fields that only theirs requires; `differences.rs` says why.
const LENIENT: &[(&str, &str)] = &[("ReconnectParams", "channel")];

/// Which fields are required, asked of both: each one is left out once.
#[test]
fn required_fields_equal_the_official_ones() {
    for pair in pairs::all() {
        let Shape::Object { fields, .. } = (pair.shape)() else {
            continue;
        };
        let options = GeneratorOptions {
            optional: 0.0,
            unknown: 0.0,
            ..GeneratorOptions::default()
        };
        let minimal = Generator::new(1, options).generate(&(pair.shape)());
        assert_eq!((pair.accepted)(&minimal), [true, true], "{}", pair.official);
        for field in fields.iter().filter(|field| !field.optional) {
            let mut without = minimal.clone();
            without.as_object_mut().unwrap().shift_remove(field.name);
            let lenient = LENIENT.contains(&(pair.official, field.name));
            assert_eq!(
                (pair.accepted)(&without),
                [false, lenient],
                "{} without {}",
                pair.official,
                field.name
            );
        }
    }
}
