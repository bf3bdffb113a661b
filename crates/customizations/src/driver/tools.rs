//! Hooks of tools: before a tool is used, and after.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use agenthost_core::customizing::CustomizationEvent;
use agenthost_core::tool_use::{CheckTicket, ToolMoment, ToolUse};
use agenthost_protocol::uri::Uri;
use tokio::sync::Semaphore;
use tokio::task::AbortHandle;

use super::preparing::directory_of;
use super::task::{Done as TaskDone, Task};
use crate::hooks::{OUTPUT, Occasion, ReadyHook, moment_of, run};
use crate::turns::View;

/// How many uses of tools the hooks of a session hear of at a time.
const AT_ONCE: usize = 4;

/// Most uses of tools of a session that hooks have still to hear of. What comes
/// when there are more, they do not hear of.
const WAITING: usize = 64;

/// Most chats of a session that hooks have something to say in. In others, it
/// is not told.
const CHATS: usize = 64;

/// What the hooks of a session have to do with tools.
pub(super) struct ToolHooks {
    /// When they are run, as it was last told.
    moments: BTreeSet<ToolMoment>,
    /// Uses that wait for them.
    checking: BTreeMap<CheckTicket, AbortHandle>,
    /// Uses that they hear of; some are over.
    hearing: Vec<AbortHandle>,
    /// Lets them hear of a few at a time.
    places: Arc<Semaphore>,
    /// What they want the agent to know with the next message, by chat.
    remarks: BTreeMap<Uri, String>,
}

impl Default for ToolHooks {
    fn default() -> Self {
        ToolHooks {
            moments: BTreeSet::new(),
            checking: BTreeMap::new(),
            hearing: Vec::new(),
            places: Arc::new(Semaphore::new(AT_ONCE)),
            remarks: BTreeMap::new(),
        }
    }
}

/// Hooks have looked at a tool that is about to be used.
pub(super) struct Checked {
    session: Uri,
    ticket: CheckTicket,
    verdict: Result<(), String>,
}

/// Hooks have heard of a tool that was used.
pub(super) struct Remarked {
    session: Uri,
    chat: Uri,
    remark: String,
}

impl ToolHooks {
    /// What the agent of a chat should know with its next message.
    pub(super) fn take_remarks(&mut self, chat: &Uri) -> Option<String> {
        self.remarks.remove(chat)
    }

    /// Ends all that runs.
    pub(super) fn end(&mut self) {
        let checking = std::mem::take(&mut self.checking).into_values();
        for running in checking.chain(std::mem::take(&mut self.hearing)) {
            running.abort();
        }
    }

    fn add_remark(&mut self, chat: Uri, remark: &str) {
        if remark.is_empty() || (self.remarks.len() >= CHATS && !self.remarks.contains_key(&chat)) {
            return;
        }
        let said = self.remarks.entry(chat).or_default();
        if !said.is_empty() {
            said.push_str("\n\n");
        }
        let room = OUTPUT.saturating_sub(said.len());
        said.extend(remark.chars().take(room));
    }
}

impl Task {
    /// Tells for which moments a session has hooks that may run, if they are
    /// others than before.
    pub(super) fn tell_tool_hooks(&mut self, session: &Uri, hooks: &[ReadyHook]) {
        let moments = hooks.iter().filter_map(|ready| moment_of(ready.hook.event));
        let moments: BTreeSet<_> = moments.collect();
        if let Some(known) = self.sessions.get_mut(session)
            && known.tools.moments != moments
        {
            known.tools.moments.clone_from(&moments);
            self.tell(session, CustomizationEvent::ToolHooks { moments });
        }
    }

    /// A tool is about to be used.
    pub(super) fn check_tool(&mut self, ticket: CheckTicket, tool: &ToolUse) {
        let session = tool.session.clone();
        let Some((hooks, occasion)) = self.hooks_for(tool) else {
            self.tool_checked(Checked {
                session,
                ticket,
                verdict: Ok(()),
            });
            return;
        };
        let around = self.surroundings();
        let of = session.clone();
        let handle = self.work.spawn(async move {
            let outcome = run(&hooks, &occasion, &around).await;
            TaskDone::Checked(Checked {
                session: of,
                ticket,
                verdict: outcome.refusal.map_or(Ok(()), Err),
            })
        });
        if let Some(known) = self.sessions.get_mut(&session) {
            known.tools.checking.insert(ticket, handle);
        }
    }

    /// Nobody waits for hooks to look at a tool any more.
    pub(super) fn drop_check(&mut self, session: &Uri, ticket: CheckTicket) {
        let known = self.sessions.get_mut(session);
        if let Some(running) = known.and_then(|known| known.tools.checking.remove(&ticket)) {
            running.abort();
        }
    }

    /// Hooks have looked at a tool.
    pub(super) fn tool_checked(&mut self, checked: Checked) {
        if let Some(known) = self.sessions.get_mut(&checked.session) {
            known.tools.checking.remove(&checked.ticket);
        }
        let event = CustomizationEvent::ToolChecked {
            ticket: checked.ticket,
            verdict: checked.verdict,
        };
        self.tell(&checked.session, event);
    }

    /// A tool was used. Hooks hear of it in time.
    pub(super) fn tool_used(&mut self, tool: &ToolUse) {
        let Some((hooks, occasion)) = self.hooks_for(tool) else {
            return;
        };
        let Some(known) = self.sessions.get_mut(&tool.session) else {
            return;
        };
        known.tools.hearing.retain(|running| !running.is_finished());
        if known.tools.hearing.len() >= WAITING {
            tracing::warn!(session = %tool.session, "hooks do not hear of a tool: too many wait");
            return;
        }
        let places = Arc::clone(&known.tools.places);
        let around = self.surroundings();
        let (session, chat) = (tool.session.clone(), tool.chat.clone());
        let handle = self.work.spawn(async move {
            // The places are never closed.
            let place = places.acquire_owned().await;
            let outcome = run(&hooks, &occasion, &around).await;
            drop(place);
            TaskDone::Remarked(Remarked {
                session,
                chat,
                remark: outcome.context,
            })
        });
        if let Some(known) = self.sessions.get_mut(&tool.session) {
            known.tools.hearing.push(handle);
        }
    }

    /// Hooks have something to say to a tool that was used.
    pub(super) fn remarked(&mut self, remarked: Remarked) {
        if let Some(known) = self.sessions.get_mut(&remarked.session) {
            known.tools.add_remark(remarked.chat, &remarked.remark);
        }
    }

    /// The hooks that are about the use of a tool, if there are any.
    fn hooks_for(&mut self, tool: &ToolUse) -> Option<(Vec<ReadyHook>, Occasion)> {
        let view: View = self.view(&tool.session)?;
        let occasion = Occasion::tool(tool, &directory_of(&view));
        let mut hooks = self.ready_hooks(&tool.session, &view);
        hooks.retain(|ready| occasion.concerns(&ready.hook));
        (!hooks.is_empty()).then_some((hooks, occasion))
    }
}
