//! What the host wants.

use std::sync::Arc;

use agenthost_core::agent::AgentCommand;
use agenthost_protocol::ids::{ToolCallId, TurnId};
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::Object;
use agenthost_workspace::path_of;
use tokio::time::Instant;

use super::{Abandoned, AgentSession, Bridge, Chat, Link, Running, set};
use crate::acp::chat::Verdict;
use crate::acp::mapper::failure;
use crate::acp::offered::Offered;
use crate::acp::options::MODEL;

/// Whether there was something to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stopped {
    Something,
    Nothing,
}

impl Bridge {
    pub(super) async fn command(&mut self, command: AgentCommand) -> Result<(), String> {
        match command {
            AgentCommand::Open {
                directories,
                config,
                notes,
            } => {
                self.use_folders(&directories)?;
                self.values = config.unwrap_or_default();
                for (chat, note) in notes {
                    self.chats.entry(chat).or_default().noted = Some(note);
                }
                self.start().await
            }
            AgentCommand::Attached {
                chat,
                turn,
                resource,
                content,
            } => {
                let chat = self.chats.entry(chat).or_default();
                chat.resources.for_turn(&turn).push((resource, content));
                Ok(())
            }
            AgentCommand::Prompt {
                chat,
                turn,
                message,
                before,
                prepared,
            } => {
                let place = self.chats.entry(chat.clone()).or_default();
                place.resources.for_turn(&turn);
                let running = Running::new(turn, message, before, prepared);
                if let Some(last) = place.turn.replace(running) {
                    last.give_up();
                }
                self.advance(&chat).await
            }
            AgentCommand::Cancel { chat, turn } => match self.cancel(&chat, Some(&turn)) {
                Stopped::Something => self.settle(&chat).await,
                Stopped::Nothing => Ok(()),
            },
            AgentCommand::Decide {
                chat,
                turn,
                call,
                decision,
            } => {
                let Some(place) = self.chats.get_mut(&chat) else {
                    return Ok(());
                };
                let (Some(session), Some(running)) = (place.agent_session.open(), &mut place.turn)
                else {
                    return Ok(());
                };
                if running.id != turn {
                    return Ok(());
                }
                match running.decide(&call, &decision) {
                    Some(Verdict::Allowed) => {
                        let told = session.mapper.approved(&call);
                        self.tell(Some(&chat), told).await
                    }
                    Some(Verdict::Denied) => {
                        session.mapper.refused(&call);
                        running.mapper.refused(&call);
                        Ok(())
                    }
                    None => Ok(()),
                }
            }
            AgentCommand::Answer {
                chat,
                turn,
                request,
                response,
                answers,
            } => {
                let running = self
                    .chats
                    .get_mut(&chat)
                    .and_then(|chat| chat.turn.as_mut());
                if let Some(running) = running.filter(|running| running.id == turn) {
                    running.answer(&request, response, &answers);
                }
                Ok(())
            }
            AgentCommand::Configure { values } => self.configure(values).await,
            AgentCommand::Directories { directories } => self.use_folders(&directories),
            AgentCommand::OpenChat { chat, context } => {
                self.open_chat(chat, context);
                Ok(())
            }
            AgentCommand::CloseChat { chat } => {
                self.cancel(&chat, None);
                self.services.terminals.end(|claim| claim.chat == chat);
                self.settle(&chat).await?;
                if let Some(mut place) = self.chats.remove(&chat) {
                    self.abandon(&chat, &mut place);
                    self.let_go(&mut place);
                }
                Ok(())
            }
            // Agents can't forget a part of what was said, only all of it.
            AgentCommand::Rewind { chat, .. } => {
                self.cancel(&chat, None);
                self.settle(&chat).await?;
                if let Some(mut place) = self.chats.remove(&chat) {
                    self.abandon(&chat, &mut place);
                    self.let_go(&mut place);
                    place.noted = None;
                    self.chats.insert(chat, place);
                }
                Ok(())
            }
            AgentCommand::Resume { chat, turn } => {
                let reason = "this agent can't take up a turn again";
                let error = Some(failure("notResumable", reason));
                Ok(self.events.end(&chat, &turn, error).await?)
            }
            AgentCommand::UseTerminal {
                terminal, command, ..
            } => {
                self.services.terminals.apply(&terminal, command);
                Ok(())
            }
            AgentCommand::ClientTools { tools } => {
                self.offer(Offered {
                    clients: tools,
                    servers: self.offered.servers.clone(),
                });
                Ok(())
            }
            AgentCommand::ServerTools { tools } => {
                self.offer(Offered {
                    clients: self.offered.clients.clone(),
                    servers: tools,
                });
                Ok(())
            }
            AgentCommand::ClientToolCalled {
                chat,
                turn,
                call,
                tool,
                input,
            } => {
                let told = match self.take_over(&chat, &turn, &call) {
                    Some(session) => session.mapper.called(&call, &tool, &input),
                    None => Vec::new(),
                };
                self.tell(Some(&chat), told).await
            }
            // The agent gets the result by the way that it called the tool.
            AgentCommand::ToolCompleted {
                chat, turn, call, ..
            } => {
                if let Some(session) = self.take_over(&chat, &turn, &call) {
                    session.mapper.completed(&call);
                }
                Ok(())
            }
            // It can't be talked to while it works: what it is not told of, stays.
            AgentCommand::Steer { .. } | AgentCommand::Close => Ok(()),
        }
    }

