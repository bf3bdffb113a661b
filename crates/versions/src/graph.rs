//! Where parts are.
//!
//! The types of `protocol` say what their JSON looks like. From that comes a
//! graph: which fields of a part hold parts again. So a step names what it
//! changes (`Message`) and never where that can be.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use agenthost_protocol::action::Action;
use agenthost_protocol::channel::{ChannelKind, ChannelState};
use agenthost_protocol::rpc::{ClientNotification, ClientRequest, HostNotification, HostRequest};
use agenthost_protocol::wire::{Json, NamedShape, Object, Shape, Wire};

use crate::step::Fate;

/// Fields that older releases had, with the part that is in them: the type
/// that has the field, the field, whether it is a list, the type in it.
const OLDER: &[(&str, &str, Many, &str)] = &[
    ("Turn", "userMessage", Many::One, "Message"),
    ("ActiveTurn", "userMessage", Many::One, "Message"),
    ("PendingMessage", "userMessage", Many::One, "Message"),
    ("TurnStarted", "userMessage", Many::One, "Message"),
    ("PendingMessageSet", "userMessage", Many::One, "Message"),
    ("SessionState", "summary", Many::One, "SessionSummary"),
    ("SessionState", "activeClient", Many::One, "ActiveClient"),
    ("SessionState", "turns", Many::List, "Turn"),
    ("SessionState", "activeTurn", Many::One, "ActiveTurn"),
    (
        "SessionState",
        "steeringMessage",
        Many::One,
        "PendingMessage",
    ),
    (
        "SessionState",
        "queuedMessages",
        Many::List,
        "PendingMessage",
    ),
    ("ChatState", "inputRequests", Many::List, "InputRequest"),
    ("SessionState", "inputRequests", Many::List, "InputRequest"),
    // Up to 0.3 a chat that is not its session's only one is a session.
    ("ChatState", "summary", Many::One, "SessionSummary"),
    ("ChatState", "activeClient", Many::One, "ActiveClient"),
    ("ChatState", "customizations", Many::List, "Customization"),
];

/// Actions that older releases had, with the parts in them.
const OLDER_ACTIONS: &[(&str, &str, Many, &str)] = &[(
    "session/activeClientChanged",
    "activeClient",
    Many::One,
    "ActiveClient",
)];

/// How many there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Many {
    One,
    List,
}

/// Which way a document is walked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// Parts before what they are in.
    InnermostFirst,
    /// Parts after what they are in.
    OutermostFirst,
}

/// A place in the graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place(usize);

#[derive(Debug)]
enum Node {
    /// Nothing in it is a part.
    Leaf,
    Object {
        name: &'static str,
        fields: Vec<(&'static str, Place)>,
    },
    Union {
        name: &'static str,
        tag: &'static str,
        variants: BTreeMap<&'static str, Place>,
    },
    List(Place),
    Map(Place),
}

/// Which fields of which parts hold parts.
pub(crate) struct Graph {
    nodes: Vec<Node>,
    named: BTreeMap<&'static str, Place>,
    actions: BTreeMap<&'static str, Place>,
    params: BTreeMap<&'static str, Place>,
    results: BTreeMap<&'static str, Place>,
    states: Vec<Place>,
}

const LEAF: Place = Place(0);

/// The graph of 1.0, with what older releases add to it.
pub(crate) static GRAPH: LazyLock<Graph> = LazyLock::new(Graph::of_protocol);

impl Graph {
    fn of_protocol() -> Self {
        let mut graph = Graph {
            nodes: vec![Node::Leaf],
            named: BTreeMap::new(),
            actions: BTreeMap::new(),
            params: BTreeMap::new(),
            results: BTreeMap::new(),
            states: Vec::new(),
        };
        if let Shape::Union { variants, .. } = Action::shape() {
            graph.actions = graph.all(variants);
        }
        for shapes in [
            ClientRequest::shapes(),
            ClientNotification::shapes(),
            HostNotification::shapes(),
            HostRequest::shapes(),
        ] {
            let places = graph.all(shapes);
            graph.params.extend(places);
        }
        graph.results = graph.all(ClientRequest::result_shapes());
        if let Shape::Either(states) = ChannelState::shape() {
            graph.states = states.into_iter().map(|shape| graph.place(shape)).collect();
        }
        graph.add_older();
        // What kind of state it is does not stand in it: whoever knows walks
        // it.
        if let Some(snapshot) = graph.named("Snapshot")
            && let Some(Node::Object { fields, .. }) = graph.nodes.get_mut(snapshot.0)
        {
            fields.retain(|(field, _)| *field != "state");
        }
        graph
    }

    fn add_older(&mut self) {
        for (owner, field, many, part) in OLDER {
            let Some(inside) = self.inside(*many, part) else {
                continue;
            };
            if let Some(owner) = self.named.get(owner).copied() {
                self.add_field(owner, field, inside);
            }
        }
        for (action, field, many, part) in OLDER_ACTIONS {
            let Some(inside) = self.inside(*many, part) else {
                continue;
            };
            let place = self.put(Node::Object {
                name: "",
                fields: vec![(field, inside)],
            });
            self.actions.insert(action, place);
        }
    }

    fn inside(&mut self, many: Many, part: &str) -> Option<Place> {
        let part = self.named.get(part).copied()?;
        Some(match many {
            Many::One => part,
            Many::List => self.put(Node::List(part)),
        })
    }

    fn add_field(&mut self, owner: Place, field: &'static str, inside: Place) {
        if let Some(Node::Object { fields, .. }) = self.nodes.get_mut(owner.0)
            && fields.iter().all(|(known, _)| *known != field)
        {
            fields.push((field, inside));
        }
    }

