//! One server: how it comes to run, what is done while it does, how it ends.

use std::sync::Arc;

use agenthost_core::tool_servers::ToolEvent;
use agenthost_protocol::common::{ErrorInfo, McpAuthReason, McpAuthRequirement};
use agenthost_protocol::ids::CustomizationId;
use agenthost_protocol::uri::Uri;
use rmcp::service::{RoleClient, RunningService, serve_client};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use tokio::io::BufReader;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::challenge::Challenge;
use super::http::{Bearer, Http};
use super::lines::{Ending, Lines};
use super::link::{Ears, Link, LinkError};
use super::metadata::{Shown, requirement};
use super::origin::web_address;
use super::process::Process;
use super::room::{Door, Room, Standing};
use super::servers::{FAILED, Shared};
use super::spec::{McpSpec, McpWay};
use super::tools::{self, NotListed};
use super::trouble::{ELSEWHERE, PROGRAM, Stuck, doubted, named, not_begun, not_listed};

/// What is wanted of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wish {
    /// That it runs.
    Run,
    /// That it stops, and says so.
    Stop,
    /// That it ends, without a word.
    Leave,
}

/// Runs a server.
pub(super) struct Runner {
    shared: Arc<Shared>,
    room: Arc<Room>,
    server: CustomizationId,
    spec: McpSpec,
    wish: watch::Receiver<Wish>,
    process: Option<Process>,
    /// How what it says ends.
    ending: Ending,
    door: Option<Door>,
    /// What a token is needed for, once the server has said so.
    requirement: Option<McpAuthRequirement>,
    /// The number of the token that is shown.
    shown: u64,
    /// What is wrong with what it lists, as it was told.
    complaint: Option<String>,
}

/// Tells the host about one server.
pub(super) struct Teller {
    shared: Arc<Shared>,
    session: Uri,
    server: CustomizationId,
}

type Service = RunningService<RoleClient, Ears>;

impl Teller {
    /// Tells something.
    pub(super) async fn tell(&self, event: ToolEvent) {
        self.shared.tell(&self.session, event).await;
    }

    /// Tells that the server has stopped.
    pub(super) async fn stopped(&self) {
        let server = self.server.clone();
        self.tell(ToolEvent::Stopped { server }).await;
    }
}

impl Runner {
    /// A server that does not run yet.
    pub(super) fn new(
        shared: Arc<Shared>,
        room: Arc<Room>,
        server: CustomizationId,
        spec: McpSpec,
        wish: watch::Receiver<Wish>,
    ) -> Self {
        Runner {
            shared,
            room,
            server,
            spec,
            wish,
            process: None,
            ending: Ending::default(),
            door: None,
            requirement: None,
            shown: 0,
            complaint: None,
        }
    }

    /// Tells about this server.
    pub(super) fn teller(&self) -> Teller {
        Teller {
            shared: Arc::clone(&self.shared),
            session: self.room.session.clone(),
            server: self.server.clone(),
        }
    }

    /// Runs it until it is not wanted any more, or fails. What is returned is
    /// to be told when nothing of it is left.
    pub(super) async fn run(mut self) -> Option<ToolEvent> {
        let mut wish = self.wish.clone();
        let stopping = self.shared.stopping.clone();
        let failed = tokio::select! {
            biased;
            () = stopping.cancelled() => None,
            // The sender is gone only together with the wish.
            _ = wish.wait_for(|wish| *wish != Wish::Run) => None,
            failed = self.live() => Some(failed),
        };
        self.room.leave(&self.server);
        let complaints = match self.process.take() {
            Some(process) => process.end().await,
            None => String::new(),
        };
        self.room.until_told().await;
        let mut message = failed?;
        if self.ending.was_too_long() {
            message = "it said more than 16 MiB at once".to_owned();
        }
        if !complaints.is_empty() {
            message = format!("{message}\n{complaints}");
        }
        let server = self.server.clone();
        let error = ErrorInfo::new(FAILED, message);
        Some(ToolEvent::Failed { server, error })
    }

    /// Lives, until it can't. Says why.
    async fn live(&mut self) -> String {
        loop {
            let stuck = match self.connect().await {
                Ok((service, ears)) => self.serve(service, ears).await,
                Err(stuck) => stuck,
            };
            self.room.leave(&self.server);
            match stuck {
                Stuck::Failed(why) => return why,
                Stuck::Challenged(challenge) => {
                    if let Err(why) = self.meet(&challenge).await {
                        return why;
                    }
                }
                Stuck::TokenLost => self.wait_for_token().await,
            }
        }
    }

    async fn connect(&mut self) -> Result<(Service, Ears), Stuck> {
        let session = self.room.session.clone();
        let ears = Ears::new(session, self.server.clone(), self.shared.events.clone());
        let failed = |why: &dyn std::fmt::Display| Stuck::Failed(why.to_string());
        let within = self.shared.config.start_within;
        let begun = match &self.spec.way {
            way @ McpWay::Program { .. } => {
                let notes = self.shared.config.notes.as_deref();
                let (process, pipes) =
                    Process::spawn(way, notes).map_err(|error| failed(&error))?;
                self.process = Some(process);
                let ending = self.ending.clone();
                let lines = Lines::new(BufReader::new(pipes.stdout), pipes.stdin, ending);
                let serving = serve_client(ears.clone(), lines);
                tokio::time::timeout(within, serving).await
            }
            McpWay::Http { url, headers } => {
                let Some(address) = web_address(url) else {
                    return Err(failed(&"its address is not one of the web"));
                };
                let headers = named(headers)
                    .map_err(|name| failed(&format!("the header `{name}` can't be sent")))?;
                let door = self.door.get_or_insert_with(|| Door {
                    url: address,
                    bearer: Bearer::default(),
                });
                let http = Http {
                    client: self.shared.client.clone(),
                    bearer: door.bearer.clone(),
                    doubt: ears.doubts(),
                };
                let config = StreamableHttpClientTransportConfig::with_uri(url.as_str())
                    .custom_headers(headers);
                let transport = StreamableHttpClientTransport::with_client(http, config);
                let serving = serve_client(ears.clone(), transport);
                tokio::time::timeout(within, serving).await
            }
        };
        match begun {
            Ok(Ok(service)) => Ok((service, ears)),
            Ok(Err(error)) => Err(not_begun(&error)),
            Err(_) => {
                let seconds = within.as_secs();
                Err(failed(&format!("it was not ready within {seconds} s")))
            }
        }
    }

