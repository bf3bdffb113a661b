//! What goes to clients of older versions.

use agenthost_core::{Answer, ConnectionId, Input, Scene};
use agenthost_protocol::action::ActionEnvelope;
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::rpc::{HostNotification, RequestId, RpcError};
use agenthost_store::StoreError;

use super::Driver;
use crate::older::{self, Happened, TellError, Told, Words};
use crate::outbox::{Closing, Outgoing};

impl Driver {
    pub(super) fn answer_older(
        &mut self,
        connection: ConnectionId,
        id: RequestId,
        answer: Result<Answer, RpcError>,
    ) -> Result<Vec<Input>, StoreError> {
        let replayed = match &answer {
            Ok(Answer::Replay {
                after,
                until,
                channels,
                seen,
                ..
            }) => {
                let missed = self.store.replay(*after, *until, channels)?;
                let missed = super::effects::as_seen(missed, *seen)?;
                self.older.replay(&self.host, connection, &id, &missed)
            }
            _ => Ok(Vec::new()),
        };
        let replayed = match replayed {
            Ok(replayed) => replayed,
            Err(lost) => {
                self.tell(connection, Err(lost.into()))?;
                return Ok(Vec::new());
            }
        };
        match self.older.answer(connection, id, answer, replayed) {
            Some((answer, inputs)) => {
                let outgoing = Outgoing::Older(Box::new(answer));
                self.deliveries.send(connection, outgoing)?;
                Ok(inputs)
            }
            None => Ok(Vec::new()),
        }
    }

    /// Tells of an action. What is the same for several is made once.
    pub(super) fn retell(
        &mut self,
        envelope: &ActionEnvelope,
        before: Option<&ChannelState>,
        scene: Scene,
        to: &[ConnectionId],
    ) -> Result<(), StoreError> {
        let current = match before {
            Some(_) => None,
            None => Some(self.action_text(envelope)?),
        };
        let scene = older::scene(scene);
        let happened = Happened {
            envelope,
            before,
            scene: &scene,
            current: current.as_ref(),
        };
        let mut told = Told::default();
        for connection in to {
            let words = self.older.action(*connection, &happened, &mut told);
            self.tell(*connection, words)?;
        }
        Ok(())
    }

    /// Tells the older ones among some, and leaves the others.
    pub(super) fn notify_older(
        &mut self,
        notification: &HostNotification,
        to: &mut Vec<ConnectionId>,
    ) -> Result<(), StoreError> {
        let older: Vec<_> = to.extract_if(.., |one| self.older.has(*one)).collect();
        let mut told = Told::default();
        for connection in older {
            let words = self
                .older
                .notification(&self.host, connection, notification, &mut told);
            self.tell(connection, words)?;
        }
        Ok(())
    }

    /// Sends what was put into words. If that failed, the client would miss
    /// something: it has to come back and start from where things are.
    pub(super) fn tell(
        &mut self,
        connection: ConnectionId,
        words: Result<Words, TellError>,
    ) -> Result<(), StoreError> {
        match words {
            Ok(words) => {
                for text in words.texts() {
                    let text = Outgoing::Text(text.clone());
                    self.deliveries.send(connection, text)?;
                }
            }
            Err(error) => {
                tracing::error!(connection = connection.0, %error, "a client can't be told");
                let close = Outgoing::Close(Closing::Done);
                self.deliveries.send(connection, close)?;
            }
        }
        Ok(())
    }
}
