//! Packages that clients bring.
//!
//! They are read from the client alone, also if their address is one of files:
//! these are the client's files. The same package is read once, whoever has
//! it, and again when its `nonce` is another.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use agenthost_core::customizing::{BroughtPlugin, CustomizationEvent, Heard, Ticket};
use agenthost_protocol::ids::CustomizationId;
use agenthost_protocol::session::{ClientPluginCustomization, Customization, LoadState};
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::Json;
use tokio::time::Instant;

use super::task::{Done, PackageKey, Task};
use super::walk::Walk;
use crate::identity::digest_of;
use crate::mirror;
use crate::parse::{Frame, Layout, Parsed, parse};
use crate::sources::{Definition, Origin, Settings, WhenAbsent, container_id, shown};

/// The `nonce` that a client gave its plugin, in the `_meta` of what sessions show
/// of it. Clients of older releases find it in a field.
const NONCE: &str = "agenthost.nonce";

/// A package that a client brought.
pub(super) struct ClientPackage {
    published: ClientPluginCustomization,
    pub(super) definition: Arc<Definition>,
    /// What is in it, once it was read.
    pub(super) parsed: Option<Arc<Parsed>>,
    shown: Arc<Customization>,
    /// Which time of reading it is, and how that goes.
    number: u64,
    reading: Reading,
}

/// How reading a package goes.
enum Reading {
    /// The client is asked.
    Walking(Box<Walk>),
    /// What it said is looked at.
    Parsing,
    /// It is known.
    Known,
}

impl ClientPackage {
    /// When the client has to have answered.
    pub(super) fn deadline(&self) -> Option<Instant> {
        match &self.reading {
            Reading::Walking(walk) => Some(walk.deadline),
            Reading::Parsing | Reading::Known => None,
        }
    }

    /// Whether all is known that there is to know.
    pub(super) fn is_known(&self) -> bool {
        matches!(self.reading, Reading::Known)
    }

    /// What clients see of it in a session where it goes by a name.
    pub(super) fn shown_as(&self, id: &CustomizationId) -> Arc<Customization> {
        match Customization::clone(&self.shown) {
            Customization::Plugin(mut plugin) if plugin.container.base.id != *id => {
                plugin.container.base.id = id.clone();
                Arc::new(Customization::Plugin(plugin))
            }
            _ => self.shown.clone(),
        }
    }

    /// The same for the host.
    pub(super) fn defined_as(&self, id: &CustomizationId) -> Arc<Definition> {
        match self.definition.id == *id {
            true => self.definition.clone(),
            false => Arc::new(Definition {
                id: id.clone(),
                ..Definition::clone(&self.definition)
            }),
        }
    }

    /// Computes anew what clients see. While it is read again, what was in it
    /// stays.
    fn show(&mut self, settings: &Settings) {
        let mut now = shown(settings, &self.definition, self.parsed.as_deref());
        if let (false, Customization::Plugin(plugin)) = (self.is_known(), &mut now) {
            plugin.container.load = Some(LoadState::Loading);
        }
        if *self.shown != now {
            self.shown = Arc::new(now);
        }
    }
}

impl Task {
    /// Plugins that clients brought for a session: all of them.
    pub(super) fn client_plugins(&mut self, session: &Uri, plugins: Vec<BroughtPlugin>) {
        let known = self.sessions.entry(session.clone()).or_default();
        let before = std::mem::take(&mut known.packages);
        let on_disk = known.shelves.iter().filter_map(|key| self.shelves.get(key));
        let mut taken: BTreeSet<CustomizationId> =
            on_disk.map(|shelf| shelf.definition.id.clone()).collect();
        let mut now: Vec<(PackageKey, CustomizationId)> = Vec::new();
        let mut others = BTreeSet::new();
        for brought in plugins {
            let base = &brought.plugin.plugin.container.base;
            let key = (brought.client.clone(), base.uri.clone());
            if now.iter().any(|(known, _)| *known == key) {
                continue;
            }
            let earlier = before.iter().find(|(known, _)| *known == key);
            let wanted = earlier.map_or(&base.id, |(_, id)| id).clone();
            let id = match taken.insert(wanted.clone()) {
                true => wanted,
                false => container_id(brought.client.as_str(), &base.uri, Layout::Plugin),
            };
            taken.insert(id.clone());
            now.push((key.clone(), id));
            if self.bring(session, &key, brought.plugin) == Changed::Yes {
                others.extend(self.sessions_with(&key));
            }
        }
        if let Some(known) = self.sessions.get_mut(session) {
            known.packages = now;
        }
        self.stop_hooks(session);
        for (key, _) in before {
            self.let_go(session, &key);
        }
        others.insert(session.clone());
        for session in others {
            self.publish(&session);
        }
    }