    /// Is there for others, until something happens.
    async fn serve(&mut self, service: Service, ears: Ears) -> Stuck {
        let link = Link::new(service.peer().clone(), &ears);
        let mut closed = std::pin::pin!(service.waiting());
        let forever = CancellationToken::new();
        let capabilities = link.capabilities();
        let mut standing = Standing {
            name: self.spec.name.clone(),
            link: link.clone(),
            forwards: Arc::default(),
            door: self.door.clone(),
            tools: Vec::new(),
        };
        let listed = tokio::select! {
            listed = tools::list(&link, &forever) => match listed {
                Ok(listed) => listed,
                Err(NotListed::Link(LinkError::Challenged(challenge))) => {
                    return Stuck::Challenged(challenge);
                }
                Err(error) => return Stuck::Failed(not_listed(&error)),
            },
            _ = &mut closed => return Stuck::Failed("it has ended".to_owned()),
        };
        standing.tools = listed.tools;
        self.room.enter(&self.server, standing.clone());
        self.room.until_told().await;
        let ready = ToolEvent::Ready {
            server: self.server.clone(),
            apps: tools::apps(&capabilities),
        };
        self.teller().tell(ready).await;
        // What was told of it before it was ready counts no more.
        self.complaint = None;
        self.complain(listed.complaint).await;
        let pauses = match self.door {
            Some(_) => ELSEWHERE,
            None => PROGRAM,
        };
        let mut tokens = self.shared.tokens.changes();
        // The token may have gone meanwhile.
        tokens.mark_changed();
        loop {
            tokio::select! {
                _ = &mut closed => return Stuck::Failed("it has ended".to_owned()),
                () = ears.tools_changed() => match tools::list(&link, &forever).await {
                    Ok(listed) => {
                        standing.tools = listed.tools;
                        self.room.enter(&self.server, standing.clone());
                        self.complain(listed.complaint).await;
                    }
                    // It has what it had before.
                    Err(error) => self.complain(Some(not_listed(&error))).await,
                },
                () = ears.doubt() => {
                    if let Some(stuck) = doubted(&link, pauses, &forever).await {
                        return stuck;
                    }
                }
                _ = tokens.changed() => {
                    if self.show_ours() == Ours::Gone {
                        return Stuck::TokenLost;
                    }
                }
            }
        }
    }

    /// Says what is wrong with what it lists, if that is something else than
    /// before.
    async fn complain(&mut self, about: Option<String>) {
        if self.complaint != about {
            self.complaint.clone_from(&about);
            let server = self.server.clone();
            let complaint = ToolEvent::Complaint { server, about };
            self.teller().tell(complaint).await;
        }
    }

    /// Finds out what a token is needed for, and waits for one.
    async fn meet(&mut self, challenge: &Challenge) -> Result<(), String> {
        let Some(door) = self.door.clone() else {
            return Err("it wants a token, but can't be given one".to_owned());
        };
        let shown = match self.shown {
            0 => Shown::Nothing,
            _ => Shown::Token,
        };
        let needed = requirement(&self.shared.client, &door.url, challenge, shown).await;
        let session = &self.room.session;
        let tokens = &self.shared.tokens;
        let ours = tokens.of(session, &needed.resource.resource);
        let refused = self.shown;
        self.requirement = Some(needed);
        match ours {
            // There is one that it has not seen yet.
            Some(given) if given.number != refused => {
                self.show_ours();
            }
            Some(_) | None => self.tell_and_wait().await,
        }
        Ok(())
    }

    /// The token that the server took is gone: it needs another one.
    async fn wait_for_token(&mut self) {
        if let Some(needed) = &mut self.requirement {
            needed.reason = McpAuthReason::Expired;
        }
        self.tell_and_wait().await;
    }

    async fn tell_and_wait(&mut self) {
        let Some(needed) = self.requirement.clone() else {
            return;
        };
        let resource = needed.resource.resource.clone();
        let wanted = ToolEvent::AuthRequired {
            server: self.server.clone(),
            requirement: Box::new(needed),
        };
        self.teller().tell(wanted).await;
        let tokens = &self.shared.tokens;
        tokens
            .other_than(&self.room.session, &resource, self.shown)
            .await;
        self.show_ours();
    }

    /// Shows the token that is the session's now, if the server needs any.
    fn show_ours(&mut self) -> Ours {
        let (Some(needed), Some(door)) = (&self.requirement, &self.door) else {
            return Ours::NotNeeded;
        };
        let tokens = &self.shared.tokens;
        match tokens.of(&self.room.session, &needed.resource.resource) {
            Some(given) => {
                self.shown = given.number;
                door.bearer.show(Some(given));
                Ours::Shown
            }
            None => {
                door.bearer.show(None);
                Ours::Gone
            }
        }
    }
}

/// What became of the token that a server needs.
#[derive(Debug, PartialEq, Eq)]
enum Ours {
    NotNeeded,
    Shown,
    Gone,
}
