//! Packages that clients bring.

use std::collections::BTreeMap;
use std::sync::Arc;

use agenthost_core::ClientReadError;
use agenthost_core::customization::driver::{
    ClientPlugin, CustomizationCommand, CustomizationEvent, ResourceQuery, ResourceReply,
};
use agenthost_customizations::CustomizationSettings;
use agenthost_protocol::ids::{ClientId, CustomizationId};
use agenthost_protocol::resource::{
    ContentEncoding, DirectoryEntry, ResourceListResult, ResourceReadResult,
};
use agenthost_protocol::session::{
    ClientPluginCustomization, ContainerBase, CustomizationBase, PluginCustomization,
};
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::Standalone;

use crate::host::{Host, session, turn, workspace};
use crate::render;

const ROOT: &str = "virtual://client/skills";

fn plugin(id: &str, uri: &str, nonce: Option<&str>) -> ClientPluginCustomization {
    let base = CustomizationBase {
        id: CustomizationId::from(id),
        uri: Uri::from(uri),
        name: "Brought".to_owned(),
        icons: None,
        range: None,
        meta: None,
    };
    let container = ContainerBase {
        base,
        client_id: None,
        load: None,
        children: None,
    };
    ClientPluginCustomization {
        plugin: Standalone(PluginCustomization {
            container,
            enablement: None,
            version: None,
        }),
        nonce: nonce.map(str::to_owned),
        child_enablement: None,
    }
}

/// Clients with files.
struct Client {
    files: BTreeMap<String, &'static str>,
    asked: usize,
}

