//! The state machine, and the parts that its modules share.

mod annotations;
mod answers;
mod apps;
mod away;
mod changes;
mod chat;
mod chats;
mod code_review;
mod commands;
mod customizations;
mod digests;
mod edit_diffs;
mod files;
mod link;
mod new_session;
mod open_diff;
mod races;
mod responses;
mod saved_state;
mod sessions;
mod settings;
mod slice_views;
mod slices;
mod terminals;
mod tokens;
mod typed_views;
mod updates;

use std::hash::{DefaultHasher, Hash, Hasher};

use agenthost_client::{ClientEngine, EngineOptions, EnginePhase};
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::chat::ChatState;
use agenthost_protocol::common::Meta;
use agenthost_protocol::connection::{
    ClientCapabilities, DeliveryOptions, Implementation, SubscribeParams, SubscribeView,
};
use agenthost_protocol::ids::ClientId;
use agenthost_protocol::number::Millis;
use agenthost_protocol::root::RootState;
use agenthost_protocol::rpc::Command;
use agenthost_protocol::session::SessionState;
use agenthost_protocol::timestamp::Timestamp;
use agenthost_protocol::uri::{RootChannel, Uri, default_chat_uri};
use agenthost_protocol::wire::Object;
use agenthost_view::customizations::CustomizationFilter;
use agenthost_view::session_list::SessionFilter;
use serde::Serialize;
use serde_json::value::to_raw_value;

use crate::effect::FrontendEffect;
use crate::input::{FrontendInput, TimedInput};
use annotations::AnnotationsPanel;
use away::AwayTracker;
use changes::ChangesPanel;
pub use chats::RestoreView;
pub use link::{LinkState, LinkView};
pub use open_diff::DiffView;
pub use slices::NoteRow;
pub use typed_views::{ChangedViews, TimelineSource};

use chats::ChatsPanel;
use code_review::OpenReview;
use edit_diffs::EditDiffs;
use files::FilesPanel;
use link::LinkTracker;
use new_session::{FirstMessage, PendingFork};
use responses::{PendingResponse, PendingResult, ResponsePurpose, ResultConverter};
use saved_state::{KnownHost, SaveClock};
use sessions::SessionTable;
use settings::SettingsPanel;
use slices::{DirtySlices, SliceCache};
use terminals::TerminalPanel;
use tokens::TokenTable;

/// Turns of a chat that are loaded at first. Older ones are fetched when the user scrolls.
const LOADED_TURNS: u64 = 20;

/// The host may merge deltas of a stream for this long: two frames of a display.
const MAX_LATENCY_MS: i64 = 33;

/// Notes that are kept; older ones are dropped.
const MAX_NOTES: usize = 20;