    /// What a client said to a question.
    pub(super) fn heard(&mut self, ticket: Ticket, answer: Result<Heard, String>) {
        let found = self.packages.iter_mut().find_map(|(key, package)| {
            let Reading::Walking(walk) = &mut package.reading else {
                return None;
            };
            walk.asked(ticket).then_some((key.clone(), walk))
        });
        // An answer that nobody waits for any more changes nothing.
        if let Some((key, walk)) = found {
            walk.hear(ticket, answer);
            self.walk_on(&key);
        }
    }

    /// Clients that took too long are not waited for.
    pub(super) fn end_walks(&mut self, now: Instant) {
        let mut late = Vec::new();
        for (key, package) in &mut self.packages {
            if let Reading::Walking(walk) = &mut package.reading
                && walk.deadline <= now
            {
                walk.give_up();
                late.push(key.clone());
            }
        }
        for key in late {
            self.walk_on(&key);
        }
    }

    /// A package was read and written down.
    pub(super) fn walked(&mut self, key: &PackageKey, number: u64, parsed: Parsed) {
        let root = self.mirror_of(key, number);
        let Some(package) = self.packages.get_mut(key).filter(|it| it.number == number) else {
            self.remove_mirror(root);
            return;
        };
        let old = package.definition.root.clone();
        package.definition = Arc::new(Definition {
            root,
            ..Definition::clone(&package.definition)
        });
        package.parsed = Some(Arc::new(parsed));
        package.reading = Reading::Known;
        package.show(&self.settings);
        let (definition, parsed) = (package.definition.clone(), package.parsed.clone());
        self.share_code(&code_name(key), &definition, parsed.as_deref());
        if old != definition.root {
            self.remove_mirror(old);
        }
        for session in self.sessions_with(key) {
            self.publish(&session);
        }
        self.prepare_waiting(Instant::now());
    }

    /// Other code is trusted than before.
    pub(super) fn reshow_packages(&mut self) {
        for package in self.packages.values_mut() {
            package.show(&self.settings);
        }
        for (key, package) in &self.packages {
            let parsed = package.parsed.as_deref();
            self.share_code(&code_name(key), &package.definition, parsed);
        }
    }

    fn sessions_with(&self, key: &PackageKey) -> Vec<Uri> {
        let has = |(_, session): &(&Uri, &super::task::Session)| {
            session.packages.iter().any(|(known, _)| known == key)
        };
        let sessions = self.sessions.iter().filter(has);
        sessions.map(|(uri, _)| uri.clone()).collect()
    }

    fn mirror_of(&self, key: &PackageKey, number: u64) -> PathBuf {
        let (client, uri) = key;
        let digest = digest_of(&[client.as_str(), uri.as_str()]);
        mirror::folder(&self.data).join(format!("{digest}-{number}"))
    }

    /// Takes a package as it was published, and reads it if it is another.
    fn bring(
        &mut self,
        session: &Uri,
        key: &PackageKey,
        published: ClientPluginCustomization,
    ) -> Changed {
        let known = self.packages.get(key);
        if known.is_some_and(|package| package.published == published) {
            return Changed::No;
        }
        let same = known.is_some_and(|package| {
            published.nonce.is_some() && package.published.nonce == published.nonce
        });
        let number = match known {
            Some(package) if same => package.number,
            Some(_) | None => self.number(),
        };
        let root = match self.packages.get(key) {
            Some(package) => package.definition.root.clone(),
            None => self.mirror_of(key, number),
        };
        let definition = Arc::new(defined(key, &published, root));
        match self.packages.get_mut(key) {
            Some(package) => {
                package.definition = definition;
                package.published = published;
            }
            None => {
                let shown = Arc::new(definition.customization(None, None));
                let package = ClientPackage {
                    published,
                    definition,
                    parsed: None,
                    shown,
                    number,
                    reading: Reading::Parsing,
                };
                self.packages.insert(key.clone(), package);
            }
        }
        if !same {
            self.begin_walk(session, key, number);
        }
        if let Some(package) = self.packages.get_mut(key) {
            package.show(&self.settings);
        }
        Changed::Yes
    }

