//! Tests for content that the host stores.

use std::collections::BTreeSet;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::sync::Arc;

use agenthost_core::{ContentAddress, FileRequest, RequestFailure, ResponseBody, SessionKey};
use agenthost_protocol::resource::ContentEncoding;
use agenthost_protocol::rpc::RpcError;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire;
use agenthost_workspace::{
    ChangeTracker, ContentError, ContentStore, FileError, FileService, MAX_FILE_BYTES,
    ResourceService,
};
use serde_json::{Value, json};
use tempfile::TempDir;

fn key(session: &str) -> SessionKey {
    SessionKey::of(&Uri::from(session))
}

fn request<T: wire::Wire>(mut params: Value) -> T {
    params["channel"] = json!("ahp-root://");
    wire::from_str(&params.to_string()).unwrap()
}

/// PRT-4: content is stored once, under its hash, with access for its owner only, and can be read
/// after a restart.
#[test]
fn content_is_stored_once_and_survives_a_restart() {
    let folder = TempDir::new().unwrap();
    let place = folder.path().join("content");
    let contents = ContentStore::open(&place).unwrap();
    let kept = contents.insert(&key("s:/1"), b"hello", "a.txt").unwrap();
    assert_eq!(kept.size_hint, Some(5));
    assert_eq!(kept.content_type.as_deref(), Some("text/plain"));
    let hash = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
    assert_eq!(kept.nonce.as_deref(), Some(hash));
    let path = place.join(key("s:/1").as_str()).join(hash);
    let first = std::fs::metadata(&path).unwrap();
    assert_eq!(first.permissions().mode() & 0o777, 0o600);
    let folder_mode = std::fs::metadata(path.parent().unwrap()).unwrap();
    assert_eq!(folder_mode.permissions().mode() & 0o777, 0o700);
    let again = contents.insert(&key("s:/1"), b"hello", "a.txt").unwrap();
    assert_eq!(again, kept);
    assert_eq!(std::fs::metadata(&path).unwrap().ino(), first.ino());
    assert_eq!(
        std::fs::read_dir(path.parent().unwrap()).unwrap().count(),
        1
    );
    // A file that was truncated by a power failure is written again.
    std::fs::write(&path, "").unwrap();
    contents.insert(&key("s:/1"), b"hello", "a.txt").unwrap();
    drop(contents);

    let contents = ContentStore::open(&place).unwrap();
    let read = contents.read(&kept.uri, None).unwrap();
    assert_eq!(read.data, "hello");
    assert_eq!(read.content_type.as_deref(), Some("text/plain"));
    let read = contents
        .read(&kept.uri, Some(ContentEncoding::Base64))
        .unwrap();
    assert_eq!(read.data, "aGVsbG8=");
    let found = contents.resolve(&kept.uri).unwrap();
    assert_eq!((found.size, found.etag.as_deref()), (Some(5), Some(hash)));
    let large = vec![0; usize::try_from(MAX_FILE_BYTES).unwrap() + 1];
    let refused = contents.insert(&key("s:/1"), &large, "a.txt");
    assert!(matches!(refused, Err(ContentError::TooLarge(_))));
}

