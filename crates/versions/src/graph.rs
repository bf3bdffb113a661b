//! Finds the parts of a JSON document by the names of their types.
//!
//! The types of `protocol` describe their JSON. From these descriptions the module builds a
//! graph of the fields that contain parts. A step can therefore name the type that it changes
//! (`Message`) without listing the locations of its values.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use agenthost_protocol::action::Action;
use agenthost_protocol::channel::{ChannelKind, ChannelState};
use agenthost_protocol::rpc::{ClientNotification, ClientRequest, HostNotification, HostRequest};
use agenthost_protocol::wire::{Json, NamedShape, Object, Shape, Wire};

use crate::step::PartFate;

/// Fields of legacy releases that contain parts: the type with the field, the name of the
/// field, its multiplicity, and the type of the part.
const LEGACY_FIELDS: &[(&str, &str, Multiplicity, &str)] = &[
    ("Turn", "userMessage", Multiplicity::One, "Message"),
    ("ActiveTurn", "userMessage", Multiplicity::One, "Message"),
    (
        "PendingMessage",
        "userMessage",
        Multiplicity::One,
        "Message",
    ),
    ("TurnStarted", "userMessage", Multiplicity::One, "Message"),
    (
        "PendingMessageSet",
        "userMessage",
        Multiplicity::One,
        "Message",
    ),
    (
        "SessionState",
        "summary",
        Multiplicity::One,
        "SessionSummary",
    ),
    (
        "SessionState",
        "activeClient",
        Multiplicity::One,
        "ActiveClient",
    ),
    ("SessionState", "turns", Multiplicity::List, "Turn"),
    (
        "SessionState",
        "activeTurn",
        Multiplicity::One,
        "ActiveTurn",
    ),
    (
        "SessionState",
        "steeringMessage",
        Multiplicity::One,
        "PendingMessage",
    ),
    (
        "SessionState",
        "queuedMessages",
        Multiplicity::List,
        "PendingMessage",
    ),
    (
        "ChatState",
        "inputRequests",
        Multiplicity::List,
        "InputRequest",
    ),
    (
        "SessionState",
        "inputRequests",
        Multiplicity::List,
        "InputRequest",
    ),
    // Up to 0.3, a chat other than the default chat of its session is encoded as a session.
    ("ChatState", "summary", Multiplicity::One, "SessionSummary"),
    (
        "ChatState",
        "activeClient",
        Multiplicity::One,
        "ActiveClient",
    ),
    (
        "ChatState",
        "customizations",
        Multiplicity::List,
        "Customization",
    ),
];

/// Actions of legacy releases that contain parts.
const LEGACY_ACTIONS: &[(&str, &str, Multiplicity, &str)] = &[(
    "session/activeClientChanged",
    "activeClient",
    Multiplicity::One,
    "ActiveClient",
)];

/// The number of parts in a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Multiplicity {
    One,
    List,
}

/// The order in which a document is walked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WalkOrder {
    /// Parts before the objects that contain them.
    InnermostFirst,
    /// Parts after the objects that contain them.
    OutermostFirst,
}

/// The index of a node in the graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NodeId(usize);

#[derive(Debug)]
enum GraphNode {
    /// A value that contains no parts.
    Leaf,
    Object {
        name: &'static str,
        fields: Vec<(&'static str, NodeId)>,
    },
    Union {
        name: &'static str,
        tag: &'static str,
        variants: BTreeMap<&'static str, NodeId>,
    },
    List(NodeId),
    Map(NodeId),
}

/// The fields that contain parts, for each type, action, method and state.
pub(crate) struct PartGraph {
    nodes: Vec<GraphNode>,
    by_name: BTreeMap<&'static str, NodeId>,
    actions: BTreeMap<&'static str, NodeId>,
    params: BTreeMap<&'static str, NodeId>,
    results: BTreeMap<&'static str, NodeId>,
    states: Vec<NodeId>,
}

const LEAF_ID: NodeId = NodeId(0);

/// The graph of 1.0, extended with the parts of legacy releases.
pub(crate) static PART_GRAPH: LazyLock<PartGraph> = LazyLock::new(PartGraph::from_protocol);

impl PartGraph {
    fn from_protocol() -> Self {
        let mut graph = PartGraph {
            nodes: vec![GraphNode::Leaf],
            by_name: BTreeMap::new(),
            actions: BTreeMap::new(),
            params: BTreeMap::new(),
            results: BTreeMap::new(),
            states: Vec::new(),
        };
        if let Shape::Union { variants, .. } = Action::shape() {
            graph.actions = graph.insert_shapes(variants);
        }
        for shapes in [
            ClientRequest::shapes(),
            ClientNotification::shapes(),
            HostNotification::shapes(),
            HostRequest::shapes(),
        ] {
            let places = graph.insert_shapes(shapes);
            graph.params.extend(places);
        }
        graph.results = graph.insert_shapes(ClientRequest::result_shapes());
        if let Shape::Either(states) = ChannelState::shape() {
            graph.states = states
                .into_iter()
                .map(|shape| graph.insert_shape(shape))
                .collect();
        }
        graph.add_legacy_parts();
        // A snapshot does not contain the kind of its state, so the generic walk skips the
        // state. Callers that know the kind walk it separately.
        if let Some(snapshot) = graph.named_node("Snapshot")
            && let Some(GraphNode::Object { fields, .. }) = graph.nodes.get_mut(snapshot.0)
        {
            fields.retain(|(field, _)| *field != "state");
        }
        graph
    }

