//! The rows of a part of a response. A long text has several rows, so that a page can draw the
//! visible ones alone, and a delta changes only the last one.

use std::sync::{Arc, Weak};

use agenthost_protocol::chat::{InputResponseKind, ReasoningPart, ResponsePart};
use agenthost_protocol::ids::TurnId;

use super::Refresh;
use super::cache::is_source;
use super::row::{FormOutcome, RowBody, RowKey, TimelineRow};
use super::tool_call::call_body;
use crate::markdown::{MarkdownBlock, MarkdownDocument};
use crate::request::RequestCard;
use crate::title::{blocks_of, first_line};
use crate::visible_text::visible_order;

/// Maximum number of Markdown blocks in a row of text.
const MAX_TEXT_BLOCKS: usize = 8;

/// Maximum number of Markdown blocks in a row of reasoning, which the page shows folded.
const MAX_REASONING_BLOCKS: usize = 64;

/// The rows of a part, with the part that they were computed from.
#[derive(Debug, Default)]
pub(super) struct PartCache {
    source: Weak<ResponsePart>,
    is_open: bool,
    /// The parsed text while it may grow. Most parts of a long chat have ended, so it is boxed.
    document: Option<Box<MarkdownDocument>>,
    /// Empty if the part has an unknown kind.
    rows: Vec<Arc<TimelineRow>>,
}

/// The place of a part in its chat.
#[derive(Debug, Clone, Copy)]
pub(super) struct PartPlace<'a> {
    pub(super) turn: &'a TurnId,
    pub(super) index: usize,
}

impl PartCache {
    pub(super) fn rows(&self) -> &[Arc<TimelineRow>] {
        &self.rows
    }

    /// Computes the rows if the part changed. Returns `true` if rows were added or removed.
    pub(super) fn refresh(
        &mut self,
        part: &Arc<ResponsePart>,
        is_last_of_active_turn: bool,
        place: PartPlace<'_>,
        refresh: &mut Refresh<'_>,
    ) -> bool {
        let is_open = is_last_of_active_turn && is_streamed(part);
        if is_source(&self.source, part) && self.is_open == is_open {
            return false;
        }
        self.source = Arc::downgrade(part);
        self.is_open = is_open;
        let bodies = self.bodies(part, place.turn, refresh);
        if !is_open {
            self.document = None;
        }
        let before = std::mem::take(&mut self.rows);
        for (index, body) in bodies.into_iter().enumerate() {
            let known = before
                .get(index)
                .filter(|row| is_same_text(&row.body, &body));
            let row = match known {
                Some(row) => Arc::clone(row),
                None => refresh.emit(TimelineRow {
                    key: place.key(index),
                    turn_id: place.turn.clone(),
                    body,
                }),
            };
            self.rows.push(row);
        }
        self.rows.len() != before.len()
    }

    /// Returns the contents of the rows of a part; none for an unknown kind.
    fn bodies(
        &mut self,
        part: &ResponsePart,
        turn: &TurnId,
        refresh: &Refresh<'_>,
    ) -> Vec<RowBody> {
        let body = match part {
            ResponsePart::Markdown(text) => {
                let sections = self.sections(&text.content, MAX_TEXT_BLOCKS);
                let bodies = sections.map(|section| RowBody::Text {
                    blocks: section.blocks,
                    open: section.is_open,
                    continues: section.continues,
                });
                return bodies.collect();
            }
            ResponsePart::Reasoning(reasoning) => {
                let sections = self.sections(&reasoning.content, MAX_REASONING_BLOCKS);
                let mut summary = reasoning_summary(reasoning);
                let bodies = sections.map(|section| RowBody::Reasoning {
                    blocks: section.blocks,
                    open: section.is_open,
                    // Only the first row has the title.
                    summary: std::mem::take(&mut summary),
                });
                return bodies.collect();
            }
            ResponsePart::ToolCall(part) => call_body(&part.tool_call, turn, refresh.context),
            ResponsePart::InputRequest(part) => Some(RowBody::Form {
                card: Box::new(RequestCard::of_input(&refresh.context.scope, &part.request)),
                response: part.response.map(|response| match response {
                    InputResponseKind::Accept => FormOutcome::Accept,
                    InputResponseKind::Decline => FormOutcome::Decline,
                    InputResponseKind::Cancel => FormOutcome::Cancel,
                }),
                answered_by: part.response.and_then(|_| {
                    let id = part.request.id.as_str();
                    refresh.context.answered_forms.get(id).cloned()
                }),
            }),
            ResponsePart::SystemNotification(notice) => Some(RowBody::Notice {
                blocks: blocks_of(&notice.content),
            }),
            ResponsePart::Error(error) => Some(RowBody::Error {
                message: visible_order(&error.error.message),
                resumable: error.resumable == Some(true),
            }),
            ResponsePart::ContentRef(content) => Some(RowBody::Resource {
                uri: content.uri.clone(),
                content_type: content.content_type.clone(),
            }),
            ResponsePart::Unknown(_) => None,
        };
        body.into_iter().collect()
    }