/// SEC-2: no URI leads out of the store, or to content that does not exist.
#[test]
fn uris_outside_of_the_store_are_rejected() {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("token"), "secret").unwrap();
    let contents = ContentStore::open(&folder.path().join("content")).unwrap();
    let kept = contents.insert(&key("s:/1"), b"hello", "a.txt").unwrap();
    let (key_1, hash) = (key("s:/1").as_str().to_owned(), "0".repeat(64));
    for address in [
        format!("/../token/{hash}/a"),
        format!("/{key_1}/../../token"),
        format!("/{key_1}/{hash}/../../../token"),
        format!("/{key_1}/%2e%2e/token"),
        "/token".to_owned(),
    ] {
        let uri = Uri::from(format!("agenthost-content:{address}"));
        let refused = contents.read(&uri, None);
        assert!(matches!(refused, Err(FileError::Invalid(_))), "{uri}");
    }
    // The same content in another session, and other content.
    let other = ContentAddress::of(&key("s:/2"), b"hello", "a.txt").uri();
    let unknown = ContentAddress::of(&key("s:/1"), b"other", "a.txt").uri();
    for uri in [other, unknown] {
        let refused = contents.read(&uri, None);
        assert_eq!(refused, Err(FileError::NotFound(uri)));
    }
    // A symbolic link in the store is not followed.
    let planted = ContentAddress::of(&key("s:/1"), b"planted", "a.txt");
    let place = folder.path().join("content").join(&key_1);
    symlink(folder.path().join("token"), place.join(planted.hash())).unwrap();
    assert!(contents.read(&planted.uri(), None).is_err());
    assert!(contents.read(&kept.uri, None).is_ok());
}

#[test]
fn removing_a_session_removes_its_content() {
    let folder = TempDir::new().unwrap();
    let contents = ContentStore::open(folder.path()).unwrap();
    let mut kept = Vec::new();
    for session in ["s:/1", "s:/2", "s:/3"] {
        kept.push(
            contents
                .insert(&key(session), b"hello", "a.txt")
                .unwrap()
                .uri,
        );
    }
    contents.remove_session(&key("s:/1")).unwrap();
    contents.remove_session(&key("s:/1")).unwrap();
    let read = |uri: &Uri| contents.read(uri, None).is_ok();
    assert_eq!(
        kept.iter().map(read).collect::<Vec<_>>(),
        [false, true, true]
    );
    // Files that do not belong to the store are not removed.
    std::fs::write(folder.path().join("note"), "mine").unwrap();
    contents
        .retain_sessions(&BTreeSet::from([key("s:/2")]))
        .unwrap();
    assert_eq!(
        kept.iter().map(read).collect::<Vec<_>>(),
        [false, true, false]
    );
    assert!(folder.path().join("note").exists());
}