    fn add_legacy_parts(&mut self) {
        for (owner, field, many, part) in LEGACY_FIELDS {
            let Some(inside) = self.part_node(*many, part) else {
                continue;
            };
            if let Some(owner) = self.by_name.get(owner).copied() {
                self.add_field(owner, field, inside);
            }
        }
        for (action, field, many, part) in LEGACY_ACTIONS {
            let Some(inside) = self.part_node(*many, part) else {
                continue;
            };
            let place = self.push_node(GraphNode::Object {
                name: "",
                fields: vec![(field, inside)],
            });
            self.actions.insert(action, place);
        }
    }

    fn part_node(&mut self, many: Multiplicity, part: &str) -> Option<NodeId> {
        let part = self.by_name.get(part).copied()?;
        Some(match many {
            Multiplicity::One => part,
            Multiplicity::List => self.push_node(GraphNode::List(part)),
        })
    }

    fn add_field(&mut self, owner: NodeId, field: &'static str, inside: NodeId) {
        if let Some(GraphNode::Object { fields, .. }) = self.nodes.get_mut(owner.0)
            && fields.iter().all(|(known, _)| *known != field)
        {
            fields.push((field, inside));
        }
    }

    fn insert_shapes(&mut self, shapes: Vec<NamedShape>) -> BTreeMap<&'static str, NodeId> {
        let places = shapes
            .into_iter()
            .map(|(name, shape)| (name, self.insert_shape(shape)));
        places.collect()
    }

    fn push_node(&mut self, node: GraphNode) -> NodeId {
        self.nodes.push(node);
        NodeId(self.nodes.len() - 1)
    }

    /// Adds an empty node before its content is known, because types can be recursive.
    fn reserve_node(&mut self, name: &'static str) -> NodeId {
        let place = self.push_node(GraphNode::Leaf);
        if !name.is_empty() {
            self.by_name.insert(name, place);
        }
        place
    }

    fn fill_node(&mut self, place: NodeId, node: GraphNode) -> NodeId {
        if let Some(reserved) = self.nodes.get_mut(place.0) {
            *reserved = node;
        }
        place
    }

    fn insert_shape(&mut self, shape: fn() -> Shape) -> NodeId {
        match shape() {
            Shape::Object { name, fields } => {
                if let Some(known) = self.by_name.get(name) {
                    return *known;
                }
                let place = self.reserve_node(name);
                let fields = fields
                    .into_iter()
                    .map(|field| (field.name, self.insert_shape(field.shape)));
                let fields = fields.filter(|(_, inside)| *inside != LEAF_ID).collect();
                self.fill_node(place, GraphNode::Object { name, fields })
            }
            Shape::Union {
                name,
                tag,
                variants,
                ..
            } => {
                if let Some(known) = self.by_name.get(name) {
                    return *known;
                }
                let place = self.reserve_node(name);
                let variants = self.insert_shapes(variants);
                self.fill_node(
                    place,
                    GraphNode::Union {
                        name,
                        tag,
                        variants,
                    },
                )
            }
            Shape::List(item) => match self.insert_shape(item) {
                LEAF_ID => LEAF_ID,
                item => self.push_node(GraphNode::List(item)),
            },
            Shape::Map(item) => match self.insert_shape(item) {
                LEAF_ID => LEAF_ID,
                item => self.push_node(GraphNode::Map(item)),
            },
            // Within parts, these are alternatives of a string and an object.
            Shape::Either(shapes) => {
                let mut places = shapes.into_iter().map(|shape| self.insert_shape(shape));
                places.find(|place| *place != LEAF_ID).unwrap_or(LEAF_ID)
            }
            Shape::Text(_)
            | Shape::Boolean
            | Shape::Integer { .. }
            | Shape::Milliseconds
            | Shape::Number
            | Shape::Any
            | Shape::AnyObject
            | Shape::Null
            | Shape::Choice { .. } => LEAF_ID,
        }
    }

