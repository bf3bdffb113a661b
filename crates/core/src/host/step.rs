//! One step of the host: which input goes where.

use std::collections::BTreeSet;

use agenthost_protocol::number::Millis;
use agenthost_protocol::timestamp::Timestamp;
use agenthost_protocol::version::Release;

use crate::connection::registry::ConnectionEntry;
use crate::host::Host;
use crate::host::effect::Effects;
use crate::host::input::Input;
use crate::host::recovery::MissingTerminals;

/// The world at the moment of a step. Whoever calls `step` provides it, so a
/// test can replay any moment.
#[derive(Debug, Clone, Copy)]
pub struct Env {
    /// Milliseconds since 1970.
    pub now: Millis,
    /// A number that no other step gets.
    pub nonce: u128,
}

impl Env {
    /// The time as the wire writes it.
    pub fn timestamp(&self) -> Timestamp {
        Timestamp::from_millis(self.now)
    }

    /// A name that nothing else has; `use_` tells several of one step apart.
    pub fn unique_id(&self, use_: &str) -> String {
        format!("{use_}-{:032x}", self.nonce)
    }
}

impl Host {
    /// Takes one step. The same state and the same input have the same
    /// effects, always.
    pub fn step(&mut self, env: &Env, input: Input, out: &mut Effects) {
        if !matches!(input, Input::ChannelLoaded { .. }) {
            self.end_interrupted_turns(env, MissingTerminals::Ignore, out);
        }
        match input {
            Input::Started => self.start(out),
            Input::Connected {
                connection,
                principal,
            } => {
                let new = ConnectionEntry {
                    principal,
                    client: None,
                    subscriptions: BTreeSet::new(),
                    release: Release::CURRENT,
                };
                self.clients.connections.insert(connection, new);
            }
            Input::Received {
                connection,
                message,
            } => self.handle_message(env, connection, message, out),
            Input::Disconnected { connection } => self.handle_disconnect(connection, out),
            Input::Agent { session, event } => self.handle_agent_event(env, &session, event, out),
            Input::GraceExpired {
                client,
                grace_period: departure,
            } => {
                self.expire_grace_period(env, &client, departure, out);
            }
            Input::TokenExpired {
                key: place,
                nonce: given,
            } => self.expire_token(place, given, out),
            Input::LogCompacted { log_start } => {
                self.log_start = log_start;
                self.epochs.drop_before(log_start);
            }
            Input::ChannelLoaded { channel, loaded } => {
                self.handle_loaded(env, &channel, loaded, out)
            }
            Input::RequestCompleted {
                connection,
                id,
                result: answer,
            } => self.complete_request(connection, &id, *answer, out),
            Input::Terminal { terminal, event } => {
                self.handle_terminal_event(env, &terminal, event, out);
            }
            Input::CheckpointTaken {
                session,
                checkpoint: mark,
                outcome,
            } => self.handle_checkpoint_taken(&session, &mark, *outcome, out),
            Input::DiffComputed { channel, outcome } => {
                self.handle_diff_computed(&channel, *outcome, out)
            }
            Input::EditsSurveyed {
                turn,
                edits: surveyed,
            } => self.handle_edits_surveyed(env, &turn, *surveyed, out),
            Input::OperationFinished {
                request: wanted,
                operation_id: name,
                outcome,
            } => self.handle_operation_finished(&wanted, &name, outcome, out),
            Input::WorktreeCreated { session, outcome } => {
                self.handle_worktree_created(env, &session, outcome, out)
            }
            Input::PreviewDue { terminal } => self.publish_output_preview(&terminal, out),
            Input::ChangesetRefreshDue { channel, round } => self.refresh_due(&channel, round, out),
            Input::AccessRequestTimedOut { connection, id } => {
                self.expire_access_request(connection, &id, out);
            }
            Input::Customization { session, event } => {
                self.handle_customization_event(env, &session, event, out)
            }
            Input::Mcp { session, event } => self.handle_mcp_event(env, &session, event, out),
            Input::AgentListDebounced => self.publish_agent_list(out),
            Input::CallAnnouncementTimedOut { call } => self.announcement_timed_out(env, call, out),
            Input::WatchStarted {
                request: errand,
                outcome: begun,
            } => self.handle_watch_started(*errand, begun, out),
            Input::FilesChanged { channel, changes } => {
                self.handle_files_changed(&channel, changes, out);
            }
            Input::WatchIdleTimedOut { channel } => self.stop_idle_watch(&channel, out),
            Input::FileSearchFinished { search, files } => {
                self.complete_file_search(&search, files, out)
            }
            Input::ClientToolTimedOut { session, call } => {
                self.expire_client_call(env, &session, &call, out);
            }
            Input::HostRequestTimedOut { connection, id } => {
                self.expire_request(connection, id, out);
            }
            Input::EvictionDue => self.evict_idle_channels(out),
        }
        self.release_late_events(env, out);
        self.stop_finished_commands(out);
    }
}
