//! The files of the page, as responses.

use std::collections::BTreeMap;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;

use crate::page::headers::content_security_policy;
use crate::page::{HttpState, PageAsset};

/// Path of the page itself.
const INDEX_PATH: &str = "index.html";

/// The text in the page that stands for the nonce.
const NONCE_PLACEHOLDER: &str = "__NONCE__";

/// Files may be stored by the browser, but it has to ask if they have changed.
const CACHE_CONTROL: HeaderValue = HeaderValue::from_static("no-cache");

/// The files of the page, by path.
#[derive(Debug, Default)]
pub(crate) struct PageFiles {
    index: Option<String>,
    files: BTreeMap<String, PageFile>,
}

#[derive(Debug)]
struct PageFile {
    content_type: HeaderValue,
    body: Bytes,
    gzip: Option<Bytes>,
    etag: String,
}

/// The encoding of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ContentEncoding {
    Identity,
    Gzip,
}

impl PageFiles {
    /// Prepares the files. Without assets, the host has no page.
    pub(crate) fn new(assets: impl IntoIterator<Item = PageAsset>) -> Self {
        let mut page = PageFiles::default();
        for asset in assets {
            if asset.path == INDEX_PATH {
                page.index = Some(String::from_utf8_lossy(&asset.body).into_owned());
                continue;
            }
            let content_type = HeaderValue::try_from(asset.content_type.as_ref());
            let binary = HeaderValue::from_static("application/octet-stream");
            let file = PageFile {
                content_type: content_type.unwrap_or(binary),
                body: into_bytes(asset.body),
                gzip: asset.gzip.map(into_bytes),
                etag: asset.etag.into_owned(),
            };
            page.files.insert(format!("/{}", asset.path), file);
        }
        page
    }

    /// Returns `true` if the host has a page.
    pub(crate) fn has_index(&self) -> bool {
        self.index.is_some()
    }

    /// Returns `true` if a request is for the page itself, not for a WebSocket.
    pub(crate) fn is_index_request(&self, method: &Method, headers: &HeaderMap) -> bool {
        let reads = *method == Method::GET || *method == Method::HEAD;
        reads && self.has_index() && !headers.contains_key(header::UPGRADE)
    }
}