impl Client {
    fn new(files: &[(&str, &'static str)]) -> Self {
        // Addresses are spelled in another way than names.
        let spelled = |path: &str| format!("{ROOT}/{}", path.replace(' ', "%20"));
        let files = files.iter().map(|(path, text)| (spelled(path), *text));
        Client {
            files: files.collect(),
            asked: 0,
        }
    }

    fn answer(&self, wanted: &ResourceQuery) -> Result<ResourceReply, ClientReadError> {
        match wanted {
            ResourceQuery::Read(uri) => {
                let text = self
                    .files
                    .get(uri.as_str())
                    .ok_or_else(|| ClientReadError::Refused("there is no such file".to_owned()))?;
                let read = ResourceReadResult {
                    data: (*text).to_owned(),
                    encoding: ContentEncoding::Utf8,
                    content_type: None,
                };
                Ok(ResourceReply::Read(Arc::new(read)))
            }
            ResourceQuery::List(uri) => {
                let mut entries = BTreeMap::new();
                for path in self.files.keys() {
                    if let Some(rest) = path.strip_prefix(&format!("{uri}/")) {
                        let (name, kind) = match rest.split_once('/') {
                            Some((name, _)) => (name, "directory"),
                            None => (rest, "file"),
                        };
                        entries.insert(name.replace("%20", " "), kind.to_owned());
                    }
                }
                let entries = entries.into_iter();
                let entries = entries.map(|(name, r#type)| DirectoryEntry { name, r#type });
                Ok(ResourceReply::Listed(ResourceListResult {
                    entries: entries.collect(),
                }))
            }
        }
    }
}

async fn set_client_plugins(host: &Host, plugins: Vec<(&str, ClientPluginCustomization)>) {
    let plugins = plugins.into_iter().map(|(client, plugin)| ClientPlugin {
        client: ClientId::from(client),
        plugin,
    });
    let errand = CustomizationCommand::SetClientPlugins {
        session: session(),
        plugins: plugins.collect(),
    };
    host.customizations.execute(errand).unwrap();
}

/// Answers questions until what is known is as expected.
async fn serve(host: &mut Host, client: &mut Client, what: impl Fn(&Host) -> bool) {
    while !what(host) {
        let CustomizationEvent::ResourceRequested {
            id: ticket,
            query: wanted,
            ..
        } = host.next().await
        else {
            continue;
        };
        client.asked += 1;
        let answer = client.answer(&wanted);
        let errand = CustomizationCommand::QueryAnswered {
            id: ticket,
            reply: answer,
        };
        host.customizations.execute(errand).unwrap();
    }
}

fn brought(host: &Host) -> String {
    host.find("Brought")
        .map(render::container)
        .unwrap_or_default()
}

#[tokio::test]
async fn a_client_plugin_is_read_with_requests_to_the_client() {
    let mut host = Host::start_tracking(workspace(), CustomizationSettings::default()).await;
    host.wait_until_read().await;
    let mut client = Client::new(&[
        ("plugin.json", r#"{"name": "inside"}"#),
        ("skills/a b/SKILL.md", "---\nname: a\n---\nSee helper.sh"),
        ("skills/a b/helper.sh", "#!/bin/sh\n"),
    ]);
    set_client_plugins(&host, vec![("c1", plugin("p", ROOT, Some("1")))]).await;
    serve(&mut host, &mut client, |host| !brought(host).is_empty()).await;
    assert_eq!(brought(&host), "Brought of c1 loading not read");
    serve(&mut host, &mut client, |host| {
        !brought(host).contains("loading")
    })
    .await;
    assert_eq!(brought(&host), "Brought of c1 loaded [a]");
    assert_eq!(host.id("Brought").as_str(), "p");
    // The agent can read its files.
    let told = host
        .prepare(turn(1, "hello"))
        .await
        .unwrap()
        .instructions
        .unwrap();
    let path = told
        .split(['(', ')'])
        .find(|part| part.ends_with("SKILL.md"))
        .unwrap();
    assert!(
        std::fs::read_to_string(path)
            .unwrap()
            .ends_with("See helper.sh")
    );
    let folder = std::path::Path::new(path).parent().unwrap();
    assert!(folder.join("helper.sh").exists());
    // When the client leaves, all of it goes (CUS-9).
    set_client_plugins(&host, Vec::new()).await;
    host.until(|host| brought(host).is_empty()).await;
    let gone = async {
        while folder.exists() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(20), gone)
        .await
        .expect("its files go");
}

/// CUS-7.
#[tokio::test]
async fn a_client_plugin_is_read_again_only_after_its_nonce_changed() {
    let mut host = Host::start_tracking(workspace(), CustomizationSettings::default()).await;
    host.wait_until_read().await;
    let mut client = Client::new(&[("skills/a.md", "A.")]);
    set_client_plugins(&host, vec![("c1", plugin("p", ROOT, Some("1")))]).await;
    serve(&mut host, &mut client, |host| {
        brought(host).contains("loaded [a]")
    })
    .await;
    let asked = client.asked;
    let mut renamed = plugin("p", ROOT, Some("1"));
    renamed.plugin.0.version = Some("2".to_owned());
    set_client_plugins(&host, vec![("c1", renamed)]).await;
    client.files.insert(format!("{ROOT}/skills/b.md"), "B.");
    host.prepare(turn(1, "hello")).await.unwrap();
    assert_eq!(brought(&host), "Brought of c1 loaded [a]");
    set_client_plugins(&host, vec![("c1", plugin("p", ROOT, Some("2")))]).await;
    serve(&mut host, &mut client, |host| {
        brought(host).contains("loaded [a, b]")
    })
    .await;
    assert_eq!(client.asked, asked + asked + 1);
}

#[tokio::test]
async fn file_uris_of_a_client_are_not_read_from_the_disk_of_the_host() {
    let folder = workspace();
    let uri = format!("file://{}", folder.path().join("work").display());
    let mut host = Host::start_tracking(folder, CustomizationSettings::default()).await;
    host.write("skills/a/SKILL.md", "A.");
    set_client_plugins(&host, vec![("c1", plugin("p", &uri, None))]).await;
    let mut client = Client::new(&[]);
    serve(&mut host, &mut client, |host| {
        brought(host).contains("loaded")
    })
    .await;
    assert_eq!(brought(&host), "Brought of c1 loaded []");
}

#[tokio::test]
async fn an_unreadable_client_plugin_has_an_error_state() {
    let mut host = Host::start_tracking(workspace(), CustomizationSettings::default()).await;
    host.wait_until_read().await;
    set_client_plugins(&host, vec![("c1", plugin("p", ROOT, None))]).await;
    while !brought(&host).contains("error") {
        if let CustomizationEvent::ResourceRequested { id: ticket, .. } = host.next().await {
            let answer = Err(ClientReadError::Absent);
            let errand = CustomizationCommand::QueryAnswered {
                id: ticket,
                reply: answer,
            };
            host.customizations.execute(errand).unwrap();
        }
    }
    assert_eq!(
        brought(&host),
        "Brought of c1 error\n  ! the client did not list its content: the client that sent it is not connected []"
    );
}

#[tokio::test]
async fn plugins_of_two_clients_with_one_id_are_distinct_and_untrusted() {
    let mut host = Host::start_tracking(workspace(), CustomizationSettings::default()).await;
    host.wait_until_read().await;
    let hooks = r#"{"hooks": {"UserPromptSubmit": [{"command": "echo ran"}]}}"#;
    let mut client = Client::new(&[("hooks.json", hooks), ("skills/a.md", "A.")]);
    let both = vec![
        ("c1", plugin("p", ROOT, Some("1"))),
        ("c2", plugin("p", ROOT, Some("1"))),
    ];
    set_client_plugins(&host, both).await;
    let all_read = |host: &Host| {
        let all: Vec<_> = host.known.iter().map(render::container).collect();
        all.iter()
            .filter(|one| one.contains("Brought") && one.contains("[a, "))
            .count()
            == 2
    };
    serve(&mut host, &mut client, all_read).await;
    let ids: std::collections::BTreeSet<_> = host
        .known
        .iter()
        .flat_map(|one| {
            let children = one.children().unwrap_or_default().iter();
            children.filter_map(|child| child.id()).chain(one.id())
        })
        .collect();
    let count = host
        .known
        .iter()
        .map(|one| 1 + one.children().map_or(0, <[_]>::len))
        .sum::<usize>();
    assert_eq!(ids.len(), count, "CUS-2");
    assert!(brought(&host).contains("wait for approval"));
    assert_eq!(host.prepare(turn(1, "hello")).await.unwrap().context, None);
}

/// A client chooses the ids of its plugins. One that is allowed must not lend
/// its approval to another one that gets the same id.
#[tokio::test]
async fn an_approval_does_not_cover_another_plugin_with_the_same_id() {
    const OTHER: &str = "virtual://client/other";
    let mut host = Host::start_tracking(workspace(), CustomizationSettings::default()).await;
    host.wait_until_read().await;
    let allowed = r#"{"hooks": {"UserPromptSubmit": [{"command": "echo allowed"}]}}"#;
    let waiting = r#"{"hooks": {"UserPromptSubmit": [{"command": "echo waiting"}]}}"#;
    let mut client = Client::new(&[("hooks.json", allowed)]);
    client.files.insert(format!("{OTHER}/hooks.json"), waiting);
    let all_read = |count: usize| {
        move |host: &Host| {
            let all = host.known.iter().map(render::container);
            all.filter(|one| one.starts_with("Brought") && one.contains("[UserPromptSubmit]"))
                .count()
                == count
        }
    };
    // The id that the host gives to a plugin whose own id is taken.
    let two = vec![
        ("c1", plugin("p", ROOT, Some("1"))),
        ("c1", plugin("p", OTHER, Some("1"))),
    ];
    set_client_plugins(&host, two).await;
    serve(&mut host, &mut client, all_read(2)).await;
    let brought = |host: &Host, uri: &str| {
        let known = host.known.iter();
        let mut known = known.filter(|one| one.base().is_some_and(|base| base.uri.as_str() == uri));
        known.next().unwrap().id().unwrap().clone()
    };
    let given = brought(&host, OTHER);
    set_client_plugins(&host, Vec::new()).await;
    serve(&mut host, &mut client, all_read(0)).await;

    let same = vec![
        ("c1", plugin(given.as_str(), ROOT, Some("1"))),
        ("c1", plugin(given.as_str(), OTHER, Some("1"))),
    ];
    set_client_plugins(&host, same).await;
    let untrusted = |host: &Host| host.customizations.untrusted_code().len() == 2;
    serve(&mut host, &mut client, untrusted).await;
    let untrusted = host.customizations.untrusted_code();
    let key = untrusted.iter().find(|one| one.uri.as_str() == ROOT);
    let keys = [key.unwrap().key.clone()].into();
    host.customizations
        .execute(CustomizationCommand::SetTrustedCode { keys })
        .unwrap();
    let context = host.prepare(turn(1, "hello")).await.unwrap().context;
    assert_eq!(context.as_deref(), Some("allowed"));
}

#[tokio::test]
async fn the_limit_of_folders_is_reported_once() {
    let mut host = Host::start_tracking(workspace(), CustomizationSettings::default()).await;
    host.wait_until_read().await;
    let files: Vec<String> = (0..150)
        .flat_map(|one| (0..3).map(move |two| format!("x/{one}/{two}/a.md")))
        .collect();
    let mut files: Vec<_> = files.iter().map(|path| (path.as_str(), "A.")).collect();
    files.push(("skills/SKILL.md/a.md", "A."));
    let mut client = Client::new(&files);
    set_client_plugins(&host, vec![("c1", plugin("p", ROOT, Some("1")))]).await;
    serve(&mut host, &mut client, |host| {
        brought(host).contains("degraded")
    })
    .await;
    assert_eq!(
        brought(&host),
        "Brought of c1 degraded\n  ! it has more than 200 folders\n  \
         ! `skills/SKILL.md`: it is a folder, not a file []"
    );
}
