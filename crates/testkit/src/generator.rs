//! Generates random JSON from the shapes of wire types.

use agenthost_protocol::action::Action;
use agenthost_protocol::wire::{FieldShape, Json, NamedShape, Object, Shape, TextKind, Wire};
use fastrand::Rng;
use serde_json::json;

/// The distribution of generated values.
#[derive(Debug, Clone)]
pub struct GeneratorOptions {
    /// Probability of an optional field, from 0 to 1.
    pub optional: f64,
    /// Probability of an unknown value of an open enum or union, from 0 to 1.
    pub unknown: f64,
    /// Maximum number of items of a list or map.
    pub max_items: usize,
    /// Number of names of each kind. It is small, so that actions often match existing
    /// targets.
    pub name_count: usize,
    /// Maximum nesting depth; below it, optional fields are left out.
    pub max_depth: usize,
    /// Variants that are never generated, as (tag, name).
    pub excluded_variants: &'static [(&'static str, &'static str)],
}

impl Default for GeneratorOptions {
    fn default() -> Self {
        GeneratorOptions {
            optional: 0.5,
            unknown: 0.1,
            max_items: 2,
            name_count: 3,
            max_depth: 6,
            excluded_variants: &[],
        }
    }
}

/// A generator of JSON. The same seed generates the same JSON.
#[derive(Debug)]
pub struct Generator {
    /// The random number generator.
    pub rng: Rng,
    options: GeneratorOptions,
}

const SAMPLE_TEXTS: &[&str] = &[
    "",
    "hello",
    "two words",
    "\"quoted\" \\ and /",
    "line\nbreak\ttab\u{8}\u{c}\r",
    "nul \u{0} bell \u{7} delete \u{7f}",
    "grüße 世界 🦀 e\u{301}",
    "\u{feff}\u{200b}\u{202e}",
    "{\"json\": [1, null]}",
];

impl Generator {
    /// Creates a generator with a seed.
    pub fn new(seed: u64, options: GeneratorOptions) -> Self {
        Generator {
            rng: Rng::with_seed(seed),
            options,
        }
    }

    /// Generates a value of a shape.
    pub fn generate(&mut self, shape: &Shape) -> Json {
        self.generate_value(shape, 0)
    }

    /// Generates an action with a name; `null` if there is none.
    pub fn generate_action(&mut self, name: &str) -> Json {
        let Shape::Union { variants, .. } = Action::shape() else {
            return Json::Null;
        };
        let found = variants.iter().find(|(other, _)| *other == name);
        let Some((name, shape)) = found else {
            return Json::Null;
        };
        let mut action = self.generate(&shape());
        if let Json::Object(fields) = &mut action {
            fields.insert("type".to_owned(), json!(name));
        }
        action
    }