/// RES-15, MOV-9: a moved chat keeps the content that it refers to, also when it moves again and
/// its earlier sessions are removed.
#[test]
fn content_shared_with_a_moved_chat_survives() {
    let folder = TempDir::new().unwrap();
    let contents = ContentStore::open(folder.path()).unwrap();
    let uri = contents
        .insert(&key("s:/1"), b"hello", "a.txt")
        .unwrap()
        .uri;
    let there = |contents: &ContentStore| contents.read(&uri, None).is_ok();
    contents.share(&key("s:/1"), &key("s:/2")).unwrap();
    contents.share(&key("s:/2"), &key("s:/3")).unwrap();
    contents.remove_session(&key("s:/2")).unwrap();
    contents.remove_session(&key("s:/1")).unwrap();
    assert!(there(&contents));
    // Another session with the same URI is created and removed.
    contents.insert(&key("s:/1"), b"new", "a.txt").unwrap();
    contents.remove_session(&key("s:/1")).unwrap();
    let known = BTreeSet::from([key("s:/3")]);
    contents.retain_sessions(&known).unwrap();
    assert!(there(&contents));
    contents.insert(&key("s:/1"), b"new", "a.txt").unwrap();
    contents.remove_session(&key("s:/3")).unwrap();
    assert!(there(&contents), "the new one is still there");
    contents.remove_session(&key("s:/1")).unwrap();
    assert!(!there(&contents));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// RES-15: stored content can be read and resolved like a file, and is otherwise read-only.
#[test]
fn content_is_read_only() {
    let folder = TempDir::new().unwrap();
    let contents = Arc::new(ContentStore::open(folder.path()).unwrap());
    let uri = contents
        .insert(&key("s:/1"), b"hello", "a.txt")
        .unwrap()
        .uri;
    let tracker = Arc::new(ChangeTracker::new(folder.path().join("changes")));
    let files = ResourceService::new(FileService::default(), contents, tracker);
    let read = FileRequest::Read(request(json!({"uri": uri})));
    assert!(matches!(
        files.execute(&[], &read),
        Ok(ResponseBody::ResourceRead(_))
    ));
    let resolve = FileRequest::Resolve(request(json!({"uri": uri})));
    assert!(matches!(
        files.execute(&[], &resolve),
        Ok(ResponseBody::ResourceResolve(_))
    ));
    let file = "file:///tmp/x";
    let refused = [
        FileRequest::Write(request(
            json!({"uri": uri, "data": "", "encoding": "utf-8"}),
        )),
        FileRequest::List(request(json!({"uri": uri}))),
        FileRequest::Delete(request(json!({"uri": uri}))),
        FileRequest::MakeDirectory(request(json!({"uri": uri}))),
        FileRequest::Copy(request(json!({"source": uri, "destination": file}))),
        FileRequest::Copy(request(json!({"source": file, "destination": uri}))),
        FileRequest::Move(request(json!({"source": uri, "destination": file}))),
        FileRequest::Move(request(json!({"source": file, "destination": uri}))),
    ];
    for request in refused {
        let failure = files.execute(&[], &request).unwrap_err();
        assert_eq!(
            failure,
            RequestFailure::ImmutableContent(uri.clone()),
            "{request:?}"
        );
        assert_eq!(RpcError::from(failure).code.number(), -32009);
    }
    let gone = ContentAddress::of(&key("s:/1"), b"gone", "a.txt").uri();
    let read = FileRequest::Read(request(json!({"uri": gone})));
    let failure = files.execute(&[], &read).unwrap_err();
    assert_eq!(RpcError::from(failure).code.number(), -32008);
}

/// A file that lost its end, for example in a power failure, is replaced, and counts once.
#[test]
fn content_that_is_replaced_counts_once() {
    let folder = TempDir::new().unwrap();
    let contents = ContentStore::open_with_limit(folder.path(), 10).unwrap();
    let session = key("s:/1");
    contents.insert(&session, b"123456", "a.txt").unwrap();
    for entry in folder.path().join(session.as_str()).read_dir().unwrap() {
        std::fs::write(entry.unwrap().path(), "123").unwrap();
    }
    let contents = ContentStore::open_with_limit(folder.path(), 10).unwrap();
    contents.insert(&session, b"123456", "a.txt").unwrap();
    contents.insert(&session, b"1234", "a.txt").unwrap();
    assert!(contents.insert(&session, b"1", "a.txt").is_err());
}

/// A session can't store more than its limit. The limits of sessions are independent, and content
/// that is stored again does not count.
#[test]
fn the_stored_content_of_a_session_is_limited() {
    let folder = TempDir::new().unwrap();
    let contents = ContentStore::open_with_limit(folder.path(), 10).unwrap();
    let put = |contents: &ContentStore, session: &str, bytes: &[u8]| {
        let put = contents.insert(&key(session), bytes, "a.txt");
        put.map(drop).map_err(|error| error.to_string())
    };
    let full = "the stored content of a session may have at most 10 bytes".to_owned();
    assert_eq!(put(&contents, "s:/1", b"12345"), Ok(()));
    assert_eq!(put(&contents, "s:/1", b"12345"), Ok(()));
    assert_eq!(put(&contents, "s:/1", b"123456"), Err(full.clone()));
    assert_eq!(put(&contents, "s:/1", b"54321"), Ok(()));
    assert_eq!(put(&contents, "s:/1", b"1"), Err(full.clone()));
    assert_eq!(put(&contents, "s:/2", b"1"), Ok(()));
    // Content from before a restart counts, too.
    let again = ContentStore::open_with_limit(folder.path(), 10).unwrap();
    assert_eq!(put(&again, "s:/1", b"1"), Err(full));
    again.remove_session(&key("s:/1")).unwrap();
    assert_eq!(put(&again, "s:/1", b"1234567890"), Ok(()));
}