    fn begin_walk(&mut self, session: &Uri, key: &PackageKey, number: u64) {
        if let Some(package) = self.packages.get_mut(key) {
            let walk = Walk::new(session.clone(), key.1.clone());
            package.number = number;
            package.reading = Reading::Walking(Box::new(walk));
            self.walk_on(key);
        }
    }

    /// Asks what can be asked; looks at the package when all is known.
    fn walk_on(&mut self, key: &PackageKey) {
        loop {
            let ticket = Ticket(self.number());
            let Some(package) = self.packages.get_mut(key) else {
                return;
            };
            let Reading::Walking(walk) = &mut package.reading else {
                return;
            };
            if walk.is_over() {
                break;
            }
            if !walk.can_ask() {
                return;
            }
            let session = walk.session.clone();
            if let Some(wanted) = walk.ask(ticket) {
                let client = key.0.clone();
                let event = CustomizationEvent::Wanted {
                    ticket,
                    client,
                    wanted,
                };
                self.tell(&session, event);
            }
        }
        self.look_at(key);
    }

    fn look_at(&mut self, key: &PackageKey) {
        let Some(package) = self.packages.get_mut(key) else {
            return;
        };
        let Reading::Walking(walk) = std::mem::replace(&mut package.reading, Reading::Parsing)
        else {
            return;
        };
        let (number, frame) = (package.number, package.definition.frame.clone());
        let root = self.mirror_of(key, number);
        let package = key.clone();
        self.work.spawn_blocking(move || {
            let gathered = walk.gathered();
            let mut parsed = match gathered.failure {
                Some(failure) => Parsed::failed(failure),
                None => parse(&gathered.package, &frame),
            };
            if let Err(error) = mirror::write(&root, &gathered.files) {
                let problem = format!("its files could not be written down: {}", error.kind());
                parsed.problems.push(problem);
            }
            Done::Walked {
                package,
                number,
                parsed: Box::new(parsed),
            }
        });
    }

    /// A session does not have a package any more. Who else has it goes on.
    fn let_go(&mut self, session: &Uri, key: &PackageKey) {
        let sessions = self.sessions_with(key);
        let Some(next) = sessions.first() else {
            if let Some(package) = self.packages.remove(key) {
                self.forget_code(&code_name(key));
                self.remove_mirror(package.definition.root.clone());
            }
            return;
        };
        let asked_here = self.packages.get(key).is_some_and(|package| {
            matches!(&package.reading, Reading::Walking(walk) if walk.session == *session)
        });
        if asked_here && !sessions.contains(session) {
            let (next, number) = (next.clone(), self.number());
            self.begin_walk(&next, key, number);
        }
    }

    fn remove_mirror(&mut self, root: PathBuf) {
        self.work.spawn_blocking(move || {
            mirror::remove(&root);
            Done::Nothing
        });
    }
}

/// What the code of a package goes by.
fn code_name((client, uri): &PackageKey) -> String {
    format!("{client} {uri}")
}

/// Whether something is different now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Changed {
    Yes,
    No,
}

fn defined(key: &PackageKey, published: &ClientPluginCustomization, root: PathBuf) -> Definition {
    let (client, uri) = key;
    let mut plugin = published.plugin.0.clone();
    if let Some(nonce) = &published.nonce {
        let meta = plugin.container.base.meta.get_or_insert_default();
        meta.insert(NONCE.to_owned(), Json::from(nonce.clone()));
    }
    let base = &plugin.container.base;
    Definition {
        id: base.id.clone(),
        frame: Frame {
            uri: uri.clone(),
            owner: client.as_str().to_owned(),
            layout: Layout::Plugin,
        },
        address: None,
        name: base.name.clone(),
        origin: Origin::Client(client.clone(), Box::new(plugin)),
        boundary: root.clone(),
        root,
        files: Vec::new(),
        writable: false,
        when_absent: WhenAbsent::Shown,
    }
}
