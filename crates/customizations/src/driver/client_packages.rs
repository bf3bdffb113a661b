//! Reads plugin packages that clients offer.
//!
//! A package is read only from its client, even if it has a `file:` URI: the files are the
//! client's files. A package is read once for all sessions that have it, and again when its
//! `nonce` changes.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use agenthost_core::ClientReadError;
use agenthost_core::customization::driver::{
    ClientPlugin, CustomizationEvent, QueryId, ResourceReply,
};
use agenthost_protocol::ids::CustomizationId;
use agenthost_protocol::session::{ClientPluginCustomization, Customization, LoadState};
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::Json;
use tokio::time::Instant;

use super::client_walk::ClientWalk;
use super::task::{DriverTask, PackageKey, WorkDone};
use crate::package::identity::short_digest;
use crate::package::mirror;
use crate::parse::{ContainerFrame, ContainerLayout, ParsedContainer, parse};
use crate::sources::{
    AbsencePolicy, ContainerDefinition, ContainerOrigin, CustomizationSettings, container_id,
    published_customization,
};

/// The `_meta` key for the `nonce` that a client gave its plugin. Legacy clients receive
/// the value in a field instead.
const NONCE_META_KEY: &str = "agenthost.nonce";

/// A plugin package that a client offers.
pub(super) struct ClientPackage {
    published: ClientPluginCustomization,
    pub(super) definition: Arc<ContainerDefinition>,
    /// The contents of the package, once they have been read.
    pub(super) parsed: Option<Arc<ParsedContainer>>,
    customization: Arc<Customization>,
    /// The number of the current read. Results of earlier reads are discarded.
    read_number: u64,
    read_state: PackageReadState,
}

/// The progress of reading a package.
enum PackageReadState {
    /// Requests to the client are pending.
    Walking(Box<ClientWalk>),
    /// The files are complete and a blocking task parses them.
    Parsing,
    /// The contents are known.
    Complete,
}

impl ClientPackage {
    /// Returns the deadline for the client's responses, while the package is being read.
    pub(super) fn deadline(&self) -> Option<Instant> {
        match &self.read_state {
            PackageReadState::Walking(walk) => Some(walk.deadline),
            PackageReadState::Parsing | PackageReadState::Complete => None,
        }
    }

    /// Returns `true` if the package has been read completely.
    pub(super) fn is_read(&self) -> bool {
        matches!(self.read_state, PackageReadState::Complete)
    }

    /// Returns the published customization, with the id that it has in a session.
    pub(super) fn customization_as(&self, id: &CustomizationId) -> Arc<Customization> {
        match Customization::clone(&self.customization) {
            Customization::Plugin(mut plugin) if plugin.container.base.id != *id => {
                plugin.container.base.id = id.clone();
                Arc::new(Customization::Plugin(plugin))
            }
            _ => self.customization.clone(),
        }
    }

    /// Returns the definition of the container, with the id that it has in a session.
    pub(super) fn definition_as(&self, id: &CustomizationId) -> Arc<ContainerDefinition> {
        if self.definition.id == *id {
            self.definition.clone()
        } else {
            Arc::new(ContainerDefinition {
                id: id.clone(),
                ..ContainerDefinition::clone(&self.definition)
            })
        }
    }

    /// Recomputes the published customization. While the package is read again, its
    /// previous contents stay published.
    fn recompute(&mut self, settings: &CustomizationSettings) {
        let mut now = published_customization(settings, &self.definition, self.parsed.as_deref());
        if let (false, Customization::Plugin(plugin)) = (self.is_read(), &mut now) {
            plugin.container.load = Some(LoadState::Loading);
        }
        if *self.customization != now {
            self.customization = Arc::new(now);
        }
    }
}

