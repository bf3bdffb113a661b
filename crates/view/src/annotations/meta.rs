//! Fields of annotations and entries in `_meta`.

use agenthost_protocol::annotations::{Annotation, AnnotationEntry};
use agenthost_protocol::common::Meta;
use agenthost_protocol::timestamp::Timestamp;
use agenthost_protocol::wire::{Json, Object};

use crate::diff::TextSide;

/// `before` or `after`: the text of the diff that has the lines.
const SIDE_META_KEY: &str = "agenthost.side";

/// The code of the lines.
const QUOTE_META_KEY: &str = "agenthost.quote";

/// An object with `clientId` and `name`.
const AUTHOR_META_KEY: &str = "agenthost.author";

/// The time at which a comment was written.
const TIME_META_KEY: &str = "agenthost.at";

/// `true` if the text of a comment was changed.
const EDITED_META_KEY: &str = "agenthost.edited";

/// The client that has written a comment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommentAuthor {
    /// Id of the client.
    pub client_id: String,
    /// Name of the client's device.
    pub name: String,
}

/// Returns the `_meta` of an annotation on lines of a diff.
pub fn annotation_meta(side: TextSide, quote: &str) -> Meta {
    let side = match side {
        TextSide::Before => "before",
        TextSide::After => "after",
    };
    let mut meta = Meta::default();
    meta.insert(SIDE_META_KEY.to_owned(), Json::from(side));
    meta.insert(QUOTE_META_KEY.to_owned(), Json::from(quote));
    meta
}

/// Returns the `_meta` of a comment. `before` is that of the comment whose text it replaces.
pub fn entry_meta(
    author: &CommentAuthor,
    at: &Timestamp,
    before: Option<&AnnotationEntry>,
) -> Meta {
    if let Some(before) = before {
        let mut meta = before.meta.clone().unwrap_or_default();
        meta.insert(EDITED_META_KEY.to_owned(), Json::Bool(true));
        return meta;
    }
    let mut fields = Object::new();
    let client_id = Json::from(author.client_id.as_str());
    fields.insert("clientId".to_owned(), client_id);
    fields.insert("name".to_owned(), Json::from(author.name.as_str()));
    let mut meta = Meta::default();
    meta.insert(AUTHOR_META_KEY.to_owned(), Json::Object(fields));
    meta.insert(TIME_META_KEY.to_owned(), Json::from(at.as_str()));
    meta
}

/// Returns the text of the diff that has the lines. Files of other clients are the present ones.
pub(super) fn side_of(annotation: &Annotation) -> TextSide {
    let side = annotation
        .meta
        .as_ref()
        .and_then(|meta| meta.get(SIDE_META_KEY));
    match side.and_then(Json::as_str) {
        Some("before") => TextSide::Before,
        Some(_) | None => TextSide::After,
    }
}

pub(super) fn quote_of(annotation: &Annotation) -> Option<&str> {
    annotation.meta.as_ref()?.get(QUOTE_META_KEY)?.as_str()
}

pub(super) fn author_of(entry: &AnnotationEntry) -> Option<CommentAuthor> {
    let author = entry.meta.as_ref()?.get(AUTHOR_META_KEY)?;
    let field = |name| author.get(name).and_then(Json::as_str).map(str::to_owned);
    Some(CommentAuthor {
        client_id: field("clientId").unwrap_or_default(),
        name: field("name")?,
    })
}

/// Returns the time of a comment in the form of the host, unless it is malformed.
pub(super) fn time_of(entry: &AnnotationEntry) -> Option<Timestamp> {
    let time = entry.meta.as_ref()?.get(TIME_META_KEY)?.as_str()?;
    let time: Timestamp = time.into();
    time.to_millis().ok().map(Timestamp::from_millis)
}

pub(super) fn is_edited(entry: &AnnotationEntry) -> bool {
    let meta = entry.meta.as_ref();
    meta.and_then(|meta| meta.get(EDITED_META_KEY)) == Some(&Json::Bool(true))
}