    /// Returns a random element of a slice.
    pub fn pick<'a, T>(&mut self, values: &'a [T]) -> Option<&'a T> {
        if values.is_empty() {
            return None;
        }
        values.get(self.rng.usize(..values.len()))
    }

    /// Returns `true` with a probability from 0 to 1.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.rng.f64() < probability
    }

    fn generate_value(&mut self, shape: &Shape, depth: usize) -> Json {
        match shape {
            Shape::Text(kind) => Json::String(self.text(*kind)),
            Shape::Boolean => Json::Bool(self.rng.bool()),
            Shape::Integer { least } => self.integer(*least),
            Shape::Milliseconds => json!(self.rng.i64(0..4_000_000_000_000)),
            Shape::Number => self.number(),
            Shape::Any => self.free_json(2),
            Shape::AnyObject => Json::Object(self.free_object(2)),
            Shape::Null => Json::Null,
            Shape::Choice { values, open } => self.choice(values, *open),
            Shape::List(item) => {
                let count = self.count(depth);
                Json::Array(
                    (0..count)
                        .map(|_| self.generate_value(&item(), depth + 1))
                        .collect(),
                )
            }
            Shape::Map(item) => {
                let count = self.count(depth);
                Json::Object(
                    (0..count)
                        .map(|n| (format!("key {n}"), self.generate_value(&item(), depth + 1)))
                        .collect(),
                )
            }
            Shape::Object { fields, .. } => Json::Object(self.object(fields, depth)),
            Shape::Union {
                tag,
                variants,
                open,
                ..
            } => self.union(tag, variants, *open, depth),
            Shape::Either(shapes) => {
                let index = self.rng.usize(..shapes.len().max(1));
                let shape = shapes.get(index).map_or(Shape::Null, |shape| shape());
                self.generate_value(&shape, depth)
            }
        }
    }

    fn count(&mut self, depth: usize) -> usize {
        if depth >= self.options.max_depth {
            return 0;
        }
        self.rng.usize(0..=self.options.max_items)
    }

    fn object(&mut self, fields: &[FieldShape], depth: usize) -> Object {
        let mut object = Object::new();
        for field in fields {
            let wanted = depth < self.options.max_depth && self.chance(self.options.optional);
            if !field.optional || wanted {
                let value = self.generate_value(&(field.shape)(), depth + 1);
                object.insert(field.name.to_owned(), value);
            }
        }
        object
    }

    fn union(
        &mut self,
        tag: &'static str,
        variants: &[NamedShape],
        open: bool,
        depth: usize,
    ) -> Json {
        if open && self.chance(self.options.unknown) {
            let mut object = self.free_object(1);
            object.insert(tag.to_owned(), json!("fromTheFuture"));
            object.insert("id".to_owned(), json!(self.name("Future")));
            return Json::Object(object);
        }
        let without = self.options.excluded_variants;
        let allowed: Vec<_> = variants
            .iter()
            .filter(|(name, _)| !without.contains(&(tag, *name)))
            .collect();
        let Some(&&(name, shape)) = self.pick(&allowed) else {
            return Json::Null;
        };
        let mut object = Object::new();
        object.insert(tag.to_owned(), json!(name));
        if let Json::Object(fields) = self.generate_value(&shape(), depth) {
            object.extend(fields);
        }
        Json::Object(object)
    }

    fn choice(&mut self, values: &'static [&'static str], open: bool) -> Json {
        if open && self.chance(self.options.unknown) {
            return json!("from-the-future");
        }
        json!(self.pick(values).copied().unwrap_or_default())
    }

    fn text(&mut self, kind: TextKind) -> String {
        match kind {
            TextKind::Free => self
                .pick(SAMPLE_TEXTS)
                .copied()
                .unwrap_or_default()
                .to_owned(),
            TextKind::Id(kind) => self.name(kind),
            TextKind::Uri => format!(
                "scheme:/{}",
                self.rng.usize(..self.options.name_count.max(1))
            ),
            TextKind::Timestamp => format!(
                "2026-0{}-1{}T0{}:00:0{}.{}00Z",
                self.rng.u8(1..=9),
                self.rng.u8(0..=9),
                self.rng.u8(0..=9),
                self.rng.u8(0..=9),
                self.rng.u8(0..=9),
            ),
        }
    }

    fn name(&mut self, kind: &str) -> String {
        // Parts and tool calls share a namespace, so their generated names do, too.
        let kind = if kind == "ToolCallId" { "PartId" } else { kind };
        format!(
            "{kind}-{}",
            self.rng.usize(..self.options.name_count.max(1))
        )
    }

    fn integer(&mut self, least: i64) -> Json {
        match self.rng.u8(..8) {
            0 => json!(least.max(-(1 << 53))),
            1 => json!(u32::MAX),
            2 => json!(0),
            _ => json!(self.rng.i64(least.max(-1000)..1000)),
        }
    }

    fn number(&mut self) -> Json {
        match self.rng.u8(..4) {
            0 => json!(self.rng.i64(-1000..1000)),
            1 => json!(1.0e-300),
            2 => json!(-2.5e20),
            _ => json!(self.rng.f64()),
        }
    }

    /// Generates JSON of arbitrary shape, but never `null`.
    fn free_json(&mut self, depth: usize) -> Json {
        match self.rng.u8(..if depth == 0 { 4 } else { 6 }) {
            0 => json!(self.rng.bool()),
            1 => json!(self.rng.i64(-1000..1000)),
            2 => json!(self.rng.f64()),
            3 => json!(self.text(TextKind::Free)),
            4 => Json::Array(
                (0..self.rng.u8(..3))
                    .map(|_| self.free_json(depth - 1))
                    .collect(),
            ),
            _ => Json::Object(self.free_object(depth - 1)),
        }
    }

    fn free_object(&mut self, depth: usize) -> Object {
        (0..self.rng.u8(..3))
            .map(|n| (format!("free {n}"), self.free_json(depth)))
            .collect()
    }
}