impl DriverTask {
    /// Replaces the list of plugins that clients offer in a session.
    pub(super) fn set_client_plugins(&mut self, session: &Uri, plugins: Vec<ClientPlugin>) {
        let known = self.sessions.entry(session.clone()).or_default();
        let before = std::mem::take(&mut known.packages);
        let on_disk = known
            .containers
            .iter()
            .filter_map(|key| self.containers.get(key));
        let mut used_ids: BTreeSet<CustomizationId> =
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
            let id = if used_ids.insert(wanted.clone()) {
                wanted
            } else {
                container_id(brought.client.as_str(), &base.uri, ContainerLayout::Plugin)
            };
            used_ids.insert(id.clone());
            now.push((key.clone(), id));
            if self.update_package(session, &key, brought.plugin) == PublishedChange::Changed {
                others.extend(self.sessions_with(&key));
            }
        }
        if let Some(known) = self.sessions.get_mut(session) {
            known.packages = now;
        }
        self.stop_disallowed_hooks(session);
        for (key, _) in before {
            self.release_package(session, &key);
        }
        others.insert(session.clone());
        for session in others {
            self.publish_changes(&session);
        }
    }

    /// Handles a client's response to a resource request.
    pub(super) fn handle_reply(
        &mut self,
        query: QueryId,
        answer: Result<ResourceReply, ClientReadError>,
    ) {
        let found = self.packages.iter_mut().find_map(|(key, package)| {
            let PackageReadState::Walking(walk) = &mut package.read_state else {
                return None;
            };
            walk.is_open(query).then_some((key.clone(), walk))
        });
        // A late response to a finished or restarted read changes nothing.
        if let Some((key, walk)) = found {
            walk.accept_reply(query, answer);
            self.continue_walk(&key);
        }
    }

    /// Ends the reads of packages that have exceeded their deadline.
    pub(super) fn expire_walks(&mut self, now: Instant) {
        let mut late = Vec::new();
        for (key, package) in &mut self.packages {
            if let PackageReadState::Walking(walk) = &mut package.read_state
                && walk.deadline <= now
            {
                walk.expire();
                late.push(key.clone());
            }
        }
        for key in late {
            self.continue_walk(&key);
        }
    }

    /// Stores a package that was parsed and mirrored to disk, and publishes it.
    pub(super) fn handle_package_read(
        &mut self,
        key: &PackageKey,
        number: u64,
        parsed: ParsedContainer,
    ) {
        let root = self.mirror_path(key, number);
        let Some(package) = self
            .packages
            .get_mut(key)
            .filter(|it| it.read_number == number)
        else {
            self.remove_mirror(root);
            return;
        };
        let old = package.definition.root.clone();
        package.definition = Arc::new(ContainerDefinition {
            root,
            ..ContainerDefinition::clone(&package.definition)
        });
        package.parsed = Some(Arc::new(parsed));
        package.read_state = PackageReadState::Complete;
        package.recompute(&self.settings);
        let (definition, parsed) = (package.definition.clone(), package.parsed.clone());
        self.publish_code_trust(&package_code_name(key), &definition, parsed.as_deref());
        if old != definition.root {
            self.remove_mirror(old);
        }
        for session in self.sessions_with(key) {
            self.publish_changes(&session);
        }
        self.prepare_ready_turns(Instant::now());
    }

    /// Recomputes all packages after the set of approved code has changed.
    pub(super) fn recompute_packages(&mut self) {
        for package in self.packages.values_mut() {
            package.recompute(&self.settings);
        }
        for (key, package) in &self.packages {
            let parsed = package.parsed.as_deref();
            self.publish_code_trust(&package_code_name(key), &package.definition, parsed);
        }
    }

    fn sessions_with(&self, key: &PackageKey) -> Vec<Uri> {
        let has = |(_, session): &(&Uri, &super::task::TrackedSession)| {
            session.packages.iter().any(|(known, _)| known == key)
        };
        let sessions = self.sessions.iter().filter(has);
        sessions.map(|(uri, _)| uri.clone()).collect()
    }

    fn mirror_path(&self, key: &PackageKey, number: u64) -> PathBuf {
        let (client, uri) = key;
        let digest = short_digest(&[client.as_str(), uri.as_str()]);
        mirror::mirrors_folder(&self.data).join(format!("{digest}-{number}"))
    }

    /// Stores a package as its client published it, and reads it if its contents may have
    /// changed.
    fn update_package(
        &mut self,
        session: &Uri,
        key: &PackageKey,
        published: ClientPluginCustomization,
    ) -> PublishedChange {
        let known = self.packages.get(key);
        if known.is_some_and(|package| package.published == published) {
            return PublishedChange::Unchanged;
        }
        let same = known.is_some_and(|package| {
            published.nonce.is_some() && package.published.nonce == published.nonce
        });
        let number = match known {
            Some(package) if same => package.read_number,
            Some(_) | None => self.next_number(),
        };
        let root = match self.packages.get(key) {
            Some(package) => package.definition.root.clone(),
            None => self.mirror_path(key, number),
        };
        let definition = Arc::new(client_definition(key, &published, root));
        match self.packages.get_mut(key) {
            Some(package) => {
                package.definition = definition;
                package.published = published;
            }
            None => {
                let shown = Arc::new(definition.to_customization(None, None));
                let package = ClientPackage {
                    published,
                    definition,
                    parsed: None,
                    customization: shown,
                    read_number: number,
                    read_state: PackageReadState::Parsing,
                };
                self.packages.insert(key.clone(), package);
            }
        }
        if !same {
            self.start_walk(session, key, number);
        }
        if let Some(package) = self.packages.get_mut(key) {
            package.recompute(&self.settings);
        }
        PublishedChange::Changed
    }

    fn start_walk(&mut self, session: &Uri, key: &PackageKey, number: u64) {
        if let Some(package) = self.packages.get_mut(key) {
            let walk = ClientWalk::new(session.clone(), key.1.clone());
            package.read_number = number;
            package.read_state = PackageReadState::Walking(Box::new(walk));
            self.continue_walk(key);
        }
    }

    /// Sends as many requests as the limit permits, and parses the package after the last
    /// response.
    fn continue_walk(&mut self, key: &PackageKey) {
        loop {
            let ticket = QueryId(self.next_number());
            let Some(package) = self.packages.get_mut(key) else {
                return;
            };
            let PackageReadState::Walking(walk) = &mut package.read_state else {
                return;
            };
            if walk.is_finished() {
                break;
            }
            if !walk.can_ask() {
                return;
            }
            let session = walk.session.clone();
            if let Some(wanted) = walk.next_query(ticket) {
                let client = key.0.clone();
                let event = CustomizationEvent::ResourceRequested {
                    id: ticket,
                    client,
                    query: wanted,
                };
                self.push_event(&session, event);
            }
        }
        self.parse_package(key);
    }

    fn parse_package(&mut self, key: &PackageKey) {
        let Some(package) = self.packages.get_mut(key) else {
            return;
        };
        let PackageReadState::Walking(walk) =
            std::mem::replace(&mut package.read_state, PackageReadState::Parsing)
        else {
            return;
        };
        let (number, frame) = (package.read_number, package.definition.frame.clone());
        let root = self.mirror_path(key, number);
        let package = key.clone();
        self.work.spawn_blocking(move || {
            let gathered = walk.into_result();
            let mut parsed = match gathered.failure {
                Some(failure) => ParsedContainer::failed(failure),
                None => parse(&gathered.package, &frame),
            };
            if let Err(error) = mirror::write(&root, &gathered.files) {
                let problem = format!("store its files: {}", error.kind());
                parsed.problems.push(problem);
            }
            WorkDone::PackageRead {
                package,
                number,
                parsed: Box::new(parsed),
            }
        });
    }

    /// Releases a package that a session no longer uses. The package is removed with its
    /// last session. If the pending requests were sent for this session, the read starts
    /// again for another one.
    fn release_package(&mut self, session: &Uri, key: &PackageKey) {
        let sessions = self.sessions_with(key);
        let Some(next) = sessions.first() else {
            if let Some(package) = self.packages.remove(key) {
                self.remove_code_trust(&package_code_name(key));
                self.remove_mirror(package.definition.root.clone());
            }
            return;
        };
        let asked_here = self.packages.get(key).is_some_and(|package| {
            matches!(&package.read_state, PackageReadState::Walking(walk) if walk.session == *session)
        });
        if asked_here && !sessions.contains(session) {
            let (next, number) = (next.clone(), self.next_number());
            self.start_walk(&next, key, number);
        }
    }

    fn remove_mirror(&mut self, root: PathBuf) {
        self.work.spawn_blocking(move || {
            mirror::remove(&root);
            WorkDone::Nothing
        });
    }
}

/// Returns the key of a package in the list of code that is not approved.
fn package_code_name((client, uri): &PackageKey) -> String {
    format!("{client} {uri}")
}

/// The effect of an update on the published package.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PublishedChange {
    Changed,
    Unchanged,
}

fn client_definition(
    key: &PackageKey,
    published: &ClientPluginCustomization,
    root: PathBuf,
) -> ContainerDefinition {
    let (client, uri) = key;
    let mut plugin = published.plugin.0.clone();
    if let Some(nonce) = &published.nonce {
        let meta = plugin.container.base.meta.get_or_insert_default();
        meta.insert(NONCE_META_KEY.to_owned(), Json::from(nonce.clone()));
    }
    let base = &plugin.container.base;
    ContainerDefinition {
        id: base.id.clone(),
        frame: ContainerFrame {
            uri: uri.clone(),
            owner: client.as_str().to_owned(),
            layout: ContainerLayout::Plugin,
        },
        address: None,
        name: base.name.clone(),
        origin: ContainerOrigin::Client(client.clone(), Box::new(plugin)),
        boundary: root.clone(),
        root,
        files: Vec::new(),
        writable: false,
        absence_policy: AbsencePolicy::Publish,
    }
}
