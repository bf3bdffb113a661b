//! What a session has used up so far, and each of its chats.
//!
//! The protocol counts by turn. The totals are in the `_meta` of the session,
//! under a name of ours, and count what was used: cutting turns off, ending a
//! chat or moving it away does not make it unused.

use agenthost_protocol::common::{Meta, UsageInfo};
use agenthost_protocol::session::{MetaChanged, SessionAction};
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::{Json, Object};

use crate::host::Host;
use crate::host::effect::Effects;

/// Where the totals are.
const USAGE_META_KEY: &str = "agenthost.usage";

/// Where the totals by chat are, among them.
const CHATS_KEY: &str = "chats";

impl Host {
    /// What the running turn of a chat has used so far.
    pub(crate) fn usage_of_turn(&self, chat: &Uri) -> Option<UsageInfo> {
        self.chat(chat)?.active_turn.as_ref()?.usage.clone()
    }

    /// Forgets the part of a chat that is gone; what it used stays used.
    pub(crate) fn drop_chat_usage(&mut self, session: &Uri, chat: &Uri, out: &mut Effects) {
        let Some(mut meta) = self.session(session).and_then(|state| state.meta.clone()) else {
            return;
        };
        let totals = meta
            .get_mut(USAGE_META_KEY)
            .and_then(|totals| totals.get_mut(CHATS_KEY));
        let chats = totals.and_then(Json::as_object_mut);
        if chats.is_some_and(|chats| chats.remove(chat.as_str()).is_some()) {
            let changed = SessionAction::MetaChanged(MetaChanged { meta: Some(meta) });
            self.originate(session, changed, out);
        }
    }

    /// Counts what a turn has used since it was last looked at.
    pub(crate) fn add_turn_usage(
        &mut self,
        chat: &Uri,
        before: Option<UsageInfo>,
        out: &mut Effects,
    ) {
        let Some(session) = self.session_of(chat).cloned() else {
            return;
        };
        let (Some(after), Some(state)) = (self.usage_of_turn(chat), self.session(&session)) else {
            return;
        };
        let mut meta = state.meta.clone().unwrap_or_default();
        let mut totals = into_object(meta.remove(USAGE_META_KEY));
        let mut chats = into_object(totals.remove(CHATS_KEY));
        let mut of_chat = into_object(chats.remove(chat.as_str()));
        for counts in [&mut totals, &mut of_chat] {
            add_usage_delta(counts, before.as_ref(), &after);
        }
        chats.insert(chat.to_string(), Json::Object(of_chat));
        totals.insert(CHATS_KEY.to_owned(), Json::Object(chats));
        meta.insert(USAGE_META_KEY.to_owned(), Json::Object(totals));
        let meta: Option<Meta> = Some(meta);
        if self
            .session(&session)
            .is_some_and(|state| state.meta != meta)
        {
            let changed = SessionAction::MetaChanged(MetaChanged { meta });
            self.originate(&session, changed, out);
        }
    }
}

/// Adds what is new. An agent that corrects itself downwards is believed.
fn add_usage_delta(totals: &mut Object, before: Option<&UsageInfo>, after: &UsageInfo) {
    let counted = before.map_or([None; 3], usage_counters);
    for ((name, counted), now) in COUNTER_NAMES
        .into_iter()
        .zip(counted)
        .zip(usage_counters(after))
    {
        let counted = counted.unwrap_or(0);
        let total = totals.get(name).and_then(Json::as_u64).unwrap_or(0);
        let total = total.saturating_sub(counted);
        let total = total.saturating_add(now.unwrap_or(0));
        totals.insert(name.to_owned(), Json::from(total));
    }
}

const COUNTER_NAMES: [&str; 3] = ["inputTokens", "outputTokens", "cacheReadTokens"];

fn usage_counters(usage: &UsageInfo) -> [Option<u64>; 3] {
    [
        usage.input_tokens,
        usage.output_tokens,
        usage.cache_read_tokens,
    ]
}

fn into_object(json: Option<Json>) -> Object {
    match json {
        Some(Json::Object(object)) => object,
        _ => Object::new(),
    }
}
