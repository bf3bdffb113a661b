//! Text forms of customizations.

use agenthost_customizations::parse::ParsedContainer;
use agenthost_protocol::session::{ChildCustomization, Customization, LoadState};

/// Returns the content of a package, one line per item.
pub(crate) fn parsed(parsed: &ParsedContainer) -> String {
    let name = parsed.name.as_deref().unwrap_or("-");
    let version = parsed.version.as_deref().unwrap_or("-");
    let mut text = format!("{name} {version}: {}\n", load(&parsed.load_state(None)));
    for child in parsed.children() {
        text.push_str(&format!("  {}\n", self::child(&child)));
    }
    text
}

/// Returns a container, its state and the names of its children.
pub(crate) fn container(customization: &Customization) -> String {
    let (base, extra) = match customization {
        Customization::Plugin(plugin) => (&plugin.container, String::new()),
        Customization::Directory(directory) => {
            let writable = if directory.writable { " writable" } else { "" };
            (
                &directory.container,
                format!(" {:?}{writable}", directory.contents),
            )
        }
        Customization::McpServer(server) => return format!("server {}", server.base.name),
        Customization::Unknown(_) => return "unknown".to_owned(),
    };
    let client = base.client_id.as_ref().map(|id| format!(" of {id}"));
    let children = match &base.children {
        None => "not read".to_owned(),
        Some(children) => {
            let names: Vec<_> = children.iter().map(name).collect();
            format!("[{}]", names.join(", "))
        }
    };
    format!(
        "{}{extra}{} {} {children}",
        base.base.name,
        client.unwrap_or_default(),
        base.load.as_ref().map(load).unwrap_or_default(),
    )
}

pub(crate) fn load(state: &LoadState) -> String {
    match state {
        LoadState::Loading => "loading".to_owned(),
        LoadState::Loaded => "loaded".to_owned(),
        LoadState::Degraded(problem) => {
            format!("degraded\n  ! {}", problem.message.replace("; ", "\n  ! "))
        }
        LoadState::Error(problem) => format!("error\n  ! {}", problem.message),
    }
}

pub(crate) fn name(child: &ChildCustomization) -> String {
    serde_json::to_value(child).unwrap()["name"]
        .as_str()
        .unwrap()
        .to_owned()
}

/// Returns what a client sees of a child, without its state, and without its id, which is a digest.
fn child(child: &ChildCustomization) -> String {
    let mut value = serde_json::to_value(child).unwrap();
    let fields = value.as_object_mut().unwrap();
    let kind = fields.remove("type").unwrap();
    let name = fields.remove("name").unwrap();
    let uri = fields.remove("uri").unwrap();
    fields.remove("id").unwrap();
    fields.remove("state");
    if let Some(range) = fields.remove("range") {
        let place = |end: &str| format!("{}:{}", range[end]["line"], range[end]["character"]);
        fields.insert(
            "at".to_owned(),
            format!("{}-{}", place("start"), place("end")).into(),
        );
    }
    let mut line = format!(
        "{} {} {}",
        kind.as_str().unwrap(),
        name.as_str().unwrap(),
        uri.as_str().unwrap()
    );
    for (key, value) in fields {
        line.push_str(&format!(" {key}={value}"));
    }
    line
}
