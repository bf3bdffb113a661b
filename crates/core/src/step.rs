//! One step of the host: which input goes where.

use std::collections::BTreeSet;

use agenthost_protocol::version::Release;

use crate::clients::Connection;
use crate::effect::Effects;
use crate::env::Env;
use crate::host::Host;
use crate::input::Input;
use crate::restore::Missing;

impl Host {
    /// Takes one step. The same state and the same input have the same
    /// effects, always.
    pub fn step(&mut self, env: &Env, input: Input, out: &mut Effects) {
        if !matches!(input, Input::Restored { .. }) {
            self.end_interrupted(env, Missing::GivenUp, out);
        }
        match input {
            Input::Started => self.start(out),
            Input::Connected {
                connection,
                principal,
            } => {
                let new = Connection {
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
            } => self.receive(env, connection, message, out),
            Input::Disconnected { connection } => self.disconnect(connection, out),
            Input::Agent { session, event } => self.agent_event(env, &session, event, out),
            Input::GraceEnded { client, departure } => {
                self.end_grace(env, &client, departure, out);
            }
            Input::TokenExpired { place, given } => self.expire_token(place, given, out),
            Input::Compacted { log_start } => {
                self.log_start = log_start;
                self.epochs.forget_before(log_start);
            }
            Input::Restored { channel, loaded } => self.restore(env, &channel, loaded, out),
            Input::Answered {
                connection,
                id,
                answer,
            } => self.pass_on(connection, &id, *answer, out),
            Input::Terminal { terminal, event } => {
                self.terminal_event(env, &terminal, event, out);
            }
            Input::Marked {
                session,
                mark,
                outcome,
            } => self.marked(&session, &mark, *outcome, out),
            Input::Compared { channel, outcome } => self.compared(&channel, *outcome, out),
            Input::Surveyed { turn, surveyed } => self.surveyed(env, &turn, *surveyed, out),
            Input::Operated {
                wanted,
                name,
                outcome,
            } => self.operated(&wanted, &name, outcome, out),
            Input::WorktreeMade { session, outcome } => self.settled(env, &session, outcome, out),
            Input::PreviewDue { terminal } => self.preview_output(&terminal, out),
            Input::LookAgain { channel, round } => self.look_again(&channel, round, out),
            Input::StillUngranted { connection, id } => {
                self.refuse_request(connection, &id, out);
            }
            Input::Customized { session, event } => self.customized(env, &session, event, out),
            Input::Tools { session, event } => self.tools_told(env, &session, event, out),
            Input::AgentsLearned => self.show_agents(out),
            Input::StillUntold { call } => self.still_untold(env, call, out),
            Input::Watching { errand, begun } => self.watching(*errand, begun, out),
            Input::FilesChanged { channel, changes } => {
                self.files_changed(&channel, changes, out);
            }
            Input::StillUnwatched { channel } => self.end_unwatched(&channel, out),
            Input::FilesFound { search, files } => self.files_found(&search, files, out),
            Input::StillSilent { session, call } => {
                self.check_silence(env, &session, &call, out);
            }
            Input::StillUnanswered { connection, id } => {
                self.end_question(connection, id, out);
            }
            Input::Quiet => self.let_go(out),
        }
        self.release_late_events(env, out);
        self.end_commands(out);
    }
}
