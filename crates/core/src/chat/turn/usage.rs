//! Counts the token usage of sessions and their chats.
//!
//! The protocol counts by turn. The totals are in the `_meta` of the session, under a key
//! of this host. They count all usage: truncating, removing or moving a chat does not
//! reduce them.

use agenthost_protocol::common::{Meta, UsageInfo};
use agenthost_protocol::session::{MetaChanged, SessionAction};
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::{Json, Object};

use crate::host::Host;
use crate::host::effect::Effects;

/// The `_meta` key of the totals.
const USAGE_META_KEY: &str = "agenthost.usage";

/// The key of the totals by chat, inside of the totals.
const CHATS_KEY: &str = "chats";

impl Host {
    /// Returns the usage of a chat's active turn so far.
    pub(crate) fn usage_of_turn(&self, chat: &Uri) -> Option<UsageInfo> {
        self.chat(chat)?.active_turn.as_ref()?.usage.clone()
    }

    /// Removes the entry of a removed chat. The total of the session still includes its
    /// usage.
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

    /// Adds the usage of the active turn since `before` to the totals.
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

/// Adds the difference of two reports to the totals. If an agent corrects a count downwards, the
/// totals follow.
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