/// The name of the program in the handshake.
#[derive(Debug, Clone, Copy, Default)]
pub struct ClientName(pub &'static str);

/// The client behind the page or the terminal UI.
#[derive(Debug, Default)]
pub struct Frontend {
    name: ClientName,
    now: i64,
    last_id: u64,
    client_id: String,
    /// Name of this device, for its comments.
    device_name: String,
    url: String,
    engine: Option<ClientEngine>,
    link: LinkTracker,
    sessions: SessionTable,
    filter: SessionFilter,
    session: Option<Uri>,
    chat: Option<Uri>,
    changes: ChangesPanel,
    edit_diffs: EditDiffs,
    annotations: AnnotationsPanel,
    chats: ChatsPanel,
    files: FilesPanel,
    away: AwayTracker,
    /// First messages of sessions that are not ready yet, or could not be created.
    first_messages: Vec<FirstMessage>,
    fork: Option<PendingFork>,
    /// Extension data of the sessions that this client creates.
    session_meta: Option<Meta>,
    settings: SettingsPanel,
    /// Description of the host in its last full handshake.
    host: KnownHost,
    notes: Vec<NoteRow>,
    /// Requests that wait for a response of the host.
    responses: Vec<PendingResponse>,
    /// Commands whose actions wait for the confirmation of the host.
    results: Vec<PendingResult>,
    terminals: TerminalPanel,
    /// The customizations that the page shows; `None` while their panel is closed.
    customization_filter: Option<CustomizationFilter>,
    code_review: Option<OpenReview>,
    last_review: u64,
    tokens: TokenTable,
    slices: SliceCache,
    save_clock: SaveClock,
    dirty: DirtySlices,
    /// `true` if the worker was asked for a frame and has not sent it yet.
    wants_frame: bool,
    effects: Vec<FrontendEffect>,
}

impl Frontend {
    /// Creates a client that was not opened yet.
    pub fn new(name: ClientName) -> Self {
        Frontend {
            name,
            ..Frontend::default()
        }
    }

    /// Handles an input and returns the effects, in order.
    pub fn step(&mut self, timed: TimedInput) -> Vec<FrontendEffect> {
        self.now = timed.now;
        match timed.input {
            FrontendInput::Open {
                url,
                client_id,
                name,
                saved,
            } => self.open(url, client_id, name, saved.as_deref()),
            FrontendInput::SocketOpened {} => self.handle_opened(),
            FrontendInput::SocketText { text } => self.handle_text(text),
            FrontendInput::SocketClosed { reason } => self.handle_closed(&reason),
            FrontendInput::SignedOut {} => self.handle_signed_out(),
            FrontendInput::Online {} => self.reconnect_now(),
            FrontendInput::Hidden {} => self.save_now(),
            FrontendInput::Timer {} => self.handle_timer(),
            FrontendInput::Do { id, command } => self.execute(id, command),
            FrontendInput::Frame {} => self.draw(),
        }
        self.pump();
        std::mem::take(&mut self.effects)
    }

    fn open(&mut self, url: String, client_id: String, name: String, saved: Option<&str>) {
        self.engine = Some(ClientEngine::new(EngineOptions {
            client_id: ClientId::from(client_id.as_str()),
            info: Implementation {
                name: self.name.0.to_owned(),
                version: Some(env!("CARGO_PKG_VERSION").to_owned()),
                title: Some(name.clone()),
            },
            subscriptions: vec![Uri::from(RootChannel::URI)],
            capabilities: Some(ClientCapabilities {
                mcp_apps: Some(Object::default()),
            }),
        }));
        self.client_id = client_id;
        self.device_name = name;
        self.url = url;
        if let Some(saved) = saved {
            self.restore(saved);
        }
        self.dirty = DirtySlices::ALL;
        self.connect();
    }

    /// Passes everything on that the engine has ready, and asks for a frame if needed.
    fn pump(&mut self) {
        self.send_pending();
        self.send_first_messages();
        self.continue_fork();
        if self.session.is_some() && self.changes.changeset.is_none() {
            self.select_default_changeset();
        }
        self.leave_removed_chat();
        self.sync_review();
        self.follow_annotations();
        self.sync_files();
        if self.dirty.any() && !self.wants_frame {
            self.wants_frame = true;
            self.effects.push(FrontendEffect::WantFrame);
        }
    }

    fn send_pending(&mut self) {
        while let Some(engine) = &mut self.engine {
            if let Some(text) = engine.take_message() {
                self.effects.push(FrontendEffect::SendText { text });
            } else if let Some(response) = engine.take_response() {
                self.handle_response(response);
            } else if let Some(update) = engine.take_update() {
                self.handle_update(update);
            } else {
                break;
            }
        }
    }

    /// Returns an id that this client has not used before.
    fn new_id(&mut self) -> String {
        self.last_id += 1;
        format!("{}-{:x}-{}", self.client_id, self.now, self.last_id)
    }

    /// Returns a new name of a session. Programs show its beginning, which therefore differs from
    /// session to session.
    fn new_session_name(&mut self) -> String {
        let id = self.new_id();
        let mut hasher = DefaultHasher::new();
        id.hash(&mut hasher);
        format!("{:016x}-{id}", hasher.finish())
    }

    fn timestamp(&self) -> Timestamp {
        Timestamp::from_millis(Millis(self.now))
    }

    fn state(&self, channel: &Uri) -> Option<&ChannelState> {
        self.engine.as_ref()?.state(channel)
    }

    fn root_state(&self) -> Option<&RootState> {
        match self.state(&Uri::from(RootChannel::URI))? {
            ChannelState::Root(state) => Some(state),
            _ => None,
        }
    }

    fn session_state(&self, session: &Uri) -> Option<&SessionState> {
        match self.state(session)? {
            ChannelState::Session(state) => Some(state),
            _ => None,
        }
    }

    fn chat_state(&self) -> Option<&ChatState> {
        match self.state(self.chat.as_ref()?)? {
            ChannelState::Chat(state) => Some(state),
            _ => None,
        }
    }

    fn add_note(&mut self, text: String, restored: Option<String>) {
        let id = self.new_id();
        self.push_note(NoteRow::error(id, text, restored));
    }

    fn push_note(&mut self, note: NoteRow) {
        self.notes.push(note);
        if self.notes.len() > MAX_NOTES {
            self.notes.remove(0);
        }
        self.dirty.link = true;
    }

    /// Sends a request for a command or for the frontend itself.
    fn request<C: Command>(&mut self, command: &C, purpose: ResponsePurpose) {
        let sent = match &mut self.engine {
            Some(engine) if engine.phase() == EnginePhase::Live => {
                engine.request(command).map_err(|error| error.to_string())
            }
            _ => Err("there is no connection to the host".to_owned()),
        };
        match sent {
            Ok(id) => self.responses.push(PendingResponse { id, purpose }),
            Err(error) => {
                if let Some(command) = purpose.command() {
                    self.fail(command, error);
                }
            }
        }
    }

    /// Sends a request whose result is the result of a command of the user.
    fn request_for<C: Command>(&mut self, command: u64, params: &C, convert: ResultConverter) {
        self.request(params, ResponsePurpose::Reply { command, convert });
    }

    /// Subscribes to a channel, unless the mirror has it.
    fn follow(&mut self, channel: &Uri) {
        let is_chat = channel.as_str().starts_with("ahp-chat:");
        let Some(engine) = &mut self.engine else {
            return;
        };
        if engine.state(channel).is_some() {
            return;
        }
        let params = SubscribeParams {
            delivery: Some(DeliveryOptions {
                max_latency_ms: Some(Millis(MAX_LATENCY_MS)),
            }),
            view: is_chat.then_some(SubscribeView {
                turns: Some(LOADED_TURNS),
            }),
            ..SubscribeParams::of_channel(channel.clone())
        };
        if let Err(error) = engine.subscribe(params) {
            self.add_note(error.to_string(), None);
        }
    }

    fn unfollow(&mut self, channel: &Uri) {
        if let Some(engine) = &mut self.engine
            && let Err(error) = engine.unsubscribe(channel)
        {
            self.add_note(error.to_string(), None);
        }
    }

    /// Returns the default chat of a session, as the host names it or as clients compute it.
    fn default_chat(&self, session: &Uri) -> Uri {
        let state = self.session_state(session);
        let named = state.and_then(|state| state.default_chat.clone());
        named.unwrap_or_else(|| default_chat_uri(session))
    }

    /// Reports that a command has succeeded.
    fn done(&mut self, id: u64) {
        self.effects.push(FrontendEffect::Done {
            id,
            error: None,
            value: None,
        });
    }

    /// Reports the result of a command.
    fn reply(&mut self, id: u64, value: &impl Serialize) {
        match to_raw_value(value) {
            Ok(value) => self.effects.push(FrontendEffect::Done {
                id,
                error: None,
                value: Some(value),
            }),
            Err(error) => self.fail(id, error.to_string()),
        }
    }

    fn fail(&mut self, id: u64, reason: String) {
        self.effects.push(FrontendEffect::Done {
            id,
            error: Some(reason),
            value: None,
        });
    }
}

#[cfg(test)]
mod tests;
