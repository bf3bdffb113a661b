//! A host of customizations, which sends commands and receives events.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use agenthost_core::Input;
use agenthost_core::customization::driver::{
    CustomizationCommand, CustomizationEvent, PreparedTurn, TurnPreparation,
};
use agenthost_customizations::{CustomizationDriver, CustomizationSettings};
use agenthost_protocol::ids::{CustomizationId, ProviderId, TurnId};
use agenthost_protocol::session::Customization;
use agenthost_protocol::uri::Uri;
use agenthost_workspace::uri_of;
use tempfile::TempDir;
use tokio::sync::mpsc;

use crate::render;

/// Longest time that a step may take.
const DEADLINE: Duration = Duration::from_secs(20);

pub(crate) struct Host {
    pub(crate) folder: TempDir,
    pub(crate) customizations: CustomizationDriver,
    events: mpsc::Receiver<Input>,
    /// Known customizations of the session, in order.
    pub(crate) known: Vec<Customization>,
    pub(crate) commands: Vec<String>,
}

/// Creates the folders of a host.
pub(crate) fn workspace() -> TempDir {
    let folder = TempDir::new().unwrap();
    for name in ["work", "home", "data"] {
        std::fs::create_dir(folder.path().join(name)).unwrap();
    }
    folder
}

pub(crate) fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

pub(crate) fn session() -> Uri {
    Uri::from("ahp-session:/s")
}

impl Host {
    /// Starts a host, and tracks a session in the folder `work`.
    pub(crate) async fn start_tracking(folder: TempDir, settings: CustomizationSettings) -> Self {
        let mut host = Host::start(folder, settings);
        host.track_session(&session()).await;
        host
    }

    pub(crate) fn start(folder: TempDir, settings: CustomizationSettings) -> Self {
        let (sender, events) = mpsc::channel(4);
        let settings = CustomizationSettings {
            home: Some(folder.path().join("home")),
            environment: std::env::vars().collect(),
            ..settings
        };
        let data = folder.path().join("data");
        let notes = folder.path().join("notes");
        Host {
            folder,
            customizations: CustomizationDriver::with_pid_dir(settings, data, notes, sender),
            events,
            known: Vec::new(),
            commands: Vec::new(),
        }
    }

    pub(crate) async fn track_session(&mut self, session: &Uri) {
        self.customizations
            .execute(CustomizationCommand::Track {
                session: session.clone(),
                provider: ProviderId::from("agent"),
                directories: vec![uri_of(&self.work()).unwrap()],
            })
            .unwrap();
    }

    pub(crate) fn work(&self) -> std::path::PathBuf {
        self.folder.path().join("work")
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        write(&self.work(), path, text);
    }

    /// Returns the next event. Records customizations of the session.
    pub(crate) async fn next(&mut self) -> CustomizationEvent {
        let next = tokio::time::timeout(DEADLINE, self.events.recv()).await;
        let next = next.expect("something is told in time");
        let Some(Input::Customization { session, event }) = next else {
            unreachable!("unexpected input: {next:?}");
        };
        if session == self::session() {
            self.record_event(&event);
        }
        event
    }

    /// Receives events until a condition holds.
    pub(crate) async fn until(&mut self, what: impl Fn(&Self) -> bool) {
        while !what(self) {
            self.next().await;
        }
    }

    /// Receives events until all known customizations are read.
    pub(crate) async fn wait_until_read(&mut self) {
        self.until(|host| {
            let read = |one: &Customization| {
                one.children().is_some() || matches!(one, Customization::McpServer(_))
            };
            !host.known.is_empty() && host.known.iter().all(read)
        })
        .await;
    }

    /// Receives events until everything is read, including customizations that are not shown. The
    /// preparation of a turn waits for these.
    pub(crate) async fn all_read(&mut self) {
        self.prepare(turn(0, "")).await.unwrap();
        self.wait_until_read().await;
    }

    /// Prepares a turn, and returns the outcome.
    pub(crate) async fn prepare(
        &mut self,
        preparation: TurnPreparation,
    ) -> Result<PreparedTurn, String> {
        let wanted = preparation.turn.clone();
        let errand = CustomizationCommand::Prepare(Box::new(preparation));
        self.customizations.execute(errand).unwrap();
        loop {
            if let CustomizationEvent::TurnPrepared { turn, outcome, .. } = self.next().await
                && turn == wanted
            {
                return outcome.map_err(|error| error.to_string());
            }
        }
    }

    pub(crate) async fn disable(&mut self, ids: &[&CustomizationId]) {
        let ids: BTreeSet<_> = ids.iter().map(|id| (*id).clone()).collect();
        let session = session();
        let errand = CustomizationCommand::SetDisabled { session, ids };
        self.customizations.execute(errand).unwrap();
    }

    /// Returns the known customizations as text, without empty containers that have no problem.
    pub(crate) fn text(&self) -> String {
        let full = |one: &&Customization| {
            let empty = one.children().is_some_and(<[_]>::is_empty);
            let line = render::container(one);
            !empty || line.contains("degraded") || line.contains("error")
        };
        let lines = self.known.iter().filter(full).map(render::container);
        let text = lines.collect::<Vec<_>>().join("\n") + "\n";
        text.replace(self.folder.path().to_str().unwrap(), "…")
    }

    pub(crate) fn find(&self, name: &str) -> Option<&Customization> {
        self.known
            .iter()
            .find(|one| render::container(one).split(' ').next() == Some(name))
    }

    pub(crate) fn id(&self, name: &str) -> CustomizationId {
        self.find(name).unwrap().id().unwrap().clone()
    }

    pub(crate) fn child(&self, container: &str, name: &str) -> Option<CustomizationId> {
        let children = self.find(container)?.children()?;
        let child = children.iter().find(|child| render::name(child) == name)?;
        child.id().cloned()
    }

    fn record_event(&mut self, event: &CustomizationEvent) {
        match event {
            CustomizationEvent::CustomizationsFound { all } => self.known.clone_from(all),
            CustomizationEvent::CustomizationUpdated(one) => {
                match self.known.iter_mut().find(|known| known.id() == one.id()) {
                    Some(known) => known.clone_from(one),
                    None => self.known.push(Customization::clone(one)),
                }
            }
            CustomizationEvent::CustomizationRemoved(id) => {
                self.known.retain(|one| one.id() != Some(id))
            }
            CustomizationEvent::CommandsChanged { commands } => {
                self.commands = commands.iter().map(|one| one.name.clone()).collect();
            }
            CustomizationEvent::ResourceRequested { .. }
            | CustomizationEvent::TurnPrepared { .. }
            | CustomizationEvent::ToolHooksChanged { .. }
            | CustomizationEvent::ToolChecked { .. } => {}
        }
    }
}

/// Returns the preparation of a turn with a text.
pub(crate) fn turn(number: u32, text: &str) -> TurnPreparation {
    TurnPreparation {
        session: session(),
        chat: Uri::from("ahp-chat:/c"),
        turn: TurnId::from(format!("t{number}")),
        text: text.to_owned(),
        agent: None,
        files: Vec::new(),
        own_commands: Vec::new(),
    }
}