    /// Divides a text into the contents of its rows, of which there is at least one.
    fn sections(
        &mut self,
        text: &str,
        max_blocks: usize,
    ) -> impl Iterator<Item = TextSection> + use<> {
        let document = self.document.get_or_insert_default();
        document.update(text, self.is_open);
        let blocks: Vec<_> = document.blocks().cloned().collect();
        let count = blocks.len().div_ceil(max_blocks).max(1);
        let is_open = self.is_open;
        (0..count).map(move |index| {
            let rest = blocks.iter().skip(index * max_blocks);
            let continues = index + 1 < count;
            TextSection {
                blocks: rest.take(max_blocks).cloned().collect(),
                continues,
                is_open: is_open && !continues,
            }
        })
    }
}

impl PartPlace<'_> {
    /// Returns the key of a row of the part.
    fn key(self, row: usize) -> RowKey {
        let place = match row {
            0 => self.index.to_string(),
            row => format!("{}.{row}", self.index),
        };
        RowKey::new(self.turn, &place)
    }
}

/// The content of one row of a text.
struct TextSection {
    blocks: Vec<Arc<MarkdownBlock>>,
    /// `true` if the next row continues the text.
    continues: bool,
    /// `true` while more text may follow in this row.
    is_open: bool,
}

/// Returns `true` if two rows have the same text, whose blocks are compared by pointer.
fn is_same_text(before: &RowBody, now: &RowBody) -> bool {
    let (before, now) = match (before, now) {
        (
            RowBody::Text {
                blocks: before,
                open: was_open,
                continues: continued,
            },
            RowBody::Text {
                blocks: now,
                open,
                continues,
            },
        ) if was_open == open && continued == continues => (before, now),
        (
            RowBody::Reasoning {
                blocks: before,
                open: was_open,
                summary: old_summary,
            },
            RowBody::Reasoning {
                blocks: now,
                open,
                summary,
            },
        ) if was_open == open && old_summary == summary => (before, now),
        _ => return false,
    };
    let mut pairs = before.iter().zip(now);
    before.len() == now.len() && pairs.all(|(before, now)| Arc::ptr_eq(before, now))
}

/// Returns `true` if the text of the part grows while it is the last one of the response.
fn is_streamed(part: &ResponsePart) -> bool {
    match part {
        ResponsePart::Markdown(_) | ResponsePart::Reasoning(_) => true,
        ResponsePart::ContentRef(_)
        | ResponsePart::ToolCall(_)
        | ResponsePart::SystemNotification(_)
        | ResponsePart::InputRequest(_)
        | ResponsePart::Error(_)
        | ResponsePart::Unknown(_) => false,
    }
}

/// Returns the title of a reasoning part: its first line, without the marks of emphasis.
fn reasoning_summary(reasoning: &ReasoningPart) -> String {
    let line = first_line(&reasoning.content);
    visible_order(line.trim_matches(['*', '#', ' ']))
}