/// Responds with the page. The cookie of a device is set again if it is a day old.
pub(crate) async fn serve_index(state: &HttpState, headers: &HeaderMap) -> Response {
    if let Err(rejection) = state.guard.check_request(headers) {
        return state.refuse(rejection);
    }
    let Some(index) = &state.files.index else {
        return not_found();
    };
    let mut bytes = [0; 16];
    if let Err(error) = getrandom::fill(&mut bytes) {
        tracing::error!(%error, "failed to create a nonce");
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    }
    let nonce = STANDARD_NO_PAD.encode(bytes);
    let page = index.replace(NONCE_PLACEHOLDER, &nonce);
    let mut response = Response::new(Body::from(page));
    let fields = response.headers_mut();
    let html = HeaderValue::from_static("text/html; charset=utf-8");
    fields.insert(header::CONTENT_TYPE, html);
    fields.insert(header::CACHE_CONTROL, CACHE_CONTROL);
    if let Ok(policy) = HeaderValue::try_from(content_security_policy(Some(&nonce))) {
        fields.insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    state.renew_cookie(headers, &mut response).await;
    response
}

/// Responds with a file of the page.
pub(crate) async fn serve_file(
    State(state): State<HttpState>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    if let Err(rejection) = state.guard.check_request(&headers) {
        return state.refuse(rejection);
    }
    if method != Method::GET && method != Method::HEAD {
        return not_found();
    }
    if uri.path().strip_prefix('/') == Some(INDEX_PATH) {
        return serve_index(&state, &headers).await;
    }
    match state.files.files.get(uri.path()) {
        Some(file) => file.respond(&headers),
        None => not_found(),
    }
}

impl PageFile {
    fn respond(&self, request: &HeaderMap) -> Response {
        let (encoding, body) = match &self.gzip {
            Some(gzip) if accepts_gzip(request) => (ContentEncoding::Gzip, gzip),
            _ => (ContentEncoding::Identity, &self.body),
        };
        let etag = match encoding {
            ContentEncoding::Identity => format!("\"{}\"", self.etag),
            ContentEncoding::Gzip => format!("\"{}-gzip\"", self.etag),
        };
        let mut response = if has_etag(request, &etag) {
            StatusCode::NOT_MODIFIED.into_response()
        } else {
            let mut response = Response::new(Body::from(body.clone()));
            let fields = response.headers_mut();
            fields.insert(header::CONTENT_TYPE, self.content_type.clone());
            if encoding == ContentEncoding::Gzip {
                let gzip = HeaderValue::from_static("gzip");
                fields.insert(header::CONTENT_ENCODING, gzip);
            }
            response
        };
        let fields = response.headers_mut();
        fields.insert(header::CACHE_CONTROL, CACHE_CONTROL);
        fields.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
        if let Ok(etag) = HeaderValue::try_from(etag) {
            fields.insert(header::ETAG, etag);
        }
        response
    }
}

pub(crate) fn not_found() -> Response {
    (StatusCode::NOT_FOUND, "there is no such page\n").into_response()
}

/// Returns `true` if the client accepts a response in gzip format.
fn accepts_gzip(headers: &HeaderMap) -> bool {
    let accepted = list_items(headers, header::ACCEPT_ENCODING);
    let mut accepted = accepted.map(|item| {
        let (name, weight) = item.split_once(';').unwrap_or((item, ""));
        (name.trim(), weight.replace(' ', ""))
    });
    accepted.any(|(name, weight)| {
        let refused = weight
            .strip_prefix("q=0")
            .is_some_and(|rest| rest.trim_matches(['.', '0']).is_empty());
        name.eq_ignore_ascii_case("gzip") && !refused
    })
}

/// Returns `true` if the client has stored the response with this entity tag.
fn has_etag(headers: &HeaderMap, etag: &str) -> bool {
    list_items(headers, header::IF_NONE_MATCH)
        .any(|item| item == "*" || item.strip_prefix("W/").unwrap_or(item) == etag)
}

fn list_items(headers: &HeaderMap, name: header::HeaderName) -> impl Iterator<Item = &str> {
    let values = headers.get_all(name).into_iter();
    let values = values.filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).map(str::trim)
}

fn into_bytes(data: std::borrow::Cow<'static, [u8]>) -> Bytes {
    match data {
        std::borrow::Cow::Borrowed(data) => Bytes::from_static(data),
        std::borrow::Cow::Owned(data) => Bytes::from(data),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(name: header::HeaderName, value: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(name, HeaderValue::from_static(value))])
    }

    #[test]
    fn gzip_is_sent_only_if_it_is_accepted() {
        for accepted in ["gzip", "br, GZIP;q=0.5", "gzip; q=1.0", "gzip;q=0.001"] {
            let headers = with(header::ACCEPT_ENCODING, accepted);
            assert!(accepts_gzip(&headers), "{accepted}");
        }
        for refused in ["", "br", "gzip;q=0", "gzip; q=0.000", "x-gzip"] {
            let headers = with(header::ACCEPT_ENCODING, refused);
            assert!(!accepts_gzip(&headers), "{refused}");
        }
        assert!(!accepts_gzip(&HeaderMap::new()));
    }

    #[test]
    fn a_cached_file_is_recognized_by_its_etag() {
        for stored in ["\"a\"", "\"b\", \"a\"", "W/\"a\"", "*"] {
            let headers = with(header::IF_NONE_MATCH, stored);
            assert!(has_etag(&headers, "\"a\""), "{stored}");
        }
        let headers = with(header::IF_NONE_MATCH, "\"b\", a");
        assert!(!has_etag(&headers, "\"a\""));
    }
}
