//! Commands on the chats of a session.

use serde::Deserialize;

/// A command on the chats of a session; the page names it `chat.VARIANT`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
#[expect(missing_docs, reason = "fields are named like those of the protocol")]
pub enum ChatCommand {}