    /// The host offers these tools from now on.
    fn offer(&mut self, offered: Offered) {
        self.offered = Arc::new(offered);
        let links = self.chats.values_mut().map(|chat| &mut chat.agent_session);
        for session in links.chain([&mut self.spare]).filter_map(Link::open) {
            session.mapper.offer(&self.offered);
        }
    }

    /// A call of a running turn is not the agent's business any more. Says which
    /// agent session it is of.
    fn take_over(
        &mut self,
        chat: &Uri,
        turn: &TurnId,
        call: &ToolCallId,
    ) -> Option<&mut AgentSession> {
        let chat = self.chats.get_mut(chat)?;
        let running = chat.turn.as_mut().filter(|running| running.id == *turn)?;
        running.mapper.taken_over(call);
        chat.agent_session.open()
    }

    fn use_folders(&mut self, directories: &[Uri]) -> Result<(), String> {
        self.services.grant(directories);
        let folders: Option<Vec<_>> = directories.iter().map(path_of).collect();
        self.folders = folders.ok_or("the folder of this session is not on this machine")?;
        if self.folders.is_empty() {
            // Somebody who only wants to talk; agents want a folder all the same.
            self.folders.extend(std::env::home_dir());
        }
        Ok(())
    }

    /// Stops the turn of a chat: the one that is named, or any.
    fn cancel(&mut self, address: &Uri, turn: Option<&TurnId>) -> Stopped {
        let Some(chat) = self.chats.get_mut(address) else {
            return Stopped::Nothing;
        };
        let meant = |running: &mut Running| turn.is_none_or(|turn| running.id == *turn);
        let Some(running) = chat.turn.take_if(meant) else {
            return Stopped::Nothing;
        };
        if let (Some(live), Link::Open(session), Some(flight)) =
            (&self.live, &mut chat.agent_session, &mut chat.in_flight)
            && flight.turn == running.id
        {
            live.cancel(&session.id);
            session.mapper.end();
            flight.stop_by = Some(Instant::now() + self.agent.patience);
        }
        let turn = Some(&running.id);
        let terminals = &mut self.services.terminals;
        terminals.end(|claim| claim.turn_id.as_ref() == turn && claim.chat == *address);
        running.give_up();
        Stopped::Something
    }

    /// An answer of the session that a chat had is nobody's any more. It has
    /// to come all the same.
    fn abandon(&mut self, address: &Uri, chat: &mut Chat) {
        let flight = chat.in_flight.take();
        if let Some((turn, stop_by)) =
            flight.and_then(|flight| Some((flight.turn, flight.stop_by?)))
        {
            let chat = address.clone();
            self.abandoned.push(Abandoned {
                chat,
                turn,
                stop_by,
            });
        }
    }

    /// Lets go of the agent session of a chat.
    fn let_go(&mut self, chat: &mut Chat) {
        if let (Link::Open(session), Some(live)) =
            (std::mem::take(&mut chat.agent_session), &self.live)
        {
            live.close_session(&session.id);
        }
    }

    async fn configure(&mut self, values: Object) -> Result<(), String> {
        self.values = values;
        let Some(live) = &self.live else {
            return Ok(());
        };
        let mut refused = None;
        let chats = self.chats.iter_mut();
        let chats = chats.map(|(address, chat)| (Some(address.clone()), &mut chat.agent_session));
        for (address, link) in chats.chain([(None, &mut self.spare)]) {
            let Some(session) = link.open() else {
                continue;
            };
            // What is so already, the agent may have chosen by itself.
            let chosen = session.options.values();
            let mut values = self.values.clone();
            values.retain(|key, value| chosen.get(key) != Some(value));
            match (&session.own_model, self.values.get(MODEL)) {
                // It gets it back when the turn is over.
                (Some(own), Some(model)) if own == model => drop(values.remove(MODEL)),
                (Some(_), Some(_)) => session.own_model = None,
                (Some(_), None) | (None, _) => {}
            }
            let schema = session.options.schema();
            let withheld = self.agent.profile.rule().withhold(&schema, &mut values);
            self.remarks.refused(&withheld);
            let mut keys = values.keys();
            let strange = keys.find(|key| !schema.properties.contains_key(*key));
            if let Some(strange) = strange {
                self.remarks.not_taken(strange, "there is no such choice");
            }
            if strange.is_some() || !withheld.is_empty() {
                refused = Some(address);
            }
            for (key, value) in &values {
                set(live, session, key, value);
            }
        }
        // What is not to be is put back.
        match refused {
            Some(address) => self.tell_options(address.as_ref()).await,
            None => Ok(()),
        }
    }
}
