//! One step of the host: dispatches an input to its handler.

use std::collections::BTreeSet;

use agenthost_protocol::ids::ServerSeq;
use agenthost_protocol::number::Millis;
use agenthost_protocol::timestamp::Timestamp;
use agenthost_protocol::version::Release;

use crate::changeset::driver::CheckpointId;
use crate::chat::turn::TurnRecovery;
use crate::connection::registry::{ConnectionEntry, PeerIdentity};
use crate::host::Host;
use crate::host::effect::Effects;
use crate::host::effect::audit::{audit_paired_device, audit_refused_peer};
use crate::host::input::{ConnectionId, Input};
use crate::host::recovery::MissingTerminals;

/// Time and randomness of a step. The caller of `step` provides them, so that a test can replay
/// any step.
#[derive(Debug, Clone, Copy)]
pub struct Env {
    /// Milliseconds since 1970 (UTC).
    pub now: Millis,
    /// A number that is unique to this step.
    pub nonce: u128,
}

impl Env {
    /// Returns the time as a wire timestamp.
    pub fn timestamp(&self) -> Timestamp {
        Timestamp::from_millis(self.now)
    }

    /// Returns a unique id. `use_` distinguishes several ids of one step.
    pub fn unique_id(&self, use_: &str) -> String {
        format!("{use_}-{:032x}", self.nonce)
    }
}

impl Host {
    /// Handles one input. Deterministic: the same state, environment and input always have the
    /// same effects.
    pub fn step(&mut self, env: &Env, input: Input, out: &mut Effects) {
        if !matches!(input, Input::ChannelLoaded { .. }) {
            self.end_interrupted_turns(env, MissingTerminals::Ignore, out);
        }
        self.route_input(env, input, out);
        // Without the channels, work that continues looks as if it were over.
        if self.turns.recovery != TurnRecovery::Loading {
            self.release_late_events(env, out);
            self.stop_finished_commands(out);
        }
    }

    fn route_input(&mut self, env: &Env, input: Input, out: &mut Effects) {
        match input {
            Input::Started => self.start(out),
            Input::Recovered => self.continue_work(env, out),
            Input::RunnerLost { reason } => self.handle_runner_lost(env, &reason, out),
            Input::Connected { connection, peer } => self.add_connection(connection, peer),
            Input::Received {
                connection,
                message,
            } => self.handle_message(env, connection, message, out),
            Input::Disconnected { connection } => self.handle_disconnect(env, connection, out),
            Input::NotStored {
                connection,
                message,
                problem,
            } => self.refuse_unstorable(connection, message, &problem, out),
            Input::StorageChanged { problem } => self.publish_storage_problem(problem, out),
            Input::ClientLoaded { client, remembered } => {
                self.handle_client_loaded(env, client, remembered.map(|client| *client));
            }
            Input::PeerRefused(peer) => audit_refused_peer(peer, out),
            Input::DevicePaired(device) => audit_paired_device(device, out),
            Input::PrincipalRevoked(principal) => self.revoke_principal(env, principal, out),
            Input::Agent { session, event } => self.handle_agent_event(env, &session, event, out),
            Input::GraceExpired {
                client,
                grace_period,
            } => self.expire_grace_period(env, &client, grace_period, out),
            Input::TokenExpired { key, nonce } => self.expire_token(key, nonce, out),
            Input::LogCompacted { log_start } => self.drop_log_before(log_start),
            Input::ChannelLoaded { channel, loaded } => {
                self.handle_loaded(env, &channel, loaded, out)
            }
            Input::RequestCompleted {
                connection,
                id,
                result,
            } => self.complete_request(connection, &id, *result, out),
            Input::Terminal { terminal, event } => {
                self.handle_terminal_event(env, &terminal, event, out);
            }
            Input::CheckpointTaken {
                session,
                checkpoint,
                outcome,
            } => {
                self.handle_checkpoint_taken(&session, &checkpoint, *outcome, out);
                if let CheckpointId::BeforeTurn(turn) = &checkpoint {
                    self.turns.lower_barrier(&turn.chat, out);
                }
            }
            Input::DiffComputed { channel, outcome } => {
                self.handle_diff_computed(&channel, *outcome, out)
            }
            Input::EditsSurveyed { turn, edits } => {
                self.handle_edits_surveyed(env, &turn, *edits, out)
            }
            Input::OperationFinished {
                request,
                operation_id,
                outcome,
            } => self.handle_operation_finished(&request, &operation_id, outcome, out),
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
            Input::AgentsReplaced { catalog, changed } => {
                self.replace_agents(*catalog, &changed, out);
            }
            Input::CallAnnouncementTimedOut { call } => self.announcement_timed_out(env, call, out),
            Input::WatchStarted { request, outcome } => {
                self.handle_watch_started(*request, outcome, out)
            }
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
            Input::RetentionDue(check) => self.apply_retention(&check, out),
            Input::EvictionDue => self.evict_idle_channels(out),
        }
    }

    fn add_connection(&mut self, connection: ConnectionId, peer: PeerIdentity) {
        let entry = ConnectionEntry {
            peer,
            client: None,
            subscriptions: BTreeSet::new(),
            release: Release::CURRENT,
            reconnect_refused: false,
        };
        self.clients.connections.insert(connection, entry);
    }

    fn drop_log_before(&mut self, log_start: ServerSeq) {
        self.log.log_start = log_start;
        self.log.epochs.drop_before(log_start);
    }
}