    fn all(&mut self, shapes: Vec<NamedShape>) -> BTreeMap<&'static str, Place> {
        let places = shapes
            .into_iter()
            .map(|(name, shape)| (name, self.place(shape)));
        places.collect()
    }

    fn put(&mut self, node: Node) -> Place {
        self.nodes.push(node);
        Place(self.nodes.len() - 1)
    }

    /// Takes a place before what belongs there is known: types can be in
    /// themselves.
    fn reserve(&mut self, name: &'static str) -> Place {
        let place = self.put(Node::Leaf);
        if !name.is_empty() {
            self.named.insert(name, place);
        }
        place
    }

    fn fill(&mut self, place: Place, node: Node) -> Place {
        if let Some(reserved) = self.nodes.get_mut(place.0) {
            *reserved = node;
        }
        place
    }

    fn place(&mut self, shape: fn() -> Shape) -> Place {
        match shape() {
            Shape::Object { name, fields } => {
                if let Some(known) = self.named.get(name) {
                    return *known;
                }
                let place = self.reserve(name);
                let fields = fields
                    .into_iter()
                    .map(|field| (field.name, self.place(field.shape)));
                let fields = fields.filter(|(_, inside)| *inside != LEAF).collect();
                self.fill(place, Node::Object { name, fields })
            }
            Shape::Union {
                name,
                tag,
                variants,
                ..
            } => {
                if let Some(known) = self.named.get(name) {
                    return *known;
                }
                let place = self.reserve(name);
                let variants = self.all(variants);
                self.fill(
                    place,
                    Node::Union {
                        name,
                        tag,
                        variants,
                    },
                )
            }
            Shape::List(item) => match self.place(item) {
                LEAF => LEAF,
                item => self.put(Node::List(item)),
            },
            Shape::Map(item) => match self.place(item) {
                LEAF => LEAF,
                item => self.put(Node::Map(item)),
            },
            // A text or an object, wherever there is one within a part.
            Shape::Either(shapes) => {
                let mut places = shapes.into_iter().map(|shape| self.place(shape));
                places.find(|place| *place != LEAF).unwrap_or(LEAF)
            }
            Shape::Text(_)
            | Shape::Boolean
            | Shape::Integer { .. }
            | Shape::Milliseconds
            | Shape::Number
            | Shape::Any
            | Shape::AnyObject
            | Shape::Null
            | Shape::Choice { .. } => LEAF,
        }
    }

    /// An action of a name. Up to 0.3 a chat's actions were its session's.
    pub(crate) fn action(&self, name: &str) -> Option<Place> {
        let known = self.actions.get(name).or_else(|| {
            let rest = name.strip_prefix("session/")?;
            self.actions.get(format!("chat/{rest}").as_str())
        });
        known.copied()
    }

    /// The parameters of a method, whoever calls it.
    pub(crate) fn params(&self, method: &str) -> Option<Place> {
        self.params.get(method).copied()
    }

    /// The result of a method.
    pub(crate) fn result(&self, method: &str) -> Option<Place> {
        self.results.get(method).copied()
    }

    /// The state of a kind of channel.
    pub(crate) fn state(&self, kind: ChannelKind) -> Option<Place> {
        let index = ChannelKind::ALL.iter().position(|other| *other == kind)?;
        self.states.get(index).copied()
    }

    /// A part by the name of its type.
    pub(crate) fn named(&self, name: &str) -> Option<Place> {
        self.named.get(name).copied()
    }

    /// Visits every part of an object that stands at a place, itself last or
    /// first. What becomes of the object itself is what is returned.
    pub(crate) fn walk(
        &self,
        place: Place,
        object: &mut Object,
        order: Order,
        visit: &mut dyn FnMut(&'static str, &mut Object) -> Fate,
    ) -> Fate {
        let (name, variant) = match self.nodes.get(place.0) {
            Some(Node::Object { name, .. }) => (*name, Some(place)),
            Some(Node::Union {
                name,
                tag,
                variants,
            }) => {
                let tag = object.get(*tag).and_then(Json::as_str);
                (*name, tag.and_then(|tag| variants.get(tag)).copied())
            }
            Some(Node::Leaf | Node::List(_) | Node::Map(_)) | None => return Fate::Keep,
        };
        let has_name = !name.is_empty();
        if has_name && order == Order::OutermostFirst && visit(name, object) == Fate::Drop {
            return Fate::Drop;
        }
        if let Some(Node::Object { fields, .. }) = variant.and_then(|at| self.nodes.get(at.0)) {
            for (field, inside) in fields {
                if let Some(value) = object.get_mut(*field)
                    && self.walk_value(*inside, value, order, visit) == Fate::Drop
                {
                    object.shift_remove(*field);
                }
            }
        }
        if has_name && order == Order::InnermostFirst {
            return visit(name, object);
        }
        Fate::Keep
    }

    fn walk_value(
        &self,
        place: Place,
        value: &mut Json,
        order: Order,
        visit: &mut dyn FnMut(&'static str, &mut Object) -> Fate,
    ) -> Fate {
        match (self.nodes.get(place.0), value) {
            (Some(Node::List(item)), Json::Array(items)) => {
                items.retain_mut(|one| self.walk_value(*item, one, order, visit) == Fate::Keep);
                Fate::Keep
            }
            (Some(Node::Map(item)), Json::Object(entries)) => {
                entries.retain(|_, one| self.walk_value(*item, one, order, visit) == Fate::Keep);
                Fate::Keep
            }
            (Some(Node::Leaf) | None, _) => Fate::Keep,
            (Some(_), Json::Object(object)) => self.walk(place, object, order, visit),
            (Some(_), _) => Fate::Keep,
        }
    }
}