    /// Returns the node of an action type. Up to 0.3, the actions of a chat were actions of its
    /// session.
    pub(crate) fn action_node(&self, name: &str) -> Option<NodeId> {
        let known = self.actions.get(name).or_else(|| {
            let rest = name.strip_prefix("session/")?;
            self.actions.get(format!("chat/{rest}").as_str())
        });
        known.copied()
    }

    /// Returns the node of the parameters of a method, in either direction.
    pub(crate) fn params_node(&self, method: &str) -> Option<NodeId> {
        self.params.get(method).copied()
    }

    /// Returns the node of the result of a method.
    pub(crate) fn result_node(&self, method: &str) -> Option<NodeId> {
        self.results.get(method).copied()
    }

    /// Returns the node of the state of a channel kind.
    pub(crate) fn state_node(&self, kind: ChannelKind) -> Option<NodeId> {
        let index = ChannelKind::ALL.iter().position(|other| *other == kind)?;
        self.states.get(index).copied()
    }

    /// Returns the node of a type.
    pub(crate) fn named_node(&self, name: &str) -> Option<NodeId> {
        self.by_name.get(name).copied()
    }

    /// Visits every part of an object at a node, the object itself last or first according to
    /// `order`. Returns the fate of the object itself.
    pub(crate) fn walk(
        &self,
        place: NodeId,
        object: &mut Object,
        order: WalkOrder,
        visit: &mut dyn FnMut(&'static str, &mut Object) -> PartFate,
    ) -> PartFate {
        let (name, variant) = match self.nodes.get(place.0) {
            Some(GraphNode::Object { name, .. }) => (*name, Some(place)),
            Some(GraphNode::Union {
                name,
                tag,
                variants,
            }) => {
                let tag = object.get(*tag).and_then(Json::as_str);
                (*name, tag.and_then(|tag| variants.get(tag)).copied())
            }
            Some(GraphNode::Leaf | GraphNode::List(_) | GraphNode::Map(_)) | None => {
                return PartFate::Keep;
            }
        };
        let has_name = !name.is_empty();
        if has_name && order == WalkOrder::OutermostFirst && visit(name, object) == PartFate::Drop {
            return PartFate::Drop;
        }
        if let Some(GraphNode::Object { fields, .. }) = variant.and_then(|at| self.nodes.get(at.0))
        {
            for (field, inside) in fields {
                if let Some(value) = object.get_mut(*field)
                    && self.walk_value(*inside, value, order, visit) == PartFate::Drop
                {
                    object.shift_remove(*field);
                }
            }
        }
        if has_name && order == WalkOrder::InnermostFirst {
            return visit(name, object);
        }
        PartFate::Keep
    }

    fn walk_value(
        &self,
        place: NodeId,
        value: &mut Json,
        order: WalkOrder,
        visit: &mut dyn FnMut(&'static str, &mut Object) -> PartFate,
    ) -> PartFate {
        match (self.nodes.get(place.0), value) {
            (Some(GraphNode::List(item)), Json::Array(items)) => {
                items.retain_mut(|one| self.walk_value(*item, one, order, visit) == PartFate::Keep);
                PartFate::Keep
            }
            (Some(GraphNode::Map(item)), Json::Object(entries)) => {
                entries
                    .retain(|_, one| self.walk_value(*item, one, order, visit) == PartFate::Keep);
                PartFate::Keep
            }
            (Some(GraphNode::Leaf) | None, _) => PartFate::Keep,
            (Some(_), Json::Object(object)) => self.walk(place, object, order, visit),
            (Some(_), _) => PartFate::Keep,
        }
    }
}
